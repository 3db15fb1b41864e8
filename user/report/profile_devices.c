// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Busy times of devices and streams, idle times of devices, and what the program did meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

	if (!slot || *slot)
		return slot ? *slot : NULL;
	growing = gpumon_pool_zalloc(&profile->pool, sizeof(*growing));
	if (!growing)
		return NULL;
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

int gpumon_devices_look(struct gpumon_profile *profile, uint32_t number,
			const struct gpumon_record *record)
{
	struct gpumon_device_growing *of_device, *of_stream;
	struct gpumon_work_fields fields;

	if (!gpumon_work_fields(record, &fields))
		return 0;
	of_device = find_device(profile, number, fields.device, 0, STREAMS_ALL);
	of_stream = find_device(profile, number, fields.device, fields.context, fields.stream);
	if (!of_device || !of_stream)
		return -1;
	if (fields.unended && (gpumon_busy_unended(&of_device->busy, fields.start_ns) ||
			       gpumon_busy_unended(&of_stream->busy, fields.start_ns)))
		return -1;
	if (!fields.valid)
		return 0;
	return gpumon_busy_look(&of_device->busy, fields.start_ns, fields.end_ns) ||
			       gpumon_busy_look(&of_stream->busy, fields.start_ns, fields.end_ns) ?
		       -1 :
		       0;
}

static void describe_device(struct gpumon_profile *profile, struct gpumon_device_row *row);

int gpumon_devices_turn(struct gpumon_profile *profile)
{
	for (uint32_t i = 0; i < profile->device_keys.used; i++) {
		struct gpumon_device_growing *growing = profile->devices[i];
		const struct gpumon_windows *windows =
			&profile->tables.processes[growing->row.process].windows;
		uint64_t count;

		growing->row.elapsed_ns =
			gpumon_windows_ns(windows, profile->first_ns, profile->last_ns, &count);
		if (windows->sampled)
			growing->busy.windows = windows;
		gpumon_busy_turn(&growing->busy, profile->first_ns);
		describe_device(profile, &growing->row);
	}
	return gpumon_gpus_find(profile);
}

static uint64_t length_of(const struct gpumon_gap *gap)
{
	return gap->end_ns - gap->start_ns;
}

/* They are unsorted until the end. */
void gpumon_devices_gap(void *data, uint64_t start_ns, uint64_t end_ns)
{
	const struct gpumon_device_growing *device = data;
	struct gpumon_profile *profile = device->profile;
	struct gpumon_gap *gap = profile->gaps;
	uint64_t shortest_ns = ~0ull;

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

static void count_work(struct gpumon_device_row *row, const struct gpumon_work_fields *fields)
{
	row->count++;
	if (!fields->valid)
		return;
	row->gpu_ns += fields->end_ns - fields->start_ns;
	if (!row->first_ns || fields->start_ns < row->first_ns)
		row->first_ns = fields->start_ns;
	if (fields->end_ns > row->last_ns)
		row->last_ns = fields->end_ns;
}

int gpumon_devices_add(struct gpumon_profile *profile, uint32_t number,
		       const struct gpumon_record *record)
{
	struct gpumon_device_growing *of_device, *of_stream;
	struct gpumon_work_fields fields;

	if (!gpumon_work_fields(record, &fields))
		return 0;
	of_device = find_device(profile, number, fields.device, 0, STREAMS_ALL);
	of_stream = find_device(profile, number, fields.device, fields.context, fields.stream);
	if (!of_device || !of_stream)
		return -1;
	count_work(&of_device->row, &fields);
	count_work(&of_stream->row, &fields);
	if (!fields.valid)
		return 0;
	/* That of a GPU which several use is counted in the order of time, in a later pass. */
	if (!of_device->row.part && gpumon_busy_add(&of_device->busy, fields.start_ns,
						    fields.end_ns, gpumon_devices_gap, of_device))
		return -1;
	return gpumon_busy_add(&of_stream->busy, fields.start_ns, fields.end_ns, NULL, NULL);
}

static void format_uuid(char *text, size_t size, const uint8_t *uuid)
{
	snprintf(text, size, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 uuid[0], uuid[1], uuid[2], uuid[3], uuid[4], uuid[5], uuid[6], uuid[7], uuid[8],
		 uuid[9], uuid[10], uuid[11], uuid[12], uuid[13], uuid[14], uuid[15]);
}

const char *gpumon_api_name(uint32_t id)
{
	static const char *const names[GPUMON_APIS] = {
		[GPUMON_API_CUDA] = "CUDA",
		[GPUMON_API_OPENCL] = "OpenCL",
		[GPUMON_API_LEVEL_ZERO] = "Level Zero",
		[GPUMON_API_HIP] = "HIP",
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
	static const uint8_t none[16];
	const struct gpumon_tables_process *process = &profile->tables.processes[row->process];
	const struct gpumon_record_device *device = gpumon_tables_device(process, row->device);
	const char *host = gpumon_tables_string(process, process->record.host);
	const char *name = device ? gpumon_tables_string(process, device->name) : NULL;
	const struct gpumon_capture_info *info =
		gpumon_capture_info(profile->captures[process->capture]);

	row->host = host ? host : gpumon_pool_text(&profile->pool, info->host);
	row->host = row->host ? row->host : "";
	row->name = name ? name : "";
	row->type = device ? device->type : GPUMON_DEVICE_GPU;
	if (device && memcmp(device->mig_uuid, none, sizeof(none)) != 0)
		format_uuid(row->uuid, sizeof(row->uuid), device->mig_uuid);
	else if (device && memcmp(device->uuid, none, sizeof(none)) != 0)
		format_uuid(row->uuid, sizeof(row->uuid), device->uuid);
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
	profile->device_rows[profile->device_count++] = growing->row;
	gpumon_busy_clear(&growing->busy);
}

int gpumon_devices_end(struct gpumon_profile *profile)
{
	profile->device_rows = calloc(profile->device_keys.used + profile->gpu_count + 1,
				      sizeof(*profile->device_rows));
	if (!profile->device_rows || gpumon_gpus_read(profile))
		return -1;
	for (uint32_t i = 0; i < profile->device_keys.used; i++) {
		struct gpumon_device_growing *growing = profile->devices[i];
		bool all = growing->row.stream == STREAMS_ALL;

		if (!(all && growing->row.part) &&
		    gpumon_busy_end(&growing->busy, profile->last_ns,
				    all ? gpumon_devices_gap : NULL, growing))
			return -1;
		end_row(profile, growing);
	}
	for (uint32_t i = 0; i < profile->gpu_count; i++) {
		if (profile->gpus[i].whole.row.users)
			end_row(profile, &profile->gpus[i].whole);
	}
	qsort(profile->device_rows, profile->device_count, sizeof(*profile->device_rows), by_place);
	qsort(profile->gaps, profile->gap_count, sizeof(*profile->gaps), by_length);
	return 0;
}

/* --- what was done in the gaps */

static uint64_t overlap_ns(const struct gpumon_gap *gap, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t start = start_ns > gap->start_ns ? start_ns : gap->start_ns;
	uint64_t end = end_ns < gap->end_ns ? end_ns : gap->end_ns;

	return end > start ? end - start : 0;
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
	const char *name = gpumon_tables_string(&profile->tables.processes[process], function);
	size_t length = name ? strlen(name) : 0;

	if (name)
		name = gpumon_function_base(name, &length);
	return name ? gpumon_pool_part(&profile->pool, name, length) : NULL;
}

/* Add a call: @name, or @function to be looked up if needed. @gpu: its number + 1, 0: any. */
static void add_call(struct gpumon_profile *profile, uint32_t process, uint32_t tid, uint32_t gpu,
		     uint64_t start_ns, uint64_t end_ns, uint32_t function, const char *name)
{
	for (unsigned int i = 0; i < profile->gap_count; i++) {
		const struct gpumon_gap *gap = &profile->gaps[i];
		uint64_t ns = uses_gpu(gap, process) ? overlap_ns(gap, start_ns, end_ns) : 0;

		if (ns <= profile->doing[i].call_ns || (gpu && gpu - 1 != gap->gpu) ||
		    !launches_work(profile, gap, process, tid))
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

static void on_range(void *data, uint32_t process, uint32_t tid, uint64_t start_ns, uint64_t end_ns,
		     const char *text)
{
	struct gpumon_profile *profile = data;

	for (unsigned int i = 0; i < profile->gap_count; i++) {
		const struct gpumon_gap *gap = &profile->gaps[i];
		struct gpumon_gap_doing *doing = &profile->doing[i];
		uint64_t ns = uses_gpu(gap, process) ? overlap_ns(gap, start_ns, end_ns) : 0;

		/* Of several ranges that cover the gap, the innermost says most. */
		if (!ns || ns < doing->range_ns ||
		    (ns == doing->range_ns && start_ns < doing->range_start_ns) ||
		    !launches_work(profile, gap, process, tid))
			continue;
		doing->range_process = process;
		doing->range = text;
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

int gpumon_gaps_begin(struct gpumon_profile *profile, struct gpumon_ranges *ranges)
{
	*ranges = (struct gpumon_ranges){
		.pool = &profile->pool,
		.ended = on_range,
		.data = profile,
	};
	return 0;
}

int gpumon_gaps_record(struct gpumon_profile *profile, struct gpumon_ranges *ranges,
		       uint32_t number, const struct gpumon_record *record)
{
	union {
		struct gpumon_record_launch launch;
		struct gpumon_record_call call;
		struct gpumon_record_hit hit;
		struct gpumon_record_sync sync;
	} of;

#define COPY(member) gpumon_record_copy(&of.member, sizeof(of.member), record)
	switch (record->type) {
	case GPUMON_RECORD_LAUNCH:
		COPY(launch);
		add_call(profile, number, of.launch.tid, 0, of.launch.start_ns, of.launch.end_ns,
			 of.launch.function, NULL);
		return 0;
	case GPUMON_RECORD_CALL:
		COPY(call);
		add_call(profile, number, of.call.tid, 0, of.call.start_ns, of.call.end_ns,
			 of.call.function, NULL);
		return 0;
	case GPUMON_RECORD_HIT:
		COPY(hit);
		if (of.hit.duration_ns)
			add_call(profile, number, of.hit.tid, 0, of.hit.time_ns,
				 of.hit.time_ns + of.hit.duration_ns, of.hit.function, NULL);
		return 0;
	case GPUMON_RECORD_SYNC: {
		const struct gpumon_tables_process *process = &profile->tables.processes[number];
		uint64_t device;

		COPY(sync);
		device = gpumon_map_get(&process->contexts, of.sync.context);
		if (of.sync.kind < sizeof(sync_names) / sizeof(sync_names[0]))
			add_call(profile, number, 0, gpu_of(profile, number, device),
				 of.sync.start_ns, of.sync.end_ns, 0, sync_names[of.sync.kind]);
		return 0;
	}
	case GPUMON_RECORD_RANGE:
		return gpumon_ranges_record(ranges, number, &profile->tables.processes[number],
					    record);
	default:
		return 0;
	}
#undef COPY
}

void gpumon_gaps_end(struct gpumon_profile *profile, struct gpumon_ranges *ranges)
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
	gpumon_ranges_clear(ranges);
}
