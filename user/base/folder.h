/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Folders in which something of ours is made: who else can put something in its place? */
#ifndef GPUMON_CAPTURE_FOLDER_H
#define GPUMON_CAPTURE_FOLDER_H

/**
 * gpumon_folder_of - open the folder that a path ends in
 * @path: of what is to be made there
 * @name: set to the last part of @path, "." where there is none
 *
 * It is looked up once: what is made, renamed and linked by the descriptor lands in that very
 * folder, whatever becomes of its name.
 *
 * Return: a descriptor (O_PATH), or a negative errno.
 */
int gpumon_folder_of(const char *path, const char **name);

/**
 * gpumon_folder_problem - is it one in which nothing of ours is safe?
 * @fd: of the folder
 *
 * Return: why, for a message "PATH: why"; NULL where others cannot take away what we make.
 */
const char *gpumon_folder_problem(int fd);

#endif /* GPUMON_CAPTURE_FOLDER_H */
