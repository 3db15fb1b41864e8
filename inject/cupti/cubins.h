/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Copies of the program's modules that have line information: which file and line an instruction of a
 * kernel comes from. CUPTI finds that in the module, which the program may unload before it is asked.
 */
#ifndef GPUMON_INJECT_CUPTI_CUBINS_H
#define GPUMON_INJECT_CUPTI_CUBINS_H

#include "channel/thread.h"
#include "pc_sampling.h"

/* Memory for the copies, once in a process. False where there is none. */
bool inject_cubins_reserve(void);

/* A capture begins: its lines are written again. */
void inject_cubins_begin(void);

/**
 * inject_cubins_loaded - copy a module that has line information
 * @cubin: as CUDA has loaded it, valid in the callback
 * @size: bytes
 *
 * Context: a callback in the program's thread; allocates nothing and takes no lock.
 */
void inject_cubins_loaded(const void *cubin, size_t size);

/**
 * inject_cubins_line - where an instruction comes from
 * @thread: caller, the library's own
 * @pc: instruction
 * @file: out: string id of the path, 0 where that is not known
 * @line: out: 0 where it is not known
 * @until_ns: CUPTI is not asked after that time: it reads the whole module for each instruction
 */
void inject_cubins_line(struct inject_thread *thread, const struct inject_pc *pc, uint32_t *file,
			uint32_t *line, uint64_t until_ns);

/**
 * struct inject_cubins_account - why instructions have no line, in this capture
 * @refused: modules with line information that were not copied: there was no room
 * @unknown: instructions of modules that have none, or were loaded before the recording began
 * @unasked: instructions for which there was no time
 */
struct inject_cubins_account {
	uint32_t refused;
	uint32_t unknown;
	uint32_t unasked;
};

/* Since inject_cubins_begin(). */
struct inject_cubins_account inject_cubins_account(void);

#endif /* GPUMON_INJECT_CUPTI_CUBINS_H */
