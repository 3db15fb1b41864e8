// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * gpumon-user trace: the event ring as a stream of lines, with the alerts between them, or as a picture.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/alert_sources.h"
#include "driver/bpf_source.h"
#include "commands.h"
#include "lib/wait.h"
#include "driver/event_reader.h"
#include "lib/memory.h"
#include "lib/options.h"
#include "lib/privileges.h"
#include "driver/source.h"
#include "driver/trace.h"
#include "trace_picture.h"

/*
 * How late a record may get into the buffer. A probe takes the time and writes at once; only an
 * interrupt or, in a VM, the host can come in between.
 */
#define WINDOW_NS 20000000ULL
#define HELD_MAX  (1U << 17)
#define JOBS_MAX  (1U << 16)
/*
 * Printing a record costs far more than writing it into the ring. So print only this many before
 * the ring is emptied again.
 */
#define PRINTED_AT_ONCE 256
/* The kernel only wakes a reader at a watermark, so poll at this interval. */
#define POLL_NS 50000000ULL
#define LOOK_NS 1000000000ULL
/* At most this long is spent on the rest of the ring at the end. */
#define LAST_NS 2000000000ULL

/* Names of rings are read again after this long, and after this if the ring is not known. */
#define RINGS_NS	 1000000000ULL
#define RINGS_UNKNOWN_NS 100000000ULL

/**
 * struct trace_names - known rings and rows
 * @source: source of the names, owned by the caller
 * @model: the last reading
 * @read_ns: its time on CLOCK_MONOTONIC
 * @events_ns: time when the caller last read events
 * @row_text: labels of the row of the last look-up
 */
struct trace_names {
	struct gpumon_source *source;
	struct gpumon_model model;
	uint64_t read_ns;
	uint64_t events_ns;
	char row_text[128];
};

/* Read all names. 0, or -1 with @err. */
static int read_names(struct trace_names *names, struct gpumon_error *err)
{
	names->read_ns = gpumon_monotonic_ns();
	return gpumon_source_read(names->source, GPUMON_PART_RINGS | GPUMON_PART_STATISTICS, 0,
				  &names->model, err);
}

/* Callback of struct gpumon_trace_options; @data: the names. */
static const struct gpumon_ring *find_ring(void *data, unsigned int id)
{
	struct trace_names *names = data;
	const struct gpumon_ring *ring = gpumon_model_ring(&names->model, id);
	uint64_t age = gpumon_monotonic_ns() - names->read_ns;
	/*
	 * A ring exists before its first event can be read. With BPF, another look costs nothing.
	 */
	bool look = !ring && gpumon_source_bpf(names->source) && names->events_ns >= names->read_ns;
	struct gpumon_error err;

	/* Ring numbers are reused, so a known ring is looked up again, too. */
	if (age < (ring ? RINGS_NS : RINGS_UNKNOWN_NS) && !look)
		return ring;
	/* On failure the number is shown instead of the name. */
	(void)read_names(names, &err);
	return gpumon_model_ring(&names->model, id);
}

/* The labels of a row as one text, in a buffer that the next call reuses. */
static const char *row_text(struct trace_names *names, const struct gpumon_row *row)
{
	size_t at = 0;

	names->row_text[0] = '\0';
	for (size_t i = 0; i < row->n_labels && at < sizeof(names->row_text); i++)
		at += (size_t)snprintf(names->row_text + at, sizeof(names->row_text) - at, "%s%s",
				       i ? "/" : "",
				       row->labels[i].value ? row->labels[i].value : "-");
	return names->row_text;
}

static const struct gpumon_row *model_row(const struct gpumon_model *model, const char *group,
					  const char *table, unsigned int number)
{
	const struct gpumon_statistics *statistics = gpumon_model_statistics(model, group, table);

	return statistics ? gpumon_statistics_row(statistics, number) : NULL;
}

static const char *find_row(void *data, const char *group, const char *table, unsigned int number)
{
	struct trace_names *names = data;
	const struct gpumon_row *row = model_row(&names->model, group, table, number);
	struct gpumon_error err;

	/*
	 * Rows stay, and exist before their first event can be read. So one look after each reading
	 * is enough. The event's time does not help, since it may be that of the beginning.
	 */
	if (!row && names->events_ns >= names->read_ns) {
		(void)read_names(names, &err);
		row = model_row(&names->model, group, table, number);
	}
	/* With BPF the files of both drivers are of one kind, and rows have different numbers. */
	if (!row && gpumon_source_bpf(names->source) && !strcmp(group, "nvidia"))
		row = model_row(&names->model, "nvidia_uvm", table, number);
	return row ? row_text(names, row) : NULL;
}

/**
 * struct trace_run - state that must be restored at the end
 * @source: the module, or BPF, which has a ring of its own
 * @alerts: sources of alerts; not open if there is none
 * @limits: of jobs that hang or starve, as asked for
 * @reader: reader of the module's ring
 * @switched_on: the ring was off and must be switched off again
 * @pipe_broken: the reader of the output pipe is gone
 * @output_error: errno of another output failure
 * @ended_by_others: another program switched the ring off
 * @names: names of rings and rows
 * @looked_ns: time of the last check for new drivers
 * @perfetto: file of the picture, NULL: lines are printed
 * @force: it may be replaced
 * @picture: takes what would be lines, NULL without @perfetto
 * @ended_ns: time when the last record was taken
 */
struct trace_run {
	struct gpumon_context *context;
	struct gpumon_source source;
	enum gpumon_source_choice choice;
	struct gpumon_alert_sources alerts;
	bool with_alerts;
	struct gpumon_job_limits limits;
	struct gpumon_event_reader reader;
	struct gpumon_trace *trace;
	struct gpumon_trace_options options;
	struct gpumon_event_ring before;
	struct trace_names names;
	uint64_t looked_ns;
	uint64_t duration_ns;
	bool no_enable;
	bool switched_on;
	bool pipe_broken;
	int output_error;
	bool ended_by_others;
	const char *perfetto;
	bool force;
	struct gpumon_trace_picture *picture;
	uint64_t ended_ns;
};

static ssize_t read_events(struct trace_run *run, const struct gpumon_event **events)
{
	if (gpumon_source_bpf(&run->source))
		return gpumon_bpf_source_events(gpumon_source_bpf(&run->source), events);
	return gpumon_event_reader_read(&run->reader, events);
}

/*
 * Check whether the output still works. A closed pipe, as in "trace | head", is normal and is
 * noticed even while nothing is printed. A full disk is an error, and its errno is only available
 * here.
 */
static bool output_gone(struct trace_run *run, bool flush)
{
	FILE *out = run->context->out;
	struct pollfd poll_out = { .fd = fileno(out) };

	/* Its file is written at the end. */
	if (run->picture)
		return false;
	errno = 0;
	if (flush)
		fflush(out);
	if (errno == EPIPE ||
	    (poll_out.fd >= 0 && poll(&poll_out, 1, 0) > 0 && (poll_out.revents & POLLERR)))
		run->pipe_broken = true;
	if (ferror(out) && !run->output_error)
		run->output_error = errno ? errno : EIO;
	return run->pipe_broken || ferror(out);
}

enum {
	READ_ALL,
	READ_SOME,
	READ_TO_END,
};

/* Read what is available now. Returns one of the above, or -1 on failure. */
static int read_available(struct trace_run *run, struct gpumon_error *err)
{
	/* Bounded, so that signals and the end are checked under load, too. */
	for (int i = 0; i < 16; i++) {
		uint64_t now = gpumon_monotonic_ns();
		const struct gpumon_event *events;
		ssize_t n = read_events(run, &events);

		run->names.events_ns = gpumon_monotonic_ns();
		if (n == -EAGAIN) {
			gpumon_trace_drained(run->trace, now);
			return READ_ALL;
		}
		if (n < 0)
			return gpumon_error_set(err, GPUMON_EXIT_FAILED, (int)n, GPUMON_ERROR_IO,
						"reading events: %s", strerror((int)-n));
		if (!n) {
			gpumon_trace_drained(run->trace, UINT64_MAX);
			return READ_TO_END;
		}
		gpumon_trace_feed(run->trace, events, (size_t)n);
		if (gpumon_trace_finished(run->trace))
			break;
	}
	return READ_SOME;
}

/* Without alerts there still are events. */
static void no_alerts(struct trace_run *run, const char *what, const struct gpumon_error *err)
{
	gpumon_alert_sources_close(&run->alerts);
	run->with_alerts = false;
	fprintf(run->context->err, "gpumon-user: %s between the events: %s\n", what, err->message);
}

static void read_alerts(struct trace_run *run)
{
	struct gpumon_model alerts = { 0 };
	struct gpumon_error err;

	if (!run->with_alerts)
		return;
	if (gpumon_alert_sources_read(&run->alerts, &alerts, &err))
		no_alerts(run, "no more alerts", &err);
	gpumon_trace_feed_alerts(run->trace, &alerts);
}

/* Fails only where limits are given: then these alerts are what is asked for. */
static int open_alerts(struct trace_run *run, struct gpumon_error *err)
{
	struct gpumon_error why;

	run->with_alerts = true;
	if (!gpumon_alert_sources_open(&run->alerts, run->context->root, GPUMON_LOG_FROM_NOW,
				       run->limits, gpumon_source_bpf(&run->source), &why))
		return 0;
	if (run->limits.hang_ns || run->limits.starved_ns) {
		*err = why;
		return -1;
	}
	no_alerts(run, "no alerts", &why);
	return 0;
}

/*
 * Read, and print some records. 1 if the stream goes on, 0 at its end, -1 on failure; *again if
 * more can be done at once.
 */
static int read_and_print(struct trace_run *run, bool *again, struct gpumon_error *err)
{
	int got = read_available(run, err);
	bool more;

	if (got < 0)
		return -1;
	/* After the events: an alert that is earlier than one of them has arrived, too. */
	read_alerts(run);
	more = gpumon_trace_print(run->trace, PRINTED_AT_ONCE);
	*again = more || got == READ_SOME;
	return more || got != READ_TO_END;
}

/* The module notices new drivers itself. For BPF, we load programs when we see one. */
static void look_for_drivers(struct trace_run *run, uint64_t now)
{
	if (!gpumon_source_bpf(&run->source) || now - run->looked_ns < LOOK_NS)
		return;
	run->looked_ns = now;
	gpumon_bpf_source_look(gpumon_source_bpf(&run->source));
}

static int trace_loop(struct trace_run *run, const sigset_t *sigmask, struct gpumon_error *err)
{
	uint64_t deadline = run->options.end_ns ? run->options.end_ns : UINT64_MAX;
	bool again = false;

	while (!gpumon_trace_finished(run->trace) && !gpumon_signals_caught()) {
		uint64_t now = gpumon_monotonic_ns();
		uint64_t wait = deadline > now ? deadline - now : 0;
		int ret;

		if (!wait)
			return 0;
		if (wait > POLL_NS)
			wait = POLL_NS;
		/* Signals are only delivered here, even if there is nothing to wait for. */
		ret = gpumon_event_reader_wait(&run->reader, again ? 0 : wait, sigmask);
		look_for_drivers(run, now);
		if (ret < 0 && ret != -EINTR)
			return gpumon_error_set(err, GPUMON_EXIT_FAILED, ret, GPUMON_ERROR_IO,
						"waiting for events: %s", strerror(-ret));
		ret = read_and_print(run, &again, err);
		if (ret < 0)
			return -1;
		if (output_gone(run, !again))
			return 0;
		if (!ret) {
			run->ended_by_others = run->switched_on;
			return 0;
		}
	}
	return 0;
}

/* Read and print the last records, after the ring is off or the time is over. */
static int trace_last(struct trace_run *run, struct gpumon_error *err)
{
	uint64_t deadline = gpumon_monotonic_ns() + LAST_NS;
	bool again = true;

	while (again && gpumon_monotonic_ns() < deadline && !output_gone(run, false)) {
		int ret = read_and_print(run, &again, err);

		if (ret < 0)
			return -1;
		if (!ret || gpumon_trace_finished(run->trace))
			break;
	}
	gpumon_trace_drained(run->trace, UINT64_MAX);
	gpumon_trace_print(run->trace, SIZE_MAX);
	return 0;
}

static void ring_off(struct trace_run *run)
{
	struct gpumon_error err;

	if (!run->switched_on)
		return;
	if (gpumon_client_event_ring_set(run->source.client, 0, 0, &err))
		fprintf(run->context->err,
			"gpumon-user: the event ring could not be switched off again: %s\n",
			err.message);
	run->switched_on = false;
}

static uint64_t counted_since(struct gpumon_value before, struct gpumon_value after)
{
	/* A smaller count means that it restarted when the ring was switched on. */
	return after.v >= before.v ? after.v - before.v : after.v;
}

/* Events that were lost in the ring, as far as is known, or after it. */
static uint64_t count_lost(struct trace_run *run)
{
	struct gpumon_trace_totals totals;
	struct gpumon_event_ring after;
	struct gpumon_error err;
	uint64_t lost;

	gpumon_trace_get_totals(run->trace, &totals);
	lost = totals.merge.late + run->reader.cut;
	if (gpumon_source_event_ring_get(&run->source, &after, &err))
		return lost + totals.overwritten;
	return lost + counted_since(run->before.overwritten, after.overwritten) +
	       counted_since(run->before.dropped, after.dropped);
}

static void print_totals(struct trace_run *run)
{
	struct gpumon_log_losses losses = { 0 };
	struct gpumon_trace_totals totals;
	struct gpumon_event_ring after;
	struct gpumon_error err;
	FILE *out = run->context->err;

	gpumon_trace_get_totals(run->trace, &totals);
	fprintf(out, "%llu events", (unsigned long long)(totals.printed - totals.alerts));
	if (totals.alerts)
		fprintf(out, ", %llu alerts", (unsigned long long)totals.alerts);
	if (totals.hidden)
		fprintf(out, ", %llu not shown", (unsigned long long)totals.hidden);
	if (!gpumon_source_event_ring_get(&run->source, &after, &err))
		fprintf(out, "; lost: %llu overwritten, %llu dropped",
			(unsigned long long)counted_since(run->before.overwritten,
							  after.overwritten),
			(unsigned long long)counted_since(run->before.dropped, after.dropped));
	else
		fprintf(out, "; lost: %llu overwritten", (unsigned long long)totals.overwritten);
	fprintf(out, ", %llu late, %u cut; %llu unmatched", (unsigned long long)totals.merge.late,
		run->reader.cut, (unsigned long long)totals.join.unmatched);
	if (totals.join.evicted)
		fprintf(out, " (%llu jobs forgotten)", (unsigned long long)totals.join.evicted);
	losses = run->with_alerts ? gpumon_alert_sources_losses(&run->alerts) : losses;
	if (losses.overwritten || losses.unreadable)
		fprintf(out,
			"; %llu records of the kernel's log were not seen, alerts may be missing",
			(unsigned long long)(losses.overwritten + losses.unreadable));
	fputc('\n', out);
	if (run->ended_by_others)
		fputs("The event ring was switched off by another program.\n", out);
}

static int open_events(struct trace_run *run, struct gpumon_error *err)
{
	char path[512];
	int ret;

	if (gpumon_source_bpf(&run->source)) {
		gpumon_event_reader_attach(
			&run->reader, dup(gpumon_bpf_source_fd(gpumon_source_bpf(&run->source))));
		return 0;
	}
	snprintf(path, sizeof(path), "%s/sys/kernel/debug/gpumon/events", run->context->root);
	ret = gpumon_event_reader_open(&run->reader, path);
	if (ret == -ENOENT)
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, ret, GPUMON_ERROR_UNSUPPORTED,
			"%s is not there: mount debugfs with \"mount -t debugfs none /sys/kernel/debug\"",
			path);
	if (ret == -EACCES || ret == -EPERM)
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, ret, GPUMON_ERROR_PERMISSION,
			"%s: %s: run as root; where the kernel is locked down, debugfs is closed to root, too: --source=bpf does without it",
			path, strerror(-ret));
	if (ret)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, ret, GPUMON_ERROR_IO, "%s: %s",
					path, strerror(-ret));
	return 0;
}

static int trace_prepare(struct trace_run *run, struct gpumon_error *err)
{
	struct gpumon_context *context = run->context;
	struct gpumon_model info = { 0 };

	if (gpumon_source_open(&run->source, run->choice, true, err) ||
	    read_names(&run->names, err) ||
	    gpumon_source_event_ring_get(&run->source, &run->before, err))
		return -1;
	if (gpumon_source_read(&run->source, GPUMON_PART_INFO | GPUMON_PART_GROUPS, 0, &info,
			       err) ||
	    (run->options.group && gpumon_source_check_group(&info, run->options.group, err))) {
		gpumon_model_free(&info);
		return -1;
	}
	run->options.cpus = (unsigned int)info.info.possible_cpus.v;
	gpumon_model_free(&info);

	for (size_t i = 0; i < run->names.model.n_rings; i++) {
		const struct gpumon_ring *ring = &run->names.model.rings[i];
		size_t width = (ring->device ? strlen(ring->device) : 1) +
			       (ring->name ? strlen(ring->name) : 1) + 1;

		if (width > run->options.ring_width)
			run->options.ring_width = (unsigned int)width;
	}

	if (open_events(run, err) || open_alerts(run, err))
		return -1;

	run->options.source = gpumon_source_bpf(&run->source) ? "bpf" : NULL;
	if (run->picture)
		gpumon_trace_picture_take(run->picture, &run->options);
	run->options.find_ring = find_ring;
	run->options.find_row = find_row;
	run->options.find_ring_data = &run->names;
	run->options.start_ns = gpumon_monotonic_ns();
	if (run->duration_ns)
		run->options.end_ns = run->options.start_ns + run->duration_ns;
	run->trace = gpumon_trace_new(&run->options, context->out);

	if (run->before.enabled.v || run->no_enable || gpumon_source_bpf(&run->source))
		return 0;
	if (gpumon_client_event_ring_set(run->source.client, 1, 0, err))
		return -1;
	run->switched_on = true;
	/* The counts of the new ring begin at 0. */
	memset(&run->before, 0, sizeof(run->before));
	return 0;
}

/* The file, or why there is none. Reading the capture may take long: signals end us here. */
static int write_picture(struct trace_run *run, struct gpumon_error *err)
{
	uint64_t took_ns = run->ended_ns - run->options.start_ns;
	struct gpumon_trace_totals totals;

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (!gpumon_trace_picture_empty(run->picture))
		return gpumon_trace_picture_write(run->picture, took_ns, count_lost(run), err);
	gpumon_trace_get_totals(run->trace, &totals);
	return gpumon_trace_picture_nothing(run->picture, &run->source, &run->options,
					    totals.hidden, took_ns, err);
}

static int trace_run(struct trace_run *run)
{
	struct gpumon_context *context = run->context;
	sigset_t block, unblocked, original;
	struct sigaction action;
	struct gpumon_error err;
	int ret;

	/*
	 * Signals are blocked except during the wait. So the ring is always switched off again, and
	 * no signal is missed between the check and the wait.
	 */
	gpumon_signals_catch();
	sigaction(SIGTERM, NULL, &action);
	/* A closed terminal ends it, too, but not under nohup. */
	if (signal(SIGHUP, SIG_IGN) != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGHUP);
	sigprocmask(SIG_BLOCK, &block, &original);
	unblocked = original;
	sigdelset(&unblocked, SIGINT);
	sigdelset(&unblocked, SIGTERM);
	sigdelset(&unblocked, SIGHUP);
	/* A reader that exits must not kill us before the ring is off. */
	signal(SIGPIPE, SIG_IGN);

	ret = trace_prepare(run, &err);
	if (!ret) {
		if (run->no_enable && !run->before.enabled.v)
			fputs("The event ring is off: showing what is left in it.\n", context->err);
		gpumon_trace_header(run->trace);
		output_gone(run, true);
		ret = trace_loop(run, &unblocked, &err);
	}
	run->ended_ns = gpumon_monotonic_ns();
	ring_off(run);
	if (!ret && !gpumon_trace_finished(run->trace))
		ret = trace_last(run, &err);
	sigprocmask(SIG_SETMASK, &original, NULL);
	if (!ret && run->picture)
		ret = write_picture(run, &err);
	if (ret)
		return gpumon_report(context, &err);

	output_gone(run, true);
	if (run->pipe_broken) {
		/* The rest of the buffer has no reader, and main() must not report that. */
		if (!freopen("/dev/null", "w", context->out))
			return GPUMON_EXIT_FAILED;
		return GPUMON_EXIT_OK;
	}
	print_totals(run);
	if (run->output_error) {
		gpumon_error_set(&err, GPUMON_EXIT_FAILED, -run->output_error, GPUMON_ERROR_IO,
				 "standard output: %s", strerror(run->output_error));
		return gpumon_report(context, &err);
	}
	return GPUMON_EXIT_OK;
}

static int parse_options(struct trace_run *run, int argc, char **argv)
{
	const struct gpumon_option options[] = {
		GPUMON_OPTION_JSON(run->context),
		GPUMON_OPTION("duration", 'd', GPUMON_OPTION_TIME, &run->duration_ns),
		GPUMON_OPTION_RANGE("count", 'n', GPUMON_OPTION_U64, &run->options.count, 1,
				    UINT64_MAX),
		GPUMON_OPTION("group", 'g', GPUMON_OPTION_TEXT, &run->options.group),
		GPUMON_OPTION("ring", 'r', GPUMON_OPTION_TEXT, &run->options.ring),
		GPUMON_OPTION_RANGE("pid", 'p', GPUMON_OPTION_U32, &run->options.pid, 1, INT32_MAX),
		GPUMON_OPTION("hang", 0, GPUMON_OPTION_TIME, &run->limits.hang_ns),
		GPUMON_OPTION("starved", 0, GPUMON_OPTION_TIME, &run->limits.starved_ns),
		GPUMON_OPTION("no-enable", 0, GPUMON_OPTION_FLAG, &run->no_enable),
		GPUMON_OPTION("perfetto", 0, GPUMON_OPTION_TEXT, &run->perfetto),
		GPUMON_OPTION("force", 0, GPUMON_OPTION_FLAG, &run->force),
		GPUMON_SOURCE_OPTION(&run->choice),
		{ 0 },
	};
	int status =
		gpumon_options_parse(run->context, &argc, &argv, options, GPUMON_OPERANDS_NONE);

	if (status != GPUMON_OPTIONS_GO_ON)
		return status;
	if (run->limits.hang_ns > GPUMON_JOB_LIMIT_MAX_NS ||
	    run->limits.starved_ns > GPUMON_JOB_LIMIT_MAX_NS)
		return gpumon_usage(run->context, "--hang and --starved are at most 24h");
	if (run->perfetto && run->context->json)
		return gpumon_usage(
			run->context,
			"--json prints lines, and --perfetto writes a picture: leave one out");
	if (run->force && (!run->perfetto || !strcmp(run->perfetto, "-")))
		return gpumon_usage(
			run->context,
			"--force replaces the file of --perfetto: name the file, or leave --force out");
	if (!run->no_enable)
		return status;
	if (run->choice == GPUMON_SOURCE_BPF)
		return gpumon_usage(
			run->context,
			"--no-enable is about the module's ring: leave it out with BPF");
	/* BPF begins with an empty ring. */
	run->choice = GPUMON_SOURCE_MODULE;
	return GPUMON_OPTIONS_GO_ON;
}

/* Before anything else: a refusal comes before the trace. */
static int open_picture(struct trace_run *run)
{
	struct gpumon_error err;

	if (!run->perfetto) {
		gpumon_privileges_keep(run->context->command->privileges & ~GPUMON_PRIVILEGE_FILES);
		return GPUMON_OPTIONS_GO_ON;
	}
	if (!gpumon_trace_picture_open(&run->picture, run->context, run->perfetto, run->force,
				       &err))
		return GPUMON_OPTIONS_GO_ON;
	return gpumon_report(run->context, &err);
}

static int command_trace(struct gpumon_context *context, int argc, char **argv)
{
	/* The reader's buffer is too large for the stack. */
	struct trace_run *run = gpumon_calloc(1, sizeof(*run));
	int status;

	run->context = context;
	run->names.source = &run->source;
	run->reader.fd = -1;
	run->options.window_ns = WINDOW_NS;
	run->options.held_max = HELD_MAX;
	run->options.jobs_max = JOBS_MAX;
	status = parse_options(run, argc, argv);
	if (status == GPUMON_OPTIONS_GO_ON)
		status = open_picture(run);
	if (status == GPUMON_OPTIONS_GO_ON) {
		run->options.json = context->json;
		gpumon_term_get(&run->options.term, context->out);
		status = trace_run(run);
	}
	if (run->with_alerts)
		gpumon_alert_sources_close(&run->alerts);
	gpumon_trace_free(run->trace);
	gpumon_event_reader_close(&run->reader);
	gpumon_model_free(&run->names.model);
	gpumon_source_close(&run->source);
	gpumon_trace_picture_close(run->picture);
	free(run);
	return status;
}

const struct gpumon_command gpumon_command_trace = {
	.name = "trace",
	.summary = "Print jobs and what else the drivers do, as it happens",
	.usage =
		"[--json] [--duration TIME] [--count N] [--group GROUP] [--ring [DEVICE/]NAME] [--pid PID]\n"
		"                         [--hang TIME] [--starved TIME] [--no-enable] [--source SOURCE]\n"
		"                         [--perfetto FILE [--force]]",
	.help = GPUMON_HELP(
		"Switches the module's event ring on, if it is off, and off again at the end; where no\n"
		"module can be loaded, events come from BPF programs and their own ring. Events of all\n"
		"CPUs are sorted by time; RUN is joined to COMPLETE. Losses are printed where they\n"
		"happened and summed up at the end, on standard error.\n"
		"\n"
		"  TIME(ms)   since the start; negative for events that were already in the ring\n"
		"  JOB        fence context:sequence number\n"
		"  QUEUED/HW  jobs queued and not run / run and not done on that ring, \"-\" unknown\n"
		"  DETAILS    QUEUE: the submitter; RUN: time queued; COMPLETE: time run;\n"
		"             WAIT_DEP: the job waited for\n"
		"\n"
		"ALERT is what gpumon-user alerts tells: jobs that hang (see --hang), timeouts, Xids, resets.\n"
		"Events of other groups have what they are about (device, crtc, ...) in place of the ring,\n"
		"and their numbers in DETAILS.\n"
		"\n"
		"Options:\n"
		"      --json             JSON lines\n"
		"  -d, --duration TIME    stop after that time (seconds, or 500ms, 2m, ...)\n"
		"  -n, --count N          stop after N lines\n"
		"  -g, --group GROUP      only events of this group, for example nvidia\n"
		"  -r, --ring NAME        only this ring, NAME or DEVICE/NAME, or events with this label\n"
		"  -p, --pid PID          only what this process submitted or did\n"
		"      --hang TIME        an alert for each job that is on the hardware for longer (5s, 500ms)\n"
		"      --starved TIME     an alert for each that waits in its queue for longer\n"
		"      --no-enable        do not switch the ring on, print what is in it\n" GPUMON_SOURCE_HELP
		"      --perfetto FILE    no lines: at the end (--duration, Ctrl-C) a timeline of rings and\n"
		"                         devices for ui.perfetto.dev; FILE.gz is compressed\n"
		"      --force            replace FILE\n"),
	.privileges = GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_BPF | GPUMON_PRIVILEGE_DEBUGFS |
		      GPUMON_PRIVILEGE_LOG | GPUMON_PRIVILEGE_FILES,
	.run = command_trace,
};
