/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Programs written by hand, with each helper and each kind of map, for several tests. */
#ifndef PROBE_CORPUS_H
#define PROBE_CORPUS_H

#include "gpuprog/object/program.h"

enum corpus_map {
	CORPUS_ARRAY,
	CORPUS_SM_ARRAY,
	CORPUS_THREADS,
	CORPUS_HASH,
	CORPUS_HISTOGRAM,
	CORPUS_RING,
	CORPUS_RODATA,
	CORPUS_BSS,
	CORPUS_LONG_HASH, /* keys of 20 bytes, values of 20 */
	CORPUS_WORDS,	  /* array of 32-bit numbers */
	CORPUS_LARGE,	  /* array of values beyond 64 KiB */
	CORPUS_MAPS
};

#define CORPUS_LARGE_OFFSET 69000 /* of a number for each lane */

extern const struct gpumon_gpuprog_map corpus_maps[CORPUS_MAPS];

/**
 * struct corpus_program - a program of the corpus
 * @name: for messages, and of its kernel
 * @point: where it runs
 * @code: instructions
 * @code_n: how many
 * @most: SASS instructions that it may add to a kernel for sm_90, or 0
 */
struct corpus_program {
	const char *name;
	enum gpumon_gpuprog_point point;
	const struct bpf_insn *code;
	uint32_t code_n;
	uint32_t most;
};

extern const struct corpus_program corpus_programs[];
extern const uint32_t corpus_programs_n;

const struct corpus_program *corpus_find(const char *name);

#endif /* PROBE_CORPUS_H */
