// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Folded stacks: each line is a node, and its frames are the nodes above it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "output.h"
#include "report/view.h"

/* A character that is never replaced. */
static bool plain(char c)
{
	return c >= 0x20 && c < 0x7f && c != '?';
}

bool fuzz_same_name(const char *from, const char *to, size_t size, char semicolon)
{
	const char *end = to + size;

	for (;; from++, to++) {
		while (*from && !plain(*from))
			from++;
		while (to < end && !plain(*to))
			to++;
		if (!*from || to == end)
			return !*from && to == end;
		if (*to != (*from == ';' ? semicolon : *from))
			return false;
	}
}

/* Compare the line's frames, from the last one on, with a node and those above it. */
static void check_path(const char *line, const char *end, const struct gpumon_node *node,
		       const struct gpumon_node *root, enum gpumon_weight weight)
{
	for (;; node = node->parent) {
		const char *from = memrchr(line, ';', (size_t)(end - line));
		const char *begin = from ? from + 1 : line;

		if (gpumon_tree_is_scaled(node, weight))
			MUST(*begin++ == '~');
		MUST(fuzz_same_name(*node->name ? node->name : "[unknown]", begin,
				    (size_t)(end - begin), ':'));
		if (node == root || node->parent == root) {
			MUST(!from);
			return;
		}
		MUST(from);
		end = from;
	}
}

void fuzz_check_folded(const struct gpumon_view *view)
{
	for (unsigned int weight = GPUMON_WEIGHT_GPU_NS; weight <= GPUMON_WEIGHT_IDLE_NS;
	     weight++) {
		const struct gpumon_node *node = view->root;
		struct fuzz_stream stream;
		const char *line, *end;

		fuzz_stream_begin(&stream);
		MUST(!gpumon_output_folded(stream.stream, view->root, weight, false));
		fuzz_stream_end(&stream);
		fuzz_is_text(stream.data, stream.size, "\n");
		line = stream.data;
		for (; node; node = gpumon_tree_next(node, view->root)) {
			char number[24];
			const char *blank;

			if (!gpumon_tree_weight(node, weight))
				continue;
			end = strchr(line, '\n');
			MUST(end);
			blank = memrchr(line, ' ', (size_t)(end - line));
			snprintf(number, sizeof(number), "%" PRIu64,
				 gpumon_tree_weight(node, weight));
			MUST(blank && (size_t)(end - blank - 1) == strlen(number) &&
			     !memcmp(blank + 1, number, strlen(number)));
			check_path(line, blank, node, view->root, weight);
			line = end + 1;
		}
		MUST(!*line);
		fuzz_stream_free(&stream);
	}
}
