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
#define INJECT_GLIBC_BASE "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define INJECT_GLIBC_BASE "GLIBC_2.17"
#endif

/* strtol() and the like have another symbol since 2.38, with which _GNU_SOURCE has binary numbers. */
#include <features.h>
#undef __GLIBC_USE_C2X_STRTOL
#define __GLIBC_USE_C2X_STRTOL 0
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C23_STRTOL 0

#ifdef INJECT_GLIBC_BASE
#define INJECT_OLD(function) __asm__(".symver " #function "," #function "@" INJECT_GLIBC_BASE)

INJECT_OLD(pthread_create);
INJECT_OLD(pthread_join);
INJECT_OLD(pthread_detach);
INJECT_OLD(pthread_once);
INJECT_OLD(pthread_key_create);
INJECT_OLD(pthread_key_delete);
INJECT_OLD(pthread_getspecific);
INJECT_OLD(pthread_setspecific);
INJECT_OLD(pthread_attr_setstacksize);
INJECT_OLD(pthread_attr_getstack);
INJECT_OLD(pthread_mutex_timedlock);
INJECT_OLD(pthread_mutex_trylock);
INJECT_OLD(pthread_rwlock_rdlock);
INJECT_OLD(pthread_rwlock_tryrdlock);
INJECT_OLD(pthread_rwlock_wrlock);
INJECT_OLD(pthread_rwlock_trywrlock);
INJECT_OLD(pthread_rwlock_unlock);
INJECT_OLD(pthread_sigmask);
INJECT_OLD(pthread_getattr_np);
INJECT_OLD(dlopen);
INJECT_OLD(dlsym);
INJECT_OLD(dlerror);
INJECT_OLD(dlclose);
INJECT_OLD(dladdr);
#if defined(__x86_64__)
__asm__(".symver dladdr1,dladdr1@GLIBC_2.3.3");
#else
INJECT_OLD(dladdr1);
#endif
#endif

#endif /* GPUMON_INJECT_BASE_GLIBC_H */
