/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Writes and reads captures. A capture is a directory with capture.json, which describes all of it,
 * and a file of chunks (format.h) for each process and for the driver.
 *
 * Not thread-safe: only one thread at a time may use a writer with its files, or a capture that is
 * read. Different ones are independent.
 */
#ifndef GPUMON_CAPTURE_H
#define GPUMON_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/error.h"
#include "abi/format.h"

/* capture.json, the suffix of chunk files, and the driver's file, whose process is ~0. */
#define GPUMON_CAPTURE_INFO   "capture.json"
#define GPUMON_CAPTURE_SUFFIX ".records"
/*
 * The files of a process: GPUMON_CAPTURE_PROCESS "PID-TICKS", and the perf map of generated code.
 */
#define GPUMON_CAPTURE_PROCESS "process-"
#define GPUMON_CAPTURE_MAP     "perf-%s.map"
/* Name of a file that exists only while a capture is written, or after its writer was killed. */
#define GPUMON_CAPTURE_INFO_NEW ".capture.json.new"
#define GPUMON_CAPTURE_RESERVE	".reserve"
/*
 * The folder of a ring's segments. It stays, as a mark that the captures beside it are of a ring.
 */
#define GPUMON_CAPTURE_RING   ".ring"
#define GPUMON_CAPTURE_DRIVER "driver"

/* The process of a cursor for records that belong to no process. */
#define GPUMON_PROCESS_DRIVER (~0u)

/**
 * gpumon_capture_error - the last failure of a function of this header in this thread
 *
 * Return: the failure, for gpumon_report(); valid until the next call of this header.
 */
const struct gpumon_error *gpumon_capture_error(void);

/* --- writing */

struct gpumon_capture_writer;
struct gpumon_capture_file;

/**
 * struct gpumon_capture_info - contents of capture.json
 * @version: version of the format
 * @gpumon_version: version of the writing program
 * @boot_id: as text
 * @host: name of the host
 * @command: recorded command, "" for live processes
 * @created_ns: CLOCK_REALTIME of its beginning
 * @created_monotonic_ns: CLOCK_MONOTONIC at the same moment
 * @ended: it was closed properly
 * @lost_records: if @ended: records that could not be written
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
 * gpumon_capture_create - create a capture
 * @path: directory, created with mode 0700; must not exist, or be empty
 * @command: recorded command, for capture.json
 * @writer: out
 *
 * Return: 0, or -1 with the reason in gpumon_capture_error().
 */
int gpumon_capture_create(const char *path, const char *command,
			  struct gpumon_capture_writer **writer);

/* The smallest ring, which has room for the longest chunk. */
#define GPUMON_RING_BYTES_MIN (4ull << 20)

/**
 * struct gpumon_ring_limits - how much a ring keeps
 * @bytes: size on disk with the definitions, at least GPUMON_RING_BYTES_MIN; so much has a capture of
 *         it at most, without names of functions and perf maps
 * @age_ns: what is older than the youngest record by more than this is dropped; 0: no limit. A
 *          sixteenth of it more may be kept
 */
struct gpumon_ring_limits {
	uint64_t bytes;
	uint64_t age_ns;
};

/**
 * gpumon_capture_create_ring - create a ring, which keeps only what was recorded last
 * @path: directory for captures, created with mode 0700; must not exist, be empty, or have been one
 *        of a ring before
 * @limits: limits
 * @writer: out
 *
 * All functions for writing work with it, but the directory is no capture until
 * gpumon_capture_write_ring() has made some below it. gpumon_capture_limit() has no effect.
 *
 * Return: 0, or -1 with the reason in gpumon_capture_error().
 */
int gpumon_capture_create_ring(const char *path, const struct gpumon_ring_limits *limits,
			       struct gpumon_capture_writer **writer);

/**
 * gpumon_capture_write_ring - write a capture of what a ring keeps
 * @writer: ring, which stays as it is
 * @path: directory of the capture, as for gpumon_capture_create()
 * @command: recorded command
 * @note: why it is written, a note in the capture; may be NULL
 * @since_ns: only segments that were written later, CLOCK_MONOTONIC; 0: all
 *
 * May be called in a child of the process that records.
 *
 * Return: 0, or -1 with the reason in gpumon_capture_error(). An incomplete capture may be left.
 */
int gpumon_capture_write_ring(struct gpumon_capture_writer *writer, const char *path,
			      const char *command, const char *note, uint64_t since_ns);

/* CLOCK_MONOTONIC since which nothing that was recorded has been dropped, 0: nothing ever. */
uint64_t gpumon_capture_ring_since(const struct gpumon_capture_writer *writer);

/**
 * gpumon_capture_add_file - add the file of a process, or of the driver
 * @writer: capture
 * @name: name without suffix, such as "process-123-456", or GPUMON_CAPTURE_DRIVER
 * @file: out, owned by @writer
 *
 * Return: 0, or -1 with the reason in gpumon_capture_error().
 */
int gpumon_capture_add_file(struct gpumon_capture_writer *writer, const char *name,
			    struct gpumon_capture_file **file);

/**
 * gpumon_capture_append - write whole records as one chunk
 * @file: file
 * @tid: thread that wrote the records
 * @records: records
 * @size: bytes, at most GPUMON_CHUNK_SIZE_MAX
 *
 * A full disk is reported once (gpumon_capture_on_trouble()). Lost records are counted, and a
 * GPUMON_RECORD_LOSS reports their number as soon as there is room. A chunk is written completely
 * or not at all.
 *
 * Return: 0, or -1 if the records are lost, with the reason in gpumon_capture_error().
 */
int gpumon_capture_append(struct gpumon_capture_file *file, uint32_t tid, const void *records,
			  size_t size);

/* Likewise one string, of which 4096 bytes are kept. @id: its number among the file's strings */
int gpumon_capture_append_string(struct gpumon_capture_file *file, uint32_t id, const char *text);

/**
 * gpumon_capture_limit - limit the size of a capture
 * @writer: capture
 * @bytes: size of all files, 0: no limit
 *
 * Only gpumon_capture_append_limited() respects the limit. Records written at the end come on top, also
 * those of the losses: records that were dropped count as GPUMON_LOSS_MAX_SIZE.
 */
void gpumon_capture_limit(struct gpumon_capture_writer *writer, uint64_t bytes);

/* True once a chunk did not fit. From then on none are written. */
bool gpumon_capture_is_full(const struct gpumon_capture_writer *writer);

/* Number of records that were dropped since. */
uint64_t gpumon_capture_beyond(const struct gpumon_capture_writer *writer);

/* gpumon_capture_append() up to the limit. Later records are dropped. */
int gpumon_capture_append_limited(struct gpumon_capture_file *file, uint32_t tid,
				  const void *records, size_t size);

/* Bytes of whole chunks in the file. */
uint64_t gpumon_capture_file_bytes(const struct gpumon_capture_file *file);

/**
 * gpumon_capture_make_map - create a GPUMON_CAPTURE_MAP beside a process's file
 * @file: file of the process, not ended yet
 *
 * Return: a descriptor owned by the caller, or -1 with errno.
 */
int gpumon_capture_make_map(struct gpumon_capture_file *file);

/*
 * gpumon_capture_make_map() in another directory: beside the process's file in a capture that a ring
 * was written to.
 */
int gpumon_capture_make_map_at(const struct gpumon_capture_file *file, int directory);

/* The process ended: close its descriptor. @file must not be used afterwards. */
void gpumon_capture_end_file(struct gpumon_capture_file *file);

/**
 * gpumon_capture_on_trouble - set a callback for the first failed write
 * @writer: capture
 * @tell: called with the failure; NULL (the default): one line on stderr
 * @data: passed to @tell
 */
void gpumon_capture_on_trouble(struct gpumon_capture_writer *writer,
			       void (*tell)(void *data, const struct gpumon_error *err),
			       void *data);

/* A descriptor of its directory, valid even if that is renamed; owned by the writer. */
int gpumon_capture_directory(const struct gpumon_capture_writer *writer);

/* Records of all files that could not be written until now. */
uint64_t gpumon_capture_lost(const struct gpumon_capture_writer *writer);

/**
 * gpumon_capture_close - close a capture
 * @writer: capture, may be NULL; freed also on failure
 *
 * Return: 0, or -1 if something was not written, with the reason in gpumon_capture_error().
 */
int gpumon_capture_close(struct gpumon_capture_writer *writer);

/* --- reading */

struct gpumon_capture;

/**
 * struct gpumon_capture_cursor - origin of a record
 * @process: number of the process in the capture, from 0 on; ~0 for the driver
 * @tid: thread that wrote it
 */
struct gpumon_capture_cursor {
	uint32_t process;
	uint32_t tid;
};

/**
 * struct gpumon_capture_damage - unreadable parts, by cause
 * @truncated_bytes: bytes of incomplete chunks at the ends of files
 * @broken_chunks: skipped chunks with a wrong CRC
 * @broken_records: records with impossible sizes, skipped with the rest of their chunk, or with
 *                  counts that do not fit their size, skipped alone
 * @unknown_records: records of types that this version does not know
 * @missing_chunks: gaps in the numbers of chunks, missing ends of files, and missing files
 * @broken_info: capture.json cannot be read, so its contents are unknown
 * @unreadable_files: files that cannot be opened or read
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
 * gpumon_capture_open - open a capture for reading
 * @path: directory
 * @capture: out
 *
 * A capture that is still being written can be opened, too, see gpumon_capture_next().
 *
 * Return: 0, or -1 with the reason in gpumon_capture_error(): not a capture, or a newer version.
 */
int gpumon_capture_open(const char *path, struct gpumon_capture **capture);

/* Unknown texts are "", unknown times 0. @ended is read again at the end of the records. */
const struct gpumon_capture_info *gpumon_capture_info(const struct gpumon_capture *capture);

/* The number of processes known until now. Their numbers are below it. */
uint32_t gpumon_capture_processes(const struct gpumon_capture *capture);

/* The name of a process's file, without suffix. NULL if there is none. */
const char *gpumon_capture_name(const struct gpumon_capture *capture, uint32_t process);

/**
 * gpumon_capture_next - read the next record
 * @capture: capture
 * @cursor: out
 *
 * The chunks of one process come in their order, which roughly is that of time. Processes take
 * turns, one chunk each, so times of different processes are not in order. A record may be longer
 * or shorter than the struct of its type: gpumon_record_copy() returns a complete one. Texts,
 * frames and events lie within their record, and a stack has at most GPUMON_STACK_DEPTH_MAX frames:
 * other records count as damage.
 *
 * Processes are numbered in the order of their file names. For a capture that is still being
 * written, NULL means the end for now: a later call continues with new records, and new processes
 * get the next numbers. Until a file has grown, an incomplete chunk at its end counts as truncated.
 *
 * Return: the record, valid until the next call, aligned to 8; NULL at the end.
 */
const struct gpumon_record *gpumon_capture_next(struct gpumon_capture *capture,
						struct gpumon_capture_cursor *cursor);

/**
 * gpumon_capture_chunk - go on with the next chunk of one process
 * @capture: capture of which gpumon_capture_stop_here() has fixed the end
 * @process: number of the process
 *
 * For a reader that needs times of several processes in order, and reads each no further than that.
 * Records left in an earlier chunk are skipped.
 *
 * Return: whether there is one. gpumon_capture_next_here() gives its records, NULL at its end.
 */
bool gpumon_capture_chunk(struct gpumon_capture *capture, uint32_t process);
const struct gpumon_record *gpumon_capture_next_here(struct gpumon_capture *capture,
						     struct gpumon_capture_cursor *cursor);

/* The pid that is shown, the recorder's: in containers many processes are number 1. */
static inline uint32_t gpumon_record_pid(const struct gpumon_record_process *record)
{
	return record->host_pid ? record->host_pid : record->pid;
}

/**
 * gpumon_capture_shifts - what times of captures differ by from those of one clock
 * @paths: captures
 * @count: number of @paths
 *
 * Captures of one boot of a machine share a clock. Those of several are as near to each other as
 * CLOCK_REALTIME of these machines; the clock is that of the one that booted first.
 *
 * Return: for gpumon_capture_shift(), a number for each capture, to be freed.
 */
uint64_t *gpumon_capture_shifts(const char *const *paths, unsigned int count);

/* Add to all times that gpumon_capture_next() returns from now on. */
void gpumon_capture_shift(struct gpumon_capture *capture, uint64_t by_ns);

/* Start again from the beginning. */
void gpumon_capture_rewind(struct gpumon_capture *capture);

/*
 * The records end where the reader is now, also after a rewind: for several passes over a capture
 * that is still being written.
 */
void gpumon_capture_stop_here(struct gpumon_capture *capture);

/**
 * gpumon_capture_again - a second reader of a capture that was stopped
 * @capture: capture
 * @again: out, at the beginning of the same records, in the same order and with the same numbers of
 *         processes. It has no gpumon_capture_info().
 *
 * Return: 0, or -1 with the reason in gpumon_capture_error().
 */
int gpumon_capture_again(const struct gpumon_capture *capture, struct gpumon_capture **again);

/* Damage found since the last rewind. */
const struct gpumon_capture_damage *gpumon_capture_damage(const struct gpumon_capture *capture);

void gpumon_capture_free(struct gpumon_capture *capture);

/**
 * gpumon_record_copy - copy a record, with missing fields as 0
 * @to: struct of its type
 * @size: size of @to
 * @record: record
 */
void gpumon_record_copy(void *to, size_t size, const struct gpumon_record *record);

/**
 * gpumon_record_whole - a record with all fields of its type
 * @record: record
 * @size: of the struct of its type
 * @copy: room for such a struct, for a record that lacks fields: they are 0
 *
 * Return: @record or @copy.
 */
static inline const void *gpumon_record_whole(const struct gpumon_record *record, size_t size,
					      void *copy)
{
	if (record->size >= size)
		return record;
	gpumon_record_copy(copy, size, record);
	return copy;
}

/**
 * struct gpumon_work_fields - what GPU operations of all kinds have
 * @node: 0 for a graph as a whole
 * @valid: beginning and end are known
 * @unended: it began, and had not ended when the capture did
 * @whole_graph: it is a graph as a whole
 */
struct gpumon_work_fields {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t node;
	uint32_t correlation;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t graph;
	bool valid;
	bool unended;
	bool whole_graph;
};

/* False if the record is not a GPU operation. */
bool gpumon_work_fields(const struct gpumon_record *record, struct gpumon_work_fields *fields);

/**
 * enum gpumon_record_state - result of gpumon_record_check()
 * @GPUMON_RECORD_GOOD: readable, possibly of an unknown type
 * @GPUMON_RECORD_BROKEN: possible size but impossible contents: skip it
 * @GPUMON_RECORD_IMPOSSIBLE: impossible size: the next record cannot be found
 */
enum gpumon_record_state {
	GPUMON_RECORD_GOOD,
	GPUMON_RECORD_BROKEN,
	GPUMON_RECORD_IMPOSSIBLE,
};

/* Check a record at @record, aligned to 8, of at most @room bytes. */
enum gpumon_record_state gpumon_record_check(const struct gpumon_record *record, size_t room);

/* "kernel", as in Documentation/reference/capture-format.md; NULL for an unknown type. */
const char *gpumon_record_name(unsigned int type);

#endif /* GPUMON_CAPTURE_H */
