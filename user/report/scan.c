// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text_intern.h"
#include "capture/capture.h"
#include "profile_busy.h"
#include "lib/pool.h"
#include "lib/array.h"
#include "output.h"
#include "lib/output_text.h"
#include "record_names.h"
#include "scan_apis.h"
#include "scan_streams.h"
#include "scan_windows.h"
#include "view.h"

/* Rows of a timeline, including devices. */
#define ROWS_MAX 200

/* Strings that are looked up once all are known. */
struct wanted {
	uint32_t process;
	uint32_t host;
	uint32_t executable;
	uint32_t command;
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

struct reading {
	const struct gpumon_profile *profile; /* may be NULL */
	struct gpumon_scan *scan;
	struct totals *totals;
	size_t totals_count;
	struct gpumon_record_names names;
	struct gpumon_keys rows; /* process, device, context, stream to an index */
	struct wanted *wanted;
	size_t wanted_count;
	struct gpumon_scan_apis apis;
	struct note *notes;
	size_t note_count;
	struct gpumon_streams streams;
	size_t process_count;
	struct gpumon_busy *busy; /* by row, found in two passes */
	bool second;		  /* pass */
	bool failed;
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
	gpumon_scan_apis_free(scan);
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

static char *string_copy(struct reading *reading, uint32_t process, uint32_t string)
{
	char *copy = gpumon_names_copy(&reading->names, process, string);

	reading->failed |= !copy;
	return copy;
}

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

/* The bins to fill, or to empty for a gap. */
struct filling {
	const struct gpumon_scan *scan;
	uint64_t *busy_ns;
	bool empty;
};

static void fill_bins(void *data, uint64_t start, uint64_t end)
{
	const struct filling *filling = data;
	const struct gpumon_scan *scan = filling->scan;
	uint64_t first;

	if (start < scan->first_ns)
		start = scan->first_ns;
	if (end <= start)
		return;
	first = (start - scan->first_ns) / scan->bin_ns;
	for (uint64_t bin = first; bin < scan->bins; bin++) {
		uint64_t begin = scan->first_ns + bin * scan->bin_ns;
		uint64_t from = start > begin ? start : begin;
		uint64_t to = end < begin + scan->bin_ns ? end : begin + scan->bin_ns;

		if (to <= from)
			break;
		if (!filling->empty)
			filling->busy_ns[bin] += to - from;
		else if (filling->busy_ns[bin] > to - from)
			filling->busy_ns[bin] -= to - from;
		else
			filling->busy_ns[bin] = 0;
	}
}

/* Busy from its first to its last time. The second pass removes the gaps. */
static int add_row(struct reading *reading, const struct gpumon_device_row *of)
{
	const struct gpumon_key key = { { of->process, of->device, of->context, of->stream } };
	struct gpumon_scan *scan = reading->scan;
	struct gpumon_scan_row *row = &scan->rows[scan->row_count];
	bool added;

	row->process = of->process;
	row->device = of->device;
	row->context = of->context;
	row->stream = of->stream;
	row->gpu = of->gpu;
	row->of = of;
	row->busy_ns = calloc(scan->bins, sizeof(*row->busy_ns));
	scan->row_count++;
	if (!row->busy_ns || gpumon_keys_number(&reading->rows, &key, &added) == GPUMON_KEY_NONE)
		return -1;
	/* The profile has joined what its users did. */
	if (of->users) {
		if (of->bin_busy_ns)
			memcpy(row->busy_ns, of->bin_busy_ns, scan->bins * sizeof(*row->busy_ns));
		return 0;
	}
	fill_bins(&(struct filling){ .scan = scan, .busy_ns = row->busy_ns }, of->first_ns,
		  of->last_ns);
	return 0;
}

/* Every row needs bins, so only as many rows are made as a user can look at. */
static int make_rows(struct reading *reading, const struct gpumon_profile *profile)
{
	const struct gpumon_device_row *devices, **sorted;
	struct gpumon_scan *scan = reading->scan;
	unsigned int count, rows;
	int ret = 0;

	devices = gpumon_profile_devices(profile, &count);
	rows = count < ROWS_MAX ? count : ROWS_MAX;
	scan->rows_left = count - rows;
	scan->rows = calloc(rows + 1, sizeof(*scan->rows));
	reading->busy = calloc(rows + 1, sizeof(*reading->busy));
	sorted = calloc(count + 1, sizeof(*sorted));
	for (unsigned int i = 0; sorted && i < count; i++)
		sorted[i] = &devices[i];
	if (sorted)
		qsort(sorted, count, sizeof(*sorted), by_busy);
	if (!scan->rows || !reading->busy || !sorted)
		ret = -1;
	for (unsigned int i = 0; i < rows && !ret; i++)
		ret = add_row(reading, sorted[i]);
	free(sorted);
	return ret;
}

static void add_busy(struct reading *reading, uint32_t process, uint32_t device, uint32_t context,
		     uint32_t stream, uint64_t start, uint64_t end)
{
	struct filling gap = { .scan = reading->scan, .empty = true };
	const struct gpumon_key key = { { process, device, context, stream } };
	uint32_t place = gpumon_keys_number(&reading->rows, &key, NULL);

	if (place == GPUMON_KEY_NONE)
		return;
	gap.busy_ns = reading->scan->rows[place].busy_ns;
	if (reading->second ? gpumon_busy_add(&reading->busy[place], start, end, fill_bins, &gap) :
			      gpumon_busy_look(&reading->busy[place], start, end))
		reading->failed = true;
}

static void on_work(struct reading *reading, uint32_t process, const struct gpumon_record *record)
{
	struct gpumon_work_fields work;

	/* What has no times is not busy, as in the table of devices. */
	if (!gpumon_work_fields(record, &work) || !work.valid)
		return;
	add_busy(reading, process, work.device, work.context, work.stream, work.start_ns,
		 work.end_ns);
	add_busy(reading, process, work.device, 0, ~0u, work.start_ns, work.end_ns);
}

static void turn_gaps(struct reading *reading)
{
	for (unsigned int i = 0; i < reading->scan->row_count; i++)
		gpumon_busy_turn(&reading->busy[i], 0);
	reading->second = true;
}

static void end_busy(struct reading *reading)
{
	for (unsigned int i = 0; i < reading->scan->row_count; i++) {
		struct filling gap = { .scan = reading->scan,
				       .busy_ns = reading->scan->rows[i].busy_ns,
				       .empty = true };

		if (gpumon_busy_end(&reading->busy[i], 0, fill_bins, &gap))
			reading->failed = true;
	}
}

static void on_process(struct reading *reading, uint32_t process,
		       const struct gpumon_record_process *record)
{
	struct gpumon_scan_process *to;
	struct wanted *wanted;

	to = GPUMON_GROW(reading->scan->processes, reading->process_count);
	wanted = GPUMON_GROW(reading->wanted, reading->wanted_count);
	if (!to || !wanted) {
		reading->failed = true;
		return;
	}
	reading->scan->process_count = (unsigned int)reading->process_count;
	to->number = process;
	to->pid = record->pid;
	to->host_pid = record->host_pid;
	to->rank = record->rank;
	to->cupti_version = record->cupti_version;
	to->driver_version = record->driver_version;
	*wanted = (struct wanted){ process, record->host, record->executable, record->command };
}

static void on_totals(struct reading *reading, uint32_t process, const struct gpumon_record *record)
{
	struct totals *totals = NULL;

	for (size_t i = reading->totals_count; i-- && !totals;) {
		if (reading->totals[i].process == process)
			totals = &reading->totals[i];
	}
	if (!totals)
		totals = GPUMON_GROW(reading->totals, reading->totals_count);
	if (!totals) {
		reading->failed = true;
		return;
	}
	totals->process = process;
	gpumon_record_copy(&totals->last, sizeof(totals->last), record);
}

static void add_totals(struct reading *reading)
{
	struct gpumon_record_totals *to = &reading->scan->totals;

	reading->scan->totals_known = reading->totals_count > 0;
	for (size_t i = 0; i < reading->totals_count; i++) {
		const struct gpumon_record_totals *from = &reading->totals[i].last;

		to->launches += from->launches;
		to->captured += from->captured;
		to->kernels += from->kernels;
		to->copies += from->copies;
		to->sets += from->sets;
		to->device_bytes += from->device_bytes;
	}
}

static void on_unified(struct reading *reading, const struct gpumon_record *record)
{
	struct gpumon_record_unified_memory unified;
	enum gpumon_unified_kind kind;
	struct gpumon_unified *to;

	gpumon_record_copy(&unified, sizeof(unified), record);
	kind = gpumon_unified_kind(unified.kind);
	to = &reading->scan->unified[kind];
	to->count++;
	if (gpumon_unified_has_bytes(kind))
		to->bytes = gpumon_add_saturated(to->bytes, unified.value);
	if (gpumon_unified_is_fault(kind))
		to->faults = gpumon_add_saturated(
			to->faults, kind == GPUMON_UNIFIED_GPU_FAULT ? unified.value : 1);
	if (gpumon_unified_has_end(kind) && unified.start_ns && unified.end_ns > unified.start_ns)
		to->ns = gpumon_add_saturated(to->ns, unified.end_ns - unified.start_ns);
}

static bool is_work(const struct gpumon_record *record)
{
	return record->type == GPUMON_RECORD_KERNEL || record->type == GPUMON_RECORD_COPY ||
	       record->type == GPUMON_RECORD_SET || record->type == GPUMON_RECORD_GRAPH;
}

static void on_record(struct reading *reading, uint32_t process, const struct gpumon_record *record)
{
	struct gpumon_record_process of;
	struct gpumon_record_note from;
	struct note *note;

	if (is_work(record) && reading->scan->bin_ns)
		on_work(reading, process, record);
	if (reading->second)
		return;
	switch (record->type) {
	case GPUMON_RECORD_STRING:
		if (gpumon_names_add(&reading->names, process,
				     (const struct gpumon_record_string *)record))
			reading->failed = true;
		break;
	case GPUMON_RECORD_PROCESS:
		gpumon_record_copy(&of, sizeof(of), record);
		on_process(reading, process, &of);
		break;
	case GPUMON_RECORD_API:
	case GPUMON_RECORD_CLOCK:
		if (gpumon_scan_apis_record(&reading->apis, reading->scan, process, record))
			reading->failed = true;
		break;
	case GPUMON_RECORD_NOTE:
		gpumon_record_copy(&from, sizeof(from), record);
		note = GPUMON_GROW(reading->notes, reading->note_count);
		if (note)
			*note = (struct note){ process, from.text, from.head.flags };
		else
			reading->failed = true;
		break;
	case GPUMON_RECORD_STREAM:
		if (gpumon_streams_add(&reading->streams, process, record))
			reading->failed = true;
		break;
	case GPUMON_RECORD_UNIFIED_MEMORY:
		on_unified(reading, record);
		break;
	case GPUMON_RECORD_TOTALS:
		on_totals(reading, process, record);
		break;
	default:
		break;
	}
}

static void on_info(struct reading *reading, const struct gpumon_capture_info *info, bool first)
{
	struct gpumon_scan *scan = reading->scan;

	if (first) {
		scan->created_ns = info->created_ns;
		scan->host = gpumon_names_printable(info->host);
		scan->command = gpumon_names_printable(info->command ? info->command : "");
		reading->failed |= !scan->host || !scan->command;
		scan->ended = true;
	}
	scan->ended &= info->ended;
	scan->lost_records = gpumon_add_saturated(scan->lost_records, info->lost_records);
}

static int read_capture(struct reading *reading, const char *path, unsigned int number,
			uint32_t *base)
{
	const struct gpumon_record *record;
	struct gpumon_capture_cursor cursor;
	struct gpumon_capture *capture;

	if (gpumon_capture_open(path, &capture)) {
		errno = 0;
		return -1;
	}
	/* Times are of interest only beside those of the profile. */
	if (reading->profile)
		gpumon_capture_shift(capture, gpumon_profile_shift(reading->profile, number));
	while (!reading->failed && (record = gpumon_capture_next(capture, &cursor))) {
		bool driver = cursor.process == GPUMON_PROCESS_DRIVER;
		uint32_t process = driver ? ~number : *base + cursor.process;

		on_record(reading, process, record);
	}
	if (!reading->second)
		on_info(reading, gpumon_capture_info(capture), !number);
	*base += gpumon_capture_processes(capture);
	gpumon_capture_free(capture);
	return 0;
}

static void add_notes(struct reading *reading)
{
	struct gpumon_scan *scan = reading->scan;
	struct gpumon_intern known = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < reading->note_count && !reading->failed; i++) {
		char *text =
			string_copy(reading, reading->notes[i].process, reading->notes[i].text);
		bool added = false;

		if (reading->notes[i].flags & GPUMON_NOTE_NOTHING) {
			free(scan->nothing);
			scan->nothing = text;
			continue;
		}
		scan->no_gpu |= reading->notes[i].flags & GPUMON_NOTE_NO_GPU;
		if (text && *text && !gpumon_intern(&known, text, &added))
			reading->failed = true;
		if (added && GPUMON_GROW(scan->notes, n)) {
			scan->notes[n - 1] = text;
			scan->note_count = (unsigned int)n;
			if (reading->notes[i].flags & (GPUMON_NOTE_NO_GPU | GPUMON_NOTE_MISSING))
				scan->missing_notes++;
			continue;
		}
		reading->failed |= added;
		free(text);
	}
	gpumon_intern_clear(&known);
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

int gpumon_scan_load(const char *const *paths, unsigned int count,
		     const struct gpumon_profile *profile, unsigned int bins,
		     struct gpumon_scan **scan)
{
	struct reading reading = { .scan = calloc(1, sizeof(*reading.scan)) };
	uint64_t last_ns = 0;
	uint32_t base = 0;
	int ret = 0;

	*scan = NULL;
	if (!reading.scan) {
		errno = ENOMEM;
		return -1;
	}
	reading.profile = profile;
	if (profile && bins) {
		reading.scan->bins = bins < GPUMON_BINS_MAX ? bins : GPUMON_BINS_MAX;
		gpumon_profile_times(profile, &reading.scan->first_ns, &last_ns);
		/* A damaged capture can contain any times. */
		if (last_ns > reading.scan->first_ns &&
		    last_ns - reading.scan->first_ns < INT64_MAX)
			reading.scan->bin_ns =
				(last_ns - reading.scan->first_ns) / reading.scan->bins + 1;
		if (reading.scan->bin_ns && make_rows(&reading, profile))
			reading.failed = true;
	}
	for (unsigned int i = 0; i < count && !ret; i++)
		ret = read_capture(&reading, paths[i], i, &base);
	if (reading.scan->row_count && !reading.failed && !ret) {
		turn_gaps(&reading);
		base = 0;
		for (unsigned int i = 0; i < count && !ret; i++)
			ret = read_capture(&reading, paths[i], i, &base);
		end_busy(&reading);
	}
	for (size_t i = 0; i < reading.wanted_count && !ret; i++) {
		const struct wanted *wanted = &reading.wanted[i];
		struct gpumon_scan_process *process = &reading.scan->processes[i];

		process->host = string_copy(&reading, wanted->process, wanted->host);
		process->executable = string_copy(&reading, wanted->process, wanted->executable);
		process->command = string_copy(&reading, wanted->process, wanted->command);
	}
	if (!ret) {
		if (gpumon_scan_apis_end(&reading.apis, reading.scan, &reading.names))
			reading.failed = true;
		if (gpumon_scan_windows(profile, reading.scan))
			reading.failed = true;
		if (gpumon_scan_streams(&reading.streams, reading.scan, &reading.names))
			reading.failed = true;
		add_notes(&reading);
		add_totals(&reading);
	}
	if (reading.scan->row_count)
		qsort(reading.scan->rows, reading.scan->row_count, sizeof(*reading.scan->rows),
		      row_order);
	if (!ret && reading.failed) {
		errno = ENOMEM;
		ret = -1;
	}
	gpumon_names_clear(&reading.names);
	for (unsigned int i = 0; reading.busy && i < reading.scan->row_count; i++)
		gpumon_busy_clear(&reading.busy[i]);
	gpumon_keys_clear(&reading.rows);
	free(reading.wanted);
	free(reading.apis.wanted);
	free(reading.notes);
	free(reading.totals);
	gpumon_streams_clear(&reading.streams);
	free(reading.busy);
	if (ret)
		gpumon_scan_free(reading.scan);
	else
		*scan = reading.scan;
	return ret;
}
