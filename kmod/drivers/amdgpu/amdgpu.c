// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group amdgpu: tracepoints and functions of amdgpu.ko. The bodies are in memory.c, job.c, irq.c
 * and fault.c; registers.c is a group of its own.
 */
#include "amdgpu.h"
#include "common/process.h"
#include "internal.h"

#define AMDGPU_TRACEPOINT(_name, _role, _body, _prototype, ...)                          \
	{                                                                                \
		.module = "amdgpu", .name = _name, .kind = GPUMON_PROBE_KIND_TRACEPOINT, \
		.role = _role, .body = _body, .prototype = _prototype, ##__VA_ARGS__     \
	}

static struct gpumon_probe amdgpu_probes[] = {
	/* Beginning of a thing first: the order in which they are detached. */
	AMDGPU_TRACEPOINT("amdgpu_bo_create", AMDGPU_ROLE_BO_CREATE, gpumon_amdgpu_bo_create,
			  "*amdgpu_bo", .process_words = BIT(GPUMON_PROCESS_ALLOCATED_BYTES),
			  .process_needs = &gpumon_amdgpu_fields[AMDGPU_BO_SIZE]),
	AMDGPU_TRACEPOINT("amdgpu_bo_move", AMDGPU_ROLE_BO_MOVE, gpumon_amdgpu_bo_move,
			  "*amdgpu_bo u32 u32"),
	AMDGPU_TRACEPOINT("amdgpu_vm_bo_map", AMDGPU_ROLE_VM_MAP, gpumon_amdgpu_vm_map,
			  "*amdgpu_bo_va *amdgpu_bo_va_mapping",
			  .process_words = BIT(GPUMON_PROCESS_MAPPED_BYTES),
			  .process_needs = &gpumon_amdgpu_fields[AMDGPU_MAPPING_START]),
	AMDGPU_TRACEPOINT("amdgpu_vm_bo_unmap", AMDGPU_ROLE_VM_UNMAP, gpumon_amdgpu_vm_unmap,
			  "*amdgpu_bo_va *amdgpu_bo_va_mapping"),
	AMDGPU_TRACEPOINT("amdgpu_vm_flush", AMDGPU_ROLE_VM_FLUSH, gpumon_amdgpu_vm_flush,
			  "*amdgpu_ring u32 u64"),
	AMDGPU_TRACEPOINT("amdgpu_cs", AMDGPU_ROLE_CS, gpumon_amdgpu_cs,
			  "*amdgpu_cs_parser *amdgpu_job *amdgpu_ib"),
	AMDGPU_TRACEPOINT("amdgpu_cs_ioctl", AMDGPU_ROLE_CS_IOCTL, gpumon_amdgpu_cs_ioctl,
			  "*amdgpu_job", .process_words = BIT(GPUMON_PROCESS_SUBMISSIONS)),
	AMDGPU_TRACEPOINT("amdgpu_sched_run_job", AMDGPU_ROLE_RUN, gpumon_amdgpu_run,
			  "*amdgpu_job"),
	AMDGPU_TRACEPOINT("amdgpu_ib_pipe_sync", AMDGPU_ROLE_PIPE_SYNC, gpumon_amdgpu_pipe_sync,
			  "*amdgpu_job *dma_fence"),
	{ .module = "amdgpu",
	  .name = "amdgpu_irq_dispatch",
	  .kind = GPUMON_PROBE_KIND_KPROBE,
	  .role = AMDGPU_ROLE_DISPATCH,
	  .body = gpumon_amdgpu_dispatch,
	  .prototype = "*amdgpu_device *amdgpu_ih_ring",
	  .returns = "void",
	  .optional = true,
	  .without = "interrupts are of no device that is known" },
	AMDGPU_TRACEPOINT("amdgpu_iv", AMDGPU_ROLE_IV, gpumon_amdgpu_iv, "u32 *amdgpu_iv_entry"),
	{ .module = "amdgpu",
	  .name = "amdgpu_vm_update_fault_cache",
	  .kind = GPUMON_PROBE_KIND_KPROBE,
	  .role = AMDGPU_ROLE_FAULT_REPORTED,
	  .body = gpumon_amdgpu_fault_reported,
	  .prototype = "*amdgpu_device u32 u64 u32 u32",
	  .returns = "void",
	  .optional = true,
	  .without = "reported VM faults show only as interrupts named vm_fault" },
	{ .module = "amdgpu",
	  .name = "amdgpu_vm_handle_fault",
	  .kind = GPUMON_PROBE_KIND_KPROBE,
	  .role = AMDGPU_ROLE_FAULT_RETRY,
	  .body = gpumon_amdgpu_fault_retry,
	  .prototype = "*amdgpu_device u32 u64 bool|*amdgpu_device u32 u32 u32 u64 u64 bool",
	  .returns = "bool",
	  .optional = true,
	  .without = "VM faults that are retried are not counted" },
	{ .module = "amdgpu",
	  .name = "amdgpu_device_gpu_recover",
	  .kind = GPUMON_PROBE_KIND_KRETPROBE,
	  .role = AMDGPU_ROLE_RECOVER,
	  .body = gpumon_amdgpu_recover_begin,
	  .on_return = gpumon_amdgpu_recover_end,
	  .data_size = sizeof(struct gpumon_amdgpu_recovery),
	  .prototype = "*amdgpu_device *amdgpu_job *amdgpu_reset_context",
	  .returns = "i32",
	  .optional = true,
	  .without = "GPU resets are not counted" },
	{ .module = "amdgpu",
	  .name = "amdgpu_ring_soft_recovery",
	  .kind = GPUMON_PROBE_KIND_KRETPROBE,
	  .role = AMDGPU_ROLE_SOFT_RECOVERY,
	  .body = gpumon_amdgpu_soft_recovery_begin,
	  .on_return = gpumon_amdgpu_soft_recovery_end,
	  .data_size = sizeof(struct gpumon_amdgpu_recovery),
	  .prototype = "*amdgpu_ring u32 *dma_fence",
	  .returns = "bool",
	  .optional = true,
	  .without = "soft recoveries are not counted" },
};

static struct gpumon_statistics *const amdgpu_statistics[] = {
	&gpumon_amdgpu_domains,	  &gpumon_amdgpu_moves,	 &gpumon_amdgpu_vm,
	&gpumon_amdgpu_flushes,	  &gpumon_amdgpu_rings,	 &gpumon_amdgpu_interrupts,
	&gpumon_amdgpu_vm_faults, &gpumon_amdgpu_resets,
};

static struct gpumon_track *const amdgpu_tracks[] = {
	&gpumon_amdgpu_devices,
	&gpumon_amdgpu_schedulers,
	&gpumon_amdgpu_jobs,
};

struct gpumon_group gpumon_amdgpu = {
	.name = "amdgpu",
	.probes = amdgpu_probes,
	.count = ARRAY_SIZE(amdgpu_probes),
	.fields = gpumon_amdgpu_fields,
	.field_count = AMDGPU_FIELDS,
	.statistics = amdgpu_statistics,
	.statistics_count = ARRAY_SIZE(amdgpu_statistics),
	.tracks = amdgpu_tracks,
	.track_count = ARRAY_SIZE(amdgpu_tracks),
	.start = gpumon_amdgpu_irq_forget,
	.module_gone = gpumon_amdgpu_irq_forget,
};
