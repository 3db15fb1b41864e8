// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/capture.h"
#include "kept.h"
#include "profile_tables.h"

/* Maximum number of functions inlined at one address. */
#define INLINED_MAX 32
/* Code that was unmapped and mapped more often is left to the reader of the capture. */
#define EPOCHS_MAX 64

#define NEW_FILE ".symbols.new"

/* Everything in a capture that names depend on. */
struct names {
	struct gpumon_capture *capture;
	struct gpumon_pool pool;
	struct gpumon_tables tables;
	int directory;
};

static int no_memory(struct gpumon_error *err)
{
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ENOMEM, GPUMON_ERROR_MEMORY,
				"no names of functions are kept in the capture: no memory");
}

static int read_capture(struct names *names, const char *path, struct gpumon_error *err)
{
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;
	uint32_t count;

	if (gpumon_capture_open(path, &names->capture)) {
		*err = *gpumon_capture_error();
		return -1;
	}
	names->tables.pool = &names->pool;
	while ((record = gpumon_capture_next(names->capture, &cursor))) {
		if (cursor.process != GPUMON_PROCESS_DRIVER &&
		    gpumon_tables_record(&names->tables, cursor.process, record))
			return no_memory(err);
	}
	count = gpumon_capture_processes(names->capture);
	if (count && !gpumon_tables_process(&names->tables, count - 1))
		return no_memory(err);
	for (uint32_t i = 0; i < count; i++)
		names->tables.processes[i].name = gpumon_capture_name(names->capture, i);
	return 0;
}

/* Use the live process's root. Do not use the files of another process with the same pid. */
static int find_root(struct gpumon_tables_process *process)
{
	char root[64];

	if (!process->record.host_pid)
		return 0;
	snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root", process->record.host_pid);
	if (access(root, X_OK))
		return 0;
	process->root = strdup(root);
	return process->root ? 0 : -1;
}

/* All code addresses on stacks, in the form used for look-ups. NULL without memory. */
static uint64_t *find_addresses(const struct gpumon_tables_process *process, size_t *count)
{
	uint64_t *addresses = malloc((process->stack_used + 1) * sizeof(*addresses));
	size_t used = 0, distinct = 0;

	if (!addresses)
		return NULL;
	for (size_t at = 0; at < process->stack_used;) {
		uint32_t depth = (uint32_t)process->stack[at++];

		for (uint32_t i = 0; i < depth && at < process->stack_used; i++) {
			uint64_t address = process->stack[at++];

			if (!(address & GPUMON_STACK_FRAME_ID) && address)
				addresses[used++] = gpumon_stack_code(address, i);
		}
	}
	if (used)
		qsort(addresses, used, sizeof(*addresses), gpumon_by_value);
	for (size_t i = 0; i < used; i++) {
		if (!distinct || addresses[distinct - 1] != addresses[i])
			addresses[distinct++] = addresses[i];
	}
	*count = distinct;
	return addresses;
}

/* A time in an epoch at which all of its mappings exist. */
static uint64_t time_of(const struct gpumon_tables_process *process, uint32_t epoch)
{
	return epoch < process->unmapped_used ? process->unmapped[epoch] - 1 : INT64_MAX;
}

static int write_names(FILE *out, const struct gpumon_tables_process *process)
{
	struct gpumon_symbol found[INLINED_MAX];
	size_t count = 0;
	uint64_t *addresses = find_addresses(process, &count);

	if (!addresses)
		return -1;
	for (uint32_t epoch = 0; epoch <= process->unmapped_used; epoch++) {
		uint64_t time_ns = time_of(process, epoch);

		for (size_t i = 0; i < count && !ferror(out); i++) {
			unsigned int n = gpumon_symbols_find(process->symbols, addresses[i],
							     time_ns, found, INLINED_MAX);

			if (n && gpumon_symbol_is_name(&found[0]))
				gpumon_kept_write(out, addresses[i], epoch, found, n);
		}
	}
	free(addresses);
	return 0;
}

static int keep_process(const struct names *names, const struct gpumon_tables_process *process,
			const char *path, struct gpumon_error *err)
{
	char file[NAME_MAX];
	int fd, error = 0;
	FILE *out;

	if (!process->name || !process->stack_used || process->unmapped_used > EPOCHS_MAX)
		return 0;
	snprintf(file, sizeof(file), "%s" GPUMON_KEPT_SUFFIX, process->name);
	(void)unlinkat(names->directory, NEW_FILE, 0);
	fd = openat(names->directory, NEW_FILE,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		error = errno;
		if (fd >= 0)
			close(fd);
	} else {
		errno = 0;
		if (write_names(out, process))
			error = ENOMEM;
		if (ferror(out) && !error)
			error = errno ? errno : EIO;
		if (fclose(out) && !error)
			error = errno;
	}
	if (!error && renameat(names->directory, NEW_FILE, names->directory, file))
		error = errno;
	if (!error)
		return 0;
	(void)unlinkat(names->directory, NEW_FILE, 0);
	return gpumon_error_set(
		err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO,
		"names of functions cannot be kept in %s: %s: they are looked up when the capture is read",
		path, strerror(error));
}

int gpumon_keep_names(int directory, const char *path, struct gpumon_error *err)
{
	struct names names = { .directory = directory };
	char self[64];
	const char *const paths[] = { self };
	int ret;

	/* Another directory may have the capture's name by now. */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", directory);
	ret = read_capture(&names, self, err);

	for (uint32_t i = 0; !ret && i < names.tables.used; i++) {
		if (find_root(&names.tables.processes[i]))
			ret = no_memory(err);
	}
	if (!ret && gpumon_tables_end(&names.tables, paths))
		ret = no_memory(err);
	for (uint32_t i = 0; !ret && i < names.tables.used; i++)
		ret = keep_process(&names, &names.tables.processes[i], path, err);
	gpumon_tables_clear(&names.tables);
	gpumon_pool_clear(&names.pool);
	gpumon_capture_free(names.capture);
	return ret;
}
