/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Included before every file. The library is built on new systems and loaded in
 * containers whose glibc is years older. glibc gave these functions a new symbol
 * version when it moved them into libc.so (2.32 to 2.34) and kept the old one:
 * this asks for the old one. tests/inject/check verifies the result.
 */
#ifndef GPUMON_INJECT_BASE_GLIBC_H
#define GPUMON_INJECT_BASE_GLIBC_H

#if defined(__x86_64__)
#define GPUMON_GLIBC_BASE "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define GPUMON_GLIBC_BASE "GLIBC_2.17"
#endif

/* strtol() and the like have another symbol since 2.38, with which _GNU_SOURCE has binary numbers. */
#include <features.h>
#undef __GLIBC_USE_C2X_STRTOL
#define __GLIBC_USE_C2X_STRTOL 0
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C23_STRTOL 0

#ifdef GPUMON_GLIBC_BASE
#define GPUMON_OLD(function) __asm__(".symver " #function "," #function "@" GPUMON_GLIBC_BASE)

GPUMON_OLD(pthread_create);
GPUMON_OLD(pthread_join);
GPUMON_OLD(pthread_detach);
GPUMON_OLD(pthread_once);
GPUMON_OLD(pthread_key_create);
GPUMON_OLD(pthread_key_delete);
GPUMON_OLD(pthread_getspecific);
GPUMON_OLD(pthread_setspecific);
GPUMON_OLD(pthread_attr_setstacksize);
GPUMON_OLD(pthread_attr_getstack);
GPUMON_OLD(pthread_mutex_timedlock);
GPUMON_OLD(pthread_mutex_trylock);
GPUMON_OLD(pthread_rwlock_rdlock);
GPUMON_OLD(pthread_rwlock_tryrdlock);
GPUMON_OLD(pthread_rwlock_wrlock);
GPUMON_OLD(pthread_rwlock_trywrlock);
GPUMON_OLD(pthread_rwlock_unlock);
GPUMON_OLD(pthread_sigmask);
GPUMON_OLD(pthread_getattr_np);
GPUMON_OLD(dlopen);
GPUMON_OLD(dlsym);
GPUMON_OLD(dlerror);
GPUMON_OLD(dlclose);
GPUMON_OLD(dladdr);
#if defined(__x86_64__)
__asm__(".symver dladdr1,dladdr1@GLIBC_2.3.3");
#else
GPUMON_OLD(dladdr1);
#endif
#endif

#endif /* GPUMON_INJECT_BASE_GLIBC_H */
