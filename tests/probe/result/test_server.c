// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Requests of a process that is not trusted. */
#include "common.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpuprog/server/session.h"

static const struct gpumon_gpuprog_object object;
static const struct gpumon_gpuprog_order order = { .object = &object };
static struct gpumon_gpuprog_server server;

static int count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(folder);
	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

static struct gpumon_wire_request request;

/* So many bytes of the request with so many descriptors. */
static void send_request(size_t size, int descriptors)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	union {
		char room[CMSG_SPACE(sizeof(int) * 2)];
		struct cmsghdr align;
	} control = { .align = { .cmsg_level = SOL_SOCKET,
				 .cmsg_type = SCM_RIGHTS,
				 .cmsg_len = CMSG_LEN(sizeof(int) * (size_t)descriptors) } };
	struct iovec vector = { .iov_base = &request, .iov_len = size };
	const struct msghdr header = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = descriptors ? CMSG_SPACE(sizeof(int) * (size_t)descriptors) : 0,
	};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	request.version = GPUMON_WIRE_VERSION;
	memcpy(address.sun_path, server.listener.path, sizeof(address.sun_path));
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	for (int i = 0; i < descriptors; i++)
		memcpy(CMSG_DATA(&control.align) + (size_t)i * sizeof(int), &(int){ STDIN_FILENO },
		       sizeof(int));
	assert_int_equal(sendmsg(fd, &header, 0), size);
	close(fd);
}

/* The server takes it, too. */
static void request_is_taken(size_t size, int descriptors)
{
	send_request(size, descriptors);
	gpumon_gpuprog_server_step(&server);
}

static int open_server(void **state)
{
	static struct gpumon_gpuprog_layout layout;
	struct gpumon_error err;

	*state = &layout;
	request = (struct gpumon_wire_request){ .type = GPUMON_WIRE_EXCHANGE };
	return gpumon_gpuprog_layout_make(&object, 1, 0, 0, &layout, &err) ||
	       gpumon_gpuprog_server_open(&server, &order, &layout, &err);
}

static int close_server(void **state)
{
	gpumon_gpuprog_server_close(&server);
	gpumon_gpuprog_layout_clear(*state);
	return 0;
}

static void descriptors_are_closed(void **state)
{
	int before = count_descriptors();

	(void)state;
	request_is_taken(sizeof(request), 1);
	assert_int_equal(count_descriptors(), before);
	/* Too short, and with one too many. */
	request_is_taken(8, 1);
	assert_int_equal(count_descriptors(), before);
	request_is_taken(sizeof(request), 2);
	assert_int_equal(count_descriptors(), before);
}

static void count_sentence(void *argument, const char *text)
{
	*(uint32_t *)argument += 1;
	assert_true(text[1] == 'x' || !strcmp(text, "and 84 other notes"));
}

/* Of many processes that all have something else to tell. */
static void notes_take_little_memory(void **state)
{
	static struct gpumon_gpuprog_service service;
	uint32_t sentences = 0;
	size_t before = 0;

	(void)state;
	request.type = GPUMON_WIRE_TELL;
	memset(request.text, 'x', sizeof(request.text) - 1);
	for (int i = 0; i < 100; i++) {
		request.text[0] = (char)(' ' + i);
		request_is_taken(sizeof(request), 0);
		if (i == GPUMON_GPUPROG_MAX_NOTES)
			before = server.pool.blocks_used;
	}
	assert_int_equal(server.notes_n, GPUMON_GPUPROG_MAX_NOTES);
	assert_int_equal(server.pool.blocks_used, before);
	/* One that is kept is no other one. */
	request.text[0] = ' ';
	request_is_taken(sizeof(request), 0);
	service.server = server;
	gpumon_gpuprog_service_notes(&service, count_sentence, &sentences);
	assert_int_equal(sentences, GPUMON_GPUPROG_MAX_NOTES + 1);
}

/* What a process has to tell cannot steer the terminal. */
static void notes_are_plain(void **state)
{
	static struct gpumon_gpuprog_service service;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	request.type = GPUMON_WIRE_TELL;
	strcpy(request.text, "a\033]0;b\xc2\x9b c\xff d");
	request_is_taken(sizeof(request), 0);
	service.server = server;
	gpumon_gpuprog_service_notes(&service, gpumon_gpuprog_show_line, out);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "gpumon-user: a?]0;b? c? d\n");
	free(text);
}

static void send_name(const char *name)
{
	request.type = GPUMON_WIRE_NAME;
	request.context = 1;
	snprintf(request.text, sizeof(request.text), "%s", name);
	send_request(sizeof(request), 0);
}

/* In namespaces of their own, two processes may have the same number. */
static void processes_have_kernels_of_their_own(void **state)
{
	const struct gpumon_gpuprog_process *processes = server.launchers.processes;
	pid_t child;

	(void)state;
	request.pid = 7;
	request.type = GPUMON_WIRE_LAUNCHES;
	request_is_taken(sizeof(request), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		send_request(sizeof(request), 0);
		send_name("of the child");
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	send_name("of the parent");
	gpumon_gpuprog_server_step(&server);
	assert_int_equal(server.launchers.processes_n, 2);
	assert_int_equal(processes[0].names_n, 2);
	assert_int_equal(processes[1].names_n, 2);
	assert_string_equal(processes[0].names[1], "of the parent");
	assert_string_equal(processes[1].names[1], "of the child");
}

/* Why the launches of all are not known. */
static void launches_are_missing(void **state)
{
	struct gpumon_wire_launches *launches;
	const char *why = NULL;
	uint64_t n;

	(void)state;
	request.type = GPUMON_WIRE_LAUNCHES;
	request_is_taken(sizeof(request), 0);
	launches = server.launchers.processes[0].launches;
	launches->unknown = 1;
	assert_null(gpumon_gpuprog_launches_list(&server.launchers, &server.run, 0, &n, &why));
	assert_string_equal(why, "kernels of some are not known, such as those of graphs");
	launches->unknown = 0;
	launches->count = GPUMON_WIRE_LAUNCHES_MAX + 1;
	assert_null(gpumon_gpuprog_launches_list(&server.launchers, &server.run, 0, &n, &why));
	assert_string_equal(why, "a process had more than there is room for");
}

/* A name of any length: with its first bytes alone it would be no kernel that is known. */
static void names_are_whole(void **state)
{
	char *name = malloc(100000);
	int fd = memfd_create("name", MFD_CLOEXEC);

	(void)state;
	assert_non_null(name);
	memset(name, 'n', 100000);
	request.type = GPUMON_WIRE_LAUNCHES;
	request_is_taken(sizeof(request), 0);
	/* Its end is not trusted. */
	assert_int_equal(write(fd, name, 100000), 100000);
	assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	request.type = GPUMON_WIRE_NAME;
	request.context = 1;
	request.size = 100000;
	request_is_taken(sizeof(request), 1);
	name[99999] = '\0';
	assert_int_equal(server.launchers.processes[0].names_n, 2);
	assert_string_equal(server.launchers.processes[0].names[1], name);
	/* One that says too much. */
	request.context = 2;
	request.size = 1ull << 40;
	request_is_taken(sizeof(request), 1);
	assert_string_equal(server.launchers.processes[0].names[2], "");
	close(fd);
	free(name);
}

/* Of more processes at a time than launches are kept of: how many these are. */
static void launchers_are_limited(void **state)
{
	(void)state;
	request.type = GPUMON_WIRE_LAUNCHES;
	for (int i = 0; i < GPUMON_GPUPROG_MAX_PROCESSES + 3; i++)
		request_is_taken(sizeof(request), 0);
	assert_int_equal(server.launchers.processes_n, GPUMON_GPUPROG_MAX_PROCESSES);
	assert_int_equal(server.launchers.left_out, 3);
}

/* One after the other: each gives its place back, and its launches stay, with the name that came last. */
static void launches_of_ended_processes_are_kept(void **state)
{
	struct gpumon_gpuprog_launch *launches;
	const char *why;
	uint64_t n;

	(void)state;
	server.contexts.contexts_n = 1;
	assert_int_equal(gpumon_gpuprog_run_kernel(&server.run, "first", 5), 0);
	request.type = GPUMON_WIRE_LAUNCHES;
	for (uint64_t i = 0; i <= GPUMON_GPUPROG_MAX_PROCESSES; i++) {
		struct gpumon_wire_launches *written;
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child) {
			send_request(sizeof(request), 0);
			send_name("first");
			_exit(0);
		}
		assert_int_equal(waitpid(child, NULL, 0), child);
		gpumon_gpuprog_server_step(&server);
		assert_int_equal(server.launchers.processes_n, 1);
		written = server.launchers.processes[0].launches;
		written->count = 1;
		written->launches[0] = (struct gpumon_wire_launch){ .ns = i, .kernel = 1 };
		gpumon_gpuprog_server_step(&server);
		assert_int_equal(server.launchers.processes_n, 0);
	}
	launches = gpumon_gpuprog_launches_list(&server.launchers, &server.run, 1, &n, &why);
	assert_int_equal(n, GPUMON_GPUPROG_MAX_PROCESSES + 1);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(launches[i].ns, i);
	assert_int_equal(server.launchers.left_out, 0);
	free(launches);
	server.contexts.contexts_n = 0;
}

/* After a minute a process takes its own image: the table of kernels alone would say that it has programs. */
static void images_that_come_too_late_are_told(void **state)
{
	static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
				   ".visible .entry first()\n{\n\tret;\n}\n";
	static const struct gpumon_gpuprog_rules rules;
	struct gpumon_gpuprog_check check;
	struct gpumon_error err;
	int fd = memfd_create("image", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(gpumon_gpuprog_check("threadhist", &rules, &check, &err), 0);
	server.order = &(struct gpumon_gpuprog_order){
		.object = &check.object, .facts = check.facts, .shards = 1, .fuel = 1
	};
	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	request.size = sizeof(text);
	/* It is not there any more when it is answered. */
	request_is_taken(sizeof(request), 1);
	assert_int_equal(server.run.kernels_n, 1);
	assert_int_equal(server.notes_n, 1);
	assert_non_null(strstr(server.notes[0], "kernels of this image are not counted"));
	gpumon_gpuprog_check_clear(&check);
	close(fd);
}

/* Without memory, or with less in it than the request says. */
static void images_that_cannot_be_read_are_told(void **state)
{
	(void)state;
	request.size = 100;
	request_is_taken(sizeof(request), 0);
	assert_int_equal(server.notes_n, 1);
	assert_non_null(strstr(server.notes[0], "nothing of its kernels is counted"));
}

/* GPUs of more architectures than functions are kept for: no other memory would help. */
static void architectures_are_limited(void **state)
{
	static struct gpumon_gpuprog_patches patches = { .codes_n = GPUMON_GPUPROG_MAX_TARGETS };

	(void)state;
	server.patches = &patches;
	request.type = GPUMON_WIRE_PATCHES;
	request.sm = 90;
	request_is_taken(sizeof(request), 0);
	assert_int_equal(server.notes_n, 1);
	assert_string_equal(
		server.notes[0],
		"machine code is patched for GPUs of 8 architectures at most, and not for sm_90: "
		"kernels there are left alone. Run the program on fewer GPUs at a time (CUDA_VISIBLE_DEVICES)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(descriptors_are_closed, open_server, close_server),
		cmocka_unit_test_setup_teardown(notes_take_little_memory, open_server,
						close_server),
		cmocka_unit_test_setup_teardown(notes_are_plain, open_server, close_server),
		cmocka_unit_test_setup_teardown(launches_are_missing, open_server, close_server),
		cmocka_unit_test_setup_teardown(processes_have_kernels_of_their_own, open_server,
						close_server),
		cmocka_unit_test_setup_teardown(names_are_whole, open_server, close_server),
		cmocka_unit_test_setup_teardown(launchers_are_limited, open_server, close_server),
		cmocka_unit_test_setup_teardown(launches_of_ended_processes_are_kept, open_server,
						close_server),
		cmocka_unit_test_setup_teardown(images_that_come_too_late_are_told, open_server,
						close_server),
		cmocka_unit_test_setup_teardown(images_that_cannot_be_read_are_told, open_server,
						close_server),
		cmocka_unit_test_setup_teardown(architectures_are_limited, open_server,
						close_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
