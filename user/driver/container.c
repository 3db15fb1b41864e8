// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container.h"
#include "dmem.h"
#include "lib/memory.h"
#include "lib/process_info.h"
#include "lib/array.h"
#include "lib/map.h"

#define CGROUPS	  "/sys/fs/cgroup"
#define ID_DIGITS 64 /* of an id as runtimes write it */
#define SHORT_ID  12 /* of an id as runtimes show it to users */
#define DEPTH_MAX 64
#define KNOWN_MAX 8192

/* A cgroup that was looked up. @path is NULL if there is no cgroup with that id. */
struct known {
	uint64_t id;
	char *path;
};

struct gpumon_containers {
	const char *root;
	struct known *known;
	size_t n_known;
	struct gpumon_map by_id; /* index in @known, plus 1 */
	bool initial_pids;	 /* /proc belongs to the initial pid namespace */
	bool version_1;		 /* a hierarchy of cgroups, version 1, is mounted */
};

static bool version_1_is_mounted(const char *root)
{
	char path[PATH_MAX], line[4096];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, " - cgroup ");
	if (file)
		fclose(file);
	return found;
}

struct gpumon_containers *gpumon_containers_new(const char *root)
{
	struct gpumon_containers *containers = gpumon_calloc(1, sizeof(*containers));

	containers->root = root ? root : "";
	containers->initial_pids = gpumon_initial_pid_namespace(containers->root);
	containers->version_1 = version_1_is_mounted(containers->root);
	return containers;
}

static void forget_cgroups(struct gpumon_containers *containers)
{
	for (size_t i = 0; i < containers->n_known; i++)
		free(containers->known[i].path);
	free(containers->known);
	containers->known = NULL;
	containers->n_known = 0;
	gpumon_map_clear(&containers->by_id);
}

void gpumon_containers_free(struct gpumon_containers *containers)
{
	if (!containers)
		return;
	forget_cgroups(containers);
	free(containers);
}

static struct known *find_cgroup(const struct gpumon_containers *containers, uint64_t id)
{
	uint64_t at = gpumon_map_get(&containers->by_id, id);

	return at ? &containers->known[at - 1] : NULL;
}

/* Check for a directory among the new cgroups, from @first on, and keep its path. */
static bool cgroup_found(struct gpumon_containers *containers, size_t first, uint64_t inode,
			 const char *path)
{
	for (size_t i = first; i < containers->n_known; i++) {
		if (containers->known[i].id == inode && !containers->known[i].path) {
			containers->known[i].path = gpumon_strdup(*path ? path : "/");
			return true;
		}
	}
	return false;
}

/* Closes @fd. @left: ids still to be found; @path has room for PATH_MAX. */
static void walk_hierarchy(struct gpumon_containers *containers, int fd, dev_t device, char *path,
			   unsigned int depth, size_t first, size_t *left)
{
	size_t length = strlen(path);
	struct stat status;
	struct dirent *entry;
	DIR *directory;

	if (fstat(fd, &status) || (depth && status.st_dev != device)) {
		close(fd);
		return;
	}
	if (cgroup_found(containers, first, status.st_ino, path))
		(*left)--;
	directory = *left && depth < DEPTH_MAX ? fdopendir(fd) : NULL;
	if (!directory) {
		close(fd);
		return;
	}
	while (*left && (entry = readdir(directory))) {
		int below;

		if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)
			continue;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    length + strlen(entry->d_name) + 2 > PATH_MAX)
			continue;
		below = openat(dirfd(directory), entry->d_name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below < 0)
			continue;
		snprintf(path + length, PATH_MAX - length, "/%s", entry->d_name);
		walk_hierarchy(containers, below, status.st_dev, path, depth + 1, first, left);
		path[length] = '\0';
	}
	closedir(directory);
}

/* Version 2 is mounted alone, or beside version 1. */
static int open_hierarchy(const struct gpumon_containers *containers)
{
	static const char *const places[] = { CGROUPS, CGROUPS "/unified" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s%s/cgroup.procs", containers->root, places[i]);
		/* Directories of version 1 have this file too, but their parent does not. */
		if (access(path, F_OK))
			continue;
		snprintf(path, sizeof(path), "%s%s", containers->root, places[i]);
		return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return -1;
}

static struct known *add_known(struct gpumon_containers *containers, uint64_t id)
{
	struct known *known = GPUMON_GROW(containers->known, containers->n_known);

	known->id = id;
	gpumon_map_set(&containers->by_id, id, containers->n_known);
	return known;
}

/* Paths that the module sent: nobody finds that of a cgroup that has been removed. */
static void remember(struct gpumon_containers *containers, const struct gpumon_model *model)
{
	for (size_t i = 0; i < model->n_processes; i++) {
		const struct gpumon_process *process = &model->processes[i];
		struct known *known;

		if (!process->cgroup_id.known || !process->cgroup)
			continue;
		known = find_cgroup(containers, process->cgroup_id.v);
		if (!known)
			known = add_known(containers, process->cgroup_id.v);
		if (!known->path)
			known->path = gpumon_strdup(process->cgroup);
	}
}

/* All new ids are looked up in one walk. */
static void look_up(struct gpumon_containers *containers, const struct gpumon_model *model)
{
	char path[PATH_MAX] = "";
	size_t first, left = 0;
	int fd;

	if (containers->n_known > KNOWN_MAX)
		forget_cgroups(containers);
	remember(containers, model);
	first = containers->n_known;
	for (size_t i = 0; i < model->n_processes; i++) {
		struct gpumon_value id = model->processes[i].cgroup_id;

		if (!id.known || model->processes[i].cgroup || find_cgroup(containers, id.v))
			continue;
		add_known(containers, id.v);
		left++;
	}
	for (size_t i = 0; i < model->n_cgroups; i++) {
		if (find_cgroup(containers, model->cgroups[i].id.v))
			continue;
		add_known(containers, model->cgroups[i].id.v);
		left++;
	}
	if (!left)
		return;
	fd = open_hierarchy(containers);
	if (fd >= 0)
		walk_hierarchy(containers, fd, 0, path, 0, first, &left);
}

/* The first 12 digits of an id at the end: "docker-ID.scope", "cri-containerd:ID", "ID". */
static bool short_id(const char *component, size_t length, char *name, size_t len)
{
	static const char scope[] = ".scope";
	const size_t ending = sizeof(scope) - 1;
	const char *monitor;

	if (length > ending && !memcmp(component + length - ending, scope, ending))
		length -= ending;
	if (length < ID_DIGITS)
		return false;
	for (size_t i = length - ID_DIGITS; i < length; i++) {
		if (!isxdigit((unsigned char)component[i]))
			return false;
	}
	if (length > ID_DIGITS && component[length - ID_DIGITS - 1] != '-' &&
	    component[length - ID_DIGITS - 1] != ':')
		return false;
	/* The monitor of Podman and CRI-O runs outside the container that it watches. */
	monitor = strstr(component, "conmon-");
	if (monitor && monitor < component + length)
		return false;
	snprintf(name, len, "%.*s", SHORT_ID, component + length - ID_DIGITS);
	return true;
}

/* Copy the text between a prefix and a suffix. */
static bool copy_between(const char *component, size_t length, const char *begin, const char *end,
			 char *name, size_t len)
{
	size_t before = strlen(begin), after = strlen(end);

	if (length <= before + after || memcmp(component, begin, before) ||
	    memcmp(component + length - after, end, after))
		return false;
	snprintf(name, len, "%.*s", (int)(length - before - after), component + before);
	return true;
}

size_t gpumon_container_name(const char *path, char *name, size_t len)
{
	const char *end = path + strlen(path);

	name[0] = '\0';
	while (end > path) {
		const char *begin = memrchr(path, '/', (size_t)(end - path));
		const char *component = begin ? begin + 1 : path;
		size_t length = (size_t)(end - component);

		if (short_id(component, length, name, len) ||
		    copy_between(component, length, "lxc.payload.", "", name, len) ||
		    copy_between(component, length, "systemd-nspawn@", ".service", name, len) ||
		    copy_between(component, length, "machine-", ".scope", name, len))
			return (size_t)(component - path) + length;
		end = begin ? begin : path;
	}
	return 0;
}

static struct gpumon_value read_container_pid(const struct gpumon_containers *containers,
					      const struct gpumon_process *process)
{
	pid_t pid = 0;

	/* In other pid namespaces these pids are other processes. */
	if (containers->initial_pids && process->pid.known && process->alive.v)
		pid = gpumon_process_inner_pid(containers->root, (pid_t)process->pid.v);
	return (struct gpumon_value){ (uint64_t)pid, pid > 0 };
}

static bool has_cgroup(const struct gpumon_model *model, uint64_t id)
{
	for (size_t i = 0; i < model->n_cgroups; i++) {
		if (model->cgroups[i].id.v == id)
			return true;
	}
	return false;
}

/* The cgroups whose removed processes are summed up in a row. */
static void add_cgroups(struct gpumon_model *model)
{
	const struct gpumon_statistics *usage =
		gpumon_model_statistics(model, "drm_sched", "usage");

	for (size_t i = 0; usage && i < usage->n_rows; i++) {
		uint64_t id = gpumon_row_number(&usage->rows[i], "cgroup");

		if (id && !has_cgroup(model, id))
			gpumon_model_add_cgroup(model)->id = gpumon_value_of(id);
	}
}

/* @path: in and out, @container: out */
static void name_container(const struct gpumon_containers *containers, char **path,
			   char **container)
{
	char name[256];

	/* It may be anywhere in the other hierarchies. */
	if (containers->version_1 && !strcmp(*path, "/")) {
		free(*path);
		*path = NULL;
		return;
	}
	gpumon_container_name(*path, name, sizeof(name));
	free(*container);
	*container = *name ? gpumon_strdup(name) : NULL;
}

void gpumon_containers_resolve(struct gpumon_containers *containers, struct gpumon_model *model)
{
	int fd;

	if (!containers)
		return;
	add_cgroups(model);
	look_up(containers, model);
	for (size_t i = 0; i < model->n_processes; i++) {
		struct gpumon_process *process = &model->processes[i];
		const struct known *known = process->cgroup_id.known ?
						    find_cgroup(containers, process->cgroup_id.v) :
						    NULL;

		process->container_pid = read_container_pid(containers, process);
		/* The module knows it, also of a cgroup that was removed. */
		if (!process->cgroup && known && known->path)
			process->cgroup = gpumon_strdup(known->path);
		if (process->cgroup)
			name_container(containers, &process->cgroup, &process->container);
	}
	for (size_t i = 0; i < model->n_cgroups; i++) {
		struct gpumon_cgroup *cgroup = &model->cgroups[i];
		const struct known *known = find_cgroup(containers, cgroup->id.v);

		if (cgroup->path || !known || !known->path)
			continue;
		cgroup->path = gpumon_strdup(known->path);
		name_container(containers, &cgroup->path, &cgroup->container);
	}
	fd = open_hierarchy(containers);
	if (fd >= 0) {
		gpumon_dmem_resolve(model, fd);
		close(fd);
	}
}
