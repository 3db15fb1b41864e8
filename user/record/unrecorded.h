/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Processes of the recorded program that have the library of an API and cannot be recorded, so that nothing
 * is known of what they do with it: their environment has not what makes the API load the injection library,
 * they have more rights than their user, or the library is there and has never connected.
 */
#ifndef GPUMON_RECORD_UNRECORDED_H
#define GPUMON_RECORD_UNRECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/map.h"
#include "recorder.h"

/* So many processes are named, others are counted. */
#define GPUMON_UNRECORDED_MAX 16

enum gpumon_unrecorded_reason {
	GPUMON_UNRECORDED_NONE,
	GPUMON_UNRECORDED_VARIABLE,   /* one of gpumon's is not in its environment */
	GPUMON_UNRECORDED_PRIVILEGED, /* the loader and the API do not look at its environment */
	GPUMON_UNRECORDED_32_BITS,    /* the library is one of 64 bits */
	GPUMON_UNRECORDED_SILENT,     /* the library is in it and does not connect */
};

/**
 * struct gpumon_unrecorded_process - one of them
 * @pid: number
 * @reason: enum gpumon_unrecorded_reason
 * @api: "CUDA"
 * @library: file name of its library
 * @missing: name of the variable, of GPUMON_UNRECORDED_VARIABLE
 * @name: of the process, as the kernel has it
 */
struct gpumon_unrecorded_process {
	pid_t pid;
	enum gpumon_unrecorded_reason reason;
	const char *api;
	const char *library;
	const char *missing;
	char name[32];
};

/**
 * struct gpumon_unrecorded - all of them; zeroed: none was looked for
 * @apis: those of which a recorded program loads the injection library, by their places in unrecorded.c
 * @processes: the first ones
 * @count: of all
 * @known: pids that are among @count
 * @next_ns: time of the next look
 * @pause_ns: between the last two
 */
struct gpumon_unrecorded {
	struct gpumon_unrecorded_process processes[GPUMON_UNRECORDED_MAX];
	unsigned int count;
	unsigned int apis;
	struct gpumon_map known;
	uint64_t next_ns;
	uint64_t pause_ns;
};

/**
 * gpumon_unrecorded_begin - the program is started with these variables
 * @unrecorded: zeroed
 * @variables: each as NAME=VALUE, NULL behind the last. An API whose variable is not among them has no driver
 *	here, or it was said already why nothing is recorded of it
 */
void gpumon_unrecorded_begin(struct gpumon_unrecorded *unrecorded, char *const *variables);

/**
 * gpumon_unrecorded_look - look at the program and at the processes that it has started, when it is time to
 * @unrecorded: state
 * @root: prefix of /proc
 * @program: pid of the program
 * @recorder: knows those that are recorded
 *
 * Looks seldom, and takes no more than a hundredth of a CPU. What lives shorter than a second may not be seen.
 */
void gpumon_unrecorded_look(struct gpumon_unrecorded *unrecorded, const char *root, pid_t program,
			    const struct gpumon_recorder *recorder);

/**
 * gpumon_unrecorded_text - a sentence about a process
 * @unrecorded: state
 * @i: which, below @count; behind the last that is kept, how many more there are
 * @recorder: as above: a process that has connected since is left out
 * @text: out
 * @room: bytes
 *
 * Return: false: there is nothing to say.
 */
bool gpumon_unrecorded_text(const struct gpumon_unrecorded *unrecorded, unsigned int i,
			    const struct gpumon_recorder *recorder, char *text, size_t room);

void gpumon_unrecorded_free(struct gpumon_unrecorded *unrecorded);

#endif /* GPUMON_RECORD_UNRECORDED_H */
