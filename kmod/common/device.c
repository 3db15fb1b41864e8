// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of devices, and whether the DRM scheduler's types are laid out as in the headers. Both are
 * read from live objects of the kernel and of drivers, through pointers that may be invalid.
 */
#include <linux/atomic.h>
#include <linux/device.h>
#include <linux/dma-fence.h>
#include <linux/kallsyms.h>
#include <linux/platform_device.h>
#include <linux/string.h>
#include <drm/drm_device.h>
#include <drm/gpu_scheduler.h>

#include "compat/sched_device.h"
#include "core/key.h"
#include "device.h"

/**
 * gpumon_is_device - is there a device at this address
 * @dev: any value
 *
 * All devices are objects of one type of sysfs, which nothing else has.
 *
 * Context: any.
 * Return: false if there is none, or the memory cannot be read.
 */
bool gpumon_is_device(const struct device *dev)
{
	const void *type;

	return dev && gpumon_read_nofault(&type, &dev->kobj.ktype, sizeof(type)) &&
	       type == platform_bus.kobj.ktype;
}

/**
 * gpumon_device_name - dev_name() through a pointer that may be invalid
 * @name: set to it, GPUMON_DEVICE_UNKNOWN if it cannot be read
 * @dev: device, may be any value
 *
 * The name is that of the hardware device, as in /sys. Where there is no device, no text is read.
 *
 * Context: any.
 * Return: false if it cannot be read.
 */
bool gpumon_device_name(char name[GPUMON_LABEL_LEN], const struct device *dev)
{
	const char *text = NULL;

	if (gpumon_is_device(dev) && gpumon_read_nofault(&text, &dev->init_name, sizeof(text)) &&
	    (text || gpumon_read_nofault(&text, &dev->kobj.name, sizeof(text))) && text &&
	    gpumon_read_string_nofault(name, GPUMON_LABEL_LEN, text) > 0)
		return true;
	strscpy(name, GPUMON_DEVICE_UNKNOWN, GPUMON_LABEL_LEN);
	return false;
}

/*
 * Names that were given as labels, by their hash, and the bus of the first device with each. They
 * stay, so that a device that comes again gets its old label.
 */
#define LABELS 128
static struct {
	u64 name;
	u64 bus;
} labels[LABELS];

/* Is this the bus of the first device of a name? Any number of CPUs may ask at once. */
static bool is_first_of_name(const char *name, const char *bus)
{
	const u64 hash = gpumon_key_text(name) | 1, wanted = gpumon_key_text(bus) | 1;
	u32 i, slot;
	u64 is;

	for (i = 0; i < LABELS; i++) {
		slot = (gpumon_key_spread(hash) + i) % LABELS;
		is = gpumon_cmpxchg64(&labels[slot].name, 0, hash);
		if (is && is != hash)
			continue;
		is = gpumon_cmpxchg64(&labels[slot].bus, 0, wanted);
		return !is || is == wanted;
	}
	/* With too many names, all new devices have their bus in the label. */
	return false;
}

/**
 * gpumon_device_label - a name for a device that no other device has
 * @label: set to it, GPUMON_DEVICE_UNKNOWN if it cannot be read
 * @dev: device, may be any value
 *
 * Names of devices are unique on one bus only. The first device with a name gets it as its label,
 * those on other buses get "bus:name".
 *
 * Context: any.
 * Return: false if the name cannot be read.
 */
bool gpumon_device_label(char label[GPUMON_LABEL_LEN], const struct device *dev)
{
	char bus[GPUMON_LABEL_LEN] = "", name[GPUMON_LABEL_LEN];
	const struct bus_type *type;
	const char *text;

	if (!gpumon_device_name(label, dev))
		return false;
	if (gpumon_read_nofault(&type, &dev->bus, sizeof(type)) && type &&
	    gpumon_read_nofault(&text, &type->name, sizeof(text)))
		(void)gpumon_read_string_nofault(bus, sizeof(bus), text);
	if (is_first_of_name(label, bus))
		return true;
	strscpy(name, label, sizeof(name));
	scnprintf(label, GPUMON_LABEL_LEN, "%s:%s", bus, name);
	return true;
}

/**
 * gpumon_device_label_of_drm - gpumon_device_label() of the device below a DRM device
 * @label: set to it, GPUMON_DEVICE_UNKNOWN if it cannot be read
 * @drm: DRM device, may be any value
 *
 * The name of the card is not used: it may change with each boot.
 *
 * Context: any.
 * Return: false if it cannot be read.
 */
bool gpumon_device_label_of_drm(char label[GPUMON_LABEL_LEN], const struct drm_device *drm)
{
	const struct device *dev;

	if (!gpumon_read_nofault(&dev, &drm->dev, sizeof(dev)))
		dev = NULL;
	return gpumon_device_label(label, dev);
}

#define READ_NOFAULT(_to, _from) gpumon_read_nofault(_to, (const void *)(_from), sizeof(*(_to)))

/*
 * Is this a fence of the scheduler? @ops: set to have the function that names the timeline; the
 * function of the scheduler's fences is known by its symbol.
 */
static bool is_schedulers(const struct dma_fence *fence, struct dma_fence_ops *ops)
{
	static const char expected[] = "drm_sched_fence_get_timeline_name";
	const struct dma_fence_ops *from;
	char symbol[KSYM_SYMBOL_LEN];

	if (!READ_NOFAULT(&from, &fence->ops) ||
	    !READ_NOFAULT(&ops->get_timeline_name, &from->get_timeline_name))
		return false;
	/* The compiler may have added a suffix to the symbol. */
	sprint_symbol_no_offset(symbol, (unsigned long)ops->get_timeline_name);
	return strstarts(symbol, expected);
}

/* The two fences of a job have consecutive contexts and the same sequence number. */
static bool are_pair(const struct dma_fence *scheduled, const struct dma_fence *finished)
{
	u64 context, next, seqno, same;

	return READ_NOFAULT(&context, &scheduled->context) &&
	       READ_NOFAULT(&next, &finished->context) && next == context + 1 &&
	       READ_NOFAULT(&seqno, &scheduled->seqno) && READ_NOFAULT(&same, &finished->seqno) &&
	       same == seqno;
}

/**
 * gpumon_scheduler_differs - is a member not where the headers have it
 * @sched: scheduler of a job, as the job has it by the headers; any value
 * @s_fence: fence of the job, in the same way
 *
 * Both fences have to be the scheduler's, by their functions. One of these is then called for the
 * name of the ring, which it finds by the layout that gpu_sched.ko was built with: the name by the
 * headers has to be the same. So gpu_sched.ko itself shows its layout where there is no BTF of it.
 *
 * Context: any, slow.
 * Return: the first member that is not there, for a reader; NULL if all are; "" if that is unknown,
 *         because the scheduler has no name.
 */
const char *gpumon_scheduler_differs(const struct drm_gpu_scheduler *sched,
				     const struct drm_sched_fence *s_fence)
{
	struct dma_fence *finished = (struct dma_fence *)&s_fence->finished;
	const struct drm_gpu_scheduler *of_fence;
	struct dma_fence_ops scheduled_ops, ops;
	const char *name;
	const void *owner;

	if (!is_schedulers(&s_fence->scheduled, &scheduled_ops) || !is_schedulers(finished, &ops) ||
	    ops.get_timeline_name != scheduled_ops.get_timeline_name)
		return "drm_sched_job.s_fence";
	if (!are_pair(&s_fence->scheduled, finished))
		return "drm_sched_fence.finished";
	if (!READ_NOFAULT(&of_fence, &s_fence->sched))
		return "drm_sched_fence.sched";
	if (!READ_NOFAULT(&name, &of_fence->name) ||
	    name != (__force const char *)ops.get_timeline_name(finished))
		return "drm_gpu_scheduler.name";
	if (sched != of_fence)
		return "drm_sched_job.sched";
	if (!READ_NOFAULT(&owner, &sched->gpumon_compat_sched_owner) ||
	    (GPUMON_COMPAT_SCHED_OWNER_IS_DEVICE && !gpumon_is_device(owner)))
		return "drm_gpu_scheduler.dev";
	return name ? NULL : "";
}
