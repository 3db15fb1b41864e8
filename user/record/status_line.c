// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/format.h"
#include "lib/wait.h"
#include "status_line.h"

#define ROWS_MIN 4

/* Make all lines scroll again and clear the last one. */
#define GIVE_BACK "\0337\033[r\033[999;1H\033[2K\0338"

/**
 * struct gpumon_live - the status line
 * @out: terminal
 * @term: size for which it was laid out
 * @since_ns: time when recording began
 * @laid_out: the last line is reserved
 * @guard: process that restores the terminal if we are killed, 0 for none
 * @guard_pipe: pipe that is open as long as we live
 * @before: original action of SIGTSTP
 */
struct gpumon_live {
	FILE *out;
	struct gpumon_term term;
	uint64_t since_ns;
	volatile sig_atomic_t laid_out;
	pid_t guard;
	int guard_pipe;
	struct sigaction before;
};

/* The status line that the signal handler clears. */
static struct gpumon_live *stopping;

/* Restore the terminal before the shell uses it. */
static void on_stop(int number)
{
	struct sigaction ours, plain = { .sa_handler = SIG_DFL };
	int saved = errno;

	if (stopping->laid_out)
		(void)!write(fileno(stopping->out), GIVE_BACK, sizeof(GIVE_BACK) - 1);
	stopping->laid_out = false;
	sigaction(number, &plain, &ours);
	raise(number);
	/* Signal handler: draws the line again after the process was continued. */
	sigaction(number, &ours, NULL);
	errno = saved;
}

static void watch_stop(struct gpumon_live *live)
{
	struct sigaction action = { .sa_handler = on_stop, .sa_flags = SA_NODEFER | SA_RESTART };

	stopping = live;
	sigaction(SIGTSTP, NULL, &live->before);
	if (live->before.sa_handler == SIG_DFL)
		sigaction(SIGTSTP, &action, NULL);
}

/* SIGKILL leaves us no chance to restore the terminal, so another process does it. */
static void guard_terminal(int out, int pipe)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGTTOU };
	char given_back;
	ssize_t n;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	dup2(out, 0);
	dup2(pipe, 1);
	close_range(2, ~0U, 0);
	do
		n = read(1, &given_back, 1);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		(void)!write(0, GIVE_BACK, sizeof(GIVE_BACK) - 1);
	_exit(0);
}

static void start_guard(struct gpumon_live *live)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	fflush(NULL);
	live->guard = fork();
	if (!live->guard) {
		close(ends[1]);
		guard_terminal(fileno(live->out), ends[0]);
	}
	close(ends[0]);
	live->guard_pipe = ends[1];
	if (live->guard > 0)
		return;
	live->guard = 0;
	close(ends[1]);
}

static void end_guard(struct gpumon_live *live)
{
	if (!live->guard)
		return;
	(void)!write(live->guard_pipe, "", 1);
	close(live->guard_pipe);
	while (waitpid(live->guard, NULL, 0) < 0 && errno == EINTR)
		;
	live->guard = 0;
}

/* Exclude the last line from scrolling, after scrolling up what is there. */
static void lay_out(struct gpumon_live *live)
{
	fprintf(live->out, "\n\0337\033[1;%ur\0338\033[A", live->term.rows - 1);
	fflush(live->out);
	live->laid_out = true;
}

static void give_back(struct gpumon_live *live)
{
	if (!live->laid_out)
		return;
	fputs(GIVE_BACK, live->out);
	fflush(live->out);
	live->laid_out = false;
}

/* Do not draw on a terminal that belongs to another job. Lay out again after a change of size. */
static bool have_terminal(struct gpumon_live *live)
{
	pid_t foreground = tcgetpgrp(fileno(live->out));
	struct gpumon_term term;

	if (foreground >= 0 && foreground != getpgrp())
		return false;
	gpumon_term_get(&term, live->out);
	if (live->laid_out && term.rows == live->term.rows && term.columns == live->term.columns)
		return true;
	give_back(live);
	live->term = term;
	if (term.rows < ROWS_MIN || !term.columns)
		return false;
	lay_out(live);
	return true;
}

static void draw_status(struct gpumon_live *live, const struct gpumon_recorder *recorder)
{
	struct gpumon_recorder_counts counts;
	char time[GPUMON_FORMAT_LEN], bytes[GPUMON_FORMAT_LEN], line[512], screen[600];
	uint64_t lost = 0;

	gpumon_recorder_get_counts(recorder, &counts);
	for (unsigned int i = 0; i < GPUMON_LOSS_CAUSES; i++)
		lost += counts.targets.lost[i];
	gpumon_format_ns(time, sizeof(time),
			 gpumon_value_of(gpumon_monotonic_ns() - live->since_ns));
	gpumon_format_bytes(bytes, sizeof(bytes), gpumon_value_of(counts.targets.bytes));
	snprintf(line, sizeof(line),
		 "gpumon %s: %u processes, %u alive, %" PRIu64 " launches, %" PRIu64
		 " kernels, %s, %" PRIu64 " lost",
		 time, counts.processes, counts.live,
		 counts.targets.launches + counts.targets.captured, counts.targets.kernels, bytes,
		 lost);
	/* Write it at once, since the program may print at any time. */
	snprintf(screen, sizeof(screen), "\0337\033[%u;1H\033[2K%s%.*s%s\0338", live->term.rows,
		 gpumon_term_bold(&live->term), (int)live->term.columns, line,
		 gpumon_term_reset(&live->term));
	fputs(screen, live->out);
	fflush(live->out);
}

static void on_begin(void *data, const char *directory)
{
	struct gpumon_live *live = data;

	(void)directory;
	live->since_ns = gpumon_monotonic_ns();
	start_guard(live);
	watch_stop(live);
	(void)have_terminal(live);
}

static void on_tick(void *data, const struct gpumon_recorder *recorder)
{
	struct gpumon_live *live = data;

	if (have_terminal(live))
		draw_status(live, recorder);
}

static void on_end(void *data)
{
	struct gpumon_live *live = data;

	give_back(live);
	end_guard(live);
	if (!stopping)
		return;
	sigaction(SIGTSTP, &live->before, NULL);
	stopping = NULL;
}

struct gpumon_live *gpumon_live_new(FILE *out, struct gpumon_session_options *options)
{
	struct gpumon_live *live = gpumon_calloc(1, sizeof(*live));

	live->out = out;
	gpumon_term_get(&live->term, out);
	if (!live->term.cursor || live->term.rows < ROWS_MIN) {
		free(live);
		return NULL;
	}
	options->live = (struct gpumon_session_live){
		.begin = on_begin,
		.tick = on_tick,
		.end = on_end,
		.period_ms = GPUMON_LIVE_PERIOD_MS,
		.data = live,
	};
	return live;
}

void gpumon_live_free(struct gpumon_live *live)
{
	if (!live)
		return;
	on_end(live);
	free(live);
}
