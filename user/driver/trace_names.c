// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "lib/wait.h"
#include "trace_names.h"

#define RINGS_NS	 1000000000ULL
#define RINGS_UNKNOWN_NS 100000000ULL

int gpumon_trace_names_read(struct gpumon_trace_names *names, struct gpumon_error *err)
{
	names->read_ns = gpumon_monotonic_ns();
	return gpumon_source_read(names->source, GPUMON_PART_RINGS | GPUMON_PART_STATISTICS, 0,
				  &names->model, err);
}

const struct gpumon_ring *gpumon_trace_names_ring(void *data, unsigned int id)
{
	struct gpumon_trace_names *names = data;
	const struct gpumon_ring *ring = gpumon_model_ring(&names->model, id);
	uint64_t age = gpumon_monotonic_ns() - names->read_ns;
	/*
	 * A ring exists before its first event can be read. With BPF, another look costs nothing.
	 */
	bool look = !ring && names->source->bpf && names->events_ns >= names->read_ns;
	struct gpumon_error err;

	/* Ring numbers are reused, so a known ring is looked up again, too. */
	if (age < (ring ? RINGS_NS : RINGS_UNKNOWN_NS) && !look)
		return ring;
	/* On failure the number is shown instead of the name. */
	(void)gpumon_trace_names_read(names, &err);
	return gpumon_model_ring(&names->model, id);
}

/* The labels of a row as one text, in a buffer that the next call reuses. */
static const char *row_text(struct gpumon_trace_names *names, const struct gpumon_row *row)
{
	size_t at = 0;

	names->row_text[0] = '\0';
	for (size_t i = 0; i < row->n_labels && at < sizeof(names->row_text); i++)
		at += (size_t)snprintf(names->row_text + at, sizeof(names->row_text) - at, "%s%s",
				       i ? "/" : "",
				       row->labels[i].value ? row->labels[i].value : "-");
	return names->row_text;
}

static const struct gpumon_row *model_row(const struct gpumon_model *model, const char *group,
					  const char *table, unsigned int number)
{
	for (size_t i = 0; i < model->n_statistics; i++) {
		const struct gpumon_statistics *statistics = &model->statistics[i];

		if (!statistics->group || strcmp(statistics->group, group) != 0 ||
		    !statistics->table || strcmp(statistics->table, table) != 0)
			continue;
		for (size_t r = 0; r < statistics->n_rows; r++)
			if (statistics->rows[r].number.known &&
			    statistics->rows[r].number.v == number)
				return &statistics->rows[r];
	}
	return NULL;
}

const char *gpumon_trace_names_row(void *data, const char *group, const char *table,
				   unsigned int number)
{
	struct gpumon_trace_names *names = data;
	const struct gpumon_row *row = model_row(&names->model, group, table, number);
	struct gpumon_error err;

	/*
	 * Rows stay, and exist before their first event can be read. So one look after each reading
	 * is enough. The event's time does not help, since it may be that of the beginning.
	 */
	if (!row && names->events_ns >= names->read_ns) {
		(void)gpumon_trace_names_read(names, &err);
		row = model_row(&names->model, group, table, number);
	}
	/* With BPF the files of both drivers are of one kind, and rows have different numbers. */
	if (!row && names->source->bpf && !strcmp(group, "nvidia"))
		row = model_row(&names->model, "nvidia_uvm", table, number);
	return row ? row_text(names, row) : NULL;
}

void gpumon_trace_names_free(struct gpumon_trace_names *names)
{
	gpumon_model_free(&names->model);
}
