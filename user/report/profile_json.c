// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/memory.h"
#include "lib/version.h"
#include "profile_json.h"
#include "metrics.h"
#include "ranks.h"
#include "scan.h"
#include "stalls_print.h"
#include "verdict.h"
#include "view.h"

/* Version of the document, see Documentation/reference/correlate-json.md. */
#define SCHEMA 1

void gpumon_json_element(FILE *out, bool first, struct json_object *value)
{
	const char *text = json_object_to_json_string_ext(
		value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

	if (!text)
		gpumon_memory_failed(0);
	fprintf(out, "%s%s", first ? "" : ",\n", text);
	json_object_put(value);
}

void gpumon_json_member(FILE *out, bool first, const char *key, struct json_object *value)
{
	fprintf(out, "%s\"%s\":", first ? "" : ",\n", key);
	gpumon_json_element(out, true, value);
}

static void add_known(struct json_object *object, const char *key, uint64_t value, bool known)
{
	gpumon_json_add_value(object, key, (struct gpumon_value){ value, known });
}

/* "" means unknown. */
static void add_text(struct json_object *object, const char *key, const char *text)
{
	gpumon_json_add_string(object, key, text && *text ? text : NULL);
}

static struct json_object *process_json(const struct gpumon_scan_process *from)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_u64(object, "process", from->number);
	gpumon_json_add_u64(object, "pid", from->pid);
	add_known(object, "host_pid", from->host_pid, from->host_pid);
	add_known(object, "rank", from->rank, from->rank != ~0u);
	add_text(object, "host", from->host);
	add_text(object, "executable", from->executable);
	add_text(object, "command", from->command);
	add_known(object, "cupti_version", from->cupti_version, from->cupti_version);
	add_known(object, "driver_version", from->driver_version, from->driver_version);
	return object;
}

static struct json_object *api_json(const struct gpumon_scan_api *from)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_u64(object, "process", from->process);
	add_text(object, "name", from->name);
	add_text(object, "version", from->version);
	add_text(object, "platform", from->platform);
	return object;
}

static struct json_object *clock_json(const struct gpumon_scan_clock *from)
{
	static const char *const sources[] = {
		[GPUMON_CLOCK_UNKNOWN] = "unknown",
		[GPUMON_CLOCK_MONOTONIC] = "monotonic",
		[GPUMON_CLOCK_MONOTONIC_RAW] = "monotonic_raw",
		[GPUMON_CLOCK_BOOTTIME] = "boottime",
		[GPUMON_CLOCK_REALTIME] = "realtime",
	};
	bool known = from->source < sizeof(sources) / sizeof(sources[0]);
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_u64(object, "process", from->process);
	gpumon_json_add_u64(object, "device", from->device);
	add_text(object, "source", sources[known ? from->source : 0]);
	gpumon_json_add(object, "offset_ns", json_object_new_int64(from->offset_ns));
	add_known(object, "error_ns", from->error_ns, from->error_ns != UINT64_MAX);
	return object;
}

static struct json_object *counted_json(const struct gpumon_record_totals *totals)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_u64(object, "launches", totals->launches);
	gpumon_json_add_u64(object, "captured_into_graph", totals->captured);
	gpumon_json_add_u64(object, "kernels", totals->kernels);
	gpumon_json_add_u64(object, "copies", totals->copies);
	gpumon_json_add_u64(object, "sets", totals->sets);
	gpumon_json_add_u64(object, "device_bytes", totals->device_bytes);
	return object;
}

static struct json_object *sampling_json(const struct gpumon_sampling *from)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_u64(object, "windows", from->windows);
	gpumon_json_add_u64(object, "windows_ns", from->windows_ns);
	gpumon_json_add_bool(object, "paused", from->paused);
	gpumon_json_add_u64(object, "launches_recorded", from->recorded);
	gpumon_json_add_u64(object, "launches_left_out", from->left_out);
	gpumon_json_add_u64(object, "launches_without_sample", from->no_sample);
	gpumon_json_add_u64(object, "paths_sampled", from->sampled);
	gpumon_json_add_u64(object, "paths_left_out", from->unsampled);
	gpumon_json_add_u64(object, "paths_without_sample", from->no_path);
	return object;
}

static struct json_object *range_of_json(const struct gpumon_time_range *from)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_u64(object, "recording_first_ns", from->began_ns);
	gpumon_json_add_u64(object, "recording_last_ns", from->ended_ns);
	gpumon_json_add_u64(object, "from_ns", from->from_ns - from->began_ns);
	gpumon_json_add_u64(object, "to_ns", from->until_ns - from->began_ns);
	gpumon_json_add_string(object, "name", from->name);
	add_known(object, "first", from->first, from->name);
	add_known(object, "last", from->last, from->name);
	add_known(object, "processes", from->processes, from->name);
	return object;
}

struct json_object *gpumon_json_recording(const struct gpumon_view *view)
{
	const struct gpumon_scan *scan = view->scan;
	struct json_object *object = gpumon_json_object();
	struct json_object *processes = gpumon_json_array();
	struct json_object *apis = gpumon_json_array();
	struct json_object *clocks = gpumon_json_array();
	struct json_object *notes = gpumon_json_array();
	struct gpumon_view_totals totals;
	bool known = view->last_ns > view->first_ns;

	gpumon_view_totals(view, &totals);
	add_text(object, "command", gpumon_view_command(view));
	add_text(object, "host", scan ? scan->host : NULL);
	add_known(object, "created_realtime_ns", scan ? scan->created_ns : 0,
		  scan && scan->created_ns);
	if (scan)
		gpumon_json_add_bool(object, "ended", scan->ended);
	else
		gpumon_json_add_null(object, "ended");
	add_known(object, "first_ns", view->first_ns, known);
	add_known(object, "last_ns", view->last_ns, known);
	add_known(object, "duration_ns", totals.wall_ns, known);
	if (view->range)
		gpumon_json_add(object, "range", range_of_json(view->range));
	else
		gpumon_json_add_null(object, "range");
	gpumon_json_add_u64(object, "gpu_ns", totals.gpu_ns - totals.left_ns);
	gpumon_json_add_u64(object, "scaled_gpu_ns", totals.gpu_ns);
	gpumon_json_add_u64(object, "cpu_ns", totals.cpu_ns);
	gpumon_json_add_u64(object, "count", totals.count - totals.left_count);
	gpumon_json_add_u64(object, "scaled_count", totals.count);
	if (view->sampling)
		gpumon_json_add(object, "sampling", sampling_json(view->sampling));
	else
		gpumon_json_add_null(object, "sampling");
	gpumon_json_add_u64(object, "launches_without_time", totals.untimed);
	if (scan && scan->totals_known)
		gpumon_json_add(object, "counted", counted_json(&scan->totals));
	else
		gpumon_json_add_null(object, "counted");
	for (unsigned int i = 0; scan && i < scan->process_count; i++)
		gpumon_json_append(processes, process_json(&scan->processes[i]));
	for (unsigned int i = 0; scan && i < scan->api_count; i++)
		gpumon_json_append(apis, api_json(&scan->apis[i]));
	for (unsigned int i = 0; scan && i < scan->clock_count; i++)
		gpumon_json_append(clocks, clock_json(&scan->clocks[i]));
	for (unsigned int i = 0; scan && i < scan->note_count; i++)
		gpumon_json_append(notes, gpumon_json_string(scan->notes[i]));
	gpumon_json_add(object, "processes", processes);
	gpumon_json_add(object, "apis", apis);
	gpumon_json_add(object, "clocks", clocks);
	gpumon_json_add(object, "notes", notes);
	return object;
}

/* count, sum_ns, min_ns, max_ns and quantiles; null if empty. */
static struct json_object *distribution_json(const struct gpumon_distribution *from)
{
	static const struct {
		const char *key;
		double q;
	} quantiles[] = {
		{ "p50_ns", 0.5 },
		{ "p90_ns", 0.9 },
		{ "p99_ns", 0.99 },
		{ "p999_ns", 0.999 },
	};
	struct json_object *object = gpumon_json_object();
	uint64_t count = from ? gpumon_distribution_count(from) : 0;

	gpumon_json_add_u64(object, "count", count);
	gpumon_json_add_u64(object, "sum_ns", count ? gpumon_distribution_sum(from) : 0);
	add_known(object, "min_ns", count ? gpumon_distribution_min(from) : 0, count);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		add_known(object, quantiles[i].key,
			  count ? gpumon_distribution_quantile(from, quantiles[i].q) : 0, count);
	add_known(object, "max_ns", count ? gpumon_distribution_max(from) : 0, count);
	return object;
}

/* What programs in the kernel found out; NULL without memory. */
static struct json_object *figures_json(const struct gpumon_view *view, const char *kernel)
{
	struct gpumon_figure figures[GPUMON_FIGURES];
	unsigned int n = gpumon_view_figures(view, figures);
	struct json_object *object = gpumon_json_object();

	for (unsigned int i = 0; i < n; i++)
		gpumon_figure_json(&figures[i], kernel, object);
	return object;
}

static struct json_object *kernel_json(const struct gpumon_view *view,
				       const struct gpumon_kernel_row *row)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_string(object, "name", row->name);
	add_text(object, "mangled", row->mangled);
	gpumon_json_add_string(object, "kind", gpumon_work_kind_text(row->kind));
	gpumon_json_add_u64(object, "count", row->count);
	gpumon_json_add_u64(object, "gpu_ns", row->gpu_ns);
	gpumon_json_add_u64(object, "scaled_count",
			    gpumon_add_saturated(row->count, row->left_count));
	gpumon_json_add_u64(object, "scaled_gpu_ns",
			    gpumon_add_saturated(row->gpu_ns, row->left_ns));
	add_known(object, "matched", row->matched, row->collective);
	add_known(object, "not_split", row->not_split, row->collective);
	add_known(object, "waiting_ns", row->wait_ns, row->matched);
	gpumon_json_add(object, "duration", distribution_json(row->duration));
	gpumon_json_add(object, "latency", distribution_json(row->latency));
	gpumon_json_add(object, "probe", figures_json(view, row->name));
	if (view->metrics)
		gpumon_json_add(object, "metrics", gpumon_kernel_metrics_json(view, row));
	else
		gpumon_json_add_null(object, "metrics");
	return object;
}

static void add_busy(struct json_object *object, const struct gpumon_device_row *row)
{
	gpumon_json_add_u64(object, "count", row->count);
	gpumon_json_add_u64(object, "gpu_ns", row->gpu_ns);
	gpumon_json_add_u64(object, "elapsed_ns", row->elapsed_ns);
	gpumon_json_add_u64(object, "busy_ns", row->busy_ns);
	add_known(object, "first_ns", row->first_ns, row->count || row->last_ns);
	add_known(object, "last_ns", row->last_ns, row->count || row->last_ns);
	gpumon_json_add_u64(object, "idle_longest_ns", row->idle_longest_ns);
	gpumon_json_add_u64(object, "missed_ns", row->missed_ns);
}

static struct json_object *device_json(const struct gpumon_view *view,
				       const struct gpumon_device_row *row)
{
	const struct gpumon_scan_stream *known =
		row->stream == ~0u ?
			NULL :
			gpumon_view_stream(view, row->process, row->context, row->stream);
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_u64(object, "process", row->process);
	gpumon_json_add_u64(object, "gpu", row->gpu);
	add_text(object, "host", row->host);
	add_text(object, "api", gpumon_api_name(row->device));
	add_text(object, "type", gpumon_device_type_key(row->type));
	gpumon_json_add_u64(object, "device", row->device);
	add_text(object, "name", row->name);
	add_text(object, "uuid", row->uuid);
	add_known(object, "context", row->context, row->stream != ~0u);
	add_known(object, "stream", row->stream, row->stream != ~0u);
	add_text(object, "stream_name", known ? known->name : NULL);
	if (known)
		gpumon_json_add(object, "stream_priority", json_object_new_int(known->priority));
	else
		gpumon_json_add_null(object, "stream_priority");
	add_busy(object, row);
	return object;
}

/* A GPU, however many processes use it. */
static struct json_object *gpu_json(const struct gpumon_view *view,
				    const struct gpumon_device_row *row)
{
	struct json_object *object = gpumon_json_object();
	uint64_t in_use_ns = gpumon_view_in_use(view, row);

	gpumon_json_add_u64(object, "gpu", row->gpu);
	add_text(object, "host", row->host);
	add_text(object, "type", gpumon_device_type_key(row->type));
	add_text(object, "name", row->name);
	add_text(object, "uuid", row->uuid);
	gpumon_json_add_u64(object, "users", row->users ? row->users : 1);
	add_busy(object, row);
	add_known(object, "in_use_ns", in_use_ns, in_use_ns);
	return object;
}

static struct json_object *range_json(const struct gpumon_range_row *row)
{
	struct json_object *object = gpumon_json_object();

	add_text(object, "domain", row->domain);
	gpumon_json_add_string(object, "text", row->text);
	gpumon_json_add_u64(object, "count", row->count);
	gpumon_json_add_u64(object, "open_ns", row->cpu_ns);
	gpumon_json_add_u64(object, "works", row->works);
	gpumon_json_add_u64(object, "gpu_ns", row->gpu_ns);
	gpumon_json_add_u64(object, "scaled_works",
			    gpumon_add_saturated(row->works, row->left_works));
	gpumon_json_add_u64(object, "scaled_gpu_ns",
			    gpumon_add_saturated(row->gpu_ns, row->left_ns));
	return object;
}

static struct json_object *json_unified(enum gpumon_unified_kind kind,
					const struct gpumon_unified *row)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_string(object, "kind", gpumon_unified_key(kind));
	gpumon_json_add_u64(object, "count", row->count);
	add_known(object, "bytes", row->bytes, gpumon_unified_has_bytes(kind));
	add_known(object, "faults", row->faults, gpumon_unified_is_fault(kind));
	add_known(object, "ns", row->ns, row->ns);
	return object;
}

/* By kind, only those that occurred. */
static struct json_object *unified_memory(const struct gpumon_scan *scan)
{
	struct json_object *array = gpumon_json_array();

	for (unsigned int kind = 0; scan && kind < GPUMON_UNIFIED_KINDS; kind++)
		if (scan->unified[kind].count)
			gpumon_json_append(array, json_unified(kind, &scan->unified[kind]));
	return array;
}

static struct json_object *gap_json(const struct gpumon_gap *from)
{
	struct json_object *object = gpumon_json_object();
	bool known = from->process != GPUMON_PROCESS_SEVERAL || (from->doing && *from->doing);

	gpumon_json_add_u64(object, "gpu", from->gpu);
	add_known(object, "process",
		  from->process == GPUMON_PROCESS_SEVERAL ? from->doer : from->process, known);
	add_known(object, "device", from->device, known);
	gpumon_json_add_u64(object, "start_ns", from->start_ns);
	gpumon_json_add_u64(object, "end_ns", from->end_ns);
	gpumon_json_add_u64(object, "idle_ns", from->end_ns - from->start_ns);
	add_text(object, "doing", from->doing);
	return object;
}

/* What a thread spent its wall time on. */
static struct json_object *spent_json(const struct gpumon_budget_row *from)
{
	struct json_object *object = gpumon_json_object();

	for (unsigned int spent = 0; spent < GPUMON_SPENTS; spent++)
		gpumon_json_add_u64(object, gpumon_spent_key(spent), from->spent_ns[spent]);
	return object;
}

/* Only kinds that occurred. */
static struct json_object *blocked_json(const struct gpumon_budget_row *from)
{
	static const char *const keys[GPUMON_WAIT_KINDS] = {
		[GPUMON_WAIT_UNKNOWN] = "unknown",  [GPUMON_WAIT_RUNNING] = "running",
		[GPUMON_WAIT_FUTEX] = "lock",	    [GPUMON_WAIT_SLEEP] = "sleep",
		[GPUMON_WAIT_READ] = "read",	    [GPUMON_WAIT_WRITE] = "write",
		[GPUMON_WAIT_POLL] = "poll",	    [GPUMON_WAIT_CHILD] = "child",
		[GPUMON_WAIT_FAULT] = "page_fault", [GPUMON_WAIT_OTHER] = "system_call",
	};
	struct json_object *object = gpumon_json_object();

	for (unsigned int kind = 0; kind < GPUMON_WAIT_KINDS; kind++)
		if (from->blocked_ns[kind])
			gpumon_json_add_u64(object, keys[kind], from->blocked_ns[kind]);
	return object;
}

static struct json_object *budget_json(const struct gpumon_view *view,
				       const struct gpumon_budget_row *from)
{
	struct json_object *object = gpumon_json_object();
	uint32_t pid = gpumon_view_pid(view, from->process);

	gpumon_json_add_u64(object, "process", from->process);
	add_known(object, "pid", pid, pid);
	gpumon_json_add_u64(object, "tid", from->tid);
	add_text(object, "name", from->name);
	gpumon_json_add_u64(object, "wall_ns", from->wall_ns);
	gpumon_json_add(object, "spent_ns", spent_json(from));
	gpumon_json_add(object, "blocked_ns", blocked_json(from));
	gpumon_json_add_u64(object, "launches", from->launches);
	gpumon_json_add_u64(object, "gpu_waits", from->gpu_waits);
	gpumon_json_add_u64(object, "calls", from->calls);
	gpumon_json_add_u64(object, "gaps", from->gaps);
	gpumon_json_add_u64(object, "gap_longest_ns", from->gap_longest_ns);
	gpumon_json_add_u64(object, "unsampled_ns", from->unsampled_ns);
	gpumon_json_add_u64(object, "looks", from->looks);
	if (from->looks)
		gpumon_json_add(object, "looks_per_s", json_object_new_double(from->looks_hz));
	else
		gpumon_json_add_null(object, "looks_per_s");
	gpumon_json_add_bool(object, "untimed", from->untimed);
	return object;
}

static struct json_object *idle_json(const struct gpumon_idle_row *from)
{
	struct json_object *object = gpumon_json_object();
	struct json_object *overhead = gpumon_json_object();

	for (unsigned int kind = 0; kind < GPUMON_OVERHEAD_KINDS; kind++)
		if (from->overhead_ns[kind])
			gpumon_json_add_u64(overhead, gpumon_overhead_key(kind),
					    from->overhead_ns[kind]);
	gpumon_json_add_u64(object, "gpu", from->gpu);
	gpumon_json_add_u64(object, "before_first_ns", from->before_ns);
	gpumon_json_add_u64(object, "after_last_ns", from->after_ns);
	gpumon_json_add_u64(object, "between_ns", from->between_ns);
	gpumon_json_add(object, "overhead_ns", overhead);
	gpumon_json_add_u64(object, "queued_ns", from->queued_ns);
	gpumon_json_add_u64(object, "unknown_ns", from->unknown_ns);
	gpumon_json_add_u64(object, "forgotten", from->forgotten);
	gpumon_json_add_u64(object, "gaps", from->gaps);
	gpumon_json_add_u64(object, "gap_longest_ns", from->longest_ns);
	return object;
}

static struct json_object *by_kind_json(const uint64_t by[GPUMON_WORK_KINDS])
{
	struct json_object *object = gpumon_json_object();

	for (unsigned int kind = 0; kind < GPUMON_WORK_KINDS; kind++)
		gpumon_json_add_u64(object, gpumon_work_kind_text(kind), by[kind]);
	return object;
}

static struct json_object *matches_json(const struct gpumon_correlate_counts *counts)
{
	struct json_object *object = gpumon_json_object();

	for (unsigned int match = 0; match < GPUMON_MATCH_KINDS; match++) {
		uint64_t by[GPUMON_WORK_KINDS];

		for (unsigned int kind = 0; kind < GPUMON_WORK_KINDS; kind++)
			by[kind] = counts->works[kind][match];
		gpumon_json_add(object, gpumon_match_key(match), by_kind_json(by));
	}
	return object;
}

static struct json_object *damage_json(const struct gpumon_capture_damage *from)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_u64(object, "truncated_bytes", from->truncated_bytes);
	gpumon_json_add_u64(object, "broken_chunks", from->broken_chunks);
	gpumon_json_add_u64(object, "broken_records", from->broken_records);
	gpumon_json_add_u64(object, "unknown_records", from->unknown_records);
	gpumon_json_add_u64(object, "missing_chunks", from->missing_chunks);
	gpumon_json_add_u64(object, "unreadable_files", from->unreadable_files);
	gpumon_json_add_bool(object, "broken_info", from->broken_info);
	return object;
}

static struct json_object *launches_json(const struct gpumon_correlate_counts *counts)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_u64(object, "with_work", counts->launches);
	for (unsigned int end = 0; end < GPUMON_LAUNCH_ENDS; end++)
		gpumon_json_add_u64(object, gpumon_launch_end_key(end),
				    counts->unmatched_launches[end]);
	return object;
}

static struct json_object *untimed_json(const struct gpumon_correlate_counts *counts)
{
	struct json_object *object = gpumon_json_object();

	for (unsigned int why = 0; why < GPUMON_UNTIMED_KINDS; why++)
		gpumon_json_add_u64(object, gpumon_untimed_key(why), counts->untimed[why]);
	return object;
}

struct json_object *gpumon_json_missing(const struct gpumon_view *view)
{
	const struct gpumon_correlate_counts *counts = view->counts;
	struct json_object *object = gpumon_json_object();
	struct json_object *lost = gpumon_json_object();
	struct gpumon_missing sums;
	char line[1024];

	gpumon_missing_of(view, &sums);
	gpumon_json_add_bool(object, "nothing", !*gpumon_missing_line(line, sizeof(line), &sums));
	add_text(object, "summary", line);
	gpumon_json_add_bool(object, "everything", sums.nothing);
	gpumon_json_add_bool(object, "cut_off", sums.cut_off);
	gpumon_json_add_bool(object, "gpu_not_recorded", sums.no_gpu);
	gpumon_json_add_u64(object, "notes", sums.notes);
	for (unsigned int i = 1; view->losses && i < GPUMON_LOSS_CAUSES; i++)
		gpumon_json_add_u64(lost, gpumon_loss_key(i), gpumon_view_lost(view, i));
	gpumon_json_add(object, "losses", lost);
	if (counts)
		gpumon_json_add(object, "works", matches_json(counts));
	else
		gpumon_json_add_null(object, "works");
	if (counts)
		gpumon_json_add(object, "without_time", untimed_json(counts));
	else
		gpumon_json_add_null(object, "without_time");
	if (counts)
		gpumon_json_add(object, "launches", launches_json(counts));
	else
		gpumon_json_add_null(object, "launches");
	add_known(object, "hits", view->hits, counts);
	add_known(object, "hits_matched", 0, counts);
	add_known(object, "work_before_launch", counts ? counts->work_before_launch : 0, counts);
	gpumon_json_add_u64(object, "stacks_cut_off", view->cut_stacks);
	gpumon_json_add_u64(object, "paths_cut_off", view->cut_paths);
	if (view->damage)
		gpumon_json_add(object, "damage", damage_json(view->damage));
	else
		gpumon_json_add_null(object, "damage");
	return object;
}

static struct json_object *node_object(const struct gpumon_node *node, uint64_t parent, bool root)
{
	struct json_object *object = gpumon_json_object();

	add_known(object, "parent", parent, !root);
	gpumon_json_add_string(object, "kind", gpumon_node_kind_name(node->kind));
	gpumon_json_add_string(object, "name", node->name);
	add_text(object, "module", node->module);
	add_text(object, "line", node->line);
	gpumon_json_add_u64(object, "count", node->count);
	gpumon_json_add_u64(object, "gpu_ns", node->gpu_ns);
	gpumon_json_add_u64(object, "cpu_ns", node->cpu_ns);
	gpumon_json_add_u64(object, "scaled_count", gpumon_tree_weight(node, GPUMON_WEIGHT_COUNT));
	gpumon_json_add_u64(object, "scaled_gpu_ns",
			    gpumon_tree_weight(node, GPUMON_WEIGHT_GPU_NS));
	if (node->wait_ns)
		gpumon_json_add_u64(object, "waiting_ns", node->wait_ns);
	if (node->late_ns)
		gpumon_json_add_u64(object, "late_ns", node->late_ns);
	if (node->stalls)
		gpumon_json_add(object, "stalls", gpumon_node_stalls_json(node));
	/* Most nodes have neither. */
	if (gpumon_tree_weight(node, GPUMON_WEIGHT_WALL_NS))
		gpumon_json_add_u64(object, "wall_ns",
				    gpumon_tree_weight(node, GPUMON_WEIGHT_WALL_NS));
	if (node->wall_left_ns)
		gpumon_json_add_u64(object, "wall_estimated_ns", node->wall_left_ns);
	if (node->idle_ns) {
		gpumon_json_add_u64(object, "idle_ns", node->idle_ns);
		gpumon_json_add_u64(object, "idle_count", node->idle_count);
		gpumon_json_add_u64(object, "idle_longest_ns", node->idle_longest_ns);
	}
	return object;
}

/* A flat list with the parent's number, since readers fail on objects nested as deep as stacks. */
static void put_nodes(FILE *out, const struct gpumon_node *root)
{
	uint64_t *path = NULL;
	size_t depth = 0, room = 0;
	uint64_t number = 0;

	fputs(",\n\"nodes\":[\n", out);
	for (const struct gpumon_node *node = root; node; number++) {
		if (depth == room) {
			room = 2 * room + 64;
			path = gpumon_reallocarray(path, room, sizeof(*path));
		}
		path[depth] = number;
		gpumon_json_element(out, !number,
				    node_object(node, depth ? path[depth - 1] : 0, !depth));
		if (node->child) {
			node = node->child;
			depth++;
			continue;
		}
		while (node != root && !node->next) {
			node = node->parent;
			depth--;
		}
		node = node == root ? NULL : node->next;
	}
	fputs("\n]", out);
	free(path);
}

#define PUT_ARRAY_IF(key, n, condition, element)                  \
	do {                                                      \
		bool first = true;                                \
		fputs(",\n\"" key "\":[", out);                   \
		for (unsigned int i = 0; i < (n); i++) {          \
			if (!(condition))                         \
				continue;                         \
			gpumon_json_element(out, first, element); \
			first = false;                            \
		}                                                 \
		putc(']', out);                                   \
	} while (0)
#define PUT_ARRAY(key, n, element) PUT_ARRAY_IF(key, n, true, element)

int gpumon_output_json(FILE *out, const struct gpumon_view *view)
{
	fprintf(out,
		"{\"schema\":\"gpumon-profile\",\"schema_version\":%d,\"gpumon_version\":\"%s\",\n",
		SCHEMA, GPUMON_VERSION);
	gpumon_json_member(out, true, "recording", gpumon_json_recording(view));
	gpumon_json_member(out, false, "verdict", gpumon_verdict_json(view));
	gpumon_json_member(out, false, "missing", gpumon_json_missing(view));
	gpumon_json_member(out, false, "latency", distribution_json(view->latency));
	PUT_ARRAY("budget", view->budget_count, budget_json(view, &view->budget[i]));
	PUT_ARRAY("idle", view->idle_count, idle_json(&view->idle[i]));
	PUT_ARRAY("kernels", view->kernel_count, kernel_json(view, &view->kernels[i]));
	PUT_ARRAY_IF("gpus", view->device_count, gpumon_view_is_gpu(&view->devices[i]),
		     gpu_json(view, &view->devices[i]));
	PUT_ARRAY_IF("devices", view->device_count, !view->devices[i].users,
		     device_json(view, &view->devices[i]));
	PUT_ARRAY("ranges", view->range_count, range_json(&view->ranges[i]));
	gpumon_json_member(out, false, "unified_memory", unified_memory(view->scan));
	PUT_ARRAY("probes", view->findings_count, gpumon_findings_json(view->findings[i]));
	PUT_ARRAY("gaps", view->gap_count, gap_json(&view->gaps[i]));
	gpumon_json_member(out, false, "ranks", gpumon_ranks_json(view));
	gpumon_stalls_json(out, view);
	gpumon_json_member(out, false, "metrics", gpumon_metrics_json(view));
	put_nodes(out, view->root);
	fputs("}\n", out);
	return ferror(out) ? -1 : 0;
}
