// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>
#include <unistd.h>

#include "lib/privileges.h"
#include "options.h"
#include "lib/process_info.h"

#define KIB (1ULL << 10)
#define MIB (1ULL << 20)

/* CUPTI's complete buffers are requested about twice a second. */
#define FLUSH_MS	 500
#define STACK_DEPTH	 128
#define CUPTI_BUFFER_MIB 256

#define SAMPLE_MAX    1000000
#define WINDOW_MIN_NS 10000000ULL
#define PERIOD_MAX_NS 86400000000000ULL
#define FLUSH_MIN_NS  20000000ULL
#define FLUSH_MAX_NS  10000000000ULL

void gpumon_record_options_default(struct gpumon_session_options *options)
{
	struct gpumon_message_settings *settings = &options->recorder.settings;

	memset(options, 0, sizeof(*options));
	settings->record = GPUMON_RECORD_BY_DEFAULT;
	settings->window = GPUMON_WINDOW_ALWAYS;
	settings->flush_ms = FLUSH_MS;
	settings->stack_depth = STACK_DEPTH;
	settings->buffer_mib = CUPTI_BUFFER_MIB;
	settings->wait_hz = GPUMON_WAIT_HZ_DEFAULT;
	options->recorder.driver = true;
}

int gpumon_record_take_pid(struct gpumon_context *context, const char *text, void *session)
{
	struct gpumon_session_options *options = session;
	uint64_t pid;

	if (gpumon_argument_u64(context, "--pid", text, 1, INT32_MAX, &pid))
		return -1;
	/* A pid that is given twice is recorded once. */
	for (unsigned int i = 0; i < options->pid_count; i++)
		if (options->pids[i] == (pid_t)pid)
			return 0;
	if (options->pid_count >= GPUMON_SESSION_PIDS_MAX) {
		gpumon_usage(context, "--pid: at most %d processes", GPUMON_SESSION_PIDS_MAX);
		return -1;
	}
	options->pids[options->pid_count++] = (pid_t)pid;
	return 0;
}

static int take_group(struct gpumon_context *context, const char *option, const char *text,
		      bool is_container, struct gpumon_session_options *options)
{
	if (!*text) {
		gpumon_usage(context, "%s: the name is empty", option);
		return -1;
	}
	if (options->group_count >= GPUMON_SESSION_GROUPS_MAX) {
		gpumon_usage(context, "%s: at most %d control groups and containers", option,
			     GPUMON_SESSION_GROUPS_MAX);
		return -1;
	}
	options->groups[options->group_count++] =
		(struct gpumon_session_group){ text, is_container };
	return 0;
}

int gpumon_record_take_cgroup(struct gpumon_context *context, const char *text, void *session)
{
	return take_group(context, "--cgroup", text, false, session);
}

int gpumon_record_take_container(struct gpumon_context *context, const char *text, void *session)
{
	return take_group(context, "--container", text, true, session);
}

int gpumon_record_take_window(struct gpumon_context *context, const char *text, void *value)
{
	static const char prefix[] = "range:";
	struct gpumon_message_settings *settings = value;
	const char *name = text + strlen(prefix);

	if (!strcmp(text, "profiler")) {
		settings->window = GPUMON_WINDOW_PROFILER;
		return 0;
	}
	if (strncmp(text, prefix, strlen(prefix)) != 0 || !*name) {
		gpumon_usage(context, "--window: \"%s\" is neither profiler nor range:NAME", text);
		return -1;
	}
	if (strlen(name) >= sizeof(settings->range)) {
		gpumon_usage(context, "--window: a range's name has at most %zu bytes",
			     sizeof(settings->range) - 1);
		return -1;
	}
	settings->window = GPUMON_WINDOW_RANGE;
	settings->record |= GPUMON_RECORD_RANGES;
	memcpy(settings->range, name, strlen(name) + 1);
	return 0;
}

/* The rank of this process: ranks are started as "mpirun gpumon-user record ...". */
static uint32_t own_rank(void)
{
	struct gpumon_process_info info;

	gpumon_process_info_read(&info, "", getpid());
	return info.rank;
}

static int expand_letter(struct gpumon_context *context, char letter, char *text, size_t room)
{
	switch (letter) {
	case '%':
		snprintf(text, room, "%%");
		return 0;
	case 'p':
		snprintf(text, room, "%d", (int)getpid());
		return 0;
	case 'h':
		if (gethostname(text, room))
			snprintf(text, room, "localhost");
		text[room - 1] = '\0';
		return 0;
	case 'r':
		if (own_rank() == UINT32_MAX) {
			gpumon_usage(
				context,
				"--output: %%r, but no launcher set a rank in the environment");
			return -1;
		}
		snprintf(text, room, "%u", own_rank());
		return 0;
	default:
		gpumon_usage(context,
			     "--output: only %%h, %%p, %%r and %%%% mean anything behind %%");
		return -1;
	}
}

int gpumon_record_directory(struct gpumon_context *context, const char *text, void *name)
{
	size_t length = 0;

	if (!*text) {
		gpumon_usage(context, "--output: the name is empty");
		return -1;
	}
	for (; *text; text++) {
		char part[256] = { *text };

		if (*text == '%' && expand_letter(context, *++text, part, sizeof(part)))
			return -1;
		if (length + strlen(part) >= PATH_MAX) {
			gpumon_usage(context, "--output: the name is too long");
			return -1;
		}
		memcpy((char *)name + length, part, strlen(part) + 1);
		length += strlen(part);
	}
	return 0;
}

int gpumon_record_take_graphs(struct gpumon_context *context, const char *text, void *value)
{
	static const char *const names[] = {
		[GPUMON_GRAPHS_NODES] = "nodes",
		[GPUMON_GRAPHS_WINDOWS] = "windows",
		[GPUMON_GRAPHS_WHOLE] = "whole",
	};
	struct gpumon_session_options *options = value;

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i])) {
			options->recorder.settings.graphs = i;
			options->graphs_said = true;
			return 0;
		}
	}
	gpumon_usage(context, "--graphs: \"%s\" is none of nodes, windows and whole", text);
	return -1;
}

int gpumon_record_take_records(struct gpumon_context *context, const char *text, void *value)
{
	struct gpumon_session_options *options = value;
	struct gpumon_message_settings *settings = &options->recorder.settings;

	options->records_said = true;
	settings->operations_sampled = !strcmp(text, "sampled");
	if (settings->operations_sampled || !strcmp(text, "all"))
		return 0;
	gpumon_usage(context, "--records: \"%s\" is neither all nor sampled", text);
	return -1;
}

int gpumon_record_take_gpu_metrics(struct gpumon_context *context, const char *text, void *value)
{
	struct gpumon_message_settings *settings = value;
	uint64_t ns;

	if (gpumon_argument_moment(context, "--gpu-metrics", text, &ns))
		return -1;
	if (ns < GPUMON_METRICS_INTERVAL_MIN_NS || ns > GPUMON_METRICS_INTERVAL_MAX_NS) {
		gpumon_usage(
			context,
			"--gpu-metrics: a time from 100us to 1s: decoding a sample takes some 100us, so of more samples some would be lost");
		return -1;
	}
	settings->metrics_interval_ns = (uint32_t)ns;
	return 0;
}

int gpumon_record_take_sample(struct gpumon_context *context, const char *text, void *value)
{
	struct gpumon_message_settings *settings = value;
	uint64_t sample;

	if (strncmp(text, "1/", 2) != 0) {
		gpumon_usage(context, "--sample: \"%s\" is not a part such as 1/100", text);
		return -1;
	}
	if (gpumon_argument_u64(context, "--sample", text + 2, 1, SAMPLE_MAX, &sample))
		return -1;
	settings->sample = (uint32_t)sample;
	return 0;
}

/* Room for a time or a size. */
#define VALUE_ROOM 32

/* Copy what is before a slash, cut where it is no value anyway. Returns what is behind it, or NULL. */
static const char *split_at_slash(const char *text, char value[VALUE_ROOM])
{
	size_t length = strcspn(text, "/");

	snprintf(value, VALUE_ROOM, "%s", text);
	if (length < VALUE_ROOM)
		value[length] = '\0';
	return text[length] ? text + length + 1 : NULL;
}

/* "1s/30s": windows of the first time, one in each of the second on average. */
int gpumon_record_take_windows(struct gpumon_context *context, const char *text, void *value)
{
	struct gpumon_message_settings *settings = value;
	char first[VALUE_ROOM];
	const char *second = split_at_slash(text, first);
	uint64_t window, period;

	if (!second) {
		gpumon_usage(context, "--windows: \"%s\" is not two times such as 1s/30s", text);
		return -1;
	}
	if (gpumon_argument_duration(context, "--windows", first, &window) ||
	    gpumon_argument_duration(context, "--windows", second, &period))
		return -1;
	if (window < WINDOW_MIN_NS || period < window || period > PERIOD_MAX_NS) {
		gpumon_usage(
			context,
			"--windows: \"%s\": a window is 10ms or longer, and its period no shorter than it and no longer than 24h",
			text);
		return -1;
	}
	settings->window_ms = (uint32_t)(window / 1000000);
	settings->period_ms = (uint32_t)(period / 1000000);
	return 0;
}

int gpumon_record_take_wait(struct gpumon_context *context, const char *text, void *session)
{
	struct gpumon_session_options *options = session;

	options->wait_first = !strcmp(text, "first");
	if (options->wait_first || !strcmp(text, "all"))
		return 0;
	gpumon_usage(context, "--wait: \"%s\" is neither all nor first", text);
	return -1;
}

int gpumon_record_take_cupti_buffer(struct gpumon_context *context, const char *text, void *value)
{
	struct gpumon_message_settings *settings = value;
	char all[VALUE_ROOM];
	const char *one = split_at_slash(text, all);
	uint64_t bytes, each = 0;

	if (gpumon_argument_size(context, "--cupti-buffer", all, GPUMON_BUFFER_MIB_MIN * MIB,
				 GPUMON_BUFFER_MIB_MAX * MIB, &bytes) ||
	    (one && gpumon_argument_size(context, "--cupti-buffer", one,
					 GPUMON_BUFFER_KIB_MIN * KIB, 16 * MIB, &each)))
		return -1;
	if (one && (bytes / each < GPUMON_BUFFERS_MIN || bytes / each > GPUMON_BUFFERS_MAX)) {
		gpumon_usage(context, "--cupti-buffer: %s has to be %u to %u times %s", all,
			     GPUMON_BUFFERS_MIN, GPUMON_BUFFERS_MAX, one);
		return -1;
	}
	settings->buffer_mib = (uint32_t)(bytes / MIB);
	settings->buffer_kib = (uint32_t)(each / KIB);
	return 0;
}

int gpumon_record_take_flush(struct gpumon_context *context, const char *text, void *value)
{
	struct gpumon_message_settings *settings = value;
	uint64_t ns;

	if (gpumon_argument_duration(context, "--flush", text, &ns))
		return -1;
	if (ns < FLUSH_MIN_NS || ns > FLUSH_MAX_NS) {
		gpumon_usage(context, "--flush: a time from 20ms to 10s");
		return -1;
	}
	settings->flush_ms = (uint32_t)(ns / 1000000);
	return 0;
}

int gpumon_record_options_check(struct gpumon_context *context,
				const struct gpumon_session_options *options)
{
	const struct gpumon_message_settings *settings = &options->recorder.settings;

	if (options->argv && options->pid_count)
		return gpumon_usage(context, "either a program or --pid, not both");
	if (options->argv && options->group_count)
		return gpumon_usage(context,
				    "either a program, or --cgroup and --container, not both");
	if (!options->argv && options->opengl)
		return gpumon_usage(
			context,
			"--gl goes with a program, into which a library is preloaded: without --gl, --pid records calls of eglSwapBuffers and glXSwapBuffers by uprobes, if it is root");
	if (!options->argv && options->run_as)
		return gpumon_usage(context, "--run-as goes with a program");
	if (options->recorder.driver_wanted && !options->recorder.driver)
		return gpumon_usage(context, "either --driver or --no-driver, not both");
	if (settings->stalls_period && settings->metrics_interval_ns)
		return gpumon_usage(
			context,
			"either --stalls or --gpu-metrics: CUPTI does one of them at a time, so record once with each");
	if ((settings->record & GPUMON_RECORD_HW_TRACE) &&
	    (settings->record & GPUMON_RECORD_LATENCY))
		return gpumon_usage(
			context,
			"--hw-trace or --latency, not both: the GPU's own trace has no queued and submitted times");
	if ((settings->record & GPUMON_RECORD_PASSES) &&
	    (settings->record & GPUMON_RECORD_NO_TIMES))
		return gpumon_usage(
			context,
			"--passes or --no-times, not both: passes are recorded by their times");
	if (settings->period_ms && !settings->operations_sampled &&
	    settings->graphs != GPUMON_GRAPHS_WINDOWS)
		return gpumon_usage(
			context,
			"--windows goes with --records=sampled or --graphs=windows: without them all is recorded");
	return 0;
}

int gpumon_record_privileges(struct gpumon_context *context,
			     const struct gpumon_session_options *options, bool with_bpf)
{
	unsigned int needs = GPUMON_PRIVILEGE_MODULE | (with_bpf ? GPUMON_PRIVILEGE_BPF : 0);
	struct gpumon_error err;

	if (!options->argv) {
		gpumon_privileges_keep(GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_DEBUGFS |
				       GPUMON_PRIVILEGE_BPF | GPUMON_PRIVILEGE_FILES |
				       GPUMON_PRIVILEGE_PROCESSES);
		return 0;
	}
	gpumon_privileges_keep(needs | GPUMON_PRIVILEGE_DEBUGFS | GPUMON_PRIVILEGE_FILES |
			       GPUMON_PRIVILEGE_PROCESSES | GPUMON_PRIVILEGE_PROGRAM);
	if (gpumon_privileges_become(options->run_as, needs, GPUMON_PRIVILEGE_DEBUGFS, &err))
		return gpumon_report(context, &err);
	return 0;
}
