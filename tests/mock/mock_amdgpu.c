// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replaces amdgpu.ko where a GPU would be needed. It has the functions that kprobes watch, with the
 * real names and prototypes, and types with the real names and members but another layout. If
 * modules are built without BTF, no layout of this driver is known.
 *
 * The parameter "run" takes these commands:
 *
 *	dispatch GPU CLIENT SOURCE COUNT IRQ	interrupts, if IRQ is 1 from hard interrupt
 *	report GPU COUNT			faults that are reported
 *	retry GPU COUNT				faults that are retried
 *	recover GPU MS ERROR			a reset that takes so long and returns that
 *	soft GPU COUNT RESULT			soft recoveries that return 0 or 1
 */
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/dma-fence.h>
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/module.h>

#include "mock_amdgpu.h"

#define CREATE_TRACE_POINTS
#include "mock_amdgpu_trace.h"

#define GPUS 2

static struct amdgpu_device gpus[GPUS];
static struct amdgpu_ring rings[GPUS];

/* The data of the interrupts, and the result of soft recoveries. */
static struct amdgpu_iv_entry vector;
static bool recovers;

/* Not inlined or cloned, so that they are called like the real ones. */

/* Not traced: its kprobe is a trap, or a jump, as on a kernel without ftrace. */
notrace noinline __noclone void amdgpu_irq_dispatch(struct amdgpu_device *adev,
						    struct amdgpu_ih_ring *ih)
{
	struct amdgpu_iv_entry entry = vector;

	trace_amdgpu_iv(ih->number, &entry);
}

noinline __noclone void amdgpu_vm_update_fault_cache(struct amdgpu_device *adev, unsigned int pasid,
						     u64 addr, u32 status, unsigned int vmhub)
{
	barrier_data(adev);
}

noinline __noclone bool amdgpu_vm_handle_fault(struct amdgpu_device *adev, u32 pasid, u32 vmid,
					       u32 node_id, u64 addr, u64 ts, bool write_fault)
{
	barrier_data(adev);
	return write_fault;
}

noinline __noclone int amdgpu_device_gpu_recover(struct amdgpu_device *adev, struct amdgpu_job *job,
						 struct amdgpu_reset_context *reset_context)
{
	msleep(reset_context->ms);
	return reset_context->error;
}

noinline __noclone bool amdgpu_ring_soft_recovery(struct amdgpu_ring *ring, unsigned int vmid,
						  struct dma_fence *fence)
{
	barrier_data(ring);
	return READ_ONCE(recovers);
}

struct dispatch {
	struct irq_work work;
	struct amdgpu_device *adev;
	struct amdgpu_ih_ring ih;
};

static void dispatch_work(struct irq_work *work)
{
	struct dispatch *dispatch = container_of(work, struct dispatch, work);

	amdgpu_irq_dispatch(dispatch->adev, &dispatch->ih);
}

static void run_dispatch(struct amdgpu_device *adev, int count, bool irq)
{
	struct dispatch dispatch = { .adev = adev };

	init_irq_work(&dispatch.work, dispatch_work);
	while (count--) {
		if (!irq) {
			amdgpu_irq_dispatch(adev, &dispatch.ih);
			continue;
		}
		irq_work_queue(&dispatch.work);
		irq_work_sync(&dispatch.work);
	}
}

static int set_run(const char *text, const struct kernel_param *kp)
{
	struct amdgpu_reset_context context;
	struct amdgpu_job job = { 0 };
	int n, a, b, c, d, words;
	char verb[16];

	words = sscanf(text, "%15s %d %d %d %d %d", verb, &n, &a, &b, &c, &d);
	if (words < 3 || n < 0 || n >= GPUS || IS_ERR_OR_NULL(gpus[n].dev))
		return -EINVAL;
	if (!strcmp(verb, "dispatch") && words == 6) {
		vector.client_id = a;
		vector.src_id = b;
		run_dispatch(&gpus[n], c, d);
	} else if (!strcmp(verb, "report") && words == 3) {
		while (a--)
			amdgpu_vm_update_fault_cache(&gpus[n], 1, 4096, 0, 0);
	} else if (!strcmp(verb, "retry") && words == 3) {
		while (a--)
			amdgpu_vm_handle_fault(&gpus[n], 1, 1, 0, 4096, 0, a & 1);
	} else if (!strcmp(verb, "recover") && words == 4) {
		context.ms = a;
		context.error = b;
		/* A failed reset is not an error of the writer. */
		amdgpu_device_gpu_recover(&gpus[n], &job, &context);
	} else if (!strcmp(verb, "soft") && words == 4) {
		WRITE_ONCE(recovers, b);
		while (a--)
			amdgpu_ring_soft_recovery(&rings[n], 1, NULL);
	} else {
		return -EINVAL;
	}
	return 0;
}

static const struct kernel_param_ops run_ops = {
	.set = set_run,
};
module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "what is to be done, see the source");

static void mock_unregister(void)
{
	int i;

	for (i = 0; i < GPUS; i++)
		if (!IS_ERR_OR_NULL(gpus[i].dev))
			root_device_unregister(gpus[i].dev);
}

static int __init mock_init(void)
{
	char name[24];
	int i;

	for (i = 0; i < GPUS; i++) {
		snprintf(name, sizeof(name), "mock_amdgpu.%d", i);
		gpus[i].number = i;
		gpus[i].dev = root_device_register(name);
		if (IS_ERR(gpus[i].dev)) {
			mock_unregister();
			return PTR_ERR(gpus[i].dev);
		}
		strscpy(rings[i].name, "gfx_0.0.0", sizeof(rings[i].name));
		rings[i].adev = &gpus[i];
	}
	return 0;
}

static void __exit mock_exit(void)
{
	mock_unregister();
}

module_init(mock_init);
module_exit(mock_exit);

MODULE_DESCRIPTION("Functions of amdgpu without a GPU, for tests");
MODULE_AUTHOR("The gpumon authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.2.0");
