/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What went wrong, in the three forms that a caller needs: the exit status, a
 * code that a program can match, and one line for a person.
 */
#ifndef GPUMON_USER_ERROR_H
#define GPUMON_USER_ERROR_H

/* Exit status of gpumon-user. */
#define GPUMON_EXIT_OK	       0
#define GPUMON_EXIT_FAILED     1
#define GPUMON_EXIT_USAGE      2
#define GPUMON_EXIT_IMPOSSIBLE 77 /* not possible on this machine */

/**
 * struct gpumon_error - a failure
 * @status: exit status, GPUMON_EXIT_*
 * @sys: the negative errno behind it, 0 if there is none
 * @code: stable word for programs: usage, not-loaded, permission, schema,
 *        namespace, refused, kernel, io, memory, changed, unsupported
 * @message: one line, with what to do, no newline
 */
struct gpumon_error {
	int status;
	int sys;
	const char *code;
	char message[512];
};

/**
 * gpumon_error_set() - fill in an error
 * @err: where to, must not be NULL
 * @status: GPUMON_EXIT_*
 * @sys: negative errno or 0
 * @code: a string constant, see struct gpumon_error
 * @format: printf format of the message
 *
 * Return: always -1, so that a function can end with it.
 */
int gpumon_error_set(struct gpumon_error *err, int status, int sys, const char *code,
		     const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif /* GPUMON_USER_ERROR_H */
