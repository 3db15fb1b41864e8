// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group nvidia: calls of processes on /dev/nvidiactl and /dev/nvidiaN.
 *
 * An open file is tracked by its address from open to close, so that its close counts for the
 * process that opened it, and later events need not read the file. Files that were open before are
 * counted by their minor number, and are in no level.
 */
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/mm.h>

#include "core/clock.h"
#include "internal.h"
#include "uapi/gpumon_nvidia_commands.h"

enum {
	DEVICE_OPENS,
	DEVICE_OPENS_FAILED,
	DEVICE_OPENS_UNTRACKED,
	DEVICE_CLOSES,
	DEVICE_OPEN_HANDLES,
	DEVICE_IOCTLS,
	DEVICE_IOCTLS_FAILED,
	DEVICE_MMAPS,
	DEVICE_MMAPS_FAILED,
	DEVICE_MAPPED_BYTES,
	DEVICE_FAULTS,
	DEVICE_VMA_OPENS,
	DEVICE_VMA_RELEASES,
	DEVICE_POLLS
};

static const struct gpumon_column device_columns[] = {
	[DEVICE_OPENS] = GPUMON_COUNTER("opens", .roles = BIT(NVIDIA_OPEN)),
	[DEVICE_OPENS_FAILED] = GPUMON_COUNTER("opens_failed", .roles = BIT(NVIDIA_OPEN)),
	[DEVICE_OPENS_UNTRACKED] = GPUMON_COUNTER("opens_untracked", .roles = BIT(NVIDIA_OPEN)),
	[DEVICE_CLOSES] = GPUMON_COUNTER("closes", .roles = BIT(NVIDIA_CLOSE)),
	/* If closes are not seen, the level would only grow. */
	[DEVICE_OPEN_HANDLES] = GPUMON_GAUGE("open_handles",
					     .roles = BIT(NVIDIA_OPEN) | BIT(NVIDIA_CLOSE)),
	[DEVICE_IOCTLS] = GPUMON_COUNTER("ioctls", .roles = BIT(NVIDIA_IOCTL)),
	[DEVICE_IOCTLS_FAILED] = GPUMON_COUNTER("ioctls_failed", .roles = BIT(NVIDIA_IOCTL)),
	[DEVICE_MMAPS] = GPUMON_COUNTER("mmaps", .roles = BIT(NVIDIA_MMAP)),
	[DEVICE_MMAPS_FAILED] = GPUMON_COUNTER("mmaps_failed", .roles = BIT(NVIDIA_MMAP)),
	[DEVICE_MAPPED_BYTES] = GPUMON_COUNTER("mapped_bytes", .roles = BIT(NVIDIA_MMAP)),
	[DEVICE_FAULTS] = GPUMON_COUNTER("faults", .roles = BIT(NVIDIA_FAULT)),
	[DEVICE_VMA_OPENS] = GPUMON_COUNTER("vma_opens", .roles = BIT(NVIDIA_VMA_OPEN)),
	[DEVICE_VMA_RELEASES] = GPUMON_COUNTER("vma_releases", .roles = BIT(NVIDIA_VMA_RELEASE)),
	[DEVICE_POLLS] = GPUMON_COUNTER("polls", .roles = BIT(NVIDIA_POLL)),
};

struct gpumon_statistics gpumon_nvidia_devices = {
	.name = "devices",
	.labels = { "device", "minor" },
	.numbers = BIT(1),
	GPUMON_COLUMNS(device_columns),
	.capacity = 128,
};

enum {
	IOCTL_COUNT,
	IOCTL_FAILED,
	IOCTL_RM_FAILED,
	IOCTL_DURATION
};

static const struct gpumon_column ioctl_columns[] = {
	[IOCTL_COUNT] = GPUMON_COUNTER("ioctls", .roles = BIT(NVIDIA_IOCTL)),
	[IOCTL_FAILED] = GPUMON_COUNTER("failed", .roles = BIT(NVIDIA_IOCTL)),
	[IOCTL_RM_FAILED] = GPUMON_COUNTER("rm_failed", .roles = BIT(NVIDIA_IOCTL)),
	[IOCTL_DURATION] = GPUMON_HISTOGRAM("duration_ns", .roles = BIT(NVIDIA_IOCTL)),
};

struct gpumon_statistics gpumon_nvidia_ioctls = {
	.name = "ioctls",
	.labels = { "command", "number", "name" },
	.numbers = BIT(1),
	GPUMON_COLUMNS(ioctl_columns),
	.capacity = 256,
};

static const char *const command_names[] = {
#define COMMAND(number, name) \
	[number] = name,
	GPUMON_NVIDIA_COMMANDS(COMMAND)
#undef COMMAND
};

static const char *command_name(unsigned int number)
{
	return (number < ARRAY_SIZE(command_names) ? command_names[number] : NULL) ?: "-";
}

/* Rows of commands whose first call failed: made-up ones do not get more of the table. */
#define FAILED_ROWS 64
static atomic_t failed_rows = ATOMIC_INIT(0);

/*
 * Key of the row for commands that have no row of their own. The key of a command is mixed of two
 * numbers, of which the second is never 0, so that none has this one.
 */
#define OTHER_KEY gpumon_key_mix(0, 0)

/**
 * struct tracked_file - an open file of the driver's devices
 * @level: in the gauge of open handles of its device's row
 * @process_key: key of slot @process when the file was opened: the slot may be another process's since
 * @process: slot of the process that opened it, GPUMON_NONE if there was no room for one
 */
struct tracked_file {
	struct gpumon_level level;
	u64 process_key;
	u32 process;
};
GPUMON_TRACKED_TYPE(struct tracked_file);

/* Open files by the address of their struct file. */
struct gpumon_track gpumon_nvidia_open_files = {
	.capacity = 16384,
};

static noinline u32 nvidia_device_learn(u64 key, u32 minor, const struct nvidia_gpu *gpu)
{
	char name[NVIDIA_NAME_LEN];

	if (gpu)
		strscpy(name, gpu->name, sizeof(name));
	else if (minor == NVIDIA_MINOR_CTL)
		strscpy(name, "nvidiactl", sizeof(name));
	else if (minor == NVIDIA_MINOR_MODESET)
		strscpy(name, "nvidia-modeset", sizeof(name));
	else
		snprintf(name, sizeof(name), "minor%u", minor);
	return gpumon_row_learn_number(&gpumon_nvidia_devices, key, name, minor, NULL);
}

static u32 nvidia_device_of_inode(const struct inode *inode)
{
	const struct nvidia_gpu *gpu;
	dev_t number;
	u64 key;
	u32 row;

	if (!gpumon_read_nofault(&number, &inode->i_rdev, sizeof(number)))
		return GPUMON_UNREADABLE;
	gpu = gpumon_nvidia_gpu_of_minor(MINOR(number));
	key = gpumon_key_mix(gpu ? gpu->hash : 0, MINOR(number));
	row = gpumon_row_find(&gpumon_nvidia_devices, key);
	return likely(row != GPUMON_NONE) ? row : nvidia_device_learn(key, MINOR(number), gpu);
}

static noinline u32 nvidia_device_of_untracked(const struct file *file)
{
	struct inode *inode;

	if (!gpumon_read_nofault(&inode, &file->f_inode, sizeof(inode)))
		return GPUMON_UNREADABLE;
	return nvidia_device_of_inode(inode);
}

static __always_inline u32 nvidia_device_of_file(const struct file *file)
{
	const struct tracked_file *open = NULL;

	if (likely(file))
		open = gpumon_track_find(&gpumon_nvidia_open_files, (unsigned long)file);
	return likely(open) ? open->level.row : nvidia_device_of_untracked(file);
}

static void handle_begins(struct gpumon_event_context *ctx, const struct file *file, u32 row)
{
	struct tracked_file *open = gpumon_level_begin(&gpumon_nvidia_open_files,
						       (unsigned long)file, &gpumon_nvidia_devices,
						       row, DEVICE_OPEN_HANDLES, 1);

	if (unlikely(!open)) {
		gpumon_row_add(gpumon_row_words(&gpumon_nvidia_devices, row),
			       DEVICE_OPENS_UNTRACKED, 1);
		return;
	}
	open->process = gpumon_process_slot(ctx->cpu);
	open->process_key = open->process == GPUMON_NONE ?
				    0 :
				    gpumon_read_once64(gpumon_process_table.keys[open->process]);
	gpumon_process_add(ctx->cpu, open->process, GPUMON_PROCESS_OPENS, 1);
}

/* kretprobe on nvidia_open(inode, file): there is a handle only if it returns 0. */
GPUMON_KRETPROBE_BODY(gpumon_nvidia_open_returned)
{
	const struct gpumon_call *call = gpumon_call(instance);
	u32 row = nvidia_device_of_inode((void *)call->argument[0]);
	int ret = regs_return_value(regs);

	if (!gpumon_row_count(ctx, &gpumon_nvidia_devices, row,
			      ret ? DEVICE_OPENS_FAILED : DEVICE_OPENS))
		return;
	if (!ret)
		handle_begins(ctx, (void *)call->argument[1], row);
	gpumon_event_ring_now(GPUMON_EVENT_OPEN, row, ret, 0, 0, 0);
}

static void handle_ends(struct gpumon_event_context *ctx, struct tracked_file *open)
{
	u32 process = open->process;

	/* The slot may be another process's by now. */
	if (process != GPUMON_NONE &&
	    gpumon_read_once64(gpumon_process_table.keys[process]) == open->process_key)
		gpumon_process_add(ctx->cpu, process, GPUMON_PROCESS_CLOSES, 1);
	gpumon_level_end(&gpumon_nvidia_open_files, &open->level, &gpumon_nvidia_devices,
			 DEVICE_OPEN_HANDLES);
}

/* kprobe on nvidia_close(inode, file): the last descriptor is closed, in any process. */
GPUMON_KPROBE_BODY(gpumon_nvidia_close_called)
{
	const struct inode *inode = (void *)gpumon_compat_kernel_argument(regs, 0);
	const struct file *file = (void *)gpumon_compat_kernel_argument(regs, 1);
	struct tracked_file *open = NULL;
	u32 row;

	if (file)
		open = gpumon_track_find(&gpumon_nvidia_open_files, (unsigned long)file);
	row = open ? open->level.row : nvidia_device_of_inode(inode);
	if (open)
		handle_ends(ctx, open);
	if (gpumon_row_count(ctx, &gpumon_nvidia_devices, row, DEVICE_CLOSES))
		gpumon_event_ring_now(GPUMON_EVENT_CLOSE, row, 0, 0, 0, 0);
}

/*
 * Keeps a place for commands that will find none; no probe of the group runs. Before there is such
 * a command the place has no labels, and so is no row.
 */
void gpumon_nvidia_file_start(void)
{
	bool created = false;

	if (gpumon_nvidia_ioctls.table.keys)
		gpumon_table_claim(&gpumon_nvidia_ioctls.table, OTHER_KEY, &created);
	/* The rows may have gone with the driver. */
	if (created)
		atomic_set(&failed_rows, 0);
}

static noinline u32 nvidia_ioctl_learn(u64 key, u32 command, bool failed)
{
	u32 row = GPUMON_NONE;
	char text[16];

	if (!failed || atomic_read(&failed_rows) < FAILED_ROWS) {
		snprintf(text, sizeof(text), "0x%08x", command);
		row = gpumon_row_learn_number(&gpumon_nvidia_ioctls, key, text, _IOC_NR(command),
					      command_name(_IOC_NR(command)));
		if (failed && row != GPUMON_NONE)
			atomic_inc(&failed_rows);
	}
	return row != GPUMON_NONE ?
		       row :
		       gpumon_row_learn(&gpumon_nvidia_ioctls, OTHER_KEY, "other", NULL, NULL);
}

/*
 * Has the resource manager failed? Its error is in the argument, which the driver has just copied
 * back. If the page is gone again, or another thread of the program has overwritten it, the program
 * has itself to blame.
 */
static bool rm_failed(const struct nvidia_ioctl_data *ioctl)
{
	int at = gpumon_nvidia_status_at(ioctl->command);
	u32 status;

	return at >= 0 &&
	       !copy_from_user_nofault(&status, (void __user *)(ioctl->argument + at),
				       sizeof(status)) &&
	       status;
}

/* kretprobe on nvidia_unlocked_ioctl(file, command, argument) */
GPUMON_KRETPROBE(gpumon_nvidia_ioctl_entered)
{
	struct nvidia_ioctl_data *ioctl = (void *)instance->data;

	ioctl->file = (void *)gpumon_compat_kernel_argument(regs, 0);
	ioctl->command = gpumon_compat_kernel_argument(regs, 1);
	ioctl->argument = gpumon_compat_kernel_argument(regs, 2);
	ioctl->since = gpumon_clock();
	return 0;
}

GPUMON_KRETPROBE_BODY(gpumon_nvidia_ioctl_returned)
{
	u64 now = gpumon_clock();
	const struct nvidia_ioctl_data *ioctl = (void *)instance->data;
	long ret = regs_return_value(regs);
	local64_t *words;
	u32 device, row;
	u64 key, elapsed;

	device = nvidia_device_of_file(ioctl->file);
	if (!gpumon_probe_found(ctx, device))
		return;
	gpumon_process_add(ctx->cpu, gpumon_process_slot(ctx->cpu), GPUMON_PROCESS_IOCTLS, 1);
	words = gpumon_row_words(&gpumon_nvidia_devices, device);
	gpumon_row_add(words, DEVICE_IOCTLS, 1);
	if (unlikely(ret < 0))
		gpumon_row_add(words, DEVICE_IOCTLS_FAILED, 1);
	key = gpumon_key_mix(0, ioctl->command + 1ULL);
	row = gpumon_row_find(&gpumon_nvidia_ioctls, key);
	if (unlikely(row == GPUMON_NONE))
		row = nvidia_ioctl_learn(key, ioctl->command, ret < 0);
	if (!gpumon_row_begin(ctx, &gpumon_nvidia_ioctls, row, IOCTL_COUNT, &words))
		return;
	if (unlikely(ret < 0))
		gpumon_row_add(words, IOCTL_FAILED, 1);
	else if (unlikely(rm_failed(ioctl)))
		gpumon_row_add(words, IOCTL_RM_FAILED, 1);
	gpumon_clock_elapsed(ioctl->since, now, &elapsed);
	gpumon_row_observe(&gpumon_nvidia_ioctls, words, IOCTL_DURATION, elapsed);
	gpumon_event_ring_now(GPUMON_EVENT_IOCTL, row, ioctl->command, ret, elapsed, 0);
}

static_assert(offsetof(struct vm_area_struct, vm_end) ==
	      offsetof(struct vm_area_struct, vm_start) + sizeof(unsigned long));

/* Bytes of a mapping, which may be any value; 0 if it cannot be read. */
static u64 vma_bytes(const struct vm_area_struct *vma)
{
	unsigned long at[2];

	return gpumon_read_nofault(at, &vma->vm_start, sizeof(at)) ? at[1] - at[0] : 0;
}

/* kretprobe on nvidia_mmap(file, vma): the bytes count if it returns 0. */
GPUMON_KRETPROBE_BODY(gpumon_nvidia_mmap_returned)
{
	const struct gpumon_call *call = gpumon_call(instance);
	u64 bytes = vma_bytes((void *)call->argument[1]);
	u32 row = bytes ? nvidia_device_of_file((void *)call->argument[0]) : GPUMON_UNREADABLE;
	int ret = regs_return_value(regs);
	local64_t *words;

	if (!gpumon_row_begin(ctx, &gpumon_nvidia_devices, row,
			      ret ? DEVICE_MMAPS_FAILED : DEVICE_MMAPS, &words))
		return;
	if (!ret) {
		gpumon_row_add(words, DEVICE_MAPPED_BYTES, bytes);
		gpumon_process_add(ctx->cpu, gpumon_process_slot(ctx->cpu),
				   GPUMON_PROCESS_MAPPED_BYTES, bytes);
	}
	gpumon_event_ring_now(GPUMON_EVENT_MMAP, row, bytes, ret, 0, 0);
}

/* kprobe on nvidia_poll(file, table) */
GPUMON_KPROBE_BODY(gpumon_nvidia_poll_called)
{
	u32 row;

	row = nvidia_device_of_file((void *)gpumon_compat_kernel_argument(regs, 0));
	if (gpumon_row_count(ctx, &gpumon_nvidia_devices, row, DEVICE_POLLS))
		gpumon_event_ring_now(GPUMON_EVENT_POLL, row, 0, 0, 0, 0);
}

static u32 nvidia_device_of_vma(const struct vm_area_struct *vma)
{
	struct file *file;

	if (!gpumon_read_nofault(&file, &vma->vm_file, sizeof(file)))
		return GPUMON_UNREADABLE;
	return nvidia_device_of_file(file);
}

/* kprobe on nvidia_fault(fault) */
GPUMON_KPROBE_BODY(gpumon_nvidia_fault_called)
{
	const struct vm_fault *fault = (void *)gpumon_compat_kernel_argument(regs, 0);
	u64 page = GPUMON_WORD_UNKNOWN;
	struct vm_area_struct *vma;
	unsigned long address;
	u32 row;

	row = !gpumon_read_nofault(&vma, &fault->vma, sizeof(vma)) ? GPUMON_UNREADABLE :
								     nvidia_device_of_vma(vma);
	if (!gpumon_row_count(ctx, &gpumon_nvidia_devices, row, DEVICE_FAULTS))
		return;
	gpumon_process_add(ctx->cpu, gpumon_process_slot(ctx->cpu), GPUMON_PROCESS_FAULTS, 1);
	if (gpumon_event_ring_on()) {
		if (gpumon_read_nofault(&address, &fault->address, sizeof(address)))
			page = address & PAGE_MASK;
		gpumon_event_ring_words(GPUMON_EVENT_FAULT, ktime_get_mono_fast_ns(), row, page, 0,
					0, 0);
	}
}

static void count_vma(struct gpumon_event_context *ctx, struct pt_regs *regs, unsigned int column,
		      enum gpumon_event_type event)
{
	const struct vm_area_struct *vma = (void *)gpumon_compat_kernel_argument(regs, 0);
	u32 row = nvidia_device_of_vma(vma);

	if (gpumon_row_count(ctx, &gpumon_nvidia_devices, row, column))
		gpumon_event_ring_now(event, row, vma_bytes(vma) ?: GPUMON_WORD_UNKNOWN, 0, 0, 0);
}

/* kprobe on nvidia_vma_open(vma) */
GPUMON_KPROBE_BODY(gpumon_nvidia_vma_open_called)
{
	count_vma(ctx, regs, DEVICE_VMA_OPENS, GPUMON_EVENT_VMA_OPEN);
}

/* kprobe on nvidia_vma_release(vma) */
GPUMON_KPROBE_BODY(gpumon_nvidia_vma_release_called)
{
	count_vma(ctx, regs, DEVICE_VMA_RELEASES, GPUMON_EVENT_VMA_RELEASE);
}
