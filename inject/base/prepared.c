// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject.h"
#include "prepared.h"

/*
 * Address space, of which only what is used becomes memory: threads with their stacks need 70 KiB each,
 * with Python 1 MiB. It is not more, because a program may lock all of its memory. Where a limit refuses that much, less.
 */
#define RESERVE	    (32ul << 20)
#define RESERVE_MIN (2ul << 20)

/* Sizes of what is given back, which are few. */
#define SIZES 24

_Atomic bool inject_is_sandboxed;

static struct {
	char *start;
	size_t size;
	_Atomic size_t used;
} reserve;

/* Memory that was given back, by size. Nobody waits for the flag: the reserve has more. */
static atomic_flag giving = ATOMIC_FLAG_INIT;
static struct {
	size_t size;
	void *first;
} given[SIZES];

static void *map_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void reserve_memory(void)
{
	size_t size = RESERVE;
	char *memory = NULL;

	while (!memory && size >= RESERVE_MIN) {
		memory = map_memory(size);
		if (!memory)
			size /= 4;
	}
	reserve.size = memory ? size : 0;
	__atomic_store_n(&reserve.start, memory, __ATOMIC_RELEASE);
}

static void *take_given(size_t size)
{
	void *memory = NULL;

	if (atomic_flag_test_and_set_explicit(&giving, memory_order_acquire))
		return NULL;
	for (unsigned int i = 0; i < SIZES && given[i].size; i++) {
		if (given[i].size != size)
			continue;
		memory = given[i].first;
		if (memory)
			given[i].first = *(void **)memory;
		break;
	}
	atomic_flag_clear_explicit(&giving, memory_order_release);
	return memory;
}

/* A page that nothing was written to is only read: it does not become memory. */
static void empty_memory(char *memory, size_t size)
{
	static const char zeroes[4096];
	size_t part;

	for (; size; memory += part, size -= part) {
		part = size < sizeof(zeroes) ? size : sizeof(zeroes);
		if (memcmp(memory, zeroes, part))
			memset(memory, 0, part);
	}
}

static size_t round_up(size_t size)
{
	return (size + 63) & ~63ul;
}

void *inject_memory_take(size_t size)
{
	char *start = __atomic_load_n(&reserve.start, __ATOMIC_ACQUIRE);
	int kept = errno;
	void *memory;
	size_t used;

	size = round_up(size);
	memory = take_given(size);
	if (memory) {
		empty_memory(memory, size);
		return memory;
	}
	used = start ? atomic_load(&reserve.used) : 0;
	while (start && size <= reserve.size - used)
		if (atomic_compare_exchange_weak(&reserve.used, &used, used + size))
			return start + used;
	memory = atomic_load(&inject_is_sandboxed) ? NULL : map_memory(size);
	errno = kept;
	return memory;
}

void inject_memory_give(void *memory, size_t size)
{
	unsigned int i;

	size = round_up(size);
	if (!memory)
		return;
	if ((char *)memory - reserve.start < 0 ||
	    (size_t)((char *)memory - reserve.start) >= reserve.size) {
		if (!atomic_load(&inject_is_sandboxed))
			munmap(memory, size);
		return;
	}
	if (atomic_flag_test_and_set_explicit(&giving, memory_order_acquire))
		return;
	for (i = 0; i < SIZES; i++) {
		if (given[i].size && given[i].size != size)
			continue;
		given[i].size = size;
		*(void **)memory = given[i].first;
		given[i].first = memory;
		break;
	}
	atomic_flag_clear_explicit(&giving, memory_order_release);
}

/*
 * The C library keeps a thread's number and stack (block, size, guard at its begin) at the thread's
 * address, pthread_self(). Where, it does not promise: the places are those at which two threads have
 * what the kernel and pthread_getattr_np() say of them, and only if there is one such place.
 */
#define WORDS 256

#ifdef __GLIBC__
static pthread_mutex_t learning = PTHREAD_MUTEX_INITIALIZER;
static bool may_be_tid[2 * WORDS], may_be_stack[WORDS];
static unsigned int learned_from;
#endif
static _Atomic unsigned int tid_at, stack_at;
static uintptr_t main_low;
static size_t main_size;

static bool ask_stack(uintptr_t *low, size_t *size)
{
	pthread_attr_t attributes;
	bool is_known = false;
	void *start;

	if (pthread_getattr_np(pthread_self(), &attributes))
		return false;
	if (!pthread_attr_getstack(&attributes, &start, size)) {
		*low = (uintptr_t)start;
		is_known = true;
	}
	pthread_attr_destroy(&attributes);
	return is_known;
}

#ifdef __GLIBC__

static unsigned int only_one(const bool *places, unsigned int count)
{
	unsigned int found = 0;

	for (unsigned int i = 1; i < count; i++) {
		if (!places[i])
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

static __attribute__((no_sanitize("address", "thread"))) void learn_from(uint32_t tid, uintptr_t low,
									 size_t size)
{
	const volatile uint32_t *halves = (const volatile uint32_t *)pthread_self();
	const volatile uint64_t *words = (const volatile uint64_t *)pthread_self();

	pthread_mutex_lock(&learning);
	for (unsigned int i = 0; i < 2 * WORDS; i++)
		may_be_tid[i] = (!learned_from || may_be_tid[i]) && halves[i] == tid;
	for (unsigned int i = 0; i < WORDS - 2; i++)
		may_be_stack[i] = (!learned_from || may_be_stack[i]) &&
				  words[i] + words[i + 2] == low &&
				  words[i + 1] - words[i + 2] == size;
	if (++learned_from >= 2) {
		atomic_store(&tid_at, only_one(may_be_tid, 2 * WORDS));
		atomic_store(&stack_at, only_one(may_be_stack, WORDS));
	}
	pthread_mutex_unlock(&learning);
}

void inject_prepare_from_thread(void)
{
	uintptr_t low;
	size_t size;

	if (!atomic_load(&tid_at) && ask_stack(&low, &size))
		learn_from((uint32_t)syscall(SYS_gettid), low, size);
}

/* The main thread's stack has no place there. It is the mapping in which the kernel put random bytes. */
static void find_main_stack(void)
{
	uintptr_t inside = getauxval(AT_RANDOM), start, end, below = 0;
	FILE *maps = inside ? fopen("/proc/self/maps", "re") : NULL;
	struct rlimit limit;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		if (inside >= end) {
			below = end;
			continue;
		}
		if (inside < start || getrlimit(RLIMIT_STACK, &limit))
			break;
		/* The stack grows to its limit, but not into the mapping below. */
		main_size = limit.rlim_cur < end - below ? (size_t)limit.rlim_cur : end - below;
		main_size &= -4096ul;
		main_low = end - main_size;
		break;
	}
	if (maps)
		fclose(maps);
}

#else

void inject_prepare_from_thread(void)
{
}

static void find_main_stack(void)
{
}

#endif

int (*inject_clock)(clockid_t id, struct timespec *time) = clock_gettime;
_Atomic int64_t inject_clock_ns;

/* The dynamic symbols of the kernel's own object, which is mapped as it is in the file. */
struct kernel_object {
	const char *base;
	const Elf64_Sym *symbols;
	const char *names;
	uint32_t count;
};

static void read_dynamic(struct kernel_object *object, const Elf64_Dyn *dynamic, intptr_t moved)
{
	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		const void *at = (const void *)(dynamic->d_un.d_ptr + (uintptr_t)moved);

		if (dynamic->d_tag == DT_SYMTAB)
			object->symbols = at;
		else if (dynamic->d_tag == DT_STRTAB)
			object->names = at;
		else if (dynamic->d_tag == DT_HASH)
			object->count = ((const uint32_t *)at)[1];
	}
	/*
	 * Without a table of hashes the number of symbols is unknown; but in this object the names
	 * follow right behind the symbols.
	 */
	if (!object->count && (const char *)object->symbols < object->names)
		object->count = (uint32_t)((object->names - (const char *)object->symbols) /
					   (ptrdiff_t)sizeof(*object->symbols));
}

static void find_clock(void)
{
	struct kernel_object object = { .base = (const char *)getauxval(AT_SYSINFO_EHDR) };
	const Elf64_Ehdr *header = (const void *)object.base;
	const Elf64_Dyn *dynamic = NULL;
	const Elf64_Phdr *segments;
	intptr_t moved = 0;
	const char *name;

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_ident[EI_CLASS] != ELFCLASS64)
		return;
	segments = (const void *)(object.base + header->e_phoff);
	for (unsigned int i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type == PT_LOAD)
			moved = (intptr_t)object.base + (intptr_t)segments[i].p_offset -
				(intptr_t)segments[i].p_vaddr;
		else if (segments[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(object.base + segments[i].p_offset);
	}
	if (!dynamic)
		return;
	read_dynamic(&object, dynamic, moved);
	for (uint32_t i = 0; object.symbols && object.names && i < object.count; i++) {
		name = object.names + object.symbols[i].st_name;
		if (object.symbols[i].st_shndx != SHN_UNDEF &&
		    (!strcmp(name, "__vdso_clock_gettime") ||
		     !strcmp(name, "__kernel_clock_gettime")))
			inject_clock = __extension__(void *)(object.symbols[i].st_value +
							     (uintptr_t)moved);
	}
}

void inject_prepare(void)
{
	static bool is_done;

	if (is_done)
		return;
	is_done = true;
	find_clock();
	reserve_memory();
	find_main_stack();
}

__attribute__((no_sanitize("address", "thread"))) uint32_t inject_tid(void)
{
	unsigned int at = atomic_load_explicit(&tid_at, memory_order_relaxed);

	return at ? ((const volatile uint32_t *)pthread_self())[at] : (uint32_t)syscall(SYS_gettid);
}

__attribute__((no_sanitize("address", "thread"))) bool inject_stack_bounds(uintptr_t *low,
									   size_t *size)
{
	const volatile uint64_t *words = (const volatile uint64_t *)pthread_self();
	unsigned int at = atomic_load_explicit(&stack_at, memory_order_relaxed);

	if (at && words[at]) {
		*low = words[at] + words[at + 2];
		*size = words[at + 1] - words[at + 2];
		return true;
	}
	if (at && main_size) {
		*low = main_low;
		*size = main_size;
		return true;
	}
	return ask_stack(low, size);
}

#define ROOM_MIN 1024

bool inject_grow(void **array, size_t *room, size_t needed, size_t size)
{
	size_t more = *room ? *room : ROOM_MIN;
	void *memory;

	if (needed <= *room)
		return true;
	while (more < needed)
		more *= 2;
	memory = inject_memory_take(more * size);
	if (!memory)
		return false;
	if (*array)
		memcpy(memory, *array, *room * size);
	inject_memory_give(*array, *room * size);
	*array = memory;
	*room = more;
	return true;
}

/* A copy of the environment at the program's start; NULL: the environment itself is read. */
static char *first_environment;
static size_t first_size;
#define FIRST_MAX (1u << 17)

void inject_environment_late(void)
{
	char *text = first_environment ? NULL : map_memory(FIRST_MAX);
	ssize_t got;
	int fd;

	if (!text)
		return;
	fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && first_size < FIRST_MAX - 1) {
		got = read(fd, text + first_size, FIRST_MAX - 1 - first_size);
		if (got <= 0)
			break;
		first_size += (size_t)got;
	}
	if (fd >= 0)
		close(fd);
	first_environment = text;
}

const char *inject_variable(const char *name)
{
	size_t length = strlen(name);

	if (!first_environment)
		return getenv(name);
	for (const char *at = first_environment; at < first_environment + first_size;
	     at += strlen(at) + 1)
		if (!strncmp(at, name, length) && at[length] == '=')
			return at + length + 1;
	return NULL;
}

struct inject_environment inject_environment;

static uint32_t find_rank(void)
{
	static const char *const names[] = { "RANK",
					     "OMPI_COMM_WORLD_RANK",
					     "PMIX_RANK",
					     "PMI_RANK",
					     "MV2_COMM_WORLD_RANK",
					     "SLURM_PROCID",
					     "JSM_NAMESPACE_RANK" };
	const char *text;
	unsigned long rank;
	char *end;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		text = inject_variable(names[i]);
		if (!text || *text < '0' || *text > '9')
			continue;
		rank = strtoul(text, &end, 10);
		if (!*end && rank < UINT32_MAX)
			return (uint32_t)rank;
	}
	return UINT32_MAX;
}

void inject_environment_read(void)
{
	const char *folder = inject_variable("GPUMON_LISTEN");

	memset(&inject_environment, 0, sizeof(inject_environment));
	if (folder && strlen(folder) < sizeof(inject_environment.listen))
		strcpy(inject_environment.listen, folder);
	inject_environment.rank = find_rank();
}
