// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/read_at.h"
#include "check.h"
#include "gpuprog/ptx/translate.h"
#include "tools.h"

int gpumon_probe_cannot_read(const char *path, int error, struct gpumon_error *err)
{
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO, "%s: %s", path,
				strerror(error));
}

static int read_descriptor(int fd, const char *path, struct gpumon_probe_check *check,
			   struct gpumon_error *err)
{
	check->bytes = gpumon_read_whole(fd, GPUMON_PROBE_MAX_OBJECT, &check->size);
	if (check->bytes)
		return 0;
	if (errno == EFBIG || errno == EINVAL)
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_IO,
			"%s: not a file of at most 4 MiB; name an object file made by clang -target bpf",
			path);
	return gpumon_probe_cannot_read(path, errno, err);
}

static int read_file(const char *path, struct gpumon_probe_check *check, struct gpumon_error *err)
{
	const struct gpumon_probe_tool *tool;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;

	/* A mistyped name of a tool rather than a missing file. */
	if (fd < 0 && (errno == ENOENT || errno == ENAMETOOLONG) && !strpbrk(path, "/."))
		return gpumon_probe_tool_find(path, &tool, err);
	if (fd < 0)
		return gpumon_probe_cannot_read(path, errno, err);
	ret = read_descriptor(fd, path, check, err);
	if (!ret)
		ret = gpumon_probe_object_read(check->bytes, check->size, path, &check->object,
					       err);
	close(fd);
	return ret;
}

static int read_object(const char *name, struct gpumon_probe_check *check, struct gpumon_error *err)
{
	const struct gpumon_probe_tool *tool;

	if (!gpumon_probe_is_tool(name))
		return read_file(name, check, err);
	if (gpumon_probe_tool_find(name, &tool, err))
		return -1;
	return gpumon_probe_object_read(tool->object, (size_t)(tool->end - tool->object), name,
					&check->object, err);
}

static uint32_t count_checked(const struct gpumon_probe_fact *facts, uint32_t count)
{
	uint32_t checked = 0;

	for (uint32_t i = 0; i < count; i++)
		checked += facts[i].reached && facts[i].address.check;
	return checked;
}

/* What is refused for a new GPU is refused for each. */
static int try_translation(const struct gpumon_probe_program *program,
			   const struct gpumon_probe_fact *facts, struct gpumon_error *err)
{
	const struct gpumon_probe_target target = {
		.isa = gpumon_probe_isa(90), .sm = 90, .shards = 1, .fuel = 1
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int ret;

	if (!out)
		return gpumon_error_memory(err);
	ret = gpumon_probe_translate(program, facts, &target, out, err);
	fclose(out);
	free(text);
	return ret;
}

static int verify_program(const struct gpumon_probe_program *program,
			  const struct gpumon_probe_rules *rules,
			  struct gpumon_probe_verdict *verdict)
{
	verdict->facts = calloc(program->steps_n, sizeof(*verdict->facts));
	if (!verdict->facts)
		return gpumon_error_memory(&verdict->refusal);
	if (gpumon_probe_verify(program, rules, verdict->facts, &verdict->refusal) ||
	    try_translation(program, verdict->facts, &verdict->refusal)) {
		free(verdict->facts);
		verdict->facts = NULL;
		return -1;
	}
	verdict->checked = count_checked(verdict->facts, program->steps_n);
	return 0;
}

int gpumon_probe_check(const char *name, const struct gpumon_probe_rules *rules,
		       struct gpumon_probe_check *check, struct gpumon_error *err)
{
	memset(check, 0, sizeof(*check));
	if (read_object(name, check, err))
		return -1;
	check->verdicts = calloc(check->object.programs_n + 1, sizeof(*check->verdicts));
	if (!check->verdicts)
		return gpumon_probe_cannot_read(name, ENOMEM, err);
	for (uint32_t i = 0; i < check->object.programs_n; i++) {
		if (verify_program(&check->object.programs[i], rules, &check->verdicts[i]))
			check->refused++;
		check->facts[i] = check->verdicts[i].facts;
	}
	return 0;
}

void gpumon_probe_check_clear(struct gpumon_probe_check *check)
{
	for (uint32_t i = 0; check->verdicts && i < check->object.programs_n; i++)
		free(check->verdicts[i].facts);
	free(check->verdicts);
	free(check->bytes);
	gpumon_probe_object_clear(&check->object);
	memset(check, 0, sizeof(*check));
}
