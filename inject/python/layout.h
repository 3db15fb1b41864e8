/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Where things are in the running interpreter, and how they are read. */
#ifndef GPUMON_INJECT_PYTHON_LAYOUT_H
#define GPUMON_INJECT_PYTHON_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How frames of Python are tied to those of C, by version. */
enum inject_python_linkage {
	INJECT_PYTHON_NONE = 0,
	INJECT_PYTHON_CFRAMES =
		1, /* 3.10: a frame object for each call of the loop, and a CFrame */
	INJECT_PYTHON_ENTRIES = 2, /* 3.11: several functions, the outermost marked; a CFrame */
	INJECT_PYTHON_SHIMS = 3, /* from 3.12: a frame of Python's kind in the C frame ends them */
};

/**
 * struct inject_python_layout - offsets in bytes
 * @linkage: enum inject_python_linkage
 * @tagged: low bits of the pointer to the code are no part of it
 * @thread_interpreter: of a thread state
 * @thread_id: pthread_self() of a thread state
 * @thread_native: the kernel's number of the thread, of a thread state; 0 where it is not there
 * @thread_next: another thread state of the interpreter
 * @thread_frame: frame, or CFrame, of a thread state
 * @thread_cframe: CFrame, where @thread_frame is none
 * @cframe_frame: frame of a CFrame, ~0 where it has none
 * @cframe_previous: the next outer CFrame
 * @previous: the next outer frame
 * @code: of a frame
 * @instruction: of a frame: a pointer, or a number where @instruction_unit is not 0
 * @instruction_unit: bytes that the number counts
 * @owner: of a frame, or its mark as outermost one
 * @instructions: of a code object, in it
 * @first_line: of a code object
 * @version: of a code object: its number, which no other one of its interpreter ever has; 0 where
 *           there is none
 * @file: of a code object
 * @name: of a code object, qualified where there is such a name
 * @lines: table of a code object
 * @text: where the characters of a text of ASCII begin
 */
struct inject_python_layout {
	enum inject_python_linkage linkage;
	bool tagged;
	uint16_t thread_interpreter;
	uint16_t thread_id;
	uint16_t thread_native;
	uint16_t thread_next;
	uint16_t thread_frame;
	uint16_t thread_cframe;
	uint16_t cframe_frame;
	uint16_t cframe_previous;
	uint16_t previous;
	uint16_t code;
	uint16_t instruction;
	uint16_t instruction_unit;
	uint16_t owner;
	uint16_t instructions;
	uint16_t first_line;
	uint16_t version;
	uint16_t file;
	uint16_t name;
	uint16_t lines;
	uint16_t text;
};

/* Owner of a frame that is no function's (3.12 and later), the lowest of such. */
#define INJECT_PYTHON_OWNER_SHIM 3

/* Offsets in all objects: the type, and in those with a size the size. */
#define INJECT_PYTHON_TYPE 8
#define INJECT_PYTHON_SIZE 16

enum inject_python_state {
	INJECT_PYTHON_ABSENT = 0,
	INJECT_PYTHON_UNPROVEN = 1, /* every load is checked by the kernel */
	INJECT_PYTHON_PROVEN = 2,   /* what was read was as expected */
	INJECT_PYTHON_REFUSED = 3,
};

/**
 * struct inject_python - the interpreter
 * @state: enum inject_python_state
 * @failures: times that what was found was not what it had to be
 * @fits: times that it was since
 * @unconfirmed: walks in which the interpreter may still be asked
 * @layout: offsets
 * @initialized: Py_IsInitialized(): no more from the begin of its end on
 * @thread_state: PyGILState_GetThisThreadState(): needs no lock
 * @main_interpreter: PyInterpreterState_Main(): likewise; may be missing
 * @first_state: PyInterpreterState_ThreadHead(), of an interpreter's thread states: likewise
 * @line: PyCode_Addr2Line(): reads a table that does not change
 * @length: PyUnicode_GetLength()
 * @character: PyUnicode_ReadChar()
 * @forget: Py_DecRef(), of nothing too; with its lock held
 * @clear_error: PyErr_Clear(), likewise
 * @code_type: PyCode_Type
 * @text_type: PyUnicode_Type
 * @bytes_type: PyBytes_Type
 */
struct inject_python {
	_Atomic int state;
	_Atomic unsigned int failures;
	_Atomic unsigned int fits;
	_Atomic int unconfirmed;
	struct inject_python_layout layout;
	int (*initialized)(void);
	void *(*thread_state)(void);
	void *(*main_interpreter)(void);
	void *(*first_state)(void *interpreter);
	int (*line)(void *code, int offset);
	ssize_t (*length)(void *text);
	uint32_t (*character)(void *text, ssize_t index);
	void (*forget)(void *object);
	void (*clear_error)(void);
	uint64_t code_type;
	uint64_t text_type;
	uint64_t bytes_type;
};

extern struct inject_python inject_python;

/* Functions of Python are left out from now on. */
void inject_python_refuse(const char *why);

/* The interpreter's data were as expected. Often enough in a row, the layout is proven. */
void inject_python_fitted(void);

/* The interpreter's data were not as expected. Often enough before a proof, the layout is refused. */
void inject_python_failed(void);

struct inject_stack_thread;

/**
 * struct inject_python_reader - loads from the interpreter's memory
 * @thread: caller's
 * @checked: by the kernel, each one
 * @bad: one was not possible; what was read since is 0
 */
struct inject_python_reader {
	struct inject_stack_thread *thread;
	bool checked;
	bool bad;
};

uint64_t inject_python_read_checked(struct inject_python_reader *reader, uint64_t address);

/* Other threads write other fields of the same objects. */
#define INJECT_PYTHON_NO_SANITIZER __attribute__((no_sanitize("address", "thread", "undefined")))

static inline INJECT_PYTHON_NO_SANITIZER uint64_t
inject_python_word(struct inject_python_reader *reader, uint64_t address)
{
	if (__builtin_expect(reader->checked, 0))
		return inject_python_read_checked(reader, address);
	return *(const volatile uint64_t *)(uintptr_t)address;
}

/* Smaller ones never lie across two words. */
static inline INJECT_PYTHON_NO_SANITIZER uint32_t
inject_python_int(struct inject_python_reader *reader, uint64_t address)
{
	return (uint32_t)(inject_python_word(reader, address & ~7ull) >> (address & 7) * 8);
}

static inline INJECT_PYTHON_NO_SANITIZER uint8_t
inject_python_byte(struct inject_python_reader *reader, uint64_t address)
{
	return (uint8_t)inject_python_int(reader, address);
}

/* --- layout.c */

/* Finds out which interpreter this is, and where things are in it. False: it has none that is known. */
bool inject_python_layout_find(void);

/* --- lifetime.c */

/* False where the interpreter does not export what is needed. */
bool inject_python_end_init(void);

/**
 * inject_python_end_waits - may be read without a check
 *
 * The first call asks the interpreter for it; its main thread says yes when it next runs Python.
 *
 * Context: any thread; needs no lock of the interpreter.
 * Return: its end waits for those that are between inject_python_enter() and
 *	   inject_python_leave().
 */
bool inject_python_end_waits(void);

/* False: the interpreter ends, nothing of it may be read; inject_python_leave() is not due. */
bool inject_python_enter(void);
void inject_python_leave(void);

/**
 * inject_python_code_epoch - another number whenever a code object was freed
 * @interpreter: of the objects
 *
 * Return: the number; 0 where that interpreter does not report them.
 */
uint64_t inject_python_code_epoch(uint64_t interpreter);

/* --- code.c */

/* Frames that the interpreter is asked about. */
#define INJECT_PYTHON_CONFIRM_MAX 32

/**
 * struct inject_python_place - what a frame says
 * @code: address of the code object
 * @instruction: as the frame has it
 */
struct inject_python_place {
	uint64_t code;
	uint64_t instruction;
};

void inject_python_confirm_init(void);

/* Nothing has to be asked any more. */
static inline bool inject_python_confirmed(void)
{
	return atomic_load_explicit(&inject_python.unconfirmed, memory_order_relaxed) <= 0;
}

/* May it be asked? Only where this thread holds its lock. */
bool inject_python_can_confirm(void);

/**
 * inject_python_confirm - compare frames with what the interpreter says of them
 * @reader: for their code objects
 * @places: the innermost first
 * @count: of these; fewer than INJECT_PYTHON_CONFIRM_MAX if there are no more
 *
 * Only after inject_python_can_confirm(). What does not agree again and again is refused.
 *
 * Return: false where something does not agree.
 */
bool inject_python_confirm(struct inject_python_reader *reader,
			   const struct inject_python_place *places, unsigned int count);

/* Words that differ between a code object and another one at its address. */
#define INJECT_PYTHON_IDENTITY 8

struct inject_python_intern;

/**
 * inject_python_code_id - id of a line of a function
 * @reader: for its object
 * @code: address of the code object
 * @instruction: as the frame has it
 * @intern: gives new ones
 * @is_settled: set to false where the next walk has to ask again
 *
 * Return: the id; 0 for none. @reader is bad where this is no code object.
 */
uint32_t inject_python_code_id(struct inject_python_reader *reader, uint64_t code,
			       uint64_t instruction, const struct inject_python_intern *intern,
			       bool *is_settled);

/**
 * inject_python_code_find - id of a line of a function, if that is known
 * @reader: for its object, with checks
 * @code: address of the code object
 * @instruction: as the frame has it
 * @generation: of the id
 * @key: set to what inject_python_code_keep() has to be told
 *
 * Return: the id; 0 where it is not known, or @reader is bad.
 */
uint32_t inject_python_code_find(struct inject_python_reader *reader, uint64_t code,
				 uint64_t instruction, uint32_t generation, uint64_t *key);
void inject_python_code_keep(uint64_t key, uint32_t id);

/* For inject_python_code_is(): what a code object is known by. Loads are not checked. */
void inject_python_code_look(uint64_t address, uint64_t *identity);

/**
 * inject_python_code_is - is an object the one that was there before
 * @address: of a code object; loads are not checked
 * @identity: what inject_python_code_look() said of the one before
 *
 * Return: it is, or has the same name, file and lines.
 */
bool inject_python_code_is(uint64_t address, const uint64_t *identity);

bool inject_python_code_init(void);

#endif /* GPUMON_INJECT_PYTHON_LAYOUT_H */
