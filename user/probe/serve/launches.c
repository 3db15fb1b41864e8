// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "launches.h"
#include "shared.h"

#define NAMES_MAX 1000000

int gpumon_probe_launches_add(struct gpumon_probe_processes *processes, uint32_t pid)
{
	struct gpumon_probe_process *process = &processes->processes[processes->processes_n];
	void *memory;
	int fd;

	fd = processes->processes_n < GPUMON_PROBE_MAX_PROCESSES ?
		     gpumon_probe_shared_make("gpumon-launches", sizeof(*process->launches),
					      &memory) :
		     -1;
	if (fd < 0) {
		processes->left_out++;
		return -1;
	}
	process->launches = memory;
	process->pid = pid;
	processes->processes_n++;
	return fd;
}

/* Pids may come again: the last one counts. */
static struct gpumon_probe_process *find_process(struct gpumon_probe_processes *processes,
						 uint32_t pid)
{
	for (uint32_t i = processes->processes_n; i--;)
		if (processes->processes[i].pid == pid)
			return &processes->processes[i];
	return NULL;
}

void gpumon_probe_launches_name(struct gpumon_probe_processes *processes, uint32_t pid,
				uint32_t number, const char *name)
{
	struct gpumon_probe_process *process = find_process(processes, pid);

	if (!process || number > NAMES_MAX)
		return;
	while (process->names_n <= number)
		if (!GPUMON_ARRAY_ADD(process->names, process->names_n, process->names_room))
			return;
	process->names[number] = gpumon_pool_text(&processes->pool, name);
}

/* Numbers in the run, by those in the process; NULL without memory. */
static uint32_t *list_numbers(const struct gpumon_probe_process *process,
			      const struct gpumon_probe_run *run)
{
	uint32_t *numbers = calloc(process->names_n + 1, sizeof(*numbers));

	for (uint32_t i = 0; numbers && i < process->names_n; i++)
		numbers[i] = process->names[i] ? gpumon_probe_run_find(run, process->names[i]) :
						 GPUMON_PROBE_NO_NUMBER;
	return numbers;
}

static uint64_t add_launches(const struct gpumon_probe_process *process, uint64_t count,
			     const uint32_t *numbers, uint32_t devices_n,
			     struct gpumon_probe_launch *launches)
{
	uint64_t added = 0;

	for (uint64_t i = 0; i < count; i++) {
		struct gpumon_wire_launch launch;

		memcpy(&launch, &process->launches->launches[i], sizeof(launch));

		if (!launch.kernel || launch.kernel >= process->names_n ||
		    numbers[launch.kernel] == GPUMON_PROBE_NO_NUMBER || launch.context >= devices_n)
			continue;
		launches[added++] = (struct gpumon_probe_launch){ .kernel = numbers[launch.kernel],
								  .device = launch.context,
								  .ns = launch.ns };
	}
	return added;
}

struct gpumon_probe_launch *
gpumon_probe_launches_list(const struct gpumon_probe_processes *processes,
			   const struct gpumon_probe_run *run, uint32_t devices_n,
			   uint64_t *launches_n, const char **why)
{
	/* The processes may write theirs meanwhile. */
	uint64_t counts[GPUMON_PROBE_MAX_PROCESSES], count = 0;
	struct gpumon_probe_launch *launches;

	*launches_n = 0;
	*why = NULL;
	for (uint32_t i = 0; i < processes->processes_n; i++) {
		const struct gpumon_wire_launches *written = processes->processes[i].launches;

		counts[i] = __atomic_load_n(&written->count, __ATOMIC_RELAXED);
		if (written->unknown)
			*why = "kernels of some are not known, such as those of graphs";
		else if (counts[i] > GPUMON_WIRE_LAUNCHES_MAX)
			*why = "a process had more than there is room for";
		if (*why)
			return NULL;
		count += counts[i];
	}
	launches = calloc(count + 1, sizeof(*launches));
	for (uint32_t i = 0; launches && i < processes->processes_n; i++) {
		uint32_t *numbers = list_numbers(&processes->processes[i], run);

		if (numbers)
			*launches_n += add_launches(&processes->processes[i], counts[i], numbers,
						    devices_n, launches + *launches_n);
		free(numbers);
	}
	return launches;
}

void gpumon_probe_launches_clear(struct gpumon_probe_processes *processes)
{
	for (uint32_t i = 0; i < processes->processes_n; i++) {
		munmap(processes->processes[i].launches, sizeof(*processes->processes[i].launches));
		free(processes->processes[i].names);
	}
	gpumon_pool_clear(&processes->pool);
}
