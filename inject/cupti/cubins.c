// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prepared.h"
#include "channel/intern.h"
#include "cubins.h"

/* All copies together, and how many. A module of a large program with -lineinfo has some MiB. */
#define ROOM   (64u << 20)
#define CUBINS 1024

/* Instructions of which the line is kept. */
#define LINES (1u << 16)

/**
 * struct cubin - a copy
 * @size: bytes, 0: none yet
 * @data: where it is
 * @crc: CUPTI's, with @has_crc
 */
struct cubin {
	_Atomic size_t size;
	const char *data;
	uint64_t crc;
	bool has_crc;
};

/**
 * struct line - of an instruction
 * @key: hash of its module, function and offset, 0: free
 * @file: string id
 * @line: in it
 */
struct line {
	uint64_t key;
	uint32_t file;
	uint32_t line;
};

static char *room;
static _Atomic size_t room_used;
static struct cubin cubins[CUBINS];
static _Atomic uint32_t cubin_count;
static _Atomic uint32_t refused;

/* Of the library's own thread. */
static struct line *lines;
static uint32_t line_count;
static struct inject_cubins_account account;

bool inject_cubins_reserve(void)
{
	if (!lines)
		lines = inject_memory_take(LINES * sizeof(*lines));
	if (!room)
		room = inject_memory_take(ROOM);
	return room && lines;
}

void inject_cubins_begin(void)
{
	if (lines && line_count)
		memset(lines, 0, LINES * sizeof(*lines));
	line_count = 0;
	account = (struct inject_cubins_account){ 0 };
	atomic_store(&refused, 0);
}

/* The names of sections, or NULL where that is no cubin. */
static const char *section_names(const char *cubin, size_t size, const Elf64_Shdr **sections,
				 size_t *names_size)
{
	const Elf64_Ehdr *head = (const void *)cubin;
	const Elf64_Shdr *names;

	if (size < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_shentsize != sizeof(**sections) ||
	    head->e_shoff > size || head->e_shstrndx >= head->e_shnum ||
	    (size - head->e_shoff) / sizeof(**sections) < head->e_shnum)
		return NULL;
	*sections = (const void *)(cubin + head->e_shoff);
	names = *sections + head->e_shstrndx;
	if (names->sh_offset > size || names->sh_size > size - names->sh_offset)
		return NULL;
	*names_size = names->sh_size;
	return cubin + names->sh_offset;
}

static bool has_lines(const char *cubin, size_t size)
{
	static const char *const wanted[] = { ".debug_line", ".nv_debug_line_sass" };
	const Elf64_Shdr *sections;
	const char *names, *name;
	size_t names_size, left;
	unsigned int count, i, j;

	names = section_names(cubin, size, &sections, &names_size);
	if (!names)
		return false;
	count = ((const Elf64_Ehdr *)(const void *)cubin)->e_shnum;
	for (i = 0; i < count; i++) {
		if (sections[i].sh_name >= names_size || !sections[i].sh_size)
			continue;
		name = names + sections[i].sh_name;
		left = names_size - sections[i].sh_name;
		for (j = 0; j < sizeof(wanted) / sizeof(wanted[0]); j++)
			if (left > strlen(wanted[j]) &&
			    memcmp(name, wanted[j], strlen(wanted[j]) + 1) == 0)
				return true;
	}
	return false;
}

/* A module that is loaded again, or into another context. */
static bool is_known(const void *cubin, size_t size)
{
	uint32_t n = atomic_load(&cubin_count), i;

	for (i = 0; i < n && i < CUBINS; i++)
		if (atomic_load(&cubins[i].size) == size &&
		    memcmp(cubins[i].data, cubin, size) == 0)
			return true;
	return false;
}

void inject_cubins_loaded(const void *cubin, size_t size)
{
	size_t used = atomic_load(&room_used), rounded = (size + 15) & ~15ul;
	uint32_t at;

	if (!room || !cubin || !has_lines(cubin, size) || is_known(cubin, size))
		return;
	at = atomic_load(&cubin_count);
	do {
		if (at >= CUBINS) {
			atomic_fetch_add(&refused, 1);
			return;
		}
	} while (!atomic_compare_exchange_weak(&cubin_count, &at, at + 1));
	do {
		if (rounded < size || rounded > ROOM - used) {
			atomic_fetch_add(&refused, 1);
			return;
		}
	} while (!atomic_compare_exchange_weak(&room_used, &used, used + rounded));
	memcpy(room + used, cubin, size);
	cubins[at].data = room + used;
	atomic_store(&cubins[at].size, size);
}

static void find_crc(struct cubin *cubin, size_t size)
{
	struct inject_pc_crc crc = {
		.size = sizeof(crc),
		.cubin_size = size,
		.cubin = cubin->data,
	};

	if (inject_pc_sampling.find_crc(&crc) == CUPTI_SUCCESS)
		cubin->crc = crc.crc;
	cubin->has_crc = true;
}

static const struct cubin *find_cubin(uint64_t crc)
{
	uint32_t n = atomic_load(&cubin_count), i;
	size_t size;

	for (i = 0; i < n && i < CUBINS; i++) {
		size = atomic_load(&cubins[i].size);
		if (!size)
			continue;
		if (!cubins[i].has_crc)
			find_crc(&cubins[i], size);
		if (cubins[i].crc == crc)
			return &cubins[i];
	}
	return NULL;
}

/* The string id of a file in a folder. */
static uint32_t path_id(struct inject_thread *thread, const char *folder, const char *file)
{
	char path[4096];

	if (!file || !*file)
		return 0;
	if (!folder || !*folder || *file == '/')
		return inject_intern_string(thread, file);
	snprintf(path, sizeof(path), "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/",
		 file);
	return inject_intern_string(thread, path);
}

static void ask_cupti(struct inject_thread *thread, const struct inject_pc *pc,
		      const struct cubin *cubin, struct line *line)
{
	struct inject_pc_line found = {
		.size = sizeof(found),
		.cubin = cubin->data,
		.function = pc->name,
		.cubin_size = atomic_load(&cubin->size),
		.offset = pc->offset,
	};

	if (!pc->name || inject_pc_sampling.find_line(&found) != CUPTI_SUCCESS)
		return;
	line->file = path_id(thread, found.folder, found.file);
	line->line = line->file ? found.line : 0;
	free(found.file);
	free(found.folder);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* The place of an instruction; a full table has one that is not kept. */
static struct line *find_place(const struct inject_pc *pc, bool *is_new)
{
	static struct line not_kept;
	uint64_t key = mix(mix(mix(0, pc->module), pc->function), pc->offset) | 1;
	uint32_t at = (uint32_t)(key >> 20) & (LINES - 1);

	for (; lines[at].key; at = (at + 1) & (LINES - 1)) {
		*is_new = false;
		if (lines[at].key == key)
			return &lines[at];
	}
	*is_new = true;
	if (line_count >= LINES / 4 * 3) {
		not_kept = (struct line){ 0 };
		return &not_kept;
	}
	line_count++;
	lines[at].key = key;
	return &lines[at];
}

void inject_cubins_line(struct inject_thread *thread, const struct inject_pc *pc, uint32_t *file,
			uint32_t *line, uint64_t until_ns)
{
	const struct cubin *cubin;
	bool is_new, is_asked = true;
	struct line *place;

	place = find_place(pc, &is_new);
	if (is_new) {
		cubin = find_cubin(pc->module);
		is_asked = !cubin || inject_now() < until_ns;
		if (!cubin)
			account.unknown++;
		else if (is_asked)
			ask_cupti(thread, pc, cubin, place);
		else
			account.unasked++;
	}
	*file = place->file;
	*line = place->line;
	/* Ask again the next time: nothing was put behind the last place. */
	if (is_new && place->key && (!is_asked || !inject_string_is_written(place->file))) {
		*place = (struct line){ 0 };
		line_count--;
	}
}

struct inject_cubins_account inject_cubins_account(void)
{
	account.refused = atomic_load(&refused);
	return account;
}
