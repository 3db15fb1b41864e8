// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* In place of zlib, see include/zlib.h: zcat, which busybox has, too, unpacks. */
#include <zlib.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/memory.h"

struct gz_file {
	FILE *stream;
	pid_t pid; /* of zcat, or 0 */
};

/* Only what may be called between fork() and exec(). */
static void exec_zcat(int from, int to)
{
	char *const argv[] = { (char *)"zcat", NULL };

	if (dup2(from, STDIN_FILENO) >= 0 && dup2(to, STDOUT_FILENO) >= 0)
		execvp(argv[0], argv);
	_exit(127);
}

/* What zcat makes of a file. -1: nothing. */
static int unpack(struct gz_file *file, int from)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	file->pid = fork();
	if (!file->pid)
		exec_zcat(from, ends[1]);
	close(ends[1]);
	if (file->pid > 0)
		return ends[0];
	close(ends[0]);
	return -1;
}

static bool has_more(FILE *stream)
{
	int next = fgetc(stream);

	return next != EOF && ungetc(next, stream) != EOF;
}

gzFile gzopen(const char *path, const char *mode)
{
	struct gz_file *file = gpumon_calloc(1, sizeof(*file));
	int fd = open(path, O_RDONLY | O_CLOEXEC), packed = -1;
	unsigned char magic[2];
	bool is_packed;

	is_packed = pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
		    !memcmp(magic, "\x1f\x8b", sizeof(magic));
	if (is_packed) {
		packed = fd;
		fd = unpack(file, packed);
		close(packed);
	}
	file->stream = fd >= 0 ? fdopen(fd, mode) : NULL;
	if (file->stream && (!is_packed || has_more(file->stream)))
		return file;
	gzclose(file);
	return NULL;
}

char *gzgets(gzFile file, char *line, int size)
{
	return fgets(line, size, file->stream);
}

int gzclose(gzFile file)
{
	if (file->stream)
		fclose(file->stream);
	if (file->pid > 0)
		(void)waitpid(file->pid, NULL, 0);
	free(file);
	return 0;
}
