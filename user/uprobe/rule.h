/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * How to leave the function that a return address is in, from a file's call
 * frame information: for the walk in the kernel, which asks by sending a copy
 * of the stack where it does not know on.
 */
#ifndef GPUMON_UPROBE_RULE_H
#define GPUMON_UPROBE_RULE_H

#include <linux/types.h>
#include <stdint.h>

#include "../bpf/uprobe.h"
#include "process.h"

/**
 * gpumon_uprobe_rule - of one return address
 * @process: what is mapped
 * @pc: return address
 * @rule: filled in; memory without call frame information is taken to have frame pointers, as
 *        code that was made at run time has, if anything
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
 */
void gpumon_uprobe_unwind(const struct gpumon_uprobe_process *process, struct uprobe_copy *copy,
			  unsigned int depth,
			  void (*learnt)(void *data, uint64_t pc, const struct uprobe_rule *rule),
			  void *data);

void gpumon_uprobe_unwind_free(struct gpumon_uprobe_file *file);

#endif /* GPUMON_UPROBE_RULE_H */
