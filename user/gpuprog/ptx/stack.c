// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gpuprog/object/helper.h"
#include "gpuprog/object/instruction.h"
#include "stack.h"

#define STACK	      GPUMON_PROBE_MAX_STACK
#define PLACE(offset) ((offset) + STACK) /* 0 is the frame's lowest byte */

/* How the bytes of a frame are used. */
struct usage {
	bool used[STACK];
	bool memory[STACK];
	bool cut[STACK + 1]; /* a cell begins here */
};

/* What an access of the stack is looked at for. */
enum pass {
	PASS_MEMORY, /* which bytes are memory */
	PASS_CELLS,  /* where cells begin */
};

/* Bytes that a helper reads or writes through this argument. */
static uint32_t argument_size(const struct text *text, uint32_t step, unsigned int argument)
{
	const struct gpumon_probe_helper *helper =
		gpumon_probe_helper_find(text->program->steps[step].imm);
	const struct gpumon_probe_fact *fact = &text->facts[step];
	const struct gpumon_probe_map *map = NULL;
	unsigned int i;

	for (i = 0; i < 5; i++)
		if (helper->arguments[i] == GPUMON_PROBE_ARG_MAP)
			map = &text->program->maps[fact->arguments[i].map];
	switch (helper->arguments[argument]) {
	case GPUMON_PROBE_ARG_KEY:
		return map->key_size;
	case GPUMON_PROBE_ARG_VALUE:
		return map->value_size;
	case GPUMON_PROBE_ARG_MEMORY:
		return fact->arguments[argument + 1].value;
	case GPUMON_PROBE_ARG_OUT_U64:
		return 8;
	default:
		return 0;
	}
}

/* Return: whether more bytes have become memory. */
static bool add_memory(struct usage *usage, int32_t first, int32_t end)
{
	bool more = false;

	for (; first < end; first++) {
		more |= !usage->memory[first];
		usage->memory[first] = true;
	}
	return more;
}

static bool note_access(struct usage *usages, const struct gpumon_probe_operand *operand,
			uint32_t size, enum pass pass)
{
	struct usage *usage = &usages[operand->depth];
	int32_t first = PLACE(operand->offset), end = first + (int32_t)size, i;
	bool whole = false;

	if (operand->kind != GPUMON_PROBE_STACK || !size)
		return false;
	if (!operand->constant) {
		if (!operand->last)
			return add_memory(usage, 0, STACK);
		end = PLACE(operand->last) + (int32_t)size;
	}
	first = first < 0 ? 0 : first;
	end = end > STACK ? STACK : end;
	for (i = first; i < end; i++)
		whole |= usage->memory[i];
	if (pass == PASS_MEMORY)
		return (whole || !operand->constant) && add_memory(usage, first, end);
	if (!whole) {
		usage->cut[first] = usage->cut[end] = true;
		memset(usage->used + first, 1, end - first);
	}
	return false;
}

static bool note_step(const struct text *text, struct usage *usages, uint32_t step, enum pass pass)
{
	const struct gpumon_probe_fact *fact = &text->facts[step];
	const struct gpumon_probe_step *code = &text->program->steps[step];
	unsigned int i;
	bool more = false;

	if (!fact->reached)
		return false;
	switch (BPF_CLASS(code->code)) {
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		return note_access(usages, &fact->address, gpumon_probe_access_size(code->code),
				   pass);
	case BPF_JMP:
		if (BPF_OP(code->code) != BPF_CALL || !gpumon_probe_helper_find(code->imm))
			return false;
		for (i = 0; i < 5; i++)
			more |= note_access(usages, &fact->arguments[i],
					    argument_size(text, step, i), pass);
		return more;
	default:
		return false;
	}
}

/* The memory of a frame is one piece. */
static bool close_memory(struct usage *usage, struct text_frame *frame)
{
	int32_t first = 0, end = STACK;

	while (first < STACK && !usage->memory[first])
		first++;
	while (end > first && !usage->memory[end - 1])
		end--;
	frame->low = first - STACK;
	frame->high = end - STACK;
	return first < end && add_memory(usage, first, end);
}

static int cut_cells(struct text *text, const struct usage *usage, struct text_frame *frame)
{
	struct text_cell *cell = NULL;
	int32_t i;

	frame->cells = calloc(STACK, sizeof(*frame->cells));
	if (!frame->cells)
		return -1;
	for (i = 0; i < STACK; i++) {
		if (!usage->used[i] || usage->memory[i]) {
			cell = NULL;
			continue;
		}
		if (!cell || usage->cut[i] || i % 8 == 0) {
			cell = &frame->cells[frame->cells_n++];
			cell->offset = i - STACK;
		}
		cell->size++;
	}
	for (cell = frame->cells; cell < frame->cells + frame->cells_n; cell++)
		cell->reg = cell->size > 4 ? text_wide(text) : text_word(text);
	return 0;
}

int text_stack_plan(struct text *text)
{
	struct usage *usages = calloc(GPUMON_PROBE_MAX_DEPTH, sizeof(*usages));
	uint32_t i;
	int result = usages ? 0 : -1;
	bool more = true;

	while (more && usages) {
		more = false;
		for (i = 0; i < text->program->steps_n; i++)
			more |= note_step(text, usages, i, PASS_MEMORY);
		for (i = 0; i < GPUMON_PROBE_MAX_DEPTH; i++)
			more |= close_memory(&usages[i], &text->frames[i]);
	}
	for (i = 0; usages && i < text->program->steps_n; i++)
		note_step(text, usages, i, PASS_CELLS);
	for (i = 0; !result && i < GPUMON_PROBE_MAX_DEPTH; i++)
		result = cut_cells(text, &usages[i], &text->frames[i]);
	free(usages);
	return result;
}

void text_stack_clear(struct text *text)
{
	uint32_t i;

	for (i = 0; i < GPUMON_PROBE_MAX_DEPTH; i++)
		free(text->frames[i].cells);
}

bool text_stack_in_memory(const struct text *text, uint8_t depth, int32_t offset)
{
	const struct text_frame *frame = &text->frames[depth];

	return offset >= frame->low && offset < frame->high;
}

int32_t text_stack_memory_low(const struct text *text, uint8_t depth)
{
	return text->frames[depth].low & ~7;
}

uint32_t text_stack_memory_bytes(const struct text *text, uint8_t depth)
{
	const struct text_frame *frame = &text->frames[depth];

	return frame->low < frame->high ? frame->high - text_stack_memory_low(text, depth) : 0;
}

/* Whether any instruction of a frame names R10. */
static bool uses_frame(const struct text *text, uint32_t depth)
{
	const struct gpumon_probe_step *step;
	uint32_t i;

	for (i = 0; i < text->program->steps_n; i++) {
		step = &text->program->steps[i];
		if (text->facts[i].reached && step->depth == depth &&
		    (step->src == 10 || step->dst == 10))
			return true;
	}
	return false;
}

void text_stack_begin(struct text *text, FILE *declarations)
{
	uint32_t depth, bytes, reg;

	for (depth = 0; depth < GPUMON_PROBE_MAX_DEPTH; depth++) {
		bytes = text_stack_memory_bytes(text, depth);
		if (!bytes && !uses_frame(text, depth))
			continue;
		reg = 10 + depth * TEXT_FRAME_REGS;
		if (!bytes) {
			/* Never an address, but a number by which pointers differ. */
			fprintf(declarations, "\tmov.b64 %%gd%" PRIu32 ", %" PRIu32 ";\n", reg,
				(depth + 1) * 2 * STACK);
			continue;
		}
		fprintf(declarations, "\t.local .align 8 .b8 gframe%" PRIu32 "[%" PRIu32 "];\n",
			depth, bytes);
		fprintf(declarations, "\tmov.u64 %%gd%" PRIu32 ", gframe%" PRIu32 ";\n", reg,
			depth);
		fprintf(declarations, "\tadd.s64 %%gd%" PRIu32 ", %%gd%" PRIu32 ", %" PRId32 ";\n",
			reg, reg, -text_stack_memory_low(text, depth));
	}
}

/* A cell as a new %gd. */
static uint32_t take_cell(struct text *text, const struct text_cell *cell)
{
	uint32_t wide = text_wide(text);

	text_emit(text, cell->size > 4 ? "mov.b64 $d, $d" : "cvt.u64.u32 $d, $w", wide, cell->reg);
	return wide;
}

uint32_t text_stack_load(struct text *text, uint8_t depth, int32_t offset, uint32_t size)
{
	const struct text_frame *frame = &text->frames[depth];
	int32_t end = offset + (int32_t)size, first, last;
	uint32_t result = 0, piece, i;
	bool any = false;

	for (i = 0; i < frame->cells_n; i++) {
		const struct text_cell *cell = &frame->cells[i];
		int32_t cell_end = cell->offset + cell->size;

		first = cell->offset > offset ? cell->offset : offset;
		last = cell_end < end ? cell_end : end;
		if (first >= last)
			continue;
		piece = take_cell(text, cell);
		if (first > cell->offset)
			text_emit(text, "shr.u64 $d, $d, $i", piece, piece,
				  8 * (first - cell->offset));
		if (last < cell_end)
			text_emit(text, "and.b64 $d, $d, $x", piece, piece,
				  (UINT64_C(1) << 8 * (last - first)) - 1);
		if (first > offset)
			text_emit(text, "shl.b64 $d, $d, $i", piece, piece, 8 * (first - offset));
		if (any)
			text_emit(text, "or.b64 $d, $d, $d", result, result, piece);
		else
			result = piece;
		any = true;
	}
	if (!any)
		text_refuse(text,
			    "offset %d of the stack has no register: this is a mistake in gpumon",
			    offset);
	return result;
}

void text_stack_store(struct text *text, uint8_t depth, int32_t offset, uint32_t size,
		      uint32_t value)
{
	const struct text_frame *frame = &text->frames[depth];
	uint32_t piece, i;

	for (i = 0; i < frame->cells_n; i++) {
		const struct text_cell *cell = &frame->cells[i];

		if (cell->offset < offset || cell->offset >= offset + (int32_t)size)
			continue;
		piece = value;
		if (cell->offset > offset) {
			piece = text_wide(text);
			text_emit(text, "shr.u64 $d, $d, $i", piece, value,
				  8 * (cell->offset - offset));
		}
		if (cell->size == 8)
			text_emit(text, "mov.b64 $d, $d", cell->reg, piece);
		else if (cell->size > 4)
			text_emit(text, "and.b64 $d, $d, $x", cell->reg, piece,
				  (UINT64_C(1) << 8 * cell->size) - 1);
		else
			text_emit(text, "cvt.u32.u64 $w, $d", cell->reg, piece);
		if (cell->size < 4)
			text_emit(text, "and.b32 $w, $w, $i", cell->reg, cell->reg,
				  (1 << 8 * cell->size) - 1);
	}
}
