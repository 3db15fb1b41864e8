/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Texts that programs put on their stack for bpf_trace_printk() and bpf_puts(). The verifier finds
 * them, the translated program names them by their place here, and the CPU prints them.
 */
#ifndef GPUMON_GPUPROG_OBJECT_TEXTS_H
#define GPUMON_GPUPROG_OBJECT_TEXTS_H

#include <stdint.h>

#define GPUMON_PROBE_TEXTS_BYTES 16384
/* Stands for the map of such a text. */
#define GPUMON_PROBE_TEXTS_MAP UINT32_MAX

/**
 * struct gpumon_probe_texts - texts on the stack of an object's programs
 * @used: bytes
 * @bytes: one text after the other, each with its NUL
 */
struct gpumon_probe_texts {
	uint32_t used;
	char bytes[GPUMON_PROBE_TEXTS_BYTES];
};

/**
 * gpumon_probe_texts_add - keep a text
 * @texts: texts; one that is there already is kept once
 * @text: text with its NUL
 *
 * Return: its place in @texts->bytes, or UINT32_MAX without room.
 */
uint32_t gpumon_probe_texts_add(struct gpumon_probe_texts *texts, const char *text);

#endif /* GPUMON_GPUPROG_OBJECT_TEXTS_H */
