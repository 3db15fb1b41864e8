// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The client against a kernel simulated with --wrap: retries, periods, refusals. */
#include "common.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdlib.h>
#include <string.h>

#include "driver/alert_listener.h"
#include "driver/client.h"
#include "wrap.h"

#define FAMILY 0x20

/* What the simulated kernel does next. */
static struct {
	int resolve;	  /* result of looking up the family */
	int interrupted;  /* number of dumps to flag */
	int stale;	  /* number of dumps to refuse with ESTALE */
	int error;	  /* error for everything but info */
	const char *text; /* its message */
	uint32_t port;	  /* port of the sender */
	uint32_t period;  /* number of the running period */
	bool cut;	  /* truncate datagrams */
	/* Counted by the kernel. */
	int dumps;
	uint32_t asked_period;
	struct message answer;
} kernel;

int __wrap_genl_connect(struct nl_sock *sock)
{
	(void)sock;
	return 0;
}

int __wrap_genl_ctrl_resolve(struct nl_sock *sock, const char *name)
{
	(void)sock;
	assert_string_equal(name, "gpumon");
	return kernel.resolve;
}

static void append(const struct message *part)
{
	kernel.answer.data = realloc(kernel.answer.data, kernel.answer.len + part->len);
	assert_non_null(kernel.answer.data);
	memcpy(kernel.answer.data + kernel.answer.len, part->data, part->len);
	kernel.answer.len += part->len;
}

/* Header, error number, and an attribute if there is a text: NLMSG_ERROR or NLMSG_DONE. */
static void append_end(const struct nlmsghdr *request, int type, int error, int flags)
{
	size_t body = type == NLMSG_DONE ? sizeof(int) : sizeof(struct nlmsgerr);
	struct message message = { .len = NLMSG_HDRLEN + body };
	struct nlmsghdr *header;

	message.data = calloc(1, message.len);
	assert_non_null(message.data);
	memcpy(message.data + NLMSG_HDRLEN, &error, sizeof(error));
	if (kernel.text && error)
		message_string(&message, NLMSGERR_ATTR_MSG, kernel.text);
	header = (struct nlmsghdr *)message.data;
	header->nlmsg_len = (uint32_t)message.len;
	header->nlmsg_type = (uint16_t)type;
	header->nlmsg_seq = request->nlmsg_seq;
	header->nlmsg_flags = (uint16_t)(flags | (kernel.text ? NLM_F_ACK_TLVS : 0) | NLM_F_CAPPED);
	append(&message);
	message_free(&message);
}

static void append_message(const struct nlmsghdr *request, struct message *message, int flags)
{
	struct nlmsghdr *header = (struct nlmsghdr *)message->data;

	header->nlmsg_seq = request->nlmsg_seq;
	header->nlmsg_flags = (uint16_t)flags;
	append(message);
	message_free(message);
}

/* Two rings; a row, then its histogram. The first flagged dump has an additional row. */
static void answer_statistics(const struct nlmsghdr *request)
{
	struct nlattr *period =
		nlmsg_find_attr((struct nlmsghdr *)request, GENL_HDRLEN, GPUMON_A_STATISTIC_PERIOD);
	bool flag = kernel.interrupted > 0;
	struct message message;
	size_t nest;

	kernel.dumps++;
	kernel.asked_period = period ? nla_get_u32(period) : 0;
	if (kernel.stale > 0) {
		kernel.stale--;
		kernel.period++;
		append_end(request, NLMSG_ERROR, -ESTALE, 0);
		return;
	}
	kernel.interrupted -= flag;
	for (uint32_t i = 0; i < 2; i++) {
		message_begin(&message, GPUMON_CMD_STATISTIC_GET);
		message_string(&message, GPUMON_A_STATISTIC_GROUP, "drm_sched");
		message_string(&message, GPUMON_A_STATISTIC_TABLE, "rings");
		message_u32(&message, GPUMON_A_STATISTIC_ROW, i);
		/* As in the kernel: the flag is set on messages after the change. */
		append_message(request, &message, NLM_F_MULTI | (flag && i ? NLM_F_DUMP_INTR : 0));
	}
	for (uint32_t i = 0; i < (flag ? 3 : 2); i++) {
		message_begin(&message, GPUMON_CMD_STATISTIC_GET);
		message_string(&message, GPUMON_A_STATISTIC_GROUP, "drm_vblank");
		message_string(&message, GPUMON_A_STATISTIC_TABLE, "crtcs");
		message_u32(&message, GPUMON_A_STATISTIC_ROW, i / 2);
		nest = message_nest(&message, GPUMON_A_STATISTIC_COLUMN);
		message_string(&message, GPUMON_A_COLUMN_NAME, "interval_ns");
		message_u32(&message, GPUMON_A_COLUMN_KIND, GPUMON_COLUMN_KIND_HISTOGRAM);
		message_u64(&message, GPUMON_A_COLUMN_COUNT, 10 + i);
		message_nest_end(&message, nest);
		append_message(request, &message, NLM_F_MULTI | (flag && i ? NLM_F_DUMP_INTR : 0));
	}
	append_end(request, NLMSG_DONE, 0, NLM_F_MULTI);
}

/* These have no periods: the kernel's policy rejects all attributes. */
static void answer_without_period(const struct nlmsghdr *request, int command, int attr)
{
	struct message message;

	assert_int_equal(request->nlmsg_len, NLMSG_HDRLEN + GENL_HDRLEN);
	message_begin(&message, command);
	message_string(&message, attr, "nvidia");
	append_message(request, &message, NLM_F_MULTI);
	append_end(request, NLMSG_DONE, 0, NLM_F_MULTI);
}

int __wrap_nl_send_auto(struct nl_sock *sock, struct nl_msg *msg)
{
	const struct nlmsghdr *request = nlmsg_hdr(msg);
	struct message message;

	nl_complete_msg(sock, msg);
	assert_int_equal(request->nlmsg_type, FAMILY);
	message_free(&kernel.answer);
	/* The rest of an abandoned answer has another sequence number and must be skipped. */
	message_begin(&message, GPUMON_CMD_STATISTIC_GET);
	((struct nlmsghdr *)message.data)->nlmsg_seq = request->nlmsg_seq - 1;
	append(&message);
	message_free(&message);

	switch (genlmsg_hdr((struct nlmsghdr *)request)->cmd) {
	case GPUMON_CMD_INFO_GET:
		message_begin(&message, GPUMON_CMD_INFO_GET);
		message_string(&message, GPUMON_A_INFO_VERSION, "0.2.0");
		message_u32(&message, GPUMON_A_INFO_SCHEMA, GPUMON_SCHEMA);
		message_u32(&message, GPUMON_A_INFO_PERIOD, kernel.period);
		append_message(request, &message, 0);
		append_end(request, NLMSG_ERROR, 0, 0);
		break;
	case GPUMON_CMD_STATISTIC_GET:
		assert_true(request->nlmsg_flags & NLM_F_DUMP);
		answer_statistics(request);
		break;
	case GPUMON_CMD_LAYOUT_GET:
		answer_without_period(request, GPUMON_CMD_LAYOUT_GET, GPUMON_A_LAYOUT_GROUP);
		break;
	case GPUMON_CMD_ALERT_GET:
		answer_without_period(request, GPUMON_CMD_ALERT_GET, GPUMON_A_ALERT_GROUP);
		break;
	default:
		append_end(request, NLMSG_ERROR, kernel.error, 0);
	}
	return 1;
}

int __wrap_nl_recv(struct nl_sock *sock, struct sockaddr_nl *from, unsigned char **buffer,
		   struct ucred **creds)
{
	size_t len = kernel.answer.len - (kernel.cut ? 3 : 0);

	(void)sock;
	(void)creds;
	from->nl_pid = kernel.port;
	/* An answer from a stranger once, then silence. */
	if (!kernel.answer.len)
		return -NLE_AGAIN;
	*buffer = malloc(len);
	assert_non_null(*buffer);
	memcpy(*buffer, kernel.answer.data, len);
	message_free(&kernel.answer);
	return (int)len;
}

static struct gpumon_client *client;

static int connect_client(void **state)
{
	struct gpumon_error err = { 0 };

	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.resolve = FAMILY;
	kernel.period = 5;
	return gpumon_client_open(&client, &err);
}

static int close_client(void **state)
{
	(void)state;
	gpumon_client_close(client);
	message_free(&kernel.answer);
	return 0;
}

static void a_quiet_dump(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_error err = { 0 };

	(void)state;
	assert_int_equal(gpumon_client_read(client, GPUMON_PART_RINGS, 0, &model, &err), 0);
	assert_int_equal(kernel.dumps, 1);
	assert_int_equal(kernel.asked_period, 0);
	assert_int_equal(model.n_rings, 2);
	assert_int_equal(model.inconsistent, 0);
	gpumon_model_free(&model);
}

/* With info, every part is read for the period that info returned. */
static void one_period_for_all_parts(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_error err = { 0 };

	(void)state;
	assert_int_equal(gpumon_client_read(client, GPUMON_PART_INFO | GPUMON_PART_RINGS, 0, &model,
					    &err),
			 0);
	assert_int_equal(kernel.asked_period, 5);
	assert_int_equal(gpumon_client_read(client, GPUMON_PART_INFO | GPUMON_PART_RINGS, 4, &model,
					    &err),
			 0);
	assert_int_equal(kernel.asked_period, 4);
	gpumon_model_free(&model);
}

static void an_interrupted_dump_is_read_again(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_error err = { 0 };

	(void)state;
	kernel.interrupted = 2;
	assert_int_equal(gpumon_client_read(client, GPUMON_PART_RINGS, 0, &model, &err), 0);
	assert_int_equal(kernel.dumps, 3);
	/* Nothing of the first two attempts is left. */
	assert_int_equal(model.n_rings, 2);
	assert_int_equal(model.inconsistent, 0);
	gpumon_model_free(&model);
}

static void statistics_layouts_alerts(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_error err = { 0 };

	(void)state;
	kernel.interrupted = 1;
	assert_int_equal(gpumon_client_read(client,
					    GPUMON_PART_INFO | GPUMON_PART_STATISTICS |
						    GPUMON_PART_LAYOUTS | GPUMON_PART_ALERTS,
					    0, &model, &err),
			 0);
	assert_int_equal(kernel.asked_period, 5);
	assert_int_equal(kernel.interrupted, 0);
	/* The row of the flagged dump is gone. */
	assert_int_equal(model.n_statistics, 1);
	assert_int_equal(model.statistics[0].n_rows, 1);
	assert_int_equal(model.statistics[0].rows[0].n_columns, 1);
	assert_int_equal(model.statistics[0].rows[0].columns[0].histogram.count.v, 11);
	assert_int_equal(model.n_layouts, 1);
	assert_string_equal(model.layouts[0].group, "nvidia");
	assert_int_equal(model.n_alerts, 1);
	assert_int_equal(model.inconsistent, 0);
	gpumon_model_free(&model);
}

static void endless_change_is_flagged(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_error err = { 0 };

	(void)state;
	kernel.interrupted = 1000;
	assert_int_equal(gpumon_client_read(client, GPUMON_PART_RINGS, 0, &model, &err), 0);
	assert_in_range(kernel.dumps, 2, 10);
	assert_int_equal(model.n_rings, 2);
	assert_int_equal(model.inconsistent, GPUMON_PART_RINGS);
	/* The next undisturbed reading clears the flag. */
	kernel.interrupted = 0;
	assert_int_equal(gpumon_client_read(client, GPUMON_PART_RINGS, 0, &model, &err), 0);
	assert_int_equal(model.inconsistent, 0);
	gpumon_model_free(&model);
}

static void a_period_that_is_gone(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_error err = { 0 };

	(void)state;
	/* For the running period: restart with the new one. */
	kernel.stale = 2;
	assert_int_equal(gpumon_client_read(client, GPUMON_PART_INFO | GPUMON_PART_RINGS, 0, &model,
					    &err),
			 0);
	assert_int_equal(kernel.asked_period, 7);
	assert_int_equal(model.info.period.v, 7);
	assert_int_equal(model.n_rings, 2);
	/* A given period is not available any more. */
	kernel.stale = 1;
	assert_int_equal(gpumon_client_read(client, GPUMON_PART_RINGS, 5, &model, &err), -1);
	assert_int_equal(err.status, GPUMON_EXIT_FAILED);
	assert_int_equal(err.code, GPUMON_ERROR_CHANGED);
	gpumon_model_free(&model);
}

static void refusals(void **state)
{
	static const struct {
		int error, status;
		const char *text;
		enum gpumon_error_code code;
		const char *piece;
	} cases[] = {
		{ -EPERM, GPUMON_EXIT_IMPOSSIBLE, NULL, GPUMON_ERROR_PERMISSION,
		  "run this as root" },
		{ -EINVAL, GPUMON_EXIT_FAILED, "the kernel's words", GPUMON_ERROR_REFUSED,
		  "group \"x\": the kernel's words" },
		{ -ENOENT, GPUMON_EXIT_FAILED, "no such group", GPUMON_ERROR_REFUSED,
		  "no such group" },
		{ -ENOENT, GPUMON_EXIT_IMPOSSIBLE, NULL, GPUMON_ERROR_NOT_LOADED, "was unloaded" },
		{ -EEXIST, GPUMON_EXIT_FAILED, NULL, GPUMON_ERROR_REFUSED, "File exists" },
		{ -EOPNOTSUPP, GPUMON_EXIT_IMPOSSIBLE, NULL, GPUMON_ERROR_UNSUPPORTED,
		  "cannot do this" },
		{ -ENOMEM, GPUMON_EXIT_FAILED, "no memory", GPUMON_ERROR_KERNEL, "no memory" },
	};
	struct gpumon_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		kernel.error = cases[i].error;
		kernel.text = cases[i].text;
		assert_int_equal(gpumon_client_group_set(client, "x", true, &err), -1);
		assert_int_equal(err.status, cases[i].status);
		assert_int_equal(err.sys, cases[i].error);
		assert_int_equal(err.code, cases[i].code);
		assert_non_null(strstr(err.message, cases[i].piece));
	}
	kernel.error = 0;
	assert_int_equal(gpumon_client_group_set(client, "x", true, &err), 0);
}

static void bad_answers(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_error err = { 0 };

	(void)state;
	kernel.cut = true;
	assert_int_equal(gpumon_client_read(client, GPUMON_PART_RINGS, 0, &model, &err), -1);
	assert_int_equal(err.status, GPUMON_EXIT_FAILED);
	kernel.cut = false;
	/* Another process answers instead of the kernel and is ignored. */
	kernel.port = 1234;
	assert_int_equal(gpumon_client_read(client, GPUMON_PART_RINGS, 0, &model, &err), -1);
	assert_non_null(strstr(err.message, "no answer"));
	assert_int_equal(model.n_rings, 0);
	gpumon_model_free(&model);
}

static void no_family(void **state)
{
	struct gpumon_client *other = (void *)1;
	struct gpumon_alert_listener *listener = (void *)1;
	struct gpumon_error err = { 0 }, of_alerts = { 0 };

	(void)state;
	kernel.resolve = -NLE_OBJ_NOTFOUND;
	assert_int_equal(gpumon_client_open(&other, &err), -1);
	assert_null(other);
	assert_int_equal(err.status, GPUMON_EXIT_IMPOSSIBLE);
	/* One message serves all commands. */
	assert_int_equal(gpumon_alert_listener_open(&listener, &of_alerts), -1);
	assert_null(listener);
	assert_int_equal(of_alerts.status, err.status);
	assert_int_equal(of_alerts.code, err.code);
	assert_string_equal(of_alerts.message, err.message);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, connect_client, close_client)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_quiet_dump),
		TEST(one_period_for_all_parts),
		TEST(an_interrupted_dump_is_read_again),
		TEST(statistics_layouts_alerts),
		TEST(endless_change_is_flagged),
		TEST(a_period_that_is_gone),
		TEST(refusals),
		TEST(bad_answers),
		TEST(no_family),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
