// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "model_fields.h"
#include "usage.h"

/* The names of a ring or device as a number: names of the model, from 1 on. */
struct places {
	struct gpumon_intern rings; /* the first ones are those of the model */
	struct gpumon_intern devices;
};

/**
 * struct part - a row as part of an owner's total
 * @owner: number of the process, group or client
 * @device: number of the device
 * @ring: number of the ring
 * @row: the row
 */
struct part {
	size_t owner;
	uint32_t device;
	uint32_t ring;
	const struct gpumon_usage_row *row;
};

#define NO_OWNER SIZE_MAX

static void add_sum(struct gpumon_usage_sum *to, const struct gpumon_usage_sum *sum)
{
	gpumon_value_add(&to->jobs, sum->jobs);
	gpumon_value_add(&to->gpu_ns, sum->gpu_ns);
	gpumon_value_add(&to->queue_ns, sum->queue_ns);
	gpumon_value_add(&to->errors, sum->errors);
	to->share |= sum->share && sum->gpu_ns.v;
}

static uint32_t ring_number(struct places *places, const char *device, const char *name)
{
	const char *parts[] = { device ? device : "-", name ? name : "-" };

	return gpumon_intern_parts(&places->rings, parts, 2, NULL);
}

static struct gpumon_value counter(const struct gpumon_row *row, const char *name)
{
	const struct gpumon_column *column = gpumon_row_column(row, name);

	return column ? column->value : (struct gpumon_value){ 0 };
}

static void fill_row(struct gpumon_usage_row *row, const struct gpumon_row *from)
{
	row->device = gpumon_row_label(from, "device");
	row->name = gpumon_row_label(from, "ring");
	row->process_id = gpumon_row_number(from, "process");
	row->client = gpumon_row_number(from, "client");
	row->cgroup_id = gpumon_row_number(from, "cgroup");
	row->other = gpumon_is_other(from);
	row->sum.jobs = counter(from, "jobs");
	row->sum.gpu_ns = counter(from, "gpu_ns");
	row->sum.queue_ns = counter(from, "queue_ns");
	row->sum.errors = counter(from, "errors");
}

static void join_cgroup(struct gpumon_usage_row *row, const struct gpumon_model *model,
			const struct gpumon_map *cgroups, const struct gpumon_map *members)
{
	uint64_t at = gpumon_map_get(cgroups, row->cgroup_id);

	if (at) {
		row->container = model->cgroups[at - 1].container;
		row->path = model->cgroups[at - 1].path;
		return;
	}
	at = gpumon_map_get(members, row->cgroup_id);
	if (at) {
		row->container = model->processes[at - 1].container;
		row->path = model->processes[at - 1].cgroup;
	}
}

static void join_rows(struct gpumon_usage *usage, const struct gpumon_model *model,
		      struct places *places)
{
	struct gpumon_map processes = { 0 }, cgroups = { 0 }, members = { 0 };
	/* A number of @places is above that of the ring, where two rings have the same names. */
	size_t *rings = gpumon_calloc(model->n_rings + 1, sizeof(*rings));

	for (size_t i = 0; i < model->n_rings; i++) {
		uint32_t number = ring_number(places, model->rings[i].device, model->rings[i].name);

		if (!rings[number])
			rings[number] = i + 1;
	}
	for (size_t i = 0; i < model->n_processes; i++) {
		if (model->processes[i].id.known)
			gpumon_map_set(&processes, model->processes[i].id.v, i + 1);
		gpumon_map_set(&members, model->processes[i].cgroup_id.v, i + 1);
	}
	for (size_t i = 0; i < model->n_cgroups; i++)
		gpumon_map_set(&cgroups, model->cgroups[i].id.v, i + 1);
	for (size_t i = 0; i < usage->n_rows; i++) {
		struct gpumon_usage_row *row = &usage->rows[i];
		uint32_t number = ring_number(places, row->device, row->name);
		uint64_t at;

		if (number <= model->n_rings && rings[number])
			row->ring = &model->rings[rings[number] - 1];
		at = row->process_id ? gpumon_map_get(&processes, row->process_id) : 0;
		row->process = at ? &model->processes[at - 1] : NULL;
		if (row->process) {
			row->container = row->process->container;
			row->path = row->process->cgroup;
		} else if (row->cgroup_id) {
			join_cgroup(row, model, &cgroups, &members);
		}
	}
	free(rings);
	gpumon_map_clear(&processes);
	gpumon_map_clear(&cgroups);
	gpumon_map_clear(&members);
}

/* The longest time that a job of the ring ran, or a little more; 0 without jobs. */
static uint64_t longest_run(const struct gpumon_model *model, const struct gpumon_ring *ring)
{
	const struct gpumon_histogram *run =
		ring->id.known ? gpumon_model_histogram(model, ring->id.v, "run_ns") : NULL;

	if (!run)
		return 0;
	if (run->max.known)
		return run->max.v;
	return run->n_buckets ? run->buckets[run->n_buckets - 1].lt : 0;
}

/*
 * Jobs that run at once, one in the time of another, take less time together than the ring is busy.
 * A job that still runs is in the busy time only, and the jobs of the row "other" have no ring.
 */
static bool runs_several(const struct gpumon_model *model, const struct gpumon_ring *ring,
			 uint64_t gpu_ns, uint64_t other_ns)
{
	uint64_t lack;

	if (ring->live_max.known && ring->live_max.v > 1)
		return true;
	if (!ring->busy_ns.known || !gpu_ns || ring->busy_ns.v <= gpu_ns)
		return false;
	lack = ring->busy_ns.v - gpu_ns;
	if (lack <= ring->busy_ns.v / 100 || lack <= other_ns)
		return false;
	if (ring->hw_depth.known && !ring->hw_depth.v)
		return true;
	return lack - other_ns > longest_run(model, ring);
}

static void find_parallel(struct gpumon_usage *usage, const struct gpumon_model *model)
{
	uint64_t *gpu_ns = gpumon_calloc(model->n_rings + 1, sizeof(*gpu_ns));
	uint64_t other_ns = 0;

	for (size_t i = 0; i < usage->n_rows; i++) {
		const struct gpumon_usage_row *row = &usage->rows[i];

		if (row->ring)
			gpu_ns[row->ring - model->rings] += row->sum.gpu_ns.v;
		else if (row->other)
			other_ns += row->sum.gpu_ns.v;
	}
	for (size_t i = 0; i < model->n_rings; i++)
		usage->parallel[i] = runs_several(model, &model->rings[i], gpu_ns[i], other_ns);
	for (size_t i = 0; i < usage->n_rows; i++) {
		struct gpumon_usage_row *row = &usage->rows[i];

		row->sum.share = row->ring && usage->parallel[row->ring - model->rings];
		usage->share |= row->sum.share && row->sum.gpu_ns.v;
	}
	free(gpu_ns);
}

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->ring < y->ring ? -1 : x->ring > y->ring;
}

/* The parts from @begin on that are of one device. Returns their end. */
static size_t add_device(struct gpumon_usage_total *total, const struct part *parts, size_t begin,
			 size_t n)
{
	unsigned int rings = 0;
	bool share = false;
	uint64_t gpu_ns = 0;
	uint32_t last = 0;
	size_t i;

	for (i = begin; i < n && parts[i].owner == parts[begin].owner &&
			parts[i].device == parts[begin].device;
	     i++) {
		const struct gpumon_usage_row *row = parts[i].row;

		add_sum(&total->sum, &row->sum);
		gpu_ns += row->sum.gpu_ns.v;
		share |= row->sum.share && row->sum.gpu_ns.v;
		rings += row->sum.gpu_ns.v && parts[i].ring != last;
		if (row->sum.gpu_ns.v)
			last = parts[i].ring;
	}
	if (!gpu_ns || parts[begin].row->other)
		return i;
	total->devices++;
	if (gpu_ns > total->device_ns) {
		total->device = parts[begin].row->device;
		total->device_ns = gpu_ns;
		total->device_rings = rings;
		total->device_share = share;
	}
	return i;
}

/* @total: finds the total of an owner. @parts is sorted. */
static void add_parts(struct gpumon_usage *usage, struct part *parts, size_t n,
		      struct gpumon_usage_total *(*total)(struct gpumon_usage *usage, size_t owner))
{
	qsort(parts, n, sizeof(*parts), compare_parts);
	for (size_t i = 0; i < n && parts[i].owner != NO_OWNER;)
		i = add_device(total(usage, parts[i].owner), parts, i, n);
}

static struct gpumon_usage_total *process_total(struct gpumon_usage *usage, size_t owner)
{
	return &usage->processes[owner];
}

static struct gpumon_usage_total *group_total(struct gpumon_usage *usage, size_t owner)
{
	return &usage->groups[owner].total;
}

static struct gpumon_usage_total *client_total(struct gpumon_usage *usage, size_t owner)
{
	return &usage->clients[owner].total;
}

bool gpumon_usage_is_idle(const struct gpumon_usage_sum *sum)
{
	return !sum->jobs.v && !sum->gpu_ns.v && !sum->queue_ns.v && !sum->errors.v;
}

/*
 * A process without a row had no job done, unless the table was full, or the process has ended and is
 * summed up in the row of its cgroup.
 */
static void add_idle(struct gpumon_usage *usage, const struct gpumon_model *model)
{
	static const struct gpumon_usage_sum nothing = {
		.jobs = { .known = true },
		.gpu_ns = { .known = true },
		.queue_ns = { .known = true },
		.errors = { .known = true },
	};

	for (size_t i = 0; i < model->n_processes; i++) {
		const struct gpumon_process *process = &model->processes[i];
		bool none = process->jobs.known && !process->jobs.v;

		if (!process->id.known || usage->processes[i].sum.jobs.known)
			continue;
		if (none || (!usage->full && (!process->alive.known || process->alive.v)))
			usage->processes[i].sum = nothing;
	}
}

/* The group of a container, a path or an id; the first that is known decides. */
static size_t find_group(struct gpumon_usage *usage, struct gpumon_intern *names,
			 const char *container, const char *path, struct gpumon_value id)
{
	struct gpumon_usage_group *group;
	char text[32];
	const char *parts[2] = { "none", "" };
	uint32_t number;
	bool added;

	if (container) {
		parts[0] = "container";
		parts[1] = container;
	} else if (path) {
		parts[0] = "path";
		parts[1] = path;
	} else if (id.known) {
		snprintf(text, sizeof(text), "%" PRIu64, id.v);
		parts[0] = "id";
		parts[1] = text;
	}
	number = gpumon_intern_parts(names, parts, 2, &added);
	if (added) {
		group = GPUMON_GROW(usage->groups, usage->n_groups);
		group->container = container;
		group->path = path;
		group->cgroup_id = id;
	}
	return number - 1;
}

static void group_processes(struct gpumon_usage *usage, const struct gpumon_model *model,
			    struct gpumon_intern *names, size_t *of_process)
{
	for (size_t i = 0; i < model->n_processes; i++) {
		const struct gpumon_process *process = &model->processes[i];
		struct gpumon_usage_group *group;

		of_process[i] = find_group(usage, names, process->container, process->cgroup,
					   process->cgroup_id);
		group = &usage->groups[of_process[i]];
		group->processes++;
		group->alive += !process->alive.known || process->alive.v;
		gpumon_value_add(&group->queued, process->jobs);
		gpumon_value_add(&group->vram_bytes, process->vram_bytes);
		gpumon_value_add(&group->live_object_bytes, process->live_object_bytes);
		if (usage->processes[i].sum.jobs.known)
			add_sum(&group->total.sum,
				&(const struct gpumon_usage_sum){ .jobs = { .known = true },
								  .gpu_ns = { .known = true },
								  .queue_ns = { .known = true },
								  .errors = { .known = true } });
	}
}

static void group_dmem(struct gpumon_usage *usage, const struct gpumon_model *model,
		       struct gpumon_intern *names)
{
	for (size_t i = 0; i < model->n_dmem; i++) {
		const struct gpumon_dmem *dmem = &model->dmem[i];
		size_t group = find_group(usage, names, dmem->container, dmem->cgroup,
					  (struct gpumon_value){ 0 });

		gpumon_value_add(&usage->groups[group].dmem_bytes, dmem->bytes);
	}
}

static size_t group_of_row(struct gpumon_usage *usage, struct gpumon_intern *names,
			   const struct gpumon_model *model, const struct gpumon_usage_row *row,
			   const size_t *of_process)
{
	if (row->other)
		return NO_OWNER;
	if (row->process)
		return of_process[row->process - model->processes];
	return find_group(usage, names, row->container, row->path,
			  gpumon_value_if(row->cgroup_id != 0, row->cgroup_id));
}

static size_t client_of_row(struct gpumon_usage *usage, struct gpumon_map *numbers,
			    const struct gpumon_usage_row *row)
{
	uint64_t number = row->client ? gpumon_map_get(numbers, row->client) : 0;
	struct gpumon_usage_client *client;

	if (!row->client || row->other)
		return NO_OWNER;
	if (!number) {
		client = GPUMON_GROW(usage->clients, usage->n_clients);
		client->id = row->client;
		client->process = row->process;
		number = usage->n_clients;
		gpumon_map_set(numbers, row->client, number);
	}
	return number - 1;
}

static void add_totals(struct gpumon_usage *usage, const struct gpumon_model *model,
		       struct places *places)
{
	struct part *by_process = gpumon_calloc(usage->n_rows + 1, sizeof(*by_process));
	struct part *by_group = gpumon_calloc(usage->n_rows + 1, sizeof(*by_group));
	struct part *by_client = gpumon_calloc(usage->n_rows + 1, sizeof(*by_client));
	size_t *of_process = gpumon_calloc(model->n_processes + 1, sizeof(*of_process));
	struct gpumon_intern names = { 0 };
	struct gpumon_map clients = { 0 };

	for (size_t i = 0; i < usage->n_rows; i++) {
		const struct gpumon_usage_row *row = &usage->rows[i];
		const char *device = row->device ? row->device : "-";

		by_process[i].row = row;
		by_process[i].device = gpumon_intern(&places->devices, device, NULL);
		by_process[i].ring = ring_number(places, row->device, row->name);
		by_process[i].owner = row->process ? (size_t)(row->process - model->processes) :
						     NO_OWNER;
		by_group[i] = by_client[i] = by_process[i];
		by_client[i].owner = client_of_row(usage, &clients, row);
	}
	add_parts(usage, by_process, usage->n_rows, process_total);
	add_parts(usage, by_client, usage->n_rows, client_total);
	if (usage->known)
		add_idle(usage, model);
	group_processes(usage, model, &names, of_process);
	for (size_t i = 0; i < usage->n_rows; i++)
		by_group[i].owner = group_of_row(usage, &names, model, by_group[i].row, of_process);
	group_dmem(usage, model, &names);
	add_parts(usage, by_group, usage->n_rows, group_total);
	free(by_process);
	free(by_group);
	free(by_client);
	free(of_process);
	gpumon_intern_clear(&names);
	gpumon_map_clear(&clients);
}

/* Longest first, and what is not counted last. */
static int compare_sums(const struct gpumon_usage_sum *x, const struct gpumon_usage_sum *y)
{
	if (x->gpu_ns.known != y->gpu_ns.known)
		return x->gpu_ns.known ? -1 : 1;
	if (x->gpu_ns.v != y->gpu_ns.v)
		return x->gpu_ns.v > y->gpu_ns.v ? -1 : 1;
	return x->jobs.v > y->jobs.v ? -1 : x->jobs.v < y->jobs.v;
}

static int compare_texts(const char *a, const char *b)
{
	return strverscmp(a ? a : "", b ? b : "");
}

static int compare_rows(const void *a, const void *b)
{
	const struct gpumon_usage_row *x = a, *y = b;
	int order = compare_sums(&x->sum, &y->sum);

	if (!order)
		order = compare_texts(x->device, y->device);
	if (!order)
		order = compare_texts(x->name, y->name);
	if (!order && x->process_id != y->process_id)
		order = x->process_id < y->process_id ? -1 : 1;
	if (!order && x->client != y->client)
		order = x->client < y->client ? -1 : 1;
	return order ? order : x->cgroup_id < y->cgroup_id ? -1 : x->cgroup_id > y->cgroup_id;
}

static int compare_groups(const void *a, const void *b)
{
	const struct gpumon_usage_group *x = a, *y = b;
	int order = compare_sums(&x->total.sum, &y->total.sum);

	if (!order && x->queued.v != y->queued.v)
		order = x->queued.v > y->queued.v ? -1 : 1;
	if (!order)
		order = compare_texts(x->container, y->container);
	if (!order)
		order = compare_texts(x->path, y->path);
	if (!order && x->cgroup_id.v != y->cgroup_id.v)
		order = x->cgroup_id.v < y->cgroup_id.v ? -1 : 1;
	return order;
}

static int compare_clients(const void *a, const void *b)
{
	const struct gpumon_usage_client *x = a, *y = b;
	int order = compare_sums(&x->total.sum, &y->total.sum);

	return order ? order : x->id < y->id ? -1 : x->id > y->id;
}

static void sort(void *array, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	if (n)
		qsort(array, n, size, compare);
}

void gpumon_usage_init(struct gpumon_usage *usage, const struct gpumon_model *model)
{
	const struct gpumon_statistics *table =
		gpumon_model_statistics(model, "drm_sched", "usage");
	struct places places = { 0 };

	*usage = (struct gpumon_usage){
		.known = table && table->n_rows,
		.n_rows = table ? table->n_rows : 0,
		.n_processes = model->n_processes,
		.n_rings = model->n_rings,
	};
	usage->rows = gpumon_calloc(usage->n_rows + 1, sizeof(*usage->rows));
	usage->processes = gpumon_calloc(usage->n_processes + 1, sizeof(*usage->processes));
	usage->parallel = gpumon_calloc(usage->n_rings + 1, sizeof(*usage->parallel));
	for (size_t i = 0; i < usage->n_rows; i++)
		fill_row(&usage->rows[i], &table->rows[i]);
	for (size_t i = 0; i < usage->n_rows; i++)
		usage->full |= usage->rows[i].other && !gpumon_usage_is_idle(&usage->rows[i].sum);
	join_rows(usage, model, &places);
	find_parallel(usage, model);
	/* The process of a client is that of its first row here. */
	sort(usage->rows, usage->n_rows, sizeof(*usage->rows), compare_rows);
	add_totals(usage, model, &places);
	sort(usage->groups, usage->n_groups, sizeof(*usage->groups), compare_groups);
	sort(usage->clients, usage->n_clients, sizeof(*usage->clients), compare_clients);
	gpumon_intern_clear(&places.rings);
	gpumon_intern_clear(&places.devices);
}

void gpumon_usage_clear(struct gpumon_usage *usage)
{
	free(usage->rows);
	free(usage->processes);
	free(usage->groups);
	free(usage->clients);
	free(usage->parallel);
	memset(usage, 0, sizeof(*usage));
}

struct gpumon_usage_total gpumon_usage_total_of(const struct gpumon_usage_row *row)
{
	return (struct gpumon_usage_total){
		.sum = row->sum,
		.device = row->device,
		.device_ns = row->sum.gpu_ns.v,
		.device_rings = 1,
		.device_share = row->sum.share && row->sum.gpu_ns.v,
		.devices = 1,
	};
}

double gpumon_usage_part(const struct gpumon_usage_total *total, uint64_t length_ns)
{
	double part, most = total->device_rings;

	if (!total->sum.gpu_ns.known || !length_ns)
		return -1;
	part = (double)total->device_ns / (double)length_ns;
	return part < most ? part : most;
}

struct gpumon_value gpumon_usage_wait(const struct gpumon_usage_sum *sum)
{
	if (!sum->queue_ns.known || !sum->jobs.v)
		return (struct gpumon_value){ 0 };
	return gpumon_value_of(sum->queue_ns.v / sum->jobs.v);
}

static bool is_share(const struct gpumon_usage_sum *sum)
{
	return sum->share && sum->gpu_ns.v;
}

const char *gpumon_usage_format_part(char *buf, const struct gpumon_usage_total *total,
				     uint64_t length_ns)
{
	double part = gpumon_usage_part(total, length_ns);

	if (part < 0)
		snprintf(buf, GPUMON_FORMAT_LEN, "-");
	else
		snprintf(buf, GPUMON_FORMAT_LEN, "%s%.1f%%", total->device_share ? "~" : "",
			 100 * part);
	return buf;
}

const char *gpumon_usage_format_time(char *buf, const struct gpumon_usage_sum *sum)
{
	buf[0] = '~';
	gpumon_format_ns(buf + is_share(sum), GPUMON_FORMAT_LEN - 1, sum->gpu_ns);
	return buf;
}

const char *gpumon_usage_format_device(char *buf, size_t len,
				       const struct gpumon_usage_total *total)
{
	char name[64];

	gpumon_format_name(name, sizeof(name), total->device);
	if (total->devices > 1)
		snprintf(buf, len, "%s +%u", name, total->devices - 1);
	else
		snprintf(buf, len, "%s", name);
	return buf;
}

const char *gpumon_usage_format_owner(char *buf, size_t len, const struct gpumon_usage_row *row)
{
	if (row->process)
		snprintf(buf, len, "%s", row->process->comm ? row->process->comm : "-");
	else if (row->other)
		snprintf(buf, len, "(no room in the table)");
	else if (row->cgroup_id)
		snprintf(buf, len, "(removed processes)");
	else if (row->process_id)
		snprintf(buf, len, "(removed process)");
	else
		snprintf(buf, len, "(no process)");
	return buf;
}

const char *gpumon_usage_format_group(char *buf, size_t len, const struct gpumon_usage_group *group)
{
	if (group->container)
		snprintf(buf, len, "%s", group->container);
	else if (group->path)
		snprintf(buf, len, "%s", group->path);
	else if (group->cgroup_id.known)
		snprintf(buf, len, "cgroup %" PRIu64, group->cgroup_id.v);
	else
		snprintf(buf, len, "(no cgroup)");
	return buf;
}
