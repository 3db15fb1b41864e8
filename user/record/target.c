// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/channel_reader.h"
#include "lib/memory.h"
#include "lib/wait.h"
#include "lib/api_loader.h"
#include "lib/descriptor.h"
#include "target_process.h"
#include "target.h"
#include "lib/format.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* String ids of the recorder. Libraries count theirs from 1 on and never get this far. */
#define STRING_EXECUTABLE 0xffffff01u
#define STRING_COMMAND	  0xffffff02u
#define STRING_CGROUP	  0xffffff03u
#define STRING_HOST	  0xffffff04u

/* How often it is looked whether a process is in a sandbox: that costs some 50 us. */
#define LOOK_NS 100000000ULL

/* How long a process whose library is gone may take to end. */
#define GONE_NS 1000000000ULL

/* Maximum number of files of one process, which gets a new one after each exec(). */
#define NAMES_MAX 10000

/* How often a silent process is looked at. */
#define TAKEN_NS 1000000000ULL

/**
 * struct gpumon_target - a recorded process
 * @socket: -1 once it is closed
 * @pidfd: -1 if there is none
 * @hello_pid: its pid in its own pid namespace
 * @accepted: it got a channel
 * @taken_ns: last look at whether another recorder has it
 * @without_gpu: its library cannot record the GPU
 * @described: the file has a PROCESS record
 * @strings: which of the recorder's strings still have to be written, by id
 * @is_cut: it ended without its library's end
 * @launched: launches that have one operation each, about
 * @reported: such operations
 * @presents: images that it has presented
 * @unlayered: path of OpenCL's loader in it, if that has no layers
 * @has_opencl: OpenCL is recorded in it
 * @notes: notes of its library
 * @map: perf map of its generated code
 * @looks: what is looked up for it
 * @look_ns: when to look at its sandbox again
 * @is_deaf: its socket is closed, and its library may go on
 * @deaf_ns: since when
 * @news: what is to be noted of it, "" for nothing
 * @news_flags: of that note
 */
struct gpumon_target {
	const struct gpumon_target_options *options;
	enum gpumon_target_state state;
	int socket;
	int pidfd;
	uint32_t hello_pid;
	uint64_t since_ns;
	struct gpumon_process_info info;
	struct gpumon_channel_reader *channel;
	struct gpumon_capture_file *file;
	bool accepted;
	uint64_t taken_ns;
	bool without_gpu;
	bool described;
	bool strings;
	bool is_cut;
	bool has_begun;
	uint64_t launched;
	uint64_t reported;
	uint64_t presents;
	char *unlayered;
	bool has_opencl;
	struct gpumon_note_reader notes;
	struct gpumon_runtime_map map;
	struct gpumon_looks looks;
	uint64_t look_ns;
	bool is_deaf;
	uint64_t deaf_ns;
	char news[384];
	uint16_t news_flags;
};

static void refuse_target(struct gpumon_target *target, const char *why)
{
	struct gpumon_message_refused message = { .type = GPUMON_REFUSED };

	snprintf(message.why, sizeof(message.why), "%s", why);
	(void)!send(target->socket, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/*
 * The pidfd comes from the socket if the kernel supports that: another process may have the pid by
 * now.
 */
static int open_pidfd(int socket, pid_t pid)
{
	socklen_t size = sizeof(int);
	int fd;

	if (!getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size))
		return fd;
	return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

struct gpumon_target *gpumon_target_new(int socket, const struct gpumon_target_options *options,
					struct gpumon_error *err)
{
	struct gpumon_target *target = gpumon_calloc(1, sizeof(*target));
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t size = sizeof(peer);

	target->options = options;
	target->socket = socket;
	target->pidfd = -1;
	target->map.root = target->map.file = -1;
	target->since_ns = gpumon_monotonic_ns();
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (peer.uid != geteuid() && peer.uid != 0 && geteuid() != 0)) {
		gpumon_error_set(err, GPUMON_EXIT_FAILED, -EPERM, GPUMON_ERROR_PERMISSION,
				 "process %d of user %d was not recorded: it is not yours",
				 (int)peer.pid, (int)peer.uid);
		refuse_target(target, "the recorder is another user's");
		gpumon_target_free(target);
		return NULL;
	}
	target->pidfd = open_pidfd(socket, peer.pid);
	gpumon_runtime_map_begin(&target->map, options->root, peer.pid);
	gpumon_process_info_read(&target->info, options->root, peer.pid);
	return target;
}

static int append_record(struct gpumon_target *target, const void *record, size_t size)
{
	return gpumon_capture_append(target->file, 0, record, size);
}

static const char *host_name(char *buffer, size_t room)
{
	if (gethostname(buffer, room))
		buffer[0] = '\0';
	buffer[room - 1] = '\0';
	return buffer;
}

/* Append the recorder's strings for the fields that the library left empty. */
static void append_strings(struct gpumon_target *target)
{
	char host[72];

	target->strings = false;
	gpumon_capture_append_string(target->file, STRING_CGROUP, target->info.cgroup);
	gpumon_capture_append_string(target->file, STRING_EXECUTABLE, target->info.executable);
	gpumon_capture_append_string(target->file, STRING_COMMAND, target->info.command);
	gpumon_capture_append_string(target->file, STRING_HOST, host_name(host, sizeof(host)));
}

static uint32_t fill_id(uint32_t id, uint32_t ours, const char *text)
{
	return id || !text[0] ? id : ours;
}

/* Fill in what a process cannot know about itself, and what its library left out. */
static void describe_process(struct gpumon_target *target, struct gpumon_record_process *process)
{
	const struct gpumon_process_info *info = &target->info;

	/*
	 * Use the pid of the socket if it is known. Readers of the capture look for files as this
	 * process sees them, and a process must not pretend to be another one.
	 */
	if (info->pid)
		process->host_pid = (uint32_t)info->pid;
	if (!process->start_ns)
		process->start_ns = info->start_ns;
	if (!process->pid_namespace)
		process->pid_namespace = info->pid_namespace;
	process->cgroup = fill_id(process->cgroup, STRING_CGROUP, info->cgroup);
	process->executable = fill_id(process->executable, STRING_EXECUTABLE, info->executable);
	process->command = fill_id(process->command, STRING_COMMAND, info->command);
	process->host = fill_id(process->host, STRING_HOST, "host");
	target->described = true;
	target->strings = true;
}

static void see_note(struct gpumon_target *target, const struct gpumon_record *record)
{
	const char *text = gpumon_note_read(&target->notes, record);

	if (record->type == GPUMON_RECORD_NOTE && (record->flags & GPUMON_NOTE_NO_GPU))
		target->without_gpu = true;
	if (text && target->options->notes)
		gpumon_library_notes_add(target->options->notes, text);
}

/* The library wrote the path of a file that it has mapped. Paths are as the process sees them. */
static void see_library(struct gpumon_target *target, const struct gpumon_record_string *string)
{
	char path[PATH_MAX + 32];
	const char *here;

	if (target->unlayered || string->length >= PATH_MAX || string->text[0] != '/' ||
	    sizeof(*string) + string->length > string->head.size ||
	    !memmem(string->text, string->length, "/libOpenCL.so", 13))
		return;
	snprintf(path, sizeof(path), "/proc/%d/root%.*s", (int)target->info.pid,
		 (int)string->length, string->text);
	/* The process may have ended by now. */
	here = path + strlen(path) - string->length;
	if (gpumon_opencl_is_unlayered(access(path, F_OK) ? here : path))
		target->unlayered = gpumon_strndup(string->text, string->length);
}

bool gpumon_target_unseen(const struct gpumon_target *target, char *text, size_t room)
{
	if (!target->unlayered || target->has_opencl)
		return false;
	snprintf(
		text, room,
		"process %d loaded %s, a loader of OpenCL that has no layers: what it did with OpenCL is not recorded",
		(int)target->info.pid, target->unlayered);
	return true;
}

/* Launches that have one operation, and such operations: graphs have many, some calls have none. */
static void count_record(struct gpumon_target *target, const struct gpumon_record *record)
{
	const uint16_t others = GPUMON_LAUNCH_CAPTURED | GPUMON_LAUNCH_GRAPH | GPUMON_LAUNCH_FAILED;

	switch (record->type) {
	case GPUMON_RECORD_LAUNCH:
		target->launched += !(record->flags & others);
		break;
	case GPUMON_RECORD_KERNEL:
		target->reported += record->size >= GPUMON_KERNEL_SIZE &&
				    !((const struct gpumon_record_kernel *)record)->graph &&
				    !(record->flags & GPUMON_WORK_INTERNAL);
		break;
	case GPUMON_RECORD_COPY:
		target->reported += record->size >= sizeof(struct gpumon_record_copy) &&
				    !((const struct gpumon_record_copy *)record)->graph;
		break;
	case GPUMON_RECORD_SET:
		target->reported += record->size >= sizeof(struct gpumon_record_set) &&
				    !((const struct gpumon_record_set *)record)->graph;
		break;
	case GPUMON_RECORD_PRESENT:
		target->presents++;
		break;
	case GPUMON_RECORD_WINDOW:
		target->has_begun = true;
		break;
	default:
		break;
	}
}

static void on_records(void *data, uint32_t tid, void *records, size_t size)
{
	struct gpumon_target *target = data;
	size_t at = 0;

	(void)tid;
	while (at < size) {
		struct gpumon_record *record = (struct gpumon_record *)((char *)records + at);

		if (record->type == GPUMON_RECORD_PROCESS &&
		    record->size >= sizeof(struct gpumon_record_process))
			describe_process(target, (struct gpumon_record_process *)record);
		gpumon_looks_record(&target->looks, record);
		if (record->type == GPUMON_RECORD_STRING || record->type == GPUMON_RECORD_NOTE)
			see_note(target, record);
		count_record(target, record);
		if (record->type == GPUMON_RECORD_STRING &&
		    record->size >= sizeof(struct gpumon_record_string))
			see_library(target, (const struct gpumon_record_string *)record);
		if (record->type == GPUMON_RECORD_API &&
		    record->size >= sizeof(struct gpumon_record_api))
			target->has_opencl |= ((const struct gpumon_record_api *)record)->api ==
					      GPUMON_API_OPENCL;
		at += record->size;
	}
	if (target->options->tap.records)
		target->options->tap.records(target->options->tap.data, target, records, size);
}

/* Describe a process whose library ended too early to do so. */
static void append_process(struct gpumon_target *target)
{
	struct gpumon_record_process process = {
		.head = { .type = GPUMON_RECORD_PROCESS, .size = sizeof(process) },
		.pid = target->hello_pid,
		.rank = target->info.rank,
	};

	gpumon_boot_id_read(process.boot_id, target->options->root);
	describe_process(target, &process);
	/*
	 * Parent in the pid namespace of the process, as @pid is. Unknown if the parent's namespace
	 * is another one.
	 */
	if (target->hello_pid == (uint32_t)target->info.pid)
		process.parent = (uint32_t)target->info.parent;
	(void)append_record(target, &process, sizeof(process));
}

int gpumon_target_add_file(struct gpumon_capture_writer *writer, uint32_t pid, uint64_t start_ticks,
			   struct gpumon_capture_file **file, struct gpumon_error *err)
{
	char name[80];
	int length;

	length = snprintf(name, sizeof(name), GPUMON_CAPTURE_PROCESS "%u-%llu", pid,
			  (unsigned long long)start_ticks);
	for (unsigned int i = 2; gpumon_capture_add_file(writer, name, file); i++) {
		if (gpumon_capture_error()->sys != -EEXIST || i > NAMES_MAX) {
			*err = *gpumon_capture_error();
			return -1;
		}
		snprintf(name + length, sizeof(name) - (size_t)length, "-%u", i);
	}
	return 0;
}

static int add_file(struct gpumon_target *target, struct gpumon_error *err)
{
	uint32_t pid = target->info.pid ? (uint32_t)target->info.pid : target->hello_pid;

	return gpumon_target_add_file(target->options->writer, pid, target->info.start_ticks,
				      &target->file, err);
}

static int make_channel(struct gpumon_target *target, struct gpumon_error *err)
{
	uint64_t blocks = target->options->channel_bytes / GPUMON_BLOCK_SIZE;

	if (!blocks)
		blocks = GPUMON_CHANNEL_BLOCKS_DEFAULT;
	if (blocks > GPUMON_CHANNEL_BLOCKS_MAX)
		blocks = GPUMON_CHANNEL_BLOCKS_MAX;
	if (gpumon_channel_create((uint32_t)blocks, &target->channel)) {
		*err = *gpumon_capture_error();
		return -1;
	}
	gpumon_channel_on_records(target->channel, on_records, target);
	return 0;
}

/* Notes are kept once each: a failure has to name the process that it is of. */
static int say_of(const struct gpumon_target *target, int ret, struct gpumon_error *err)
{
	char why[sizeof(err->message)];

	if (!ret)
		return 0;
	snprintf(why, sizeof(why), "%s", err->message);
	return gpumon_error_set(err, err->status, err->sys, err->code,
				"process %d was not recorded: %s%s", (int)target->info.pid, why,
				err->sys == -EMFILE ? " (ulimit -n)" : "");
}

static int send_settings(struct gpumon_target *target, int64_t clock_ns, struct gpumon_error *err)
{
	struct gpumon_message_settings settings = target->options->settings;
	int ret;

	settings.clock_ns = clock_ns;
	ret = gpumon_send_descriptor(target->socket, &settings, sizeof(settings),
				     gpumon_channel_descriptor(target->channel));

	/* The process has just sent its hello, so its socket has room, or it is gone. */
	if (ret == -EPIPE || ret == -ECONNRESET)
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -ECONNRESET, GPUMON_ERROR_IO,
			"process %d was not recorded: it ended, or hung up, before this program answered it (it waits %d s)",
			(int)target->info.pid, GPUMON_CHANNEL_ANSWER_MS / 1000);
	if (ret)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, ret, GPUMON_ERROR_IO,
					"process %d was not recorded: %s", (int)target->info.pid,
					strerror(-ret));
	return 0;
}

static int answer_hello(struct gpumon_target *target, const struct gpumon_message_hello *hello,
			struct gpumon_error *err)
{
	int64_t clock_ns;

	if (hello->version != GPUMON_CHANNEL_VERSION) {
		refuse_target(target, "the recorder is of another version than the library");
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -EPROTO, GPUMON_ERROR_SCHEMA,
			"process %d was not recorded: its injection library speaks version %u, this program %u",
			(int)target->info.pid, hello->version, GPUMON_CHANNEL_VERSION);
	}
	target->hello_pid = hello->pid;
	clock_ns = gpumon_looks_clock(target->options->root, target->info.pid, hello);
	gpumon_looks_begin(&target->looks, target->options->root, target->info.pid, hello);
	/* The file last: a process that no longer waits leaves none behind. */
	if (say_of(target, make_channel(target, err), err) ||
	    send_settings(target, clock_ns, err) || say_of(target, add_file(target, err), err)) {
		refuse_target(target, "the recorder could not make a channel");
		return -1;
	}
	target->state = GPUMON_TARGET_RUNNING;
	target->accepted = true;
	return 0;
}

static const char *program_name(const struct gpumon_target *target)
{
	const char *slash = strrchr(target->info.executable, '/');

	return slash ? slash + 1 : target->info.executable;
}

static void set_news(struct gpumon_target *target, uint16_t flags, const char *what)
{
	char after[GPUMON_FORMAT_LEN];

	gpumon_format_ns(after, sizeof(after),
			 gpumon_value_of(gpumon_monotonic_ns() - target->since_ns));
	snprintf(target->news, sizeof(target->news),
		 "process %d (%.40s), %s after its recording began: %s", (int)target->info.pid,
		 program_name(target), after, what);
	target->news_flags = flags;
}

bool gpumon_target_news(struct gpumon_target *target, uint16_t *flags, char *text, size_t room)
{
	if (!target->news[0])
		return false;
	*flags = target->news_flags;
	snprintf(text, room, "%s", target->news);
	target->news[0] = '\0';
	return true;
}

static bool process_lives(const struct gpumon_target *target)
{
	struct pollfd fds = { .fd = target->pidfd, .events = POLLIN };
	uint64_t ticks;

	if (fds.fd >= 0)
		return poll(&fds, 1, 0) == 0;
	return gpumon_process_start_ticks(target->options->root, target->info.pid, &ticks) &&
	       ticks == target->info.start_ticks && gpumon_looks_program(&target->looks);
}

/* The socket is closed: by the program, or its end, or because it has another program. */
static bool goes_on(const struct gpumon_target *target)
{
	return target->state == GPUMON_TARGET_RUNNING && target->looks.library &&
	       !gpumon_channel_stopped(target->channel) && process_lives(target);
}

/* Threads of a process that ends do so one after the other: it is asked for some time. */
static void look_at_library(struct gpumon_target *target)
{
	bool lives = goes_on(target), program = gpumon_looks_program(&target->looks);

	if (lives && gpumon_looks_library(&target->looks))
		return;
	if (lives && program && gpumon_monotonic_ns() < target->deaf_ns + GONE_NS)
		return;
	if (lives && program)
		set_news(
			target, GPUMON_NOTE_MISSING,
			"it ended while the process went on, because the library's thread in it is gone");
	gpumon_target_end(target);
}

static void look_at_sandbox(struct gpumon_target *target)
{
	enum gpumon_channel_sandbox before = target->looks.sandbox, now;

	target->look_ns = gpumon_monotonic_ns() + LOOK_NS;
	now = gpumon_looks_sandbox(&target->looks);
	gpumon_channel_set_sandbox(target->channel, now);
	if (now == GPUMON_SANDBOX_NEW && before != now)
		set_news(
			target, 0,
			"it forbade itself system calls (seccomp): call paths through code that was generated later may be cut off, and record -p cannot attach to it");
}

static void close_socket(struct gpumon_target *target)
{
	if (target->socket >= 0)
		close(target->socket);
	target->socket = -1;
}

void gpumon_target_receive(struct gpumon_target *target, struct gpumon_error *err)
{
	union {
		uint32_t type;
		struct gpumon_message_hello hello;
		struct gpumon_message_refused refused;
		char room[512];
	} message;
	char silence[128];

	while (target->state != GPUMON_TARGET_ENDED) {
		ssize_t n;

		memset(&message, 0, sizeof(message));
		/* There is no room for descriptors in the message, so the kernel closes them. */
		n = recv(target->socket, &message, sizeof(message), MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR))
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			if (target->state == GPUMON_TARGET_HELLO)
				gpumon_error_set(
					err, GPUMON_EXIT_FAILED, -ECONNRESET, GPUMON_ERROR_IO,
					"process %d was not recorded: %s", (int)target->info.pid,
					gpumon_target_silence(
						target,
						process_lives(target) ?
							"it hung up before it said what it is" :
							"it ended before it said what it is",
						silence, sizeof(silence)));
			target->is_deaf = goes_on(target);
			target->deaf_ns = gpumon_monotonic_ns();
			if (!target->is_deaf)
				gpumon_target_end(target);
			return;
		}
		if (n >= (ssize_t)offsetof(struct gpumon_message_hello, monotonic_ns) &&
		    message.type == GPUMON_HELLO && target->state == GPUMON_TARGET_HELLO) {
			if (answer_hello(target, &message.hello, err))
				gpumon_target_end(target);
		} else if (n >= (ssize_t)sizeof(message.refused) &&
			   message.type == GPUMON_REFUSED) {
			message.refused.why[sizeof(message.refused.why) - 1] = '\0';
			gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
					 "process %d was not recorded: %s", (int)target->info.pid,
					 message.refused.why);
			target->accepted = false;
			gpumon_target_end(target);
		} else {
			gpumon_error_set(err, GPUMON_EXIT_FAILED, -EPROTO, GPUMON_ERROR_SCHEMA,
					 "process %d was not recorded: it sent an invalid message",
					 (int)target->info.pid);
			gpumon_target_end(target);
		}
	}
}

void gpumon_target_drain(struct gpumon_target *target)
{
	if (target->state != GPUMON_TARGET_RUNNING)
		return;
	gpumon_channel_drain(target->channel, target->file);
	if (target->strings)
		append_strings(target);
	gpumon_looks_names(&target->looks, target->file, gpumon_monotonic_ns(), false);
	if (gpumon_monotonic_ns() >= target->look_ns)
		look_at_sandbox(target);
	gpumon_runtime_map_look(&target->map);
	if (target->is_deaf)
		look_at_library(target);
}

static void append_cut(struct gpumon_target *target)
{
	const struct gpumon_record_window window = {
		.head = { .type = GPUMON_RECORD_WINDOW,
			  .flags = GPUMON_WINDOW_END | GPUMON_WINDOW_CUT,
			  .size = sizeof(window) },
		.time_ns = gpumon_monotonic_ns(),
	};

	target->is_cut = true;
	(void)append_record(target, &window, sizeof(window));
}

void gpumon_target_end(struct gpumon_target *target)
{
	if (target->state == GPUMON_TARGET_RUNNING) {
		gpumon_channel_finish(target->channel, target->file);
		if (!gpumon_target_stopped(target))
			append_cut(target);
		gpumon_looks_names(&target->looks, target->file, 0, true);
		/* The library listens again only after a look that was made when its capture was over. */
		look_at_sandbox(target);
		look_at_sandbox(target);
		if (!target->described)
			append_process(target);
		if (target->strings)
			append_strings(target);
	}
	target->state = GPUMON_TARGET_ENDED;
	/* A child that writes a capture may have a copy. Ours stays for the epoll set. */
	(void)shutdown(target->socket, SHUT_RDWR);
}

void gpumon_target_stop(struct gpumon_target *target)
{
	if (target->state != GPUMON_TARGET_RUNNING)
		return;
	/* The library looks from time to time. */
	gpumon_channel_set_command(target->channel, GPUMON_CHANNEL_STOP);
}

bool gpumon_target_stopped(const struct gpumon_target *target)
{
	return target->channel && gpumon_channel_stopped(target->channel);
}

int gpumon_target_keep_map(struct gpumon_target *target, struct gpumon_error *err)
{
	return gpumon_runtime_map_end(&target->map, target->file, target->info.pid, err);
}

void gpumon_target_copy_map(const struct gpumon_target *target, int directory)
{
	if (target->file)
		gpumon_runtime_map_copy(&target->map, target->file, directory);
}

void gpumon_target_free(struct gpumon_target *target)
{
	struct gpumon_error err;

	if (!target)
		return;
	(void)gpumon_runtime_map_end(&target->map, NULL, 0, &err);
	close_socket(target);
	if (target->pidfd >= 0)
		close(target->pidfd);
	if (target->file)
		gpumon_capture_end_file(target->file);
	if (target->channel)
		gpumon_channel_free(target->channel);
	free(target->unlayered);
	gpumon_looks_end(&target->looks);
	free(target);
}

enum gpumon_target_state gpumon_target_state(const struct gpumon_target *target)
{
	return target->state;
}

bool gpumon_target_is_taken(struct gpumon_target *target, uint64_t now)
{
	if (now < target->since_ns + TAKEN_NS || now < target->taken_ns + TAKEN_NS)
		return false;
	target->taken_ns = now;
	return gpumon_process_recorder(target->options->root, target->info.pid) != 0;
}

const char *gpumon_target_silence(const struct gpumon_target *target, const char *otherwise,
				  char *text, size_t room)
{
	const char *root = target->options->root;
	pid_t recorder = gpumon_process_recorder(root, target->info.pid);

	if (recorder)
		snprintf(text, room, "gpumon-user %d records it already", (int)recorder);
	else if (gpumon_process_is_stopped(root, target->info.pid))
		snprintf(
			text, room,
			"it is stopped, by a signal or a debugger, so that its injection library cannot answer");
	else
		snprintf(text, room, "%s", otherwise);
	return text;
}

bool gpumon_target_accepted(const struct gpumon_target *target)
{
	return target->accepted;
}

bool gpumon_target_is_beginning(const struct gpumon_target *target)
{
	return target->state == GPUMON_TARGET_RUNNING && !target->has_begun &&
	       target->options->settings.window == GPUMON_WINDOW_ALWAYS;
}

bool gpumon_target_without_gpu(const struct gpumon_target *target)
{
	return target->without_gpu;
}

bool gpumon_target_is_deaf(const struct gpumon_target *target)
{
	return target->is_deaf;
}

int gpumon_target_socket(const struct gpumon_target *target)
{
	return target->socket;
}

int gpumon_target_pidfd(const struct gpumon_target *target)
{
	return target->pidfd;
}

const struct gpumon_process_info *gpumon_target_info(const struct gpumon_target *target)
{
	return &target->info;
}

void gpumon_target_get_counts(const struct gpumon_target *target,
			      struct gpumon_target_counts *counts)
{
	const struct gpumon_channel_account *account;
	struct gpumon_record_totals totals;

	memset(counts, 0, sizeof(*counts));
	if (target->file)
		counts->bytes = gpumon_capture_file_bytes(target->file);
	if (!target->channel)
		return;
	account = gpumon_channel_account(target->channel);
	for (unsigned int cause = 0; cause < GPUMON_LOSS_CAUSES; cause++)
		counts->lost[cause] = account->lost[cause];
	counts->lost[GPUMON_LOSS_BROKEN] += account->broken;
	if (target->is_cut && target->launched > target->reported)
		counts->lost[GPUMON_LOSS_WITHHELD] += target->launched - target->reported;
	gpumon_channel_totals(target->channel, &totals);
	counts->launches = totals.launches;
	counts->captured = totals.captured;
	counts->kernels = totals.kernels;
	counts->copies = totals.copies;
	counts->sets = totals.sets;
	counts->presents = target->presents;
}

uint64_t gpumon_target_since(const struct gpumon_target *target)
{
	return target->since_ns;
}
