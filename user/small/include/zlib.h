/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* As much of zlib's interface as "doctor" uses to read /proc/config.gz, in gzip_read.c. */
#ifndef GPUMON_SMALL_ZLIB_H
#define GPUMON_SMALL_ZLIB_H

typedef struct gz_file *gzFile;

/* NULL: it cannot be read, or is compressed and there is no zcat. @mode is for reading. */
gzFile gzopen(const char *path, const char *mode);
char *gzgets(gzFile file, char *line, int size);
int gzclose(gzFile file);

#endif /* GPUMON_SMALL_ZLIB_H */
