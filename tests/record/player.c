// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Simulates a program with the injection library, without CUDA or a GPU: it sends a hello to the
 * recorder and writes a known number of launches and kernels into its channel. Its output must come
 * through unchanged.
 *
 * player OPTION...: carried out in the given order,
 *   launches=N   of each thread, from now on (100)
 *   threads=N    (1)
 *   name=TEXT    of the kernel
 *   pause=US     after each launch
 *   gap=MS       before the last launch of each thread
 *   range=TEXT   around the launches of each thread, from now on
 *   record       connect, and write all that
 *   connect      connect, and write nothing
 *   mute         connect, and do not send a hello
 *   version=N    send a hello with this version
 *   impatient    wait for no answer to the next hello
 *   gone         the next hello is of a thread that has ended then
 *   hang-up      close the socket
 *   listen       as a dormant library: wait for a recorder, then record
 *   stop         wait for the stop command, then flush like the library
 *   deaf         ignore the stop command
 *   out=TEXT     print a line to standard output
 *   err=TEXT     to standard error
 *   cat          standard input to standard output
 *   descriptors  print which are open
 *   signals      print which are blocked and ignored
 *   children=N   fork as often, each goes on with the next options and then exits 0
 *   background   fork, the child goes on, the parent exits 0
 *   sleep=MS
 *   touch=FILE
 *   await=FILE   wait until it is there
 *   catch        SIGINT and SIGTERM print a line and exit 7
 *   signal=N     send that to itself
 *   exit=N
 *   exec ...     run the rest of the line as a command
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/channel_writer.h"

/* Duration of a kernel, so that sums are known. */
#define KERNEL_NS 1000

enum string {
	STRING_FUNCTION = 1,
	STRING_KERNEL,
	STRING_DEVICE,
	STRING_COMMAND,
	STRING_RANGE
};

static struct gpumon_channel_map map;
static int recorder = -1;
static unsigned long launches = 100, threads = 1, pause_us, gap_ms;
static const char *range_text;
static const char *kernel_name = "player_kernel";
static uint32_t correlation;
static uint32_t hello_version = GPUMON_CHANNEL_VERSION;
static uint32_t host_pid;
static bool deaf;
static bool impatient;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "player: %s: %s\n", what, strerror(errno));
	exit(99);
}

static void sleep_ms(unsigned long ms)
{
	struct timespec time = { .tv_sec = (time_t)(ms / 1000),
				 .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

static int open_socket(void)
{
	const char *path = getenv("GPUMON_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	if (!path)
		return -1;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
		/* Like the library: a program without a recorder continues. */
		close(fd);
		return -1;
	}
	return fd;
}

/* Of the library, as the hello says. */
static uint32_t library;

static void *say_tid(void *data)
{
	library = (uint32_t)syscall(SYS_gettid);
	return data;
}

static void do_gone(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, say_tid, NULL))
		die("thread");
	pthread_join(thread, NULL);
}

static bool handshake(void)
{
	struct gpumon_message_hello hello = { .type = GPUMON_HELLO,
					      .version = hello_version,
					      .pid = (uint32_t)getpid(),
					      .tid = library };
	struct gpumon_message_settings settings;
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec vector = { .iov_base = &settings, .iov_len = sizeof(settings) };
	struct msghdr message = { .msg_iov = &vector,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *rights;
	int fd;

	if (impatient)
		shutdown(recorder, SHUT_RD);
	impatient = false;
	if (send(recorder, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello) ||
	    recvmsg(recorder, &message, MSG_CMSG_CLOEXEC) <= 0)
		return false;
	rights = CMSG_FIRSTHDR(&message);
	if (settings.type != GPUMON_SETTINGS || !rights)
		return false;
	memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
	errno = -gpumon_channel_map(&map, fd);
	if (errno)
		die("channel");
	close(fd);
	return true;
}

static void write_string(struct gpumon_channel_writer *writer, uint32_t id, const char *text)
{
	char buffer[sizeof(struct gpumon_record_string) + 512] = { 0 };
	struct gpumon_record_string *string = (void *)buffer;

	string->head.type = GPUMON_RECORD_STRING;
	string->id = id;
	string->length = (uint32_t)strnlen(text, 500);
	string->head.size = (uint32_t)((sizeof(*string) + string->length + 7) & ~7UL);
	memcpy(string->text, text, string->length);
	gpumon_channel_write(writer, string);
}

static void write_process(struct gpumon_channel_writer *writer)
{
	struct gpumon_record_process process = {
		.head = { .type = GPUMON_RECORD_PROCESS, .size = sizeof(process) },
		.pid = (uint32_t)getpid(),
		.parent = (uint32_t)getppid(),
		.host_pid = host_pid,
		.rank = getenv("RANK") ? (uint32_t)atoi(getenv("RANK")) : ~0u,
		.command = STRING_COMMAND,
	};
	struct gpumon_record_device device = {
		.head = { .type = GPUMON_RECORD_DEVICE, .size = sizeof(device) },
		.name = STRING_DEVICE,
		.pci = ~0u,
		.uuid = { 1, 2, 3, 4 },
	};
	struct gpumon_record_context context = {
		.head = { .type = GPUMON_RECORD_CONTEXT, .size = sizeof(context) },
		.time_ns = now_ns(),
		.id = 1,
	};

	gpumon_channel_write(writer, &process);
	write_string(writer, STRING_FUNCTION, "cudaLaunchKernel_v7000");
	write_string(writer, STRING_KERNEL, kernel_name);
	write_string(writer, STRING_DEVICE, "Player GPU");
	write_string(writer, STRING_COMMAND, "player");
	if (range_text)
		write_string(writer, STRING_RANGE, range_text);
	gpumon_channel_write(writer, &device);
	gpumon_channel_write(writer, &context);
}

/* One stack for each thread, with invented addresses. */
static void write_stack(struct gpumon_channel_writer *writer, uint32_t id)
{
	struct {
		struct gpumon_record_stack stack;
		uint64_t frames[2];
	} record = {
		.stack = { .head = { .type = GPUMON_RECORD_STACK, .size = sizeof(record) },
			   .id = id,
			   .count = 2 },
		.frames = { 0x1000 + id, 0x2000 },
	};

	gpumon_channel_write(writer, &record);
}

static void write_launch(struct gpumon_channel_writer *writer, uint32_t stack)
{
	uint64_t now = now_ns();
	struct gpumon_record_launch launch = {
		.head = { .type = GPUMON_RECORD_LAUNCH, .size = sizeof(launch) },
		.start_ns = now,
		.end_ns = now + 500,
		.tid = (uint32_t)syscall(SYS_gettid),
		.correlation = __atomic_add_fetch(&correlation, 1, __ATOMIC_RELAXED),
		.stack = stack,
		.function = STRING_FUNCTION,
		.context = 1,
	};
	struct gpumon_record_kernel kernel = {
		.head = { .type = GPUMON_RECORD_KERNEL, .size = sizeof(kernel) },
		.start_ns = now + 2000,
		.end_ns = now + 2000 + KERNEL_NS,
		.correlation = launch.correlation,
		.name = STRING_KERNEL,
		.context = 1,
		.stream = 7,
	};

	/* Count it before it can be lost, like the library. */
	__atomic_add_fetch(&map.channel->launches, 1, __ATOMIC_RELAXED);
	gpumon_channel_write(writer, &launch);
	__atomic_add_fetch(&map.channel->kernels, 1, __ATOMIC_RELAXED);
	gpumon_channel_write(writer, &kernel);
	if (pause_us)
		usleep((useconds_t)pause_us);
}

static void write_range(struct gpumon_channel_writer *writer, enum gpumon_range_kind kind)
{
	struct gpumon_record_range range = {
		.head = { .type = GPUMON_RECORD_RANGE, .size = sizeof(range) },
		.time_ns = now_ns(),
		.tid = (uint32_t)syscall(SYS_gettid),
		.text = kind == GPUMON_RANGE_PUSH ? STRING_RANGE : 0,
		.kind = (uint16_t)kind,
	};

	if (range_text)
		gpumon_channel_write(writer, &range);
}

static void *run_thread(void *data)
{
	uint32_t stack = 1 + (uint32_t)(uintptr_t)data;
	struct gpumon_channel_writer writer = { 0 };

	gpumon_channel_writer_begin(&writer, &map, (uint32_t)syscall(SYS_gettid));
	write_stack(&writer, stack);
	write_range(&writer, GPUMON_RANGE_PUSH);
	for (unsigned long i = 0; i < launches; i++) {
		if (i + 1 == launches)
			sleep_ms(gap_ms);
		write_launch(&writer, stack);
	}
	write_range(&writer, GPUMON_RANGE_POP);
	gpumon_channel_writer_end(&writer);
	return NULL;
}

static void record(void)
{
	struct gpumon_channel_writer writer = { 0 };
	pthread_t ids[64];

	gpumon_channel_writer_begin(&writer, &map, (uint32_t)getpid());
	write_process(&writer);
	gpumon_channel_writer_end(&writer);
	for (unsigned long i = 0; i < threads && i < 64; i++)
		if (pthread_create(&ids[i], NULL, run_thread, (void *)(uintptr_t)i))
			die("thread");
	for (unsigned long i = 0; i < threads && i < 64; i++)
		pthread_join(ids[i], NULL);
}

static void do_record(void)
{
	recorder = open_socket();
	if (recorder >= 0 && handshake())
		record();
}

static void do_listen(void)
{
	const char *folder = getenv("GPUMON_LISTEN");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char name[64];
	int length;

	snprintf(name, sizeof(name), GPUMON_LISTEN_NAME, (unsigned int)geteuid(),
		 (unsigned int)getpid());
	if (folder)
		length = snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s.sock", folder,
				  name);
	else
		length = 1 +
			 snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", name);
	if (fd < 0 ||
	    bind(fd, (const struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length)) ||
	    listen(fd, 1))
		die("listen");
	recorder = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	close(fd);
	if (recorder >= 0 && handshake())
		record();
}

/* Like the library at the end of a capture: write everything, then close the socket. */
static void do_stop(void)
{
	while (map.channel && !deaf &&
	       __atomic_load_n(&map.channel->command, __ATOMIC_ACQUIRE) != GPUMON_CHANNEL_STOP)
		sleep_ms(5);
	if (map.channel)
		__atomic_store_n(&map.channel->stopped, 1, __ATOMIC_RELEASE);
	close(recorder);
}

static void do_cat(void)
{
	char buffer[65536];
	ssize_t n;

	while ((n = read(0, buffer, sizeof(buffer))) > 0)
		if (write(1, buffer, (size_t)n) != n)
			die("cat");
}

static void do_descriptors(void)
{
	DIR *entries = opendir("/proc/self/fd");
	struct dirent *entry;

	while (entries && (entry = readdir(entries))) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && fd != dirfd(entries))
			printf("descriptor %d\n", fd);
	}
	fflush(stdout);
}

static void do_signals(void)
{
	char line[256];
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "Sig", 3) && strncmp(line, "SigQ", 4) != 0)
			fputs(line, stdout);
	fflush(stdout);
}

static void on_signal(int number)
{
	static const char text[] = "caught\n";

	(void)number;
	(void)!write(1, text, sizeof(text) - 1);
	_exit(7);
}

/* After a fork: the library is inactive in the child until it starts again. */
static void forget(void)
{
	close(recorder);
	recorder = -1;
	memset(&map, 0, sizeof(map));
	correlation = 0;
}

static void do_children(unsigned long count)
{
	int status, bad = 0;

	for (unsigned long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid) {
			forget();
			return;
		}
	}
	while (wait(&status) > 0)
		bad |= status;
	exit(bad ? 98 : 0);
}

static bool is(const char *word, const char *name, const char **value)
{
	size_t length = strlen(name);

	if (strncmp(word, name, length) != 0 || word[length] != '=')
		return false;
	*value = word + length + 1;
	return true;
}

static bool do_number(const char *word)
{
	const char *value;

	if (is(word, "launches", &value))
		launches = strtoul(value, NULL, 10);
	else if (is(word, "threads", &value))
		threads = strtoul(value, NULL, 10);
	else if (is(word, "pause", &value))
		pause_us = strtoul(value, NULL, 10);
	else if (is(word, "gap", &value))
		gap_ms = strtoul(value, NULL, 10);
	else if (is(word, "version", &value))
		hello_version = (uint32_t)strtoul(value, NULL, 10);
	else if (is(word, "host-pid", &value))
		host_pid = (uint32_t)strtoul(value, NULL, 10);
	else if (is(word, "children", &value))
		do_children(strtoul(value, NULL, 10));
	else if (is(word, "sleep", &value))
		sleep_ms(strtoul(value, NULL, 10));
	else if (is(word, "signal", &value))
		raise(atoi(value));
	else if (is(word, "exit", &value))
		exit(atoi(value));
	else
		return false;
	return true;
}

static bool do_text(const char *word)
{
	const char *value;
	int fd;

	if (is(word, "name", &value)) {
		kernel_name = value;
	} else if (is(word, "range", &value)) {
		range_text = value;
	} else if (is(word, "out", &value)) {
		printf("%s\n", value);
		fflush(stdout);
	} else if (is(word, "err", &value)) {
		fprintf(stderr, "%s\n", value);
	} else if (is(word, "touch", &value)) {
		fd = open(value, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0)
			die(value);
		close(fd);
	} else if (is(word, "await", &value)) {
		while (access(value, F_OK))
			sleep_ms(5);
	} else {
		return false;
	}
	return true;
}

static bool do_word(const char *word)
{
	if (!strcmp(word, "record")) {
		do_record();
	} else if (!strcmp(word, "connect")) {
		recorder = open_socket();
		if (recorder >= 0)
			(void)handshake();
	} else if (!strcmp(word, "mute")) {
		recorder = open_socket();
	} else if (!strcmp(word, "listen")) {
		do_listen();
	} else if (!strcmp(word, "stop")) {
		do_stop();
	} else if (!strcmp(word, "deaf")) {
		deaf = true;
	} else if (!strcmp(word, "impatient")) {
		impatient = true;
	} else if (!strcmp(word, "gone")) {
		do_gone();
	} else if (!strcmp(word, "hang-up")) {
		close(recorder);
		recorder = -1;
	} else if (!strcmp(word, "cat")) {
		do_cat();
	} else if (!strcmp(word, "descriptors")) {
		do_descriptors();
	} else if (!strcmp(word, "signals")) {
		do_signals();
	} else if (!strcmp(word, "catch")) {
		signal(SIGINT, on_signal);
		signal(SIGTERM, on_signal);
	} else if (!strcmp(word, "background")) {
		if (fork())
			_exit(0);
		forget();
	} else {
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "exec")) {
			execvp(argv[i + 1], argv + i + 1);
			die(argv[i + 1]);
		}
		if (!do_number(argv[i]) && !do_text(argv[i]) && !do_word(argv[i])) {
			fprintf(stderr, "player: what is \"%s\"?\n", argv[i]);
			return 99;
		}
	}
	return 0;
}
