// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "common.h"

#include <fcntl.h>
#include <ftw.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/elf_find.h"
#include "symbol_build.h"

int symbol_setup(void **state)
{
	const char *top = getenv("TMPDIR");
	char *path;

	assert_true(asprintf(&path, "%s/gpumon-symbol-XXXXXX", top ? top : "/tmp") > 0);
	assert_non_null(mkdtemp(path));
	*state = path;
	elf_version(EV_CURRENT);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

int symbol_teardown(void **state)
{
	nftw(*state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(*state);
	return 0;
}

static char *whole_path(const char *folder, const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	return path;
}

void symbol_write(const char *folder, const char *name, const void *data, size_t size)
{
	char *path = whole_path(folder, name);
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	free(path);
}

char *symbol_read(const char *folder, const char *name, size_t *size)
{
	char *path = whole_path(folder, name), *data;
	FILE *file = fopen(path, "re");
	struct stat st;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	*size = (size_t)st.st_size;
	data = malloc(*size + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, *size, file), *size);
	data[*size] = '\0';
	fclose(file);
	free(path);
	return data;
}

void symbol_run(const char *folder, const char *format, ...)
{
	char *command, *whole;
	va_list args;

	va_start(args, format);
	assert_true(vasprintf(&command, format, args) > 0);
	va_end(args);
	assert_true(asprintf(&whole, "set -e; cd '%s'; %s", folder, command) > 0);
	if (system(whole))
		fail_msg("failed: %s", whole);
	free(whole);
	free(command);
}

bool symbol_has(const char *program)
{
	char *command;
	int status;

	assert_true(asprintf(&command, "command -v %s >/dev/null 2>&1", program) > 0);
	status = system(command);
	free(command);
	return status == 0;
}

static Elf *open_elf(const char *folder, const char *name, int *fd)
{
	char *path = whole_path(folder, name);
	Elf *elf;

	*fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(*fd >= 0);
	elf = elf_begin(*fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	free(path);
	return elf;
}

uint64_t symbol_mapping(struct gpumon_record_mapping *mapping, const char *folder, const char *name,
			uint64_t at, uint64_t time_ns)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin;
	struct stat st;
	GElf_Phdr header;
	size_t count;
	Elf *elf;
	int fd;

	elf = open_elf(folder, name, &fd);
	assert_int_equal(elf_getphdrnum(elf, &count), 0);
	for (size_t i = 0; i < count; i++) {
		assert_non_null(gelf_getphdr(elf, (int)i, &header));
		if (header.p_type == PT_LOAD && (header.p_flags & PF_X))
			break;
	}
	assert_true(header.p_flags & PF_X);
	begin = header.p_offset & ~(page - 1);
	assert_int_equal(fstat(fd, &st), 0);
	*mapping = (struct gpumon_record_mapping){
		.head = { GPUMON_RECORD_MAPPING, 0, sizeof(*mapping) },
		.time_ns = time_ns,
		.start = at,
		.end = at + ((header.p_offset + header.p_filesz - begin + page - 1) & ~(page - 1)),
		.offset = begin,
		.inode = st.st_ino,
		.device = st.st_dev,
	};
	mapping->build_id_size = (uint8_t)gpumon_elf_build_id(fd, mapping->build_id);
	elf_end(elf);
	close(fd);
	return at - begin + header.p_offset - header.p_vaddr;
}

uint64_t symbol_load(struct gpumon_symbols *symbols, const char *folder, const char *name,
		     uint64_t at, uint64_t time_ns)
{
	struct gpumon_record_mapping mapping;
	uint64_t bias = symbol_mapping(&mapping, folder, name, at, time_ns);
	char *path = whole_path(folder, name);

	assert_int_equal(gpumon_symbols_map(symbols, &mapping, path), 0);
	free(path);
	return bias;
}

uint64_t symbol_address(const char *folder, const char *name, const char *symbol, uint64_t *size)
{
	Elf_Scn *section = NULL;
	uint64_t address = 0;
	GElf_Shdr header;
	Elf *elf;
	int fd;

	elf = open_elf(folder, name, &fd);
	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data;
		GElf_Sym sym;

		assert_non_null(gelf_getshdr(section, &header));
		if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; gelf_getsym(data, i, &sym); i++) {
			const char *found = elf_strptr(elf, header.sh_link, sym.st_name);

			if (found && sym.st_shndx && !strcmp(found, symbol)) {
				address = sym.st_value;
				if (size)
					*size = sym.st_size;
			}
		}
	}
	elf_end(elf);
	close(fd);
	if (!address)
		fail_msg("no %s in %s", symbol, name);
	return address;
}

const char *symbol_name(struct gpumon_symbols *symbols, uint64_t address)
{
	struct gpumon_symbol found[64];
	unsigned int count = gpumon_symbols_find(symbols, address, 1, found, 64);

	assert_true(count >= 1 && count <= 64);
	for (unsigned int i = 0; i < count; i++) {
		assert_non_null(found[i].function);
		assert_non_null(found[i].module);
		assert_non_null(found[i].file);
		assert_int_equal(found[i].inlined, i + 1 < count);
	}
	return found[0].function;
}
