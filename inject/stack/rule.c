// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Makes rules from what is at an address; rule.h says what they are. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/inject.h"
#include "base/threads.h"
#include "rule.h"

/*
 * How long a walk waits for another thread's rules before it gives up. These take microseconds, but
 * where there are more threads than processors the one that makes them may be kept waiting. And
 * so often it has looked then: time passes in a program that is stopped, or whose machine is.
 */
#define LOCK_WAIT_NS 250000000u
#define LOCK_YIELDS  50
#define LOCK_NAPS    500
#define LOCK_NAP_NS  100000l

struct inject_rule_line *inject_rule_table;

static atomic_flag busy = ATOMIC_FLAG_INIT;

static void find_coroutine_end(void);

bool inject_rule_init(void)
{
	void *table;

	if (inject_rule_table)
		return true;
	table = mmap(NULL, sizeof(*inject_rule_table) << INJECT_RULE_BITS, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (table == MAP_FAILED)
		return false;
	inject_rule_table = table;
	find_coroutine_end();
	return true;
}

bool inject_rule_lock(void)
{
	int kept = errno; /* a signal ends a nap */
	bool is_mine = true;
	uint64_t end = 0;

	for (unsigned int i = 0; atomic_flag_test_and_set_explicit(&busy, memory_order_acquire);
	     i++) {
		if (!end) {
			end = inject_now() + LOCK_WAIT_NS;
		} else if (i >= LOCK_YIELDS + LOCK_NAPS && inject_now() > end) {
			is_mine = false;
			break;
		}
		if (i < LOCK_YIELDS)
			inject_sleep(0);
		else
			inject_sleep(LOCK_NAP_NS);
	}
	errno = kept;
	return is_mine;
}

void inject_rule_unlock(void)
{
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

void inject_rule_forked(void)
{
	/* The thread that held the lock is not in the child, and may have stopped half-way. */
	inject_stack_place_forget();
	inject_rule_unlock();
}

#ifdef __x86_64__

static bool fits_bits(int64_t value, unsigned int bits)
{
	return value >= -(1ll << (bits - 1)) && value < 1ll << (bits - 1);
}

/* An expression that is a register with an offset, and whether a load follows. */
static bool simple_expression(const struct inject_cfi_value *value, uint8_t number, bool loaded,
			      int64_t *displacement, int64_t *offset)
{
	struct inject_cfi_cursor code = { value->expression, value->expression + value->length,
					  false, 0 };

	*offset = 0;
	if (inject_cfi_fixed(&code, 1) != 0x70u + number) /* DW_OP_breg */
		return false;
	*displacement = inject_cfi_sleb(&code);
	if (loaded && inject_cfi_fixed(&code, 1) != 0x06) /* DW_OP_deref */
		return false;
	if (loaded && code.at < code.end) {
		if (inject_cfi_fixed(&code, 1) != 0x23) /* DW_OP_plus_uconst */
			return false;
		*offset = (int64_t)inject_cfi_uleb(&code);
	}
	return !code.bad && code.at == code.end;
}

/* A row in a word, or INJECT_RULE_ROW. */
static uint64_t encode_rule(const struct inject_cfi_row *row)
{
	const struct inject_cfi_value *base = &row->registers[INJECT_DWARF_RBP];
	const struct inject_cfi_value *back = &row->registers[INJECT_DWARF_RIP];
	int64_t displacement = 0;
	int64_t base_offset = 0;
	int64_t unused;
	int64_t offset;
	uint64_t rule;

	if (back->how == INJECT_CFI_UNDEFINED && !row->signal)
		return INJECT_RULE_END;
	if (row->signal || back->how != INJECT_CFI_OFFSET || back->offset != -8 ||
	    row->registers[INJECT_DWARF_RSP].how != INJECT_CFI_SAME)
		return INJECT_RULE_ROW;

	if (row->cfa_expression) {
		if (!simple_expression(&row->cfa, INJECT_DWARF_RBP, true, &displacement, &offset))
			return INJECT_RULE_ROW;
		rule = INJECT_RULE_LOAD;
	} else if (row->cfa_register == INJECT_DWARF_RSP) {
		offset = row->cfa.offset;
		rule = INJECT_RULE_RSP;
	} else if (row->cfa_register == INJECT_DWARF_RBP) {
		offset = row->cfa.offset;
		rule = INJECT_RULE_RBP;
	} else {
		return INJECT_RULE_ROW;
	}

	if (base->how == INJECT_CFI_OFFSET) {
		base_offset = base->offset;
		rule |= INJECT_RULE_BASE_CFA;
	} else if (base->how == INJECT_CFI_EXPRESSION &&
		   simple_expression(base, INJECT_DWARF_RBP, false, &base_offset, &unused)) {
		rule |= INJECT_RULE_BASE_RBP;
	} else if (base->how != INJECT_CFI_SAME && base->how != INJECT_CFI_UNDEFINED) {
		return INJECT_RULE_ROW;
	}
	if (offset & 7 || base_offset & 7 || !fits_bits(offset / 8, 24) ||
	    !fits_bits(base_offset / 8, 16) || !fits_bits(displacement, 16))
		return INJECT_RULE_ROW;
	return rule | ((uint64_t)(offset / 8) & 0xffffff) << 8 |
	       ((uint64_t)(base_offset / 8) & 0xffff) << 32 | (uint64_t)displacement << 48;
}

/*
 * What a handler returns to has no call frame information in musl: where the kernel has put
 * the registers, in words behind rsp, is part of its ABI.
 */
static bool restorer_row(uint64_t frame, struct inject_cfi_row *row)
{
	static const uint8_t at[INJECT_DWARF_REGISTERS][3] = {
		[INJECT_DWARF_RBX] = { 0x77, 0x80, 0x01 },     /* DW_OP_breg7 128 */
		[INJECT_DWARF_RBP] = { 0x77, 0xf8, 0x00 },     /* 120 */
		[INJECT_DWARF_RSP] = { 0x77, 0xa0, 0x01 },     /* 160 */
		[INJECT_DWARF_R12] = { 0x77, 0xc8, 0x00 },     /* 72 */
		[INJECT_DWARF_R12 + 1] = { 0x77, 0xd0, 0x00 }, /* 80 */
		[INJECT_DWARF_R12 + 2] = { 0x77, 0xd8, 0x00 }, /* 88 */
		[INJECT_DWARF_R15] = { 0x77, 0xe0, 0x00 },     /* 96 */
		[INJECT_DWARF_RIP] = { 0x77, 0xa8, 0x01 },     /* 168 */
	};
	static const uint8_t cfa[] = { 0x77, 0xa0, 0x01, 0x06 }; /* and DW_OP_deref */

	if (!inject_stack_is_restorer(frame))
		return false;
	memset(row, 0, sizeof(*row));
	row->signal = true;
	row->cfa_expression = true;
	row->cfa.how = INJECT_CFI_VALUE_EXPRESSION;
	row->cfa.expression = cfa;
	row->cfa.length = sizeof(cfa);
	for (unsigned int i = 0; i < INJECT_DWARF_REGISTERS; i++) {
		if (!at[i][0])
			continue;
		row->registers[i].how = INJECT_CFI_EXPRESSION;
		row->registers[i].expression = at[i];
		row->registers[i].length = sizeof(at[i]);
	}
	return true;
}

bool inject_rule_row(uint64_t frame, uint64_t salt, struct inject_cfi_row *row)
{
	struct inject_stack_place place;

	inject_stack_place(frame - 1, salt, &place);
	return place.kind == INJECT_STACK_MODULE &&
	       (inject_cfi_find(&place, frame - 1, row) || restorer_row(frame, row));
}

/*
 * What a coroutine's function returns to. glibc has no rule for it, and it is the begin of a
 * function, which would otherwise not count as a return address. 0: not known.
 */
static uint64_t coroutine_end;

#ifdef __GLIBC__

static void never_called(void)
{
}

static void find_coroutine_end(void)
{
	uint64_t stack[64];
	ucontext_t context;

	if (getcontext(&context))
		return;
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = sizeof(stack);
	context.uc_link = NULL;
	makecontext(&context, never_called, 0);
	coroutine_end = *(uint64_t *)(uintptr_t)context.uc_mcontext.gregs[REG_RSP];
}

#else

static void find_coroutine_end(void)
{
}

#endif

static uint64_t make_rule(uint64_t frame, uint64_t salt, bool interrupted)
{
	struct inject_stack_place place;
	struct inject_cfi_row row;
	bool called;

	inject_stack_place(frame - 1, salt, &place);
	if (place.kind == INJECT_STACK_UNKNOWN)
		return INJECT_RULE_NONE;
	if (place.kind == INJECT_STACK_NOWHERE)
		return INJECT_RULE_BAD;
	if (frame == coroutine_end)
		return INJECT_RULE_END;
	called = interrupted || inject_stack_after_call(frame);
	if (place.kind == INJECT_STACK_MODULE) {
		if (inject_cfi_find(&place, frame - 1, &row)) {
			if (called || row.signal)
				return encode_rule(&row);
			return INJECT_RULE_BAD;
		}
		if (restorer_row(frame, &row))
			return encode_rule(&row);
	}
	if (!called)
		return INJECT_RULE_BAD;
	if (inject_stack_has_frame_pointer(frame - 1, place.start))
		return INJECT_RULE_FRAME_POINTER;
	/* Assembly that begins a program has nothing but an rbp of 0 to say so. */
	return INJECT_RULE_STOP | (place.kind == INJECT_STACK_MODULE ? INJECT_RULE_GUESS : 0);
}

#else

static void find_coroutine_end(void)
{
}

bool inject_rule_row(uint64_t frame, uint64_t salt, struct inject_cfi_row *row)
{
	(void)frame;
	(void)salt;
	(void)row;
	return false;
}

/* Elsewhere frame pointers are part of the ABI. */
static uint64_t make_rule(uint64_t frame, uint64_t salt, bool interrupted)
{
	struct inject_stack_place place;

	inject_stack_place(frame - 1, salt, &place);
	if (place.kind == INJECT_STACK_UNKNOWN)
		return INJECT_RULE_NONE;
	if (place.kind == INJECT_STACK_NOWHERE || (!interrupted && !inject_stack_after_call(frame)))
		return INJECT_RULE_BAD;
	return INJECT_RULE_FRAME_POINTER;
}

#endif

static void keep_rule(uint64_t frame, uint64_t salt, uint64_t rule)
{
	static unsigned int turn;
	struct inject_rule_line *line = inject_rule_line(frame);
	unsigned int way = turn++ % INJECT_RULE_WAYS;

	for (unsigned int i = 0; i < INJECT_RULE_WAYS; i++) {
		uint64_t old = atomic_load_explicit(&line->way[i].rule, memory_order_relaxed);
		uint64_t check = atomic_load_explicit(&line->way[i].check, memory_order_relaxed);

		/* Free, or of this address already. */
		if (!old || check == inject_rule_check(frame, salt, old)) {
			way = i;
			break;
		}
	}
	atomic_store_explicit(&line->way[way].check, inject_rule_check(frame, salt, rule),
			      memory_order_relaxed);
	atomic_store_explicit(&line->way[way].rule, rule, memory_order_relaxed);
}

static uint64_t make_and_keep(uint64_t frame, uint64_t salt, bool interrupted, bool is_foreign)
{
	int kept = errno; /* a program's launch sets none */
	uint64_t rule;

	if (frame < 4096 || frame >= INJECT_STACK_USER_END)
		return INJECT_RULE_BAD;
	if (!inject_rule_lock())
		return INJECT_RULE_STOP;
	inject_stack_foreign = (struct inject_stack_foreign){ .is_foreign = is_foreign };
	rule = make_rule(frame, salt, interrupted);
	if (inject_stack_foreign.is_lost)
		rule = INJECT_RULE_NONE;
	inject_stack_foreign.is_foreign = false;
	if (rule)
		keep_rule(frame, salt, rule);
	else
		rule = INJECT_RULE_BAD;
	inject_rule_unlock();
	errno = kept;
	return rule;
}

uint64_t inject_rule_make(uint64_t frame, uint64_t salt, bool interrupted)
{
	return make_and_keep(frame, salt, interrupted, false);
}

uint64_t inject_rule_make_foreign(uint64_t frame, uint64_t salt, bool interrupted)
{
	return make_and_keep(frame, salt, interrupted, true);
}
