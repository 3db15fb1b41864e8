// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <string.h>

#include "lib/table.h"
#include "lib/text.h"
#include "occupancy.h"
#include "profile_json.h"
#include "stall_reasons.h"
#include "stalls_print.h"
#include "view.h"

#define REASONS_SHOWN 3
#define PLACES_SHOWN  4
/* In per cent: what is less than that hardly matters. */
#define REASON_LEAST 5
#define PLACE_LEAST  2
/* In per cent of all samples, and of those of the kernel: more than all others together. */
#define DOMINATES 50

static bool reaches(uint64_t part, unsigned int percent, uint64_t whole)
{
	return (unsigned __int128)part * 100 >= (unsigned __int128)whole * percent;
}

/* --- texts */

const char *gpumon_stall_place_text(char *buf, size_t len, const struct gpumon_stall_place *place,
				    bool whole)
{
	const char *slash = place->file && !whole ? strrchr(place->file, '/') : NULL;

	if (place->file)
		snprintf(buf, len, "%s:%" PRIu32, slash ? slash + 1 : place->file, place->line);
	else if (whole)
		snprintf(buf, len, "+0x%" PRIx32 " of module %" PRIx64, place->offset,
			 place->module);
	else
		snprintf(buf, len, "+0x%" PRIx32, place->offset);
	return buf;
}

const char *gpumon_stalls_how(char *buf, size_t len, const struct gpumon_stalls *stalls)
{
	char least[GPUMON_TEXT_NUMBER], most[GPUMON_TEXT_NUMBER];

	buf[0] = '\0';
	if (!stalls->totals_known || stalls->period_most > 62)
		return buf;
	gpumon_text_count(least, sizeof(least), 1ull << stalls->period_least);
	gpumon_text_count(most, sizeof(most), 1ull << stalls->period_most);
	if (stalls->period_least == stalls->period_most)
		snprintf(buf, len, "a sample every %s cycles of each multiprocessor", least);
	else
		snprintf(buf, len, "a sample every %s to %s cycles of each multiprocessor", least,
			 most);
	return buf;
}

static size_t add_note(char *buf, size_t len, size_t at, uint64_t part, uint64_t whole,
		       const char *what)
{
	char count[GPUMON_TEXT_NUMBER], percent[GPUMON_TEXT_NUMBER];

	if (!part || at >= len)
		return at;
	at += (size_t)snprintf(buf + at, len - at, "%s%s %s (%s) %s", at ? " " : "",
			       gpumon_text_count(count, sizeof(count), part),
			       part == 1 ? "sample" : "samples",
			       gpumon_text_percent(percent, sizeof(percent), part, whole), what);
	return at;
}

const char *gpumon_stalls_note(char *buf, size_t len, const struct gpumon_stalls *stalls)
{
	uint64_t all = stalls->totals_known && stalls->counted > stalls->samples ? stalls->counted :
										   stalls->samples;
	size_t at = 0;

	buf[0] = '\0';
	at = add_note(buf, len, at, stalls->dropped, all,
		      "were dropped by the GPU: sample less often, with a larger N of --stalls=N.");
	at = add_note(buf, len, at, stalls->other, all,
		      "are of kernels that are not the program's.");
	at = add_note(buf, len, at, gpumon_stalls_unreported(stalls), all,
		      "are not in the capture: records were lost.");
	at = add_note(
		buf, len, at, stalls->without_line, stalls->samples,
		"are of instructions without a line (+0x: bytes from the function's begin): compile with -lineinfo.");
	if (!stalls->totals_known && at < len)
		snprintf(buf + at, len - at,
			 "%sHow many were dropped is not known: the capture has no count of them.",
			 at ? " " : "");
	return buf;
}

const char *gpumon_stall_occupancy_text(char *buf, size_t len,
					const struct gpumon_stall_launch *launch)
{
	struct gpumon_occupancy occupancy;
	char percent[GPUMON_TEXT_NUMBER];

	buf[0] = '\0';
	if (gpumon_occupancy(launch, &occupancy))
		snprintf(
			buf, len,
			"theoretical occupancy %s (%u of %u warps of a multiprocessor), limited by %s",
			gpumon_text_percent(percent, sizeof(percent), occupancy.warps,
					    occupancy.warps_max),
			occupancy.warps, occupancy.warps_max,
			gpumon_occupancy_text(occupancy.limit));
	return buf;
}

bool gpumon_stalls_verdict(const struct gpumon_view *view, const struct gpumon_stall_row **kernel,
			   const struct gpumon_stall_sum **reason)
{
	const struct gpumon_stalls *stalls = view->stalls;

	if (!stalls || !stalls->row_count ||
	    !reaches(stalls->rows[0].samples, DOMINATES, stalls->samples))
		return false;
	*kernel = &stalls->rows[0];
	*reason = gpumon_stall_first(*kernel);
	return *reason && reaches((*reason)->samples, DOMINATES, (*kernel)->samples);
}

/* --- for people */

/* "62.0% waits for ... (1,234)" for each of the most frequent ones. */
static void reason_lines(struct gpumon_table *table, const struct gpumon_stall_row *row)
{
	char line[GPUMON_STALL_TEXT], percent[GPUMON_TEXT_NUMBER], count[GPUMON_TEXT_NUMBER];

	for (unsigned int i = 0; i < row->reason_count && i < REASONS_SHOWN; i++) {
		const struct gpumon_stall_sum *sum = &row->reasons[i];

		if (i && !reaches(sum->samples, REASON_LEAST, row->samples))
			break;
		snprintf(line, sizeof(line), "%s (%s) %s",
			 gpumon_text_percent(percent, sizeof(percent), sum->samples, row->samples),
			 gpumon_text_count(count, sizeof(count), sum->samples),
			 gpumon_stall_text(sum->reason));
		gpumon_table_below(table, line);
	}
}

/* "at gemm.cu:12 34.0% (1,234), gemm.cu:15 20.1% (800)": as many as fit a line. */
static void place_line(struct gpumon_table *table, const struct gpumon_stall_row *row,
		       unsigned int columns)
{
	char line[GPUMON_STALL_TEXT] = "at", place[GPUMON_STALL_TEXT], one[GPUMON_STALL_TEXT];
	char percent[GPUMON_TEXT_NUMBER], count[GPUMON_TEXT_NUMBER];

	for (unsigned int i = 0; i < row->place_count && i < PLACES_SHOWN; i++) {
		const struct gpumon_stall_place *at = &row->places[i];

		if (i && !reaches(at->samples, PLACE_LEAST, row->samples))
			break;
		snprintf(one, sizeof(one), "%s %.200s %s (%s)", i ? "," : "",
			 gpumon_stall_place_text(place, sizeof(place), at, false),
			 gpumon_text_percent(percent, sizeof(percent), at->samples, row->samples),
			 gpumon_text_count(count, sizeof(count), at->samples));
		if (i && gpumon_text_columns(line) + gpumon_text_columns(one) > columns)
			break;
		snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s", one);
	}
	gpumon_table_below(table, line);
}

/* What helps against the first reasons of the kernels that are shown, each once. */
static void print_help(FILE *out, const struct gpumon_term *term,
		       const struct gpumon_stalls *stalls, unsigned int rows)
{
	for (unsigned int i = 0; i < rows; i++) {
		const struct gpumon_stall_sum *first = gpumon_stall_first(&stalls->rows[i]);
		const struct gpumon_stall_reason *reason =
			first ? gpumon_stall_reason(first->reason) : NULL;
		bool said = false;
		char text[GPUMON_STALL_TEXT];

		for (unsigned int k = 0; k < i && first && !said; k++) {
			const struct gpumon_stall_sum *other = gpumon_stall_first(&stalls->rows[k]);

			said = other && other->reason == first->reason;
		}
		if (said || !reason || !*reason->helps)
			continue;
		fprintf(out, "%*s", GPUMON_TABLE_INDENT, "");
		snprintf(text, sizeof(text), "If a warp %s: %s", reason->text, reason->helps);
		gpumon_sentence_print(out, term, "", GPUMON_TABLE_INDENT, GPUMON_TABLE_INDENT,
				      text);
	}
}

static void print_heading(FILE *out, const struct gpumon_term *term,
			  const struct gpumon_stalls *stalls)
{
	static const char title[] = "Why kernels were slow";
	char how[GPUMON_STALL_TEXT], what[GPUMON_STALL_TEXT + 64];

	fprintf(out, "\n%s%s%s  ", gpumon_term_bold(term), title, gpumon_term_reset(term));
	snprintf(what, sizeof(what), "what their warps did, by samples%s%s",
		 *gpumon_stalls_how(how, sizeof(how), stalls) ? ": " : "", how);
	gpumon_sentence_print(out, term, gpumon_term_dim(term), (unsigned int)sizeof(title) - 1 + 2,
			      GPUMON_TABLE_INDENT, what);
}

int gpumon_stalls_print(FILE *out, const struct gpumon_term *term, const struct gpumon_view *view,
			unsigned int rows)
{
	const struct gpumon_stalls *stalls = view->stalls;
	char text[2 * GPUMON_STALL_TEXT];
	struct gpumon_table *table;
	unsigned int n;
	int ret = 0;

	if (!stalls || (!stalls->row_count && !stalls->counted))
		return 0;
	n = stalls->row_count < rows ? stalls->row_count : rows;
	print_heading(out, term, stalls);
	table = gpumon_table_new(term);
	gpumon_table_column(table, "SAMPLES", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "%", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "KERNEL", GPUMON_COLUMN_NAME);
	for (unsigned int i = 0; i < n; i++) {
		const struct gpumon_stall_row *row = &stalls->rows[i];

		gpumon_table_count(table, row->samples);
		gpumon_table_percent(table, row->samples, stalls->samples);
		gpumon_table_text(table, row->name);
		if (row->samples < GPUMON_STALLS_FEW) {
			snprintf(text, sizeof(text), "too few samples to say why: less than %d",
				 GPUMON_STALLS_FEW);
			gpumon_table_below(table, text);
			continue;
		}
		reason_lines(table, row);
		place_line(table, row, gpumon_table_below_columns(term));
	}
	if (n)
		ret = gpumon_table_print(table, out);
	else
		gpumon_table_free(table);
	if (stalls->row_count > n)
		fprintf(out, "  %sand %u more%s\n", gpumon_term_dim(term), stalls->row_count - n,
			gpumon_term_reset(term));
	print_help(out, term, stalls, n);
	if (*gpumon_stalls_note(text, sizeof(text), stalls)) {
		fprintf(out, "%*s", GPUMON_TABLE_INDENT, "");
		gpumon_sentence_print(out, term, gpumon_term_dim(term), GPUMON_TABLE_INDENT,
				      GPUMON_TABLE_INDENT, text);
	}
	return ret;
}

/* --- JSON */

/* @text: with what they mean */
static struct json_object *reasons_json(const struct gpumon_stall_sum *sums, unsigned int count,
					bool text)
{
	struct json_object *array = gpumon_json_array();

	for (unsigned int i = 0; i < count; i++) {
		struct json_object *object = gpumon_json_object();

		gpumon_json_add_string(object, "reason", sums[i].reason);
		if (text)
			gpumon_json_add_string(object, "text", gpumon_stall_text(sums[i].reason));
		gpumon_json_add_u64(object, "samples", sums[i].samples);
		gpumon_json_add_u64(object, "not_issued", sums[i].not_issued);
		gpumon_json_append(array, object);
	}
	return array;
}

static struct json_object *place_json(const struct gpumon_stall_place *place)
{
	struct json_object *object = gpumon_json_object();
	bool line = place->file;

	gpumon_json_add_string(object, "file", place->file);
	gpumon_json_add_value(object, "line", (struct gpumon_value){ place->line, line });
	gpumon_json_add_value(object, "module", (struct gpumon_value){ place->module, !line });
	gpumon_json_add_value(object, "offset", (struct gpumon_value){ place->offset, !line });
	gpumon_json_add_u64(object, "samples", place->samples);
	gpumon_json_add(object, "reasons",
			reasons_json(place->reasons, place->reason_count, false));
	return object;
}

static struct json_object *three_json(const uint32_t numbers[3])
{
	struct json_object *array = gpumon_json_array();

	for (unsigned int i = 0; i < 3; i++)
		gpumon_json_append(array, json_object_new_int64(numbers[i]));
	return array;
}

static struct json_object *launch_json(const struct gpumon_stall_row *row)
{
	const struct gpumon_stall_launch *launch = &row->launch;
	struct json_object *object = gpumon_json_object();
	struct gpumon_occupancy occupancy;
	bool known = gpumon_occupancy(launch, &occupancy);

	gpumon_json_add_u64(object, "ways", row->launch_count);
	gpumon_json_add_u64(object, "count", launch->count);
	gpumon_json_add_u64(object, "gpu_ns", launch->gpu_ns);
	gpumon_json_add(object, "grid", three_json(launch->grid));
	gpumon_json_add(object, "block", three_json(launch->block));
	gpumon_json_add_u64(object, "registers", launch->registers);
	gpumon_json_add_u64(object, "static_shared_bytes", launch->static_shared_bytes);
	gpumon_json_add_u64(object, "dynamic_shared_bytes", launch->dynamic_shared_bytes);
	gpumon_json_add_u64(object, "local_bytes", launch->local_bytes);
	gpumon_json_add_value(object, "blocks_resident",
			      (struct gpumon_value){ known ? occupancy.blocks : 0, known });
	gpumon_json_add_value(object, "warps_resident",
			      (struct gpumon_value){ known ? occupancy.warps : 0, known });
	gpumon_json_add_value(object, "warps_max",
			      (struct gpumon_value){ known ? occupancy.warps_max : 0, known });
	gpumon_json_add_string(object, "occupancy_limit",
			       known ? gpumon_occupancy_text(occupancy.limit) : NULL);
	return object;
}

static struct json_object *row_json(const struct gpumon_stall_row *row)
{
	const struct gpumon_stall_sum *first = gpumon_stall_first(row);
	struct json_object *object = gpumon_json_object();
	struct json_object *places = gpumon_json_array();

	gpumon_json_add_string(object, "name", row->name);
	gpumon_json_add_string(object, "mangled", row->mangled);
	gpumon_json_add_u64(object, "samples", row->samples);
	gpumon_json_add_bool(object, "too_few", row->samples < GPUMON_STALLS_FEW);
	gpumon_json_add_string(object, "first_reason", first ? first->reason : NULL);
	gpumon_json_add_string(object, "first_reason_text",
			       first ? gpumon_stall_text(first->reason) : NULL);
	gpumon_json_add_u64(object, "without_line", row->without_line);
	if (row->launch_count)
		gpumon_json_add(object, "launch", launch_json(row));
	else
		gpumon_json_add_null(object, "launch");
	gpumon_json_add(object, "reasons", reasons_json(row->reasons, row->reason_count, true));
	for (unsigned int i = 0; i < row->place_count; i++)
		gpumon_json_append(places, place_json(&row->places[i]));
	gpumon_json_add(object, "places", places);
	return object;
}

static void put_number(FILE *out, bool first, const char *key, uint64_t value, bool known)
{
	gpumon_json_member(out, first, key, known ? json_object_new_uint64(value) : NULL);
}

/* Kernel by kernel: code without lines has thousands of places. */
void gpumon_stalls_json(FILE *out, const struct gpumon_view *view)
{
	const struct gpumon_stalls *stalls = view->stalls;
	bool known = stalls && stalls->totals_known;

	fputs(",\n\"stalls\":", out);
	if (!stalls) {
		fputs("null", out);
		return;
	}
	putc('{', out);
	put_number(out, true, "samples", stalls->samples, true);
	put_number(out, false, "without_line", stalls->without_line, true);
	put_number(out, false, "counted", stalls->counted, known);
	put_number(out, false, "dropped", stalls->dropped, known);
	put_number(out, false, "other", stalls->other, known);
	put_number(out, false, "unreported", gpumon_stalls_unreported(stalls), known);
	put_number(out, false, "period_log2_least", stalls->period_least, known);
	put_number(out, false, "period_log2_most", stalls->period_most, known);
	fputs(",\n\"kernels\":[", out);
	for (unsigned int i = 0; i < stalls->row_count; i++)
		gpumon_json_element(out, !i, row_json(&stalls->rows[i]));
	fputs("]}", out);
}

struct json_object *gpumon_node_stalls_json(const struct gpumon_node *node)
{
	struct json_object *array = gpumon_json_array();

	for (unsigned int i = 0; i < node->stalls->count; i++) {
		const struct gpumon_stall_sum *sum = &node->stalls->sums[i];
		struct json_object *object = gpumon_json_object();

		gpumon_json_add_string(object, "reason", sum->reason);
		gpumon_json_add_string(object, "text", gpumon_stall_text(sum->reason));
		gpumon_json_add_u64(object, "samples", sum->samples);
		gpumon_json_add_u64(
			object, "scaled_gpu_ns",
			gpumon_stall_part(node->stalls, i,
					  gpumon_tree_weight(node, GPUMON_WEIGHT_GPU_NS)));
		gpumon_json_append(array, object);
	}
	return array;
}
