/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a command goes on with of what it was started with: capabilities that it does not need are
 * given up, and under sudo a program runs as the user who called it. Documentation/user/privilege.md
 * has the table.
 */
#ifndef GPUMON_USER_PRIVILEGES_H
#define GPUMON_USER_PRIVILEGES_H

#include <stdbool.h>

#include "error.h"

/* What a command does that wants capabilities, or is one of the reasons to keep them. */
enum gpumon_privilege {
	GPUMON_PRIVILEGE_MODULE = 1 << 0,  /* ask the module, and set it: CAP_NET_ADMIN */
	GPUMON_PRIVILEGE_DEBUGFS = 1 << 1, /* its events: CAP_DAC_READ_SEARCH */
	GPUMON_PRIVILEGE_BPF =
		1 << 2, /* CAP_BPF, CAP_PERFMON, and for modules' BTF CAP_SYS_ADMIN */
	GPUMON_PRIVILEGE_FILES = 1 << 3, /* files that the user names: CAP_DAC_OVERRIDE */
	GPUMON_PRIVILEGE_PROCESSES =
		1 << 4, /* other users': CAP_SYS_PTRACE, for setns CAP_SYS_ADMIN */
	GPUMON_PRIVILEGE_PROGRAM = 1 << 5, /* a program is started, and gets all that we had */
};

/**
 * gpumon_privileges_start - for the program's main(), before anything else
 *
 * What we make is ours alone whatever umask we were given. Without this call the others here do
 * nothing: tests run many commands in one process.
 */
void gpumon_privileges_start(void);

/**
 * gpumon_privileges_keep - give up all that is not needed
 * @needs: of enum gpumon_privilege
 *
 * For good, and no program started later gets more; with GPUMON_PRIVILEGE_PROGRAM only for the
 * time being, since the program is to get it. May be called again with less.
 */
void gpumon_privileges_keep(unsigned int needs);

/**
 * gpumon_privileges_become - be the user as whom a program will run, where that is another one
 * @name: who, NULL: under sudo the one who called it, else who we are
 * @needs: capabilities that stay in effect, of enum gpumon_privilege
 * @later: those that gpumon_privileges_raise() may still ask for
 * @err: why not
 *
 * All that is made from then on is that user's, and every path is looked up with that user's
 * rights. HOME, USER and LOGNAME are set.
 *
 * Return: 0, or -1 with @err: no such user, or we are not root.
 */
int gpumon_privileges_become(const char *name, unsigned int needs, unsigned int later,
			     struct gpumon_error *err);

/* The name of who gpumon_privileges_become() made us, NULL where it changed nothing. */
const char *gpumon_privileges_user(void);

/* Have what @later allowed in effect for a moment, or no more. Errors are seen by what fails then. */
void gpumon_privileges_raise(unsigned int needs);
void gpumon_privileges_lower(unsigned int needs);

/* Nothing of @needs is raised any more. */
void gpumon_privileges_forget(unsigned int needs);

/* umask as it was, for who makes no files but starts programs. */
void gpumon_privileges_restore_umask(void);

/* In a child, before exec(): umask and capabilities are again what we were started with. */
void gpumon_privileges_give_back(void);

#endif /* GPUMON_USER_PRIVILEGES_H */
