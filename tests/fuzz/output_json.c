// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The profile as JSON: every row and every name must be found again. */
#include <inttypes.h>
#include <json.h>

#include "output.h"
#include "report/view.h"

struct json_object *fuzz_json_get(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	MUST(json_object_object_get_ex(object, key, &value));
	return value;
}

static void same_number(struct json_object *object, const char *key, uint64_t value)
{
	struct json_object *number = fuzz_json_get(object, key);

	MUST(json_object_is_type(number, json_type_int));
	MUST(json_object_get_uint64(number) == value);
}

static void same_text(struct json_object *object, const char *key, const char *text, bool or_null)
{
	struct json_object *value = fuzz_json_get(object, key);

	MUST(or_null && !*text ? !value : fuzz_same_json(text, value));
}

static void check_nodes(struct json_object *nodes, const struct gpumon_node *root)
{
	size_t number = 0;

	for (const struct gpumon_node *node = root; node; node = gpumon_tree_next(node, root)) {
		struct json_object *object = json_object_array_get_idx(nodes, number);

		MUST(object);
		same_text(object, "name", node->name, false);
		same_text(object, "module", node->module, true);
		same_text(object, "line", node->line, true);
		same_number(object, "gpu_ns", node->gpu_ns);
		same_number(object, "count", node->count);
		same_number(object, "scaled_gpu_ns",
			    gpumon_tree_weight(node, GPUMON_WEIGHT_GPU_NS));
		same_number(object, "scaled_count", gpumon_tree_weight(node, GPUMON_WEIGHT_COUNT));
		same_number(object, "cpu_ns", node->cpu_ns);
		if (node->wall_ns)
			same_number(object, "wall_ns",
				    gpumon_tree_weight(node, GPUMON_WEIGHT_WALL_NS));
		if (node->wall_left_ns)
			same_number(object, "wall_estimated_ns", node->wall_left_ns);
		if (node->idle_ns)
			same_number(object, "idle_ns", node->idle_ns);
		if (node != root) {
			uint64_t parent = json_object_get_uint64(fuzz_json_get(object, "parent"));

			MUST(parent < number);
			same_text(json_object_array_get_idx(nodes, parent), "name",
				  node->parent->name, false);
		}
		number++;
	}
	MUST(json_object_array_length(nodes) == number);
}

static void check_tables(struct json_object *document, const struct gpumon_view *view)
{
	struct json_object *array = fuzz_json_get(document, "kernels");
	size_t number;

	MUST(json_object_array_length(array) == view->kernel_count);
	for (unsigned int i = 0; i < view->kernel_count; i++) {
		struct json_object *object = json_object_array_get_idx(array, i);

		same_text(object, "name", view->kernels[i].name, false);
		same_number(object, "gpu_ns", view->kernels[i].gpu_ns);
		same_number(fuzz_json_get(object, "duration"), "count",
			    gpumon_distribution_count(view->kernels[i].duration));
	}
	/* GPUs and processes' devices are in one table there. */
	array = fuzz_json_get(document, "devices");
	number = 0;
	for (unsigned int i = 0; i < view->device_count; i++) {
		struct json_object *object = json_object_array_get_idx(array, number);

		if (view->devices[i].users)
			continue;
		same_text(object, "name", view->devices[i].name, true);
		same_number(object, "busy_ns", view->devices[i].busy_ns);
		number++;
	}
	MUST(json_object_array_length(array) == number);
	array = fuzz_json_get(document, "ranges");
	MUST(json_object_array_length(array) == view->range_count);
	for (unsigned int i = 0; i < view->range_count; i++)
		same_text(json_object_array_get_idx(array, i), "text", view->ranges[i].text, false);
	array = fuzz_json_get(document, "gaps");
	MUST(json_object_array_length(array) == view->gap_count);
	for (unsigned int i = 0; i < view->gap_count; i++)
		same_text(json_object_array_get_idx(array, i), "doing", view->gaps[i].doing, true);
	array = fuzz_json_get(document, "budget");
	MUST(json_object_array_length(array) == view->budget_count);
	for (unsigned int i = 0; i < view->budget_count; i++) {
		struct json_object *object = json_object_array_get_idx(array, i);

		same_text(object, "name", view->budget[i].name, true);
		same_number(object, "wall_ns", view->budget[i].wall_ns);
		same_number(fuzz_json_get(object, "spent_ns"), "blocked",
			    view->budget[i].spent_ns[GPUMON_SPENT_BLOCKED]);
	}
	array = fuzz_json_get(document, "idle");
	MUST(json_object_array_length(array) == view->idle_count);
	for (unsigned int i = 0; i < view->idle_count; i++)
		same_number(json_object_array_get_idx(array, i), "between_ns",
			    view->idle[i].between_ns);
	if (!view->scan)
		return;
	array = fuzz_json_get(fuzz_json_get(document, "recording"), "notes");
	MUST(json_object_array_length(array) == view->scan->note_count);
	array = fuzz_json_get(fuzz_json_get(document, "recording"), "processes");
	MUST(json_object_array_length(array) == view->scan->process_count);
	for (unsigned int i = 0; i < view->scan->process_count; i++)
		same_text(json_object_array_get_idx(array, i), "command",
			  view->scan->processes[i].command, true);
}

void fuzz_check_json(const struct gpumon_view *view)
{
	struct json_object *document;
	struct fuzz_stream stream;

	fuzz_stream_begin(&stream);
	MUST(!gpumon_output_json(stream.stream, view));
	fuzz_stream_end(&stream);
	document = fuzz_json(stream.data, stream.size);
	check_nodes(fuzz_json_get(document, "nodes"), view->root);
	check_tables(document, view);
	json_object_put(document);
	fuzz_stream_free(&stream);
}
