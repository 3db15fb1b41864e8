/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A sheet in a file, with all that printing it needs: Documentation/reference/capture-format.md,
 * probe.json.
 */
#ifndef GPUMON_LIB_SHEET_FILE_H
#define GPUMON_LIB_SHEET_FILE_H

#include "error.h"
#include "sheet.h"

/* In the directory of a capture. */
#define GPUMON_SHEET_FILE "probe.json"

/**
 * gpumon_sheet_write - write GPUMON_SHEET_FILE
 * @sheet: sheet
 * @directory: descriptor
 * @err: no memory; the file is there, cannot be made or written: none is left then
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_sheet_write(const struct gpumon_sheet *sheet, int directory, struct gpumon_error *err);

/**
 * gpumon_sheet_read - read GPUMON_SHEET_FILE
 * @directory: path
 * @sheet: out, to be freed; NULL: there is no such file. Of a file that cannot be read, or is not what
 *         gpumon_sheet_write() writes, a sheet with a note that says so
 *
 * Return: 0, or 1 if it cannot be read.
 */
int gpumon_sheet_read(const char *directory, struct gpumon_sheet **sheet);

#endif /* GPUMON_LIB_SHEET_FILE_H */
