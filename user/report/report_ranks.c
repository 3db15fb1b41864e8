// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The report's verdict, and its table of ranks. */
#include <inttypes.h>

#include "lib/text.h"
#include "ranks.h"
#include "report.h"
#include "verdict.h"

void gpumon_report_verdict(FILE *out, const struct gpumon_view *view)
{
	struct gpumon_verdict verdict;

	gpumon_verdict_of(view, &verdict);
	if (verdict.count) {
		gpumon_report_section(out, "verdict", "Verdict", "");
		for (unsigned int i = 0; i < verdict.count; i++) {
			fprintf(out, "<p data-rule=\"%s\">", verdict.at[i].rule);
			gpumon_text_xml(out, verdict.at[i].text);
			fputs("</p>\n", out);
		}
		gpumon_report_end(out);
	}
	gpumon_verdict_clear(&verdict);
}

static void put_sentence(void *data, const char *sentence)
{
	FILE *out = data;

	fputs("<p>", out);
	gpumon_text_xml(out, sentence);
	fputs("</p>\n", out);
}

void gpumon_report_ranks(FILE *out, const struct gpumon_view *view)
{
	static const char *const titles[] = { "rank", "matched", "communication", "waiting",
					      "last", "by",	 "median",	  "process" };
	bool matched = gpumon_ranks_matched(view);

	if (!view->rank_count)
		return;
	gpumon_report_section(out, "ranks", "Ranks",
			      "what their collectives took, and who began last");
	if (matched)
		gpumon_report_open_table(out, "ranks-table", titles, 8, 1 << 7);
	for (unsigned int i = 0; matched && i < view->rank_count; i++) {
		const struct gpumon_rank_row *row = &view->ranks[i];
		char text[512];

		fprintf(out, "<tr><td class=\"n\" data-v=\"%" PRIu32 "\">%" PRIu32 "</td>",
			row->rank, row->rank);
		fprintf(out, "<td class=\"n\" data-v=\"%" PRIu64 "\">%s</td>", row->matched,
			gpumon_ranks_matched_text(text, sizeof(text), row));
		gpumon_report_estimate(out, true, row->communication_ns, 0, 0);
		gpumon_report_estimate(out, true, row->waiting_ns, 0, 0);
		gpumon_report_estimate(out, false, row->last, 0, 0);
		gpumon_report_estimate(out, true, row->late_ns, 0, 0);
		gpumon_report_estimate(out, true, row->late_median_ns, 0, 0);
		gpumon_report_name(out, gpumon_ranks_process(text, sizeof(text), view, row));
		fputs("</tr>\n", out);
	}
	if (matched)
		gpumon_report_close_table(out);
	gpumon_ranks_sentences(view, put_sentence, out);
	gpumon_report_end(out);
}
