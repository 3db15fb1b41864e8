/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls a tracepoint of another module without linking against it. */
#ifndef FIRE_TRACE_H
#define FIRE_TRACE_H

#include <linux/jump_label.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/srcu.h>
#include <linux/tracepoint.h>
#ifdef FIRE_HAVE_SRCU_FAST_TRACEPOINTS
#include <linux/cleanup.h>
#endif

/* Since 5.13. */
#ifndef __nocfi
#define __nocfi
#endif

typedef void (*fire_probe_t)(void *data, unsigned long a, unsigned long b, unsigned long c,
			     unsigned long d, unsigned long e, unsigned long f, unsigned long g,
			     unsigned long h);

/*
 * Does what static_call() does: a single probe is called directly, and with several the
 * tracepoint's own loop is. The calling conventions of the 64-bit architectures allow more
 * arguments than a function takes, and small integers in a whole register. Compilers that check the
 * types of indirect calls at run time do not.
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

/* Does as trace_X() in tracepoint.h: nothing unless the tracepoint is enabled. */
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
