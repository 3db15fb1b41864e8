// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * GPUs as such: which devices of processes are one, and when it was busy.
 *
 * Its busy time is the union of what its users' operations took. A capture has the processes one
 * beside the other, in any order of time. So each process of such a GPU is read once more, and only
 * as far as the one that is furthest behind in time needs: memory does not depend on the length.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "profile_internal.h"

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
	const struct gpumon_tables_process *process = &profile->tables.processes[row->process];

	return gpumon_gpu_of(row->device, gpumon_tables_device(process, row->device),
			     process->record.boot_id, row->host);
}

static int add_user(struct gpumon_profile *profile, struct gpumon_device_growing *device)
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
		if (!gpu)
			return -1;
		gpu->identity = identity;
	}
	gpu = &profile->gpus[number];
	user = GPUMON_ARRAY_ADD(gpu->users, gpu->user_count, gpu->users_room);
	if (!user)
		return -1;
	*user = device;
	device->row.gpu = number;
	return 0;
}

/* A number is not enough where two GPUs have it, each in its own process. */
static int name_gpu(struct gpumon_profile *profile, uint32_t number)
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
	return gpu->text ? 0 : -1;
}

/* Windows of its users, and what began in one of them and has not ended. */
static int begin_whole(struct gpumon_profile *profile, struct gpumon_gpu_growing *gpu)
{
	const struct gpumon_windows **windows = calloc(gpu->user_count, sizeof(*windows));
	uint64_t count;
	int ret = windows ? 0 : -1;

	for (uint32_t i = 0; i < gpu->user_count && !ret; i++) {
		const struct gpumon_busy *busy = &gpu->users[i]->busy;

		windows[i] = &profile->tables.processes[gpu->users[i]->row.process].windows;
		for (uint32_t k = 0; k < busy->unended_used && !ret; k++)
			ret = gpumon_busy_unended(&gpu->whole.busy, busy->unended[k]);
	}
	if (!ret)
		ret = gpumon_windows_join(&gpu->any, windows, gpu->user_count, true) ||
				      gpumon_windows_join(&gpu->recorded, windows, gpu->user_count,
							  false) ?
			      -1 :
			      0;
	free(windows);
	if (ret)
		return -1;
	gpu->whole.row.elapsed_ns =
		gpumon_windows_ns(&gpu->any, profile->first_ns, profile->last_ns, &count);
	if (gpu->recorded.sampled)
		gpu->whole.busy.windows = &gpu->recorded;
	gpumon_busy_turn(&gpu->whole.busy, profile->first_ns);
	return 0;
}

static int describe_gpu(struct gpumon_profile *profile, uint32_t number)
{
	struct gpumon_gpu_growing *gpu = &profile->gpus[number];

	if (name_gpu(profile, number))
		return -1;
	for (uint32_t i = 0; i < gpu->user_count; i++)
		gpu->users[i]->row.part = gpu->user_count > 1;
	if (gpu->user_count < 2)
		return 0;
	gpu->whole.profile = profile;
	gpu->whole.row = gpu->users[0]->row;
	gpu->whole.row.process = GPUMON_PROCESS_SEVERAL;
	gpu->whole.row.context = number;
	gpu->whole.row.users = gpu->user_count;
	gpu->whole.row.part = false;
	return begin_whole(profile, gpu);
}

int gpumon_gpus_find(struct gpumon_profile *profile)
{
	struct gpumon_device_growing **devices;
	uint32_t count = 0;
	int ret = 0;

	devices = calloc(profile->device_keys.used + 1, sizeof(*devices));
	if (!devices)
		return -1;
	for (uint32_t i = 0; i < profile->device_keys.used; i++) {
		if (is_device(profile->devices[i]))
			devices[count++] = profile->devices[i];
	}
	qsort(devices, count, sizeof(*devices), by_process);
	for (uint32_t i = 0; i < count && !ret; i++)
		ret = add_user(profile, devices[i]);
	free(devices);
	for (uint32_t i = 0; i < profile->gpu_count && !ret; i++)
		ret = describe_gpu(profile, i);
	for (uint32_t i = 0; i < profile->device_keys.used && !ret; i++) {
		struct gpumon_device_row *row = &profile->devices[i]->row;
		const struct gpumon_device_growing *of =
			gpumon_devices_find(profile, row->process, row->device);

		row->gpu = of->row.gpu;
		row->part = of->row.part;
		row->text = profile->gpus[row->gpu].text;
		if (profile->gpus[row->gpu].whole.row.users)
			profile->gpus[row->gpu].whole.row.text = row->text;
	}
	return ret;
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
	bool failed;
};

static void on_ran(void *data, uint64_t start_ns, uint64_t end_ns)
{
	struct user *user = data;

	if (GPUMON_QUEUE_ROOM(user->at, user->first, user->used, user->room)) {
		user->failed = true;
		return;
	}
	user->at[user->first + user->used++] = (struct gpumon_interval){ start_ns, end_ns };
}

/* Read on until it is known when it was busy next, or that it was not. */
static int read_user(struct user *user)
{
	struct gpumon_busy *busy = &user->device->busy;
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;
	struct gpumon_work_fields fields;

	while (!user->used && !user->ended) {
		if (!gpumon_capture_chunk(user->capture, user->process)) {
			user->ended = true;
			if (gpumon_busy_end(busy, user->device->profile->last_ns, NULL, NULL))
				return -1;
		}
		while (!user->ended &&
		       (record = gpumon_capture_next_here(user->capture, &cursor))) {
			if (gpumon_work_fields(record, &fields) && fields.valid &&
			    fields.device == user->device->row.device &&
			    gpumon_busy_add(busy, fields.start_ns, fields.end_ns, NULL, NULL))
				return -1;
		}
		if (user->failed)
			return -1;
	}
	return 0;
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

/* The bins of a timeline, as gpumon_scan_load() makes them. */
static void fill_bins(void *data, uint64_t start_ns, uint64_t end_ns)
{
	struct gpumon_gpu_growing *gpu = data;
	const struct gpumon_profile *profile = gpu->whole.profile;
	uint64_t bin_ns = (profile->last_ns - profile->first_ns) / profile->options.bins + 1;

	start_ns = start_ns > profile->first_ns ? start_ns : profile->first_ns;
	while (start_ns < end_ns) {
		uint64_t bin = (start_ns - profile->first_ns) / bin_ns;
		uint64_t until_ns = profile->first_ns + (bin + 1) * bin_ns;

		if (bin >= profile->options.bins)
			return;
		until_ns = until_ns < end_ns ? until_ns : end_ns;
		gpu->bin_busy_ns[bin] += until_ns - start_ns;
		start_ns = until_ns;
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
static int join_users(struct gpumon_gpu_growing *gpu, struct user *users, struct user **heap)
{
	struct gpumon_busy *busy = &gpu->whole.busy;

	for (uint32_t i = 0; i < gpu->user_count; i++) {
		heap[i] = &users[i];
		if (read_user(&users[i]))
			return -1;
	}
	for (uint32_t i = gpu->user_count; i--;)
		sink(heap, gpu->user_count, i);
	while (heap[0]->used) {
		struct user *first = heap[0];
		struct gpumon_interval interval = first->at[first->first++];

		first->used--;
		if (gpumon_busy_add(busy, interval.start_ns, interval.end_ns, gpumon_devices_gap,
				    &gpu->whole) ||
		    read_user(first))
			return -1;
		sink(heap, gpu->user_count, 0);
	}
	return gpumon_busy_end(busy, gpu->whole.profile->last_ns, gpumon_devices_gap, &gpu->whole);
}

static int read_gpu(struct gpumon_profile *profile, struct gpumon_gpu_growing *gpu)
{
	struct user *users = calloc(gpu->user_count, sizeof(*users));
	struct user **heap = calloc(gpu->user_count, sizeof(*heap));
	int ret = users && heap ? 0 : -1;

	for (unsigned int i = 0; i < profile->capture_count; i++)
		gpumon_capture_rewind(profile->captures[i]);
	for (uint32_t i = 0; i < gpu->user_count && !ret; i++) {
		struct gpumon_device_growing *device = gpu->users[i];
		uint32_t capture = profile->tables.processes[device->row.process].capture;

		users[i].device = device;
		users[i].capture = profile->captures[capture];
		users[i].process = device->row.process - profile->numbers[capture];
		device->busy.ran = on_ran;
		device->busy.ran_data = &users[i];
	}
	/* A damaged capture can contain any times. */
	if (!ret && profile->options.bins && profile->last_ns > profile->first_ns &&
	    profile->last_ns - profile->first_ns < INT64_MAX) {
		gpu->bin_busy_ns = calloc(profile->options.bins, sizeof(*gpu->bin_busy_ns));
		gpu->whole.busy.ran = fill_bins;
		gpu->whole.busy.ran_data = gpu;
		gpu->whole.row.bin_busy_ns = gpu->bin_busy_ns;
		ret = gpu->bin_busy_ns ? 0 : -1;
	}
	if (!ret)
		ret = join_users(gpu, users, heap);
	sum_users(gpu);
	for (uint32_t i = 0; users && i < gpu->user_count; i++)
		free(users[i].at);
	free(users);
	free(heap);
	return ret;
}

int gpumon_gpus_read(struct gpumon_profile *profile)
{
	int ret = 0;

	for (uint32_t i = 0; i < profile->gpu_count && !ret; i++) {
		if (profile->gpus[i].user_count > 1)
			ret = read_gpu(profile, &profile->gpus[i]);
	}
	return ret;
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
		free(gpu->bin_busy_ns);
		free(gpu->users);
	}
	free(profile->gpus);
}
