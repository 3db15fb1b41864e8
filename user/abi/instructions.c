// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "instructions.h"

#ifdef __x86_64__

/* Length of call *operand, by the byte behind its opcode and the one behind that. */
static unsigned int indirect_length(uint8_t modrm, uint8_t sib)
{
	unsigned int mode = modrm >> 6;
	unsigned int memory = modrm & 7;
	unsigned int length = 2;

	if ((modrm >> 3 & 7) != 2)
		return 0;
	if (mode == 3)
		return length;
	if (memory == 4) {
		length++;
		if (!mode && (sib & 7) == 5)
			length += 4;
	}
	if ((!mode && memory == 5) || mode == 2)
		length += 4;
	else if (mode == 1)
		length++;
	return length;
}

bool gpumon_code_ends_with_call(const uint8_t bytes[GPUMON_CALL_MAX])
{
	uint8_t code[GPUMON_CALL_MAX +
		     1]; /* a byte more than is used: the second one behind an opcode at the end */

	memcpy(code, bytes, GPUMON_CALL_MAX);
	code[GPUMON_CALL_MAX] = 0;
	if (code[2] == 0xe8)
		return true;
	for (unsigned int length = 2; length <= GPUMON_CALL_MAX; length++) {
		const uint8_t *at = code + GPUMON_CALL_MAX - length;

		if (at[0] == 0xff && indirect_length(at[1], at[2]) == length)
			return true;
	}
	return false;
}

/* mov %rsp, %rbp, in both encodings */
static bool is_base_set(const uint8_t *code)
{
	return code[0] == 0x48 &&
	       ((code[1] == 0x89 && code[2] == 0xe5) || (code[1] == 0x8b && code[2] == 0xec));
}

/* Bytes of a function's begin that are looked at. */
#define BEGIN_MAX 96

/* Length of the operand that follows an operation's code. */
static size_t operand_length(const uint8_t *modrm)
{
	unsigned int mode = modrm[0] >> 6, memory = modrm[0] & 7;
	size_t length = 1;

	if (mode == 3)
		return length;
	if (memory == 4) {
		length++;
		if (!mode && (modrm[1] & 7) == 5)
			length += 4;
	}
	if (mode == 1)
		length++;
	else if (mode == 2 || (!mode && memory == 5))
		length += 4;
	return length;
}

/* What an operation of one byte writes to, and the bytes of a number in it. */
struct operation {
	uint8_t code;
	uint8_t number;
	bool to_register;
};

/* Length of an instruction that does not change rsp, as is found between pushes; 0 of any other. */
static size_t harmless_length(const uint8_t *code)
{
	static const struct operation operations[] = {
		{ 0x89, 0, false }, /* mov, to memory or a register; then from there */
		{ 0x8b, 0, true },  { 0x8d, 0, true },			    /* lea */
		{ 0x63, 0, true },					    /* movslq */
		{ 0x31, 0, false },					    /* xor */
		{ 0x33, 0, true },  { 0x39, 0, false },			    /* cmp, test */
		{ 0x3b, 0, false }, { 0x85, 0, false }, { 0xc7, 4, false }, /* mov of a number */
		{ 0xc6, 1, false }, { 0x83, 1, false }, /* add and the like of a number */
		{ 0x81, 4, false },
	};
	/* What follows is relative to the thread's own memory. */
	size_t at = code[0] == 0x64;
	uint8_t prefix = (code[at] & 0xf0) == 0x40 ? code[at++] : 0, modrm;

	/* mov of a number to a register */
	if ((code[at] & 0xf8) == 0xb8)
		return (code[at] & 7) == 4 && !(prefix & 1) ? 0 : at + (prefix & 8 ? 9 : 5);
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		if (operations[i].code != code[at])
			continue;
		modrm = code[at + 1];
		if (operations[i].to_register ?
			    (modrm >> 3 & 7) == 4 && !(prefix & 4) :
			    modrm >> 6 == 3 && (modrm & 7) == 4 && !(prefix & 1))
			return 0;
		return at + 1 + operand_length(code + at + 1) + operations[i].number;
	}
	return 0;
}

bool gpumon_code_frame_size(const struct gpumon_code_reader *reader, uint64_t start, uint64_t end,
			    uint64_t *size)
{
	static const uint8_t branch_target[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[BEGIN_MAX + 16] = { 0 };
	size_t at = 0, most = end - start < BEGIN_MAX ? end - start : BEGIN_MAX, length;
	bool has_base = false;
	int32_t number;

	*size = 0;
	if (most < 8 || !reader->copy(reader->data, start, code, most))
		return false;
	if (!memcmp(code, branch_target, sizeof(branch_target)))
		at = sizeof(branch_target);
	if (code[at++] != 0x55) /* push %rbp */
		return false;
	for (; at < most; at += length) {
		const uint8_t *next = code + at;

		if (!has_base) {
			has_base = is_base_set(next);
			length = has_base ? 3 : harmless_length(next);
			if (!length)
				return false;
		} else if (next[0] == 0x53) { /* push %rbx */
			length = 1;
			*size += 8;
		} else if (next[0] == 0x41 && next[1] >= 0x54 &&
			   next[1] <= 0x57) { /* push %r12 to %r15 */
			length = 2;
			*size += 8;
		} else if (next[0] == 0x48 && next[1] == 0x83 &&
			   next[2] == 0xec) { /* sub $n, %rsp */
			*size += next[3];
			return next[3] < 0x80;
		} else if (next[0] == 0x48 && next[1] == 0x81 && next[2] == 0xec) {
			memcpy(&number, next + 3, sizeof(number));
			*size += (uint64_t)number;
			return number > 0;
		} else if (next[0] != 0xe8 && next[0] != 0xff) {
			length = harmless_length(next);
			if (!length)
				return false;
		} else { /* a call, so there is no more to come */
			return true;
		}
	}
	return at == most;
}

/* Does a word of the table of addresses have this one? */
static bool has_address(const struct gpumon_code_reader *reader, uint64_t slot, uint64_t function)
{
	uint64_t there;

	return reader->copy(reader->data, slot, &there, sizeof(there)) && there == function;
}

/* An entry of the procedure linkage table goes where its word says. */
static bool leads_to(const struct gpumon_code_reader *reader, uint64_t target, uint64_t function)
{
	uint8_t code[12];
	size_t at = 0;
	int32_t offset;

	if (target == function)
		return true;
	if (!reader->copy(reader->data, target, code, sizeof(code)))
		return false;
	if (code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa)
		at = 4;
	at += code[at] == 0xf2;
	if (code[at] != 0xff || code[at + 1] != 0x25 || at + 6 > sizeof(code))
		return false;
	memcpy(&offset, code + at + 2, sizeof(offset));
	return has_address(reader, target + at + 6 + (uint64_t)(int64_t)offset, function);
}

enum gpumon_code_call gpumon_code_call_to(const struct gpumon_code_reader *reader, uint64_t address,
					  uint64_t function)
{
	uint8_t code[GPUMON_CALL_MAX];
	int32_t offset;

	if (address < 4096 || address >= GPUMON_CODE_USER_END ||
	    !reader->copy(reader->data, address - GPUMON_CALL_MAX, code, sizeof(code)))
		return GPUMON_CODE_NO_CALL;
	memcpy(&offset, code + 3, sizeof(offset));
	if (code[2] == 0xe8 && leads_to(reader, address + (uint64_t)(int64_t)offset, function))
		return GPUMON_CODE_THIS_CALL;
	if (code[1] == 0xff && code[2] == 0x15)
		return has_address(reader, address + (uint64_t)(int64_t)offset, function) ?
			       GPUMON_CODE_THIS_CALL :
			       GPUMON_CODE_NO_CALL;
	if (code[2] == 0xe8 || !gpumon_code_ends_with_call(code))
		return GPUMON_CODE_NO_CALL;
	return GPUMON_CODE_ANY_CALL;
}

#else

bool gpumon_code_ends_with_call(const uint8_t bytes[GPUMON_CALL_MAX])
{
	(void)bytes;
	return true;
}

bool gpumon_code_frame_size(const struct gpumon_code_reader *reader, uint64_t start, uint64_t end,
			    uint64_t *size)
{
	(void)reader;
	(void)start;
	(void)end;
	(void)size;
	return false;
}

enum gpumon_code_call gpumon_code_call_to(const struct gpumon_code_reader *reader, uint64_t address,
					  uint64_t function)
{
	(void)reader;
	(void)address;
	(void)function;
	return GPUMON_CODE_NO_CALL;
}

#endif
