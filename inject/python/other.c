// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A blocked thread has given up the interpreter's lock, or waits for it: its frames of Python stay as they are
 * until it goes on. Which of the interpreter's thread states is its own is known by the kernel's number of the
 * thread; in 3.10, which does not keep that, by an address on its stack.
 */
#include <string.h>

#include "../user/abi/format.h"
#include "base/prepared.h"
#include "chain.h"
#include "object.h"
#include "other.h"
#include "stack/internal.h"

/* Functions of one stack; of more, the outermost are left out. */
#define FUNCTIONS_MAX 256

/* Thread states that are looked at. */
#define STATES_MAX 4096

#define FUNCTION_ROOM 500
#define FILE_ROOM     1000

/**
 * struct function - one that has called
 * @id: if it is known; then only @host is set
 * @key: to keep it by
 * @host: an address within the frame of C of the call of the loop that runs it
 * @function: its name
 * @function_length: bytes of it
 * @file: its file's name
 * @file_length: bytes of it
 * @line: where it is
 * @first_line: where it begins
 */
struct function {
	uint32_t id;
	uint64_t key;
	uint64_t host;
	char function[FUNCTION_ROOM + 8];
	size_t function_length;
	char file[FILE_ROOM + 8];
	size_t file_length;
	uint32_t line;
	uint32_t first_line;
};

/**
 * struct inject_python_other - what was read
 * @functions: the innermost first
 * @count: of these
 * @is_cut: there are more
 * @frames: the whole stack
 */
struct inject_python_other {
	struct function functions[FUNCTIONS_MAX];
	unsigned int count;
	bool is_cut;
	uint64_t frames[FUNCTIONS_MAX + INJECT_STACK_WALK_MAX];
};

struct inject_python_other *inject_python_other_new(void)
{
	return inject_memory_take(sizeof(struct inject_python_other));
}

/* The first of the main interpreter's thread states, 0 for none. These calls only read words of its own. */
static uint64_t first_state(void)
{
	uint64_t state = 0;
	void *interpreter;

	if (!inject_python.main_interpreter || !inject_python.first_state || !inject_python_enter())
		return 0;
	interpreter = inject_python.initialized() ? inject_python.main_interpreter() : NULL;
	if (interpreter)
		state = (uint64_t)(uintptr_t)inject_python.first_state(interpreter);
	inject_python_leave();
	return state;
}

static bool is_state_of(struct inject_python_reader *reader, uint64_t state, uint32_t tid,
			const struct inject_stack_view *view)
{
	const struct inject_python_layout *layout = &inject_python.layout;
	uint64_t cframe;

	if (layout->thread_native)
		return inject_python_word(reader, state + layout->thread_native) == tid;
	cframe = inject_python_word(reader, state + layout->thread_cframe);
	return cframe >= view->stack[0] && cframe < view->stack[view->count - 1];
}

static uint64_t find_state(struct inject_python_reader *reader, uint32_t tid,
			   const struct inject_stack_view *view)
{
	uint64_t state = first_state();

	for (unsigned int i = 0; state && i < STATES_MAX; i++) {
		if (is_state_of(reader, state, tid, view))
			return reader->bad ? 0 : state;
		state = inject_python_word(reader, state + inject_python.layout.thread_next);
		if (reader->bad)
			return 0;
	}
	return 0;
}

static int64_t offset_in_code(struct inject_python_reader *reader, uint64_t code,
			      uint64_t instruction)
{
	const struct inject_python_layout *layout = &inject_python.layout;
	int64_t units, offset;

	if (layout->instruction_unit)
		return (int64_t)(int32_t)(uint32_t)instruction * layout->instruction_unit;
	units = (int64_t)inject_python_word(reader, code + INJECT_PYTHON_SIZE);
	offset = (int64_t)(instruction - code - layout->instructions);
	if (offset < -2 || offset > units * 2 || offset & 1)
		reader->bad = true;
	return offset;
}

static bool has_type(struct inject_python_reader *reader, uint64_t object, uint64_t type)
{
	return inject_python_word(reader, object + INJECT_PYTHON_TYPE) == type;
}

static void read_function(struct inject_python_reader *reader, uint32_t generation,
			  const struct inject_python_entry *entry, struct function *function)
{
	const struct inject_python_layout *layout = &inject_python.layout;
	uint64_t code = inject_python_entry_code(entry);
	uint64_t name, file, lines;
	int64_t offset;

	function->id = inject_python_code_find(reader, code, entry->instruction, generation,
					       &function->key);
	if (function->id || reader->bad)
		return;
	name = inject_python_word(reader, code + layout->name);
	file = inject_python_word(reader, code + layout->file);
	lines = inject_python_word(reader, code + layout->lines);
	offset = offset_in_code(reader, code, entry->instruction);
	if (reader->bad || !has_type(reader, code, inject_python.code_type) ||
	    !has_type(reader, name, inject_python.text_type) ||
	    !has_type(reader, file, inject_python.text_type) ||
	    !has_type(reader, lines, inject_python.bytes_type)) {
		reader->bad = true;
		return;
	}
	function->first_line = inject_python_int(reader, code + layout->first_line);
	function->line = inject_python_line(reader, lines, function->first_line, offset);
	function->function_length =
		inject_python_text(reader, name, function->function, FUNCTION_ROOM);
	function->file_length = inject_python_text(reader, file, function->file, FILE_ROOM);
}

/* Functions up to one that ends a call of the loop belong to that call. */
static void set_host(struct inject_python_other *python, unsigned int first, uint64_t host)
{
	for (; first < python->count; first++)
		python->functions[first].host = host;
}

static void read_chain(struct inject_python_other *python, struct inject_python_chain *chain,
		       uint32_t generation)
{
	struct inject_python_entry entry;
	unsigned int first = 0;

	while (inject_python_chain_next(chain, &entry)) {
		if (entry.is_function && python->count == FUNCTIONS_MAX) {
			python->is_cut = true;
			break;
		}
		if (entry.is_function)
			read_function(&chain->reader, generation, &entry,
				      &python->functions[python->count++]);
		if (entry.is_last) {
			set_host(python, first, entry.frame);
			first = python->count;
		}
	}
	/* Of a call whose end was not seen nothing is known. */
	python->count = first;
}

void inject_python_other_read(struct inject_python_other *python, struct inject_stack_other *stack,
			      uint32_t tid, const struct inject_stack_view *view,
			      uint32_t generation)
{
	int state = atomic_load_explicit(&inject_python.state, memory_order_acquire);
	struct inject_python_chain chain = {
		.reader = { .thread = inject_stack_other_reader(stack), .checked = true },
	};
	uint64_t thread_state;

	python->count = 0;
	python->is_cut = false;
	if (state != INJECT_PYTHON_UNPROVEN && state != INJECT_PYTHON_PROVEN)
		return;
	thread_state = find_state(&chain.reader, tid, view);
	if (thread_state && inject_python_chain_begin_at(&chain, thread_state))
		read_chain(python, &chain, generation);
	if (chain.reader.bad)
		python->count = 0;
}

/* The frame of C that an address is in, from @from on; @count: in none. What a cut stack ends with has no end. */
static unsigned int find_host(const struct inject_stack_view *view, unsigned int from,
			      uint64_t address)
{
	unsigned int last = view->count - (view->truncated ? 1 : 0);

	for (; from < last; from++)
		if (view->stack[from] <= address && address < view->stack[from + 1])
			return from;
	return view->count;
}

static unsigned int put_native(uint64_t *frames, unsigned int at,
			       const struct inject_stack_view *view, unsigned int from,
			       unsigned int end)
{
	for (; from < end; from++)
		frames[at++] = view->frames[from];
	return at;
}

static uint32_t intern_function(const struct function *function,
				const struct inject_python_intern *intern)
{
	const struct inject_python_frame frame = {
		.function = function->function,
		.function_length = function->function_length,
		.file = function->file,
		.file_length = function->file_length,
		.line = function->line,
		.first_line = function->first_line,
	};
	bool is_written = true;
	uint32_t id;

	if (function->id)
		return function->id;
	id = intern->frame(intern->context, &frame, &is_written);
	if (id && is_written)
		inject_python_code_keep(function->key, id);
	return id;
}

void inject_python_other_merge(struct inject_python_other *python, struct inject_stack_view *view,
			       const struct inject_python_intern *intern)
{
	unsigned int at = 0, next = 0, host, i = 0;
	uint64_t address, id;

	if (!python->count)
		return;
	/* Calls of the loop, the innermost first: each takes the place of the frame of C that runs it. */
	while (i < python->count) {
		address = python->functions[i].host;
		host = find_host(view, next, address);
		if (host == view->count &&
		    (!view->truncated || address < view->stack[view->count - 1])) {
			/* They have no place: not a chain of this stack. */
			while (i < python->count && python->functions[i].host == address)
				i++;
			continue;
		}
		at = put_native(python->frames, at, view, next, host);
		next = host < view->count ? host + 1 : host;
		for (; i < python->count && python->functions[i].host == address; i++) {
			id = intern_function(&python->functions[i], intern);
			if (id)
				python->frames[at++] = GPUMON_STACK_FRAME_ID | id;
		}
	}
	at = put_native(python->frames, at, view, next, view->count);
	view->frames = python->frames;
	view->count = at;
	view->truncated = view->truncated || python->is_cut;
}
