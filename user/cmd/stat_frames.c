// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "lib/format.h"
#include "lib/json.h"
#include "lib/output_file.h"
#include "lib/privileges.h"
#include "lib/table.h"
#include "lib/text.h"
#include "lib/wait.h"
#include "record/present_watch.h"
#include "report/frames.h"
#include "stat_frames.h"

/* Some hundred frames. */
#define BRIEFLY_NS 5000000000ULL
/* How often presents are taken. */
#define STEP_NS 50000000ULL
/* A frame that has not ended for so long is worth a word: the picture stands still. */
#define STILL_NS 100000000ULL

static const char *time_text(char *buf, uint64_t ns)
{
	return gpumon_format_ns(buf, GPUMON_FORMAT_LEN, gpumon_value_of(ns));
}

static void print_name(FILE *out, const struct gpumon_present_process *process)
{
	gpumon_text_plain(out, process->name);
	fprintf(out, " (pid %d)", (int)process->pid);
}

/* "game (pid 4711): 58.9 fps, 12 of 295 frames were late, the longest took 48.0ms" */
static void print_sentence(FILE *out, const struct gpumon_present_interval *interval)
{
	const struct gpumon_presents_row *row = &interval->rows[0];
	char longest[GPUMON_FORMAT_LEN], age[GPUMON_FORMAT_LEN];

	print_name(out, &interval->processes[row->process]);
	if (row->frames)
		fprintf(out,
			": %.1f fps, %" PRIu64 " of %" PRIu64
			" frames were late, the longest took %s",
			(double)row->frames * gpumon_frames_rate(row->total_ns), row->late,
			row->frames, time_text(longest, row->longest_ns));
	else
		fprintf(out, ": no frame ended in %s", time_text(longest, interval->length_ns));
	if (row->unfinished_ns > row->late_ns && row->unfinished_ns > STILL_NS)
		fprintf(out, "; the last one has not ended for %s",
			time_text(age, row->unfinished_ns));
	fputs(".\n", out);
}

/* Why nothing may have been seen of one process, and what to do. */
static const char *reason_of(const struct gpumon_present_process *process)
{
	if (process->is_32)
		return "It is a program of 32 bits, which cannot be watched: run its build of 64 bits.";
	if (process->vulkan && !process->vulkan_devices)
		return "Vulkan's loader is in it, but no device was found there: presents by a function that it has from "
		       "vkGetDeviceProcAddr are not seen. gpumon-user record -- COMMAND sees them.";
	if (!process->functions)
		return "No function that presents was found in it: it has no libEGL, libGL, libGLX or libvulkan, or they "
		       "have no symbols. Another process may present its images: leave out -p to look at all.";
	return "Functions that present were watched, and none was called: it may be paused, hidden or loading; it may present "
	       "by an extension function from eglGetProcAddress, which is not seen; or another process presents its images. "
	       "Leave out -p to look at all.";
}

static void print_nothing(FILE *out, const struct gpumon_present_interval *interval,
			  const struct gpumon_stat_frames *options)
{
	char length[GPUMON_FORMAT_LEN];

	time_text(length, interval->length_ns);
	if (options->pid) {
		print_name(out, &interval->processes[0]);
		fprintf(out, ": no present was seen in %s. %s\n", length,
			reason_of(&interval->processes[0]));
	} else if (interval->watched) {
		fprintf(out,
			"No present was seen in %s. Processes with a library that presents: %" PRIu32
			". They may be hidden or idle. Not seen are programs of 32 "
			"bits, and those with such a library linked into them: -p PID looks at all files of one process.\n",
			length, interval->watched);
	} else {
		fprintf(out,
			"No present was seen in %s: no process has libEGL, libGL, libGLX or libvulkan. A program with such "
			"a library linked into it is watched by -p PID.\n",
			length);
	}
}

static void print_losses(FILE *out, const struct gpumon_present_interval *interval)
{
	if (interval->lost)
		fprintf(out,
			"Presents that were lost, or may be a part of another one: %" PRIu64
			" (frames next to them are left out)\n",
			interval->lost);
	if (interval->left_out)
		fprintf(out, "Presents of threads beyond the first %d, left out: %" PRIu64 "\n",
			GPUMON_PRESENTS_ROWS_MAX, interval->left_out);
	if (interval->hidden)
		fprintf(out,
			"Processes whose libraries may not be seen: %" PRIu32
			" (be root, or have CAP_SYS_PTRACE)\n",
			interval->hidden);
	if (!interval->unwatched)
		return;
	fprintf(out, "Processes with a library that presents that were not watched: %" PRIu32 " (",
		interval->unwatched);
	if (*interval->why)
		gpumon_text_plain(out, interval->why);
	else
		fprintf(out, "there are more than %d: -p PID watches one",
			GPUMON_PRESENT_PROCESSES_MAX);
	fputs(")\n", out);
}

static const char *api_of(const char *function)
{
	return !strncmp(function, "vk", 2)  ? "Vulkan" :
	       !strncmp(function, "egl", 3) ? "EGL" :
					      "GLX";
}

static struct gpumon_table *make_table(const struct gpumon_present_interval *interval,
				       const struct gpumon_term *term)
{
	struct gpumon_table *table = gpumon_table_new(term);

	gpumon_table_typed(table, "PROCESS", "process", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, "PID", "pid", GPUMON_CELL_NUMBER);
	gpumon_table_typed(table, "TID", "tid", GPUMON_CELL_NUMBER);
	gpumon_table_typed(table, NULL, "api", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, "FRAMES", "frames", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "FPS", "fps", GPUMON_CELL_RATIO);
	gpumon_table_typed(table, "MEDIAN", "median_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "P95", "p95_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "P99", "p99_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "LONGEST", "longest_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "LATE", "late", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, NULL, "late_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, NULL, "total_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, NULL, "unfinished_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, NULL, "lost_presents", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, NULL, "frames_left_out", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "FUNCTION", "function", GPUMON_CELL_NAME);
	for (uint32_t i = 0; i < interval->row_count; i++) {
		const struct gpumon_presents_row *row = &interval->rows[i];
		const struct gpumon_present_process *process = &interval->processes[row->process];
		bool any = row->frames;
		char text[128];

		gpumon_table_text(table, process->name);
		gpumon_table_number(table, (uint64_t)process->pid);
		gpumon_table_number(table, row->tid);
		gpumon_table_text(table, api_of(row->function));
		gpumon_table_number(table, row->frames);
		gpumon_table_ratio(table, (double)row->frames * gpumon_frames_rate(row->total_ns));
		gpumon_table_value(table, gpumon_value_if(any, row->median_ns));
		gpumon_table_value(table, gpumon_value_if(any, row->p95_ns));
		gpumon_table_value(table, gpumon_value_if(any, row->p99_ns));
		gpumon_table_value(table, gpumon_value_if(any, row->longest_ns));
		gpumon_table_number(table, row->late);
		gpumon_table_value(table, gpumon_value_if(any, row->late_ns));
		gpumon_table_number(table, row->total_ns);
		gpumon_table_value(table, gpumon_value_if(row->unfinished_ns, row->unfinished_ns));
		gpumon_table_number(table, row->lost);
		gpumon_table_number(table, row->left_out);
		gpumon_table_text(table, row->function);
		if (!row->left_out)
			continue;
		snprintf(text, sizeof(text),
			 "%" PRIu64
			 " frames beyond the first %u are left out: -i has shorter intervals",
			 row->left_out, GPUMON_PRESENTS_FRAMES_MAX);
		gpumon_table_below(table, text);
	}
	return table;
}

static int show_json(const struct gpumon_present_interval *interval, bool one_line, FILE *out,
		     const struct gpumon_term *term)
{
	struct gpumon_table *table = make_table(interval, term);
	struct json_object *object = gpumon_table_json(table);

	gpumon_table_free(table);
	gpumon_json_add_u64(object, "interval_ns", interval->length_ns);
	gpumon_json_add_u64(object, "processes_watched", interval->watched);
	gpumon_json_add_u64(object, "processes_not_watched", interval->unwatched);
	gpumon_json_add_u64(object, "processes_hidden", interval->hidden);
	gpumon_json_add_string(object, "not_watched_why", *interval->why ? interval->why : NULL);
	gpumon_json_add_u64(object, "lost_presents", interval->lost);
	gpumon_json_add_u64(object, "presents_left_out", interval->left_out);
	return gpumon_json_print(object, one_line, out);
}

static int show(struct gpumon_context *context, const struct gpumon_stat_frames *options,
		struct gpumon_present_watch *watch, FILE *out, struct gpumon_error *err)
{
	struct gpumon_present_interval interval;
	struct gpumon_term term;
	int ret = 0;

	gpumon_present_watch_close_interval(watch, &interval);
	gpumon_term_get(&term, out);
	if (context->json) {
		ret = show_json(&interval, options->interval_ns || !term.tty, out, &term);
	} else if (interval.row_count) {
		print_sentence(out, &interval);
		putc('\n', out);
		ret = gpumon_table_print(make_table(&interval, &term), out);
	} else {
		print_nothing(out, &interval, options);
	}
	if (!context->json) {
		print_losses(out, &interval);
		if (options->interval_ns)
			putc('\n', out);
		if (!ret)
			ret = fflush(out);
	}
	return ret ? gpumon_error_output(err) : 0;
}

/* Take presents until then. False if it is over: a signal, a reader that is gone, a process that has ended. */
static bool watch_until(struct gpumon_present_watch *watch, FILE *out, uint64_t until_ns)
{
	const struct timespec step = { .tv_nsec = STEP_NS };

	while (gpumon_monotonic_ns() < until_ns) {
		/* Without events, poll() returns at an error or a hangup. */
		struct pollfd fd = { .fd = fileno(out) };

		if (gpumon_signals_caught() || ppoll(&fd, 1, &step, NULL) > 0)
			return false;
		gpumon_present_watch_poll(watch);
		if (!gpumon_present_watch_lives(watch))
			return false;
	}
	return !gpumon_signals_caught();
}

static int watch_all(struct gpumon_context *context, const struct gpumon_stat_frames *options,
		     struct gpumon_present_watch *watch, FILE *out, struct gpumon_error *err)
{
	uint64_t now = gpumon_monotonic_ns(), end = UINT64_MAX, due = now, shown = 0;
	bool goes_on = true;
	int ret = 0;

	gpumon_signals_catch();
	if (options->duration_ns)
		end = now + options->duration_ns;
	else if (!options->interval_ns)
		end = now + BRIEFLY_NS;
	while (!ret && goes_on && due < end && (!options->count || shown < options->count)) {
		due = options->interval_ns ? due + options->interval_ns : end;
		/* After a suspend or an overload, do not catch up on missed intervals. */
		if (due < gpumon_monotonic_ns())
			due = gpumon_monotonic_ns();
		goes_on = watch_until(watch, out, due < end ? due : end);
		/* What was seen until a signal is shown only if it is all there is. */
		if (gpumon_signals_caught() && options->interval_ns)
			break;
		ret = show(context, options, watch, out, err);
		shown++;
	}
	return ret;
}

int gpumon_stat_frames(struct gpumon_context *context, const struct gpumon_stat_frames *options)
{
	struct gpumon_output_file file = { 0 };
	struct gpumon_present_watch *watch;
	struct gpumon_error err;
	int ret;

	gpumon_privileges_keep(GPUMON_PRIVILEGE_BPF | GPUMON_PRIVILEGE_PROCESSES |
			       GPUMON_PRIVILEGE_FILES);
	watch = gpumon_present_watch_open(context->root, (pid_t)options->pid, &err);
	if (!watch)
		return gpumon_report(context, &err);
	ret = gpumon_output_file_open(&file, options->output, true, GPUMON_OUTPUT_TEXT,
				      context->out, &err);
	if (!ret) {
		ret = gpumon_output_file_show(&file, &err);
		if (!ret && !options->interval_ns && !options->duration_ns)
			fputs("gpumon-user: watching for 5 s (--duration TIME or --interval TIME watch longer)\n",
			      context->err);
		if (!ret)
			ret = watch_all(context, options, watch, file.stream, &err);
		if (gpumon_output_file_close(&file, !ret, &err) && !ret)
			ret = -1;
	}
	gpumon_present_watch_free(watch);
	return ret ? gpumon_report(context, &err) : GPUMON_EXIT_OK;
}
