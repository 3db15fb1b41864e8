// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Lines of functions: their ids, found again by where the code object is and
 * what is in it, without a lock.
 *
 * A code object may be freed and another one made at its address. Where an
 * interpreter numbers them (3.12 and 3.13), the number tells them apart. Elsewhere,
 * and once it has used up its numbers, what is looked up is also where the name, file
 * and table of lines are, the texts' lengths and hashes, and where the function
 * begins: one that has all of these in common has the same name and lines. The
 * number is beside the first line, while all else costs a miss of the cache each.
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#include "base/utf8.h"
#include "layout.h"
#include "stack.h"

#define FUNCTION_MAX 500
#define FILE_MAX     1000

/* Offsets in a text: its length, and its hash, which is -1 until it is needed. */
#define TEXT_LENGTH 16
#define TEXT_HASH   24

#define WAYS 4
#define BITS 11

/* As in stack/rule.h: two words that belong together. */
struct line_of_ids {
	struct {
		_Atomic uint64_t check;
		_Atomic uint64_t id;
	} way[WAYS];
} __attribute__((aligned(64)));

static struct line_of_ids *table;

bool inject_python_code_init(void)
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

/* What identifies a line of a code object; from KEY_IDENTITY on the object at an address. */
enum {
	KEY_ADDRESS,
	KEY_INSTRUCTION,
	KEY_IDENTITY,
	KEY_FILE = KEY_IDENTITY,
	KEY_VERSION, /* and first line */
	KEY_WORDS_NUMBERED,
	KEY_NAME = KEY_WORDS_NUMBERED,
	KEY_NAME_LENGTH,
	KEY_NAME_HASH,
	KEY_FILE_LENGTH,
	KEY_FILE_HASH,
	KEY_LINES,
	KEY_WORDS,
};

_Static_assert(KEY_WORDS - KEY_IDENTITY == INJECT_PYTHON_IDENTITY, "an identity has its room");

/* A sum of products that can be computed in parallel. */
static inline uint64_t hash_key(const uint64_t *key, unsigned int words, uint64_t generation)
{
	static const uint64_t factors[KEY_WORDS] = {
		0x9e3779b97f4a7c15ull, 0xbf58476d1ce4e5b9ull, 0x94d049bb133111ebull,
		0xd6e8feb86659fd93ull, 0xa0761d6478bd642full, 0xe7037ed1a0b428dbull,
		0x8ebc6af09c88c6e3ull, 0x589965cc75374cc3ull, 0x1d8e4e27c47d124full,
		0x4be98134a5976fd3ull,
	};
	uint64_t sum = generation * 0xeb44accab455d165ull;

#pragma GCC unroll 10
	for (unsigned int i = 0; i < words; i++)
		sum += key[i] * factors[i];
	sum ^= sum >> 32;
	sum *= 0x9e3779b97f4a7c15ull;
	return sum ^ sum >> 29;
}

/*
 * Its hash, where Python needed it before; else its last characters, by which names that are
 * made one after the other differ. Characters of other
 * letters begin behind those of ASCII, so what is read lies within either.
 */
static inline __attribute__((always_inline)) uint64_t text_hash(struct inject_python_reader *reader,
								uint64_t text, uint64_t length)
{
	uint64_t hash = inject_python_word(reader, text + TEXT_HASH);
	uint64_t last;

	if (__builtin_expect(hash != ~0ull, 1) || !length)
		return hash;
	last = text + inject_python.layout.text + length - 1;
	hash = inject_python_word(reader, last & ~7ull);
	if (length > 8)
		hash += inject_python_word(reader, (last - 8) & ~7ull) * 0x9e3779b97f4a7c15ull;
	return hash;
}

static uint64_t line_check(uint64_t key, uint64_t id)
{
	return key ^ (id * 0xd6e8feb86659fd93ull);
}

static inline uint32_t find_line_id(uint64_t key)
{
	struct line_of_ids *line = &table[key >> (64 - BITS)];

	for (unsigned int i = 0; i < WAYS; i++) {
		uint64_t id = atomic_load_explicit(&line->way[i].id, memory_order_relaxed);
		uint64_t check = atomic_load_explicit(&line->way[i].check, memory_order_relaxed);

		if (id && check == line_check(key, id))
			return (uint32_t)id;
	}
	return 0;
}

/* Two threads that write the same entry at once leave a pair that matches no key. */
static void keep_line_id(uint64_t key, uint32_t id)
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
	atomic_store_explicit(&line->way[way].check, line_check(key, id), memory_order_relaxed);
	atomic_store_explicit(&line->way[way].id, id, memory_order_relaxed);
}

/* As UTF-8 with a terminating 0, whole characters only. Reading a text needs no lock. */
static size_t copy_text(uint64_t text, char *to, size_t room)
{
	void *object = (void *)(uintptr_t)text;
	ssize_t length = inject_python.length(object);
	size_t used = 0;

	for (ssize_t i = 0; i < length && used + 5 <= room; i++)
		used += inject_utf8_character(inject_python.character(object, i), to + used);
	to[used] = '\0';
	return used;
}

static inline __attribute__((always_inline)) int64_t
code_offset(struct inject_python_reader *reader, uint64_t code, uint64_t instruction)
{
	const struct inject_python_layout *layout = &inject_python.layout;
	int64_t units;

	if (layout->instruction_unit)
		return (int64_t)(int32_t)(uint32_t)instruction * layout->instruction_unit;
	units = (int64_t)inject_python_word(reader, code + INJECT_PYTHON_SIZE);
	instruction -= code + layout->instructions;
	/* In front of the first instruction, or at one of them. */
	if ((int64_t)instruction < -2 || (int64_t)instruction > units * 2 || instruction & 1)
		reader->bad = true;
	return (int64_t)instruction;
}

/* Where in the code a frame is, in bytes; negative before it has begun. */
static int64_t offset_of(struct inject_python_reader *reader, uint64_t code, uint64_t instruction)
{
	return code_offset(reader, code, instruction);
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

/* Whether names and the table of lines have the right types, and the first line agrees. */
static bool is_plausible(struct inject_python_reader *reader, uint64_t address,
			 const struct code *code)
{
	uint64_t code_type = inject_python_word(reader, address + INJECT_PYTHON_TYPE);
	uint64_t name_type = inject_python_word(reader, code->name + INJECT_PYTHON_TYPE);
	uint64_t file_type = inject_python_word(reader, code->file + INJECT_PYTHON_TYPE);
	uint64_t lines_type = inject_python_word(reader, code->lines + INJECT_PYTHON_TYPE);

	return !reader->bad && code_type == inject_python.code_type &&
	       name_type == inject_python.text_type && file_type == inject_python.text_type &&
	       lines_type == inject_python.bytes_type &&
	       inject_python.line((void *)(uintptr_t)address, -1) == (int)code->first_line;
}

static uint32_t intern_new(uint64_t address, const struct code *code,
			   const struct inject_python_intern *intern, bool *is_written)
{
	struct inject_python_frame frame;
	char function[FUNCTION_MAX + 8];
	char file[FILE_MAX + 8];
	int line = inject_python.line((void *)(uintptr_t)address, (int)code->offset);

	frame.function = function;
	frame.function_length = copy_text(code->name, function, FUNCTION_MAX);
	frame.file = file;
	frame.file_length = copy_text(code->file, file, FILE_MAX);
	frame.line = line > 0 ? (uint32_t)line : 0;
	frame.first_line = code->first_line;
	return intern->frame(intern->context, &frame, is_written);
}

static __attribute__((noinline)) uint32_t
identify_new(struct inject_python_reader *caller, uint64_t address, const struct code *code,
	     uint64_t key, const struct inject_python_intern *intern, bool *is_settled)
{
	bool is_written = true;
	uint32_t id;

	if (!is_plausible(caller, address, code)) {
		caller->bad = true;
		return 0;
	}
	id = intern_new(address, code, intern, &is_written);
	if (id && is_written)
		keep_line_id(key, id);
	else
		*is_settled = false;
	return id;
}

/* Words that are there also where objects are numbered; true if this one is. */
static inline __attribute__((always_inline)) bool read_number(struct inject_python_reader *reader,
							      uint64_t address, uint64_t *words)
{
	const struct inject_python_layout *layout = &inject_python.layout;
	uint64_t version = 0;

	words[KEY_FILE] = inject_python_word(reader, address + layout->file);
	if (layout->version)
		version = inject_python_int(reader, address + layout->version);
	words[KEY_VERSION] = version << 32 |
			     inject_python_int(reader, address + layout->first_line);
	return version;
}

static inline __attribute__((always_inline)) void read_texts(struct inject_python_reader *reader,
							     uint64_t address, uint64_t *words)
{
	const struct inject_python_layout *layout = &inject_python.layout;
	uint64_t name = inject_python_word(reader, address + layout->name);
	uint64_t file = words[KEY_FILE];

	words[KEY_NAME] = name;
	words[KEY_LINES] = inject_python_word(reader, address + layout->lines);
	words[KEY_NAME_LENGTH] = inject_python_word(reader, name + TEXT_LENGTH);
	words[KEY_NAME_HASH] = text_hash(reader, name, words[KEY_NAME_LENGTH]);
	words[KEY_FILE_LENGTH] = inject_python_word(reader, file + TEXT_LENGTH);
	words[KEY_FILE_HASH] = text_hash(reader, file, words[KEY_FILE_LENGTH]);
}

/* Inlined twice, with checked loads and with unchecked ones. */
static inline __attribute__((always_inline)) uint32_t
identify(struct inject_python_reader *reader, uint64_t *words,
	 const struct inject_python_intern *intern, bool *is_settled)
{
	const struct inject_python_layout *layout = &inject_python.layout;
	uint64_t address = words[KEY_ADDRESS];
	struct inject_python_reader again;
	bool is_numbered = read_number(reader, address, words);
	struct code code;
	uint64_t key = 0;
	uint32_t id;

	if (is_numbered) {
		key = hash_key(words, KEY_WORDS_NUMBERED, intern->generation);
		id = find_line_id(key);
		if (__builtin_expect(id && !reader->bad, 1))
			return id;
	}
	code.offset = code_offset(reader, address, words[KEY_INSTRUCTION]);
	if (reader->bad)
		return 0;
	if (!is_numbered) {
		read_texts(reader, address, words);
		if (reader->bad)
			return 0;
		key = hash_key(words, KEY_WORDS, intern->generation);
		id = find_line_id(key);
		if (__builtin_expect(id != 0, 1))
			return id;
	}
	code.first_line = (uint32_t)words[KEY_VERSION];
	code.file = words[KEY_FILE];
	code.name = inject_python_word(reader, address + layout->name);
	code.lines = inject_python_word(reader, address + layout->lines);
	if (reader->bad)
		return 0;
	again = *reader;
	id = identify_new(&again, address, &code, key, intern, is_settled);
	reader->bad = again.bad;
	return id;
}

uint32_t inject_python_code_id(struct inject_python_reader *reader, uint64_t address,
			       uint64_t instruction, const struct inject_python_intern *intern,
			       bool *is_settled)
{
	struct inject_python_reader unchecked = { reader->thread, false, false };
	uint64_t words[KEY_WORDS];
	uint32_t id;

	words[KEY_ADDRESS] = address;
	words[KEY_INSTRUCTION] = instruction;
	if (__builtin_expect(reader->checked, 0))
		return identify(reader, words, intern, is_settled);
	id = identify(&unchecked, words, intern, is_settled);
	reader->bad = unchecked.bad;
	return id;
}

uint32_t inject_python_code_find(struct inject_python_reader *reader, uint64_t address,
				 uint64_t instruction, uint32_t generation, uint64_t *key)
{
	uint64_t words[KEY_WORDS] = { [KEY_ADDRESS] = address, [KEY_INSTRUCTION] = instruction };
	unsigned int count = KEY_WORDS_NUMBERED;

	if (!read_number(reader, address, words)) {
		read_texts(reader, address, words);
		count = KEY_WORDS;
	}
	*key = hash_key(words, count, generation);
	return reader->bad ? 0 : find_line_id(*key);
}

void inject_python_code_keep(uint64_t key, uint32_t id)
{
	keep_line_id(key, id);
}

void inject_python_code_look(uint64_t address, uint64_t *identity)
{
	struct inject_python_reader unchecked = { NULL, false, false };
	uint64_t words[KEY_WORDS] = { 0 };

	if (!read_number(&unchecked, address, words))
		read_texts(&unchecked, address, words);
	memcpy(identity, words + KEY_IDENTITY, INJECT_PYTHON_IDENTITY * sizeof(*identity));
}

bool inject_python_code_is(uint64_t address, const uint64_t *identity)
{
	const struct inject_python_layout *layout = &inject_python.layout;
	const uint64_t *known = identity - KEY_IDENTITY;
	struct inject_python_reader unchecked = { NULL, false, false };
	uint64_t name = known[KEY_NAME];
	uint64_t file = known[KEY_FILE];
	uint64_t words[KEY_WORDS];

	if (read_number(&unchecked, address, words))
		return words[KEY_FILE] == file && words[KEY_VERSION] == known[KEY_VERSION];
	return words[KEY_FILE] == file && words[KEY_VERSION] == known[KEY_VERSION] &&
	       inject_python_word(&unchecked, address + layout->name) == name &&
	       inject_python_word(&unchecked, address + layout->lines) == known[KEY_LINES] &&
	       inject_python_word(&unchecked, name + TEXT_LENGTH) == known[KEY_NAME_LENGTH] &&
	       text_hash(&unchecked, name, known[KEY_NAME_LENGTH]) == known[KEY_NAME_HASH] &&
	       inject_python_word(&unchecked, file + TEXT_LENGTH) == known[KEY_FILE_LENGTH] &&
	       text_hash(&unchecked, file, known[KEY_FILE_LENGTH]) == known[KEY_FILE_HASH];
}

/*
 * Offsets compared with the interpreter's own account of the same frames, once,
 * in the first walk of a thread that holds its lock: then its functions may be
 * called. Types alone would not tell a name from a file's name,
 * nor see that a function is missing.
 */

/* Walks that look whether their thread holds the interpreter's lock. */
#define LOOKS_MAX 100000
/* Once may be chance: Python does not count a frame that has just begun. */
#define DISAGREEMENTS_MAX 3

static struct {
	void *(*current)(void);
	void *(*frame)(void);
	void *(*back)(void *frame);
	void *(*code)(void *frame);
	int (*line)(void *frame);
	void *(*attribute)(void *object, const char *name);
	int (*disable_collector)(void);
	int (*enable_collector)(void);
} api;

static _Atomic unsigned int disagreements;

void inject_python_confirm_init(void)
{
	*(void **)&api.current = dlsym(RTLD_DEFAULT, "PyThreadState_GetUnchecked");
	if (!api.current)
		*(void **)&api.current = dlsym(RTLD_DEFAULT, "_PyThreadState_UncheckedGet");
	*(void **)&api.frame = dlsym(RTLD_DEFAULT, "PyEval_GetFrame");
	*(void **)&api.back = dlsym(RTLD_DEFAULT, "PyFrame_GetBack");
	*(void **)&api.code = dlsym(RTLD_DEFAULT, "PyFrame_GetCode");
	*(void **)&api.line = dlsym(RTLD_DEFAULT, "PyFrame_GetLineNumber");
	*(void **)&api.attribute = dlsym(RTLD_DEFAULT, "PyObject_GetAttrString");
	*(void **)&api.disable_collector = dlsym(RTLD_DEFAULT, "PyGC_Disable");
	*(void **)&api.enable_collector = dlsym(RTLD_DEFAULT, "PyGC_Enable");
	if (api.current && api.frame && api.back && api.code && api.line && api.attribute &&
	    api.disable_collector && api.enable_collector)
		atomic_store(&inject_python.unconfirmed, LOOKS_MAX);
}

/* Whether an attribute of an object is that very object. */
static bool is_attribute(void *object, const char *name, uint64_t expected)
{
	void *found = api.attribute(object, name);

	if (!found) {
		inject_python.clear_error();
		return false;
	}
	inject_python.forget(found);
	return (uint64_t)(uintptr_t)found == expected;
}

static bool frame_agrees(struct inject_python_reader *reader,
			 const struct inject_python_place *place, void *frame)
{
	const struct inject_python_layout *layout = &inject_python.layout;
	void *code = api.code(frame);
	uint64_t name;
	uint64_t file;
	int64_t offset;
	bool good;

	inject_python.forget(code); /* the frame keeps it */
	if ((uint64_t)(uintptr_t)code != place->code)
		return false;
	name = inject_python_word(reader, place->code + layout->name);
	file = inject_python_word(reader, place->code + layout->file);
	offset = offset_of(reader, place->code, place->instruction);
	good = !reader->bad &&
	       is_attribute(code,
			    layout->linkage >= INJECT_PYTHON_ENTRIES ? "co_qualname" : "co_name",
			    name) &&
	       is_attribute(code, "co_filename", file);
	return good && inject_python.line(code, (int)offset) == api.line(frame);
}

static bool frames_agree(struct inject_python_reader *reader,
			 const struct inject_python_place *places, unsigned int count)
{
	void *frame = api.frame();
	void *kept = NULL; /* what frame() gives is borrowed, what back() gives is ours */
	bool good = true;
	unsigned int i;

	for (i = 0; i < count && frame && good; i++) {
		good = frame_agrees(reader, &places[i], frame);
		frame = api.back(frame);
		if (kept)
			inject_python.forget(kept);
		kept = frame;
	}
	if (kept)
		inject_python.forget(kept);
	return good && i == count && (count == INJECT_PYTHON_CONFIRM_MAX || !frame);
}

bool inject_python_can_confirm(void)
{
	if (api.current() == inject_python.thread_state())
		return true;
	atomic_fetch_sub_explicit(&inject_python.unconfirmed, 1, memory_order_relaxed);
	return false;
}

bool inject_python_confirm(struct inject_python_reader *reader,
			   const struct inject_python_place *places, unsigned int count)
{
	if (atomic_exchange(&inject_python.unconfirmed, 0) <= 0)
		return true;
	/* Creating frame objects must not start a collection, which could run any code. */
	int collects = api.disable_collector();
	bool good = frames_agree(reader, places, count);

	if (collects)
		api.enable_collector();
	if (good)
		return true;
	if (atomic_fetch_add(&disagreements, 1) + 1 < DISAGREEMENTS_MAX)
		atomic_store(&inject_python.unconfirmed, LOOKS_MAX);
	else
		inject_python_refuse("offsets are not those of the running interpreter");
	return false;
}
