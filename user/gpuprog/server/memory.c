// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/files.h"
#include "gpuprog/ptx/translate.h"
#include "memory.h"

int gpumon_gpuprog_shared_make(const char *name, size_t bytes, void **memory)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	if (!ftruncate(fd, (off_t)bytes) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (*memory != MAP_FAILED)
			return fd;
	}
	close(fd);
	return -1;
}

void *gpumon_gpuprog_shared_read(int fd, size_t size)
{
	struct stat status;
	void *copy = NULL;

	/* A sparse file of any size takes no memory until it is read. */
	if (fd >= 0 && size && size <= GPUMON_WIRE_IMAGE_MAX && !fstat(fd, &status) &&
	    S_ISREG(status.st_mode) && status.st_size >= 0 && (size_t)status.st_size >= size)
		copy = malloc(size);
	if (copy && gpumon_read_at(fd, copy, size, 0) == (ssize_t)size)
		return copy;
	free(copy);
	return NULL;
}

/* Alignment of CUDA's allocator. */
#define ALIGN 256u

_Static_assert(GPUMON_WIRE_KEPT_THREADS == GPUMON_GPUPROG_KEPT_WARPS * GPUMON_GPUPROG_KEPT_LANES,
	       "the library makes as many places as programs look for");
_Static_assert(GPUMON_WIRE_KEPT_WORDS >= GPUMON_GPUPROG_KEPT_TAGS + GPUMON_GPUPROG_MAX_KEPT,
	       "the library takes as many words");

static uint64_t place(uint64_t *end, uint64_t bytes)
{
	uint64_t at = *end;

	*end = (at + bytes + ALIGN - 1) / ALIGN * ALIGN;
	return at;
}

static int write_content(struct gpumon_gpuprog_layout *layout, const struct gpumon_gpuprog_map *map,
			 uint64_t at)
{
	struct gpumon_wire_settings *settings = &layout->settings;
	uint64_t size = gpumon_gpuprog_content_bytes(map);

	if (!size)
		return 0;
	settings->content[settings->content_n++] =
		(struct gpumon_wire_range){ .offset = at, .size = size };
	return pwrite(layout->content, map->data, size, (off_t)at) == (ssize_t)size ? 0 : -1;
}

static bool prints(const struct gpumon_gpuprog_object *object)
{
	for (uint32_t i = 0; i < object->programs_n; i++)
		if (gpumon_gpuprog_prints(&object->programs[i]))
			return true;
	return false;
}

int gpumon_gpuprog_layout_make(const struct gpumon_gpuprog_object *object, uint32_t shards,
			       uint32_t copy_ms, uint64_t shared,
			       struct gpumon_gpuprog_layout *layout, struct gpumon_error *err)
{
	struct gpumon_wire_settings *settings = &layout->settings;
	struct rlimit limit;
	uint64_t end = 0, control = place(&end, sizeof(struct gpumon_gpuprog_control));

	*layout = (struct gpumon_gpuprog_layout){ .content = -1, .shards = shards };
	settings->type = GPUMON_WIRE_SETTINGS;
	settings->version = GPUMON_WIRE_VERSION;
	settings->copy_ms = copy_ms;
	settings->shared = shared;
	settings->pid_place = control + offsetof(struct gpumon_gpuprog_control, pid_tgid);
	settings->kept_place = control + offsetof(struct gpumon_gpuprog_control, kept);
	settings->print_place = control + offsetof(struct gpumon_gpuprog_control, print);
	settings->places[settings->places_n++] = control;
	for (uint32_t i = 0; i < object->maps_n; i++)
		settings->places[settings->places_n++] =
			place(&end, gpumon_gpuprog_map_bytes(&object->maps[i], shards));
	for (uint32_t i = 0; i < object->programs_n; i++)
		if (gpumon_gpuprog_keeps(&object->programs[i]))
			settings->kept_words = GPUMON_GPUPROG_KEPT_TAGS + GPUMON_GPUPROG_MAX_KEPT;
	if (prints(object))
		settings->print =
			place(&end, gpumon_gpuprog_map_bytes(&gpumon_gpuprog_print_map, shards));
	settings->bytes = end;
	if (end > GPUMON_GPUPROG_MAX_MEMORY)
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
			"the maps would take %llu MiB on each GPU, and at most %llu are possible: use smaller max_entries",
			(unsigned long long)(end >> 20),
			(unsigned long long)(GPUMON_GPUPROG_MAX_MEMORY >> 20));
	/* A signal would end us. */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && end > limit.rlim_cur)
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -EFBIG, GPUMON_ERROR_MEMORY,
			"the maps take a file of %llu KiB in memory, and files may have %llu KiB at most: raise that (ulimit -f)",
			(unsigned long long)((end + 1023) >> 10),
			(unsigned long long)(limit.rlim_cur >> 10));
	layout->content = memfd_create("gpumon-maps", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (layout->content >= 0 && !ftruncate(layout->content, (off_t)end)) {
		uint32_t i = 0;

		while (i < object->maps_n &&
		       (shared >> i & 1 ||
			!write_content(layout, &object->maps[i], settings->places[1 + i])))
			i++;
		/* All processes get this content. */
		if (i == object->maps_n &&
		    !fcntl(layout->content, F_ADD_SEALS,
			   F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
			return 0;
	}
	gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_MEMORY,
			 "no memory for the first content of the maps: %s", strerror(errno));
	gpumon_gpuprog_layout_clear(layout);
	return -1;
}

void gpumon_gpuprog_layout_clear(struct gpumon_gpuprog_layout *layout)
{
	if (layout->content >= 0)
		close(layout->content);
	layout->content = -1;
}

/*
 * Slots that are tried for a key: many keys without room would take for ever if each looked at all
 * slots.
 */
#define TRIED_SLOTS 256

static void fold_values(const struct gpumon_gpuprog_map *map, uint32_t shards, uint8_t *to,
			const uint8_t *from)
{
	uint64_t step = gpumon_gpuprog_value_bytes(map),
		 shard_step = gpumon_gpuprog_shard_bytes(map);

	for (uint32_t shard = 0; shard < shards; shard++)
		for (uint64_t i = 0; i < map->max_entries; i++)
			gpumon_gpuprog_add_value(map, to + shard * shard_step + i * step,
						 from + shard * shard_step + i * step);
}

/* Adds to @to what programs have added to the first content of a map. */
static void fold_content(const struct gpumon_gpuprog_map *map, uint8_t *to, const uint8_t *from)
{
	uint64_t step = gpumon_gpuprog_value_bytes(map);

	for (uint64_t i = 0; i < map->max_entries; i++) {
		gpumon_gpuprog_add_value(map, to + i * step, from + i * step);
		if (map->data)
			gpumon_gpuprog_take_value(map, to + i * step, map->data + i * step);
	}
}

/* Readers look at all slots, so that a key may be in any of those that are tried. */
static bool fold_key(const struct gpumon_gpuprog_map *map, uint8_t *to, const void *key,
		     const void *value)
{
	struct gpumon_gpuprog_hash hash = gpumon_gpuprog_hash_layout(map);
	uint64_t at = gpumon_gpuprog_key_hash(key, map->key_size), ready, state;

	ready = (at & ~3ull) | GPUMON_GPUPROG_SLOT_READY;
	for (uint64_t i = 0; i < hash.slots && i < TRIED_SLOTS; i++, at++) {
		uint8_t *slot = to + (at & (hash.slots - 1)) * hash.slot_bytes;

		memcpy(&state, slot, sizeof(state));
		if (!state) {
			memcpy(slot, &ready, sizeof(ready));
			memcpy(slot + hash.key, key, map->key_size);
		} else if (memcmp(slot + hash.key, key, map->key_size) != 0) {
			continue;
		}
		gpumon_gpuprog_add_value(map, slot + hash.value, value);
		return true;
	}
	return false;
}

/* Return: keys without room. */
static uint64_t fold_hash(const struct gpumon_gpuprog_map *map, uint8_t *to, const uint8_t *from)
{
	uint64_t place = 0, lost = 0;
	const void *key, *value;

	while (gpumon_gpuprog_hash_next(map, from, &place, &key, &value))
		lost += !fold_key(map, to, key, value);
	return lost;
}

void gpumon_gpuprog_add_up(const struct gpumon_gpuprog_object *object,
			   const struct gpumon_gpuprog_layout *layout, uint8_t *to,
			   const uint8_t *from)
{
	const struct gpumon_wire_settings *settings = &layout->settings;
	struct gpumon_gpuprog_control sum, more;

	memcpy(&sum, to + settings->places[0], sizeof(sum));
	memcpy(&more, from + settings->places[0], sizeof(more));
	for (uint32_t i = 0; i < GPUMON_GPUPROG_LOSS_CAUSES; i++)
		sum.lost[i] += more.lost[i];
	for (uint32_t i = 0; i < object->maps_n; i++) {
		const struct gpumon_gpuprog_map *map = &object->maps[i];
		uint64_t place = settings->places[1 + i];

		if (settings->shared >> i & 1)
			continue;
		switch (map->kind) {
		case GPUMON_GPUPROG_MAP_SM_ARRAY:
		case GPUMON_GPUPROG_MAP_HISTOGRAM:
			fold_values(map, layout->shards, to + place, from + place);
			break;
		case GPUMON_GPUPROG_MAP_ARRAY:
		case GPUMON_GPUPROG_MAP_THREAD_ARRAY:
			fold_content(map, to + place, from + place);
			break;
		case GPUMON_GPUPROG_MAP_HASH:
			sum.lost[GPUMON_GPUPROG_LOST_HASH_FULL] +=
				fold_hash(map, to + place, from + place);
			break;
		case GPUMON_GPUPROG_MAP_DATA:
			if (!map->read_only)
				fold_content(map, to + place, from + place);
			break;
		default:
			break;
		}
	}
	memcpy(to + settings->places[0], &sum, sizeof(sum));
}

static bool is_ring(const struct gpumon_gpuprog_map *map)
{
	return map->kind == GPUMON_GPUPROG_MAP_RING;
}

void gpumon_gpuprog_contexts_init(struct gpumon_gpuprog_contexts *contexts,
				  const struct gpumon_gpuprog_object *object,
				  const struct gpumon_gpuprog_layout *layout)
{
	memset(contexts, 0, sizeof(*contexts));
	contexts->object = object;
	contexts->layout = layout;
	contexts->sum = -1;
	contexts->records = gpumon_calloc(object->maps_n + 1, sizeof(*contexts->records));
	for (uint32_t i = 0; i < object->maps_n; i++)
		if (is_ring(&object->maps[i]))
			gpumon_gpuprog_records_init(&contexts->records[i], &object->maps[i],
						    GPUMON_GPUPROG_KEPT_BYTES);
	gpumon_gpuprog_records_init(&contexts->prints, &gpumon_gpuprog_print_map,
				    GPUMON_GPUPROG_KEPT_BYTES);
}

static void clear_context(const struct gpumon_gpuprog_contexts *contexts,
			  struct gpumon_gpuprog_context_memory *context)
{
	for (uint32_t j = 0; j <= contexts->object->maps_n; j++)
		gpumon_gpuprog_drain_clear(&context->drains[j]);
	free(context->drains);
	free(context->images);
	munmap(context->memory, contexts->layout->settings.bytes);
	context->drains = NULL;
	context->images = NULL;
	context->memory = NULL;
}

void gpumon_gpuprog_contexts_clear(struct gpumon_gpuprog_contexts *contexts)
{
	uint32_t maps_n = contexts->object->maps_n;

	for (uint32_t i = 0; i < contexts->contexts_n; i++)
		if (contexts->contexts[i].memory)
			clear_context(contexts, &contexts->contexts[i]);
	for (uint32_t i = 0; i < maps_n; i++)
		gpumon_gpuprog_records_clear(&contexts->records[i]);
	free(contexts->records);
	gpumon_gpuprog_records_clear(&contexts->prints);
	gpumon_pool_clear(&contexts->pool);
}

/* Return: the descriptor of its memory, or -1. */
static int make_context(struct gpumon_gpuprog_contexts *contexts, const char *name)
{
	const struct gpumon_wire_settings *settings = &contexts->layout->settings;
	uint32_t maps_n = contexts->object->maps_n;
	struct gpumon_gpuprog_context_memory *context;
	void *memory;
	int fd;

	if (contexts->contexts_n == GPUMON_GPUPROG_MAX_CONTEXTS)
		return -1;
	fd = gpumon_gpuprog_shared_make("gpumon-context", settings->bytes, &memory);
	if (fd < 0)
		return -1;
	context = &contexts->contexts[contexts->contexts_n];
	context->memory = memory;
	context->name = gpumon_pool_text(&contexts->pool, name);
	context->drains = gpumon_calloc(maps_n + 1, sizeof(*context->drains));
	context->images = gpumon_calloc(maps_n + 1, sizeof(*context->images));
	for (uint32_t i = 0; i < maps_n; i++) {
		context->images[i] = context->memory + settings->places[1 + i];
		if (is_ring(&contexts->object->maps[i]))
			gpumon_gpuprog_drain_init(&context->drains[i], &contexts->object->maps[i],
						  contexts->layout->shards);
	}
	gpumon_gpuprog_drain_init(&context->drains[maps_n], &gpumon_gpuprog_print_map,
				  contexts->layout->shards);
	contexts->contexts_n++;
	return fd;
}

/* The one for contexts that have ended; NULL: it has no memory. */
static struct gpumon_gpuprog_context_memory *sum_context(struct gpumon_gpuprog_contexts *contexts)
{
	const struct gpumon_gpuprog_object *object = contexts->object;
	struct gpumon_gpuprog_context_memory *context;
	int fd;

	if (contexts->sum >= 0)
		return &contexts->contexts[contexts->sum];
	fd = make_context(contexts, "contexts that have ended");
	if (fd < 0)
		return NULL;
	close(fd);
	contexts->sum = (int32_t)contexts->contexts_n - 1;
	context = &contexts->contexts[contexts->sum];
	context->settled = true;
	for (uint32_t i = 0; i < object->maps_n; i++)
		if (object->maps[i].data && !(contexts->layout->settings.shared >> i & 1))
			memcpy(context->memory + contexts->layout->settings.places[1 + i],
			       object->maps[i].data,
			       gpumon_gpuprog_content_bytes(&object->maps[i]));
	return context;
}

/* Add the oldest of those that have ended to the others. */
static void fold_oldest(struct gpumon_gpuprog_contexts *contexts)
{
	struct gpumon_gpuprog_context_memory *oldest = NULL, *sum;
	uint32_t ended = 0;

	for (uint32_t i = contexts->contexts_n; i-- > 0;) {
		if (!contexts->contexts[i].ended || !contexts->contexts[i].memory)
			continue;
		ended++;
		oldest = &contexts->contexts[i];
	}
	sum = ended > GPUMON_GPUPROG_ENDED_CONTEXTS ? sum_context(contexts) : NULL;
	if (!sum)
		return;
	gpumon_gpuprog_add_up(contexts->object, contexts->layout, sum->memory, oldest->memory);
	clear_context(contexts, oldest);
}

void gpumon_gpuprog_contexts_ended(struct gpumon_gpuprog_contexts *contexts, uint32_t number)
{
	if (number >= contexts->contexts_n || contexts->contexts[number].ended)
		return;
	contexts->contexts[number].ended = true;
	fold_oldest(contexts);
}

/* Processes end without a word. */
static void find_ended(struct gpumon_gpuprog_contexts *contexts)
{
	for (uint32_t i = 0; i < contexts->contexts_n; i++) {
		const struct gpumon_gpuprog_context_memory *context = &contexts->contexts[i];

		if (context->pid > 0 && !context->ended && kill(context->pid, 0) && errno == ESRCH)
			gpumon_gpuprog_contexts_ended(contexts, i);
	}
}

int gpumon_gpuprog_contexts_add(struct gpumon_gpuprog_contexts *contexts, const char *name,
				pid_t pid, int *fd)
{
	find_ended(contexts);
	*fd = make_context(contexts, name);
	if (*fd < 0)
		return -1;
	contexts->contexts[contexts->contexts_n - 1].pid = pid;
	return (int)contexts->contexts_n - 1;
}

/**
 * struct reader - reads one ring of one context
 * @records: where its records go
 * @device: number of the context
 * @place: of the ring in the memory
 */
struct reader {
	struct gpumon_gpuprog_records *records;
	uint32_t device;
	uint64_t place;
	void (*clear)(void *argument, uint64_t offset, uint64_t size);
	void *argument;
};

static void take_record(void *argument, const void *data, uint32_t size)
{
	const struct reader *reader = argument;

	gpumon_gpuprog_records_add(reader->records, reader->device, data, size);
}

static void take_clear(void *argument, uint64_t offset, uint64_t size)
{
	const struct reader *reader = argument;

	if (reader->clear)
		reader->clear(reader->argument, reader->place + offset, size);
}

static void read_ring(const struct gpumon_gpuprog_contexts *contexts,
		      struct gpumon_gpuprog_context_memory *context, uint32_t index,
		      const struct gpumon_gpuprog_map *map, struct reader *reader, bool quiet)
{
	struct gpumon_gpuprog_drain *drain = &context->drains[index];

	drain->record = take_record;
	drain->clear = take_clear;
	drain->arg = reader;
	gpumon_gpuprog_ring_drain(drain, map, contexts->layout->shards,
				  context->memory + reader->place, quiet);
}

void gpumon_gpuprog_contexts_copied(struct gpumon_gpuprog_contexts *contexts, uint32_t number,
				    bool quiet,
				    void (*clear)(void *argument, uint64_t offset, uint64_t size),
				    void *argument)
{
	const struct gpumon_wire_settings *settings = &contexts->layout->settings;
	const struct gpumon_gpuprog_object *object = contexts->object;
	struct reader reader = { .device = number, .clear = clear, .argument = argument };
	struct gpumon_gpuprog_context_memory *context;

	if (number >= contexts->contexts_n || !contexts->contexts[number].drains)
		return;
	context = &contexts->contexts[number];
	context->settled = quiet;
	for (uint32_t i = 0; i < object->maps_n; i++) {
		if (!is_ring(&object->maps[i]))
			continue;
		reader.records = &contexts->records[i];
		reader.place = settings->places[1 + i];
		read_ring(contexts, context, i, &object->maps[i], &reader, quiet);
	}
	if (!settings->print)
		return;
	reader.records = &contexts->prints;
	reader.place = settings->print;
	read_ring(contexts, context, object->maps_n, &gpumon_gpuprog_print_map, &reader, quiet);
}

void gpumon_gpuprog_contexts_clock(struct gpumon_gpuprog_contexts *contexts, uint32_t number,
				   int64_t offset_ns, uint64_t error_ns)
{
	struct gpumon_gpuprog_clock *clock;
	int64_t low = offset_ns - (int64_t)error_ns, high = offset_ns + (int64_t)error_ns;

	if (number >= contexts->contexts_n || error_ns > INT64_MAX / 4 ||
	    offset_ns > INT64_MAX / 4 || offset_ns < INT64_MIN / 4)
		return;
	clock = &contexts->contexts[number].clock;
	if (clock->known) {
		int64_t before = (int64_t)clock->error_ns;

		low = clock->offset_ns - before < low ? clock->offset_ns - before : low;
		high = clock->offset_ns + before > high ? clock->offset_ns + before : high;
	}
	clock->known = true;
	clock->error_ns = ((uint64_t)high - (uint64_t)low + 1) / 2;
	clock->offset_ns = low + (int64_t)clock->error_ns;
}

void gpumon_gpuprog_contexts_share(struct gpumon_gpuprog_contexts *contexts, uint32_t map,
				   const void *memory)
{
	for (uint32_t i = 0; i < contexts->contexts_n; i++) {
		if (!contexts->contexts[i].images)
			continue;
		contexts->contexts[i].images[map] = memory;
		return;
	}
}

struct gpumon_gpuprog_device *
gpumon_gpuprog_contexts_devices(const struct gpumon_gpuprog_contexts *contexts)
{
	struct gpumon_gpuprog_device *devices =
		gpumon_calloc(contexts->contexts_n + 1, sizeof(*devices));

	for (uint32_t i = 0; i < contexts->contexts_n; i++) {
		devices[i].name = contexts->contexts[i].name;
		devices[i].shards = contexts->layout->shards;
		devices[i].images = contexts->contexts[i].images;
		devices[i].clock = contexts->contexts[i].clock;
		if (!contexts->contexts[i].memory)
			continue;
		memcpy(&devices[i].control,
		       contexts->contexts[i].memory + contexts->layout->settings.places[0],
		       sizeof(devices[i].control));
	}
	return devices;
}
