// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/wait.h"
#include "term/format.h"
#include "live.h"
#include "output/load.h"

/* Of the screen, for the summary; a smaller one has none. */
#define ROWS	 20
#define ROWS_MIN 24
/* Rows of each table, so that the tables of most use fit. */
#define TABLE_ROWS 5
/* Reading takes at most this part of one processor. */
#define READING_SHARE 10
#define TEXT_MAX      65536

/**
 * struct gpumon_live - the live summary
 * @out: terminal
 * @term: of it, as it was laid out for
 * @directory: of the capture
 * @since_ns: when recording began
 * @reader: process that reads the capture, 0 for none
 * @pipe: of it
 * @began_ns: when it began
 * @next_ns: when the next one may begin
 * @coming: what it has said until now
 * @text: what the one before said
 * @laid_out: the terminal's last lines are ours
 */
struct gpumon_live {
	FILE *out;
	struct gpumon_term term;
	char directory[PATH_MAX];
	uint64_t since_ns;
	pid_t reader;
	int pipe;
	uint64_t began_ns;
	uint64_t next_ns;
	char *coming;
	size_t coming_size;
	char *text;
	bool laid_out;
};

/* In the process that reads: to standard output, which is the pipe. */
static void read_capture(const struct gpumon_live *live)
{
	const struct gpumon_summary_options summary = { .rows = TABLE_ROWS };
	const struct gpumon_profile_options options = { 0 };
	const char *const paths[] = { live->directory };
	struct gpumon_term term = live->term;
	struct gpumon_load load;
	struct gpumon_error err;

	if (gpumon_load_captures(&load, paths, 1, &options, 0, &err))
		return;
	term.tty = false;
	term.colour = false;
	if (!gpumon_output_summary(stdout, &term, &load.view, &summary))
		fflush(stdout);
}

static void start_reader(struct gpumon_live *live, uint64_t now)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return;
	live->reader = fork();
	if (!live->reader) {
		sigset_t none;
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		/* What it does is nobody's business but ours, and ends with us. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_DFL);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		/* Ctrl-C is for the program and the recorder. */
		signal(SIGINT, SIG_IGN);
		signal(SIGQUIT, SIG_IGN);
		(void)fcntl(ends[1], F_SETFL, 0);
		dup2(null, 0);
		dup2(ends[1], 1);
		dup2(null, 2);
		close_range(3, ~0U, 0);
		(void)!nice(10);
		read_capture(live);
		_exit(0);
	}
	close(ends[1]);
	if (live->reader < 0) {
		live->reader = 0;
		close(ends[0]);
		return;
	}
	live->pipe = ends[0];
	live->began_ns = now;
	live->coming_size = 0;
}

/* All that it says is there, or the beginning. */
static void end_reader(struct gpumon_live *live, uint64_t now)
{
	uint64_t took = now - live->began_ns;
	char *text = live->text;
	int status;

	close(live->pipe);
	live->pipe = -1;
	while (waitpid(live->reader, &status, 0) < 0 && errno == EINTR)
		;
	live->reader = 0;
	live->next_ns = now + READING_SHARE * took;
	if (!live->coming_size)
		return;
	live->coming[live->coming_size] = '\0';
	live->text = live->coming;
	live->coming = text;
}

static void read_reader(struct gpumon_live *live, uint64_t now)
{
	for (;;) {
		ssize_t n;

		if (live->coming_size == TEXT_MAX) {
			kill(live->reader, SIGKILL);
			break;
		}
		n = read(live->pipe, live->coming + live->coming_size,
			 TEXT_MAX - live->coming_size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0)
			break;
		live->coming_size += (size_t)n;
	}
	end_reader(live, now);
}

/* Keep the last lines of the screen from scrolling, having scrolled away what is there. */
static void lay_out(struct gpumon_live *live)
{
	for (int i = 0; i < ROWS; i++)
		fputc('\n', live->out);
	fprintf(live->out, "\0337\033[1;%ur\0338\033[%dA", live->term.rows - ROWS, ROWS);
	fflush(live->out);
	live->laid_out = true;
}

static void give_back(struct gpumon_live *live)
{
	if (!live->laid_out)
		return;
	fputs("\0337\033[r\0338\033[J", live->out);
	fflush(live->out);
	live->laid_out = false;
}

/* A terminal that another job has is not ours to draw on; one that changed is laid out anew. */
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

static void draw_head(struct gpumon_live *live, FILE *out, const struct gpumon_recorder *recorder)
{
	struct gpumon_recorder_counts counts;
	char time[GPUMON_FORMAT_LEN], bytes[GPUMON_FORMAT_LEN], line[512];
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
	fprintf(out, "%s%.*s%s", gpumon_term_bold(&live->term), (int)live->term.columns, line,
		gpumon_term_reset(&live->term));
}

static void live_draw(struct gpumon_live *live, const struct gpumon_recorder *recorder)
{
	const char *line = live->text && live->text[0] ? live->text : "";
	char *screen = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&screen, &size);

	if (!out)
		return;
	/* In one piece: the program may print at any time. */
	fprintf(out, "\0337\033[%u;1H\033[2K", live->term.rows - ROWS + 1);
	draw_head(live, out, recorder);
	for (unsigned int row = 2; row <= ROWS; row++) {
		size_t length = strcspn(line, "\n");

		fprintf(out, "\033[%u;1H\033[2K%.*s", live->term.rows - ROWS + row, (int)length,
			line);
		line += length + (line[length] == '\n');
	}
	fputs("\0338", out);
	if (!fclose(out)) {
		fwrite(screen, 1, size, live->out);
		fflush(live->out);
	}
	free(screen);
}

static void on_begin(void *data, const char *directory)
{
	struct gpumon_live *live = data;

	snprintf(live->directory, sizeof(live->directory), "%s", directory);
	live->since_ns = gpumon_monotonic_ns();
	(void)have_terminal(live);
}

static void on_tick(void *data, const struct gpumon_recorder *recorder)
{
	struct gpumon_live *live = data;
	uint64_t now = gpumon_monotonic_ns();

	if (live->reader)
		read_reader(live, now);
	if (!have_terminal(live))
		return;
	if (!live->reader && now >= live->next_ns)
		start_reader(live, now);
	live_draw(live, recorder);
}

static void on_end(void *data)
{
	struct gpumon_live *live = data;

	if (live->reader) {
		kill(live->reader, SIGKILL);
		end_reader(live, gpumon_monotonic_ns());
	}
	give_back(live);
}

struct gpumon_live *gpumon_live_new(FILE *out, struct gpumon_session_options *options)
{
	struct gpumon_live *live = calloc(1, sizeof(*live));
	const char *kind = getenv("TERM");

	if (!live)
		return NULL;
	live->out = out;
	live->pipe = -1;
	gpumon_term_get(&live->term, out);
	live->coming = malloc(TEXT_MAX + 1);
	live->text = calloc(1, TEXT_MAX + 1);
	if (!live->coming || !live->text || !live->term.tty || live->term.rows < ROWS_MIN ||
	    !kind || !*kind || !strcmp(kind, "dumb")) {
		gpumon_live_free(live);
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
	free(live->coming);
	free(live->text);
	free(live);
}
