// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Forbids itself system calls, in all threads, and goes on launching:
 *
 *	program_sandbox ACTION END THREADS [+|-]CALL...
 *
 * ACTION: kill, errno or trap; END: exit, _exit, fork (a child that ends, then exit), close (of all
 * descriptors, before the sandbox) or wait (for lines of standard input, before the sandbox and at the end). THREADS threads that were there before the sandbox
 * launch for the first time in it. The first CALL says whether only these or all but these are allowed.
 * It prints how many calls were refused, of which it makes none itself.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define LAUNCHES    40
#define THREADS_MAX 8

static cl_command_queue queue;
static cl_kernel kernel;
static pthread_barrier_t barrier;
static volatile sig_atomic_t refused;

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

static void launch(int count)
{
	size_t size = 1024;

	while (count-- > 0)
		need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
	need(clFinish(queue));
}

/* Alone, it needs no call for this. */
static void spend_time(void)
{
	for (volatile int i = 0; i < 5000000; i++)
		;
}

static void *launch_late(void *argument)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	launch(LAUNCHES);
	pthread_barrier_wait(&barrier);
	/* It ends with the program: its own end needs calls. */
	pthread_barrier_wait(&barrier);
	return argument;
}

static void on_refused(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	refused++;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -EPERM;
}

static int forbid(const char *what, int count, char **calls)
{
	unsigned int action = !strcmp(what, "kill")  ? SECCOMP_RET_KILL_PROCESS :
			      !strcmp(what, "errno") ? SECCOMP_RET_ERRNO | EPERM :
						       SECCOMP_RET_TRAP;
	unsigned int named = SECCOMP_RET_ALLOW, other = action;
	struct sigaction trap = { .sa_sigaction = on_refused, .sa_flags = SA_SIGINFO };
	struct sock_filter filter[80];
	unsigned short k = 0;

	if (count && calls[0][0] == '-') {
		named = action;
		other = SECCOMP_RET_ALLOW;
	}
	sigaction(SIGSYS, &trap, NULL);
	filter[k++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						   offsetof(struct seccomp_data, nr));
	for (int i = 0; i < count && k < 70; i++) {
		filter[k++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							   (unsigned int)abs(atoi(calls[i])), 0, 1);
		filter[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, named);
	}
	filter[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, other);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			    &(struct sock_fprog){ k, filter });
}

int main(int argc, char **argv)
{
	int threads = argc > 3 ? atoi(argv[3]) : 0;
	bool waits = argc > 2 && !strcmp(argv[2], "wait");
	pthread_t thread;
	char byte, text[32];
	int length;

	if (argc < 4 || threads > THREADS_MAX)
		return 2;
	begin();
	launch(LAUNCHES);
	pthread_barrier_init(&barrier, NULL, (unsigned int)threads + 1);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, launch_late, NULL))
			return 3;
	pthread_barrier_wait(&barrier);
	while (waits && read(0, &byte, 1) > 0 && byte != '\n')
		;
	for (int fd = 3; !strcmp(argv[2], "close") && fd < 1024; fd++)
		close(fd);
	if (forbid(argv[1], argc - 4, argv + 4))
		return 4;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < LAUNCHES; i++) {
		launch(1);
		spend_time();
	}
	pthread_barrier_wait(&barrier);
	while (waits && read(0, &byte, 1) > 0 && byte != '\n')
		launch(1);
	if (!strcmp(argv[2], "fork")) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		if (child < 0 || waitpid(child, &length, 0) != child || length)
			return 5;
	}
	length = snprintf(text, sizeof(text), "refused %d\n", (int)refused);
	if (length > 0 && write(1, text, (size_t)length) != length)
		return 6;
	if (!strcmp(argv[2], "_exit"))
		_exit(7);
	exit(7);
}
