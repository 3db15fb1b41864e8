/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Folders: what is in them, and whether other users can replace the files that we make there. */
#ifndef GPUMON_LIB_FOLDER_H
#define GPUMON_LIB_FOLDER_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

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

#endif /* GPUMON_LIB_FOLDER_H */
