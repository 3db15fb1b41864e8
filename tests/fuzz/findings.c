// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What programs in kernels have gathered, in a capture: any bytes as such a file. What is accepted is
 * printed, and is the same when it is written and read again.
 */
#include <fcntl.h>
#include <json.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "capture/findings.h"

static char *json_of(const struct gpumon_findings *findings)
{
	struct json_object *object = gpumon_findings_json(findings);
	char *text;

	MUST(object);
	text = strdup(json_object_to_json_string(object));
	json_object_put(object);
	MUST(text);
	json_object_put(fuzz_json(text, strlen(text)));
	return text;
}

static void print(const struct gpumon_findings *findings, unsigned int columns)
{
	const struct gpumon_term term = { .columns = columns };
	struct gpumon_figure figures[GPUMON_FIGURES];
	unsigned int n = gpumon_findings_figures(findings, figures);
	struct gpumon_table *table = gpumon_table_new(&term);
	struct fuzz_stream out;

	fuzz_stream_begin(&out);
	MUST(!gpumon_findings_print(findings, &term, out.stream));
	gpumon_table_column(table, "KERNEL", GPUMON_COLUMN_NAME);
	for (unsigned int i = 0; i < n; i++)
		gpumon_figure_column(&figures[i], table);
	gpumon_table_text(table, "first");
	for (unsigned int i = 0; i < n; i++)
		gpumon_figure_cell(&figures[i], "first", table);
	MUST(!gpumon_table_print(table, out.stream));
	fuzz_stream_end(&out);
	fuzz_is_text(out.data, out.size, "\n");
	fuzz_stream_free(&out);
}

static void write_and_read(const struct gpumon_findings *findings, const char *text)
{
	const char *folder = fuzz_path("again");
	struct gpumon_findings *again;
	struct gpumon_error err;
	int directory;
	char *other;

	fuzz_folder_make("again");
	directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(directory >= 0);
	MUST(!gpumon_findings_write(findings, directory, &err));
	close(directory);
	MUST(!gpumon_findings_read(folder, &again) && again);
	other = json_of(again);
	MUST(!strcmp(text, other));
	free(other);
	gpumon_findings_free(again);
	fuzz_folder_remove("again");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpumon_findings *findings;
	char *text;

	fuzz_write(fuzz_path(GPUMON_FINDINGS_FILE), data, size);
	MUST(gpumon_findings_read(fuzz_folder(), &findings) >= 0 && findings);
	text = json_of(findings);
	print(findings, 0);
	print(findings, 60);
	write_and_read(findings, text);
	free(text);
	gpumon_findings_free(findings);
	return 0;
}
