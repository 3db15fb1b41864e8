// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seccomp.h"

unsigned int inject_seccomp_filters(void)
{
	int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
	unsigned int mode = 0, filters = 0;
	const char *line;
	char text[4096];
	ssize_t length;

	if (fd < 0)
		return 0;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	line = strstr(text, "\nSeccomp:");
	if (line)
		sscanf(line, "\nSeccomp: %u", &mode);
	filters = mode != 0;
	line = strstr(text, "\nSeccomp_filters:");
	if (line)
		sscanf(line, "\nSeccomp_filters: %u", &filters);
	return filters;
}

#ifdef __x86_64__

/* linux/sched.h, which headers before 5.3 do not have. */
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define STACK_SIZE 16384

/* System calls that a capture needs at its begin, beside those that the loader has just made. */
static const int begin_calls[] = {
	SYS_socket,
	SYS_connect,
	SYS_bind,
	SYS_listen,
	SYS_accept4,
	SYS_sendto,
	SYS_recvfrom,
	SYS_sendmsg,
	SYS_recvmsg,
	SYS_getsockopt,
	SYS_poll,
	SYS_fcntl,
	SYS_lseek,
	SYS_fstatfs,
	SYS_newfstatat,
	SYS_close,
	SYS_close_range,
	SYS_madvise,
	SYS_munmap,
	SYS_mprotect,
	SYS_readlink,
	SYS_uname,
	SYS_getcwd,
	SYS_getpid,
	SYS_gettid,
	SYS_geteuid,
	SYS_getppid,
	SYS_prctl,
	SYS_rt_sigprocmask,
	SYS_futex,
	SYS_sched_getaffinity,
	SYS_process_vm_readv,
	SYS_fchmod,
	-1,
};

/* Those that looks at waiting threads need beside them. */
static const int look_calls[] = {
	SYS_openat, SYS_pread64, SYS_getdents64, SYS_statx, SYS_clock_gettime, -1,
};

/* Those that ask the kernel for stacks of running threads. */
static const int sample_calls[] = {
	SYS_perf_event_open, SYS_ioctl, SYS_mmap, SYS_munmap, -1,
};

/* Those that move threads to another processor. */
static const int move_calls[] = {
	SYS_openat, SYS_getdents64, SYS_sched_setaffinity, -1,
};

/* Those that the other process makes, the last one -1. */
static const int *calls;

/* Written by the other process, which shares this memory. */
static volatile bool has_passed;

/* All arguments are -1: no descriptor, address or operation. */
static void make_calls(void)
{
	static const struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} by_default;
	/* With 1, the kernel writes no core, neither into a file nor into a pipe. */
	static const struct rlimit no_core = { 1, 1 };

	syscall(SYS_rt_sigaction, SIGSYS, &by_default, NULL, 8);
	syscall(SYS_prlimit64, 0, RLIMIT_CORE, &no_core, NULL);
	for (size_t i = 0; calls[i] >= 0; i++)
		syscall(calls[i], -1l, -1l, -1l, -1l, -1l, -1l);
	/* A call that the parent makes for this process. */
	syscall(SYS_wait4, -1l, NULL, WNOHANG, NULL);
	has_passed = true;
	syscall(SYS_exit_group, 0);
}

/* The kernel's numbers: glibc's clone3() is not public, and its clone() has its own calls. */
static long start_process(long number, long first, long second)
{
	register void (*function)(void) __asm__("r12") = make_calls;
	register long none __asm__("r10") = 0;
	register long no_storage __asm__("r8") = 0;
	long result;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "call *%%r12\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(result)
			 : "a"(number), "D"(first), "S"(second), "d"(0l), "r"(function), "r"(none),
			   "r"(no_storage)
			 : "rcx", "r11", "memory");
	return result;
}

/* Flags as of vfork(): the caller waits until the child has ended, and gets no signal for that. */
static long try_calls(char *stack)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} arguments = {
		.flags = CLONE_VM | CLONE_VFORK,
		.stack = (uintptr_t)stack,
		.stack_size = STACK_SIZE,
	};
	long pid = start_process(SYS_clone3, (long)(uintptr_t)&arguments, sizeof(arguments));

	/* Flags as in pthread_create(). */
	if (pid == -ENOSYS)
		pid = start_process(SYS_clone, CLONE_VM | CLONE_VFORK,
				    (long)(uintptr_t)(stack + STACK_SIZE));
	return pid;
}

static bool may_make(const int *wanted)
{
	int kept = errno;
	char *stack;
	long pid;

	if (!inject_seccomp_filters())
		return true;
	stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED)
		return true;
	has_passed = false;
	calls = wanted;
	pid = try_calls(stack);
	if (pid > 0 && has_passed) {
		waitpid((pid_t)pid, NULL, __WCLONE);
		munmap(stack, STACK_SIZE);
	}
	errno = kept;
	return pid < 0 || has_passed;
}

bool inject_seccomp_may_begin(void)
{
	return may_make(begin_calls);
}

bool inject_seccomp_may_look(void)
{
	return may_make(look_calls);
}

bool inject_seccomp_may_sample(void)
{
	return may_make(sample_calls);
}

bool inject_seccomp_may_move(void)
{
	return may_make(move_calls);
}

#else

bool inject_seccomp_may_begin(void)
{
	return true;
}

bool inject_seccomp_may_look(void)
{
	return true;
}

bool inject_seccomp_may_sample(void)
{
	return true;
}

bool inject_seccomp_may_move(void)
{
	return true;
}

#endif
