// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Collects the lines of the report and prints them. */
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/array.h"
#include "lib/files.h"
#include "doctor.h"
#include "lib/version.h"

static const char *const level_names[] = {
	[GPUMON_DOCTOR_OK] = "ok",
	[GPUMON_DOCTOR_WARN] = "warn",
	[GPUMON_DOCTOR_FAIL] = "fail",
};

static const struct {
	const char *name, *heading;
} parts[GPUMON_DOCTOR_N_PARTS] = {
	[GPUMON_DOCTOR_RECORD] = { "record", "To record programs (record, correlate, probe):" },
	[GPUMON_DOCTOR_DRIVER] = { "driver",
				   "To see what drivers do (stat, top, trace, alerts), which recording does without:" },
};

void gpumon_doctor_add(struct gpumon_doctor *doctor, enum gpumon_doctor_level level,
		       const char *name, const char *advice, const char *format, ...)
{
	struct gpumon_doctor_check *check = GPUMON_GROW(doctor->checks, doctor->n_checks);
	va_list args;

	check->part = doctor->part;
	check->level = level;
	check->name = gpumon_strdup(name);
	check->advice = advice ? gpumon_strdup(advice) : NULL;
	va_start(args, format);
	if (vasprintf(&check->message, format, args) < 0)
		gpumon_memory_failed(0);
	va_end(args);
}

void gpumon_doctor_free(struct gpumon_doctor *doctor)
{
	for (size_t i = 0; i < doctor->n_checks; i++) {
		free(doctor->checks[i].name);
		free(doctor->checks[i].message);
		free(doctor->checks[i].advice);
	}
	free(doctor->checks);
	memset(doctor, 0, sizeof(*doctor));
}

static FILE *open_below(const struct gpumon_doctor *doctor, const char *path)
{
	char full[PATH_MAX];

	if ((size_t)snprintf(full, sizeof(full), "%s%s", doctor->root, path) >= sizeof(full))
		return NULL;
	return fopen(full, "re");
}

int gpumon_doctor_read(const struct gpumon_doctor *doctor, const char *path, char *text, size_t len)
{
	size_t got;

	text[0] = '\0';
	if (!gpumon_read_short(doctor->root, path, text, len))
		return -1;
	got = strlen(text);
	while (got && text[got - 1] == '\n')
		text[--got] = '\0';
	return 0;
}

bool gpumon_doctor_exists(const struct gpumon_doctor *doctor, const char *path)
{
	char full[PATH_MAX];

	return (size_t)snprintf(full, sizeof(full), "%s%s", doctor->root, path) < sizeof(full) &&
	       !access(full, F_OK);
}

int gpumon_doctor_contains(const struct gpumon_doctor *doctor, const char *path, const char *needle)
{
	FILE *file = open_below(doctor, path);
	size_t capacity = 0;
	char *line = NULL;
	int found = 0;

	if (!file)
		return -1;
	while (!found && getline(&line, &capacity, file) >= 0)
		found = strstr(line, needle) != NULL;
	free(line);
	fclose(file);
	return found;
}

bool gpumon_doctor_has(const struct gpumon_doctor *doctor, const char *name)
{
	for (size_t i = 0; i < doctor->n_checks; i++)
		if (!strcmp(doctor->checks[i].name, name))
			return true;
	return false;
}

size_t gpumon_doctor_count(const struct gpumon_doctor *doctor, enum gpumon_doctor_level level)
{
	size_t n = 0;

	for (size_t i = 0; i < doctor->n_checks; i++)
		n += doctor->checks[i].level == level;
	return n;
}

const char *gpumon_doctor_part_name(enum gpumon_doctor_part part)
{
	return parts[part].name;
}

static size_t count_of_part(const struct gpumon_doctor *doctor, enum gpumon_doctor_part part,
			    enum gpumon_doctor_level level)
{
	size_t n = 0;

	for (size_t i = 0; i < doctor->n_checks; i++)
		n += doctor->checks[i].part == part && doctor->checks[i].level == level;
	return n;
}

static bool has_part(const struct gpumon_doctor *doctor, enum gpumon_doctor_part part)
{
	for (size_t i = 0; i < doctor->n_checks; i++)
		if (doctor->checks[i].part == part)
			return true;
	return false;
}

enum gpumon_doctor_level gpumon_doctor_verdict(const struct gpumon_doctor *doctor,
					       enum gpumon_doctor_part part)
{
	return count_of_part(doctor, part, GPUMON_DOCTOR_FAIL) ? GPUMON_DOCTOR_FAIL :
	       count_of_part(doctor, part, GPUMON_DOCTOR_WARN) ? GPUMON_DOCTOR_WARN :
								 GPUMON_DOCTOR_OK;
}

static void print_level(enum gpumon_doctor_level level, const struct gpumon_term *term,
			FILE *stream)
{
	const char *const colours[] = {
		[GPUMON_DOCTOR_OK] = gpumon_term_green(term),
		[GPUMON_DOCTOR_WARN] = gpumon_term_yellow(term),
		[GPUMON_DOCTOR_FAIL] = gpumon_term_red(term),
	};

	fprintf(stream, "%s%-4s%s  ", colours[level], level_names[level], gpumon_term_reset(term));
}

/* "fail  driver: does not work: module, netlink": with the lines that have that level. */
static void print_verdict(const struct gpumon_doctor *doctor, enum gpumon_doctor_part part,
			  const struct gpumon_term *term, FILE *stream)
{
	static const char *const words[] = {
		[GPUMON_DOCTOR_OK] = "works",
		[GPUMON_DOCTOR_WARN] = "works, but not all of it",
		[GPUMON_DOCTOR_FAIL] = "does not work",
	};
	enum gpumon_doctor_level level = gpumon_doctor_verdict(doctor, part);
	const char *before = ": ";
	char name[128];

	print_level(level, term, stream);
	fprintf(stream, "%s: %s", parts[part].name, words[level]);
	for (size_t i = 0; i < doctor->n_checks && level != GPUMON_DOCTOR_OK; i++) {
		const struct gpumon_doctor_check *check = &doctor->checks[i];

		if (check->part != part || check->level != level)
			continue;
		fprintf(stream, "%s%s", before,
			gpumon_format_name(name, sizeof(name), check->name));
		before = ", ";
	}
	fputc('\n', stream);
}

void gpumon_doctor_print(const struct gpumon_doctor *doctor, const struct gpumon_term *term,
			 FILE *stream)
{
	char name[128], message[512];

	for (size_t i = 0; i < doctor->n_checks; i++) {
		const struct gpumon_doctor_check *check = &doctor->checks[i];

		if (!i || check->part != check[-1].part)
			fprintf(stream, "%s\n", parts[check->part].heading);
		print_level(check->level, term, stream);
		fprintf(stream, "%s: %s%s%s\n", gpumon_format_name(name, sizeof(name), check->name),
			gpumon_format_name(message, sizeof(message), check->message),
			check->advice ? "; " : "", check->advice ? check->advice : "");
	}
	fputs("Verdict:\n", stream);
	for (unsigned int part = 0; part < GPUMON_DOCTOR_N_PARTS; part++)
		if (has_part(doctor, part))
			print_verdict(doctor, part, term, stream);
}

/* {"record":{"level":"warn","ok":7,"warn":2,"fail":0},"driver":{…}} */
static struct json_object *verdicts_json(const struct gpumon_doctor *doctor)
{
	struct json_object *verdicts = gpumon_json_object();

	for (unsigned int part = 0; part < GPUMON_DOCTOR_N_PARTS; part++) {
		struct json_object *object;

		if (!has_part(doctor, part))
			continue;
		object = gpumon_json_object();
		gpumon_json_add_string(object, "level",
				       level_names[gpumon_doctor_verdict(doctor, part)]);
		for (unsigned int level = 0; level < 3; level++)
			gpumon_json_add_u64(object, level_names[level],
					    count_of_part(doctor, part, level));
		gpumon_json_add(verdicts, parts[part].name, object);
	}
	return verdicts;
}

struct json_object *gpumon_doctor_json(const struct gpumon_doctor *doctor)
{
	struct json_object *document = gpumon_json_object();
	struct json_object *program = gpumon_json_object();
	struct json_object *checks = gpumon_json_array();

	for (size_t i = 0; i < doctor->n_checks; i++) {
		const struct gpumon_doctor_check *check = &doctor->checks[i];
		struct json_object *object = gpumon_json_object();

		gpumon_json_add_string(object, "level", level_names[check->level]);
		gpumon_json_add_string(object, "check", check->name);
		gpumon_json_add_string(object, "message", check->message);
		gpumon_json_add_string(object, "advice", check->advice);
		gpumon_json_add_string(object, "part", parts[check->part].name);
		gpumon_json_append(checks, object);
	}
	gpumon_json_add_string(program, "version", GPUMON_VERSION);
	gpumon_json_add_u64(program, "schema", GPUMON_SCHEMA);
	gpumon_json_add(document, "gpumon", program);
	gpumon_json_add(document, "checks", checks);
	gpumon_json_add_u64(document, "ok", gpumon_doctor_count(doctor, GPUMON_DOCTOR_OK));
	gpumon_json_add_u64(document, "warn", gpumon_doctor_count(doctor, GPUMON_DOCTOR_WARN));
	gpumon_json_add_u64(document, "fail", gpumon_doctor_count(doctor, GPUMON_DOCTOR_FAIL));
	gpumon_json_add(document, "verdict", verdicts_json(doctor));
	return document;
}
