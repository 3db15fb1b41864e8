// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A program that uses only the driver API: place_add() launches driver_add, place_scale() launches
 * driver_scale, and place_captured() captures driver_scale into a graph. Its account is JSON as in
 * known.cu. It checks its own sums.
 *
 *     driver FATBIN COUNT
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "account.h"

#define PLACE __attribute__((noinline, noclone))
#define COUNT 1024u

static long launches, captured, copies, sets, adds, scales;
static CUfunction add, scale;
static CUdeviceptr data;

#define MUST(call)                                                           \
	do {                                                                 \
		CUresult result_ = (call);                                   \
		if (result_ != CUDA_SUCCESS) {                               \
			fprintf(stderr, "driver: %s: %d\n", #call, result_); \
			exit(1);                                             \
		}                                                            \
	} while (0)

PLACE static void place_add(CUstream stream)
{
	unsigned int count = COUNT;
	void *arguments[] = { &data, &count };

	MUST(cuLaunchKernel(add, COUNT / 128, 1, 1, 128, 1, 1, 0, stream, arguments, NULL));
	launches++;
	adds++;
	asm volatile("");
}

PLACE static void place_scale(CUstream stream)
{
	unsigned int count = COUNT;
	void *arguments[] = { &data, &count };
	CUlaunchConfig config = {
		.gridDimX = COUNT / 128,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 128,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = stream,
	};

	MUST(cuLaunchKernelEx(&config, scale, arguments, NULL));
	launches++;
	scales++;
	asm volatile("");
}

PLACE static void place_captured(CUstream stream)
{
	unsigned int count = COUNT;
	void *arguments[] = { &data, &count };

	MUST(cuLaunchKernel(scale, COUNT / 128, 1, 1, 128, 1, 1, 0, stream, arguments, NULL));
	captured++;
	asm volatile("");
}

PLACE static CUgraphExec make_graph(CUstream stream)
{
	CUgraphExec exec;
	CUgraph graph;

	MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	place_captured(stream);
	place_captured(stream);
	MUST(cuStreamEndCapture(stream, &graph));
	MUST(cuGraphInstantiate(&exec, graph, 0));
	return exec;
}

static void *read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *text;
	long size = -1;

	if (file && !fseek(file, 0, SEEK_END))
		size = ftell(file);
	if (size < 0) {
		fprintf(stderr, "driver: cannot read %s\n", path);
		exit(1);
	}
	rewind(file);
	text = calloc(1, (size_t)size + 1);
	if (!text || fread(text, 1, (size_t)size, file) != (size_t)size)
		exit(1);
	fclose(file);
	return text;
}

static void write_account(void)
{
	FILE *file = open_account();

	if (!file)
		return;
	fprintf(file,
		"{\"launches\":%ld,\"captured\":%ld,\"copies\":%ld,\"sets\":%ld,\"failed\":0,",
		launches, captured, copies, sets);
	fprintf(file, "\"kernels\":{\"driver_add\":{\"count\":%ld},", adds);
	fprintf(file, "\"driver_scale\":{\"count\":%ld}}}\n", scales);
	fclose(file);
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 100;
	float host[COUNT], value = 0;
	CUgraphExec exec;
	CUmodule module;
	CUcontext context;
	CUstream stream;
	CUdevice device;

	if (argc < 2)
		return 2;
	MUST(cuInit(0));
	MUST(cuDeviceGet(&device, 0));
	MUST(cuDevicePrimaryCtxRetain(&context, device));
	MUST(cuCtxSetCurrent(context));
	MUST(cuModuleLoadData(&module, read_file(argv[1])));
	MUST(cuModuleGetFunction(&add, module, "driver_add"));
	MUST(cuModuleGetFunction(&scale, module, "driver_scale"));
	MUST(cuMemAlloc(&data, sizeof(host)));
	MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	MUST(cuMemsetD32Async(data, 0, COUNT, stream));
	launches++;
	sets++;
	exec = make_graph(stream);
	for (int i = 0; i < count; i++) {
		place_add(stream);
		place_scale(stream);
		value = (value + 1) * 0.5f;
		if (i % 10 == 0) {
			MUST(cuGraphLaunch(exec, stream));
			launches++;
			scales += 2;
			value *= 0.25f;
		}
	}
	MUST(cuStreamSynchronize(stream));
	MUST(cuMemcpyDtoH(host, data, sizeof(host)));
	launches++;
	copies++;
	write_account();
	if (host[0] != value || memcmp(host, host + COUNT / 2, sizeof(host) / 2) != 0) {
		fprintf(stderr, "driver: %f, should be %f\n", (double)host[0], (double)value);
		return 1;
	}
	return 0;
}
