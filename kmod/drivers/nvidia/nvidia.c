// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group nvidia: NVIDIA's own kernel driver, nvidia.ko, which has hardly any tracepoints. Most
 * probes are kprobes on its functions; which functions there are depends on the driver's version
 * and on its compiler.
 *
 * Up to 535 the file operations are nvidia_frontend_*(), which call nvidia_*(); from 550 on they
 * are nvidia_*() themselves. One of each pair is probed. nvidia-uvm.ko has a group of its own,
 * uvm.c.
 */
#include "common/process.h"
#include "drivers/groups.h"
#include "internal.h"

/* Commands of many threads may sleep in the driver at the same time. */
#define IOCTLS_UNDER_WAY 512

#define KPROBE(...)    GPUMON_KPROBE_AT("nvidia", __VA_ARGS__)
#define KRETPROBE(...) GPUMON_KRETPROBE_AT("nvidia", __VA_ARGS__)
#define CALL(...)      GPUMON_CALL_AT("nvidia", __VA_ARGS__)
/* Names of one function: up to 535 the second calls the first. */
#define FRONTEND(_kind, _name, ...)                                 \
	_kind("nvidia_" _name, __VA_ARGS__, .fallback = true),      \
		_kind("nvidia_frontend_" _name, __VA_ARGS__)

#define INODE_FILE "*inode *file"
#define COMMAND	   "*file u32 u64"
#define FILE_VMA   "*file *vm_area_struct"
#define FILE_POLL  "*file *poll_table_struct"
#define VMA	   "*vm_area_struct"
#define IRQ	   "i32 *"
/* How a va_list is passed depends on the architecture. */
#define ERROR \
	"*pci_dev u32 *char *__va_list_tag|*pci_dev u32 *char struct:__va_list|*pci_dev u32 *char *"
#define PAGES "*nvidia_p2p_page_table"

static struct gpumon_probe nvidia_probes[] = {
	/* In the order in which they are detached: beginnings first. */
	FRONTEND(CALL, "open", NVIDIA_OPEN, gpumon_nvidia_open_returned, INODE_FILE, "i32",
		 .process_words = BIT(GPUMON_PROCESS_OPENS)),
	FRONTEND(KPROBE, "close", NVIDIA_CLOSE, gpumon_nvidia_close_called, INODE_FILE, "i32",
		 .process_words = BIT(GPUMON_PROCESS_CLOSES)),
	FRONTEND(KRETPROBE, "unlocked_ioctl", NVIDIA_IOCTL, gpumon_nvidia_ioctl_entered,
		 gpumon_nvidia_ioctl_returned, COMMAND, "i64", .maxactive = IOCTLS_UNDER_WAY,
		 .data_size = sizeof(struct nvidia_ioctl_data),
		 .process_words = BIT(GPUMON_PROCESS_IOCTLS)),
	KRETPROBE("nvidia_frontend_compat_ioctl", NVIDIA_COMPAT_IOCTL, gpumon_nvidia_ioctl_entered,
		  gpumon_nvidia_ioctl_returned, COMMAND, "i64", .optional = true,
		  .without = "from 550 on 32-bit programs use nvidia_unlocked_ioctl too",
		  .data_size = sizeof(struct nvidia_ioctl_data),
		  .process_words = BIT(GPUMON_PROCESS_IOCTLS)),
	FRONTEND(CALL, "mmap", NVIDIA_MMAP, gpumon_nvidia_mmap_returned, FILE_VMA, "i32",
		 .process_words = BIT(GPUMON_PROCESS_MAPPED_BYTES)),
	FRONTEND(KPROBE, "poll", NVIDIA_POLL, gpumon_nvidia_poll_called, FILE_POLL, "u32",
		 .optional = true, .without = "polls are not counted"),
	KPROBE("nvidia_fault", NVIDIA_FAULT, gpumon_nvidia_fault_called, "*vm_fault", "u32",
	       .optional = true, .without = "faults are not counted",
	       .process_words = BIT(GPUMON_PROCESS_FAULTS)),
	KPROBE("nvidia_vma_open", NVIDIA_VMA_OPEN, gpumon_nvidia_vma_open_called, VMA, "void",
	       .optional = true, .without = "copies of mappings are not counted"),
	KPROBE("nvidia_vma_release", NVIDIA_VMA_RELEASE, gpumon_nvidia_vma_release_called, VMA,
	       "void", .optional = true, .without = "ends of mappings are not counted"),

	KRETPROBE("nvidia_isr", NVIDIA_ISR, gpumon_nvidia_isr_entered, gpumon_nvidia_isr_returned,
		  IRQ, "u32", .without = "interrupts are not counted",
		  .data_size = sizeof(struct gpumon_call)),
	KRETPROBE("nvidia_isr_msix", NVIDIA_ISR_MSIX, gpumon_nvidia_isr_msix_entered,
		  gpumon_nvidia_isr_msix_returned, IRQ, "u32", .optional = true,
		  .without = "MSI-X interrupts count where they call nvidia_isr",
		  .data_size = sizeof(struct nvidia_msix_call)),
	KPROBE("nvidia_isr_kthread_bh", NVIDIA_BH, gpumon_nvidia_bh_called, IRQ, "u32",
	       .without = "bottom halves are not counted"),
	KPROBE("nvidia_isr_msix_kthread_bh", NVIDIA_BH_MSIX, gpumon_nvidia_bh_called, IRQ, "u32",
	       .without = "bottom halves of MSI-X interrupts are not counted"),

	CALL("nvidia_p2p_get_pages", NVIDIA_P2P_GET, gpumon_nvidia_p2p_get_returned,
	     "u64 u32 u64 u64 * * *", "i32", .optional = true,
	     .without = "not all p2p gets are counted"),
	CALL("nvidia_p2p_get_pages_persistent", NVIDIA_P2P_GET_PERSISTENT,
	     gpumon_nvidia_p2p_get_persistent_returned, "u64 u64 * u32", "i32", .optional = true,
	     .without = "not all p2p gets are counted"),
	CALL("nvidia_p2p_dma_map_pages", NVIDIA_P2P_MAP, gpumon_nvidia_p2p_map_returned,
	     "*pci_dev " PAGES " *", "i32", .optional = true,
	     .without = "mappings for peers are not counted"),
	CALL("nvidia_p2p_dma_unmap_pages", NVIDIA_P2P_UNMAP, gpumon_nvidia_p2p_unmap_returned,
	     "*pci_dev " PAGES " *nvidia_p2p_dma_mapping", "i32", .optional = true,
	     .without = "ends of mappings for peers are not counted"),
	KRETPROBE("nvidia_p2p_put_pages", NVIDIA_P2P_PUT, gpumon_nvidia_p2p_put_entered,
		  gpumon_nvidia_p2p_put_returned, "u64 u32 u64 " PAGES, "i32", .optional = true,
		  .data_size = sizeof(struct nvidia_put_data),
		  .without = "not all p2p puts are counted"),
	KRETPROBE("nvidia_p2p_put_pages_persistent", NVIDIA_P2P_PUT_PERSISTENT,
		  gpumon_nvidia_p2p_put_persistent_entered, gpumon_nvidia_p2p_put_returned,
		  "u64 " PAGES " u32", "i32", .optional = true,
		  .data_size = sizeof(struct nvidia_put_data),
		  .without = "not all p2p puts are counted"),
	KPROBE("nvidia_p2p_free_page_table", NVIDIA_P2P_FREE, gpumon_nvidia_p2p_free_called, PAGES,
	       "i32", .optional = true, .without = "pages that were taken away are not seen"),

	CALL("nv_pmops_suspend", NVIDIA_SUSPEND, gpumon_nvidia_suspend_returned, "*device", "i32",
	     .fallback = true, .optional = true, .without = "suspends are not counted"),
	CALL("nvidia_suspend", NVIDIA_SUSPEND, gpumon_nvidia_suspend_returned, "*device u32 u8",
	     "u32", .optional = true, .count_if_suffixed = true,
	     .without = "suspends by /proc/driver/nvidia/suspend are not counted"),
	CALL("nv_pmops_resume", NVIDIA_RESUME, gpumon_nvidia_resume_returned, "*device", "i32",
	     .fallback = true, .optional = true, .without = "resumes are not counted"),
	CALL("nvidia_resume", NVIDIA_RESUME, gpumon_nvidia_resume_returned, "*device u32", "u32",
	     .optional = true, .count_if_suffixed = true,
	     .without = "resumes by /proc/driver/nvidia/suspend are not counted"),
	CALL("nv_pmops_runtime_suspend", NVIDIA_RUNTIME_SUSPEND,
	     gpumon_nvidia_runtime_suspend_returned, "*device", "i32", .optional = true,
	     .without = "runtime suspends are not counted"),
	CALL("nv_pmops_runtime_resume", NVIDIA_RUNTIME_RESUME,
	     gpumon_nvidia_runtime_resume_returned, "*device", "i32", .optional = true,
	     .without = "runtime resumes are not counted"),

	KPROBE("nv_report_error", NVIDIA_XID, gpumon_nvidia_error_reported, ERROR, "void",
	       .fallback = true, .without = "Xid errors are not counted"),
	GPUMON_TRACEPOINT_AT("nvidia", "nvidia_dev_xid", NVIDIA_XID, gpumon_nvidia_xid_traced,
			     "*pci_dev u32 *char",
			     .without = "Xid errors come from nv_report_error, without their arguments"),

	CALL("nv_pci_probe", NVIDIA_GPU_COMES, gpumon_nvidia_gpu_probe_returned,
	     "*pci_dev *pci_device_id", "i32", .optional = true,
	     .without = "the first events of a GPU do not tell its bus address"),
	KPROBE("nv_pci_remove", NVIDIA_GPU_GOES, gpumon_nvidia_gpu_remove_called, "*pci_dev",
	       "void", .optional = true, .without = "a GPU that was removed is remembered"),
};

static struct gpumon_statistics *const nvidia_statistics[] = {
	&gpumon_nvidia_devices, &gpumon_nvidia_ioctls, &gpumon_nvidia_irqs,
	&gpumon_nvidia_p2p,	&gpumon_nvidia_power,  &gpumon_nvidia_xids,
};

static struct gpumon_track *const nvidia_tracks[] = { &gpumon_nvidia_open_files,
						      &gpumon_nvidia_page_tables };

static void nvidia_start(void)
{
	gpumon_process_forget_handles();
	gpumon_nvidia_file_start();
	gpumon_nvidia_irq_start();
	gpumon_nvidia_gpus_forget();
	gpumon_nvidia_gpus_look();
}

struct gpumon_group gpumon_nvidia = {
	.name = "nvidia",
	GPUMON_PROBES(nvidia_probes),
	GPUMON_FIELDS(gpumon_nvidia_fields),
	GPUMON_TABLES(nvidia_statistics),
	GPUMON_TRACKS(nvidia_tracks),
	.start = nvidia_start,
	.refresh = gpumon_nvidia_refresh,
};
