// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Ranges named "wanted", for recording windows. Kernels launched while one is open are named
 * "inside", others "outside". nvtx_windows overlap|errors|domains|threads|names|again|child
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>

#define NAMES 12000

static void launch(const char *name)
{
	const dim3 one = { 1, 1, 1 };

	cudaLaunchKernel(name, one, one, NULL, 0, NULL);
}

static void overlap(void)
{
	nvtxRangeId_t first = nvtxRangeStartA("wanted"), second = nvtxRangeStartA("wanted");

	launch("inside");
	nvtxRangeEnd(first);
	launch("inside");
	nvtxRangeEnd(second);
	launch("outside");
	first = nvtxRangeStartA("wanted");
	second = nvtxRangeStartA("wanted");
	nvtxRangeEnd(second);
	launch("inside");
	nvtxRangeEnd(first);
	first = nvtxRangeStartA("wanted");
	nvtxRangePushA("wanted");
	launch("inside");
	nvtxRangeEnd(first);
	launch("inside");
	nvtxRangePop();
	launch("outside");
}

static void push(nvtxDomainHandle_t domain, const char *text)
{
	nvtxEventAttributes_t attributes = {
		.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.messageType = NVTX_MESSAGE_TYPE_ASCII,
		.message.ascii = text,
	};

	nvtxDomainRangePushEx(domain, &attributes);
}

#define ERRNO_BEFORE 4711

/* Ranges, and names of threads and streams, leave errno as it was. */
static void errors(void)
{
	nvtxRangeId_t id;

	nvtxRangePushA("wanted");
	launch("inside");
	nvtxRangePop();
	errno = ERRNO_BEFORE;
	nvtxRangePushA("wanted");
	nvtxRangePop();
	id = nvtxRangeStartA("wanted");
	nvtxRangeEnd(id);
	if (errno != ERRNO_BEFORE)
		exit(10);
	nvtxNameOsThreadA((uint32_t)getpid(), "a name");
	nvtxNameCudaStreamA(NULL, "a stream");
	if (errno != ERRNO_BEFORE)
		exit(11);
}

/* Each domain has its own stack. */
static void domains(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("a library");

	nvtxRangePushA("wanted");
	push(domain, "other");
	launch("inside");
	nvtxRangePop();
	launch("outside");
	nvtxDomainRangePop(domain);
	launch("outside");
	push(domain, "wanted");
	nvtxRangePushA("other");
	nvtxDomainRangePop(domain);
	launch("outside");
	nvtxRangePop();
}

/* Pauses of the library in this call. */
static __thread unsigned int pauses;

/*
 * Also used by the library: a thread that opens the window pauses some hundred times, at most, for another
 * one that has the switch. On a busy machine that one is away for longer. The sanitizer does not look,
 * since most calls have fewer than six arguments.
 */
__attribute__((no_sanitize("address"))) long syscall(long number, ...)
{
	static _Atomic(__typeof__(&syscall)) next;
	struct timespec longer = { .tv_nsec = 100000000 };
	const struct timespec *time;
	va_list arguments;
	long all[6];

	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		all[i] = va_arg(arguments, long);
	va_end(arguments);
	time = number == SYS_futex ? (const void *)all[3] : NULL;
	if (all[1] == FUTEX_WAIT_PRIVATE && time && !time->tv_sec && time->tv_nsec == 50000 &&
	    pauses++ > 50)
		all[3] = (long)&longer;
	if (!next)
		next = (__typeof__(next))dlsym(RTLD_NEXT, "syscall");
	return next(number, all[0], all[1], all[2], all[3], all[4], all[5]);
}

static void *run(void *argument)
{
	for (int i = 0; i < 1000; i++) {
		pauses = 0;
		nvtxRangePushA("wanted");
		launch("inside");
		nvtxRangePop();
	}
	return argument;
}

static void threads(void)
{
	pthread_t others[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&others[i], NULL, run, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(others[i], NULL);
}

static void names(void)
{
	nvtxEventAttributes_t attributes = {
		.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.messageType = NVTX_MESSAGE_TYPE_REGISTERED,
	};
	char text[200];

	launch("inside");
	for (int i = 0; i < NAMES; i++) {
		snprintf(text, sizeof(text), "name %d %0120d", i, i);
		attributes.message.registered = nvtxDomainRegisterStringA(NULL, text);
		nvtxMarkEx(&attributes);
	}
}

/*
 * Captured twice: a line of input says when to continue. A range of the first capture is still open
 * in the second.
 */
static void again(void)
{
	char line[16];

	launch("outside");
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < 2 && fgets(line, sizeof(line), stdin); i++) {
		nvtxRangePushA("wanted");
		launch("inside");
		if (i) {
			nvtxRangePop();
			launch("outside");
			nvtxRangePop();
			nvtxRangePushA("wanted");
			launch("inside");
			nvtxRangePop();
		}
		puts("done");
		fflush(stdout);
	}
	(void)!fgets(line, sizeof(line), stdin);
}

static pthread_barrier_t pushed;

static void *push_and_stay(void *argument)
{
	nvtxRangePushA("of another thread");
	pthread_barrier_wait(&pushed);
	pause();
	return argument;
}

static void *launch_outside(void *argument)
{
	launch("outside");
	return argument;
}

/* Only the child uses CUDA; threads of its parent had ranges. */
static void child(void)
{
	pthread_t thread;
	int status;
	pid_t pid;

	nvtxRangePushA("of the parent");
	/* The library's own thread in the child takes the place of one of them. */
	pthread_barrier_init(&pushed, NULL, 3);
	pthread_create(&thread, NULL, push_and_stay, NULL);
	pthread_create(&thread, NULL, push_and_stay, NULL);
	pthread_barrier_wait(&pushed);
	pid = fork();
	if (!pid) {
		launch("outside");
		pthread_create(&thread, NULL, launch_outside, NULL);
		pthread_join(thread, NULL);
		cudaDeviceSynchronize();
		exit(0);
	}
	exit(pid > 0 && waitpid(pid, &status, 0) == pid ? status : 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = { { "overlap", overlap }, { "errors", errors }, { "domains", domains },
		    { "threads", threads }, { "names", names },	  { "again", again },
		    { "child", child } };

	/* Load CUDA, and with it the library, before the first range. */
	if (argc < 2 || strcmp(argv[1], "child"))
		cudaDeviceSynchronize();
	for (size_t i = 0; argc > 1 && i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(argv[1], all[i].name))
			all[i].run();
	cudaDeviceSynchronize();
	return 0;
}
