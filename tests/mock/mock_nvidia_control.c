// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control file in debugfs, for actions that no process can cause through a device node. One
 * command per write. It is complete when write() returns, and its error is that of write().
 */
#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/string.h>

#include "mock_command.h"
#include "mock_nvidia_priv.h"

/* The next word of a command as a number, or the fallback at the end of the command. */
static int next_number(char **rest, u64 *value, const u64 *fallback)
{
	char *word = strsep(rest, " ");

	if (word && *word)
		return kstrtou64(word, 0, value);
	if (!fallback)
		return -EINVAL;
	*value = *fallback;
	return 0;
}

static int next_gpu(char **rest, struct mock_gpu **gpu)
{
	u64 index;
	int err = next_number(rest, &index, NULL);

	if (err)
		return err;
	if (index >= mock_gpu_count)
		return -ENODEV;
	*gpu = mock_gpus[index];
	return 0;
}

static int next_vector(char **rest, struct mock_vector **vector)
{
	struct mock_gpu *gpu;
	char *word;
	u64 index;
	int err = next_gpu(rest, &gpu);

	if (err)
		return err;
	word = strsep(rest, " ");
	if (!word)
		return -EINVAL;
	if (!strcmp(word, "legacy")) {
		*vector = &gpu->vector[gpu->vectors];
		return 0;
	}
	err = kstrtou64(word, 0, &index);
	if (err)
		return err;
	if (index >= gpu->vectors)
		return -ENOENT;
	*vector = &gpu->vector[index];
	return 0;
}

static int fire(char *rest, enum mock_answer answer, bool burst)
{
	const u64 once = 1, no_time = 0;
	struct mock_vector *vector;
	u64 count, bh_ns;
	int err;

	err = next_vector(&rest, &vector);
	if (!err)
		err = next_number(&rest, &count, &once);
	if (!err)
		err = next_number(&rest, &bh_ns, &no_time);
	return err ? err : mock_irq_fire(vector, answer, count, bh_ns, burst);
}

static int do_interrupt(char *rest)
{
	return fire(rest, MOCK_WAKE, false);
}

static int do_burst(char *rest)
{
	return fire(rest, MOCK_WAKE, true);
}

static int do_handled(char *rest)
{
	return fire(rest, MOCK_HANDLED, false);
}

static int do_unhandled(char *rest)
{
	return fire(rest, MOCK_UNHANDLED, false);
}

static int report(char *rest, bool in_interrupt)
{
	struct mock_gpu *gpu = NULL;
	u64 code;
	int err;

	if (!strncmp(rest, "- ", 2)) {
		rest += 2;
#ifdef MOCK_TRACEPOINT
		/* The tracepoint would dereference the NULL, as it would in the driver. */
		return -EOPNOTSUPP;
#endif
	} else {
		err = next_gpu(&rest, &gpu);
		if (err)
			return err;
	}
	err = next_number(&rest, &code, NULL);
	if (err)
		return err;
	if (code > U32_MAX)
		return -ERANGE;
	mock_xid(gpu, code, in_interrupt, rest ? rest : "");
	return 0;
}

static int do_xid(char *rest)
{
	return report(rest, false);
}

static int do_xid_irq(char *rest)
{
	return report(rest, true);
}

/*
 * Fires many interrupts of one GPU, and then one of another, with no other event of this CPU in
 * between.
 */
static int do_xid_burst(char *rest)
{
	u64 code, count, codes, other_code;
	struct mock_gpu *gpu, *other;
	int err;

	err = next_gpu(&rest, &gpu);
	if (!err)
		err = next_number(&rest, &code, NULL);
	if (!err)
		err = next_number(&rest, &codes, NULL);
	if (!err)
		err = next_number(&rest, &count, NULL);
	if (!err)
		err = next_gpu(&rest, &other);
	if (!err)
		err = next_number(&rest, &other_code, NULL);
	if (err)
		return err;
	if (code + codes > U32_MAX || other_code > U32_MAX || !codes)
		return -ERANGE;
	preempt_disable();
	for (; count; count--)
		mock_xid(gpu, code + count % codes, false, "burst");
	mock_xid(other, other_code, false, "after the burst");
	preempt_enable();
	return 0;
}

static int get(char *rest, bool persistent)
{
	u64 id, va, length;
	int err;

	err = next_number(&rest, &id, NULL);
	if (!err)
		err = next_number(&rest, &va, NULL);
	if (!err)
		err = next_number(&rest, &length, NULL);
	return err ? err : mock_p2p_get(id, va, length, persistent);
}

static int do_p2p_get(char *rest)
{
	return get(rest, false);
}

static int do_p2p_get_persistent(char *rest)
{
	return get(rest, true);
}

static int with_id(char *rest, int (*function)(u64 id))
{
	u64 id;
	int err = next_number(&rest, &id, NULL);

	return err ? err : function(id);
}

static int do_p2p_put(char *rest)
{
	return with_id(rest, mock_p2p_put);
}

static int do_p2p_put_reused(char *rest)
{
	u64 id, new_id, va, length;
	int err;

	err = next_number(&rest, &id, NULL);
	if (!err)
		err = next_number(&rest, &new_id, NULL);
	if (!err)
		err = next_number(&rest, &va, NULL);
	if (!err)
		err = next_number(&rest, &length, NULL);
	return err ? err : mock_p2p_put_reused(id, new_id, va, length);
}

static int do_p2p_put_wrong(char *rest)
{
	return with_id(rest, mock_p2p_put_wrong);
}

static int do_p2p_revoke(char *rest)
{
	return with_id(rest, mock_p2p_revoke);
}

static int do_p2p_unmap(char *rest)
{
	return with_id(rest, mock_p2p_unmap);
}

static int do_p2p_map(char *rest)
{
	struct mock_gpu *peer = NULL;
	u64 id;
	int err = next_number(&rest, &id, NULL);

	if (!err && rest)
		err = next_gpu(&rest, &peer);
	return err ? err : mock_p2p_map(id, peer);
}

static int power(char *rest, int (*function)(struct device *dev))
{
	const u64 no_time = 0, works = 0;
	struct mock_gpu *gpu;
	u64 ns, fails;
	int err;

	err = next_gpu(&rest, &gpu);
	if (!err)
		err = next_number(&rest, &ns, &no_time);
	if (!err)
		err = next_number(&rest, &fails, &works);
	if (err)
		return err;
	mutex_lock(&gpu->pm_lock);
	gpu->pm_ns = ns;
	gpu->pm_fails = fails;
	err = function ? function(gpu->nvl.dev) : mock_pm_procfs_suspend(gpu);
	mutex_unlock(&gpu->pm_lock);
	return err;
}

static int do_suspend(char *rest)
{
	return power(rest, nv_pm_ops.suspend);
}

static int do_procfs_suspend(char *rest)
{
	return power(rest, NULL);
}

static int do_resume(char *rest)
{
	return power(rest, nv_pm_ops.resume);
}

static int do_runtime_suspend(char *rest)
{
	return power(rest, nv_pm_ops.runtime_suspend);
}

static int do_runtime_resume(char *rest)
{
	return power(rest, nv_pm_ops.runtime_resume);
}

static int do_fail_opens(char *rest)
{
	struct mock_gpu *gpu;
	u64 count;
	int err;

	err = next_gpu(&rest, &gpu);
	if (!err)
		err = next_number(&rest, &count, NULL);
	if (err)
		return err;
	atomic_set(&gpu->fail_opens, min_t(u64, count, INT_MAX));
	return 0;
}

static atomic_t mock_spin;

/* Takes as long as a slow body of a probe, during which no grace period ends. */
static int do_spin(char *rest)
{
	u64 until, ns;
	int err = next_number(&rest, &ns, NULL);

	if (err)
		return err;
	if (atomic_cmpxchg(&mock_spin, 0, 1))
		return -EBUSY;
	preempt_disable();
	mock_count(MOCK_TOTAL, 0, MOCK_SPINNING, 1);
	until = ktime_get_ns() + ns;
	while (atomic_read(&mock_spin) == 1 && ktime_get_ns() < until)
		cpu_relax();
	mock_count(MOCK_TOTAL, 0, MOCK_SPINNING, -1);
	preempt_enable();
	atomic_set(&mock_spin, 0);
	return 0;
}

static int do_spin_end(char *rest)
{
	atomic_cmpxchg(&mock_spin, 1, 2);
	return 0;
}

static const struct {
	const char *name;
	int (*function)(char *rest);
} mock_commands[] = {
	{ "interrupt", do_interrupt },
	{ "burst", do_burst },
	{ "handled", do_handled },
	{ "unhandled", do_unhandled },
	{ "xid", do_xid },
	{ "xid-irq", do_xid_irq },
	{ "xid-burst", do_xid_burst },
	{ "p2p-get", do_p2p_get },
	{ "p2p-get-persistent", do_p2p_get_persistent },
	{ "p2p-put", do_p2p_put },
	{ "p2p-put-reused", do_p2p_put_reused },
	{ "p2p-put-wrong", do_p2p_put_wrong },
	{ "p2p-revoke", do_p2p_revoke },
	{ "p2p-map", do_p2p_map },
	{ "p2p-unmap", do_p2p_unmap },
	{ "suspend", do_suspend },
	{ "procfs-suspend", do_procfs_suspend },
	{ "resume", do_resume },
	{ "runtime-suspend", do_runtime_suspend },
	{ "runtime-resume", do_runtime_resume },
	{ "fail-opens", do_fail_opens },
	{ "spin", do_spin },
	{ "spin-end", do_spin_end },
};

static int execute(char *line)
{
	char *word = strsep(&line, " ");
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mock_commands); i++)
		if (line && !strcmp(word, mock_commands[i].name))
			return mock_commands[i].function(line);
	return -EINVAL;
}

MOCK_COMMAND_FOPS(control, execute);

/**
 * mock_control_init() - create the file
 * @dir: the mock's folder in debugfs
 */
void mock_control_init(struct dentry *dir)
{
	debugfs_create_file("control", 0200, dir, NULL, &control_fops);
}
