// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Instructions around an address, which are read where nothing else says what is there. */
#include <string.h>

#include "../user/abi/instructions.h"
#include "internal.h"

#define PAGE 4096ull

/* Bytes of code, those that cannot be read left as they are. False if none can. */
static bool read_code(uint64_t address, uint8_t *code, size_t size)
{
	uint64_t last = address + size - 1;

	if (inject_stack_foreign.is_foreign)
		return inject_stack_copy_foreign(address, code, size);
	if (!inject_stack_readable(address) || !inject_stack_readable(last))
		return false;
	memcpy(code, (const void *)(uintptr_t)address, size);
	return true;
}

#ifdef __x86_64__

bool inject_stack_after_call(uint64_t address)
{
	uint8_t code[GPUMON_CALL_MAX];

	/* A kernel that lets code be executed and not read leaves nothing to look at. */
	if (!read_code(address - sizeof(code), code, sizeof(code)))
		return true;
	return gpumon_code_ends_with_call(code);
}

/* How far in front of an address a function may begin. */
#define FUNCTION_MAX (64ull << 10)

/* push %rbp; mov %rsp, %rbp, in both encodings */
static bool is_prologue(const uint8_t *code)
{
	static const uint8_t first[] = { 0x55, 0x48, 0x89, 0xe5 };
	static const uint8_t second[] = { 0x55, 0x48, 0x8b, 0xec };

	return !memcmp(code, first, sizeof(first)) || !memcmp(code, second, sizeof(second));
}

/* A return, and then what assemblers and compilers fill up with to the next function. */
static bool is_end(const uint8_t *code)
{
	if (code[0] != 0xc3)
		return false;
	return code[1] == 0xcc || code[1] == 0x90 || (code[1] == 0x0f && code[2] == 0x1f) ||
	       (code[1] == 0x66 &&
		(code[2] == 0x90 || code[2] == 0x66 || code[2] == 0x2e || code[2] == 0x0f));
}

/*
 * The nearest prologue in front of the address, if no function ends between: code generators
 * keep frame pointers in all they make, or in nothing. Without one, rbp is still that of some
 * caller further up, and following it would leave callers out without anybody noticing.
 */
/* As below, in a copy. */
static bool has_frame_pointer_foreign(uint64_t address, uint64_t start)
{
	static uint8_t copy[FUNCTION_MAX];
	const uint8_t *code;

	if (address < start + 4 || !inject_stack_copy_foreign(start, copy, address - start))
		return false;
	for (code = copy + (address - start) - 4; code >= copy; code--) {
		if (is_prologue(code))
			return true;
		if (is_end(code))
			return false;
	}
	return false;
}

bool inject_stack_has_frame_pointer(uint64_t address, uint64_t start)
{
	uint64_t page = address & ~(PAGE - 1);

	if (address - start > FUNCTION_MAX)
		start = address - FUNCTION_MAX;
	if (inject_stack_foreign.is_foreign)
		return has_frame_pointer_foreign(address, start);
	if (address < start + 4 || !inject_stack_readable(address))
		return false;
	for (uint64_t at = address - 4; at >= start; at--) {
		const uint8_t *code = (const uint8_t *)(uintptr_t)at;

		if ((at & ~(PAGE - 1)) != page) {
			if (!inject_stack_readable(at))
				return false;
			page = at & ~(PAGE - 1);
		}
		if (is_prologue(code))
			return true;
		if (is_end(code))
			return false;
	}
	return false;
}

bool inject_stack_is_restorer(uint64_t address)
{
	/* mov $15, %rax; syscall, and the same with %eax: rt_sigreturn, and nothing else is. */
	static const uint8_t glibc[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t musl[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	uint8_t code[sizeof(glibc)];

	return read_code(address, code, sizeof(code)) &&
	       (!memcmp(code, glibc, sizeof(glibc)) || !memcmp(code, musl, sizeof(musl)));
}

#elif defined(__aarch64__)

bool inject_stack_after_call(uint64_t address)
{
	uint32_t code;

	if (address & 3)
		return false;
	if (!read_code(address - 4, (uint8_t *)&code, sizeof(code)))
		return true;
	/* bl; blr and its forms with authentication */
	return (code & 0xfc000000) == 0x94000000 || (code & 0xfefff000) == 0xd63f0000;
}

bool inject_stack_has_frame_pointer(uint64_t address, uint64_t start)
{
	(void)address;
	(void)start;
	return true;
}

bool inject_stack_is_restorer(uint64_t address)
{
	(void)address;
	return false;
}

#endif
