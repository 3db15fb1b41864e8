// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Which interpreter this is. From 3.13 on, _PyRuntime begins with a table of
 * offsets for debuggers; earlier versions do not change any more. Either is only
 * used without checks once what it leads to has the right types (stack.c).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "stack.h"
#include "stack/internal.h"

/* Failures before the layout is proven, after which it is refused. */
#define FAILURES_MAX 8
/* Successes in a row that prove it. */
#define FITS_MIN 8

struct inject_python inject_python;

static char problem[160];
static _Atomic bool has_problem;

static const struct inject_python_layout layout_3_10 = {
	.linkage = INJECT_PYTHON_CFRAMES,
	.thread_interpreter = 16,
	.thread_id = 176,
	.thread_next = 8,
	.thread_frame = 24,
	.thread_cframe = 48,
	.cframe_previous = 8,
	.previous = 24,
	.code = 32,
	.instruction = 96,
	.instruction_unit = 2,
	.first_line = 40,
	.file = 104,
	.name = 112,
	.lines = 120,
	.text = 48,
};

static const struct inject_python_layout layout_3_11 = {
	.linkage = INJECT_PYTHON_ENTRIES,
	.thread_interpreter = 16,
	.thread_id = 152,
	.thread_native = 160,
	.thread_next = 8,
	.thread_cframe = 56,
	.cframe_frame = 8,
	.cframe_previous = 16,
	.previous = 48,
	.code = 32,
	.instruction = 56,
	.owner = 68,
	.instructions = 184,
	.first_line = 72,
	.file = 112,
	.name = 128,
	.lines = 136,
	.text = 48,
};

/* In 3.12 and 3.13. The table for debuggers does not name it. */
#define CODE_VERSION 92

static const struct inject_python_layout layout_3_12 = {
	.linkage = INJECT_PYTHON_SHIMS,
	.thread_interpreter = 16,
	.thread_id = 136,
	.thread_native = 144,
	.thread_next = 8,
	.thread_cframe = 56,
	.cframe_frame = 0,
	.previous = 8,
	.code = 0,
	.instruction = 56,
	.owner = 70,
	.instructions = 192,
	.first_line = 68,
	.version = CODE_VERSION,
	.file = 112,
	.name = 128,
	.lines = 136,
	.text = 40,
};

/*
 * The interpreter's table for debuggers: words, in groups whose first one is the size of what
 * they are of. Groups grow from version to version.
 */
enum {
	TABLE_VERSION = 1,
	TABLE_FREE_THREADED = 2,
	TABLE_THREAD_3_13 = 19,
	TABLE_FRAME_3_13 = 28,
	TABLE_CODE_3_13 = 34,
	TABLE_THREAD_3_14 = 22,
	TABLE_FRAME_3_14 = 31,
	TABLE_CODE_3_14 = 39,
	/* within a group */
	THREAD_NEXT = 2,
	THREAD_INTERPRETER = 3,
	THREAD_FRAME = 4,
	THREAD_ID = 5,
	THREAD_NATIVE = 6,
	FRAME_PREVIOUS = 1,
	FRAME_CODE = 2,
	FRAME_INSTRUCTION = 3,
	FRAME_OWNER = 5,
	CODE_FILE = 1,
	CODE_NAME = 3,
	CODE_LINES = 4,
	CODE_FIRST_LINE = 5,
	CODE_INSTRUCTIONS = 9,
};

void inject_python_refuse(const char *why)
{
	snprintf(problem, sizeof(problem), "no functions of Python in stacks: %s", why);
	atomic_store_explicit(&inject_python.state, INJECT_PYTHON_REFUSED, memory_order_release);
	atomic_store_explicit(&has_problem, true, memory_order_release);
}

void inject_python_fitted(void)
{
	int unproven = INJECT_PYTHON_UNPROVEN;

	if (atomic_fetch_add_explicit(&inject_python.fits, 1, memory_order_relaxed) + 1 == FITS_MIN)
		atomic_compare_exchange_strong(&inject_python.state, &unproven,
					       INJECT_PYTHON_PROVEN);
}

void inject_python_failed(void)
{
	unsigned int failures =
		atomic_fetch_add_explicit(&inject_python.failures, 1, memory_order_relaxed) + 1;

	atomic_store_explicit(&inject_python.fits, 0, memory_order_relaxed);
	if (failures == FAILURES_MAX &&
	    atomic_load_explicit(&inject_python.state, memory_order_relaxed) ==
		    INJECT_PYTHON_UNPROVEN)
		inject_python_refuse(
			"this interpreter is laid out in another way than its version");
}

const char *inject_python_problem(void)
{
	return atomic_load_explicit(&has_problem, memory_order_acquire) ? problem : NULL;
}

uint64_t inject_python_read_checked(struct inject_python_reader *reader, uint64_t address)
{
	uint64_t value;

	if (!reader->bad && inject_stack_load(reader->thread, address, &value))
		return value;
	reader->bad = true;
	return 0;
}

/* False where it is not the table, or its offsets are impossible. */
static bool read_table(const uint64_t *table, unsigned int minor)
{
	const uint64_t *thread = table + (minor == 13 ? TABLE_THREAD_3_13 : TABLE_THREAD_3_14);
	const uint64_t *frame = table + (minor == 13 ? TABLE_FRAME_3_13 : TABLE_FRAME_3_14);
	const uint64_t *code = table + (minor == 13 ? TABLE_CODE_3_13 : TABLE_CODE_3_14);
	const uint64_t offsets[] = {
		thread[THREAD_FRAME],	    thread[THREAD_ID],	     frame[FRAME_PREVIOUS],
		thread[THREAD_INTERPRETER], frame[FRAME_CODE],	     frame[FRAME_OWNER],
		thread[THREAD_NEXT],	    thread[THREAD_NATIVE],   code[CODE_NAME],
		frame[FRAME_INSTRUCTION],   code[CODE_FILE],	     code[CODE_LINES],
		code[CODE_FIRST_LINE],	    code[CODE_INSTRUCTIONS],
	};

	if (memcmp(table, "xdebugpy", 8) || table[TABLE_VERSION] >> 16 != (0x0300u | minor))
		return false;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		if (offsets[i] > 4096)
			return false;
	}
	inject_python.layout = (struct inject_python_layout){
		.linkage = INJECT_PYTHON_SHIMS,
		.tagged = minor >= 14,
		.thread_interpreter = (uint16_t)thread[THREAD_INTERPRETER],
		.thread_id = (uint16_t)thread[THREAD_ID],
		.thread_native = (uint16_t)thread[THREAD_NATIVE],
		.thread_next = (uint16_t)thread[THREAD_NEXT],
		.thread_frame = (uint16_t)thread[THREAD_FRAME],
		.previous = (uint16_t)frame[FRAME_PREVIOUS],
		.code = (uint16_t)frame[FRAME_CODE],
		.instruction = (uint16_t)frame[FRAME_INSTRUCTION],
		.owner = (uint16_t)frame[FRAME_OWNER],
		.instructions = (uint16_t)code[CODE_INSTRUCTIONS],
		.first_line = (uint16_t)code[CODE_FIRST_LINE],
		.version = minor == 13 ? CODE_VERSION : 0,
		.file = (uint16_t)code[CODE_FILE],
		.name = (uint16_t)code[CODE_NAME],
		.lines = (uint16_t)code[CODE_LINES],
		.text = 40,
	};
	return true;
}

static bool find_layout(unsigned int major, unsigned int minor)
{
	const uint64_t *table = dlsym(RTLD_DEFAULT, "_PyRuntime");
	char why[96];

	if (major == 3 && minor == 10) {
		inject_python.layout = layout_3_10;
	} else if (major == 3 && minor == 11) {
		inject_python.layout = layout_3_11;
	} else if (major == 3 && minor == 12) {
		inject_python.layout = layout_3_12;
	} else if (major == 3 && (minor == 13 || minor == 14) && table) {
		if (!read_table(table, minor)) {
			inject_python_refuse(
				"the interpreter's own table of offsets is not as known");
			return false;
		}
		if (table[TABLE_FREE_THREADED]) {
			inject_python_refuse(
				"interpreters without a global lock are not supported");
			return false;
		}
	} else {
		snprintf(why, sizeof(why), "Python %u.%u is not supported (3.10 to 3.14 are)",
			 major, minor);
		inject_python_refuse(why);
		return false;
	}
	return true;
}

static bool find_symbols(void)
{
	struct inject_python *python = &inject_python;

	*(void **)&python->initialized = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
	*(void **)&python->thread_state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
	*(void **)&python->main_interpreter = dlsym(RTLD_DEFAULT, "PyInterpreterState_Main");
	*(void **)&python->first_state = dlsym(RTLD_DEFAULT, "PyInterpreterState_ThreadHead");
	*(void **)&python->line = dlsym(RTLD_DEFAULT, "PyCode_Addr2Line");
	*(void **)&python->length = dlsym(RTLD_DEFAULT, "PyUnicode_GetLength");
	*(void **)&python->character = dlsym(RTLD_DEFAULT, "PyUnicode_ReadChar");
	*(void **)&python->forget = dlsym(RTLD_DEFAULT, "Py_DecRef");
	*(void **)&python->clear_error = dlsym(RTLD_DEFAULT, "PyErr_Clear");
	python->code_type = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "PyCode_Type");
	python->text_type = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "PyUnicode_Type");
	python->bytes_type = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "PyBytes_Type");
	return python->initialized && python->thread_state && python->line && python->length &&
	       python->character && python->forget && python->clear_error && python->code_type &&
	       python->text_type && python->bytes_type;
}

bool inject_python_layout_find(void)
{
	const char *(*version)(void);
	char *end;
	unsigned long major;
	unsigned long minor;

	*(void **)&version = dlsym(RTLD_DEFAULT, "Py_GetVersion");
	if (!version)
		return false;
	major = strtoul(version(), &end, 10);
	minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
	if (!find_layout((unsigned int)major, (unsigned int)minor))
		return false;
	if (!find_symbols()) {
		inject_python_refuse("the interpreter does not export what is needed");
		return false;
	}
	return true;
}
