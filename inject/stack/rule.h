/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Rules: how to go from a return address to the frame of the caller, in a word,
 * and the table of all that were found.
 */
#ifndef GPUMON_INJECT_STACK_RULE_H
#define GPUMON_INJECT_STACK_RULE_H

#include "internal.h"

enum gpumon_stack_rule_kind {
	GPUMON_RULE_NONE = 0,
	GPUMON_RULE_RSP = 1,  /* CFA = rsp + offset */
	GPUMON_RULE_RBP = 2,  /* CFA = rbp + offset */
	GPUMON_RULE_LOAD = 3, /* CFA = *(rbp + displacement) + offset: of a realigned stack */
	GPUMON_RULE_ROW = 4,  /* all else that .eh_frame can say */
	GPUMON_RULE_END = 5,  /* the outermost frame */
	GPUMON_RULE_STOP = 6, /* code, but its caller is not known */
	GPUMON_RULE_BAD = 7,  /* no return address */
};

/*
 * Bits of a rule: 0-2 kind; 3-4 where the caller's rbp is; 5 a guess by frame pointer;
 * 8-31 offset of the CFA, in words; 32-47 offset of the caller's rbp, in words;
 * 48-63 displacement, in bytes. Offsets are signed.
 */
#define GPUMON_RULE_KIND     7u
#define GPUMON_RULE_BASE_CFA (1u << 3) /* at CFA + offset */
#define GPUMON_RULE_BASE_RBP (2u << 3) /* at rbp + offset */
#define GPUMON_RULE_BASE     (3u << 3) /* neither: as it is */
#define GPUMON_RULE_GUESS    (1u << 5)

static inline int64_t gpumon_rule_offset(uint64_t rule)
{
	return ((int64_t)(int32_t)(uint32_t)rule >> 8) * 8;
}

static inline int64_t gpumon_rule_base_offset(uint64_t rule)
{
	return (int64_t)(int16_t)(rule >> 32) * 8;
}

static inline int64_t gpumon_rule_displacement(uint64_t rule)
{
	return (int64_t)(int16_t)(rule >> 48);
}

/* CFA = rbp + 16, the caller's rbp right below: what push %rbp; mov %rsp, %rbp gives. */
#define GPUMON_RULE_FRAME_POINTER \
	(GPUMON_RULE_RBP | GPUMON_RULE_BASE_CFA | GPUMON_RULE_GUESS | (2u << 8) | (0xfffeull << 32))

#define GPUMON_RULE_WAYS 4
#define GPUMON_RULE_BITS 13 /* lines: 512 KiB, of which only what is used becomes memory */

/* A line of the processor's cache. Written by one at a time, read by all at any time. */
struct gpumon_rule_line {
	struct {
		_Atomic uint64_t check;
		_Atomic uint64_t rule;
	} way[GPUMON_RULE_WAYS];
} __attribute__((aligned(64)));

extern struct gpumon_rule_line *gpumon_rule_table;

static inline struct gpumon_rule_line *gpumon_rule_line(uint64_t frame)
{
	return &gpumon_rule_table[frame * 0x9e3779b97f4a7c15ull >> (64 - GPUMON_RULE_BITS)];
}

/*
 * Two words that belong together, without a lock: one is mixed into the other, so that a pair
 * of which one half was just overwritten looks like that of another address.
 */
static inline uint64_t gpumon_rule_check(uint64_t frame, uint64_t salt, uint64_t rule)
{
	return frame ^ salt ^ (rule * 0xd6e8feb86659fd93ull);
}

/**
 * gpumon_rule_find - the rule of an address
 * @frame: address behind the one in the function
 * @salt: gpumon_stack_salt()
 *
 * Return: it, GPUMON_RULE_NONE where it is not in the table.
 */
static inline uint64_t gpumon_rule_find(uint64_t frame, uint64_t salt)
{
	struct gpumon_rule_line *line = gpumon_rule_line(frame);

	for (unsigned int i = 0; i < GPUMON_RULE_WAYS; i++) {
		uint64_t rule = atomic_load_explicit(&line->way[i].rule, memory_order_relaxed);
		uint64_t check = atomic_load_explicit(&line->way[i].check, memory_order_relaxed);

		if (GPUMON_STACK_LIKELY(check == gpumon_rule_check(frame, salt, rule)) && rule)
			return rule;
	}
	return GPUMON_RULE_NONE;
}

bool gpumon_rule_init(void);

/**
 * gpumon_rule_make - the rule of an address that is not in the table
 * @frame: address behind the one in the function
 * @salt: gpumon_stack_salt()
 * @interrupted: there need not be a call
 *
 * Return: it; GPUMON_RULE_STOP, and nothing for the table, where others keep it busy.
 */
uint64_t gpumon_rule_make(uint64_t frame, uint64_t salt, bool interrupted);

/**
 * gpumon_rule_row - the row of an address, under the lock
 * @frame: address behind the one in the function
 * @salt: gpumon_stack_salt()
 * @row: filled in
 *
 * Return: false where there is none.
 */
bool gpumon_rule_row(uint64_t frame, uint64_t salt, struct gpumon_cfi_row *row);

/* For the lookups under it; false where it cannot be had soon. */
bool gpumon_rule_lock(void);
void gpumon_rule_unlock(void);

/* In a child after fork. */
void gpumon_rule_forked(void);

#endif /* GPUMON_INJECT_STACK_RULE_H */
