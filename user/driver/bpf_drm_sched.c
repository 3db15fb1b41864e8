// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#ifdef GPUMON_BPF

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf_group.h"

/* Needs the tables of the header above. */
#include "drm_sched.skel.h"

#define TRACEPOINT(_name, _counter, ...)                                                    \
	{                                                                                   \
		.name = _name, .module = "gpu_sched", .kind = GPUMON_PROBE_KIND_TRACEPOINT, \
		.counter = _counter, ##__VA_ARGS__                                          \
	}

/* Names of 6.1 and 6.12, and of 7. */
static const struct source_hook hooks[] = {
	TRACEPOINT("drm_sched_job", SOURCE_SCHED_QUEUE),
	TRACEPOINT("drm_sched_job_queue", SOURCE_SCHED_QUEUE),
	TRACEPOINT("drm_run_job", SOURCE_SCHED_RUN),
	TRACEPOINT("drm_sched_job_run", SOURCE_SCHED_RUN),
	TRACEPOINT("drm_sched_process_job", SOURCE_SCHED_DONE),
	TRACEPOINT("drm_sched_job_done", SOURCE_SCHED_DONE),
	TRACEPOINT("drm_sched_job_wait_dep", SOURCE_SCHED_WAIT, .optional = true,
		   .without = "dependency waits are not counted"),
	TRACEPOINT("drm_sched_job_unschedulable", SOURCE_SCHED_WAIT, .optional = true,
		   .without = "dependency waits are not counted"),
	{ .name = "dma_fence_signaled",
	  .module = "vmlinux",
	  .kind = GPUMON_PROBE_KIND_TRACEPOINT,
	  .counter = SOURCE_SCHED_RESULT,
	  .without = "errors and killed jobs are not seen" },
	{ .name = "drm_sched_fini",
	  .module = "gpu_sched",
	  .kind = GPUMON_PROBE_KIND_KPROBE,
	  .counter = SOURCE_SCHED_FINI,
	  .optional = true,
	  .without = "how many schedulers a ring has is not known" },
};

/* @with_context: jobs of interrupts are told from those of tasks. */
static int open_and_load(const struct source_group *group, bool with_context,
			 struct drm_sched_bpf **to)
{
	struct drm_sched_bpf *bpf = drm_sched_bpf__open();
	int result;

	if (!bpf)
		return -errno;
	bpf->rodata->with_events = group->with_events;
	bpf->rodata->twins = true;
	bpf->rodata->interrupt_bits = group->interrupt_bits;
	bpf_program__set_autoload(bpf->progs.queue, with_context);
	bpf_program__set_autoload(bpf->progs.queue_twin, with_context);
	bpf_program__set_autoload(bpf->progs.queue_anywhere, !with_context);
	bpf_program__set_autoload(bpf->progs.queue_anywhere_twin, !with_context);
	result = bpf_map__reuse_fd(bpf->maps.events, group->events_fd);
	if (!result)
		result = drm_sched_bpf__load(bpf);
	if (result)
		drm_sched_bpf__destroy(bpf);
	else
		*to = bpf;
	return result;
}

static int load_drm_sched(struct source_group *group)
{
	bool with_context = true;
	struct drm_sched_bpf *bpf;
	int result = open_and_load(group, with_context, &bpf);

	/* The kernel has the type of the variable, and not its address. */
	if (result == -ENOENT) {
		with_context = false;
		result = open_and_load(group, with_context, &bpf);
	}
	if (result)
		return result;
	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++) {
		struct bpf_program *programs[] = {
			[SOURCE_SCHED_QUEUE] = with_context ? bpf->progs.queue :
							      bpf->progs.queue_anywhere,
			[SOURCE_SCHED_RUN] = bpf->progs.run,
			[SOURCE_SCHED_DONE] = bpf->progs.done,
			[SOURCE_SCHED_WAIT] = bpf->progs.wait,
			[SOURCE_SCHED_RESULT] = bpf->progs.signaled,
			[SOURCE_SCHED_FINI] = bpf->progs.fini,
		};

		/* A fence is signalled with interrupts disabled, so nothing can come in between. */
		struct bpf_program *twins[SOURCE_SCHED_PROBES] = {
			[SOURCE_SCHED_QUEUE] = with_context ? bpf->progs.queue_twin :
							      bpf->progs.queue_anywhere_twin,
			[SOURCE_SCHED_RUN] = bpf->progs.run_twin,
			[SOURCE_SCHED_DONE] = bpf->progs.done_twin,
			[SOURCE_SCHED_WAIT] = bpf->progs.wait_twin,
		};

		group->hooks[i].program = programs[group->hooks[i].counter];
		group->hooks[i].twin = twins[group->hooks[i].counter];
		if (group->hooks[i].counter == SOURCE_SCHED_QUEUE && !with_context)
			group->hooks[i].lacks =
				"jobs have no process: the kernel has no address of preempt_count (CONFIG_KALLSYMS_ALL)";
		if (group->hooks[i].counter == SOURCE_SCHED_FINI)
			group->hooks[i].at_return = bpf->progs.fini_returned;
	}
	group->skeleton = bpf;
	group->probes = bpf->bss->probes;
	group->events = &bpf->bss->event_counts;
	group->bytes = sizeof(*bpf->bss) + (uint64_t)gpumon_source_processors() *
						   (SOURCE_RINGS + 1) *
						   sizeof(struct source_ring_words);
	return 0;
}

static void unload_drm_sched(struct source_group *group)
{
	drm_sched_bpf__destroy(group->skeleton);
}

/* A bit for each counter that one of its hooks counts. */
static unsigned int attached_counters(const struct source_group *group)
{
	unsigned int counters = 0;

	for (size_t i = 0; i < group->type->n_hooks; i++) {
		if (group->hooks[i].state == GPUMON_ATTACH_STATE_ATTACHED)
			counters |= 1U << group->hooks[i].counter;
	}
	return counters;
}

static int sum_words(const struct drm_sched_bpf *bpf, __u32 ring, struct source_ring_words *words,
		     struct source_ring_words *sum)
{
	int processors = gpumon_source_processors();

	memset(sum, 0, sizeof(*sum));
	if (bpf_map_lookup_elem(bpf_map__fd(bpf->maps.ring_words), &ring, words))
		return -1;
	for (int cpu = 0; cpu < processors; cpu++)
		gpumon_source_add_words(sum, &words[cpu]);
	return 0;
}

static int fill_rings(struct source_group *group, struct gpumon_model *model)
{
	struct drm_sched_bpf *bpf = group->skeleton;
	unsigned int attached = attached_counters(group);
	struct source_ring_words *words, *sum;
	int ret = 0;

	words = calloc((size_t)gpumon_source_processors(), sizeof(*words));
	sum = malloc(sizeof(*sum));
	if (!words || !sum)
		ret = -1;
	model->info.rings_retired = gpumon_value_of(group->retired);
	model->info.jobs_unattributed.v += group->retired_unattributed;
	for (__u32 i = 0; i <= SOURCE_RING_OTHER && !ret; i++) {
		uint64_t live = 0;

		if (!bpf->bss->rings[i].ready)
			continue;
		if (sum_words(bpf, i, words, sum))
			continue;
		for (size_t s = 0; s < SOURCE_SCHEDULERS; s++)
			live += bpf->bss->schedulers[s].ring == i + 1;
		model->info.jobs_unattributed.v += sum->word[SOURCE_RING_UNATTRIBUTED];
		ret = gpumon_source_ring(model, i, &bpf->bss->rings[i], sum, live, attached);
	}
	free(words);
	free(sum);
	return ret;
}

static int fill_usage(struct source_group *group, struct gpumon_model *model)
{
	const struct drm_sched_bpf *bpf = group->skeleton;
	const unsigned int attached = attached_counters(group);

	for (unsigned int i = 0; i <= SOURCE_USAGE_OTHER; i++) {
		if ((bpf->bss->usages[i].ready || i == SOURCE_USAGE_OTHER) &&
		    gpumon_source_usage(model, i, &bpf->bss->usages[i], bpf->bss->rings, attached))
			return -1;
	}
	return 0;
}

static int clear_ring(void *data, unsigned int slot)
{
	size_t processors = (size_t)gpumon_source_processors();
	struct source_ring_words *words = calloc(processors, sizeof(*words)), sum;
	struct source_group *group = data;
	struct drm_sched_bpf *bpf = group->skeleton;
	__u32 ring = slot;
	int ret = -1;

	if (words && !sum_words(bpf, ring, words, &sum)) {
		memset(words, 0, processors * sizeof(*words));
		ret = bpf_map_update_elem(bpf_map__fd(bpf->maps.ring_words), &ring, words, BPF_ANY);
	}
	if (!ret)
		group->retired_unattributed += sum.word[SOURCE_RING_UNATTRIBUTED];
	free(words);
	return ret ? -1 : 0;
}

static void age_drm_sched(struct source_group *group, uint64_t now_ns)
{
	struct drm_sched_bpf *bpf = group->skeleton;
	struct gpumon_source_rings tables = {
		.rings = bpf->bss->rings,
		.classes = bpf->bss->classes,
		.schedulers = bpf->bss->schedulers,
		.clear = clear_ring,
		.data = group,
	};

	/* Without the end of a scheduler no ring is ever without one. */
	group->retired += gpumon_source_rings_age(&tables, now_ns);
}

static int fill_drm_sched(struct source_group *group, unsigned int parts,
			  struct gpumon_model *model)
{
	struct drm_sched_bpf *bpf = group->skeleton;

	if (parts & GPUMON_PART_PROCESSES &&
	    gpumon_source_processes(model, bpf->bss->processes, 1U << SOURCE_PROCESS_JOBS))
		return -1;
	if (parts & GPUMON_PART_STATISTICS && fill_usage(group, model))
		return -1;
	if (parts & (GPUMON_PART_RINGS | GPUMON_PART_HISTOGRAMS))
		return fill_rings(group, model);
	return 0;
}

static int completed_jobs(void *data, unsigned int ring, uint64_t *run, uint64_t *done)
{
	const struct source_group *group = data;
	struct source_ring_words *words, sum;
	int ret = -1;

	words = calloc((size_t)gpumon_source_processors(), sizeof(*words));
	if (words && !sum_words(group->skeleton, ring, words, &sum)) {
		*run = sum.word[SOURCE_RING_RUN];
		*done = sum.word[SOURCE_RING_DONE];
		ret = 0;
	}
	free(words);
	return ret;
}

static void jobs_drm_sched(struct source_group *group, struct gpumon_job_tables *tables)
{
	struct drm_sched_bpf *bpf = group->skeleton;

	*tables = (struct gpumon_job_tables){
		.jobs = bpf->bss->jobs,
		.rings = bpf->bss->rings,
		.processes = bpf->bss->processes,
		.completed = completed_jobs,
		.data = group,
	};
}

const struct source_group_type gpumon_source_drm_sched = {
	.name = "drm_sched",
	.module = "gpu_sched",
	.hooks = hooks,
	.n_hooks = sizeof(hooks) / sizeof(*hooks),
	.load = load_drm_sched,
	.unload = unload_drm_sched,
	.fill = fill_drm_sched,
	.age = age_drm_sched,
	.jobs = jobs_drm_sched,
};

#endif /* GPUMON_BPF */
