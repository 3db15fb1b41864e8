// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#ifdef GPUMON_SQLITE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/text.h"
#include "profile_internal.h"
#include "sqlite_names.h"
#include "view.h"

#define NUMBER(value) ((int64_t)(value))

/* --- texts */

int64_t gpumon_sql_text(struct gpumon_sql_names *names, const char *text)
{
	uint64_t number;

	if (!text)
		return GPUMON_SQL_NULL;
	text = gpumon_pool_text(names->pool, text);
	number = gpumon_map_get(&names->strings, (uintptr_t)text);
	if (number)
		return NUMBER(number);
	gpumon_map_set(&names->strings, (uintptr_t)text, ++names->string_count);
	gpumon_sql_put(names->sql, "string", "is", NUMBER(names->string_count), text);
	return NUMBER(names->string_count);
}

int64_t gpumon_sql_string(struct gpumon_sql_names *names, uint32_t process, uint32_t string)
{
	return gpumon_sql_text(names, gpumon_tables_text(names->tables, process, string));
}

int64_t gpumon_sql_function(struct gpumon_sql_names *names, uint32_t process, uint32_t string)
{
	const char *text = gpumon_tables_text(names->tables, process, string);
	uint64_t number;
	size_t length;

	if (!text)
		return GPUMON_SQL_NULL;
	/* Its key is none of a text: those are addresses of this program. */
	number = gpumon_map_get(&names->strings, ~(uint64_t)(uintptr_t)text);
	if (number)
		return NUMBER(number);
	length = strlen(text);
	number = (uint64_t)gpumon_sql_text(
		names, gpumon_pool_part(names->pool, gpumon_function_base(text, &length), length));
	gpumon_map_set(&names->strings, ~(uint64_t)(uintptr_t)text, number);
	return NUMBER(number);
}

static const char *process_text(const struct gpumon_sql_names *names, uint32_t process,
				uint32_t string)
{
	return gpumon_tables_text(names->tables, process, string);
}

/* --- threads, devices, streams */

int64_t gpumon_sql_thread(struct gpumon_sql_names *names, uint32_t process, uint32_t tid)
{
	const struct gpumon_key key = { { process, tid } };
	bool added;

	if (!tid)
		return GPUMON_SQL_NULL;
	if (!names->thread_last_id || memcmp(&key, &names->thread_last, sizeof(key))) {
		names->thread_last = key;
		names->thread_last_id = gpumon_keys_number(&names->thread_keys, &key, &added) + 1;
	}
	return names->thread_last_id;
}

int64_t gpumon_sql_device(struct gpumon_sql_names *names, uint32_t process, uint32_t device)
{
	const struct gpumon_tables_process *of = &names->tables->processes[process];
	const struct gpumon_key key = { { process, device } };
	const struct gpumon_record_device unknown = { .pci = ~0u };
	const struct gpumon_record_device *known = gpumon_tables_device(of, device);
	char uuid[GPUMON_UUID_TEXT];
	bool added;
	int64_t id = NUMBER(gpumon_keys_number(&names->device_keys, &key, &added)) + 1;

	if (!added)
		return id;
	if (!known)
		known = &unknown;
#define KNOWN(field) (known->field ? NUMBER(known->field) : GPUMON_SQL_NULL)
	gpumon_sql_put(names->sql, "device", "iisisssiiiiiss", id, NUMBER(process),
		       gpumon_api_name(device), NUMBER(GPUMON_NUMBER_OF(device)),
		       known == &unknown ? NULL : gpumon_device_type_key(known->type),
		       process_text(names, process, known->name), gpumon_device_uuid(uuid, known),
		       known->pci == ~0u ? GPUMON_SQL_NULL : NUMBER(known->pci),
		       KNOWN(multiprocessors), KNOWN(memory_bytes), KNOWN(compute_major),
		       known->compute_major ? NUMBER(known->compute_minor) : GPUMON_SQL_NULL,
		       process_text(names, process, known->vendor),
		       process_text(names, process, known->driver));
#undef KNOWN
	return id;
}

int64_t gpumon_sql_stream(struct gpumon_sql_names *names, uint32_t process,
			  const struct gpumon_work_fields *fields)
{
	const struct gpumon_key key = { { process, fields->device, fields->context,
					  fields->stream } };
	const struct gpumon_stream_told *told;
	bool added;

	if (names->stream_last_id && !memcmp(&key, &names->stream_last, sizeof(key)))
		return names->stream_last_id;
	names->stream_last = key;
	names->stream_last_id = gpumon_keys_number(&names->stream_keys, &key, &added) + 1;
	if (!added)
		return names->stream_last_id;
	told = gpumon_streams_find(names->streams, process, fields->context, fields->stream);
	gpumon_sql_put(names->sql, "stream", "iiiiiis", NUMBER(names->stream_last_id),
		       NUMBER(process), gpumon_sql_device(names, process, fields->device),
		       NUMBER(GPUMON_NUMBER_OF(fields->context)),
		       NUMBER(GPUMON_NUMBER_OF(fields->stream)),
		       told ? NUMBER(told->priority) : GPUMON_SQL_NULL,
		       told ? process_text(names, process, told->string) : NULL);
	return names->stream_last_id;
}

/* --- stacks */

static int64_t frame_id(struct gpumon_sql_names *names, const struct gpumon_node *node)
{
	const struct gpumon_key key = { { (uintptr_t)node->name, (uintptr_t)node->module,
					  (uintptr_t)node->line, node->kind } };
	bool added;
	int64_t id = NUMBER(gpumon_keys_number(&names->frame_keys, &key, &added)) + 1;

	if (added)
		gpumon_sql_put(names->sql, "frame", "issss", id, gpumon_node_kind_name(node->kind),
			       node->name, *node->module ? node->module : NULL,
			       *node->line ? node->line : NULL);
	return id;
}

int64_t gpumon_sql_stack(struct gpumon_sql_names *names, struct gpumon_node *node)
{
	int64_t parent, depth = -1;

	if (node->id)
		return node->id;
	if (!node->parent)
		return GPUMON_SQL_NULL;
	parent = gpumon_sql_stack(names, node->parent);
	for (const struct gpumon_node *at = node; at->parent; at = at->parent)
		depth++;
	node->id = ++names->stack_count;
	gpumon_sql_put(names->sql, "stack", "iiii", NUMBER(node->id), parent, depth,
		       frame_id(names, node));
	return node->id;
}

/* --- operations */

int64_t gpumon_sql_name(struct gpumon_sql_names *names, enum gpumon_work_kind kind,
			const char *mangled)
{
	static const char *const kinds[GPUMON_WORK_KINDS] = {
		[GPUMON_WORK_KERNEL] = "kernel",
		[GPUMON_WORK_COPY] = "copy",
		[GPUMON_WORK_SET] = "set",
		[GPUMON_WORK_GRAPH] = "graph",
	};
	const char *text = gpumon_pool_text(names->pool, mangled);
	const struct gpumon_key key = { { (uintptr_t)text, kind } };
	bool added;
	int64_t id = NUMBER(gpumon_keys_number(&names->name_keys, &key, &added)) + 1;
	char *name;

	if (!added)
		return id;
	name = gpumon_demangle(text);
	gpumon_sql_put(names->sql, "operation_name", "isss", id, kinds[kind], name ? name : text,
		       kind == GPUMON_WORK_KERNEL ? text : NULL);
	free(name);
	return id;
}

int64_t gpumon_sql_operation_name(struct gpumon_sql_names *names, const struct gpumon_work *work)
{
	uint64_t of_id = 0;
	const char *mangled;
	char graph[GPUMON_GRAPH_NAME];
	int64_t id;

	if (work->kind == GPUMON_WORK_KERNEL) {
		of_id = (uint64_t)work->process << 32 | work->kernel->name;
		id = NUMBER(gpumon_map_get(&names->name_ids, of_id));
		if (id)
			return id;
		mangled = process_text(names, work->process, work->kernel->name);
		mangled = mangled ? mangled : "[unknown kernel]";
	} else {
		mangled = work->kind == GPUMON_WORK_COPY ?
				  gpumon_copy_name(work->copy) :
			  work->kind == GPUMON_WORK_GRAPH ?
				  gpumon_graph_name(graph, work->graph->graph) :
				  "memset";
	}
	id = gpumon_sql_name(names, work->kind, mangled);
	if (work->kind == GPUMON_WORK_KERNEL)
		gpumon_map_set(&names->name_ids, of_id, (uint64_t)id);
	return id;
}

int64_t gpumon_sql_shape(struct gpumon_sql_names *names, const struct gpumon_record_kernel *kernel)
{
#define PAIR(a, b) ((uint64_t)(a) << 32 | (b))
	const struct gpumon_key key = {
		{ PAIR(kernel->grid[0], kernel->grid[1]), PAIR(kernel->grid[2], kernel->block[0]),
		  PAIR(kernel->block[1], kernel->block[2]),
		  PAIR(kernel->static_shared_bytes, kernel->dynamic_shared_bytes),
		  PAIR(kernel->local_bytes, kernel->registers) }
	};
#undef PAIR
	bool added;
	int64_t id = NUMBER(gpumon_keys_number(&names->shape_keys, &key, &added)) + 1;

	if (added)
		gpumon_sql_put(names->sql, "kernel_shape", "iiiiiiiiiii", id,
			       NUMBER(kernel->grid[0]), NUMBER(kernel->grid[1]),
			       NUMBER(kernel->grid[2]), NUMBER(kernel->block[0]),
			       NUMBER(kernel->block[1]), NUMBER(kernel->block[2]),
			       NUMBER(kernel->registers), NUMBER(kernel->static_shared_bytes),
			       NUMBER(kernel->dynamic_shared_bytes), NUMBER(kernel->local_bytes));
	return id;
}

int64_t gpumon_sql_way(struct gpumon_sql_names *names, const struct gpumon_record_copy *copy)
{
	uint64_t pageable = (copy->head.flags & GPUMON_WORK_PAGEABLE) != 0;
	const struct gpumon_key key = { { copy->from, copy->to, pageable, copy->to_device } };
	bool added;
	int64_t id = NUMBER(gpumon_keys_number(&names->way_keys, &key, &added)) + 1;

	if (added)
		gpumon_sql_put(names->sql, "copy_way", "iiiii", id, NUMBER(copy->from),
			       NUMBER(copy->to), NUMBER(pageable),
			       NUMBER(GPUMON_NUMBER_OF(copy->to_device)));
	return id;
}

/* --- begin and end */

static void put_process(struct gpumon_sql_names *names, uint32_t number, uint64_t first_ns)
{
	const struct gpumon_tables_process *of = &names->tables->processes[number];
	const struct gpumon_record_process *record = &of->record;

#define KNOWN(field) (record->field ? NUMBER(record->field) : GPUMON_SQL_NULL)
	gpumon_sql_put(names->sql, "process", "iiiiiiissssiiii", NUMBER(number),
		       NUMBER(of->capture), KNOWN(pid), KNOWN(host_pid), KNOWN(parent),
		       of->has_record && record->rank != ~0u ? NUMBER(record->rank) :
							       GPUMON_SQL_NULL,
		       record->start_ns ? NUMBER(record->start_ns - first_ns) : GPUMON_SQL_NULL,
		       process_text(names, number, record->host),
		       process_text(names, number, record->executable),
		       process_text(names, number, record->command),
		       process_text(names, number, record->cgroup), KNOWN(cupti_version),
		       KNOWN(driver_version), KNOWN(runtime_version), NUMBER(of->is_cut));
#undef KNOWN
	for (uint32_t i = 0; i < of->device_used; i++)
		(void)gpumon_sql_device(names, number, of->device[i].id);
}

void gpumon_sql_names_begin(struct gpumon_sql_names *names, uint64_t first_ns)
{
	for (uint32_t i = 0; i < names->tables->used; i++)
		put_process(names, i, first_ns);
}

void gpumon_sql_names_end(struct gpumon_sql_names *names)
{
	for (uint32_t i = 0; i < names->thread_keys.used; i++) {
		uint32_t process = (uint32_t)names->thread_keys.keys[i].part[0];
		uint32_t tid = (uint32_t)names->thread_keys.keys[i].part[1];
		uint64_t name = gpumon_map_get(&names->tables->processes[process].threads, tid);

		gpumon_sql_put(names->sql, "thread", "iiis", NUMBER(i) + 1, NUMBER(process),
			       NUMBER(tid), process_text(names, process, (uint32_t)name));
	}
}

void gpumon_sql_names_clear(struct gpumon_sql_names *names)
{
	gpumon_map_clear(&names->strings);
	gpumon_map_clear(&names->name_ids);
	gpumon_keys_clear(&names->thread_keys);
	gpumon_keys_clear(&names->device_keys);
	gpumon_keys_clear(&names->stream_keys);
	gpumon_keys_clear(&names->frame_keys);
	gpumon_keys_clear(&names->shape_keys);
	gpumon_keys_clear(&names->way_keys);
	gpumon_keys_clear(&names->name_keys);
}
#endif /* GPUMON_SQLITE */
