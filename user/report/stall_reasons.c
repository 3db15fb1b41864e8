// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "stall_reasons.h"

#define PREFIX	   "smsp__pcsamp_warps_issue_stalled_"
#define NOT_ISSUED "_not_issued"

/* Names differ a little between versions of CUPTI and GPUs: each of them is here. */
static const struct gpumon_stall_reason reasons[] = {
	{ "long_scoreboard", "waits for a load from global or local memory",
	  "Reuse data in shared memory or registers, load wider and side by side, and begin loads well before their first use; more warps hide the latency.",
	  false },
	{ "short_scoreboard", "waits for shared memory or a special function",
	  "Avoid bank conflicts, read shared memory in wider pieces, and use fewer special functions (exp, sin, division) in the inner loop.",
	  false },
	{ "mio_throttle", "waits for room in the queue to shared memory and special functions",
	  "Use fewer and wider accesses to shared memory, fewer shuffles and special functions, with arithmetic between them.",
	  false },
	{ "lg_throttle", "waits for room in the queue to global and local memory",
	  "Use fewer and wider loads and stores (such as float4), and avoid spilled registers, which are local memory.",
	  false },
	{ "tex_throttle", "waits for room in the queue to the texture unit",
	  "Use fewer texture and surface accesses at a time, or plain loads for a part of them.",
	  false },
	{ "barrier", "waits at a barrier for other warps of its block",
	  "Give the warps of a block equal work between barriers, use smaller blocks, or synchronise less. A warp that waits is found at the instruction behind the barrier.",
	  false },
	{ "membar", "waits for a memory fence",
	  "Use fewer fences, of a narrower scope (block instead of device or system), with few stores outstanding.",
	  false },
	{ "wait", "waits for the fixed latency of its last instruction",
	  "More warps, or more independent instructions in each (unrolling), fill this time.",
	  false },
	{ "dependency", "waits for the result of an earlier instruction",
	  "More warps, or more independent instructions in each (unrolling), fill this time.",
	  false },
	{ "math_pipe_throttle", "waits for a busy arithmetic unit",
	  "The unit is the limit: use fewer or cheaper operations, a smaller data type, or tensor cores.",
	  false },
	{ "gmma", "waits for a matrix operation of the tensor cores",
	  "The tensor cores are at work: larger tiles, a smaller data type, or more stages of the pipeline keep them busier.",
	  false },
	{ "warpgroup_arrive", "waits for the other warps of its warpgroup",
	  "Start the matrix operations of a warpgroup with its data ready in all of its warps, and wait for them later.",
	  false },
	{ "branch_resolving", "waits for the target of a branch",
	  "Use fewer branches in the inner loop: unroll it, or use selection instead of jumps.",
	  false },
	{ "dispatch_stall", "waits for the dispatch of instructions, which the hardware holds back",
	  "", false },
	{ "dispatch", "waits for the dispatch of instructions, which the hardware holds back", "",
	  false },
	{ "drain", "waits for its last stores to end before it exits",
	  "Write less at the end of a kernel, in whole lines of memory.", false },
	{ "imc_miss", "waits for a constant that is not in its cache",
	  "Let all threads of a warp read the same constant, and use few constants at a time.",
	  false },
	{ "no_instructions", "waits for its next instruction to be fetched",
	  "The code does not fit the instruction cache, or jumps far: unroll less, inline less; very short kernels begin with it.",
	  false },
	{ "no_instruction", "waits for its next instruction to be fetched",
	  "The code does not fit the instruction cache, or jumps far: unroll less, inline less; very short kernels begin with it.",
	  false },
	{ "not_selected", "is ready, and the scheduler took another warp",
	  "There are enough warps: the number of instructions is the limit, so fewer of them help.",
	  false },
	{ "sleeping", "sleeps, as the program asked for", "Sleep less: nanosleep() is in the code.",
	  false },
	{ "misc", "waits for another reason of the hardware", "", false },
	{ "selected", "issues an instruction", "", true },
};

#define REASONS (sizeof(reasons) / sizeof(reasons[0]))

const struct gpumon_stall_reason *gpumon_stall_reason(const char *name)
{
	for (size_t i = 0; i < REASONS; i++) {
		if (!strcmp(reasons[i].name, name))
			return &reasons[i];
	}
	return NULL;
}

const char *gpumon_stall_text(const char *name)
{
	const struct gpumon_stall_reason *reason = gpumon_stall_reason(name);

	return reason ? reason->text : name;
}

bool gpumon_stall_issued(const char *name)
{
	const struct gpumon_stall_reason *reason = gpumon_stall_reason(name);

	return reason && reason->issued;
}

const char *gpumon_stall_name(const char *name, size_t *length)
{
	size_t end = strlen(NOT_ISSUED);

	if (!strncmp(name, PREFIX, strlen(PREFIX)) && name[strlen(PREFIX)])
		name += strlen(PREFIX);
	*length = strlen(name);
	if (*length > end && !strcmp(name + *length - end, NOT_ISSUED))
		*length -= end;
	return name;
}
