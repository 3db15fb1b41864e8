/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What went wrong, in the three forms that a caller needs: the exit status, a
 * code that a program can match, and one line for a person.
 */
#ifndef GPUMON_LIB_ERROR_H
#define GPUMON_LIB_ERROR_H

/* Exit status of gpumon-user. */
#define GPUMON_EXIT_OK	       0
#define GPUMON_EXIT_FAILED     1
#define GPUMON_EXIT_USAGE      2
#define GPUMON_EXIT_IMPOSSIBLE 77 /* not possible on this machine */

/* What went wrong, and its name in JSON. Programs match these names: they must not change. */
#define GPUMON_ERRORS(X)              \
	X(USAGE, "usage")             \
	X(MEMORY, "memory")           \
	X(IO, "io")                   \
	X(PERMISSION, "permission")   \
	X(REFUSED, "refused")         \
	X(UNSUPPORTED, "unsupported") \
	X(KERNEL, "kernel")           \
	X(GONE, "gone")               \
	X(SCHEMA, "schema")           \
	X(NOT_LOADED, "not-loaded")   \
	X(NOT_BUILT, "not-built")     \
	X(LOCKDOWN, "lockdown")       \
	X(CHANGED, "changed")         \
	X(NAMESPACE, "namespace")     \
	X(NO_UPROBES, "no-uprobes")   \
	X(NO_LIBRARY, "no-library")   \
	X(NO_BPF, "no-bpf")           \
	X(NO_BTF, "no-btf")

enum gpumon_error_code {
	GPUMON_ERROR_NONE,
#define GPUMON_ERROR_CODE(name, word) GPUMON_ERROR_##name,
	GPUMON_ERRORS(GPUMON_ERROR_CODE)
#undef GPUMON_ERROR_CODE
};

/* The name of an error in JSON. */
const char *gpumon_error_word(enum gpumon_error_code code);

/**
 * struct gpumon_error - a failure
 * @status: exit status, GPUMON_EXIT_*
 * @sys: the negative errno that caused it, or 0
 * @code: what a program can match
 * @message: one line with the remedy, without a newline
 */
struct gpumon_error {
	int status;
	int sys;
	enum gpumon_error_code code;
	char message[512];
};

/**
 * gpumon_error_set() - fill in an error
 * @err: out, must not be NULL
 * @status: GPUMON_EXIT_*
 * @sys: negative errno or 0
 * @code: code
 * @format: printf format of the message
 *
 * Return: always -1, so that a function can return the call.
 */
int gpumon_error_set(struct gpumon_error *err, int status, int sys, enum gpumon_error_code code,
		     const char *format, ...) __attribute__((format(printf, 5, 6)));

/* There is no memory: -1. */
int gpumon_error_memory(struct gpumon_error *err);

/* Output could not be written, with the reason in errno: -1. */
int gpumon_error_output(struct gpumon_error *err);

#endif /* GPUMON_LIB_ERROR_H */
