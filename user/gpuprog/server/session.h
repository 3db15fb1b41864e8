/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Programs that are put into the kernels of a program: what has to be there before it is started,
 * running it, and what has been gathered when it has ended.
 */
#ifndef GPUMON_GPUPROG_SERVER_SESSION_H
#define GPUMON_GPUPROG_SERVER_SESSION_H

#include "lib/options.h"
#include "capture/findings.h"
#include "options.h"
#include "server.h"

/*
 * Tables, or JSON with --json. Frees @findings; NULL: there was no memory for it. 0, or -1 with @err.
 */
int gpumon_gpuprog_show_findings(struct gpumon_context *context, struct gpumon_findings *findings,
				 struct gpumon_error *err);

/* A line on @stream, a FILE. Control characters of a program's text do not reach the terminal. */
void gpumon_gpuprog_show_line(void *stream, const char *text);

/**
 * struct gpumon_gpuprog_service - programs, and the server of the processes that run them
 * @options: see there
 * @program: name of the program that is started
 * @order: what is put into which kernels
 * @layout: memory of a context
 * @patches: machine code is patched; NULL: images are exchanged only
 * @no_patches: why it is not, where kernels were named; else ""
 * @cpu: programs for the CPU, NULL: there are none
 * @server: answers
 */
struct gpumon_gpuprog_service {
	const struct gpumon_gpuprog_options *options;
	const char *program;
	struct gpumon_gpuprog_order order;
	struct gpumon_gpuprog_layout layout;
	struct gpumon_gpuprog_patches *patches;
	char no_patches[sizeof(((struct gpumon_error *)0)->message)];
	struct gpumon_gpuprog_cpu *cpu;
	struct gpumon_gpuprog_server server;
};

/**
 * gpumon_gpuprog_service_open - get everything ready, and listen
 * @check: verified programs; outlives the service
 * @options: see there; outlive it
 * @program: name of the program, for messages; outlives it
 * @service: out, to be closed; NULL if it fails
 * @err: no memory; patches are not possible here; what cpu.h says
 *
 * Programs for the CPU are attached from then on.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_service_open(const struct gpumon_gpuprog_check *check,
				const struct gpumon_gpuprog_options *options, const char *program,
				struct gpumon_gpuprog_service **service, struct gpumon_error *err);
/* NULL is ignored. */
void gpumon_gpuprog_service_close(struct gpumon_gpuprog_service *service);

/* Processes have ended: what was gathered, to be freed; NULL without memory. */
struct gpumon_findings *gpumon_gpuprog_service_findings(struct gpumon_gpuprog_service *service);

/*
 * Call @say with each sentence about what is missing in that, and why: first that of the maps, then what
 * the libraries in the processes had to tell.
 */
void gpumon_gpuprog_service_missing(const struct gpumon_gpuprog_service *service,
				    void (*say)(void *argument, const char *text), void *argument);
void gpumon_gpuprog_service_notes(const struct gpumon_gpuprog_service *service,
				  void (*say)(void *argument, const char *text), void *argument);

/**
 * gpumon_gpuprog_session_run - run a program and show the result
 * @context: where to print
 * @check: verified programs; those that were refused are left out
 * @options: see there
 * @argv: the program, ends with NULL
 *
 * Return: the program's exit status; 77: nothing could be put into a kernel.
 */
int gpumon_gpuprog_session_run(struct gpumon_context *context,
			       const struct gpumon_gpuprog_check *check,
			       const struct gpumon_gpuprog_options *options, char *const *argv);

#endif /* GPUMON_GPUPROG_SERVER_SESSION_H */
