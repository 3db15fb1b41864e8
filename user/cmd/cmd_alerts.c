// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user alerts: Xids and other alerts as they happen. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/alert_message.h"
#include "driver/alert_sources.h"
#include "driver/client.h"
#include "commands.h"
#include "lib/wait.h"
#include "lib/format.h"
#include "driver/json_model.h"
#include "lib/memory.h"
#include "lib/options.h"
#include "lib/privileges.h"

/* How often signals are checked. */
#define POLL_MS 200
/* Kinds, devices and codes whose counts are tracked. All sources together keep fewer. */
#define FOLLOWED_MAX 1024

/**
 * struct alerts_run - state of the command
 * @exec: shell command to run on each alert, NULL for none
 * @count: stop after this number, 0 for no end
 * @duration_ns: stop after that time, 0 for no end
 * @end_ns: time to stop, UINT64_MAX for no end
 * @limits: of jobs that hang or starve
 * @last: print the last of each kind, and do not wait
 * @shown: alerts printed
 * @seen: the last alert of each kind, device and code; only its count is used
 * @lost: alerts that the module could neither keep nor send, as last reported
 * @losses: records of the log that were not seen, as last reported
 */
struct alerts_run {
	struct gpumon_context *context;
	struct gpumon_term term;
	const char *exec;
	uint64_t count;
	uint64_t duration_ns;
	uint64_t end_ns;
	struct gpumon_job_limits limits;
	bool last;
	uint64_t shown;
	struct gpumon_model seen;
	uint64_t lost;
	struct gpumon_log_losses losses;
};

static const char *text_of(const char *text)
{
	return text && *text ? text : "-";
}

static bool is_of(const struct gpumon_alert *alert, const char *source)
{
	return alert->source && !strcmp(alert->source, source);
}

static const char *counted_since(const struct alerts_run *run, const struct gpumon_alert *alert)
{
	if (is_of(alert, GPUMON_ALERT_SOURCE_RAS))
		return "counted by the driver";
	if (is_of(alert, GPUMON_ALERT_SOURCE_BPF))
		return "since the start";
	if (is_of(alert, GPUMON_ALERT_SOURCE_LOG))
		return run->last ? "in the log" : "since the start";
	return "since load";
}

static void print_alert(struct alerts_run *run, const struct gpumon_alert *alert)
{
	char time[GPUMON_FORMAT_LEN], device[128];
	FILE *out = run->context->out;

	gpumon_format_time(time, sizeof(time), alert->time_ns.v);
	gpumon_format_name(device, sizeof(device), alert->device);
	fprintf(out, "%s  %s  ", time, device);
	gpumon_alert_print_words(alert, &run->term, out);
	fprintf(out, "  (%" PRIu64 " %s)\n", alert->count.v, counted_since(run, alert));
}

static int print_json(struct alerts_run *run, const struct gpumon_alert *alert)
{
	return gpumon_json_print(gpumon_json_alert(alert), true, run->context->out);
}

/*
 * The alert is passed in the environment, not in the command line: a message may contain anything.
 */
static void set_environment(const struct gpumon_alert *alert)
{
	char number[24];

	setenv("GPUMON_ALERT_SOURCE", alert->source ? alert->source : "kmod", 1);
	setenv("GPUMON_ALERT_PROCESS", text_of(alert->process), 1);
	gpumon_format_count(number, sizeof(number), alert->pid);
	setenv("GPUMON_ALERT_PID", number, 1);
	setenv("GPUMON_ALERT_GROUP", text_of(alert->group), 1);
	setenv("GPUMON_ALERT_KIND", text_of(alert->kind), 1);
	setenv("GPUMON_ALERT_DEVICE", text_of(alert->device), 1);
	setenv("GPUMON_ALERT_MESSAGE", text_of(alert->message), 1);
	gpumon_format_count(number, sizeof(number), alert->code);
	setenv("GPUMON_ALERT_CODE", number, 1);
	snprintf(number, sizeof(number), "%" PRIu64, alert->time_ns.v);
	setenv("GPUMON_ALERT_TIME_NS", number, 1);
	snprintf(number, sizeof(number), "%" PRIu64, alert->count.v);
	setenv("GPUMON_ALERT_COUNT", number, 1);
}

/* Commands run one after the other. New alerts wait in the sockets and in the log. */
static void run_command(struct alerts_run *run, const struct gpumon_alert *alert)
{
	extern char **environ;
	/* posix_spawn() does not change the arguments; its prototype just lacks the const. */
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)run->exec, NULL };
	posix_spawnattr_t attributes;
	int status = 0;
	pid_t pid;
	int ret;

	fflush(run->context->out);
	set_environment(alert);
	posix_spawnattr_init(&attributes);
	gpumon_signals_for_program(&attributes);
	ret = posix_spawn(&pid, "/bin/sh", NULL, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	if (ret) {
		fprintf(run->context->err, "gpumon-user: --exec: %s\n", strerror(ret));
		return;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		fprintf(run->context->err, "gpumon-user: --exec: killed by signal %d\n",
			WTERMSIG(status));
	else if (WEXITSTATUS(status))
		fprintf(run->context->err, "gpumon-user: --exec: exit status %d\n",
			WEXITSTATUS(status));
}

static bool same_text(const char *a, const char *b)
{
	return !strcmp(text_of(a), text_of(b));
}

static struct gpumon_alert *seen_before(struct alerts_run *run, const struct gpumon_alert *alert)
{
	for (size_t i = 0; i < run->seen.n_alerts; i++) {
		struct gpumon_alert *seen = &run->seen.alerts[i];

		if (seen->code.v == alert->code.v && same_text(seen->device, alert->device) &&
		    same_text(seen->kind, alert->kind) && same_text(seen->group, alert->group))
			return seen;
	}
	return NULL;
}

static void remember_alert(struct alerts_run *run, const struct gpumon_alert *alert)
{
	struct gpumon_alert *seen;

	if (run->seen.n_alerts >= FOLLOWED_MAX)
		return;
	seen = gpumon_model_add_alert(&run->seen);
	seen->group = gpumon_strdup(text_of(alert->group));
	seen->kind = gpumon_strdup(text_of(alert->kind));
	seen->device = gpumon_strdup(text_of(alert->device));
	seen->code = alert->code;
	seen->count = alert->count;
}

/*
 * Report alerts that were not shown one by one. Of a burst a few of each device and code are sent, and
 * the others as one; a socket that overflows leaves a gap in the counts, too, and so does
 * the module if it has no memory to send. Alerts that it could not even keep are in no count; it
 * reports their number itself.
 */
static void tell_losses(struct alerts_run *run, const struct gpumon_alert *alert)
{
	struct gpumon_alert *seen = seen_before(run, alert);
	uint64_t before = seen ? seen->count.v : 0;
	uint64_t behind = alert->count.v > before ? alert->count.v - before - 1 : 0;

	/* The driver's counter began long before. */
	if (!seen && is_of(alert, GPUMON_ALERT_SOURCE_RAS))
		behind = 0;
	if (!seen)
		remember_alert(run, alert);
	else if (alert->count.v > before)
		seen->count = alert->count;
	if (behind)
		fprintf(run->context->err,
			"gpumon-user: %" PRIu64
			" alerts are only in the count: they came faster than they were handled\n",
			behind);
	if (alert->lost.v > run->lost) {
		fprintf(run->context->err,
			"gpumon-user: %" PRIu64
			" alerts were lost: they came faster than they were handled\n",
			alert->lost.v - run->lost);
		run->lost = alert->lost.v;
	}
}

static bool alerts_enough(const struct alerts_run *run)
{
	return run->count && run->shown >= run->count;
}

/* Commands take time, so the end may come while alerts are still waiting. */
static bool alerts_ended(const struct alerts_run *run)
{
	return gpumon_signals_caught() || (run->exec && gpumon_monotonic_ns() >= run->end_ns);
}

static int show_alerts(struct alerts_run *run, const struct gpumon_model *model)
{
	for (size_t i = 0; i < model->n_alerts && !alerts_enough(run) && !alerts_ended(run); i++) {
		const struct gpumon_alert *alert = &model->alerts[i];

		if (!run->last)
			tell_losses(run, alert);
		if (run->context->json) {
			if (print_json(run, alert))
				return -1;
		} else {
			print_alert(run, alert);
		}
		run->shown++;
		if (run->exec)
			run_command(run, alert);
	}
	fflush(run->context->out);
	return ferror(run->context->out) ? -1 : 0;
}

static int tell_loss(struct alerts_run *run, const char *cause, uint64_t now, uint64_t *before,
		     const char *words)
{
	struct json_object *loss, *line;
	uint64_t records = now - *before;

	*before = now;
	if (!records)
		return 0;
	fprintf(run->context->err, "gpumon-user: %" PRIu64 " records of the kernel's log %s\n",
		records, words);
	if (!run->context->json)
		return 0;
	loss = gpumon_json_object();
	gpumon_json_add_string(loss, "source", GPUMON_ALERT_SOURCE_LOG);
	gpumon_json_add_string(loss, "cause", cause);
	gpumon_json_add_u64(loss, "records", records);
	line = gpumon_json_object();
	gpumon_json_add(line, "loss", loss);
	return gpumon_json_print(line, true, run->context->out);
}

static int tell_log_losses(struct alerts_run *run, struct gpumon_log_losses losses)
{
	return tell_loss(run, "overwritten", losses.overwritten, &run->losses.overwritten,
			 run->last ?
				 "are not in it any more: newer ones took their place" :
				 "were overwritten before they were read: alerts may be missing") ||
	       tell_loss(run, "unreadable", losses.unreadable, &run->losses.unreadable,
			 "could not be read: alerts may be missing");
}

static int show_last(struct alerts_run *run, struct gpumon_error *err)
{
	struct gpumon_log_losses losses;
	struct gpumon_model model = { 0 };
	uint64_t forgotten = 0;
	int ret = gpumon_alert_sources_last(run->context->root, &model, &losses, err);

	if (show_alerts(run, &model) || (!ret && tell_log_losses(run, losses)))
		ret = gpumon_error_output(err);
	for (size_t i = 0; i < model.n_alerts; i++)
		if (model.alerts[i].forgotten.v > forgotten)
			forgotten = model.alerts[i].forgotten.v;
	if (!ret && forgotten)
		fprintf(run->context->err,
			"gpumon-user: %" PRIu64
			" older alerts of other devices and codes are not kept any more\n",
			forgotten);
	gpumon_model_free(&model);
	return ret;
}

/* A reason without its remedy, which would be longer than the line. */
static int reason_length(const struct gpumon_alert_source *source, bool is_module)
{
	const char *end = is_module ? strstr(source->why.message, ": ") : NULL;

	return end ? (int)(end - source->why.message) : (int)strlen(source->why.message);
}

static void print_sources(struct alerts_run *run, struct gpumon_alert_sources *sources)
{
	FILE *err = run->context->err;
	const char *before = "";

	fprintf(err, "gpumon-user: alerts come from ");
	for (unsigned int i = 0; i < GPUMON_ALERT_ORIGINS; i++) {
		const char *share = gpumon_alert_source_share(sources, i);

		if (!sources->at[i].state)
			continue;
		fprintf(err, "%s%s", before, gpumon_alert_source_title(&sources->at[i]));
		if (share)
			fprintf(err, " (%s)", share);
		before = ", ";
	}
	before = "; not from ";
	for (unsigned int i = 0; i < GPUMON_ALERT_ORIGINS; i++) {
		const struct gpumon_alert_source *source = &sources->at[i];

		if (source->state || source->left_out)
			continue;
		fprintf(err, "%s%s (%.*s)", before, gpumon_alert_source_title(source),
			reason_length(source, i == GPUMON_ALERTS_OF_MODULE), source->why.message);
		before = ", ";
	}
	fprintf(err, "\n");
}

static int print_sources_json(struct alerts_run *run, struct gpumon_alert_sources *sources)
{
	struct json_object *line = gpumon_json_object(), *array = gpumon_json_array();

	for (unsigned int i = 0; i < GPUMON_ALERT_ORIGINS; i++) {
		const struct gpumon_alert_source *source = &sources->at[i];
		struct json_object *object;

		if (source->left_out)
			continue;
		object = gpumon_json_object();
		gpumon_json_add_string(object, "source", gpumon_alert_source_word(source));
		gpumon_json_add_bool(object, "open", source->state);
		gpumon_json_add_string(object, "takes", gpumon_alert_source_share(sources, i));
		gpumon_json_add_string(object, "reason",
				       source->state ? NULL : source->why.message);
		gpumon_json_append(array, object);
	}
	gpumon_json_add(line, "sources", array);
	return gpumon_json_print(line, true, run->context->out);
}

static int say_sources(struct alerts_run *run, struct gpumon_alert_sources *sources)
{
	print_sources(run, sources);
	return run->context->json ? print_sources_json(run, sources) : 0;
}

/*
 * What the module has kept so far. Read after joining: an alert in between is then in both, and does
 * not look lost.
 */
static int read_kept(struct alerts_run *run, const struct gpumon_alert_sources *sources,
		     struct gpumon_error *err)
{
	int ret;

	if (!sources->client)
		return 0;
	ret = gpumon_client_read(sources->client, GPUMON_PART_ALERTS, 0, &run->seen, err);
	for (size_t i = 0; i < run->seen.n_alerts; i++)
		if (run->seen.alerts[i].lost.v > run->lost)
			run->lost = run->seen.alerts[i].lost.v;
	return ret;
}

/* Milliseconds until signals, the end, or a source needs attention. */
static int poll_timeout(const struct alerts_run *run, const struct gpumon_alert_sources *sources)
{
	uint64_t now = gpumon_monotonic_ns(), next = gpumon_alert_sources_next_ns(sources);

	next = run->end_ns < next ? run->end_ns : next;
	if (next <= now)
		return 0;
	return next - now < POLL_MS * 1000000ULL ? (int)((next - now) / 1000000) + 1 : POLL_MS;
}

static int follow_alerts(struct alerts_run *run, struct gpumon_alert_sources *sources,
			 struct gpumon_error *err)
{
	struct pollfd fds[GPUMON_ALERT_ORIGINS + 1];

	if (read_kept(run, sources, err))
		return -1;
	if (say_sources(run, sources))
		return gpumon_error_output(err);
	while (!gpumon_signals_caught() && !alerts_enough(run) &&
	       gpumon_monotonic_ns() < run->end_ns && gpumon_alert_sources_alive(sources)) {
		struct pollfd *out = &fds[GPUMON_ALERT_ORIGINS];
		struct gpumon_model model = { 0 };
		int ret;

		gpumon_alert_sources_poll(sources, fds);
		/* A command is run for alerts even if nobody reads them. */
		*out = (struct pollfd){ .fd = run->exec ? -1 : fileno(run->context->out) };
		if (poll(fds, GPUMON_ALERT_ORIGINS + 1, poll_timeout(run, sources)) < 0)
			continue;
		if (out->fd >= 0 && out->revents) {
			errno = out->revents & POLLHUP ? EIO : EPIPE;
			return gpumon_error_output(err);
		}
		ret = gpumon_alert_sources_read(sources, &model, err);
		/* Also print the alerts that arrived before the failure. */
		if (show_alerts(run, &model) ||
		    tell_log_losses(run, gpumon_alert_sources_losses(sources)))
			ret = gpumon_error_output(err);
		gpumon_model_free(&model);
		if (ret)
			return ret;
	}
	return 0;
}

static int alerts_run(struct alerts_run *run)
{
	struct gpumon_alert_sources sources;
	struct gpumon_error err;
	int ret;

	gpumon_signals_catch();
	run->end_ns = run->duration_ns ? gpumon_monotonic_ns() + run->duration_ns : UINT64_MAX;
	if (run->last) {
		ret = show_last(run, &err);
	} else {
		ret = gpumon_alert_sources_open(&sources, run->context->root, run->limits, NULL,
						&err);
		if (!ret)
			ret = follow_alerts(run, &sources, &err);
		gpumon_alert_sources_close(&sources);
		gpumon_model_free(&run->seen);
	}
	return ret ? gpumon_report(run->context, &err) : GPUMON_EXIT_OK;
}

static int command_alerts(struct gpumon_context *context, int argc, char **argv)
{
	struct alerts_run run = { .context = context };
	const struct gpumon_option options[] = {
		GPUMON_OPTION_JSON(context),
		GPUMON_OPTION("exec", 'x', GPUMON_OPTION_TEXT, &run.exec),
		GPUMON_OPTION("duration", 'd', GPUMON_OPTION_TIME, &run.duration_ns),
		GPUMON_OPTION_RANGE("count", 'n', GPUMON_OPTION_U64, &run.count, 1, UINT64_MAX),
		GPUMON_OPTION("hang", 0, GPUMON_OPTION_TIME, &run.limits.hang_ns),
		GPUMON_OPTION("starved", 0, GPUMON_OPTION_TIME, &run.limits.starved_ns),
		GPUMON_OPTION("last", 'l', GPUMON_OPTION_FLAG, &run.last),
		{ 0 },
	};
	int status = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_NONE);

	if (status != GPUMON_OPTIONS_GO_ON)
		return status;
	if (run.last && (run.exec || run.duration_ns))
		return gpumon_usage(context,
				    "--last waits for nothing: leave out --exec and --duration");
	if (run.last && (run.limits.hang_ns || run.limits.starved_ns))
		return gpumon_usage(context,
				    "--last waits for nothing: leave out --hang and --starved");
	if (run.limits.hang_ns > GPUMON_JOB_LIMIT_MAX_NS ||
	    run.limits.starved_ns > GPUMON_JOB_LIMIT_MAX_NS)
		return gpumon_usage(context, "--hang and --starved are at most 24h");
	gpumon_term_get(&run.term, context->out);
	if (run.exec)
		/* This command makes no files itself. */
		gpumon_privileges_restore_umask();
	else
		gpumon_privileges_keep(
			GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_LOG |
			(run.limits.hang_ns || run.limits.starved_ns ? GPUMON_PRIVILEGE_BPF : 0));
	return alerts_run(&run);
}

const struct gpumon_command gpumon_command_alerts = {
	.name = "alerts",
	.summary = "Follow Xid errors, hangs and resets, run a command on each",
	.usage =
		"[--json] [--exec COMMAND] [--hang TIME] [--starved TIME] [--duration TIME] [--count N] | "
		"--last [--json]",
	.help = "Prints each alert as the driver reports it, on a line of its own: time (seconds of the\n"
		"monotonic clock), device, kind and code, the driver's words, and how many of this kind,\n"
		"device and code there were. It hears the module, the kernel's log (without the module, too)\n"
		"and the kernel's drm-ras, says first which of them it has, and tells nothing twice.\n"
		"\n"
		"Options:\n"
		"      --json             JSON lines\n"
		"  -x, --exec COMMAND     run a shell command on each, with GPUMON_ALERT_KIND, _CODE,\n"
		"                         _DEVICE, _MESSAGE, _GROUP, _PROCESS, _PID, _SOURCE, _TIME_NS and\n"
		"                         _COUNT in its environment\n"
		"      --hang TIME        also tell of each job that is on the hardware for longer (5s,\n"
		"                         500ms), by the module or else by BPF\n"
		"      --starved TIME     also of each that waits in its queue for longer\n"
		"  -d, --duration TIME    stop after that time (seconds, or 500ms, 2m, ...)\n"
		"  -n, --count N          stop after N alerts\n"
		"  -l, --last             print the last of each kind, device and code that the module and\n"
		"                         the log have, and end\n"
		"\n"
		"Example:\n"
		"  gpumon-user alerts --exec 'logger \"$GPUMON_ALERT_DEVICE: $GPUMON_ALERT_MESSAGE\"'\n",
	.privileges = GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_LOG | GPUMON_PRIVILEGE_BPF |
		      GPUMON_PRIVILEGE_PROGRAM,
	.run = command_alerts,
};
