/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Data per ring, shared by the BPF program of the bench and its loader. */
#ifndef BENCH_RAW_TP_H
#define BENCH_RAW_TP_H

#include <linux/types.h>

/* 4 for each power of two up to 2^64 makes 252; rounded up to a power of two. */
#define BUCKETS 256

#define RINGS 64

struct histogram {
	__u64 sum;
	__u64 max;
	__u64 bucket[BUCKETS];
};

struct ring {
	__u64 queued;
	__u64 run;
	__u64 done;
	struct histogram queue_ns;
	struct histogram run_ns;
};

#endif /* BENCH_RAW_TP_H */
