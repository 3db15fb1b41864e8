/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Follows all paths of a program until nothing new is learnt. */
#ifndef GPUMON_PROBE_WALK_H
#define GPUMON_PROBE_WALK_H

#include "probe/verify/verifier.h"

/* Steps that are gone through at most: so many for each, and some more. */
#define GPUMON_WALK_VISITS     64
#define GPUMON_WALK_MORE       65536
#define GPUMON_WALK_MAX_MEMORY (128ul << 20) /* bytes of states at most */

/**
 * gpumon_walk - verify a well-formed program
 * @verifier: its facts are set for all steps
 *
 * Return: 0, or -1 with the refusal.
 */
int gpumon_walk(struct gpumon_verifier *verifier);

#endif /* GPUMON_PROBE_WALK_H */
