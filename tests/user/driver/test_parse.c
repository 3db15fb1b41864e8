// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Netlink messages as byte buffers: complete, truncated, corrupted. ASan checks the reads. */
#include "common.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/parse.h"

static void group_message(struct message *message)
{
	size_t probe, drops;

	message_begin(message, GPUMON_CMD_GROUP_GET);
	message_string(message, GPUMON_A_GROUP_NAME, "drm_sched");
	message_u32(message, GPUMON_A_GROUP_ENABLED, 1);
	message_u32(message, GPUMON_A_GROUP_STATE, GPUMON_ATTACH_STATE_ATTACHED);
	message_string(message, GPUMON_A_GROUP_REASON, "");
	for (int i = 0; i < 2; i++) {
		probe = message_nest(message, GPUMON_A_GROUP_PROBE);
		message_string(message, GPUMON_A_PROBE_NAME, i ? "drm_run_job" : "drm_sched_job");
		message_string(message, GPUMON_A_PROBE_MODULE, "gpu_sched");
		message_u32(message, GPUMON_A_PROBE_KIND, GPUMON_PROBE_KIND_TRACEPOINT);
		message_u32(message, GPUMON_A_PROBE_STATE, GPUMON_ATTACH_STATE_ATTACHED);
		message_string(message, GPUMON_A_PROBE_REASON, "");
		message_u64(message, GPUMON_A_PROBE_SEEN, 10);
		message_u64(message, GPUMON_A_PROBE_RECORDED, 4);
		drops = message_nest(message, GPUMON_A_PROBE_DROPPED);
		message_u64(message, GPUMON_A_DROPS_TABLE_FULL, 1);
		message_u64(message, GPUMON_A_DROPS_RECURSION, 2);
		message_nest_end(message, drops);
		message_nest_end(message, probe);
	}
}

static void process_message(struct message *message)
{
	message_begin(message, GPUMON_CMD_PROCESS_GET);
	message_u64(message, GPUMON_A_PROCESS_ID, 1ULL << 40);
	message_u32(message, GPUMON_A_PROCESS_PID, 4242);
	message_u64(message, GPUMON_A_PROCESS_START_NS, 99);
	message_string(message, GPUMON_A_PROCESS_COMM, "glxgears");
	message_u32(message, GPUMON_A_PROCESS_ALIVE, 0);
	message_u64(message, GPUMON_A_PROCESS_JOBS, 77);
	/* Padding, by its type: it belongs to no field, also not to one that no message has. */
	message_string(message, 0, "nothing");
}

static void missing_option(struct message *message, const char *option, const char *lost)
{
	size_t nest = message_nest(message, GPUMON_A_INFO_MISSING_OPTION);

	message_string(message, GPUMON_A_OPTION_NAME, option);
	message_string(message, GPUMON_A_OPTION_LOST, lost);
	message_nest_end(message, nest);
}

static void info_message(struct message *message)
{
	message_begin(message, GPUMON_CMD_INFO_GET);
	message_string(message, GPUMON_A_INFO_VERSION, "0.2.0");
	message_u32(message, GPUMON_A_INFO_SCHEMA, 1);
	message_string(message, GPUMON_A_INFO_CLOCK, "monotonic");
	message_u64(message, GPUMON_A_INFO_NOW_NS, 12);
	message_u64(message, GPUMON_A_INFO_SINCE_NS, 2);
	message_u32(message, GPUMON_A_INFO_PERIOD, 3);
	message_u64(message, GPUMON_A_INFO_MEMORY_BYTES, 4096);
	missing_option(message, "CONFIG_CGROUPS", "processes have no container");
	missing_option(message, "CONFIG_SMP", "nothing is lost");
}

static void parse_a_group(void **state)
{
	struct gpumon_model model = { 0 };
	const struct gpumon_group *group;
	struct message message;

	(void)state;
	group_message(&message);
	assert_int_equal(gpumon_parse_group(message_header(&message), message.len, &model), 0);
	group = gpumon_model_group(&model, "drm_sched");
	assert_non_null(group);
	assert_int_equal(group->n_probes, 2);
	assert_string_equal(group->probes[0].name, "drm_sched_job");
	assert_string_equal(group->probes[1].name, "drm_run_job");
	assert_int_equal(group->probes[1].seen.v, 10);
	assert_int_equal(group->probes[1].recorded.v, 4);
	assert_int_equal(group->probes[1].dropped.table_full.v, 1);
	assert_int_equal(group->probes[1].dropped.recursion.v, 2);
	assert_string_equal(gpumon_attach_state_name(group->state), "attached");
	assert_string_equal(gpumon_probe_kind_name(group->probes[0].kind), "tracepoint");
	message_free(&message);
	gpumon_model_free(&model);
}

static void parse_the_others(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_limits limits;
	struct gpumon_period period = { 0 };
	struct message message;

	(void)state;
	process_message(&message);
	assert_int_equal(gpumon_parse_process(message_header(&message), message.len, &model), 0);
	assert_int_equal(model.processes[0].id.v, 1ULL << 40);
	assert_int_equal(model.processes[0].pid.v, 4242);
	assert_string_equal(model.processes[0].comm, "glxgears");
	assert_true(model.processes[0].alive.known);
	assert_int_equal(model.processes[0].alive.v, 0);
	assert_int_equal(model.processes[0].jobs.v, 77);
	assert_null(model.processes[0].container);
	assert_false(model.processes[0].container_pid.known);
	message_free(&message);

	info_message(&message);
	assert_int_equal(gpumon_parse_info(message_header(&message), message.len, &model.info), 0);
	/* Sent twice: the old contents are replaced and not leaked. */
	assert_int_equal(gpumon_parse_info(message_header(&message), message.len, &model.info), 0);
	assert_string_equal(model.info.version, "0.2.0");
	assert_int_equal(model.info.memory_bytes.v, 4096);
	assert_false(model.info.max_jobs.known);
	assert_int_equal(model.info.n_missing_options, 2);
	assert_string_equal(model.info.missing_options[0].option, "CONFIG_CGROUPS");
	assert_string_equal(model.info.missing_options[0].lost, "processes have no container");
	assert_string_equal(model.info.missing_options[1].option, "CONFIG_SMP");
	message_free(&message);

	message_begin(&message, GPUMON_CMD_EVENT_RING_GET);
	message_u32(&message, GPUMON_A_EVENT_RING_ENABLED, 1);
	message_u64(&message, GPUMON_A_EVENT_RING_OVERWRITTEN, 9);
	assert_int_equal(gpumon_parse_event_ring(message_header(&message), message.len,
						 &model.event_ring),
			 0);
	assert_int_equal(model.event_ring.enabled.v, 1);
	assert_int_equal(model.event_ring.overwritten.v, 9);
	assert_false(model.event_ring.written.known);
	message_free(&message);

	message_begin(&message, GPUMON_CMD_LIMIT_GET);
	message_u32(&message, GPUMON_A_LIMIT_STARVED_MS, 5000);
	assert_int_equal(gpumon_parse_limits(message_header(&message), message.len, &limits), 0);
	assert_false(limits.hang_ms.known);
	assert_int_equal(limits.starved_ms.v, 5000);
	message_free(&message);

	message_begin(&message, GPUMON_CMD_RESET);
	message_u32(&message, GPUMON_A_PERIOD_CLOSED, 4);
	message_u64(&message, GPUMON_A_PERIOD_CLOSED_AT_NS, 5);
	assert_int_equal(gpumon_parse_period(message_header(&message), message.len, &period), 0);
	assert_int_equal(period.closed.v, 4);
	assert_int_equal(period.closed_at_ns.v, 5);
	message_free(&message);
	gpumon_model_free(&model);
}

static void unknown_attributes_are_skipped(void **state)
{
	struct gpumon_model model = { 0 };
	struct message message;

	(void)state;
	process_message(&message);
	message_u64(&message, 999, 1);
	message_string(&message, GPUMON_A_PROCESS_MAX + 1, "of a newer module");
	message_attr(&message, GPUMON_A_PROCESS_PAD, NULL, 0);
	assert_int_equal(gpumon_parse_process(message_header(&message), message.len, &model), 0);
	assert_int_equal(model.processes[0].pid.v, 4242);
	message_free(&message);
	gpumon_model_free(&model);
}

/* One invalid attribute: nothing of its message is kept. */
static void refused(int type, const void *data, size_t len)
{
	struct gpumon_model model = { 0 };
	struct message message;

	process_message(&message);
	message_attr(&message, type, data, len);
	assert_int_equal(gpumon_parse_process(message_header(&message), message.len, &model),
			 -EBADMSG);
	assert_int_equal(model.n_processes, 0);
	message_free(&message);
	gpumon_model_free(&model);
}

static void wrong_sizes_are_refused(void **state)
{
	static const unsigned char bytes[16];

	(void)state;
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		if (len != sizeof(uint32_t))
			refused(GPUMON_A_PROCESS_PID, bytes, len);
		if (len != sizeof(uint64_t))
			refused(GPUMON_A_PROCESS_JOBS, bytes, len);
	}
	refused(GPUMON_A_PROCESS_COMM, "no end", 6);
	refused(GPUMON_A_PROCESS_COMM, "", 0);
}

static void wrong_headers_are_refused(void **state)
{
	struct gpumon_model model = { 0 };
	struct message message;
	struct nlmsghdr *header;

	(void)state;
	process_message(&message);
	header = (struct nlmsghdr *)message.data;
	/* The answer to another command. */
	assert_int_equal(gpumon_parse_layout(header, message.len, &model), -EBADMSG);
	/* Longer than the buffer, or shorter than its own headers. */
	header->nlmsg_len = (uint32_t)message.len + 4;
	assert_int_equal(gpumon_parse_process(header, message.len, &model), -EBADMSG);
	header->nlmsg_len = NLMSG_HDRLEN;
	assert_int_equal(gpumon_parse_process(header, message.len, &model), -EBADMSG);
	header->nlmsg_len = 0;
	assert_int_equal(gpumon_parse_process(header, message.len, &model), -EBADMSG);
	assert_int_equal(gpumon_parse_process(header, 3, &model), -EBADMSG);
	assert_int_equal(gpumon_parse_process(header, 0, &model), -EBADMSG);
	assert_int_equal(model.n_processes, 0);
	message_free(&message);
}

static const struct message_kind kinds[] = {
	{ group_message, gpumon_parse_group },
	{ process_message, gpumon_parse_process },
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static size_t elements(const struct gpumon_model *model)
{
	return model->n_groups + model->n_processes;
}

/* Truncated at each byte: whole attributes pass, everything else is rejected and leaves nothing. */
static void cut_messages(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_KINDS; k++)
		message_parse_cut(&kinds[k], elements);
}

/* Flip every bit, then many random ones: no crash, no partial element. */
static void twisted_messages(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (size_t k = 0; k < N_KINDS; k++) {
		struct message message;

		kinds[k].make(&message);
		for (size_t i = 0; i < message_twists(&message); i++) {
			struct gpumon_model model = { 0 };
			struct message twisted = message_twist(&message, i, &seed);
			int ret;

			ret = kinds[k].parse(message_header(&twisted), twisted.len, &model);
			assert_true(ret == 0 || ret == -EBADMSG);
			assert_int_equal(elements(&model), ret ? 0 : 1);
			message_free(&twisted);
			gpumon_model_free(&model);
		}
		message_free(&message);
	}
}

/* A rejected message in the middle of a dump does not affect the earlier ones. */
static void refusal_keeps_the_earlier(void **state)
{
	struct gpumon_model model = { 0 };
	struct message good, bad;

	(void)state;
	group_message(&good);
	group_message(&bad);
	message_attr(&bad, GPUMON_A_GROUP_STATE, "x", 1);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(gpumon_parse_group(message_header(&good), good.len, &model), 0);
		assert_int_equal(gpumon_parse_group(message_header(&bad), bad.len, &model),
				 -EBADMSG);
	}
	assert_int_equal(model.n_groups, 5);
	assert_int_equal(model.groups[4].n_probes, 2);
	message_free(&good);
	message_free(&bad);
	gpumon_model_free(&model);
}

/* An answer of the kernel: the error, the request or its header, then attributes. */
static struct message error_message(int error, bool capped, const char *text)
{
	struct nlmsgerr reply = { .error = error, .msg = { .nlmsg_len = NLMSG_HDRLEN + 8 } };
	size_t body = sizeof(reply) + (capped ? 0 : 8);
	struct message message = { .data = calloc(1, NLMSG_HDRLEN + body),
				   .len = NLMSG_HDRLEN + body };
	struct nlmsghdr *header = (struct nlmsghdr *)message.data;

	assert_non_null(header);
	header->nlmsg_type = NLMSG_ERROR;
	header->nlmsg_flags = (uint16_t)((capped ? NLM_F_CAPPED : 0) | NLM_F_ACK_TLVS);
	header->nlmsg_len = (uint32_t)message.len;
	memcpy(message.data + NLMSG_HDRLEN, &reply, sizeof(reply));
	if (text)
		message_string(&message, NLMSGERR_ATTR_MSG, text);
	return message;
}

static void extended_ack(void **state)
{
	char text[64];
	int error;

	(void)state;
	for (int capped = 0; capped < 2; capped++) {
		struct message message = error_message(-22, capped, "size_kib is too large");

		assert_int_equal(gpumon_parse_extack(message_header(&message), message.len, &error,
						     text, sizeof(text)),
				 0);
		assert_int_equal(error, -22);
		assert_string_equal(text, "size_kib is too large");

		/* At most the size of the buffer, and always NUL-terminated. */
		assert_int_equal(gpumon_parse_extack(message_header(&message), message.len, &error,
						     text, 5),
				 0);
		assert_string_equal(text, "size");

		for (size_t len = 0; len < message.len; len++) {
			struct message cut = message_cut(&message, len);
			int ret = gpumon_parse_extack(message_header(&cut), cut.len, &error, text,
						      sizeof(text));

			assert_true(ret == 0 || ret == -EBADMSG);
			message_free(&cut);
		}
		message_free(&message);

		message = error_message(-1, capped, NULL);
		assert_int_equal(gpumon_parse_extack(message_header(&message), message.len, &error,
						     text, sizeof(text)),
				 0);
		assert_int_equal(error, -1);
		assert_string_equal(text, "");
		message_free(&message);
	}
}

static void end_of_a_dump(void **state)
{
	struct {
		struct nlmsghdr header;
		int error;
	} done = { .header = { .nlmsg_len = sizeof(done), .nlmsg_type = NLMSG_DONE },
		   .error = -116 };
	char text[64];
	int error = 1;

	(void)state;
	assert_int_equal(
		gpumon_parse_extack(&done.header, sizeof(done), &error, text, sizeof(text)), 0);
	assert_int_equal(error, -116);
	done.header.nlmsg_len = NLMSG_HDRLEN;
	assert_int_equal(
		gpumon_parse_extack(&done.header, sizeof(done), &error, text, sizeof(text)), 0);
	assert_int_equal(error, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_a_group),
		cmocka_unit_test(parse_the_others),
		cmocka_unit_test(unknown_attributes_are_skipped),
		cmocka_unit_test(wrong_sizes_are_refused),
		cmocka_unit_test(wrong_headers_are_refused),
		cmocka_unit_test(cut_messages),
		cmocka_unit_test(twisted_messages),
		cmocka_unit_test(refusal_keeps_the_earlier),
		cmocka_unit_test(extended_ack),
		cmocka_unit_test(end_of_a_dump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
