/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Reads files and folders, also those that are not trusted. */
#ifndef GPUMON_LIB_FILES_H
#define GPUMON_LIB_FILES_H

#include <dirent.h>
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

/* Folders: what is in them, and whether other users can replace the files that we make there. */

/**
 * gpumon_folder_of - open the folder that contains a path
 * @path: path of the new file
 * @name: set to the last part of @path, "." where there is none
 *
 * The folder is looked up only once. Files that are made, renamed or linked through the descriptor
 * end up in it even if it is renamed meanwhile.
 *
 * Return: a descriptor (O_PATH), or a negative errno.
 */
int gpumon_folder_of(const char *path, const char **name);

/**
 * gpumon_folder_problem - check whether others can replace our files in a folder
 * @fd: descriptor of the folder
 *
 * Return: the reason, for a message "PATH: reason"; NULL if our files are safe.
 */
const char *gpumon_folder_problem(int fd);

/**
 * gpumon_folder_entries - open a folder to read its entries
 * @folder: descriptor that @name is relative to, or AT_FDCWD
 * @name: path; "." is @folder itself
 * @flags: more flags of open(), such as O_NOFOLLOW
 *
 * Return: for readdir(), closed by closedir(), with a descriptor of its own (dirfd()); NULL with errno.
 */
DIR *gpumon_folder_entries(int folder, const char *name, int flags);

/* Whether a folder was removed since it was opened. */
bool gpumon_folder_is_gone(int folder);

/* Bytes of the files in a folder, and in those of them that are folders. */
uint64_t gpumon_folder_bytes(int folder, const char *name);

#endif /* GPUMON_LIB_FILES_H */
