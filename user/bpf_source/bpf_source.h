/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The statistics and events of the module from BPF programs of this process, for
 * machines on which no module may be loaded. They begin when it is opened
 * and end when it is closed.
 */
#ifndef GPUMON_USER_BPF_SOURCE_H
#define GPUMON_USER_BPF_SOURCE_H

#include <stdbool.h>
#include <sys/types.h>

#include "../kmod/uapi/gpumon_event.h"
#include "base/error.h"
#include "model/model.h"

struct gpumon_bpf_source;

/**
 * gpumon_bpf_source_possible() - may this process do it, on this kernel?
 * @root: prefix of /proc and /sys, "" or a made-up tree
 * @err: why not: not-built, permission, lockdown, no-btf (all exit 77)
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_bpf_source_possible(const char *root, struct gpumon_error *err);

/**
 * gpumon_bpf_source_open() - load the programs of all drivers that are there
 * @source: out, NULL on failure
 * @events: events are wanted too, not only statistics
 * @err: why not; a driver that is not there, or a program that this kernel refuses, is no
 *       failure but the state of its group
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_bpf_source_open(struct gpumon_bpf_source **source, bool events,
			   struct gpumon_error *err);
void gpumon_bpf_source_close(struct gpumon_bpf_source *source);

/* Drivers that came since: their programs are loaded now. Reading does it, too. */
void gpumon_bpf_source_look(struct gpumon_bpf_source *source);

/**
 * gpumon_bpf_source_read() - as gpumon_client_read()
 * @source: the source
 * @parts: GPUMON_PART_*
 * @model: zeroed or earlier read; the parts asked for are replaced
 * @err: out
 */
int gpumon_bpf_source_read(struct gpumon_bpf_source *source, unsigned int parts,
			   struct gpumon_model *model, struct gpumon_error *err);

/* The ring of events: it loses the newest where the module's loses the oldest. */
void gpumon_bpf_source_event_ring(struct gpumon_bpf_source *source, struct gpumon_event_ring *ring);

/* To wait for events; it is read with gpumon_bpf_source_events() alone. */
int gpumon_bpf_source_fd(const struct gpumon_bpf_source *source);

/**
 * gpumon_bpf_source_events() - take events out of the ring
 * @source: opened with events
 * @events: set to them, good until the next call
 *
 * Return: their number, or -EAGAIN when there is none.
 */
ssize_t gpumon_bpf_source_events(struct gpumon_bpf_source *source,
				 const struct gpumon_event **events);

#endif /* GPUMON_USER_BPF_SOURCE_H */
