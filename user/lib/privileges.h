/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Privileges of a running command: it drops the capabilities that it does not need, and under sudo
 * it runs a program as the calling user. Documentation/user/privilege.md has the table.
 */
#ifndef GPUMON_LIB_PRIVILEGES_H
#define GPUMON_LIB_PRIVILEGES_H

#include <stdbool.h>

#include "error.h"

/* What a command does that needs capabilities. */
enum gpumon_privilege {
	GPUMON_PRIVILEGE_MODULE = 1 << 0,  /* read and configure the module: CAP_NET_ADMIN */
	GPUMON_PRIVILEGE_DEBUGFS = 1 << 1, /* read its events: CAP_DAC_READ_SEARCH */
	GPUMON_PRIVILEGE_BPF =
		1 << 2, /* CAP_BPF, CAP_PERFMON; CAP_SYS_ADMIN for the BTF of modules */
	GPUMON_PRIVILEGE_FILES = 1 << 3, /* files that the user names: CAP_DAC_OVERRIDE */
	GPUMON_PRIVILEGE_PROCESSES =
		1 << 4, /* other users' processes: CAP_SYS_PTRACE; CAP_SYS_ADMIN for setns() */
	GPUMON_PRIVILEGE_PROGRAM = 1 << 5, /* start a program with all our capabilities */
	GPUMON_PRIVILEGE_LOG = 1 << 6,	   /* read the kernel's log: CAP_SYSLOG */
};

/**
 * gpumon_privileges_start - called first in main()
 *
 * Sets a umask that keeps our files private. Without this call the other functions do nothing,
 * since tests run many commands in one process.
 */
void gpumon_privileges_start(void);

/**
 * gpumon_privileges_keep - drop all capabilities that are not needed
 * @needs: of enum gpumon_privilege
 *
 * They are dropped for good, also for programs started later. With GPUMON_PRIVILEGE_PROGRAM they
 * are only made ineffective, so that the program can have them. May be called again with fewer
 * needs.
 */
void gpumon_privileges_keep(unsigned int needs);

/**
 * gpumon_privileges_become - become the user that a program will run as
 * @name: user name; NULL: the caller of sudo, or else the current user
 * @needs: capabilities that stay in effect, of enum gpumon_privilege
 * @later: capabilities that gpumon_privileges_raise() may still request
 * @err: out
 *
 * From then on, new files belong to that user, and paths are accessed with that user's rights.
 * HOME, USER and LOGNAME are set.
 *
 * Return: 0, or -1 with @err if there is no such user or we are not root.
 */
int gpumon_privileges_become(const char *name, unsigned int needs, unsigned int later,
			     struct gpumon_error *err);

/* Name of the user that gpumon_privileges_become() changed to, or NULL if it changed nothing. */
const char *gpumon_privileges_user(void);

/*
 * Make capabilities of @later effective for a moment, and ineffective again. Errors show up in the
 * operation that needs them.
 */
void gpumon_privileges_raise(unsigned int needs);
void gpumon_privileges_lower(unsigned int needs);

/* @needs can no longer be raised. */
void gpumon_privileges_forget(unsigned int needs);

/* Restore the original umask, for a process that only starts programs. */
void gpumon_privileges_restore_umask(void);

/* In a child, before exec(): restore the umask and the capabilities that we were started with. */
void gpumon_privileges_give_back(void);

#endif /* GPUMON_LIB_PRIVILEGES_H */
