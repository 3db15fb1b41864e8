/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The tools' views. */
#ifndef GPUMON_GPUPROG_RESULT_TOOL_VIEWS_H
#define GPUMON_GPUPROG_RESULT_TOOL_VIEWS_H

#include "columns.h"
#include "capture/findings.h"

#define GPUMON_GPUPROG_VIEW_MAPS 8

/* A map that a view reads. */
struct gpumon_gpuprog_view_map {
	const char *name;
	enum gpumon_gpuprog_map_kind kind;
	uint32_t value_size;
};

/**
 * struct gpumon_gpuprog_view - a tool's view
 * @tool: its name
 * @maps: what it reads; it is not used for an object that has not all of them
 * @show: adds tables and sentences
 */
struct gpumon_gpuprog_view {
	const char *tool;
	struct gpumon_gpuprog_view_map maps[GPUMON_GPUPROG_VIEW_MAPS];
	void (*show)(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names);
};

extern const struct gpumon_gpuprog_view gpumon_gpuprog_view_kernelretsnoop;
extern const struct gpumon_gpuprog_view gpumon_gpuprog_view_threadhist;
extern const struct gpumon_gpuprog_view gpumon_gpuprog_view_launchlate;
extern const struct gpumon_gpuprog_view gpumon_gpuprog_view_cuda_counter;
extern const struct gpumon_gpuprog_view gpumon_gpuprog_view_memtrace;
extern const struct gpumon_gpuprog_view gpumon_gpuprog_view_directly_run;
extern const struct gpumon_gpuprog_view gpumon_gpuprog_view_warpimbalance;

#endif /* GPUMON_GPUPROG_RESULT_TOOL_VIEWS_H */
