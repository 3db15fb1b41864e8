/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * An interpreter of the PTX that gpumon_gpuprog_translate() writes. It is strict: what it does not know,
 * what PTX leaves open (division by 0), an access outside of memory or off its alignment, and any use
 * of a register that was not set are failures.
 */
#ifndef PROBE_PTX_H
#define PROBE_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTX_LANES	 32
#define PTX_MAX_OPERANDS 5
#define PTX_MAX_LOCAL	 8192

enum ptx_operand_kind {
	PTX_NONE,
	PTX_WIDE,      /* %gd */
	PTX_WORD,      /* %gw */
	PTX_PREDICATE, /* %gp */
	PTX_NUMBER,
	PTX_MEMORY,  /* [register or symbol + number] */
	PTX_LABEL,   /* of an instruction */
	PTX_PAIR,    /* {%gw, %gw} */
	PTX_SPECIAL, /* %tid.x and what surrounds the block */
	PTX_SYMBOL,  /* variable in .local */
};

struct ptx_operand {
	enum ptx_operand_kind kind;
	enum ptx_operand_kind
		base; /* of PTX_MEMORY: PTX_WIDE, PTX_SYMBOL, PTX_SPECIAL (PTX_SPECIALS: the table) */
	uint32_t reg;
	uint32_t other; /* second of a pair */
	int64_t value;
};

struct ptx_instruction {
	const struct ptx_op *op;
	char name[40];
	int guard; /* predicate, or -1 */
	bool guard_not;
	int modifier; /* of setp.X.and: whether there is a fourth operand */
	struct ptx_operand operands[PTX_MAX_OPERANDS];
	uint32_t operands_n;
	uint32_t line;
};

struct ptx_local {
	char name[24];
	uint32_t offset;
	uint32_t size;
};

struct ptx_block {
	struct ptx_instruction *code;
	uint32_t code_n;
	uint32_t wides, words, predicates;
	struct ptx_local locals[8];
	uint32_t locals_n;
	uint32_t local_bytes;
};

/* Special registers, by lane. */
enum ptx_special {
	PTX_TID_X,
	PTX_TID_Y,
	PTX_TID_Z,
	PTX_NTID_X,
	PTX_NTID_Y,
	PTX_NTID_Z,
	PTX_CTAID_X,
	PTX_CTAID_Y,
	PTX_CTAID_Z,
	PTX_NCTAID_X,
	PTX_NCTAID_Y,
	PTX_NCTAID_Z,
	PTX_SMID,
	PTX_WARPID,
	PTX_LANEID,
	PTX_LANEMASK_LT,
	PTX_GLOBALTIMER,
	PTX_CLOCK64,
	PTX_GRIDID,
	PTX_KERNEL,
	PTX_ADDRESS,
	PTX_LINE,
	PTX_SIZE,
	PTX_FLAGS,
	PTX_TABLE_AT, /* of a patch: address of the table */
	PTX_KEPT,     /* 4 of them; only these are written */
	PTX_SPECIALS = PTX_KEPT + 4
};

struct ptx_value {
	uint64_t bits;
	bool set;
};

struct ptx_lane {
	bool live;
	bool exited; /* by exit, not by reaching the end */
	uint32_t pc;
	uint64_t special[PTX_SPECIALS];
	struct ptx_value *wides, *words, *predicates;
	uint8_t *local;
	bool *local_set;
};

struct ptx_warp {
	struct ptx_lane lanes[PTX_LANES];
};

/* A piece of the GPU's memory. */
struct ptx_region {
	uint64_t address;
	uint64_t size;
	uint8_t *bytes;
	bool read_only;
};

/**
 * struct ptx_machine - what runs a block
 * @block: code
 * @table: content of gpumon_probe_table
 * @table_n: its entries
 * @regions: memory
 * @regions_n: how many
 * @warps: lanes; those with @live run
 * @warps_n: how many
 * @random: state of the scheduler; 0: lanes stay together as far as they can
 * @steps: instructions that may still be executed
 * @watch: called after each instruction with @watcher; may look at the memory; or NULL
 * @watcher: for @watch
 * @error: what went wrong
 */
struct ptx_machine {
	const struct ptx_block *block;
	const uint64_t *table;
	uint32_t table_n;
	struct ptx_region *regions;
	uint32_t regions_n;
	struct ptx_warp *warps;
	uint32_t warps_n;
	uint64_t random;
	uint64_t steps;
	void (*watch)(void *watcher);
	void *watcher;
	char error[256];
};

/* One kind of instruction. */
struct ptx_op {
	const char *name;
	int (*run)(struct ptx_machine *machine, struct ptx_warp *warp, uint32_t group,
		   const struct ptx_instruction *instruction);
	uint8_t size;	  /* bytes of what it works on */
	bool sign;	  /* it is signed */
	uint8_t operands; /* how many it has */
	bool sync;	  /* all lanes of its last operand run it together */
	uint8_t what;
};

const struct ptx_op *ptx_op_find(const char *name);

/* Parse a block. Return: NULL with @error, or to be freed by ptx_free(). */
struct ptx_block *ptx_parse(const char *text, char error[256]);
void ptx_free(struct ptx_block *block);

/* Give the lanes registers for a block, and set their lane numbers. */
void ptx_warp_init(struct ptx_warp *warp, const struct ptx_block *block);
void ptx_warp_clear(struct ptx_warp *warp);
/* Run to the end of all lanes. Return: 0, or -1 with @error. */
int ptx_run(struct ptx_machine *machine);

#endif /* PROBE_PTX_H */
