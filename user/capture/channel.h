/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The shared memory between the injection library in a target, which writes,
 * and the recorder, which empties it into files. A target that is killed leaves
 * what it wrote; a recorder that is killed leaves a target that counts losses
 * and goes on. Neither ever waits for the other.
 *
 * The recorder listens on a socket, GPUMON_SOCKET in the environment (or connects to the
 * one on which a dormant library listens). The library says GPUMON_HELLO, gets
 * GPUMON_SETTINGS with the descriptor of the channel, a sealed memfd, and each
 * side notices that the other is gone when the socket ends.
 *
 * A block belongs to who made it FILLING, one thread of the target; it appends
 * whole records and stores @used with release order. The recorder may read up
 * to @used at any time, and frees a block that is FULL once it has all of it: @used
 * is 0 before it is FREE. channel_writer.h and channel_reader.h are the two sides.
 */
#ifndef GPUMON_CAPTURE_CHANNEL_H
#define GPUMON_CAPTURE_CHANNEL_H

#include <stdint.h>

#include "format.h"

#define GPUMON_CHANNEL_MAGIC   0x31434d47u /* "GMC1" */
#define GPUMON_CHANNEL_VERSION 1

#define GPUMON_BLOCK_SIZE (1u << 16)

/* The longest record that can go through a channel: a block's room. */
#define GPUMON_CHANNEL_RECORD_MAX (GPUMON_BLOCK_SIZE - 64)

enum gpumon_block_state {
	GPUMON_BLOCK_FREE = 0,
	GPUMON_BLOCK_FILLING = 1,
	GPUMON_BLOCK_FULL = 2,
};

/**
 * struct gpumon_block - head of a block of GPUMON_BLOCK_SIZE bytes, records behind it
 * @state: enum gpumon_block_state
 * @used: bytes of whole records behind the head
 * @tid: whose it is
 * @reserved: 0
 * @sequence: when it was taken, of all blocks of the channel
 */
struct gpumon_block {
	uint32_t state;
	uint32_t used;
	uint32_t tid;
	uint32_t reserved;
	uint64_t sequence;
	uint64_t padding[5];
};

/* Times the library finds this set: it should flush and stop, or begin. */
enum gpumon_channel_command {
	GPUMON_CHANNEL_RUN = 1,
	GPUMON_CHANNEL_STOP = 2,
};

/**
 * struct gpumon_channel - head of the shared memory, its blocks follow at GPUMON_BLOCK_SIZE
 * @magic: GPUMON_CHANNEL_MAGIC
 * @version: GPUMON_CHANNEL_VERSION
 * @blocks: how many
 * @command: enum gpumon_channel_command, by the recorder
 * @stopped: by the library: it has written all that there will be
 * @next_block: where the library looks first
 * @next_sequence: number of the next block taken
 * @lost: records that found no place, by enum gpumon_loss
 * @launches: as struct gpumon_record_totals, kept up to date while the target runs, so that
 *            they are right also where it is killed
 * @freed: blocks that the recorder has freed: without a new one, looking again is no use
 */
struct gpumon_channel {
	uint32_t magic;
	uint32_t version;
	uint32_t blocks;
	uint32_t command;
	uint32_t stopped;
	uint32_t next_block;
	uint64_t next_sequence;
	uint64_t lost[16];
	uint64_t launches;
	uint64_t captured;
	uint64_t kernels;
	uint64_t copies;
	uint64_t sets;
	uint64_t device_bytes;
	uint64_t freed;
};

/*
 * Where a dormant library listens: uid and pid as the target itself sees them. In the abstract
 * name space (of the target's network namespace, as /proc/PID/net/unix shows it), or, with
 * ".sock" behind, as a file in the folder that its GPUMON_LISTEN names. As soon as somebody
 * connects, the library says GPUMON_HELLO, as where it connects itself.
 */
#define GPUMON_LISTEN_NAME "gpumon-%u-%u"

/* Messages on the socket: SOCK_SEQPACKET, one struct each. */
enum gpumon_message_type {
	GPUMON_HELLO = 1,    /* library to recorder */
	GPUMON_SETTINGS = 2, /* recorder to library, with the channel's descriptor */
	GPUMON_REFUSED = 3,  /* either way, with a text why */
};

struct gpumon_message_hello {
	uint32_t type;
	uint32_t version; /* GPUMON_CHANNEL_VERSION */
	uint32_t pid;	  /* in the target's pid namespace */
	uint32_t reserved;
};

/* What is recorded */
#define GPUMON_RECORD_KERNELS	      (1u << 0)
#define GPUMON_RECORD_COPIES	      (1u << 1)
#define GPUMON_RECORD_STACKS	      (1u << 2)
#define GPUMON_RECORD_SYNCHRONISATION (1u << 3)
#define GPUMON_RECORD_ALLOCATIONS     (1u << 4)
#define GPUMON_RECORD_UNIFIED	      (1u << 5)
#define GPUMON_RECORD_RANGES	      (1u << 6)
#define GPUMON_RECORD_ALL_CALLS	      (1u << 7)
#define GPUMON_RECORD_LATENCY	      (1u << 8) /* queued and submitted times */
#define GPUMON_RECORD_PYTHON	      (1u << 9)
#define GPUMON_RECORD_BY_DEFAULT \
	(GPUMON_RECORD_KERNELS | GPUMON_RECORD_COPIES | GPUMON_RECORD_STACKS | GPUMON_RECORD_PYTHON)

enum gpumon_window_kind {
	GPUMON_WINDOW_ALWAYS = 0,
	GPUMON_WINDOW_PROFILER = 1, /* between cudaProfilerStart and cudaProfilerStop */
	GPUMON_WINDOW_RANGE = 2,    /* while an NVTX range of the name is open */
};

/**
 * struct gpumon_message_settings - what the recorder wants
 * @type: GPUMON_SETTINGS
 * @version: GPUMON_CHANNEL_VERSION
 * @record: GPUMON_RECORD_* bits
 * @window: enum gpumon_window_kind
 * @flush_ms: how often CUPTI is asked for what is complete
 * @stack_depth: frames at most
 * @buffer_mib: CUPTI's buffers in all, at most
 * @range: name of the NVTX range, with @window
 */
struct gpumon_message_settings {
	uint32_t type;
	uint32_t version;
	uint32_t record;
	uint32_t window;
	uint32_t flush_ms;
	uint32_t stack_depth;
	uint32_t buffer_mib;
	uint32_t reserved;
	char range[128];
};

struct gpumon_message_refused {
	uint32_t type;
	uint32_t reserved;
	char why[248];
};

#endif /* GPUMON_CAPTURE_CHANNEL_H */
