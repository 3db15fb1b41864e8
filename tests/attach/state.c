// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A thread's state that an attachment must not change, kept in it by instructions alone. */
#include "state.h"

#define VALUE(n) "0x5a5a00000000" #n

/* Registers of the general kind, without %rsp, and %rcx, which counts. */
#define LOWER(X) X(rax, 1) X(rbx, 2) X(rdx, 3) X(rsi, 4) X(rdi, 5) X(rbp, 6) X(r8, 7)
#define UPPER(X) X(r9, 8) X(r10, 9) X(r11, 10) X(r12, 11) X(r13, 12) X(r14, 13) X(r15, 14)

#define SET(name, n) "	movabs $" VALUE(n) ", %" #name "\n"
/* %rcx is free by then. */
#define COMPARE(name, n)                                        \
	"	movabs $" VALUE(n) ", %rcx\n"                   \
				   "	cmp %rcx, %" #name "\n" \
				   "	mov $" #n ", %ecx\n"    \
				   "	jne 9f\n"

#define SET_XMM(n) "	movdqu pattern(%rip), %xmm" #n "\n	paddq %xmm" #n ", %xmm" #n "\n"
#define COMPARE_XMM(n)                               \
	"	pcmpeqb doubled(%rip), %xmm" #n "\n" \
	"	pmovmskb %xmm" #n ", %eax\n"         \
	"	cmp $0xffff, %eax\n"                       \
	"	mov $20, %ecx\n"                           \
	"	jne 9f\n"

__asm__(".pushsection .rodata\n"
	".balign 64\n"
	"pattern: .quad 0x0102030405060708, 0x1112131415161718, 0x2122232425262728, 0x3132333435363738\n"
	"	.quad 0x4142434445464748, 0x5152535455565758, 0x6162636465666768, 0x7172737475767778\n"
	"doubled: .quad 0x020406080a0c0e10, 0x222426282a2c2e30\n"
	"mxcsr:	.long 0x3f80\n"
	"control: .word 0x0c7f\n"
	".popsection\n"
	".pushsection .text\n"
	".globl state_check\n"
	".type state_check, @function\n"
	"state_check:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	/* What comes back, and the caller's modes. */
	"	sub $40, %rsp\n"
	"	mov %rsi, (%rsp)\n"
	"	stmxcsr 8(%rsp)\n"
	"	fnstcw 12(%rsp)\n"
	"	ldmxcsr mxcsr(%rip)\n"
	"	fldcw control(%rip)\n"
	"	fldpi\n"
	"	fldl2e\n"
	"	mov %rdi, %rcx\n"
	"	cmp $1, %rsi\n"
	"	jb 1f\n"
	"	vmovdqu pattern(%rip), %ymm15\n"
	"	vmovdqu pattern(%rip), %ymm7\n"
	"	cmp $2, %rsi\n"
	"	jb 2f\n"
	"	vmovdqu64 pattern(%rip), %zmm31\n"
	"	mov $0x5a, %eax\n"
	"	kmovw %eax, %k5\n"
	"	jmp 2f\n"
	"1:\n" SET_XMM(0) SET_XMM(5) SET_XMM(8) SET_XMM(15) "2:\n" LOWER(SET) UPPER(
		SET) "	mov %rax, -8(%rsp)\n"
		     "	mov %rbx, -64(%rsp)\n"
		     "	mov %rdx, -120(%rsp)\n"
		     "	mov %rsi, -128(%rsp)\n"
		     "	std\n"
		     "3:	dec %rcx\n"
		     "	jnz 3b\n" LOWER(COMPARE) UPPER(
			     COMPARE) "	mov $21, %ecx\n"
				      "	cmp %rax, -8(%rsp)\n"
				      "	jne 9f\n"
				      "	cmp %rbx, -64(%rsp)\n"
				      "	jne 9f\n"
				      "	cmp %rdx, -120(%rsp)\n"
				      "	jne 9f\n"
				      "	cmp %rsi, -128(%rsp)\n"
				      "	jne 9f\n"
				      /* The direction flag. */
				      "	pushfq\n"
				      "	pop %rax\n"
				      "	mov $22, %ecx\n"
				      "	test $0x400, %eax\n"
				      "	jz 9f\n"
				      "	cld\n"
				      "	mov $23, %ecx\n"
				      "	stmxcsr 16(%rsp)\n"
				      "	mov mxcsr(%rip), %eax\n"
				      "	cmp %eax, 16(%rsp)\n"
				      "	jne 9f\n"
				      "	mov $24, %ecx\n"
				      "	fnstcw 16(%rsp)\n"
				      "	mov control(%rip), %ax\n"
				      "	cmp %ax, 16(%rsp)\n"
				      "	jne 9f\n"
				      "	mov $25, %ecx\n"
				      "	fldl2e\n"
				      "	fcomip %st(1), %st\n"
				      "	jp 9f\n"
				      "	jne 9f\n"
				      "	fstp %st(0)\n"
				      "	fldpi\n"
				      "	fcomip %st(1), %st\n"
				      "	jp 9f\n"
				      "	jne 9f\n"
				      "	cmpq $1, (%rsp)\n"
				      "	jb 6f\n"
				      "	mov $26, %ecx\n"
				      "	vpcmpeqb pattern(%rip), %ymm15, %ymm15\n"
				      "	vpmovmskb %ymm15, %eax\n"
				      "	cmp $-1, %eax\n"
				      "	jne 9f\n"
				      "	vpcmpeqb pattern(%rip), %ymm7, %ymm7\n"
				      "	vpmovmskb %ymm7, %eax\n"
				      "	cmp $-1, %eax\n"
				      "	jne 9f\n"
				      "	cmpq $2, (%rsp)\n"
				      "	jb 7f\n"
				      "	mov $27, %ecx\n"
				      "	kmovw %k5, %eax\n"
				      "	cmp $0x5a, %eax\n"
				      "	jne 9f\n"
				      "	vpcmpeqq pattern(%rip), %zmm31, %k1\n"
				      "	kmovw %k1, %eax\n"
				      "	cmp $0xff, %eax\n"
				      "	jne 9f\n"
				      "	jmp 7f\n"
				      "6:\n" COMPARE_XMM(0) COMPARE_XMM(5) COMPARE_XMM(8)
					      COMPARE_XMM(15) "7:	xor %ecx, %ecx\n"
							      "9:	cld\n"
							      "	fninit\n"
							      "	cmpq $1, (%rsp)\n"
							      "	jb 10f\n"
							      "	vzeroupper\n"
							      "10:	ldmxcsr 8(%rsp)\n"
							      "	fldcw 12(%rsp)\n"
							      "	mov %rcx, %rax\n"
							      "	add $40, %rsp\n"
							      "	pop %r15\n"
							      "	pop %r14\n"
							      "	pop %r13\n"
							      "	pop %r12\n"
							      "	pop %rbx\n"
							      "	pop %rbp\n"
							      "	ret\n"
							      ".size state_check, .-state_check\n"
							      ".popsection\n");

const char *state_name(long number)
{
	static const char *const names[] = {
		[20] = "an SSE register",      [21] = "the red zone",
		[22] = "the direction flag",   [23] = "MXCSR",
		[24] = "the x87 control word", [25] = "the x87 stack",
		[26] = "an AVX register",      [27] = "an AVX-512 register",
	};

	if (number >= 1 && number <= 14)
		return "a general register";
	return number >= 20 && number <= 27 ? names[number] : "nothing";
}
