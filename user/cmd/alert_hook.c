// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alert_hook.h"
#include "driver/model_fields.h"
#include "lib/format.h"
#include "lib/memory.h"
#include "lib/profile.h"
#include "lib/wait.h"

/* How often signals are checked while a command is waited for. */
#define POLL_MS 200

#define VARIABLES 10

struct variable {
	const char *name;
	const char *text;
	char number[24];
};

static const char *text_of(const char *text)
{
	return text && *text ? text : "-";
}

static void set_text(struct variable *variable, const char *name, const char *text)
{
	variable->name = name;
	variable->text = text_of(text);
}

static void set_number(struct variable *variable, const char *name, struct gpumon_value value)
{
	variable->name = name;
	variable->text = gpumon_format_count(variable->number, sizeof(variable->number), value);
}

static void alert_variables(const struct gpumon_alert *alert, struct variable of[VARIABLES])
{
	set_text(&of[0], "GPUMON_ALERT_SOURCE", alert->source ? alert->source : "kmod");
	set_text(&of[1], "GPUMON_ALERT_PROCESS", alert->process);
	set_text(&of[2], "GPUMON_ALERT_GROUP", alert->group);
	set_text(&of[3], "GPUMON_ALERT_KIND", alert->kind);
	set_text(&of[4], "GPUMON_ALERT_DEVICE", alert->device);
	set_text(&of[5], "GPUMON_ALERT_MESSAGE", alert->message);
	set_number(&of[6], "GPUMON_ALERT_PID", alert->pid);
	set_number(&of[7], "GPUMON_ALERT_CODE", alert->code);
	set_number(&of[8], "GPUMON_ALERT_TIME_NS", alert->time_ns);
	set_number(&of[9], "GPUMON_ALERT_COUNT", alert->count);
}

/* --- a command */

void gpumon_alert_hook_add(struct gpumon_alert_hook *hook, const struct gpumon_alert *alert)
{
	if (!hook->command)
		return;
	if (hook->waiting.n_alerts >= GPUMON_ALERT_HOOK_MAX) {
		hook->skipped++;
		return;
	}
	gpumon_model_copy_alert(&hook->waiting, alert);
}

static void remove_first(struct gpumon_alert_hook *hook)
{
	struct gpumon_model *waiting = &hook->waiting;

	gpumon_fields_free(&gpumon_alert_fields, &waiting->alerts[0]);
	waiting->n_alerts--;
	memmove(&waiting->alerts[0], &waiting->alerts[1],
		waiting->n_alerts * sizeof(*waiting->alerts));
}

/* The environment has the alert, and not the command line: a message may contain anything. */
static void set_environment(const struct gpumon_alert_hook *hook)
{
	struct variable variables[VARIABLES];
	char skipped[24];

	alert_variables(&hook->waiting.alerts[0], variables);
	for (unsigned int i = 0; i < VARIABLES; i++)
		setenv(variables[i].name, variables[i].text, 1);
	snprintf(skipped, sizeof(skipped), "%" PRIu64, hook->skipped);
	setenv("GPUMON_ALERT_SKIPPED", skipped, 1);
}

static void start_command(struct gpumon_alert_hook *hook)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)hook->command, NULL };

	if (hook->skipped)
		fprintf(hook->err,
			"gpumon-user: --exec: no command for %" PRIu64
			" alerts: %d waited already\n",
			hook->skipped, GPUMON_ALERT_HOOK_MAX);
	set_environment(hook);
	hook->skipped = 0;
	hook->pid = fork();
	if (!hook->pid) {
		gpumon_signals_give_back();
		execv("/bin/sh", argv);
		_exit(127);
	}
	if (hook->pid < 0) {
		fprintf(hook->err, "gpumon-user: --exec: %s\n", strerror(errno));
		hook->pid = 0;
		remove_first(hook);
		return;
	}
	/* Without it, the end is seen a little later. */
	hook->pidfd = (int)syscall(SYS_pidfd_open, hook->pid, 0);
}

static bool reap_command(struct gpumon_alert_hook *hook)
{
	int status = 0;
	pid_t ended = waitpid(hook->pid, &status, WNOHANG);

	if (!ended || (ended < 0 && errno == EINTR))
		return false;
	if (ended > 0 && WIFSIGNALED(status))
		fprintf(hook->err, "gpumon-user: --exec: killed by signal %d\n", WTERMSIG(status));
	else if (ended > 0 && WEXITSTATUS(status))
		fprintf(hook->err, "gpumon-user: --exec: exit status %d\n", WEXITSTATUS(status));
	if (hook->pidfd >= 0)
		close(hook->pidfd);
	hook->pidfd = -1;
	hook->pid = 0;
	remove_first(hook);
	return true;
}

bool gpumon_alert_hook_step(struct gpumon_alert_hook *hook)
{
	bool changed = hook->pid && reap_command(hook);

	if (hook->pid || !hook->waiting.n_alerts)
		return changed;
	start_command(hook);
	return true;
}

void gpumon_alert_hook_finish(struct gpumon_alert_hook *hook, bool all)
{
	bool more = all;

	while (hook->pid || (more && hook->waiting.n_alerts)) {
		struct pollfd ended = { .fd = hook->pid ? hook->pidfd : -1, .events = POLLIN };

		more &= !gpumon_signals_caught();
		if (more)
			gpumon_alert_hook_step(hook);
		else
			reap_command(hook);
		if (hook->pid)
			(void)poll(&ended, 1, POLL_MS);
	}
}

void gpumon_alert_hook_free(struct gpumon_alert_hook *hook)
{
	gpumon_model_free(&hook->waiting);
}

/* --- the journal */

#define LIBRARY "libsystemd.so.0"
#define SOCKET	"/run/systemd/journal/socket"
/* What `journalctl MESSAGE_ID=...` finds all alerts by; made with `systemd-id128 new`. */
#define MESSAGE_ID "1e565a303f1547938bd2d458fb30afa7"
#define FIELDS	   (VARIABLES + 4)

static int (*journal_sendv)(const struct iovec *fields, int n);

int gpumon_alert_journal_open(struct gpumon_error *err)
{
	void *library;

	if (GPUMON_IS_STATIC)
		return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_UNSUPPORTED,
					"--journal: a static program cannot load " LIBRARY
					": use one that was built without LDFLAGS=-static");
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	journal_sendv = library ? (__typeof__(journal_sendv))dlsym(library, "sd_journal_sendv") :
				  NULL;
	if (!journal_sendv)
		return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_UNSUPPORTED,
					"--journal: %s: install libsystemd (Debian: libsystemd0)",
					library ? LIBRARY " is another library" : dlerror());
	/* Without the socket the library does nothing, and says that all is well. */
	if (access(SOCKET, W_OK))
		return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -errno,
					GPUMON_ERROR_UNSUPPORTED,
					"--journal: " SOCKET
					": %s: systemd-journald does not run here; leave it out",
					strerror(errno));
	return 0;
}

/* A job that only waits has not failed. */
static const char *priority_of(const struct gpumon_alert *alert)
{
	return gpumon_same_text(alert->kind, "starved") ? "4" : "3";
}

int gpumon_alert_journal_write(const struct gpumon_alert *alert, const char *words,
			       struct gpumon_error *err)
{
	struct variable variables[FIELDS];
	struct iovec fields[FIELDS];
	int n = 0, ret;

	alert_variables(alert, variables);
	set_text(&variables[VARIABLES], "MESSAGE", words);
	set_text(&variables[VARIABLES + 1], "MESSAGE_ID", MESSAGE_ID);
	set_text(&variables[VARIABLES + 2], "PRIORITY", priority_of(alert));
	set_text(&variables[VARIABLES + 3], "SYSLOG_IDENTIFIER", "gpumon-alerts");
	for (unsigned int i = 0; i < FIELDS; i++) {
		size_t size = strlen(variables[i].name) + strlen(variables[i].text) + 2;
		char *field;

		/* What is not known is absent. */
		if (!strcmp(variables[i].text, "-"))
			continue;
		field = gpumon_calloc(1, size);
		snprintf(field, size, "%s=%s", variables[i].name, variables[i].text);
		fields[n++] = (struct iovec){ .iov_base = field, .iov_len = size - 1 };
	}
	ret = journal_sendv(fields, n);
	while (n--)
		free(fields[n].iov_base);
	if (!ret)
		return 0;
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, ret, GPUMON_ERROR_IO, "--journal: %s",
				strerror(-ret));
}
