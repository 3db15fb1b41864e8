// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "cubin.h"
#include "fatbin.h"

/* Bit of st_other of a symbol: it is the entry of a kernel. */
#define GPUMON_CUBIN_ENTRY 0x10

static inline bool gpumon_cubin_is_kernel(const GElf_Sym *symbol)
{
	return GELF_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_other & GPUMON_CUBIN_ENTRY;
}

/* NULL: it is no ELF file. For elf_end(). */
static inline Elf *gpumon_cubin_open(const void *data, size_t size)
{
	Elf *elf = NULL;

	/* libelf only reads from this memory, but does not say so. */
	if (elf_version(EV_CURRENT) != EV_NONE)
		elf = elf_memory((char *)(uintptr_t)data, size);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		return elf;
	elf_end(elf);
	return NULL;
}

/**
 * struct search - symbols that are looked for
 * @each: called for each kernel
 * @context: for @each
 * @defined: name of any symbol, or NULL: kernels are looked for
 */
struct search {
	int (*each)(void *context, const char *name);
	void *context;
	const char *defined;
};

static int look_at_symbol(const struct search *search, const GElf_Sym *symbol, const char *name)
{
	if (search->defined)
		return symbol->st_shndx != SHN_UNDEF && strcmp(name, search->defined) == 0;
	if (!gpumon_cubin_is_kernel(symbol))
		return 0;
	return search->each(search->context, name);
}

static int each_symbol(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
		       const struct search *search)
{
	Elf_Data *symbols = elf_getdata(section, NULL);
	size_t n = symbols && header->sh_entsize ? symbols->d_size / header->sh_entsize : 0;

	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		const char *name;
		GElf_Sym symbol;
		int result;

		if (!gelf_getsym(symbols, (int)i, &symbol))
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		result = name ? look_at_symbol(search, &symbol, name) : 0;
		if (result)
			return result;
	}
	return 0;
}

static int search_elf(const void *data, size_t size, const struct search *search)
{
	Elf *elf = gpumon_cubin_open(data, size);
	int result = 0;

	for (Elf_Scn *section = NULL; !result && (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			result = each_symbol(elf, section, &header, search);
	}
	elf_end(elf);
	return result;
}

int gpumon_fatbin_elf_kernels(const void *data, size_t size,
			      int (*each)(void *context, const char *name), void *context)
{
	const struct search search = { .each = each, .context = context };

	return search_elf(data, size, &search);
}

bool gpumon_fatbin_elf_defines(const void *data, size_t size, const char *name)
{
	const struct search search = { .defined = name };

	return search_elf(data, size, &search);
}

/* An instruction of Volta and later. The low bits of the first word say which it is. */
#define INSTRUCTION_BYTES 16
#define OPCODES		  512
#define OPCODE(word)	  ((word) & (OPCODES - 1))
#define VOLTA		  70

/* Calls in a cubin: pairs of symbols, the caller first. */
#define SHT_CUDA_CALLGRAPH 0x70000001u
/* More steps than any real cubin takes. Beyond them called functions are not counted. */
#define STEPS_MAX  (1u << 26)
#define CALL_BYTES 8

/*
 * As CUDA 12.4's and 13.0's ptxas write them, for sm_75 to sm_121; tests/probe/edit compares with what
 * this ptxas makes. 0: patched, or no access of memory.
 */
static const uint8_t cause_of[OPCODES] = {
	[0x03b] = 1 + GPUMON_EDIT_MATRIX,     /* LDSM */
	[0x044] = 1 + GPUMON_EDIT_MATRIX,     /* STSM */
	[0x160] = 1 + GPUMON_EDIT_TEXTURE,    /* TEX */
	[0x163] = 1 + GPUMON_EDIT_TEXTURE,    /* TLD4 */
	[0x166] = 1 + GPUMON_EDIT_TEXTURE,    /* TLD */
	[0x16c] = 1 + GPUMON_EDIT_TEXTURE,    /* TXD */
	[0x199] = 1 + GPUMON_EDIT_TEXTURE,    /* SULD */
	[0x19b] = 1 + GPUMON_EDIT_TEXTURE,    /* SUST, formatted */
	[0x19d] = 1 + GPUMON_EDIT_TEXTURE,    /* SUST */
	[0x19f] = 1 + GPUMON_EDIT_TEXTURE,    /* SURED */
	[0x1b4] = 1 + GPUMON_EDIT_TENSOR,     /* UTMALDG */
	[0x1b5] = 1 + GPUMON_EDIT_TENSOR,     /* UTMASTG */
	[0x1b6] = 1 + GPUMON_EDIT_TENSOR,     /* UTMAREDG */
	[0x1ba] = 1 + GPUMON_EDIT_BULK,	      /* UBLKCP */
	[0x1bb] = 1 + GPUMON_EDIT_BULK,	      /* UBLKRED */
	[0x1cb] = 1 + GPUMON_EDIT_BULK,	      /* of st.bulk */
	[0x1bd] = 1 + GPUMON_EDIT_CLUSTER,    /* of st.async */
	[0x1be] = 1 + GPUMON_EDIT_CLUSTER,    /* of red.async */
	[0x1e7] = 1 + GPUMON_EDIT_DESCRIPTOR, /* of tcgen05.cp */
	[0x1ea] = 1 + GPUMON_EDIT_DESCRIPTOR, /* of tcgen05.mma */
	[0x1f0] = 1 + GPUMON_EDIT_DESCRIPTOR, /* HGMMA */
	[0x1f1] = 1 + GPUMON_EDIT_DESCRIPTOR, /* IGMMA */
	[0x1f2] = 1 + GPUMON_EDIT_DESCRIPTOR, /* BGMMA */
	[0x1f3] = 1 + GPUMON_EDIT_DESCRIPTOR, /* QGMMA */
};

typedef uint64_t counts[GPUMON_EDIT_CAUSES_N];

/**
 * struct code - the machine code of a cubin; each function, or kernel with what it calls, has a section
 * @sections: what there is in each
 * @sections_n: how many
 * @any: there is something
 * @symbols: symbols
 * @symbols_n: how many
 * @strings: number of the section with their names
 * @calls: pairs of symbols
 * @calls_n: how many
 * @is_reached: of each section: it is in @reached
 * @reached: a kernel's section and those that it calls
 * @reached_n: how many
 * @steps: that may still be taken
 */
struct code {
	counts *sections;
	size_t sections_n;
	bool any;
	Elf_Data *symbols;
	size_t symbols_n;
	size_t strings;
	const uint8_t *calls;
	size_t calls_n;
	bool *is_reached;
	size_t *reached;
	size_t reached_n;
	size_t steps;
};

static bool is_volta_or_later(Elf *elf)
{
	GElf_Ehdr header;

	if (!gelf_getehdr(elf, &header))
		return false;
	/* CUDA 13 has a new form of cubins. */
	return (header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 & 0xff :
						     header.e_flags & 0xff) >= VOLTA;
}

static void count_section(struct code *code, Elf_Scn *section)
{
	Elf_Data *data = elf_rawdata(section, NULL);
	uint64_t *found = code->sections[elf_ndxscn(section)];
	const uint8_t *at = data ? data->d_buf : NULL;

	for (size_t n = at ? data->d_size / INSTRUCTION_BYTES : 0; n; n--) {
		uint8_t cause = cause_of[OPCODE(gpumon_fatbin_u16(at))];

		at += INSTRUCTION_BYTES;
		if (cause) {
			found[cause - 1]++;
			code->any = true;
		}
	}
}

static void look_at_section(struct code *code, Elf_Scn *section, const GElf_Shdr *header)
{
	if (header->sh_type == SHT_PROGBITS && header->sh_flags & SHF_EXECINSTR) {
		count_section(code, section);
	} else if (header->sh_type == SHT_SYMTAB) {
		code->symbols = elf_getdata(section, NULL);
		code->symbols_n = code->symbols ? code->symbols->d_size / sizeof(Elf64_Sym) : 0;
		code->strings = header->sh_link;
	} else if (header->sh_type == SHT_CUDA_CALLGRAPH) {
		Elf_Data *data = elf_rawdata(section, NULL);

		code->calls = data ? data->d_buf : NULL;
		code->calls_n = code->calls ? data->d_size / CALL_BYTES : 0;
	}
}

/* The section of a symbol; 0: none. */
static size_t section_of(const struct code *code, uint32_t symbol)
{
	GElf_Sym is;

	return symbol < code->symbols_n && gelf_getsym(code->symbols, (int)symbol, &is) &&
			       is.st_shndx < code->sections_n ?
		       is.st_shndx :
		       0;
}

static void reach(struct code *code, size_t section)
{
	code->is_reached[section] = true;
	code->reached[code->reached_n++] = section;
}

/* Whether one more section is reached. */
static bool follow_calls(struct code *code)
{
	size_t before = code->reached_n;

	if (code->steps < code->calls_n)
		return false;
	code->steps -= code->calls_n;
	for (size_t i = 0; i < code->calls_n; i++) {
		const uint8_t *call = code->calls + i * CALL_BYTES;
		size_t callee = section_of(code, gpumon_fatbin_u32(call + 4));

		if (callee && !code->is_reached[callee] &&
		    code->is_reached[section_of(code, gpumon_fatbin_u32(call))])
			reach(code, callee);
	}
	return code->reached_n > before;
}

/* Counts of a kernel, the functions that it calls included. */
static bool add_up(struct code *code, size_t section, counts sum)
{
	bool any = false;

	reach(code, section);
	while (follow_calls(code))
		;
	while (code->reached_n) {
		size_t is = code->reached[--code->reached_n];

		code->is_reached[is] = false;
		for (int i = 0; i < GPUMON_EDIT_CAUSES_N; i++) {
			sum[i] += code->sections[is][i];
			any |= sum[i];
		}
	}
	return any;
}

static void each_kernel(struct code *code, Elf *elf,
			void (*each)(void *context, const char *kernel, const counts unseen),
			void *context)
{
	for (size_t i = 0; i < code->symbols_n && i < INT32_MAX; i++) {
		size_t section = section_of(code, (uint32_t)i);
		counts sum = { 0 };
		GElf_Sym symbol;
		const char *name;

		if (!section || !gelf_getsym(code->symbols, (int)i, &symbol) ||
		    !gpumon_cubin_is_kernel(&symbol) || !add_up(code, section, sum))
			continue;
		name = elf_strptr(elf, code->strings, symbol.st_name);
		if (name)
			each(context, name, sum);
	}
}

static void look_through(struct code *code, Elf *elf)
{
	if (elf_getshdrnum(elf, &code->sections_n))
		return;
	code->sections = gpumon_calloc(code->sections_n + 1, sizeof(*code->sections));
	code->is_reached = gpumon_calloc(code->sections_n + 1, sizeof(*code->is_reached));
	code->reached = gpumon_calloc(code->sections_n + 1, sizeof(*code->reached));
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && elf_ndxscn(section) < code->sections_n)
			look_at_section(code, section, &header);
	}
}

void gpumon_fatbin_elf_unpatched(const void *data, size_t size,
				 void (*each)(void *context, const char *kernel,
					      const uint64_t unseen[GPUMON_EDIT_CAUSES_N]),
				 void *context)
{
	struct code code = { .steps = STEPS_MAX };
	Elf *elf = gpumon_cubin_open(data, size);

	if (elf && is_volta_or_later(elf))
		look_through(&code, elf);
	if (code.any)
		each_kernel(&code, elf, each, context);
	free(code.sections);
	free(code.is_reached);
	free(code.reached);
	elf_end(elf);
}
