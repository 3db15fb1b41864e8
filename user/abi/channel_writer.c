// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The target's side of the channel. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "channel_writer.h"

/* Constants of newer kernel and C library headers than the library is built with. */
#ifndef F_GET_SEALS
#define F_GET_SEALS   1034
#define F_SEAL_SHRINK 0x0002
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

_Static_assert(sizeof(struct gpumon_block) + GPUMON_CHANNEL_RECORD_MAX == GPUMON_BLOCK_SIZE,
	       "a block's room");
_Static_assert(sizeof(struct gpumon_channel) <= GPUMON_BLOCK_SIZE, "blocks follow the head");

/*
 * A page that is empty in a forked child, however it was forked. A child may map a channel of its
 * own and then gets another token, so it never writes to its parent's channel. There is one page
 * for the whole life of the process, since threads may read it at any time.
 */
static void set_token(struct gpumon_channel_map *map)
{
	static uint32_t *page;
	static bool is_wiped;
	static uint32_t tokens;
	static uint32_t fallback;
	uint32_t *alive = __atomic_load_n(&page, __ATOMIC_ACQUIRE);
	uint32_t none = 0;

	if (!alive) {
		size_t size = (size_t)sysconf(_SC_PAGESIZE);
		uint32_t *made = mmap(NULL, size, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		/* Before Linux 4.14, only the library's own fork handler stops a child. */
		if (made != MAP_FAILED)
			is_wiped = !madvise(made, size, MADV_WIPEONFORK);
		else
			made = &fallback;
		if (__atomic_compare_exchange_n(&page, &alive, made, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			alive = made;
		else if (made != &fallback)
			munmap(made, size);
	}
	if (__atomic_load_n(alive, __ATOMIC_ACQUIRE) == 0)
		__atomic_compare_exchange_n(alive, &none,
					    __atomic_add_fetch(&tokens, 1, __ATOMIC_RELAXED), false,
					    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	/*
	 * The child does not write to the channel. It does not unmap it either: a sandbox may not
	 * allow that.
	 */
	if (is_wiped)
		(void)madvise(map->channel, map->size, MADV_DONTFORK);
	map->alive = alive;
	map->token = __atomic_load_n(alive, __ATOMIC_ACQUIRE);
}

bool gpumon_channel_is_alive(const struct gpumon_channel_map *map)
{
	return map->channel && __atomic_load_n(map->alive, __ATOMIC_RELAXED) == map->token;
}

int gpumon_channel_map(struct gpumon_channel_map *map, int fd)
{
	/* Do not use fstat(): its symbol needs a newer C library than some containers have. */
	off_t end = lseek(fd, 0, SEEK_END);
	int seals = fcntl(fd, F_GET_SEALS);
	struct gpumon_channel *channel;
	struct statfs system;
	uint32_t blocks;
	int ret;

	memset(map, 0, sizeof(*map));
	if (end < 0)
		return -errno;
	/*
	 * Require plain tmpfs: huge pages can run out when touched, which would kill the program.
	 */
	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstatfs(fd, &system) ||
	    system.f_type != TMPFS_MAGIC)
		return -EPERM;
	if (end < 2 * (off_t)GPUMON_BLOCK_SIZE)
		return -EPROTO;
	channel = mmap(NULL, (size_t)end, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (channel == MAP_FAILED)
		return -errno;
	blocks = __atomic_load_n(&channel->blocks, __ATOMIC_RELAXED);
	if (channel->magic != GPUMON_CHANNEL_MAGIC || channel->version != GPUMON_CHANNEL_VERSION ||
	    blocks == 0 || blocks > (uint64_t)end / GPUMON_BLOCK_SIZE - 1) {
		ret = -EPROTO;
		munmap(channel, (size_t)end);
		return ret;
	}
	/* Keep the channel out of the target's core dumps. */
	(void)madvise(channel, (size_t)end, MADV_DONTDUMP);
	map->channel = channel;
	map->size = (size_t)end;
	map->blocks = blocks;
	set_token(map);
	return 0;
}

void gpumon_channel_unmap(struct gpumon_channel_map *map)
{
	if (map->channel)
		munmap(map->channel, map->size);
	map->channel = NULL;
	map->blocks = 0;
}

void gpumon_channel_writer_begin(struct gpumon_channel_writer *writer,
				 struct gpumon_channel_map *map, uint32_t tid)
{
	memset(writer, 0, sizeof(*writer));
	writer->map = map;
	writer->tid = tid;
}

void gpumon_channel_lose(struct gpumon_channel_map *map, unsigned int cause, uint64_t count)
{
	struct gpumon_channel *channel = map->channel;

	if (!gpumon_channel_is_alive(map) ||
	    cause >= sizeof(channel->lost) / sizeof(channel->lost[0]))
		return;
	__atomic_fetch_add(&channel->lost[cause], count, __ATOMIC_RELAXED);
}

static struct gpumon_block *block_at(const struct gpumon_channel_map *map, uint32_t i)
{
	return (struct gpumon_block *)((char *)map->channel + ((size_t)i + 1) * GPUMON_BLOCK_SIZE);
}

static void give_back(struct gpumon_channel_writer *writer)
{
	if (writer->block)
		__atomic_store_n(&writer->block->state, GPUMON_BLOCK_FULL, __ATOMIC_RELEASE);
	writer->block = NULL;
	writer->used = 0;
}

/*
 * Take a free block. Get its number after taking it and after giving back the previous one: then a
 * recorder that sees the number also sees all of the previous block, and reads each thread's
 * records in order. The recorder has already set @used to 0. Setting it here would be too late,
 * since the recorder may already read it.
 */
static bool take_block(struct gpumon_channel_writer *writer)
{
	struct gpumon_channel_map *map = writer->map;
	struct gpumon_channel *channel = map->channel;
	uint64_t freed = __atomic_load_n(&channel->freed, __ATOMIC_ACQUIRE);
	uint32_t first;

	/*
	 * All blocks were taken and none was freed since. This makes a dead recorder cost nothing.
	 */
	if (writer->full && writer->full_at == freed)
		return false;
	first = __atomic_load_n(&channel->next_block, __ATOMIC_RELAXED) % map->blocks;
	for (uint32_t n = 0; n < map->blocks; n++) {
		uint32_t i = first + n < map->blocks ? first + n : first + n - map->blocks;
		struct gpumon_block *block = block_at(map, i);
		uint32_t expected = GPUMON_BLOCK_FREE;

		if (__atomic_load_n(&block->state, __ATOMIC_RELAXED) != GPUMON_BLOCK_FREE ||
		    !__atomic_compare_exchange_n(&block->state, &expected, GPUMON_BLOCK_FILLING,
						 false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&channel->next_block, i + 1, __ATOMIC_RELAXED);
		__atomic_store_n(&block->tid, writer->tid, __ATOMIC_RELAXED);
		__atomic_store_n(&block->sequence,
				 __atomic_fetch_add(&channel->next_sequence, 1, __ATOMIC_ACQ_REL),
				 __ATOMIC_RELAXED);
		writer->block = block;
		writer->used = 0;
		writer->full = false;
		return true;
	}
	writer->full = true;
	writer->full_at = freed;
	return false;
}

/* A compiler barrier is enough: a signal handler runs on the same CPU. */
static void signal_fence(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void *gpumon_channel_reserve(struct gpumon_channel_writer *writer, size_t size)
{
	struct gpumon_channel_map *map = writer->map;

	size = (size + 7) & ~(size_t)7;
	if (writer->busy || !size || size > GPUMON_CHANNEL_RECORD_MAX ||
	    !gpumon_channel_is_alive(map))
		return NULL;
	writer->busy = 1;
	signal_fence();
	if (!writer->block || size > GPUMON_CHANNEL_RECORD_MAX - writer->used) {
		give_back(writer);
		if (!take_block(writer)) {
			signal_fence();
			writer->busy = 0;
			return NULL;
		}
	}
	writer->reserved = (uint32_t)size;
	return (char *)(writer->block + 1) + writer->used;
}

void gpumon_channel_commit(struct gpumon_channel_writer *writer, size_t size)
{
	if (!writer->busy)
		return;
	if (size <= writer->reserved && size % 8 == 0) {
		writer->used += (uint32_t)size;
		__atomic_store_n(&writer->block->used, writer->used, __ATOMIC_RELEASE);
	}
	writer->reserved = 0;
	signal_fence();
	writer->busy = 0;
}

unsigned int gpumon_channel_why(const struct gpumon_channel_writer *writer, size_t size)
{
	if (writer->busy)
		return GPUMON_LOSS_INTERRUPTED;
	return size > GPUMON_CHANNEL_RECORD_MAX ? GPUMON_LOSS_TOO_LONG : GPUMON_LOSS_CHANNEL_FULL;
}

bool gpumon_channel_write(struct gpumon_channel_writer *writer, const void *record)
{
	const struct gpumon_record *head = record;
	void *room = gpumon_channel_reserve(writer, head->size);

	if (!room) {
		gpumon_channel_lose(writer->map, gpumon_channel_why(writer, head->size), 1);
		return false;
	}
	memcpy(room, record, head->size);
	gpumon_channel_commit(writer, head->size);
	return true;
}

void gpumon_channel_writer_end(struct gpumon_channel_writer *writer)
{
	if (writer->busy || !writer->map || !gpumon_channel_is_alive(writer->map))
		return;
	writer->busy = 1;
	signal_fence();
	give_back(writer);
	signal_fence();
	writer->busy = 0;
}
