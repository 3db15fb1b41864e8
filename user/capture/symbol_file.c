// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "lib/wait.h"
#include "elf_find.h"
#include "symbol.h"
#include "symbol_file.h"

#define VDSO	    "[vdso]"
#define DEBUG_DIR   "/usr/lib/debug"
#define SILENT_NS   20000000000ull /* a server that returns no file for so long is given up */
#define VDSO_MAX    ((size_t)1 << 20)
#define PATH_LENGTH 8192

size_t gpumon_symbol_path_length(const char *path)
{
	size_t length = strlen(path), deleted = strlen(GPUMON_DELETED);

	if (length > deleted && !strcmp(path + length - deleted, GPUMON_DELETED))
		length -= deleted;
	return length;
}

/* Path of a ".build-id" folder, with the suffix "" for files and ".debug" for debug information. */
static bool build_id_path(char *path, size_t room, const char *folder, const uint8_t *build_id,
			  size_t size, const char *suffix)
{
	int n = snprintf(path, room, "%s/.build-id/%02x/", folder, build_id[0]);

	for (size_t i = 1; i < size && n > 0 && (size_t)n + 3 < room; i++)
		n += snprintf(path + n, room - (size_t)n, "%02x", build_id[i]);
	n += snprintf(path + n, room - (size_t)n, "%s", suffix);
	return size > 1 && (size_t)n < room;
}

static bool has_build_id(int fd, const uint8_t *build_id, size_t size)
{
	uint8_t found[GPUMON_BUILD_ID_SIZE];

	return gpumon_elf_build_id(fd, found) == size && !memcmp(found, build_id, size);
}

/* A server timed out: no server is asked again, for any file. */
static atomic_bool debuginfod_silent;
static atomic_bool debuginfod_unwanted;

void gpumon_symbols_use_debuginfod(bool use)
{
	debuginfod_unwanted = !use;
}

/* With the default of elfutils, a server that does not answer costs 90 s for each library. */
static bool may_ask_debuginfod(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && *urls && !debuginfod_silent && !debuginfod_unwanted;
}

/* --- debug files: called by libdwfl */

static bool has_crc(int fd, GElf_Word wanted)
{
	uLong crc = crc32(0, NULL, 0);
	unsigned char buffer[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buffer, sizeof(buffer), at)) > 0) {
		crc = crc32(crc, buffer, (uInt)n);
		at += n;
	}
	return n == 0 && crc == wanted;
}

struct debug_file {
	const unsigned char *build_id; /* of the file it belongs to */
	int build_id_size;
	bool has_crc;
	GElf_Word crc;
};

static bool is_debug_file_of(int fd, const struct debug_file *wanted)
{
	size_t size = GPUMON_BUILD_ID_SIZE;

	if (wanted->build_id_size <= 0)
		return wanted->has_crc && has_crc(fd, wanted->crc);
	if ((size_t)wanted->build_id_size < size)
		size = (size_t)wanted->build_id_size;
	return has_build_id(fd, wanted->build_id, size);
}

static int try_debug_file(const char *root, const char *path, const struct debug_file *wanted,
			  char **name)
{
	int fd = gpumon_elf_open(root, path, NULL);

	if (fd < 0)
		return -1;
	if (is_debug_file_of(fd, wanted) && asprintf(name, "%s%s", root, path) >= 0)
		return fd;
	close(fd);
	return -1;
}

/*
 * Search the usual places of one root. libdwfl would follow links out of a container's root, and
 * wait for pipes.
 */
static int search_debug_file(const char *root, const char *file, const char *link,
			     const struct debug_file *wanted, char **name)
{
	static const char *const formats[] = { "%.*s/%s", "%.*s/.debug/%s", DEBUG_DIR "%.*s/%s" };
	const char *slash = strrchr(file, '/');
	char path[PATH_LENGTH];
	int fd;

	if (wanted->build_id_size > 0 &&
	    build_id_path(path, sizeof(path), DEBUG_DIR, wanted->build_id,
			  (size_t)wanted->build_id_size, ".debug")) {
		fd = try_debug_file(root, path, wanted, name);
		if (fd >= 0)
			return fd;
	}
	for (size_t i = 0; slash && i < sizeof(formats) / sizeof(*formats); i++) {
		int n = snprintf(path, sizeof(path), formats[i], (int)(slash - file), file, link);

		if (n < 0 || (size_t)n >= sizeof(path))
			continue;
		fd = try_debug_file(root, path, wanted, name);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *module_name,
			  Dwarf_Addr base, const char *file, const char *link, GElf_Word crc,
			  char **name)
{
	struct gpumon_symbol_search *search = *userdata;
	struct debug_file wanted = { .has_crc = link != NULL, .crc = crc };
	char default_link[PATH_LENGTH];
	const char *own = file;
	GElf_Addr address;
	uint64_t begin;
	int fd = -1;

	if (!search)
		return -1;
	/* A file shared by several debug files (dwz), with the name given in one of them. */
	if (link && !crc)
		return dwfl_standard_find_debuginfo(module, userdata, module_name, base, file, link,
						    crc, name);
	wanted.build_id_size = dwfl_module_build_id(module, &wanted.build_id, &address);
	if (file) {
		if (!strncmp(file, search->root, strlen(search->root)))
			own = file + strlen(search->root);
		if (!link) {
			const char *slash = strrchr(own, '/');

			snprintf(default_link, sizeof(default_link), "%s.debug",
				 slash ? slash + 1 : own);
			link = default_link;
		}
		fd = search_debug_file(search->root, own, link, &wanted, name);
		if (fd < 0 && *search->root)
			fd = search_debug_file("", own, link, &wanted, name);
	}
	if (fd >= 0 || !may_ask_debuginfod())
		return fd;

	begin = gpumon_monotonic_ns();
	fd = dwfl_standard_find_debuginfo(module, userdata, module_name, base, NULL, NULL, 0, name);
	if (fd < 0 && gpumon_monotonic_ns() - begin > SILENT_NS)
		debuginfod_silent = true;
	if (fd >= 0 && !is_debug_file_of(fd, &wanted)) {
		close(fd);
		free(*name);
		*name = NULL;
		return -1;
	}
	return fd;
}

void gpumon_symbol_search_use(struct gpumon_symbol_search *search, Dwfl_Module *module)
{
	void **userdata;

	dwfl_module_info(module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = search;
}

int gpumon_symbol_search_init(struct gpumon_symbol_search *search, const char *root)
{
	size_t length;

	*search = (struct gpumon_symbol_search){ 0 };
	search->root = strdup(root ? root : "");
	if (!search->root)
		return -1;
	length = strlen(search->root);
	while (length && search->root[length - 1] == '/')
		search->root[--length] = '\0';
	search->callbacks.find_elf = dwfl_build_id_find_elf;
	search->callbacks.find_debuginfo = find_debuginfo;
	return 0;
}

void gpumon_symbol_search_free(struct gpumon_symbol_search *search)
{
	free(search->root);
	search->root = NULL;
}

/* --- files themselves */

/* Every process contains the kernel's vdso, but in no file. */
static int open_vdso(const struct gpumon_symbol_wanted *wanted)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	unsigned long start, end = 0;
	char line[512];
	FILE *maps;
	int fd;

	maps = fopen("/proc/self/maps", "re");
	if (!image || !maps) {
		if (maps)
			fclose(maps);
		return -1;
	}
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start == (unsigned long)image)
			break;
		end = 0;
	}
	fclose(maps);
	if (!end || end - start > VDSO_MAX)
		return -1;
	fd = memfd_create("gpumon-vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (write(fd, image, end - start) != (ssize_t)(end - start) ||
	    !has_build_id(fd, wanted->build_id, wanted->build_id_size)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The mapping of a live process leads to its file, even if that was renamed or deleted. */
static int open_mapping(const struct gpumon_symbol_search *search,
			const struct gpumon_symbol_wanted *wanted, struct stat *st, char **name)
{
	unsigned int pid;
	int n = 0, fd;

	if (sscanf(search->root, "/proc/%u/root%n", &pid, &n) != 1 || !n || search->root[n] ||
	    wanted->start >= wanted->end)
		return -1;
	if (asprintf(name, "/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)wanted->start,
		     (unsigned long long)wanted->end) < 0) {
		*name = NULL;
		return -1;
	}
	fd = gpumon_elf_open("", *name, st);
	if (fd < 0) {
		free(*name);
		*name = NULL;
	}
	return fd;
}

static int open_from_debuginfod(struct gpumon_symbol_search *search,
				const struct gpumon_symbol_wanted *wanted, char **name)
{
	char *none = NULL;
	Dwfl_Callbacks callbacks = search->callbacks;
	void **userdata = NULL;
	Dwfl_Module *module;
	Elf *elf = NULL;
	uint64_t begin;
	int fd = -1;
	Dwfl *dwfl;

	if (!may_ask_debuginfod())
		return -1;
	/* Keep libdwfl from searching folders, which we did. */
	none = strdup("-");
	callbacks.debuginfo_path = &none;
	dwfl = none ? dwfl_begin(&callbacks) : NULL;
	if (!dwfl)
		goto out;
	module = dwfl_report_module(dwfl, "wanted", 0x10000, 0x20000);
	begin = gpumon_monotonic_ns();
	if (module &&
	    !dwfl_module_report_build_id(module, wanted->build_id, wanted->build_id_size, 0)) {
		dwfl_module_info(module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
		fd = dwfl_build_id_find_elf(module, userdata, "wanted", 0x10000, name, &elf);
		elf_end(elf);
		if (fd >= 0 && !*name)
			*name = strdup(wanted->path);
	}
	if (fd < 0 && gpumon_monotonic_ns() - begin > SILENT_NS)
		debuginfod_silent = true;
	dwfl_end(dwfl);
out:
	free(none);
	return fd;
}

/* Some distributions link all files at their build ids, and keep links of old files. */
static int open_by_build_id(struct gpumon_symbol_search *search,
			    const struct gpumon_symbol_wanted *wanted, char **name)
{
	static const char *const folders[] = { DEBUG_DIR, "/usr/lib" };
	const char *const roots[] = { search->root, "" };
	char path[256];
	int fd;

	for (size_t r = 0; r < (*search->root ? 2 : 1); r++) {
		for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
			if (!build_id_path(path, sizeof(path), folders[i], wanted->build_id,
					   wanted->build_id_size, ""))
				continue;
			fd = gpumon_elf_open(roots[r], path, NULL);
			if (fd < 0)
				continue;
			if (has_build_id(fd, wanted->build_id, wanted->build_id_size) &&
			    asprintf(name, "%s%s", roots[r], path) >= 0)
				return fd;
			close(fd);
		}
	}
	fd = open_from_debuginfod(search, wanted, name);
	if (fd < 0 || has_build_id(fd, wanted->build_id, wanted->build_id_size))
		return fd;
	close(fd);
	free(*name);
	*name = NULL;
	return -1;
}

/* Identify contents only by build id, and a file without one only by inode. */
static bool is_wanted(const struct gpumon_symbol_wanted *wanted, int fd, const struct stat *st)
{
	if (wanted->build_id_size)
		return has_build_id(fd, wanted->build_id, wanted->build_id_size);
	return !wanted->inode || wanted->inode == st->st_ino;
}

int gpumon_symbol_file_open(struct gpumon_symbol_search *search,
			    const struct gpumon_symbol_wanted *wanted, char **name)
{
	size_t length = gpumon_symbol_path_length(wanted->path);
	struct stat st;
	char *path;
	int fd;

	*name = NULL;
	if (!strcmp(wanted->path, VDSO)) {
		fd = wanted->build_id_size ? open_vdso(wanted) : -1;
		*name = fd >= 0 ? strdup(VDSO) : NULL;
		return fd;
	}

	path = strndup(wanted->path, length);
	if (!path)
		return -1;
	fd = gpumon_elf_open(search->root, path, &st);
	if (fd >= 0 && is_wanted(wanted, fd, &st) &&
	    asprintf(name, "%s%s", search->root, path) >= 0)
		goto out;
	if (fd >= 0)
		close(fd);
	fd = open_mapping(search, wanted, &st, name);
	if (fd >= 0 && (wanted->build_id_size || wanted->inode) && is_wanted(wanted, fd, &st))
		goto out;
	if (fd >= 0) {
		close(fd);
		free(*name);
		*name = NULL;
	}
	fd = wanted->build_id_size ? open_by_build_id(search, wanted, name) : -1;
out:
	free(path);
	return fd;
}
