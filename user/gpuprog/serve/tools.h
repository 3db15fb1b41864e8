/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The tools that come with gpumon: objects of bpf/gpu, which the build puts into gpumon-user. */
#ifndef GPUMON_GPUPROG_SERVE_TOOLS_H
#define GPUMON_GPUPROG_SERVE_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/error.h"

/*
 * Name in C, name, and what it finds out, in a line. A new tool is a file bpf/gpu/NAME.bpf.c, a line
 * here, and a view (probe/view) if it is to say more than what is in its maps.
 */
#define GPUMON_PROBE_TOOLS(X)                                                                   \
	X(cuda_counter, "cuda-counter", "calls and time by kernel, block and SM")               \
	X(directly_run, "directly-run", "vectors and matrices, in kernels made of the program") \
	X(kernelretsnoop, "kernelretsnoop", "when each thread of a warp leaves a kernel")       \
	X(launchlate, "launchlate", "how long after its launch a kernel begins")                \
	X(memtrace, "memtrace",                                                                 \
	  "memory traffic by source line, and how well threads lie side by side")               \
	X(threadhist, "threadhist", "how often each thread of the grid runs")                   \
	X(warpimbalance, "warpimbalance", "how long blocks wait for their last warp")

/**
 * struct gpumon_probe_tool - a tool
 * @name: as users write it
 * @summary: what it finds out
 * @object: its object file; NULL if this gpumon-user was built without clang
 * @end: behind it
 */
struct gpumon_probe_tool {
	const char *name;
	const char *summary;
	const uint8_t *object;
	const uint8_t *end;
};

/* By name; the number of tools in *@n. */
const struct gpumon_probe_tool *gpumon_probe_tools(size_t *n);

/* Whether there is a tool with this name, in any build. */
bool gpumon_probe_is_tool(const char *name);

/**
 * gpumon_probe_tool_find - find a tool by its name
 * @name: name
 * @tool: out, with its object
 * @err: there is no such tool: the names that there are, and that which is nearest. Or this build has
 *       none: GPUMON_ERROR_NOT_BUILT
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_probe_tool_find(const char *name, const struct gpumon_probe_tool **tool,
			   struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_SERVE_TOOLS_H */
