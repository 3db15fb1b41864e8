/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a capture is made of. The injection library writes records into shared
 * memory (channel.h), the recorder puts them into files as they are, and all
 * that reads captures reads them; Documentation/reference/capture-format.md describes it
 * for others. Little-endian, every record a multiple of 8 bytes.
 *
 * Times are CLOCK_MONOTONIC nanoseconds, 0 where not known. Ids of strings,
 * stacks and frames are a process's own, from 1 on; 0 is none. A thing is
 * defined before or after its use, in any thread's records: who reads has to
 * wait for either.
 */
#ifndef GPUMON_CAPTURE_FORMAT_H
#define GPUMON_CAPTURE_FORMAT_H

#include <stdint.h>

/* Grows when a reader of before would misread; types and fields at the end come without. */
#define GPUMON_CAPTURE_VERSION 1

/* "GPMC" */
#define GPUMON_CHUNK_MAGIC     0x434d5047u
#define GPUMON_CHUNK_SIZE_MAX  (1u << 20)
#define GPUMON_RECORD_SIZE_MAX (1u << 16)
#define GPUMON_STACK_DEPTH_MAX 512

/**
 * struct gpumon_chunk - in a file, before each piece of a thread's records
 * @magic: GPUMON_CHUNK_MAGIC
 * @version: GPUMON_CAPTURE_VERSION
 * @size: bytes of records behind it, whole ones
 * @crc: CRC-32 (zlib's) of this head with @crc 0, and of the records
 * @tid: writer, in the target's pid namespace; 0: the library's or recorder's own
 * @reserved: 0
 * @sequence: of the file's chunks, from 0 on: a gap is a loss
 */
struct gpumon_chunk {
	uint32_t magic;
	uint32_t version;
	uint32_t size;
	uint32_t crc;
	uint32_t tid;
	uint32_t reserved;
	uint64_t sequence;
};

enum gpumon_record_type {
	GPUMON_RECORD_PAD = 0, /* nothing */
	/* who and where */
	GPUMON_RECORD_PROCESS = 1,
	GPUMON_RECORD_THREAD = 2,
	GPUMON_RECORD_MAPPING = 3,
	GPUMON_RECORD_UNMAPPING = 4,
	GPUMON_RECORD_STRING = 5,
	GPUMON_RECORD_FRAME = 6,
	GPUMON_RECORD_STACK = 7,
	GPUMON_RECORD_DEVICE = 8,
	GPUMON_RECORD_CONTEXT = 9,
	GPUMON_RECORD_STREAM = 10,
	/* what the processor did */
	GPUMON_RECORD_LAUNCH = 20,
	GPUMON_RECORD_CALL = 21,
	GPUMON_RECORD_HIT = 22,
	GPUMON_RECORD_RANGE = 23,
	GPUMON_RECORD_GRAPH_NODE = 24,
	/* what the GPU did */
	GPUMON_RECORD_KERNEL = 40,
	GPUMON_RECORD_COPY = 41,
	GPUMON_RECORD_SET = 42,
	GPUMON_RECORD_SYNC = 43,
	GPUMON_RECORD_MEMORY = 44,
	GPUMON_RECORD_UNIFIED_MEMORY = 45,
	/* of the driver, by the module */
	GPUMON_RECORD_DRIVER_EVENT = 60,
	GPUMON_RECORD_ALERT = 61,
	/* of the capture itself */
	GPUMON_RECORD_LOSS = 80,
	GPUMON_RECORD_WINDOW = 81,
	GPUMON_RECORD_NOTE = 82,
	GPUMON_RECORD_TOTALS = 83,
};

/**
 * struct gpumon_record - head of each record
 * @type: enum gpumon_record_type; what is not known is skipped
 * @flags: by type
 * @size: bytes of the record with this head, a multiple of 8; a field beyond it is 0
 */
struct gpumon_record {
	uint16_t type;
	uint16_t flags;
	uint32_t size;
};

/**
 * struct gpumon_record_process - once, first
 * @pid: in its own pid namespace
 * @parent: its parent's, there
 * @host_pid: in the recorder's, 0 where not known
 * @rank: of a parallel job, by the launcher's environment; ~0 where there is none
 * @start_ns: when it started
 * @pid_namespace: inode number
 * @boot_id: /proc/sys/kernel/random/boot_id, as bytes
 * @host: name of the host, string id
 * @executable: path, string id
 * @command: arguments with blanks between, string id
 * @cgroup: path, string id
 * @cupti_version: as cuptiGetVersion, 0 where there is none
 * @driver_version: as cuDriverGetVersion
 * @runtime_version: as cudaRuntimeGetVersion
 */
struct gpumon_record_process {
	struct gpumon_record head;
	uint32_t pid;
	uint32_t parent;
	uint32_t host_pid;
	uint32_t rank;
	uint64_t start_ns;
	uint64_t pid_namespace;
	uint8_t boot_id[16];
	uint32_t host;
	uint32_t executable;
	uint32_t command;
	uint32_t cgroup;
	uint32_t cupti_version;
	uint32_t driver_version;
	uint32_t runtime_version;
	uint32_t reserved;
};

struct gpumon_record_thread {
	struct gpumon_record head;
	uint32_t tid;
	uint32_t name;	   /* string id */
	uint32_t host_tid; /* in the initial pid namespace, 0 where not known */
	uint32_t reserved;
};

#define GPUMON_BUILD_ID_SIZE 20

/**
 * struct gpumon_record_mapping - executable memory of a file, from a time on
 * @time_ns: when it was seen first; 0: at the process's begin
 * @start: address
 * @end: address behind it
 * @offset: in the file
 * @inode: of the file
 * @device: of the file, as stat has it
 * @path: string id
 * @build_id_size: bytes of @build_id, 0 without one
 * @build_id: the note's
 */
struct gpumon_record_mapping {
	struct gpumon_record head;
	uint64_t time_ns;
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint64_t device;
	uint32_t path;
	uint8_t build_id[GPUMON_BUILD_ID_SIZE];
	uint8_t build_id_size;
	uint8_t reserved[7];
};

struct gpumon_record_unmapping {
	struct gpumon_record head;
	uint64_t time_ns;
	uint64_t start;
	uint64_t end;
};

struct gpumon_record_string {
	struct gpumon_record head;
	uint32_t id;
	uint32_t length;
	char text[]; /* without an end */
};

enum gpumon_frame_kind {
	GPUMON_FRAME_PYTHON = 1,
};

/* A function that is no machine code, on a stack by its id. */
struct gpumon_record_frame {
	struct gpumon_record head;
	uint32_t id;
	uint16_t kind; /* enum gpumon_frame_kind */
	uint16_t reserved;
	uint32_t function; /* string id */
	uint32_t file;	   /* string id */
	uint32_t line;
	uint32_t first_line;
};

/* In stack frames: not an address but the id of a GPUMON_RECORD_FRAME. */
#define GPUMON_STACK_FRAME_ID (1ull << 63)

/* The walk ended before the stack did: too deep, or no rule how to go on. */
#define GPUMON_STACK_TRUNCATED 1u

/**
 * struct gpumon_record_stack - who called whom, the innermost first
 * @id: its id
 * @count: of @frames
 * @frames: return addresses (the first one an address within the call), or ids
 */
struct gpumon_record_stack {
	struct gpumon_record head;
	uint32_t id;
	uint32_t count;
	uint64_t frames[];
};

/**
 * struct gpumon_record_device - a GPU, or an instance of one
 * @id: CUDA's number in this process
 * @name: string id
 * @uuid: of the GPU
 * @mig_uuid: of the instance, 0 where there is none
 * @pci: domain << 16 | bus << 8 | device << 3, ~0 where not known
 * @multiprocessors: 0 where not known
 * @memory_bytes: 0 where not known
 * @compute_major: compute capability
 * @compute_minor: compute capability
 */
struct gpumon_record_device {
	struct gpumon_record head;
	uint32_t id;
	uint32_t name;
	uint8_t uuid[16];
	uint8_t mig_uuid[16];
	uint32_t pci;
	uint32_t multiprocessors;
	uint64_t memory_bytes;
	uint16_t compute_major;
	uint16_t compute_minor;
	uint32_t reserved;
};

#define GPUMON_CONTEXT_DESTROYED 1u

struct gpumon_record_context {
	struct gpumon_record head;
	uint64_t time_ns;
	uint32_t id;
	uint32_t device;
};

struct gpumon_record_stream {
	struct gpumon_record head;
	uint32_t context;
	uint32_t id;
	int32_t priority;
	uint32_t name; /* string id, 0 without one */
};

/* Launches and calls */
#define GPUMON_LAUNCH_CAPTURED 1u /* into a graph: no work of its own */
#define GPUMON_LAUNCH_GRAPH    2u /* of a graph: many kernels, one correlation id */
#define GPUMON_LAUNCH_COPY     4u
#define GPUMON_LAUNCH_SET      8u
#define GPUMON_LAUNCH_FAILED   16u

/**
 * struct gpumon_record_launch - an outermost call that gives the GPU something to do
 * @start_ns: begin of the call
 * @end_ns: its end
 * @tid: caller, in the target's pid namespace
 * @correlation: CUPTI's id, also in what the GPU did for it
 * @stack: id
 * @function: string id of its name, as cudaLaunchKernel_v7000
 * @context: 0 where not known
 * @result: what it returned
 */
struct gpumon_record_launch {
	struct gpumon_record head;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t tid;
	uint32_t correlation;
	uint32_t stack;
	uint32_t function;
	uint32_t context;
	int32_t result;
};

/* Any call of the API, where they are asked for; fields as of a launch. */
#define GPUMON_CALL_BLOCKING 1u /* waited for the GPU, as cudaStreamSynchronize */

struct gpumon_record_call {
	struct gpumon_record head;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t tid;
	uint32_t correlation;
	uint32_t function;
	uint32_t stack;
};

/* Of a hit's flags: a call that waits for the GPU, so that its return is probed too. */
#define GPUMON_HIT_BLOCKING 1u

/**
 * struct gpumon_record_hit - a uprobe on a function of the API
 * @time_ns: of the hit
 * @number: of this thread's hits, from 1 on, counted also where a record was lost
 * @tid: in the target's pid namespace
 * @function: string id, as cudaLaunchKernel
 * @stack: id
 * @duration_ns: of a blocking call, where its return was seen
 */
struct gpumon_record_hit {
	struct gpumon_record head;
	uint64_t time_ns;
	uint64_t number;
	uint64_t duration_ns;
	uint32_t tid;
	uint32_t function;
	uint32_t stack;
	uint32_t reserved;
};

enum gpumon_range_kind {
	GPUMON_RANGE_PUSH = 1,
	GPUMON_RANGE_POP = 2,
	GPUMON_RANGE_START = 3,
	GPUMON_RANGE_END = 4,
	GPUMON_RANGE_MARK = 5,
};

/* NVTX */
struct gpumon_record_range {
	struct gpumon_record head;
	uint64_t time_ns;
	uint64_t id; /* of start and end */
	uint32_t tid;
	uint32_t domain; /* string id, 0: the default one */
	uint32_t text;	 /* string id */
	uint32_t color;	 /* ARGB, 0: none */
	uint16_t kind;	 /* enum gpumon_range_kind */
	uint16_t reserved[3];
};

/**
 * struct gpumon_record_graph_node - a node of a graph, where it was made
 * @node: CUPTI's id of it
 * @original: of the node that it was cloned from, 0 for none
 * @graph: id
 * @stack: id: of the creation, 0 of a clone
 */
struct gpumon_record_graph_node {
	struct gpumon_record head;
	uint64_t node;
	uint64_t original;
	uint32_t graph;
	uint32_t stack;
};

/* What the GPU did */
#define GPUMON_WORK_UNFINISHED 1u /* without an end: still going on when the capture ended */
#define GPUMON_WORK_INTERNAL   2u /* launched by CUDA itself */
#define GPUMON_WORK_PAGEABLE   4u /* of a copy: memory that is not pinned */

/**
 * struct gpumon_record_kernel - a kernel
 * @start_ns: began to run
 * @end_ns: ended
 * @queued_ns: went into the queue, 0 unless asked for
 * @submitted_ns: left it, 0 unless asked for
 * @node: of a graph, 0 without one
 * @correlation: of its launch
 * @name: string id, mangled
 * @device: id
 * @context: id
 * @stream: id
 * @graph: id, 0 without one
 */
struct gpumon_record_kernel {
	struct gpumon_record head;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t queued_ns;
	uint64_t submitted_ns;
	uint64_t node;
	uint32_t correlation;
	uint32_t name;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t graph;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t static_shared_bytes;
	uint32_t dynamic_shared_bytes;
	uint32_t local_bytes;
	uint32_t registers;
};

enum gpumon_memory_place {
	GPUMON_PLACE_UNKNOWN = 0,
	GPUMON_PLACE_PAGEABLE = 1,
	GPUMON_PLACE_PINNED = 2,
	GPUMON_PLACE_DEVICE = 3,
	GPUMON_PLACE_ARRAY = 4,
	GPUMON_PLACE_MANAGED = 5,
	GPUMON_PLACE_PEER = 6,
};

/* A copy; as a kernel. */
struct gpumon_record_copy {
	struct gpumon_record head;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t bytes;
	uint64_t node;
	uint32_t correlation;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t graph;
	uint32_t to_device; /* the other one of a copy between two, else as @device */
	uint16_t from;	    /* enum gpumon_memory_place */
	uint16_t to;
	uint32_t reserved;
};

/* cudaMemset; as a kernel. */
struct gpumon_record_set {
	struct gpumon_record head;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t bytes;
	uint64_t node;
	uint32_t correlation;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t graph;
	uint32_t value;
};

/* A wait for the GPU, as CUPTI tells it. */
struct gpumon_record_sync {
	struct gpumon_record head;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t correlation;
	uint32_t context;
	uint32_t stream; /* ~0: of all */
	uint32_t kind;	 /* CUPTI's */
};

#define GPUMON_MEMORY_FREED 1u

struct gpumon_record_memory {
	struct gpumon_record head;
	uint64_t time_ns;
	uint64_t address;
	uint64_t bytes;
	uint32_t correlation;
	uint32_t device;
	uint32_t context;
	uint16_t place; /* enum gpumon_memory_place */
	uint16_t reserved;
};

struct gpumon_record_unified_memory {
	struct gpumon_record head;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t value; /* bytes; of faults of a GPU how many, of the CPU's where its code is */
	uint64_t address;
	uint32_t kind; /* CUPTI's counter */
	uint32_t from_device;
	uint32_t to_device;
	uint32_t reserved;
};

/* An event of the module's ring (kmod/uapi/gpumon_event.h) as it is there, behind this. */
struct gpumon_record_driver_event {
	struct gpumon_record head;
	uint32_t event_size;
	uint32_t row; /* string id: what the event's row is called */
	uint8_t event[];
};

struct gpumon_record_alert {
	struct gpumon_record head;
	uint64_t time_ns;
	uint32_t code;
	uint32_t device;  /* string id: bus address */
	uint32_t message; /* string id */
	uint32_t reserved;
};

enum gpumon_loss {
	GPUMON_LOSS_CHANNEL_FULL = 1,  /* the recorder did not empty it in time */
	GPUMON_LOSS_CUPTI_DROPPED = 2, /* CUPTI says so */
	GPUMON_LOSS_WITHHELD = 3,      /* launches whose work CUPTI had not told of when it ended */
	GPUMON_LOSS_NO_TIMESTAMP = 4,  /* work with start = end = 0 */
	GPUMON_LOSS_STACK_TABLE = 5,   /* stacks that found no place */
	GPUMON_LOSS_STRING_TABLE = 6,
	GPUMON_LOSS_UPROBE_RING = 7, /* hits */
	GPUMON_LOSS_UPROBE_STACK = 8,
	GPUMON_LOSS_DRIVER_RING = 9,	 /* events of the module, overwritten */
	GPUMON_LOSS_UNKNOWN_RECORD = 10, /* activity of a layout that is not known */
	GPUMON_LOSS_RECORDER = 11,	 /* records that could not be written: disk full */
	GPUMON_LOSS_INTERRUPTED = 12,	 /* by a signal handler amid another record of its thread */
	GPUMON_LOSS_BROKEN = 13,	 /* what a target left in the channel was no record */
	GPUMON_LOSS_TOO_LONG = 14,	 /* a record for which no block is big enough */
	GPUMON_LOSS_CAUSES
};

/* So many more were lost for this cause since the last such record. */
struct gpumon_record_loss {
	struct gpumon_record head;
	uint64_t time_ns;
	uint64_t count;
	uint32_t cause; /* enum gpumon_loss */
	uint32_t reserved;
};

#define GPUMON_WINDOW_END 1u

/* Recording began, or ended: by option, socket, cudaProfilerStart or an NVTX range. */
struct gpumon_record_window {
	struct gpumon_record head;
	uint64_t time_ns;
	uint32_t reason; /* string id */
	uint32_t reserved;
};

/* In a note's flags: for that reason nothing of the GPU is recorded. */
#define GPUMON_NOTE_NO_GPU 1u
/* For that reason something is missing that was asked for: a process, an end, a kind of records. */
#define GPUMON_NOTE_MISSING 2u

/* Something that a person should know of this capture: no CUPTI because, ... */
struct gpumon_record_note {
	struct gpumon_record head;
	uint64_t time_ns;
	uint32_t text; /* string id */
	uint32_t reserved;
};

/**
 * struct gpumon_record_totals - counted independently of records, so that a reader can compare
 * @launches: calls of launch functions, those captured into graphs not among them
 * @captured: launches captured into graphs
 * @kernels: kernels that CUPTI told of
 * @copies: copies
 * @sets: memsets
 * @device_bytes: CUPTI's own memory on the GPU
 */
struct gpumon_record_totals {
	struct gpumon_record head;
	uint64_t time_ns;
	uint64_t launches;
	uint64_t captured;
	uint64_t kernels;
	uint64_t copies;
	uint64_t sets;
	uint64_t device_bytes;
};

#endif /* GPUMON_CAPTURE_FORMAT_H */
