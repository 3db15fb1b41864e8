// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Group drm_vblank from raw tracepoints. The vblank tracepoint does not contain the device, which
 * the module gets from a kprobe. So here all vblanks are in rows without a device.
 */
#include "source.bpf.h"

struct drm_device {
	struct device *dev;
} KERNEL_TYPE;

struct drm_minor {
	struct drm_device *dev;
} KERNEL_TYPE;

struct drm_file {
	struct drm_minor *minor;
} KERNEL_TYPE;

/* The DRM core stores sets of crtcs in 32 bits. */
#define CRTCS_MAX 32

struct source_probe probes[SOURCE_VBLANK_PROBES];
struct source_crtc crtcs[SOURCE_CRTCS];

/* Row of a crtc of the device that a client has open; without a client, a row without a device. */
static __noinline __u32 row_of(__u64 file_address, __u32 crtc)
{
	const struct drm_file *file = (const void *)file_address;
	char name[SOURCE_NAME_LEN] __attribute__((aligned(8))) = {};
	struct source_crtc *row;
	bool created;
	__u32 slot;

	device_name(name, file ? BPF_CORE_READ(file, minor, dev, dev) : NULL);
	slot = CLAIM(crtcs, SOURCE_CRTCS, mix(hash_name(1, name), crtc) | 1, &created);
	if (slot >= SOURCE_CRTCS || !created)
		return slot;
	row = &crtcs[slot];
	row->crtc = crtc;
	__builtin_memcpy(row->device, name, SOURCE_NAME_LEN);
	__sync_fetch_and_or(&row->ready, 1);
	return slot;
}

/* Arguments: crtc, seq, time, high precision */
SEC("raw_tp")
int vblank(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 crtc = ctx->args[0], row;
	__u64 now = bpf_ktime_get_ns();
	bool precise = ctx->args[3] & 1;

	if (crtc >= CRTCS_MAX) {
		add(&probes[SOURCE_VBLANK_VBLANK].unreadable, 1);
		return 0;
	}
	row = row_of(0, crtc);
	if (row >= SOURCE_CRTCS) {
		add(&probes[SOURCE_VBLANK_VBLANK].table_full, 1);
		return 0;
	}
	TESTED(row);
	add(&crtcs[row].words[SOURCE_CRTC_VBLANKS], 1);
	add(&crtcs[row].words[SOURCE_CRTC_AMBIGUOUS], 1);
	if (precise)
		add(&crtcs[row].words[SOURCE_CRTC_HIGH_PRECISION], 1);
	add(&probes[SOURCE_VBLANK_VBLANK].recorded, 1);
	event_send(GPUMON_EVENT_VBLANK, now, row, (__u32)ctx->args[1], ctx->args[2], precise,
		   SOURCE_UNKNOWN, false);
	return 0;
}

/* Arguments: file, crtc, seq; both when an event is requested and when it is delivered. */
INLINE int client_event(struct bpf_raw_tracepoint_args *ctx, __u32 probe, __u32 word, __u16 type,
			bool by_task)
{
	__u64 now = bpf_ktime_get_ns(), file = ctx->args[0];
	__u32 crtc = ctx->args[1], row;

	if (crtc >= CRTCS_MAX) {
		add(&probes[probe].unreadable, 1);
		return 0;
	}
	row = row_of(file, crtc);
	if (row >= SOURCE_CRTCS) {
		add(&probes[probe].table_full, 1);
		return 0;
	}
	TESTED(row);
	add(&crtcs[row].words[word], 1);
	if (!file) {
		add(&crtcs[row].words[SOURCE_CRTC_NULL_FILE], 1);
		add(&crtcs[row].words[SOURCE_CRTC_AMBIGUOUS], 1);
	}
	add(&probes[probe].recorded, 1);
	if (type == GPUMON_EVENT_VBLANK_QUEUED)
		event_send(type, now, row, (__u32)ctx->args[2], 0, 0, 0, by_task);
	else
		event_send(type, now, row, (__u32)ctx->args[2], 0, SOURCE_UNKNOWN, SOURCE_UNKNOWN,
			   by_task);
	return 0;
}

SEC("raw_tp")
int queued(struct bpf_raw_tracepoint_args *ctx)
{
	return client_event(ctx, SOURCE_VBLANK_QUEUED, SOURCE_CRTC_QUEUED,
			    GPUMON_EVENT_VBLANK_QUEUED, true);
}

/* Usually runs in the vblank interrupt, so the current task is unrelated. */
SEC("raw_tp")
int delivered(struct bpf_raw_tracepoint_args *ctx)
{
	return client_event(ctx, SOURCE_VBLANK_DELIVERED, SOURCE_CRTC_DELIVERED,
			    GPUMON_EVENT_VBLANK_DELIVERED, false);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
