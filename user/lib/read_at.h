/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_LIB_READ_AT_H
#define GPUMON_LIB_READ_AT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Read @size bytes, or as many as there are to the end of the file. Returns how many, or -1 with errno. */
ssize_t gpumon_read_at(int fd, void *to, size_t size, uint64_t at);

/**
 * gpumon_read_whole - read all of a file that is not trusted
 * @fd: descriptor
 * @most: the largest size that is read
 * @size: out: bytes. If others cut it off meanwhile, these are fewer: a mapping of it would end us by SIGBUS
 *
 * Return: as gpumon_read_file().
 */
char *gpumon_read_whole(int fd, size_t most, size_t *size);

/**
 * gpumon_read_file - read all of a file by its name
 * @folder: descriptor that @path is relative to, or AT_FDCWD
 * @path: path, not of a symbolic link
 * @most: the largest size that is read
 *
 * Return: its contents and a NUL behind them, to be freed. NULL with errno: EFBIG if it is larger,
 * EINVAL if it is no file.
 */
char *gpumon_read_file(int folder, const char *path, size_t most);

/**
 * gpumon_read_short - read a small file of /proc or /sys
 * @root: prefix of the path, normally ""
 * @name: path
 * @text: out, NUL-terminated; cut to @room bytes
 * @room: size of @text
 *
 * Return: false if the file could not be opened.
 */
bool gpumon_read_short(const char *root, const char *name, char *text, size_t room);

#endif /* GPUMON_LIB_READ_AT_H */
