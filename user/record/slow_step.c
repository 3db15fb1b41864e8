// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "lib/memory.h"
#include "lib/map.h"
#include "slow_step.h"

/* Threads, threads with ranges of one domain, and ranges with an id. A power of two. */
#define ENTRIES 4096
/* Number of slots that an entry may be in. */
#define TRIES 8
/* Ranges within each other of which the times are known. */
#define DEPTH 16

/* Kind of an entry, part of its key. */
enum entry_kind {
	ENTRY_LAUNCHES = 1,
	ENTRY_PUSHED,
	ENTRY_STARTED,
};

/**
 * struct entry - what a thread did last
 * @key: 0 for a free one
 * @last_ns: time of the last event
 * @depth: number of open ranges
 * @began_ns: when the outermost of them began
 */
struct entry {
	uint64_t key;
	uint64_t last_ns;
	uint32_t depth;
	uint64_t began_ns[DEPTH];
};

struct gpumon_slow {
	uint64_t limit_ns;
	bool found;
	char text[128];
	struct entry entries[ENTRIES];
};

struct gpumon_slow *gpumon_slow_new(uint64_t limit_ns)
{
	struct gpumon_slow *slow = gpumon_calloc(1, sizeof(*slow));

	slow->limit_ns = limit_ns;
	return slow;
}

/* The entry of a key, or the one that gives way to it. */
static struct entry *find_entry(struct gpumon_slow *slow, uint64_t process, enum entry_kind kind,
				uint64_t id, uint32_t domain)
{
	const uint64_t parts[] = { process, kind, id, domain };
	uint64_t key = gpumon_hash_bytes(parts, sizeof(parts)) | 1;
	struct entry *oldest = NULL;

	for (unsigned int i = 0; i < TRIES; i++) {
		struct entry *entry = &slow->entries[((key >> 1) + i) % ENTRIES];

		if (entry->key == key)
			return entry;
		if (!oldest || entry->last_ns < oldest->last_ns)
			oldest = entry;
	}
	*oldest = (struct entry){ .key = key };
	return oldest;
}

static void look_at_time(struct gpumon_slow *slow, const char *what, uint64_t from_ns,
			 uint64_t until_ns, uint32_t tid, int pid)
{
	if (slow->found || !from_ns || until_ns < from_ns || until_ns - from_ns < slow->limit_ns)
		return;
	slow->found = true;
	snprintf(slow->text, sizeof(slow->text), "%s %llu ms (thread %u of process %d)", what,
		 (unsigned long long)((until_ns - from_ns) / 1000000), tid, pid);
}

static void see_launch(struct gpumon_slow *slow, uint64_t process, int pid,
		       const struct gpumon_record *record)
{
	struct gpumon_record_launch launch;
	struct entry *entry;

	gpumon_record_copy(&launch, sizeof(launch), record);
	entry = find_entry(slow, process, ENTRY_LAUNCHES, launch.tid, 0);
	look_at_time(slow, "no launch for", entry->last_ns, launch.start_ns, launch.tid, pid);
	entry->last_ns = launch.start_ns;
}

static void end_range(struct gpumon_slow *slow, struct entry *entry, uint32_t tid, int pid,
		      uint64_t time_ns)
{
	if (entry->depth && --entry->depth < DEPTH)
		look_at_time(slow, "an NVTX range of", entry->began_ns[entry->depth], time_ns, tid,
			     pid);
	if (!entry->depth)
		*entry = (struct entry){ 0 };
}

static void see_range(struct gpumon_slow *slow, uint64_t process, int pid,
		      const struct gpumon_record *record)
{
	struct gpumon_record_range range;
	struct entry *entry;
	bool by_id;

	gpumon_record_copy(&range, sizeof(range), record);
	if (range.kind < GPUMON_RANGE_PUSH || range.kind > GPUMON_RANGE_END)
		return;
	by_id = range.kind == GPUMON_RANGE_START || range.kind == GPUMON_RANGE_END;
	entry = find_entry(slow, process, by_id ? ENTRY_STARTED : ENTRY_PUSHED,
			   by_id ? range.id : range.tid, range.domain);
	if (range.kind == GPUMON_RANGE_POP || range.kind == GPUMON_RANGE_END) {
		end_range(slow, entry, range.tid, pid, range.time_ns);
		return;
	}
	entry->last_ns = range.time_ns;
	if (entry->depth < DEPTH)
		entry->began_ns[entry->depth] = range.time_ns;
	entry->depth++;
}

void gpumon_slow_records(struct gpumon_slow *slow, uint64_t process, int pid, const void *records,
			 size_t size)
{
	for (size_t at = 0; at < size;) {
		const struct gpumon_record *record = (const void *)((const uint8_t *)records + at);

		if (record->type == GPUMON_RECORD_LAUNCH)
			see_launch(slow, process, pid, record);
		else if (record->type == GPUMON_RECORD_RANGE)
			see_range(slow, process, pid, record);
		at += record->size;
	}
}

bool gpumon_slow_take(struct gpumon_slow *slow, char *text, size_t room)
{
	if (!slow->found)
		return false;
	slow->found = false;
	snprintf(text, room, "%s", slow->text);
	return true;
}

void gpumon_slow_free(struct gpumon_slow *slow)
{
	free(slow);
}
