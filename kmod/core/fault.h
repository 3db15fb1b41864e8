/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registrations that can be made to fail, in a module made with GPUMON_DEBUG=1.
 *
 * Allocations are not wrapped: the kernel's /proc/self/fail-nth makes them fail. Whatever gpumon
 * registers, attaches, makes or reads elsewhere in the kernel is wrapped here, so that a test can
 * make each of them fail in turn and name it. An ordinary build has nothing of it.
 * Documentation/develop/testing.md
 */
#ifndef GPUMON_FAULT_H
#define GPUMON_FAULT_H

#include <linux/err.h>

#if GPUMON_HAS_debug
int gpumon_fault(const char *what, const char *name);
#else
/* A macro, because the name of a function would be in the debug information of every build. */
#define gpumon_fault(what, name) 0
#endif

/**
 * GPUMON_REGISTER - a registration that returns 0 or a negative error
 * @what: the function that registers
 * @name: what is registered, NULL if there is only one
 * @call: the call, not made where it is to fail
 *
 * Return: what @call returns, or the error that was asked for.
 */
#define GPUMON_REGISTER(what, name, call) (gpumon_fault(what, name) ?: (call))

/* GPUMON_REGISTER() of a call that returns a pointer, NULL on failure. */
#define GPUMON_REGISTER_OR_NULL(what, name, call) (gpumon_fault(what, name) ? NULL : (call))

/* GPUMON_REGISTER() of a call that returns a pointer or ERR_PTR(). */
#define GPUMON_REGISTER_OR_ERR(what, name, call) (ERR_PTR(gpumon_fault(what, name)) ?: (call))

#endif /* GPUMON_FAULT_H */
