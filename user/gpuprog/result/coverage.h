/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Coverage of the numbers: kernels and places without a program, losses, modules and how long they
 * took.
 */
#ifndef GPUMON_GPUPROG_RESULT_COVERAGE_H
#define GPUMON_GPUPROG_RESULT_COVERAGE_H

#include "capture/findings.h"
#include "lib/value.h"
#include "columns.h"
#include "result.h"

/* Add the table "ran", if there were such kernels. */
void gpumon_gpuprog_show_own_kernels(struct gpumon_findings *findings,
				     const struct gpumon_gpuprog_result *result);

/* Further modules are counted, and their times added up. */
#define GPUMON_GPUPROG_MAX_MODULES 256
#define GPUMON_GPUPROG_MAX_TARGETS 8

/**
 * struct gpumon_gpuprog_module - a module that got programs
 * @process: that loads it, as it sees itself
 * @kernel: number of one of its kernels
 * @kernels: how many got programs
 * @edit_ns: until gpumon-user had written the new image, or its kernels' names
 * @load_ns: of the driver, with its compiler; of a patched module the sanitizer's time. Unknown if
 *           the library did not load it by itself: for a linker, and without a context
 * @size: bytes of the image
 * @edited: bytes of the new one; 0: there is none, it is patched
 */
struct gpumon_gpuprog_module {
	uint32_t process;
	uint32_t kernel;
	uint32_t kernels;
	uint64_t edit_ns;
	struct gpumon_value load_ns;
	uint64_t size;
	uint64_t edited;
};

/**
 * struct gpumon_gpuprog_assembly - functions for patches
 * @sm: architecture: 90
 * @took_ns: until they were there
 * @size: bytes
 * @cached: an earlier run has assembled them
 */
struct gpumon_gpuprog_assembly {
	uint32_t sm;
	uint64_t took_ns;
	uint64_t size;
	bool cached;
};

/**
 * struct gpumon_gpuprog_modules_sum - of modules that got programs in one way
 * @n: how many there were
 * @edit_ns: of all
 * @load_ns: of all
 * @loaded: of how many @load_ns is
 */
struct gpumon_gpuprog_modules_sum {
	uint32_t n;
	uint64_t edit_ns;
	uint64_t load_ns;
	uint32_t loaded;
};

/**
 * struct gpumon_gpuprog_modules - all of a run
 * @kept: the first ones: more than there is room for are only counted
 * @edited: of those with a new image
 * @patched: of the others
 * @assemblies: functions for patches
 * @assemblies_n: how many
 */
struct gpumon_gpuprog_modules {
	struct gpumon_gpuprog_module kept[GPUMON_GPUPROG_MAX_MODULES];
	struct gpumon_gpuprog_modules_sum edited;
	struct gpumon_gpuprog_modules_sum patched;
	struct gpumon_gpuprog_assembly assemblies[GPUMON_GPUPROG_MAX_TARGETS];
	uint32_t assemblies_n;
};

/* How many there were. */
static inline uint32_t gpumon_gpuprog_modules_n(const struct gpumon_gpuprog_modules *modules)
{
	return modules->edited.n + modules->patched.n;
}

/* Add a module. Returns its number. */
uint32_t gpumon_gpuprog_modules_add(struct gpumon_gpuprog_modules *modules,
				    const struct gpumon_gpuprog_module *module);

/**
 * gpumon_gpuprog_modules_loaded - a module was loaded, or patched
 * @modules: modules
 * @module: its number, of a process that is not trusted
 * @process: that says so
 * @patched: which of both
 * @took_ns: how long that took
 */
void gpumon_gpuprog_modules_loaded(struct gpumon_gpuprog_modules *modules, uint32_t module,
				   uint32_t process, bool patched, uint64_t took_ns);

/* Add tables "modules" and "patches", for programs only, and notes for all. */
void gpumon_gpuprog_show_modules(struct gpumon_findings *findings,
				 struct gpumon_gpuprog_names *names);

/*
 * Add tables "kernels" and "lost", and notes. People get a table of kernels only if there is one that
 * has no programs.
 */
void gpumon_gpuprog_coverage(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names);

/* Say so if there are more kernels than a tool counts by themselves: @kernels, the last one with others. */
void gpumon_gpuprog_note_kernels(struct gpumon_findings *findings,
				 const struct gpumon_gpuprog_names *names, uint32_t kernels);

#endif /* GPUMON_GPUPROG_RESULT_COVERAGE_H */
