// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <pthread.h>
#include <stdatomic.h>

#include "base/inject.h"
#include "driver.h"
#include "launches.h"
#include "requests.h"

/* A power of two: kernels of a program that are known at a time. */
#define KERNELS 16384
#define WAYS	16

/**
 * struct kernel - a kernel by its handle
 * @handle: written last; NULL: empty
 * @number: in launches
 */
struct kernel {
	_Atomic(void *) handle;
	uint32_t number;
};

static struct gpumon_wire_launches *launches;
static struct kernel kernels[KERNELS + WAYS];
static pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER;
static uint32_t named;

void inject_gpuprog_launches_begin(void)
{
	launches = inject_gpuprog_ask_launches();
}

static struct kernel *home_of(const void *handle)
{
	return &kernels[((uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15ull >> 40) % KERNELS];
}

static uint32_t find_number(const void *handle)
{
	struct kernel *kernel = home_of(handle);

	for (int i = 0; i < WAYS; i++, kernel++)
		if (atomic_load_explicit(&kernel->handle, memory_order_acquire) == handle)
			return kernel->number;
	return 0;
}

static const char *name_of(void *handle)
{
	const struct inject_gpuprog_driver *driver = &inject_gpuprog_driver;
	const char *name = NULL;

	if (driver->function_name && driver->function_name(&name, handle) == CUDA_SUCCESS && name)
		return name;
	if (driver->kernel_name && driver->kernel_name(&name, handle) == CUDA_SUCCESS && name)
		return name;
	return NULL;
}

/* A number for a kernel that has none; 0: its name is not known, or there is no room. */
static uint32_t give_number(void *handle)
{
	struct kernel *kernel = home_of(handle);
	struct inject_gpuprog_inside inside;
	const char *name;
	uint32_t number;

	inject_gpuprog_inside_begin(&inside);
	pthread_mutex_lock(&naming);
	number = find_number(handle);
	name = number ? NULL : name_of(handle);
	for (int i = 0; name && !number && i < WAYS; i++, kernel++) {
		if (atomic_load(&kernel->handle))
			continue;
		number = ++named;
		kernel->number = number;
		atomic_store_explicit(&kernel->handle, handle, memory_order_release);
		inject_gpuprog_say_name(number, name);
	}
	pthread_mutex_unlock(&naming);
	inject_gpuprog_inside_end(&inside);
	return number;
}

void inject_gpuprog_launch_unknown(void)
{
	if (launches)
		__atomic_fetch_add(&launches->unknown, 1, __ATOMIC_RELAXED);
}

void inject_gpuprog_launch_add(void *function, unsigned int context, uint64_t ns)
{
	struct gpumon_wire_launch *launch;
	uint32_t number;
	uint64_t at;

	if (!launches || !function)
		return;
	number = find_number(function);
	if (INJECT_UNLIKELY(!number))
		number = give_number(function);
	if (INJECT_UNLIKELY(!number)) {
		inject_gpuprog_launch_unknown();
		return;
	}
	at = __atomic_fetch_add(&launches->count, 1, __ATOMIC_RELAXED);
	if (at >= GPUMON_WIRE_LAUNCHES_MAX)
		return;
	launch = &launches->launches[at];
	launch->ns = ns;
	launch->context = context;
	__atomic_store_n(&launch->kernel, number, __ATOMIC_RELEASE);
}

bool inject_gpuprog_launches_number(uint64_t *number)
{
	if (!launches)
		return false;
	*number = __atomic_load_n(&launches->count, __ATOMIC_RELAXED) +
		  __atomic_load_n(&launches->unknown, __ATOMIC_RELAXED);
	return true;
}

void inject_gpuprog_launches_forget(void)
{
	pthread_mutex_lock(&naming);
	for (size_t i = 0; i < KERNELS + WAYS; i++)
		atomic_store(&kernels[i].handle, NULL);
	pthread_mutex_unlock(&naming);
}
