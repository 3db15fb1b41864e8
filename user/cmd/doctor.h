/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The checks of "doctor". All paths are below a root, so that they also work on a test's own tree
 * or another machine's files.
 */
#ifndef GPUMON_CMD_DOCTOR_H
#define GPUMON_CMD_DOCTOR_H

#include <stddef.h>

#include "lib/error.h"
#include "lib/format.h"
#include "driver/json_model.h"
#include "driver/model.h"

enum gpumon_doctor_level {
	GPUMON_DOCTOR_OK,
	GPUMON_DOCTOR_WARN, /* works, but something is not covered, or will fail later */
	GPUMON_DOCTOR_FAIL, /* this part of gpumon does not work until this is fixed */
};

enum gpumon_doctor_part {
	GPUMON_DOCTOR_RECORD, /* recording programs */
	GPUMON_DOCTOR_DRIVER, /* what drivers do */
	GPUMON_DOCTOR_N_PARTS,
};

/**
 * struct gpumon_doctor_check - a line of the report
 * @part: part of gpumon that it is about
 * @level: verdict
 * @name: what was checked: kernel, btf, debugfs, …, "probe drm_run_job"
 * @message: what was found
 * @advice: the remedy, or NULL
 */
struct gpumon_doctor_check {
	enum gpumon_doctor_part part;
	enum gpumon_doctor_level level;
	char *name;
	char *message;
	char *advice;
};

struct gpumon_doctor {
	const char *root;
	const struct gpumon_info *module; /* what it says of itself, NULL if it does not answer */
	enum gpumon_doctor_part part;	  /* of the checks that follow */
	struct gpumon_doctor_check *checks;
	size_t n_checks;
};

/* @advice may be NULL. @format is the message. */
void gpumon_doctor_add(struct gpumon_doctor *doctor, enum gpumon_doctor_level level,
		       const char *name, const char *advice, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
void gpumon_doctor_free(struct gpumon_doctor *doctor);

/*
 * Read a file below the root. -1 if it is missing. The text is NUL-terminated, without a trailing
 * newline.
 */
int gpumon_doctor_read(const struct gpumon_doctor *doctor, const char *path, char *text,
		       size_t len);
bool gpumon_doctor_exists(const struct gpumon_doctor *doctor, const char *path);
/* Does a line of the file (modules.dep, a kernel config) contain this? -1: no such file. */
int gpumon_doctor_contains(const struct gpumon_doctor *doctor, const char *path,
			   const char *needle);

/*
 * Why no module can be loaded by this kernel, whatever is done until the next boot: "built without
 * modules", or NULL.
 */
const char *gpumon_doctor_no_modules(const struct gpumon_doctor *doctor);
/* The value of an option (without CONFIG_): 'y', 'm' or 0. -1: there is no configuration. */
int gpumon_doctor_option(const struct gpumon_doctor *doctor, const char *name);
/* Add a line for each option that the kernel was built without. */
void gpumon_doctor_config(struct gpumon_doctor *doctor);
/* Is there a line of this name? */
bool gpumon_doctor_has(const struct gpumon_doctor *doctor, const char *name);
/* The kernel and its settings, permissions, gpu_sched, and what gpumon does not cover here. */
void gpumon_doctor_machine(struct gpumon_doctor *doctor);
/* Which key is missing, where only a signed module loads. */
void gpumon_doctor_signature(struct gpumon_doctor *doctor);
/* The module's files: installed, loaded, version. */
void gpumon_doctor_module(struct gpumon_doctor *doctor);
/*
 * The injection library, NVIDIA's driver, CUPTI, what OpenCL, Level Zero, HIP and Vulkan need, access to live
 * processes, and which of this machine's APIs can be recorded.
 */
void gpumon_doctor_cuda(struct gpumon_doctor *doctor);
/* All of that part. */
void gpumon_doctor_record(struct gpumon_doctor *doctor);
/* The result of connecting to the module; NULL if it worked. */
void gpumon_doctor_netlink(struct gpumon_doctor *doctor, const struct gpumon_error *err);
/**
 * gpumon_doctor_source() - report the source that "stat" and "trace" use, and why
 * @doctor: already has the lines about the module and permissions
 * @module: why the module does not answer, NULL if it does
 * @bpf: why BPF cannot be used, NULL if it can
 *
 * If BPF works instead, a missing module is not a failure any more.
 */
void gpumon_doctor_source(struct gpumon_doctor *doctor, const struct gpumon_error *module,
			  const struct gpumon_error *bpf);
/* NULL: functions of live processes can be probed, for "record -p". */
void gpumon_doctor_uprobes(struct gpumon_doctor *doctor, const struct gpumon_error *err);
/* Every group and probe, and full tables. */
void gpumon_doctor_model(struct gpumon_doctor *doctor, const struct gpumon_model *model);

size_t gpumon_doctor_count(const struct gpumon_doctor *doctor, enum gpumon_doctor_level level);
/* "record" or "driver": as a person names it. */
const char *gpumon_doctor_part_name(enum gpumon_doctor_part part);
/* The worst level of a part's lines. */
enum gpumon_doctor_level gpumon_doctor_verdict(const struct gpumon_doctor *doctor,
					       enum gpumon_doctor_part part);
/* The lines, then a verdict on each part that has any. */
void gpumon_doctor_print(const struct gpumon_doctor *doctor, const struct gpumon_term *term,
			 FILE *stream);
struct json_object *gpumon_doctor_json(const struct gpumon_doctor *doctor);

#endif /* GPUMON_CMD_DOCTOR_H */
