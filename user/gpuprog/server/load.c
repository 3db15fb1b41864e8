// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/files.h"
#include "gpuprog/image/names.h"
#include "gpuprog/object/map_memory.h"
#include "gpuprog/ptx/translate.h"
#include "load.h"

/*
 * Name in C, name, and what it finds out, in a line. A new tool is a file bpf/gpu/NAME.bpf.c, a line
 * here, and a view (result/) if it is to say more than what is in its maps.
 */
#define GPUMON_GPUPROG_TOOLS(X)                                                                 \
	X(cuda_counter, "cuda-counter", "calls and time by kernel, block and SM")               \
	X(directly_run, "directly-run", "vectors and matrices, in kernels made of the program") \
	X(kernelretsnoop, "kernelretsnoop", "when each thread of a warp leaves a kernel")       \
	X(launchlate, "launchlate", "how long after its launch a kernel begins")                \
	X(memtrace, "memtrace",                                                                 \
	  "memory traffic by source line, and how well threads lie side by side")               \
	X(threadhist, "threadhist", "how often each thread of the grid runs")                   \
	X(warpimbalance, "warpimbalance", "how long blocks wait for their last warp")

#define NAMES_BYTES 256

#ifdef GPUMON_BPF
/* The assembler searches the compiler's paths, of which one is the folder with BPF programs. */
#define OBJECT(id, name, summary)                            \
	__asm__(".pushsection .rodata\n"                     \
		".balign 8\n"                                \
		".globl gpumon_gpuprog_object_" #id "\n"     \
		".globl gpumon_gpuprog_object_" #id "_end\n" \
		"gpumon_gpuprog_object_" #id ":\n"           \
		".incbin \"gpu/" name ".bpf.o\"\n"           \
		"gpumon_gpuprog_object_" #id "_end:\n"       \
		".popsection\n");                            \
	extern const uint8_t gpumon_gpuprog_object_##id[];   \
	extern const uint8_t gpumon_gpuprog_object_##id##_end[];

GPUMON_GPUPROG_TOOLS(OBJECT)
#undef OBJECT

#define WHERE(id) .object = gpumon_gpuprog_object_##id, .end = gpumon_gpuprog_object_##id##_end
#else
#define WHERE(id) .object = NULL, .end = NULL
#endif

static const struct gpumon_gpuprog_tool all_tools[] = {
#define TOOL(id, text, line) { .name = text, .summary = line, WHERE(id) },
	GPUMON_GPUPROG_TOOLS(TOOL)
#undef TOOL
};

#define TOOLS_N (sizeof(all_tools) / sizeof(all_tools[0]))

const struct gpumon_gpuprog_tool *gpumon_gpuprog_tools(size_t *n)
{
	*n = TOOLS_N;
	return all_tools;
}

static const struct gpumon_gpuprog_tool *find_exact(const char *name)
{
	for (size_t i = 0; i < TOOLS_N; i++)
		if (!strcmp(all_tools[i].name, name))
			return &all_tools[i];
	return NULL;
}

bool gpumon_gpuprog_is_tool(const char *name)
{
	return find_exact(name);
}

/* The beginning of a tool's name is near, too. */
static const char *find_near(const char *name)
{
	unsigned int least = GPUMON_NAME_CHANGES + 1, changes;
	const char *found = NULL;

	for (size_t i = 0; i < TOOLS_N; i++) {
		changes = strlen(name) > 2 && !strncmp(all_tools[i].name, name, strlen(name)) ?
				  1 :
				  gpumon_name_distance(name, strlen(name), all_tools[i].name,
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

int gpumon_gpuprog_tool_find(const char *name, const struct gpumon_gpuprog_tool **tool,
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

int gpumon_gpuprog_cannot_read(const char *path, int error, struct gpumon_error *err)
{
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO, "%s: %s", path,
				strerror(error));
}

static int read_descriptor(int fd, const char *path, struct gpumon_gpuprog_check *check,
			   struct gpumon_error *err)
{
	check->bytes = gpumon_read_whole(fd, GPUMON_GPUPROG_MAX_OBJECT, &check->size);
	if (check->bytes)
		return 0;
	if (errno == EFBIG || errno == EINVAL)
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_IO,
			"%s: not a file of at most 4 MiB; name an object file made by clang -target bpf",
			path);
	return gpumon_gpuprog_cannot_read(path, errno, err);
}

static int read_file(const char *path, struct gpumon_gpuprog_check *check, struct gpumon_error *err)
{
	const struct gpumon_gpuprog_tool *tool;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;

	/* A mistyped name of a tool rather than a missing file. */
	if (fd < 0 && (errno == ENOENT || errno == ENAMETOOLONG) && !strpbrk(path, "/."))
		return gpumon_gpuprog_tool_find(path, &tool, err);
	if (fd < 0)
		return gpumon_gpuprog_cannot_read(path, errno, err);
	ret = read_descriptor(fd, path, check, err);
	if (!ret)
		ret = gpumon_gpuprog_object_read(check->bytes, check->size, path, &check->object,
						 err);
	close(fd);
	return ret;
}

static int read_object(const char *name, struct gpumon_gpuprog_check *check,
		       struct gpumon_error *err)
{
	const struct gpumon_gpuprog_tool *tool;

	if (!gpumon_gpuprog_is_tool(name))
		return read_file(name, check, err);
	if (gpumon_gpuprog_tool_find(name, &tool, err))
		return -1;
	return gpumon_gpuprog_object_read(tool->object, (size_t)(tool->end - tool->object), name,
					  &check->object, err);
}

static uint32_t count_checked(const struct gpumon_gpuprog_fact *facts, uint32_t count)
{
	uint32_t checked = 0;

	for (uint32_t i = 0; i < count; i++)
		checked += facts[i].reached && facts[i].address.check;
	return checked;
}

/* A program that cannot be translated for a new GPU cannot be for any. */
static int try_translation(const struct gpumon_gpuprog *program,
			   const struct gpumon_gpuprog_fact *facts, struct gpumon_error *err)
{
	const struct gpumon_gpuprog_target target = {
		.isa = gpumon_gpuprog_isa(90), .sm = 90, .shards = 1, .fuel = 1
	};
	char *text;
	size_t size;
	FILE *out = gpumon_memstream_open(&text, &size);
	int ret = gpumon_gpuprog_translate(program, facts, &target, out, err);

	gpumon_memstream_close(out);
	free(text);
	return ret;
}

static int verify_program(const struct gpumon_gpuprog *program,
			  const struct gpumon_gpuprog_rules *rules,
			  struct gpumon_gpuprog_verdict *verdict)
{
	verdict->facts = gpumon_calloc(program->steps_n, sizeof(*verdict->facts));
	if (gpumon_gpuprog_verify(program, rules, verdict->facts, &verdict->refusal) ||
	    try_translation(program, verdict->facts, &verdict->refusal)) {
		free(verdict->facts);
		verdict->facts = NULL;
		return -1;
	}
	verdict->checked = count_checked(verdict->facts, program->steps_n);
	return 0;
}

int gpumon_gpuprog_check(const char *name, const struct gpumon_gpuprog_rules *rules,
			 struct gpumon_gpuprog_check *check, struct gpumon_error *err)
{
	memset(check, 0, sizeof(*check));
	if (read_object(name, check, err))
		return -1;
	check->verdicts = gpumon_calloc(check->object.programs_n + 1, sizeof(*check->verdicts));
	for (uint32_t i = 0; i < check->object.programs_n; i++) {
		if (verify_program(&check->object.programs[i], rules, &check->verdicts[i]))
			check->refused++;
		check->facts[i] = check->verdicts[i].facts;
	}
	return 0;
}

void gpumon_gpuprog_check_clear(struct gpumon_gpuprog_check *check)
{
	for (uint32_t i = 0; check->verdicts && i < check->object.programs_n; i++)
		free(check->verdicts[i].facts);
	free(check->verdicts);
	free(check->bytes);
	gpumon_gpuprog_object_clear(&check->object);
	memset(check, 0, sizeof(*check));
}

/* Bytes of an array with a first content at most. */
#define BYTES_MAX (64ull << 20)

#define REFUSE(err, ...) \
	gpumon_error_set(err, GPUMON_EXIT_FAILED, -EINVAL, GPUMON_ERROR_REFUSED, __VA_ARGS__)

/* A number up to @end, of which something has to be there. */
static bool read_number(const char *text, char end, uint64_t *number, const char **behind)
{
	char *stop;

	errno = 0;
	*number = *text == '-' ? (uint64_t)strtoll(text, &stop, 0) : strtoull(text, &stop, 0);
	if (errno || stop == text || *stop != end)
		return false;
	*behind = stop + 1;
	return true;
}

static bool read_setting(const char *text, struct gpumon_gpuprog_setting *setting)
{
	const char *at = strchr(text, '['), *end;

	*setting = (struct gpumon_gpuprog_setting){ .name = text, .last = UINT64_MAX };
	if (!at || at == text)
		return false;
	setting->length = (size_t)(at++ - text);
	if (!strncmp(at, "*]", 2)) {
		at += 2;
	} else {
		if (*at == '-' || !read_number(at, ']', &setting->first, &at))
			return false;
		setting->last = setting->first;
	}
	return *at == '=' && read_number(at + 1, '\0', &setting->number, &end);
}

int gpumon_gpuprog_set_read(const char *text, struct gpumon_gpuprog_setting *setting,
			    struct gpumon_error *err)
{
	if (read_setting(text, setting))
		return 0;
	return REFUSE(err, "--set %.80s: say MAP[INDEX]=NUMBER, or MAP[*]=NUMBER for all values",
		      text);
}

int gpumon_gpuprog_set_fits(const struct gpumon_gpuprog_setting *setting, const char *text,
			    uint32_t value_size, uint32_t entries, struct gpumon_error *err)
{
	if (value_size > 8 || value_size & (value_size - 1))
		return REFUSE(err,
			      "--set %.80s: a value of it has %u bytes: only numbers can be set",
			      text, value_size);
	if (setting->first >= entries)
		return REFUSE(err, "--set %.80s: its indexes are 0 to %u", text, entries - 1);
	if (value_size < 8 && setting->number >> 8 * value_size &&
	    ~setting->number >> (8 * value_size - 1))
		return REFUSE(err, "--set %.80s: the number does not fit into %u bytes", text,
			      value_size);
	return 0;
}

static int check_map(const struct gpumon_gpuprog_map *map,
		     const struct gpumon_gpuprog_setting *setting, const char *text,
		     struct gpumon_error *err)
{
	if (!map)
		return REFUSE(err, "--set %.80s: no program for the GPU uses a map of this name",
			      text);
	if (map->kind != GPUMON_GPUPROG_MAP_ARRAY)
		return REFUSE(err, "--set %.80s: only arrays can be set", text);
	if (gpumon_gpuprog_set_fits(setting, text, map->value_size, map->max_entries, err))
		return -1;
	if (gpumon_gpuprog_map_bytes(map, 1) > BYTES_MAX)
		return REFUSE(err, "--set %.80s: it has more than %llu MiB", text, BYTES_MAX >> 20);
	return 0;
}

int gpumon_gpuprog_set(struct gpumon_gpuprog_object *object, const char *text,
		       struct gpumon_error *err)
{
	struct gpumon_gpuprog_map *map;
	struct gpumon_gpuprog_setting setting;
	uint64_t step;
	uint8_t *data;

	if (gpumon_gpuprog_set_read(text, &setting, err))
		return -1;
	map = gpumon_gpuprog_object_map(object, setting.name, setting.length);
	if (!map && object->cpu_n)
		return 1;
	if (check_map(map, &setting, text, err))
		return -1;
	data = (uint8_t *)(uintptr_t)map->data;
	if (!data)
		data = gpumon_pool_zalloc(&object->pool, gpumon_gpuprog_map_bytes(map, 1));
	step = gpumon_gpuprog_value_bytes(map);
	for (uint64_t i = setting.first; i <= setting.last && i < map->max_entries; i++)
		memcpy(data + i * step, &setting.number, map->value_size);
	map->data = data;
	return 0;
}
