// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The tables of "stat" about who used the GPUs. */
#include <string.h>

#include "model_fields.h"
#include "stat_page.h"

#define NUMBER	 (GPUMON_COLUMN_BELOW | GPUMON_COLUMN_RIGHT)
#define OPTIONAL GPUMON_COLUMN_OPTIONAL

static void print_busiest_ring(const struct stat_page *stat)
{
	const struct gpumon_model *model = stat->model;
	const struct gpumon_ring *busiest = NULL;
	char device[GPUMON_USAGE_NAME_LEN], name[GPUMON_USAGE_NAME_LEN], part[GPUMON_FORMAT_LEN];

	for (size_t i = 0; i < model->n_rings; i++) {
		if (model->rings[i].busy_ns.v > (busiest ? busiest->busy_ns.v : 0))
			busiest = &model->rings[i];
	}
	if (!busiest)
		return;
	gpumon_format_share(part, sizeof(part), busiest->busy_ns, gpumon_model_length_ns(model));
	fprintf(stat->stream, "busiest ring: %s %s, busy %s of the time\n",
		gpumon_format_name(device, sizeof(device), busiest->device),
		gpumon_format_name(name, sizeof(name), busiest->name), part);
}

void gpumon_stat_print_answer(const struct stat_page *stat)
{
	const struct gpumon_usage *usage = stat->usage;
	const struct gpumon_usage_total *most = NULL;
	const struct gpumon_process *process;
	char name[GPUMON_USAGE_NAME_LEN], device[GPUMON_USAGE_NAME_LEN], pid[GPUMON_FORMAT_LEN],
		part[GPUMON_FORMAT_LEN], wait[GPUMON_FORMAT_LEN];

	for (size_t i = 0; i < usage->n_processes; i++) {
		if (usage->processes[i].device_ns > (most ? most->device_ns : 0))
			most = &usage->processes[i];
	}
	print_busiest_ring(stat);
	if (!most)
		return;
	process = &stat->model->processes[most - usage->processes];
	gpumon_format_ns(wait, sizeof(wait), gpumon_usage_wait(&most->sum));
	fprintf(stat->stream, "most GPU time: %s (%s), %s of %s, its jobs waited %s each\n",
		gpumon_format_name(name, sizeof(name), process->comm),
		gpumon_format_count(pid, sizeof(pid), process->pid),
		gpumon_usage_format_part(part, most, gpumon_model_length_ns(stat->model)),
		gpumon_format_name(device, sizeof(device), most->device), wait);
}

void gpumon_stat_usage_columns(struct gpumon_table *table)
{
	gpumon_table_column(table, "GPU", NUMBER | OPTIONAL);
	gpumon_table_column(table, "OF-DEVICE", GPUMON_COLUMN_BELOW | OPTIONAL);
	gpumon_table_column(table, "GPU-TIME", NUMBER | OPTIONAL);
	gpumon_table_column(table, "WAIT/JOB", NUMBER | OPTIONAL);
	gpumon_table_column(table, "ERRORS", NUMBER | OPTIONAL);
}

static void add_time(struct gpumon_table *table, const struct gpumon_usage_sum *sum)
{
	char text[GPUMON_FORMAT_LEN];

	gpumon_table_text(table, gpumon_usage_format_time(text, sum));
	gpumon_table_ns(table, gpumon_usage_wait(sum));
	gpumon_table_value(table, sum->errors);
}

static void add_part(const struct stat_page *stat, struct gpumon_table *table,
		     const struct gpumon_usage_total *total)
{
	char text[GPUMON_FORMAT_LEN];

	gpumon_table_text(table, gpumon_usage_format_part(text, total,
							  gpumon_model_length_ns(stat->model)));
}

void gpumon_stat_usage_cells(const struct stat_page *stat, struct gpumon_table *table,
			     const struct gpumon_usage_total *total)
{
	char text[GPUMON_USAGE_NAME_LEN];

	add_part(stat, table, total);
	gpumon_table_text(table, gpumon_usage_format_device(text, sizeof(text), total));
	add_time(table, &total->sum);
}

void gpumon_stat_memory_columns(struct gpumon_table *table)
{
	gpumon_table_column(table, "VRAM-NOW", NUMBER | OPTIONAL);
	gpumon_table_column(table, "OBJECTS-NOW", NUMBER | OPTIONAL);
}

void gpumon_stat_memory_cells(struct gpumon_table *table, struct gpumon_value vram_bytes,
			      struct gpumon_value live_object_bytes)
{
	char text[GPUMON_FORMAT_LEN];

	gpumon_table_text(table, gpumon_format_bytes(text, sizeof(text), vram_bytes));
	gpumon_table_text(table, gpumon_format_bytes(text, sizeof(text), live_object_bytes));
}

/* Jobs, or in a difference jobs a second. */
static void add_jobs(const struct stat_page *stat, struct gpumon_table *table,
		     struct gpumon_value jobs)
{
	if (stat->model->interval_ns)
		gpumon_table_rate(table, jobs, stat->model->interval_ns);
	else
		gpumon_table_value(table, jobs);
}

static const char *jobs_title(const struct stat_page *stat)
{
	return stat->model->interval_ns ? "JOBS/s" : "JOBS";
}

static struct gpumon_value number_or_none(uint64_t number)
{
	return gpumon_value_if(number != 0, number);
}

static void add_usage_row(const struct stat_page *stat, struct gpumon_table *table,
			  const struct gpumon_usage_row *row)
{
	const struct gpumon_usage_total total = gpumon_usage_total_of(row);
	char text[GPUMON_USAGE_NAME_LEN];

	gpumon_table_text(table, row->device);
	gpumon_table_text(table, row->name);
	gpumon_table_value(table, row->process ? row->process->pid : (struct gpumon_value){ 0 });
	gpumon_table_value(table, number_or_none(row->client));
	add_jobs(stat, table, row->sum.jobs);
	add_part(stat, table, &total);
	add_time(table, &row->sum);
	gpumon_table_text(table, row->container ? row->container : row->path);
	gpumon_table_text(table, gpumon_usage_format_owner(text, sizeof(text), row));
}

static bool is_any(const struct stat_page *stat)
{
	for (size_t i = 0; i < stat->usage->n_rows; i++) {
		if (!gpumon_usage_is_idle(&stat->usage->rows[i].sum))
			return true;
	}
	return false;
}

void gpumon_stat_print_usage(const struct stat_page *stat)
{
	const struct gpumon_usage *usage = stat->usage;
	struct gpumon_table *table;

	if (!is_any(stat))
		return;
	gpumon_stat_heading(
		stat,
		"GPU TIME BY PROCESS AND RING (GPU: part of the time; WAIT/JOB: mean time of a job in the queue)");
	table = gpumon_table_new(stat->term);
	gpumon_table_column(table, "DEVICE", GPUMON_COLUMN_KEY);
	gpumon_table_column(table, "RING", GPUMON_COLUMN_KEY);
	gpumon_table_column(table, "PID", GPUMON_COLUMN_KEY | GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "CLIENT", NUMBER | OPTIONAL);
	gpumon_table_column(table, jobs_title(stat), NUMBER);
	gpumon_table_column(table, "GPU", NUMBER);
	gpumon_table_column(table, "GPU-TIME", NUMBER);
	gpumon_table_column(table, "WAIT/JOB", NUMBER);
	gpumon_table_column(table, "ERRORS", NUMBER);
	gpumon_table_column(table, "CONTAINER", GPUMON_COLUMN_BELOW | OPTIONAL);
	gpumon_table_column(table, "COMM", GPUMON_COLUMN_BELOW);
	for (size_t i = 0; i < usage->n_rows; i++) {
		/* Those that did nothing would hide the others. */
		if (!gpumon_usage_is_idle(&usage->rows[i].sum))
			add_usage_row(stat, table, &usage->rows[i]);
	}
	gpumon_table_print(table, stat->stream);
	if (usage->full)
		fputs("what found no room: load gpumon with a larger max_processes\n",
		      stat->stream);
	gpumon_stat_print_share(stat);
}

void gpumon_stat_print_share(const struct stat_page *stat)
{
	if (stat->usage->share)
		gpumon_stat_sentence(stat, GPUMON_USAGE_SHARE);
}

static void add_group(const struct stat_page *stat, struct gpumon_table *table,
		      const struct gpumon_usage_group *group)
{
	const struct gpumon_value jobs = group->total.sum.jobs;
	char text[GPUMON_USAGE_NAME_LEN];

	gpumon_table_number(table, group->processes);
	gpumon_table_number(table, group->alive);
	/* By BPF only what living processes have queued is known. */
	add_jobs(stat, table, jobs.known ? jobs : group->queued);
	gpumon_stat_usage_cells(stat, table, &group->total);
	gpumon_stat_memory_cells(table, group->vram_bytes, group->live_object_bytes);
	gpumon_table_text(table, gpumon_format_bytes(text, GPUMON_FORMAT_LEN, group->dmem_bytes));
	gpumon_table_text(table, gpumon_usage_format_group(text, sizeof(text), group));
}

void gpumon_stat_print_cgroups(const struct stat_page *stat)
{
	const struct gpumon_usage *usage = stat->usage;
	struct gpumon_table *table;

	if (!usage->n_groups)
		return;
	gpumon_stat_heading(
		stat,
		"CONTAINERS AND CGROUPS (GPU: part of the time, of the device used most, all of its rings added)");
	table = gpumon_table_new(stat->term);
	gpumon_table_column(table, "PROCESSES", NUMBER);
	gpumon_table_column(table, "ALIVE", NUMBER);
	gpumon_table_column(table, jobs_title(stat), NUMBER);
	gpumon_stat_usage_columns(table);
	gpumon_stat_memory_columns(table);
	gpumon_table_column(table, "DMEM-NOW", NUMBER | OPTIONAL);
	gpumon_table_column(table, "CONTAINER", GPUMON_COLUMN_BELOW);
	for (size_t i = 0; i < usage->n_groups; i++)
		add_group(stat, table, &usage->groups[i]);
	gpumon_table_print(table, stat->stream);
	gpumon_stat_print_share(stat);
}

void gpumon_stat_print_dmem(const struct stat_page *stat)
{
	const struct gpumon_model *model = stat->model;
	struct gpumon_table *table = NULL;
	char text[GPUMON_FORMAT_LEN];

	for (size_t i = 0; i < model->n_dmem; i++) {
		const struct gpumon_dmem *dmem = &model->dmem[i];

		/* The kernel names each region for each cgroup. */
		if (dmem->bytes.known && !dmem->bytes.v)
			continue;
		if (!table) {
			gpumon_stat_heading(
				stat,
				"GPU MEMORY BY CGROUP (what the kernel charges to it and to those below it now)");
			table = gpumon_table_new(stat->term);
			gpumon_table_column(table, "REGION", GPUMON_COLUMN_KEY);
			gpumon_table_column(table, "NOW", NUMBER);
			gpumon_table_column(table, "CAPACITY", NUMBER | OPTIONAL);
			gpumon_table_column(table, "CONTAINER", GPUMON_COLUMN_BELOW);
		}
		gpumon_table_text(table, dmem->region);
		gpumon_table_text(table, gpumon_format_bytes(text, sizeof(text), dmem->bytes));
		gpumon_table_text(table,
				  gpumon_format_bytes(text, sizeof(text), dmem->capacity_bytes));
		gpumon_table_text(table, dmem->container ? dmem->container : dmem->cgroup);
	}
	if (table)
		gpumon_table_print(table, stat->stream);
}

/* Where each process has one client, and no client several processes, they say the same. */
static bool clients_say_more(const struct stat_page *stat)
{
	const struct gpumon_usage *usage = stat->usage;

	for (size_t i = 0; i < usage->n_clients; i++) {
		const struct gpumon_usage_client *client = &usage->clients[i];
		const struct gpumon_usage_sum *sum = &client->total.sum;
		size_t process;

		if (gpumon_usage_is_idle(sum))
			continue;
		if (!client->process)
			return true;
		process = (size_t)(client->process - stat->model->processes);
		if (usage->processes[process].sum.jobs.v != sum->jobs.v ||
		    usage->processes[process].sum.gpu_ns.v != sum->gpu_ns.v)
			return true;
	}
	return false;
}

void gpumon_stat_print_clients(const struct stat_page *stat)
{
	const struct gpumon_usage *usage = stat->usage;
	struct gpumon_table *table;

	if (!clients_say_more(stat))
		return;
	gpumon_stat_heading(stat, "DRM CLIENTS (drm-client-id in the fdinfo of a process)");
	table = gpumon_table_new(stat->term);
	gpumon_table_column(table, "CLIENT", GPUMON_COLUMN_KEY | GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, jobs_title(stat), NUMBER);
	gpumon_stat_usage_columns(table);
	gpumon_table_column(table, "PID", NUMBER);
	gpumon_table_column(table, "COMM", GPUMON_COLUMN_BELOW);
	for (size_t i = 0; i < usage->n_clients; i++) {
		const struct gpumon_usage_client *client = &usage->clients[i];

		if (gpumon_usage_is_idle(&client->total.sum))
			continue;
		gpumon_table_number(table, client->id);
		add_jobs(stat, table, client->total.sum.jobs);
		gpumon_stat_usage_cells(stat, table, &client->total);
		gpumon_table_value(table, client->process ? client->process->pid :
							    (struct gpumon_value){ 0 });
		gpumon_table_text(table, client->process ? client->process->comm : NULL);
	}
	gpumon_table_print(table, stat->stream);
}
