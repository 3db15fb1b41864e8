// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "lib/map.h"
#include "profile_internal.h"
#include "scan.h"

/* Rows of a timeline, including devices. */
#define ROWS_MAX 200

/* String ids of a process, which may be defined later. */
struct process_strings {
	uint32_t process;
	uint32_t host;
	uint32_t executable;
	uint32_t command;
};

struct api_strings {
	uint32_t process;
	uint32_t name;
	uint32_t version;
	uint32_t platform;
};

struct note {
	uint32_t process;
	uint32_t text;
	uint16_t flags;
};

/* A process reports its totals repeatedly. The last ones count. */
struct totals {
	uint32_t process;
	struct gpumon_record_totals last;
};

struct gpumon_scan_reader {
	struct gpumon_scan *scan;
	struct totals *totals;
	size_t totals_count;
	struct process_strings *processes;
	size_t process_count;
	struct api_strings *apis;
	size_t api_count;
	size_t clock_count;
	struct note *notes;
	size_t note_count;
	struct gpumon_streams streams;
};

void gpumon_scan_free(struct gpumon_scan *scan)
{
	if (!scan)
		return;
	for (unsigned int i = 0; i < scan->process_count; i++) {
		free(scan->processes[i].host);
		free(scan->processes[i].executable);
		free(scan->processes[i].command);
	}
	for (unsigned int i = 0; i < scan->api_count; i++) {
		free(scan->apis[i].name);
		free(scan->apis[i].version);
		free(scan->apis[i].platform);
	}
	free(scan->apis);
	free(scan->clocks);
	for (unsigned int i = 0; i < scan->note_count; i++)
		free(scan->notes[i]);
	for (unsigned int i = 0; i < scan->row_count; i++) {
		free(scan->rows[i].busy_ns);
		free(scan->rows[i].unknown_ns);
	}
	for (unsigned int i = 0; i < scan->stream_count; i++)
		free(scan->streams[i].name);
	free(scan->streams);
	free(scan->processes);
	free(scan->notes);
	free(scan->rows);
	free(scan->nothing);
	free(scan->host);
	free(scan->command);
	free(scan);
}

/* --- records */

static void add_process(struct gpumon_scan_reader *reader, uint32_t number,
			const struct gpumon_record *record)
{
	struct gpumon_record_process from;
	struct process_strings *strings;
	struct gpumon_scan_process *to;
	size_t count = reader->process_count;

	gpumon_record_copy(&from, sizeof(from), record);
	to = GPUMON_GROW(reader->scan->processes, count);
	strings = GPUMON_GROW(reader->processes, reader->process_count);
	reader->scan->process_count = (unsigned int)count;
	to->number = number;
	to->pid = from.pid;
	to->host_pid = from.host_pid;
	to->rank = from.rank;
	to->cupti_version = from.cupti_version;
	to->driver_version = from.driver_version;
	*strings = (struct process_strings){ number, from.host, from.executable, from.command };
}

static void add_api(struct gpumon_scan_reader *reader, uint32_t process,
		    const struct gpumon_record *record)
{
	struct api_strings *strings = GPUMON_GROW(reader->apis, reader->api_count);
	struct gpumon_record_api api;

	gpumon_record_copy(&api, sizeof(api), record);
	*strings = (struct api_strings){ process, api.name, api.version, api.platform };
}

/* Measured again and again: the last one is the best. */
static void add_clock(struct gpumon_scan_reader *reader, uint32_t process,
		      const struct gpumon_record *record)
{
	struct gpumon_scan *scan = reader->scan;
	struct gpumon_scan_clock *to = NULL;
	struct gpumon_record_clock clock;

	gpumon_record_copy(&clock, sizeof(clock), record);
	for (size_t i = reader->clock_count; i-- && !to;) {
		if (scan->clocks[i].process == process && scan->clocks[i].device == clock.device)
			to = &scan->clocks[i];
	}
	if (!to)
		to = GPUMON_GROW(scan->clocks, reader->clock_count);
	scan->clock_count = (unsigned int)reader->clock_count;
	*to = (struct gpumon_scan_clock){ process, clock.device, clock.source, clock.offset_ns,
					  clock.error_ns };
}

static void add_note(struct gpumon_scan_reader *reader, uint32_t process,
		     const struct gpumon_record *record)
{
	struct note *note = GPUMON_GROW(reader->notes, reader->note_count);
	struct gpumon_record_note from;

	gpumon_record_copy(&from, sizeof(from), record);
	*note = (struct note){ process, from.text, from.head.flags };
}

static void add_totals(struct gpumon_scan_reader *reader, uint32_t process,
		       const struct gpumon_record *record)
{
	struct totals *totals = NULL;

	for (size_t i = reader->totals_count; i-- && !totals;) {
		if (reader->totals[i].process == process)
			totals = &reader->totals[i];
	}
	if (!totals)
		totals = GPUMON_GROW(reader->totals, reader->totals_count);
	totals->process = process;
	gpumon_record_copy(&totals->last, sizeof(totals->last), record);
}

void gpumon_scan_unified(struct gpumon_scan_reader *reader, const struct gpumon_record *record,
			 uint64_t from_ns, uint64_t until_ns)
{
	struct gpumon_record_unified_memory unified;
	enum gpumon_unified_kind kind;
	struct gpumon_unified *to;

	gpumon_record_copy(&unified, sizeof(unified), record);
	if (!gpumon_time_within(from_ns, until_ns, unified.start_ns))
		return;
	kind = gpumon_unified_kind(unified.kind);
	to = &reader->scan->unified[kind];
	to->count++;
	if (gpumon_unified_has_bytes(kind))
		to->bytes = gpumon_add_saturated(to->bytes, unified.value);
	if (gpumon_unified_is_fault(kind))
		to->faults = gpumon_add_saturated(
			to->faults, kind == GPUMON_UNIFIED_GPU_FAULT ? unified.value : 1);
	if (gpumon_unified_has_end(kind) && unified.start_ns && unified.end_ns > unified.start_ns)
		to->ns = gpumon_add_saturated(to->ns, unified.end_ns - unified.start_ns);
}

struct gpumon_scan_reader *gpumon_scan_begin(void)
{
	struct gpumon_scan_reader *reader = gpumon_calloc(1, sizeof(*reader));

	reader->scan = gpumon_calloc(1, sizeof(*reader->scan));
	return reader;
}

void gpumon_scan_record(struct gpumon_scan_reader *reader, uint32_t process,
			const struct gpumon_record *record)
{
	switch (record->type) {
	case GPUMON_RECORD_PROCESS:
		add_process(reader, process, record);
		break;
	case GPUMON_RECORD_API:
		add_api(reader, process, record);
		break;
	case GPUMON_RECORD_CLOCK:
		add_clock(reader, process, record);
		break;
	case GPUMON_RECORD_NOTE:
		add_note(reader, process, record);
		break;
	case GPUMON_RECORD_STREAM:
		gpumon_streams_add(&reader->streams, process, record);
		break;
	case GPUMON_RECORD_TOTALS:
		add_totals(reader, process, record);
		break;
	default:
		break;
	}
}

/* --- streams */

static int compare_numbers(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

void gpumon_streams_add(struct gpumon_streams *streams, uint32_t process,
			const struct gpumon_record *record)
{
	struct gpumon_record_stream stream;
	struct gpumon_stream_told *told;
	struct gpumon_key key;

	gpumon_record_copy(&stream, sizeof(stream), record);
	key = (struct gpumon_key){ { process, stream.context, stream.id } };
	told = GPUMON_KEYS_VALUE(&streams->keys, &key, streams->told, streams->room, NULL);
	*told = (struct gpumon_stream_told){ process, stream.context, stream.id, stream.priority,
					     stream.name ? stream.name : told->string };
}

const struct gpumon_stream_told *gpumon_streams_find(struct gpumon_streams *streams,
						     uint32_t process, uint32_t context,
						     uint32_t stream)
{
	const struct gpumon_key key = { { process, context, stream } };
	uint32_t place = gpumon_keys_number(&streams->keys, &key, NULL);

	return place == GPUMON_KEY_NONE ? NULL : &streams->told[place];
}

void gpumon_streams_clear(struct gpumon_streams *streams)
{
	gpumon_keys_clear(&streams->keys);
	free(streams->told);
}

static int by_key(const void *key, const void *element)
{
	const struct gpumon_scan_stream *x = key, *y = element;
	int order = compare_numbers(x->process, y->process);

	if (!order)
		order = compare_numbers(x->context, y->context);
	return order ? order : compare_numbers(x->stream, y->stream);
}

const struct gpumon_scan_stream *gpumon_view_stream(const struct gpumon_view *view,
						    uint32_t process, uint32_t context,
						    uint32_t stream)
{
	const struct gpumon_scan_stream key = { process, context, stream, 0, NULL };
	const struct gpumon_scan *scan = view->scan;

	if (!scan || !scan->stream_count)
		return NULL;
	return bsearch(&key, scan->streams, scan->stream_count, sizeof(key), by_key);
}

void gpumon_stream_text(char *text, size_t room, uint32_t stream, const char *name,
			int32_t priority)
{
	char number[32] = "";

	if (priority)
		snprintf(number, sizeof(number), "priority %d", priority);
	if (name && *name)
		snprintf(text, room, "stream %u (%.80s%s%s)", GPUMON_NUMBER_OF(stream), name,
			 priority ? ", " : "", number);
	else if (priority)
		snprintf(text, room, "stream %u (%s)", GPUMON_NUMBER_OF(stream), number);
	else
		snprintf(text, room, "stream %u", GPUMON_NUMBER_OF(stream));
}

void gpumon_view_stream_text(const struct gpumon_view *view, uint32_t process, uint32_t context,
			     uint32_t stream, char *text, size_t room)
{
	const struct gpumon_scan_stream *known = gpumon_view_stream(view, process, context, stream);

	gpumon_stream_text(text, room, stream, known ? known->name : NULL,
			   known ? known->priority : 0);
}

/* --- unified memory */

static const struct {
	const char *key;
	const char *text;
	bool has_bytes;
} kinds[GPUMON_UNIFIED_KINDS] = {
	[GPUMON_UNIFIED_UNKNOWN] = { "unknown", "of a kind that is not known", false },
	[GPUMON_UNIFIED_TO_DEVICE] = { "to_device", "moved to a GPU", true },
	[GPUMON_UNIFIED_TO_HOST] = { "to_host", "moved to the host", true },
	[GPUMON_UNIFIED_CPU_FAULT] = { "cpu_fault", "page faults of the CPU", false },
	[GPUMON_UNIFIED_GPU_FAULT] = { "gpu_fault", "page faults of a GPU", false },
	[GPUMON_UNIFIED_THRASHING] = { "thrashing", "thrashing", true },
	[GPUMON_UNIFIED_THROTTLING] = { "throttling", "throttled for thrashing", false },
	[GPUMON_UNIFIED_REMOTE_MAP] = { "remote_map", "mapped where it is", true },
	[GPUMON_UNIFIED_BETWEEN_DEVICES] = { "between_devices", "moved between GPUs", true },
};

enum gpumon_unified_kind gpumon_unified_kind(uint32_t kind)
{
	return kind < GPUMON_UNIFIED_KINDS ? (enum gpumon_unified_kind)kind :
					     GPUMON_UNIFIED_UNKNOWN;
}

const char *gpumon_unified_text(enum gpumon_unified_kind kind)
{
	return kinds[kind].text;
}

const char *gpumon_unified_key(enum gpumon_unified_kind kind)
{
	return kinds[kind].key;
}

bool gpumon_unified_has_bytes(enum gpumon_unified_kind kind)
{
	return kinds[kind].has_bytes;
}

bool gpumon_unified_has_end(enum gpumon_unified_kind kind)
{
	switch (kind) {
	case GPUMON_UNIFIED_TO_DEVICE:
	case GPUMON_UNIFIED_TO_HOST:
	case GPUMON_UNIFIED_BETWEEN_DEVICES:
	case GPUMON_UNIFIED_GPU_FAULT:
	case GPUMON_UNIFIED_THROTTLING:
		return true;
	default:
		return false;
	}
}

bool gpumon_unified_is_fault(enum gpumon_unified_kind kind)
{
	return kind == GPUMON_UNIFIED_CPU_FAULT || kind == GPUMON_UNIFIED_GPU_FAULT;
}

/* --- the end: all strings are known */

/* A printable copy of a text from a file, to free. */
static char *copy_printable(const char *text)
{
	size_t length = strlen(text) + 1;
	char *copy = gpumon_malloc(length);

	gpumon_text_cut(copy, length, text, 0);
	return copy;
}

/* The same of a string, "" of an unknown one. */
static char *copy_string(const struct gpumon_profile *profile, uint32_t process, uint32_t string)
{
	const char *text = gpumon_tables_text(&profile->captures.tables, process, string);

	return copy_printable(text ? text : "");
}

static void end_info(struct gpumon_scan *scan, const struct gpumon_profile *profile)
{
	for (unsigned int i = 0; i < profile->captures.count; i++) {
		const struct gpumon_capture_info *info =
			gpumon_capture_info(profile->captures.at[i]);

		if (!i) {
			scan->created_ns = info->created_ns;
			scan->host = copy_printable(info->host);
			scan->command = copy_printable(info->command ? info->command : "");
			scan->ended = true;
		}
		scan->ended &= info->ended;
		scan->lost_records = gpumon_add_saturated(scan->lost_records, info->lost_records);
	}
}

static void end_processes(const struct gpumon_scan_reader *reader,
			  const struct gpumon_profile *profile)
{
	struct gpumon_scan *scan = reader->scan;

	for (size_t i = 0; i < reader->process_count; i++) {
		const struct process_strings *from = &reader->processes[i];
		struct gpumon_scan_process *to = &scan->processes[i];

		to->host = copy_string(profile, from->process, from->host);
		to->executable = copy_string(profile, from->process, from->executable);
		to->command = copy_string(profile, from->process, from->command);
	}
	scan->apis = gpumon_calloc(reader->api_count + 1, sizeof(*scan->apis));
	for (size_t i = 0; i < reader->api_count; i++) {
		const struct api_strings *from = &reader->apis[i];
		struct gpumon_scan_api *to = &scan->apis[scan->api_count++];

		to->process = from->process;
		to->name = copy_string(profile, from->process, from->name);
		to->version = copy_string(profile, from->process, from->version);
		to->platform = copy_string(profile, from->process, from->platform);
	}
}

static void end_streams(const struct gpumon_streams *streams, struct gpumon_scan *scan,
			const struct gpumon_profile *profile)
{
	scan->streams = gpumon_calloc((size_t)streams->keys.used + 1, sizeof(*scan->streams));
	for (uint32_t i = 0; i < streams->keys.used; i++) {
		const struct gpumon_stream_told *told = &streams->told[i];

		scan->streams[scan->stream_count++] = (struct gpumon_scan_stream){
			told->process, told->context, told->stream, told->priority,
			copy_string(profile, told->process, told->string)
		};
	}
	qsort(scan->streams, scan->stream_count, sizeof(*scan->streams), by_key);
}

static void end_notes(const struct gpumon_scan_reader *reader, const struct gpumon_profile *profile)
{
	struct gpumon_scan *scan = reader->scan;
	struct gpumon_intern known = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < reader->note_count; i++) {
		const struct note *note = &reader->notes[i];
		char *text = copy_string(profile, note->process, note->text);
		bool added = false;

		if (note->flags & GPUMON_NOTE_NOTHING) {
			free(scan->nothing);
			scan->nothing = text;
			continue;
		}
		scan->no_gpu |= note->flags & GPUMON_NOTE_NO_GPU;
		if (*text)
			(void)gpumon_intern(&known, text, &added);
		if (!added) {
			free(text);
			continue;
		}
		*(char **)GPUMON_GROW(scan->notes, n) = text;
		scan->note_count = (unsigned int)n;
		if (note->flags & (GPUMON_NOTE_NO_GPU | GPUMON_NOTE_MISSING))
			scan->missing_notes++;
	}
	gpumon_intern_clear(&known);
}

static void end_totals(const struct gpumon_scan_reader *reader)
{
	struct gpumon_record_totals *to = &reader->scan->totals;

	reader->scan->totals_known = reader->totals_count > 0;
	for (size_t i = 0; i < reader->totals_count; i++) {
		const struct gpumon_record_totals *from = &reader->totals[i].last;

		to->launches += from->launches;
		to->captured += from->captured;
		to->kernels += from->kernels;
		to->copies += from->copies;
		to->sets += from->sets;
		to->device_bytes += from->device_bytes;
	}
}

/* --- the timeline */

/* Devices first, then the busiest rows. */
static int by_busy(const void *a, const void *b)
{
	const struct gpumon_device_row *x = *(const struct gpumon_device_row *const *)a;
	const struct gpumon_device_row *y = *(const struct gpumon_device_row *const *)b;

	if ((x->stream == ~0u) != (y->stream == ~0u))
		return x->stream == ~0u ? -1 : 1;
	if (x->busy_ns != y->busy_ns)
		return x->busy_ns > y->busy_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void add_unknown(const struct gpumon_scan *scan, uint64_t *unknown_ns, uint64_t start,
			uint64_t end)
{
	uint64_t last = scan->first_ns + scan->bin_ns * scan->bins;

	start = start > scan->first_ns ? start : scan->first_ns;
	end = end < last ? end : last;
	while (start < end) {
		uint64_t bin = (start - scan->first_ns) / scan->bin_ns;
		uint64_t behind = scan->first_ns + (bin + 1) * scan->bin_ns;

		behind = behind < end ? behind : end;
		unknown_ns[bin] += behind - start;
		start = behind;
	}
}

/* The time outside of windows. */
static void fill_unknown(const struct gpumon_windows *windows, const struct gpumon_scan *scan,
			 struct gpumon_scan_row *row)
{
	uint64_t since = 0;

	row->unknown_ns = gpumon_calloc(scan->bins, sizeof(*row->unknown_ns));
	for (uint32_t i = 0; i < windows->used; i++) {
		add_unknown(scan, row->unknown_ns, since, windows->at[i].start_ns);
		since = windows->at[i].end_ns;
	}
	add_unknown(scan, row->unknown_ns, since, UINT64_MAX);
}

static void add_row(struct gpumon_scan *scan, const struct gpumon_profile *profile,
		    const struct gpumon_device_row *of)
{
	const struct gpumon_windows *windows = gpumon_profile_windows(profile, of);
	struct gpumon_scan_row *row = &scan->rows[scan->row_count++];
	uint32_t count = scan->bins - of->bins.first;

	row->process = of->process;
	row->device = of->device;
	row->context = of->context;
	row->stream = of->stream;
	row->gpu = of->gpu;
	row->of = of;
	row->busy_ns = gpumon_calloc(scan->bins, sizeof(*row->busy_ns));
	count = count < of->bins.room ? count : of->bins.room;
	if (count)
		memcpy(row->busy_ns + of->bins.first, of->bins.busy_ns,
		       count * sizeof(*row->busy_ns));
	if (windows->sampled)
		fill_unknown(windows, scan, row);
}

static int row_order(const void *a, const void *b)
{
	const struct gpumon_scan_row *x = a, *y = b;

	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	if ((x->process == GPUMON_PROCESS_SEVERAL) != (y->process == GPUMON_PROCESS_SEVERAL))
		return x->process == GPUMON_PROCESS_SEVERAL ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	/* The whole device first. */
	if ((x->stream == ~0u) != (y->stream == ~0u))
		return x->stream == ~0u ? -1 : 1;
	if (x->context != y->context)
		return x->context < y->context ? -1 : 1;
	return x->stream < y->stream ? -1 : x->stream > y->stream;
}

/* Only as many rows are made as a user can look at. */
static void make_rows(struct gpumon_scan *scan, const struct gpumon_profile *profile)
{
	const struct gpumon_device_row *devices, **sorted;
	unsigned int count, rows;

	scan->bins = profile->options.bins;
	if (scan->bins)
		scan->first_ns = profile->from_ns;
	scan->bin_ns = gpumon_profile_bin_ns(profile);
	if (!scan->bin_ns)
		return;
	devices = gpumon_profile_devices(profile, &count);
	rows = count < ROWS_MAX ? count : ROWS_MAX;
	scan->rows_left = count - rows;
	scan->rows = gpumon_calloc((size_t)rows + 1, sizeof(*scan->rows));
	sorted = gpumon_calloc((size_t)count + 1, sizeof(*sorted));
	for (unsigned int i = 0; i < count; i++)
		sorted[i] = &devices[i];
	qsort(sorted, count, sizeof(*sorted), by_busy);
	for (unsigned int i = 0; i < rows; i++)
		add_row(scan, profile, sorted[i]);
	free(sorted);
	qsort(scan->rows, scan->row_count, sizeof(*scan->rows), row_order);
}

void gpumon_scan_reader_free(struct gpumon_scan_reader *reader)
{
	if (!reader)
		return;
	gpumon_scan_free(reader->scan);
	free(reader->processes);
	free(reader->apis);
	free(reader->notes);
	free(reader->totals);
	gpumon_streams_clear(&reader->streams);
	free(reader);
}

struct gpumon_scan *gpumon_scan_end(struct gpumon_scan_reader *reader,
				    const struct gpumon_profile *profile)
{
	struct gpumon_scan *scan = reader->scan;

	end_info(scan, profile);
	end_processes(reader, profile);
	end_streams(&reader->streams, scan, profile);
	end_notes(reader, profile);
	end_totals(reader);
	make_rows(scan, profile);
	reader->scan = NULL;
	gpumon_scan_reader_free(reader);
	return scan;
}
