/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Notes of libraries for the user (no CUPTI, another profiler), printed at the end. */
#ifndef GPUMON_RECORD_LIBRARY_NOTES_H
#define GPUMON_RECORD_LIBRARY_NOTES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "abi/format.h"

/* Strings of one process that are remembered. A note directly follows its text. */
#define GPUMON_NOTE_STRINGS 4
#define GPUMON_NOTE_LENGTH  512
/* Different notes that are kept. Others are only counted. */
#define GPUMON_NOTES_MAX 6

/**
 * struct gpumon_note_reader - finds notes in the records of one process
 * @strings: the last strings
 * @next: index of the next one to overwrite
 *
 * Initialise it with zeroes.
 */
struct gpumon_note_reader {
	struct {
		uint32_t id;
		char text[GPUMON_NOTE_LENGTH];
	} strings[GPUMON_NOTE_STRINGS];
	unsigned int next;
};

/**
 * gpumon_note_read - check whether a record is a note
 * @reader: reader of its process
 * @record: whole record of any type
 *
 * Return: the text of a note, valid until the next call; NULL for other records.
 */
const char *gpumon_note_read(struct gpumon_note_reader *reader, const struct gpumon_record *record);

/**
 * struct gpumon_library_notes - notes of all processes
 * @notes: different notes, each with its number of processes
 * @count: number of @notes
 * @more: notes that did not fit
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
/* Print a line for each note. */
void gpumon_library_notes_print(FILE *out, const struct gpumon_library_notes *notes,
				const char *directory);

#endif /* GPUMON_RECORD_LIBRARY_NOTES_H */
