/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
#ifndef GPUMON_VERSION_H
#define GPUMON_VERSION_H

/*
 * The version of the module, the tool, the library and the packages. A new one is set by
 * tests/style/version.py --set, which also writes it into the few files that have to repeat it.
 */
#define GPUMON_VERSION "0.2.0"

#endif /* GPUMON_VERSION_H */
