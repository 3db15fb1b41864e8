// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <inttypes.h>
#include <json.h>
#include <string.h>
#include <zlib.h>

#include "output.h"
#include "output/tree.h"

#define HTML_TAGS 64

/* A character that stays as it is, or one of many that may be replaced. */
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

/* --- JSON */

static struct json_object *get(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	MUST(json_object_object_get_ex(object, key, &value));
	return value;
}

static void same_number(struct json_object *object, const char *key, uint64_t value)
{
	struct json_object *number = get(object, key);

	MUST(json_object_is_type(number, json_type_int));
	MUST(json_object_get_uint64(number) == value);
}

static void same_text(struct json_object *object, const char *key, const char *text, bool or_null)
{
	struct json_object *value = get(object, key);

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
		same_number(object, "cpu_ns", node->cpu_ns);
		if (node != root) {
			uint64_t parent = json_object_get_uint64(get(object, "parent"));

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
	struct json_object *array = get(document, "kernels");

	MUST(json_object_array_length(array) == view->kernel_count);
	for (unsigned int i = 0; i < view->kernel_count; i++) {
		struct json_object *object = json_object_array_get_idx(array, i);

		same_text(object, "name", view->kernels[i].name, false);
		same_number(object, "gpu_ns", view->kernels[i].gpu_ns);
		same_number(get(object, "duration"), "count",
			    gpumon_distribution_count(view->kernels[i].duration));
	}
	array = get(document, "devices");
	MUST(json_object_array_length(array) == view->device_count);
	for (unsigned int i = 0; i < view->device_count; i++) {
		struct json_object *object = json_object_array_get_idx(array, i);

		same_text(object, "name", view->devices[i].name, true);
		same_number(object, "busy_ns", view->devices[i].busy_ns);
	}
	array = get(document, "ranges");
	MUST(json_object_array_length(array) == view->range_count);
	for (unsigned int i = 0; i < view->range_count; i++)
		same_text(json_object_array_get_idx(array, i), "text", view->ranges[i].text, false);
	array = get(document, "gaps");
	MUST(json_object_array_length(array) == view->gap_count);
	for (unsigned int i = 0; i < view->gap_count; i++)
		same_text(json_object_array_get_idx(array, i), "doing", view->gaps[i].doing, true);
	if (!view->scan)
		return;
	array = get(get(document, "recording"), "notes");
	MUST(json_object_array_length(array) == view->scan->note_count);
	array = get(get(document, "recording"), "processes");
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
	check_nodes(get(document, "nodes"), view->root);
	check_tables(document, view);
	json_object_put(document);
	fuzz_stream_free(&stream);
}

/* --- folded stacks */

/* The line's frames from the last one on, each against a node and those above it. */
static void check_path(const char *line, const char *end, const struct gpumon_node *node,
		       const struct gpumon_node *root)
{
	for (;; node = node->parent) {
		const char *from = memrchr(line, ';', (size_t)(end - line));
		const char *begin = from ? from + 1 : line;

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
	for (unsigned int weight = GPUMON_WEIGHT_GPU_NS; weight <= GPUMON_WEIGHT_CPU_NS; weight++) {
		const struct gpumon_node *node = view->root;
		struct fuzz_stream stream;
		const char *line, *end;

		fuzz_stream_begin(&stream);
		MUST(!gpumon_output_folded(stream.stream, view->root, weight));
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
			check_path(line, blank, node, view->root);
			line = end + 1;
		}
		MUST(!*line);
		fuzz_stream_free(&stream);
	}
}

/* --- protobuf */

uint64_t fuzz_protobuf_varint(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;

	for (unsigned int shift = 0;; shift += 7) {
		MUST(*at < end && shift < 64);
		value |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return value;
	}
}

bool fuzz_protobuf_next(const uint8_t **at, const uint8_t *end, struct fuzz_field *field)
{
	uint64_t tag, size;

	if (*at == end)
		return false;
	tag = fuzz_protobuf_varint(at, end);
	*field = (struct fuzz_field){ .number = (unsigned int)(tag >> 3) };
	MUST(field->number);
	switch (tag & 7) {
	case 0:
		field->value = fuzz_protobuf_varint(at, end);
		return true;
	case 1:
		MUST(end - *at >= 8);
		memcpy(&field->value, *at, 8);
		*at += 8;
		return true;
	case 2:
		size = fuzz_protobuf_varint(at, end);
		MUST(size <= (size_t)(end - *at));
		field->data = *at;
		field->size = size;
		*at += size;
		return true;
	default:
		MUST(!"a wire type that nobody writes");
	}
	return false;
}

/* --- pprof */

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
			MUST(fuzz_protobuf_varint(&in, in_end) == limited(of->gpu_ns));
			MUST(fuzz_protobuf_varint(&in, in_end) == limited(of->count));
			MUST(fuzz_protobuf_varint(&in, in_end) == limited(of->cpu_ns));
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
		while (node && !node->gpu_ns && !node->count && !node->cpu_ns);
		MUST(node);
		check_sample(&profile, &field, node, view->root);
	}
	while (node && (node = gpumon_tree_next(node, view->root)))
		MUST(!node->gpu_ns && !node->count && !node->cpu_ns);
	free(profile.strings);
	free(profile.sizes);
	free(profile.function_of);
	free(profile.name_of);
	free(data);
}

/* --- pictures */

static unsigned int scripts;

/* What an attacker would want is an element or an attribute that we did not write. */
static void look_at(const char *name, const char **attributes)
{
	static const char *const known[] = {
		"svg",	 "g",	 "rect",   "text",    "title",	 "style",    "script",	"html",
		"head",	 "body", "main",   "header",  "section", "h1",	     "h2",	"p",
		"div",	 "span", "b",	   "i",	      "small",	 "table",    "thead",	"tbody",
		"tr",	 "th",	 "td",	   "details", "summary", "em",	     "line",	"path",
		"label", "u",	 "button", "a",	      "tspan",	 "polyline", "polygon", "circle",
	};
	bool found = false;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		found |= !strcmp(name, known[i]);
	if (!found)
		fprintf(stderr, "<%s>\n", name);
	MUST(found);
	scripts += !strcmp(name, "script");
	for (; *attributes; attributes += 2) {
		MUST(strncmp(attributes[0], "on", 2) != 0);
		MUST((strcmp(attributes[0], "href") != 0 && strcmp(attributes[0], "src") != 0) ||
		     attributes[1][0] == '#');
	}
}

static void check_svg(const struct fuzz_stream *stream)
{
	scripts = 0;
	fuzz_xml(stream->data, stream->size, look_at);
	MUST(scripts == 1);
}

/* The page is XML between its head and its script, but for elements that have no end. */
static void check_html(struct fuzz_stream *stream)
{
	char *body = strstr(stream->data, "<body>"), *script = strstr(stream->data, "<script>"),
	     *at;
	char *title = strstr(stream->data, "<title>");

	fuzz_is_text(stream->data, stream->size, "\n\t");
	MUST(body && script && title && title < body && body < script);
	MUST(!strchr(title + 7, '<') || !strncmp(strchr(title + 7, '<'), "</title>", 8));
	MUST(!strstr(script + 1, "<script"));
	at = strstr(script, "</script>");
	MUST(at && !strcmp(at, "</script>\n</body>\n</html>\n"));
	memcpy(script, "</body>\n", 8);
	scripts = 0;
	fuzz_xml(body, (size_t)(script + 8 - body), look_at);
	MUST(!scripts);
}

void fuzz_check_pictures(const struct gpumon_view *view, unsigned int which)
{
	unsigned int weight = which % (GPUMON_WEIGHT_CPU_NS + 2);
	struct fuzz_stream stream;

	fuzz_stream_begin(&stream);
	if (weight <= GPUMON_WEIGHT_CPU_NS)
		MUST(!gpumon_output_flamegraph_view(stream.stream, view, weight, which & 128));
	else
		MUST(!gpumon_output_report(stream.stream, view));
	fuzz_stream_end(&stream);
	if (weight <= GPUMON_WEIGHT_CPU_NS)
		check_svg(&stream);
	else
		check_html(&stream);
	fuzz_stream_free(&stream);
}

void fuzz_check_texts(const struct gpumon_view *view, unsigned int columns)
{
	const struct gpumon_term term = { .columns = columns };
	const struct gpumon_summary_options options = { .rows = columns % 7 };
	struct fuzz_stream stream;

	fuzz_stream_begin(&stream);
	MUST(!gpumon_output_summary(stream.stream, &term, view, &options));
	fuzz_stream_end(&stream);
	fuzz_is_text(stream.data, stream.size, "\n");
	fuzz_stream_free(&stream);
}

void fuzz_check_diff(const struct gpumon_view *before, const struct gpumon_view *after)
{
	const struct gpumon_summary_options options = { .rows = 5 };
	const struct gpumon_term term = { .columns = 80 };
	struct gpumon_diff *diff = gpumon_diff_new(before, after);
	struct fuzz_stream stream;

	MUST(diff);
	fuzz_stream_begin(&stream);
	MUST(!gpumon_diff_print(stream.stream, &term, diff, &options));
	fuzz_stream_end(&stream);
	fuzz_is_text(stream.data, stream.size, "\n");
	fuzz_stream_free(&stream);

	fuzz_stream_begin(&stream);
	MUST(!gpumon_diff_json(stream.stream, diff));
	fuzz_stream_end(&stream);
	json_object_put(fuzz_json(stream.data, stream.size));
	fuzz_stream_free(&stream);

	fuzz_stream_begin(&stream);
	MUST(!gpumon_diff_flamegraph(stream.stream, diff));
	fuzz_stream_end(&stream);
	check_svg(&stream);
	fuzz_stream_free(&stream);
	gpumon_diff_free(diff);
}

/* --- timelines */

#define TRACKS_MAX 4096

void fuzz_check_chrome(const char *const *paths, unsigned int count)
{
	struct json_object *document, *events;
	struct fuzz_stream stream;

	fuzz_stream_begin(&stream);
	MUST(!gpumon_output_chrome(stream.stream, paths, count));
	fuzz_stream_end(&stream);
	document = fuzz_json(stream.data, stream.size);
	events = get(document, "traceEvents");
	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *event = json_object_array_get_idx(events, i), *time;

		MUST(json_object_is_type(get(event, "ph"), json_type_string));
		get(event, "pid");
		/* In microseconds; what would be before its begin would be a number beyond these. */
		if (json_object_object_get_ex(event, "dur", &time))
			MUST(json_object_get_double(time) < 0x1p64 / 1000);
	}
	json_object_put(document);
	fuzz_stream_free(&stream);
}

/* Names, tracks and numbers that a packet uses were told before. */
struct perfetto {
	bool tracks[TRACKS_MAX];
	uint32_t open[TRACKS_MAX]; /* slices */
	uint8_t *names;
	size_t n_names;
};

static void read_descriptor(struct perfetto *perfetto, const struct fuzz_field *packet)
{
	const uint8_t *at = packet->data, *end = at + packet->size, *in;
	struct fuzz_field field, inner;

	while (fuzz_protobuf_next(&at, end, &field)) {
		if (field.number == 1) {
			MUST(field.value && !perfetto->tracks[field.value % TRACKS_MAX]);
			perfetto->tracks[field.value % TRACKS_MAX] = true;
		} else if (field.number == 5) {
			MUST(perfetto->tracks[field.value % TRACKS_MAX]);
		} else if (field.number == 2) {
			fuzz_is_text((const char *)field.data, field.size, "");
		} else {
			MUST(field.number == 3 || field.number == 4);
			for (in = field.data;
			     fuzz_protobuf_next(&in, field.data + field.size, &inner);)
				if (inner.data)
					fuzz_is_text((const char *)inner.data, inner.size, "");
		}
	}
}

static void read_interned(struct perfetto *perfetto, const struct fuzz_field *data)
{
	const uint8_t *at = data->data, *end = at + data->size, *in;
	struct fuzz_field entry, inner;

	while (fuzz_protobuf_next(&at, end, &entry)) {
		uint64_t number = 0;

		for (in = entry.data; fuzz_protobuf_next(&in, entry.data + entry.size, &inner);) {
			if (inner.number == 1)
				number = inner.value;
			else
				fuzz_is_text((const char *)inner.data, inner.size, "");
		}
		MUST(number && number < perfetto->n_names * 8);
		if (entry.number == 2)
			perfetto->names[number / 8] |= (uint8_t)(1 << number % 8);
	}
}

static void read_track_event(struct perfetto *perfetto, const struct fuzz_field *event)
{
	const uint8_t *at = event->data, *end = at + event->size, *in;
	uint64_t type = 0, track = 0, name = 0;
	struct fuzz_field field, inner;

	while (fuzz_protobuf_next(&at, end, &field)) {
		if (field.number == 9)
			type = field.value;
		else if (field.number == 11)
			track = field.value;
		else if (field.number == 10)
			name = field.value;
		else if (field.number == 4)
			for (in = field.data;
			     fuzz_protobuf_next(&in, field.data + field.size, &inner);)
				if (inner.data)
					fuzz_is_text((const char *)inner.data, inner.size, "");
	}
	MUST(type >= 1 && type <= 3 && track && perfetto->tracks[track % TRACKS_MAX]);
	if (type == 2) {
		/* An end has a begin: else what is around it would be ended. */
		MUST(perfetto->open[track % TRACKS_MAX]);
		perfetto->open[track % TRACKS_MAX]--;
		return;
	}
	MUST(name && name < perfetto->n_names * 8 && perfetto->names[name / 8] & 1 << name % 8);
	perfetto->open[track % TRACKS_MAX] += type == 1;
}

void fuzz_check_perfetto(const char *const *paths, unsigned int count)
{
	struct perfetto *perfetto = calloc(1, sizeof(*perfetto));
	const uint8_t *at, *end, *in;
	struct fuzz_field packet, field;
	struct fuzz_stream stream;

	MUST(perfetto);
	fuzz_stream_begin(&stream);
	MUST(!gpumon_output_perfetto(stream.stream, paths, count));
	fuzz_stream_end(&stream);
	perfetto->n_names = stream.size / 8 + 16;
	perfetto->names = calloc(perfetto->n_names, 1);
	MUST(perfetto->names);
	at = (const uint8_t *)stream.data;
	end = at + stream.size;
	while (fuzz_protobuf_next(&at, end, &packet)) {
		MUST(packet.number == 1 && packet.data);
		for (in = packet.data;
		     fuzz_protobuf_next(&in, packet.data + packet.size, &field);) {
			if (field.number == 60)
				read_descriptor(perfetto, &field);
			else if (field.number == 12)
				read_interned(perfetto, &field);
			else if (field.number == 11)
				read_track_event(perfetto, &field);
		}
	}
	free(perfetto->names);
	free(perfetto);
	fuzz_stream_free(&stream);
}
