/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the fuzzers of captures share: libFuzzer calls the first one, capture_main.c without it. */
#ifndef GPUMON_FUZZ_CAPTURE_H
#define GPUMON_FUZZ_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

/*
 * What an input is: its first byte says, the rest is
 * - the files of a capture of two processes, one behind the other,
 * - the same, where the CRC of each chunk is put right first, so that what is behind is reached,
 * - capture.json,
 * - the memory of a channel, as a target left it.
 */
enum fuzz_kind {
	FUZZ_FILES,
	FUZZ_FILES_RIGHT_CRC,
	FUZZ_INFO,
	FUZZ_CHANNEL,
	FUZZ_KINDS
};

/* Ends the program where something is wrong. Always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* GPUMON_FUZZ_CAPTURE_H */
