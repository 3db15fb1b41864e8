// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdatomic.h>

#include "cupti/library.h"
#include "driver.h"

struct inject_gpuprog_driver inject_gpuprog_driver;

static _Atomic bool active;

static __thread unsigned int depth __attribute__((tls_model("initial-exec")));

bool inject_gpuprog_driver_load(const char **why)
{
	struct inject_gpuprog_driver *driver = &inject_gpuprog_driver;

	*why = "the driver of CUDA is too old for programs in kernels";
#define FIND(member, symbol, parameters) \
	driver->member = (__typeof__(driver->member))inject_cuda_symbol(symbol);
#define NEED(member, symbol, parameters) \
	FIND(member, symbol, parameters) \
	if (!driver->member)             \
		return false;
	INJECT_GPUPROG_DRIVER(NEED)
	INJECT_GPUPROG_DRIVER_12(FIND)
#undef NEED
#undef FIND
	return true;
}

unsigned int inject_gpuprog_current_sm(void)
{
	int major = 0, minor = 0;
	CUdevice device;

	if (inject_gpuprog_driver.context_device(&device) != CUDA_SUCCESS ||
	    inject_gpuprog_driver.device_attribute(
		    &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) != CUDA_SUCCESS ||
	    inject_gpuprog_driver.device_attribute(
		    &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) != CUDA_SUCCESS)
		return 0;
	return (unsigned int)(major * 10 + minor);
}

void inject_gpuprog_inside_begin(struct inject_gpuprog_inside *inside)
{
	depth++;
	inside->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	inject_gpuprog_driver.capture_mode(&inside->mode);
}

void inject_gpuprog_inside_end(struct inject_gpuprog_inside *inside)
{
	inject_gpuprog_driver.capture_mode(&inside->mode);
	depth--;
}

bool inject_gpuprog_is_inside(void)
{
	return depth > 0;
}

bool inject_gpuprog_is_active(void)
{
	return atomic_load_explicit(&active, memory_order_relaxed);
}

void inject_gpuprog_set_active(bool is_active)
{
	atomic_store(&active, is_active);
}
