// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The report's frames: bars of frame times by swapchain, and a table of the late ones. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "report.h"
#include "view.h"

/* Bars of a picture, and of all of them: with more frames a bar stands for several. */
#define BARS_MAX     1000
#define ALL_BARS_MAX 1500
#define PICTURES_MAX 8
/* Late frames in the table: the longest ones; and columns of what one says, there and at the pointer. */
#define LATE_MAX  200
#define WHY_MAX	  200
#define TITLE_MAX 120
/* The top of a picture is this much above the longest frame on time, and at most TOP_MOST times that. */
#define TOP_LEAST 1.5
#define TOP_MOST  5.0
/* Percent of the width that a letter takes, one with a time, and percent of the height. */
#define LETTER_WIDE 1.2
#define TIME_WIDE   6.0
#define LETTER_HIGH 11.0
#define TICKS	    8

/**
 * struct bar - one or more frames beside each other
 * @frame: the longest of them
 * @row: what is known of it; NULL: it is on time, or no reason was looked for
 * @frames: number of frames
 * @late: of these: late
 */
struct bar {
	const struct gpumon_frame_time *frame;
	const struct gpumon_late_frame *row;
	uint64_t frames;
	uint64_t late;
};

struct picture {
	const struct gpumon_frames_chain *chain;
	struct bar *bars;
	uint32_t count;
	double top_ns;
};

static void fill_picture(struct picture *picture, const struct gpumon_frames *frames,
			 uint32_t number, uint32_t most)
{
	const struct gpumon_frames_chain *chain = &frames->chains[number];
	double late_ns = (double)chain->late_ns, longest_ns = (double)chain->longest_ns;

	picture->chain = chain;
	picture->count = chain->frames < most ? (uint32_t)chain->frames : most;
	picture->bars = gpumon_calloc((size_t)picture->count + 1, sizeof(*picture->bars));
	picture->top_ns = longest_ns > TOP_MOST * late_ns ? TOP_MOST * late_ns : longest_ns;
	if (picture->top_ns < TOP_LEAST * late_ns)
		picture->top_ns = TOP_LEAST * late_ns;
	for (uint32_t i = 0; i < picture->count; i++) {
		uint64_t first = i * chain->frames / picture->count;
		uint64_t end = (i + 1) * chain->frames / picture->count;
		struct bar *bar = &picture->bars[i];

		for (uint64_t k = first; k < end; k++) {
			const struct gpumon_frame_time *frame = &frames->all[chain->first + k];

			if (!bar->frame || frame->late > bar->frame->late ||
			    (frame->late == bar->frame->late &&
			     frame->frame_ns > bar->frame->frame_ns))
				bar->frame = frame;
			bar->frames++;
			bar->late += frame->late;
		}
		if (bar->late)
			bar->row = gpumon_frames_row(frames, number, bar->frame);
	}
}

static double height_of(const struct picture *picture, const struct bar *bar)
{
	double percent = 100.0 * (double)bar->frame->frame_ns / picture->top_ns;

	return percent > 100 ? 100 : percent;
}

static bool is_cut(const struct picture *picture, const struct bar *bar)
{
	return (double)bar->frame->frame_ns > picture->top_ns;
}

static const char *class_of(const struct bar *bar)
{
	return gpumon_late_key(bar->row ? bar->row->reason : GPUMON_LATE_UNKNOWN);
}

static const char *evidence_of(char *buf, size_t len, const struct gpumon_late_frame *row,
			       unsigned int columns)
{
	char why[1024];

	return gpumon_text_cut(buf, len, gpumon_late_evidence(why, sizeof(why), row), columns);
}

/* "waited for the GPU: draw_shadows grew from 2.10ms to 19.4ms", the latter of those in the table */
static void put_why(FILE *out, const struct gpumon_late_frame *row, bool whole)
{
	char text[64], why[1024];

	if (!row) {
		fputs("late; it is not among the longest, of which the reason is looked for", out);
		return;
	}
	gpumon_text_xml(out, gpumon_late_text(text, sizeof(text), row));
	if (!whole)
		return;
	fputs(": ", out);
	gpumon_text_xml(out, evidence_of(why, sizeof(why), row, TITLE_MAX));
}

/* Begin and end, counted from the beginning of the timeline. */
static void put_part(FILE *out, const struct gpumon_view *view, uint64_t start_ns, uint64_t ns)
{
	uint64_t first_ns = view->scan && view->scan->bin_ns ? view->scan->first_ns :
							       gpumon_view_began(view);
	uint64_t since_ns = start_ns > first_ns ? start_ns - first_ns : 0;

	fprintf(out, " data-part=\"%" PRIu64 " %" PRIu64 "\"", since_ns, since_ns + ns);
}

static void put_title(FILE *out, const struct bar *bar, bool whole)
{
	char text[GPUMON_TEXT_NUMBER], number[GPUMON_TEXT_NUMBER];

	fprintf(out, "<title>frame %" PRIu64 ": %s", bar->frame->number,
		gpumon_text_ns(text, sizeof(text), bar->frame->frame_ns));
	if (bar->frames > 1)
		fprintf(out, ", the longest of %s",
			gpumon_text_count(number, sizeof(number), bar->frames));
	if (bar->late > 1)
		fprintf(out, ", %s of them late",
			gpumon_text_count(number, sizeof(number), bar->late));
	if (bar->late) {
		fputs(", ", out);
		put_why(out, bar->row, whole);
	}
	fputs("</title>", out);
}

/* Late bars are on top of others, and wide enough to be seen. */
static void put_bar(FILE *out, const struct gpumon_view *view, const struct picture *picture,
		    uint32_t number, const bool *in_table)
{
	const struct bar *bar = &picture->bars[number];
	double height = height_of(picture, bar), wide = picture->count / 400.0;
	double gap = picture->count > 500 ? 0 : 0.15;
	double width = bar->late && wide > 1 - gap ? wide : 1 - gap;
	bool whole = bar->row && in_table[bar->row - view->frames->rows];

	if (bar->late) {
		fprintf(out, "<g class=\"late late-%s\"", class_of(bar));
		if (whole)
			fprintf(out, " data-row=\"late-%td\"", bar->row - view->frames->rows);
		put_part(out, view, bar->frame->start_ns, bar->frame->frame_ns);
		putc('>', out);
	}
	fprintf(out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\">",
		number + 0.5 - width / 2, 100 - height, width, height);
	put_title(out, bar, whole);
	fputs(bar->late ? "</rect></g>\n" : "</rect>", out);
}

/* Where a letter is, in percent. */
struct place {
	double left;
	double half;
	double bottom;
};

static bool is_free(const struct place *places, uint32_t count, const struct place *place)
{
	for (uint32_t i = 0; i < count; i++) {
		if (fabs(places[i].left - place->left) < places[i].half + place->half &&
		    fabs(places[i].bottom - place->bottom) < LETTER_HIGH)
			return false;
	}
	return true;
}

/* Letters, from the longest frame on, where there is room; with the time of a bar that is cut. */
static void put_letters(FILE *out, const struct picture *picture)
{
	struct place *places = gpumon_calloc((size_t)picture->count + 1, sizeof(*places));
	bool *tried = gpumon_calloc((size_t)picture->count + 1, sizeof(*tried));
	uint32_t used = 0;

	for (;;) {
		const struct bar *longest = NULL;
		char text[GPUMON_TEXT_NUMBER];
		struct place place;
		bool timed;
		double at;

		for (uint32_t i = 0; i < picture->count; i++) {
			const struct bar *bar = &picture->bars[i];

			if (bar->late && !tried[i] &&
			    (!longest || bar->frame->frame_ns > longest->frame->frame_ns))
				longest = bar;
		}
		if (!longest)
			break;
		tried[longest - picture->bars] = true;
		at = 100.0 * ((double)(longest - picture->bars) + 0.5) / picture->count;
		place.bottom = height_of(picture, longest);
		for (timed = is_cut(picture, longest);; timed = false) {
			place.half = timed ? TIME_WIDE / 2 : LETTER_WIDE / 2;
			place.left = at < place.half	   ? place.half :
				     at > 100 - place.half ? 100 - place.half :
							     at;
			if (!timed || is_free(places, used, &place))
				break;
		}
		if (!is_free(places, used, &place))
			continue;
		places[used++] = place;
		fprintf(out, "<b style=\"left:%.2f%%;bottom:%.1f%%\">%c", place.left, place.bottom,
			gpumon_late_letter(longest->row ? longest->row->reason :
							  GPUMON_LATE_UNKNOWN));
		if (timed)
			fprintf(out, " %s",
				gpumon_text_ns(text, sizeof(text), longest->frame->frame_ns));
		fputs("</b>", out);
	}
	free(places);
	free(tried);
}

/* Numbers of frames below the bars. */
static void put_numbers(FILE *out, const struct picture *picture)
{
	fputs("<span></span><div class=\"numbers\">", out);
	for (uint32_t i = 0; i < TICKS; i++) {
		uint32_t at = (uint32_t)((uint64_t)i * picture->count / TICKS);

		if (i && at == (uint32_t)((uint64_t)(i - 1) * picture->count / TICKS))
			continue;
		fprintf(out, "<i style=\"left:%.2f%%\">%s%" PRIu64 "</i>",
			100.0 * at / picture->count, i ? "" : "frame ",
			picture->bars[at].frame->number);
	}
	fputs("</div>", out);
}

static void put_about(FILE *out, const struct gpumon_view *view, const struct picture *picture)
{
	const struct gpumon_frames_chain *chain = picture->chain;
	char count[GPUMON_TEXT_NUMBER], median[GPUMON_TEXT_NUMBER], p99[GPUMON_TEXT_NUMBER],
		longest[GPUMON_TEXT_NUMBER];

	fprintf(out, "<p class=\"swapchain\">Swapchain %" PRIu32, GPUMON_NUMBER_OF(chain->id));
	gpumon_report_pid(out, view, chain->process);
	fprintf(out, ": %s frame%s, %.1f fps, median %s, p99 %s, longest %s",
		gpumon_text_count(count, sizeof(count), chain->frames),
		chain->frames == 1 ? "" : "s",
		(double)chain->frames * gpumon_frames_rate(chain->total_ns),
		gpumon_text_ns(median, sizeof(median), chain->median_ns),
		gpumon_text_ns(p99, sizeof(p99), chain->p99_ns),
		gpumon_text_ns(longest, sizeof(longest), chain->longest_ns));
	if (picture->count < chain->frames)
		fprintf(out, "; a bar is the longest of up to %" PRIu64 " frames",
			(chain->frames + picture->count - 1) / picture->count);
	if ((double)chain->longest_ns > picture->top_ns)
		fputs("; bars that reach the top are longer", out);
	fputs("</p>\n", out);
}

static void put_picture(FILE *out, const struct gpumon_view *view, const struct picture *picture,
			const bool *in_table)
{
	double line = 100.0 * (double)picture->chain->late_ns / picture->top_ns;
	char late[GPUMON_TEXT_NUMBER], top[GPUMON_TEXT_NUMBER];

	put_about(out, view, picture);
	fprintf(out,
		"<div class=\"frametimes\"><span><em style=\"bottom:100%%\">%s</em><em class=\"limit\" style=\"bottom:%.1f%%\">late: over %s</em><em style=\"bottom:0\">0</em></span>",
		gpumon_text_ns(top, sizeof(top), (uint64_t)picture->top_ns), line,
		gpumon_text_ns(late, sizeof(late), picture->chain->late_ns));
	fprintf(out,
		"<div class=\"plot\"><svg viewBox=\"0 0 %" PRIu32
		" 100\" preserveAspectRatio=\"none\">\n",
		picture->count);
	for (uint32_t i = 0; i < picture->count; i++) {
		if (!picture->bars[i].late)
			put_bar(out, view, picture, i, in_table);
	}
	putc('\n', out);
	for (uint32_t i = 0; i < picture->count; i++) {
		if (picture->bars[i].late)
			put_bar(out, view, picture, i, in_table);
	}
	fprintf(out, "</svg><u style=\"bottom:%.1f%%\"></u>", line);
	put_letters(out, picture);
	fputs("</div>", out);
	put_numbers(out, picture);
	fputs("</div>\n", out);
}

/* What letters and colours mean, of the reasons that there are; that nothing says why comes last. */
static void put_legend(FILE *out, const struct gpumon_frames *frames)
{
	uint32_t counts[GPUMON_LATE_REASONS] = { 0 };
	char number[GPUMON_TEXT_NUMBER], text[64];

	for (uint32_t i = 0; i < frames->row_count; i++)
		counts[frames->rows[i].reason]++;
	if (frames->row_count)
		fputs("<p class=\"late-legend\">\n", out);
	for (unsigned int k = 1; k <= GPUMON_LATE_REASONS; k++) {
		const struct gpumon_late_frame of = { .reason = k % GPUMON_LATE_REASONS };
		enum gpumon_late_reason reason = of.reason;

		if (counts[reason])
			fprintf(out, "<span><i class=\"late-%s\">%c</i>%s: %s</span>\n",
				gpumon_late_key(reason), gpumon_late_letter(reason),
				reason == GPUMON_LATE_BLOCKED ?
					"blocked" :
					gpumon_late_text(text, sizeof(text), &of),
				gpumon_text_count(number, sizeof(number), counts[reason]));
	}
	if (frames->row_count)
		fputs("</p>\n", out);
}

/* A time as options take it, to the nanosecond. */
static void put_moment(FILE *out, const char *option, uint64_t ns)
{
	char rest[8];
	size_t digits = (size_t)snprintf(rest, sizeof(rest), ".%06" PRIu64, ns % 1000000);

	while (rest[digits - 1] == '0')
		digits--;
	fprintf(out, "--%s&#160;%" PRIu64 "%.*sms", option, ns / 1000000,
		digits > 1 ? (int)digits : 0, rest);
}

static void put_late(FILE *out, const struct gpumon_view *view, uint32_t number)
{
	const struct gpumon_frames *frames = view->frames;
	const struct gpumon_late_frame *row = &frames->rows[number];
	char at[GPUMON_TEXT_NUMBER], took[GPUMON_TEXT_NUMBER], text[64], why[1024];
	uint64_t began_ns = gpumon_view_began(view);
	uint64_t since_ns = row->start_ns > began_ns ? row->start_ns - began_ns : 0;

	fprintf(out, "<tr id=\"late-%" PRIu32 "\"", number);
	put_part(out, view, row->start_ns, row->frame_ns);
	fprintf(out,
		"><td class=\"n\" data-v=\"%" PRIu64 "\">%" PRIu64
		"</td><td class=\"n\" data-v=\"%" PRIu64
		"\">%s</td><td class=\"n\" data-v=\"%" PRIu64 "\">%s</td>",
		row->number, row->number, since_ns, gpumon_text_ns(at, sizeof(at), since_ns),
		row->frame_ns, gpumon_text_ns(took, sizeof(took), row->frame_ns));
	if (frames->chain_count > 1)
		fprintf(out, "<td class=\"n\" data-v=\"%" PRIu32 "\">%" PRIu32 "</td>",
			GPUMON_NUMBER_OF(frames->chains[row->chain].id),
			GPUMON_NUMBER_OF(frames->chains[row->chain].id));
	fprintf(out, "<td class=\"name\"><i class=\"late-%s\">%c</i>", gpumon_late_key(row->reason),
		gpumon_late_letter(row->reason));
	gpumon_text_xml(out, gpumon_late_text(text, sizeof(text), row));
	gpumon_report_aside(out, evidence_of(why, sizeof(why), row, WHY_MAX));
	fputs("</td><td class=\"part\"><code>", out);
	put_moment(out, "from", since_ns);
	putc(' ', out);
	put_moment(out, "to", since_ns + row->frame_ns);
	fputs("</code></td></tr>\n", out);
}

static int by_length(const void *a, const void *b)
{
	const struct gpumon_late_frame *x = *(const struct gpumon_late_frame *const *)a;
	const struct gpumon_late_frame *y = *(const struct gpumon_late_frame *const *)b;

	if (x->frame_ns != y->frame_ns)
		return x->frame_ns > y->frame_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Which rows the table has, by index: to free. */
static bool *find_longest(const struct gpumon_frames *frames)
{
	const struct gpumon_late_frame **sorted =
		gpumon_calloc((size_t)frames->row_count + 1, sizeof(*sorted));
	bool *longest = gpumon_calloc((size_t)frames->row_count + 1, sizeof(*longest));

	for (uint32_t i = 0; i < frames->row_count; i++)
		sorted[i] = &frames->rows[i];
	qsort(sorted, frames->row_count, sizeof(*sorted), by_length);
	for (uint32_t i = 0; i < frames->row_count && i < LATE_MAX; i++)
		longest[sorted[i] - frames->rows] = true;
	free(sorted);
	return longest;
}

static void put_table(FILE *out, const struct gpumon_view *view, const bool *in_table)
{
	const char *titles[6] = { "frame", "at", "time" };
	const struct gpumon_frames *frames = view->frames;
	unsigned int n = 3;

	if (!frames->row_count)
		return;
	if (frames->chain_count > 1)
		titles[n++] = "swapchain";
	titles[n] = "why";
	titles[n + 1] = "a report of this frame";
	gpumon_report_open_table(out, "frames-table", titles, n + 2, 3u << n);
	for (uint32_t i = 0; i < frames->row_count; i++) {
		if (in_table[i])
			put_late(out, view, i);
	}
	gpumon_report_close_table(out);
	gpumon_report_more(out, LATE_MAX, frames->row_count, "late frames, which took less");
}

static int put_sentence(FILE *out, const struct gpumon_frames *frames)
{
	char *text = NULL, *line, *rest;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return -1;
	gpumon_frames_sentence(memory, frames);
	if (fclose(memory)) {
		free(text);
		return -1;
	}
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		fputs(line == text ? "<p class=\"about\"><b>" : "<p class=\"about\">", out);
		gpumon_text_xml(out, line);
		fputs(line == text ? "</b></p>\n" : "</p>\n", out);
	}
	free(text);
	return 0;
}

static void put_pictures(FILE *out, const struct gpumon_view *view, const bool *in_table)
{
	const struct gpumon_frames *frames = view->frames;
	uint32_t with_frames = 0, shown = 0, most;

	for (uint32_t i = 0; i < frames->chain_count; i++)
		with_frames += frames->chains[i].frames > 0;
	if (!with_frames)
		return;
	most = ALL_BARS_MAX / (with_frames < PICTURES_MAX ? with_frames : PICTURES_MAX);
	most = most < BARS_MAX ? most : BARS_MAX;
	for (uint32_t i = 0; i < frames->chain_count && shown < PICTURES_MAX; i++) {
		struct picture picture;

		if (!frames->chains[i].frames)
			continue;
		fill_picture(&picture, frames, i, most);
		put_picture(out, view, &picture, in_table);
		free(picture.bars);
		shown++;
	}
	gpumon_report_more(out, shown, with_frames, "swapchains");
}

int gpumon_report_frame_times(FILE *out, const struct gpumon_view *view)
{
	const struct gpumon_frames *frames = view->frames;
	bool *in_table;

	if (!frames || !frames->chain_count)
		return 0;
	gpumon_report_section(out, "frames", "Frames", "");
	if (put_sentence(out, frames))
		return -1;
	fputs("<p class=\"what\">Each bar is the time from one present to the next one", out);
	if (view->range)
		fputs("; only frames that begin in this part of the recording, late by the median of all of it",
		      out);
	fputs("</p>\n", out);
	in_table = find_longest(frames);
	put_pictures(out, view, in_table);
	put_legend(out, frames);
	put_table(out, view, in_table);
	free(in_table);
	gpumon_report_end(out);
	return 0;
}
