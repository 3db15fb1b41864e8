/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Joins states where paths meet, and keeps them in little memory. */
#ifndef GPUMON_GPUPROG_VERIFY_JOIN_H
#define GPUMON_GPUPROG_VERIFY_JOIN_H

#include <stddef.h>

#include "state.h"

/**
 * gpumon_state_join - also allow another state
 * @state: what was known at the step
 * @other: what another path brings
 * @widening: for numbers
 * @ids: GPUMON_STATE_CELLS ids that no other step gives, the first one
 *
 * Return: whether @state now allows more.
 */
bool gpumon_state_join(struct gpumon_state *state, struct gpumon_state *other,
		       const struct gpumon_widening *widening, uint32_t ids);

/* A state without what is not known. */
struct gpumon_packed_state;

/**
 * gpumon_state_pack - keep a state
 * @state: state
 * @packed: where, replaced; NULL at first; to be freed with free()
 * @size: its size, changed; 0 at first
 *
 * Return: 0, or -1 without memory; then @packed is as before.
 */
int gpumon_state_pack(struct gpumon_state *state, struct gpumon_packed_state **packed,
		      size_t *size);
void gpumon_state_unpack(const struct gpumon_packed_state *packed, struct gpumon_state *state);

#endif /* GPUMON_GPUPROG_VERIFY_JOIN_H */
