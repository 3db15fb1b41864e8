// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "captures.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "stall_reasons.h"
#include "stalls.h"
#include "view.h"

/* In @at of a cell: it is a line, otherwise the offset of an instruction. */
#define AT_LINE (1ull << 63)

#define PROCESS_ANY (~0ull)

/* Parts of the key of a cell. */
enum cell_part {
	CELL_PROCESS,
	CELL_NAME,
	CELL_WHERE,
	CELL_AT,
	CELL_REASON
};

struct count {
	uint64_t samples;
	uint64_t not_issued;
};

/**
 * struct cell - samples of a reason at one place
 * @name: of the function: mangled; later, for nodes, demangled
 * @where: the file, or of an instruction the module
 * @at: line with AT_LINE, or offset
 */
struct cell {
	uint64_t process;
	const char *name;
	uint64_t where;
	uint64_t at;
	const char *reason;
	struct count count;
};

struct cells {
	struct cell *at;
	size_t used;
};

/* The last totals of a context before the part that is shown, and in it. */
struct context {
	struct gpumon_record_stall_totals before;
	struct gpumon_record_stall_totals last;
	bool has_last;
};

/* What tells one way to launch a kernel from another. */
struct way {
	const char *mangled;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t registers;
	uint32_t static_shared_bytes;
	uint32_t dynamic_shared_bytes;
	uint32_t local_bytes;
	uint32_t compute;
	uint32_t reserved;
};

struct way_sum {
	uint64_t count;
	uint64_t gpu_ns;
};

/**
 * struct gpumon_stalls_reader - while captures are read
 * @named: process and string id of functions with samples, from the first pass
 * @sampled: their names
 * @cells: keys of @counts
 * @context_keys: process and context, of @contexts
 * @ways: each struct way, numbers + 1 of @way_sums
 */
struct gpumon_stalls_reader {
	const struct gpumon_captures *captures;
	struct gpumon_pool *pool;
	uint64_t from_ns;
	uint64_t until_ns;
	bool any;
	struct gpumon_keys named;
	struct gpumon_keys sampled;
	struct gpumon_keys cells;
	struct count *counts;
	uint32_t counts_room;
	struct gpumon_keys context_keys;
	struct context *contexts;
	uint32_t contexts_room;
	struct gpumon_intern ways;
	struct way_sum *way_sums;
	uint32_t way_room;
};

/* --- sums for outputs */

uint64_t gpumon_stall_part(const struct gpumon_node_stalls *stalls, unsigned int number,
			   uint64_t whole)
{
	uint64_t before = 0, after;

	for (unsigned int i = 0; i < number; i++)
		before += stalls->sums[i].samples;
	after = before + stalls->sums[number].samples;
	if (!stalls->samples)
		return 0;
	/* Rounded at the borders, so that nothing is left over. */
	return (uint64_t)((unsigned __int128)whole * after / stalls->samples) -
	       (uint64_t)((unsigned __int128)whole * before / stalls->samples);
}

const struct gpumon_stall_sum *gpumon_stall_first(const struct gpumon_stall_row *row)
{
	if (row->samples < GPUMON_STALLS_FEW)
		return NULL;
	for (unsigned int i = 0; i < row->reason_count; i++) {
		if (!gpumon_stall_issued(row->reasons[i].reason) && row->reasons[i].samples)
			return &row->reasons[i];
	}
	return NULL;
}

uint64_t gpumon_stalls_unreported(const struct gpumon_stalls *stalls)
{
	uint64_t known = gpumon_add_saturated(gpumon_add_saturated(stalls->samples, stalls->other),
					      stalls->dropped);

	return stalls->totals_known && stalls->counted > known ? stalls->counted - known : 0;
}

/* --- reading */

struct gpumon_stalls_reader *gpumon_stalls_begin(const struct gpumon_captures *captures,
						 struct gpumon_pool *pool)
{
	struct gpumon_stalls_reader *reader = gpumon_calloc(1, sizeof(*reader));

	reader->captures = captures;
	reader->pool = pool;
	return reader;
}

void gpumon_stalls_look(struct gpumon_stalls_reader *reader, uint32_t process,
			const struct gpumon_record *record)
{
	const struct gpumon_record_stalls *stalls = (const void *)record;
	bool added;

	reader->any |= record->type == GPUMON_RECORD_STALL_TOTALS;
	if (record->type != GPUMON_RECORD_STALLS)
		return;
	reader->any = true;
	(void)gpumon_keys_number(&reader->named, &(struct gpumon_key){ { process, stalls->name } },
				 &added);
}

static const char *text_of(const struct gpumon_stalls_reader *reader, uint64_t process, uint32_t id)
{
	return id ? gpumon_tables_string(&reader->captures->tables.processes[process], id) : NULL;
}

static const char *name_of(const struct gpumon_stalls_reader *reader, uint64_t process, uint32_t id)
{
	const char *name = text_of(reader, process, id);

	return name ? name : gpumon_pool_text(reader->pool, "[unknown kernel]");
}

void gpumon_stalls_turn(struct gpumon_stalls_reader *reader, uint64_t from_ns, uint64_t until_ns)
{
	reader->from_ns = from_ns;
	reader->until_ns = until_ns;
	for (uint32_t i = 0; i < reader->named.used; i++) {
		const uint64_t *part = reader->named.keys[i].part;
		const char *name = name_of(reader, part[0], (uint32_t)part[1]);
		bool added;

		(void)gpumon_keys_number(&reader->sampled,
					 &(struct gpumon_key){ { (uintptr_t)name } }, &added);
	}
}

static void add_samples(struct gpumon_stalls_reader *reader, uint32_t process,
			const struct gpumon_record_stalls *stalls)
{
	const char *name = name_of(reader, process, stalls->name);
	const char *file = stalls->line ? text_of(reader, process, stalls->file) : NULL;
	struct gpumon_key key = { { 0 } };

	key.part[CELL_PROCESS] = process;
	key.part[CELL_NAME] = (uintptr_t)name;
	key.part[CELL_WHERE] = file ? (uintptr_t)file : stalls->module;
	key.part[CELL_AT] = file ? stalls->line | AT_LINE : stalls->offset;
	for (uint32_t i = 0; i < stalls->count; i++) {
		const char *full = text_of(reader, process, stalls->stall[i].reason);
		size_t length;
		const char *reason = gpumon_stall_name(full ? full : "unknown", &length);
		struct count *count;

		key.part[CELL_REASON] = (uintptr_t)gpumon_pool_part(reader->pool, reason, length);
		count = GPUMON_KEYS_VALUE(&reader->cells, &key, reader->counts, reader->counts_room,
					  NULL);
		if (reason[length])
			count->not_issued += stalls->stall[i].samples;
		else
			count->samples += stalls->stall[i].samples;
	}
}

static void add_totals(struct gpumon_stalls_reader *reader, uint32_t process,
		       const struct gpumon_record *record)
{
	struct gpumon_record_stall_totals totals;
	struct gpumon_key key = { { process } };
	struct context *context;

	gpumon_record_copy(&totals, sizeof(totals), record);
	key.part[1] = totals.context;
	context = GPUMON_KEYS_VALUE(&reader->context_keys, &key, reader->contexts,
				    reader->contexts_room, NULL);
	if (totals.time_ns < reader->from_ns) {
		if (totals.time_ns >= context->before.time_ns)
			context->before = totals;
	} else if (gpumon_time_within(reader->from_ns, reader->until_ns, totals.time_ns) &&
		   totals.time_ns >= context->last.time_ns) {
		context->last = totals;
		context->has_last = true;
	}
}

void gpumon_stalls_add(struct gpumon_stalls_reader *reader, uint32_t process,
		       const struct gpumon_record *record)
{
	const struct gpumon_record_stalls *stalls = (const void *)record;

	if (record->type == GPUMON_RECORD_STALL_TOTALS)
		add_totals(reader, process, record);
	else if (record->type == GPUMON_RECORD_STALLS &&
		 gpumon_time_within(reader->from_ns, reader->until_ns, stalls->time_ns))
		add_samples(reader, process, stalls);
}

void gpumon_stalls_kernel(struct gpumon_stalls_reader *reader, uint32_t process,
			  const struct gpumon_record_kernel *kernel, const char *mangled,
			  uint64_t gpu_ns)
{
	const struct gpumon_record_device *device;
	struct way way = { .mangled = mangled };
	uint32_t number, old = reader->way_room;

	if (!reader->sampled.used ||
	    gpumon_keys_number(&reader->sampled, &(struct gpumon_key){ { (uintptr_t)mangled } },
			       NULL) == GPUMON_KEY_NONE)
		return;
	device = gpumon_tables_device(&reader->captures->tables.processes[process], kernel->device);
	memcpy(way.grid, kernel->grid, sizeof(way.grid));
	memcpy(way.block, kernel->block, sizeof(way.block));
	way.registers = kernel->registers;
	way.static_shared_bytes = kernel->static_shared_bytes;
	way.dynamic_shared_bytes = kernel->dynamic_shared_bytes;
	way.local_bytes = kernel->local_bytes;
	way.compute = device ? (uint32_t)device->compute_major << 16 | device->compute_minor : 0;
	number = gpumon_intern_bytes(&reader->ways, &way, sizeof(way), NULL);
	if (number > reader->way_room) {
		reader->way_room = 2 * number;
		reader->way_sums = gpumon_reallocarray(reader->way_sums, reader->way_room,
						       sizeof(*reader->way_sums));
		memset(reader->way_sums + old, 0,
		       (reader->way_room - old) * sizeof(*reader->way_sums));
	}
	reader->way_sums[number - 1].count++;
	reader->way_sums[number - 1].gpu_ns += gpu_ns;
}

/* --- cells in order */

static int by_number(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

static int by_cell(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;
	int order = by_number(x->process, y->process);

	if (!order)
		order = by_number((uintptr_t)x->name, (uintptr_t)y->name);
	if (!order)
		order = by_number(x->where, y->where);
	if (!order)
		order = by_number(x->at, y->at);
	return order ? order : by_number((uintptr_t)x->reason, (uintptr_t)y->reason);
}

/* One cell of those that are alike. */
static void join_cells(struct cells *cells)
{
	size_t used = 0;

	if (cells->used)
		qsort(cells->at, cells->used, sizeof(*cells->at), by_cell);
	for (size_t i = 0; i < cells->used; i++) {
		struct cell *last = used ? &cells->at[used - 1] : NULL;

		if (last && !by_cell(last, &cells->at[i])) {
			last->count.samples += cells->at[i].count.samples;
			last->count.not_issued += cells->at[i].count.not_issued;
		} else {
			cells->at[used++] = cells->at[i];
		}
	}
	cells->used = used;
}

static struct cells cells_of(const struct gpumon_stalls_reader *reader)
{
	struct cells cells = { .used = reader->cells.used };

	cells.at = gpumon_calloc(cells.used + 1, sizeof(*cells.at));
	for (uint32_t i = 0; i < reader->cells.used; i++) {
		const uint64_t *part = reader->cells.keys[i].part;

		cells.at[i] = (struct cell){
			.process = part[CELL_PROCESS],
			.name = (const char *)(uintptr_t)part[CELL_NAME],
			.where = part[CELL_WHERE],
			.at = part[CELL_AT],
			.reason = (const char *)(uintptr_t)part[CELL_REASON],
			.count = reader->counts[i],
		};
	}
	return cells;
}

static int by_sum(const void *a, const void *b)
{
	const struct gpumon_stall_sum *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return strcmp(x->reason, y->reason);
}

/* Sums by reason of cells that differ in their place. @cells: sorted with the reason last, or by it */
static struct gpumon_stall_sum *sums_of(struct gpumon_pool *pool, const struct cell *cells,
					size_t n, unsigned int *count)
{
	struct cells copy = { gpumon_calloc(n + 1, sizeof(*cells)), n };
	struct gpumon_stall_sum *sums;

	for (size_t i = 0; i < n; i++)
		copy.at[i] = (struct cell){ .reason = cells[i].reason, .count = cells[i].count };
	join_cells(&copy);
	sums = gpumon_pool_zalloc(pool, (copy.used + 1) * sizeof(*sums));
	for (size_t i = 0; i < copy.used; i++)
		sums[i] = (struct gpumon_stall_sum){ copy.at[i].reason, copy.at[i].count.samples,
						     copy.at[i].count.not_issued };
	qsort(sums, copy.used, sizeof(*sums), by_sum);
	*count = (unsigned int)copy.used;
	free(copy.at);
	return sums;
}

static uint64_t samples_of(const struct gpumon_stall_sum *sums, unsigned int count)
{
	uint64_t samples = 0;

	for (unsigned int i = 0; i < count; i++)
		samples += sums[i].samples;
	return samples;
}

/* --- rows */

static int by_place(const void *a, const void *b)
{
	const struct gpumon_stall_place *x = a, *y = b;
	int order = by_number(y->samples, x->samples);

	if (!order)
		order = (x->file ? 0 : 1) - (y->file ? 0 : 1);
	if (!order && x->file)
		order = strcmp(x->file, y->file);
	if (!order)
		order = by_number(x->line, y->line);
	if (!order)
		order = by_number(x->module, y->module);
	return order ? order : by_number(x->offset, y->offset);
}

static int by_samples(const void *a, const void *b)
{
	const struct gpumon_stall_row *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return strcmp(x->mangled, y->mangled);
}

/* How many cells from the first on have the same place, or only the same name. */
static size_t run_of(const struct cell *cells, size_t n, bool place)
{
	size_t i = 1;

	while (i < n && cells[i].name == cells->name &&
	       (!place || (cells[i].where == cells->where && cells[i].at == cells->at)))
		i++;
	return i;
}

static void add_places(struct gpumon_pool *pool, struct gpumon_stall_row *row,
		       const struct cell *cells, size_t n)
{
	struct gpumon_stall_place *places;
	unsigned int count = 0;

	for (size_t i = 0; i < n; i += run_of(&cells[i], n - i, true))
		count++;
	places = gpumon_pool_zalloc(pool, (count + 1) * sizeof(*places));
	for (size_t i = 0; i < n;) {
		struct gpumon_stall_place *place = &places[row->place_count++];
		size_t run = run_of(&cells[i], n - i, true);

		if (cells[i].at & AT_LINE) {
			place->file = (const char *)(uintptr_t)cells[i].where;
			place->line = (uint32_t)cells[i].at;
		} else {
			place->module = cells[i].where;
			place->offset = (uint32_t)cells[i].at;
		}
		place->reasons = sums_of(pool, &cells[i], run, &place->reason_count);
		place->samples = samples_of(place->reasons, place->reason_count);
		row->without_line += place->file ? 0 : place->samples;
		i += run;
	}
	qsort(places, row->place_count, sizeof(*places), by_place);
	row->places = places;
}

static void add_launch(struct gpumon_stall_row *row, const struct way *way,
		       const struct way_sum *sum)
{
	struct gpumon_stall_launch *launch = &row->launch;

	row->launch_count++;
	if (row->launch_count > 1 && sum->gpu_ns <= launch->gpu_ns)
		return;
	memcpy(launch->grid, way->grid, sizeof(launch->grid));
	memcpy(launch->block, way->block, sizeof(launch->block));
	launch->registers = way->registers;
	launch->static_shared_bytes = way->static_shared_bytes;
	launch->dynamic_shared_bytes = way->dynamic_shared_bytes;
	launch->local_bytes = way->local_bytes;
	launch->compute_major = (uint16_t)(way->compute >> 16);
	launch->compute_minor = (uint16_t)way->compute;
	launch->count = sum->count;
	launch->gpu_ns = sum->gpu_ns;
}

static void add_launches(const struct gpumon_stalls_reader *reader, struct gpumon_stall_row *rows,
			 unsigned int count)
{
	struct gpumon_map numbers = { 0 };

	for (unsigned int i = 0; i < count; i++)
		gpumon_map_set(&numbers, (uintptr_t)rows[i].mangled, i + 1);
	for (uint32_t i = 0; i < reader->ways.n; i++) {
		struct way way;
		uint64_t number;

		memcpy(&way, reader->ways.texts[i], sizeof(way));
		number = gpumon_map_get(&numbers, (uintptr_t)way.mangled);
		if (number)
			add_launch(&rows[number - 1], &way, &reader->way_sums[i]);
	}
	gpumon_map_clear(&numbers);
}

static const char *demangled(struct gpumon_pool *pool, const char *mangled)
{
	char *name = gpumon_demangle(mangled);
	const char *kept;

	if (!name)
		gpumon_memory_failed(strlen(mangled));
	kept = gpumon_pool_text(pool, name);
	free(name);
	return kept;
}

/* Sorted, and of all processes together. */
static void make_rows(const struct gpumon_stalls_reader *reader, struct gpumon_stalls *stalls)
{
	struct cells cells = cells_of(reader);
	struct gpumon_stall_row *rows;
	unsigned int count = 0;

	for (size_t i = 0; i < cells.used; i++)
		cells.at[i].process = PROCESS_ANY;
	join_cells(&cells);
	for (size_t i = 0; i < cells.used; i += run_of(&cells.at[i], cells.used - i, false))
		count++;
	rows = gpumon_pool_zalloc(reader->pool, (count + 1) * sizeof(*rows));
	for (size_t i = 0; i < cells.used;) {
		struct gpumon_stall_row *row = &rows[stalls->row_count++];
		size_t run = run_of(&cells.at[i], cells.used - i, false);

		row->mangled = cells.at[i].name;
		row->name = demangled(reader->pool, row->mangled);
		row->reasons = sums_of(reader->pool, &cells.at[i], run, &row->reason_count);
		row->samples = samples_of(row->reasons, row->reason_count);
		add_places(reader->pool, row, &cells.at[i], run);
		stalls->samples += row->samples;
		stalls->without_line += row->without_line;
		i += run;
	}
	add_launches(reader, rows, stalls->row_count);
	qsort(rows, stalls->row_count, sizeof(*rows), by_samples);
	stalls->rows = rows;
	free(cells.at);
}

static uint64_t since(uint64_t last, uint64_t before)
{
	return last > before ? last - before : 0;
}

static void add_contexts(const struct gpumon_stalls_reader *reader, struct gpumon_stalls *stalls)
{
	for (uint32_t i = 0; i < reader->context_keys.used; i++) {
		const struct gpumon_record_stall_totals *last = &reader->contexts[i].last;
		const struct gpumon_record_stall_totals *before = &reader->contexts[i].before;

		if (!reader->contexts[i].has_last)
			continue;
		stalls->counted += since(last->samples, before->samples);
		stalls->dropped += since(last->dropped, before->dropped);
		stalls->other += since(last->other, before->other);
		if (!stalls->totals_known || last->period_log2 < stalls->period_least)
			stalls->period_least = last->period_log2;
		if (last->period_log2 > stalls->period_most)
			stalls->period_most = last->period_log2;
		stalls->totals_known = true;
	}
}

/* --- nodes */

/* The nodes of kernels of one name in a process. */
struct leaf {
	struct gpumon_node *node;
	bool several;
};

struct leaves {
	struct gpumon_keys keys;
	struct leaf *at;
	uint32_t room;
};

/* Processes have levels of their own, or share the nodes. */
static void find_leaves(struct gpumon_node *root, struct leaves *leaves)
{
	struct gpumon_key key = { { PROCESS_ANY } };

	for (struct gpumon_node *node = root; node;
	     node = (struct gpumon_node *)gpumon_tree_next(node, root)) {
		struct leaf *leaf;

		if (node->kind == GPUMON_NODE_PROCESS)
			key.part[0] = node->process;
		if (node->kind != GPUMON_NODE_KERNEL ||
		    !gpumon_tree_weight(node, GPUMON_WEIGHT_COUNT))
			continue;
		key.part[1] = (uintptr_t)node->name;
		leaf = GPUMON_KEYS_VALUE(&leaves->keys, &key, leaves->at, leaves->room, NULL);
		leaf->several = leaf->node != NULL;
		leaf->node = node;
	}
}

static void give_samples(struct gpumon_pool *pool, struct gpumon_node *node,
			 const struct cell *cells, size_t n)
{
	struct gpumon_node_stalls *stalls = gpumon_pool_zalloc(pool, sizeof(*stalls));

	stalls->sums = sums_of(pool, cells, n, &stalls->count);
	stalls->samples = samples_of(stalls->sums, stalls->count);
	if (stalls->samples)
		node->stalls = stalls;
}

/* Only where a kernel has one node in its process: its samples could be of any. */
static void give_to_nodes(const struct gpumon_stalls_reader *reader, struct gpumon_node *root)
{
	struct cells cells = cells_of(reader);
	struct gpumon_map names = { 0 };
	struct leaves leaves = { 0 };
	bool joined;

	find_leaves(root, &leaves);
	joined = leaves.keys.used && leaves.keys.keys[0].part[0] == PROCESS_ANY;
	for (size_t i = 0; i < cells.used; i++) {
		uint64_t name = gpumon_map_get(&names, (uintptr_t)cells.at[i].name);

		if (!name) {
			name = (uintptr_t)demangled(reader->pool, cells.at[i].name);
			gpumon_map_set(&names, (uintptr_t)cells.at[i].name, name);
		}
		cells.at[i].name = (const char *)(uintptr_t)name;
		cells.at[i].where = cells.at[i].at = 0;
		if (joined)
			cells.at[i].process = PROCESS_ANY;
	}
	join_cells(&cells);
	for (size_t i = 0; i < cells.used;) {
		const struct cell *cell = &cells.at[i];
		const struct gpumon_key key = { { cell->process, (uintptr_t)cell->name } };
		uint32_t number = gpumon_keys_number(&leaves.keys, &key, NULL);
		size_t run = 1;

		while (i + run < cells.used && cell[run].process == cell->process &&
		       cell[run].name == cell->name)
			run++;
		if (number != GPUMON_KEY_NONE && !leaves.at[number].several)
			give_samples(reader->pool, leaves.at[number].node, cell, run);
		i += run;
	}
	gpumon_keys_clear(&leaves.keys);
	gpumon_map_clear(&names);
	free(leaves.at);
	free(cells.at);
}

const struct gpumon_stalls *gpumon_stalls_end(struct gpumon_stalls_reader *reader,
					      struct gpumon_node *root)
{
	struct gpumon_stalls *stalls;

	if (!reader->any)
		return NULL;
	stalls = gpumon_pool_zalloc(reader->pool, sizeof(*stalls));
	make_rows(reader, stalls);
	add_contexts(reader, stalls);
	give_to_nodes(reader, root);
	return stalls;
}

void gpumon_stalls_reader_free(struct gpumon_stalls_reader *reader)
{
	if (!reader)
		return;
	gpumon_keys_clear(&reader->named);
	gpumon_keys_clear(&reader->sampled);
	gpumon_keys_clear(&reader->cells);
	gpumon_keys_clear(&reader->context_keys);
	gpumon_intern_clear(&reader->ways);
	free(reader->counts);
	free(reader->contexts);
	free(reader->way_sums);
	free(reader);
}
