/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * An eBPF program for the GPU, between its object file and PTX: maps, and instructions without
 * calls of functions. object.c makes it, verify/ checks it, ptx/ writes it as PTX.
 */
#ifndef GPUMON_GPUPROG_OBJECT_PROGRAM_H
#define GPUMON_GPUPROG_OBJECT_PROGRAM_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/error.h"

#define GPUMON_GPUPROG_MAX_OBJECT      (4u << 20) /* bytes of an object file */
#define GPUMON_GPUPROG_MAX_STACK       512	  /* bytes of one frame */
#define GPUMON_GPUPROG_MAX_DEPTH       8	  /* frames, the program's own included */
#define GPUMON_GPUPROG_MAX_STEPS       65536	  /* of a program, after inlining */
#define GPUMON_GPUPROG_MAX_MAPS	       64 /* of an object, .rodata, .data and .bss included */
#define GPUMON_GPUPROG_MAX_KEY_SIZE    64 /* bytes at most */
#define GPUMON_GPUPROG_MAX_VALUE_SIZE  (1u << 30) /* bytes of an array's value at most */
#define GPUMON_GPUPROG_MAX_HASH_VALUE  65536 /* bytes of a hash's value, or of a data section */
#define GPUMON_GPUPROG_MAX_RECORD_SIZE 512   /* bytes of one record of a ring at most */
#define GPUMON_GPUPROG_MAX_KEPT	       4     /* slots of gpumon_keep() */

enum gpumon_gpuprog_map_kind {
	GPUMON_GPUPROG_MAP_ARRAY,    /* types 2, 1503, 1504, 1513 */
	GPUMON_GPUPROG_MAP_SM_ARRAY, /* 6 (per-CPU array): a copy for each SM, summed when read */
	GPUMON_GPUPROG_MAP_THREAD_ARRAY, /* 1502, 1512: a value for each thread of the grid */
	GPUMON_GPUPROG_MAP_HASH,	 /* 1, 1501 */
	GPUMON_GPUPROG_MAP_HISTOGRAM, /* 1601: 64 buckets by powers of two for each index, by SM */
	GPUMON_GPUPROG_MAP_RING,      /* 27, 1527: records, dropped ones are counted */
	GPUMON_GPUPROG_MAP_DATA,      /* .rodata, .data, .bss: one value */
};

/**
 * struct gpumon_gpuprog_field - a number within a key, a value or a record
 * @name: "ns"; within others "inner.ns", of arrays "ns[3]"; "" if the number is all there is
 * @offset: bytes
 * @size: 1, 2, 4 or 8 bytes
 * @is_signed: it may be negative
 */
struct gpumon_gpuprog_field {
	const char *name;
	uint32_t offset;
	uint8_t size;
	bool is_signed;
};

/**
 * struct gpumon_gpuprog_fields - all numbers of a type
 * @fields: by rising offset
 * @n: how many; 0: the type is not known, or has other things than whole numbers, or too many
 */
struct gpumon_gpuprog_fields {
	const struct gpumon_gpuprog_field *fields;
	uint32_t n;
};

/**
 * struct gpumon_gpuprog_map - a map of an object
 * @name: name in the object
 * @kind: what it is here
 * @type: what the object says, for messages
 * @key_size: bytes; 0 for a ring and for data
 * @value_size: bytes of a value; of a record at most for a ring
 * @max_entries: values; threads for a thread array, bytes for a ring
 * @read_only: .rodata: stores are refused
 * @data: first content of a data map, @value_size bytes, or of an array as it lies in memory
 *        (gpumon_gpuprog_map_bytes()); NULL: zeroes
 * @key_fields: what a key is, within @key_size
 * @value_fields: what a value or a record is, within @value_size
 */
struct gpumon_gpuprog_map {
	const char *name;
	enum gpumon_gpuprog_map_kind kind;
	uint32_t type;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t max_entries;
	bool read_only;
	const uint8_t *data;
	struct gpumon_gpuprog_fields key_fields;
	struct gpumon_gpuprog_fields value_fields;
};

/* The largest value of a map. */
static inline uint32_t gpumon_gpuprog_value_max(const struct gpumon_gpuprog_map *map)
{
	return map->kind == GPUMON_GPUPROG_MAP_HASH || map->kind == GPUMON_GPUPROG_MAP_DATA ?
		       GPUMON_GPUPROG_MAX_HASH_VALUE :
		       GPUMON_GPUPROG_MAX_VALUE_SIZE;
}

/* Place at which a program runs. */
enum gpumon_gpuprog_point {
	GPUMON_GPUPROG_ENTRY,	       /* first instruction of a kernel, in each thread */
	GPUMON_GPUPROG_EXIT,	       /* before each exit of a kernel */
	GPUMON_GPUPROG_MEMORY,	       /* before each access of memory */
	GPUMON_GPUPROG_ATOMIC,	       /* before each atomic operation */
	GPUMON_GPUPROG_BARRIER,	       /* before each barrier of a block */
	GPUMON_GPUPROG_FUNCTION_ENTRY, /* a named device function */
	GPUMON_GPUPROG_FUNCTION_EXIT,
	GPUMON_GPUPROG_RUN, /* a kernel of its own */
	GPUMON_GPUPROG_POINTS
};

/*
 * Context that R1 points to at MEMORY, ATOMIC and BARRIER; elsewhere R1 is the number 0. The
 * context is no memory: each field will be a register.
 */
struct gpumon_gpuprog_context {
	uint64_t address; /* as the kernel has it: generic or in its state space */
	uint64_t line;	  /* number of the source line, or 0 */
	uint32_t size;	  /* bytes of one thread's access */
	uint32_t flags;	  /* GPUMON_GPUPROG_READ and so on */
};

static inline bool gpumon_gpuprog_has_context(enum gpumon_gpuprog_point point)
{
	return point == GPUMON_GPUPROG_MEMORY || point == GPUMON_GPUPROG_ATOMIC ||
	       point == GPUMON_GPUPROG_BARRIER;
}

#define GPUMON_GPUPROG_READ   0x01
#define GPUMON_GPUPROG_WRITE  0x02 /* both: an atomic operation */
#define GPUMON_GPUPROG_SHARED 0x10 /* neither SHARED nor LOCAL: global or generic */
#define GPUMON_GPUPROG_LOCAL  0x20
#define GPUMON_GPUPROG_ASYNC  0x40

/**
 * struct gpumon_gpuprog_line - the source line of an instruction of the object
 * @instruction: first instruction that it is about
 * @line: number, from 1
 * @file: as the compiler was given it
 * @text: the line itself, or ""
 */
struct gpumon_gpuprog_line {
	uint32_t instruction;
	uint32_t line;
	const char *file;
	const char *text;
};

/**
 * struct gpumon_gpuprog_step - one instruction after inlining
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
struct gpumon_gpuprog_step {
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
 * struct gpumon_gpuprog - a program ready to be verified
 * @name: its function
 * @section: its section
 * @point: where it runs
 * @steps: its instructions; the last one does not run on into nothing
 * @steps_n: 1 to GPUMON_GPUPROG_MAX_STEPS
 * @maps: all maps of the object
 * @maps_n: 0 to GPUMON_GPUPROG_MAX_MAPS
 * @lines: by rising instruction; may be empty
 * @lines_n: how many
 * @texts: of the object; the verifier adds to them. NULL: texts on the stack are refused.
 */
struct gpumon_gpuprog {
	const char *name;
	const char *section;
	enum gpumon_gpuprog_point point;
	struct gpumon_gpuprog_step *steps;
	uint32_t steps_n;
	const struct gpumon_gpuprog_map *maps;
	uint32_t maps_n;
	const struct gpumon_gpuprog_line *lines;
	uint32_t lines_n;
	struct gpumon_gpuprog_texts *texts;
};

#define GPUMON_GPUPROG_TEXTS_BYTES 16384
/* Stands for the map of such a text. */
#define GPUMON_GPUPROG_TEXTS_MAP UINT32_MAX

/**
 * struct gpumon_gpuprog_texts - texts on the stack of an object's programs
 * @used: bytes
 * @bytes: one text after the other, each with its NUL
 */
struct gpumon_gpuprog_texts {
	uint32_t used;
	char bytes[GPUMON_GPUPROG_TEXTS_BYTES];
};

/**
 * gpumon_gpuprog_texts_add - keep a text
 * @texts: texts; one that is there already is kept once
 * @text: text with its NUL
 *
 * Return: its place in @texts->bytes, or UINT32_MAX without room.
 */
uint32_t gpumon_gpuprog_texts_add(struct gpumon_gpuprog_texts *texts, const char *text);

enum gpumon_gpuprog_reg_type {
	GPUMON_GPUPROG_NOT_INIT, /* not set, or different on different paths */
	GPUMON_GPUPROG_SCALAR,
	GPUMON_GPUPROG_STACK,
	GPUMON_GPUPROG_VALUE, /* of a map */
	GPUMON_GPUPROG_CONTEXT,
	GPUMON_GPUPROG_MAP, /* the map itself */
};

/**
 * struct gpumon_gpuprog_operand - an address, or an argument of a helper
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
struct gpumon_gpuprog_operand {
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
 * struct gpumon_gpuprog_fact - what is known of a step
 * @reached: some path leads here. If not, nothing else is set and the step may be left out.
 * @back_edge: it is a jump to a step that may have run before: it takes fuel
 * @jumps: of a conditional jump: it may be taken
 * @falls_through: of a conditional jump: it may be left out. If only one of the two is set, the way is known
 *           and nothing has to be compared: the numbers of addresses may say otherwise. If neither is
 *           set, no number gets here.
 * @address: of a load, a store or an atomic operation
 * @arguments: of a call, R1 to R5
 */
struct gpumon_gpuprog_fact {
	bool reached;
	bool back_edge;
	bool jumps;
	bool falls_through;
	struct gpumon_gpuprog_operand address;
	struct gpumon_gpuprog_operand arguments[5];
};

/**
 * gpumon_gpuprog_refuse - say that a program is refused
 * @program: its name and its lines are used
 * @instruction: where: @origin of a step
 * @err: out: "NAME: instruction N (FILE:LINE, "TEXT"): reason"
 * @format: printf format of the reason and what to do
 *
 * Return: always -1, so that a function can return the call.
 */
int gpumon_gpuprog_refuse(const struct gpumon_gpuprog *program, uint32_t instruction,
			  struct gpumon_error *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif /* GPUMON_GPUPROG_OBJECT_PROGRAM_H */
