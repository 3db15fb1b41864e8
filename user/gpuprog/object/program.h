/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * An eBPF program for the GPU, between its object file and PTX: maps, and instructions without
 * calls of functions. probe/object makes it, probe/verify checks it, probe/translate writes it as PTX.
 */
#ifndef GPUMON_GPUPROG_OBJECT_PROGRAM_H
#define GPUMON_GPUPROG_OBJECT_PROGRAM_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUMON_PROBE_MAX_OBJECT	     (4u << 20) /* bytes of an object file */
#define GPUMON_PROBE_MAX_STACK	     512	/* bytes of one frame */
#define GPUMON_PROBE_MAX_DEPTH	     8		/* frames, the program's own included */
#define GPUMON_PROBE_MAX_STEPS	     65536	/* of a program, after inlining */
#define GPUMON_PROBE_MAX_MAPS	     64		/* of an object, .rodata, .data and .bss included */
#define GPUMON_PROBE_MAX_KEY_SIZE    64		/* bytes at most */
#define GPUMON_PROBE_MAX_VALUE_SIZE  (1u << 30) /* bytes of an array's value at most */
#define GPUMON_PROBE_MAX_HASH_VALUE  65536	/* bytes of a hash's value, or of a data section */
#define GPUMON_PROBE_MAX_RECORD_SIZE 512	/* bytes of one record of a ring at most */
#define GPUMON_PROBE_MAX_KEPT	     4		/* slots of gpumon_keep() */

enum gpumon_probe_map_kind {
	GPUMON_PROBE_MAP_ARRAY,	       /* types 2, 1503, 1504, 1513 */
	GPUMON_PROBE_MAP_SM_ARRAY,     /* 6 (per-CPU array): a copy for each SM, summed when read */
	GPUMON_PROBE_MAP_THREAD_ARRAY, /* 1502, 1512: a value for each thread of the grid */
	GPUMON_PROBE_MAP_HASH,	       /* 1, 1501 */
	GPUMON_PROBE_MAP_HISTOGRAM,    /* 1601: 64 buckets by powers of two for each index, by SM */
	GPUMON_PROBE_MAP_RING,	       /* 27, 1527: records, dropped ones are counted */
	GPUMON_PROBE_MAP_DATA,	       /* .rodata, .data, .bss: one value */
};

/**
 * struct gpumon_probe_field - a number within a key, a value or a record
 * @name: "ns"; within others "inner.ns", of arrays "ns[3]"; "" if the number is all there is
 * @offset: bytes
 * @size: 1, 2, 4 or 8 bytes
 * @is_signed: it may be negative
 */
struct gpumon_probe_field {
	const char *name;
	uint32_t offset;
	uint8_t size;
	bool is_signed;
};

/**
 * struct gpumon_probe_fields - all numbers of a type
 * @fields: by rising offset
 * @n: how many; 0: the type is not known, or has other things than whole numbers, or too many
 */
struct gpumon_probe_fields {
	const struct gpumon_probe_field *fields;
	uint32_t n;
};

/**
 * struct gpumon_probe_map - a map of an object
 * @name: name in the object
 * @kind: what it is here
 * @type: what the object says, for messages
 * @key_size: bytes; 0 for a ring and for data
 * @value_size: bytes of a value; of a record at most for a ring
 * @max_entries: values; threads for a thread array, bytes for a ring
 * @read_only: .rodata: stores are refused
 * @data: first content of a data map, @value_size bytes, or of an array as it lies in memory
 *        (gpumon_probe_map_bytes()); NULL: zeroes
 * @key_fields: what a key is, within @key_size
 * @value_fields: what a value or a record is, within @value_size
 */
struct gpumon_probe_map {
	const char *name;
	enum gpumon_probe_map_kind kind;
	uint32_t type;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t max_entries;
	bool read_only;
	const uint8_t *data;
	struct gpumon_probe_fields key_fields;
	struct gpumon_probe_fields value_fields;
};

/* The largest value of a map. */
static inline uint32_t gpumon_probe_value_max(const struct gpumon_probe_map *map)
{
	return map->kind == GPUMON_PROBE_MAP_HASH || map->kind == GPUMON_PROBE_MAP_DATA ?
		       GPUMON_PROBE_MAX_HASH_VALUE :
		       GPUMON_PROBE_MAX_VALUE_SIZE;
}

/* Where a program runs. */
enum gpumon_probe_point {
	GPUMON_PROBE_ENTRY,	     /* first instruction of a kernel, in each thread */
	GPUMON_PROBE_EXIT,	     /* before each exit of a kernel */
	GPUMON_PROBE_MEMORY,	     /* before each access of memory */
	GPUMON_PROBE_ATOMIC,	     /* before each atomic operation */
	GPUMON_PROBE_BARRIER,	     /* before each barrier of a block */
	GPUMON_PROBE_FUNCTION_ENTRY, /* a named device function */
	GPUMON_PROBE_FUNCTION_EXIT,
	GPUMON_PROBE_RUN, /* a kernel of its own */
	GPUMON_PROBE_POINTS
};

/*
 * What R1 points to at MEMORY, ATOMIC and BARRIER; elsewhere R1 is the number 0. It is no memory:
 * each field will be a register.
 */
struct gpumon_probe_context {
	uint64_t address; /* as the kernel has it: generic or in its state space */
	uint64_t line;	  /* number of the source line, or 0 */
	uint32_t size;	  /* bytes of one thread's access */
	uint32_t flags;	  /* GPUMON_PROBE_READ and so on */
};

static inline bool gpumon_probe_has_context(enum gpumon_probe_point point)
{
	return point == GPUMON_PROBE_MEMORY || point == GPUMON_PROBE_ATOMIC ||
	       point == GPUMON_PROBE_BARRIER;
}

#define GPUMON_PROBE_READ   0x01
#define GPUMON_PROBE_WRITE  0x02 /* both: an atomic operation */
#define GPUMON_PROBE_SHARED 0x10 /* neither SHARED nor LOCAL: global or generic */
#define GPUMON_PROBE_LOCAL  0x20
#define GPUMON_PROBE_ASYNC  0x40

/**
 * struct gpumon_probe_line - the source line of an instruction of the object
 * @instruction: first instruction that it is about
 * @line: number, from 1
 * @file: as the compiler was given it
 * @text: the line itself, or ""
 */
struct gpumon_probe_line {
	uint32_t instruction;
	uint32_t line;
	const char *file;
	const char *text;
};

/**
 * struct gpumon_probe_step - one instruction after inlining
 * @code: BPF_* as in struct bpf_insn. LDDW is one step. There is no call of a function and no
 *        BPF_EXIT but that of the whole program.
 * @dst: 0 to 10
 * @src: 0 to 10; of LDDW BPF_PSEUDO_MAP_IDX (@map), BPF_PSEUDO_MAP_IDX_VALUE (@map and @value), or 0
 * @depth: which frame R6 to R9 and R10 belong to. R0 to R5 are the same at each depth.
 * @off: of memory, or which form of an operation (SDIV, MOVSX), never of a jump
 * @imm: as in the object
 * @map: index into @maps of the program
 * @target: of a jump, index of a step
 * @value: the whole constant of LDDW, or the offset within the map's value
 * @origin: instruction of the object's program, for messages
 */
struct gpumon_probe_step {
	uint8_t code;
	uint8_t dst;
	uint8_t src;
	uint8_t depth;
	int16_t off;
	int32_t imm;
	uint32_t map;
	uint32_t target;
	uint64_t value;
	uint32_t origin;
};

/**
 * struct gpumon_probe_program - a program ready to be verified
 * @name: its function
 * @section: its section
 * @point: where it runs
 * @steps: its instructions; the last one does not run on into nothing
 * @steps_n: 1 to GPUMON_PROBE_MAX_STEPS
 * @maps: all maps of the object
 * @maps_n: 0 to GPUMON_PROBE_MAX_MAPS
 * @lines: by rising instruction; may be empty
 * @lines_n: how many
 * @texts: of the object; the verifier adds to them. NULL: texts on the stack are refused.
 */
struct gpumon_probe_program {
	const char *name;
	const char *section;
	enum gpumon_probe_point point;
	struct gpumon_probe_step *steps;
	uint32_t steps_n;
	const struct gpumon_probe_map *maps;
	uint32_t maps_n;
	const struct gpumon_probe_line *lines;
	uint32_t lines_n;
	struct gpumon_probe_texts *texts;
};

#endif /* GPUMON_GPUPROG_OBJECT_PROGRAM_H */
