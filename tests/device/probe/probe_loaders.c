// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Loads an image of driver_kernels.cu by each of the driver's loaders, and launches driver_add once from
 * each, with 1,024 threads. Prints the names of the loaders that worked.
 *
 *     probe_loaders FILE.ptx|FILE.fatbin|FILE.cubin
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 1024u

static CUdeviceptr data;
static float expected;

static int launch(CUfunction function)
{
	unsigned int count = THREADS;
	void *arguments[] = { &data, &count };
	float values[THREADS];

	if (cuLaunchKernel(function, THREADS / 128, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL) ||
	    cuCtxSynchronize() || cuMemcpyDtoH(values, data, sizeof(values)))
		return -1;
	expected += 1.0f;
	for (unsigned int i = 0; i < THREADS; i++)
		if (values[i] != expected)
			return -1;
	return 0;
}

static int run_module(CUmodule module)
{
	CUfunction function;
	int ret = cuModuleGetFunction(&function, module, "driver_add") || launch(function);

	cuModuleUnload(module);
	return ret;
}

static int run_library(CUlibrary library)
{
	CUfunction function;
	CUkernel kernel;
	int ret = cuLibraryGetKernel(&kernel, library, "driver_add") ||
		  cuKernelGetFunction(&function, kernel) || launch(function);

	cuLibraryUnload(library);
	return ret;
}

static int run_linked(const char *path, const void *image, size_t size, CUjitInputType type)
{
	CUlinkState state;
	CUmodule module;
	size_t cubin_size;
	void *cubin;
	int ret = -1;

	if (cuLinkCreate(0, NULL, NULL, &state))
		return -1;
	if (!(image ? cuLinkAddData(state, type, (void *)image, size, "image", 0, NULL, NULL) :
		      cuLinkAddFile(state, type, path, 0, NULL, NULL)) &&
	    !cuLinkComplete(state, &cubin, &cubin_size) && !cuModuleLoadData(&module, cubin))
		ret = run_module(module);
	cuLinkDestroy(state);
	return ret;
}

static char *read_all(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *content;

	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	*size = (size_t)ftell(file);
	rewind(file);
	content = calloc(1, *size + 1);
	if (content && fread(content, 1, *size, file) != *size)
		content = NULL;
	fclose(file);
	return content;
}

static CUjitInputType type_of(const char *path)
{
	if (strstr(path, ".ptx"))
		return CU_JIT_INPUT_PTX;
	return strstr(path, ".cubin") ? CU_JIT_INPUT_CUBIN : CU_JIT_INPUT_FATBINARY;
}

static void report(const char *name, int ret)
{
	if (!ret)
		printf("%s\n", name);
	else
		fprintf(stderr, "probe_loaders: %s failed\n", name);
}

int main(int argc, char **argv)
{
	float zeroes[THREADS] = { 0 };
	CUlibrary library;
	CUcontext context;
	CUmodule module;
	CUdevice device;
	size_t size = 0;
	char *image = argc > 1 ? read_all(argv[1], &size) : NULL;
	CUjitInputType type = argc > 1 ? type_of(argv[1]) : CU_JIT_INPUT_PTX;

	if (!image) {
		fprintf(stderr, "usage: probe_loaders FILE\n");
		return 2;
	}
	/* From PTX a text with its NUL is wanted. */
	if (type == CU_JIT_INPUT_PTX)
		size++;
	if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
	    cuCtxSetCurrent(context) || cuMemAlloc(&data, sizeof(zeroes)) ||
	    cuMemcpyHtoD(data, zeroes, sizeof(zeroes))) {
		fprintf(stderr, "probe_loaders: no GPU\n");
		return 77;
	}
	report("cuModuleLoadData", cuModuleLoadData(&module, image) || run_module(module));
	report("cuModuleLoadDataEx",
	       cuModuleLoadDataEx(&module, image, 0, NULL, NULL) || run_module(module));
	report("cuModuleLoad", cuModuleLoad(&module, argv[1]) || run_module(module));
	if (type == CU_JIT_INPUT_FATBINARY)
		report("cuModuleLoadFatBinary",
		       cuModuleLoadFatBinary(&module, image) || run_module(module));
	report("cuLibraryLoadData",
	       cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0) ||
		       run_library(library));
	report("cuLibraryLoadFromFile",
	       cuLibraryLoadFromFile(&library, argv[1], NULL, NULL, 0, NULL, NULL, 0) ||
		       run_library(library));
	if (type != CU_JIT_INPUT_CUBIN) {
		report("cuLinkAddData", run_linked(NULL, image, size, type));
		report("cuLinkAddFile", run_linked(argv[1], NULL, 0, type));
	}
	return 0;
}
