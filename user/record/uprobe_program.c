// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "abi/return_address.h"
#include "lib/memory.h"
#include "lib/bpf.h"
#include "lib/files.h"
#include "uprobe_program.h"

#ifdef GPUMON_BPF

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "uprobe.skel.h"

/* A link for one probe by perf events, or for many. */
struct probe_link {
	struct bpf_link *link;
	int fd;
};

struct gpumon_uprobe_program {
	struct uprobe_bpf *bpf;
	struct ring_buffer *ring;
	bool multi; /* the kernel supports multi links */
	struct probe_link *links;
	size_t link_count;
	size_t link_room;
	void (*event)(void *data, void *event, size_t size);
	void *data;
	uint64_t *values; /* a counter's values on all CPUs */
	int processors;
};

static int on_event(void *data, void *event, size_t size)
{
	struct gpumon_uprobe_program *program = data;

	program->event(program->data, event, size);
	return 0;
}

static void program_refused(int sys, struct gpumon_error *err)
{
	char text[128] = "";

	gpumon_read_short("", "/sys/kernel/security/lockdown", text, sizeof(text));
	if (sys == -ENOMEM)
		gpumon_error_set(err, GPUMON_EXIT_FAILED, sys, GPUMON_ERROR_MEMORY,
				 "the kernel has not enough memory for the tables of the uprobes");
	else if (strstr(text, "[confidentiality]"))
		gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, sys, GPUMON_ERROR_LOCKDOWN,
			"the kernel is locked down (confidentiality) and refuses the BPF programs of the uprobes: %s",
			strerror(-sys));
	else if (sys == -EPERM || sys == -EACCES)
		gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, sys, GPUMON_ERROR_PERMISSION,
			"the kernel refuses BPF to this process: a container's seccomp filter or an LSM, if it has CAP_BPF and CAP_PERFMON (%s)",
			gpumon_libbpf_said());
	else if (sys == -ENOSYS)
		gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, sys, GPUMON_ERROR_NO_BPF,
				 "this kernel has no BPF (CONFIG_BPF_SYSCALL)");
	else
		gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, sys, GPUMON_ERROR_KERNEL,
			"this kernel refuses the BPF programs of the uprobes, which need Linux 5.17: %s (%s)",
			strerror(-sys), gpumon_libbpf_said());
}

/* Each probe needs two descriptors, and a process can have hundreds of probes. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int open_bpf(struct gpumon_uprobe_program *program, const struct gpumon_uprobe_setup *setup)
{
	struct uprobe_bpf *bpf;
	int result;

	gpumon_libbpf_forget();
	bpf = uprobe_bpf__open();
	if (!bpf)
		return -errno;
	program->bpf = bpf;
	bpf->rodata->target_pid = (__u32)setup->pid;
	/* The kernel's device number has 20 bits for the minor number. */
	bpf->rodata->namespace_device = (__u64)major(setup->namespace_device) << 20 |
					minor(setup->namespace_device);
	bpf->rodata->namespace_inode = setup->namespace_inode;
	bpf->rodata->depth_max = setup->depth;
	bpf->rodata->with_stacks = setup->with_stacks;
	/* A signature is replaced by bit 55, which is 0 in addresses of programs. */
	bpf->rodata->address_bits = gpumon_return_address(~(1ull << 55));
	bpf->rodata->wake_bytes = setup->ring_bytes / 16;
	bpf_map__set_max_entries(bpf->maps.events, (__u32)setup->ring_bytes);
	bpf_map__set_max_entries(bpf->maps.stacks, setup->stacks);
	bpf_map__set_max_entries(bpf->maps.threads, setup->threads);
	if (program->multi) {
		bpf_program__set_expected_attach_type(bpf->progs.enter, GPUMON_UPROBE_MULTI);
		bpf_program__set_expected_attach_type(bpf->progs.leave, GPUMON_UPROBE_MULTI);
		bpf_program__set_expected_attach_type(bpf->progs.linker, GPUMON_UPROBE_MULTI);
	}
	result = uprobe_bpf__load(bpf);
	if (!result && program->multi &&
	    !gpumon_uprobe_multi_works(bpf_program__fd(bpf->progs.linker)))
		result = -EINVAL;
	if (result) {
		uprobe_bpf__destroy(bpf);
		program->bpf = NULL;
	}
	return result;
}

struct gpumon_uprobe_program *gpumon_uprobe_program_load(const struct gpumon_uprobe_setup *setup,
							 void (*event)(void *data, void *event,
								       size_t size),
							 void *data, struct gpumon_error *err)
{
	struct gpumon_uprobe_program *program = gpumon_calloc(1, sizeof(*program));
	libbpf_print_fn_t before;
	int result;

	raise_descriptors();
	before = libbpf_set_print(gpumon_libbpf_print);
	program->event = event;
	program->data = data;
	program->processors = libbpf_num_possible_cpus();
	if (program->processors < 1)
		program->processors = 1;
	program->values = gpumon_calloc((size_t)program->processors, sizeof(*program->values));
	program->multi = !setup->one_by_one;
	result = open_bpf(program, setup);
	if (result == -EINVAL && program->multi) {
		program->multi = false;
		result = open_bpf(program, setup);
	}
	if (result)
		goto out;
	program->ring =
		ring_buffer__new(bpf_map__fd(program->bpf->maps.events), on_event, program, NULL);
	result = program->ring ? 0 : -errno;
	if (result)
		goto out;
	program->bpf->links.thread_exit = bpf_program__attach(program->bpf->progs.thread_exit);
	program->bpf->links.exec = bpf_program__attach(program->bpf->progs.exec);
	if (!program->bpf->links.thread_exit || !program->bpf->links.exec)
		result = -errno;
out:
	libbpf_set_print(before);
	if (!result)
		return program;
	program_refused(result, err);
	gpumon_uprobe_program_free(program);
	return NULL;
}

static struct bpf_program *program_of(const struct gpumon_uprobe_program *program,
				      enum gpumon_uprobe_hook hook)
{
	struct bpf_program *programs[] = {
		[GPUMON_HOOK_ENTER] = program->bpf->progs.enter,
		[GPUMON_HOOK_LEAVE] = program->bpf->progs.leave,
		[GPUMON_HOOK_LINKER] = program->bpf->progs.linker,
		[GPUMON_HOOK_DEVICE] = program->bpf->progs.linker,
	};

	return programs[hook];
}

static bool at_return(enum gpumon_uprobe_hook hook)
{
	return hook == GPUMON_HOOK_LEAVE || hook == GPUMON_HOOK_DEVICE;
}

static void make_room(struct gpumon_uprobe_program *program)
{
	size_t room = program->link_room ? 2 * program->link_room : 64;

	if (program->link_count < program->link_room)
		return;
	program->links = gpumon_reallocarray(program->links, room, sizeof(*program->links));
	program->link_room = room;
}

static int probe_one(struct gpumon_uprobe_program *program, enum gpumon_uprobe_hook hook, pid_t tid,
		     const char *path, const struct gpumon_uprobe_point *point)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = point->cookie,
		    .retprobe = at_return(hook));
	libbpf_print_fn_t before = libbpf_set_print(gpumon_libbpf_print);
	struct bpf_link *link = bpf_program__attach_uprobe_opts(program_of(program, hook), tid,
								path, point->offset, &options);
	int sys = link ? 0 : -errno;

	libbpf_set_print(before);
	if (link)
		program->links[program->link_count++] = (struct probe_link){ link, -1 };
	return sys;
}

/* Probe all points with one link. If one of them cannot be probed, try each half. */
static void probe_many(struct gpumon_uprobe_program *program, enum gpumon_uprobe_hook hook,
		       pid_t tid, const char *path, struct gpumon_uprobe_point *points,
		       unsigned int count)
{
	int program_fd = bpf_program__fd(program_of(program, hook));
	int fd, result;

	make_room(program);
	fd = gpumon_uprobe_multi_link(program_fd, at_return(hook), tid, path, points, count);
	if (fd < 0 && fd != -ENOMEM && count > 1) {
		probe_many(program, hook, tid, path, points, count / 2);
		probe_many(program, hook, tid, path, points + count / 2, count - count / 2);
		return;
	}
	result = fd < 0 ? fd : 0;
	for (unsigned int i = 0; i < count; i++)
		points[i].result = result;
	if (fd >= 0)
		program->links[program->link_count++] = (struct probe_link){ NULL, fd };
}

void gpumon_uprobe_program_probe(struct gpumon_uprobe_program *program,
				 enum gpumon_uprobe_hook hook, pid_t tid, int fd,
				 struct gpumon_uprobe_point *points, unsigned int count)
{
	char path[64];

	if (!count)
		return;
	/* Use the file itself, since it may be deleted or in another mount namespace. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (program->multi) {
		probe_many(program, hook, tid, path, points, count);
		return;
	}
	for (unsigned int i = 0; i < count; i++) {
		make_room(program);
		points[i].result = probe_one(program, hook, tid, path, &points[i]);
	}
}

bool gpumon_uprobe_program_one_by_one(const struct gpumon_uprobe_program *program)
{
	return !program->multi;
}

void gpumon_uprobe_program_run(struct gpumon_uprobe_program *program, bool run)
{
	__atomic_store_n(&program->bpf->data->stopped, !run, __ATOMIC_SEQ_CST);
}

void gpumon_uprobe_program_unprobe(struct gpumon_uprobe_program *program)
{
	for (size_t i = 0; i < program->link_count; i++) {
		if (program->links[i].link)
			bpf_link__destroy(program->links[i].link);
		else
			close(program->links[i].fd);
	}
	program->link_count = 0;
}

int gpumon_uprobe_program_fd(const struct gpumon_uprobe_program *program)
{
	return ring_buffer__epoll_fd(program->ring);
}

int gpumon_uprobe_program_consume(struct gpumon_uprobe_program *program)
{
	int n = ring_buffer__consume(program->ring);

	return n < 0 ? 0 : n;
}

bool gpumon_uprobe_program_ranges(struct gpumon_uprobe_program *program,
				  const struct uprobe_range *ranges, unsigned int count)
{
	return gpumon_uprobe_ranges_replace(program->bpf->bss->ranges,
					    &program->bpf->bss->ranges_now, ranges, count);
}

const struct uprobe_ranges *
gpumon_uprobe_program_get_ranges(const struct gpumon_uprobe_program *program)
{
	return &program->bpf->bss->ranges[program->bpf->bss->ranges_now];
}

void gpumon_uprobe_program_rule(struct gpumon_uprobe_program *program, uint64_t pc,
				const struct uprobe_rule *rule)
{
	struct uprobe_rule *quick = &program->bpf->bss->quick[uprobe_quick(pc)];
	int map = bpf_map__fd(program->bpf->maps.rules);

	if (rule && !quick->pc) {
		quick->kind = rule->kind;
		quick->cfa = rule->cfa;
		quick->ra = rule->ra;
		quick->fp = rule->fp;
		__atomic_store_n(&quick->pc, pc, __ATOMIC_RELEASE);
		__atomic_store_n(&quick->pc_again, pc, __ATOMIC_RELEASE);
	} else if (!rule && quick->pc == pc) {
		__atomic_store_n(&quick->pc, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&quick->pc_again, 0, __ATOMIC_SEQ_CST);
	}
	/* A rule without room is requested again later. */
	if (rule)
		bpf_map_update_elem(map, &pc, rule, BPF_ANY);
	else
		bpf_map_delete_elem(map, &pc);
}

void gpumon_uprobe_program_copy_seen(struct gpumon_uprobe_program *program)
{
	__atomic_add_fetch(&program->bpf->bss->copies_seen, 1, __ATOMIC_SEQ_CST);
}

void gpumon_uprobe_program_new_generation(struct gpumon_uprobe_program *program)
{
	__atomic_add_fetch(&program->bpf->bss->generation, 1, __ATOMIC_SEQ_CST);
}

uint64_t gpumon_uprobe_program_changes(const struct gpumon_uprobe_program *program)
{
	return __atomic_load_n(&program->bpf->bss->linker_changes, __ATOMIC_SEQ_CST);
}

uint64_t gpumon_uprobe_program_devices(const struct gpumon_uprobe_program *program)
{
	return __atomic_load_n(&program->bpf->bss->device_changes, __ATOMIC_SEQ_CST);
}

bool gpumon_uprobe_program_unsettled(const struct gpumon_uprobe_program *program)
{
	return gpumon_uprobe_program_changes(program) != program->bpf->bss->linker_settled;
}

void gpumon_uprobe_program_settle(struct gpumon_uprobe_program *program, uint64_t changes)
{
	__atomic_store_n(&program->bpf->bss->linker_settled, changes, __ATOMIC_SEQ_CST);
}

void gpumon_uprobe_program_counters(const struct gpumon_uprobe_program *program,
				    uint64_t counters[UPROBE_COUNTERS])
{
	int map = bpf_map__fd(program->bpf->maps.counters);

	for (__u32 i = 0; i < UPROBE_COUNTERS; i++) {
		counters[i] = 0;
		if (bpf_map_lookup_elem(map, &i, program->values))
			continue;
		for (int j = 0; j < program->processors; j++)
			counters[i] += program->values[j];
	}
}

bool gpumon_uprobe_program_runs(const struct gpumon_uprobe_program *program)
{
	return !__atomic_load_n(&program->bpf->data->stopped, __ATOMIC_SEQ_CST);
}

bool gpumon_uprobe_program_in_call(const struct gpumon_uprobe_program *program, uint32_t host_tid)
{
	struct uprobe_thread thread;

	if (bpf_map_lookup_elem(bpf_map__fd(program->bpf->maps.threads), &host_tid, &thread))
		return false;
	for (unsigned int i = 0; i < UPROBE_CALLS; i++)
		if (thread.calls[i].pending.time_ns)
			return true;
	return false;
}

void gpumon_uprobe_program_each_pending(struct gpumon_uprobe_program *program,
					void (*each)(void *data, const struct uprobe_hit *hit),
					void *data)
{
	int map = bpf_map__fd(program->bpf->maps.threads);
	struct uprobe_thread *thread = gpumon_malloc(sizeof(*thread));
	__u32 key, *before = NULL;

	while (!bpf_map_get_next_key(map, before, &key)) {
		bool found = !bpf_map_lookup_elem(map, &key, thread);

		for (unsigned int i = 0; found && i < UPROBE_CALLS; i++)
			if (thread->calls[i].pending.time_ns)
				each(data, &thread->calls[i].pending);
		before = &key;
	}
	free(thread);
}

void gpumon_uprobe_program_free(struct gpumon_uprobe_program *program)
{
	if (!program)
		return;
	gpumon_uprobe_program_unprobe(program);
	ring_buffer__free(program->ring);
	if (program->bpf)
		uprobe_bpf__destroy(program->bpf);
	free(program->links);
	free(program->values);
	free(program);
}

#endif /* GPUMON_BPF */

/* The command of bpf(2) and its argument, as in linux/bpf.h of 6.6. */
#define LINK_CREATE  28
#define MULTI_RETURN 1u

struct link_create {
	uint32_t program_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t reference_offsets;
	uint64_t cookies;
	uint32_t count;
	uint32_t multi_flags;
	uint32_t pid;
	uint32_t reserved;
};

static int create_multi_link(struct link_create *attributes)
{
	int fd = (int)syscall(SYS_bpf, LINK_CREATE, attributes, sizeof(*attributes));

	return fd < 0 ? -errno : fd;
}

int gpumon_uprobe_multi_link(int program_fd, bool at_return, pid_t pid, const char *path,
			     const struct gpumon_uprobe_point *points, unsigned int count)
{
	uint64_t *offsets = gpumon_calloc(count, sizeof(*offsets));
	uint64_t *cookies = gpumon_calloc(count, sizeof(*cookies));
	struct link_create attributes = {
		.program_fd = (uint32_t)program_fd,
		.attach_type = GPUMON_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.count = count,
		.multi_flags = at_return ? MULTI_RETURN : 0,
		.pid = (uint32_t)pid,
	};
	int fd;

	for (unsigned int i = 0; i < count; i++) {
		offsets[i] = points[i].offset;
		cookies[i] = points[i].cookie;
	}
	fd = create_multi_link(&attributes);
	free(offsets);
	free(cookies);
	return fd;
}

bool gpumon_uprobe_multi_works(int program_fd)
{
	uint64_t offset = 0;
	struct link_create attributes = {
		.program_fd = (uint32_t)program_fd,
		.attach_type = GPUMON_UPROBE_MULTI,
		.path = (uintptr_t) "/",
		.offsets = (uintptr_t)&offset,
		.count = 1,
	};

	/* A kernel with this feature rejects a folder with EBADF. */
	if (create_multi_link(&attributes) != -EBADF)
		return false;
	/*
	 * The first version silently probed only the thread with the given number. The fix also
	 * made a negative number an error.
	 */
	attributes.pid = (uint32_t)-1;
	return create_multi_link(&attributes) == -EINVAL;
}

int gpumon_uprobe_program_possible(const char *root, struct gpumon_error *err)
{
	char text[64];

#ifndef GPUMON_BPF
	return gpumon_error_set(
		err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_NOT_BUILT,
		"uprobes are not in this gpumon-user: it was built without clang or bpftool; install both and build it again");
#endif
	if (!gpumon_read_short(root, "/sys/bus/event_source/devices/uprobe/type", text,
			       sizeof(text)))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, GPUMON_ERROR_NO_UPROBES,
			"this kernel has no uprobes for perf events (CONFIG_UPROBE_EVENTS), or /sys is not mounted");
	if (!gpumon_bpf_capable(root))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_PERMISSION,
			"uprobes need CAP_BPF and CAP_PERFMON (CAP_SYS_PTRACE too, for processes of others): be root, or have root give them: setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep gpumon-user");
	if (!gpumon_initial_user_namespace(root))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_PERMISSION,
			"uprobes need CAP_BPF and CAP_PERFMON outside of this user namespace: run gpumon-user on the host, on the process's number there");
	return 0;
}

bool gpumon_uprobe_ranges_replace(struct uprobe_ranges tables[2], uint32_t *now,
				  const struct uprobe_range *ranges, unsigned int count)
{
	const struct uprobe_ranges *old = &tables[*now];
	struct uprobe_ranges *next = &tables[!*now];
	bool all = count <= UPROBE_RANGES;

	if (!all)
		count = UPROBE_RANGES;
	/* A preempted reader's table is only rewritten after two changes: avoid needless ones. */
	if (old->count == count && !memcmp(old->all, ranges, count * sizeof(*ranges)))
		return all;
	memcpy(next->all, ranges, count * sizeof(*ranges));
	next->count = count;
	__atomic_store_n(now, !*now, __ATOMIC_RELEASE);
	return all;
}

uint64_t gpumon_uprobe_ranges_file(const struct uprobe_ranges *ranges, uint64_t address)
{
	for (uint64_t i = 0; i < ranges->count; i++)
		if (address >= ranges->all[i].start && address < ranges->all[i].end)
			return ranges->all[i].file;
	return 0;
}
