// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gpuprog/object/instruction.h"

#include "concrete.h"
#include "run_steps.h"

#define MAPS	  16
#define ENTRIES	  4
#define MAX_VALUE 128
/* Objects are far apart, at addresses that no sum of small numbers reaches. */
#define STACK_TOP(depth) (0x7fff00000000ull + ((uint64_t)(depth) << 20))
#define VALUE_AT(map, entry) \
	(0x123400000000ull + ((uint64_t)(map) << 24) + ((uint64_t)(entry) << 16))
#define CONTEXT_AT  0x567800000000ull
#define MAP_AT(map) (0x9abc00000000ull + ((uint64_t)(map) << 8))

/**
 * struct content - what a register or 8 bytes of the stack have
 * @kind: enum gpumon_gpuprog_reg_type; NOTHING: not set
 * @map: of VALUE and MAP
 * @depth: of STACK
 * @base: of an address: where its object begins, for a stack its top
 * @value: the number, or the address
 */
struct content {
	uint8_t kind;
	uint32_t map;
	uint32_t depth;
	uint64_t base;
	uint64_t value;
};

enum byte_state {
	BYTE_UNSET,
	BYTE_NUMBER,
	BYTE_ADDRESS
};

struct frame {
	struct content kept[4];
	uint8_t bytes[GPUMON_GPUPROG_MAX_STACK];
	uint8_t states[GPUMON_GPUPROG_MAX_STACK];
	struct content addresses[GPUMON_GPUPROG_MAX_STACK / 8];
};

struct machine {
	const struct gpumon_gpuprog *program;
	const struct gpumon_gpuprog_step *step;
	const struct gpumon_gpuprog_fact *fact;
	struct dice *dice;
	struct run_counts *counts;
	struct content shared[6];
	struct frame frames[GPUMON_GPUPROG_MAX_DEPTH];
	uint8_t values[MAPS][ENTRIES][MAX_VALUE];
	uint8_t context[sizeof(struct gpumon_gpuprog_context)];
	bool failed;
};

static char wrong[256];

static void __attribute__((format(printf, 2, 3)))
fail(struct machine *machine, const char *format, ...)
{
	va_list args;
	int n;

	if (machine->failed)
		return;
	machine->failed = true;
	n = snprintf(wrong, sizeof(wrong),
		     "step %u: ", (unsigned int)(machine->step - machine->program->steps));
	va_start(args, format);
	vsnprintf(wrong + n, sizeof(wrong) - (size_t)n, format, args);
	va_end(args);
}

static struct content number(uint64_t value)
{
	return (struct content){ .kind = GPUMON_GPUPROG_SCALAR, .value = value };
}

static struct content *slot(struct machine *machine, unsigned int reg)
{
	return reg < 6 ? &machine->shared[reg] :
			 &machine->frames[machine->step->depth].kept[reg - 6];
}

static struct content get(struct machine *machine, unsigned int reg)
{
	struct content content;

	if (reg == 10) {
		uint64_t top = STACK_TOP(machine->step->depth);

		return (struct content){ .kind = GPUMON_GPUPROG_STACK,
					 .depth = machine->step->depth,
					 .base = top,
					 .value = top };
	}
	content = *slot(machine, reg);
	if (content.kind == GPUMON_GPUPROG_NOT_INIT)
		fail(machine, "r%u is not set", reg);
	return content;
}

static uint64_t get_number(struct machine *machine, unsigned int reg)
{
	struct content content = get(machine, reg);

	if (content.kind != GPUMON_GPUPROG_SCALAR)
		fail(machine, "r%u is no number", reg);
	return content.value;
}

static void change_depth(struct machine *machine, unsigned int from, unsigned int to)
{
	for (unsigned int i = (from < to ? from : to) + 1; i < GPUMON_GPUPROG_MAX_DEPTH; i++) {
		if (from == to)
			break;
		memset(&machine->frames[i], 0, sizeof(machine->frames[i]));
	}
	if (from < to)
		machine->shared[0].kind = GPUMON_GPUPROG_NOT_INIT;
	for (unsigned int i = 1; from > to && i < 6; i++)
		machine->shared[i].kind = GPUMON_GPUPROG_NOT_INIT;
}

/**
 * struct target - where an access leads
 * @bytes: the bytes
 * @states: of a stack: what they are
 * @address: of a whole slot of a stack: its address, if it has one
 * @outside: a check stops it
 */
struct target {
	uint8_t *bytes;
	uint8_t *states;
	struct content *address;
	bool outside;
};

/* Maps of what has none are not looked at. */
static bool has_map(const struct gpumon_gpuprog_operand *operand, uint32_t map)
{
	return !operand->maps || operand->maps >> map & 1;
}

static bool check_operand(struct machine *machine, const struct content *address, int64_t offset,
			  const struct gpumon_gpuprog_operand *operand, const char *what)
{
	if (address->kind != operand->kind || !has_map(operand, address->map) ||
	    address->depth != operand->depth)
		fail(machine, "%s is of kind %u, map %u, depth %u", what, address->kind,
		     address->map, address->depth);
	else if (operand->constant && offset != operand->offset)
		fail(machine, "%s has offset %lld, not %d", what, (long long)offset,
		     operand->offset);
	else if (offset % operand->align)
		fail(machine, "%s has offset %lld, which is no multiple of %u", what,
		     (long long)offset, operand->align);
	return !machine->failed;
}

static struct target reach(struct machine *machine, const struct content *address, int64_t off,
			   unsigned int size, const struct gpumon_gpuprog_operand *operand,
			   const char *what)
{
	int64_t offset = (int64_t)(address->value + (uint64_t)off - address->base);
	struct target target = { .outside = true };
	uint32_t value_size;

	if (!check_operand(machine, address, offset, operand, what))
		return target;
	if (address->kind == GPUMON_GPUPROG_STACK) {
		struct frame *frame = &machine->frames[address->depth];

		if (address->depth > machine->step->depth)
			fail(machine, "%s leads to a stack that is gone", what);
		target.outside = offset < -GPUMON_GPUPROG_MAX_STACK || offset > -(int64_t)size;
		if (!target.outside) {
			size_t at = (size_t)(offset + GPUMON_GPUPROG_MAX_STACK);

			target.bytes = &frame->bytes[at];
			target.states = &frame->states[at];
			if (size == 8 && at % 8 == 0)
				target.address = &frame->addresses[at / 8];
			if (operand == &machine->fact->address && at % size)
				fail(machine, "%s is not aligned", what);
		}
		if (!target.outside && !operand->constant && operand->last &&
		    (offset < operand->offset || offset > operand->last))
			fail(machine, "%s has offset %lld, not %d to %d", what, (long long)offset,
			     operand->offset, operand->last);
	} else if (address->kind == GPUMON_GPUPROG_VALUE) {
		unsigned int entry = (unsigned int)(address->base >> 16) & 0xff;

		value_size = machine->program->maps[address->map].value_size;
		target.outside = offset < 0 || offset > (int64_t)value_size - (int64_t)size;
		target.bytes = &machine->values[address->map][entry][target.outside ? 0 : offset];
	} else if (address->kind == GPUMON_GPUPROG_CONTEXT) {
		target.outside = offset < 0 || offset + size > (int64_t)sizeof(machine->context);
		target.bytes = &machine->context[target.outside ? 0 : offset];
	} else {
		fail(machine, "%s is no address", what);
	}
	if (target.outside && !operand->check)
		fail(machine, "%s is outside at %lld, without a check", what, (long long)offset);
	machine->counts->outside += target.outside;
	return target;
}

static unsigned int size_of(uint8_t code)
{
	static const unsigned int sizes[] = {
		[BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8
	};

	return sizes[BPF_SIZE(code) >> 3];
}

static void check_set(struct machine *machine, const struct target *target, unsigned int size,
		      const char *what)
{
	for (unsigned int i = 0; target->states && i < size; i++)
		if (target->states[i] != BYTE_NUMBER)
			fail(machine, "byte %u of %s is no number", i, what);
}

static void run_load(struct machine *machine)
{
	const struct gpumon_gpuprog_step *step = machine->step;
	struct content address = get(machine, step->src);
	unsigned int size = size_of(step->code);
	struct target target =
		reach(machine, &address, step->off, size, &machine->fact->address, "the address");
	struct content loaded = number(0);

	machine->counts->loads++;
	if (machine->failed)
		return;
	if (!target.outside && target.address && target.states[0] == BYTE_ADDRESS) {
		*slot(machine, step->dst) = *target.address;
		return;
	}
	if (!target.outside) {
		check_set(machine, &target, size, "what is loaded");
		memcpy(&loaded.value, target.bytes, size);
	}
	if (BPF_MODE(step->code) == BPF_MEMSX)
		loaded.value =
			concrete_alu(BPF_ALU64 | BPF_MOV, (int16_t)(size * 8), 0, loaded.value);
	*slot(machine, step->dst) = loaded;
}

static void run_store(struct machine *machine)
{
	const struct gpumon_gpuprog_step *step = machine->step;
	struct content address = get(machine, step->dst);
	unsigned int size = size_of(step->code);
	struct content stored = BPF_CLASS(step->code) == BPF_ST ?
					number((uint64_t)(int64_t)step->imm) :
					get(machine, step->src);
	struct target target =
		reach(machine, &address, step->off, size, &machine->fact->address, "the address");
	bool whole = stored.kind != GPUMON_GPUPROG_SCALAR;

	machine->counts->stores++;
	if (machine->failed || target.outside)
		return;
	if (whole && !target.address)
		fail(machine, "an address gets away");
	if (address.kind == GPUMON_GPUPROG_CONTEXT ||
	    (address.kind == GPUMON_GPUPROG_VALUE && machine->program->maps[address.map].read_only))
		fail(machine, "it is read-only");
	memcpy(target.bytes, &stored.value, size);
	if (!target.states)
		return;
	/* What is left of an address is of no use. */
	for (unsigned int i = 0; i < GPUMON_GPUPROG_MAX_STACK; i++) {
		struct frame *frame = &machine->frames[address.depth];
		unsigned int at = (unsigned int)(target.states - frame->states);

		if (i / 8 >= at / 8 && i / 8 <= (at + size - 1) / 8 &&
		    frame->states[i] == BYTE_ADDRESS)
			frame->states[i] = BYTE_UNSET;
	}
	memset(target.states, whole ? BYTE_ADDRESS : BYTE_NUMBER, size);
	if (whole)
		*target.address = stored;
}

static void run_atomic(struct machine *machine)
{
	const struct gpumon_gpuprog_step *step = machine->step;
	struct content address = get(machine, step->dst);
	unsigned int size = size_of(step->code);
	uint64_t mask = size == 8 ? UINT64_MAX : UINT32_MAX, old = 0, after;
	uint64_t operand = get_number(machine, step->src) & mask;
	struct target target =
		reach(machine, &address, step->off, size, &machine->fact->address, "the address");

	machine->counts->atomics++;
	if (address.kind != GPUMON_GPUPROG_VALUE)
		fail(machine, "an atomic operation of no value");
	else if (machine->program->maps[address.map].read_only)
		fail(machine, "it is read-only");
	else if ((address.value + (uint64_t)step->off) % size)
		fail(machine, "an atomic operation that is not aligned");
	if (machine->failed)
		return;
	if (!target.outside) {
		uint64_t compare = step->imm == BPF_CMPXCHG ? get_number(machine, 0) & mask : 0;

		memcpy(&old, target.bytes, size);
		after = concrete_atomic(step->imm, old, operand, compare);
		memcpy(target.bytes, &after, size);
	}
	if (step->imm == BPF_CMPXCHG)
		*slot(machine, 0) = number(old);
	else if (step->imm & BPF_FETCH)
		*slot(machine, step->src) = number(old);
}

static void run_alu(struct machine *machine)
{
	const struct gpumon_gpuprog_step *step = machine->step;
	uint8_t op = BPF_OP(step->code);
	struct content left = number(0), right = number((uint64_t)(int64_t)step->imm);
	bool is_address;

	if (BPF_SRC(step->code) == BPF_X && op != BPF_END)
		right = get(machine, step->src);
	if (op != BPF_MOV)
		left = get(machine, step->dst);
	is_address = left.kind != GPUMON_GPUPROG_SCALAR || right.kind != GPUMON_GPUPROG_SCALAR;
	if (op == BPF_MOV && is_address) {
		if (step->code != (BPF_ALU64 | BPF_MOV | BPF_X) || step->off)
			fail(machine, "part of an address");
		*slot(machine, step->dst) = right;
	} else if (is_address) {
		struct content moved = left.kind == GPUMON_GPUPROG_SCALAR ? right : left;
		bool distance = left.kind != GPUMON_GPUPROG_SCALAR &&
				right.kind != GPUMON_GPUPROG_SCALAR;

		if (BPF_CLASS(step->code) != BPF_ALU64 || moved.kind == GPUMON_GPUPROG_MAP ||
		    (op != BPF_ADD && op != BPF_SUB) || (op == BPF_ADD && distance) ||
		    (op == BPF_SUB && left.kind == GPUMON_GPUPROG_SCALAR) ||
		    (distance && (left.kind != right.kind || left.map != right.map)))
			fail(machine, "an address becomes garbage");
		moved.value = op == BPF_ADD ? left.value + right.value : left.value - right.value;
		/* Of two entries it is not known, but it is a number. */
		*slot(machine, step->dst) = distance ? number(moved.value) : moved;
	} else {
		*slot(machine, step->dst) =
			number(concrete_alu(step->code, step->off, left.value, right.value));
	}
}

/* Returns whether the jump is taken. */
static bool run_jump(struct machine *machine)
{
	const struct gpumon_gpuprog_step *step = machine->step;
	const struct gpumon_gpuprog_fact *fact = machine->fact;
	struct content left = get(machine, step->dst);
	struct content right = BPF_SRC(step->code) == BPF_X ? get(machine, step->src) :
							      number((uint64_t)(int64_t)step->imm);
	bool null = (left.kind == GPUMON_GPUPROG_SCALAR && !left.value) ||
		    (right.kind == GPUMON_GPUPROG_SCALAR && !right.value);
	bool taken;

	if (left.kind != right.kind && !null)
		fail(machine, "an address is compared with a number");
	if ((left.kind != GPUMON_GPUPROG_SCALAR || right.kind != GPUMON_GPUPROG_SCALAR) &&
	    BPF_CLASS(step->code) == BPF_JMP32)
		fail(machine, "part of an address is compared");
	if (machine->failed)
		return false;
	taken = concrete_jump(step->code, left.value, right.value);
	if (taken ? !fact->jumps : !fact->falls_through)
		fail(machine, "the jump is%s taken", taken ? "" : " not");
	return taken;
}

static void check_readable(struct machine *machine, unsigned int number, unsigned int size)
{
	struct content address = get(machine, number);
	char what[16];
	struct target target;

	snprintf(what, sizeof(what), "argument %u", number);
	target = reach(machine, &address, 0, size, &machine->fact->arguments[number - 1], what);
	if (!machine->failed)
		check_set(machine, &target, size, what);
}

static void write_out(struct machine *machine, unsigned int number)
{
	struct content address = get(machine, number);
	uint64_t value = dice_number(machine->dice);
	struct target target = reach(machine, &address, 0, 8, &machine->fact->arguments[number - 1],
				     "what is set");

	if (machine->failed)
		return;
	memcpy(target.bytes, &value, 8);
	if (target.states)
		memset(target.states, BYTE_NUMBER, 8);
}

static void check_argument(struct machine *machine, enum gpumon_gpuprog_argument kind,
			   unsigned int number, const struct gpumon_gpuprog_map **map)
{
	const struct gpumon_gpuprog_operand *operand = &machine->fact->arguments[number - 1];
	uint64_t value;

	switch (kind) {
	case GPUMON_GPUPROG_ARG_NONE:
	case GPUMON_GPUPROG_ARG_TEXT:
		return;
	case GPUMON_GPUPROG_ARG_PRINTED:
		if (operand->kind == GPUMON_GPUPROG_NOT_INIT)
			return;
		break;
	case GPUMON_GPUPROG_ARG_ANY:
		get(machine, number);
		return;
	case GPUMON_GPUPROG_ARG_MAP:
		if (get(machine, number).kind != GPUMON_GPUPROG_MAP ||
		    !has_map(operand, get(machine, number).map))
			fail(machine, "argument %u is not map %u", number, operand->map);
		*map = &machine->program->maps[get(machine, number).map];
		return;
	case GPUMON_GPUPROG_ARG_KEY:
		check_readable(machine, number, (*map)->key_size);
		return;
	case GPUMON_GPUPROG_ARG_VALUE:
		check_readable(machine, number, (*map)->value_size);
		return;
	case GPUMON_GPUPROG_ARG_MEMORY:
		check_readable(machine, number, (unsigned int)get_number(machine, number + 1));
		return;
	case GPUMON_GPUPROG_ARG_OUT_U64:
		write_out(machine, number);
		return;
	default:
		break;
	}
	value = get_number(machine, number);
	if (operand->kind != GPUMON_GPUPROG_SCALAR ||
	    (operand->constant && operand->value != value))
		fail(machine, "argument %u is the number %llu", number, (unsigned long long)value);
}

static void run_call(struct machine *machine)
{
	const struct gpumon_gpuprog_helper *helper =
		gpumon_gpuprog_helper_find((uint32_t)machine->step->imm);
	const struct gpumon_gpuprog_map *map = NULL;
	uint32_t map_number;

	machine->counts->calls++;
	for (unsigned int i = 1; i <= 5 && !machine->failed; i++)
		check_argument(machine, helper->arguments[i - 1], i, &map);
	for (unsigned int i = 1; i <= 5; i++)
		machine->shared[i].kind = GPUMON_GPUPROG_NOT_INIT;
	machine->shared[0] = number(dice_number(machine->dice));
	if (helper->result != GPUMON_GPUPROG_RESULT_VALUE_OR_NULL || !map)
		return;
	map_number = (uint32_t)(map - machine->program->maps);
	machine->shared[0] = number(0);
	if (!dice_once_in(machine->dice, 4)) {
		uint64_t base = VALUE_AT(map_number, dice_below(machine->dice, ENTRIES));

		machine->shared[0] = (struct content){
			.kind = GPUMON_GPUPROG_VALUE, .map = map_number, .base = base, .value = base
		};
	}
}

static void run_wide_constant(struct machine *machine)
{
	const struct gpumon_gpuprog_step *step = machine->step;
	struct content *to = slot(machine, step->dst);

	*to = number(step->value);
	if (step->src == BPF_PSEUDO_MAP_IDX)
		*to = (struct content){ .kind = GPUMON_GPUPROG_MAP,
					.map = step->map,
					.value = MAP_AT(step->map) };
	if (step->src == BPF_PSEUDO_MAP_IDX_VALUE)
		*to = (struct content){ .kind = GPUMON_GPUPROG_VALUE,
					.map = step->map,
					.base = VALUE_AT(step->map, 0),
					.value = VALUE_AT(step->map, 0) + step->value };
}

/* Returns the next step. */
static uint32_t run_step(struct machine *machine, uint32_t at)
{
	const struct gpumon_gpuprog_step *step = machine->step;

	switch (BPF_CLASS(step->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		run_alu(machine);
		break;
	case BPF_LD:
		run_wide_constant(machine);
		break;
	case BPF_LDX:
		run_load(machine);
		break;
	case BPF_ST:
		run_store(machine);
		break;
	case BPF_STX:
		if (BPF_MODE(step->code) == BPF_ATOMIC)
			run_atomic(machine);
		else
			run_store(machine);
		break;
	default:
		if (step->code == (BPF_JMP | BPF_CALL))
			run_call(machine);
		else if (BPF_OP(step->code) == BPF_JA || run_jump(machine))
			return step->target;
	}
	return at + 1;
}

static void fill(struct machine *machine)
{
	for (uint32_t map = 0; map < machine->program->maps_n; map++) {
		const struct gpumon_gpuprog_map *from = &machine->program->maps[map];

		for (unsigned int entry = 0; entry < ENTRIES; entry++) {
			uint8_t *value = machine->values[map][entry];

			for (unsigned int i = 0; i < MAX_VALUE; i += 8)
				*(uint64_t *)&value[i] = dice_number(machine->dice);
			if (from->data)
				memcpy(value, from->data, from->value_size);
		}
	}
	for (unsigned int i = 0; i < sizeof(machine->context); i += 8)
		*(uint64_t *)&machine->context[i] = dice_number(machine->dice);
}

const char *run_steps(const struct gpumon_gpuprog *program, const struct gpumon_gpuprog_fact *facts,
		      struct dice *dice, unsigned int fuel, struct run_counts *counts)
{
	static struct machine machine;
	uint32_t at = 0;

	memset(&machine, 0, sizeof(machine));
	machine.program = program;
	machine.dice = dice;
	machine.counts = counts;
	fill(&machine);
	machine.shared[1] = number(0);
	if (program->point == GPUMON_GPUPROG_MEMORY || program->point == GPUMON_GPUPROG_ATOMIC ||
	    program->point == GPUMON_GPUPROG_BARRIER)
		machine.shared[1] = (struct content){ .kind = GPUMON_GPUPROG_CONTEXT,
						      .base = CONTEXT_AT,
						      .value = CONTEXT_AT };
	while (fuel-- && !machine.failed) {
		uint32_t before = at;

		machine.step = &program->steps[at];
		machine.fact = &facts[at];
		if (!machine.fact->reached)
			fail(&machine, "it was not to be reached");
		if (machine.step->code == (BPF_JMP | BPF_EXIT))
			break;
		counts->steps++;
		at = run_step(&machine, at);
		if (at <= before && !machine.fact->back_edge)
			fail(&machine, "it goes back without fuel");
		change_depth(&machine, machine.step->depth, program->steps[at].depth);
	}
	return machine.failed ? wrong : NULL;
}
