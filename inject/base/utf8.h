/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_BASE_UTF8_H
#define GPUMON_INJECT_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* A character as UTF-8: 1 to 4 bytes, without an end. */
size_t inject_utf8_character(uint32_t c, char *to);

/* A wide text as UTF-8, cut where there is no more room; its length. */
size_t inject_utf8(const wchar_t *wide, char *text, size_t size);

#endif /* GPUMON_INJECT_BASE_UTF8_H */
