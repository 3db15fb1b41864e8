/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/*
 * The record of the event ring: what read() on debugfs gpumon/events returns.
 *
 * The same table of events serves the kernel module, the BPF programs and
 * userspace: GPUMON_EVENTS() is the one place where an event gets its number
 * and its name.
 */
#ifndef GPUMON_EVENT_H
#define GPUMON_EVENT_H

#include <linux/types.h>

/*
 * X(number, ENUMERATOR, "name", "group"). Numbers are ABI: add at the end.
 *
 * what arg means:  queue: the DRM client that the job was submitted through, drm-client-id of
 *                  its fdinfo; 0 if the kernel (before 6.17) does not say.
 *                  run: queue->run latency in ns.
 *                  done: run->done latency in ns.
 *                  wait: fence context of the dependency.
 *                  killed: time spent in the queue in ns.
 *                  error: 0, or with GPUMON_EVENT_F_LATENCY the time since the job was
 *                  run, where its end was not seen; the error field has the errno.
 *                  others: the first of four words, see GPUMON_EVENT_WORDS; a word
 *                  that is not known is all ones.
 *                  lost: number of events that were overwritten on this CPU before
 *                  the next record of the same CPU.
 */
#define GPUMON_EVENTS(X)                                                       \
	X(0, GPUMON_EVENT_LOST, "lost", "gpumon")                              \
	X(1, GPUMON_EVENT_QUEUE, "queue", "drm_sched")                         \
	X(2, GPUMON_EVENT_RUN, "run", "drm_sched")                             \
	X(3, GPUMON_EVENT_DONE, "done", "drm_sched")                           \
	X(4, GPUMON_EVENT_WAIT, "wait", "drm_sched")                           \
	X(5, GPUMON_EVENT_KILLED, "killed", "drm_sched")                       \
	X(6, GPUMON_EVENT_ERROR, "error", "drm_sched")                         \
	X(7, GPUMON_EVENT_VBLANK, "vblank", "drm_vblank")                      \
	X(8, GPUMON_EVENT_VBLANK_QUEUED, "vblank_queued", "drm_vblank")        \
	X(9, GPUMON_EVENT_VBLANK_DELIVERED, "vblank_delivered", "drm_vblank")  \
	X(10, GPUMON_EVENT_GEM_CREATE, "gem_create", "i915")                   \
	X(11, GPUMON_EVENT_GEM_DESTROY, "gem_destroy", "i915")                 \
	X(12, GPUMON_EVENT_VMA_BIND, "vma_bind", "i915")                       \
	X(13, GPUMON_EVENT_VMA_UNBIND, "vma_unbind", "i915")                   \
	X(14, GPUMON_EVENT_GEM_SHRINK, "gem_shrink", "i915")                   \
	X(15, GPUMON_EVENT_GEM_EVICT, "gem_evict", "i915")                     \
	X(16, GPUMON_EVENT_GEM_PWRITE, "gem_pwrite", "i915")                   \
	X(17, GPUMON_EVENT_GEM_PREAD, "gem_pread", "i915")                     \
	X(18, GPUMON_EVENT_GEM_FAULT, "gem_fault", "i915")                     \
	X(19, GPUMON_EVENT_REQUEST_ADD, "request_add", "i915")                 \
	X(20, GPUMON_EVENT_REQUEST_RETIRE, "request_retire", "i915")           \
	X(21, GPUMON_EVENT_BO_CREATE, "bo_create", "amdgpu")                   \
	X(22, GPUMON_EVENT_BO_MOVE, "bo_move", "amdgpu")                       \
	X(23, GPUMON_EVENT_CS_IOCTL, "cs_ioctl", "amdgpu")                     \
	X(24, GPUMON_EVENT_SCHED_RUN_JOB, "sched_run_job", "amdgpu")           \
	X(25, GPUMON_EVENT_CS, "cs", "amdgpu")                                 \
	X(26, GPUMON_EVENT_IV, "iv", "amdgpu")                                 \
	X(27, GPUMON_EVENT_VM_MAP, "vm_bo_map", "amdgpu")                      \
	X(28, GPUMON_EVENT_VM_UNMAP, "vm_bo_unmap", "amdgpu")                  \
	X(29, GPUMON_EVENT_VM_FLUSH, "vm_flush", "amdgpu")                     \
	X(30, GPUMON_EVENT_PIPE_SYNC, "ib_pipe_sync", "amdgpu")                \
	X(31, GPUMON_EVENT_RREG, "device_rreg", "amdgpu_registers")            \
	X(32, GPUMON_EVENT_WREG, "device_wreg", "amdgpu_registers")            \
	X(33, GPUMON_EVENT_OPEN, "open", "nvidia")                             \
	X(34, GPUMON_EVENT_CLOSE, "close", "nvidia")                           \
	X(35, GPUMON_EVENT_IOCTL, "ioctl", "nvidia")                           \
	X(36, GPUMON_EVENT_MMAP, "mmap", "nvidia")                             \
	X(37, GPUMON_EVENT_FAULT, "fault", "nvidia")                           \
	X(38, GPUMON_EVENT_ISR, "isr", "nvidia")                               \
	X(39, GPUMON_EVENT_ISR_BH, "isr_bh", "nvidia")                         \
	X(40, GPUMON_EVENT_P2P_GET, "p2p_get", "nvidia")                       \
	X(41, GPUMON_EVENT_P2P_PUT, "p2p_put", "nvidia")                       \
	X(42, GPUMON_EVENT_P2P_DMA_MAP, "p2p_dma_map", "nvidia")               \
	X(43, GPUMON_EVENT_SUSPEND, "suspend", "nvidia")                       \
	X(44, GPUMON_EVENT_RESUME, "resume", "nvidia")                         \
	X(45, GPUMON_EVENT_XID, "xid", "nvidia")                               \
	X(46, GPUMON_EVENT_POLL, "poll", "nvidia")                             \
	X(47, GPUMON_EVENT_VMA_OPEN, "vma_open", "nvidia")                     \
	X(48, GPUMON_EVENT_VMA_RELEASE, "vma_release", "nvidia")               \
	X(49, GPUMON_EVENT_UVM_FAULT, "uvm_fault", "nvidia_uvm")               \
	X(50, GPUMON_EVENT_UVM_MIGRATE, "uvm_migrate", "nvidia_uvm")           \
	X(51, GPUMON_EVENT_UVM_EVICT, "uvm_evict", "nvidia_uvm")

/*
 * Events of tables of statistics: X(ENUMERATOR, "table", "context", "seqno",
 * "arg", "arg2"): the table that @ring is the row of, and what the four words
 * mean, "" for nothing. A name that ends in _ns, _bytes is in that unit, one
 * that ends in _hex is written so, without the ending.
 */
#define GPUMON_EVENT_WORDS(X)                                                  \
	X(GPUMON_EVENT_VBLANK, "crtcs", "seq", "vblank_time_ns", "high_precision", "missed") \
	X(GPUMON_EVENT_VBLANK_QUEUED, "crtcs", "seq", "", "", "")              \
	X(GPUMON_EVENT_VBLANK_DELIVERED, "crtcs", "seq", "", "since_queued_ns", "since_vblank_ns") \
	X(GPUMON_EVENT_GEM_CREATE, "memory", "object_bytes", "", "", "")       \
	X(GPUMON_EVENT_GEM_DESTROY, "memory", "object_bytes", "", "", "")      \
	X(GPUMON_EVENT_VMA_BIND, "bindings", "node_bytes", "flags_hex", "rebind", "") \
	X(GPUMON_EVENT_VMA_UNBIND, "bindings", "node_bytes", "", "", "")         \
	X(GPUMON_EVENT_GEM_SHRINK, "bindings", "target_pages", "flags_hex", "", "") \
	X(GPUMON_EVENT_GEM_EVICT, "bindings", "wanted_bytes", "align_bytes", "flags_hex", "") \
	X(GPUMON_EVENT_GEM_PWRITE, "accesses", "offset", "written_bytes", "", "") \
	X(GPUMON_EVENT_GEM_PREAD, "accesses", "offset", "read_bytes", "", "")    \
	X(GPUMON_EVENT_GEM_FAULT, "accesses", "page", "gtt", "write", "")        \
	X(GPUMON_EVENT_REQUEST_ADD, "engines", "context", "seqno", "", "")     \
	X(GPUMON_EVENT_REQUEST_RETIRE, "engines", "context", "seqno", "retired_within_ns", "") \
	X(GPUMON_EVENT_BO_CREATE, "domains", "bo_bytes", "domain_hex", "visible", "") \
	X(GPUMON_EVENT_BO_MOVE, "moves", "bo_bytes", "from", "to", "")         \
	X(GPUMON_EVENT_CS_IOCTL, "rings", "context", "seqno", "num_ibs", "")   \
	X(GPUMON_EVENT_SCHED_RUN_JOB, "rings", "context", "seqno", "submission_ns", "num_ibs") \
	X(GPUMON_EVENT_CS, "rings", "length_dw", "", "", "")                   \
	X(GPUMON_EVENT_IV, "interrupts", "client", "source", "ring", "vmid")   \
	X(GPUMON_EVENT_VM_MAP, "vm", "first_page_hex", "last_page_hex", "mapped_bytes", "flags_hex") \
	X(GPUMON_EVENT_VM_UNMAP, "vm", "first_page_hex", "last_page_hex", "unmapped_bytes", "flags_hex") \
	X(GPUMON_EVENT_VM_FLUSH, "flushes", "vmid", "hub", "page_directory_hex", "") \
	X(GPUMON_EVENT_PIPE_SYNC, "rings", "context", "seqno", "dependency_context", "dependency_seqno") \
	X(GPUMON_EVENT_RREG, "registers", "register_hex", "value_hex", "", "") \
	X(GPUMON_EVENT_WREG, "registers", "register_hex", "value_hex", "", "") \
	X(GPUMON_EVENT_OPEN, "devices", "result", "", "", "")                  \
	X(GPUMON_EVENT_CLOSE, "devices", "", "", "", "")                       \
	X(GPUMON_EVENT_IOCTL, "ioctls", "command_hex", "result", "duration_ns", "") \
	X(GPUMON_EVENT_MMAP, "devices", "mapped_bytes", "result", "", "")      \
	X(GPUMON_EVENT_FAULT, "devices", "address_page_hex", "", "", "")       \
	X(GPUMON_EVENT_ISR, "irqs", "irq", "", "", "")                         \
	X(GPUMON_EVENT_ISR_BH, "irqs", "irq", "", "since_isr_ns", "")          \
	X(GPUMON_EVENT_P2P_GET, "p2p", "length_bytes", "result", "", "")       \
	X(GPUMON_EVENT_P2P_PUT, "p2p", "length_bytes", "", "", "")             \
	X(GPUMON_EVENT_P2P_DMA_MAP, "p2p", "mapped_bytes", "result", "", "")    \
	X(GPUMON_EVENT_SUSPEND, "power", "result", "", "duration_ns", "")      \
	X(GPUMON_EVENT_RESUME, "power", "result", "", "duration_ns", "")       \
	X(GPUMON_EVENT_XID, "xids", "code", "", "", "")                        \
	X(GPUMON_EVENT_POLL, "devices", "", "", "", "")                        \
	X(GPUMON_EVENT_VMA_OPEN, "devices", "mapped_bytes", "", "", "")        \
	X(GPUMON_EVENT_VMA_RELEASE, "devices", "mapped_bytes", "", "", "")     \
	X(GPUMON_EVENT_UVM_FAULT, "faults", "address_page_hex", "", "", "")    \
	X(GPUMON_EVENT_UVM_MIGRATE, "migrations", "moved_bytes", "from", "to", "") \
	X(GPUMON_EVENT_UVM_EVICT, "migrations", "moved_bytes", "from", "to", "")

enum gpumon_event_type {
#define GPUMON_EVENT_ENUM(number, enumerator, name, group) enumerator = (number),
	GPUMON_EVENTS(GPUMON_EVENT_ENUM)
#undef GPUMON_EVENT_ENUM
	__GPUMON_EVENT_TYPE_MAX
};

#define GPUMON_COMM_LEN 16

/* The task fields are the submitter's, not those of an interrupted task. */
#define GPUMON_EVENT_F_SUBMITTER (1U << 0)
/* arg holds a latency: the earlier event of the same job was seen. */
#define GPUMON_EVENT_F_LATENCY (1U << 1)

#define GPUMON_DEPTH_UNKNOWN 0xffffffffU

/**
 * struct gpumon_event - one event, 88 bytes, native byte order; of the groups other than
 * drm_sched, GPUMON_EVENT_WORDS() says what @context, @seqno, @arg and @arg2 are
 * @time_ns: CLOCK_MONOTONIC in nanoseconds
 * @context: fence context of the job's finished fence, names the entity
 * @seqno: its sequence number: (context, seqno) names the job, across rings and devices
 * @arg: see GPUMON_EVENTS()
 * @arg2: wait: sequence number of the dependency, else 0
 * @event: enum gpumon_event_type
 * @cpu: CPU that recorded it
 * @flags: GPUMON_EVENT_F_*
 * @ring: row of the ring, or of the event's table, as in netlink statistic-get
 * @pid: process (thread group) in the initial pid namespace, 0 if unknown
 * @tid: thread, 0 if unknown
 * @queue_depth: jobs queued and not run on that ring after this event, or GPUMON_DEPTH_UNKNOWN
 * @hw_depth: jobs run and not done on that ring after this event, or GPUMON_DEPTH_UNKNOWN
 * @error: negative errno of the job, 0 if none
 * @reserved: 0
 * @comm: name of the process, NUL-terminated, empty if unknown
 */
struct gpumon_event {
	__u64 time_ns;
	__u64 context;
	__u64 seqno;
	__u64 arg;
	__u64 arg2;
	__u16 event;
	__u16 cpu;
	__u16 flags;
	__u16 ring;
	__u32 pid;
	__u32 tid;
	__u32 queue_depth;
	__u32 hw_depth;
	__s32 error;
	__u32 reserved;
	char comm[GPUMON_COMM_LEN];
};

#endif /* GPUMON_EVENT_H */
