/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Answers the libraries in processes with GPU programs: user/abi/wire.h. */
#ifndef GPUMON_GPUPROG_SERVER_SERVER_H
#define GPUMON_GPUPROG_SERVER_SERVER_H

#include "memory.h"
#include "launches.h"
#include "patches.h"
#include "lib/listener.h"
#include "gpuprog/image/exchange.h"
#include "gpuprog/result/coverage.h"

#define GPUMON_GPUPROG_MAX_NOTES 16

/**
 * struct gpumon_gpuprog_server - the other side of the libraries
 * @order: what is put into which kernels
 * @layout: memory of a context
 * @patches: machine code is patched; NULL: images are exchanged only
 * @cpu: programs for the CPU, NULL: none
 * @unable: nothing can be put into kernels of a process, or of a GPU
 * @listener: socket
 * @run: kernels and lines
 * @modules: that got programs
 * @contexts: contexts
 * @launchers: processes, for their launches
 * @pool: owns @notes
 * @notes: what libraries have to tell the user, each once
 * @notes_n: how many
 * @notes_more: that were not kept
 * @processes: that said hello
 */
struct gpumon_gpuprog_server {
	const struct gpumon_gpuprog_order *order;
	const struct gpumon_gpuprog_layout *layout;
	struct gpumon_gpuprog_patches *patches;
	const struct gpumon_gpuprog_cpu *cpu;
	bool unable;
	struct gpumon_listener listener;
	struct gpumon_gpuprog_run run;
	struct gpumon_gpuprog_modules modules;
	struct gpumon_gpuprog_contexts contexts;
	struct gpumon_gpuprog_processes launchers;
	struct gpumon_pool pool;
	const char *notes[GPUMON_GPUPROG_MAX_NOTES];
	uint32_t notes_n;
	uint32_t notes_more;
	uint64_t processes;
};

/**
 * gpumon_gpuprog_server_open - listen
 * @server: out, to be closed in both cases
 * @order: outlives it
 * @layout: outlives it
 * @err: why not
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_server_open(struct gpumon_gpuprog_server *server,
			       const struct gpumon_gpuprog_order *order,
			       const struct gpumon_gpuprog_layout *layout,
			       struct gpumon_error *err);

/* "NAME=value" for the environment of a program: its library then asks the server. */
#define GPUMON_GPUPROG_VARIABLE_BYTES 256
void gpumon_gpuprog_server_variable(const struct gpumon_gpuprog_server *server,
				    char variable[GPUMON_GPUPROG_VARIABLE_BYTES]);

/* Answer all that wait at @listener. Takes as long as editing an image does. */
void gpumon_gpuprog_server_step(struct gpumon_gpuprog_server *server);

void gpumon_gpuprog_server_close(struct gpumon_gpuprog_server *server);

#endif /* GPUMON_GPUPROG_SERVER_SERVER_H */
