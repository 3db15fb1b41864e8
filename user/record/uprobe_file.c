// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/array.h"
#include "capture/elf_find.h"
#include "uprobe_function.h"
#include "uprobe_process.h"

/* A function in a file that contains the runtime, by its first address. */
struct begin {
	uint64_t offset;
	bool runtime;
};

struct reader {
	struct gpumon_uprobe_file *file;
	uint64_t *addresses; /* addresses of sites */
	size_t address_count;
	struct begin *begins;
	size_t begin_count;
};

int gpumon_uprobe_file_add_site(struct gpumon_uprobe_file *file,
				const struct gpumon_uprobe_site *site)
{
	struct gpumon_uprobe_site *added = NULL;

	if (site->name)
		added = GPUMON_GROW(file->sites, file->site_count);
	if (!added) {
		free(site->name);
		return -ENOMEM;
	}
	*added = *site;
	return 0;
}

/* Two names of one function are one site. The first name wins, unless it is an old version. */
static int read_site(void *data, const struct gpumon_elf_function *function)
{
	struct reader *reader = data;
	struct gpumon_uprobe_file *file = reader->file;
	unsigned int kind = gpumon_function_kind(function->name);
	struct gpumon_uprobe_site site = { .offset = function->offset, .kind = kind };
	uint64_t *address;

	if (!strcmp(function->name, "_dl_debug_state"))
		file->linker_offset = function->offset;
	if (!strcmp(function->name, "vkCreateDevice"))
		file->device_offset = function->offset;
	if (!kind || function->ifunc)
		return 0;
	for (unsigned int i = 0; i < file->site_count; i++)
		if (file->sites[i].offset == function->offset)
			return 0;
	address = GPUMON_GROW(reader->addresses, reader->address_count);
	if (!address)
		return -ENOMEM;
	*address = function->address;
	site.name = strndup(function->name, strcspn(function->name, "@"));
	return gpumon_uprobe_file_add_site(file, &site);
}

static int read_begin(void *data, const struct gpumon_elf_function *function)
{
	struct reader *reader = data;
	struct begin *begin = GPUMON_GROW(reader->begins, reader->begin_count);

	if (!begin)
		return -ENOMEM;
	begin->offset = function->offset;
	begin->runtime = gpumon_function_of_runtime(function->name);
	return 0;
}

static int compare_begins(const void *a, const void *b)
{
	const struct begin *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (int)x->runtime - (int)y->runtime;
}

/* A span goes from a function of the runtime to the next function outside it. */
static int find_spans(struct reader *reader)
{
	struct gpumon_uprobe_file *file = reader->file;
	struct gpumon_uprobe_span *span;
	bool within = false;

	qsort(reader->begins, reader->begin_count, sizeof(*reader->begins), compare_begins);
	for (size_t i = 0; i < reader->begin_count; i++) {
		const struct begin *begin = &reader->begins[i];

		if (begin->runtime && !within) {
			span = GPUMON_GROW(file->spans, file->span_count);
			if (!span)
				return -ENOMEM;
			*span = (struct gpumon_uprobe_span){ begin->offset, UINT64_MAX };
		} else if (!begin->runtime && within) {
			file->spans[file->span_count - 1].end = begin->offset;
		}
		within = begin->runtime;
	}
	return 0;
}

static bool read_soname(Elf *elf, char *soname, size_t room)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Dyn entry;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag; i++) {
			const char *name;

			if (entry.d_tag != DT_SONAME)
				continue;
			name = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
			if (!name)
				return false;
			snprintf(soname, room, "%s", name);
			return true;
		}
	}
	return false;
}

/*
 * Leave out functions that only jump to another probed one, or one call would count twice: nvcc
 * calls __cudaLaunchKernel, which does that.
 */
static void leave_out_jumps(struct reader *reader, unsigned int machine)
{
	struct gpumon_uprobe_file *file = reader->file;
	unsigned int left = 0;

	for (unsigned int i = 0; i < file->site_count; i++) {
		uint8_t code[32];
		int64_t distance = 0;
		ssize_t n = pread(file->fd, code, sizeof(code), (off_t)file->sites[i].offset);
		bool jumps = n > 0 && gpumon_function_jump(code, (size_t)n, machine, &distance);
		bool known = false;

		for (unsigned int j = 0; jumps && j < file->site_count; j++)
			if (j != i &&
			    reader->addresses[j] == reader->addresses[i] + (uint64_t)distance)
				known = true;
		/* Mark the offset, since other functions may jump to it in turn. */
		if (known)
			file->sites[i].kind = 0;
	}
	for (unsigned int i = 0; i < file->site_count; i++) {
		if (file->sites[i].kind)
			file->sites[left++] = file->sites[i];
		else
			free(file->sites[i].name);
	}
	file->site_count = left;
}

/*
 * If the code does not show the target of the jump, the name does. Loaders jump to functions of the
 * same name in a driver.
 */
static void find_successors(struct gpumon_uprobe_file *file, unsigned int machine)
{
	for (unsigned int i = 0; i < file->site_count; i++) {
		struct gpumon_uprobe_site *site = &file->sites[i];
		uint8_t code[96];
		ssize_t n;

		site->jumps_to = site->name;
		for (unsigned int j = 0; j < file->site_count; j++)
			if (!strncmp(site->name, "__", 2) &&
			    !strcmp(site->name + 2, file->sites[j].name))
				site->jumps_to = file->sites[j].name;
		if (strncmp(site->name, "vk", 2) != 0)
			continue;
		n = pread(file->fd, code, sizeof(code), (off_t)site->offset);
		if (n <= 0 ||
		    !gpumon_function_vulkan_entry(code, (size_t)n, machine, &site->vulkan_entry))
			site->vulkan_entry = 0;
	}
}

void gpumon_uprobe_file_launches_only(struct gpumon_uprobe_file *file)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < file->site_count; i++) {
		if (file->sites[i].kind & GPUMON_FUNCTION_LAUNCH)
			file->sites[left++] = file->sites[i];
		else
			free(file->sites[i].name);
	}
	file->site_count = left;
}

int gpumon_uprobe_file_read(struct gpumon_uprobe_file *file)
{
	struct reader reader = { .file = file };
	const char *slash = strrchr(file->path, '/'), *why = "";
	unsigned int machine = EM_NONE;
	char soname[256];
	GElf_Ehdr header;
	int result;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(file->fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header)) {
		machine = header.e_machine;
		if (gelf_getclass(elf) != ELFCLASS64)
			machine = EM_NONE;
		file->api =
			gpumon_library_of_api(slash ? slash + 1 : file->path) ||
			(read_soname(elf, soname, sizeof(soname)) && gpumon_library_of_api(soname));
	}
	elf_end(elf);
	if (machine == EM_NONE)
		return 0;
	file->build_id_size = (uint8_t)gpumon_elf_build_id(file->fd, file->build_id);
	result = gpumon_elf_functions(file->fd, read_site, &reader, &why);
	if (result == -1)
		snprintf(file->why, sizeof(file->why), "its symbols cannot be read: %s", why);
	if (!result && file->site_count) {
		leave_out_jumps(&reader, machine);
		find_successors(file, machine);
		if (!file->api) {
			result = gpumon_elf_functions(file->fd, read_begin, &reader, &why);
			if (!result)
				result = find_spans(&reader);
		}
	}
	free(reader.addresses);
	free(reader.begins);
	return result == -ENOMEM ? -1 : 0;
}
