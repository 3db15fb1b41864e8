/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Types and functions that the files of the stack walker share. */
#ifndef GPUMON_INJECT_STACK_INTERNAL_H
#define GPUMON_INJECT_STACK_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../user/abi/return_address.h"
#include "walk.h"

#define INJECT_STACK_LIKELY(x)	 __builtin_expect(!!(x), 1)
#define INJECT_STACK_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* No code of a program is above this. */
#define INJECT_STACK_USER_END (1ull << 56)

/* DWARF's numbers of x86-64's registers */
enum {
	INJECT_DWARF_RBX = 3,
	INJECT_DWARF_RBP = 6,
	INJECT_DWARF_RSP = 7,
	INJECT_DWARF_R12 = 12,
	INJECT_DWARF_R15 = 15,
	INJECT_DWARF_RIP = 16,
	INJECT_DWARF_REGISTERS = 17,
};

/**
 * struct inject_stack_registers - at the entry, written by assembly
 * @rbx: and so on: what a function keeps for its caller
 */
struct inject_stack_registers {
	uint64_t rbx;
	uint64_t rbp;
	uint64_t r12;
	uint64_t r13;
	uint64_t r14;
	uint64_t r15;
	uint64_t rsp; /* as the caller will have it */
	uint64_t rip; /* return address into the caller */
};

/* Frames of a walk, and two more places (walk.c). */
#define INJECT_STACK_SLOTS (INJECT_STACK_WALK_MAX + 2)

/* In @saved: the step to the next frame loaded more than what is compared. */
#define INJECT_STACK_UNKEPT 1

/* The rbp of a frame of another thread, where no function inward of it has saved it. */
#define INJECT_STACK_NO_BASE 1

/**
 * struct inject_stack_frames - frames of a walk, the innermost first
 * @frames: what the rule of a frame is looked up with: the address behind the one that is in it
 * @stack: rsp of a frame, when the one that it called is gone: 8 behind where its @frames was loaded
 * @base: its rbp
 * @saved: where the rbp of its caller was loaded, 0 where it is the same, or INJECT_STACK_UNKEPT
 */
struct inject_stack_frames {
	uint64_t frames[INJECT_STACK_SLOTS];
	uint64_t stack[INJECT_STACK_SLOTS];
	uint64_t base[INJECT_STACK_SLOTS];
	uint64_t saved[INJECT_STACK_SLOTS];
};

/* Return addresses that a thread knows the rule of, of the usual kinds. */
#define INJECT_STACK_KNOWN	1024
#define INJECT_STACK_KNOWN_BITS 11

/**
 * struct inject_stack_known - one of them
 * @frame: address, 0 of the first one, which stands for none
 * @offset: of the CFA, in bytes
 * @base_below: how far below the CFA the caller's rbp is, in bytes; 0 where it is as it is
 * @caller: index of the one that its frame returned to last: likely the next to be looked for
 * @by_base: @offset is that from rbp, and not from rsp
 */
struct inject_stack_known {
	uint64_t frame;
	uint32_t offset;
	uint32_t base_below;
	uint16_t caller;
	bool by_base;
};

/**
 * struct inject_stack_thread - what the walker keeps for each thread
 * @low: begin of the thread's own stack
 * @high: its end
 * @readable_low: begin of pages known to be readable in this walk, on other stacks
 * @readable_high: their end
 * @switches: of stacks in this walk
 * @busy: a walk is going on; one in a signal handler must not touch this
 * @own: the last walk saw nothing but the thread's own stack
 * @has_end: it went to a frame that the rules say is the outermost
 * @count: of its frames, which are the last ones in @kept; behind them is where the last one ends
 * @same: of inject_stack_view
 * @refused: addresses that were none, or had no rule, of all walks
 * @truncated: so
 * @salt: of the rules that the last walk used
 * @registers: at the begin of the walk
 * @kept: the last walk
 * @fresh: this one, as long as it goes on
 * @known: return addresses, in the order in which they were seen; the last one is never filled
 * @known_count: of these, the first one included
 * @known_at: index by hash of the address, 0 for none
 * @walk: number of the last walk
 * @above: memory of what uses the walker, unmapped with this
 * @above_size: its bytes
 * @copy: of another thread's memory, whose stack is walked; NULL: the caller's own stack
 * @has_registers: of @copy: all registers are known
 */
struct inject_stack_thread {
	uint64_t low;
	uint64_t high;
	uint64_t readable_low;
	uint64_t readable_high;
	atomic_bool busy;
	bool own;
	bool has_end;
	bool truncated;
	unsigned int switches;
	unsigned int count;
	unsigned int same;
	unsigned int refused;
	uint64_t salt;
	struct inject_stack_registers registers;
	unsigned int known_count;
	uint64_t walk;
	void *above;
	size_t above_size;
	struct inject_stack_copy *copy;
	bool has_registers;
	struct inject_stack_frames kept;
	struct inject_stack_frames fresh;
	struct inject_stack_known known[INJECT_STACK_KNOWN + 1];
	uint16_t known_at[1u << INJECT_STACK_KNOWN_BITS];
};

/* --- thread.c */

bool inject_stack_thread_init(void);

/* State of the calling thread; NULL before its first walk. */
struct inject_stack_thread *inject_stack_thread(void);

/* Makes it; NULL where there is no memory. */
struct inject_stack_thread *inject_stack_thread_new(void);

/* The first word of what the kernel can read at an address; makes a system call. */
bool inject_stack_readable(uint64_t address);

/**
 * inject_stack_load - a word of any stack, which may be none
 * @thread: caller
 * @address: of it
 * @value: set to it
 *
 * Return: false where nothing can be read, or the address is not that of a word.
 */
bool inject_stack_load(struct inject_stack_thread *thread, uint64_t address, uint64_t *value);

/* --- other.c: memory of other threads */

struct inject_stack_other;

/* That which loads from the copies of the last walk, and of more memory of that thread. */
struct inject_stack_thread *inject_stack_other_reader(struct inject_stack_other *other);

/* A word of a copy, which is made if there is none of its page. False where nothing can be read. */
bool inject_stack_copy_load(struct inject_stack_copy *copy, uint64_t address, uint64_t *value);

/* --- module.c: what is at an address */

enum inject_stack_place_kind {
	INJECT_STACK_NOWHERE = 0,   /* nothing that can be executed */
	INJECT_STACK_MODULE = 1,    /* an object that the loader, or the kernel, mapped */
	INJECT_STACK_ANONYMOUS = 2, /* generated code */
	INJECT_STACK_UNKNOWN =
		3, /* not looked for now: maps were read so much, or may not be read */
};

/**
 * struct inject_stack_place - the executable memory around an address
 * @kind: what it is
 * @start: of the object, or of the generated code's mapping
 * @end: its end
 * @header: .eh_frame_hdr, 0 where the object has none
 */
struct inject_stack_place {
	enum inject_stack_place_kind kind;
	uint64_t start;
	uint64_t end;
	uint64_t header;
};

void inject_stack_module_init(void);

/* Under the lock of the rules. */
void inject_stack_place(uint64_t address, uint64_t salt, struct inject_stack_place *place);

/* Under the same lock: what was known is not true any more. */
void inject_stack_place_forget(void);

/* For tests: as where glibc has no _dl_find_object. */
void inject_stack_module_without_loader(void);

/**
 * struct inject_stack_foreign - under the lock of the rules: how code and its tables are read
 * @is_foreign: they may be unmapped at any time, because no stack of the caller leads there: in copies
 *              that the kernel makes
 * @is_lost: some could not be read, so that nothing is known of an address, not even that it has no rule
 */
struct inject_stack_foreign {
	bool is_foreign;
	bool is_lost;
};

extern struct inject_stack_foreign inject_stack_foreign;

/* Copies bytes where they are foreign. False, and they are lost, where that is not possible. */
bool inject_stack_copy_foreign(uint64_t address, void *to, size_t size);

/* --- code.c */

/* Is there a call in front of a return address? True also where that cannot be read. */
bool inject_stack_after_call(uint64_t address);

/* Does a function that keeps a frame pointer begin in front of an address, within a place? */
bool inject_stack_has_frame_pointer(uint64_t address, uint64_t start);

/* Is this what a signal handler returns to? */
bool inject_stack_is_restorer(uint64_t address);

/**
 * struct inject_stack_loader - where the loader counts
 * @changes: inject_stack_poll()
 * @adds: libraries loaded ever
 * @loaded: those that are there now
 * @known: @adds and @loaded are the loader's own
 */
struct inject_stack_loader {
	_Atomic uint64_t changes;
	const volatile uint64_t *adds;
	const volatile uint32_t *loaded;
	bool known;
};

extern struct inject_stack_loader inject_stack_loader;

void inject_stack_loader_init(void);

/*
 * Of all rules while no library comes or goes. Reading the loader's own words costs two loads;
 * dl_iterate_phdr(), which gives the same numbers, would take a lock that another thread may
 * hold for as long as it likes.
 */
static inline uint64_t inject_stack_salt(void)
{
	uint64_t salt = atomic_load_explicit(&inject_stack_loader.changes, memory_order_relaxed);

	salt = (salt << 48) + (*inject_stack_loader.adds << 16) + *inject_stack_loader.loaded + 1;
	return salt * 0x9e3779b97f4a7c15ull;
}

/* --- cfi.c: call frame information */

enum inject_cfi_how {
	INJECT_CFI_SAME = 0,
	INJECT_CFI_UNDEFINED,
	INJECT_CFI_OFFSET,	     /* at CFA + offset */
	INJECT_CFI_VALUE_OFFSET,     /* is CFA + offset */
	INJECT_CFI_REGISTER,	     /* in the register of that number */
	INJECT_CFI_EXPRESSION,	     /* at the address that an expression gives */
	INJECT_CFI_VALUE_EXPRESSION, /* what it gives */
};

/**
 * struct inject_cfi_value - how to find one
 * @how: enum inject_cfi_how
 * @length: bytes of the expression
 * @offset: or number of the register
 * @expression: in the object's memory
 */
struct inject_cfi_value {
	uint16_t how;
	uint16_t length;
	int64_t offset;
	const uint8_t *expression;
};

/**
 * struct inject_cfi_row - how to go from an address in a function to its caller
 * @signal: the caller was interrupted, and has not called
 * @cfa_expression: the CFA is an expression, and not a register with an offset
 * @cfa_register: number
 * @start: of the code that the row's entry is for, mostly a function
 * @end: its end
 * @base_set: where the CFA was first told by rbp, behind the instruction that has set it; 0: it was not
 * @cfa: offset, or the expression
 * @registers: by DWARF's numbers
 */
struct inject_cfi_row {
	bool signal;
	bool cfa_expression;
	uint8_t cfa_register;
	uint64_t start;
	uint64_t end;
	uint64_t base_set;
	struct inject_cfi_value cfa;
	struct inject_cfi_value registers[INJECT_DWARF_REGISTERS];
};

/**
 * inject_cfi_find - the row of an address
 * @place: object
 * @address: in an instruction, so of a return address the one in front of it
 * @row: filled in
 *
 * Return: false where there is none, or none that can be understood.
 */
bool inject_cfi_find(const struct inject_stack_place *place, uint64_t address,
		     struct inject_cfi_row *row);

/**
 * struct inject_cfi_cursor - bytes to be read, never beyond an end
 * @at: next one
 * @end: behind the last
 * @bad: something was read beyond it, or makes no sense; what was read since is 0
 * @moved: how far behind these bytes those are that they are a copy of
 */
struct inject_cfi_cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
	uint64_t moved;
};

uint64_t inject_cfi_uleb(struct inject_cfi_cursor *cursor);
int64_t inject_cfi_sleb(struct inject_cfi_cursor *cursor);
/* @size bytes, 1 to 8, little-endian */
uint64_t inject_cfi_fixed(struct inject_cfi_cursor *cursor, unsigned int size);

/* --- expression.c */

/**
 * struct inject_cfi_context - what an expression may ask
 * @thread: loads are checked by
 * @index: of the frame
 * @salt: of the walk
 * @registers: values
 * @load: a register's value that is not there: in the frame that the context is of; false where it is lost
 * @known: bit of each register whose value is there; others are looked for when they are needed
 */
struct inject_cfi_context {
	struct inject_stack_thread *thread;
	unsigned int index;
	uint64_t salt;
	bool (*load)(struct inject_cfi_context *context, uint64_t number, uint64_t *value);
	uint64_t registers[INJECT_DWARF_REGISTERS];
	uint32_t known;
};

/**
 * inject_cfi_evaluate - what an expression gives
 * @value: with the expression
 * @context: what it may ask
 * @first: on the expression's stack when it begins, the CFA; NULL: nothing
 * @result: set to it
 *
 * Return: false where it cannot be evaluated.
 */
bool inject_cfi_evaluate(const struct inject_cfi_value *value, struct inject_cfi_context *context,
			 const uint64_t *first, uint64_t *result);

/* --- walk.c */

/* Called by assembly, with the registers that it has saved. */
__attribute__((used, visibility("hidden"))) bool
inject_stack_walk_view_from(struct inject_stack_view *view, unsigned int room,
			    const struct inject_stack_registers *registers);

/* --- step.c: steps that the loop in walk.c leaves to others */

/**
 * struct inject_stack_state - where a walk is
 * @frame: address behind the one in the function
 * @stack: rsp
 * @base: rbp
 * @interrupted: the function was interrupted by a signal where it is, and has not called
 */
struct inject_stack_state {
	uint64_t frame;
	uint64_t stack;
	uint64_t base;
	bool interrupted;
};

/**
 * inject_stack_step - from a frame to that of its caller, with all loads checked
 * @thread: caller, whose @fresh frames up to this one are filled in
 * @index: of the frame
 * @rule: of it
 * @salt: that it is of
 * @state: of the frame, then of its caller; there @frame is 0 if there is none
 *
 * Return: false where it is not known.
 */
bool inject_stack_step(struct inject_stack_thread *thread, unsigned int index, uint64_t rule,
		       uint64_t salt, struct inject_stack_state *state);

#endif /* GPUMON_INJECT_STACK_INTERNAL_H */
