// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/files.h"
#include "lib/profile.h"
#include "lib/version.h"
#include "lib/wait.h"
#include "bpf_source.h"

#ifdef GPUMON_BPF

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "bpf_group.h"
#include "lib/bpf.h"

#define EVENTS_BYTES (8 << 20)
/* The kernel requires a whole page, even if no event is ever written. */
#define EVENTS_TAKEN 1024
/* As often as the module. No BPF program runs for so long. */
#define AGE_NS 1000000000ULL

static const struct source_group_type *const types[] = {
	&gpumon_source_drm_sched,
	&gpumon_source_drm_vblank,
	&gpumon_source_nvidia,
	&gpumon_source_nvidia_uvm,
};

#define GROUPS (sizeof(types) / sizeof(*types))

struct gpumon_bpf_source {
	struct source_group group[GROUPS];
	int events_fd;
	size_t events_bytes;
	bool with_events;
	struct ring_buffer *ring;
	uint64_t since_ns;
	uint64_t taken;
	size_t n;
	struct gpumon_event event[EVENTS_TAKEN];
};

int gpumon_bpf_source_possible(struct gpumon_error *err)
{
	char text[4096];

	if (!gpumon_bpf_capable(""))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_PERMISSION,
			"BPF needs CAP_BPF and CAP_PERFMON: be root, or have root give them: setcap cap_bpf,cap_perfmon+ep gpumon-user");
	if (!gpumon_initial_user_namespace(""))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_PERMISSION,
			"BPF needs CAP_BPF and CAP_PERFMON outside of this user namespace: run gpumon-user on the host");
	if (gpumon_read_short("", "/sys/kernel/security/lockdown", text, sizeof(text)) &&
	    strstr(text, "[confidentiality]"))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_LOCKDOWN,
			"the kernel is locked down (confidentiality) and lets BPF programs read nothing of it: boot with lockdown=integrity");
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, GPUMON_ERROR_NO_BTF,
			"BPF needs the kernel's types, and /sys/kernel/btf/vmlinux is not there: use a kernel with CONFIG_DEBUG_INFO_BTF=y");
	return 0;
}

int gpumon_source_processors(void)
{
	int n = libbpf_num_possible_cpus();

	return n < 1 ? 1 : n;
}

bool gpumon_source_preempted(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	/*
	 * Before 7.0, tracepoints called their probes with preemption disabled; since then, under
	 * SRCU. If in doubt, attach the twin: a redundant one does no harm.
	 */
	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return true;
	return major > 6 || (major == 6 && minor > 12);
}

int gpumon_source_processes(struct gpumon_model *model, const struct source_process *processes,
			    unsigned int known)
{
	/* Only the table of the DRM scheduler counts jobs. Rows of drm_sched.usage have its slots. */
	bool numbered = known & 1U << SOURCE_PROCESS_JOBS;

	for (size_t i = 0; i < SOURCE_PROCESSES; i++) {
		if (processes[i].ready &&
		    gpumon_source_process(model, &processes[i], numbered ? i + 1 : 0, known))
			return -1;
	}
	gpumon_source_alive(model, "", processes, SOURCE_PROCESSES);
	return 0;
}

/* --- groups */

__attribute__((format(printf, 3, 4))) static void
say(struct source_group *group, enum gpumon_attach_state state, const char *format, ...)
{
	va_list args;

	group->state = state;
	va_start(args, format);
	vsnprintf(group->reason, sizeof(group->reason), format, args);
	va_end(args);
}

/*
 * Bits of preempt_count() for NMIs, interrupts and soft interrupts. Kernels that count in it how often
 * interrupts were disabled have the first two above that, and this variable.
 */
static uint32_t interrupt_bits(const struct btf *kernel)
{
	if (btf__find_by_name_kind(kernel, "local_interrupt_disable_state", BTF_KIND_VAR) > 0)
		return 0x7f000100;
	return 0x00ff0100;
}

/* What cannot change: how it counts interrupts, and is a group's driver part of the kernel? */
static void look_at_kernel(struct gpumon_bpf_source *source)
{
	libbpf_print_fn_t before = libbpf_set_print(gpumon_libbpf_print);
	struct btf *kernel = btf__load_vmlinux_btf();

	libbpf_set_print(before);
	for (size_t i = 0; i < GROUPS && kernel; i++) {
		const struct source_group_type *type = source->group[i].type;

		source->group[i].interrupt_bits = interrupt_bits(kernel);
		for (size_t k = 0; k < type->n_hooks; k++) {
			const struct source_hook *hook = &type->hooks[k];

			if (hook->kind == GPUMON_PROBE_KIND_TRACEPOINT &&
			    !strcmp(hook->module, type->module))
				source->group[i].built_in |=
					gpumon_source_has_tracepoint(kernel, hook->name);
		}
	}
	btf__free(kernel);
}

static void attach_hook(const struct source_group *group, struct source_hook *hook)
{
	bool built_in = group->built_in && !strcmp(hook->module, group->type->module);
	struct bpf_link *link;

	if (hook->kind == GPUMON_PROBE_KIND_TRACEPOINT)
		link = bpf_program__attach_raw_tracepoint(hook->program, hook->name);
	else
		link = bpf_program__attach_kprobe(hook->program, false, hook->name);
	if (link) {
		if (hook->twin)
			hook->twin_link =
				bpf_program__attach_raw_tracepoint(hook->twin, hook->name);
		if (hook->at_return)
			hook->return_link =
				bpf_program__attach_kprobe(hook->at_return, true, hook->name);
		hook->link = link;
		hook->state = GPUMON_ATTACH_STATE_ATTACHED;
		if (hook->lacks)
			snprintf(hook->reason, sizeof(hook->reason), "%s", hook->lacks);
		else
			snprintf(hook->reason, sizeof(hook->reason), "%s",
				 built_in ? "built into the kernel" : "");
		return;
	}
	hook->state = errno == ENOENT ? GPUMON_ATTACH_STATE_MISSING : GPUMON_ATTACH_STATE_FAILED;
	snprintf(hook->reason, sizeof(hook->reason), "%s%s%s",
		 errno == ENOENT ? "not in this kernel" : strerror(errno),
		 hook->without ? ": " : "", hook->without ? hook->without : "");
}

static const struct source_hook *attached_hook(const struct source_group *group,
					       unsigned int counter)
{
	for (size_t i = 0; i < group->type->n_hooks; i++) {
		if (group->hooks[i].counter == counter &&
		    group->hooks[i].state == GPUMON_ATTACH_STATE_ATTACHED)
			return &group->hooks[i];
	}
	return NULL;
}

static void attach_group(struct source_group *group)
{
	const struct source_hook *other;

	for (size_t i = 0; i < group->type->n_hooks; i++)
		attach_hook(group, &group->hooks[i]);
	say(group, GPUMON_ATTACH_STATE_ATTACHED, "%s", "");
	for (size_t i = 0; i < group->type->n_hooks; i++) {
		struct source_hook *hook = &group->hooks[i];

		if (hook->state == GPUMON_ATTACH_STATE_ATTACHED)
			continue;
		other = attached_hook(group, hook->counter);
		if (other)
			snprintf(hook->reason, sizeof(hook->reason), "not in this kernel, %s is",
				 other->name);
		else if (!hook->optional)
			say(group, hook->state, "%s: %.150s", hook->name, hook->reason);
	}
}

static void detach_group(struct source_group *group)
{
	for (size_t i = 0; i < group->type->n_hooks; i++) {
		bpf_link__destroy(group->hooks[i].return_link);
		bpf_link__destroy(group->hooks[i].twin_link);
		bpf_link__destroy(group->hooks[i].link);
		group->hooks[i].link = group->hooks[i].twin_link = NULL;
		group->hooks[i].return_link = NULL;
	}
	if (group->skeleton)
		group->type->unload(group);
	group->skeleton = NULL;
}

static void look_at(struct source_group *group)
{
	const struct source_group_type *type = group->type;
	bool there = group->built_in ||
		     (type->there ? type->there(group) : gpumon_source_loaded("", type->module));
	int ret;

	/* Its counts stay, and continue when the driver is loaded again. */
	if (group->left_out || group->skeleton ||
	    (group->state == GPUMON_ATTACH_STATE_FAILED && there))
		return;
	if (!there) {
		say(group, GPUMON_ATTACH_STATE_WAITING, "module %s is not loaded", type->module);
		return;
	}
	if (!type->load) {
		say(group, GPUMON_ATTACH_STATE_ATTACHED, "%s", "");
		return;
	}
	gpumon_libbpf_forget();
	ret = type->load(group);
	if (ret) {
		say(group, GPUMON_ATTACH_STATE_FAILED, "its BPF programs were refused: %s",
		    *gpumon_libbpf_said() ? gpumon_libbpf_said() : strerror(-ret));
		return;
	}
	attach_group(group);
}

static void age(struct source_group *group, uint64_t now_ns)
{
	if (!group->skeleton || !group->type->age || now_ns - group->aged_ns < AGE_NS)
		return;
	group->aged_ns = now_ns;
	group->type->age(group, now_ns);
}

void gpumon_bpf_source_look(struct gpumon_bpf_source *source)
{
	libbpf_print_fn_t before = libbpf_set_print(gpumon_libbpf_print);

	for (size_t i = 0; i < GROUPS; i++) {
		look_at(&source->group[i]);
		age(&source->group[i], gpumon_monotonic_ns());
	}
	libbpf_set_print(before);
}

/* --- open and close */

static int on_event(void *data, void *event, size_t size)
{
	struct gpumon_bpf_source *source = data;

	if (size >= sizeof(source->event[0]))
		memcpy(&source->event[source->n++], event, sizeof(source->event[0]));
	/* The event that stops the loop was taken, too. */
	return source->n == EVENTS_TAKEN ? -E2BIG : 0;
}

static int open_events(struct gpumon_bpf_source *source, struct gpumon_error *err)
{
	source->events_bytes = source->with_events ? EVENTS_BYTES : (size_t)sysconf(_SC_PAGESIZE);
	source->events_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "events", 0, 0,
					   (__u32)source->events_bytes, NULL);
	if (source->events_fd < 0 && errno == EPERM)
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -errno, GPUMON_ERROR_PERMISSION,
			"the kernel refuses BPF to this process, though it has CAP_BPF: a container's seccomp filter or an LSM");
	if (source->events_fd < 0)
		return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -errno, GPUMON_ERROR_KERNEL,
					"this kernel refuses BPF: %s", strerror(errno));
	if (!source->with_events)
		return 0;
	source->ring = ring_buffer__new(source->events_fd, on_event, source, NULL);
	if (!source->ring)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_MEMORY,
					"no memory for the ring of events");
	return 0;
}

/* @only: the one group that is wanted, NULL for all. */
static int open_source(struct gpumon_bpf_source **to, bool events,
		       const struct source_group_type *only, struct gpumon_error *err)
{
	struct gpumon_bpf_source *source;
	libbpf_print_fn_t before;
	int ret;

	*to = NULL;
	if (gpumon_bpf_source_possible(err))
		return -1;
	source = calloc(1, sizeof(*source));
	if (!source)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ENOMEM, GPUMON_ERROR_MEMORY,
					"out of memory");
	source->with_events = events;
	before = libbpf_set_print(gpumon_libbpf_print);
	ret = open_events(source, err);
	libbpf_set_print(before);
	for (size_t i = 0; i < GROUPS; i++) {
		struct source_group *group = &source->group[i];

		group->type = types[i];
		group->left_out = only && types[i] != only;
		group->with_events = events;
		group->events_fd = source->events_fd;
		for (size_t k = 0; k < types[i]->n_hooks; k++) {
			group->hooks[k] = types[i]->hooks[k];
			group->hooks[k].state = GPUMON_ATTACH_STATE_WAITING;
		}
	}
	if (ret) {
		gpumon_bpf_source_close(source);
		return -1;
	}
	look_at_kernel(source);
	gpumon_bpf_source_look(source);
	source->since_ns = gpumon_monotonic_ns();
	*to = source;
	return 0;
}

int gpumon_bpf_source_open(struct gpumon_bpf_source **source, bool events, struct gpumon_error *err)
{
	return open_source(source, events, NULL, err);
}

int gpumon_bpf_source_open_jobs(struct gpumon_bpf_source **source, struct gpumon_error *err)
{
	return open_source(source, false, &gpumon_source_drm_sched, err);
}

void gpumon_bpf_source_close(struct gpumon_bpf_source *source)
{
	if (!source)
		return;
	for (size_t i = 0; i < GROUPS; i++)
		detach_group(&source->group[i]);
	ring_buffer__free(source->ring);
	if (source->events_fd >= 0)
		close(source->events_fd);
	free(source);
}

/* --- reading */

/* Calls of a program that the kernel skipped because it was already running on that CPU. */
static uint64_t left_out(const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);

	if (!program || bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
		return 0;
	return info.recursion_misses;
}

static uint64_t recursion_of(const struct source_hook *hook, const struct source_probe *counts)
{
	uint64_t handled = counts->recorded + counts->table_full + counts->unreadable;
	uint64_t lost = left_out(hook->program), twin;

	if (!hook->twin_link)
		return lost;
	/*
	 * All events counted by the first program, without those that either program has counted.
	 */
	if (counts->ran)
		return counts->ran + lost > handled ? counts->ran + lost - handled : 0;
	/* There is no exact count, but at most the events that both missed. */
	twin = left_out(hook->twin);
	return twin < lost ? twin : lost;
}

static int fill_probe(const struct source_group *group, const struct source_hook *hook,
		      struct gpumon_group *to)
{
	static const struct source_probe none;
	struct gpumon_probe *probe = gpumon_group_add_probe(to);
	bool attached = hook->state == GPUMON_ATTACH_STATE_ATTACHED;
	struct source_probe now = attached && group->probes ? group->probes[hook->counter] : none;
	uint64_t recursion = attached ? recursion_of(hook, &now) : 0;

	if (!probe)
		return -1;
	probe->name = strdup(hook->name);
	probe->module = strdup(hook->module);
	probe->reason = strdup(hook->reason);
	probe->kind = gpumon_value_of(hook->kind);
	probe->state = gpumon_value_of(hook->state);
	probe->recorded = gpumon_value_of(now.recorded);
	probe->dropped.table_full = gpumon_value_of(now.table_full);
	probe->dropped.unreadable = gpumon_value_of(now.unreadable);
	probe->dropped.recursion = gpumon_value_of(recursion);
	probe->dropped.missed = gpumon_value_of(0);
	probe->dropped.no_memory = gpumon_value_of(0);
	probe->seen = gpumon_value_of(now.recorded + now.table_full + now.unreadable + recursion);
	return probe->name && probe->module && probe->reason ? 0 : -1;
}

static int fill_groups(const struct gpumon_bpf_source *source, struct gpumon_model *model)
{
	for (size_t i = 0; i < GROUPS; i++) {
		const struct source_group *group = &source->group[i];
		struct gpumon_group *to = gpumon_model_add_group(model);

		if (!to)
			return -1;
		to->name = strdup(group->type->name);
		to->reason = strdup(group->reason);
		to->enabled = gpumon_value_of(1);
		to->state = gpumon_value_of(group->state);
		if (!to->name || !to->reason)
			return -1;
		for (size_t k = 0; k < group->type->n_hooks; k++) {
			if (fill_probe(group, &group->hooks[k], to))
				return -1;
		}
	}
	return 0;
}

static int fill_info(const struct gpumon_bpf_source *source, struct gpumon_info *info)
{
	uint64_t bytes = source->events_bytes;

	for (size_t i = 0; i < GROUPS; i++)
		bytes += source->group[i].bytes;
	info->version = strdup(GPUMON_VERSION);
	info->source = "bpf";
	info->clock = strdup("monotonic");
	info->schema = gpumon_value_of(GPUMON_SCHEMA);
	info->now_ns = gpumon_value_of(gpumon_monotonic_ns());
	info->since_ns = gpumon_value_of(source->since_ns);
	info->period = gpumon_value_of(1);
	info->possible_cpus = gpumon_value_of((uint64_t)gpumon_source_processors());
	info->max_rings = gpumon_value_of(SOURCE_RINGS);
	info->rings_retired = gpumon_value_of(0);
	info->max_processes = gpumon_value_of(SOURCE_PROCESSES);
	info->processes_exited = gpumon_value_of(0);
	info->jobs_exited = gpumon_value_of(0);
	info->max_jobs = gpumon_value_of(SOURCE_JOBS);
	info->memory_bytes = gpumon_value_of(bytes);
	return info->version && info->clock ? 0 : -1;
}

int gpumon_bpf_source_read(struct gpumon_bpf_source *source, unsigned int parts,
			   struct gpumon_model *model, struct gpumon_error *err)
{
	bool failed;

	gpumon_bpf_source_look(source);
	/* Rings include their histograms, and their sums are part of the information. */
	if (parts & (GPUMON_PART_INFO | GPUMON_PART_RINGS | GPUMON_PART_HISTOGRAMS))
		parts |= GPUMON_PART_INFO | GPUMON_PART_RINGS | GPUMON_PART_HISTOGRAMS |
			 GPUMON_PART_PROCESSES;
	if (parts & (GPUMON_PART_STATISTICS | GPUMON_PART_ALERTS))
		parts |= GPUMON_PART_STATISTICS | GPUMON_PART_ALERTS;
	gpumon_model_clear(model, parts);
	model->parts |= parts;
	failed = (parts & GPUMON_PART_INFO && fill_info(source, &model->info)) ||
		 (parts & GPUMON_PART_GROUPS && fill_groups(source, model));
	for (size_t i = 0; i < GROUPS && !failed; i++) {
		struct source_group *group = &source->group[i];

		if (group->skeleton)
			failed = group->type->fill(group, parts, model) != 0;
	}
	if (parts & GPUMON_PART_INFO) {
		model->info.rings = gpumon_value_of(model->n_rings);
		if (gpumon_model_ring(model, SOURCE_RING_OTHER))
			model->info.rings.v--;
		model->info.processes = gpumon_value_of(model->n_processes);
		model->info.jobs_unattributed =
			gpumon_value_if(source->group[0].skeleton, model->info.jobs_unattributed.v);
	}
	if (parts & GPUMON_PART_EVENT_RING)
		gpumon_bpf_source_event_ring(source, &model->event_ring);
	if (failed)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ENOMEM, GPUMON_ERROR_MEMORY,
					"out of memory");
	return 0;
}

int gpumon_bpf_source_job_tables(struct gpumon_bpf_source *source, struct gpumon_job_tables *tables,
				 struct gpumon_error *err)
{
	for (size_t i = 0; i < GROUPS; i++) {
		struct source_group *group = &source->group[i];

		if (!group->type->jobs || group->left_out)
			continue;
		if (group->state == GPUMON_ATTACH_STATE_WAITING && !group->skeleton)
			return 0;
		if (group->state != GPUMON_ATTACH_STATE_ATTACHED)
			return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_KERNEL,
						"%s", group->reason);
		group->type->jobs(group, tables);
		return 1;
	}
	return 0;
}

/* --- events */

/* Events that no program could send, if the number is exact, which it is not for system calls. */
static uint64_t never_sent(const struct source_group *group)
{
	uint64_t count = 0;

	for (size_t i = 0; i < group->type->n_hooks; i++) {
		const struct source_hook *hook = &group->hooks[i];
		const struct source_probe *counts = &group->probes[hook->counter];

		if (hook->state == GPUMON_ATTACH_STATE_ATTACHED &&
		    hook->kind == GPUMON_PROBE_KIND_TRACEPOINT && (!hook->twin_link || counts->ran))
			count += recursion_of(hook, counts);
	}
	return count;
}

void gpumon_bpf_source_event_ring(struct gpumon_bpf_source *source, struct gpumon_event_ring *ring)
{
	uint64_t written = 0, dropped = 0;

	for (size_t i = 0; i < GROUPS; i++) {
		const struct source_events *events = source->group[i].events;

		if (!source->group[i].skeleton || !events)
			continue;
		written += events->written;
		dropped += events->dropped;
		if (source->with_events && source->group[i].probes)
			dropped += never_sent(&source->group[i]);
	}
	*ring = (struct gpumon_event_ring){
		.enabled = gpumon_value_of(source->with_events),
		.size_kib = gpumon_value_of(source->with_events ? source->events_bytes >> 10 : 0),
		.written = gpumon_value_of(written),
		.overwritten = gpumon_value_of(0),
		.delivered = gpumon_value_of(source->taken),
		.pending = gpumon_value_of(written > source->taken ? written - source->taken : 0),
		.dropped = gpumon_value_of(dropped),
	};
}

int gpumon_bpf_source_fd(const struct gpumon_bpf_source *source)
{
	return ring_buffer__epoll_fd(source->ring);
}

ssize_t gpumon_bpf_source_events(struct gpumon_bpf_source *source,
				 const struct gpumon_event **events)
{
	source->n = 0;
	(void)ring_buffer__consume(source->ring);
	source->taken += source->n;
	*events = source->event;
	return source->n ? (ssize_t)source->n : -EAGAIN;
}

#else /* GPUMON_BPF */

/* Without clang or bpftool: opening says so, and the other functions are never called. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

int gpumon_bpf_source_possible(struct gpumon_error *err)
{
	return gpumon_error_set(
		err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_NOT_BUILT,
		"BPF is not in this gpumon-user: " GPUMON_BECAUSE(
			"it was built without clang or bpftool; install both and build it again"));
}

#ifndef GPUMON_SMALL
int gpumon_bpf_source_open(struct gpumon_bpf_source **source, bool events, struct gpumon_error *err)
{
	*source = NULL;
	return gpumon_bpf_source_possible(err);
}
#endif

int gpumon_bpf_source_open_jobs(struct gpumon_bpf_source **source, struct gpumon_error *err)
{
	return gpumon_bpf_source_open(source, false, err);
}

int gpumon_bpf_source_job_tables(struct gpumon_bpf_source *source, struct gpumon_job_tables *tables,
				 struct gpumon_error *err)
{
	return -1;
}

void gpumon_bpf_source_close(struct gpumon_bpf_source *source)
{
}

void gpumon_bpf_source_look(struct gpumon_bpf_source *source)
{
}

int gpumon_bpf_source_read(struct gpumon_bpf_source *source, unsigned int parts,
			   struct gpumon_model *model, struct gpumon_error *err)
{
	return -1;
}

void gpumon_bpf_source_event_ring(struct gpumon_bpf_source *source, struct gpumon_event_ring *ring)
{
}

int gpumon_bpf_source_fd(const struct gpumon_bpf_source *source)
{
	return -1;
}

ssize_t gpumon_bpf_source_events(struct gpumon_bpf_source *source,
				 const struct gpumon_event **events)
{
	return -EAGAIN;
}

#endif /* GPUMON_BPF */
