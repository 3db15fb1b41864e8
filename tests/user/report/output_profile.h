/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Profiles made by hand, to test outputs. */
#ifndef GPUMON_TEST_OUTPUT_PROFILE_H
#define GPUMON_TEST_OUTPUT_PROFILE_H

#include "report/output.h"

/* A node below @parent, or a root for NULL; made_free() frees the tree. */
struct gpumon_node *made_node(struct gpumon_node *parent, enum gpumon_node_kind kind,
			      const char *name, uint64_t count, uint64_t gpu_ns, uint64_t cpu_ns);
/* A function. */
struct gpumon_node *made_place(struct gpumon_node *parent, const char *name, const char *module);
void made_free(struct gpumon_node *root);

/**
 * made_training - make a profile like that of a small training: two devices, tables, losses
 * @view: out; made_training_free() frees it
 */
void made_training(struct gpumon_view *view);
void made_training_free(struct gpumon_view *view);

#endif /* GPUMON_TEST_OUTPUT_PROFILE_H */
