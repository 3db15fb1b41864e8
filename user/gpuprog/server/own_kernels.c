// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/map.h"
#include "gpuprog/image/exchange.h"
#include "gpuprog/ptx/translate.h"
#include "gpuprog/result/view.h"
#include "memory.h"
#include "own_kernels.h"
#include "session.h"

typedef struct cuda_context *cuda_context_t;
typedef struct cuda_module *cuda_module_t;
typedef struct cuda_function *cuda_function_t;
typedef struct cuda_event *cuda_event_t;
typedef uint64_t cuda_address_t;

/* X(member, symbol, parameters) */
#define CUDA_DRIVER(X)                                                                            \
	X(init, "cuInit", (unsigned int))                                                         \
	X(error_text, "cuGetErrorString", (int, const char **))                                   \
	X(device_count, "cuDeviceGetCount", (int *))                                              \
	X(device_get, "cuDeviceGet", (int *, int))                                                \
	X(device_name, "cuDeviceGetName", (char *, int, int))                                     \
	X(device_attribute, "cuDeviceGetAttribute", (int *, int, int))                            \
	X(primary_retain, "cuDevicePrimaryCtxRetain", (cuda_context_t *, int))                    \
	X(primary_release, "cuDevicePrimaryCtxRelease_v2", (int))                                 \
	X(context_set, "cuCtxSetCurrent", (cuda_context_t))                                       \
	X(wait, "cuCtxSynchronize", (void))                                                       \
	X(memory_info, "cuMemGetInfo_v2", (size_t *, size_t *))                                   \
	X(alloc, "cuMemAlloc_v2", (cuda_address_t *, size_t))                                     \
	X(free, "cuMemFree_v2", (cuda_address_t))                                                 \
	X(set, "cuMemsetD8Async", (cuda_address_t, unsigned char, size_t, void *))                \
	X(copy_in, "cuMemcpyHtoDAsync_v2", (cuda_address_t, const void *, size_t, void *))        \
	X(copy_out, "cuMemcpyDtoHAsync_v2", (void *, cuda_address_t, size_t, void *))             \
	X(module_load, "cuModuleLoadDataEx",                                                      \
	  (cuda_module_t *, const void *, unsigned int, int *, void **))                          \
	X(module_function, "cuModuleGetFunction",                                                 \
	  (cuda_function_t *, cuda_module_t, const char *))                                       \
	X(module_global, "cuModuleGetGlobal_v2",                                                  \
	  (cuda_address_t *, size_t *, cuda_module_t, const char *))                              \
	X(launch, "cuLaunchKernel",                                                               \
	  (cuda_function_t, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, \
	   unsigned int, unsigned int, void *, void **, void **))                                 \
	X(event_create, "cuEventCreate", (cuda_event_t *, unsigned int))                          \
	X(event_record, "cuEventRecord", (cuda_event_t, void *))                                  \
	X(event_destroy, "cuEventDestroy_v2", (cuda_event_t))                                     \
	X(event_time, "cuEventElapsedTime", (float *, cuda_event_t, cuda_event_t))

/* The functions, by what they do; each returns 0 or CUDA's error. */
struct cuda_driver {
#define CUDA_MEMBER(member, symbol, parameters) int(*member) parameters;
	CUDA_DRIVER(CUDA_MEMBER)
#undef CUDA_MEMBER
};

/* CUdevice_attribute and CUjit_option that are used. */
#define CUDA_MAJOR     75
#define CUDA_MINOR     76
#define CUDA_LOG       5
#define CUDA_LOG_BYTES 6

/**
 * struct cuda_gpu - a GPU that is being used
 * @driver: functions
 * @device: its number
 * @name: its name
 * @sm: architecture: 90
 * @retained: its context has to be given back
 * @memory: block of memory, or 0
 * @module: loaded kernels, which go with the context
 */
struct cuda_gpu {
	struct cuda_driver driver;
	int device;
	char name[100];
	uint32_t sm;
	bool retained;
	cuda_address_t memory;
	cuda_module_t module;
};

#define LIBRARY "libcuda.so.1"
/**
 * cuda_load - find the driver
 * @driver: out
 * @err: it is not installed, or lacks a function
 *
 * The library stays loaded: it cannot be unloaded safely.
 *
 * Return: 0, or -1 with @err, exit status 77.
 */
static int cuda_load(struct cuda_driver *driver, struct gpumon_error *err)
{
	static const struct {
		const char *symbol;
		size_t place;
	} functions[] = {
#define FUNCTION(member, symbol, parameters) { symbol, offsetof(struct cuda_driver, member) },
		CUDA_DRIVER(FUNCTION)
#undef FUNCTION
	};
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, GPUMON_ERROR_REFUSED,
					"there is no NVIDIA driver here: %s", dlerror());
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(library, functions[i].symbol);

		if (!function)
			return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -ENOSYS,
						GPUMON_ERROR_REFUSED,
						"the NVIDIA driver is too old: " LIBRARY
						" has no %s",
						functions[i].symbol);
		memcpy((char *)driver + functions[i].place, &function, sizeof(function));
	}
	return 0;
}

/* "out of memory (2)", in static memory. */
static const char *cuda_error(const struct cuda_driver *driver, int error)
{
	static char text[160];
	const char *name = NULL;

	if (driver->error_text(error, &name) || !name)
		name = "CUDA error";
	snprintf(text, sizeof(text), "%.140s (%d)", name, error);
	return text;
}

#define LOG_BYTES 2048
#define NS_OF_MS  1e6f
#define SHARE	  2 /* of the GPU's free memory, one part stays free */

static int refuse_with(const struct cuda_gpu *gpu, int status, int error, const char *what,
		       struct gpumon_error *err)
{
	return gpumon_error_set(err, status, -EIO, GPUMON_ERROR_REFUSED, "%s: %s", what,
				cuda_error(&gpu->driver, error));
}

static int refuse(const struct cuda_gpu *gpu, int error, const char *what, struct gpumon_error *err)
{
	return refuse_with(gpu, GPUMON_EXIT_FAILED, error, what, err);
}

/* The reason is this machine, not the program. */
static int refuse_machine(const struct cuda_gpu *gpu, int error, struct gpumon_error *err)
{
	return refuse_with(gpu, GPUMON_EXIT_IMPOSSIBLE, error, "no GPU can be used", err);
}

static int find_device(struct cuda_gpu *gpu, uint32_t number, struct gpumon_error *err)
{
	const struct cuda_driver *driver = &gpu->driver;
	int count = 0, error = driver->device_count(&count);

	if (!error && number >= (uint32_t)count)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ENODEV, GPUMON_ERROR_REFUSED,
					"there is no GPU %u, the driver has %d: see --gpu", number,
					count);
	if (!error)
		error = driver->device_get(&gpu->device, (int)number);
	return error ? refuse_machine(gpu, error, err) : 0;
}

/**
 * cuda_open - begin to use a GPU
 * @gpu: out, to be closed in both cases
 * @number: of the GPU, from 0
 * @err: no driver, no such GPU, no context
 *
 * Return: 0, or -1 with @err; exit status 77 where this machine is why.
 */
static int cuda_open(struct cuda_gpu *gpu, uint32_t number, struct gpumon_error *err)
{
	const struct cuda_driver *driver = &gpu->driver;
	cuda_context_t context;
	int major = 0, minor = 0, error;

	memset(gpu, 0, sizeof(*gpu));
	if (cuda_load(&gpu->driver, err))
		return -1;
	error = driver->init(0);
	if (error)
		return refuse_machine(gpu, error, err);
	if (find_device(gpu, number, err))
		return -1;
	driver->device_name(gpu->name, (int)sizeof(gpu->name), gpu->device);
	driver->device_attribute(&major, CUDA_MAJOR, gpu->device);
	driver->device_attribute(&minor, CUDA_MINOR, gpu->device);
	gpu->sm = (uint32_t)(major * 10 + minor);
	error = driver->primary_retain(&context, gpu->device);
	gpu->retained = !error;
	if (!error)
		error = driver->context_set(context);
	return error ? refuse(gpu, error, "no context on the GPU", err) : 0;
}
static void cuda_close(struct cuda_gpu *gpu)
{
	if (gpu->memory)
		gpu->driver.free(gpu->memory);
	if (gpu->retained)
		gpu->driver.primary_release(gpu->device);
	memset(gpu, 0, sizeof(*gpu));
}

/**
 * cuda_alloc - the block of memory, zeroed
 * @gpu: GPU
 * @bytes: of it
 * @err: why there is none
 *
 * Return: 0, or -1 with @err.
 */
static int cuda_alloc(struct cuda_gpu *gpu, uint64_t bytes, struct gpumon_error *err)
{
	size_t free_bytes = 0, all = 0;
	int error = gpu->driver.memory_info(&free_bytes, &all);

	if (!error && bytes > free_bytes / SHARE)
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -ENOMEM, GPUMON_ERROR_MEMORY,
			"%s has %zu MiB free, and the maps would take %llu: use smaller maps",
			gpu->name, free_bytes >> 20, (unsigned long long)(bytes >> 20));
	if (!error)
		error = gpu->driver.alloc(&gpu->memory, bytes);
	if (!error)
		error = gpu->driver.set(gpu->memory, 0, bytes, NULL);
	return error ? refuse(gpu, error, "no memory for the maps on the GPU", err) : 0;
}

/* Copy to a place of the block, or from its start. 0, or -1 with @err. */
static int cuda_write(struct cuda_gpu *gpu, uint64_t place, const void *data, size_t size,
		      struct gpumon_error *err)
{
	int error = gpu->driver.copy_in(gpu->memory + place, data, size, NULL);

	if (!error)
		error = gpu->driver.wait();
	return error ? refuse(gpu, error, "the maps could not be copied to the GPU", err) : 0;
}
static int cuda_read(struct cuda_gpu *gpu, void *data, size_t size, struct gpumon_error *err)
{
	int error = gpu->driver.copy_out(data, gpu->memory, size, NULL);

	if (!error)
		error = gpu->driver.wait();
	return error ? refuse(gpu, error, "the maps could not be copied from the GPU", err) : 0;
}

/**
 * cuda_module - load kernels
 * @gpu: GPU
 * @ptx: text with a NUL
 * @table: name of a constant array of addresses in it
 * @addresses: content of the array
 * @bytes: of it
 * @err: what the driver's compiler says
 *
 * Return: 0, or -1 with @err.
 */
static int cuda_load_module(struct cuda_gpu *gpu, const char *ptx, const char *table,
			    const void *addresses, size_t bytes, struct gpumon_error *err)
{
	const struct cuda_driver *driver = &gpu->driver;
	char log[LOG_BYTES] = "";
	int options[] = { CUDA_LOG, CUDA_LOG_BYTES };
	void *values[] = { log, (void *)(uintptr_t)sizeof(log) };
	cuda_address_t at;
	size_t size = 0;
	int error = driver->module_load(&gpu->module, ptx, 2, options, values);

	log[sizeof(log) - 1] = '\0';
	if (error)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -EIO, GPUMON_ERROR_REFUSED,
					"the driver does not load the programs: %s: %.*s",
					cuda_error(driver, error), (int)strcspn(log, "\n"), log);
	error = driver->module_global(&at, &size, gpu->module, table);
	if (!error && size >= bytes)
		error = driver->copy_in(at, addresses, bytes, NULL);
	if (!error)
		error = driver->wait();
	return error ? refuse(gpu, error, "the table of maps could not be filled", err) : 0;
}

static int launch(const struct cuda_gpu *gpu, const char *kernel, const uint32_t *grid,
		  const uint32_t *block, cuda_event_t *events)
{
	const struct cuda_driver *driver = &gpu->driver;
	cuda_function_t function;
	int error = driver->module_function(&function, gpu->module, kernel);

	if (!error)
		error = driver->event_record(events[0], NULL);
	if (!error)
		error = driver->launch(function, grid[0], grid[1], grid[2], block[0], block[1],
				       block[2], 0, NULL, NULL, NULL);
	if (!error)
		error = driver->event_record(events[1], NULL);
	return error ? error : driver->wait();
}

/**
 * cuda_run - launch a kernel without parameters, and wait for its end
 * @gpu: GPU with a module
 * @kernel: name
 * @grid: blocks in x, y and z
 * @block: threads of a block in x, y and z
 * @ns: out: how long it ran, by the GPU's clock
 * @err: why it did not run, or not to its end
 *
 * Return: 0, or -1 with @err.
 */
static int cuda_run(struct cuda_gpu *gpu, const char *kernel, const uint32_t *grid,
		    const uint32_t *block, uint64_t *ns, struct gpumon_error *err)
{
	const struct cuda_driver *driver = &gpu->driver;
	cuda_event_t events[2] = { NULL, NULL };
	float ms = 0;
	int error = driver->event_create(&events[0], 0);

	if (!error)
		error = driver->event_create(&events[1], 0);
	if (!error)
		error = launch(gpu, kernel, grid, block, events);
	if (!error)
		error = driver->event_time(&ms, events[0], events[1]);
	for (int i = 0; i < 2; i++)
		if (events[i])
			driver->event_destroy(events[i]);
	*ns = (uint64_t)(ms * NS_OF_MS);
	return error ? refuse(gpu, error, kernel, err) : 0;
}

/**
 * struct launcher - a run
 * @order: programs
 * @options: how often, and so on
 * @layout: memory of the maps
 * @contexts: copy of the memory
 * @number: of the copy in @contexts
 * @run: kernels
 * @gpu: GPU
 * @ran: what was launched
 * @ran_n: how many
 */
struct launcher {
	struct gpumon_gpuprog_order order;
	const struct gpumon_gpuprog_options *options;
	struct gpumon_gpuprog_layout layout;
	struct gpumon_gpuprog_contexts contexts;
	uint32_t number;
	struct gpumon_gpuprog_run run;
	struct cuda_gpu gpu;
	struct gpumon_gpuprog_ran *ran;
	uint32_t ran_n;
};

static int fill_memory(struct launcher *launcher, struct gpumon_error *err)
{
	const struct gpumon_gpuprog_object *object = launcher->order.object;
	const struct gpumon_wire_settings *settings = &launcher->layout.settings;
	uint64_t pid = (uint64_t)getpid() << 32 | (uint64_t)getpid(), print;

	if (cuda_alloc(&launcher->gpu, settings->bytes, err))
		return -1;
	print = launcher->gpu.memory + settings->print;
	for (uint32_t i = 0; i < object->maps_n; i++) {
		uint64_t size = gpumon_gpuprog_content_bytes(&object->maps[i]);

		if (size && cuda_write(&launcher->gpu, settings->places[1 + i],
				       object->maps[i].data, size, err))
			return -1;
	}
	if (cuda_write(&launcher->gpu, settings->pid_place, &pid, sizeof(pid), err))
		return -1;
	return settings->print ? cuda_write(&launcher->gpu, settings->print_place, &print,
					    sizeof(print), err) :
				 0;
}

static int load_kernels(struct launcher *launcher, struct gpumon_error *err)
{
	const struct gpumon_wire_settings *settings = &launcher->layout.settings;
	uint64_t addresses[GPUMON_WIRE_PLACES];
	char *text;
	size_t size;
	FILE *out = gpumon_memstream_open(&text, &size);
	int ret = gpumon_gpuprog_own_write(&launcher->order, &launcher->run, out, err);

	for (uint32_t i = 0; i < settings->places_n; i++)
		addresses[i] = launcher->gpu.memory + settings->places[i];
	gpumon_memstream_close(out);
	if (!ret)
		ret = cuda_load_module(&launcher->gpu, text, GPUMON_GPUPROG_TABLE, addresses,
				       settings->places_n * sizeof(addresses[0]), err);
	free(text);
	return ret;
}

static uint64_t volume(const uint32_t *sides)
{
	return (uint64_t)sides[0] * sides[1] * sides[2];
}

static int run_kernel(struct launcher *launcher, const char *name, struct gpumon_error *err)
{
	const struct gpumon_gpuprog_options *options = launcher->options;
	uint64_t *ns = gpumon_calloc(options->times, sizeof(*ns));
	int ret = 0;

	for (uint32_t i = 0; !ret && i < options->times; i++)
		ret = cuda_run(&launcher->gpu, name, options->grid, options->block, &ns[i], err);
	if (!ret) {
		qsort(ns, options->times, sizeof(*ns), gpumon_by_value);
		launcher->ran[launcher->ran_n++] = (struct gpumon_gpuprog_ran){
			.program = name,
			.blocks = volume(options->grid),
			.threads = volume(options->block),
			.times = options->times,
			.shortest_ns = ns[0],
			.median_ns = ns[options->times / 2],
			.longest_ns = ns[options->times - 1],
		};
	}
	free(ns);
	return ret;
}

static int run_kernels(struct launcher *launcher, struct gpumon_error *err)
{
	const struct gpumon_gpuprog_object *object = launcher->order.object;

	for (uint32_t i = 0; i < object->programs_n; i++)
		if (launcher->order.facts[i] && object->programs[i].point == GPUMON_GPUPROG_RUN &&
		    run_kernel(launcher, object->programs[i].name, err))
			return -1;
	return 0;
}

static int add_context(struct launcher *launcher, struct gpumon_error *err)
{
	char name[160];
	int fd, number;

	snprintf(name, sizeof(name), "GPU %u (%s)", launcher->options->gpu, launcher->gpu.name);
	number = gpumon_gpuprog_contexts_add(&launcher->contexts, name, getpid(), &fd);
	if (number < 0)
		return gpumon_error_memory(err);
	close(fd);
	launcher->number = (uint32_t)number;
	return 0;
}

static int gather(struct launcher *launcher, struct gpumon_error *err)
{
	if (cuda_open(&launcher->gpu, launcher->options->gpu, err) || add_context(launcher, err))
		return -1;
	launcher->order.sm = launcher->gpu.sm;
	if (fill_memory(launcher, err) || load_kernels(launcher, err) ||
	    run_kernels(launcher, err) ||
	    cuda_read(&launcher->gpu, launcher->contexts.contexts[launcher->number].memory,
		      launcher->layout.settings.bytes, err))
		return -1;
	/* The memory goes with the GPU's context, whose rings are not written any more. */
	gpumon_gpuprog_contexts_copied(&launcher->contexts, launcher->number, true, NULL, NULL);
	return 0;
}

static int show_gathered(struct gpumon_context *context, const struct launcher *launcher,
			 struct gpumon_error *err)
{
	struct gpumon_gpuprog_device *devices =
		gpumon_gpuprog_contexts_devices(&launcher->contexts);
	const struct gpumon_gpuprog_result result = {
		.tool = launcher->options->tool,
		.object = launcher->order.object,
		.run = &launcher->run,
		.devices = devices,
		.devices_n = launcher->contexts.contexts_n,
		.records = launcher->contexts.records,
		.prints = &launcher->contexts.prints,
		.ran = launcher->ran,
		.ran_n = launcher->ran_n,
	};
	int ret = gpumon_gpuprog_show_findings(context, gpumon_gpuprog_findings(&result), err);

	free(devices);
	return ret;
}

static int run_launcher(struct gpumon_context *context, struct launcher *launcher,
			struct gpumon_error *err)
{
	int ret;

	launcher->ran =
		gpumon_calloc(gpumon_gpuprog_own_n(&launcher->order), sizeof(*launcher->ran));
	gpumon_gpuprog_contexts_init(&launcher->contexts, launcher->order.object,
				     &launcher->layout);
	ret = gather(launcher, err);
	if (!ret)
		ret = show_gathered(context, launcher, err);
	cuda_close(&launcher->gpu);
	gpumon_gpuprog_contexts_clear(&launcher->contexts);
	gpumon_gpuprog_run_clear(&launcher->run);
	free(launcher->ran);
	return ret;
}

int gpumon_gpuprog_run_own_kernels(struct gpumon_context *context,
				   const struct gpumon_gpuprog_check *check,
				   const struct gpumon_gpuprog_options *options)
{
	struct launcher *launcher = gpumon_calloc(1, sizeof(*launcher));
	struct gpumon_error err;
	int ret = -1;

	launcher->options = options;
	launcher->order = (struct gpumon_gpuprog_order){
		.object = &check->object,
		.facts = check->facts,
		.own = true,
		.shards = GPUMON_GPUPROG_SHARDS,
		.fuel = options->fuel ? options->fuel : GPUMON_GPUPROG_FUEL,
	};
	if (!gpumon_gpuprog_own_n(&launcher->order))
		gpumon_error_set(
			&err, GPUMON_EXIT_USAGE, -EINVAL, GPUMON_ERROR_REFUSED,
			"no program of it is a kernel of its own (gpu/run): name a program to run after --");
	else if (!gpumon_gpuprog_layout_make(&check->object, GPUMON_GPUPROG_SHARDS, 0, 0,
					     &launcher->layout, &err)) {
		ret = run_launcher(context, launcher, &err);
		gpumon_gpuprog_layout_clear(&launcher->layout);
	}
	free(launcher);
	return ret ? gpumon_report(context, &err) : GPUMON_EXIT_OK;
}
