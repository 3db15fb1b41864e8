/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Writing and reading captures: a directory with capture.json, what holds for
 * all of it, and a file of chunks (format.h) for each process and for the driver.
 */
#ifndef GPUMON_CAPTURE_H
#define GPUMON_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

/* --- writing */

struct gpumon_capture_writer;
struct gpumon_capture_file;

/**
 * struct gpumon_capture_info - what capture.json says
 * @version: of the format
 * @gpumon_version: of who wrote it
 * @boot_id: as text
 * @host: name of the host
 * @command: what was recorded, "" of live processes
 * @created_ns: CLOCK_REALTIME when it began
 * @created_monotonic_ns: CLOCK_MONOTONIC at that moment
 * @ended: it was closed, and not cut off
 */
struct gpumon_capture_info {
	uint32_t version;
	char gpumon_version[32];
	char boot_id[40];
	char host[72];
	char *command;
	uint64_t created_ns;
	uint64_t created_monotonic_ns;
	bool ended;
};

/**
 * gpumon_capture_create - begin a capture
 * @path: directory, made with mode 0700; must not exist, or be empty
 * @command: what is recorded, for capture.json
 * @writer: set to the capture
 *
 * Return: 0, or -1 with the reason told by gpumon_error().
 */
int gpumon_capture_create(const char *path, const char *command,
			  struct gpumon_capture_writer **writer);

/**
 * gpumon_capture_add_file - a file of a process, or of the driver
 * @writer: capture
 * @name: without suffix, as "process-123-456"
 * @file: set to it
 *
 * Return: 0, or -1 with the reason told.
 */
int gpumon_capture_add_file(struct gpumon_capture_writer *writer, const char *name,
			    struct gpumon_capture_file **file);

/**
 * gpumon_capture_append - write whole records as one chunk
 * @file: where to
 * @tid: of who wrote them
 * @records: they
 * @size: bytes, at most GPUMON_CHUNK_SIZE_MAX
 *
 * A disk that is full is told once and counted: records are then lost, and a
 * GPUMON_RECORD_LOSS says how many as soon as there is room.
 *
 * Return: 0, or -1 if they are lost.
 */
int gpumon_capture_append(struct gpumon_capture_file *file, uint32_t tid, const void *records,
			  size_t size);

/**
 * gpumon_capture_close - end a capture
 * @writer: capture, NULL is nothing
 *
 * Return: 0, or -1 if something was not written, as was told.
 */
int gpumon_capture_close(struct gpumon_capture_writer *writer);

/* --- reading */

struct gpumon_capture;

/**
 * struct gpumon_capture_cursor - where a record is from
 * @process: number of the process in the capture, from 0 on; the driver's is ~0
 * @tid: who wrote it
 */
struct gpumon_capture_cursor {
	uint32_t process;
	uint32_t tid;
};

/**
 * struct gpumon_capture_damage - what could not be read, by cause
 * @truncated_bytes: at the ends of files that were cut off
 * @broken_chunks: whose CRC is wrong, skipped
 * @broken_records: with impossible sizes, skipped with the rest of their chunk
 * @unknown_records: of a type that this version does not know
 * @missing_chunks: gaps in the numbers of chunks
 */
struct gpumon_capture_damage {
	uint64_t truncated_bytes;
	uint64_t broken_chunks;
	uint64_t broken_records;
	uint64_t unknown_records;
	uint64_t missing_chunks;
};

/**
 * gpumon_capture_open - open a capture to read it
 * @path: directory
 * @capture: set to it
 *
 * Return: 0, or -1 with the reason told: it is none, or of a version to come.
 */
int gpumon_capture_open(const char *path, struct gpumon_capture **capture);

const struct gpumon_capture_info *gpumon_capture_info(const struct gpumon_capture *capture);

/**
 * gpumon_capture_next - the next record
 * @capture: capture
 * @cursor: filled in
 *
 * Chunks of one process come in their order, which is about that of time;
 * those of several processes in turns. A record is longer than its type's struct,
 * or shorter: gpumon_record_copy() gives a whole one.
 *
 * Return: the record, valid until the next call; NULL at the end.
 */
const struct gpumon_record *gpumon_capture_next(struct gpumon_capture *capture,
						struct gpumon_capture_cursor *cursor);

/* From the beginning again. */
void gpumon_capture_rewind(struct gpumon_capture *capture);

/* As far as it was read. */
const struct gpumon_capture_damage *gpumon_capture_damage(const struct gpumon_capture *capture);

void gpumon_capture_free(struct gpumon_capture *capture);

/**
 * gpumon_record_copy - a record's fields, those that it does not have as 0
 * @to: struct of its type
 * @size: of that
 * @record: record
 */
void gpumon_record_copy(void *to, size_t size, const struct gpumon_record *record);

#endif /* GPUMON_CAPTURE_H */
