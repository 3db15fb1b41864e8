/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The instructions that run in a process that is attached to, and where they find their arguments. */
#ifndef GPUMON_RECORD_ATTACH_STUB_H
#define GPUMON_RECORD_ATTACH_STUB_H

#include <stdint.h>

extern const uint8_t gpumon_stub_begin[], gpumon_stub_back[], gpumon_stub_end[];

/* Offsets in struct gpumon_remote_arguments, for the assembler. */
#define GPUMON_STUB_CREATED	8
#define GPUMON_STUB_STEP	12
#define GPUMON_STUB_DLOPEN	16
#define GPUMON_STUB_DLSYM	24
#define GPUMON_STUB_DLERROR	32
#define GPUMON_STUB_DETACH	40
#define GPUMON_STUB_MUNMAP	48
#define GPUMON_STUB_MEMORY	56
#define GPUMON_STUB_SIZE	64
#define GPUMON_STUB_MODE	72
#define GPUMON_STUB_ANSWER	76
#define GPUMON_STUB_MEMORY_FILE 80
#define GPUMON_STUB_FILE	84
#define GPUMON_STUB_RESULT	88
#define GPUMON_STUB_WAITS	92
#define GPUMON_STUB_SYMBOL	96
#define GPUMON_STUB_NAME	128
#define GPUMON_STUB_PATH	192
#define GPUMON_STUB_TEXT	4288

#endif /* GPUMON_RECORD_ATTACH_STUB_H */
