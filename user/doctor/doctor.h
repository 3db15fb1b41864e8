/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What "doctor" looks at. Every path is below a root, so that a test (or a look at another
 * machine's files) works on a made-up tree.
 */
#ifndef GPUMON_USER_DOCTOR_H
#define GPUMON_USER_DOCTOR_H

#include <stddef.h>

#include "base/error.h"
#include "term/format.h"
#include "model/json_model.h"
#include "model/model.h"

enum gpumon_doctor_level {
	GPUMON_DOCTOR_OK,
	GPUMON_DOCTOR_WARN, /* works, but something is not seen, or will not work later */
	GPUMON_DOCTOR_FAIL, /* gpumon does not work until this is mended */
};

/**
 * struct gpumon_doctor_check - one line
 * @level: verdict
 * @name: what was looked at: kernel, btf, debugfs, …, "probe drm_run_job"
 * @message: what was found
 * @advice: what to do, NULL if there is nothing to do
 */
struct gpumon_doctor_check {
	enum gpumon_doctor_level level;
	char *name;
	char *message;
	char *advice;
};

struct gpumon_doctor {
	const char *root;
	struct gpumon_doctor_check *checks;
	size_t n_checks;
	bool failed; /* out of memory */
};

/* @advice may be NULL; @format is the message. */
void gpumon_doctor_add(struct gpumon_doctor *doctor, enum gpumon_doctor_level level,
		       const char *name, const char *advice, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
void gpumon_doctor_free(struct gpumon_doctor *doctor);

/* Files below the root: -1 if it is not there; the text ends with NUL and has no newline at its end. */
int gpumon_doctor_read(const struct gpumon_doctor *doctor, const char *path, char *text,
		       size_t len);
bool gpumon_doctor_exists(const struct gpumon_doctor *doctor, const char *path);
/* A file of lines (modules.dep, a kernel config): does one contain this? -1: no such file. */
int gpumon_doctor_contains(const struct gpumon_doctor *doctor, const char *path,
			   const char *needle);

/* What this option (without CONFIG_) is set to: 'y', 'm' or 0. -1: the kernel's configuration is not found. */
int gpumon_doctor_option(const struct gpumon_doctor *doctor, const char *name);
/* A line for each option that the kernel was built without. */
void gpumon_doctor_config(struct gpumon_doctor *doctor);
/* The kernel and its settings, permissions, gpu_sched, and what gpumon cannot see here. */
void gpumon_doctor_machine(struct gpumon_doctor *doctor);
/* The module's files: installed, loaded, version. */
void gpumon_doctor_module(struct gpumon_doctor *doctor);
/* The injection library, NVIDIA's driver, CUPTI, and whether live processes may be looked into. */
void gpumon_doctor_cuda(struct gpumon_doctor *doctor);
/* What came of connecting: NULL if it worked. */
void gpumon_doctor_netlink(struct gpumon_doctor *doctor, const struct gpumon_error *err);
/**
 * gpumon_doctor_source() - which source "stat" and "trace" take, and why
 * @doctor: after what is said of the module and of permissions
 * @module: why the module does not answer, NULL if it does
 * @bpf: why BPF cannot be used, NULL if it can
 *
 * Where BPF does it all the same, that there is no module is no failure any more.
 */
void gpumon_doctor_source(struct gpumon_doctor *doctor, const struct gpumon_error *module,
			  const struct gpumon_error *bpf);
/* NULL: functions of a live process can be probed, for "record -p". */
void gpumon_doctor_uprobes(struct gpumon_doctor *doctor, const struct gpumon_error *err);
/* Each group and probe, and full tables. */
void gpumon_doctor_model(struct gpumon_doctor *doctor, const struct gpumon_model *model);

size_t gpumon_doctor_count(const struct gpumon_doctor *doctor, enum gpumon_doctor_level level);
void gpumon_doctor_print(const struct gpumon_doctor *doctor, const struct gpumon_term *term,
			 FILE *stream);
struct json_object *gpumon_doctor_json(const struct gpumon_doctor *doctor);

#endif /* GPUMON_USER_DOCTOR_H */
