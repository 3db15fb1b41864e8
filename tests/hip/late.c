// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* As Python does: loads the program, as a library, and with it HIP's, whose names nobody else gets. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	void *library = dlopen(getenv("HIP_TEST_PROGRAM"), RTLD_NOW | RTLD_LOCAL);
	int (*run)(int, char **) =
		library ? __extension__(int (*)(int, char **)) dlsym(library, "main") : NULL;

	if (run)
		return run(argc, argv);
	fprintf(stderr, "%s\n", dlerror());
	return 1;
}
