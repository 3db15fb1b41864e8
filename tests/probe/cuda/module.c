// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Modules and libraries. */
#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cupti.h>

#include "../../inject/mock.h"
#include "cubin.h"
#include "device.h"
#include "gpuprog/image/fatbin.h"

#define TABLE	"gpumon_probe_table"
#define WRAPPER 0x466243b1u

/**
 * struct wrapper - what a compiled program has for each container
 * @magic: WRAPPER
 * @version: 1; 2: @more is a NULL-terminated list of containers that are still to be linked
 * @container: the container
 * @more: name of a file, or the list
 */
struct wrapper {
	uint32_t magic;
	uint32_t version;
	const void *container;
	const void *more;
};

#define DRIVER(name, parameters, body)                                                          \
	(CUresult) mock_call(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name, #name, \
			     false, __builtin_return_address(0), parameters, body)

/* Whether a file has all that its head says. */
static bool is_whole(const char *data, size_t size)
{
	switch (gpumon_fatbin_form(data)) {
	case GPUMON_FATBIN_ELF_FILE:
		return size >= sizeof(Elf64_Ehdr) &&
		       ((const Elf64_Ehdr *)(const void *)data)->e_shoff < size;
	case GPUMON_FATBIN_CONTAINER:
		return size >= 16 && gpumon_fatbin_container_size(data) <= size;
	default:
		return true;
	}
}

/* NULL: there is none, or it is cut off. What is behind the NUL of a text is not read. */
char *mock_read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	char *data = NULL;

	*size = 0;
	while (file && !feof(file) && !ferror(file) &&
	       !(*size && gpumon_fatbin_form(data) == GPUMON_FATBIN_TEXT &&
		 memchr(data, 0, *size))) {
		data = realloc(data, *size + 65537);
		*size += fread(data + *size, 1, 65536, file);
	}
	if (!file)
		return NULL;
	fclose(file);
	data[*size] = '\0';
	if (is_whole(data, *size))
		return data;
	free(data);
	return NULL;
}

/* The first cubin of a container, or the newest text, as the driver chooses. */
static char *container_text(const void *data, bool *is_machine_code)
{
	const struct gpumon_fatbin_image *best = NULL;
	struct gpumon_fatbin fatbin;
	struct gpumon_error err;
	uint8_t *image = NULL;
	char *text = NULL;
	size_t size;

	if (gpumon_fatbin_open(data, gpumon_fatbin_container_size(data), &fatbin, &err))
		return NULL;
	for (size_t i = 0; i < fatbin.images_n; i++) {
		const struct gpumon_fatbin_image *is = &fatbin.images[i];

		if (is->kind != GPUMON_FATBIN_ELF && is->kind != GPUMON_FATBIN_PTX)
			continue;
		if (!best || (is->kind == GPUMON_FATBIN_ELF && best->kind != is->kind) ||
		    (is->kind == best->kind && is->sm > best->sm))
			best = is;
	}
	if (best && !gpumon_fatbin_unpack(best, &image, &size, &err))
		text = mock_text_of(image, is_machine_code);
	free(image);
	gpumon_fatbin_close(&fatbin);
	return text;
}

char *mock_text_of(const void *image, bool *is_machine_code)
{
	const struct wrapper *wrapper = image;
	const char *text;

	*is_machine_code = false;
	/* A text may be shorter than what the others begin with. */
	if (strnlen(image, 2) < 2 || isspace(*(const unsigned char *)image) ||
	    memchr("./", *(const char *)image, 2))
		return strdup(image);
	if (wrapper->magic == WRAPPER)
		return mock_text_of(wrapper->container, is_machine_code);
	switch (gpumon_fatbin_form(image)) {
	case GPUMON_FATBIN_CONTAINER:
		return container_text(image, is_machine_code);
	case GPUMON_FATBIN_ELF_FILE:
		text = cubin_text(image);
		*is_machine_code = true;
		return text ? strdup(text) : NULL;
	default:
		return strdup(image);
	}
}

struct mock_piece *mock_table_of(struct mock_module *module, struct mock_context *context)
{
	struct mock_table *table;

	if (!module->kernels.table_n)
		return NULL;
	for (table = module->tables; table; table = table->next)
		if (table->context == context)
			return table->piece;
	table = calloc(1, sizeof(*table));
	table->context = context;
	table->piece = mock_piece_add(context, module->kernels.table_n * sizeof(uint64_t));
	memset(table->piece->at, 0, table->piece->size);
	table->next = module->tables;
	module->tables = table;
	return table->piece;
}

void mock_module_remove(struct mock_module *module)
{
	struct mock_module **link = module->context ? &module->context->modules : NULL;
	struct mock_table *table;

	while (link && *link && *link != module)
		link = &(*link)->next;
	if (link && *link)
		*link = module->next;
	while ((table = module->tables)) {
		module->tables = table->next;
		mock_piece_remove(table->context, table->piece->at);
		free(table);
	}
	kernels_clear(&module->kernels);
	free(module);
}

/* What a driver's compiler does with programs takes MOCK_COMPILE_MS, or MOCK_LAZY_MS when the kernel is needed. */
static void compile(const struct mock_module *module, const char *setting)
{
	if (module->kernels.table_n)
		usleep((useconds_t)mock_setting(setting, 0) * 1000);
}

/* A text with programs in it, into the folder MOCK_KEEP, a file for each load. */
static void keep(const char *text)
{
	const char *folder = strstr(text, TABLE) ? getenv("MOCK_KEEP") : NULL;
	static _Atomic unsigned int number;
	char path[4096];
	FILE *file;

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/%06d-%03u", folder, (int)getpid(), number++);
	file = fopen(path, "we");
	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

/*
 * MOCK_BAD=first,__gpumon_: a compiler that refuses kernel "first" with programs in it, and texts with copies
 * of functions. Returns the word that it is about.
 */
static const char *find_bad(const char *text, const struct kernels *kernels, size_t *size)
{
	const char *bad = getenv("MOCK_BAD");

	for (; bad && *bad; bad += *size + (bad[*size] == ',')) {
		char word[KERNEL_NAME];

		*size = strcspn(bad, ",");
		snprintf(word, sizeof(word), "%.*s", (int)*size, bad);
		if (word[0] == '_' && strstr(text, word))
			return bad;
		for (uint32_t i = 0; i < kernels->kernels_n; i++)
			if (kernels->kernels[i].has_programs &&
			    strcmp(kernels->kernels[i].name, word) == 0)
				return bad;
	}
	return NULL;
}

/* As the driver's compiler writes it for the caller of the present load. */
static __thread char compiler_log[256];

static int load(const char *image, struct mock_context *context, struct mock_module **out)
{
	struct mock_module *module = calloc(1, sizeof(*module));
	bool is_machine_code = false;
	char why[256] = "", *text = image ? mock_text_of(image, &is_machine_code) : NULL;
	const char *bad = NULL;
	size_t bad_size = 0;
	int result = CUDA_SUCCESS;

	if (text)
		keep(text);
	if (!text)
		result = CUDA_ERROR_INVALID_IMAGE;
	else if (!kernels_read(text, &module->kernels, why) ||
		 (module->kernels.table_n && mock_setting("MOCK_REFUSE", 0)))
		result = CUDA_ERROR_INVALID_PTX;
	else
		bad = find_bad(text, &module->kernels, &bad_size);
	if (bad)
		result = CUDA_ERROR_INVALID_PTX;
	snprintf(
		compiler_log, sizeof(compiler_log),
		bad ? "ptxas application ptx input, line 7; warning : odd\n"
		      "ptxas application ptx input, line 9; error   : %.*s is bad\nptxas fatal   : aborted\n" :
		      "",
		(int)bad_size, bad);
	if (result == CUDA_SUCCESS)
		compile(module, "MOCK_COMPILE_MS");
	free(text);
	if (result != CUDA_SUCCESS) {
		kernels_clear(&module->kernels);
		free(module);
		return result;
	}
	for (uint32_t i = 0; i < module->kernels.kernels_n; i++) {
		module->functions[i].module = module;
		module->functions[i].kernel = &module->kernels.kernels[i];
		memcpy(module->functions[i].name, module->functions[i].kernel->name, KERNEL_NAME);
	}
	mock_device_lock();
	module->context = context;
	if (context) {
		module->next = context->modules;
		context->modules = module;
	}
	mock_device_unlock();
	*out = module;
	return CUDA_SUCCESS;
}

static int load_module(CUmodule *handle, const void *image)
{
	struct mock_module *module = NULL;
	int result;

	if (mock_is_child())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (mock_is_forbidden())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!mock_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	result = load(image, mock_current(), &module);
	*handle = (CUmodule)module;
	return result;
}

static int load_module_data(const void *parameters)
{
	const cuModuleLoadData_params *p = parameters;

	return load_module(p->module, p->image);
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	cuModuleLoadData_params p = { module, image };

	return DRIVER(cuModuleLoadData, &p, load_module_data);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
			    CUjit_option *options, void **optionValues)
{
	cuModuleLoadDataEx_params p = { module, image, numOptions, options, optionValues };
	CUresult result = DRIVER(cuModuleLoadDataEx, &p, load_module_data);
	char *log = NULL;
	size_t room = 0;

	for (unsigned int i = 0; i < numOptions; i++) {
		if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
			log = optionValues[i];
		if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
			room = (uintptr_t)optionValues[i];
	}
	if (log && room)
		snprintf(log, room, "%s", compiler_log);
	return result;
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
	cuModuleLoadFatBinary_params p = { module, fatCubin };

	return DRIVER(cuModuleLoadFatBinary, &p, load_module_data);
}

static int load_module_file(const void *parameters)
{
	const cuModuleLoad_params *p = parameters;
	size_t size;
	char *data = mock_read_file(p->fname, &size);
	int result = data ? load_module(p->module, data) : CUDA_ERROR_FILE_NOT_FOUND;

	free(data);
	return result;
}

CUresult cuModuleLoad(CUmodule *module, const char *fname)
{
	cuModuleLoad_params p = { module, fname };

	return DRIVER(cuModuleLoad, &p, load_module_file);
}

static int unload(const void *parameters)
{
	struct mock_module *module = (struct mock_module *)(void *)*(const CUmodule *)parameters;

	if (mock_is_forbidden())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	mock_device_lock();
	mock_module_remove(module);
	mock_device_unlock();
	return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
	return DRIVER(cuModuleUnload, &module, unload);
}

static int find_function(struct mock_module *module, const char *name, struct mock_function **out)
{
	int i = kernels_find(&module->kernels, name);

	*out = i < 0 ? NULL : &module->functions[i];
	return i < 0 ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	compile((struct mock_module *)(void *)module, "MOCK_LAZY_MS");
	return (CUresult)find_function((struct mock_module *)(void *)module, name,
				       (struct mock_function **)(void *)function);
}

static int find_global(CUdeviceptr *at, size_t *size, struct mock_module *module, const char *name)
{
	const struct mock_piece *table = NULL;
	struct mock_context *context;

	mock_device_lock();
	context = mock_current();
	/* Of a module of another context, too. */
	if (module->context)
		context = module->context;
	if (context && strcmp(name, TABLE) == 0)
		table = mock_table_of(module, context);
	if (table) {
		*at = (uintptr_t)table->at;
		*size = table->size;
	}
	mock_device_unlock();
	return table ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* MOCK_NO_NAMES: as a driver of CUDA 12.2. */
CUresult cuFuncGetName(const char **name, CUfunction function)
{
	if (getenv("MOCK_NO_NAMES"))
		return CUDA_ERROR_NOT_SUPPORTED;
	*name = ((const struct mock_function *)(const void *)function)->name;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal(CUdeviceptr *at, size_t *size, CUmodule module, const char *name)
{
	return (CUresult)find_global(at, size, (struct mock_module *)(void *)module, name);
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
	const struct mock_function *mock = (const struct mock_function *)(const void *)function;
	const char *large = getenv("MOCK_LARGE");

	if (attribute != CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
		return CUDA_ERROR_INVALID_VALUE;
	*value = large && strcmp(large, mock->name) == 0 && mock->kernel->has_programs ? 512 : 1024;
	return CUDA_SUCCESS;
}

/* MOCK_FEWER=first: with programs in it, half of a kernel's blocks fit on a processor at a time. */
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
						     size_t shared)
{
	const struct mock_function *mock = (const struct mock_function *)(const void *)function;
	const char *fewer = getenv("MOCK_FEWER");

	(void)shared;
	*blocks = 2048 / threads;
	if (fewer && strcmp(fewer, mock->name) == 0 && mock->kernel->has_programs)
		*blocks /= 2;
	return CUDA_SUCCESS;
}

bool mock_fits(CUfunction function, unsigned int blocks, unsigned int threads)
{
	int resident;

	cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, function, (int)threads, 0);
	return blocks <= (unsigned int)resident * MOCK_PROCESSORS;
}

static int launch_cooperative(const void *parameters)
{
	const cuLaunchCooperativeKernel_params *p = parameters;

	if (!mock_fits(p->f, p->gridDimX, p->blockDimX))
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return mock_work_kernel(p->f, p->gridDimX, p->blockDimX, p->hStream, p->kernelParams);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
				   unsigned int gridDimZ, unsigned int blockDimX,
				   unsigned int blockDimY, unsigned int blockDimZ,
				   unsigned int sharedMemBytes, CUstream hStream,
				   void **kernelParams)
{
	cuLaunchCooperativeKernel_params p = { f,	  gridDimX,    gridDimY,  gridDimZ,
					       blockDimX, blockDimY,   blockDimZ, sharedMemBytes,
					       hStream,	  kernelParams };

	return DRIVER(cuLaunchCooperativeKernel, &p, launch_cooperative);
}

#if CUDA_VERSION >= 12000
static int load_library_data(const void *parameters)
{
	const cuLibraryLoadData_params *p = parameters;

	return load(p->code, NULL, (struct mock_module **)(void *)p->library);
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
			   void **jitOptionsValues, unsigned int numJitOptions,
			   CUlibraryOption *libraryOptions, void **libraryOptionValues,
			   unsigned int numLibraryOptions)
{
	cuLibraryLoadData_params p = {
		library,       code,	       jitOptions,	    jitOptionsValues,
		numJitOptions, libraryOptions, libraryOptionValues, numLibraryOptions
	};

	return DRIVER(cuLibraryLoadData, &p, load_library_data);
}

static int load_library_file(const void *parameters)
{
	const cuLibraryLoadFromFile_params *p = parameters;
	size_t size;
	char *data = mock_read_file(p->fileName, &size);
	int result = CUDA_ERROR_FILE_NOT_FOUND;

	if (data)
		result = load(data, NULL, (struct mock_module **)(void *)p->library);
	free(data);
	return result;
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
			       void **jitOptionsValues, unsigned int numJitOptions,
			       CUlibraryOption *libraryOptions, void **libraryOptionValues,
			       unsigned int numLibraryOptions)
{
	cuLibraryLoadFromFile_params p = {
		library,       fileName,       jitOptions,	    jitOptionsValues,
		numJitOptions, libraryOptions, libraryOptionValues, numLibraryOptions
	};

	return DRIVER(cuLibraryLoadFromFile, &p, load_library_file);
}

CUresult cuLibraryUnload(CUlibrary library)
{
	return DRIVER(cuLibraryUnload, &library, unload);
}

/* Launched as a function, in any context. */
CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	return (CUresult)find_function((struct mock_module *)(void *)library, name,
				       (struct mock_function **)(void *)kernel);
}

CUresult cuLibraryGetGlobal(CUdeviceptr *at, size_t *size, CUlibrary library, const char *name)
{
	return (CUresult)find_global(at, size, (struct mock_module *)(void *)library, name);
}
#endif
