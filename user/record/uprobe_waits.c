// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "watch.h"
#include "lib/array.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "lib/process_info.h"
#include "lib/wait.h"
#include "uprobe_stack.h"
#include "uprobe_waits.h"

#define SECOND_NS 1000000000ull

/* New threads with calls are looked for at most as often. */
#define LIST_NS 50000000ull

/**
 * struct thread - a thread of the process
 * @tid: its name in /proc
 * @recorded_tid: in the process's own pid namespace, as in the records
 * @host_tid: in the first one; 0: it has made no calls
 */
struct thread {
	uint32_t tid;
	uint32_t recorded_tid;
	uint32_t host_tid;
};

/**
 * struct gpumon_uprobe_waits - looks at a process
 * @watch: what was found
 * @pace: how often
 * @folder: of the threads
 * @is_own_namespace: threads have one number, here and in the process
 * @threads: that are there
 * @callers: of those with calls: numbers for the BPF programs, by those in the records
 * @has_new: a caller may not be in @threads yet
 * @listed_ns: when the folder was read
 * @round: number
 * @others_at: which of the other threads are looked at next
 * @due_ns: when the next round is
 * @next_ns: for the pace
 * @cost_ns: processor time of all looks
 * @is_refused: no more looks
 * @is_short: it was said that descriptors are missing
 * @walker: of stacks
 * @stack: of the last thread
 */
struct gpumon_uprobe_waits {
	struct gpumon_uprobes *uprobes;
	struct gpumon_watch watch;
	struct gpumon_pace pace;
	char folder[GPUMON_LOOK_PATH];
	bool is_own_namespace;
	struct thread *threads;
	size_t thread_count;
	struct gpumon_map callers;
	bool has_new;
	uint64_t listed_ns;
	uint64_t round;
	size_t others_at;
	uint64_t due_ns;
	uint64_t next_ns;
	uint64_t cost_ns;
	bool is_refused;
	bool is_short;
	struct gpumon_uprobe_walker walker;
	struct uprobe_stack stack;
};

/* --- what a look needs */

static bool is_in_call(void *data, const void *caller)
{
	const struct gpumon_uprobe_waits *waits = data;
	const struct thread *thread = caller;

	return gpumon_uprobe_program_in_call(waits->uprobes->program, thread->host_tid);
}

static uint32_t read_stack(void *data, const struct gpumon_watched *one,
			   const struct gpumon_look *look)
{
	struct gpumon_uprobe_waits *waits = data;
	struct gpumon_uprobes *uprobes = waits->uprobes;
	/* Not called by anything that is in front of it, as where a signal came. */
	uint64_t pc = look->code + (look->call == GPUMON_LOOK_NO_CALL);

	if (uprobes->options.no_stacks)
		return 0;
	/* The mappings belong to a thread, which may be another one since. */
	waits->walker.process = &uprobes->process;
	if (!gpumon_uprobe_walk(&waits->walker, pc, look->stack, uprobes->options.stack_depth,
				&waits->stack) ||
	    !gpumon_watch_is_still(one, look) || !gpumon_uprobe_program_runs(uprobes->program))
		return 0;
	return gpumon_uprobes_intern_stack(uprobes, &waits->stack);
}

static void append(void *data, const struct gpumon_record_wait *record)
{
	const struct gpumon_uprobe_waits *waits = data;
	struct gpumon_record_wait copy = *record;

	gpumon_uprobes_give(waits->uprobes, 0, GPUMON_RECORD_WAIT, &copy, sizeof(copy));
}

/* --- threads */

static uint64_t own_cost(void)
{
	return gpumon_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static bool same_namespace(const struct gpumon_uprobes *uprobes)
{
	struct stat here, there;
	char path[64];

	snprintf(path, sizeof(path), "%s/proc/%d/ns/pid", uprobes->root, (int)uprobes->pid);
	return !stat("/proc/self/ns/pid", &here) && !stat(path, &there) &&
	       here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

struct gpumon_uprobe_waits *gpumon_uprobe_waits_new(struct gpumon_uprobes *uprobes, uint32_t hz)
{
	struct gpumon_uprobe_waits *waits = gpumon_calloc(1, sizeof(*waits));

	waits->uprobes = uprobes;
	snprintf(waits->folder, sizeof(waits->folder), "%s/proc/%d/task", uprobes->root,
		 (int)uprobes->pid);
	waits->is_own_namespace = same_namespace(uprobes);
	waits->watch.folder = waits->folder;
	waits->watch.data = waits;
	waits->watch.now = gpumon_monotonic_ns;
	waits->watch.is_in_call = is_in_call;
	waits->watch.stack = read_stack;
	waits->watch.append = append;
	gpumon_pace_begin(&waits->pace, hz, gpumon_monotonic_ns(), 0);
	return waits;
}

void gpumon_uprobe_waits_caller(struct gpumon_uprobe_waits *waits, uint32_t tid, uint32_t host_tid)
{
	gpumon_map_set(&waits->callers, tid, host_tid);
	waits->has_new = true;
}

static uint32_t recorded_tid(const struct gpumon_uprobe_waits *waits, uint32_t tid)
{
	if (waits->is_own_namespace)
		return tid;
	for (size_t i = 0; i < waits->thread_count; i++)
		if (waits->threads[i].tid == tid)
			return waits->threads[i].recorded_tid;
	return (uint32_t)gpumon_process_inner_pid(waits->uprobes->root, (pid_t)tid);
}

/* Those that have ended are no callers any more: another thread may get their number. */
static void list_threads(struct gpumon_uprobe_waits *waits)
{
	struct gpumon_map callers = { 0 };
	struct thread *threads = NULL, *added;
	DIR *folder = opendir(waits->folder);
	const struct dirent *entry;
	size_t count = 0;

	waits->has_new = false;
	waits->listed_ns = gpumon_monotonic_ns();
	if (!folder)
		return;
	while ((entry = readdir(folder)) != NULL) {
		struct thread thread = { .tid = (uint32_t)strtoul(entry->d_name, NULL, 10) };

		thread.recorded_tid = thread.tid ? recorded_tid(waits, thread.tid) : 0;
		if (!thread.recorded_tid)
			continue;
		thread.host_tid = (uint32_t)gpumon_map_get(&waits->callers, thread.recorded_tid);
		if (thread.host_tid)
			gpumon_map_set(&callers, thread.recorded_tid, thread.host_tid);
		added = GPUMON_GROW(threads, count);
		*added = thread;
	}
	closedir(folder);
	gpumon_map_clear(&waits->callers);
	free(waits->threads);
	waits->callers = callers;
	waits->threads = threads;
	waits->thread_count = count;
}

/* --- rounds */

static void refuse(struct gpumon_uprobe_waits *waits, uint32_t tid, int error)
{
	char path[GPUMON_LOOK_PATH + 16];

	if (error == -EMFILE || error == -ENFILE) {
		if (!waits->is_short)
			gpumon_uprobes_note(
				waits->uprobes,
				"waiting threads were not all looked at: this program had no more descriptors (ulimit -n)");
		waits->is_short = true;
		return;
	}
	snprintf(path, sizeof(path), "%s/%u", waits->folder, tid);
	if (error == -ESRCH || (error == -ENOENT && access(path, F_OK)))
		return;
	waits->is_refused = true;
	gpumon_uprobes_note(
		waits->uprobes,
		"waiting threads were not looked at: %s/syscall cannot be read (%s): that needs the rights of ptrace (the process's user or CAP_SYS_PTRACE, and Yama allows it), and a kernel that has this file",
		path, strerror(-error));
}

static void look_at(struct gpumon_uprobe_waits *waits, const struct thread *thread,
		    uint64_t period_ns)
{
	int error;

	if (waits->is_refused)
		return;
	error = gpumon_watch_look(&waits->watch, thread->tid, thread->recorded_tid,
				  thread->host_tid ? thread : NULL, period_ns);
	if (error)
		refuse(waits, thread->tid, error);
}

static void look_at_callers(struct gpumon_uprobe_waits *waits)
{
	uint64_t count = waits->callers.used, i = 0;
	uint64_t turns = (count + GPUMON_WATCH_CALLERS - 1) / GPUMON_WATCH_CALLERS;

	for (size_t k = 0; turns && k < waits->thread_count; k++)
		if (waits->threads[k].host_tid && i++ % turns == waits->round % turns)
			look_at(waits, &waits->threads[k], waits->pace.period_ns * turns);
	waits->round++;
}

static void look_at_others(struct gpumon_uprobe_waits *waits)
{
	size_t others = waits->thread_count - waits->callers.used, seen = 0, looked = 0;
	uint64_t turns = (others + GPUMON_WATCH_OTHERS - 1) / GPUMON_WATCH_OTHERS;

	for (size_t k = 0; k < waits->thread_count && looked < GPUMON_WATCH_OTHERS; k++) {
		if (waits->threads[k].host_tid || seen++ < waits->others_at)
			continue;
		look_at(waits, &waits->threads[k], turns * SECOND_NS);
		looked++;
	}
	waits->others_at = waits->others_at + looked < others ? waits->others_at + looked : 0;
}

void gpumon_uprobe_waits_round(struct gpumon_uprobe_waits *waits)
{
	uint64_t now = gpumon_monotonic_ns(), cost = own_cost();
	bool is_second;

	if (waits->is_refused || now < waits->due_ns ||
	    !gpumon_uprobe_program_runs(waits->uprobes->program))
		return;
	is_second = now - waits->pace.second_ns >= SECOND_NS;
	if (is_second || (waits->has_new && now - waits->listed_ns >= LIST_NS))
		list_threads(waits);
	look_at_callers(waits);
	if (is_second) {
		look_at_others(waits);
		gpumon_watch_forget(&waits->watch, now - 4 * SECOND_NS);
		gpumon_pace_bound(&waits->pace, now, waits->cost_ns);
	}
	waits->cost_ns += own_cost() - cost;
	now = gpumon_monotonic_ns();
	waits->due_ns = now + gpumon_pace_pause(&waits->pace, now, &waits->next_ns);
}

uint64_t gpumon_uprobe_waits_due_ns(const struct gpumon_uprobe_waits *waits)
{
	return !waits || waits->is_refused ? UINT64_MAX : waits->due_ns;
}

void gpumon_uprobe_waits_free(struct gpumon_uprobe_waits *waits)
{
	char text[200];

	if (!waits)
		return;
	gpumon_watch_write(&waits->watch);
	if (gpumon_pace_note(&waits->pace, text, sizeof(text)))
		gpumon_uprobes_note(waits->uprobes, "%s", text);
	if (waits->watch.looks && waits->walker.refused)
		gpumon_uprobes_note(
			waits->uprobes,
			"waiting threads have no stacks: process_vm_readv() is refused (%s)",
			strerror(-waits->walker.refused));
	gpumon_watch_end(&waits->watch, true);
	gpumon_map_clear(&waits->callers);
	free(waits->threads);
	free(waits);
}
