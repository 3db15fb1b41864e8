// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/memory.h"
#include "gpuprog/object/map_memory.h"
#include "gpuprog/ptx/statement.h"
#include "text.h"

/* The blocks of functions with the same programs. */
struct gpumon_exchange_set {
	uint32_t programs;
	bool keeps;
	char *blocks[GPUMON_GPUPROG_POINTS];
};

/**
 * struct gpumon_exchange_blocks - programs for a target
 * @target: target
 * @tried: programs that were translated, or that cannot be
 * @failed: programs that cannot be translated
 * @why: the message of the first of them
 * @texts: of each program
 * @sets: blocks
 * @sets_n: how many
 */
struct gpumon_exchange_blocks {
	struct gpumon_gpuprog_target target;
	uint32_t tried;
	uint32_t failed;
	char why[sizeof(((struct gpumon_error *)0)->message)];
	char *texts[GPUMON_GPUPROG_MAX_PROGRAMS];
	struct gpumon_exchange_set *sets;
	size_t sets_n;
};

static void translate(struct gpumon_exchange *exchange, struct gpumon_exchange_blocks *blocks,
		      uint32_t program)
{
	const struct gpumon_gpuprog_order *order = exchange->order;
	struct gpumon_error err;
	char *text;
	size_t size;
	FILE *out = gpumon_memstream_open(&text, &size);
	int result = gpumon_gpuprog_translate(&order->object->programs[program],
					      order->facts[program], &blocks->target, out, &err);

	gpumon_memstream_close(out);
	blocks->tried |= 1u << program;
	if (!result) {
		blocks->texts[program] = text;
		return;
	}
	free(text);
	if (!blocks->failed)
		memcpy(blocks->why, err.message, sizeof(blocks->why));
	blocks->failed |= 1u << program;
}

/**
 * exchange_blocks_add - translate programs, unless they are already
 * @exchange: exchange
 * @blocks: programs
 * @programs: which
 *
 * A program that the target cannot do is then in @failed.
 */
static void exchange_blocks_add(struct gpumon_exchange *exchange,
				struct gpumon_exchange_blocks *blocks, uint32_t programs)
{
	for (uint32_t i = 0; i < exchange->order->object->programs_n; i++)
		if ((programs & ~blocks->tried) & 1u << i)
			translate(exchange, blocks, i);
}

/* A kernel of its own runs its program at its entry. */
static enum gpumon_gpuprog_point point_of(const struct gpumon_gpuprog *program)
{
	return program->point == GPUMON_GPUPROG_RUN ? GPUMON_GPUPROG_ENTRY : program->point;
}

/* Programs at the same point stand one behind the other, in the order of the object. */
static char *join(const struct gpumon_exchange_blocks *blocks,
		  const struct gpumon_gpuprog_object *object, enum gpumon_gpuprog_point point,
		  const struct gpumon_exchange_set *set)
{
	bool take = point == GPUMON_GPUPROG_ENTRY && set->keeps && blocks->target.memory;
	uint32_t programs = 0;
	char *joined;
	size_t size;
	FILE *out;

	for (uint32_t i = 0; i < object->programs_n; i++)
		if (set->programs & 1u << i && point_of(&object->programs[i]) == point)
			programs |= 1u << i;
	if (!take && !programs)
		return NULL;
	out = gpumon_memstream_open(&joined, &size);
	if (take)
		gpumon_gpuprog_take_place(&blocks->target, out);
	for (uint32_t i = 0; i < object->programs_n; i++)
		if (programs & 1u << i)
			fputs(blocks->texts[i], out);
	gpumon_memstream_close(out);
	return joined;
}

/**
 * exchange_blocks_set - find or make the blocks of some programs
 * @exchange: exchange
 * @blocks: programs, translated
 * @programs: which
 *
 * Return: them, until the next call.
 */
static const struct gpumon_exchange_set *exchange_blocks_set(struct gpumon_exchange *exchange,
							     struct gpumon_exchange_blocks *blocks,
							     uint32_t programs)
{
	const struct gpumon_gpuprog_object *object = exchange->order->object;
	struct gpumon_exchange_set *set;

	for (size_t i = 0; i < blocks->sets_n; i++)
		if (blocks->sets[i].programs == programs)
			return &blocks->sets[i];
	set = GPUMON_GROW(blocks->sets, blocks->sets_n);
	set->programs = programs;
	for (uint32_t i = 0; i < object->programs_n; i++)
		if (programs & 1u << i && gpumon_gpuprog_keeps(&object->programs[i]))
			set->keeps = true;
	for (int i = 0; i < GPUMON_GPUPROG_POINTS; i++)
		set->blocks[i] = join(blocks, object, (enum gpumon_gpuprog_point)i, set);
	return set;
}
static void exchange_blocks_clear(struct gpumon_exchange_blocks *blocks)
{
	for (int i = 0; i < GPUMON_GPUPROG_MAX_PROGRAMS; i++)
		free(blocks->texts[i]);
	for (size_t i = 0; i < blocks->sets_n; i++)
		for (int j = 0; j < GPUMON_GPUPROG_POINTS; j++)
			free(blocks->sets[i].blocks[j]);
	free(blocks->sets);
	memset(blocks, 0, sizeof(*blocks));
}

/* Bytes of blocks in their places at most: an assembler takes seconds for much more. */
#define INLINE_ROOM (1024u << 10)
/* A text that is larger and has grown by more has no programs in functions. */
#define ROOM   (16u << 20)
#define GROWTH 20

/* Data of the editor's calls. */
struct editing {
	struct gpumon_exchange *exchange;
	struct gpumon_exchange_text *text;
};

static void refuse(struct gpumon_exchange *exchange, uint32_t number, const char *why)
{
	gpumon_gpuprog_run_tell(exchange->run, number, GPUMON_GPUPROG_WAY_REFUSED, why);
}

/* The name behind ".entry" or ".func", without what a function gives. At the end of the text: empty. */
static struct gpumon_ptx_slice read_name(const char *at, const char *end)
{
	struct gpumon_ptx_lexer lexer = { .at = at, .end = end };
	struct gpumon_error err;
	size_t depth = 0;

	while (!gpumon_ptx_next(&lexer, &err) && lexer.kind != GPUMON_PTX_END) {
		if (gpumon_ptx_is_sign(&lexer, '('))
			depth++;
		else if (gpumon_ptx_is_sign(&lexer, ')') && depth)
			depth--;
		else if (!depth && lexer.kind == GPUMON_PTX_WORD && *lexer.token.at != '.')
			return lexer.token;
		else if (!depth && lexer.kind != GPUMON_PTX_WORD)
			break;
	}
	return (struct gpumon_ptx_slice){ end, 0 };
}

/*
 * Look for a directive and what stands behind it, which is much faster than reading all of the text.
 * Returns whether a function is asked for, which is refused if there is a reason.
 */
static bool look_for(struct gpumon_exchange *exchange, const char *source, size_t size,
		     const char *directive, const char *why)
{
	const char *at = source, *end = source + size;
	bool kernel = directive[1] == 'e';
	bool found = false;

	while ((at = memmem(at, (size_t)(end - at), directive, strlen(directive)))) {
		struct gpumon_ptx_slice name;

		at += strlen(directive);
		name = read_name(at, end);
		if (!name.size || !gpumon_exchange_wanted(exchange, name.at, name.size, kernel))
			continue;
		if (!why)
			return true;
		found = true;
		refuse(exchange, gpumon_gpuprog_run_kernel(exchange->run, name.at, name.size), why);
	}
	return found;
}

static bool look_through(struct gpumon_exchange *exchange, const char *source, size_t size,
			 const char *why)
{
	bool kernels = look_for(exchange, source, size, ".entry", why);

	if (kernels && !why)
		return true;
	return look_for(exchange, source, size, ".func", why) || kernels;
}

static const struct gpumon_edit_plan *plan_for(void *data,
					       const struct gpumon_edit_function *function)
{
	const struct editing *editing = data;
	const struct gpumon_exchange_function *is =
		&editing->text->functions[function - editing->text->module.functions];

	return is->programs ? &is->plan : NULL;
}

static uint64_t number_line(void *data, const struct gpumon_edit_line *line)
{
	const struct editing *editing = data;

	return gpumon_gpuprog_run_line(editing->exchange->run, line);
}

/* Which functions get which programs. */
static void find_wanted(struct gpumon_exchange *exchange, struct gpumon_exchange_text *text)
{
	for (size_t i = 0; i < text->module.functions_n; i++) {
		const struct gpumon_edit_function *function = &text->module.functions[i];
		struct gpumon_exchange_function *is = &text->functions[i];

		is->number = GPUMON_GPUPROG_NO_NUMBER;
		if (function->kernel)
			gpumon_map_set(&text->kernels,
				       gpumon_hash_bytes(function->name, function->size), i + 1);
		is->programs = gpumon_exchange_wanted(exchange, function->name, function->size,
						      function->kernel);
		if (!is->programs)
			continue;
		is->number =
			gpumon_gpuprog_run_kernel(exchange->run, function->name, function->size);
		if (gpumon_gpuprog_run_leaves(exchange->run, is->number) ||
		    (exchange->order->end &&
		     (is->number < exchange->order->first || is->number >= exchange->order->end)))
			is->programs = 0;
	}
}

/* Plans the blocks of a function. A function with a program that cannot be translated is refused. */
static void make_plan(struct gpumon_exchange *exchange, struct gpumon_exchange_blocks *blocks,
		      struct gpumon_exchange_function *is)
{
	const struct gpumon_exchange_set *set;

	exchange_blocks_add(exchange, blocks, is->programs);
	if (is->programs & blocks->failed) {
		is->programs = 0;
		refuse(exchange, is->number, blocks->why);
		return;
	}
	set = exchange_blocks_set(exchange, blocks, is->programs);
	is->plan.number = is->number;
	is->plan.keeps = set->keeps && !blocks->target.memory;
	is->plan.counts = &is->counts;
	for (int i = 0; i < GPUMON_GPUPROG_POINTS; i++)
		is->plan.blocks[i] = set->blocks[i];
}

/* Returns whether a function gets programs. */
static bool make_plans(struct gpumon_exchange *exchange, struct gpumon_exchange_blocks *blocks,
		       struct gpumon_exchange_text *text)
{
	bool any = false;

	for (size_t i = 0; i < text->module.functions_n; i++) {
		if (text->functions[i].programs)
			make_plan(exchange, blocks, &text->functions[i]);
		any |= text->functions[i].programs;
	}
	return any;
}

static void refuse_all(struct gpumon_exchange *exchange, struct gpumon_exchange_text *text,
		       const char *why)
{
	for (size_t i = 0; i < text->module.functions_n; i++) {
		struct gpumon_exchange_function *is = &text->functions[i];

		if (is->programs)
			refuse(exchange, is->number, why);
		is->programs = 0;
	}
}

/* The constants of a module, and what else may stand between them. */
#define CONSTANTS_MAX (64u << 10)
#define GAP	      32u

static uint32_t table_entries(const struct gpumon_exchange *exchange)
{
	return GPUMON_GPUPROG_TABLE_ENTRY(exchange->order->object->maps_n);
}

/* Whether the constants of a text leave no room for the table. */
static bool has_global_table(const struct gpumon_exchange *exchange,
			     const struct gpumon_exchange_text *text)
{
	return text->module.constants + GAP + 8 * table_entries(exchange) > CONSTANTS_MAX;
}

/* Returns false if the text would be too large. */
static bool write_text(struct gpumon_exchange *exchange, struct gpumon_exchange_text *text)
{
	struct editing editing = { exchange, text };
	char table[128];
	struct gpumon_edit_request request = {
		.table = table,
		.plan = plan_for,
		.line = number_line,
		.data = &editing,
		.room = INLINE_ROOM,
		.compact = text->compact,
		.no_functions = text->no_functions,
	};
	struct gpumon_error err;
	FILE *out = gpumon_memstream_open(&text->changed, &text->changed_size);
	int result;

	snprintf(table, sizeof(table), ".weak .%s .align 8 .b64 " GPUMON_GPUPROG_TABLE "[%u];",
		 has_global_table(exchange, text) ? "global" : "const", table_entries(exchange));
	result = gpumon_edit_write(&text->module, &request, out, &err);
	gpumon_memstream_close(out);
	if (!result)
		return true;
	free(text->changed);
	text->changed = NULL;
	if (result > 0)
		return false;
	refuse_all(exchange, text, err.message);
	return true;
}

static struct gpumon_gpuprog_target target_of(const struct gpumon_exchange *exchange,
					      const struct gpumon_exchange_text *text, bool memory)
{
	return (struct gpumon_gpuprog_target){ .isa = text->module.isa,
					       .sm = text->module.sm,
					       .shards = exchange->order->shards,
					       .fuel = exchange->order->fuel,
					       .global_table = has_global_table(exchange, text),
					       .memory = memory };
}

/*
 * Kernels with points in functions, which do not see what the kernel keeps in registers: they keep it in
 * memory. That costs more, so that it is known only now whether it has to be. Blocks that are functions do not
 * see it, either.
 */
static bool write_again(struct gpumon_exchange *exchange, struct gpumon_exchange_blocks *blocks,
			struct gpumon_exchange_text *text)
{
	for (size_t i = 0; i < text->module.functions_n; i++) {
		struct gpumon_exchange_function *is = &text->functions[i];

		if (is->counts.left[GPUMON_EDIT_KEPT] ||
		    (text->compact && text->module.functions[i].kernel && is->plan.keeps))
			make_plan(exchange, blocks, is);
		memset(&is->counts, 0, sizeof(is->counts));
	}
	free(text->changed);
	text->changed = NULL;
	return write_text(exchange, text);
}

static bool leaves_points_in_functions(const struct gpumon_exchange_text *text)
{
	for (size_t i = 0; text->changed && i < text->module.functions_n; i++)
		if (text->functions[i].counts.left[GPUMON_EDIT_KEPT])
			return true;
	return false;
}

/* As small as it has to be. @size: of the original. */
static void write_forms(struct gpumon_exchange *exchange, struct gpumon_exchange_text *text,
			size_t size)
{
	struct gpumon_exchange_blocks memory = { .target = target_of(exchange, text, true) };
	bool fits;

	text->no_functions = exchange->order->no_functions;
	fits = write_text(exchange, text);
	if (fits && leaves_points_in_functions(text))
		fits = write_again(exchange, &memory, text);
	if (!fits) {
		text->compact = true;
		write_again(exchange, &memory, text);
	}
	if (text->compact && !text->no_functions && text->changed_size > ROOM &&
	    text->changed_size > GROWTH * size) {
		text->no_functions = true;
		write_again(exchange, &memory, text);
	}
	exchange_blocks_clear(&memory);
}

static void edit_open_text(struct gpumon_exchange *exchange, struct gpumon_exchange_text *text,
			   size_t size)
{
	struct gpumon_exchange_blocks blocks = { .target = target_of(exchange, text, false) };

	text->functions = gpumon_calloc(text->module.functions_n, sizeof(*text->functions));
	find_wanted(exchange, text);
	if (make_plans(exchange, &blocks, text))
		write_forms(exchange, text, size);
	for (size_t i = 0; i < text->module.functions_n; i++)
		text->all_kernels |= text->functions[i].programs &&
				     !text->module.functions[i].kernel;
	exchange_blocks_clear(&blocks);
}

void gpumon_exchange_text_edit(struct gpumon_exchange *exchange, const char *source, size_t size,
			       struct gpumon_exchange_text *text)
{
	struct gpumon_error err;

	memset(text, 0, sizeof(*text));
	size = strnlen(source, size);
	if (exchange->order->owner)
		look_through(exchange, source, size, exchange->order->owner);
	else if (!look_through(exchange, source, size, NULL))
		return;
	else if (!gpumon_edit_open(source, size, &text->module, &err))
		edit_open_text(exchange, text, size);
	else
		look_through(exchange, source, size, err.message);
}

void gpumon_exchange_text_tell(struct gpumon_exchange *exchange,
			       const struct gpumon_exchange_text *text, const char *why)
{
	for (size_t i = 0; text->changed && i < text->module.functions_n; i++) {
		const struct gpumon_exchange_function *is = &text->functions[i];
		struct gpumon_gpuprog_kernel *kernel;

		if (!is->programs)
			continue;
		gpumon_gpuprog_run_tell(exchange->run, is->number,
					why ? GPUMON_GPUPROG_WAY_REFUSED : GPUMON_GPUPROG_WAY_PTX,
					why ? why : "");
		kernel = &exchange->run->kernels[is->number];
		if (!why)
			gpumon_gpuprog_run_count(exchange->run, kernel, &is->counts);
	}
}

enum gpumon_exchange_has gpumon_exchange_text_has(const struct gpumon_exchange_text *text,
						  const char *kernel)
{
	uint64_t found = gpumon_map_get(&text->kernels, gpumon_hash_bytes(kernel, strlen(kernel)));

	if (!found)
		return GPUMON_EXCHANGE_ABSENT;
	if (!text->changed)
		return GPUMON_EXCHANGE_PLAIN;
	return text->all_kernels || text->functions[found - 1].programs ? GPUMON_EXCHANGE_EDITED :
									  GPUMON_EXCHANGE_PLAIN;
}

void gpumon_exchange_text_clear(struct gpumon_exchange_text *text)
{
	gpumon_edit_close(&text->module);
	free(text->functions);
	free(text->changed);
	gpumon_map_clear(&text->kernels);
	memset(text, 0, sizeof(*text));
}
