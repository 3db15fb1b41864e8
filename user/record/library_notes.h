/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What libraries say that a person should know (no CUPTI, another profiler), told at the end. */
#ifndef GPUMON_RECORD_LIBRARY_NOTES_H
#define GPUMON_RECORD_LIBRARY_NOTES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "capture/format.h"

/* Strings of one process that are remembered: a note comes right behind its text. */
#define GPUMON_NOTE_STRINGS 4
#define GPUMON_NOTE_LENGTH  512
/* Different notes of all processes that are kept; those beyond are counted. */
#define GPUMON_NOTES_MAX 6

/**
 * struct gpumon_note_reader - the notes in one process's records
 * @strings: the last ones
 * @next: which of them is overwritten next
 *
 * All zeroes to begin with.
 */
struct gpumon_note_reader {
	struct {
		uint32_t id;
		char text[GPUMON_NOTE_LENGTH];
	} strings[GPUMON_NOTE_STRINGS];
	unsigned int next;
};

/**
 * gpumon_note_read - look at a record
 * @reader: of its process
 * @record: whole, of any type
 *
 * Return: the text if it is a note, good until the next call; NULL for anything else.
 */
const char *gpumon_note_read(struct gpumon_note_reader *reader, const struct gpumon_record *record);

/**
 * struct gpumon_library_notes - notes of all processes
 * @notes: different ones, with the number of processes that said it
 * @count: how many
 * @more: that found no room
 */
struct gpumon_library_notes {
	struct {
		char text[GPUMON_NOTE_LENGTH];
		unsigned int processes;
	} notes[GPUMON_NOTES_MAX];
	unsigned int count;
	unsigned int more;
};

void gpumon_library_notes_add(struct gpumon_library_notes *notes, const char *text);
/* A line for each. */
void gpumon_library_notes_print(FILE *out, const struct gpumon_library_notes *notes,
				const char *directory);

#endif /* GPUMON_RECORD_LIBRARY_NOTES_H */
