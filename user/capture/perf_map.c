// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/files.h"
#include "lib/wait.h"
#include "elf_find.h"
#include "perf_map.h"

#define FILE_MAX     ((size_t)256 << 20)
#define NAME_MAX_LEN 4096	       /* of a function; longer names are cut */
#define PIECES_MAX   ((size_t)4 << 20) /* lines; each takes about 20 times its size in the file */
#define REREAD_NS    1000000000u

struct piece {
	uint64_t start;
	uint64_t end;
	uint32_t name; /* offset in the text */
	uint16_t length;
};

/* Addresses for which a line is the last one that covers them. */
struct span {
	uint64_t start;
	uint64_t end;
	uint32_t piece;
};

struct gpumon_perf_map {
	char *path;
	char *text;
	struct piece *pieces;
	size_t n_pieces;
	struct span *spans; /* sorted by address, without overlaps */
	size_t n_spans;
	struct stat read; /* the file when it was read */
	uint64_t read_ns; /* time of reading, 0: never */
};

struct gpumon_perf_map *gpumon_perf_map_new(const char *path)
{
	struct gpumon_perf_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->path = strdup(path);
	if (!map->path) {
		free(map);
		return NULL;
	}
	return map;
}

/* Read hex digits with or without 0x and trailing blanks. False if there are none or too many. */
static bool read_hex(const char **at, const char *end, uint64_t *number)
{
	const char *p = *at;
	int digits = 0;

	if (end - p >= 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	*number = 0;
	for (; p < end; p++, digits++) {
		unsigned int digit;

		if (*p >= '0' && *p <= '9')
			digit = (unsigned int)(*p - '0');
		else if ((*p | 32) >= 'a' && (*p | 32) <= 'f')
			digit = (unsigned int)((*p | 32) - 'a' + 10);
		else
			break;
		if (*number >> 60)
			return false;
		*number = *number << 4 | digit;
	}
	if (!digits || p == end || (*p != ' ' && *p != '\t'))
		return false;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	*at = p;
	return true;
}

static bool read_line(const char *text, const char *line, const char *end, struct piece *piece)
{
	uint64_t size;
	size_t length;

	if (!read_hex(&line, end, &piece->start) || !read_hex(&line, end, &size) || !size ||
	    size > UINT64_MAX - piece->start)
		return false;
	piece->end = piece->start + size;
	while (end > line && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	length = (size_t)(end - line);
	if (!length)
		return false;
	piece->name = (uint32_t)(line - text);
	piece->length = length > NAME_MAX_LEN ? NAME_MAX_LEN : (uint16_t)length;
	return true;
}

static int read_lines(struct gpumon_perf_map *map, size_t size)
{
	const char *text = map->text, *end = text + size;
	size_t lines = 1;

	for (const char *p = text; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		lines++;
	if (lines > PIECES_MAX)
		lines = PIECES_MAX;
	map->pieces = calloc(lines, sizeof(*map->pieces));
	if (!map->pieces)
		return -1;
	for (const char *line = text; line < end && map->n_pieces < lines;) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		/* The last line is still being written. Read it when it is complete. */
		if (!stop)
			break;
		if (read_line(text, line, stop, &map->pieces[map->n_pieces]))
			map->n_pieces++;
		line = stop + 1;
	}
	return 0;
}

struct edge {
	uint64_t address;
	uint32_t piece;
	bool end;
};

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->piece < y->piece ? -1 : x->piece > y->piece;
}

/* The pieces that have begun, with the latest line on top. Ended ones are removed lazily. */
struct heap {
	uint32_t *items;
	size_t count;
};

static void heap_push(struct heap *heap, uint32_t item)
{
	size_t at = heap->count++;

	for (; at && heap->items[(at - 1) / 2] < item; at = (at - 1) / 2)
		heap->items[at] = heap->items[(at - 1) / 2];
	heap->items[at] = item;
}

static void heap_pop(struct heap *heap)
{
	uint32_t item = heap->items[--heap->count];
	size_t at = 0, child;

	while ((child = at * 2 + 1) < heap->count) {
		if (child + 1 < heap->count && heap->items[child + 1] > heap->items[child])
			child++;
		if (heap->items[child] <= item)
			break;
		heap->items[at] = heap->items[child];
		at = child;
	}
	heap->items[at] = item;
}

/* One piece covers everything from one edge to the next. */
static int lay_out(struct gpumon_perf_map *map)
{
	size_t n_edges = map->n_pieces * 2;
	struct edge *edges = calloc(n_edges + 1, sizeof(*edges));
	struct heap heap = { .items = calloc(map->n_pieces + 1, sizeof(*heap.items)) };
	int err = -1;

	map->spans = calloc(n_edges + 1, sizeof(*map->spans));
	if (!edges || !heap.items || !map->spans)
		goto out;
	for (size_t i = 0; i < map->n_pieces; i++) {
		edges[i * 2] = (struct edge){ map->pieces[i].start, (uint32_t)i, false };
		edges[i * 2 + 1] = (struct edge){ map->pieces[i].end, (uint32_t)i, true };
	}
	qsort(edges, n_edges, sizeof(*edges), compare_edges);
	for (size_t i = 0; i + 1 < n_edges; i++) {
		uint64_t start = edges[i].address, end = edges[i + 1].address;
		struct span *last = map->n_spans ? &map->spans[map->n_spans - 1] : NULL;

		if (!edges[i].end)
			heap_push(&heap, edges[i].piece);
		if (start == end)
			continue;
		while (heap.count && map->pieces[heap.items[0]].end <= start)
			heap_pop(&heap);
		if (!heap.count)
			continue;
		if (last && last->end == start && last->piece == heap.items[0])
			last->end = end;
		else
			map->spans[map->n_spans++] = (struct span){ start, end, heap.items[0] };
	}
	err = 0;
out:
	free(edges);
	free(heap.items);
	return err;
}

static void forget_map(struct gpumon_perf_map *map)
{
	free(map->text);
	free(map->pieces);
	free(map->spans);
	map->text = NULL;
	map->pieces = NULL;
	map->spans = NULL;
	map->n_pieces = 0;
	map->n_spans = 0;
}

/* Everybody can write to /tmp: a link or a pipe there may be another user's trap. */
static int open_map(const char *root, const char *path, struct stat *st)
{
	return gpumon_elf_open_no_link(root, path, st);
}

static void load_map(struct gpumon_perf_map *map)
{
	struct stat st;
	ssize_t have;
	size_t size;
	int fd;

	fd = open_map("", map->path, &st);
	if (fd < 0)
		return;
	if (map->read_ns && st.st_size == map->read.st_size && st.st_ino == map->read.st_ino &&
	    st.st_mtim.tv_sec == map->read.st_mtim.tv_sec &&
	    st.st_mtim.tv_nsec == map->read.st_mtim.tv_nsec)
		goto out;
	forget_map(map);
	map->read = st;
	size = (size_t)st.st_size;
	if (size > FILE_MAX)
		size = FILE_MAX;
	map->text = malloc(size + 1);
	have = map->text ? gpumon_read_at(fd, map->text, size, 0) : -1;
	if (have < 0 || read_lines(map, (size_t)have) || lay_out(map))
		forget_map(map);
out:
	close(fd);
}

static const struct span *find_span(const struct gpumon_perf_map *map, uint64_t address)
{
	size_t low = 0, high = map->n_spans;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->spans[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && map->spans[low - 1].end > address ? &map->spans[low - 1] : NULL;
}

const char *gpumon_perf_map_find(struct gpumon_perf_map *map, uint64_t address, size_t *length)
{
	const struct span *span = find_span(map, address);
	uint64_t now;

	if (!span) {
		now = gpumon_monotonic_ns();
		if (!map->read_ns || now - map->read_ns > REREAD_NS) {
			load_map(map);
			map->read_ns = now;
			span = find_span(map, address);
		}
	}
	if (!span)
		return NULL;
	*length = map->pieces[span->piece].length;
	return map->text + map->pieces[span->piece].name;
}

int gpumon_perf_map_open(const char *root, unsigned int pid, const uid_t *owner)
{
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	fd = open_map(root, path, &st);
	if (fd < 0 || !owner || st.st_uid == *owner || !st.st_uid)
		return fd;
	close(fd);
	return -EPERM;
}

int gpumon_perf_map_write(int from, int (*make)(void *data), void *data)
{
	FILE *copy = NULL;
	struct stat st;
	ssize_t have;
	size_t size;
	int fd, err = 0;
	char *text;

	if (fstat(from, &st))
		return -errno;
	size = (size_t)st.st_size < FILE_MAX ? (size_t)st.st_size : FILE_MAX;
	text = malloc(size + 1);
	if (!text)
		return -ENOMEM;
	/* A child that writes a capture shares the descriptor's position. */
	have = gpumon_read_at(from, text, size, 0);
	if (have < 0) {
		err = -errno;
		free(text);
		return err;
	}
	size = (size_t)have;
	for (const char *line = text, *stop; line < text + size; line = stop + 1) {
		struct piece piece;

		stop = memchr(line, '\n', (size_t)(text + size - line));
		if (!stop)
			break;
		if (!read_line(text, line, stop, &piece))
			continue;
		if (!copy) {
			fd = make(data);
			copy = fd < 0 ? NULL : fdopen(fd, "w");
			if (!copy) {
				err = -errno;
				if (fd >= 0)
					close(fd);
				break;
			}
		}
		fwrite(line, 1, (size_t)(stop + 1 - line), copy);
	}
	free(text);
	if (!copy)
		return err;
	if (ferror(copy))
		err = -EIO;
	if (fclose(copy) && !err)
		err = -errno;
	if (!err && (size_t)st.st_size > FILE_MAX)
		err = -EFBIG;
	return err ? err : 1;
}

void gpumon_perf_map_free(struct gpumon_perf_map *map)
{
	if (!map)
		return;
	forget_map(map);
	free(map->path);
	free(map);
}
