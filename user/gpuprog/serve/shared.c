// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/read_at.h"
#include "abi/wire.h"
#include "shared.h"

int gpumon_probe_shared_make(const char *name, size_t bytes, void **memory)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	if (!ftruncate(fd, (off_t)bytes) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (*memory != MAP_FAILED)
			return fd;
	}
	close(fd);
	return -1;
}

void *gpumon_probe_shared_read(int fd, size_t size)
{
	struct stat status;
	void *copy = NULL;

	/* A sparse file of any size takes no memory until it is read. */
	if (fd >= 0 && size && size <= GPUMON_WIRE_IMAGE_MAX && !fstat(fd, &status) &&
	    S_ISREG(status.st_mode) && status.st_size >= 0 && (size_t)status.st_size >= size)
		copy = malloc(size);
	if (copy && gpumon_read_at(fd, copy, size, 0) == (ssize_t)size)
		return copy;
	free(copy);
	return NULL;
}
