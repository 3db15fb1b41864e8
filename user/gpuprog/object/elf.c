// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <gelf.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "elf.h"

#define GPUMON_GPUPROG_MAX_SECTIONS 1024

#define INSN		 sizeof(struct bpf_insn)
#define MAX_NAME	 255
#define MAX_SECTION_NAME 4096

static int refuse_damaged(const struct gpumon_gpuprog_image *image, struct gpumon_error *err,
			  const char *what)
{
	return GPUMON_GPUPROG_IMAGE_REFUSE(image, err, "%s: the file is damaged, compile it again",
					   what);
}

bool gpumon_gpuprog_image_identifier(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$";

	size_t length = strnlen(name, MAX_NAME + 1);

	return length && length <= MAX_NAME && !name[strspn(name, allowed)];
}

const struct gpumon_gpuprog_section *
gpumon_gpuprog_image_section(const struct gpumon_gpuprog_image *image, const char *name)
{
	for (uint32_t i = 0; i < image->sections_n; i++) {
		if (image->sections[i].data && !strcmp(image->sections[i].name, name))
			return &image->sections[i];
	}
	return NULL;
}

const struct gpumon_gpuprog_relocation *
gpumon_gpuprog_relocation_find(const struct gpumon_gpuprog_section *section, uint64_t offset)
{
	uint32_t low = 0, high = section->relocations_n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (section->relocations[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? section->relocations + low : section->relocations;
}

int64_t gpumon_gpuprog_image_function(const struct gpumon_gpuprog_image *image, uint32_t section,
				      uint64_t offset)
{
	uint32_t low = 0, high = image->functions_n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct gpumon_gpuprog_symbol *symbol =
			&image->symbols[image->functions[middle]];

		if (symbol->section < section ||
		    (symbol->section == section && symbol->value < offset))
			low = middle + 1;
		else
			high = middle;
	}
	if (low < image->functions_n) {
		const struct gpumon_gpuprog_symbol *symbol = &image->symbols[image->functions[low]];

		if (symbol->section == section && symbol->value == offset)
			return low;
	}
	return -1;
}

static int check_kind(const struct gpumon_gpuprog_image *image, struct gpumon_error *err)
{
	GElf_Ehdr header;
	const char *ident = elf_getident(image->elf, NULL);

	if (!ident || elf_kind(image->elf) != ELF_K_ELF || !gelf_getehdr(image->elf, &header))
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"it is no object file (ELF): give one made by clang -target bpf");
	if (header.e_machine != EM_BPF)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"it is for machine %u, not for eBPF: compile it with clang -target bpf",
			header.e_machine);
	if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"it is not 64-bit little-endian: compile it with clang -target bpfel");
	if (header.e_type != ET_REL)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err, "it is linked: give the object file itself (clang -c)");
	if (!header.e_shoff || header.e_shoff > image->size ||
	    (image->size - header.e_shoff) / sizeof(Elf64_Shdr) < header.e_shnum)
		return refuse_damaged(image, err, "the table of sections is not in the file");
	return 0;
}

static int read_section(struct gpumon_gpuprog_image *image, Elf_Scn *scn, size_t names,
			struct gpumon_error *err)
{
	struct gpumon_gpuprog_section *section;
	GElf_Shdr header;
	Elf_Data *data;
	size_t index = elf_ndxscn(scn);

	if (!gelf_getshdr(scn, &header) || index >= image->sections_n)
		return refuse_damaged(image, err, "a section has no header");
	section = &image->sections[index];
	section->name = elf_strptr(image->elf, names, header.sh_name);
	if (!section->name)
		return refuse_damaged(image, err, "a section has no name");
	/* Names are compared often. */
	if (strnlen(section->name, MAX_SECTION_NAME + 1) > MAX_SECTION_NAME)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"the name of a section is longer than %u bytes: name fewer kernels in it, or use patterns",
			MAX_SECTION_NAME);
	section->size = header.sh_size;
	section->code = header.sh_type == SHT_PROGBITS && header.sh_flags & SHF_EXECINSTR;
	if (header.sh_type != SHT_PROGBITS || !header.sh_size)
		return 0;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || data->d_size != header.sh_size)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"section %.60s is not in the file: the file is cut off, compile it again",
			section->name);
	section->data = data->d_buf;
	return 0;
}

static int read_sections(struct gpumon_gpuprog_image *image, struct gpumon_error *err)
{
	Elf_Scn *scn = NULL;
	size_t n, names;

	if (elf_getshdrnum(image->elf, &n) || elf_getshdrstrndx(image->elf, &names))
		return refuse_damaged(image, err, "the table of sections cannot be read");
	if (n > GPUMON_GPUPROG_MAX_SECTIONS)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"it has %zu sections, %u are possible: put programs of the same kind into one section",
			n, GPUMON_GPUPROG_MAX_SECTIONS);
	image->sections = gpumon_pool_zalloc(image->pool, (n + 1) * sizeof(*image->sections));
	for (size_t i = 0; i <= n; i++)
		image->sections[i].name = "";
	image->sections_n = (uint32_t)n;
	while ((scn = elf_nextscn(image->elf, scn))) {
		if (read_section(image, scn, names, err))
			return -1;
	}
	return 0;
}

static int read_symbol(struct gpumon_gpuprog_image *image, Elf_Data *data, uint32_t i, size_t names,
		       struct gpumon_error *err)
{
	struct gpumon_gpuprog_symbol *symbol = &image->symbols[i];
	GElf_Sym sym;

	if (!gelf_getsym(data, (int)i, &sym))
		return refuse_damaged(image, err, "a symbol cannot be read");
	symbol->name = elf_strptr(image->elf, names, sym.st_name);
	if (!symbol->name)
		return refuse_damaged(image, err, "a symbol has no name");
	symbol->value = sym.st_value;
	symbol->size = sym.st_size;
	symbol->type = GELF_ST_TYPE(sym.st_info);
	symbol->local = GELF_ST_BIND(sym.st_info) == STB_LOCAL;
	/* Symbols with other numbers, such as SHN_ABS and SHN_COMMON, are in no section. */
	symbol->section = sym.st_shndx < image->sections_n ? sym.st_shndx : 0;
	return 0;
}

static int read_symbols(struct gpumon_gpuprog_image *image, Elf_Scn *scn, const GElf_Shdr *header,
			struct gpumon_error *err)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n;

	if (image->symbols)
		return refuse_damaged(image, err, "there are two tables of symbols");
	if (!data || !data->d_buf || header->sh_entsize != sizeof(Elf64_Sym))
		return refuse_damaged(image, err, "the table of symbols cannot be read");
	n = data->d_size / sizeof(Elf64_Sym);
	image->symbols = gpumon_pool_zalloc(image->pool, (n + 1) * sizeof(*image->symbols));
	for (size_t i = 0; i < n; i++) {
		if (read_symbol(image, data, (uint32_t)i, header->sh_link, err))
			return -1;
	}
	image->symbols_n = (uint32_t)n;
	return 0;
}

static int compare_relocations(const void *a, const void *b)
{
	const struct gpumon_gpuprog_relocation *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int read_relocations(struct gpumon_gpuprog_image *image, Elf_Scn *scn,
			    const GElf_Shdr *header, struct gpumon_error *err)
{
	struct gpumon_gpuprog_section *section;
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n;

	if (!data || header->sh_info >= image->sections_n ||
	    header->sh_entsize != sizeof(Elf64_Rel))
		return refuse_damaged(image, err, "a table of relocations cannot be read");
	section = &image->sections[header->sh_info];
	n = data->d_buf ? data->d_size / sizeof(Elf64_Rel) : 0;
	if (section->relocations)
		return refuse_damaged(image, err, "a section has two tables of relocations");
	section->relocations =
		gpumon_pool_zalloc(image->pool, (n + 1) * sizeof(*section->relocations));
	for (size_t i = 0; i < n; i++) {
		GElf_Rel rel;

		if (!gelf_getrel(data, (int)i, &rel) || GELF_R_SYM(rel.r_info) >= image->symbols_n)
			return refuse_damaged(image, err, "a relocation names no symbol");
		section->relocations[i].offset = rel.r_offset;
		section->relocations[i].symbol = (uint32_t)GELF_R_SYM(rel.r_info);
		section->relocations[i].type = (uint32_t)GELF_R_TYPE(rel.r_info);
	}
	section->relocations_n = (uint32_t)n;
	qsort(section->relocations, n, sizeof(*section->relocations), compare_relocations);
	return 0;
}

static int read_tables(struct gpumon_gpuprog_image *image, struct gpumon_error *err)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_REL };
	uint64_t total = 0;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		Elf_Scn *scn = NULL;

		while ((scn = elf_nextscn(image->elf, scn))) {
			GElf_Shdr header;

			if (!gelf_getshdr(scn, &header) || header.sh_type != types[i])
				continue;
			/* Tables that share their bytes would multiply what is read. */
			total += header.sh_size;
			if (header.sh_size > image->size || total > image->size)
				return refuse_damaged(image, err,
						      "tables are larger than the file");
			if (types[i] == SHT_SYMTAB ? read_symbols(image, scn, &header, err) :
						     read_relocations(image, scn, &header, err))
				return -1;
		}
	}
	return 0;
}

static int check_function(const struct gpumon_gpuprog_image *image,
			  const struct gpumon_gpuprog_symbol *symbol, struct gpumon_error *err)
{
	const struct gpumon_gpuprog_section *section = &image->sections[symbol->section];

	if (!gpumon_gpuprog_image_identifier(symbol->name))
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"a function is called \"%.60s\": give it a name of letters, digits and _",
			symbol->name);
	if (!symbol->size || symbol->size % INSN || symbol->value % INSN ||
	    symbol->value > section->size || symbol->size > section->size - symbol->value)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"function %.60s is not within its section: the file is damaged, compile it again",
			symbol->name);
	return 0;
}

static int compare_functions(const void *a, const void *b, void *data)
{
	const struct gpumon_gpuprog_image *image = data;
	const uint32_t *x = a, *y = b;
	const struct gpumon_gpuprog_symbol *left = &image->symbols[*x],
					   *right = &image->symbols[*y];

	if (left->section != right->section)
		return left->section < right->section ? -1 : 1;
	if (left->value != right->value)
		return left->value < right->value ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static int find_functions(struct gpumon_gpuprog_image *image, struct gpumon_error *err)
{
	image->functions =
		gpumon_pool_zalloc(image->pool, (image->symbols_n + 1) * sizeof(*image->functions));
	for (uint32_t i = 0; i < image->symbols_n; i++) {
		const struct gpumon_gpuprog_symbol *symbol = &image->symbols[i];

		if (symbol->type != STT_FUNC || !image->sections[symbol->section].code)
			continue;
		if (check_function(image, symbol, err))
			return -1;
		image->functions[image->functions_n++] = i;
	}
	qsort_r(image->functions, image->functions_n, sizeof(*image->functions), compare_functions,
		image);
	return 0;
}

int gpumon_gpuprog_image_open(struct gpumon_gpuprog_image *image, const void *bytes, size_t size,
			      struct gpumon_error *err)
{
	if (size > GPUMON_GPUPROG_MAX_OBJECT)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err, "it has %zu bytes, %u are possible: is it the right file?",
			size, GPUMON_GPUPROG_MAX_OBJECT);
	image->size = size;
	elf_version(EV_CURRENT);
	/* libelf does not write into it. */
	image->elf = elf_memory((char *)(uintptr_t)bytes, size);
	if (!image->elf)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"it is no object file (ELF): give one made by clang -target bpf");
	if (check_kind(image, err) || read_sections(image, err) || read_tables(image, err))
		return -1;
	return find_functions(image, err);
}

void gpumon_gpuprog_image_close(struct gpumon_gpuprog_image *image)
{
	elf_end(image->elf);
	image->elf = NULL;
}
