// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What a program can do with NVIDIA's real driver without a GPU, with its own account: "name value"
 * lines. It works with the mock as well, so that both can be compared. The commands are those of
 * NVIDIA's headers, their arguments are filled by offset.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

#define PROCESSES_MAX 64
#define MINOR_CTL     255
#define MINOR_MISSING 100
#define MINORS	      256
/* Larger than any argument here. */
#define ARGUMENT_MAX 1024

enum counter {
	OPENS,
	OPENS_FAILED,
	CLOSES,
	IOCTLS,
	IOCTLS_FAILED,
	MMAPS,
	MMAPS_FAILED,
	MAPPED_BYTES,
	VMA_OPENS,
	VMA_RELEASES,
	POLLS,
	COUNTERS,
};

static const char *const counter_names[COUNTERS] = {
	"opens",	"opens_failed", "closes",    "ioctls",	     "ioctls_failed", "mmaps",
	"mmaps_failed", "mapped_bytes", "vma_opens", "vma_releases", "polls",
};

enum command {
	CARD_INFO,
	CHECK_VERSION,
	ALLOC,
	FREE,
	CONTROL,
	MAP,
	XFER,
	WRONG_SIZE,
	UNKNOWN,
	COMMANDS,
};

#define COMMAND(number, size) _IOC(_IOC_READ | _IOC_WRITE, 'F', number, size)

/* The last two fail: an argument that is too small, and no such number. */
static const unsigned int commands[COMMANDS] = {
	[CARD_INFO] = COMMAND(200, 8 * 72), [CHECK_VERSION] = COMMAND(210, 72),
	[ALLOC] = COMMAND(0x2b, 32),	    [FREE] = COMMAND(0x29, 16),
	[CONTROL] = COMMAND(0x2a, 32),	    [MAP] = COMMAND(0x4e, 56),
	[XFER] = COMMAND(211, 16),	    [WRONG_SIZE] = COMMAND(200, 8),
	[UNKNOWN] = COMMAND(0x7f, 16),
};

enum {
	ISSUED,
	FAILED,
	RM_FAILED,
	RESULTS
};

/* Written by its own process alone. Closes and ends of mappings belong to this process here. */
struct slot {
	pid_t pid;
	uint64_t counter[MINORS][COUNTERS];
	uint64_t command[COMMANDS][RESULTS];
};

struct shared {
	unsigned int slots;
	struct slot slot[PROCESSES_MAX * 2];
};

static struct {
	unsigned int processes, rounds, gpu_opens, compat;
	int hold, wander;
} options = { 2, 5, 0, 0, 0, 0 };

static struct shared *shared;
static struct slot *own;
static long page;

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
	int error = errno;
	va_list ap;

	va_start(ap, format);
	fputs("nvidia_calls: ", stderr);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, ": %s\n", strerror(error));
	_exit(1);
}

static void count(unsigned int minor, enum counter which, uint64_t n)
{
	own->counter[minor][which] += n;
}

static void be(pid_t pid)
{
	own = &shared->slot[__atomic_fetch_add(&shared->slots, 1, __ATOMIC_RELAXED)];
	own->pid = pid;
}

static void node_path(char *path, size_t size, unsigned int minor)
{
	if (minor == MINOR_CTL)
		snprintf(path, size, "/dev/nvidiactl");
	else
		snprintf(path, size, "/dev/nvidia%u", minor);
}

/* The driver makes no device nodes. */
static void make_nodes(void)
{
	static const unsigned int minors[] = { 0, MINOR_CTL, MINOR_MISSING };
	struct stat node;
	char path[64];
	unsigned int i;

	for (i = 0; i < sizeof(minors) / sizeof(minors[0]); i++) {
		node_path(path, sizeof(path), minors[i]);
		/* Another one that runs needs it, and may have made it meanwhile. */
		if (!stat(path, &node) && node.st_rdev == makedev(195, minors[i]))
			continue;
		unlink(path);
		if (mknod(path, S_IFCHR | 0666, makedev(195, minors[i])) && errno != EEXIST)
			die("%s", path);
	}
}

static int open_node(unsigned int minor, int error)
{
	char path[64];
	int fd;

	node_path(path, sizeof(path), minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	count(minor, fd < 0 ? OPENS_FAILED : OPENS, 1);
	if (error ? fd >= 0 || errno != error : fd < 0)
		die("open of %s gives %d", path, fd);
	return fd;
}

static void close_ctl(int fd)
{
	if (close(fd))
		die("close");
	count(MINOR_CTL, CLOSES, 1);
}

static void put32(void *argument, size_t at, uint32_t value)
{
	memcpy((char *)argument + at, &value, sizeof(value));
}

static void put64(void *argument, size_t at, uint64_t value)
{
	memcpy((char *)argument + at, &value, sizeof(value));
}

static uint32_t get32(const void *argument, size_t at)
{
	uint32_t value;

	memcpy(&value, (const char *)argument + at, sizeof(value));
	return value;
}

/* error 0: the command works. */
static void command(int fd, enum command which, void *argument, int error)
{
	int ret = ioctl(fd, commands[which], argument);

	if (error ? !ret || errno != error : ret)
		die("ioctl %#x, expected error %d", commands[which], error);
	count(MINOR_CTL, IOCTLS, 1);
	own->command[which][ISSUED]++;
	if (ret) {
		count(MINOR_CTL, IOCTLS_FAILED, 1);
		own->command[which][FAILED]++;
	}
}

/* As a 32-bit program would do it. */
static void compat_command(int fd, enum command which)
{
#ifdef __x86_64__
	void *argument = mmap(NULL, page, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long ret;

	if (argument == MAP_FAILED)
		die("mmap");
	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(54), "b"(fd), "c"(commands[which]), "d"(argument)
			 : "memory", "r8", "r9", "r10", "r11");
	if (ret)
		die("32-bit command %#x gives %ld", commands[which], ret);
	munmap(argument, page);
	count(MINOR_CTL, IOCTLS, 1);
	own->command[which][ISSUED]++;
#else
	errno = ENOSYS;
	die("command %#x of file %d as of a 32-bit program", commands[which], fd);
#endif
}

/* A command that returns 0. The resource manager's status is in its argument. */
static void rm_command(int fd, enum command which, void *argument, size_t status, int fails)
{
	command(fd, which, argument, 0);
	if (!get32(argument, status) != !fails) {
		errno = EPROTO;
		die("command %#x: status %#x", commands[which], get32(argument, status));
	}
	own->command[which][RM_FAILED] += fails;
}

static uint32_t new_client(int fd)
{
	unsigned char alloc[ARGUMENT_MAX] = {};

	/* Class NV01_ROOT_CLIENT. */
	put32(alloc, 12, 0x41);
	rm_command(fd, ALLOC, alloc, 28, 0);
	return get32(alloc, 8);
}

static void free_client(int fd, uint32_t client)
{
	unsigned char argument[ARGUMENT_MAX] = {};

	put32(argument, 0, client);
	put32(argument, 8, client);
	rm_command(fd, FREE, argument, 12, 0);
}

/* Nothing has this number: no object, class or command of the resource manager. The mock knows it. */
#define NONE 0x7fff

/* What returns 0, and has not worked. */
static void run_refused(int fd, uint32_t client)
{
	unsigned char control[ARGUMENT_MAX] = {}, alloc[ARGUMENT_MAX] = {}, map[ARGUMENT_MAX] = {};

	put32(control, 0, client);
	put32(control, 4, client);
	put32(control, 8, NONE);
	rm_command(fd, CONTROL, control, 28, 1);
	put32(alloc, 0, client);
	put32(alloc, 4, client);
	put32(alloc, 12, NONE);
	rm_command(fd, ALLOC, alloc, 28, 1);
	put32(map, 0, client);
	put32(map, 4, client);
	put32(map, 8, NONE);
	put64(map, 24, page);
	put32(map, 48, fd);
	rm_command(fd, MAP, map, 40, 1);
}

static void run_commands(int fd)
{
	unsigned char argument[ARGUMENT_MAX] = {}, inner[ARGUMENT_MAX] = {};
	uint32_t client;

	command(fd, CARD_INFO, argument, 0);
	/* A query instead of a comparison. */
	memset(argument, 0, sizeof(argument));
	put32(argument, 0, '2');
	command(fd, CHECK_VERSION, argument, 0);

	client = new_client(fd);
	/* NV0000_CTRL_CMD_NULL. */
	memset(argument, 0, sizeof(argument));
	put32(argument, 0, client);
	put32(argument, 4, client);
	rm_command(fd, CONTROL, argument, 28, 0);
	run_refused(fd, client);

	/* The same as CARD_INFO, within another command. */
	memset(argument, 0, sizeof(argument));
	put32(argument, 0, 200);
	put32(argument, 4, 8 * 72);
	put64(argument, 8, (uintptr_t)inner);
	command(fd, XFER, argument, 0);

	free_client(fd, client);
	command(fd, WRONG_SIZE, argument, EINVAL);
	command(fd, UNKNOWN, argument, EINVAL);
	command(fd, CARD_INFO, NULL, EFAULT);
}

/* A child that has everything of its parent, and ends. */
static void run_child(int fd)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		unsigned char argument[ARGUMENT_MAX] = {};

		be(getpid());
		command(fd, CARD_INFO, argument, 0);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		die("a child failed");
}

/*
 * Memory of no device, mapped through another file. As the last step a hole makes two of a mapping,
 * and a child inherits them.
 */
static void run_mmaps(int fd, unsigned int pages)
{
	unsigned char memory[ARGUMENT_MAX] = {}, argument[ARGUMENT_MAX] = {};
	const uint32_t handle = 0xcaf00001;
	uint32_t client = new_client(fd);
	int second = open_node(MINOR_CTL, 0);
	char *at;

	/* Class NV01_MEMORY_DEVICELESS: system memory, in pages of 4 KiB, cached. */
	put32(memory, 24, 1 << 23 | 1 << 25 | 1 << 29);
	put64(memory, 64, pages * page);
	put32(argument, 0, client);
	put32(argument, 4, client);
	put32(argument, 8, handle);
	put32(argument, 12, 0x90ce);
	put64(argument, 16, (uintptr_t)memory);
	rm_command(fd, ALLOC, argument, 28, 0);

	memset(argument, 0, sizeof(argument));
	put32(argument, 0, client);
	put32(argument, 4, client);
	put32(argument, 8, handle);
	put64(argument, 24, pages * page);
	put32(argument, 48, second);
	rm_command(fd, MAP, argument, 40, 0);

	at = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_SHARED, second, 0);
	if (at == MAP_FAILED)
		die("mmap of %u pages", pages);
	count(MINOR_CTL, MMAPS, 1);
	count(MINOR_CTL, MAPPED_BYTES, pages * page);
	if (pages > 2) {
		if (munmap(at + page, page))
			die("munmap");
		count(MINOR_CTL, VMA_OPENS, 2);
		count(MINOR_CTL, VMA_RELEASES, 1);
		run_child(fd);
		count(MINOR_CTL, VMA_OPENS, 2);
		count(MINOR_CTL, VMA_RELEASES, 2);
	}
	if (munmap(at, pages * page))
		die("munmap");
	count(MINOR_CTL, VMA_RELEASES, pages > 2 ? 2 : 1);
	free_client(fd, client);
	close_ctl(second);

	if (mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 1UL << 31) != MAP_FAILED)
		die("mmap of nothing works");
	count(MINOR_CTL, MMAPS_FAILED, 1);
}

static void run_process(int ready, int go)
{
	struct pollfd p = { .events = POLLIN };
	int fd, copy;
	unsigned int i;
	char byte;

	be(getpid());
	for (i = 0; i < options.gpu_opens; i++)
		open_node(0, EIO);
	open_node(MINOR_MISSING, ENODEV);
	for (i = 0; i < options.rounds; i++) {
		fd = open_node(MINOR_CTL, 0);
		/* The last of the two descriptors closes the file. */
		copy = dup(fd);
		if (copy < 0 || close(fd))
			die("dup");
		run_commands(copy);
		run_mmaps(copy, 1);
		run_mmaps(copy, 8);
		run_child(copy);
		p.fd = copy;
		if (poll(&p, 1, 0) < 0)
			die("poll");
		count(MINOR_CTL, POLLS, 1);
		close_ctl(copy);
	}
	fd = open_node(MINOR_CTL, 0);
	for (i = 0; i < options.compat; i++)
		compat_command(fd, CARD_INFO);
	if (write(ready, "", 1) != 1)
		die("write");
	if (go >= 0 && read(go, &byte, 1) < 0)
		die("read");
	close_ctl(fd);
	_exit(0);
}

/* Uses /dev/nvidiactl whenever it is there. A line of stdin stops it, without a file, until the next. */
static void wander(void)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	unsigned char argument[ARGUMENT_MAX] = {};
	char newline;
	int fd;

	be(getpid());
	for (;;) {
		/* Between two opens the driver can be unloaded. */
		if (poll(&input, 1, 10)) {
			if (read(0, &newline, 1) <= 0)
				return;
			printf("%llu %llu\n", (unsigned long long)own->counter[MINOR_CTL][OPENS],
			       (unsigned long long)own->counter[MINOR_CTL][IOCTLS]);
			fflush(stdout);
			if (read(0, &newline, 1) <= 0)
				return;
		}
		fd = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
		if (fd < 0 && errno != ENXIO && errno != ENODEV && errno != ENOENT)
			die("open of /dev/nvidiactl");
		if (fd < 0)
			continue;
		count(MINOR_CTL, OPENS, 1);
		command(fd, CARD_INFO, argument, 0);
		close_ctl(fd);
	}
}

static void print_counters(const char *prefix, const uint64_t *counter)
{
	unsigned int i;

	for (i = 0; i < COUNTERS; i++)
		if (counter[i])
			printf("%s%s %llu\n", prefix, counter_names[i],
			       (unsigned long long)counter[i]);
}

static void print_account(void)
{
	struct slot all = {};
	static const char *const names[RESULTS] = { "ioctls", "failed", "rm_failed" };
	unsigned int s, m, i, r;
	char prefix[32];

	for (s = 0; s < shared->slots; s++) {
		struct slot *slot = &shared->slot[s];
		uint64_t sum[COUNTERS] = {};

		for (m = 0; m < MINORS; m++)
			for (i = 0; i < COUNTERS; i++) {
				sum[i] += slot->counter[m][i];
				all.counter[m][i] += slot->counter[m][i];
			}
		for (i = 0; i < COMMANDS; i++)
			for (r = 0; r < RESULTS; r++)
				all.command[i][r] += slot->command[i][r];
		snprintf(prefix, sizeof(prefix), "pid/%d/", slot->pid);
		print_counters(prefix, sum);
	}
	for (m = 0; m < MINORS; m++) {
		snprintf(prefix, sizeof(prefix), "minor/%u/", m);
		print_counters(prefix, all.counter[m]);
	}
	for (i = 0; i < COMMANDS; i++)
		for (r = 0; r < RESULTS; r++)
			printf("command/0x%08x/%s %llu\n", commands[i], names[r],
			       (unsigned long long)all.command[i][r]);
}

static unsigned int number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (end == text || *end || n > 1000000) {
		fprintf(stderr, "nvidia_calls: '%s' is not within 0 and 1000000\n", text);
		exit(2);
	}
	return n;
}

static void parse(int argc, char **argv)
{
	int c, wrong = 0;

	while ((c = getopt(argc, argv, "p:n:g:c:Hw")) != -1) {
		switch (c) {
		case 'p':
			options.processes = number(optarg);
			break;
		case 'n':
			options.rounds = number(optarg);
			break;
		case 'g':
			options.gpu_opens = number(optarg);
			break;
		case 'c':
			options.compat = number(optarg);
			break;
		case 'H':
			options.hold = 1;
			break;
		case 'w':
			options.wander = 1;
			break;
		default:
			wrong = 1;
		}
	}
	/* Each round makes two children, with a slot each. */
	if (wrong || optind != argc || !options.processes ||
	    options.processes * (1 + 2 * options.rounds) > PROCESSES_MAX * 2) {
		fprintf(stderr,
			"usage: nvidia_calls [-p PROCESSES] [-n ROUNDS] [-g OPENS OF A GPU] [-c 32-BIT COMMANDS] [-H] [-w]\n"
			"-H: print \"held\" with a file open, and wait for the end of stdin\n"
			"-w: one process, until the end of stdin, also without the driver; each line stops it or lets it go on\n");
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
	if (options.wander) {
		wander();
		return 0;
	}
	for (i = 0; i < options.processes; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid) {
			close(ready[0]);
			close(go[1]);
			run_process(ready[1], options.hold ? go[0] : -1);
		}
	}
	close(ready[1]);
	for (i = 0; i < options.processes; i++)
		failed |= read(ready[0], &byte, 1) != 1;
	if (options.hold && !failed) {
		printf("held\n");
		fflush(stdout);
		while (read(0, &byte, 1) > 0)
			;
	}
	close(go[1]);
	while (wait(&status) > 0)
		failed |= status != 0;
	if (failed) {
		fprintf(stderr, "nvidia_calls: a process failed\n");
		return 1;
	}
	print_account();
	return 0;
}
