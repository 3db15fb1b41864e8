// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stddef.h>
#include <string.h>

#include "capture.h"
#include "pack.h"

/* A slot holds the last record of one kind. The first byte of a record names its slot. */
#define SLOTS	   127
#define NEW_SLOT   127 /* the record's slot and its model follow */
#define SAME_WORDS 128 /* the same words as the last time changed */
#define PLAIN	   127 /* as a slot: the record follows as it is */
#define ZEROS	   127 /* as a model: the record's size follows */
#define WORD	   sizeof(uint32_t)
#define WORDS_MAX  64

struct slot {
	const uint32_t *words; /* the record, NULL: none */
	uint32_t count;	       /* of @words */
	uint64_t changed;      /* a bit for each word */
};

static const uint32_t zeros[WORDS_MAX];

/* --- packing */

struct packer {
	struct slot slots[SLOTS];
	uint8_t recent[256]; /* by the lower half of a type: a slot with a record of it */
	uint8_t *at;
};

static void put_number(struct packer *packer, uint64_t number)
{
	for (; number > 127; number >>= 7)
		*packer->at++ = (uint8_t)(number | 128);
	*packer->at++ = (uint8_t)number;
}

static void put_changes(struct packer *packer, const uint32_t *words, const uint32_t *model,
			uint64_t changed)
{
	for (; changed; changed &= changed - 1) {
		unsigned int i = (unsigned int)__builtin_ctzll(changed);
		uint32_t by = words[i] - model[i];

		/* Small negative numbers become small, too. */
		put_number(packer, by >> 31 ? ~(by << 1) : by << 1);
	}
}

static uint64_t compare_words(const uint32_t *words, const uint32_t *model, uint32_t count)
{
	uint64_t changed = 0;

	for (uint32_t i = 0; i < count; i++)
		changed |= (uint64_t)(words[i] != model[i]) << i;
	return changed;
}

/* Kernels of one name have the same grid, threads the same ids, and so on. */
static uint32_t choose_slot(const struct gpumon_record *record)
{
	uint32_t key = record->type * 64u + record->size;

	if (record->type == GPUMON_RECORD_KERNEL && record->size >= GPUMON_KERNEL_SIZE)
		key += ((const struct gpumon_record_kernel *)(const void *)record)->name << 16;
	else if (record->type == GPUMON_RECORD_LAUNCH && record->size >= GPUMON_LAUNCH_SIZE)
		key += ((const struct gpumon_record_launch *)(const void *)record)->tid << 16;
	return (uint32_t)((uint64_t)(key * 2654435769u) * SLOTS >> 32);
}

static void put_new_slot(struct packer *packer, uint32_t which, const uint32_t *words,
			 uint32_t count, uint8_t type)
{
	struct slot *slot = &packer->slots[which];
	const struct slot *recent = &packer->slots[packer->recent[type] % SLOTS];
	const uint32_t *model = zeros;

	*packer->at++ = NEW_SLOT;
	*packer->at++ = (uint8_t)which;
	if (recent->words && recent->count == count && (uint8_t)recent->words[0] == type) {
		model = recent->words;
		*packer->at++ = packer->recent[type];
	} else {
		*packer->at++ = ZEROS;
		put_number(packer, count);
	}
	slot->count = count;
	slot->changed = compare_words(words, model, count);
	put_number(packer, slot->changed);
	put_changes(packer, words, model, slot->changed);
}

static void put_record(struct packer *packer, const struct gpumon_record *record)
{
	const uint32_t *words = (const void *)record;
	uint32_t count = record->size / (uint32_t)WORD, which;
	uint64_t changed;
	struct slot *slot;

	if (count > WORDS_MAX || record->type == GPUMON_RECORD_STRING) {
		*packer->at++ = NEW_SLOT;
		*packer->at++ = PLAIN;
		memcpy(packer->at, record, record->size);
		packer->at += record->size;
		return;
	}
	which = choose_slot(record);
	slot = &packer->slots[which];
	if (!slot->words || slot->count != count) {
		put_new_slot(packer, which, words, count, (uint8_t)record->type);
	} else {
		changed = compare_words(words, slot->words, count);
		*packer->at++ = (uint8_t)(which | (changed == slot->changed ? SAME_WORDS : 0));
		if (changed != slot->changed)
			put_number(packer, changed);
		put_changes(packer, words, slot->words, changed);
		slot->changed = changed;
	}
	slot->words = words;
	packer->recent[(uint8_t)record->type] = (uint8_t)which;
}

size_t gpumon_pack(const void *records, size_t size, void *packed)
{
	struct packer packer = { .at = packed };
	const char *at = records;

	while (size) {
		const struct gpumon_record *record = (const void *)at;

		if (gpumon_record_check(record, size) == GPUMON_RECORD_IMPOSSIBLE)
			return 0;
		put_record(&packer, record);
		at += record->size;
		size -= record->size;
	}
	while ((packer.at - (uint8_t *)packed) % 8)
		*packer.at++ = 0;
	return (size_t)(packer.at - (uint8_t *)packed);
}

/* --- unpacking */

struct unpacker {
	struct slot slots[SLOTS];
	const uint8_t *at;
	const uint8_t *end;
	uint32_t *out;
	size_t room; /* words */
};

/* Bits beyond 64 are dropped. */
static bool get_number(struct unpacker *unpacker, uint64_t *number)
{
	unsigned int shift = 0;
	uint8_t byte;

	*number = 0;
	do {
		if (unpacker->at == unpacker->end || shift > 63)
			return false;
		byte = *unpacker->at++;
		*number |= (uint64_t)(byte & 127) << shift;
		shift += 7;
	} while (byte & 128);
	return true;
}

static bool get_byte(struct unpacker *unpacker, uint8_t *byte)
{
	if (unpacker->at == unpacker->end)
		return false;
	*byte = *unpacker->at++;
	return true;
}

static bool get_plain(struct unpacker *unpacker)
{
	size_t have = (size_t)(unpacker->end - unpacker->at);
	struct gpumon_record record;

	if (have < sizeof(record))
		return false;
	memcpy(&record, unpacker->at, sizeof(record));
	if (record.size < sizeof(record) || record.size % 8 || record.size > have ||
	    record.size / WORD > unpacker->room)
		return false;
	memcpy(unpacker->out, unpacker->at, record.size);
	unpacker->at += record.size;
	unpacker->out += record.size / WORD;
	unpacker->room -= record.size / WORD;
	return true;
}

/* The record's model and size. */
static bool get_model(struct unpacker *unpacker, struct slot *model)
{
	uint64_t count;
	uint8_t from;

	if (!get_byte(unpacker, &from) || from > ZEROS)
		return false;
	if (from != ZEROS) {
		*model = unpacker->slots[from];
		return model->words;
	}
	if (!get_number(unpacker, &count) || !count || count > WORDS_MAX || count % 2)
		return false;
	model->words = zeros;
	model->count = (uint32_t)count;
	return true;
}

static bool get_changes(struct unpacker *unpacker, const struct slot *model, struct slot *slot)
{
	uint32_t *words = unpacker->out;
	uint64_t changed, by;

	if (model->count > unpacker->room ||
	    (model->count < WORDS_MAX && slot->changed >> model->count))
		return false;
	memcpy(words, model->words, model->count * WORD);
	for (changed = slot->changed; changed; changed &= changed - 1) {
		if (!get_number(unpacker, &by))
			return false;
		words[__builtin_ctzll(changed)] += (uint32_t)(by >> 1) ^ (0 - (uint32_t)(by & 1));
	}
	slot->words = words;
	slot->count = model->count;
	unpacker->out += model->count;
	unpacker->room -= model->count;
	return true;
}

static bool get_record(struct unpacker *unpacker)
{
	struct slot *slot, model;
	uint8_t which, to;

	if (!get_byte(unpacker, &which))
		return false;
	if (which == NEW_SLOT) {
		if (!get_byte(unpacker, &to) || to > PLAIN)
			return false;
		if (to == PLAIN)
			return get_plain(unpacker);
		slot = &unpacker->slots[to];
		return get_model(unpacker, &model) && get_number(unpacker, &slot->changed) &&
		       get_changes(unpacker, &model, slot);
	}
	if (which == (NEW_SLOT | SAME_WORDS))
		return false;
	slot = &unpacker->slots[which & ~SAME_WORDS];
	model = *slot;
	if (!model.words || (!(which & SAME_WORDS) && !get_number(unpacker, &slot->changed)))
		return false;
	return get_changes(unpacker, &model, slot);
}

bool gpumon_unpack(const void *packed, size_t size, void *records, size_t room)
{
	struct unpacker unpacker = {
		.at = packed,
		.end = (const uint8_t *)packed + size,
		.out = records,
		.room = room / WORD,
	};

	if (room % 8)
		return false;
	while (unpacker.room)
		if (!get_record(&unpacker))
			return false;
	if (size % 8 || unpacker.end - unpacker.at > 7)
		return false;
	while (unpacker.at < unpacker.end)
		if (*unpacker.at++)
			return false;
	return true;
}
