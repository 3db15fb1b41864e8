/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The histogram shared by the bench's BPF programs. */
#ifndef BENCH_OBSERVE_BPF_H
#define BENCH_OBSERVE_BPF_H

#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#include "raw_tp.h"

/* Log-linear, 4 buckets for each power of two. BPF has no instruction to find the power. */
static __always_inline void observe(struct histogram *h, __u64 value)
{
	__u64 v = value | 4;
	__u64 shift = 0, index;

	if (v >> 32) {
		v >>= 32;
		shift += 32;
	}
	if (v >> 16) {
		v >>= 16;
		shift += 16;
	}
	if (v >> 8) {
		v >>= 8;
		shift += 8;
	}
	if (v >> 4) {
		v >>= 4;
		shift += 4;
	}
	if (v >> 2) {
		v >>= 2;
		shift += 2;
	}
	shift += v >> 1;
	shift -= 2;
	index = (shift << 2) + (value >> shift);
	/* The verifier loses track of the index above, and of a comparison, but not of a mask. */
	asm volatile("" : "+r"(index));
	index &= BUCKETS - 1;
	h->bucket[index]++;
	h->sum += value;
	if (value > h->max)
		h->max = value;
}

#endif /* BENCH_OBSERVE_BPF_H */
