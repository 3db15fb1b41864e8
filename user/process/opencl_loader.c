// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opencl_loader.h"

#define VARIABLE "OPENCL_LAYERS"

/* Larger files are no loader. */
#define SIZE_MAX_LOADER (64 << 20)

static bool has_word(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	bool found = false;
	void *text;

	if (fd < 0)
		return false;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size > 0 &&
	    status.st_size <= SIZE_MAX_LOADER) {
		text = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (text != MAP_FAILED) {
			found = memmem(text, (size_t)status.st_size, VARIABLE, strlen(VARIABLE));
			munmap(text, (size_t)status.st_size);
		}
	}
	close(fd);
	return found;
}

enum gpumon_opencl_loader gpumon_opencl_loader(const char *root, char path[PATH_MAX])
{
	static const char *const places[] = {
		"/usr/lib/*-linux-gnu/libOpenCL.so.1",
		"/usr/lib64/libOpenCL.so.1",
		"/usr/lib/libOpenCL.so.1",
		"/usr/local/lib/libOpenCL.so.1",
		"/usr/local/cuda*/lib64/libOpenCL.so.1",
	};
	enum gpumon_opencl_loader found = GPUMON_OPENCL_NONE;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && !found; i++) {
		char pattern[PATH_MAX];
		glob_t files;

		if ((size_t)snprintf(pattern, sizeof(pattern), "%s%s", root, places[i]) >=
		    sizeof(pattern))
			continue;
		if (!glob(pattern, 0, NULL, &files)) {
			snprintf(path, PATH_MAX, "%s", files.gl_pathv[0] + strlen(root));
			found = has_word(files.gl_pathv[0]) ? GPUMON_OPENCL_LAYERS :
							      GPUMON_OPENCL_NO_LAYERS;
		}
		globfree(&files);
	}
	return found;
}
