// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "base/utf8.h"
#include "object.h"

/* Offsets in a text: its length; bits that say how long a character is, and where characters are. */
#define TEXT_LENGTH		16
#define TEXT_STATE		32
#define STATE_KIND(state)	((state) >> 2 & 7)
#define STATE_IS_COMPACT(state) ((state) >> 5 & 1)
#define STATE_IS_ASCII(state)	((state) >> 6 & 1)

/* From where the characters of a text of ASCII begin to those of another one. */
#define TEXT_LONGER(ascii) ((ascii) == 48 ? 24u : 16u)

/* A text longer than this is none. */
#define TEXT_MAX (1u << 20)

/* Of an object of bytes. */
#define BYTES_DATA 32
#define BYTES_MAX  (1u << 20)

static uint32_t character_at(struct inject_python_reader *reader, uint64_t data, uint64_t index,
			     unsigned int size)
{
	uint32_t value = inject_python_int(reader, data + index * size);

	return size == 4 ? value : value & ((1u << size * 8) - 1);
}

size_t inject_python_text(struct inject_python_reader *reader, uint64_t text, char *to, size_t room)
{
	uint64_t length = inject_python_word(reader, text + TEXT_LENGTH);
	uint32_t state = inject_python_int(reader, text + TEXT_STATE);
	uint64_t data = text + inject_python.layout.text;
	unsigned int size = STATE_KIND(state);
	size_t used = 0;

	to[0] = '\0';
	if (!STATE_IS_COMPACT(state) || (size != 1 && size != 2 && size != 4) || length > TEXT_MAX)
		reader->bad = true;
	if (reader->bad)
		return 0;
	if (!STATE_IS_ASCII(state))
		data += TEXT_LONGER(inject_python.layout.text);
	for (uint64_t i = 0; i < length && used + 5 <= room; i++)
		used += inject_utf8_character(character_at(reader, data, i, size), to + used);
	to[used] = '\0';
	return reader->bad ? 0 : used;
}

/**
 * struct table - bytes of a table of lines
 * @reader: loads
 * @at: address of the next one
 * @end: behind the last one
 */
struct table {
	struct inject_python_reader *reader;
	uint64_t at;
	uint64_t end;
};

static uint8_t next_byte(struct table *table)
{
	if (table->at >= table->end) {
		table->reader->bad = true;
		return 0;
	}
	return inject_python_byte(table->reader, table->at++);
}

/* Six bits in each byte, the lowest first. */
static uint32_t next_number(struct table *table)
{
	uint32_t value = 0;
	uint8_t byte;

	for (unsigned int shift = 0; shift < 32; shift += 6) {
		byte = next_byte(table);
		value |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return value;
}

static int32_t next_signed(struct table *table)
{
	uint32_t value = next_number(table);

	return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/* Forms of an entry of a table of 3.11 and later, beside those with the columns of one line. */
enum {
	FORM_ONE_LINE_0 = 10, /* and 11, 12: that many lines on, less 10 */
	FORM_NO_COLUMNS = 13,
	FORM_LONG = 14,
	FORM_NONE = 15,
};

/* How many lines an entry is on from the one before; *@has_line: it is of a line. */
static int32_t next_delta(struct table *table, unsigned int form, bool *has_line)
{
	int32_t delta = 0;

	*has_line = form != FORM_NONE;
	if (form == FORM_LONG) {
		delta = next_signed(table);
		for (unsigned int i = 0; i < 3; i++)
			next_number(table);
	} else if (form == FORM_NO_COLUMNS) {
		delta = next_signed(table);
	} else if (form < FORM_NO_COLUMNS) {
		next_byte(table);
		if (form >= FORM_ONE_LINE_0) {
			delta = (int32_t)form - FORM_ONE_LINE_0;
			next_byte(table);
		}
	}
	return delta;
}

/* Of 3.10: pairs of bytes. -128 lines on: of no line. */
static int32_t next_pair(struct table *table, int64_t *end, bool *has_line)
{
	int8_t delta;

	*end += next_byte(table);
	delta = (int8_t)next_byte(table);
	*has_line = delta != -128;
	return *has_line ? delta : 0;
}

uint32_t inject_python_line(struct inject_python_reader *reader, uint64_t lines,
			    uint32_t first_line, int64_t offset)
{
	bool is_old = inject_python.layout.linkage == INJECT_PYTHON_CFRAMES, has_line;
	uint64_t size = inject_python_word(reader, lines + INJECT_PYTHON_SIZE);
	struct table table = { reader, lines + BYTES_DATA, lines + BYTES_DATA + size };
	int32_t line = (int32_t)first_line;
	int64_t end = 0;
	uint8_t head;

	if (offset < 0)
		return first_line;
	if (size > BYTES_MAX)
		reader->bad = true;
	while (!reader->bad && table.at < table.end) {
		if (is_old) {
			line += next_pair(&table, &end, &has_line);
		} else {
			head = next_byte(&table);
			end += ((head & 7) + 1) * 2;
			line += next_delta(&table, head >> 3 & 15, &has_line);
		}
		if (offset < end)
			return !reader->bad && has_line && line > 0 ? (uint32_t)line : 0;
	}
	return 0;
}
