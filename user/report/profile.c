// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Reads captures into a profile: in a first pass definitions, in a second one GPU operations, and if there
 * were gaps, in a third one what was done in the longest of them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "profile_internal.h"
#include "scan.h"

static void see_time(struct gpumon_profile *profile, uint32_t number, uint64_t start_ns,
		     uint64_t end_ns)
{
	gpumon_budget_time(&profile->budget, number, start_ns, end_ns);
	gpumon_time_include(&profile->first_ns, &profile->last_ns, start_ns, end_ns);
}

bool gpumon_activity_times(const struct gpumon_record *record, uint64_t *start_ns, uint64_t *end_ns)
{
	struct gpumon_work_fields fields;
	union {
		struct gpumon_record_launch launch;
		struct gpumon_record_call call;
		struct gpumon_record_sync sync;
		struct gpumon_record_hit hit;
		struct gpumon_record_range range;
		struct gpumon_record_present present;
	} copy;

#define OF(member)                                                                               \
	((const struct gpumon_record_##member *)gpumon_record_whole(record, sizeof(copy.member), \
								    &copy.member))
/* A call that had not returned has no end. */
#define TIMES(start, end)                    \
	do {                                 \
		*start_ns = (start);         \
		*end_ns = (end);             \
		if (*end_ns < *start_ns)     \
			*end_ns = *start_ns; \
	} while (0)
	switch (record->type) {
	case GPUMON_RECORD_LAUNCH:
		TIMES(OF(launch)->start_ns, OF(launch)->end_ns);
		return true;
	case GPUMON_RECORD_CALL:
		TIMES(OF(call)->start_ns, OF(call)->end_ns);
		return true;
	case GPUMON_RECORD_PRESENT:
		TIMES(OF(present)->start_ns, OF(present)->end_ns);
		return true;
	case GPUMON_RECORD_SYNC:
		TIMES(OF(sync)->start_ns, OF(sync)->end_ns);
		return true;
	case GPUMON_RECORD_HIT:
		TIMES(OF(hit)->time_ns, OF(hit)->time_ns + OF(hit)->duration_ns);
		return true;
	case GPUMON_RECORD_RANGE:
		TIMES(OF(range)->time_ns, OF(range)->time_ns);
		return true;
	default:
		if (!gpumon_work_fields(record, &fields) || !fields.start_ns)
			return false;
		TIMES(fields.start_ns, fields.valid ? fields.end_ns : fields.start_ns);
		return true;
	}
#undef TIMES
#undef OF
}

static const char *const match_reasons[GPUMON_MATCH_KINDS] = {
	[GPUMON_MATCH_NO_STACK] = "[kernel without stack]",
	[GPUMON_MATCH_NO_LAUNCH] = "[kernel without launch]",
	[GPUMON_MATCH_INTERNAL] = "[launched by CUDA]",
	[GPUMON_MATCH_UNSAMPLED] = "[stack not sampled]",
	[GPUMON_MATCH_AMBIGUOUS] = "[launch ambiguous]",
};

const char *gpumon_match_reason(enum gpumon_match match)
{
	return match_reasons[match];
}

static const char *const end_reasons[GPUMON_LAUNCH_ENDS] = {
	[GPUMON_LAUNCH_UNMATCHED] = "[unmatched launch]",
	[GPUMON_LAUNCH_IN_GRAPH] = "[captured into graph]",
	[GPUMON_LAUNCH_REFUSED] = "[failed call]",
	[GPUMON_LAUNCH_WITHHELD] = "[unmatched launch]",
};

/* --- the table by kernel */

static uint32_t find_row(struct gpumon_profile *profile, enum gpumon_work_kind kind,
			 const char *mangled)
{
	const struct gpumon_key key = { { (uintptr_t)mangled, kind } };
	struct gpumon_kernel_growing *row;
	char *name;
	bool added;

	row = GPUMON_KEYS_VALUE(&profile->kernel_keys, &key, profile->kernels,
				profile->kernels_room, &added);
	if (!added)
		return (uint32_t)(row - profile->kernels);
	name = gpumon_demangle(mangled);
	if (!name)
		gpumon_memory_failed(strlen(mangled));
	row->row.name = gpumon_pool_text(&profile->pool, name);
	row->row.mangled = mangled;
	row->row.kind = kind;
	row->row.collective = kind == GPUMON_WORK_KERNEL && gpumon_collective_is(name);
	free(name);
	return (uint32_t)(row - profile->kernels);
}

static uint32_t kernel_row(struct gpumon_profile *profile, uint32_t process, uint32_t name)
{
	const struct gpumon_key key = { { process, name } };
	const char *mangled;
	uint32_t *row;
	bool added;

	row = GPUMON_KEYS_VALUE(&profile->kernel_ids, &key, profile->kernel_of_id,
				profile->kernel_of_id_room, &added);
	if (!added)
		return *row;
	mangled = gpumon_tables_string(&profile->captures.tables.processes[process], name);
	if (!mangled)
		mangled = gpumon_pool_text(&profile->pool, "[unknown kernel]");
	*row = find_row(profile, GPUMON_WORK_KERNEL, mangled);
	return *row;
}

static struct gpumon_kernel_growing *work_row(struct gpumon_profile *profile,
					      const struct gpumon_work *work)
{
	char graph[GPUMON_GRAPH_NAME];
	uint32_t row;

	if (work->kind == GPUMON_WORK_KERNEL) {
		row = kernel_row(profile, work->process, work->kernel->name);
	} else {
		const char *name = work->kind == GPUMON_WORK_COPY ?
					   gpumon_copy_name(work->copy) :
				   work->kind == GPUMON_WORK_GRAPH ?
					   gpumon_graph_name(graph, work->graph->graph) :
					   "memset";

		name = gpumon_pool_text(&profile->pool, name);
		row = find_row(profile, work->kind, name);
	}
	return &profile->kernels[row];
}

/* --- the tree */

static struct gpumon_node *add_levels(struct gpumon_profile *profile, struct gpumon_node *node,
				      uint32_t process, const struct gpumon_work_fields *fields)
{
	char name[GPUMON_GRAPH_NAME], text[GPUMON_DEVICE_TEXT];

	if (profile->options.devices) {
		const struct gpumon_device_growing *device =
			gpumon_devices_find(profile, process, fields->device);

		snprintf(name, sizeof(name), "[%s]",
			 device ? device->row.text : gpumon_device_text(text, fields->device, 0));
		node = gpumon_tree_named(&profile->tree, node, GPUMON_NODE_DEVICE, name);
	}
	if (profile->options.streams) {
		snprintf(name, sizeof(name), "stream %" PRIu32, GPUMON_NUMBER_OF(fields->stream));
		node = gpumon_tree_named(&profile->tree, node, GPUMON_NODE_STREAM, name);
	}
	/* A graph as a whole has that name itself. */
	if (profile->options.graphs && fields->graph && !fields->whole_graph)
		node = gpumon_tree_named(&profile->tree, node, GPUMON_NODE_GRAPH,
					 gpumon_graph_name(name, fields->graph));
	return node;
}

/* The part of a call that is shown. */
static uint64_t call_ns(const struct gpumon_profile *profile, uint64_t start_ns, uint64_t end_ns)
{
	return start_ns && gpumon_profile_clip(profile, &start_ns, &end_ns) ? end_ns - start_ns : 0;
}

struct gpumon_tree_where gpumon_work_where(const struct gpumon_work *work, uint64_t start_ns)
{
	return (struct gpumon_tree_where){
		.process = work->process,
		.tid = work->tid,
		.stack = work->stack,
		.function = work->launch_function,
		.time_ns = work->launch_ns ? work->launch_ns : start_ns,
		.reason = gpumon_match_reason(work->match),
	};
}

struct gpumon_node *gpumon_tree_work(struct gpumon_tree *tree, const struct gpumon_work *work,
				     uint64_t start_ns)
{
	const struct gpumon_tree_where where = gpumon_work_where(work, start_ns);

	return gpumon_tree_path(tree, &where);
}

/*
 * Returns the leaf, NULL if operations have none. The call of an operation that is not shown may be shown, and where
 * operations are recorded in windows it is a sample.
 */
static struct gpumon_node *add_to_tree(struct gpumon_profile *profile,
				       const struct gpumon_work *work,
				       const struct gpumon_work_fields *fields, const char *name,
				       uint64_t gpu_ns, bool shown)
{
	static const enum gpumon_node_kind kinds[GPUMON_WORK_KINDS] = {
		[GPUMON_WORK_KERNEL] = GPUMON_NODE_KERNEL,
		[GPUMON_WORK_COPY] = GPUMON_NODE_COPY,
		[GPUMON_WORK_SET] = GPUMON_NODE_SET,
		[GPUMON_WORK_GRAPH] = GPUMON_NODE_WHOLE_GRAPH,
	};
	/* The call of a launch counts once, however many operations it has. */
	bool first = work->launch_ns && !work->launch_work;
	bool launched = first && gpumon_profile_within(profile, work->launch_ns);
	uint64_t cpu_ns = first ? call_ns(profile, work->launch_ns, work->launch_end_ns) : 0;
	struct gpumon_tree_frame frame = { .name = name, .module = "", .line = "" };
	struct gpumon_node *node;

	if (profile->options.cpu_only) {
		if (!launched && !cpu_ns)
			return NULL;
		node = gpumon_tree_work(&profile->tree, work, fields->start_ns);
		node->count += launched;
		node->cpu_ns += cpu_ns;
		return NULL;
	}
	if (!shown && !cpu_ns && !profile->captures.tables.processes[work->process].windows.sampled)
		return NULL;
	if (profile->options.gpu_only)
		node = gpumon_tree_process(&profile->tree, work->process);
	else
		node = gpumon_tree_work(&profile->tree, work, fields->start_ns);
	/* The operation may be given to other paths. The call is not. */
	if (work->match == GPUMON_MATCH_UNSAMPLED) {
		node->cpu_ns += cpu_ns;
		cpu_ns = 0;
	}
	node = add_levels(profile, node, work->process, fields);
	frame.kind = kinds[work->kind];
	node = gpumon_tree_child(&profile->tree, node, &frame);
	node->cpu_ns += cpu_ns;
	if (shown) {
		node->count++;
		node->gpu_ns += gpu_ns;
	}
	return node;
}

/* Each operation has one beginning and one end, so that it is in one of several parts of the time. */
static bool is_shown(const struct gpumon_profile *profile, const struct gpumon_work *work,
		     const struct gpumon_work_fields *fields)
{
	uint64_t time_ns = !fields->valid && !fields->start_ns ? work->launch_ns :
			   !profile->options.by_end	       ? fields->start_ns :
			   fields->valid		       ? fields->end_ns :
								 work->launch_ns;

	return gpumon_profile_within(profile, time_ns);
}

static void add_copy(struct gpumon_profile *profile, const struct gpumon_record_copy *copy,
		     uint64_t gpu_ns)
{
	bool in = copy->from == GPUMON_PLACE_PAGEABLE || copy->from == GPUMON_PLACE_PINNED;
	bool out = copy->to == GPUMON_PLACE_PAGEABLE || copy->to == GPUMON_PLACE_PINNED;
	bool pageable = copy->from == GPUMON_PLACE_PAGEABLE || copy->to == GPUMON_PLACE_PAGEABLE ||
			copy->head.flags & GPUMON_WORK_PAGEABLE;
	enum gpumon_copy_way way = GPUMON_COPY_ELSEWHERE;

	if (in != out)
		way = pageable ? (in ? GPUMON_COPY_PAGEABLE_IN : GPUMON_COPY_PAGEABLE_OUT) :
				 (in ? GPUMON_COPY_PINNED_IN : GPUMON_COPY_PINNED_OUT);
	profile->copies[way].count++;
	profile->copies[way].gpu_ns += gpu_ns;
	profile->copies[way].bytes += copy->bytes;
}

static void keep_longest(struct gpumon_profile *profile, const struct gpumon_work *work,
			 const struct gpumon_work_fields *fields, const char *name)
{
	const struct gpumon_device_growing *device =
		gpumon_devices_find(profile, work->process, fields->device);

	if (device)
		gpumon_longest_add(&profile->longest, device->row.gpu,
				   &(struct gpumon_operation){
					   .process = work->process,
					   .device = fields->device,
					   .context = fields->context,
					   .stream = fields->stream,
					   .start_ns = fields->start_ns,
					   .end_ns = fields->end_ns,
					   .kind = work->kind,
					   .name = name,
				   });
}

/* As the engine counts all of them. */
static void count_match(struct gpumon_profile *profile, const struct gpumon_work *work,
			const struct gpumon_record *record, const struct gpumon_work_fields *fields)
{
	struct gpumon_correlate_counts *counts = &profile->counts;

	counts->works[work->kind][work->match]++;
	if (!fields->start_ns || record->flags & (GPUMON_WORK_UNFINISHED | GPUMON_WORK_FAILED))
		counts->untimed[gpumon_untimed_of(record->flags)]++;
	counts->work_before_launch += fields->start_ns && fields->start_ns < work->launch_ns;
}

static uint64_t product(const uint32_t size[3])
{
	return (uint64_t)size[0] * size[1] * size[2];
}

static void see_shape(struct gpumon_kernel_row *row, const struct gpumon_record_kernel *kernel)
{
	uint64_t blocks = product(kernel->grid), threads = product(kernel->block);

	row->blocks = blocks > row->blocks ? blocks : row->blocks;
	row->threads = threads > row->threads ? threads : row->threads;
}

/* An operation that is shown. */
static void add_work(struct gpumon_profile *profile, const struct gpumon_work *work,
		     const struct gpumon_work_fields *fields, struct gpumon_kernel_growing *row,
		     uint64_t gpu_ns)
{
	row->row.count++;
	row->row.gpu_ns += gpu_ns;
	if (fields->valid)
		gpumon_distribution_add(&row->duration, gpu_ns);
	if (work->kernel)
		gpumon_stalls_kernel(profile->stalls_reader, work->process, work->kernel,
				     row->row.mangled, gpu_ns);
	if (fields->valid && profile->longest.at)
		keep_longest(profile, work, fields, row->row.name);
	/*
	 * Only the start of a graph's first operation shows the launch latency. If the clocks
	 * disagree there is no latency; the engine counts these cases.
	 */
	if (work->launch_ns && fields->start_ns >= work->launch_ns &&
	    !(work->launch_flags & GPUMON_LAUNCH_GRAPH && work->launch_work)) {
		uint64_t latency_ns = fields->start_ns - work->launch_ns;

		gpumon_distribution_add(&row->latency, latency_ns);
		gpumon_distribution_add(&profile->latency, latency_ns);
	}
	if (work->launch_ns)
		gpumon_ranges_work(&profile->ranges, work->process, work->tid, work->launch_ns,
				   gpu_ns);
	gpumon_devices_count(profile, work->process, fields, gpu_ns);
	if (work->copy)
		add_copy(profile, work->copy, gpu_ns);
	if (work->kernel)
		see_shape(&row->row, work->kernel);
	profile->cut_stacks += gpumon_tables_cut_stack(
		&profile->captures.tables.processes[work->process], work->stack);
}

static void on_work(void *data, const struct gpumon_work *work)
{
	struct gpumon_profile *profile = data;
	const struct gpumon_record *record = work->kernel ? &work->kernel->head :
					     work->copy	  ? &work->copy->head :
					     work->graph  ? &work->graph->head :
							    &work->set->head;
	const struct gpumon_tables_process *process =
		&profile->captures.tables.processes[work->process];
	struct gpumon_kernel_growing *row;
	struct gpumon_work_fields fields;
	struct gpumon_node *leaf;
	uint64_t gpu_ns;
	bool shown;

	gpumon_work_fields(record, &fields);
	shown = is_shown(profile, work, &fields);
	gpu_ns = fields.valid ? fields.end_ns - fields.start_ns : 0;
	row = work_row(profile, work);
	gpumon_metrics_work(profile, work->process, (uint32_t)(row - profile->kernels), &fields);
	if (work->tid) {
		const struct gpumon_key key = { { work->process, fields.device, work->tid } };
		bool added;

		(void)gpumon_keys_number(&profile->launchers, &key, &added);
	}
	profile->counts.launches += work->launch_ns && !work->launch_work &&
				    gpumon_profile_within(profile, work->launch_ns);
	if (shown) {
		count_match(profile, work, record, &fields);
		add_work(profile, work, &fields, row, gpu_ns);
	}
	leaf = add_to_tree(profile, work, &fields, row->row.name, gpu_ns, shown);
	if (row->row.collective)
		gpumon_ranks_add(profile, work, leaf, (uint32_t)(row - profile->kernels), shown);
	gpumon_scale_work(&profile->scale, work,
			  &(struct gpumon_scale_place){
				  .windows = process->windows.sampled,
				  .stacks = shown && process->has_unsampled && leaf &&
					    !profile->options.gpu_only,
				  .sample = !shown,
				  .leaf = leaf,
				  .row = (uint32_t)(row - profile->kernels),
			  },
			  gpu_ns);
}

/* The reason, with the name of the kernel in front, if the launch has it. */
static const char *reason_of(struct gpumon_profile *profile, uint32_t process,
			     const struct gpumon_record_launch *launch, enum gpumon_launch_end end)
{
	const struct gpumon_key key = { { process, launch->name } };
	const char *mangled = NULL, **text;
	char *name, *both;
	bool added;

	if (launch->name && (end == GPUMON_LAUNCH_UNMATCHED || end == GPUMON_LAUNCH_WITHHELD))
		mangled = gpumon_tables_string(&profile->captures.tables.processes[process],
					       launch->name);
	if (!mangled)
		return end_reasons[end];
	text = GPUMON_KEYS_VALUE(&profile->launched_ids, &key, profile->launched,
				 profile->launched_room, &added);
	if (!added)
		return *text;
	name = gpumon_demangle(mangled);
	both = gpumon_asprintf("%s %s", name ? name : mangled, end_reasons[end]);
	*text = gpumon_pool_text(&profile->pool, both);
	free(both);
	free(name);
	return *text;
}

/* It may have begun before the part that is shown. */
static void add_call(struct gpumon_profile *profile, const struct gpumon_tree_where *where,
		     uint64_t cpu_ns, const char *reason)
{
	struct gpumon_node *node = gpumon_tree_path(&profile->tree, where);

	if (reason)
		node = gpumon_tree_named(&profile->tree, node, GPUMON_NODE_REASON, reason);
	node->count += gpumon_profile_within(profile, where->time_ns);
	node->cpu_ns += cpu_ns;
}

/* Its operations are not recorded. They are estimated when all similar launches are known. */
static void add_left_out(struct gpumon_profile *profile, const struct gpumon_tree_where *where,
			 const struct gpumon_record_launch *launch)
{
	uint32_t ranges =
		gpumon_ranges_path(&profile->ranges, where->process, where->tid, where->time_ns);
	bool shown = gpumon_profile_within(profile, where->time_ns);
	struct gpumon_node *node = NULL;

	if (!profile->options.gpu_only) {
		node = gpumon_tree_path(&profile->tree, where);
		node->count += shown && profile->options.cpu_only;
		node->cpu_ns += call_ns(profile, launch->start_ns, launch->end_ns);
	}
	if (shown)
		gpumon_scale_launch(&profile->scale, where->process, launch, node, ranges);
}

static void add_launch(struct gpumon_profile *profile, const struct gpumon_tree_where *where,
		       const struct gpumon_record_launch *launch, enum gpumon_launch_end end)
{
	uint64_t cpu_ns = call_ns(profile, launch->start_ns, launch->end_ns);

	add_call(profile, where, cpu_ns,
		 profile->options.cpu_only ? NULL :
					     reason_of(profile, where->process, launch, end));
}

static void on_launch(void *data, const struct gpumon_unmatched_launch *unmatched)
{
	const struct gpumon_record_launch *launch = unmatched->launch;
	const struct gpumon_tree_where where = {
		.process = unmatched->process,
		.tid = launch->tid,
		.stack = launch->stack,
		.function = launch->function,
		.time_ns = launch->start_ns,
		.reason = launch->head.flags & GPUMON_LAUNCH_UNSAMPLED && !launch->stack ?
				  gpumon_match_reason(GPUMON_MATCH_UNSAMPLED) :
				  NULL,
	};
	struct gpumon_profile *profile = data;

	if (gpumon_profile_within(profile, launch->start_ns))
		profile->counts.unmatched_launches[unmatched->end]++;
	else if (!call_ns(profile, launch->start_ns, launch->end_ns))
		return;
	if (unmatched->end == GPUMON_LAUNCH_LEFT_OUT)
		add_left_out(profile, &where, launch);
	else if (!profile->options.gpu_only)
		add_launch(profile, &where, launch, unmatched->end);
}

static bool is_left_out(void *data, uint32_t process, const struct gpumon_record_launch *launch)
{
	const struct gpumon_profile *profile = data;

	return gpumon_captures_left_out(&profile->captures, process, launch);
}

static void add_hit(struct gpumon_profile *profile, uint32_t process,
		    const struct gpumon_record *record)
{
	const struct gpumon_tables_process *of = &profile->captures.tables.processes[process];
	struct gpumon_record_hit hit;
	struct gpumon_tree_where where = { .process = process };

	bool shown;
	uint64_t cpu_ns;

	gpumon_record_copy(&hit, sizeof(hit), record);
	shown = gpumon_profile_within(profile, hit.time_ns);
	cpu_ns = gpumon_profile_is_part(profile) ?
			 call_ns(profile, hit.time_ns,
				 gpumon_add_saturated(hit.time_ns, hit.duration_ns)) :
			 hit.duration_ns;
	profile->hits += shown;
	/* The recorder gives a process a library or uprobes, so that both are only in a broken capture. */
	if (of->has_launches || profile->options.gpu_only || (!shown && !cpu_ns))
		return;
	where.tid = hit.tid;
	where.stack = hit.stack;
	where.function = hit.function;
	where.time_ns = hit.time_ns;
	profile->cut_stacks += shown && gpumon_tables_cut_stack(of, hit.stack);
	add_call(profile, &where, cpu_ns, NULL);
}

static bool is_cut(void *data, uint32_t process)
{
	const struct gpumon_profile *profile = data;

	return gpumon_captures_is_cut(&profile->captures, process);
}

/* --- what is the same in all kinds of work */

static char place_letter(uint16_t place)
{
	switch (place) {
	case GPUMON_PLACE_PAGEABLE:
	case GPUMON_PLACE_PINNED:
		return 'H';
	case GPUMON_PLACE_DEVICE:
		return 'D';
	case GPUMON_PLACE_ARRAY:
		return 'A';
	case GPUMON_PLACE_MANAGED:
		return 'M';
	case GPUMON_PLACE_PEER:
		return 'P';
	default:
		return '?';
	}
}

const char *gpumon_copy_name(const struct gpumon_record_copy *copy)
{
	static const char *const kinds[] = {
		[GPUMON_COPY_PLAIN] = "memcpy",
		[GPUMON_COPY_MAP] = "map",
		[GPUMON_COPY_UNMAP] = "unmap",
		[GPUMON_COPY_MIGRATE] = "migrate",
	};
	static __thread char name[16];
	uint32_t kind = copy->kind < sizeof(kinds) / sizeof(kinds[0]) ? copy->kind : 0;

	snprintf(name, sizeof(name), "%s %cto%c", kinds[kind], place_letter(copy->from),
		 place_letter(copy->to));
	return name;
}

const char *gpumon_graph_name(char name[GPUMON_GRAPH_NAME], uint32_t graph)
{
	snprintf(name, GPUMON_GRAPH_NAME, "graph %" PRIu32, GPUMON_NUMBER_OF(graph));
	return name;
}

/* --- passes */

static void on_definition(void *data, uint32_t number, const struct gpumon_record *record)
{
	struct gpumon_profile *profile = data;
	uint64_t start_ns, end_ns;

	gpumon_scan_record(profile->scan_reader, number, record);
	if (gpumon_captures_is_driver(number))
		return;
	if (gpumon_activity_times(record, &start_ns, &end_ns))
		see_time(profile, number, start_ns, end_ns);
	gpumon_stalls_look(profile->stalls_reader, number, record);
	gpumon_budget_look(&profile->budget, number, record);
	gpumon_devices_look(profile, number, record);
	gpumon_metrics_look(profile, number, record);
}

static int begin_work(void *data, unsigned int capture)
{
	struct gpumon_profile *profile = data;

	return gpumon_ranges_ahead_begin(&profile->ahead, capture);
}

static void on_event(void *data, uint32_t number, const struct gpumon_record *record)
{
	struct gpumon_profile *profile = data;

	gpumon_ranges_ahead_read(&profile->ahead);
	if (gpumon_captures_is_driver(number))
		return;
	gpumon_devices_add(profile, number, record);
	if (record->type == GPUMON_RECORD_UNIFIED_MEMORY)
		gpumon_scan_unified(profile->scan_reader, record, profile->options.from_ns,
				    profile->options.until_ns);
	gpumon_stalls_add(profile->stalls_reader, number, record);
	gpumon_budget_add(&profile->budget, number, record);
	if (record->type == GPUMON_RECORD_HIT)
		add_hit(profile, number, record);
	gpumon_correlate_record(profile->correlate, number, record);
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

static void end_work(void *data, unsigned int capture)
{
	struct gpumon_profile *profile = data;
	const struct gpumon_captures *captures = &profile->captures;

	add_damage(profile, &captures->damages[capture]);
	for (uint32_t i = captures->first[capture]; i < captures->first[capture + 1]; i++)
		gpumon_correlate_finish(profile->correlate, i);
	gpumon_ranges_ahead_end(&profile->ahead);
}

/* --- the end */

/* All times are known: which of them are shown. */
static int find_part(struct gpumon_profile *profile)
{
	struct gpumon_profile_options *options = &profile->options;
	struct gpumon_time_range *range = &profile->range;

	range->began_ns = profile->first_ns;
	range->ended_ns = profile->last_ns;
	if (gpumon_range_is_asked(&options->asked)) {
		if (gpumon_time_range_find(&profile->captures, &options->asked, range))
			return -1;
		/* What has no time is in a part that has the beginning. */
		options->from_ns = range->from_ns > profile->first_ns ? range->from_ns : 0;
		options->until_ns = range->until_ns < profile->last_ns ? range->until_ns : 0;
	}
	profile->from_ns = profile->first_ns;
	profile->until_ns = profile->last_ns;
	if (!gpumon_profile_clip(profile, &profile->from_ns, &profile->until_ns))
		profile->until_ns = profile->from_ns;
	profile->budget.from_ns = profile->ranges.from_ns = options->from_ns;
	profile->budget.until_ns = profile->ranges.until_ns = options->until_ns;
	return 0;
}

/* A damaged capture can contain any time. */
static void begin_timeline(struct gpumon_profile *profile)
{
	uint64_t length_ns = profile->until_ns - profile->from_ns;

	if (profile->options.bins > GPUMON_BINS_MAX)
		profile->options.bins = GPUMON_BINS_MAX;
	if (profile->options.bins && profile->until_ns > profile->from_ns && length_ns < INT64_MAX)
		profile->bin_ns = length_ns / profile->options.bins + 1;
}

static int read_all(struct gpumon_profile *profile)
{
	const struct gpumon_captures_pass definitions = { .record = on_definition,
							  .data = profile };
	const struct gpumon_captures_pass events = {
		.begin = begin_work, .record = on_event, .end = end_work, .data = profile
	};
	struct gpumon_captures *captures = &profile->captures;
	const struct gpumon_correlate_counts *counts;
	unsigned int known = 0;

	if (gpumon_captures_define(captures, &definitions) || find_part(profile))
		return -1;
	profile->has_presents = gpumon_captures_have_presents(captures);
	for (uint32_t i = 0; i < captures->tables.used; i++)
		known += captures->tables.processes[i].known;
	profile->tree.processes = profile->options.processes ||
				  (known > 1 && !profile->options.join_processes);
	gpumon_captures_find_symbols(captures);
	gpumon_captures_expect(captures, profile->correlate);
	begin_timeline(profile);
	gpumon_devices_turn(profile);
	gpumon_stalls_turn(profile->stalls_reader, profile->options.from_ns,
			   profile->options.until_ns);
	gpumon_metrics_turn(profile);
	if (profile->bin_ns) {
		gpumon_longest_begin(&profile->longest, profile->gpu_count, profile->from_ns,
				     profile->until_ns - profile->from_ns);
		profile->budget.bins = (struct gpumon_bins_scale){
			.from_ns = profile->from_ns,
			.bin_ns = profile->bin_ns * GPUMON_BUDGET_BINS,
			.count = profile->options.bins / GPUMON_BUDGET_BINS + 1,
			.columns = GPUMON_SPENTS,
		};
	}
	gpumon_budget_turn(&profile->budget);
	if (gpumon_captures_read(captures, &events))
		return -1;
	counts = gpumon_correlate_counts(profile->correlate);
	if (!gpumon_profile_is_part(profile))
		profile->counts = *counts;
	captures->tables.losses[GPUMON_LOSS_WITHHELD] +=
		counts->unmatched_launches[GPUMON_LAUNCH_WITHHELD];
	gpumon_devices_end(profile);
	gpumon_budget_end(&profile->budget);
	gpumon_longest_end(&profile->longest);
	gpumon_gaps_read(profile);
	if (gpumon_metrics_read(profile) || gpumon_ranks_read(profile))
		return -1;
	gpumon_profile_scale(profile);
	gpumon_profile_rows(profile);
	profile->stalls = gpumon_stalls_end(profile->stalls_reader, profile->tree.root);
	return 0;
}

static int begin(struct gpumon_profile *profile, const char *const *paths, unsigned int count)
{
	const struct gpumon_correlate_output output = {
		.work = on_work,
		.launch = on_launch,
		.left_out = is_left_out,
		.is_cut = is_cut,
		.data = profile,
	};

	profile->correlate = gpumon_correlate_new(&output);
	profile->scan_reader = gpumon_scan_begin();
	profile->stalls_reader = gpumon_stalls_begin(&profile->captures, &profile->pool);
	profile->ranges.pool = &profile->pool;
	profile->ranges.timeline = true;
	profile->ahead.captures = &profile->captures;
	profile->ahead.ranges = &profile->ranges;
	profile->tree.pool = &profile->pool;
	profile->tree.tables = &profile->captures.tables;
	profile->tree.options = profile->options;
	profile->budget.tree = &profile->tree;
	gpumon_ranks_begin(profile);
	gpumon_tree_begin(&profile->tree);
	profile->captures.tables.symbol_root = profile->options.symbol_root;
	return gpumon_captures_open(&profile->captures, paths, count, &profile->pool);
}

/* Rows of a timeline need the windows after the rest of the tables is gone. */
static void keep_windows(struct gpumon_profile *profile)
{
	struct gpumon_tables *tables = &profile->captures.tables;

	profile->windows = gpumon_calloc((size_t)tables->used + 1, sizeof(*profile->windows));
	profile->window_count = tables->used;
	for (uint32_t i = 0; i < tables->used; i++) {
		profile->windows[i] = tables->processes[i].windows;
		tables->processes[i].windows = (struct gpumon_windows){ 0 };
	}
}

int gpumon_profile_load(const char *const *paths, unsigned int count,
			const struct gpumon_profile_options *options,
			struct gpumon_profile **result)
{
	struct gpumon_profile *profile = gpumon_calloc(1, sizeof(*profile));

	profile->options = *options;
	if (begin(profile, paths, count) || read_all(profile)) {
		gpumon_profile_free(profile);
		return -1;
	}
	keep_windows(profile);
	profile->scan = gpumon_scan_end(profile->scan_reader, profile);
	profile->scan_reader = NULL;
	memcpy(profile->losses, profile->captures.tables.losses, sizeof(profile->losses));
	/* Free the data that only reading needed. Rows have copies of names and times. */
	gpumon_correlate_free(profile->correlate);
	profile->correlate = NULL;
	gpumon_tree_clear(&profile->tree);
	gpumon_captures_close(&profile->captures);
	gpumon_scale_clear(&profile->scale);
	gpumon_budget_free_calls(&profile->budget);
	gpumon_stalls_reader_free(profile->stalls_reader);
	profile->stalls_reader = NULL;
	*result = profile;
	return 0;
}

void gpumon_profile_free(struct gpumon_profile *profile)
{
	if (!profile)
		return;
	gpumon_correlate_free(profile->correlate);
	gpumon_tree_clear(&profile->tree);
	gpumon_ranges_ahead_end(&profile->ahead);
	gpumon_captures_close(&profile->captures);
	gpumon_ranges_clear(&profile->ranges);
	gpumon_scale_clear(&profile->scale);
	gpumon_budget_clear(&profile->budget);
	gpumon_ranks_clear(profile);
	gpumon_collectives_clear(&profile->collectives);
	gpumon_longest_clear(&profile->longest);
	gpumon_metrics_clear(profile);
	gpumon_scan_reader_free(profile->scan_reader);
	gpumon_stalls_reader_free(profile->stalls_reader);
	gpumon_scan_free(profile->scan);
	for (uint32_t i = 0; i < profile->kernel_keys.used; i++) {
		gpumon_distribution_clear(&profile->kernels[i].duration);
		gpumon_distribution_clear(&profile->kernels[i].latency);
	}
	for (uint32_t i = 0; i < profile->device_keys.used; i++) {
		gpumon_busy_clear(&profile->devices[i]->busy);
		free(profile->devices[i]->bins.busy_ns);
	}
	gpumon_gpus_clear(profile);
	gpumon_distribution_clear(&profile->latency);
	gpumon_time_range_clear(&profile->range);
	gpumon_keys_clear(&profile->kernel_ids);
	gpumon_keys_clear(&profile->launched_ids);
	gpumon_keys_clear(&profile->kernel_keys);
	gpumon_keys_clear(&profile->device_keys);
	gpumon_keys_clear(&profile->launchers);
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
