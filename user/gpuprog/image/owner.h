/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Whose an image is. */
#ifndef GPUMON_GPUPROG_IMAGE_OWNER_H
#define GPUMON_GPUPROG_IMAGE_OWNER_H

#include <stdbool.h>
#include <stddef.h>

#define GPUMON_EXCHANGE_OWNER 192

/**
 * gpumon_exchange_owner - whether PTX has to stay as it is
 * @file: name of the library that it is in, without folders, or ""; not trusted
 * @why: out: a sentence
 * @size: room in @why: GPUMON_EXCHANGE_OWNER is enough
 *
 * CUDA's licence forbids changes of NVIDIA's libraries. Their machine code can be reached in the way that
 * NVIDIA offers: its sanitizer (patched.h).
 *
 * Return: true for one of NVIDIA's libraries that are not open.
 */
bool gpumon_exchange_owner(const char *file, char *why, size_t size);

#endif /* GPUMON_GPUPROG_IMAGE_OWNER_H */
