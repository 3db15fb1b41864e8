// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "gpuprog/image/near.h"
#include "tools.h"

#define NAMES_BYTES 256

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

/* The beginning of a tool's name is near, too. */
static const char *find_near(const char *name)
{
	unsigned int least = GPUMON_NEAR_CHANGES + 1, changes;
	const char *found = NULL;

	for (size_t i = 0; i < TOOLS_N; i++) {
		changes = strlen(name) > 2 && !strncmp(all_tools[i].name, name, strlen(name)) ?
				  1 :
				  gpumon_near(name, strlen(name), all_tools[i].name,
					      strlen(all_tools[i].name));
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
