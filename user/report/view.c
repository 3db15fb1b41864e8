// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"
#include "view.h"

void gpumon_view_of(const struct gpumon_profile *profile, struct gpumon_view *view)
{
	memset(view, 0, sizeof(*view));
	view->root = gpumon_profile_root(profile);
	view->kernels = gpumon_profile_kernels(profile, &view->kernel_count);
	view->devices = gpumon_profile_devices(profile, &view->device_count);
	view->ranges = gpumon_profile_ranges(profile, &view->range_count);
	view->budget = gpumon_profile_budget(profile, &view->budget_count);
	view->idle = gpumon_profile_idle(profile, &view->idle_count);
	view->copies = gpumon_profile_copies(profile);
	view->stalls = gpumon_profile_stalls(profile);
	view->ranks = gpumon_profile_ranks(profile, &view->rank_count);
	view->gaps = gpumon_profile_gaps(profile, &view->gap_count);
	view->operations = gpumon_profile_operations(profile, &view->operation_count);
	view->latency = gpumon_profile_latency(profile);
	view->sampling = gpumon_profile_sampling(profile);
	if (!view->sampling->windows && !view->sampling->unsampled)
		view->sampling = NULL;
	view->counts = gpumon_profile_counts(profile);
	view->has_presents = gpumon_profile_has_presents(profile);
	view->hits = gpumon_profile_hits(profile);
	view->metrics = gpumon_profile_metrics(profile);
	view->losses = gpumon_profile_losses(profile);
	view->damage = gpumon_profile_damage(profile);
	view->cut_paths = gpumon_profile_cut_paths(profile);
	view->cut_stacks = gpumon_profile_cut_stacks(profile);
	gpumon_profile_times(profile, &view->first_ns, &view->last_ns);
	view->range = gpumon_profile_range(profile);
	view->scan = gpumon_profile_scan(profile);
}

const char *gpumon_view_findings_name(char *buf, size_t len, const struct gpumon_view *view,
				      unsigned int number)
{
	const char *tool = view->findings[number]->tool;
	int at = snprintf(buf, len, "%s", tool ? tool : "");

	if (view->findings_count > 1 && at >= 0 && (size_t)at < len)
		snprintf(buf + at, len - (size_t)at, ", %u of %u captures", number + 1,
			 view->findings_count);
	return buf;
}

unsigned int gpumon_view_figures(const struct gpumon_view *view,
				 struct gpumon_figure figures[GPUMON_FIGURES])
{
	return view->findings_count == 1 ? gpumon_findings_figures(view->findings[0], figures) : 0;
}

void gpumon_view_totals(const struct gpumon_view *view, struct gpumon_view_totals *totals)
{
	struct gpumon_missing missing;

	memset(totals, 0, sizeof(*totals));
	for (const struct gpumon_node *node = view->root; node;
	     node = gpumon_tree_next(node, view->root)) {
		totals->gpu_ns = gpumon_add_saturated(
			totals->gpu_ns, gpumon_tree_weight(node, GPUMON_WEIGHT_GPU_NS));
		totals->cpu_ns = gpumon_add_saturated(totals->cpu_ns, node->cpu_ns);
		totals->count = gpumon_add_saturated(totals->count, node->count);
		totals->untimed = gpumon_add_saturated(
			totals->untimed, gpumon_tree_weight(node, GPUMON_WEIGHT_UNTIMED));
	}
	for (unsigned int i = 0; i < view->kernel_count; i++) {
		const struct gpumon_kernel_row *row = &view->kernels[i];

		totals->work_ns = gpumon_add_saturated(
			totals->work_ns, gpumon_add_saturated(row->gpu_ns, row->left_ns));
		if (totals->gpu_ns) {
			totals->left_count =
				gpumon_add_saturated(totals->left_count, row->left_count);
			totals->left_ns = gpumon_add_saturated(totals->left_ns, row->left_ns);
		}
	}
	/* What is estimated is a part of the sum, unless the capture is broken. */
	if (totals->left_ns > totals->gpu_ns)
		totals->left_ns = totals->gpu_ns;
	/* Nodes also count launches without GPU operations. */
	gpumon_missing_of(view, &missing);
	if (missing.work && totals->gpu_ns)
		totals->count = gpumon_add_saturated(missing.work, totals->left_count);
	totals->wall_ns = view->last_ns > view->first_ns ? view->last_ns - view->first_ns : 0;
}

uint64_t gpumon_tree_sum(const struct gpumon_node *root, enum gpumon_weight weight)
{
	uint64_t sum = 0;

	for (const struct gpumon_node *node = root; node; node = gpumon_tree_next(node, root))
		sum = gpumon_add_saturated(sum, gpumon_tree_weight(node, weight));
	return sum;
}

enum gpumon_weight gpumon_view_weight(const struct gpumon_view *view)
{
	struct gpumon_view_totals totals;

	gpumon_view_totals(view, &totals);
	if (totals.gpu_ns)
		return GPUMON_WEIGHT_GPU_NS;
	return totals.cpu_ns && !totals.untimed ? GPUMON_WEIGHT_CPU_NS : GPUMON_WEIGHT_COUNT;
}

const char *gpumon_view_command(const struct gpumon_view *view)
{
	const struct gpumon_scan *scan = view->scan;

	if (!scan)
		return "";
	if (scan->command && *scan->command)
		return scan->command;
	/* For live processes, use the first one with a known command. */
	for (unsigned int i = 0; i < scan->process_count; i++) {
		if (scan->processes[i].command && *scan->processes[i].command)
			return scan->processes[i].command;
	}
	return "";
}

const struct gpumon_scan_process *gpumon_view_process(const struct gpumon_view *view,
						      uint32_t number)
{
	const struct gpumon_scan *scan = view->scan;

	for (unsigned int i = 0; scan && i < scan->process_count; i++) {
		if (scan->processes[i].number == number)
			return &scan->processes[i];
	}
	return NULL;
}

uint32_t gpumon_view_pid(const struct gpumon_view *view, uint32_t process)
{
	const struct gpumon_scan_process *of = gpumon_view_process(view, process);

	return of ? gpumon_scan_pid(of) : 0;
}

const char *gpumon_view_thread(char *buf, size_t len, const struct gpumon_view *view,
			       const struct gpumon_budget_row *row)
{
	const struct gpumon_scan_process *process = gpumon_view_process(view, row->process);
	const struct gpumon_scan *scan = view->scan;
	bool hosts = false;
	size_t at;

	for (unsigned int i = 1; scan && i < scan->process_count; i++)
		hosts |= strcmp(scan->processes[i].host ? scan->processes[i].host : "",
				scan->processes[0].host ? scan->processes[0].host : "") != 0;
	snprintf(buf, len, "%.64s %u", *row->name ? row->name : "thread", row->tid);
	at = strlen(buf);
	if (process && scan->process_count > 1 && process->pid != row->tid)
		snprintf(buf + at, len - at, " of %u", gpumon_scan_pid(process));
	at = strlen(buf);
	if (process && hosts && process->host)
		snprintf(buf + at, len - at, " on %.64s", process->host);
	return buf;
}

const char *gpumon_view_budget_note(char *buf, size_t len, const struct gpumon_view *view)
{
	char number[GPUMON_TEXT_NUMBER], time[GPUMON_FORMAT_LEN];
	uint64_t looks = 0, unsampled_ns = 0, slowest = 0, fastest = 0;
	bool untimed = false;
	int at = 0;

	for (unsigned int i = 0; i < view->budget_count; i++) {
		const struct gpumon_budget_row *row = &view->budget[i];
		uint64_t hz = (uint64_t)(row->looks_hz + 0.5);

		looks = gpumon_add_saturated(looks, row->looks);
		unsampled_ns = gpumon_add_saturated(unsampled_ns, row->unsampled_ns);
		untimed |= row->untimed;
		if (row->looks && (!slowest || hz < slowest))
			slowest = hz;
		if (row->looks && hz > fastest)
			fastest = hz;
	}
	buf[0] = '\0';
	if (!view->budget_count)
		return buf;
	if (!looks)
		at = snprintf(
			buf, len,
			"Nothing looked at threads between their calls: whether they ran or waited is not known.");
	else if (slowest < fastest)
		at = snprintf(
			buf, len,
			"Whether a thread ran or was blocked between calls is from %s looks, %llu to %llu a second.",
			gpumon_text_count(number, sizeof(number), looks),
			(unsigned long long)slowest, (unsigned long long)fastest);
	else
		at = snprintf(
			buf, len,
			"Whether a thread ran or was blocked between calls is from %s looks, %llu a second.",
			gpumon_text_count(number, sizeof(number), looks),
			(unsigned long long)fastest);
	if (untimed && at >= 0 && (size_t)at < len)
		at += snprintf(
			buf + at, len - (size_t)at,
			" uprobes see no ends of launch calls: their time counts as between calls.");
	if (unsampled_ns && at >= 0 && (size_t)at < len)
		snprintf(
			buf + at, len - (size_t)at,
			" %s between calls is next to launches without a stack (--sample): its functions are estimated.",
			gpumon_format_ns(time, sizeof(time), gpumon_value_of(unsampled_ns)));
	return buf;
}

/* Time in which the API did something for itself. Where a queue is full, the GPU has work. */
static uint64_t start_up_ns(const struct gpumon_idle_row *row)
{
	uint64_t ns = 0;

	for (unsigned int kind = 0; kind < GPUMON_OVERHEAD_KINDS; kind++) {
		if (kind != GPUMON_OVERHEAD_QUEUE_FULL)
			ns = gpumon_add_saturated(ns, row->overhead_ns[kind]);
	}
	return ns < row->between_ns ? ns : row->between_ns;
}

uint64_t gpumon_view_in_use(const struct gpumon_view *view, const struct gpumon_device_row *row)
{
	for (unsigned int i = 0; i < view->idle_count; i++) {
		const struct gpumon_idle_row *idle = &view->idle[i];

		if (idle->gpu == row->gpu)
			return gpumon_add_saturated(row->busy_ns,
						    idle->between_ns - start_up_ns(idle));
	}
	return 0;
}

const char *gpumon_view_gpu(char text[GPUMON_DEVICE_TEXT], const struct gpumon_device_row *row)
{
	return row->text ? row->text : gpumon_device_text(text, row->device, row->type);
}

static const struct gpumon_device_row *gpu_of(const struct gpumon_view *view, uint32_t gpu)
{
	for (unsigned int i = 0; i < view->device_count; i++) {
		if (view->devices[i].gpu == gpu && gpumon_view_is_gpu(&view->devices[i]))
			return &view->devices[i];
	}
	return NULL;
}

const char *gpumon_view_gap(char text[GPUMON_DEVICE_TEXT], const struct gpumon_view *view,
			    const struct gpumon_gap *gap)
{
	const struct gpumon_device_row *row = gpu_of(view, gap->gpu);

	return row && row->text ? row->text : gpumon_device_text(text, gap->device, gap->type);
}

const char *gpumon_view_part(char text[GPUMON_DEVICE_TEXT], const struct gpumon_view *view,
			     const struct gpumon_device_row *row)
{
	const struct gpumon_device_row *gpu = gpu_of(view, row->gpu);

	return gpu && gpu->device == row->device ? "" :
						   gpumon_device_text(text, row->device, row->type);
}

/* If it does not fit, first shorten words that are paths to their last part. */
static void cut_command(char *buf, size_t len, const char *command, unsigned int columns)
{
	char *copy = gpumon_text_columns(command) > columns ? strdup(command) : NULL;
	char *to = copy, *word = copy;
	bool path = false;

	for (const char *at = command; copy && *at; at++) {
		if (at == command || at[-1] == ' ')
			path = *at == '/' || *at == '.';
		*to++ = *at;
		if (*at == ' ')
			word = to;
		else if (path && *at == '/' && at[1] && at[1] != ' ')
			to = word;
	}
	if (copy)
		*to = '\0';
	gpumon_text_cut(buf, len, copy ? copy : command, columns);
	free(copy);
}

const char *gpumon_view_sampling(char *buf, size_t len, const struct gpumon_view *view)
{
	char a[GPUMON_TEXT_NUMBER], b[GPUMON_TEXT_NUMBER], c[GPUMON_TEXT_NUMBER];
	char time[GPUMON_TEXT_NUMBER];
	const struct gpumon_sampling *sampling = view->sampling;
	size_t at = 0;

#define APPEND(...)                                                              \
	do {                                                                     \
		if (at < len)                                                    \
			at += (size_t)snprintf(buf + at, len - at, __VA_ARGS__); \
	} while (0)

	if (!len)
		return buf;
	buf[0] = '\0';
	if (!sampling)
		return buf;
	if (sampling->left_out || sampling->unsampled)
		APPEND("~ is estimated: ");
	if (sampling->left_out)
		APPEND("the work of %s of %s launches was recorded, in ",
		       gpumon_text_count(a, sizeof(a), sampling->recorded),
		       gpumon_text_count(b, sizeof(b), sampling->recorded + sampling->left_out));
	else if (sampling->windows)
		APPEND("recorded in ");
	if (sampling->windows)
		APPEND("%s %s of %s together%s", gpumon_text_count(c, sizeof(c), sampling->windows),
		       sampling->windows == 1 ? "window" : "windows",
		       gpumon_text_ns(time, sizeof(time), sampling->windows_ns),
		       sampling->paused ? ", with nothing known of pauses between them" : "");
	if (sampling->no_sample)
		APPEND("; %s %s like none of these and not part of it",
		       gpumon_text_count(a, sizeof(a), sampling->no_sample),
		       sampling->no_sample == 1 ? "launch is" : "launches are");
	if (sampling->unsampled)
		APPEND("%sthe call paths of %s of %s GPU operations were sampled",
		       sampling->windows ? "; " : "",
		       gpumon_text_count(a, sizeof(a), sampling->sampled),
		       gpumon_text_count(b, sizeof(b), sampling->sampled + sampling->unsampled));
	if (sampling->no_path)
		APPEND("; %s are of kernels of which none was",
		       gpumon_text_count(a, sizeof(a), sampling->no_path));
#undef APPEND
	return buf;
}

const char *gpumon_view_complete(const struct gpumon_view *view)
{
	if (!view->sampling)
		return "no record was lost, and all work has its call path";
	if (view->sampling->left_out)
		return "no record was lost, but only a part was recorded: ~ is estimated";
	if (view->sampling->unsampled)
		return "no record was lost, but call paths were sampled: ~ is estimated";
	return "no record was lost, but only windows were recorded";
}

const char *gpumon_view_range(char *buf, size_t len, const struct gpumon_view *view)
{
	struct gpumon_missing missing;
	char part[512];

	buf[0] = '\0';
	if (!view->range)
		return buf;
	gpumon_missing_of(view, &missing);
	snprintf(buf, len, "%s%s%s%s%s", gpumon_time_range_text(part, sizeof(part), view->range),
		 missing.lost || view->findings_count ? "; of all the recording: " : "",
		 missing.lost ? "losses" : "", missing.lost && view->findings_count ? ", " : "",
		 view->findings_count ? "what programs in kernels gathered" : "");
	return buf;
}

const char *gpumon_view_subtitle(char *buf, size_t len, const struct gpumon_view *view)
{
	char wall[GPUMON_TEXT_NUMBER], gpu[GPUMON_TEXT_NUMBER], count[GPUMON_TEXT_NUMBER];
	char command[160] = "", work[2 * GPUMON_TEXT_NUMBER + 64], range[512];
	const char *host = view->scan && view->scan->host ? view->scan->host : "";
	struct gpumon_view_totals totals;
	const char *mark;

	gpumon_view_totals(view, &totals);
	mark = totals.left_ns ? "~" : "";
	/* Only the CPU side was recorded, or the program ended before CUPTI reported anything. */
	if (!totals.gpu_ns && totals.cpu_ns)
		snprintf(work, sizeof(work),
			 gpumon_view_has_hits(view) ? "%s calls, %s in them" :
						      "%s launches, %s in their calls",
			 gpumon_text_count(count, sizeof(count), totals.count),
			 gpumon_text_ns(gpu, sizeof(gpu), totals.cpu_ns));
	else
		snprintf(work, sizeof(work), "%s%s of GPU time in %s%s operations", mark,
			 gpumon_text_ns(gpu, sizeof(gpu), totals.gpu_ns), mark,
			 gpumon_text_count(count, sizeof(count), totals.count));
	cut_command(command, sizeof(command), gpumon_view_command(view), 60);
	gpumon_view_range(range, sizeof(range), view);
	snprintf(buf, len, "%s%s%s%s%s recorded%s%s · %s", command, *command ? " · " : "", host,
		 *host ? " · " : "", gpumon_text_ns(wall, sizeof(wall), totals.wall_ns),
		 *range ? ", " : "", range, work);
	return buf;
}

/* --- names, and what is missing */

bool gpumon_tree_unnamed(const struct gpumon_node *node)
{
	size_t length = node->module ? strlen(node->module) : 0;

	return node->kind == GPUMON_NODE_FUNCTION && length &&
	       !strncmp(node->name, node->module, length) &&
	       !strncmp(node->name + length, "+0x", 3);
}

const char *gpumon_node_kind_name(enum gpumon_node_kind kind)
{
	static const char *const names[GPUMON_NODE_KINDS] = {
		[GPUMON_NODE_ROOT] = "root",	 [GPUMON_NODE_PROCESS] = "process",
		[GPUMON_NODE_THREAD] = "thread", [GPUMON_NODE_FUNCTION] = "function",
		[GPUMON_NODE_PYTHON] = "python", [GPUMON_NODE_API] = "api",
		[GPUMON_NODE_DEVICE] = "device", [GPUMON_NODE_STREAM] = "stream",
		[GPUMON_NODE_GRAPH] = "graph",	 [GPUMON_NODE_KERNEL] = "kernel",
		[GPUMON_NODE_COPY] = "copy",	 [GPUMON_NODE_SET] = "set",
		[GPUMON_NODE_REASON] = "reason", [GPUMON_NODE_WHOLE_GRAPH] = "whole_graph",
		[GPUMON_NODE_STATE] = "state",	 [GPUMON_NODE_STALL] = "stall",
	};

	return (unsigned int)kind < GPUMON_NODE_KINDS && names[kind] ? names[kind] : "unknown";
}

const char *gpumon_weight_key(enum gpumon_weight weight)
{
	switch (weight) {
	case GPUMON_WEIGHT_COUNT:
		return "count";
	case GPUMON_WEIGHT_CPU_NS:
		return "cpu_ns";
	case GPUMON_WEIGHT_UNTIMED:
		return "count";
	case GPUMON_WEIGHT_WALL_NS:
		return "wall_ns";
	case GPUMON_WEIGHT_IDLE_NS:
		return "idle_ns";
	case GPUMON_WEIGHT_GPU_NS:
		break;
	}
	return "gpu_ns";
}

/* By cause: the name in JSON, a description, and the remedy. */
static const struct {
	const char *key;
	const char *text;
	const char *advice;
} losses[GPUMON_LOSS_CAUSES] = {
	[GPUMON_LOSS_CHANNEL_FULL] = { "channel_full",
				       "records: the channel to the recorder was full",
				       "give the channel more memory" },
	[GPUMON_LOSS_API_DROPPED] = { "api_dropped", "records of the GPU: dropped by the API",
				      "record fewer kinds, or in windows" },
	[GPUMON_LOSS_WITHHELD] = { "withheld",
				   "launches: their work was not reported when the process ended",
				   "let the program wait for its work, or end by exit()" },
	[GPUMON_LOSS_NO_TIMESTAMP] = { "no_timestamp", "GPU operations without times",
				       "record in shorter windows" },
	[GPUMON_LOSS_STACK_TABLE] = { "stack_table", "call paths: the table of stacks was full",
				      "give stacks more memory" },
	[GPUMON_LOSS_STRING_TABLE] = { "string_table", "names: the table of strings was full",
				       "give strings more memory" },
	[GPUMON_LOSS_UPROBE_RING] = { "uprobe_ring", "uprobe hits: the ring was full",
				      "give the ring more memory" },
	[GPUMON_LOSS_UPROBE_STACK] = { "uprobe_stack", "stacks of uprobe hits that were not taken",
				       "give the table of stacks more memory" },
	[GPUMON_LOSS_DRIVER_RING] = { "driver_ring", "driver events: overwritten before read",
				      "give the module's ring more memory" },
	[GPUMON_LOSS_UNKNOWN_RECORD] = { "unknown_record",
					 "the API's records of a layout that is not known",
					 "use a newer gpumon" },
	[GPUMON_LOSS_RECORDER] = { "recorder", "records that could not be written",
				   "make room on the disk" },
	[GPUMON_LOSS_INTERRUPTED] = { "interrupted",
				      "records of signal handlers, amid another of their thread",
				      "" },
	[GPUMON_LOSS_BROKEN] = { "broken", "what the program left in the channel was no record",
				 "" },
	[GPUMON_LOSS_TOO_LONG] = { "too_long", "records longer than a block of the channel", "" },
	[GPUMON_LOSS_UPROBE_UNDECIDED] = { "uprobe_undecided",
					   "calls: uprobes could not decide whether they are nested",
					   "" },
	[GPUMON_LOSS_MAX_SIZE] = { "max_size", "records beyond the largest size of the capture",
				   "raise --max-size" },
	[GPUMON_LOSS_METRIC_SAMPLES] = { "metric_samples",
					 "samples of GPU metrics that were not decoded in time",
					 "ask for fewer samples a second" },
	[GPUMON_LOSS_ACROSS_WINDOWS] = { "across_windows", "nodes of graphs at the ends of windows",
					 "" },
};

/* There is no advice for causes that are newer than this table. */
#define LOSS(field)                                                                              \
	((unsigned int)cause < GPUMON_LOSS_CAUSES && losses[cause].field ? losses[cause].field : \
									   "unknown")

const char *gpumon_loss_key(enum gpumon_loss cause)
{
	return LOSS(key);
}

static const char *loss_text(enum gpumon_loss cause)
{
	return LOSS(text);
}

/* The remedy, "" if there is none. */
static const char *loss_advice(enum gpumon_loss cause)
{
	if ((unsigned int)cause >= GPUMON_LOSS_CAUSES || !losses[cause].advice)
		return "";
	return losses[cause].advice;
}

const char *gpumon_match_key(enum gpumon_match match)
{
	static const char *const keys[GPUMON_MATCH_KINDS] = {
		[GPUMON_MATCH_STACK] = "stack",		[GPUMON_MATCH_GRAPH_NODE] = "graph_node",
		[GPUMON_MATCH_NO_STACK] = "no_stack",	[GPUMON_MATCH_NO_LAUNCH] = "no_launch",
		[GPUMON_MATCH_INTERNAL] = "internal",	[GPUMON_MATCH_UNSAMPLED] = "unsampled",
		[GPUMON_MATCH_AMBIGUOUS] = "ambiguous",
	};

	return (unsigned int)match < GPUMON_MATCH_KINDS ? keys[match] : "unknown";
}

static const char *match_text(enum gpumon_match match)
{
	static const char *const texts[GPUMON_MATCH_KINDS] = {
		[GPUMON_MATCH_STACK] = "by the stack of its launch",
		[GPUMON_MATCH_GRAPH_NODE] = "by the stack that made its graph node",
		[GPUMON_MATCH_NO_STACK] = "launch known, without a stack",
		[GPUMON_MATCH_NO_LAUNCH] = "launch was not recorded",
		[GPUMON_MATCH_INTERNAL] = "launched by CUDA itself",
		[GPUMON_MATCH_UNSAMPLED] = "call path left out by --sample, estimated from others",
		[GPUMON_MATCH_AMBIGUOUS] =
			"one of several launches to which CUPTI gave the same number",
	};

	return (unsigned int)match < GPUMON_MATCH_KINDS ? texts[match] : "unknown";
}

const char *gpumon_launch_end_key(enum gpumon_launch_end end)
{
	static const char *const keys[GPUMON_LAUNCH_ENDS] = {
		[GPUMON_LAUNCH_UNMATCHED] = "without_work",
		[GPUMON_LAUNCH_IN_GRAPH] = "captured_into_graph",
		[GPUMON_LAUNCH_REFUSED] = "refused",
		[GPUMON_LAUNCH_LEFT_OUT] = "left_out",
		[GPUMON_LAUNCH_WITHHELD] = "withheld",
	};

	return (unsigned int)end < GPUMON_LAUNCH_ENDS ? keys[end] : "unknown";
}

static const char *launch_end_text(enum gpumon_launch_end end)
{
	static const char *const texts[GPUMON_LAUNCH_ENDS] = {
		[GPUMON_LAUNCH_UNMATCHED] = "launches of which no work of the GPU is recorded",
		[GPUMON_LAUNCH_IN_GRAPH] = "launches captured into graphs: no work of their own",
		[GPUMON_LAUNCH_REFUSED] = "launches that failed",
		[GPUMON_LAUNCH_LEFT_OUT] =
			"launches outside of the windows: their work is estimated",
	};

	return (unsigned int)end < GPUMON_LAUNCH_ENDS ? texts[end] : "unknown";
}

const char *gpumon_untimed_key(enum gpumon_untimed why)
{
	static const char *const keys[GPUMON_UNTIMED_KINDS] = {
		[GPUMON_UNTIMED_FAILED] = "failed",
		[GPUMON_UNTIMED_UNFINISHED] = "unfinished",
		[GPUMON_UNTIMED_NOT_MEASURED] = "not_measured",
		[GPUMON_UNTIMED_IMPOSSIBLE] = "impossible",
	};

	return (unsigned int)why < GPUMON_UNTIMED_KINDS ? keys[why] : "unknown";
}

const char *gpumon_untimed_text(enum gpumon_untimed why)
{
	static const char *const texts[GPUMON_UNTIMED_KINDS] = {
		[GPUMON_UNTIMED_FAILED] = "failed",
		[GPUMON_UNTIMED_UNFINISHED] = "had not ended when the capture did",
		[GPUMON_UNTIMED_NOT_MEASURED] = "not measured",
		[GPUMON_UNTIMED_IMPOSSIBLE] = "the API's times are not possible",
	};

	return (unsigned int)why < GPUMON_UNTIMED_KINDS ? texts[why] : "unknown";
}

const char *gpumon_work_kind_text(enum gpumon_work_kind kind)
{
	static const char *const texts[GPUMON_WORK_KINDS] = {
		[GPUMON_WORK_KERNEL] = "kernel",
		[GPUMON_WORK_COPY] = "copy",
		[GPUMON_WORK_SET] = "set",
		[GPUMON_WORK_GRAPH] = "graph",
	};

	return (unsigned int)kind < GPUMON_WORK_KINDS ? texts[kind] : "unknown";
}

static bool is_empty(const struct gpumon_view *view)
{
	const struct gpumon_correlate_counts *counts = view->counts;

	if (view->kernel_count || view->range_count || view->findings_count || view->hits ||
	    (counts && counts->launches))
		return false;
	for (unsigned int end = 0; counts && end < GPUMON_LAUNCH_ENDS; end++) {
		if (counts->unmatched_launches[end])
			return false;
	}
	for (const struct gpumon_node *node = view->root; node;
	     node = gpumon_tree_next(node, view->root)) {
		if (node->count || node->cpu_ns)
			return false;
	}
	return true;
}

static const char *why_nothing(const struct gpumon_scan *scan, const struct gpumon_missing *missing)
{
	if (missing->lost || missing->damaged)
		return "what there was is lost";
	if (scan && scan->nothing)
		return scan->nothing;
	if (missing->cut_off)
		return "the recorder ended before it wrote anything";
	if (scan && scan->process_count)
		return "the processes that were recorded launched nothing";
	return "no process used an API that is recorded";
}

uint64_t gpumon_view_lost(const struct gpumon_view *view, enum gpumon_loss cause)
{
	uint64_t count = view->losses ? view->losses[cause] : 0;

	if (cause == GPUMON_LOSS_RECORDER && view->scan && view->scan->lost_records > count)
		return view->scan->lost_records;
	return count;
}

void gpumon_missing_of(const struct gpumon_view *view, struct gpumon_missing *missing)
{
	const struct gpumon_correlate_counts *counts = view->counts;
	const struct gpumon_capture_damage *damage = view->damage;
	const struct gpumon_scan *scan = view->scan;

	memset(missing, 0, sizeof(*missing));
	for (unsigned int i = 1; i < GPUMON_LOSS_CAUSES; i++)
		missing->lost = gpumon_add_saturated(missing->lost, gpumon_view_lost(view, i));
	for (unsigned int kind = 0; counts && kind < GPUMON_WORK_KINDS; kind++) {
		const uint64_t *by = counts->works[kind];

		missing->unmatched += by[GPUMON_MATCH_NO_STACK] + by[GPUMON_MATCH_NO_LAUNCH] +
				      by[GPUMON_MATCH_AMBIGUOUS];
		for (unsigned int match = 0; match < GPUMON_MATCH_KINDS; match++)
			missing->work += by[match];
	}
	for (unsigned int why = 0; counts && why < GPUMON_UNTIMED_KINDS; why++)
		missing->untimed += counts->untimed[why];
	if (counts)
		missing->unmatched_launches = counts->unmatched_launches[GPUMON_LAUNCH_UNMATCHED];
	if (scan) {
		missing->notes = scan->missing_notes;
		missing->no_gpu = scan->no_gpu;
		missing->cut_off = !scan->ended;
	}
	missing->cut_paths = view->cut_paths;
	missing->cut_stacks = view->cut_stacks;
	for (unsigned int i = 0; i < view->idle_count; i++)
		missing->forgotten =
			gpumon_add_saturated(missing->forgotten, view->idle[i].forgotten);
	if (damage) {
		const uint64_t counted[] = {
			damage->truncated_bytes, damage->broken_chunks, damage->broken_records,
			damage->missing_chunks,	 damage->broken_info,	damage->unreadable_files,
		};

		for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
			missing->damaged = gpumon_add_saturated(missing->damaged, counted[i]);
	}
	if (is_empty(view))
		missing->nothing = why_nothing(scan, missing);
}

/* "call paths beyond the limit of 1,048,576 nodes" */
static const char *cut_paths_text(char *buf, size_t len)
{
	char number[GPUMON_TEXT_NUMBER];

	snprintf(buf, len, "call paths beyond the limit of %s nodes",
		 gpumon_text_count(number, sizeof(number), GPUMON_TREE_NODES_MAX));
	return buf;
}

/* "idle times ... : the last 131,072 calls of a thread are kept" */
static const char *forgotten_text(char *buf, size_t len)
{
	char of_thread[GPUMON_TEXT_NUMBER], of_all[GPUMON_TEXT_NUMBER];

	snprintf(
		buf, len,
		"idle times of GPUs that are \"launch not known\": the last %s calls of a thread are kept, %s of all",
		gpumon_text_count(of_thread, sizeof(of_thread), GPUMON_BUDGET_CALLS_MAX),
		gpumon_text_count(of_all, sizeof(of_all), GPUMON_BUDGET_CALLS_ALL));
	return buf;
}

const char *gpumon_missing_line(char *buf, size_t len, const struct gpumon_missing *missing)
{
	char number[GPUMON_TEXT_NUMBER], percent[GPUMON_TEXT_NUMBER], limit[96];
	bool one = missing->cut_stacks == 1;
	const char *what = missing->work ? one ? "piece of work" : "pieces of work" :
			   one		 ? "call" :
					   "calls";
	size_t at = 0;

#define APPEND(...)                                                              \
	do {                                                                     \
		if (at)                                                          \
			at += (size_t)snprintf(buf + at, len - at, ", ");        \
		if (at < len)                                                    \
			at += (size_t)snprintf(buf + at, len - at, __VA_ARGS__); \
		if (at >= len)                                                   \
			at = len - 1;                                            \
	} while (0)

	if (!len)
		return buf;
	buf[0] = '\0';
	if (missing->nothing)
		APPEND("everything (%s)", missing->nothing);
	if (missing->lost)
		APPEND("%s %s lost", gpumon_text_count(number, sizeof(number), missing->lost),
		       missing->lost == 1 ? "record" : "records");
	if (missing->unmatched)
		APPEND("%s %s of work (%s) without a call path",
		       gpumon_text_count(number, sizeof(number), missing->unmatched),
		       missing->unmatched == 1 ? "piece" : "pieces",
		       gpumon_text_percent(percent, sizeof(percent), missing->unmatched,
					   missing->work));
	if (missing->untimed)
		APPEND("%s %s of work without times",
		       gpumon_text_count(number, sizeof(number), missing->untimed),
		       missing->untimed == 1 ? "piece" : "pieces");
	if (missing->unmatched_launches)
		APPEND("%s %s without recorded work",
		       gpumon_text_count(number, sizeof(number), missing->unmatched_launches),
		       missing->unmatched_launches == 1 ? "launch" : "launches");
	if (missing->cut_stacks)
		APPEND("%s %s whose call path was cut off (raise --stack-depth)",
		       gpumon_text_count(number, sizeof(number), missing->cut_stacks), what);
	if (missing->cut_paths)
		APPEND("%s %s", gpumon_text_count(number, sizeof(number), missing->cut_paths),
		       cut_paths_text(limit, sizeof(limit)));
	if (missing->forgotten)
		APPEND("the launches behind %s idle %s",
		       gpumon_text_count(number, sizeof(number), missing->forgotten),
		       missing->forgotten == 1 ? "time" : "times");
	if (missing->damaged)
		APPEND("the capture is damaged");
	if (missing->cut_off)
		APPEND("the end, since the capture was cut off");
	if (missing->no_gpu)
		APPEND("what the GPU did");
	if (missing->notes > 1)
		APPEND("what %u notes say", missing->notes);
	else if (missing->notes)
		APPEND("what a note says");
#undef APPEND
	return buf;
}

struct telling {
	void (*tell)(void *data, const struct gpumon_cause *cause);
	void *data;
};

static void tell(const struct telling *telling, struct gpumon_cause cause)
{
	if (cause.count)
		telling->tell(telling->data, &cause);
}

#define TELL(count, bad, what) \
	tell(telling, (struct gpumon_cause){ count, 0, what, "", bad, false })

static void tell_counts(const struct telling *telling, const struct gpumon_view *view)
{
	const struct gpumon_correlate_counts *counts = view->counts;
	struct gpumon_missing sums;
	char what[128];

	gpumon_missing_of(view, &sums);
	for (unsigned int match = 0; match < GPUMON_MATCH_KINDS; match++) {
		bool whole = match == GPUMON_MATCH_STACK || match == GPUMON_MATCH_GRAPH_NODE;
		bool bad = !whole && match != GPUMON_MATCH_INTERNAL &&
			   match != GPUMON_MATCH_UNSAMPLED;
		uint64_t n = 0;

		for (unsigned int kind = 0; kind < GPUMON_WORK_KINDS; kind++)
			n += counts->works[kind][match];
		tell(telling,
		     (struct gpumon_cause){ n, sums.work, match_text(match), "", bad, whole });
	}
	for (unsigned int why = 0; why < GPUMON_UNTIMED_KINDS; why++) {
		snprintf(what, sizeof(what), "GPU operations without times: %s",
			 gpumon_untimed_text(why));
		TELL(counts->untimed[why], true, what);
	}
	/* Those that were withheld are among the losses. */
	for (unsigned int end = 0; end < GPUMON_LAUNCH_WITHHELD; end++)
		TELL(counts->unmatched_launches[end], end == GPUMON_LAUNCH_UNMATCHED,
		     launch_end_text(end));
	if (view->sampling)
		TELL(view->sampling->no_sample, true,
		     "of these: unlike any launch in the windows, so that nothing is estimated");
	TELL(counts->work_before_launch, true,
	     "GPU operations that began before their launch: clocks disagree");
}

static void tell_damage(const struct telling *telling, const struct gpumon_capture_damage *damage)
{
	TELL(damage->truncated_bytes, true, "bytes at the ends of files that were cut off");
	TELL(damage->broken_chunks, true, "chunks that are broken");
	TELL(damage->broken_records, true, "records that are broken");
	TELL(damage->missing_chunks, true, "chunks that are not there");
	TELL(damage->unreadable_files, true, "files that cannot be read");
	TELL(damage->broken_info, true, "capture.json that cannot be read");
	TELL(damage->unknown_records, false, "records of a kind that this version does not know");
}

void gpumon_missing_causes(const struct gpumon_view *view,
			   void (*tell_cause)(void *data, const struct gpumon_cause *cause),
			   void *data)
{
	const struct telling all = { tell_cause, data }, *telling = &all;
	struct gpumon_missing sums;
	char what[256];

	for (unsigned int i = 1; i < GPUMON_LOSS_CAUSES; i++)
		tell(telling, (struct gpumon_cause){ gpumon_view_lost(view, i), 0, loss_text(i),
						     loss_advice(i), true, false });
	if (view->counts)
		tell_counts(telling, view);
	tell(telling, (struct gpumon_cause){
			      view->cut_stacks, 0,
			      "call paths without their outermost callers: the stack was cut off",
			      "record with a larger --stack-depth, up to 512", true, false });
	TELL(view->cut_paths, true, cut_paths_text(what, sizeof(what)));
	gpumon_missing_of(view, &sums);
	TELL(sums.forgotten, true, forgotten_text(what, sizeof(what)));
	if (view->damage)
		tell_damage(telling, view->damage);
}
