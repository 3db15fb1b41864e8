// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Which file is mapped where, and when. The loader counts the libraries that it
 * added and removed: while the counts stay, there is nothing new.
 */
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/threads.h"
#include "intern.h"
#include "mappings.h"

/* PyTorch with its libraries has a few hundred. */
#define MAPPINGS 4096

/**
 * struct known - a mapping that was written
 * @start: address
 * @end: address behind it
 * @path: string id
 * @is_seen: it is still there, in this look
 */
struct known {
	uint64_t start;
	uint64_t end;
	uint32_t path;
	bool is_seen;
};

/**
 * struct look - one look at all that is loaded
 * @thread: caller
 * @time_ns: of the previous look: what is new came after it; 0 at the first
 * @now_ns: of this one, under the loader's lock: what is gone went before it
 * @is_first_library: the next one is the program itself, which has no name here
 * @is_again: the previous look found more than there was room for
 * @is_full: so does this one
 */
struct look {
	struct inject_thread *thread;
	uint64_t time_ns;
	uint64_t now_ns;
	bool is_first_library;
	bool is_again;
	bool is_full;
};

/* New mappings in one look at most; PyTorch's take two. */
#define FRESH 256

/* A mapping that is to be written. */
struct fresh {
	struct gpumon_record_mapping record;
	char path[PATH_MAX];
};

static struct known *known;
static unsigned int known_count;
static struct fresh *fresh;
static unsigned int fresh_count;
static unsigned long long adds, subs;
static uint64_t last_look_ns;

static _Atomic bool is_expected;

/* Libraries that were on a stack, where they are and by what name: the last one at each place. */
#define NOTICED 1021
static _Atomic uint64_t noticed[NOTICED];
static _Atomic uint64_t noticed_at[NOTICED];

void inject_mappings_expect(void)
{
	if (!atomic_exchange(&is_expected, true))
		inject_wake();
}

bool inject_mappings_expected(void)
{
	return atomic_exchange(&is_expected, false);
}

/* In an entry of @noticed: a library has gone since, so it may be another one. */
#define IS_STALE 1ull

/* The next stack with a library says again that it is there. */
static void notice_again(void)
{
	unsigned int i;

	for (i = 0; i < NOTICED; i++)
		atomic_fetch_or_explicit(&noticed[i], IS_STALE, memory_order_relaxed);
}

/* The program's folder when the capture began; no file is asked for it later. */
static char folder[PATH_MAX];

/* Not inlined: its text is large for the stack of a signal handler, and relative paths are rare. */
static __attribute__((noinline)) uint32_t intern_relative(struct inject_thread *thread,
							  const char *path)
{
	char text[PATH_MAX];

	if (!*folder || snprintf(text, sizeof(text), "%s/%s", folder, path) >= PATH_MAX)
		return inject_intern_string(thread, path);
	return inject_intern_string(thread, text);
}

/*
 * The loader has a library that was opened by a relative path under that name, which says nothing where
 * the capture is read. If the program has changed its folder since, the path is that of no file.
 */
static uint32_t intern_path(struct inject_thread *thread, const char *path)
{
	if (*path != '/' && strchr(path, '/'))
		return intern_relative(thread, path);
	return inject_intern_string(thread, path);
}

void inject_mappings_reset(void)
{
	unsigned int i;

	for (i = 0; i < NOTICED; i++) {
		atomic_store_explicit(&noticed[i], 0, memory_order_relaxed);
		atomic_store_explicit(&noticed_at[i], 0, memory_order_relaxed);
	}
	if (!getcwd(folder, sizeof(folder)))
		*folder = '\0';
	known_count = 0;
	adds = 0;
	subs = 0;
	last_look_ns = 0;
}

/* Only a part within a readable segment is sure to be mapped. */
static bool is_in_loaded_part(const struct dl_phdr_info *info, const ElfW(Phdr) * part)
{
	const ElfW(Phdr) * header;
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		header = &info->dlpi_phdr[i];
		if (header->p_type == PT_LOAD && (header->p_flags & PF_R) &&
		    part->p_vaddr >= header->p_vaddr && part->p_memsz <= header->p_filesz &&
		    part->p_vaddr - header->p_vaddr <= header->p_filesz - part->p_memsz)
			return true;
	}
	return false;
}

/* From the linker's note, as it is mapped. */
static void find_build_id(const struct dl_phdr_info *info, struct gpumon_record_mapping *mapping)
{
	const ElfW(Phdr) * header;
	const ElfW(Nhdr) * note;
	const char *at, *end, *name, *id;
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		header = &info->dlpi_phdr[i];
		if (header->p_type != PT_NOTE)
			continue;
		if (!is_in_loaded_part(info, header))
			continue;
		at = (const char *)(info->dlpi_addr + header->p_vaddr);
		end = at + header->p_memsz;
		while (at + sizeof(*note) <= end) {
			note = (const void *)at;
			name = at + sizeof(*note);
			id = name + ((note->n_namesz + 3) & ~3u);
			at = id + ((note->n_descsz + 3) & ~3u);
			if (at > end)
				break;
			if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 ||
			    memcmp(name, "GNU", 4) != 0 || note->n_descsz > GPUMON_BUILD_ID_SIZE)
				continue;
			mapping->build_id_size = (uint8_t)note->n_descsz;
			memcpy(mapping->build_id, id, note->n_descsz);
			return;
		}
	}
}

/* False: it was the last one that was noticed there. @is_another: that was another one. */
static bool is_news(uint64_t start, const char *name, bool *is_another)
{
	unsigned int place = (unsigned int)(start >> 12) % NOTICED;
	uint64_t key = start, before;

	for (; *name; name++)
		key = (key ^ (unsigned char)*name) * 0x100000001b3ull;
	key &= ~IS_STALE;
	before = atomic_exchange(&noticed[place], key);
	if (before == key)
		return false;
	*is_another = atomic_exchange(&noticed_at[place], start) == start &&
		      (before & ~IS_STALE) != key;
	return true;
}

static void write_gone(struct inject_thread *thread, uint64_t time_ns, uint64_t start, uint64_t end)
{
	const struct gpumon_record_unmapping record = {
		.head = { .type = GPUMON_RECORD_UNMAPPING, .size = sizeof(record) },
		.time_ns = time_ns,
		.start = start,
		.end = end,
	};

	inject_append(thread, &record);
}

/*
 * Whether the program headers are in the page of the ELF header, as linkers put them. Editors of ELF
 * files put them behind everything else, which may not be mapped: then the worker asks the loader.
 */
static bool has_headers_in_page(const Elf64_Ehdr *header, uint64_t page_size)
{
	return header->e_phoff < page_size &&
	       header->e_phnum <= (page_size - header->e_phoff) / sizeof(Elf64_Phdr);
}

void inject_mappings_notice(struct inject_thread *thread, uint64_t start, uint64_t end,
			    uint64_t base, const char *name)
{
	const Elf64_Ehdr *header = (const void *)(uintptr_t)start;
	struct gpumon_record_mapping record = {
		.head = { .type = GPUMON_RECORD_MAPPING, .size = sizeof(record) },
		/* The library was there when the call that is recorded began. */
		.time_ns = thread->call.open ? thread->call.start_ns : inject_now(),
	};
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	struct dl_phdr_info info = { .dlpi_addr = base };
	bool is_another;
	int i;

	/* The program and the kernel's own object, which have no paths here, never go. */
	if (!strchr(name, '/') || !is_news(start, name, &is_another) ||
	    memcmp(header->e_ident, ELFMAG, SELFMAG) || !has_headers_in_page(header, page + 1))
		return;
	/* The worker did not see it go. */
	if (is_another)
		write_gone(thread, record.time_ns - 1, start, end);
	info.dlpi_phdr = (const void *)(uintptr_t)(start + header->e_phoff);
	info.dlpi_phnum = header->e_phnum;
	record.path = intern_path(thread, name);
	find_build_id(&info, &record);
	for (i = 0; i < info.dlpi_phnum; i++) {
		const Elf64_Phdr *part = &info.dlpi_phdr[i];

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		record.start = (base + part->p_vaddr) & ~page;
		record.end = (base + part->p_vaddr + part->p_memsz + page) & ~page;
		record.offset = part->p_offset & ~page;
		inject_append(thread, &record);
	}
}

static bool is_known_mapping(uint64_t start, uint64_t end, uint32_t path)
{
	unsigned int i;

	for (i = 0; i < known_count; i++) {
		if (known[i].start != start || known[i].end != end || known[i].path != path)
			continue;
		known[i].is_seen = true;
		return true;
	}
	return false;
}

/* Runs under the loader's lock, for which the program may wait: touches no file. */
static void find_mapping(struct look *look, const struct dl_phdr_info *info,
			 const ElfW(Phdr) * header, const char *path)
{
	struct gpumon_record_mapping record = {
		.head = { .type = GPUMON_RECORD_MAPPING, .size = sizeof(record) },
		.time_ns = look->time_ns,
	};
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;

	record.start = (info->dlpi_addr + header->p_vaddr) & ~page;
	/* The usual name; the loader has another one, which is no file either. */
	if (record.start == getauxval(AT_SYSINFO_EHDR))
		path = "[vdso]";
	record.end = (info->dlpi_addr + header->p_vaddr + header->p_memsz + page) & ~page;
	record.offset = header->p_offset & ~page;
	record.path = intern_path(look->thread, path);
	if (is_known_mapping(record.start, record.end, record.path))
		return;
	if (fresh_count == FRESH) {
		look->is_full = true;
		return;
	}
	find_build_id(info, &record);
	fresh[fresh_count].record = record;
	snprintf(fresh[fresh_count++].path, PATH_MAX, "%s", path);
	if (known_count < MAPPINGS)
		known[known_count++] = (struct known){ .start = record.start,
						       .end = record.end,
						       .path = record.path,
						       .is_seen = true };
}

/*
 * Not under the loader's lock: a file may be on a disk that does not answer. Only when a capture begins:
 * later the program may have forbidden that, and the recorder looks at the files.
 */
static void write_new_mappings(struct inject_thread *thread, bool is_first)
{
	struct stat file;
	unsigned int i;

	for (i = 0; i < fresh_count; i++) {
		/* Not stat(): its symbol is newer than the C library of many containers. */
		if (is_first && strchr(fresh[i].path, '/') &&
		    syscall(SYS_newfstatat, AT_FDCWD, fresh[i].path, &file, 0) == 0) {
			fresh[i].record.inode = file.st_ino;
			fresh[i].record.device = file.st_dev;
		}
		inject_append(thread, &fresh[i].record);
	}
	fresh_count = 0;
}

static int look_at_library(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct look *look = argument;
	const char *path = info->dlpi_name;
	static char executable[PATH_MAX];
	unsigned int i;
	int h;

	if (look->is_first_library) {
		look->is_first_library = false;
		if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
			if (!look->is_again && info->dlpi_adds == adds && info->dlpi_subs == subs)
				return 1;
			/* A library that is gone may be loaded again as soon as the loader lets go of its lock. */
			if (info->dlpi_subs != subs)
				notice_again();
			adds = info->dlpi_adds;
			subs = info->dlpi_subs;
		}
		look->now_ns = inject_now();
		for (i = 0; i < known_count; i++)
			known[i].is_seen = false;
		if (!last_look_ns &&
		    readlink("/proc/self/exe", executable, sizeof(executable) - 1) < 0)
			executable[0] = '\0';
		if (!*path)
			path = executable;
	}
	for (h = 0; h < info->dlpi_phnum; h++)
		if (info->dlpi_phdr[h].p_type == PT_LOAD && (info->dlpi_phdr[h].p_flags & PF_X))
			find_mapping(look, info, &info->dlpi_phdr[h], path);
	return 0;
}

static void date_in_place(const struct known *gone, uint64_t time_ns)
{
	unsigned int i;

	for (i = 0; i < fresh_count; i++)
		if (fresh[i].record.start < gone->end && fresh[i].record.end > gone->start)
			fresh[i].record.time_ns = time_ns;
}

/*
 * It was there at the previous look, and stacks since then may have it, so it went just now. What is new in
 * its place came just now, too: what came earlier and was on a stack was noticed there.
 */
static void write_unmappings(struct inject_thread *thread, uint64_t time_ns)
{
	unsigned int i, kept = 0;

	for (i = 0; i < known_count; i++) {
		if (known[i].is_seen) {
			known[kept++] = known[i];
			continue;
		}
		write_gone(thread, time_ns - 1, known[i].start, known[i].end);
		date_in_place(&known[i], time_ns);
	}
	known_count = kept;
}

static void *make_mapping_table(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

bool inject_mappings_write(struct inject_thread *thread)
{
	struct look look = { .thread = thread, .time_ns = last_look_ns };
	uint64_t now = inject_now();
	bool changed = false, found, more;

	if (!known)
		known = make_mapping_table(MAPPINGS * sizeof(*known));
	if (!fresh)
		fresh = make_mapping_table(FRESH * sizeof(*fresh));
	if (!known || !fresh)
		return false;
	do {
		look.is_again = look.is_full;
		look.is_full = false;
		look.is_first_library = true;
		found = dl_iterate_phdr(look_at_library, &look) != 1;
		/* With @known full, the same mappings would be new again and again. */
		more = look.is_full && known_count < MAPPINGS;
		if (found && !more)
			write_unmappings(thread, look.now_ns);
		write_new_mappings(thread, !last_look_ns);
		changed |= found;
	} while (more);
	last_look_ns = now;
	return changed;
}

/* From where an address is to all of the library that it is in. */
static int find_library(struct dl_phdr_info *info, size_t size, void *argument)
{
	uintptr_t start = UINTPTR_MAX, end = 0, from, to;
	struct inject_code *code = argument;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		to = from + info->dlpi_phdr[i].p_memsz;
		start = from < start ? from : start;
		end = to > end ? to : end;
	}
	if (code->start < start || code->start >= end)
		return 0;
	*code = (struct inject_code){ start, end - start };
	return 1;
}

bool inject_library_code(const void *address, struct inject_code *code)
{
	*code = (struct inject_code){ .start = (uintptr_t)address };
	return dl_iterate_phdr(find_library, code);
}
