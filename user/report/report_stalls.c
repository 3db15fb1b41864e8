// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The report's pages on kernels: what their warps did, where, and how they were launched. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/text.h"
#include "report.h"
#include "stall_reasons.h"
#include "stalls_print.h"
#include "view.h"

#define KERNELS_MAX   50
#define PLACES_MAX    60
#define REASONS_SHOWN 2
#define TEXT_COLUMNS  100
/* What a row takes in the page besides texts that vary. */
#define ROW_BYTES 300

/* Bytes that are left for pages. */
struct room {
	FILE *out;
	size_t left;
};

static bool take(struct room *room, size_t bytes)
{
	if (bytes > room->left)
		return false;
	room->left -= bytes;
	return true;
}

static void put_text(FILE *out, const char *text)
{
	if (!*text)
		return;
	fputs("<p class=\"about\">", out);
	gpumon_text_xml(out, text);
	fputs("</p>\n", out);
}

static const char *bytes_text(char *buf, size_t len, uint64_t bytes)
{
	return gpumon_format_bytes(buf, len, gpumon_value_of(bytes));
}

/* How it was launched, in one line. */
static void put_launch(FILE *out, const struct gpumon_stall_row *row)
{
	const struct gpumon_stall_launch *launch = &row->launch;
	char shared[GPUMON_FORMAT_LEN], dynamic[GPUMON_FORMAT_LEN], local[GPUMON_FORMAT_LEN];
	char text[2 * GPUMON_STALL_TEXT], occupancy[GPUMON_STALL_TEXT], count[GPUMON_TEXT_NUMBER];

	if (!row->launch_count) {
		put_text(out, "No launch of it is here: it may be a function that kernels call.");
		return;
	}
	snprintf(
		text, sizeof(text),
		"Grid %" PRIu32 " × %" PRIu32 " × %" PRIu32 ", block %" PRIu32 " × %" PRIu32
		" × %" PRIu32 ", %" PRIu32
		" registers for each thread, shared memory of a block %s static and %s dynamic, local memory of a thread %s",
		launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
		launch->block[1], launch->block[2], launch->registers,
		bytes_text(shared, sizeof(shared), launch->static_shared_bytes),
		bytes_text(dynamic, sizeof(dynamic), launch->dynamic_shared_bytes),
		bytes_text(local, sizeof(local), launch->local_bytes));
	if (*gpumon_stall_occupancy_text(occupancy, sizeof(occupancy), launch))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "; %s", occupancy);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), ".");
	if (row->launch_count > 1)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 " This is how %s launches were, the most time of %u different ones.",
			 gpumon_text_count(count, sizeof(count), launch->count), row->launch_count);
	put_text(out, text);
}

static void put_reasons(FILE *out, const struct gpumon_stall_row *row, unsigned int number)
{
	static const char *const titles[] = { "what its warps did", "share", "samples",
					      "nothing issued" };
	char id[32];

	snprintf(id, sizeof(id), "stalls-%u-reasons", number);
	gpumon_report_open_table(out, id, titles, 4, 1);
	for (unsigned int i = 0; i < row->reason_count; i++) {
		const struct gpumon_stall_sum *sum = &row->reasons[i];
		const char *text = gpumon_stall_text(sum->reason);
		char cut[4 * TEXT_COLUMNS];

		fputs("<tr>", out);
		/* Any text may be the name of an unknown one. */
		gpumon_report_name_with(out, gpumon_text_cut(cut, sizeof(cut), text, TEXT_COLUMNS),
					gpumon_stall_reason(sum->reason) ? sum->reason : "");
		gpumon_report_share(out, false, sum->samples, row->samples);
		gpumon_report_estimate(out, false, sum->samples, 0, 0);
		gpumon_report_estimate(out, false, sum->not_issued, 0, 0);
		fputs("</tr>\n", out);
	}
	gpumon_report_close_table(out);
}

/* The reasons of a place that matter, with their part of it. */
static void place_reasons(char *buf, size_t len, const struct gpumon_stall_place *place)
{
	char percent[GPUMON_TEXT_NUMBER];

	buf[0] = '\0';
	for (unsigned int i = 0; i < place->reason_count && i < REASONS_SHOWN; i++) {
		const struct gpumon_stall_sum *sum = &place->reasons[i];

		if (i && sum->samples * 10 < place->samples)
			break;
		snprintf(buf + strlen(buf), len - strlen(buf), "%s%s %s", i ? ", " : "",
			 gpumon_text_percent(percent, sizeof(percent), sum->samples,
					     place->samples),
			 gpumon_stall_text(sum->reason));
	}
}

static void put_places(struct room *room, const struct gpumon_stall_row *row, unsigned int number)
{
	static const char *const titles[] = { "where", "share", "samples", "most of these" };
	char text[GPUMON_STALL_TEXT], whole[GPUMON_STALL_TEXT], reasons[GPUMON_STALL_TEXT];
	FILE *out = room->out;
	unsigned int n = 0;
	char id[32];

	snprintf(id, sizeof(id), "stalls-%u-places", number);
	gpumon_report_open_table(out, id, titles, 4, 1 | 1 << 3);
	for (; n < row->place_count && n < PLACES_MAX; n++) {
		const struct gpumon_stall_place *place = &row->places[n];

		gpumon_stall_place_text(text, sizeof(text), place, false);
		gpumon_stall_place_text(whole, sizeof(whole), place, true);
		place_reasons(reasons, sizeof(reasons), place);
		if (!take(room, ROW_BYTES + strlen(text) + strlen(whole) + strlen(reasons)))
			break;
		fputs("<tr><td class=\"name\" title=\"", out);
		gpumon_text_xml(out, whole);
		fputs("\">", out);
		gpumon_text_xml(out, text);
		fputs("</td>", out);
		gpumon_report_share(out, false, place->samples, row->samples);
		gpumon_report_estimate(out, false, place->samples, 0, 0);
		fputs("<td class=\"reasons\">", out);
		gpumon_text_xml(out, reasons);
		fputs("</td></tr>\n", out);
	}
	gpumon_report_close_table(out);
	gpumon_report_more(out, n, row->place_count, "lines or instructions");
}

static void put_help(FILE *out, const struct gpumon_stall_row *row)
{
	const struct gpumon_stall_sum *first = gpumon_stall_first(row);
	const struct gpumon_stall_reason *reason = first ? gpumon_stall_reason(first->reason) :
							   NULL;

	if (reason && *reason->helps)
		put_text(out, reason->helps);
}

/* The name, with the first reason, opens the rest. */
static void put_kernel(struct room *room, const struct gpumon_stalls *stalls,
		       const struct gpumon_stall_row *row, const char *name, unsigned int number)
{
	const struct gpumon_stall_sum *first = gpumon_stall_first(row);
	char count[GPUMON_TEXT_NUMBER], few[64];
	FILE *out = room->out;

	fprintf(out, "<details class=\"kernel\"%s><summary><code title=\"", number ? "" : " open");
	gpumon_text_xml(out, row->name);
	fputs("\">", out);
	gpumon_text_xml(out, name);
	fprintf(out, "</code> <span>%s samples, ",
		gpumon_text_count(count, sizeof(count), row->samples));
	gpumon_report_percent(out, row->samples, stalls->samples);
	fputs(" of all", out);
	if (first) {
		fputs("; in ", out);
		gpumon_report_percent(out, first->samples, row->samples);
		fputs(gpumon_stall_reason(first->reason) ? " of these a warp " :
							   " of these the reason is ",
		      out);
		gpumon_text_xml(out, gpumon_stall_text(first->reason));
	}
	fputs("</span></summary>\n", out);
	put_launch(out, row);
	if (row->samples < GPUMON_STALLS_FEW) {
		snprintf(few, sizeof(few), "Less than %d samples say nothing.", GPUMON_STALLS_FEW);
		put_text(out, few);
	}
	put_help(out, row);
	put_reasons(out, row, number);
	put_places(room, row, number);
	fputs("</details>\n", out);
}

void gpumon_report_stalls(FILE *out, const struct gpumon_view *view)
{
	const struct gpumon_stalls *stalls = view->stalls;
	struct room room = { .out = out, .left = GPUMON_REPORT_STALLS };
	char text[2 * GPUMON_STALL_TEXT], what[2 * GPUMON_STALL_TEXT + 64];
	const char **whole;
	unsigned int n, shown = 0;
	char **names;

	if (!stalls || (!stalls->row_count && !stalls->counted))
		return;
	snprintf(what, sizeof(what), "what their warps did, by samples%s%s",
		 *gpumon_stalls_how(text, sizeof(text), stalls) ? ": " : "", text);
	gpumon_report_section(out, "stalls", "Why kernels were slow", what);
	n = stalls->row_count < KERNELS_MAX ? stalls->row_count : KERNELS_MAX;
	whole = gpumon_calloc((size_t)n + 1, sizeof(*whole));
	names = gpumon_calloc((size_t)n + 1, sizeof(*names));
	for (unsigned int i = 0; i < n; i++)
		whole[i] = stalls->rows[i].name;
	if (n)
		gpumon_text_squeeze_rows(whole, n, GPUMON_REPORT_NAME, true, names);
	for (unsigned int i = 0; i < n; i++) {
		const struct gpumon_stall_row *row = &stalls->rows[i];

		if (shown == i &&
		    take(&room, strlen(row->name) + (size_t)ROW_BYTES * (row->reason_count + 3))) {
			put_kernel(&room, stalls, row, names[i], i);
			shown++;
		}
		free(names[i]);
	}
	free(names);
	free(whole);
	gpumon_report_more(out, shown, stalls->row_count, "kernels, with fewer samples");
	put_text(out, gpumon_stalls_note(text, sizeof(text), stalls));
	gpumon_report_end(out);
}
