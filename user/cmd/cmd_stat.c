// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "stat_frames.h"
#include "lib/wait.h"
#include "driver/bpf_source.h"
#include "driver/container.h"
#include "driver/device.h"
#include "lib/format.h"
#include "lib/launch.h"
#include "driver/json_model.h"
#include "lib/options.h"
#include "lib/privileges.h"
#include "lib/output_file.h"
#include "driver/source.h"
#include "driver/stat_print.h"

/* How often to look for new drivers. */
#define LOOK_NS 1000000000ULL
/* Polling interval for the end of a process on kernels without pidfds. */
#define ASK_NS 20000000ULL

/**
 * struct stat_window - the time that "stat" covers: as long as a command, or until a signal
 * @source: source that is checked for new drivers
 * @duration_ns: length, 0 for no end
 * @end_ns: its end
 * @program: command, NULL for none
 * @out: where the numbers go; without a command, the window is over when nobody can read it
 * @launch: the running command
 * @launched: @launch was prepared and must be ended
 */
struct stat_window {
	struct gpumon_source *source;
	uint64_t duration_ns;
	uint64_t end_ns;
	char **program;
	FILE *out;
	struct gpumon_launch launch;
	bool launched;
};

static void stat_window_init(struct stat_window *window, struct gpumon_source *source,
			     uint64_t duration_ns, char **program, FILE *out)
{
	memset(window, 0, sizeof(*window));
	window->source = source;
	window->duration_ns = duration_ns;
	window->program = program;
	window->out = out;
}

/* Begin, and start the command. 0, or -1 with @err. */
static int stat_window_start(struct stat_window *window, struct gpumon_error *err)
{
	static const char *const environment[] = { NULL };

	if (window->program) {
		if (gpumon_launch_prepare(&window->launch, err))
			return -1;
		window->launched = true;
		if (gpumon_launch_start(&window->launch, window->program, environment, err))
			return -1;
	} else {
		gpumon_signals_catch();
	}
	window->end_ns = window->duration_ns ? gpumon_monotonic_ns() + window->duration_ns :
					       UINT64_MAX;
	return 0;
}

/* False after a signal, or if the terminal or the reader of the output is gone. */
static bool wait_for_time(FILE *out, uint64_t until_ns)
{
	while (!gpumon_signals_caught()) {
		/* Without events, poll() returns at an error or a hangup. */
		struct pollfd fd = { .fd = fileno(out) };
		uint64_t now = gpumon_monotonic_ns();
		uint64_t left = until_ns > now ? until_ns - now : 0;
		struct timespec timeout = {
			.tv_sec = (time_t)(left / 1000000000),
			.tv_nsec = (long)(left % 1000000000),
		};

		if (ppoll(&fd, 1, &timeout, NULL) > 0)
			return false;
		if (gpumon_monotonic_ns() >= until_ns)
			return !gpumon_signals_caught();
	}
	return false;
}

/* False if the program ended. */
static bool wait_for_program(struct gpumon_launch *launch, uint64_t until_ns)
{
	struct pollfd fds[] = {
		{ .fd = launch->signals, .events = POLLIN },
		{ .fd = launch->pidfd, .events = POLLIN },
	};
	uint64_t now = gpumon_monotonic_ns(), left = until_ns > now ? until_ns - now : 0;
	bool ended = false;

	if (launch->pidfd < 0 && left > ASK_NS)
		left = ASK_NS;
	poll(fds, 2, (int)((left + 999999) / 1000000));
	gpumon_launch_signal(launch, &ended);
	return gpumon_launch_wait(launch) != 0;
}

/* Wait until that time (CLOCK_MONOTONIC). False if the window is over. */
static bool stat_window_wait(struct stat_window *window, uint64_t until_ns)
{
	for (;;) {
		uint64_t now = gpumon_monotonic_ns(), step = now + LOOK_NS;

		if (now >= window->end_ns)
			return false;
		if (now >= until_ns)
			return true;
		if (step > window->end_ns)
			step = window->end_ns;
		if (step > until_ns)
			step = until_ns;
		if (window->program ? !wait_for_program(&window->launch, step) :
				      !wait_for_time(window->out, step))
			return false;
		if (gpumon_source_bpf(window->source))
			gpumon_bpf_source_look(gpumon_source_bpf(window->source));
	}
}

/* End the window after success or failure. Waits for a command that still runs. */
static void stat_window_end(struct stat_window *window)
{
	if (!window->launched)
		return;
	while (window->launch.pid &&
	       wait_for_program(&window->launch, gpumon_monotonic_ns() + LOOK_NS))
		;
	gpumon_launch_end(&window->launch);
}

/* Exit status of the command, as a shell reports it. */
static int stat_window_status(const struct stat_window *window)
{
	return gpumon_launch_exit_status(&window->launch);
}

/**
 * struct settings - options of the command
 * @group: only this group, NULL for all
 * @by_cgroup: containers and cgroups in place of processes
 * @interval_ns: 0: print once
 * @count: 0: print until stopped
 * @duration_ns: 0: until stopped, or no time at all
 * @output: file; NULL for standard output, or for standard error with a command
 * @program: a command to run, NULL for none
 * @choice: source of the numbers
 * @run_as: user to run @program as; NULL: under sudo, the caller of sudo
 * @reset: begin a new period
 * @frames: frame times, in place of all else
 * @pid: of this process
 * @out: stream of @output
 * @file: file of @output
 * @containers: names of containers
 * @devices: names of GPUs
 */
struct settings {
	const char *group;
	bool by_cgroup;
	uint64_t interval_ns;
	uint64_t count;
	uint64_t duration_ns;
	const char *output;
	char **program;
	enum gpumon_source_choice choice;
	const char *run_as;
	bool reset;
	bool frames;
	uint32_t pid;
	FILE *out;
	struct gpumon_output_file file;
	struct gpumon_containers *containers;
	struct gpumon_devices *devices;
};

static int parse_options(struct gpumon_context *context, int argc, char **argv,
			 struct settings *settings)
{
	const struct gpumon_option options[] = {
		GPUMON_OPTION_JSON(context),
		GPUMON_OPTION("interval", 'i', GPUMON_OPTION_TIME, &settings->interval_ns),
		GPUMON_OPTION_RANGE("count", 'n', GPUMON_OPTION_U64, &settings->count, 1,
				    UINT32_MAX),
		GPUMON_OPTION("group", 'g', GPUMON_OPTION_TEXT, &settings->group),
		GPUMON_OPTION("cgroup", 0, GPUMON_OPTION_FLAG, &settings->by_cgroup),
		GPUMON_OPTION("reset", 0, GPUMON_OPTION_FLAG, &settings->reset),
		GPUMON_OPTION("duration", 'd', GPUMON_OPTION_TIME, &settings->duration_ns),
		GPUMON_OPTION("output", 'o', GPUMON_OPTION_TEXT, &settings->output),
		GPUMON_OPTION("run-as", 0, GPUMON_OPTION_TEXT, &settings->run_as),
		GPUMON_OPTION("frames", 0, GPUMON_OPTION_FLAG, &settings->frames),
		GPUMON_OPTION_RANGE("pid", 'p', GPUMON_OPTION_U32, &settings->pid, 1, INT32_MAX),
		GPUMON_SOURCE_OPTION(&settings->choice),
		{ 0 },
	};
	int status = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_PROGRAM);

	if (status != GPUMON_OPTIONS_GO_ON)
		return status;
	if (argc && !context->explicit)
		return gpumon_usage(context, "unexpected argument \"%s\"", argv[0]);
	if (!argc && context->explicit)
		return gpumon_usage(context, "no command after --");
	settings->program = argc ? argv : NULL;
	if (settings->count && !settings->interval_ns)
		return gpumon_usage(context, "--count goes with --interval");
	if (settings->run_as && !settings->program)
		return gpumon_usage(context, "--run-as goes with a command");
	if (settings->reset && !settings->interval_ns &&
	    (settings->duration_ns || settings->program))
		return gpumon_usage(context, "--reset goes with neither --duration nor a command");
	if (settings->pid && !settings->frames)
		return gpumon_usage(context, "--pid goes with --frames");
	if (settings->frames && (settings->group || settings->by_cgroup || settings->reset ||
				 settings->program || settings->choice != GPUMON_SOURCE_AUTO))
		return gpumon_usage(
			context,
			"--frames goes with --pid, --interval, --count, --duration, --output and --json only");
	return GPUMON_OPTIONS_GO_ON;
}

static int show_model(struct gpumon_context *context, const struct settings *settings,
		      const struct gpumon_term *term, const struct gpumon_model *model,
		      struct gpumon_error *err)
{
	int ret;

	if (context->json)
		ret = gpumon_json_print(gpumon_json_model(model, settings->group),
					settings->interval_ns || !term->tty, settings->out);
	else
		ret = gpumon_stat_print(model, settings->group,
					settings->by_cgroup ? GPUMON_STAT_BY_CGROUP :
							      GPUMON_STAT_BY_PROCESS,
					term, settings->out);
	if (!ret && settings->interval_ns && !context->json)
		fputc('\n', settings->out);
	if (!ret)
		return 0;
	return gpumon_error_output(err);
}

static int check_group(const struct settings *settings, const struct gpumon_model *model,
		       struct gpumon_error *err)
{
	return settings->group ? gpumon_source_check_group(model, settings->group, err) : 0;
}

/* Read the running period, or with --reset the one that it closes. */
static int read_model(struct gpumon_source *source, const struct settings *settings,
		      struct gpumon_model *model, struct gpumon_error *err)
{
	struct gpumon_period period = { 0 };

	if (settings->reset && gpumon_source_reset(source, &period, err))
		return -1;
	if (gpumon_source_read(source, GPUMON_PART_ALL, (uint32_t)period.closed.v, model, err))
		return -1;
	if (settings->reset)
		gpumon_stat_close(model, &period);
	gpumon_containers_resolve(settings->containers, model);
	gpumon_devices_resolve(settings->devices, model);
	return 0;
}

static int stat_once(struct gpumon_context *context, struct gpumon_source *source,
		     const struct settings *settings, const struct gpumon_term *term,
		     struct gpumon_error *err)
{
	struct gpumon_model model = { 0 };
	int ret = read_model(source, settings, &model, err);

	if (!ret)
		ret = show_model(context, settings, term, &model, err);
	gpumon_model_free(&model);
	return ret;
}

/* Print the difference from @before to now; @before becomes now. */
static int stat_step(struct gpumon_context *context, struct gpumon_source *source,
		     const struct settings *settings, const struct gpumon_term *term,
		     struct gpumon_model *before, struct gpumon_error *err)
{
	struct gpumon_model now = { 0 }, diff = { 0 };
	int ret = read_model(source, settings, &now, err);

	if (!ret && settings->reset) {
		/* The closed period already is the difference, exact to the last event. */
		if (now.info.now_ns.v > now.info.since_ns.v)
			now.interval_ns = now.info.now_ns.v - now.info.since_ns.v;
		ret = show_model(context, settings, term, &now, err);
	} else if (!ret) {
		gpumon_model_diff(&diff, before, &now);
		ret = show_model(context, settings, term, &diff, err);
	}
	gpumon_model_free(&diff);
	gpumon_model_free(before);
	*before = now;
	return ret;
}

static int stat_repeat(struct gpumon_context *context, struct gpumon_source *source,
		       const struct settings *settings, const struct gpumon_term *term,
		       struct stat_window *window, struct gpumon_error *err)
{
	struct gpumon_model before = { 0 };
	uint64_t due;
	int ret = read_model(source, settings, &before, err);

	if (!ret)
		ret = stat_window_start(window, err);
	due = gpumon_monotonic_ns();
	for (uint64_t i = 0; !ret && (!settings->count || i < settings->count); i++) {
		due += settings->interval_ns;
		/* After a suspend or an overload, do not catch up on missed intervals. */
		if (due < gpumon_monotonic_ns())
			due = gpumon_monotonic_ns();
		if (!stat_window_wait(window, due)) {
			/*
			 * Show the last interval up to the end of a command, but not after Ctrl-C.
			 */
			if (!gpumon_signals_caught())
				ret = stat_step(context, source, settings, term, &before, err);
			break;
		}
		ret = stat_step(context, source, settings, term, &before, err);
	}
	gpumon_model_free(&before);
	return ret;
}

/* By BPF without a given end: long enough for what goes on all the time, and soon over. */
#define BRIEFLY_NS 1000000000ULL

/* Count from now until the time is over, the command ends or the user stops it. */
static int stat_for(struct gpumon_context *context, struct gpumon_source *source,
		    const struct settings *settings, const struct gpumon_term *term,
		    struct stat_window *window, struct gpumon_error *err)
{
	struct gpumon_model before = { 0 };
	int ret = 0;

	/* BPF has counted nothing before, so this is its whole period, which also has extremes. */
	if (!gpumon_source_bpf(source))
		ret = read_model(source, settings, &before, err);
	if (!ret)
		ret = stat_window_start(window, err);
	if (!ret) {
		/* From here on, a signal only ends the counting. */
		stat_window_wait(window, UINT64_MAX);
		ret = gpumon_source_bpf(source) ?
			      stat_once(context, source, settings, term, err) :
			      stat_step(context, source, settings, term, &before, err);
	}
	gpumon_model_free(&before);
	return ret;
}

static int stat_source(struct gpumon_context *context, struct gpumon_source *source,
		       const struct settings *settings, struct stat_window *window,
		       struct gpumon_error *err)
{
	bool windowed = settings->duration_ns || settings->program;
	struct gpumon_model groups = { 0 };
	struct gpumon_term term;
	int ret = 0;

	gpumon_term_get(&term, settings->out);
	/* Check the group before a reset, so that a wrong name does not cost the counts. */
	if (settings->group) {
		ret = gpumon_source_read(source, GPUMON_PART_INFO | GPUMON_PART_GROUPS, 0, &groups,
					 err);
		if (!ret)
			ret = check_group(settings, &groups, err);
		gpumon_model_free(&groups);
		if (ret)
			return ret;
	}
	if (gpumon_source_bpf(source) && settings->reset)
		return gpumon_source_reset(source, NULL, err);
	if (settings->interval_ns)
		return stat_repeat(context, source, settings, &term, window, err);
	/* The module has counted before; BPF has nothing to show yet. */
	if (gpumon_source_bpf(source) && !windowed) {
		window->duration_ns = BRIEFLY_NS;
		fputs("gpumon-user: counting by BPF for 1 s (--duration TIME, or -- COMMAND, count longer)\n",
		      context->err);
	}
	if (windowed || gpumon_source_bpf(source))
		return stat_for(context, source, settings, &term, window, err);
	return stat_once(context, source, settings, &term, err);
}

static int open_output(struct gpumon_context *context, struct settings *settings,
		       struct gpumon_error *err)
{
	FILE *standard = settings->program && !settings->output ? context->err : context->out;

	/* Users watch this file as it grows, so it gets its name at the start. */
	if (gpumon_output_file_open(&settings->file, settings->output, true, GPUMON_OUTPUT_TEXT,
				    standard, err))
		return -1;
	settings->out = settings->file.stream;
	if (!gpumon_output_file_show(&settings->file, err))
		return 0;
	(void)gpumon_output_file_close(&settings->file, false, err);
	return -1;
}

/*
 * Change the user before anything is opened, so that all paths are accessed with the rights of the
 * user that runs the program.
 */
static int give_up_privileges(const struct settings *settings, struct gpumon_error *err)
{
	unsigned int needs = GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_BPF;

	if (settings->choice == GPUMON_SOURCE_MODULE)
		needs = GPUMON_PRIVILEGE_MODULE;
	if (settings->program)
		return gpumon_privileges_become(settings->run_as, needs, 0, err);
	gpumon_privileges_keep(needs | GPUMON_PRIVILEGE_FILES);
	return 0;
}

static int run_frames(struct gpumon_context *context, const struct settings *settings)
{
	return gpumon_stat_frames(context, &(struct gpumon_stat_frames){
						   .pid = settings->pid,
						   .interval_ns = settings->interval_ns,
						   .count = settings->count,
						   .duration_ns = settings->duration_ns,
						   .output = settings->output,
					   });
}

static int stat_run(struct gpumon_context *context, int argc, char **argv)
{
	struct settings settings = { 0 };
	struct stat_window window;
	struct gpumon_source source = { 0 };
	struct gpumon_error err = { 0 };
	int ret = parse_options(context, argc, argv, &settings);

	if (ret != GPUMON_OPTIONS_GO_ON)
		return ret;
	if (settings.frames)
		return run_frames(context, &settings);
	/* Without memory the containers are unknown, but the rest is shown. */
	settings.containers = gpumon_containers_new(context->root);
	settings.devices = gpumon_devices_new(context->root);

	ret = give_up_privileges(&settings, &err);
	if (!ret)
		ret = gpumon_source_open(&source, settings.choice, false, &err);
	if (!ret)
		ret = open_output(context, &settings, &err);
	if (!ret) {
		stat_window_init(&window, &source, settings.duration_ns, settings.program,
				 settings.out);
		ret = stat_source(context, &source, &settings, &window, &err);
		stat_window_end(&window);
	}
	if (settings.out && gpumon_output_file_close(&settings.file, !ret, &err) && !ret)
		ret = -1;
	gpumon_source_close(&source);
	gpumon_containers_free(settings.containers);
	gpumon_devices_free(settings.devices);
	if (ret)
		return gpumon_report(context, &err);
	return settings.program ? stat_window_status(&window) : GPUMON_EXIT_OK;
}

const struct gpumon_command gpumon_command_stat = {
	.name = "stat",
	.summary = "Show what was counted: probes, rings, tables of the drivers, processes, losses",
	.usage =
		"[--json] [--interval TIME [--count N]] [--duration TIME] [--group GROUP] [--cgroup]\n"
		"                        [--reset] [--source SOURCE] [--output FILE] [--run-as USER] [-- COMMAND [ARGUMENT]…]\n"
		"       gpumon-user stat --frames [--pid PID] [--json] [--interval TIME [--count N]] [--duration TIME]\n"
		"                        [--output FILE]",
	.help = GPUMON_HELP(
		"Tables of a driver are named GROUP.TABLE. A histogram has columns for the number of values\n"
		"(-N), percentiles and the highest value; a level has its value now, and its maximum (-MAX).\n"
		"\"-\" is unknown. Probes of groups that are off or wait for their module are shown only with\n"
		"--group. CONTAINER is the beginning of a container's id or its name, and outside of\n"
		"containers the path of the cgroup; IN-CONTAINER is the pid in the container.\n"
		"GPU is the part of the time in which jobs of a process were on the device that it used most,\n"
		"all rings of that device added: two rings are up to 200 %. GPU-TIME is that of all devices,\n"
		"WAIT/JOB the mean time of a job in the queue. A job counts when it ends.\n"
		"\n"
		"Where no module can be loaded, BPF programs count, from the beginning of this command to its\n"
		"end: when TIME is over, when COMMAND ends, or at Ctrl-C; if neither is given, after one\n"
		"second. With a COMMAND the numbers go to standard error, and the exit status is that of the\n"
		"command.\n"
		"\n"
		"--frames shows frame times of programs that present by Vulkan, EGL or GLX, by uprobes and\n"
		"without the module, in place of all else: for five seconds if no time is given. A frame is\n"
		"late if it is longer than 1.5 times the median, and by 1 ms at least.\n"
		"\n"
		"Options:\n"
		"      --json             one JSON document (a line each with --interval)\n"
		"  -i, --interval TIME    what changed in each TIME (1, 0.5, 200ms), until stopped\n"
		"  -n, --count N          stop after N intervals\n"
		"  -g, --group GROUP      only this group\n"
		"      --cgroup           containers and cgroups in place of processes\n"
		"      --reset            begin a new period and show the one that ended, exactly\n"
		"  -d, --duration TIME    what happens in that time from now on\n"
		"  -o, --output FILE      write to FILE; a file of that name that is yours is replaced\n"
		"      --frames           frame times, of all processes\n"
		"  -p, --pid PID          of this process only\n"
		"      --run-as USER      run the command as USER; under sudo the default is the calling user\n" GPUMON_SOURCE_HELP),
	.privileges = GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_BPF | GPUMON_PRIVILEGE_FILES |
		      GPUMON_PRIVILEGE_PROCESSES | GPUMON_PRIVILEGE_PROGRAM,
	.run = stat_run,
};
