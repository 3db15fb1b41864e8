// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group nvidia: interrupts, and the time from a hard half to its threaded half.
 *
 * The hard half of an MSI-X vector calls the other hard half: an interrupt
 * counts in the outer one. A compiler may have made one function of the two, so
 * both are probed and the inner one looks whether it is called by the outer.
 *
 * The time begins with a hard half that wakes its thread, which its return value shows, hence
 * kretprobes. Several may wake it before it runs; the first one counts.
 */
#include <linux/atomic.h>
#include <linux/interrupt.h>

#include "internal.h"

/* A kernel has at most a few thousand interrupts, a machine of eight GPUs 256 of them. */
#define IRQS 512

#define BOTTOM_HALVES (BIT(NVIDIA_BH) | BIT(NVIDIA_BH_MSIX))

enum {
	IRQ_INTERRUPTS,
	IRQ_UNHANDLED,
	IRQ_BOTTOM_HALVES,
	IRQ_LATENCY
};

static const struct gpumon_column irq_columns[] = {
	[IRQ_INTERRUPTS] = GPUMON_COUNTER("interrupts", .roles = BIT(NVIDIA_ISR)),
	[IRQ_UNHANDLED] = GPUMON_COUNTER("unhandled", .roles = BIT(NVIDIA_ISR)),
	[IRQ_BOTTOM_HALVES] = GPUMON_COUNTER("bottom_halves", .roles = BOTTOM_HALVES),
	[IRQ_LATENCY] = GPUMON_HISTOGRAM("isr_to_bh_ns", .roles = BIT(NVIDIA_ISR) | BOTTOM_HALVES),
};

struct gpumon_statistics gpumon_nvidia_irqs = {
	.name = "irqs",
	.labels = { "device", "irq" },
	.numbers = BIT(1),
	GPUMON_COLUMNS(irq_columns),
	.capacity = IRQS,
};

/* By row: when the thread was first woken since its last run, 0 if it was not. */
static atomic64_t woken[IRQS + GPUMON_TABLE_WAYS];

/* Number plus 1 of the MSI-X interrupt whose hard half runs on this CPU, 0 if none does. */
static DEFINE_PER_CPU(u32, in_msix);

/* Forgets the interrupts under way; no probe of the group runs. */
void gpumon_nvidia_irq_start(void)
{
	int cpu, i;

	for (i = 0; i < ARRAY_SIZE(woken); i++)
		atomic64_set(&woken[i], 0);
	for_each_possible_cpu(cpu)
		per_cpu(in_msix, cpu) = 0;
}

static u32 irq_row(const void *arg, u32 irq)
{
	const struct nvidia_gpu *gpu = gpumon_nvidia_gpu_of_arg(arg);
	u64 key = gpumon_key_mix(gpu ? gpu->hash : 0, irq + 1ULL);
	u32 row = gpumon_row_find(&gpumon_nvidia_irqs, key);

	if (likely(row != GPUMON_NONE))
		return row;
	return gpumon_row_learn_number(&gpumon_nvidia_irqs, key,
				       gpu ? gpu->name : GPUMON_DEVICE_UNKNOWN, irq, NULL);
}

/*
 * kretprobe on nvidia_isr(irq, arg). With 1 as result the kernel does not probe the return of this
 * call.
 */
GPUMON_KRETPROBE(gpumon_nvidia_isr_entered)
{
	if (raw_cpu_read(in_msix) == (u32)gpumon_compat_kernel_argument(regs, 0) + 1)
		return 1;
	gpumon_call_keep((void *)instance->data, regs, 2);
	return 0;
}

/* kretprobe on nvidia_isr_msix(irq, arg) */
GPUMON_KRETPROBE(gpumon_nvidia_isr_msix_entered)
{
	struct nvidia_msix_call *msix = (void *)instance->data;

	gpumon_call_keep(&msix->call, regs, 2);
	msix->outer = raw_cpu_read(in_msix);
	raw_cpu_write(in_msix, (u32)msix->call.argument[0] + 1);
	return 0;
}

GPUMON_KRETPROBE_BODY(gpumon_nvidia_isr_returned)
{
	const struct gpumon_call *call = gpumon_call(instance);
	u32 irq = call->argument[0], row = irq_row((void *)call->argument[1], irq);
	irqreturn_t ret = regs_return_value(regs);
	local64_t *words;

	if (!gpumon_row_begin(ctx, &gpumon_nvidia_irqs, row, IRQ_INTERRUPTS, &words))
		return;
	/* The thread is woken by our caller, it cannot have run yet. */
	if (ret & IRQ_WAKE_THREAD)
		atomic64_cmpxchg(&woken[row], 0, call->time_ns);
	else if (ret == IRQ_NONE)
		gpumon_row_add(words, IRQ_UNHANDLED, 1);
	if (gpumon_event_ring_on())
		gpumon_event_ring_words(GPUMON_EVENT_ISR, call->time_ns, row, irq, 0, 0, 0);
}

GPUMON_KRETPROBE(gpumon_nvidia_isr_msix_returned)
{
	const struct nvidia_msix_call *msix = (void *)instance->data;

	raw_cpu_write(in_msix, msix->outer);
	return gpumon_nvidia_isr_returned(instance, regs);
}

/* kprobe on nvidia_isr_kthread_bh(irq, arg), nvidia_isr_msix_kthread_bh(irq, arg) */
GPUMON_KPROBE_BODY(gpumon_nvidia_bh_called)
{
	u64 now = ktime_get_mono_fast_ns(), since, elapsed = 0;
	u32 irq = gpumon_compat_kernel_argument(regs, 0);
	u32 row = irq_row((void *)gpumon_compat_kernel_argument(regs, 1), irq);
	local64_t *words;

	if (!gpumon_row_begin(ctx, &gpumon_nvidia_irqs, row, IRQ_BOTTOM_HALVES, &words))
		return;
	since = atomic64_xchg(&woken[row], 0);
	if (likely(since)) {
		/* The clock of the other CPU may be ahead by a little. */
		elapsed = max_t(s64, now - since, 0);
		gpumon_row_observe(&gpumon_nvidia_irqs, words, IRQ_LATENCY, elapsed);
	}
	if (gpumon_event_ring_on())
		gpumon_event_ring_words(GPUMON_EVENT_ISR_BH, now, row, irq, 0, elapsed, 0);
}
