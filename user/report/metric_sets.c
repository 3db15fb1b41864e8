// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "metric_sets.h"

/* Different metrics. A GPU counts a dozen at the same time. */
#define KINDS_MAX 256

void gpumon_metric_sets_add(struct gpumon_metric_sets *sets, uint32_t process,
			    const struct gpumon_record *record)
{
	struct gpumon_record_metric_set head;
	struct gpumon_metric_set *set;
	size_t room = record->size > sizeof(head) ? (record->size - sizeof(head)) / 4 : 0;
	struct gpumon_key key;
	bool added;

	gpumon_record_copy(&head, sizeof(head), record);
	key = (struct gpumon_key){ { process, head.device, head.set } };
	set = GPUMON_KEYS_VALUE(&sets->keys, &key, sets->sets, sets->room, &added);
	if (!added)
		return;
	set->process = process;
	set->device = head.device;
	set->count = head.count < room ? head.count : (uint32_t)room;
	set->active = GPUMON_METRIC_NONE;
	set->numbers = gpumon_calloc((size_t)set->count + 1, sizeof(*set->numbers));
	memcpy(set->numbers, (const char *)record + sizeof(head),
	       set->count * sizeof(*set->numbers));
}

static int by_importance(const void *a, const void *b)
{
	const struct gpumon_metric_kind *x = a, *y = b;
	int first = gpumon_metric_find(x->name), second = gpumon_metric_find(y->name);

	return first != second ? (first < second ? -1 : 1) : strcmp(x->name, y->name);
}

/* Each text is one pointer. */
static const char *name_of(const struct gpumon_metric_set *set, uint32_t place,
			   const struct gpumon_tables *tables, struct gpumon_pool *pool)
{
	const char *name =
		gpumon_tables_string(&tables->processes[set->process], set->numbers[place]);

	return gpumon_pool_text(pool, name ? name : "[unknown metric]");
}

static uint32_t find_kind(const struct gpumon_metric_sets *sets, const char *name)
{
	for (uint32_t i = 0; i < sets->kind_count; i++) {
		if (sets->kinds[i].name == name)
			return i;
	}
	return GPUMON_METRIC_NONE;
}

void gpumon_metric_sets_name(struct gpumon_metric_sets *sets, const struct gpumon_tables *tables,
			     struct gpumon_pool *pool)
{
	sets->kinds = gpumon_calloc(KINDS_MAX, sizeof(*sets->kinds));
	for (uint32_t i = 0; i < sets->keys.used; i++) {
		const struct gpumon_metric_set *set = &sets->sets[i];

		for (uint32_t k = 0; k < set->count && sets->kind_count < KINDS_MAX; k++) {
			const char *name = name_of(set, k, tables, pool);

			if (find_kind(sets, name) == GPUMON_METRIC_NONE)
				sets->kinds[sets->kind_count++] =
					(struct gpumon_metric_kind){ name,
								     gpumon_metric_about(name) };
		}
	}
	qsort(sets->kinds, sets->kind_count, sizeof(*sets->kinds), by_importance);
	for (uint32_t i = 0; i < sets->keys.used; i++) {
		struct gpumon_metric_set *set = &sets->sets[i];

		for (uint32_t k = 0; k < set->count; k++) {
			const char *name = name_of(set, k, tables, pool);

			set->numbers[k] = find_kind(sets, name);
			if (gpumon_metric_find(name) == GPUMON_METRIC_SM_ACTIVE)
				set->active = k;
		}
	}
}

bool gpumon_metric_sets_read(struct gpumon_metric_sets *sets, uint32_t process,
			     const struct gpumon_record *record,
			     struct gpumon_metric_values *values)
{
	struct gpumon_record_metric_sample head;
	size_t room = record->size > sizeof(head) ? (record->size - sizeof(head)) / sizeof(double) :
						    0;
	struct gpumon_key key;
	uint32_t number;

	gpumon_record_copy(&head, sizeof(head), record);
	memset(values, 0, sizeof(*values));
	values->start_ns = head.start_ns;
	values->end_ns = head.end_ns;
	values->device = head.device;
	key = (struct gpumon_key){ { process, head.device, head.set } };
	number = gpumon_keys_number(&sets->keys, &key, NULL);
	if (number == GPUMON_KEY_NONE || head.end_ns <= head.start_ns)
		return false;
	values->set = &sets->sets[number];
	values->at = (const char *)record + sizeof(head);
	values->count = head.count < room ? head.count : (uint32_t)room;
	if (values->count > values->set->count)
		values->count = values->set->count;
	values->span.ns = head.end_ns - head.start_ns;
	values->span.active = values->set->active < values->count ?
				      gpumon_metric_value(values, values->set->active) / 100 :
				      1;
	return true;
}

double gpumon_metric_value(const struct gpumon_metric_values *values, uint32_t place)
{
	double value;

	memcpy(&value, values->at + place * sizeof(value), sizeof(value));
	return value;
}

void gpumon_metric_values_add(const struct gpumon_metric_sets *sets,
			      const struct gpumon_metric_values *values, double part,
			      struct gpumon_metric_sum *sums, size_t stride)
{
	for (uint32_t i = 0; i < values->count; i++) {
		uint32_t number = values->set->numbers[i];

		if (number != GPUMON_METRIC_NONE)
			gpumon_metric_add(&sums[number * stride], sets->kinds[number].about,
					  &values->span, gpumon_metric_value(values, i), part);
	}
}

void gpumon_metric_sets_clear(struct gpumon_metric_sets *sets)
{
	for (uint32_t i = 0; i < sets->keys.used; i++)
		free(sets->sets[i].numbers);
	gpumon_keys_clear(&sets->keys);
	free(sets->sets);
	sets->sets = NULL;
	sets->room = 0;
}
