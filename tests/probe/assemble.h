/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Steps written as text, a line each, in the language of llvm-objdump:
 *
 *	r1 = r2; w1 += 5; r1 s/= r2; r1 = -r1; r1 = (s8)r2; r1 = be16 r1; r1 = 0x123 ll
 *	r1 = map NAME; r1 = value NAME + 8
 *	r1 = *(u32 *)(r2 + 8); *(u64 *)(r10 - 8) = r1; *(u8 *)(r10 - 1) = 5
 *	lock *(u64 *)(r0 + 0) += r1; r1 = fetch *(u64 *)(r0 + 0) += r1
 *	r1 = xchg *(u64 *)(r0 + 0) r1; r0 = cmpxchg *(u64 *)(r0 + 0) r1
 *	if r1 == 5 goto L; if w1 s> w2 goto L; if r1 & 1 goto L; goto L; L:
 *	call 14; call map_lookup_elem; exit
 *
 * A semicolon is as good as the end of a line. "{" begins a function one frame deeper, "}" ends it;
 * both are jumps to the next step, as of gpumon_gpuprog_flatten().
 */
#ifndef GPUMON_TESTS_PROBE_ASSEMBLE_H
#define GPUMON_TESTS_PROBE_ASSEMBLE_H

#include "gpuprog/object/program.h"

#define ASSEMBLE_MAX_STEPS 256

/**
 * struct assembled - a program in one piece
 * @program: its steps and lines are below; its maps are those of probe_maps()
 */
struct assembled {
	struct gpumon_gpuprog program;
	struct gpumon_gpuprog_step steps[ASSEMBLE_MAX_STEPS];
};

/* Maps of each kind, see assemble_maps.c. */
enum {
	MAP_ARRAY,
	MAP_HASH,
	MAP_SM_ARRAY,
	MAP_THREAD_ARRAY,
	MAP_HISTOGRAM,
	MAP_RING,
	MAP_RODATA,
	MAP_DATA,
	MAP_ODD,
	MAPS
};

extern const struct gpumon_gpuprog_map probe_maps[MAPS];

/* Ends the test if there is a mistake in the text. */
void assemble(const char *text, enum gpumon_gpuprog_point point, struct assembled *out);

/* A step as text, in a static buffer. */
const char *disassemble(const struct gpumon_gpuprog_step *step);

#endif /* GPUMON_TESTS_PROBE_ASSEMBLE_H */
