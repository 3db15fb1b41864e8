// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "output.h"
#include "lib/text.h"
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
		     bool lines)
{
	if (node == root)
		return;
	if (node->parent != root) {
		put_path(out, node->parent, root, lines);
		putc(';', out);
	}
	/* The format has no other place to say that a value is estimated. */
	if (gpumon_tree_is_estimate(node))
		putc('~', out);
	gpumon_text_folded(out, *node->name ? node->name : "[unknown]");
	if (lines)
		put_line(out, node->line ? node->line : "");
}

int gpumon_output_folded(FILE *out, const struct gpumon_node *root, enum gpumon_weight weight,
			 bool lines)
{
	for (const struct gpumon_node *node = root; node; node = gpumon_tree_next(node, root)) {
		uint64_t value = gpumon_tree_weight(node, weight);

		if (!value)
			continue;
		/* Only in a tree without any paths. */
		if (node == root)
			gpumon_text_folded(out, *root->name ? root->name : "[unknown]");
		put_path(out, node, root, lines);
		fprintf(out, " %" PRIu64 "\n", value);
	}
	return ferror(out) ? -1 : 0;
}
