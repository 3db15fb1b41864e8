// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <inttypes.h>

#include "output/output.h"
#include "term/output_text.h"
#include "output/tree.h"

/*
 * From below the root down to the node; as deep as a stack is, which is bounded.
 * Readers split at ';' and at the last blank: a blank within a name does no harm.
 */
static void put_path(FILE *out, const struct gpumon_node *node, const struct gpumon_node *root)
{
	if (node == root)
		return;
	if (node->parent != root) {
		put_path(out, node->parent, root);
		putc(';', out);
	}
	gpumon_text_folded(out, *node->name ? node->name : "[unknown]");
}

int gpumon_output_folded(FILE *out, const struct gpumon_node *root, enum gpumon_weight weight)
{
	for (const struct gpumon_node *node = root; node; node = gpumon_tree_next(node, root)) {
		uint64_t value = gpumon_tree_weight(node, weight);

		if (!value)
			continue;
		/* Only of a tree that has no paths at all. */
		if (node == root)
			gpumon_text_folded(out, *root->name ? root->name : "[unknown]");
		put_path(out, node, root);
		fprintf(out, " %" PRIu64 "\n", value);
	}
	return ferror(out) ? -1 : 0;
}
