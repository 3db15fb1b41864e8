// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "capture.h"
#include "capture_internal.h"
#include "definitions.h"
#include "lib/memory.h"
#include "lib/array.h"
#include "lib/files.h"
#include "lib/wait.h"
#include "pack.h"
#include "ring.h"

/*
 * Operations at the beginning of what a ring keeps, whose launches were dropped. They go with these:
 * an API counts its correlation ids upwards, so they are those before the first launch that is kept.
 */

/**
 * struct gpumon_ring_trim - of one process
 * @known: there is a launch of that API
 * @first: the first correlation id of a launch that is kept
 */
struct gpumon_ring_trim {
	bool known[GPUMON_APIS];
	uint32_t first[GPUMON_APIS];
};

/**
 * struct gpumon_ring_part - what a segment has of one file
 * @next: of another file of the same segment
 * @counts: records in it
 * @state: records of what was open before them, NULL if nothing was
 * @state_size: bytes of @state
 */
struct gpumon_ring_part {
	struct gpumon_ring_part *next;
	struct gpumon_ring_file *file;
	struct gpumon_record_dropped counts;
	void *state;
	size_t state_size;
};

/**
 * struct gpumon_ring_segment - a file of chunks, whose sequence is the number of their file
 * @next: the next younger one
 * @created_ns: CLOCK_REALTIME of its beginning
 * @first_ns: CLOCK_MONOTONIC at the same moment
 * @last_ns: when it was last appended to
 * @bytes: of whole chunks
 */
struct gpumon_ring_segment {
	struct gpumon_ring_segment *next;
	struct gpumon_ring_part *parts;
	int fd;
	uint64_t number;
	uint64_t created_ns;
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t bytes;
};

/**
 * struct gpumon_ring_file - a process, or the driver
 * @number: in the chunks of segments
 * @segments: how many have a part of it
 * @part: its part of the youngest segment, if @part_of is that one's number
 * @dropped: what was dropped of it
 * @totals: the last one, if @has_totals
 */
struct gpumon_ring_file {
	struct gpumon_capture_ring *ring;
	struct gpumon_ring_file *next;
	char *name;
	uint64_t number;
	uint32_t segments;
	bool ended;
	struct gpumon_ring_part *part;
	uint64_t part_of;
	struct gpumon_definitions definitions;
	struct gpumon_ring_state state;
	struct gpumon_record_dropped dropped;
	struct gpumon_record_totals totals;
	bool has_totals;
};

struct gpumon_capture_ring {
	int directory;
	struct gpumon_ring_limits limits;
	struct gpumon_ring_file *files; /* the last one first */
	struct gpumon_ring_segment *oldest;
	struct gpumon_ring_segment *youngest;
	uint64_t next_segment;
	uint64_t next_file;
	uint64_t bytes;		   /* of all segments */
	uint64_t dropped_ns;	   /* when the youngest of what was dropped was recorded */
	uint64_t definition_bytes; /* of all files */
	uint8_t events[GPUMON_CHUNK_SIZE_MAX] __attribute__((aligned(8)));
	uint8_t packed[GPUMON_PACK_GROWTH * GPUMON_CHUNK_SIZE_MAX];
};

/* The last one that a pop or end closes, or that a push would be within. */
static struct gpumon_ring_range *find_range(struct gpumon_ring_state *state,
					    const struct gpumon_record_range *range)
{
	for (uint32_t i = state->count; i-- > 0;) {
		const struct gpumon_record_range *open = &state->ranges[i].record;

		if (open->domain != range->domain)
			continue;
		if (range->kind == GPUMON_RANGE_END ?
			    open->kind == GPUMON_RANGE_START && open->id == range->id :
			    open->kind == GPUMON_RANGE_PUSH && open->tid == range->tid)
			return &state->ranges[i];
	}
	return NULL;
}

static void open_range(struct gpumon_ring_state *state, const struct gpumon_record_range *range)
{
	struct gpumon_ring_range *open = NULL;

	if (state->count < GPUMON_RING_RANGES_MAX)
		open = GPUMON_ARRAY_ADD(state->ranges, state->count, state->room);
	if (open) {
		open->record = *range;
		open->record.head.size = sizeof(*range);
		return;
	}
	/* The pop of this range must not close the range around it. */
	if (range->kind == GPUMON_RANGE_PUSH)
		open = find_range(state, range);
	if (open)
		open->not_kept++;
}

static void close_range_of(struct gpumon_ring_state *state, const struct gpumon_record_range *range)
{
	struct gpumon_ring_range *open = find_range(state, range);

	if (!open)
		return;
	if (open->not_kept) {
		open->not_kept--;
		return;
	}
	memmove(open, open + 1,
		(size_t)(state->ranges + state->count - (open + 1)) * sizeof(*open));
	state->count--;
}

/* A range that is stated again begins after what its thread did before. */
static void see_thread(struct gpumon_ring_state *state, uint32_t tid, uint64_t time_ns)
{
	for (uint32_t i = 0; i < state->count; i++)
		if (state->ranges[i].record.tid == tid && state->ranges[i].record.time_ns < time_ns)
			state->ranges[i].record.time_ns = time_ns;
}

static void see_range(struct gpumon_ring_state *state, const struct gpumon_record *record)
{
	struct gpumon_record_range range;

	gpumon_record_copy(&range, sizeof(range), record);
	see_thread(state, range.tid, range.time_ns);
	if (range.kind == GPUMON_RANGE_PUSH || range.kind == GPUMON_RANGE_START)
		open_range(state, &range);
	else if (range.kind == GPUMON_RANGE_POP || range.kind == GPUMON_RANGE_END)
		close_range_of(state, &range);
}

void gpumon_ring_state_see(struct gpumon_ring_state *state, const struct gpumon_record *record)
{
	struct gpumon_record_launch launch;
	struct gpumon_record_window window;

	switch (record->type) {
	case GPUMON_RECORD_RANGE:
		see_range(state, record);
		break;
	case GPUMON_RECORD_LAUNCH:
		if (!state->count)
			break;
		gpumon_record_copy(&launch, sizeof(launch), record);
		see_thread(state, launch.tid, launch.start_ns);
		break;
	case GPUMON_RECORD_WINDOW:
		gpumon_record_copy(&window, sizeof(window), record);
		window.head.size = sizeof(window);
		state->windows[!!(window.head.flags & GPUMON_WINDOW_OPERATIONS)] = window;
		break;
	default:
		break;
	}
}

size_t gpumon_ring_state_write(const struct gpumon_ring_state *state, void *records)
{
	uint8_t *at = records;

	for (int i = 0; i < 2; i++) {
		if (state->windows[i].head.type != GPUMON_RECORD_WINDOW)
			continue;
		memcpy(at, &state->windows[i], sizeof(state->windows[i]));
		at += sizeof(state->windows[i]);
	}
	for (uint32_t i = 0; i < state->count; i++) {
		memcpy(at, &state->ranges[i].record, sizeof(state->ranges[i].record));
		at += sizeof(state->ranges[i].record);
	}
	return (size_t)(at - (uint8_t *)records);
}

void gpumon_ring_state_clear(struct gpumon_ring_state *state)
{
	free(state->ranges);
	memset(state, 0, sizeof(*state));
}

/* Ids wrap around. */
static bool is_before(uint32_t id, uint32_t other)
{
	return (int32_t)(id - other) < 0;
}

static void see_launch(struct gpumon_ring_trim *trim, const struct gpumon_record *record)
{
	struct gpumon_record_launch launch;
	uint32_t api;

	gpumon_record_copy(&launch, sizeof(launch), record);
	api = GPUMON_API_OF(launch.context);
	if (api >= GPUMON_APIS || !launch.correlation)
		return;
	if (!trim->known[api] || is_before(launch.correlation, trim->first[api]))
		trim->first[api] = launch.correlation;
	trim->known[api] = true;
}

/* Look for launches among whole records. */
static void ring_trim_look(struct gpumon_ring_trim *trim, const void *records, size_t size)
{
	for (size_t at = 0; at < size;) {
		const struct gpumon_record *record = (const void *)((const uint8_t *)records + at);

		if (gpumon_record_check(record, size - at) == GPUMON_RECORD_IMPOSSIBLE)
			return;
		if (record->type == GPUMON_RECORD_LAUNCH)
			see_launch(trim, record);
		at += record->size;
	}
}

static bool is_left(const struct gpumon_ring_trim *trim, uint32_t correlation, uint32_t context)
{
	uint32_t api = GPUMON_API_OF(context);

	return correlation && api < GPUMON_APIS && trim->known[api] &&
	       is_before(correlation, trim->first[api]);
}

/* Count an event that is dropped. */
static void count_event(struct gpumon_record_dropped *counts, const struct gpumon_record *record)
{
	counts->records++;
	switch (record->type) {
	case GPUMON_RECORD_LAUNCH:
		if (record->flags & GPUMON_LAUNCH_CAPTURED)
			counts->captured++;
		else
			counts->launches++;
		break;
	case GPUMON_RECORD_KERNEL:
		counts->kernels++;
		break;
	case GPUMON_RECORD_COPY:
		counts->copies++;
		break;
	case GPUMON_RECORD_SET:
		counts->sets++;
		break;
	default:
		break;
	}
}

/**
 * ring_trim_apply - remove operations whose launches were dropped
 * @trim: after it has looked at the records of the beginning
 * @records: whole records, of which those that stay are moved together
 * @size: bytes of them
 * @dropped: counts what was removed
 *
 * Return: bytes of those that stay.
 */
static size_t ring_trim_apply(const struct gpumon_ring_trim *trim, void *records, size_t size,
			      struct gpumon_record_dropped *dropped)
{
	struct gpumon_work_fields work;
	uint8_t *base = records;
	size_t used = 0;

	for (size_t at = 0; at < size;) {
		const struct gpumon_record *record = (const void *)(base + at);
		uint32_t length = record->size;

		if (gpumon_record_check(record, size - at) == GPUMON_RECORD_IMPOSSIBLE)
			break;
		if (gpumon_work_fields(record, &work) &&
		    is_left(trim, work.correlation, work.context)) {
			count_event(dropped, record);
		} else {
			memmove(base + used, record, length);
			used += length;
		}
		at += length;
	}
	return used;
}

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

struct gpumon_capture_ring *gpumon_ring_new(int directory, const struct gpumon_ring_limits *limits)
{
	struct gpumon_capture_ring *ring = gpumon_calloc(1, sizeof(*ring));

	ring->directory = directory;
	ring->limits = *limits;
	remove_files(directory);
	return ring;
}

int gpumon_ring_add_file(struct gpumon_capture_ring *ring, const char *name,
			 struct gpumon_ring_file **file)
{
	struct gpumon_ring_file *added;

	*file = NULL;
	for (const struct gpumon_ring_file *one = ring->files; one; one = one->next)
		if (!strcmp(one->name, name))
			return -EEXIST;
	added = gpumon_calloc(1, sizeof(*added));
	added->name = gpumon_strdup(name);
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

static void drop_oldest(struct gpumon_capture_ring *ring)
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

static int add_segment(struct gpumon_capture_ring *ring)
{
	struct gpumon_ring_segment *segment = gpumon_calloc(1, sizeof(*segment));
	char name[32];
	int error;

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
static int segment_room(struct gpumon_capture_ring *ring, size_t size)
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
	part = gpumon_calloc(1, sizeof(*part));
	part->state_size = gpumon_ring_state_write(&file->state, state);
	if (part->state_size) {
		part->state = gpumon_malloc(part->state_size);
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
	struct gpumon_capture_ring *ring = file->ring;
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

		count_event(counts, record);
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
	struct gpumon_capture_ring *ring = file->ring;
	struct gpumon_chunk chunk = { .tid = tid, .sequence = file->number };
	struct gpumon_ring_part *part;
	struct iovec vector[2];
	int ret;

	if (size)
		gpumon_chunk_fill(&chunk, vector, ring->events, size, ring->packed);
	ret = segment_room(ring, size ? sizeof(chunk) + chunk.size : 0);
	if (ret)
		return ret;
	/*
	 * Counted also if there are only definitions: the process is kept as long as this segment.
	 */
	part = ring_part(file);
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

int gpumon_ring_directory(const struct gpumon_capture_ring *ring)
{
	return ring->directory;
}

uint64_t gpumon_ring_since(const struct gpumon_capture_ring *ring)
{
	return ring->dropped_ns;
}

void gpumon_ring_free(struct gpumon_capture_ring *ring)
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

/*
 * Writes a capture of what a ring keeps. It only reads the ring, through descriptors that are open
 * already, so a child of the recorder can do it.
 */

/* Operations whose launches were dropped are in the oldest segments. */
#define TRIM_SEGMENTS 2

/* Ids of the ring's own strings in the driver's file, which counts its from 1 on. */
#define STRING_WHY     0xffffff21u
#define STRING_DROPPED 0xffffff22u

/**
 * struct written - a file of the ring, and what becomes of it
 * @from: the file
 * @to: its file in the capture
 * @trim: operations that are left out
 * @dropped: what is not in the capture
 */
struct written {
	const struct gpumon_ring_file *from;
	struct gpumon_capture_file *to;
	struct gpumon_ring_trim trim;
	struct gpumon_record_dropped dropped;
};

/**
 * struct writing - a capture that is written
 * @first: the oldest segment of it, NULL if there is none
 * @files: by number of the file in the ring, from @base on
 */
struct writing {
	struct gpumon_capture_ring *ring;
	struct gpumon_capture_writer *writer;
	const struct gpumon_ring_segment *first;
	struct gpumon_map files;
	struct written *written;
	uint64_t count;
	uint64_t since_ns;
};

/* The file's part of the oldest segment that has one. NULL: none has. */
static const struct gpumon_ring_part *first_part(const struct writing *writing,
						 const struct gpumon_ring_file *file)
{
	for (const struct gpumon_ring_segment *segment = writing->first; segment;
	     segment = segment->next)
		for (const struct gpumon_ring_part *part = segment->parts; part; part = part->next)
			if (part->file == file)
				return part;
	return NULL;
}

static int write_definitions(const struct written *written)
{
	const void *records;
	size_t size;

	for (uint32_t i = 0;
	     (records = gpumon_definitions_block(&written->from->definitions, i, &size)); i++)
		if (gpumon_capture_append(written->to, 0, records, size))
			return -1;
	return 0;
}

static int write_state(const struct writing *writing, const struct written *written)
{
	const struct gpumon_ring_part *part = first_part(writing, written->from);
	_Alignas(8) uint8_t state[GPUMON_RING_STATE_MAX];

	if (part)
		return gpumon_capture_append(written->to, 0, part->state, part->state_size);
	return gpumon_capture_append(written->to, 0, state,
				     gpumon_ring_state_write(&written->from->state, state));
}

static int add_file(struct writing *writing, const struct gpumon_ring_file *from)
{
	struct written *written = &writing->written[writing->count];

	/* A part of the time shows only what did something. */
	if (writing->since_ns && !first_part(writing, from))
		return 0;
	written->from = from;
	written->dropped = from->dropped;
	if (gpumon_capture_add_file(writing->writer, from->name, &written->to))
		return -1;
	gpumon_map_set(&writing->files, from->number, ++writing->count);
	return write_definitions(written) || write_state(writing, written) ? -1 : 0;
}

/* Files in the order in which they were added: a process before and after exec(). */
static int add_files(struct writing *writing)
{
	const struct gpumon_ring_file **order;
	size_t count = 0, i = 0;
	int ret = 0;

	for (const struct gpumon_ring_file *file = writing->ring->files; file; file = file->next)
		count++;
	writing->written = gpumon_calloc(count + 1, sizeof(*writing->written));
	order = gpumon_calloc(count + 1, sizeof(const struct gpumon_ring_file *));
	for (const struct gpumon_ring_file *file = writing->ring->files; file; file = file->next)
		order[count - ++i] = file;
	for (i = 0; i < count && !ret; i++)
		ret = add_file(writing, order[i]);
	free(order);
	return ret;
}

/* 0, or a negative errno; -EIO for a file that is too short. */
static int read_all(int fd, void *to, size_t size, uint64_t at)
{
	ssize_t n = gpumon_read_at(fd, to, size, at);

	if (n < 0)
		return -errno;
	return (size_t)n < size ? -EIO : 0;
}

static int segment_failed(ssize_t error)
{
	return gpumon_capture_fail((int)error, GPUMON_ERROR_IO, "the ring cannot be read: %s",
				   strerror((int)-error));
}

/* The records of a chunk in @ring->packed, in @ring->events. 0 if they are broken. */
static size_t unpack_chunk(struct gpumon_capture_ring *ring, const struct gpumon_chunk *chunk)
{
	if (chunk->version == GPUMON_CHUNK_PACKED)
		return chunk->unpacked <= sizeof(ring->events) &&
				       gpumon_unpack(ring->packed, chunk->size, ring->events,
						     chunk->unpacked) ?
			       chunk->unpacked :
			       0;
	memcpy(ring->events, ring->packed, chunk->size);
	return chunk->size;
}

static int look_at_chunk(struct writing *writing, struct written *written,
			 struct gpumon_chunk *chunk)
{
	size_t size = written->dropped.records ? unpack_chunk(writing->ring, chunk) : 0;

	ring_trim_look(&written->trim, writing->ring->events, size);
	return 0;
}

static int copy_chunk(struct writing *writing, struct written *written, struct gpumon_chunk *chunk)
{
	int ret = gpumon_capture_append_chunk(written->to, chunk, writing->ring->packed);

	return ret ? gpumon_capture_fail(ret, GPUMON_ERROR_IO, "%s", strerror(-ret)) : 0;
}

/* Most chunks have nothing to trim. */
static int trim_chunk(struct writing *writing, struct written *written, struct gpumon_chunk *chunk)
{
	size_t size = written->dropped.records ? unpack_chunk(writing->ring, chunk) : 0, left;

	left = ring_trim_apply(&written->trim, writing->ring->events, size, &written->dropped);
	if (left == size)
		return copy_chunk(writing, written, chunk);
	return gpumon_capture_append(written->to, chunk->tid, writing->ring->events, left);
}

/* Call @each for the chunks of files that are written. */
static int read_segment(struct writing *writing, const struct gpumon_ring_segment *segment,
			int (*each)(struct writing *writing, struct written *written,
				    struct gpumon_chunk *chunk))
{
	struct gpumon_capture_ring *ring = writing->ring;
	struct gpumon_chunk chunk;
	uint64_t at = 0, place;
	ssize_t ret;

	while (at < segment->bytes) {
		ret = read_all(segment->fd, &chunk, sizeof(chunk), at);
		if (!ret && chunk.size > GPUMON_CHUNK_SIZE_MAX)
			ret = -EPROTO;
		if (!ret)
			ret = read_all(segment->fd, ring->packed, chunk.size, at + sizeof(chunk));
		if (!ret && gpumon_chunk_crc(&chunk, ring->packed) != chunk.crc)
			ret = -EPROTO;
		if (ret)
			return segment_failed(ret);
		at += sizeof(chunk) + chunk.size;
		place = gpumon_map_get(&writing->files, chunk.sequence);
		if (place && each(writing, &writing->written[place - 1], &chunk))
			return -1;
	}
	return 0;
}

static int copy_segments(struct writing *writing)
{
	const struct gpumon_ring_segment *segment = writing->first;
	int ret = 0;

	for (int i = 0; i < TRIM_SEGMENTS && segment && !ret && !writing->since_ns; i++) {
		ret = read_segment(writing, segment, look_at_chunk);
		segment = segment->next;
	}
	segment = writing->first;
	for (int i = 0; segment && !ret; i++) {
		ret = read_segment(writing, segment,
				   i < TRIM_SEGMENTS && !writing->since_ns ? trim_chunk :
									     copy_chunk);
		segment = segment->next;
	}
	return ret;
}

static uint64_t less(uint64_t all, uint64_t dropped)
{
	return all > dropped ? all - dropped : 0;
}

/* The records that should be there are those that the library counted, less the dropped ones. */
static int write_ends(const struct writing *writing, const struct written *written)
{
	struct gpumon_record_dropped dropped = written->dropped;
	struct gpumon_record_totals totals = written->from->totals;

	dropped.head = (struct gpumon_record){ GPUMON_RECORD_DROPPED, 0, sizeof(dropped) };
	if (dropped.records && !writing->since_ns &&
	    gpumon_capture_append(written->to, 0, &dropped, sizeof(dropped)))
		return -1;
	if (!written->from->has_totals || writing->since_ns)
		return 0;
	totals.launches = less(totals.launches, dropped.launches);
	totals.captured = less(totals.captured, dropped.captured);
	totals.kernels = less(totals.kernels, dropped.kernels);
	totals.copies = less(totals.copies, dropped.copies);
	totals.sets = less(totals.sets, dropped.sets);
	return gpumon_capture_append(written->to, 0, &totals, sizeof(totals));
}

static int write_note(struct gpumon_capture_file *file, uint32_t id, uint64_t time_ns,
		      const char *text)
{
	struct gpumon_record_note note = {
		.head = { GPUMON_RECORD_NOTE, 0, sizeof(note) },
		.time_ns = time_ns,
		.text = id,
	};

	if (gpumon_capture_append_string(file, id, text))
		return -1;
	return gpumon_capture_append(file, 0, &note, sizeof(note));
}

/* Notes of the driver's file: why it was written, and how much was dropped. */
static int write_notes(struct writing *writing, const char *why)
{
	struct gpumon_capture_file *driver = NULL;
	uint64_t launches = 0, works = 0, time_ns = 0;
	char text[256];

	for (uint64_t i = 0; i < writing->count; i++) {
		const struct gpumon_record_dropped *dropped = &writing->written[i].dropped;

		launches += dropped->launches + dropped->captured;
		works += dropped->kernels + dropped->copies + dropped->sets;
		if (dropped->time_ns > time_ns)
			time_ns = dropped->time_ns;
		if (!strcmp(writing->written[i].from->name, GPUMON_CAPTURE_DRIVER))
			driver = writing->written[i].to;
	}
	if (!driver)
		return 0;
	if (why && write_note(driver, STRING_WHY,
			      writing->ring->youngest ? writing->ring->youngest->last_ns : 0, why))
		return -1;
	if (!launches && !works)
		return 0;
	snprintf(
		text, sizeof(text),
		"only what was recorded last is kept (--keep): %llu launches and %llu operations before it were dropped",
		(unsigned long long)launches, (unsigned long long)works);
	return write_note(driver, STRING_DROPPED, time_ns, text);
}

/* The perf map of an ended process. That of a live one is copied by its recorder. */
static int copy_map(const struct writing *writing, const struct written *written)
{
	char name[GPUMON_CAPTURE_NAME_MAX + sizeof(GPUMON_CAPTURE_MAP)];
	int from, to, error = 0;
	ssize_t n;

	gpumon_capture_map_name(written->from->name, name, sizeof(name));
	from = openat(writing->ring->directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0)
		return 0;
	to = gpumon_capture_make_map(written->to);
	if (to < 0)
		error = errno;
	while (!error && (n = sendfile(to, from, NULL, 1 << 20)))
		if (n < 0 && errno != EINTR)
			error = errno;
	if (to >= 0)
		close(to);
	close(from);
	return error ? gpumon_capture_fail(-error, GPUMON_ERROR_IO, "%s: %s", name,
					   strerror(error)) :
		       0;
}

/* The failure is returned anyway. */
static void ignore_trouble(void *data, const struct gpumon_error *err)
{
	(void)data;
	(void)err;
}

static int write_all(struct writing *writing, const char *note)
{
	if (add_files(writing))
		return -1;
	if (copy_segments(writing))
		return -1;
	for (uint64_t i = 0; i < writing->count; i++)
		if (write_ends(writing, &writing->written[i]) ||
		    copy_map(writing, &writing->written[i]))
			return -1;
	return write_notes(writing, note);
}

int gpumon_ring_write(struct gpumon_capture_ring *ring, const char *path, const char *command,
		      const char *note, uint64_t since_ns)
{
	struct writing writing = { .ring = ring, .first = ring->oldest, .since_ns = since_ns };
	int ret;

	while (writing.first && writing.first->last_ns < since_ns)
		writing.first = writing.first->next;
	if (gpumon_capture_create(path, command, &writing.writer))
		return -1;
	gpumon_capture_on_trouble(writing.writer, ignore_trouble, NULL);
	if (writing.first)
		gpumon_capture_set_created(writing.writer, writing.first->created_ns,
					   writing.first->first_ns);
	ret = write_all(&writing, note);
	/* The first error is the one to report. */
	if (ret) {
		struct gpumon_error err = *gpumon_capture_error();

		(void)gpumon_capture_close(writing.writer);
		gpumon_capture_fail(err.sys, err.code, "%s: %s", path, err.message);
	} else {
		ret = gpumon_capture_close(writing.writer);
	}
	gpumon_map_clear(&writing.files);
	free(writing.written);
	return ret;
}
