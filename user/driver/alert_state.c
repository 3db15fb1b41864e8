// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alert_message.h"
#include "alert_state.h"
#include "json_model.h"
#include "lib/files.h"
#include "lib/json.h"
#include "lib/output_file.h"
#include "model_fields.h"

/* More than all alerts that are followed and that wait, with the longest messages. */
#define FILE_BYTES_MAX (8U << 20)

static bool counts_by_itself(const struct gpumon_alert *alert)
{
	return !alert->source || !strcmp(alert->source, GPUMON_ALERT_SOURCE_RAS);
}

static void read_boot_id(char *boot_id, size_t room, const char *root)
{
	*boot_id = '\0';
	if (gpumon_read_short(root, "/proc/sys/kernel/random/boot_id", boot_id, room))
		boot_id[strcspn(boot_id, "\n")] = '\0';
}

static int read_alerts(struct json_object *document, const char *key, struct gpumon_model *model)
{
	struct json_object *array;

	if (!json_object_object_get_ex(document, key, &array) ||
	    !json_object_is_type(array, json_type_array))
		return -1;
	for (size_t i = 0; i < json_object_array_length(array); i++)
		if (gpumon_json_read_alert(json_object_array_get_idx(array, i),
					   gpumon_model_add_alert(model)))
			return -1;
	return 0;
}

static int read_number(struct json_object *document, const char *key, uint64_t *value)
{
	struct json_object *number;

	if (!json_object_object_get_ex(document, key, &number) ||
	    !json_object_is_type(number, json_type_int))
		return -1;
	*value = json_object_get_uint64(number);
	return 0;
}

static int parse_state(struct gpumon_alert_state *state, const char *text)
{
	struct json_object *document = json_tokener_parse(text), *boot;
	int ret = -1;

	if (json_object_object_get_ex(document, "boot_id", &boot) &&
	    json_object_is_type(boot, json_type_string) &&
	    !read_number(document, "log_next", &state->log_next) &&
	    !read_number(document, "lost", &state->lost) &&
	    !read_alerts(document, "told", &state->told) &&
	    !read_alerts(document, "waiting", &state->waiting))
		ret = strcmp(json_object_get_string(boot), state->boot_id) || !*state->boot_id;
	json_object_put(document);
	return ret;
}

int gpumon_alert_state_load(struct gpumon_alert_state *state, const char *path, const char *root,
			    struct gpumon_error *err)
{
	char *text;
	int of_boot;

	memset(state, 0, sizeof(*state));
	read_boot_id(state->boot_id, sizeof(state->boot_id), root);
	text = gpumon_read_file(AT_FDCWD, path, FILE_BYTES_MAX);
	if (!text && errno == ENOENT)
		return 0;
	if (!text)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO, "%s: %s",
					path, strerror(errno));
	of_boot = parse_state(state, text);
	free(text);
	if (of_boot < 0)
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -EINVAL, GPUMON_ERROR_IO,
			"%s is no file of \"alerts --resume\": name another one, or remove it",
			path);
	if (of_boot > 0) {
		gpumon_model_free(&state->told);
		state->log_next = 0;
		state->lost = 0;
	}
	return 0;
}

void gpumon_alert_state_free(struct gpumon_alert_state *state)
{
	gpumon_model_free(&state->told);
	gpumon_model_free(&state->waiting);
}

static struct json_object *alerts_json(const struct gpumon_model *model, bool all)
{
	struct json_object *array = gpumon_json_array();

	for (size_t i = 0; i < model->n_alerts; i++)
		if (all || counts_by_itself(&model->alerts[i]))
			gpumon_json_append(array, gpumon_json_alert(&model->alerts[i]));
	return array;
}

int gpumon_alert_state_save(const char *path, const struct gpumon_alert_state *state,
			    struct gpumon_error *err)
{
	struct gpumon_output_file file;
	struct json_object *document;
	bool good;

	if (gpumon_output_file_open(&file, path, true, GPUMON_OUTPUT_TEXT, NULL, err))
		return -1;
	document = gpumon_json_object();
	gpumon_json_add_string(document, "boot_id", state->boot_id);
	gpumon_json_add_u64(document, "log_next", state->log_next);
	gpumon_json_add_u64(document, "lost", state->lost);
	gpumon_json_add(document, "told", alerts_json(&state->told, false));
	gpumon_json_add(document, "waiting", alerts_json(&state->waiting, true));
	/* An error of the GPU often takes the machine with it. */
	good = !gpumon_json_print(document, true, file.stream) && !fdatasync(fileno(file.stream));
	if (!good)
		gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO, "%s: %s", path,
				 strerror(errno));
	return gpumon_output_file_close(&file, good, err) || !good ? -1 : 0;
}
