/* SPDX-License-Identifier: GPL-2.0-only */
/* How a tracepoint of another module is called, without being linked to it. */
#ifndef FIRE_TRACE_H
#define FIRE_TRACE_H

#include <linux/cleanup.h>
#include <linux/jump_label.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/srcu.h>
#include <linux/tracepoint.h>

typedef void (*fire_probe_t)(void *data, unsigned long a, unsigned long b, unsigned long c,
			     unsigned long d, unsigned long e, unsigned long f, unsigned long g,
			     unsigned long h);

/*
 * What static_call() does: the only probe is called directly, and where there
 * are several the tracepoint's own loop is. A function may be called with more
 * arguments than it takes, and small integers may come in a whole register, by
 * the calling conventions of the 64-bit architectures; not by a compiler that
 * checks types of indirect calls at run time.
 */
static __nocfi __always_inline bool fire_call(struct tracepoint *tp, const unsigned long *a)
{
	struct tracepoint_func *funcs = rcu_dereference_raw(tp->funcs);
	fire_probe_t probe;
	void *data;

	if (!funcs)
		return false;
	data = funcs->data;
	probe = (fire_probe_t)(funcs[1].func ? tp->iterator : funcs[0].func);
	probe(data, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
	return true;
}

/* trace_X(): nothing at all unless it is switched on, then as tracepoint.h does. */
static __nocfi __always_inline bool fire_trace(struct tracepoint *tp, const unsigned long *a)
{
	bool probed;

	if (!static_key_enabled(&tp->key))
		return false;
#ifdef FIRE_HAVE_SRCU_FAST_TRACEPOINTS
	{
		guard(srcu_fast_notrace)(&tracepoint_srcu);
		probed = fire_call(tp, a);
	}
#else
	preempt_disable_notrace();
	probed = fire_call(tp, a);
	preempt_enable_notrace();
#endif
	return probed;
}

#endif /* FIRE_TRACE_H */
