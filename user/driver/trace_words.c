// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "trace_words.h"

#include <inttypes.h>
#include <string.h>

#include "lib/format.h"
#include "json_model.h"

#define WORDS 4

/* The name of a table, and those of the words, each behind the NUL of the one before. */
static const char *const texts[__GPUMON_EVENT_TYPE_MAX] = {
#define EVENT_WORDS(enumerator, table, context, seqno, arg, arg2) \
	[enumerator] = table "\0" context "\0" seqno "\0" arg "\0" arg2,
	GPUMON_EVENT_WORDS(EVENT_WORDS)
#undef EVENT_WORDS
};

static const char *const groups[__GPUMON_EVENT_TYPE_MAX] = {
#define EVENT_GROUP(number, enumerator, name, group) [number] = (group),
	GPUMON_EVENTS(EVENT_GROUP)
#undef EVENT_GROUP
};

bool gpumon_trace_has_words(unsigned int event)
{
	return event < __GPUMON_EVENT_TYPE_MAX && texts[event];
}

const char *gpumon_trace_event_group(unsigned int event)
{
	return event < __GPUMON_EVENT_TYPE_MAX ? groups[event] : NULL;
}

const char *gpumon_trace_event_table(unsigned int event)
{
	return event < __GPUMON_EVENT_TYPE_MAX ? texts[event] : NULL;
}

static const char *name_of(const struct gpumon_event *event, int i)
{
	const char *name = texts[event->event];

	for (; i >= 0; i--)
		name += strlen(name) + 1;
	return name;
}

static uint64_t word_of(const struct gpumon_event *event, int i)
{
	const uint64_t all[WORDS] = { event->context, event->seqno, event->arg, event->arg2 };

	return all[i];
}

/* The length of the name without @ending, or 0 if it has a different ending. */
static size_t length_without(const char *name, const char *ending)
{
	size_t length = strlen(name), end = strlen(ending);

	return length > end && !strcmp(name + length - end, ending) ? length - end : 0;
}

/* Results of these are never -EPERM: all bits set mean that the compiler has changed the function. */
static bool is_transition(unsigned int event)
{
	return event == GPUMON_EVENT_SUSPEND || event == GPUMON_EVENT_RESUME;
}

/*
 * A word with all bits set means unknown: a size that could not be read, or a time without a
 * beginning. The result of most functions is always known and may be -EPERM. So is a requested
 * amount, where all bits set means everything.
 */
static struct gpumon_value value_of(const struct gpumon_event *event, int i)
{
	const char *name = name_of(event, i);
	uint64_t word = word_of(event, i);
	bool known = word != UINT64_MAX || !strcmp(name, "target_pages") ||
		     (!strcmp(name, "result") && !is_transition(event->event));

	return (struct gpumon_value){ .v = word, .known = known };
}

static void print_word(FILE *out, const struct gpumon_event *event, int i)
{
	const char *name = name_of(event, i);
	struct gpumon_value value = value_of(event, i);
	char text[GPUMON_FORMAT_LEN];
	size_t time = length_without(name, "_ns"), bytes = length_without(name, "_bytes");
	size_t hex = length_without(name, "_hex"), length = time + bytes + hex;

	if (time) {
		gpumon_format_ns(text, sizeof(text), value);
	} else if (bytes) {
		gpumon_format_bytes(text, sizeof(text), value);
	} else {
		if (!value.known)
			snprintf(text, sizeof(text), "-");
		else if (hex)
			snprintf(text, sizeof(text), "0x%" PRIx64, value.v);
		else if (value.v == UINT64_MAX && !strcmp(name, "target_pages"))
			snprintf(text, sizeof(text), "all");
		else
			snprintf(text, sizeof(text), "%" PRId64, (int64_t)value.v);
	}
	if (!length)
		length = strlen(name);
	fprintf(out, "%.*s %s", (int)length, name, text);
}

void gpumon_trace_print_words(FILE *out, const struct gpumon_event *event)
{
	const char *blank = "";

	for (int i = 0; i < WORDS; i++) {
		if (!*name_of(event, i))
			continue;
		fputs(blank, out);
		print_word(out, event, i);
		blank = "  ";
	}
}

void gpumon_trace_json_words(struct json_object *object, const struct gpumon_event *event)
{
	for (int i = 0; i < WORDS; i++) {
		const char *name = name_of(event, i);
		struct gpumon_value value = value_of(event, i);
		size_t length = length_without(name, "_hex");
		char key[48];

		if (!*name)
			continue;
		snprintf(key, sizeof(key), "%.*s", (int)(length ? length : strlen(name)), name);
		if (!strcmp(name, "result") && value.known)
			gpumon_json_add_i64(object, key, (int64_t)value.v);
		else
			gpumon_json_add_value(object, key, value);
	}
}
