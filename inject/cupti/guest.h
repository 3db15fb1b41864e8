/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Another user of the subscription, which CUPTI has once: programs in kernels (probe/). The guest keeps it
 * when a recording ends. What the guest itself does with CUDA is none of the program's, and is left out
 * of recordings.
 */
#ifndef GPUMON_INJECT_GUEST_H
#define GPUMON_INJECT_GUEST_H

#include "library.h"

/**
 * struct inject_guest - the guest's functions, called in the program's threads
 * @is_inside: whether the calling thread is in a call of CUDA that the guest makes
 * @call: a function of the driver begins or returns: one of those of inject_guest_enable(), or any
 */
struct inject_guest {
	bool (*is_inside)(void);
	void (*call)(CUpti_CallbackId id, const CUpti_CallbackData *data);
};

/* NULL: there is none. */
extern const struct inject_guest *inject_guest INJECT_HIDDEN;

/**
 * inject_guest_join - subscribe to CUPTI for the guest
 * @guest: stays
 * @why: out: a sentence where that is not possible
 *
 * Context: before a recording of CUDA begins, which then uses the same subscription.
 */
bool inject_guest_join(const struct inject_guest *guest, const char **why);

/* The guest wants to hear of a function of the driver, from now on. */
void inject_guest_enable(CUpti_CallbackId id);

/**
 * inject_guest_own - what is done in this stream is the guest's
 * @context: of the stream
 * @stream: of the guest alone
 * @memory: that it has allocated; 0: none yet. A later call adds it
 */
void inject_guest_own(CUcontext context, CUstream stream, CUdeviceptr memory);

/* Whether a record of CUPTI's is of the guest, by the ids in it. */
bool inject_guest_owns_stream(uint32_t context, uint32_t stream);
bool inject_guest_owns_memory(uint32_t context, uint64_t address);

#endif /* GPUMON_INJECT_GUEST_H */
