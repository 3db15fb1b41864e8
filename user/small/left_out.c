// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What the small build has in place of files that need libraries, or that are about recording. Each part that
 * is left out says so.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/doctor.h"
#include "lib/files.h"
#include "lib/gzip.h"
#include "lib/module_file.h"
#include "lib/profile.h"

/* gpumon.ko with debug information has some 10 MB. */
#define MODULE_MAX (64U << 20)

int gpumon_gzip_possible(struct gpumon_error *err)
{
	return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_NOT_BUILT,
				"writing .gz is not in this gpumon-user: " GPUMON_BECAUSE(""));
}

/* Never called, since it is not possible. */
FILE *gpumon_gzip_open(FILE *to)
{
	(void)to;
	abort();
}

/* What is compressed cannot be read. */
char *gpumon_module_file_read(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *bytes;

	if (fd < 0)
		return NULL;
	bytes = gpumon_read_whole(fd, MODULE_MAX, size);
	close(fd);
	if (bytes && (*size < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG) != 0)) {
		free(bytes);
		bytes = NULL;
	}
	return bytes;
}

void gpumon_doctor_record(struct gpumon_doctor *doctor)
{
	doctor->part = GPUMON_DOCTOR_RECORD;
	gpumon_doctor_add(doctor, GPUMON_DOCTOR_FAIL, "build", NULL,
			  "recording is not in this gpumon-user: " GPUMON_BECAUSE(""));
}

int gpumon_complete(struct gpumon_context *context, int argc, char **argv)
{
	struct gpumon_error err;

	(void)argc;
	(void)argv;
	gpumon_error_set(&err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_NOT_BUILT,
			 "completion is not in this gpumon-user: " GPUMON_BECAUSE(""));
	return gpumon_report(context, &err);
}
