/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Opens ELF files as processes with another root see them, identifies them, and lists their
 * functions and file offsets for uprobes.
 */
#ifndef GPUMON_CAPTURE_ELF_FIND_H
#define GPUMON_CAPTURE_ELF_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "abi/format.h"

/**
 * gpumon_elf_open - open a file as a process sees it
 * @root: prefix of @path, normally ""; "/proc/PID/root" for a container. Symbolic links cannot lead
 *        out of it.
 * @path: absolute
 * @status: status of the file, may be NULL
 *
 * Pipes and devices are never opened, since that may block or have effects.
 *
 * Return: a descriptor; -EINVAL if it is not a regular file; or another negative errno.
 */
int gpumon_elf_open(const char *root, const char *path, struct stat *status);

/* gpumon_elf_open() that returns -ELOOP if the last part of @path is a symbolic link. */
int gpumon_elf_open_no_link(const char *root, const char *path, struct stat *status);

/**
 * gpumon_elf_build_id - read a file's build id
 * @fd: file, stays open; its position does not matter
 * @build_id: out, cut if it is longer
 *
 * Return: its length, or 0 if there is none or the file is not ELF.
 */
size_t gpumon_elf_build_id(int fd, uint8_t build_id[GPUMON_BUILD_ID_SIZE]);

/**
 * struct gpumon_elf_function - a function that a file defines
 * @name: name without version
 * @version: version of the symbol, such as "libcudart.so.13", or NULL
 * @default_version: new programs link to it ("name@@version"); older versions serve old programs
 *                   ("name@version")
 * @address: address in the file, as for addr2line
 * @offset: offset of its first byte in the file, for a uprobe
 * @size: bytes, 0 if unknown
 * @binding: STB_LOCAL, STB_GLOBAL, STB_WEAK
 * @ifunc: a resolver that returns the function (STT_GNU_IFUNC): it is called once at the start, so
 *         a uprobe there counts nothing. The functions that it selects from may be in .symtab.
 * @dynamic: from .dynsym, so other files can use it
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
 * gpumon_elf_functions - list the functions that a file defines
 * @fd: file, stays open
 * @each: called with each function of .dynsym, then with the other ones of .symtab; strings are
 *        valid during the call; a result other than 0 ends the list
 * @data: passed to @each
 * @why: set to a constant text on failure
 *
 * One offset can appear several times, with other names or versions. Callers must place only one
 * uprobe there.
 *
 * Return: 0, the result of @each if it was not 0, or -1.
 */
int gpumon_elf_functions(int fd,
			 int (*each)(void *data, const struct gpumon_elf_function *function),
			 void *data, const char **why);

#endif /* GPUMON_CAPTURE_ELF_FIND_H */
