// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Replaces bpf_source.c in builds without clang or bpftool. Opening reports that, and the other
 * functions are never called.
 */
#include <errno.h>

#include "bpf_source.h"

#ifndef GPUMON_BPF

#pragma GCC diagnostic ignored "-Wunused-parameter"

int gpumon_bpf_source_open(struct gpumon_bpf_source **source, bool events, struct gpumon_error *err)
{
	*source = NULL;
	return gpumon_bpf_source_possible(err);
}

void gpumon_bpf_source_close(struct gpumon_bpf_source *source)
{
}

void gpumon_bpf_source_look(struct gpumon_bpf_source *source)
{
}

int gpumon_bpf_source_read(struct gpumon_bpf_source *source, unsigned int parts,
			   struct gpumon_model *model, struct gpumon_error *err)
{
	return -1;
}

void gpumon_bpf_source_event_ring(struct gpumon_bpf_source *source, struct gpumon_event_ring *ring)
{
}

int gpumon_bpf_source_fd(const struct gpumon_bpf_source *source)
{
	return -1;
}

ssize_t gpumon_bpf_source_events(struct gpumon_bpf_source *source,
				 const struct gpumon_event **events)
{
	return -EAGAIN;
}

#endif /* !GPUMON_BPF */
