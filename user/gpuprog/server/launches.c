// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/array.h"
#include "launches.h"
#include "memory.h"

#define NAMES_MAX 1000000
/* Memory for the launches of all processes that live at a time. */
#define ENDED_MAX ((uint64_t)GPUMON_GPUPROG_MAX_PROCESSES * GPUMON_WIRE_LAUNCHES_MAX)

int gpumon_gpuprog_launches_add(struct gpumon_gpuprog_processes *processes, uint32_t pid,
				bool is_here)
{
	struct gpumon_gpuprog_process *process = &processes->processes[processes->processes_n];
	void *memory;
	int fd;

	fd = processes->processes_n < GPUMON_GPUPROG_MAX_PROCESSES ?
		     gpumon_gpuprog_shared_make("gpumon-launches", sizeof(*process->launches),
						&memory) :
		     -1;
	if (fd < 0) {
		processes->left_out++;
		return -1;
	}
	*process = (struct gpumon_gpuprog_process){ .pid = pid,
						    .is_here = is_here,
						    .launches = memory };
	processes->processes_n++;
	return fd;
}

/* Pids may come again: the last one counts. */
static struct gpumon_gpuprog_process *find_process(struct gpumon_gpuprog_processes *processes,
						   uint32_t pid)
{
	for (uint32_t i = processes->processes_n; i--;)
		if (processes->processes[i].pid == pid)
			return &processes->processes[i];
	return NULL;
}

void gpumon_gpuprog_launches_name(struct gpumon_gpuprog_processes *processes, uint32_t pid,
				  uint32_t number, const char *name)
{
	struct gpumon_gpuprog_process *process = find_process(processes, pid);

	if (!process || number > NAMES_MAX)
		return;
	while (process->names_n <= number)
		GPUMON_ARRAY_ADD(process->names, process->names_n, process->names_room);
	process->names[number] = gpumon_pool_text(&processes->pool, name);
}

/* Numbers in the run, by those in the process. */
static uint32_t *list_numbers(const struct gpumon_gpuprog_process *process,
			      const struct gpumon_gpuprog_run *run)
{
	uint32_t *numbers = gpumon_calloc(process->names_n + 1, sizeof(*numbers));

	for (uint32_t i = 0; i < process->names_n; i++)
		numbers[i] = process->names[i] ? gpumon_gpuprog_run_find(run, process->names[i]) :
						 GPUMON_GPUPROG_NO_NUMBER;
	return numbers;
}

/* @launches: room for @count. Returns how many of them are of kernels in the run. */
static uint64_t add_launches(const struct gpumon_gpuprog_process *process, uint64_t count,
			     const struct gpumon_gpuprog_run *run, uint32_t devices_n,
			     struct gpumon_gpuprog_launch *launches)
{
	uint32_t *numbers = list_numbers(process, run);
	uint64_t added = 0;

	for (uint64_t i = 0; i < count; i++) {
		struct gpumon_wire_launch launch;

		memcpy(&launch, &process->launches->launches[i], sizeof(launch));

		if (!launch.kernel || launch.kernel >= process->names_n ||
		    numbers[launch.kernel] == GPUMON_GPUPROG_NO_NUMBER ||
		    launch.context >= devices_n)
			continue;
		launches[added++] = (struct gpumon_gpuprog_launch){
			.kernel = numbers[launch.kernel], .device = launch.context, .ns = launch.ns
		};
	}
	free(numbers);
	return added;
}

/* Returns why its launches are not all known, or NULL. */
static const char *count_launches(const struct gpumon_gpuprog_process *process, uint64_t *count)
{
	*count = __atomic_load_n(&process->launches->count, __ATOMIC_RELAXED);
	if (process->launches->unknown)
		return "kernels of some are not known, such as those of graphs";
	if (*count > GPUMON_WIRE_LAUNCHES_MAX)
		return "a process had more than there is room for";
	return NULL;
}

static void clear_process(struct gpumon_gpuprog_process *process)
{
	munmap(process->launches, sizeof(*process->launches));
	free(process->names);
}

/* Keep the launches of a process that has ended, behind those of others. */
static void keep_launches(struct gpumon_gpuprog_processes *processes,
			  const struct gpumon_gpuprog_process *process,
			  const struct gpumon_gpuprog_run *run, uint32_t devices_n)
{
	uint64_t count;
	const char *why = count_launches(process, &count);

	if (why) {
		processes->why = why;
		return;
	}
	if (processes->ended_n + count > ENDED_MAX) {
		processes->left_out++;
		return;
	}
	processes->ended = gpumon_reallocarray(processes->ended, processes->ended_n + count + 1,
					       sizeof(*processes->ended));
	processes->ended_n +=
		add_launches(process, count, run, devices_n, processes->ended + processes->ended_n);
}

void gpumon_gpuprog_launches_drop_ended(struct gpumon_gpuprog_processes *processes,
					const struct gpumon_gpuprog_run *run, uint32_t devices_n)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < processes->processes_n; i++) {
		struct gpumon_gpuprog_process *process = &processes->processes[i];

		if (process->has_ended) {
			keep_launches(processes, process, run, devices_n);
			clear_process(process);
			continue;
		}
		/*
		 * The last requests of the process may not be answered yet: it is dropped at the
		 * next call.
		 */
		process->has_ended = process->is_here && kill((pid_t)process->pid, 0) &&
				     errno == ESRCH;
		processes->processes[left++] = *process;
	}
	processes->processes_n = left;
}

struct gpumon_gpuprog_launch *
gpumon_gpuprog_launches_list(const struct gpumon_gpuprog_processes *processes,
			     const struct gpumon_gpuprog_run *run, uint32_t devices_n,
			     uint64_t *launches_n, const char **why)
{
	/* The processes may write theirs meanwhile. */
	uint64_t counts[GPUMON_GPUPROG_MAX_PROCESSES], count = processes->ended_n;
	struct gpumon_gpuprog_launch *launches;

	*launches_n = 0;
	*why = processes->why;
	for (uint32_t i = 0; !*why && i < processes->processes_n; i++) {
		*why = count_launches(&processes->processes[i], &counts[i]);
		count += counts[i];
	}
	if (*why)
		return NULL;
	launches = gpumon_calloc(count + 1, sizeof(*launches));
	*launches_n = processes->ended_n;
	if (processes->ended_n)
		memcpy(launches, processes->ended, processes->ended_n * sizeof(*launches));
	for (uint32_t i = 0; i < processes->processes_n; i++)
		*launches_n += add_launches(&processes->processes[i], counts[i], run, devices_n,
					    launches + *launches_n);
	return launches;
}

void gpumon_gpuprog_launches_clear(struct gpumon_gpuprog_processes *processes)
{
	for (uint32_t i = 0; i < processes->processes_n; i++)
		clear_process(&processes->processes[i]);
	free(processes->ended);
	gpumon_pool_clear(&processes->pool);
}
