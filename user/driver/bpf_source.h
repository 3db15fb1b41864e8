/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The module's statistics and events from BPF programs of this process, for machines on which no
 * module may be loaded. They cover the time from open to close.
 */
#ifndef GPUMON_DRIVER_BPF_SOURCE_H
#define GPUMON_DRIVER_BPF_SOURCE_H

#include <stdbool.h>
#include <sys/types.h>

#include "../kmod/uapi/gpumon_event.h"
#include "job_watch.h"
#include "lib/error.h"
#include "model.h"

struct gpumon_bpf_source;

/**
 * gpumon_bpf_source_possible() - check permissions and the kernel
 * @err: out: not-built, permission, lockdown, no-btf (all exit 77)
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_bpf_source_possible(struct gpumon_error *err);

/**
 * gpumon_bpf_source_open() - load the programs of all loaded drivers
 * @source: out, NULL on failure
 * @events: send events, too, not only statistics
 * @err: out; a missing driver, or a program that this kernel rejects, is not an error but the state
 *       of its group
 *
 * Return: 0, or -1 with @err.
 */
#ifdef GPUMON_SMALL
static inline int gpumon_bpf_source_open(struct gpumon_bpf_source **source, bool events,
					 struct gpumon_error *err)
{
	(void)events;
	*source = NULL;
	(void)gpumon_bpf_source_possible(err);
	return -1;
}
#else
int gpumon_bpf_source_open(struct gpumon_bpf_source **source, bool events,
			   struct gpumon_error *err);
#endif
void gpumon_bpf_source_close(struct gpumon_bpf_source *source);

/* gpumon_bpf_source_open() with the programs of the DRM scheduler alone, for its jobs in flight. */
int gpumon_bpf_source_open_jobs(struct gpumon_bpf_source **source, struct gpumon_error *err);

/**
 * gpumon_bpf_source_job_tables() - the jobs in flight
 * @source: the source
 * @tables: out, valid until the source is closed
 * @err: out
 *
 * Return: 1 with @tables; 0 if the scheduler's module has not been loaded so far; -1 with @err if its
 * programs were refused, or could not be attached.
 */
int gpumon_bpf_source_job_tables(struct gpumon_bpf_source *source, struct gpumon_job_tables *tables,
				 struct gpumon_error *err);

/* Load the programs of drivers that were loaded since. Reading does this, too. */
void gpumon_bpf_source_look(struct gpumon_bpf_source *source);

/**
 * gpumon_bpf_source_read() - as gpumon_client_read()
 * @source: the source
 * @parts: GPUMON_PART_*
 * @model: zeroed or read before; the requested parts are replaced
 * @err: out
 */
int gpumon_bpf_source_read(struct gpumon_bpf_source *source, unsigned int parts,
			   struct gpumon_model *model, struct gpumon_error *err);

/* The state of the event ring. It loses the newest events; the module's loses the oldest. */
void gpumon_bpf_source_event_ring(struct gpumon_bpf_source *source, struct gpumon_event_ring *ring);

/* For poll(). Only gpumon_bpf_source_events() reads it. */
int gpumon_bpf_source_fd(const struct gpumon_bpf_source *source);

/**
 * gpumon_bpf_source_events() - read events from the ring
 * @source: opened with events
 * @events: set to the events, valid until the next call
 *
 * Return: their number, or -EAGAIN when there is none.
 */
ssize_t gpumon_bpf_source_events(struct gpumon_bpf_source *source,
				 const struct gpumon_event **events);

#endif /* GPUMON_DRIVER_BPF_SOURCE_H */
