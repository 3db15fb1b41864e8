// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A patch has no registers that last, and functions do not see those of a kernel. What a thread keeps is in
 * memory then, at the place on the GPU where it is: processor, warp and lane. The place says which thread it
 * is of, since the GPU may move one to another place, as when programs share it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "step.h"
#include "warp.h"

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

	places = read_control(text, control, offsetof(struct gpumon_probe_control, kept_places));
	text_emit(text, "mov.b32 $w, $u", size, GPUMON_PROBE_KEPT_WARPS);
	text_emit(text, "mad.lo.u32 $w, $w, $w, $w", number, number, size, warp);
	text_emit(text, "mov.b32 $w, $u", size, GPUMON_PROBE_KEPT_LANES);
	text_emit(text, "mad.lo.u32 $w, $w, $w, $w", number, number, size, lane);
	text_emit(text, "cvt.u64.u32 $d, $w", at, number);
	text_emit(text, "setp.ge.u64 $p, $d, $d", place.outside, at, places);
	text_emit(text, "shl.b64 $d, $d, 3", place.stride, places);
	text_emit(text, "shl.b64 $d, $d, 3", at, at);
	text_emit(text, "add.s64 $d, $d, $d", place.words,
		  read_control(text, control, offsetof(struct gpumon_probe_control, kept)), at);
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

/* What a place says of its thread, as new %gd. */
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
	return word_address(text, &place, GPUMON_PROBE_KEPT_TAGS + slot);
}

static uint32_t slot_of(struct text *text)
{
	const struct gpumon_probe_operand *slot = &text->facts[text->step].arguments[0];

	if (!slot->constant || slot->value >= GPUMON_PROBE_MAX_KEPT)
		text_refuse(text, "the slot of gpumon_keep and gpumon_kept is a constant below %d",
			    GPUMON_PROBE_MAX_KEPT);
	return (uint32_t)slot->value;
}

void text_keep(struct text *text)
{
	uint32_t slot = slot_of(text);

	if (text_keeps_in_memory(text))
		text_emit(text, "st.global.u64 [$d], $d", find_value(text, slot), VALUE);
	else
		text_emit(text, "mov.b64 $s$u, $d", GPUMON_PROBE_KEPT_REG, slot, VALUE);
	text_emit(text, "mov.b64 $d, 0", RESULT);
}

void text_kept(struct text *text)
{
	uint32_t slot = slot_of(text);

	if (text_keeps_in_memory(text))
		text_emit(text, "ld.global.u64 $d, [$d]", RESULT, find_value(text, slot));
	else
		text_emit(text, "mov.b64 $d, $s$u", RESULT, GPUMON_PROBE_KEPT_REG, slot);
}

int gpumon_probe_take_place(const struct gpumon_probe_target *target, FILE *out,
			    struct gpumon_error *err)
{
	struct text text = { .target = target, .err = err };
	uint32_t zero = text_wide(&text), none = text_predicate(&text);
	struct place place;
	char *body = NULL;
	size_t size;

	text.out = open_memstream(&body, &size);
	if (!text.out)
		return gpumon_error_memory(err);
	/* A table without addresses. */
	text_emit(&text, "setp.eq.u64 $p, $d, 0", none, text_table(&text, 0));
	text_emit(&text, "@$p bra $l", none, TEXT_LABEL_END);
	place = find_place(&text);
	text_emit(&text, "@$p bra $l", place.outside, TEXT_LABEL_END);
	text_emit(&text, "mov.b64 $d, 0", zero);
	for (uint32_t word = 0; word < GPUMON_PROBE_KEPT_TAGS + GPUMON_PROBE_MAX_KEPT; word++)
		text_emit(&text, "st.global.u64 [$d], $d", word_address(&text, &place, word),
			  word <= THREAD ? tag(&text, word) : zero);
	text_label(&text, TEXT_LABEL_END);
	fclose(text.out);
	fputs("{\n", out);
	text_declare(&text, out);
	fputs(body, out);
	fputs("}\n", out);
	free(body);
	return 0;
}
