// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Reports what the library did in this program: which environment variables it read, and which
 * descriptors and threads it created. With file capabilities that must be nothing.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cuda.h>

static unsigned int asked, tables;

extern char **environ;

/* This replaces the C library's function, for libraries too. */
__attribute__((visibility("default"))) char *getenv(const char *name)
{
	size_t length = strlen(name);
	Dl_info caller;

	if (dladdr(__builtin_return_address(0), &caller) && caller.dli_fname &&
	    strstr(caller.dli_fname, "libgpumon-inject"))
		asked++;
	for (char **at = environ; at && *at; at++)
		if (!strncmp(*at, name, length) && (*at)[length] == '=')
			return *at + length + 1;
	return NULL;
}

static const void *get_table(unsigned int id)
{
	(void)id;
	tables++;
	return NULL;
}

static unsigned int count(const char *path)
{
	DIR *folder = opendir(path);
	unsigned int found = 0;

	while (folder && readdir(folder))
		found++;
	if (folder)
		closedir(folder);
	return found;
}

int main(void)
{
	unsigned int files = count("/proc/self/fd"), threads = count("/proc/self/task");
	int (*nvtx)(const void *(*table)(unsigned int id));
	void *library;

	cuInit(0);
	/* Wait while it has two threads, one of which listens. */
	usleep(300000);
	library = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
	nvtx = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
	if (nvtx)
		nvtx(get_table);
	printf("secure %lu loaded %d asked %u tables %u files %u threads %u\n",
	       getauxval(AT_SECURE), library != NULL, asked, tables, count("/proc/self/fd") - files,
	       count("/proc/self/task") - threads);
	return 0;
}
