// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Where NVIDIA's tools are searched. */
#include "common.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "gpuprog/server/patches.h"

/* An empty folder for CUDA, that nobody else sees. */
static bool hide_cuda(void)
{
	return (!unshare(CLONE_NEWNS) || !unshare(CLONE_NEWUSER | CLONE_NEWNS)) &&
	       !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("none", "/usr/local", "tmpfs", 0, NULL);
}

static void add_file(const char *path)
{
	char folder[256];

	for (const char *slash = path; (slash = strchr(slash + 1, '/'));) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		mkdir(folder, 0755);
	}
	fclose(fopen(path, "w"));
	assert_int_equal(chmod(path, 0755), 0);
}

/* Without a link /usr/local/cuda. By its text 12.4 is above 12.10. */
static void the_newest_cuda_is_taken(void **state)
{
	static const char *const versions[] = { "12.4", "13.0", "12.10", "11.8" };
	char name[256], path[PATH_MAX];
	struct gpumon_error err;

	(void)state;
	if (!hide_cuda())
		skip();
	setenv("PATH", "/nonexistent", 1);
	unsetenv("VIRTUAL_ENV");
	unsetenv("GPUMON_PTXAS");
	unsetenv("GPUMON_SANITIZER");
	unsetenv("TRITON_PTXAS_PATH");
	for (size_t i = 0; i < COUNT(versions); i++) {
		snprintf(name, sizeof(name), "/usr/local/cuda-%s/bin/ptxas", versions[i]);
		add_file(name);
		snprintf(name, sizeof(name),
			 "/usr/local/cuda-%s/compute-sanitizer/libsanitizer-public.so",
			 versions[i]);
		add_file(name);
	}
	assert_int_equal(gpumon_gpuprog_find_ptxas(NULL, "program", path, &err), 0);
	assert_string_equal(path, "/usr/local/cuda-13.0/bin/ptxas");
	assert_int_equal(gpumon_gpuprog_find_sanitizer(NULL, path, sizeof(path), &err), 0);
	assert_string_equal(path, "/usr/local/cuda-13.0/compute-sanitizer/libsanitizer-public.so");
	assert_int_equal(remove("/usr/local/cuda-13.0/bin/ptxas"), 0);
	assert_int_equal(gpumon_gpuprog_find_ptxas(NULL, "program", path, &err), 0);
	assert_string_equal(path, "/usr/local/cuda-12.10/bin/ptxas");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_cuda_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
