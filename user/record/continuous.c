// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "continuous.h"
#include "directories.h"
#include "lib/memory.h"
#include "lib/wait.h"
#include "period.h"
#include "report/stored_names.h"
#include "session.h"
#include "slow_step.h"

#define KEEP_NS	       600000000000ULL
#define KEEP_MIN_NS    1000000000ULL
#define KEEP_BYTES     (1ULL << 30)
#define KEEP_BYTES_MAX (1ULL << 40)
#define CAPTURES_KEPT  8
#define SAMPLE_LOW     100
#define EVERY_MIN_NS   1000000000ULL

/* Libraries pass on what the GPU did about twice a second. */
#define SETTLE_NS 1000000000ULL
/* How often a child is looked at. */
#define LOOK_NS 50000000ULL
/* The program must not wait for the captures of it. */
#define CHILD_NICE 10
/* A capture has another name until it is complete. */
#define UNFINISHED ".unfinished"
/* A fifo in the directory: a byte asks for a capture. Nobody has it open once the recorder has ended. */
#define ASK "ask"
/* Names of captures and profiles, and how many profiles stay: those of a day, if one is of a minute. */
#define CAPTURES     "capture-"
#define PROFILES     "profile-"
#define PROFILES_MAX 1440

/* Result that a child writes. */
enum job {
	JOB_CAPTURE,
	JOB_PROFILE,
};

/**
 * struct report - what a child says of its job
 * @job: the job
 * @name: its name in the directory, "" if it failed
 * @err: why it failed
 */
struct report {
	enum job job;
	char name[64];
	struct gpumon_error err;
};

/**
 * struct gpumon_continuous - state
 * @recorder: has live processes, may be NULL
 * @slow: finds slow steps, NULL: nothing does
 * @child: process that writes a capture, 0 for none
 * @pipe: where its report comes from
 * @ask: the fifo, -1: none could be made
 * @due_ns: when to begin the next capture, UINT64_MAX: none is asked for
 * @begun_ns: when the last was begun, 0: none was
 * @from_ns: beginning of the next profile
 * @until_ns: end of it
 * @profiles: number of profiles until now
 * @why: what asked for the next one first
 * @more: what asked for it afterwards
 */
struct gpumon_continuous {
	struct gpumon_continuous_options options;
	struct gpumon_capture_writer *writer;
	char directory[PATH_MAX];
	char *command;
	const struct gpumon_recorder *recorder;
	struct gpumon_slow *slow;
	pid_t child;
	int pipe;
	int ask;
	uint64_t due_ns;
	uint64_t begun_ns;
	uint64_t from_ns;
	uint64_t until_ns;
	unsigned int profiles;
	char why[200];
	unsigned int more;
	struct gpumon_continuous_result result;
};

/* A pipe that a killed recorder left behind is as good as a new one. */
static int open_ask(int directory)
{
	struct stat status;
	int fd;

	if (mkfifoat(directory, ASK, 0600) && errno != EEXIST)
		return -1;
	/* Opened also for writing, so that it has no end when the process that asks closes it. */
	fd = openat(directory, ASK, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || (!fstat(fd, &status) && S_ISFIFO(status.st_mode)))
		return fd;
	close(fd);
	return -1;
}

static void close_ask(struct gpumon_continuous *continuous)
{
	if (continuous->ask < 0)
		return;
	(void)unlinkat(gpumon_capture_directory(continuous->writer), ASK, 0);
	close(continuous->ask);
	continuous->ask = -1;
}

int gpumon_continuous_ask(const char *path, struct gpumon_error *err)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat status;
	int error, fd = -1;
	bool asked = false;

	if (directory < 0)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO,
					"cannot open %s: %s", path, strerror(errno));
	if (!fstatat(directory, ASK, &status, AT_SYMLINK_NOFOLLOW) && S_ISFIFO(status.st_mode))
		fd = openat(directory, ASK, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	else
		errno = ENOENT;
	error = errno;
	/* A full one has been asked often enough. */
	if (fd >= 0) {
		asked = write(fd, "", 1) == 1 || errno == EAGAIN;
		error = errno;
		close(fd);
	}
	close(directory);
	if (asked)
		return 0;
	if (error == ENOENT || error == ENXIO)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO,
					"no recorder writes into %s with --continuous", path);
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO,
				"cannot ask the recorder of %s: %s", path, strerror(error));
}

struct gpumon_continuous *gpumon_continuous_new(const struct gpumon_continuous_options *options,
						struct gpumon_capture_writer *writer,
						const char *directory, const char *command)
{
	struct gpumon_continuous *new = gpumon_calloc(1, sizeof(*new));

	new->options = *options;
	new->writer = writer;
	snprintf(new->directory, sizeof(new->directory), "%s", directory);
	new->command = gpumon_strdup(command);
	new->pipe = -1;
	new->ask = open_ask(gpumon_capture_directory(writer));
	new->due_ns = UINT64_MAX;
	new->from_ns = gpumon_monotonic_ns();
	if (options->slow_ns)
		new->slow = gpumon_slow_new(options->slow_ns);
	return new;
}

static void see_records(void *data, const struct gpumon_target *target, const void *records,
			size_t size)
{
	const struct gpumon_process_info *info = gpumon_target_info(target);

	gpumon_slow_records(data, (uint64_t)info->pid << 40 ^ info->start_ticks, (int)info->pid,
			    records, size);
}

struct gpumon_target_tap gpumon_continuous_tap(struct gpumon_continuous *continuous)
{
	if (!continuous->slow)
		return (struct gpumon_target_tap){ 0 };
	return (struct gpumon_target_tap){ .records = see_records, .data = continuous->slow };
}

void gpumon_continuous_of(struct gpumon_continuous *continuous,
			  const struct gpumon_recorder *recorder)
{
	continuous->recorder = recorder;
}

void gpumon_continuous_trigger(struct gpumon_continuous *continuous, const char *why, bool by_hand)
{
	uint64_t due = gpumon_monotonic_ns() + SETTLE_NS;

	if (!by_hand && continuous->begun_ns &&
	    due < continuous->begun_ns + GPUMON_CONTINUOUS_QUIET_NS)
		due = continuous->begun_ns + GPUMON_CONTINUOUS_QUIET_NS;
	if (continuous->due_ns == UINT64_MAX)
		snprintf(continuous->why, sizeof(continuous->why), "%s", why);
	else
		continuous->more++;
	if (due < continuous->due_ns)
		continuous->due_ns = due;
}

/* --- in a child, or at the end */

static int fail(struct report *report, const char *what, const char *path, int error)
{
	return gpumon_error_set(&report->err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO,
				"%s %s: %s", what, path, strerror(error));
}

/* Names of functions, without which the capture is still good. */
static void keep_names(const struct gpumon_continuous *continuous, const char *path,
		       struct report *report)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (directory < 0) {
		fail(report, "cannot open", path, errno);
		return;
	}
	if (continuous->recorder)
		gpumon_recorder_copy_maps(continuous->recorder, directory);
	/* A later report may ask a server. */
	gpumon_symbols_use_debuginfod(false);
	if (!continuous->options.no_names)
		(void)gpumon_store_names(directory, path, &report->err);
	close(directory);
}

static int write_capture(struct gpumon_continuous *continuous, struct report *report)
{
	int directory = gpumon_capture_directory(continuous->writer);
	char path[PATH_MAX + sizeof(UNFINISHED) + 1], note[300];

	if (continuous->more)
		snprintf(note, sizeof(note), "written because of %s, and %u more", continuous->why,
			 continuous->more);
	else
		snprintf(note, sizeof(note), "written because of %s", continuous->why);
	snprintf(path, sizeof(path), "%s/" UNFINISHED, continuous->directory);
	/* A child that was killed may have left it. */
	gpumon_remove_capture(path);
	if (gpumon_capture_write_ring(continuous->writer, path, continuous->command, note, 0)) {
		report->err = *gpumon_capture_error();
		gpumon_remove_capture(path);
		return -1;
	}
	keep_names(continuous, path, report);
	gpumon_numbered_name(directory, CAPTURES, "", report->name, sizeof(report->name));
	if (renameat(directory, UNFINISHED, directory, report->name)) {
		report->name[0] = '\0';
		return fail(report, "cannot rename", path, errno);
	}
	gpumon_numbered_limit(directory, continuous->directory, CAPTURES,
			      continuous->options.captures);
	return 0;
}

static int write_profile(struct gpumon_continuous *continuous, struct report *report, bool last)
{
	int directory = gpumon_capture_directory(continuous->writer);
	char temporary[PATH_MAX + sizeof(UNFINISHED) + 1], path[PATH_MAX + sizeof(report->name)];
	const struct gpumon_period_profile profile = {
		.writer = continuous->writer,
		.command = continuous->command,
		.temporary = temporary,
		.path = path,
		.from_ns = continuous->from_ns,
		.until_ns = continuous->until_ns,
		.first = !continuous->profiles,
		.last = last,
	};
	char name[sizeof(report->name)];

	gpumon_numbered_name(directory, PROFILES, ".pb.gz", name, sizeof(name));
	snprintf(temporary, sizeof(temporary), "%s/" UNFINISHED, continuous->directory);
	snprintf(path, sizeof(path), "%s/%s", continuous->directory, name);
	if (gpumon_period_write(&profile, &report->err))
		return -1;
	memcpy(report->name, name, sizeof(report->name));
	gpumon_numbered_limit(directory, continuous->directory, PROFILES, PROFILES_MAX);
	return 0;
}

static void take_report(struct gpumon_continuous *continuous, const struct report *report)
{
	struct gpumon_continuous_result *result = &continuous->result;

	if (report->err.code)
		result->failed = report->err;
	if (!report->name[0])
		return;
	if (report->job == JOB_PROFILE) {
		result->profiles++;
		return;
	}
	result->captures++;
	snprintf(result->last, sizeof(result->last), "%.*s/%s",
		 (int)(sizeof(result->last) - sizeof(report->name) - 1), continuous->directory,
		 report->name);
}

/* --- children */

/* The child must not draw the progress of reading a large capture on the terminal. */
static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		(void)dup2(null, fd);
}

static _Noreturn void run_child(struct gpumon_continuous *continuous, enum job job, int pipe)
{
	struct report report = { .job = job };

	(void)setpriority(PRIO_PROCESS, 0, CHILD_NICE);
	leave_terminal();
	if (job == JOB_PROFILE)
		(void)write_profile(continuous, &report, false);
	else
		(void)write_capture(continuous, &report);
	(void)!write(pipe, &report, sizeof(report));
	_exit(0);
}

/* Start a child. */
static void begin_job(struct gpumon_continuous *continuous, enum job job)
{
	struct report report = { .job = job };
	int ends[2];

	if (pipe2(ends, O_CLOEXEC)) {
		fail(&report, "cannot write into", continuous->directory, errno);
		take_report(continuous, &report);
		return;
	}
	/* Flushed, or the child could write the same buffered text again. */
	fflush(NULL);
	continuous->child = fork();
	if (!continuous->child) {
		/* The capture is its parent's. */
		gpumon_memory_on_failure(NULL, NULL);
		run_child(continuous, job, ends[1]);
	}
	close(ends[1]);
	continuous->pipe = ends[0];
	if (continuous->child > 0)
		return;
	continuous->child = 0;
	close(ends[0]);
	fail(&report, "cannot write into", continuous->directory, errno);
	take_report(continuous, &report);
}

static void begin_capture(struct gpumon_continuous *continuous)
{
	begin_job(continuous, JOB_CAPTURE);
	continuous->begun_ns = gpumon_monotonic_ns();
	continuous->due_ns = UINT64_MAX;
	continuous->more = 0;
}

/* Time at which the profile of this period is to begin. */
static uint64_t profile_due_ns(const struct gpumon_continuous *continuous)
{
	uint64_t every = continuous->options.every_ns;

	return every ? continuous->from_ns + every + GPUMON_PERIOD_AFTER_NS : UINT64_MAX;
}

/* All periods that are due have one profile: a machine that is too slow for each gets longer ones. */
static void begin_period(struct gpumon_continuous *continuous, uint64_t now)
{
	uint64_t every = continuous->options.every_ns, due = profile_due_ns(continuous);

	continuous->until_ns = continuous->from_ns + every;
	if (now > due)
		continuous->until_ns += (now - due) / every * every;
}

static void end_period(struct gpumon_continuous *continuous)
{
	continuous->from_ns = continuous->until_ns;
	continuous->profiles++;
}

/* Returns whether it still runs. */
static bool look_at_child(struct gpumon_continuous *continuous, bool wait)
{
	struct report report = { 0 };
	pid_t ended;

	if (!continuous->child)
		return false;
	do
		ended = waitpid(continuous->child, NULL, wait ? 0 : WNOHANG);
	while (ended < 0 && errno == EINTR);
	if (!ended)
		return true;
	if (read(continuous->pipe, &report, sizeof(report)) != (ssize_t)sizeof(report)) {
		report = (struct report){ 0 };
		gpumon_error_set(
			&report.err, GPUMON_EXIT_FAILED, -ECHILD, GPUMON_ERROR_IO,
			"something in %s was not completed: the process that wrote it was killed",
			continuous->directory);
	}
	close(continuous->pipe);
	continuous->child = 0;
	take_report(continuous, &report);
	return false;
}

void gpumon_continuous_step(struct gpumon_continuous *continuous)
{
	char why[160], asked[64];
	uint64_t now;

	if (continuous->ask >= 0 && read(continuous->ask, asked, sizeof(asked)) > 0)
		gpumon_continuous_trigger(continuous, "record --ask", true);
	if (continuous->slow && gpumon_slow_take(continuous->slow, why, sizeof(why)))
		gpumon_continuous_trigger(continuous, why, false);
	if (look_at_child(continuous, false))
		return;
	now = gpumon_monotonic_ns();
	if (now >= continuous->due_ns) {
		begin_capture(continuous);
	} else if (now >= profile_due_ns(continuous)) {
		begin_period(continuous, now);
		begin_job(continuous, JOB_PROFILE);
		end_period(continuous);
	}
}

int gpumon_continuous_fd(const struct gpumon_continuous *continuous)
{
	return continuous->ask;
}

uint64_t gpumon_continuous_next_ns(const struct gpumon_continuous *continuous)
{
	uint64_t profile = profile_due_ns(continuous);

	if (continuous->child)
		return gpumon_monotonic_ns() + LOOK_NS;
	return profile < continuous->due_ns ? profile : continuous->due_ns;
}

/* One profile of the period that is due, one of the whole periods after it, and one of the rest. */
static void write_last_profiles(struct gpumon_continuous *continuous)
{
	uint64_t now = gpumon_monotonic_ns();
	bool last = false;

	while (continuous->options.every_ns && !last) {
		struct report report = { .job = JOB_PROFILE };

		begin_period(continuous, now);
		last = continuous->until_ns >= now;
		if (last)
			continuous->until_ns = now;
		(void)write_profile(continuous, &report, last);
		take_report(continuous, &report);
		end_period(continuous);
	}
}

void gpumon_continuous_end(struct gpumon_continuous *continuous,
			   struct gpumon_continuous_result *result)
{
	struct report report = { .job = JOB_CAPTURE };

	(void)look_at_child(continuous, true);
	write_last_profiles(continuous);
	gpumon_continuous_trigger(continuous, "the end of the recording", true);
	(void)write_capture(continuous, &report);
	take_report(continuous, &report);
	*result = continuous->result;
}

void gpumon_continuous_free(struct gpumon_continuous *continuous)
{
	if (!continuous)
		return;
	(void)look_at_child(continuous, true);
	close_ask(continuous);
	gpumon_slow_free(continuous->slow);
	free(continuous->command);
	free(continuous);
}

/* "1G" is a size, "10m" a time. */
static bool is_size(const char *text)
{
	return strpbrk(text, "KMGB") != NULL;
}

static int take_limit(struct gpumon_context *context, const char *text,
		      struct gpumon_ring_limits *limits)
{
	if (is_size(text)) {
		if (limits->bytes) {
			gpumon_usage(context, "--keep: two sizes");
			return -1;
		}
		return gpumon_argument_size(context, "--keep", text, GPUMON_RING_BYTES_MIN,
					    KEEP_BYTES_MAX, &limits->bytes);
	}
	if (limits->age_ns) {
		gpumon_usage(context, "--keep: two times (a size is written as 64M or 1G)");
		return -1;
	}
	if (!strspn(text, "0123456789.")) {
		gpumon_usage(context,
			     "--keep: \"%s\" is neither a time such as 10m nor a size such as 1G",
			     text);
		return -1;
	}
	if (gpumon_argument_duration(context, "--keep", text, &limits->age_ns))
		return -1;
	if (limits->age_ns >= KEEP_MIN_NS)
		return 0;
	gpumon_usage(context, "--keep: \"%s\" is less than a second", text);
	return -1;
}

int gpumon_continuous_take_keep(struct gpumon_context *context, const char *text, void *value)
{
	struct gpumon_continuous_choice *choice = value;
	struct gpumon_ring_limits limits = { 0 };
	char part[64];

	for (;;) {
		size_t length = strcspn(text, ",");

		snprintf(part, sizeof(part), "%.*s", (int)length, text);
		if (length >= sizeof(part) || take_limit(context, part, &limits)) {
			if (length >= sizeof(part))
				gpumon_usage(context, "--keep: neither a time nor a size");
			return -1;
		}
		text += length;
		if (!*text)
			break;
		text++;
	}
	choice->continuous.keep = limits;
	return 0;
}

static void reduce_overhead(struct gpumon_session_options *session)
{
	struct gpumon_message_settings *settings = &session->recorder.settings;

	if (!session->graphs_said)
		settings->graphs = GPUMON_GRAPHS_WINDOWS;
	if (!session->records_said)
		settings->operations_sampled = 1;
	if (!settings->sample)
		settings->sample = SAMPLE_LOW;
}

int gpumon_continuous_options_check(struct gpumon_context *context,
				    struct gpumon_continuous_choice *choice,
				    struct gpumon_session_options *session)
{
	struct gpumon_continuous_options *options = &choice->continuous;

	if (!options->on && (options->keep.bytes || options->keep.age_ns || options->captures ||
			     options->slow_ns || options->every_ns))
		return gpumon_usage(
			context, "--keep, --captures, --on-slow and --every go with --continuous");
	if (options->on && session->recorder.max_bytes)
		return gpumon_usage(
			context, "--max-size ends a recording: with --continuous, say --keep SIZE");
	if (choice->low_overhead)
		reduce_overhead(session);
	if (!options->on)
		return 0;
	if (!session->graphs_said)
		session->recorder.settings.graphs = GPUMON_GRAPHS_WINDOWS;
	if (!options->keep.bytes && !options->keep.age_ns)
		options->keep.age_ns = KEEP_NS;
	if (!options->keep.bytes)
		options->keep.bytes = KEEP_BYTES;
	if (!options->captures)
		options->captures = CAPTURES_KEPT;
	if (options->every_ns && options->every_ns < EVERY_MIN_NS)
		return gpumon_usage(context, "--every: a second is the shortest");
	if (options->every_ns && options->keep.age_ns &&
	    options->keep.age_ns <
		    options->every_ns + GPUMON_PERIOD_BEFORE_NS + GPUMON_PERIOD_AFTER_NS)
		return gpumon_usage(context, "--keep must be at least %llus longer than --every",
				    (GPUMON_PERIOD_BEFORE_NS + GPUMON_PERIOD_AFTER_NS) /
					    1000000000);
	if (options->slow_ns)
		session->recorder.settings.record |= GPUMON_RECORD_RANGES;
	options->no_names = session->no_names;
	session->continuous = *options;
	return 0;
}
