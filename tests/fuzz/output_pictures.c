// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Flame graphs, the page, tables and differences: nothing in the input becomes markup. */
#include <json.h>
#include <string.h>

#include "output.h"

static unsigned int scripts;

/* An attacker would need an element or an attribute that we do not write. */
static void look_at(const char *name, const char **attributes)
{
	static const char *const known[] = {
		"svg",	   "g",	    "rect",	"text",	   "title",  "style",	"script",
		"html",	   "head",  "body",	"main",	   "header", "section", "h1",
		"h2",	   "p",	    "div",	"span",	   "b",	     "i",	"small",
		"table",   "thead", "tbody",	"tr",	   "th",     "td",	"details",
		"summary", "em",    "line",	"path",	   "label",  "u",	"button",
		"a",	   "tspan", "polyline", "polygon", "circle", "pre",	"noscript",
	};
	bool found = false;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		found |= !strcmp(name, known[i]);
	if (!found)
		fprintf(stderr, "<%s>\n", name);
	MUST(found);
	scripts += !strcmp(name, "script");
	for (; *attributes; attributes += 2) {
		MUST(strncmp(attributes[0], "on", 2) != 0);
		MUST((strcmp(attributes[0], "href") != 0 && strcmp(attributes[0], "src") != 0) ||
		     attributes[1][0] == '#');
	}
}

static void check_svg(const struct fuzz_stream *stream)
{
	scripts = 0;
	fuzz_xml(stream->data, stream->size, look_at);
	MUST(scripts == 1);
}

/* The page is XML between its head and its script, except for elements without an end. */
static void check_html(struct fuzz_stream *stream)
{
	char *body = strstr(stream->data, "<body>"), *script = strstr(stream->data, "<script>"),
	     *at;
	char *title = strstr(stream->data, "<title>");

	fuzz_is_text(stream->data, stream->size, "\n\t");
	MUST(body && script && title && title < body && body < script);
	MUST(!strchr(title + 7, '<') || !strncmp(strchr(title + 7, '<'), "</title>", 8));
	MUST(!strstr(script + 1, "<script"));
	at = strstr(script, "</script>");
	MUST(at && !strcmp(at, "</script>\n</body>\n</html>\n"));
	memcpy(script, "</body>\n", 8);
	scripts = 0;
	fuzz_xml(body, (size_t)(script + 8 - body), look_at);
	MUST(!scripts);
}

void fuzz_check_pictures(const struct gpumon_view *view, unsigned int which)
{
	unsigned int weight = which % (GPUMON_WEIGHT_IDLE_NS + 2);
	struct fuzz_stream stream;

	fuzz_stream_begin(&stream);
	if (weight <= GPUMON_WEIGHT_IDLE_NS)
		MUST(!gpumon_output_flamegraph_view(stream.stream, view, weight, which & 128));
	else
		MUST(!gpumon_output_report(stream.stream, view));
	fuzz_stream_end(&stream);
	if (weight <= GPUMON_WEIGHT_IDLE_NS)
		check_svg(&stream);
	else
		check_html(&stream);
	fuzz_stream_free(&stream);
}

void fuzz_check_texts(const struct gpumon_view *view, unsigned int columns)
{
	const struct gpumon_term term = { .columns = columns };
	const struct gpumon_summary_options options = { .rows = columns % 7 };
	struct fuzz_stream stream;

	fuzz_stream_begin(&stream);
	MUST(!gpumon_output_summary(stream.stream, &term, view, &options));
	fuzz_stream_end(&stream);
	fuzz_is_text(stream.data, stream.size, "\n");
	fuzz_stream_free(&stream);
}

void fuzz_check_diff(const struct gpumon_view *before, const struct gpumon_view *after)
{
	const struct gpumon_summary_options options = { .rows = 5 };
	const struct gpumon_term term = { .columns = 80 };
	struct gpumon_diff *diff = gpumon_diff_new(before, after);
	struct fuzz_stream stream;

	MUST(diff);
	fuzz_stream_begin(&stream);
	MUST(!gpumon_diff_print(stream.stream, &term, diff, &options));
	fuzz_stream_end(&stream);
	fuzz_is_text(stream.data, stream.size, "\n");
	fuzz_stream_free(&stream);

	fuzz_stream_begin(&stream);
	MUST(!gpumon_diff_json(stream.stream, diff));
	fuzz_stream_end(&stream);
	json_object_put(fuzz_json(stream.data, stream.size));
	fuzz_stream_free(&stream);

	fuzz_stream_begin(&stream);
	MUST(!gpumon_diff_flamegraph(stream.stream, diff));
	fuzz_stream_end(&stream);
	check_svg(&stream);
	fuzz_stream_free(&stream);
	gpumon_diff_free(diff);
}
