/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What rows of an SQLite database refer to by numbers, each once: names, stacks, threads, streams. */
#ifndef GPUMON_REPORT_SQLITE_NAMES_H
#define GPUMON_REPORT_SQLITE_NAMES_H

#include "capture/correlate.h"
#include "profile_tree.h"
#include "scan.h"
#include "sqlite_file.h"

/**
 * struct gpumon_sql_names - numbers; zeroed but for the first four
 * @strings: from a text of @pool to its number
 * @thread_keys: process and tid; the number + 1 is the id
 * @device_keys: process and device likewise
 * @stream_keys: process, device, context and stream likewise
 * @stream_last: the key of the last stream, whose id is @stream_last_id; likewise @thread_last
 * @frame_keys: name, module, line and kind of a frame; the number + 1 is the id
 * @stack_count: number of stacks so far
 * @name_keys: kind and mangled name of an operation; the number + 1 is the id
 * @name_ids: process and string id of a kernel's name to the same id
 */
struct gpumon_sql_names {
	struct gpumon_sql *sql;
	struct gpumon_pool *pool;
	struct gpumon_tables *tables;
	struct gpumon_streams *streams;
	struct gpumon_map strings;
	struct gpumon_keys thread_keys;
	struct gpumon_keys device_keys;
	struct gpumon_keys stream_keys;
	struct gpumon_keys frame_keys;
	struct gpumon_keys shape_keys;
	struct gpumon_keys way_keys;
	struct gpumon_keys name_keys;
	struct gpumon_map name_ids;
	struct gpumon_key stream_last;
	uint32_t stream_last_id;
	struct gpumon_key thread_last;
	uint32_t thread_last_id;
	uint32_t string_count;
	uint32_t stack_count;
};

/* The id of a text; GPUMON_SQL_NULL of NULL. */
int64_t gpumon_sql_text(struct gpumon_sql_names *names, const char *text);
/* The same of a string id of a process or a driver. */
int64_t gpumon_sql_string(struct gpumon_sql_names *names, uint32_t process, uint32_t string);
/* The same of the name of an API function, without version and variant. */
int64_t gpumon_sql_function(struct gpumon_sql_names *names, uint32_t process, uint32_t string);
/* The id of a thread; GPUMON_SQL_NULL of tid 0. */
int64_t gpumon_sql_thread(struct gpumon_sql_names *names, uint32_t process, uint32_t tid);
int64_t gpumon_sql_device(struct gpumon_sql_names *names, uint32_t process, uint32_t device);
int64_t gpumon_sql_stream(struct gpumon_sql_names *names, uint32_t process,
			  const struct gpumon_work_fields *fields);
/* The id of a node of the tree, whose parents get one, too; GPUMON_SQL_NULL of the root. */
int64_t gpumon_sql_stack(struct gpumon_sql_names *names, struct gpumon_node *node);
/* The id of the name of an operation, by its kind and its name in the capture, or by the operation. */
int64_t gpumon_sql_name(struct gpumon_sql_names *names, enum gpumon_work_kind kind,
			const char *mangled);
int64_t gpumon_sql_operation_name(struct gpumon_sql_names *names, const struct gpumon_work *work);
/* The id of what a kernel was launched with. */
int64_t gpumon_sql_shape(struct gpumon_sql_names *names, const struct gpumon_record_kernel *kernel);
/* The id of where a copy is from and to. */
int64_t gpumon_sql_way(struct gpumon_sql_names *names, const struct gpumon_record_copy *copy);
/* Processes and what is known of them, before all rows. @first_ns: time 0 */
void gpumon_sql_names_begin(struct gpumon_sql_names *names, uint64_t first_ns);
/* Threads, after all rows. */
void gpumon_sql_names_end(struct gpumon_sql_names *names);
void gpumon_sql_names_clear(struct gpumon_sql_names *names);

#endif /* GPUMON_REPORT_SQLITE_NAMES_H */
