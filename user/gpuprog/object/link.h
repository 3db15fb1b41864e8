/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Puts a program and the functions that it calls into one sequence of instructions. */
#ifndef GPUMON_GPUPROG_OBJECT_LINK_H
#define GPUMON_GPUPROG_OBJECT_LINK_H

#include <bpf/btf.h>
#include <linux/bpf.h>

#include "elf.h"
#include "program.h"

/**
 * struct gpumon_gpuprog_note - something about one instruction
 * @section: index
 * @offset: bytes in it
 * @word: line and column; kind of a CO-RE relocation
 * @file: offset among BTF's strings
 * @text: the same, of the line
 */
struct gpumon_gpuprog_note {
	uint32_t section;
	uint32_t offset;
	uint32_t word;
	uint32_t file;
	uint32_t text;
};

struct gpumon_gpuprog_notes {
	struct gpumon_gpuprog_note *notes; /* by section and offset */
	uint32_t n;
	uint32_t room;
};

struct gpumon_gpuprog_extra {
	struct gpumon_gpuprog_notes lines;
	struct gpumon_gpuprog_notes relocations;
};

/**
 * gpumon_gpuprog_extra_read - read section .BTF.ext
 * @image: object file
 * @btf: its types, for names of sections
 * @extra: out, to be cleared in both cases; empty if there is no such section
 * @err: what is wrong
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_extra_read(const struct gpumon_gpuprog_image *image, const struct btf *btf,
			      struct gpumon_gpuprog_extra *extra, struct gpumon_error *err);
void gpumon_gpuprog_extra_clear(struct gpumon_gpuprog_extra *extra);

/**
 * struct gpumon_gpuprog_linker - what programs of one object share
 * @image: object file
 * @btf: its types, or NULL
 * @extra: its source lines
 * @maps: maps that programs use, so far; room for GPUMON_GPUPROG_MAX_MAPS
 * @maps_n: how many
 * @places: offset of each map's definition, or 0 for data
 * @sections: section of each map
 * @placed: for each function of the image, its first instruction + 1, or 0
 * @code: instructions of this program; room for GPUMON_GPUPROG_MAX_INSTRUCTIONS
 * @code_n: how many
 * @chain: functions that are in @code, in their order
 * @chain_n: how many
 */
struct gpumon_gpuprog_linker {
	const struct gpumon_gpuprog_image *image;
	const struct btf *btf;
	const struct gpumon_gpuprog_extra *extra;
	struct gpumon_gpuprog_map *maps;
	uint32_t maps_n;
	uint64_t places[GPUMON_GPUPROG_MAX_MAPS];
	uint32_t sections[GPUMON_GPUPROG_MAX_MAPS];
	uint32_t *placed;
	struct bpf_insn *code;
	uint32_t code_n;
	uint32_t *chain;
	uint32_t chain_n;
};

/* Prepare for an image. */
void gpumon_gpuprog_linker_init(struct gpumon_gpuprog_linker *linker,
				const struct gpumon_gpuprog_image *image);
void gpumon_gpuprog_linker_clear(struct gpumon_gpuprog_linker *linker);

/**
 * gpumon_gpuprog_link - link one program
 * @linker: linker
 * @function: position in the image's @functions
 * @program: its name is set; its lines are filled in
 * @err: what is wrong
 *
 * Afterwards @code is what gpumon_gpuprog_flatten() takes. Maps are added to @maps.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_link(struct gpumon_gpuprog_linker *linker, uint32_t function,
			struct gpumon_gpuprog *program, struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_OBJECT_LINK_H */
