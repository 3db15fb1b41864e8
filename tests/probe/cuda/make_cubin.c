// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* make_cubin TEXT CUBIN: the stand-in for a cubin of a PTX text. */
#include <stdio.h>

#include "cubin.h"

int main(int argc, char **argv)
{
	static char text[1 << 20];
	FILE *in = argc == 3 ? fopen(argv[1], "r") : NULL, *out;
	void *cubin;
	size_t size;

	if (!in || !fread(text, 1, sizeof(text) - 1, in))
		return 1;
	cubin = cubin_make(text, &size);
	out = fopen(argv[2], "w");
	return !out || fwrite(cubin, 1, size, out) != size || fclose(out);
}
