// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user top: terminal, keys and timing around top.c and top_draw.c. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "lib/wait.h"
#include "driver/container.h"
#include "driver/device.h"
#include "lib/options.h"
#include "lib/privileges.h"
#include "driver/source.h"
#include "driver/top.h"

#define INTERVAL_NS	1000000000ULL
#define INTERVAL_MIN_NS 100000000ULL
#define INTERVAL_MAX_NS 3600000000000ULL
/* How many resets by other programs are tolerated during one reading. */
#define READ_TRIES 4
/* After this many failed readings in a row, the module counts as gone. */
#define FAILURES_MAX 3

/* Enter the alternate screen and hide the cursor; and undo both. */
#define SCREEN_ENTER "\033[?1049h\033[?25l"
#define SCREEN_LEAVE "\033[0m\033[?25h\033[?1049l"

/**
 * struct top_run - a running top
 * @input: descriptor that keys are read from, or -1
 * @saved: original settings of the terminal
 * @raw: the terminal's settings are changed
 */
struct top_run {
	struct gpumon_context *context;
	struct gpumon_source source;
	enum gpumon_source_choice choice;
	struct gpumon_containers *containers;
	struct gpumon_devices *devices;
	struct gpumon_top top;
	struct gpumon_top_view view;
	uint64_t count;
	bool batch;
	int input;
	struct termios saved;
	bool raw;
	bool quit;
};

static volatile sig_atomic_t resized, suspended;

static void on_resize(int number)
{
	(void)number;
	resized = 1;
}

static void on_suspend(int number)
{
	(void)number;
	suspended = 1;
}

static void screen_enter(struct top_run *run)
{
	struct termios raw = run->saved;

	/* Read keys at once and without echo; ^C, ^Z and newlines work as usual. */
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	if (run->input >= 0)
		tcsetattr(run->input, TCSADRAIN, &raw);
	fputs(SCREEN_ENTER, run->context->out);
	fflush(run->context->out);
	run->raw = true;
}

static void screen_leave(struct top_run *run)
{
	if (!run->raw)
		return;
	fputs(SCREEN_LEAVE, run->context->out);
	fflush(run->context->out);
	if (run->input >= 0)
		tcsetattr(run->input, TCSADRAIN, &run->saved);
	run->raw = false;
}

/* Read all parts of one period, so that a reset in between cannot mix two. */
static int read_all(struct top_run *run, struct gpumon_model *reading, struct gpumon_error *err)
{
	int tries = READ_TRIES;
	int ret;

	do {
		ret = gpumon_source_read(&run->source, GPUMON_PART_INFO, 0, reading, err);
		if (!ret)
			ret = gpumon_source_read(&run->source, GPUMON_PART_ALL & ~GPUMON_PART_INFO,
						 (uint32_t)reading->info.period.v, reading, err);
	} while (ret && err->sys == -ESTALE && --tries);
	return ret;
}

static int update_top(struct top_run *run, struct gpumon_error *err)
{
	struct gpumon_model reading = { 0 };

	if (read_all(run, &reading, err)) {
		gpumon_model_free(&reading);
		return -1;
	}
	gpumon_containers_resolve(run->containers, &reading);
	gpumon_devices_resolve(run->devices, &reading);
	gpumon_top_update(&run->top, &reading);
	return 0;
}

/* Write the page at once, and clear only behind its text, to avoid flicker. */
static int top_draw(struct top_run *run)
{
	FILE *out = run->context->out;
	char clock[40];
	time_t now = time(NULL);
	struct tm local;
	char *text = NULL;
	size_t size = 0;
	FILE *page;

	localtime_r(&now, &local);
	snprintf(clock, sizeof(clock), "%02d:%02d:%02d", local.tm_hour, local.tm_min, local.tm_sec);
	run->view.clock = clock;

	page = open_memstream(&text, &size);
	if (!page)
		return -1;
	gpumon_top_sort(&run->top, run->view.sort);
	gpumon_top_draw(&run->top, &run->view, page);
	run->view.clock = NULL;
	if (fclose(page)) {
		free(text);
		return -1;
	}

	fputs(run->view.clear ? "\033[H" : "", out);
	fputs(text, out);
	/* A page with an unknown number of lines ends at the beginning of one. */
	if (run->view.clear && !run->view.term.rows)
		fputs("\033[J", out);
	if (run->batch)
		fputc('\n', out);
	free(text);
	return fflush(out) || ferror(out) ? -1 : 0;
}

static void interval_change(struct top_run *run, bool longer)
{
	static const uint64_t steps_ms[] = { 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000 };
	const size_t n = sizeof(steps_ms) / sizeof(steps_ms[0]);
	uint64_t *interval = &run->view.interval_ns;

	if (longer) {
		for (size_t i = 0; i < n; i++) {
			if (steps_ms[i] * 1000000 > *interval) {
				*interval = steps_ms[i] * 1000000;
				return;
			}
		}
	} else {
		for (size_t i = n; i-- > 0;) {
			if (steps_ms[i] * 1000000 < *interval) {
				*interval = steps_ms[i] * 1000000;
				return;
			}
		}
	}
}

/* True if the page must be drawn again. */
static bool handle_keys(struct top_run *run)
{
	char pressed[64];
	ssize_t n = read(run->input, pressed, sizeof(pressed));

	if (n <= 0) {
		/* The terminal is gone. */
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			run->quit = true;
		return false;
	}
	for (ssize_t i = 0; i < n; i++) {
		enum gpumon_top_sort sort = gpumon_top_key(pressed[i]);

		if (pressed[i] >= '1' && pressed[i] <= '9') {
			gpumon_top_turn(&run->top, &run->view, 0, (unsigned int)(pressed[i] - '0'));
			continue;
		}

		if (sort != GPUMON_TOP_SORTS) {
			run->view.sort = sort;
			continue;
		}
		switch (pressed[i]) {
		case 'q':
		case 'Q':
			run->quit = true;
			return false;
		case 'p':
		case ' ':
			run->view.paused = !run->view.paused;
			break;
		case 'c':
			run->view.by_cgroup = !run->view.by_cgroup;
			break;
		case '+':
		case '=':
			interval_change(run, true);
			break;
		case '-':
			interval_change(run, false);
			break;
		case '\t':
			gpumon_top_turn(&run->top, &run->view, 1, 0);
			break;
		case '\033':
			/* Arrow keys. Skip the letters of other escape sequences. */
			if (i + 2 < n && pressed[i + 1] == '[' && pressed[i + 2] == 'C')
				gpumon_top_turn(&run->top, &run->view, 1, 0);
			else if (i + 2 < n && pressed[i + 1] == '[' &&
				 (pressed[i + 2] == 'D' || pressed[i + 2] == 'Z'))
				gpumon_top_turn(&run->top, &run->view, -1, 0);
			return true;
		}
	}
	return true;
}

static void update_size(struct top_run *run)
{
	struct gpumon_term term;

	resized = 0;
	gpumon_term_get(&term, run->context->out);
	run->view.term = term;
}

/* ^Z: restore the terminal for the shell, and take it back afterwards. */
static void suspend_top(struct top_run *run)
{
	suspended = 0;
	screen_leave(run);
	raise(SIGSTOP);
	screen_enter(run);
	update_size(run);
}

/* Handle keys and signals until the next reading is due. */
static void wait_for_next(struct top_run *run, uint64_t from, const sigset_t *unblocked)
{
	while (!run->quit && !gpumon_signals_caught()) {
		struct pollfd input = { .fd = run->input, .events = POLLIN };
		uint64_t until = from + run->view.interval_ns;
		uint64_t now = gpumon_monotonic_ns();
		struct timespec timeout = { 0 };
		int ready;

		if (now >= until && !run->view.paused)
			return;
		if (now < until) {
			timeout.tv_sec = (time_t)((until - now) / 1000000000);
			timeout.tv_nsec = (long)((until - now) % 1000000000);
		}
		ready = ppoll(&input, 1, run->view.paused ? NULL : &timeout, unblocked);
		if (suspended) {
			suspend_top(run);
			top_draw(run);
		} else if (resized) {
			update_size(run);
			top_draw(run);
		} else if (ready > 0 && handle_keys(run)) {
			top_draw(run);
		}
	}
}

/* Do not show another page silently if the requested one does not exist (yet). */
static const char *missing_page(const struct top_run *run, char *text, size_t len)
{
	const char *wanted = run->view.page;

	if (!*wanted || !strcmp(gpumon_top_shown(&run->top, wanted), wanted))
		return NULL;
	snprintf(text, len, "There is no page \"%s\" now: nothing was counted for it", wanted);
	return text;
}

static int top_loop(struct top_run *run, const sigset_t *unblocked, struct gpumon_error *err)
{
	unsigned int failures = 0;
	uint64_t drawn = 0;
	char missing[96];

	for (;;) {
		uint64_t started = gpumon_monotonic_ns();
		int ret = update_top(run, err);

		failures = ret ? failures + 1 : 0;
		/* A single failure without memory is tolerable, a missing module is not. */
		if (failures >= FAILURES_MAX || (ret && (run->batch || !run->top.readings)))
			return -1;
		run->view.note = ret ? err->message : missing_page(run, missing, sizeof(missing));

		/* In a pipe, the mean since the beginning would be mistaken for an interval. */
		if (!run->batch || run->top.readings > 1) {
			if (top_draw(run))
				return 0;
			if (++drawn == run->count)
				return 0;
		}
		wait_for_next(run, started, unblocked);
		if (run->quit || gpumon_signals_caught())
			return 0;
	}
}

static int run_top(struct top_run *run)
{
	struct gpumon_context *context = run->context;
	struct sigaction action = { .sa_handler = on_resize };
	sigset_t blocked, original;
	struct gpumon_error err;
	int ret;

	if (gpumon_source_open(&run->source, run->choice, false, &err))
		return gpumon_report(context, &err);

	/* Signals are only delivered while waiting, when the screen can be restored. */
	gpumon_signals_catch();
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	if (!run->batch) {
		sigset_t nothing;

		sigemptyset(&nothing);
		action.sa_mask = nothing;
		sigaction(SIGWINCH, &action, NULL);
		action.sa_handler = on_suspend;
		sigaction(SIGTSTP, &action, NULL);
		/* Other signals that end the program must restore the screen, too. */
		sigaction(SIGTERM, NULL, &action);
		sigaction(SIGHUP, &action, NULL);
		sigaction(SIGQUIT, &action, NULL);
		sigaddset(&blocked, SIGWINCH);
		sigaddset(&blocked, SIGTSTP);
		sigaddset(&blocked, SIGHUP);
		sigaddset(&blocked, SIGQUIT);
	}
	sigprocmask(SIG_BLOCK, &blocked, &original);
	signal(SIGPIPE, SIG_IGN);

	if (!run->batch) {
		/* In the background, or with redirected input, there are no keys. */
		run->input = isatty(STDIN_FILENO) ? STDIN_FILENO : -1;
		if (run->input >= 0 && tcgetattr(run->input, &run->saved))
			run->input = -1;
		run->view.live = true;
		run->view.clear = true;
		screen_enter(run);
	}
	ret = top_loop(run, &original, &err);
	screen_leave(run);
	sigprocmask(SIG_SETMASK, &original, NULL);
	if (ret)
		return gpumon_report(context, &err);

	/* "top | head": nobody reads the rest of the buffer, so this is not an error. */
	if (run->batch && ferror(context->out)) {
		struct pollfd out = { .fd = fileno(context->out) };

		if (out.fd >= 0 && poll(&out, 1, 0) > 0 && (out.revents & POLLERR) &&
		    !freopen("/dev/null", "w", context->out))
			return GPUMON_EXIT_FAILED;
	}
	return GPUMON_EXIT_OK;
}

static int take_interval(struct gpumon_context *context, const char *text, void *value)
{
	uint64_t *interval_ns = value;

	if (gpumon_argument_duration(context, "--interval", text, interval_ns))
		return -1;
	if (*interval_ns >= INTERVAL_MIN_NS && *interval_ns <= INTERVAL_MAX_NS)
		return 0;
	gpumon_usage(context, "--interval: from 100ms to 1h");
	return -1;
}

static int take_page(struct gpumon_context *context, const char *text, void *value)
{
	struct gpumon_top_view *view = value;

	if (strlen(text) < sizeof(view->page)) {
		strcpy(view->page, text);
		return 0;
	}
	gpumon_usage(context, "--page: no page has such a long name");
	return -1;
}

static int command_top(struct gpumon_context *context, int argc, char **argv)
{
	struct top_run run = { .context = context, .input = -1 };
	const struct gpumon_option options[] = {
		GPUMON_OPTION_CALL("interval", 'i', &run.view.interval_ns, take_interval),
		GPUMON_OPTION_RANGE("count", 'n', GPUMON_OPTION_U64, &run.count, 1, UINT64_MAX),
		GPUMON_OPTION("batch", 'b', GPUMON_OPTION_FLAG, &run.batch),
		GPUMON_OPTION_CALL("page", 'P', &run.view, take_page),
		GPUMON_OPTION("cgroup", 0, GPUMON_OPTION_FLAG, &run.view.by_cgroup),
		GPUMON_SOURCE_OPTION(&run.choice),
		{ 0 },
	};
	int status;

	run.view.interval_ns = INTERVAL_NS;
	status = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_NONE);
	if (status != GPUMON_OPTIONS_GO_ON)
		return status;

	gpumon_term_get(&run.view.term, context->out);
	run.view.utf8 = gpumon_term_utf8();
	if (!run.view.term.cursor)
		run.batch = true;
	/* A snapshot has as many lines as it needs. */
	if (run.batch)
		run.view.term.rows = 0;

	run.containers = gpumon_containers_new(context->root);
	run.devices = gpumon_devices_new(context->root);
	status = run_top(&run);
	gpumon_top_free(&run.top);
	gpumon_containers_free(run.containers);
	gpumon_devices_free(run.devices);
	gpumon_source_close(&run.source);
	return status;
}

const struct gpumon_command gpumon_command_top = {
	.name = "top",
	.summary = "Watch rings, the tables of the drivers and processes live",
	.usage =
		"[--interval TIME] [--count N] [--page NAME] [--cgroup] [--batch] [--source SOURCE]",
	.help = GPUMON_HELP(
		"Rings by busy time and processes by GPU time, of the last interval. The first page has the\n"
		"mean since the counters began.\n"
		"\n"
		"  LOAD         mean number of jobs on the hardware: the run times of the jobs that ended\n"
		"               in the interval, divided by its length. A job counts when it ends, so one\n"
		"               longer than the interval shows late and all at once. Bars are its history.\n"
		"  JOBS/S       jobs done a second\n"
		"  QUEUED       jobs queued and not yet run, now and at most since the last reset\n"
		"  ON HW        jobs run and not yet done, likewise\n"
		"  TIME QUEUED  from queue to run: 50 % (p50) and 99 % (p99) of the jobs took no longer\n"
		"  TIME RUN     from run to done, likewise\n"
		"  ERR          jobs that ended with an error, including killed ones\n"
		"  GPU          time in which jobs of a process were on the device that it used most; all rings\n"
		"               of that device are added, so that two rings are up to 200 %. ~ is a share: the\n"
		"               ring runs several jobs at once, and its time is divided among them.\n"
		"  WAIT/JOB     mean time of a job in the queue\n"
		"\n"
		"Each driver that has counted something has a further page with its tables: counters per\n"
		"second (/S), levels as they are now, and the 99th percentile of histograms (-P99) in the\n"
		"interval. The busiest rows come first.\n"
		"\n"
		"Keys: q quit, p pause, + - interval; tab, arrows or the number of a page show that page;\n"
		"c shows containers and cgroups in place of processes, and back;\n"
		"sort by l load, j jobs, d queue depth, w time queued (wait), r time run, e errors, n name.\n"
		"\n"
		"Options:\n"
		"  -i, --interval TIME    between readings (seconds, or 500ms, ...), default 1\n"
		"  -n, --count N          stop after N pages\n"
		"  -P, --page NAME        begin with this page: rings, processes, or a group\n"
		"      --cgroup           begin with containers and cgroups in place of processes\n"
		"  -b, --batch            print pages one below the other, as is done without a terminal and\n"
		"                         with TERM=dumb; the first comes after one interval\n" GPUMON_SOURCE_HELP),
	.privileges = GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_BPF | GPUMON_PRIVILEGE_DEBUGFS,
	.run = command_top,
};
