/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Return addresses in the memory of a stack. inject/ uses this, too. */
#ifndef GPUMON_ABI_RETURN_ADDRESS_H
#define GPUMON_ABI_RETURN_ADDRESS_H

#include <stdint.h>

/* The address in a word that was saved as a return address: on arm64 it may be signed. */
static inline uint64_t gpumon_return_address(uint64_t word)
{
#ifdef __aarch64__
	register uint64_t lr __asm__("x30") = word;

	/* xpaclri, which processors without signatures ignore */
	__asm__("hint #7" : "+r"(lr));
	return lr;
#else
	return word;
#endif
}

#endif /* GPUMON_ABI_RETURN_ADDRESS_H */
