// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "report/stored_names.h"
#include "lib/memory.h"
#include "lib/files.h"
#include "lib/privileges.h"
#include "lib/wait.h"
#include "attach.h"
#include "dormant.h"
#include "lib/api_loader.h"
#include "lib/launch.h"
#include "lib/process_info.h"
#include "directories.h"
#include "session_summary.h"
#include "lib/format.h"
#include "environment.h"

/* How long live processes may take at the end to send their data. */
#define STOP_MS 3000
/* How long a duration waits for the libraries of live processes: they load what they record with. */
#define BEGIN_NS      5000000000ull
#define BEGIN_LOOK_NS 20000000ull
/* And for their first word. */
#define HELLO_NS 1000000000ull
/* How long a library that was brought into a process may take to listen, and how often it is tried. */
#define LISTEN_NS	3000000000ULL
#define LISTEN_AGAIN_NS 2000000
/* How many directory names with the time are tried. */
#define NAMES_MAX 20
/* Intervals of the search for processes that still run, and the delay of the line about them. */
#define LEFT_PERIOD_NS 200000000ULL
#define LEFT_AGAIN_NS  10000000ULL
#define LEFT_TELL_NS   1000000000ULL
/* Searching /proc may take at most 1/20 of one CPU. */
#define LEFT_SHARE 20

/* "python3 train.py", cut to the room there is. */
static char *command_text(char *const *argv)
{
	size_t length = 1;
	char *text, *at;

	for (char *const *word = argv; word && *word; word++)
		length += strlen(*word) + 1;
	text = at = gpumon_malloc(length);
	*at = '\0';
	for (char *const *word = argv; word && *word; word++)
		at += sprintf(at, "%s%s", word == argv ? "" : " ", *word);
	return text;
}

static int make_directory(struct session *session, const char *command)
{
	const struct gpumon_continuous_options *continuous = &session->options->continuous;
	const char *directory = session->result->directory;

	if (continuous->on)
		return gpumon_capture_create_ring(directory, &continuous->keep, &session->writer);
	return gpumon_capture_create(directory, command, &session->writer);
}

static int session_make_capture(struct session *session, struct gpumon_error *err)
{
	char *command = command_text(session->options->argv);
	char *directory = session->result->directory;
	size_t room = sizeof(session->result->directory);
	time_t now = time(NULL);
	struct stat status;
	struct tm local;
	char name[40];
	int ret = -1;

	if (session->options->directory[0]) {
		snprintf(directory, room, "%s", session->options->directory);
		session->made = lstat(directory, &status) != 0;
		ret = make_directory(session, command);
	} else {
		localtime_r(&now, &local);
		strftime(name, sizeof(name), "gpumon-%Y%m%d-%H%M%S", &local);
		/* The name is taken by another capture of the same second. */
		session->made = true;
		for (int i = 1; ret && i <= NAMES_MAX; i++) {
			if (i == 1)
				snprintf(directory, room, "%s", name);
			else
				snprintf(directory, room, "%s-%d", name, i);
			if (!lstat(directory, &status) && i < NAMES_MAX)
				continue;
			ret = make_directory(session, command);
			if (ret && gpumon_capture_error()->sys != -EEXIST)
				break;
		}
	}
	if (!ret && session->options->continuous.on)
		session->continuous = gpumon_continuous_new(&session->options->continuous,
							    session->writer, directory, command);
	free(command);
	if (ret) {
		*err = *gpumon_capture_error();
		/* A full disk may have room for a directory, but not for its contents. */
		if (session->made)
			(void)rmdir(directory);
		directory[0] = '\0';
	}
	return ret;
}

static void on_trouble(void *data, const struct gpumon_error *err)
{
	struct session *session = data;

	/* Report it at the end, not amid the program's output. */
	session->trouble = *err;
}

/*
 * Called when there is no memory: writes the records that are there. The program goes on without
 * its recorder.
 */
static void keep_what_was_recorded(void *data)
{
	const struct session *session = data;

	if (!gpumon_capture_close(session->writer))
		fprintf(session->context->err, "gpumon-user: what was recorded before is in %s\n",
			session->result->directory);
}

/* Around this recording is another one: what is started here is not in its capture. */
static void tell_outer(const struct session *session)
{
	const char *outer = getenv("GPUMON_SOCKET");
	char text[256];

	if (!outer || !*outer)
		return;
	snprintf(text, sizeof(text),
		 "it is gpumon-user itself, and what it starts is recorded by it, into %.150s",
		 session->result->directory);
	gpumon_recorder_decline(outer, text);
}

static int start_program(struct session *session, struct gpumon_error *err)
{
	const char *before = getenv("CUDA_INJECTION64_PATH");
	struct gpumon_variables variables;
	char library[PATH_MAX], text[512];
	unsigned int wanted;
	int ret;

	if (gpumon_launch_find_library(library, err))
		return -1;
	tell_outer(session);
	wanted = session->options->opengl ? GPUMON_APIS_ALL : GPUMON_APIS_ALL & ~GPUMON_APIS_OPENGL;
	session->apis = gpumon_api_of_library(library) & wanted;
	session->lacks = gpumon_api_of_machine("") & ~session->apis;
	if (gpumon_session_lacks(session, text, sizeof(text)))
		gpumon_recorder_note(session->recorder, 0, text);
	if (before && *before && strcmp(before, library) != 0) {
		snprintf(text, sizeof(text),
			 "CUDA_INJECTION64_PATH was %.400s, replaced by gpumon's", before);
		gpumon_recorder_note(session->recorder, 0, text);
	}
	gpumon_variables_make(&variables, library, wanted,
			      gpumon_recorder_socket(session->recorder),
			      session->options->beside.variable);
	gpumon_unrecorded_begin(&session->unrecorded, variables.list);
	ret = gpumon_launch_start(&session->launch, session->options->argv,
				  (const char *const *)variables.list, err);
	if (variables.not_preloaded[0])
		gpumon_recorder_note(session->recorder, GPUMON_NOTE_MISSING,
				     variables.not_preloaded);
	memcpy(session->loader_folder, variables.folder, sizeof(session->loader_folder));
	gpumon_variables_free(&variables);
	return ret;
}

/* The library listens within milliseconds once it is in a process. */
static int connect_to_new(const char *root, pid_t pid, int *socket, struct gpumon_error *err)
{
	uint64_t until = gpumon_monotonic_ns() + LISTEN_NS;
	const struct timespec pause = { 0, LISTEN_AGAIN_NS };

	while (gpumon_dormant_connect(root, pid, socket, err)) {
		if (gpumon_monotonic_ns() >= until)
			return -1;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

/* The library is not in the process: bring it in. */
static int bring_library(const struct session *session, const char *root, pid_t pid, int *socket,
			 struct gpumon_error *err)
{
	struct gpumon_attach attach;

	if (session->options->no_attach)
		return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT,
					GPUMON_ERROR_UNSUPPORTED,
					"process %d has no injection library (--no-attach)",
					(int)pid);
	if (gpumon_attach_begin(&attach, root, pid, err) || gpumon_attach_end(&attach, true, err))
		return -1;
	return connect_to_new(root, pid, socket, err);
}

/* Use a library in the process, or bring it in, or otherwise use uprobes from outside. */
static int attach_process(struct session *session, pid_t pid, struct gpumon_error *err)
{
	const char *root = session->options->recorder.root ? session->options->recorder.root : "";
	struct gpumon_error brought, probed;
	char text[3 * sizeof(err->message) + 64];
	int socket, ret;

	ret = gpumon_dormant_connect(root, pid, &socket, err);
	if (ret < 0)
		return -1;
	brought = *err;
	/* One that is in a sandbox and has the library is left alone. */
	if (ret && err->sys != -EPERM)
		ret = bring_library(session, root, pid, &socket, &brought);
	if (!ret)
		return gpumon_recorder_add(session->recorder, socket, err);
	if (brought.code == GPUMON_ERROR_GONE) {
		*err = brought;
		return -1;
	}
	if (gpumon_recorder_probe(session->recorder, pid, &probed)) {
		/* Say what to do for the better ways, and why the other one does not work either. */
		snprintf(text, sizeof(text), "%s%s%s; nor can it be probed from outside: %s",
			 err->message, err->sys == -EPERM ? "" : "; ",
			 err->sys == -EPERM ? "" : brought.message, probed.message);
		return gpumon_error_set(err, probed.status, probed.sys, probed.code, "%s", text);
	}
	snprintf(text, sizeof(text),
		 "%s: its launches are recorded by uprobes, what the GPU did is not known",
		 brought.message);
	gpumon_recorder_note(session->recorder, GPUMON_NOTE_NO_GPU, text);
	if (!session->options->quiet)
		fprintf(session->context->err, "gpumon-user: %s\n", text);
	return 0;
}

static int attach_processes(struct session *session, struct gpumon_error *err)
{
	for (unsigned int i = 0; i < session->options->pid_count; i++)
		if (attach_process(session, session->options->pids[i], err))
			return -1;
	return 0;
}

static void say_of_group(void *data, uint16_t flags, const char *text)
{
	const struct session *session = data;

	gpumon_recorder_note(session->recorder, flags, text);
	if (!session->options->quiet)
		fprintf(session->context->err, "gpumon-user: %s\n", text);
}

static int begin_groups(struct session *session, struct gpumon_error *err)
{
	const struct gpumon_session_options *options = session->options;
	const struct gpumon_group_options of_group = {
		.root = options->recorder.root ? options->recorder.root : "",
		.recorder = session->recorder,
		.no_attach = options->no_attach,
		.say = say_of_group,
		.data = session,
	};

	for (unsigned int i = 0; i < options->group_count; i++) {
		const struct gpumon_session_group *group = &options->groups[i];
		char path[PATH_MAX];

		if (group->is_container ?
			    gpumon_group_of_container(of_group.root, group->name, path, err) :
			    gpumon_group_find(of_group.root, group->name, path, err))
			return -1;
		session->groups[session->group_count++] = gpumon_group_new(&of_group, path);
	}
	return 0;
}

static void step_groups(const struct session *session)
{
	struct gpumon_recorder_counts counts;

	gpumon_recorder_get_counts(session->recorder, &counts);
	for (unsigned int i = 0; !session->stopped && !counts.full && i < session->group_count; i++)
		gpumon_group_step(session->groups[i]);
}

static bool groups_are_over(const struct session *session)
{
	for (unsigned int i = 0; i < session->group_count; i++)
		if (!gpumon_group_is_over(session->groups[i]))
			return false;
	return true;
}

/* Processes that are recorded, and those that would be once they use CUDA. */
static unsigned int left_running(const struct session *session, pid_t *pid)
{
	const char *root = session->options->recorder.root;
	struct gpumon_recorder_counts counts;
	unsigned int count;
	char variable[256];

	snprintf(variable, sizeof(variable), "GPUMON_SOCKET=%s",
		 gpumon_recorder_socket(session->recorder));
	count = gpumon_left_behind(root ? root : "", variable, pid);
	gpumon_recorder_get_counts(session->recorder, &counts);
	return count > counts.live ? count : counts.live;
}

static bool program_finished(struct session *session)
{
	struct gpumon_recorder_counts counts;
	uint64_t now = gpumon_monotonic_ns(), used_ns;
	pid_t pid = 0;

	if (!session->ended_ns) {
		if (gpumon_launch_wait(&session->launch))
			return false;
		session->ended_ns = now;
	}
	gpumon_recorder_get_counts(session->recorder, &counts);
	if (session->options->wait_first || session->stopped || counts.full)
		return true;
	if (now < session->look_ns)
		return false;
	used_ns = gpumon_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	session->left = left_running(session, &pid);
	used_ns = gpumon_clock_ns(CLOCK_THREAD_CPUTIME_ID) - used_ns;
	/* A process that just started may have been missed, so none counts only when seen twice. */
	session->none = session->left ? 0 : session->none + 1;
	session->look_ns = gpumon_monotonic_ns() + (session->left ? LEFT_PERIOD_NS : LEFT_AGAIN_NS);
	session->look_ns += LEFT_SHARE * used_ns;
	if (session->left && !session->told && !session->options->quiet &&
	    now >= session->ended_ns + LEFT_TELL_NS) {
		session->told = true;
		fprintf(session->context->err,
			"gpumon-user: %s has ended, %u of its processes still run%s%.0d: recording goes on until they end (Ctrl-C ends it, --wait=first does not wait)\n",
			session->options->argv[0], session->left, pid ? ", one is " : "", (int)pid);
	}
	return session->none > 1;
}

/* Report the processes that recording did not wait for. */
static void tell_left_running(struct session *session)
{
	struct gpumon_recorder_counts counts;
	unsigned int left;
	char text[256];
	pid_t pid = 0;

	gpumon_recorder_get_counts(session->recorder, &counts);
	if (!session->options->argv || session->stopped || session->none || counts.full)
		return;
	left = left_running(session, &pid);
	if (!left)
		return;
	snprintf(
		text, sizeof(text),
		"%u process%s that the program started still ran when recording ended%s: what %s did later is not recorded",
		left, left == 1 ? "" : "es",
		session->options->wait_first ? " (--wait=all waits)" : "",
		left == 1 ? "it" : "they");
	gpumon_recorder_note(session->recorder, GPUMON_NOTE_MISSING, text);
	if (!session->options->quiet)
		fprintf(session->context->err, "gpumon-user: %s\n", text);
}

static void look_at_unrecorded(struct session *session)
{
	const char *root = session->options->recorder.root;

	if (session->options->argv && !session->ended_ns)
		gpumon_unrecorded_look(&session->unrecorded, root ? root : "", session->launch.pid,
				       session->recorder);
}

/* If these processes use a GPU, their work is missing. */
static void tell_unrecorded(struct session *session)
{
	char text[512];

	for (unsigned int i = 0; i <= GPUMON_UNRECORDED_MAX; i++) {
		if (!gpumon_unrecorded_text(&session->unrecorded, i, session->recorder, text,
					    sizeof(text)))
			continue;
		gpumon_recorder_note(session->recorder, GPUMON_NOTE_MISSING, text);
		if (!session->options->quiet)
			fprintf(session->context->err, "gpumon-user: %s\n", text);
	}
}

static bool session_finished(struct session *session)
{
	struct gpumon_recorder_counts counts;

	if (session->options->argv)
		return program_finished(session);
	/* A target that never sent its hello is not in the counts, but still waited for. */
	gpumon_recorder_get_counts(session->recorder, &counts);
	if (session->stopped)
		return !counts.live;
	if (session->group_count && !counts.full && !groups_are_over(session))
		return false;
	return counts.processes + counts.probed + counts.refused >= session->options->pid_count &&
	       !counts.live;
}

static int wait_ms(const struct session *session, uint64_t next_tick_ns, uint64_t now)
{
	int timeout = gpumon_recorder_timeout_ms(session->recorder);
	uint64_t until = UINT64_MAX;

	/* A kernel without pidfds: poll for the end. */
	if (session->options->argv && session->launch.pidfd < 0 && (timeout < 0 || timeout > 20))
		timeout = 20;
	if (session->options->live.tick)
		until = next_tick_ns;
	if (session->ended_ns && session->look_ns < until)
		until = session->look_ns;
	if (session->options->argv && !session->ended_ns && session->unrecorded.next_ns < until)
		until = session->unrecorded.next_ns;
	for (unsigned int i = 0; !session->stopped && i < session->group_count; i++)
		if (gpumon_group_next_ns(session->groups[i]) < until)
			until = gpumon_group_next_ns(session->groups[i]);
	if (session->continuous && gpumon_continuous_next_ns(session->continuous) < until)
		until = gpumon_continuous_next_ns(session->continuous);
	if (session->until_ns && !session->stopped && session->until_ns < until)
		until = session->until_ns;
	else if (session->options->duration_ns && !session->until_ns && now + BEGIN_LOOK_NS < until)
		until = now + BEGIN_LOOK_NS;
	if (until == UINT64_MAX)
		return timeout;
	until = until > now ? (until - now + 999999) / 1000000 : 0;
	if (timeout < 0 || until < (uint64_t)timeout)
		timeout = until > INT_MAX ? INT_MAX : (int)until;
	return timeout;
}

/* Captures that something asks for, while the recording goes on. */
static void write_captures(struct session *session)
{
	if (session->launch.usr1)
		gpumon_continuous_trigger(session->continuous, "SIGUSR1", true);
	session->launch.usr1 = false;
	for (; session->alarms < gpumon_recorder_alarms(session->recorder); session->alarms++)
		gpumon_continuous_trigger(session->continuous, "an alert of the gpumon module",
					  false);
	gpumon_continuous_step(session->continuous);
}

static void step_beside(const struct session *session)
{
	const struct gpumon_session_beside *beside = &session->options->beside;

	if (beside->variable)
		beside->step(beside->data);
}

/* The duration begins when all processes are recorded. */
static void look_at_begin(struct session *session, uint64_t now)
{
	struct gpumon_recorder_counts counts;
	unsigned int said;

	if (!session->options->duration_ns || session->until_ns)
		return;
	gpumon_recorder_get_counts(session->recorder, &counts);
	said = counts.processes + counts.probed + counts.refused;
	if (session->options->argv ||
	    (!(counts.beginning && now < session->began_ns + BEGIN_NS) &&
	     !(said < session->options->pid_count && now < session->began_ns + HELLO_NS)))
		session->until_ns = now + session->options->duration_ns;
}

static void session_wait(struct session *session)
{
	const struct gpumon_session_beside *beside = &session->options->beside;
	const struct gpumon_session_live *live = &session->options->live;
	uint64_t period_ns = live->period_ms * 1000000ULL;
	uint64_t next_tick_ns = session->began_ns + period_ns;

	for (;;) {
		struct pollfd fds[] = {
			{ .fd = gpumon_recorder_fd(session->recorder), .events = POLLIN },
			{ .fd = session->launch.signals, .events = POLLIN },
			{ .fd = session->launch.pidfd, .events = POLLIN },
			{ .fd = beside->variable ? beside->fd : -1, .events = POLLIN },
			{ .fd = session->continuous ? gpumon_continuous_fd(session->continuous) :
						      -1,
			  .events = POLLIN },
		};
		uint64_t now = gpumon_monotonic_ns();
		bool interrupted = false;

		(void)poll(fds, 5, wait_ms(session, next_tick_ns, now));
		gpumon_recorder_step(session->recorder);
		step_beside(session);
		look_at_unrecorded(session);
		step_groups(session);
		if (fds[1].revents)
			gpumon_launch_signal(&session->launch, &interrupted);
		if (session->continuous)
			write_captures(session);
		now = gpumon_monotonic_ns();
		look_at_begin(session, now);
		if (session->until_ns && !session->stopped && now >= session->until_ns) {
			gpumon_recorder_end(session->recorder, STOP_MS);
			session->stopped = true;
		}
		if (interrupted || session_finished(session))
			return;
		if (live->tick && now >= next_tick_ns) {
			live->tick(live->data, session->recorder);
			next_tick_ns = gpumon_monotonic_ns() + period_ns;
		}
	}
}

/* A program that uses no GPU is no reason; one that uses an API that cannot be seen is. */
static bool is_unseen(const struct session *session)
{
	unsigned int unseen = session->lacks;
	char path[PATH_MAX];

	if (!session->options->argv || session->result->counts.refused)
		return false;
	if (gpumon_opencl_loader("", path) == GPUMON_OPENCL_NO_LAYERS)
		unseen |= GPUMON_APIS_OPENCL;
	return unseen && gpumon_launch_find_program(session->options->argv[0], path) &&
	       (gpumon_api_of_program(path) & unseen);
}

/* Nothing was recorded in any process, and this machine is the reason. */
static bool was_impossible(const struct session *session)
{
	const struct gpumon_recorder_counts *counts = &session->result->counts;
	const struct gpumon_target_counts *targets = &counts->targets;

	if (counts->probed)
		return false;
	if (!counts->processes)
		return is_unseen(session);
	return counts->without_gpu >= counts->processes && !targets->launches &&
	       !targets->captured && !targets->kernels && !targets->copies && !targets->sets &&
	       !targets->presents;
}

/* The exit status of the recorded program counts, unless it says that all is well and it is not. */
static int exit_status(const struct session *session)
{
	const struct gpumon_recorder_counts *counts = &session->result->counts;
	int status = GPUMON_EXIT_OK;

	if (session->options->argv)
		status = gpumon_launch_exit_status(&session->launch);
	else if (!counts->processes && !counts->probed && counts->refused)
		status = GPUMON_EXIT_FAILED;
	return status == GPUMON_EXIT_OK && was_impossible(session) ? GPUMON_EXIT_IMPOSSIBLE :
								     status;
}

/* Look names up while the files are still the mapped ones. */
static void keep_names(const struct session *session, int directory)
{
	struct gpumon_error err;

	/* Do not wait for a server at the end of a recording. A later report may ask it. */
	gpumon_symbols_use_debuginfod(false);
	if (gpumon_store_names(directory, session->result->directory, &err) &&
	    !session->trouble.code)
		fprintf(session->context->err, "gpumon-user: %s\n", err.message);
	gpumon_symbols_use_debuginfod(true);
}

/* Reports the captures of a ring, whose segments are gone by now. */
static void tell_continuous(const struct session *session,
			    const struct gpumon_continuous_result *written)
{
	const char *directory = session->result->directory;
	FILE *err = session->context->err;
	char bytes[GPUMON_FORMAT_LEN];

	if (written->failed.code)
		fprintf(err, "gpumon-user: %s\n", written->failed.message);
	if (session->options->quiet)
		return;
	if (written->profiles)
		fprintf(err, "gpumon-user: %u profile%s written into %s\n", written->profiles,
			written->profiles == 1 ? "" : "s", directory);
	gpumon_format_bytes(bytes, sizeof(bytes),
			    gpumon_value_of(gpumon_folder_bytes(AT_FDCWD, directory)));
	if (written->last[0])
		fprintf(err, "gpumon-user: %u capture%s written, the last is %s, %s in %s\n",
			written->captures, written->captures == 1 ? "" : "s", written->last, bytes,
			directory);
}

static void keep_beside(const struct session *session)
{
	const struct gpumon_session_options *options = session->options;
	int directory = gpumon_capture_directory(session->writer);
	struct gpumon_error err;

	if (options->beside.variable &&
	    options->beside.keep(options->beside.data, directory,
				 !options->quiet && !options->brief, &err))
		fprintf(session->context->err, "gpumon-user: %s\n", err.message);
}

static int session_begin(struct session *session, struct gpumon_error *err)
{
	struct gpumon_recorder_options options = session->options->recorder;

	if (session_make_capture(session, err))
		return -1;
	session->launch.take_usr1 = session->options->continuous.on;
	gpumon_capture_on_trouble(session->writer, on_trouble, session);
	gpumon_memory_on_failure(keep_what_was_recorded, session);
	if (session->continuous)
		options.tap = gpumon_continuous_tap(session->continuous);
	if (gpumon_recorder_new(&options, session->writer, &session->recorder, err))
		return -1;
	if (session->continuous)
		gpumon_continuous_of(session->continuous, session->recorder);
	gpumon_privileges_forget(GPUMON_PRIVILEGE_DEBUGFS);
	if (session->options->argv)
		return start_program(session, err);
	return begin_groups(session, err) || attach_processes(session, err) ? -1 : 0;
}

int gpumon_session_run(struct gpumon_context *context, const struct gpumon_session_options *options,
		       struct gpumon_session_result *result, struct gpumon_error *err)
{
	struct session session = { .context = context, .options = options, .result = result };
	const struct gpumon_session_live *live = &options->live;
	struct gpumon_continuous_result written = { 0 };
	int ret, failed, directory = -1;
	char nothing[1024];

	memset(result, 0, sizeof(*result));
	if (gpumon_launch_prepare(&session.launch, err)) {
		gpumon_launch_end(&session.launch);
		return -1;
	}
	ret = session_begin(&session, err);
	/* The time for attaching does not count as recorded time. */
	session.began_ns = gpumon_monotonic_ns();
	if (!ret) {
		if (live->begin)
			live->begin(live->data, result->directory);
		session_wait(&session);
		tell_left_running(&session);
		tell_unrecorded(&session);
		/* Processes that the program left running are stopped, too. */
		gpumon_recorder_stop(session.recorder, STOP_MS);
		step_beside(&session);
		gpumon_recorder_get_counts(session.recorder, &result->counts);
		result->exit_status = exit_status(&session);
		if (gpumon_session_nothing(&session, nothing, sizeof(nothing)))
			gpumon_recorder_note(session.recorder, GPUMON_NOTE_NOTHING, nothing);
		if (live->end)
			live->end(live->data);
		session.notes = *gpumon_recorder_notes(session.recorder);
	}
	for (unsigned int i = 0; i < session.group_count; i++)
		gpumon_group_free(session.groups[i]);
	gpumon_recorder_free(session.recorder);
	gpumon_variables_remove(session.loader_folder);
	if (session.continuous)
		gpumon_continuous_of(session.continuous, NULL);
	if (!ret) {
		session.gone = gpumon_folder_is_gone(gpumon_capture_directory(session.writer));
		if (session.gone && result->exit_status == GPUMON_EXIT_OK)
			result->exit_status = GPUMON_EXIT_FAILED;
		gpumon_session_tell(&session);
		keep_beside(&session);
		/* The last capture of a ring. */
		if (session.continuous)
			gpumon_continuous_end(session.continuous, &written);
		/* The descriptor is still needed after the writer is closed. */
		directory = fcntl(gpumon_capture_directory(session.writer), F_DUPFD_CLOEXEC, 3);
	}
	gpumon_continuous_free(session.continuous);
	gpumon_memory_on_failure(NULL, NULL);
	failed = gpumon_capture_close(session.writer);
	if (!ret && !session.gone) {
		if (session.continuous)
			tell_continuous(&session, &written);
		if (failed && !session.trouble.code)
			fprintf(context->err, "gpumon-user: %s\n", gpumon_capture_error()->message);
		else if (!options->no_names && !options->continuous.on)
			keep_names(&session, directory);
	}
	if (directory >= 0)
		close(directory);
	if (ret && result->directory[0]) {
		/* The capture of an earlier ring keeps its mark. */
		if (session.made || !options->continuous.on)
			gpumon_remove_files(result->directory);
		if (session.made)
			(void)rmdir(result->directory);
		result->directory[0] = '\0';
	}
	gpumon_unrecorded_free(&session.unrecorded);
	gpumon_launch_end(&session.launch);
	return ret;
}
