// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Groups nvidia and nvidia_uvm without the module: system calls on the drivers' device files, and
 * Xid errors from nvidia.ko's tracepoint.
 *
 * The major number in the inode of a descriptor's file identifies a device of a driver. The name of
 * the file and the process that opened it do not matter.
 */
#include "source_process.bpf.h"
#include "../kmod/uapi/gpumon_nvidia_commands.h"

#define MINOR_BITS 20
#define FILE_TYPE  0170000
#define CHARACTER  0020000
#define ANONYMOUS  0x20
/* A file that was opened with O_PATH: the driver was not asked. */
#define FMODE_PATH 0x4000
/* Error returns are at or above -4095. */
#define FAILED(ret) ((__s64)(ret) < 0 && (__s64)(ret) >= -4095)

#if defined(__TARGET_ARCH_x86)
#define NR_MMAP	  9
#define NR_IOCTL  16
#define NR_CLOSE  3
#define NR_OPEN	  2
#define NR_OPENAT 257
struct pt_regs___kernel {
	unsigned long di;
	unsigned long si;
	unsigned long dx;
	unsigned long r10;
	unsigned long r8;
	unsigned long orig_ax;
} KERNEL_TYPE;
#define NR_OF(regs) ((long)BPF_CORE_READ(regs, orig_ax))
#define ARG1(regs)  BPF_CORE_READ(regs, di)
#define ARG2(regs)  BPF_CORE_READ(regs, si)
#define ARG3(regs)  BPF_CORE_READ(regs, dx)
#define ARG4(regs)  BPF_CORE_READ(regs, r10)
#define ARG5(regs)  BPF_CORE_READ(regs, r8)
/* Bit of a call of a 32-bit program, whose call numbers are different. */
#define STATUS_COMPAT 2
struct thread_info {
	__u32 status;
} KERNEL_TYPE;
struct task_struct___x86 {
	struct thread_info thread_info;
} KERNEL_TYPE;
#elif defined(__TARGET_ARCH_arm64)
#define NR_MMAP	  222
#define NR_IOCTL  29
#define NR_CLOSE  57
#define NR_OPEN	  (-1)
#define NR_OPENAT 56
struct pt_regs___kernel {
	__u64 regs[31];
	__u64 orig_x0;
	int syscallno;
} KERNEL_TYPE;
#define NR_OF(r)  ((long)BPF_CORE_READ(r, syscallno))
#define ARG1(r)	  BPF_CORE_READ(r, orig_x0)
#define ARG2(r)	  BPF_CORE_READ(r, regs[1])
#define ARG3(r)	  BPF_CORE_READ(r, regs[2])
#define ARG4(r)	  BPF_CORE_READ(r, regs[3])
#define ARG5(r)	  BPF_CORE_READ(r, regs[4])
#else
#error "the numbers of system calls of this machine are to be filled in; or build with BPF=no"
#endif
#define NR_OPENAT2 437

struct inode {
	unsigned short i_mode;
	__u32 i_rdev;
} KERNEL_TYPE;

struct file {
	struct inode *f_inode;
	unsigned int f_mode;
} KERNEL_TYPE;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} KERNEL_TYPE;

struct files_struct {
	struct fdtable *fdt;
} KERNEL_TYPE;

struct task_struct___files {
	struct files_struct *files;
} KERNEL_TYPE;

struct pci_dev {
	struct device dev;
} KERNEL_TYPE;

const volatile __u64 page_size = 4096;

/*
 * Major numbers by family, 0 if the driver is not loaded. gpumon-user looks them up from time to
 * time.
 */
volatile __u32 majors[SOURCE_NVIDIA_FAMILIES];

struct source_probe probes[SOURCE_NVIDIA_PROBES];
struct source_device devices[SOURCE_DEVICES];
struct source_command commands[SOURCE_COMMANDS + SOURCE_NVIDIA_FAMILIES];
__u64 failed_commands;
struct source_xid xids[SOURCE_XIDS];

/* A call in progress, from its entry to its exit. */
struct call {
	__u64 time_ns;
	__u64 argument;
	__s32 nr;
	__u32 device;
};

/* An open() that was counted, for the twin. */
#define NR_OPENED (-2)

/* Calls by thread. A thread makes one call at a time. Both programs may miss the end of a call. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SOURCE_CALLS);
	__type(key, __u32);
	__type(value, struct call);
} calls SEC(".maps");

INLINE bool is_32bit(void)
{
#if defined(__TARGET_ARCH_x86)
	const struct task_struct___x86 *task = (const void *)bpf_get_current_task();

	return BPF_CORE_READ(task, thread_info.status) & STATUS_COMPAT;
#else
	return false;
#endif
}

/* Row of the device that a descriptor has open, SOURCE_NONE for other files. */
static __noinline __u32 device_of(__u32 fd, bool *full)
{
	const struct task_struct___files *task = (const void *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	__u32 number, family, slot;
	struct file **files, *file = NULL;
	struct source_device *device;
	struct inode *inode;
	bool created;

	if (fd >= BPF_CORE_READ(table, max_fds))
		return SOURCE_NONE;
	files = BPF_CORE_READ(table, fd);
	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	if (!file)
		return SOURCE_NONE;
	inode = BPF_CORE_READ(file, f_inode);
	if ((BPF_CORE_READ(inode, i_mode) & FILE_TYPE) != CHARACTER)
		return SOURCE_NONE;
	number = BPF_CORE_READ(inode, i_rdev);
	if (number >> MINOR_BITS && number >> MINOR_BITS == majors[SOURCE_NVIDIA])
		family = SOURCE_NVIDIA;
	else if (number >> MINOR_BITS && number >> MINOR_BITS == majors[SOURCE_NVIDIA_UVM])
		family = SOURCE_NVIDIA_UVM;
	else
		return SOURCE_NONE;
	if (BPF_CORE_READ(file, f_mode) & FMODE_PATH)
		return SOURCE_NONE;
	number &= (1 << MINOR_BITS) - 1;
	slot = CLAIM(devices, SOURCE_DEVICES, mix(family + 1, number) | 1, &created);
	if (slot >= SOURCE_DEVICES) {
		*full = true;
		return SOURCE_NONE;
	}
	device = &devices[slot];
	if (created) {
		device->family = family;
		device->minor = number;
		__sync_fetch_and_or(&device->ready, 1);
	}
	return slot;
}

/* True if the first of the two programs has seen this call. */
INLINE bool seen(const struct call *found, const struct call *call)
{
	return found && found->nr == call->nr && found->argument == call->argument &&
	       found->device == call->device;
}

INLINE int enter(struct bpf_raw_tracepoint_args *ctx, bool twin)
{
	const struct pt_regs___kernel *regs = (const void *)ctx->args[0];
	struct call call = { .nr = ctx->args[1] };
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	bool full = false;
	__u32 fd;

	switch (call.nr) {
	case NR_IOCTL:
		fd = ARG1(regs);
		break;
	case NR_CLOSE:
		fd = ARG1(regs);
		break;
	case NR_MMAP:
		if (ARG4(regs) & ANONYMOUS)
			return 0;
		fd = ARG5(regs);
		break;
	default:
		return 0;
	}
	if (is_32bit())
		return 0;
	call.device = device_of(fd, &full);
	if (full)
		goto full;
	if (call.device >= SOURCE_DEVICES)
		return 0;
	call.argument = ARG2(regs);
	if (twin && seen(bpf_map_lookup_elem(&calls, &tid), &call))
		return 0;
	call.time_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&calls, &tid, &call, BPF_ANY))
		goto full;
	add(&probes[SOURCE_NVIDIA_ENTER].recorded, 1);
	return 0;
full:
	/* The twin finds the same entry. */
	if (!twin)
		add(&probes[SOURCE_NVIDIA_ENTER].table_full, 1);
	return 0;
}

SEC("raw_tp/sys_enter")
int sys_enter(struct bpf_raw_tracepoint_args *ctx)
{
	return enter(ctx, false);
}

SEC("raw_tp/sys_enter")
int sys_enter_twin(struct bpf_raw_tracepoint_args *ctx)
{
	return enter(ctx, true);
}

static __noinline int opened(__u64 now, __u32 fd, bool twin)
{
	__u32 slot, tid = (__u32)bpf_get_current_pid_tgid();
	struct call call = { .nr = NR_OPENED }, *found;
	bool full = false;

	if (twin) {
		found = bpf_map_lookup_elem(&calls, &tid);
		if (found && found->nr == NR_OPENED) {
			bpf_map_delete_elem(&calls, &tid);
			return 0;
		}
	}
	slot = device_of(fd, &full);
	if (slot >= SOURCE_DEVICES) {
		if (full && !twin)
			add(&probes[SOURCE_NVIDIA_EXIT].table_full, 1);
		return 0;
	}
	TESTED(slot);
	add(&devices[slot].words[SOURCE_DEVICE_OPENS], 1);
	if (devices[slot].family == SOURCE_NVIDIA)
		process_add(process_of_current(), SOURCE_PROCESS_OPENS, 1);
	add(&probes[SOURCE_NVIDIA_EXIT].recorded, 1);
	event_send(GPUMON_EVENT_OPEN, now, slot, 0, 0, 0, 0, true);
	if (twins && !twin)
		bpf_map_update_elem(&calls, &tid, &call, BPF_ANY);
	return 0;
}

/*
 * Has the resource manager failed? Its error is in the argument, which the driver has copied back.
 */
static __noinline bool rm_failed(__u32 family, __u32 command, __u64 argument)
{
	int at = gpumon_nvidia_status_at(command);
	__u32 status = 0;

	if (family != SOURCE_NVIDIA || at < 0)
		return false;
	bpf_probe_read_user(&status, sizeof(status), (const void *)(argument + at));
	return status;
}

/* Slot of a command; the slot of all other commands if there is no room. */
static __noinline __u32 command_slot(__u32 family, __u32 number, bool failed)
{
	const __u64 key = mix(family + 1, number) | 1;
	__u32 slot = FIND(commands, SOURCE_COMMANDS, key);
	struct source_command *command;
	bool created = false;

	if (slot < SOURCE_COMMANDS)
		return slot;
	if (!failed || failed_commands < SOURCE_FAILED_COMMANDS)
		slot = CLAIM(commands, SOURCE_COMMANDS, key, &created);
	if (slot >= SOURCE_COMMANDS) {
		slot = SOURCE_COMMANDS + (family == SOURCE_NVIDIA_UVM);
		created = true;
	} else if (created && failed) {
		add(&failed_commands, 1);
	}
	TESTED(slot);
	command = &commands[slot];
	if (created) {
		command->family = family;
		command->command = number;
		__sync_fetch_and_or(&command->ready, 1);
	}
	return slot;
}

/* Row of a command in the table of commands. */
static __noinline __u32 count_command(__u32 family, __u32 number, bool failed, bool rm_failed,
				      __u64 elapsed)
{
	__u32 slot = command_slot(family, number, failed);
	struct source_command *command;

	/* The test is for the verifier: command_slot() returns no such slot. */
	if (slot >= SOURCE_COMMANDS + SOURCE_NVIDIA_FAMILIES)
		return SOURCE_NONE;
	TESTED(slot);
	command = &commands[slot];
	add(&command->count, 1);
	if (failed)
		add(&command->failed, 1);
	if (rm_failed)
		add(&command->rm_failed, 1);
	add(&command->buckets[bucket_of(elapsed, SOURCE_LATENCY_BUCKETS)], 1);
	add(&command->duration.sum, elapsed);
	raise_to(&command->duration.max, elapsed);
	raise_to(&command->duration.not_min, ~elapsed);
	return slot;
}

static __noinline int returned(__u64 now, long nr, __u64 ret, const struct pt_regs___kernel *regs)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), row;
	struct call *found = bpf_map_lookup_elem(&calls, &tid);
	struct source_device *device;
	struct call call;
	__u64 bytes;

	/* The call was of another file, or the other program was first. */
	if (!found)
		return 0;
	call = *found;
	bpf_map_delete_elem(&calls, &tid);
	/* The entry is of an earlier call, of any file: its return was missed. */
	if (call.nr != nr || call.argument != ARG2(regs) || call.device >= SOURCE_DEVICES)
		return 0;
	TESTED(call.device);
	device = &devices[call.device];
	switch (call.nr) {
	case NR_IOCTL:
		row = count_command(device->family, call.argument, (__s64)ret < 0,
				    !ret && rm_failed(device->family, call.argument, ARG3(regs)),
				    now - call.time_ns);
		add(&device->words[SOURCE_DEVICE_IOCTLS], 1);
		if ((__s64)ret < 0)
			add(&device->words[SOURCE_DEVICE_IOCTLS_FAILED], 1);
		if (device->family == SOURCE_NVIDIA)
			process_add(process_of_current(), SOURCE_PROCESS_IOCTLS, 1);
		event_send(GPUMON_EVENT_IOCTL, now, row, (__u32)call.argument, ret,
			   now - call.time_ns, 0, true);
		break;
	case NR_MMAP:
		bytes = (call.argument + page_size - 1) & ~(page_size - 1);
		if (FAILED(ret)) {
			add(&device->words[SOURCE_DEVICE_MMAPS_FAILED], 1);
		} else {
			add(&device->words[SOURCE_DEVICE_MMAPS], 1);
			add(&device->words[SOURCE_DEVICE_MAPPED_BYTES], bytes);
			if (device->family == SOURCE_NVIDIA)
				process_add(process_of_current(), SOURCE_PROCESS_MAPPED_BYTES,
					    bytes);
		}
		event_send(GPUMON_EVENT_MMAP, now, call.device, bytes, FAILED(ret) ? ret : 0, 0, 0,
			   true);
		break;
	default:
		/* close() releases the descriptor even if it returns an error. */
		add(&device->words[SOURCE_DEVICE_CLOSES], 1);
		event_send(GPUMON_EVENT_CLOSE, now, call.device, 0, 0, 0, 0, true);
	}
	add(&probes[SOURCE_NVIDIA_EXIT].recorded, 1);
	return 0;
}

INLINE int leave(struct bpf_raw_tracepoint_args *ctx, bool twin)
{
	const struct pt_regs___kernel *regs = (const void *)ctx->args[0];
	__u64 ret = ctx->args[1], now;
	long nr = NR_OF(regs);

	switch (nr) {
	case NR_IOCTL:
	case NR_CLOSE:
	case NR_MMAP:
		now = bpf_ktime_get_ns();
		return returned(now, nr, ret, regs);
	case NR_OPEN:
	case NR_OPENAT:
	case NR_OPENAT2:
		if ((__s64)ret < 0 || is_32bit())
			return 0;
		now = bpf_ktime_get_ns();
		return opened(now, ret, twin);
	}
	return 0;
}

SEC("raw_tp/sys_exit")
int sys_exit(struct bpf_raw_tracepoint_args *ctx)
{
	return leave(ctx, false);
}

SEC("raw_tp/sys_exit")
int sys_exit_twin(struct bpf_raw_tracepoint_args *ctx)
{
	return leave(ctx, true);
}

/* Arguments: pci_dev, code, message */
SEC("raw_tp/nvidia_dev_xid")
int xid(struct bpf_raw_tracepoint_args *ctx)
{
	const struct pci_dev *pdev = (const void *)ctx->args[0];
	const char *message = (const void *)ctx->args[2];
	char name[SOURCE_NAME_LEN] __attribute__((aligned(8))) = {};
	__u64 now = bpf_ktime_get_ns();
	__u32 code = ctx->args[1], slot;
	struct gpumon_event *event;
	struct source_xid *row;
	bool created;

	device_name(name, pdev ? &pdev->dev : NULL);
	slot = CLAIM(xids, SOURCE_XIDS, mix(hash_name(1, name), code) | 1, &created);
	if (slot >= SOURCE_XIDS) {
		add(&probes[SOURCE_NVIDIA_XID].table_full, 1);
		return 0;
	}
	row = &xids[slot];
	if (created) {
		row->code = code;
		__builtin_memcpy(row->device, name, SOURCE_NAME_LEN);
	}
	row->time_ns = now;
	if (message)
		bpf_probe_read_kernel_str(row->message, SOURCE_MESSAGE_LEN, message);
	add(&row->count, 1);
	__sync_fetch_and_or(&row->ready, 1);
	add(&probes[SOURCE_NVIDIA_XID].recorded, 1);
	if (!with_events)
		return 0;
	event = event_begin(GPUMON_EVENT_XID, now, slot);
	if (!event)
		return 0;
	event->context = code;
	event_commit(event);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
