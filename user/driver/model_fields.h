/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The fields of the model's structures, each described once: by these tables messages are parsed,
 * JSON and tables are written, readings are copied and subtracted, and strings are freed. A new number of the
 * module is a member in model.h and a line here.
 */
#ifndef GPUMON_DRIVER_MODEL_FIELDS_H
#define GPUMON_DRIVER_MODEL_FIELDS_H

#include "model.h"

enum gpumon_field_kind {
	GPUMON_FIELD_U32,      /* struct gpumon_value, 32 bits in a message */
	GPUMON_FIELD_U64,      /* struct gpumon_value */
	GPUMON_FIELD_S64,      /* struct gpumon_level */
	GPUMON_FIELD_STRING,   /* char *, allocated */
	GPUMON_FIELD_CONSTANT, /* const char *, of the program itself */
	GPUMON_FIELD_FLAG,     /* bool */
};

enum gpumon_field_meaning {
	GPUMON_FIELD_PLAIN,	 /* a name, a time, a level, a limit */
	GPUMON_FIELD_COUNTER,	 /* a difference subtracts it */
	GPUMON_FIELD_RATE,	 /* the same, which people see per second in a difference */
	GPUMON_FIELD_SHARE,	 /* the same, in ns, which people see in percent of the time */
	GPUMON_FIELD_BOOLEAN,	 /* true and false in JSON */
	GPUMON_FIELD_STATE,	 /* enum gpumon_attach_state, by name in JSON */
	GPUMON_FIELD_PROBE_KIND, /* enum gpumon_probe_kind, by name in JSON */
	GPUMON_FIELD_REASON,	 /* none is "" in JSON */
	GPUMON_FIELD_DEVICE,	 /* "-" is an unknown one */
	GPUMON_FIELD_SOURCE,	 /* NULL is "kmod" */
};

/**
 * struct gpumon_field - a member of a structure
 * @name: name in JSON, with the unit; NULL: not there
 * @attr: netlink attribute; 0: it is in no message
 * @offset: where it is
 * @kind: its type
 * @meaning: what its value is
 * @title: heading of its column of "stat"; NULL: it has none, or one that more is known about
 * @noun: noun in "5 that exited, with 7 jobs, 3.00MiB allocated"
 */
struct gpumon_field {
	const char *name;
	unsigned short attr;
	unsigned short offset;
	enum gpumon_field_kind kind : 8;
	enum gpumon_field_meaning meaning : 8;
	const char *title;
	const char *noun;
};

/* A difference subtracts it. */
static inline bool gpumon_field_counts(const struct gpumon_field *field)
{
	return field->meaning == GPUMON_FIELD_COUNTER || field->meaning == GPUMON_FIELD_RATE ||
	       field->meaning == GPUMON_FIELD_SHARE;
}

/* In the order of JSON, and of columns. */
struct gpumon_fields {
	const struct gpumon_field *at;
	size_t n;
};

extern const struct gpumon_fields gpumon_info_fields;
extern const struct gpumon_fields gpumon_missing_option_fields;
extern const struct gpumon_fields gpumon_event_ring_fields;
extern const struct gpumon_fields gpumon_limits_fields;
extern const struct gpumon_fields gpumon_group_fields;
extern const struct gpumon_fields gpumon_probe_fields;
extern const struct gpumon_fields gpumon_drops_fields;
extern const struct gpumon_fields gpumon_ring_fields;
extern const struct gpumon_fields gpumon_process_fields;
extern const struct gpumon_fields gpumon_layout_fields;
extern const struct gpumon_fields gpumon_alert_fields;
extern const struct gpumon_fields gpumon_cgroup_fields;
extern const struct gpumon_fields gpumon_dmem_fields;
extern const struct gpumon_fields gpumon_device_fields;

/* The counters of a process. */
#define GPUMON_PROCESS_COUNTS 7
extern const struct gpumon_fields gpumon_process_counts;

static inline struct gpumon_value gpumon_process_count_of(const struct gpumon_process *process,
							  size_t i)
{
	return *(const struct gpumon_value *)((const char *)process +
					      gpumon_process_counts.at[i].offset);
}

/*
 * Unknown if either value is. A counter that went back restarted in between (its ring was
 * recycled), so its whole value counts.
 */
static inline struct gpumon_value gpumon_value_subtract(struct gpumon_value after,
							struct gpumon_value before)
{
	if (!after.known || !before.known)
		return (struct gpumon_value){ 0 };
	return gpumon_value_of(after.v >= before.v ? after.v - before.v : after.v);
}

/* A sum is known if any of its parts is. */
static inline void gpumon_value_add(struct gpumon_value *sum, struct gpumon_value value)
{
	sum->v += value.v;
	sum->known |= value.known;
}

/* How long what a reading or a difference counts took, ns; 0 if that is unknown. */
static inline uint64_t gpumon_model_length_ns(const struct gpumon_model *model)
{
	const struct gpumon_info *info = &model->info;

	if (model->interval_ns)
		return model->interval_ns;
	return info->now_ns.known && info->since_ns.known && info->now_ns.v > info->since_ns.v ?
		       info->now_ns.v - info->since_ns.v :
		       0;
}

/* Free the strings of a structure. */
void gpumon_fields_free(const struct gpumon_fields *fields, void *of);
/* Give a structure that was assigned from another one strings of its own. */
void gpumon_fields_copy(const struct gpumon_fields *fields, void *of);
/* Adds a copy of an alert to a model. */
void gpumon_model_copy_alert(struct gpumon_model *model, const struct gpumon_alert *alert);
/* Subtract the counters of @before from those of @diff, a copy of the later structure. */
void gpumon_fields_subtract(const struct gpumon_fields *fields, void *diff, const void *before);

#endif /* GPUMON_DRIVER_MODEL_FIELDS_H */
