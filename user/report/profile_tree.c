// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/memory.h"
#include "profile_tree.h"
#include "stored_names.h"

/* Maximum number of functions inlined at one address. */
#define INLINED_MAX 32

void gpumon_tree_begin(struct gpumon_tree *tree)
{
	tree->root = gpumon_pool_zalloc(tree->pool, sizeof(*tree->root));
	*tree->root = (struct gpumon_node){
		.name = "all",
		.module = "",
		.line = "",
		.kind = GPUMON_NODE_ROOT,
	};
}

size_t gpumon_line_file(const char *line, unsigned long *number)
{
	const char *colon = strrchr(line, ':');

	*number = 0;
	if (!colon || !isdigit((unsigned char)colon[1]))
		return strlen(line);
	*number = strtoul(colon + 1, NULL, 10);
	return (size_t)(colon - line);
}

/* By file, then by number. */
static int line_order(const char *a, const char *b)
{
	unsigned long of_a, of_b;
	size_t length = gpumon_line_file(a, &of_a), other = gpumon_line_file(b, &of_b);
	int order = strncmp(a, b, length < other ? length : other);

	if (order || length != other)
		return order ? order : length < other ? -1 : 1;
	return of_a == of_b ? 0 : of_a < of_b ? -1 : 1;
}

int gpumon_node_order(const struct gpumon_node *a, const struct gpumon_node *b)
{
	int order = a->name == b->name ? 0 : strcmp(a->name, b->name);

	if (!order)
		order = (int)a->kind - (int)b->kind;
	if (order || a->line == b->line)
		return order;
	return line_order(a->line ? a->line : "", b->line ? b->line : "");
}

/* If calls came from several lines, show the file if it is the same, otherwise nothing. */
static void merge_line(struct gpumon_tree *tree, struct gpumon_node *node, const char *line)
{
	unsigned long number;
	size_t length = gpumon_line_file(node->line, &number);

	if (node->line == line || !*node->line)
		return;
	if (length != gpumon_line_file(line, &number) || strncmp(node->line, line, length) != 0)
		node->line = "";
	else
		node->line = gpumon_pool_part(tree->pool, line, length);
}

struct gpumon_node *gpumon_tree_child(struct gpumon_tree *tree, struct gpumon_node *parent,
				      const struct gpumon_tree_frame *frame)
{
	const struct gpumon_key key = {
		{ (uintptr_t)parent, (uintptr_t)frame->name, frame->kind,
		  tree->options.functions ? 0 : (uintptr_t)frame->line },
	};
	struct gpumon_node **slot =
		GPUMON_KEYS_VALUE(&tree->node_keys, &key, tree->nodes, tree->nodes_room, NULL);
	struct gpumon_node *node;

	if (*slot) {
		if (tree->options.functions)
			merge_line(tree, *slot, frame->line);
		return *slot;
	}
	node = gpumon_pool_zalloc(tree->pool, sizeof(*node));
	*slot = node;
	node->name = frame->name;
	node->module = frame->module;
	node->line = frame->line;
	node->kind = frame->kind;
	node->parent = parent;
	node->next = parent->child;
	parent->child = node;
	return node;
}

struct gpumon_node *gpumon_tree_named(struct gpumon_tree *tree, struct gpumon_node *parent,
				      enum gpumon_node_kind kind, const char *name)
{
	const struct gpumon_tree_frame frame = {
		.name = gpumon_pool_text(tree->pool, name),
		.module = "",
		.line = "",
		.kind = kind,
	};

	return gpumon_tree_child(tree, parent, &frame);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void describe_process(const struct gpumon_tree *tree, uint32_t number, char *name,
			     size_t size)
{
	const struct gpumon_tables_process *process = &tree->tables->processes[number];
	const char *executable = gpumon_tables_string(process, process->record.executable);
	const char *host = gpumon_tables_string(process, process->record.host);
	int length;

	length = snprintf(name, size, "%.200s %" PRIu32,
			  executable ? base_name(executable) : "process",
			  gpumon_record_pid(&process->record));
	if (process->has_record && process->record.rank != ~0u)
		length += snprintf(name + length, size - (size_t)length, " rank %" PRIu32,
				   process->record.rank);
	/* The same pid is another process on another machine, or after it was reused. */
	if (host && process->capture)
		snprintf(name + length, size - (size_t)length, " on %.200s", host);
}

/* Its pid was reused within a capture, or the process executed its own program again. */
static bool has_name_of_earlier(const struct gpumon_tree *tree, uint32_t number, const char *name)
{
	const struct gpumon_tables_process *processes = tree->tables->processes;
	char other[512];

	for (uint32_t i = 0; i < number; i++) {
		if (gpumon_record_pid(&processes[i].record) !=
		    gpumon_record_pid(&processes[number].record))
			continue;
		describe_process(tree, i, other, sizeof(other));
		if (strcmp(other, name) == 0)
			return true;
	}
	return false;
}

struct gpumon_node *gpumon_tree_process(struct gpumon_tree *tree, uint32_t number)
{
	struct gpumon_node **node;
	size_t length;
	char name[512];

	if (!tree->processes)
		return tree->root;
	while (tree->process_nodes_used <= number)
		(void)GPUMON_ARRAY_ADD(tree->process_nodes, tree->process_nodes_used,
				       tree->process_nodes_room);
	node = &tree->process_nodes[number];
	if (*node)
		return *node;
	describe_process(tree, number, name, sizeof(name));
	length = strlen(name);
	if (!tree->tables->processes[number].has_record || has_name_of_earlier(tree, number, name))
		snprintf(name + length, sizeof(name) - length, " #%" PRIu32, number);
	*node = gpumon_tree_named(tree, tree->root, GPUMON_NODE_PROCESS, name);
	(*node)->process = number;
	return *node;
}

static struct gpumon_node *thread_node(struct gpumon_tree *tree, struct gpumon_node *parent,
				       const struct gpumon_tree_where *where)
{
	const struct gpumon_tables_process *process = &tree->tables->processes[where->process];
	const char *text = gpumon_tables_string(process, (uint32_t)gpumon_map_get(&process->threads,
										  where->tid));
	char name[256];

	if (!tree->options.threads || !where->tid)
		return parent;
	snprintf(name, sizeof(name), "%.200s%s%" PRIu32, text ? text : "thread", " ", where->tid);
	return gpumon_tree_named(tree, parent, GPUMON_NODE_THREAD, name);
}

/* --- addresses */

static void add_frame(struct gpumon_tree *tree, enum gpumon_node_kind kind, const char *name,
		      const char *module, const char *file, unsigned int line)
{
	struct gpumon_tree_frame *frame =
		GPUMON_ARRAY_ADD(tree->frames, tree->frames_used, tree->frames_room);
	char text[1024] = "";

	if (*file && line)
		snprintf(text, sizeof(text), "%s:%u", file, line);
	else if (*file)
		snprintf(text, sizeof(text), "%s", file);
	frame->kind = kind;
	frame->name = gpumon_pool_text(tree->pool, name);
	frame->module = gpumon_pool_text(tree->pool, module);
	frame->line = gpumon_pool_text(tree->pool, text);
}

static void add_python(struct gpumon_tree *tree, const struct gpumon_tables_process *process,
		       uint32_t id)
{
	const struct gpumon_record_frame *frame = gpumon_tables_frame(process, id);
	const char *function = frame ? gpumon_tables_string(process, frame->function) : NULL;
	const char *file = frame ? gpumon_tables_string(process, frame->file) : NULL;

	add_frame(tree, GPUMON_NODE_PYTHON, function ? function : "[unknown]",
		  file ? base_name(file) : "", file ? file : "", frame ? frame->line : 0);
}

/* If the user says where the files are, these count more than the stored names. */
static unsigned int find_symbols(const struct gpumon_tree *tree,
				 const struct gpumon_tables_process *process, uint64_t address,
				 uint32_t epoch, uint64_t time_ns, struct gpumon_symbol *found)
{
	bool files_first = tree->tables->symbol_root;
	unsigned int count = 0, stored;

	if (!files_first)
		count = gpumon_stored_names_find(process->stored, address, epoch, found,
						 INLINED_MAX);
	if (count)
		return count;
	count = gpumon_symbols_find(process->symbols, address, time_ns, found, INLINED_MAX);
	if (!files_first || gpumon_symbol_is_name(&found[0]))
		return count;
	stored = gpumon_stored_names_find(process->stored, address, epoch, found, INLINED_MAX);
	return stored ? stored : count;
}

static void add_native(struct gpumon_tree *tree, const struct gpumon_tables_process *process,
		       uint64_t address, uint32_t epoch, uint64_t time_ns)
{
	struct gpumon_symbol found[INLINED_MAX];
	unsigned int count = find_symbols(tree, process, address, epoch, time_ns, found);

	/* Without inlined functions, only the function that contains the code remains. */
	for (unsigned int i = tree->options.no_inline && count ? count - 1 : 0; i < count; i++)
		add_frame(tree, GPUMON_NODE_FUNCTION, found[i].function, found[i].module,
			  found[i].file, found[i].line);
}

/* Functions of a frame, from the cache. */
static uint32_t find_address(struct gpumon_tree *tree, uint32_t number, uint64_t address,
			     uint32_t epoch, uint64_t time_ns)
{
	const struct gpumon_tables_process *process = &tree->tables->processes[number];
	const struct gpumon_key key = { { number, address, epoch } };
	struct gpumon_tree_address *entry;
	uint32_t first = tree->frames_used;
	bool added;

	entry = GPUMON_KEYS_VALUE(&tree->address_keys, &key, tree->addresses, tree->addresses_room,
				  &added);
	if (!added)
		return (uint32_t)(entry - tree->addresses);
	if (address & GPUMON_STACK_FRAME_ID)
		add_python(tree, process, (uint32_t)address);
	else
		add_native(tree, process, address, epoch, time_ns);
	entry->first = first;
	entry->count = tree->frames_used - first;
	return (uint32_t)(entry - tree->addresses);
}

/* --- paths */

/* Is this the API call that gets its own level? */
static bool is_call(const struct gpumon_tree_frame *frame, const char *call, size_t call_length)
{
	size_t length = strlen(frame->name);
	const char *base = gpumon_function_base(frame->name, &length);

	return call && length == call_length && !memcmp(base, call, length);
}

/* Libraries that implement an API: those of CUDA, HIP, Level Zero, OpenCL, Vulkan and OpenGL. */
static bool is_api_module(const char *module)
{
	static const char *const names[] = { "libcuda.so", "libcudart", "libcupti",  "libamdhip64",
					     "libze_",	   "libOpenCL", "libvulkan", "libEGL",
					     "libGL.so",   "libGLX" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strncmp(module, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

/* python3.12, libpython3.12.so.1.0, but no other names with that word. */
static bool is_interpreter(const char *module)
{
	if (!strncmp(module, "lib", 3))
		module += 3;
	if (strncmp(module, "python", 6) != 0)
		return false;
	module += 6;
	module += strspn(module, "0123456789.dmt");
	return !*module || !strncmp(module, "so", 2);
}

/*
 * The frames of a stack with their functions.
 * @at: index of each one, innermost first
 * @python: there are Python functions
 */
struct found_stack {
	uint32_t at[GPUMON_STACK_DEPTH_MAX];
	bool python;
};

static void find_stack(struct gpumon_tree *tree, const struct gpumon_tree_where *where,
		       uint32_t epoch, const uint64_t *frames, uint32_t count,
		       struct found_stack *stack)
{
	stack->python = false;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t address = frames[i];

		if (address & GPUMON_STACK_FRAME_ID)
			stack->python = true;
		else
			address = gpumon_stack_code(address, i);
		stack->at[i] = find_address(tree, where->process, address, epoch, where->time_ns);
	}
}

static const struct gpumon_tree_frame *frame_of(const struct gpumon_tree *tree, uint32_t at,
						uint32_t inlined)
{
	return &tree->frames[tree->addresses[at].first + inlined];
}

/*
 * How many of the outermost frames of a cut stack are the last ones of what is outward of it: functions
 * that both have.
 */
static uint32_t count_joined(const struct gpumon_tree *tree, const struct gpumon_node *below,
			     const struct found_stack *stack, uint32_t count)
{
	const struct gpumon_tree_frame *frames[GPUMON_STACK_DEPTH_MAX];
	const struct gpumon_node *node;
	uint32_t used = 0, joined, at;

	for (uint32_t i = count; i-- > 0;) {
		for (uint32_t j = tree->addresses[stack->at[i]].count; j-- > 0;)
			if (used < GPUMON_STACK_DEPTH_MAX)
				frames[used++] = frame_of(tree, stack->at[i], j);
	}
	for (joined = used; joined; joined--) {
		node = below;
		for (at = joined; at && node->parent; at--, node = node->parent)
			if (node->name != frames[at - 1]->name ||
			    node->module != frames[at - 1]->module ||
			    node->kind != frames[at - 1]->kind)
				break;
		if (!at)
			break;
	}
	return joined;
}

static struct gpumon_node *add_stack(struct gpumon_tree *tree, struct gpumon_node *node,
				     const struct gpumon_tree_where *where, uint32_t epoch,
				     const char *call, size_t call_length)
{
	const struct gpumon_tables_process *process = &tree->tables->processes[where->process];
	uint32_t count = 0, first = 0, joined = 0;
	uint16_t flags = 0;
	const uint64_t *frames = gpumon_tables_stack(process, where->stack, &count, &flags);
	struct found_stack stack;

	if (!frames)
		return gpumon_tree_named(tree, node, GPUMON_NODE_REASON, "[stack not recorded]");
	if (tree->node_keys.used >= GPUMON_TREE_NODES_MAX) {
		tree->cut_paths++;
		return gpumon_tree_named(tree, node, GPUMON_NODE_REASON, "[too many call paths]");
	}
	if (count > GPUMON_STACK_DEPTH_MAX)
		count = GPUMON_STACK_DEPTH_MAX;
	find_stack(tree, where, epoch, frames, count, &stack);
	if (where->below)
		joined = count_joined(tree, node, &stack, count);
	else if (flags & GPUMON_STACK_TRUNCATED)
		node = gpumon_tree_named(tree, node, GPUMON_NODE_REASON, "[stack cut off]");
	/* Frames of the driver's libraries within a call belong to the call. */
	while (call && first < count && tree->addresses[stack.at[first]].count &&
	       is_api_module(frame_of(tree, stack.at[first], 0)->module))
		first++;
	for (uint32_t i = count; i-- > first;) {
		for (uint32_t j = tree->addresses[stack.at[i]].count; j-- > 0;) {
			const struct gpumon_tree_frame *frame = frame_of(tree, stack.at[i], j);

			if (joined) {
				joined--;
				continue;
			}
			if (i == first && !j && is_call(frame, call, call_length))
				continue;
			/*
			 * Python functions make the interpreter's functions between them redundant.
			 */
			if (stack.python && !tree->options.interpreter &&
			    frame->kind == GPUMON_NODE_FUNCTION && is_interpreter(frame->module))
				continue;
			node = gpumon_tree_child(tree, node, frame);
		}
	}
	return node;
}

static struct gpumon_node *make_path(struct gpumon_tree *tree,
				     const struct gpumon_tree_where *where, uint32_t epoch)
{
	const struct gpumon_tables_process *process = &tree->tables->processes[where->process];
	const char *call = gpumon_tables_string(process, where->function);
	size_t length = call ? strlen(call) : 0;
	struct gpumon_node *node = gpumon_tree_process(tree, where->process);
	struct gpumon_tree_frame frame = { .module = "", .line = "", .kind = GPUMON_NODE_API };

	node = where->below ? where->below : thread_node(tree, node, where);
	if (call)
		call = gpumon_function_base(call, &length);
	if (where->reason)
		node = gpumon_tree_named(tree, node, GPUMON_NODE_REASON, where->reason);
	else if (where->stack)
		node = add_stack(tree, node, where, epoch, call, length);
	if (!call)
		return node;
	frame.name = gpumon_pool_part(tree->pool, call, length);
	return gpumon_tree_child(tree, node, &frame);
}

struct gpumon_node *gpumon_tree_path(struct gpumon_tree *tree,
				     const struct gpumon_tree_where *where)
{
	const struct gpumon_tables_process *process = &tree->tables->processes[where->process];
	uint32_t epoch = gpumon_tables_epoch(process, where->time_ns);
	const struct gpumon_key key = { {
		(uint64_t)where->process << 32 | (tree->options.threads ? where->tid : 0),
		where->stack,
		where->function,
		epoch,
		where->below ? (uintptr_t)where->below : (uintptr_t)where->reason,
	} };
	struct gpumon_tree_cached *cached =
		&tree->path_cache[(where->stack + 7 * where->function + 61 * where->process) %
				  GPUMON_TREE_CACHED];
	struct gpumon_node **slot;

	if (cached->node && !memcmp(&cached->key, &key, sizeof(key)))
		return cached->node;
	slot = GPUMON_KEYS_VALUE(&tree->path_keys, &key, tree->paths, tree->paths_room, NULL);
	if (!*slot)
		*slot = make_path(tree, where, epoch);
	*cached = (struct gpumon_tree_cached){ key, *slot };
	return *slot;
}

/* --- the end */

static int by_order(const void *a, const void *b)
{
	return gpumon_node_order(*(struct gpumon_node *const *)a, *(struct gpumon_node *const *)b);
}

static void sort_children(struct gpumon_node *parent, struct gpumon_node ***room, size_t *size)
{
	struct gpumon_node **children = *room;
	size_t count = 0;

	for (struct gpumon_node *child = parent->child; child; child = child->next) {
		if (count == *size) {
			*size = *size ? *size * 2 : 64;
			children = gpumon_reallocarray(children, *size, sizeof(*children));
			*room = children;
		}
		children[count++] = child;
	}
	if (count < 2)
		return;
	qsort(children, count, sizeof(*children), by_order);
	for (size_t i = 0; i < count; i++)
		children[i]->next = i + 1 < count ? children[i + 1] : NULL;
	parent->child = children[0];
}

void gpumon_tree_end(struct gpumon_tree *tree)
{
	struct gpumon_node **room = NULL;
	size_t size = 0;

	sort_children(tree->root, &room, &size);
	for (uint32_t i = 0; i < tree->node_keys.used; i++)
		sort_children(tree->nodes[i], &room, &size);
	free(room);
}

void gpumon_tree_clear(struct gpumon_tree *tree)
{
	gpumon_keys_clear(&tree->node_keys);
	gpumon_keys_clear(&tree->path_keys);
	gpumon_keys_clear(&tree->address_keys);
	free(tree->process_nodes);
	free(tree->nodes);
	free(tree->paths);
	free(tree->addresses);
	free(tree->frames);
	tree->process_nodes = NULL;
	tree->nodes = NULL;
	tree->paths = NULL;
	tree->addresses = NULL;
	tree->frames = NULL;
}
