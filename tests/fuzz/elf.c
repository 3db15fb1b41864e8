// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Any bytes as a file mapped by a process: looks up symbols, lines, inlined calls and functions all
 * over it, functions of the API for uprobes, and unwind rules for each function. The first byte
 * says whether the same file also is its own debug file, beside it and by build id.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "capture/elf_find.h"
#include "capture/symbol.h"
#include "record/uprobe_process.h"
#include "record/uprobe_rule.h"

#define AT     0x10000
#define PLACES 200
#define ROOT   "proc/1/root"

static void make_folders(void)
{
	static const char *const folders[] = {
		"proc",
		"proc/1",
		"proc/1/map_files",
		ROOT,
		ROOT "/usr",
		ROOT "/usr/lib",
		ROOT "/usr/lib/debug",
		ROOT "/usr/lib/debug/.build-id",
	};
	static bool made;

	/* Do not ask any server. */
	unsetenv("DEBUGINFOD_URLS");
	for (size_t i = 0; !made && i < sizeof(folders) / sizeof(folders[0]); i++)
		fuzz_folder_make(folders[i]);
	made = true;
}

static int use_function(void *data, const struct gpumon_elf_function *function)
{
	size_t *sum = data;

	*sum += strlen(function->name) + function->offset;
	if (function->version)
		*sum += strlen(function->version);
	return 0;
}

static void write_debug_file(const uint8_t *data, size_t size, const uint8_t *build_id, size_t n)
{
	char name[2 * GPUMON_BUILD_ID_SIZE + 1] = "";

	if (n < 2)
		return;
	for (size_t i = 1; i < n; i++)
		snprintf(name + 2 * (i - 1), 3, "%02x", build_id[i]);
	mkdir(fuzz_path(ROOT "/usr/lib/debug/.build-id/%02x", build_id[0]), 0700);
	fuzz_write(fuzz_path(ROOT "/usr/lib/debug/.build-id/%02x/%s.debug", build_id[0], name),
		   data, size);
}

static size_t find_symbols(const char *root, size_t size, uint64_t inode, const uint8_t *build_id,
			   size_t n)
{
	struct gpumon_record_mapping mapping = {
		.start = AT, .end = AT + size, .inode = inode, .build_id_size = (uint8_t)n
	};
	struct gpumon_symbols *symbols = gpumon_symbols_new(root, NULL);
	struct gpumon_symbol found[64];
	size_t sum = 0;

	MUST(symbols);
	memcpy(mapping.build_id, build_id, n);
	MUST(!gpumon_symbols_map(symbols, &mapping, "/elf"));
	for (size_t at = 0; at < size; at += size / PLACES + 1) {
		unsigned int count = gpumon_symbols_find(symbols, AT + at, 0, found, 64);

		MUST(count && count <= 64);
		for (unsigned int i = 0; i < count; i++)
			sum += strlen(found[i].function) + strlen(found[i].module) +
			       strlen(found[i].file);
		MUST(!found[count - 1].inlined);
	}
	gpumon_symbols_free(symbols);
	return sum;
}

static size_t find_rules(size_t size, uint64_t inode)
{
	struct gpumon_uprobe_process process = { .pid = 1, .root = fuzz_folder() };
	struct gpumon_error err;
	char line[128];
	size_t sum = 0;
	int n = snprintf(line, sizeof(line), "%x-%zx r-xp 00000000 08:01 %llu /elf\n", AT,
			 AT + ((size + 4095) & ~(size_t)4095), (unsigned long long)inode);

	fuzz_write(fuzz_path("proc/1/maps"), line, (size_t)n);
	MUST(!gpumon_uprobe_process_scan(&process, &err));
	MUST(process.map_count == 1 && process.file_count == 1);
	for (unsigned int i = 0; i < process.files[0]->site_count; i++)
		sum += strlen(process.files[0]->sites[i].name);
	for (size_t at = 1; at <= size; at += size / PLACES + 1) {
		struct uprobe_rule rule;

		gpumon_uprobe_rule(&process, AT + at, &rule);
		MUST(rule.pc == AT + at);
		sum += rule.kind;
	}
	gpumon_uprobe_process_free(&process);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t build_id[GPUMON_BUILD_ID_SIZE] = { 0 };
	const char *path = fuzz_path(ROOT "/elf"), *debug = fuzz_path(ROOT "/elf.debug");
	struct stat status;
	const char *why;
	size_t sum = 0, n;
	uint8_t flags;
	int fd;

	if (size < 2)
		return 0;
	make_folders();
	flags = *data++;
	size--;
	fuzz_write(path, data, size);
	fd = gpumon_elf_open("", path, &status);
	MUST(fd >= 0);
	n = gpumon_elf_build_id(fd, build_id);
	MUST(n <= GPUMON_BUILD_ID_SIZE);
	gpumon_elf_functions(fd, use_function, &sum, &why);
	close(fd);
	if (flags & 1)
		fuzz_write(debug, data, size);
	else
		unlink(debug);
	if (flags & 2)
		write_debug_file(data, size, build_id, n);
	sum += find_symbols(fuzz_path(ROOT), size, status.st_ino, build_id, flags & 4 ? n : 0);
	sum += find_rules(size, status.st_ino);
	if (flags & 2 && n > 1) {
		fuzz_folder_remove(ROOT "/usr/lib/debug/.build-id");
		fuzz_folder_make(ROOT "/usr/lib/debug/.build-id");
	}
	/* Keep everything from being optimised away. */
	return sum == SIZE_MAX ? -1 : 0;
}
