/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The tree of a profile: nodes, and the call paths that lead to them. */
#ifndef GPUMON_CORRELATE_PROFILE_TREE_H
#define GPUMON_CORRELATE_PROFILE_TREE_H

#include "base/pool.h"
#include "profile.h"
#include "profile_tables.h"

/* One function of an address, several where calls are inlined. */
struct gpumon_tree_frame {
	const char *name;
	const char *module;
	const char *line;
	enum gpumon_node_kind kind;
};

/* Of an address: @count of struct gpumon_tree.frames, the innermost first. */
struct gpumon_tree_address {
	uint32_t first;
	uint32_t count;
};

/**
 * struct gpumon_tree - a tree in the making
 * @pool: for texts and nodes
 * @tables: of the processes
 * @options: what it looks like
 * @processes: there is a level for them
 * @lines: paths that differ by a line only are apart; else such a function has the file alone
 * @root: of the tree
 * @cut_paths: call paths that are not in it, for want of room: GPUMON_TREE_NODES_MAX
 * @node_keys: parent, name and kind to number in @nodes
 * @path_keys: process, thread, stack, function and epoch to number in @paths
 * @address_keys: process, address, epoch to number in @addresses
 */
struct gpumon_tree {
	struct gpumon_pool *pool;
	struct gpumon_tables *tables;
	struct gpumon_profile_options options;
	bool processes;
	bool lines;
	struct gpumon_node *root;
	uint64_t cut_paths;
	struct gpumon_keys node_keys;
	struct gpumon_node **nodes;
	uint32_t nodes_used;
	uint32_t nodes_room;
	struct gpumon_keys path_keys;
	struct gpumon_node **paths;
	uint32_t paths_used;
	uint32_t paths_room;
	struct gpumon_keys address_keys;
	struct gpumon_tree_address *addresses;
	uint32_t addresses_used;
	uint32_t addresses_room;
	struct gpumon_tree_frame *frames;
	uint32_t frames_used;
	uint32_t frames_room;
};

/* 0, or -1 without memory. The other members are set by the caller. */
int gpumon_tree_begin(struct gpumon_tree *tree);

/**
 * gpumon_tree_child - a node below another one
 * @tree: tree
 * @parent: parent
 * @frame: name, of the pool, and what else it is
 *
 * Return: made where it was not there; NULL without memory.
 */
struct gpumon_node *gpumon_tree_child(struct gpumon_tree *tree, struct gpumon_node *parent,
				      const struct gpumon_tree_frame *frame);

/* The same by a name that is not of the pool, "" for the rest. */
struct gpumon_node *gpumon_tree_named(struct gpumon_tree *tree, struct gpumon_node *parent,
				      enum gpumon_node_kind kind, const char *name);

/**
 * struct gpumon_tree_where - what a path leads to
 * @process: number
 * @tid: 0 where not known
 * @stack: id; 0: none
 * @function: of the API, string id; 0: none
 * @time_ns: about when the stack was taken
 * @reason: in place of the stack, "[kernel without stack]"; NULL: none
 */
struct gpumon_tree_where {
	uint32_t process;
	uint32_t tid;
	uint32_t stack;
	uint32_t function;
	uint64_t time_ns;
	const char *reason;
};

/**
 * gpumon_tree_path - the node of the API call of a path
 * @tree: tree
 * @where: path
 *
 * Return: it, made where it was not there; the node above where the function is
 * not known; NULL without memory.
 */
struct gpumon_node *gpumon_tree_path(struct gpumon_tree *tree,
				     const struct gpumon_tree_where *where);

/* The same of a GPU operation that began at a time, with the reason where it has no stack. */
struct gpumon_node *gpumon_tree_work(struct gpumon_tree *tree, const struct gpumon_work *work,
				     uint64_t start_ns);

/* The node of the process, or the root. */
struct gpumon_node *gpumon_tree_process(struct gpumon_tree *tree, uint32_t number);

/* Sort children by name. 0, or -1 without memory. */
int gpumon_tree_end(struct gpumon_tree *tree);
/* But not what is of the pool. */
void gpumon_tree_clear(struct gpumon_tree *tree);

#endif /* GPUMON_CORRELATE_PROFILE_TREE_H */
