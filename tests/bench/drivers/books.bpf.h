/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Shared by the BPF programs for drivers: maps for the same data as in the bpftrace scripts beside
 * them, as one would write them by hand. Sums are per CPU. Operations in progress are in a hash map
 * shared by all CPUs.
 */
#ifndef BENCH_BOOKS_BPF_H
#define BENCH_BOOKS_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "../observe.bpf.h"

#define CORE __attribute__((preserve_access_index))
/* Maximum number of events of a driver. */
#define EVENTS 16

struct total {
	__u64 count;
	__u64 bytes;
};

struct pair {
	__u64 first;
	__u64 second;
};

/* By number of the event, in the order of drivers.py. The loader prints them. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EVENTS);
	__type(key, __u32);
	__type(value, struct total);
} events SEC(".maps");

/* By event and the key of a row. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct pair);
	__type(value, struct total);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 64);
	__type(key, struct pair);
	__type(value, struct histogram);
} latencies SEC(".maps");

/* Operations in progress, with their size or start time. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct pair);
	__type(value, __u64);
} begun SEC(".maps");

/* Too large for a program's stack. Never written. */
static const struct histogram no_values;

static __always_inline void count(__u32 event, __u64 bytes)
{
	struct total *total = bpf_map_lookup_elem(&events, &event);

	if (!total)
		return;
	total->count++;
	total->bytes += bytes;
}

static __always_inline void count_row(__u64 event, __u64 row, __u64 bytes)
{
	struct pair key = { event, row };
	struct total *total = bpf_map_lookup_elem(&rows, &key), first = { 1, bytes };

	if (!total) {
		bpf_map_update_elem(&rows, &key, &first, BPF_NOEXIST);
		return;
	}
	total->count++;
	total->bytes += bytes;
}

static __always_inline void count_process(__u64 event, __u64 bytes)
{
	count_row(event | 1ULL << 32, bpf_get_current_pid_tgid() >> 32, bytes);
}

static __always_inline void latency(__u64 event, __u64 row, __u64 ns)
{
	struct pair key = { event, row };
	struct histogram *h = bpf_map_lookup_elem(&latencies, &key);

	if (!h) {
		bpf_map_update_elem(&latencies, &key, &no_values, BPF_NOEXIST);
		h = bpf_map_lookup_elem(&latencies, &key);
	}
	if (h)
		observe(h, ns);
}

static __always_inline void begin(__u64 first, __u64 second, __u64 value)
{
	struct pair key = { first, second };

	bpf_map_update_elem(&begun, &key, &value, BPF_ANY);
}

/* Remove an operation in progress. False if it was not there. */
static __always_inline _Bool end(__u64 first, __u64 second, __u64 *value)
{
	struct pair key = { first, second };
	__u64 *found = bpf_map_lookup_elem(&begun, &key);

	if (!found)
		return 0;
	*value = *found;
	bpf_map_delete_elem(&begun, &key);
	return 1;
}

#endif /* BENCH_BOOKS_BPF_H */
