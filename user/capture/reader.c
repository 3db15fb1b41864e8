// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture_internal.h"
#include "lib/memory.h"
#include "lib/array.h"
#include "lib/files.h"
#include "pack.h"
#include "reader.h"

/*
 * One file of a capture. It is not mapped, since a file that is truncated meanwhile would kill the
 * reader.
 */

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

/* Kinds of content at an offset of a file. */
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

/* Reads a capture: a directory of files, record after record. */

/* Descriptors that stay open. Files of more processes are opened for each chunk. */
#define OPEN_MAX_KEPT 128

struct by_name {
	const char *name;
	uint32_t file;
};

struct gpumon_capture {
	int directory;
	struct gpumon_capture_contents contents;
	struct gpumon_reader_file *files;
	uint32_t n_files;
	struct by_name *names; /* of all files, sorted */
	uint32_t processes;
	uint32_t open;
	uint32_t turn; /* the file whose chunk is next, if it has one */
	bool finished; /* closed by its writer, and read completely */
	bool stopped;  /* new data is not looked for */
	struct gpumon_capture_damage damage;
	struct gpumon_capture_cursor cursor;
	uint32_t position; /* in the chunk */
	uint32_t size;	   /* of the chunk's records */
	uint64_t shift_ns;
	struct gpumon_reader_buffer buffer;
};

static bool is_driver(const char *name)
{
	return strcmp(name, GPUMON_CAPTURE_DRIVER) == 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct by_name *)a)->name, ((const struct by_name *)b)->name);
}

/* Find a file by name among @n known ones. NULL if there is none. */
static struct gpumon_reader_file *find_file(const struct gpumon_capture *capture, const char *name,
					    uint32_t n)
{
	struct by_name key = { .name = name };
	const struct by_name *found;

	if (!n)
		return NULL;
	found = bsearch(&key, capture->names, n, sizeof(key), compare_names);
	return found ? &capture->files[found->file] : NULL;
}

static void sort_names(struct gpumon_capture *capture)
{
	struct by_name *names =
		gpumon_reallocarray(capture->names, capture->n_files + 1, sizeof(*names));

	capture->names = names;
	for (uint32_t i = 0; i < capture->n_files; i++)
		names[i] = (struct by_name){ capture->files[i].name, i };
	qsort(names, capture->n_files, sizeof(*names), compare_names);
}

/* Compare numbers in names as numbers: process-9 before process-10. */
static int compare_files(const void *a, const void *b)
{
	return strverscmp(((const struct gpumon_reader_file *)a)->name,
			  ((const struct gpumon_reader_file *)b)->name);
}

static void add_file(struct gpumon_capture *capture, const char *entry, size_t length,
		     uint32_t *room)
{
	struct gpumon_reader_file *file = GPUMON_ARRAY_ADD(capture->files, capture->n_files, *room);

	file->fd = -1;
	file->stop = UINT64_MAX;
	file->name = gpumon_strndup(entry, length);
}

/* Add files that are not known yet. 0, or a negative errno. */
static int scan_chunks(struct gpumon_capture *capture)
{
	DIR *dir = gpumon_folder_entries(capture->directory, ".", 0);
	const struct dirent *entry;
	uint32_t known = capture->n_files;
	uint32_t room = known;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		size_t n = strlen(entry->d_name);
		size_t suffix = strlen(GPUMON_CAPTURE_SUFFIX);
		char name[256];

		if (n <= suffix || n >= sizeof(name) ||
		    strcmp(entry->d_name + n - suffix, GPUMON_CAPTURE_SUFFIX) != 0)
			continue;
		memcpy(name, entry->d_name, n - suffix);
		name[n - suffix] = '\0';
		if (!gpumon_capture_name_good(name))
			continue;
		if (find_file(capture, name, known))
			continue;
		add_file(capture, name, n - suffix, &room);
	}
	closedir(dir);
	if (capture->n_files == known)
		return 0;
	qsort(capture->files + known, capture->n_files - known, sizeof(*capture->files),
	      compare_files);
	sort_names(capture);
	for (uint32_t i = known; i < capture->n_files; i++) {
		bool driver = is_driver(capture->files[i].name);

		capture->files[i].process = driver ? GPUMON_PROCESS_DRIVER : capture->processes;
		capture->processes += !driver;
	}
	return 0;
}

/* False if it cannot be read, which is counted. */
static bool open_file(struct gpumon_capture *capture, struct gpumon_reader_file *file)
{
	char path[GPUMON_CAPTURE_NAME_MAX + sizeof(GPUMON_CAPTURE_SUFFIX)];
	struct stat stat;

	if (file->fd >= 0)
		return true;
	strcpy(path, file->name);
	strcat(path, GPUMON_CAPTURE_SUFFIX);
	/* O_NONBLOCK: opening a pipe would wait for a writer for ever. */
	file->fd = openat(capture->directory, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (file->fd < 0 || fstat(file->fd, &stat) || !S_ISREG(stat.st_mode)) {
		if (file->fd >= 0)
			close(file->fd);
		file->fd = -1;
		file->unreadable = true;
		file->at_end = true;
		capture->damage.unreadable_files++;
		return false;
	}
	capture->open++;
	return true;
}

static void close_file(struct gpumon_capture *capture, struct gpumon_reader_file *file)
{
	if (file->fd < 0)
		return;
	close(file->fd);
	file->fd = -1;
	capture->open--;
}

/*
 * Is there a file that begins with a chunk of our version? Otherwise, @newer is set to a newer
 * version, or 0.
 */
static bool has_known_chunk(struct gpumon_capture *capture, uint32_t *newer)
{
	*newer = 0;
	for (uint32_t i = 0; i < capture->n_files; i++) {
		uint32_t version;

		if (!open_file(capture, &capture->files[i]))
			continue;
		version = gpumon_reader_file_version(&capture->files[i], &capture->buffer);
		close_file(capture, &capture->files[i]);
		if (version >= GPUMON_CHUNK_PLAIN && version <= GPUMON_CAPTURE_VERSION)
			return true;
		if (version > GPUMON_CAPTURE_VERSION)
			*newer = version;
	}
	return false;
}

/* Compare capture.json with the files. 0, or -1 with the reason. */
static int judge_info(struct gpumon_capture *capture, const char *path, int ret)
{
	uint32_t newer;
	bool known;

	known = has_known_chunk(capture, &newer);
	if (!known && newer && ret != -ENOTSUP)
		return gpumon_capture_fail(
			-ENOTSUP, GPUMON_ERROR_UNSUPPORTED,
			"%s has records of format version %u, this gpumon reads up to %u: use the gpumon that made it",
			path, newer, GPUMON_CAPTURE_VERSION);
	if (ret == 0)
		return 0;
	/*
	 * One flipped bit in a line of text should not make gigabytes unreadable. A newer version may
	 * mean other things by the same records.
	 */
	if (known && ret != -ENOTSUP) {
		struct gpumon_capture_contents empty;

		gpumon_capture_info_free(&capture->contents);
		memset(&empty, 0, sizeof(empty));
		empty.info.command = gpumon_strdup("");
		capture->contents = empty;
		capture->damage.broken_info = true;
		return 0;
	}
	switch (ret) {
	case -ENOTSUP:
		return gpumon_capture_fail(
			ret, GPUMON_ERROR_UNSUPPORTED,
			"%s is of format version %u, this gpumon reads up to %u: use gpumon %s",
			path, capture->contents.info.version, GPUMON_CAPTURE_VERSION,
			*capture->contents.info.gpumon_version ?
				capture->contents.info.gpumon_version :
				"of the version that made it");
	case -ENOENT:
		return gpumon_capture_fail(
			ret, GPUMON_ERROR_UNSUPPORTED,
			"%s is not a capture (no %s): pass the directory that record -o created",
			path, GPUMON_CAPTURE_INFO);
	case -EPROTO:
	case -EMEDIUMTYPE:
		return gpumon_capture_fail(ret, GPUMON_ERROR_UNSUPPORTED,
					   "%s is not a capture: its %s was not written by gpumon",
					   path, GPUMON_CAPTURE_INFO);
	default:
		return gpumon_capture_fail(ret, GPUMON_ERROR_IO, "cannot read %s/%s: %s", path,
					   GPUMON_CAPTURE_INFO, strerror(-ret));
	}
}

int gpumon_capture_open(const char *path, struct gpumon_capture **capture)
{
	struct gpumon_capture *opened = gpumon_calloc(1, sizeof(*opened));
	int error;
	int ret;

	*capture = NULL;
	opened->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (opened->directory < 0) {
		error = errno;
		free(opened);
		return gpumon_capture_fail(-error, GPUMON_ERROR_IO,
					   "cannot open the capture %.300s: %s%s", path,
					   strerror(error),
					   error == ENOTDIR ? "; a capture is a directory" : "");
	}
	ret = scan_chunks(opened);
	if (ret) {
		gpumon_capture_free(opened);
		return gpumon_capture_fail(ret, GPUMON_ERROR_IO, "cannot read the capture %s: %s",
					   path, strerror(-ret));
	}
	ret = gpumon_capture_info_read(opened->directory, &opened->contents);
	if (judge_info(opened, path, ret)) {
		gpumon_capture_free(opened);
		return -1;
	}
	gpumon_capture_rewind(opened);
	*capture = opened;
	return 0;
}

const struct gpumon_capture_info *gpumon_capture_info(const struct gpumon_capture *capture)
{
	return &capture->contents.info;
}

uint32_t gpumon_capture_processes(const struct gpumon_capture *capture)
{
	return capture->processes;
}

const char *gpumon_capture_name(const struct gpumon_capture *capture, uint32_t process)
{
	for (uint32_t i = 0; i < capture->n_files; i++) {
		if (capture->files[i].process == process)
			return capture->files[i].name;
	}
	return NULL;
}

/* Load the next chunk of a file. False if it has none. */
static bool load_from(struct gpumon_capture *capture, struct gpumon_reader_file *file)
{
	bool loaded;

	if (file->at_end || !open_file(capture, file))
		return false;
	loaded = gpumon_reader_file_next(file, &capture->buffer, &capture->damage);
	if (capture->open > OPEN_MAX_KEPT || file->unreadable)
		close_file(capture, file);
	if (!loaded)
		return false;
	capture->cursor.process = file->process;
	capture->cursor.tid = capture->buffer.chunk.tid;
	capture->size = capture->buffer.size;
	capture->position = 0;
	return true;
}

/* Load the next chunk of the next process that has one. */
static bool load_chunk(struct gpumon_capture *capture)
{
	for (uint32_t i = 0; i < capture->n_files; i++) {
		uint32_t turn = (capture->turn + i) % capture->n_files;

		if (!load_from(capture, &capture->files[turn]))
			continue;
		capture->turn = (turn + 1) % capture->n_files;
		return true;
	}
	return false;
}

/*
 * At the end, check for new data. The state of the capture is read before the files, so that a
 * capture that is closed meanwhile is read to its end.
 */
static bool look_again(struct gpumon_capture *capture)
{
	struct gpumon_capture_contents contents;

	if (capture->contents.info.ended || capture->stopped)
		return false;
	if (!capture->damage.broken_info) {
		int ret = gpumon_capture_info_read(capture->directory, &contents);

		/* Change nothing else, since the caller has pointers to it. */
		if (ret == 0 && contents.info.ended) {
			capture->contents.info.ended = true;
			capture->contents.info.lost_records = contents.info.lost_records;
			capture->contents.files = contents.files;
			capture->contents.n_files = contents.n_files;
			contents.files = NULL;
			contents.n_files = 0;
		}
		gpumon_capture_info_free(&contents);
	}
	/* If the directory can no longer be read, only new processes are missed. */
	(void)scan_chunks(capture);
	for (uint32_t i = 0; i < capture->n_files; i++)
		capture->files[i].at_end = capture->files[i].unreadable;
	return true;
}

/* A closed capture was read completely: check that nothing is missing. */
static void finish_capture(struct gpumon_capture *capture)
{
	const struct gpumon_capture_contents *contents = &capture->contents;

	for (uint32_t i = 0; i < contents->n_files; i++) {
		const struct gpumon_reader_file *file =
			find_file(capture, contents->files[i].name, capture->n_files);
		uint64_t seen = file ? file->sequence + file->skipped : 0;

		if (contents->files[i].chunks > seen)
			gpumon_reader_missing(&capture->damage, contents->files[i].chunks - seen);
	}
	capture->finished = true;
}

static inline const struct gpumon_record *next_of_chunk(struct gpumon_capture *capture,
							struct gpumon_capture_cursor *cursor)
{
	while (capture->position != capture->size) {
		struct gpumon_record *record =
			(void *)(capture->buffer.records + capture->position);

		switch (gpumon_record_check(record, capture->size - capture->position)) {
		case GPUMON_RECORD_IMPOSSIBLE:
			capture->damage.broken_records++;
			capture->position = capture->size;
			continue;
		case GPUMON_RECORD_BROKEN:
			capture->damage.broken_records++;
			capture->position += record->size;
			continue;
		case GPUMON_RECORD_GOOD:
			break;
		}
		capture->position += record->size;
		if (record->type == GPUMON_RECORD_PAD)
			continue;
		if (!gpumon_record_name(record->type)) {
			capture->damage.unknown_records++;
			continue;
		}
		if (capture->shift_ns)
			gpumon_record_shift(record, capture->shift_ns);
		*cursor = capture->cursor;
		return record;
	}
	return NULL;
}

const struct gpumon_record *gpumon_capture_next_here(struct gpumon_capture *capture,
						     struct gpumon_capture_cursor *cursor)
{
	return next_of_chunk(capture, cursor);
}

const struct gpumon_record *gpumon_capture_next(struct gpumon_capture *capture,
						struct gpumon_capture_cursor *cursor)
{
	const struct gpumon_record *record;
	bool looked = false;

	while (!(record = next_of_chunk(capture, cursor))) {
		if (load_chunk(capture))
			continue;
		if (!looked && look_again(capture)) {
			looked = true;
			continue;
		}
		if (capture->contents.info.ended && !capture->finished)
			finish_capture(capture);
		return NULL;
	}
	return record;
}

bool gpumon_capture_chunk(struct gpumon_capture *capture, uint32_t process)
{
	for (uint32_t i = 0; i < capture->n_files; i++) {
		if (capture->files[i].process == process)
			return load_from(capture, &capture->files[i]);
	}
	return false;
}

void gpumon_capture_shift(struct gpumon_capture *capture, uint64_t by_ns)
{
	capture->shift_ns = by_ns;
}

void gpumon_capture_rewind(struct gpumon_capture *capture)
{
	bool broken_info = capture->damage.broken_info;

	memset(&capture->damage, 0, sizeof(capture->damage));
	capture->damage.broken_info = broken_info;
	for (uint32_t i = 0; i < capture->n_files; i++) {
		/* An unreadable file may be readable now. */
		capture->files[i].unreadable = false;
		gpumon_reader_file_rewind(&capture->files[i]);
	}
	capture->turn = 0;
	capture->finished = false;
	capture->position = 0;
	capture->size = 0;
}

void gpumon_capture_stop_here(struct gpumon_capture *capture)
{
	for (uint32_t i = 0; i < capture->n_files; i++)
		capture->files[i].stop = capture->files[i].offset;
	capture->stopped = true;
}

int gpumon_capture_again(const struct gpumon_capture *capture, struct gpumon_capture **again)
{
	struct gpumon_capture *opened = gpumon_calloc(1, sizeof(*opened));
	uint32_t room = 0;
	int error;

	*again = NULL;
	opened->directory = fcntl(capture->directory, F_DUPFD_CLOEXEC, 0);
	if (opened->directory < 0) {
		error = errno;
		gpumon_capture_free(opened);
		return gpumon_capture_fail(-error, GPUMON_ERROR_IO,
					   "cannot read the capture again: %s", strerror(error));
	}
	for (uint32_t i = 0; i < capture->n_files; i++) {
		const struct gpumon_reader_file *file = &capture->files[i];

		add_file(opened, file->name, strlen(file->name), &room);
		opened->files[i].process = file->process;
		opened->files[i].stop = file->stop;
	}
	opened->stopped = true;
	opened->shift_ns = capture->shift_ns;
	*again = opened;
	return 0;
}

const struct gpumon_capture_damage *gpumon_capture_damage(const struct gpumon_capture *capture)
{
	return &capture->damage;
}

void gpumon_capture_free(struct gpumon_capture *capture)
{
	if (!capture)
		return;
	for (uint32_t i = 0; i < capture->n_files; i++) {
		close_file(capture, &capture->files[i]);
		free(capture->files[i].name);
	}
	free(capture->files);
	free(capture->names);
	gpumon_capture_info_free(&capture->contents);
	if (capture->directory >= 0)
		close(capture->directory);
	free(capture);
}
