/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ELF files of processes, that may see another root: opening them, who they
 * are, and which functions they have at which place of the file, for uprobes.
 */
#ifndef GPUMON_ELF_FIND_H
#define GPUMON_ELF_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "capture/format.h"

/**
 * gpumon_elf_open - open a file as a process sees it
 * @root: in front of @path, "" for ours; "/proc/PID/root" of a container. Symbolic links
 *        do not lead out of it.
 * @path: absolute
 * @status: of the file, NULL if of no interest
 *
 * Pipes and devices are never opened: that would wait, or do something.
 *
 * Return: a descriptor; -EINVAL if it is no ordinary file; else a negative errno.
 */
int gpumon_elf_open(const char *root, const char *path, struct stat *status);

/* The same, but -ELOOP if the last part of @path is a link. */
int gpumon_elf_open_no_link(const char *root, const char *path, struct stat *status);

/**
 * gpumon_elf_build_id - who a file is
 * @fd: file, which is not closed; its position does not matter
 * @build_id: filled in, cut off where it is longer
 *
 * Return: bytes of it, 0 if there is none or it is no ELF file.
 */
size_t gpumon_elf_build_id(int fd, uint8_t build_id[GPUMON_BUILD_ID_SIZE]);

/**
 * struct gpumon_elf_function - a function that a file defines
 * @name: without version
 * @version: of a versioned symbol, as "libcudart.so.13"; NULL without one
 * @default_version: what a program links to now ("name@@version"); an older one is kept for
 *                   programs of before ("name@version")
 * @address: in the file's own numbers (addr2line's)
 * @offset: of its first byte in the file: where a uprobe goes
 * @size: bytes, 0 where not known
 * @binding: STB_LOCAL, STB_GLOBAL, STB_WEAK
 * @ifunc: not the function but what returns it (STT_GNU_IFUNC): called once at start, so a
 *         uprobe there counts nothing. The functions it chooses from are in .symtab, if at all.
 * @dynamic: of .dynsym, thus there for other files
 */
struct gpumon_elf_function {
	const char *name;
	const char *version;
	bool default_version;
	uint64_t address;
	uint64_t offset;
	uint64_t size;
	unsigned char binding;
	bool ifunc;
	bool dynamic;
};

/**
 * gpumon_elf_functions - the functions that a file defines
 * @fd: file, which is not closed
 * @each: called with each one: those of .dynsym, then those of .symtab that were not among
 *        these; strings are good during the call; ends the list with something else than 0
 * @data: for @each
 * @why: set to a reason on failure, a constant
 *
 * One place in the file can come several times, with another name or version:
 * who puts uprobes there has to do so once.
 *
 * Return: 0, what @each said if it was not 0, or -1.
 */
int gpumon_elf_functions(int fd,
			 int (*each)(void *data, const struct gpumon_elf_function *function),
			 void *data, const char **why);

#endif /* GPUMON_ELF_FIND_H */
