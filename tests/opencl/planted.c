// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A loop whose steps wait in functions that say for what, and that adds up how long each took:
 *
 *	planted [STEPS [MS]]
 *
 * Each wait takes MS, apart from the time that the machine is busy with something else. The last line is the
 * program's own account, in JSON: for each function the number of calls and nanoseconds, and those of the
 * whole loop.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static cl_command_queue queue;
static cl_kernel empty;
static cl_mem memory;
static long wait_ns = 5000000;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static sem_t take_lock, has_lock, write_slowly;
static int slow[2];
static volatile unsigned int sum;

static void need(cl_int result, const char *what)
{
	if (result == CL_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", what, result);
	exit(1);
}

#define NEED(call) need(call, #call)

static void begin(void)
{
	const char *source = "kernel void empty(global uint *a) { a[get_global_id(0)] += 1; }";
	cl_platform_id platform;
	cl_context context;
	cl_device_id device;
	cl_program program;
	cl_int result;

	NEED(clGetPlatformIDs(1, &platform, NULL));
	NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &result);
	need(result, "clCreateContext");
	queue = clCreateCommandQueue(context, device, 0, &result);
	need(result, "clCreateCommandQueue");
	program = clCreateProgramWithSource(context, 1, &source, NULL, &result);
	need(result, "clCreateProgramWithSource");
	NEED(clBuildProgram(program, 1, &device, "", NULL, NULL));
	empty = clCreateKernel(program, "empty", &result);
	need(result, "empty");
	memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &result);
	need(result, "clCreateBuffer");
	NEED(clSetKernelArg(empty, 0, sizeof(memory), &memory));
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_nsec;
}

static void rest(void)
{
	const struct timespec time = { wait_ns / 1000000000, wait_ns % 1000000000 };

	nanosleep(&time, NULL);
}

/* The other side of the waits. */
static void *hold_lock(void *argument)
{
	for (;;) {
		sem_wait(&take_lock);
		pthread_mutex_lock(&held);
		sem_post(&has_lock);
		rest();
		pthread_mutex_unlock(&held);
	}
	return argument;
}

static void *fill_pipe(void *argument)
{
	for (;;) {
		sem_wait(&write_slowly);
		rest();
		if (write(slow[1], "", 1) != 1)
			_exit(1);
	}
	return argument;
}

/* The device is the CPU, so that a kernel knows how long it takes. */
static void CL_CALLBACK spin(void *argument)
{
	uint64_t end = now() + (uint64_t)wait_ns;

	(void)argument;
	while (now() < end)
		sum++;
}

static NOINLINE void launch(void)
{
	const size_t size = 16;

	NEED(clEnqueueNDRangeKernel(queue, empty, 1, NULL, &size, NULL, 0, NULL, NULL));
}

static NOINLINE void launch_long(void)
{
	NEED(clEnqueueNativeKernel(queue, spin, NULL, 0, 0, NULL, NULL, 0, NULL, NULL));
}

static NOINLINE void sleep_in_loader(void)
{
	rest();
}

static NOINLINE void wait_for_lock(void)
{
	sem_post(&take_lock);
	while (sem_wait(&has_lock))
		;
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
}

static NOINLINE void read_slow_pipe(void)
{
	char byte;

	sem_post(&write_slowly);
	if (read(slow[0], &byte, 1) != 1)
		_exit(1);
}

static NOINLINE void wait_child(void)
{
	pid_t child = fork();

	if (!child) {
		rest();
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* It is not waiting, and launches nothing. */
static NOINLINE void compute(void)
{
	uint64_t end = now() + (uint64_t)wait_ns;

	while (now() < end)
		sum++;
}

static NOINLINE void finish(void)
{
	NEED(clFinish(queue));
}

static NOINLINE void blocking_read(void)
{
	static char bytes[4096];

	NEED(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof(bytes), bytes, 0, NULL, NULL));
}

static struct {
	const char *name;
	void (*run)(void);
	uint64_t count;
	uint64_t ns;
} functions[] = {
#define FUNCTION(name)            \
	{                         \
#name, name, 0, 0 \
	}
	FUNCTION(launch),	 FUNCTION(launch_long),	   FUNCTION(sleep_in_loader),
	FUNCTION(wait_for_lock), FUNCTION(read_slow_pipe), FUNCTION(wait_child),
	FUNCTION(compute),	 FUNCTION(finish),	   FUNCTION(blocking_read),
#undef FUNCTION
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static void run(void (*function)(void))
{
	uint64_t start = now();
	size_t i;

	function();
	for (i = 0; functions[i].run != function; i++)
		;
	functions[i].ns += now() - start;
	functions[i].count++;
}

/* There is a launch before and after each wait that launches nothing. */
static NOINLINE void step(void)
{
	run(sleep_in_loader);
	run(launch);
	run(wait_for_lock);
	run(launch);
	run(read_slow_pipe);
	run(launch);
	run(wait_child);
	run(launch);
	run(compute);
	run(launch_long);
	run(finish);
	run(launch_long);
	run(blocking_read);
}

static void say(unsigned long steps, uint64_t loop_ns)
{
	printf("{\"steps\": %lu, \"loop_ns\": %llu, \"functions\": {", steps,
	       (unsigned long long)loop_ns);
	for (size_t i = 0; i < FUNCTIONS; i++)
		printf("%s\"%s\": {\"count\": %llu, \"ns\": %llu}", i ? ", " : "",
		       functions[i].name, (unsigned long long)functions[i].count,
		       (unsigned long long)functions[i].ns);
	printf("}}\n");
}

int main(int argc, char **argv)
{
	unsigned long steps = argc > 1 ? strtoul(argv[1], NULL, 10) : 20;
	pthread_t thread;
	uint64_t start;

	if (argc > 2)
		wait_ns = strtol(argv[2], NULL, 10) * 1000000;
	if (pipe(slow) || sem_init(&take_lock, 0, 0) || sem_init(&has_lock, 0, 0) ||
	    sem_init(&write_slowly, 0, 0) || pthread_create(&thread, NULL, hold_lock, NULL) ||
	    pthread_create(&thread, NULL, fill_pipe, NULL))
		return 1;
	begin();
	/* The first launch compiles. */
	launch();
	finish();
	start = now();
	for (unsigned long i = 0; i < steps; i++)
		step();
	say(steps, now() - start);
	return 0;
}
