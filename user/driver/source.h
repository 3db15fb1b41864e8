/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Source of numbers and events: the kernel module, or BPF programs if no module may be loaded. Both
 * fill the same model.
 */
#ifndef GPUMON_DRIVER_SOURCE_H
#define GPUMON_DRIVER_SOURCE_H

#include <stdbool.h>

#include "client.h"
#include "lib/options.h"
#include "lib/profile.h"
#include "model.h"

/* A gap that ROCm users need to know about, in the place where they would look for its numbers. */
#define GPUMON_NOT_COVERED \
	"ROCm/KFD compute and amdgpu user queues never pass drm_sched: their work is not in the rings"

enum gpumon_source_choice {
	GPUMON_SOURCE_AUTO, /* the module if it answers, otherwise BPF */
	GPUMON_SOURCE_MODULE,
	GPUMON_SOURCE_BPF,
};

/**
 * struct gpumon_source - an open source
 * @client: client of the module, NULL for BPF
 * @bpf: BPF programs, NULL for the module
 */
struct gpumon_source {
	struct gpumon_client *client;
	struct gpumon_bpf_source *bpf;
};

/* The BPF programs, NULL for the module. */
static inline struct gpumon_bpf_source *gpumon_source_bpf(const struct gpumon_source *source)
{
	return GPUMON_IS_SMALL ? NULL : source->bpf;
}

/* Parses --source in a table of options. GPUMON_SOURCE_HELP is its line in the help. */
int gpumon_source_take(struct gpumon_context *context, const char *text, void *choice);

#define GPUMON_SOURCE_OPTION(choice) GPUMON_OPTION_CALL("source", 0, choice, gpumon_source_take)
#define GPUMON_SOURCE_HELP \
	"      --source SOURCE    module, bpf, or auto: the module if it is loaded, else bpf\n"

/**
 * gpumon_source_open() - connect to the module, or load the BPF programs
 * @source: out; closed with gpumon_source_close() also on failure
 * @choice: which source
 * @events: load the programs for events too
 * @err: out, mentions both sources for GPUMON_SOURCE_AUTO
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_source_open(struct gpumon_source *source, enum gpumon_source_choice choice, bool events,
		       struct gpumon_error *err);
void gpumon_source_close(struct gpumon_source *source);

/* As gpumon_client_read(). BPF has only one period, the command's run time. */
int gpumon_source_read(struct gpumon_source *source, unsigned int parts, uint32_t period,
		       struct gpumon_model *model, struct gpumon_error *err);

/* As gpumon_client_reset(). BPF refuses it, since its counts begin with the command. */
int gpumon_source_reset(struct gpumon_source *source, struct gpumon_period *closed,
			struct gpumon_error *err);

/**
 * gpumon_source_check_group() - refuse the name of a group that does not exist
 * @model: has the groups; and, for the message, what GPUMON_PART_INFO gives
 * @name: the name
 * @err: out
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_source_check_group(const struct gpumon_model *model, const char *name,
			      struct gpumon_error *err);

int gpumon_source_event_ring_get(struct gpumon_source *source, struct gpumon_event_ring *ring,
				 struct gpumon_error *err);

#endif /* GPUMON_DRIVER_SOURCE_H */
