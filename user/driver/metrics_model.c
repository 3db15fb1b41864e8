// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "container.h"
#include "device.h"
#include "lib/array.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "lib/version.h"
#include "lib/wait.h"
#include "metrics_container.h"
#include "metrics_meaning.h"
#include "metrics_model.h"
#include "metrics_sensors.h"
#include "model_fields.h"
#include "usage.h"

#define NVIDIA_VENDOR 0x10de
/* Counters of a source that no period has. There are more kinds of alerts than any driver has codes. */
#define FOLLOWED_MAX 8192
#define UNDESCRIBED  "Not described in Documentation/reference"

/**
 * struct followed - counters that are followed, each named by a text
 * @keys: their numbers, plus 1
 * @last: what they were last
 */
struct followed {
	struct gpumon_intern keys;
	uint64_t *last;
	size_t n;
};

/**
 * struct gpumon_readings - sums, and what they are made with
 * @root: prefix of /sys
 * @sums: the sums
 * @before: the reading before
 * @any: there was one
 * @containers: names of containers
 * @devices: names of GPUs
 * @pods: what Kubernetes calls containers
 * @of_source: counters of the source that no period has
 * @of_log: counts of the log, which begin with the exporter, and of devices
 * @labels: those of the next sample
 * @left: lines that containers leave for all else
 */
struct gpumon_readings {
	const char *root;
	struct gpumon_sums *sums;
	struct gpumon_model before;
	bool any;
	struct gpumon_containers *containers;
	struct gpumon_devices *devices;
	struct gpumon_pods *pods;
	struct followed of_source;
	struct followed of_log;
	struct gpumon_labels labels;
	int64_t left;
};

struct gpumon_readings *gpumon_readings_new(const char *root, struct gpumon_sums_limits limits)
{
	struct gpumon_readings *readings = gpumon_calloc(1, sizeof(*readings));

	readings->root = root;
	readings->sums = gpumon_sums_new(limits);
	readings->left = (int64_t)(limits.series / 10);
	readings->containers = gpumon_containers_new(root);
	readings->devices = gpumon_devices_new(root);
	readings->pods = gpumon_pods_new(root);
	return readings;
}

static void forget(struct followed *followed)
{
	gpumon_intern_clear(&followed->keys);
	free(followed->last);
	memset(followed, 0, sizeof(*followed));
}

void gpumon_readings_free(struct gpumon_readings *readings)
{
	if (!readings)
		return;
	gpumon_sums_free(readings->sums);
	gpumon_model_free(&readings->before);
	gpumon_containers_free(readings->containers);
	gpumon_devices_free(readings->devices);
	gpumon_pods_free(readings->pods);
	gpumon_labels_clear(&readings->labels);
	forget(&readings->of_source);
	forget(&readings->of_log);
	free(readings);
}

struct gpumon_sums *gpumon_readings_sums(struct gpumon_readings *readings)
{
	return readings->sums;
}

/* --- labels */

/* The index that NVIDIA's tools give a GPU: they count its own in the order of addresses. */
static const char *nvidia_index(const struct gpumon_model *model,
				const struct gpumon_device *device, char *text, size_t room)
{
	unsigned int before = 0;

	if (device->vendor_id.v != NVIDIA_VENDOR || !device->uuid)
		return NULL;
	for (const struct gpumon_device *other = model->devices; other < device; other++)
		before += other->vendor_id.v == NVIDIA_VENDOR && other->uuid;
	snprintf(text, room, "%u", before);
	return text;
}

/* "0000:3b:00.0" as NVIDIA's tools write it: "00000000:3B:00.0". */
static const char *bus_id(const char *address, char *text, size_t room)
{
	unsigned int part[4];

	if (!gpumon_text_pci_address(address, part))
		return NULL;
	snprintf(text, room, "%08X:%02X:%02X.%X", part[0], part[1], part[2], part[3]);
	return text;
}

static const struct gpumon_device *find_device(const struct gpumon_model *model,
					       const char *address)
{
	for (size_t i = 0; i < model->n_devices; i++)
		if (gpumon_same_text(model->devices[i].address, address))
			return &model->devices[i];
	return NULL;
}

static void label_device(struct gpumon_readings *readings, const struct gpumon_model *model,
			 const char *address)
{
	const struct gpumon_device *device;
	struct gpumon_labels *labels = &readings->labels;
	char text[32];

	if (!address || !strcmp(address, "-"))
		return;
	device = find_device(model, address);
	gpumon_labels_add(labels, "device", address);
	gpumon_labels_add(labels, "pci_bus_id", bus_id(address, text, sizeof(text)));
	if (!device)
		return;
	gpumon_labels_add(labels, "UUID", device->uuid);
	gpumon_labels_add(labels, "gpu", nvidia_index(model, device, text, sizeof(text)));
	gpumon_labels_add(labels, "modelName", device->model);
}

static void label_ring(struct gpumon_readings *readings, const struct gpumon_model *model,
		       const struct gpumon_ring *ring)
{
	gpumon_labels_cut(&readings->labels, 0);
	label_device(readings, model, ring->device);
	gpumon_labels_add(&readings->labels, "ring", ring->name);
}

static const char *labels_of(const struct gpumon_readings *readings)
{
	return gpumon_labels_text(&readings->labels);
}

/* --- families and their values */

/* @place: where the pages have @column */
static uint32_t family_of(struct gpumon_readings *readings, const char *prefix, const char *column,
			  enum gpumon_metric_type type, const char *place)
{
	static const char highest[] = "_max";
	char *help, *text;
	size_t length = strlen(column);
	uint32_t family;

	if (gpumon_sums_has(readings->sums, prefix, column, &family))
		return family;
	help = gpumon_meaning(place, column);
	if (!help && length > strlen(highest) &&
	    !strcmp(column + length - strlen(highest), highest)) {
		char *level = gpumon_strndup(column, length - strlen(highest));

		text = gpumon_meaning(place, level);
		help = text ? gpumon_asprintf("%s: the highest of the period", text) : NULL;
		free(text);
		free(level);
	}
	family = gpumon_sums_family(readings->sums, prefix, column, type,
				    help && *help ? help : UNDESCRIBED);
	free(help);
	return family;
}

static void put_count(struct gpumon_readings *readings, const char *prefix, const char *column,
		      const char *place, struct gpumon_value more)
{
	gpumon_sums_count(readings->sums,
			  family_of(readings, prefix, column, GPUMON_METRIC_COUNTER, place),
			  labels_of(readings), more);
}

static struct gpumon_level level_of(struct gpumon_value value)
{
	return (struct gpumon_level){ .v = (int64_t)value.v, .known = value.known };
}

static void put_level(struct gpumon_readings *readings, const char *prefix, const char *column,
		      const char *place, struct gpumon_level level)
{
	if (!level.known)
		return;
	gpumon_sums_set(readings->sums,
			family_of(readings, prefix, column, GPUMON_METRIC_GAUGE, place),
			labels_of(readings), level);
}

/* The same for metrics that are no statistic of the pages. */
static void put_own(struct gpumon_readings *readings, const char *name,
		    enum gpumon_metric_type type, const char *help, struct gpumon_value value)
{
	uint32_t family = gpumon_sums_family(readings->sums, "gpumon", name, type, help);

	if (type == GPUMON_METRIC_COUNTER)
		gpumon_sums_count(readings->sums, family, labels_of(readings), value);
	else
		gpumon_sums_set(readings->sums, family, labels_of(readings), level_of(value));
}

/*
 * What a counter has got since the reading before. One that has fallen began again.
 * @key: says which one it is
 */
static struct gpumon_value follow(struct followed *followed, const char *key,
				  struct gpumon_value now)
{
	uint64_t before;
	uint32_t number;
	bool added;

	if (!now.known ||
	    (followed->n >= FOLLOWED_MAX && !gpumon_intern_find(&followed->keys, key)))
		return (struct gpumon_value){ 0 };
	number = gpumon_intern(&followed->keys, key, &added);
	if (added)
		GPUMON_GROW(followed->last, followed->n);
	before = followed->last[number - 1];
	followed->last[number - 1] = now.v;
	return gpumon_value_of(now.v >= before ? now.v - before : now.v);
}

/* Numbers that say nothing over time, and those that have a place elsewhere. */
static bool is_left_out(const struct gpumon_field *field)
{
	static const char *const names[] = { "id",     "schema",  "now_ns",	  "since_ns",
					     "period", "enabled", "rings_retired" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(field->name, names[i]))
			return true;
	return field->kind == GPUMON_FIELD_STRING || field->kind == GPUMON_FIELD_CONSTANT;
}

/*
 * The fields of a structure with the labels that are set. @of: a reading, @since: its difference, which
 * counters come from
 */
static void put_fields(struct gpumon_readings *readings, const char *prefix, const char *place,
		       const struct gpumon_fields *fields, const void *of, const void *since)
{
	for (size_t i = 0; i < fields->n; i++) {
		const struct gpumon_field *field = &fields->at[i];
		struct gpumon_value now, more;

		if (is_left_out(field) || field->meaning == GPUMON_FIELD_STATE ||
		    field->meaning == GPUMON_FIELD_PROBE_KIND)
			continue;
		now = *(const struct gpumon_value *)((const char *)of + field->offset);
		more = *(const struct gpumon_value *)((const char *)since + field->offset);
		if (!now.known)
			continue;
		if (gpumon_field_counts(field))
			put_count(readings, prefix, field->name, place, more);
		else
			put_level(readings, prefix, field->name, place, level_of(now));
	}
}

/* --- parts of a reading */

static void put_info(struct gpumon_readings *readings, const struct gpumon_model *now,
		     const struct gpumon_model *since)
{
	static const char place[] = "## Module";
	struct gpumon_labels *labels = &readings->labels;
	char text[32];

	gpumon_labels_cut(labels, 0);
	put_fields(readings, "gpumon_source", place, &gpumon_info_fields, &now->info, &since->info);
	if (now->info.rings_retired.known)
		put_count(readings, "gpumon_source", "rings_retired", place,
			  follow(&readings->of_source, "rings_retired", now->info.rings_retired));
	gpumon_labels_add(labels, "version", GPUMON_VERSION);
	put_own(readings, "build", GPUMON_METRIC_INFO, "This program", gpumon_value_of(1));
	gpumon_labels_cut(labels, 0);
	gpumon_labels_add(labels, "source", now->info.source ? now->info.source : "kmod");
	gpumon_labels_add(labels, "version", now->info.version);
	snprintf(text, sizeof(text), "%" PRIu64, now->info.schema.v);
	gpumon_labels_add(labels, "schema", now->info.schema.known ? text : NULL);
	put_own(readings, "source", GPUMON_METRIC_INFO,
		"What counts: the kernel module (kmod), or BPF programs", gpumon_value_of(1));
	gpumon_labels_cut(labels, 0);
	put_own(readings, "source_inconsistent_readings", GPUMON_METRIC_COUNTER,
		"Readings in which rows came and went, so that some may be missing or twice",
		gpumon_value_of(now->inconsistent != 0));
}

static void put_devices(struct gpumon_readings *readings, const struct gpumon_model *now)
{
	struct gpumon_labels *labels = &readings->labels;
	char text[16];

	for (size_t i = 0; i < now->n_devices; i++) {
		const struct gpumon_device *device = &now->devices[i];

		gpumon_labels_cut(labels, 0);
		label_device(readings, now, device->address);
		snprintf(text, sizeof(text), "%04" PRIx64, device->vendor_id.v);
		gpumon_labels_add(labels, "vendor_id", device->vendor_id.known ? text : NULL);
		snprintf(text, sizeof(text), "%04" PRIx64, device->device_id.v);
		gpumon_labels_add(labels, "device_id", device->device_id.known ? text : NULL);
		put_own(readings, "device", GPUMON_METRIC_INFO,
			"A GPU or accelerator of this machine, and its names", gpumon_value_of(1));
	}
}

/* Whose sensors are read. */
struct sensed {
	struct gpumon_readings *readings;
	const struct gpumon_model *now;
	const char *address;
};

static void put_sensor(void *data, const struct gpumon_sensor *sensor)
{
	const struct sensed *of = data;
	struct gpumon_readings *readings = of->readings;
	struct gpumon_value value = gpumon_value_of(sensor->value);
	uint32_t family = gpumon_sums_family(
		readings->sums, "gpumon_device", sensor->column,
		sensor->counts ? GPUMON_METRIC_COUNTER : GPUMON_METRIC_GAUGE, sensor->help);
	char *key;

	gpumon_labels_cut(&readings->labels, 0);
	label_device(readings, of->now, of->address);
	gpumon_labels_add(&readings->labels, "sensor", sensor->sensor);
	if (!sensor->counts) {
		gpumon_sums_set(readings->sums, family, labels_of(readings), level_of(value));
		return;
	}
	/* It is the device's, and goes on whatever the source does. */
	key = gpumon_asprintf("%s %s", sensor->column, labels_of(readings));
	gpumon_sums_count(readings->sums, family, labels_of(readings),
			  follow(&readings->of_log, key, value));
	free(key);
}

static void put_sensors(struct gpumon_readings *readings, const struct gpumon_model *now)
{
	for (size_t i = 0; i < now->n_devices; i++) {
		struct sensed of = { readings, now, now->devices[i].address };

		gpumon_sensors_read(readings->root, of.address, put_sensor, &of);
	}
}

static struct gpumon_value is_attached(struct gpumon_value state)
{
	return gpumon_value_if(state.known, state.v == GPUMON_ATTACH_STATE_ATTACHED);
}

static void put_drops(struct gpumon_readings *readings, const struct gpumon_drops *now,
		      const struct gpumon_drops *since)
{
	size_t used = readings->labels.used;

	for (size_t i = 0; i < gpumon_drops_fields.n; i++) {
		const struct gpumon_field *field = &gpumon_drops_fields.at[i];
		const struct gpumon_value *more =
			(const void *)((const char *)since + field->offset);
		const struct gpumon_value *known =
			(const void *)((const char *)now + field->offset);

		if (!known->known)
			continue;
		gpumon_labels_add(&readings->labels, "cause", field->name);
		put_own(readings, "probe_lost", GPUMON_METRIC_COUNTER,
			"Events that are in no statistic, by cause", *more);
		gpumon_labels_cut(&readings->labels, used);
	}
}

/* Probes of groups that are off, or whose driver is not there, say nothing. */
static void put_groups(struct gpumon_readings *readings, const struct gpumon_model *now,
		       const struct gpumon_model *since)
{
	struct gpumon_labels *labels = &readings->labels;

	for (size_t g = 0; g < now->n_groups; g++) {
		const struct gpumon_group *group = &now->groups[g];
		size_t used;

		gpumon_labels_cut(labels, 0);
		gpumon_labels_add(labels, "group", group->name);
		put_own(readings, "group_attached", GPUMON_METRIC_GAUGE,
			"1: the group of probes counts; 0: it is off, waits for its driver, or failed",
			is_attached(group->state));
		used = labels->used;
		for (size_t i = 0; i < group->n_probes && !gpumon_group_is_idle(group); i++) {
			const struct gpumon_probe *probe = &group->probes[i];

			gpumon_labels_cut(labels, used);
			gpumon_labels_add(labels, "probe", probe->name);
			gpumon_labels_add(labels, "module", probe->module);
			gpumon_labels_add(labels, "kind", gpumon_probe_kind_name(probe->kind));
			put_own(readings, "probe_attached", GPUMON_METRIC_GAUGE,
				"1: the probe is attached, and its events are counted",
				is_attached(probe->state));
			put_fields(readings, "gpumon_probe", "## Probes", &gpumon_probe_fields,
				   probe, &since->groups[g].probes[i]);
			put_drops(readings, &probe->dropped, &since->groups[g].probes[i].dropped);
		}
	}
}

static void put_rings(struct gpumon_readings *readings, const struct gpumon_model *now,
		      const struct gpumon_model *since, const struct gpumon_usage *usage)
{
	static const char place[] = "<!-- table drm_sched.rings -->", prefix[] = "gpumon_ring";

	for (size_t i = 0; i < now->n_rings; i++) {
		const struct gpumon_ring *ring = &now->rings[i];

		label_ring(readings, now, ring);
		put_fields(readings, prefix, place, &gpumon_ring_fields, ring, &since->rings[i]);
		put_level(readings, prefix, "queue_depth", place, level_of(ring->queue_depth));
		put_level(readings, prefix, "queue_depth_max", place,
			  level_of(ring->queue_depth_max));
		put_level(readings, prefix, "hw_depth", place, level_of(ring->hw_depth));
		put_level(readings, prefix, "hw_depth_max", place, level_of(ring->hw_depth_max));
		put_own(readings, "ring_parallel", GPUMON_METRIC_GAUGE,
			"1: the ring runs several jobs at once, so that the time of each is a share",
			gpumon_value_of(usage->parallel[i]));
	}
	for (size_t i = 0; i < now->n_histograms; i++) {
		const struct gpumon_histogram *histogram = &now->histograms[i];
		const struct gpumon_ring *ring =
			histogram->ring_id.known ? gpumon_model_ring(now, histogram->ring_id.v) :
						   NULL;

		if (!ring || !histogram->name || !strstr(histogram->name, "_ns"))
			continue;
		label_ring(readings, now, ring);
		gpumon_sums_add_histogram(readings->sums,
					  family_of(readings, prefix, histogram->name,
						    GPUMON_METRIC_HISTOGRAM, place),
					  labels_of(readings), &since->histograms[i]);
	}
}

static void put_column(struct gpumon_readings *readings, const char *prefix, const char *place,
		       const struct gpumon_column *now, const struct gpumon_column *since)
{
	switch (now->kind.v) {
	case GPUMON_COLUMN_KIND_GAUGE:
		put_level(readings, prefix, now->name, place, now->level);
		break;
	case GPUMON_COLUMN_KIND_HISTOGRAM:
		if (now->histogram.count.known && strstr(now->name, "_ns"))
			gpumon_sums_add_histogram(readings->sums,
						  family_of(readings, prefix, now->name,
							    GPUMON_METRIC_HISTOGRAM, place),
						  labels_of(readings), &since->histogram);
		break;
	default:
		if (now->value.known)
			put_count(readings, prefix, now->name, place, since->value);
	}
}

/* Tables of drivers describe themselves, so their metrics do. */
static void put_tables(struct gpumon_readings *readings, const struct gpumon_model *now,
		       const struct gpumon_model *since)
{
	struct gpumon_labels *labels = &readings->labels;

	/* Some have a row for each command of a driver. */
	gpumon_sums_leave(readings->sums, readings->left * 5);
	for (size_t t = 0; t < now->n_statistics; t++) {
		const struct gpumon_statistics *table = &now->statistics[t];
		char *prefix, *group, *place;

		if (gpumon_is_usage(table) || !table->group || !table->table)
			continue;
		prefix = gpumon_asprintf("gpumon_%s_%s", table->group, table->table);
		group = gpumon_asprintf("gpumon_%s", table->group);
		place = gpumon_asprintf("<!-- table %s.%s -->", table->group, table->table);
		for (size_t i = 0; i < table->n_rows; i++) {
			const struct gpumon_row *row = &table->rows[i];
			const struct gpumon_row *row_since = &since->statistics[t].rows[i];

			gpumon_labels_cut(labels, 0);
			for (size_t k = 0; k < row->n_labels; k++) {
				const struct gpumon_label *label = &row->labels[k];

				if (label->name && !strcmp(label->name, "device"))
					label_device(readings, now, label->value);
				else if (label->name && label->value &&
					 strcmp(label->value, "-") != 0)
					gpumon_labels_add(labels, label->name, label->value);
			}
			for (size_t k = 0; k < row->n_columns; k++) {
				const struct gpumon_column *column = &row->columns[k];

				/* "xids" of the table "xids". */
				if (column->name)
					put_column(readings,
						   strcmp(column->name, table->table) ? prefix :
											group,
						   place, column, &row_since->columns[k]);
			}
		}
		free(prefix);
		free(group);
		free(place);
	}
	gpumon_sums_leave(readings->sums, 0);
}

/* @now: has what GPUs are called */
static void put_usage(struct gpumon_readings *readings, const struct gpumon_model *now,
		      const struct gpumon_usage *usage)
{
	static const char place[] = "<!-- table drm_sched.usage -->";
	struct gpumon_labels *labels = &readings->labels;

	for (size_t i = 0; i < usage->n_rows; i++) {
		const struct gpumon_usage_row *row = &usage->rows[i];
		const struct {
			const char *name;
			struct gpumon_value value;
		} columns[] = {
			{ "jobs", row->sum.jobs },
			{ "gpu_ns", row->sum.gpu_ns },
			{ "queue_ns", row->sum.queue_ns },
			{ "errors", row->sum.errors },
		};

		gpumon_labels_cut(labels, 0);
		label_device(readings, now, row->device);
		if (row->other)
			gpumon_labels_add(labels, "cgroup", "(no room in the table)");
		else
			gpumon_container_labels(labels, readings->pods, row->container, row->path);
		for (size_t k = 0; k < sizeof(columns) / sizeof(columns[0]); k++)
			if (columns[k].value.known)
				put_count(readings, "gpumon_container", columns[k].name, place,
					  columns[k].value);
	}
}

static void put_container_memory(struct gpumon_readings *readings, const struct gpumon_usage *usage)
{
	static const char place[] = "<!-- processes -->";

	for (size_t i = 0; i < usage->n_groups; i++) {
		const struct gpumon_usage_group *group = &usage->groups[i];
		const struct {
			const char *name;
			struct gpumon_value value;
		} levels[] = {
			{ "vram_bytes", group->vram_bytes },
			{ "live_object_bytes", group->live_object_bytes },
		};

		gpumon_labels_cut(&readings->labels, 0);
		gpumon_container_labels(&readings->labels, readings->pods, group->container,
					group->path);
		for (size_t k = 0; k < sizeof(levels) / sizeof(levels[0]); k++)
			if (levels[k].value.known)
				gpumon_sums_add(readings->sums,
						family_of(readings, "gpumon_container",
							  levels[k].name, GPUMON_METRIC_GAUGE,
							  place),
						labels_of(readings), levels[k].value);
	}
}

/* What the kernel charges: also where gpumon sees no allocation. */
static void put_charged_memory(struct gpumon_readings *readings, const struct gpumon_model *now)
{
	struct gpumon_labels *labels = &readings->labels;
	uint32_t family = gpumon_sums_family(
		readings->sums, "gpumon_container", "dmem_bytes", GPUMON_METRIC_GAUGE,
		"Memory of the device that the kernel charges to the cgroup and those below it (dmem.current)");

	for (size_t i = 0; i < now->n_dmem; i++) {
		const struct gpumon_dmem *dmem = &now->dmem[i];

		gpumon_labels_cut(labels, 0);
		label_device(readings, now, dmem->device);
		gpumon_labels_add(labels, "region", dmem->region);
		gpumon_container_labels(labels, readings->pods, dmem->container, dmem->cgroup);
		if (dmem->bytes.known)
			gpumon_sums_add(readings->sums, family, labels_of(readings), dmem->bytes);
	}
}

static void put_event_ring(struct gpumon_readings *readings, const struct gpumon_event_ring *ring)
{
	static const char place[] = "## Event ring";
	const struct {
		const char *name;
		struct gpumon_value value;
	} counts[] = {
		{ "written", ring->written },
		{ "overwritten", ring->overwritten },
		{ "delivered", ring->delivered },
		{ "dropped", ring->dropped },
	};

	if (!ring->enabled.known)
		return;
	gpumon_labels_cut(&readings->labels, 0);
	put_level(readings, "gpumon_event_ring", "enabled", place, level_of(ring->enabled));
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		char key[32];

		snprintf(key, sizeof(key), "event ring %s", counts[i].name);
		if (counts[i].value.known)
			put_count(readings, "gpumon_event_ring", counts[i].name, place,
				  follow(&readings->of_source, key, counts[i].value));
	}
}

/* --- alerts */

static bool is_kind(const struct gpumon_alert *alert, const char *group, const char *kind)
{
	return alert->group && alert->kind && !strcmp(alert->group, group) &&
	       !strcmp(alert->kind, kind);
}

static bool has_probe(const struct gpumon_model *model, const char *name)
{
	for (size_t g = 0; g < model->n_groups; g++)
		for (size_t i = 0; i < model->groups[g].n_probes; i++) {
			const struct gpumon_probe *probe = &model->groups[g].probes[i];

			if (probe->name && !strcmp(probe->name, name))
				return is_attached(probe->state).v;
		}
	return false;
}

/* The log has what a probe has seen, too. */
static bool is_told_twice(const struct gpumon_model *now, const struct gpumon_alert *logged)
{
	if (is_kind(logged, "nvidia", "xid"))
		return has_probe(now, "nvidia_dev_xid") || has_probe(now, "nv_report_error");
	if (is_kind(logged, "amdgpu", "reset"))
		return has_probe(now, "amdgpu_device_gpu_recover");
	return false;
}

/* The code of a job that hangs is the number of its ring. */
static bool is_of_ring(const struct gpumon_alert *alert)
{
	return is_kind(alert, "drm_sched", "hang") || is_kind(alert, "drm_sched", "starved") ||
	       is_kind(alert, "drm_sched", "timeout");
}

/* The time of CLOCK_MONOTONIC in whole seconds since 1970. */
static struct gpumon_level seconds_of(uint64_t monotonic_ns)
{
	uint64_t now = gpumon_monotonic_ns(), wall = gpumon_clock_ns(CLOCK_REALTIME);
	uint64_t ago = now > monotonic_ns ? now - monotonic_ns : 0;

	return gpumon_level_of((int64_t)((wall > ago ? wall - ago : 0) / 1000000000));
}

static void label_alert(struct gpumon_readings *readings, const struct gpumon_model *now,
			const struct gpumon_alert *alert, const char *code)
{
	const struct gpumon_ring *ring = NULL;
	struct gpumon_labels *labels = &readings->labels;

	gpumon_labels_cut(labels, 0);
	gpumon_labels_add(labels, "group", alert->group);
	gpumon_labels_add(labels, "kind", alert->kind);
	if (is_of_ring(alert) && alert->code.known)
		ring = gpumon_model_ring(now, alert->code.v);
	if (ring)
		gpumon_labels_add(labels, "ring", ring->name);
	else if (!is_of_ring(alert))
		gpumon_labels_add(labels, "code", code);
	gpumon_labels_add(labels, "meaning", alert->meaning);
	label_device(readings, now, alert->device);
}

static void put_alert(struct gpumon_readings *readings, const struct gpumon_model *now,
		      const struct gpumon_alert *alert)
{
	struct gpumon_sums *sums = readings->sums;
	uint32_t alerts = gpumon_sums_family(
		sums, "gpumon", "alerts", GPUMON_METRIC_COUNTER,
		"Alerts of the driver: Xids, resets, jobs that hang; each counts, also a repeated one");
	uint32_t last = gpumon_sums_family(
		sums, "gpumon", "alert_last_timestamp_seconds", GPUMON_METRIC_GAUGE,
		"When the last alert of this kind came, in seconds since 1970");
	char code[32] = "";
	char *key;

	if (!alert->count.known)
		return;
	if (alert->code.known)
		snprintf(code, sizeof(code), "%" PRIu64, alert->code.v);
	label_alert(readings, now, alert, code);
	key = gpumon_asprintf("alert %s %s %s %s %s", alert->source ? alert->source : "kmod",
			      alert->group ? alert->group : "", alert->kind ? alert->kind : "",
			      alert->device ? alert->device : "", code);
	/* The log tells each only once. */
	gpumon_sums_keep(sums, alerts);
	gpumon_sums_keep(sums, last);
	gpumon_sums_count(sums, alerts, labels_of(readings),
			  follow(alert->source ? &readings->of_log : &readings->of_source, key,
				 alert->count));
	if (alert->time_ns.known)
		gpumon_sums_set(sums, last, labels_of(readings), seconds_of(alert->time_ns.v));
	free(key);
}

static void put_alerts(struct gpumon_readings *readings, const struct gpumon_model *now,
		       const struct gpumon_model *logged)
{
	struct gpumon_value lost = { 0 }, forgotten = { 0 };

	for (size_t i = 0; i < now->n_alerts; i++) {
		const struct gpumon_alert *alert = &now->alerts[i];

		put_alert(readings, now, alert);
		if (alert->lost.known && alert->lost.v >= lost.v)
			lost = alert->lost;
		if (alert->forgotten.known && alert->forgotten.v >= forgotten.v)
			forgotten = alert->forgotten;
	}
	for (size_t i = 0; i < logged->n_alerts; i++)
		if (!is_told_twice(now, &logged->alerts[i]))
			put_alert(readings, now, &logged->alerts[i]);
	gpumon_labels_cut(&readings->labels, 0);
	if (lost.known)
		put_own(readings, "alerts_lost", GPUMON_METRIC_COUNTER,
			"Alerts that the module could not tell",
			follow(&readings->of_source, "lost", lost));
	if (forgotten.known)
		put_own(readings, "alerts_forgotten", GPUMON_METRIC_COUNTER,
			"Alerts whose kind, device and code the module does not keep any more",
			follow(&readings->of_source, "forgotten", forgotten));
}

void gpumon_readings_log_losses(struct gpumon_readings *readings,
				const struct gpumon_log_losses *losses)
{
	const struct {
		const char *cause;
		uint64_t count;
	} causes[] = {
		{ "overwritten", losses->overwritten },
		{ "unreadable", losses->unreadable },
	};

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		char key[32];

		snprintf(key, sizeof(key), "log %s", causes[i].cause);
		gpumon_labels_cut(&readings->labels, 0);
		gpumon_labels_add(&readings->labels, "cause", causes[i].cause);
		put_own(readings, "log_records_lost", GPUMON_METRIC_COUNTER,
			"Records of the kernel's log that were not seen, by cause",
			follow(&readings->of_log, key, gpumon_value_of(causes[i].count)));
	}
}

/* --- readings */

/* The same source, and the same count. */
static bool goes_on(const struct gpumon_info *before, const struct gpumon_info *now)
{
	return before->source == now->source && before->since_ns.known == now->since_ns.known &&
	       before->since_ns.v == now->since_ns.v && before->period.v == now->period.v;
}

/* What no period has begins again with the source, and not with a reset. */
static bool is_new_source(const struct gpumon_readings *readings, const struct gpumon_info *now)
{
	const struct gpumon_info *before = &readings->before.info;

	return readings->any && !goes_on(before, now) &&
	       (before->source != now->source || now->period.v <= before->period.v);
}

uint32_t gpumon_readings_closed(const struct gpumon_readings *readings,
				const struct gpumon_model *model)
{
	const struct gpumon_info *before = &readings->before.info, *now = &model->info;

	if (!readings->any || before->source != now->source || !before->period.known ||
	    now->period.v != before->period.v + 1)
		return 0;
	return (uint32_t)before->period.v;
}

/* What @now has more than the reading before, or all of it if that was of another count. */
static void difference(struct gpumon_readings *readings, struct gpumon_model *since,
		       const struct gpumon_model *now, bool same)
{
	struct gpumon_model *before = &readings->before;

	if (!same) {
		gpumon_model_free(before);
		before->info.period = gpumon_value_of(now->info.period.v + 1);
	}
	gpumon_model_diff(since, before, now);
}

static void put_counts(struct gpumon_readings *readings, const struct gpumon_model *now,
		       const struct gpumon_model *since, const struct gpumon_usage *usage)
{
	struct gpumon_usage used;

	put_info(readings, now, since);
	put_groups(readings, now, since);
	put_rings(readings, now, since, usage);
	put_tables(readings, now, since);
	gpumon_usage_init(&used, since);
	gpumon_sums_leave(readings->sums, readings->left);
	put_usage(readings, now, &used);
	gpumon_sums_leave(readings->sums, 0);
	gpumon_usage_clear(&used);
}

static void take(struct gpumon_readings *readings, struct gpumon_model *model)
{
	gpumon_model_free(&readings->before);
	readings->before = *model;
	readings->any = true;
	memset(model, 0, sizeof(*model));
}

void gpumon_readings_close(struct gpumon_readings *readings, struct gpumon_model *model)
{
	struct gpumon_model since = { 0 };
	struct gpumon_usage usage;

	gpumon_containers_resolve(readings->containers, model);
	gpumon_devices_resolve(readings->devices, model);
	model->info.period = readings->before.info.period;
	difference(readings, &since, model, true);
	gpumon_usage_init(&usage, model);
	put_counts(readings, model, &since, &usage);
	gpumon_usage_clear(&usage);
	gpumon_model_free(&since);
	take(readings, model);
}

void gpumon_readings_add(struct gpumon_readings *readings, struct gpumon_model *model,
			 const struct gpumon_model *logged)
{
	bool same = readings->any && goes_on(&readings->before.info, &model->info);
	struct gpumon_model since = { 0 };
	struct gpumon_usage usage;

	if (is_new_source(readings, &model->info))
		forget(&readings->of_source);
	gpumon_containers_resolve(readings->containers, model);
	gpumon_devices_resolve(readings->devices, model);
	difference(readings, &since, model, same);
	gpumon_usage_init(&usage, model);
	put_counts(readings, model, &since, &usage);
	put_devices(readings, model);
	put_sensors(readings, model);
	gpumon_sums_leave(readings->sums, readings->left);
	put_container_memory(readings, &usage);
	put_charged_memory(readings, model);
	gpumon_sums_leave(readings->sums, 0);
	put_event_ring(readings, &model->event_ring);
	put_alerts(readings, model, logged);
	gpumon_usage_clear(&usage);
	gpumon_model_free(&since);
	take(readings, model);
}

void gpumon_readings_begin(struct gpumon_readings *readings)
{
	gpumon_sums_begin(readings->sums, gpumon_monotonic_ns());
}

void gpumon_readings_end(struct gpumon_readings *readings)
{
	gpumon_sums_end(readings->sums);
}
