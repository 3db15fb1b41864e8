// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The section is a header with three tables: functions, lines, and relocations. A table is the size
 * of its records, and then for each section of code its name, a count, and so many records.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "extra.h"

#define RECORD_SIZE 16 /* of lines and of relocations; longer ones are possible */

struct header {
	uint16_t magic;
	uint8_t version;
	uint8_t flags;
	uint32_t length;
	uint32_t functions;
	uint32_t functions_length;
	uint32_t lines;
	uint32_t lines_length;
	uint32_t relocations;
	uint32_t relocations_length;
};

struct table {
	const uint8_t *at;
	size_t left;
};

static int refuse(const struct gpumon_probe_image *image, struct gpumon_error *err)
{
	return GPUMON_PROBE_IMAGE_REFUSE(image, err,
					 "section .BTF.ext is damaged: compile it again");
}

static bool take_word(struct table *table, uint32_t *word)
{
	if (table->left < sizeof(*word))
		return false;
	memcpy(word, table->at, sizeof(*word));
	table->at += sizeof(*word);
	table->left -= sizeof(*word);
	return true;
}

static uint32_t find_section(const struct gpumon_probe_image *image, const char *name)
{
	for (uint32_t i = 0; i < image->sections_n; i++) {
		if (image->sections[i].code && !strcmp(image->sections[i].name, name))
			return i;
	}
	return 0;
}

/* Lines: offset, file, text, line. Relocations: offset, type, access, kind. */
static int add_notes(struct table *table, uint32_t section, uint32_t n, uint32_t size,
		     struct gpumon_probe_notes *notes)
{
	for (uint32_t i = 0; i < n; i++) {
		struct gpumon_probe_note *note;
		uint32_t words[4];

		memcpy(words, table->at + (size_t)i * size, sizeof(words));
		note = GPUMON_ARRAY_ADD(notes->notes, notes->n, notes->room);
		if (!note)
			return -1;
		*note = (struct gpumon_probe_note){ .section = section,
						    .offset = words[0],
						    .file = words[1],
						    .text = words[2],
						    .word = words[3] };
	}
	table->at += (size_t)n * size;
	table->left -= (size_t)n * size;
	return 0;
}

static int compare_notes(const void *a, const void *b)
{
	const struct gpumon_probe_note *x = a, *y = b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->word < y->word ? -1 : x->word > y->word;
}

static int read_table(const struct gpumon_probe_image *image, const struct btf *btf,
		      struct table table, struct gpumon_probe_notes *notes,
		      struct gpumon_error *err)
{
	uint32_t size, sections = 0;

	if (!table.left)
		return 0;
	if (!take_word(&table, &size) || size < RECORD_SIZE || size % sizeof(uint32_t))
		return refuse(image, err);
	while (table.left) {
		uint32_t name, n;
		const char *text;

		if (!take_word(&table, &name) || !take_word(&table, &n) || !n ||
		    n > table.left / size || sections++ == image->sections_n)
			return refuse(image, err);
		text = btf__name_by_offset(btf, name);
		if (!text)
			return refuse(image, err);
		if (add_notes(&table, find_section(image, text), n, size, notes))
			return gpumon_error_memory(err);
	}
	if (notes->n)
		qsort(notes->notes, notes->n, sizeof(*notes->notes), compare_notes);
	return 0;
}

static bool find_table(const struct gpumon_probe_section *section, uint32_t from, uint32_t offset,
		       uint32_t length, struct table *table)
{
	uint64_t start = (uint64_t)from + offset;

	if (start > section->size || length > section->size - start)
		return false;
	*table = (struct table){ .at = section->data + start, .left = length };
	return true;
}

int gpumon_probe_extra_read(const struct gpumon_probe_image *image, const struct btf *btf,
			    struct gpumon_probe_extra *extra, struct gpumon_error *err)
{
	const struct gpumon_probe_section *section =
		gpumon_probe_image_section(image, BTF_EXT_ELF_SEC);
	struct header header = { 0 };
	struct table lines, relocations;

	memset(extra, 0, sizeof(*extra));
	if (!section)
		return 0;
	/* The fields of relocations came later. */
	if (section->size < offsetof(struct header, relocations))
		return refuse(image, err);
	memcpy(&header, section->data,
	       section->size < sizeof(header) ? section->size : sizeof(header));
	if (header.magic != BTF_MAGIC || header.version != BTF_VERSION ||
	    header.length < offsetof(struct header, relocations) || header.length > section->size)
		return refuse(image, err);
	if (header.length < sizeof(header))
		header.relocations = header.relocations_length = 0;
	if (!find_table(section, header.length, header.lines, header.lines_length, &lines) ||
	    !find_table(section, header.length, header.relocations, header.relocations_length,
			&relocations))
		return refuse(image, err);
	if (read_table(image, btf, lines, &extra->lines, err))
		return -1;
	return read_table(image, btf, relocations, &extra->relocations, err);
}

void gpumon_probe_extra_clear(struct gpumon_probe_extra *extra)
{
	free(extra->lines.notes);
	free(extra->relocations.notes);
	memset(extra, 0, sizeof(*extra));
}

uint32_t gpumon_probe_notes_find(const struct gpumon_probe_notes *notes, uint32_t section,
				 uint64_t offset)
{
	uint32_t low = 0, high = notes->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct gpumon_probe_note *note = &notes->notes[middle];

		if (note->section < section || (note->section == section && note->offset < offset))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
