/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What the threads of a process without the library wait for when they are in no call of an API: they are
 * looked at from outside (watch.h), with the stack of one that is blocked. None is stopped, and none gets
 * a signal. It needs the rights that ptrace() does.
 */
#ifndef GPUMON_RECORD_UPROBE_WAITS_H
#define GPUMON_RECORD_UPROBE_WAITS_H

#include "uprobe_internal.h"

/* Begin to look at a process @hz times a second. */
struct gpumon_uprobe_waits *gpumon_uprobe_waits_new(struct gpumon_uprobes *uprobes, uint32_t hz);

/* A thread has made its first call. @tid: in the records; @host_tid: for the BPF programs */
void gpumon_uprobe_waits_caller(struct gpumon_uprobe_waits *waits, uint32_t tid, uint32_t host_tid);

/* Look at threads, if that is due; WAIT and STACK records are given to the tap. */
void gpumon_uprobe_waits_round(struct gpumon_uprobe_waits *waits);

/* When the next round is due, CLOCK_MONOTONIC; UINT64_MAX: there is none */
uint64_t gpumon_uprobe_waits_due_ns(const struct gpumon_uprobe_waits *waits);

/* Give the rest to the tap, if there is one, and free everything. */
void gpumon_uprobe_waits_free(struct gpumon_uprobe_waits *waits);

#endif /* GPUMON_RECORD_UPROBE_WAITS_H */
