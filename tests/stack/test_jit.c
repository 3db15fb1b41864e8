// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Generated code with and without frame pointers: found or truncated, but never wrong. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "called.h"
#include "compare.h"

#ifdef __x86_64__

#define REGION (64u << 10)

static struct walk seen;
static uint8_t *region;
static size_t used;

volatile int sink;

static NOINLINE void look(void)
{
	for (int i = 0; i < 3; i++)
		WALK(&seen);
}

static void emit(const void *code, size_t size)
{
	memcpy(region + used, code, size);
	used += size;
}

static void emit_call(void *target)
{
	emit("\x48\xb8", 2); /* mov $target, %rax */
	emit(&target, sizeof(target));
	emit("\xff\xd0", 2); /* call *%rax */
}

static void align(void)
{
	while (used % 16)
		emit("\xcc", 1);
}

/* The return address of its call is stored in @after. */
static void *with_frame_pointer(void *target, uint64_t *after)
{
	void *function = region + used;

	emit("\x55\x48\x89\xe5\x48\x83\xec\x30", 8); /* push; mov; sub $48, %rsp */
	emit_call(target);
	*after = (uint64_t)(uintptr_t)(region + used);
	emit("\xc9\xc3", 2); /* leave; ret */
	align();
	return function;
}

static void *without_frame_pointer(void *target, uint64_t *after)
{
	void *function = region + used;

	emit("\x48\x83\xec\x18", 4); /* sub $24, %rsp */
	emit_call(target);
	*after = (uint64_t)(uintptr_t)(region + used);
	emit("\x48\x83\xc4\x18\xc3", 5); /* add $24, %rsp; ret */
	align();
	return function;
}

/* Its rbp is valid, and would lead to its own caller. */
__attribute__((noinline, optimize("no-omit-frame-pointer"))) void
keeps_frame_pointer(void (*function)(void))
{
	function();
	KEEP();
}

NOINLINE void keeps_none(void (*function)(void))
{
	function();
	KEEP();
}

static void new_region(void)
{
	if (region)
		munmap(region, REGION);
	region = mmap(NULL, REGION, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	used = 0;
}

static void found(const char *name, const uint64_t *after, int count, const char *caller)
{
	int at = find_in(&seen, caller);
	bool good = at == 1 + count && !seen.truncated;

	for (int i = 0; i < count && good; i++)
		good = seen.frames[1 + i] == after[i];
	SAY(good, name, "%u frames, %s is frame %d%s", seen.count, caller, at,
	    seen.truncated ? ", truncated" : "");
}

static void stops(const char *name, uint64_t after)
{
	SAY(seen.truncated && seen.count == 2 && seen.frames[1] == after, name, "%u frames%s",
	    seen.count, seen.truncated ? ", truncated" : "");
}

int main(void)
{
	uint64_t after[3];
	void *function;

	inject_stack_init();
	new_region();
	function = with_frame_pointer(look, &after[0]);
	keeps_none(function);
	found("generated code with frame pointers", after, 1, "keeps_none");
	function = with_frame_pointer(function, &after[1]);
	function = with_frame_pointer(function, &after[2]);
	keeps_frame_pointer(function);
	found("three of it", after, 3, "keeps_frame_pointer");
	function = without_frame_pointer(look, &after[0]);
	keeps_frame_pointer(function);
	stops("code without them, behind some that has them", after[0]);

	new_region();
	function = without_frame_pointer(look, &after[0]);
	keeps_frame_pointer(function);
	stops("generated code without frame pointers", after[0]);
	keeps_none(function);
	stops("the same, called by code without", after[0]);
	/* Code generated later in a known region. */
	for (int i = 0; i < 40; i++)
		function = with_frame_pointer(look, &after[0]);
	keeps_none(function);
	found("code that was generated later", after, 1, "keeps_none");
	/* A new region, found although nothing was loaded. */
	region = NULL;
	memset(&seen, 0, sizeof(seen));
	new_region();
	function = with_frame_pointer(look, &after[0]);
	/* Maps are not read again at once. */
	for (int i = 0; i < 6000 && find_in(&seen, "keeps_none") < 0; i++) {
		keeps_none(function);
		usleep(10000);
	}
	found("another region", after, 1, "keeps_none");
	return test_end();
}

#else

int main(void)
{
	printf("ok - generated code # SKIP x86-64 only\n");
	return 0;
}

#endif
