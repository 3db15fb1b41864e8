// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Documentation/reference/probe-json.md has the keys that are printed, and no others. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpuprog/result/coverage.h"
#include "gpuprog/server/inspect.h"
#include "gpuprog/server/load.h"
#include "sample.h"
#include "capture/findings.h"

#define KEYS 128

/* "table.key", each once. */
struct keys {
	char *keys[KEYS];
	size_t n;
};

static bool has(const struct keys *keys, const char *key)
{
	for (size_t i = 0; i < keys->n; i++)
		if (!strcmp(keys->keys[i], key))
			return true;
	return false;
}

static void add(struct keys *keys, const char *table, const char *key)
{
	char *whole;

	assert_true(keys->n < KEYS);
	assert_true(asprintf(&whole, "%s.%s", table, key) > 0);
	if (has(keys, whole))
		free(whole);
	else
		keys->keys[keys->n++] = whole;
}

static void clear(struct keys *keys)
{
	while (keys->n)
		free(keys->keys[--keys->n]);
}

static void assert_same(const struct keys *printed, const struct keys *documented, const char *of)
{
	for (size_t i = 0; i < printed->n; i++)
		if (!has(documented, printed->keys[i]))
			fail_msg("%s: %s is not on the page", of, printed->keys[i]);
	for (size_t i = 0; i < documented->n; i++)
		if (!has(printed, documented->keys[i]))
			fail_msg("%s: %s is on the page, and not printed", of, documented->keys[i]);
}

static char document[1 << 16];

static int read_document(void **state)
{
	FILE *in = fopen(DOCUMENT, "rb");
	size_t n;

	(void)state;
	if (!in)
		return -1;
	n = fread(document, 1, sizeof(document) - 1, in);
	fclose(in);
	return n > 1000 && n < sizeof(document) - 1 ? 0 : -1;
}

/* The next word in backquotes of a cell; false: there are no more. */
static bool next_word(char **at, char word[64])
{
	return sscanf(*at, "%*[^`|]`%63[^`]`", word) == 1 &&
	       (*at = strchr(strchr(*at, '`') + 1, '`') + 1);
}

/* Rows "| `table` | `key`, `key` | text |" below a heading; a table without a name is that of the row above. */
static void read_keys(const char *heading, struct keys *keys)
{
	char *line, *begin, *end, *save, table[64] = "", word[64];

	assert_true(asprintf(&line, "\n%s\n", heading) > 0);
	begin = strstr(document, line);
	if (!begin)
		fail_msg("no %s in " DOCUMENT, heading);
	begin += strlen(line);
	free(line);
	end = strstr(begin, "\n#");
	begin = strndup(begin, end ? (size_t)(end - begin) : strlen(begin));
	for (line = strtok_r(begin, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *at = line + 1;
		bool any = false;

		if (strncmp(line, "| `", 3) != 0 && strncmp(line, "| | ", 4) != 0)
			continue;
		if (next_word(&at, word))
			strcpy(table, word);
		at = strchr(line + 1, '|');
		for (at++; next_word(&at, word); any = true)
			add(keys, table, word);
		if (!any)
			add(keys, table, "");
	}
	free(begin);
}

static void add_findings(struct keys *keys, struct sample *sample)
{
	struct gpumon_findings *findings = gpumon_gpuprog_findings(&sample->result);

	assert_non_null(findings);
	for (size_t i = 0; i < findings->n_tables; i++) {
		const struct gpumon_table *table = findings->tables[i];

		for (size_t k = 0; k < table->n_columns; k++)
			if (table->key && table->columns[k].key)
				add(keys, table->key, table->columns[k].key);
	}
	gpumon_findings_free(findings);
}

/* All that every result may have. */
static void fill_common(struct sample *sample, struct gpumon_gpuprog_records *prints)
{
	static const struct gpumon_gpuprog_ran ran = { .program = "add", .times = 1 };
	static struct gpumon_gpuprog_modules modules = { .edited.n = 1, .assemblies_n = 1 };
	const struct gpumon_gpuprog_print print = { .map = 0 };

	sample->result.ran = &ran;
	sample->result.ran_n = 1;
	sample->result.modules = &modules;
	gpumon_gpuprog_records_init(prints, &gpumon_gpuprog_print_map, GPUMON_GPUPROG_KEPT_BYTES);
	gpumon_gpuprog_records_add(prints, 0, &print, sizeof(print));
	sample->result.prints = prints;
}

static void tables_of_all_results(void **state)
{
	struct keys printed = { .n = 0 }, documented = { .n = 0 };
	struct gpumon_gpuprog_records prints;
	struct sample sample;

	(void)state;
	sample_init(&sample);
	sample_device(&sample, 1);
	fill_common(&sample, &prints);
	add_findings(&printed, &sample);
	read_keys("### Tables of all results", &documented);
	assert_same(&printed, &documented, "all results");
	gpumon_gpuprog_records_clear(&prints);
	sample_clear(&sample);
	clear(&printed);
	clear(&documented);
}

/* What makes a tool show its tables. */
static void fill_tool(struct sample *sample, const char *tool)
{
	const uint64_t record[3] = { 0, 100, 0 };
	uint32_t map;

	if (!strcmp(tool, "cuda-counter"))
		sample_add(sample, 0, sample_find(sample, "calls_by_kernel"), 0, 0, 0, 1);
	if (strcmp(tool, "launchlate") != 0)
		return;
	map = sample_find(sample, "starts");
	sample_record(sample, 0, map, record, 2 * sizeof(record[0]));
}

/* Those of a tool alone: of one context, of two, and with launches. */
static void add_tool(struct keys *keys, const char *tool, const struct keys *common)
{
	struct keys all = { .n = 0 };
	struct sample sample;

	sample_begin(&sample, tool);
	fill_tool(&sample, tool);
	add_findings(&all, &sample);
	sample_device(&sample, 4);
	add_findings(&all, &sample);
	sample_launch(&sample, 0, 0, 50);
	add_findings(&all, &sample);
	sample_clear(&sample);
	for (size_t i = 0; i < all.n; i++) {
		char *dot = strchr(all.keys[i], '.');

		if (has(common, all.keys[i]))
			continue;
		*dot = '\0';
		add(keys, all.keys[i], dot + 1);
	}
	clear(&all);
}

static void tables_of_tools(void **state)
{
	struct keys common = { .n = 0 };
	size_t n;
	const struct gpumon_gpuprog_tool *tools = gpumon_gpuprog_tools(&n);

	(void)state;
	read_keys("### Tables of all results", &common);
	for (size_t i = 0; i < n; i++) {
		struct keys printed = { .n = 0 }, documented = { .n = 0 };
		char heading[64];

		snprintf(heading, sizeof(heading), "### %s", tools[i].name);
		read_keys(heading, &documented);
		add_tool(&printed, tools[i].name, &common);
		assert_same(&printed, &documented, tools[i].name);
		clear(&printed);
		clear(&documented);
	}
	clear(&common);
}

/* The keys of a document, and those of the objects in its arrays. */
static void compare_document(struct json_object *printed_document, const char *heading)
{
	struct keys printed = { .n = 0 }, documented = { .n = 0 };

	json_object_object_foreach(printed_document, table, value) {
		if (!json_object_is_type(value, json_type_array)) {
			add(&printed, table, "");
			continue;
		}
		assert_true(json_object_array_length(value) > 0);
		json_object_object_foreach(json_object_array_get_idx(value, 0), key, cell) {
			(void)cell;
			add(&printed, table, key);
		}
	}
	json_object_put(printed_document);
	read_keys(heading, &documented);
	assert_same(&printed, &documented, heading);
	clear(&printed);
	clear(&documented);
}

static void other_documents(void **state)
{
	static const struct gpumon_gpuprog_rules rules;
	struct gpumon_gpuprog_kernel kernel = { .name = "first", .why = "" };
	struct gpumon_gpuprog_line_of line = { .line = 1, .file = "a.cu" };
	const struct gpumon_gpuprog_into into = {
		.run = { .kernels = &kernel, .kernels_n = 1, .lines = &line, .lines_n = 1 }
	};
	struct gpumon_gpuprog_check check;
	struct gpumon_error err;

	(void)state;
	compare_document(gpumon_gpuprog_tools_json(), "## Tools");
	assert_int_equal(gpumon_gpuprog_check("threadhist", &rules, &check, &err), 0);
	compare_document(gpumon_gpuprog_json(&check), "## Checks");
	gpumon_gpuprog_check_clear(&check);
	compare_document(gpumon_gpuprog_into_json(&into), "## Images");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_of_all_results),
		cmocka_unit_test(tables_of_tools),
		cmocka_unit_test(other_documents),
	};

	return cmocka_run_group_tests(tests, read_document, NULL);
}
