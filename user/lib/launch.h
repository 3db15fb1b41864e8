/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Starts a program without changing its input and output, signals, limits or exit status. Only its
 * environment says where to find us.
 */
#ifndef GPUMON_LIB_LAUNCH_H
#define GPUMON_LIB_LAUNCH_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "error.h"

/**
 * gpumon_launch_find_library - find the injection library
 * @path: out, PATH_MAX bytes
 * @err: out, with the remedy
 *
 * Uses GPUMON_INJECT of the environment, or searches ../inject, ../lib, ../lib/gpumon and ../lib64
 * relative to this program. A library that everybody can write to is refused.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_launch_find_library(char path[PATH_MAX], struct gpumon_error *err);

#define GPUMON_LAUNCH_ACTIONS 3

/**
 * struct gpumon_launch - a program that was started
 * @pid: its pid
 * @pidfd: readable when the program has ended, closed by gpumon_launch_wait()
 * @signals: a signalfd for the signals that a user may send us, closed by gpumon_launch_end()
 * @status: status as from wait(), once the program has ended
 * @take_usr1: SIGUSR1 is for us, and not passed on
 * @usr1: set when it came
 * @original: original signal mask
 * @files: original limit of descriptors
 * @actions: original actions of the signals that we handle differently
 */
struct gpumon_launch {
	pid_t pid;
	int pidfd;
	int signals;
	int status;
	bool take_usr1;
	bool usr1;
	sigset_t original;
	struct rlimit files;
	struct sigaction actions[GPUMON_LAUNCH_ACTIONS];
};

/**
 * gpumon_launch_prepare - set up our signals and raise the limit of descriptors
 * @launch: out
 * @err: out
 *
 * From now on, signals are read from launch->signals.
 */
int gpumon_launch_prepare(struct gpumon_launch *launch, struct gpumon_error *err);

/**
 * gpumon_launch_start - run a program
 * @launch: prepared
 * @argv: ends with NULL; searched in PATH
 * @environment: "NAME=value" to add or replace, ends with NULL
 * @err: out: not found, not executable
 *
 * Return: 0 once it runs, or -1 with @err.
 */
int gpumon_launch_start(struct gpumon_launch *launch, char *const *argv,
			const char *const *environment, struct gpumon_error *err);

/**
 * gpumon_launch_signal - handle a signal that was sent to us
 * @launch: with a program or (pid 0) without
 * @ended: set if no program runs and the signal ends us, as SIGHUP does not under nohup
 *
 * The program gets the terminal's signals itself. All others are passed on to it, except SIGUSR1
 * with @take_usr1, or if the program neither catches nor blocks that. As the first process of a container we also reap orphans here.
 */
void gpumon_launch_signal(struct gpumon_launch *launch, bool *ended);

/* Collect the status of the program. -1 while it still runs. */
int gpumon_launch_wait(struct gpumon_launch *launch);

/* Restore signals and limits. */
void gpumon_launch_end(struct gpumon_launch *launch);

/* The program's exit status as a shell reports it in $?. */
int gpumon_launch_exit_status(const struct gpumon_launch *launch);

/**
 * gpumon_launch_find_program - find a program in PATH
 * @program: as typed
 * @path: out, PATH_MAX bytes
 *
 * Return: true if there is an executable file.
 */
bool gpumon_launch_find_program(const char *program, char path[PATH_MAX]);

/**
 * gpumon_launch_privileged - check whether the system ignores our environment for a program
 * @program: program, searched in PATH
 *
 * The loader and CUDA ignore the caller's variables for programs with setuid, setgid or file
 * capabilities.
 */
bool gpumon_launch_privileged(const char *program);

/* Whether a program, searched in PATH, is linked statically: no library can be loaded into it. */
bool gpumon_launch_is_static(const char *program);

/* Whether it is of 32 bits: the injection library is not. */
bool gpumon_launch_is_of_32_bits(const char *program);

#endif /* GPUMON_LIB_LAUNCH_H */
