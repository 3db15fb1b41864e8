// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Any bytes as a perf-PID.map: results must agree with a slow and simple reader, and the copy has
 * the same lines and no others.
 */
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "capture/perf_map.h"

#define LINES_MAX    4096
#define NAME_MAX_LEN 4096

struct line {
	uint64_t start, end;
	const char *name;
	size_t length;
};

static struct line lines[LINES_MAX];
static size_t n_lines;

static bool take_hex(const char **at, const char *end, uint64_t *number)
{
	char text[17] = "";
	const char *digits = *at, *stop;

	if (end - digits >= 2 && digits[0] == '0' && (digits[1] | 32) == 'x')
		digits += 2;
	for (stop = digits; stop < end && isxdigit((unsigned char)*stop);)
		stop++;
	if (stop == digits || stop == end || (*stop != ' ' && *stop != '\t'))
		return false;
	while (digits < stop && *digits == '0')
		digits++;
	if (stop - digits > 16)
		return false;
	memcpy(text, digits, (size_t)(stop - digits));
	*number = strtoull(text, NULL, 16);
	for (*at = stop; *at < end && (**at == ' ' || **at == '\t');)
		(*at)++;
	return true;
}

static void read_lines(const char *text, size_t size)
{
	const char *end = text + size, *stop;

	n_lines = 0;
	for (const char *at = text; (stop = memchr(at, '\n', (size_t)(end - at))); at = stop + 1) {
		struct line *line = &lines[n_lines];
		const char *to = stop;
		uint64_t bytes;

		if (n_lines == LINES_MAX)
			return;
		line->name = at;
		if (!take_hex(&line->name, stop, &line->start) ||
		    !take_hex(&line->name, stop, &bytes) || !bytes ||
		    bytes > UINT64_MAX - line->start)
			continue;
		while (to > line->name && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
			to--;
		line->length = (size_t)(to - line->name);
		line->end = line->start + bytes;
		if (line->length > NAME_MAX_LEN)
			line->length = NAME_MAX_LEN;
		n_lines += line->length > 0;
	}
}

static void compare(struct gpumon_perf_map *map, uint64_t address)
{
	const struct line *line = NULL;
	size_t length = 0;
	const char *name = gpumon_perf_map_find(map, address, &length);

	for (size_t i = n_lines; i && !line; i--)
		if (address >= lines[i - 1].start && address < lines[i - 1].end)
			line = &lines[i - 1];
	MUST(!name == !line);
	MUST(!name || (length == line->length && !memcmp(name, line->name, length)));
}

static int make(void *data)
{
	return open(data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static struct gpumon_perf_map *check(const char *path)
{
	struct gpumon_perf_map *map = gpumon_perf_map_new(path);

	MUST(map);
	compare(map, 0);
	for (size_t i = 0; i < n_lines && i < 200; i++) {
		compare(map, lines[i].start);
		compare(map, lines[i].start - 1);
		compare(map, lines[i].end);
		compare(map, lines[i].end - 1);
	}
	return map;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpumon_perf_map *map;
	const char *path = fuzz_path("perf-1.map"), *copy = fuzz_path("copy");
	char *copied;
	int fd, ret;
	size_t n;

	fuzz_write(path, data, size);
	read_lines((const char *)data, size);
	if (n_lines == LINES_MAX)
		return 0;
	gpumon_perf_map_free(check(path));

	unlink(copy);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	MUST(fd >= 0);
	ret = gpumon_perf_map_write(fd, make, (void *)(uintptr_t)copy);
	close(fd);
	MUST(ret == (n_lines > 0));
	if (!ret)
		return 0;
	copied = fuzz_read(copy, &n);
	read_lines(copied, n);
	map = check(copy);
	gpumon_perf_map_free(map);
	free(copied);
	return 0;
}
