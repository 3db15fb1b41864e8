// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <zlib.h>

#include "gzip.h"
#include "memory.h"

struct gzip {
	z_stream stream;
	FILE *to;
};

/* What is in @stream.next_in. Returns 0, or -1 with errno. */
static int compress_input(struct gzip *gzip, int flush)
{
	unsigned char piece[16384];
	size_t size;

	do {
		gzip->stream.next_out = piece;
		gzip->stream.avail_out = sizeof(piece);
		/* There is room for output, so that it does not fail. */
		(void)deflate(&gzip->stream, flush);
		size = sizeof(piece) - gzip->stream.avail_out;
		if (fwrite(piece, 1, size, gzip->to) != size)
			return -1;
	} while (!gzip->stream.avail_out);
	return 0;
}

static ssize_t write_gzip(void *cookie, const char *data, size_t size)
{
	struct gzip *gzip = cookie;

	/* Of a stream, 0 is an error. */
	if (size > INT_MAX)
		size = INT_MAX;
	gzip->stream.next_in = (unsigned char *)data;
	gzip->stream.avail_in = (uInt)size;
	return compress_input(gzip, Z_NO_FLUSH) ? 0 : (ssize_t)size;
}

static int close_gzip(void *cookie)
{
	struct gzip *gzip = cookie;
	int ret;

	gzip->stream.avail_in = 0;
	ret = compress_input(gzip, Z_FINISH);
	deflateEnd(&gzip->stream);
	free(gzip);
	return ret;
}

int gpumon_gzip_possible(struct gpumon_error *err)
{
	(void)err;
	return 0;
}

FILE *gpumon_gzip_open(FILE *to)
{
	struct gzip *gzip = gpumon_calloc(1, sizeof(*gzip));
	FILE *stream;

	gzip->to = to;
	/* 16: with the head and the end of gzip. */
	if (deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		gpumon_memory_failed(sizeof(gzip->stream));
	stream = fopencookie(gzip, "w",
			     (cookie_io_functions_t){ .write = write_gzip, .close = close_gzip });
	if (!stream)
		gpumon_memory_failed(sizeof(*gzip));
	return stream;
}
