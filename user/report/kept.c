// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kept.h"
#include "lib/array.h"
#include "lib/pool.h"
#include "lib/read_at.h"

#define HEAD "gpumon-symbols 1\n"
/* The file is not trusted: read no more than this. */
#define FILE_MAX (256u << 20)

struct function {
	struct gpumon_symbol symbol;
	uint32_t next; /* function that it is inlined into: number + 1 */
};

struct gpumon_kept {
	struct gpumon_pool pool;
	struct gpumon_keys places;
	uint32_t *first; /* of an address: number + 1 */
	uint32_t first_room;
	struct function *functions;
	uint32_t used;
	uint32_t room;
};

bool gpumon_symbol_is_name(const struct gpumon_symbol *symbol)
{
	size_t length = strlen(symbol->module);

	return strncmp(symbol->function, symbol->module, length) != 0 ||
	       strncmp(symbol->function + length, "+0x", 3) != 0;
}

/* --- writing */

static void write_field(FILE *out, const char *text, char end)
{
	for (; *text; text++) {
		switch (*text) {
		case '\\':
			fputs("\\\\", out);
			break;
		case '\t':
			fputs("\\t", out);
			break;
		case '\n':
			fputs("\\n", out);
			break;
		default:
			putc(*text, out);
		}
	}
	putc(end, out);
}

void gpumon_kept_write(FILE *out, uint64_t address, uint32_t epoch,
		       const struct gpumon_symbol *found, unsigned int count)
{
	if (ftell(out) == 0)
		fputs(HEAD, out);
	fprintf(out, "@%" PRIx64 " %" PRIu32 "\n", address, epoch);
	for (unsigned int i = 0; i < count; i++) {
		putc(i + 1 < count && found[i].inlined ? '+' : '=', out);
		write_field(out, found[i].function, '\t');
		write_field(out, found[i].module, '\t');
		fprintf(out, "%u\t", found[i].line);
		write_field(out, found[i].file, '\n');
	}
}

/* --- reading */

/* Take the next field of a line and unescape it in place. NULL if there is none. */
static char *take_field(char **at)
{
	char *field = *at, *to = field, *from = field;

	if (!field)
		return NULL;
	for (; *from && *from != '\t'; from++) {
		if (*from == '\\' && from[1]) {
			from++;
			*to++ = *from == 't' ? '\t' : *from == 'n' ? '\n' : *from;
		} else {
			*to++ = *from;
		}
	}
	*at = *from ? from + 1 : NULL;
	*to = '\0';
	return field;
}

/* 1: a new address, 0: invalid or already known, -1: no memory. */
static int add_place(struct gpumon_kept *kept, const char *line, uint32_t *place)
{
	struct gpumon_key key = { { 0 } };
	const uint32_t *first;
	uint64_t epoch;
	bool added;
	char *end;

	errno = 0;
	key.part[0] = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return 0;
	epoch = strtoull(end + 1, &end, 10);
	if (*end || errno || epoch > UINT32_MAX)
		return 0;
	key.part[1] = epoch;
	first = GPUMON_KEYS_VALUE(&kept->places, &key, kept->first, kept->first_room, &added);
	if (!first)
		return -1;
	*place = (uint32_t)(first - kept->first);
	return added;
}

static int add_function(struct gpumon_kept *kept, char *line, uint32_t *last)
{
	bool inlined = *line == '+';
	char *at = line + 1, *text[4];
	struct function *function;
	char *end;

	for (unsigned int i = 0; i < 4; i++) {
		text[i] = take_field(&at);
		if (!text[i])
			return 0;
	}
	function = GPUMON_ARRAY_ADD(kept->functions, kept->used, kept->room);
	if (!function)
		return -1;
	function->symbol.inlined = inlined;
	function->symbol.function = gpumon_pool_text(&kept->pool, text[0]);
	function->symbol.module = gpumon_pool_text(&kept->pool, text[1]);
	function->symbol.line = (unsigned int)strtoul(text[2], &end, 10);
	function->symbol.file = gpumon_pool_text(&kept->pool, text[3]);
	if (!function->symbol.function || !function->symbol.module || !function->symbol.file)
		return -1;
	*last = kept->used;
	return 1;
}

static int add_line(struct gpumon_kept *kept, char *line, uint32_t *place, uint32_t *previous)
{
	uint32_t number;
	int ret;

	if (*line == '@') {
		*previous = 0;
		ret = add_place(kept, line + 1, place);
		if (ret <= 0)
			*place = GPUMON_KEY_NONE;
		return ret;
	}
	if ((*line != '=' && *line != '+') || *place == GPUMON_KEY_NONE)
		return 0;
	ret = add_function(kept, line, &number);
	if (ret <= 0)
		return ret;
	if (*previous)
		kept->functions[*previous - 1].next = number;
	else
		kept->first[*place] = number;
	*previous = number;
	return 1;
}

static int parse_kept(struct gpumon_kept *kept, char *text)
{
	uint32_t place = GPUMON_KEY_NONE, previous = 0;

	while (*text) {
		char *end = strchr(text, '\n');

		/* Ignore an incomplete last line. */
		if (!end)
			return 0;
		*end = '\0';
		if (add_line(kept, text, &place, &previous) < 0)
			return -1;
		text = end + 1;
	}
	return 0;
}

struct gpumon_kept *gpumon_kept_read(const char *path)
{
	struct gpumon_kept *kept;
	char *text = gpumon_read_file(AT_FDCWD, path, FILE_MAX);

	if (!text)
		return NULL;
	if (strncmp(text, HEAD, strlen(HEAD)) != 0) {
		free(text);
		errno = EINVAL;
		return NULL;
	}
	kept = calloc(1, sizeof(*kept));
	if (kept && parse_kept(kept, text + strlen(HEAD))) {
		gpumon_kept_free(kept);
		kept = NULL;
	}
	free(text);
	if (!kept)
		errno = ENOMEM;
	return kept;
}

unsigned int gpumon_kept_find(const struct gpumon_kept *kept, uint64_t address, uint32_t epoch,
			      struct gpumon_symbol *found, unsigned int room)
{
	const struct gpumon_key key = { { address, epoch } };
	unsigned int count = 0;
	uint32_t place, number;

	if (!kept)
		return 0;
	/* Without @added nothing is added, so the cast is safe. */
	place = gpumon_keys_number((struct gpumon_keys *)&kept->places, &key, NULL);
	if (place == GPUMON_KEY_NONE)
		return 0;
	for (number = kept->first[place]; number && count < room;
	     number = kept->functions[number - 1].next)
		found[count++] = kept->functions[number - 1].symbol;
	return count;
}

void gpumon_kept_free(struct gpumon_kept *kept)
{
	if (!kept)
		return;
	gpumon_pool_clear(&kept->pool);
	gpumon_keys_clear(&kept->places);
	free(kept->first);
	free(kept->functions);
	free(kept);
}
