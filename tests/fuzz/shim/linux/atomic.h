/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The kernel's atomics that the module's tables need, for userspace with threads. */
#ifndef GPUMON_FUZZ_SHIM_ATOMIC_H
#define GPUMON_FUZZ_SHIM_ATOMIC_H

#include "kernel.h"

/* kernel.h has these for one thread. */
#undef READ_ONCE
#undef WRITE_ONCE
#undef smp_store_release
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, to)	__atomic_store_n(&(x), to, __ATOMIC_RELAXED)
#define smp_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE) /* the kernel's */
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)	 /* the kernel's */
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)	 /* the kernel's */
#define smp_rmb()		__atomic_thread_fence(__ATOMIC_ACQUIRE)	 /* the kernel's */
#define smp_wmb()		__atomic_thread_fence(__ATOMIC_RELEASE)	 /* the kernel's */

#define cmpxchg(p, old, new)                                                       \
	({                                                                         \
		u64 was = old;                                                     \
		__atomic_compare_exchange_n(p, &was, new, false, __ATOMIC_SEQ_CST, \
					    __ATOMIC_SEQ_CST);                     \
		was;                                                               \
	})

typedef struct {
	int counter;
} atomic_t;

#define atomic_read(v) __atomic_load_n(&(v)->counter, __ATOMIC_RELAXED)
#define atomic_inc(v)  ((void)__atomic_fetch_add(&(v)->counter, 1, __ATOMIC_RELAXED))
#define atomic_dec(v)  ((void)__atomic_fetch_sub(&(v)->counter, 1, __ATOMIC_RELAXED))

#endif /* GPUMON_FUZZ_SHIM_ATOMIC_H */
