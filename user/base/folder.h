/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Checks that other users cannot replace the files that we make in a folder. */
#ifndef GPUMON_CAPTURE_FOLDER_H
#define GPUMON_CAPTURE_FOLDER_H

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

#endif /* GPUMON_CAPTURE_FOLDER_H */
