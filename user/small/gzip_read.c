// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* In place of zlib, see include/zlib.h: zcat, which busybox has, too, unpacks. */
#include <zlib.h>

#include <fcntl.h>
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
	if (dup2(from, STDIN_FILENO) >= 0 && dup2(to, STDOUT_FILENO) >= 0)
		execlp("zcat", "zcat", (char *)NULL);
	_exit(127);
}

/* Reads on through zcat. */
static int unpack(struct gz_file *file)
{
	int from = fileno(file->stream), ends[2];

	rewind(file->stream);
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	file->pid = fork();
	if (!file->pid)
		exec_zcat(from, ends[1]);
	close(ends[1]);
	if (file->pid < 0) {
		close(ends[0]);
		return -1;
	}
	fclose(file->stream);
	file->stream = fdopen(ends[0], "r");
	return 0;
}

gzFile gzopen(const char *path, const char *mode)
{
	struct gz_file *file = gpumon_calloc(1, sizeof(*file));
	unsigned char magic[2] = { 0 };
	int next;

	file->stream = fopen(path, mode);
	if (!file->stream) {
		free(file);
		return NULL;
	}
	if (fread(magic, 1, sizeof(magic), file->stream) != sizeof(magic) ||
	    memcmp(magic, "\x1f\x8b", sizeof(magic)) != 0) {
		rewind(file->stream);
		return file;
	}
	next = unpack(file) || !file->stream ? EOF : getc(file->stream);
	if (next != EOF) {
		ungetc(next, file->stream);
		return file;
	}
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
