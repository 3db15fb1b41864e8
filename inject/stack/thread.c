// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* State of a thread: its stack's bounds, and memory for its walks. */
#include <errno.h>
#include <pthread.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/prepared.h"
#include "internal.h"

#define PAGE 4096ull

/*
 * The few bytes that a library which came by dlopen may have in the static part of thread
 * storage: any other model may allocate, and take the loader's lock, at a thread's first use.
 */
static __thread struct inject_stack_thread *mine __attribute__((tls_model("initial-exec")));

static pthread_key_t key;
static bool key_made;

static void thread_gone(void *data)
{
	struct inject_stack_thread *thread = data;

	mine = NULL;
	inject_memory_give(thread->above, thread->above_size);
	inject_memory_give(thread, sizeof(*thread));
}

bool inject_stack_thread_init(void)
{
	if (!key_made)
		key_made = !pthread_key_create(&key, thread_gone);
	return key_made;
}

struct inject_stack_thread *inject_stack_thread(void)
{
	return mine;
}

struct inject_stack_thread *inject_stack_thread_new(void)
{
	struct inject_stack_thread *thread;
	int kept = errno;
	uintptr_t low;
	size_t size;

	if (!key_made)
		return NULL;
	thread = inject_memory_take(sizeof(*thread));
	if (!thread)
		return NULL;
	/* Without bounds the kernel checks every load: slow but right. */
	if (inject_stack_bounds(&low, &size)) {
		thread->low = low;
		thread->high = (low + size) & ~7ull;
	}
	if (pthread_setspecific(key, thread)) {
		inject_memory_give(thread, sizeof(*thread));
		thread = NULL;
	}
	mine = thread;
	errno = kept;
	return thread;
}

bool inject_stack_is_own(const void *address)
{
	const struct inject_stack_thread *thread = mine ? mine : inject_stack_thread_new();

	return thread && (uintptr_t)address >= thread->low && (uintptr_t)address < thread->high;
}

bool inject_stack_readable(uint64_t address)
{
	static uint32_t to;

	/*
	 * Moves none of those that wait at the address, and says whether the kernel could read it. A
	 * program that has threads may not forbid this call.
	 */
	return syscall(SYS_futex, address & ~7ull, FUTEX_CMP_REQUEUE_PRIVATE, 0, NULL, &to, 0) >=
		       0 ||
	       errno != EFAULT;
}

__attribute__((no_sanitize("address", "thread", "undefined"))) bool
inject_stack_load(struct inject_stack_thread *thread, uint64_t address, uint64_t *value)
{
	uint64_t page = address & ~(PAGE - 1);
	int saved = errno;

	if (address & 7 || address >= INJECT_STACK_USER_END)
		return false;
	if (thread->copy)
		return inject_stack_copy_load(thread->copy, address, value);
	if (page < thread->readable_low || page >= thread->readable_high) {
		if (!inject_stack_readable(address)) {
			errno = saved;
			return false;
		}
		if (page == thread->readable_high) {
			thread->readable_high += PAGE;
		} else {
			thread->readable_low = page;
			thread->readable_high = page + PAGE;
		}
		errno = saved;
	}
	*value = *(const volatile uint64_t *)(uintptr_t)address;
	return true;
}
