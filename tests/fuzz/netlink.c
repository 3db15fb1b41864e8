// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Any bytes as answers of the kernel. The first byte selects their form: raw messages, orders to
 * build messages with correct lengths, or NLMSG_ERROR and NLMSG_DONE. The resulting model is
 * printed, subtracted, written as JSON, and read again: names and numbers must agree.
 */
#include <errno.h>
#include <json.h>
#include <linux/genetlink.h>
#include <string.h>

#include "fuzz.h"
#include "driver/json_model.h"
#include "driver/parse.h"
#include "driver/stat_print.h"
#include "lib/utf8.h"

#define MESSAGE_MAX 4096
#define NESTS	    8

enum kind {
	KIND_RAW,
	KIND_BUILT,
	KIND_EXTACK,
	KINDS
};

static void parse(const struct nlmsghdr *message, size_t size, struct gpumon_model *model,
		  uint8_t command)
{
	struct gpumon_model before = *model;
	struct gpumon_limits limits;
	struct gpumon_period period = { 0 };
	int ret;

	switch (command % GPUMON_CMD_MAX + 1) {
	case GPUMON_CMD_INFO_GET:
		ret = gpumon_parse_info(message, size, &model->info);
		break;
	case GPUMON_CMD_GROUP_GET:
		ret = gpumon_parse_group(message, size, model);
		MUST(model->n_groups == before.n_groups + !ret);
		break;
	case GPUMON_CMD_PROCESS_GET:
		ret = gpumon_parse_process(message, size, model);
		MUST(model->n_processes == before.n_processes + !ret);
		break;
	case GPUMON_CMD_STATISTIC_GET:
		ret = gpumon_parse_statistic(message, size, model);
		break;
	case GPUMON_CMD_LAYOUT_GET:
		ret = gpumon_parse_layout(message, size, model);
		MUST(model->n_layouts == before.n_layouts + !ret);
		break;
	case GPUMON_CMD_ALERT_GET:
		ret = gpumon_parse_alert(message, size, GPUMON_CMD_ALERT_GET, model);
		break;
	case GPUMON_CMD_ALERT_NTF:
		ret = gpumon_parse_alert(message, size, GPUMON_CMD_ALERT_NTF, model);
		break;
	case GPUMON_CMD_EVENT_RING_GET:
		ret = gpumon_parse_event_ring(message, size, &model->event_ring);
		break;
	case GPUMON_CMD_LIMIT_GET:
		ret = gpumon_parse_limits(message, size, &limits);
		break;
	default:
		ret = gpumon_parse_period(message, size, &period);
	}
	MUST(ret == 0 || ret == -EBADMSG);
}

/* One after the other, as in a socket's buffer. */
static void parse_raw(struct fuzz_input *input, struct gpumon_model *model)
{
	while (input->size >= sizeof(struct nlmsghdr)) {
		struct nlmsghdr head;
		struct genlmsghdr genl = { 0 };
		size_t size;
		uint8_t *message;

		memcpy(&head, input->data, sizeof(head));
		if (input->size >= sizeof(head) + sizeof(genl))
			memcpy(&genl, input->data + sizeof(head), sizeof(genl));
		message = fuzz_bytes(input, head.nlmsg_len > 16 ? head.nlmsg_len : 16, &size);
		parse((const void *)message, size, model, genl.cmd - 1);
		free(message);
	}
}

static void add(uint8_t *message, size_t *size, int type, const void *data, size_t length)
{
	struct nlattr attr = { .nla_len = (uint16_t)(NLA_HDRLEN + length),
			       .nla_type = (uint16_t)type };

	if (*size + NLA_HDRLEN + NLA_ALIGN(length) > MESSAGE_MAX)
		return;
	memcpy(message + *size, &attr, sizeof(attr));
	if (length)
		memcpy(message + *size + NLA_HDRLEN, data, length);
	*size += NLA_HDRLEN + NLA_ALIGN(length);
}

/* An order is a byte for the action, a byte for the attribute, and its contents. */
static void parse_built(struct fuzz_input *input, struct gpumon_model *model)
{
	while (input->size) {
		uint8_t bytes[MESSAGE_MAX] = { 0 }, command = fuzz_u8(input), order, *exact;
		size_t size = NLMSG_HDRLEN + GENL_HDRLEN, nests[NESTS], depth = 0;
		struct nlmsghdr head = { 0 };
		struct genlmsghdr genl = { .cmd = command % GPUMON_CMD_MAX + 1 };

		while (input->size && (order = fuzz_u8(input)) != 0xff) {
			int type = fuzz_u8(input) % 32;
			uint64_t number;
			char *text;

			switch (order % 8) {
			case 0:
				number = fuzz_u32(input);
				add(bytes, &size, type, &number, sizeof(uint32_t));
				break;
			case 1:
				number = fuzz_u64(input);
				add(bytes, &size, type, &number, sizeof(number));
				break;
			case 2:
				number = fuzz_u8(input);
				add(bytes, &size, type, &number, sizeof(number));
				break;
			case 3:
			case 4:
				text = fuzz_text(input);
				add(bytes, &size, type, text, strlen(text) + 1);
				free(text);
				break;
			case 5:
				add(bytes, &size, type, NULL, 0);
				break;
			case 6:
				if (depth == NESTS || size + NLA_HDRLEN > MESSAGE_MAX)
					break;
				nests[depth++] = size;
				add(bytes, &size, type | NLA_F_NESTED, NULL, 0);
				break;
			default:
				if (!depth)
					break;
				depth--;
				number = size - nests[depth];
				memcpy(bytes + nests[depth], &number, sizeof(uint16_t));
			}
		}
		for (; depth; depth--) {
			uint16_t length = (uint16_t)(size - nests[depth - 1]);

			memcpy(bytes + nests[depth - 1], &length, sizeof(length));
		}
		head.nlmsg_len = (uint32_t)size;
		memcpy(bytes, &head, sizeof(head));
		memcpy(bytes + NLMSG_HDRLEN, &genl, sizeof(genl));
		exact = malloc(size);
		MUST(exact);
		memcpy(exact, bytes, size);
		parse((const void *)exact, size, model, command);
		free(exact);
	}
}

static void parse_extack(struct fuzz_input *input)
{
	size_t room = 1 + fuzz_u8(input) % 64, size;
	uint8_t *message = fuzz_bytes(input, MESSAGE_MAX, &size);
	char *text = malloc(room);
	int error = 0, ret;

	MUST(text);
	ret = gpumon_parse_extack((const void *)message, size, &error, text, room);
	MUST(ret == 0 || ret == -EBADMSG);
	MUST(strnlen(text, room) < room);
	free(text);
	free(message);
}

static struct json_object *get(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	MUST(json_object_object_get_ex(object, key, &value));
	return value;
}

static void same_number(struct json_object *object, const char *key, struct gpumon_value value)
{
	struct json_object *number = get(object, key);

	MUST(value.known == (number != NULL));
	MUST(!value.known || (json_object_is_type(number, json_type_int) &&
			      json_object_get_uint64(number) == value.v));
}

static void same_text(struct json_object *object, const char *key, const char *text)
{
	struct json_object *value = get(object, key);

	MUST(text ? fuzz_same_json(text, value) : !value);
}

static void check_buckets(struct json_object *object, const struct gpumon_histogram *histogram)
{
	struct json_object *buckets = get(object, "buckets");

	MUST(json_object_array_length(buckets) == histogram->n_buckets);
	for (size_t i = 0; i < histogram->n_buckets; i++) {
		struct json_object *bucket = json_object_array_get_idx(buckets, i);

		same_number(bucket, "ge", gpumon_value_of(histogram->buckets[i].ge));
		same_number(bucket, "lt", gpumon_value_of(histogram->buckets[i].lt));
		same_number(bucket, "count", gpumon_value_of(histogram->buckets[i].count));
	}
	for (unsigned int permille = 0; permille <= 1000; permille += 250) {
		struct gpumon_value value = gpumon_histogram_percentile(histogram, permille);

		MUST(!value.known || !histogram->max.known || value.v <= histogram->max.v);
	}
}

static void check_rings(struct json_object *document, const struct gpumon_model *model)
{
	struct json_object *rings = get(get(document, "drm_sched"), "rings");

	MUST(json_object_array_length(rings) == model->n_rings);
	for (size_t i = 0; i < model->n_rings; i++) {
		const struct gpumon_ring *ring = &model->rings[i];
		struct json_object *object = json_object_array_get_idx(rings, i);
		const struct gpumon_histogram *histogram = gpumon_model_histogram(
			model, ring->id.known ? ring->id.v : UINT64_MAX, "run_ns");

		same_text(object, "device", ring->device);
		same_text(object, "ring", ring->name);
		same_number(object, "id", ring->id);
		same_number(object, "queued", ring->queued);
		same_number(object, "clock_backwards", ring->clock_backwards);
		same_number(get(object, "hw_depth"), "max", ring->hw_depth_max);
		if (histogram)
			check_buckets(get(object, "run_ns"), histogram);
	}
}

static bool is_utf8(const char *text)
{
	while (*text && gpumon_utf8(text))
		text += gpumon_utf8(text);
	return !*text;
}

/* Only for unique names, so that no later one has replaced it. */
static void check_tables(struct json_object *document, const struct gpumon_model *model)
{
	for (size_t i = 0; i < model->n_statistics; i++) {
		const struct gpumon_statistics *table = &model->statistics[i];
		static const char *const own[] = { "gpumon",	"groups",  "drm_sched",
						   "processes", "layouts", "event_ring",
						   "alerts",	"cgroups", "devices" };
		bool taken = strcmp(table->group, "") == 0;
		struct json_object *group, *rows;

		for (size_t k = 0; k < sizeof(own) / sizeof(own[0]); k++)
			taken |= !strcmp(table->group, own[k]);
		if (taken || !json_object_object_get_ex(document, table->group, &group))
			continue;
		/* Invalid UTF-8 has another name there. */
		if (!json_object_object_get_ex(group, table->table, &rows)) {
			MUST(!is_utf8(table->table));
			continue;
		}
		MUST(json_object_array_length(rows) == table->n_rows);
		for (size_t k = 0; k < table->n_rows; k++) {
			const struct gpumon_row *row = &table->rows[k];
			struct json_object *object = json_object_array_get_idx(rows, k);

			for (size_t c = 0; c < row->n_columns; c++) {
				const struct gpumon_column *column = &row->columns[c];

				if (column->kind.v != GPUMON_COLUMN_KIND_COUNTER ||
				    !strcmp(column->name, "row") || !is_utf8(column->name) ||
				    gpumon_row_column(row, column->name) != column)
					continue;
				same_number(object, column->name, column->value);
			}
		}
	}
}

static void check_json(const struct gpumon_model *model)
{
	struct fuzz_stream stream;
	struct json_object *document, *array;

	fuzz_stream_begin(&stream);
	MUST(!gpumon_json_print(gpumon_json_model(model, NULL), true, stream.stream));
	fuzz_stream_end(&stream);
	/* One line for each document, whatever its contents. */
	MUST(strchr(stream.data, '\n') == stream.data + stream.size - 1);
	document = fuzz_json(stream.data, stream.size);
	check_rings(document, model);
	array = get(document, "processes");
	MUST(json_object_array_length(array) == model->n_processes);
	for (size_t i = 0; i < model->n_processes; i++) {
		struct json_object *object = json_object_array_get_idx(array, i);

		same_text(object, "comm", model->processes[i].comm);
		same_number(object, "pid", model->processes[i].pid);
		same_number(object, "jobs", model->processes[i].jobs);
	}
	array = get(document, "alerts");
	if (json_object_is_type(array, json_type_array)) {
		MUST(json_object_array_length(array) == model->n_alerts);
		for (size_t i = 0; i < model->n_alerts; i++)
			same_text(json_object_array_get_idx(array, i), "message",
				  model->alerts[i].message);
	}
	check_tables(document, model);
	json_object_put(document);
	fuzz_stream_free(&stream);
}

static void print(const struct gpumon_model *model)
{
	const struct gpumon_term terms[] = { { 0 }, { .tty = true, .columns = 40 } };
	struct fuzz_stream stream;

	for (size_t i = 0; i < 2; i++) {
		fuzz_stream_begin(&stream);
		MUST(!gpumon_stat_print(model, i ? "drm_sched" : NULL,
					i ? GPUMON_STAT_BY_CGROUP : GPUMON_STAT_BY_PROCESS,
					&terms[i], stream.stream));
		fuzz_stream_end(&stream);
		/* No name can send commands to a terminal. */
		fuzz_is_text(stream.data, stream.size, "\n");
		fuzz_stream_free(&stream);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	struct gpumon_model model = { .parts = GPUMON_PART_ALL }, diff = { 0 };

	switch (fuzz_u8(&input) % KINDS) {
	case KIND_RAW:
		parse_raw(&input, &model);
		break;
	case KIND_BUILT:
		parse_built(&input, &model);
		break;
	default:
		parse_extack(&input);
		return 0;
	}
	gpumon_parse_rings(&model);
	check_json(&model);
	print(&model);
	gpumon_model_diff(&diff, &model, &model);
	check_json(&diff);
	print(&diff);
	gpumon_model_free(&diff);
	gpumon_model_free(&model);
	return 0;
}
