// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/output_text.h"
#include "tree.h"
#include "view_text.h"

void gpumon_view_of(const struct gpumon_profile *profile, const struct gpumon_scan *scan,
		    struct gpumon_view *view)
{
	memset(view, 0, sizeof(*view));
	view->root = gpumon_profile_root(profile);
	view->kernels = gpumon_profile_kernels(profile, &view->kernel_count);
	view->devices = gpumon_profile_devices(profile, &view->device_count);
	view->ranges = gpumon_profile_ranges(profile, &view->range_count);
	view->gaps = gpumon_profile_gaps(profile, &view->gap_count);
	view->latency = gpumon_profile_latency(profile);
	view->sampling = gpumon_profile_sampling(profile);
	if (!view->sampling->windows && !view->sampling->unsampled)
		view->sampling = NULL;
	view->counts = gpumon_profile_counts(profile);
	view->hits = gpumon_profile_hits(profile);
	view->losses = gpumon_profile_losses(profile);
	view->damage = gpumon_profile_damage(profile);
	view->cut_paths = gpumon_profile_cut_paths(profile);
	view->cut_stacks = gpumon_profile_cut_stacks(profile);
	gpumon_profile_times(profile, &view->first_ns, &view->last_ns);
	view->scan = scan;
}

const char *gpumon_view_sheet(char *buf, size_t len, const struct gpumon_view *view,
			      unsigned int sheet)
{
	const char *tool = gpumon_sheet_tool(view->sheets[sheet]);
	int at = snprintf(buf, len, "%s", tool ? tool : "");

	if (view->sheet_count > 1 && at >= 0 && (size_t)at < len)
		snprintf(buf + at, len - (size_t)at, ", %u of %u captures", sheet + 1,
			 view->sheet_count);
	return buf;
}

unsigned int gpumon_view_figures(const struct gpumon_view *view,
				 struct gpumon_sheet_figure figures[GPUMON_SHEET_FIGURES])
{
	return view->sheet_count == 1 ? gpumon_sheet_figures(view->sheets[0], figures) : 0;
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

uint32_t gpumon_view_pid(const struct gpumon_view *view, uint32_t process)
{
	const struct gpumon_scan *scan = view->scan;

	for (unsigned int i = 0; scan && i < scan->process_count; i++) {
		const struct gpumon_scan_process *of = &scan->processes[i];

		if (of->number == process)
			return gpumon_scan_pid(of);
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

const char *gpumon_view_subtitle(char *buf, size_t len, const struct gpumon_view *view)
{
	char wall[GPUMON_TEXT_NUMBER], gpu[GPUMON_TEXT_NUMBER], count[GPUMON_TEXT_NUMBER];
	char command[160] = "", work[2 * GPUMON_TEXT_NUMBER + 64];
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
	snprintf(buf, len, "%s%s%s%s%s recorded · %s", command, *command ? " · " : "", host,
		 *host ? " · " : "", gpumon_text_ns(wall, sizeof(wall), totals.wall_ns), work);
	return buf;
}
