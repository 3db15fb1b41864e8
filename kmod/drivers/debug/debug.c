// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group debug: only in a module made with GPUMON_DEBUG=1, see Kbuild.
 *
 * No distribution has drm or its scheduler built in, but all have dma_fence. This group takes it for
 * a driver, beside one that is a module, so that a test on any kernel sees how the engine attaches
 * to both. It only counts.
 */
#include "debug.h"

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

static void debug_traced(void *data, const void *fence)
{
	struct gpumon_event_context ctx;

	if (!gpumon_probe_enter(&ctx, data))
		return;
	gpumon_probe_recorded(&ctx);
	gpumon_probe_leave(&ctx);
}

static int debug_called(struct kprobe *kprobe, struct pt_regs *regs)
{
	struct gpumon_event_context ctx;

	if (!gpumon_kprobe_enter(&ctx, kprobe))
		return 0;
	gpumon_probe_recorded(&ctx);
	gpumon_probe_leave(&ctx);
	return 0;
}

static int debug_returned(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct gpumon_event_context ctx;

	if (!gpumon_kretprobe_enter(&ctx, instance))
		return 0;
	gpumon_probe_recorded(&ctx);
	gpumon_probe_leave(&ctx);
	return 0;
}

#define FENCE(_role, _kind, _name, ...)                                                           \
	[_role] = { .module = "dma_fence",                                                        \
		    .name = _name,                                                                \
		    .kind = GPUMON_PROBE_KIND_##_kind,                                            \
		    .role = _role,                                                                \
		    .optional = true,                                                             \
		    ##__VA_ARGS__ }

static struct gpumon_probe debug_probes[] = {
	FENCE(DEBUG_INIT, TRACEPOINT, "dma_fence_init", .body = debug_traced,
	      .prototype = "*dma_fence"),
	FENCE(DEBUG_NEVER, TRACEPOINT, "dma_fence_never", .body = debug_traced),
	FENCE(DEBUG_OTHER, TRACEPOINT, "dma_fence_destroy", .body = debug_traced,
	      .prototype = "*drm_device"),
	FENCE(DEBUG_RELEASE, KPROBE, "dma_fence_release", .body = debug_called,
	      .prototype = "*kref", .returns = "void"),
	FENCE(DEBUG_SIGNAL, KRETPROBE, "dma_fence_signal", .on_return = debug_returned,
	      .prototype = "*dma_fence"),
	[DEBUG_SIGNALED] = { .with = "dma_fence",
			     .name = "dma_fence_signaled",
			     .kind = GPUMON_PROBE_KIND_TRACEPOINT,
			     .role = DEBUG_SIGNALED,
			     .body = debug_traced,
			     .prototype = "*dma_fence" },
	/* A module has a function of this name, the kernel has none. */
	FENCE(DEBUG_ELSEWHERE, KPROBE, "mock_prepare_job", .body = debug_called),
	[DEBUG_RUN] = { .module = "mock_gpu",
			.name = "mock_run_job",
			.kind = GPUMON_PROBE_KIND_KPROBE,
			.role = DEBUG_RUN,
			.body = debug_called },
};

static struct gpumon_field debug_fields[] = {
	{ .module = "dma_fence", .type = "dma_fence", .member = "seqno", .size = 8 },
	{ .module = "dma_fence", .type = "dma_fence_never", .member = "seqno" },
};

struct gpumon_group gpumon_debug = {
	.name = "debug",
	.probes = debug_probes,
	.count = ARRAY_SIZE(debug_probes),
	.fields = debug_fields,
	.field_count = ARRAY_SIZE(debug_fields),
	.off_by_default = true,
};
