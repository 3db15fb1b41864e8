// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stddef.h>
#include <string.h>

#include "capture/capture.h"
#include "library_notes.h"
#include "lib/text.h"

static void remember_string(struct gpumon_note_reader *reader, const struct gpumon_record *record)
{
	const size_t head = sizeof(struct gpumon_record_string);
	const struct gpumon_record_string *string = (const void *)record;
	size_t length;

	if (record->size < head)
		return;
	length = string->length;
	if (length > record->size - head)
		length = record->size - head;
	if (length > GPUMON_NOTE_LENGTH - 1)
		length = GPUMON_NOTE_LENGTH - 1;
	reader->strings[reader->next].id = string->id;
	memcpy(reader->strings[reader->next].text, string->text, length);
	reader->strings[reader->next].text[length] = '\0';
	reader->next = (reader->next + 1) % GPUMON_NOTE_STRINGS;
}

const char *gpumon_note_read(struct gpumon_note_reader *reader, const struct gpumon_record *record)
{
	struct gpumon_record_note note;

	if (record->type == GPUMON_RECORD_STRING)
		remember_string(reader, record);
	if (record->type != GPUMON_RECORD_NOTE)
		return NULL;
	gpumon_record_copy(&note, sizeof(note), record);
	for (unsigned int i = 0; note.text && i < GPUMON_NOTE_STRINGS; i++)
		if (reader->strings[i].id == note.text)
			return reader->strings[i].text;
	return NULL;
}

void gpumon_library_notes_add(struct gpumon_library_notes *notes, const char *text)
{
	for (unsigned int i = 0; i < notes->count; i++) {
		if (strncmp(notes->notes[i].text, text, GPUMON_NOTE_LENGTH - 1) != 0)
			continue;
		notes->notes[i].processes++;
		return;
	}
	if (notes->count == GPUMON_NOTES_MAX) {
		notes->more++;
		return;
	}
	snprintf(notes->notes[notes->count].text, GPUMON_NOTE_LENGTH, "%s", text);
	notes->notes[notes->count++].processes = 1;
}

void gpumon_library_notes_print(FILE *out, const struct gpumon_library_notes *notes,
				const char *directory)
{
	for (unsigned int i = 0; i < notes->count; i++) {
		fputs("gpumon-user: ", out);
		if (notes->notes[i].processes > 1)
			fprintf(out, "%u processes: ", notes->notes[i].processes);
		/* Control characters of a program must not reach the terminal. */
		gpumon_text_plain(out, notes->notes[i].text);
		fputc('\n', out);
	}
	if (notes->more)
		fprintf(out, "gpumon-user: and %u other notes, in %s\n", notes->more, directory);
}
