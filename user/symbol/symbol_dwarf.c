// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "symbol_dwarf.h"

#define UNITS_MAX   (4u << 20)
#define RANGES_MAX  (16u << 20) /* of one unit, and of all units */
#define DEPTH_MAX   256		/* of DIEs in DIEs */
#define NESTING_MAX 64		/* of ranges that have to be looked at for one address */
#define LINE_BYTES  64		/* what libdw keeps of each */

/* A range of addresses; @of is a unit's or a node's index. */
struct range {
	uint64_t low;
	uint64_t high;
	uint32_t of;
	uint32_t depth;
	uint32_t outer; /* index + 1 of the next one before that reaches further, 0: none */
};

struct ranges {
	struct range *items;
	size_t count;
	size_t room;
};

/* A function, or a call that was inlined. */
struct node {
	void *die;
	uint32_t parent; /* index + 1 of what it is inlined into, 0: none */
	bool inlined;
};

struct unit {
	Dwarf_Die die;	/* has the lines */
	Dwarf_Die tree; /* has the functions: another one where they are in a file of their own */
	struct node *nodes;
	size_t n_nodes;
	size_t room;
	struct ranges ranges;
	bool read;
};

struct gpumon_symbol_dwarf {
	Dwarf *dwarf;
	struct unit *units;
	size_t n_units;
	struct ranges ranges;
	size_t bytes;
};

static int add_range(struct ranges *ranges, uint64_t low, uint64_t high, uint32_t of,
		     uint32_t depth)
{
	if (low >= high || ranges->count >= RANGES_MAX)
		return 0;
	if (ranges->count == ranges->room) {
		size_t room = ranges->room ? ranges->room * 2 : 64;
		void *p = realloc(ranges->items, room * sizeof(*ranges->items));

		if (!p)
			return -1;
		ranges->items = p;
		ranges->room = room;
	}
	ranges->items[ranges->count++] = (struct range){ low, high, of, depth, 0 };
	return 0;
}

/* All ranges of a DIE: it can have holes. */
static int add_ranges(struct ranges *ranges, Dwarf_Die *die, uint32_t of, uint32_t depth)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (ranges->count >= RANGES_MAX)
			return 0;
		if (add_range(ranges, low, high, of, depth))
			return -1;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->high != y->high)
		return x->high > y->high ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->of < y->of ? -1 : x->of > y->of;
}

static void sort_ranges(struct ranges *ranges)
{
	qsort(ranges->items, ranges->count, sizeof(*ranges->items), compare);
	for (size_t i = 0; i < ranges->count; i++) {
		uint32_t outer = (uint32_t)i;

		while (outer && ranges->items[outer - 1].high <= ranges->items[i].high)
			outer = ranges->items[outer - 1].outer;
		ranges->items[i].outer = outer;
	}
}

/* The innermost one with the address. */
static const struct range *find_range(const struct ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->items[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (int i = 0; low && i < NESTING_MAX; i++) {
		if (ranges->items[low - 1].high > address)
			return &ranges->items[low - 1];
		low = ranges->items[low - 1].outer;
	}
	return NULL;
}

static int add_unit(struct gpumon_symbol_dwarf *dwarf, Dwarf_Die *die, Dwarf_Die *tree,
		    size_t *room)
{
	if (dwarf->n_units == *room) {
		size_t more = *room ? *room * 2 : 64;
		void *p = realloc(dwarf->units, more * sizeof(*dwarf->units));

		if (!p)
			return -1;
		dwarf->units = p;
		*room = more;
	}
	dwarf->units[dwarf->n_units] = (struct unit){ .die = *die, .tree = *tree };
	if (add_ranges(&dwarf->ranges, die, (uint32_t)dwarf->n_units, 0))
		return -1;
	dwarf->n_units++;
	return 0;
}

struct gpumon_symbol_dwarf *gpumon_symbol_dwarf_new(Dwarf *libdw)
{
	struct gpumon_symbol_dwarf *dwarf = calloc(1, sizeof(*dwarf));
	Dwarf_Die die, tree;
	Dwarf_CU *unit = NULL;
	size_t room = 0;
	uint8_t type;

	if (!dwarf)
		return NULL;
	dwarf->dwarf = libdw;
	/*
	 * Not by .debug_aranges: clang does not write it, and libdw finds nothing
	 * without it.
	 */
	while (dwarf->n_units < UNITS_MAX &&
	       dwarf_get_units(libdw, unit, &unit, NULL, &type, &die, &tree) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (type != DW_UT_skeleton || !tree.addr)
			tree = die;
		if (add_unit(dwarf, &die, &tree, &room)) {
			gpumon_symbol_dwarf_free(dwarf);
			return NULL;
		}
	}
	sort_ranges(&dwarf->ranges);
	dwarf->bytes = dwarf->n_units * (sizeof(*dwarf->units) + 512) +
		       dwarf->ranges.count * sizeof(struct range);
	return dwarf;
}

static int add_node(struct unit *unit, Dwarf_Die *die, uint32_t parent, uint32_t depth)
{
	size_t before = unit->ranges.count;

	if (add_ranges(&unit->ranges, die, (uint32_t)unit->n_nodes, depth))
		return -1;
	/* No code of its own: a declaration, or what is inlined everywhere. */
	if (unit->ranges.count == before)
		return 0;
	if (unit->n_nodes == unit->room) {
		size_t room = unit->room ? unit->room * 2 : 64;
		void *p = realloc(unit->nodes, room * sizeof(*unit->nodes));

		if (!p)
			return -1;
		unit->nodes = p;
		unit->room = room;
	}
	unit->nodes[unit->n_nodes++] = (struct node){
		.die = die->addr,
		.parent = parent,
		.inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine,
	};
	return 0;
}

static bool may_have_functions(int tag)
{
	switch (tag) {
	case DW_TAG_compile_unit:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return true;
	default:
		return false;
	}
}

/* Whatever a broken file says, each DIE is seen once: they lie one behind the other. */
static int read_tree(struct unit *unit)
{
	struct level {
		Dwarf_Die die;
		uint32_t parent; /* of its siblings */
	} levels[DEPTH_MAX];
	int depth = 0;

	if (dwarf_child(&unit->tree, &levels[0].die))
		return 0;
	levels[0].parent = 0;
	while (depth >= 0) {
		struct level *level = &levels[depth];
		int tag = dwarf_tag(&level->die);
		uint32_t parent = level->parent;

		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
			size_t before = unit->n_nodes;
			bool inlined = tag == DW_TAG_inlined_subroutine;

			if (add_node(unit, &level->die, inlined ? parent : 0, (uint32_t)depth))
				return -1;
			if (unit->n_nodes > before)
				parent = (uint32_t)unit->n_nodes;
			else if (!inlined)
				parent = 0;
		}
		if (may_have_functions(tag) && depth + 1 < DEPTH_MAX &&
		    dwarf_child(&level->die, &levels[depth + 1].die) == 0) {
			levels[++depth].parent = parent;
			continue;
		}
		while (depth >= 0 && dwarf_siblingof(&levels[depth].die, &levels[depth].die))
			depth--;
	}
	return 0;
}

static void read_unit(struct gpumon_symbol_dwarf *dwarf, struct unit *unit)
{
	Dwarf_Lines *lines;
	size_t n_lines = 0;

	unit->read = true;
	if (read_tree(unit)) {
		/* Without memory: lines remain. */
		unit->ranges.count = 0;
		unit->n_nodes = 0;
	}
	sort_ranges(&unit->ranges);
	if (dwarf_getsrclines(&unit->die, &lines, &n_lines))
		n_lines = 0;
	dwarf->bytes += unit->room * sizeof(*unit->nodes) +
			unit->ranges.room * sizeof(struct range) + n_lines * LINE_BYTES;
}

static bool unit_is_c(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Mips_Assembler:
		return true;
	default:
		return false;
	}
}

static void name_scope(struct gpumon_symbol_scope *scope, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		scope->linkage_name = dwarf_formstring(&attribute);
	scope->name = dwarf_diename(die);
}

/* Where an inlined function was called: the place of what it was inlined into. */
static void place_call(struct gpumon_symbol_scope *scope, Dwarf_Die *die, Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word number;
	size_t n_files;

	if (dwarf_attr(die, DW_AT_call_line, &attribute) &&
	    dwarf_formudata(&attribute, &number) == 0 && number <= INT32_MAX)
		scope->line = (unsigned int)number;
	if (dwarf_attr(die, DW_AT_call_file, &attribute) &&
	    dwarf_formudata(&attribute, &number) == 0 &&
	    dwarf_getsrcfiles(unit, &files, &n_files) == 0 && number < n_files)
		scope->file = dwarf_filesrc(files, number, NULL, NULL);
}

static void place_address(struct gpumon_symbol_scope *scope, Dwarf_Die *unit, uint64_t address)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int number;

	if (!line)
		return;
	scope->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		scope->line = (unsigned int)number;
}

unsigned int gpumon_symbol_dwarf_find(struct gpumon_symbol_dwarf *dwarf, uint64_t address,
				      struct gpumon_symbol_scope *scopes, unsigned int room)
{
	const struct range *range = find_range(&dwarf->ranges, address);
	struct gpumon_symbol_scope place = { 0 };
	unsigned int count = 0;
	struct unit *unit;
	uint32_t node;

	if (!range || !room)
		return 0;
	unit = &dwarf->units[range->of];
	if (!unit->read)
		read_unit(dwarf, unit);
	place_address(&place, &unit->die, address);
	range = find_range(&unit->ranges, address);
	if (!range) {
		scopes[0] = place;
		return place.file || place.line;
	}
	for (node = range->of + 1; node && count < room; node = unit->nodes[node - 1].parent) {
		const struct node *this = &unit->nodes[node - 1];
		Dwarf_Die die;

		place.inlined = this->inlined;
		place.is_c = unit_is_c(&unit->tree);
		scopes[count] = place;
		place = (struct gpumon_symbol_scope){ 0 };
		if (dwarf_die_addr_die(dwarf_cu_getdwarf(unit->tree.cu), this->die, &die)) {
			name_scope(&scopes[count], &die);
			place_call(&place, &die, &unit->tree);
		}
		count++;
	}
	/* Inlined into nothing: broken, or cut off here. */
	scopes[count - 1].inlined = false;
	return count;
}

size_t gpumon_symbol_dwarf_bytes(const struct gpumon_symbol_dwarf *dwarf)
{
	return dwarf->bytes;
}

void gpumon_symbol_dwarf_free(struct gpumon_symbol_dwarf *dwarf)
{
	if (!dwarf)
		return;
	for (size_t i = 0; i < dwarf->n_units; i++) {
		free(dwarf->units[i].nodes);
		free(dwarf->units[i].ranges.items);
	}
	free(dwarf->units);
	free(dwarf->ranges.items);
	free(dwarf);
}
