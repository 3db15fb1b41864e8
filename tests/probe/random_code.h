/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Random programs that the kernel's verifier accepts, too, and whose every register can be seen. */
#ifndef PROBE_RANDOM_CODE_H
#define PROBE_RANDOM_CODE_H

#include "gpuprog/object/program.h"

#define RANDOM_RESULT_BYTES 160 /* R0 to R8, then the upper 64 bytes of the stack */
#define RANDOM_DATA_BYTES   256
#define RANDOM_MAX_CODE	    2048

/* Two data maps: the result, and data. */
extern const struct gpumon_gpuprog_map random_maps[2];

struct random_code {
	struct bpf_insn code[RANDOM_MAX_CODE];
	uint32_t code_n;
	uint64_t state;
};

/* The program of a seed. */
void random_code_make(struct random_code *program, uint64_t seed);

#endif /* PROBE_RANDOM_CODE_H */
