// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/table.h"
#include "lib/text.h"
#include "path_text.h"
#include "ranks.h"
#include "view.h"

#define PATH_COLUMNS 100 /* of what a rank did meanwhile */
#define JSON_COLUMNS 4096
#define PERCENT_MIN  5 /* what it did less is not said */

/* --- who was last */

const struct gpumon_rank_row *gpumon_ranks_last(const struct gpumon_view *view)
{
	uint32_t last = gpumon_collectives_latest(view->ranks, view->rank_count);

	return last < view->rank_count ? &view->ranks[last] : NULL;
}

bool gpumon_ranks_matched(const struct gpumon_view *view)
{
	for (unsigned int i = 0; i < view->rank_count; i++) {
		if (view->ranks[i].matched)
			return true;
	}
	return false;
}

static void keep_longest(struct gpumon_rank_paths *paths, const struct gpumon_node *node)
{
	unsigned int at = paths->count;

	while (at && paths->at[at - 1]->late_ns < node->late_ns)
		at--;
	if (at == GPUMON_RANKS_MEANWHILE)
		return;
	if (paths->count < GPUMON_RANKS_MEANWHILE)
		paths->count++;
	memmove(paths->at + at + 1, paths->at + at, (paths->count - at - 1) * sizeof(*paths->at));
	paths->at[at] = node;
}

void gpumon_ranks_meanwhile(const struct gpumon_view *view, const struct gpumon_rank_row *row,
			    struct gpumon_rank_paths *paths)
{
	memset(paths, 0, sizeof(*paths));
	paths->all_ns = row->late_busy_ns;
	for (const struct gpumon_node *node = view->root; node;
	     node = gpumon_tree_next(node, view->root)) {
		if (!node->late_ns)
			continue;
		paths->all_ns = gpumon_add_saturated(paths->all_ns, node->late_ns);
		keep_longest(paths, node);
	}
}

/* The sentence names the rank already. */
static const struct gpumon_node *process_of(const struct gpumon_node *node)
{
	while (node && node->kind != GPUMON_NODE_PROCESS)
		node = node->parent;
	return node;
}

/* "step › load_batch › [sleep]", without the process, to be freed. */
static char *rank_path(const struct gpumon_node *node, unsigned int columns)
{
	const struct gpumon_node *process = process_of(node);
	char *callers, *text;

	gpumon_path_texts(&node, 1, columns, &callers);
	if (process && !strncmp(callers, process->name, strlen(process->name))) {
		char *rest = strstr(callers, " › ");

		memmove(callers, rest ? rest + strlen(" › ") : callers + strlen(callers),
			strlen(rest ? rest + strlen(" › ") : "") + 1);
	}
	text = gpumon_asprintf("%s%s%s", callers, *callers ? " › " : "", node->name);
	free(callers);
	return text;
}

static unsigned int percent_of(uint64_t part, uint64_t whole)
{
	return whole ? (unsigned int)((double)part * 100 / (double)whole + 0.5) : 0;
}

static char *add_part(char *text, const char *what, uint64_t part, uint64_t whole)
{
	unsigned int percent = percent_of(part, whole);
	char *longer;

	if (percent < PERCENT_MIN)
		return text;
	longer = gpumon_asprintf("%s%s%s %u %%", text, *text ? ", " : "", what, percent);
	free(text);
	return longer;
}

char *gpumon_ranks_meanwhile_text(const struct gpumon_view *view, const struct gpumon_rank_row *row)
{
	char *text = gpumon_strdup(""), *path;
	struct gpumon_rank_paths paths;

	gpumon_ranks_meanwhile(view, row, &paths);
	for (unsigned int i = 0; i < paths.count; i++) {
		path = rank_path(paths.at[i], PATH_COLUMNS);
		text = add_part(text, path, paths.at[i]->late_ns, paths.all_ns);
		free(path);
	}
	return add_part(text, "work of its GPU", row->late_busy_ns, paths.all_ns);
}

/* --- at the rows of kernels */

const char *gpumon_ranks_of_kernel(char *buf, size_t len, const struct gpumon_kernel_row *row)
{
	char ns[GPUMON_FORMAT_LEN];

	if (!row->collective)
		snprintf(buf, len, "%s", "");
	else if (!row->matched)
		snprintf(buf, len, "how much of it is waiting for other ranks is not known: %s",
			 row->not_split ? "not each rank waits for each other one in it" :
					  "they are not matched");
	else
		snprintf(buf, len, "of which waiting for other ranks %s",
			 gpumon_format_ns(ns, sizeof(ns), gpumon_value_of(row->wait_ns)));
	return buf;
}

const char *gpumon_ranks_of_node(char *buf, size_t len, const struct gpumon_view *view,
				 const struct gpumon_node *node)
{
	struct gpumon_kernel_row row = { .wait_ns = node->wait_ns };

	if (node->kind != GPUMON_NODE_KERNEL || !view->rank_count)
		return gpumon_ranks_of_kernel(buf, len, &row);
	row.collective = gpumon_collective_is(node->name);
	for (unsigned int i = 0; i < view->kernel_count && row.collective; i++) {
		if (strcmp(view->kernels[i].name, node->name) != 0)
			continue;
		row.matched += view->kernels[i].matched;
		row.not_split += view->kernels[i].not_split;
	}
	return gpumon_ranks_of_kernel(buf, len, &row);
}

const char *gpumon_ranks_of_device(char *buf, size_t len, const struct gpumon_view *view,
				   const struct gpumon_device_row *row)
{
	char ns[GPUMON_FORMAT_LEN];
	uint64_t waiting_ns = 0;

	for (unsigned int i = 0; i < view->rank_count && row->stream == ~0u; i++) {
		const struct gpumon_rank_row *rank = &view->ranks[i];

		if (rank->process == row->process && rank->device == row->device)
			waiting_ns += rank->waiting_ns;
	}
	snprintf(buf, len, "%s%s", waiting_ns ? "of which waiting for other ranks " : "",
		 waiting_ns ? gpumon_format_ns(ns, sizeof(ns), gpumon_value_of(waiting_ns)) : "");
	return buf;
}

/* --- the table */

static uint64_t not_split_of(const struct gpumon_rank_row *row)
{
	uint64_t count = 0;

	for (unsigned int i = 0; i < GPUMON_COLLECTIVE_KINDS; i++)
		count += row->not_split[i];
	return count;
}

const char *gpumon_ranks_matched_text(char *buf, size_t len, const struct gpumon_rank_row *row)
{
	char matched[GPUMON_TEXT_NUMBER], all[GPUMON_TEXT_NUMBER];

	snprintf(buf, len, "%s of %s", gpumon_text_count(matched, sizeof(matched), row->matched),
		 gpumon_text_count(all, sizeof(all),
				   row->matched + row->unmatched + not_split_of(row)));
	return buf;
}

const char *gpumon_ranks_process(char *buf, size_t len, const struct gpumon_view *view,
				 const struct gpumon_rank_row *row)
{
	const struct gpumon_scan_process *process = gpumon_view_process(view, row->process);
	char device[GPUMON_DEVICE_TEXT];

	snprintf(buf, len, "pid %u%s%s, %s", process ? gpumon_scan_pid(process) : 0,
		 process && process->host && *process->host ? " on " : "",
		 process && process->host ? process->host : "",
		 gpumon_device_text(device, row->device, 0));
	return buf;
}

static int print_table(FILE *out, const struct gpumon_term *term, const struct gpumon_view *view)
{
	struct gpumon_table *table = gpumon_table_new(term);

	gpumon_table_column(table, "RANK", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "MATCHED", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "COMMUNICATION", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "WAITING", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "LAST", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "BY", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "MEDIAN", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "PROCESS", GPUMON_COLUMN_PHRASE);
	for (unsigned int i = 0; i < view->rank_count; i++) {
		const struct gpumon_rank_row *row = &view->ranks[i];
		char number[16], text[512];

		snprintf(number, sizeof(number), "%" PRIu32, row->rank);
		gpumon_table_text(table, number);
		gpumon_table_text(table, gpumon_ranks_matched_text(text, sizeof(text), row));
		gpumon_table_ns(table, gpumon_value_of(row->communication_ns));
		gpumon_table_ns(table, gpumon_value_of(row->waiting_ns));
		gpumon_table_count(table, row->last);
		gpumon_table_ns(table, gpumon_value_of(row->late_ns));
		gpumon_table_ns(table, gpumon_value_of(row->late_median_ns));
		gpumon_table_text(table, gpumon_ranks_process(text, sizeof(text), view, row));
	}
	return gpumon_table_print(table, out);
}

static void tell_last(const struct gpumon_view *view, gpumon_ranks_tell *tell, void *data)
{
	const struct gpumon_rank_row *row = gpumon_ranks_last(view);
	char count[GPUMON_TEXT_NUMBER], all[GPUMON_TEXT_NUMBER], ns[GPUMON_FORMAT_LEN];
	char *meanwhile, *text;

	if (!row)
		return;
	meanwhile = gpumon_ranks_meanwhile_text(view, row);
	text = gpumon_asprintf(
		"rank %" PRIu32 " began last in %s of %s collectives, by %s on average%s%s",
		row->rank, gpumon_text_count(count, sizeof(count), row->last),
		gpumon_text_count(all, sizeof(all), row->matched),
		gpumon_format_ns(ns, sizeof(ns), gpumon_value_of(row->late_ns / row->last)),
		*meanwhile ? "; what took it longer than the first one: " : "", meanwhile);
	tell(data, text);
	free(text);
	free(meanwhile);
}

static void tell_clocks(const struct gpumon_view *view, gpumon_ranks_tell *tell, void *data)
{
	char text[256], by[GPUMON_FORMAT_LEN], error[GPUMON_FORMAT_LEN];

	for (unsigned int i = 0; i < view->rank_count; i++) {
		const struct gpumon_rank_row *row = &view->ranks[i];
		uint64_t ns = row->clock_ns < 0 ? 0 - (uint64_t)row->clock_ns :
						  (uint64_t)row->clock_ns;

		if (!row->clock_moved)
			continue;
		snprintf(text, sizeof(text),
			 "The clock of rank %" PRIu32
			 " is another one: %s were %s its times, with an error of %s",
			 row->rank, gpumon_format_ns(by, sizeof(by), gpumon_value_of(ns)),
			 row->clock_ns < 0 ? "taken from" : "added to",
			 gpumon_format_ns(error, sizeof(error),
					  gpumon_value_of(row->clock_error_ns)));
		tell(data, text);
	}
}

/* A sentence that begins with how many. */
static void tell_count(gpumon_ranks_tell *tell, void *data, uint64_t count, const char *one,
		       const char *several)
{
	char number[GPUMON_TEXT_NUMBER], *text;

	if (!count)
		return;
	text = gpumon_asprintf("%s %s", gpumon_text_count(number, sizeof(number), count),
			       count == 1 ? one : several);
	tell(data, text);
	free(text);
}

/* "3 broadcasts, 1 send or receive: ..." */
static void tell_not_split(const struct gpumon_rank_row *all, gpumon_ranks_tell *tell, void *data)
{
	static const char *const kinds[GPUMON_COLLECTIVE_KINDS][2] = {
		[GPUMON_COLLECTIVE_BROADCAST] = { "broadcast", "broadcasts" },
		[GPUMON_COLLECTIVE_REDUCE] = { "reduction to one rank", "reductions to one rank" },
		[GPUMON_COLLECTIVE_GATHER] = { "gather", "gathers" },
		[GPUMON_COLLECTIVE_SCATTER] = { "scatter", "scatters" },
		[GPUMON_COLLECTIVE_SEND] = { "send or receive", "sends and receives" },
	};
	char *text = gpumon_strdup(""), *longer;

	for (unsigned int i = 0; i < GPUMON_COLLECTIVE_KINDS; i++) {
		char number[GPUMON_TEXT_NUMBER];
		uint64_t count = all->not_split[i];

		if (!count)
			continue;
		longer = gpumon_asprintf("%s%s%s %s", text, *text ? ", " : "",
					 gpumon_text_count(number, sizeof(number), count),
					 kinds[i][count != 1]);
		free(text);
		text = longer;
	}
	if (*text) {
		longer = gpumon_asprintf(
			"Not split: %s. Not each rank waits for each other one in them, and who does is not recorded",
			text);
		tell(data, longer);
		free(longer);
	}
	free(text);
}

/* All kernels of collectives, and where they are: none is left out without a word. */
static void tell_unmatched(const struct gpumon_view *view, gpumon_ranks_tell *tell, void *data)
{
	struct gpumon_rank_row all = { 0 };
	uint64_t count = 0, told;

	for (unsigned int i = 0; i < view->rank_count; i++) {
		const struct gpumon_rank_row *row = &view->ranks[i];

		all.matched += row->matched;
		all.unmatched += row->unmatched;
		all.alone += row->alone;
		all.unnamed += row->unnamed;
		for (unsigned int k = 0; k < GPUMON_COLLECTIVE_KINDS; k++)
			all.not_split[k] += row->not_split[k];
	}
	for (unsigned int i = 0; i < view->kernel_count; i++)
		count += view->kernels[i].collective ? view->kernels[i].count : 0;
	told = all.matched + all.unmatched + not_split_of(&all);
	tell_not_split(&all, tell, data);
	tell_count(
		tell, data, all.alone,
		"kernel is of a communicator of which no other rank is in this capture: its waiting is not known",
		"kernels are of communicators of which no other rank is in this capture: their waiting is not known");
	tell_count(
		tell, data, all.unmatched - all.alone,
		"kernel has no counterpart on each of the other ranks that ends when it does: its waiting is not known",
		"kernels have no counterpart on each of the other ranks that ends when they do: their waiting is not known");
	tell_count(
		tell, data, all.unnamed,
		"matched kernel does not say which collective it is (--nvtx records it): it is split as an all-reduce, since all ranks end it together",
		"matched kernels do not say which collective they are (--nvtx records it): they are split as all-reduces, since all ranks end them together");
	tell_count(tell, data, count > told ? count - told : 0,
		   "kernel is left out: its times are not known, or there are too many",
		   "kernels are left out: their times are not known, or there are too many");
}

void gpumon_ranks_sentences(const struct gpumon_view *view, gpumon_ranks_tell *tell, void *data)
{
	tell_last(view, tell, data);
	tell_clocks(view, tell, data);
	tell_unmatched(view, tell, data);
}

struct printing {
	FILE *out;
	const struct gpumon_term *term;
};

static void print_sentence(void *data, const char *sentence)
{
	const struct printing *to = data;

	fprintf(to->out, "%*s", GPUMON_TABLE_INDENT, "");
	gpumon_sentence_print(to->out, to->term, "", GPUMON_TABLE_INDENT, GPUMON_TABLE_INDENT,
			      sentence);
}

int gpumon_ranks_print(FILE *out, const struct gpumon_term *term, const struct gpumon_view *view)
{
	int ret = 0;

	if (!view->rank_count)
		return 0;
	fprintf(out, "\n%sRanks%s  ", gpumon_term_bold(term), gpumon_term_reset(term));
	gpumon_sentence_print(out, term, gpumon_term_dim(term), 7, GPUMON_TABLE_INDENT,
			      "what their collectives took, and who began last");
	if (gpumon_ranks_matched(view))
		ret = print_table(out, term, view);
	gpumon_ranks_sentences(view, print_sentence, &(struct printing){ out, term });
	return ret;
}

/* --- JSON */

static struct json_object *meanwhile_json(const struct gpumon_view *view,
					  const struct gpumon_rank_row *row)
{
	struct json_object *array = gpumon_json_array();
	struct gpumon_rank_paths paths;

	gpumon_ranks_meanwhile(view, row, &paths);
	for (unsigned int i = 0; i < paths.count; i++) {
		struct json_object *object = gpumon_json_object();
		char *path = rank_path(paths.at[i], JSON_COLUMNS);

		gpumon_json_add_string(object, "path", path);
		gpumon_json_add_u64(object, "late_ns", paths.at[i]->late_ns);
		gpumon_json_append(array, object);
		free(path);
	}
	return array;
}

static struct json_object *not_split_json(const struct gpumon_rank_row *row)
{
	static const char *const keys[GPUMON_COLLECTIVE_KINDS] = {
		[GPUMON_COLLECTIVE_BROADCAST] = "broadcast",
		[GPUMON_COLLECTIVE_REDUCE] = "reduce",
		[GPUMON_COLLECTIVE_GATHER] = "gather",
		[GPUMON_COLLECTIVE_SCATTER] = "scatter",
		[GPUMON_COLLECTIVE_SEND] = "send",
	};
	struct json_object *object = gpumon_json_object();

	for (unsigned int i = GPUMON_COLLECTIVE_BROADCAST; i < GPUMON_COLLECTIVE_KINDS; i++)
		gpumon_json_add_u64(object, keys[i], row->not_split[i]);
	return object;
}

static struct json_object *row_json(const struct gpumon_view *view,
				    const struct gpumon_rank_row *row)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_u64(object, "rank", row->rank);
	gpumon_json_add_bool(object, "rank_known", row->known);
	gpumon_json_add_u64(object, "process", row->process);
	gpumon_json_add_u64(object, "device", row->device);
	gpumon_json_add_u64(object, "matched", row->matched);
	gpumon_json_add_u64(object, "unmatched", row->unmatched);
	gpumon_json_add_u64(object, "alone", row->alone);
	gpumon_json_add_u64(object, "unnamed", row->unnamed);
	gpumon_json_add(object, "not_split", not_split_json(row));
	gpumon_json_add_u64(object, "communication_ns", row->communication_ns);
	gpumon_json_add_u64(object, "waiting_ns", row->waiting_ns);
	gpumon_json_add_u64(object, "last", row->last);
	gpumon_json_add_u64(object, "late_ns", row->late_ns);
	gpumon_json_add_u64(object, "late_median_ns", row->late_median_ns);
	gpumon_json_add_u64(object, "late_busy_ns", row->late_busy_ns);
	gpumon_json_add(object, "clock_offset_ns", json_object_new_int64(row->clock_ns));
	gpumon_json_add_value(object, "clock_error_ns",
			      (struct gpumon_value){ row->clock_error_ns, row->clock_moved });
	gpumon_json_add(object, "meanwhile",
			row == gpumon_ranks_last(view) ? meanwhile_json(view, row) :
							 gpumon_json_array());
	return object;
}

struct json_object *gpumon_ranks_json(const struct gpumon_view *view)
{
	struct json_object *array = gpumon_json_array();

	for (unsigned int i = 0; i < view->rank_count; i++)
		gpumon_json_append(array, row_json(view, &view->ranks[i]));
	return array;
}
