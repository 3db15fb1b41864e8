/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What takes long to make and is the same for the same input, kept between runs: files in
 * $XDG_CACHE_HOME/gpumon, or ~/.cache/gpumon. Whatever goes wrong, it is made again: without a home folder,
 * where nothing can be written, in folders of another user, with damaged files.
 *
 * Files are private, and complete or absent. Those of other users, or that others can write, are not read.
 */
#ifndef GPUMON_GPUPROG_SERVE_CACHE_H
#define GPUMON_GPUPROG_SERVE_CACHE_H

#include <stddef.h>

/* Of the files of a kind. The ones that were not used for longest go. */
#define GPUMON_CACHE_MAX (64u << 20)

/**
 * gpumon_cache_read - what was kept
 * @kind: name of the folder in the cache
 * @key: all that it was made from
 * @key_size: bytes
 * @size: out: bytes
 *
 * Return: it, to be freed; NULL: it is not there.
 */
void *gpumon_cache_read(const char *kind, const void *key, size_t key_size, size_t *size);

/**
 * gpumon_cache_write - keep something
 * @kind: name of the folder in the cache, which is made if it is not there
 * @key: all that it was made from
 * @key_size: bytes
 * @data: what to keep
 * @size: bytes
 */
void gpumon_cache_write(const char *kind, const void *key, size_t key_size, const void *data,
			size_t size);

#endif /* GPUMON_GPUPROG_SERVE_CACHE_H */
