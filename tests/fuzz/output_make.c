// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "report/distribution.h"
#include "output.h"
#include "report/output_profile.h"
#include "report/view.h"

#define NODES_MAX 400
#define DEPTH_MAX 80
#define ROWS_MAX  12

/* Small and large numbers, and numbers at limits. */
static uint64_t number(struct fuzz_input *input)
{
	uint8_t how = fuzz_u8(input);

	switch (how % 8) {
	case 0:
		return 0;
	case 1:
	case 2:
		return fuzz_u8(input);
	case 3:
	case 4:
		return fuzz_u32(input);
	case 5:
		return UINT64_MAX - how / 8;
	case 6:
		return 1ull << how / 8 % 32 << 31;
	default:
		return fuzz_u64(input);
	}
}

static void make_tree(struct gpumon_view *view, struct fuzz_input *input)
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0), *at = root;
	unsigned int depth = 0;

	for (unsigned int n = 0; n < NODES_MAX && input->size; n++) {
		uint8_t order = fuzz_u8(input);
		char *name;

		/* Go up some levels, then one down. */
		for (uint8_t up = order % 8; up && at != root; up--, depth--)
			at = at->parent;
		if (order == 0xff)
			break;
		if (depth == DEPTH_MAX)
			continue;
		name = fuzz_text(input);
		at = made_node(at, 1 + order / 8 % (GPUMON_NODE_KINDS - 1), name, 0, 0, 0);
		free(name);
		if (order & 64)
			at->gpu_ns = number(input);
		if (order & 128) {
			at->count = number(input);
			at->cpu_ns = number(input);
		}
		if (order & 32) {
			at->wall_ns = number(input);
			at->wall_left_ns = number(input);
			at->idle_ns = number(input);
			at->idle_count = number(input);
			at->idle_longest_ns = number(input);
		}
		at->module = fuzz_text(input);
		at->line = fuzz_text(input);
		depth++;
	}
	view->root = root;
}

static void free_texts(struct gpumon_node *node)
{
	for (; node; node = node->next) {
		if (node->kind != GPUMON_NODE_ROOT) {
			free((char *)node->module);
			free((char *)node->line);
		}
		free_texts(node->child);
	}
}

static struct gpumon_distribution *make_distribution(struct fuzz_input *input)
{
	struct gpumon_distribution *distribution = calloc(1, sizeof(*distribution));

	MUST(distribution);
	for (uint8_t n = fuzz_u8(input) % 8; n; n--)
		gpumon_distribution_add(distribution, number(input));
	return distribution;
}

static void free_distribution(const struct gpumon_distribution *distribution)
{
	gpumon_distribution_clear((void *)(uintptr_t)distribution);
	free((void *)(uintptr_t)distribution);
}

static unsigned int rows(struct fuzz_input *input)
{
	return fuzz_u8(input) % ROWS_MAX;
}

static void *room(unsigned int count, size_t size)
{
	void *items = calloc(count + 1, size);

	MUST(items);
	return items;
}

static void make_tables(struct gpumon_view *view, struct fuzz_input *input)
{
	struct gpumon_kernel_row *kernels =
		room(view->kernel_count = rows(input), sizeof(*kernels));
	struct gpumon_device_row *devices =
		room(view->device_count = rows(input), sizeof(*devices));
	struct gpumon_range_row *ranges = room(view->range_count = rows(input), sizeof(*ranges));
	struct gpumon_gap *gaps = room(view->gap_count = rows(input), sizeof(*gaps));

	for (unsigned int i = 0; i < view->kernel_count; i++)
		kernels[i] = (struct gpumon_kernel_row){
			.name = fuzz_text(input),
			.mangled = fuzz_text(input),
			.kind = fuzz_u8(input) % GPUMON_WORK_KINDS,
			.count = number(input),
			.gpu_ns = number(input),
			.duration = make_distribution(input),
			.latency = make_distribution(input),
		};
	for (unsigned int i = 0; i < view->device_count; i++) {
		devices[i] = (struct gpumon_device_row){
			.host = fuzz_text(input),
			.name = fuzz_text(input),
			.uuid = "GPU-12",
			.process = fuzz_u8(input) % 4,
			.device = fuzz_u8(input) % 4,
			.context = fuzz_u8(input) % 4,
			.stream = fuzz_u8(input) % 2 ? ~0u : fuzz_u32(input),
			.count = number(input),
			.gpu_ns = number(input),
			.busy_ns = number(input),
			.first_ns = number(input),
			.last_ns = number(input),
			.idle_longest_ns = number(input),
			.missed_ns = number(input),
		};
	}
	for (unsigned int i = 0; i < view->range_count; i++)
		ranges[i] = (struct gpumon_range_row){
			.domain = fuzz_text(input),
			.text = fuzz_text(input),
			.count = number(input),
			.cpu_ns = number(input),
			.works = number(input),
			.gpu_ns = number(input),
		};
	for (unsigned int i = 0; i < view->gap_count; i++) {
		gaps[i] = (struct gpumon_gap){
			.process = fuzz_u8(input) % 4,
			.device = fuzz_u8(input) % 4,
			.start_ns = number(input),
			.end_ns = number(input),
			.doing = fuzz_text(input),
		};
		if (gaps[i].end_ns < gaps[i].start_ns)
			gaps[i].end_ns = gaps[i].start_ns;
	}
	view->kernels = kernels;
	view->devices = devices;
	view->ranges = ranges;
	view->gaps = gaps;
}

/* Where wall time and idle time went. Times are not those of the tree, as in a broken capture. */
static void make_budget(struct gpumon_view *view, struct fuzz_input *input)
{
	struct gpumon_budget_row *budget = room(view->budget_count = rows(input), sizeof(*budget));
	struct gpumon_idle_row *idle = room(view->idle_count = rows(input), sizeof(*idle));

	for (unsigned int i = 0; i < view->budget_count; i++) {
		budget[i].process = fuzz_u8(input) % 4;
		budget[i].tid = fuzz_u32(input);
		budget[i].name = fuzz_text(input);
		budget[i].wall_ns = number(input);
		for (unsigned int spent = 0; spent < GPUMON_SPENTS; spent++)
			budget[i].spent_ns[spent] = number(input);
		for (unsigned int kind = 0; kind < GPUMON_WAIT_KINDS; kind++)
			budget[i].blocked_ns[kind] = number(input);
		budget[i].launches = number(input);
		budget[i].unsampled_ns = number(input);
		budget[i].looks = number(input);
		budget[i].looks_hz = fuzz_u8(input);
		budget[i].untimed = fuzz_u8(input) % 2;
	}
	for (unsigned int i = 0; i < view->idle_count; i++) {
		idle[i].gpu = i;
		idle[i].before_ns = number(input);
		idle[i].after_ns = number(input);
		idle[i].between_ns = number(input);
		for (unsigned int kind = 0; kind < GPUMON_OVERHEAD_KINDS; kind++)
			idle[i].overhead_ns[kind] = number(input);
		idle[i].queued_ns = number(input);
		idle[i].gaps = number(input);
		idle[i].longest_ns = number(input);
	}
	view->budget = budget;
	view->idle = idle;
}

static struct gpumon_scan *make_scan(struct fuzz_input *input)
{
	struct gpumon_scan *scan = room(1, sizeof(*scan));

	scan->created_ns = number(input);
	scan->ended = fuzz_u8(input) % 2;
	scan->host = fuzz_text(input);
	scan->command = fuzz_text(input);
	scan->process_count = rows(input);
	scan->processes = room(scan->process_count, sizeof(*scan->processes));
	for (unsigned int i = 0; i < scan->process_count; i++)
		scan->processes[i] = (struct gpumon_scan_process){
			.number = i,
			.pid = fuzz_u32(input),
			.host_pid = fuzz_u8(input),
			.rank = fuzz_u8(input) % 2 ? ~0u : fuzz_u32(input),
			.host = fuzz_text(input),
			.executable = fuzz_text(input),
			.command = fuzz_text(input),
			.cupti_version = fuzz_u32(input),
			.driver_version = fuzz_u32(input),
		};
	scan->note_count = rows(input);
	scan->notes = room(scan->note_count, sizeof(*scan->notes));
	for (unsigned int i = 0; i < scan->note_count; i++)
		scan->notes[i] = fuzz_text(input);
	scan->totals_known = fuzz_u8(input) % 2;
	scan->totals.launches = number(input);
	scan->totals.kernels = number(input);
	scan->stream_count = rows(input);
	scan->streams = room(scan->stream_count, sizeof(*scan->streams));
	for (unsigned int i = 0; i < scan->stream_count; i++)
		scan->streams[i] = (struct gpumon_scan_stream){
			.process = i / 4,
			.context = fuzz_u8(input) % 4,
			.stream = i,
			.priority = (int32_t)fuzz_u32(input),
			.name = fuzz_text(input),
		};
	scan->bins = fuzz_u8(input) % 16;
	scan->bin_ns = scan->bins ? 1 + fuzz_u32(input) : 0;
	scan->first_ns = number(input);
	scan->row_count = scan->bins ? rows(input) : 0;
	scan->rows = room(scan->row_count, sizeof(*scan->rows));
	for (unsigned int i = 0; i < scan->row_count; i++) {
		scan->rows[i].process = i / 4;
		scan->rows[i].device = fuzz_u8(input) % 4;
		scan->rows[i].context = fuzz_u8(input) % 4;
		scan->rows[i].stream = fuzz_u8(input) % 2 ? ~0u : i;
		scan->rows[i].busy_ns = room(scan->bins, sizeof(uint64_t));
		/* At most the length of a bin. */
		for (unsigned int k = 0; k < scan->bins; k++)
			scan->rows[i].busy_ns[k] = number(input) % (scan->bin_ns + 1);
	}
	for (unsigned int i = 0; i < GPUMON_UNIFIED_KINDS; i++) {
		scan->unified[i].count = number(input);
		scan->unified[i].bytes = number(input);
		scan->unified[i].faults = number(input);
		scan->unified[i].ns = number(input);
	}
	return scan;
}

/* What is estimated. A root has no operations of its own. */
static void make_sampling(struct fuzz_profile *profile, struct fuzz_input *input)
{
	struct gpumon_view *view = &profile->view;
	struct gpumon_kernel_row *kernels = (struct gpumon_kernel_row *)(uintptr_t)view->kernels;
	struct gpumon_range_row *ranges = (struct gpumon_range_row *)(uintptr_t)view->ranges;

	profile->sampling = (struct gpumon_sampling){
		.windows = number(input),
		.windows_ns = number(input),
		.paused = fuzz_u8(input) % 2,
		.recorded = number(input),
		.left_out = number(input),
		.no_sample = number(input),
		.sampled = number(input),
		.unsampled = number(input),
		.no_path = number(input),
	};
	view->sampling = &profile->sampling;
	for (unsigned int i = 0; i < view->kernel_count; i++) {
		kernels[i].left_count = number(input);
		kernels[i].left_ns = number(input);
	}
	for (unsigned int i = 0; i < view->range_count; i++) {
		ranges[i].left_works = number(input);
		ranges[i].left_ns = number(input);
	}
	for (const struct gpumon_node *at = view->root->child; at;
	     at = gpumon_tree_next(at, view->root)) {
		struct gpumon_node *node = (struct gpumon_node *)(uintptr_t)at;

		node->left_count = number(input);
		node->left_ns = number(input);
	}
}

void fuzz_profile_make(struct fuzz_profile *profile, struct fuzz_input *input)
{
	struct gpumon_view *view = &profile->view;
	uint8_t flags = fuzz_u8(input);

	memset(profile, 0, sizeof(*profile));
	view->latency = make_distribution(input);
	view->first_ns = number(input);
	view->last_ns = number(input);
	if (flags & 1) {
		for (unsigned int i = 0; i < GPUMON_LOSS_CAUSES; i++)
			profile->losses[i] = number(input);
		view->losses = profile->losses;
	}
	if (flags & 2) {
		uint64_t *words = (uint64_t *)&profile->counts;

		for (size_t i = 0; i < sizeof(profile->counts) / sizeof(*words); i++)
			words[i] = number(input);
		view->counts = &profile->counts;
	}
	if (flags & 4) {
		profile->damage.truncated_bytes = number(input);
		profile->damage.broken_chunks = number(input);
		profile->damage.unreadable_files = fuzz_u8(input);
		view->damage = &profile->damage;
	}
	if (flags & 8)
		make_tables(view, input);
	if (flags & 16)
		view->scan = make_scan(input);
	make_tree(view, input);
	if (flags & 64)
		make_budget(view, input);
	if (flags & 32)
		make_sampling(profile, input);
}

void fuzz_profile_free(struct fuzz_profile *profile)
{
	struct gpumon_view *view = &profile->view;

	for (unsigned int i = 0; i < view->kernel_count; i++) {
		free((char *)view->kernels[i].name);
		free((char *)view->kernels[i].mangled);
		free_distribution(view->kernels[i].duration);
		free_distribution(view->kernels[i].latency);
	}
	for (unsigned int i = 0; i < view->device_count; i++) {
		free((char *)view->devices[i].host);
		free((char *)view->devices[i].name);
	}
	for (unsigned int i = 0; i < view->range_count; i++) {
		free((char *)view->ranges[i].domain);
		free((char *)view->ranges[i].text);
	}
	for (unsigned int i = 0; i < view->gap_count; i++)
		free((char *)view->gaps[i].doing);
	for (unsigned int i = 0; i < view->budget_count; i++)
		free((char *)view->budget[i].name);
	free((void *)(uintptr_t)view->budget);
	free((void *)(uintptr_t)view->idle);
	free((void *)(uintptr_t)view->kernels);
	free((void *)(uintptr_t)view->devices);
	free((void *)(uintptr_t)view->ranges);
	free((void *)(uintptr_t)view->gaps);
	free_distribution(view->latency);
	gpumon_scan_free((struct gpumon_scan *)(uintptr_t)view->scan);
	free_texts((struct gpumon_node *)(uintptr_t)view->root);
	made_free((struct gpumon_node *)(uintptr_t)view->root);
}
