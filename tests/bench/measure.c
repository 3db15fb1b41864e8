// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * measure: counts the guest's instructions for one action. It runs in a VM with -icount
 * shift=0,sleep=off: there the time stamp counter increases by one with each instruction of the
 * single CPU, in any context, and jumps while the guest is idle. So nothing here may sleep while
 * counting. The program is static and uses no library: it runs in any root file system, and its own
 * share of the count is small.
 */
#include <argp.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../mock/mock_gpu.h"
#include "measure.h"
#include "netlink.h"

#define BUFFER_SIZE (1 << 20)

static struct {
	unsigned int jobs;
	unsigned int repeats;
	unsigned int rings;
	const char *drain;
	bool reader;
} options = {
	.jobs = 2000,
	.repeats = 2,
};

static char buffer[BUFFER_SIZE];

/* Read everything available, without waiting. */
static void drain(int fd)
{
	ssize_t n;

	do
		n = read(fd, buffer, sizeof(buffer));
	while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0 && errno != EAGAIN)
		error(1, errno, "cannot read what should be consumed");
}

/* A reader like that of a tracing tool: it sleeps until there is enough data. */
static pid_t start_reader(const char *path)
{
	pid_t pid = fork();
	ssize_t n;
	int fd;

	if (pid)
		return pid;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		error(1, errno, "%s", path);
	do
		n = read(fd, buffer, sizeof(buffer));
	while (n > 0 || (n < 0 && errno == EINTR));
	_exit(n < 0);
}

static void run_jobs(int fd, unsigned int ring, unsigned int count)
{
	struct mock_gpu_submit submit = {
		.ring = ring,
		.count = count,
		.flags = MOCK_GPU_SUBMIT_INLINE | MOCK_GPU_SUBMIT_WAIT,
		.service_ns = 1000,
	};

	if (ioctl(fd, MOCK_GPU_IOC_SUBMIT, &submit) || submit.submitted != count)
		error(1, errno, "cannot submit to the mock GPU");
}

/* With options.rings each job is a call of its own, to the next ring. */
static void run_all_jobs(int fd)
{
	unsigned int job;

	if (!options.rings)
		run_jobs(fd, 0, options.jobs);
	for (job = 0; options.rings && job < options.jobs; job++)
		run_jobs(fd, job % options.rings, 1);
}

/* The scheduler frees jobs after their last event, which does not belong to the measurement. */
static void wait_idle(void)
{
	char line[512];
	bool busy;
	FILE *f;

	do {
		unsigned long alive;

		busy = false;
		f = fopen("/sys/kernel/debug/mock_gpu/account", "re");
		if (!f)
			error(1, errno, "cannot read the mock GPU's account");
		if (!fgets(line, sizeof(line), f))
			error(1, 0, "no account");
		while (fgets(line, sizeof(line), f)) {
			if (sscanf(line,
				   "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu",
				   &alive) != 1)
				error(1, 0, "no column 'alive' in the account");
			busy |= alive != 0;
		}
		fclose(f);
		if (busy)
			usleep(1000);
	} while (busy);
}

static void measure_jobs(void)
{
	uint64_t begin, end;
	int fd, events = -1;
	unsigned int r;
	pid_t reader = 0;

	fd = open("/dev/mock_gpu", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		error(1, errno, "/dev/mock_gpu");
	if (options.drain) {
		events = open(options.drain, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (events < 0)
			error(1, errno, "%s", options.drain);
		if (options.reader)
			reader = start_reader(options.drain);
	}
	for (r = 0; r < WARM_UPS + options.repeats; r++) {
		/* Wait until nothing of the previous round is running. */
		usleep(200000);
		begin = instructions();
		run_all_jobs(fd);
		if (events >= 0)
			drain(events);
		end = instructions();
		wait_idle();
		if (r >= WARM_UPS)
			printf("%.2f\n", (double)(end - begin) / options.jobs);
	}
	if (reader) {
		kill(reader, SIGKILL);
		waitpid(reader, NULL, 0);
	}
	close(fd);
}

/* One job on each ring of each device, so that all rings are known. */
static void touch_rings(void)
{
	struct mock_gpu_submit submit;
	struct mock_gpu_info info;
	unsigned int d, r, i;
	int fd = open("/dev/mock_gpu", O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, MOCK_GPU_IOC_INFO, &info))
		error(1, errno, "/dev/mock_gpu");
	for (d = 0; d < info.devices; d++) {
		for (r = 0; r < info.rings; r++) {
			for (i = 0; i < options.jobs; i++) {
				memset(&submit, 0, sizeof(submit));
				submit.device = d;
				submit.ring = r;
				submit.count = 1;
				submit.flags = MOCK_GPU_SUBMIT_INLINE | MOCK_GPU_SUBMIT_WAIT;
				if (ioctl(fd, MOCK_GPU_IOC_SUBMIT, &submit))
					error(1, errno, "cannot submit");
			}
		}
	}
	close(fd);
	wait_idle();
}

/* Print instructions and bytes of opening, reading completely, and closing a file. */
static void measure_read(const char *path)
{
	uint64_t begin, end;
	unsigned int r;
	size_t bytes;
	ssize_t n;
	int fd;

	for (r = 0; r < options.repeats + 1; r++) {
		bytes = 0;
		usleep(200000);
		begin = instructions();
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			error(1, errno, "%s", path);
		while ((n = read(fd, buffer, sizeof(buffer))) > 0)
			bytes += n;
		close(fd);
		end = instructions();
		if (n < 0)
			error(1, errno, "%s", path);
		if (r)
			printf("%llu %zu\n", (unsigned long long)(end - begin), bytes);
	}
}

/* The same for netlink dumps, one after the other. */
static void measure_dump(char **commands, unsigned int count)
{
	uint64_t begin, end;
	unsigned int r, i;
	size_t bytes;

	netlink_open();
	for (r = 0; r < options.repeats + 1; r++) {
		bytes = 0;
		usleep(200000);
		begin = instructions();
		for (i = 0; i < count; i++)
			bytes += netlink_dump(commands[i]);
		end = instructions();
		if (r)
			printf("%llu %zu\n", (unsigned long long)(end - begin), bytes);
	}
}

static const struct argp_option arguments[] = {
	{ "jobs", 'n', "N", 0, "Jobs (2000)", 0 },
	{ "repeats", 'k', "N", 0, "Measurements, after a warm-up (2)", 0 },
	{ "rings", 'R', "N", 0, "One job at a time, on so many rings in turns", 0 },
	{ "drain", 'd', "FILE", 0, "After the jobs read what is in there", 0 },
	{ "reader", 'r', NULL, 0, "With a reader of it that sleeps and wakes meanwhile, too", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, __attribute__((unused)) struct argp_state *state)
{
	switch (key) {
	case 'n':
		options.jobs = strtoul(arg, NULL, 10);
		return 0;
	case 'k':
		options.repeats = strtoul(arg, NULL, 10);
		return 0;
	case 'R':
		options.rings = strtoul(arg, NULL, 10);
		return 0;
	case 'd':
		options.drain = arg;
		return 0;
	case 'r':
		options.reader = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = arguments,
	.parser = parse,
	.args_doc = "WHAT [ARGUMENTS]",
	.doc = "Count the guest's instructions.\vWHAT is one of jobs, touch, read FILE, dump COMMAND...,\n"
	       "event-ring on|off [KIB], fire FILE..., ioctl DEVICE COMMAND CPUS,\n"
	       "load FILE [PARAMETERS], unload MODULE, start TEXT PROGRAM...",
};

int main(int argc, char **argv)
{
	int i;

	/* Options after the program's name belong to the program. */
	argp_parse(&parser, argc, argv, ARGP_IN_ORDER, &i, NULL);
	argc -= i;
	argv += i;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 1 && !strcmp(argv[0], "jobs")) {
		measure_jobs();
	} else if (argc == 1 && !strcmp(argv[0], "touch")) {
		touch_rings();
	} else if (argc == 2 && !strcmp(argv[0], "read")) {
		measure_read(argv[1]);
	} else if (argc >= 2 && !strcmp(argv[0], "dump")) {
		measure_dump(argv + 1, argc - 1);
	} else if (argc >= 2 && !strcmp(argv[0], "fire")) {
		measure_fire(argv + 1, argc - 1, options.repeats);
	} else if (argc == 4 && !strcmp(argv[0], "ioctl")) {
		measure_ioctl(argv[1], strtoul(argv[2], NULL, 0), strtoul(argv[3], NULL, 10),
			      options.jobs, options.repeats);
	} else if (argc >= 2 && argc <= 3 && !strcmp(argv[0], "load")) {
		measure_load(argv[1], argc > 2 ? argv[2] : "");
	} else if (argc == 2 && !strcmp(argv[0], "unload")) {
		measure_unload(argv[1]);
	} else if (argc >= 3 && !strcmp(argv[0], "start")) {
		measure_start(argv[1], argv + 2);
	} else if (argc >= 2 && !strcmp(argv[0], "event-ring")) {
		netlink_open();
		netlink_event_ring(!strcmp(argv[1], "on"),
				   argc > 2 ? strtoul(argv[2], NULL, 10) : 0);
	} else {
		error(2, 0, "see measure --help");
	}
	return 0;
}
