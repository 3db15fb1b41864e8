// SPDX-License-Identifier: GPL-2.0-only
/* churn_gpu/command and churn_gpu/account: start storms and report what they did. */
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "churn_gpu.h"

/* Jobs between two checks for the end. */
#define CHURN_BATCH	  4096
#define CHURN_MAX_COMMAND 256

static struct dentry *churn_debugfs;

/* One command at a time. */
static DEFINE_MUTEX(churn_lock);
/* The last storm, kept so that its rings still exist. */
static struct churn *churns[CHURN_MAX_THREADS];
static unsigned int churn_count;
/* Counts of all storms before the last one. */
static u64 churn_past[CHURN_EVENTS], churn_past_begun, churn_past_ended;
static bool churn_stop;

static void churn_forget(void)
{
	unsigned int i, event;

	for (i = 0; i < churn_count; i++) {
		for (event = 0; event < CHURN_EVENTS; event++)
			churn_past[event] += churns[i]->count[event];
		churn_past_begun += churns[i]->begun;
		churn_past_ended += churns[i]->ended + churns[i]->plan.rings;
		churn_free(churns[i]);
	}
	churn_count = 0;
}

static int churn_in_thread(void *data, unsigned int index)
{
	struct churn *churn = churns[index];
	int ret = 0;

	while (churn->queued < churn->plan.jobs && !ret && !READ_ONCE(churn_stop)) {
		ret = churn_some(churn, min_t(u64, CHURN_BATCH, churn->plan.jobs - churn->queued));
		cond_resched();
	}
	churn_drain(churn);
	return ret;
}

/* storm: threads that pose as processes. */
static int churn_do_storm(const struct churn_plan *plan)
{
	const struct fire_work work = {
		.name = "churn_gpu",
		.run = churn_in_thread,
		.stop = &churn_stop,
	};
	struct churn_plan own = *plan;

	churn_forget();
	for (; churn_count < plan->threads; churn_count++) {
		own.seed = plan->seed + churn_count;
		churns[churn_count] = churn_new(&own);
		if (!churns[churn_count])
			return -ENOMEM;
	}
	WRITE_ONCE(churn_stop, false);
	return fire_in_threads(&work, churn_count, cpu_online_mask);
}

/* here: more jobs on the rings of the last storm's first thread, by the writing process. */
static int churn_do_here(u64 jobs)
{
	struct churn *churn = churns[0];
	u64 pids;
	int ret;

	if (!churn_count)
		return -ENODEV;
	pids = churn->plan.pids;
	churn->plan.pids = 0;
	ret = churn_some(churn, jobs);
	churn_drain(churn);
	churn->plan.pids = pids;
	return ret;
}

static int churn_option(struct churn_plan *plan, char *word)
{
	const struct {
		const char *name;
		u64 *value;
		u64 max;
	} options[] = {
		{ "jobs", &plan->jobs, 1ULL << 40 },
		{ "threads", &plan->threads, CHURN_MAX_THREADS },
		{ "rings", &plan->rings, CHURN_MAX_RINGS },
		{ "ring_jobs", &plan->ring_jobs, U64_MAX },
		{ "hung", &plan->hung, CHURN_FLIGHT },
		{ "numbered", &plan->numbered, 1 },
		{ "pids", &plan->pids, 1 << 20 },
		{ "pid_jobs", &plan->pid_jobs, U64_MAX },
		{ "seed", &plan->seed, U64_MAX },
	};
	char *value = strchr(word, '=');
	int i;

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	for (i = 0; i < ARRAY_SIZE(options); i++) {
		if (strcmp(options[i].name, word))
			continue;
		if (kstrtou64(value, 0, options[i].value) || *options[i].value > options[i].max)
			return -EINVAL;
		return 0;
	}
	return -EINVAL;
}

static int churn_line(char *line)
{
	struct churn_plan plan = { .jobs = 1, .threads = 1, .rings = 1, .seed = 1 };
	char *verb = strsep(&line, " ");
	char *word;
	int ret;

	while ((word = strsep(&line, " "))) {
		ret = *word ? churn_option(&plan, word) : 0;
		if (ret)
			return ret;
	}
	if (!plan.rings || !plan.threads)
		return -EINVAL;
	if (!strcmp(verb, "storm"))
		return churn_do_storm(&plan);
	if (!strcmp(verb, "here"))
		return churn_do_here(plan.jobs);
	if (!strcmp(verb, "end")) {
		churn_forget();
		return 0;
	}
	return -EINVAL;
}

static ssize_t command_write(struct file *file, const char __user *user, size_t size, loff_t *pos)
{
	char text[CHURN_MAX_COMMAND];
	int ret;

	if (size >= sizeof(text))
		return -E2BIG;
	if (copy_from_user(text, user, size))
		return -EFAULT;
	text[size] = '\0';
	ret = mutex_lock_interruptible(&churn_lock);
	if (ret)
		return ret;
	ret = churn_line(strim(text));
	mutex_unlock(&churn_lock);
	return ret ?: size;
}

static const struct file_operations command_fops = {
	.owner = THIS_MODULE,
	.open = nonseekable_open,
	.write = command_write,
};

static int account_show(struct seq_file *m, void *unused)
{
	static const char *const names[CHURN_EVENTS] = { "queue", "run", "done", "wait", "killed" };
	u64 total[CHURN_EVENTS], begun, ended;
	unsigned int i, event;

	mutex_lock(&churn_lock);
	memcpy(total, churn_past, sizeof(total));
	begun = churn_past_begun;
	ended = churn_past_ended;
	for (i = 0; i < churn_count; i++) {
		for (event = 0; event < CHURN_EVENTS; event++)
			total[event] += churns[i]->count[event];
		begun += churns[i]->begun;
		ended += churns[i]->ended;
	}
	for (event = 0; event < CHURN_EVENTS; event++)
		seq_printf(m, "%s %llu\n", names[event], total[event]);
	seq_printf(m, "rings_begun %llu\nrings_ended %llu\n", begun, ended);
	mutex_unlock(&churn_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(account);

static int rings_show(struct seq_file *m, void *unused)
{
	const struct churn_ring *ring;
	unsigned int i, event;
	u64 r;

	seq_puts(m, "ring queue run done wait killed\n");
	mutex_lock(&churn_lock);
	for (i = 0; i < churn_count; i++) {
		for (r = 0; r < churns[i]->plan.rings; r++) {
			ring = &churns[i]->rings[r];
			seq_puts(m, ring->name);
			for (event = 0; event < CHURN_EVENTS; event++)
				seq_printf(m, " %llu", ring->count[event]);
			seq_putc(m, '\n');
		}
	}
	mutex_unlock(&churn_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rings);

static int __init churn_gpu_init(void)
{
	int ret = churn_init();

	if (ret)
		return ret;
	churn_debugfs = debugfs_create_dir("churn_gpu", NULL);
	debugfs_create_file("command", 0200, churn_debugfs, NULL, &command_fops);
	debugfs_create_file("account", 0400, churn_debugfs, NULL, &account_fops);
	debugfs_create_file("rings", 0400, churn_debugfs, NULL, &rings_fops);
	return 0;
}

static void __exit churn_gpu_exit(void)
{
	/* Waits for a write or read in progress. */
	debugfs_remove(churn_debugfs);
	churn_forget();
	churn_exit();
}

module_init(churn_gpu_init);
module_exit(churn_gpu_exit);

MODULE_DESCRIPTION("Jobs by the million on rings that come and go, for tests");
MODULE_AUTHOR("The gpumon authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.2.0");
