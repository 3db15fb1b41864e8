// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Calls of helpers. */
#include <string.h>

#include "gpuprog/object/instruction.h"
#include "gpuprog/object/program.h"
#include "verifier.h"

#define ARGUMENTS 5
#define CUDA_EXIT 507
/* Helpers of gpumon are called by their name alone. */
#define NAME(helper) strncmp((helper)->name, "gpumon_", 7) ? "bpf_" : "", (helper)->name

/**
 * struct call - a call while its arguments are looked at
 * @helper: helper
 * @map: its map argument, or NULL; the first one it may be
 * @maps: all that it may be, a bit each
 * @text: its text argument, or NULL
 * @text_room: bytes from there on
 * @printed: PRINTED arguments so far
 */
struct call {
	const struct gpumon_gpuprog_helper *helper;
	const struct gpumon_gpuprog_map *map;
	uint64_t maps;
	const char *text;
	uint32_t text_room;
	int printed;
};

/* Helpers of the kernel that people use, and what to use here instead. */
static const struct {
	uint32_t id;
	const char *name;
	const char *instead;
} elsewhere[] = {
	{ 4, "probe_read", "it cannot read memory of the kernel that it looks at" },
	{ 5, "ktime_get_ns", "use bpf_get_globaltimer()" },
	{ 7, "get_prandom_u32", "use a counter in a map" },
	{ 8, "get_smp_processor_id", "use bpf_get_sm_id()" },
	{ 12, "tail_call", "call a function instead" },
	{ 15, "get_current_uid_gid", "the program on the CPU side can call it" },
	{ 16, "get_current_comm", "the program on the CPU side can call it" },
	{ 27, "get_stackid", "gpumon record shows the launch's call path" },
	{ 35, "get_current_task", "the program on the CPU side can call it" },
	{ 67, "get_stack", "gpumon record shows the launch's call path" },
	{ 93, "spin_lock", "use an atomic operation" },
	{ 94, "spin_unlock", "use an atomic operation" },
	{ 112, "probe_read_user", "it cannot read memory of the kernel that it looks at" },
	{ 113, "probe_read_kernel", "it cannot read memory of the kernel that it looks at" },
	{ 125, "ktime_get_boot_ns", "use bpf_get_globaltimer()" },
	{ 131, "ringbuf_reserve", "use bpf_ringbuf_output()" },
	{ 132, "ringbuf_submit", "use bpf_ringbuf_output()" },
	{ 133, "ringbuf_discard", "use bpf_ringbuf_output()" },
	{ 177, "trace_vprintk", "use bpf_trace_printk() with at most three numbers" },
	{ 181, "loop", "write a loop" },
	{ 512, "get_ptx_reg", "registers of the kernel cannot be read" },
	{ 513, "get_ptx_reg_count", "registers of the kernel cannot be read" },
};

static const struct gpumon_gpuprog_helper *nearest(uint32_t id)
{
	for (uint32_t distance = 1; distance < 100; distance++) {
		const struct gpumon_gpuprog_helper *helper =
			id > distance ? gpumon_gpuprog_helper_find(id - distance) : NULL;

		if (!helper)
			helper = gpumon_gpuprog_helper_find(id + distance);
		if (helper)
			return helper;
	}
	return NULL;
}

static int refuse_unknown(struct gpumon_verifier *verifier, uint32_t id)
{
	const struct gpumon_gpuprog_helper *near;

	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		if (elsewhere[i].id == id)
			return GPUMON_REFUSE(verifier,
					     "helper %u, bpf_%s(), is not there on a GPU: %s", id,
					     elsewhere[i].name, elsewhere[i].instead);
	near = id <= INT32_MAX ? nearest(id) : NULL;
	if (near)
		return GPUMON_REFUSE(verifier,
				     "helper %u does not exist: the nearest is %u, %s%s(); "
				     "gpumon_gpu.h has all",
				     id, near->id, NAME(near));
	return GPUMON_REFUSE(verifier, "helper %d does not exist: gpumon_gpu.h has all that do",
			     (int32_t)id);
}

static int refuse_kind(struct gpumon_verifier *verifier, const struct call *call,
		       unsigned int number, const struct gpumon_reg_state *reg, const char *wanted)
{
	return GPUMON_REFUSE(verifier, "argument %u of %s%s(), r%u, is %s: it must be %s", number,
			     NAME(call->helper), number, gpumon_verifier_kind_text(reg), wanted);
}

static bool takes(const struct call *call, enum gpumon_gpuprog_argument kind)
{
	for (unsigned int i = 0; i < ARGUMENTS; i++)
		if (call->helper->arguments[i] == kind)
			return true;
	return false;
}

/* A map that the map argument may be. */
static int check_one_map(struct gpumon_verifier *verifier, const struct call *call, uint32_t number)
{
	const struct gpumon_gpuprog_map *map = &verifier->program->maps[number];

	if (!(call->helper->maps & 1u << map->kind))
		return GPUMON_REFUSE(
			verifier,
			"map %s has type %u, which %s%s() cannot use: see the table of "
			"maps in gpumon_gpu.h",
			gpumon_verifier_map_name(verifier, number), map->type, NAME(call->helper));
	if ((takes(call, GPUMON_GPUPROG_ARG_KEY) && map->key_size != call->map->key_size) ||
	    (takes(call, GPUMON_GPUPROG_ARG_VALUE) && map->value_size != call->map->value_size))
		return GPUMON_REFUSE(verifier,
				     "%s%s() may get map %s or map %s, whose keys or values differ "
				     "in size: call it for each",
				     NAME(call->helper), call->map->name ? call->map->name : "",
				     gpumon_verifier_map_name(verifier, number));
	return 0;
}

static int check_map(struct gpumon_verifier *verifier, struct call *call, unsigned int number,
		     const struct gpumon_reg_state *reg)
{
	if (reg->kind != GPUMON_GPUPROG_MAP)
		return refuse_kind(verifier, call, number, reg, "a map");
	call->maps = reg->maps;
	call->map = &verifier->program->maps[gpumon_reg_map(reg)];
	for (uint64_t left = reg->maps; left; left &= left - 1)
		if (check_one_map(verifier, call, (uint32_t)__builtin_ctzll(left)))
			return -1;
	return 0;
}

/* @size bytes behind a pointer; written if @out, otherwise read. */
static int check_memory(struct gpumon_verifier *verifier, const struct call *call,
			unsigned int number, const struct gpumon_reg_state *reg, uint32_t size,
			bool out)
{
	struct gpumon_gpuprog_operand *operand =
		&verifier->facts[verifier->at].arguments[number - 1];
	struct gpumon_access access = {
		.name = { 'r', (char)('0' + number) },
		.address = *reg,
		.size = size,
		.operand = operand,
	};

	if (reg->kind != GPUMON_GPUPROG_STACK && reg->kind != GPUMON_GPUPROG_VALUE)
		return refuse_kind(verifier, call, number, reg,
				   "an address of the stack or of a map's value");
	if (gpumon_access_resolve(verifier, &access))
		return -1;
	if (operand->check)
		return GPUMON_REFUSE(verifier,
				     "argument %u of %s%s(), r%u, may lead to a place outside of "
				     "its object: bound the index with if or &",
				     number, NAME(call->helper), number);
	if (!out && reg->kind == GPUMON_GPUPROG_STACK)
		return gpumon_access_check_scalars(verifier, &access);
	return 0;
}

/* Eight bytes that a helper sets. */
static int check_out(struct gpumon_verifier *verifier, const struct call *call, unsigned int number,
		     const struct gpumon_reg_state *reg)
{
	const struct gpumon_gpuprog_operand *operand =
		&verifier->facts[verifier->at].arguments[number - 1];
	uint32_t map;

	if (check_memory(verifier, call, number, reg, 8, true))
		return -1;
	if (gpumon_access_read_only(verifier, reg, &map))
		return GPUMON_REFUSE(verifier,
				     "%s%s() would write to %s, which can only be read: use a "
				     "variable on the stack",
				     NAME(call->helper), gpumon_verifier_map_name(verifier, map));
	if (operand->align < 8 || (reg->kind == GPUMON_GPUPROG_STACK && !operand->constant))
		return GPUMON_REFUSE(verifier,
				     "argument %u of %s%s(), r%u, must lead to one variable of 8 "
				     "bytes, aligned: use a u64",
				     number, NAME(call->helper), number);
	return 0;
}

static int check_constant(struct gpumon_verifier *verifier, const struct call *call,
			  unsigned int number, const struct gpumon_reg_state *reg, uint32_t min,
			  uint32_t max)
{
	if (reg->kind != GPUMON_GPUPROG_SCALAR)
		return refuse_kind(verifier, call, number, reg, "a number");
	if (!gpumon_bounds_is_constant(&reg->bounds))
		return GPUMON_REFUSE(verifier,
				     "argument %u of %s%s(), r%u, varies: it must be a constant of "
				     "%u to %u",
				     number, NAME(call->helper), number, min, max);
	if (reg->bounds.umin < min || reg->bounds.umax > max)
		return GPUMON_REFUSE(verifier,
				     "argument %u of %s%s(), r%u, is %lld: it must be %u to %u",
				     number, NAME(call->helper), number,
				     (long long)reg->bounds.smin, min, max);
	return 0;
}

/* A record must fit into its ring, a format into its text. */
static int check_size(struct gpumon_verifier *verifier, const struct call *call,
		      unsigned int number, const struct gpumon_reg_state *reg)
{
	const struct gpumon_gpuprog_map *maps = verifier->program->maps;

	if (check_constant(verifier, call, number, reg, 1, GPUMON_GPUPROG_MAX_RECORD_SIZE))
		return -1;
	for (uint64_t left = call->maps; left; left &= left - 1) {
		uint32_t map = (uint32_t)__builtin_ctzll(left), room = maps[map].value_size;

		if (maps[map].kind == GPUMON_GPUPROG_MAP_RING && reg->bounds.umax > room)
			return GPUMON_REFUSE(
				verifier,
				"a record of %llu bytes does not fit into ring %s, whose records "
				"have at most %u: make it shorter",
				(unsigned long long)reg->bounds.umax,
				gpumon_verifier_map_name(verifier, map), room);
	}
	if (call->text && reg->bounds.umax > call->text_room)
		return GPUMON_REFUSE(
			verifier,
			"argument %u of %s%s(), r%u, is %llu, but the text has %u bytes at "
			"most: use sizeof",
			number, NAME(call->helper), number, (unsigned long long)reg->bounds.umax,
			call->text_room);
	return 0;
}

/* A text that the program has put together on its stack, byte by byte the same on each path. */
static int check_stack_text(struct gpumon_verifier *verifier, struct call *call,
			    unsigned int number, const struct gpumon_reg_state *reg)
{
	struct gpumon_gpuprog_operand *operand =
		&verifier->facts[verifier->at].arguments[number - 1];
	const struct gpumon_func_state *frame = &verifier->state->frames[reg->depth];
	const struct gpumon_gpuprog *program = verifier->program;
	int64_t first = (int64_t)operand->offset + GPUMON_GPUPROG_MAX_STACK;
	const char *text = NULL;
	uint32_t at;

	if (operand->constant && first >= 0 && first < GPUMON_GPUPROG_MAX_STACK) {
		call->text_room = gpumon_stack_known(frame, (unsigned int)first);
		if (memchr(&frame->bytes[first], '\0', call->text_room))
			text = (const char *)&frame->bytes[first];
	}
	if (!text)
		return GPUMON_REFUSE(
			verifier,
			"the text in argument %u of %s%s(), r%u, is on the stack, and "
			"not the same on each path, with its NUL: make it static const",
			number, NAME(call->helper), number);
	at = gpumon_gpuprog_texts_add(program->texts, text);
	if (at == UINT32_MAX)
		return GPUMON_REFUSE(verifier,
				     "texts on the stack take more than %u bytes: make them static "
				     "const",
				     GPUMON_GPUPROG_TEXTS_BYTES);
	*operand = (struct gpumon_gpuprog_operand){ .kind = GPUMON_GPUPROG_VALUE,
						    .align = 1,
						    .constant = true,
						    .offset = (int32_t)at,
						    .map = GPUMON_GPUPROG_TEXTS_MAP };
	call->text = program->texts->bytes + at;
	return 0;
}

static int check_text(struct gpumon_verifier *verifier, struct call *call, unsigned int number,
		      const struct gpumon_reg_state *reg)
{
	const struct gpumon_gpuprog_map *map;
	uint64_t offset = reg->bounds.umin;

	if (reg->kind == GPUMON_GPUPROG_STACK && verifier->program->texts)
		return check_stack_text(verifier, call, number, reg);
	if (reg->kind != GPUMON_GPUPROG_VALUE || reg->maybe_null)
		return refuse_kind(verifier, call, number, reg, "a text in .rodata");
	map = &verifier->program->maps[gpumon_reg_map(reg)];
	if (map->kind != GPUMON_GPUPROG_MAP_DATA || !map->read_only || !map->data)
		return GPUMON_REFUSE(verifier,
				     "argument %u of %s%s(), r%u, leads into %s: it must be a text "
				     "in .rodata, make it static const",
				     number, NAME(call->helper), number,
				     gpumon_verifier_map_name(verifier, gpumon_reg_map(reg)));
	if (gpumon_reg_has_maps(reg) || !gpumon_bounds_is_constant(&reg->bounds))
		return GPUMON_REFUSE(verifier,
				     "argument %u of %s%s(), r%u, varies: it must be one text",
				     number, NAME(call->helper), number);
	if (offset >= map->value_size ||
	    !memchr(map->data + offset, '\0', map->value_size - (size_t)offset))
		return GPUMON_REFUSE(verifier,
				     "the text in argument %u of %s%s(), r%u, has no end: it needs "
				     "its NUL",
				     number, NAME(call->helper), number);
	call->text = (const char *)map->data + offset;
	call->text_room = map->value_size - (uint32_t)offset;
	return 0;
}

/*
 * Numbers that a format prints, or -1: it has a conversion that is not possible, as %s. Those that are: d, i,
 * u, x, X, c and p, with flags, width, and h, l or z. %% is none.
 */
static int count_conversions(const char *text)
{
	int n = 0;

	while ((text = strchr(text, '%'))) {
		text++;
		if (*text == '%') {
			text++;
			continue;
		}
		text += strspn(text, "-+ #0");
		text += strspn(text, "0123456789");
		text += strspn(text, "hlz");
		if (!*text || !strchr("diuxXcp", *text))
			return -1;
		text++;
		n++;
	}
	return n;
}

static int check_printed(struct gpumon_verifier *verifier, struct call *call, unsigned int number)
{
	int n = call->text ? count_conversions(call->text) : 0;
	struct gpumon_reg_state reg;

	if (n < 0)
		return GPUMON_REFUSE(
			verifier,
			"format \"%.40s\" has a conversion that a GPU cannot print: use "
			"d, i, u, x, X, c and p, with l or ll",
			call->text);
	if (n > 3)
		return GPUMON_REFUSE(
			verifier,
			"format \"%.40s\" prints %d numbers, at most 3 are possible: print "
			"it in two calls",
			call->text, n);
	if (call->printed++ >= n)
		return 0;
	if (gpumon_verifier_read_scalar(verifier, number, "what is printed", &reg))
		return -1;
	gpumon_access_describe(&reg, &verifier->facts[verifier->at].arguments[number - 1]);
	return 0;
}

static int check_argument(struct gpumon_verifier *verifier, struct call *call, unsigned int number)
{
	enum gpumon_gpuprog_argument kind = call->helper->arguments[number - 1];
	struct gpumon_reg_state reg;

	if (kind == GPUMON_GPUPROG_ARG_NONE)
		return 0;
	if (kind == GPUMON_GPUPROG_ARG_PRINTED)
		return check_printed(verifier, call, number);
	if (gpumon_verifier_read(verifier, number, &reg))
		return -1;
	gpumon_access_describe(&reg, &verifier->facts[verifier->at].arguments[number - 1]);
	switch (kind) {
	case GPUMON_GPUPROG_ARG_NUMBER:
		return reg.kind == GPUMON_GPUPROG_SCALAR ?
			       0 :
			       refuse_kind(verifier, call, number, &reg, "a number");
	case GPUMON_GPUPROG_ARG_MAP:
		return check_map(verifier, call, number, &reg);
	case GPUMON_GPUPROG_ARG_KEY:
		return check_memory(verifier, call, number, &reg, call->map->key_size, false);
	case GPUMON_GPUPROG_ARG_VALUE:
		return check_memory(verifier, call, number, &reg, call->map->value_size, false);
	case GPUMON_GPUPROG_ARG_MEMORY:
		/* check_sizes() checks the size, which is the next argument. */
		return 0;
	case GPUMON_GPUPROG_ARG_SIZE:
		return check_size(verifier, call, number, &reg);
	case GPUMON_GPUPROG_ARG_OUT_U64:
		return check_out(verifier, call, number, &reg);
	case GPUMON_GPUPROG_ARG_TEXT:
		return check_text(verifier, call, number, &reg);
	case GPUMON_GPUPROG_ARG_SLOT:
		return check_constant(verifier, call, number, &reg, 0, GPUMON_GPUPROG_MAX_KEPT - 1);
	default:
		return 0;
	}
}

/* Memory whose size is the next argument, which is a constant by now. */
static int check_sized(struct gpumon_verifier *verifier, const struct call *call)
{
	for (unsigned int number = 1; number < ARGUMENTS; number++) {
		uint64_t size;

		if (call->helper->arguments[number - 1] != GPUMON_GPUPROG_ARG_MEMORY)
			continue;
		size = gpumon_verifier_register(verifier, number + 1)->bounds.tnum.value;
		if (check_memory(verifier, call, number, gpumon_verifier_register(verifier, number),
				 (uint32_t)size, false))
			return -1;
	}
	return 0;
}

static void set_outputs(struct gpumon_verifier *verifier, const struct call *call)
{
	struct gpumon_reg_state any = gpumon_reg_any_scalar();

	for (unsigned int number = 1; number <= ARGUMENTS; number++) {
		const struct gpumon_gpuprog_operand *operand =
			&verifier->facts[verifier->at].arguments[number - 1];
		struct gpumon_stack_range range;

		if (call->helper->arguments[number - 1] != GPUMON_GPUPROG_ARG_OUT_U64 ||
		    operand->kind != GPUMON_GPUPROG_STACK)
			continue;
		range.first = (unsigned int)(operand->offset + GPUMON_GPUPROG_MAX_STACK);
		range.last = range.first;
		range.size = 8;
		gpumon_stack_write(&verifier->state->frames[operand->depth], &range, &any);
	}
}

static void set_result(struct gpumon_verifier *verifier, const struct call *call)
{
	struct gpumon_reg_state *result = gpumon_verifier_register(verifier, 0);

	for (unsigned int number = 1; number <= ARGUMENTS; number++)
		*gpumon_verifier_register(verifier, number) =
			gpumon_reg_not_init(GPUMON_NOT_INIT_CALLED);
	*result = gpumon_reg_any_scalar();
	if (call->helper->result != GPUMON_GPUPROG_RESULT_VALUE_OR_NULL)
		return;
	gpumon_state_forget(verifier->state, gpumon_verifier_id(verifier));
	*result = (struct gpumon_reg_state){ .kind = GPUMON_GPUPROG_VALUE,
					     .maybe_null = true,
					     .maps = call->maps,
					     .id = gpumon_verifier_id(verifier),
					     .bounds = gpumon_bounds_constant(0) };
}

int gpumon_verifier_call(struct gpumon_verifier *verifier)
{
	uint32_t id = (uint32_t)gpumon_verifier_step(verifier)->imm;
	struct call call = { .helper = gpumon_gpuprog_helper_find(id) };

	if (!call.helper)
		return refuse_unknown(verifier, id);
	if (id == CUDA_EXIT && !verifier->rules->allow_exit)
		return GPUMON_REFUSE(
			verifier,
			"bpf_cuda_exit() ends the thread, which changes results and can "
			"make the kernel wait for ever: say --allow-exit if that is wanted");
	for (unsigned int number = 1; number <= ARGUMENTS; number++)
		if (check_argument(verifier, &call, number))
			return -1;
	if (check_sized(verifier, &call))
		return -1;
	set_outputs(verifier, &call);
	set_result(verifier, &call);
	return 0;
}
