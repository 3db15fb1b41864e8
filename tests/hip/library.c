// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * In place of HIP's library: its calls do nothing, and call a tracer back as the real one does, with
 * operations in a thread of its own. HIP_TEST_VERSION is the version that it says it has, such as 602;
 * HIP_TEST_LOG is a file for the begin and the end of each operation, CLOCK_BOOTTIME; HIP_TEST_FAULT
 * is what it does wrong. The numbers of functions are none that a real version has.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hip.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define KERNEL	    0
#define COPY	    1
#define DISPATCH    0x11f0
#define READ	    0x11f3
#define WRITE	    0x11f4
#define FILL	    0x1207
#define OPERATIONS  2
#define CALLS	    3
#define STREAMS	    16
#define NODES	    64
#define WAITING_MAX 65536

/* The room that the real one has for a call, and then some. */
union call {
	struct {
		uint64_t correlation;
		uint32_t phase;
		uint32_t reserved;
		unsigned char arguments[1600];
	};
	void *words[202];
};

struct record {
	uint32_t domain, kind, operation;
	uint64_t correlation, begin_ns, end_ns;
	int32_t node;
	uint64_t queue;
	union {
		uint64_t bytes;
		const char *name;
	};
};

#define FUNCTIONS(f)                                                                            \
	f(hipGetDeviceCount) f(hipGetLastError) f(hipPeekAtLastError) f(hipExtGetLastError) f(  \
		hipLaunchKernel) f(hipLaunchCooperativeKernel) f(hipModuleLaunchKernel)         \
		f(hipExtModuleLaunchKernel) f(hipMemcpy) f(hipMemcpyAsync) f(hipMemset) f(      \
			hipMemsetAsync) f(hipGraphLaunch) f(hipDeviceSynchronize)               \
			f(hipStreamSynchronize) f(hipStreamBeginCapture) f(hipStreamEndCapture) \
				f(hipStreamIsCapturing) f(hipStreamCreate) f(hipMalloc)         \
					f(hipRuntimeGetVersion) f(hipSetDevice)                 \
						f(hipDeviceGetName) f(hipDeviceGetPCIBusId)     \
							f(hipDeviceTotalMem)

enum function {
#define FUNCTION(name) IN_##name,
	FUNCTIONS(FUNCTION)
#undef FUNCTION
	COUNT
};

static const char *const names[] = {
#define FUNCTION(name) #name,
	FUNCTIONS(FUNCTION)
#undef FUNCTION
};

static int (*tracer)(uint32_t domain, uint32_t number, void *data);
static __thread uint64_t correlation;
static __thread int last_error, last_result;

static struct {
	const void *stub;
	const char *name;
} stubs[8];

struct stream {
	uint64_t queue;
	int is_capturing;
};

static struct stream streams[STREAMS];
static unsigned int stream_count;
static const char *captured[NODES];
static unsigned int captured_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static struct record waiting[WAITING_MAX];
static size_t first, last;
static int is_running;

static unsigned int version(void)
{
	const char *text = getenv("HIP_TEST_VERSION");

	return text ? (unsigned int)atoi(text) : 602;
}

static int has_fault(const char *name)
{
	const char *fault = getenv("HIP_TEST_FAULT");

	return fault && strcmp(fault, name) == 0;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_BOOTTIME, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint32_t number_of(enum function function)
{
	return 3 * function + 501;
}

/* Calls what the tracer wants to be called at the begin of a call, or at its end. */
static void call_back(union call *call, int is_end, enum function function)
{
	void (*callback)(uint32_t, void *);

	memcpy(&callback, &call->words[(version() < 600 ? 856 : 1536) / 8 + is_end],
	       sizeof(callback));
	if (callback)
		callback(number_of(function), call);
}

static void (*within)(void);

void hip_test_within(void (*function)(void));

/* For the program: the next call that is traced calls this function, once. */
void hip_test_within(void (*function)(void))
{
	within = function;
}

/* What was on the stack before is in it, as in the real one. */
static int begin(enum function function, union call *call, const void *arguments, size_t size)
{
	void (*wanted)(void) = within;

	memset(call, 0xdb, sizeof(*call));
	if (!tracer || tracer(CALLS, number_of(function), call))
		return 0;
	correlation = call->correlation;
	if (size)
		memcpy(call->arguments, arguments, size);
	call_back(call, 0, function);
	within = NULL;
	if (wanted)
		wanted();
	return 1;
}

static int end(enum function function, union call *call, int is_traced, int result)
{
	last_result = result;
	if (version() < 700 || (result && result != NOT_READY))
		last_error = result;
	if (is_traced) {
		call_back(call, 1, function);
		correlation = 0;
	}
	return result;
}

#define TRACED(name, arguments, size, result_of)                          \
	do {                                                              \
		union call call;                                          \
		int is_traced = begin(IN_##name, &call, arguments, size); \
                                                                          \
		return end(IN_##name, &call, is_traced, result_of);       \
	} while (0)

static void say(const struct record *record)
{
	const char *path = getenv("HIP_TEST_LOG");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return;
	fprintf(file, "%llu %llu\n", (unsigned long long)record->begin_ns,
		(unsigned long long)record->end_ns);
	fclose(file);
}

static void spoil(struct record *record)
{
	uint64_t begin_ns = record->begin_ns;

	if (has_fault("backwards")) {
		record->begin_ns = record->end_ns + 1;
	} else if (has_fault("long-ago")) {
		record->begin_ns -= 3600000000000;
		record->end_ns = record->begin_ns + 1;
	} else if (has_fault("future")) {
		record->end_ns += 3600000000000;
	} else if (has_fault("zero")) {
		record->begin_ns = record->end_ns = 0;
	} else if (has_fault("node")) {
		record->node = -1;
	} else if (has_fault("other-call")) {
		record->correlation ^= 1ull << 40;
	}
	if (record->begin_ns == begin_ns)
		say(record);
}

static void *run(void *unused)
{
	const struct timespec pause = { .tv_nsec = 20000 };
	struct record record;

	pthread_mutex_lock(&lock);
	for (;;) {
		while (first == last)
			pthread_cond_wait(&moved, &lock);
		record = waiting[first % WAITING_MAX];
		pthread_mutex_unlock(&lock);
		record.begin_ns = now();
		nanosleep(&pause, NULL);
		record.end_ns = now();
		spoil(&record);
		if (tracer && !has_fault("silent") && !tracer(OPERATIONS, KERNEL, NULL))
			tracer(OPERATIONS, record.operation, &record);
		pthread_mutex_lock(&lock);
		first++;
		pthread_cond_broadcast(&moved);
	}
	return NULL;
}

static unsigned long measured;

unsigned long hip_test_measured(void);

/* For the program: of how many operations a begin and an end were wanted. */
unsigned long hip_test_measured(void)
{
	return __atomic_load_n(&measured, __ATOMIC_RELAXED);
}

static void add(uint32_t operation, uint32_t kind, const void *on, uint64_t bytes, const char *name)
{
	const struct stream *stream = on;
	struct record record = {
		.domain = OPERATIONS,
		.kind = kind,
		.operation = operation,
		.correlation = correlation,
		.node = 1,
		.queue = stream ? stream->queue : 0,
		.bytes = bytes,
	};
	pthread_t thread;

	if (name)
		record.name = name;
	if (!tracer || tracer(OPERATIONS, operation, NULL))
		return;
	__atomic_fetch_add(&measured, 1, __ATOMIC_RELAXED);
	if (version() >= 702)
		tracer(OPERATIONS, operation, (void *)1);
	pthread_mutex_lock(&lock);
	if (!is_running) {
		pthread_create(&thread, NULL, run, NULL);
		pthread_detach(thread);
		is_running = 1;
	}
	while (last - first == WAITING_MAX)
		pthread_cond_wait(&moved, &lock);
	waiting[last++ % WAITING_MAX] = record;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&lock);
}

static int wait_for_all(void)
{
	pthread_mutex_lock(&lock);
	while (first != last)
		pthread_cond_wait(&moved, &lock);
	pthread_mutex_unlock(&lock);
	return 0;
}

void hipRegisterTracerCallback(int (*callback)(uint32_t, uint32_t, void *))
{
	tracer = callback;
}

int hipRuntimeGetVersion(int *number)
{
	*number = (int)(version() * 100000 + 4711);
	TRACED(hipRuntimeGetVersion, NULL, 0, 0);
}

const char *hipApiName(uint32_t number)
{
	if (number < 501 || number % 3 || (number - 501) / 3 >= COUNT)
		return "unknown";
	return names[(number - 501) / 3];
}

int hipGetLastError(void)
{
	union call call;
	int is_traced = begin(IN_hipGetLastError, &call, NULL, 0), error = last_error;

	last_error = 0;
	if (is_traced)
		call_back(&call, 1, IN_hipGetLastError);
	return error;
}

int hipPeekAtLastError(void)
{
	TRACED(hipPeekAtLastError, NULL, 0, last_error);
}

/* Before 7.0, the same as hipGetLastError(). */
int hipExtGetLastError(void)
{
	int error = last_result;

	if (version() < 700)
		return hipGetLastError();
	last_result = 0;
	return error;
}

int hipStreamIsCapturing(void *on, int *status)
{
	*status = on && ((struct stream *)on)->is_capturing;
	TRACED(hipStreamIsCapturing, NULL, 0, 0);
}

int hipGetStreamDeviceId(void *on)
{
	return 0;
}

int hipDeviceGetName(char *name, int size, int device)
{
	snprintf(name, (size_t)size, "Test GPU %d", device);
	TRACED(hipDeviceGetName, NULL, 0, 0);
}

int hipDeviceGetPCIBusId(char *name, int size, int device)
{
	snprintf(name, (size_t)size, "0001:%02x:00.0", 3 + device);
	TRACED(hipDeviceGetPCIBusId, NULL, 0, 0);
}

int hipDeviceTotalMem(size_t *bytes, int device)
{
	*bytes = (size_t)(1 + device) << 30;
	TRACED(hipDeviceTotalMem, NULL, 0, 0);
}

/* The real one looks into a handle. */
const char *hipKernelNameRef(const void *function)
{
	return *(const char *const *)function;
}

const char *hipKernelNameRefByPtr(const void *stub, void *on)
{
	size_t i;

	for (i = 0; i < sizeof(stubs) / sizeof(stubs[0]); i++)
		if (stubs[i].stub == stub)
			return stubs[i].name;
	return NULL;
}

void **__hipRegisterFatBinary(const void *binary)
{
	static void *module;

	return &module;
}

void __hipRegisterFunction(void **modules, const void *stub, char *name, const char *device_name,
			   unsigned int limit, void *tid, void *bid, void *block, void *grid,
			   int *size)
{
	static size_t count;

	/* A module that was not registered has no functions. */
	if (!modules)
		return;
	stubs[count % 8].stub = stub;
	stubs[count++ % 8].name = device_name;
}

static int run_kernel(const char *name, void *on)
{
	struct stream *stream = on;

	if (!name)
		return INVALID_FUNCTION;
	if (stream && stream->is_capturing)
		captured[captured_count++ % NODES] = name;
	else
		add(KERNEL, DISPATCH, on, 0, name);
	return 0;
}

struct arguments {
	const void *kernel;
	uint32_t sizes[6];
	uint64_t others[3];
	void *stream;
};

static struct arguments arguments_of(const void *kernel, struct size grid, struct size block,
				     void *stream)
{
	return (struct arguments){
		kernel, { grid.x, grid.y, grid.z, block.x, block.y, block.z }, { 0 }, stream
	};
}

int hipLaunchKernel(const void *stub, struct size grid, struct size block, void **kept,
		    size_t shared, void *stream)
{
	const struct arguments arguments = arguments_of(stub, grid, block, stream);

	TRACED(hipLaunchKernel, &arguments, sizeof(arguments),
	       run_kernel(hipKernelNameRefByPtr(stub, NULL), stream));
}

int hipLaunchCooperativeKernel(const void *stub, struct size grid, struct size block, void **kept,
			       unsigned int shared, void *stream)
{
	const struct arguments arguments = arguments_of(stub, grid, block, stream);

	TRACED(hipLaunchCooperativeKernel, &arguments, sizeof(arguments),
	       run_kernel(hipKernelNameRefByPtr(stub, NULL), stream));
}

/* The stream is elsewhere. */
static struct arguments module_arguments(const void *function, struct size grid, struct size block,
					 void *stream)
{
	struct arguments arguments = arguments_of(function, grid, block, (void *)0xdbdbdbdb);

	memcpy(&arguments.others[1], &stream, sizeof(stream));
	return arguments;
}

int hipModuleLaunchKernel(void *function, uint32_t x, uint32_t y, uint32_t z, uint32_t local_x,
			  uint32_t local_y, uint32_t local_z, unsigned int shared, void *stream,
			  void **kept, void **extra)
{
	const struct arguments arguments =
		module_arguments(function, (struct size){ x, y, z },
				 (struct size){ local_x, local_y, local_z }, stream);

	TRACED(hipModuleLaunchKernel, &arguments, sizeof(arguments),
	       run_kernel(function ? hipKernelNameRef(function) : NULL, stream));
}

int hipExtModuleLaunchKernel(void *function, uint32_t x, uint32_t y, uint32_t z, uint32_t local_x,
			     uint32_t local_y, uint32_t local_z, size_t shared, void *stream,
			     void **kept, void **extra, void *start, void *stop, uint32_t flags)
{
	const struct arguments arguments =
		module_arguments(function, (struct size){ x, y, z },
				 (struct size){ local_x, local_y, local_z }, stream);

	TRACED(hipExtModuleLaunchKernel, &arguments, sizeof(arguments),
	       run_kernel(function ? hipKernelNameRef(function) : NULL, stream));
}

static int copy(const void *to, size_t bytes, int kind, void *stream)
{
	if (!to)
		return INVALID_VALUE;
	add(COPY, kind == TO_DEVICE ? WRITE : READ, stream, bytes, NULL);
	return 0;
}

static int fill(size_t bytes, void *stream)
{
	add(COPY, FILL, stream, bytes, NULL);
	return 0;
}

int hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
	TRACED(hipMemcpy, NULL, 0, copy(to, bytes, kind, NULL));
}

int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
	TRACED(hipMemcpyAsync, NULL, 0, copy(to, bytes, kind, stream));
}

int hipMemset(void *to, int value, size_t bytes)
{
	TRACED(hipMemset, NULL, 0, fill(bytes, NULL));
}

int hipMemsetAsync(void *to, int value, size_t bytes, void *stream)
{
	TRACED(hipMemsetAsync, NULL, 0, fill(bytes, stream));
}

static int run_graph(void *stream)
{
	unsigned int i;

	for (i = 0; i < captured_count; i++)
		add(KERNEL, DISPATCH, stream, 0, captured[i]);
	return 0;
}

int hipGraphLaunch(void *executable, void *stream)
{
	TRACED(hipGraphLaunch, NULL, 0, run_graph(stream));
}

int hipGraphInstantiate(void **executable, void *graph, void **node, char *text, size_t size)
{
	*executable = graph;
	return 0;
}

static int set_capture(void *on, int is_capturing)
{
	((struct stream *)on)->is_capturing = is_capturing;
	return 0;
}

int hipStreamBeginCapture(void *stream, int mode)
{
	TRACED(hipStreamBeginCapture, NULL, 0, set_capture(stream, 1));
}

int hipStreamEndCapture(void *stream, void **graph)
{
	*graph = captured;
	TRACED(hipStreamEndCapture, NULL, 0, set_capture(stream, 0));
}

int hipStreamCreate(void **stream)
{
	streams[stream_count % STREAMS].queue = 1 + stream_count % 4;
	*stream = &streams[stream_count++ % STREAMS];
	TRACED(hipStreamCreate, NULL, 0, 0);
}

int hipDeviceSynchronize(void)
{
	TRACED(hipDeviceSynchronize, NULL, 0, wait_for_all());
}

int hipStreamSynchronize(void *stream)
{
	TRACED(hipStreamSynchronize, NULL, 0, wait_for_all());
}

int hipGetDeviceCount(int *count)
{
	*count = 1;
	TRACED(hipGetDeviceCount, NULL, 0, 0);
}

int hipMalloc(void **memory, size_t bytes)
{
	*memory = malloc(bytes);
	TRACED(hipMalloc, NULL, 0, 0);
}

int hipSetDevice(int device)
{
	TRACED(hipSetDevice, NULL, 0, device ? INVALID_VALUE : 0);
}

int hipModuleGetFunction(void **function, void *module, const char *name)
{
	static const char *function_name;

	function_name = name;
	*function = &function_name;
	return 0;
}
