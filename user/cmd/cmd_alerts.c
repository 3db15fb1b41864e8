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

#include "driver/alert_listener.h"
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
/* Kinds, devices and codes whose counts are tracked. The module keeps fewer. */
#define FOLLOWED_MAX 256

/**
 * struct alerts_run - state of the command
 * @exec: shell command to run on each alert, NULL for none
 * @count: stop after this number, 0 for no end
 * @duration_ns: stop after that time, 0 for no end
 * @end_ns: time to stop, UINT64_MAX for no end
 * @last: print the last of each kind, and do not wait
 * @shown: alerts printed
 * @seen: the last alert of each kind, device and code; only its count is used
 * @lost: alerts that the module could neither keep nor send, as last reported
 */
struct alerts_run {
	struct gpumon_context *context;
	struct gpumon_term term;
	const char *exec;
	uint64_t count;
	uint64_t duration_ns;
	uint64_t end_ns;
	bool last;
	uint64_t shown;
	struct gpumon_model seen;
	uint64_t lost;
};

static const char *text_of(const char *text)
{
	return text && *text ? text : "-";
}

static void print_alert(struct alerts_run *run, const struct gpumon_alert *alert)
{
	char time[GPUMON_FORMAT_LEN], device[128], message[700];
	FILE *out = run->context->out;

	gpumon_format_time(time, sizeof(time), alert->time_ns.v);
	gpumon_format_name(device, sizeof(device), alert->device);
	gpumon_format_name(message, sizeof(message), alert->message);
	fprintf(out, "%s  %s  %s%s %" PRIu64 "%s  %s  (%" PRIu64 " since load)\n", time, device,
		gpumon_term_red(&run->term), text_of(alert->kind), alert->code.v,
		gpumon_term_reset(&run->term), message, alert->count.v);
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

	setenv("GPUMON_ALERT_GROUP", text_of(alert->group), 1);
	setenv("GPUMON_ALERT_KIND", text_of(alert->kind), 1);
	setenv("GPUMON_ALERT_DEVICE", text_of(alert->device), 1);
	setenv("GPUMON_ALERT_MESSAGE", text_of(alert->message), 1);
	snprintf(number, sizeof(number), "%" PRIu64, alert->code.v);
	setenv("GPUMON_ALERT_CODE", number, 1);
	snprintf(number, sizeof(number), "%" PRIu64, alert->time_ns.v);
	setenv("GPUMON_ALERT_TIME_NS", number, 1);
	snprintf(number, sizeof(number), "%" PRIu64, alert->count.v);
	setenv("GPUMON_ALERT_COUNT", number, 1);
}

/* Commands run one after the other. New alerts wait in the socket. */
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
 * Report alerts that were not shown one by one. Of a burst the module sends a few of each device and
 * code, and the others as one; a socket that overflows leaves a gap in the counts, too, and so does
 * the module if it has no memory to send. Alerts that it could not even keep are in no count; it
 * reports their number itself.
 */
static void tell_losses(struct alerts_run *run, const struct gpumon_alert *alert)
{
	struct gpumon_alert *seen = seen_before(run, alert);
	uint64_t before = seen ? seen->count.v : 0;
	uint64_t behind = alert->count.v > before ? alert->count.v - before - 1 : 0;

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

static int read_kept(struct gpumon_model *model, struct gpumon_error *err)
{
	struct gpumon_client *client;
	int ret;

	if (gpumon_client_open(&client, err))
		return -1;
	ret = gpumon_client_read(client, GPUMON_PART_ALERTS, 0, model, err);
	gpumon_client_close(client);
	return ret;
}

static int show_last(struct alerts_run *run, struct gpumon_error *err)
{
	struct gpumon_model model = { 0 };
	int ret = read_kept(&model, err);

	if (!ret && show_alerts(run, &model))
		ret = gpumon_error_output(err);
	if (!ret && model.n_alerts && model.alerts[0].forgotten.v)
		fprintf(run->context->err,
			"gpumon-user: %" PRIu64
			" older alerts of other devices and codes are not kept any more\n",
			model.alerts[0].forgotten.v);
	gpumon_model_free(&model);
	return ret;
}

static int follow_alerts(struct alerts_run *run, struct gpumon_alert_listener *listener,
			 struct gpumon_error *err)
{
	/* Read this after joining. An alert in between is then in both, and does not look lost. */
	if (read_kept(&run->seen, err))
		return -1;
	for (size_t i = 0; i < run->seen.n_alerts; i++)
		if (run->seen.alerts[i].lost.v > run->lost)
			run->lost = run->seen.alerts[i].lost.v;

	while (!gpumon_signals_caught() && !alerts_enough(run)) {
		/* A command is run for alerts even if nobody reads them. */
		struct pollfd fds[] = {
			{ .fd = gpumon_alert_listener_fd(listener), .events = POLLIN },
			{ .fd = run->exec ? -1 : fileno(run->context->out) },
		};
		struct gpumon_model model = { 0 };
		uint64_t now = gpumon_monotonic_ns();
		uint64_t left_ms = now < run->end_ns ? (run->end_ns - now) / 1000000 + 1 : 0;
		int ret;

		if (!left_ms)
			break;
		if (poll(fds, 2, left_ms < POLL_MS ? (int)left_ms : POLL_MS) <= 0)
			continue;
		if (fds[1].revents) {
			errno = fds[1].revents & POLLHUP ? EIO : EPIPE;
			return gpumon_error_output(err);
		}
		ret = gpumon_alert_listener_read(listener, &model, err);
		/* Also print the alerts that arrived before the failure. */
		if (show_alerts(run, &model))
			ret = gpumon_error_output(err);
		gpumon_model_free(&model);
		if (ret)
			return ret;
	}
	return 0;
}

static int alerts_run(struct alerts_run *run)
{
	struct gpumon_alert_listener *listener;
	struct gpumon_error err;
	int ret;

	gpumon_signals_catch();
	run->end_ns = run->duration_ns ? gpumon_monotonic_ns() + run->duration_ns : UINT64_MAX;
	if (run->last) {
		ret = show_last(run, &err);
	} else {
		ret = gpumon_alert_listener_open(&listener, &err);
		if (!ret)
			ret = follow_alerts(run, listener, &err);
		gpumon_alert_listener_close(listener);
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
		GPUMON_OPTION("last", 'l', GPUMON_OPTION_FLAG, &run.last),
		{ 0 },
	};
	int status = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_NONE);

	if (status != GPUMON_OPTIONS_GO_ON)
		return status;
	if (run.last && (run.exec || run.duration_ns))
		return gpumon_usage(context,
				    "--last waits for nothing: leave out --exec and --duration");
	gpumon_term_get(&run.term, context->out);
	if (run.exec)
		/* This command makes no files itself. */
		gpumon_privileges_restore_umask();
	else
		gpumon_privileges_keep(GPUMON_PRIVILEGE_MODULE);
	return alerts_run(&run);
}

const struct gpumon_command gpumon_command_alerts = {
	.name = "alerts",
	.summary = "Follow Xid errors and the like, run a command on each",
	.usage = "[--json] [--exec COMMAND] [--duration TIME] [--count N] | --last [--json]",
	.help = "Prints each alert as the driver reports it, on a line of its own: time (seconds of the\n"
		"monotonic clock), device, kind and code, the driver's words, and how many of this kind,\n"
		"device and code there were since the module was loaded.\n"
		"\n"
		"Options:\n"
		"      --json             JSON lines\n"
		"  -x, --exec COMMAND     run a shell command on each, with GPUMON_ALERT_KIND, _CODE,\n"
		"                         _DEVICE, _MESSAGE, _GROUP, _TIME_NS and _COUNT in its environment\n"
		"  -d, --duration TIME    stop after that time (seconds, or 500ms, 2m, ...)\n"
		"  -n, --count N          stop after N alerts\n"
		"  -l, --last             print the last of each kind, device and code, and end\n"
		"\n"
		"Example:\n"
		"  gpumon-user alerts --exec 'logger \"$GPUMON_ALERT_DEVICE: $GPUMON_ALERT_MESSAGE\"'\n",
	.privileges = GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_PROGRAM,
	.run = command_alerts,
};
