// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach.h"
#include "attach_group.h"
#include "dormant.h"
#include "lib/array.h"
#include "lib/memory.h"
#include "lib/process_info.h"
#include "lib/wait.h"

/* Where control groups are. With version 1, each controller has them. */
#define CGROUPS "/sys/fs/cgroup"

/* How often a group is read, and a process that uses no CUDA yet: those that are older less often. */
#define LOOK_NS	   300000000ull
#define YOUNG_NS   60000000000ull
#define SELDOM_NS  5000000000ull
#define SOON_NS	   20000000ull
#define CONNECT_NS 3000000000ull

/* Bounds of a group: its folders below each other, its processes, and those that are attached to at a time. */
#define DEPTH_MAX   12
#define FOLDERS_MAX 20000
#define MEMBERS_MAX 4096
#define AT_ONCE	    4

/* Shortest begin of a container's id. */
#define ID_MIN 6

/* --- folders */

static bool is_group(const char *path)
{
	char name[PATH_MAX + 16];

	snprintf(name, sizeof(name), "%s/cgroup.procs", path);
	return !access(name, R_OK);
}

int gpumon_group_find(const char *root, const char *name, char path[PATH_MAX],
		      struct gpumon_error *err)
{
	/* The last one is systemd's of version 1. */
	static const char *const places[] = { "", CGROUPS, CGROUPS "/unified", CGROUPS "/systemd",
					      CGROUPS "/pids" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int length = snprintf(path, PATH_MAX, "%s%s%s%s", root, places[i],
				      name[0] == '/' ? "" : "/", name);

		if (length > 0 && length < PATH_MAX && is_group(path))
			return 0;
	}
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ENOENT, GPUMON_ERROR_IO,
				"no control group %.200s: say its path below " CGROUPS
				", or what /proc/PID/cgroup has behind the last colon",
				name);
}

/**
 * struct search - for the folder of a container
 * @id: begin of it
 * @path: out: found
 * @found: the whole id
 * @other: another one that begins alike, ""
 * @folders: that were looked into
 */
struct search {
	const char *id;
	char *path;
	char found[128];
	char other[128];
	unsigned int folders;
};

/* The id in "docker-ID.scope", "libpod-ID", "crio-ID.scope", "cri-containerd-ID.scope", or ID alone; "" for none. */
static void id_of(const char *name, char id[128])
{
	const char *dash = strrchr(name, '-');
	size_t length;

	id[0] = '\0';
	/* The container's monitor, which is outside of it. */
	if (strstr(name, "conmon"))
		return;
	if (dash)
		name = dash + 1;
	length = strspn(name, "0123456789abcdef");
	if (length < 12 || length > 64 || (name[length] && strcmp(name + length, ".scope") != 0))
		return;
	memcpy(id, name, length);
	id[length] = '\0';
}

static void search_folder(struct search *search, const char *path, unsigned int depth)
{
	DIR *folder = depth < DEPTH_MAX ? opendir(path) : NULL;
	const struct dirent *entry;
	char below[PATH_MAX], id[128];

	while (folder && search->folders < FOLDERS_MAX && (entry = readdir(folder))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) >=
			    (int)sizeof(below))
			continue;
		search->folders++;
		id_of(entry->d_name, id);
		if (id[0] && !strncmp(id, search->id, strlen(search->id)) && is_group(below)) {
			if (!search->found[0]) {
				memcpy(search->found, id, sizeof(search->found));
				snprintf(search->path, PATH_MAX, "%s", below);
			} else if (strcmp(search->found, id) != 0) {
				memcpy(search->other, id, sizeof(search->other));
			}
			/* What is below belongs to it. */
			continue;
		}
		search_folder(search, below, depth + 1);
	}
	if (folder)
		closedir(folder);
}

int gpumon_group_of_container(const char *root, const char *id, char path[PATH_MAX],
			      struct gpumon_error *err)
{
	struct search search = { .id = id, .path = path };
	char top[PATH_MAX];

	if (strlen(id) < ID_MIN || id[strspn(id, "0123456789abcdef")])
		return gpumon_error_set(
			err, GPUMON_EXIT_USAGE, -EINVAL, GPUMON_ERROR_USAGE,
			"\"%.80s\" is no id of a container: at least %d hexadecimal digits, as docker ps or crictl ps show it",
			id, ID_MIN);
	snprintf(top, sizeof(top), "%s" CGROUPS, root);
	search_folder(&search, top, 0);
	if (!search.found[0])
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ENOENT, GPUMON_ERROR_IO,
					"no container %.80s: no control group below " CGROUPS
					" has that id in its name. --cgroup takes the path of one",
					id);
	if (search.other[0])
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -EEXIST, GPUMON_ERROR_IO,
			"several containers begin with %.80s: %.64s and %.64s: say more of it", id,
			search.found, search.other);
	return 0;
}

/* --- processes */

enum member_state {
	MEMBER_WAITS,	  /* it uses no CUDA yet */
	MEMBER_IS_WANTED, /* it does */
	MEMBER_ATTACHES,  /* the library is being brought in */
	MEMBER_CONNECTS,  /* it is in, and listens soon */
	MEMBER_IS_DONE,
};

/**
 * struct member - a process of the group
 * @ticks: its start: another process may get its number
 * @is_there: it was in the last list
 * @since_ns: first seen
 * @next_ns: of the next look
 * @until_ns: so long it is tried to connect
 */
struct member {
	pid_t pid;
	uint64_t ticks;
	enum member_state state;
	bool is_there;
	uint64_t since_ns;
	uint64_t next_ns;
	uint64_t until_ns;
	struct gpumon_attach attach;
};

struct gpumon_group {
	struct gpumon_group_options options;
	char *path;
	struct member *members;
	size_t count;
	uint64_t next_ns;
	bool had_members;
	bool is_full;
};

struct gpumon_group *gpumon_group_new(const struct gpumon_group_options *options, const char *path)
{
	struct gpumon_group *group = gpumon_calloc(1, sizeof(*group));

	group->options = *options;
	group->path = gpumon_strdup(path);
	return group;
}

static void see_process(struct gpumon_group *group, pid_t pid, uint64_t now)
{
	struct member *member;
	uint64_t ticks;

	if (!gpumon_process_start_ticks(group->options.root, pid, &ticks))
		return;
	for (size_t i = 0; i < group->count; i++) {
		member = &group->members[i];
		if (member->pid != pid || member->ticks != ticks)
			continue;
		member->is_there = true;
		return;
	}
	if (group->count >= MEMBERS_MAX) {
		if (!group->is_full)
			group->options.say(
				group->options.data, GPUMON_NOTE_MISSING,
				"the control group has more than 4096 processes: the others are not recorded");
		group->is_full = true;
		return;
	}
	member = GPUMON_GROW(group->members, group->count);
	*member = (struct member){ .pid = pid,
				   .ticks = ticks,
				   .is_there = true,
				   .since_ns = now,
				   .attach = { .child = -1, .result = -1 } };
	group->had_members = true;
}

static void read_folder(struct gpumon_group *group, const char *path, unsigned int depth,
			uint64_t now)
{
	char name[PATH_MAX + 16];
	const struct dirent *entry;
	FILE *procs;
	DIR *folder;
	int pid;

	snprintf(name, sizeof(name), "%s/cgroup.procs", path);
	procs = fopen(name, "re");
	while (procs && fscanf(procs, "%d", &pid) == 1)
		if (pid > 0 && pid != (int)getpid())
			see_process(group, (pid_t)pid, now);
	if (procs)
		fclose(procs);
	folder = depth < DEPTH_MAX ? opendir(path) : NULL;
	while (folder && (entry = readdir(folder)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
		    snprintf(name, PATH_MAX, "%s/%s", path, entry->d_name) < PATH_MAX)
			read_folder(group, name, depth + 1, now);
	if (folder)
		closedir(folder);
}

/* One that ends while it is attached to stays until there is a result. */
static void forget_gone(struct gpumon_group *group)
{
	size_t kept = 0;

	for (size_t i = 0; i < group->count; i++)
		if (group->members[i].is_there || group->members[i].state == MEMBER_ATTACHES)
			group->members[kept++] = group->members[i];
	group->count = kept;
}

static void list_members(struct gpumon_group *group, uint64_t now)
{
	for (size_t i = 0; i < group->count; i++)
		group->members[i].is_there = false;
	read_folder(group, group->path, 0, now);
	forget_gone(group);
	group->next_ns = now + LOOK_NS;
}

static bool uses_cuda(const struct gpumon_group *group, pid_t pid)
{
	char path[PATH_MAX], *line = NULL;
	bool uses = false;
	size_t room = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "%s/proc/%d/maps", group->options.root, (int)pid);
	maps = fopen(path, "re");
	while (maps && !uses && getline(&line, &room, maps) > 0)
		uses = strstr(line, "/libcuda.so") != NULL;
	free(line);
	if (maps)
		fclose(maps);
	return uses;
}

static void say_refused(const struct gpumon_group *group, const struct member *member,
			const struct gpumon_error *err)
{
	struct gpumon_error probed;
	char text[2 * sizeof(err->message)];

	if (err->code == GPUMON_ERROR_GONE)
		return;
	if (!gpumon_recorder_probe(group->options.recorder, member->pid, &probed)) {
		snprintf(text, sizeof(text),
			 "%s: its launches are recorded by uprobes, what the GPU did is not known",
			 err->message);
		group->options.say(group->options.data, GPUMON_NOTE_NO_GPU, text);
		return;
	}
	snprintf(text, sizeof(text), "process %d was not recorded: %s", (int)member->pid,
		 err->message);
	group->options.say(group->options.data, GPUMON_NOTE_MISSING, text);
}

/* Returns whether the library was there. */
static bool connect_to(const struct gpumon_group *group, struct member *member,
		       struct gpumon_error *err)
{
	int socket;

	if (gpumon_dormant_connect(group->options.root, member->pid, &socket, err))
		return false;
	member->state = MEMBER_IS_DONE;
	if (gpumon_recorder_add(group->options.recorder, socket, err))
		group->options.say(group->options.data, GPUMON_NOTE_MISSING, err->message);
	return true;
}

static void begin(struct gpumon_group *group, struct member *member)
{
	struct gpumon_error err;
	int socket, ret;

	member->state = MEMBER_IS_DONE;
	/* It may have connected by itself, or as one of --pid. */
	if (gpumon_recorder_has_met(group->options.recorder, member->pid))
		return;
	ret = gpumon_dormant_connect(group->options.root, member->pid, &socket, &err);
	if (!ret) {
		if (gpumon_recorder_add(group->options.recorder, socket, &err))
			group->options.say(group->options.data, GPUMON_NOTE_MISSING, err.message);
		return;
	}
	if (ret > 0 && err.sys != -EPERM && !group->options.no_attach &&
	    !gpumon_attach_begin(&member->attach, group->options.root, member->pid, &err)) {
		member->state = MEMBER_ATTACHES;
		return;
	}
	say_refused(group, member, &err);
}

static void step_member(struct gpumon_group *group, struct member *member, uint64_t now,
			unsigned int *at_once)
{
	struct gpumon_error err;
	int ret;

	switch (member->state) {
	case MEMBER_WAITS:
		if (now < member->next_ns)
			return;
		if (uses_cuda(group, member->pid))
			member->state = MEMBER_IS_WANTED;
		member->next_ns = now + (now - member->since_ns < YOUNG_NS ? LOOK_NS : SELDOM_NS);
		break;
	case MEMBER_IS_WANTED:
		if (*at_once >= AT_ONCE)
			return;
		begin(group, member);
		*at_once += member->state == MEMBER_ATTACHES;
		break;
	case MEMBER_ATTACHES:
		ret = gpumon_attach_end(&member->attach, false, &err);
		if (ret > 0)
			return;
		member->state = MEMBER_CONNECTS;
		member->until_ns = now + CONNECT_NS;
		if (!ret)
			break;
		member->state = MEMBER_IS_DONE;
		say_refused(group, member, &err);
		break;
	case MEMBER_CONNECTS:
		if (connect_to(group, member, &err) || now < member->until_ns)
			return;
		member->state = MEMBER_IS_DONE;
		say_refused(group, member, &err);
		break;
	default:
		break;
	}
}

void gpumon_group_step(struct gpumon_group *group)
{
	uint64_t now = gpumon_monotonic_ns();
	unsigned int at_once = 0;

	if (now >= group->next_ns)
		list_members(group, now);
	for (size_t i = 0; i < group->count; i++)
		at_once += group->members[i].state == MEMBER_ATTACHES;
	for (size_t i = 0; i < group->count; i++)
		step_member(group, &group->members[i], now, &at_once);
}

uint64_t gpumon_group_next_ns(const struct gpumon_group *group)
{
	for (size_t i = 0; i < group->count; i++)
		if (group->members[i].state != MEMBER_WAITS &&
		    group->members[i].state != MEMBER_IS_DONE)
			return gpumon_monotonic_ns() + SOON_NS;
	return group->next_ns;
}

bool gpumon_group_is_over(const struct gpumon_group *group)
{
	return group->had_members && !group->count;
}

void gpumon_group_free(struct gpumon_group *group)
{
	struct gpumon_error err;

	if (!group)
		return;
	for (size_t i = 0; i < group->count; i++)
		if (group->members[i].state == MEMBER_ATTACHES)
			(void)gpumon_attach_end(&group->members[i].attach, true, &err);
	free(group->members);
	free(group->path);
	free(group);
}
