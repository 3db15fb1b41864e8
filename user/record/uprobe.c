// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/wait.h"
#include "uprobe_function.h"
#include "uprobe_internal.h"
#include "uprobe_waits.h"
#include "lib/process_info.h"

#define RING_BYTES  (8u << 20)
#define STACK_DEPTH 127
#define STACKS	    8192
#define THREADS	    1024
#define RESCAN_MS   1000

/* The kernel requires a power of two and whole pages. */
static uint64_t ring_bytes(uint64_t wanted)
{
	uint64_t bytes = 64 << 10;

	while (bytes < wanted && bytes < 1u << 30)
		bytes *= 2;
	return bytes;
}

static void set_options(struct gpumon_uprobes *uprobes,
			const struct gpumon_uprobes_options *options)
{
	struct gpumon_uprobes_options *to = &uprobes->options;

	if (options)
		*to = *options;
	to->root = uprobes->root;
	to->ring_bytes = ring_bytes(to->ring_bytes ? to->ring_bytes : RING_BYTES);
	if (!to->stack_depth)
		to->stack_depth = STACK_DEPTH;
	if (to->stack_depth < 2)
		to->stack_depth = 2;
	if (to->stack_depth > UPROBE_DEPTH)
		to->stack_depth = UPROBE_DEPTH;
	if (!to->stacks)
		to->stacks = STACKS;
	if (!to->threads)
		to->threads = THREADS;
	if (!to->rescan_ms)
		to->rescan_ms = RESCAN_MS;
	if (to->presents)
		to->no_stacks = to->no_blocking = true;
	uprobes->kinds = to->presents	 ? GPUMON_FUNCTION_PRESENT :
			 to->no_blocking ? GPUMON_FUNCTION_LAUNCH :
					   GPUMON_FUNCTION_LAUNCH | GPUMON_FUNCTION_BLOCKING;
}

static int find_process(struct gpumon_uprobes *uprobes, struct stat *namespace,
			struct gpumon_error *err)
{
	char path[PATH_MAX];
	struct stat status;

	snprintf(path, sizeof(path), "%s/proc/%d", uprobes->root, (int)uprobes->pid);
	if (uprobes->pid <= 0 || stat(path, &status))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ESRCH, GPUMON_ERROR_GONE,
					"there is no process %d", (int)uprobes->pid);
	if (gpumon_process_of_thread(uprobes->root, uprobes->pid) != uprobes->pid)
		return gpumon_error_set(err, GPUMON_EXIT_USAGE, -EINVAL, GPUMON_ERROR_USAGE,
					"%d is a thread: give its process's number",
					(int)uprobes->pid);
	uprobes->pid_there = gpumon_process_inner_pid(uprobes->root, uprobes->pid);
	uprobes->probe_tid = gpumon_process_living_thread(uprobes->root, uprobes->pid);
	if (!uprobes->pid_there || !uprobes->probe_tid)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ESRCH, GPUMON_ERROR_GONE,
					"process %d has ended", (int)uprobes->pid);
	snprintf(path, sizeof(path), "%s/proc/%d/ns/pid", uprobes->root, (int)uprobes->pid);
	if (stat(path, namespace))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -errno, GPUMON_ERROR_PERMISSION,
			"process %d belongs to another user: run this as that user or as root, or with CAP_SYS_PTRACE",
			(int)uprobes->pid);
	return 0;
}

static int watch_end(struct gpumon_uprobes *uprobes, struct gpumon_error *err)
{
	struct epoll_event event = { .events = EPOLLIN };

	uprobes->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (uprobes->epoll < 0 || epoll_ctl(uprobes->epoll, EPOLL_CTL_ADD,
					    gpumon_uprobe_program_fd(uprobes->program), &event))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO,
					"epoll: %s", strerror(errno));
	uprobes->pidfd = (int)syscall(SYS_pidfd_open, uprobes->pid, 0);
	if (uprobes->pidfd < 0 && errno == ESRCH)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ESRCH, GPUMON_ERROR_GONE,
					"process %d has ended", (int)uprobes->pid);
	if (uprobes->pidfd >= 0)
		epoll_ctl(uprobes->epoll, EPOLL_CTL_ADD, uprobes->pidfd, &event);
	return 0;
}

static int uprobes_attach(struct gpumon_uprobes *uprobes, bool wait, struct gpumon_error *err)
{
	struct stat namespace;
	int probed;

	if (find_process(uprobes, &namespace, err) ||
	    gpumon_uprobe_program_possible(uprobes->root, err))
		return -1;
	/* /proc shows the mappings under any thread, even after the first one has ended. */
	uprobes->process.pid = uprobes->probe_tid;
	uprobes->process.root = uprobes->root;
	uprobes->process.by_name = uprobes->options.by_name;
	if (gpumon_uprobe_process_scan(&uprobes->process, err))
		return -1;
	struct gpumon_uprobe_setup setup = {
		.pid = uprobes->pid_there,
		.namespace_device = namespace.st_dev,
		.namespace_inode = namespace.st_ino,
		.depth = uprobes->options.stack_depth,
		.stacks = uprobes->options.stacks,
		.threads = uprobes->options.threads,
		.ring_bytes = uprobes->options.ring_bytes,
		.with_stacks = !uprobes->options.no_stacks,
		.one_by_one = uprobes->probe_tid != uprobes->pid,
	};
	uprobes->program = gpumon_uprobe_program_load(&setup, gpumon_uprobes_event, uprobes, err);
	if (!uprobes->program || watch_end(uprobes, err))
		return -1;
	uprobes->scanned_ns = gpumon_monotonic_ns();
	probed = gpumon_uprobes_probe(uprobes, err);
	if (probed < 0)
		return -1;
	if (uprobes->options.wait_hz)
		uprobes->waits = gpumon_uprobe_waits_new(uprobes, uprobes->options.wait_hz);
	gpumon_uprobe_program_run(uprobes->program, true);
	if (!probed && !wait)
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_NO_LIBRARY,
			"process %d has no library of CUDA, HIP, Level Zero, OpenCL or Vulkan in it, or one without symbols: it may not have used the GPU yet",
			(int)uprobes->pid);
	return 0;
}

static struct gpumon_uprobes *uprobes_create(pid_t pid,
					     const struct gpumon_uprobes_options *options,
					     bool wait, struct gpumon_error *err)
{
	struct gpumon_uprobes *uprobes = gpumon_calloc(1, sizeof(*uprobes));
	bool failed, again;

	uprobes->pid = pid;
	uprobes->epoll = uprobes->pidfd = -1;
	uprobes->root = gpumon_strdup(options && options->root ? options->root : "");
	uprobes->once = gpumon_calloc(GPUMON_UPROBE_ONCE, sizeof(*uprobes->once));
	uprobes->copy = gpumon_calloc(1, sizeof(*uprobes->copy));
	set_options(uprobes, options);
	failed = uprobes_attach(uprobes, wait, err);
	/*
	 * The first thread ended meanwhile. Then its mappings could not be read, or the kernel
	 * silently placed no probes. Try again with another thread.
	 */
	again = uprobes->probe_tid == uprobes->pid &&
		!gpumon_process_thread_lives(uprobes->root, uprobes->pid, uprobes->pid) &&
		gpumon_process_living_thread(uprobes->root, uprobes->pid);
	if (!failed && !again)
		return uprobes;
	gpumon_uprobes_detach(uprobes, NULL, NULL);
	return again ? uprobes_create(pid, options, wait, err) : NULL;
}

struct gpumon_uprobes *gpumon_uprobes_attach(pid_t pid,
					     const struct gpumon_uprobes_options *options,
					     struct gpumon_error *err)
{
	return uprobes_create(pid, options, false, err);
}

struct gpumon_uprobes *gpumon_uprobes_watch(pid_t pid, const struct gpumon_uprobes_options *options,
					    struct gpumon_error *err)
{
	return uprobes_create(pid, options, true, err);
}

static bool has_function(const struct gpumon_uprobes *uprobes, const char *begin)
{
	for (unsigned int i = 0; i < uprobes->process.file_count; i++) {
		const struct gpumon_uprobe_file *file = uprobes->process.files[i];

		for (unsigned int j = 0; file->mapped && j < file->site_count; j++)
			if (!strncmp(file->sites[j].name, begin, strlen(begin)))
				return true;
	}
	return false;
}

/* nvcc links the runtime into programs by default, and released programs are often stripped. */
static void tell_driver_alone(struct gpumon_uprobes *uprobes)
{
	if (has_function(uprobes, "cuLaunchKernel") && !has_function(uprobes, "cudaLaunchKernel"))
		gpumon_uprobes_note(
			uprobes,
			"uprobes: no CUDA runtime with symbols (it is linked into the program and stripped, or not there): its calls are seen as the driver's that they make, cuLaunchKernel of cudaLaunchKernel and so on");
}

/* Mappings at the time of the attach count as always there. */
static void begin_mapped(struct gpumon_uprobes *uprobes)
{
	gpumon_uprobes_begin(uprobes);
	for (unsigned int i = 0; i < uprobes->process.map_count; i++) {
		struct gpumon_uprobe_map *map = &uprobes->process.maps[i];

		if (map->file)
			gpumon_uprobes_give_map(uprobes, map, 0);
		map->seen = true;
	}
	for (unsigned int i = 0; i < uprobes->process.file_count; i++) {
		const struct gpumon_uprobe_file *file = uprobes->process.files[i];

		if (file->site_count)
			gpumon_uprobes_note(uprobes, "uprobes: %s: %u functions%s%s", file->path,
					    file->probed, *file->why ? "; " : "", file->why);
	}
	tell_driver_alone(uprobes);
}

static bool has_vulkan(const struct gpumon_uprobes *uprobes)
{
	for (unsigned int i = 0; i < uprobes->process.file_count; i++)
		if (uprobes->process.files[i]->device_offset)
			return true;
	return false;
}

static void tell_no_device(struct gpumon_uprobes *uprobes)
{
	if (has_vulkan(uprobes) && !uprobes->vulkan_devices)
		gpumon_uprobes_note(
			uprobes,
			"uprobes: no device was found in the memory of Vulkan's loader: calls of functions that the program has from vkGetDeviceProcAddr are not seen");
}

static bool process_ended(struct gpumon_uprobes *uprobes)
{
	struct epoll_event event;
	int n;

	if (uprobes->pidfd < 0)
		return kill(uprobes->pid, 0) && errno == ESRCH;
	n = epoll_wait(uprobes->epoll, &event, 1, 0);
	(void)n;
	return !gpumon_process_living_thread(uprobes->root, uprobes->pid);
}

int gpumon_uprobes_poll(struct gpumon_uprobes *uprobes, int timeout_ms, gpumon_uprobes_tap tap,
			void *data)
{
	struct epoll_event event;
	bool over;

	uprobes->tap = tap;
	uprobes->tap_data = data;
	uprobes->given = 0;
	if (!uprobes->began)
		begin_mapped(uprobes);
	gpumon_uprobe_program_consume(uprobes->program);
	if (!uprobes->given && timeout_ms && uprobes->state == GPUMON_UPROBES_RUNNING) {
		epoll_wait(uprobes->epoll, &event, 1, timeout_ms);
		gpumon_uprobe_program_consume(uprobes->program);
	}
	if (uprobes->state == GPUMON_UPROBES_RUNNING) {
		/* Check this first: then the ring contains all of its last events. */
		over = process_ended(uprobes);
		if (over) {
			gpumon_uprobe_program_consume(uprobes->program);
			uprobes->state = GPUMON_UPROBES_EXITED;
		} else if (gpumon_uprobe_program_unsettled(uprobes->program)) {
			gpumon_uprobes_rescan(uprobes, GPUMON_RESCAN_LINKER);
		} else if (gpumon_monotonic_ns() - uprobes->scanned_ns >=
			   uprobes->options.rescan_ms * 1000000ull) {
			gpumon_uprobes_rescan(uprobes, GPUMON_RESCAN_TIMER);
		}
	}
	if (uprobes->waits && uprobes->state == GPUMON_UPROBES_RUNNING)
		gpumon_uprobe_waits_round(uprobes->waits);
	gpumon_uprobes_losses(uprobes);
	return uprobes->given;
}

uint64_t gpumon_uprobes_due_ns(const struct gpumon_uprobes *uprobes)
{
	return gpumon_uprobe_waits_due_ns(uprobes->waits);
}

enum gpumon_uprobes_state gpumon_uprobes_state(const struct gpumon_uprobes *uprobes)
{
	return uprobes->state;
}

void gpumon_uprobes_get_counts(const struct gpumon_uprobes *uprobes,
			       struct gpumon_uprobes_counts *counts)
{
	uint64_t now[UPROBE_COUNTERS];

	gpumon_uprobe_program_counters(uprobes->program, now);
	*counts = (struct gpumon_uprobes_counts){
		.seen = now[UPROBE_SEEN],
		.nested = now[UPROBE_NESTED] + uprobes->nested_here,
		.foreign = now[UPROBE_FOREIGN],
		.hits = now[UPROBE_SENT] - uprobes->nested_here - uprobes->undecided_here,
		.lost_ring = now[UPROBE_LOST_RING],
		.lost_threads = now[UPROBE_LOST_THREAD],
		.undecided = now[UPROBE_LOST_UNDECIDED] + uprobes->undecided_here,
		.lost_stacks = now[UPROBE_LOST_STACK] + uprobes->lost_here,
		.stacks = uprobes->stacks.n,
		.truncated = now[UPROBE_STACK_TRUNCATED],
		.copied = now[UPROBE_STACK_COPIED],
		.returns_unseen = now[UPROBE_RETURN_UNSEEN] + uprobes->unseen_here,
		.stacks_no_room = now[UPROBE_STACK_NO_ROOM],
		.functions = uprobes->probes,
		.returns = uprobes->returns,
		.refused = uprobes->refused,
		.vulkan = has_vulkan(uprobes),
		.vulkan_devices = uprobes->vulkan_devices,
	};
	for (unsigned int i = 0; i < uprobes->process.file_count; i++)
		counts->libraries += uprobes->process.files[i]->site_count > 0;
}

void gpumon_uprobes_detach(struct gpumon_uprobes *uprobes, gpumon_uprobes_tap tap, void *data)
{
	if (!uprobes)
		return;
	uprobes->tap = tap;
	uprobes->tap_data = data;
	if (uprobes->program) {
		gpumon_uprobe_program_run(uprobes->program, false);
		gpumon_uprobe_program_unprobe(uprobes->program);
		if (tap) {
			if (!uprobes->began)
				begin_mapped(uprobes);
			gpumon_uprobe_program_consume(uprobes->program);
			gpumon_uprobe_program_each_pending(uprobes->program,
							   gpumon_uprobes_give_hit, uprobes);
			gpumon_uprobes_losses(uprobes);
			tell_no_device(uprobes);
		}
		gpumon_uprobe_waits_free(uprobes->waits);
		gpumon_uprobe_program_free(uprobes->program);
	}
	if (uprobes->pidfd >= 0)
		close(uprobes->pidfd);
	if (uprobes->epoll >= 0)
		close(uprobes->epoll);
	gpumon_uprobe_process_free(&uprobes->process);
	gpumon_intern_clear(&uprobes->strings);
	gpumon_intern_clear(&uprobes->stacks);
	gpumon_intern_clear(&uprobes->rules);
	gpumon_map_clear(&uprobes->added);
	for (uint32_t i = 0; i < uprobes->function_count; i++)
		free(uprobes->functions[i]);
	free(uprobes->functions);
	free(uprobes->stack_ids);
	free(uprobes->once);
	free(uprobes->copy);
	free(uprobes->root);
	free(uprobes);
}

/* Never called. It only gives the test a function to probe. */
static __attribute__((noinline, used)) void probe_target(void)
{
	__asm__ volatile("" ::: "memory");
}

int gpumon_uprobes_supported(const char *root, struct gpumon_error *err)
{
	struct gpumon_uprobe_process process = { .pid = getpid(), .root = "" };
	struct gpumon_uprobe_setup setup = {
		.pid = getpid(),
		.depth = STACK_DEPTH,
		.stacks = 16,
		.threads = 16,
		.ring_bytes = 65536,
	};
	struct gpumon_uprobe_point point = { 0 };
	struct gpumon_uprobe_program *program;
	const struct gpumon_uprobe_map *map;
	int fd = -1, sys = -ENOENT;

	if (gpumon_uprobe_program_possible(root, err))
		return -1;
	/* Another root cannot be tested. */
	if (*root)
		return 0;
	program = gpumon_uprobe_program_load(&setup, NULL, NULL, err);
	if (!program)
		return -1;
	if (gpumon_uprobe_process_scan(&process, err)) {
		gpumon_uprobe_process_free(&process);
		gpumon_uprobe_program_free(program);
		return -1;
	}
	map = gpumon_uprobe_process_map(&process, (uintptr_t)probe_target);
	if (map && map->file)
		fd = gpumon_uprobe_process_open(&process, map);
	if (fd >= 0) {
		point.offset = (uintptr_t)probe_target - map->start + map->offset;
		gpumon_uprobe_program_probe(program, GPUMON_HOOK_ENTER, getpid(), fd, &point, 1);
		sys = point.result;
		close(fd);
	}
	gpumon_uprobe_process_free(&process);
	gpumon_uprobe_program_free(program);
	if (!sys)
		return 0;
	return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, sys, GPUMON_ERROR_KERNEL,
				"this kernel refuses uprobes with BPF: %s", strerror(-sys));
}
