// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * gpumon-user with a source that is made up. The file FAKE says what it has, in lines "NAME NUMBER",
 * and is read with each reading; the file TABLES which tables, in lines "GROUP.TABLE COLUMN KIND".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "driver/alert_message.h"
#include "driver/source.h"
#include "lib/memory.h"
#include "lib/wait.h"

#define SECOND 1000000000ULL

int __wrap_gpumon_source_open(struct gpumon_source *source, enum gpumon_source_choice choice,
			      bool events, struct gpumon_error *err);
void __wrap_gpumon_source_close(struct gpumon_source *source);
int __wrap_gpumon_source_read(struct gpumon_source *source, unsigned int parts, uint32_t period,
			      struct gpumon_model *model, struct gpumon_error *err);

/* What the file says of a name; 0 if it does not have it. */
static uint64_t setting(const char *name)
{
	FILE *stream = fopen(getenv("FAKE"), "re");
	char word[64];
	uint64_t number, found = 0;

	while (stream && fscanf(stream, "%63s %" SCNu64, word, &number) == 2)
		if (!strcmp(word, name))
			found = number;
	if (stream)
		fclose(stream);
	return found;
}

int __wrap_gpumon_source_open(struct gpumon_source *source, enum gpumon_source_choice choice,
			      bool events, struct gpumon_error *err)
{
	(void)choice;
	(void)events;
	memset(source, 0, sizeof(*source));
	if (setting("gone"))
		return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_NOT_LOADED,
					"the module is gone");
	return 0;
}

void __wrap_gpumon_source_close(struct gpumon_source *source)
{
	(void)source;
}

static void add_histogram(struct gpumon_histogram *histogram, uint64_t scale)
{
	histogram->count = gpumon_value_of(3 * scale);
	histogram->sum = gpumon_value_of(scale * 3000000);
	gpumon_histogram_add_bucket(histogram, 786432, 1048576, 2 * scale);
	gpumon_histogram_add_bucket(histogram, 1ULL << 42, UINT64_MAX, scale);
}

static void add_rings(struct gpumon_model *model, uint64_t rings, uint64_t scale)
{
	static const char *const names[] = { "queue_ns", "run_ns" };

	for (uint64_t i = 0; i < rings; i++) {
		struct gpumon_ring *ring = gpumon_model_add_ring(model);

		ring->id = gpumon_value_of(i);
		ring->device = gpumon_asprintf("0000:%02x:00.0", (unsigned int)(i / 8 + 1));
		ring->name = gpumon_asprintf("ring%" PRIu64, i % 8);
		ring->live = ring->live_max = gpumon_value_of(1);
		ring->queued = ring->run = ring->done = gpumon_value_of(scale * (i + 1));
		ring->errors = ring->killed = ring->untracked = gpumon_value_of(scale);
		ring->dependency_waits = ring->jobs_table_full = gpumon_value_of(scale);
		ring->clock_backwards = ring->abandoned = gpumon_value_of(0);
		ring->busy_ns = gpumon_value_of(scale * SECOND);
		ring->queue_depth = ring->queue_depth_max = gpumon_value_of(setting("depth"));
		ring->hw_depth = ring->hw_depth_max = gpumon_value_of(1);
		for (size_t k = 0; k < 2; k++) {
			struct gpumon_histogram *histogram = gpumon_model_add_histogram(model);

			histogram->group = gpumon_strdup("drm_sched");
			histogram->name = gpumon_strdup(names[k]);
			histogram->ring_id = ring->id;
			add_histogram(histogram, scale);
		}
	}
}

static struct gpumon_statistics *add_table(struct gpumon_model *model, const char *group,
					   const char *name, uint64_t row)
{
	struct gpumon_statistics *table = gpumon_model_add_statistics(model);

	table->group = gpumon_strdup(group);
	table->table = gpumon_strdup(name);
	gpumon_statistics_add_row(table, gpumon_value_of(row));
	return table;
}

static void add_label(struct gpumon_row *row, const char *name, const char *value, bool number)
{
	struct gpumon_label *label = gpumon_row_add_label(row);

	label->name = gpumon_strdup(name);
	label->value = gpumon_strdup(value);
	label->number = number;
}

static void add_counter(struct gpumon_row *row, const char *name, uint64_t value)
{
	struct gpumon_column *column = gpumon_row_add_column(row);

	column->name = gpumon_strdup(name);
	column->kind = gpumon_value_of(GPUMON_COLUMN_KIND_COUNTER);
	column->value = gpumon_value_of(value);
}

static void add_column(struct gpumon_row *row, const char *name, const char *kind, uint64_t scale)
{
	struct gpumon_column *column;

	if (!strcmp(kind, "label")) {
		add_label(row, name, strcmp(name, "device") ? "x \"y\"\\\nz" : "0000:01:00.0",
			  false);
		return;
	}
	if (!strcmp(kind, "counter")) {
		add_counter(row, name, scale);
		return;
	}
	column = gpumon_row_add_column(row);
	column->name = gpumon_strdup(name);
	column->kind = gpumon_value_of(!strcmp(kind, "gauge") ? GPUMON_COLUMN_KIND_GAUGE :
								GPUMON_COLUMN_KIND_HISTOGRAM);
	if (!strcmp(kind, "gauge"))
		column->level = gpumon_level_of(-3);
	else
		add_histogram(&column->histogram, scale);
}

static void add_tables(struct gpumon_model *model, uint64_t scale)
{
	FILE *stream = getenv("TABLES") ? fopen(getenv("TABLES"), "re") : NULL;
	char table[64], column[64], kind[16], *dot;

	while (stream && fscanf(stream, "%63s %63s %15s", table, column, kind) == 3) {
		struct gpumon_statistics *found;

		dot = strchr(table, '.');
		*dot = '\0';
		found = gpumon_model_statistics(model, table, dot + 1);
		if (!found)
			found = add_table(model, table, dot + 1, 1);
		add_column(&found->rows[0], column, kind, scale);
	}
	if (stream)
		fclose(stream);
}

static void add_containers(struct gpumon_model *model, uint64_t containers, uint64_t first,
			   uint64_t rings, uint64_t scale)
{
	struct gpumon_statistics *usage =
		containers ? add_table(model, "drm_sched", "usage", first + 1) : NULL;

	for (uint64_t i = 0; i < containers; i++) {
		struct gpumon_process *process = gpumon_model_add_process(model);
		struct gpumon_row *row =
			i ? gpumon_statistics_add_row(usage, gpumon_value_of(first + i + 1)) :
			    &usage->rows[0];
		char device[32], ring[32], number[32];

		process->id = process->pid = gpumon_value_of(first + i + 1);
		process->start_ns = gpumon_value_of(5);
		process->comm = gpumon_strdup("train");
		process->alive = gpumon_value_of(1);
		process->cgroup_id = gpumon_value_of(1000 + first + i);
		process->cgroup =
			gpumon_asprintf("/kubepods/burstable/pod11111111-2222-3333-4444-%012" PRIx64
					"/%016llx%048d",
					first + i, (first + i + 1) * 0x9e3779b97f4a7c15ULL, 0);
		process->vram_bytes = gpumon_value_of(4096);
		snprintf(device, sizeof(device), "0000:%02x:00.0",
			 (unsigned int)(i % rings / 8 + 1));
		snprintf(ring, sizeof(ring), "ring%" PRIu64, i % rings % 8);
		snprintf(number, sizeof(number), "%" PRIu64, first + i + 1);
		add_label(row, "device", device, false);
		add_label(row, "ring", ring, false);
		add_label(row, "process", number, true);
		add_label(row, "client", "0", true);
		add_label(row, "cgroup", "0", true);
		add_counter(row, "jobs", scale);
		add_counter(row, "gpu_ns", scale * 1000000);
		add_counter(row, "queue_ns", scale * 1000);
		add_counter(row, "errors", 0);
	}
}

static void add_group(struct gpumon_model *model, const char *name, const char *probe,
		      uint64_t scale)
{
	struct gpumon_group *group = gpumon_model_add_group(model);
	struct gpumon_probe *of = gpumon_group_add_probe(group);

	group->name = gpumon_strdup(name);
	group->enabled = gpumon_value_of(1);
	group->state = of->state = gpumon_value_of(GPUMON_ATTACH_STATE_ATTACHED);
	of->name = gpumon_strdup(probe);
	of->module = gpumon_strdup(name);
	of->kind = gpumon_value_of(GPUMON_PROBE_KIND_TRACEPOINT);
	of->seen = gpumon_value_of(100 * scale);
	of->recorded = gpumon_value_of(98 * scale);
	of->dropped.table_full = gpumon_value_of(2 * scale);
	of->dropped.recursion = of->dropped.unreadable = gpumon_value_of(0);
	of->dropped.missed = of->dropped.no_memory = gpumon_value_of(0);
}

static void add_alert(struct gpumon_model *model, const char *group, const char *kind,
		      uint64_t code)
{
	uint64_t count = setting(kind);
	struct gpumon_alert *alert = count ? gpumon_model_add_alert(model) : NULL;

	if (!alert)
		return;
	alert->group = gpumon_strdup(group);
	alert->kind = gpumon_strdup(kind);
	alert->device = gpumon_strdup("0000:01:00.0");
	alert->code = gpumon_value_of(code);
	alert->count = gpumon_value_of(count);
	alert->time_ns = gpumon_value_of(gpumon_monotonic_ns());
	alert->lost = alert->forgotten = gpumon_value_of(0);
	gpumon_alert_complete(alert);
}

int __wrap_gpumon_source_read(struct gpumon_source *source, unsigned int parts, uint32_t period,
			      struct gpumon_model *model, struct gpumon_error *err)
{
	uint64_t scale = setting(period ? "closed" : "scale"), rings = setting("rings");

	(void)source;
	if (setting("gone"))
		return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_NOT_LOADED,
					"the module is gone");
	model->parts = parts;
	model->info.version = gpumon_strdup("0.2.0");
	model->info.schema = gpumon_value_of(2);
	model->info.period = gpumon_value_of(setting("period"));
	model->info.since_ns = gpumon_value_of(setting("since") * SECOND);
	model->info.now_ns =
		gpumon_value_of(setting("now") ? setting("now") * SECOND : gpumon_monotonic_ns());
	model->info.rings = gpumon_value_of(rings);
	model->info.rings_retired = model->info.jobs_unattributed = gpumon_value_of(0);
	model->info.memory_bytes = gpumon_value_of(3 << 20);
	model->event_ring.enabled = model->event_ring.written = gpumon_value_of(0);
	model->event_ring.overwritten = model->event_ring.delivered = gpumon_value_of(0);
	model->event_ring.dropped = gpumon_value_of(0);
	add_group(model, "drm_sched", "drm_run_job", scale);
	add_group(model, "nvidia", "nvidia_dev_xid", scale);
	add_rings(model, rings, scale);
	add_tables(model, scale);
	/* With "churn" each reading has other containers. */
	add_containers(model, setting("containers"),
		       setting("churn") ? gpumon_monotonic_ns() / 10000 : 0, rings, scale);
	add_alert(model, "nvidia", "xid", setting("code") ? setting("code") : 79);
	add_alert(model, "amdgpu", "reset", 0);
	add_alert(model, "drm_sched", "hang", 0);
	add_alert(model, "drm_sched", "starved", 0);
	return 0;
}

int main(int argc, char **argv)
{
	struct gpumon_context context = {
		.out = stdout,
		.err = stderr,
		.root = getenv("ROOT"),
	};

	gpumon_signals_start();
	return gpumon_run(&context, argc, argv);
}
