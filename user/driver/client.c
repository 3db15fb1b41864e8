// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * libnl handles the socket, the family and the request. The replies are parsed here and in parse.c,
 * since libnl's callbacks pass on neither the kernel's message (extended ack) nor which of several
 * dumps was interrupted.
 */
#include <errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/memory.h"
#include "client.h"
#include "model.h"
#include "module_stats.h"
#include "parse.h"

#define DUMP_ATTEMPTS  5
#define ANSWER_SECONDS 30
#define RECEIVE_BYTES  32768

struct gpumon_client {
	struct nl_sock *socket;
	int family;
};

/* Handles each message of a reply. */
typedef int (*message_fn)(const struct nlmsghdr *message, size_t len, void *argument);

static int error_libnl(struct gpumon_error *err, const char *what, int ret)
{
	if (ret == -NLE_NOMEM)
		gpumon_memory_failed(0);
	if (ret == -NLE_AGAIN)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -EAGAIN, GPUMON_ERROR_KERNEL,
					"%s: no answer from the kernel in %d s", what,
					ANSWER_SECONDS);
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -EIO, GPUMON_ERROR_IO, "%s: %s", what,
				nl_geterror(ret));
}

/* @error is the kernel's errno, @text its message or "". */
static int error_kernel(struct gpumon_error *err, const char *what, int error, const char *text)
{
	const char *words = *text ? text : strerror(-error);

	switch (-error) {
	case EPERM:
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, error, GPUMON_ERROR_PERMISSION,
			"no permission: gpumon answers only with CAP_NET_ADMIN in the initial namespaces, run this as root (sudo gpumon-user …)");
	case ENOENT:
	case EPROTONOSUPPORT:
		/*
		 * The module's own refusals have a text. Without one, the kernel has no such family, or
		 * begins no dump of a module that is being unloaded.
		 */
		if (*text)
			break;
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, error, GPUMON_ERROR_NOT_LOADED,
			"module gpumon was unloaded meanwhile: run \"modprobe gpumon\" as root, and this again");
	case ESTALE:
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, error, GPUMON_ERROR_CHANGED,
					"%s: %s", what, words);
	case EOPNOTSUPP:
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, error, GPUMON_ERROR_UNSUPPORTED,
			"%s: the loaded module cannot do this (%s), install the module of this program's version",
			what, words);
	case ENOMEM:
	case ENOBUFS:
	case EIO:
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, error, GPUMON_ERROR_KERNEL,
					"%s: %s", what, words);
	default:
		break;
	}
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, error, GPUMON_ERROR_REFUSED, "%s: %s",
				what, words);
}

static int error_malformed(struct gpumon_error *err, const char *what, int error)
{
	return gpumon_error_set(
		err, GPUMON_EXIT_FAILED, error, GPUMON_ERROR_KERNEL,
		"%s: malformed answer, module and program do not belong together: install the same version of both",
		what);
}

static struct nl_msg *request_new(struct gpumon_client *client, int command, int flags)
{
	struct nl_msg *request = nlmsg_alloc();

	if (request && !genlmsg_put(request, NL_AUTO_PORT, NL_AUTO_SEQ, client->family, 0, flags,
				    (uint8_t)command, GPUMON_FAMILY_VERSION)) {
		nlmsg_free(request);
		return NULL;
	}
	return request;
}

/*
 * Handle one datagram. 1: the reply is complete; 0: more follows; -1: *err.
 * Messages of an earlier, abandoned request have another sequence number.
 */
static int take_datagram(const unsigned char *buffer, size_t left, uint32_t seq, const char *what,
			 message_fn take, void *argument, bool *interrupted,
			 struct gpumon_error *err)
{
	char text[256];
	int error, ret;

	while (left >= sizeof(struct nlmsghdr)) {
		/* recv() buffers are aligned, and so is each message in them. */
		const struct nlmsghdr *message = (const void *)buffer;
		size_t step;

		if (message->nlmsg_len < sizeof(*message) || message->nlmsg_len > left)
			return error_malformed(err, what, -EBADMSG);
		step = NLMSG_ALIGN((size_t)message->nlmsg_len);

		if (message->nlmsg_seq != seq)
			goto next;
		if (message->nlmsg_flags & NLM_F_DUMP_INTR)
			*interrupted = true;

		switch (message->nlmsg_type) {
		case NLMSG_NOOP:
			break;
		case NLMSG_OVERRUN:
			return error_kernel(err, what, -ENOBUFS, "");
		case NLMSG_ERROR:
		case NLMSG_DONE:
			if (gpumon_parse_extack(message, left, &error, text, sizeof(text)))
				return error_malformed(err, what, -EBADMSG);
			return error < 0 ? error_kernel(err, what, error, text) : 1;
		default:
			ret = take ? take(message, left, argument) : 0;
			if (ret)
				return error_malformed(err, what, ret);
		}
next:
		if (step > left)
			step = left;
		buffer += step;
		left -= step;
	}
	return 0;
}

/* Send and free @request, and receive the whole reply. */
static int client_transact(struct gpumon_client *client, struct nl_msg *request, const char *what,
			   message_fn take, void *argument, bool *interrupted,
			   struct gpumon_error *err)
{
	bool ignored;
	uint32_t seq;
	int ret;

	if (!request)
		gpumon_memory_failed(0);
	if (!interrupted)
		interrupted = &ignored;

	ret = nl_send_auto(client->socket, request);
	seq = nlmsg_hdr(request)->nlmsg_seq;
	nlmsg_free(request);
	if (ret < 0)
		return error_libnl(err, what, ret);

	do {
		struct sockaddr_nl from = { 0 };
		unsigned char *buffer = NULL;

		ret = nl_recv(client->socket, &from, &buffer, NULL);
		if (ret <= 0) {
			free(buffer);
			return error_libnl(err, what, ret ? ret : -NLE_FAILURE);
		}
		/* Only the kernel has port 0. Another process must not answer in its place. */
		ret = from.nl_pid ? 0 :
				    take_datagram(buffer, (size_t)ret, seq, what, take, argument,
						  interrupted, err);
		free(buffer);
	} while (!ret);
	return ret < 0 ? -1 : 0;
}

static int take_info(const struct nlmsghdr *message, size_t len, void *argument)
{
	return gpumon_parse_info(message, len, argument);
}

static int take_group(const struct nlmsghdr *message, size_t len, void *argument)
{
	return gpumon_parse_group(message, len, argument);
}

static int take_process(const struct nlmsghdr *message, size_t len, void *argument)
{
	return gpumon_parse_process(message, len, argument);
}

static int take_statistic(const struct nlmsghdr *message, size_t len, void *argument)
{
	return gpumon_parse_statistic(message, len, argument);
}

static int take_layout(const struct nlmsghdr *message, size_t len, void *argument)
{
	return gpumon_parse_layout(message, len, argument);
}

static int take_alert(const struct nlmsghdr *message, size_t len, void *argument)
{
	return gpumon_parse_alert(message, len, GPUMON_CMD_ALERT_GET, argument);
}

static int take_event_ring(const struct nlmsghdr *message, size_t len, void *argument)
{
	return gpumon_parse_event_ring(message, len, argument);
}

static int take_limits(const struct nlmsghdr *message, size_t len, void *argument)
{
	return gpumon_parse_limits(message, len, argument);
}

static int take_period(const struct nlmsghdr *message, size_t len, void *argument)
{
	return gpumon_parse_period(message, len, argument);
}

int gpumon_client_loaded_without_family(const char *root, struct gpumon_error *err)
{
	char *left_out = gpumon_module_left_out(root);
	bool known = left_out, without = known && !strncmp(left_out, "netlink", strlen("netlink"));

	free(left_out);
	if (without)
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, GPUMON_ERROR_NOT_BUILT,
			"module gpumon is loaded, but it was built without netlink (NETLINK=no), which this needs: \"cat " GPUMON_MODULE_STATS
			"\" has the numbers");
	/* netnsok is false: the family only exists in the initial network namespace. */
	return gpumon_error_set(
		err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, GPUMON_ERROR_NAMESPACE,
		"module gpumon is loaded but not reachable from this network namespace: run this on the host, outside the container%s",
		known ? "" :
			"; or it was built without netlink: then, as root, \"cat " GPUMON_MODULE_STATS
			"\" has the numbers");
}

int gpumon_client_no_family(int ret, struct gpumon_error *err)
{
	if (ret != -NLE_OBJ_NOTFOUND)
		return error_libnl(err, "asking for the netlink family gpumon", ret);
	if (!access("/sys/module/gpumon", F_OK))
		return gpumon_client_loaded_without_family("", err);
	return gpumon_error_set(
		err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, GPUMON_ERROR_NOT_LOADED,
		"module gpumon is not loaded: run \"modprobe gpumon\" as root; \"gpumon-user doctor\" says what else is missing");
}

/* Connect, find the family's number, and enable extended acks. */
static int connect_family(struct gpumon_client *client, struct gpumon_error *err)
{
	struct timeval timeout = { .tv_sec = ANSWER_SECONDS };
	int on = 1, ret, fd;

	client->socket = nl_socket_alloc();
	if (!client->socket)
		gpumon_memory_failed(0);
	ret = genl_connect(client->socket);
	if (ret)
		return error_libnl(err, "netlink socket", ret);
	client->family = genl_ctrl_resolve(client->socket, GPUMON_FAMILY_NAME);
	if (client->family < 0)
		return gpumon_client_no_family(client->family, err);

	fd = nl_socket_get_fd(client->socket);
	/* Without these options the replies have less detail. Old kernels lack them. */
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	nl_socket_enable_msg_peek(client->socket);
	ret = nl_socket_set_msg_buf_size(client->socket, RECEIVE_BYTES);
	return ret < 0 ? error_libnl(err, "netlink socket", ret) : 0;
}

int gpumon_client_check_schema(const struct gpumon_info *info, struct gpumon_error *err)
{
	char other[64] = "another schema";

	if (info->schema.known && info->schema.v == GPUMON_SCHEMA)
		return 0;
	if (info->schema.known)
		snprintf(other, sizeof(other), "schema %llu", (unsigned long long)info->schema.v);
	return gpumon_error_set(
		err, GPUMON_EXIT_IMPOSSIBLE, -EPROTO, GPUMON_ERROR_SCHEMA,
		"the loaded gpumon module (version %.32s) speaks %s, this program schema %d: install the same version of both",
		info->version ? info->version : "unknown", other, GPUMON_SCHEMA);
}

static int check_module(struct gpumon_client *client, struct gpumon_error *err)
{
	struct gpumon_info info = { 0 };
	int ret = client_transact(client, request_new(client, GPUMON_CMD_INFO_GET, 0), "info",
				  take_info, &info, NULL, err);

	/* A reply that cannot be parsed means another schema, too: info stayed empty. */
	if (!ret || err->sys == -EBADMSG)
		ret = gpumon_client_check_schema(&info, err);
	gpumon_info_clear(&info);
	return ret;
}

int gpumon_client_open(struct gpumon_client **client, struct gpumon_error *err)
{
	struct gpumon_client *new = gpumon_calloc(1, sizeof(*new));

	*client = NULL;
	if (connect_family(new, err) || check_module(new, err)) {
		gpumon_client_close(new);
		return -1;
	}
	*client = new;
	return 0;
}

void gpumon_client_close(struct gpumon_client *client)
{
	if (!client)
		return;
	nl_socket_free(client->socket);
	free(client);
}

/* Parts of the model that are in one dump. */
#define PARTS_OF_TABLES (GPUMON_PART_RINGS | GPUMON_PART_HISTOGRAMS | GPUMON_PART_STATISTICS)

/* The dumps in the order of requests. Those without period_attr have no period. */
static const struct dump {
	unsigned int parts;
	int command;
	int period_attr;
	message_fn take;
	const char *what;
} dumps[] = {
	{ GPUMON_PART_GROUPS, GPUMON_CMD_GROUP_GET, GPUMON_A_GROUP_PERIOD, take_group, "groups" },
	{ GPUMON_PART_PROCESSES, GPUMON_CMD_PROCESS_GET, GPUMON_A_PROCESS_PERIOD, take_process,
	  "processes" },
	{ PARTS_OF_TABLES, GPUMON_CMD_STATISTIC_GET, GPUMON_A_STATISTIC_PERIOD, take_statistic,
	  "statistics" },
	{ GPUMON_PART_LAYOUTS, GPUMON_CMD_LAYOUT_GET, 0, take_layout, "layouts" },
	{ GPUMON_PART_ALERTS, GPUMON_CMD_ALERT_GET, 0, take_alert, "alerts" },
};

/* @parts: the requested parts of the dump */
static int read_dump(struct gpumon_client *client, const struct dump *dump, unsigned int parts,
		     uint32_t period, struct gpumon_model *model, struct gpumon_error *err)
{
	bool interrupted = false;

	for (int attempt = 0; attempt < DUMP_ATTEMPTS; attempt++) {
		struct nl_msg *request = request_new(client, dump->command, NLM_F_DUMP);

		if (request && period && dump->period_attr &&
		    nla_put_u32(request, dump->period_attr, period)) {
			nlmsg_free(request);
			request = NULL;
		}
		gpumon_model_clear(model, dump->parts);
		interrupted = false;
		if (client_transact(client, request, dump->what, dump->take, model, &interrupted,
				    err))
			return -1;
		if (dump->parts == PARTS_OF_TABLES)
			gpumon_parse_rings(model);
		gpumon_model_clear(model, dump->parts & ~parts);
		model->parts |= parts;
		if (!interrupted)
			return 0;
	}
	/* Rings kept coming and going: show the last reading, and mark it. */
	model->inconsistent |= parts;
	return 0;
}

static int read_once(struct gpumon_client *client, unsigned int parts, uint32_t period,
		     struct gpumon_model *model, struct gpumon_error *err)
{
	if (parts & GPUMON_PART_INFO) {
		if (client_transact(client, request_new(client, GPUMON_CMD_INFO_GET, 0), "info",
				    take_info, &model->info, NULL, err))
			return -1;
		model->parts |= GPUMON_PART_INFO;
		/*
		 * Request all parts with the period number from info. A reset in between then
		 * returns the frozen counts of that period, not half of each.
		 */
		if (!period && model->info.period.known)
			period = (uint32_t)model->info.period.v;
	}
	for (size_t i = 0; i < sizeof(dumps) / sizeof(dumps[0]); i++) {
		if ((parts & dumps[i].parts) &&
		    read_dump(client, &dumps[i], parts & dumps[i].parts, period, model, err))
			return -1;
	}
	if (parts & GPUMON_PART_EVENT_RING) {
		if (gpumon_client_event_ring_get(client, &model->event_ring, err))
			return -1;
		model->parts |= GPUMON_PART_EVENT_RING;
	}
	return 0;
}

int gpumon_client_read(struct gpumon_client *client, unsigned int parts, uint32_t period,
		       struct gpumon_model *model, struct gpumon_error *err)
{
	int ret;

	/* After two resets while we read, our period is gone: restart with the new one. */
	for (int attempt = 0; attempt < DUMP_ATTEMPTS; attempt++) {
		ret = read_once(client, parts, period, model, err);
		if (!ret || period || err->sys != -ESTALE)
			break;
	}
	return ret;
}

int gpumon_client_group_set(struct gpumon_client *client, const char *name, bool on,
			    struct gpumon_error *err)
{
	struct nl_msg *request = request_new(client, GPUMON_CMD_GROUP_SET, 0);
	char what[64];

	if (request && (nla_put_string(request, GPUMON_A_GROUP_NAME, name) ||
			nla_put_u32(request, GPUMON_A_GROUP_ENABLED, on))) {
		nlmsg_free(request);
		request = NULL;
	}
	snprintf(what, sizeof(what), "group \"%.32s\"", name);
	return client_transact(client, request, what, NULL, NULL, NULL, err);
}

int gpumon_client_event_ring_get(struct gpumon_client *client, struct gpumon_event_ring *ring,
				 struct gpumon_error *err)
{
	return client_transact(client, request_new(client, GPUMON_CMD_EVENT_RING_GET, 0),
			       "event ring", take_event_ring, ring, NULL, err);
}

int gpumon_client_event_ring_set(struct gpumon_client *client, int enabled, uint32_t size_kib,
				 struct gpumon_error *err)
{
	struct nl_msg *request = request_new(client, GPUMON_CMD_EVENT_RING_SET, 0);

	if (request &&
	    ((enabled >= 0 && nla_put_u32(request, GPUMON_A_EVENT_RING_ENABLED, enabled != 0)) ||
	     (size_kib && nla_put_u32(request, GPUMON_A_EVENT_RING_SIZE_KIB, size_kib)))) {
		nlmsg_free(request);
		request = NULL;
	}
	return client_transact(client, request, "event ring", NULL, NULL, NULL, err);
}

int gpumon_client_limits_get(struct gpumon_client *client, struct gpumon_limits *limits,
			     struct gpumon_error *err)
{
	memset(limits, 0, sizeof(*limits));
	return client_transact(client, request_new(client, GPUMON_CMD_LIMIT_GET, 0),
			       "limits of jobs", take_limits, limits, NULL, err);
}

int gpumon_client_limits_set(struct gpumon_client *client, const struct gpumon_limits *limits,
			     struct gpumon_error *err)
{
	struct nl_msg *request = request_new(client, GPUMON_CMD_LIMIT_SET, 0);

	if (request &&
	    ((limits->hang_ms.known &&
	      nla_put_u32(request, GPUMON_A_LIMIT_HANG_MS, (uint32_t)limits->hang_ms.v)) ||
	     (limits->starved_ms.known &&
	      nla_put_u32(request, GPUMON_A_LIMIT_STARVED_MS, (uint32_t)limits->starved_ms.v)))) {
		nlmsg_free(request);
		request = NULL;
	}
	return client_transact(client, request, "limits of jobs", NULL, NULL, NULL, err);
}

int gpumon_client_reset(struct gpumon_client *client, struct gpumon_period *closed,
			struct gpumon_error *err)
{
	memset(closed, 0, sizeof(*closed));
	if (client_transact(client, request_new(client, GPUMON_CMD_RESET, 0), "reset", take_period,
			    closed, NULL, err))
		return -1;
	if (!closed->closed.known)
		return error_malformed(err, "reset", -EBADMSG);
	return 0;
}
