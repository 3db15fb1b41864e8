// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group amdgpu: interrupt vectors, by the client that sent them and its source.
 *
 * The tracepoint has no device. The function that fires it has one, so a kprobe on that function
 * leaves a note for this CPU and context, which the tracepoint reads a few instructions later. A
 * note of another task is ignored: some of the driver's interrupt rings are handled by tasks, which
 * may migrate.
 */
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/percpu.h>

#include "common/event_ring.h"
#include "internal.h"

static const struct gpumon_column interrupt_columns[] = {
	GPUMON_COUNTER("interrupts"),
};

struct gpumon_statistics gpumon_amdgpu_interrupts = {
	.name = "interrupts",
	.labels = { "device", "source", "name" },
	GPUMON_COLUMNS(interrupt_columns),
	.capacity = 512,
};

/* A note: the task that dispatches interrupts on this CPU, and for which device. */
struct note {
	const struct task_struct *task;
	const struct device *dev;
};

/* One note for task context, one for interrupts. */
static DEFINE_PER_CPU(struct note[2], notes);

static __always_inline struct note *note_here(bool task)
{
	return &this_cpu_ptr(notes)[!task];
}

/*
 * Names of clients and sources: include/soc15_ih_clientid.h, and include/ivsrcid/ of
 * drivers/gpu/drm/amd in Linux 6.12. Before Vega there is only client 0. A client or source that
 * differs between generations has no name here.
 */
static const struct interrupt_name {
	u8 client;
	u8 first;
	u8 last;
	const char *name;
} interrupt_names[] = {
	/* ivsrcid_vislands30.h */
	{ 0, 8, 8, "page_flip" },
	{ 0, 10, 10, "page_flip" },
	{ 0, 12, 12, "page_flip" },
	{ 0, 14, 14, "page_flip" },
	{ 0, 16, 16, "page_flip" },
	{ 0, 18, 18, "page_flip" },
	{ 0, 19, 24, "vertical" },
	{ 0, 42, 42, "hotplug" },
	{ 0, 124, 124, "uvd" },
	{ 0, 140, 141, "vm_fault" },
	{ 0, 144, 147, "vm_fault" },
	{ 0, 167, 167, "vce" },
	{ 0, 181, 181, "end_of_pipe" },
	{ 0, 183, 183, "bad_opcode" },
	{ 0, 184, 184, "privileged_register" },
	{ 0, 185, 185, "privileged_instruction" },
	{ 0, 224, 224, "sdma" },
	{ 0, 230, 230, "temperature_high" },
	{ 0, 231, 231, "temperature_normal" },
	/* BIF: irqsrcs_nbif_7_4.h */
	{ 3, 0x60, 0x60, "ras_controller" },
	{ 3, 0x61, 0x61, "ras_athub" },
	/* DCE: irqsrcs_dcn_1_0.h */
	{ 4, 9, 9, "hotplug" },
	{ 4, 0x3c, 0x41, "vstartup" },
	{ 4, 0x4f, 0x56, "page_flip" },
	{ 4, 0x57, 0x5c, "vupdate" },
	{ 4, 0x68, 0x68, "display_firmware" },
	/* SDMA0, SDMA1: irqsrcs_sdma0_4_0.h and others */
	{ 8, 220, 220, "sdma_ecc" },
	{ 8, 224, 224, "sdma" },
	{ 9, 220, 220, "sdma_ecc" },
	{ 9, 224, 224, "sdma" },
	/* GFX of SOC21: irqsrcs_gfx_11_0_0.h */
	{ 10, 49, 49, "sdma" },
	/* VCN1, THM, VCN: irqsrcs_vcn_2_0.h, irqsrcs_thm_9_0.h */
	{ 14, 119, 120, "video_encode" },
	{ 14, 124, 124, "video_decode" },
	{ 15, 0, 0, "temperature_high" },
	{ 15, 1, 1, "temperature_normal" },
	{ 16, 119, 120, "video_encode" },
	{ 16, 124, 124, "video_decode" },
	{ 16, 151, 151, "jpeg_encode" },
	{ 16, 153, 153, "jpeg_decode" },
	/* VMC: irqsrcs_vmc_1_0.h */
	{ 18, 0, 0, "vm_fault" },
	/* GRBM_CP: irqsrcs_gfx_9_0.h, _10_1.h, _11_0_0.h */
	{ 20, 181, 181, "end_of_pipe" },
	{ 20, 183, 183, "bad_opcode" },
	{ 20, 184, 184, "privileged_register" },
	{ 20, 185, 185, "privileged_instruction" },
	{ 20, 197, 197, "ecc" },
	/* UTCL2: irqsrcs_vmc_1_0.h */
	{ 27, 0, 0, "vm_fault" },
};

static noinline u32 interrupt_learn(u64 key, const struct device *dev, u32 client, u32 source)
{
	char device[GPUMON_LABEL_LEN], numbers[GPUMON_LABEL_LEN];
	const struct interrupt_name *name;
	const char *known = "-";
	unsigned int i;

	gpumon_device_name(device, dev);
	if (!gpumon_field_known(AMDGPU_FIELD(IV_CLIENT)) ||
	    !gpumon_field_known(AMDGPU_FIELD(IV_SOURCE))) {
		strscpy(numbers, "-", sizeof(numbers));
	} else {
		snprintf(numbers, sizeof(numbers), "%u:%u", client, source);
		for (i = 0; i < ARRAY_SIZE(interrupt_names); i++) {
			name = &interrupt_names[i];
			if (name->client == client && source >= name->first && source <= name->last)
				known = name->name;
		}
	}
	return gpumon_row_learn(&gpumon_amdgpu_interrupts, key, device, numbers, known);
}

/* Kprobe on amdgpu_irq_dispatch(adev, ih) */
GPUMON_KPROBE_BODY(gpumon_amdgpu_dispatch)
{
	struct note *note = note_here(gpumon_probed_in_task());

	note->task = current;
	note->dev = gpumon_amdgpu_adev_device((void *)gpumon_compat_kernel_argument(regs, 0));
	gpumon_probe_recorded(ctx);
}

/* Tracepoint amdgpu_iv */
GPUMON_TRACEPOINT_BODY(2, gpumon_amdgpu_iv, unsigned int, ih, struct amdgpu_iv_entry *, iv)
{
	const struct device *dev = NULL;
	u64 client, source, key;
	struct note *note;
	u32 row;

	if (!gpumon_probe_readable(ctx, gpumon_field_get(AMDGPU_FIELD(IV_CLIENT), iv, &client) &&
				   gpumon_field_get(AMDGPU_FIELD(IV_SOURCE), iv, &source)))
		return;
	note = note_here(in_task());
	if (note->task == current) {
		dev = note->dev;
		note->task = NULL;
	}
	key = gpumon_key_mix(gpumon_amdgpu_device_hash(dev), client << 32 | source);
	row = gpumon_row_find(&gpumon_amdgpu_interrupts, key);
	if (unlikely(row == GPUMON_NONE))
		row = interrupt_learn(key, dev, client, source);
	if (gpumon_row_count(ctx, &gpumon_amdgpu_interrupts, row, 0))
		gpumon_event_ring_now(GPUMON_EVENT_IV, row,
				      gpumon_field_word(AMDGPU_FIELD(IV_CLIENT), client),
				      gpumon_field_word(AMDGPU_FIELD(IV_SOURCE), source),
				      gpumon_field_read_word(AMDGPU_FIELD(IV_RING), iv),
				      gpumon_field_read_word(AMDGPU_FIELD(IV_VMID), iv));
}

/* Clears all notes; no probe of the group runs. */
void gpumon_amdgpu_irq_forget(void)
{
	struct note *note;
	int cpu;

	for_each_possible_cpu(cpu) {
		note = per_cpu(notes, cpu);
		note[0].task = NULL;
		note[1].task = NULL;
	}
}
