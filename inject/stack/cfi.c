// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Call frame information as it is in memory: .eh_frame_hdr, a table to search,
 * and .eh_frame, programs for a machine whose result is a row of rules.
 */
#include <string.h>

#include "internal.h"

/* How a pointer is written (DW_EH_PE_*): its format, what it is relative to, and a flag. */
#define PE_OMIT	    0xff
#define PE_FORMAT   0x0f
#define PE_RELATIVE 0x70
#define PE_INDIRECT 0x80

enum {
	PE_ABSOLUTE = 0x00,
	PE_ULEB = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_PC_RELATIVE = 0x10,
	PE_DATA_RELATIVE = 0x30,
};

/* The encodings of the sorted table of .eh_frame_hdr, as all linkers write it. */
#define PE_TABLE (PE_DATA_RELATIVE | PE_SDATA4)

/* The states that remember_state can have kept at once; compilers use one. */
#define REMEMBERED_MAX 16

enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET = 0x2f,
};

/**
 * struct description - what a CIE, and an FDE of it, say
 * @code_factor: unit of advances
 * @data_factor: unit of offsets
 * @return_register: number of the column with the return address
 * @encoding: of addresses in the FDE
 * @augmented: the FDE has data of its own in front of its program
 * @signal: row's
 * @initial: program of the CIE
 * @program: of the FDE
 * @start: of the code
 * @end: of the code
 */
struct description {
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_register;
	uint8_t encoding;
	bool augmented;
	bool signal;
	struct inject_cfi_cursor initial;
	struct inject_cfi_cursor program;
	uint64_t start;
	uint64_t end;
};

uint64_t inject_cfi_fixed(struct inject_cfi_cursor *cursor, unsigned int size)
{
	uint64_t value = 0;

	if (cursor->bad || (size_t)(cursor->end - cursor->at) < size) {
		cursor->bad = true;
		return 0;
	}
	memcpy(&value, cursor->at, size);
	cursor->at += size;
	return value;
}

uint64_t inject_cfi_uleb(struct inject_cfi_cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		uint64_t byte = inject_cfi_fixed(cursor, 1);

		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	cursor->bad = true;
	return 0;
}

int64_t inject_cfi_sleb(struct inject_cfi_cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		uint64_t byte = inject_cfi_fixed(cursor, 1);

		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (byte & 0x40 && shift + 7 < 64)
			value |= ~0ull << (shift + 7);
		return (int64_t)value;
	}
	cursor->bad = true;
	return 0;
}

/* Bytes that are skipped, or kept for later, as a cursor of their own. */
static struct inject_cfi_cursor take_bytes(struct inject_cfi_cursor *cursor, uint64_t length)
{
	struct inject_cfi_cursor taken = { cursor->at, cursor->at, true, cursor->moved };

	if (cursor->bad || (uint64_t)(cursor->end - cursor->at) < length) {
		cursor->bad = true;
		return taken;
	}
	cursor->at += length;
	taken.end = cursor->at;
	taken.bad = false;
	return taken;
}

static uint64_t read_pointer(struct inject_cfi_cursor *cursor, uint8_t encoding, uint64_t data)
{
	uint64_t at = (uint64_t)(uintptr_t)cursor->at + cursor->moved;
	uint64_t value;

	switch (encoding & PE_FORMAT) {
	case PE_ABSOLUTE:
	case PE_UDATA8:
	case PE_SDATA8:
		value = inject_cfi_fixed(cursor, 8);
		break;
	case PE_ULEB:
		value = inject_cfi_uleb(cursor);
		break;
	case PE_SLEB:
		value = (uint64_t)inject_cfi_sleb(cursor);
		break;
	case PE_UDATA2:
		value = inject_cfi_fixed(cursor, 2);
		break;
	case PE_SDATA2:
		value = (uint64_t)(int64_t)(int16_t)inject_cfi_fixed(cursor, 2);
		break;
	case PE_UDATA4:
		value = inject_cfi_fixed(cursor, 4);
		break;
	case PE_SDATA4:
		value = (uint64_t)(int64_t)(int32_t)inject_cfi_fixed(cursor, 4);
		break;
	default:
		cursor->bad = true;
		return 0;
	}
	switch (encoding & PE_RELATIVE) {
	case PE_ABSOLUTE:
		break;
	case PE_PC_RELATIVE:
		value += at;
		break;
	case PE_DATA_RELATIVE:
		value += data;
		break;
	default:
		cursor->bad = true;
		return 0;
	}
	return value;
}

/* The body of the entry at the cursor, which goes on behind it; empty at the section's end. */
static struct inject_cfi_cursor read_entry(struct inject_cfi_cursor *section)
{
	uint64_t length = inject_cfi_fixed(section, 4);

	if (length == 0xffffffff)
		length = inject_cfi_fixed(section, 8);
	return take_bytes(section, length);
}

/* An entry longer than this is not copied. A row refers to its entry's expressions, and others may be needed for it. */
#define COPY_SIZE 16384
#define COPIES	  16

/* A copy of @size bytes at an address. */
static struct inject_cfi_cursor copy_bytes(uint64_t address, size_t size)
{
	static uint8_t copies[COPIES][COPY_SIZE];
	static unsigned int next;
	uint8_t *copy = copies[next++ % COPIES];

	if (size > COPY_SIZE)
		inject_stack_foreign.is_lost = true;
	if (size > COPY_SIZE || !inject_stack_copy_foreign(address, copy, size))
		return (struct inject_cfi_cursor){ copy, copy, true, 0 };
	return (struct inject_cfi_cursor){ copy, copy + size, false,
					   address - (uint64_t)(uintptr_t)copy };
}

/* The body of the entry at an address of an object. */
static struct inject_cfi_cursor entry_at(const struct inject_stack_place *place, uint64_t address)
{
	struct inject_cfi_cursor section = { (const uint8_t *)(uintptr_t)address,
					     (const uint8_t *)(uintptr_t)place->end, false, 0 };
	uint32_t length;

	if (!inject_stack_foreign.is_foreign)
		return read_entry(&section);
	if (!inject_stack_copy_foreign(address, &length, sizeof(length)) ||
	    length > place->end - address) {
		inject_stack_foreign.is_lost = true;
		section.bad = true;
		return section;
	}
	return copy_bytes(address + sizeof(length), length);
}

static bool read_cie(struct inject_cfi_cursor body, struct description *cie)
{
	const char *augmentation;
	struct inject_cfi_cursor data;
	uint64_t id = inject_cfi_fixed(&body, 4);
	uint64_t version = inject_cfi_fixed(&body, 1);

	if (body.bad || id || (version != 1 && version != 3 && version != 4))
		return false;
	augmentation = (const char *)body.at;
	while (inject_cfi_fixed(&body, 1))
		;
	if (version == 4)
		inject_cfi_fixed(&body, 2); /* sizes of an address and of a segment */
	cie->code_factor = inject_cfi_uleb(&body);
	cie->data_factor = inject_cfi_sleb(&body);
	cie->return_register = version == 1 ? inject_cfi_fixed(&body, 1) : inject_cfi_uleb(&body);
	cie->encoding = PE_ABSOLUTE;
	cie->augmented = false;
	cie->signal = false;
	if (body.bad)
		return false;
	if (*augmentation == 'z') {
		cie->augmented = true;
		data = take_bytes(&body, inject_cfi_uleb(&body));
		for (augmentation++; *augmentation; augmentation++) {
			if (*augmentation == 'R')
				cie->encoding = (uint8_t)inject_cfi_fixed(&data, 1);
			else if (*augmentation == 'P')
				read_pointer(&data,
					     (uint8_t)(inject_cfi_fixed(&data, 1) &
						       ~(PE_INDIRECT | PE_RELATIVE)),
					     0);
			else if (*augmentation == 'L')
				inject_cfi_fixed(&data, 1);
			else if (*augmentation == 'S')
				cie->signal = true;
			else if (*augmentation != 'B')
				break; /* what follows is not known, and how long it is */
		}
		if (data.bad || (*augmentation && cie->encoding == PE_ABSOLUTE))
			return false;
	} else if (*augmentation) {
		return false;
	}
	cie->initial = body;
	return !body.bad;
}

/* An FDE's body, whose first word is how far in front of it its CIE is. */
static bool read_fde(const struct inject_stack_place *place, struct inject_cfi_cursor body,
		     struct description *fde)
{
	uint64_t at = (uint64_t)(uintptr_t)body.at + body.moved;
	uint64_t distance = inject_cfi_fixed(&body, 4);

	if (body.bad || !distance || at - place->start < distance ||
	    !read_cie(entry_at(place, at - distance), fde))
		return false;
	fde->start = read_pointer(&body, fde->encoding, 0);
	fde->end = fde->start + read_pointer(&body, fde->encoding & PE_FORMAT, 0);
	if (fde->augmented)
		take_bytes(&body, inject_cfi_uleb(&body));
	fde->program = body;
	return !body.bad;
}

static bool read_table_entry(uint64_t table, uint64_t at, int32_t entry[2])
{
	uint64_t address = table + at * 2 * sizeof(entry[0]);

	if (inject_stack_foreign.is_foreign)
		return inject_stack_copy_foreign(address, entry, 2 * sizeof(entry[0]));
	memcpy(entry, (const void *)(uintptr_t)address, 2 * sizeof(entry[0]));
	return true;
}

/* The FDE by the table of .eh_frame_hdr, sorted by where the code begins. */
static bool search_table(const struct inject_stack_place *place, uint64_t table, uint64_t count,
			 uint64_t address, struct description *fde)
{
	int64_t wanted = (int64_t)(address - place->header);
	uint64_t low = 0, high, section;
	int32_t entry[2];

	high = (place->end - table) / sizeof(entry);
	if (high > count)
		high = count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!read_table_entry(table, middle, entry))
			return false;
		if (entry[0] <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || !read_table_entry(table, low - 1, entry))
		return false;
	section = place->header + (uint64_t)(int64_t)entry[1];
	if (section < place->start || section >= place->end)
		return false;
	return read_fde(place, entry_at(place, section), fde) && address >= fde->start &&
	       address < fde->end;
}

/* Without a table: looks at all entries, from the first to the last. */
static bool search_section(const struct inject_stack_place *place, uint64_t begin, uint64_t address,
			   struct description *fde)
{
	struct inject_cfi_cursor section = { (const uint8_t *)(uintptr_t)begin,
					     (const uint8_t *)(uintptr_t)place->end, false, 0 };

	if (begin < place->start || begin >= place->end)
		return false;
	if (inject_stack_foreign.is_foreign) {
		inject_stack_foreign.is_lost = true;
		return false;
	}
	for (;;) {
		struct inject_cfi_cursor body = read_entry(&section);
		uint32_t id;

		if (body.bad || body.end - body.at < 4)
			return false;
		memcpy(&id, body.at, sizeof(id));
		if (!id) /* a CIE */
			continue;
		if (read_fde(place, body, fde) && address >= fde->start && address < fde->end)
			return true;
	}
}

/* Bytes in front of the table: four that say how numbers are written, and two numbers of up to eight. */
#define HEADER_MAX 20

static bool search_cfi(const struct inject_stack_place *place, uint64_t address,
		       struct description *fde)
{
	struct inject_cfi_cursor header = { (const uint8_t *)(uintptr_t)place->header,
					    (const uint8_t *)(uintptr_t)place->end, false, 0 };
	uint8_t version, section_encoding, count_encoding, table_encoding, copy[HEADER_MAX];
	uint64_t section;
	uint64_t count = 0;

	if (inject_stack_foreign.is_foreign) {
		if (!inject_stack_copy_foreign(place->header, copy, sizeof(copy)))
			return false;
		header = (struct inject_cfi_cursor){ copy, copy + sizeof(copy), false,
						     place->header - (uint64_t)(uintptr_t)copy };
	}
	version = (uint8_t)inject_cfi_fixed(&header, 1);
	section_encoding = (uint8_t)inject_cfi_fixed(&header, 1);
	count_encoding = (uint8_t)inject_cfi_fixed(&header, 1);
	table_encoding = (uint8_t)inject_cfi_fixed(&header, 1);
	if (header.bad || version != 1)
		return false;
	section = read_pointer(&header, section_encoding, place->header);
	if (count_encoding != PE_OMIT)
		count = read_pointer(&header, count_encoding, place->header);
	if (header.bad)
		return false;
	if (count && table_encoding == PE_TABLE)
		return search_table(place, (uint64_t)(uintptr_t)header.at + header.moved, count,
				    address, fde);
	return search_section(place, section, address, fde);
}

static void set_value(struct inject_cfi_row *row, uint64_t number, enum inject_cfi_how how,
		      int64_t offset)
{
	if (number >= INJECT_DWARF_REGISTERS)
		return; /* vector registers and the like: nothing here needs them */
	row->registers[number] = (struct inject_cfi_value){ .how = how, .offset = offset };
}

static struct inject_cfi_value read_expression(struct inject_cfi_cursor *program,
					       enum inject_cfi_how how)
{
	struct inject_cfi_cursor taken = take_bytes(program, inject_cfi_uleb(program));

	if (taken.end - taken.at > UINT16_MAX)
		program->bad = true;
	return (struct inject_cfi_value){ .how = how,
					  .length = (uint16_t)(taken.end - taken.at),
					  .expression = taken.at };
}

static void set_expression(struct inject_cfi_row *row, uint64_t number,
			   struct inject_cfi_value value)
{
	if (number < INJECT_DWARF_REGISTERS)
		row->registers[number] = value;
}

/**
 * struct machine - runs the programs
 * @description: their CIE and FDE
 * @initial: row after the CIE's program, which restore goes back to
 * @remembered: stack of rows
 * @depth: of it
 * @location: address that the row is for, so far
 * @address: that the row is wanted for
 */
struct machine {
	const struct description *description;
	struct inject_cfi_row *row;
	struct inject_cfi_row initial;
	struct inject_cfi_row remembered[REMEMBERED_MAX];
	unsigned int depth;
	uint64_t location;
	uint64_t address;
};

static void set_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
	struct inject_cfi_row *row = machine->row;

	if (number == INJECT_DWARF_RBP && !row->base_set)
		row->base_set = machine->location;
	row->cfa_expression = false;
	row->cfa_register = number < INJECT_DWARF_REGISTERS ? (uint8_t)number : UINT8_MAX;
	row->cfa = (struct inject_cfi_value){ .offset = offset };
}

/* Instructions without an operand in the first byte. False: unknown, or makes no sense. */
static bool run_extended_instruction(struct machine *machine, struct inject_cfi_cursor *program,
				     uint8_t what)
{
	const struct description *description = machine->description;
	int64_t factor = description->data_factor;
	struct inject_cfi_row *row = machine->row;
	uint64_t number;

	switch (what) {
	case CFA_NOP:
		break;
	case CFA_SET_LOC:
		machine->location = read_pointer(program, description->encoding, 0);
		break;
	case CFA_ADVANCE_LOC1:
		machine->location += inject_cfi_fixed(program, 1) * description->code_factor;
		break;
	case CFA_ADVANCE_LOC2:
		machine->location += inject_cfi_fixed(program, 2) * description->code_factor;
		break;
	case CFA_ADVANCE_LOC4:
		machine->location += inject_cfi_fixed(program, 4) * description->code_factor;
		break;
	case CFA_OFFSET_EXTENDED:
		number = inject_cfi_uleb(program);
		set_value(row, number, INJECT_CFI_OFFSET,
			  (int64_t)inject_cfi_uleb(program) * factor);
		break;
	case CFA_OFFSET_EXTENDED_SF:
		number = inject_cfi_uleb(program);
		set_value(row, number, INJECT_CFI_OFFSET, inject_cfi_sleb(program) * factor);
		break;
	case CFA_GNU_NEGATIVE_OFFSET:
		number = inject_cfi_uleb(program);
		set_value(row, number, INJECT_CFI_OFFSET,
			  -(int64_t)inject_cfi_uleb(program) * factor);
		break;
	case CFA_VAL_OFFSET:
		number = inject_cfi_uleb(program);
		set_value(row, number, INJECT_CFI_VALUE_OFFSET,
			  (int64_t)inject_cfi_uleb(program) * factor);
		break;
	case CFA_VAL_OFFSET_SF:
		number = inject_cfi_uleb(program);
		set_value(row, number, INJECT_CFI_VALUE_OFFSET, inject_cfi_sleb(program) * factor);
		break;
	case CFA_RESTORE_EXTENDED:
		number = inject_cfi_uleb(program);
		if (number < INJECT_DWARF_REGISTERS)
			row->registers[number] = machine->initial.registers[number];
		break;
	case CFA_UNDEFINED:
		set_value(row, inject_cfi_uleb(program), INJECT_CFI_UNDEFINED, 0);
		break;
	case CFA_SAME_VALUE:
		set_value(row, inject_cfi_uleb(program), INJECT_CFI_SAME, 0);
		break;
	case CFA_REGISTER:
		number = inject_cfi_uleb(program);
		set_value(row, number, INJECT_CFI_REGISTER, (int64_t)inject_cfi_uleb(program));
		break;
	case CFA_EXPRESSION:
		number = inject_cfi_uleb(program);
		set_expression(row, number, read_expression(program, INJECT_CFI_EXPRESSION));
		break;
	case CFA_VAL_EXPRESSION:
		number = inject_cfi_uleb(program);
		set_expression(row, number, read_expression(program, INJECT_CFI_VALUE_EXPRESSION));
		break;
	case CFA_REMEMBER_STATE:
		if (machine->depth == REMEMBERED_MAX)
			return false;
		machine->remembered[machine->depth++] = *row;
		break;
	case CFA_RESTORE_STATE:
		if (!machine->depth)
			return false;
		*row = machine->remembered[--machine->depth];
		break;
	case CFA_DEF_CFA:
		number = inject_cfi_uleb(program);
		set_cfa(machine, number, (int64_t)inject_cfi_uleb(program));
		break;
	case CFA_DEF_CFA_SF:
		number = inject_cfi_uleb(program);
		set_cfa(machine, number, inject_cfi_sleb(program) * factor);
		break;
	case CFA_DEF_CFA_REGISTER:
		if (row->cfa_expression)
			return false;
		set_cfa(machine, inject_cfi_uleb(program), row->cfa.offset);
		break;
	case CFA_DEF_CFA_OFFSET:
		if (row->cfa_expression)
			return false;
		row->cfa.offset = (int64_t)inject_cfi_uleb(program);
		break;
	case CFA_DEF_CFA_OFFSET_SF:
		if (row->cfa_expression)
			return false;
		row->cfa.offset = inject_cfi_sleb(program) * factor;
		break;
	case CFA_DEF_CFA_EXPRESSION:
		row->cfa_expression = true;
		row->cfa = read_expression(program, INJECT_CFI_VALUE_EXPRESSION);
		break;
	case CFA_GNU_ARGS_SIZE:
		inject_cfi_uleb(program);
		break;
	default:
		return false;
	}
	return !program->bad;
}

/* Until the row for the address is there. */
static bool run_instructions(struct machine *machine, struct inject_cfi_cursor program)
{
	const struct description *description = machine->description;

	while (program.at < program.end && machine->location <= machine->address) {
		uint8_t what = (uint8_t)inject_cfi_fixed(&program, 1);
		uint8_t operand = what & 0x3f;

		switch (what & 0xc0) {
		case CFA_ADVANCE_LOC:
			machine->location += operand * description->code_factor;
			break;
		case CFA_OFFSET:
			set_value(machine->row, operand, INJECT_CFI_OFFSET,
				  (int64_t)inject_cfi_uleb(&program) * description->data_factor);
			break;
		case CFA_RESTORE:
			if (operand < INJECT_DWARF_REGISTERS)
				machine->row->registers[operand] =
					machine->initial.registers[operand];
			break;
		default:
			if (!run_extended_instruction(machine, &program, what))
				return false;
		}
		if (program.bad)
			return false;
	}
	return true;
}

bool inject_cfi_find(const struct inject_stack_place *place, uint64_t address,
		     struct inject_cfi_row *row)
{
	/* Some 12 KiB: a caller that has little stack left would have none for the API either way. */
	static struct machine machine;
	struct description description;

	if (!place->header || !search_cfi(place, address, &description) ||
	    description.return_register != INJECT_DWARF_RIP)
		return false;
	memset(row, 0, sizeof(*row));
	row->cfa_register = UINT8_MAX;
	row->registers[INJECT_DWARF_RIP].how = INJECT_CFI_UNDEFINED;
	row->signal = description.signal;
	row->start = description.start;
	row->end = description.end;

	machine.description = &description;
	machine.row = row;
	machine.depth = 0;
	machine.location = description.start;
	machine.address = address;
	if (!run_instructions(&machine, description.initial))
		return false;
	machine.initial = *row;
	machine.location = description.start;
	return run_instructions(&machine, description.program) &&
	       (row->cfa_expression || row->cfa_register != UINT8_MAX ||
		row->registers[INJECT_DWARF_RIP].how == INJECT_CFI_UNDEFINED);
}
