/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory in which a kretprobe keeps the calls that are under way. Since 6.7 it is an objpool:
 * 4bbd93455659 ("kprobes: kretprobe scalability improvement"). And the kretprobe that a call belongs
 * to: until 5.11 the instance names it, d741bf41d7c7 ("kprobes: Remove kretprobe hash").
 */
#ifndef GPUMON_COMPAT_KRETPROBE_H
#define GPUMON_COMPAT_KRETPROBE_H

#include <linux/cpumask.h>
#include <linux/kprobes.h>
#include <linux/log2.h>
#include <linux/mm.h>

static inline size_t gpumon_compat_kretprobe_bytes(const struct kretprobe *kretprobe)
{
#if defined(CONFIG_KRETPROBES) && defined(GPUMON_HAVE_OBJPOOL)
	const size_t most = kretprobe->maxactive, cpus = num_possible_cpus();
	const size_t each = ALIGN(sizeof(struct kretprobe_instance) + kretprobe->data_size, 8);

	/* Each CPU has its share of the objects, and room for pointers to all of them. */
	return cpus * PAGE_ALIGN(offsetof(struct objpool_slot,
					  entries[roundup_pow_of_two(most)]) +
				 DIV_ROUND_UP(most, cpus) * each);
#elif defined(CONFIG_KRETPROBES)
	/* Each object is allocated by itself; the allocator rounds its size up about so. */
	return kretprobe->maxactive *
	       ALIGN(sizeof(struct kretprobe_instance) + kretprobe->data_size, 64);
#else
	return 0;
#endif
}

/* The kretprobe of a call, NULL if it is being unregistered. */
#ifdef CONFIG_KRETPROBES
static __always_inline struct kretprobe *
gpumon_compat_get_kretprobe(struct kretprobe_instance *instance)
{
#ifdef GPUMON_HAVE_GET_KRETPROBE
	return get_kretprobe(instance);
#else
	return READ_ONCE(instance->rp);
#endif
}
#endif

#endif /* GPUMON_COMPAT_KRETPROBE_H */
