// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user alerts: Xids and other alerts as they happen. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "alert_hook.h"
#include "driver/alert_message.h"
#include "driver/alert_sources.h"
#include "driver/alert_state.h"
#include "driver/model_fields.h"
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
 * @hook: shell command to run on each alert
 * @journal: write to systemd's journal, and not to standard output
 * @resume: file of what was told, NULL for none
 * @boot_id: as in gpumon_alert_state
 * @unsaved: something was told since the file was written
 * @untold: an alert could not be told: the file stays as it is, and the next start tells it
 * @unsaved_told: that it cannot be written was said
 * @count: stop after this number, 0 for no end
 * @duration_ns: stop after that time, 0 for no end
 * @end_ns: time to stop, UINT64_MAX for no end
 * @limits: of jobs that hang or starve
 * @last: print the last of each kind, and do not wait
 * @shown: alerts printed
 * @seen: the last alert of each source, kind, device and code; only its time and count are used
 * @lost: alerts that the module could neither keep nor send, as last reported
 * @losses: records of the log that were not seen, as last reported
 */
struct alerts_run {
	struct gpumon_context *context;
	struct gpumon_term term;
	struct gpumon_alert_hook hook;
	bool journal;
	const char *resume;
	char boot_id[40];
	bool unsaved;
	bool untold;
	bool unsaved_told;
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

static bool same_text(const char *a, const char *b)
{
	return !strcmp(text_of(a), text_of(b));
}

static struct gpumon_alert *seen_before(const struct alerts_run *run,
					const struct gpumon_alert *alert)
{
	for (size_t i = 0; i < run->seen.n_alerts; i++) {
		struct gpumon_alert *seen = &run->seen.alerts[i];

		if (seen->code.v == alert->code.v && same_text(seen->source, alert->source) &&
		    same_text(seen->device, alert->device) && same_text(seen->kind, alert->kind) &&
		    same_text(seen->group, alert->group))
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
	seen->source = alert->source;
	seen->code = alert->code;
	seen->count = alert->count;
	seen->time_ns = alert->time_ns;
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
	if (seen)
		seen->time_ns = alert->time_ns;
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

static int print_journal(const struct gpumon_alert *alert, struct gpumon_error *err)
{
	const struct gpumon_term plain = { 0 };
	char device[128], *words = NULL;
	size_t size;
	FILE *stream = open_memstream(&words, &size);
	int ret;

	if (!stream)
		return gpumon_error_output(err);
	fprintf(stream, "%s: ", gpumon_format_name(device, sizeof(device), alert->device));
	gpumon_alert_print_words(alert, &plain, stream);
	fclose(stream);
	ret = gpumon_alert_journal_write(alert, words, err);
	free(words);
	return ret;
}

static int show_alert(struct alerts_run *run, const struct gpumon_alert *alert,
		      struct gpumon_error *err)
{
	if (run->journal)
		return print_journal(alert, err);
	if (run->context->json)
		return print_json(run, alert) ? gpumon_error_output(err) : 0;
	print_alert(run, alert);
	return 0;
}

/* With @resume, one that came while the kept ones were read was shown with them. */
static bool is_shown(const struct alerts_run *run, const struct gpumon_alert *alert)
{
	const struct gpumon_alert *seen = run->resume ? seen_before(run, alert) : NULL;

	return seen && alert->time_ns.v <= seen->time_ns.v && alert->count.v <= seen->count.v;
}

static int show_each(struct alerts_run *run, const struct gpumon_model *model,
		     struct gpumon_error *err)
{
	for (size_t i = 0; i < model->n_alerts && !alerts_enough(run); i++) {
		const struct gpumon_alert *alert = &model->alerts[i];

		if (is_shown(run, alert))
			continue;
		if (!run->last)
			tell_losses(run, alert);
		if (show_alert(run, alert, err))
			return -1;
		run->shown++;
		run->unsaved = true;
		gpumon_alert_hook_add(&run->hook, alert);
	}
	fflush(run->context->out);
	return ferror(run->context->out) ? gpumon_error_output(err) : 0;
}

static int show_alerts(struct alerts_run *run, const struct gpumon_model *model,
		       struct gpumon_error *err)
{
	int ret = show_each(run, model, err);

	run->untold |= ret != 0;
	return ret;
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

	if (show_alerts(run, &model, err))
		ret = -1;
	else if (!ret && tell_log_losses(run, losses))
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

/* Was it told before the file was written? A module that was loaded again counts from 1. */
static bool is_told(struct alerts_run *run, const struct gpumon_alert *alert)
{
	struct gpumon_alert *seen = seen_before(run, alert);

	if (!seen)
		return false;
	if (alert->time_ns.v <= seen->time_ns.v)
		return true;
	if (alert->count.v <= seen->count.v)
		seen->count = gpumon_value_of(0);
	return false;
}

/*
 * What the module has kept so far. Read after joining: an alert in between is then in both, and does
 * not look lost. @missed: with @resume, those that were not told.
 */
static int read_kept(struct alerts_run *run, struct gpumon_alert_sources *sources,
		     struct gpumon_model *missed, struct gpumon_error *err)
{
	struct gpumon_model kept = { 0 };
	int ret = gpumon_alert_sources_kept(sources, &kept, err);

	for (size_t i = 0; i < kept.n_alerts && !ret; i++) {
		struct gpumon_alert *alert = &kept.alerts[i];

		if (!run->resume && alert->lost.v > run->lost)
			run->lost = alert->lost.v;
		if (!run->resume || !gpumon_alert_sources_takes_kept(sources, alert)) {
			if (!seen_before(run, alert))
				remember_alert(run, alert);
		} else if (!is_told(run, alert)) {
			*gpumon_model_add_alert(missed) = *alert;
			memset(alert, 0, sizeof(*alert));
		}
	}
	gpumon_model_free(&kept);
	return ret;
}

/* What was told, and alerts whose command did not end, from the last run. */
static int load_state(struct alerts_run *run, uint64_t *log_from, struct gpumon_error *err)
{
	struct gpumon_alert_state state;
	int ret = gpumon_alert_state_load(&state, run->resume, run->context->root, err);

	if (!ret) {
		memcpy(run->boot_id, state.boot_id, sizeof(run->boot_id));
		*log_from = state.log_next;
		run->lost = state.lost;
		for (size_t i = 0; i < state.told.n_alerts; i++)
			remember_alert(run, &state.told.alerts[i]);
		for (size_t i = 0; i < state.waiting.n_alerts; i++)
			gpumon_alert_hook_add(&run->hook, &state.waiting.alerts[i]);
	}
	gpumon_alert_state_free(&state);
	return ret;
}

/* A file that cannot be written does not end the program. The next start then reports these alerts again. */
static void save_state(struct alerts_run *run, const struct gpumon_alert_sources *sources)
{
	struct gpumon_alert_state state = {
		.log_next = gpumon_alert_sources_log_next(sources),
		.lost = run->lost,
		.told = run->seen,
		.waiting = run->hook.waiting,
	};
	struct gpumon_error err;

	if (!run->resume || !run->unsaved || run->untold)
		return;
	memcpy(state.boot_id, run->boot_id, sizeof(state.boot_id));
	run->unsaved = false;
	if (gpumon_alert_state_save(run->resume, &state, &err) && !run->unsaved_told) {
		fprintf(run->context->err,
			"gpumon-user: --resume: %s; the next start will report alerts from now on a second time\n",
			err.message);
		run->unsaved_told = true;
	}
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

/* Read and show what has arrived, also before a failure. @ends: and what was held back. */
static int take_arrived(struct alerts_run *run, struct gpumon_alert_sources *sources, bool ends,
			struct gpumon_error *err)
{
	struct gpumon_model model = { 0 };
	struct gpumon_error why;
	int ret = gpumon_alert_sources_read(sources, &model, err);

	if (ends)
		gpumon_alert_sources_give_held(sources, &model);
	if (show_alerts(run, &model, &why)) {
		*err = why;
		ret = -1;
	} else if (tell_log_losses(run, gpumon_alert_sources_losses(sources))) {
		ret = gpumon_error_output(err);
	}
	gpumon_model_free(&model);
	return ret;
}

static bool alerts_ended(const struct alerts_run *run, const struct gpumon_alert_sources *sources)
{
	return gpumon_signals_caught() || alerts_enough(run) ||
	       gpumon_monotonic_ns() >= run->end_ns || !gpumon_alert_sources_alive(sources);
}

static int wait_for_alerts(struct alerts_run *run, struct gpumon_alert_sources *sources,
			   struct gpumon_error *err)
{
	while (!alerts_ended(run, sources)) {
		struct pollfd fds[GPUMON_ALERT_ORIGINS + 2];
		struct pollfd *out = &fds[GPUMON_ALERT_ORIGINS], *command = out + 1;

		gpumon_alert_sources_poll(sources, fds);
		/* Commands are run, and the journal is written, even if nobody reads the output. */
		*out = (struct pollfd){
			.fd = run->hook.command || run->journal ? -1 : fileno(run->context->out),
		};
		*command = (struct pollfd){ .fd = run->hook.pid ? run->hook.pidfd : -1,
					    .events = POLLIN };
		if (poll(fds, GPUMON_ALERT_ORIGINS + 2, poll_timeout(run, sources)) < 0)
			continue;
		if (out->fd >= 0 && out->revents) {
			errno = out->revents & POLLHUP ? EIO : EPIPE;
			return gpumon_error_output(err);
		}
		if (take_arrived(run, sources, false, err))
			return -1;
		run->unsaved |= gpumon_alert_hook_step(&run->hook);
		save_state(run, sources);
	}
	/* Nothing that arrived is left, unless a number was asked for. */
	return run->count ? 0 : take_arrived(run, sources, true, err);
}

static void end_commands(struct alerts_run *run)
{
	gpumon_alert_hook_finish(&run->hook, alerts_enough(run));
	if (run->hook.waiting.n_alerts && !run->resume)
		fprintf(run->context->err,
			"gpumon-user: --exec: no command for %zu alerts: it ended before\n",
			run->hook.waiting.n_alerts);
}

static int follow_alerts(struct alerts_run *run, struct gpumon_alert_sources *sources,
			 struct gpumon_error *err)
{
	struct gpumon_model missed = { 0 };
	int ret = read_kept(run, sources, &missed, err);

	if (!ret && say_sources(run, sources))
		ret = gpumon_error_output(err);
	if (!ret)
		ret = show_alerts(run, &missed, err);
	gpumon_model_free(&missed);
	if (!ret)
		ret = wait_for_alerts(run, sources, err);
	end_commands(run);
	run->unsaved = true;
	save_state(run, sources);
	return ret;
}

static int open_and_follow(struct alerts_run *run, struct gpumon_error *err)
{
	struct gpumon_alert_sources sources;
	uint64_t log_from = GPUMON_LOG_FROM_NOW;
	int ret;

	if ((run->journal && gpumon_alert_journal_open(err)) ||
	    (run->resume && load_state(run, &log_from, err)))
		return -1;
	ret = gpumon_alert_sources_open(&sources, run->context->root, log_from, run->limits, NULL,
					err);
	if (!ret)
		ret = follow_alerts(run, &sources, err);
	gpumon_alert_sources_close(&sources);
	return ret;
}

static int alerts_run(struct alerts_run *run)
{
	struct gpumon_error err;
	int ret;

	gpumon_signals_catch();
	run->end_ns = run->duration_ns ? gpumon_monotonic_ns() + run->duration_ns : UINT64_MAX;
	ret = run->last ? show_last(run, &err) : open_and_follow(run, &err);
	gpumon_model_free(&run->seen);
	gpumon_alert_hook_free(&run->hook);
	return ret ? gpumon_report(run->context, &err) : GPUMON_EXIT_OK;
}

static int command_alerts(struct gpumon_context *context, int argc, char **argv)
{
	struct alerts_run run = { .context = context,
				  .hook = { .err = context->err, .pidfd = -1 } };
	const struct gpumon_option options[] = {
		GPUMON_OPTION_JSON(context),
		GPUMON_OPTION("exec", 'x', GPUMON_OPTION_TEXT, &run.hook.command),
		GPUMON_OPTION("journal", 0, GPUMON_OPTION_FLAG, &run.journal),
		GPUMON_OPTION("resume", 0, GPUMON_OPTION_TEXT, &run.resume),
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
	if (run.last && (run.hook.command || run.journal || run.resume || run.duration_ns))
		return gpumon_usage(
			context,
			"--last waits for nothing: leave out --exec, --journal, --resume and --duration");
	if (run.resume && run.count)
		return gpumon_usage(
			context,
			"--count ends among alerts, which --resume would take for told: leave one out");
	if (run.journal && context->json)
		return gpumon_usage(
			context,
			"--journal writes no JSON: journalctl -o json shows what it wrote");
	if (run.last && (run.limits.hang_ns || run.limits.starved_ns))
		return gpumon_usage(context,
				    "--last waits for nothing: leave out --hang and --starved");
	if (run.limits.hang_ns > GPUMON_JOB_LIMIT_MAX_NS ||
	    run.limits.starved_ns > GPUMON_JOB_LIMIT_MAX_NS)
		return gpumon_usage(context, "--hang and --starved are at most 24h");
	gpumon_term_get(&run.term, context->out);
	if (run.hook.command)
		/* The file of --resume is private all the same. */
		gpumon_privileges_restore_umask();
	else
		gpumon_privileges_keep(
			GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_LOG |
			(run.resume ? GPUMON_PRIVILEGE_FILES : 0) |
			(run.limits.hang_ns || run.limits.starved_ns ? GPUMON_PRIVILEGE_BPF : 0));
	return alerts_run(&run);
}

const struct gpumon_command gpumon_command_alerts = {
	.name = "alerts",
	.summary = "Follow Xid errors, hangs and resets, run a command on each",
	.usage =
		"[--json | --journal] [--exec COMMAND] [--resume FILE] [--hang TIME] [--starved TIME] "
		"[--duration TIME] [--count N] | "
		"--last [--json]",
	.help = GPUMON_HELP(
		"Prints each alert as the driver reports it, on a line of its own: time (seconds of the\n"
		"monotonic clock), device, kind and code, the driver's words, and how many of this kind,\n"
		"device and code there were. It hears the module, the kernel's log (without the module, too)\n"
		"and the kernel's drm-ras, says first which of them it has, and tells nothing twice.\n"
		"\n"
		"Options:\n"
		"      --json             JSON lines\n"
		"  -x, --exec COMMAND     run a shell command on each, one at a time (256 alerts wait), with\n"
		"                         GPUMON_ALERT_KIND, _CODE, _DEVICE, _MESSAGE, _GROUP, _PROCESS,\n"
		"                         _PID, _SOURCE, _TIME_NS, _COUNT and _SKIPPED in its environment\n"
		"      --journal          write each to systemd's journal with its fields, not to the output\n"
		"      --resume FILE      begin with the alerts since the last run with this file, and with\n"
		"                         the commands that it left; the file says what was reported\n"
		"      --hang TIME        also tell of each job that is on the hardware for longer (5s,\n"
		"                         500ms), by the module or else by BPF\n"
		"      --starved TIME     also of each that waits in its queue for longer\n"
		"  -d, --duration TIME    stop after that time (seconds, or 500ms, 2m, ...)\n"
		"  -n, --count N          stop after N alerts\n"
		"  -l, --last             print the last of each kind, device and code that the module and\n"
		"                         the log have, and end\n"
		"\n"
		"Example:\n"
		"  gpumon-user alerts --exec 'logger \"$GPUMON_ALERT_DEVICE: $GPUMON_ALERT_MESSAGE\"'\n"),
	.privileges = GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_LOG | GPUMON_PRIVILEGE_BPF |
		      GPUMON_PRIVILEGE_PROGRAM,
	.run = command_alerts,
};
