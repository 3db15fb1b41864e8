// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/json.h"
#include "lib/version.h"
#include "lib/format.h"
#include "lib/table.h"
#include "lib/text.h"
#include "path_text.h"
#include "diff.h"
#include "profile_json.h"
#include "view.h"

#define SCHEMA 1
#define ROWS   10

/* What is said of a side, behind "before". */
#define SIDE_INDENT 7

/* "+", and "~" in front for an estimate. */
static const char *sign_of(uint64_t before, uint64_t after, bool estimate)
{
	if (after == before)
		return estimate ? "~" : "";
	if (after > before)
		return estimate ? "~+" : "+";
	return estimate ? "~-" : "-";
}

/* "+1.20ms", "-3.4us", "0ns" */
static const char *signed_ns(char *buf, size_t len, const struct gpumon_diff_side *before,
			     const struct gpumon_diff_side *after)
{
	char plain[GPUMON_FORMAT_LEN];

	gpumon_format_ns(plain, sizeof(plain), gpumon_value_of(gpumon_diff_size(before, after)));
	snprintf(buf, len, "%s%s",
		 sign_of(before->ns, after->ns, before->left_ns || after->left_ns), plain);
	return buf;
}

static const char *signed_count(char *buf, size_t len, const struct gpumon_diff_side *before,
				const struct gpumon_diff_side *after)
{
	uint64_t a = before->count, b = after->count;
	char plain[GPUMON_TEXT_NUMBER - 2];

	gpumon_text_count(plain, sizeof(plain), b > a ? b - a : a - b);
	snprintf(buf, len, "%s%s", sign_of(a, b, before->left_count || after->left_count), plain);
	return buf;
}

/* "+12.3%", "new", "gone" */
static const char *change_percent(char *buf, size_t len, const struct gpumon_diff_side *before,
				  const struct gpumon_diff_side *after)
{
	double percent;

	if (!before->there || !after->there)
		snprintf(buf, len, "%s", after->there ? "new" : "gone");
	else if (!before->ns)
		snprintf(buf, len, "-");
	else {
		percent = 100.0 * ((double)after->ns - (double)before->ns) / (double)before->ns;
		if (percent >= 9999.5)
			snprintf(buf, len, ">+9999%%");
		else
			/* "-0.0%" would look like a change. */
			snprintf(buf, len, fabs(percent) < 0.05 ? "0.0%%" : "%+.1f%%", percent);
	}
	return buf;
}

static void put_side_ns(struct gpumon_table *table, const struct gpumon_diff_side *side)
{
	gpumon_table_estimate(table, side->left_ns);
	gpumon_table_ns(table, (struct gpumon_value){ side->ns, side->there });
	gpumon_table_estimate(table, false);
}

static void put_row(struct gpumon_table *table, const struct gpumon_term *term,
		    const struct gpumon_diff_side *before, const struct gpumon_diff_side *after,
		    const char *name)
{
	const struct gpumon_diff_side *shown = after->there ? after : before;
	char text[GPUMON_TEXT_NUMBER];

	gpumon_table_text(table, signed_ns(text, sizeof(text), before, after));
	gpumon_table_text(table, change_percent(text, sizeof(text), before, after));
	put_side_ns(table, before);
	put_side_ns(table, after);
	gpumon_table_estimate(table, shown->left_count);
	gpumon_table_count(table, shown->count);
	gpumon_table_estimate(table, false);
	gpumon_table_text(table, signed_count(text, sizeof(text), before, after));
	gpumon_table_text(table, name);
	/* Two runs of the same program differ by up to half a percent. */
	if (gpumon_diff_size(before, after) * 200 > before->ns)
		gpumon_table_colour(table, after->ns > before->ns ? gpumon_term_red(term) :
								    gpumon_term_green(term));
}

static struct gpumon_table *new_table(const struct gpumon_term *term, const char *name)
{
	struct gpumon_table *table = gpumon_table_new(term);

	gpumon_table_column(table, "CHANGE", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "%", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "BEFORE", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "AFTER", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "COUNT", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "CHANGE", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, name, GPUMON_COLUMN_NAME);
	return table;
}

static void print_heading(FILE *out, const struct gpumon_term *term, const char *title,
			  const char *what)
{
	fprintf(out, "\n%s%s%s  %s%s%s\n", gpumon_term_bold(term), title, gpumon_term_reset(term),
		gpumon_term_dim(term), what, gpumon_term_reset(term));
}

static void put_view(FILE *out, const struct gpumon_term *term, const char *which,
		     const struct gpumon_view *view)
{
	char wall[GPUMON_FORMAT_LEN], time[GPUMON_FORMAT_LEN], count[GPUMON_TEXT_NUMBER];
	char text[1024], cut[1024], missing_text[512];
	struct gpumon_view_totals totals;
	struct gpumon_missing missing;
	const char *mark;
	bool cpu;

	gpumon_view_totals(view, &totals);
	cpu = !totals.gpu_ns && totals.cpu_ns;
	mark = totals.left_ns ? "~" : "";
	snprintf(text, sizeof(text), "%s %s%s %s %s%s %s, %s recorded  %.200s", which, mark,
		 gpumon_format_ns(time, sizeof(time),
				  gpumon_value_of(cpu ? totals.cpu_ns : totals.gpu_ns)),
		 !cpu			    ? "of GPU time in" :
		 gpumon_view_has_hits(view) ? "in" :
					      "in the calls of",
		 mark, gpumon_text_count(count, sizeof(count), totals.count),
		 !cpu			    ? "GPU operations" :
		 gpumon_view_has_hits(view) ? "calls" :
					      "launches",
		 gpumon_format_ns(wall, sizeof(wall), gpumon_value_of(totals.wall_ns)),
		 gpumon_view_command(view));
	fprintf(out, "%s\n", gpumon_text_cut(cut, sizeof(cut), text, term->columns));
	if (*gpumon_view_range(missing_text, sizeof(missing_text), view)) {
		fprintf(out, "%*s", SIDE_INDENT, "");
		gpumon_sentence_print(out, term, "", SIDE_INDENT, SIDE_INDENT, missing_text);
	}
	if (*gpumon_view_sampling(missing_text, sizeof(missing_text), view)) {
		fprintf(out, "%*s", SIDE_INDENT, "");
		gpumon_sentence_print(out, term, "", SIDE_INDENT, SIDE_INDENT, missing_text);
	}
	gpumon_missing_of(view, &missing);
	if (!*gpumon_missing_line(missing_text, sizeof(missing_text), &missing))
		return;
	snprintf(text, sizeof(text), "missing: %s", missing_text);
	fprintf(out, "%*s", SIDE_INDENT, "");
	gpumon_sentence_print(out, term, gpumon_term_red(term), SIDE_INDENT, SIDE_INDENT, text);
}

static int by_change(const void *a, const void *b)
{
	const struct gpumon_diff_node *x = *(const struct gpumon_diff_node *const *)a;
	const struct gpumon_diff_node *y = *(const struct gpumon_diff_node *const *)b;
	uint64_t of_x = gpumon_diff_size(&x->before, &x->after);
	uint64_t of_y = gpumon_diff_size(&y->before, &y->after);

	if (of_x != of_y)
		return of_x < of_y ? 1 : -1;
	return x < y ? -1 : x > y;
}

static int print_paths(FILE *out, const struct gpumon_term *term, const struct gpumon_diff *diff,
		       unsigned int rows)
{
	const struct gpumon_diff_node **nodes = gpumon_calloc(diff->node_count + 1, sizeof(*nodes));
	const struct gpumon_node **of = gpumon_calloc(rows, sizeof(*of));
	char **texts = gpumon_calloc(rows, sizeof(*texts));
	struct gpumon_table *table;
	bool any = false;
	size_t n = 0, all;
	int ret = 0;

	for (size_t i = 0; i < diff->node_count; i++) {
		if (!diff->nodes[i].before.ns && !diff->nodes[i].after.ns)
			continue;
		nodes[n++] = &diff->nodes[i];
		any |= gpumon_paths_any(&diff->nodes[i].of, 1);
	}
	qsort(nodes, n, sizeof(*nodes), by_change);
	all = n;
	if (n > rows)
		n = rows;
	/* Without callers (--gpu-only) it would repeat the table by kernel. */
	if (!any)
		goto out;
	for (size_t i = 0; i < n; i++)
		of[i] = nodes[i]->of;
	gpumon_path_texts(of, (unsigned int)n, gpumon_table_below_columns(term), texts);
	print_heading(
		out, term, "Call paths",
		diff->moved ?
			"by the change of their time; with the lines of AFTER, as code moved" :
			"by the change of their time");
	table = new_table(term, diff->weight == GPUMON_WEIGHT_GPU_NS ? "KERNEL" : "CALL");
	for (size_t i = 0; i < n; i++) {
		put_row(table, term, &nodes[i]->before, &nodes[i]->after, nodes[i]->of->name);
		if (*texts[i])
			gpumon_table_below(table, texts[i]);
		free(texts[i]);
	}
	ret = gpumon_table_print(table, out);
	if (all > n)
		fprintf(out, "  %sand %zu more%s\n", gpumon_term_dim(term), all - n,
			gpumon_term_reset(term));
out:
	free(nodes);
	free(of);
	free(texts);
	return ret;
}

static struct gpumon_diff_side total_side(const struct gpumon_view_totals *totals, bool cpu)
{
	return (struct gpumon_diff_side){
		.there = true,
		.count = totals->count,
		.ns = cpu ? totals->cpu_ns : totals->gpu_ns,
		.left_count = totals->left_count,
		.left_ns = totals->left_ns,
	};
}

int gpumon_diff_print(FILE *out, const struct gpumon_term *term, const struct gpumon_diff *diff,
		      const struct gpumon_summary_options *options)
{
	const struct gpumon_term pipe = { .columns = GPUMON_PIPE_COLUMNS };
	unsigned int rows = options && options->rows ? options->rows : ROWS, n = 0;
	unsigned int new_kernels = 0, gone = 0;
	struct gpumon_view_totals before, after;
	struct gpumon_diff_side of_before, of_after;
	char change[GPUMON_TEXT_NUMBER], percent[GPUMON_TEXT_NUMBER];
	struct gpumon_table *table;
	bool cpu;

	if (!term->columns)
		term = &pipe;
	put_view(out, term, "before", diff->before);
	put_view(out, term, "after ", diff->after);
	gpumon_view_totals(diff->before, &before);
	gpumon_view_totals(diff->after, &after);
	cpu = diff->weight == GPUMON_WEIGHT_CPU_NS;
	of_before = total_side(&before, cpu);
	of_after = total_side(&after, cpu);
	fprintf(out, "\n%s%s %s (%s)%s\n", gpumon_term_bold(term),
		!cpu				  ? "GPU time" :
		gpumon_view_has_hits(diff->after) ? "Time in blocking calls" :
						    "Time in launch calls",
		signed_ns(change, sizeof(change), &of_before, &of_after),
		change_percent(percent, sizeof(percent), &of_before, &of_after),
		gpumon_term_reset(term));
	for (size_t i = 0; i < diff->kernel_count; i++) {
		new_kernels += !diff->kernels[i].before.there;
		gone += !diff->kernels[i].after.there;
	}
	if (new_kernels || gone)
		fprintf(out, "Kinds of work: %u only before, %u only after\n", gone, new_kernels);
	if (diff->kernel_count) {
		print_heading(out, term, "Work", "by the change of GPU time");
		table = new_table(term, "KERNEL");
		for (; n < diff->kernel_count && n < rows; n++)
			put_row(table, term, &diff->kernels[n].before, &diff->kernels[n].after,
				diff->kernels[n].name);
		if (gpumon_table_print(table, out))
			goto no_memory;
		if (diff->kernel_count > n)
			fprintf(out, "  %sand %zu more%s\n", gpumon_term_dim(term),
				diff->kernel_count - n, gpumon_term_reset(term));
	}
	if (print_paths(out, term, diff, rows))
		goto no_memory;
	return ferror(out) ? -1 : 0;

no_memory:
	errno = ENOMEM;
	return -1;
}

/* --- JSON */

static struct json_object *side_json(const struct gpumon_diff_side *from, enum gpumon_weight weight)
{
	const char *key = gpumon_weight_key(weight);
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_u64(object, "count", from->count - from->left_count);
	gpumon_json_add_u64(object, key, from->ns - from->left_ns);
	gpumon_json_add_u64(object, "scaled_count", from->count);
	if (weight == GPUMON_WEIGHT_GPU_NS)
		gpumon_json_add_u64(object, "scaled_gpu_ns", from->ns);
	return object;
}

/* null means that this side does not have it. */
static void add_side(struct json_object *object, const char *key,
		     const struct gpumon_diff_side *side, enum gpumon_weight weight)
{
	if (side->there)
		gpumon_json_add(object, key, side_json(side, weight));
	else
		gpumon_json_add_null(object, key);
}

static void add_sides(struct json_object *object, enum gpumon_weight weight,
		      const struct gpumon_diff_side *before, const struct gpumon_diff_side *after)
{
	add_side(object, "before", before, weight);
	add_side(object, "after", after, weight);
	gpumon_json_add_i64(object, "change_ns", gpumon_diff_change(before->ns, after->ns));
	if (before->there && after->there && before->ns)
		gpumon_json_add(object, "change_percent",
				json_object_new_double(100.0 *
						       ((double)after->ns - (double)before->ns) /
						       (double)before->ns));
	else
		gpumon_json_add_null(object, "change_percent");
	gpumon_json_add_i64(object, "change_count",
			    gpumon_diff_change(before->count, after->count));
}

/* "" means unknown. */
static void add_text(struct json_object *object, const char *key, const char *text)
{
	gpumon_json_add_string(object, key, text && *text ? text : NULL);
}

/* Their times are those of the GPU, also where paths have those of calls. */
static struct json_object *kernel_json(const struct gpumon_diff_kernel *from)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_string(object, "name", from->name);
	gpumon_json_add_string(object, "kind", gpumon_work_kind_text(from->kind));
	add_sides(object, GPUMON_WEIGHT_GPU_NS, &from->before, &from->after);
	return object;
}

static struct json_object *node_json(const struct gpumon_diff *diff,
				     const struct gpumon_diff_node *from)
{
	struct json_object *object = gpumon_json_object();
	bool root = from->parent == (size_t)-1;

	gpumon_json_add_value(object, "parent",
			      (struct gpumon_value){ root ? 0 : from->parent, !root });
	gpumon_json_add_string(object, "kind", gpumon_node_kind_name(from->of->kind));
	gpumon_json_add_string(object, "name", from->of->name);
	add_text(object, "line_before", from->line_before);
	add_text(object, "line_after", from->after.there ? from->of->line : NULL);
	add_sides(object, diff->weight, &from->before, &from->after);
	return object;
}

int gpumon_diff_json(FILE *out, const struct gpumon_diff *diff)
{
	fprintf(out,
		"{\"schema\":\"gpumon-diff\",\"schema_version\":%d,\"gpumon_version\":\"%s\",\n",
		SCHEMA, GPUMON_VERSION);
	gpumon_json_member(out, true, "before", gpumon_json_recording(diff->before));
	gpumon_json_member(out, false, "before_missing", gpumon_json_missing(diff->before));
	gpumon_json_member(out, false, "after", gpumon_json_recording(diff->after));
	gpumon_json_member(out, false, "after_missing", gpumon_json_missing(diff->after));
	fputs(",\n\"kernels\":[\n", out);
	for (size_t i = 0; i < diff->kernel_count; i++)
		gpumon_json_element(out, !i, kernel_json(&diff->kernels[i]));
	fputs("],\n\"nodes\":[\n", out);
	for (size_t i = 0; i < diff->node_count; i++)
		gpumon_json_element(out, !i, node_json(diff, &diff->nodes[i]));
	fputs("]}\n", out);
	return ferror(out) ? -1 : 0;
}
