// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "module_file.h"

/* libdw unpacks what is compressed. */
char *gpumon_module_file_read(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *bytes, *copy = NULL;
	Elf *elf;

	if (fd < 0)
		return NULL;
	elf_version(EV_CURRENT);
	elf = dwelf_elf_begin(fd);
	/* What libdw cannot unpack it gives as it is. */
	bytes = elf && elf_kind(elf) == ELF_K_ELF ? elf_rawfile(elf, size) : NULL;
	if (bytes)
		copy = memcpy(gpumon_malloc(*size), bytes, *size);
	elf_end(elf);
	close(fd);
	return copy;
}
