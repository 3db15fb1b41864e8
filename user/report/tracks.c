// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "track_read.h"

const char *gpumon_track_category_name(enum gpumon_track_category category)
{
	static const char *const names[GPUMON_CATEGORIES] = {
		[GPUMON_CATEGORY_API] = "api",	     [GPUMON_CATEGORY_KERNEL] = "kernel",
		[GPUMON_CATEGORY_COPY] = "copy",     [GPUMON_CATEGORY_SET] = "set",
		[GPUMON_CATEGORY_RANGE] = "nvtx",    [GPUMON_CATEGORY_WAIT] = "wait",
		[GPUMON_CATEGORY_MEMORY] = "memory", [GPUMON_CATEGORY_DRIVER] = "driver",
		[GPUMON_CATEGORY_ALERT] = "alert",   [GPUMON_CATEGORY_RECORDING] = "recording",
		[GPUMON_CATEGORY_GRAPH] = "graph",
	};

	return names[category];
}

/* The time of a record that appears on a timeline, 0 for others. */
static uint64_t time_of(const struct gpumon_record *record, uint64_t *end_ns)
{
	struct gpumon_record_launch launch;
	struct gpumon_record_alert alert;

	*end_ns = 0;
	switch (record->type) {
	/* These have a start and an end at the same offsets. */
	case GPUMON_RECORD_LAUNCH:
	case GPUMON_RECORD_CALL:
	case GPUMON_RECORD_KERNEL:
	case GPUMON_RECORD_COPY:
	case GPUMON_RECORD_SET:
	case GPUMON_RECORD_GRAPH:
	case GPUMON_RECORD_SYNC:
		gpumon_record_copy(&launch, sizeof(launch), record);
		*end_ns = launch.end_ns;
		return launch.start_ns;
	/* And these have only a time. */
	case GPUMON_RECORD_UNIFIED_MEMORY:
	case GPUMON_RECORD_HIT:
	case GPUMON_RECORD_RANGE:
	case GPUMON_RECORD_MEMORY:
	case GPUMON_RECORD_ALERT:
	case GPUMON_RECORD_WINDOW:
		gpumon_record_copy(&alert, sizeof(alert), record);
		return alert.time_ns;
	case GPUMON_RECORD_DRIVER_EVENT:
		if (record->size >= sizeof(struct gpumon_record_driver_event) + sizeof(uint64_t))
			return *(const uint64_t *)((const struct gpumon_record_driver_event *)record)
					->event;
		return 0;
	default:
		return 0;
	}
}

static void first_pass_record(struct gpumon_track_reader *reader, uint32_t process,
			      const struct gpumon_record *record)
{
	struct gpumon_record_process of;
	struct gpumon_record_thread thread;
	struct gpumon_record_device device;
	struct gpumon_track_process *found;
	uint64_t begin, end;

	if (!gpumon_track_is_driver(process) &&
	    gpumon_tables_record(&reader->paths.tables, process, record))
		reader->failed = true;
	switch (record->type) {
	case GPUMON_RECORD_STRING:
		if (gpumon_names_add(&reader->names, process,
				     (const struct gpumon_record_string *)record))
			reader->failed = true;
		break;
	case GPUMON_RECORD_PROCESS:
		gpumon_record_copy(&of, sizeof(of), record);
		gpumon_rows_process(&reader->rows, process, &of);
		break;
	case GPUMON_RECORD_THREAD:
		gpumon_record_copy(&thread, sizeof(thread), record);
		gpumon_rows_thread_name(&reader->rows, process, thread.tid, thread.name);
		break;
	case GPUMON_RECORD_DEVICE:
		gpumon_record_copy(&device, sizeof(device), record);
		gpumon_rows_device(&reader->rows, process, &device);
		break;
	case GPUMON_RECORD_STREAM:
		if (gpumon_streams_add(&reader->rows.streams, process, record))
			reader->failed = true;
		break;
	case GPUMON_RECORD_LAUNCH:
		found = gpumon_rows_find_process(&reader->rows, process);
		if (found)
			found->launches = true;
		break;
	default:
		break;
	}
	begin = time_of(record, &end);
	if (begin && begin < reader->first_ns)
		reader->first_ns = begin;
	if (begin > reader->last_ns)
		reader->last_ns = begin;
	if (end > reader->last_ns)
		reader->last_ns = end;
}

static void second_pass_record(struct gpumon_track_reader *reader, uint32_t process,
			       const struct gpumon_record *record)
{
	gpumon_track_record(reader, process, record);
	if (!gpumon_track_is_driver(process))
		gpumon_correlate_record(reader->correlate, process, record);
}

static void first_pass_end(struct gpumon_track_reader *reader, uint32_t number, uint32_t first,
			   const struct gpumon_capture *capture)
{
	if (gpumon_tables_capture(&reader->paths.tables, number, first, capture))
		reader->failed = true;
	/* Captures have an end each, and those of several machines a clock. */
	for (size_t i = 0; i < reader->rows.process_count; i++) {
		if (reader->rows.processes[i].number >= first)
			reader->rows.processes[i].last_ns = reader->last_ns;
	}
	reader->last_ns = 0;
}

static void second_pass_end(struct gpumon_track_reader *reader, uint32_t number, uint32_t first,
			    const struct gpumon_capture *capture)
{
	uint32_t end = first + gpumon_capture_processes(capture);

	(void)number;
	for (uint32_t i = first; i < end; i++)
		gpumon_correlate_finish(reader->correlate, i);
}

/**
 * struct pass - a pass over all captures
 * @each: called with each record
 * @end: called at the end of each capture, with its number and that of its first process
 */
struct pass {
	void (*each)(struct gpumon_track_reader *reader, uint32_t process,
		     const struct gpumon_record *record);
	void (*end)(struct gpumon_track_reader *reader, uint32_t number, uint32_t first,
		    const struct gpumon_capture *capture);
};

/*
 * Processes are numbered consecutively through all captures. The driver's strings have numbers from
 * the top.
 */
static int read_pass(struct gpumon_track_reader *reader, const char *const *paths,
		     unsigned int count, const struct pass *pass)
{
	uint32_t base = 0;

	for (unsigned int i = 0; i < count; i++) {
		struct gpumon_capture *capture;
		struct gpumon_capture_cursor cursor;
		const struct gpumon_record *record;

		if (gpumon_capture_open(paths[i], &capture)) {
			errno = 0;
			return -1;
		}
		gpumon_capture_shift(capture, reader->shifts[i]);
		if (!i && !reader->first_command)
			reader->first_command = gpumon_names_text(
				&reader->names, gpumon_capture_info(capture)->command ?
							gpumon_capture_info(capture)->command :
							"");
		while (!reader->failed && !reader->rows.failed &&
		       (record = gpumon_capture_next(capture, &cursor)))
			pass->each(reader,
				   cursor.process == GPUMON_PROCESS_DRIVER ? ~i :
									     base + cursor.process,
				   record);
		pass->end(reader, i, base, capture);
		base += gpumon_capture_processes(capture);
		gpumon_capture_free(capture);
	}
	return 0;
}

static void find_hosts(struct gpumon_track_reader *reader)
{
	struct gpumon_track_rows *rows = &reader->rows;
	uint32_t first = 0;

	for (size_t i = 0; i < rows->process_count; i++) {
		uint32_t host = gpumon_names_string(&reader->names, rows->processes[i].number,
						    rows->processes[i].host);

		if (!host)
			continue;
		rows->several_hosts |= first && first != host;
		first = host;
	}
}

static void on_work(void *data, const struct gpumon_work *work)
{
	gpumon_track_work_add(data, work);
}

static void on_launch(void *data, const struct gpumon_unmatched_launch *launch)
{
	/* It is already on the timeline, like all launches. */
	(void)data;
	(void)launch;
}

static int read_both(struct gpumon_track_reader *reader, const char *const *paths,
		     unsigned int count)
{
	static const struct pass first = { first_pass_record, first_pass_end };
	static const struct pass second = { second_pass_record, second_pass_end };
	const struct gpumon_correlate_output output = {
		.work = on_work,
		.launch = on_launch,
		.data = reader,
	};
	int ret = read_pass(reader, paths, count, &first);

	if (ret || reader->failed)
		return ret;
	find_hosts(reader);
	if (reader->first_ns == UINT64_MAX)
		reader->first_ns = 0;
	reader->sink->begin(reader->sink->data, reader->first_ns,
			    gpumon_names_of(&reader->names, reader->first_command, ""));
	reader->correlate = gpumon_correlate_new(&output);
	if (gpumon_track_paths_end(&reader->paths, paths)) {
		reader->failed = true;
		return 0;
	}
	gpumon_tables_expect(&reader->paths.tables, reader->correlate);
	ret = read_pass(reader, paths, count, &second);
	if (ret)
		return ret;
	gpumon_track_work_flush(reader);
	gpumon_track_ranges_flush(reader);
	if (reader->sink->end && !reader->failed && !reader->rows.failed)
		reader->sink->end(reader->sink->data);
	return 0;
}

int gpumon_tracks_read(const char *const *paths, unsigned int count,
		       const struct gpumon_profile_options *options,
		       const struct gpumon_track_sink *sink)
{
	struct gpumon_track_reader reader = {
		.sink = sink,
		.first_ns = UINT64_MAX,
		.shifts = gpumon_capture_shifts(paths, count),
	};
	int ret = 0;

	reader.rows.sink = sink;
	reader.rows.names = &reader.names;
	if (gpumon_track_paths_begin(&reader.paths, options) || !reader.shifts)
		reader.failed = true;
	else
		ret = read_both(&reader, paths, count);
	if (!ret && (reader.failed || reader.rows.failed)) {
		errno = ENOMEM;
		ret = -1;
	}
	gpumon_correlate_free(reader.correlate);
	gpumon_track_paths_clear(&reader.paths);
	gpumon_rows_clear(&reader.rows);
	gpumon_names_clear(&reader.names);
	gpumon_map_clear(&reader.open_ranges);
	free(reader.ranges);
	free(reader.shifts);
	free(reader.waiting);
	return ret;
}
