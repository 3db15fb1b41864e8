// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/inject.h"
#include "recorder/socket.h"
#include "requests.h"

/* gpumon-user edits and reads in one thread. */
#define ANSWER_MS 60000

struct gpumon_wire_settings inject_gpuprog_settings;
const void *inject_gpuprog_content;

static char socket_path[sizeof(((struct sockaddr_un *)0)->sun_path)];

static struct gpumon_wire_request new_request(enum gpumon_wire_type type)
{
	return (struct gpumon_wire_request){
		.type = type,
		.version = GPUMON_WIRE_VERSION,
		.pid = (uint32_t)getpid(),
	};
}

/* A connection on which @request has been sent, with @fd unless it is negative; -1. */
static int send_request(const struct gpumon_wire_request *request, int fd)
{
	int socket = inject_socket_connect(socket_path, INJECT_CONNECT_MS);

	if (socket < 0)
		return -1;
	if (inject_socket_send(socket, request, sizeof(*request), fd, INJECT_CONNECT_MS))
		return socket;
	close(socket);
	return -1;
}

/* Reads one whole message of the answer. Returns false if none came. */
static bool receive_answer(int socket, void *answer, size_t size, int *fd)
{
	struct pollfd wait = { .fd = socket, .events = POLLIN };
	uint64_t until = inject_now() + ANSWER_MS * 1000000ull, now;
	ssize_t length;

	memset(answer, 0, size);
	do {
		now = inject_now();
		if (now >= until || poll(&wait, 1, (int)((until - now) / 1000000) + 1) == 0)
			return false;
		length = inject_socket_receive(socket, answer, size, fd);
	} while (length < 0 && (errno == EAGAIN || errno == EINTR));
	return length == (ssize_t)size;
}

static bool ask(const struct gpumon_wire_request *request, int fd, void *answer, size_t size,
		int *answered)
{
	int socket = send_request(request, fd);
	bool done;

	*answered = -1;
	if (socket < 0)
		return false;
	done = receive_answer(socket, answer, size, answered);
	close(socket);
	if (!done && *answered >= 0) {
		close(*answered);
		*answered = -1;
	}
	return done;
}

static void *map_descriptor(int fd, size_t size, int protection, int flags)
{
	void *memory;

	if (fd < 0 || !size || lseek(fd, 0, SEEK_END) < (off_t)size)
		return NULL;
	memory = mmap(NULL, size, protection, flags, fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static void close_descriptor(int fd)
{
	if (fd >= 0)
		close(fd);
}

static bool are_valid(const struct gpumon_wire_settings *settings)
{
	bool valid = settings->type == GPUMON_WIRE_SETTINGS &&
		     settings->version == GPUMON_WIRE_VERSION &&
		     settings->bytes >= sizeof(uint64_t) && settings->places_n &&
		     settings->places_n <= GPUMON_WIRE_PLACES &&
		     settings->content_n <= GPUMON_WIRE_PLACES;

	valid = valid && settings->pid_place <= settings->bytes - sizeof(uint64_t) &&
		settings->print_place <= settings->bytes - sizeof(uint64_t) &&
		settings->kept_words <= GPUMON_WIRE_KEPT_WORDS &&
		(!settings->kept_words ||
		 settings->kept_place <= settings->bytes - 2 * sizeof(uint64_t)) &&
		settings->print < settings->bytes && settings->copy_ms &&
		strnlen(settings->sanitizer, sizeof(settings->sanitizer)) <
			sizeof(settings->sanitizer);
	for (uint32_t i = 0; valid && i < settings->places_n; i++)
		valid = settings->places[i] < settings->bytes;
	for (uint32_t i = 0; valid && i < settings->content_n; i++)
		valid = settings->content[i].size <= settings->bytes &&
			settings->content[i].offset <= settings->bytes - settings->content[i].size;
	return valid;
}

bool inject_gpuprog_hello(const char *path)
{
	const struct gpumon_wire_request request = new_request(GPUMON_WIRE_HELLO);
	int fd;

	if (strlen(path) >= sizeof(socket_path))
		return false;
	strcpy(socket_path, path);
	if (!ask(&request, -1, &inject_gpuprog_settings, sizeof(inject_gpuprog_settings), &fd) ||
	    !are_valid(&inject_gpuprog_settings)) {
		close_descriptor(fd);
		return false;
	}
	inject_gpuprog_content =
		map_descriptor(fd, inject_gpuprog_settings.bytes, PROT_READ, MAP_PRIVATE);
	close_descriptor(fd);
	return inject_gpuprog_content;
}

/* Called with the lock of the contexts. A map has no size that could be asked for. */
void *inject_gpuprog_shared(uint32_t map, size_t *size)
{
	static struct {
		void *memory;
		size_t size;
	} maps[GPUMON_WIRE_PLACES];
	struct gpumon_wire_request request = new_request(GPUMON_WIRE_SHARED);
	struct gpumon_wire_answer answer;
	int fd = -1;

	if (!maps[map].memory) {
		request.context = map;
		if (ask(&request, -1, &answer, sizeof(answer), &fd) &&
		    answer.type == GPUMON_WIRE_AREA && fd >= 0 && answer.size) {
			void *memory =
				mmap(NULL, answer.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

			maps[map].memory = memory == MAP_FAILED ? NULL : memory;
			maps[map].size = answer.size;
		}
		close_descriptor(fd);
	}
	*size = maps[map].size;
	return maps[map].memory;
}

/* A file that is larger than the program's limit would have a signal kill it. */
static bool is_allowed(size_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || size <= limit.rlim_cur;
}

static int make_file(const char *content, size_t size)
{
	int fd = is_allowed(size) ?
			 (int)syscall(SYS_memfd_create, "gpumon-image", 1u /* close-on-exec */) :
			 -1;
	ssize_t written;

	for (size_t done = 0; fd >= 0 && done < size; done += (size_t)written) {
		written = write(fd, content + done, size - done);
		if (written < 0 && errno == EINTR)
			written = 0;
		if (written < 0) {
			close(fd);
			fd = -1;
		}
	}
	return fd;
}

bool inject_gpuprog_is_taken(size_t size)
{
	if (size <= GPUMON_WIRE_IMAGE_MAX)
		return true;
	inject_gpuprog_tell(
		"process %d has a module of %zu bytes, which is larger than 1 GiB: it is "
		"left alone, and nothing of its kernels is counted",
		(int)getpid(), size);
	return false;
}

static int make_file_or_tell(const void *content, size_t size)
{
	static _Atomic bool is_told;
	int fd = make_file(content, size);

	if (fd < 0 && !atomic_exchange(&is_told, true))
		inject_gpuprog_tell(
			"process %d may have no file of %zu bytes: such modules are left "
			"alone, and nothing of their kernels is counted",
			(int)getpid(), size);
	return fd;
}

static void receive_kernels(int socket, struct inject_new_image *made)
{
	struct gpumon_wire_answer answer;
	int fd = -1;

	if (receive_answer(socket, &answer, sizeof(answer), &fd) &&
	    answer.type == GPUMON_WIRE_EDITED) {
		made->kernels_size = answer.size;
		made->kernels = map_descriptor(fd, answer.size, PROT_READ, MAP_PRIVATE);
	}
	close_descriptor(fd);
}

/* Send an image with a request. @made: out: what comes with an answer of this type. */
static void ask_about(struct gpumon_wire_request *request, const void *image, size_t size,
		      enum gpumon_wire_type type, struct gpumon_wire_answer *answer,
		      struct inject_new_image *made)
{
	int given = inject_gpuprog_is_taken(size) ? make_file_or_tell(image, size) : -1, socket;
	bool is_edited;

	*made = (struct inject_new_image){ .fd = -1 };
	if (given < 0)
		return;
	request->size = size;
	if (inject_gpuprog_settings.way == GPUMON_WIRE_WAY_EACH)
		request->flags |= GPUMON_WIRE_PATCHED;
	socket = send_request(request, given);
	is_edited = socket >= 0 && receive_answer(socket, answer, sizeof(*answer), &made->fd) &&
		    answer->type == type;
	if (is_edited && type == GPUMON_WIRE_IMAGE)
		receive_kernels(socket, made);
	close_descriptor(socket);
	close(given);
	if (is_edited && (made->kernels || type != GPUMON_WIRE_IMAGE)) {
		made->size = answer->size;
		made->data =
			map_descriptor(made->fd, made->size, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	}
	if (made->data)
		return;
	inject_new_image_clear(made);
	if (is_edited)
		inject_gpuprog_say(GPUMON_WIRE_NOT_LOADED, answer->image);
}

void inject_gpuprog_ask_image(const struct inject_image *image, unsigned int sm,
			      const struct inject_wanted *wanted, struct gpumon_wire_answer *answer,
			      struct inject_new_image *made)
{
	struct gpumon_wire_request request = new_request(GPUMON_WIRE_EXCHANGE);

	request.sm = sm;
	request.first = wanted->first;
	request.end = wanted->end;
	if (wanted->no_functions)
		request.flags |= GPUMON_WIRE_NO_FUNCTIONS;
	snprintf(request.text, sizeof(request.text), "%s", image->file);
	ask_about(&request, image->data, image->size, GPUMON_WIRE_IMAGE, answer, made);
	/* CUDA reads a text to its end. */
	if (made->data && ((const char *)made->data)[made->size - 1])
		inject_new_image_clear(made);
}

void *inject_gpuprog_ask_patches(unsigned int sm, struct gpumon_wire_answer *answer)
{
	struct gpumon_wire_request request = new_request(GPUMON_WIRE_PATCHES);
	void *memory = NULL;
	int fd;

	request.sm = sm;
	if (ask(&request, -1, answer, sizeof(*answer), &fd) && answer->type == GPUMON_WIRE_CODE &&
	    answer->count && answer->count <= GPUMON_WIRE_POINTS)
		memory = map_descriptor(fd, answer->size, PROT_READ, MAP_PRIVATE);
	for (int i = 0; memory && i < GPUMON_WIRE_POINTS; i++)
		answer->points[i].function[sizeof(answer->points[i].function) - 1] = '\0';
	close_descriptor(fd);
	return memory;
}

void *inject_gpuprog_ask_kernels(const void *cubin, size_t size, struct gpumon_wire_answer *answer)
{
	struct gpumon_wire_request request = new_request(GPUMON_WIRE_MODULE);

	struct inject_new_image list;

	ask_about(&request, cubin, size, GPUMON_WIRE_KERNELS, answer, &list);
	inject_new_image_close(&list);
	return list.data;
}

/* Nothing is answered. */
static void say(const struct gpumon_wire_request *request)
{
	close_descriptor(send_request(request, -1));
}

void inject_gpuprog_say_why(enum gpumon_wire_type type, uint32_t number, const char *why)
{
	struct gpumon_wire_request request = new_request(type);

	request.context = number;
	snprintf(request.text, sizeof(request.text), "%s", why);
	say(&request);
}

void inject_gpuprog_say(enum gpumon_wire_type type, uint32_t number)
{
	inject_gpuprog_say_why(type, number, "");
}

void *inject_gpuprog_ask_area(unsigned int device, const char *name, unsigned int *context)
{
	struct gpumon_wire_request request = new_request(GPUMON_WIRE_CONTEXT);
	struct gpumon_wire_answer answer;
	void *memory = NULL;
	int fd;

	request.context = device;
	snprintf(request.text, sizeof(request.text), "%s", name);
	if (ask(&request, -1, &answer, sizeof(answer), &fd) && answer.type == GPUMON_WIRE_AREA &&
	    answer.size == inject_gpuprog_settings.bytes) {
		memory = map_descriptor(fd, answer.size, PROT_READ | PROT_WRITE, MAP_SHARED);
		*context = answer.count;
	}
	close_descriptor(fd);
	return memory;
}

struct gpumon_wire_launches *inject_gpuprog_ask_launches(void)
{
	const struct gpumon_wire_request request = new_request(GPUMON_WIRE_LAUNCHES);
	struct gpumon_wire_launches *launches = NULL;
	struct gpumon_wire_answer answer;
	int fd;

	if (ask(&request, -1, &answer, sizeof(answer), &fd) && answer.type == GPUMON_WIRE_AREA)
		launches =
			map_descriptor(fd, sizeof(*launches), PROT_READ | PROT_WRITE, MAP_SHARED);
	close_descriptor(fd);
	return launches;
}

void inject_gpuprog_say_name(unsigned int kernel, const char *name)
{
	struct gpumon_wire_request request = new_request(GPUMON_WIRE_NAME);
	size_t size = strlen(name) + 1;
	int fd = -1;

	request.context = kernel;
	if (size <= sizeof(request.text)) {
		memcpy(request.text, name, size);
	} else {
		request.size = size;
		fd = make_file(name, size);
	}
	close_descriptor(send_request(&request, fd));
	close_descriptor(fd);
}

void inject_gpuprog_say_clock(unsigned int context, int64_t offset_ns, uint64_t error_ns)
{
	struct gpumon_wire_request request = new_request(GPUMON_WIRE_CLOCK);

	request.context = context;
	request.offset_ns = offset_ns;
	request.error_ns = error_ns;
	say(&request);
}

void inject_gpuprog_say_copied(unsigned int context, unsigned int flags,
			       void (*clear)(void *argument, const struct gpumon_wire_range *range),
			       void *argument)
{
	struct gpumon_wire_request request = new_request(GPUMON_WIRE_COPIED);
	struct gpumon_wire_answer answer;
	int socket, fd = -1;

	request.context = context;
	request.flags = flags;
	socket = send_request(&request, -1);
	if (socket < 0)
		return;
	while (receive_answer(socket, &answer, sizeof(answer), &fd) &&
	       answer.type == GPUMON_WIRE_CLEAR && answer.count <= GPUMON_WIRE_CLEARS) {
		for (uint32_t i = 0; i < answer.count; i++)
			if (answer.clears[i].size <= inject_gpuprog_settings.bytes &&
			    answer.clears[i].offset <=
				    inject_gpuprog_settings.bytes - answer.clears[i].size)
				clear(argument, &answer.clears[i]);
		close_descriptor(fd);
		fd = -1;
	}
	close_descriptor(fd);
	close(socket);
}

void inject_gpuprog_say_loaded(uint32_t module, unsigned int flags, uint64_t took_ns)
{
	struct gpumon_wire_request request = new_request(GPUMON_WIRE_LOADED);

	request.context = module;
	request.flags = flags;
	request.took_ns = took_ns;
	say(&request);
}

static void tell(unsigned int flags, const char *format, va_list arguments)
{
	struct gpumon_wire_request request = new_request(GPUMON_WIRE_TELL);

	request.flags = flags;
	vsnprintf(request.text, sizeof(request.text), format, arguments);
	say(&request);
}

void inject_gpuprog_tell(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	tell(0, format, arguments);
	va_end(arguments);
}

void inject_gpuprog_tell_unable(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	tell(GPUMON_WIRE_UNABLE, format, arguments);
	va_end(arguments);
}
