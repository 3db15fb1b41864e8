/* SPDX-License-Identifier: GPL-2.0-only */
/* Included before anything else in every file of the module. */
#ifndef GPUMON_LOG_H
#define GPUMON_LOG_H

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#endif /* GPUMON_LOG_H */
