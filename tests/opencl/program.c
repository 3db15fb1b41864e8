// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Uses OpenCL and says what it did: "did FUNCTION COUNT BYTES" for each function that enqueues, and
 * what else a test needs. "program MODE [NUMBER]", or "program ends WAIT END".
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "did.h"
#include "program.h"

#define SIDE  64
#define COUNT (SIDE * SIDE)
#define BYTES (COUNT * sizeof(float))

static const char *const source =
	"kernel void add(global float *a, global const float *b)\n"
	"{ size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0); a[i] += b[i]; }\n"
	"kernel void scale(global float *a) { a[get_global_id(0)] *= 2; }\n"
	"kernel void empty(int a) { }\n"
	"kernel void busy(global uint *a, uint times) { uint x = 1 + get_global_id(0);\n"
	"	for (uint i = 0; i < times; i++) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; }\n"
	"	a[get_global_id(0)] = x; }\n";

cl_context context;
cl_command_queue queue;
cl_program program;
cl_kernel empty;
static cl_platform_id platform;
static cl_device_id device;
static cl_kernel add, scale;
static cl_mem a, b;
static float host[COUNT];

void need(cl_int result, const char *what)
{
	if (result == CL_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", what, result);
	exit(1);
}

cl_command_queue make_queue(cl_command_queue_properties properties)
{
	cl_queue_properties list[] = { CL_QUEUE_PROPERTIES, properties, 0 };
	cl_command_queue made;
	cl_int result;

	if (getenv("OWN_PROFILING"))
		list[1] |= CL_QUEUE_PROFILING_ENABLE;
	made = clCreateCommandQueueWithProperties(context, device, list[1] ? list : NULL, &result);
	need(result, "clCreateCommandQueueWithProperties");
	return made;
}

void begin(void)
{
	cl_int result;

	NEED(clGetPlatformIDs(1, &platform, NULL));
	NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &result);
	need(result, "clCreateContext");
	queue = make_queue(0);
	program = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &result);
	need(result, "clCreateProgramWithSource");
	NEED(clBuildProgram(program, 1, &device, "", NULL, NULL));
	add = clCreateKernel(program, "add", &result);
	need(result, "add");
	scale = clCreateKernel(program, "scale", &result);
	need(result, "scale");
	empty = clCreateKernel(program, "empty", &result);
	need(result, "empty");
	a = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &result);
	need(result, "a");
	b = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &result);
	need(result, "b");
	NEED(clSetKernelArg(add, 0, sizeof(a), &a));
	NEED(clSetKernelArg(add, 1, sizeof(b), &b));
	NEED(clSetKernelArg(scale, 0, sizeof(a), &a));
	NEED(clSetKernelArg(empty, 0, sizeof(cl_int), &(cl_int){ 1 }));
}

/* --- every command */

static void use_buffers(void)
{
	const size_t origin[3] = { 0 }, region[3] = { 16, 8, 1 };
	const cl_uint pattern = 0x01020304;
	cl_int result;
	void *mapped;

	DID(clEnqueueWriteBuffer, BYTES, queue, a, CL_TRUE, 0, BYTES, host, 0, NULL, NULL);
	DID(clEnqueueWriteBuffer, 256, queue, b, CL_FALSE, 0, 256, host, 0, NULL, NULL);
	DID(clEnqueueFillBuffer, BYTES, queue, b, &pattern, sizeof(pattern), 0, BYTES, 0, NULL,
	    NULL);
	DID(clEnqueueCopyBuffer, 1024, queue, b, a, 0, 0, 1024, 0, NULL, NULL);
	DID(clEnqueueReadBuffer, 512, queue, a, CL_TRUE, 0, 512, host, 0, NULL, NULL);
	DID(clEnqueueWriteBufferRect, 128, queue, a, CL_TRUE, origin, origin, region, 64, 0, 64, 0,
	    host, 0, NULL, NULL);
	DID(clEnqueueReadBufferRect, 128, queue, a, CL_TRUE, origin, origin, region, 64, 0, 64, 0,
	    host, 0, NULL, NULL);
	DID(clEnqueueCopyBufferRect, 128, queue, b, a, origin, origin, region, 64, 0, 64, 0, 0,
	    NULL, NULL);
	mapped =
		clEnqueueMapBuffer(queue, a, CL_TRUE, CL_MAP_READ, 0, 2048, 0, NULL, NULL, &result);
	need(result, "clEnqueueMapBuffer");
	did("clEnqueueMapBuffer", 2048);
	DID(clEnqueueUnmapMemObject, 2048, queue, a, mapped, 0, NULL, NULL);
	DID(clEnqueueMigrateMemObjects, 2 * BYTES, queue, 2, (cl_mem[]){ a, b }, 0, 0, NULL, NULL);
}

static void use_images(void)
{
	const cl_image_format format = { CL_RGBA, CL_UNORM_INT8 };
	const cl_image_desc shape = { .image_type = CL_MEM_OBJECT_IMAGE2D,
				      .image_width = 32,
				      .image_height = 16 };
	const size_t origin[3] = { 0 }, region[3] = { 32, 16, 1 };
	const unsigned long bytes = 32 * 16 * 4;
	const float colour[4] = { 1, 0, 0, 1 };
	cl_bool has_images = CL_FALSE;
	cl_mem one, other;
	cl_int result;
	size_t row;
	void *mapped;

	clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof(has_images), &has_images, NULL);
	if (!has_images)
		return;
	one = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &result);
	need(result, "clCreateImage");
	other = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &result);
	need(result, "clCreateImage");
	DID(clEnqueueFillImage, bytes, queue, one, colour, origin, region, 0, NULL, NULL);
	DID(clEnqueueWriteImage, bytes, queue, one, CL_TRUE, origin, region, 0, 0, host, 0, NULL,
	    NULL);
	DID(clEnqueueCopyImage, bytes, queue, one, other, origin, origin, region, 0, NULL, NULL);
	DID(clEnqueueReadImage, bytes, queue, other, CL_TRUE, origin, region, 0, 0, host, 0, NULL,
	    NULL);
	DID(clEnqueueCopyImageToBuffer, bytes, queue, one, a, origin, region, 0, 0, NULL, NULL);
	DID(clEnqueueCopyBufferToImage, bytes, queue, a, one, 0, origin, region, 0, NULL, NULL);
	mapped = clEnqueueMapImage(queue, one, CL_TRUE, CL_MAP_READ, origin, region, &row, NULL, 0,
				   NULL, NULL, &result);
	need(result, "clEnqueueMapImage");
	did("clEnqueueMapImage", bytes);
	DID(clEnqueueUnmapMemObject, bytes, queue, one, mapped, 0, NULL, NULL);
	NEED(clFinish(queue));
	clReleaseMemObject(one);
	clReleaseMemObject(other);
}

static void use_svm(void)
{
	cl_device_svm_capabilities can = 0;
	const cl_uint pattern = 7;
	size_t size = 4096;
	char *one, *other;

	clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(can), &can, NULL);
	if (!can)
		return;
	one = clSVMAlloc(context, CL_MEM_READ_WRITE, size, 0);
	other = clSVMAlloc(context, CL_MEM_READ_WRITE, size, 0);
	DID(clEnqueueSVMMemFill, size, queue, one, &pattern, sizeof(pattern), size, 0, NULL, NULL);
	DID(clEnqueueSVMMemcpy, size, queue, CL_TRUE, other, one, size, 0, NULL, NULL);
	DID(clEnqueueSVMMap, size, queue, CL_TRUE, CL_MAP_READ, one, size, 0, NULL, NULL);
	DID(clEnqueueSVMUnmap, size, queue, one, 0, NULL, NULL);
	DID(clEnqueueSVMMigrateMem, size, queue, 1, (const void *[]){ one }, &size, 0, 0, NULL,
	    NULL);
	NEED(clFinish(queue));
	clSVMFree(context, one);
	clSVMFree(context, other);
}

static void CL_CALLBACK do_nothing(void *arguments)
{
	(void)arguments;
}

static void use_kernels(void)
{
	const size_t square[2] = { SIDE, SIDE }, local[2] = { 8, 8 }, line = COUNT;
	cl_device_exec_capabilities can = 0;
	cl_event event;
	int nothing = 0;

	for (int i = 0; i < 5; i++)
		DID(clEnqueueNDRangeKernel, 0, queue, add, 2, NULL, square, local, 0, NULL, NULL);
	DID(clEnqueueNDRangeKernel, 0, queue, scale, 1, NULL, &line, NULL, 0, NULL, &event);
	DID(clEnqueueTask, 0, queue, empty, 1, &event, NULL);
	NEED(clReleaseEvent(event));
	clGetDeviceInfo(device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(can), &can, NULL);
	if (can & CL_EXEC_NATIVE_KERNEL)
		DID(clEnqueueNativeKernel, 0, queue, do_nothing, &nothing, sizeof(nothing), 0, NULL,
		    NULL, 0, NULL, NULL);
	NEED(clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL));
	NEED(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL));
}

static void use_command_buffer(void)
{
	const size_t line = COUNT;
	cl_command_buffer_khr buffer;
	cl_int result;

#define FIND(name) \
	name##_fn name = (name##_fn)clGetExtensionFunctionAddressForPlatform(platform, #name)
	FIND(clCreateCommandBufferKHR);
	FIND(clCommandNDRangeKernelKHR);
	FIND(clFinalizeCommandBufferKHR);
	FIND(clEnqueueCommandBufferKHR);
	FIND(clReleaseCommandBufferKHR);

	if (!clCreateCommandBufferKHR || !clEnqueueCommandBufferKHR)
		return;
	buffer = clCreateCommandBufferKHR(1, &queue, NULL, &result);
	need(result, "clCreateCommandBufferKHR");
	for (int i = 0; i < 3; i++)
		NEED(clCommandNDRangeKernelKHR(buffer, NULL, NULL, scale, 1, NULL, &line, NULL, 0,
					       NULL, NULL, NULL));
	NEED(clFinalizeCommandBufferKHR(buffer));
	/* It may not be in use twice at a time. */
	for (int i = 0; i < 2; i++) {
		DID(clEnqueueCommandBufferKHR, 0, 1, &queue, buffer, 0, NULL, NULL);
		NEED(clFinish(queue));
	}
	NEED(clReleaseCommandBufferKHR(buffer));
}

static void mode_commands(long number)
{
	(void)number;
	use_buffers();
	use_images();
	use_svm();
	use_kernels();
	use_command_buffer();
	NEED(clFinish(queue));
	say_what();
}

/* --- many */

void launch_empty(cl_command_queue on)
{
	const size_t one = 1;

	NEED(clEnqueueNDRangeKernel(on, empty, 1, NULL, &one, &one, 0, NULL, NULL));
}

static void *launch_many(void *argument)
{
	for (long i = 0; i < *(long *)argument; i++)
		launch_empty(queue);
	return NULL;
}

/* Each of them launches so many kernels. */
static void in_threads(void *(*launch)(void *), long number)
{
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, launch, &number);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	NEED(clFinish(queue));
	printf("did clEnqueueNDRangeKernel %ld 0\n", 8 * number);
}

static void mode_threads(long number)
{
	in_threads(launch_many, number);
}

static void mode_queues(long number)
{
	cl_command_queue *many = calloc((size_t)number, sizeof(*many));

	for (long i = 0; i < number; i++)
		many[i] = make_queue(0);
	for (int turn = 0; turn < 2; turn++)
		for (long i = 0; i < number; i++)
			launch_empty(many[i]);
	for (long i = 0; i < number; i++)
		NEED(clFinish(many[i]));
	for (long i = 0; i < number; i++)
		NEED(clReleaseCommandQueue(many[i]));
	free(many);
	printf("did clEnqueueNDRangeKernel %ld 0\n", 2 * number);
}

/* Without waiting: the queue lives until its command has ended. */
static void mode_queue_each(long number)
{
	for (long i = 0; i < number; i++) {
		cl_command_queue own = make_queue(0);

		launch_empty(own);
		NEED(clFlush(own));
		NEED(clReleaseCommandQueue(own));
	}
	launch_empty(queue);
	NEED(clFinish(queue));
	/* The others' commands end by themselves. */
	usleep(300000);
	printf("did clEnqueueNDRangeKernel %ld 0\n", number + 1);
}

static void mode_out_of_order(long number)
{
	cl_command_queue any = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_event before = NULL, event;
	const size_t one = 1;

	for (long i = 0; i < number; i++) {
		NEED(clEnqueueNDRangeKernel(any, empty, 1, NULL, &one, &one, before ? 1 : 0,
					    before ? &before : NULL, &event));
		if (before)
			NEED(clReleaseEvent(before));
		before = event;
	}
	NEED(clReleaseEvent(before));
	NEED(clFinish(any));
	printf("did clEnqueueNDRangeKernel %ld 0\n", number);
}

/* Each thread has three paths, and each path a kernel of its own. */
__attribute__((noinline)) static void path_of_add(void)
{
	const size_t square[2] = { SIDE, SIDE };

	NEED(clEnqueueNDRangeKernel(queue, add, 2, NULL, square, NULL, 0, NULL, NULL));
}

__attribute__((noinline)) static void path_of_scale(void)
{
	const size_t line = COUNT;

	NEED(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &line, NULL, 0, NULL, NULL));
}

__attribute__((noinline)) static void path_of_empty(void)
{
	launch_empty(queue);
}

static void *use_paths(void *argument)
{
	static void (*const paths[])(void) = { path_of_add, path_of_scale, path_of_empty };
	unsigned int seed = (unsigned int)(uintptr_t)&seed >> 4;

	for (long i = 0; i < *(long *)argument; i++)
		paths[rand_r(&seed) % 3]();
	return NULL;
}

static void mode_paths(long number)
{
	in_threads(use_paths, number);
}

/* Two halves of the device, each with a queue of its own. */
static void mode_sub_devices(long number)
{
	const cl_device_partition_property halves[] = { CL_DEVICE_PARTITION_EQUALLY, 1, 0 };
	cl_device_id whole = device, parts[2];
	cl_uint count = 0;
	cl_int result;

	if (clCreateSubDevices(whole, halves, 2, parts, &count) || count < 2) {
		puts("no sub-devices");
		return;
	}
	for (int i = 0; i < 2; i++) {
		cl_command_queue own;
		cl_context of_part;
		cl_program built;
		cl_kernel part;

		device = parts[i];
		of_part = clCreateContext(NULL, 1, &device, NULL, NULL, &result);
		need(result, "clCreateContext");
		own = clCreateCommandQueue(of_part, device, 0, &result);
		need(result, "clCreateCommandQueue");
		built = clCreateProgramWithSource(of_part, 1, (const char **)&source, NULL,
						  &result);
		need(result, "clCreateProgramWithSource");
		NEED(clBuildProgram(built, 1, &device, "", NULL, NULL));
		part = clCreateKernel(built, "empty", &result);
		need(result, "empty");
		NEED(clSetKernelArg(part, 0, sizeof(result), &result));
		for (long j = 0; j < number; j++)
			NEED(clEnqueueTask(own, part, 0, NULL, NULL));
		NEED(clFinish(own));
	}
	printf("did clEnqueueTask %ld 0\n", 2 * number);
}

/* --- what goes wrong */

static void mode_refused(long number)
{
	const size_t big[3] = { 1 << 20, 1 << 20, 1 << 20 }, one = 1;
	const char *bad = "kernel void broken( { }";
	cl_program broken;
	cl_int result;

	(void)number;
	broken = clCreateProgramWithSource(context, 1, &bad, NULL, &result);
	printf("build %d\n", clBuildProgram(broken, 1, &device, "", NULL, NULL));
	clReleaseProgram(broken);
	printf("dimensions %d\n",
	       clEnqueueNDRangeKernel(queue, empty, 4, NULL, big, NULL, 0, NULL, NULL));
	printf("local %d\n",
	       clEnqueueNDRangeKernel(queue, empty, 3, NULL, big, big, 0, NULL, NULL));
	printf("queue %d\n",
	       clEnqueueNDRangeKernel(NULL, empty, 1, NULL, &one, NULL, 0, NULL, NULL));
	printf("read %d\n",
	       clEnqueueReadBuffer(queue, a, CL_TRUE, BYTES, BYTES, host, 0, NULL, NULL));
	launch_empty(queue);
	NEED(clFinish(queue));
	printf("did clEnqueueNDRangeKernel 1 0\nrefused 4\n");
}

/* A kernel behind an event of the user: that fails, or never comes. */
static void behind_event(cl_int status)
{
	const size_t one = 1;
	cl_int result;
	cl_event user = clCreateUserEvent(context, &result), event;
	cl_command_queue other = make_queue(0);

	need(result, "clCreateUserEvent");
	NEED(clEnqueueNDRangeKernel(other, empty, 1, NULL, &one, &one, 1, &user, &event));
	NEED(clFlush(other));
	if (status)
		NEED(clSetUserEventStatus(user, status));
	for (int tries = 0; tries < (status ? 200 : 1); tries++) {
		usleep(300000);
		NEED(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(result),
				    &result, NULL));
		if (result < 0)
			break;
	}
	printf("status %d\n", result);
}

static void mode_failed(long number)
{
	(void)number;
	launch_empty(queue);
	NEED(clFinish(queue));
	behind_event(-5);
	printf("did clEnqueueNDRangeKernel 2 0\n");
}

static void mode_never(long number)
{
	(void)number;
	launch_empty(queue);
	NEED(clFinish(queue));
	behind_event(0);
	printf("did clEnqueueNDRangeKernel 2 0\n");
}

/* Ends in the middle of its commands. */
void mode_exit(long number)
{
	for (long i = 0; i < number; i++)
		launch_empty(queue);
	printf("did clEnqueueNDRangeKernel %ld 0\n", number);
	exit(3);
}

/* The last command never begins. */
static void mode_kill(long number)
{
	cl_event user = clCreateUserEvent(context, NULL);
	const size_t one = 1;

	for (long i = 1; i < number; i++)
		launch_empty(queue);
	NEED(clEnqueueNDRangeKernel(queue, empty, 1, NULL, &one, &one, 1, &user, NULL));
	printf("did clEnqueueNDRangeKernel %ld 0\n", number);
	fflush(stdout);
	raise(SIGKILL);
}

static void mode_fork(long number)
{
	pid_t child;
	int status;

	for (long i = 0; i < number; i++)
		launch_empty(queue);
	child = fork();
	if (!child)
		_exit(7);
	waitpid(child, &status, 0);
	for (long i = 0; i < number; i++)
		launch_empty(queue);
	NEED(clFinish(queue));
	printf("did clEnqueueNDRangeKernel %ld 0\nchild %d\n", 2 * number, WEXITSTATUS(status));
}

/* Until the test has seen enough. */
void mode_until_killed(long number)
{
	(void)number;
	puts("ready");
	fflush(stdout);
	for (;;) {
		launch_empty(queue);
		NEED(clFinish(queue));
		usleep(1000);
	}
}

/* More mapped addresses than a table of the library has room for, and then a new kernel. */
static void mode_many_maps(long number)
{
	char *memory = clSVMAlloc(context, CL_MEM_READ_WRITE, (size_t)number, 0);

	for (long i = 0; i < number; i++)
		DID(clEnqueueSVMMap, 1, queue, CL_FALSE, CL_MAP_READ, memory + i, 1, 0, NULL, NULL);
	launch_empty(queue);
	did("clEnqueueNDRangeKernel", 0);
	NEED(clFinish(queue));
	clSVMFree(context, memory);
	say_what();
}

/* OpenCL, by itself. */
static bool begins_later(void (*mode)(long number))
{
	return mode == mode_child_of_cuda || mode == mode_opencl_amid_end ||
	       mode == mode_opencl_amid_cuda;
}

static const struct {
	const char *name;
	void (*run)(long number);
} modes[] = {
	{ "commands", mode_commands },
	{ "threads", mode_threads },
	{ "queues", mode_queues },
	{ "queue-each", mode_queue_each },
	{ "out-of-order", mode_out_of_order },
	{ "paths", mode_paths },
	{ "sub-devices", mode_sub_devices },
	{ "refused", mode_refused },
	{ "failed", mode_failed },
	{ "never", mode_never },
	{ "exit", mode_exit },
	{ "kill", mode_kill },
	{ "fork", mode_fork },
	{ "until-killed", mode_until_killed },
	{ "both", mode_both },
	{ "cuda-first", mode_cuda_first },
	{ "child-of-cuda", mode_child_of_cuda },
	{ "cuda-while-attached", mode_cuda_while_attached },
	{ "cuda-amid-attach", mode_cuda_amid_attach },
	{ "opencl-amid-end", mode_opencl_amid_end },
	{ "opencl-amid-cuda", mode_opencl_amid_cuda },
	{ "known", mode_known },
	{ "overlap", mode_overlap },
	{ "many-maps", mode_many_maps },
	{ "bench", mode_bench },
	{ "bench-flag", mode_bench_flag },
	{ "latency", mode_latency },
};

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "ends") == 0) {
		begin();
		mode_ends(argv);
	}
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[1]) != 0)
			continue;
		if (modes[i].run == mode_cuda_first)
			begin_cuda();
		if (!begins_later(modes[i].run))
			begin();
		modes[i].run(argc > 2 ? atol(argv[2]) : 0);
		return 0;
	}
	fprintf(stderr, "program MODE [NUMBER], or program ends WAIT END\n");
	return 2;
}
