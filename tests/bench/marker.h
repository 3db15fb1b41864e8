/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Instructions that do nothing, by which a program of the guest tells QEMU's
 * plugin (lines.c) what to count: nopl NUMBER(%rax).
 */
#ifndef BENCH_MARKER_H
#define BENCH_MARKER_H

/* The plugin does nothing until the first one of these: a VM boots at its full speed. */
#define MARKER_ARM 0x67706d01
/* A window opens, or closes and is written down. */
#define MARKER_OPEN  0x67706d02
#define MARKER_CLOSE 0x67706d03
/* What this processor does now counts, in a window that is open; and no longer. */
#define MARKER_BEGIN 0x67706d04
#define MARKER_END   0x67706d05

#ifndef __ASSEMBLER__
#define MARK(number) \
	__asm__ __volatile__(".byte 0x0f, 0x1f, 0x80\n\t.long %c0" : : "i"(number) : "memory")
#endif

#endif /* BENCH_MARKER_H */
