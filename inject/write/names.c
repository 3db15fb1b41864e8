// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/own.h"
#include "base/utf8.h"
#include "intern.h"
#include "names.h"

/* Threads that the program names itself are few: a linear search does. */
#define THREADS	    512
#define NAME_LENGTH 64

/**
 * struct named - a thread that was named
 * @tid: 0 while the entry is free, BUSY while it is written
 */
struct named {
	_Atomic uint32_t tid;
	char text[NAME_LENGTH];
};

#define BUSY UINT32_MAX

static struct named named[THREADS];
/* Entries beyond were never used. */
static _Atomic uint32_t places;

static struct named *find_named_thread(uint32_t tid)
{
	uint32_t count = atomic_load(&places);

	for (uint32_t i = 0; i < count; i++)
		if (atomic_load_explicit(&named[i].tid, memory_order_acquire) == tid)
			return &named[i];
	return NULL;
}

/* That thread's entry or a free one, marked BUSY so that no other thread writes to it. */
static struct named *take_named_thread(uint32_t tid)
{
	struct named *name = find_named_thread(tid);
	uint32_t expected = tid, at;

	if (name && atomic_compare_exchange_strong(&name->tid, &expected, BUSY))
		return name;
	for (at = 0; at < THREADS; at++) {
		expected = 0;
		if (!atomic_compare_exchange_strong(&named[at].tid, &expected, BUSY))
			continue;
		for (expected = atomic_load(&places);
		     expected <= at && !atomic_compare_exchange_weak(&places, &expected, at + 1);)
			;
		return &named[at];
	}
	return NULL;
}

static void write_thread(struct inject_thread *thread, uint32_t tid, uint32_t name)
{
	const struct gpumon_record_thread record = {
		.head = { .type = GPUMON_RECORD_THREAD, .size = sizeof(record) },
		.tid = tid,
		.name = name,
	};

	inject_append(thread, &record);
}

void inject_name_thread(uint32_t tid, const char *text, const wchar_t *wide)
{
	char buffer[NAME_LENGTH] = "";
	struct inject_thread *thread;
	struct named *name;

	if (wide)
		inject_utf8(wide, buffer, sizeof(buffer));
	else if (text)
		memcpy(buffer, text, strnlen(text, sizeof(buffer) - 1));
	if (!tid || tid == BUSY || !buffer[0])
		return;
	name = take_named_thread(tid);
	if (name) {
		memcpy(name->text, buffer, sizeof(buffer));
		atomic_store_explicit(&name->tid, tid, memory_order_release);
	}
	thread = inject_thread_enter(true);
	if (!thread)
		return;
	write_thread(thread, tid, inject_intern_string(thread, buffer));
	inject_thread_leave(thread);
}

static void forget_named_thread(uint32_t tid)
{
	struct named *name = atomic_load(&places) ? find_named_thread(tid) : NULL;

	if (name)
		atomic_compare_exchange_strong(&name->tid, &tid, 0);
}

void inject_names_introduce(struct inject_thread *thread)
{
	const struct named *name = atomic_load(&places) ? find_named_thread(thread->tid) : NULL;
	char text[16 + 1] = "";

	if (!name)
		prctl(PR_GET_NAME, text, 0, 0, 0);
	thread->name = inject_intern_string(thread, name ? name->text : text);
	write_thread(thread, thread->tid, thread->name);
}

void inject_names_leave(uint32_t tid)
{
	struct inject_thread *thread = inject_self;
	char text[16 + 1] = "";
	uint32_t id;

	/* Only a thread with a callback in this capture has records in it. */
	if (thread && !thread->ours &&
	    atomic_load(&thread->generation) == atomic_load(&inject_session.generation) &&
	    !(atomic_load(&places) && find_named_thread(tid)))
		thread = inject_thread_enter(true);
	else
		thread = NULL;
	if (thread) {
		prctl(PR_GET_NAME, text, 0, 0, 0);
		id = inject_intern_string(thread, text);
		if (id && id != thread->name)
			write_thread(thread, tid, id);
		inject_thread_leave(thread);
	}
	forget_named_thread(tid);
}

/* As it is now, without the end of line that the kernel adds. */
static bool read_comm(uint32_t tid, char *text, size_t size)
{
	char path[48];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%u/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, text, size - 1);
	close(fd);
	if (length <= 0)
		return false;
	text[length - (text[length - 1] == '\n')] = '\0';
	return true;
}

static void refresh_names(void *argument)
{
	uint32_t generation = atomic_load(&inject_session.generation), id;
	struct inject_thread *thread = argument, *other;
	char text[32];

	for (other = inject_thread_first(); other; other = other->next) {
		if (!atomic_load(&other->taken) || other->ours ||
		    atomic_load(&other->generation) != generation ||
		    find_named_thread(other->tid) || !read_comm(other->tid, text, sizeof(text)))
			continue;
		id = inject_intern_string(thread, text);
		if (!id || id == other->name)
			continue;
		other->name = id;
		write_thread(thread, other->tid, id);
	}
}

void inject_names_refresh(struct inject_thread *thread)
{
	inject_with_own_descriptors(refresh_names, thread);
}
