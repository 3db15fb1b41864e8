// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Reads captures into a profile, in up to three passes: definitions, GPU operations, and what was
 * done in the longest gaps, if there are any.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture_internal.h"
#include "profile_internal.h"

/* NVTX ranges are read this many records ahead of the operations in them. */
#define AHEAD_RECORDS (1u << 17)

static int no_memory(void)
{
	return gpumon_capture_fail(-ENOMEM, GPUMON_ERROR_MEMORY,
				   "out of memory while reading the capture");
}

static void see_time(struct gpumon_profile *profile, uint64_t start_ns, uint64_t end_ns)
{
	if (start_ns && (!profile->first_ns || start_ns < profile->first_ns))
		profile->first_ns = start_ns;
	if (end_ns > profile->last_ns)
		profile->last_ns = end_ns;
}

/* First and last time of all activity. Definitions have none. */
static void see_times(struct gpumon_profile *profile, const struct gpumon_record *record)
{
	struct gpumon_work_fields fields;
	union {
		struct gpumon_record_launch launch;
		struct gpumon_record_call call;
		struct gpumon_record_sync sync;
		struct gpumon_record_hit hit;
		struct gpumon_record_range range;
	} of;

#define COPY(member) gpumon_record_copy(&of.member, sizeof(of.member), record)
	switch (record->type) {
	case GPUMON_RECORD_LAUNCH:
		COPY(launch);
		see_time(profile, of.launch.start_ns, of.launch.end_ns);
		return;
	case GPUMON_RECORD_CALL:
		COPY(call);
		see_time(profile, of.call.start_ns, of.call.end_ns);
		return;
	case GPUMON_RECORD_SYNC:
		COPY(sync);
		see_time(profile, of.sync.start_ns, of.sync.end_ns);
		return;
	case GPUMON_RECORD_HIT:
		COPY(hit);
		see_time(profile, of.hit.time_ns, of.hit.time_ns + of.hit.duration_ns);
		return;
	case GPUMON_RECORD_RANGE:
		COPY(range);
		see_time(profile, of.range.time_ns, of.range.time_ns);
		return;
	default:
		if (gpumon_work_fields(record, &fields) && fields.start_ns)
			see_time(profile, fields.start_ns,
				 fields.valid ? fields.end_ns : fields.start_ns);
		return;
	}
#undef COPY
}

/* --- the passes */

/* Number of a record's process in the profile. */
static uint32_t number_of(const struct gpumon_profile *profile, unsigned int capture,
			  const struct gpumon_capture_cursor *cursor)
{
	return cursor->process == GPUMON_PROCESS_DRIVER ?
		       GPUMON_PROCESS_DRIVER :
		       profile->numbers[capture] + cursor->process;
}

static int read_definitions(struct gpumon_profile *profile, unsigned int capture)
{
	struct gpumon_capture *from = profile->captures[capture];
	uint32_t first = profile->numbers[capture];
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;

	while ((record = gpumon_capture_next(from, &cursor))) {
		uint32_t number = number_of(profile, capture, &cursor);

		if (gpumon_tables_record(&profile->tables, number, record))
			return -1;
		if (number == GPUMON_PROCESS_DRIVER)
			continue;
		see_times(profile, record);
		if (gpumon_devices_look(profile, number, record))
			return -1;
	}
	/* The next passes read the same, though it may be still being written. */
	gpumon_capture_stop_here(from);
	profile->damages[capture] = *gpumon_capture_damage(from);
	profile->numbers[capture + 1] = first + gpumon_capture_processes(from);
	return gpumon_tables_capture(&profile->tables, capture, first, from);
}

static void add_damage(struct gpumon_profile *profile, const struct gpumon_capture_damage *damage)
{
	profile->damage.truncated_bytes += damage->truncated_bytes;
	profile->damage.broken_chunks += damage->broken_chunks;
	profile->damage.broken_records += damage->broken_records;
	profile->damage.unknown_records += damage->unknown_records;
	profile->damage.missing_chunks += damage->missing_chunks;
	profile->damage.broken_info |= damage->broken_info;
	profile->damage.unreadable_files += damage->unreadable_files;
}

/* Read the ranges ahead, before the operations that were launched in them. */
static int read_ahead(struct gpumon_profile *profile, unsigned int capture,
		      struct gpumon_capture *ahead, uint64_t *done, uint64_t until)
{
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;

	for (; *done < until; ++*done) {
		uint32_t number;

		record = gpumon_capture_next(ahead, &cursor);
		if (!record)
			return 0;
		number = number_of(profile, capture, &cursor);
		if (record->type == GPUMON_RECORD_RANGE && number != GPUMON_PROCESS_DRIVER &&
		    gpumon_ranges_record(&profile->ranges, number,
					 &profile->tables.processes[number], record))
			return -1;
	}
	return 0;
}

static int read_work(struct gpumon_profile *profile, unsigned int capture,
		     struct gpumon_capture *ahead)
{
	struct gpumon_capture *from = profile->captures[capture];
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;
	uint64_t done_ahead = 0;

	gpumon_capture_rewind(from);
	for (uint64_t i = 0; (record = gpumon_capture_next(from, &cursor)); i++) {
		uint32_t number = number_of(profile, capture, &cursor);

		if (ahead && i % 4096 == 0 &&
		    read_ahead(profile, capture, ahead, &done_ahead, i + AHEAD_RECORDS))
			return -1;
		if (number == GPUMON_PROCESS_DRIVER)
			continue;
		if (gpumon_devices_add(profile, number, record))
			return -1;
		if (record->type == GPUMON_RECORD_HIT)
			gpumon_profile_add_hit(profile, number, record);
		gpumon_correlate_record(profile->correlate, number, record);
		if (profile->failed)
			return -1;
	}
	add_damage(profile, &profile->damages[capture]);
	for (uint32_t i = profile->numbers[capture]; i < profile->numbers[capture + 1]; i++)
		gpumon_correlate_finish(profile->correlate, i);
	return profile->failed ? -1 : 0;
}

static bool has_ranges(const struct gpumon_profile *profile, unsigned int capture)
{
	for (uint32_t i = profile->numbers[capture];
	     i < profile->numbers[capture + 1] && i < profile->tables.used; i++) {
		if (profile->tables.processes[i].has_ranges)
			return true;
	}
	return false;
}

static int read_gaps(struct gpumon_profile *profile)
{
	struct gpumon_ranges ranges;
	uint32_t number;
	int status = 0;

	if (!profile->gap_count)
		return 0;
	gpumon_gaps_begin(profile, &ranges);
	for (unsigned int i = 0; i < profile->capture_count && !status; i++) {
		struct gpumon_capture_cursor cursor;
		const struct gpumon_record *record;

		gpumon_capture_rewind(profile->captures[i]);
		while (!status && (record = gpumon_capture_next(profile->captures[i], &cursor))) {
			number = number_of(profile, i, &cursor);
			if (number != GPUMON_PROCESS_DRIVER)
				status = gpumon_gaps_record(profile, &ranges, number, record);
		}
	}
	gpumon_gaps_end(profile, &ranges);
	return status;
}

/* --- the end */

static int by_gpu_time(const void *a, const void *b)
{
	const struct gpumon_kernel_row *x = a, *y = b;

	if (x->gpu_ns + x->left_ns != y->gpu_ns + y->left_ns)
		return x->gpu_ns + x->left_ns > y->gpu_ns + y->left_ns ? -1 : 1;
	if (x->count + x->left_count != y->count + y->left_count)
		return x->count + x->left_count > y->count + y->left_count ? -1 : 1;
	return strcmp(x->mangled, y->mangled);
}

static int by_range_time(const void *a, const void *b)
{
	const struct gpumon_range_row *x = a, *y = b;
	int order;

	if (x->gpu_ns + x->left_ns != y->gpu_ns + y->left_ns)
		return x->gpu_ns + x->left_ns > y->gpu_ns + y->left_ns ? -1 : 1;
	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns > y->cpu_ns ? -1 : 1;
	order = strcmp(x->text, y->text);
	return order ? order : strcmp(x->domain, y->domain);
}

static int make_rows(struct gpumon_profile *profile)
{
	profile->kernel_rows = calloc(profile->kernel_keys.used + 1, sizeof(*profile->kernel_rows));
	if (!profile->kernel_rows)
		return -1;
	for (uint32_t i = 0; i < profile->kernel_keys.used; i++) {
		const struct gpumon_kernel_growing *kernel = &profile->kernels[i];

		profile->kernel_rows[i] = kernel->row;
		profile->kernel_rows[i].duration = &kernel->duration;
		profile->kernel_rows[i].latency = &kernel->latency;
	}
	qsort(profile->kernel_rows, profile->kernel_keys.used, sizeof(*profile->kernel_rows),
	      by_gpu_time);
	if (profile->ranges.row_keys.used)
		qsort(profile->ranges.rows, profile->ranges.row_keys.used,
		      sizeof(*profile->ranges.rows), by_range_time);
	return gpumon_tree_end(&profile->tree);
}

static int read_all(struct gpumon_profile *profile, const char *const *paths)
{
	unsigned int known = 0;

	for (unsigned int i = 0; i < profile->capture_count; i++) {
		if (read_definitions(profile, i))
			return no_memory();
	}
	for (uint32_t i = 0; i < profile->tables.used; i++)
		known += profile->tables.processes[i].known;
	profile->tree.processes = profile->options.processes ||
				  (known > 1 && !profile->options.join_processes);
	if (gpumon_tables_end(&profile->tables, paths))
		return no_memory();
	gpumon_tables_expect(&profile->tables, profile->correlate);
	if (gpumon_devices_turn(profile))
		return no_memory();
	for (unsigned int i = 0; i < profile->capture_count; i++) {
		struct gpumon_capture *ahead = NULL;
		int status;

		if (has_ranges(profile, i) && gpumon_capture_again(profile->captures[i], &ahead))
			return -1;
		status = read_work(profile, i, ahead);
		gpumon_capture_free(ahead);
		if (status)
			return no_memory();
	}
	profile->counts = *gpumon_correlate_counts(profile->correlate);
	profile->tables.losses[GPUMON_LOSS_WITHHELD] +=
		profile->counts.unmatched_launches[GPUMON_LAUNCH_WITHHELD];
	if (gpumon_devices_end(profile) || read_gaps(profile) || gpumon_profile_scale(profile) ||
	    make_rows(profile))
		return no_memory();
	return 0;
}

static int profile_begin(struct gpumon_profile *profile, const char *const *paths)
{
	const struct gpumon_correlate_output output = {
		.work = gpumon_profile_on_work,
		.launch = gpumon_profile_on_launch,
		.left_out = gpumon_profile_left_out,
		.is_cut = gpumon_profile_is_cut,
		.data = profile,
	};
	int ret = 0;

	profile->captures = calloc(profile->capture_count, sizeof(*profile->captures));
	profile->numbers = calloc(profile->capture_count + 1, sizeof(*profile->numbers));
	profile->damages = calloc(profile->capture_count, sizeof(*profile->damages));
	profile->correlate = gpumon_correlate_new(&output);
	profile->tables.pool = &profile->pool;
	profile->tables.symbol_root = profile->options.symbol_root;
	profile->ranges.pool = &profile->pool;
	profile->ranges.timeline = true;
	profile->tree.pool = &profile->pool;
	profile->tree.tables = &profile->tables;
	profile->tree.options = profile->options;
	profile->shifts = gpumon_capture_shifts(paths, profile->capture_count);
	if (!profile->captures || !profile->numbers || !profile->damages || !profile->shifts ||
	    gpumon_tree_begin(&profile->tree))
		return no_memory();
	for (unsigned int i = 0; i < profile->capture_count && !ret; i++) {
		ret = gpumon_capture_open(paths[i], &profile->captures[i]);
		if (!ret)
			gpumon_capture_shift(profile->captures[i], profile->shifts[i]);
	}
	return ret;
}

/* Rows of a timeline need the windows after the rest of the tables is gone. */
static int keep_windows(struct gpumon_profile *profile)
{
	struct gpumon_tables *tables = &profile->tables;

	profile->windows = calloc(tables->used + 1, sizeof(*profile->windows));
	if (!profile->windows)
		return no_memory();
	profile->window_count = tables->used;
	for (uint32_t i = 0; i < tables->used; i++) {
		profile->windows[i] = tables->processes[i].windows;
		tables->processes[i].windows = (struct gpumon_windows){ 0 };
	}
	return 0;
}

int gpumon_profile_load(const char *const *paths, unsigned int count,
			const struct gpumon_profile_options *options,
			struct gpumon_profile **result)
{
	struct gpumon_profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return no_memory();
	profile->options = *options;
	profile->capture_count = count;
	if (profile_begin(profile, paths) || read_all(profile, paths) || keep_windows(profile)) {
		gpumon_profile_free(profile);
		return -1;
	}
	memcpy(profile->losses, profile->tables.losses, sizeof(profile->losses));
	/* Free the data that only reading needed. Rows have copies of names and times. */
	gpumon_correlate_free(profile->correlate);
	profile->correlate = NULL;
	gpumon_tree_clear(&profile->tree);
	gpumon_tables_clear(&profile->tables);
	gpumon_scale_clear(&profile->scale);
	for (unsigned int i = 0; i < count; i++) {
		gpumon_capture_free(profile->captures[i]);
		profile->captures[i] = NULL;
	}
	*result = profile;
	return 0;
}

void gpumon_profile_free(struct gpumon_profile *profile)
{
	if (!profile)
		return;
	gpumon_correlate_free(profile->correlate);
	gpumon_tree_clear(&profile->tree);
	gpumon_tables_clear(&profile->tables);
	gpumon_ranges_clear(&profile->ranges);
	gpumon_scale_clear(&profile->scale);
	for (unsigned int i = 0; profile->captures && i < profile->capture_count; i++)
		gpumon_capture_free(profile->captures[i]);
	for (uint32_t i = 0; i < profile->kernel_keys.used; i++) {
		gpumon_distribution_clear(&profile->kernels[i].duration);
		gpumon_distribution_clear(&profile->kernels[i].latency);
	}
	for (uint32_t i = 0; i < profile->device_keys.used; i++)
		gpumon_busy_clear(&profile->devices[i]->busy);
	gpumon_gpus_clear(profile);
	gpumon_distribution_clear(&profile->latency);
	gpumon_keys_clear(&profile->kernel_ids);
	gpumon_keys_clear(&profile->launched_ids);
	gpumon_keys_clear(&profile->kernel_keys);
	gpumon_keys_clear(&profile->device_keys);
	gpumon_keys_clear(&profile->launchers);
	free(profile->captures);
	free(profile->numbers);
	free(profile->damages);
	free(profile->shifts);
	for (uint32_t i = 0; i < profile->window_count; i++)
		gpumon_windows_clear(&profile->windows[i]);
	free(profile->windows);
	free(profile->kernel_of_id);
	free(profile->launched);
	free(profile->kernels);
	free(profile->kernel_rows);
	free(profile->devices);
	free(profile->device_rows);
	gpumon_pool_clear(&profile->pool);
	free(profile);
}

/* --- asking */

const struct gpumon_node *gpumon_profile_root(const struct gpumon_profile *profile)
{
	return profile->tree.root;
}

const struct gpumon_kernel_row *gpumon_profile_kernels(const struct gpumon_profile *profile,
						       unsigned int *count)
{
	*count = profile->kernel_keys.used;
	return profile->kernel_rows;
}

const struct gpumon_device_row *gpumon_profile_devices(const struct gpumon_profile *profile,
						       unsigned int *count)
{
	*count = profile->device_count;
	return profile->device_rows;
}

const struct gpumon_range_row *gpumon_profile_ranges(const struct gpumon_profile *profile,
						     unsigned int *count)
{
	*count = profile->ranges.row_keys.used;
	return profile->ranges.rows;
}

const struct gpumon_gap *gpumon_profile_gaps(const struct gpumon_profile *profile,
					     unsigned int *count)
{
	*count = profile->gap_count;
	return profile->gaps;
}

const struct gpumon_distribution *gpumon_profile_latency(const struct gpumon_profile *profile)
{
	return &profile->latency;
}

const struct gpumon_sampling *gpumon_profile_sampling(const struct gpumon_profile *profile)
{
	return &profile->sampling;
}

const struct gpumon_correlate_counts *gpumon_profile_counts(const struct gpumon_profile *profile)
{
	return &profile->counts;
}

uint64_t gpumon_profile_hits(const struct gpumon_profile *profile)
{
	return profile->hits;
}

const uint64_t *gpumon_profile_losses(const struct gpumon_profile *profile)
{
	return profile->losses;
}

const struct gpumon_capture_damage *gpumon_profile_damage(const struct gpumon_profile *profile)
{
	return &profile->damage;
}

uint64_t gpumon_profile_cut_paths(const struct gpumon_profile *profile)
{
	return profile->tree.cut_paths;
}

uint64_t gpumon_profile_cut_stacks(const struct gpumon_profile *profile)
{
	return profile->cut_stacks;
}

void gpumon_profile_times(const struct gpumon_profile *profile, uint64_t *first_ns,
			  uint64_t *last_ns)
{
	*first_ns = profile->first_ns;
	*last_ns = profile->last_ns;
}

uint64_t gpumon_profile_shift(const struct gpumon_profile *profile, unsigned int capture)
{
	return profile->shifts[capture];
}
