// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The recorder's side of the channel. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/wait.h"
#include "channel_reader.h"
#include "capture_internal.h"

#define ROOM	GPUMON_CHANNEL_RECORD_MAX
#define N_CAUSE (sizeof(((struct gpumon_channel *)NULL)->lost) / sizeof(uint64_t))

_Static_assert(N_CAUSE >= GPUMON_LOSS_CAUSES, "each cause has its counter");

/* How much of a block was read since it was last freed. */
struct block_read {
	uint32_t position;
	bool broken; /* no valid record follows until it is freed */
};

/* A block with unread records. */
struct ready {
	uint64_t sequence;
	uint32_t block;
	uint32_t used;
	bool full;
};

/*
 * The kernel keeps a list of words for each thread, in which it notes that the thread has ended,
 * however that came. The word here is in front of its channel, in a page that the target does not
 * have: the kernel follows it.
 */
static struct {
	struct robust_list_head head;
	pid_t thread; /* whose list it is; 0: none has one */
} ends;

struct gpumon_channel_reader {
	int fd;
	void *memory;
	size_t front;
	size_t size;
	uint32_t blocks;
	struct gpumon_channel *channel;
	struct block_read *read;
	struct ready *ready;
	struct gpumon_channel_account account;
	uint64_t broken_told;
	void (*see)(void *data, uint32_t tid, void *records, size_t size);
	void *see_data;
	unsigned char copy[ROOM] __attribute__((aligned(8)));
};

static struct gpumon_block *block_at(const struct gpumon_channel_reader *reader, uint32_t i)
{
	return (struct gpumon_block *)((char *)reader->channel +
				       ((size_t)i + 1) * GPUMON_BLOCK_SIZE);
}

static struct robust_list *entry_of(const struct gpumon_channel_reader *reader)
{
	return (struct robust_list *)reader->channel - 1;
}

static void tell_own_end(struct gpumon_channel_reader *reader)
{
	pid_t thread = (pid_t)syscall(SYS_gettid);
	struct robust_list *entry = entry_of(reader);

	if (!ends.thread) {
		ends.head.list.next = &ends.head.list;
		ends.head.futex_offset =
			sizeof(*entry) + (long)offsetof(struct gpumon_channel, recorder);
		if (!syscall(SYS_set_robust_list, &ends.head, sizeof(ends.head)))
			ends.thread = thread;
	}
	if (ends.thread != thread)
		return;
	reader->channel->recorder = (uint32_t)thread;
	entry->next = ends.head.list.next;
	ends.head.list.next = entry;
}

static void leave_list(struct gpumon_channel_reader *reader)
{
	struct robust_list *entry = entry_of(reader), *at = &ends.head.list;

	while (ends.thread && at->next != &ends.head.list && at->next != entry)
		at = at->next;
	if (ends.thread && at->next == entry)
		at->next = entry->next;
	__atomic_store_n(&reader->channel->recorder, GPUMON_CHANNEL_RECORDER_GONE,
			 __ATOMIC_RELEASE);
}

static int make_memory(struct gpumon_channel_reader *reader)
{
	struct gpumon_channel *channel;

	reader->size = ((size_t)reader->blocks + 1) * GPUMON_BLOCK_SIZE;
	reader->fd = memfd_create("gpumon-channel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (reader->fd < 0 || ftruncate(reader->fd, (off_t)reader->size) ||
	    fcntl(reader->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	reader->front = (size_t)sysconf(_SC_PAGESIZE);
	reader->memory = mmap(NULL, reader->front + reader->size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (reader->memory == MAP_FAILED) {
		reader->memory = NULL;
		return -errno;
	}
	channel = mmap((char *)reader->memory + reader->front, reader->size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_FIXED, reader->fd, 0);
	if (channel == MAP_FAILED)
		return -errno;
	channel->magic = GPUMON_CHANNEL_MAGIC;
	channel->version = GPUMON_CHANNEL_VERSION;
	channel->blocks = reader->blocks;
	channel->command = GPUMON_CHANNEL_RUN;
	reader->channel = channel;
	tell_own_end(reader);
	return 0;
}

int gpumon_channel_create(uint32_t blocks, struct gpumon_channel_reader **reader)
{
	struct gpumon_channel_reader *made;
	int ret;

	*reader = NULL;
	if (!blocks || blocks > GPUMON_CHANNEL_BLOCKS_MAX)
		return gpumon_capture_fail(-EINVAL, GPUMON_ERROR_USAGE,
					   "a channel has 1 to %u blocks of 64 KiB, not %u",
					   GPUMON_CHANNEL_BLOCKS_MAX, blocks);
	made = gpumon_calloc(1, sizeof(*made));
	made->fd = -1;
	made->blocks = blocks;
	made->read = gpumon_calloc(blocks, sizeof(*made->read));
	made->ready = gpumon_calloc(blocks, sizeof(*made->ready));
	ret = make_memory(made);
	if (ret) {
		gpumon_channel_free(made);
		return gpumon_capture_fail(
			ret, GPUMON_ERROR_MEMORY,
			"cannot make shared memory of %u MiB for the target: %s%s", blocks / 16,
			strerror(-ret), ret == -EFBIG ? " (ulimit -f)" : "");
	}
	*reader = made;
	return 0;
}

int gpumon_channel_descriptor(const struct gpumon_channel_reader *reader)
{
	return reader->fd;
}

void gpumon_channel_set_command(struct gpumon_channel_reader *reader,
				enum gpumon_channel_command command)
{
	__atomic_store_n(&reader->channel->command, (uint32_t)command, __ATOMIC_RELEASE);
}

void gpumon_channel_set_sandbox(struct gpumon_channel_reader *reader,
				enum gpumon_channel_sandbox sandbox)
{
	__atomic_store_n(&reader->channel->sandbox, (uint32_t)sandbox, __ATOMIC_RELEASE);
	__atomic_fetch_add(&reader->channel->looks, 1, __ATOMIC_RELEASE);
}

bool gpumon_channel_stopped(const struct gpumon_channel_reader *reader)
{
	return __atomic_load_n(&reader->channel->stopped, __ATOMIC_ACQUIRE) != 0;
}

/* Free a block that was read completely. Its owner has left it, so nobody else writes it. */
static void free_block(struct gpumon_channel_reader *reader, uint32_t i)
{
	struct gpumon_block *block = block_at(reader, i);

	reader->read[i] = (struct block_read){ 0 };
	/* Clear this first: the next owner does not, see channel_writer.c. */
	__atomic_store_n(&block->used, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&block->state, GPUMON_BLOCK_FREE, __ATOMIC_RELEASE);
	__atomic_fetch_add(&reader->channel->freed, 1, __ATOMIC_RELEASE);
}

static void break_block(struct gpumon_channel_reader *reader, uint32_t i)
{
	if (!reader->read[i].broken)
		reader->account.broken++;
	reader->read[i].broken = true;
}

/*
 * Find the readable part of a block. Blocks with numbers from @bound on must wait: their threads
 * may have written to earlier blocks after those were checked.
 */
static bool look_at_block(struct gpumon_channel_reader *reader, uint32_t i, uint64_t bound,
			  struct ready *ready)
{
	const struct gpumon_block *block = block_at(reader, i);
	struct block_read *read = &reader->read[i];
	uint32_t state = __atomic_load_n(&block->state, __ATOMIC_ACQUIRE);
	uint32_t used;

	if (state == GPUMON_BLOCK_FREE) {
		*read = (struct block_read){ 0 };
		return false;
	}
	reader->account.busy++;
	/* Read this after the state: for a full block it is then final. */
	used = __atomic_load_n(&block->used, __ATOMIC_ACQUIRE);
	if (state > GPUMON_BLOCK_FULL || used > ROOM || used % 8 || used < read->position)
		break_block(reader, i);
	ready->block = i;
	ready->full = state == GPUMON_BLOCK_FULL;
	ready->used = read->broken ? read->position : used;
	ready->sequence = __atomic_load_n(&block->sequence, __ATOMIC_RELAXED);
	if (ready->used == read->position) {
		if (ready->full)
			free_block(reader, i);
		return false;
	}
	return bound == UINT64_MAX || ready->sequence < bound;
}

/* Count the whole records among the copied bytes. Anything else becomes padding. */
static uint32_t check_copy(struct gpumon_channel_reader *reader, uint32_t size, uint32_t i)
{
	uint32_t position = 0;

	while (position < size) {
		struct gpumon_record *record = (void *)(reader->copy + position);

		switch (gpumon_record_check(record, size - position)) {
		case GPUMON_RECORD_IMPOSSIBLE:
			break_block(reader, i);
			return position;
		case GPUMON_RECORD_BROKEN:
			reader->account.broken++;
			record->type = GPUMON_RECORD_PAD;
			break;
		case GPUMON_RECORD_GOOD:
			reader->account.records += record->type != GPUMON_RECORD_PAD;
			break;
		}
		position += record->size;
	}
	return position;
}

static void read_block(struct gpumon_channel_reader *reader, const struct ready *ready,
		       struct gpumon_capture_file *file)
{
	const struct gpumon_block *block = block_at(reader, ready->block);
	struct block_read *read = &reader->read[ready->block];
	uint32_t size = ready->used - read->position;
	uint32_t tid = __atomic_load_n(&block->tid, __ATOMIC_RELAXED);
	uint32_t good;

	memcpy(reader->copy, (const char *)(block + 1) + read->position, size);
	good = check_copy(reader, size, ready->block);
	read->position = ready->used;
	reader->account.bytes += good;
	if (reader->see && good)
		reader->see(reader->see_data, tid, reader->copy, good);
	/* The capture counts what the disk cannot hold. */
	(void)gpumon_capture_append_limited(file, tid, reader->copy, good);
	if (ready->full)
		free_block(reader, ready->block);
}

static int compare_ready(const void *a, const void *b)
{
	const struct ready *x = a;
	const struct ready *y = b;

	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

static uint64_t drain_blocks(struct gpumon_channel_reader *reader, struct gpumon_capture_file *file,
			     uint64_t bound)
{
	uint64_t before = reader->account.bytes;
	uint32_t n = 0;

	reader->account.busy = 0;
	for (uint32_t i = 0; i < reader->blocks; i++)
		n += look_at_block(reader, i, bound, &reader->ready[n]);
	if (reader->account.busy > reader->account.busy_max)
		reader->account.busy_max = reader->account.busy;
	qsort(reader->ready, n, sizeof(*reader->ready), compare_ready);
	for (uint32_t i = 0; i < n; i++)
		read_block(reader, &reader->ready[i], file);
	/* Start at the first block, since its memory may still be in the caches. */
	__atomic_store_n(&reader->channel->next_block, 0, __ATOMIC_RELAXED);
	return reader->account.bytes - before;
}

static void add_loss(struct gpumon_record_loss *losses, uint32_t *n, unsigned int cause,
		     uint64_t count)
{
	losses[(*n)++] = (struct gpumon_record_loss){
		.head = { .type = GPUMON_RECORD_LOSS, .size = sizeof(*losses) },
		.time_ns = gpumon_monotonic_ns(),
		.count = count,
		.cause = cause,
	};
}

/* Report counters of the target that grew. A counter that shrank was corrupted. */
static void tell_losses(struct gpumon_channel_reader *reader, struct gpumon_capture_file *file)
{
	struct gpumon_channel_account *account = &reader->account;
	struct gpumon_record_loss losses[N_CAUSE + 1];
	uint32_t n = 0;

	for (unsigned int cause = 1; cause < N_CAUSE; cause++) {
		uint64_t lost = __atomic_load_n(&reader->channel->lost[cause], __ATOMIC_RELAXED);

		if (lost <= account->lost[cause])
			continue;
		add_loss(losses, &n, cause, lost - account->lost[cause]);
		account->lost[cause] = lost;
	}
	if (account->broken > reader->broken_told) {
		add_loss(losses, &n, GPUMON_LOSS_BROKEN, account->broken - reader->broken_told);
		reader->broken_told = account->broken;
	}
	if (n)
		(void)gpumon_capture_append(file, 0, losses, n * sizeof(losses[0]));
}

uint64_t gpumon_channel_drain(struct gpumon_channel_reader *reader,
			      struct gpumon_capture_file *file)
{
	uint64_t bound = __atomic_load_n(&reader->channel->next_sequence, __ATOMIC_ACQUIRE);
	uint64_t bytes = drain_blocks(reader, file, bound);

	__atomic_fetch_add(&reader->channel->beat, 1, __ATOMIC_RELAXED);
	tell_losses(reader, file);
	return bytes;
}

void gpumon_channel_totals(const struct gpumon_channel_reader *reader,
			   struct gpumon_record_totals *totals)
{
	const struct gpumon_channel *channel = reader->channel;

	*totals = (struct gpumon_record_totals){
		.head = { .type = GPUMON_RECORD_TOTALS, .size = sizeof(*totals) },
		.time_ns = gpumon_monotonic_ns(),
		.launches = __atomic_load_n(&channel->launches, __ATOMIC_RELAXED),
		.captured = __atomic_load_n(&channel->captured, __ATOMIC_RELAXED),
		.kernels = __atomic_load_n(&channel->kernels, __ATOMIC_RELAXED),
		.copies = __atomic_load_n(&channel->copies, __ATOMIC_RELAXED),
		.sets = __atomic_load_n(&channel->sets, __ATOMIC_RELAXED),
		.device_bytes = __atomic_load_n(&channel->device_bytes, __ATOMIC_RELAXED),
	};
}

void gpumon_channel_finish(struct gpumon_channel_reader *reader, struct gpumon_capture_file *file)
{
	const struct gpumon_channel *channel = reader->channel;
	struct gpumon_record_totals totals;

	/* A thread that was still writing when it was told to stop may fill one more block. */
	drain_blocks(reader, file, __atomic_load_n(&channel->next_sequence, __ATOMIC_ACQUIRE));
	/* A hostile target can invent a number that is never reached, which would hide a block. */
	drain_blocks(reader, file, UINT64_MAX);
	tell_losses(reader, file);
	gpumon_channel_totals(reader, &totals);
	(void)gpumon_capture_append(file, 0, &totals, sizeof(totals));
}

void gpumon_channel_on_records(struct gpumon_channel_reader *reader,
			       void (*see)(void *data, uint32_t tid, void *records, size_t size),
			       void *data)
{
	reader->see = see;
	reader->see_data = data;
}

const struct gpumon_channel_account *
gpumon_channel_account(const struct gpumon_channel_reader *reader)
{
	return &reader->account;
}

void gpumon_channel_free(struct gpumon_channel_reader *reader)
{
	if (!reader)
		return;
	if (reader->channel) {
		leave_list(reader);
		(void)fallocate(reader->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				GPUMON_BLOCK_SIZE, (off_t)(reader->size - GPUMON_BLOCK_SIZE));
	}
	if (reader->memory)
		munmap(reader->memory, reader->front + reader->size);
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader->read);
	free(reader->ready);
	free(reader);
}
