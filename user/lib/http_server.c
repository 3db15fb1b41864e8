// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "http_server.h"
#include "profile.h"

#ifdef GPUMON_HTTP
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "memory.h"
#include "wait.h"

/*
 * Loaded when it is used: with the libraries that it needs for TLS, the start of each other command would take
 * 2.6 times as many instructions.
 */
#define LIBRARY "libmicrohttpd.so.12"
#define FUNCTIONS(f)                                                                              \
	f(add_response_header) f(basic_auth_get_username_password) f(create_response_from_buffer) \
		f(destroy_response) f(free) f(get_connection_info) f(get_daemon_info)             \
			f(get_timeout) f(lookup_connection_value) f(queue_response) f(run)        \
				f(start_daemon) f(stop_daemon)

static struct {
#define MEMBER(name) __typeof__(MHD_##name) *name;
	FUNCTIONS(MEMBER)
#undef MEMBER
} http;

static int load_library(struct gpumon_error *err)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	bool has_all = library;

#define FIND(name)                                                                        \
	http.name = library ? (__typeof__(http.name))dlsym(library, "MHD_" #name) : NULL; \
	has_all &= http.name != NULL;
	FUNCTIONS(FIND)
#undef FIND
	if (has_all)
		return 0;
	return gpumon_error_set(
		err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_UNSUPPORTED,
		"--listen: %s: install libmicrohttpd (Debian: libmicrohttpd12), or write a file (-o) for node_exporter",
		library ? LIBRARY " is another library" : dlerror());
}

/* For the head of a request, and for the answer's. */
#define CONNECTION_BYTES 16384
#define BACKLOG		 128
/* Where systemd leaves the socket. */
#define SYSTEMD_FD 3
/* Longer ones are no passwords: bcrypt reads 72 bytes. */
#define SECRET_MAX 512

/**
 * struct connection - a client
 * @fd: its socket
 * @since_ns: when it came
 * @next: another one
 * @to_this: what points to this one
 */
struct connection {
	int fd;
	uint64_t since_ns;
	struct connection *next;
	struct connection **to_this;
};

/* A text that was made, for those who ask at once. */
struct made {
	struct MHD_Response *response;
	uint64_t until_ns;
};

/**
 * struct gpumon_http_server - a server
 * @daemon: the library's
 * @config: whom it lets in, NULL: everybody
 * @page: what it serves
 * @made: the two forms of the page
 * @connections: clients
 * @right: header of a user who was let in, so that his password is compared once
 * @guesses: passwords that were compared in this second
 * @guesses_ns: when it began
 */
struct gpumon_http_server {
	struct MHD_Daemon *daemon;
	const struct gpumon_web_config *config;
	struct gpumon_http_page page;
	struct made made[2];
	struct connection *connections;
	char right[SECRET_MAX];
	unsigned int guesses;
	uint64_t guesses_ns;
};

/* --- the socket */

static bool is_local(const struct sockaddr *address)
{
	if (address->sa_family == AF_UNIX)
		return true;
	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
	return address->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static int check_reach(const struct sockaddr *address, const struct gpumon_web_config *config,
		       struct gpumon_error *err)
{
	if (is_local(address) || (config && config->certificate && config->n_users))
		return 0;
	return gpumon_error_set(
		err, GPUMON_EXIT_FAILED, -EPERM, GPUMON_ERROR_REFUSED,
		"--listen: beyond this machine the numbers would be readable by everybody on the network: --web-config FILE has to have tls_server_config and basic_auth_users, or listen on 127.0.0.1");
}

/* "ADDRESS", "ADDRESS:PORT", "[ADDRESS]:PORT", in which a name is only "localhost". */
static struct addrinfo *parse_address(const char *text, uint16_t port, struct gpumon_error *err)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM,
	};
	char host[128], service[8];
	const char *end, *behind;
	struct addrinfo *found = NULL;
	int error = EAI_NONAME;

	if (*text == '[') {
		text++;
		end = strchr(text, ']');
		behind = end ? end + 1 : text;
	} else {
		end = strchr(text, ':');
		/* More than one is an address of IPv6. */
		end = end && !strchr(end + 1, ':') ? end : text + strlen(text);
		behind = end;
	}
	snprintf(service, sizeof(service), "%u", port);
	if (end && (!*behind || *behind == ':') && (size_t)(end - text) < sizeof(host)) {
		snprintf(host, sizeof(host), "%.*s", (int)(end - text), text);
		if (!strcmp(host, "localhost"))
			snprintf(host, sizeof(host), "127.0.0.1");
		if (*behind == ':')
			snprintf(service, sizeof(service), "%.7s", behind + 1);
		error = *service ? getaddrinfo(*host ? host : NULL, service, &hints, &found) :
				   error;
	}
	if (!error)
		return found;
	gpumon_error_set(
		err, GPUMON_EXIT_USAGE, 0, GPUMON_ERROR_USAGE,
		"--listen: \"%.100s\" is no address: 127.0.0.1, 127.0.0.1:9839, [::1]:9839", text);
	return NULL;
}

static int take_from_systemd(int *fd, struct sockaddr_storage *address, struct gpumon_error *err)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
	socklen_t length = sizeof(*address);

	if (!pid || !n || strtol(pid, NULL, 10) != getpid() || strcmp(n, "1") != 0 ||
	    getsockname(SYSTEMD_FD, (struct sockaddr *)address, &length))
		return gpumon_error_set(
			err, GPUMON_EXIT_USAGE, 0, GPUMON_ERROR_USAGE,
			"--listen systemd: systemd has passed no socket: start the unit with a .socket of one address");
	*fd = SYSTEMD_FD;
	return 0;
}

int gpumon_http_listen(const char *address, uint16_t port, const struct gpumon_web_config *config,
		       int *fd, struct gpumon_error *err)
{
	struct sockaddr_storage of_systemd;
	struct addrinfo *found;
	const int on = 1;
	int saved;

	*fd = -1;
	if (load_library(err))
		return -1;
	if (!strcmp(address, "systemd")) {
		if (take_from_systemd(fd, &of_systemd, err))
			return -1;
		return check_reach((const struct sockaddr *)&of_systemd, config, err);
	}
	found = parse_address(address, port, err);
	if (!found)
		return -1;
	if (check_reach(found->ai_addr, config, err)) {
		freeaddrinfo(found);
		return -1;
	}
	*fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd >= 0 && !setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
	    !bind(*fd, found->ai_addr, found->ai_addrlen) && !listen(*fd, BACKLOG)) {
		freeaddrinfo(found);
		return 0;
	}
	saved = errno;
	freeaddrinfo(found);
	if (*fd >= 0)
		close(*fd);
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -saved, GPUMON_ERROR_IO,
				"--listen %.100s: %s", address, strerror(saved));
}

/* --- who may read */

/* Whether a password may be compared now: each takes a while, in which nobody else is served. */
static bool may_guess(struct gpumon_http_server *server)
{
	uint64_t now = gpumon_monotonic_ns();

	if (now - server->guesses_ns >= 1000000000ULL) {
		server->guesses_ns = now;
		server->guesses = 0;
	}
	return server->guesses++ < GPUMON_HTTP_GUESSES;
}

/* Takes the same time whichever byte differs. */
static bool same_secret(const char *a, const char *b)
{
	size_t length = strlen(a);
	unsigned char differs = 0;

	if (!length || strlen(b) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		differs |= (unsigned char)(a[i] ^ b[i]);
	return !differs;
}

/* HTTP's status: 200, 401, or 429 where too many passwords were tried. */
static unsigned int status_of(struct gpumon_http_server *server, struct MHD_Connection *connection)
{
	const char *header = http.lookup_connection_value(connection, MHD_HEADER_KIND,
							  MHD_HTTP_HEADER_AUTHORIZATION);
	char *password = NULL, *name;
	unsigned int status = MHD_HTTP_UNAUTHORIZED;

	if (!server->config || !server->config->n_users)
		return MHD_HTTP_OK;
	if (!header || strlen(header) >= SECRET_MAX)
		return status;
	if (same_secret(server->right, header))
		return MHD_HTTP_OK;
	name = http.basic_auth_get_username_password(connection, &password);
	if (name && password && !may_guess(server)) {
		status = MHD_HTTP_TOO_MANY_REQUESTS;
	} else if (name && password && gpumon_web_config_allows(server->config, name, password)) {
		status = MHD_HTTP_OK;
		snprintf(server->right, sizeof(server->right), "%s", header);
	}
	http.free(name);
	http.free(password);
	return status;
}

/* --- answers */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status,
			      const char *text)
{
	struct MHD_Response *response = http.create_response_from_buffer(strlen(text), (void *)text,
									 MHD_RESPMEM_PERSISTENT);
	enum MHD_Result ret;

	if (!response)
		return MHD_NO;
	http.add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	http.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				 "text/html; charset=utf-8");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		http.add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (status == MHD_HTTP_UNAUTHORIZED)
		http.add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
					 "Basic realm=\"gpumon\"");
	ret = http.queue_response(connection, status, response);
	http.destroy_response(response);
	return ret;
}

static void forget(struct made *made)
{
	if (made->response)
		http.destroy_response(made->response);
	made->response = NULL;
}

/* The page as it is now. NULL: there is none. */
static struct MHD_Response *page_of(struct gpumon_http_server *server, bool openmetrics)
{
	struct made *made = &server->made[openmetrics];
	char *text = NULL;
	size_t size = 0;

	if (made->response && gpumon_monotonic_ns() < made->until_ns)
		return made->response;
	forget(made);
	if (server->page.text(server->page.data, openmetrics, &text, &size))
		return NULL;
	made->response = http.create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
	if (!made->response) {
		free(text);
		return NULL;
	}
	http.add_response_header(made->response, MHD_HTTP_HEADER_CONNECTION, "close");
	http.add_response_header(made->response, MHD_HTTP_HEADER_CONTENT_TYPE,
				 server->page.types[openmetrics]);
	made->until_ns = gpumon_monotonic_ns() + GPUMON_HTTP_GOOD_NS;
	return made->response;
}

/* The weight of a type in one part of the header: 0 if it is another type. */
static double weight_of(const char *part, size_t length, const char *type)
{
	char text[256], *weight, *version;

	if (length >= sizeof(text) || length < strlen(type) ||
	    strncasecmp(part, type, strlen(type)) != 0)
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)length, part);
	if (text[strlen(type)] && !strchr("; \t", text[strlen(type)]))
		return 0;
	version = strcasestr(text, "version=");
	if (version && !strcmp(type, "application/openmetrics-text") &&
	    strncmp(version + 8, "1.0.0", 5) != 0 && strncmp(version + 8, "0.0.1", 5) != 0)
		return 0;
	weight = strcasestr(text, "q=");
	return weight ? strtod(weight + 2, NULL) : 1;
}

bool gpumon_http_accepts_openmetrics(const char *accept)
{
	static const char *const others[] = { "text/plain", "text/*", "*/*" };
	double of_openmetrics = 0, of_text = 0;

	while (accept && *accept) {
		size_t length = strcspn(accept, ",");
		double weight;

		weight = weight_of(accept, length, "application/openmetrics-text");
		of_openmetrics = weight > of_openmetrics ? weight : of_openmetrics;
		for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
			weight = weight_of(accept, length, others[i]);
			of_text = weight > of_text ? weight : of_text;
		}
		accept += length;
		accept += strspn(accept, ", \t");
	}
	return of_openmetrics > 0 && of_openmetrics >= of_text;
}

static enum MHD_Result handle(void *data, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **request)
{
	struct gpumon_http_server *server = data;
	struct MHD_Response *page;
	const char *accept;
	unsigned int status;

	(void)version;
	(void)upload;
	(void)upload_size;
	(void)request;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and HEAD.\n");
	status = status_of(server, connection);
	if (status == MHD_HTTP_TOO_MANY_REQUESTS)
		return answer(connection, status,
			      "Too many passwords were tried. Try again in a second.\n");
	if (status != MHD_HTTP_OK)
		return answer(connection, status,
			      "A user of basic_auth_users, and the password.\n");
	if (!strcmp(url, "/"))
		return answer(
			connection, MHD_HTTP_OK,
			"<!DOCTYPE html><title>gpumon</title><p>gpumon: <a href=\"metrics\">metrics</a>\n");
	if (strcmp(url, "/metrics") != 0)
		return answer(connection, MHD_HTTP_NOT_FOUND, "The numbers are at /metrics.\n");
	accept = http.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	page = page_of(server, gpumon_http_accepts_openmetrics(accept));
	if (!page)
		return answer(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
			      "The numbers could not be written.\n");
	return http.queue_response(connection, MHD_HTTP_OK, page);
}

/* --- connections */

static void notice(void *data, struct MHD_Connection *connection, void **context,
		   enum MHD_ConnectionNotificationCode code)
{
	struct gpumon_http_server *server = data;
	struct connection *client = *context;
	const union MHD_ConnectionInfo *info;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		info = http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		client = gpumon_calloc(1, sizeof(*client));
		client->fd = info ? info->connect_fd : -1;
		client->since_ns = gpumon_monotonic_ns();
		client->next = server->connections;
		client->to_this = &server->connections;
		if (client->next)
			client->next->to_this = &client->next;
		server->connections = client;
		*context = client;
	} else if (client) {
		*client->to_this = client->next;
		if (client->next)
			client->next->to_this = client->to_this;
		free(client);
		*context = NULL;
	}
}

/* A client that sends a byte now and then would stay for ever. */
static void end_late(struct gpumon_http_server *server)
{
	uint64_t now = gpumon_monotonic_ns();

	for (struct connection *client = server->connections; client; client = client->next) {
		if (client->fd < 0 || now - client->since_ns < GPUMON_HTTP_SECONDS * 1000000000ULL)
			continue;
		(void)shutdown(client->fd, SHUT_RDWR);
		client->fd = -1;
	}
}

/* What clients do wrong is not told. */
static void say_nothing(void *data, const char *format, va_list arguments)
{
	(void)data;
	(void)format;
	(void)arguments;
}

int gpumon_http_server_start(struct gpumon_http_server **server, int fd,
			     const struct gpumon_web_config *config,
			     const struct gpumon_http_page *page, struct gpumon_error *err)
{
	struct gpumon_http_server *new = gpumon_calloc(1, sizeof(*new));
	bool tls = config && config->certificate;
	struct MHD_OptionItem more[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, tls ? config->certificate : NULL },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, tls ? config->key : NULL },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0,
		  tls && config->tls_13 ? (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3" :
					  (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" },
		{ MHD_OPTION_END, 0, NULL },
	};

	*server = NULL;
	/* A client that has gone must not end the server, whichever library writes to it. */
	(void)signal(SIGPIPE, SIG_IGN);
	new->config = config;
	new->page = *page;
	if (!tls)
		more[0].option = MHD_OPTION_END;
	new->daemon = http.start_daemon(
		MHD_USE_EPOLL | MHD_USE_ERROR_LOG | (tls ? MHD_USE_TLS : 0), 0, NULL, NULL, handle,
		new, MHD_OPTION_EXTERNAL_LOGGER, say_nothing, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)GPUMON_HTTP_CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)GPUMON_HTTP_SECONDS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_NOTIFY_CONNECTION, notice, new, MHD_OPTION_ARRAY, more, MHD_OPTION_END);
	if (!new->daemon) {
		free(new);
		close(fd);
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_IO, "%s",
			tls ? "--web-config: the certificate and its key are not accepted, or libmicrohttpd is built without TLS" :
			      "--listen: libmicrohttpd did not start");
	}
	*server = new;
	return 0;
}

void gpumon_http_server_stop(struct gpumon_http_server *server)
{
	if (!server)
		return;
	for (unsigned int i = 0; i < 2; i++)
		forget(&server->made[i]);
	http.stop_daemon(server->daemon);
	explicit_bzero(server->right, sizeof(server->right));
	free(server);
}

void gpumon_http_server_run(struct gpumon_http_server *server, uint64_t until_ns)
{
	const union MHD_DaemonInfo *info =
		http.get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fd = { .fd = info ? info->epoll_fd : -1, .events = POLLIN };

	while (!gpumon_signals_caught()) {
		uint64_t now = gpumon_monotonic_ns();
		uint64_t left = until_ns > now ? (until_ns - now + 999999) / 1000000 : 0;
		unsigned long long wanted;

		if (!left)
			return;
		if (http.get_timeout(server->daemon, &wanted) == MHD_YES && wanted < left)
			left = wanted;
		(void)poll(&fd, 1, left < 1000 ? (int)left : 1000);
		http.run(server->daemon);
		end_late(server);
	}
}

void gpumon_http_server_name(const struct gpumon_http_server *server, char *text, size_t room)
{
	const union MHD_DaemonInfo *info =
		http.get_daemon_info(server->daemon, MHD_DAEMON_INFO_LISTEN_FD);
	char host[128] = "?", service[16] = "?";
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);

	if (info && !getsockname(info->listen_fd, (struct sockaddr *)&address, &length))
		(void)getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), service,
				  sizeof(service), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(text, room, "http%s://%s%s%s:%s/metrics",
		 server->config && server->config->certificate ? "s" : "",
		 strchr(host, ':') ? "[" : "", host, strchr(host, ':') ? "]" : "", service);
}

#else

static int not_built(struct gpumon_error *err)
{
	return gpumon_error_set(
		err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_NOT_BUILT,
		"--listen is not in this gpumon-user: " GPUMON_BECAUSE(
			"it was built without libmicrohttpd; build it with libmicrohttpd-dev") ", or write a file (-o) for node_exporter");
}

int gpumon_http_listen(const char *address, uint16_t port, const struct gpumon_web_config *config,
		       int *fd, struct gpumon_error *err)
{
	(void)address;
	(void)port;
	(void)config;
	*fd = -1;
	return not_built(err);
}

int gpumon_http_server_start(struct gpumon_http_server **server, int fd,
			     const struct gpumon_web_config *config,
			     const struct gpumon_http_page *page, struct gpumon_error *err)
{
	(void)fd;
	(void)config;
	(void)page;
	*server = NULL;
	return not_built(err);
}

void gpumon_http_server_stop(struct gpumon_http_server *server)
{
	(void)server;
}

void gpumon_http_server_run(struct gpumon_http_server *server, uint64_t until_ns)
{
	(void)server;
	(void)until_ns;
}

void gpumon_http_server_name(const struct gpumon_http_server *server, char *text, size_t room)
{
	(void)server;
	if (room)
		*text = '\0';
}

bool gpumon_http_accepts_openmetrics(const char *accept)
{
	(void)accept;
	return false;
}
#endif
