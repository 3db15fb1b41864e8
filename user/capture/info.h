/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Makes the directories of captures and rings, so that nobody else can write into them. */
#ifndef GPUMON_CAPTURE_INFO_H
#define GPUMON_CAPTURE_INFO_H

/**
 * gpumon_capture_open_directory - make a directory, or take over an existing one
 * @path: without slashes at its end
 * @mark: a name that makes a directory ours though it is not empty; NULL: it has to be
 *
 * Return: a descriptor, or -1 with the reason in gpumon_capture_error().
 */
int gpumon_capture_open_directory(const char *path, const char *mark);

/* The locked GPUMON_CAPTURE_RING of a directory with that path, or -1 likewise. */
int gpumon_capture_open_ring(int directory, const char *path);

#endif /* GPUMON_CAPTURE_INFO_H */
