// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <byteswap.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpuprog/object/instruction.h"
#include "reference.h"

struct run {
	struct reference *reference;
	uint64_t regs[6 + GPUMON_GPUPROG_MAX_DEPTH * 5];
	uint8_t stack[GPUMON_GPUPROG_MAX_DEPTH][GPUMON_GPUPROG_MAX_STACK]
		__attribute__((aligned(8)));
	uint32_t pc;
	bool over;
};

static int fail(struct run *run, const char *why, uint64_t what)
{
	snprintf(run->reference->error, sizeof(run->reference->error), "step %u: %s 0x%llx",
		 run->pc, why, (unsigned long long)what);
	return -1;
}

static uint32_t stride(const struct gpumon_gpuprog_map *map)
{
	return (map->value_size + 7) & ~7u;
}

void reference_init(struct reference *reference, const struct gpumon_gpuprog *program)
{
	uint32_t i;

	memset(reference, 0, sizeof(*reference));
	reference->program = program;
	reference->limit = 1 << 20;
	reference->maps = calloc(program->maps_n + 1, sizeof(*reference->maps));
	for (i = 0; i < program->maps_n; i++) {
		const struct gpumon_gpuprog_map *map = &program->maps[i];
		uint32_t entries = map->kind == GPUMON_GPUPROG_MAP_DATA ? 1 : map->max_entries;

		reference->maps[i].values = calloc(entries, stride(map));
		reference->maps[i].keys = calloc(entries, map->key_size + 1);
		reference->maps[i].used = calloc(entries, sizeof(bool));
		if (map->data)
			memcpy(reference->maps[i].values, map->data, map->value_size);
	}
}

void reference_clear(struct reference *reference)
{
	uint32_t i;

	for (i = 0; i < reference->program->maps_n; i++) {
		free(reference->maps[i].values);
		free(reference->maps[i].keys);
		free(reference->maps[i].used);
	}
	free(reference->maps);
}

/* The number of a key's entry, or -1. */
static int64_t find_entry(const struct reference *reference, uint32_t number, const void *key)
{
	const struct gpumon_gpuprog_map *map = &reference->program->maps[number];
	const struct reference_map *memory = &reference->maps[number];
	uint32_t index;

	if (map->kind != GPUMON_GPUPROG_MAP_HASH) {
		memcpy(&index, key, sizeof(index));
		return index < map->max_entries ? (int64_t)index : -1;
	}
	for (index = 0; index < map->max_entries; index++)
		if (memory->used[index] &&
		    memcmp(memory->keys + (size_t)index * map->key_size, key, map->key_size) == 0)
			return index;
	return -1;
}

/* A value of a map, or NULL. */
static uint8_t *find_value(const struct reference *reference, uint32_t map, const void *key)
{
	int64_t entry = find_entry(reference, map, key);

	return entry < 0 ? NULL :
			   reference->maps[map].values +
				   (size_t)entry * stride(&reference->program->maps[map]);
}

static int64_t update(struct reference *reference, uint32_t number, const void *key,
		      const void *value, uint64_t flags)
{
	const struct gpumon_gpuprog_map *map = &reference->program->maps[number];
	struct reference_map *memory = &reference->maps[number];
	int64_t entry = find_entry(reference, number, key);
	bool hash = map->kind == GPUMON_GPUPROG_MAP_HASH;

	if (flags > BPF_EXIST)
		return -EINVAL;
	if (entry < 0 && !hash)
		return -E2BIG;
	if (flags == BPF_NOEXIST && entry >= 0)
		return -EEXIST;
	if (flags == BPF_EXIST && entry < 0)
		return -ENOENT;
	if (entry < 0) {
		for (entry = 0; entry < map->max_entries && memory->used[entry]; entry++)
			;
		if (entry == map->max_entries)
			return -E2BIG;
		memory->used[entry] = true;
		memcpy(memory->keys + (size_t)entry * map->key_size, key, map->key_size);
	}
	memcpy(memory->values + (size_t)entry * stride(map), value, map->value_size);
	return 0;
}

static int64_t delete_key(struct reference *reference, uint32_t number, const void *key)
{
	int64_t entry = find_entry(reference, number, key);

	if (entry < 0)
		return -ENOENT;
	reference->maps[number].used[entry] = false;
	return 0;
}

static uint64_t *reg_of(struct run *run, const struct gpumon_gpuprog_step *step, uint8_t reg)
{
	return &run->regs[reg < 6 ? reg : reg + step->depth * 5];
}

static int64_t extended(uint64_t value, uint32_t bits)
{
	return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

/* x / y and x % y of numbers with a sign. */
static uint64_t divide_signed(int64_t x, int64_t y, int64_t least, bool rem)
{
	if (y == 0)
		return rem ? x : 0;
	if (x == least && y == -1)
		return rem ? 0 : x;
	return rem ? x % y : x / y;
}

static uint64_t divide(const struct gpumon_gpuprog_step *step, uint64_t x, uint64_t y, bool wide,
		       bool rem)
{
	if (step->off)
		return wide ? divide_signed(x, y, INT64_MIN, rem) :
			      divide_signed((int32_t)x, (int32_t)y, INT32_MIN, rem);
	if (y == 0)
		return rem ? x : 0;
	return rem ? x % y : x / y;
}

static uint64_t byte_order(const struct gpumon_gpuprog_step *step, uint64_t value)
{
	bool swap = BPF_CLASS(step->code) == BPF_ALU64 || BPF_SRC(step->code) == BPF_TO_BE;

	switch (step->imm) {
	case 16:
		return swap ? bswap_16((uint16_t)value) : (uint16_t)value;
	case 32:
		return swap ? bswap_32((uint32_t)value) : (uint32_t)value;
	default:
		return swap ? bswap_64(value) : value;
	}
}

static int alu(struct run *run, const struct gpumon_gpuprog_step *step)
{
	bool wide = BPF_CLASS(step->code) == BPF_ALU64;
	uint64_t *dst = reg_of(run, step, step->dst), x = *dst, mask = wide ? 63 : 31;
	uint64_t y = BPF_SRC(step->code) == BPF_X ? *reg_of(run, step, step->src) :
						    (uint64_t)(int64_t)step->imm;

	if (BPF_OP(step->code) == BPF_END) {
		*dst = byte_order(step, x);
		return 0;
	}
	if (!wide) {
		x = (uint32_t)x;
		y = (uint32_t)y;
	}
	switch (BPF_OP(step->code)) {
	case BPF_ADD:
		x += y;
		break;
	case BPF_SUB:
		x -= y;
		break;
	case BPF_MUL:
		x *= y;
		break;
	case BPF_DIV:
		x = divide(step, x, y, wide, false);
		break;
	case BPF_MOD:
		x = divide(step, x, y, wide, true);
		break;
	case BPF_OR:
		x |= y;
		break;
	case BPF_AND:
		x &= y;
		break;
	case BPF_XOR:
		x ^= y;
		break;
	case BPF_LSH:
		x <<= y & mask;
		break;
	case BPF_RSH:
		x >>= y & mask;
		break;
	case BPF_ARSH:
		x = (wide ? (int64_t)x : (int32_t)x) >> (y & mask);
		break;
	case BPF_NEG:
		x = -x;
		break;
	case BPF_MOV:
		x = step->off ? (uint64_t)extended(y, step->off) : y;
		break;
	default:
		return fail(run, "operation", step->code);
	}
	*dst = wide ? x : (uint32_t)x;
	return 0;
}

static uint32_t access_size(const struct gpumon_gpuprog_step *step)
{
	static const uint8_t sizes[] = { 4, 2, 1, 8 }; /* BPF_W, H, B, DW */

	return sizes[BPF_SIZE(step->code) >> 3];
}

static void atomic(struct run *run, const struct gpumon_gpuprog_step *step, uint8_t *memory)
{
	uint64_t old = 0, value = *reg_of(run, step, step->src), result, size = access_size(step);
	uint64_t with = run->regs[0];

	memcpy(&old, memory, size);
	if (size == 4)
		with = (uint32_t)with;
	switch (step->imm) {
	case BPF_XCHG:
		result = value;
		break;
	case BPF_CMPXCHG:
		result = old == with ? value : old;
		break;
	default:
		switch (step->imm & ~BPF_FETCH) {
		case BPF_ADD:
			result = old + value;
			break;
		case BPF_AND:
			result = old & value;
			break;
		case BPF_OR:
			result = old | value;
			break;
		default:
			result = old ^ value;
		}
	}
	memcpy(memory, &result, size);
	if (step->imm == BPF_CMPXCHG)
		run->regs[0] = old;
	else if (step->imm & BPF_FETCH)
		*reg_of(run, step, step->src) = old;
}

static int memory(struct run *run, const struct gpumon_gpuprog_step *step)
{
	unsigned int class = BPF_CLASS(step->code);
	uint8_t base = class == BPF_LDX ? step->src : step->dst;
	uint8_t *at = (uint8_t *)(uintptr_t)(*reg_of(run, step, base) + step->off);
	uint64_t value = 0;

	if (class == BPF_LDX) {
		memcpy(&value, at, access_size(step));
		if (BPF_MODE(step->code) == BPF_MEMSX)
			value = extended(value, 8 * access_size(step));
		*reg_of(run, step, step->dst) = value;
	} else if (class == BPF_STX && BPF_MODE(step->code) == BPF_ATOMIC) {
		atomic(run, step, at);
	} else {
		value = class == BPF_STX ? *reg_of(run, step, step->src) :
					   (uint64_t)(int64_t)step->imm;
		memcpy(at, &value, access_size(step));
	}
	return 0;
}

static int call(struct run *run, const struct gpumon_gpuprog_step *step)
{
	struct reference *reference = run->reference;
	uint64_t *regs = run->regs;
	const void *key = (const void *)(uintptr_t)regs[2];
	uint32_t map = regs[1];

	switch (step->imm) {
	case BPF_FUNC_map_lookup_elem:
		regs[0] = (uintptr_t)find_value(reference, map, key);
		break;
	case BPF_FUNC_map_update_elem:
		regs[0] = update(reference, map, key, (const void *)(uintptr_t)regs[3], regs[4]);
		break;
	case BPF_FUNC_map_delete_elem:
		regs[0] = delete_key(reference, map, key);
		break;
	default:
		return fail(run, "helper", step->imm);
	}
	return 0;
}

static bool condition(struct run *run, const struct gpumon_gpuprog_step *step)
{
	bool wide = BPF_CLASS(step->code) == BPF_JMP;
	uint64_t x = *reg_of(run, step, step->dst);
	uint64_t y = BPF_SRC(step->code) == BPF_X ? *reg_of(run, step, step->src) :
						    (uint64_t)(int64_t)step->imm;
	int64_t sx, sy;

	if (!wide) {
		x = (uint32_t)x;
		y = (uint32_t)y;
	}
	sx = wide ? (int64_t)x : (int32_t)x;
	sy = wide ? (int64_t)y : (int32_t)y;
	switch (BPF_OP(step->code)) {
	case BPF_JEQ:
		return x == y;
	case BPF_JNE:
		return x != y;
	case BPF_JGT:
		return x > y;
	case BPF_JGE:
		return x >= y;
	case BPF_JLT:
		return x < y;
	case BPF_JLE:
		return x <= y;
	case BPF_JSGT:
		return sx > sy;
	case BPF_JSGE:
		return sx >= sy;
	case BPF_JSLT:
		return sx < sy;
	case BPF_JSLE:
		return sx <= sy;
	case BPF_JSET:
		return x & y;
	default:
		return true; /* BPF_JA */
	}
}

static int run_step(struct run *run, const struct gpumon_gpuprog_step *step)
{
	uint64_t *dst = reg_of(run, step, step->dst);

	run->pc++;
	switch (BPF_CLASS(step->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return alu(run, step);
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		return memory(run, step);
	case BPF_LD:
		*dst = step->value;
		if (step->src == BPF_PSEUDO_MAP_IDX)
			*dst = step->map;
		else if (step->src)
			*dst += (uintptr_t)run->reference->maps[step->map].values;
		return 0;
	default:
		if (BPF_OP(step->code) == BPF_CALL)
			return call(run, step);
		if (BPF_OP(step->code) == BPF_EXIT)
			run->over = true;
		else if (condition(run, step))
			run->pc = step->target;
		return 0;
	}
}

int reference_run(struct reference *reference)
{
	struct run *run = calloc(1, sizeof(*run));
	uint64_t steps = 0;
	uint32_t i;
	int result = 0;

	run->reference = reference;
	for (i = 0; i < GPUMON_GPUPROG_MAX_DEPTH; i++)
		run->regs[10 + 5 * i] = (uintptr_t)(run->stack[i] + GPUMON_GPUPROG_MAX_STACK);
	while (!result && !run->over) {
		if (steps++ == reference->limit)
			result = fail(run, "it does not end", steps);
		else
			result = run_step(run, &reference->program->steps[run->pc]);
	}
	free(run);
	return result;
}
