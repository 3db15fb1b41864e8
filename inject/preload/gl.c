// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Calls of EGL and GLX that present an image. Some programs are linked with these functions. Most open a library
 * and ask for addresses: by dlsym(), or by a function that itself comes from there. Each address that is asked for
 * has a function here that stands in front of it. gpumon's library is loaded at the first call of one.
 */
#ifdef __LP64__

#include "preload.h"
#include "swap.h"

/* Functions that return addresses of others. */
#define LOOKUPS(f) f(eglGetProcAddress) f(glXGetProcAddress) f(glXGetProcAddressARB)

enum {
	LAST_SWAP = GPUMON_SWAP_KINDS - 1,
#define KIND(name) LOOKUP_##name,
	LOOKUPS(KIND)
#undef KIND
	KINDS
};

static const char *const names[KINDS] = {
#define NAME(name) #name,
	GPUMON_SWAPS(NAME) LOOKUPS(NAME)
#undef NAME
};

/* A program may have several libraries of one kind, such as its own that calls the system's. */
#define LIBRARIES 4

static struct gpumon_swap taken[KINDS][LIBRARIES] = {
#define SWAP(name)                        \
	{ { .kind = GPUMON_SWAP_##name }, \
	  { .kind = GPUMON_SWAP_##name }, \
	  { .kind = GPUMON_SWAP_##name }, \
	  { .kind = GPUMON_SWAP_##name } },
#define LOOKUP(name)                 \
	{ { .kind = LOOKUP_##name }, \
	  { .kind = LOOKUP_##name }, \
	  { .kind = LOOKUP_##name }, \
	  { .kind = LOOKUP_##name } },
	GPUMON_SWAPS(SWAP) LOOKUPS(LOOKUP)
#undef SWAP
#undef LOOKUP
};

#define EXPORTED(name)                                                                        \
	EXPORT unsigned long name(unsigned long, unsigned long, unsigned long, unsigned long, \
				  unsigned long);
GPUMON_SWAPS(EXPORTED)
LOOKUPS(EXPORTED)
#undef EXPORTED

static gpumon_swap_function_t *const exported[KINDS] = {
#define ADDRESS(name) name,
	GPUMON_SWAPS(ADDRESS) LOOKUPS(ADDRESS)
#undef ADDRESS
};

static gpumon_swap_function_t *const in_front[KINDS][LIBRARIES];

static int is_equal(const char *text, const char *other)
{
	while (*text && *text == *other) {
		text++;
		other++;
	}
	return *text == *other;
}

/* KINDS: it is none of these functions. */
static unsigned int kind_of(const char *name)
{
	unsigned int kind = 0;

	if (!name || name[0] != (name[1] == 'g' ? 'e' : 'g') ||
	    name[2] != (name[1] == 'g' ? 'l' : 'X'))
		return KINDS;
	while (kind < KINDS && !is_equal(name, names[kind]))
		kind++;
	return kind;
}

/* NULL: more libraries than there is room for. */
static struct gpumon_swap *take(unsigned int kind, gpumon_swap_function_t *function)
{
	unsigned int i;

	for (i = 0; i < LIBRARIES; i++) {
		gpumon_swap_function_t *is = 0;

		if (__atomic_compare_exchange_n(&taken[kind][i].function, &is, function, 0,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
		    is == function)
			return &taken[kind][i];
	}
	return 0;
}

/* The address to give to a program that has asked for a function and would get @found. */
static gpumon_swap_function_t *stand_in_front(unsigned int kind, gpumon_swap_function_t *found)
{
	struct gpumon_swap *swap;
	unsigned int i;

	for (i = 0; i < LIBRARIES; i++)
		if (found == in_front[kind][i])
			return found;
	swap = found && found != exported[kind] ? take(kind, found) : 0;
	return swap ? in_front[kind][swap - taken[kind]] : found;
}

static unsigned long look_up(const struct gpumon_swap *lookup, unsigned long name)
{
	gpumon_swap_function_t *found =
		(gpumon_swap_function_t *)lookup->function(name, 0, 0, 0, 0);
	unsigned int kind = kind_of((const char *)name);

	return (unsigned long)(kind < KINDS ? stand_in_front(kind, found) : found);
}

static gpumon_swap_through_t *load_through(void)
{
	static gpumon_swap_through_t *through;
	static int is_refused;
	gpumon_swap_through_t *loaded = __atomic_load_n(&through, __ATOMIC_ACQUIRE);
	gpumon_swap_through_t *(*enter)(void);

	if (loaded || __atomic_load_n(&is_refused, __ATOMIC_RELAXED))
		return loaded;
	enter = (gpumon_swap_through_t * (*)(void)) preload_function("gpumon_enter_gl");
	loaded = enter ? enter() : 0;
	__atomic_store_n(&is_refused, !loaded, __ATOMIC_RELAXED);
	__atomic_store_n(&through, loaded, __ATOMIC_RELEASE);
	return loaded;
}

/* Both are the last thing that a function does: it is a jump, and leaves no frame in the program's stack. */
static unsigned long go_on(const struct gpumon_swap *swap, unsigned long a, unsigned long b,
			   unsigned long c, unsigned long d, unsigned long e)
{
	gpumon_swap_through_t *through;

	if (swap->kind > LAST_SWAP)
		return look_up(swap, a);
	through = load_through();
	return through ? through(swap, a, b, c, d, e) : swap->function(a, b, c, d, e);
}

#define IN_FRONT(name, kind, library)                                                      \
	static unsigned long in_front_##name##_##library(unsigned long a, unsigned long b, \
							 unsigned long c, unsigned long d, \
							 unsigned long e)                  \
	{                                                                                  \
		return go_on(&taken[kind][library], a, b, c, d, e);                        \
	}
#define OF_ALL(name, kind)      \
	IN_FRONT(name, kind, 0) \
	IN_FRONT(name, kind, 1) \
	IN_FRONT(name, kind, 2) \
	IN_FRONT(name, kind, 3)
#define OF_SWAP(name)	OF_ALL(name, GPUMON_SWAP_##name)
#define OF_LOOKUP(name) OF_ALL(name, LOOKUP_##name)
GPUMON_SWAPS(OF_SWAP)
LOOKUPS(OF_LOOKUP)

static gpumon_swap_function_t *const in_front[KINDS][LIBRARIES] = {
#define ROW(name) \
	{ in_front_##name##_0, in_front_##name##_1, in_front_##name##_2, in_front_##name##_3 },
	GPUMON_SWAPS(ROW) LOOKUPS(ROW)
#undef ROW
};

/* Of a program that is linked with them. Each call looks: a library may have gone, and another one come. */
#define OF_LINKED(name, the_kind)                                                              \
	EXPORT unsigned long name(unsigned long a, unsigned long b, unsigned long c,           \
				  unsigned long d, unsigned long e)                            \
	{                                                                                      \
		gpumon_swap_function_t *below =                                                \
			stand_in_front(the_kind, (gpumon_swap_function_t *)preload_below(      \
							 #name, __builtin_return_address(0))); \
		return below ? below(a, b, c, d, e) : 0;                                       \
	}
#define LINKED_SWAP(name)   OF_LINKED(name, GPUMON_SWAP_##name)
#define LINKED_LOOKUP(name) OF_LINKED(name, LOOKUP_##name)
GPUMON_SWAPS(LINKED_SWAP)
LOOKUPS(LINKED_LOOKUP)

/*
 * glibc's dlsym() of before 2.34 and since, in front of the C library's. They have the versions that glibc gives them,
 * so that musl's loader does not see them, and so that dlsym() in this library is the C library's. The jump to
 * that leaves the caller's address, by which RTLD_NEXT and RTLD_DEFAULT work.
 */
#if defined(__x86_64__)
#define BEFORE "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define BEFORE "GLIBC_2.17"
#endif

#ifdef BEFORE

EXPORT void *preload_dlsym(void *handle, const char *name);
EXPORT void *preload_dlsym_before(void *handle, const char *name);
__asm__(".symver preload_dlsym_before, dlsym@" BEFORE);
__asm__(".symver preload_dlsym, dlsym@GLIBC_2.34");

/* What is exported here is found, too, and has to be as if it were not there. */
static void *look_for(void *handle, const char *name, const void *caller)
{
	unsigned int kind = kind_of(name);
	void *found = handle ? dlsym(handle, name) : preload_below(name, caller);

	if (found == (void *)exported[kind])
		found = preload_below(name, caller);
	return (void *)stand_in_front(kind, (gpumon_swap_function_t *)found);
}

#define DLSYM(function)                                                             \
	EXPORT void *function(void *handle, const char *name)                       \
	{                                                                           \
		return handle == RTLD_NEXT || kind_of(name) == KINDS ?              \
			       dlsym(handle, name) :                                \
			       look_for(handle, name, __builtin_return_address(0)); \
	}
DLSYM(preload_dlsym_before)
DLSYM(preload_dlsym)

#endif

#endif
