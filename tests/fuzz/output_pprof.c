// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* pprof: strings, functions, locations and samples lead back to the nodes. */
#include <stdlib.h>
#include <zlib.h>

#include "output.h"
#include "report/view.h"

struct profile {
	const uint8_t **strings;
	size_t *sizes;
	size_t n_strings;
	uint64_t *function_of; /* of a location */
	uint64_t *name_of;     /* of a function */
	size_t n_numbers;      /* locations and functions have lower numbers */
};

static uint8_t *unzip(const char *data, size_t size, size_t *n)
{
	z_stream stream = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size };
	size_t room = 1 << 16, used = 0;
	uint8_t *out = malloc(room);
	int ret;

	MUST(out && inflateInit2(&stream, MAX_WBITS + 16) == Z_OK);
	do {
		if (used == room) {
			out = realloc(out, room *= 2);
			MUST(out);
		}
		stream.next_out = out + used;
		stream.avail_out = (uInt)(room - used);
		ret = inflate(&stream, Z_NO_FLUSH);
		used = room - stream.avail_out;
	} while (ret == Z_OK);
	MUST(ret == Z_STREAM_END && !stream.avail_in);
	inflateEnd(&stream);
	*n = used;
	return out;
}

static void read_function(struct profile *profile, const struct fuzz_field *field)
{
	const uint8_t *at = field->data, *end = at + field->size;
	struct fuzz_field inner;
	uint64_t id = 0, name = 0;

	while (fuzz_protobuf_next(&at, end, &inner)) {
		if (inner.number == 1)
			id = inner.value;
		else if (inner.number == 2)
			name = inner.value;
	}
	MUST(id && id < profile->n_numbers && !profile->name_of[id]);
	profile->name_of[id] = name + 1;
}

static void read_location(struct profile *profile, const struct fuzz_field *field)
{
	const uint8_t *at = field->data, *end = at + field->size;
	struct fuzz_field inner, line;
	uint64_t id = 0, function = 0;

	while (fuzz_protobuf_next(&at, end, &inner)) {
		if (inner.number == 1)
			id = inner.value;
		if (inner.number != 4)
			continue;
		for (const uint8_t *in = inner.data;
		     fuzz_protobuf_next(&in, inner.data + inner.size, &line);)
			if (line.number == 1)
				function = line.value;
	}
	MUST(id && id < profile->n_numbers && function && !profile->function_of[id]);
	profile->function_of[id] = function;
}

static uint64_t limited(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : value;
}

static void check_sample(const struct profile *profile, const struct fuzz_field *field,
			 const struct gpumon_node *of, const struct gpumon_node *root)
{
	const uint8_t *at = field->data, *end = at + field->size;
	struct fuzz_field inner;

	while (fuzz_protobuf_next(&at, end, &inner)) {
		const uint8_t *in = inner.data, *in_end = in + inner.size;

		if (inner.number == 2) {
			MUST(fuzz_protobuf_varint(&in, in_end) ==
			     limited(gpumon_tree_weight(of, GPUMON_WEIGHT_GPU_NS)));
			MUST(fuzz_protobuf_varint(&in, in_end) ==
			     limited(gpumon_tree_weight(of, GPUMON_WEIGHT_COUNT)));
			MUST(fuzz_protobuf_varint(&in, in_end) == limited(of->cpu_ns));
			MUST(fuzz_protobuf_varint(&in, in_end) ==
			     limited(gpumon_tree_weight(of, GPUMON_WEIGHT_WALL_NS)));
			MUST(fuzz_protobuf_varint(&in, in_end) == limited(of->idle_ns));
			MUST(in == in_end);
			continue;
		}
		MUST(inner.number == 1);
		for (const struct gpumon_node *node = of; node != root; node = node->parent) {
			uint64_t id = fuzz_protobuf_varint(&in, in_end), name;

			MUST(id && id < profile->n_numbers && profile->function_of[id]);
			name = profile->name_of[profile->function_of[id]];
			MUST(name && name - 1 < profile->n_strings);
			MUST(fuzz_same_name(*node->name ? node->name : "[unknown]",
					    (const char *)profile->strings[name - 1],
					    profile->sizes[name - 1], ';'));
		}
		MUST(in == in_end);
	}
}

static void read_tables(struct profile *profile, const uint8_t *data, const uint8_t *end)
{
	struct fuzz_field field;

	/* Each has some bytes. */
	profile->n_numbers = (size_t)(end - data) + 2;
	profile->strings = calloc(profile->n_numbers, sizeof(*profile->strings));
	profile->sizes = calloc(profile->n_numbers, sizeof(*profile->sizes));
	profile->function_of = calloc(profile->n_numbers, sizeof(uint64_t));
	profile->name_of = calloc(profile->n_numbers, sizeof(uint64_t));
	MUST(profile->strings && profile->sizes && profile->function_of && profile->name_of);
	while (fuzz_protobuf_next(&data, end, &field)) {
		if (field.number == 6) {
			fuzz_is_text((const char *)field.data, field.size, "");
			MUST(profile->n_strings || !field.size);
			profile->strings[profile->n_strings] = field.data;
			profile->sizes[profile->n_strings++] = field.size;
		} else if (field.number == 5) {
			read_function(profile, &field);
		} else if (field.number == 4) {
			read_location(profile, &field);
		}
	}
	MUST(profile->n_strings);
}

static bool has_weight(const struct gpumon_node *node)
{
	return node->gpu_ns || node->count || node->cpu_ns || node->wall_ns || node->idle_ns ||
	       gpumon_tree_is_estimate(node);
}

void fuzz_check_pprof(const struct gpumon_view *view)
{
	const struct gpumon_node *node = view->root;
	struct profile profile = { 0 };
	struct fuzz_stream stream;
	struct fuzz_field field;
	const uint8_t *at;
	uint8_t *data;
	size_t size;

	fuzz_stream_begin(&stream);
	MUST(!gpumon_output_pprof(stream.stream, view));
	fuzz_stream_end(&stream);
	data = unzip(stream.data, stream.size, &size);
	fuzz_stream_free(&stream);
	read_tables(&profile, data, data + size);
	for (at = data; fuzz_protobuf_next(&at, data + size, &field);) {
		if (field.number != 2)
			continue;
		do
			node = gpumon_tree_next(node, view->root);
		while (node && !has_weight(node));
		MUST(node);
		check_sample(&profile, &field, node, view->root);
	}
	while (node && (node = gpumon_tree_next(node, view->root)))
		MUST(!has_weight(node));
	free(profile.strings);
	free(profile.sizes);
	free(profile.function_of);
	free(profile.name_of);
	free(data);
}
