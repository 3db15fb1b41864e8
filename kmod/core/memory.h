/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much memory an allocation holds, since the allocator rounds up by as much as a half; and how
 * a probe, which must not allocate, asks for memory.
 */
#ifndef GPUMON_MEMORY_H
#define GPUMON_MEMORY_H

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

/**
 * gpumon_memory_held - memory that an allocation holds
 * @memory: from kvmalloc() or kmalloc() and their kin, or NULL
 * @bytes: what was asked for
 *
 * Context: any.
 * Return: bytes, those included that the allocator added.
 */
static inline size_t gpumon_memory_held(const void *memory, size_t bytes)
{
	size_t held = PAGE_ALIGN(bytes);

	if (!memory)
		return 0;
	if (!is_vmalloc_addr(memory))
		return ksize(memory);
	/* The kernel may have mapped whole huge pages. Nothing is mapped behind them. */
	while (vmalloc_to_page(memory + held))
		held += PAGE_SIZE;
	return held;
}

void *gpumon_memory_zalloc(size_t n, size_t size, int node);
void gpumon_memory_start(void (*supply)(void));
void gpumon_memory_stop(void);
void gpumon_memory_ask(void);

#endif /* GPUMON_MEMORY_H */
