/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * For authors of eBPF programs that run inside GPU kernels. Compile with
 *
 *	clang -O2 -g -target bpf -mcpu=v3 -I bpf/gpu -c my.bpf.c
 *
 * and on Debian and Ubuntu with -I /usr/include/$(uname -m)-linux-gnu, which has asm/types.h.
 *
 * SECTIONS. A program is for the GPU if its section begins with "gpu/" or its function with cuda__.
 *
 *	gpu/entry[/K,K]		first instruction of a kernel, in each of its threads
 *	gpu/exit[/K,K]		before each exit of a kernel, in each thread that leaves there
 *	gpu/memory[/K,K]	before each access of memory, in each thread that accesses
 *	gpu/atomic[/K,K]	before each atomic operation
 *	gpu/barrier[/K,K]	before each barrier of a block
 *	gpu/function/NAME	first instruction of a device function
 *	gpu/function_exit/NAME	before each return of it
 *	gpu/run			a kernel of its own
 *
 * K is a kernel, mangled or demangled, as a pattern (* and ?). bpftime's names mean the same:
 * kprobe/K,K (entry), kretprobe/K,K (exit), kprobe/__memcapture (memory), kprobe/__directly_run (run).
 * Programs in other sections are for the CPU; they may share maps with those for the GPU.
 *
 * WHAT IT RUNS IN. Each thread of the GPU runs it by itself. Threads of a warp (32) run it together,
 * as far as they came there together. What one leaves in a map is seen by the others, in no order. R1
 * is the context for gpu/memory, gpu/atomic and gpu/barrier, and 0 elsewhere. The result is ignored.
 *
 * WHAT IS SHOWN. Maps become tables, with columns named as the fields of keys and values. The names
 * say what numbers are: "ns" or "..._ns" is time, "bytes" or "..._bytes" bytes, "kernel" the number of
 * a kernel, whose name is shown, "line" that of a source line. A map called VALUE_by_INDEX is about
 * INDEX: wait_ns_by_kernel, calls_by_sm. Arrays for each SM and histograms are added up over SMs and
 * GPUs, other maps are shown for each GPU.
 *
 * LIMITS. 512 bytes of stack, 8 functions deep: what needs more goes into a map by thread. Values of arrays
 * have 1 GiB at most, others 64 KiB; all maps together 8 GiB on each GPU. Loops are allowed; a run that takes too many backward
 * jumps is ended and counted. Data in .rodata, .data and .bss is possible, without addresses of other
 * data in it. No tail calls, kfuncs, callbacks, spin locks, CO-RE.
 */
#ifndef GPUMON_GPU_H
#define GPUMON_GPU_H

#include <linux/bpf.h>
#include <linux/types.h>
/* Next to <bpf/bpf_helpers.h>, where the first four come from. */
#include <bpf/bpf_helpers.h>

/*
 * TYPES OF MAPS beside the kernel's ARRAY, HASH, PERCPU_ARRAY (a copy for each SM, added up when it is
 * read) and RINGBUF (max_entries: bytes; value: the largest record, so that more of them fit; without
 * it 512 bytes). All of them are in the memory of the GPU.
 */
enum {
	/* As HASH and ARRAY. */
	BPF_MAP_TYPE_GPU_HASH_MAP = 1501,
	/* A value for each thread of the grid. Lookup gives the thread's own one, whatever the key;
	 * max_entries: threads, 1: the usual number (2^20).
	 */
	BPF_MAP_TYPE_PERGPUTD_ARRAY_MAP = 1502,
	BPF_MAP_TYPE_GPU_ARRAY_MAP = 1503,
	BPF_MAP_TYPE_GPU_KERNEL_SHARED_ARRAY_MAP = 1504,
	BPF_MAP_TYPE_PERGPUTD_ARRAY_HOST_MAP = 1512,
	BPF_MAP_TYPE_GPU_ARRAY_HOST_MAP = 1513,
	/* As RINGBUF, for bpf_perf_event_output(). max_entries is ignored. */
	BPF_MAP_TYPE_GPU_RINGBUF_MAP = 1527,
	/* 64 counters for each index below max_entries: counter n counts values from 2^n to
	 * 2^(n+1) - 1, counter 0 also the value 0. It has no key and no value.
	 */
	BPF_MAP_TYPE_GPUMON_HISTOGRAM = 1601,
};

/* Context of gpu/memory, gpu/atomic and gpu/barrier. Only these fields may be read. */
struct gpumon_context {
	__u64 address; /* as the kernel has it: generic or in its state space; never dereference it */
	__u64 line;    /* number of the source line, or 0 if the kernel has no lines */
	__u32 size;    /* bytes that one thread accesses */
	__u32 flags;   /* GPUMON_READ and so on */
};

#define GPUMON_READ   0x01
#define GPUMON_WRITE  0x02 /* with GPUMON_READ: an atomic operation */
#define GPUMON_SHARED 0x10 /* neither of SHARED and LOCAL: global or generic */
#define GPUMON_LOCAL  0x20
#define GPUMON_ASYNC  0x40 /* a copy that goes on after the instruction */

#define GPUMON_KEPT 4 /* slots of gpumon_keep() */

/*
 * HELPERS. Of the kernel's there are bpf_map_lookup_elem(), bpf_map_update_elem(),
 * bpf_map_delete_elem() (hash only), bpf_trace_printk() (the text goes to gpumon's output; numbers
 * only), bpf_get_current_pid_tgid() (of the process), bpf_perf_event_output() and
 * bpf_ringbuf_output().
 */

/* --- bpftime's */

/* Print a constant text. */
static long (*const bpf_puts)(const char *text) = (void *)501;
/* Nanoseconds of the GPU's clock, the same on all SMs. Its step is 32 ns to 1 us. */
static __u64 (*const bpf_get_globaltimer)(void) = (void *)502;
/* blockIdx, blockDim, threadIdx: each writes three numbers. */
static long (*const bpf_get_block_idx)(__u64 *x, __u64 *y, __u64 *z) = (void *)503;
static long (*const bpf_get_block_dim)(__u64 *x, __u64 *y, __u64 *z) = (void *)504;
static long (*const bpf_get_thread_idx)(__u64 *x, __u64 *y, __u64 *z) = (void *)505;
/* What this thread wrote before is seen, also by the CPU, before what it writes later. */
static long (*const bpf_gpu_membar)(void) = (void *)506;
/* End this thread of the kernel. Only with --allow-exit: kernels that synchronise hang. */
static long (*const bpf_cuda_exit)(void) = (void *)507;
/* gridDim: three numbers. */
static long (*const bpf_get_grid_dim)(__u64 *x, __u64 *y, __u64 *z) = (void *)508;
/* Number of the SM that the thread runs on. */
static __u64 (*const bpf_get_sm_id)(void) = (void *)509;
/* Slot of the warp on its SM. That is not its place in the block: gpumon_warp_in_block(). */
static __u64 (*const bpf_get_warp_id)(void) = (void *)510;
/* Place of the thread in its warp, 0 to 31. */
static __u64 (*const bpf_get_lane_id)(void) = (void *)511;

/* --- gpumon's */

/* Add to a 64-bit number in an array: ARRAY, PERCPU_ARRAY (cheapest) or of threads, whose @index is
 * ignored. What each thread adds counts. Return: 0, or -1: no such index.
 */
static long (*const gpumon_count)(void *map, __u64 index, __u64 amount) = (void *)600;
/* Count a value in the histogram at this index. Return: 0, or -1: no such index. */
static long (*const gpumon_histogram_add)(void *map, __u64 index, __u64 value) = (void *)601;
/* 1 in one of the threads of the warp that are here together, 0 in the others. */
static __u64 (*const gpumon_is_leader)(void) = (void *)602;
/* Number of threads of the warp that are here together. */
static __u64 (*const gpumon_active_lanes)(void) = (void *)603;
/* Clock cycles of the SM. Only differences on one SM mean something. */
static __u64 (*const gpumon_clock)(void) = (void *)604;
/* Keep a number for a later program of the same thread of the same kernel, in a register. @slot is a
 * constant, 0 to GPUMON_KEPT - 1. What was not kept is 0.
 */
static long (*const gpumon_keep)(__u64 slot, __u64 number) = (void *)605;
static __u64 (*const gpumon_kept)(__u64 slot) = (void *)606;
/* Number of the kernel: gpumon knows its name. */
static __u64 (*const gpumon_kernel)(void) = (void *)607;
/* Number of the thread in its grid, of the block in its grid, of the warp in its block. */
static __u64 (*const gpumon_thread)(void) = (void *)608;
static __u64 (*const gpumon_block)(void) = (void *)609;
static __u64 (*const gpumon_warp_in_block)(void) = (void *)610;
/* Number of distinct sectors of 32 bytes that the threads which are here together access: @size bytes
 * at @address each. All of them get the same number. A thread whose access reaches over the end of a
 * sector counts all of its sectors, whatever the others access.
 */
static __u64 (*const gpumon_sectors)(__u64 address, __u64 size) = (void *)611;
/* 1 in each thread of a warp if all 32 are here together, @size is 1, 2, 4, 8 or 16 in all of them, and
 * thread n accesses what lies n times @size behind what thread 0 does. In all other cases 0.
 */
static __u64 (*const gpumon_contiguous)(__u64 address, __u64 size) = (void *)612;

#endif /* GPUMON_GPU_H */
