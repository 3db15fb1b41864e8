/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Instructions without effect that tell QEMU's plugin (lines.c) what to count: nopl NUMBER(%rax).
 */
#ifndef BENCH_MARKER_H
#define BENCH_MARKER_H

/* The plugin is idle until the first of these, so that a VM boots at full speed. */
#define MARKER_ARM 0x67706d01
/* Open a window, or close it and write it down. */
#define MARKER_OPEN  0x67706d02
#define MARKER_CLOSE 0x67706d03
/* Start or stop counting this CPU in an open window. */
#define MARKER_BEGIN 0x67706d04
#define MARKER_END   0x67706d05

#ifndef __ASSEMBLER__
#define MARK(number) \
	__asm__ __volatile__(".byte 0x0f, 0x1f, 0x80\n\t.long %c0" : : "i"(number) : "memory")
#endif

#endif /* BENCH_MARKER_H */
