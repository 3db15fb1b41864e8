// SPDX-License-Identifier: GPL-2.0-only
/* debugfs: the statistics as text, for people and for awk. */
#include <linux/debugfs.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/ktime.h>

#include "account.h"
#include "attach/probe.h"
#include "common/event_ring.h"
#include "common/process.h"
#include "compat/sched_device.h"
#include "core/clock.h"
#include "core/fault.h"
#include "core/period.h"
#include "core/statistics.h"
#include "debugfs.h"
#include "drivers/drm_sched/hang.h"
#include "drivers/drm_sched/job.h"
#include "drivers/drm_sched/ring.h"
#include "netlink.h"

static struct dentry *directory;

static void show_limits(struct seq_file *m)
{
	struct gpumon_hang_limits limits;

	gpumon_hang_limits(&limits);
	seq_printf(m, "hang_limit_ms %u\nstarved_limit_ms %u\n", limits.hang_ms,
		   limits.starved_ms);
}

static void show_module(struct seq_file *m)
{
	struct gpumon_process_totals totals;

	gpumon_process_totals(false, &totals);
	seq_puts(m, "# gpumon\nkey value\n");
	seq_printf(m, "version %s\nschema %d\nclock monotonic\n", GPUMON_VERSION, GPUMON_SCHEMA);
	seq_printf(m, "duration_clock %s\n",
		   static_key_enabled(&gpumon_clock_tsc) ? "tsc" : "monotonic");
	seq_printf(m, "now_ns %llu\nsince_ns %llu\nperiod %u\n", ktime_get_mono_fast_ns(),
		   gpumon_period.since_ns, gpumon_period.number);
	seq_printf(m, "possible_cpus %u\n", num_possible_cpus());
	if (GPUMON_HAS_drm_sched)
		seq_printf(m, "max_rings %u\nrings %u\nrings_retired %llu\n", gpumon_ring_max,
			   gpumon_ring_count(), gpumon_rings_retired);
	seq_printf(m, "max_processes %u\nprocesses %u\nprocesses_exited %llu\njobs_exited %llu\n",
		   gpumon_process_max, gpumon_table_used(&gpumon_process_table), totals.exited,
		   totals.words[GPUMON_PROCESS_JOBS]);
	if (GPUMON_HAS_drm_sched)
		seq_printf(m, "max_jobs %u\n", gpumon_job_max);
	seq_printf(m, "jobs_unattributed %llu\nmemory_bytes %zu\n",
		   gpumon_process_unattributed(false, GPUMON_PROCESS_JOBS),
		   gpumon_account_bytes());
	if (GPUMON_HAS_HANGS)
		show_limits(m);
	if (!GPUMON_COMPAT_SCHED_OWNER_IS_DEVICE)
		seq_puts(m, "ring_devices only_device_of_a_driver\n");
	if (GPUMON_HAS_ALERTS && !gpumon_family.n_mcgrps)
		seq_puts(m, "alerts_sent no\n");
	seq_puts(m, "not_seen ROCm/KFD_compute,amdgpu_user_queues\n");
	/* What `make modules` was told to leave out, see Kbuild. */
	if (*GPUMON_LEFT_OUT)
		seq_puts(m, "left_out " GPUMON_LEFT_OUT "\n");
}

/* Names of states, as in the netlink specification. */
static const char *const state_names[] = {
	[GPUMON_ATTACH_STATE_OFF] = "off",
	[GPUMON_ATTACH_STATE_WAITING] = "waiting",
	[GPUMON_ATTACH_STATE_ATTACHED] = "attached",
	[GPUMON_ATTACH_STATE_MISSING] = "missing",
	[GPUMON_ATTACH_STATE_MISMATCH] = "mismatch",
	[GPUMON_ATTACH_STATE_FAILED] = "failed",
};

static const char *const kind_names[] = {
	[GPUMON_PROBE_KIND_TRACEPOINT] = "tracepoint",
	[GPUMON_PROBE_KIND_KPROBE] = "kprobe",
	[GPUMON_PROBE_KIND_KRETPROBE] = "kretprobe",
};

static void show_groups(struct seq_file *m)
{
	const struct gpumon_group *group;
	enum gpumon_attach_state state;
	const char *reason;
	unsigned int g;

	seq_puts(m, "# groups\ngroup state reason\n");
	for_each_group(group, g) {
		state = gpumon_group_state(group, &reason);
		seq_printf(m, "%s %s %s\n", group->name, state_names[state],
			   *reason ? reason : "-");
	}
}

static int show_missing_option(void *m, const char *option, const char *lost)
{
	seq_printf(m, "%s %s\n", option, lost);
	return 0;
}

static void show_missing_options(struct seq_file *m)
{
	seq_puts(m, "# missing_options\noption lost\n");
	gpumon_missing_options(show_missing_option, m);
}

/* A loaded driver is shown even if there was no memory for its tables. */
static bool probes_shown(const struct gpumon_group *group)
{
	const char *reason;

	return gpumon_group_shown(group) ||
	       gpumon_group_state(group, &reason) == GPUMON_ATTACH_STATE_FAILED;
}

static void show_probes(struct seq_file *m)
{
	const struct gpumon_group *group;
	const struct gpumon_probe *probe;
	struct gpumon_probe_view view;
	unsigned int g, i;

	static_assert(GPUMON_DROPS == 5);
	seq_puts(
		m,
		"# probes\ngroup probe module kind state seen recorded table_full recursion unreadable missed no_memory reason\n");
	for_each_group(group, g) {
		if (!probes_shown(group))
			continue;
		for_each_probe(group, probe) {
			gpumon_probe_read(probe, false, &view);
			seq_printf(m, "%s %s %s %s %s", group->name, probe->name,
				   gpumon_probe_module_name(probe),
				   kind_names[probe->kind], state_names[probe->state]);
			gpumon_debugfs_show_u64(m, view.seen, true);
			for (i = 0; i < GPUMON_PROBE_WORDS; i++)
				seq_printf(m, " %llu", view.words[i]);
			seq_printf(m, " %s\n", *probe->reason ? probe->reason : "-");
		}
	}
}

static void show_processes(struct seq_file *m)
{
	static const char *const names[GPUMON_PROCESS_WORDS] = {
		[GPUMON_PROCESS_JOBS] = "jobs",
		[GPUMON_PROCESS_SUBMISSIONS] = "submissions",
		[GPUMON_PROCESS_ALLOCATED_BYTES] = "allocated_bytes",
		[GPUMON_PROCESS_MAPPED_BYTES] = "mapped_bytes",
		[GPUMON_PROCESS_IOCTLS] = "ioctls",
		[GPUMON_PROCESS_FAULTS] = "faults",
		[GPUMON_PROCESS_OPENS] = "opens",
		[GPUMON_PROCESS_CLOSES] = "closes",
	};
	static const char *const level_names[GPUMON_PROCESS_LEVELS] = {
		[GPUMON_PROCESS_VRAM_BYTES] = "vram_bytes",
		[GPUMON_PROCESS_LIVE_OBJECT_BYTES] = "live_object_bytes",
	};
	u64 words[GPUMON_PROCESS_WORDS], level[GPUMON_PROCESS_LEVELS];
	bool known[GPUMON_PROCESS_LEVELS], has_level;
	u32 slot;
	bool alive;
	int i;

	seq_puts(m, "# processes\npid id");
	for (i = 0; i < GPUMON_PROCESS_WORDS; i++)
		seq_printf(m, " %s", names[i]);
	for (i = 0; i < GPUMON_PROCESS_LEVELS; i++)
		seq_printf(m, " %s", level_names[i]);
	seq_puts(m, " cgroup_id alive comm\n");
	for (slot = 0; slot < gpumon_process_table.slots; slot++) {
		if (!gpumon_process_ready(slot))
			continue;
		gpumon_process_read(slot, false, words);
		alive = gpumon_process_refresh(slot);
		for (i = 0, has_level = false; i < GPUMON_PROCESS_LEVELS; i++) {
			known[i] = gpumon_process_level(slot, i, &level[i]) &&
				   gpumon_group_keeps_level_of_processes(i);
			has_level |= known[i] && level[i];
		}
		if (!alive && !has_level && !memchr_inv(words, 0, sizeof(words)))
			continue;
		seq_printf(m, "%u %llu", gpumon_processes[slot].pid, gpumon_processes[slot].id);
		for (i = 0; i < GPUMON_PROCESS_WORDS; i++)
			gpumon_debugfs_show_u64(m, words[i],
						i == GPUMON_PROCESS_JOBS ||
							gpumon_group_counts_of_processes(i));
		for (i = 0; i < GPUMON_PROCESS_LEVELS; i++)
			gpumon_debugfs_show_u64(m, level[i], known[i]);
		gpumon_debugfs_show_u64(m, gpumon_processes[slot].cgroup_id,
					gpumon_processes[slot].cgroup_id);
		seq_printf(m, " %d ", alive);
		gpumon_debugfs_show_name(m, gpumon_processes[slot].comm);
		seq_putc(m, '\n');
	}
}

static void show_memory(struct seq_file *m)
{
	const char *name;
	unsigned int part;
	size_t bytes;

	seq_puts(m, "# memory\npart bytes\n");
	for (part = 0; gpumon_account_part(part, &name, &bytes); part++)
		if (bytes)
			seq_printf(m, "%s %zu\n", name, bytes);
}

static void show_event_ring(struct seq_file *m)
{
	struct gpumon_event_ring_view view;

	gpumon_event_ring_read(&view);
	seq_printf(
		m,
		"# event_ring\nkey value\nenabled %d\nsize_kib %u\nwritten %llu\noverwritten %llu\n",
		view.enabled, view.size_kib, view.written, view.overwritten);
	seq_printf(m, "delivered %llu\npending %llu\ndropped %llu\nmemory_bytes %zu\n",
		   view.delivered, view.pending, view.dropped, view.memory_bytes);
}

/* Shows the offsets of members of private types. */
static void show_layouts(struct seq_file *m)
{
	const struct gpumon_group *group;
	const struct gpumon_field *field;
	unsigned int g;

	seq_puts(m, "# layouts\nmodule member offset size reason\n");
	for_each_group(group, g) {
		if (!gpumon_group_shown(group))
			continue;
		for_each_field(group, field) {
			seq_printf(m, "%s %s.%s ", field->module ?: "vmlinux", field->type,
				   field->member);
			if (!gpumon_field_known(field))
				seq_printf(m, "- - %s\n", field->reason);
			else if (field->bit_size)
				seq_printf(m, "%d.%u:%u %u -\n", field->offset, field->bit_offset,
					   field->bit_size, field->found_size);
			else
				seq_printf(m, "%d %u -\n", field->offset, field->found_size);
		}
	}
}

static int show_stats(struct seq_file *m)
{
	struct gpumon_row_view *row = gpumon_row_view_alloc();

	if (!row)
		return -ENOMEM;
	mutex_lock(&gpumon_probe_lock);
	mutex_lock(&gpumon_period_lock);
	/* The first lines say what does not work, and why. */
	show_groups(m);
	show_missing_options(m);
	show_probes(m);
	show_module(m);
	gpumon_debugfs_show_statistics(m, row);
	show_processes(m);
	if (GPUMON_HAS_EVENTS)
		show_event_ring(m);
	show_memory(m);
	show_layouts(m);
	mutex_unlock(&gpumon_period_lock);
	mutex_unlock(&gpumon_probe_lock);
	kvfree(row);
	return 0;
}

/*
 * Opens a file of text. A seq_file whose buffer is too small starts over with twice the size, until
 * all fits: with many rings that costs several times as much. So it begins with the size of the
 * last text, and some more.
 */
struct text {
	const char *name;
	int (*show)(struct seq_file *m);
	size_t last_bytes;
};

static struct text texts[] = {
	{ .name = "stats", .show = show_stats },
	{ .name = "histograms", .show = gpumon_debugfs_show_histograms },
};

static int text_show(struct seq_file *m, void *unused)
{
	struct text *text = m->private;
	int ret = text->show(m);

	WRITE_ONCE(text->last_bytes, m->count);
	return ret;
}

static int text_open(struct inode *inode, struct file *file)
{
	struct text *text = inode->i_private;
	size_t bytes = READ_ONCE(text->last_bytes);

	return single_open_size(file, text_show, text, PAGE_ALIGN(bytes + bytes / 4 + 1));
}

static const struct file_operations text_fops = {
	.owner = THIS_MODULE,
	.open = text_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

static int make_file(const char *name, void *data, const struct file_operations *operations)
{
	struct dentry *file;

	file = GPUMON_REGISTER_OR_ERR("debugfs_create_file", name,
				      debugfs_create_file(name, 0400, directory, data, operations));
	return PTR_ERR_OR_ZERO(file);
}

static int log_missing_option(void *unused, const char *option, const char *lost)
{
	pr_info("this kernel lacks %s: %s\n", option, lost);
	return 0;
}

/**
 * gpumon_debugfs_init - make the files
 *
 * Without debugfs in the kernel there are none, netlink has everything that
 * they show but single events, and the log what the kernel lacks. They are for reading: a writer is refused even as root.
 */
void gpumon_debugfs_init(void)
{
	unsigned int i;
	int ret;

	directory = GPUMON_REGISTER_OR_ERR("debugfs_create_dir", NULL,
					   debugfs_create_dir("gpumon", NULL));
	ret = PTR_ERR_OR_ZERO(directory);
	/* debugfs is not built in, or switched off: no warning. */
	if (ret == -ENODEV || ret == -EPERM) {
		if (IS_ENABLED(CONFIG_DEBUG_FS))
			pr_info("no files: debugfs is switched off (debugfs=off), gpumon-user stat has all statistics\n");
		gpumon_missing_options(log_missing_option, NULL);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(texts) && !ret; i++)
		ret = make_file(texts[i].name, &texts[i], &text_fops);
	if (!ret && GPUMON_HAS_EVENTS)
		ret = make_file("events", NULL, &gpumon_event_ring_fops);
	if (!ret)
		return;
	/* All files are made or none: a part could be mistaken for the whole. */
	gpumon_debugfs_exit();
	pr_warn("no files in debugfs, error %d: statistics are in netlink (gpumon-user stat), for trace load gpumon again\n",
		ret);
}

/** gpumon_debugfs_exit - remove the files, waits for readers; there may be none */
void gpumon_debugfs_exit(void)
{
	debugfs_remove_recursive(directory);
	directory = NULL;
}
