/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Functions that keep a frame pointer and are blocked in a system call of their own, as those of a C library that
 * was built with -fno-omit-frame-pointer. Included by one file of a test, which looks from outside at a thread that
 * is in one of them, and compares with what the thread noted of its own stack before.
 */
#ifndef GPUMON_TESTS_LIB_BLOCKED_H
#define GPUMON_TESTS_LIB_BLOCKED_H

#include <alloca.h>
#include <execinfo.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCKED_MAX 64

/**
 * struct blocked_note - what the thread noted of its stack, in the caller of the function that is blocked
 * @count: of @frames
 * @frames: the first ones may be in a sanitizer
 * @caller: where it returns to
 */
struct blocked_note {
	int count;
	void *frames[BLOCKED_MAX];
	void *caller;
};

static struct blocked_note blocked_note;
/* Where the function that is blocked returns to. */
uint64_t blocked_back;
/* As glibc's flag that a program has one thread; and numbers that no compiler can know. */
volatile uint8_t blocked_is_single;
volatile size_t blocked_words = 96;

/**
 * struct blocked_shape - one function
 * @name: what it does with its stack
 * @call: calls it
 * @inward: frames up to its own
 * @is_exact: the stack from outside has to be whole; else it may be cut off, but no frame may be wrong
 */
struct blocked_shape {
	const char *name;
	long (*call)(int file, char *byte);
	unsigned int inward;
	bool is_exact;
};

#define BLOCKED_PLAIN __attribute__((noinline, noclone, no_sanitize("address", "undefined")))

/* The function, a caller of it, and a call of it that never runs: what returns there is a wrong caller. */
#define BLOCKED(shape)                                                                            \
	long blocked_in_##shape(int file, char *byte);                                            \
	extern const char blocked_forged_##shape[];                                               \
	__asm__(".text\n.type blocked_forger_" #shape ", @function\nblocked_forger_" #shape ":\n" \
		".cfi_startproc\nsub $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall blocked_in_" #shape \
		"\n"                                                                              \
		".globl blocked_forged_" #shape "\nblocked_forged_" #shape ":\nadd $8, %rsp\n"    \
		".cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n");                                \
	static BLOCKED_PLAIN long blocked_call_##shape(int file, char *byte)                      \
	{                                                                                         \
		long got;                                                                         \
                                                                                                  \
		blocked_note.caller = __builtin_return_address(0);                                \
		blocked_note.count = backtrace(blocked_note.frames, BLOCKED_MAX);                 \
		got = blocked_in_##shape(file, byte);                                             \
		__asm__ volatile("" ::: "memory");                                                \
		return got;                                                                       \
	}

#define BLOCKED_ASM(shape, body)                                                                \
	__asm__(".text\n.globl blocked_in_" #shape "\n.type blocked_in_" #shape ", @function\n" \
		"blocked_in_" #shape ":\n.cfi_startproc\n" body                                 \
		".cfi_endproc\n.size blocked_in_" #shape ", . - blocked_in_" #shape "\n");      \
	BLOCKED(shape)

#ifdef __x86_64__

#define SAVE	  "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
#define SET	  "mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
#define KEEP_BACK "mov 8(%rbp), %rax\nmov %rax, blocked_back(%rip)\n"
#define READ	  "mov $1, %edx\nxor %eax, %eax\nsyscall\n"
#define LEAVE	  "leave\n.cfi_def_cfa %rsp, 8\nret\n"

BLOCKED_ASM(plain, SAVE SET KEEP_BACK READ LEAVE)

BLOCKED_ASM(pushes,
	    "endbr64\n" SAVE SET
	    "push %r15\nmov %rdi, %r15\npush %r14\npush %r13\npush %r12\npush %rbx\n"
	    "sub $0x28, %rsp\n" KEEP_BACK READ "add $0x28, %rsp\npop %rbx\npop %r12\npop %r13\n"
	    "pop %r14\npop %r15\npop %rbp\n.cfi_def_cfa %rsp, 8\nret\n")

/* As Clang aligns a stack. */
BLOCKED_ASM(push_of_nothing,
	    SAVE SET "push %rbx\npush %rax\n" KEEP_BACK READ
		     "add $8, %rsp\npop %rbx\npop %rbp\n.cfi_def_cfa %rsp, 8\nret\n")

BLOCKED_ASM(big, SAVE SET "push %rbx\nsub $0x12348, %rsp\nmov %rdi, (%rsp)\n" KEEP_BACK READ
			  "mov -8(%rbp), %rbx\n" LEAVE)

/* -fstack-clash-protection touches each page, in a row of instructions or in a loop. */
BLOCKED_ASM(probed, SAVE SET "push %rbx\nsub $0x1000, %rsp\norq $0, (%rsp)\nsub $0x1000, %rsp\n"
			     "orq $0, (%rsp)\nsub $0x238, %rsp\nmov %rdi, (%rsp)\n" KEEP_BACK READ
			     "mov -8(%rbp), %rbx\n" LEAVE)

BLOCKED_ASM(probed_in_a_loop,
	    SAVE SET "push %rbx\nlea -0x20000(%rsp), %r11\n1: sub $0x1000, %rsp\norq $0, (%rsp)\n"
		     "cmp %r11, %rsp\njne 1b\nsub $0x238, %rsp\nmov %rdi, (%rsp)\n" KEEP_BACK READ
		     "mov -8(%rbp), %rbx\n" LEAVE)

/* As glibc's read(): what needs no frame comes first, and its frame begins amid the function. */
BLOCKED_ASM(shrink_wrapped,
	    "endbr64\ncmpb $0, blocked_is_single(%rip)\nje 1f\nxor %eax, %eax\nsyscall\n"
	    "cmp $-4096, %rax\nja 2f\nret\n2: neg %eax\nret\nnopw 0(%rax, %rax, 1)\n1:\n" SAVE SET
	    "sub $0x20, %rsp\nmov %rdx, -0x18(%rbp)\nmov %rsi, -0x10(%rbp)\nmov %edi, -4(%rbp)\n"
	    "call 3f\nmov -0x10(%rbp), %rsi\nmov -4(%rbp), %edi\nmov %eax, %r8d\n" KEEP_BACK READ
		    LEAVE "3: xor %eax, %eax\nret\n")

/* Its end comes first. */
BLOCKED_ASM(end_amid, SAVE SET "push %rbx\npush %r12\ncmpb $0, blocked_is_single(%rip)\nje 1f\n"
			       "mov -8(%rbp), %rbx\n.cfi_remember_state\n" LEAVE
			       ".cfi_restore_state\n1:\n" KEEP_BACK READ
			       "pop %r12\npop %rbx\npop %rbp\n.cfi_def_cfa %rsp, 8\nret\n")

/* Instructions between the pushes that read and compare. */
BLOCKED_ASM(busy_begin, SAVE
	    "mov %rdi, %rax\n" SET "push %r14\nmov %fs:0x28, %rax\npush %r13\ntest %edi, %edi\n"
	    "mov %rax, -0x28(%rbp)\nmovzbl blocked_is_single(%rip), %ecx\npush %r12\ntest %cl, %cl\n"
	    "xor %eax, %eax\ncmpl $7, -4(%rsp)\nsete %cl\nsub $0x18, %rsp\n" KEEP_BACK READ LEAVE)

/* No frame, but its caller has one. */
BLOCKED_ASM(leaf, "mov (%rsp), %rax\nmov %rax, blocked_back(%rip)\n" READ "ret\n")

BLOCKED_ASM(realigned, SAVE SET "and $-32, %rsp\nsub $0x40, %rsp\n" KEEP_BACK READ LEAVE)

/*
 * Words that look like a frame of this function are where its frame would be, had it not moved its stack pointer
 * since: by pushes, and by a number that nobody knows.
 */
#define FORGE(shape)                                                                           \
	"mov (%rbp), %rax\nmov %rax, -0x20(%rbp)\nlea blocked_forged_" #shape "(%rip), %rax\n" \
	"mov %rax, -0x18(%rbp)\n"

__asm__(".text\nblocked_reads:\n.cfi_startproc\n" READ "ret\n.cfi_endproc\n");

BLOCKED_ASM(forged_by_pushes, SAVE SET
	    "sub $0x30, %rsp\ncmpb $0, blocked_is_single(%rip)\njne 1f\n" FORGE(forged_by_pushes)
		    KEEP_BACK "push $1\npush $2\npush $3\npush $4\ncall blocked_reads\n"
			      "add $0x20, %rsp\n1:\n" LEAVE)

BLOCKED_ASM(forged_by_a_number, SAVE SET
	    "sub $0x20, %rsp\ncmpb $0, blocked_is_single(%rip)\njne 1f\n" FORGE(forged_by_a_number)
		    KEEP_BACK "mov $0x20, %eax\nsub %rax, %rsp\n" READ "1:\n" LEAVE)

/* A function that asks for its frame has a frame pointer. */
static inline __attribute__((always_inline)) long blocked_read(int file, char *byte, void *memory)
{
	long number = SYS_read;

	/* A page that nothing has touched cannot be read from outside. */
	((volatile char *)memory)[128] = 0;
	blocked_back = (uint64_t)(uintptr_t)__builtin_return_address(0);
	__asm__ volatile("syscall"
			 : "+a"(number)
			 : "D"(file), "S"(byte), "d"(1L), "r"(memory),
			   "r"(__builtin_frame_address(0))
			 : "rcx", "r11", "memory");
	return number;
}

BLOCKED_PLAIN long blocked_in_compiled(int file, char *byte)
{
	char memory[500];

	return blocked_read(file, byte, memory);
}
BLOCKED(compiled)

BLOCKED_PLAIN __attribute__((optimize("stack-clash-protection"))) long
blocked_in_compiled_large(int file, char *byte)
{
	char memory[200000];

	return blocked_read(file, byte, memory);
}
BLOCKED(compiled_large)

extern const char blocked_forged_array[];

BLOCKED_PLAIN long blocked_in_array(int file, char *byte)
{
	uint64_t words[blocked_words];

	for (size_t i = 0; i < blocked_words; i++)
		words[i] = (uint64_t)(uintptr_t)blocked_forged_array;
	return blocked_read(file, byte, words);
}
BLOCKED(array)

BLOCKED_PLAIN long blocked_in_aligned(int file, char *byte)
{
	char memory[200] __attribute__((aligned(64)));

	return blocked_read(file, byte, memory);
}
BLOCKED(aligned)

static const struct blocked_shape blocked_shapes[] = {
	{ "a frame pointer, and nothing else", blocked_call_plain, 1, true },
	{ "pushes", blocked_call_pushes, 1, true },
	{ "a push for alignment", blocked_call_push_of_nothing, 1, true },
	{ "a large frame", blocked_call_big, 1, true },
	{ "pages that are touched", blocked_call_probed, 1, true },
	{ "pages that a loop touches", blocked_call_probed_in_a_loop, 1, true },
	{ "a frame amid the function", blocked_call_shrink_wrapped, 1, true },
	{ "an end in front of the call", blocked_call_end_amid, 1, true },
	{ "other instructions between pushes", blocked_call_busy_begin, 1, true },
	{ "no frame", blocked_call_leaf, 1, true },
	{ "compiled", blocked_call_compiled, 1, true },
	{ "compiled, a large frame", blocked_call_compiled_large, 1, true },
	{ "a stack that is realigned", blocked_call_realigned, 1, false },
	{ "compiled, a stack that is realigned", blocked_call_aligned, 1, false },
	{ "words like a frame, under pushes", blocked_call_forged_by_pushes, 2, false },
	{ "words like a frame, under memory of any size", blocked_call_forged_by_a_number, 1,
	  false },
	{ "an array of any size, with words like a frame", blocked_call_array, 1, false },
};

#define BLOCKED_SHAPES (sizeof(blocked_shapes) / sizeof(blocked_shapes[0]))

#else

#define BLOCKED_SHAPES 0
static const struct blocked_shape blocked_shapes[1];

#endif

/**
 * blocked_is_right - compare a stack from outside with what the thread noted
 * @shape: of the function that is blocked
 * @frames: addresses, the first one in that function
 * @count: of these
 * @is_whole: the walk says that there are no more
 * @note: of the thread
 * @back: its blocked_back
 */
static bool blocked_is_right(const struct blocked_shape *shape, const uint64_t *frames,
			     unsigned int count, bool is_whole, const struct blocked_note *note,
			     uint64_t back)
{
	unsigned int own = shape->inward, noted = 0, end = (unsigned int)note->count;

	while (noted < end && note->frames[noted] != note->caller)
		noted++;
	if (!count || noted == end || (shape->is_exact && !is_whole) ||
	    (is_whole && count != own + 1 + end - noted))
		return false;
	if (count > own && frames[own] != back)
		return false;
	for (unsigned int i = own + 1; i < count; i++)
		if (frames[i] != (uint64_t)(uintptr_t)note->frames[noted + i - own - 1])
			return false;
	return true;
}

#endif /* GPUMON_TESTS_LIB_BLOCKED_H */
