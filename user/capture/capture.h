/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Writing and reading captures: a directory with capture.json, what holds for
 * all of it, and a file of chunks (format.h) for each process and for the driver.
 *
 * Not thread-safe: a writer with its files, or a capture that is read, is one
 * thread's at a time; different ones do not disturb each other.
 */
#ifndef GPUMON_CAPTURE_H
#define GPUMON_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "format.h"

/* capture.json, files of chunks, and the driver's one, whose process is ~0. */
#define GPUMON_CAPTURE_INFO   "capture.json"
#define GPUMON_CAPTURE_SUFFIX ".records"
/* Of a process: GPUMON_CAPTURE_PROCESS "PID-TICKS", and what its runtime said of code that it made. */
#define GPUMON_CAPTURE_PROCESS "process-"
#define GPUMON_CAPTURE_MAP     "perf-%s.map"
/* Only there while a capture is written, or where its writer was killed. */
#define GPUMON_CAPTURE_INFO_NEW ".capture.json.new"
#define GPUMON_CAPTURE_RESERVE	".reserve"
#define GPUMON_CAPTURE_DRIVER	"driver"

/* Of a cursor, of what is no process's. */
#define GPUMON_PROCESS_DRIVER (~0u)

/**
 * gpumon_capture_error - why the last function of this header failed in this thread
 *
 * Return: the failure, for gpumon_report(); valid until the next call of this header.
 */
const struct gpumon_error *gpumon_capture_error(void);

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
 * @lost_records: with @ended: those that did not get onto the disk
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
	uint64_t lost_records;
};

/**
 * gpumon_capture_create - begin a capture
 * @path: directory, made with mode 0700; must not exist, or be empty
 * @command: what is recorded, for capture.json
 * @writer: set to the capture
 *
 * Return: 0, or -1 with the reason in gpumon_capture_error().
 */
int gpumon_capture_create(const char *path, const char *command,
			  struct gpumon_capture_writer **writer);

/**
 * gpumon_capture_add_file - a file of a process, or of the driver
 * @writer: capture
 * @name: without suffix, as "process-123-456", or GPUMON_CAPTURE_DRIVER
 * @file: set to it, belongs to @writer
 *
 * Return: 0, or -1 with the reason in gpumon_capture_error().
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
 * A disk that is full is told once (gpumon_capture_on_trouble()) and counted:
 * records are then lost, and a GPUMON_RECORD_LOSS says how many as soon as there
 * is room. A chunk is written whole or not at all.
 *
 * Return: 0, or -1 if they are lost, with the reason in gpumon_capture_error().
 */
int gpumon_capture_append(struct gpumon_capture_file *file, uint32_t tid, const void *records,
			  size_t size);

/**
 * gpumon_capture_limit - the largest size
 * @writer: capture
 * @bytes: of all files, 0: no limit
 *
 * For gpumon_capture_append_limited() alone: what is said at the end comes on top.
 */
void gpumon_capture_limit(struct gpumon_capture_writer *writer, uint64_t bytes);

/* A chunk did not fit in: from then on there are none. */
bool gpumon_capture_is_full(const struct gpumon_capture_writer *writer);

/* The same as gpumon_capture_append(), up to the limit; what comes behind it is none of the capture. */
int gpumon_capture_append_limited(struct gpumon_capture_file *file, uint32_t tid,
				  const void *records, size_t size);

/* Bytes of whole chunks that are in the file. */
uint64_t gpumon_capture_file_bytes(const struct gpumon_capture_file *file);

/**
 * gpumon_capture_make_map - a GPUMON_CAPTURE_MAP beside a process's file
 * @file: of the process, which must not have been ended
 *
 * Return: a descriptor that belongs to the caller, or -1 with errno.
 */
int gpumon_capture_make_map(struct gpumon_capture_file *file);

/* The process ended: its descriptor is closed, @file may not be used after. */
void gpumon_capture_end_file(struct gpumon_capture_file *file);

/**
 * gpumon_capture_on_trouble - who is told, once, that something cannot be written
 * @writer: capture
 * @tell: gets the failure; NULL (as at first): one line on stderr
 * @data: for @tell
 */
void gpumon_capture_on_trouble(struct gpumon_capture_writer *writer,
			       void (*tell)(void *data, const struct gpumon_error *err),
			       void *data);

/* Its directory, whatever becomes of its name: a descriptor, the writer's as long as it is open. */
int gpumon_capture_directory(const struct gpumon_capture_writer *writer);

/* Records that could not be written, of all files until now. */
uint64_t gpumon_capture_lost(const struct gpumon_capture_writer *writer);

/**
 * gpumon_capture_close - end a capture
 * @writer: capture, NULL is nothing; freed also where this fails
 *
 * Return: 0, or -1 if something was not written, with the reason in gpumon_capture_error().
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
 * @broken_records: with impossible sizes, skipped with the rest of their chunk, or with
 *                  counts that do not fit into their size, skipped alone
 * @unknown_records: of a type that this version does not know
 * @missing_chunks: gaps in the numbers of chunks, chunks of files that ended too early, and
 *                  files that are not there
 * @broken_info: capture.json cannot be read: what it says is not known
 * @unreadable_files: that cannot be opened or read
 */
struct gpumon_capture_damage {
	uint64_t truncated_bytes;
	uint64_t broken_chunks;
	uint64_t broken_records;
	uint64_t unknown_records;
	uint64_t missing_chunks;
	bool broken_info;
	uint64_t unreadable_files;
};

/**
 * gpumon_capture_open - open a capture to read it
 * @path: directory
 * @capture: set to it
 *
 * One that is still being written can be opened, too, see gpumon_capture_next().
 *
 * Return: 0, or -1 with the reason in gpumon_capture_error(): it is none, or of a version to
 * come.
 */
int gpumon_capture_open(const char *path, struct gpumon_capture **capture);

/* Unknown texts are "", unknown times 0. @ended is looked up again at the end of the records. */
const struct gpumon_capture_info *gpumon_capture_info(const struct gpumon_capture *capture);

/* How many processes there are until now; their numbers are below it. */
uint32_t gpumon_capture_processes(const struct gpumon_capture *capture);

/* Name of a process's file without suffix, as it was added; NULL where there is none. */
const char *gpumon_capture_name(const struct gpumon_capture *capture, uint32_t process);

/**
 * gpumon_capture_next - the next record
 * @capture: capture
 * @cursor: filled in
 *
 * Chunks of one process come in their order, which is about that of time;
 * those of several processes in turns, one chunk of each: the time of a chunk is
 * not known without its records, so that times of different processes are not in
 * order. A record is longer than its type's struct, or shorter: gpumon_record_copy()
 * gives a whole one. Texts, frames and events lie within their record, and a stack has
 * GPUMON_STACK_DEPTH_MAX frames at most: those that do not are damage.
 *
 * Processes are numbered by the names of their files. A capture that is still being
 * written ends at what is there: NULL, and a later call goes on with what was written
 * since; processes that came since get the next numbers. Until a file has grown,
 * an incomplete chunk at its end counts as truncated.
 *
 * Return: the record, valid until the next call, aligned to 8; NULL at the end.
 */
const struct gpumon_record *gpumon_capture_next(struct gpumon_capture *capture,
						struct gpumon_capture_cursor *cursor);

/* From the beginning again. */
void gpumon_capture_rewind(struct gpumon_capture *capture);

/* As far as it was read, since the last rewind. */
const struct gpumon_capture_damage *gpumon_capture_damage(const struct gpumon_capture *capture);

void gpumon_capture_free(struct gpumon_capture *capture);

/**
 * gpumon_record_copy - a record's fields, those that it does not have as 0
 * @to: struct of its type
 * @size: of that
 * @record: record
 */
void gpumon_record_copy(void *to, size_t size, const struct gpumon_record *record);

/**
 * enum gpumon_record_state - what gpumon_record_check() finds
 * @GPUMON_RECORD_GOOD: readable; also of an unknown type
 * @GPUMON_RECORD_BROKEN: its size is possible, its contents are not: skip it
 * @GPUMON_RECORD_IMPOSSIBLE: where the next one begins cannot be told
 */
enum gpumon_record_state {
	GPUMON_RECORD_GOOD,
	GPUMON_RECORD_BROKEN,
	GPUMON_RECORD_IMPOSSIBLE,
};

/* Is there a record at @record, aligned to 8, in @room bytes? */
enum gpumon_record_state gpumon_record_check(const struct gpumon_record *record, size_t room);

/* "kernel", as in Documentation/reference/capture-format.md; NULL of an unknown type. */
const char *gpumon_record_name(unsigned int type);

/* "channel-full", as in Documentation/reference/capture-format.md; NULL of an unknown cause. */
const char *gpumon_loss_name(unsigned int cause);

#endif /* GPUMON_CAPTURE_H */
