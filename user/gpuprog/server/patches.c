// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/array.h"
#include "lib/files.h"
#include "lib/launch.h"
#include "lib/map.h"
#include "lib/wait.h"
#include "gpuprog/image/patch.h"
#include "memory.h"
#include "patches.h"

/* Bytes of the files of a kind at most. The least recently used ones are removed. */
#define GPUMON_CACHE_MAX (64u << 20)

#define MAGIC 0x3165686361637067ull

/* The head of a file; the key and the data follow. */
struct head {
	uint64_t magic;
	uint64_t key_size;
	uint64_t size;
	uint64_t sum; /* of what follows */
};

/* A file of the cache, as it counts for its bound. */
struct file {
	char name[NAME_MAX + 1];
	uint64_t size;
	struct timespec used;
};

#define NAME_BYTES 17

static bool is_ours(int fd)
{
	struct stat status;

	return !fstat(fd, &status) && status.st_uid == geteuid();
}

/* Open a folder within @parent, and close @parent. -1: it does not exist, or belongs to another user. */
static int enter(int parent, const char *name, bool make, int flags)
{
	int fd;

	if (parent < 0)
		return -1;
	flags |= O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	fd = openat(parent, name, flags);
	/* Root makes no folder in the home of another user. */
	if (fd < 0 && errno == ENOENT && make && is_ours(parent) && !mkdirat(parent, name, 0700))
		fd = openat(parent, name, flags);
	close(parent);
	if (fd >= 0 && !is_ours(fd)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The folder, or -1. */
static int open_folder(const char *kind, bool make)
{
	const char *path = getenv("XDG_CACHE_HOME"), *name = ".cache";
	int fd = -1;

	if (path && *path == '/') {
		fd = gpumon_folder_of(path, &name);
	} else {
		path = getenv("HOME");
		if (path && *path == '/')
			fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	fd = enter(fd, name, make, 0);
	fd = enter(fd, "gpumon", make, O_NOFOLLOW);
	return enter(fd, kind, make, O_NOFOLLOW);
}

static void name_of(const void *key, size_t key_size, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%016" PRIx64, gpumon_hash_bytes(key, key_size));
}

/* A regular file that belongs to this user, and that other users cannot write. */
static bool is_trusted(int fd, uint64_t *size)
{
	struct stat status;

	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
	    (status.st_mode & 022) || status.st_size > (off_t)GPUMON_CACHE_MAX)
		return false;
	*size = (uint64_t)status.st_size;
	return true;
}

/* The data of a whole file with this key, moved to its beginning; else false. */
static bool take(char *content, uint64_t length, const void *key, size_t key_size, size_t *size)
{
	struct head head;

	if (length < sizeof(head))
		return false;
	memcpy(&head, content, sizeof(head));
	length -= sizeof(head);
	if (head.magic != MAGIC || head.key_size != key_size || key_size > length ||
	    head.size != length - key_size || !head.size ||
	    head.sum != gpumon_hash_bytes(content + sizeof(head), length) ||
	    memcmp(content + sizeof(head), key, key_size) != 0)
		return false;
	*size = head.size;
	memmove(content, content + sizeof(head) + key_size, head.size);
	return true;
}

void *gpumon_cache_read(const char *kind, const void *key, size_t key_size, size_t *size)
{
	int folder = open_folder(kind, false), fd = -1;
	char name[NAME_BYTES], *content = NULL;
	uint64_t length;
	bool good;

	name_of(key, key_size, name);
	if (folder >= 0)
		fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && is_trusted(fd, &length))
		content = malloc(length + 1);
	good = content && gpumon_read_at(fd, content, length, 0) == (ssize_t)length &&
	       take(content, length, key, key_size, size);
	if (good) {
		/* Mark the file as used now. */
		(void)futimens(fd, NULL);
	} else {
		free(content);
		content = NULL;
	}
	if (fd >= 0)
		close(fd);
	if (folder >= 0)
		close(folder);
	return content;
}

static int by_use(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec > y->used.tv_sec ? -1 : 1;
	return (x->used.tv_nsec < y->used.tv_nsec) - (x->used.tv_nsec > y->used.tv_nsec);
}

/* Remove what was not used for longest, until the rest is small enough. */
static void limit_size(int folder)
{
	DIR *entries = gpumon_folder_entries(folder, ".", 0);
	struct file *files = NULL, *file;
	struct dirent *entry;
	struct stat status;
	uint64_t total = 0;
	size_t n = 0;

	while (entries && (entry = readdir(entries))) {
		if (fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(status.st_mode))
			continue;
		file = GPUMON_GROW(files, n);
		if (!file)
			break;
		snprintf(file->name, sizeof(file->name), "%s", entry->d_name);
		file->size = (uint64_t)status.st_size;
		file->used = status.st_mtim;
	}
	if (entries)
		closedir(entries);
	if (n)
		qsort(files, n, sizeof(*files), by_use);
	for (size_t i = 0; i < n; i++) {
		total += files[i].size;
		if (total > GPUMON_CACHE_MAX)
			unlinkat(folder, files[i].name, 0);
	}
	free(files);
}

static bool write_all(int fd, const void *data, size_t size)
{
	FILE *file = fdopen(fd, "w");
	bool whole;

	if (!file) {
		close(fd);
		return false;
	}
	whole = fwrite(data, 1, size, file) == size;
	return !fclose(file) && whole;
}

/* @name is complete, or as it was before. */
static bool replace(int folder, const char *name, const void *content, size_t size)
{
	char temporary[NAME_BYTES + 16];
	int fd;

	snprintf(temporary, sizeof(temporary), "%s.%d", name, (int)getpid());
	/* A process with the same number may have been killed and have left this file. */
	unlinkat(folder, temporary, 0);
	fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	if (write_all(fd, content, size) && !renameat(folder, temporary, folder, name))
		return true;
	unlinkat(folder, temporary, 0);
	return false;
}

void gpumon_cache_write(const char *kind, const void *key, size_t key_size, const void *data,
			size_t size)
{
	struct head head = { .magic = MAGIC, .key_size = key_size, .size = size };
	size_t rest = key_size + size;
	char name[NAME_BYTES], *content;
	int folder;

	if (key_size > GPUMON_CACHE_MAX || size > GPUMON_CACHE_MAX ||
	    sizeof(head) + rest > GPUMON_CACHE_MAX)
		return;
	folder = open_folder(kind, true);
	content = folder >= 0 ? malloc(sizeof(head) + rest) : NULL;
	if (content) {
		memcpy(content + sizeof(head), key, key_size);
		memcpy(content + sizeof(head) + key_size, data, size);
		head.sum = gpumon_hash_bytes(content + sizeof(head), rest);
		memcpy(content, &head, sizeof(head));
		name_of(key, key_size, name);
		if (replace(folder, name, content, sizeof(head) + rest))
			limit_size(folder);
	}
	free(content);
	if (folder >= 0)
		close(folder);
}

#define LIBRARY "libsanitizer-public.so"
/* A cubin of functions has some kilobytes. */
#define CODE_MAX (16u << 20)
/* Kind of what the cache keeps. */
#define CACHE "patches"

extern char **environ;

static bool copy_path(char *path, size_t room, const char *from, int mode)
{
	return from && *from && access(from, mode) == 0 && strlen(from) < room &&
	       strcpy(path, from);
}

/* The file of the newest version. */
static bool find_by_pattern(const char *pattern, int mode, char *path, size_t room)
{
	glob_t found;
	bool is_there = false;

	if (glob(pattern, 0, NULL, &found) != 0)
		return false;
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (!is_there || strverscmp(found.gl_pathv[i], path) > 0)
			is_there |= copy_path(path, room, found.gl_pathv[i], mode);
	globfree(&found);
	return is_there;
}

static int refuse(struct gpumon_error *err, const char *format, const char *given)
{
	return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_UNSUPPORTED, format,
				given);
}

int gpumon_gpuprog_find_sanitizer(const char *given, char *path, size_t room,
				  struct gpumon_error *err)
{
	static const char *const patterns[] = {
		"/usr/local/cuda/compute-sanitizer/" LIBRARY,
		"/usr/local/cuda-1*/compute-sanitizer/" LIBRARY,
		"/opt/cuda/extras/compute-sanitizer/" LIBRARY,
		"/opt/cuda/compute-sanitizer/" LIBRARY,
		"/usr/lib/nvidia-cuda-toolkit/compute-sanitizer/" LIBRARY,
	};

	if (!given)
		given = getenv("GPUMON_SANITIZER");
	if (given && *given)
		return copy_path(path, room, given, R_OK) ?
			       0 :
			       refuse(err,
				      "%.300s cannot be read: machine code is patched by NVIDIA's " LIBRARY
				      ", which --sanitizer or GPUMON_SANITIZER has to name",
				      given);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (find_by_pattern(patterns[i], R_OK, path, room))
			return 0;
	return refuse(
		err,
		"there is no %s, which patches machine code: install CUDA's compute-sanitizer, or name the file by --sanitizer",
		LIBRARY);
}

/* Looks in the wheels below a Python's folder, such as /usr/local. */
static bool find_in_wheels(const char *prefix, char path[PATH_MAX])
{
	static const char *const places[] = { "torch/bin/ptxas",
					      "triton/backends/nvidia/bin/ptxas" };
	char pattern[PATH_MAX];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (snprintf(pattern, sizeof(pattern), "%s/lib/python3*/*-packages/%s", prefix,
			     places[i]) < (int)sizeof(pattern) &&
		    find_by_pattern(pattern, X_OK, path, PATH_MAX))
			return true;
	return false;
}

/* In those of the Python that is run: PREFIX/bin/python3. */
static bool find_beside(const char *program, char path[PATH_MAX])
{
	char file[PATH_MAX];

	if (!gpumon_launch_find_program(program, file))
		return false;
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(file, '/');

		if (!slash)
			return false;
		*slash = '\0';
	}
	return find_in_wheels(file, path);
}

int gpumon_gpuprog_find_ptxas(const char *given, const char *program, char path[PATH_MAX],
			      struct gpumon_error *err)
{
	const char *environment = getenv("VIRTUAL_ENV");

	if (!given)
		given = getenv("GPUMON_PTXAS");
	if (given && *given)
		return copy_path(path, PATH_MAX, given, X_OK) ?
			       0 :
			       refuse(err,
				      "%.300s cannot be run: --ptxas or GPUMON_PTXAS has to name NVIDIA's assembler",
				      given);
	if (copy_path(path, PATH_MAX, getenv("TRITON_PTXAS_PATH"), X_OK) ||
	    gpumon_launch_find_program("ptxas", path) ||
	    find_by_pattern("/usr/local/cuda/bin/ptxas", X_OK, path, PATH_MAX) ||
	    find_by_pattern("/usr/local/cuda-1*/bin/ptxas", X_OK, path, PATH_MAX) ||
	    find_beside(program, path) || (environment && find_in_wheels(environment, path)) ||
	    find_in_wheels("/usr/local", path) || find_in_wheels("/usr", path))
		return 0;
	return refuse(
		err,
		"there is no %s, which assembles programs for machine code: install CUDA's nvcc or PyTorch, or name the file by --ptxas",
		"ptxas");
}

static bool write_file(const char *path, const char *data, size_t size)
{
	FILE *file = fopen(path, "we");
	bool done = file && fwrite(data, 1, size, file) == size;

	return file && !fclose(file) && done;
}

static void *read_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *data = NULL;

	if (fd >= 0 && !fstat(fd, &status) && status.st_size <= CODE_MAX) {
		*size = (size_t)status.st_size;
		data = gpumon_gpuprog_shared_read(fd, *size);
	}
	if (fd >= 0)
		close(fd);
	return data;
}

/* Return: its exit status; -1: it could not be run, or was killed. */
static int run(const char *const *argv, const char *log)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int status = -1, ret;
	pid_t pid;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_adddup2(&actions, 1, 2);
	posix_spawnattr_init(&attributes);
	/* Signals that gpumon-user reads from a descriptor are blocked in it. */
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	ret = posix_spawn(&pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv,
			  environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (ret)
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The first line of what it says, which is one line for it all. */
static int tell(const char *ptxas, unsigned int sm, const char *log, struct gpumon_error *err)
{
	FILE *file = fopen(log, "re");
	char line[160];

	if (!file || !fgets(line, sizeof(line), file))
		strcpy(line, "it says nothing");
	line[strcspn(line, "\n\r")] = '\0';
	if (file)
		fclose(file);
	return gpumon_error_set(
		err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_UNSUPPORTED,
		"%.200s cannot assemble the programs for sm_%u (%.150s): name another one by --ptxas",
		ptxas, sm, line);
}

static int assemble(const char *ptxas, unsigned int sm, const char *folder, const char *text,
		    size_t size, void **code, size_t *code_size, struct gpumon_error *err)
{
	char source[PATH_MAX], target[PATH_MAX], log[PATH_MAX], architecture[32];
	const char *argv[] = { ptxas,  architecture, "--compile-as-tools-patch", "-o", target,
			       source, NULL };
	int status = -1;

	snprintf(source, sizeof(source), "%s/patch.ptx", folder);
	snprintf(target, sizeof(target), "%s/patch.cubin", folder);
	snprintf(log, sizeof(log), "%s/patch.log", folder);
	snprintf(architecture, sizeof(architecture), "-arch=sm_%u", sm);
	*code = NULL;
	if (write_file(source, text, size))
		status = run(argv, log);
	if (!status)
		*code = read_file(target, code_size);
	if (!*code)
		tell(ptxas, sm, log, err);
	unlink(source);
	unlink(target);
	unlink(log);
	return *code ? 0 : -1;
}

/* Hash of everything that the code depends on. Another version of the assembler is another file. */
static char *make_key(const char *ptxas, unsigned int sm, const char *text, size_t size,
		      size_t *key_size)
{
	char path[PATH_MAX], *key;
	struct stat status;
	FILE *out;

	if (!realpath(ptxas, path) || stat(path, &status))
		return NULL;
	out = gpumon_memstream_open(&key, key_size);
	fprintf(out, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 ".%09ld sm_%u%c", path,
		(uint64_t)status.st_dev, (uint64_t)status.st_ino, (uint64_t)status.st_size,
		(uint64_t)status.st_mtim.tv_sec, status.st_mtim.tv_nsec, sm, '\0');
	fwrite(text, 1, size, out);
	gpumon_memstream_close(out);
	return key;
}

/**
 * read_or_assemble - assemble functions for patches, or read what an earlier run has assembled
 * @ptxas: assembler
 * @sm: architecture: 90
 * @folder: private one, for files that are removed again
 * @text: PTX
 * @size: bytes of it
 * @code: out: cubin, to be freed
 * @code_size: out
 * @cached: out: nothing was assembled
 * @err: what the assembler says
 *
 * Return: 0, or -1 with @err.
 */
static int read_or_assemble(const char *ptxas, unsigned int sm, const char *folder,
			    const char *text, size_t size, void **code, size_t *code_size,
			    bool *cached, struct gpumon_error *err)
{
	size_t key_size = 0;
	char *key = make_key(ptxas, sm, text, size, &key_size);
	int ret = 0;

	*code = key ? gpumon_cache_read(CACHE, key, key_size, code_size) : NULL;
	*cached = *code;
	if (!*cached) {
		ret = assemble(ptxas, sm, folder, text, size, code, code_size, err);
		if (!ret && key)
			gpumon_cache_write(CACHE, key, key_size, *code, *code_size);
	}
	free(key);
	return ret;
}

/* Targets for a look at the programs before a GPU is known. */
#define SM_ANY 90

static int write_text(const struct gpumon_gpuprog_patches *patches, uint32_t sm, char **text,
		      size_t *size, uint32_t *places, struct gpumon_error *err)
{
	const struct gpumon_gpuprog_order *order = patches->order;
	const struct gpumon_gpuprog_patch patch = {
		.object = order->object,
		.facts = order->facts,
		.target = { .isa = gpumon_gpuprog_isa(sm),
			    .sm = sm,
			    .shards = order->shards,
			    .fuel = order->fuel,
			    .patch = true },
		.sample = patches->sample,
	};
	FILE *out = gpumon_memstream_open(text, size);
	int ret = gpumon_gpuprog_patch_write(&patch, out, places, err);

	gpumon_memstream_close(out);
	return ret;
}

int gpumon_gpuprog_patches_open(struct gpumon_gpuprog_patches *patches,
				const struct gpumon_gpuprog_options *options, const char *program,
				struct gpumon_error *err)
{
	uint32_t places;
	char *text = NULL;
	size_t size;
	int ret;

	patches->sample = options->sample;
	ret = write_text(patches, SM_ANY, &text, &size, &places, err);
	free(text);
	if (ret || gpumon_gpuprog_find_sanitizer(options->sanitizer, patches->sanitizer,
						 sizeof(patches->sanitizer), err))
		return -1;
	return gpumon_gpuprog_find_ptxas(options->ptxas, program, patches->ptxas, err);
}

const struct gpumon_gpuprog_code *
gpumon_gpuprog_patches_make(struct gpumon_gpuprog_patches *patches, uint32_t sm, const char *folder)
{
	struct gpumon_gpuprog_code *code;
	struct gpumon_error err;
	uint64_t begin_ns = gpumon_monotonic_ns();
	char *text = NULL;
	size_t size, code_size = 0;

	for (uint32_t i = 0; i < patches->codes_n; i++)
		if (patches->codes[i].made.sm == sm)
			return &patches->codes[i];
	if (patches->codes_n == GPUMON_GPUPROG_MAX_TARGETS)
		return NULL;
	code = &patches->codes[patches->codes_n++];
	code->made.sm = sm;
	if (write_text(patches, sm, &text, &size, &code->places, &err) ||
	    read_or_assemble(patches->ptxas, sm, folder, text, size, &code->code, &code_size,
			     &code->made.cached, &err))
		snprintf(code->why, sizeof(code->why), "%s", err.message);
	code->made.size = code_size;
	code->made.took_ns = gpumon_monotonic_ns() - begin_ns;
	free(text);
	return code;
}

uint32_t gpumon_gpuprog_patches_points(const struct gpumon_gpuprog_code *code,
				       struct gpumon_wire_point points[GPUMON_WIRE_POINTS])
{
	static const struct gpumon_wire_point all[] = {
#define POINT(name, number, function, more) [GPUMON_GPUPROG_PATCH_##name] = { number, function },
		GPUMON_GPUPROG_PATCH_PLACES(POINT)
#undef POINT
	};
	uint32_t n = 0;

	_Static_assert(sizeof(all) / sizeof(all[0]) <= GPUMON_WIRE_POINTS, "room for all");
	for (uint32_t i = 0; i < GPUMON_GPUPROG_PATCH_PLACES_N; i++)
		if (code->places & 1u << i)
			points[n++] = all[i];
	return n;
}

void gpumon_gpuprog_patches_close(struct gpumon_gpuprog_patches *patches)
{
	for (uint32_t i = 0; i < patches->codes_n; i++)
		free(patches->codes[i].code);
	patches->codes_n = 0;
}
