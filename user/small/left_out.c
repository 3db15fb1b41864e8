// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What the small build has in place of files that need libraries, or that are about recording. Each part that
 * is left out says so.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/doctor.h"
#include "cmd/stat_frames.h"
#include "cmd/trace_picture.h"
#include "driver/alert_jobs.h"
#include "driver/bpf_source.h"
#include "lib/files.h"
#include "lib/gzip.h"
#include "lib/module_file.h"
#include "lib/profile.h"

/* gpumon.ko with debug information has some 10 MB. */
#define MODULE_MAX (64U << 20)

int gpumon_gzip_possible(struct gpumon_error *err)
{
	return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_NOT_BUILT,
				"writing .gz is not in this gpumon-user: " GPUMON_BECAUSE(""));
}

/* Never called, since it is not possible. */
FILE *gpumon_gzip_open(FILE *to)
{
	(void)to;
	abort();
}

/* What is compressed cannot be read. */
char *gpumon_module_file_read(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *bytes;

	if (fd < 0)
		return NULL;
	bytes = gpumon_read_whole(fd, MODULE_MAX, size);
	close(fd);
	if (bytes && (*size < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG) != 0)) {
		free(bytes);
		bytes = NULL;
	}
	return bytes;
}

/* Only BPF has tables of jobs. The others are never called, since it does not open. */
int gpumon_alert_jobs_open(struct gpumon_alert_jobs **jobs, struct gpumon_job_limits limits,
			   struct gpumon_bpf_source *source, struct gpumon_error *err)
{
	(void)limits;
	(void)source;
	*jobs = NULL;
	return gpumon_bpf_source_possible(err);
}

void gpumon_alert_jobs_close(struct gpumon_alert_jobs *jobs)
{
	(void)jobs;
}

uint64_t gpumon_alert_jobs_next_ns(const struct gpumon_alert_jobs *jobs)
{
	(void)jobs;
	abort();
}

int gpumon_alert_jobs_read(struct gpumon_alert_jobs *jobs, struct gpumon_model *model,
			   struct gpumon_error *err)
{
	(void)jobs;
	(void)model;
	(void)err;
	abort();
}

void gpumon_doctor_record(struct gpumon_doctor *doctor)
{
	doctor->part = GPUMON_DOCTOR_RECORD;
	gpumon_doctor_add(doctor, GPUMON_DOCTOR_FAIL, "build", NULL,
			  "recording is not in this gpumon-user: " GPUMON_BECAUSE(""));
}

/* The others are never called, since there is no picture. */
int gpumon_trace_picture_open(struct gpumon_trace_picture **picture, struct gpumon_context *context,
			      const char *path, bool force, struct gpumon_error *err)
{
	(void)context;
	(void)path;
	(void)force;
	*picture = NULL;
	return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_NOT_BUILT,
				"trace --perfetto is not in this gpumon-user: " GPUMON_BECAUSE(""));
}

void gpumon_trace_picture_take(struct gpumon_trace_picture *picture,
			       struct gpumon_trace_options *options)
{
	(void)picture;
	(void)options;
	abort();
}

int gpumon_trace_picture_write(struct gpumon_trace_picture *picture, uint64_t took_ns,
			       uint64_t lost, struct gpumon_error *err)
{
	(void)picture;
	(void)took_ns;
	(void)lost;
	(void)err;
	abort();
}

bool gpumon_trace_picture_empty(const struct gpumon_trace_picture *picture)
{
	(void)picture;
	abort();
}

int gpumon_trace_picture_nothing(const struct gpumon_trace_picture *picture,
				 struct gpumon_source *source,
				 const struct gpumon_trace_options *options, uint64_t hidden,
				 uint64_t took_ns, struct gpumon_error *err)
{
	(void)picture;
	(void)source;
	(void)options;
	(void)hidden;
	(void)took_ns;
	(void)err;
	abort();
}

void gpumon_trace_picture_close(struct gpumon_trace_picture *picture)
{
	(void)picture;
}

int gpumon_stat_frames(struct gpumon_context *context, const struct gpumon_stat_frames *options)
{
	struct gpumon_error err;

	(void)options;
	gpumon_error_set(&err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_NOT_BUILT,
			 "--frames is not in this gpumon-user: " GPUMON_BECAUSE(""));
	return gpumon_report(context, &err);
}

int gpumon_complete(struct gpumon_context *context, int argc, char **argv)
{
	struct gpumon_error err;

	(void)argc;
	(void)argv;
	gpumon_error_set(&err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_NOT_BUILT,
			 "completion is not in this gpumon-user: " GPUMON_BECAUSE(""));
	return gpumon_report(context, &err);
}
