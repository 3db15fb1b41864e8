/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Which build this is. PROFILE=small of the Makefile has the commands that COMMANDS names, leaves out what
 * small/left_out.c names, and defines GPUMON_SMALL.
 */
#ifndef GPUMON_LIB_PROFILE_H
#define GPUMON_LIB_PROFILE_H

#ifdef GPUMON_SMALL
/* For code that only what it leaves out needs: the compiler leaves that out, too. */
#define GPUMON_IS_SMALL 1
/* Behind "WHAT is not in this gpumon-user: ". */
#define GPUMON_BECAUSE(reason) "it is the small build, use one that was built without PROFILE=small"
/* It has long texts packed, see small/pages.c. The second is to be freed. */
const char *gpumon_small_pages(void);
char *gpumon_small_help(const char *name);
#else
#define GPUMON_IS_SMALL	       0
#define GPUMON_BECAUSE(reason) reason
#endif

/* A static program loads no library. */
#ifdef GPUMON_STATIC
#define GPUMON_IS_STATIC 1
#else
#define GPUMON_IS_STATIC 0
#endif

#endif /* GPUMON_LIB_PROFILE_H */
