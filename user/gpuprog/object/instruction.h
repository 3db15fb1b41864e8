/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Which instructions a program may consist of, and the helpers that it may call. */
#ifndef GPUMON_GPUPROG_OBJECT_INSTRUCTION_H
#define GPUMON_GPUPROG_OBJECT_INSTRUCTION_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "program.h"

#ifndef BPF_MEMSX
#define BPF_MEMSX 0x80 /* load that sign-extends */
#endif
#ifndef BPF_JCOND
#define BPF_JCOND 0xe0 /* may_goto */
#endif
#ifndef BPF_LOAD_ACQ
#define BPF_LOAD_ACQ 0x100
#endif
#ifndef BPF_STORE_REL
#define BPF_STORE_REL 0x110
#endif

enum gpumon_gpuprog_argument {
	GPUMON_GPUPROG_ARG_NONE, /* no argument: the register may be anything */
	GPUMON_GPUPROG_ARG_NUMBER,
	GPUMON_GPUPROG_ARG_ANY, /* never looked at: initialised is enough */
	GPUMON_GPUPROG_ARG_MAP,
	GPUMON_GPUPROG_ARG_KEY,	    /* points to key_size readable bytes */
	GPUMON_GPUPROG_ARG_VALUE,   /* points to value_size readable bytes */
	GPUMON_GPUPROG_ARG_MEMORY,  /* points to as many readable bytes as the next argument says */
	GPUMON_GPUPROG_ARG_SIZE,    /* a constant, 1 to GPUMON_GPUPROG_MAX_RECORD_SIZE */
	GPUMON_GPUPROG_ARG_OUT_U64, /* points to 8 aligned writable bytes */
	GPUMON_GPUPROG_ARG_TEXT,    /* points to a text with its NUL */
	GPUMON_GPUPROG_ARG_SLOT,    /* a constant below GPUMON_GPUPROG_MAX_KEPT */
	GPUMON_GPUPROG_ARG_PRINTED, /* a number if the text has a conversion for it, or anything */
};

enum gpumon_gpuprog_result {
	GPUMON_GPUPROG_RESULT_NUMBER,
	GPUMON_GPUPROG_RESULT_VALUE_OR_NULL, /* points to a value of the map */
};

/* number, name, result, kinds of map (bits), arguments */
#define GPUMON_GPUPROG_HELPERS(X)                                                        \
	/* the kernel's */                                                               \
	X(1, map_lookup_elem, VALUE_OR_NULL, LOOKUP, MAP, KEY, NONE, NONE, NONE)         \
	X(2, map_update_elem, NUMBER, UPDATE, MAP, KEY, VALUE, NUMBER, NONE)             \
	X(3, map_delete_elem, NUMBER, HASH, MAP, KEY, NONE, NONE, NONE)                  \
	X(6, trace_printk, NUMBER, NO, TEXT, SIZE, PRINTED, PRINTED, PRINTED)            \
	X(14, get_current_pid_tgid, NUMBER, NO, NONE, NONE, NONE, NONE, NONE)            \
	X(25, perf_event_output, NUMBER, RING, ANY, MAP, NUMBER, MEMORY, SIZE)           \
	X(130, ringbuf_output, NUMBER, RING, MAP, MEMORY, SIZE, NUMBER, NONE)            \
	/* bpftime's */                                                                  \
	X(501, puts, NUMBER, NO, TEXT, NONE, NONE, NONE, NONE)                           \
	X(502, get_globaltimer, NUMBER, NO, NONE, NONE, NONE, NONE, NONE)                \
	X(503, get_block_idx, NUMBER, NO, OUT_U64, OUT_U64, OUT_U64, NONE, NONE)         \
	X(504, get_block_dim, NUMBER, NO, OUT_U64, OUT_U64, OUT_U64, NONE, NONE)         \
	X(505, get_thread_idx, NUMBER, NO, OUT_U64, OUT_U64, OUT_U64, NONE, NONE)        \
	X(506, gpu_membar, NUMBER, NO, NONE, NONE, NONE, NONE, NONE)                     \
	X(507, cuda_exit, NUMBER, NO, NONE, NONE, NONE, NONE, NONE)                      \
	X(508, get_grid_dim, NUMBER, NO, OUT_U64, OUT_U64, OUT_U64, NONE, NONE)          \
	X(509, get_sm_id, NUMBER, NO, NONE, NONE, NONE, NONE, NONE)                      \
	X(510, get_warp_id, NUMBER, NO, NONE, NONE, NONE, NONE, NONE)                    \
	X(511, get_lane_id, NUMBER, NO, NONE, NONE, NONE, NONE, NONE)                    \
	/* gpumon's */                                                                   \
	X(600, gpumon_count, NUMBER, COUNT, MAP, NUMBER, NUMBER, NONE, NONE)             \
	X(601, gpumon_histogram_add, NUMBER, HISTOGRAM, MAP, NUMBER, NUMBER, NONE, NONE) \
	X(602, gpumon_is_leader, NUMBER, NO, NONE, NONE, NONE, NONE, NONE)               \
	X(603, gpumon_active_lanes, NUMBER, NO, NONE, NONE, NONE, NONE, NONE)            \
	X(604, gpumon_clock, NUMBER, NO, NONE, NONE, NONE, NONE, NONE)                   \
	X(605, gpumon_keep, NUMBER, NO, SLOT, NUMBER, NONE, NONE, NONE)                  \
	X(606, gpumon_kept, NUMBER, NO, SLOT, NONE, NONE, NONE, NONE)                    \
	X(607, gpumon_kernel, NUMBER, NO, NONE, NONE, NONE, NONE, NONE)                  \
	X(608, gpumon_thread, NUMBER, NO, NONE, NONE, NONE, NONE, NONE)                  \
	X(609, gpumon_block, NUMBER, NO, NONE, NONE, NONE, NONE, NONE)                   \
	X(610, gpumon_warp_in_block, NUMBER, NO, NONE, NONE, NONE, NONE, NONE)           \
	X(611, gpumon_sectors, NUMBER, NO, NUMBER, NUMBER, NONE, NONE, NONE)             \
	X(612, gpumon_contiguous, NUMBER, NO, NUMBER, NUMBER, NONE, NONE, NONE)

/**
 * struct gpumon_gpuprog_helper - one helper
 * @id: number in the call
 * @name: name without "bpf_"
 * @result: what R0 is afterwards
 * @maps: kinds of map that its map argument may have, a bit each
 * @arguments: kinds of R1 to R5
 *
 * What the calls mean: bpf/gpu/gpumon_gpu.h.
 */
struct gpumon_gpuprog_helper {
	uint32_t id;
	const char *name;
	enum gpumon_gpuprog_result result;
	uint32_t maps;
	enum gpumon_gpuprog_argument arguments[5];
};

/* The helper with this number, or NULL. */
const struct gpumon_gpuprog_helper *gpumon_gpuprog_helper_find(uint32_t id);

/**
 * gpumon_gpuprog_instruction_refusal - check one instruction by itself
 * @insn: instruction; of LDDW the first half
 *
 * Fields that it does not use have to be 0, as for the kernel. The second half of LDDW, indices of
 * maps, and targets of jumps and calls are left to the caller.
 *
 * Return: NULL, or why it is refused and what to do.
 */
const char *gpumon_gpuprog_instruction_refusal(const struct bpf_insn *insn);

/* Questions about an instruction or step of a well-formed program, by its code. */
bool gpumon_gpuprog_is_jump(uint8_t code);	 /* with or without a condition */
bool gpumon_gpuprog_falls_through(uint8_t code); /* the next one may follow */
/* Bytes that a load, a store or an atomic operation accesses. */
uint32_t gpumon_gpuprog_access_size(uint8_t code);

#endif /* GPUMON_GPUPROG_OBJECT_INSTRUCTION_H */
