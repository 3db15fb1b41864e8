/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the verifier proved of each step. The translator relies on it and on nothing else. */
#ifndef GPUMON_GPUPROG_OBJECT_FACT_H
#define GPUMON_GPUPROG_OBJECT_FACT_H

#include <stdbool.h>
#include <stdint.h>

#include "program.h"

enum gpumon_probe_kind {
	GPUMON_PROBE_NOTHING, /* not set, or different on different paths */
	GPUMON_PROBE_NUMBER,
	GPUMON_PROBE_STACK,
	GPUMON_PROBE_VALUE, /* of a map */
	GPUMON_PROBE_CONTEXT,
	GPUMON_PROBE_MAP, /* the map itself */
};

/**
 * struct gpumon_probe_operand - an address, or an argument of a helper
 * @kind: what it is, the same on each path
 * @depth: of STACK: whose frame
 * @align: of STACK and VALUE: proved alignment of the address in bytes, 1, 2, 4 or 8
 * @constant: of NUMBER: @value is its only value; of STACK, VALUE and CONTEXT: @offset is its only
 *            offset
 * @check: not proved to be inside: the translated code has to check it. Loads outside give 0, stores
 *         are left out, both are counted as losses. Only STACK and VALUE.
 * @offset: of STACK: from the frame's top, -512 to -1; of VALUE: from the value's start; of CONTEXT:
 *          from its start; that of the instruction is included. Not @constant: the lowest of STACK
 * @last: of STACK, not @constant: the highest offset. 0: anywhere in the frame
 * @map: of VALUE and MAP: the first one that it may be (of)
 * @maps: likewise, all of them, a bit each. Of VALUE with more than one, @check is not set. Maps that are
 *        arguments have what the helper needs, and equal sizes of keys and values where it takes them.
 * @value: of NUMBER
 */
struct gpumon_probe_operand {
	uint8_t kind;
	uint8_t depth;
	uint8_t align;
	bool constant;
	bool check;
	int32_t offset;
	int32_t last;
	uint32_t map;
	uint64_t maps;
	uint64_t value;
};

/**
 * struct gpumon_probe_fact - what is known of a step
 * @reached: some path leads here. If not, nothing else is set and the step may be left out.
 * @back_edge: it is a jump to a step that may have run before: it takes fuel
 * @jumps: of a conditional jump: it may be taken
 * @runs_on: of a conditional jump: it may be left out. If only one of the two is set, the way is known
 *           and nothing has to be compared: the numbers of addresses may say otherwise. If neither is
 *           set, no number gets here.
 * @address: of a load, a store or an atomic operation
 * @arguments: of a call, R1 to R5
 */
struct gpumon_probe_fact {
	bool reached;
	bool back_edge;
	bool jumps;
	bool runs_on;
	struct gpumon_probe_operand address;
	struct gpumon_probe_operand arguments[5];
};

#endif /* GPUMON_GPUPROG_OBJECT_FACT_H */
