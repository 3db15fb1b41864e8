// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The same on several CPUs at once, with a process on each. They begin together. Prints the ticks
 * from the first beginning to the last end of each round. With QEMU's plugin, each round is a
 * window with a part for each CPU.
 */
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "measure.h"

#define CPUS	 64
#define COMMANDS "/sys/kernel/debug/fire_gpu/command"
/* The kernel accepts no more in one write. */
#define COMMANDS_MAX 500000

/* In a page that the processes share. */
struct shared {
	unsigned int cpus;
	/* Rounds that may begin, and rounds that are done. */
	unsigned int round;
	unsigned int done;
	/* CPUs that are ready, twice: asleep, and then awake; and CPUs that have finished. */
	unsigned int there;
	unsigned int finished;
	uint64_t begin[CPUS];
	uint64_t end[CPUS];
};

static struct shared *shared;

static struct {
	char *file;
	const char *device;
	unsigned long command;
	unsigned int calls;
} work;

static char commands[COMMANDS_MAX];
static size_t length;
static int fd = -1;

static void prepare(void)
{
	int file;
	ssize_t n;

	if (work.device) {
		fd = open(work.device, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			error(1, errno, "%s", work.device);
		return;
	}
	file = open(work.file, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		error(1, errno, "%s", work.file);
	while ((n = read(file, commands + length, sizeof(commands) - length)) > 0)
		length += n;
	close(file);
	fd = open(COMMANDS, O_RDWR | O_CLOEXEC);
	if (n < 0 || fd < 0)
		error(1, errno, "%s", fd < 0 ? COMMANDS : work.file);
}

static void do_work(void)
{
	unsigned char arguments[16] = { 0 };
	unsigned int i;

	if (!work.device) {
		if (write(fd, commands, length) != (ssize_t)length)
			error(1, errno, "a command of %s", work.file);
		return;
	}
	for (i = 0; i < work.calls; i++)
		if (ioctl(fd, work.command, arguments))
			error(1, errno, "%s", work.device);
}

static void bind_to(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		error(1, errno, "processor %u", cpu);
}

static void answers(void)
{
	char text[4096];

	while (!work.device && read(fd, text, sizeof(text)) > 0)
		;
}

static void one_processor(unsigned int cpu, unsigned int rounds)
{
	unsigned int round;

	bind_to(cpu);
	prepare();
	for (round = 1; round <= rounds; round++) {
		__atomic_fetch_add(&shared->there, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&shared->round, __ATOMIC_SEQ_CST) != round)
			usleep(1000);
		/* All are awake, so none waits for another's wake-up. */
		__atomic_fetch_add(&shared->there, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&shared->there, __ATOMIC_SEQ_CST) < 2 * shared->cpus)
			__builtin_ia32_pause();
		shared->begin[cpu] = instructions();
		MARK(MARKER_BEGIN);
		do_work();
		MARK(MARKER_END);
		shared->end[cpu] = instructions();
		answers();
		/* The last one prepares the next round. */
		if (__atomic_add_fetch(&shared->finished, 1, __ATOMIC_SEQ_CST) == shared->cpus) {
			__atomic_store_n(&shared->finished, 0, __ATOMIC_SEQ_CST);
			__atomic_store_n(&shared->there, 0, __ATOMIC_SEQ_CST);
			__atomic_store_n(&shared->done, round, __ATOMIC_SEQ_CST);
		}
		while (__atomic_load_n(&shared->done, __ATOMIC_SEQ_CST) != round)
			usleep(1000);
	}
	_exit(0);
}

/* Wait asleep. A CPU that failed ends the wait. */
static void wait_for(unsigned int *count, unsigned int value, const pid_t *pids)
{
	unsigned int i;
	int status;

	while (__atomic_load_n(count, __ATOMIC_SEQ_CST) < value) {
		for (i = 0; i < shared->cpus; i++)
			/* After the last round they end one after the other. */
			if (waitpid(pids[i], &status, WNOHANG) > 0 && status)
				error(1, 0, "processor %u failed", i);
		usleep(1000);
	}
}

static void one_round(unsigned int round, const pid_t *pids)
{
	uint64_t first, last;
	unsigned int i;

	wait_for(&shared->there, shared->cpus, pids);
	if (round > WARM_UPS)
		MARK(MARKER_OPEN);
	__atomic_store_n(&shared->round, round, __ATOMIC_SEQ_CST);
	wait_for(&shared->done, round, pids);
	if (round > WARM_UPS)
		MARK(MARKER_CLOSE);
	first = shared->begin[0];
	last = shared->end[0];
	for (i = 1; i < shared->cpus; i++) {
		if (shared->begin[i] < first)
			first = shared->begin[i];
		if (shared->end[i] > last)
			last = shared->end[i];
	}
	if (round > WARM_UPS)
		printf("%llu\n", (unsigned long long)(last - first));
}

static void on_all(char **files, unsigned int cpus, unsigned int repeats)
{
	unsigned int rounds = WARM_UPS + repeats, cpu, round;
	pid_t pids[CPUS];

	if (!cpus || cpus > CPUS)
		error(2, 0, "1 to %d processors", CPUS);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		error(1, errno, "shared memory");
	shared->cpus = cpus;
	arm();
	for (cpu = 0; cpu < cpus; cpu++) {
		work.file = files ? files[cpu] : NULL;
		pids[cpu] = fork();
		if (pids[cpu] < 0)
			error(1, errno, "fork");
		if (!pids[cpu])
			one_processor(cpu, rounds);
	}
	for (round = 1; round <= rounds; round++)
		one_round(round, pids);
	for (cpu = 0; cpu < cpus; cpu++) {
		int status;

		if (waitpid(pids[cpu], &status, 0) == pids[cpu] && status)
			error(1, 0, "processor %u failed", cpu);
	}
}

/* Commands for fire_gpu.ko, a file for each CPU. */
void measure_fire(char **files, unsigned int count, unsigned int repeats)
{
	on_all(files, count, repeats);
}

/* An ioctl with an argument of 16 bytes, this number of times on each CPU. */
void measure_ioctl(const char *device, unsigned long command, unsigned int cpus, unsigned int calls,
		   unsigned int repeats)
{
	work.device = device;
	work.command = command;
	work.calls = calls;
	on_all(NULL, cpus, repeats);
}
