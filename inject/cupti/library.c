// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/prepared.h"
#include "library.h"

struct inject_cupti inject_cupti;
struct inject_cupti_environment inject_cupti_environment;

/**
 * struct search - a loaded library, looked for by the begin of its file's name
 * @name: as "libcudart.so"
 * @path: found, "" where there is none
 * @start: address of its code
 * @end: behind it
 */
struct search {
	const char *name;
	char path[PATH_MAX];
	uintptr_t start;
	uintptr_t end;
};

static int match_library(struct dl_phdr_info *info, size_t size, void *argument)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *file = slash ? slash + 1 : info->dlpi_name;
	struct search *search = argument;
	size_t length = strlen(search->name);
	const ElfW(Phdr) * header;
	int i;

	(void)size;
	/* Wheels put a hash behind the name: libcudart-a1b2c3.so.12. */
	if (strncmp(file, search->name, length) != 0 ||
	    (file[length] != '.' && file[length] != '-') || !strstr(file + length, ".so"))
		return 0;
	snprintf(search->path, sizeof(search->path), "%s", info->dlpi_name);
	for (i = 0; i < info->dlpi_phnum; i++) {
		header = &info->dlpi_phdr[i];
		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		if (!search->start)
			search->start = info->dlpi_addr + header->p_vaddr;
		search->end = info->dlpi_addr + header->p_vaddr + header->p_memsz;
	}
	return 1;
}

static bool find_loaded(struct search *search, const char *name)
{
	memset(search, 0, sizeof(*search));
	search->name = name;
	return dl_iterate_phdr(match_library, search) == 1;
}

void *inject_cuda_symbol(const char *name)
{
	static void *handle;

	if (!handle)
		handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	return handle ? dlsym(handle, name) : NULL;
}

uint32_t inject_cupti_driver(void)
{
	__typeof__(&cuDriverGetVersion) get_version = inject_cuda_symbol("cuDriverGetVersion");
	int version = 0;

	return get_version && get_version(&version) == CUDA_SUCCESS && version > 0 ?
		       (uint32_t)version :
		       0;
}

/* From the file's name: calling the runtime might initialise CUDA, which is in progress. */
static uint32_t runtime_version(void)
{
	unsigned int major, minor;
	struct search cudart;
	char real[PATH_MAX];
	const char *so;

	if (!find_loaded(&cudart, "libcudart") || !realpath(cudart.path, real))
		return 0;
	so = strstr(real, ".so.");
	if (!so || sscanf(so, ".so.%u.%u", &major, &minor) != 2)
		return 0;
	return major * 1000 + minor * 10;
}

static bool try_cupti(const char *path)
{
	inject_cupti.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return inject_cupti.handle;
}

/* In the first of these places where it is. %1$u: major version, %2$s: folder */
static bool open_cupti_in(const char *const *places, size_t count, unsigned int major,
			  const char *folder)
{
	char path[PATH_MAX + 64];
	size_t i;

	for (i = 0; i < count; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(path, sizeof(path), places[i], major, folder);
#pragma GCC diagnostic pop
		if (access(path, R_OK) == 0 && try_cupti(path))
			return true;
	}
	return false;
}

/* Where the toolkit, wheels and conda put it, relative to another of their libraries. */
static bool open_cupti_beside(const char *library, unsigned int major)
{
	static const char *const places[] = {
		"%2$s/libcupti.so.%1$u",
		"%2$s/../../cuda_cupti/lib/libcupti.so.%1$u",
		"%2$s/../../nvidia/cuda_cupti/lib/libcupti.so.%1$u",
		"%2$s/../../nvidia/cu13/lib/libcupti.so.%1$u",
		"%2$s/../extras/CUPTI/lib64/libcupti.so.%1$u",
		"%2$s/../../../extras/CUPTI/lib64/libcupti.so.%1$u",
	};
	char folder[PATH_MAX], *slash;

	snprintf(folder, sizeof(folder), "%s", library);
	slash = strrchr(folder, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return open_cupti_in(places, sizeof(places) / sizeof(places[0]), major, folder);
}

static bool open_cupti_major(unsigned int major)
{
	static const char *const places[] = {
		"/usr/local/cuda-%1$u/lib64/libcupti.so.%1$u",
		"/usr/local/cuda-%1$u/extras/CUPTI/lib64/libcupti.so.%1$u",
		"/usr/local/cuda/lib64/libcupti.so.%1$u",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.%1$u",
	};
	char name[32];

	snprintf(name, sizeof(name), "libcupti.so.%u", major);
	return try_cupti(name) ||
	       open_cupti_in(places, sizeof(places) / sizeof(places[0]), major, "");
}

static bool find_cupti(void)
{
	/* CUPTI 13 does not work with an older driver. */
	uint32_t version = runtime_version(), driver = inject_cupti_driver();
	unsigned int first = (version ? version : driver) / 1000 < 13 ? 12 : 13,
		     second = 25 - first;
	const char *named = inject_cupti_environment.path;
	struct search library;

	/* First the one that the program has loaded: its state is CUPTI's state in this process. */
	if (find_loaded(&library, "libcupti")) {
		inject_cupti.handle = dlopen(library.path, RTLD_NOW | RTLD_NOLOAD);
		if (inject_cupti.handle)
			return true;
	}
	if (*named)
		return try_cupti(named);
	if (find_loaded(&library, "libcudart") &&
	    (open_cupti_beside(library.path, first) || open_cupti_beside(library.path, second)))
		return true;
	return open_cupti_major(first) || (driver / 1000 != 12 && open_cupti_major(second));
}

bool inject_cupti_load(const char **why)
{
	static char text[512];
	char which[360];
	const char *missing = NULL;

	if (inject_cupti.handle)
		return true;
	if (!find_cupti()) {
		uint32_t driver = inject_cupti_driver();

		snprintf(
			text, sizeof(text),
			"no CUPTI found that goes with the driver (CUDA %u.%u): nothing of the GPU is recorded. It is a part of the CUDA toolkit (libcupti.so.%u); say where it is with GPUMON_CUPTI=PATH",
			driver / 1000, driver % 1000 / 10, driver / 1000 == 12 ? 12 : 13);
		*why = text;
		return false;
	}
#define INJECT_CUPTI_FIND(name) \
	inject_cupti.name = (__typeof__(&name))dlsym(inject_cupti.handle, #name);
#define INJECT_CUPTI_NEED(name) \
	INJECT_CUPTI_FIND(name) \
	if (!inject_cupti.name) \
		missing = #name;
	INJECT_CUPTI_REQUIRED(INJECT_CUPTI_NEED)
	INJECT_CUPTI_OPTIONAL(INJECT_CUPTI_FIND)
	if (missing) {
		inject_cupti_describe(which, sizeof(which));
		snprintf(
			text, sizeof(text),
			"%s has no %s: nothing of the GPU is recorded. A CUPTI of CUDA 12 or newer is needed; say where it is with GPUMON_CUPTI=PATH",
			which, missing);
		*why = text;
		/* Not closed: it may be the program's. */
		inject_cupti.handle = NULL;
		return false;
	}
	return true;
}

unsigned int inject_cupti_code(struct inject_code *code, unsigned int room)
{
	static const char *const names[] = { "libcupti", "libcuda" };
	struct search library;
	unsigned int count = 0;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]) && count < room; i++)
		if (find_loaded(&library, names[i]))
			code[count++] =
				(struct inject_code){ library.start, library.end - library.start };
	return count;
}

void inject_cupti_describe(char *text, size_t size)
{
	uint32_t driver = inject_cupti_driver();
	struct search library;
	const char *path = find_loaded(&library, "libcupti") ? library.path : "CUPTI";

	if (driver)
		snprintf(text, size, "%.300s with a driver for CUDA %u.%u", path, driver / 1000,
			 driver % 1000 / 10);
	else
		snprintf(text, size, "%.300s", path);
}

void inject_cupti_versions(struct inject_versions *versions)
{
	versions->tracing = inject_cupti.version;
	versions->driver = inject_cupti_driver();
	versions->runtime = runtime_version();
}

void inject_cupti_write_api(struct inject_thread *thread)
{
	uint32_t driver = inject_cupti_driver(), runtime = runtime_version();
	char text[96];
	size_t at;

	at = (size_t)snprintf(text, sizeof(text), "driver %u.%u", driver / 1000,
			      driver % 1000 / 10);
	if (runtime)
		at += (size_t)snprintf(text + at, sizeof(text) - at, ", runtime %u.%u",
				       runtime / 1000, runtime % 1000 / 10);
	if (inject_cupti.version)
		snprintf(text + at, sizeof(text) - at, ", CUPTI %u", inject_cupti.version);
	inject_api_write(thread, GPUMON_API_CUDA, "CUDA", text, NULL);
}

void inject_cupti_functions(CUpti_CallbackDomain domain,
			    void (*each)(CUpti_CallbackDomain domain, uint32_t id,
					 const char *name))
{
	unsigned int misses = 0;
	const char *name;

	/* Some numbers are not used. */
	for (uint32_t id = 1; id < INJECT_FUNCTIONS && misses < 64; id++) {
		name = NULL;
		if (inject_cupti.cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS ||
		    !name) {
			misses++;
			continue;
		}
		misses = 0;
		each(domain, id, name);
	}
}

const char *inject_cupti_result(CUptiResult result)
{
	const char *text = NULL;

	if (!inject_cupti.cuptiGetResultString ||
	    inject_cupti.cuptiGetResultString(result, &text) != CUPTI_SUCCESS || !text)
		return "unknown";
	return text;
}

void inject_cupti_read_environment(void)
{
	const char *path = inject_variable("GPUMON_CUPTI"),
		   *launches = inject_variable("GPUMON_LAUNCHES");
	struct inject_cupti_environment *environment = &inject_cupti_environment;

	memset(environment, 0, sizeof(*environment));
	if (path && strlen(path) < sizeof(environment->path))
		strcpy(environment->path, path);
	environment->runtime_too = launches && strcmp(launches, "all") == 0;
	environment->no_internal = inject_variable("GPUMON_NO_INTERNAL");
	environment->late = inject_variable("GPUMON_LATE");
	environment->since_ns = inject_now();
}
