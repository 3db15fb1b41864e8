// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <libelf.h>

#include "elf_find.h"

#define SYMBOLS_MAX   (64u << 20)
#define LOADS_MAX     256
#define NAME_SEARCHED 65536 /* searched for a version after it */
#define COMPARED      1024  /* bytes of names compared: broken files have endless ones */

/* Open the path only: that wakes no device and waits for no pipe. */
static int open_path(const char *root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char *whole;
	int top, fd, err;

	if (!*root) {
		fd = open(path, O_PATH | O_CLOEXEC | flags);
		return fd < 0 ? -errno : fd;
	}
	top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, top, path, &how, sizeof(how));
	err = errno;
	close(top);
	/* openat2() is missing before Linux 5.6, or forbidden by our container. */
	if (fd < 0 && (err == ENOSYS || err == EPERM)) {
		if (asprintf(&whole, "%s%s", root, path) < 0)
			return -ENOMEM;
		fd = open(whole, O_PATH | O_CLOEXEC | flags);
		err = errno;
		free(whole);
	}
	return fd < 0 ? -err : fd;
}

static int open_file(const char *root, const char *path, int flags, struct stat *status)
{
	char link[64];
	struct stat st;
	int fd, file, err;

	fd = open_path(root, path, flags);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		err = -errno;
		close(fd);
		return err;
	}
	if (!S_ISREG(st.st_mode)) {
		close(fd);
		return S_ISLNK(st.st_mode) ? -ELOOP : -EINVAL;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	file = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	err = errno;
	close(fd);
	if (file < 0)
		return -err;
	if (status)
		*status = st;
	return file;
}

int gpumon_elf_open(const char *root, const char *path, struct stat *status)
{
	return open_file(root, path, 0, status);
}

int gpumon_elf_open_no_link(const char *root, const char *path, struct stat *status)
{
	return open_file(root, path, O_NOFOLLOW, status);
}

size_t gpumon_elf_build_id(int fd, uint8_t build_id[GPUMON_BUILD_ID_SIZE])
{
	const void *bits;
	ssize_t size = 0;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		size = dwelf_elf_gnu_build_id(elf, &bits);
	if (size > GPUMON_BUILD_ID_SIZE)
		size = GPUMON_BUILD_ID_SIZE;
	if (size > 0)
		memcpy(build_id, bits, (size_t)size);
	elf_end(elf);
	return size > 0 ? (size_t)size : 0;
}

struct table {
	Elf *elf;
	Elf_Data *symbols;
	Elf_Data *versions; /* .gnu.version of .dynsym */
	Elf_Scn *definitions;
	size_t count;
	size_t strings;
};

struct place {
	uint64_t address;
	uint64_t file;
	uint64_t size;
};

struct seen {
	uint64_t address;
	const char *name;
};

struct lister {
	int (*each)(void *data, const struct gpumon_elf_function *function);
	void *data;
	struct place loads[LOADS_MAX];
	size_t n_loads;
	const char **version_names; /* by index */
	size_t n_version_names;
	struct table dynamic;
	struct seen *seen; /* functions of .dynsym */
	size_t n_seen;
	char *name; /* of a symbol, without its version */
};

static void read_loads(struct lister *lister, Elf *elf)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return;
	for (size_t i = 0; i < count && lister->n_loads < LOADS_MAX; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    !(header.p_flags & PF_X))
			continue;
		lister->loads[lister->n_loads++] =
			(struct place){ header.p_vaddr, header.p_offset, header.p_filesz };
	}
}

static bool to_offset(const struct lister *lister, uint64_t address, uint64_t *offset)
{
	for (size_t i = 0; i < lister->n_loads; i++) {
		const struct place *load = &lister->loads[i];

		if (address >= load->address && address - load->address < load->size) {
			*offset = address - load->address + load->file;
			return true;
		}
	}
	return false;
}

static bool find_table(Elf *elf, GElf_Word type, struct table *table)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	*table = (struct table){ .elf = elf };
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header))
			continue;
		if (header.sh_type == type && !table->symbols) {
			size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);

			table->symbols = elf_getdata(section, NULL);
			table->strings = header.sh_link;
			if (table->symbols && entry)
				table->count = table->symbols->d_size / entry;
		} else if (type == SHT_DYNSYM && header.sh_type == SHT_GNU_versym) {
			table->versions = elf_getdata(section, NULL);
		} else if (type == SHT_DYNSYM && header.sh_type == SHT_GNU_verdef) {
			table->definitions = section;
		}
	}
	if (table->count > SYMBOLS_MAX)
		table->count = SYMBOLS_MAX;
	return table->symbols && table->count;
}

/* .gnu.version_d is a chain of definitions, each with its own name first. */
static int read_versions(struct lister *lister, const struct table *table)
{
	Elf_Data *data = table->definitions ? elf_getdata(table->definitions, NULL) : NULL;
	size_t offset = 0;
	GElf_Shdr header;

	if (!data || !gelf_getshdr(table->definitions, &header))
		return 0;
	lister->version_names = calloc(0x8000, sizeof(*lister->version_names));
	if (!lister->version_names)
		return -1;
	lister->n_version_names = 0x8000;
	/* Offsets must increase, so that the chain ends. */
	while (offset < data->d_size && offset < INT32_MAX) {
		GElf_Verdef definition;
		GElf_Verdaux name;

		if (!gelf_getverdef(data, (int)offset, &definition))
			break;
		if (definition.vd_aux < INT32_MAX - offset &&
		    gelf_getverdaux(data, (int)(offset + definition.vd_aux), &name))
			lister->version_names[definition.vd_ndx & 0x7fff] =
				elf_strptr(table->elf, header.sh_link, name.vda_name);
		if (!definition.vd_next || definition.vd_next > data->d_size - offset)
			break;
		offset += definition.vd_next;
	}
	return 0;
}

static int compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return strncmp(x->name, y->name, COMPARED);
}

static bool was_seen(const struct lister *lister, uint64_t address, const char *name)
{
	struct seen wanted = { address, name };

	return lister->n_seen &&
	       bsearch(&wanted, lister->seen, lister->n_seen, sizeof(wanted), compare_seen);
}

/* A versioned symbol in .symtab may be named "name@@version". @room keeps its name. */
static void split_version(struct gpumon_elf_function *function, char **room)
{
	const char *at = memchr(function->name, '@', strnlen(function->name, NAME_SEARCHED));
	char *name = at ? strndup(function->name, (size_t)(at - function->name)) : NULL;

	if (!name || !*name) {
		free(name);
		return;
	}
	free(*room);
	*room = name;
	function->name = name;
	function->default_version = at[1] == '@';
	function->version = at + 1 + function->default_version;
}

static int list_table(struct lister *lister, const struct table *table, bool dynamic)
{
	for (size_t i = 1; i < table->count; i++) {
		struct gpumon_elf_function function = { .dynamic = dynamic };
		GElf_Sym symbol;
		GElf_Versym version;
		unsigned int type;
		int result;

		if (!gelf_getsym(table->symbols, (int)i, &symbol))
			break;
		type = GELF_ST_TYPE(symbol.st_info);
		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF)
			continue;
		function.name = elf_strptr(table->elf, table->strings, symbol.st_name);
		if (!function.name || !*function.name ||
		    !to_offset(lister, symbol.st_value, &function.offset))
			continue;
		function.address = symbol.st_value;
		function.size = symbol.st_size;
		function.binding = GELF_ST_BIND(symbol.st_info);
		function.ifunc = type == STT_GNU_IFUNC;
		if (dynamic) {
			lister->seen[lister->n_seen++] =
				(struct seen){ function.address, function.name };
			if (table->versions && gelf_getversym(table->versions, (int)i, &version) &&
			    (version & 0x7fff) > 1 && lister->n_version_names) {
				function.version = lister->version_names[version & 0x7fff];
				function.default_version = function.version && !(version & 0x8000);
			}
		} else {
			split_version(&function, &lister->name);
			if (was_seen(lister, function.address, function.name))
				continue;
		}
		result = lister->each(lister->data, &function);
		if (result)
			return result;
	}
	return 0;
}

int gpumon_elf_functions(int fd,
			 int (*each)(void *data, const struct gpumon_elf_function *function),
			 void *data, const char **why)
{
	struct lister lister = { .each = each, .data = data };
	struct table table;
	int result = -1;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		*why = "it is no ELF file";
		goto out;
	}
	read_loads(&lister, elf);
	if (!lister.n_loads) {
		*why = "no part of it is executable";
		goto out;
	}
	if (find_table(elf, SHT_DYNSYM, &lister.dynamic)) {
		lister.seen = calloc(lister.dynamic.count, sizeof(*lister.seen));
		if (!lister.seen || read_versions(&lister, &lister.dynamic)) {
			*why = "there is not enough memory";
			goto out;
		}
		result = list_table(&lister, &lister.dynamic, true);
		if (result)
			goto out;
		qsort(lister.seen, lister.n_seen, sizeof(*lister.seen), compare_seen);
	}
	result = find_table(elf, SHT_SYMTAB, &table) ? list_table(&lister, &table, false) : 0;
out:
	free(lister.seen);
	free(lister.name);
	free(lister.version_names);
	elf_end(elf);
	return result;
}
