// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Draws who uses the GPUs in "top": processes, containers and cgroups, and what GPUs they are. */
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "lib/table.h"
#include "lib/text.h"
#include "top.h"
#include "top_page.h"

/* From this width on, memory has columns, and the device of a process has one. */
#define MEMORY_FROM    69
#define DEVICE_FROM    90
#define DEVICE_COLUMNS 16
/* Lines with names of GPUs, on a terminal with so many lines. */
#define GPU_LINES     3
#define GPU_ROWS_FROM 16

/* What processes, or containers and cgroups, have now. */
enum memory {
	MEMORY_VRAM,
	MEMORY_OBJECTS,
	MEMORY_DMEM,
	MEMORIES
};

static const struct {
	const char *title;
	unsigned int width;
} memories[MEMORIES] = {
	[MEMORY_VRAM] = { "VRAM-NOW", 10 },
	[MEMORY_OBJECTS] = { "OBJECTS-NOW", 13 },
	[MEMORY_DMEM] = { "DMEM-NOW", 10 },
};

/**
 * struct owners - how a list of processes, or of containers and cgroups, is drawn
 * @memory: by enum memory: it has a column; one that nobody counts has none
 * @device: the device has a column
 */
struct owners {
	bool memory[MEMORIES];
	bool device;
};

static void memory_of_process(const struct gpumon_top_process *process,
			      struct gpumon_value memory[MEMORIES])
{
	memory[MEMORY_VRAM] = process->vram_bytes;
	memory[MEMORY_OBJECTS] = process->live_object_bytes;
	/* The kernel charges cgroups. */
	memory[MEMORY_DMEM] = (struct gpumon_value){ 0 };
}

static void memory_of_group(const struct gpumon_usage_group *group,
			    struct gpumon_value memory[MEMORIES])
{
	memory[MEMORY_VRAM] = group->vram_bytes;
	memory[MEMORY_OBJECTS] = group->live_object_bytes;
	memory[MEMORY_DMEM] = group->dmem_bytes;
}

static void note_memory(struct owners *owners, const struct gpumon_value memory[MEMORIES])
{
	for (size_t i = 0; i < MEMORIES; i++)
		owners->memory[i] |= memory[i].known;
}

/* Leave the columns out for which there is no room. */
static void fit_owners(const struct gpumon_page *page, struct owners *owners)
{
	unsigned int width = 0;

	for (size_t i = 0; i < MEMORIES; i++) {
		owners->memory[i] &= MEMORY_FROM + width + memories[i].width <= page->columns;
		width += owners->memory[i] ? memories[i].width : 0;
	}
	owners->device = page->top->usage.known && DEVICE_FROM + width <= page->columns;
}

/* "0000:03:00.0 Radeon RX 7900 XT GPU-1234"; "" if nothing is known of it. */
static void device_text(const struct gpumon_device *device, bool uuid, char *buf, size_t len)
{
	char address[64], model[128], id[96];

	gpumon_format_name(address, sizeof(address), device->address);
	gpumon_format_name(model, sizeof(model), device->model);
	gpumon_format_name(id, sizeof(id), device->uuid);
	uuid &= device->uuid != NULL;
	*buf = '\0';
	if (device->model || uuid)
		snprintf(buf, len, "%s%s%s%s%s", address, device->model ? " " : "",
			 device->model ? model : "", uuid ? " " : "", uuid ? id : "");
}

void gpumon_top_draw_devices(struct gpumon_page *page, unsigned int reserved)
{
	const struct gpumon_model *last = &page->top->last;
	unsigned int rows = page->view->term.rows, lines = 0;
	char text[320];

	if (rows && rows < GPU_ROWS_FROM)
		return;
	for (size_t i = 0; i < last->n_devices; i++) {
		device_text(&last->devices[i], last->n_devices == 1, text, sizeof(text));
		if (!*text)
			continue;
		if (page->at && page->at + 3 + gpumon_text_columns(text) > page->columns) {
			gpumon_page_end_line(page);
			lines++;
			if (rows && (lines == GPU_LINES || !gpumon_page_room(page, 1 + reserved))) {
				gpumon_page_more(page, last->n_devices - i, "GPUs");
				return;
			}
		}
		gpumon_page_blanks(page, page->at ? 3 : 0);
		gpumon_page_colour(page, gpumon_page_dim(page), text);
	}
	if (page->at)
		gpumon_page_end_line(page);
}

/* GPU and wait, where the source counts them. */
static void draw_usage(struct gpumon_page *page, const char *colour,
		       const struct gpumon_usage_total *total)
{
	char text[GPUMON_FORMAT_LEN];

	if (!page->top->usage.known)
		return;
	gpumon_page_right(page, 9, colour,
			  gpumon_usage_format_part(text, total, page->top->diff.interval_ns));
	gpumon_page_right(page, 10, colour,
			  gpumon_format_ns(text, sizeof(text), gpumon_usage_wait(&total->sum)));
}

static void draw_usage_titles(struct gpumon_page *page)
{
	if (!page->top->usage.known)
		return;
	gpumon_page_right(page, 9, gpumon_page_bold(page), "GPU");
	gpumon_page_right(page, 10, gpumon_page_bold(page), "WAIT/JOB");
}

static void draw_memory(struct gpumon_page *page, const struct owners *owners, const char *colour,
			const struct gpumon_value memory[MEMORIES])
{
	char text[GPUMON_FORMAT_LEN];

	for (size_t i = 0; i < MEMORIES; i++) {
		if (owners->memory[i])
			gpumon_page_right(page, memories[i].width, colour,
					  gpumon_format_bytes(text, sizeof(text), memory[i]));
	}
}

static void draw_device(struct gpumon_page *page, const struct owners *owners, const char *colour,
			const struct gpumon_usage_total *total)
{
	char text[GPUMON_USAGE_NAME_LEN];

	gpumon_page_blanks(page, 2);
	if (!owners->device)
		return;
	gpumon_usage_format_device(text, sizeof(text), total);
	gpumon_page_left(page, DEVICE_COLUMNS, colour, text);
	gpumon_page_blanks(page, 2);
}

/* Those of the last columns. @name: that of the last one */
static void draw_owner_titles(struct gpumon_page *page, const struct owners *owners,
			      const char *name)
{
	for (size_t i = 0; i < MEMORIES; i++) {
		if (owners->memory[i])
			gpumon_page_right(page, memories[i].width, gpumon_page_bold(page),
					  memories[i].title);
	}
	gpumon_page_blanks(page, 2);
	if (owners->device) {
		gpumon_page_left(page, DEVICE_COLUMNS, gpumon_page_bold(page), "OF DEVICE");
		gpumon_page_blanks(page, 2);
	}
	gpumon_page_colour(page, gpumon_page_bold(page), name);
	gpumon_page_end_line(page);
}

static void draw_process(struct gpumon_page *page, const struct owners *owners,
			 const struct gpumon_top_process *process)
{
	const char *colour = process->exited || !process->jobs.v ? gpumon_page_dim(page) : "";
	struct gpumon_value memory[MEMORIES];
	char text[GPUMON_FORMAT_LEN];
	char comm[160];

	if (process->usage->sum.gpu_ns.v)
		colour = "";
	gpumon_page_right(page, 8, colour, gpumon_format_count(text, sizeof(text), process->pid));
	draw_usage(page, colour, process->usage);
	gpumon_page_right(page, 10, colour,
			  gpumon_format_rate(text, sizeof(text), process->jobs,
					     page->top->diff.interval_ns));
	gpumon_page_right(page, 10, colour,
			  gpumon_format_short(text, sizeof(text), process->total));
	memory_of_process(process, memory);
	draw_memory(page, owners, colour, memory);
	draw_device(page, owners, colour, process->usage);
	gpumon_page_colour(page, colour, gpumon_format_name(comm, sizeof(comm), process->comm));
	if (process->exited)
		gpumon_page_colour(page, colour, " (exited)");
	gpumon_page_end_line(page);
}

/* @share: there was a number with that mark */
static void draw_share(struct gpumon_page *page, bool share, unsigned int reserved)
{
	if (!share || !gpumon_page_room(page, 1 + reserved))
		return;
	gpumon_page_colour(
		page, gpumon_page_dim(page),
		"~ share: the ring runs several jobs at once, its time is divided among them");
	gpumon_page_end_line(page);
}

/* It has ended, and did nothing in the interval. */
static bool has_gone(const struct gpumon_top_process *process)
{
	return process->exited && !process->jobs.v && !process->usage->sum.gpu_ns.v;
}

static void draw_processes(struct gpumon_page *page, unsigned int reserved)
{
	const struct gpumon_top *top = page->top;
	struct gpumon_value memory[MEMORIES];
	struct owners owners = { 0 };
	bool share = false;
	size_t shown = 0;

	/* Exited processes without jobs in the interval come last and are only counted. */
	while (shown < top->n_processes && !has_gone(&top->processes[shown]))
		shown++;
	if (!top->n_processes || !gpumon_page_room(page, 3 + reserved))
		return;

	for (size_t i = 0; i < top->n_processes; i++) {
		memory_of_process(&top->processes[i], memory);
		note_memory(&owners, memory);
	}
	fit_owners(page, &owners);
	gpumon_page_end_line(page);
	gpumon_page_right(page, 8, gpumon_page_bold(page), "PID");
	draw_usage_titles(page);
	gpumon_page_right(page, 10, gpumon_page_bold(page), "JOBS/S");
	gpumon_page_right(page, 10, gpumon_page_bold(page), "JOBS");
	draw_owner_titles(page, &owners, "PROCESS");

	for (size_t i = 0; i < shown; i++) {
		bool last = i + 1 == top->n_processes;

		if (!gpumon_page_room(page, (last ? 1 : 2) + reserved)) {
			if (gpumon_page_room(page, 1 + reserved))
				gpumon_page_more(page, top->n_processes - i, "processes");
			return;
		}
		draw_process(page, &owners, &top->processes[i]);
		share |= top->processes[i].usage->device_share;
	}
	if (shown < top->n_processes && gpumon_page_room(page, 1 + reserved)) {
		char text[64];

		snprintf(text, sizeof(text), "%s%zu that exited", shown ? "and " : "",
			 top->n_processes - shown);
		gpumon_page_colour(page, gpumon_page_dim(page), text);
		gpumon_page_end_line(page);
	}
	draw_share(page, share, reserved);
}

static void draw_group(struct gpumon_page *page, const struct owners *owners,
		       const struct gpumon_usage_group *group)
{
	struct gpumon_value memory[MEMORIES];
	const struct gpumon_value jobs = group->total.sum.jobs;
	const struct gpumon_value done = jobs.known ? jobs : group->queued;
	const char *colour = done.v || group->total.sum.gpu_ns.v ? "" : gpumon_page_dim(page);
	char text[GPUMON_FORMAT_LEN], name[GPUMON_USAGE_NAME_LEN], safe[GPUMON_USAGE_NAME_LEN];

	gpumon_page_right(page, 9, colour,
			  gpumon_format_count(text, sizeof(text),
					      gpumon_value_of(group->processes)));
	draw_usage(page, colour, &group->total);
	gpumon_page_right(page, 10, colour,
			  gpumon_format_rate(text, sizeof(text), done,
					     page->top->diff.interval_ns));
	memory_of_group(group, memory);
	draw_memory(page, owners, colour, memory);
	draw_device(page, owners, colour, &group->total);
	gpumon_usage_format_group(name, sizeof(name), group);
	gpumon_page_colour(page, colour, gpumon_format_name(safe, sizeof(safe), name));
	gpumon_page_end_line(page);
}

void gpumon_top_draw_groups(struct gpumon_page *page, unsigned int reserved)
{
	const struct gpumon_usage *usage = &page->top->usage;
	struct gpumon_value memory[MEMORIES];
	struct owners owners = { 0 };
	bool share = false;

	if (!usage->n_groups || !gpumon_page_room(page, 3 + reserved))
		return;
	for (size_t i = 0; i < usage->n_groups; i++) {
		memory_of_group(&usage->groups[i], memory);
		note_memory(&owners, memory);
	}
	fit_owners(page, &owners);
	gpumon_page_end_line(page);
	gpumon_page_right(page, 9, gpumon_page_bold(page), "PROCESSES");
	draw_usage_titles(page);
	gpumon_page_right(page, 10, gpumon_page_bold(page), "JOBS/S");
	draw_owner_titles(page, &owners, "CONTAINER OR CGROUP");
	for (size_t i = 0; i < usage->n_groups; i++) {
		bool last = i + 1 == usage->n_groups;

		if (!gpumon_page_room(page, (last ? 1 : 2) + reserved)) {
			if (gpumon_page_room(page, 1 + reserved))
				gpumon_page_more(page, usage->n_groups - i,
						 "containers and cgroups");
			return;
		}
		draw_group(page, &owners, &usage->groups[i]);
		share |= usage->groups[i].total.device_share;
	}
	draw_share(page, share, reserved);
}

void gpumon_top_draw_owners(struct gpumon_page *page, unsigned int reserved)
{
	if (page->view->by_cgroup)
		gpumon_top_draw_groups(page, reserved);
	else
		draw_processes(page, reserved);
}

size_t gpumon_top_owners(const struct gpumon_top *top, const struct gpumon_top_view *view)
{
	return view->by_cgroup ? top->usage.n_groups : top->n_processes;
}

/* Rows of the page: who was on which ring. */
static void add_row(const struct gpumon_page *page, struct gpumon_table *table,
		    const struct gpumon_usage_row *row)
{
	const struct gpumon_usage_total total = gpumon_usage_total_of(row);
	char text[GPUMON_USAGE_NAME_LEN], safe[64];
	uint64_t interval_ns = page->top->diff.interval_ns;

	gpumon_table_text(table, gpumon_format_name(safe, sizeof(safe), row->device));
	gpumon_table_text(table, gpumon_format_name(safe, sizeof(safe), row->name));
	gpumon_table_value(table, row->process ? row->process->pid : (struct gpumon_value){ 0 });
	gpumon_usage_format_owner(text, sizeof(text), row);
	gpumon_table_text(table, gpumon_format_name(safe, sizeof(safe), text));
	gpumon_table_text(table, gpumon_usage_format_part(text, &total, interval_ns));
	gpumon_table_ns(table, gpumon_usage_wait(&row->sum));
	gpumon_table_rate(table, row->sum.jobs, interval_ns);
	gpumon_table_value(table, row->sum.errors);
	gpumon_table_value(table, gpumon_value_if(row->client != 0, row->client));
	gpumon_page_place(table, row->container, row->path);
}

void gpumon_top_draw_usage(struct gpumon_page *page, unsigned int reserved)
{
	const struct gpumon_usage *usage = &page->top->usage;
	struct gpumon_table *table = gpumon_table_new(&page->view->term);

	gpumon_table_column(table, "DEVICE", GPUMON_COLUMN_KEY);
	gpumon_table_column(table, "RING", GPUMON_COLUMN_KEY);
	gpumon_table_column(table, "PID", GPUMON_COLUMN_KEY | GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "PROCESS", GPUMON_COLUMN_KEY);
	gpumon_table_column(table, "GPU", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "WAIT/JOB", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "JOBS/S", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "ERRORS", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "CLIENT", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "CONTAINER", 0);
	for (size_t i = 0; i < usage->n_rows; i++)
		add_row(page, table, &usage->rows[i]);
	gpumon_page_table(page, table, "drm_sched.usage", reserved + (usage->share ? 1 : 0));
	draw_share(page, usage->share, reserved);
}
