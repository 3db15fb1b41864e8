// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Enters joined operations into the tree and the table by kernel. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile_internal.h"

static const char *const match_reasons[GPUMON_MATCH_KINDS] = {
	[GPUMON_MATCH_NO_STACK] = "[kernel without stack]",
	[GPUMON_MATCH_NO_LAUNCH] = "[kernel without launch]",
	[GPUMON_MATCH_INTERNAL] = "[launched by CUDA]",
	[GPUMON_MATCH_UNSAMPLED] = "[stack not sampled]",
};

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
	if (!row)
		return GPUMON_KEY_NONE;
	if (!added)
		return (uint32_t)(row - profile->kernels);
	name = gpumon_demangle(mangled);
	if (!name)
		return GPUMON_KEY_NONE;
	row->row.name = gpumon_pool_text(&profile->pool, name);
	row->row.mangled = mangled;
	row->row.kind = kind;
	free(name);
	return row->row.name ? (uint32_t)(row - profile->kernels) : GPUMON_KEY_NONE;
}

static uint32_t kernel_row(struct gpumon_profile *profile, uint32_t process, uint32_t name)
{
	const struct gpumon_key key = { { process, name } };
	const char *mangled;
	uint32_t *row;
	bool added;

	row = GPUMON_KEYS_VALUE(&profile->kernel_ids, &key, profile->kernel_of_id,
				profile->kernel_of_id_room, &added);
	if (!row)
		return GPUMON_KEY_NONE;
	if (!added)
		return *row;
	mangled = gpumon_tables_string(&profile->tables.processes[process], name);
	if (!mangled)
		mangled = gpumon_pool_text(&profile->pool, "[unknown kernel]");
	*row = mangled ? find_row(profile, GPUMON_WORK_KERNEL, mangled) : GPUMON_KEY_NONE;
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
		row = name ? find_row(profile, work->kind, name) : GPUMON_KEY_NONE;
	}
	return row == GPUMON_KEY_NONE ? NULL : &profile->kernels[row];
}

/* --- the tree */

static struct gpumon_node *add_levels(struct gpumon_profile *profile, struct gpumon_node *node,
				      uint32_t process, const struct gpumon_work_fields *fields)
{
	char name[GPUMON_GRAPH_NAME], text[GPUMON_DEVICE_TEXT];

	if (node && profile->options.devices) {
		const struct gpumon_device_growing *device =
			gpumon_devices_find(profile, process, fields->device);

		snprintf(name, sizeof(name), "[%s]",
			 device ? device->row.text : gpumon_device_text(text, fields->device, 0));
		node = gpumon_tree_named(&profile->tree, node, GPUMON_NODE_DEVICE, name);
	}
	if (node && profile->options.streams) {
		snprintf(name, sizeof(name), "stream %" PRIu32, GPUMON_NUMBER_OF(fields->stream));
		node = gpumon_tree_named(&profile->tree, node, GPUMON_NODE_STREAM, name);
	}
	/* A graph as a whole has that name itself. */
	if (node && profile->options.graphs && fields->graph && !fields->whole_graph)
		node = gpumon_tree_named(&profile->tree, node, GPUMON_NODE_GRAPH,
					 gpumon_graph_name(name, fields->graph));
	return node;
}

static uint64_t call_ns(uint64_t start_ns, uint64_t end_ns)
{
	return start_ns && end_ns > start_ns ? end_ns - start_ns : 0;
}

struct gpumon_node *gpumon_tree_work(struct gpumon_tree *tree, const struct gpumon_work *work,
				     uint64_t start_ns)
{
	const struct gpumon_tree_where where = {
		.process = work->process,
		.tid = work->tid,
		.stack = work->stack,
		.function = work->launch_function,
		.time_ns = work->launch_ns ? work->launch_ns : start_ns,
		.reason = match_reasons[work->match],
	};

	return gpumon_tree_path(tree, &where);
}

/* @leaf: out, NULL if operations have none. */
static int add_to_tree(struct gpumon_profile *profile, const struct gpumon_work *work,
		       const struct gpumon_work_fields *fields, const char *name, uint64_t gpu_ns,
		       struct gpumon_node **leaf)
{
	static const enum gpumon_node_kind kinds[GPUMON_WORK_KINDS] = {
		[GPUMON_WORK_KERNEL] = GPUMON_NODE_KERNEL,
		[GPUMON_WORK_COPY] = GPUMON_NODE_COPY,
		[GPUMON_WORK_SET] = GPUMON_NODE_SET,
		[GPUMON_WORK_GRAPH] = GPUMON_NODE_WHOLE_GRAPH,
	};
	/* The call of a launch counts once, however many operations it has. */
	bool first = work->launch_ns && !work->launch_work;
	struct gpumon_tree_frame frame = { .name = name, .module = "", .line = "" };
	struct gpumon_node *node;

	*leaf = NULL;
	if (profile->options.cpu_only) {
		if (!first)
			return 0;
		node = gpumon_tree_work(&profile->tree, work, fields->start_ns);
		if (!node)
			return -1;
		node->count++;
		node->cpu_ns += call_ns(work->launch_ns, work->launch_end_ns);
		return 0;
	}
	if (profile->options.gpu_only)
		node = gpumon_tree_process(&profile->tree, work->process);
	else
		node = gpumon_tree_work(&profile->tree, work, fields->start_ns);
	/* The operation may be given to other paths. The call is not. */
	if (node && first && work->match == GPUMON_MATCH_UNSAMPLED) {
		node->cpu_ns += call_ns(work->launch_ns, work->launch_end_ns);
		first = false;
	}
	node = add_levels(profile, node, work->process, fields);
	if (!node)
		return -1;
	frame.kind = kinds[work->kind];
	node = gpumon_tree_child(&profile->tree, node, &frame);
	if (!node)
		return -1;
	node->count++;
	node->gpu_ns += gpu_ns;
	*leaf = node;
	if (first)
		node->cpu_ns += call_ns(work->launch_ns, work->launch_end_ns);
	return 0;
}

static bool is_outside(const struct gpumon_profile *profile, uint64_t time_ns)
{
	return time_ns < profile->options.from_ns ||
	       (profile->options.until_ns && time_ns >= profile->options.until_ns);
}

static int add_work(struct gpumon_profile *profile, const struct gpumon_work *work)
{
	const struct gpumon_record *record = work->kernel ? &work->kernel->head :
					     work->copy	  ? &work->copy->head :
					     work->graph  ? &work->graph->head :
							    &work->set->head;
	const struct gpumon_tables_process *process;
	struct gpumon_kernel_growing *row;
	struct gpumon_work_fields fields;
	struct gpumon_node *leaf;
	uint64_t gpu_ns;

	gpumon_work_fields(record, &fields);
	/* Each operation has one end, so that it is in one of several periods. */
	if (is_outside(profile, fields.valid ? fields.end_ns : work->launch_ns))
		return 0;
	gpu_ns = fields.valid ? fields.end_ns - fields.start_ns : 0;
	row = work_row(profile, work);
	if (!row)
		return -1;
	row->row.count++;
	row->row.gpu_ns += gpu_ns;
	if (fields.valid && gpumon_distribution_add(&row->duration, gpu_ns))
		return -1;
	/*
	 * Only the start of a graph's first operation shows the launch latency. If the clocks
	 * disagree there is no latency; the engine counts these cases.
	 */
	if (work->launch_ns && fields.start_ns >= work->launch_ns &&
	    !(work->launch_flags & GPUMON_LAUNCH_GRAPH && work->launch_work)) {
		uint64_t latency_ns = fields.start_ns - work->launch_ns;

		if (gpumon_distribution_add(&row->latency, latency_ns) ||
		    gpumon_distribution_add(&profile->latency, latency_ns))
			return -1;
	}
	if (work->tid) {
		const struct gpumon_key key = { { work->process, fields.device, work->tid } };
		bool added;

		if (gpumon_keys_number(&profile->launchers, &key, &added) == GPUMON_KEY_NONE)
			return -1;
	}
	if (work->launch_ns)
		gpumon_ranges_work(&profile->ranges, work->process, work->tid, work->launch_ns,
				   gpu_ns);
	if (add_to_tree(profile, work, &fields, row->row.name, gpu_ns, &leaf))
		return -1;
	process = &profile->tables.processes[work->process];
	profile->cut_stacks += gpumon_tables_cut_stack(process, work->stack);
	return gpumon_scale_work(&profile->scale, work,
				 &(struct gpumon_scale_place){
					 .windows = process->windows.sampled,
					 .stacks = process->has_unsampled && leaf &&
						   !profile->options.gpu_only,
					 .leaf = leaf,
					 .row = (uint32_t)(row - profile->kernels),
				 },
				 gpu_ns);
}

void gpumon_profile_on_work(void *data, const struct gpumon_work *work)
{
	struct gpumon_profile *profile = data;

	if (!profile->failed)
		profile->failed = add_work(profile, work) != 0;
}

/* The reason, with the name of the kernel in front, if the launch has it. NULL without memory. */
static const char *reason_of(struct gpumon_profile *profile, uint32_t process,
			     const struct gpumon_record_launch *launch, enum gpumon_launch_end end)
{
	const struct gpumon_key key = { { process, launch->name } };
	const char *mangled = NULL, **text;
	char *name, *both = NULL;
	bool added;

	if (launch->name && (end == GPUMON_LAUNCH_UNMATCHED || end == GPUMON_LAUNCH_WITHHELD))
		mangled = gpumon_tables_string(&profile->tables.processes[process], launch->name);
	if (!mangled)
		return end_reasons[end];
	text = GPUMON_KEYS_VALUE(&profile->launched_ids, &key, profile->launched,
				 profile->launched_room, &added);
	if (!text || !added)
		return text ? *text : NULL;
	name = gpumon_demangle(mangled);
	if (name && asprintf(&both, "%s %s", name, end_reasons[end]) >= 0)
		*text = gpumon_pool_text(&profile->pool, both);
	free(both);
	free(name);
	return *text;
}

static int add_call(struct gpumon_profile *profile, const struct gpumon_tree_where *where,
		    uint64_t cpu_ns, const char *reason)
{
	struct gpumon_node *node = gpumon_tree_path(&profile->tree, where);

	if (node && reason)
		node = gpumon_tree_named(&profile->tree, node, GPUMON_NODE_REASON, reason);
	if (!node)
		return -1;
	node->count++;
	node->cpu_ns += cpu_ns;
	return 0;
}

/* Its operations are not recorded. They are estimated when all similar launches are known. */
static int add_left_out(struct gpumon_profile *profile, const struct gpumon_tree_where *where,
			const struct gpumon_record_launch *launch)
{
	uint32_t ranges =
		gpumon_ranges_path(&profile->ranges, where->process, where->tid, where->time_ns);
	struct gpumon_node *node = NULL;

	if (!profile->options.gpu_only) {
		node = gpumon_tree_path(&profile->tree, where);
		if (!node)
			return -1;
		node->count += profile->options.cpu_only;
		node->cpu_ns += call_ns(launch->start_ns, launch->end_ns);
	}
	return gpumon_scale_launch(&profile->scale, where->process, launch, node, ranges);
}

static int add_launch(struct gpumon_profile *profile, const struct gpumon_tree_where *where,
		      const struct gpumon_record_launch *launch, enum gpumon_launch_end end)
{
	uint64_t cpu_ns = call_ns(launch->start_ns, launch->end_ns);
	const char *reason;

	if (profile->options.cpu_only)
		return add_call(profile, where, cpu_ns, NULL);
	reason = reason_of(profile, where->process, launch, end);
	return reason ? add_call(profile, where, cpu_ns, reason) : -1;
}

void gpumon_profile_on_launch(void *data, const struct gpumon_unmatched_launch *unmatched)
{
	const struct gpumon_record_launch *launch = unmatched->launch;
	const struct gpumon_tree_where where = {
		.process = unmatched->process,
		.tid = launch->tid,
		.stack = launch->stack,
		.function = launch->function,
		.time_ns = launch->start_ns,
		.reason = launch->head.flags & GPUMON_LAUNCH_UNSAMPLED && !launch->stack ?
				  match_reasons[GPUMON_MATCH_UNSAMPLED] :
				  NULL,
	};
	struct gpumon_profile *profile = data;

	if (profile->failed || is_outside(profile, launch->start_ns))
		return;
	if (unmatched->end == GPUMON_LAUNCH_LEFT_OUT)
		profile->failed = add_left_out(profile, &where, launch) != 0;
	else if (!profile->options.gpu_only)
		profile->failed = add_launch(profile, &where, launch, unmatched->end) != 0;
}

bool gpumon_profile_left_out(void *data, uint32_t process,
			     const struct gpumon_record_launch *launch)
{
	const struct gpumon_profile *profile = data;
	const struct gpumon_windows *windows = &profile->tables.processes[process].windows;

	/* Nodes that were still queued when the window ended are lost to CUPTI. */
	return windows->sampled &&
	       ((launch->head.flags & GPUMON_LAUNCH_GRAPH) ||
		!gpumon_windows_cover(windows, launch->start_ns, launch->end_ns));
}

void gpumon_profile_add_hit(struct gpumon_profile *profile, uint32_t process,
			    const struct gpumon_record *record)
{
	const struct gpumon_tables_process *of = &profile->tables.processes[process];
	struct gpumon_record_hit hit;
	struct gpumon_tree_where where = { .process = process };

	gpumon_record_copy(&hit, sizeof(hit), record);
	profile->hits++;
	/* The recorder gives a process a library or uprobes, so that both are only in a broken capture. */
	if (of->has_launches || profile->options.gpu_only || is_outside(profile, hit.time_ns))
		return;
	where.tid = hit.tid;
	where.stack = hit.stack;
	where.function = hit.function;
	where.time_ns = hit.time_ns;
	profile->cut_stacks += gpumon_tables_cut_stack(of, hit.stack);
	profile->failed |= add_call(profile, &where, hit.duration_ns, NULL) != 0;
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

bool gpumon_profile_is_cut(void *data, uint32_t process)
{
	const struct gpumon_profile *profile = data;
	const struct gpumon_tables_process *of = &profile->tables.processes[process];

	/* Their work may be among what was lost on the way, which is counted there. */
	return of->is_cut && !of->lacks_records;
}
