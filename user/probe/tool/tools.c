// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "tools.h"

#define NAMES_BYTES 256
#define NAME_MOST   32 /* letters of a name that are compared; no tool has as many */
#define NEAR	    3  /* letters that may be wrong, missing or too many */

#ifdef GPUMON_BPF
/* The assembler searches the compiler's paths, of which one is the folder with BPF programs. */
#define OBJECT(id, name, summary)                          \
	__asm__(".pushsection .rodata\n"                   \
		".balign 8\n"                              \
		".globl gpumon_probe_object_" #id "\n"     \
		".globl gpumon_probe_object_" #id "_end\n" \
		"gpumon_probe_object_" #id ":\n"           \
		".incbin \"gpu/" name ".bpf.o\"\n"         \
		"gpumon_probe_object_" #id "_end:\n"       \
		".popsection\n");                          \
	extern const uint8_t gpumon_probe_object_##id[];   \
	extern const uint8_t gpumon_probe_object_##id##_end[];

GPUMON_PROBE_TOOLS(OBJECT)
#undef OBJECT

#define WHERE(id) .object = gpumon_probe_object_##id, .end = gpumon_probe_object_##id##_end
#else
#define WHERE(id) .object = NULL, .end = NULL
#endif

static const struct gpumon_probe_tool all_tools[] = {
#define TOOL(id, text, line) { .name = text, .summary = line, WHERE(id) },
	GPUMON_PROBE_TOOLS(TOOL)
#undef TOOL
};

#define TOOLS_N (sizeof(all_tools) / sizeof(all_tools[0]))

const struct gpumon_probe_tool *gpumon_probe_tools(size_t *n)
{
	*n = TOOLS_N;
	return all_tools;
}

static const struct gpumon_probe_tool *find_exact(const char *name)
{
	for (size_t i = 0; i < TOOLS_N; i++)
		if (!strcmp(all_tools[i].name, name))
			return &all_tools[i];
	return NULL;
}

bool gpumon_probe_is_tool(const char *name)
{
	return find_exact(name);
}

/* Letters to change, add or leave out to get from one name to the other. */
static unsigned int count_changes(const char *one, const char *other)
{
	unsigned int row[NAME_MOST + 1], before, above, least;
	size_t n = strlen(one), m = strlen(other);

	if (n > NAME_MOST || m > NAME_MOST)
		return NAME_MOST;
	for (size_t j = 0; j <= m; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 1; i <= n; i++) {
		before = row[0];
		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= m; j++) {
			above = row[j];
			least = before + (one[i - 1] != other[j - 1]);
			if (above + 1 < least)
				least = above + 1;
			if (row[j - 1] + 1 < least)
				least = row[j - 1] + 1;
			row[j] = least;
			before = above;
		}
	}
	return row[m];
}

/* The beginning of a tool's name is near, too. */
static const char *find_near(const char *name)
{
	unsigned int least = NEAR + 1, changes;
	const char *found = NULL;

	for (size_t i = 0; i < TOOLS_N; i++) {
		changes = strlen(name) > 2 && !strncmp(all_tools[i].name, name, strlen(name)) ?
				  1 :
				  count_changes(name, all_tools[i].name);
		if (changes < least) {
			least = changes;
			found = all_tools[i].name;
		}
	}
	return found;
}

static int refuse_name(const char *name, struct gpumon_error *err)
{
	const char *near = find_near(name);
	char names[NAMES_BYTES] = "";
	size_t used = 0;

	for (size_t i = 0; i < TOOLS_N; i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 all_tools[i].name);
	if (near)
		return gpumon_error_set(
			err, GPUMON_EXIT_USAGE, 0, GPUMON_ERROR_USAGE,
			"%.64s is no tool and no file: did you mean %s? There are %s", name, near,
			names);
	return gpumon_error_set(err, GPUMON_EXIT_USAGE, 0, GPUMON_ERROR_USAGE,
				"%.64s is no tool and no file: name an object file, or one of %s",
				name, names);
}

int gpumon_probe_tool_find(const char *name, const struct gpumon_probe_tool **tool,
			   struct gpumon_error *err)
{
	*tool = find_exact(name);
	if (!*tool)
		return refuse_name(name, err);
	if (!(*tool)->object)
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_NOT_BUILT,
			"this gpumon-user was built without clang and has no tools: name an object file, or build it again with clang and bpftool");
	return 0;
}
