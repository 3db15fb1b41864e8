/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Where numbers and events come from: the kernel module, or BPF programs of our own
 * where no module may be loaded. What they tell is the same model.
 */
#ifndef GPUMON_USER_SOURCE_H
#define GPUMON_USER_SOURCE_H

#include <stdbool.h>

#include "module/client.h"
#include "base/options.h"
#include "model/model.h"

/* What a user of ROCm would miss, said where they would look for it. */
#define GPUMON_NOT_COVERED \
	"ROCm/KFD compute and amdgpu user queues never pass drm_sched: their work is not in the rings"

enum gpumon_source_choice {
	GPUMON_SOURCE_AUTO, /* the module if it answers, else BPF */
	GPUMON_SOURCE_MODULE,
	GPUMON_SOURCE_BPF,
};

/**
 * struct gpumon_source - one of the two
 * @client: of the module, NULL if it is BPF
 * @bpf: likewise
 */
struct gpumon_source {
	struct gpumon_client *client;
	struct gpumon_bpf_source *bpf;
};

/* --source, for a table of options, and its line of the help. */
int gpumon_source_take(struct gpumon_context *context, const char *text, void *choice);

#define GPUMON_SOURCE_OPTION(choice) GPUMON_OPTION_CALL("source", 0, choice, gpumon_source_take)
#define GPUMON_SOURCE_HELP \
	"      --source SOURCE    module, bpf, or auto: the module if it is loaded, else bpf\n"

/**
 * gpumon_source_open() - connect to the module, or load the BPF programs
 * @source: out; closed with gpumon_source_close() also on failure
 * @choice: which
 * @events: events are wanted from BPF
 * @err: what was wrong, with both of them for GPUMON_SOURCE_AUTO
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_source_open(struct gpumon_source *source, enum gpumon_source_choice choice, bool events,
		       struct gpumon_error *err);
void gpumon_source_close(struct gpumon_source *source);

/* As gpumon_client_read(); BPF has one period, that of the command. */
int gpumon_source_read(struct gpumon_source *source, unsigned int parts, uint32_t period,
		       struct gpumon_model *model, struct gpumon_error *err);

/* As gpumon_client_reset(); refused for BPF, which begins with the command. */
int gpumon_source_reset(struct gpumon_source *source, struct gpumon_period *closed,
			struct gpumon_error *err);

int gpumon_source_event_ring_get(struct gpumon_source *source, struct gpumon_event_ring *ring,
				 struct gpumon_error *err);

#endif /* GPUMON_USER_SOURCE_H */
