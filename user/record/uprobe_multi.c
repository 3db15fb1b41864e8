// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "uprobe_multi.h"

/* The command of bpf(2) and its argument, as in linux/bpf.h of 6.6. */
#define LINK_CREATE  28
#define MULTI_RETURN 1u

struct link_create {
	uint32_t program_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t reference_offsets;
	uint64_t cookies;
	uint32_t count;
	uint32_t multi_flags;
	uint32_t pid;
	uint32_t reserved;
};

static int create_multi_link(struct link_create *attributes)
{
	int fd = (int)syscall(SYS_bpf, LINK_CREATE, attributes, sizeof(*attributes));

	return fd < 0 ? -errno : fd;
}

int gpumon_uprobe_multi_link(int program_fd, bool at_return, pid_t pid, const char *path,
			     const struct gpumon_uprobe_point *points, unsigned int count)
{
	uint64_t *offsets = calloc(count, sizeof(*offsets));
	uint64_t *cookies = calloc(count, sizeof(*cookies));
	struct link_create attributes = {
		.program_fd = (uint32_t)program_fd,
		.attach_type = GPUMON_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.count = count,
		.multi_flags = at_return ? MULTI_RETURN : 0,
		.pid = (uint32_t)pid,
	};
	int fd = -ENOMEM;

	if (offsets && cookies) {
		for (unsigned int i = 0; i < count; i++) {
			offsets[i] = points[i].offset;
			cookies[i] = points[i].cookie;
		}
		fd = create_multi_link(&attributes);
	}
	free(offsets);
	free(cookies);
	return fd;
}

bool gpumon_uprobe_multi_works(int program_fd)
{
	uint64_t offset = 0;
	struct link_create attributes = {
		.program_fd = (uint32_t)program_fd,
		.attach_type = GPUMON_UPROBE_MULTI,
		.path = (uintptr_t) "/",
		.offsets = (uintptr_t)&offset,
		.count = 1,
	};

	/* A kernel with this feature rejects a folder with EBADF. */
	if (create_multi_link(&attributes) != -EBADF)
		return false;
	/*
	 * The first version silently probed only the thread with the given number. The fix also
	 * made a negative number an error.
	 */
	attributes.pid = (uint32_t)-1;
	return create_multi_link(&attributes) == -EINVAL;
}
