// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Cases as text: a line for each action, "NAME slot a b c bytes" with the bytes in
 * hexadecimal or "-"; '#' begins a comment, an empty line ends a case.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static const char *const names[ACTION_KINDS] = {
	[ACTION_SOCKET] = "socket",   [ACTION_CLOSE] = "close",	  [ACTION_SEND] = "send",
	[ACTION_RECEIVE] = "receive", [ACTION_JOIN] = "join",	  [ACTION_LEAVE] = "leave",
	[ACTION_OPEN] = "open",	      [ACTION_READ] = "read",	  [ACTION_PREAD] = "pread",
	[ACTION_SEEK] = "seek",	      [ACTION_READV] = "readv",	  [ACTION_WRITE] = "write",
	[ACTION_POLL] = "poll",	      [ACTION_MAP] = "map",	  [ACTION_IOCTL] = "ioctl",
	[ACTION_SHUT] = "shut",	      [ACTION_PIECES] = "pieces",
};

uint64_t random_state = 1;

/* splitmix64: small, and every seed works. */
uint32_t random_u32(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) >> 32;
}

uint32_t random_below(uint32_t limit)
{
	return limit ? random_u32() % limit : 0;
}

bool random_chance(unsigned int one_in)
{
	return !random_below(one_in);
}

unsigned int get_u16(const unsigned char *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

uint32_t get_u32(const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

uint64_t get_u64(const unsigned char *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

void set_u16(unsigned char *at, unsigned int value)
{
	uint16_t narrow = value;

	memcpy(at, &narrow, sizeof(narrow));
}

void set_u32(unsigned char *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

/* Returns the size including the padding for the next one. */
unsigned int put_attr(unsigned char *at, unsigned int type, const void *payload,
		      unsigned int length)
{
	set_u16(at, 4 + length);
	set_u16(at + 2, type);
	if (length)
		memcpy(at + 4, payload, length);
	memset(at + 4 + length, 0, ALIGN4(length) - length);
	return 4 + ALIGN4(length);
}

void case_clear(struct test_case *test)
{
	while (test->count)
		case_remove(test, test->count - 1);
}

/* Returns the new action, or NULL if there is no room. The bytes are copied. */
struct action *case_add(struct test_case *test, unsigned int at, const struct action *action)
{
	struct action *new;

	if (test->count == MAX_ACTIONS)
		return NULL;
	new = &test->actions[at];
	memmove(new + 1, new, (test->count - at) * sizeof(*new));
	test->count++;
	*new = *action;
	new->bytes = NULL;
	if (action->length) {
		new->bytes = malloc(action->length);
		if (!new->bytes)
			abort();
		memcpy(new->bytes, action->bytes, action->length);
	}
	return new;
}

void case_remove(struct test_case *test, unsigned int at)
{
	free(test->actions[at].bytes);
	test->count--;
	memmove(&test->actions[at], &test->actions[at + 1],
		(test->count - at) * sizeof(test->actions[0]));
}

void case_copy(struct test_case *to, const struct test_case *from)
{
	unsigned int i;

	case_clear(to);
	for (i = 0; i < from->count; i++)
		case_add(to, i, &from->actions[i]);
}

void case_print(const struct test_case *test, FILE *file)
{
	const struct action *action;
	unsigned int i;

	for (action = test->actions; action < test->actions + test->count; action++) {
		fprintf(file, "%s %u 0x%x 0x%x 0x%llx ", names[action->kind], action->slot,
			action->a, action->b, (unsigned long long)action->c);
		for (i = 0; i < action->length; i++)
			fprintf(file, "%02x", action->bytes[i]);
		fputs(action->length ? "\n" : "-\n", file);
	}
	fputc('\n', file);
}

static unsigned int parse_bytes(const char *text, unsigned char *bytes)
{
	unsigned int length = 0, value;

	while (length < MAX_BYTES && sscanf(text, "%2x", &value) == 1) {
		bytes[length++] = value;
		if (!text[1])
			break;
		text += 2;
	}
	return length;
}

static bool parse_action(const char *line, struct action *action, unsigned char *bytes)
{
	static char text[2 * MAX_BYTES + 2];
	char name[16];
	unsigned long long c;
	unsigned int kind;

	if (sscanf(line, "%15s %u %x %x %llx %8192s", name, &action->slot, &action->a, &action->b,
		   &c, text) != 6)
		return false;
	for (kind = 0; kind < ACTION_KINDS; kind++)
		if (!strcmp(name, names[kind]))
			break;
	if (kind == ACTION_KINDS || action->slot >= SOCKETS)
		return false;
	action->kind = kind;
	action->c = c;
	action->length = strcmp(text, "-") ? parse_bytes(text, bytes) : 0;
	action->bytes = bytes;
	return true;
}

/* Read the next case of a file. Returns 1, 0 at its end, or -1 after reporting an invalid line. */
int case_read(struct test_case *test, FILE *file, const char *name, unsigned int *line)
{
	static char text[2 * MAX_BYTES + 128];
	static unsigned char bytes[MAX_BYTES];
	struct action action;

	case_clear(test);
	while (fgets(text, sizeof(text), file)) {
		++*line;
		if (text[0] == '#')
			continue;
		if (text[0] == '\n') {
			if (test->count)
				return 1;
			continue;
		}
		if (!parse_action(text, &action, bytes) || !case_add(test, test->count, &action)) {
			fprintf(stderr, "%s:%u: not an action of a case: %s", name, *line, text);
			return -1;
		}
	}
	return test->count > 0;
}
