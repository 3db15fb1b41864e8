// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Lines of functions: their ids, found again by where the code object is and
 * what is in it, without a lock.
 *
 * A code object may be freed and another one made at its address. What is
 * looked up is therefore also where its name, file and table of lines are, the
 * texts' lengths and hashes, and where the function begins: one that has all
 * of these in common has the same name and lines.
 */
#include <sys/mman.h>

#include "python_layout.h"
#include "python_stack.h"

#define FUNCTION_MAX 500
#define FILE_MAX     1000

/* In words behind the begin of a text: its length, and its hash, -1 before that is needed. */
#define TEXT_LENGTH 16
#define TEXT_HASH   24

#define WAYS 4
#define BITS 13

/* As in stack_rule.h: two words that belong together. */
struct line_of_ids {
	struct {
		_Atomic uint64_t check;
		_Atomic uint64_t id;
	} way[WAYS];
} __attribute__((aligned(64)));

static struct line_of_ids *table;

bool gpumon_python_code_init(void)
{
	void *memory;

	if (table)
		return true;
	memory = mmap(NULL, sizeof(*table) << BITS, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	table = memory;
	return true;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static uint64_t check_of(uint64_t key, uint64_t id)
{
	return key ^ (id * 0xd6e8feb86659fd93ull);
}

static uint32_t find(uint64_t key)
{
	struct line_of_ids *line = &table[key >> (64 - BITS)];

	for (unsigned int i = 0; i < WAYS; i++) {
		uint64_t id = atomic_load_explicit(&line->way[i].id, memory_order_relaxed);
		uint64_t check = atomic_load_explicit(&line->way[i].check, memory_order_relaxed);

		if (id && check == check_of(key, id))
			return (uint32_t)id;
	}
	return 0;
}

/* Two threads that write the same place at once leave a pair that fits nothing. */
static void keep(uint64_t key, uint32_t id)
{
	static _Atomic unsigned int turn;
	struct line_of_ids *line = &table[key >> (64 - BITS)];
	unsigned int way = atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed) % WAYS;

	for (unsigned int i = 0; i < WAYS; i++) {
		if (!atomic_load_explicit(&line->way[i].id, memory_order_relaxed)) {
			way = i;
			break;
		}
	}
	atomic_store_explicit(&line->way[way].check, check_of(key, id), memory_order_relaxed);
	atomic_store_explicit(&line->way[way].id, id, memory_order_relaxed);
}

/* A text as UTF-8 with an end, whole characters only. Its functions need no lock to read it. */
static size_t copy_text(uint64_t text, char *to, size_t room)
{
	void *object = (void *)(uintptr_t)text;
	ssize_t length = gpumon_python.length(object);
	size_t used = 0;

	for (ssize_t i = 0; i < length && used + 5 <= room; i++) {
		uint32_t c = gpumon_python.character(object, i);

		if (c < 0x80) {
			to[used++] = (char)c;
		} else if (c < 0x800) {
			to[used++] = (char)(0xc0 | c >> 6);
			to[used++] = (char)(0x80 | (c & 0x3f));
		} else if (c < 0x10000) {
			to[used++] = (char)(0xe0 | c >> 12);
			to[used++] = (char)(0x80 | (c >> 6 & 0x3f));
			to[used++] = (char)(0x80 | (c & 0x3f));
		} else {
			to[used++] = (char)(0xf0 | (c >> 18 & 7));
			to[used++] = (char)(0x80 | (c >> 12 & 0x3f));
			to[used++] = (char)(0x80 | (c >> 6 & 0x3f));
			to[used++] = (char)(0x80 | (c & 0x3f));
		}
	}
	to[used] = '\0';
	return used;
}

int64_t gpumon_python_offset(struct gpumon_python_reader *reader, uint64_t code,
			     uint64_t instruction)
{
	const struct gpumon_python_layout *layout = &gpumon_python.layout;
	int64_t units;

	if (layout->instruction_unit)
		return (int64_t)(int32_t)(uint32_t)instruction * layout->instruction_unit;
	units = (int64_t)gpumon_python_word(reader, code + GPUMON_PYTHON_SIZE);
	instruction -= code + layout->instructions;
	/* In front of the first instruction, or at one of them. */
	if ((int64_t)instruction < -2 || (int64_t)instruction > units * 2 || instruction & 1)
		reader->bad = true;
	return (int64_t)instruction;
}

/**
 * struct code - what a code object says
 * @offset: of the instruction
 * @name: text
 * @file: text
 * @lines: table
 * @first_line: number
 */
struct code {
	int64_t offset;
	uint64_t name;
	uint64_t file;
	uint64_t lines;
	uint32_t first_line;
};

/* Names and the table have the types that they have to have, and lines are where they are. */
static bool is_plausible(struct gpumon_python_reader *reader, uint64_t address,
			 const struct code *code)
{
	uint64_t code_type = gpumon_python_word(reader, address + GPUMON_PYTHON_TYPE);
	uint64_t name_type = gpumon_python_word(reader, code->name + GPUMON_PYTHON_TYPE);
	uint64_t file_type = gpumon_python_word(reader, code->file + GPUMON_PYTHON_TYPE);
	uint64_t lines_type = gpumon_python_word(reader, code->lines + GPUMON_PYTHON_TYPE);

	return !reader->bad && code_type == gpumon_python.code_type &&
	       name_type == gpumon_python.text_type && file_type == gpumon_python.text_type &&
	       lines_type == gpumon_python.bytes_type &&
	       gpumon_python.line((void *)(uintptr_t)address, -1) == (int)code->first_line;
}

static uint32_t intern_new(uint64_t address, const struct code *code,
			   const struct gpumon_python_intern *intern)
{
	struct gpumon_python_frame frame;
	char function[FUNCTION_MAX + 8];
	char file[FILE_MAX + 8];
	int line = gpumon_python.line((void *)(uintptr_t)address, (int)code->offset);

	frame.function = function;
	frame.function_length = copy_text(code->name, function, FUNCTION_MAX);
	frame.file = file;
	frame.file_length = copy_text(code->file, file, FILE_MAX);
	frame.line = line > 0 ? (uint32_t)line : 0;
	frame.first_line = code->first_line;
	return intern->frame(intern->context, &frame);
}

uint32_t gpumon_python_code_id(struct gpumon_python_reader *reader, uint64_t address,
			       uint64_t instruction, const struct gpumon_python_intern *intern)
{
	const struct gpumon_python_layout *layout = &gpumon_python.layout;
	struct code code;
	uint64_t key;
	uint32_t id;

	code.offset = gpumon_python_offset(reader, address, instruction);
	code.name = gpumon_python_word(reader, address + layout->name);
	code.file = gpumon_python_word(reader, address + layout->file);
	code.lines = gpumon_python_word(reader, address + layout->lines);
	code.first_line = gpumon_python_int(reader, address + layout->first_line);
	if (reader->bad)
		return 0;

	key = mix(intern->generation, address);
	key = mix(key, (uint64_t)code.offset << 32 | code.first_line);
	key = mix(key, code.name ^ code.file << 20);
	key = mix(key, code.lines);
	key = mix(key, gpumon_python_word(reader, code.name + TEXT_LENGTH));
	key = mix(key, gpumon_python_word(reader, code.name + TEXT_HASH));
	key = mix(key, gpumon_python_word(reader, code.file + TEXT_LENGTH));
	key = mix(key, gpumon_python_word(reader, code.file + TEXT_HASH));
	if (reader->bad)
		return 0;
	id = find(key);
	if (__builtin_expect(id != 0, 1))
		return id;
	if (!is_plausible(reader, address, &code)) {
		reader->bad = true;
		return 0;
	}
	id = intern_new(address, &code, intern);
	if (id)
		keep(key, id);
	return id;
}
