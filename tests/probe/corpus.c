// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "corpus.h"
#include "insn.h"

static const uint8_t rodata[64] = "thread %d at %d\n\0a line\n";

const struct gpumon_gpuprog_map corpus_maps[CORPUS_MAPS] = {
	[CORPUS_ARRAY] = { "array", GPUMON_GPUPROG_MAP_ARRAY, 2, 4, 8, 16, false, NULL },
	[CORPUS_SM_ARRAY] = { "sms", GPUMON_GPUPROG_MAP_SM_ARRAY, 6, 4, 8, 16, false, NULL },
	[CORPUS_THREADS] = { "threads", GPUMON_GPUPROG_MAP_THREAD_ARRAY, 1502, 4, 8, 256, false,
			     NULL },
	[CORPUS_HASH] = { "hash", GPUMON_GPUPROG_MAP_HASH, 1, 8, 8, 64, false, NULL },
	[CORPUS_HISTOGRAM] = { "histogram", GPUMON_GPUPROG_MAP_HISTOGRAM, 1601, 4, 8, 16, false,
			       NULL },
	[CORPUS_RING] = { "ring", GPUMON_GPUPROG_MAP_RING, 27, 0, 16, 12288, false, NULL },
	[CORPUS_RODATA] = { ".rodata", GPUMON_GPUPROG_MAP_DATA, 2, 0, 64, 1, true, rodata },
	[CORPUS_BSS] = { ".bss", GPUMON_GPUPROG_MAP_DATA, 2, 0, 256, 1, false, NULL },
	[CORPUS_LONG_HASH] = { "long", GPUMON_GPUPROG_MAP_HASH, 1, 20, 20, 64, false, NULL },
	[CORPUS_WORDS] = { "words", GPUMON_GPUPROG_MAP_ARRAY, 2, 4, 4, 16, false, NULL },
	[CORPUS_LARGE] = { "large", GPUMON_GPUPROG_MAP_ARRAY, 1503, 4, 70004, 3, false, NULL },
};

/* Helpers that linux/bpf.h does not know: object/instruction.h. */
#define PUTS	      502 - 1
#define GLOBALTIMER   502
#define BLOCK_IDX     503
#define BLOCK_DIM     504
#define THREAD_IDX    505
#define MEMBAR	      506
#define CUDA_EXIT     507
#define GRID_DIM      508
#define SM_ID	      509
#define WARP_ID	      510
#define LANE_ID	      511
#define COUNT_ADD     600
#define HISTOGRAM_ADD 601
#define IS_LEADER     602
#define ACTIVE_LANES  603
#define CLOCK	      604
#define KEEP	      605
#define KEPT	      606
#define KERNEL	      607
#define THREAD	      608
#define BLOCK	      609
#define WARP_IN_BLOCK 610
#define SECTORS	      611
#define CONTIGUOUS    612

/* Store R0 in .bss. */
#define SHOW(off) LD_DATA(9, CORPUS_BSS, off), STX(DW, 9, 0, 0)
#define RETURN	  MOV_K(0, 0), EXIT
/* R2 = the address of an argument on the stack. */
#define STACK_ARGUMENT(reg, off) MOV_X(reg, 10), ALU64_K(ADD, reg, off)

static const struct bpf_insn empty[] = { RETURN };

static const struct bpf_insn counter[] = {
	LD_MAP(1, CORPUS_SM_ARRAY), MOV_K(2, 3), MOV_K(3, 1), CALL(COUNT_ADD), RETURN,
};

/* As clang compiles bpf_map_lookup_elem() and __sync_fetch_and_add(). */
static const struct bpf_insn lookup[] = {
	ST(W, 10, -4, 3),
	STACK_ARGUMENT(2, -4),
	LD_MAP(1, CORPUS_SM_ARRAY),
	CALL(BPF_FUNC_map_lookup_elem),
	JMP_K(JEQ, 0, 0, 2),
	MOV_K(1, 1),
	ATOMIC(DW, BPF_ADD, 0, 0, 1),
	RETURN,
};

/* A number of each lane at the end of a large value. */
static const struct bpf_insn large_value[] = {
	ST(W, 10, -4, 2),
	STACK_ARGUMENT(2, -4),
	LD_MAP(1, CORPUS_LARGE),
	CALL(BPF_FUNC_map_lookup_elem),
	JMP_K(JEQ, 0, 0, 8),
	MOV_X(6, 0),
	CALL(LANE_ID),
	ALU64_K(AND, 0, 31),
	ALU64_K(LSH, 0, 3),
	ALU64_X(ADD, 6, 0),
	ALU64_K(ADD, 6, CORPUS_LARGE_OFFSET),
	MOV_K(1, 1),
	ATOMIC(DW, BPF_ADD, 6, 0, 1),
	RETURN,
};

static const struct bpf_insn thread_counter[] = {
	LD_MAP(1, CORPUS_THREADS), MOV_K(2, 0), MOV_K(3, 1), CALL(COUNT_ADD), RETURN,
};

static const struct bpf_insn word_counter[] = {
	CALL(LANE_ID), MOV_X(2, 0), LD_MAP(1, CORPUS_WORDS), MOV_K(3, 1), CALL(COUNT_ADD), RETURN,
};

static const struct bpf_insn entry_time[] = {
	CALL(GLOBALTIMER), MOV_X(2, 0), MOV_K(1, 0), CALL(KEEP), RETURN,
};

static const struct bpf_insn exit_histogram[] = {
	CALL(GLOBALTIMER),
	MOV_X(6, 0),
	MOV_K(1, 0),
	CALL(KEPT),
	ALU64_X(SUB, 6, 0),
	CALL(KERNEL),
	LD_MAP(1, CORPUS_HISTOGRAM),
	MOV_X(2, 0),
	MOV_X(3, 6),
	CALL(HISTOGRAM_ADD),
	RETURN,
};

/* A record of the thread and the time, as kernelretsnoop. */
static const struct bpf_insn record[] = {
	CALL(THREAD),
	STX(DW, 10, -16, 0),
	CALL(GLOBALTIMER),
	STX(DW, 10, -8, 0),
	LD_MAP(1, CORPUS_RING),
	STACK_ARGUMENT(2, -16),
	MOV_K(3, 16),
	MOV_K(4, 0),
	CALL(BPF_FUNC_ringbuf_output),
	SHOW(0),
	RETURN,
};

/* The same by bpftime's call, 12 bytes that are not aligned. */
static const struct bpf_insn event[] = {
	CALL(THREAD),
	STX(W, 10, -12, 0),
	ST(DW, 10, -8, 7),
	MOV_K(1, 0),
	LD_MAP(2, CORPUS_RING),
	MOV_K(3, 0),
	STACK_ARGUMENT(4, -12),
	MOV_K(5, 12),
	CALL(BPF_FUNC_perf_event_output),
	RETURN,
};

/* Count by a key of a hash: the thread modulo 40. */
static const struct bpf_insn hash_count[] = {
	CALL(THREAD),
	ALU64_K(MOD, 0, 40),
	STX(DW, 10, -8, 0),
	ST(DW, 10, -16, 0),
	LD_MAP(1, CORPUS_HASH),
	STACK_ARGUMENT(2, -8),
	STACK_ARGUMENT(3, -16),
	MOV_K(4, BPF_NOEXIST),
	CALL(BPF_FUNC_map_update_elem),
	LD_MAP(1, CORPUS_HASH),
	STACK_ARGUMENT(2, -8),
	CALL(BPF_FUNC_map_lookup_elem),
	JMP_K(JEQ, 0, 0, 2),
	MOV_K(1, 1),
	ATOMIC(DW, BPF_ADD, 0, 0, 1),
	RETURN,
};

/* An entry that comes and goes: the thread modulo 40 again. */
static const struct bpf_insn hash_delete[] = {
	CALL(THREAD),
	ALU64_K(MOD, 0, 40),
	STX(DW, 10, -8, 0),
	CALL(THREAD),
	STX(DW, 10, -16, 0),
	LD_MAP(1, CORPUS_HASH),
	STACK_ARGUMENT(2, -8),
	STACK_ARGUMENT(3, -16),
	MOV_K(4, BPF_ANY),
	CALL(BPF_FUNC_map_update_elem),
	LD_MAP(1, CORPUS_HASH),
	STACK_ARGUMENT(2, -8),
	CALL(BPF_FUNC_map_delete_elem),
	RETURN,
};

/* A key for each thread. */
static const struct bpf_insn hash_fill[] = {
	CALL(THREAD),
	STX(DW, 10, -8, 0),
	LD_MAP(1, CORPUS_HASH),
	STACK_ARGUMENT(2, -8),
	STACK_ARGUMENT(3, -8),
	MOV_K(4, BPF_ANY),
	CALL(BPF_FUNC_map_update_elem),
	RETURN,
};

/* Keys and values of 20 bytes: the thread, five times. */
static const struct bpf_insn long_hash[] = {
	CALL(THREAD),
	ALU64_K(MOD, 0, 50),
	STX(W, 10, -40, 0),
	STX(W, 10, -36, 0),
	STX(W, 10, -32, 0),
	STX(W, 10, -28, 0),
	STX(W, 10, -24, 0),
	STX(W, 10, -20, 0),
	STX(DW, 10, -16, 0),
	STX(DW, 10, -8, 0),
	LD_MAP(1, CORPUS_LONG_HASH),
	STACK_ARGUMENT(2, -40),
	STACK_ARGUMENT(3, -40),
	MOV_K(4, BPF_ANY),
	CALL(BPF_FUNC_map_update_elem),
	RETURN,
};

static const struct bpf_insn array_update[] = {
	CALL(LANE_ID),
	STX(W, 10, -4, 0),
	ST(DW, 10, -16, 77),
	LD_MAP(1, CORPUS_ARRAY),
	STACK_ARGUMENT(2, -4),
	STACK_ARGUMENT(3, -16),
	MOV_K(4, 0),
	CALL(BPF_FUNC_map_update_elem),
	SHOW(0),
	RETURN,
};

static const struct bpf_insn print[] = {
	CALL(LANE_ID),
	MOV_X(3, 0),
	LD_DATA(1, CORPUS_RODATA, 0),
	MOV_K(2, 17),
	MOV_K(4, 9),
	CALL(BPF_FUNC_trace_printk),
	LD_DATA(1, CORPUS_RODATA, 17),
	CALL(PUTS),
	RETURN,
};

#define DIMENSIONS(helper, off)                                                              \
	STACK_ARGUMENT(1, -24), STACK_ARGUMENT(2, -16), STACK_ARGUMENT(3, -8), CALL(helper), \
		LDX(DW, 0, 10, -24), SHOW(off), LDX(DW, 0, 10, -16), SHOW((off) + 8),        \
		LDX(DW, 0, 10, -8), SHOW((off) + 16)

static const struct bpf_insn places[] = {
	DIMENSIONS(BLOCK_IDX, 0),
	DIMENSIONS(BLOCK_DIM, 24),
	DIMENSIONS(THREAD_IDX, 48),
	DIMENSIONS(GRID_DIM, 72),
	CALL(SM_ID),
	SHOW(96),
	CALL(WARP_ID),
	SHOW(104),
	CALL(LANE_ID),
	SHOW(112),
	CALL(THREAD),
	SHOW(120),
	CALL(BLOCK),
	SHOW(128),
	CALL(WARP_IN_BLOCK),
	SHOW(136),
	CALL(KERNEL),
	SHOW(144),
	CALL(CLOCK),
	SHOW(152),
	CALL(GLOBALTIMER),
	SHOW(160),
	CALL(BPF_FUNC_get_current_pid_tgid),
	SHOW(168),
	CALL(ACTIVE_LANES),
	SHOW(176),
	CALL(IS_LEADER),
	SHOW(184),
	CALL(MEMBAR),
	RETURN,
};

/* Bytes by the warp's leader, as memtrace. */
static const struct bpf_insn memory[] = {
	MOV_X(6, 1),
	LDX(DW, 1, 6, 0),
	LDX(W, 2, 6, 16),
	CALL(SECTORS),
	MOV_X(7, 0),
	CALL(ACTIVE_LANES),
	LDX(W, 8, 6, 16),
	ALU64_X(MUL, 8, 0),
	CALL(IS_LEADER),
	JMP_K(JEQ, 0, 0, 11),
	LD_MAP(1, CORPUS_SM_ARRAY),
	LDX(W, 2, 6, 20),
	ALU64_K(AND, 2, 3),
	MOV_X(3, 8),
	CALL(COUNT_ADD),
	LD_MAP(1, CORPUS_SM_ARRAY),
	MOV_K(2, 8),
	MOV_X(3, 7),
	CALL(COUNT_ADD),
	RETURN,
};

/* Threads of warps that access one piece. */
static const struct bpf_insn contiguous[] = {
	MOV_X(6, 1),	  LDX(DW, 1, 6, 0), LDX(W, 2, 6, 16),
	CALL(CONTIGUOUS), MOV_X(3, 0),	    LD_MAP(1, CORPUS_SM_ARRAY),
	MOV_K(2, 0),	  CALL(COUNT_ADD),  RETURN,
};

/* 1 to the element of the lane if there is one, and another 1 if the lane is odd. */
static const struct bpf_insn lookup_lane[] = {
	CALL(LANE_ID),
	MOV_X(7, 0),
	STX(W, 10, -4, 0),
	STACK_ARGUMENT(2, -4),
	LD_MAP(1, CORPUS_SM_ARRAY),
	CALL(BPF_FUNC_map_lookup_elem),
	MOV_X(6, 0),
	MOV_K(1, 1),
	JMP_K(JNE, 0, 0, 2),
	RETURN,
	ATOMIC(DW, BPF_ADD, 6, 0, 1),
	MOV_X(0, 7),
	ALU64_K(AND, 0, 1),
	JMP_K(JEQ, 0, 0, 1),
	ATOMIC(DW, BPF_ADD, 6, 0, 1),
	RETURN,
};

/* Counts to a number in .bss; without an end if it is 0. */
static const struct bpf_insn counting_loop[] = {
	LD_DATA(9, CORPUS_BSS, 0), LDX(DW, 2, 9, 0), MOV_K(1, 0), ALU64_K(ADD, 1, 1),
	JMP_X(JNE, 1, 2, -2),	   STX(DW, 9, 8, 1), RETURN,
};

static const struct bpf_insn leaves[] = {
	CALL(LANE_ID), JMP_K(JEQ, 0, 5, 1), CALL(CUDA_EXIT), LD_MAP(1, CORPUS_ARRAY),
	MOV_K(2, 0),   MOV_K(3, 1),	    CALL(COUNT_ADD), RETURN,
};

/* One call with the map of the lane: SMs, array or words, at index 1 to 3. */
static const struct bpf_insn either_map[] = {
	CALL(LANE_ID),
	MOV_K(2, 1),
	LD_MAP(1, CORPUS_SM_ARRAY),
	JMP_K(JEQ, 0, 0, 7),
	MOV_K(2, 2),
	LD_MAP(1, CORPUS_ARRAY),
	JMP_K(JGT, 0, 10, 3),
	MOV_K(2, 3),
	LD_MAP(1, CORPUS_WORDS),
	MOV_X(3, 0),
	ALU64_K(ADD, 3, 1),
	CALL(COUNT_ADD),
	SHOW(0),
	RETURN,
};

/* A lookup in one of two hashes, or arrays: a value of either is added to. */
static const struct bpf_insn either_value[] = {
	CALL(LANE_ID),
	ST(W, 10, -4, 5),
	STACK_ARGUMENT(2, -4),
	LD_MAP(1, CORPUS_SM_ARRAY),
	JMP_K(JSET, 0, 1, 2),
	LD_MAP(1, CORPUS_ARRAY),
	CALL(BPF_FUNC_map_lookup_elem),
	JMP_K(JEQ, 0, 0, 2),
	MOV_K(1, 7),
	ATOMIC(DW, BPF_ADD, 0, 0, 1),
	RETURN,
};

#define PROGRAM(name, point, most)                                                          \
	{                                                                                   \
#name, GPUMON_GPUPROG_##point, name, sizeof(name) / sizeof((name)[0]), most \
	}

const struct corpus_program corpus_programs[] = {
	PROGRAM(empty, ENTRY, 0),	   PROGRAM(counter, ENTRY, 25),
	PROGRAM(lookup, ENTRY, 28),	   PROGRAM(thread_counter, EXIT, 80),
	PROGRAM(word_counter, EXIT, 35),   PROGRAM(entry_time, ENTRY, 8),
	PROGRAM(exit_histogram, EXIT, 40), PROGRAM(record, EXIT, 170),
	PROGRAM(event, EXIT, 0),	   PROGRAM(hash_count, ENTRY, 0),
	PROGRAM(hash_delete, ENTRY, 0),	   PROGRAM(hash_fill, ENTRY, 0),
	PROGRAM(long_hash, ENTRY, 0),	   PROGRAM(array_update, ENTRY, 0),
	PROGRAM(print, ENTRY, 0),	   PROGRAM(places, ENTRY, 0),
	PROGRAM(memory, MEMORY, 120),	   PROGRAM(counting_loop, RUN, 0),
	PROGRAM(leaves, ENTRY, 0),	   PROGRAM(either_map, ENTRY, 0),
	PROGRAM(either_value, ENTRY, 0),   PROGRAM(contiguous, MEMORY, 0),
	PROGRAM(lookup_lane, ENTRY, 0),	   PROGRAM(large_value, ENTRY, 0),
};
const uint32_t corpus_programs_n = sizeof(corpus_programs) / sizeof(corpus_programs[0]);

const struct corpus_program *corpus_find(const char *name)
{
	uint32_t i;

	for (i = 0; i < corpus_programs_n; i++)
		if (strcmp(corpus_programs[i].name, name) == 0)
			return &corpus_programs[i];
	return NULL;
}
