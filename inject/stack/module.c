// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What an address lies in: an object, with its call frame information, or
 * generated code. glibc since 2.35 finds objects without a lock; all else is
 * in /proc/self/maps, read again only when something is not found. The loader
 * is never asked in a way that could wait.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/inject.h"
#include "base/prepared.h"
#include "internal.h"

/* The result of _dl_find_object(), which headers before glibc 2.35 do not have. */
struct found_object {
	unsigned long long flags;
	void *map_start;
	void *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[8];
};

static int (*find_object)(void *address, struct found_object *result);

/**
 * struct executable - a mapping whose code can run
 * @start: address
 * @end: behind it
 * @first: where the file that it is of, or the one mapped in front of it, begins; 0: none
 */
struct executable {
	uint64_t start;
	uint64_t end;
	uint64_t first;
};

/**
 * struct maps - /proc/self/maps as it was
 * @all: sorted by address
 * @count: of these
 * @room: for so many
 * @salt: it was read for
 * @read_ns: when
 * @took_ns: reading it
 */
static struct {
	struct executable *all;
	size_t count;
	size_t room;
	uint64_t salt;
	uint64_t read_ns;
	uint64_t took_ns;
} maps;

/* Reading maps takes at most one part in so many of the processor's time. */
#define MAPS_SHARE 20

void inject_stack_module_init(void)
{
	/* Not by name at link time: the library has to load where there is none. */
	*(void **)&find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
}

uint64_t inject_stack_libraries(void)
{
	return inject_stack_salt();
}

bool inject_stack_object_at(uint64_t address, struct inject_stack_object *object)
{
	struct found_object found;

	if (!find_object || find_object((void *)(uintptr_t)address, &found) || !found.link_map)
		return false;
	*object = (struct inject_stack_object){
		.start = (uint64_t)(uintptr_t)found.map_start,
		.end = (uint64_t)(uintptr_t)found.map_end,
		.base = found.link_map->l_addr,
		.name = found.link_map->l_name,
	};
	return object->name;
}

void inject_stack_module_without_loader(void)
{
	find_object = NULL;
}

void inject_stack_place_forget(void)
{
	maps.count = 0;
	maps.salt = 0;
}

/*
 * Memory that another thread may unmap at any time. Not by /proc/self/mem: for the time of three
 * system calls the program would have a descriptor that it does not know.
 */
static bool read_memory(uint64_t address, void *to, size_t size)
{
	const struct iovec there = { (void *)(uintptr_t)address, size };
	const struct iovec here = { to, size };
	long got = -1;

	if (!atomic_load(&inject_is_sandboxed)) {
		got = syscall(SYS_process_vm_readv, getpid(), &here, 1, &there, 1, 0);
		if (got >= 0 || errno == EFAULT)
			return got == (long)size;
	}
	/* A filter of system calls, as old containers and sandboxes have. */
	if (!inject_stack_readable(address) || !inject_stack_readable(address + size - 1))
		return false;
	memcpy(to, (const void *)(uintptr_t)address, size);
	return true;
}

struct inject_stack_foreign inject_stack_foreign;

bool inject_stack_copy_foreign(uint64_t address, void *to, size_t size)
{
	if (!read_memory(address, to, size))
		inject_stack_foreign.is_lost = true;
	return !inject_stack_foreign.is_lost;
}

#define SEGMENTS_MAX 64

/* An object by its header in memory: from where to where, and its .eh_frame_hdr. */
static bool read_object(uint64_t address, struct inject_stack_place *place)
{
	static Elf64_Phdr segments[SEGMENTS_MAX];
	Elf64_Ehdr header;
	uint64_t base = 0;
	uint64_t end = 0;
	bool based = false;

	if (!address || !read_memory(address, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_phentsize != sizeof(segments[0]) || !header.e_phnum ||
	    header.e_phnum > SEGMENTS_MAX ||
	    !read_memory(address + header.e_phoff, segments, header.e_phnum * sizeof(segments[0])))
		return false;
	*place = (struct inject_stack_place){ .kind = INJECT_STACK_MODULE, .start = address };
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		const Elf64_Phdr *segment = &segments[i];

		if (segment->p_type == PT_GNU_EH_FRAME)
			place->header = segment->p_vaddr;
		if (segment->p_type != PT_LOAD)
			continue;
		if (!based) {
			base = address - (segment->p_vaddr & -(uint64_t)4096) +
			       (segment->p_offset & -(uint64_t)4096);
			based = true;
		}
		if (segment->p_vaddr + segment->p_memsz > end)
			end = segment->p_vaddr + segment->p_memsz;
	}
	place->end = base + end;
	if (place->header) {
		place->header += base;
		if (place->header < place->start || place->header + 8 > place->end ||
		    !inject_stack_readable(place->header))
			place->header = 0;
	}
	return based && place->end > place->start;
}

static void add_executable(uint64_t start, uint64_t end, uint64_t first)
{
	if (inject_grow((void **)&maps.all, &maps.room, maps.count + 1, sizeof(*maps.all)))
		maps.all[maps.count++] = (struct executable){ start, end, first };
}

/**
 * struct mapping - a line of /proc/self/maps
 * @start: address
 * @end: address
 * @offset: in the file
 * @inode: 0 of what is no file
 * @executable: so
 * @vdso: the kernel's own object
 */
struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	bool executable;
	bool vdso;
};

static uint64_t parse_number(const char **text, unsigned int radix)
{
	uint64_t value = 0;

	for (;; (*text)++) {
		unsigned int digit;

		if (**text >= '0' && **text <= '9')
			digit = (unsigned int)(**text - '0');
		else if (**text >= 'a' && **text <= 'f')
			digit = (unsigned int)(**text - 'a') + 10;
		else
			return value;
		if (digit >= radix)
			return value;
		value = value * radix + digit;
	}
}

static bool parse_line(const char *line, struct mapping *mapping)
{
	const char *at = line;

	mapping->start = parse_number(&at, 16);
	if (*at++ != '-')
		return false;
	mapping->end = parse_number(&at, 16);
	if (*at++ != ' ' || strlen(at) < 5)
		return false;
	mapping->executable = at[2] == 'x';
	at += 5;
	mapping->offset = parse_number(&at, 16);
	if (*at++ != ' ')
		return false;
	parse_number(&at, 16); /* device */
	if (*at++ != ':')
		return false;
	parse_number(&at, 16);
	if (*at++ != ' ')
		return false;
	mapping->inode = parse_number(&at, 10);
	mapping->vdso = strstr(at, "[vdso]") != NULL;
	return true;
}

/* Lines are cut at what a buffer holds: of a longer path nothing is needed. */
static void read_maps(uint64_t salt)
{
	static char buffer[1 << 16];
	struct mapping mapping;
	uint64_t first = 0;
	uint64_t begin = inject_now();
	size_t used = 0;
	int file;

	maps.count = 0;
	maps.salt = salt;
	file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return;
	for (;;) {
		ssize_t got = read(file, buffer + used, sizeof(buffer) - 1 - used);
		char *line = buffer;
		char *end;

		if (got <= 0)
			break;
		used += (size_t)got;
		buffer[used] = '\0';
		while ((end = memchr(line, '\n', used - (size_t)(line - buffer)))) {
			*end = '\0';
			if (parse_line(line, &mapping)) {
				/* Code that was moved into huge pages lies between its file's. */
				if (!mapping.offset && (mapping.inode || mapping.vdso))
					first = mapping.start;
				if (mapping.executable)
					add_executable(mapping.start, mapping.end, first);
			}
			line = end + 1;
		}
		used -= (size_t)(line - buffer);
		memmove(buffer, line, used);
		if (used == sizeof(buffer) - 1)
			break;
	}
	close(file);
	maps.read_ns = inject_now();
	maps.took_ns = maps.read_ns - begin;
}

static bool search_maps(uint64_t address, struct inject_stack_place *place)
{
	const struct executable *found;
	size_t low = 0;
	size_t high = maps.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (maps.all[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= maps.all[low - 1].end)
		return false;
	found = &maps.all[low - 1];
	if (!read_object(found->first, place) || address >= place->end)
		*place = (struct inject_stack_place){ .kind = INJECT_STACK_ANONYMOUS,
						      .start = found->start,
						      .end = found->end };
	return true;
}

void inject_stack_place(uint64_t address, uint64_t salt, struct inject_stack_place *place)
{
	struct found_object object;

	*place = (struct inject_stack_place){ .kind = INJECT_STACK_NOWHERE };
	if (find_object && !find_object((void *)(uintptr_t)address, &object)) {
		place->kind = INJECT_STACK_MODULE;
		place->start = (uint64_t)(uintptr_t)object.map_start;
		place->end = (uint64_t)(uintptr_t)object.map_end;
		place->header = (uint64_t)(uintptr_t)object.eh_frame;
		return;
	}
	if (maps.salt == salt) {
		if (search_maps(address, place))
			return;
		if (inject_now() - maps.read_ns < maps.took_ns * MAPS_SHARE) {
			place->kind = INJECT_STACK_UNKNOWN;
			return;
		}
	}
	if (atomic_load(&inject_is_sandboxed)) {
		place->kind = INJECT_STACK_UNKNOWN;
		return;
	}
	read_maps(salt);
	search_maps(address, place);
}

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

static const uint64_t no_adds;
static const uint32_t no_loaded;

struct inject_stack_loader inject_stack_loader = {
	.adds = &no_adds,
	.loaded = &no_loaded,
};

/* Counts of dl_iterate_phdr() when it was asked last. */
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
	inject_stack_loader.adds = found;
	inject_stack_loader.loaded = (const void *)(global + sizeof(void *));
	inject_stack_loader.known = true;
}

#endif

void inject_stack_loader_init(void)
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
	inject_stack_loader.known = true;
#endif
}

bool inject_stack_notices_unload(void)
{
	return inject_stack_loader.known;
}

void inject_stack_poll(void)
{
	uint64_t counters[2] = { 0, 0 };

	if (dl_iterate_phdr(read_counters, counters) != 1)
		return;
	if (counters[0] == polled_adds && counters[1] == polled_subs)
		return;
	polled_adds = counters[0];
	polled_subs = counters[1];
	atomic_fetch_add_explicit(&inject_stack_loader.changes, 1, memory_order_release);
}
