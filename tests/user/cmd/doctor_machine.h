/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A simulated machine for the doctor: a tree of files below a root. */
#ifndef GPUMON_TEST_DOCTOR_MACHINE_H
#define GPUMON_TEST_DOCTOR_MACHINE_H

#include "common.h"
#include "cmd/doctor.h"

#define MACHINE_RELEASE "6.1.0-44-amd64"

/* Everything that gpumon uses. */
#define MACHINE_CONFIG                                                                 \
	"# Linux/x86 6.1 Kernel Configuration\n"                                       \
	"CONFIG_64BIT=y\nCONFIG_MODULES=y\nCONFIG_NET=y\nCONFIG_TRACEPOINTS=y\n"       \
	"CONFIG_RING_BUFFER=y\nCONFIG_KPROBES=y\nCONFIG_DEBUG_FS=y\n"                  \
	"CONFIG_DEBUG_INFO_BTF=y\nCONFIG_DEBUG_INFO_BTF_MODULES=y\nCONFIG_CGROUPS=y\n" \
	"CONFIG_BPF_SYSCALL=y\nCONFIG_PERF_EVENTS=y\nCONFIG_UPROBE_EVENTS=y\n"         \
	"CONFIG_KALLSYMS_ALL=y\nCONFIG_MODULE_UNLOAD=y\nCONFIG_SMP=y\n"                \
	"CONFIG_DRM_SCHED=m\n"

extern char machine_root[64];
/* What the module says of itself, NULL: it does not answer. */
extern const struct gpumon_info *machine_module;

/* Create a machine without problems, and remove it. */
int machine_setup(void **state);
int machine_teardown(void **state);

/* The path below the root, to be freed. Creates its folders. */
char *machine_place(const char *path);
void machine_put_bytes(const char *path, const void *bytes, size_t len);
void machine_put(const char *path, const char *text);
void machine_put_link(const char *path, const char *target);
void machine_put_folder(const char *path);
void machine_take_away(const char *path);

/* The results of the checks of machine and module. */
struct gpumon_doctor machine_look(void);
const struct gpumon_doctor_check *machine_find_if_there(const struct gpumon_doctor *doctor,
							const char *name);
const struct gpumon_doctor_check *machine_find(const struct gpumon_doctor *doctor,
					       const char *name);
/* Expect one check with this level, and a part of its message. */
void machine_expect(const char *name, enum gpumon_doctor_level level, const char *piece);
/* Expect a warning of one check, and a part of its advice. */
void machine_expect_advice(const char *name, const char *piece);

#endif /* GPUMON_TEST_DOCTOR_MACHINE_H */
