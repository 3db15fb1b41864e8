// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The tables of drm_vblank, nvidia and nvidia_uvm, and drm_sched.usage, with the module's columns in its order. Columns
 * that system calls and tracepoints cannot provide are present, but unknown.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kmod/uapi/gpumon_nvidia_commands.h"
#include "alert_message.h"
#include "bpf_fill.h"

#define MINOR_MODESET 254
#define MINOR_CTL     255
/* The low bits of a command are its number within the driver. */
#define COMMAND_NUMBER(command) ((command)&0xff)

/* The source of a column's value; NONE: not available here. */
#define NONE (-1)

struct column {
	const char *name;
	enum gpumon_column_kind kind;
	int word;
};

#define COUNTER(_name, _word)                                                    \
	{                                                                        \
		.name = _name, .kind = GPUMON_COLUMN_KIND_COUNTER, .word = _word \
	}
#define UNKNOWN(_name, _kind)                                                   \
	{                                                                       \
		.name = _name, .kind = GPUMON_COLUMN_KIND_##_kind, .word = NONE \
	}

static const struct column crtc_columns[] = {
	COUNTER("vblanks", SOURCE_CRTC_VBLANKS),
	COUNTER("high_precision", SOURCE_CRTC_HIGH_PRECISION),
	UNKNOWN("missed", COUNTER),
	UNKNOWN("repeated", COUNTER),
	UNKNOWN("late", COUNTER),
	UNKNOWN("off_gaps", COUNTER),
	UNKNOWN("interval_ns", HISTOGRAM),
	UNKNOWN("jitter_ns", HISTOGRAM),
	UNKNOWN("refresh_millihertz", GAUGE),
	COUNTER("queued", SOURCE_CRTC_QUEUED),
	COUNTER("delivered", SOURCE_CRTC_DELIVERED),
	UNKNOWN("queue_to_delivery_ns", HISTOGRAM),
	UNKNOWN("vblank_to_delivery_ns", HISTOGRAM),
	UNKNOWN("early", COUNTER),
	COUNTER("ambiguous", SOURCE_CRTC_AMBIGUOUS),
	UNKNOWN("untracked", COUNTER),
	COUNTER("null_file", SOURCE_CRTC_NULL_FILE),
	UNKNOWN("requests_table_full", COUNTER),
};

static const struct column device_columns[] = {
	COUNTER("opens", SOURCE_DEVICE_OPENS),
	UNKNOWN("opens_failed", COUNTER),
	UNKNOWN("opens_untracked", COUNTER),
	COUNTER("closes", SOURCE_DEVICE_CLOSES),
	UNKNOWN("open_handles", GAUGE),
	COUNTER("ioctls", SOURCE_DEVICE_IOCTLS),
	COUNTER("ioctls_failed", SOURCE_DEVICE_IOCTLS_FAILED),
	COUNTER("mmaps", SOURCE_DEVICE_MMAPS),
	COUNTER("mmaps_failed", SOURCE_DEVICE_MMAPS_FAILED),
	COUNTER("mapped_bytes", SOURCE_DEVICE_MAPPED_BYTES),
	UNKNOWN("faults", COUNTER),
	UNKNOWN("vma_opens", COUNTER),
	UNKNOWN("vma_releases", COUNTER),
	UNKNOWN("polls", COUNTER),
};

static const struct column usage_columns[] = {
	COUNTER("jobs", SOURCE_USAGE_JOBS),
	COUNTER("gpu_ns", SOURCE_USAGE_GPU_NS),
	COUNTER("queue_ns", SOURCE_USAGE_QUEUE_NS),
	COUNTER("errors", SOURCE_USAGE_ERRORS),
};

static const char *const family_groups[] = {
	[SOURCE_NVIDIA] = "nvidia",
	[SOURCE_NVIDIA_UVM] = "nvidia_uvm",
};

static struct gpumon_row *add_row(struct gpumon_model *model, const char *group, const char *table,
				  unsigned int id)
{
	struct gpumon_statistics *statistics = gpumon_model_statistics(model, group, table);

	if (!statistics) {
		statistics = gpumon_model_add_statistics(model);
		if (!statistics)
			return NULL;
		statistics->group = strdup(group);
		statistics->table = strdup(table);
		if (!statistics->group || !statistics->table)
			return NULL;
	}
	return gpumon_statistics_add_row(statistics, gpumon_value_of(id));
}

static int add_label(struct gpumon_row *row, const char *name, const char *value, bool number)
{
	struct gpumon_label *label = gpumon_row_add_label(row);

	if (!label)
		return -1;
	label->number = number;
	label->name = strdup(name);
	label->value = strdup(value);
	return label->name && label->value ? 0 : -1;
}

static int add_number(struct gpumon_row *row, const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	return add_label(row, name, text, true);
}

static struct gpumon_column *add_column(struct gpumon_row *row, const char *name,
					enum gpumon_column_kind kind)
{
	struct gpumon_column *column = gpumon_row_add_column(row);

	if (!column)
		return NULL;
	column->kind = gpumon_value_of(kind);
	column->name = strdup(name);
	return column->name ? column : NULL;
}

static int add_counter(struct gpumon_row *row, const char *name, uint64_t value)
{
	struct gpumon_column *column = add_column(row, name, GPUMON_COLUMN_KIND_COUNTER);

	if (!column)
		return -1;
	column->value = gpumon_value_of(value);
	return 0;
}

static int add_columns(struct gpumon_row *row, const struct column *columns, size_t n,
		       const __u64 *words)
{
	for (size_t i = 0; i < n; i++) {
		struct gpumon_column *column = add_column(row, columns[i].name, columns[i].kind);

		if (!column)
			return -1;
		if (columns[i].word != NONE)
			column->value = gpumon_value_of(words[columns[i].word]);
	}
	return 0;
}

#define COLUMNS(columns) columns, sizeof(columns) / sizeof(*(columns))

int gpumon_source_crtc(struct gpumon_model *model, unsigned int id, const struct source_crtc *crtc)
{
	struct gpumon_row *row = add_row(model, "drm_vblank", "crtcs", id);
	bool device = strcmp(crtc->device, "-") != 0;

	if (!row || add_label(row, "device", crtc->device, false) ||
	    add_number(row, "crtc", crtc->crtc) ||
	    add_columns(row, COLUMNS(crtc_columns), crtc->words))
		return -1;
	/* Vblanks of a device are counted in the row without a device. */
	if (device) {
		gpumon_row_column(row, "vblanks")->value.known = false;
		gpumon_row_column(row, "high_precision")->value.known = false;
	}
	return 0;
}

int gpumon_source_usage(struct gpumon_model *model, unsigned int id,
			const struct source_usage *usage, const struct source_ring *rings,
			unsigned int attached)
{
	struct gpumon_row *row = add_row(model, "drm_sched", "usage", id);
	const char *device = usage->device, *name = usage->ring;
	char text[2][SOURCE_NAME_LEN + 1];

	/* A ring may have become that of its class since. */
	for (size_t i = 0; i < SOURCE_RINGS && usage->ring_key; i++) {
		if (rings[i].ready && rings[i].key == usage->ring_key)
			name = rings[i].name;
	}
	if (id == SOURCE_USAGE_OTHER) {
		device = "-";
		name = "other";
	}
	snprintf(text[0], sizeof(text[0]), "%.*s", SOURCE_NAME_LEN, device);
	snprintf(text[1], sizeof(text[1]), "%.*s", SOURCE_NAME_LEN, name);
	if (!row || add_label(row, "device", text[0], false) ||
	    add_label(row, "ring", text[1], false) || add_number(row, "process", usage->process) ||
	    add_number(row, "client", usage->client) || add_number(row, "cgroup", 0) ||
	    add_columns(row, COLUMNS(usage_columns), usage->words))
		return -1;
	if (!(attached & 1U << SOURCE_SCHED_RESULT))
		gpumon_row_column(row, "errors")->value.known = false;
	return 0;
}

int gpumon_source_device(struct gpumon_model *model, unsigned int id,
			 const struct source_device *device, const char *name)
{
	struct gpumon_row *row;
	char text[32];

	if (device->family >= SOURCE_NVIDIA_FAMILIES)
		return 0;
	if (name && *name)
		snprintf(text, sizeof(text), "%s", name);
	else if (device->family == SOURCE_NVIDIA_UVM)
		snprintf(text, sizeof(text), device->minor ? "nvidia-uvm-tools" : "nvidia-uvm");
	else if (device->minor == MINOR_CTL)
		snprintf(text, sizeof(text), "nvidiactl");
	else if (device->minor == MINOR_MODESET)
		snprintf(text, sizeof(text), "nvidia-modeset");
	else
		snprintf(text, sizeof(text), "minor%u", device->minor);
	row = add_row(model, family_groups[device->family], "devices", id);
	if (!row || add_label(row, "device", text, false) ||
	    add_number(row, "minor", device->minor))
		return -1;
	return add_columns(row, COLUMNS(device_columns), device->words);
}

static const char *const command_names[256] = {
#define COMMAND(number, name) [number] = name,
	GPUMON_NVIDIA_COMMANDS(COMMAND)
#undef COMMAND
};

/* nvidia-uvm numbers its commands in another way. */
static const char *command_name(const struct source_command *command)
{
	const char *name = command_names[COMMAND_NUMBER(command->command)];

	return command->family == SOURCE_NVIDIA && name ? name : "-";
}

int gpumon_source_command(struct gpumon_model *model, unsigned int id,
			  const struct source_command *command)
{
	bool other = id >= SOURCE_COMMANDS;
	struct gpumon_column *column;
	char text[16], number[16];
	struct gpumon_row *row;

	if (command->family >= SOURCE_NVIDIA_FAMILIES)
		return 0;
	snprintf(text, sizeof(text), "0x%08x", command->command);
	snprintf(number, sizeof(number), "%u", COMMAND_NUMBER(command->command));
	row = add_row(model, family_groups[command->family], "ioctls", id);
	if (!row || add_label(row, "command", other ? "other" : text, false) ||
	    add_label(row, "number", other ? "" : number, true) ||
	    add_label(row, "name", other ? "" : command_name(command), false) ||
	    add_counter(row, "ioctls", command->count) ||
	    add_counter(row, "failed", command->failed) ||
	    (command->family == SOURCE_NVIDIA && add_counter(row, "rm_failed", command->rm_failed)))
		return -1;
	column = add_column(row, "duration_ns", GPUMON_COLUMN_KIND_HISTOGRAM);
	if (!column)
		return -1;
	return gpumon_source_histogram(&column->histogram, (const uint64_t *)command->buckets,
				       SOURCE_LATENCY_BUCKETS, command->duration.sum,
				       command->duration.max, command->duration.not_min);
}

int gpumon_source_xid(struct gpumon_model *model, unsigned int id, const struct source_xid *xid)
{
	struct gpumon_row *row = add_row(model, "nvidia", "xids", id);
	const char *meaning = gpumon_xid_meaning(xid->code);
	struct gpumon_alert *alert;

	if (!row || add_label(row, "device", xid->device, false) ||
	    add_number(row, "code", xid->code) ||
	    add_label(row, "meaning", meaning ? meaning : "-", false) ||
	    add_counter(row, "xids", xid->count))
		return -1;
	alert = gpumon_model_add_alert(model);
	if (!alert)
		return -1;
	alert->time_ns = gpumon_value_of(xid->time_ns);
	alert->code = gpumon_value_of(xid->code);
	alert->count = gpumon_value_of(xid->count);
	alert->lost = gpumon_value_of(0);
	alert->group = strdup("nvidia");
	alert->kind = strdup("xid");
	alert->device = strndup(xid->device, sizeof(xid->device));
	alert->message = strndup(xid->message, sizeof(xid->message));
	alert->source = GPUMON_ALERT_SOURCE_BPF;
	if (!alert->group || !alert->kind || !alert->device || !alert->message)
		return -1;
	gpumon_alert_complete(alert);
	return 0;
}
