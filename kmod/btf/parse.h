/* SPDX-License-Identifier: GPL-2.0-only */
/* One file of BTF in memory. For btf.c. */
#ifndef GPUMON_BTF_PARSE_H
#define GPUMON_BTF_PARSE_H

#include <linux/bits.h>
#include <linux/btf.h>
#include <linux/types.h>

/**
 * struct gpumon_btf - types and strings of the kernel or of a module
 * @base: the kernel's, whose ids and strings those of a module continue; NULL for the kernel's
 * @data: the file, from vmalloc()
 * @types: type section
 * @type_bytes: size of it
 * @strings: string section, ends with a NUL; a module's can be empty
 * @string_bytes: size of it
 * @first_id: id of its first type
 * @first_string: offset by which its first string is known
 * @count: number of types
 * @offset: of each type in @types
 * @next: of each type, 1 + the next one of the same bucket, 0 at the end
 * @bucket: first type of each hash of a name, in the same way
 */
struct gpumon_btf {
	const struct gpumon_btf *base;
	void *data;
	const void *types;
	u32 type_bytes;
	const char *strings;
	u32 string_bytes;
	u32 first_id;
	u32 first_string;
	u32 count;
	u32 *offset;
	u32 *next;
	u32 *bucket;
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

int gpumon_btf_parse(struct gpumon_btf *btf, const struct gpumon_btf *base, void *data, size_t size,
		     const char **wrong);
void gpumon_btf_free(struct gpumon_btf *btf);
u32 gpumon_btf_find(const struct gpumon_btf *btf, const char *name, unsigned long kinds, u32 after);
int gpumon_btf_member(const struct gpumon_btf *btf, u32 id, const char *path,
		      struct gpumon_btf_place *place);
int gpumon_btf_function(const struct gpumon_btf *btf, u32 id, bool tracepoint,
			struct gpumon_btf_prototype *prototype);

#endif /* GPUMON_BTF_PARSE_H */
