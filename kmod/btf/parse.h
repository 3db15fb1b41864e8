/* SPDX-License-Identifier: GPL-2.0-only */
/* Look-ups in a file of BTF, for btf.c. */
#ifndef GPUMON_BTF_PARSE_H
#define GPUMON_BTF_PARSE_H

#include <linux/bits.h>
#include <linux/types.h>

#include "compat/btf.h"

struct file;
struct gpumon_btf_copy;
struct gpumon_btf_layout;

/* Bytes of the longest name that can be asked for, with its NUL. */
#define GPUMON_BTF_NAME_LEN 128

/**
 * struct gpumon_btf_name - a name that is asked for: of a type, a function or a member
 * @text: the name, need not end with a NUL
 * @length: its length, less than GPUMON_BTF_NAME_LEN
 * @tracepoint: it is a tracepoint, whose type has a longer name
 */
struct gpumon_btf_name {
	const char *text;
	u16 length;
	bool tracepoint;
};

/**
 * struct gpumon_btf_names - the names that are asked for
 * @name: the names
 * @count: number of them
 * @room: how many fit
 */
struct gpumon_btf_names {
	struct gpumon_btf_name *name;
	u32 count;
	u32 room;
};

/**
 * struct gpumon_btf_found - a type with one of the names
 * @id: its id
 * @name: number of the name
 * @kind: its kind
 */
struct gpumon_btf_found {
	u32 id;
	u16 name;
	u8 kind;
};

#define GPUMON_BTF_COPY_BUCKETS 64

/**
 * struct gpumon_btf - types of the kernel or of a module
 * @base: the kernel's, whose ids and strings those of a module continue; NULL for the kernel's
 * @names: what can be asked for
 * @file: the file; between look-ups it may be closed
 * @types_at: where its types begin, in bytes
 * @type_bytes: their size
 * @strings_at: where its strings begin; they end with a NUL, a module need not have any
 * @string_bytes: their size
 * @first_id: id of its first type
 * @first_string: offset by which its first string is known
 * @count: number of types
 * @marks: places of some of the types, from @types_at on
 * @name_at: of each name, the offset by which it is known if it is among these strings, else 0
 * @found: types with one of the names, by rising id
 * @found_count: number of these
 * @found_room: as many fit
 * @layouts: lengths of kinds that are newer than gpumon
 * @layout_count: number of these
 * @window: the part of the file that was read last
 * @window_at: where it begins
 * @window_bytes: its size
 * @copies: types that were read since gpumon_btf_forget_copies(), by the low bits of the id
 */
struct gpumon_btf {
	struct gpumon_btf *base;
	const struct gpumon_btf_names *names;
	struct file *file;
	u32 types_at;
	u32 type_bytes;
	u32 strings_at;
	u32 string_bytes;
	u32 first_id;
	u32 first_string;
	u32 count;
	u32 *marks;
	u32 *name_at;
	struct gpumon_btf_found *found;
	u32 found_count;
	u32 found_room;
	struct gpumon_btf_layout *layouts;
	u32 layout_count;
	void *window;
	u32 window_at;
	u32 window_bytes;
	struct gpumon_btf_copy *copies[GPUMON_BTF_COPY_BUCKETS];
};

/**
 * struct gpumon_btf_place - where a member lies
 * @offset: in bytes
 * @size: in bytes
 * @bit_offset: of a bitfield: lowest bit in the bytes
 * @bit_size: of a bitfield: bits, 0 if it is none
 */
struct gpumon_btf_place {
	u32 offset;
	u32 size;
	u8 bit_offset;
	u8 bit_size;
};

#define GPUMON_BTF_PROTOTYPE_LEN 160

/**
 * struct gpumon_btf_prototype - a prototype in canonical form, see btf.c
 * @arguments: tokens with one space between them
 * @returns: one token
 */
struct gpumon_btf_prototype {
	char arguments[GPUMON_BTF_PROTOTYPE_LEN];
	char returns[GPUMON_BTF_PROTOTYPE_LEN];
};

int gpumon_btf_name_add(struct gpumon_btf_names *names, const char *text, size_t length,
			bool tracepoint);
u32 gpumon_btf_name_find(const struct gpumon_btf_names *names, const char *text, size_t length,
			 bool tracepoint);
void gpumon_btf_names_free(struct gpumon_btf_names *names);
int gpumon_btf_parse(struct gpumon_btf *btf, struct gpumon_btf *base,
		     const struct gpumon_btf_names *names, struct file *file, const char **wrong);
void gpumon_btf_forget_copies(struct gpumon_btf *btf);
void gpumon_btf_free(struct gpumon_btf *btf);
size_t gpumon_btf_bytes(const struct gpumon_btf *btf);
u32 gpumon_btf_find(const struct gpumon_btf *btf, const char *text, bool tracepoint,
		    unsigned long kinds, u32 after);
int gpumon_btf_member(struct gpumon_btf *btf, u32 id, const char *path,
		      struct gpumon_btf_place *place);
int gpumon_btf_function(struct gpumon_btf *btf, u32 id, bool tracepoint,
			struct gpumon_btf_prototype *prototype);

#endif /* GPUMON_BTF_PARSE_H */
