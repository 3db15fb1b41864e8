// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group debug: only in a module made with GPUMON_DEBUG=1, see Kbuild.
 *
 * No distribution has drm or its scheduler built in, but all have dma_fence. This group takes it
 * for a driver, beside one that is a module, so that a test on any kernel sees how the engine
 * attaches to both. It only counts.
 */
#include "drivers/groups.h"

enum {
	DEBUG_INIT,
	DEBUG_NEVER,
	DEBUG_OTHER,
	DEBUG_RELEASE,
	DEBUG_SIGNAL,
	DEBUG_SIGNALED,
	DEBUG_ELSEWHERE,
	DEBUG_RUN
};

static GPUMON_TRACEPOINT_BODY(1, debug_traced, const void *, fence)
{
	gpumon_probe_recorded(ctx);
}

static GPUMON_KPROBE_BODY(debug_called)
{
	gpumon_probe_recorded(ctx);
}

static GPUMON_KRETPROBE_BODY(debug_returned)
{
	gpumon_probe_recorded(ctx);
}

static struct gpumon_probe debug_probes[] = {
	GPUMON_TRACEPOINT_AT("dma_fence", "dma_fence_init", DEBUG_INIT, debug_traced, "*dma_fence"),
	GPUMON_TRACEPOINT_AT("dma_fence", "dma_fence_never", DEBUG_NEVER, debug_traced, NULL,
			     .optional = true),
	GPUMON_TRACEPOINT_AT("dma_fence", "dma_fence_destroy", DEBUG_OTHER, debug_traced,
			     "*drm_device", .optional = true),
	GPUMON_KPROBE_AT("dma_fence", "dma_fence_release", DEBUG_RELEASE, debug_called, "*kref",
			 "void"),
	GPUMON_KRETPROBE_AT("dma_fence", "dma_fence_signal", DEBUG_SIGNAL, NULL, debug_returned,
			    "*dma_fence", NULL),
	GPUMON_TRACEPOINT_AT(NULL, "dma_fence_signaled", DEBUG_SIGNALED, debug_traced, "*dma_fence",
			     .with = "dma_fence"),
	/* A module has a function of this name, the kernel has none. */
	GPUMON_KPROBE_AT("dma_fence", "mock_prepare_job", DEBUG_ELSEWHERE, debug_called, NULL, NULL,
			 .optional = true),
	GPUMON_KPROBE_AT("mock_gpu", "mock_run_job", DEBUG_RUN, debug_called, NULL, NULL),
};

static struct gpumon_field debug_fields[] = {
	{ .module = "dma_fence", .type = "dma_fence", .member = "seqno", .size = 8 },
	{ .module = "dma_fence", .type = "dma_fence_never", .member = "seqno" },
};

struct gpumon_group gpumon_debug = {
	.name = "debug",
	GPUMON_PROBES(debug_probes),
	GPUMON_FIELDS(debug_fields),
};
