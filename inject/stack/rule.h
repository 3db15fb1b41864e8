/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Rules: how to go from a return address to the frame of the caller, in a word,
 * and the table of all that were found.
 */
#ifndef GPUMON_INJECT_STACK_RULE_H
#define GPUMON_INJECT_STACK_RULE_H

#include "internal.h"

enum inject_stack_rule_kind {
	INJECT_RULE_NONE = 0,
	INJECT_RULE_RSP = 1,  /* CFA = rsp + offset */
	INJECT_RULE_RBP = 2,  /* CFA = rbp + offset */
	INJECT_RULE_LOAD = 3, /* CFA = *(rbp + displacement) + offset: of a realigned stack */
	INJECT_RULE_ROW = 4,  /* all else that .eh_frame can say */
	INJECT_RULE_END = 5,  /* the outermost frame */
	INJECT_RULE_STOP = 6, /* code, but its caller is not known */
	INJECT_RULE_BAD = 7,  /* no return address */
};

/*
 * Bits of a rule: 0-2 kind; 3-4 where the caller's rbp is; 5 a guess by frame pointer;
 * 8-31 offset of the CFA, in words; 32-47 offset of the caller's rbp, in words;
 * 48-63 displacement, in bytes. Offsets are signed.
 */
#define INJECT_RULE_KIND     7u
#define INJECT_RULE_BASE_CFA (1u << 3) /* at CFA + offset */
#define INJECT_RULE_BASE_RBP (2u << 3) /* at rbp + offset */
#define INJECT_RULE_BASE     (3u << 3) /* neither: as it is */
#define INJECT_RULE_GUESS    (1u << 5)

static inline int64_t inject_rule_offset(uint64_t rule)
{
	return ((int64_t)(int32_t)(uint32_t)rule >> 8) * 8;
}

static inline int64_t inject_rule_base_offset(uint64_t rule)
{
	return (int64_t)(int16_t)(rule >> 32) * 8;
}

static inline int64_t inject_rule_displacement(uint64_t rule)
{
	return (int64_t)(int16_t)(rule >> 48);
}

/* CFA = rbp + 16, the caller's rbp right below: what push %rbp; mov %rsp, %rbp gives. */
#define INJECT_RULE_FRAME_POINTER \
	(INJECT_RULE_RBP | INJECT_RULE_BASE_CFA | INJECT_RULE_GUESS | (2u << 8) | (0xfffeull << 32))

#define INJECT_RULE_WAYS 4
#define INJECT_RULE_BITS 13 /* lines: 512 KiB, of which only what is used becomes memory */

/* A line of the processor's cache. Written by one at a time, read by all at any time. */
struct inject_rule_line {
	struct {
		_Atomic uint64_t check;
		_Atomic uint64_t rule;
	} way[INJECT_RULE_WAYS];
} __attribute__((aligned(64)));

extern struct inject_rule_line *inject_rule_table;

static inline struct inject_rule_line *inject_rule_line(uint64_t frame)
{
	return &inject_rule_table[frame * 0x9e3779b97f4a7c15ull >> (64 - INJECT_RULE_BITS)];
}

/*
 * Two words that belong together, without a lock: one is mixed into the other, so that a pair
 * of which one half was just overwritten looks like that of another address.
 */
static inline uint64_t inject_rule_check(uint64_t frame, uint64_t salt, uint64_t rule)
{
	return frame ^ salt ^ (rule * 0xd6e8feb86659fd93ull);
}

/**
 * inject_rule_find - the rule of an address
 * @frame: address behind the one in the function
 * @salt: inject_stack_salt()
 *
 * Return: it, INJECT_RULE_NONE where it is not in the table.
 */
static inline uint64_t inject_rule_find(uint64_t frame, uint64_t salt)
{
	struct inject_rule_line *line = inject_rule_line(frame);

	for (unsigned int i = 0; i < INJECT_RULE_WAYS; i++) {
		uint64_t rule = atomic_load_explicit(&line->way[i].rule, memory_order_relaxed);
		uint64_t check = atomic_load_explicit(&line->way[i].check, memory_order_relaxed);

		if (INJECT_STACK_LIKELY(check == inject_rule_check(frame, salt, rule)) && rule)
			return rule;
	}
	return INJECT_RULE_NONE;
}

bool inject_rule_init(void);

/**
 * inject_rule_make - the rule of an address that is not in the table
 * @frame: address behind the one in the function
 * @salt: inject_stack_salt()
 * @interrupted: there need not be a call
 *
 * Return: it; INJECT_RULE_STOP, and nothing for the table, where others keep it busy.
 */
uint64_t inject_rule_make(uint64_t frame, uint64_t salt, bool interrupted);

/* inject_rule_make() for another thread's stack, whose code may be unmapped at any time. */
uint64_t inject_rule_make_foreign(uint64_t frame, uint64_t salt, bool interrupted);

/**
 * inject_rule_row - the row of an address, under the lock
 * @frame: address behind the one in the function
 * @salt: inject_stack_salt()
 * @row: filled in
 *
 * Return: false where there is none; on other machines than x86-64, which have frame pointers, always.
 */
bool inject_rule_row(uint64_t frame, uint64_t salt, struct inject_cfi_row *row);

/* For the lookups under it; false where it cannot be had soon. */
bool inject_rule_lock(void);
void inject_rule_unlock(void);

/* In a child after fork. */
void inject_rule_forked(void);

#endif /* GPUMON_INJECT_STACK_RULE_H */
