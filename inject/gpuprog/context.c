// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/inject.h"
#include "base/prepared.h"
#include "base/threads.h"
#include "context.h"
#include "cupti/subscribe.h"
#include "launches.h"
#include "requests.h"

/* The name in user/gpuprog/ptx/translate.h, which writes it into kernels. */
#define TABLE	    "gpumon_probe_table"
#define END_WAIT_NS (INJECT_PATIENCE(2000) * 1000000ull)
/* The maps may take one part in so many of the GPU's free memory. */
#define SHARE 2
/* Copies take at most one part in so many of the time. */
#define COPY_SHARE 20

#define ROUNDS 20

static const char text[] = ".version 6.0\n"
			   ".target sm_50\n"
			   ".address_size 64\n"
			   ".visible .entry gpumon_clock(.param .u64 out)\n"
			   "{\n"
			   "	.reg .b64 %to, %now;\n"
			   "	ld.param.u64 %to, [out];\n"
			   "	mov.u64 %now, %globaltimer;\n"
			   "	st.global.u64 [%to], %now;\n"
			   "	ret;\n"
			   "}\n";

/**
 * struct bounds - what is known of the offset
 * @low: at least
 * @high: at most
 */
struct bounds {
	int64_t low;
	int64_t high;
};

static bool narrow(CUfunction function, CUstream stream, CUdeviceptr memory, struct bounds *bounds)
{
	void *parameters[] = { &memory };
	uint64_t begin = inject_now(), end, on_gpu = 0;

	if (inject_gpuprog_driver.launch(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL) !=
		    CUDA_SUCCESS ||
	    inject_gpuprog_driver.stream_wait(stream) != CUDA_SUCCESS)
		return false;
	end = inject_now();
	if (inject_gpuprog_driver.copy_out(&on_gpu, memory, sizeof(on_gpu), stream) !=
		    CUDA_SUCCESS ||
	    inject_gpuprog_driver.stream_wait(stream) != CUDA_SUCCESS)
		return false;
	if ((int64_t)(begin - on_gpu) > bounds->low)
		bounds->low = (int64_t)(begin - on_gpu);
	if ((int64_t)(end - on_gpu) < bounds->high)
		bounds->high = (int64_t)(end - on_gpu);
	return true;
}

/**
 * load_clock - load the kernel that reads the clock
 *
 * It stays in the current context: when the program ends, the driver's compiler may be gone already, and
 * loading hangs.
 *
 * Return: NULL where that is not possible.
 */
static CUfunction load_clock(void)
{
	CUfunction kernel;
	CUmodule module;

	if (inject_gpuprog_driver.module_load(&module, text) != CUDA_SUCCESS ||
	    inject_gpuprog_driver.module_function(&kernel, module, "gpumon_clock") != CUDA_SUCCESS)
		return NULL;
	return kernel;
}

/**
 * measure_offset - compare the clocks
 * @kernel: of compare_clocks_load(), in the current context
 * @stream: of this context
 * @memory: 8 bytes on the GPU that nobody else uses
 * @offset_ns: out: what has to be added to the GPU's clock to get CLOCK_MONOTONIC
 * @error_ns: out: the result is right to within this
 *
 * Runs the kernel a few times, some 10 microseconds each: the GPU's clock was read between the launch and
 * its end, which bounds the offset from both sides.
 *
 * Return: false where that is not possible.
 */
static bool measure_offset(CUfunction kernel, CUstream stream, CUdeviceptr memory,
			   int64_t *offset_ns, uint64_t *error_ns)
{
	struct bounds bounds = { .low = INT64_MIN, .high = INT64_MAX };

	for (int i = 0; i < ROUNDS; i++)
		if (!narrow(kernel, stream, memory, &bounds))
			return false;
	if (bounds.low > bounds.high)
		return false;
	*error_ns = (uint64_t)(bounds.high - bounds.low + 1) / 2;
	*offset_ns = bounds.low + (int64_t)*error_ns;
	return true;
}

/**
 * struct context - a context of the program that has loaded a module with programs
 * @handle: NULL: it has ended
 * @device: number of its GPU
 * @number: as gpumon-user knows it
 * @memory: of the maps, 0: there is none, and its programs do nothing
 * @shared: addresses of maps with memory on the CPU, by their place in the table; 0: in @memory
 * @area: shared copy of @memory
 * @stream: of the library
 * @clock: kernel that reads the GPU's clock, or NULL
 * @asked_clock: @clock is known
 * @settled: number of the launches when it was copied last with nothing running, plus 1; 0: never
 */
struct context {
	CUcontext handle;
	CUdevice device;
	unsigned int number;
	CUdeviceptr memory;
	CUdeviceptr shared[GPUMON_WIRE_PLACES];
	void *area;
	CUstream stream;
	CUfunction clock;
	bool asked_clock;
	uint64_t settled;
};

/**
 * struct module - a module or library with programs
 * @handle: NULL: unloaded
 * @context: of a module, which goes with it; of a library NULL
 * @image: what CUDA was given
 * @filled: contexts whose table is filled in, or cannot be, a bit each by their place
 */
struct module {
	void *handle;
	CUcontext context;
	void *image;
	size_t size;
	uint64_t filled;
	bool is_library;
};

#define CONTEXTS_MAX 64

/* Held during calls of CUDA. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Protects the list of contexts. It is not held during calls of CUDA. */
static pthread_mutex_t listing = PTHREAD_MUTEX_INITIALIZER;
static struct context contexts[CONTEXTS_MAX];
static unsigned int contexts_n;
static struct module *modules;
static size_t modules_n, modules_room;
/* Changes whenever a table may have to be filled in. */
static _Atomic uint32_t generation = 1;

static CUcontext current_context(void)
{
	CUcontext current = NULL;

	if (inject_gpuprog_driver.context_current(&current) != CUDA_SUCCESS)
		return NULL;
	return current;
}

/* Threads that can be on the GPU at a time. */
static uint64_t kept_places(const struct context *context)
{
	int processors = 0;

	if (!inject_gpuprog_settings.kept_words ||
	    inject_gpuprog_driver.device_attribute(&processors,
						   CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
						   context->device) != CUDA_SUCCESS)
		return 0;
	return (uint64_t)processors * GPUMON_WIRE_KEPT_THREADS;
}

/* The copied part, a word for the clock, and what threads keep. */
static uint64_t memory_bytes(const struct context *context)
{
	return inject_gpuprog_settings.bytes +
	       (1 + kept_places(context) * inject_gpuprog_settings.kept_words) * sizeof(uint64_t);
}

static CUresult clear_and_fill(const struct context *context)
{
	const struct gpumon_wire_settings *settings = &inject_gpuprog_settings;
	const char *content = inject_gpuprog_content;
	uint64_t print = context->memory + settings->print,
		 pid = (uint64_t)getpid() << 32 | (uint64_t)getpid();
	const uint64_t kept[] = { context->memory + settings->bytes + sizeof(uint64_t),
				  kept_places(context) };
	CUresult result;

	result = inject_gpuprog_driver.set(context->memory, 0, memory_bytes(context),
					   context->stream);
	for (uint32_t i = 0; result == CUDA_SUCCESS && i < settings->content_n; i++)
		result =
			inject_gpuprog_driver.copy_in(context->memory + settings->content[i].offset,
						      content + settings->content[i].offset,
						      settings->content[i].size, context->stream);
	if (result == CUDA_SUCCESS)
		result = inject_gpuprog_driver.copy_in(context->memory + settings->pid_place, &pid,
						       sizeof(pid), context->stream);
	if (result == CUDA_SUCCESS && settings->kept_words)
		result = inject_gpuprog_driver.copy_in(context->memory + settings->kept_place, kept,
						       sizeof(kept), context->stream);
	if (result == CUDA_SUCCESS && settings->print)
		result = inject_gpuprog_driver.copy_in(context->memory + settings->print_place,
						       &print, sizeof(print), context->stream);
	if (result == CUDA_SUCCESS)
		result = inject_gpuprog_driver.stream_wait(context->stream);
	return result;
}

/* The 8 bytes behind the maps are for this. */
static void compare_clocks(const struct context *context)
{
	uint64_t error_ns;
	int64_t offset_ns;

	if (context->clock &&
	    measure_offset(context->clock, context->stream,
			   context->memory + inject_gpuprog_settings.bytes, &offset_ns, &error_ns))
		inject_gpuprog_say_clock(context->number, offset_ns, error_ns);
}

/* Memory of the kernel's maps, for the GPU. */
static void find_shared(struct context *context)
{
	for (uint64_t left = inject_gpuprog_settings.shared; left; left &= left - 1) {
		uint32_t map = (uint32_t)__builtin_ctzll(left);
		size_t size = 0;
		void *memory = inject_gpuprog_shared(map, &size);
		CUresult result = CUDA_ERROR_UNKNOWN;

		if (memory)
			result = inject_gpuprog_driver.host_register(
				memory, size,
				CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
		if (result == CUDA_SUCCESS || result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
			result = inject_gpuprog_driver.host_address(&context->shared[1 + map],
								    memory, 0);
		if (result != CUDA_SUCCESS) {
			context->shared[1 + map] = 0;
			inject_gpuprog_tell(
				"CUDA does not share a map with the CPU (error %d): what "
				"the GPU's programs write into it is missing",
				(int)result);
		}
	}
}

/* Memory on the GPU and its copy. Tells the user why there is none. */
static void make_memory(struct context *context)
{
	uint64_t bytes = memory_bytes(context);
	size_t free_bytes = 0, all = 0;
	char name[128] = "a GPU";
	CUresult result;

	inject_gpuprog_driver.device_name(name, sizeof(name), context->device);
	inject_gpuprog_driver.memory_info(&free_bytes, &all);
	if (bytes > free_bytes / SHARE) {
		inject_gpuprog_tell(
			"%s has %zu MiB free, and the maps would take %llu: nothing of it "
			"is counted. Use smaller maps",
			name, free_bytes >> 20, (unsigned long long)(bytes >> 20));
		return;
	}
	result = inject_gpuprog_driver.stream_create(&context->stream, CU_STREAM_NON_BLOCKING);
	if (result == CUDA_SUCCESS) {
		inject_cupti_client_own(context->handle, context->stream, 0);
		result = inject_gpuprog_driver.alloc(&context->memory, bytes);
	}
	if (result == CUDA_SUCCESS) {
		inject_cupti_client_own(context->handle, context->stream, context->memory);
		result = clear_and_fill(context);
		if (result != CUDA_SUCCESS)
			inject_gpuprog_driver.free(context->memory);
	}
	if (result != CUDA_SUCCESS) {
		context->memory = 0;
		inject_gpuprog_tell("no memory for the maps on %s (CUDA error %d): nothing of it "
				    "is counted",
				    name, (int)result);
		return;
	}
	/* Set last: if there is no memory, no part of it can be missing. */
	context->area =
		inject_gpuprog_ask_area((unsigned int)context->device, name, &context->number);
	if (!context->area) {
		inject_gpuprog_driver.free(context->memory);
		context->memory = 0;
		return;
	}
	find_shared(context);
}

/* Handle of a place that a thread is filling. */
#define TAKEN ((CUcontext)(void *)contexts)

/* The context of this handle; NULL: there is none. */
static struct context *look_up(CUcontext handle)
{
	struct context *context = NULL;

	pthread_mutex_lock(&listing);
	for (unsigned int i = 0; !context && i < contexts_n; i++)
		if (contexts[i].handle == handle)
			context = &contexts[i];
	pthread_mutex_unlock(&listing);
	return context;
}

/* NULL: there are too many. */
static struct context *take_place(void)
{
	struct context *context = NULL;

	pthread_mutex_lock(&listing);
	for (unsigned int i = 0; !context && i < contexts_n; i++)
		if (!contexts[i].handle)
			context = &contexts[i];
	if (!context && contexts_n < CONTEXTS_MAX)
		context = &contexts[contexts_n++];
	if (context)
		context->handle = TAKEN;
	pthread_mutex_unlock(&listing);
	return context;
}

/*
 * Made if it is missing, with or without the lock. Two threads may do that at the same time, as neither may
 * wait for the other: then the context has memory twice, and both are copied. NULL: there are too many.
 */
static struct context *find_context(CUcontext handle)
{
	struct context *context = look_up(handle), made = { .handle = handle };

	if (context)
		return context;
	context = take_place();
	if (!context) {
		inject_gpuprog_tell(
			"process %d has more than %d contexts at a time: the others are not counted",
			(int)getpid(), CONTEXTS_MAX);
		return NULL;
	}
	inject_gpuprog_driver.context_device(&made.device);
	make_memory(&made);
	pthread_mutex_lock(&listing);
	*context = made;
	pthread_mutex_unlock(&listing);
	atomic_fetch_add(&generation, 1);
	return context;
}

static void write_addresses(const struct context *context, uint64_t addresses[GPUMON_WIRE_PLACES])
{
	const struct gpumon_wire_settings *settings = &inject_gpuprog_settings;

	for (uint32_t i = 0; i < settings->places_n; i++)
		addresses[i] = context->shared[i] ? context->shared[i] :
						    context->memory + settings->places[i];
}

bool inject_gpuprog_addresses(CUcontext handle, uint64_t addresses[GPUMON_WIRE_PLACES])
{
	const struct context *context = find_context(handle);

	if (!context || !context->memory)
		return false;
	write_addresses(context, addresses);
	return true;
}

bool inject_gpuprog_write(CUcontext handle, CUdeviceptr to, const void *data, size_t size)
{
	const struct context *context = look_up(handle);

	return context && context->memory &&
	       inject_gpuprog_driver.copy_in(to, data, size, context->stream) == CUDA_SUCCESS &&
	       inject_gpuprog_driver.stream_wait(context->stream) == CUDA_SUCCESS;
}

static void forget_module(struct module *module)
{
	if (module->image)
		munmap(module->image, module->size);
	*module = (struct module){ 0 };
}

/* Locked. Its memory and modules are gone: their handles may be those of others later. */
static void forget_context(struct context *context)
{
	uint64_t bit = 1ull << (context - contexts);

	for (size_t i = 0; i < modules_n; i++) {
		if (modules[i].context && modules[i].context == context->handle)
			forget_module(&modules[i]);
		modules[i].filled &= ~bit;
	}
	if (context->area) {
		inject_gpuprog_say(GPUMON_WIRE_ENDED, context->number);
		munmap(context->area, inject_gpuprog_settings.bytes);
	}
	pthread_mutex_lock(&listing);
	*context = (struct context){ 0 };
	pthread_mutex_unlock(&listing);
	atomic_fetch_add(&generation, 1);
}

static CUresult find_table(const struct module *module, CUdeviceptr *table, size_t *size)
{
	if (!module->is_library)
		return inject_gpuprog_driver.module_global(table, size, module->handle, TABLE);
	return inject_gpuprog_driver.library_global(table, size, module->handle, TABLE);
}

static void fill_table(const struct context *context, const struct module *module)
{
	const struct gpumon_wire_settings *settings = &inject_gpuprog_settings;
	uint64_t addresses[GPUMON_WIRE_PLACES];
	size_t size = 0, wanted = settings->places_n * sizeof(*addresses);
	CUdeviceptr table = 0;

	/* A module of another context, or without an edited kernel. */
	if (find_table(module, &table, &size) != CUDA_SUCCESS || size < wanted)
		return;
	write_addresses(context, addresses);
	if (inject_gpuprog_driver.copy_in(table, addresses, wanted, context->stream) ==
	    CUDA_SUCCESS)
		inject_gpuprog_driver.stream_wait(context->stream);
}

/* Locked, inside. The context's number, or -1. */
static int fill_current(CUcontext handle)
{
	struct context *context = modules_n ? find_context(handle) : look_up(handle);
	uint64_t bit;

	if (!context || !context->memory)
		return -1;
	if (!context->asked_clock) {
		context->asked_clock = true;
		context->clock = load_clock();
		compare_clocks(context);
	}
	bit = 1ull << (context - contexts);
	for (size_t i = 0; i < modules_n; i++) {
		if (!modules[i].handle || modules[i].filled & bit ||
		    (modules[i].context && modules[i].context != handle))
			continue;
		modules[i].filled |= bit;
		fill_table(context, &modules[i]);
	}
	return (int)context->number;
}

static struct module *free_module(void)
{
	for (size_t i = 0; i < modules_n; i++)
		if (!modules[i].handle)
			return &modules[i];
	if (!inject_grow((void **)&modules, &modules_room, modules_n + 1, sizeof(*modules)))
		return NULL;
	return &modules[modules_n++];
}

void inject_gpuprog_module_add(void *handle, bool is_library, void *image, size_t size)
{
	struct inject_gpuprog_inside inside;
	struct module *module;
	CUcontext current;

	inject_gpuprog_inside_begin(&inside);
	current = current_context();
	pthread_mutex_lock(&lock);
	module = free_module();
	if (module) {
		*module = (struct module){ .handle = handle,
					   .image = image,
					   .size = size,
					   .context = is_library ? NULL : current,
					   .is_library = is_library };
		atomic_fetch_add(&generation, 1);
		if (current)
			fill_current(current);
	}
	pthread_mutex_unlock(&lock);
	inject_gpuprog_inside_end(&inside);
}

void inject_gpuprog_module_remove(void *handle, bool is_library)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < modules_n; i++) {
		if (modules[i].handle != handle || modules[i].is_library != is_library)
			continue;
		forget_module(&modules[i]);
	}
	pthread_mutex_unlock(&lock);
}

int inject_gpuprog_fill(void)
{
	static __thread CUcontext seen __attribute__((tls_model("initial-exec")));
	static __thread int number __attribute__((tls_model("initial-exec")));
	static __thread uint32_t seen_in __attribute__((tls_model("initial-exec")));
	uint32_t now = atomic_load_explicit(&generation, memory_order_acquire);
	struct inject_gpuprog_inside inside;
	CUcontext current;

	current = current_context();
	if (!current)
		return -1;
	if (INJECT_LIKELY(current == seen && now == seen_in))
		return number;
	inject_gpuprog_inside_begin(&inside);
	pthread_mutex_lock(&lock);
	number = fill_current(current);
	pthread_mutex_unlock(&lock);
	inject_gpuprog_inside_end(&inside);
	seen = current;
	seen_in = now;
	return number;
}

static void clear_range(void *argument, const struct gpumon_wire_range *range)
{
	const struct context *context = argument;

	inject_gpuprog_driver.set(context->memory + range->offset, 0, range->size, context->stream);
}

/* Whether all that the program has launched is done. Streams that do not wait for others are left out. */
static bool wait_for_program(void)
{
	uint64_t until = inject_now() + END_WAIT_NS;
	CUresult result = CUDA_ERROR_UNKNOWN;
	CUevent event;

	if (inject_gpuprog_driver.event_create(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
		return false;
	if (inject_gpuprog_driver.event_record(event, CU_STREAM_LEGACY) == CUDA_SUCCESS)
		while ((result = inject_gpuprog_driver.event_query(event)) ==
			       CUDA_ERROR_NOT_READY &&
		       inject_now() < until)
			inject_sleep(1000000);
	inject_gpuprog_driver.event_destroy(event);
	return result == CUDA_SUCCESS;
}

/* Locked, inside. */
static void copy_context(struct context *context, bool wait)
{
	uint64_t launches = 0;
	bool known = inject_gpuprog_launches_number(&launches);
	unsigned int flags = 0;
	CUcontext popped;
	CUresult result;

	if (!context->memory)
		return;
	if (inject_gpuprog_driver.context_push(context->handle) != CUDA_SUCCESS) {
		forget_context(context);
		return;
	}
	if (wait && wait_for_program()) {
		flags = GPUMON_WIRE_QUIET;
		context->settled = known ? launches + 1 : 0;
		compare_clocks(context);
	} else if (known && context->settled == launches + 1) {
		flags = GPUMON_WIRE_QUIET;
	}
	result = inject_gpuprog_driver.copy_out(context->area, context->memory,
						inject_gpuprog_settings.bytes, context->stream);
	if (result == CUDA_SUCCESS)
		result = inject_gpuprog_driver.stream_wait(context->stream);
	if (result == CUDA_SUCCESS)
		inject_gpuprog_say_copied(context->number, flags, clear_range, context);
	inject_gpuprog_driver.context_pop(&popped);
	if (result != CUDA_SUCCESS)
		forget_context(context); /* destroyed, or broken by a fault */
}

/* Whether the place has this context; NULL: any. Only a thread with the lock ends one. */
static bool is_listed(unsigned int i, CUcontext handle)
{
	bool is;

	pthread_mutex_lock(&listing);
	is = contexts[i].handle && contexts[i].handle != TAKEN &&
	     (!handle || contexts[i].handle == handle);
	pthread_mutex_unlock(&listing);
	return is;
}

uint64_t inject_gpuprog_copy(CUcontext handle, bool wait)
{
	struct inject_gpuprog_inside inside;
	uint64_t begin, took;

	inject_gpuprog_inside_begin(&inside);
	pthread_mutex_lock(&lock);
	begin = inject_now();
	for (unsigned int i = 0; i < CONTEXTS_MAX; i++)
		if (is_listed(i, handle))
			copy_context(&contexts[i], wait);
	took = inject_now() - begin;
	pthread_mutex_unlock(&lock);
	inject_gpuprog_inside_end(&inside);
	return took;
}

void inject_gpuprog_copy_sometimes(void)
{
	static _Atomic uint64_t next;
	uint64_t due = atomic_load(&next), took;

	/* Called by one thread at a time. */
	if (inject_now() < due || !atomic_compare_exchange_strong(&next, &due, UINT64_MAX))
		return;
	took = inject_gpuprog_copy(NULL, false);
	atomic_store(&next, inject_now() + COPY_SHARE * took);
}

void inject_gpuprog_forget(CUcontext handle)
{
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < CONTEXTS_MAX; i++)
		if (handle && is_listed(i, handle))
			forget_context(&contexts[i]);
	pthread_mutex_unlock(&lock);
}
