// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Libraries that come and go, noticed by a walk for the price of two loads.
 *
 * dl_iterate_phdr() tells how many libraries were ever loaded and unloaded, but
 * takes a lock that a thread may hold while it waits for the caller's own. The
 * numbers themselves are words in glibc's _rtld_global: how many are loaded is
 * the second word, behind the list of them; how many ever were follows a row of
 * recursive mutexes. Where they are is not promised, so they are looked for by
 * what is around them, compared with what dl_iterate_phdr() says, and not used
 * if anything is different. musl never unloads.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

#include "internal.h"

static const uint64_t no_adds;
static const uint32_t no_loaded;

struct gpumon_stack_loader gpumon_stack_loader = {
	.adds = &no_adds,
	.loaded = &no_loaded,
};

/* What dl_iterate_phdr() said when it was asked last. */
static uint64_t polled_adds;
static uint64_t polled_subs;

static int read_counters(struct dl_phdr_info *info, size_t size, void *data)
{
	uint64_t *counters = data;

	if (size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		return -1;
	counters[0] = info->dlpi_adds;
	counters[1] = info->dlpi_subs;
	return 1;
}

#ifdef __GLIBC__

/* Mutexes as the loader's: recursive, behind one another. How many there are differs. */
#define MUTEXES_MIN 2
#define MUTEXES_MAX 4

static bool is_recursive(const uint8_t *mutex)
{
	const pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	size_t kind = offsetof(pthread_mutex_t, __data.__kind);

	return !memcmp(mutex + kind, (const uint8_t *)&recursive + kind, sizeof(int));
}

/* How many namespaces there are, mutexes, and how many libraries were ever loaded. */
static const uint64_t *find_adds(const uint8_t *global, size_t size, uint64_t adds)
{
	const uint64_t *found = NULL;

	for (size_t at = 2 * sizeof(uint64_t); at + sizeof(uint64_t) <= size;
	     at += sizeof(uint64_t)) {
		const uint64_t *namespaces = (const void *)(global + at);
		size_t behind = at + sizeof(uint64_t);
		unsigned int mutexes = 0;

		if (*namespaces < 1 || *namespaces > 16)
			continue;
		while (mutexes < MUTEXES_MAX && behind + sizeof(pthread_mutex_t) < size &&
		       is_recursive(global + behind)) {
			mutexes++;
			behind += sizeof(pthread_mutex_t);
		}
		if (mutexes < MUTEXES_MIN || behind + sizeof(uint64_t) > size ||
		    *(const uint64_t *)(const void *)(global + behind) != adds)
			continue;
		if (found)
			return NULL;
		found = (const void *)(global + behind);
	}
	return found;
}

static void find_counters(uint64_t adds, uint64_t subs)
{
	const struct r_debug *debug = dlsym(RTLD_DEFAULT, "_r_debug");
	const uint8_t *global = dlsym(RTLD_DEFAULT, "_rtld_global");
	const Elf64_Sym *symbol = NULL;
	const uint64_t *found;
	uint32_t loaded;
	Dl_info info;

	if (!global || !debug || !dladdr1(global, &info, (void **)&symbol, RTLD_DL_SYMENT) ||
	    !symbol || info.dli_saddr != (const void *)global || symbol->st_size > 1u << 16 ||
	    symbol->st_size < 4 * sizeof(uint64_t))
		return;
	memcpy(&loaded, global + sizeof(void *), sizeof(loaded));
	/* With more than one namespace the sum is of all: the list says how many this one has. */
	if (memcmp(global, &debug->r_map, sizeof(debug->r_map)) || loaded > adds - subs)
		return;
	found = find_adds(global, symbol->st_size, adds);
	if (!found)
		return;
	gpumon_stack_loader.adds = found;
	gpumon_stack_loader.loaded = (const void *)(global + sizeof(void *));
	gpumon_stack_loader.known = true;
}

#endif

void gpumon_stack_loader_init(void)
{
	uint64_t counters[2] = { 0, 0 };

	if (dl_iterate_phdr(read_counters, counters) != 1)
		return;
	polled_adds = counters[0];
	polled_subs = counters[1];
#ifdef __GLIBC__
	find_counters(counters[0], counters[1]);
#else
	/* musl: adds only, and nothing that was loaded ever goes. */
	gpumon_stack_loader.known = true;
#endif
}

bool gpumon_stack_notices_unload(void)
{
	return gpumon_stack_loader.known;
}

void gpumon_stack_poll(void)
{
	uint64_t counters[2] = { 0, 0 };

	if (dl_iterate_phdr(read_counters, counters) != 1)
		return;
	if (counters[0] == polled_adds && counters[1] == polled_subs)
		return;
	polled_adds = counters[0];
	polled_subs = counters[1];
	atomic_fetch_add_explicit(&gpumon_stack_loader.changes, 1, memory_order_release);
}
