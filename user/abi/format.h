/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The records of a capture. The injection library writes them into shared memory (channel.h), and
 * the recorder copies them into files. Documentation/reference/capture-format.md describes the
 * format for other programs. It is little-endian, and the size of every record is a multiple of 8
 * bytes.
 *
 * Times are CLOCK_MONOTONIC nanoseconds, 0 if unknown. Every process has its own ids of strings,
 * stacks and frames, from 1 on; 0 means none. An object may be defined before or after its use, in
 * any thread's records, so a reader must handle both.
 */
#ifndef GPUMON_ABI_FORMAT_H
#define GPUMON_ABI_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Incremented if old readers would misread the data. New types and fields at the end do not count.
 */
#define GPUMON_CAPTURE_VERSION 2

/* Versions of chunks: with records as they are, and with packed records (pack.h). */
#define GPUMON_CHUNK_PLAIN  1
#define GPUMON_CHUNK_PACKED 2

/* "GPMC" */
#define GPUMON_CHUNK_MAGIC     0x434d5047u
#define GPUMON_CHUNK_SIZE_MAX  (1u << 20)
#define GPUMON_RECORD_SIZE_MAX (1u << 16)
#define GPUMON_STACK_DEPTH_MAX 512

/**
 * struct gpumon_chunk - in a file, head of a chunk of one thread's records
 * @magic: GPUMON_CHUNK_MAGIC
 * @version: GPUMON_CHUNK_PLAIN or GPUMON_CHUNK_PACKED
 * @size: bytes that follow, a multiple of 8
 * @crc: CRC-32 (as in zlib) of this head with @crc 0, and of the records
 * @tid: writing thread in the target's pid namespace; 0: the library or the recorder
 * @unpacked: bytes of the packed records, a multiple of 8; plain: 0
 * @sequence: number in the file, from 0 on: a gap is a loss
 */
struct gpumon_chunk {
	uint32_t magic;
	uint32_t version;
	uint32_t size;
	uint32_t crc;
	uint32_t tid;
	uint32_t unpacked;
	uint64_t sequence;
};

enum gpumon_record_type {
	GPUMON_RECORD_PAD = 0, /* padding */
	/* processes, threads and code */
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
	GPUMON_RECORD_API = 11,
	GPUMON_RECORD_CLOCK = 12,
	/* on the CPU */
	GPUMON_RECORD_LAUNCH = 20,
	GPUMON_RECORD_CALL = 21,
	GPUMON_RECORD_HIT = 22,
	GPUMON_RECORD_RANGE = 23,
	GPUMON_RECORD_GRAPH_NODE = 24,
	GPUMON_RECORD_WAIT = 25,
	GPUMON_RECORD_SWAPCHAIN = 26,
	GPUMON_RECORD_PRESENT = 27,
	GPUMON_RECORD_SHOWN = 28,
	/* on the GPU */
	GPUMON_RECORD_KERNEL = 40,
	GPUMON_RECORD_COPY = 41,
	GPUMON_RECORD_SET = 42,
	GPUMON_RECORD_SYNC = 43,
	GPUMON_RECORD_MEMORY = 44,
	GPUMON_RECORD_UNIFIED_MEMORY = 45,
	GPUMON_RECORD_GRAPH = 46,
	GPUMON_RECORD_OVERHEAD = 47,
	GPUMON_RECORD_STALLS = 48,
	GPUMON_RECORD_STALL_TOTALS = 49,
	GPUMON_RECORD_METRIC_SET = 50,
	GPUMON_RECORD_METRIC_SAMPLE = 51,
	/* driver events of the module */
	GPUMON_RECORD_DRIVER_EVENT = 60,
	GPUMON_RECORD_ALERT = 61,
	/* about the capture */
	GPUMON_RECORD_LOSS = 80,
	GPUMON_RECORD_WINDOW = 81,
	GPUMON_RECORD_NOTE = 82,
	GPUMON_RECORD_TOTALS = 83,
	GPUMON_RECORD_DROPPED = 84,
};

/**
 * struct gpumon_record - head of each record
 * @type: enum gpumon_record_type; unknown types are skipped
 * @flags: depends on the type
 * @size: bytes of the record with this head, a multiple of 8; fields beyond it are 0
 */
struct gpumon_record {
	uint16_t type;
	uint16_t flags;
	uint32_t size;
};

/*
 * An API for GPUs. Ids of devices, contexts, streams and graphs have it in their upper 8 bits, so that
 * two APIs of one process never share one. Correlation ids are of one API: those of a launch are those
 * of its context. A capture of before there was a second API has none of these bits set.
 */
enum gpumon_api {
	GPUMON_API_CUDA = 0,
	GPUMON_API_OPENCL = 1,
	GPUMON_API_LEVEL_ZERO = 2,
	GPUMON_API_HIP = 3,
	GPUMON_API_VULKAN = 4,
	GPUMON_API_OPENGL = 5,
	GPUMON_APIS
};

#define GPUMON_API_SHIFT 24
/* The API of an id, and the number that remains. */
#define GPUMON_API_OF(id)    ((uint32_t)(id) >> GPUMON_API_SHIFT)
#define GPUMON_NUMBER_OF(id) ((uint32_t)(id) & ((1u << GPUMON_API_SHIFT) - 1))

/**
 * struct gpumon_record_process - the process, once and first
 * @pid: pid in its own pid namespace
 * @parent: pid of its parent in the same namespace
 * @host_pid: pid in the recorder's pid namespace, 0 if unknown
 * @rank: rank in a parallel job, from the launcher's environment; ~0 if there is none
 * @start_ns: start time
 * @pid_namespace: inode number
 * @boot_id: /proc/sys/kernel/random/boot_id as bytes
 * @host: string id of the host name
 * @executable: string id of the path
 * @command: string id of the arguments, separated by blanks
 * @cgroup: string id of the path
 * @cupti_version: as from cuptiGetVersion(), 0 without CUPTI
 * @driver_version: as from cuDriverGetVersion()
 * @runtime_version: as from cudaRuntimeGetVersion()
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
	uint32_t host_tid; /* in the initial pid namespace, 0 if unknown */
	uint32_t reserved;
};

#define GPUMON_BUILD_ID_SIZE 20

/**
 * struct gpumon_record_mapping - executable memory, from a time on
 * @time_ns: time when it was first seen; 0: from the start of the process
 * @start: address
 * @end: address after it
 * @offset: offset in the file
 * @inode: inode of the file
 * @device: device of the file, as from stat()
 * @path: string id of the path
 * @build_id_size: bytes of @build_id, 0 without one
 * @build_id: build id from the file's note
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
	char text[]; /* not NUL-terminated */
};

enum gpumon_frame_kind {
	GPUMON_FRAME_PYTHON = 1,
};

/* A function that is not machine code. Stacks refer to it by its id. */
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

/* Bit of a stack frame: it is the id of a GPUMON_RECORD_FRAME instead of an address. */
#define GPUMON_STACK_FRAME_ID (1ull << 63)

/* The stack walk ended early: too deep, or no unwind rule. */
#define GPUMON_STACK_TRUNCATED 1u

/**
 * struct gpumon_record_stack - a call stack, the innermost frame first
 * @id: its id
 * @count: number of @frames
 * @frames: return addresses (the first one may be any address in the call), or ids
 */
struct gpumon_record_stack {
	struct gpumon_record head;
	uint32_t id;
	uint32_t count;
	uint64_t frames[];
};

/**
 * struct gpumon_record_api - an API that the process uses; one for each platform of OpenCL
 * @api: enum gpumon_api
 * @name: string id of its name
 * @version: string id of its version, as the API says it
 * @platform: string id of the implementation's name, 0 where an API has only one
 */
struct gpumon_record_api {
	struct gpumon_record head;
	uint32_t api;
	uint32_t name;
	uint32_t version;
	uint32_t platform;
};

enum gpumon_device_type {
	GPUMON_DEVICE_GPU = 0,
	GPUMON_DEVICE_CPU = 1,
	GPUMON_DEVICE_ACCELERATOR = 2,
	GPUMON_DEVICE_OTHER = 3,
};

/**
 * struct gpumon_record_device - a GPU, a MIG instance, or what else an API computes on
 * @id: the API's device number in this process
 * @name: string id of the name
 * @uuid: UUID of the GPU
 * @mig_uuid: UUID of the instance, 0 if there is none
 * @pci: domain << 16 | bus << 8 | device << 3, ~0 if unknown
 * @multiprocessors: 0 if unknown; compute units of OpenCL
 * @memory_bytes: 0 if unknown
 * @compute_major: compute capability
 * @compute_minor: compute capability
 * @type: enum gpumon_device_type
 * @vendor: string id of the vendor's name, 0 if unknown
 * @driver: string id of the driver's version, 0 if unknown
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
	uint32_t type;
	uint32_t vendor;
	uint32_t driver;
};

/* How the times of a device became CLOCK_MONOTONIC. */
enum gpumon_clock_source {
	GPUMON_CLOCK_UNKNOWN = 0, /* measured against the calls that queued its operations */
	GPUMON_CLOCK_MONOTONIC = 1,
	GPUMON_CLOCK_MONOTONIC_RAW = 2,
	GPUMON_CLOCK_BOOTTIME = 3,
	GPUMON_CLOCK_REALTIME = 4,
};

/**
 * struct gpumon_record_clock - the clock of a device, from a time on
 * @time_ns: when it was measured; operations recorded later have times by it
 * @offset_ns: what was added to times of the device
 * @error_ns: by how much the result may be wrong; ~0: not known
 * @device: id
 * @source: enum gpumon_clock_source
 */
struct gpumon_record_clock {
	struct gpumon_record head;
	uint64_t time_ns;
	int64_t offset_ns;
	uint64_t error_ns;
	uint32_t device;
	uint32_t source;
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

/* Launches and calls. */
#define GPUMON_LAUNCH_CAPTURED 1u /* captured into a graph, not executed */
#define GPUMON_LAUNCH_GRAPH    2u /* of a graph: many kernels with one correlation id */
#define GPUMON_LAUNCH_COPY     4u
#define GPUMON_LAUNCH_SET      8u
#define GPUMON_LAUNCH_FAILED   16u
/* Left out by --sample, so that its stack is not known. */
#define GPUMON_LAUNCH_UNSAMPLED 32u
/*
 * The call waits for the GPU: it returns when its operation has ended, and a copy from the host at least
 * when what was queued before has ended and the host's memory was read.
 */
#define GPUMON_LAUNCH_WAITS 64u

/**
 * struct gpumon_record_launch - an outermost call that starts GPU work
 * @start_ns: beginning of the call
 * @end_ns: end of the call
 * @tid: calling thread in the target's pid namespace
 * @correlation: the API's correlation id, also in its GPU operations
 * @stack: id of the stack
 * @function: string id of its name, such as cudaLaunchKernel_v7000
 * @context: 0 if unknown
 * @result: return value
 * @graph: of a graph: its id, as in the kernels of its nodes; 0 if unknown
 * @name: of a kernel: string id of its mangled name, 0 if the call does not say it. Launches of which
 *        neither is known have shorter records, without both
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
	uint32_t graph;
	uint32_t name;
};

/* Bytes of the record of a launch without @graph and @name. */
#define GPUMON_LAUNCH_SIZE offsetof(struct gpumon_record_launch, graph)

/*
 * A call that waits for the GPU, or any API call, if all were requested. The fields are those of a
 * launch.
 */
#define GPUMON_CALL_BLOCKING 1u /* waited for the GPU, such as cudaStreamSynchronize */

struct gpumon_record_call {
	struct gpumon_record head;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t tid;
	uint32_t correlation;
	uint32_t function;
	uint32_t stack;
	uint32_t context;
	uint32_t reserved;
};

/* Bit of the flags of a hit: the call waits for the GPU, so that its return is probed, too. */
#define GPUMON_HIT_BLOCKING 1u

/**
 * struct gpumon_record_hit - a hit of a uprobe on an API function
 * @time_ns: time of the hit
 * @number: number of the hit in this thread, from 1 on; lost records count, too
 * @tid: thread in the target's pid namespace
 * @function: string id of its name, such as cudaLaunchKernel
 * @stack: id of the stack
 * @duration_ns: duration of a blocking call, if its return was seen
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

/* What a thread was found doing. */
enum gpumon_wait_kind {
	GPUMON_WAIT_UNKNOWN = 0, /* blocked, and nothing says where */
	GPUMON_WAIT_RUNNING = 1, /* on a CPU, or ready for one */
	GPUMON_WAIT_FUTEX = 2,	 /* a lock, a condition variable, a join of a thread */
	GPUMON_WAIT_SLEEP = 3,
	GPUMON_WAIT_READ = 4,  /* also recv, accept and the like */
	GPUMON_WAIT_WRITE = 5, /* also send and connect */
	GPUMON_WAIT_POLL = 6,  /* poll, select, epoll */
	GPUMON_WAIT_CHILD = 7,
	GPUMON_WAIT_FAULT = 8, /* a page fault, or another wait outside of a system call */
	GPUMON_WAIT_OTHER = 9, /* another system call */
	GPUMON_WAIT_KINDS
};

/* Purpose of a read or write. */
enum gpumon_file_kind {
	GPUMON_FILE_UNKNOWN = 0,
	GPUMON_FILE_REGULAR = 1,
	GPUMON_FILE_PIPE = 2,
	GPUMON_FILE_SOCKET = 3,
	GPUMON_FILE_DEVICE = 4, /* a terminal as well */
	GPUMON_FILE_OTHER = 5,
	GPUMON_FILE_KINDS
};

/**
 * struct gpumon_record_wait - looks at a thread, in a row, that found it in the same state
 * @start_ns: the first of these looks
 * @end_ns: the last of them. A thread that was blocked did not run in between
 * @period_ns: distance of looks at this thread: each of them stands for this time
 * @tid: thread in the target's pid namespace
 * @stack: id of the stack; 0 where it could not be read. That of a running thread is taken right after the look.
 *	   Its first frame is the begin of its function; where the stack is truncated, as at functions of Python,
 *	   what is outward of it is known only from the calls before and after
 * @looks: number of looks
 * @kind: enum gpumon_wait_kind
 * @file: enum gpumon_file_kind, of a read or a write
 * @call: number of the system call, ~0 outside of one
 */
struct gpumon_record_wait {
	struct gpumon_record head;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t period_ns;
	uint32_t tid;
	uint32_t stack;
	uint32_t looks;
	uint16_t kind;
	uint16_t file;
	uint32_t call;
	uint32_t reserved;
};

/**
 * struct gpumon_record_swapchain - what a program presents images with: a swapchain of Vulkan, a surface of EGL,
 *				    a drawable of GLX
 * @time_ns: when it was made, or first seen
 * @id: its number in this process, from 1 on, with the API in the upper bits
 * @old: the swapchain that it takes the place of, 0 without one
 * @width: of its images, 0 if unknown
 * @height: of its images, 0 if unknown
 * @images: number of its images, 0 if unknown
 * @mode: VkPresentModeKHR of Vulkan, ~0 if unknown
 */
struct gpumon_record_swapchain {
	struct gpumon_record head;
	uint64_t time_ns;
	uint32_t id;
	uint32_t old;
	uint32_t width;
	uint32_t height;
	uint32_t images;
	uint32_t mode;
};

/* The call failed, or this swapchain's part of it: there is no new image. */
#define GPUMON_PRESENT_FAILED 1u

/**
 * struct gpumon_record_present - an image was handed to the display: the end of a frame
 * @start_ns: beginning of the call, such as vkQueuePresentKHR() and eglSwapBuffers()
 * @end_ns: end of the call
 * @present: the program's number of it (VK_KHR_present_id), 0 without one
 * @swapchain: id
 * @number: which present of this swapchain it is, from 1 on; lost records count, too
 * @tid: calling thread in the target's pid namespace
 * @stack: id of the stack
 * @function: string id of its name
 * @image: which image of the swapchain, ~0 if unknown
 * @correlation: that of the call's own record, 0 without one
 * @result: of this swapchain
 */
struct gpumon_record_present {
	struct gpumon_record head;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t present;
	uint32_t swapchain;
	uint32_t number;
	uint32_t tid;
	uint32_t stack;
	uint32_t function;
	uint32_t image;
	uint32_t correlation;
	int32_t result;
};

/* A call that waits for the image returned then: it may have been on the screen before. */
#define GPUMON_SHOWN_LATEST 1u

/**
 * struct gpumon_record_shown - when an image was on the screen, as the driver says
 * @shown_ns: time
 * @present: @present of struct gpumon_record_present, 0 if @number is known instead
 * @swapchain: id
 * @number: @number of struct gpumon_record_present, 0 if @present is known instead
 */
struct gpumon_record_shown {
	struct gpumon_record head;
	uint64_t shown_ns;
	uint64_t present;
	uint32_t swapchain;
	uint32_t number;
};

enum gpumon_range_kind {
	GPUMON_RANGE_PUSH = 1,
	GPUMON_RANGE_POP = 2,
	GPUMON_RANGE_START = 3,
	GPUMON_RANGE_END = 4,
	GPUMON_RANGE_MARK = 5,
};

/* NVTX ranges. */
struct gpumon_record_range {
	struct gpumon_record head;
	uint64_t time_ns;
	uint64_t id; /* of start and end */
	uint32_t tid;
	uint32_t domain; /* string id, 0: the default domain */
	uint32_t text;	 /* string id */
	uint32_t color;	 /* ARGB, 0: none */
	uint16_t kind;	 /* enum gpumon_range_kind */
	uint16_t reserved[3];
};

/**
 * struct gpumon_record_graph_node - the creation of a graph node
 * @node: the API's id of the node
 * @original: id of the node that it was cloned from, or 0
 * @graph: id of the graph
 * @stack: id of the creation's stack, 0 for a clone
 */
struct gpumon_record_graph_node {
	struct gpumon_record head;
	uint64_t node;
	uint64_t original;
	uint32_t graph;
	uint32_t stack;
};

/* GPU operations. */
#define GPUMON_WORK_UNFINISHED 1u  /* no end: still running when the capture ended */
#define GPUMON_WORK_INTERNAL   2u  /* launched by CUDA itself */
#define GPUMON_WORK_PAGEABLE   4u  /* a copy with memory that is not pinned */
#define GPUMON_WORK_FAILED     8u  /* the API reports an error of it; its times are 0 */
#define GPUMON_WORK_UNTIMED    16u /* done, but the API was not asked for times, or has none */
#define GPUMON_WORK_BAD_TIMES  32u /* done, but with times that are not possible; they are 0 */

/**
 * struct gpumon_record_kernel - a kernel
 * @start_ns: start of execution
 * @end_ns: end of execution
 * @queued_ns: time when it was queued, 0 if not requested
 * @submitted_ns: time when it was submitted, 0 if not requested
 * @node: id of the graph node, or 0
 * @correlation: correlation id of its launch
 * @name: string id of the mangled name
 * @device: id of the device
 * @context: id of the context
 * @stream: id of the stream; a queue of OpenCL
 * @graph: id of the graph, or 0; a command buffer of OpenCL
 * @grid: number of blocks, 0 if unknown
 * @block: size of a block; 0 where OpenCL's driver chose it
 * @global: number of work-items of OpenCL; CUDA's records end before it
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
	uint64_t global[3];
};

/* A kernel's record without @global. */
#define GPUMON_KERNEL_SIZE offsetof(struct gpumon_record_kernel, global)

enum gpumon_memory_place {
	GPUMON_PLACE_UNKNOWN = 0,
	GPUMON_PLACE_PAGEABLE = 1,
	GPUMON_PLACE_PINNED = 2,
	GPUMON_PLACE_DEVICE = 3,
	GPUMON_PLACE_ARRAY = 4,
	GPUMON_PLACE_MANAGED = 5,
	GPUMON_PLACE_PEER = 6,
};

/* Purpose of a copy. */
enum gpumon_copy_kind {
	GPUMON_COPY_PLAIN = 0,
	GPUMON_COPY_MAP = 1,   /* the host can use the memory from then on */
	GPUMON_COPY_UNMAP = 2, /* it no longer can */
	GPUMON_COPY_MIGRATE = 3,
};

/* A copy, with fields as for a kernel. */
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
	uint32_t to_device; /* the other device of a copy between two, otherwise as @device */
	uint16_t from;	    /* enum gpumon_memory_place */
	uint16_t to;
	uint32_t kind; /* enum gpumon_copy_kind */
};

/* A memset, with fields as for a kernel. */
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

/* A launch of a graph as one operation, if nodes are not recorded. Fields as for a kernel. */
struct gpumon_record_graph {
	struct gpumon_record head;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t correlation;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t graph;
	uint32_t reserved;
};

/* Object of a wait, in struct gpumon_record_sync. */
enum gpumon_sync_kind {
	GPUMON_SYNC_EVENT = 1,
	GPUMON_SYNC_STREAM_FOR_EVENT = 2, /* on the GPU: the CPU does not wait */
	GPUMON_SYNC_STREAM = 3,
	GPUMON_SYNC_CONTEXT = 4,
};

/* A wait for the GPU, as reported by the API. */
struct gpumon_record_sync {
	struct gpumon_record head;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t correlation;
	uint32_t context;
	uint32_t stream; /* ~0: all streams */
	uint32_t kind;	 /* enum gpumon_sync_kind */
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
	uint64_t value; /* bytes; GPU faults: their number; CPU faults: the code address */
	uint64_t address;
	uint32_t kind; /* CUPTI's counter */
	uint32_t from_device;
	uint32_t to_device;
	uint32_t reserved;
};

/* What the time of a GPUMON_RECORD_OVERHEAD was for. */
enum gpumon_overhead_kind {
	GPUMON_OVERHEAD_OTHER = 0,
	GPUMON_OVERHEAD_COMPILER = 1,	      /* the driver compiles */
	GPUMON_OVERHEAD_MODULE_LOADING = 2,   /* a call of the runtime loads a module */
	GPUMON_OVERHEAD_FUNCTION_LOADING = 3, /* a function is loaded at its first launch */
	GPUMON_OVERHEAD_QUEUE_FULL = 4,	      /* a launch waits for room in the command buffer */
	GPUMON_OVERHEAD_PROFILER = 5,	      /* CUPTI: its start, its resources, its buffers */
	GPUMON_OVERHEAD_UNIFIED_MEMORY = 6,   /* unified memory is set up */
	GPUMON_OVERHEAD_KINDS
};

/**
 * struct gpumon_record_overhead - time that the API or its driver took for something else than work
 * @start_ns: begin
 * @end_ns: end
 * @correlation: that of the call in which it was, 0 if unknown
 * @tid: thread in which it was, 0 if unknown
 * @kind: enum gpumon_overhead_kind
 */
struct gpumon_record_overhead {
	struct gpumon_record head;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t correlation;
	uint32_t tid;
	uint32_t kind;
	uint32_t reserved;
};

/* Samples of one reason, a part of a GPUMON_RECORD_STALLS. */
struct gpumon_stall {
	uint32_t reason; /* string id */
	uint32_t samples;
};

/**
 * struct gpumon_record_stalls - samples of the program counter at one instruction of a kernel
 * @time_ns: when they were read: since the last read
 * @module: CUPTI's CRC of the cubin
 * @device: id of the device
 * @context: id of the context
 * @name: string id of the function's mangled name
 * @offset: bytes from the begin of the function to the instruction
 * @file: string id of the path of the source file, 0 if unknown
 * @line: line in @file, 0 if unknown
 * @count: number of @stall
 * @stall: samples by reason. A reason has CUPTI's name, such as
 *	   smsp__pcsamp_warps_issue_stalled_long_scoreboard. With _not_issued at its end, it is those of the
 *	   samples of the name before it in which the warp's scheduler issued nothing
 *
 * Samples belong to a kernel, not to a launch.
 */
struct gpumon_record_stalls {
	struct gpumon_record head;
	uint64_t time_ns;
	uint64_t module;
	uint32_t device;
	uint32_t context;
	uint32_t name;
	uint32_t offset;
	uint32_t file;
	uint32_t line;
	uint32_t count;
	uint32_t reserved;
	struct gpumon_stall stall[];
};

/**
 * struct gpumon_record_stall_totals - samples of a context since its begin, at each read and at the end
 * @time_ns: time of the read
 * @device: id of the device
 * @context: id of the context
 * @samples: all of them, with the next two
 * @dropped: those that the hardware dropped
 * @other: those of kernels that are not the program's
 * @period_log2: each multiprocessor takes a sample every 2^n cycles
 */
struct gpumon_record_stall_totals {
	struct gpumon_record head;
	uint64_t time_ns;
	uint32_t device;
	uint32_t context;
	uint64_t samples;
	uint64_t dropped;
	uint64_t other;
	uint32_t period_log2;
	uint32_t reserved;
};

/**
 * struct gpumon_record_metric_set - what the samples of a GPU have
 * @interval_ns: distance of samples that was asked for
 * @device: id
 * @set: number of the set, from 1 on, unique for its device in this process
 * @count: number of @metric
 * @reserved: 0
 * @metric: string ids of the metrics' names, as CUPTI has them. Zeros fill the record up to a multiple
 *	    of 8 bytes
 */
struct gpumon_record_metric_set {
	struct gpumon_record head;
	uint64_t interval_ns;
	uint32_t device;
	uint32_t set;
	uint32_t count;
	uint32_t reserved;
	uint32_t metric[];
};

/**
 * struct gpumon_record_metric_sample - metrics of a whole GPU in a span of time, other processes included
 * @start_ns: begin
 * @end_ns: end
 * @device: id
 * @set: the set that says which metrics these are
 * @count: number of @value
 * @reserved: 0
 * @value: in the order of the set; NaN: not available
 */
struct gpumon_record_metric_sample {
	struct gpumon_record head;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t device;
	uint32_t set;
	uint32_t count;
	uint32_t reserved;
	double value[];
};

/* An event of the module's ring (kmod/uapi/gpumon_event.h), which follows unchanged. */
struct gpumon_record_driver_event {
	struct gpumon_record head;
	uint32_t event_size;
	uint32_t row; /* string id of the name of the event's row */
	uint8_t event[];
};

struct gpumon_record_alert {
	struct gpumon_record head;
	uint64_t time_ns;
	uint32_t code;
	uint32_t device;  /* string id of the bus address */
	uint32_t message; /* string id */
	uint32_t reserved;
};

enum gpumon_loss {
	GPUMON_LOSS_CHANNEL_FULL = 1, /* the recorder did not drain it in time */
	GPUMON_LOSS_API_DROPPED =
		2, /* dropped by the API, or for want of memory for what it reports */
	GPUMON_LOSS_WITHHELD =
		3, /* no records: launches without operations in a process that was cut */
	GPUMON_LOSS_NO_TIMESTAMP = 4, /* operations with start = end = 0 */
	GPUMON_LOSS_STACK_TABLE = 5,  /* stacks that did not fit the table */
	GPUMON_LOSS_STRING_TABLE = 6,
	GPUMON_LOSS_UPROBE_RING = 7, /* hits */
	GPUMON_LOSS_UPROBE_STACK = 8,
	GPUMON_LOSS_DRIVER_RING = 9,	   /* events of the module, overwritten */
	GPUMON_LOSS_UNKNOWN_RECORD = 10,   /* the API's records with an unknown layout */
	GPUMON_LOSS_RECORDER = 11,	   /* records that could not be written: disk full */
	GPUMON_LOSS_INTERRUPTED = 12,	   /* a signal handler interrupted another record */
	GPUMON_LOSS_BROKEN = 13,	   /* the target left invalid data in the channel */
	GPUMON_LOSS_TOO_LONG = 14,	   /* the record is larger than a block */
	GPUMON_LOSS_UPROBE_UNDECIDED = 15, /* calls that may be hits, or within the call of a hit */
	GPUMON_LOSS_ACROSS_WINDOWS = 16, /* nodes of graphs at the edge of a window of operations */
	GPUMON_LOSS_MAX_SIZE = 17,	 /* records beyond the largest size that the user wants */
	GPUMON_LOSS_METRIC_SAMPLES = 18, /* samples of metrics that were not decoded in time */
	GPUMON_LOSS_CAUSES
};

/* Records lost for this cause since the last such record. */
struct gpumon_record_loss {
	struct gpumon_record head;
	uint64_t time_ns;
	uint64_t count;
	uint32_t cause; /* enum gpumon_loss */
	uint32_t reserved;
};

#define GPUMON_WINDOW_END 1u
/*
 * Only what the GPU does is recorded in the window. Launches are recorded outside of it as well.
 */
#define GPUMON_WINDOW_OPERATIONS 2u
/*
 * With GPUMON_WINDOW_END, written by the recorder: the process ended without the library's end, by _exit(),
 * exec or a signal. What the API had not reported by then is withheld.
 */
#define GPUMON_WINDOW_CUT 4u

/* Recording started or stopped: by option, socket, cudaProfilerStart() or an NVTX range. */
struct gpumon_record_window {
	struct gpumon_record head;
	uint64_t time_ns;
	uint32_t reason; /* string id */
	uint32_t reserved;
};

/* Bit of the flags of a note: it is the reason why nothing of the GPU is recorded. */
#define GPUMON_NOTE_NO_GPU 1u
/* The reason why something requested is missing: a process, an end, a kind of records. */
#define GPUMON_NOTE_MISSING 2u
/* The likeliest reason why the capture has no launch and no operation of a GPU. */
#define GPUMON_NOTE_NOTHING 4u

/* Something that the user should know about this capture, such as a missing library. */
struct gpumon_record_note {
	struct gpumon_record head;
	uint64_t time_ns;
	uint32_t text; /* string id */
	uint32_t reserved;
};

/**
 * struct gpumon_record_totals - counts made independently of records, for comparison
 * @launches: calls of launch functions without those captured into graphs
 * @captured: launches captured into graphs
 * @kernels: kernels reported by the API
 * @copies: copies
 * @sets: memsets
 * @device_bytes: memory on the GPU that the API takes for being recorded
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

/**
 * struct gpumon_record_dropped - what a ring did not keep of the process; this is no loss
 * @time_ns: everything that was dropped had been recorded by then
 * @records: records of all types, without definitions
 * @launches: of these, as in the totals, as are the next four
 * @captured: launches captured into graphs
 * @kernels: kernels
 * @copies: copies
 * @sets: memsets
 */
struct gpumon_record_dropped {
	struct gpumon_record head;
	uint64_t time_ns;
	uint64_t records;
	uint64_t launches;
	uint64_t captured;
	uint64_t kernels;
	uint64_t copies;
	uint64_t sets;
};

#endif /* GPUMON_ABI_FORMAT_H */
