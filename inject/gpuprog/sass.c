// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <cupti.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/inject.h"
#include "base/prepared.h"
#include "context.h"
#include "driver.h"
#include "kernels.h"
#include "loader.h"
#include "requests.h"
#include "sass.h"

struct inject_sanitizer inject_sanitizer;

/**
 * load_sanitizer - load the library
 * @path: of it
 * @why: out: why not; valid until the next call
 *
 * Return: false where it cannot be loaded, or lacks a function.
 */
static bool load_sanitizer(const char *path, const char **why)
{
	static char text[200];
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const char *error = handle ? NULL : dlerror();

	*why = text;
	if (!handle) {
		snprintf(text, sizeof(text), "the sanitizer's library cannot be loaded: %.140s",
			 error ? error : path);
		return false;
	}
#define FIND(member, symbol, parameters)                                                        \
	inject_sanitizer.member = (__typeof__(inject_sanitizer.member))dlsym(handle, symbol);   \
	if (!inject_sanitizer.member) {                                                         \
		snprintf(text, sizeof(text), "%.120s has no %s: take that of CUDA 12 or later", \
			 path, symbol);                                                         \
		return false;                                                                   \
	}
	INJECT_SANITIZER(FIND)
#undef FIND
	return true;
}

/*
 * The driver holds locks while it says that a module was loaded, so what is called from there waits for
 * nothing that another thread holds during a call of CUDA.
 */

/* A module with more kernels than this gets the data of each when the program needs that kernel. */
#define AT_ONCE 64
/* More functions than the driver has. */
#define CALLS_MAX 2048

/**
 * struct patches - functions for patches in a context
 * @context: NULL: it has ended
 * @points: what is patched
 * @points_n: how many; 0: there are none, and the context's modules are left alone
 */
struct patches {
	CUcontext context;
	struct gpumon_wire_point points[GPUMON_WIRE_POINTS];
	uint32_t points_n;
};

static inject_sanitizer_subscriber_t subscriber;

/* Held during the sanitizer's calls, and for the variables below. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct patches *all_patches;
static size_t patches_n, patches_room;
static struct inject_patched_module *modules;
static size_t modules_n, modules_room;

/* Locked. Bring the functions into a context. Tells the user why there are none. */
static void add_functions(struct patches *patches)
{
	struct gpumon_wire_answer answer;
	void *code = inject_gpuprog_ask_patches(inject_gpuprog_current_sm(), &answer);
	int result;

	if (!code)
		return;
	result = inject_sanitizer.add_patches(code, patches->context);
	munmap(code, answer.size);
	if (result != INJECT_SANITIZER_SUCCESS) {
		inject_gpuprog_tell_unable(
			"the sanitizer refuses the programs (error %d): kernels of "
			"process %d are left alone. Use the sanitizer and the "
			"assembler of the same CUDA",
			result, (int)getpid());
		return;
	}
	memcpy(patches->points, answer.points, sizeof(patches->points));
	patches->points_n = answer.count;
}

/* Locked. NULL: no memory. */
static struct patches *find_patches(CUcontext context)
{
	struct patches *patches = NULL;

	for (size_t i = 0; i < patches_n; i++) {
		if (all_patches[i].context == context)
			return &all_patches[i];
		if (!all_patches[i].context)
			patches = &all_patches[i];
	}
	if (!patches &&
	    !inject_grow((void **)&all_patches, &patches_room, patches_n + 1, sizeof(*patches)))
		return NULL;
	if (!patches)
		patches = &all_patches[patches_n++];
	*patches = (struct patches){ .context = context };
	add_functions(patches);
	return patches;
}

/* Locked. Returns why an instruction is not patched; one that an older sanitizer does not know is left out. */
static int patch_point(CUmodule module, const struct gpumon_wire_point *point)
{
	int result = inject_sanitizer.patch_instructions((int)point->instruction, module,
							 point->function);

	if (!result || point->instruction <= INJECT_SANITIZER_BARRIER)
		return result;
	inject_gpuprog_tell("this sanitizer does not know asynchronous copies, or shared memory of "
			    "other blocks: they are not seen in machine code. Use that of CUDA 13");
	return INJECT_SANITIZER_SUCCESS;
}

/* Locked. */
static bool patch(const struct inject_patched_module *module, const struct patches *patches)
{
	int result = INJECT_SANITIZER_SUCCESS;
	uint64_t begin = inject_now();

	for (uint32_t i = 0; i < patches->points_n && !result; i++)
		result = patch_point(module->module, &patches->points[i]);
	if (!result)
		result = inject_sanitizer.patch_module(module->module);
	if (!result)
		inject_gpuprog_say_loaded(module->number, GPUMON_WIRE_PATCHED,
					  inject_now() - begin);
	else
		inject_gpuprog_tell_unable(
			"a module of process %d cannot be patched (error %d of the "
			"sanitizer): its kernels are left alone",
			(int)getpid(), result);
	return !result;
}

/* Locked, in the context. */
static void set_data(const struct inject_patched_module *module, CUfunction function,
		     const struct gpumon_wire_kernel *kernel)
{
	CUdeviceptr data = inject_kernels_data(module->context, kernel);

	if (data && !inject_sanitizer.set_callback_data(function, (void *)data))
		return;
	inject_gpuprog_tell("a patched kernel of process %d could not be given its maps: it is not "
			    "counted",
			    (int)getpid());
	/* The kernel may be counted in another context. */
	if (!inject_kernels_elsewhere(module->context, kernel->number))
		inject_gpuprog_say(GPUMON_WIRE_NOT_PATCHED, kernel->number);
}

/* Locked, in the context. */
static void set_all(const struct inject_patched_module *module)
{
	struct gpumon_wire_kernel kernel;
	CUfunction function;
	const char *name;
	size_t at = 0;

	while (inject_kernels_next(module->kernels, module->size, &at, &kernel, &name))
		if (inject_gpuprog_driver.module_function(&function, module->module, name) ==
		    CUDA_SUCCESS)
			set_data(module, function, &kernel);
}

/* Locked. NULL: no memory. */
static struct inject_patched_module *add_module(void)
{
	for (size_t i = 0; i < modules_n; i++)
		if (!modules[i].context)
			return &modules[i];
	if (!inject_grow((void **)&modules, &modules_room, modules_n + 1, sizeof(*modules)))
		return NULL;
	return &modules[modules_n++];
}

static void forget_module(struct inject_patched_module *module)
{
	munmap(module->kernels, module->size);
	*module = (struct inject_patched_module){ .context = NULL };
}

/* Report all kernels of a module as left alone, and forget the module. */
static void leave_module(const struct inject_patched_module *module)
{
	struct gpumon_wire_kernel kernel;
	const char *name;
	size_t at = 0;

	while (inject_kernels_next(module->kernels, module->size, &at, &kernel, &name))
		inject_gpuprog_say(GPUMON_WIRE_NOT_PATCHED, kernel.number);
	munmap(module->kernels, module->size);
}

/* Locked, in the context. */
static void begin_module(const struct inject_patched_module *loaded)
{
	const struct patches *patches = find_patches(loaded->context);
	struct inject_patched_module *module = add_module();

	if (!module || !patches || !patches->points_n || !patch(loaded, patches)) {
		leave_module(loaded);
		return;
	}
	*module = *loaded;
	if (module->n <= AT_ONCE || !inject_gpuprog_driver.function_name)
		set_all(module);
}

static void module_loaded(const struct inject_sanitizer_module *data)
{
	struct inject_patched_module module = { .context = data->context, .module = data->module };
	struct gpumon_wire_answer answer;
	CUcontext popped;

	if (!data->cubin || !data->size)
		return;
	module.kernels = inject_gpuprog_ask_kernels(data->cubin, data->size, &answer);
	if (!module.kernels)
		return;
	module.size = answer.size;
	module.n = answer.count;
	module.number = answer.module;
	if (inject_gpuprog_driver.context_push(data->context) != CUDA_SUCCESS) {
		leave_module(&module);
		return;
	}
	pthread_mutex_lock(&lock);
	begin_module(&module);
	pthread_mutex_unlock(&lock);
	inject_gpuprog_driver.context_pop(&popped);
}

static void module_unloads(const struct inject_sanitizer_module *data)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < modules_n; i++)
		if (modules[i].context == data->context && modules[i].module == data->module)
			forget_module(&modules[i]);
	pthread_mutex_unlock(&lock);
}

/* The driver loaded functions that it had left out when it loaded the module. */
static void functions_loaded(const struct inject_sanitizer_functions *data)
{
	struct gpumon_wire_kernel kernel;
	CUcontext popped;
	const char *name;

	if (!inject_gpuprog_driver.function_name ||
	    inject_gpuprog_driver.context_push(data->context) != CUDA_SUCCESS)
		return;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < modules_n; i++) {
		if (modules[i].context != data->context || modules[i].module != data->module)
			continue;
		for (uint32_t j = 0; j < data->n; j++)
			if (inject_gpuprog_driver.function_name(&name, data->functions[j]) ==
				    CUDA_SUCCESS &&
			    inject_kernels_find(&modules[i], name, &kernel))
				set_data(&modules[i], data->functions[j], &kernel);
	}
	pthread_mutex_unlock(&lock);
	inject_gpuprog_driver.context_pop(&popped);
}

static void context_ends(CUcontext context)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < patches_n; i++)
		if (all_patches[i].context == context)
			all_patches[i].context = NULL;
	for (size_t i = 0; i < modules_n; i++)
		if (modules[i].context == context)
			forget_module(&modules[i]);
	inject_kernels_forget(context);
	pthread_mutex_unlock(&lock);
}

static void on_resource(uint32_t id, const void *data)
{
	struct inject_gpuprog_inside inside;

	inject_gpuprog_inside_begin(&inside);
	switch (id) {
	case INJECT_SANITIZER_MODULE_LOADED:
		module_loaded(data);
		break;
	case INJECT_SANITIZER_MODULE_UNLOAD_STARTING:
		module_unloads(data);
		break;
	case INJECT_SANITIZER_FUNCTIONS_LAZY_LOADED:
		functions_loaded(data);
		break;
	case INJECT_SANITIZER_CONTEXT_DESTROY_STARTING:
		context_ends(((const struct inject_sanitizer_context *)data)->context);
		break;
	default:
		break;
	}
	inject_gpuprog_inside_end(&inside);
}

static void on_call(uint32_t id, const struct inject_sanitizer_call *data)
{
	/* State by the callback's id plus 1. */
	static _Atomic uint8_t known[CALLS_MAX];
	enum inject_gpuprog_call call;

	if (id >= CALLS_MAX)
		return;
	call = atomic_load_explicit(&known[id], memory_order_relaxed);
	if (INJECT_UNLIKELY(!call--)) {
		call = inject_gpuprog_classify(data->function);
		atomic_store_explicit(&known[id], (uint8_t)(call + 1), memory_order_relaxed);
	}
	if (!data->site)
		inject_gpuprog_call_begins(call, (void *)(uintptr_t)data->parameters);
	else
		inject_gpuprog_call_ends(call, (void *)(uintptr_t)data->parameters,
					 data->result &&
						 *(const int *)data->result == CUDA_SUCCESS);
}

static void on_event(void *user, int domain, uint32_t id, const void *data)
{
	int kept = errno;

	(void)user;
	if (inject_gpuprog_is_inside() || !inject_gpuprog_is_active())
		return;
	if (domain == INJECT_SANITIZER_RESOURCE)
		on_resource(id, data);
	else if (domain == INJECT_SANITIZER_DRIVER_API)
		on_call(id, data);
	errno = kept;
}

/*
 * Callback ids that are not in the headers of CUDA 11: they have been the same since there are such
 * functions (cupti_driver_cbid.h of CUDA 13.0).
 */
#define CBID_cuLibraryLoadData	   678
#define CBID_cuLibraryLoadFromFile 679
#define CBID_cuLibraryUnload	   680
#define CBID_cuCtxSynchronize_v2   800

/* Calls that load images: they are exchanged. */
static const uint32_t loads[] = {
	CUPTI_DRIVER_TRACE_CBID_cuModuleLoad,
	CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData,
	CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx,
	CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary,
	CBID_cuLibraryLoadData,
	CBID_cuLibraryLoadFromFile,
	CUPTI_DRIVER_TRACE_CBID_cuLinkAddData,
	CUPTI_DRIVER_TRACE_CBID_cuLinkAddData_v2,
	CUPTI_DRIVER_TRACE_CBID_cuLinkAddFile,
	CUPTI_DRIVER_TRACE_CBID_cuLinkAddFile_v2,
};

/* Launches, calls after which maps are copied, and those that end modules and contexts. */
static const uint32_t calls[] = {
	CUPTI_DRIVER_TRACE_CBID_cuModuleUnload,
	CBID_cuLibraryUnload,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice,
	CUPTI_DRIVER_TRACE_CBID_cuLaunch,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync,
	CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
	CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
	CBID_cuCtxSynchronize_v2,
	CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize,
	CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,
	CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz,
	CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2_ptds,
	CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy,
	CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2,
	CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease,
	CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2,
	CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset,
	CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2,
};

static const uint32_t resources[] = {
	INJECT_SANITIZER_MODULE_LOADED,
	INJECT_SANITIZER_MODULE_UNLOAD_STARTING,
	INJECT_SANITIZER_FUNCTIONS_LAZY_LOADED,
	INJECT_SANITIZER_CONTEXT_DESTROY_STARTING,
};

/* If one of these functions is missing, less is exchanged, or copies are rarer. */
static void enable_calls(const uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		inject_sanitizer.enable_callback(1, subscriber, INJECT_SANITIZER_DRIVER_API,
						 ids[i]);
}

bool inject_gpuprog_sass_begin(const char **why)
{
	int result;

	if (!load_sanitizer(inject_gpuprog_settings.sanitizer, why) ||
	    !inject_gpuprog_driver_load(why))
		return false;
	result = inject_sanitizer.subscribe(&subscriber, on_event, NULL);
	for (size_t i = 0; !result && i < sizeof(resources) / sizeof(resources[0]); i++)
		result = inject_sanitizer.enable_callback(1, subscriber, INJECT_SANITIZER_RESOURCE,
							  resources[i]);
	if (!result) {
		enable_calls(calls, sizeof(calls) / sizeof(calls[0]));
		if (inject_gpuprog_settings.way == GPUMON_WIRE_WAY_EACH)
			enable_calls(loads, sizeof(loads) / sizeof(loads[0]));
		return true;
	}
	*why = result == INJECT_SANITIZER_MAX_LIMIT_REACHED ?
		       "another tool holds the sanitizer or CUPTI, which serve one at a time: run the program without it" :
		       "the sanitizer does not work with this driver: use that of the driver's CUDA, or a newer one (--sanitizer)";
	if (subscriber)
		inject_sanitizer.unsubscribe(subscriber);
	subscriber = NULL;
	return false;
}
