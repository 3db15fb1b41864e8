// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "descriptor.h"

int gpumon_send_descriptor(int socket, const void *message, size_t size, int descriptor)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct iovec vector = { .iov_base = (void *)message, .iov_len = size };
	struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1 };

	if (descriptor >= 0) {
		header.msg_control = control.room;
		header.msg_controllen = sizeof(control.room);
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&control.align), &descriptor, sizeof(descriptor));
	}
	return sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}
