// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The ranks of a profile: its collectives, and what the rank that began one last did meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "profile_internal.h"

/* Idle times that are kept to find out why a rank is late: parts of at least this length. */
#define RANK_IDLES_MAX (1u << 20)
#define RANK_IDLE_NS   5000u

/* --- adding */

/* NCCL's range around the launch says what the kernel does; of several in a group it does not. */
static enum gpumon_collective_kind range_kind(struct gpumon_profile *profile,
					      const struct gpumon_work *work)
{
	enum gpumon_collective_kind kind = GPUMON_COLLECTIVE_UNKNOWN;
	uint32_t path =
		gpumon_ranges_path(&profile->ranges, work->process, work->tid, work->launch_ns);
	const struct gpumon_range_row *range;

	while (kind == GPUMON_COLLECTIVE_UNKNOWN &&
	       (range = gpumon_ranges_next(&profile->ranges, &path)) &&
	       !strcmp(range->domain, "NCCL"))
		kind = gpumon_collective_of_range(range->text);
	return kind;
}

/* "SendRecv" kernels are used for all-to-alls, too. */
static enum gpumon_collective_kind kind_of(struct gpumon_profile *profile,
					   const struct gpumon_work *work, uint32_t row)
{
	enum gpumon_collective_kind by_name =
		gpumon_collective_of_kernel(profile->kernels[row].row.name);
	enum gpumon_collective_kind by_range = GPUMON_COLLECTIVE_UNKNOWN;

	if (by_name == GPUMON_COLLECTIVE_UNKNOWN || by_name == GPUMON_COLLECTIVE_SEND)
		by_range = range_kind(profile, work);
	return by_range == GPUMON_COLLECTIVE_UNKNOWN ? by_name : by_range;
}

void gpumon_ranks_add(struct gpumon_profile *profile, const struct gpumon_work *work,
		      struct gpumon_node *leaf, uint32_t row, bool shown)
{
	struct gpumon_work_fields fields;

	if (!gpumon_work_fields(&work->kernel->head, &fields) || !fields.valid)
		return;
	gpumon_collectives_add(&profile->collectives, &(struct gpumon_collective){
							      .start_ns = fields.start_ns,
							      .end_ns = fields.end_ns,
							      .leaf = leaf,
							      .process = work->process,
							      .device = fields.device,
							      .context = fields.context,
							      .stream = fields.stream,
							      .kernel = row,
							      .kind = kind_of(profile, work, row),
							      .shown = shown,
						      });
}

/* --- matching */

static uint32_t rank_of(void *data, uint32_t process)
{
	const struct gpumon_profile *profile = data;
	const struct gpumon_tables_process *of = &profile->captures.tables.processes[process];

	return of->has_record ? of->record.rank : ~0u;
}

/* Processes of one boot of a host have one clock. */
static uint32_t clock_of(void *data, uint32_t process)
{
	const struct gpumon_profile *profile = data;
	const struct gpumon_tables_process *processes = profile->captures.tables.processes;
	uint32_t first = 0;

	while (memcmp(processes[first].record.boot_id, processes[process].record.boot_id,
		      sizeof(processes[first].record.boot_id)) != 0)
		first++;
	return first;
}

static void on_collective(void *data, const struct gpumon_collective *collective,
			  uint64_t waiting_ns)
{
	struct gpumon_profile *profile = data;
	struct gpumon_kernel_row *row = &profile->kernels[collective->kernel].row;

	if (waiting_ns == GPUMON_NOT_SPLIT) {
		row->not_split++;
		return;
	}
	row->matched++;
	row->wait_ns += waiting_ns;
	if (collective->leaf)
		collective->leaf->wait_ns += waiting_ns;
}

static void match_collectives(struct gpumon_profile *profile)
{
	const struct gpumon_collectives_job job = {
		.rank = rank_of,
		.clock = clock_of,
		.kernel = on_collective,
		.data = profile,
	};

	gpumon_collectives_match(&profile->collectives, &job);
}

/* --- what the last rank did more than the first one */

/* Times of GPUs, in order, without overlaps: of one communicator. */
struct approach {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t process;
	uint32_t gpu;
};

struct approaches {
	struct approach *at;
	uint32_t used;
	uint32_t room;
	uint64_t busy_ns;
};

/* Of the rank that was late most: what it did before the others began with its collectives. */
struct late_pass {
	struct gpumon_profile *profile;
	struct approaches last;
	struct approaches first;
};

static uint32_t gpu_of(struct gpumon_profile *profile, uint32_t process, uint32_t device)
{
	const struct gpumon_device_growing *of = gpumon_devices_find(profile, process, device);

	return of ? of->row.gpu : ~0u;
}

static int by_gpu(const void *a, const void *b)
{
	const struct approach *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static void add_approach(struct gpumon_profile *profile, struct approaches *to,
			 const struct gpumon_approach *from)
{
	struct approach *approach = GPUMON_ARRAY_ADD(to->at, to->used, to->room);

	approach->start_ns = from->start_ns;
	approach->end_ns = from->end_ns;
	approach->process = from->process;
	approach->gpu = gpu_of(profile, from->process, from->device);
}

static void order_approaches(struct approaches *of)
{
	if (of->used)
		qsort(of->at, of->used, sizeof(*of->at), by_gpu);
}

/* How much of a time of a GPU they cover. */
static uint64_t covered_ns(const struct approaches *of, const struct approach *time)
{
	uint32_t low = 0, high = of->used;
	uint64_t ns = 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct approach *at = &of->at[middle];

		if (at->process < time->process ||
		    (at->process == time->process &&
		     (at->gpu < time->gpu ||
		      (at->gpu == time->gpu && at->end_ns <= time->start_ns))))
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < of->used; low++) {
		const struct approach *at = &of->at[low];
		uint64_t from_ns = at->start_ns > time->start_ns ? at->start_ns : time->start_ns;
		uint64_t until_ns = at->end_ns < time->end_ns ? at->end_ns : time->end_ns;

		if (at->process != time->process || at->gpu != time->gpu ||
		    at->start_ns >= time->end_ns)
			break;
		if (until_ns > from_ns)
			ns += until_ns - from_ns;
	}
	return ns;
}

static void on_idle(void *data, uint32_t process, uint32_t gpu, struct gpumon_node *node,
		    uint64_t start_ns, uint64_t end_ns)
{
	struct gpumon_profile *profile = data;
	struct gpumon_rank_idle *idle;

	/* Before the first collective no rank waits for another one. */
	if (!profile->collectives.used || profile->rank_idle_used == RANK_IDLES_MAX ||
	    end_ns - start_ns < RANK_IDLE_NS)
		return;
	idle = GPUMON_ARRAY_ADD(profile->rank_idles, profile->rank_idle_used,
				profile->rank_idle_room);
	*idle = (struct gpumon_rank_idle){ start_ns, end_ns, node, process, gpu };
}

/* The same for the same place in all processes. */
static uint64_t place_of(const struct gpumon_node *node)
{
	uint64_t place = 1;

	for (; node && node->kind != GPUMON_NODE_PROCESS && node->kind != GPUMON_NODE_ROOT;
	     node = node->parent) {
		if (node->kind == GPUMON_NODE_THREAD)
			continue;
		place = gpumon_hash(place + gpumon_hash_bytes(node->name, strlen(node->name)) +
				    node->kind);
		place = gpumon_hash(place + gpumon_hash_bytes(node->line, strlen(node->line)));
	}
	return place;
}

/* Adds to the value of a key, where there is something to add. */
static void add_to(struct gpumon_map *map, uint64_t key, uint64_t ns)
{
	if (ns)
		gpumon_map_set(map, key, gpumon_map_get(map, key) + ns);
}

/* Where the late rank's GPU was idle for longer than that of the first one. */
static void give_lateness(struct late_pass *pass)
{
	struct gpumon_profile *profile = pass->profile;
	struct gpumon_map by_node = { 0 }, by_place = { 0 };

	for (uint32_t i = 0; i < profile->rank_idle_used; i++) {
		const struct gpumon_rank_idle *idle = &profile->rank_idles[i];
		const struct approach time = { idle->start_ns, idle->end_ns, idle->process,
					       idle->gpu };

		idle->node->late_ns += covered_ns(&pass->last, &time);
		add_to(&by_node, (uintptr_t)idle->node, covered_ns(&pass->first, &time));
	}
	for (uint32_t i = 0; i < profile->tree.node_keys.used; i++) {
		const struct gpumon_node *node = profile->tree.nodes[i];
		uint64_t ns = gpumon_map_get(&by_node, (uintptr_t)node);

		if (ns)
			add_to(&by_place, place_of(node), ns);
	}
	for (uint32_t i = 0; i < profile->tree.node_keys.used; i++) {
		struct gpumon_node *node = profile->tree.nodes[i];
		uint64_t ns = node->late_ns ? gpumon_map_get(&by_place, place_of(node)) : 0;

		node->late_ns -= ns < node->late_ns ? ns : node->late_ns;
	}
	gpumon_map_clear(&by_node);
	gpumon_map_clear(&by_place);
}

/* Those of other communicators may wait as well. */
static bool is_collective(const struct gpumon_profile *profile, uint32_t number,
			  const struct gpumon_record *record)
{
	struct gpumon_record_kernel kernel;
	const char *name;

	if (record->type != GPUMON_RECORD_KERNEL)
		return false;
	gpumon_record_copy(&kernel, sizeof(kernel), record);
	name = gpumon_tables_string(&profile->captures.tables.processes[number], kernel.name);
	return name && gpumon_collective_is(name);
}

static void on_late_record(void *data, uint32_t number, const struct gpumon_record *record)
{
	struct late_pass *pass = data;
	struct gpumon_work_fields fields;
	struct approach time;

	if (gpumon_captures_is_driver(number) || !gpumon_work_fields(record, &fields) ||
	    !fields.valid || is_collective(pass->profile, number, record))
		return;
	time = (struct approach){ fields.start_ns, fields.end_ns, number,
				  gpu_of(pass->profile, number, fields.device) };
	pass->last.busy_ns += covered_ns(&pass->last, &time);
	pass->first.busy_ns += covered_ns(&pass->first, &time);
}

static bool is_of(const struct gpumon_lateness *late, const struct gpumon_rank_row *row)
{
	return late->last.process == row->process && late->last.device == row->device;
}

/* Of several communicators of a rank, the stream of the one for which it was late most. */
static uint64_t latest_stream(const struct gpumon_collectives *collectives,
			      const struct gpumon_rank_row *row)
{
	struct gpumon_keys streams = { 0 };
	uint64_t *sums = NULL, latest = 0, most_ns = 0;
	uint32_t room = 0;

	for (uint32_t i = 0; i < collectives->late_used; i++) {
		const struct gpumon_lateness *late = &collectives->late[i];
		const struct gpumon_key key = { { late->stream } };
		uint64_t *sum;

		if (!is_of(late, row))
			continue;
		sum = GPUMON_KEYS_VALUE(&streams, &key, sums, room, NULL);
		*sum += late->late_ns;
		if (*sum > most_ns) {
			most_ns = *sum;
			latest = late->stream;
		}
	}
	gpumon_keys_clear(&streams);
	free(sums);
	return latest;
}

static int read_late(struct gpumon_profile *profile)
{
	struct gpumon_collectives *collectives = &profile->collectives;
	struct gpumon_rank_row *row = &collectives->rows[gpumon_collectives_latest(
		collectives->rows, collectives->row_count)];
	struct late_pass pass = { .profile = profile };
	const struct gpumon_captures_pass events = { .record = on_late_record, .data = &pass };
	uint64_t stream = latest_stream(collectives, row);
	int ret;

	for (uint32_t i = 0; i < collectives->late_used; i++) {
		const struct gpumon_lateness *late = &collectives->late[i];

		if (!is_of(late, row) || late->stream != stream)
			continue;
		add_approach(profile, &pass.last, &late->last);
		add_approach(profile, &pass.first, &late->first);
	}
	order_approaches(&pass.last);
	order_approaches(&pass.first);
	give_lateness(&pass);
	ret = gpumon_captures_read(&profile->captures, &events);
	/* Operations that run at the same time count several times. */
	if (pass.last.busy_ns > pass.first.busy_ns)
		row->late_busy_ns = pass.last.busy_ns - pass.first.busy_ns;
	if (row->late_busy_ns > row->late_ns)
		row->late_busy_ns = row->late_ns;
	free(pass.last.at);
	free(pass.first.at);
	return ret;
}

void gpumon_ranks_begin(struct gpumon_profile *profile)
{
	profile->budget.idled = on_idle;
	profile->budget.idled_data = profile;
}

int gpumon_ranks_read(struct gpumon_profile *profile)
{
	int ret = 0;

	match_collectives(profile);
	if (profile->collectives.late_used)
		ret = read_late(profile);
	gpumon_ranks_clear(profile);
	return ret;
}

void gpumon_ranks_clear(struct gpumon_profile *profile)
{
	gpumon_collectives_free_kernels(&profile->collectives);
	free(profile->rank_idles);
	profile->rank_idles = NULL;
	profile->rank_idle_used = profile->rank_idle_room = 0;
}
