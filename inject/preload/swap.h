/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Between the preloaded library and gpumon's: calls of EGL and GLX that present an image. */
#ifndef GPUMON_INJECT_PRELOAD_SWAP_H
#define GPUMON_INJECT_PRELOAD_SWAP_H

#define GPUMON_SWAPS(f)                                                                 \
	f(eglSwapBuffers) f(eglSwapBuffersWithDamageEXT) f(eglSwapBuffersWithDamageKHR) \
		f(glXSwapBuffers) f(glXSwapBuffersMscOML)

enum gpumon_swap_kind {
#define KIND(name) GPUMON_SWAP_##name,
	GPUMON_SWAPS(KIND)
#undef KIND
	GPUMON_SWAP_KINDS
};

/*
 * A function of the program's library, called with any of these functions' arguments: there are five at
 * most, and each is in a register of its own, on all processors that gpumon is for.
 */
typedef unsigned long gpumon_swap_function_t(unsigned long, unsigned long, unsigned long,
					     unsigned long, unsigned long);

/**
 * struct gpumon_swap - a function that presents an image
 * @kind: enum gpumon_swap_kind
 * @function: of the program's library
 */
struct gpumon_swap {
	unsigned int kind;
	gpumon_swap_function_t *function;
};

/* Calls @swap's function with the five arguments behind it, and records that. Returns what that returns. */
typedef unsigned long gpumon_swap_through_t(const struct gpumon_swap *swap, unsigned long,
					    unsigned long, unsigned long, unsigned long,
					    unsigned long);

#endif /* GPUMON_INJECT_PRELOAD_SWAP_H */
