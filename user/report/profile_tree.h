/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The tree of a profile: nodes, and the call paths that lead to them. */
#ifndef GPUMON_REPORT_PROFILE_TREE_H
#define GPUMON_REPORT_PROFILE_TREE_H

#include "lib/map.h"
#include "profile.h"
#include "captures.h"

/* A function at an address. There are several if calls are inlined. */
struct gpumon_tree_frame {
	const char *name;
	const char *module;
	const char *line;
	enum gpumon_node_kind kind;
};

/* Functions of an address: @count of struct gpumon_tree.frames, the innermost first. */
struct gpumon_tree_address {
	uint32_t first;
	uint32_t count;
};

/* Answers of gpumon_tree_path(): the same path comes again soon, as programs run in loops. */
#define GPUMON_TREE_CACHED 256

struct gpumon_tree_cached {
	struct gpumon_key key;
	struct gpumon_node *node; /* NULL: empty */
};

/**
 * struct gpumon_tree - a tree under construction
 * @pool: pool for texts and nodes
 * @tables: definitions of the processes
 * @options: options of the tree
 * @processes: processes have a level
 * @root: root of the tree
 * @cut_paths: call paths that are missing because of GPUMON_TREE_NODES_MAX
 * @process_nodes: by number of the process; NULL until it is used
 * @node_keys: parent, name, kind and line to number in @nodes
 * @path_keys: process, thread, stack, function and epoch to number in @paths
 * @address_keys: process, address, epoch to number in @addresses
 */
struct gpumon_tree {
	struct gpumon_pool *pool;
	struct gpumon_tables *tables;
	struct gpumon_profile_options options;
	bool processes;
	struct gpumon_node *root;
	uint64_t cut_paths;
	struct gpumon_node **process_nodes;
	uint32_t process_nodes_used;
	uint32_t process_nodes_room;
	struct gpumon_keys node_keys;
	struct gpumon_node **nodes;
	uint32_t nodes_room;
	struct gpumon_keys path_keys;
	struct gpumon_node **paths;
	uint32_t paths_room;
	struct gpumon_tree_cached path_cache[GPUMON_TREE_CACHED];
	struct gpumon_keys address_keys;
	struct gpumon_tree_address *addresses;
	uint32_t addresses_room;
	struct gpumon_tree_frame *frames;
	uint32_t frames_used;
	uint32_t frames_room;
};

/* The caller sets the other members. */
void gpumon_tree_begin(struct gpumon_tree *tree);

/**
 * gpumon_tree_child - get a node below another one
 * @tree: tree
 * @parent: parent
 * @frame: frame, with a name of the pool
 *
 * Return: the node, created if it is new.
 */
struct gpumon_node *gpumon_tree_child(struct gpumon_tree *tree, struct gpumon_node *parent,
				      const struct gpumon_tree_frame *frame);

/* The same by name, which need not be in the pool, and "" for the other texts. */
struct gpumon_node *gpumon_tree_named(struct gpumon_tree *tree, struct gpumon_node *parent,
				      enum gpumon_node_kind kind, const char *name);

/**
 * struct gpumon_tree_where - identifies a path
 * @process: number of the process
 * @tid: 0 if unknown
 * @stack: id of the stack, or 0
 * @function: string id of the API function, or 0
 * @time_ns: approximate time of the stack
 * @reason: replaces the stack, such as "[kernel without stack]"; may be NULL
 * @below: what is known to be outward of a stack that is cut; NULL: nothing is. Not with @reason
 */
struct gpumon_tree_where {
	uint32_t process;
	uint32_t tid;
	uint32_t stack;
	uint32_t function;
	uint64_t time_ns;
	const char *reason;
	struct gpumon_node *below;
};

/**
 * gpumon_tree_path - get the node of the API call of a path
 * @tree: tree
 * @where: path
 *
 * Return: the node, created if it is new; the node above it if the function is unknown.
 */
struct gpumon_node *gpumon_tree_path(struct gpumon_tree *tree,
				     const struct gpumon_tree_where *where);

/* Where an operation is: at its launch, or at @start_ns, when it began. */
struct gpumon_tree_where gpumon_work_where(const struct gpumon_work *work, uint64_t start_ns);

/* "[kernel without stack]": why an operation has no stack; NULL if it has one. */
const char *gpumon_match_reason(enum gpumon_match match);
/* The same for a GPU operation that began at a time, with the reason if it has no stack. */
struct gpumon_node *gpumon_tree_work(struct gpumon_tree *tree, const struct gpumon_work *work,
				     uint64_t start_ns);

/* The node of the process, or the root. */
struct gpumon_node *gpumon_tree_process(struct gpumon_tree *tree, uint32_t number);

/* Sort children. */
void gpumon_tree_end(struct gpumon_tree *tree);
/* Free all but the contents of the pool. */
void gpumon_tree_clear(struct gpumon_tree *tree);

#endif /* GPUMON_REPORT_PROFILE_TREE_H */
