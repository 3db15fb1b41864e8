// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/inject.h"
#include "context.h"
#include "image.h"
#include "launches.h"
#include "loader.h"
#include "replace.h"
#include "requests.h"

/* Larger containers with machine code only are not sent to be named. */
#define SASS_MAX (16u << 20)

/* The first parameters of each loader, which have been the same since CUDA 11. */
struct load {
	void **handle;
	const void *image; /* or a path */
};

struct link {
	CUlinkState state;
	CUjitInputType type;
	void *data; /* or a path */
	size_t size;
};

struct one_handle {
	void *handle;
};

struct launch_ex {
	const CUlaunchConfig *config;
	void *function;
};

struct launch_cooperative {
	void *function;
	unsigned int grid[3];
	unsigned int block[3];
	unsigned int shared_bytes;
};

struct one_device {
	CUdevice device;
};

/**
 * struct exchange - the load that this thread is in
 * @depth: loaders within loaders: only the outermost counts
 * @image: the new image
 * @path: of its file, for loaders of files
 * @waiting: kernel of a launch whose context may get its memory while it loads the kernel, or NULL
 * @waiting_ns: when it began
 */
struct exchange {
	unsigned int depth;
	struct inject_new_image image;
	char path[32];
	void *waiting;
	uint64_t waiting_ns;
};

/*
 * State of a thread that has loaded something. A library that is loaded late has little room for
 * variables of threads.
 */
static __thread struct exchange *loading __attribute__((tls_model("initial-exec")));
/* Something was linked with programs in it: cubins may have the table, too. */
static _Atomic bool links;

enum inject_gpuprog_call inject_gpuprog_classify(const char *name)
{
	static const struct {
		const char *name;
		enum inject_gpuprog_call call;
	} calls[] = {
		{ "cuModuleLoadDataEx", INJECT_GPUPROG_LOAD_MODULE },
		{ "cuModuleLoadData", INJECT_GPUPROG_LOAD_MODULE },
		{ "cuModuleLoadFatBinary", INJECT_GPUPROG_LOAD_MODULE },
		{ "cuModuleLoad", INJECT_GPUPROG_LOAD_MODULE_FILE },
		{ "cuLibraryLoadData", INJECT_GPUPROG_LOAD_LIBRARY },
		{ "cuLibraryLoadFromFile", INJECT_GPUPROG_LOAD_LIBRARY_FILE },
		{ "cuLinkAddData", INJECT_GPUPROG_LINK },
		{ "cuLinkAddData_v2", INJECT_GPUPROG_LINK },
		{ "cuLinkAddFile", INJECT_GPUPROG_LINK_FILE },
		{ "cuLinkAddFile_v2", INJECT_GPUPROG_LINK_FILE },
		{ "cuModuleUnload", INJECT_GPUPROG_UNLOAD_MODULE },
		{ "cuLibraryUnload", INJECT_GPUPROG_UNLOAD_LIBRARY },
		{ "cuCtxDestroy", INJECT_GPUPROG_CONTEXT_DESTROY },
		{ "cuCtxDestroy_v2", INJECT_GPUPROG_CONTEXT_DESTROY },
		{ "cuDevicePrimaryCtxRelease", INJECT_GPUPROG_PRIMARY_RELEASE },
		{ "cuDevicePrimaryCtxRelease_v2", INJECT_GPUPROG_PRIMARY_RELEASE },
		{ "cuDevicePrimaryCtxReset", INJECT_GPUPROG_PRIMARY_RESET },
		{ "cuDevicePrimaryCtxReset_v2", INJECT_GPUPROG_PRIMARY_RESET },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(name, calls[i].name) == 0)
			return calls[i].call;
	if (strstr(name, "Synchronize") || strncmp(name, "cuMemcpyDtoH", 12) == 0)
		return INJECT_GPUPROG_SYNCHRONISE;
	if (strncmp(name, "cuLaunchKernelEx", 16) == 0)
		return INJECT_GPUPROG_LAUNCH_EX;
	if (strncmp(name, "cuLaunchKernel", 14) == 0)
		return INJECT_GPUPROG_LAUNCH;
	if (strncmp(name, "cuLaunchCooperativeKernel", 25) == 0 && !strstr(name, "Multi"))
		return INJECT_GPUPROG_LAUNCH_COOPERATIVE;
	if ((strncmp(name, "cuLaunch", 8) == 0 && !strstr(name, "HostFunc")) ||
	    strncmp(name, "cuGraphLaunch", 13) == 0)
		return INJECT_GPUPROG_LAUNCH_OTHER;
	return INJECT_GPUPROG_NONE;
}

static bool is_library(enum inject_gpuprog_call call)
{
	return call == INJECT_GPUPROG_LOAD_LIBRARY || call == INJECT_GPUPROG_LOAD_LIBRARY_FILE;
}

/* The new image is one that was seen to load. */
static void exchange_image(const struct inject_image *image)
{
	if (image->size && (image->has_ptx || image->size <= SASS_MAX))
		inject_gpuprog_trial(image, &loading->image);
}

static void exchange_data(struct load *load)
{
	struct inject_image image;

	if (!inject_image_find(load->image, INJECT_IMAGE_ROOM, &image))
		return;
	inject_image_locate(&image);
	exchange_image(&image);
	inject_new_image_close(&loading->image);
	if (loading->image.data)
		load->image = loading->image.data;
}

/* The file's content, with a NUL behind it: a PTX text ends with one. */
static void *read_file(const char *path, size_t *size)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
	void *memory = MAP_FAILED;
	off_t done = 0;
	ssize_t length = 1;

	if (end > 0 && inject_gpuprog_is_taken((size_t)end + 1))
		memory = mmap(NULL, (size_t)end + 1, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (memory != MAP_FAILED && done < end && length > 0) {
		length = pread(fd, (char *)memory + done, (size_t)(end - done), done);
		done += length > 0 ? length : 0;
	}
	if (fd >= 0)
		close(fd);
	if (memory == MAP_FAILED)
		return NULL;
	/* The part that is there so far might load, but lack kernels. */
	if (done < end) {
		munmap(memory, (size_t)end + 1);
		return NULL;
	}
	*size = (size_t)end + 1;
	return memory;
}

/* @exchange: what to do with its content. */
static const char *exchange_file(const char *path,
				 void (*exchange)(const struct inject_image *image))
{
	struct inject_image image;
	size_t size;
	void *content = read_file(path, &size);

	if (!content)
		return path;
	if (inject_image_find(content, size, &image)) {
		inject_image_name(&image, path);
		exchange(&image);
	}
	munmap(content, size);
	if (!loading->image.data)
		return path;
	snprintf(loading->path, sizeof(loading->path), "/proc/self/fd/%d", loading->image.fd);
	return loading->path;
}

/* A part of a module, which may not load by itself. */
static void exchange_part(const struct inject_image *image)
{
	inject_gpuprog_replace(image, &loading->image);
}

static void exchange_link(struct link *link, bool is_file)
{
	struct inject_image image = { .data = link->data, .size = link->size, .has_ptx = true };

	if (link->type != CU_JIT_INPUT_PTX && link->type != CU_JIT_INPUT_FATBINARY)
		return;
	if (is_file) {
		link->data = (void *)exchange_file(link->data, exchange_part);
		return;
	}
	if (link->type == CU_JIT_INPUT_FATBINARY &&
	    !inject_image_find(link->data, INJECT_IMAGE_ROOM, &image))
		return;
	inject_image_locate(&image);
	exchange_part(&image);
	inject_new_image_close(&loading->image);
	if (!loading->image.data)
		return;
	link->data = loading->image.data;
	link->size = loading->image.size;
}

/* The primary context that this thread releases or resets. */
static __thread CUcontext ending __attribute__((tls_model("initial-exec")));

/* NULL: nobody uses it. */
static CUcontext primary_context(CUdevice device)
{
	struct inject_gpuprog_inside inside;
	CUcontext context = NULL;
	unsigned int flags;
	int is_active = 0;

	inject_gpuprog_inside_begin(&inside);
	if (inject_gpuprog_driver.primary_state(device, &flags, &is_active) == CUDA_SUCCESS &&
	    is_active && inject_gpuprog_driver.primary_retain(&context, device) == CUDA_SUCCESS)
		inject_gpuprog_driver.primary_release(device);
	else
		context = NULL;
	inject_gpuprog_inside_end(&inside);
	return context;
}

static bool has_exchange(void)
{
	if (!loading)
		loading = mmap(NULL, sizeof(*loading), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (loading == MAP_FAILED)
		loading = NULL;
	return loading;
}

static void launch_begins(void *function)
{
	uint64_t now = inject_now();
	int context = inject_gpuprog_fill();

	if (context >= 0) {
		inject_gpuprog_launch_add(function, (unsigned int)context, now);
	} else if (has_exchange()) {
		loading->waiting = function;
		loading->waiting_ns = now;
	}
}

static void launch_ends(void)
{
	int context;

	if (!loading || !loading->waiting)
		return;
	context = inject_gpuprog_fill();
	if (context >= 0)
		inject_gpuprog_launch_add(loading->waiting, (unsigned int)context,
					  loading->waiting_ns);
	loading->waiting = NULL;
}

/*
 * A cooperative launch has failed. Kernels that are seen to wait for their grid have as many blocks on the GPU as
 * without programs, but others may be launched so, too.
 */
static void explain_cooperative(const struct launch_cooperative *launch)
{
	uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
	uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
	struct inject_gpuprog_inside inside;
	int resident = 0, processors = 0;
	CUdevice device;

	inject_gpuprog_inside_begin(&inside);
	if (threads && threads <= INT32_MAX &&
	    inject_gpuprog_driver.context_device(&device) == CUDA_SUCCESS &&
	    inject_gpuprog_driver.device_attribute(&processors,
						   CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
						   device) == CUDA_SUCCESS &&
	    inject_gpuprog_driver.resident_blocks(&resident, launch->function, (int)threads,
						  launch->shared_bytes) == CUDA_SUCCESS &&
	    blocks > (uint64_t)resident * (uint64_t)processors)
		inject_gpuprog_tell(
			"process %d: a cooperative launch of %llu blocks failed, since %llu fit on the GPU at a time: if it works without gpumon, leave its kernel out (--kernel)",
			(int)getpid(), (unsigned long long)blocks,
			(unsigned long long)resident * (unsigned long long)processors);
	inject_gpuprog_inside_end(&inside);
}

static void explain_launch_ex(const struct launch_ex *launch)
{
	const CUlaunchConfig *config = launch->config;

	for (unsigned int i = 0; config && i < config->numAttrs; i++)
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
		    config->attrs[i].value.cooperative)
			explain_cooperative(&(struct launch_cooperative){
				launch->function,
				{ config->gridDimX, config->gridDimY, config->gridDimZ },
				{ config->blockDimX, config->blockDimY, config->blockDimZ },
				config->sharedMemBytes });
}

static void load_begins(enum inject_gpuprog_call call, void *parameters)
{
	if (!has_exchange() || loading->depth++)
		return;
	loading->image = (struct inject_new_image){ .fd = -1 };
	switch (call) {
	case INJECT_GPUPROG_LOAD_MODULE:
	case INJECT_GPUPROG_LOAD_LIBRARY:
		exchange_data(parameters);
		break;
	case INJECT_GPUPROG_LOAD_MODULE_FILE:
	case INJECT_GPUPROG_LOAD_LIBRARY_FILE: {
		struct load *load = parameters;

		load->image = exchange_file(load->image, exchange_image);
		break;
	}
	default:
		exchange_link(parameters, call == INJECT_GPUPROG_LINK_FILE);
		break;
	}
}

static void load_ends(enum inject_gpuprog_call call, void *parameters, bool succeeded)
{
	bool is_link = call == INJECT_GPUPROG_LINK || call == INJECT_GPUPROG_LINK_FILE;
	struct load *load = parameters;
	struct inject_new_image *image;

	if (!loading || !loading->depth || --loading->depth)
		return;
	image = &loading->image;
	if (is_link && image->data)
		atomic_store(&links, true);
	/* The linker has read it. */
	if (is_link || !succeeded || !load->handle || (!image->data && !atomic_load(&links))) {
		inject_new_image_clear(image);
		return;
	}
	inject_new_image_close(image);
	inject_gpuprog_module_add(*load->handle, is_library(call), image->data, image->size);
}

void inject_gpuprog_call_begins(enum inject_gpuprog_call call, void *parameters)
{
	switch (call) {
	case INJECT_GPUPROG_LAUNCH:
	case INJECT_GPUPROG_LAUNCH_COOPERATIVE:
		launch_begins(((struct one_handle *)parameters)->handle);
		break;
	case INJECT_GPUPROG_LAUNCH_EX:
		launch_begins(((struct launch_ex *)parameters)->function);
		break;
	case INJECT_GPUPROG_LAUNCH_OTHER:
		inject_gpuprog_fill();
		inject_gpuprog_launch_unknown();
		break;
	case INJECT_GPUPROG_CONTEXT_DESTROY: {
		CUcontext context = ((struct one_handle *)parameters)->handle;

		if (context)
			inject_gpuprog_copy(context, true);
		break;
	}
	case INJECT_GPUPROG_PRIMARY_RELEASE:
	case INJECT_GPUPROG_PRIMARY_RESET:
		ending = primary_context(((struct one_device *)parameters)->device);
		if (ending)
			inject_gpuprog_copy(ending, true);
		break;
	case INJECT_GPUPROG_NONE:
	case INJECT_GPUPROG_SYNCHRONISE:
	case INJECT_GPUPROG_UNLOAD_MODULE:
	case INJECT_GPUPROG_UNLOAD_LIBRARY:
		break;
	default:
		load_begins(call, parameters);
		break;
	}
}

void inject_gpuprog_call_ends(enum inject_gpuprog_call call, void *parameters, bool succeeded)
{
	switch (call) {
	case INJECT_GPUPROG_NONE:
	case INJECT_GPUPROG_LAUNCH_OTHER:
		break;
	case INJECT_GPUPROG_LAUNCH:
		launch_ends();
		break;
	case INJECT_GPUPROG_LAUNCH_EX:
		launch_ends();
		if (!succeeded)
			explain_launch_ex(parameters);
		break;
	case INJECT_GPUPROG_LAUNCH_COOPERATIVE:
		launch_ends();
		if (!succeeded)
			explain_cooperative(parameters);
		break;
	/* The program may end at once, without a word: by _exit() or a signal. */
	case INJECT_GPUPROG_SYNCHRONISE:
		inject_gpuprog_copy_sometimes();
		break;
	case INJECT_GPUPROG_CONTEXT_DESTROY: {
		CUcontext context = ((struct one_handle *)parameters)->handle;

		if (succeeded && context)
			inject_gpuprog_forget(context);
		break;
	}
	case INJECT_GPUPROG_PRIMARY_RELEASE:
	case INJECT_GPUPROG_PRIMARY_RESET:
		/* Other threads may still use it. */
		if (succeeded && ending &&
		    (call == INJECT_GPUPROG_PRIMARY_RESET ||
		     !primary_context(((struct one_device *)parameters)->device)))
			inject_gpuprog_forget(ending);
		ending = NULL;
		break;
	case INJECT_GPUPROG_UNLOAD_MODULE:
	case INJECT_GPUPROG_UNLOAD_LIBRARY:
		inject_gpuprog_launches_forget();
		if (succeeded)
			inject_gpuprog_module_remove(((struct one_handle *)parameters)->handle,
						     call == INJECT_GPUPROG_UNLOAD_LIBRARY);
		break;
	default:
		load_ends(call, parameters, succeeded);
		break;
	}
}
