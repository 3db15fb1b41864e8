/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Images that replace others, and whether they can be loaded. */
#ifndef GPUMON_INJECT_GPUPROG_REPLACE_H
#define GPUMON_INJECT_GPUPROG_REPLACE_H

#include "image.h"

/**
 * inject_gpuprog_replace - get the image that replaces another
 * @image: of the program
 * @made: out: to be cleared
 */
void inject_gpuprog_replace(const struct inject_image *image, struct inject_new_image *made);

/**
 * inject_gpuprog_trial - the same, for an image that is seen to load
 * @image: of the program
 * @made: out: to be cleared
 *
 * Loads it into the current context and unloads it; the driver keeps what it has compiled, so the program's
 * own load takes no longer. Kernels that would need more registers than a block of the size
 * that was possible before has are left alone. Without a context nothing is tried.
 */
void inject_gpuprog_trial(const struct inject_image *image, struct inject_new_image *made);

#endif /* GPUMON_INJECT_GPUPROG_REPLACE_H */
