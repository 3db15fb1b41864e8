// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#ifdef GPUMON_SQLITE
#include <stdlib.h>
#include <string.h>

#include "profile_internal.h"
#include "sqlite_metrics.h"

void gpumon_sql_metrics_look(struct gpumon_sql_metrics *metrics, uint32_t process,
			     const struct gpumon_record *record)
{
	if (record->type == GPUMON_RECORD_METRIC_SET)
		gpumon_metric_sets_add(&metrics->sets, process, record);
	metrics->any |= record->type == GPUMON_RECORD_METRIC_SAMPLE;
}

int gpumon_sql_metrics_turn(struct gpumon_sql_metrics *metrics, struct gpumon_sql_names *names,
			    const char *const *paths, unsigned int count)
{
	const struct gpumon_profile_options options = { .gpu_only = true, .metric_samples = true };

	gpumon_metric_sets_name(&metrics->sets, names->tables, names->pool);
	for (unsigned int i = 0; i < metrics->sets.kind_count; i++) {
		const struct gpumon_metric_kind *kind = &metrics->sets.kinds[i];

		gpumon_sql_put(names->sql, "metric_kind", "isss", (int64_t)i + 1, kind->name,
			       gpumon_metric_name(kind), gpumon_metric_unit_key(kind->about));
	}
	return metrics->any ? gpumon_profile_load(paths, count, &options, &metrics->profile) : 0;
}

/* As the column of a table; -0 would be none. */
static int64_t real(double value)
{
	int64_t bits;

	value += 0.0;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* The operation that ran alone in a sample. */
static int64_t name_of(const struct gpumon_sql_metrics *metrics, struct gpumon_sql_names *names,
		       uint32_t process, const struct gpumon_metric_values *values)
{
	const struct gpumon_kernel_row *row = gpumon_metrics_row(
		metrics->profile, process, values->device, values->start_ns, values->end_ns);

	return row ? gpumon_sql_name(names, row->kind, row->mangled) : GPUMON_SQL_NULL;
}

void gpumon_sql_metrics_put(struct gpumon_sql_metrics *metrics, struct gpumon_sql_names *names,
			    struct gpumon_sql_table *table, uint32_t process,
			    const struct gpumon_metric_values *values, uint64_t first_ns)
{
	int64_t device = gpumon_sql_device(names, process, values->device);
	int64_t name = name_of(metrics, names, process, values);

	for (uint32_t i = 0; i < values->count; i++) {
		uint32_t number = values->set->numbers[i];
		struct gpumon_metric_sum sum = { 0 };
		int64_t *to;

		if (number == GPUMON_METRIC_NONE)
			continue;
		gpumon_metric_add(&sum, metrics->sets.kinds[number].about, &values->span,
				  gpumon_metric_value(values, i), 1);
		if (!sum.samples)
			continue;
		to = gpumon_sql_row(table);
		*to++ = process;
		*to++ = device;
		*to++ = (int64_t)(values->start_ns - first_ns);
		*to++ = (int64_t)(values->end_ns - first_ns);
		*to++ = (int64_t)number + 1;
		*to++ = real(sum.least);
		*to++ = real(sum.weight);
		*to = name;
	}
}

void gpumon_sql_metrics_clear(struct gpumon_sql_metrics *metrics)
{
	gpumon_profile_free(metrics->profile);
	gpumon_metric_sets_clear(&metrics->sets);
	free(metrics->sets.kinds);
}
#endif /* GPUMON_SQLITE */
