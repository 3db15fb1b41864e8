/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Launches of kernels on the CPU, as the libraries have written them. */
#ifndef GPUMON_GPUPROG_SERVER_LAUNCHES_H
#define GPUMON_GPUPROG_SERVER_LAUNCHES_H

#include "gpuprog/result/result.h"
#include "abi/wire.h"

#define GPUMON_GPUPROG_MAX_PROCESSES 64 /* at a time, whose launches are known */

/**
 * struct gpumon_gpuprog_process - a process that launches
 * @pid: as it is here, or as it sees itself where that is not known
 * @is_here: @pid is as it is here
 * @has_ended: nobody writes its launches any more
 * @launches: shared memory
 * @names: of kernels, by their number in it; NULL: unknown
 * @names_n: how many
 * @names_room: memory for so many
 */
struct gpumon_gpuprog_process {
	uint32_t pid;
	bool is_here;
	bool has_ended;
	struct gpumon_wire_launches *launches;
	const char **names;
	uint32_t names_n;
	uint32_t names_room;
};

/**
 * struct gpumon_gpuprog_processes - processes that launch; a zeroed one has none
 * @pool: owns the names
 * @processes: those whose launches are known
 * @processes_n: how many
 * @left_out: others
 * @ended: launches of processes that have ended, and had their place among @processes
 * @ended_n: how many
 * @why: not all of these are known, a text; NULL: they are
 */
struct gpumon_gpuprog_processes {
	struct gpumon_pool pool;
	struct gpumon_gpuprog_process processes[GPUMON_GPUPROG_MAX_PROCESSES];
	uint32_t processes_n;
	uint32_t left_out;
	struct gpumon_gpuprog_launch *ended;
	uint64_t ended_n;
	const char *why;
};

/* A process wants to write launches. Returns a memfd to be closed; -1: there is none, and it is left out. */
int gpumon_gpuprog_launches_add(struct gpumon_gpuprog_processes *processes, uint32_t pid,
				bool is_here);

/**
 * gpumon_gpuprog_launches_drop_ended - make room: keep only the launches of processes that have ended
 * @processes: processes
 * @run: kernels
 * @devices_n: contexts that there are
 *
 * Called when all requests that had come are answered: those of a process that had ended before are among them.
 */
void gpumon_gpuprog_launches_drop_ended(struct gpumon_gpuprog_processes *processes,
					const struct gpumon_gpuprog_run *run, uint32_t devices_n);

/* The kernel with this number in a process has this name. */
void gpumon_gpuprog_launches_name(struct gpumon_gpuprog_processes *processes, uint32_t pid,
				  uint32_t number, const char *name);

/**
 * gpumon_gpuprog_launches_list - launches of kernels that have programs
 * @processes: processes
 * @run: kernels
 * @devices_n: contexts that there are
 * @launches_n: out: how many
 * @why: out: a text if not all are known, else NULL
 *
 * Return: process by process, to be freed; NULL: none, or not all are known.
 */
struct gpumon_gpuprog_launch *
gpumon_gpuprog_launches_list(const struct gpumon_gpuprog_processes *processes,
			     const struct gpumon_gpuprog_run *run, uint32_t devices_n,
			     uint64_t *launches_n, const char **why);

void gpumon_gpuprog_launches_clear(struct gpumon_gpuprog_processes *processes);

#endif /* GPUMON_GPUPROG_SERVER_LAUNCHES_H */
