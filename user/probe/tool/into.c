// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "into.h"

/* As when the programs are run. */
#define SHARDS 64

static int map_image(const char *path, void **image, size_t *size, struct gpumon_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error;
	struct stat status;

	if (fd < 0)
		return gpumon_probe_cannot_read(path, errno, err);
	if (fstat(fd, &status)) {
		error = errno;
		close(fd);
		return gpumon_probe_cannot_read(path, error, err);
	}
	if (!S_ISREG(status.st_mode) || !status.st_size) {
		close(fd);
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_IO,
					"%s: no file with content; name PTX, a cubin or a fat "
					"binary, as nvcc -ptx and nvcc -fatbin write them",
					path);
	}
	*size = (size_t)status.st_size;
	*image = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	error = errno;
	close(fd);
	return *image == MAP_FAILED ? gpumon_probe_cannot_read(path, error, err) : 0;
}

int gpumon_probe_into(const struct gpumon_probe_check *check, struct gpumon_probe_into *into,
		      FILE *out, struct gpumon_error *err)
{
	const struct gpumon_probe_order order = {
		.object = &check->object,
		.facts = check->facts,
		.kernels = into->kernels,
		.kernels_n = into->kernels_n,
		.sm = into->sm,
		.shards = SHARDS,
		.fuel = into->fuel,
	};
	size_t size = 0;
	void *image;
	int ret;

	if (map_image(into->image, &image, &size, err))
		return -1;
	ret = gpumon_probe_exchange(&order, image, size, &into->run, out, &into->outcome, err);
	munmap(image, size);
	return ret;
}
