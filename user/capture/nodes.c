// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "engine.h"

/* Clones of clones. A longer chain is a cycle, which only a broken capture has. */
#define CLONES_MAX 64

int gpumon_nodes_add(struct nodes *nodes, const struct gpumon_record_graph_node *record)
{
	uint64_t place = gpumon_map_get(&nodes->by_id, record->node);
	struct node *node;

	if (!record->node)
		return 0;
	if (!place) {
		if (nodes->used == NODES_MAX)
			return 0;
		if (!GPUMON_ARRAY_ADD(nodes->nodes, nodes->used, nodes->room))
			return -1;
		place = nodes->used;
		if (gpumon_map_set(&nodes->by_id, record->node, place)) {
			nodes->used--;
			return -1;
		}
	}
	/* A reused id: launches from now on belong to the new node. */
	node = &nodes->nodes[place - 1];
	node->node = record->node;
	node->original = record->original;
	node->stack = record->stack;
	node->graph = record->graph;
	return 0;
}

bool gpumon_nodes_stack(const struct nodes *nodes, uint64_t node, uint32_t *stack)
{
	*stack = 0;
	for (unsigned int i = 0; i < CLONES_MAX; i++) {
		uint64_t place = gpumon_map_get(&nodes->by_id, node);

		if (!place)
			return false;
		*stack = nodes->nodes[place - 1].stack;
		node = nodes->nodes[place - 1].original;
		if (*stack || !node)
			return true;
	}
	return true;
}

void gpumon_nodes_clear(struct nodes *nodes)
{
	gpumon_map_clear(&nodes->by_id);
	free(nodes->nodes);
	memset(nodes, 0, sizeof(*nodes));
}
