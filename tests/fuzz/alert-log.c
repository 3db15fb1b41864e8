// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Any bytes as the kernel's log: each record alone is an alert or none, an alert has all that its line
 * and its JSON need and is of the kernel, and the log as a whole counts each of them once.
 */
#include <errno.h>
#include <json.h>
#include <string.h>

#include "driver/alert_log.h"
#include "driver/alert_message.h"
#include "driver/json_model.h"
#include "driver/model_fields.h"
#include "fuzz.h"
#include "lib/json.h"

/* More kinds than that are not counted together. */
#define ALERTS_MAX 200

static void check(const struct gpumon_alert *alert)
{
	struct fuzz_stream stream;
	struct json_object *object, *field;

	MUST(alert->group && alert->kind && alert->message);
	MUST(!alert->pid.known == !alert->process);
	MUST(!alert->process || (*alert->process && alert->pid.v));
	fuzz_stream_begin(&stream);
	MUST(!gpumon_json_print(gpumon_json_alert(alert), true, stream.stream));
	fuzz_stream_end(&stream);
	object = fuzz_json(stream.data, stream.size);
	MUST(json_object_object_get_ex(object, "message", &field));
	MUST(fuzz_same_json(alert->message, field));
	json_object_put(object);
	fuzz_stream_free(&stream);
}

/* 1 if it is an alert. */
static unsigned int take(const uint8_t *data, size_t size, bool *parsed)
{
	char *text = malloc(size + 1);
	struct gpumon_log_record record;
	struct gpumon_alert alert = { 0 };
	int ret;
	bool found;

	MUST(text);
	memcpy(text, data, size);
	ret = gpumon_log_record_parse(text, size, &record);
	MUST(!ret || ret == -EBADMSG);
	*parsed = !ret;
	found = !ret && gpumon_log_alert(&record, &alert);
	if (found) {
		MUST(!record.facility);
		check(&alert);
		if (gpumon_log_alert_waits(&alert))
			(void)gpumon_log_alert_process(&record, &alert);
		check(&alert);
	}
	gpumon_fields_free(&gpumon_alert_fields, &alert);
	free(text);
	return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool made;
	struct gpumon_model model = { 0 };
	struct gpumon_alert_log *log;
	struct gpumon_error err;
	uint64_t found = 0, counted = 0, bad = 0;
	size_t from = 0;
	bool parsed;

	for (size_t at = 1; at <= size; at++) {
		if (at < size && (data[at - 1] != '\n' || data[at] == ' '))
			continue;
		found += take(data + from, at - from - (data[at - 1] == '\n'), &parsed);
		bad += !parsed;
		from = at;
	}
	if (found > ALERTS_MAX)
		return 0;
	if (!made)
		fuzz_folder_make("dev");
	made = true;
	fuzz_write(fuzz_path("dev/kmsg"), data, size);
	MUST(!gpumon_alert_log_open(&log, fuzz_folder(), 0, &err));
	MUST(!gpumon_alert_log_last(log, &model, &err));
	for (size_t i = 0; i < model.n_alerts; i++) {
		check(&model.alerts[i]);
		counted += model.alerts[i].count.v;
	}
	MUST(counted == found);
	MUST(gpumon_alert_log_losses(log).unreadable == bad);
	gpumon_alert_log_close(log);
	gpumon_model_free(&model);
	return 0;
}
