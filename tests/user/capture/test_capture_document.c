// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Checks Documentation/reference/capture-format.md against format.h and a capture: its tables of
 * fields, causes and types must match the structs, and its Python reader must work.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_maker.h"
#include "common.h"
#include "report/view.h"

#define DOCUMENT "../../Documentation/reference/capture-format.md"

struct field {
	const char *record; /* NULL: that of the previous field */
	size_t at;
	size_t size;
	const char *name;
};

#define STRUCT(type, heading)                         \
	{                                             \
		heading, 0, sizeof(struct type), NULL \
	}
#define FIELD(type, field)                                                                    \
	{                                                                                     \
		NULL, offsetof(struct type, field), sizeof(((struct type *)0)->field), #field \
	}
#define LIST(type, field)                                     \
	{                                                     \
		NULL, offsetof(struct type, field), 0, #field \
	}

/* All fields of all structs. An array without a length is a LIST. */
static const struct field fields[] = {
	STRUCT(gpumon_chunk, "## Chunks"),
	FIELD(gpumon_chunk, magic),
	FIELD(gpumon_chunk, version),
	FIELD(gpumon_chunk, size),
	FIELD(gpumon_chunk, crc),
	FIELD(gpumon_chunk, tid),
	FIELD(gpumon_chunk, unpacked),
	FIELD(gpumon_chunk, sequence),
	STRUCT(gpumon_record, "## Records"),
	FIELD(gpumon_record, type),
	FIELD(gpumon_record, flags),
	FIELD(gpumon_record, size),
	STRUCT(gpumon_record_process, "### process ("),
	FIELD(gpumon_record_process, pid),
	FIELD(gpumon_record_process, parent),
	FIELD(gpumon_record_process, host_pid),
	FIELD(gpumon_record_process, rank),
	FIELD(gpumon_record_process, start_ns),
	FIELD(gpumon_record_process, pid_namespace),
	FIELD(gpumon_record_process, boot_id),
	FIELD(gpumon_record_process, host),
	FIELD(gpumon_record_process, executable),
	FIELD(gpumon_record_process, command),
	FIELD(gpumon_record_process, cgroup),
	FIELD(gpumon_record_process, cupti_version),
	FIELD(gpumon_record_process, driver_version),
	FIELD(gpumon_record_process, runtime_version),
	FIELD(gpumon_record_process, reserved),
	STRUCT(gpumon_record_thread, "### thread ("),
	FIELD(gpumon_record_thread, tid),
	FIELD(gpumon_record_thread, name),
	FIELD(gpumon_record_thread, host_tid),
	FIELD(gpumon_record_thread, reserved),
	STRUCT(gpumon_record_mapping, "### mapping ("),
	FIELD(gpumon_record_mapping, time_ns),
	FIELD(gpumon_record_mapping, start),
	FIELD(gpumon_record_mapping, end),
	FIELD(gpumon_record_mapping, offset),
	FIELD(gpumon_record_mapping, inode),
	FIELD(gpumon_record_mapping, device),
	FIELD(gpumon_record_mapping, path),
	FIELD(gpumon_record_mapping, build_id),
	FIELD(gpumon_record_mapping, build_id_size),
	FIELD(gpumon_record_mapping, reserved),
	STRUCT(gpumon_record_unmapping, "### unmapping ("),
	FIELD(gpumon_record_unmapping, time_ns),
	FIELD(gpumon_record_unmapping, start),
	FIELD(gpumon_record_unmapping, end),
	STRUCT(gpumon_record_string, "### string ("),
	FIELD(gpumon_record_string, id),
	FIELD(gpumon_record_string, length),
	LIST(gpumon_record_string, text),
	STRUCT(gpumon_record_frame, "### frame ("),
	FIELD(gpumon_record_frame, id),
	FIELD(gpumon_record_frame, kind),
	FIELD(gpumon_record_frame, reserved),
	FIELD(gpumon_record_frame, function),
	FIELD(gpumon_record_frame, file),
	FIELD(gpumon_record_frame, line),
	FIELD(gpumon_record_frame, first_line),
	STRUCT(gpumon_record_stack, "### stack ("),
	FIELD(gpumon_record_stack, id),
	FIELD(gpumon_record_stack, count),
	LIST(gpumon_record_stack, frames),
	STRUCT(gpumon_record_device, "### device ("),
	FIELD(gpumon_record_device, id),
	FIELD(gpumon_record_device, name),
	FIELD(gpumon_record_device, uuid),
	FIELD(gpumon_record_device, mig_uuid),
	FIELD(gpumon_record_device, pci),
	FIELD(gpumon_record_device, multiprocessors),
	FIELD(gpumon_record_device, memory_bytes),
	FIELD(gpumon_record_device, compute_major),
	FIELD(gpumon_record_device, compute_minor),
	FIELD(gpumon_record_device, type),
	FIELD(gpumon_record_device, vendor),
	FIELD(gpumon_record_device, driver),
	STRUCT(gpumon_record_context, "### context ("),
	FIELD(gpumon_record_context, time_ns),
	FIELD(gpumon_record_context, id),
	FIELD(gpumon_record_context, device),
	STRUCT(gpumon_record_stream, "### stream ("),
	FIELD(gpumon_record_stream, context),
	FIELD(gpumon_record_stream, id),
	FIELD(gpumon_record_stream, priority),
	FIELD(gpumon_record_stream, name),
	STRUCT(gpumon_record_api, "### api ("),
	FIELD(gpumon_record_api, api),
	FIELD(gpumon_record_api, name),
	FIELD(gpumon_record_api, version),
	FIELD(gpumon_record_api, platform),
	STRUCT(gpumon_record_clock, "### clock ("),
	FIELD(gpumon_record_clock, time_ns),
	FIELD(gpumon_record_clock, offset_ns),
	FIELD(gpumon_record_clock, error_ns),
	FIELD(gpumon_record_clock, device),
	FIELD(gpumon_record_clock, source),
	STRUCT(gpumon_record_launch, "### launch ("),
	FIELD(gpumon_record_launch, start_ns),
	FIELD(gpumon_record_launch, end_ns),
	FIELD(gpumon_record_launch, tid),
	FIELD(gpumon_record_launch, correlation),
	FIELD(gpumon_record_launch, stack),
	FIELD(gpumon_record_launch, function),
	FIELD(gpumon_record_launch, context),
	FIELD(gpumon_record_launch, result),
	FIELD(gpumon_record_launch, graph),
	FIELD(gpumon_record_launch, name),
	STRUCT(gpumon_record_call, "### call ("),
	FIELD(gpumon_record_call, start_ns),
	FIELD(gpumon_record_call, end_ns),
	FIELD(gpumon_record_call, tid),
	FIELD(gpumon_record_call, correlation),
	FIELD(gpumon_record_call, function),
	FIELD(gpumon_record_call, stack),
	FIELD(gpumon_record_call, context),
	FIELD(gpumon_record_call, reserved),
	STRUCT(gpumon_record_hit, "### hit ("),
	FIELD(gpumon_record_hit, time_ns),
	FIELD(gpumon_record_hit, number),
	FIELD(gpumon_record_hit, duration_ns),
	FIELD(gpumon_record_hit, tid),
	FIELD(gpumon_record_hit, function),
	FIELD(gpumon_record_hit, stack),
	FIELD(gpumon_record_hit, reserved),
	STRUCT(gpumon_record_range, "### range ("),
	FIELD(gpumon_record_range, time_ns),
	FIELD(gpumon_record_range, id),
	FIELD(gpumon_record_range, tid),
	FIELD(gpumon_record_range, domain),
	FIELD(gpumon_record_range, text),
	FIELD(gpumon_record_range, color),
	FIELD(gpumon_record_range, kind),
	FIELD(gpumon_record_range, reserved),
	STRUCT(gpumon_record_graph_node, "### graph-node ("),
	FIELD(gpumon_record_graph_node, node),
	FIELD(gpumon_record_graph_node, original),
	FIELD(gpumon_record_graph_node, graph),
	FIELD(gpumon_record_graph_node, stack),
	STRUCT(gpumon_record_kernel, "### kernel ("),
	FIELD(gpumon_record_kernel, start_ns),
	FIELD(gpumon_record_kernel, end_ns),
	FIELD(gpumon_record_kernel, queued_ns),
	FIELD(gpumon_record_kernel, submitted_ns),
	FIELD(gpumon_record_kernel, node),
	FIELD(gpumon_record_kernel, correlation),
	FIELD(gpumon_record_kernel, name),
	FIELD(gpumon_record_kernel, device),
	FIELD(gpumon_record_kernel, context),
	FIELD(gpumon_record_kernel, stream),
	FIELD(gpumon_record_kernel, graph),
	FIELD(gpumon_record_kernel, grid),
	FIELD(gpumon_record_kernel, block),
	FIELD(gpumon_record_kernel, static_shared_bytes),
	FIELD(gpumon_record_kernel, dynamic_shared_bytes),
	FIELD(gpumon_record_kernel, local_bytes),
	FIELD(gpumon_record_kernel, registers),
	FIELD(gpumon_record_kernel, global),
	STRUCT(gpumon_record_copy, "### copy ("),
	FIELD(gpumon_record_copy, start_ns),
	FIELD(gpumon_record_copy, end_ns),
	FIELD(gpumon_record_copy, bytes),
	FIELD(gpumon_record_copy, node),
	FIELD(gpumon_record_copy, correlation),
	FIELD(gpumon_record_copy, device),
	FIELD(gpumon_record_copy, context),
	FIELD(gpumon_record_copy, stream),
	FIELD(gpumon_record_copy, graph),
	FIELD(gpumon_record_copy, to_device),
	FIELD(gpumon_record_copy, from),
	FIELD(gpumon_record_copy, to),
	FIELD(gpumon_record_copy, kind),
	STRUCT(gpumon_record_set, "### set ("),
	FIELD(gpumon_record_set, start_ns),
	FIELD(gpumon_record_set, end_ns),
	FIELD(gpumon_record_set, bytes),
	FIELD(gpumon_record_set, node),
	FIELD(gpumon_record_set, correlation),
	FIELD(gpumon_record_set, device),
	FIELD(gpumon_record_set, context),
	FIELD(gpumon_record_set, stream),
	FIELD(gpumon_record_set, graph),
	FIELD(gpumon_record_set, value),
	STRUCT(gpumon_record_sync, "### sync ("),
	FIELD(gpumon_record_sync, start_ns),
	FIELD(gpumon_record_sync, end_ns),
	FIELD(gpumon_record_sync, correlation),
	FIELD(gpumon_record_sync, context),
	FIELD(gpumon_record_sync, stream),
	FIELD(gpumon_record_sync, kind),
	STRUCT(gpumon_record_memory, "### memory ("),
	FIELD(gpumon_record_memory, time_ns),
	FIELD(gpumon_record_memory, address),
	FIELD(gpumon_record_memory, bytes),
	FIELD(gpumon_record_memory, correlation),
	FIELD(gpumon_record_memory, device),
	FIELD(gpumon_record_memory, context),
	FIELD(gpumon_record_memory, place),
	FIELD(gpumon_record_memory, reserved),
	STRUCT(gpumon_record_unified_memory, "### unified-memory ("),
	FIELD(gpumon_record_unified_memory, start_ns),
	FIELD(gpumon_record_unified_memory, end_ns),
	FIELD(gpumon_record_unified_memory, value),
	FIELD(gpumon_record_unified_memory, address),
	FIELD(gpumon_record_unified_memory, kind),
	FIELD(gpumon_record_unified_memory, from_device),
	FIELD(gpumon_record_unified_memory, to_device),
	FIELD(gpumon_record_unified_memory, reserved),
	STRUCT(gpumon_record_graph, "### graph ("),
	FIELD(gpumon_record_graph, start_ns),
	FIELD(gpumon_record_graph, end_ns),
	FIELD(gpumon_record_graph, correlation),
	FIELD(gpumon_record_graph, device),
	FIELD(gpumon_record_graph, context),
	FIELD(gpumon_record_graph, stream),
	FIELD(gpumon_record_graph, graph),
	FIELD(gpumon_record_graph, reserved),
	STRUCT(gpumon_record_stalls, "### stalls ("),
	FIELD(gpumon_record_stalls, time_ns),
	FIELD(gpumon_record_stalls, module),
	FIELD(gpumon_record_stalls, device),
	FIELD(gpumon_record_stalls, context),
	FIELD(gpumon_record_stalls, name),
	FIELD(gpumon_record_stalls, offset),
	FIELD(gpumon_record_stalls, file),
	FIELD(gpumon_record_stalls, line),
	FIELD(gpumon_record_stalls, count),
	FIELD(gpumon_record_stalls, reserved),
	LIST(gpumon_record_stalls, stall),
	STRUCT(gpumon_record_stall_totals, "### stall-totals ("),
	FIELD(gpumon_record_stall_totals, time_ns),
	FIELD(gpumon_record_stall_totals, device),
	FIELD(gpumon_record_stall_totals, context),
	FIELD(gpumon_record_stall_totals, samples),
	FIELD(gpumon_record_stall_totals, dropped),
	FIELD(gpumon_record_stall_totals, other),
	FIELD(gpumon_record_stall_totals, period_log2),
	FIELD(gpumon_record_stall_totals, reserved),
	STRUCT(gpumon_record_metric_set, "### metric-set ("),
	FIELD(gpumon_record_metric_set, interval_ns),
	FIELD(gpumon_record_metric_set, device),
	FIELD(gpumon_record_metric_set, set),
	FIELD(gpumon_record_metric_set, count),
	FIELD(gpumon_record_metric_set, reserved),
	LIST(gpumon_record_metric_set, metric),
	STRUCT(gpumon_record_metric_sample, "### metric-sample ("),
	FIELD(gpumon_record_metric_sample, start_ns),
	FIELD(gpumon_record_metric_sample, end_ns),
	FIELD(gpumon_record_metric_sample, device),
	FIELD(gpumon_record_metric_sample, set),
	FIELD(gpumon_record_metric_sample, count),
	FIELD(gpumon_record_metric_sample, reserved),
	LIST(gpumon_record_metric_sample, value),
	STRUCT(gpumon_record_driver_event, "### driver-event ("),
	FIELD(gpumon_record_driver_event, event_size),
	FIELD(gpumon_record_driver_event, row),
	LIST(gpumon_record_driver_event, event),
	STRUCT(gpumon_record_alert, "### alert ("),
	FIELD(gpumon_record_alert, time_ns),
	FIELD(gpumon_record_alert, code),
	FIELD(gpumon_record_alert, device),
	FIELD(gpumon_record_alert, message),
	FIELD(gpumon_record_alert, reserved),
	STRUCT(gpumon_record_loss, "### loss ("),
	FIELD(gpumon_record_loss, time_ns),
	FIELD(gpumon_record_loss, count),
	FIELD(gpumon_record_loss, cause),
	FIELD(gpumon_record_loss, reserved),
	STRUCT(gpumon_record_window, "### window ("),
	FIELD(gpumon_record_window, time_ns),
	FIELD(gpumon_record_window, reason),
	FIELD(gpumon_record_window, reserved),
	STRUCT(gpumon_record_note, "### note ("),
	FIELD(gpumon_record_note, time_ns),
	FIELD(gpumon_record_note, text),
	FIELD(gpumon_record_note, reserved),
	STRUCT(gpumon_record_totals, "### totals ("),
	FIELD(gpumon_record_totals, time_ns),
	FIELD(gpumon_record_totals, launches),
	FIELD(gpumon_record_totals, captured),
	FIELD(gpumon_record_totals, kernels),
	FIELD(gpumon_record_totals, copies),
	FIELD(gpumon_record_totals, sets),
	FIELD(gpumon_record_totals, device_bytes),
	STRUCT(gpumon_record_dropped, "### dropped ("),
	FIELD(gpumon_record_dropped, time_ns),
	FIELD(gpumon_record_dropped, records),
	FIELD(gpumon_record_dropped, launches),
	FIELD(gpumon_record_dropped, captured),
	FIELD(gpumon_record_dropped, kernels),
	FIELD(gpumon_record_dropped, copies),
	FIELD(gpumon_record_dropped, sets),
};

static char *document;

static int read_document(void **state)
{
	FILE *in = fopen(DOCUMENT, "rb");
	size_t n;

	(void)state;
	document = calloc(1, 1 << 18);
	if (!in || !document)
		return -1;
	n = fread(document, 1, (1 << 18) - 1, in);
	fclose(in);
	return n > 1000 ? 0 : -1;
}

static int free_document(void **state)
{
	(void)state;
	free(document);
	return 0;
}

/* The text below a heading, up to the next one; to be freed. */
static char *section(const char *heading)
{
	char *line, *begin, *end;

	assert_true(asprintf(&line, "\n%s", heading) > 0);
	begin = strstr(document, line);
	if (!begin)
		fail_msg("no \"%s\" in %s", heading, DOCUMENT);
	free(line);
	begin = strchr(begin + 1, '\n');
	end = strstr(begin, "\n#");
	assert_non_null(end);
	return strndup(begin, (size_t)(end - begin));
}

/* Bytes of "u32" or "u8[16]", 0 for "u64[]". */
static size_t size_of_type(const char *type)
{
	static const struct {
		const char *name;
		size_t size;
	} types[] = { { "u8", 1 },  { "u16", 2 }, { "u32", 4 }, { "i32", 4 },
		      { "i64", 8 }, { "u64", 8 }, { "f64", 8 }, { "char", 1 } };
	const char *array = strchr(type, '[');

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t n = strlen(types[i].name);

		if (strncmp(type, types[i].name, n) != 0 || (type[n] && type[n] != '['))
			continue;
		return types[i].size * (array ? strtoul(array + 1, NULL, 10) : 1);
	}
	fail_msg("what is a %s", type);
	return 0;
}

/* Read the next row of a table of fields. Returns the position after it, NULL at the end. */
static const char *next_field(const char *from, size_t *at, size_t *size, char *name)
{
	while ((from = strstr(from, "\n| "))) {
		char type[32];
		int used = 0;

		if (sscanf(from, "\n| %zu | %31[^ ] | `%63[a-z_0-9]` |%n", at, type, name, &used) ==
			    3 &&
		    used) {
			*size = size_of_type(type);
			return from + used;
		}
		from++;
	}
	return NULL;
}

static void every_field_is_described(void **state)
{
	const size_t n = sizeof(fields) / sizeof(fields[0]);
	char *text = NULL;
	const char *from = NULL;
	size_t size_of_all = 0;
	size_t end = 0;

	(void)state;
	for (size_t i = 0; i <= n; i++) {
		size_t at, size;
		char name[64];

		if (i == n || fields[i].record) {
			/* The previous table has no more rows, and its struct no more fields. */
			if (text) {
				assert_null(next_field(from, &at, &size, name));
				assert_int_equal(end, size_of_all);
			}
			free(text);
			if (i == n)
				break;
			text = section(fields[i].record);
			from = text;
			size_of_all = fields[i].size;
			continue;
		}
		from = next_field(from, &at, &size, name);
		if (!from)
			fail_msg("%s is not described", fields[i].name);
		assert_string_equal(name, fields[i].name);
		assert_int_equal(at, fields[i].at);
		assert_int_equal(size, fields[i].size);
		end = at + size;
	}
}

static void every_type_and_cause_is_described(void **state)
{
	char *losses = section("### loss (80)");
	unsigned int types = 0;

	(void)state;
	for (unsigned int type = 1; type < 65536; type++) {
		char heading[64];

		if (!gpumon_record_name(type))
			continue;
		snprintf(heading, sizeof(heading), "### %s (%u)", gpumon_record_name(type), type);
		free(section(heading));
		types++;
	}
	/* There are no other tables. */
	for (const char *at = document; (at = strstr(at, "\n### ")); at++) {
		const char *number = strchr(at, '(');

		if (number && number < strchr(at + 1, '\n'))
			types--;
	}
	assert_int_equal(types, 0);
	for (unsigned int cause = 1; cause < GPUMON_LOSS_CAUSES; cause++) {
		char row[64];

		snprintf(row, sizeof(row), "\n| %u | `%s` |", cause, gpumon_loss_key(cause));
		/* The page has names of records with hyphens. */
		for (char *at = row; (at = strchr(at, '_')); at++)
			*at = '-';
		if (!strstr(losses, row))
			fail_msg("cause %s is not described", gpumon_loss_key(cause));
	}
	free(losses);
}

/* Write the reader at the document's end to a file. Returns its path, to be freed. */
static char *python_reader(const char *directory)
{
	char *begin = strstr(document, "```python\n");
	char *path;
	char *end;
	FILE *out;

	assert_non_null(begin);
	begin += strlen("```python\n");
	end = strstr(begin, "```");
	assert_non_null(end);
	assert_true(asprintf(&path, "%s/reader.py", directory) > 0);
	out = fopen(path, "wb");
	assert_non_null(out);
	assert_int_equal(fwrite(begin, 1, (size_t)(end - begin), out), end - begin);
	assert_int_equal(fclose(out), 0);
	return path;
}

/* Sum of the durations of kernels with that name, and their number. */
static uint64_t sum(struct gpumon_capture *capture, uint32_t process, const char *name,
		    uint64_t *count)
{
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;
	uint32_t id = 0;
	uint64_t ns = 0;

	*count = 0;
	for (int pass = 0; pass < 2; pass++) {
		gpumon_capture_rewind(capture);
		while ((record = gpumon_capture_next(capture, &cursor))) {
			const struct gpumon_record_string *string = (const void *)record;
			struct gpumon_record_kernel kernel;

			if (cursor.process != process)
				continue;
			if (!pass && record->type == GPUMON_RECORD_STRING &&
			    string->length == strlen(name) &&
			    memcmp(string->text, name, string->length) == 0)
				id = string->id;
			if (!pass || record->type != GPUMON_RECORD_KERNEL)
				continue;
			gpumon_record_copy(&kernel, sizeof(kernel), record);
			if (kernel.name != id)
				continue;
			ns += kernel.end_ns - kernel.start_ns;
			++*count;
		}
	}
	return ns;
}

/* Two processes, one of them with a damaged chunk and a missing end. */
static void the_reader_of_the_document_reads(void **state)
{
	char *directory = capture_maker_directory();
	char *script = python_reader(directory);
	struct gpumon_capture_writer *writer;
	struct gpumon_capture *capture;
	char *path, *command;
	char lines[4096];
	size_t n;
	int fd;
	FILE *out;

	(void)state;
	assert_true(asprintf(&path, "%s/capture", directory) > 0);
	assert_int_equal(gpumon_capture_create(path, "x", &writer), 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct capture_maker *maker = capture_maker_new();
		struct gpumon_capture_file *file;

		assert_int_equal(gpumon_capture_add_file(writer, i ? "process-2-1" : "process-1-1",
							 &file),
				 0);
		make_example(maker, 1000000, i);
		capture_maker_flush(maker, file, 5, 300);
		capture_maker_free(maker);
	}
	assert_int_equal(gpumon_capture_close(writer), 0);
	assert_true(asprintf(&command, "%s/process-2-1.records", path) > 0);
	fd = open(command, O_RDWR);
	assert_int_equal(pwrite(fd, "????", 4, lseek(fd, 0, SEEK_END) / 2), 4);
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - 9), 0);
	close(fd);
	free(command);

	assert_true(asprintf(&command, "/usr/bin/python3 %s %s 2>&1", script, path) > 0);
	out = popen(command, "r");
	assert_non_null(out);
	n = fread(lines, 1, sizeof(lines) - 1, out);
	lines[n] = '\0';
	if (pclose(out) != 0)
		fail_msg("%s", lines);
	assert_int_equal(gpumon_capture_open(path, &capture), 0);
	for (uint32_t process = 0; process < 2; process++) {
		static const char *const names[] = { "_Z6matmulPKfS0_Pf", "_Z7rmsnormPf" };
		char line[128];

		for (int i = 0; i < 2; i++) {
			uint64_t count;
			uint64_t ns = sum(capture, process, names[i], &count);

			assert_true(count > 0);
			snprintf(line, sizeof(line), "%s %s %llu %llu\n",
				 gpumon_capture_name(capture, process), names[i],
				 (unsigned long long)count, (unsigned long long)ns);
			if (!strstr(lines, line))
				fail_msg("not \"%s\" in:\n%s", line, lines);
		}
	}
	assert_non_null(strstr(lines, "process-1-1 lost for cause 1 3\n"));
	assert_int_equal(gpumon_capture_damage(capture)->broken_chunks, 1);
	gpumon_capture_free(capture);
	free(command);
	free(path);
	free(script);
	capture_maker_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_described),
		cmocka_unit_test(every_type_and_cause_is_described),
		cmocka_unit_test(the_reader_of_the_document_reads),
	};

	return cmocka_run_group_tests(tests, read_document, free_document);
}
