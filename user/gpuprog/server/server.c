// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/wait.h"
#include "cpu.h"
#include "gpuprog/image/names.h"
#include "gpuprog/image/exchange.h"
#include "lib/descriptor.h"
#include "server.h"
#include "memory.h"

/* A library sends its request right after it has connected. */
#define REQUEST_MS 2000
/* Bytes of a kernel's name at most. Names of templates may have many kilobytes. */
#define NAME_MAX_BYTES (1u << 20)

int gpumon_gpuprog_server_open(struct gpumon_gpuprog_server *server,
			       const struct gpumon_gpuprog_order *order,
			       const struct gpumon_gpuprog_layout *layout, struct gpumon_error *err)
{
	memset(server, 0, sizeof(*server));
	server->order = order;
	server->layout = layout;
	server->listener.fd = -1;
	gpumon_gpuprog_contexts_init(&server->contexts, order->object, layout);
	return gpumon_listener_open(&server->listener, err);
}

void gpumon_gpuprog_server_close(struct gpumon_gpuprog_server *server)
{
	if (server->listener.fd >= 0)
		gpumon_listener_close(&server->listener);
	gpumon_gpuprog_contexts_clear(&server->contexts);
	gpumon_gpuprog_launches_clear(&server->launchers);
	gpumon_gpuprog_run_clear(&server->run);
	gpumon_pool_clear(&server->pool);
}

void gpumon_gpuprog_server_variable(const struct gpumon_gpuprog_server *server,
				    char variable[GPUMON_GPUPROG_VARIABLE_BYTES])
{
	snprintf(variable, GPUMON_GPUPROG_VARIABLE_BYTES, GPUMON_WIRE_VARIABLE "=%s",
		 server->listener.path);
}

static bool wait_for(int socket, short events)
{
	struct pollfd wait = { .fd = socket, .events = events };

	return poll(&wait, 1, REQUEST_MS) > 0;
}

/* A request and its memfd, or -1. */
static bool receive_request(int socket, struct gpumon_wire_request *request, int *fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec vector = { .iov_base = request, .iov_len = sizeof(*request) };
	/*
	 * Size without the padding, into which a second descriptor would fit: so the kernel closes
	 * further descriptors.
	 */
	struct msghdr header = { .msg_iov = &vector,
				 .msg_iovlen = 1,
				 .msg_control = control.room,
				 .msg_controllen = CMSG_LEN(sizeof(int)) };
	struct cmsghdr *part;
	ssize_t length;

	*fd = -1;
	if (!wait_for(socket, POLLIN))
		return false;
	length = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	part = length < 0 ? NULL : CMSG_FIRSTHDR(&header);
	if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
	    part->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(part), sizeof(*fd));
	request->text[sizeof(request->text) - 1] = '\0';
	return length == (ssize_t)sizeof(*request) && request->version == GPUMON_WIRE_VERSION;
}

/* Return: false: the library does not wait for it any more, or is gone. */
static bool send_answer(int socket, const void *answer, size_t size, int fd)
{
	int ret;

	do
		ret = gpumon_send_descriptor(socket, answer, size, fd);
	while ((ret == -EAGAIN || ret == -EINTR) && wait_for(socket, POLLOUT));
	return !ret;
}

static void add_note(struct gpumon_gpuprog_server *server, const char *text)
{
	for (uint32_t i = 0; i < server->notes_n; i++)
		if (!strcmp(server->notes[i], text))
			return;
	if (!*text)
		return;
	if (server->notes_n < GPUMON_GPUPROG_MAX_NOTES)
		server->notes[server->notes_n++] = gpumon_pool_text(&server->pool, text);
	else
		server->notes_more++;
}

/* Kernels with PTX still get their programs where both ways are open. */
static void note_unable(struct gpumon_gpuprog_server *server)
{
	server->unable |= server->layout->settings.way == GPUMON_WIRE_WAY_SASS;
}

/* Further images leave it alone, but for one that could not be patched. */
static void leave_kernel(struct gpumon_gpuprog_kernel *kernel, enum gpumon_gpuprog_way way,
			 const char *why)
{
	kernel->way = way;
	kernel->why = why;
	memset(kernel->points, 0, sizeof(kernel->points));
	memset(kernel->left, 0, sizeof(kernel->left));
}

static void leave_numbered(struct gpumon_gpuprog_server *server,
			   const struct gpumon_wire_request *request, enum gpumon_gpuprog_way way)
{
	const char *why = gpumon_pool_text(&server->run.pool, request->text);

	if (request->context < server->run.kernels_n)
		leave_kernel(&server->run.kernels[request->context], way, why);
}

/* An edited image did not reach its process: its kernels have no programs. @image: its number; 0: none. */
static void leave_image(struct gpumon_gpuprog_server *server, uint64_t image, const char *why)
{
	for (uint32_t i = 0; image && i < server->run.kernels_n; i++)
		if (server->run.kernels[i].image == image)
			leave_kernel(&server->run.kernels[i], GPUMON_GPUPROG_WAY_NOT_LOADED, why);
}

/**
 * struct edited - an image that was written, or the list of a module's kernels
 * @begin_ns: when that began
 * @text: new image, or list
 * @size: bytes
 * @image: number of the image; 0: it was not looked at
 */
struct edited {
	uint64_t begin_ns;
	char *text;
	size_t size;
	uint64_t image;
};

/* The last image got programs. Returns the module's number. */
static uint32_t add_module(struct gpumon_gpuprog_server *server,
			   const struct gpumon_wire_request *request, const struct edited *edited)
{
	struct gpumon_gpuprog_module module = { .process = request->pid,
						.edit_ns = gpumon_monotonic_ns() - edited->begin_ns,
						.size = request->size };

	if (request->type == GPUMON_WIRE_EXCHANGE)
		module.edited = edited->size;
	for (uint32_t i = 0; i < server->run.kernels_n; i++)
		if (server->run.kernels[i].image == server->run.images && !module.kernels++)
			module.kernel = i;
	return gpumon_gpuprog_modules_add(&server->modules, &module);
}

static void edit_image(struct gpumon_gpuprog_server *server,
		       const struct gpumon_wire_request *request, const void *image,
		       struct edited *edited, struct gpumon_wire_answer *answer)
{
	struct gpumon_gpuprog_order order = *server->order;
	enum gpumon_gpuprog_outcome outcome = GPUMON_GPUPROG_UNTOUCHED;
	FILE *out = gpumon_memstream_open(&edited->text, &edited->size);
	char owner[GPUMON_EXCHANGE_OWNER];
	struct gpumon_error err;

	if (gpumon_exchange_owner(request->text, owner, sizeof(owner)))
		order.owner = owner;
	order.sm = request->sm;
	order.patched = request->flags & GPUMON_WIRE_PATCHED;
	order.no_functions = request->flags & GPUMON_WIRE_NO_FUNCTIONS;
	order.first = request->first;
	order.end = request->end;
	if (gpumon_gpuprog_exchange(&order, image, request->size, &server->run, out, &outcome,
				    &err))
		add_note(server, err.message);
	else if (outcome == GPUMON_GPUPROG_EXCHANGED)
		answer->type = GPUMON_WIRE_IMAGE;
	edited->image = server->run.images;
	gpumon_memstream_close(out);
}

/* -1: no memory. */
static int share_copy(const char *name, const void *data, size_t size)
{
	void *memory;
	int fd = gpumon_gpuprog_shared_make(name, size, &memory);

	if (fd < 0)
		return -1;
	memcpy(memory, data, size);
	munmap(memory, size);
	return fd;
}

/**
 * struct listed - kernels of a module, for a library
 * @out: stream
 * @n: how many
 */
struct listed {
	FILE *out;
	uint32_t n;
};

static void list_kernel(void *argument, uint32_t number, uint32_t programs, const char *name)
{
	struct listed *listed = argument;
	struct gpumon_wire_kernel kernel = { .number = number,
					     .programs = programs,
					     .name_size = (uint32_t)strlen(name) + 1 };

	fwrite(&kernel, sizeof(kernel), 1, listed->out);
	fwrite(name, kernel.name_size, 1, listed->out);
	listed->n++;
}

/* The kernels that got programs in the last image. */
static void send_kernels(const struct gpumon_gpuprog_run *run, int socket)
{
	struct gpumon_wire_answer answer = { .type = GPUMON_WIRE_EDITED };
	char *text;
	size_t size;
	struct listed listed = { .out = gpumon_memstream_open(&text, &size) };
	int fd;

	for (uint32_t i = 0; i < run->kernels_n; i++)
		if (run->kernels[i].image == run->images)
			list_kernel(&listed, i,
				    run->kernels[i].counted.waits ? GPUMON_WIRE_WAITS : 0,
				    run->kernels[i].name);
	gpumon_memstream_close(listed.out);
	/* There may be no kernel that runs. */
	answer.size = size + 1;
	fd = share_copy("gpumon-kernels", text, answer.size);
	send_answer(socket, &answer, sizeof(answer), fd);
	if (fd >= 0)
		close(fd);
	free(text);
}

/* The answer, with the text unless it is UNTOUCHED. Frees the text. */
static void answer_edited(struct gpumon_gpuprog_server *server, int socket,
			  const struct gpumon_wire_request *request,
			  struct gpumon_wire_answer *answer, struct edited *edited)
{
	int fd = -1;

	if (answer->type != GPUMON_WIRE_UNTOUCHED) {
		/* A PTX text ends with a NUL for the loaders, which the stream has put behind it. */
		answer->size = edited->size + 1;
		fd = share_copy("gpumon-edited", edited->text, answer->size);
	}
	if (fd >= 0) {
		answer->module = add_module(server, request, edited);
		answer->image = (uint32_t)edited->image;
	} else {
		answer->type = GPUMON_WIRE_UNTOUCHED;
		leave_image(server, edited->image,
			    "no memory for its module with programs in it, or a limit of files "
			    "that is too low (ulimit -f)");
	}
	if (!send_answer(socket, answer, sizeof(*answer), fd) && fd >= 0)
		add_note(
			server,
			"a process did not wait until programs were in its image (a minute), or has ended: kernels of this image are not counted. Name fewer kernels (--kernel), or start fewer processes at a time");
	else if (answer->type == GPUMON_WIRE_IMAGE)
		send_kernels(&server->run, socket);
	if (fd >= 0)
		close(fd);
	free(edited->text);
}

/* Why there are no functions for an architecture. */
static void note_no_patches(struct gpumon_gpuprog_server *server,
			    const struct gpumon_gpuprog_code *code, uint32_t sm)
{
	char text[256];

	if (code || !server->patches) {
		add_note(server, code && *code->why ? code->why : "no memory for patches");
		return;
	}
	snprintf(text, sizeof(text),
		 "machine code is patched for GPUs of %d architectures at most, and not for sm_%u: "
		 "kernels there are left alone. Run the program on fewer GPUs at a time "
		 "(CUDA_VISIBLE_DEVICES)",
		 GPUMON_GPUPROG_MAX_TARGETS, sm);
	add_note(server, text);
}

static void answer_patches(struct gpumon_gpuprog_server *server, int socket,
			   const struct gpumon_wire_request *request)
{
	struct gpumon_wire_answer answer = { .type = GPUMON_WIRE_REFUSED };
	const struct gpumon_gpuprog_code *code =
		server->patches ? gpumon_gpuprog_patches_make(server->patches, request->sm,
							      server->listener.folder) :
				  NULL;
	int fd = code && code->code ? share_copy("gpumon-patches", code->code, code->made.size) :
				      -1;

	if (fd >= 0) {
		answer.type = GPUMON_WIRE_CODE;
		answer.size = code->made.size;
		answer.count = gpumon_gpuprog_patches_points(code, answer.points);
	} else {
		note_unable(server);
		note_no_patches(server, code, request->sm);
	}
	send_answer(socket, &answer, sizeof(answer), fd);
	if (fd >= 0)
		close(fd);
}

static void list_kernels(struct gpumon_gpuprog_server *server,
			 const struct gpumon_wire_request *request, const void *cubin,
			 struct edited *list, struct gpumon_wire_answer *answer)
{
	struct listed listed = { .out = gpumon_memstream_open(&list->text, &list->size) };
	struct gpumon_gpuprog_order order = *server->order;

	order.patched = request->flags & GPUMON_WIRE_PATCHED;
	gpumon_gpuprog_patched(&order, cubin, request->size, &server->run, list_kernel, &listed);
	list->image = server->run.images;
	gpumon_memstream_close(listed.out);
	if (!listed.n)
		return;
	answer->type = GPUMON_WIRE_KERNELS;
	answer->count = listed.n;
}

/* The new image, or the list of a module's kernels to be patched. */
static void answer_image(struct gpumon_gpuprog_server *server, int socket,
			 const struct gpumon_wire_request *request, int fd)
{
	struct gpumon_wire_answer answer = { .type = GPUMON_WIRE_UNTOUCHED };
	struct edited edited = { .begin_ns = gpumon_monotonic_ns() };
	bool is_module = request->type == GPUMON_WIRE_MODULE;
	bool is_wanted = !is_module || server->patches;
	void *image = is_wanted ? gpumon_gpuprog_shared_read(fd, request->size) : NULL;

	if (image && is_module)
		list_kernels(server, request, image, &edited, &answer);
	else if (image)
		edit_image(server, request, image, &edited, &answer);
	else if (is_wanted)
		add_note(
			server,
			"an image could not be read, for want of memory or of descriptors (ulimit -n): it is left alone, and nothing of its kernels is counted");
	free(image);
	answer_edited(server, socket, request, &answer, &edited);
}

/* The process at the other end, 0 if it is not known. */
static pid_t pid_of(int socket)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);

	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) ? 0 : peer.pid;
}

/* Processes in namespaces of their own may see themselves as the same number. @is_here: the number is ours. */
static uint32_t launcher_of(int socket, const struct gpumon_wire_request *request, bool *is_here)
{
	pid_t pid = pid_of(socket);

	*is_here = pid > 0;
	return *is_here ? (uint32_t)pid : request->pid;
}

static void answer_context(struct gpumon_gpuprog_server *server, int socket,
			   const struct gpumon_wire_request *request)
{
	struct gpumon_wire_answer answer = { .type = GPUMON_WIRE_REFUSED };
	char name[192];
	int fd, number;

	snprintf(name, sizeof(name), "GPU %u (%.100s), process %u", request->context, request->text,
		 request->pid);
	number = gpumon_gpuprog_contexts_add(&server->contexts, name, pid_of(socket), &fd);
	if (number < 0) {
		snprintf(answer.why, sizeof(answer.why), "no memory, or too many contexts");
		add_note(
			server,
			"not all contexts are counted: there were too many, or there was no memory");
		send_answer(socket, &answer, sizeof(answer), -1);
		return;
	}
	answer.type = GPUMON_WIRE_AREA;
	answer.count = (uint32_t)number;
	answer.size = server->layout->settings.bytes;
	send_answer(socket, &answer, sizeof(answer), fd);
	close(fd);
}

/**
 * struct clears - ranges on their way to a library
 * @socket: to it
 * @answer: ranges that are not sent yet
 */
struct clears {
	int socket;
	struct gpumon_wire_answer answer;
};

static void send_clears(struct clears *clears)
{
	if (clears->answer.count)
		send_answer(clears->socket, &clears->answer, sizeof(clears->answer), -1);
	clears->answer.count = 0;
}

static void add_clear(void *argument, uint64_t offset, uint64_t size)
{
	struct clears *clears = argument;

	clears->answer.clears[clears->answer.count++] =
		(struct gpumon_wire_range){ .offset = offset, .size = size };
	if (clears->answer.count == GPUMON_WIRE_CLEARS)
		send_clears(clears);
}

static void answer_copied(struct gpumon_gpuprog_server *server, int socket,
			  const struct gpumon_wire_request *request)
{
	struct clears clears = { .socket = socket, .answer.type = GPUMON_WIRE_CLEAR };

	gpumon_gpuprog_contexts_copied(&server->contexts, request->context,
				       request->flags & GPUMON_WIRE_QUIET, add_clear, &clears);
	send_clears(&clears);
	clears.answer.type = GPUMON_WIRE_DONE;
	send_answer(socket, &clears.answer, sizeof(clears.answer), -1);
}

static void answer_launches(struct gpumon_gpuprog_server *server, int socket,
			    const struct gpumon_wire_request *request)
{
	struct gpumon_wire_answer answer = { .type = GPUMON_WIRE_AREA,
					     .size = sizeof(struct gpumon_wire_launches) };
	bool is_here;
	uint32_t pid = launcher_of(socket, request, &is_here);
	int fd = gpumon_gpuprog_launches_add(&server->launchers, pid, is_here);

	if (fd < 0)
		answer.type = GPUMON_WIRE_REFUSED;
	send_answer(socket, &answer, sizeof(answer), fd);
	if (fd >= 0)
		close(fd);
}

static void name_kernel(struct gpumon_gpuprog_server *server, int socket,
			const struct gpumon_wire_request *request, int fd)
{
	char *name = request->size <= NAME_MAX_BYTES ?
			     gpumon_gpuprog_shared_read(fd, request->size) :
			     NULL;
	bool is_here;

	if (name)
		name[request->size - 1] = '\0';
	gpumon_gpuprog_launches_name(&server->launchers, launcher_of(socket, request, &is_here),
				     request->context, name ? name : request->text);
	free(name);
}

static void answer_shared(struct gpumon_gpuprog_server *server, int socket,
			  const struct gpumon_wire_request *request)
{
	struct gpumon_wire_answer answer = { .type = GPUMON_WIRE_REFUSED };
	int fd = gpumon_gpuprog_cpu_descriptor(server->cpu, request->context);

	if (fd >= 0) {
		answer.type = GPUMON_WIRE_AREA;
		answer.size =
			gpumon_gpuprog_map_bytes(&server->order->object->maps[request->context], 1);
	}
	send_answer(socket, &answer, sizeof(answer), fd);
}

static void answer_request(struct gpumon_gpuprog_server *server, int socket,
			   const struct gpumon_wire_request *request, int fd)
{
	switch (request->type) {
	case GPUMON_WIRE_HELLO:
		server->processes++;
		send_answer(socket, &server->layout->settings, sizeof(server->layout->settings),
			    server->layout->content);
		break;
	case GPUMON_WIRE_EXCHANGE:
	case GPUMON_WIRE_MODULE:
		answer_image(server, socket, request, fd);
		break;
	case GPUMON_WIRE_TOO_LARGE:
		leave_numbered(server, request, GPUMON_GPUPROG_WAY_TOO_LARGE);
		break;
	case GPUMON_WIRE_NOT_LOADED:
		leave_image(server, request->context, "");
		break;
	case GPUMON_WIRE_KERNEL_NOT_LOADED:
		leave_numbered(server, request, GPUMON_GPUPROG_WAY_NOT_LOADED);
		break;
	case GPUMON_WIRE_WITHDRAWN:
		gpumon_gpuprog_run_withdraw(&server->run, request->context);
		break;
	case GPUMON_WIRE_NOT_PATCHED:
		leave_numbered(server, request, GPUMON_GPUPROG_WAY_NOT_PATCHED);
		break;
	case GPUMON_WIRE_LOADED:
		gpumon_gpuprog_modules_loaded(&server->modules, request->context, request->pid,
					      request->flags & GPUMON_WIRE_PATCHED,
					      request->took_ns);
		break;
	case GPUMON_WIRE_CONTEXT:
		answer_context(server, socket, request);
		break;
	case GPUMON_WIRE_COPIED:
		answer_copied(server, socket, request);
		break;
	case GPUMON_WIRE_ENDED:
		gpumon_gpuprog_contexts_ended(&server->contexts, request->context);
		break;
	case GPUMON_WIRE_LAUNCHES:
		answer_launches(server, socket, request);
		break;
	case GPUMON_WIRE_NAME:
		name_kernel(server, socket, request, fd);
		break;
	case GPUMON_WIRE_CLOCK:
		gpumon_gpuprog_contexts_clock(&server->contexts, request->context,
					      request->offset_ns, request->error_ns);
		break;
	case GPUMON_WIRE_TELL:
		if (request->flags & GPUMON_WIRE_UNABLE)
			note_unable(server);
		add_note(server, request->text);
		break;
	case GPUMON_WIRE_PATCHES:
		answer_patches(server, socket, request);
		break;
	case GPUMON_WIRE_SHARED:
		answer_shared(server, socket, request);
		break;
	default:
		break;
	}
}

void gpumon_gpuprog_server_step(struct gpumon_gpuprog_server *server)
{
	struct gpumon_wire_request request;
	int socket, fd;

	for (;;) {
		socket = gpumon_listener_accept(&server->listener);
		if (socket == -EMFILE)
			continue;
		if (socket < 0)
			break;
		if (receive_request(socket, &request, &fd))
			answer_request(server, socket, &request, fd);
		if (fd >= 0)
			close(fd);
		close(socket);
	}
	gpumon_gpuprog_launches_drop_ended(&server->launchers, &server->run,
					   server->contexts.contexts_n);
}
