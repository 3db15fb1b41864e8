// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group amdgpu: tracepoints and functions of amdgpu.ko. The bodies are in memory.c, job.c, irq.c
 * and fault.c; registers.c is a group of its own.
 */
#include <drm/gpu_scheduler.h>

#include "common/call.h"
#include "common/process.h"
#include "drivers/groups.h"
#include "internal.h"

#define TRACEPOINT(...) GPUMON_TRACEPOINT_AT("amdgpu", __VA_ARGS__)
#define KPROBE(...)	GPUMON_KPROBE_AT("amdgpu", __VA_ARGS__)
#define CALL(...)	GPUMON_CALL_AT("amdgpu", __VA_ARGS__)

struct gpumon_field gpumon_amdgpu_fields[AMDGPU_FIELD_COUNT] = {
#define FIELD(_name, ...) GPUMON_FIELD("amdgpu", __VA_ARGS__),
	AMDGPU_FIELDS(FIELD)
#define BUILT(_type, _member) GPUMON_FIELD_BUILT("amdgpu", _type, _member),
	AMDGPU_BUILT_FIELDS(BUILT)
};

static struct gpumon_probe amdgpu_probes[] = {
	/* In the order in which they are detached: the beginning of an object before its end. */
	TRACEPOINT("amdgpu_bo_create", AMDGPU_ROLE_BO_CREATE, gpumon_amdgpu_bo_create,
		   "*amdgpu_bo", .process_words = BIT(GPUMON_PROCESS_ALLOCATED_BYTES),
		   .process_levels = BIT(GPUMON_PROCESS_VRAM_BYTES),
		   .process_needs = AMDGPU_FIELD(BO_SIZE)),
	TRACEPOINT("amdgpu_bo_move", AMDGPU_ROLE_BO_MOVE, gpumon_amdgpu_bo_move,
		   "*amdgpu_bo u32 u32", .process_levels = BIT(GPUMON_PROCESS_VRAM_BYTES)),
	TRACEPOINT("amdgpu_vm_bo_map", AMDGPU_ROLE_VM_MAP, gpumon_amdgpu_vm_map,
		   "*amdgpu_bo_va *amdgpu_bo_va_mapping",
		   .process_words = BIT(GPUMON_PROCESS_MAPPED_BYTES),
		   .process_needs = AMDGPU_FIELD(MAPPING_START)),
	TRACEPOINT("amdgpu_vm_bo_unmap", AMDGPU_ROLE_VM_UNMAP, gpumon_amdgpu_vm_unmap,
		   "*amdgpu_bo_va *amdgpu_bo_va_mapping"),
	TRACEPOINT("amdgpu_vm_flush", AMDGPU_ROLE_VM_FLUSH, gpumon_amdgpu_vm_flush,
		   "*amdgpu_ring u32 u64"),
	TRACEPOINT("amdgpu_cs", AMDGPU_ROLE_CS, gpumon_amdgpu_cs,
		   "*amdgpu_cs_parser *amdgpu_job *amdgpu_ib"),
	TRACEPOINT("amdgpu_cs_ioctl", AMDGPU_ROLE_CS_IOCTL, gpumon_amdgpu_cs_ioctl,
		   "*amdgpu_job", .process_words = BIT(GPUMON_PROCESS_SUBMISSIONS)),
	TRACEPOINT("amdgpu_sched_run_job", AMDGPU_ROLE_RUN, gpumon_amdgpu_run,
		   "*amdgpu_job"),
	TRACEPOINT("amdgpu_ib_pipe_sync", AMDGPU_ROLE_PIPE_SYNC, gpumon_amdgpu_pipe_sync,
		   "*amdgpu_job *dma_fence"),
	KPROBE("amdgpu_irq_dispatch", AMDGPU_ROLE_DISPATCH, gpumon_amdgpu_dispatch,
	       "*amdgpu_device *amdgpu_ih_ring", "void", .optional = true,
	       .without = "interrupts are of no device that is known"),
	TRACEPOINT("amdgpu_iv", AMDGPU_ROLE_IV, gpumon_amdgpu_iv, "u32 *amdgpu_iv_entry"),
	KPROBE("amdgpu_vm_update_fault_cache", AMDGPU_ROLE_FAULT_REPORTED,
	       gpumon_amdgpu_fault_reported, "*amdgpu_device u32 u64 u32 u32", "void",
	       .optional = true,
	       .without = "reported VM faults show only as interrupts named vm_fault"),
	KPROBE("amdgpu_vm_handle_fault", AMDGPU_ROLE_FAULT_RETRY, gpumon_amdgpu_fault_retry,
	       "*amdgpu_device u32 u64 bool|*amdgpu_device u32 u32 u32 u64 u64 bool", "bool",
	       .optional = true, .without = "VM faults that are retried are not counted"),
	CALL("amdgpu_device_gpu_recover", AMDGPU_ROLE_RECOVER, gpumon_amdgpu_recover_end,
	     "*amdgpu_device *amdgpu_job *amdgpu_reset_context", "i32", .optional = true,
	     .without = "GPU resets are not counted"),
	CALL("amdgpu_ring_soft_recovery", AMDGPU_ROLE_SOFT_RECOVERY,
	     gpumon_amdgpu_soft_recovery_end, "*amdgpu_ring u32 *dma_fence", "bool",
	     .optional = true, .without = "soft recoveries are not counted"),
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
	&gpumon_amdgpu_buffers,
};

static void amdgpu_start(void)
{
	gpumon_amdgpu_irq_forget();
	gpumon_amdgpu_memory_start();
}

struct gpumon_group gpumon_amdgpu = {
	.name = "amdgpu",
	GPUMON_PROBES(amdgpu_probes),
	GPUMON_FIELDS(gpumon_amdgpu_fields),
	GPUMON_TABLES(amdgpu_statistics),
	GPUMON_TRACKS(amdgpu_tracks),
	.start = amdgpu_start,
	.level_known = gpumon_amdgpu_ends_seen,
};
