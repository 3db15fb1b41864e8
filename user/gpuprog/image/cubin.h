/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Reading a cubin: an ELF file with machine code (SASS). */
#ifndef GPUMON_GPUPROG_IMAGE_CUBIN_H
#define GPUMON_GPUPROG_IMAGE_CUBIN_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In st_other of a symbol: it is the entry of a kernel. */
#define GPUMON_CUBIN_ENTRY 0x10

static inline bool gpumon_cubin_is_kernel(const GElf_Sym *symbol)
{
	return GELF_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_other & GPUMON_CUBIN_ENTRY;
}

/* NULL: it is no ELF file. For elf_end(). */
static inline Elf *gpumon_cubin_open(const void *data, size_t size)
{
	Elf *elf = NULL;

	/* libelf only reads from this memory, but does not say so. */
	if (elf_version(EV_CURRENT) != EV_NONE)
		elf = elf_memory((char *)(uintptr_t)data, size);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		return elf;
	elf_end(elf);
	return NULL;
}

#endif /* GPUMON_GPUPROG_IMAGE_CUBIN_H */
