/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Starts a program as if nobody watched: its input and output, signals, limits
 * and exit status are its own; only its environment says where to find us.
 */
#ifndef GPUMON_RECORD_LAUNCH_H
#define GPUMON_RECORD_LAUNCH_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/error.h"

/**
 * gpumon_launch_find_library - the injection library
 * @path: filled in, PATH_MAX bytes
 * @err: why not, with what to do
 *
 * GPUMON_INJECT in the environment, else beside the program in ../inject, ../lib, ../lib/gpumon
 * or ../lib64. One that everybody can write to is refused.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_launch_find_library(char path[PATH_MAX], struct gpumon_error *err);

#define GPUMON_LAUNCH_ACTIONS 3

/**
 * struct gpumon_launch - a program that was started
 * @pid: its pid
 * @pidfd: readable when it ended, closed by gpumon_launch_wait()
 * @signals: a signalfd of what the user may send us, closed by gpumon_launch_wait()
 * @status: as wait() has it, once it ended
 * @original: signal mask of before
 * @files: soft limit of descriptors of before
 * @actions: of before, of the signals whose effect is changed for us
 */
struct gpumon_launch {
	pid_t pid;
	int pidfd;
	int signals;
	int status;
	sigset_t original;
	struct rlimit files;
	struct sigaction actions[GPUMON_LAUNCH_ACTIONS];
};

/**
 * gpumon_launch_prepare - take our own signals, and room for descriptors
 * @launch: filled in
 * @err: why not
 *
 * Signals come as reads of launch->signals from now on.
 */
int gpumon_launch_prepare(struct gpumon_launch *launch, struct gpumon_error *err);

/**
 * gpumon_launch_start - run a program
 * @launch: prepared
 * @argv: with NULL at its end; found by PATH
 * @environment: "NAME=value" that are added or replaced, with NULL at their end
 * @err: why not: not found, not executable
 *
 * Return: 0 once it runs, or -1 with @err.
 */
int gpumon_launch_start(struct gpumon_launch *launch, char *const *argv,
			const char *const *environment, struct gpumon_error *err);

/**
 * gpumon_launch_signal - a signal came for us
 * @launch: with a program or (pid 0) without
 * @ended: set if there is no program and the signal is one that ends us
 *
 * What a terminal sent, the program got itself; anything else is passed on to it.
 */
void gpumon_launch_signal(struct gpumon_launch *launch, bool *ended);

/* The program ended: its status is taken. -1 while it runs. */
int gpumon_launch_wait(struct gpumon_launch *launch);

/* Signals and limits are as before. */
void gpumon_launch_end(struct gpumon_launch *launch);

/* What a shell has as $? of such a program. */
int gpumon_launch_exit_status(const struct gpumon_launch *launch);

/**
 * gpumon_launch_find_program - where a program is
 * @program: as typed
 * @path: filled in, PATH_MAX bytes
 *
 * Return: is there an executable file by that name, or in PATH?
 */
bool gpumon_launch_find_program(const char *program, char path[PATH_MAX]);

/**
 * gpumon_launch_privileged - does the system ignore our environment for it?
 * @program: as it is found by PATH
 *
 * setuid, setgid and file capabilities make the loader, and CUDA, ignore what the caller
 * sets.
 */
bool gpumon_launch_privileged(const char *program);

#endif /* GPUMON_RECORD_LAUNCH_H */
