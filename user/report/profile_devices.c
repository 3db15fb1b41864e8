// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Busy times of devices, streams and GPUs, idle times, and what the program did meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/memory.h"
#include "profile_internal.h"

/* The kinds in which the CPU waits. */
static const char *const sync_names[] = {
	[GPUMON_SYNC_EVENT] = "event synchronize",
	[GPUMON_SYNC_STREAM] = "stream synchronize",
	[GPUMON_SYNC_CONTEXT] = "context synchronize",
};

#define STREAMS_ALL (~0u)

static struct gpumon_device_growing *find_device(struct gpumon_profile *profile, uint32_t process,
						 uint32_t device, uint32_t context, uint32_t stream)
{
	const struct gpumon_key key = { { process, device, context, stream } };
	struct gpumon_device_growing **slot = GPUMON_KEYS_VALUE(
		&profile->device_keys, &key, profile->devices, profile->devices_room, NULL);
	struct gpumon_device_growing *growing;

	if (*slot)
		return *slot;
	growing = gpumon_pool_zalloc(&profile->pool, sizeof(*growing));
	*slot = growing;
	growing->profile = profile;
	growing->row.process = process;
	growing->row.device = device;
	growing->row.context = context;
	growing->row.stream = stream;
	return growing;
}

struct gpumon_device_growing *gpumon_devices_find(struct gpumon_profile *profile, uint32_t process,
						  uint32_t device)
{
	const struct gpumon_key key = { { process, device, 0, STREAMS_ALL } };
	uint32_t number = gpumon_keys_number(&profile->device_keys, &key, NULL);

	return number == GPUMON_KEY_NONE ? NULL : profile->devices[number];
}

/* What CUDA launched by itself has no launch. */
static struct gpumon_interval interval_of(uint32_t number, const struct gpumon_record *record,
					  const struct gpumon_work_fields *fields)
{
	bool internal = record->flags & GPUMON_WORK_INTERNAL;

	return (struct gpumon_interval){ fields->start_ns, fields->end_ns,
					 gpumon_origin(number, fields->context,
						       internal ? 0 : fields->correlation) };
}

void gpumon_devices_look(struct gpumon_profile *profile, uint32_t number,
			 const struct gpumon_record *record)
{
	struct gpumon_interval interval;
	struct gpumon_device_growing *of_device, *of_stream;
	struct gpumon_work_fields fields;

	if (!gpumon_work_fields(record, &fields))
		return;
	of_device = find_device(profile, number, fields.device, 0, STREAMS_ALL);
	of_stream = find_device(profile, number, fields.device, fields.context, fields.stream);
	interval = interval_of(number, record, &fields);
	if (fields.unended) {
		gpumon_busy_unended(&of_device->busy, fields.start_ns, interval.origin);
		gpumon_busy_unended(&of_stream->busy, fields.start_ns, interval.origin);
	}
	if (!fields.valid)
		return;
	gpumon_busy_look(&of_device->busy, &interval);
	gpumon_busy_look(&of_stream->busy, &interval);
}

/* --- the timeline */

/* Time of each bin in which something ran. */
static void fill_bins(void *data, uint64_t start_ns, uint64_t end_ns, uint64_t origin)
{
	struct gpumon_device_growing *growing = data;
	const struct gpumon_profile *profile = growing->profile;
	const struct gpumon_bins_scale scale = { profile->from_ns, profile->bin_ns,
						 profile->options.bins, 1 };

	(void)origin;
	gpumon_bins_add(&growing->bins, &scale, 0, start_ns, end_ns);
}

static void on_busy(void *data, uint64_t start_ns, uint64_t end_ns, uint64_t origin)
{
	struct gpumon_device_growing *growing = data;

	if (growing->profile->bin_ns)
		fill_bins(data, start_ns, end_ns, origin);
	if (growing->row.stream == STREAMS_ALL)
		gpumon_metrics_busy(growing->profile, growing->row.process, growing->row.device,
				    start_ns, end_ns);
}

/* Of a GPU that several use, metrics are told what each of them has. */
static void begin_bins(struct gpumon_device_growing *growing)
{
	if (growing->row.users && !growing->profile->bin_ns)
		return;
	growing->busy.ran = growing->row.users ? fill_bins : on_busy;
	growing->busy.ran_data = growing;
}

static void describe_device(struct gpumon_profile *profile, struct gpumon_device_row *row);
static void find_gpus(struct gpumon_profile *profile);
static void read_gpus(struct gpumon_profile *profile);

void gpumon_devices_turn(struct gpumon_profile *profile)
{
	for (uint32_t i = 0; i < profile->device_keys.used; i++) {
		struct gpumon_device_growing *growing = profile->devices[i];
		const struct gpumon_windows *windows =
			&profile->captures.tables.processes[growing->row.process].windows;
		uint64_t count;

		growing->row.elapsed_ns =
			gpumon_windows_ns(windows, profile->from_ns, profile->until_ns, &count);
		if (windows->sampled)
			growing->busy.windows = windows;
		growing->busy.from_ns = profile->options.from_ns;
		growing->busy.until_ns = profile->options.until_ns;
		gpumon_busy_turn(&growing->busy, profile->first_ns);
		begin_bins(growing);
		describe_device(profile, &growing->row);
	}
	find_gpus(profile);
}

static uint64_t length_of(const struct gpumon_gap *gap)
{
	return gap->end_ns - gap->start_ns;
}

static void add_idle(struct gpumon_profile *profile, uint32_t gpu, uint64_t start_ns,
		     uint64_t end_ns, uint64_t origin)
{
	if (start_ns <= profile->first_ns)
		gpumon_budget_idle_outside(&profile->budget, gpu, start_ns, end_ns, false);
	else if (!origin)
		gpumon_budget_idle_outside(&profile->budget, gpu, start_ns, end_ns, true);
	else
		gpumon_budget_gap(&profile->budget, gpu, start_ns, end_ns, origin);
}

/* They are unsorted until the end. */
static void add_gap(void *data, uint64_t start_ns, uint64_t end_ns, uint64_t origin)
{
	const struct gpumon_device_growing *device = data;
	struct gpumon_profile *profile = device->profile;
	struct gpumon_gap *gap = profile->gaps;
	uint64_t shortest_ns = ~0ull;

	add_idle(profile, device->row.gpu, start_ns, end_ns, origin);
	if (!gpumon_profile_clip(profile, &start_ns, &end_ns))
		return;

	if (profile->gap_count < GPUMON_GAPS_MAX) {
		gap = &profile->gaps[profile->gap_count++];
	} else {
		/* Most gaps are short, as in a loop that only launches. */
		if (end_ns - start_ns <= profile->gap_shortest_ns)
			return;
		for (unsigned int i = 0; i < GPUMON_GAPS_MAX; i++) {
			if (length_of(&profile->gaps[i]) < length_of(gap))
				gap = &profile->gaps[i];
		}
	}
	*gap = (struct gpumon_gap){
		.process = device->row.process,
		.device = device->row.device,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.doing = "",
		.doer = device->row.process,
		.gpu = device->row.gpu,
		.type = device->row.type,
	};
	for (unsigned int i = 0; i < profile->gap_count; i++) {
		if (length_of(&profile->gaps[i]) < shortest_ns)
			shortest_ns = length_of(&profile->gaps[i]);
	}
	profile->gap_shortest_ns = shortest_ns;
}

void gpumon_devices_count(struct gpumon_profile *profile, uint32_t process,
			  const struct gpumon_work_fields *fields, uint64_t gpu_ns)
{
	struct gpumon_device_row *rows[] = {
		&find_device(profile, process, fields->device, 0, STREAMS_ALL)->row,
		&find_device(profile, process, fields->device, fields->context, fields->stream)->row,
	};

	for (unsigned int i = 0; i < 2; i++) {
		rows[i]->count++;
		rows[i]->gpu_ns += gpu_ns;
	}
}

/* Also of one that began before the part that is shown. */
static void see_times(struct gpumon_device_row *row, uint64_t start_ns, uint64_t end_ns)
{
	if (!row->first_ns || start_ns < row->first_ns)
		row->first_ns = start_ns;
	if (end_ns > row->last_ns)
		row->last_ns = end_ns;
}

void gpumon_devices_add(struct gpumon_profile *profile, uint32_t number,
			const struct gpumon_record *record)
{
	struct gpumon_interval interval;
	struct gpumon_device_growing *of_device, *of_stream;
	struct gpumon_work_fields fields;

	if (!gpumon_work_fields(record, &fields))
		return;
	of_device = find_device(profile, number, fields.device, 0, STREAMS_ALL);
	of_stream = find_device(profile, number, fields.device, fields.context, fields.stream);
	if (!fields.valid)
		return;
	interval = interval_of(number, record, &fields);
	/* One that takes no time is in it or not. */
	if (gpumon_profile_clip(profile, &fields.start_ns, &fields.end_ns) ||
	    gpumon_profile_within(profile, interval.start_ns)) {
		see_times(&of_device->row, fields.start_ns, fields.end_ns);
		see_times(&of_stream->row, fields.start_ns, fields.end_ns);
	}
	/* That of a GPU which several use is counted in the order of time, in a later pass. */
	if (!of_device->row.part)
		gpumon_busy_add(&of_device->busy, &interval, add_gap, of_device);
	gpumon_busy_add(&of_stream->busy, &interval, NULL, NULL);
}

const char *gpumon_device_uuid(char text[GPUMON_UUID_TEXT],
			       const struct gpumon_record_device *device)
{
	static const uint8_t none[16];
	const uint8_t *uuid = memcmp(device->mig_uuid, none, sizeof(none)) ? device->mig_uuid :
									     device->uuid;

	if (!memcmp(uuid, none, sizeof(none)))
		return NULL;
	snprintf(text, GPUMON_UUID_TEXT,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", uuid[0],
		 uuid[1], uuid[2], uuid[3], uuid[4], uuid[5], uuid[6], uuid[7], uuid[8], uuid[9],
		 uuid[10], uuid[11], uuid[12], uuid[13], uuid[14], uuid[15]);
	return text;
}

const char *gpumon_api_name(uint32_t id)
{
	static const char *const names[GPUMON_APIS] = {
		[GPUMON_API_CUDA] = "CUDA",
		[GPUMON_API_OPENCL] = "OpenCL",
		[GPUMON_API_LEVEL_ZERO] = "Level Zero",
		[GPUMON_API_HIP] = "HIP",
		[GPUMON_API_VULKAN] = "Vulkan",
		[GPUMON_API_OPENGL] = "OpenGL",
	};

	return GPUMON_API_OF(id) < GPUMON_APIS ? names[GPUMON_API_OF(id)] : "unknown API";
}

const char *gpumon_device_type_key(uint32_t type)
{
	static const char *const keys[] = {
		[GPUMON_DEVICE_GPU] = "gpu",
		[GPUMON_DEVICE_CPU] = "cpu",
		[GPUMON_DEVICE_ACCELERATOR] = "accelerator",
		[GPUMON_DEVICE_OTHER] = "other",
	};

	return type < sizeof(keys) / sizeof(keys[0]) ? keys[type] : "other";
}

const char *gpumon_device_text(char text[GPUMON_DEVICE_TEXT], uint32_t device, uint32_t type)
{
	const char *what = type == GPUMON_DEVICE_GPU	     ? "GPU" :
			   type == GPUMON_DEVICE_CPU	     ? "CPU" :
			   type == GPUMON_DEVICE_ACCELERATOR ? "accelerator " :
							       "device ";
	bool cuda = GPUMON_API_OF(device) == GPUMON_API_CUDA;

	snprintf(text, GPUMON_DEVICE_TEXT, "%s%s%s%u", cuda ? "" : gpumon_api_name(device),
		 cuda ? "" : " ", what, GPUMON_NUMBER_OF(device));
	return text;
}

static void describe_device(struct gpumon_profile *profile, struct gpumon_device_row *row)
{
	const struct gpumon_tables_process *process =
		&profile->captures.tables.processes[row->process];
	const struct gpumon_record_device *device = gpumon_tables_device(process, row->device);
	const char *host = gpumon_tables_string(process, process->record.host);
	const char *name = device ? gpumon_tables_string(process, device->name) : NULL;
	const struct gpumon_capture_info *info =
		gpumon_capture_info(profile->captures.at[process->capture]);

	row->host = host ? host : gpumon_pool_text(&profile->pool, info->host);
	row->name = name ? name : "";
	row->type = device ? device->type : GPUMON_DEVICE_GPU;
	if (device)
		(void)gpumon_device_uuid(row->uuid, device);
}

/* A GPU before its users, and a device before its streams. */
static int by_place(const void *a, const void *b)
{
	const struct gpumon_device_row *x = a, *y = b;

	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	if (!x->users != !y->users)
		return x->users ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if ((x->stream == STREAMS_ALL) != (y->stream == STREAMS_ALL))
		return x->stream == STREAMS_ALL ? -1 : 1;
	if (x->context != y->context)
		return x->context < y->context ? -1 : 1;
	return x->stream < y->stream ? -1 : x->stream > y->stream;
}

static int by_length(const void *a, const void *b)
{
	const struct gpumon_gap *x = a, *y = b;
	uint64_t first = length_of(x), second = length_of(y);

	if (first != second)
		return first > second ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static void end_row(struct gpumon_profile *profile, struct gpumon_device_growing *growing)
{
	growing->row.busy_ns = growing->busy.busy_ns;
	growing->row.idle_longest_ns = growing->busy.idle_longest_ns;
	growing->row.missed_ns += growing->busy.missed_ns;
	growing->row.bins = growing->bins;
	/* A stream on which nothing ran in the part that is shown has no row. */
	if (growing->row.stream == STREAMS_ALL || growing->row.count || growing->row.last_ns ||
	    !gpumon_profile_is_part(profile))
		profile->device_rows[profile->device_count++] = growing->row;
	gpumon_busy_clear(&growing->busy);
}

void gpumon_devices_end(struct gpumon_profile *profile)
{
	profile->device_rows =
		gpumon_calloc((size_t)profile->device_keys.used + profile->gpu_count + 1,
			      sizeof(*profile->device_rows));
	read_gpus(profile);
	for (uint32_t i = 0; i < profile->device_keys.used; i++) {
		struct gpumon_device_growing *growing = profile->devices[i];
		bool all = growing->row.stream == STREAMS_ALL;

		if (!(all && growing->row.part))
			gpumon_busy_end(&growing->busy, profile->last_ns, all ? add_gap : NULL,
					growing);
		end_row(profile, growing);
	}
	for (uint32_t i = 0; i < profile->gpu_count; i++) {
		if (profile->gpus[i].whole.row.users)
			end_row(profile, &profile->gpus[i].whole);
	}
	qsort(profile->device_rows, profile->device_count, sizeof(*profile->device_rows), by_place);
	qsort(profile->gaps, profile->gap_count, sizeof(*profile->gaps), by_length);
}

/* --- what was done in the gaps */

static int by_span(const void *a, const void *b)
{
	const struct gpumon_window *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static uint64_t overlap_ns(const struct gpumon_gap *gap, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t start = start_ns > gap->start_ns ? start_ns : gap->start_ns;
	uint64_t end = end_ns < gap->end_ns ? end_ns : gap->end_ns;

	return end > start ? end - start : 0;
}

/* The gaps are the longest ones: they cover little of the time, and few calls have a part in them. */
static void find_spans(struct gpumon_profile *profile)
{
	struct gpumon_window *spans = profile->gap_spans;
	unsigned int used = 0;

	for (unsigned int i = 0; i < profile->gap_count; i++)
		spans[i] = (struct gpumon_window){ profile->gaps[i].start_ns,
						   profile->gaps[i].end_ns };
	qsort(spans, profile->gap_count, sizeof(*spans), by_span);
	for (unsigned int i = 0; i < profile->gap_count; i++) {
		if (used && spans[i].start_ns <= spans[used - 1].end_ns) {
			if (spans[i].end_ns > spans[used - 1].end_ns)
				spans[used - 1].end_ns = spans[i].end_ns;
		} else {
			spans[used++] = spans[i];
		}
	}
	profile->gap_span_count = used;
}

static bool overlaps_gap(const struct gpumon_profile *profile, uint64_t start_ns, uint64_t end_ns)
{
	unsigned int low = 0, high = profile->gap_span_count;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (profile->gap_spans[middle].end_ns <= start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < profile->gap_span_count && profile->gap_spans[low].start_ns < end_ns;
}

/* The first of a process's devices that are this GPU, in the order of its users. */
static uint32_t first_user(const struct gpumon_gpu_growing *gpu, uint32_t process)
{
	uint32_t low = 0, high = gpu->user_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (gpu->users[middle]->row.process < process)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether a thread of the process launches work on the GPU. With tid 0 the thread is unknown. */
static bool launches_work(struct gpumon_profile *profile, const struct gpumon_gap *gap,
			  uint32_t process, uint32_t tid)
{
	const struct gpumon_gpu_growing *gpu = &profile->gpus[gap->gpu];

	for (uint32_t i = first_user(gpu, process);
	     i < gpu->user_count && gpu->users[i]->row.process == process; i++) {
		const struct gpumon_key key = { { process, gpu->users[i]->row.device, tid } };

		if (!tid || gpumon_keys_number(&profile->launchers, &key, NULL) != GPUMON_KEY_NONE)
			return true;
	}
	return false;
}

/* Whether the process is the one that uses the GPU, or one of several. */
static bool uses_gpu(const struct gpumon_gap *gap, uint32_t process)
{
	return gap->process == process || gap->process == GPUMON_PROCESS_SEVERAL;
}

static const char *call_name(struct gpumon_profile *profile, uint32_t process, uint32_t function)
{
	const char *name =
		gpumon_tables_string(&profile->captures.tables.processes[process], function);
	size_t length = name ? strlen(name) : 0;

	if (name)
		name = gpumon_function_base(name, &length);
	return name ? gpumon_pool_part(&profile->pool, name, length) : NULL;
}

/* Add a call: @name, or @function to be looked up if needed. @gpu: its number + 1, 0: any. */
static void add_call(struct gpumon_profile *profile, uint32_t process, uint32_t tid, uint32_t gpu,
		     uint64_t start_ns, uint64_t end_ns, uint32_t function, const char *name)
{
	if (!overlaps_gap(profile, start_ns, end_ns))
		return;
	for (unsigned int i = 0; i < profile->gap_count; i++) {
		const struct gpumon_gap *gap = &profile->gaps[i];
		uint64_t ns = overlap_ns(gap, start_ns, end_ns);

		if (ns <= profile->doing[i].call_ns || !uses_gpu(gap, process) ||
		    (gpu && gpu - 1 != gap->gpu) || !launches_work(profile, gap, process, tid))
			continue;
		if (!name)
			name = call_name(profile, process, function);
		if (!name)
			return;
		profile->doing[i].call = name;
		profile->doing[i].call_ns = ns;
		profile->doing[i].caller = process;
	}
}

static void on_range(void *data, const struct gpumon_range_ended *ended)
{
	uint64_t start_ns = ended->open->time_ns, end_ns = ended->end_ns;
	struct gpumon_profile *profile = data;

	for (unsigned int i = 0; i < profile->gap_count; i++) {
		const struct gpumon_gap *gap = &profile->gaps[i];
		struct gpumon_gap_doing *doing = &profile->doing[i];
		uint64_t ns = uses_gpu(gap, ended->process) ? overlap_ns(gap, start_ns, end_ns) : 0;

		/* Of several ranges that cover the gap, the innermost says most. */
		if (!ns || ns < doing->range_ns ||
		    (ns == doing->range_ns && start_ns < doing->range_start_ns) ||
		    !launches_work(profile, gap, ended->process, ended->tid))
			continue;
		doing->range_process = ended->process;
		doing->range = ended->row->text;
		doing->range_ns = ns;
		doing->range_start_ns = start_ns;
	}
}

/* The number + 1 of a GPU by the id + 1 of a device; 0 if one of them is unknown. */
static uint32_t gpu_of(struct gpumon_profile *profile, uint32_t process, uint64_t device)
{
	const struct gpumon_device_growing *found =
		device ? gpumon_devices_find(profile, process, (uint32_t)device - 1) : NULL;

	/* A device on which nothing ran has no gaps. */
	return found ? found->row.gpu + 1 : device ? UINT32_MAX : 0;
}

/* What the third pass is about. */
struct doing_pass {
	struct gpumon_profile *profile;
	struct gpumon_ranges ranges;
};

static void on_gap_record(void *data, uint32_t number, const struct gpumon_record *record)
{
	struct doing_pass *pass = data;
	struct gpumon_profile *profile = pass->profile;
	union {
		struct gpumon_record_launch launch;
		struct gpumon_record_call call;
		struct gpumon_record_hit hit;
		struct gpumon_record_sync sync;
	} of;

#define COPY(member) gpumon_record_copy(&of.member, sizeof(of.member), record)
	if (gpumon_captures_is_driver(number))
		return;
	switch (record->type) {
	case GPUMON_RECORD_LAUNCH:
		COPY(launch);
		add_call(profile, number, of.launch.tid, 0, of.launch.start_ns, of.launch.end_ns,
			 of.launch.function, NULL);
		return;
	case GPUMON_RECORD_CALL:
		COPY(call);
		add_call(profile, number, of.call.tid, 0, of.call.start_ns, of.call.end_ns,
			 of.call.function, NULL);
		return;
	case GPUMON_RECORD_HIT:
		COPY(hit);
		if (of.hit.duration_ns)
			add_call(profile, number, of.hit.tid, 0, of.hit.time_ns,
				 of.hit.time_ns + of.hit.duration_ns, of.hit.function, NULL);
		return;
	case GPUMON_RECORD_SYNC: {
		const struct gpumon_tables_process *process =
			&profile->captures.tables.processes[number];
		uint64_t device;

		COPY(sync);
		device = gpumon_map_get(&process->contexts, of.sync.context);
		if (of.sync.kind < sizeof(sync_names) / sizeof(sync_names[0]))
			add_call(profile, number, 0, gpu_of(profile, number, device),
				 of.sync.start_ns, of.sync.end_ns, 0, sync_names[of.sync.kind]);
		return;
	}
	case GPUMON_RECORD_RANGE:
		gpumon_ranges_record(&pass->ranges, number,
				     &profile->captures.tables.processes[number], record);
		return;
	default:
		return;
	}
#undef COPY
}

static void end_gaps(struct gpumon_profile *profile)
{
	for (unsigned int i = 0; i < profile->gap_count; i++) {
		const struct gpumon_gap_doing *doing = &profile->doing[i];
		struct gpumon_gap *gap = &profile->gaps[i];
		uint64_t half = length_of(gap) / 2;

		/* A call says more than a range around it, if most of the time went into it. */
		if (doing->call && (doing->call_ns >= half || doing->call_ns >= doing->range_ns)) {
			gap->doing = doing->call;
			gap->doer = doing->caller;
		} else if (doing->range) {
			gap->doing = doing->range;
			gap->doer = doing->range_process;
		}
		if (gap->process == GPUMON_PROCESS_SEVERAL && *gap->doing) {
			const struct gpumon_gpu_growing *gpu = &profile->gpus[gap->gpu];

			gap->device = gpu->users[first_user(gpu, gap->doer)]->row.device;
		}
	}
}

void gpumon_gaps_read(struct gpumon_profile *profile)
{
	struct doing_pass doing = {
		.profile = profile,
		.ranges = { .pool = &profile->pool, .ended = on_range, .data = profile },
	};
	const struct gpumon_captures_pass pass = { .record = on_gap_record, .data = &doing };

	if (!profile->gap_count)
		return;
	find_spans(profile);
	gpumon_captures_read(&profile->captures, &pass);
	end_gaps(profile);
	gpumon_ranges_clear(&doing.ranges);
}

/* --- GPUs */

/*
 * GPUs as such: which devices of processes are one, and when it was busy.
 *
 * Its busy time is the union of what its users' operations took. A capture has the processes one
 * beside the other, in any order of time. So each process of such a GPU is read once more, and only
 * as far as the one that is furthest behind in time needs: memory does not depend on the length.
 */

static bool is_device(const struct gpumon_device_growing *growing)
{
	return growing->row.stream == ~0u;
}

static int by_process(const void *a, const void *b)
{
	const struct gpumon_device_row *x = &(*(struct gpumon_device_growing *const *)a)->row;
	const struct gpumon_device_row *y = &(*(struct gpumon_device_growing *const *)b)->row;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->device < y->device ? -1 : x->device > y->device;
}

static struct gpumon_gpu identity_of(const struct gpumon_profile *profile,
				     const struct gpumon_device_row *row)
{
	const struct gpumon_tables_process *process =
		&profile->captures.tables.processes[row->process];

	return gpumon_gpu_of(row->device, gpumon_tables_device(process, row->device),
			     process->record.boot_id, row->host);
}

static void add_user(struct gpumon_profile *profile, struct gpumon_device_growing *device)
{
	struct gpumon_gpu identity = identity_of(profile, &device->row);
	struct gpumon_device_growing **user;
	struct gpumon_gpu_growing *gpu;
	uint32_t number = 0;

	while (number < profile->gpu_count &&
	       !gpumon_gpu_same(&profile->gpus[number].identity, &identity))
		number++;
	if (number == profile->gpu_count) {
		gpu = GPUMON_ARRAY_ADD(profile->gpus, profile->gpu_count, profile->gpus_room);
		gpu->identity = identity;
	}
	gpu = &profile->gpus[number];
	user = GPUMON_ARRAY_ADD(gpu->users, gpu->user_count, gpu->users_room);
	*user = device;
	device->row.gpu = number;
}

/* A number is not enough where two GPUs have it, each in its own process. */
static void name_gpu(struct gpumon_profile *profile, uint32_t number)
{
	struct gpumon_gpu_growing *gpu = &profile->gpus[number];
	const struct gpumon_device_row *row = &gpu->users[0]->row;
	char text[GPUMON_DEVICE_TEXT], name[GPUMON_DEVICE_TEXT + 16];
	bool shared_number = false;

	gpumon_device_text(text, row->device, row->type);
	for (uint32_t i = 0; i < profile->gpu_count; i++) {
		const struct gpumon_device_row *other = &profile->gpus[i].users[0]->row;

		shared_number |= i != number && other->device == row->device &&
				 other->type == row->type && strcmp(other->uuid, row->uuid) != 0;
	}
	snprintf(name, sizeof(name), "%s%s%.8s", text, shared_number && *row->uuid ? " " : "",
		 shared_number ? row->uuid : "");
	gpu->text = gpumon_pool_text(&profile->pool, name);
}

/* Windows of its users, and what began in one of them and has not ended. */
static void begin_whole(struct gpumon_profile *profile, struct gpumon_gpu_growing *gpu)
{
	const struct gpumon_windows **windows = gpumon_calloc(gpu->user_count, sizeof(*windows));
	uint64_t count;

	for (uint32_t i = 0; i < gpu->user_count; i++) {
		const struct gpumon_busy *busy = &gpu->users[i]->busy;

		windows[i] =
			&profile->captures.tables.processes[gpu->users[i]->row.process].windows;
		for (uint32_t k = 0; k < busy->unended_used; k++)
			gpumon_busy_unended(&gpu->whole.busy, busy->unended[k].start_ns,
					    busy->unended[k].origin);
	}
	gpumon_windows_join(&gpu->any, windows, gpu->user_count, true);
	gpumon_windows_join(&gpu->recorded, windows, gpu->user_count, false);
	free(windows);
	gpu->whole.row.elapsed_ns =
		gpumon_windows_ns(&gpu->any, profile->from_ns, profile->until_ns, &count);
	if (gpu->recorded.sampled)
		gpu->whole.busy.windows = &gpu->recorded;
	gpu->whole.busy.from_ns = profile->options.from_ns;
	gpu->whole.busy.until_ns = profile->options.until_ns;
	gpumon_busy_turn(&gpu->whole.busy, profile->first_ns);
	begin_bins(&gpu->whole);
}

static void describe_gpu(struct gpumon_profile *profile, uint32_t number)
{
	struct gpumon_gpu_growing *gpu = &profile->gpus[number];

	name_gpu(profile, number);
	for (uint32_t i = 0; i < gpu->user_count; i++)
		gpu->users[i]->row.part = gpu->user_count > 1;
	if (gpu->user_count < 2)
		return;
	gpu->whole.profile = profile;
	gpu->whole.row = gpu->users[0]->row;
	gpu->whole.row.process = GPUMON_PROCESS_SEVERAL;
	gpu->whole.row.context = number;
	gpu->whole.row.users = gpu->user_count;
	gpu->whole.row.part = false;
	begin_whole(profile, gpu);
}

static void find_gpus(struct gpumon_profile *profile)
{
	struct gpumon_device_growing **devices;
	uint32_t count = 0;

	devices = gpumon_calloc((size_t)profile->device_keys.used + 1, sizeof(*devices));
	for (uint32_t i = 0; i < profile->device_keys.used; i++) {
		if (is_device(profile->devices[i]))
			devices[count++] = profile->devices[i];
	}
	qsort(devices, count, sizeof(*devices), by_process);
	for (uint32_t i = 0; i < count; i++)
		add_user(profile, devices[i]);
	free(devices);
	for (uint32_t i = 0; i < profile->gpu_count; i++)
		describe_gpu(profile, i);
	for (uint32_t i = 0; i < profile->device_keys.used; i++) {
		struct gpumon_device_row *row = &profile->devices[i]->row;
		const struct gpumon_device_growing *of =
			gpumon_devices_find(profile, row->process, row->device);

		row->gpu = of->row.gpu;
		row->part = of->row.part;
		row->text = profile->gpus[row->gpu].text;
		if (profile->gpus[row->gpu].whole.row.users)
			profile->gpus[row->gpu].whole.row.text = row->text;
	}
}

/* --- reading */

/**
 * struct user - a user of the GPU that is read
 * @device: its row
 * @capture: capture of its process
 * @process: number of the process in it
 * @at: when it was busy, from @first on, as far as it is read
 * @ended: it is read to its end
 */
struct user {
	struct gpumon_device_growing *device;
	struct gpumon_capture *capture;
	uint32_t process;
	struct gpumon_interval *at;
	uint32_t first;
	uint32_t used;
	uint32_t room;
	bool ended;
};

static void on_ran(void *data, uint64_t start_ns, uint64_t end_ns, uint64_t origin)
{
	struct user *user = data;

	on_busy(user->device, start_ns, end_ns, origin);
	GPUMON_QUEUE_ROOM(user->at, user->first, user->used, user->room);
	user->at[user->first + user->used++] = (struct gpumon_interval){ start_ns, end_ns, origin };
}

/* Read on until it is known when it was busy next, or that it was not. */
static void read_user(struct user *user)
{
	struct gpumon_busy *busy = &user->device->busy;
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;
	struct gpumon_work_fields fields;
	struct gpumon_interval interval;

	while (!user->used && !user->ended) {
		if (!gpumon_capture_chunk(user->capture, user->process)) {
			user->ended = true;
			gpumon_busy_end(busy, user->device->profile->last_ns, NULL, NULL);
		}
		while (!user->ended &&
		       (record = gpumon_capture_next_here(user->capture, &cursor))) {
			if (gpumon_work_fields(record, &fields) && fields.valid &&
			    fields.device == user->device->row.device) {
				interval = interval_of(user->device->row.process, record, &fields);
				gpumon_busy_add(busy, &interval, NULL, NULL);
			}
		}
	}
}

static bool is_before(const struct user *a, const struct user *b)
{
	return b->used == 0 || (a->used && a->at[a->first].start_ns < b->at[b->first].start_ns);
}

/* @users is a heap but for the element @at, which may be later than those below it. */
static void sink(struct user **users, uint32_t count, uint32_t at)
{
	for (;;) {
		uint32_t least = at;

		for (uint32_t below = 2 * at + 1; below < count && below <= 2 * at + 2; below++) {
			if (is_before(users[below], users[least]))
				least = below;
		}
		if (least == at)
			return;
		struct user *user = users[at];

		users[at] = users[least];
		users[least] = user;
		at = least;
	}
}

static void sum_users(struct gpumon_gpu_growing *gpu)
{
	struct gpumon_device_row *to = &gpu->whole.row;

	for (uint32_t i = 0; i < gpu->user_count; i++) {
		const struct gpumon_device_growing *user = gpu->users[i];

		to->count += user->row.count;
		to->gpu_ns += user->row.gpu_ns;
		to->missed_ns += user->busy.missed_ns;
		if (user->row.first_ns && (!to->first_ns || user->row.first_ns < to->first_ns))
			to->first_ns = user->row.first_ns;
		if (user->row.last_ns > to->last_ns)
			to->last_ns = user->row.last_ns;
	}
}

/* Take what each was busy with in the order of time. */
static void join_users(struct gpumon_gpu_growing *gpu, struct user *users, struct user **heap)
{
	struct gpumon_busy *busy = &gpu->whole.busy;

	for (uint32_t i = 0; i < gpu->user_count; i++) {
		heap[i] = &users[i];
		read_user(&users[i]);
	}
	for (uint32_t i = gpu->user_count; i--;)
		sink(heap, gpu->user_count, i);
	while (heap[0]->used) {
		struct user *first = heap[0];
		struct gpumon_interval interval = first->at[first->first++];

		first->used--;
		gpumon_busy_add(busy, &interval, add_gap, &gpu->whole);
		read_user(first);
		sink(heap, gpu->user_count, 0);
	}
	gpumon_busy_end(busy, gpu->whole.profile->last_ns, add_gap, &gpu->whole);
}

static void read_gpu(struct gpumon_profile *profile, struct gpumon_gpu_growing *gpu)
{
	struct user *users = gpumon_calloc(gpu->user_count, sizeof(*users));
	struct user **heap = gpumon_calloc(gpu->user_count, sizeof(*heap));

	for (unsigned int i = 0; i < profile->captures.count; i++)
		gpumon_capture_rewind(profile->captures.at[i]);
	for (uint32_t i = 0; i < gpu->user_count; i++) {
		struct gpumon_device_growing *device = gpu->users[i];
		uint32_t capture = profile->captures.tables.processes[device->row.process].capture;

		users[i].device = device;
		users[i].capture = profile->captures.at[capture];
		users[i].process = device->row.process - profile->captures.first[capture];
		device->busy.ran = on_ran;
		device->busy.ran_data = &users[i];
	}
	join_users(gpu, users, heap);
	sum_users(gpu);
	for (uint32_t i = 0; i < gpu->user_count; i++)
		free(users[i].at);
	free(users);
	free(heap);
}

static void read_gpus(struct gpumon_profile *profile)
{
	for (uint32_t i = 0; i < profile->gpu_count; i++) {
		if (profile->gpus[i].user_count > 1)
			read_gpu(profile, &profile->gpus[i]);
	}
}

const struct gpumon_windows *gpumon_profile_windows(const struct gpumon_profile *profile,
						    const struct gpumon_device_row *row)
{
	return row->users ? &profile->gpus[row->gpu].any : &profile->windows[row->process];
}

void gpumon_gpus_clear(struct gpumon_profile *profile)
{
	for (uint32_t i = 0; i < profile->gpu_count; i++) {
		struct gpumon_gpu_growing *gpu = &profile->gpus[i];

		gpumon_busy_clear(&gpu->whole.busy);
		gpumon_windows_clear(&gpu->any);
		gpumon_windows_clear(&gpu->recorded);
		free(gpu->whole.bins.busy_ns);
		free(gpu->users);
	}
	free(profile->gpus);
}
