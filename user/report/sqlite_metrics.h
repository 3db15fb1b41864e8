/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Metrics of GPUs as rows: a row for each value that a sample has, with the kernel that ran alone in it. */
#ifndef GPUMON_REPORT_SQLITE_METRICS_H
#define GPUMON_REPORT_SQLITE_METRICS_H

#include "metric_sets.h"
#include "sqlite_names.h"

/**
 * struct gpumon_sql_metrics - a zeroed one is empty
 * @sets: which metrics samples have
 * @any: there are samples
 * @profile: knows what ran in which sample; NULL: nothing is known
 */
struct gpumon_sql_metrics {
	struct gpumon_metric_sets sets;
	bool any;
	struct gpumon_profile *profile;
};

/* In the first pass. */
void gpumon_sql_metrics_look(struct gpumon_sql_metrics *metrics, uint32_t process,
			     const struct gpumon_record *record);
/* All definitions are known. The captures are read again, if there are samples. 0, or -1 likewise. */
int gpumon_sql_metrics_turn(struct gpumon_sql_metrics *metrics, struct gpumon_sql_names *names,
			    const char *const *paths, unsigned int count);
/* The rows of a sample that begins in the part. @first_ns: time 0 */
void gpumon_sql_metrics_put(struct gpumon_sql_metrics *metrics, struct gpumon_sql_names *names,
			    struct gpumon_sql_table *table, uint32_t process,
			    const struct gpumon_metric_values *values, uint64_t first_ns);
void gpumon_sql_metrics_clear(struct gpumon_sql_metrics *metrics);

/* Columns of the table, and those of them that are no whole numbers. */
#define GPUMON_SQL_METRIC_COLUMNS "process,device,start_ns,end_ns,kind,value,weight,operation_name"
#define GPUMON_SQL_METRIC_WIDTH	  8
#define GPUMON_SQL_METRIC_REALS	  (1u << 5 | 1u << 6)

#endif /* GPUMON_REPORT_SQLITE_METRICS_H */
