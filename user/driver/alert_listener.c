// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "lib/memory.h"
#include "alert_listener.h"

#include <errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "client.h"
#include "lib/wait.h"
#include "parse.h"

/* Buffer for a few hundred alerts while a command runs. */
#define SOCKET_BYTES  (1 << 18)
#define RECEIVE_BYTES 8192

/**
 * struct alert_family - who sends alerts
 * @name: name of the netlink family
 * @group: name of its multicast group
 * @parse: adds the alert in a message to a model; 0, or -EBADMSG
 * @no_family: sets *err for what libnl returned in place of the family's number
 * @no_group: sets *err if the family has no such group
 * @gone: what is said if the family goes
 * @malformed: what is said of a message that cannot be parsed
 */
struct alert_family {
	const char *name;
	const char *group;
	int (*parse)(const struct nlmsghdr *message, size_t len, struct gpumon_model *model);
	int (*no_family)(int ret, struct gpumon_error *err);
	int (*no_group)(int ret, struct gpumon_error *err);
	const char *gone;
	const char *malformed;
};

struct gpumon_alert_listener {
	const struct alert_family *of;
	struct nl_sock *socket;
	int family;
};

static int open_failed(struct gpumon_error *err, const char *what, int ret)
{
	if (ret == -NLE_PERM)
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_PERMISSION,
			"no permission: alerts need CAP_NET_ADMIN in the initial namespaces, run this as root (sudo gpumon-user …)");
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -EIO, GPUMON_ERROR_IO, "%s: %s", what,
				nl_geterror(ret));
}

static int parse_of_module(const struct nlmsghdr *message, size_t len, struct gpumon_model *model)
{
	return gpumon_parse_alert(message, len, GPUMON_CMD_ALERT_NTF, model);
}

static int no_group_of_module(int ret, struct gpumon_error *err)
{
	/* kmod/compat/genetlink.h */
	if (ret == -NLE_OBJ_NOTFOUND)
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, GPUMON_ERROR_UNSUPPORTED,
			"on this kernel any user could listen to alerts, so that gpumon does not send them: update the kernel and build gpumon again, or read those that it keeps with gpumon-user stat --json");
	return open_failed(err, "looking for the group alerts", ret);
}

static const struct alert_family module_family = {
	.name = GPUMON_FAMILY_NAME,
	.group = GPUMON_MCGRP_ALERTS,
	.parse = parse_of_module,
	.no_family = gpumon_client_no_family,
	.no_group = no_group_of_module,
	.gone = "the module gpumon was unloaded",
	.malformed =
		"malformed alert, module and program do not belong together: install the same version of both",
};

static int no_ras(int ret, struct gpumon_error *err)
{
	if (ret != -NLE_OBJ_NOTFOUND)
		return open_failed(err, "asking for the netlink family drm-ras", ret);
	return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, GPUMON_ERROR_UNSUPPORTED,
				"this kernel has none, Linux 7.1 or newer may");
}

static int no_ras_events(int ret, struct gpumon_error *err)
{
	if (ret != -NLE_OBJ_NOTFOUND)
		return open_failed(err, "looking for the group error-report", ret);
	return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, GPUMON_ERROR_UNSUPPORTED,
				"this kernel's sends no events, Linux 7.4 or newer does");
}

static const struct alert_family ras_family = {
	.name = "drm-ras",
	.group = "error-report",
	.parse = gpumon_parse_ras_event,
	.no_family = no_ras,
	.no_group = no_ras_events,
	.gone = "the kernel's drm-ras is gone",
	.malformed = "malformed event of drm-ras: this program is older than the kernel, update it",
};

static int join_alert_group(struct gpumon_alert_listener *listener, struct gpumon_error *err)
{
	const struct alert_family *of = listener->of;
	int ret = genl_connect(listener->socket);
	int group, families;

	if (ret)
		return open_failed(err, "connecting to netlink", ret);
	listener->family = genl_ctrl_resolve(listener->socket, of->name);
	if (listener->family < 0)
		return of->no_family(listener->family, err);
	group = genl_ctrl_resolve_grp(listener->socket, of->name, of->group);
	if (group < 0)
		return of->no_group(group, err);
	families = genl_ctrl_resolve_grp(listener->socket, "nlctrl", "notify");
	if (families < 0)
		return open_failed(err, "looking for the group notify", families);
	nl_socket_set_buffer_size(listener->socket, SOCKET_BYTES, 0);
	ret = nl_socket_add_membership(listener->socket, group);
	if (ret)
		return open_failed(err, "joining the group of alerts", ret);
	ret = nl_socket_add_membership(listener->socket, families);
	if (ret)
		return open_failed(err, "joining the group notify", ret);
	return 0;
}

static int open_listener(struct gpumon_alert_listener **listener, const struct alert_family *of,
			 struct gpumon_error *err)
{
	struct gpumon_alert_listener *new = gpumon_calloc(1, sizeof(*new));

	*listener = NULL;
	new->of = of;
	new->socket = nl_socket_alloc();
	if (!new->socket)
		gpumon_memory_failed(0);
	if (join_alert_group(new, err)) {
		gpumon_alert_listener_close(new);
		return -1;
	}
	*listener = new;
	return 0;
}

int gpumon_alert_listener_open(struct gpumon_alert_listener **listener, struct gpumon_error *err)
{
	return open_listener(listener, &module_family, err);
}

int gpumon_alert_listener_open_ras(struct gpumon_alert_listener **listener,
				   struct gpumon_error *err)
{
	return open_listener(listener, &ras_family, err);
}

void gpumon_alert_listener_close(struct gpumon_alert_listener *listener)
{
	if (!listener)
		return;
	nl_socket_free(listener->socket);
	free(listener);
}

int gpumon_alert_listener_fd(const struct gpumon_alert_listener *listener)
{
	return nl_socket_get_fd(listener->socket);
}

/* A group that is gone is silent. The kernel announces when its family goes. */
static bool family_gone(const struct gpumon_alert_listener *listener,
			const struct nlmsghdr *message)
{
	const struct genlmsghdr *genl = (const void *)(message + 1);
	const struct nlattr *id;

	if (message->nlmsg_type != GENL_ID_CTRL ||
	    message->nlmsg_len < sizeof(*message) + GENL_HDRLEN || genl->cmd != CTRL_CMD_DELFAMILY)
		return false;
	id = nla_find((const void *)((const char *)genl + GENL_HDRLEN),
		      (int)(message->nlmsg_len - sizeof(*message) - GENL_HDRLEN),
		      CTRL_ATTR_FAMILY_ID);
	return id && nla_len(id) >= (int)sizeof(uint16_t) && nla_get_u16(id) == listener->family;
}

/* Events of drm_ras have no time. */
static void add_time(struct gpumon_model *model)
{
	struct gpumon_alert *alert = &model->alerts[model->n_alerts - 1];

	if (!alert->time_ns.known)
		alert->time_ns = gpumon_value_of(gpumon_monotonic_ns());
}

static int take_messages(const struct gpumon_alert_listener *listener, const unsigned char *buffer,
			 size_t left, struct gpumon_model *model)
{
	while (left >= sizeof(struct nlmsghdr)) {
		/* The buffer is aligned, and so is each message in it. */
		const struct nlmsghdr *message = (const void *)buffer;
		size_t step;
		int ret;

		if (message->nlmsg_len < sizeof(*message) || message->nlmsg_len > left)
			return -EBADMSG;
		if (message->nlmsg_type == listener->family) {
			ret = listener->of->parse(message, left, model);
			if (ret)
				return ret;
			add_time(model);
		} else if (family_gone(listener, message)) {
			return -ENODEV;
		}
		step = NLMSG_ALIGN((size_t)message->nlmsg_len);
		step = step < left ? step : left;
		buffer += step;
		left -= step;
	}
	return 0;
}

int gpumon_alert_listener_read(struct gpumon_alert_listener *listener, struct gpumon_model *model,
			       struct gpumon_error *err)
{
	union {
		struct nlmsghdr align;
		unsigned char bytes[RECEIVE_BYTES];
	} buffer;
	int fd = gpumon_alert_listener_fd(listener);

	for (;;) {
		struct sockaddr_nl from = { 0 };
		socklen_t from_len = sizeof(from);
		ssize_t n = recvfrom(fd, buffer.bytes, sizeof(buffer), MSG_DONTWAIT,
				     (struct sockaddr *)&from, &from_len);
		int ret;

		/* Alerts did not fit. The counts in the next ones show how many. */
		if (n < 0 && errno == ENOBUFS)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n < 0)
			return gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO,
						"receiving alerts: %s", strerror(errno));
		/* Accept messages of the kernel only. */
		if (from.nl_pid)
			continue;
		ret = take_messages(listener, buffer.bytes, (size_t)n, model);
		if (ret == -ENODEV)
			return gpumon_error_set(err, GPUMON_EXIT_FAILED, ret,
						GPUMON_ERROR_NOT_LOADED, "%s", listener->of->gone);
		if (ret)
			return gpumon_error_set(err, GPUMON_EXIT_FAILED, ret, GPUMON_ERROR_KERNEL,
						"%s", listener->of->malformed);
	}
}
