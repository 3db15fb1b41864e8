// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Waits in functions that say for what, between launches:
 *
 *	program_waits waits|told|computes|storm MS [THREADS]
 *	program_waits random SEED ROUNDS
 *
 * told: says "ready", and waits for its input before that. waits: prints a line for each function: its name, its address, when it began and ended. computes: likewise, of
 * functions that wait for nothing. storm: for MS, threads start, launch, wait, compute and end, and so do
 * children; prints how many calls were interrupted or failed.
 * random: threads, threads of these, and children do by chance what the seed says; prints a sum of all results
 * and errors, which depends on the seed alone.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <alloca.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static cl_command_queue queue;
static cl_kernel kernel;
static unsigned int wait_ms;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int slow[2], full[2];
static int is_signalled;
static _Atomic unsigned int interrupted, failed;
static volatile unsigned int computing;

static void need(cl_int result)
{
	if (result != CL_SUCCESS)
		_exit(100);
}

static void begin(void)
{
	const char *source = "kernel void work(global int *a) { a[get_global_id(0)] += 1; }";
	cl_platform_id platform;
	cl_context context;
	cl_device_id device;
	cl_program program;
	cl_mem memory;
	cl_int result;

	need(clGetPlatformIDs(1, &platform, NULL));
	need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &result);
	need(result);
	queue = clCreateCommandQueue(context, device, 0, &result);
	need(result);
	program = clCreateProgramWithSource(context, 1, &source, NULL, &result);
	need(result);
	need(clBuildProgram(program, 1, &device, "", NULL, NULL));
	kernel = clCreateKernel(program, "work", &result);
	need(result);
	memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &result);
	need(result);
	need(clSetKernelArg(kernel, 0, sizeof(memory), &memory));
}

static void launch(void)
{
	size_t size = 16;

	need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_nsec;
}

static void count(int is_ok)
{
	if (is_ok)
		return;
	if (errno == EINTR)
		interrupted++;
	else
		failed++;
}

static NOINLINE void wait_asleep(void)
{
	const struct timespec time = { wait_ms / 1000, wait_ms % 1000 * 1000000l };

	count(nanosleep(&time, NULL) == 0);
}

static NOINLINE void wait_for_lock(void)
{
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
}

static NOINLINE void wait_for_condition(void)
{
	pthread_mutex_lock(&lock);
	while (!is_signalled)
		pthread_cond_wait(&condition, &lock);
	pthread_mutex_unlock(&lock);
}

static NOINLINE void wait_for_pipe(void)
{
	char byte;

	count(read(slow[0], &byte, 1) == 1);
}

static NOINLINE void wait_for_room(void)
{
	static char bytes[1 << 17];

	count(write(full[1], bytes, sizeof(bytes)) == sizeof(bytes));
}

static NOINLINE void wait_in_poll(void)
{
	struct pollfd nothing = { .fd = slow[0], .events = POLLIN };

	count(poll(&nothing, 1, (int)wait_ms) == 0);
}

static NOINLINE void wait_for_child(void)
{
	pid_t child = fork();

	if (!child) {
		usleep(wait_ms * 1000);
		_exit(0);
	}
	count(waitpid(child, NULL, 0) == child);
}

/* Of this thread, on a busy machine as well. */
static uint64_t computed(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_nsec;
}

/* Without a frame of its own. */
static NOINLINE void compute_checksum(void)
{
	uint64_t end = computed() + wait_ms * 1000000ull;

	do {
		for (unsigned int i = 0; i < 10000; i++)
			computing = computing * 31 + i;
	} while (computed() < end);
}

static int compare_rows(const void *a, const void *b)
{
	computing++;
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

/* By a function of the C library, which calls back. */
static NOINLINE void compute_order(void)
{
	uint64_t end = computed() + wait_ms * 1000000ull;
	static int rows[3000];

	do {
		for (int i = 0; i < 3000; i++)
			rows[i] = (int)((unsigned int)i * 2654435761u >> 1);
		qsort(rows, 3000, sizeof(rows[0]), compare_rows);
	} while (computed() < end);
}

/* It aligns its stack. The size of its frame is known only when it runs. */
static NOINLINE void compute_aligned(void)
{
	uint64_t end = computed() + wait_ms * 1000000ull;
	volatile unsigned char row[64] __attribute__((aligned(64)));
	unsigned char *rows = alloca(wait_ms + 1000);

	do {
		for (unsigned int i = 0; i < 100000; i++)
			rows[i % 1000] = (unsigned char)(rows[i % 1000] + computing++);
		*row = rows[computing % 1000];
	} while (computed() < end);
}

/* What the others wait for. */
static void *keep_waiting(void *argument)
{
	char bytes[4096];
	ssize_t got;
	size_t all = 0;

	pthread_mutex_lock(&held);
	pthread_barrier_wait(&barrier);
	usleep(wait_ms * 1000);
	pthread_mutex_unlock(&held);
	pthread_barrier_wait(&barrier);
	usleep(wait_ms * 1000);
	pthread_mutex_lock(&lock);
	is_signalled = 1;
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&lock);
	pthread_barrier_wait(&barrier);
	usleep(wait_ms * 1000);
	count(write(slow[1], "", 1) == 1);
	pthread_barrier_wait(&barrier);
	usleep(wait_ms * 1000);
	while (all < 1 << 17 && (got = read(full[0], bytes, sizeof(bytes))) > 0)
		all += (size_t)got;
	return argument;
}

static void run(const char *name, void (*function)(void))
{
	uint64_t start, end;

	launch();
	start = now();
	function();
	end = now();
	launch();
	printf("%s %p %llu %llu\n", name, __extension__(void *) function, (unsigned long long)start,
	       (unsigned long long)end);
}

static void wait_for_all(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, NULL, keep_waiting, NULL))
		_exit(101);
	pthread_barrier_wait(&barrier);
	run("wait_for_lock", wait_for_lock);
	pthread_barrier_wait(&barrier);
	run("wait_for_condition", wait_for_condition);
	pthread_barrier_wait(&barrier);
	run("wait_for_pipe", wait_for_pipe);
	pthread_barrier_wait(&barrier);
	run("wait_for_room", wait_for_room);
	pthread_join(thread, NULL);
	run("wait_asleep", wait_asleep);
	run("wait_in_poll", wait_in_poll);
	run("wait_for_child", wait_for_child);
}

static void compute_all(void)
{
	run("compute_checksum", compute_checksum);
	run("compute_order", compute_order);
	run("compute_aligned", compute_aligned);
}

static void *live_shortly(void *argument)
{
	const struct timespec shortly = { 0, 200000 };
	struct pollfd nothing = { .fd = slow[0], .events = POLLIN };
	pid_t child;

	launch();
	count(nanosleep(&shortly, NULL) == 0);
	for (unsigned int i = 0; i < 100000; i++)
		computing += i;
	count(poll(&nothing, 1, 1) == 0);
	if (argument) {
		child = fork();
		if (!child)
			execl("/bin/true", "true", NULL);
		count(waitpid(child, NULL, 0) == child);
	}
	return NULL;
}

static void storm(unsigned int threads)
{
	uint64_t end = now() + wait_ms * 1000000ull;
	pthread_t thread[64];
	unsigned int rounds = 0;

	if (threads > 64)
		threads = 64;
	while (now() < end) {
		for (unsigned int i = 0; i < threads; i++)
			if (pthread_create(&thread[i], NULL, live_shortly, i % 16 ? NULL : &queue))
				_exit(101);
		for (unsigned int i = 0; i < threads; i++)
			pthread_join(thread[i], NULL);
		rounds++;
	}
	printf("rounds %u\n", rounds);
}

/* What a thread does by chance. */
struct life {
	unsigned int seed;
	unsigned int depth;
	uint64_t sum;
};

static void *live_randomly(void *argument);

static uint64_t end_child(unsigned int status, int is_other)
{
	pid_t child = fork();
	int ended = 0;

	if (!child) {
		if (is_other)
			execl("/bin/sh", "sh", "-c", "exit 3", NULL);
		_exit((int)status & 0x7f);
	}
	count(waitpid(child, &ended, 0) == child);
	return (uint64_t)ended;
}

static uint64_t pass_bytes(unsigned int length)
{
	char bytes[512] = { 0 };
	int ends[2];
	ssize_t got;

	if (pipe(ends))
		return 1u << 31;
	memset(bytes, (int)length, length);
	count(write(ends[1], bytes, length) == (ssize_t)length);
	got = read(ends[0], bytes, sizeof(bytes));
	count(got == (ssize_t)length);
	close(ends[0]);
	close(ends[1]);
	return (uint64_t)got + (unsigned char)bytes[length / 2];
}

static uint64_t live_deeper(struct life *life)
{
	struct life deeper = { .seed = life->seed, .depth = life->depth + 1 };
	pthread_t thread;

	if (life->depth == 2)
		return 5;
	if (pthread_create(&thread, NULL, live_randomly, &deeper))
		_exit(101);
	pthread_join(thread, NULL);
	return deeper.sum;
}

/* Results and errors of calls, with numbers that differ. */
static uint64_t do_something(struct life *life)
{
	unsigned int number = (unsigned int)rand_r(&life->seed), rest = number >> 4;
	struct timespec until = { 0, rest % 500000 };
	struct pollfd nothing = { .fd = slow[0], .events = POLLIN };
	int result;

	switch (number % 10) {
	case 0:
	case 1:
		launch();
		return 1;
	case 2:
		count(nanosleep(&until, NULL) == 0);
		return 2;
	case 3:
		count(poll(&nothing, 1, rest % 3) == 0);
		return 3;
	case 4:
		return 100 + end_child(rest, rest & 256);
	case 5:
		return 1000 + pass_bytes(1 + rest % 512);
	case 6:
		return 10000 + live_deeper(life);
	case 7:
		result = (int)read(-1, &nothing, 1);
		return 100000 + (uint64_t)(result < 0 ? errno : 0);
	case 8:
		pthread_mutex_lock(&held);
		result = usleep(rest % 200);
		pthread_mutex_unlock(&held);
		count(result == 0);
		return 4;
	default:
		/* Nobody signals it. */
		clock_gettime(CLOCK_REALTIME, &until);
		pthread_mutex_lock(&lock);
		result = pthread_cond_timedwait(&condition, &lock, &until);
		pthread_mutex_unlock(&lock);
		return 1000000 + (uint64_t)result;
	}
}

static void *live_randomly(void *argument)
{
	struct life *life = argument;
	unsigned int steps = 1 + (unsigned int)rand_r(&life->seed) % 6;

	while (steps--)
		life->sum = life->sum * 31 + do_something(life);
	return NULL;
}

static void storm_randomly(unsigned int seed, unsigned int rounds)
{
	struct life lives[16];
	pthread_t thread[16];
	uint64_t sum = 0;

	for (unsigned int round = 0; round < rounds; round++) {
		unsigned int threads = 1 + (unsigned int)rand_r(&seed) % 16;

		for (unsigned int i = 0; i < threads; i++) {
			lives[i] = (struct life){ .seed = (unsigned int)rand_r(&seed) };
			if (pthread_create(&thread[i], NULL, live_randomly, &lives[i]))
				_exit(101);
		}
		for (unsigned int i = 0; i < threads; i++) {
			pthread_join(thread[i], NULL);
			sum = sum * 31 + lives[i].sum;
		}
	}
	printf("sum %llu\n", (unsigned long long)sum);
}

int main(int argc, char **argv)
{
	wait_ms = argc > 2 ? (unsigned int)atoi(argv[2]) : 300;
	if (pipe(slow) || pipe(full))
		return 102;
	begin();
	launch();
	if (argc > 1 && !strcmp(argv[1], "storm"))
		storm(argc > 3 ? (unsigned int)atoi(argv[3]) : 8);
	else if (argc > 3 && !strcmp(argv[1], "random"))
		storm_randomly((unsigned int)atoi(argv[2]), (unsigned int)atoi(argv[3]));
	else if (argc > 1 && !strcmp(argv[1], "computes"))
		compute_all();
	else {
		if (argc > 1 && !strcmp(argv[1], "told")) {
			puts("ready");
			fflush(stdout);
			(void)getchar();
		}
		wait_for_all();
	}
	need(clFinish(queue));
	printf("interrupted %u failed %u\n", interrupted, failed);
	return 0;
}
