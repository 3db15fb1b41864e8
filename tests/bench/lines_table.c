// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Two fixed-size tables with open addressing: cache lines with the CPUs that wrote and used them,
 * and instructions with the lines they accessed and how often. Which lines are shared is only known
 * at the end.
 */
#include <string.h>

#include "lines_table.h"

#define SLOTS (1U << 20)
/* A full table would be slow. */
#define LIMIT	   (SLOTS / 4 * 3)
#define LINE_SHIFT 6
#define PRINTED	   40

struct line {
	uint64_t number;
	uint32_t writers;
	uint32_t users;
};

struct use {
	uint64_t line;
	uint64_t instruction;
	uint64_t stores;
	uint64_t loads;
};

struct place {
	uint64_t instruction;
	uint64_t stores;
	uint64_t loads;
};

static struct line lines[SLOTS];
static struct use uses[SLOTS];
static unsigned int line_count, use_count;
static uint64_t lost;

void lines_clear(void)
{
	memset(lines, 0, sizeof(lines));
	memset(uses, 0, sizeof(uses));
	line_count = 0;
	use_count = 0;
	lost = 0;
}

static unsigned int hash(uint64_t value)
{
	return value * 0x9e3779b97f4a7c15ULL >> 44;
}

static struct line *line_of(uint64_t number)
{
	unsigned int i = hash(number);

	/* Kernel lines never have number 0. */
	while (lines[i].number && lines[i].number != number)
		i = (i + 1) % SLOTS;
	if (!lines[i].number) {
		if (line_count == LIMIT)
			return NULL;
		line_count++;
		lines[i].number = number;
	}
	return &lines[i];
}

static struct use *use_of(uint64_t line, uint64_t instruction)
{
	unsigned int i = hash(line ^ instruction << 20);

	while (uses[i].line && (uses[i].line != line || uses[i].instruction != instruction))
		i = (i + 1) % SLOTS;
	if (!uses[i].line) {
		if (use_count == LIMIT)
			return NULL;
		use_count++;
		uses[i].line = line;
		uses[i].instruction = instruction;
	}
	return &uses[i];
}

void lines_add(unsigned int cpu, uint64_t address, uint64_t instruction, bool store)
{
	uint64_t number = address >> LINE_SHIFT;
	struct line *line = line_of(number);
	struct use *use = use_of(number, instruction);

	if (!line || !use) {
		lost++;
		return;
	}
	line->users |= 1U << cpu;
	if (store) {
		line->writers |= 1U << cpu;
		use->stores++;
	} else {
		use->loads++;
	}
}

/* One CPU writes it and another one uses it. */
static bool is_shared(const struct line *line)
{
	return line->writers && (line->users & (line->users - 1));
}

/* Instructions on shared lines, the busiest first. */
static unsigned int by_place(struct place *places, unsigned int most, uint64_t *stores,
			     uint64_t *loads)
{
	unsigned int i, n = 0, j;

	*stores = 0;
	*loads = 0;
	for (i = 0; i < SLOTS; i++) {
		if (!uses[i].line || !is_shared(line_of(uses[i].line)))
			continue;
		*stores += uses[i].stores;
		*loads += uses[i].loads;
		for (j = 0; j < n && places[j].instruction != uses[i].instruction; j++)
			;
		if (j == most)
			continue;
		if (j == n)
			places[n++] = (struct place){ .instruction = uses[i].instruction };
		places[j].stores += uses[i].stores;
		places[j].loads += uses[i].loads;
	}
	return n;
}

/* Print "shared STORES LOADS LOST", then "at INSTRUCTION STORES LOADS" for the busiest ones. */
void lines_print(FILE *out)
{
	static struct place places[4096];
	unsigned int n, i, j;
	uint64_t stores, loads;

	n = by_place(places, sizeof(places) / sizeof(*places), &stores, &loads);
	fprintf(out, "shared %llu %llu %llu\n", (unsigned long long)stores,
		(unsigned long long)loads, (unsigned long long)lost);
	for (i = 0; i < n && i < PRINTED; i++) {
		struct place *first = &places[i], swap;

		for (j = i + 1; j < n; j++)
			if (places[j].stores + places[j].loads > first->stores + first->loads)
				first = &places[j];
		swap = *first;
		*first = places[i];
		places[i] = swap;
		fprintf(out, "at %llx %llu %llu\n", (unsigned long long)swap.instruction,
			(unsigned long long)swap.stores, (unsigned long long)swap.loads);
	}
}
