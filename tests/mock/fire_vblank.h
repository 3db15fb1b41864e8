/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fire_vblank.ko: displays without hardware, for vblanks that come, are late,
 * are missed or switched off as a test wants.
 */
#ifndef FIRE_VBLANK_H
#define FIRE_VBLANK_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/spinlock.h>

#include <drm/drm_crtc.h>
#include <drm/drm_device.h>
#include <drm/drm_plane.h>

#define FIRE_MAX_DEVICES	16
#define FIRE_MAX_CRTCS		32
#define FIRE_MAX_HZ		10000

/**
 * struct fire_account - what a crtc did
 * @frames: frames of the display, whether anyone looked or not
 * @vblanks: interrupts that the DRM core took: one drm_vblank_event each
 * @missed: frames whose interrupt was on and did not come
 * @off: frames while the interrupt was off
 * @late: vblanks whose interrupt was made to come late
 * @flips: events of the kernel's own, which belong to no file, that were sent
 * @enables: times that the interrupt was switched on
 * @disables: times that it was switched off
 * @met: of @enables, with an interrupt that came before all was done
 */
struct fire_account {
	u64 frames;
	u64 vblanks;
	u64 missed;
	u64 off;
	u64 late;
	u64 flips;
	u64 enables;
	u64 disables;
	u64 met;
};

/**
 * struct fire_record - a vblank, in the log
 * @device: number of the device
 * @crtc: its index
 * @seq: sequence number
 * @time_ns: of the vblank, as its clients get it
 * @handled_ns: CLOCK_MONOTONIC when its interrupt came
 */
struct fire_record {
	unsigned int device;
	unsigned int crtc;
	u64 seq;
	s64 time_ns;
	s64 handled_ns;
};

/**
 * struct fire_crtc - a display
 * @base: for DRM
 * @plane: that every crtc has to have
 * @device: whose it is
 * @commands: one command at a time; guards @running and @held
 * @timer: its interrupts
 * @running: the timer goes
 * @held: commands that keep its interrupt on
 * @lock: for what follows
 * @counter: the hardware's count of frames
 * @frame: when the last one began, as the hardware knows it
 * @period: of frames
 * @skip: interrupts that are still to be swallowed
 * @late: by how much the next @late_count interrupts come late
 * @late_count: see @late
 * @enabled: the interrupt is on
 * @meet: when it is switched on the next time, one comes before that is done
 * @coming: an interrupt is about to be handled
 * @account: what was done
 */
struct fire_crtc {
	struct drm_crtc base;
	struct drm_plane plane;
	struct fire_device *device;
	struct mutex commands;
	struct hrtimer timer;
	bool running;
	unsigned int held;

	raw_spinlock_t lock;
	u32 counter;
	ktime_t frame;
	ktime_t period;
	u64 skip;
	ktime_t late;
	u64 late_count;
	bool enabled;
	bool meet;
	bool coming;
	struct fire_account account;
};

/**
 * struct fire_device - a device of such displays
 * @drm: for DRM
 * @pdev: its parent
 * @crtc: the displays
 */
struct fire_device {
	struct drm_device drm;
	struct platform_device *pdev;
	struct fire_crtc *crtc;
};

/**
 * struct fire_vblank - the module
 * @devices: number of devices
 * @crtcs: number of displays of each
 * @high_prec: the hardware knows when a vblank was; else the interrupt's time is taken
 * @device: the devices
 */
struct fire_vblank {
	unsigned int devices;
	unsigned int crtcs;
	bool high_prec;
	struct fire_device **device;
};

extern struct fire_vblank fire_vblank;

int fire_crtc_init(struct fire_device *device, unsigned int index, unsigned int hz);
void fire_crtc_start(struct fire_crtc *crtc);
void fire_crtc_stop(struct fire_crtc *crtc);
void fire_crtc_frame(struct fire_crtc *crtc, unsigned int frames, ktime_t frame);
void fire_crtc_account(struct fire_crtc *crtc, struct fire_account *account);

int fire_log_init(unsigned int records);
void fire_log_exit(void);
void fire_log_add(const struct fire_record *record);
struct seq_file;
void fire_log_show(struct seq_file *m);

int fire_command_init(void);
void fire_command_exit(void);

#endif /* FIRE_VBLANK_H */
