/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_FUZZ_SYMBOL_H
#define GPUMON_FUZZ_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's name for what it calls. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* GPUMON_FUZZ_SYMBOL_H */
