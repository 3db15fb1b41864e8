// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A libbpf raw_tp program that counts what gpumon counts for vblanks, like drm_vblank.bt. */
#include "books.bpf.h"

enum {
	VBLANK,
	VBLANK_QUEUED,
	VBLANK_DELIVERED
};

#define CRTCS 32

struct crtc {
	__u64 time;
	__u32 seq;
};

/* The last vblank of each crtc, only written by the CPU of its interrupt. */
static struct crtc crtcs[CRTCS];

SEC("raw_tp/drm_vblank_event")
int vblank(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 number = ctx->args[0] & (CRTCS - 1), seq = ctx->args[1];
	struct crtc *crtc = &crtcs[number];
	__u64 time = ctx->args[2];

	count(VBLANK, 0);
	count_row(VBLANK, number, crtc->seq ? seq - crtc->seq - 1 : 0);
	if (crtc->time)
		latency(VBLANK, number, time - crtc->time);
	crtc->time = time;
	crtc->seq = seq;
	return 0;
}

SEC("raw_tp/drm_vblank_event_queued")
int vblank_queued(struct bpf_raw_tracepoint_args *ctx)
{
	count(VBLANK_QUEUED, 0);
	begin(ctx->args[0], ctx->args[1] << 32 | (__u32)ctx->args[2], bpf_ktime_get_ns());
	return 0;
}

SEC("raw_tp/drm_vblank_event_delivered")
int vblank_delivered(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 number = ctx->args[1] & (CRTCS - 1);
	__u64 now = bpf_ktime_get_ns(), since;

	count(VBLANK_DELIVERED, 0);
	if (end(ctx->args[0], ctx->args[1] << 32 | (__u32)ctx->args[2], &since))
		latency(VBLANK_QUEUED, number, now - since);
	latency(VBLANK_DELIVERED, number, now - crtcs[number].time);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
