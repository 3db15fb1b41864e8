// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mock GPU's own account, counted in the mock's callbacks. The tests compare gpumon's numbers
 * with it. Nothing here is sampled or dropped.
 */
#include <linux/debugfs.h>
#include <linux/proc_fs.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "mock_gpu_priv.h"

struct mock_process {
	u64 jobs;
	char comm[TASK_COMM_LEN];
};

static DEFINE_XARRAY(mock_processes);
/* By process and ring, see usage_index(). */
static DEFINE_XARRAY(mock_usages);
static DEFINE_MUTEX(mock_processes_lock);
static struct dentry *mock_debugfs;
static struct proc_dir_entry *mock_proc;

/**
 * mock_account_pushed() - count a job that is about to be pushed
 * @ring: its ring
 * @job: the job
 *
 * Call this before the push: afterwards the job may already be freed.
 */
void mock_account_pushed(struct mock_ring *ring, struct mock_job *job)
{
	struct mock_account *acct = &ring->acct;
	unsigned long flags;

	job->pushed_at = ktime_get();
	atomic_inc(&mock_gpu.alive);

	spin_lock_irqsave(&ring->lock, flags);
	acct->queued++;
	acct->alive++;
	acct->dependencies += job->dependencies;
	acct->queue_depth++;
	acct->queue_depth_max = max(acct->queue_depth_max, acct->queue_depth);
	spin_unlock_irqrestore(&ring->lock, flags);
}

/**
 * mock_account_run() - count a job that reached run_job()
 * @ring: its ring; the lock is held
 * @job: the job
 */
void mock_account_run(struct mock_ring *ring, struct mock_job *job)
{
	struct mock_account *acct = &ring->acct;
	u64 waited;

	lockdep_assert_held(&ring->lock);
	job->run_at = ktime_get();
	job->ran = true;
	waited = ktime_to_ns(ktime_sub(job->run_at, job->pushed_at));

	acct->run++;
	acct->queue_depth--;
	if (!acct->hw_depth++)
		acct->busy_since = job->run_at;
	acct->hw_depth_max = max(acct->hw_depth_max, acct->hw_depth);
	acct->dependencies_run += job->dependencies;
	job->usage->queue_ns += waited;
	acct->queue_ns_sum += waited;
	acct->queue_ns_max = max(acct->queue_ns_max, waited);
}

/**
 * mock_account_done() - count a job that left the hardware
 * @ring: its ring; the lock is held
 * @job: the job
 * @error: 0 or the negative error it ended with
 *
 * Call this before the fence is signalled, so that the job is counted before its waiters wake up.
 */
void mock_account_done(struct mock_ring *ring, struct mock_job *job, int error)
{
	struct mock_account *acct = &ring->acct;
	ktime_t now = ktime_get();
	u64 served;

	lockdep_assert_held(&ring->lock);
	served = ktime_to_ns(ktime_sub(now, job->run_at));

	acct->done++;
	if (!--acct->hw_depth)
		acct->busy_ns += ktime_to_ns(ktime_sub(now, acct->busy_since));
	job->usage->jobs++;
	job->usage->gpu_ns += ktime_to_ns(ktime_sub(now, max(job->run_at, acct->last_done)));
	acct->last_done = now;
	acct->run_ns_sum += served;
	acct->run_ns_max = max(acct->run_ns_max, served);
	if (!error)
		return;
	job->usage->errors++;
	acct->errors++;
	if (error == -ETIMEDOUT)
		acct->timeouts++;
	else if (job->fail == MOCK_GPU_FAIL_RUN)
		acct->run_errors++;
	else
		acct->hw_errors++;
}

/**
 * mock_account_killed() - count a job that is freed without having run, before mock_account_freed()
 * @ring: its ring
 * @job: the job
 */
void mock_account_killed(struct mock_ring *ring, const struct mock_job *job)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	job->usage->errors++;
	spin_unlock_irqrestore(&ring->lock, flags);
}

/**
 * mock_account_freed() - count a job that the scheduler freed
 * @ring: its ring
 * @ran: whether it had reached run_job(); if not, it was killed
 *
 * This is the last step for a job: afterwards the module may be unloaded.
 */
void mock_account_freed(struct mock_ring *ring, bool ran)
{
	struct mock_account *acct = &ring->acct;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	acct->alive--;
	if (!ran) {
		acct->killed++;
		acct->errors++;
		acct->queue_depth--;
	}
	spin_unlock_irqrestore(&ring->lock, flags);

	if (!ran)
		atomic_set(&mock_gpu.killed, 1);
	if (atomic_dec_and_test(&mock_gpu.alive))
		wake_up(&mock_gpu.idle);
}

/**
 * mock_account_process() - count jobs of the current process
 * @jobs: number of jobs; 0 only allocates the entry
 *
 * Return: 0, or -ENOMEM if it is a new process and there is no memory.
 */
int mock_account_process(u64 jobs)
{
	struct mock_process *process;
	unsigned long pid = current->tgid;
	int ret = 0;

	mutex_lock(&mock_processes_lock);
	process = xa_load(&mock_processes, pid);
	if (!process) {
		process = kzalloc(sizeof(*process), GFP_KERNEL);
		if (!process) {
			ret = -ENOMEM;
			goto out;
		}
		get_task_comm(process->comm, current);
		ret = xa_err(xa_store(&mock_processes, pid, process, GFP_KERNEL));
		if (ret) {
			kfree(process);
			goto out;
		}
	}
	process->jobs += jobs;
out:
	mutex_unlock(&mock_processes_lock);
	return ret;
}

/* Index of a process and a ring in mock_usages. */
static unsigned long usage_index(unsigned long pid, unsigned int ring)
{
	return pid * mock_gpu.devices * mock_gpu.rings + ring;
}

/**
 * mock_account_usage() - what the current process uses of a ring
 * @ring: the ring
 *
 * Return: its counts, which live as long as the module; NULL without memory.
 */
struct mock_usage *mock_account_usage(const struct mock_ring *ring)
{
	unsigned long index = usage_index(current->tgid, ring - mock_gpu.ring);
	struct mock_usage *usage;

	mutex_lock(&mock_processes_lock);
	usage = xa_load(&mock_usages, index);
	if (!usage) {
		usage = kzalloc(sizeof(*usage), GFP_KERNEL);
		if (usage && xa_err(xa_store(&mock_usages, index, usage, GFP_KERNEL))) {
			kfree(usage);
			usage = NULL;
		}
	}
	mutex_unlock(&mock_processes_lock);
	return usage;
}

static int account_show(struct seq_file *m, void *unused)
{
	struct mock_account acct;
	struct mock_ring *ring;
	unsigned long flags;
	unsigned int i;

	seq_puts(m, "device ring queued run done errors killed dependencies");
	seq_puts(m, " queue_depth hw_depth queue_depth_max hw_depth_max");
	seq_puts(m, " queue_ns_sum run_ns_sum alive run_errors hw_errors timeouts");
	seq_puts(m, " dependencies_run queue_ns_max run_ns_max busy_ns\n");

	for (i = 0; i < mock_gpu.devices * mock_gpu.rings; i++) {
		ring = &mock_gpu.ring[i];

		spin_lock_irqsave(&ring->lock, flags);
		acct = ring->acct;
		spin_unlock_irqrestore(&ring->lock, flags);

		seq_printf(m, "%s %s %llu %llu %llu %llu %llu %llu", dev_name(&ring->pdev->dev),
			   ring->name, acct.queued, acct.run, acct.done, acct.errors, acct.killed,
			   acct.dependencies);
		seq_printf(m, " %llu %llu %llu %llu", acct.queue_depth, acct.hw_depth,
			   acct.queue_depth_max, acct.hw_depth_max);
		seq_printf(m, " %llu %llu %llu %llu %llu %llu", acct.queue_ns_sum, acct.run_ns_sum,
			   acct.alive, acct.run_errors, acct.hw_errors, acct.timeouts);
		seq_printf(m, " %llu %llu %llu %llu\n", acct.dependencies_run, acct.queue_ns_max,
			   acct.run_ns_max, acct.busy_ns);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(account);

static int processes_show(struct seq_file *m, void *unused)
{
	struct mock_process *process;
	unsigned long pid;

	seq_puts(m, "pid jobs comm\n");
	mutex_lock(&mock_processes_lock);
	xa_for_each(&mock_processes, pid, process)
		if (process->jobs)
			seq_printf(m, "%lu %llu %s\n", pid, process->jobs, process->comm);
	mutex_unlock(&mock_processes_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(processes);

static int usage_show(struct seq_file *m, void *unused)
{
	const unsigned int rings = mock_gpu.devices * mock_gpu.rings;
	struct mock_usage *usage, now;
	struct mock_ring *ring;
	unsigned long index, flags;

	seq_puts(m, "pid device ring jobs gpu_ns queue_ns errors\n");
	mutex_lock(&mock_processes_lock);
	xa_for_each(&mock_usages, index, usage) {
		ring = &mock_gpu.ring[index % rings];
		spin_lock_irqsave(&ring->lock, flags);
		now = *usage;
		spin_unlock_irqrestore(&ring->lock, flags);
		seq_printf(m, "%lu %s %s %llu %llu %llu %llu\n", index / rings,
			   dev_name(&ring->pdev->dev), ring->name, now.jobs, now.gpu_ns, now.queue_ns,
			   now.errors);
	}
	mutex_unlock(&mock_processes_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(usage);

static int proc_init(void)
{
	mock_proc = proc_mkdir("mock_gpu", NULL);
	if (mock_proc && proc_create_single("account", 0400, mock_proc, account_show) &&
	    proc_create_single("processes", 0400, mock_proc, processes_show) &&
	    proc_create_single("usage", 0400, mock_proc, usage_show))
		return 0;
	proc_remove(mock_proc);
	return -ENOMEM;
}

/**
 * mock_account_init() - create the files, in debugfs or, where the kernel has none, in /proc
 *
 * Return: 0 or a negative error: without its account the mock is useless.
 */
int mock_account_init(void)
{
	struct dentry *file;

	mock_debugfs = debugfs_create_dir("mock_gpu", NULL);
	if (mock_debugfs == ERR_PTR(-ENODEV) || mock_debugfs == ERR_PTR(-EPERM))
		return proc_init();
	if (IS_ERR(mock_debugfs))
		return PTR_ERR(mock_debugfs);
	file = debugfs_create_file("account", 0400, mock_debugfs, NULL, &account_fops);
	if (!IS_ERR(file))
		file = debugfs_create_file("processes", 0400, mock_debugfs, NULL, &processes_fops);
	if (!IS_ERR(file))
		file = debugfs_create_file("usage", 0400, mock_debugfs, NULL, &usage_fops);
	if (IS_ERR(file)) {
		debugfs_remove(mock_debugfs);
		return PTR_ERR(file);
	}
	return 0;
}

/**
 * mock_account_exit() - remove the files and free the processes
 */
void mock_account_exit(void)
{
	struct mock_process *process;
	struct mock_usage *usage;
	unsigned long pid, index;

	debugfs_remove(mock_debugfs);
	proc_remove(mock_proc);
	xa_for_each(&mock_processes, pid, process)
		kfree(process);
	xa_destroy(&mock_processes);
	xa_for_each(&mock_usages, index, usage)
		kfree(usage);
	xa_destroy(&mock_usages);
}
