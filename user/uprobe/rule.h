/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Unwind rules from call frame information, for the stack walk in the kernel. The kernel asks for a
 * rule by sending a copy of the stack.
 */
#ifndef GPUMON_UPROBE_RULE_H
#define GPUMON_UPROBE_RULE_H

#include <linux/types.h>
#include <stdint.h>

#include "../bpf/uprobe.h"
#include "process.h"

/**
 * gpumon_uprobe_rule - find the rule for a return address
 * @process: process with its mappings
 * @pc: return address
 * @rule: out; code without call frame information is assumed to use frame pointers, which is the
 *        most that generated code has
 */
void gpumon_uprobe_rule(const struct gpumon_uprobe_process *process, uint64_t pc,
			struct uprobe_rule *rule);

/**
 * gpumon_uprobe_unwind - go on with a stack from a copy of its memory
 * @process: what is mapped
 * @copy: frames until now, registers and memory; its stack is continued, and its flags
 *        have UPROBE_TRUNCATED if it is not whole
 * @depth: frames at most
 * @learnt: gets each rule that was used, for the kernel
 * @data: for @learnt
 *
 * Return: whether the hit of a copy that is UPROBE_UNSURE is within the call of the hit before, so that
 * it is none: the stack has then not been walked further.
 */
bool gpumon_uprobe_unwind(const struct gpumon_uprobe_process *process, struct uprobe_copy *copy,
			  unsigned int depth,
			  void (*learnt)(void *data, uint64_t pc, const struct uprobe_rule *rule),
			  void *data);

void gpumon_uprobe_unwind_free(struct gpumon_uprobe_file *file);

#endif /* GPUMON_UPROBE_RULE_H */
