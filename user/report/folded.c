// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "output.h"
#include "lib/text.h"
#include "stall_reasons.h"
#include "view.h"

/* " (model.py:88)"; nothing without a line. */
static void put_line(FILE *out, const char *line)
{
	const char *slash = strrchr(line, '/');
	unsigned long number;

	gpumon_line_file(line, &number);
	if (!number)
		return;
	fputs(" (", out);
	gpumon_text_folded(out, slash ? slash + 1 : line);
	putc(')', out);
}

/*
 * Write the path from below the root to the node. The recursion is as deep as a stack, which is
 * bounded. Readers split at ';' and at the last blank, so blanks in names do no harm.
 */
static void put_path(FILE *out, const struct gpumon_node *node, const struct gpumon_node *root,
		     enum gpumon_weight weight, bool lines)
{
	if (node == root)
		return;
	if (node->parent != root) {
		put_path(out, node->parent, root, weight, lines);
		putc(';', out);
	}
	/* The format has no other place to say that a value is estimated. */
	if (gpumon_tree_is_scaled(node, weight))
		putc('~', out);
	gpumon_text_folded(out, *node->name ? node->name : "[unknown]");
	if (lines)
		put_line(out, node->line ? node->line : "");
}

/* A kernel's time by what its warps did. The format has no other place to say that it is from samples. */
static void put_stalls(FILE *out, const struct gpumon_node *node, const struct gpumon_node *root,
		       uint64_t value, bool lines)
{
	for (unsigned int i = 0; i < node->stalls->count; i++) {
		uint64_t part = gpumon_stall_part(node->stalls, i, value);

		if (!part)
			continue;
		put_path(out, node, root, GPUMON_WEIGHT_GPU_NS, lines);
		fputs(";[samples: ", out);
		gpumon_text_folded(out, gpumon_stall_text(node->stalls->sums[i].reason));
		fprintf(out, "] %" PRIu64 "\n", part);
	}
}

int gpumon_output_folded(FILE *out, const struct gpumon_node *root, enum gpumon_weight weight,
			 bool lines)
{
	for (const struct gpumon_node *node = root; node; node = gpumon_tree_next(node, root)) {
		uint64_t value = gpumon_tree_weight(node, weight);

		if (!value)
			continue;
		if (weight == GPUMON_WEIGHT_GPU_NS && node->stalls) {
			put_stalls(out, node, root, value, lines);
			continue;
		}
		/* Only in a tree without any paths. */
		if (node == root)
			gpumon_text_folded(out, *root->name ? root->name : "[unknown]");
		put_path(out, node, root, weight, lines);
		fprintf(out, " %" PRIu64 "\n", value);
	}
	return ferror(out) ? -1 : 0;
}
