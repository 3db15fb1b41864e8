/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Removes captures that we made. */
#ifndef GPUMON_RECORD_REMOVE_H
#define GPUMON_RECORD_REMOVE_H

/* Remove the files of a capture in a directory, and no others. */
void gpumon_remove_files(const char *directory);

/* The same, and then the directory, if it is empty. */
void gpumon_remove_capture(const char *directory);

#endif /* GPUMON_RECORD_REMOVE_H */
