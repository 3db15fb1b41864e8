/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The types of nvidia-uvm.ko between its event hook and the data of the event, with the driver's
 * names and layouts. Only the members in use are present; before_* replaces the others. From 580 on
 * the events have another layout.
 */
#ifndef MOCK_NVIDIA_UVM_H
#define MOCK_NVIDIA_UVM_H

#include <linux/types.h>

struct mm_struct;
struct uvm_push_struct;
struct uvm_make_resident_context_struct;
struct uvm_fault_buffer_entry_struct;

typedef u16 NvU16;
typedef s16 NvS16;
typedef u32 NvU32;
typedef u64 NvU64;
typedef u32 NV_STATUS;

#define NV_OK 0

typedef enum {
	UVM_PERF_EVENT_BLOCK_DESTROY = 0,
	UVM_PERF_EVENT_BLOCK_SHRINK,
	UVM_PERF_EVENT_BLOCK_MUNMAP,
	UVM_PERF_EVENT_RANGE_DESTROY,
	UVM_PERF_EVENT_RANGE_SHRINK,
	UVM_PERF_EVENT_MODULE_UNLOAD,
	UVM_PERF_EVENT_FAULT,
	UVM_PERF_EVENT_MIGRATION,
	UVM_PERF_EVENT_REVOCATION,
	UVM_PERF_EVENT_COUNT,
} uvm_perf_event_t;

typedef enum {
	UVM_MAKE_RESIDENT_CAUSE_REPLAYABLE_FAULT,
	UVM_MAKE_RESIDENT_CAUSE_NON_REPLAYABLE_FAULT,
	UVM_MAKE_RESIDENT_CAUSE_ACCESS_COUNTER,
	UVM_MAKE_RESIDENT_CAUSE_PREFETCH,
	UVM_MAKE_RESIDENT_CAUSE_EVICTION,
	UVM_MAKE_RESIDENT_CAUSE_API_TOOLS,
	UVM_MAKE_RESIDENT_CAUSE_API_MIGRATE,
	UVM_MAKE_RESIDENT_CAUSE_API_SET_RANGE_GROUP,
	UVM_MAKE_RESIDENT_CAUSE_API_HINT,
	UVM_MAKE_RESIDENT_CAUSE_MAX,
} uvm_make_resident_cause_t;

typedef enum {
	UVM_VA_BLOCK_TRANSFER_MODE_MOVE = 1,
	UVM_VA_BLOCK_TRANSFER_MODE_COPY = 2,
} uvm_va_block_transfer_mode_t;

typedef enum {
	UVM_PROT_NONE,
	UVM_PROT_READ_ONLY,
	UVM_PROT_READ_WRITE,
	UVM_PROT_READ_WRITE_ATOMIC,
	UVM_PROT_MAX,
} uvm_prot_t;

typedef enum {
	PMM_CONTEXT_DEFAULT,
	PMM_CONTEXT_PMA_EVICTION,
} uvm_pmm_context_t;

/* 0 is the CPU, 1 the first GPU. */
typedef struct {
	NvU32 val;
} uvm_processor_id_t;

typedef struct uvm_push_struct uvm_push_t;
typedef struct uvm_make_resident_context_struct uvm_make_resident_context_t;
typedef struct uvm_fault_buffer_entry_struct uvm_fault_buffer_entry_t;

struct uvm_va_block_struct {
	u8 before_start[48];
	NvU64 start;
	NvU64 end;
};

typedef struct uvm_va_block_struct uvm_va_block_t;

typedef struct {
	uvm_processor_id_t id;
} uvm_gpu_t;

typedef struct {
	NvU64 address;
} uvm_gpu_chunk_t;

typedef struct {
	uvm_gpu_chunk_t chunk;
} uvm_gpu_root_chunk_t;

typedef struct {
	NvU32 size;
} uvm_tracker_t;

typedef struct {
	uvm_gpu_t *gpu;
	uvm_va_block_t *block;
	u64 bytes;
} uvm_pmm_gpu_t;

typedef struct uvm_va_space_struct uvm_va_space_t;

typedef struct {
	u8 before_va_space[184];
	uvm_va_space_t *va_space;
} uvm_perf_va_space_events_t;

struct uvm_va_space_mm_struct {
	struct mm_struct *mm;
	u8 after_mm[80];
};

typedef struct uvm_va_space_mm_struct uvm_va_space_mm_t;

#if MOCK_NVIDIA == 580
#define MOCK_EVENTS_OFFSET 365328
#define MOCK_MM_OFFSET	   367864
#else
#define MOCK_EVENTS_OFFSET 4096
#define MOCK_MM_OFFSET	   8192
#endif

struct uvm_va_space_struct {
	u8 before_perf_events[MOCK_EVENTS_OFFSET];
	uvm_perf_va_space_events_t perf_events;
	u8 before_va_space_mm[MOCK_MM_OFFSET - MOCK_EVENTS_OFFSET -
			      sizeof(uvm_perf_va_space_events_t)];
	uvm_va_space_mm_t va_space_mm;
};

typedef union {
	struct {
		uvm_va_block_t *block;
	} block_destroy;
	struct {
#if MOCK_NVIDIA != 580
		uvm_va_space_t *space;
#endif
		uvm_va_block_t *block;
		uvm_processor_id_t proc_id;
		uvm_processor_id_t preferred_location;
		union {
			struct {
				uvm_fault_buffer_entry_t *buffer_entry;
				NvU32 batch_id;
				bool is_duplicate;
			} gpu;
			struct {
				NvU64 fault_va;
#if MOCK_NVIDIA == 580
				NvU32 cpu_num;
#endif
				bool is_write;
				NvU64 pc;
			} cpu;
		};
	} fault;
	struct {
		union {
			uvm_push_t *push;
			NvU64 cpu_start_timestamp;
		};
		uvm_va_block_t *block;
		uvm_processor_id_t dst;
		uvm_processor_id_t src;
#if MOCK_NVIDIA == 580
		NvS16 dst_nid;
		NvS16 src_nid;
#else
		NvU16 dst_nid;
		NvU16 src_nid;
#endif
		NvU64 address;
		NvU64 bytes;
		uvm_va_block_transfer_mode_t transfer_mode;
#if MOCK_NVIDIA == 580
		NvU32 access_counters_buffer_index;
#endif
		uvm_make_resident_cause_t cause;
		uvm_make_resident_context_t *make_resident_context;
	} migration;
	struct {
		uvm_va_block_t *block;
		uvm_processor_id_t proc_id;
		NvU64 address;
		NvU64 bytes;
		uvm_prot_t old_prot;
		uvm_prot_t new_prot;
	} revocation;
} uvm_perf_event_data_t;

#if MOCK_NVIDIA == 580
static_assert(sizeof(uvm_perf_event_data_t) == 72);
static_assert(offsetof(uvm_perf_event_data_t, fault.proc_id) == 8);
static_assert(offsetof(uvm_perf_event_data_t, fault.gpu.is_duplicate) == 28);
static_assert(offsetof(uvm_perf_event_data_t, migration.cause) == 56);
#else
static_assert(sizeof(uvm_perf_event_data_t) == 64);
static_assert(offsetof(uvm_perf_event_data_t, fault.proc_id) == 16);
static_assert(offsetof(uvm_perf_event_data_t, fault.gpu.is_duplicate) == 36);
static_assert(offsetof(uvm_perf_event_data_t, migration.cause) == 52);
#endif
static_assert(offsetof(struct uvm_va_block_struct, start) == 48);
static_assert(offsetof(uvm_perf_event_data_t, migration.dst) == 16);
static_assert(offsetof(uvm_perf_event_data_t, migration.bytes) == 40);
static_assert(offsetof(uvm_perf_event_data_t, revocation.bytes) == 24);
static_assert(offsetof(struct uvm_va_space_struct, va_space_mm.mm) == MOCK_MM_OFFSET);

void uvm_perf_event_notify(uvm_perf_va_space_events_t *va_space_events, uvm_perf_event_t event_id,
			   uvm_perf_event_data_t *event_data);
NV_STATUS uvm_va_block_evict_chunks(uvm_va_block_t *va_block, uvm_gpu_t *gpu,
				    uvm_gpu_chunk_t *root_chunk, uvm_tracker_t *tracker);

#endif /* MOCK_NVIDIA_UVM_H */
