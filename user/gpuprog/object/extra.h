/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Section .BTF.ext: source lines of instructions, and what depends on the kernel's types. */
#ifndef GPUMON_GPUPROG_OBJECT_EXTRA_H
#define GPUMON_GPUPROG_OBJECT_EXTRA_H

#include <bpf/btf.h>

#include "image.h"

/**
 * struct gpumon_probe_note - something about one instruction
 * @section: index
 * @offset: bytes in it
 * @word: line and column; kind of a CO-RE relocation
 * @file: offset among BTF's strings
 * @text: the same, of the line
 */
struct gpumon_probe_note {
	uint32_t section;
	uint32_t offset;
	uint32_t word;
	uint32_t file;
	uint32_t text;
};

struct gpumon_probe_notes {
	struct gpumon_probe_note *notes; /* by section and offset */
	uint32_t n;
	uint32_t room;
};

struct gpumon_probe_extra {
	struct gpumon_probe_notes lines;
	struct gpumon_probe_notes relocations;
};

/**
 * gpumon_probe_extra_read - read section .BTF.ext
 * @image: object file
 * @btf: its types, for names of sections
 * @extra: out, to be cleared in both cases; empty if there is no such section
 * @err: what is wrong
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_probe_extra_read(const struct gpumon_probe_image *image, const struct btf *btf,
			    struct gpumon_probe_extra *extra, struct gpumon_error *err);
void gpumon_probe_extra_clear(struct gpumon_probe_extra *extra);

/* Index of the first note at this place or behind it. */
uint32_t gpumon_probe_notes_find(const struct gpumon_probe_notes *notes, uint32_t section,
				 uint64_t offset);

#endif /* GPUMON_GPUPROG_OBJECT_EXTRA_H */
