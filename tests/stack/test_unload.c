// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A library is unloaded, and another one gets the same address with other frames at the same return
 * address. Also walks while the loader is busy.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "called.h"
#include "compare.h"
#include "stack/internal.h"

static struct walk seen;
static void *last_base;

NOINLINE void look_here(void)
{
	for (int i = 0; i < 3; i++)
		WALK(&seen);
}

NOINLINE void calls_library(void (*function)(void (*)(void)))
{
	function(look_here);
	KEEP();
}

/* Returns the address of the library. */
static void *use(const char *path, const char *name, void *expected)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*function)(void (*)(void));
	struct link_map *map;
	void *base;
	int at;

	if (!library) {
		SAY(false, name, "%s", dlerror());
		return NULL;
	}
	*(void **)&function = dlsym(library, "frame_call");
	dlinfo(library, RTLD_DI_LINKMAP, &map);
	base = (void *)map->l_addr;
	calls_library(function);
	at = find_in(&seen, "calls_library");
	if (expected && expected != base)
		printf("ok - %s # SKIP the loader put it elsewhere\n", name);
	else
		SAY(at == 2 && !seen.truncated && is_in(seen.frames[seen.count - 1], "_start"),
		    name, "%u frames, caller in frame %d%s", seen.count, at,
		    seen.truncated ? ", truncated" : "");
	dlclose(library);
	return base;
}

static void unloading(const char *how)
{
	char name[100];
	void *base;

	snprintf(name, sizeof(name), "small frames (%s)", how);
	base = use("./frames_small.so", name, NULL);
	snprintf(name, sizeof(name), "large frames at the same address (%s)", how);
	use("./frames_large.so", name, base);
	snprintf(name, sizeof(name), "small ones again (%s)", how);
	use("./frames_small.so", name, base);
	last_base = base;
}

static sem_t asked;
static sem_t answered;
static struct walk other_walk;
static int rounds;

/* Each time with a new thread, and an address that was never seen. */
static NOINLINE void *walker(void *data)
{
	(void)data;
	sem_wait(&asked);
	switch (rounds++) {
	case 0:
		WALK(&other_walk);
		KEEP();
		break;
	case 1:
		WALK(&other_walk);
		KEEP();
		break;
	case 2:
		WALK(&other_walk);
		KEEP();
		break;
	default:
		WALK(&other_walk);
		KEEP();
		break;
	}
	sem_post(&answered);
	return NULL;
}

static void ask(const char *name)
{
	struct timespec end;
	int late;

	memset(&other_walk, 0, sizeof(other_walk));
	clock_gettime(CLOCK_REALTIME, &end);
	/* Only one that hangs takes so long. */
	end.tv_sec += 120;
	sem_post(&asked);
	late = sem_timedwait(&answered, &end);
	SAY(!late && other_walk.count > 2 && !other_walk.truncated, name, "%s, %u frames%s",
	    late ? "it waits" : "done", other_walk.count,
	    other_walk.truncated ? ", truncated" : "");
	if (late)
		_exit(1);
}

static const char *how_asked;

/* The library's constructor calls this, in dlopen. */
void from_constructor(void)
{
	if (how_asked)
		ask(how_asked);
	how_asked = NULL;
	look_here();
}

static int in_iteration(struct dl_phdr_info *info, size_t size, void *name)
{
	(void)info;
	(void)size;
	ask(name);
	return 1;
}

static void busy_loader(bool new_glibc)
{
	pthread_t thread;

	pthread_create(&thread, NULL, walker, NULL);
	how_asked = new_glibc ? "a walk while another thread is in dlopen" :
				"the same without _dl_find_object";
	dlclose(dlopen("./constructor.so", RTLD_NOW));
	pthread_join(thread, NULL);

	pthread_create(&thread, NULL, walker, NULL);
	dl_iterate_phdr(in_iteration, new_glibc ?
					      "a walk while another thread is in dl_iterate_phdr" :
					      "the same without _dl_find_object");
	pthread_join(thread, NULL);
}

static _Atomic bool stop;
static _Atomic unsigned long walks;

/* The same stack at all times, whatever the loader does. */
static NOINLINE void *steady(void *data)
{
	unsigned long *wrong = data;
	struct walk first;
	struct walk now;

	WALK(&first);
	while (!stop) {
		WALK(&now);
		if (now.truncated || now.count != first.count ||
		    memcmp(now.frames + 1, first.frames + 1, (now.count - 1) * 8))
			wrong[0]++;
		wrong[1]++;
		walks++;
	}
	return NULL;
}

static void coming_and_going(const char *name)
{
	unsigned long counts[4][2] = { 0 };
	unsigned long wrong = 0;
	unsigned long all = 0;
	pthread_t threads[4];

	stop = false;
	walks = 0;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, steady, counts[i]);
	for (int i = 0; i < 150 || (walks <= 1000 && i < 50000); i++) {
		void *small = dlopen("./frames_small.so", RTLD_NOW);
		void *large = dlopen("./frames_large.so", RTLD_NOW);

		dlclose(i & 1 ? small : large);
		usleep(500);
		dlclose(i & 1 ? large : small);
	}
	stop = true;
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		wrong += counts[i][0];
		all += counts[i][1];
	}
	SAY(!wrong && all > 100, name, "%lu of %lu walks were wrong", wrong, all);
}

static int count_objects(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	memcpy(data, (uint64_t[]){ info->dlpi_adds, info->dlpi_adds - info->dlpi_subs },
	       2 * sizeof(uint64_t));
	return 1;
}

static void counters(void)
{
	uint64_t counted[2];

	dl_iterate_phdr(count_objects, counted);
	SAY(inject_stack_notices_unload(), "the loader's counters are found", "they are not");
	SAY(*inject_stack_loader.adds == counted[0] && *inject_stack_loader.loaded == counted[1],
	    "they are right", "%lu loaded ever, %u now; dl_iterate_phdr says %lu and %lu",
	    (unsigned long)*inject_stack_loader.adds, *inject_stack_loader.loaded,
	    (unsigned long)counted[0], (unsigned long)counted[1]);
}

int main(void)
{
	static const uint64_t no_adds;
	static const uint32_t no_loaded;
	struct inject_stack_loader kept;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sem_init(&asked, 0, 0);
	sem_init(&answered, 0, 0);
	inject_stack_init();
	counters();
	unloading("by the loader's counters");
	counters();
	busy_loader(true);
	coming_and_going("walks while libraries come and go");
	inject_stack_module_without_loader();
	unloading("by /proc/self/maps");
	busy_loader(false);
	coming_and_going("walks while libraries come and go, without _dl_find_object");

	/* As if the counters were not found: then every change must be checked. */
	kept.adds = inject_stack_loader.adds;
	inject_stack_poll();
	inject_stack_loader.adds = &no_adds;
	inject_stack_loader.loaded = &no_loaded;
	use("./frames_small.so", "small frames (polled)", last_base);
	inject_stack_poll();
	use("./frames_large.so", "large frames at the same address (polled)", last_base);
	inject_stack_loader.adds = kept.adds;
	return test_end();
}
