// SPDX-License-Identifier: GPL-2.0-only
/* Allocation, reading and periods of the per-CPU counters. */
#include <linux/cache.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>

#include "clock.h"
#include "counters.h"
#include "fault.h"
#include "gpumon.h"
#include "memory.h"

/*
 * Part of the memory for shared words that is kept ready for new objects, and the least number of
 * objects.
 */
#define SPARE_BYTES (32 << 10)
#define SPARES	    8

/*
 * Places for counts that wait for the shared words of their objects: for each object, at most, and how
 * many of them a probe tries.
 */
#define EARLY	    32
#define EARLY_MOST  1024
#define EARLY_TRIES 16

/*
 * Protects the list of all counters, and the CPUs that are online or about to be. Taken under the
 * kernel's lock of hotplug: nothing that waits for that lock, or for tasks, may be called with it
 * held.
 */
static DEFINE_MUTEX(counters_lock);
static LIST_HEAD(counters_list);
static cpumask_var_t counters_cpus;
static int counters_state;

/*
 * Returns the copy of the next CPU that has one, then the copy that the other CPUs share; NULL
 * behind the last.
 */
static local64_t *copy_next(const struct gpumon_counters *counters, int *cpu)
{
	while (++*cpu <= (int)nr_cpu_ids)
		if (READ_ONCE(counters->cpu[*cpu]))
			return counters->cpu[*cpu];
	return NULL;
}

#define for_each_copy(counters, cpu, copy) \
	for ((cpu) = -1; ((copy) = copy_next(counters, &(cpu)));)

static size_t copy_bytes(const struct gpumon_counters *counters)
{
	return array3_size(counters->slots, counters->stride, sizeof(local64_t));
}

static size_t shared_bytes(const struct gpumon_counters *counters)
{
	return counters->wide * sizeof(atomic64_t);
}

static size_t kept_bytes(const struct gpumon_counters *counters)
{
	return (2 * counters->sums + counters->extremes) * sizeof(u64);
}

static bool copy_allocate(struct gpumon_counters *counters, int cpu)
{
	local64_t *copy;

	if (counters->cpu[cpu])
		return true;
	copy = GPUMON_REGISTER_OR_NULL("gpumon_counters_copy", NULL,
				       gpumon_memory_zalloc(1, copy_bytes(counters),
							    cpu_to_node(cpu)));
	/* Readers do not take the lock. */
	smp_store_release(&counters->cpu[cpu], copy);
	return copy;
}

/* Sets the word in which probes on a CPU find its copy. */
static void copy_point(const struct gpumon_counters *counters, int cpu)
{
	void *anchor = (void *)per_cpu_ptr(&gpumon_cpu, cpu) + counters->anchor;

	if (counters->anchor)
		WRITE_ONCE(*(local64_t **)anchor,
			   counters->cpu ? counters->cpu[cpu] ?: counters->others : NULL);
}

/* A CPU is about to come online; no probe runs on it. */
static int cpu_comes(unsigned int cpu)
{
	struct gpumon_counters *counters;
	bool complete = true;

	mutex_lock(&counters_lock);
	cpumask_set_cpu(cpu, counters_cpus);
	list_for_each_entry(counters, &counters_list, list) {
		complete &= copy_allocate(counters, cpu);
		copy_point(counters, cpu);
	}
	per_cpu(gpumon_cpu, cpu).active = complete ? 0 : GPUMON_CPU_TURNED_AWAY;
	mutex_unlock(&counters_lock);
	return 0;
}

static int cpu_goes(unsigned int cpu)
{
	mutex_lock(&counters_lock);
	cpumask_clear_cpu(cpu, counters_cpus);
	mutex_unlock(&counters_lock);
	return 0;
}

/**
 * gpumon_counters_start - follow CPUs, from now on and those that are online
 *
 * Context: may sleep, before all counters.
 * Return: 0 or a negative error.
 */
int gpumon_counters_start(void)
{
	int cpu, ret;

	if (!zalloc_cpumask_var(&counters_cpus, GFP_KERNEL))
		return -ENOMEM;
	/*
	 * Before 6.10 and its stable updates, cpuhp_setup_state() does not call for the CPUs that are
	 * online: 932d8476399f ("cpu/hotplug: Fix dynstate assignment in
	 * __cpuhp_setup_state_cpuslocked()").
	 */
	cpus_read_lock();
	ret = GPUMON_REGISTER("cpuhp_setup_state", NULL,
			      cpuhp_setup_state_nocalls_cpuslocked(CPUHP_BP_PREPARE_DYN,
								   "gpumon:prepare", cpu_comes,
								   cpu_goes));
	for_each_online_cpu(cpu)
		if (ret > 0)
			cpu_comes(cpu);
	cpus_read_unlock();
	if (ret < 0) {
		free_cpumask_var(counters_cpus);
		return ret;
	}
	counters_state = ret;
	return 0;
}

/**
 * gpumon_counters_stop - follow CPUs no more
 *
 * Context: may sleep; all counters are freed.
 */
void gpumon_counters_stop(void)
{
	if (!counters_state)
		return;
	cpuhp_remove_state_nocalls(counters_state);
	counters_state = 0;
	free_cpumask_var(counters_cpus);
}

/* Maps so many bytes of zeroes that take one page, for @others where nothing is written to it. */
static local64_t *zeroes_map(size_t bytes)
{
	const unsigned int count = DIV_ROUND_UP(bytes, PAGE_SIZE);
	struct page **pages = kvmalloc_array(count, sizeof(*pages), GFP_KERNEL);
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	local64_t *mapped = NULL;
	unsigned int i;

	if (pages && page) {
		for (i = 0; i < count; i++)
			pages[i] = page;
		mapped = vmap(pages, count, VM_MAP, PAGE_KERNEL);
	}
	if (page && !mapped)
		__free_page(page);
	kvfree(pages);
	return mapped;
}

static void zeroes_unmap(local64_t *mapped)
{
	struct page *page = mapped ? vmalloc_to_page(mapped) : NULL;

	vunmap(mapped);
	if (page)
		__free_page(page);
}

static int shared_init(struct gpumon_counters *counters)
{
	const u32 fit = SPARE_BYTES / roundup_pow_of_two(shared_bytes(counters));
	u32 slot;

	counters->spares = clamp(counters->slots / 4, 1U, max_t(u32, fit, SPARES));
	init_llist_head(&counters->surplus);
	counters->shared =
		gpumon_memory_zalloc(counters->slots, sizeof(*counters->shared), NUMA_NO_NODE);
	if (counters->shared && counters->shared_always) {
		counters->spares = 0;
		counters->shared[0] = gpumon_memory_zalloc(counters->slots, shared_bytes(counters),
							   NUMA_NO_NODE);
		for (slot = 1; counters->shared[0] && slot < counters->slots; slot++)
			counters->shared[slot] = counters->shared[0] + slot * counters->wide;
		return counters->shared[0] ? 0 : -ENOMEM;
	}
	counters->spare = kcalloc(counters->spares, sizeof(*counters->spare), GFP_KERNEL);
	counters->earlies = min_t(u32, roundup_pow_of_two(EARLY * counters->slots), EARLY_MOST);
	counters->early = gpumon_memory_zalloc(counters->earlies, sizeof(*counters->early),
					       NUMA_NO_NODE);
	if (!counters->shared || !counters->spare || !counters->early)
		return -ENOMEM;
	gpumon_counters_supply(counters);
	counters->shared_held = gpumon_memory_held(counters->spare[0], shared_bytes(counters));
	return counters->spare[counters->spares - 1] ? 0 : -ENOMEM;
}

/**
 * gpumon_counters_init - allocate counters for every CPU that is online
 * @counters: counters, with @sums, @extremes, @wide, @anchor and @others_count; else zeroes
 * @slots: objects
 * @stride: words from one object to the next, 0 for as many as there are
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM, then gpumon_counters_free() frees what was allocated.
 */
int gpumon_counters_init(struct gpumon_counters *counters, u32 slots, u32 stride)
{
	int cpu, ret = 0;

	counters->slots = slots;
	counters->stride = stride ?: gpumon_counters_own_sums(counters) + counters->extremes +
					     (counters->wide && !counters->shared_always);
	INIT_LIST_HEAD(&counters->list);
	counters->kept = gpumon_memory_zalloc(slots, sizeof(*counters->kept), NUMA_NO_NODE);
	counters->cpu = kcalloc(nr_cpu_ids + 1, sizeof(*counters->cpu), GFP_KERNEL);
	if (!counters->kept || !counters->cpu)
		return -ENOMEM;
	if (counters->others_count)
		counters->others = kvzalloc(copy_bytes(counters), GFP_KERNEL);
	else if (counters->anchor)
		counters->others = zeroes_map(copy_bytes(counters));
	if (counters->anchor && !counters->others)
		return -ENOMEM;
	if (counters->others_count)
		counters->cpu[nr_cpu_ids] = counters->others;
	if (counters->wide)
		ret = shared_init(counters);
	if (counters->interval && !ret) {
		counters->settled = gpumon_memory_zalloc(slots, sizeof(*counters->settled),
							 NUMA_NO_NODE);
		ret = counters->settled ? 0 : -ENOMEM;
	}
	mutex_lock(&counters_lock);
	for_each_cpu(cpu, counters_cpus)
		if (!ret && !copy_allocate(counters, cpu))
			ret = -ENOMEM;
	if (!ret) {
		for_each_possible_cpu(cpu)
			copy_point(counters, cpu);
		list_add(&counters->list, &counters_list);
	}
	mutex_unlock(&counters_lock);
	return ret;
}

/**
 * gpumon_counters_free - free what gpumon_counters_init() allocated
 * @counters: counters, may be half allocated or free
 *
 * Context: may sleep, no probe may run.
 */
void gpumon_counters_free(struct gpumon_counters *counters)
{
	struct llist_node *surplus, *next;
	u32 i;
	int cpu;

	if (!counters->cpu && !counters->kept)
		return;
	mutex_lock(&counters_lock);
	list_del_init(&counters->list);
	mutex_unlock(&counters_lock);
	for (i = 0; counters->kept && i < counters->slots; i++)
		kfree(counters->kept[i]);
	for (i = 0; counters->shared && i < (counters->shared_always ? 1 : counters->slots); i++)
		kvfree(counters->shared[i]);
	for (i = 0; counters->spare && i < counters->spares; i++)
		kvfree(counters->spare[i]);
	llist_for_each_safe(surplus, next, llist_del_all(&counters->surplus))
		kvfree(surplus);
	for (cpu = 0; counters->cpu && cpu < nr_cpu_ids; cpu++)
		kvfree(counters->cpu[cpu]);
	if (counters->others_count)
		kvfree(counters->others);
	else
		zeroes_unmap(counters->others);
	kfree(counters->cpu);
	kvfree(counters->kept);
	kvfree(counters->shared);
	kvfree(counters->early);
	kvfree(counters->settled);
	kfree(counters->spare);
	counters->cpu = NULL;
	for_each_possible_cpu(cpu)
		copy_point(counters, cpu);
	counters->others = NULL;
	counters->kept = NULL;
	counters->settled = NULL;
	counters->shared = NULL;
	counters->early = NULL;
	counters->spare = NULL;
	counters->slots = 0;
}

/* The object and the shared word of a count that came early. */
static u32 early_slot(const struct gpumon_counters *counters, u32 count)
{
	return (count - 1) / counters->wide;
}

static u32 early_word(const struct gpumon_counters *counters, u32 count)
{
	return (count - 1) % counters->wide;
}

/* Keeps a count until its object has shared words. */
static bool early_add(struct gpumon_counters *counters, u32 slot, u32 word)
{
	u32 count = slot * counters->wide + word + 1, at, i;

	for (i = 0; i < EARLY_TRIES; i++) {
		at = atomic_inc_return(&counters->early_next) & (counters->earlies - 1);
		if (!READ_ONCE(counters->early[at]) && !cmpxchg(&counters->early[at], 0, count))
			return true;
	}
	return false;
}

/* Gives the objects of early counts their shared words, and adds the counts to them. */
static void early_settle(struct gpumon_counters *counters)
{
	atomic64_t *words;
	u32 count, slot, i;

	for (i = 0; i < counters->earlies; i++) {
		count = READ_ONCE(counters->early[i]);
		if (!count)
			continue;
		slot = early_slot(counters, count);
		words = READ_ONCE(counters->shared[slot]);
		if (!words) {
			words = kvzalloc(shared_bytes(counters), GFP_KERNEL);
			if (!words)
				continue;
			if (cmpxchg(&counters->shared[slot], NULL, words)) {
				kvfree(words);
				words = READ_ONCE(counters->shared[slot]);
			}
		}
		atomic64_inc(&words[early_word(counters, count)]);
		WRITE_ONCE(counters->early[i], 0);
	}
}

/* Reads the early counts of an object, by shared word; or takes them away. */
static void early_read(const struct gpumon_counters *counters, u32 slot, u64 *words)
{
	u32 count, i;

	for (i = 0; i < counters->earlies; i++) {
		count = READ_ONCE(counters->early[i]);
		if (count && early_slot(counters, count) == slot)
			words[early_word(counters, count)]++;
	}
}

static void early_zero(struct gpumon_counters *counters, u32 slot)
{
	u32 count, i;

	for (i = 0; i < counters->earlies; i++) {
		count = READ_ONCE(counters->early[i]);
		if (count && early_slot(counters, count) == slot)
			WRITE_ONCE(counters->early[i], 0);
	}
}

/**
 * gpumon_counters_supply - shared words for objects that have none, and for those that come
 * @counters: counters
 *
 * Context: may sleep, gpumon_period_lock held or nobody else knows them; probes may run.
 */
void gpumon_counters_supply(struct gpumon_counters *counters)
{
	struct llist_node *surplus, *next;
	atomic64_t *words;
	u32 i;

	if (!counters->spare)
		return;
	early_settle(counters);
	llist_for_each_safe(surplus, next, llist_del_all(&counters->surplus))
		kvfree(surplus);
	for (i = 0; i < counters->spares; i++) {
		if (READ_ONCE(counters->spare[i]))
			continue;
		words = kvzalloc(shared_bytes(counters), GFP_KERNEL);
		/* Pairs with the xchg() of spare_take(): a probe finds zeroes. */
		smp_store_release(&counters->spare[i], words);
	}
}

/*
 * Takes shared words that are kept ready; NULL if there are none at this moment, then more have
 * been asked for.
 */
static atomic64_t *spare_take(struct gpumon_counters *counters)
{
	atomic64_t *words = NULL;
	u32 i;

	for (i = 0; i < counters->spares && !words; i++)
		if (READ_ONCE(counters->spare[i]))
			words = xchg(&counters->spare[i], NULL);
	gpumon_memory_ask();
	return words;
}

/* Gives an object its shared words. If two CPUs do so at once, one takes its words back. */
static void spare_give(struct gpumon_counters *counters, u32 slot, atomic64_t *words)
{
	u32 i;

	if (!cmpxchg(&counters->shared[slot], NULL, words))
		return;
	for (i = 0; i < counters->spares; i++)
		if (!READ_ONCE(counters->spare[i]) && !cmpxchg(&counters->spare[i], NULL, words))
			return;
	llist_add((struct llist_node *)words, &counters->surplus);
}

/* gpumon_counters_shared_inc() of an object that this CPU has had no shared value of. */
noinline bool gpumon_counters_share(struct gpumon_counters *counters, local64_t *words, u32 word)
{
	u32 slot = (u32)(words - counters->cpu[raw_smp_processor_id()]) / counters->stride;
	atomic64_t *shared = READ_ONCE(counters->shared[slot]);

	word -= gpumon_counters_own_sums(counters);
	if (!shared) {
		shared = spare_take(counters);
		if (!shared)
			return early_add(counters, slot, word);
		spare_give(counters, slot, shared);
		shared = READ_ONCE(counters->shared[slot]);
	}
	local64_set(&words[counters->stride - 1], (long)shared);
	atomic64_inc(&shared[word]);
	return true;
}

/**
 * gpumon_counters_bytes - memory held by counters
 * @counters: counters
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: bytes.
 */
size_t gpumon_counters_bytes(const struct gpumon_counters *counters)
{
	const local64_t *copy;
	size_t bytes;
	int cpu;
	u32 i;

	if (!counters->cpu)
		return 0;
	bytes = gpumon_memory_held(counters->cpu, (nr_cpu_ids + 1) * sizeof(*counters->cpu)) +
		gpumon_memory_held(counters->kept, counters->slots * sizeof(*counters->kept)) +
		gpumon_memory_held(counters->shared, counters->slots * sizeof(*counters->shared)) +
		gpumon_memory_held(counters->early, counters->earlies * sizeof(*counters->early)) +
		gpumon_memory_held(counters->settled,
				   counters->slots * sizeof(*counters->settled)) +
		gpumon_memory_held(counters->spare, counters->spares * sizeof(*counters->spare));
	if (counters->others && !counters->others_count)
		bytes += PAGE_SIZE;
	if (counters->shared_always)
		bytes += gpumon_memory_held(counters->shared[0],
					    counters->slots * shared_bytes(counters));
	for_each_copy(counters, cpu, copy)
		bytes += gpumon_memory_held(copy, copy_bytes(counters));
	for (i = 0; i < counters->slots; i++) {
		bytes += gpumon_memory_held(counters->kept[i], kept_bytes(counters));
		if (counters->shared && !counters->shared_always && READ_ONCE(counters->shared[i]))
			bytes += counters->shared_held;
	}
	/* Counts all places: one that a probe empties is filled again at once. */
	return bytes + counters->spares * counters->shared_held;
}

/* Does a counter lie in the words that all CPUs share, rather than in their copies? */
static const atomic64_t *word_shared(const struct gpumon_counters *counters, u32 slot, u32 word)
{
	const atomic64_t *shared = READ_ONCE(counters->shared[slot]);

	return shared ? &shared[word - gpumon_counters_own_sums(counters)] : NULL;
}

/**
 * gpumon_counters_total - a counter since its object exists, over all periods
 * @counters: counters, whose shared words are always there if it is one of these
 * @slot: object
 * @word: counter
 *
 * Context: any.
 * Return: sum over the CPUs.
 */
u64 gpumon_counters_total(const struct gpumon_counters *counters, u32 slot, u32 word)
{
	size_t at = (size_t)slot * counters->stride + word;
	const atomic64_t *shared;
	const local64_t *copy;
	u64 sum = 0;
	int cpu;

	if (word >= gpumon_counters_own_sums(counters)) {
		shared = word_shared(counters, slot, word);
		return shared ? atomic64_read(shared) : 0;
	}
	for_each_copy(counters, cpu, copy)
		sum += local64_read(&copy[at]);
	return sum;
}

/**
 * gpumon_counters_one - one counter of one object in one period
 * @counters: counters, as for gpumon_counters_total()
 * @slot: object
 * @closed: the period that the last reset closed, else the one that runs
 * @word: counter
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: the count.
 */
u64 gpumon_counters_one(const struct gpumon_counters *counters, u32 slot, bool closed, u32 word)
{
	const u64 *kept = counters->kept[slot];

	if (closed)
		return kept ? kept[counters->sums + word] : 0;
	return gpumon_counters_total(counters, slot, word) - (kept ? kept[word] : 0);
}

/* The length of an object's intervals since it exists; @words: sum of their words. */
static u64 interval_total(const struct gpumon_counters *counters, u32 slot, u64 words)
{
	return counters->settled[slot] + gpumon_interval_sum(words);
}

/**
 * gpumon_counters_settle - end the intervals that have not ended
 * @counters: counters
 *
 * Context: may sleep, gpumon_period_lock held, no probe counts here; before the clock changes.
 */
void gpumon_counters_settle(struct gpumon_counters *counters)
{
	const u32 word = counters->interval - 1;
	local64_t *copy;
	u32 slot;
	int cpu;

	if (!counters->settled)
		return;
	for (slot = 0; slot < counters->slots; slot++) {
		counters->settled[slot] = interval_total(counters, slot,
							 gpumon_counters_total(counters, slot, word));
		for_each_copy(counters, cpu, copy)
			local64_set(&copy[(size_t)slot * counters->stride + word], 0);
	}
}

/**
 * gpumon_counters_read - everything of one object in one period
 * @counters: counters
 * @slot: object
 * @closed: the period that the last reset closed, else the one that runs
 * @words: filled with the counters and then the extremes
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_counters_read(const struct gpumon_counters *counters, u32 slot, bool closed, u64 *words)
{
	u32 count = counters->sums + counters->extremes, own = gpumon_counters_own_sums(counters);
	const u32 interval = counters->interval - 1;
	const u64 *kept = counters->kept[slot];
	const atomic64_t *shared = NULL;
	const local64_t *from;
	int cpu;
	u32 i;

	memset(words, 0, count * sizeof(u64));
	if (closed) {
		if (kept)
			memcpy(words, kept + counters->sums, count * sizeof(u64));
		return;
	}
	for_each_copy(counters, cpu, from) {
		from += (size_t)slot * counters->stride;
		for (i = 0; i < own; i++)
			words[i] += local64_read(&from[i]);
		for (i = counters->sums; i < count; i++)
			words[i] = max_t(u64, words[i], local64_read(&from[i - counters->wide]));
	}
	if (counters->wide)
		shared = READ_ONCE(counters->shared[slot]);
	for (i = own; shared && i < counters->sums; i++)
		words[i] = atomic64_read(&shared[i - own]);
	if (counters->early)
		early_read(counters, slot, words + own);
	if (counters->settled)
		words[interval] = interval_total(counters, slot, words[interval]);
	for (i = 0; kept && i < counters->sums; i++)
		words[i] -= kept[i];
	/* What the last reset read may have been a little too much. */
	if (counters->settled && (s64)words[interval] < 0)
		words[interval] = 0;
}

/**
 * gpumon_counters_fold - add the counts of an object to those of another one
 * @counters: counters without extremes and shared words
 * @from: object that no probe counts for
 * @to: object that stays
 *
 * Both periods stay right; what @from has counted in earlier ones can be read in none.
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: 0, or -ENOMEM: nothing was added.
 */
int gpumon_counters_fold(struct gpumon_counters *counters, u32 from, u32 to)
{
	local64_t *words;
	u64 *kept;
	u32 word;

	/* What a reset has taken for @from is freed with it. */
	if (counters->kept[from] && !counters->kept[to]) {
		counters->kept[to] = kzalloc(kept_bytes(counters), GFP_KERNEL);
		if (!counters->kept[to])
			return -ENOMEM;
	}
	kept = counters->kept[to];
	preempt_disable();
	words = counters->cpu[smp_processor_id()];
	for (word = 0; words && word < counters->sums; word++) {
		local64_add(gpumon_counters_one(counters, from, false, word),
			    &words[(size_t)to * counters->stride + word]);
		if (kept)
			kept[counters->sums + word] += gpumon_counters_one(counters, from, true, word);
	}
	preempt_enable();
	return words ? 0 : -ENOMEM;
}

/**
 * gpumon_counters_keep - get memory for the end of a period
 * @counters: counters
 * @keys: of each object a number that is 0 if there is no such object
 * @keyed: how many of the objects have one, the others are always there
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: 0, or -ENOMEM: gpumon_counters_close() must not follow.
 */
int gpumon_counters_keep(struct gpumon_counters *counters, const u64 *keys, u32 keyed)
{
	u32 slot;

	for (slot = 0; slot < counters->slots; slot++) {
		if (counters->kept[slot] || (slot < keyed && !gpumon_read_once64(keys[slot])))
			continue;
		counters->kept[slot] = kzalloc(kept_bytes(counters), GFP_KERNEL);
		if (!counters->kept[slot])
			return -ENOMEM;
		cond_resched();
	}
	return 0;
}

/**
 * gpumon_counters_close - end the period of every object and begin the next
 * @counters: counters
 *
 * An extreme that a probe stores at this very moment may fall into the period
 * before or be lost; counters are exact. An object that has come since
 * gpumon_counters_keep() has all that it counts in the next period.
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_counters_close(struct gpumon_counters *counters)
{
	const u32 own = gpumon_counters_own_sums(counters);
	local64_t *at;
	u64 *closed;
	u32 slot, i;
	int cpu;

	for (slot = 0; slot < counters->slots; slot++) {
		if (!counters->kept[slot])
			continue;
		closed = counters->kept[slot] + counters->sums;
		gpumon_counters_read(counters, slot, false, closed);
		for (i = 0; i < counters->sums; i++)
			counters->kept[slot][i] += closed[i];
		for_each_copy(counters, cpu, at) {
			at += (size_t)slot * counters->stride + own;
			for (i = 0; i < counters->extremes; i++)
				if (local64_read(&at[i]))
					local64_set(&at[i], 0);
		}
		cond_resched();
	}
}

/**
 * gpumon_counters_zero - make the slot of a gone object ready for another one
 * @counters: counters
 * @slot: object
 *
 * Context: may sleep, gpumon_period_lock held, no probe may use the slot.
 */
void gpumon_counters_zero(struct gpumon_counters *counters, u32 slot)
{
	u32 count = gpumon_counters_own_sums(counters) + counters->extremes;
	local64_t *at;
	int cpu;
	u32 i;

	for_each_copy(counters, cpu, at) {
		at += (size_t)slot * counters->stride;
		for (i = 0; i < count; i++)
			local64_set(&at[i], 0);
	}
	for (i = 0; counters->wide && counters->shared[slot] && i < counters->wide; i++)
		atomic64_set(&counters->shared[slot][i], 0);
	if (counters->early)
		early_zero(counters, slot);
	if (counters->settled)
		counters->settled[slot] = 0;
	kfree(counters->kept[slot]);
	counters->kept[slot] = NULL;
}

/**
 * gpumon_counters_raise_slow - gpumon_counters_raise() where the value is higher
 * @extreme: this CPU's highest value
 * @value: value
 *
 * An interrupt may raise the same word between the comparison and the store.
 *
 * Context: any, preemption off.
 */
void gpumon_counters_raise_slow(local64_t *extreme, u64 value)
{
	unsigned long flags;

	local_irq_save(flags);
	if (value > (u64)local64_read(extreme))
		local64_set(extreme, value);
	local_irq_restore(flags);
}
