/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Collectives of NCCL and RCCL. In an all-reduce and the like each rank needs data of each other one, so
 * its kernel runs from its own begin until all ranks are done. What the shortest of these kernels took is
 * communication; what another one took longer is waiting, for the rank that began last.
 *
 * Kernels of several ranks are one collective if they have one name, overlap, and end together:
 * none can end before the last one has begun. What does not fit is counted and not matched.
 *
 * In a broadcast, a reduction to one rank, and the like only some ranks need data of others, and which
 * these are is not recorded: their kernels are counted and not split. Where a kernel does not say what it
 * does, NCCL's NVTX range around its launch tells; else it is split if it is matched, and counted.
 */
#ifndef GPUMON_REPORT_COLLECTIVES_H
#define GPUMON_REPORT_COLLECTIVES_H

#include <stdbool.h>
#include <stdint.h>

struct gpumon_node;

/* Maximum number of kernels of collectives in memory. Those beyond it are not matched. */
#define GPUMON_COLLECTIVES_MAX (1u << 20)

/* In place of the part of a kernel's time that is waiting: see gpumon_collective_is_apart(). */
#define GPUMON_NOT_SPLIT (~0ull)

/* Clocks of two GPUs differ by microseconds: who began less than this later was not late. */
#define GPUMON_LATE_NS 10000u

/* What a kernel does. From GPUMON_COLLECTIVE_BROADCAST on not each rank waits for each other one. */
enum gpumon_collective_kind {
	GPUMON_COLLECTIVE_UNKNOWN,
	GPUMON_COLLECTIVE_ALL, /* all-reduce, all-gather, reduce-scatter, all-to-all */
	GPUMON_COLLECTIVE_BROADCAST,
	GPUMON_COLLECTIVE_REDUCE,
	GPUMON_COLLECTIVE_GATHER,
	GPUMON_COLLECTIVE_SCATTER,
	GPUMON_COLLECTIVE_SEND, /* and receive */
	GPUMON_COLLECTIVE_KINDS
};

/**
 * struct gpumon_rank_row - what the collectives of a rank took
 * @process: number of its process
 * @device: id of its device there
 * @rank: number of the rank
 * @known: @rank is that of the job's launcher; otherwise the number of the process in order
 * @matched: kernels that are matched with those of other ranks
 * @unmatched: those that are not, though they could be
 * @alone: the part of @unmatched whose communicator no other rank has in these captures
 * @unnamed: the part of @matched of which nothing says what they do
 * @not_split: kernels in which not each rank waits for each other one, by kind
 * @communication_ns: what the shortest kernel of each matched collective took
 * @waiting_ns: what its own kernels took longer
 * @last: how often it began last, by more than GPUMON_LATE_NS
 * @late_ns: how long the first one had waited then, in all
 * @late_median_ns: the median of these times
 * @late_busy_ns: the part of @late_ns in which its GPU ran more than that of the first one
 * @clock_ns: what was added to its times, since its host has another clock
 * @clock_error_ns: by how much this may be wrong
 * @clock_moved: it has another clock
 */
struct gpumon_rank_row {
	uint32_t process;
	uint32_t device;
	uint32_t rank;
	bool known;
	uint64_t matched;
	uint64_t unmatched;
	uint64_t alone;
	uint64_t unnamed;
	uint64_t not_split[GPUMON_COLLECTIVE_KINDS];
	uint64_t communication_ns;
	uint64_t waiting_ns;
	uint64_t last;
	uint64_t late_ns;
	uint64_t late_median_ns;
	uint64_t late_busy_ns;
	int64_t clock_ns;
	uint64_t clock_error_ns;
	bool clock_moved;
};

/**
 * struct gpumon_collective - a kernel of a collective on one rank
 * @leaf: its node in the tree; NULL: none
 * @kernel: number of its name
 * @kind: enum gpumon_collective_kind
 * @shown: it counts, and does not only show which kernels are one collective
 */
struct gpumon_collective {
	uint64_t start_ns;
	uint64_t end_ns;
	struct gpumon_node *leaf;
	uint32_t process;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t kernel;
	uint32_t kind;
	bool shown;
};

/* The time of a rank between two collectives, by its own clock. */
struct gpumon_approach {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t process;
	uint32_t device;
};

/**
 * struct gpumon_lateness - a collective that one rank began later than another
 * @last: the time before it of the rank that began last
 * @first: of the one that began first
 * @stream: context << 32 | stream of the last one: that of the communicator
 * @late_ns: by how much it began later
 */
struct gpumon_lateness {
	uint64_t stream;
	uint64_t late_ns;
	struct gpumon_approach last;
	struct gpumon_approach first;
};

/**
 * struct gpumon_collectives - a zeroed one is empty
 * @at: kernels
 * @more: kernels beyond GPUMON_COLLECTIVES_MAX
 * @rows: by rank, once they are matched
 * @late: what ranks were late for
 */
struct gpumon_collectives {
	struct gpumon_collective *at;
	uint32_t used;
	uint32_t room;
	uint64_t more;
	struct gpumon_rank_row *rows;
	uint32_t row_count;
	uint32_t row_room;
	struct gpumon_lateness *late;
	uint32_t late_used;
	uint32_t late_room;
};

/**
 * struct gpumon_collectives_job - what matching asks about processes
 * @rank: the rank of a process, ~0 if unknown
 * @clock: a number that is the same for processes with one clock
 * @kernel: called with each matched kernel and the part of its time that is waiting, and with each
 *	that is not split and GPUMON_NOT_SPLIT
 * @data: passed to them
 */
struct gpumon_collectives_job {
	uint32_t (*rank)(void *data, uint32_t process);
	uint32_t (*clock)(void *data, uint32_t process);
	void (*kernel)(void *data, const struct gpumon_collective *kernel, uint64_t waiting_ns);
	void *data;
};

/* Whether a kernel with this demangled name is that of a collective. */
bool gpumon_collective_is(const char *name);
/* What a kernel with this demangled name does. */
enum gpumon_collective_kind gpumon_collective_of_kernel(const char *name);
/* What was called in an NVTX range of NCCL with this text. */
enum gpumon_collective_kind gpumon_collective_of_range(const char *text);
/* Whether ranks may be done before others have begun. */
bool gpumon_collective_is_apart(enum gpumon_collective_kind kind);
/* Number of the rank that others waited for most; @count: they waited for none. */
uint32_t gpumon_collectives_latest(const struct gpumon_rank_row *rows, uint32_t count);
void gpumon_collectives_add(struct gpumon_collectives *collectives,
			    const struct gpumon_collective *kernel);
/* All were added. Their order in @at changes. */
void gpumon_collectives_match(struct gpumon_collectives *collectives,
			      const struct gpumon_collectives_job *job);
/* Free all but the rows. */
void gpumon_collectives_free_kernels(struct gpumon_collectives *collectives);
void gpumon_collectives_clear(struct gpumon_collectives *collectives);

#endif /* GPUMON_REPORT_COLLECTIVES_H */
