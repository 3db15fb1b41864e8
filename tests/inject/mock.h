/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Stand-ins for libcuda, libcudart and libcupti. They keep CUPTI's contract as far as the injection
 * library uses it, launch nothing, and write an account of all events to a file that outlives the
 * process.
 */
#ifndef GPUMON_TESTS_INJECT_MOCK_H
#define GPUMON_TESTS_INJECT_MOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#define MOCK_PROCESSORS 8 /* SMs of a GPU */

enum mock_account_type {
	MOCK_LAUNCH = 1,   /* outermost call of a launch function; @address: its return address */
	MOCK_CAPTURED = 2, /* the same into a graph */
	MOCK_KERNEL = 3,   /* reported by a record with times */
	MOCK_COPY = 4,
	MOCK_SET = 5,
	MOCK_DROPPED = 6, /* there was no buffer for its record */
	MOCK_NO_TIME = 7, /* record with start = end = 0 */
	MOCK_NODE = 8,	  /* of a graph; @address: return address of the call that created it */
	MOCK_CLONE = 9,	  /* @other: id of the original */
	MOCK_CALL = 10,	  /* outermost call of any other function */
	MOCK_UNFINISHED = 11,
	MOCK_BROKEN = 12,   /* the library broke a rule of CUPTI; @other: number of the rule */
	MOCK_LOADED = 13,   /* the program loaded a library; @address: in that library */
	MOCK_DETACHED = 14, /* cuptiFinalize() */
	MOCK_GRAPH = 15,    /* a launch of a graph, reported as one operation */
	MOCK_BUFFER = 16,   /* the library gave one; @other: its size */
	MOCK_SAMPLE = 17,   /* of the GPU's performance monitors; @other: its number */
	MOCK_SAMPLING = 18, /* it begins or ends (@other) at @start */
	MOCK_STALLS = 19,   /* @other: whether CUPTI samples a context from now on */
	MOCK_SAMPLED = 20,  /* a kernel was sampled; @other: the last letter of its name, 0 for a */
	MOCK_HW_TRACE = 21, /* the hardware's trace is on */
};

/* A record of the account. The file is named by MOCK_ACCOUNT. */
struct mock_account {
	uint32_t type;
	uint32_t pid;
	uint32_t tid;
	uint32_t correlation;
	uint64_t address;
	uint64_t start;
	uint64_t end;
	uint64_t node;
	uint64_t other;
	uint32_t result;
	uint32_t window; /* set by the program: it is in a recording window */
};

enum mock_work {
	MOCK_WORK_KERNEL,
	MOCK_WORK_COPY,
	MOCK_WORK_PEER_COPY,
	MOCK_WORK_SET,
};

/* A cubin: an ELF file whose sections are enough for the library. */
struct mock_image {
	const void *cubin;
	size_t size;
	bool has_lines;
};

/* Callbacks from libcuda to libcupti. */
struct mock_hooks {
	void (*api)(unsigned int domain, unsigned int id, bool is_exit, const char *name,
		    const void *parameters, int *result, uint32_t correlation);
	void (*resource)(unsigned int id, CUcontext context, CUgraph graph, CUgraphNode node,
			 CUgraphNode original);
	void (*nvtx)(unsigned int id, const char *name, const void *parameters, const void *result);
	void (*work)(enum mock_work work, const char *name, uint32_t correlation, CUstream stream,
		     uint64_t node, uint32_t graph, uint64_t bytes);
	void (*wait)(uint32_t correlation, CUstream stream);
	void (*stream)(uint32_t id);
	void (*allocate)(uint32_t correlation, uint64_t address, uint64_t bytes);
	void (*module)(const struct mock_image *module, bool ends);
};

struct mock_node {
	uint64_t id;
	char name[48];
	enum mock_work work;
	struct mock_launch *launch; /* of struct mock_gpu, or NULL */
};

#define MOCK_NODES 64

struct mock_graph {
	uint32_t id;
	unsigned int count;
	struct mock_node nodes[MOCK_NODES];
};

struct mock_stream {
	uint32_t id;
	struct mock_graph *capture;
};

/**
 * struct mock_gpu - what runs kernels, for a stand-in that does (tests/probe/cuda)
 * @prepare: note the parameters of a launch; NULL: no such function
 * @run: run a kernel that was noted
 * @forget: free it
 * @set: write bytes into the GPU's memory
 * @capture: a stream's capture begins or ends
 * @fits: so many blocks of a cooperative launch are on the GPU at a time
 *
 * @run, @set and @capture return an error of CUDA. A function begins with its kernel's name.
 */
struct mock_gpu {
	struct mock_launch *(*prepare)(CUfunction function, unsigned int blocks,
				       unsigned int threads, void **parameters);
	int (*run)(const struct mock_launch *launch);
	void (*forget)(struct mock_launch *launch);
	int (*set)(CUdeviceptr at, unsigned char value, size_t size);
	int (*capture)(bool begins);
	bool (*fits)(CUfunction function, unsigned int blocks, unsigned int threads);
};

/* Set before cuInit(), or NULL: a launch is an event and nothing else. */
extern const struct mock_gpu *mock_gpu;

/* Within mock_call(): work for the GPU, a wait for it (NULL: all of it), and what CUPTI reports besides. */
void mock_work_copy(CUstream stream, uint64_t bytes);
int mock_work_kernel(CUfunction function, unsigned int blocks, unsigned int threads,
		     CUstream stream, void **parameters);
void mock_wait(CUstream stream);
void mock_stream_made(uint32_t id);
void mock_allocate(uint64_t address, uint64_t bytes);

/* Exported by the stand-in for libcuda. */
void mock_load_modules(bool ends);
void mock_set_hooks(const struct mock_hooks *hooks);
struct mock_account *mock_account(enum mock_account_type type);
uint64_t mock_monotonic(void);

/**
 * mock_call - run an API function with its entry and exit callbacks
 * @domain: CUPTI's domain
 * @id: CUPTI's id
 * @name: name of the function
 * @is_launch: it is a launch function
 * @address: its return address
 * @parameters: CUPTI's struct of parameters
 * @body: its implementation
 */
int mock_call(unsigned int domain, unsigned int id, const char *name, bool is_launch,
	      const void *address, const void *parameters, int (*body)(const void *parameters));

#endif /* GPUMON_TESTS_INJECT_MOCK_H */
