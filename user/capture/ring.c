// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/folder.h"
#include "lib/wait.h"
#include "capture_internal.h"
#include "ring_internal.h"
#include "ring_trim.h"

/* A segment has that part of the size and of the age, so that little is dropped at a time. */
#define SEGMENTS 16
/* Definitions get that part of the size. */
#define DEFINITIONS_PART 4

static void remove_files(int directory)
{
	DIR *dir = gpumon_folder_entries(directory, ".", 0);
	const struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		(void)unlinkat(directory, entry->d_name, 0);
	closedir(dir);
}

struct gpumon_ring *gpumon_ring_new(int directory, const struct gpumon_ring_limits *limits)
{
	struct gpumon_ring *ring = calloc(1, sizeof(*ring));

	if (!ring) {
		close(directory);
		return NULL;
	}
	ring->directory = directory;
	ring->limits = *limits;
	remove_files(directory);
	return ring;
}

int gpumon_ring_add_file(struct gpumon_ring *ring, const char *name, struct gpumon_ring_file **file)
{
	struct gpumon_ring_file *added;

	*file = NULL;
	for (const struct gpumon_ring_file *one = ring->files; one; one = one->next)
		if (!strcmp(one->name, name))
			return -EEXIST;
	added = calloc(1, sizeof(*added));
	if (!added)
		return -ENOMEM;
	added->name = strdup(name);
	if (!added->name) {
		free(added);
		return -ENOMEM;
	}
	added->ring = ring;
	added->number = ring->next_file++;
	added->part_of = UINT64_MAX;
	added->next = ring->files;
	ring->files = added;
	*file = added;
	return 0;
}

static void free_file(struct gpumon_ring_file *file)
{
	struct gpumon_ring_file **at = &file->ring->files;
	char map[GPUMON_CAPTURE_NAME_MAX + sizeof(GPUMON_CAPTURE_MAP)];

	while (*at != file)
		at = &(*at)->next;
	*at = file->next;
	gpumon_capture_map_name(file->name, map, sizeof(map));
	(void)unlinkat(file->ring->directory, map, 0);
	file->ring->definition_bytes -= gpumon_definitions_bytes(&file->definitions);
	gpumon_definitions_clear(&file->definitions);
	gpumon_ring_state_clear(&file->state);
	free(file->name);
	free(file);
}

/* The driver's file has the notes, and is part of each capture. */
void gpumon_ring_end_file(struct gpumon_ring_file *file)
{
	if (!strcmp(file->name, GPUMON_CAPTURE_DRIVER))
		return;
	file->ended = true;
	if (!file->segments)
		free_file(file);
}

/* --- segments */

static void segment_name(const struct gpumon_ring_segment *segment, char *name, size_t room)
{
	snprintf(name, room, "%llu", (unsigned long long)segment->number);
}

/* Add the counts of a part that is dropped to those of its file. */
static void count_dropped(struct gpumon_record_dropped *sum,
			  const struct gpumon_record_dropped *counts)
{
	sum->records += counts->records;
	sum->launches += counts->launches;
	sum->captured += counts->captured;
	sum->kernels += counts->kernels;
	sum->copies += counts->copies;
	sum->sets += counts->sets;
}

static void drop_oldest(struct gpumon_ring *ring)
{
	struct gpumon_ring_segment *segment = ring->oldest;
	struct gpumon_ring_part *part = segment->parts;
	char name[32];

	ring->oldest = segment->next;
	if (!ring->oldest)
		ring->youngest = NULL;
	ring->bytes -= segment->bytes;
	ring->dropped_ns = segment->last_ns;
	segment_name(segment, name, sizeof(name));
	(void)unlinkat(ring->directory, name, 0);
	close(segment->fd);
	while (part) {
		struct gpumon_ring_part *next = part->next;
		struct gpumon_ring_file *file = part->file;

		count_dropped(&file->dropped, &part->counts);
		file->dropped.time_ns = segment->last_ns;
		file->segments--;
		if (file->ended && !file->segments)
			free_file(file);
		free(part->state);
		free(part);
		part = next;
	}
	free(segment);
}

static int add_segment(struct gpumon_ring *ring)
{
	struct gpumon_ring_segment *segment = calloc(1, sizeof(*segment));
	char name[32];
	int error;

	if (!segment)
		return -ENOMEM;
	segment->number = ring->next_segment;
	segment_name(segment, name, sizeof(name));
	segment->fd = openat(ring->directory, name,
			     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (segment->fd < 0) {
		error = errno;
		free(segment);
		return -error;
	}
	ring->next_segment++;
	segment->created_ns = gpumon_clock_ns(CLOCK_REALTIME);
	segment->first_ns = gpumon_monotonic_ns();
	segment->last_ns = segment->first_ns;
	if (ring->youngest)
		ring->youngest->next = segment;
	else
		ring->oldest = segment;
	ring->youngest = segment;
	return 0;
}

/* Have a segment with room for a chunk, after what is too old or too much was dropped. */
static int segment_room(struct gpumon_ring *ring, size_t size)
{
	uint64_t bytes = ring->limits.bytes - ring->limits.bytes / DEFINITIONS_PART;
	uint64_t now = gpumon_monotonic_ns();
	const struct gpumon_ring_segment *last;

	if (size > bytes)
		return -EFBIG;
	while (ring->oldest && ring->bytes + size > bytes)
		drop_oldest(ring);
	while (ring->limits.age_ns && ring->oldest &&
	       now - ring->oldest->last_ns > ring->limits.age_ns)
		drop_oldest(ring);
	last = ring->youngest;
	if (last && last->bytes + size <= bytes / SEGMENTS &&
	    (!ring->limits.age_ns || now - last->first_ns <= ring->limits.age_ns / SEGMENTS))
		return 0;
	if (last && !last->bytes)
		return 0;
	return add_segment(ring);
}

/* The file's part of the youngest segment. NULL without memory. */
static struct gpumon_ring_part *ring_part(struct gpumon_ring_file *file)
{
	struct gpumon_ring_segment *segment = file->ring->youngest;
	_Alignas(8) uint8_t state[GPUMON_RING_STATE_MAX];
	struct gpumon_ring_part *part;

	if (file->part_of == segment->number)
		return file->part;
	part = calloc(1, sizeof(*part));
	if (!part)
		return NULL;
	part->state_size = gpumon_ring_state_write(&file->state, state);
	if (part->state_size) {
		part->state = malloc(part->state_size);
		if (!part->state) {
			free(part);
			return NULL;
		}
		memcpy(part->state, state, part->state_size);
	}
	part->file = file;
	part->next = segment->parts;
	segment->parts = part;
	file->part = part;
	file->part_of = segment->number;
	file->segments++;
	return part;
}

/* --- appending */

/* Why a definition without room is missing. */
static enum gpumon_loss definition_loss(const struct gpumon_record *record)
{
	return record->type == GPUMON_RECORD_STRING ? GPUMON_LOSS_STRING_TABLE :
	       record->type == GPUMON_RECORD_STACK || record->type == GPUMON_RECORD_FRAME ?
						      GPUMON_LOSS_STACK_TABLE :
						      GPUMON_LOSS_RECORDER;
}

static bool keep_definition(struct gpumon_ring_file *file, const struct gpumon_record *record)
{
	struct gpumon_ring *ring = file->ring;
	uint64_t most = ring->limits.bytes / DEFINITIONS_PART;
	uint64_t before = gpumon_definitions_bytes(&file->definitions);
	uint64_t room = most > ring->definition_bytes ? most - ring->definition_bytes : 0;
	bool kept = !gpumon_definitions_add(&file->definitions, record, room);

	ring->definition_bytes += gpumon_definitions_bytes(&file->definitions) - before;
	return kept;
}

/* Keep definitions, and copy the events. Returns the size of these. */
static size_t sort_records(struct gpumon_ring_file *file, const void *records, size_t size,
			   uint64_t *lost)
{
	uint8_t *to = file->ring->events;
	const uint8_t *at = records;
	size_t used = 0;

	for (size_t done = 0; done < size;) {
		const struct gpumon_record *record = (const void *)(at + done);

		if (gpumon_record_check(record, size - done) == GPUMON_RECORD_IMPOSSIBLE)
			break;
		if (record->type == GPUMON_RECORD_TOTALS) {
			gpumon_record_copy(&file->totals, sizeof(file->totals), record);
			file->totals.head.size = sizeof(file->totals);
			file->has_totals = true;
		} else if (gpumon_definition_is(record->type)) {
			if (!keep_definition(file, record))
				lost[definition_loss(record)]++;
		} else if (record->type != GPUMON_RECORD_PAD) {
			memcpy(to + used, record, record->size);
			used += record->size;
		}
		done += record->size;
	}
	return used;
}

static void see_events(struct gpumon_ring_file *file, struct gpumon_record_dropped *counts,
		       size_t size)
{
	for (size_t at = 0; at < size;) {
		const struct gpumon_record *record = (const void *)(file->ring->events + at);

		gpumon_ring_count(counts, record);
		gpumon_ring_state_see(&file->state, record);
		at += record->size;
	}
}

static int write_chunk(struct gpumon_ring_segment *segment, struct iovec *part)
{
	size_t size = part[0].iov_len + part[1].iov_len;
	ssize_t n;

	do
		n = pwritev(segment->fd, part, 2, (off_t)segment->bytes);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)size)
		return 0;
	/* The next chunk overwrites what there is of this one. */
	return n < 0 ? -errno : -ENOSPC;
}

/* Write @size bytes of the ring's events. */
static int write_events(struct gpumon_ring_file *file, uint32_t tid, size_t size)
{
	struct gpumon_ring *ring = file->ring;
	struct gpumon_chunk chunk = { .tid = tid, .sequence = file->number };
	struct gpumon_ring_part *part;
	struct iovec vector[2];
	int ret;

	if (size)
		gpumon_chunk_fill(&chunk, vector, ring->events, size, ring->packed);
	ret = segment_room(ring, size ? sizeof(chunk) + chunk.size : 0);
	if (ret)
		return ret;
	/* Also for definitions alone: the process is kept as long as this segment. */
	part = ring_part(file);
	if (!part)
		return -ENOMEM;
	ring->youngest->last_ns = gpumon_monotonic_ns();
	if (!size)
		return 0;
	ret = write_chunk(ring->youngest, vector);
	if (ret)
		return ret;
	see_events(file, &part->counts, size);
	ring->youngest->bytes += sizeof(chunk) + chunk.size;
	ring->bytes += sizeof(chunk) + chunk.size;
	return 0;
}

int gpumon_ring_append(struct gpumon_ring_file *file, uint32_t tid, const void *records,
		       size_t size, uint64_t *lost)
{
	if (size > GPUMON_CHUNK_SIZE_MAX || size % 8)
		return -EINVAL;
	return write_events(file, tid, sort_records(file, records, size, lost));
}

int gpumon_ring_directory(const struct gpumon_ring *ring)
{
	return ring->directory;
}

uint64_t gpumon_ring_since(const struct gpumon_ring *ring)
{
	return ring->dropped_ns;
}

void gpumon_ring_free(struct gpumon_ring *ring)
{
	if (!ring)
		return;
	while (ring->oldest)
		drop_oldest(ring);
	while (ring->files)
		free_file(ring->files);
	remove_files(ring->directory);
	close(ring->directory);
	free(ring);
}
