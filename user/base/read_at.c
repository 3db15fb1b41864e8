// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <unistd.h>

#include "read_at.h"

ssize_t gpumon_read_at(int fd, void *to, size_t size, uint64_t at)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = pread(fd, (char *)to + have, size - have, (off_t)(at + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}
