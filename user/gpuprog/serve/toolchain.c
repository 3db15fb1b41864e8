// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache.h"
#include "lib/launch.h"
#include "shared.h"
#include "toolchain.h"

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

/* Of several files the one of the newest version. */
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

int gpumon_probe_find_sanitizer(const char *given, char *path, size_t room,
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

/* In the wheels below a Python's folder, such as /usr/local. */
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

int gpumon_probe_find_ptxas(const char *given, const char *program, char path[PATH_MAX],
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
		data = gpumon_probe_shared_read(fd, *size);
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
	/* Those that gpumon-user reads from a descriptor are blocked in it. */
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

/* All that the code depends on. Another version of the assembler is another file. */
static char *make_key(const char *ptxas, unsigned int sm, const char *text, size_t size,
		      size_t *key_size)
{
	char path[PATH_MAX], *key = NULL;
	struct stat status;
	FILE *out;

	if (!realpath(ptxas, path) || stat(path, &status))
		return NULL;
	out = open_memstream(&key, key_size);
	if (!out)
		return NULL;
	fprintf(out, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 ".%09ld sm_%u%c", path,
		(uint64_t)status.st_dev, (uint64_t)status.st_ino, (uint64_t)status.st_size,
		(uint64_t)status.st_mtim.tv_sec, status.st_mtim.tv_nsec, sm, '\0');
	fwrite(text, 1, size, out);
	if (!fclose(out))
		return key;
	free(key);
	return NULL;
}

int gpumon_probe_assemble(const char *ptxas, unsigned int sm, const char *folder, const char *text,
			  size_t size, void **code, size_t *code_size, bool *cached,
			  struct gpumon_error *err)
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
