/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Programs of the corpus, run by many threads in any order; a test fails where one does not run. */
#ifndef PROBE_CORPUS_RUN_H
#define PROBE_CORPUS_RUN_H

#include "corpus.h"
#include "sample.h"

#define CORPUS_TARGETS 3
#define CORPUS_ORDERS  12 /* of threads: the first one is lock-step */

/* The newest of all; without match, activemask and acquire; without shfl.sync. */
extern const struct gpumon_gpuprog_target corpus_targets[CORPUS_TARGETS];

/* Of the orders. */
extern uint64_t corpus_seed;

void corpus_make(struct sample *sample, const char *name,
		 const struct gpumon_gpuprog_target *target);
void corpus_run(struct sample *sample, uint32_t threads, uint32_t order,
		void (*prepare)(struct ptx_lane *lane, uint32_t thread));

/* A number of an array. */
uint64_t corpus_number(const struct sample *sample, enum corpus_map map, uint64_t index);
/* A number of .bss. */
uint64_t corpus_shown(const struct sample *sample, uint32_t offset);
/* All losses but one cause are 0. */
void corpus_lost(const struct sample *sample, enum gpumon_gpuprog_loss cause, uint64_t count);

/* A program in each order on each target. */
#define EACH_RUN(sample, name, threads, prepare)                                                 \
	for (uint32_t target = 0; target < CORPUS_TARGETS; target++)                             \
		for (uint32_t order = 0; order < CORPUS_ORDERS &&                                \
					 (corpus_make(&(sample), name, &corpus_targets[target]), \
					  corpus_run(&(sample), threads, order, prepare), true); \
		     order++, sample_clear(&(sample)))

#endif /* PROBE_CORPUS_RUN_H */
