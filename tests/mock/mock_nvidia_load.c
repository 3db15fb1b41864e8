// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A reproducible workload for the mock of nvidia.ko, with its own account: "name value" lines with
 * the module's names, for comparison. A GPU is "minor/N" here, since a program knows no more.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mock_nvidia.h"

#define PROCESSES_MAX 64
#define MINORS	      8
#define MINOR_CTL     MINORS
#define MINOR_NONE    (MINORS + 1)
/* An unused number: there are at most 8 GPUs. */
#define MINOR_MISSING 100

enum counter {
	OPENS,
	OPEN_ERRORS,
	CLOSES,
	HANDLES,
	IOCTLS,
	IOCTL_ERRORS,
	MMAPS,
	MMAP_BYTES,
	MMAP_ERRORS,
	FAULTS,
	VMA_OPENS,
	VMA_RELEASES,
	POLLS,
	COUNTERS,
};

static const char *const counter_names[COUNTERS] = {
	"opens",      "open_errors", "closes", "handles",   "ioctls",	    "ioctl_errors", "mmaps",
	"mmap_bytes", "mmap_errors", "faults", "vma_opens", "vma_releases", "polls",
};

/* Numbers of the driver's own commands, and one with a wrong size. */
static const unsigned int commands[] = {
	MOCK_NVIDIA_IOCTL(0x29), MOCK_NVIDIA_IOCTL(0x2a), MOCK_NVIDIA_IOCTL(0x2b),
	MOCK_NVIDIA_IOCTL(200),	 MOCK_NVIDIA_IOCTL(214),  _IOWR('F', 0x2a, int),
};
#define COMMANDS      (sizeof(commands) / sizeof(commands[0]))
#define COMMAND_WRONG (COMMANDS - 1)

/* Only written by its own process, except the closes of its handles. */
struct slot {
	pid_t pid;
	uint64_t counter[MINOR_NONE + 1][COUNTERS];
	uint64_t command[COMMANDS][2];
	uint64_t sleep_ns;
};

/* Two slots for each process: its own, and one for its children, one after the other. */
struct shared {
	unsigned int slots;
	struct slot slot[PROCESSES_MAX * 4];
};

struct handle {
	int fd;
	unsigned int minor;
	struct slot *opener;
};

static struct {
	const char *dir;
	unsigned int gpus, processes, opens, ioctls, mmaps, mmap_failures, polls, sleeps, sleep_ns,
		compat;
	int hold;
} options = { "/dev", 2, 2, 5, 4, 1, 3, 6, 2, 2000000, 0, 0 };

static struct shared *shared;
static struct slot *own;
static long page;

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
	int error = errno;
	va_list ap;

	va_start(ap, format);
	fputs("mock_nvidia_load: ", stderr);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, ": %s\n", strerror(error));
	_exit(1);
}

static void count_in(struct slot *slot, unsigned int minor, enum counter which, uint64_t n)
{
	__atomic_add_fetch(&slot->counter[minor][which], n, __ATOMIC_RELAXED);
}

static void count(const struct handle *h, enum counter which, uint64_t n)
{
	count_in(own, h->minor, which, n);
}

static void be(pid_t pid)
{
	unsigned int i = __atomic_fetch_add(&shared->slots, 1, __ATOMIC_RELAXED);

	if (i == PROCESSES_MAX * 4)
		die("too many processes");
	own = &shared->slot[i];
	own->pid = pid;
}

static void node_path(char *path, size_t size, unsigned int minor)
{
	if (minor == MINOR_CTL)
		snprintf(path, size, "%s/nvidiactl", options.dir);
	else
		snprintf(path, size, "%s/nvidia%u", options.dir, minor);
}

/* The driver does not create device nodes either: nvidia-modprobe does. */
static void make_nodes(void)
{
	char line[128], path[4096];
	unsigned int major = 0, number, minor;
	FILE *devices = fopen("/proc/devices", "r");
	char name[64];

	if (!devices)
		die("/proc/devices");
	while (fgets(line, sizeof(line), devices))
		if (sscanf(line, "%u %63s", &number, name) == 2 &&
		    (!strcmp(name, "nvidia") || !strcmp(name, "nvidia-frontend")))
			major = number;
	fclose(devices);
	if (!major) {
		errno = ENODEV;
		die("no nvidia in /proc/devices");
	}
	for (minor = 0; minor <= MINOR_NONE; minor++) {
		number = minor == MINOR_CTL  ? MOCK_NVIDIA_CTL_MINOR :
			 minor == MINOR_NONE ? MINOR_MISSING :
					       minor;
		if (minor >= options.gpus && minor < MINOR_CTL)
			continue;
		node_path(path, sizeof(path), minor == MINOR_NONE ? MINOR_MISSING : minor);
		if (unlink(path) && errno != ENOENT)
			die("%s", path);
		if (mknod(path, S_IFCHR | 0666, makedev(major, number)))
			die("%s", path);
	}
}

static struct handle open_node(unsigned int minor)
{
	struct handle h = { .minor = minor, .opener = own };
	char path[4096];

	node_path(path, sizeof(path), minor);
	h.fd = open(path, O_RDWR | O_CLOEXEC);
	if (h.fd < 0)
		die("%s", path);
	count(&h, OPENS, 1);
	count(&h, HANDLES, 1);
	return h;
}

/* Count the close of the last descriptor. */
static void count_close(const struct handle *h)
{
	count_in(h->opener, h->minor, CLOSES, 1);
	count_in(h->opener, h->minor, HANDLES, -1);
}

static void close_node(struct handle *h)
{
	if (close(h->fd))
		die("close");
	count_close(h);
}

static void check_ioctl(const struct handle *h, unsigned int command, int failed, int should)
{
	if (failed != should)
		die("command %#x: fails: %d, should: %d", commands[command], failed, should);
	count(h, IOCTLS, 1);
	own->command[command][0]++;
	if (failed) {
		count(h, IOCTL_ERRORS, 1);
		own->command[command][1]++;
	}
}

static void run_ioctl(const struct handle *h, unsigned int command, uint64_t ns, int error)
{
	struct mock_nvidia_args args = { .duration_ns = ns, .error = error };
	int ret = ioctl(h->fd, commands[command], &args);

	check_ioctl(h, command, ret != 0, error || command == COMMAND_WRONG);
	own->sleep_ns += ns;
}

/* Makes the ioctl as a 32-bit program does. */
static void run_compat_ioctl(const struct handle *h, unsigned int command)
{
#ifdef __x86_64__
	struct mock_nvidia_args *args = mmap(NULL, page, PROT_READ | PROT_WRITE,
					     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long ret;

	if (args == MAP_FAILED)
		die("mmap");
	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(54), "b"(h->fd), "c"(commands[command]), "d"(args)
			 : "memory", "r8", "r9", "r10", "r11");
	check_ioctl(h, command, ret != 0, 0);
	munmap(args, page);
#else
	errno = ENOSYS;
	die("command %#x of file %d as of a 32-bit program", commands[command], h->fd);
#endif
}

/* Each command runs more often than the previous one. Every fourth of a kind fails. */
static void run_ioctls(const struct handle *h)
{
	unsigned int c, i;

	for (c = 0; c < COMMANDS; c++)
		for (i = 0; i < options.ioctls * (c + 1); i++)
			run_ioctl(h, c, 0, i % 4 == 3 ? EBUSY : 0);
}

static char *map(const struct handle *h, unsigned int pages)
{
	char *at = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_SHARED, h->fd, 0);

	if (at == MAP_FAILED)
		die("mmap");
	count(h, MMAPS, 1);
	count(h, MMAP_BYTES, pages * page);
	return at;
}

static void touch(const struct handle *h, char *at, unsigned int pages)
{
	unsigned int i;

	for (i = 0; i < pages; i++)
		__atomic_store_n(&at[i * page], 1, __ATOMIC_RELAXED);
	count(h, FAULTS, pages);
}

static void unmap(const struct handle *h, char *at, unsigned int pages, unsigned int mappings)
{
	if (munmap(at, pages * page))
		die("munmap");
	count(h, VMA_RELEASES, mappings);
}

static void run_mmaps(const struct handle *h)
{
	static const unsigned int sizes[] = { 1, 4, 16, 64 };
	unsigned int i, round;

	for (round = 0; round < options.mmaps; round++) {
		for (i = 0; i < 4; i++) {
			char *at = map(h, sizes[i]);

			touch(h, at, sizes[i]);
			if (sizes[i] == 1) {
				unmap(h, at, 1, 1);
				continue;
			}
			/*
			 * munmap() of the middle splits a mapping into three parts and removes one.
			 */
			count(h, VMA_OPENS, 2);
			unmap(h, at + page, 1, 1);
			unmap(h, at, sizes[i], 2);
		}
	}
	for (i = 0; i < options.mmap_failures; i++) {
		if (mmap(NULL, page, PROT_READ, MAP_SHARED, h->fd,
			 MOCK_NVIDIA_MMAP_END + i * page) != MAP_FAILED)
			die("mmap does not fail");
		count(h, MMAP_ERRORS, 1);
	}
}

static void *run_thread(void *data)
{
	unsigned int i;

	for (i = 0; i < options.ioctls; i++)
		run_ioctl(data, 0, 0, 0);
	return NULL;
}

/* A child with all descriptors of its parent, and possibly a mapping. */
static void run_child(const struct handle *h, char *mapping)
{
	unsigned int i;
	int status;
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		be(getpid());
		for (i = 0; i < options.ioctls; i++)
			run_ioctl(h, 1, 0, 0);
		if (mapping) {
			touch(h, mapping, 1);
			count(h, VMA_RELEASES, 1);
		}
		if (close(h->fd))
			die("close");
		_exit(0);
	}
	/* The parent opens the child's mapping within fork(). */
	if (mapping)
		count(h, VMA_OPENS, 1);
	if (waitpid(pid, &status, 0) != pid || status)
		die("a child failed");
}

static void run_process(unsigned int index, int ready, int go)
{
	unsigned int gpu = index % options.gpus, i;
	struct handle first, second, ctl, h;
	pthread_t thread;
	char *left, byte;
	char path[4096];
	int copy;

	be(getpid());
	for (i = 0; i < options.opens; i++) {
		h = open_node(i % 2 ? MINOR_CTL : gpu);
		close_node(&h);
	}
	node_path(path, sizeof(path), MINOR_MISSING);
	if (open(path, O_RDWR) >= 0)
		die("%s can be opened", path);
	count_in(own, MINOR_NONE, OPEN_ERRORS, 1);

	/* A second handle survives closing the first one, and so does a duplicate. */
	first = open_node(gpu);
	second = open_node(gpu);
	ctl = open_node(MINOR_CTL);
	close_node(&first);
	copy = dup(second.fd);
	if (copy < 0 || close(second.fd))
		die("dup");
	second.fd = copy;

	run_ioctls(&second);
	run_ioctls(&ctl);
	for (i = 0; i < options.sleeps; i++)
		run_ioctl(&ctl, 0, options.sleep_ns, 0);
	for (i = 0; i < options.compat; i++)
		run_compat_ioctl(&second, 2);
	if (pthread_create(&thread, NULL, run_thread, &second) || pthread_join(thread, NULL))
		die("pthread_create");
	run_child(&second, NULL);

	run_mmaps(&second);
	for (i = 0; i < options.polls; i++) {
		struct pollfd p = { .fd = second.fd, .events = POLLIN };

		if (poll(&p, 1, i % 2 ? -1 : 0) != 1)
			die("poll");
		count(&second, POLLS, 1);
	}
	left = map(&second, 3);
	touch(&second, left, 2);
	run_child(&second, left);

	/* The exit of the process closes the other descriptors. */
	if (write(ready, "", 1) != 1)
		die("write");
	if (go >= 0 && read(go, &byte, 1) < 0)
		die("read");
	count_close(&second);
	count_close(&ctl);
	count(&second, VMA_RELEASES, 1);
	_exit(0);
}

static void print_minor(unsigned int minor, const uint64_t *counter)
{
	char name[16];
	unsigned int i;

	snprintf(name, sizeof(name),
		 minor == MINOR_CTL  ? "ctl/" :
		 minor == MINOR_NONE ? "none/" :
				       "minor/%u/",
		 minor);
	for (i = 0; i < COUNTERS; i++)
		if (counter[i])
			printf("%s%s %lld\n", name, counter_names[i], (long long)counter[i]);
}

static void print_commands(const char *prefix, uint64_t command[][2])
{
	unsigned int i, j;

	for (i = 0; i < COMMANDS; i++)
		for (j = 0; j < 2; j++)
			if (command[i][j])
				printf("%scommand/0x%08x/%s %llu\n", prefix, commands[i],
				       counter_names[IOCTLS + j],
				       (unsigned long long)command[i][j]);
}

static void print_account(void)
{
	struct slot all = {};
	unsigned int s, m, i;
	char prefix[32];

	for (s = 0; s < shared->slots; s++) {
		struct slot *slot = &shared->slot[s];
		uint64_t sum[COUNTERS] = {};

		for (m = 0; m <= MINOR_NONE; m++) {
			for (i = 0; i < COUNTERS; i++) {
				sum[i] += slot->counter[m][i];
				all.counter[m][i] += slot->counter[m][i];
			}
		}
		for (i = 0; i < COMMANDS; i++) {
			all.command[i][0] += slot->command[i][0];
			all.command[i][1] += slot->command[i][1];
		}
		all.sleep_ns += slot->sleep_ns;
		snprintf(prefix, sizeof(prefix), "pid/%d/", slot->pid);
		for (i = 0; i < COUNTERS; i++)
			printf("%s%s %lld\n", prefix, counter_names[i], (long long)sum[i]);
		print_commands(prefix, slot->command);
	}
	for (m = 0; m <= MINOR_NONE; m++)
		print_minor(m, all.counter[m]);
	for (i = 0; i < COUNTERS; i++) {
		uint64_t sum = 0;

		for (m = 0; m <= MINOR_NONE; m++)
			sum += all.counter[m][i];
		printf("%s %lld\n", counter_names[i], (long long)sum);
	}
	print_commands("", all.command);
	printf("sleep_ns %llu\n", (unsigned long long)all.sleep_ns);
}

static void usage(void)
{
	printf("Usage: mock_nvidia_load [OPTION]...\n"
	       "Use the mock of nvidia.ko and print what was done.\n\n"
	       "  -d, --dir DIR          folder for the device nodes, which are recreated (/dev)\n"
	       "  -g, --gpus N           GPUs that are there (2)\n"
	       "  -p, --processes N      processes (2)\n"
	       "  -n, --opens N          opens and closes of each, besides its others (5)\n"
	       "  -i, --ioctls N         commands of the first kind, more of the others (4)\n"
	       "  -m, --mmaps N          rounds of mappings (1)\n"
	       "  -f, --mmap-failures N  mappings that fail (3)\n"
	       "  -P, --polls N          (6)\n"
	       "  -s, --sleeps N         commands that sleep (2)\n"
	       "  -S, --sleep-ns NS      for how long (2000000)\n"
	       "  -c, --compat N         commands as of a 32-bit program (0)\n"
	       "  -H, --hold             print with all handles still open, then \"held\"; wait for\n"
	       "                         the end of stdin before exiting, and print again\n");
}

static const struct option long_options[] = {
	{ "dir", required_argument, NULL, 'd' },
	{ "gpus", required_argument, NULL, 'g' },
	{ "processes", required_argument, NULL, 'p' },
	{ "opens", required_argument, NULL, 'n' },
	{ "ioctls", required_argument, NULL, 'i' },
	{ "mmaps", required_argument, NULL, 'm' },
	{ "mmap-failures", required_argument, NULL, 'f' },
	{ "polls", required_argument, NULL, 'P' },
	{ "sleeps", required_argument, NULL, 's' },
	{ "sleep-ns", required_argument, NULL, 'S' },
	{ "compat", required_argument, NULL, 'c' },
	{ "hold", no_argument, NULL, 'H' },
	{ "help", no_argument, NULL, 'h' },
	{},
};

static unsigned long number(const char *text, unsigned long min, unsigned long max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (end == text || *end || n < min || n > max) {
		fprintf(stderr, "mock_nvidia_load: '%s' is not within %lu and %lu\n", text, min,
			max);
		exit(2);
	}
	return n;
}

/* Numeric options. */
static const struct {
	int letter;
	unsigned int *value;
	unsigned int min, max;
} numbers[] = {
	{ 'g', &options.gpus, 1, MINORS },	   { 'p', &options.processes, 1, PROCESSES_MAX },
	{ 'n', &options.opens, 0, 1000000 },	   { 'i', &options.ioctls, 0, 1000000 },
	{ 'm', &options.mmaps, 0, 1000000 },	   { 'f', &options.mmap_failures, 0, 1000000 },
	{ 'P', &options.polls, 0, 1000000 },	   { 's', &options.sleeps, 0, 1000000 },
	{ 'S', &options.sleep_ns, 0, 2000000000 }, { 'c', &options.compat, 0, 1000000 },
};

static void parse(int argc, char **argv)
{
	unsigned int i;
	int c;

	while ((c = getopt_long(argc, argv, "d:g:p:n:i:m:f:P:s:S:c:Hh", long_options, NULL)) !=
	       -1) {
		if (c == 'h' || c == '?') {
			usage();
			exit(c == 'h' ? 0 : 2);
		} else if (c == 'd') {
			options.dir = optarg;
		} else if (c == 'H') {
			options.hold = 1;
		}
		for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			if (c == numbers[i].letter)
				*numbers[i].value = number(optarg, numbers[i].min, numbers[i].max);
	}
	if (optind != argc) {
		fprintf(stderr, "mock_nvidia_load: no argument is expected\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	int ready[2], go[2], status, failed = 0;
	unsigned int i;
	char byte;

	parse(argc, argv);
	page = sysconf(_SC_PAGESIZE);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || pipe(ready) || pipe(go))
		die("mmap or pipe");
	make_nodes();
	for (i = 0; i < options.processes; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid) {
			close(ready[0]);
			close(go[1]);
			run_process(i, ready[1], options.hold ? go[0] : -1);
		}
	}
	close(ready[1]);
	for (i = 0; i < options.processes; i++)
		if (read(ready[0], &byte, 1) != 1)
			failed = 1;
	if (options.hold && !failed) {
		print_account();
		printf("held\n");
		fflush(stdout);
		while (read(0, &byte, 1) > 0)
			;
	}
	close(go[1]);
	while (wait(&status) > 0)
		failed |= status != 0;
	if (failed) {
		fprintf(stderr, "mock_nvidia_load: a process failed\n");
		return 1;
	}
	print_account();
	return 0;
}
