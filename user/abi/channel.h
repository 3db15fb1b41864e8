/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Shared memory that the injection library in a target writes, and the recorder drains into files.
 * What a killed target wrote stays readable. If the recorder is killed, the target counts losses
 * and continues. Neither ever waits for the other.
 *
 * The recorder listens on the socket in GPUMON_SOCKET of the environment, or connects to the socket
 * of a dormant library. The library sends GPUMON_HELLO and gets GPUMON_SETTINGS with the descriptor
 * of the channel, a sealed memfd. From then on the two need the memory alone: the library asks the kernel
 * for nothing, because the program may have forbidden that, and the program may close the socket. The
 * recorder learns from /proc that the library is gone, the library from @recorder.
 *
 * A block belongs to the thread of the target that made it FILLING. The thread appends whole
 * records and stores @used with release order. The recorder may read up to @used at any time. It
 * frees a FULL block once it has read all of it, and sets @used to 0 before the state to FREE.
 * channel_writer.h and channel_reader.h are the two sides.
 */
#ifndef GPUMON_ABI_CHANNEL_H
#define GPUMON_ABI_CHANNEL_H

#include <stdint.h>

#include "format.h"

#define GPUMON_CHANNEL_MAGIC   0x31434d47u /* "GMC1" */
#define GPUMON_CHANNEL_VERSION 3

/*
 * So long the library waits for the answer to its hello, and with it the start of the program, while the
 * recorder lives. Then it listens.
 */
#define GPUMON_CHANNEL_ANSWER_MS 30000

#define GPUMON_BLOCK_SIZE (1u << 16)

/* The longest record for a channel: the room in a block. */
#define GPUMON_CHANNEL_RECORD_MAX (GPUMON_BLOCK_SIZE - 64)

enum gpumon_block_state {
	GPUMON_BLOCK_FREE = 0,
	GPUMON_BLOCK_FILLING = 1,
	GPUMON_BLOCK_FULL = 2,
};

/**
 * struct gpumon_block - head of a block of GPUMON_BLOCK_SIZE bytes, followed by records
 * @state: enum gpumon_block_state
 * @used: bytes of whole records after the head
 * @tid: thread that fills it
 * @reserved: 0
 * @sequence: order in which the channel's blocks were taken
 */
struct gpumon_block {
	uint32_t state;
	uint32_t used;
	uint32_t tid;
	uint32_t reserved;
	uint64_t sequence;
	uint64_t padding[5];
};

/* The recorder's command, which the library polls: run, or flush and stop. */
enum gpumon_channel_command {
	GPUMON_CHANNEL_RUN = 1,
	GPUMON_CHANNEL_STOP = 2,
};

/**
 * struct gpumon_channel - head of the shared memory; its blocks begin at GPUMON_BLOCK_SIZE
 * @magic: GPUMON_CHANNEL_MAGIC
 * @version: GPUMON_CHANNEL_VERSION
 * @blocks: number of blocks
 * @command: enum gpumon_channel_command, set by the recorder
 * @stopped: set by the library after its last record
 * @next_block: block where the library starts its search
 * @next_sequence: number of the next block that is taken
 * @lost: lost records, by enum gpumon_loss
 * @launches: as in struct gpumon_record_totals; kept up to date, so that it is correct after the
 *            target is killed
 * @freed: number of blocks that the recorder freed: if it did not change, another search is useless
 * @recorder: number of the recorder's thread. The kernel replaces it by FUTEX_OWNER_DIED when that ends,
 *            however it ends, and the recorder does when it leaves the channel. 0: where the kernel does
 *            not do so; then @beat is looked at, otherwise only after ten minutes without one
 * @beat: counted up by the recorder all the time
 * @sandbox: enum gpumon_channel_sandbox, set by the recorder
 * @looks: counted up by the recorder after it has set @sandbox
 */
struct gpumon_channel {
	uint32_t magic;
	uint32_t version;
	uint32_t blocks;
	uint32_t command;
	uint32_t stopped;
	uint32_t next_block;
	uint64_t next_sequence;
	uint64_t lost[32];
	uint64_t launches;
	uint64_t captured;
	uint64_t kernels;
	uint64_t copies;
	uint64_t sets;
	uint64_t device_bytes;
	uint64_t freed;
	uint32_t recorder;
	uint32_t beat;
	uint32_t sandbox;
	uint32_t looks;
};

/* Whether the target has forbidden itself system calls (seccomp) since its hello. */
enum gpumon_channel_sandbox {
	GPUMON_SANDBOX_UNKNOWN = 0,
	GPUMON_SANDBOX_NONE = 1,
	GPUMON_SANDBOX_NEW = 2,
};

/* Bit of @recorder, as in linux/futex.h. */
#define GPUMON_CHANNEL_RECORDER_GONE 0x40000000u

/* Without a beat for so long the recorder counts as gone, where @recorder does not say so. */
#define GPUMON_CHANNEL_BEAT_MS 10000

/*
 * Address of a dormant library, with uid and pid as the target sees them: in the abstract namespace
 * (of the target's network namespace, as in /proc/PID/net/unix), or with ".sock" appended as a file
 * in the folder GPUMON_LISTEN. Where the process has seccomp filters when the library begins to listen,
 * "-" and their number follow the pid: with more of them it must not be woken, because it may be ended for
 * its answer. The library sends GPUMON_HELLO on each connection, as it does when it connects itself.
 */
#define GPUMON_LISTEN_NAME "gpumon-%u-%u"

/* Messages on the socket, SOCK_SEQPACKET, one struct each. */
enum gpumon_message_type {
	GPUMON_HELLO = 1,    /* library to recorder */
	GPUMON_SETTINGS = 2, /* recorder to library, with the channel's descriptor */
	GPUMON_REFUSED = 3,  /* both ways, with a reason */
};

struct gpumon_message_hello {
	uint32_t type;
	uint32_t version; /* GPUMON_CHANNEL_VERSION */
	uint32_t pid;	  /* in the target's pid namespace */
	uint32_t tid; /* likewise, of the thread that sends this: the library lives as long as it */
	uint64_t monotonic_ns; /* CLOCK_MONOTONIC, which may be another one than the recorder's */
};

/* Bits that say what to record. */
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
#define GPUMON_RECORD_NO_TIMES	      (1u << 10) /* operations are counted, their times not asked for */
#define GPUMON_RECORD_YIELD	      (1u << 11) /* the program's own profiler goes first */
#define GPUMON_RECORD_BLOCKING	      (1u << 12) /* calls that wait for the GPU, and overhead */
#define GPUMON_RECORD_HW_TRACE	      (1u << 13) /* times from the GPU's own event system */
#define GPUMON_RECORD_PASSES	      (1u << 14) /* times inside of Vulkan's command buffers */
#define GPUMON_RECORD_BY_DEFAULT                                               \
	(GPUMON_RECORD_KERNELS | GPUMON_RECORD_COPIES | GPUMON_RECORD_STACKS | \
	 GPUMON_RECORD_PYTHON | GPUMON_RECORD_BLOCKING)

enum gpumon_window_kind {
	GPUMON_WINDOW_ALWAYS = 0,
	GPUMON_WINDOW_PROFILER = 1, /* between cudaProfilerStart() and cudaProfilerStop() */
	GPUMON_WINDOW_RANGE = 2,    /* while an NVTX range with that name is open */
};

/* How launches of graphs are recorded. */
enum gpumon_graphs {
	GPUMON_GRAPHS_NODES = 0, /* an operation for each node */
	GPUMON_GRAPHS_WINDOWS =
		1, /* likewise, but once there is a graph, operations come in windows */
	GPUMON_GRAPHS_WHOLE = 2, /* one operation for each launch */
};

/* Limits of an API's buffers in a process: of their memory, and of the number and size of the parts. */
#define GPUMON_BUFFER_MIB_MIN 4
#define GPUMON_BUFFER_MIB_MAX 4096
#define GPUMON_BUFFER_KIB_MIN 16
#define GPUMON_BUFFERS_MIN    4
#define GPUMON_BUFFERS_MAX    8192

/* How often waiting threads are looked at in a second. */
#define GPUMON_WAIT_HZ_DEFAULT 50
#define GPUMON_WAIT_HZ_MAX     1000

/* How often a GPU's multiprocessors are sampled: once in 2^n of their cycles. Limits are CUPTI's. */
#define GPUMON_STALLS_PERIOD_DEFAULT 16
#define GPUMON_STALLS_PERIOD_MIN     5
#define GPUMON_STALLS_PERIOD_MAX     31

/**
 * struct gpumon_message_settings - the recorder's settings
 * @type: GPUMON_SETTINGS
 * @version: GPUMON_CHANNEL_VERSION
 * @record: GPUMON_RECORD_* bits
 * @window: enum gpumon_window_kind
 * @flush_ms: how often what the API has complete is requested
 * @stack_depth: maximum number of frames
 * @buffer_mib: maximum memory for what an API reports, from GPUMON_BUFFER_MIB_MIN on
 * @sample: the stack of one of so many launches is taken, 0 and 1: of each
 * @range: name of the NVTX range, for @window
 * @graphs: enum gpumon_graphs
 * @operations_sampled: operations come in windows in any case
 * @window_ms: length of such a window
 * @period_ms: mean time from the start of one to that of the next
 * @buffer_kib: size of one of CUPTI's buffers, 0: the library's choice
 * @wait_hz: how often waiting threads are looked at in a second, 0: never
 * @clock_ns: to be added to all times of the target's CLOCK_MONOTONIC: it is in a time namespace
 * @metrics_interval_ns: distance of samples of a GPU's metrics, 0: none are taken
 * @stalls_period: why kernels stall is sampled once in 2^@stalls_period cycles, 0: never
 */
struct gpumon_message_settings {
	uint32_t type;
	uint32_t version;
	uint32_t record;
	uint32_t window;
	uint32_t flush_ms;
	uint32_t stack_depth;
	uint32_t buffer_mib;
	uint32_t sample;
	char range[128];
	uint32_t graphs;
	uint32_t operations_sampled;
	uint32_t window_ms;
	uint32_t period_ms;
	uint32_t buffer_kib;
	uint32_t wait_hz;
	int64_t clock_ns;
	uint32_t metrics_interval_ns;
	uint32_t stalls_period;
};

struct gpumon_message_refused {
	uint32_t type;
	uint32_t reserved;
	char why[248];
};

#endif /* GPUMON_ABI_CHANNEL_H */
