// SPDX-License-Identifier: GPL-2.0-only
/*
 * fire_vblank/command, /account and /log in debugfs. A command is written as
 *
 *	VERB DEVICE CRTC [NUMBER [NUMBER]]
 *
 * one for each write(), which fails with its error.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <drm/drm_file.h>
#include <drm/drm_vblank.h>

#include "fire_vblank.h"
#include "mock_command.h"

static struct dentry *fire_debugfs;

/* The next frames have no interrupt. */
static int fire_do_skip(struct fire_crtc *crtc, u64 frames, u64 unused)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&crtc->lock, flags);
	crtc->skip = frames;
	raw_spin_unlock_irqrestore(&crtc->lock, flags);
	return 0;
}

/* The interrupts of the next frames are late by that time. */
static int fire_do_late(struct fire_crtc *crtc, u64 ns, u64 frames)
{
	unsigned long flags;

	if (ns > NSEC_PER_SEC)
		return -ERANGE;
	raw_spin_lock_irqsave(&crtc->lock, flags);
	crtc->late = ns_to_ktime(ns);
	crtc->late_count = frames;
	raw_spin_unlock_irqrestore(&crtc->lock, flags);
	return 0;
}

/* Switch the display off and on again. */
static int fire_do_off(struct fire_crtc *crtc, u64 unused, u64 unused2)
{
	drm_crtc_vblank_off(&crtc->base);
	return 0;
}

static int fire_do_on(struct fire_crtc *crtc, u64 unused, u64 unused2)
{
	drm_crtc_vblank_on(&crtc->base);
	return 0;
}

/* Keep the interrupt enabled without a client, and stop that. */
static int fire_do_hold(struct fire_crtc *crtc, u64 unused, u64 unused2)
{
	int ret;

	ret = drm_crtc_vblank_get(&crtc->base);
	if (!ret)
		crtc->held++;
	return ret;
}

static int fire_do_drop(struct fire_crtc *crtc, u64 unused, u64 unused2)
{
	if (!crtc->held)
		return -EINVAL;
	crtc->held--;
	drm_crtc_vblank_put(&crtc->base);
	return 0;
}

/* At the next "hold" the interrupt comes as early as possible, on another CPU. */
static int fire_do_meet(struct fire_crtc *crtc, u64 unused, u64 unused2)
{
	if (!crtc->running || crtc->held)
		return -EBUSY;
	crtc->meet = true;
	return 0;
}

/* Stop the clock: from now on only "step" advances frames. */
static int fire_do_pause(struct fire_crtc *crtc, u64 unused, u64 unused2)
{
	fire_crtc_stop(crtc);
	return 0;
}

static int fire_do_run(struct fire_crtc *crtc, u64 unused, u64 unused2)
{
	fire_crtc_start(crtc);
	return 0;
}

/* Frames in immediate succession, with times one period apart. */
static int fire_do_step(struct fire_crtc *crtc, u64 frames, u64 unused)
{
	unsigned long flags;

	if (crtc->running)
		return -EBUSY;
	while (frames--) {
		if (signal_pending(current))
			return -EINTR;
		local_irq_save(flags);
		fire_crtc_frame(crtc, 1, ktime_add(crtc->frame, crtc->period));
		local_irq_restore(flags);
		cond_resched();
	}
	return 0;
}

static int fire_send(struct fire_crtc *crtc, u64 events, bool at_vblank)
{
	struct drm_device *drm = &crtc->device->drm;
	struct drm_pending_vblank_event *event;
	unsigned long flags;
	int ret;

	while (events--) {
		event = kzalloc(sizeof(*event), GFP_KERNEL);
		if (!event)
			return -ENOMEM;
		event->event.base.type = DRM_EVENT_FLIP_COMPLETE;
		event->event.base.length = sizeof(event->event.vbl);
		if (at_vblank) {
			ret = drm_crtc_vblank_get(&crtc->base);
			if (ret) {
				kfree(event);
				return ret;
			}
		}
		spin_lock_irqsave(&drm->event_lock, flags);
		if (at_vblank)
			drm_crtc_arm_vblank_event(&crtc->base, event);
		else
			drm_crtc_send_vblank_event(&crtc->base, event);
		spin_unlock_irqrestore(&drm->event_lock, flags);

		raw_spin_lock_irqsave(&crtc->lock, flags);
		crtc->account.flips++;
		raw_spin_unlock_irqrestore(&crtc->lock, flags);
	}
	return 0;
}

/* Send the kernel's own events, with the next vblank or at once. */
static int fire_do_flip(struct fire_crtc *crtc, u64 events, u64 unused)
{
	return fire_send(crtc, events, true);
}

static int fire_do_flipped(struct fire_crtc *crtc, u64 events, u64 unused)
{
	return fire_send(crtc, events, false);
}

static const struct fire_verb {
	const char *name;
	int (*act)(struct fire_crtc *crtc, u64 a, u64 b);
	int numbers;
} fire_verbs[] = {
	{ "skip", fire_do_skip, 1 },
	{ "late", fire_do_late, 2 },
	{ "off", fire_do_off, 0 },
	{ "on", fire_do_on, 0 },
	{ "hold", fire_do_hold, 0 },
	{ "drop", fire_do_drop, 0 },
	{ "meet", fire_do_meet, 0 },
	{ "pause", fire_do_pause, 0 },
	{ "run", fire_do_run, 0 },
	{ "step", fire_do_step, 1 },
	{ "flip", fire_do_flip, 1 },
	{ "flipped", fire_do_flipped, 1 },
};

static int fire_command(char *text)
{
	u64 number[4] = { };
	struct fire_crtc *crtc;
	int numbers = 0, ret;
	unsigned int i;
	char *verb, *word;

	verb = strsep(&text, " ");
	while ((word = strsep(&text, " "))) {
		if (numbers == ARRAY_SIZE(number) || kstrtou64(word, 0, &number[numbers]))
			return -EINVAL;
		numbers++;
	}
	for (i = 0; i < ARRAY_SIZE(fire_verbs); i++) {
		if (strcmp(verb, fire_verbs[i].name))
			continue;
		if (numbers != fire_verbs[i].numbers + 2)
			return -EINVAL;
		if (number[0] >= fire_vblank.devices || number[1] >= fire_vblank.crtcs)
			return -ENODEV;
		crtc = &fire_vblank.device[number[0]]->crtc[number[1]];
		mutex_lock(&crtc->commands);
		ret = fire_verbs[i].act(crtc, number[2], number[3]);
		mutex_unlock(&crtc->commands);
		return ret;
	}
	return -EINVAL;
}

MOCK_COMMAND_FOPS(fire_command, fire_command);

static void fire_account_row(struct seq_file *m, struct fire_crtc *crtc)
{
	struct fire_account account;
	ktime_t time;
	u64 seq;

	fire_crtc_account(crtc, &account);
	seq = drm_crtc_vblank_count_and_time(&crtc->base, &time);
	seq_printf(m, "%s card%d %u %u %lld %u", dev_name(&crtc->device->pdev->dev),
		   crtc->device->drm.primary->index, drm_crtc_index(&crtc->base),
		   crtc->base.base.id, ktime_to_ns(crtc->period), fire_vblank.high_prec);
	seq_printf(m, " %llu %llu %llu %llu %llu", account.frames, account.vblanks, account.missed,
		   account.off, account.late);
	seq_printf(m, " %llu %llu %llu %llu %llu\n", account.flips, account.enables,
		   account.disables, account.met, seq);
}

static int account_show(struct seq_file *m, void *unused)
{
	unsigned int device, crtc;

	seq_puts(m, "device card crtc crtc_id period_ns high_prec frames vblanks missed off late");
	seq_puts(m, " flips enables disables met seq\n");
	for (device = 0; device < fire_vblank.devices; device++)
		for (crtc = 0; crtc < fire_vblank.crtcs; crtc++)
			fire_account_row(m, &fire_vblank.device[device]->crtc[crtc]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(account);

static int log_show(struct seq_file *m, void *unused)
{
	fire_log_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(log);

/**
 * fire_command_init() - create the files in debugfs
 *
 * Return: 0 or a negative error.
 */
int fire_command_init(void)
{
	struct dentry *file;

	fire_debugfs = debugfs_create_dir("fire_vblank", NULL);
	if (IS_ERR(fire_debugfs))
		return PTR_ERR(fire_debugfs);
	file = debugfs_create_file("command", 0200, fire_debugfs, NULL, &fire_command_fops);
	if (!IS_ERR(file))
		file = debugfs_create_file("account", 0400, fire_debugfs, NULL, &account_fops);
	if (!IS_ERR(file))
		file = debugfs_create_file("log", 0400, fire_debugfs, NULL, &log_fops);
	if (IS_ERR(file)) {
		debugfs_remove(fire_debugfs);
		return PTR_ERR(file);
	}
	return 0;
}

/**
 * fire_command_exit() - remove the files, and end what commands still hold
 */
void fire_command_exit(void)
{
	unsigned int device, i;

	debugfs_remove(fire_debugfs);
	for (device = 0; device < fire_vblank.devices; device++) {
		for (i = 0; i < fire_vblank.crtcs; i++) {
			struct fire_crtc *crtc = &fire_vblank.device[device]->crtc[i];

			while (crtc->held)
				fire_do_drop(crtc, 0, 0);
		}
	}
}
