// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * One file of a capture. It is not mapped, since a file that is truncated meanwhile would kill the
 * reader.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/read_at.h"
#include "capture_internal.h"
#include "pack.h"
#include "reader_file.h"

#define HEAD ((uint64_t)sizeof(struct gpumon_chunk))

/*
 * A crafted file can be full of invalid heads of long chunks. The bytes of CRC spent on these are
 * limited to this number, plus the bytes of the file before.
 */
#define DEBT_FREE (64ull << 20)
#define DEBT_RATE 8

static bool is_plausible(const struct gpumon_chunk *chunk)
{
	return chunk->magic == GPUMON_CHUNK_MAGIC && chunk->version >= GPUMON_CHUNK_PLAIN &&
	       chunk->version <= GPUMON_CHUNK_PACKED && chunk->size && chunk->size % 8 == 0 &&
	       chunk->size <= GPUMON_CHUNK_SIZE_MAX && chunk->unpacked <= GPUMON_CHUNK_SIZE_MAX;
}

uint32_t gpumon_reader_file_version(const struct gpumon_reader_file *file,
				    struct gpumon_reader_buffer *buffer)
{
	struct gpumon_chunk *chunk = &buffer->chunk;

	if (gpumon_read_at(file->fd, chunk, sizeof(*chunk), 0) != (ssize_t)sizeof(*chunk) ||
	    chunk->magic != GPUMON_CHUNK_MAGIC)
		return 0;
	if (chunk->version <= GPUMON_CAPTURE_VERSION)
		return chunk->version;
	/* A flipped bit can have that effect, too. */
	if (chunk->size > GPUMON_CHUNK_SIZE_MAX ||
	    gpumon_read_at(file->fd, buffer->records, chunk->size, HEAD) != (ssize_t)chunk->size ||
	    gpumon_chunk_crc(chunk, buffer->records) != chunk->crc)
		return 0;
	return chunk->version;
}

/* What is found at an offset of a file. */
enum what {
	WHAT_CHUNK,	 /* a valid chunk, now in the buffer */
	WHAT_BROKEN,	 /* a chunk with a wrong CRC, or packed wrongly */
	WHAT_CUT,	 /* a chunk that extends beyond the end of the file */
	WHAT_NOTHING,	 /* not a chunk */
	WHAT_UNREADABLE, /* a read error */
};

/* @end: end of the file, if known: a chunk beyond it is recognised without reading it. */
static enum what look_at_chunk(struct gpumon_reader_file *file, struct gpumon_reader_buffer *buffer,
			       uint64_t at, uint64_t end)
{
	ssize_t n = gpumon_read_at(file->fd, &buffer->chunk, sizeof(buffer->chunk), at);
	unsigned char *data;
	bool is_packed;

	if (n < 0)
		return WHAT_UNREADABLE;
	if ((size_t)n < sizeof(buffer->chunk))
		return WHAT_CUT;
	if (!is_plausible(&buffer->chunk))
		return WHAT_NOTHING;
	if (buffer->chunk.size > end - at - HEAD)
		return WHAT_CUT;
	is_packed = buffer->chunk.version == GPUMON_CHUNK_PACKED;
	data = is_packed ? buffer->packed : buffer->records;
	n = gpumon_read_at(file->fd, data, buffer->chunk.size, at + HEAD);
	if (n < 0)
		return WHAT_UNREADABLE;
	if ((size_t)n < buffer->chunk.size)
		return WHAT_CUT;
	if (gpumon_chunk_crc(&buffer->chunk, data) != buffer->chunk.crc)
		return WHAT_BROKEN;
	buffer->size = is_packed ? buffer->chunk.unpacked : buffer->chunk.size;
	if (is_packed &&
	    !gpumon_unpack(data, buffer->chunk.size, buffer->records, buffer->chunk.unpacked))
		return WHAT_BROKEN;
	return WHAT_CHUNK;
}

/*
 * Find the first valid chunk at or after @from and leave it in the buffer. Damage may have moved
 * it, so it can begin at any byte. Returns its offset, or @size if there is none.
 */
static uint64_t search_chunk(struct gpumon_reader_file *file, struct gpumon_reader_buffer *buffer,
			     uint64_t from, uint64_t size)
{
	static const uint32_t magic = GPUMON_CHUNK_MAGIC;
	uint64_t at = from;

	while (at + HEAD <= size) {
		ssize_t n = gpumon_read_at(file->fd, buffer->window, sizeof(buffer->window), at);
		uint64_t window = at;
		uint64_t end;

		if (n < (ssize_t)HEAD)
			break;
		end = window + (uint64_t)n;
		while (at + sizeof(magic) <= end) {
			const unsigned char *found = memmem(buffer->window + (at - window),
							    end - at, &magic, sizeof(magic));
			uint64_t place;

			if (!found) {
				/* The next one may cross the end of the window. */
				at = end - sizeof(magic) + 1;
				break;
			}
			place = window + (uint64_t)(found - buffer->window);
			at = place + 1;
			switch (look_at_chunk(file, buffer, place, size)) {
			case WHAT_CHUNK:
				return place;
			case WHAT_BROKEN:
				file->debt += buffer->chunk.size;
				if (file->debt > DEBT_FREE + DEBT_RATE * place)
					at = place + HEAD + buffer->chunk.size;
				break;
			case WHAT_UNREADABLE:
				return size;
			default:
				break;
			}
		}
	}
	return size;
}

static void set_tail(struct gpumon_reader_file *file, uint64_t tail, uint64_t size,
		     struct gpumon_capture_damage *damage)
{
	damage->truncated_bytes += tail - file->tail;
	file->tail = tail;
	file->tail_size = size;
}

/* Find the next chunk after something invalid. Returns whether there is one. */
static bool go_past(struct gpumon_reader_file *file, struct gpumon_reader_buffer *buffer,
		    enum what what, struct gpumon_capture_damage *damage)
{
	uint32_t size = buffer->chunk.size;
	struct stat stat;
	uint64_t end;
	uint64_t from;
	uint64_t place;

	if (fstat(file->fd, &stat))
		return false;
	end = (uint64_t)stat.st_size;
	if (what == WHAT_BROKEN) {
		uint64_t next = file->offset + HEAD + size;
		uint32_t magic = 0;

		/* The size is right if another chunk follows, or nothing. */
		if (next == end || (gpumon_read_at(file->fd, &magic, sizeof(magic), next) ==
					    (ssize_t)sizeof(magic) &&
				    magic == GPUMON_CHUNK_MAGIC)) {
			file->offset = next;
			return true;
		}
	}
	from = file->offset + 1;
	if (file->searched > from)
		from = file->searched;
	place = search_chunk(file, buffer, from, end);
	if (place < end) {
		file->offset = place;
		return true;
	}
	if (what == WHAT_BROKEN) {
		file->offset += HEAD + size;
		return true;
	}
	/* A chunk that begins in the last bytes may become complete when the file grows. */
	if (end > HEAD + GPUMON_CHUNK_SIZE_MAX && end - HEAD - GPUMON_CHUNK_SIZE_MAX > from)
		file->searched = end - HEAD - GPUMON_CHUNK_SIZE_MAX;
	set_tail(file, end > file->offset ? end - file->offset : 0, end, damage);
	return false;
}

static bool has_grown(struct gpumon_reader_file *file)
{
	struct stat stat;

	return fstat(file->fd, &stat) == 0 && (uint64_t)stat.st_size != file->tail_size;
}

void gpumon_reader_missing(struct gpumon_capture_damage *damage, uint64_t chunks)
{
	if (__builtin_add_overflow(damage->missing_chunks, chunks, &damage->missing_chunks))
		damage->missing_chunks = UINT64_MAX;
}

bool gpumon_reader_file_next(struct gpumon_reader_file *file, struct gpumon_reader_buffer *buffer,
			     struct gpumon_capture_damage *damage)
{
	uint64_t gap = 0;

	/* The tail was already searched. */
	if (file->offset >= file->stop || (file->tail && !has_grown(file))) {
		file->at_end = true;
		return false;
	}
	for (;;) {
		enum what what = look_at_chunk(file, buffer, file->offset, UINT64_MAX);

		if (what == WHAT_UNREADABLE) {
			file->unreadable = true;
			file->at_end = true;
			damage->unreadable_files++;
			return false;
		}
		if (what == WHAT_CHUNK)
			break;
		if (!go_past(file, buffer, what, damage)) {
			file->at_end = true;
			return false;
		}
		damage->broken_chunks++;
		file->skipped++;
		set_tail(file, 0, 0, damage);
	}
	set_tail(file, 0, 0, damage);
	if (buffer->chunk.sequence > file->sequence)
		gap = buffer->chunk.sequence - file->sequence;
	gpumon_reader_missing(damage, gap > file->skipped ? gap - file->skipped : 0);
	file->skipped = 0;
	file->sequence = buffer->chunk.sequence + 1;
	file->offset += HEAD + buffer->chunk.size;
	return true;
}

void gpumon_reader_file_rewind(struct gpumon_reader_file *file)
{
	file->at_end = file->unreadable;
	file->offset = 0;
	file->sequence = 0;
	file->skipped = 0;
	file->debt = 0;
	file->tail = 0;
	file->tail_size = 0;
	file->searched = 0;
}
