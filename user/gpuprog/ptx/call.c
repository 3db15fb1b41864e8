// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Calls of helpers, and the values that programs keep. */
#include <inttypes.h>
#include <stdlib.h>

#include "lib/memory.h"
#include "gpuprog/object/instruction.h"
#include "map.h"
#include "text.h"
#include "warp.h"

/*
 * A patch has no registers that last, and functions do not see those of a kernel. What a thread keeps is in
 * memory then, at the place on the GPU where it is: processor, warp and lane. The place says which thread it
 * is of, since the GPU may move one to another place, as when programs share it.
 */

#define RESULT 0
#define VALUE  2

/* Words of a place. The values follow. */
#define GRID   0
#define THREAD 1

/**
 * struct place - where a thread is
 * @words: %gd, address of its first word
 * @stride: %gd, bytes from one word to the next one
 * @outside: predicate: there is no memory for it
 */
struct place {
	uint32_t words;
	uint32_t stride;
	uint32_t outside;
};

static uint32_t read_control(struct text *text, uint32_t control, size_t member)
{
	uint32_t value = text_wide(text);

	text_emit(text, "ld.global.u64 $d, [$d+$u]", value, control, (uint32_t)member);
	return value;
}

static struct place find_place(struct text *text)
{
	uint32_t control = text_table(text, 0), places, at = text_wide(text);
	uint32_t number = text_special(text, "%smid"), warp = text_special(text, "%warpid");
	uint32_t lane = text_special(text, "%laneid"), size = text_word(text);
	struct place place = { text_wide(text), text_wide(text), text_predicate(text) };

	places = read_control(text, control, offsetof(struct gpumon_gpuprog_control, kept_places));
	text_emit(text, "mov.b32 $w, $u", size, GPUMON_GPUPROG_KEPT_WARPS);
	text_emit(text, "mad.lo.u32 $w, $w, $w, $w", number, number, size, warp);
	text_emit(text, "mov.b32 $w, $u", size, GPUMON_GPUPROG_KEPT_LANES);
	text_emit(text, "mad.lo.u32 $w, $w, $w, $w", number, number, size, lane);
	text_emit(text, "cvt.u64.u32 $d, $w", at, number);
	text_emit(text, "setp.ge.u64 $p, $d, $d", place.outside, at, places);
	text_emit(text, "shl.b64 $d, $d, 3", place.stride, places);
	text_emit(text, "shl.b64 $d, $d, 3", at, at);
	text_emit(text, "add.s64 $d, $d, $d", place.words,
		  read_control(text, control, offsetof(struct gpumon_gpuprog_control, kept)), at);
	return place;
}

static uint32_t word_address(struct text *text, const struct place *place, uint32_t word)
{
	uint32_t address = text_wide(text), index;

	if (!word)
		return place->words;
	index = text_wide(text);
	text_emit(text, "mov.b64 $d, $u", index, word);
	text_emit(text, "mad.lo.s64 $d, $d, $d, $d", address, place->stride, index, place->words);
	return address;
}

/*
 * Value that a slot's first words have while they belong to this thread and launch, as a new %gd.
 */
static uint32_t tag(struct text *text, uint32_t word)
{
	uint32_t value;

	if (word == THREAD) {
		value = text_thread(text);
		text_emit(text, "add.s64 $d, $d, 1", value, value);
		return value;
	}
	value = text_wide(text);
	text_emit(text, "mov.u64 $d, %gridid", value);
	return value;
}

/* The address of a kept value; the block ends, and that is counted, if the place is of another thread. */
static uint32_t find_value(struct text *text, uint32_t slot)
{
	struct place place = find_place(text);

	text_emit(text, "@$p bra $l", place.outside, TEXT_LABEL_MOVED);
	for (uint32_t word = GRID; word <= THREAD; word++) {
		uint32_t is = text_wide(text), differs = text_predicate(text);

		text_emit(text, "ld.global.u64 $d, [$d]", is, word_address(text, &place, word));
		text_emit(text, "setp.ne.u64 $p, $d, $d", differs, is, tag(text, word));
		text_emit(text, "@$p bra $l", differs, TEXT_LABEL_MOVED);
	}
	text->moved_used = true;
	return word_address(text, &place, GPUMON_GPUPROG_KEPT_TAGS + slot);
}

static uint32_t slot_of(struct text *text)
{
	const struct gpumon_gpuprog_operand *slot = &text->facts[text->step].arguments[0];

	if (!slot->constant || slot->value >= GPUMON_GPUPROG_MAX_KEPT)
		text_refuse(text, "the slot of gpumon_keep and gpumon_kept is a constant below %d",
			    GPUMON_GPUPROG_MAX_KEPT);
	return (uint32_t)slot->value;
}

void text_keep(struct text *text)
{
	uint32_t slot = slot_of(text);

	if (text_keeps_in_memory(text))
		text_emit(text, "st.global.u64 [$d], $d", find_value(text, slot), VALUE);
	else
		text_emit(text, "mov.b64 $s$u, $d", GPUMON_GPUPROG_KEPT_REG, slot, VALUE);
	text_emit(text, "mov.b64 $d, 0", RESULT);
}

void text_kept(struct text *text)
{
	uint32_t slot = slot_of(text);

	if (text_keeps_in_memory(text))
		text_emit(text, "ld.global.u64 $d, [$d]", RESULT, find_value(text, slot));
	else
		text_emit(text, "mov.b64 $d, $s$u", RESULT, GPUMON_GPUPROG_KEPT_REG, slot);
}

void gpumon_gpuprog_take_place(const struct gpumon_gpuprog_target *target, FILE *out)
{
	struct text text = { .target = target };
	uint32_t zero = text_wide(&text), none = text_predicate(&text);
	struct place place;
	char *body;
	size_t size;

	text.out = gpumon_memstream_open(&body, &size);
	/* A table without addresses. */
	text_emit(&text, "setp.eq.u64 $p, $d, 0", none, text_table(&text, 0));
	text_emit(&text, "@$p bra $l", none, TEXT_LABEL_END);
	place = find_place(&text);
	text_emit(&text, "@$p bra $l", place.outside, TEXT_LABEL_END);
	text_emit(&text, "mov.b64 $d, 0", zero);
	for (uint32_t word = 0; word < GPUMON_GPUPROG_KEPT_TAGS + GPUMON_GPUPROG_MAX_KEPT; word++)
		text_emit(&text, "st.global.u64 [$d], $d", word_address(&text, &place, word),
			  word <= THREAD ? tag(&text, word) : zero);
	text_label(&text, TEXT_LABEL_END);
	gpumon_memstream_close(text.out);
	fputs("{\n", out);
	text_declare(&text, out);
	fputs(body, out);
	fputs("}\n", out);
	free(body);
}

#define RESULT 0 /* R0 */

static void result_word(struct text *text, uint32_t word)
{
	text_emit(text, "cvt.u64.u32 $d, $w", RESULT, word);
}

/* A special register of three dimensions, through three pointers. */
static void write_dimensions(struct text *text, const char *name)
{
	static const char axes[] = "xyz";
	char whole[16];
	uint32_t word, wide, i;
	struct text_place place;

	for (i = 0; i < 3; i++) {
		snprintf(whole, sizeof(whole), "%s.%c", name, axes[i]);
		word = text_special(text, whole);
		wide = text_wide(text);
		text_emit(text, "cvt.u64.u32 $d, $w", wide, word);
		place = text_place_open(text, &text->facts[text->step].arguments[i], i + 1, 0, 8);
		text_place_store(text, &place, 0, 8, wide);
	}
	text_emit(text, "mov.b64 $d, 0", RESULT);
}

static void is_leader(struct text *text)
{
	uint32_t before = text_lanes_before(text, text_active_mask(text));
	uint32_t first = text_predicate(text);

	text_emit(text, "setp.eq.u32 $p, $w, 0", first, before);
	text_emit(text, "selp.b64 $d, 1, 0, $p", RESULT, first);
}

static void active_lanes(struct text *text)
{
	uint32_t mask = text_active_mask(text);

	text_emit(text, "popc.b32 $w, $w", mask, mask);
	result_word(text, mask);
}

static void pid_tgid(struct text *text)
{
	uint32_t control = text_table(text, 0);

	text_emit(text, "ld.global.u64 $d, [$d+$u]", RESULT, control,
		  (uint32_t)offsetof(struct gpumon_gpuprog_control, pid_tgid));
}

static void call_place(struct text *text, int32_t id)
{
	switch (id) {
	case 503:
		write_dimensions(text, "%ctaid");
		break;
	case 504:
		write_dimensions(text, "%ntid");
		break;
	case 505:
		write_dimensions(text, "%tid");
		break;
	case 508:
		write_dimensions(text, "%nctaid");
		break;
	case 509:
		result_word(text, text_special(text, "%smid"));
		break;
	case 510:
		result_word(text, text_special(text, "%warpid"));
		break;
	case 511:
		result_word(text, text_special(text, "%laneid"));
		break;
	case 607:
		text_emit(text, "cvt.u64.u32 $d, $s", RESULT, GPUMON_GPUPROG_KERNEL_REG);
		break;
	case 608:
		text_emit(text, "mov.b64 $d, $d", RESULT, text_thread(text));
		break;
	case 609:
		text_emit(text, "mov.b64 $d, $d", RESULT, text_block(text));
		break;
	case 610:
		text_emit(text, "mov.b64 $d, $d", RESULT, text_warp_in_block(text));
		break;
	default:
		text_refuse(text, "helper %d is not known", id);
	}
}

static void write_call(struct text *text, const struct gpumon_gpuprog_step *step)
{
	switch (step->imm) {
	case BPF_FUNC_map_lookup_elem:
		text_map_lookup(text);
		break;
	case BPF_FUNC_map_update_elem:
		text_map_update(text);
		break;
	case BPF_FUNC_map_delete_elem:
		/* Elements of arrays cannot be deleted: there is no such call of this helper. */
		text_hash_delete(text);
		break;
	case BPF_FUNC_trace_printk:
	case 501:
		text_ring_print(text);
		break;
	case BPF_FUNC_get_current_pid_tgid:
		pid_tgid(text);
		break;
	case BPF_FUNC_perf_event_output:
		text_ring_output(text, 3, -TEXT_ENOSPC);
		break;
	case BPF_FUNC_ringbuf_output:
		text_ring_output(text, 1, -TEXT_EAGAIN);
		break;
	case 502:
		text_emit(text, "mov.u64 $d, %globaltimer", RESULT);
		break;
	case 506:
		text_emit(text, "membar.sys");
		text_emit(text, "mov.b64 $d, 0", RESULT);
		break;
	case 507:
		if (text->target->patch)
			text_refuse(text, "a patch of machine code cannot end a thread: leave out "
					  "bpf_cuda_exit, or use a kernel with PTX");
		text_emit(text, "exit");
		break;
	case 600:
		text_map_count(text);
		break;
	case 601:
		text_map_histogram(text);
		break;
	case 602:
		is_leader(text);
		break;
	case 603:
		active_lanes(text);
		break;
	case 604:
		text_emit(text, "mov.u64 $d, %clock64", RESULT);
		break;
	case 605:
		text_keep(text);
		break;
	case 606:
		text_kept(text);
		break;
	case 611:
		text_emit(text, "mov.b64 $d, $d", RESULT, text_sectors(text, 1, 2));
		break;
	case 612:
		text_emit(text, "mov.b64 $d, $d", RESULT, text_contiguous(text, 1, 2));
		break;
	default:
		call_place(text, step->imm);
	}
}

/* Which argument is a map, from 0, or -1. */
static int map_argument(const struct gpumon_gpuprog_step *step)
{
	const struct gpumon_gpuprog_helper *helper = gpumon_gpuprog_helper_find(step->imm);
	int i;

	for (i = 0; helper && i < 5; i++)
		if (helper->arguments[i] == GPUMON_GPUPROG_ARG_MAP)
			return i;
	return -1;
}

/* clang makes one call of two that differ in the map alone: the text has one for each map again. */
void text_call(struct text *text, const struct gpumon_gpuprog_step *step)
{
	int argument = map_argument(step);
	uint64_t left = argument < 0 ? 0 : text->facts[text->step].arguments[argument].maps;
	uint32_t end = 0, next = 0, differs;
	bool several = left & (left - 1);

	if (several)
		end = text_new_label(text);
	do {
		text->map = left ? (uint32_t)__builtin_ctzll(left) : 0;
		left &= left - 1;
		if (left) {
			next = text_new_label(text);
			differs = text_predicate(text);
			text_emit(text, "setp.ne.u64 $p, $d, $d", differs, argument + 1,
				  text_map_address(text, text->map));
			text_emit(text, "@$p bra $l", differs, next);
		}
		write_call(text, step);
		if (left) {
			text_emit(text, "bra $l", end);
			text_label(text, next);
		}
	} while (left);
	if (several) {
		text_label(text, end);
		text->looked_up = 0;
	}
}
