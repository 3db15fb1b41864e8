// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Children of a process that is recorded. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

void run_fork(unsigned int count, const char *program)
{
	char text[16];
	unsigned int i;
	pid_t pid;

	for (i = 0; i < count; i++)
		mixed(i);
	pid = fork();
	if (pid == 0) {
		/* CUDA must not be used here. If it is used anyway, it is not recorded. */
		for (i = 0; i < count; i++)
			mixed(i);
		exit(0);
	}
	waitpid(pid, NULL, 0);
	cudaDeviceSynchronize();
	pid = fork();
	if (pid == 0) {
		snprintf(text, sizeof(text), "%u", count);
		execl(program, program, "loop", text, (char *)NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	for (i = 0; i < count; i++)
		mixed(i);
}

static void *let_go(void *argument)
{
	pause_ms(100);
	atomic_store(&hold_loader, false);
	return argument;
}

/* Fork while the library's thread holds the loader's lock, which the child needs. */
int fork_with_loader(const char *plugin)
{
	pthread_t other;
	int status;
	pid_t pid;

	launch_here("kernel_a", NULL);
	atomic_store(&hold_loader, true);
	if (!is_library_held())
		return 9;
	pthread_create(&other, NULL, let_go, NULL);
	pid = fork();
	if (!pid) {
		alarm(60);
		_exit(dlopen(plugin, RTLD_NOW) ? 0 : 10);
	}
	pthread_join(other, NULL);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 11;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 12;
}

/* In a new pid namespace, children have the pid that this process has in its own: 1. */
int fork_namesakes(void)
{
	struct timespec begin, end;
	int status;

	launch_here("kernel_a", NULL);
	for (int by_hand = 0; by_hand < 2; by_hand++) {
		pid_t pid;

		if (getpid() != 1 || unshare(CLONE_NEWPID))
			return 77;
		clock_gettime(CLOCK_MONOTONIC, &begin);
		/* A raw system call does not run handlers registered with the C library. */
		pid = by_hand ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : fork();
		if (!pid)
			exit(getpid() == 1 ? 0 : 78);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 11;
		clock_gettime(CLOCK_MONOTONIC, &end);
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 12;
		printf("%ld\n", end.tv_sec - begin.tv_sec);
		fflush(stdout);
		/* A namespace whose first process has ended accepts no others. */
		if (setns(open("/proc/1/ns/pid", O_RDONLY), CLONE_NEWPID))
			return 13;
	}
	return 0;
}

void initialize_again(void)
{
	void *library = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
	int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") :
					    NULL;

	if (initialize)
		initialize();
}

/* A child that begins a life of its own, and cannot listen: the parent's socket stays. */
int fork_while_listening(void)
{
	char path[4096];
	int status;
	pid_t pid;

	launch_here("kernel_a", NULL);
	snprintf(path, sizeof(path), "%s/gpumon-%u-%d.sock", getenv("GPUMON_LISTEN"), geteuid(),
		 getpid());
	for (unsigned int i = 0; access(path, F_OK); i++) {
		if (i == 60000)
			return 9;
		pause_ms(1);
	}
	pid = fork();
	if (!pid) {
		setenv("GPUMON_LISTEN", "/nowhere/at/all", true);
		initialize_again();
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 11;
	return access(path, F_OK) ? 12 : 0;
}

static _Atomic bool initializes_in_fork;

static void initialize_in_fork(void)
{
	if (atomic_exchange(&initializes_in_fork, false))
		initialize_again();
}

/* In a child an API is initialised while it forks, as by another thread. */
int fork_in_child(void)
{
	int status;
	pid_t pid;

	/* Registered before the library's, so that it runs after it. */
	pthread_atfork(initialize_in_fork, NULL, NULL);
	launch_here("kernel_a", NULL);
	pid = fork();
	if (!pid) {
		atomic_store(&initializes_in_fork, true);
		pid = fork();
		if (!pid)
			_exit(0);
		atomic_store(&hold_loader, true);
		status = is_library_held() ? 0 : 9;
		atomic_store(&hold_loader, false);
		_exit(status);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 11;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 12;
}
