/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Unwind rules from call frame information, for the stack walk in the kernel. The kernel asks for a
 * rule by sending a copy of the stack.
 */
#ifndef GPUMON_RECORD_UPROBE_RULE_H
#define GPUMON_RECORD_UPROBE_RULE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "../bpf/uprobe.h"
#include "uprobe_process.h"

/**
 * gpumon_uprobe_rule - find the rule for a return address
 * @process: process with its mappings
 * @pc: return address
 * @rule: out; code without call frame information is assumed to use frame pointers, which is the
 *        most that generated code has
 *
 * Return: false if there may be call frame information, but the file cannot be read.
 */
bool gpumon_uprobe_rule(const struct gpumon_uprobe_process *process, uint64_t pc,
			struct uprobe_rule *rule);

/* True if call frame information begins there: at a function, or surely at an instruction. */
bool gpumon_uprobe_begins_row(const struct gpumon_uprobe_process *process, uint64_t address);

/**
 * gpumon_uprobe_base_set - where a function has set its frame pointer, by its call frame information
 * @process: process with its mappings
 * @pc: return address in it
 * @start: out; where the function begins, by the table in front of the call frame information
 *
 * Return: the address behind that instruction, the first of its kind; 0: not known.
 */
uint64_t gpumon_uprobe_base_set(const struct gpumon_uprobe_process *process, uint64_t pc,
				uint64_t *start);

enum gpumon_uprobe_nesting {
	GPUMON_UPROBE_OUTERMOST,
	GPUMON_UPROBE_NESTED,
	GPUMON_UPROBE_UNDECIDED, /* a file with call frame information cannot be read */
};

/**
 * gpumon_uprobe_unwind - continue a stack walk in a copy of the stack
 * @process: process with its mappings
 * @ranges: code of the API's libraries
 * @copy: frames so far, registers and memory; frames are added, and UPROBE_TRUNCATED is set if the
 *        stack is incomplete
 * @depth: maximum number of frames
 * @learnt: called with each rule that was used, to pass it to the kernel
 * @data: passed to @learnt
 *
 * Return: whether the stack contains the frame of one of @copy's outer calls. The walk ends there.
 */
enum gpumon_uprobe_nesting gpumon_uprobe_unwind(
	const struct gpumon_uprobe_process *process, const struct uprobe_ranges *ranges,
	struct uprobe_copy *copy, unsigned int depth,
	void (*learnt)(void *data, uint64_t pc, const struct uprobe_rule *rule), void *data);

void gpumon_uprobe_unwind_free(struct gpumon_uprobe_file *file);

#endif /* GPUMON_RECORD_UPROBE_RULE_H */
