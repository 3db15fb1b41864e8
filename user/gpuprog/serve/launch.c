// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <string.h>

#include "launch.h"

#define LOG_BYTES 2048
#define NS_OF_MS  1e6f
#define SHARE	  2 /* of the GPU's free memory, one part stays free */

static int refuse_with(const struct gpumon_cuda_gpu *gpu, int status, int error, const char *what,
		       struct gpumon_error *err)
{
	return gpumon_error_set(err, status, -EIO, GPUMON_ERROR_REFUSED, "%s: %s", what,
				gpumon_cuda_error(&gpu->driver, error));
}

static int refuse(const struct gpumon_cuda_gpu *gpu, int error, const char *what,
		  struct gpumon_error *err)
{
	return refuse_with(gpu, GPUMON_EXIT_FAILED, error, what, err);
}

/* This machine is why. */
static int refuse_machine(const struct gpumon_cuda_gpu *gpu, int error, struct gpumon_error *err)
{
	return refuse_with(gpu, GPUMON_EXIT_IMPOSSIBLE, error, "no GPU can be used", err);
}

static int find_device(struct gpumon_cuda_gpu *gpu, uint32_t number, struct gpumon_error *err)
{
	const struct gpumon_cuda_driver *driver = &gpu->driver;
	int count = 0, error = driver->device_count(&count);

	if (!error && number >= (uint32_t)count)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ENODEV, GPUMON_ERROR_REFUSED,
					"there is no GPU %u, the driver has %d: see --gpu", number,
					count);
	if (!error)
		error = driver->device_get(&gpu->device, (int)number);
	return error ? refuse_machine(gpu, error, err) : 0;
}

int gpumon_cuda_open(struct gpumon_cuda_gpu *gpu, uint32_t number, struct gpumon_error *err)
{
	const struct gpumon_cuda_driver *driver = &gpu->driver;
	gpumon_cuda_context_t context;
	int major = 0, minor = 0, error;

	memset(gpu, 0, sizeof(*gpu));
	if (gpumon_cuda_load(&gpu->driver, err))
		return -1;
	error = driver->init(0);
	if (error)
		return refuse_machine(gpu, error, err);
	if (find_device(gpu, number, err))
		return -1;
	driver->device_name(gpu->name, (int)sizeof(gpu->name), gpu->device);
	driver->device_attribute(&major, GPUMON_CUDA_MAJOR, gpu->device);
	driver->device_attribute(&minor, GPUMON_CUDA_MINOR, gpu->device);
	gpu->sm = (uint32_t)(major * 10 + minor);
	error = driver->primary_retain(&context, gpu->device);
	gpu->retained = !error;
	if (!error)
		error = driver->context_set(context);
	return error ? refuse(gpu, error, "no context on the GPU", err) : 0;
}

void gpumon_cuda_close(struct gpumon_cuda_gpu *gpu)
{
	if (gpu->memory)
		gpu->driver.free(gpu->memory);
	if (gpu->retained)
		gpu->driver.primary_release(gpu->device);
	memset(gpu, 0, sizeof(*gpu));
}

int gpumon_cuda_alloc(struct gpumon_cuda_gpu *gpu, uint64_t bytes, struct gpumon_error *err)
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

int gpumon_cuda_write(struct gpumon_cuda_gpu *gpu, uint64_t place, const void *data, size_t size,
		      struct gpumon_error *err)
{
	int error = gpu->driver.copy_in(gpu->memory + place, data, size, NULL);

	if (!error)
		error = gpu->driver.wait();
	return error ? refuse(gpu, error, "the maps could not be copied to the GPU", err) : 0;
}

int gpumon_cuda_read(struct gpumon_cuda_gpu *gpu, void *data, size_t size, struct gpumon_error *err)
{
	int error = gpu->driver.copy_out(data, gpu->memory, size, NULL);

	if (!error)
		error = gpu->driver.wait();
	return error ? refuse(gpu, error, "the maps could not be copied from the GPU", err) : 0;
}

int gpumon_cuda_module(struct gpumon_cuda_gpu *gpu, const char *ptx, const char *table,
		       const void *addresses, size_t bytes, struct gpumon_error *err)
{
	const struct gpumon_cuda_driver *driver = &gpu->driver;
	char log[LOG_BYTES] = "";
	int options[] = { GPUMON_CUDA_LOG, GPUMON_CUDA_LOG_BYTES };
	void *values[] = { log, (void *)(uintptr_t)sizeof(log) };
	gpumon_cuda_address_t at;
	size_t size = 0;
	int error = driver->module_load(&gpu->module, ptx, 2, options, values);

	log[sizeof(log) - 1] = '\0';
	if (error)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -EIO, GPUMON_ERROR_REFUSED,
					"the driver does not load the programs: %s: %.*s",
					gpumon_cuda_error(driver, error), (int)strcspn(log, "\n"),
					log);
	error = driver->module_global(&at, &size, gpu->module, table);
	if (!error && size >= bytes)
		error = driver->copy_in(at, addresses, bytes, NULL);
	if (!error)
		error = driver->wait();
	return error ? refuse(gpu, error, "the table of maps could not be filled", err) : 0;
}

static int launch(const struct gpumon_cuda_gpu *gpu, const char *kernel, const uint32_t *grid,
		  const uint32_t *block, gpumon_cuda_event_t *events)
{
	const struct gpumon_cuda_driver *driver = &gpu->driver;
	gpumon_cuda_function_t function;
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

int gpumon_cuda_run(struct gpumon_cuda_gpu *gpu, const char *kernel, const uint32_t *grid,
		    const uint32_t *block, uint64_t *ns, struct gpumon_error *err)
{
	const struct gpumon_cuda_driver *driver = &gpu->driver;
	gpumon_cuda_event_t events[2] = { NULL, NULL };
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
