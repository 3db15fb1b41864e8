// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "other_profiler.h"
#include "session/session.h"
#include "session/window.h"
#include "subscribe.h"

/* The begin of this library and the end of its code, defined by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

typedef ElfW(Phdr) program_header_t;
typedef ElfW(Rela) relocation_t;

/*
 * The clock that the program's profiler asked for while CUPTI was not its own. Such a profiler sets its
 * clock first and subscribes then. CUPTI has one clock, and forgets it when gpumon lets go.
 */
static _Atomic CUpti_TimestampCallbackFunc kept_clock;

/**
 * struct dynamic - what a library's dynamic section says about its imports
 * @strings: their names
 * @symbols: by number
 * @tables: relocations of functions called through the PLT, and all others
 * @bytes: size of each table
 */
struct dynamic {
	const char *strings;
	const ElfW(Sym) * symbols;
	const relocation_t *tables[2];
	size_t bytes[2];
};

/* The function @symbol that @caller would have called, @ours if that is not known, and its file's name. */
static void *find_original(const char *symbol, void *ours, const void *caller, const char **name)
{
	void *original = NULL;
	Dl_info info;
	void *handle;

	*name = "the program";
	if (dladdr(caller, &info) && info.dli_fname) {
		const char *slash = strrchr(info.dli_fname, '/');

		*name = slash ? slash + 1 : info.dli_fname;
		handle = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
		/* The program itself has no handle under its name. */
		if (!handle)
			handle = dlopen(NULL, RTLD_NOW);
		if (handle) {
			original = dlsym(handle, symbol);
			dlclose(handle);
		}
	}
	return original ? original : ours;
}

static __typeof__(&cuptiActivityRegisterTimestampCallback) find_set_clock(const void *caller)
{
	const char *name;

	return find_original("cuptiActivityRegisterTimestampCallback",
			     (void *)inject_cupti.cuptiActivityRegisterTimestampCallback, caller,
			     &name);
}

static void note_profiler(const char *name, bool yielded, CUptiResult result)
{
	struct inject_thread *thread = inject_thread_enter(true);

	if (!thread)
		return;
	if (yielded && result == CUPTI_SUCCESS)
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"%s had CUPTI for its own profiler: nothing of CUDA was recorded meanwhile",
			name);
	else if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
		inject_session_note(
			thread, 0,
			"%s wanted CUPTI for its own profiler and did not get it, because CUPTI serves one at a time: that profiler lacks the GPU",
			name);
	inject_thread_leave(thread);
}

/* In place of cuptiSubscribe(), in the program's libraries. */
static CUptiResult subscribe_for_program(CUpti_SubscriberHandle *subscriber,
					 CUpti_CallbackFunc callback, void *argument)
{
	bool is_open = atomic_load(&inject_session.is_open), yielded = false;
	CUpti_TimestampCallbackFunc clock;
	CUptiResult result;
	const char *name;
	const void *caller = __builtin_return_address(0);
	__typeof__(&cuptiSubscribe) original =
		find_original("cuptiSubscribe", (void *)inject_cupti.cuptiSubscribe, caller, &name);

	if (is_open && (inject_session.record & GPUMON_RECORD_YIELD))
		yielded = inject_window_yield();
	result = original(subscriber, callback, argument);
	clock = result == CUPTI_SUCCESS ? atomic_exchange(&kept_clock, NULL) : NULL;
	if (yielded || clock)
		inject_subscribe_clock_lost();
	if (clock)
		find_set_clock(caller)(clock);
	if (is_open)
		note_profiler(name, yielded, result);
	return result;
}

/* In place of cuptiActivityRegisterTimestampCallback(), likewise. */
static CUptiResult set_clock_for_program(CUpti_TimestampCallbackFunc clock)
{
	if (inject_subscribed()) {
		atomic_store(&kept_clock, clock);
		return CUPTI_SUCCESS;
	}
	inject_subscribe_clock_lost();
	return find_set_clock(__builtin_return_address(0))(clock);
}

static void *find_replacement(const char *symbol)
{
	if (!strcmp(symbol, "cuptiSubscribe"))
		return (void *)subscribe_for_program;
	if (!strcmp(symbol, "cuptiActivityRegisterTimestampCallback"))
		return (void *)set_clock_for_program;
	return NULL;
}

static void read_dynamic(const struct dl_phdr_info *info, const ElfW(Dyn) * entry,
			 struct dynamic *dynamic)
{
	memset(dynamic, 0, sizeof(*dynamic));
	for (; entry->d_tag != DT_NULL; entry++) {
		/* The loader has relocated these, but not in the vDSO and not in musl. */
		uintptr_t value = entry->d_un.d_ptr;
		const void *at =
			(const void *)(value < info->dlpi_addr ? value + info->dlpi_addr : value);

		if (entry->d_tag == DT_STRTAB)
			dynamic->strings = at;
		else if (entry->d_tag == DT_SYMTAB)
			dynamic->symbols = at;
		else if (entry->d_tag == DT_JMPREL)
			dynamic->tables[0] = at;
		else if (entry->d_tag == DT_PLTRELSZ)
			dynamic->bytes[0] = value;
		else if (entry->d_tag == DT_RELA)
			dynamic->tables[1] = at;
		else if (entry->d_tag == DT_RELASZ)
			dynamic->bytes[1] = value;
	}
}

/*
 * The table is read-only where all functions were looked up at the start. The loader protects whole pages
 * only: what ends within one, as on a machine with larger pages than the linker thought of, shares that one
 * with the library's data, which the program writes to.
 */
static void replace_import(void **import, void *replacement, const program_header_t *relro,
			   uintptr_t base)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)import & -page;
	bool is_protected = relro && at >= ((base + relro->p_vaddr) & -page) &&
			    at < ((base + relro->p_vaddr + relro->p_memsz) & -page);

	if (is_protected && mprotect((void *)at, page, PROT_READ | PROT_WRITE))
		return;
	__atomic_store_n(import, replacement, __ATOMIC_RELEASE);
	if (is_protected)
		mprotect((void *)at, page, PROT_READ);
}

static int look_at_library(struct dl_phdr_info *info, size_t size, void *argument)
{
	const program_header_t *dynamic_header = NULL, *relro = NULL;
	struct dynamic dynamic;

	(void)size;
	(void)argument;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic_header = &info->dlpi_phdr[i];
		else if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
			relro = &info->dlpi_phdr[i];
	}
	if (!dynamic_header || info->dlpi_addr == (uintptr_t)__ehdr_start)
		return 0;
	read_dynamic(info, (const void *)(info->dlpi_addr + dynamic_header->p_vaddr), &dynamic);
	if (!dynamic.strings || !dynamic.symbols)
		return 0;
	for (unsigned int table = 0; table < 2; table++) {
		const relocation_t *relocation = dynamic.tables[table];
		size_t count = relocation ? dynamic.bytes[table] / sizeof(*relocation) : 0;

		for (; count; count--, relocation++) {
			uint32_t symbol = (uint32_t)ELF64_R_SYM(relocation->r_info);
			void *replacement = NULL;

			if (symbol)
				replacement = find_replacement(dynamic.strings +
							       dynamic.symbols[symbol].st_name);
			if (replacement)
				replace_import((void **)(info->dlpi_addr + relocation->r_offset),
					       replacement, relro, info->dlpi_addr);
		}
	}
	return 0;
}

static int count_libraries(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)size;
	*(unsigned long long *)argument = info->dlpi_adds;
	return 1;
}

void inject_other_profiler_look(void)
{
	static unsigned long long seen;
	unsigned long long loaded = 0;

	if (!(inject_session.record & GPUMON_RECORD_YIELD))
		return;
	dl_iterate_phdr(count_libraries, &loaded);
	if (loaded == seen)
		return;
	seen = loaded;
	dl_iterate_phdr(look_at_library, NULL);
}
