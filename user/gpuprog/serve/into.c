// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/read_at.h"
#include "into.h"
#include "gpuprog/object/layout.h"

#define IMAGE_MAX (1u << 30)

/* To be freed in both cases. */
static int read_image(const char *path, char **image, size_t *size, struct gpumon_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error;

	*image = fd >= 0 ? gpumon_read_whole(fd, IMAGE_MAX, size) : NULL;
	error = *image ? 0 : errno;
	if (fd >= 0)
		close(fd);
	if (error == EINVAL || (!error && !*size))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_IO,
					"%s: no file with content; name PTX, a cubin or a fat "
					"binary, as nvcc -ptx and nvcc -fatbin write them",
					path);
	return error ? gpumon_probe_cannot_read(path, error, err) : 0;
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
		.shards = GPUMON_PROBE_SHARDS, /* as when the programs are run */
		.fuel = into->fuel,
	};
	size_t size = 0;
	char *image;
	int ret = read_image(into->image, &image, &size, err);

	if (!ret)
		ret = gpumon_probe_exchange(&order, image, size, &into->run, out, &into->outcome,
					    err);
	free(image);
	return ret;
}
