// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "accepted_programs.h"

#define LOOKUP                                             \
	"*(u32 *)(r10 - 4) = 0; r1 = map array; r2 = r10;" \
	"r2 += -4; call map_lookup_elem; if r0 == 0 goto out\n"
#define OUT "out: r0 = 0; exit"

const struct accepted_program accepted_programs[] = {
	{ "stack", GPUMON_GPUPROG_ENTRY,
	  "*(u64 *)(r10 - 8) = 7; r1 = *(u64 *)(r10 - 8)\n"
	  "*(u32 *)(r10 - 16) = 1; *(u16 *)(r10 - 12) = 2; *(u8 *)(r10 - 10) = 3\n"
	  "*(u8 *)(r10 - 9) = 4; r1 = *(u64 *)(r10 - 16); exit" },
	{ "stack index", GPUMON_GPUPROG_ENTRY,
	  "*(u64 *)(r10 - 8) = 0; *(u64 *)(r10 - 16) = 0; call get_sm_id\n"
	  "r0 &= 3; r0 <<= 2; r1 = r10; r1 += -16; r1 += r0; r2 = *(u32 *)(r1 + 0)\n"
	  "*(u32 *)(r1 + 0) = 5; r3 = *(u64 *)(r10 - 16); exit" },
	{ "spilled address", GPUMON_GPUPROG_ENTRY,
	  LOOKUP "*(u64 *)(r10 - 16) = r0; r1 = 0; r0 = 0\n"
		 "r1 = *(u64 *)(r10 - 16); *(u64 *)(r1 + 8) = 1\n" OUT },
	{ "null of copies", GPUMON_GPUPROG_ENTRY,
	  "*(u32 *)(r10 - 4) = 0; r1 = map array; r2 = r10; r2 += -4\n"
	  "call map_lookup_elem; r6 = r0; *(u64 *)(r10 - 16) = r0\n"
	  "r7 = *(u64 *)(r10 - 16); if r6 == 0 goto out\n"
	  "r1 = *(u8 *)(r7 + 63); r2 = *(u64 *)(r10 - 16); r1 = *(u8 *)(r2 + 0)\n" OUT },
	{ "either lookup", GPUMON_GPUPROG_ENTRY,
	  "*(u32 *)(r10 - 4) = 0; r1 = map array; r2 = r10; r2 += -4\n"
	  "call map_lookup_elem; r6 = r0; if r0 != 0 goto found\n"
	  "r1 = map array; r2 = r10; r2 += -4; call map_lookup_elem; r6 = r0\n"
	  "found: if r6 == 0 goto out; r1 = 1; lock *(u64 *)(r0 + 0) += r1\n" OUT },
	{ "index", GPUMON_GPUPROG_ENTRY,
	  LOOKUP "r6 = r0; call get_sm_id; if r0 > 7 goto out; r0 <<= 3; r6 += r0\n"
		 "r1 = 1; lock *(u64 *)(r6 + 0) += r1\n" OUT },
	{ "index too large", GPUMON_GPUPROG_ENTRY,
	  LOOKUP "r6 = r0; call get_sm_id; if r0 > 8 goto out; r0 <<= 3; r6 += r0\n"
		 "r1 = 1; lock *(u64 *)(r6 + 0) += r1\n" OUT },
	{ "index by modulo", GPUMON_GPUPROG_ENTRY,
	  LOOKUP "r6 = r0; call get_sm_id; r0 %= 64; r6 += r0; r1 = *(u8 *)(r6 + 0)\n" OUT },
	{ "int v1", GPUMON_GPUPROG_ENTRY,
	  LOOKUP "r6 = r0; call get_sm_id; r0 <<= 32; r0 s>>= 32; if r0 s< 0 goto out\n"
		 "if r0 s> 7 goto out; r0 <<= 3; r6 += r0; r1 = *(u64 *)(r6 + 0)\n" OUT },
	{ "int v3", GPUMON_GPUPROG_ENTRY,
	  LOOKUP "r6 = r0; call get_sm_id; if w0 > 7 goto out; w0 = w0; r0 <<= 3\n"
		 "r6 += r0; r1 = *(u64 *)(r6 + 0)\n" OUT },
	{ "int v4", GPUMON_GPUPROG_ENTRY,
	  LOOKUP "r6 = r0; call get_sm_id; if w0 s< 0 goto out; if w0 s> 7 goto out\n"
		 "r0 = (s32)r0; r0 <<= 3; r6 += r0; r1 = *(u64 *)(r6 + 0)\n" OUT },
	{ "index of copy", GPUMON_GPUPROG_ENTRY,
	  LOOKUP "r6 = r0; call get_sm_id; r1 = r0; if r0 > 7 goto out; r1 <<= 3\n"
		 "r6 += r1; r1 = *(u64 *)(r6 + 0)\n" OUT },
	{ "loop to 8", GPUMON_GPUPROG_ENTRY,
	  LOOKUP "r6 = r0; r1 = 0\nagain: if r1 > 7 goto out; r2 = r1; r2 <<= 3\n"
		 "r3 = r6; r3 += r2; *(u64 *)(r3 + 0) = 0; r1 += 1; goto again\n" OUT },
	{ "loop until equal", GPUMON_GPUPROG_ENTRY,
	  LOOKUP "r1 = 0\nagain: r3 = r0; r3 += r1; *(u8 *)(r3 + 0) = 0; r1 += 8\n"
		 "if r1 != 64 goto again\n" OUT },
	{ "loop bound from map", GPUMON_GPUPROG_ENTRY,
	  LOOKUP "r5 = *(u64 *)(r0 + 0); r1 = 0\nagain: r3 = r0; r3 += r1\n"
		 "*(u8 *)(r3 + 0) = 0; r1 += 1; if r1 < r5 goto again\n" OUT },
	{ "loop without end", GPUMON_GPUPROG_ENTRY, "again: goto again; exit" },
	{ "dead code", GPUMON_GPUPROG_ENTRY,
	  "r1 = value .rodata + 48; r2 = *(u64 *)(r1 + 0); if r2 == 5 goto out\n"
	  "r3 = *(u64 *)(r2 + 0)\n" OUT },
	{ "address is not null", GPUMON_GPUPROG_ENTRY,
	  "r1 = r10; if r1 == 0 goto bad; r0 = 0; exit\nbad: r3 = *(u64 *)(r9 + 0); exit" },
	{ "sign in rodata", GPUMON_GPUPROG_ENTRY,
	  "r1 = value .rodata + 56; r2 = *(s8 *)(r1 + 0); if r2 == -128 goto out\n"
	  "r3 = *(u64 *)(r2 + 0)\n" OUT },
	{ "context", GPUMON_GPUPROG_MEMORY,
	  "r2 = *(u64 *)(r1 + 0); r3 = *(u32 *)(r1 + 16); r3 = *(u8 *)(r1 + 20)\n"
	  "r1 += 8; r2 = *(u32 *)(r1 + 4); exit" },
	{ "calls", GPUMON_GPUPROG_ENTRY,
	  "r1 = r10; r1 += -8; r2 = r10; r2 += -16; r3 = r10; r3 += -24\n"
	  "call get_thread_idx; r6 = *(u64 *)(r10 - 24)\n"
	  "r1 = value .rodata; r2 = 16; r3 = r6; r4 = 1; call trace_printk\n"
	  "r1 = value .rodata + 16; r2 = 7; call trace_printk\n"
	  "r1 = map ring; r2 = r10; r2 += -24; r3 = 24; r4 = 0; call ringbuf_output\n"
	  "r1 = 0; r2 = map ring; r3 = 0; r4 = r10; r4 += -16; r5 = 16\n"
	  "call perf_event_output; r1 = 3; r2 = r6; call gpumon_keep; exit" },
	{ "text on the stack", GPUMON_GPUPROG_ENTRY,
	  "call get_lane_id; *(u32 *)(r10 - 8) = 0x64252061; r2 = 0; if r0 == 0 goto join\n"
	  "r2 = 7\n"
	  "join: *(u16 *)(r10 - 4) = 10; r1 = r10; r1 += -8; r3 = r2; r2 = 6\n"
	  "call trace_printk; exit" },
	{ "functions", GPUMON_GPUPROG_ENTRY,
	  "r6 = 1; r1 = r10; r1 += -8\n{\nr6 = r1; *(u64 *)(r10 - 8) = 3\n"
	  "r2 = *(u64 *)(r10 - 8); *(u64 *)(r6 + 0) = r2; r0 = 0\n}\n"
	  "r2 = *(u64 *)(r10 - 8); r6 += 1; exit" },
	{ "null constant", GPUMON_GPUPROG_ENTRY,
	  "r6 = 0; call get_lane_id; if r0 != 0 goto join\n"
	  "*(u32 *)(r10 - 4) = 0; r1 = map array; r2 = r10; r2 += -4\n"
	  "call map_lookup_elem; r6 = r0\n"
	  "join: if r6 == 0 goto out; *(u64 *)(r6 + 0) = 1\n" OUT },
	{ "places joined", GPUMON_GPUPROG_ENTRY,
	  LOOKUP "r6 = r0; call get_lane_id; if r0 == 0 goto join; r6 += 8\n"
		 "join: *(u64 *)(r6 + 0) = 1\n" OUT },
	{ "atomics", GPUMON_GPUPROG_ENTRY,
	  LOOKUP "r1 = 1; r2 = 2; r6 = r0; lock *(u32 *)(r6 + 4) |= r1\n"
		 "r1 = fetch *(u64 *)(r6 + 8) += r1; r1 = xchg *(u64 *)(r6 + 8) r1\n"
		 "r0 = 5; r0 = cmpxchg *(u64 *)(r6 + 8) r2; r1 += r0\n" OUT },
	{ "distance", GPUMON_GPUPROG_ENTRY,
	  LOOKUP "r1 = r0; r1 += 48; again: *(u64 *)(r0 + 0) = 0; r0 += 8\n"
		 "if r0 != r1 goto again; r1 -= r0; r1 *= 3\n" OUT },
	{ "call with either map", GPUMON_GPUPROG_ENTRY,
	  "call get_lane_id; r1 = map sm_array; if r0 == 0 goto join; r1 = map thread_array\n"
	  "if r0 == 1 goto join; r1 = map array\n"
	  "join: r2 = 1; r3 = 1; call gpumon_count; exit" },
	{ "value of either map", GPUMON_GPUPROG_ENTRY,
	  "*(u32 *)(r10 - 4) = 0; call get_lane_id; r1 = map array; if r0 == 0 goto join\n"
	  "r1 = map odd\njoin: r2 = r10; r2 += -4; call map_lookup_elem\n"
	  "if r0 == 0 goto out; *(u32 *)(r0 + 8) = 1\n" OUT },
};

const size_t accepted_programs_n = sizeof(accepted_programs) / sizeof(accepted_programs[0]);
