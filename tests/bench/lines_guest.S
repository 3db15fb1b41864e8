/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A kernel of two processors that is there to be counted by lines.so: each adds 100
 * times to a word that both use, and reads one that nobody writes, by code at
 * addresses like the kernel's. It ends QEMU by isa-debug-exit.
 */
#include "marker.h"

#define HIGH 0xffffffff80000000
#define TRAMPOLINE 0x8000
#define CODE64 8
#define DATA 16
#define CODE32 24
#define LAPIC_COMMAND 0xfee00300
#define INIT_ALL_OTHERS 0xc4500
#define START_ALL_OTHERS (0xc4600 | TRAMPOLINE >> 12)
#define LARGE_PAGE 0x83
#define TABLE 3

.macro mark number
	.byte 0x0f, 0x1f, 0x80
	.long \number
.endm

.macro wait times
	mov $\times, %ecx
1:	pause
	dec %ecx
	jnz 1b
.endm

	.section .text
	.align 4
	.long 0x1badb002, 0, -0x1badb002	/* multiboot */

	.code32
	.globl start
start:
	lgdt gdt_pointer
	/* What the second processor begins with goes where it can. */
	mov $trampoline, %esi
	mov $TRAMPOLINE, %edi
	mov $trampoline_end - trampoline, %ecx
	rep movsb
	mov $first, %ebx
to_long_mode:
	mov $DATA, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	mov %cr4, %eax
	or $0x20, %eax
	mov %eax, %cr4
	mov $pml4, %eax
	mov %eax, %cr3
	mov $0xc0000080, %ecx
	rdmsr
	or $0x100, %eax
	wrmsr
	mov %cr0, %eax
	or $0x80000000, %eax
	mov %eax, %cr0
	ljmp $CODE64, $long_mode

	.code64
long_mode:
	mov %ebx, %ebx
	jmp *%rbx

first:
	mov $stack + 256, %esp
	mark MARKER_ARM
	wait 100000
	mark MARKER_OPEN
	mov $LAPIC_COMMAND, %eax
	movl $INIT_ALL_OTHERS, (%rax)
	wait 100000
	movl $START_ALL_OTHERS, (%rax)
	call counted
1:	pause
	cmpl $0, done
	je 1b
	mark MARKER_CLOSE
	mov $0, %eax
	out %al, $0xf4
1:	hlt
	jmp 1b

second:
	mov $stack + 512, %esp
	call counted
	movl $1, done
1:	hlt
	jmp 1b

counted:
	mov $work + HIGH, %rax
	mark MARKER_BEGIN
	call *%rax
	mark MARKER_END
	ret

/* Only ever called where bit 63 of its address is set. */
work:
	mov $100, %ecx
1:	lock incl shared(%rip)
	mov constant(%rip), %edx
	dec %ecx
	jnz 1b
	ret

	.code16
trampoline:
	cli
	xor %ax, %ax
	mov %ax, %ds
	lgdtl TRAMPOLINE + gdt_pointer - trampoline
	mov %cr0, %eax
	or $1, %al
	mov %eax, %cr0
	ljmpl $CODE32, $TRAMPOLINE + in_32 - trampoline
	.code32
in_32:
	mov $second, %ebx
	mov $to_long_mode, %eax
	jmp *%eax
	.align 8
gdt_pointer:
	.word gdt_end - gdt - 1
	.long gdt
trampoline_end:

	.section .data
	.align 8
gdt:	.quad 0
	.quad 0x00af9a000000ffff
	.quad 0x00cf92000000ffff
	.quad 0x00cf9a000000ffff
gdt_end:

	/* The first GiB, where it is and at HIGH, and the one with the local APIC. */
	.align 4096
pml4:	.long pdpt + TABLE, 0
	.fill 510, 8, 0
	.long pdpt + TABLE, 0
pdpt:	.quad LARGE_PAGE
	.quad 0, 0
	.quad 0xc0000000 + LARGE_PAGE + 0x10
	.fill 506, 8, 0
	.quad LARGE_PAGE
	.quad 0

	.align 64
shared:	.long 0
	.align 64
constant: .long 0
	.align 64
done:	.long 0
	.align 64
stack:	.fill 512
