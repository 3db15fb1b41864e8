// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <poll.h>
#include <string.h>

#include "bpf_source.h"
#include "lib/wait.h"
#include "stat_window.h"

/* How often to look for new drivers. */
#define LOOK_NS 1000000000ULL
/* Polling interval for the end of a process on kernels without pidfds. */
#define ASK_NS 20000000ULL

void gpumon_stat_window_init(struct gpumon_stat_window *window, struct gpumon_source *source,
			     uint64_t duration_ns, char **program, FILE *out)
{
	memset(window, 0, sizeof(*window));
	window->source = source;
	window->duration_ns = duration_ns;
	window->program = program;
	window->out = out;
}

int gpumon_stat_window_start(struct gpumon_stat_window *window, struct gpumon_error *err)
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

bool gpumon_stat_window_wait(struct gpumon_stat_window *window, uint64_t until_ns)
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
		if (window->source->bpf)
			gpumon_bpf_source_look(window->source->bpf);
	}
}

void gpumon_stat_window_end(struct gpumon_stat_window *window)
{
	if (!window->launched)
		return;
	while (window->launch.pid &&
	       wait_for_program(&window->launch, gpumon_monotonic_ns() + LOOK_NS))
		;
	gpumon_launch_end(&window->launch);
}

int gpumon_stat_window_status(const struct gpumon_stat_window *window)
{
	return gpumon_launch_exit_status(&window->launch);
}
