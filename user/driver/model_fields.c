// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>

#include "lib/memory.h"
#include "model_fields.h"

/* Of a member of the structure STRUCT: @json is its name in JSON. */
#define FIELD_AS(json, member, attr, kind, meaning, title, noun)                                   \
	{                                                                                          \
		json, attr, offsetof(STRUCT, member), GPUMON_FIELD_##kind, GPUMON_FIELD_##meaning, \
			title, noun                                                                \
	}
#define FIELD(member, attr, kind, meaning) \
	FIELD_AS(#member, member, attr, kind, meaning, NULL, NULL)
/* A field that is a column of the tables for people, too. */
#define COLUMN(title, member, attr, kind, meaning) \
	FIELD_AS(#member, member, attr, kind, meaning, title, NULL)
#define FIELDS(table)                                   \
	{                                               \
		table, sizeof(table) / sizeof(table[0]) \
	}

#define STRUCT struct gpumon_info
static const struct gpumon_field info_fields[] = {
	FIELD(version, GPUMON_A_INFO_VERSION, STRING, PLAIN),
	FIELD(schema, GPUMON_A_INFO_SCHEMA, U32, PLAIN),
	FIELD(source, 0, CONSTANT, SOURCE),
	FIELD(clock, GPUMON_A_INFO_CLOCK, STRING, PLAIN),
	FIELD(now_ns, GPUMON_A_INFO_NOW_NS, U64, PLAIN),
	FIELD(since_ns, GPUMON_A_INFO_SINCE_NS, U64, PLAIN),
	FIELD(period, GPUMON_A_INFO_PERIOD, U32, PLAIN),
	FIELD(possible_cpus, GPUMON_A_INFO_POSSIBLE_CPUS, U32, PLAIN),
	FIELD(max_rings, GPUMON_A_INFO_MAX_RINGS, U32, PLAIN),
	FIELD(rings, GPUMON_A_INFO_RINGS, U32, PLAIN),
	FIELD(rings_retired, GPUMON_A_INFO_RINGS_RETIRED, U64, COUNTER),
	FIELD(max_processes, GPUMON_A_INFO_MAX_PROCESSES, U32, PLAIN),
	FIELD(processes, GPUMON_A_INFO_PROCESSES, U32, PLAIN),
	FIELD(processes_exited, GPUMON_A_INFO_PROCESSES_EXITED, U64, COUNTER),
	FIELD(jobs_exited, GPUMON_A_INFO_JOBS_EXITED, U64, COUNTER),
	FIELD(jobs_unattributed, GPUMON_A_INFO_JOBS_UNATTRIBUTED, U64, COUNTER),
	FIELD(max_jobs, GPUMON_A_INFO_MAX_JOBS, U32, PLAIN),
	FIELD(memory_bytes, GPUMON_A_INFO_MEMORY_BYTES, U64, PLAIN),
};
#undef STRUCT
const struct gpumon_fields gpumon_info_fields = FIELDS(info_fields);

#define STRUCT struct gpumon_missing_option
static const struct gpumon_field missing_option_fields[] = {
	FIELD(option, GPUMON_A_OPTION_NAME, STRING, PLAIN),
	FIELD(lost, GPUMON_A_OPTION_LOST, STRING, PLAIN),
};
#undef STRUCT
const struct gpumon_fields gpumon_missing_option_fields = FIELDS(missing_option_fields);

#define STRUCT struct gpumon_event_ring
static const struct gpumon_field event_ring_fields[] = {
	FIELD(enabled, GPUMON_A_EVENT_RING_ENABLED, U32, BOOLEAN),
	FIELD(size_kib, GPUMON_A_EVENT_RING_SIZE_KIB, U32, PLAIN),
	FIELD(written, GPUMON_A_EVENT_RING_WRITTEN, U64, PLAIN),
	FIELD(overwritten, GPUMON_A_EVENT_RING_OVERWRITTEN, U64, PLAIN),
	FIELD(delivered, GPUMON_A_EVENT_RING_DELIVERED, U64, PLAIN),
	FIELD(pending, GPUMON_A_EVENT_RING_PENDING, U64, PLAIN),
	FIELD(dropped, GPUMON_A_EVENT_RING_DROPPED, U64, PLAIN),
};
#undef STRUCT
const struct gpumon_fields gpumon_event_ring_fields = FIELDS(event_ring_fields);

#define STRUCT struct gpumon_limits
static const struct gpumon_field limits_fields[] = {
	FIELD(hang_ms, GPUMON_A_LIMIT_HANG_MS, U32, PLAIN),
	FIELD(starved_ms, GPUMON_A_LIMIT_STARVED_MS, U32, PLAIN),
};
#undef STRUCT
const struct gpumon_fields gpumon_limits_fields = FIELDS(limits_fields);

#define STRUCT struct gpumon_group
static const struct gpumon_field group_fields[] = {
	COLUMN("GROUP", name, GPUMON_A_GROUP_NAME, STRING, PLAIN),
	COLUMN("STATE", state, GPUMON_A_GROUP_STATE, U32, STATE),
	FIELD(reason, GPUMON_A_GROUP_REASON, STRING, REASON),
	FIELD(enabled, GPUMON_A_GROUP_ENABLED, U32, BOOLEAN),
};
#undef STRUCT
const struct gpumon_fields gpumon_group_fields = FIELDS(group_fields);

#define STRUCT struct gpumon_probe
static const struct gpumon_field probe_fields[] = {
	COLUMN("PROBE", name, GPUMON_A_PROBE_NAME, STRING, PLAIN),
	COLUMN("MODULE", module, GPUMON_A_PROBE_MODULE, STRING, PLAIN),
	COLUMN("KIND", kind, GPUMON_A_PROBE_KIND, U32, PROBE_KIND),
	COLUMN("STATE", state, GPUMON_A_PROBE_STATE, U32, STATE),
	FIELD(reason, GPUMON_A_PROBE_REASON, STRING, REASON),
	COLUMN("SEEN", seen, GPUMON_A_PROBE_SEEN, U64, COUNTER),
	COLUMN("RECORDED", recorded, GPUMON_A_PROBE_RECORDED, U64, COUNTER),
};
#undef STRUCT
const struct gpumon_fields gpumon_probe_fields = FIELDS(probe_fields);

#define STRUCT struct gpumon_drops
static const struct gpumon_field drops_fields[] = {
	COLUMN("TABLE-FULL", table_full, GPUMON_A_DROPS_TABLE_FULL, U64, COUNTER),
	COLUMN("RECURSION", recursion, GPUMON_A_DROPS_RECURSION, U64, COUNTER),
	COLUMN("UNREADABLE", unreadable, GPUMON_A_DROPS_UNREADABLE, U64, COUNTER),
	COLUMN("MISSED", missed, GPUMON_A_DROPS_MISSED, U64, COUNTER),
	COLUMN("NO-MEMORY", no_memory, GPUMON_A_DROPS_NO_MEMORY, U64, COUNTER),
};
#undef STRUCT
const struct gpumon_fields gpumon_drops_fields = FIELDS(drops_fields);

/* No attributes: the module sends rings as rows of the table drm_sched.rings. */
#define STRUCT struct gpumon_ring
static const struct gpumon_field ring_fields[] = {
	FIELD(id, 0, U64, PLAIN),
	COLUMN("DEVICE", device, 0, STRING, PLAIN),
	FIELD_AS("ring", name, 0, STRING, PLAIN, "RING", NULL),
	FIELD(live, 0, U64, PLAIN),
	FIELD(live_max, 0, U64, PLAIN),
	COLUMN("BUSY", busy_ns, 0, U64, SHARE),
	COLUMN("QUEUED", queued, 0, U64, RATE),
	COLUMN("RUN", run, 0, U64, RATE),
	COLUMN("DONE", done, 0, U64, RATE),
	COLUMN("ERRORS", errors, 0, U64, COUNTER),
	COLUMN("KILLED", killed, 0, U64, COUNTER),
	COLUMN("DEP-WAITS", dependency_waits, 0, U64, COUNTER),
	COLUMN("UNTRACKED", untracked, 0, U64, COUNTER),
	FIELD(jobs_table_full, 0, U64, COUNTER),
	FIELD(clock_backwards, 0, U64, COUNTER),
	FIELD(abandoned, 0, U64, COUNTER),
};
#undef STRUCT
const struct gpumon_fields gpumon_ring_fields = FIELDS(ring_fields);

#define STRUCT				 struct gpumon_process
#define COUNT(member, attr, title, noun) FIELD_AS(#member, member, attr, U64, RATE, title, noun)
static const struct gpumon_field process_fields[] = {
	FIELD(id, GPUMON_A_PROCESS_ID, U64, PLAIN),
	FIELD(pid, GPUMON_A_PROCESS_PID, U32, PLAIN),
	FIELD(comm, GPUMON_A_PROCESS_COMM, STRING, PLAIN),
	FIELD(start_ns, GPUMON_A_PROCESS_START_NS, U64, PLAIN),
	FIELD(alive, GPUMON_A_PROCESS_ALIVE, U32, BOOLEAN),
#define FIRST_COUNT 5
	COUNT(jobs, GPUMON_A_PROCESS_JOBS, "JOBS", "jobs"),
	COUNT(submissions, GPUMON_A_PROCESS_SUBMISSIONS, "SUBMISSIONS", "submissions"),
	COUNT(allocated_bytes, GPUMON_A_PROCESS_ALLOCATED_BYTES, "ALLOCATED", "allocated"),
	COUNT(mapped_bytes, GPUMON_A_PROCESS_MAPPED_BYTES, "MAPPED", "mapped"),
	COUNT(ioctls, GPUMON_A_PROCESS_IOCTLS, "IOCTLS", "ioctls"),
	COUNT(faults, GPUMON_A_PROCESS_FAULTS, "FAULTS", "faults"),
	COUNT(opens, GPUMON_A_PROCESS_OPENS, "OPENS", "opens"),
	FIELD(open_handles, GPUMON_A_PROCESS_OPEN_HANDLES, U64, PLAIN),
	FIELD(vram_bytes, GPUMON_A_PROCESS_VRAM_BYTES, U64, PLAIN),
	FIELD(live_object_bytes, GPUMON_A_PROCESS_LIVE_OBJECT_BYTES, U64, PLAIN),
	FIELD(cgroup_id, GPUMON_A_PROCESS_CGROUP_ID, U64, PLAIN),
	FIELD(cgroup, GPUMON_A_PROCESS_CGROUP, STRING, PLAIN),
	FIELD(container, 0, STRING, PLAIN),
	FIELD(container_pid, 0, U64, PLAIN),
};
#undef STRUCT
const struct gpumon_fields gpumon_process_fields = FIELDS(process_fields);
const struct gpumon_fields gpumon_process_counts = { process_fields + FIRST_COUNT,
						     GPUMON_PROCESS_COUNTS };

#define STRUCT struct gpumon_layout
static const struct gpumon_field layout_fields[] = {
	COLUMN("GROUP", group, GPUMON_A_LAYOUT_GROUP, STRING, PLAIN),
	COLUMN("MODULE", module, GPUMON_A_LAYOUT_MODULE, STRING, PLAIN),
	FIELD(type, GPUMON_A_LAYOUT_TYPE, STRING, PLAIN),
	FIELD(member, GPUMON_A_LAYOUT_MEMBER, STRING, PLAIN),
	FIELD(offset, GPUMON_A_LAYOUT_OFFSET, U32, PLAIN),
	FIELD(size, GPUMON_A_LAYOUT_SIZE, U32, PLAIN),
	FIELD(reason, GPUMON_A_LAYOUT_REASON, STRING, REASON),
};
#undef STRUCT
const struct gpumon_fields gpumon_layout_fields = FIELDS(layout_fields);

/* Of all counts of an alert none is subtracted: a difference has the last alerts as they are. */
#define STRUCT struct gpumon_alert
static const struct gpumon_field alert_fields[] = {
	FIELD(time_ns, GPUMON_A_ALERT_TIME_NS, U64, PLAIN),
	COLUMN("GROUP", group, GPUMON_A_ALERT_GROUP, STRING, PLAIN),
	COLUMN("KIND", kind, GPUMON_A_ALERT_KIND, STRING, PLAIN),
	COLUMN("DEVICE", device, GPUMON_A_ALERT_DEVICE, STRING, DEVICE),
	COLUMN("CODE", code, GPUMON_A_ALERT_CODE, U32, PLAIN),
	FIELD(meaning, 0, CONSTANT, PLAIN),
	FIELD(process, 0, STRING, PLAIN),
	FIELD(pid, 0, U64, PLAIN),
	FIELD(message, GPUMON_A_ALERT_MESSAGE, STRING, PLAIN),
	FIELD(count, GPUMON_A_ALERT_COUNT, U64, PLAIN),
	FIELD(lost, GPUMON_A_ALERT_LOST, U64, PLAIN),
	FIELD(forgotten, GPUMON_A_ALERT_FORGOTTEN, U64, PLAIN),
	FIELD(source, 0, CONSTANT, SOURCE),
};
#undef STRUCT
const struct gpumon_fields gpumon_alert_fields = FIELDS(alert_fields);

#define STRUCT struct gpumon_cgroup
static const struct gpumon_field cgroup_fields[] = {
	FIELD_AS("cgroup_id", id, 0, U64, PLAIN, NULL, NULL),
	FIELD_AS("cgroup", path, 0, STRING, PLAIN, NULL, NULL),
	FIELD(container, 0, STRING, PLAIN),
};
#undef STRUCT
const struct gpumon_fields gpumon_cgroup_fields = FIELDS(cgroup_fields);

#define STRUCT struct gpumon_dmem
static const struct gpumon_field dmem_fields[] = {
	FIELD(container, 0, STRING, PLAIN), FIELD(cgroup, 0, STRING, PLAIN),
	FIELD(region, 0, STRING, PLAIN),    FIELD(device, 0, STRING, PLAIN),
	FIELD(bytes, 0, U64, PLAIN),	    FIELD(capacity_bytes, 0, U64, PLAIN),
};
#undef STRUCT
const struct gpumon_fields gpumon_dmem_fields = FIELDS(dmem_fields);

#define STRUCT struct gpumon_device
static const struct gpumon_field device_fields[] = {
	COLUMN("DEVICE", address, 0, STRING, PLAIN),
	COLUMN("MODEL", model, 0, STRING, PLAIN),
	COLUMN("UUID", uuid, 0, STRING, PLAIN),
	FIELD(vendor_id, 0, U32, PLAIN),
	FIELD(device_id, 0, U32, PLAIN),
};
#undef STRUCT
const struct gpumon_fields gpumon_device_fields = FIELDS(device_fields);

void gpumon_fields_free(const struct gpumon_fields *fields, void *of)
{
	for (size_t i = 0; i < fields->n; i++)
		if (fields->at[i].kind == GPUMON_FIELD_STRING)
			free(*(char **)((char *)of + fields->at[i].offset));
}

void gpumon_fields_copy(const struct gpumon_fields *fields, void *of)
{
	for (size_t i = 0; i < fields->n; i++) {
		char **string = (char **)((char *)of + fields->at[i].offset);

		if (fields->at[i].kind == GPUMON_FIELD_STRING && *string)
			*string = gpumon_strdup(*string);
	}
}

void gpumon_model_copy_alert(struct gpumon_model *model, const struct gpumon_alert *alert)
{
	struct gpumon_alert *copy = gpumon_model_add_alert(model);

	*copy = *alert;
	gpumon_fields_copy(&gpumon_alert_fields, copy);
}

void gpumon_fields_subtract(const struct gpumon_fields *fields, void *diff, const void *before)
{
	for (size_t i = 0; i < fields->n; i++) {
		size_t offset = fields->at[i].offset;
		struct gpumon_value *value = (struct gpumon_value *)((char *)diff + offset);

		if (gpumon_field_counts(&fields->at[i]))
			*value = gpumon_value_subtract(
				*value,
				*(const struct gpumon_value *)((const char *)before + offset));
	}
}
