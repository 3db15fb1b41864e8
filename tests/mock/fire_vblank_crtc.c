// SPDX-License-Identifier: GPL-2.0-only
/*
 * A display: a timer simulates its frames and their interrupts, and a counter its hardware's frame
 * counter. The DRM core does the rest, as for a real display.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/math64.h>

#include <drm/drm_fourcc.h>
#include <drm/drm_modes.h>
#include <drm/drm_vblank.h>

#include "fire_compat.h"
#include "fire_vblank.h"

static const u32 fire_formats[] = { DRM_FORMAT_XRGB8888 };

static struct fire_crtc *to_fire_crtc(struct drm_crtc *crtc)
{
	return container_of(crtc, struct fire_crtc, base);
}

static u32 fire_get_vblank_counter(struct drm_crtc *base)
{
	struct fire_crtc *crtc = to_fire_crtc(base);
	unsigned long flags;
	u32 counter;

	raw_spin_lock_irqsave(&crtc->lock, flags);
	counter = crtc->counter;
	raw_spin_unlock_irqrestore(&crtc->lock, flags);
	return counter;
}

static bool fire_get_vblank_timestamp(struct drm_crtc *base, int *max_error, ktime_t *time,
				      bool in_vblank_irq)
{
	struct fire_crtc *crtc = to_fire_crtc(base);
	unsigned long flags;

	raw_spin_lock_irqsave(&crtc->lock, flags);
	*time = crtc->frame;
	raw_spin_unlock_irqrestore(&crtc->lock, flags);
	return true;
}

static void fire_set_enabled(struct drm_crtc *base, bool enabled)
{
	struct fire_crtc *crtc = to_fire_crtc(base);
	unsigned long flags;

	raw_spin_lock_irqsave(&crtc->lock, flags);
	crtc->enabled = enabled;
	if (enabled)
		crtc->account.enables++;
	else
		crtc->account.disables++;
	raw_spin_unlock_irqrestore(&crtc->lock, flags);
}

/*
 * The core holds its lock and has not marked the interrupt as enabled yet, so an interrupt that
 * comes now waits for the lock on its own CPU. Half a second is many frames, and less than a kernel
 * watchdog tolerates.
 */
static void fire_meet(struct fire_crtc *crtc)
{
	unsigned int left = 50000;

	while (!READ_ONCE(crtc->coming) && --left)
		udelay(10);
	/* Lets the interrupt get from @coming to the lock. */
	udelay(500);
	crtc->meet = false;
	crtc->account.met += left != 0;
}

static int fire_enable_vblank(struct drm_crtc *base)
{
	struct fire_crtc *crtc = to_fire_crtc(base);

	fire_set_enabled(base, true);
	if (crtc->meet)
		fire_meet(crtc);
	return 0;
}

static void fire_disable_vblank(struct drm_crtc *base)
{
	fire_set_enabled(base, false);
}

/* There is nothing to display. */
static int fire_set_config(struct drm_mode_set *set, struct drm_modeset_acquire_ctx *ctx)
{
	return -EOPNOTSUPP;
}

static int fire_update_plane(struct drm_plane *plane, struct drm_crtc *crtc,
			     struct drm_framebuffer *fb, int crtc_x, int crtc_y,
			     unsigned int crtc_w, unsigned int crtc_h, u32 src_x, u32 src_y,
			     u32 src_w, u32 src_h, struct drm_modeset_acquire_ctx *ctx)
{
	return -EOPNOTSUPP;
}

static int fire_disable_plane(struct drm_plane *plane, struct drm_modeset_acquire_ctx *ctx)
{
	return -EOPNOTSUPP;
}

static const struct drm_plane_funcs fire_plane_funcs = {
	.update_plane = fire_update_plane,
	.disable_plane = fire_disable_plane,
	.destroy = drm_plane_cleanup,
};

/* The core reports high precision if there is a timestamp function. */
static const struct drm_crtc_funcs fire_precise_funcs = {
	.set_config = fire_set_config,
	.destroy = drm_crtc_cleanup,
	.enable_vblank = fire_enable_vblank,
	.disable_vblank = fire_disable_vblank,
	.get_vblank_counter = fire_get_vblank_counter,
	.get_vblank_timestamp = fire_get_vblank_timestamp,
};

static const struct drm_crtc_funcs fire_plain_funcs = {
	.set_config = fire_set_config,
	.destroy = drm_crtc_cleanup,
	.enable_vblank = fire_enable_vblank,
	.disable_vblank = fire_disable_vblank,
	.get_vblank_counter = fire_get_vblank_counter,
};

/**
 * fire_crtc_frame() - advance by some frames, with an interrupt for the last one
 * @crtc: the display
 * @frames: number of frames; only the last one has an interrupt
 * @frame: start of the last one
 *
 * Context: any but NMI; one at a time for each display.
 */
void fire_crtc_frame(struct fire_crtc *crtc, unsigned int frames, ktime_t frame)
{
	struct fire_record record = {
		.device = crtc->device->pdev->id,
		.crtc = drm_crtc_index(&crtc->base),
		.handled_ns = ktime_get_ns(),
		.missed = frames - 1,
	};
	bool enabled, interrupt, taken = false;
	unsigned long flags;
	ktime_t time;

	raw_spin_lock_irqsave(&crtc->lock, flags);
	crtc->counter += frames;
	crtc->frame = frame;
	crtc->account.frames += frames;
	enabled = crtc->enabled;
	interrupt = enabled && !crtc->skip;
	if (enabled && crtc->skip)
		crtc->skip--;
	raw_spin_unlock_irqrestore(&crtc->lock, flags);

	/* drm_handle_vblank() takes the interrupt if it is still enabled. */
	WRITE_ONCE(crtc->coming, interrupt);
	if (interrupt)
		taken = drm_crtc_handle_vblank(&crtc->base);
	WRITE_ONCE(crtc->coming, false);
	if (taken) {
		record.seq = drm_crtc_vblank_count_and_time(&crtc->base, &time);
		record.time_ns = ktime_to_ns(time);
		fire_log_add(&record);
	}

	raw_spin_lock_irqsave(&crtc->lock, flags);
	if (taken) {
		crtc->account.vblanks++;
		crtc->account.missed += frames - 1;
	} else if (enabled && !interrupt) {
		crtc->account.missed += frames;
	} else {
		crtc->account.off += frames;
	}
	if (crtc->late_count) {
		crtc->account.late += taken;
		crtc->late_count--;
	}
	raw_spin_unlock_irqrestore(&crtc->lock, flags);
}

/* Time of the next frame's interrupt. */
static ktime_t fire_next(struct fire_crtc *crtc)
{
	unsigned long flags;
	ktime_t next;

	raw_spin_lock_irqsave(&crtc->lock, flags);
	next = ktime_add(crtc->frame, crtc->period);
	if (crtc->late_count)
		next = ktime_add(next, crtc->late);
	raw_spin_unlock_irqrestore(&crtc->lock, flags);
	return next;
}

/*
 * The display does not wait for a late interrupt. Frames continue on time, and if another one has
 * begun by now, its interrupt was missed.
 */
static enum hrtimer_restart fire_vblank_timer(struct hrtimer *timer)
{
	struct fire_crtc *crtc = container_of(timer, struct fire_crtc, timer);
	ktime_t frame = crtc->frame;
	s64 frames;

	frames = div64_s64(ktime_to_ns(ktime_sub(ktime_get(), frame)), ktime_to_ns(crtc->period));
	if (frames > 0)
		fire_crtc_frame(crtc, frames,
				ktime_add_ns(frame, frames * ktime_to_ns(crtc->period)));
	hrtimer_set_expires(timer, fire_next(crtc));
	return HRTIMER_RESTART;
}

/**
 * fire_crtc_start() - start the display's clock
 * @crtc: the display; nothing happens if it is running
 */
void fire_crtc_start(struct fire_crtc *crtc)
{
	unsigned long flags;

	if (crtc->running)
		return;
	raw_spin_lock_irqsave(&crtc->lock, flags);
	/* No frames passed meanwhile, but time does not go back. */
	if (ktime_before(crtc->frame, ktime_get()))
		crtc->frame = ktime_get();
	raw_spin_unlock_irqrestore(&crtc->lock, flags);
	crtc->running = true;
	hrtimer_start(&crtc->timer, fire_next(crtc), HRTIMER_MODE_ABS);
}

/**
 * fire_crtc_stop() - stop the display's clock
 * @crtc: the display
 */
void fire_crtc_stop(struct fire_crtc *crtc)
{
	if (!crtc->running)
		return;
	hrtimer_cancel(&crtc->timer);
	crtc->running = false;
}

/**
 * fire_crtc_account() - get the counts of a display
 * @crtc: the display
 * @account: out
 */
void fire_crtc_account(struct fire_crtc *crtc, struct fire_account *account)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&crtc->lock, flags);
	*account = crtc->account;
	raw_spin_unlock_irqrestore(&crtc->lock, flags);
}

/**
 * fire_crtc_init() - add a display to a device that is not registered yet
 * @device: the device
 * @index: index of the display
 * @hz: its refresh rate
 *
 * DRM frees its resources with the device.
 *
 * Return: 0 or a negative error.
 */
int fire_crtc_init(struct fire_device *device, unsigned int index, unsigned int hz)
{
	struct fire_crtc *crtc = &device->crtc[index];
	int ret;

	crtc->device = device;
	crtc->period = ns_to_ktime(NSEC_PER_SEC / hz);
	crtc->frame = ktime_get();
	mutex_init(&crtc->commands);
	raw_spin_lock_init(&crtc->lock);
	fire_compat_hrtimer_setup(&crtc->timer, fire_vblank_timer, HRTIMER_MODE_ABS);

	ret = drm_universal_plane_init(&device->drm, &crtc->plane, BIT(index), &fire_plane_funcs,
				       fire_formats, ARRAY_SIZE(fire_formats), NULL,
				       DRM_PLANE_TYPE_PRIMARY, NULL);
	if (ret)
		return ret;
	return drm_crtc_init_with_planes(&device->drm, &crtc->base, &crtc->plane, NULL,
					 fire_vblank.high_prec ? &fire_precise_funcs :
								 &fire_plain_funcs,
					 NULL);
}
