// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <pthread.h>
#include <string.h>

#include "base/prepared.h"
#include "launches.h"

/* At first. */
#define ROOM 1024

/*
 * Ids of calls follow one another, so that each one's place is its id, and a place is taken only if
 * that many calls were made since. The table then doubles.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct inject_hip_launch *table;
static size_t room, most, count;

static struct inject_hip_launch *place(struct inject_hip_launch *in, size_t size,
				       uint64_t correlation)
{
	return &in[(uint32_t)correlation & (size - 1)];
}

void inject_hip_launches_reserve(uint32_t mib)
{
	pthread_mutex_lock(&lock);
	most = ((size_t)mib << 20) / sizeof(*table);
	pthread_mutex_unlock(&lock);
}

/* Two that had places of their own have so in a larger table. */
static bool grow(void)
{
	size_t new_room = room ? 2 * room : ROOM, i;
	struct inject_hip_launch *new_table;

	if (new_room > most)
		return false;
	new_table = inject_memory_take(new_room * sizeof(*table));
	if (!new_table)
		return false;
	for (i = 0; i < room; i++)
		if (table[i].correlation)
			*place(new_table, new_room, table[i].correlation) = table[i];
	inject_memory_give(table, room * sizeof(*table));
	table = new_table;
	room = new_room;
	return true;
}

bool inject_hip_launch_add(const struct inject_hip_launch *launch)
{
	bool has_room = true;

	pthread_mutex_lock(&lock);
	while (has_room && (!room || place(table, room, launch->correlation)->correlation))
		has_room = grow();
	if (has_room) {
		*place(table, room, launch->correlation) = *launch;
		count++;
	}
	pthread_mutex_unlock(&lock);
	return has_room;
}

bool inject_hip_launch_take(uint64_t correlation, struct inject_hip_launch *launch)
{
	struct inject_hip_launch *found;
	bool is_there = false;

	pthread_mutex_lock(&lock);
	if (room) {
		found = place(table, room, correlation);
		is_there = found->correlation == correlation;
		if (is_there) {
			*launch = *found;
			found->correlation = 0;
			count--;
		}
	}
	pthread_mutex_unlock(&lock);
	return is_there;
}

void inject_hip_launch_name(uint64_t correlation, uint32_t name)
{
	pthread_mutex_lock(&lock);
	if (room && place(table, room, correlation)->correlation == correlation)
		place(table, room, correlation)->name = name;
	pthread_mutex_unlock(&lock);
}

size_t inject_hip_launches_count(void)
{
	return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

bool inject_hip_launch_take_any(struct inject_hip_launch *launch)
{
	static size_t next;
	bool is_there;

	pthread_mutex_lock(&lock);
	is_there = count;
	for (; is_there; next++) {
		if (next >= room)
			next = 0;
		if (table[next].correlation)
			break;
	}
	if (is_there) {
		*launch = table[next];
		table[next].correlation = 0;
		count--;
	}
	pthread_mutex_unlock(&lock);
	return is_there;
}

void inject_hip_launches_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	if (room)
		memset(table, 0, room * sizeof(*table));
	count = 0;
}
