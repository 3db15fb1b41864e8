// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Stacks of other processes that are blocked in functions with a frame pointer, and the decoder of these functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "../lib/blocked.h"
#include "abi/instructions.h"
#include "abi/look.h"
#include "record/uprobe_stack.h"

/* The child of a test that hangs ends by itself, and the test then fails. */
#define CHILD_SECONDS 60

static void wait_blocked(pid_t child, int file, struct gpumon_look *look)
{
	struct gpumon_look_files files;
	char folder[GPUMON_LOOK_PATH];

	snprintf(folder, sizeof(folder), "/proc/%d/task", (int)child);
	assert_int_equal(gpumon_look_open(&files, folder, (uint32_t)child), 0);
	do {
		assert_int_equal(gpumon_look(&files, look), 0);
	} while (!look->is_blocked || look->call != SYS_read || look->first != (uint64_t)file);
	gpumon_look_close(&files);
}

/* What the child has at the address of a variable here. */
static void copy_variable(pid_t child, void *variable, size_t size)
{
	const struct iovec here = { variable, size };

	assert_int_equal(process_vm_readv(child, &here, 1, &here, 1, 0), size);
}

static void look_at(const struct blocked_shape *shape, struct gpumon_uprobe_walker *walker)
{
	static struct uprobe_stack stack;
	struct gpumon_uprobe_process process = { .root = "" };
	struct gpumon_look look;
	struct gpumon_error err;
	int input[2];
	char byte;

	assert_int_equal(pipe(input), 0);
	process.pid = fork();
	if (!process.pid) {
		alarm(CHILD_SECONDS);
		_exit(shape->call(input[0], &byte) != 1);
	}
	wait_blocked(process.pid, input[0], &look);
	copy_variable(process.pid, &blocked_note, sizeof(blocked_note));
	copy_variable(process.pid, &blocked_back, sizeof(blocked_back));
	assert_int_equal(gpumon_uprobe_process_scan(&process, &err), 0);
	walker->process = &process;
	assert_true(gpumon_uprobe_walk(walker, look.code, look.stack, UPROBE_DEPTH, &stack));
	if (!blocked_is_right(shape, (const uint64_t *)stack.frames, stack.count,
			      !(stack.flags & UPROBE_TRUNCATED), &blocked_note, blocked_back))
		fail_msg("%s: %u frames%s, the second one %#llx and not %#llx", shape->name,
			 stack.count, stack.flags & UPROBE_TRUNCATED ? ", truncated," : "",
			 stack.count > 1 ? (unsigned long long)stack.frames[1] : 0,
			 (unsigned long long)blocked_back);
	assert_int_equal(write(input[1], "", 1), 1);
	assert_int_equal(waitpid(process.pid, NULL, 0), process.pid);
	gpumon_uprobe_process_free(&process);
	close(input[0]);
	close(input[1]);
}

static void stacks_of_blocked_processes(void **state)
{
	static struct gpumon_uprobe_walker walker;

	(void)state;
	if (access("/proc/self/syscall", R_OK) || !BLOCKED_SHAPES)
		skip();
	for (size_t i = 0; i < BLOCKED_SHAPES; i++)
		look_at(&blocked_shapes[i], &walker);
}

#ifdef __x86_64__

/* --- the decoder */

#define CODE_START 0x10000ull

/**
 * struct code - of a process
 * @bytes: a copy, as long as it is, so that a sanitizer sees what is read behind it
 * @size: of these
 */
struct code {
	uint8_t *bytes;
	size_t size;
};

static bool copy_code(void *data, uint64_t address, void *to, size_t size)
{
	const struct code *code = data;

	if (address < CODE_START || size > code->size || address - CODE_START > code->size - size)
		return false;
	memcpy(to, code->bytes + (address - CODE_START), size);
	return true;
}

/* The size of the frame of a function, from behind mov %rsp, %rbp on; -1: it is not known. */
static int64_t frame_size(const uint8_t *bytes, size_t size, size_t behind)
{
	struct code code = { malloc(3 + size + behind), 3 + size };
	const struct gpumon_code_reader reader = { copy_code, &code };
	uint64_t found;
	bool is_found;

	assert_non_null(code.bytes);
	code.size += behind;
	memcpy(code.bytes, "\x48\x89\xe5", 3);
	memcpy(code.bytes + 3, bytes, size + behind);
	is_found = gpumon_code_frame_size(&reader, CODE_START + 3, CODE_START + 3 + size, &found);
	free(code.bytes);
	return is_found ? (int64_t)found : -1;
}

#define SIZE(bytes) frame_size((const uint8_t *)(bytes), sizeof(bytes) - 1, 0)
#define SIZE_BEFORE(bytes, behind) \
	frame_size((const uint8_t *)(bytes behind), sizeof(bytes) - 1, sizeof(behind) - 1)

static void known_instructions(void **state)
{
	(void)state;
	assert_int_equal(SIZE(""), 0);
	assert_int_equal(SIZE("\x53"), 8);			       /* push %rbx */
	assert_int_equal(SIZE("\x41\x57\x41\x54"), 16);		       /* push %r15, %r12 */
	assert_int_equal(SIZE("\x6a\xff\x68\x01\x02\x03\x04"), 16);    /* push of numbers */
	assert_int_equal(SIZE("\x48\x83\xec\x28"), 0x28);	       /* sub $0x28, %rsp */
	assert_int_equal(SIZE("\x48\x83\xc4\x80"), 0x80);	       /* add $-0x80, %rsp */
	assert_int_equal(SIZE("\x48\x81\xec\x00\x02\x00\x00"), 0x200); /* sub $0x200, %rsp */
	assert_int_equal(SIZE("\x48\x8d\x64\x24\xf8"), 8);	       /* lea -8(%rsp), %rsp */
	assert_int_equal(SIZE("\x48\x8d\xa4\x24\x00\xff\xff\xff"), 0x100);
	assert_int_equal(SIZE("\x0f\x05\x53"), 8); /* syscall */
	assert_int_equal(SIZE("\x80\x3d\x01\x02\x03\x04\x00\x53"),
			 8);					   /* cmpb $0, 0x4030201(%rip) */
	assert_int_equal(SIZE("\x48\x3d\x00\xf0\xff\xff\x53"), 8); /* cmp $-4096, %rax */
	assert_int_equal(SIZE("\x66\x0f\xef\xc0\x0f\x29\x45\xd0\x53"), 8); /* pxor, movaps */
	/* A call that was made: what it needs is on the stack, and is taken from it behind. */
	assert_int_equal(SIZE_BEFORE("\x48\x83\xec\x10\x6a\x01\xe8\x01\x02\x03\x04",
				     "\x48\x83\xc4\x08\xc3\x90\x90"),
			 0x18);
	/* One that came behind another: words that it needs are not in the frame's begin. */
	assert_int_equal(
		SIZE_BEFORE("\x48\x83\xec\x10\xe8\x01\x02\x03\x04\x6a\x01\xe8\x01\x02\x03\x04",
			    "\x48\x83\xc4\x08\xc3\x90\x90"),
		-1);
	assert_int_equal(
		SIZE_BEFORE("\x48\x83\xec\x10\xe8\x01\x02\x03\x04\x90\x90\xe8\x01\x02\x03\x04",
			    "\x48\x83\xc4\x10\xc3\x90\x90"),
		0x10);
}

static void unknown_instructions(void **state)
{
	static const uint8_t moves[][4] = {
		{ 0x48, 0x29, 0xc4, 0x90 }, /* sub %rax, %rsp */
		{ 0x4c, 0x29, 0xc4, 0x90 }, /* sub %r8, %rsp */
		{ 0x48, 0x2b, 0xe0, 0x90 }, /* the same in the other encoding */
		{ 0x48, 0x83, 0xe4, 0xe0 }, /* and $-32, %rsp */
		{ 0x48, 0x89, 0xc4, 0x90 }, /* mov %rax, %rsp */
		{ 0x48, 0x8b, 0x65, 0xf0 }, /* mov -16(%rbp), %rsp */
		{ 0x48, 0x8d, 0x24, 0x04 }, /* lea (%rsp, %rax), %rsp */
	};
	uint8_t code[] = { 0x48, 0x83, 0xec, 0x10, 0xeb, 0, 0, 0, 0, 0, 0x0f, 0x05 };

	(void)state;
	assert_int_equal(SIZE("\x0f\x0b"), -1);		/* ud2 */
	assert_int_equal(SIZE("\x48\x83\xc4\x08"), -1); /* add $8, %rsp */
	assert_int_equal(SIZE("\x48\x83\xec"), -1);	/* an instruction without its end */
	assert_int_equal(SIZE("\x53\x48\x81\xec\x01"), -1);
	assert_int_equal(SIZE("\x5b"), -1); /* pop %rbx */
	assert_int_equal(SIZE("\xc9"), -1); /* leave */
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		/* At once, and behind a jump. */
		assert_int_equal(frame_size(moves[i], sizeof(moves[i]), 0), -1);
		memset(code + 6, 0x90, 4);
		assert_int_equal(frame_size(code, sizeof(code), 0), 0x10);
		memcpy(code + 6, moves[i], 4);
		assert_int_equal(frame_size(code, sizeof(code), 0), -1);
	}
	/* What sets rbp is not there. */
	for (size_t i = 0; i < 3; i++) {
		struct code nothing = { (uint8_t[]){ 0x48, 0x89, 0xe5, 0x53 }, 4 };
		const struct gpumon_code_reader reader = { copy_code, &nothing };
		uint64_t size;

		assert_true(gpumon_code_frame_size(&reader, CODE_START + 3, CODE_START + 4, &size));
		nothing.bytes[i] ^= 0x20;
		assert_false(
			gpumon_code_frame_size(&reader, CODE_START + 3, CODE_START + 4, &size));
	}
}

#define ROUNDS	   200000
#define RANDOM_MAX 300

/* Bytes of any kind, many of which begin something that is decoded: nothing is read that is not there. */
static void random_bytes(void **state)
{
	static const uint8_t often[] = { 0x48, 0x4c, 0x41, 0x64, 0x66, 0xf3, 0x0f, 0x89,
					 0x8b, 0x8d, 0x53, 0x55, 0x83, 0x81, 0xec, 0xc4,
					 0x24, 0x84, 0xa4, 0xb8, 0x6a, 0x68, 0x9c, 0xe8 };
	uint8_t bytes[RANDOM_MAX + 7];
	unsigned int found = 0;
	uint64_t seed = 1;

	(void)state;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		size_t size;

		for (size_t i = 0; i < sizeof(bytes); i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			bytes[i] = (uint8_t)(seed >> 33);
			if (seed >> 62)
				bytes[i] = often[(seed >> 41) % sizeof(often)];
		}
		size = (seed >> 20) % (round % 2 ? 24 : RANDOM_MAX);
		found += frame_size(bytes, size, seed >> 50 & 7) >= 0;
	}
	assert_true(found > 0 && found < ROUNDS);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_of_blocked_processes),
#ifdef __x86_64__
		cmocka_unit_test(known_instructions),
		cmocka_unit_test(unknown_instructions),
		cmocka_unit_test(random_bytes),
#endif
	};

	return cmocka_run_group_tests_name("uprobe_blocked", tests, NULL, NULL);
}
