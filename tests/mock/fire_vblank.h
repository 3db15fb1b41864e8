/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fire_vblank.ko: displays without hardware, whose vblanks come, are late, are missed or switched
 * off as a test commands.
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
 * struct fire_account - counts of a crtc
 * @frames: all frames of the display
 * @vblanks: interrupts that the DRM core handled: one drm_vblank_event each
 * @missed: frames whose enabled interrupt did not come
 * @off: frames while the interrupt was off
 * @late: vblanks with an intentionally late interrupt
 * @flips: events of the kernel itself that were sent, which belong to no file
 * @enables: how often the interrupt was enabled
 * @disables: how often it was disabled
 * @met: how many of @enables had an interrupt before they were complete
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
 * struct fire_record - a vblank in the log
 * @device: number of the device
 * @crtc: its index
 * @seq: sequence number
 * @time_ns: time of the vblank, as reported to clients
 * @handled_ns: CLOCK_MONOTONIC of its interrupt
 * @missed: frames before it whose interrupt did not come because the timer was late
 */
struct fire_record {
	unsigned int device;
	unsigned int crtc;
	u64 seq;
	s64 time_ns;
	s64 handled_ns;
	unsigned int missed;
};

/**
 * struct fire_crtc - a display
 * @base: base for DRM
 * @plane: plane that every crtc must have
 * @device: its device
 * @commands: serialises commands; protects @running and @held
 * @timer: timer for its interrupts
 * @running: the timer is running
 * @held: commands that keep its interrupt enabled
 * @lock: protects the following members
 * @counter: the hardware's frame counter
 * @frame: start of the last frame, according to the hardware
 * @period: time between frames
 * @skip: number of interrupts still to suppress
 * @late: delay of the next @late_count interrupts
 * @late_count: see @late
 * @enabled: the interrupt is enabled
 * @meet: the next time it is enabled, an interrupt comes before that is complete
 * @coming: an interrupt is about to be handled
 * @account: counts
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
 * struct fire_device - a device with displays
 * @drm: base for DRM
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
 * @high_prec: the hardware reports the time of a vblank; otherwise the interrupt's time is used
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
