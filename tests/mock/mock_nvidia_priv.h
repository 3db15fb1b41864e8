/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of mock nvidia.ko. MOCK_NVIDIA is the generation: 535, 550, 580. */
#ifndef MOCK_NVIDIA_PRIV_H
#define MOCK_NVIDIA_PRIV_H

#include <linux/completion.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/pm.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "mock_nvidia.h"
#include "mock_nvidia_account.h"

/* Neither inlined nor cloned: the symbol exists, with the arguments of the prototype. */
#if __has_attribute(__noipa__)
#define mock_probed noinline __attribute__((__noipa__))
#else
#define mock_probed noinline
#endif

/* Since 5.11. */
#ifndef IRQ_WORK_INIT_HARD
#define IRQ_WORK_INIT_HARD(_function) \
	((struct irq_work){ .flags = ATOMIC_INIT(IRQ_WORK_HARD_IRQ), .func = (_function) })
#endif

#define MOCK_GPUS_MAX	 8
#define MOCK_VECTORS_MAX 16

/* These types have the driver's names, so that the mock has the same BTF as the driver. */
typedef u8 NvBool;
typedef u32 NvU32;
typedef u32 NV_STATUS;

#define NV_OK	       0
#define NV_ERR_GENERIC 0xffff
#define NV_TRUE	       1
#define NV_FALSE       0

typedef enum {
	NV_PM_ACTION_HIBERNATE = 0,
	NV_PM_ACTION_STANDBY = 1,
	NV_PM_ACTION_RESUME = 2,
} nv_pm_action_t;

#if MOCK_NVIDIA == 580
#define MOCK_VERSION	 "580.159.04"
#define MOCK_NVL_DEV	 800
#define MOCK_NVL_MINOR	 1744
#define MOCK_NVLFP_NVPTR 128
#elif MOCK_NVIDIA == 550
#define MOCK_VERSION	 "550.163.01"
#define MOCK_NVL_DEV	 720
#define MOCK_NVL_MINOR	 1640
#define MOCK_NVLFP_NVPTR 128
#elif MOCK_NVIDIA == 535
#define MOCK_VERSION	 "535.309.01"
#define MOCK_NVL_DEV	 720
#define MOCK_NVL_MINOR	 1632
#define MOCK_NVLFP_NVPTR 184
#else
#error "MOCK_NVIDIA is none of 535, 550, 580"
#endif

/**
 * struct nv_linux_state_s - a GPU, or its replacement for /dev/nvidiactl
 * @dev: device
 * @pci_dev: the same as a PCI device
 * @minor_num: N of /dev/nvidiaN
 *
 * These three have the same offsets as in the driver.
 */
struct nv_linux_state_s {
	u8 before_dev[MOCK_NVL_DEV];
	struct device *dev;
	struct pci_dev *pci_dev;
	u8 before_minor_num[MOCK_NVL_MINOR - MOCK_NVL_DEV - 16];
	NvU32 minor_num;
};

typedef struct nv_linux_state_s nv_linux_state_t;

static_assert(offsetof(struct nv_linux_state_s, dev) == MOCK_NVL_DEV);
static_assert(offsetof(struct nv_linux_state_s, pci_dev) == MOCK_NVL_DEV + 8);
static_assert(offsetof(struct nv_linux_state_s, minor_num) == MOCK_NVL_MINOR);

/*
 * An open file. nvptr has the same offset as in the driver. tgid is the opener, served the number
 * of commands.
 */
typedef struct {
	u8 before_nvptr[MOCK_NVLFP_NVPTR];
	nv_linux_state_t *nvptr;
	pid_t tgid;
	atomic_t served;
} nv_linux_file_private_t;

static_assert(offsetof(nv_linux_file_private_t, nvptr) == MOCK_NVLFP_NVPTR);

/**
 * enum mock_kind - the owner of a counter
 * @MOCK_TOTAL: the module
 * @MOCK_GPU: a GPU, by index, or MOCK_CTL
 * @MOCK_PID: a process
 * @MOCK_COMMAND: an ioctl command
 * @MOCK_PID_COMMAND: a process and a command
 * @MOCK_IRQ: an interrupt number
 * @MOCK_CODE: an Xid code
 * @MOCK_GPU_CODE: a GPU and an Xid code
 */
enum mock_kind {
	MOCK_TOTAL = 1,
	MOCK_GPU,
	MOCK_PID,
	MOCK_COMMAND,
	MOCK_PID_COMMAND,
	MOCK_IRQ,
	MOCK_CODE,
	MOCK_GPU_CODE,
};

/* Stands for the index of a GPU where there is none. */
#define MOCK_CTL    MOCK_GPUS_MAX
#define MOCK_NO_GPU (MOCK_GPUS_MAX + 1)

/* clang-format off */
#define MOCK_COUNTERS(X) \
	X(OPENS, "opens") X(OPEN_ERRORS, "open_errors") X(CLOSES, "closes") \
	X(HANDLES, "handles") \
	X(IOCTLS, "ioctls") X(IOCTL_ERRORS, "ioctl_errors") X(IOCTL_NS, "ioctl_ns") \
	X(MMAPS, "mmaps") X(MMAP_BYTES, "mmap_bytes") X(MMAP_ERRORS, "mmap_errors") \
	X(FAULTS, "faults") X(VMA_OPENS, "vma_opens") X(VMA_RELEASES, "vma_releases") \
	X(POLLS, "polls") \
	X(ISRS, "isrs") X(ISRS_MSIX, "isrs_msix") X(ISRS_UNHANDLED, "isrs_unhandled") \
	X(WAKES, "wakes") X(BHS, "bhs") X(BHS_MSIX, "bhs_msix") X(BH_NS, "bh_ns") \
	X(LATENCIES, "latencies") X(LATENCY_NS, "latency_ns") \
	X(XIDS, "xids") \
	X(P2P_GETS, "p2p_gets") X(P2P_GET_BYTES, "p2p_get_bytes") \
	X(P2P_GET_ERRORS, "p2p_get_errors") X(P2P_PERSISTENT, "p2p_gets_persistent") \
	X(P2P_PUTS, "p2p_puts") X(P2P_PUT_BYTES, "p2p_put_bytes") \
	X(P2P_PUT_ERRORS, "p2p_put_errors") \
	X(P2P_FREES, "p2p_frees") X(P2P_FREE_BYTES, "p2p_free_bytes") \
	X(P2P_LIVE_BYTES, "p2p_live_bytes") \
	X(P2P_MAPS, "p2p_maps") X(P2P_MAP_BYTES, "p2p_map_bytes") \
	X(P2P_MAP_ERRORS, "p2p_map_errors") X(P2P_UNMAPS, "p2p_unmaps") \
	X(P2P_UNMAP_BYTES, "p2p_unmap_bytes") X(P2P_MAP_FREES, "p2p_map_frees") \
	X(P2P_MAP_FREE_BYTES, "p2p_map_free_bytes") \
	X(P2P_MAPPED_BYTES, "p2p_mapped_bytes") \
	X(SUSPENDS, "suspends") X(SUSPEND_NS, "suspend_ns") X(SUSPEND_ERRORS, "suspend_errors") \
	X(RESUMES, "resumes") X(RESUME_NS, "resume_ns") X(RESUME_ERRORS, "resume_errors") \
	X(RUNTIME_SUSPENDS, "runtime_suspends") X(RUNTIME_SUSPEND_NS, "runtime_suspend_ns") \
	X(RUNTIME_RESUMES, "runtime_resumes") X(RUNTIME_RESUME_NS, "runtime_resume_ns") \
	X(SPINNING, "spinning")
/* clang-format on */

#define MOCK_COUNTER_ID(id, name) MOCK_##id,
enum mock_counter_id {
	MOCK_COUNTERS(MOCK_COUNTER_ID) MOCK_COUNTER_COUNT
};

/**
 * enum mock_answer - result of the hard half of an interrupt
 * @MOCK_WAKE: wake the threaded half
 * @MOCK_HANDLED: handled completely
 * @MOCK_UNHANDLED: it belonged to another device
 */
enum mock_answer {
	MOCK_WAKE,
	MOCK_HANDLED,
	MOCK_UNHANDLED,
};

struct mock_gpu;

/**
 * struct mock_vector - an interrupt line
 * @gpu: its GPU
 * @irq: its number, or 0
 * @msix: an MSI-X vector, otherwise the device's only line
 * @work: raises it in a hard interrupt
 * @lock: serialises firing
 * @answer: result of the next interrupts
 * @bh_ns: duration of the threaded half
 * @since: time of the first interrupt that the threaded half has not seen, or 0
 * @done: the interrupt was handled
 */
struct mock_vector {
	struct mock_gpu *gpu;
	unsigned int irq;
	bool msix;
	struct irq_work work;
	struct mutex lock;
	enum mock_answer answer;
	u64 bh_ns;
	atomic64_t since;
	struct completion done;
};

/**
 * struct mock_gpu - a GPU of the mock
 * @nvl: the driver's data, drvdata of its device
 * @index: index and minor number
 * @page: page in all its mappings
 * @fail_opens: number of opens that will fail
 * @msix_isr_lock: one MSI-X interrupt at a time, as in the driver
 * @msix_bh_mutex: one threaded half at a time, likewise
 * @vectors: number of MSI-X vectors; the legacy line follows the last one
 * @vector: all interrupt lines
 * @pm_ns: duration of a power transition
 * @pm_fails: power transitions fail
 * @pm_lock: serialises power transitions
 */
struct mock_gpu {
	nv_linux_state_t nvl;
	unsigned int index;
	struct page *page;
	atomic_t fail_opens;
	spinlock_t msix_isr_lock;
	struct mutex msix_bh_mutex;
	unsigned int vectors;
	struct mock_vector vector[MOCK_VECTORS_MAX + 1];
	u64 pm_ns;
	bool pm_fails;
	struct mutex pm_lock;
};

/* mock_nvidia_main.c */
extern struct mock_gpu *mock_gpus[MOCK_GPUS_MAX];
extern unsigned int mock_gpu_count;
extern bool mock_real_commands;
extern struct mock_gpu mock_ctl;
void mock_wait(u64 ns);

static inline struct mock_gpu *to_mock_gpu(nv_linux_state_t *nvl)
{
	return container_of(nvl, struct mock_gpu, nvl);
}

static inline void mock_count(enum mock_kind kind, u64 id, enum mock_counter_id counter, s64 n)
{
	mock_account_add(kind, id, counter, n);
}

/* Add to the counters of the module, the GPU and the process. */
void mock_count_all(unsigned int gpu, pid_t tgid, enum mock_counter_id counter, s64 n);

static inline pid_t mock_tgid(void)
{
	return task_tgid_nr(current);
}

/* mock_nvidia_pci.c */
int mock_pci_init(void);
void mock_pci_exit(void);

/* mock_nvidia_proc.c */
int mock_proc_init(void);
void mock_proc_exit(void);

/* mock_nvidia_file.c */
int nvidia_mmap(struct file *file, struct vm_area_struct *vma);
#if MOCK_NVIDIA == 535
/**
 * struct nvidia_module_s - functions called by the frontend
 * @open: open an inode
 * @close: the last descriptor of a file was closed
 * @ioctl: run a command
 * @mmap: create a mapping
 * @poll: report what is ready
 */
struct nvidia_module_s {
	int (*open)(struct inode *inode, struct file *file);
	int (*close)(struct inode *inode, struct file *file);
	int (*ioctl)(struct inode *inode, struct file *file, unsigned int cmd, unsigned long i_arg);
	int (*mmap)(struct file *file, struct vm_area_struct *vma);
	unsigned int (*poll)(struct file *file, poll_table *wait);
};

extern const struct nvidia_module_s nv_fops;

/* mock_nvidia_frontend.c */
extern const struct file_operations nv_frontend_fops;
int nvidia_frontend_open(struct inode *inode, struct file *file);
int nvidia_frontend_close(struct inode *inode, struct file *file);
int nvidia_frontend_ioctl(struct inode *inode, struct file *file, unsigned int cmd,
			  unsigned long i_arg);
long nvidia_frontend_unlocked_ioctl(struct file *file, unsigned int cmd, unsigned long i_arg);
long nvidia_frontend_compat_ioctl(struct file *file, unsigned int cmd, unsigned long i_arg);
int nvidia_frontend_mmap(struct file *file, struct vm_area_struct *vma);
unsigned int nvidia_frontend_poll(struct file *file, poll_table *wait);
#define mock_fops	 nv_frontend_fops
#define mock_chrdev_name "nvidia-frontend"
#else
extern const struct file_operations nv_fops;
#define mock_fops	 nv_fops
#define mock_chrdev_name "nvidia"
#endif

/* mock_nvidia_irq.c */
int mock_irq_request(struct mock_gpu *gpu);
void mock_irq_free(struct mock_gpu *gpu);
int mock_irq_fire(struct mock_vector *vector, enum mock_answer answer, u64 count, u64 bh_ns,
		  bool burst);
irqreturn_t nvidia_isr(int irq, void *arg);
irqreturn_t nvidia_isr_msix(int irq, void *arg);
irqreturn_t nvidia_isr_kthread_bh(int irq, void *data);
irqreturn_t nvidia_isr_msix_kthread_bh(int irq, void *data);

/* mock_nvidia_pm.c */
extern const struct dev_pm_ops nv_pm_ops;
int mock_pm_procfs_suspend(struct mock_gpu *gpu);

/* mock_nvidia_xid.c */
void mock_xid(struct mock_gpu *gpu, u32 code, bool in_interrupt, const char *text);
__printf(3, 0) void nv_report_error(struct pci_dev *dev, NvU32 error_number, const char *format,
				    va_list ap);

/* mock_nvidia_p2p.c */
void mock_p2p_exit(void);
int mock_p2p_get(u64 id, u64 va, u64 length, bool persistent);
int mock_p2p_put(u64 id);
int mock_p2p_put_reused(u64 id, u64 new_id, u64 va, u64 length);
int mock_p2p_put_wrong(u64 id);
int mock_p2p_revoke(u64 id);
int mock_p2p_map(u64 id, struct mock_gpu *peer);
int mock_p2p_unmap(u64 id);

/* mock_nvidia_control.c */
void mock_control_init(struct dentry *dir);

#endif /* MOCK_NVIDIA_PRIV_H */
