/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the BPF program of the bench keeps of a ring, for its loader too. */
#ifndef BENCH_RAW_TP_H
#define BENCH_RAW_TP_H

#include <linux/types.h>

/* Up to 2^42, like gpumon's. */
#define BUCKETS ((42 - 2 + 1) * 4)

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
