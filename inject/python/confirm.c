// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Offsets compared with the interpreter's own account of the same frames, once,
 * in the first walk of a thread that holds its lock: then its functions may be
 * called. Types alone (code.c) would not tell a name from a file's name,
 * nor see that a function is missing.
 */
#include <dlfcn.h>

#include "layout.h"

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

void gpumon_python_confirm_init(void)
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
		atomic_store(&gpumon_python.unconfirmed, LOOKS_MAX);
}

/* Whether an attribute of an object is that very object. */
static bool is_attribute(void *object, const char *name, uint64_t expected)
{
	void *found = api.attribute(object, name);

	if (!found) {
		gpumon_python.clear_error();
		return false;
	}
	gpumon_python.forget(found);
	return (uint64_t)(uintptr_t)found == expected;
}

static bool frame_agrees(struct gpumon_python_reader *reader,
			 const struct gpumon_python_place *place, void *frame)
{
	const struct gpumon_python_layout *layout = &gpumon_python.layout;
	void *code = api.code(frame);
	uint64_t name;
	uint64_t file;
	int64_t offset;
	bool good;

	gpumon_python.forget(code); /* the frame keeps it */
	if ((uint64_t)(uintptr_t)code != place->code)
		return false;
	name = gpumon_python_word(reader, place->code + layout->name);
	file = gpumon_python_word(reader, place->code + layout->file);
	offset = gpumon_python_offset(reader, place->code, place->instruction);
	good = !reader->bad &&
	       is_attribute(code,
			    layout->linkage >= GPUMON_PYTHON_ENTRIES ? "co_qualname" : "co_name",
			    name) &&
	       is_attribute(code, "co_filename", file);
	return good && gpumon_python.line(code, (int)offset) == api.line(frame);
}

static bool frames_agree(struct gpumon_python_reader *reader,
			 const struct gpumon_python_place *places, unsigned int count)
{
	void *frame = api.frame();
	void *kept = NULL; /* what frame() gives is borrowed, what back() gives is ours */
	bool good = true;
	unsigned int i;

	for (i = 0; i < count && frame && good; i++) {
		good = frame_agrees(reader, &places[i], frame);
		frame = api.back(frame);
		if (kept)
			gpumon_python.forget(kept);
		kept = frame;
	}
	if (kept)
		gpumon_python.forget(kept);
	return good && i == count && (count == GPUMON_PYTHON_CONFIRM_MAX || !frame);
}

bool gpumon_python_can_confirm(void)
{
	if (api.current() == gpumon_python.thread_state())
		return true;
	atomic_fetch_sub_explicit(&gpumon_python.unconfirmed, 1, memory_order_relaxed);
	return false;
}

bool gpumon_python_confirm(struct gpumon_python_reader *reader,
			   const struct gpumon_python_place *places, unsigned int count)
{
	if (atomic_exchange(&gpumon_python.unconfirmed, 0) <= 0)
		return true;
	/* Creating frame objects must not start a collection, which could run any code. */
	int collects = api.disable_collector();
	bool good = frames_agree(reader, places, count);

	if (collects)
		api.enable_collector();
	if (good)
		return true;
	if (atomic_fetch_add(&disagreements, 1) + 1 < DISAGREEMENTS_MAX)
		atomic_store(&gpumon_python.unconfirmed, LOOKS_MAX);
	else
		gpumon_python_refuse("offsets are not those of the running interpreter");
	return false;
}
