// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "lib/array.h"
#include "symbol_dwarf.h"

#define UNITS_MAX   (4u << 20)
#define RANGES_MAX  (16u << 20) /* of one unit, and of all units */
#define DEPTH_MAX   256		/* nested DIEs */
#define NESTING_MAX 64		/* nested ranges checked for one address */
#define HOLDERS_MAX 32		/* namespaces and classes around a function */
#define ORIGINS_MAX 16		/* from a call to the declaration of its function */
#define NAME_BYTES  4096
#define LINE_BYTES  64 /* memory of libdw for each */
#define CU_BYTES    512

/* A range of addresses. @of is the index of a unit or a node. */
struct range {
	uint64_t low;
	uint64_t high;
	uint32_t of;
	uint32_t depth;
	uint32_t outer; /* index + 1 of the previous range that extends beyond this one, 0: none */
};

struct ranges {
	size_t looked; /* counts ranges, whether they were added or not */
	struct range *items;
	size_t count;
};

/* A function, or an inlined call. */
struct node {
	void *die;
	uint32_t parent; /* index + 1 of the node that it is inlined into, 0: none */
	bool inlined;
};

/* A namespace, class or function that is part of the names of its contents. */
struct holder {
	const char *name; /* NULL: unnamed */
	uint32_t holder;  /* index + 1 of the enclosing holder, 0: none */
	bool is_namespace;
};

/* A function whose full name is not in the DWARF. */
struct held {
	void *die;
	uint32_t holder;
};

struct vector {
	void *items;
	size_t count;
};

struct unit {
	Dwarf_Die die;	/* with the lines */
	Dwarf_Die tree; /* with the functions: a different DIE if they are in a separate file */
	struct vector nodes;
	struct vector holders;
	struct vector held; /* sorted by address */
	struct ranges ranges;
	bool read;
	bool is_c;
};

struct gpumon_symbol_dwarf {
	struct vector units;
	struct ranges ranges;
	size_t bytes;
};

static int vector_append(struct vector *vector, const void *item, size_t size)
{
	void *to = gpumon_grow(&vector->items, &vector->count, size);

	if (to)
		memcpy(to, item, size);
	return to ? 0 : -1;
}

static int add_range(struct ranges *ranges, uint64_t low, uint64_t high, uint32_t of,
		     uint32_t depth)
{
	struct range *range;

	if (low >= high || ranges->count >= RANGES_MAX)
		return 0;
	range = GPUMON_GROW(ranges->items, ranges->count);
	if (!range)
		return -1;
	*range = (struct range){ low, high, of, depth, 0 };
	return 0;
}

/* Add all ranges of a DIE, which can have holes. */
static int add_ranges(struct ranges *ranges, Dwarf_Die *die, uint32_t of, uint32_t depth)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		/* Count empty ranges, too: each DIE can refer to the same long list of them. */
		if (ranges->count >= RANGES_MAX || ranges->looked >= RANGES_MAX)
			return 0;
		ranges->looked++;
		if (add_range(ranges, low, high, of, depth))
			return -1;
	}
	return 0;
}

static int compare_ranges(const void *a, const void *b)
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
	if (!ranges->count)
		return;
	qsort(ranges->items, ranges->count, sizeof(*ranges->items), compare_ranges);
	for (size_t i = 0; i < ranges->count; i++) {
		uint32_t outer = (uint32_t)i;

		while (outer && ranges->items[outer - 1].high <= ranges->items[i].high)
			outer = ranges->items[outer - 1].outer;
		ranges->items[i].outer = outer;
	}
}

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

static int add_unit(struct gpumon_symbol_dwarf *dwarf, Dwarf_Die *die, Dwarf_Die *tree)
{
	struct unit unit = { .die = *die, .tree = *tree };

	if (add_ranges(&dwarf->ranges, die, (uint32_t)dwarf->units.count, 0))
		return -1;
	return vector_append(&dwarf->units, &unit, sizeof(unit));
}

struct gpumon_symbol_dwarf *gpumon_symbol_dwarf_new(Dwarf *libdw)
{
	struct gpumon_symbol_dwarf *dwarf = calloc(1, sizeof(*dwarf));
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, tree;
	uint8_t type;

	if (!dwarf)
		return NULL;
	/*
	 * Do not use .debug_aranges: clang does not write it, and libdw finds nothing without it.
	 */
	while (dwarf->units.count < UNITS_MAX &&
	       dwarf_get_units(libdw, unit, &unit, NULL, &type, &die, &tree) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (type != DW_UT_skeleton || !tree.addr)
			tree = die;
		if (add_unit(dwarf, &die, &tree)) {
			gpumon_symbol_dwarf_free(dwarf);
			return NULL;
		}
	}
	sort_ranges(&dwarf->ranges);
	dwarf->bytes = dwarf->units.count * (sizeof(struct unit) + CU_BYTES) +
		       dwarf->ranges.count * sizeof(struct range);
	return dwarf;
}

static int add_node(struct unit *unit, Dwarf_Die *die, uint32_t parent, uint32_t depth)
{
	struct node node = {
		.die = die->addr,
		.parent = parent,
		.inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine,
	};
	size_t before = unit->ranges.count;

	if (add_ranges(&unit->ranges, die, (uint32_t)unit->nodes.count, depth))
		return -1;
	/* No code of its own: a declaration, or a function that is inlined everywhere. */
	if (unit->ranges.count == before)
		return 0;
	return vector_append(&unit->nodes, &node, sizeof(node));
}

static bool has_linkage_name(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_linkage_name) ||
	       dwarf_hasattr(die, DW_AT_MIPS_linkage_name);
}

/* Finds the holder of a function, whose name becomes part of the function's name; sets @holder. */
static int add_holder(struct unit *unit, Dwarf_Die *die, bool is_namespace, uint32_t *holder)
{
	struct holder this = { .name = dwarf_diename(die),
			       .holder = *holder,
			       .is_namespace = is_namespace };

	if (vector_append(&unit->holders, &this, sizeof(this)))
		return -1;
	*holder = (uint32_t)unit->holders.count;
	return 0;
}

struct level {
	Dwarf_Die die;
	uint32_t parent; /* of the DIE and its siblings */
	uint32_t holder; /* of the DIE and its siblings */
};

static int enter_function(struct unit *unit, struct level *level, int tag, int depth,
			  uint32_t *parent, uint32_t *holder)
{
	struct held held = { level->die.addr, *holder };
	bool inlined = tag == DW_TAG_inlined_subroutine;
	size_t before = unit->nodes.count;

	if (add_node(unit, &level->die, inlined ? *parent : 0, (uint32_t)depth))
		return -1;
	if (unit->nodes.count > before)
		*parent = (uint32_t)unit->nodes.count;
	else if (!inlined)
		*parent = 0;
	if (unit->is_c || inlined)
		return 0;
	if (held.holder && !has_linkage_name(&level->die) &&
	    vector_append(&unit->held, &held, sizeof(held)))
		return -1;
	/* Kept for functions that are defined within it, such as lambdas. */
	return dwarf_haschildren(&level->die) > 0 ? add_holder(unit, &level->die, false, holder) :
						    0;
}

/* Process the DIE of a level. 1 if there may be functions below it, 0 if not, -1 without memory. */
static int read_die(struct unit *unit, struct level *level, int depth, uint32_t *parent,
		    uint32_t *holder)
{
	int tag = dwarf_tag(&level->die);

	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
		return enter_function(unit, level, tag, depth, parent, holder) ? -1 : 1;
	case DW_TAG_namespace:
	case DW_TAG_module:
		if (!unit->is_c && add_holder(unit, &level->die, true, holder))
			return -1;
		return 1;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		if (unit->is_c)
			return 0;
		return add_holder(unit, &level->die, false, holder) ? -1 : 1;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return 1;
	default:
		return 0;
	}
}

/*
 * Read the DIEs in the order of the file. In a broken file a sibling can be the DIE's own child.
 * Its tree would then be read twice at each such level, and again for each name. So stop at a DIE
 * that leads back.
 */
static int read_tree(struct unit *unit)
{
	struct level levels[DEPTH_MAX];
	const void *last = NULL;
	int depth = 0;

	if (dwarf_child(&unit->tree, &levels[0].die))
		return 0;
	levels[0].parent = 0;
	levels[0].holder = 0;
	while (depth >= 0) {
		uint32_t parent = levels[depth].parent, holder = levels[depth].holder;
		int below;

		if ((uintptr_t)levels[depth].die.addr <= (uintptr_t)last)
			return 0;
		last = levels[depth].die.addr;
		below = read_die(unit, &levels[depth], depth, &parent, &holder);
		if (below < 0)
			return -1;
		if (below && depth + 1 < DEPTH_MAX &&
		    dwarf_child(&levels[depth].die, &levels[depth + 1].die) == 0) {
			depth++;
			levels[depth].parent = parent;
			levels[depth].holder = holder;
			continue;
		}
		while (depth >= 0 && dwarf_siblingof(&levels[depth].die, &levels[depth].die))
			depth--;
	}
	return 0;
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

static void read_unit(struct gpumon_symbol_dwarf *dwarf, struct unit *unit)
{
	size_t n_lines = 0;
	Dwarf_Lines *lines;

	unit->read = true;
	unit->is_c = unit_is_c(&unit->tree);
	if (read_tree(unit)) {
		/* Without memory there are still lines. */
		unit->ranges.count = 0;
		unit->held.count = 0;
	}
	sort_ranges(&unit->ranges);
	if (dwarf_getsrclines(&unit->die, &lines, &n_lines))
		n_lines = 0;
	/* Arrays have room for up to twice as many. */
	dwarf->bytes += 2 * (unit->nodes.count * sizeof(struct node) +
			     unit->holders.count * sizeof(struct holder) +
			     unit->held.count * sizeof(struct held) +
			     unit->ranges.count * sizeof(struct range)) +
			n_lines * LINE_BYTES;
}

static uint32_t holder_of(const struct unit *unit, const void *die)
{
	const struct held *held = unit->held.items;
	size_t low = 0, high = unit->held.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if ((uintptr_t)held[middle].die < (uintptr_t)die)
			low = middle + 1;
		else
			high = middle;
	}
	return low < unit->held.count && held[low].die == die ? held[low].holder : 0;
}

/* Join "a::b::" and the name of a function of this unit. */
static const char *whole_name(struct gpumon_symbol_strings *strings, const struct unit *unit,
			      Dwarf_Die *die, const char *name)
{
	const struct holder *holders = unit->holders.items;
	const char *parts[HOLDERS_MAX];
	uint32_t holder = 0;
	Dwarf_Die origin = *die;
	size_t count = 0, used = 0, length;
	char text[NAME_BYTES];

	/* Follow a call to its function, and that to its declaration, until one has a holder. */
	for (int i = 0; i < ORIGINS_MAX; i++) {
		uint32_t found = holder_of(unit, origin.addr);
		Dwarf_Attribute attribute;

		if (found)
			holder = found;
		if (!dwarf_attr(&origin, DW_AT_abstract_origin, &attribute) &&
		    !dwarf_attr(&origin, DW_AT_specification, &attribute))
			break;
		if (!dwarf_formref_die(&attribute, &origin))
			break;
	}
	for (; holder && count < HOLDERS_MAX; holder = holders[holder - 1].holder) {
		const struct holder *this = &holders[holder - 1];

		parts[count++] = this->name	    ? this->name :
				 this->is_namespace ? "(anonymous namespace)" :
						      "{unnamed}";
	}
	while (count && used < sizeof(text)) {
		int n = snprintf(text + used, sizeof(text) - used, "%s::", parts[--count]);

		used += n > 0 ? (size_t)n : 0;
	}
	length = strnlen(name, sizeof(text));
	if (used >= sizeof(text) || used + length >= sizeof(text))
		return name;
	memcpy(text + used, name, length);
	return gpumon_symbol_strings_add(strings, text, used + length);
}

static void name_scope(struct gpumon_symbol_strings *strings, const struct unit *unit,
		       struct gpumon_symbol_scope *scope, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		scope->linkage_name = dwarf_formstring(&attribute);
	if (scope->linkage_name)
		return;
	scope->name = dwarf_diename(die);
	if (scope->name && !unit->is_c)
		scope->name = whole_name(strings, unit, die, scope->name);
}

/* Set the call site of an inlined function as the place in its caller. */
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

unsigned int gpumon_symbol_dwarf_find(struct gpumon_symbol_dwarf *dwarf,
				      struct gpumon_symbol_strings *strings, uint64_t address,
				      struct gpumon_symbol_scope *scopes, unsigned int room)
{
	const struct range *range = find_range(&dwarf->ranges, address);
	struct gpumon_symbol_scope place = { 0 };
	const struct node *nodes;
	unsigned int count = 0;
	struct unit *unit;
	uint32_t node;

	if (!range || !room)
		return 0;
	unit = (struct unit *)dwarf->units.items + range->of;
	if (!unit->read)
		read_unit(dwarf, unit);
	place_address(&place, &unit->die, address);
	range = find_range(&unit->ranges, address);
	if (!range) {
		scopes[0] = place;
		return place.file || place.line;
	}
	nodes = unit->nodes.items;
	for (node = range->of + 1; node && count < room; node = nodes[node - 1].parent) {
		const struct node *this = &nodes[node - 1];
		Dwarf_Die die;

		place.inlined = this->inlined;
		place.is_c = unit->is_c;
		scopes[count] = place;
		place = (struct gpumon_symbol_scope){ 0 };
		if (dwarf_die_addr_die(dwarf_cu_getdwarf(unit->tree.cu), this->die, &die)) {
			name_scope(strings, unit, &scopes[count], &die);
			place_call(&place, &die, &unit->tree);
		}
		count++;
	}
	/* Inlined into nothing: broken, or cut here. */
	scopes[count - 1].inlined = false;
	return count;
}

size_t gpumon_symbol_dwarf_bytes(const struct gpumon_symbol_dwarf *dwarf)
{
	return dwarf->bytes;
}

void gpumon_symbol_dwarf_free(struct gpumon_symbol_dwarf *dwarf)
{
	struct unit *units;

	if (!dwarf)
		return;
	units = dwarf->units.items;
	for (size_t i = 0; i < dwarf->units.count; i++) {
		free(units[i].nodes.items);
		free(units[i].holders.items);
		free(units[i].held.items);
		free(units[i].ranges.items);
	}
	free(dwarf->units.items);
	free(dwarf->ranges.items);
	free(dwarf);
}
