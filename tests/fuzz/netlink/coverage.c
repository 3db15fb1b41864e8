// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Records which blocks of gpumon.ko a call executed, by KCOV. Without KCOV, or a module built with
 * GPUMON_KCOV=1, there is no coverage and all cases are equal.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define KCOV_INIT_TRACE _IOR('c', 1, unsigned long)
#define KCOV_ENABLE	_IO('c', 100)
#define KCOV_DISABLE	_IO('c', 101)
#define KCOV_TRACE_PC	0

#define ENTRIES	 (1 << 18)
#define SECTIONS 64
#define PAIRS	 (1 << 20)

/* Code sections of the module, with their addresses. */
static struct {
	char name[64];
	unsigned long start;
} sections[SECTIONS];

static unsigned int section_count, new_pairs;
static unsigned long text_start, text_end;
static int kcov = -1;
static unsigned long *entries;
/* For each byte of the text: is it the return address of an executed block? */
static unsigned char *blocks;
static unsigned char *pairs;

static void read_text(void)
{
	char name[64], line[256];
	unsigned long size;
	FILE *file = fopen("/proc/modules", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %lu %*s %*s %*s %lx", name, &size, &text_start) == 3 &&
		    !strcmp(name, "gpumon")) {
			text_end = text_start + size;
			break;
		}
	if (file)
		fclose(file);
}

static void read_sections(void)
{
	const char *folder = "/sys/module/gpumon/sections";
	DIR *directory = opendir(folder);
	struct dirent *entry;
	char path[512];
	FILE *file;

	while (directory && (entry = readdir(directory)) && section_count < SECTIONS) {
		if (strncmp(entry->d_name, ".text", 5) || strlen(entry->d_name) > 60)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		file = fopen(path, "r");
		if (file && fscanf(file, "%lx", &sections[section_count].start) == 1)
			snprintf(sections[section_count++].name, sizeof(sections[0].name), "%s",
				 entry->d_name);
		if (file)
			fclose(file);
	}
	if (directory)
		closedir(directory);
}

/* Returns false after reporting why there is no coverage. */
bool coverage_begin(void)
{
	read_text();
	read_sections();
	kcov = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (kcov < 0) {
		printf("no coverage: the kernel has no KCOV (%s)\n", strerror(errno));
		return false;
	}
	if (!text_start || ioctl(kcov, KCOV_INIT_TRACE, ENTRIES)) {
		printf("no coverage: KCOV: %s\n", strerror(errno));
		kcov = -1;
		return false;
	}
	entries =
		mmap(NULL, ENTRIES * sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED, kcov, 0);
	blocks = calloc(1, text_end - text_start);
	pairs = calloc(1, PAIRS);
	if (entries == MAP_FAILED || !blocks || !pairs || ioctl(kcov, KCOV_ENABLE, KCOV_TRACE_PC)) {
		printf("no coverage: KCOV cannot be switched on: %s\n", strerror(errno));
		kcov = -1;
		return false;
	}
	return true;
}

/* Record what the kernel does for us, until coverage_off(). */
void coverage_on(void)
{
	if (kcov >= 0)
		__atomic_store_n(&entries[0], 0, __ATOMIC_SEQ_CST);
}

void coverage_off(void)
{
	unsigned long count, i, pc, last = 0;
	uint32_t pair;

	if (kcov < 0)
		return;
	count = __atomic_load_n(&entries[0], __ATOMIC_SEQ_CST);
	for (i = 1; i <= count && i < ENTRIES; i++) {
		pc = entries[i];
		if (pc < text_start || pc >= text_end)
			continue;
		blocks[pc - text_start] = 1;
		pair = ((last * 0x9e3779b1u) ^ (pc * 0x85ebca6bu)) % PAIRS;
		if (!pairs[pair]) {
			pairs[pair] = 1;
			new_pairs++;
		}
		last = pc;
	}
}

/* Number of new edges since the last call. */
unsigned int coverage_new(void)
{
	unsigned int new = new_pairs;

	new_pairs = 0;
	return new;
}

static int section_of(unsigned long pc)
{
	unsigned long best = 0;
	unsigned int i;
	int found_at = -1;

	for (i = 0; i < section_count; i++)
		if (sections[i].start <= pc && sections[i].start >= best) {
			best = sections[i].start;
			found_at = i;
		}
	return found_at;
}

/* Write "SECTION OFFSET" for each executed block, as tests/fuzz/coverage expects. */
void coverage_report(FILE *file)
{
	unsigned long at;
	int section;

	for (at = 0; kcov >= 0 && at < text_end - text_start; at++) {
		if (!blocks[at])
			continue;
		section = section_of(text_start + at);
		if (section >= 0)
			fprintf(file, "%s 0x%lx\n", sections[section].name,
				text_start + at - sections[section].start);
	}
}
