/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Walks up the stack of a blocked thread of another process, which is not stopped for that. Its memory is read
 * in copies that the kernel makes. Of its registers only the stack pointer and the address of the instruction
 * are known, so a walk ends at a frame that needs another one which no function has saved.
 */
#ifndef GPUMON_RECORD_UPROBE_STACK_H
#define GPUMON_RECORD_UPROBE_STACK_H

#include <linux/types.h>

#include "../bpf/uprobe.h"
#include "uprobe_process.h"

/**
 * struct gpumon_uprobe_walker - for walks, one after the other
 * @process: process with its mappings
 * @start: address of @memory
 * @bytes: of it that are there
 * @refused: why the kernel makes no copies, a negative errno; 0: it does
 */
struct gpumon_uprobe_walker {
	const struct gpumon_uprobe_process *process;
	uint64_t start;
	uint64_t bytes;
	int refused;
	uint8_t memory[UPROBE_COPY_MAX];
};

/**
 * gpumon_uprobe_walk - the return addresses on the stack of a thread
 * @walker: walker
 * @pc: address of its instruction: in a system call, the one behind it
 * @sp: its stack pointer
 * @depth: maximum number of frames
 * @stack: its frames, and whether they are all, are set
 *
 * The caller has to look afterwards whether the thread has run meanwhile: then it is nonsense.
 *
 * Return: false where nothing can be read.
 */
bool gpumon_uprobe_walk(struct gpumon_uprobe_walker *walker, uint64_t pc, uint64_t sp,
			unsigned int depth, struct uprobe_stack *stack);

#endif /* GPUMON_RECORD_UPROBE_STACK_H */
