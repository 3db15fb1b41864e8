// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files.h"
#include "memory.h"
#include "process_info.h"

/* As the kernel shows the memory of gpumon_channel_create(). */
#define CHANNEL_FILE "/memfd:gpumon-channel"
/* A process has that of each recorder it had. */
#define CHANNELS_MAX 64

/* A rank is only searched in this many bytes of the environment. */
#define ENVIRONMENT_MAX (128U << 10)

/* Returns the bytes read, and adds a NUL after them; or a negative errno. */
static ssize_t read_file(const char *root, pid_t pid, const char *name, char *buffer, size_t room)
{
	char path[PATH_MAX];
	size_t length = 0;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/proc/%d/%s", root, (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (length < room - 1) {
		n = read(fd, buffer + length, room - 1 - length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		length += (size_t)n;
	}
	if (n < 0)
		n = -errno;
	close(fd);
	buffer[length] = '\0';
	return n < 0 ? n : (ssize_t)length;
}

/* The fields from the third on. The name before them may contain blanks and brackets. */
static const char *stat_field(const char *text, unsigned int field)
{
	const char *at = strrchr(text, ')');

	if (!at || at[1] != ' ')
		return NULL;
	at += 2;
	for (unsigned int i = 3; i < field; i++) {
		at = strchr(at, ' ');
		if (!at)
			return NULL;
		at++;
	}
	return at;
}

bool gpumon_process_start_ticks(const char *root, pid_t pid, uint64_t *ticks)
{
	const char *field = NULL;
	char text[4096];

	if (read_file(root, pid, "stat", text, sizeof(text)) > 0)
		field = stat_field(text, 22);
	if (field)
		*ticks = strtoull(field, NULL, 10);
	return field;
}

static uint64_t ticks_to_monotonic(uint64_t ticks)
{
	long hz = sysconf(_SC_CLK_TCK);
	struct timespec boot, monotonic;
	int64_t slept;
	uint64_t ns;

	if (hz <= 0 || clock_gettime(CLOCK_BOOTTIME, &boot) ||
	    clock_gettime(CLOCK_MONOTONIC, &monotonic))
		return 0;
	/* Start times include the time that the machine was suspended. CLOCK_MONOTONIC does not. */
	slept = (boot.tv_sec - monotonic.tv_sec) * 1000000000LL + boot.tv_nsec - monotonic.tv_nsec;
	ns = ticks / (uint64_t)hz * 1000000000ULL +
	     ticks % (uint64_t)hz * 1000000000ULL / (uint64_t)hz;
	/* The two clocks are not read at the same moment. */
	if (slept < 1000000)
		return ns;
	return ns > (uint64_t)slept ? ns - (uint64_t)slept : 0;
}

uint32_t gpumon_process_rank(const char *environment, size_t size)
{
	/*
	 * Open MPI, MPICH and relatives, PMIx, torchrun, Slurm. The first one that is set counts.
	 */
	static const char *const names[] = {
		"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
		"MV2_COMM_WORLD_RANK",	"RANK",	     "SLURM_PROCID",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);
		const char *at = environment;

		while (at < environment + size) {
			size_t rest = (size_t)(environment + size - at);
			size_t text = strnlen(at, rest);
			unsigned long rank;
			char *end;

			if (text == rest)
				break;
			if (text > length + 1 && !strncmp(at, names[i], length) &&
			    at[length] == '=' && isdigit((unsigned char)at[length + 1])) {
				errno = 0;
				rank = strtoul(at + length + 1, &end, 10);
				if (!*end && !errno && rank < UINT32_MAX)
					return (uint32_t)rank;
			}
			at += text + 1;
		}
	}
	return UINT32_MAX;
}

static void read_rank(struct gpumon_process_info *info, const char *root)
{
	char *environment = gpumon_malloc(ENVIRONMENT_MAX);
	ssize_t n;

	n = read_file(root, info->pid, "environ", environment, ENVIRONMENT_MAX);
	if (n > 0)
		info->rank = gpumon_process_rank(environment, (size_t)n + 1);
	free(environment);
}

static void read_command(struct gpumon_process_info *info, const char *root)
{
	ssize_t n = read_file(root, info->pid, "cmdline", info->command, sizeof(info->command));

	/* Remove the NULs at the end; those between arguments become blanks. */
	while (n > 0 && !info->command[n - 1])
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (!info->command[i])
			info->command[i] = ' ';
	info->command[n > 0 ? n : 0] = '\0';
}

static void read_cgroup(struct gpumon_process_info *info, const char *root)
{
	char text[4096];
	char *at = text, *save;

	if (read_file(root, info->pid, "cgroup", text, sizeof(text)) <= 0)
		return;
	/* For version 2 use the line "0::PATH"; with only version 1, any line. */
	for (char *line = strtok_r(at, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *path = strchr(line, ':');

		path = path ? strchr(path + 1, ':') : NULL;
		if (!path)
			continue;
		if (!strncmp(line, "0::", 3) || !info->cgroup[0])
			snprintf(info->cgroup, sizeof(info->cgroup), "%s", path + 1);
	}
}

void gpumon_process_info_read(struct gpumon_process_info *info, const char *root, pid_t pid)
{
	char text[4096], path[PATH_MAX];
	struct stat namespace;
	const char *field;
	ssize_t n;

	memset(info, 0, sizeof(*info));
	info->rank = UINT32_MAX;
	if (pid <= 0)
		return;
	info->pid = pid;

	if (read_file(root, pid, "stat", text, sizeof(text)) > 0) {
		field = stat_field(text, 4);
		info->parent = field ? (pid_t)strtol(field, NULL, 10) : 0;
		field = stat_field(text, 22);
		info->start_ticks = field ? strtoull(field, NULL, 10) : 0;
		if (info->start_ticks)
			info->start_ns = ticks_to_monotonic(info->start_ticks);
	}
	snprintf(path, sizeof(path), "%s/proc/%d/ns/pid", root, (int)pid);
	if (!stat(path, &namespace))
		info->pid_namespace = namespace.st_ino;
	snprintf(path, sizeof(path), "%s/proc/%d/exe", root, (int)pid);
	n = readlink(path, info->executable, sizeof(info->executable) - 1);
	info->executable[n > 0 ? n : 0] = '\0';
	read_command(info, root);
	read_cgroup(info, root);
	read_rank(info, root);
}

void gpumon_boot_id_read(uint8_t boot_id[16], const char *root)
{
	unsigned int nibbles = 0;
	char text[64];

	memset(boot_id, 0, 16);
	if (!gpumon_read_short(root, "/proc/sys/kernel/random/boot_id", text, sizeof(text)))
		return;
	for (const char *at = text; *at && nibbles < 32; at++) {
		int digit;

		if (!isxdigit((unsigned char)*at))
			continue;
		digit = isdigit((unsigned char)*at) ? *at - '0' : (*at | 0x20) - 'a' + 10;
		boot_id[nibbles / 2] = (uint8_t)(boot_id[nibbles / 2] << 4 | digit);
		nibbles++;
	}
}

int gpumon_process_owner(const char *root, pid_t pid, uid_t *uid)
{
	char path[PATH_MAX];
	struct stat status;

	snprintf(path, sizeof(path), "%s/proc/%d", root, (int)pid);
	if (stat(path, &status))
		return errno == ENOENT ? -ESRCH : -errno;
	*uid = status.st_uid;
	return 0;
}

enum gpumon_process_kind gpumon_process_kind(const char *root, pid_t pid, pid_t *process)
{
	char path[PATH_MAX], *line = NULL, state = '?';
	bool has_memory = false;
	long threads = 1;
	size_t room = 0;
	FILE *status;

	*process = pid;
	snprintf(path, sizeof(path), "%s/proc/%d/status", root, (int)pid);
	status = fopen(path, "re");
	if (!status)
		return GPUMON_PROCESS_NORMAL;
	/* The line of the groups may be long. */
	while (getline(&line, &room, status) > 0) {
		if (!strncmp(line, "State:\t", 7))
			state = line[7];
		else if (!strncmp(line, "Tgid:\t", 6))
			*process = (pid_t)strtol(line + 6, NULL, 10);
		else if (!strncmp(line, "VmSize:", 7))
			has_memory = true;
		else if (!strncmp(line, "Threads:\t", 9))
			threads = strtol(line + 9, NULL, 10);
	}
	free(line);
	fclose(status);
	if (*process != pid)
		return GPUMON_PROCESS_THREAD;
	/* The main thread may have ended while others still run. */
	if (state == 'Z' || state == 'X')
		return threads > 1 ? GPUMON_PROCESS_NORMAL : GPUMON_PROCESS_ENDED;
	return has_memory || state == '?' ? GPUMON_PROCESS_NORMAL : GPUMON_PROCESS_KERNEL;
}

bool gpumon_process_is_stopped(const char *root, pid_t pid)
{
	const char *field = NULL;
	char text[4096];

	if (read_file(root, pid, "stat", text, sizeof(text)) > 0)
		field = stat_field(text, 3);
	return field && (*field == 'T' || *field == 't');
}

/* Inodes of the shared memory that a process has mapped. Returns how many. */
static unsigned int find_channels(const char *root, pid_t pid, uint64_t *inodes, unsigned int room)
{
	char path[PATH_MAX], *line = NULL;
	unsigned int count = 0;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/%d/maps", root, (int)pid);
	file = fopen(path, "re");
	while (file && count < room && getline(&line, &size, file) > 0) {
		if (strstr(line, CHANNEL_FILE) &&
		    sscanf(line, "%*s %*s %*s %*s %" SCNu64, &inodes[count]) == 1)
			count++;
	}
	free(line);
	if (file)
		fclose(file);
	return count;
}

static bool has_open(const char *root, pid_t pid, const uint64_t *inodes, unsigned int count)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	bool found = false;
	DIR *entries;

	snprintf(path, sizeof(path), "%s/proc/%d/fd", root, (int)pid);
	entries = gpumon_folder_entries(AT_FDCWD, path, 0);
	while (entries && !found && (entry = readdir(entries))) {
		char to[sizeof(CHANNEL_FILE)] = "";
		struct stat status;

		if (readlinkat(dirfd(entries), entry->d_name, to, sizeof(to) - 1) < 0 ||
		    strcmp(to, CHANNEL_FILE) != 0 ||
		    fstatat(dirfd(entries), entry->d_name, &status, 0))
			continue;
		for (unsigned int i = 0; i < count; i++)
			found |= inodes[i] == status.st_ino;
	}
	if (entries)
		closedir(entries);
	return found;
}

pid_t gpumon_process_recorder(const char *root, pid_t pid)
{
	uint64_t inodes[CHANNELS_MAX];
	unsigned int count = find_channels(root, pid, inodes, CHANNELS_MAX);
	const struct dirent *entry;
	char path[PATH_MAX], name[32];
	pid_t found = 0;
	DIR *entries;

	if (!count)
		return 0;
	snprintf(path, sizeof(path), "%s/proc", root);
	entries = gpumon_folder_entries(AT_FDCWD, path, 0);
	while (entries && !found && (entry = readdir(entries))) {
		pid_t other = atoi(entry->d_name);

		if (other > 0 && other != getpid() &&
		    read_file(root, other, "comm", name, sizeof(name)) > 0 &&
		    !strcmp(name, "gpumon-user\n") && has_open(root, other, inodes, count))
			found = other;
	}
	if (entries)
		closedir(entries);
	return found;
}

/* PROC_PID_INIT_INO, the same on every kernel. */
#define INITIAL_PID_NAMESPACE "pid:[4026531836]"

/* Read the numbers of a line of /proc/PID/status, from our namespace inwards. */
static unsigned int read_numbers(const char *root, pid_t pid, const char *key, pid_t *numbers,
				 unsigned int room)
{
	size_t length = strlen(key);
	unsigned int count = 0;
	char path[PATH_MAX], line[1024];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/proc/%d/status", root, (int)pid);
	stream = fopen(path, "re");
	if (!stream)
		return 0;
	while (fgets(line, sizeof(line), stream)) {
		char *at = line + length, *end;

		if (strncmp(line, key, length))
			continue;
		for (; count < room; at = end) {
			long number = strtol(at, &end, 10);

			/* Reject a line that contains anything but numbers. */
			if (end == at) {
				count = at[strspn(at, " \t\n")] ? 0 : count;
				break;
			}
			numbers[count++] = (pid_t)number;
		}
		break;
	}
	fclose(stream);
	return count;
}

pid_t gpumon_process_of_thread(const char *root, pid_t tid)
{
	pid_t number = 0;

	return read_numbers(root, tid, "Tgid:", &number, 1) ? number : 0;
}

pid_t gpumon_process_inner_pid(const char *root, pid_t pid)
{
	pid_t numbers[32];
	unsigned int count = read_numbers(root, pid, "NSpid:", numbers, 32);

	return count ? numbers[count - 1] : 0;
}

pid_t gpumon_process_inner_parent(const char *root, pid_t pid, pid_t parent)
{
	pid_t own[32], its[32];
	unsigned int count = read_numbers(root, pid, "NSpid:", own, 32);
	unsigned int there = read_numbers(root, parent, "NSpid:", its, 32);
	struct stat a, b;
	char path[PATH_MAX];

	if (!count || there < count)
		return 0;
	/* The same depth does not mean the same namespace. */
	snprintf(path, sizeof(path), "%s/proc/%d/ns/pid", root, (int)pid);
	if (stat(path, &a))
		return 0;
	snprintf(path, sizeof(path), "%s/proc/%d/ns/pid", root, (int)parent);
	if (stat(path, &b) || a.st_ino != b.st_ino)
		return 0;
	return its[count - 1];
}

static char thread_state(const char *root, pid_t pid, pid_t tid)
{
	char path[PATH_MAX], line[512], *at = NULL;
	FILE *stream;

	snprintf(path, sizeof(path), "%s/proc/%d/task/%d/stat", root, (int)pid, (int)tid);
	stream = fopen(path, "re");
	if (!stream)
		return 'X';
	if (fgets(line, sizeof(line), stream))
		at = strrchr(line, ')');
	fclose(stream);
	return at && at[1] == ' ' ? at[2] : 'X';
}

bool gpumon_process_thread_lives(const char *root, pid_t pid, pid_t tid)
{
	return !strchr("ZXx", thread_state(root, pid, tid));
}

pid_t gpumon_process_living_thread(const char *root, pid_t pid)
{
	struct dirent *entry;
	char path[PATH_MAX];
	pid_t found = 0;
	DIR *folder;

	if (gpumon_process_thread_lives(root, pid, pid))
		return pid;
	snprintf(path, sizeof(path), "%s/proc/%d/task", root, (int)pid);
	folder = opendir(path);
	while (folder && !found && (entry = readdir(folder))) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (tid > 0 && gpumon_process_thread_lives(root, pid, tid))
			found = tid;
	}
	if (folder)
		closedir(folder);
	return found;
}

bool gpumon_initial_pid_namespace(const char *root)
{
	char path[PATH_MAX], target[64];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/proc/self/ns/pid", root);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	return !strcmp(target, INITIAL_PID_NAMESPACE);
}

static bool has_variable(const char *root, pid_t pid, const char *variable)
{
	char path[PATH_MAX], *word = NULL;
	bool found = false;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/%d/environ", root, (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && getdelim(&word, &room, '\0', file) > 0)
		found = !strcmp(word, variable);
	free(word);
	fclose(file);
	return found;
}

unsigned int gpumon_left_behind(const char *root, const char *variable, pid_t *first)
{
	unsigned int count = 0;
	struct dirent *entry;
	char path[PATH_MAX];
	DIR *entries;

	snprintf(path, sizeof(path), "%s/proc", root);
	entries = opendir(path);
	while (entries && (entry = readdir(entries))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid <= 0 || pid == getpid() || !has_variable(root, pid, variable))
			continue;
		if (!count++)
			*first = pid;
	}
	if (entries)
		closedir(entries);
	return count;
}
