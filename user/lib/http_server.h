/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Serves one page, by libmicrohttpd. Without the library each function that can fails says so. One
 * thread serves all clients: their number, the size of a request and the time of a connection are
 * bounded, so that slow and hostile ones cost others nothing but a wait.
 */
#ifndef GPUMON_LIB_HTTP_SERVER_H
#define GPUMON_LIB_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "web_config.h"

struct gpumon_http_server;

/* Is it in this program? Where it is not, gpumon_http_listen() says so. */
#ifdef GPUMON_HTTP
#define GPUMON_HAS_HTTP 1
#else
#define GPUMON_HAS_HTTP 0
#endif

/**
 * struct gpumon_http_page - the page, at /metrics
 * @text: makes it: its text is allocated and becomes the server's. @openmetrics: in which of two forms. 0, or
 *	-1: there is none
 * @types: content types of the forms
 * @data: for @text
 */
struct gpumon_http_page {
	int (*text)(void *data, bool openmetrics, char **text, size_t *size);
	const char *types[2];
	void *data;
};

/* How long a text is good: those who ask in that time get the same one. */
#define GPUMON_HTTP_GOOD_NS 500000000ULL
/* How long a connection may last, and how many there may be. */
#define GPUMON_HTTP_SECONDS	10
#define GPUMON_HTTP_CONNECTIONS 64
/* Passwords that are compared in a second, but for those that were right before. */
#define GPUMON_HTTP_GUESSES 4

/**
 * gpumon_http_listen() - open the socket
 * @address: "127.0.0.1", "127.0.0.1:9839", "[::1]:9839", "localhost"; or "systemd": a socket that
 *	systemd has opened
 * @port: if @address has none
 * @config: what the web configuration file asks for; NULL without one
 * @fd: out
 * @err: out
 *
 * Beyond this machine there has to be TLS, and a password.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_http_listen(const char *address, uint16_t port, const struct gpumon_web_config *config,
		       int *fd, struct gpumon_error *err);

/**
 * gpumon_http_server_start() - serve a page
 * @server: out, NULL on failure
 * @fd: listening socket, which becomes the server's
 * @config: as above; has to live as long
 * @page: page
 * @err: out
 */
int gpumon_http_server_start(struct gpumon_http_server **server, int fd,
			     const struct gpumon_web_config *config,
			     const struct gpumon_http_page *page, struct gpumon_error *err);
void gpumon_http_server_stop(struct gpumon_http_server *server);

/* Serve until that time on CLOCK_MONOTONIC, or until a signal asked to stop. */
void gpumon_http_server_run(struct gpumon_http_server *server, uint64_t until_ns);

/* "http://127.0.0.1:9839/metrics", as far as the socket says. */
void gpumon_http_server_name(const struct gpumon_http_server *server, char *text, size_t room);

/* Which of the two forms a client asks for, by its header "Accept". NULL: it has none. */
bool gpumon_http_accepts_openmetrics(const char *accept);

#endif /* GPUMON_LIB_HTTP_SERVER_H */
