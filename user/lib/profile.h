/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Which build this is. PROFILE=small of the Makefile has the commands that COMMANDS names, leaves out what
 * small/left_out.c names, and defines GPUMON_SMALL.
 */
#ifndef GPUMON_LIB_PROFILE_H
#define GPUMON_LIB_PROFILE_H

#ifdef GPUMON_SMALL
#define GPUMON_IS_SMALL 1
/* Behind "WHAT is not in this gpumon-user: ". */
#define GPUMON_BECAUSE(reason) "it is the small build, use one that was built without PROFILE=small"
#else
#define GPUMON_IS_SMALL	       0
#define GPUMON_BECAUSE(reason) reason
#endif

#endif /* GPUMON_LIB_PROFILE_H */
