// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "elf_names.h"

/* What is unpacked at first, and how much more each time that names go on behind it. */
#define FIRST_BYTES (16u << 10)
#define MORE	    8

enum names {
	NONE,
	WANTED,
	GO_ON,
	UNKNOWN,
	FAILED,
};

static const char first_name[] = ".shstrtab", code[] = ".text.";

/* A section's name: ".text.NAME" of a function, perhaps as the end of another name. */
static enum names look_at_name(struct gpumon_exchange *exchange, const char *name, size_t size)
{
	const char *at = memmem(name, size, code, sizeof(code) - 1);
	uint32_t programs;

	if (!at)
		return NONE;
	at += sizeof(code) - 1;
	if (gpumon_exchange_wanted(exchange, at, (size_t)(name + size - at), true, &programs))
		return FAILED;
	return programs ? WANTED : NONE;
}

static bool is_printable(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return true;
}

/* The names stand between the file's head and something that is no text, or the next list. */
static enum names look_at_names(struct gpumon_exchange *exchange, const char *data, size_t size)
{
	const char *at = data + sizeof(Elf64_Ehdr) + 1, *end = data + size;
	size_t lists = 0;

	if (size < sizeof(Elf64_Ehdr) + 1 + sizeof(first_name) ||
	    memcmp(data, ELFMAG, SELFMAG) != 0 || at[-1] ||
	    memcmp(at, first_name, sizeof(first_name)) != 0)
		return UNKNOWN;
	while (at < end) {
		size_t length = strnlen(at, (size_t)(end - at));
		enum names names;

		lists += length == sizeof(first_name) - 1 && !memcmp(at, first_name, length);
		if (lists == 2 || !is_printable(at, length))
			return NONE;
		if (length == (size_t)(end - at))
			break;
		names = look_at_name(exchange, at, length);
		if (names != NONE)
			return names;
		at += length + 1;
	}
	return GO_ON;
}

int gpumon_exchange_may_hold(struct gpumon_exchange *exchange,
			     const struct gpumon_fatbin_image *image)
{
	for (size_t room = FIRST_BYTES;; room *= MORE) {
		uint8_t *data = malloc(room);
		enum names names;
		size_t size;

		if (!data)
			return gpumon_exchange_no_memory(exchange);
		size = gpumon_fatbin_unpack_begin(image, data, room);
		names = look_at_names(exchange, (const char *)data, size);
		free(data);
		if (names == FAILED)
			return -1;
		/* All of it was names: then it is no cubin as they are known. */
		if (names != GO_ON || size < room || room >= GPUMON_FATBIN_MAX_IMAGE / MORE)
			return names != NONE;
	}
}
