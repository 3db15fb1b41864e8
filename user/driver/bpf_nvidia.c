// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Groups nvidia and nvidia_uvm of the BPF source. */
#ifdef GPUMON_BPF

#include <errno.h>
#include <unistd.h>

#include "bpf_group.h"

/* Needs the tables of the header above. */
#include "nvidia.skel.h"

static const struct source_hook hooks[] = {
	{ .name = "sys_enter",
	  .module = "vmlinux",
	  .kind = GPUMON_PROBE_KIND_TRACEPOINT,
	  .counter = SOURCE_NVIDIA_ENTER },
	{ .name = "sys_exit",
	  .module = "vmlinux",
	  .kind = GPUMON_PROBE_KIND_TRACEPOINT,
	  .counter = SOURCE_NVIDIA_EXIT },
	{ .name = "nvidia_dev_xid",
	  .module = "nvidia",
	  .kind = GPUMON_PROBE_KIND_TRACEPOINT,
	  .counter = SOURCE_NVIDIA_XID,
	  .optional = true,
	  .without = "Xid errors are not seen, the kernel's log has them" },
};

static bool nvidia_there(struct source_group *group)
{
	unsigned int major = gpumon_source_major("", SOURCE_NVIDIA);
	struct nvidia_bpf *bpf = group->skeleton;

	if (bpf) {
		/* A reloaded driver may have another number. */
		bpf->bss->majors[SOURCE_NVIDIA] = major;
		bpf->bss->majors[SOURCE_NVIDIA_UVM] = gpumon_source_major("", SOURCE_NVIDIA_UVM);
	}
	return major;
}

static int load_nvidia(struct source_group *group)
{
	struct nvidia_bpf *bpf = nvidia_bpf__open();
	int result;

	if (!bpf)
		return -errno;
	bpf->rodata->with_events = group->with_events;
	bpf->rodata->twins = gpumon_source_preempted();
	bpf->rodata->page_size = (__u64)sysconf(_SC_PAGESIZE);
	result = bpf_map__reuse_fd(bpf->maps.events, group->events_fd);
	if (!result)
		result = nvidia_bpf__load(bpf);
	if (result) {
		nvidia_bpf__destroy(bpf);
		return result;
	}
	group->hooks[0].program = bpf->progs.sys_enter;
	group->hooks[1].program = bpf->progs.sys_exit;
	group->hooks[2].program = bpf->progs.xid;
	if (bpf->rodata->twins) {
		group->hooks[0].twin = bpf->progs.sys_enter_twin;
		group->hooks[1].twin = bpf->progs.sys_exit_twin;
	}
	group->skeleton = bpf;
	group->probes = bpf->bss->probes;
	group->events = &bpf->bss->event_counts;
	group->bytes = sizeof(*bpf->bss) + SOURCE_CALLS * 64;
	nvidia_there(group);
	return 0;
}

static void unload_nvidia(struct source_group *group)
{
	nvidia_bpf__destroy(group->skeleton);
}

static int fill_statistics(const struct nvidia_bpf *bpf, struct gpumon_model *model)
{
	struct gpumon_source_gpus gpus;

	gpumon_source_gpus("", &gpus);
	for (unsigned int i = 0; i < SOURCE_DEVICES; i++) {
		const struct source_device *device = &bpf->bss->devices[i];
		bool gpu = device->family == SOURCE_NVIDIA && device->minor < GPUMON_SOURCE_GPUS;

		if (device->ready &&
		    gpumon_source_device(model, i, device, gpu ? gpus.name[device->minor] : NULL))
			return -1;
	}
	for (unsigned int i = 0; i < SOURCE_COMMANDS + SOURCE_NVIDIA_FAMILIES; i++) {
		if (bpf->bss->commands[i].ready &&
		    gpumon_source_command(model, i, &bpf->bss->commands[i]))
			return -1;
	}
	for (unsigned int i = 0; i < SOURCE_XIDS; i++) {
		if (bpf->bss->xids[i].ready && gpumon_source_xid(model, i, &bpf->bss->xids[i]))
			return -1;
	}
	return 0;
}

static int fill_nvidia(struct source_group *group, unsigned int parts, struct gpumon_model *model)
{
	const struct nvidia_bpf *bpf = group->skeleton;

	if (parts & GPUMON_PART_PROCESSES &&
	    gpumon_source_processes(model, bpf->bss->processes,
				    1U << SOURCE_PROCESS_IOCTLS |
					    1U << SOURCE_PROCESS_MAPPED_BYTES |
					    1U << SOURCE_PROCESS_OPENS))
		return -1;
	return parts & GPUMON_PART_STATISTICS ? fill_statistics(bpf, model) : 0;
}

const struct source_group_type gpumon_source_nvidia = {
	.name = "nvidia",
	.module = "nvidia",
	.hooks = hooks,
	.n_hooks = sizeof(hooks) / sizeof(*hooks),
	.there = nvidia_there,
	.load = load_nvidia,
	.unload = unload_nvidia,
	.fill = fill_nvidia,
};

static bool uvm_there(struct source_group *group)
{
	(void)group;
	return gpumon_source_major("", SOURCE_NVIDIA_UVM);
}

const struct source_group_type gpumon_source_nvidia_uvm = {
	.name = "nvidia_uvm",
	.module = "nvidia_uvm",
	.there = uvm_there,
};

#endif /* GPUMON_BPF */
