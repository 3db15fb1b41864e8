/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Members of types that no public header has: a driver's private structures. Their offsets are
 * found at run time, see btf/btf.h.
 */
#ifndef GPUMON_FIELD_H
#define GPUMON_FIELD_H

#include <linux/stddef.h>
#include <linux/types.h>

#include "core/nofault.h"

#define GPUMON_FIELD_REASON_LEN 96

/**
 * struct gpumon_field - a member of a type that is known at run time only
 * @module: module whose BTF has the type, NULL for the kernel itself
 * @type: name of the struct, union or typedef, without "struct"
 * @member: path to the member with dots: "tbo.base.size"; members of anonymous
 *          structs and unions are found as if they were members of what is around them
 * @size: size that it has to have, in bytes; 0 for any
 * @built: of a member that the code reads where its headers have it, GPUMON_FIELD_BUILT(): the
 *         offset there plus 1. Where BTF has another one the group is refused.
 * @bit_offset: of a bitfield: its lowest bit in what is read
 * @bit_size: of a bitfield: its bits, 0 if it is none
 * @found_size: size in bytes; of more than 8 only gpumon_field_address() makes sense
 * @offset: offset in bytes, -1 while unknown
 * @differs: of one with @built: BTF has it at another offset, of another size, or not at all
 * @reason: why it is unknown, for a reader
 *
 * The first five are the group's to give, the others are the engine's: they are
 * found before a probe of the module is attached and stay until none runs.
 */
struct gpumon_field {
	const char *module;
	const char *type;
	const char *member;
	u8 size;
	u16 built;

	u8 bit_offset;
	u8 bit_size;
	u32 found_size;
	s32 offset;
	bool differs;
	char reason[GPUMON_FIELD_REASON_LEN];
};

#define GPUMON_FIELD(_module, _type, _member, _size)                                  \
	{                                                                             \
		.module = _module, .type = _type, .member = _member, .size = (_size), \
	}

/* A member whose offset is that of the headers at build time. */
#define GPUMON_FIELD_BUILT(_module, _type, _member)                            \
	{                                                                      \
		.module = _module, .type = #_type, .member = #_member,         \
		.size = sizeof_field(struct _type, _member),                   \
		.built = offsetof(struct _type, _member) + 1                   \
	}

/* Can the field be read on this machine? */
static inline bool gpumon_field_known(const struct gpumon_field *field)
{
	return READ_ONCE(field->offset) >= 0;
}

/**
 * gpumon_field_read - value of a field, if it is known and can be read
 * @field: integer, enum, pointer or bitfield
 * @object: object of the field's type, may be any value
 * @value: set to the value, zero-extended to 64 bits: a signed one has to be cast
 *
 * Context: any.
 * Return: false if the field is unknown or the memory cannot be read, @value is
 * then as it was.
 */
static __always_inline bool gpumon_field_read(const struct gpumon_field *field, const void *object,
					      u64 *value)
{
	s32 offset = READ_ONCE(field->offset);
	u32 size = field->found_size;
	u64 word = 0;

	if (unlikely(offset < 0 || size > sizeof(word)))
		return false;
	if (likely(size == sizeof(word))) {
		if (unlikely(!gpumon_read_nofault(&word, object + offset, sizeof(word))))
			return false;
	} else if (unlikely(!gpumon_read_nofault(&word, object + offset, size))) {
		return false;
	}
#ifdef __BIG_ENDIAN
	word >>= 8 * (sizeof(word) - size);
#endif
	if (field->bit_size)
		word = (word >> field->bit_offset) & (~0ULL >> (64 - field->bit_size));
	*value = word;
	return true;
}

/*
 * Value of a pointer; NULL also if it cannot be read. It may point to anything: it is for another
 * gpumon_field_read(), or to be compared.
 */
static __always_inline void *gpumon_field_pointer(const struct gpumon_field *field,
						  const void *object)
{
	u64 value;

	return gpumon_field_read(field, object, &value) ? (void *)(unsigned long)value : NULL;
}

/*
 * Address of a field in an object; the field may be a struct or an array. NULL if its offset is
 * unknown or there is no object. Nothing is read.
 */
static __always_inline void *gpumon_field_address(const struct gpumon_field *field,
						  const void *object)
{
	s32 offset = READ_ONCE(field->offset);

	return offset < 0 || !object ? NULL : (void *)object + offset;
}

/*
 * Value of a field, 0 if its offset is unknown on this machine. Returns false if it is known and
 * cannot be read: then @object is no such object.
 */
static __always_inline bool gpumon_field_get(const struct gpumon_field *field, const void *object,
					     u64 *value)
{
	*value = 0;
	return gpumon_field_read(field, object, value) || !gpumon_field_known(field);
}

/* Word of an event that is not known. */
#define GPUMON_WORD_UNKNOWN (~0ULL)

/* Word of an event for a value that depends on a field. */
static inline u64 gpumon_field_word(const struct gpumon_field *field, u64 value)
{
	return gpumon_field_known(field) ? value : GPUMON_WORD_UNKNOWN;
}

/* Word of an event for a field. */
static inline u64 gpumon_field_read_word(const struct gpumon_field *field, const void *object)
{
	u64 value;

	return gpumon_field_read(field, object, &value) ? value : GPUMON_WORD_UNKNOWN;
}

#endif /* GPUMON_FIELD_H */
