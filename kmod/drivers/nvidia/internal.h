/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of group nvidia: its GPUs, tables and probe bodies. */
#ifndef GPUMON_NVIDIA_INTERNAL_H
#define GPUMON_NVIDIA_INTERNAL_H

#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/uaccess.h>

#include "attach/probe.h"
#include "common/call.h"
#include "common/event_ring.h"
#include "common/process.h"
#include "core/key.h"
#include "core/level.h"

struct device;
struct file;
struct inode;
struct pci_dev;

#define NVIDIA_NAME_LEN GPUMON_LABEL_LEN

/* Minors of the device nodes that belong to no GPU. */
#define NVIDIA_MINOR_CTL     255
#define NVIDIA_MINOR_MODESET 254
#define NVIDIA_MINOR_UNKNOWN (~0U)

/**
 * enum nvidia_role - events of the driver, each may have several functions
 *
 * The names are those of the functions.
 */
enum nvidia_role {
	NVIDIA_OPEN,
	NVIDIA_CLOSE,
	NVIDIA_IOCTL,
	NVIDIA_COMPAT_IOCTL,
	NVIDIA_MMAP,
	NVIDIA_POLL,
	NVIDIA_FAULT,
	NVIDIA_VMA_OPEN,
	NVIDIA_VMA_RELEASE,
	NVIDIA_ISR,
	NVIDIA_ISR_MSIX,
	NVIDIA_BH,
	NVIDIA_BH_MSIX,
	NVIDIA_P2P_GET,
	NVIDIA_P2P_GET_PERSISTENT,
	NVIDIA_P2P_PUT,
	NVIDIA_P2P_PUT_PERSISTENT,
	NVIDIA_P2P_FREE,
	NVIDIA_P2P_MAP,
	NVIDIA_P2P_UNMAP,
	NVIDIA_SUSPEND,
	NVIDIA_RESUME,
	NVIDIA_RUNTIME_SUSPEND,
	NVIDIA_RUNTIME_RESUME,
	NVIDIA_XID,
	NVIDIA_GPU_COMES,
	NVIDIA_GPU_GOES
};

/**
 * struct nvidia_gpu - a GPU
 * @name: bus address
 * @hash: of @name, for the keys of rows
 * @dev: the device in its PCI device, only compared
 * @minor: N of /dev/nvidiaN, NVIDIA_MINOR_UNKNOWN where that is unknown
 * @ready: the others are set
 */
struct nvidia_gpu {
	char name[NVIDIA_NAME_LEN];
	u64 hash;
	const void *dev;
	u32 minor;
	bool ready;
};

enum {
	NVIDIA_FIELD_MINOR,
	NVIDIA_FIELDS
};

extern struct gpumon_field gpumon_nvidia_fields[NVIDIA_FIELDS];

const struct nvidia_gpu *gpumon_nvidia_gpu_of_arg(const void *arg);
const struct nvidia_gpu *gpumon_nvidia_gpu_of_dev(const void *dev);
const struct nvidia_gpu *gpumon_nvidia_gpu_of_minor(u32 minor);
void gpumon_nvidia_gpus_look(void);
void gpumon_nvidia_gpus_forget(void);
void gpumon_nvidia_refresh(void);
void gpumon_nvidia_device_name(char name[NVIDIA_NAME_LEN], const struct device *dev);

void gpumon_nvidia_file_start(void);
void gpumon_nvidia_irq_start(void);

extern struct gpumon_statistics gpumon_nvidia_devices, gpumon_nvidia_ioctls, gpumon_nvidia_irqs,
	gpumon_nvidia_p2p, gpumon_nvidia_power, gpumon_nvidia_xids;
extern struct gpumon_track gpumon_nvidia_open_files, gpumon_nvidia_page_tables;

/*
 * Data of a kretprobe from the entry of a call to its return, where struct gpumon_call does not do.
 */
struct nvidia_ioctl_data {
	u64 since;
	const struct file *file;
	unsigned long argument;
	u32 command;
};

struct nvidia_msix_call {
	struct gpumon_call call;
	/* The MSI-X interrupt that this one interrupted. */
	u32 outer;
};

struct nvidia_put_data {
	const void *table;
	/* Bytes, if the get was seen. */
	u64 bytes;
};

GPUMON_KRETPROBE(gpumon_nvidia_open_returned);
GPUMON_KPROBE(gpumon_nvidia_close_called);
GPUMON_KRETPROBE(gpumon_nvidia_ioctl_entered);
GPUMON_KRETPROBE(gpumon_nvidia_ioctl_returned);
GPUMON_KRETPROBE(gpumon_nvidia_mmap_returned);
GPUMON_KPROBE(gpumon_nvidia_poll_called);
GPUMON_KPROBE(gpumon_nvidia_fault_called);
GPUMON_KPROBE(gpumon_nvidia_vma_open_called);
GPUMON_KPROBE(gpumon_nvidia_vma_release_called);
GPUMON_KRETPROBE(gpumon_nvidia_isr_entered);
GPUMON_KRETPROBE(gpumon_nvidia_isr_returned);
GPUMON_KRETPROBE(gpumon_nvidia_isr_msix_entered);
GPUMON_KRETPROBE(gpumon_nvidia_isr_msix_returned);
GPUMON_KPROBE(gpumon_nvidia_bh_called);
GPUMON_KRETPROBE(gpumon_nvidia_p2p_get_persistent_returned);
GPUMON_KRETPROBE(gpumon_nvidia_p2p_get_returned);
GPUMON_KRETPROBE(gpumon_nvidia_p2p_put_entered);
GPUMON_KRETPROBE(gpumon_nvidia_p2p_put_persistent_entered);
GPUMON_KRETPROBE(gpumon_nvidia_p2p_put_returned);
GPUMON_KPROBE(gpumon_nvidia_p2p_free_called);
GPUMON_KRETPROBE(gpumon_nvidia_p2p_map_returned);
GPUMON_KRETPROBE(gpumon_nvidia_p2p_unmap_returned);
GPUMON_KRETPROBE(gpumon_nvidia_suspend_returned);
GPUMON_KRETPROBE(gpumon_nvidia_resume_returned);
GPUMON_KRETPROBE(gpumon_nvidia_runtime_suspend_returned);
GPUMON_KRETPROBE(gpumon_nvidia_runtime_resume_returned);
GPUMON_KPROBE(gpumon_nvidia_error_reported);
GPUMON_KRETPROBE(gpumon_nvidia_gpu_probe_returned);
GPUMON_KPROBE(gpumon_nvidia_gpu_remove_called);
void gpumon_nvidia_xid_traced(void *data, const struct pci_dev *pdev, u32 code,
			      const char *message);

#endif /* GPUMON_NVIDIA_INTERNAL_H */
