// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A local server of debug files: only asked if the user configured it. */
#include "common.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/symbol.h"
#include "symbol_build.h"

#define AT	 0x7f0000000000u
#define BUILD_ID "abcdef0123456789abcdef0123456789abcdef01"

struct server {
	pid_t pid;
	unsigned int *asked; /* shared with it */
	char url[64];
};

/* "GET /buildid/ID/debuginfo": send the file of that name from the folder. */
static void answer(int connection, const char *folder)
{
	char request[4096], kind[32] = "", id[128] = "", path[1024];
	char *data = NULL;
	size_t size = 0;
	ssize_t n = read(connection, request, sizeof(request) - 1);
	FILE *file = NULL;

	if (n <= 0)
		return;
	request[n] = '\0';
	if (sscanf(request, "GET /buildid/%127[0-9a-f]/%31[a-z]", id, kind) == 2 &&
	    !strcmp(id, BUILD_ID)) {
		snprintf(path, sizeof(path), "%s/served-%s", folder, kind);
		file = fopen(path, "re");
	}
	if (!file) {
		dprintf(connection,
			"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
		return;
	}
	data = malloc(1 << 20);
	size = fread(data, 1, 1 << 20, file);
	fclose(file);
	dprintf(connection, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
		size);
	if (write(connection, data, size) < 0)
		perror("write");
	free(data);
}

static void start(struct server *server, const char *folder)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(listener, 16), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u", ntohs(address.sin_port));
	server->asked = mmap(NULL, sizeof(*server->asked), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(server->asked, MAP_FAILED);
	server->pid = fork();
	assert_true(server->pid >= 0);
	if (server->pid) {
		close(listener);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int connection = accept(listener, NULL, NULL);

		if (connection < 0)
			_exit(1);
		++*server->asked;
		answer(connection, folder);
		close(connection);
	}
}

static void stop(struct server *server)
{
	kill(server->pid, SIGKILL);
	waitpid(server->pid, NULL, 0);
	munmap(server->asked, sizeof(*server->asked));
}

static void ask(void **state, const char *urls, const char *in_place, const char *expected,
		const char *line, unsigned int *asked)
{
	struct server server;
	struct gpumon_record_mapping mapping;
	struct gpumon_symbols *symbols;
	struct gpumon_symbol found;
	uint64_t bias, hidden;
	char path[256];

	start(&server, *state);
	snprintf(path, sizeof(path), "%s/cache", (char *)*state);
	symbol_run(*state, "rm -rf cache && mkdir cache");
	setenv("DEBUGINFOD_CACHE_PATH", path, 1);
	/* A busy machine may not run the server for seconds. */
	setenv("DEBUGINFOD_TIMEOUT", "300", 1);
	if (urls)
		setenv("DEBUGINFOD_URLS", *urls ? urls : server.url, 1);
	else
		unsetenv("DEBUGINFOD_URLS");
	symbol_run(
		*state,
		"printf 'static __attribute__((noinline)) int hidden(int x)\\n{\\n\\treturn x * x;\\n}\\n"
		"int f(int x) { return hidden(x) + 1; }\\n' >code.c; "
		"gcc -g -O1 -shared -fPIC -nostdlib -Wl,--build-id=0x" BUILD_ID
		" -o full.so code.c; "
		"objcopy --only-keep-debug full.so served-debuginfo; "
		"strip -o served-executable full.so && cp served-executable lib.so");
	hidden = symbol_address(*state, "full.so", "hidden", NULL);
	bias = symbol_mapping(&mapping, *state, "lib.so", AT, 1);
	symbol_run(*state, "%s", in_place);

	symbols = gpumon_symbols_new("", NULL);
	assert_non_null(symbols);
	snprintf(path, sizeof(path), "%s/lib.so", (char *)*state);
	assert_int_equal(gpumon_symbols_map(symbols, &mapping, path), 0);
	assert_int_equal(gpumon_symbols_find(symbols, bias + hidden, 1, &found, 1), 1);
	if (strncmp(found.function, expected, strlen(expected)))
		fail_msg("\"%s\" is not \"%s\"", found.function, expected);
	assert_non_null(strstr(found.file, line));
	gpumon_symbols_free(symbols);
	*asked = *server.asked;
	stop(&server);
}

static void debug_file_from_a_server(void **state)
{
	unsigned int asked;

	ask(state, "", ":", "hidden", "code.c", &asked);
	assert_int_equal(asked, 1);
}

/* A caller can disable servers. */
static void not_wanted(void **state)
{
	unsigned int asked;

	gpumon_symbols_use_debuginfod(false);
	ask(state, "", ":", "lib.so+0x", "", &asked);
	assert_int_equal(asked, 0);
	gpumon_symbols_use_debuginfod(true);
	ask(state, "", ":", "hidden", "code.c", &asked);
	assert_int_equal(asked, 1);
}

/* The file itself is gone, or was replaced. */
static void file_from_a_server(void **state)
{
	unsigned int asked;

	ask(state, "", "rm lib.so", "hidden", "code.c", &asked);
	assert_int_equal(asked, 2);
	ask(state, "", "objcopy -R .note.gnu.build-id lib.so", "hidden", "code.c", &asked);
	assert_int_equal(asked, 2);
}

static void nothing_on_the_server(void **state)
{
	unsigned int asked;

	ask(state, "", "rm served-debuginfo", "lib.so+0x", "", &asked);
	assert_true(asked >= 1);
	ask(state, "", "rm lib.so served-executable", "lib.so+0x", "", &asked);
	assert_true(asked >= 1);
	/* The server returns another file than requested. */
	ask(state, "", "objcopy -R .note.gnu.build-id served-debuginfo", "lib.so+0x", "", &asked);
	ask(state, "", "rm lib.so; head -c 100 /bin/true >served-executable", "lib.so+0x", "",
	    &asked);
}

static void no_server_there(void **state)
{
	unsigned int asked;

	ask(state, "http://127.0.0.1:1", ":", "lib.so+0x", "", &asked);
	assert_int_equal(asked, 0);
	ask(state, "nonsense", "rm lib.so", "lib.so+0x", "", &asked);
	assert_int_equal(asked, 0);
}

static void never_without_a_word(void **state)
{
	unsigned int asked;

	ask(state, NULL, ":", "lib.so+0x", "", &asked);
	assert_int_equal(asked, 0);
	ask(state, NULL, "rm lib.so", "lib.so+0x", "", &asked);
	assert_int_equal(asked, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(debug_file_from_a_server, symbol_setup,
						symbol_teardown),
		cmocka_unit_test_setup_teardown(not_wanted, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(file_from_a_server, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(nothing_on_the_server, symbol_setup,
						symbol_teardown),
		cmocka_unit_test_setup_teardown(no_server_there, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(never_without_a_word, symbol_setup,
						symbol_teardown),
	};
	void *client = dlopen("libdebuginfod.so.1", RTLD_NOW);

	/* elfutils loads its client in the same way, and works without it. */
	if (!client) {
		printf("TAP version 13\n1..1\nok 1 - debuginfod # SKIP no libdebuginfod here\n");
		return 0;
	}
	/* The client must not use a proxy. */
	unsetenv("http_proxy");
	unsetenv("HTTP_PROXY");
	setenv("no_proxy", "127.0.0.1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
