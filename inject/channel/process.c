// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/prepared.h"
#include "base/threads.h"
#include "intern.h"
#include "process.h"

/* Command lines of compilers and launchers are long; the first arguments are enough. */
#define TEXT_SIZE 16384

/* A small file of /proc. The length without the terminating 0; 0 where it cannot be read. */
static size_t read_proc_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got;

	if (fd >= 0) {
		while (length < size - 1 && (got = read(fd, text + length, size - 1 - length)) > 0)
			length += (size_t)got;
		close(fd);
	}
	text[length] = '\0';
	return length;
}

static void read_proc_link(const char *path, char *text, size_t size)
{
	ssize_t length = readlink(path, text, size - 1);

	text[length > 0 ? length : 0] = '\0';
}

/* Field 22, in ticks of CLOCK_BOOTTIME. The name in field 2 may contain blanks. */
static uint64_t read_start_time(char *text)
{
	struct timespec boot;
	uint64_t ticks, since_boot, monotonic;
	const char *at;
	int field;

	read_proc_text("/proc/self/stat", text, TEXT_SIZE);
	at = strrchr(text, ')');
	for (field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return 0;
	ticks = strtoull(at, NULL, 10);
	since_boot = ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
	inject_clock(CLOCK_BOOTTIME, &boot);
	monotonic = inject_now();
	since_boot -= (uint64_t)boot.tv_sec * 1000000000ull + (uint64_t)boot.tv_nsec - monotonic;
	return since_boot < monotonic ? since_boot : monotonic;
}

static void read_boot_id(uint8_t *id)
{
	char text[64], digits[3] = "";
	const char *at = text;
	unsigned int i;

	read_proc_text("/proc/sys/kernel/random/boot_id", text, sizeof(text));
	for (i = 0; i < 16; i++) {
		at += *at == '-';
		if (!at[0] || !at[1])
			return;
		digits[0] = at[0];
		digits[1] = at[1];
		id[i] = (uint8_t)strtoul(digits, NULL, 16);
		at += 2;
	}
}

static uint32_t read_command_line(struct inject_thread *thread, char *text)
{
	size_t length = read_proc_text("/proc/self/cmdline", text, TEXT_SIZE), i;

	while (length && !text[length - 1])
		length--;
	for (i = 0; i < length; i++)
		if (!text[i])
			text[i] = ' ';
	return inject_intern_text(thread, text, length);
}

/* The path in the hierarchy of cgroup version 2, else that of the first line. */
static uint32_t read_cgroup(struct inject_thread *thread, char *text)
{
	char *line, *path;

	read_proc_text("/proc/self/cgroup", text, TEXT_SIZE);
	line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
	if (!line)
		line = text;
	line += *line == '\n';
	path = strchr(line, ':');
	path = path ? strchr(path + 1, ':') : NULL;
	if (!path)
		return 0;
	path++;
	path[strcspn(path, "\n")] = '\0';
	return inject_intern_string(thread, path);
}

struct errand {
	struct inject_thread *thread;
	struct gpumon_record_process record;
};

static void fill_process_record(void *argument)
{
	struct errand *errand = argument;
	struct inject_thread *thread = errand->thread;
	struct gpumon_record_process *record = &errand->record;
	static char text[TEXT_SIZE];
	struct utsname name;
	const char *digits;

	record->start_ns = read_start_time(text);
	read_boot_id(record->boot_id);
	read_proc_link("/proc/self/ns/pid", text, sizeof(text));
	digits = strchr(text, '[');
	if (digits)
		record->pid_namespace = strtoull(digits + 1, NULL, 10);
	if (uname(&name) == 0)
		record->host = inject_intern_string(thread, name.nodename);
	read_proc_link("/proc/self/exe", text, PATH_MAX);
	record->executable = inject_intern_string(thread, text);
	record->command = read_command_line(thread, text);
	record->cgroup = read_cgroup(thread, text);
}

void inject_process_write(struct inject_thread *thread, const struct inject_versions *versions)
{
	struct errand errand = {
		.thread = thread,
		.record = {
			.head = { .type = GPUMON_RECORD_PROCESS, .size = sizeof(errand.record) },
			.pid = (uint32_t)getpid(),
			.parent = (uint32_t)getppid(),
			.rank = inject_environment.rank,
			.cupti_version = versions->tracing,
			.driver_version = versions->driver,
			.runtime_version = versions->runtime,
		},
	};

	inject_threads_run_unshared(fill_process_record, &errand);
	inject_append(thread, &errand.record);
}

void inject_api_write(struct inject_thread *thread, uint32_t api, const char *name,
		      const char *version, const char *platform)
{
	const struct gpumon_record_api record = {
		.head = { .type = GPUMON_RECORD_API, .size = sizeof(record) },
		.api = api,
		.name = inject_intern_string(thread, name),
		.version = inject_intern_string(thread, version),
		.platform = inject_intern_string(thread, platform),
	};

	inject_append(thread, &record);
}
