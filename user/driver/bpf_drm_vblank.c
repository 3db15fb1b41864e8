// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#ifdef GPUMON_BPF

#include <errno.h>

#include "bpf_group.h"

/* Needs the tables of the header above. */
#include "drm_vblank.skel.h"

#define TRACEPOINT(_name, _counter)                                                   \
	{                                                                             \
		.name = _name, .module = "drm", .kind = GPUMON_PROBE_KIND_TRACEPOINT, \
		.counter = _counter                                                   \
	}

static const struct source_hook hooks[] = {
	TRACEPOINT("drm_vblank_event_queued", SOURCE_VBLANK_QUEUED),
	TRACEPOINT("drm_vblank_event_delivered", SOURCE_VBLANK_DELIVERED),
	TRACEPOINT("drm_vblank_event", SOURCE_VBLANK_VBLANK),
};

static int load_drm_vblank(struct source_group *group)
{
	struct drm_vblank_bpf *bpf = drm_vblank_bpf__open();
	int result;

	if (!bpf)
		return -errno;
	bpf->rodata->with_events = group->with_events;
	result = bpf_map__reuse_fd(bpf->maps.events, group->events_fd);
	if (!result)
		result = drm_vblank_bpf__load(bpf);
	if (result) {
		drm_vblank_bpf__destroy(bpf);
		return result;
	}
	group->hooks[0].program = bpf->progs.queued;
	group->hooks[1].program = bpf->progs.delivered;
	group->hooks[2].program = bpf->progs.vblank;
	group->skeleton = bpf;
	group->probes = bpf->bss->probes;
	group->events = &bpf->bss->event_counts;
	group->bytes = sizeof(*bpf->bss);
	return 0;
}

static void unload_drm_vblank(struct source_group *group)
{
	drm_vblank_bpf__destroy(group->skeleton);
}

static int fill_drm_vblank(struct source_group *group, unsigned int parts,
			   struct gpumon_model *model)
{
	struct drm_vblank_bpf *bpf = group->skeleton;

	for (unsigned int i = 0; i < SOURCE_CRTCS && parts & GPUMON_PART_STATISTICS; i++) {
		if (bpf->bss->crtcs[i].ready && gpumon_source_crtc(model, i, &bpf->bss->crtcs[i]))
			return -1;
	}
	return 0;
}

const struct source_group_type gpumon_source_drm_vblank = {
	.name = "drm_vblank",
	.module = "drm",
	.hooks = hooks,
	.n_hooks = sizeof(hooks) / sizeof(*hooks),
	.load = load_drm_vblank,
	.unload = unload_drm_vblank,
	.fill = fill_drm_vblank,
};

#endif /* GPUMON_BPF */
