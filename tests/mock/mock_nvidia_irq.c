// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupt lines without hardware. They are raised from a hard interrupt (irq_work) and handled by
 * the kernel's own code, so that both halves of the driver run in the same contexts as with a GPU.
 */
#include <linux/delay.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/ktime.h>

#include "mock_nvidia_priv.h"

static struct mock_vector *vector_of_irq(struct mock_gpu *gpu, int irq)
{
	unsigned int i;

	for (i = 0; i <= gpu->vectors; i++)
		if (gpu->vector[i].irq == irq)
			return &gpu->vector[i];
	return NULL;
}

static void count_irq(struct mock_vector *vector, enum mock_counter_id counter, s64 n)
{
	mock_count(MOCK_TOTAL, 0, counter, n);
	mock_count(MOCK_GPU, vector->gpu->index, counter, n);
	mock_count(MOCK_IRQ, vector->irq, counter, n);
}

/**
 * nvidia_isr() - the hard half
 * @irq: number of the line
 * @arg: the GPU, also the drvdata of its device
 *
 * Return: the result given to mock_irq_fire().
 */
mock_probed irqreturn_t nvidia_isr(int irq, void *arg)
{
	struct mock_vector *vector = vector_of_irq(to_mock_gpu(arg), irq);
	u64 now = ktime_get_ns();

	count_irq(vector, MOCK_ISRS, 1);
	switch (vector->answer) {
	case MOCK_WAKE:
		count_irq(vector, MOCK_WAKES, 1);
		atomic64_cmpxchg(&vector->since, 0, now);
		return IRQ_WAKE_THREAD;
	case MOCK_HANDLED:
		return IRQ_HANDLED;
	default:
		count_irq(vector, MOCK_ISRS_UNHANDLED, 1);
		return IRQ_NONE;
	}
}

/**
 * nvidia_isr_msix() - the hard half of an MSI-X vector
 * @irq: number of the vector
 * @arg: the GPU
 *
 * Return: as nvidia_isr(), which it calls.
 */
mock_probed irqreturn_t nvidia_isr_msix(int irq, void *arg)
{
	struct mock_gpu *gpu = to_mock_gpu(arg);
	irqreturn_t ret;

	spin_lock(&gpu->msix_isr_lock);
	count_irq(vector_of_irq(gpu, irq), MOCK_ISRS_MSIX, 1);
	ret = nvidia_isr(irq, arg);
	spin_unlock(&gpu->msix_isr_lock);
	return ret;
}

static irqreturn_t common_bh(struct mock_vector *vector, u64 now)
{
	u64 since = atomic64_xchg(&vector->since, 0);

	count_irq(vector, MOCK_BHS, 1);
	if (since) {
		count_irq(vector, MOCK_LATENCIES, 1);
		count_irq(vector, MOCK_LATENCY_NS, now - since);
	}
	mock_wait(vector->bh_ns);
	count_irq(vector, MOCK_BH_NS, ktime_get_ns() - now);
	complete(&vector->done);
	return IRQ_HANDLED;
}

/**
 * nvidia_isr_kthread_bh() - the threaded half
 * @irq: number of the line
 * @data: the GPU
 *
 * Return: IRQ_HANDLED.
 */
mock_probed irqreturn_t nvidia_isr_kthread_bh(int irq, void *data)
{
	u64 now = ktime_get_ns();

	return common_bh(vector_of_irq(to_mock_gpu(data), irq), now);
}

/**
 * nvidia_isr_msix_kthread_bh() - the threaded half of an MSI-X vector
 * @irq: number of the vector
 * @data: the GPU
 *
 * Return: IRQ_HANDLED.
 */
mock_probed irqreturn_t nvidia_isr_msix_kthread_bh(int irq, void *data)
{
	struct mock_gpu *gpu = to_mock_gpu(data);
	struct mock_vector *vector = vector_of_irq(gpu, irq);
	u64 now = ktime_get_ns();
	irqreturn_t ret;

	mutex_lock(&gpu->msix_bh_mutex);
	count_irq(vector, MOCK_BHS_MSIX, 1);
	ret = common_bh(vector, now);
	mutex_unlock(&gpu->msix_bh_mutex);
	return ret;
}

static void raise_irq(struct irq_work *work)
{
	struct mock_vector *vector = container_of(work, struct mock_vector, work);

	generic_handle_irq(vector->irq);
	if (vector->answer != MOCK_WAKE)
		complete(&vector->done);
}

/**
 * mock_irq_fire() - raise interrupts
 * @vector: interrupt line
 * @answer: result of the hard half
 * @count: number of interrupts
 * @bh_ns: duration of the threaded half
 * @burst: do not wait for the threaded half before the next one
 *
 * Everything is complete when it returns. Without @burst, each interrupt has its own run of the
 * threaded half; with it, one run may serve several interrupts.
 *
 * Return: 0, -ENOENT if there is no such line, or -EINTR.
 */
int mock_irq_fire(struct mock_vector *vector, enum mock_answer answer, u64 count, u64 bh_ns,
		  bool burst)
{
	int err = 0;

	if (!vector->irq)
		return -ENOENT;
	mutex_lock(&vector->lock);
	vector->answer = answer;
	vector->bh_ns = bh_ns;
	for (; count && !err; count--) {
		reinit_completion(&vector->done);
		irq_work_queue(&vector->work);
		irq_work_sync(&vector->work);
		if (!burst)
			wait_for_completion(&vector->done);
		if (fatal_signal_pending(current))
			err = -EINTR;
		cond_resched();
	}
	synchronize_irq(vector->irq);
	mutex_unlock(&vector->lock);
	return err;
}

static int request_vector(struct mock_gpu *gpu, struct mock_vector *vector, bool msix)
{
	int irq, err;

	vector->gpu = gpu;
	vector->msix = msix;
	mutex_init(&vector->lock);
	init_completion(&vector->done);
	vector->work = IRQ_WORK_INIT_HARD(raise_irq);

	/* Do not use irq_alloc_descs(): lines that this module owns and requests would pin it. */
	irq = __irq_alloc_descs(-1, 1, 1, NUMA_NO_NODE, NULL, NULL);
	if (irq < 0)
		return irq;
	irq_set_chip_and_handler(irq, &dummy_irq_chip, handle_simple_irq);
	irq_clear_status_flags(irq, IRQ_NOREQUEST);
	vector->irq = irq;
	if (msix)
		err = request_threaded_irq(irq, nvidia_isr_msix, nvidia_isr_msix_kthread_bh, 0,
					   "nvidia", &gpu->nvl);
	else
		err = request_threaded_irq(irq, nvidia_isr, nvidia_isr_kthread_bh, IRQF_SHARED,
					   "nvidia", &gpu->nvl);
	if (err) {
		irq_free_descs(irq, 1);
		vector->irq = 0;
	}
	return err;
}

/**
 * mock_irq_request() - create and request the lines of a GPU
 * @gpu: GPU with its number of vectors
 *
 * A real GPU has either MSI-X vectors or one line. The mock has both, so that one load tests both.
 *
 * Return: 0 or a negative error.
 */
int mock_irq_request(struct mock_gpu *gpu)
{
	unsigned int i;
	int err;

	spin_lock_init(&gpu->msix_isr_lock);
	mutex_init(&gpu->msix_bh_mutex);
	for (i = 0; i <= gpu->vectors; i++) {
		err = request_vector(gpu, &gpu->vector[i], i < gpu->vectors);
		if (err) {
			mock_irq_free(gpu);
			return err;
		}
	}
	return 0;
}

/**
 * mock_irq_free() - free the lines of a GPU
 * @gpu: GPU
 */
void mock_irq_free(struct mock_gpu *gpu)
{
	unsigned int i;

	for (i = 0; i <= gpu->vectors; i++) {
		struct mock_vector *vector = &gpu->vector[i];

		if (!vector->irq)
			continue;
		irq_work_sync(&vector->work);
		free_irq(vector->irq, &gpu->nvl);
		irq_free_descs(vector->irq, 1);
		vector->irq = 0;
	}
}
