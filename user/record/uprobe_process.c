// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/array.h"
#include "capture/elf_find.h"
#include "uprobe_function.h"
#include "uprobe_process.h"
#include "uprobe_rule.h"

#define VDSO	 "[vdso]"
#define VDSO_MAX (1U << 20)

/* A line of /proc/PID/maps */
struct line {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint64_t device;
	bool executable;
	char *path;
};

static bool parse_line(char *text, struct line *line)
{
	unsigned int major, minor;
	char permissions[5];
	size_t length;
	int at = 0;

	if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &line->start, &line->end, permissions, &line->offset, &major, &minor,
		   &line->inode, &at) < 7 ||
	    !at)
		return false;
	line->executable = permissions[2] == 'x';
	line->device = makedev(major, minor);
	line->path = text + at;
	length = strcspn(line->path, "\n");
	line->path[length] = '\0';
	if (length > 10 && !strcmp(line->path + length - 10, " (deleted)"))
		line->path[length - 10] = '\0';
	return true;
}

/* Every process contains the kernel's code, but in no file. Our own copy is identical. */
static int copy_vdso(const struct gpumon_uprobe_process *process, uint64_t start, uint64_t end)
{
	char path[64], *image = NULL;
	size_t size = end - start;
	int memory, fd = -1, error;

	snprintf(path, sizeof(path), "%s/proc/%d/mem", process->root, (int)process->pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	if (memory < 0)
		return -errno;
	image = size <= VDSO_MAX ? gpumon_malloc(size) : NULL;
	errno = EFBIG;
	if (image && pread(memory, image, size, (off_t)start) == (ssize_t)size)
		fd = memfd_create("gpumon-vdso", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, image, size) != (ssize_t)size) {
		close(fd);
		fd = -1;
	}
	error = errno;
	free(image);
	close(memory);
	return fd >= 0 ? fd : -error;
}

/*
 * Open the mapped file itself, even if it was deleted or moved. That needs CAP_SYS_ADMIN or
 * CAP_CHECKPOINT_RESTORE. Otherwise use its path in the process's root, if that still is the same
 * file.
 */
static int open_mapped(const struct gpumon_uprobe_process *process, uint64_t start, uint64_t end,
		       const char *name, uint64_t inode)
{
	char path[128];
	struct stat status;
	int fd;

	if (!strcmp(name, VDSO))
		return copy_vdso(process, start, end);
	snprintf(path, sizeof(path), "%s/proc/%d/map_files/%" PRIx64 "-%" PRIx64, process->root,
		 (int)process->pid, start, end);
	if (!stat(path, &status) && S_ISREG(status.st_mode)) {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0)
			return fd;
	}
	snprintf(path, sizeof(path), "%s/proc/%d/root", process->root, (int)process->pid);
	fd = gpumon_elf_open(path, name, &status);
	/* Do not compare the device: btrfs and overlayfs report two different ones. */
	if (fd >= 0 && status.st_ino != inode) {
		close(fd);
		fd = -ESTALE;
	}
	return fd;
}

int gpumon_uprobe_process_open(const struct gpumon_uprobe_process *process,
			       const struct gpumon_uprobe_map *map)
{
	const struct gpumon_uprobe_file *file = map->file;
	int fd = open_mapped(process, map->start, map->end, file->path, file->inode);
	struct stat status;

	if (fd != -ENOENT)
		return fd;
	/* If the process has ended, its files may be visible from here. */
	fd = gpumon_elf_open(process->root, file->path, &status);
	if (fd >= 0 && (status.st_ino != file->inode || status.st_dev != file->device)) {
		close(fd);
		fd = -ESTALE;
	}
	return fd;
}

static void free_file(struct gpumon_uprobe_file *file)
{
	gpumon_uprobe_unwind_free(file);
	for (size_t i = 0; i < file->site_count; i++)
		free(file->sites[i].name);
	free(file->sites);
	free(file->spans);
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file);
}

/* Or like the dynamic linker, which tells of new libraries. */
static bool is_called_like_api(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return gpumon_library_of_api(name) || !strncmp(name, "ld-", 3);
}

static struct gpumon_uprobe_file *add_file(struct gpumon_uprobe_process *process,
					   const struct line *line)
{
	struct gpumon_uprobe_file *file, **added;

	file = gpumon_calloc(1, sizeof(*file));
	file->device = line->device;
	file->inode = line->inode;
	file->path = gpumon_strdup(line->path);
	file->fd = -1;
	if (!process->by_name || is_called_like_api(line->path)) {
		file->fd = open_mapped(process, line->start, line->end, line->path, line->inode);
		if (file->fd < 0)
			snprintf(file->why, sizeof(file->why), "it cannot be opened: %s",
				 strerror(-file->fd));
	}
	if (file->fd >= 0)
		gpumon_uprobe_file_read(file);
	/* More files than a process may have open can be mapped, and most have nothing to probe. */
	if (file->fd >= 0 && !file->site_count && !file->linker_offset && !file->device_offset) {
		close(file->fd);
		file->fd = -1;
	}
	added = GPUMON_GROW(process->files, process->file_count);
	*added = file;
	return file;
}

static struct gpumon_uprobe_file *find_file(struct gpumon_uprobe_process *process,
					    const struct line *line)
{
	for (unsigned int i = 0; i < process->file_count; i++) {
		struct gpumon_uprobe_file *file = process->files[i];

		if (file->inode == line->inode && file->device == line->device &&
		    !strcmp(file->path, line->path))
			return file;
	}
	return add_file(process, line);
}

const struct gpumon_uprobe_map *
gpumon_uprobe_process_map(const struct gpumon_uprobe_process *process, uint64_t address)
{
	size_t low = 0, high = process->map_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct gpumon_uprobe_map *map = &process->maps[middle];

		if (address < map->start)
			high = middle;
		else if (address >= map->end)
			low = middle + 1;
		else
			return map;
	}
	return NULL;
}

static bool same_map(const struct gpumon_uprobe_map *a, const struct gpumon_uprobe_map *b)
{
	return a->start == b->start && a->end == b->end && a->file == b->file &&
	       (!a->file || a->offset == b->offset);
}

/*
 * Compare the lists, both sorted by address. Mappings in both were seen before, those only in the
 * old one were unmapped.
 */
static void compare_maps(struct gpumon_uprobe_process *process, struct gpumon_uprobe_map *old,
			 size_t old_count)
{
	size_t at = 0;

	free(process->unmapped);
	process->unmapped_count = 0;
	process->unmapped = gpumon_calloc(old_count + 1, sizeof(*old));
	for (size_t i = 0; i < old_count; i++) {
		while (at < process->map_count && process->maps[at].start < old[i].start)
			at++;
		if (at < process->map_count && same_map(&old[i], &process->maps[at]))
			process->maps[at].seen = old[i].seen;
		else
			process->unmapped[process->unmapped_count++] = old[i];
	}
}

static void read_maps(struct gpumon_uprobe_process *process, FILE *stream)
{
	char *text = NULL;
	size_t room = 0;
	struct line line;

	while (getline(&text, &room, stream) > 0) {
		struct gpumon_uprobe_map *map;

		if (!parse_line(text, &line) || !line.executable ||
		    (line.path[0] == '[' && strncmp(line.path, "[anon", 5) &&
		     strcmp(line.path, VDSO)))
			continue;
		map = GPUMON_GROW(process->maps, process->map_count);
		*map = (struct gpumon_uprobe_map){ line.start, line.end, line.offset, NULL, false };
		if ((line.path[0] == '/' && line.inode) || !strcmp(line.path, VDSO)) {
			map->file = find_file(process, &line);
			map->file->mapped = true;
		}
	}
	free(text);
}

int gpumon_uprobe_process_scan(struct gpumon_uprobe_process *process, struct gpumon_error *err)
{
	struct gpumon_uprobe_map *old = process->maps;
	size_t old_count = process->map_count;
	char path[64];
	FILE *stream;
	int sys;

	snprintf(path, sizeof(path), "%s/proc/%d/maps", process->root, (int)process->pid);
	stream = fopen(path, "re");
	if (!stream) {
		sys = -errno;
		if (sys == -ENOENT || sys == -ESRCH)
			return gpumon_error_set(err, GPUMON_EXIT_FAILED, sys, GPUMON_ERROR_GONE,
						"there is no process %d (any more)",
						(int)process->pid);
		if (sys == -EACCES || sys == -EPERM)
			return gpumon_error_set(
				err, GPUMON_EXIT_IMPOSSIBLE, sys, GPUMON_ERROR_PERMISSION,
				"what process %d has mapped may not be read: be its user or root, or have CAP_SYS_PTRACE",
				(int)process->pid);
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, sys, GPUMON_ERROR_IO, "%s: %s",
					path, strerror(-sys));
	}
	process->maps = NULL;
	process->map_count = 0;
	for (unsigned int i = 0; i < process->file_count; i++)
		process->files[i]->mapped = false;
	read_maps(process, stream);
	fclose(stream);
	/* A dying process has no mappings, and a kernel thread never has any. */
	if (!process->map_count) {
		free(process->maps);
		process->maps = old;
		process->map_count = old_count;
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -ESRCH, GPUMON_ERROR_GONE,
			"process %d has no memory: it is at its end, or the kernel's",
			(int)process->pid);
	}
	compare_maps(process, old, old_count);
	free(old);
	return 0;
}

void gpumon_uprobe_process_free(struct gpumon_uprobe_process *process)
{
	for (size_t i = 0; i < process->file_count; i++)
		free_file(process->files[i]);
	free(process->files);
	free(process->maps);
	free(process->unmapped);
}
