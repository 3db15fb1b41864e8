// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/memory.h"
#include "abi/return_address.h"
#include "uprobe_program.h"
#include "uprobe_rule.h"

#if defined(__aarch64__)
#define REGISTER_FP 29
#define REGISTER_SP 31
#define REGISTER_RA 30
#else
#define REGISTER_FP 6
#define REGISTER_SP 7
#define REGISTER_RA 16
#endif

#define LOADS_MAX 16

/* Call frame information of a file, read on first use. */
struct unwind {
	int fd;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *eh;	       /* .eh_frame, owned by @elf */
	Dwarf_CFI *debug;      /* .debug_frame, owned by @dwarf */
	const Elf_Data *table; /* .eh_frame_hdr, owned by @elf */
	uint64_t table_address;
	struct {
		uint64_t offset;
		uint64_t size;
		uint64_t address;
	} loads[LOADS_MAX];
	unsigned int load_count;
};

static struct unwind *open_unwind(const struct gpumon_uprobe_process *process,
				  const struct gpumon_uprobe_map *map)
{
	struct unwind *unwind = gpumon_calloc(1, sizeof(*unwind));
	GElf_Phdr header;
	size_t count = 0;

	map->file->unwind = unwind;
	unwind->fd = gpumon_uprobe_process_open(process, map);
	if (unwind->fd < 0)
		return unwind;
	elf_version(EV_CURRENT);
	/* Use mmap(), since only a few pages of a large library are needed. */
	unwind->elf = elf_begin(unwind->fd, ELF_C_READ_MMAP, NULL);
	if (!unwind->elf || elf_getphdrnum(unwind->elf, &count))
		return unwind;
	for (size_t i = 0; i < count && unwind->load_count < LOADS_MAX; i++) {
		if (!gelf_getphdr(unwind->elf, (int)i, &header))
			continue;
		if (header.p_type == PT_GNU_EH_FRAME) {
			unwind->table = elf_getdata_rawchunk(unwind->elf, (int64_t)header.p_offset,
							     header.p_filesz, ELF_T_BYTE);
			unwind->table_address = header.p_vaddr;
		}
		if (header.p_type != PT_LOAD)
			continue;
		unwind->loads[unwind->load_count].offset = header.p_offset;
		unwind->loads[unwind->load_count].size = header.p_filesz;
		unwind->loads[unwind->load_count++].address = header.p_vaddr;
	}
	unwind->eh = dwarf_getcfi_elf(unwind->elf);
	if (!unwind->eh) {
		unwind->dwarf = dwarf_begin_elf(unwind->elf, DWARF_C_READ, NULL);
		if (unwind->dwarf)
			unwind->debug = dwarf_getcfi(unwind->dwarf);
	}
	return unwind;
}

void gpumon_uprobe_unwind_free(struct gpumon_uprobe_file *file)
{
	struct unwind *unwind = file->unwind;

	if (!unwind)
		return;
	if (unwind->dwarf)
		dwarf_end(unwind->dwarf);
	if (unwind->eh)
		dwarf_cfi_end(unwind->eh);
	elf_end(unwind->elf);
	if (unwind->fd >= 0)
		close(unwind->fd);
	free(unwind);
	file->unwind = NULL;
}

static bool offset_fits(int64_t value)
{
	return value > -(1 << 30) && value < 1 << 30;
}

/* Match the form in which libdw describes a place at an offset from the CFA. */
static bool from_cfa(const Dwarf_Op *ops, size_t count, int32_t *distance)
{
	int64_t sum = 0;

	if (!count || ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (count == 2 && ops[1].atom == DW_OP_plus_uconst)
		sum = (int64_t)ops[1].number;
	else if (count == 3 && ops[2].atom == DW_OP_plus &&
		 (ops[1].atom == DW_OP_consts || ops[1].atom == DW_OP_const8s))
		sum = (int64_t)ops[1].number;
	else if (count != 1)
		return false;
	*distance = (int32_t)sum;
	return offset_fits(sum);
}

static bool read_frame(Dwarf_Frame *frame, struct uprobe_rule *rule)
{
	Dwarf_Op memory[3], *ops = NULL;
	int64_t distance;
	size_t count;
	unsigned int number;

	/*
	 * The return address is undefined in functions without a caller (_start, a thread's first
	 * function).
	 */
	if (dwarf_frame_register(frame, REGISTER_RA, memory, &ops, &count))
		return false;
	if (!count && ops == memory) {
		rule->kind = UPROBE_RULE_END;
		return true;
	}
	if (!from_cfa(ops, count, &rule->ra))
		return false;
	if (dwarf_frame_cfa(frame, &ops, &count) || count != 1)
		return false;
	if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
		number = ops[0].atom - DW_OP_breg0;
		distance = (int64_t)ops[0].number;
	} else if (ops[0].atom == DW_OP_bregx) {
		number = (unsigned int)ops[0].number;
		distance = (int64_t)ops[0].number2;
	} else {
		return false;
	}
	if ((number != REGISTER_SP && number != REGISTER_FP) || !offset_fits(distance))
		return false;
	rule->cfa = (int32_t)distance;
	rule->kind = number == REGISTER_SP ? UPROBE_RULE_SP : UPROBE_RULE_FP;
	if (dwarf_frame_register(frame, REGISTER_FP, memory, &ops, &count))
		return false;
	rule->fp = UPROBE_FP_SAME;
	return !count || from_cfa(ops, count, &rule->fp);
}

/*
 * Find the call frame information of an address. False if the file cannot be read.
 * @frame: set to NULL if there is none
 * @place: set to the address in the file
 */
static bool find_frame(const struct gpumon_uprobe_process *process,
		       const struct gpumon_uprobe_map *map, uint64_t address, Dwarf_Frame **frame,
		       uint64_t *place)
{
	struct unwind *unwind = map->file->unwind;
	uint64_t offset = address - map->start + map->offset;

	*frame = NULL;
	if (!unwind)
		unwind = open_unwind(process, map);
	if (!unwind || !unwind->elf)
		return false;
	if (!unwind->eh && !unwind->debug)
		return true;
	for (unsigned int i = 0; i < unwind->load_count && !*frame; i++) {
		if (offset < unwind->loads[i].offset ||
		    offset - unwind->loads[i].offset >= unwind->loads[i].size)
			continue;
		*place = offset - unwind->loads[i].offset + unwind->loads[i].address;
		if (dwarf_cfi_addrframe(unwind->eh ? unwind->eh : unwind->debug, *place, frame))
			*frame = NULL;
	}
	return true;
}

bool gpumon_uprobe_rule(const struct gpumon_uprobe_process *process, uint64_t pc,
			struct uprobe_rule *rule)
{
	/* A call can be the last instruction of its function. */
	const struct gpumon_uprobe_map *map = gpumon_uprobe_process_map(process, pc - 1);
	const struct uprobe_rule none = { .pc = pc, .kind = UPROBE_RULE_NONE, .pc_again = pc };
	Dwarf_Frame *frame = NULL;
	uint64_t place;

	*rule = none;
	if (!map)
		return true;
	rule->kind = UPROBE_RULE_FP;
	rule->cfa = 16;
	rule->ra = -8;
	rule->fp = -16;
	if (map->file && !find_frame(process, map, pc - 1, &frame, &place))
		return false;
	if (!frame)
		return true;
	*rule = none;
	if (!read_frame(frame, rule))
		*rule = none;
	free(frame);
	return true;
}

bool gpumon_uprobe_begins_row(const struct gpumon_uprobe_process *process, uint64_t address)
{
	const struct gpumon_uprobe_map *map = gpumon_uprobe_process_map(process, address);
	Dwarf_Addr start = 0, end;
	Dwarf_Frame *frame;
	uint64_t place = 0;
	bool signal;

	if (!map || !map->file || !find_frame(process, map, address, &frame, &place) || !frame)
		return false;
	dwarf_frame_info(frame, &start, &end, &signal);
	free(frame);
	return start == place;
}

/* Begin of .eh_frame_hdr as linkers write it: version, encodings, address of .eh_frame, number of entries. */
#define TABLE_HEAD 12

/* The function with an address, in a file; 0: unknown. Entries are two offsets each, of function and record. */
static uint64_t find_start(const struct unwind *unwind, uint64_t place)
{
	static const uint8_t known[] = { DW_EH_PE_udata4, DW_EH_PE_datarel | DW_EH_PE_sdata4 };
	const uint8_t *bytes = unwind->table ? unwind->table->d_buf : NULL;
	uint32_t low = 0, high;
	int32_t offset;

	if (!bytes || unwind->table->d_size < TABLE_HEAD || bytes[0] != 1 ||
	    memcmp(bytes + 2, known, sizeof(known)))
		return 0;
	memcpy(&high, bytes + 8, sizeof(high));
	if (high > (unwind->table->d_size - TABLE_HEAD) / (2 * sizeof(offset)))
		return 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		memcpy(&offset, bytes + TABLE_HEAD + (size_t)middle * 2 * sizeof(offset),
		       sizeof(offset));
		if (unwind->table_address + (uint64_t)(int64_t)offset <= place)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return 0;
	memcpy(&offset, bytes + TABLE_HEAD + (size_t)(low - 1) * 2 * sizeof(offset),
	       sizeof(offset));
	return unwind->table_address + (uint64_t)(int64_t)offset;
}

uint64_t gpumon_uprobe_base_set(const struct gpumon_uprobe_process *process, uint64_t pc,
				uint64_t *start)
{
	const struct gpumon_uprobe_map *map = gpumon_uprobe_process_map(process, pc - 1);
	Dwarf_Frame *frame;
	Dwarf_Addr begin, end = 0;
	uint64_t place = 0, last, function;
	bool signal;

	if (!map || !map->file || !find_frame(process, map, pc - 1, &frame, &last) || !frame)
		return 0;
	free(frame);
	function = find_start(map->file->unwind, last);
	*start = pc - 1 - (last - function);
	for (uint64_t at = function; function && at <= last; at = end) {
		struct uprobe_rule rule = { .kind = UPROBE_RULE_NONE };
		bool is_set;

		if (!find_frame(process, map, *start + (at - function), &frame, &place) || !frame)
			return 0;
		is_set = read_frame(frame, &rule) && rule.kind == UPROBE_RULE_FP;
		dwarf_frame_info(frame, &begin, &end, &signal);
		free(frame);
		if (is_set)
			return *start + (at - function);
		if (end <= at)
			return 0;
	}
	return 0;
}

static bool read_word(const struct uprobe_copy *copy, uint64_t address, uint64_t *word)
{
	if (address < copy->sp || address - copy->sp > copy->bytes ||
	    copy->bytes - (address - copy->sp) < sizeof(*word))
		return false;
	memcpy(word, copy->memory + (address - copy->sp), sizeof(*word));
	return true;
}

/* Does code belong to the library of a call, or of the last function nested in it? */
static bool is_within(const struct uprobe_ranges *ranges, const struct uprobe_outer *outer,
		      uint64_t pc)
{
	uint64_t file = gpumon_uprobe_ranges_file(ranges, pc);

	return file && (file == gpumon_uprobe_ranges_file(ranges, outer->ip) ||
			file == gpumon_uprobe_ranges_file(ranges, outer->inner));
}

/* Is a frame that of a call's function? @pc is the return address in it, like in uprobe.bpf.c. */
static bool is_nested(const struct uprobe_ranges *ranges, const struct uprobe_copy *copy,
		      uint64_t cfa, uint64_t pc, uint64_t ra)
{
	for (unsigned int i = 0; i < UPROBE_CALLS; i++) {
		const struct uprobe_outer *outer = &copy->outer[i];

		if (outer->end && cfa == outer->end && (!outer->ra || ra == outer->ra) &&
		    is_within(ranges, outer, pc))
			return true;
	}
	return false;
}

/* Decides if the walk does not, like in uprobe.bpf.c. */
static bool is_called_within(const struct uprobe_ranges *ranges, const struct uprobe_copy *copy)
{
	for (unsigned int i = 0; i < UPROBE_CALLS; i++)
		if (copy->outer[i].end && is_within(ranges, &copy->outer[i], copy->stack.frames[1]))
			return true;
	return false;
}

/* End of the outermost frame that decides; 0 if nothing is to be decided. */
static uint64_t outermost_end(const struct uprobe_copy *copy)
{
	uint64_t end = 0;

	for (unsigned int i = 0; i < UPROBE_CALLS; i++)
		if (copy->outer[i].end > end)
			end = copy->outer[i].end;
	return end;
}

enum gpumon_uprobe_nesting gpumon_uprobe_unwind(
	const struct gpumon_uprobe_process *process, const struct uprobe_ranges *ranges,
	struct uprobe_copy *copy, unsigned int depth,
	void (*learnt)(void *data, uint64_t pc, const struct uprobe_rule *rule), void *data)
{
	uint64_t pc = copy->pc, sp = copy->sp, fp = copy->fp, outer = outermost_end(copy), cfa, ra;
	struct uprobe_stack *stack = &copy->stack;
	bool guessed = false, within = is_called_within(ranges, copy);

	/* After the last frame that is wanted, the walk goes on until the outer calls' frames. */
	while (sp < outer || !(stack->flags & UPROBE_TRUNCATED)) {
		struct uprobe_rule rule;

		if (!gpumon_uprobe_rule(process, pc, &rule) && sp < outer)
			guessed = true;
		learnt(data, pc, &rule);
		if (rule.kind == UPROBE_RULE_END)
			break;
		cfa = (rule.kind == UPROBE_RULE_SP ? sp : fp) + (uint64_t)(int64_t)rule.cfa;
		if (rule.kind == UPROBE_RULE_NONE || cfa <= sp ||
		    !read_word(copy, cfa + (uint64_t)(int64_t)rule.ra, &ra)) {
			stack->flags |= UPROBE_TRUNCATED;
			if (within && sp < outer)
				return GPUMON_UPROBE_NESTED;
			break;
		}
		ra = gpumon_return_address(ra);
		if (is_nested(ranges, copy, cfa, pc, ra))
			return GPUMON_UPROBE_NESTED;
		if (!ra)
			break;
		if (rule.fp != UPROBE_FP_SAME &&
		    !read_word(copy, cfa + (uint64_t)(int64_t)rule.fp, &fp))
			fp = 0;
		sp = cfa;
		pc = ra;
		if (stack->count < depth)
			stack->frames[stack->count++] = ra;
		else
			stack->flags |= UPROBE_TRUNCATED;
	}
	if (!guessed)
		return GPUMON_UPROBE_OUTERMOST;
	return within ? GPUMON_UPROBE_NESTED : GPUMON_UPROBE_UNDECIDED;
}
