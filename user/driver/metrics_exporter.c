// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alert_jobs.h"
#include "alert_listener.h"
#include "alert_log.h"
#include "alert_sources.h"
#include "bpf_source.h"
#include "lib/memory.h"
#include "lib/wait.h"
#include "metrics_exporter.h"
#include "metrics_model.h"

/* Of the exporter itself, which have room in any case. */
#define OWN_LINES 50

/**
 * struct gpumon_exporter - an exporter
 * @settings: what it does
 * @source: source
 * @open: it is open
 * @readings: sums
 * @log: the kernel's log, NULL if it cannot be read
 * @ras: alerts of drm_ras, NULL where there is none
 * @jobs: jobs that hang, by BPF; NULL with the module, and without limits
 * @logged: alerts of these since the last reading
 * @lent: limits of jobs that the module has
 * @read_ns: how long the last reading took
 * @cpu_ns: processor time up to the last reading
 * @folded: values without a series up to it
 */
struct gpumon_exporter {
	struct gpumon_exporter_settings settings;
	struct gpumon_source source;
	bool open;
	struct gpumon_readings *readings;
	struct gpumon_alert_log *log;
	struct gpumon_alert_listener *ras;
	struct gpumon_alert_jobs *jobs;
	struct gpumon_model logged;
	struct gpumon_limits_lent lent;
	uint64_t read_ns;
	uint64_t cpu_ns;
	uint64_t folded;
};

/* Jobs that hang are seen by the module, or else by BPF. */
static int watch_jobs(struct gpumon_exporter *exporter, struct gpumon_error *err)
{
	const struct gpumon_job_limits *jobs = &exporter->settings.jobs;
	struct gpumon_client *client = exporter->source.client;

	if (!jobs->hang_ns && !jobs->starved_ns)
		return 0;
	if (!client)
		return exporter->jobs ? 0 :
					gpumon_alert_jobs_open(&exporter->jobs, *jobs, NULL, err);
	return gpumon_limits_lend(&exporter->lent, client, *jobs, err);
}

static int open_source(struct gpumon_exporter *exporter, struct gpumon_error *err)
{
	if (gpumon_source_open(&exporter->source, exporter->settings.choice, false, err) ||
	    watch_jobs(exporter, err)) {
		gpumon_source_close(&exporter->source);
		return -1;
	}
	exporter->open = true;
	return 0;
}

int gpumon_exporter_open(struct gpumon_exporter **exporter,
			 const struct gpumon_exporter_settings *settings, struct gpumon_error *err)
{
	struct gpumon_exporter *new = gpumon_calloc(1, sizeof(*new));
	struct gpumon_error ignored;

	*exporter = NULL;
	new->settings = *settings;
	new->readings = gpumon_readings_new(settings->root, settings->limits);
	if (open_source(new, err)) {
		gpumon_exporter_close(new);
		return -1;
	}
	/* What cannot be had is absent: gpumon_log_readable says so. */
	if (gpumon_alert_log_open(&new->log, settings->root, GPUMON_LOG_FROM_NOW, &ignored))
		new->log = NULL;
	if (*settings->root || gpumon_alert_listener_open_ras(&new->ras, &ignored))
		new->ras = NULL;
	*exporter = new;
	return 0;
}

void gpumon_exporter_close(struct gpumon_exporter *exporter)
{
	if (!exporter)
		return;
	if (exporter->open) {
		gpumon_limits_take_back(&exporter->lent, exporter->source.client);
		gpumon_source_close(&exporter->source);
	}
	if (exporter->log)
		gpumon_alert_log_close(exporter->log);
	if (exporter->ras)
		gpumon_alert_listener_close(exporter->ras);
	if (exporter->jobs)
		gpumon_alert_jobs_close(exporter->jobs);
	gpumon_model_free(&exporter->logged);
	gpumon_readings_free(exporter->readings);
	free(exporter);
}

bool gpumon_exporter_is_bpf(const struct gpumon_exporter *exporter)
{
	return gpumon_source_bpf(&exporter->source) != NULL;
}

/* A log that fails is read no more. */
static void read_logged(struct gpumon_exporter *exporter)
{
	struct gpumon_error ignored;

	if (exporter->log && gpumon_alert_log_read(exporter->log, &exporter->logged, &ignored)) {
		gpumon_alert_log_close(exporter->log);
		exporter->log = NULL;
	}
	if (exporter->ras &&
	    gpumon_alert_listener_read(exporter->ras, &exporter->logged, &ignored)) {
		gpumon_alert_listener_close(exporter->ras);
		exporter->ras = NULL;
	}
	if (exporter->jobs)
		(void)gpumon_alert_jobs_read(exporter->jobs, &exporter->logged, &ignored);
}

void gpumon_exporter_look(struct gpumon_exporter *exporter)
{
	if (exporter->open && gpumon_source_bpf(&exporter->source))
		gpumon_bpf_source_look(gpumon_source_bpf(&exporter->source));
	read_logged(exporter);
}

/* What was counted up to a reset is in the period that it closed. */
static void read_closed(struct gpumon_exporter *exporter, uint32_t period)
{
	struct gpumon_model model = { 0 };
	struct gpumon_error ignored;

	if (!gpumon_source_read(&exporter->source, GPUMON_PART_ALL, period, &model, &ignored))
		gpumon_readings_close(exporter->readings, &model);
	gpumon_model_free(&model);
}

static int read_source(struct gpumon_exporter *exporter, struct gpumon_error *err)
{
	struct gpumon_model model = { 0 };
	uint32_t closed;

	if (!exporter->open && open_source(exporter, err))
		return -1;
	if (gpumon_source_read(&exporter->source, GPUMON_PART_ALL, 0, &model, err)) {
		gpumon_model_free(&model);
		gpumon_source_close(&exporter->source);
		exporter->open = false;
		/* The module may have been loaded again, or BPF may do. */
		if (open_source(exporter, err) ||
		    gpumon_source_read(&exporter->source, GPUMON_PART_ALL, 0, &model, err)) {
			gpumon_model_free(&model);
			return -1;
		}
	}
	closed = gpumon_readings_closed(exporter->readings, &model);
	if (closed)
		read_closed(exporter, closed);
	read_logged(exporter);
	gpumon_readings_add(exporter->readings, &model, &exporter->logged);
	gpumon_model_clear(&exporter->logged, GPUMON_PART_ALERTS);
	return 0;
}

static void put(struct gpumon_sums *sums, const char *name, enum gpumon_metric_type type,
		const char *help, uint64_t value)
{
	uint32_t family = gpumon_sums_family(sums, "gpumon", name, type, help);

	if (type == GPUMON_METRIC_COUNTER)
		gpumon_sums_count(sums, family, "", gpumon_value_of(value));
	else
		gpumon_sums_set(sums, family, "", gpumon_level_of((int64_t)value));
}

/* The exporter's own. */
static void put_own(struct gpumon_exporter *exporter, bool good)
{
	struct gpumon_sums *sums = gpumon_readings_sums(exporter->readings);
	uint64_t folded = gpumon_sums_folded(sums);
	uint64_t cpu_ns = gpumon_clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	gpumon_sums_leave(sums, -OWN_LINES);
	put(sums, "source_up", GPUMON_METRIC_GAUGE,
	    "1: the source was read; 0: neither the module nor BPF could be", good);
	put(sums, "log_readable", GPUMON_METRIC_GAUGE, "1: alerts of the kernel's log count, too",
	    exporter->log != NULL);
	put(sums, "exporter_readings", GPUMON_METRIC_COUNTER, "Readings of the source", 1);
	put(sums, "exporter_readings_failed", GPUMON_METRIC_COUNTER, "Of these, those that failed",
	    !good);
	put(sums, "exporter_reading_ns", GPUMON_METRIC_GAUGE, "How long the last reading took",
	    exporter->read_ns);
	put(sums, "exporter_cpu_ns", GPUMON_METRIC_COUNTER,
	    "Processor time that the exporter has used", cpu_ns - exporter->cpu_ns);
	exporter->cpu_ns = cpu_ns;
	put(sums, "exporter_series_folded", GPUMON_METRIC_COUNTER,
	    "Values that found no series of their own: those of counters are in series=\"other\"",
	    folded - exporter->folded);
	exporter->folded = folded;
	put(sums, "exporter_series_limit", GPUMON_METRIC_GAUGE,
	    "Lines that the text may have (--max-series)", exporter->settings.limits.series);
	put(sums, "exporter_series", GPUMON_METRIC_GAUGE, "Lines that it has",
	    gpumon_sums_series(sums));
	gpumon_sums_leave(sums, 0);
}

int gpumon_exporter_read(struct gpumon_exporter *exporter, struct gpumon_error *err)
{
	uint64_t begin = gpumon_monotonic_ns();
	struct gpumon_log_losses losses;
	int ret;

	gpumon_readings_begin(exporter->readings);
	ret = read_source(exporter, err);
	if (exporter->log) {
		losses = gpumon_alert_log_losses(exporter->log);
		gpumon_readings_log_losses(exporter->readings, &losses);
	}
	exporter->read_ns = gpumon_monotonic_ns() - begin;
	put_own(exporter, !ret);
	gpumon_readings_end(exporter->readings);
	return ret;
}

int gpumon_exporter_write(struct gpumon_exporter *exporter, bool openmetrics, FILE *stream)
{
	const struct gpumon_exposition exposition = { stream, openmetrics };

	gpumon_sums_write(gpumon_readings_sums(exporter->readings), &exposition);
	gpumon_exposition_end(&exposition);
	return fflush(stream) || ferror(stream) ? -1 : 0;
}
