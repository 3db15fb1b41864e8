// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Compares the rows of whole libraries with those of libdw: the CFA and the caller's registers at
 * many addresses in every function.
 *
 * The libraries are not executed. Their segments are mapped as by the loader.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compare.h"
#include "stack/internal.h"

/**
 * struct image - a library
 * @place: address in memory
 * @base: offset of its addresses
 */
struct image {
	struct inject_stack_place place;
	uint64_t base;
};

static bool map_image(Elf *elf, int file, struct image *image)
{
	uint64_t end = 0;
	size_t count;
	char *memory;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;

		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
		    segment.p_vaddr + segment.p_memsz > end)
			end = segment.p_vaddr + segment.p_memsz;
	}
	memory = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	image->base = (uint64_t)(uintptr_t)memory;
	image->place = (struct inject_stack_place){ .kind = INJECT_STACK_MODULE,
						    .start = image->base,
						    .end = image->base + end };
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;

		gelf_getphdr(elf, (int)i, &segment);
		if (segment.p_type == PT_GNU_EH_FRAME)
			image->place.header = image->base + segment.p_vaddr;
		if (segment.p_type == PT_LOAD &&
		    pread(file, memory + segment.p_vaddr, segment.p_filesz,
			  (off_t)segment.p_offset) != (ssize_t)segment.p_filesz)
			return false;
	}
	return image->place.header;
}

/* Convert a location from libdw. False if we have no such form. */
static bool is_value(const Dwarf_Op *ops, size_t count, const Dwarf_Op *memory,
		     const struct inject_cfi_value *value, unsigned int number)
{
	int64_t offset = 0;
	size_t at = 1;

	if (!count) /* same value for registers without a rule, since libdw knows the ABI */
		return ops == memory ?
			       value->how == INJECT_CFI_UNDEFINED || value->how == INJECT_CFI_SAME :
			       value->how == INJECT_CFI_SAME;
	if (ops[0].atom == DW_OP_call_frame_cfa &&
	    (value->how == INJECT_CFI_OFFSET || value->how == INJECT_CFI_VALUE_OFFSET ||
	     (number == INJECT_DWARF_RSP && value->how == INJECT_CFI_SAME))) {
		if (at < count && ops[at].atom == DW_OP_plus_uconst)
			offset = (int64_t)ops[at++].number;
		if (at < count && ops[at].atom == DW_OP_stack_value)
			return value->how == INJECT_CFI_VALUE_OFFSET ||
			       (number == INJECT_DWARF_RSP && value->how == INJECT_CFI_SAME);
		return value->how == INJECT_CFI_OFFSET && value->offset == offset;
	}
	if (ops[0].atom == DW_OP_regx)
		return value->how == INJECT_CFI_REGISTER && value->offset == (int64_t)ops[0].number;
	if (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return value->how == INJECT_CFI_REGISTER &&
		       value->offset == ops[0].atom - DW_OP_reg0;
	return value->how == INJECT_CFI_EXPRESSION || value->how == INJECT_CFI_VALUE_EXPRESSION;
}

static bool is_cfa(const Dwarf_Op *ops, size_t count, const struct inject_cfi_row *row)
{
	if (row->cfa_expression)
		return count > 1 || (count == 1 && ops[0].atom != DW_OP_bregx);
	return count == 1 && ((ops[0].atom == DW_OP_bregx && ops[0].number == row->cfa_register &&
			       (int64_t)ops[0].number2 == row->cfa.offset) ||
			      (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31 &&
			       ops[0].atom - DW_OP_breg0 == row->cfa_register &&
			       (int64_t)ops[0].number == row->cfa.offset));
}

static const unsigned int looked_at[] = { 3, 6, 7, 12, 13, 14, 15, 16 };

/* What differs, NULL for nothing. Counts the address if both have a row for it. */
static const char *compare_row(Dwarf_CFI *cfi, uint64_t address, const struct image *image,
			       unsigned long *found)
{
	struct inject_cfi_row row;
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr start;
	Dwarf_Addr end;
	Dwarf_Op *ops;
	size_t count;
	bool signal;
	bool ours = inject_cfi_find(&image->place, image->base + address, &row);
	bool theirs = !dwarf_cfi_addrframe(cfi, address, &frame);
	const char *what = NULL;

	if (ours != theirs) {
		free(frame);
		return ours ? "libdw has no row" : "no row";
	}
	if (!ours)
		return NULL;
	++*found;
	dwarf_frame_info(frame, &start, &end, &signal);
	if (row.signal != signal)
		what = "signal";
	if (dwarf_frame_cfa(frame, &ops, &count) || !is_cfa(ops, count, &row))
		what = row.registers[INJECT_DWARF_RIP].how == INJECT_CFI_UNDEFINED ? NULL : "CFA";
	for (size_t i = 0; i < sizeof(looked_at) / sizeof(looked_at[0]) && !what; i++) {
		Dwarf_Op memory[3];

		if (dwarf_frame_register(frame, (int)looked_at[i], memory, &ops, &count) ||
		    !is_value(ops, count, memory, &row.registers[looked_at[i]], looked_at[i]))
			what = "register";
	}
	free(frame);
	return what;
}

static void test_library(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_begin(file, ELF_C_READ_MMAP, NULL);
	struct image image = { 0 };
	Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
	unsigned long rows = 0;
	unsigned long found = 0;
	unsigned long bad = 0;
	const char *name = strrchr(path, '/') + 1;
	const char *what = NULL;
	uint64_t where = 0;
	char text[200];
	uint64_t seed = 1;
	size_t count;

	snprintf(text, sizeof(text), "%s can be read", name);
	if (!SAY(cfi && map_image(elf, file, &image), text, "%s",
		 cfi ? "it cannot be mapped, or has no .eh_frame_hdr" : dwarf_errmsg(-1)))
		return;
	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;
		uint64_t step;

		gelf_getphdr(elf, (int)i, &segment);
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
			continue;
		/* About the same number of addresses in a large library as in a small one. */
		step = segment.p_filesz / 60000 + 1;
		for (uint64_t at = segment.p_vaddr; at < segment.p_vaddr + segment.p_filesz;) {
			const char *wrong = compare_row(cfi, at, &image, &found);

			rows++;
			if (wrong) {
				bad++;
				what = wrong;
				where = at;
			}
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			at += 1 + (seed >> 33) % (2 * step);
		}
	}
	snprintf(text, sizeof(text), "%lu rows of %s are libdw's", found, name);
	/* Most of any code has one. */
	SAY(!bad && found > rows / 2, text, "of %lu addresses %lu differ, the last one at %#lx: %s",
	    rows, bad, (unsigned long)where, bad ? what : "too few have a row");
	munmap((void *)(uintptr_t)image.base, image.place.end - image.place.start);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(file);
}

static void test_library_of(const char *folder, const char *name)
{
	char path[300];
	char text[300];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (!access(path, R_OK)) {
		test_library(path);
		return;
	}
	snprintf(text, sizeof(text), "rows of %s", name);
	test_skips(text, "it is not installed");
}

int main(int argc, char **argv)
{
	static const char *const names[] = {
		"libc.so.6",	  "libstdc++.so.6", "ld-linux-x86-64.so.2",
		"libcrypto.so.3", "libm.so.6",	    "libgcc_s.so.1"
	};
	static const char *const cuda[] = { "libcudart.so", "libcupti.so", "libnvrtc.so" };

	setvbuf(stdout, NULL, _IOLBF, 0);
	elf_version(EV_CURRENT);
	inject_stack_init();
	for (int i = 1; i < argc; i++)
		test_library(argv[i]);
	if (argc > 1)
		return test_end();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		test_library_of("/lib/x86_64-linux-gnu", names[i]);
	for (size_t i = 0; i < sizeof(cuda) / sizeof(cuda[0]); i++)
		test_library_of("/usr/local/cuda/lib64", cuda[i]);
	test_library("/proc/self/exe");
	return test_end();
}
