/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A verified program as instructions for the kernel's own verifier: maps and helpers that only a GPU
 * has are replaced by others that take and give the same.
 */
#ifndef GPUMON_TESTS_PROBE_KERNEL_INSNS_H
#define GPUMON_TESTS_PROBE_KERNEL_INSNS_H

#include "assemble.h"
#include "gpuprog/object/program.h"

#define KERNEL_MAX_INSNS 2048

/* Why a program cannot be compared. */
enum kernel_skip {
	KERNEL_COMPARED,
	KERNEL_SKIP_LOOP,  /* fuel ends its loops */
	KERNEL_SKIP_CHECK, /* accesses are checked when they run */
};

/* Files of stand-ins for probe_maps, and of the context. */
struct kernel_maps {
	int maps[MAPS];
	int context;
};

/**
 * kernel_insns - make instructions
 * @program: program
 * @facts: what is proved of it
 * @maps: maps
 * @insns: out, KERNEL_MAX_INSNS
 * @insns_n: out
 *
 * Return: KERNEL_COMPARED, or why not.
 */
enum kernel_skip kernel_insns(const struct gpumon_gpuprog *program,
			      const struct gpumon_gpuprog_fact *facts,
			      const struct kernel_maps *maps, struct bpf_insn *insns,
			      uint32_t *insns_n);

#endif /* GPUMON_TESTS_PROBE_KERNEL_INSNS_H */
