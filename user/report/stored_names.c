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
#include "stored_names.h"
#include "lib/array.h"
#include "lib/memory.h"
#include "lib/map.h"
#include "lib/files.h"
#include "captures.h"

#define HEAD "gpumon-symbols 1\n"
/* The file is not trusted: read no more than this. */
#define FILE_MAX (256u << 20)

struct function {
	struct gpumon_symbol symbol;
	uint32_t next; /* function that it is inlined into: number + 1 */
};

struct gpumon_stored_names {
	struct gpumon_pool pool;
	struct gpumon_keys places;
	uint32_t *first; /* of an address: number + 1 */
	uint32_t first_room;
	struct function *functions;
	uint32_t used;
	uint32_t room;
};

bool gpumon_symbol_is_name(const struct gpumon_symbol *symbol)
{
	size_t length = strlen(symbol->module);

	return strncmp(symbol->function, symbol->module, length) != 0 ||
	       strncmp(symbol->function + length, "+0x", 3) != 0;
}

/* --- writing */

static void write_field(FILE *out, const char *text, char end)
{
	for (; *text; text++) {
		switch (*text) {
		case '\\':
			fputs("\\\\", out);
			break;
		case '\t':
			fputs("\\t", out);
			break;
		case '\n':
			fputs("\\n", out);
			break;
		default:
			putc(*text, out);
		}
	}
	putc(end, out);
}

void gpumon_stored_names_write(FILE *out, uint64_t address, uint32_t epoch,
			       const struct gpumon_symbol *found, unsigned int count)
{
	if (ftell(out) == 0)
		fputs(HEAD, out);
	fprintf(out, "@%" PRIx64 " %" PRIu32 "\n", address, epoch);
	for (unsigned int i = 0; i < count; i++) {
		putc(i + 1 < count && found[i].inlined ? '+' : '=', out);
		write_field(out, found[i].function, '\t');
		write_field(out, found[i].module, '\t');
		fprintf(out, "%u\t", found[i].line);
		write_field(out, found[i].file, '\n');
	}
}

/* --- reading */

/* Take the next field of a line and unescape it in place. NULL if there is none. */
static char *take_field(char **at)
{
	char *field = *at, *to = field, *from = field;

	if (!field)
		return NULL;
	for (; *from && *from != '\t'; from++) {
		if (*from == '\\' && from[1]) {
			from++;
			*to++ = *from == 't' ? '\t' : *from == 'n' ? '\n' : *from;
		} else {
			*to++ = *from;
		}
	}
	*at = *from ? from + 1 : NULL;
	*to = '\0';
	return field;
}

/* Returns whether it is a valid address that is not known yet. */
static bool add_place(struct gpumon_stored_names *names, const char *line, uint32_t *place)
{
	struct gpumon_key key = { { 0 } };
	const uint32_t *first;
	uint64_t epoch;
	bool added;
	char *end;

	errno = 0;
	key.part[0] = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	epoch = strtoull(end + 1, &end, 10);
	if (*end || errno || epoch > UINT32_MAX)
		return false;
	key.part[1] = epoch;
	first = GPUMON_KEYS_VALUE(&names->places, &key, names->first, names->first_room, &added);
	*place = (uint32_t)(first - names->first);
	return added;
}

/* The number of the function of a line + 1; 0 if it is invalid. */
static uint32_t add_function(struct gpumon_stored_names *names, char *line)
{
	bool inlined = *line == '+';
	char *at = line + 1, *text[4];
	struct function *function;
	char *end;

	for (unsigned int i = 0; i < 4; i++) {
		text[i] = take_field(&at);
		if (!text[i])
			return 0;
	}
	function = GPUMON_ARRAY_ADD(names->functions, names->used, names->room);
	function->symbol.inlined = inlined;
	function->symbol.function = gpumon_pool_text(&names->pool, text[0]);
	function->symbol.module = gpumon_pool_text(&names->pool, text[1]);
	function->symbol.line = (unsigned int)strtoul(text[2], &end, 10);
	function->symbol.file = gpumon_pool_text(&names->pool, text[3]);
	return names->used;
}

static void add_line(struct gpumon_stored_names *names, char *line, uint32_t *place,
		     uint32_t *previous)
{
	uint32_t number;

	if (*line == '@') {
		*previous = 0;
		if (!add_place(names, line + 1, place))
			*place = GPUMON_KEY_NONE;
		return;
	}
	if ((*line != '=' && *line != '+') || *place == GPUMON_KEY_NONE)
		return;
	number = add_function(names, line);
	if (!number)
		return;
	if (*previous)
		names->functions[*previous - 1].next = number;
	else
		names->first[*place] = number;
	*previous = number;
}

static void parse_stored_names(struct gpumon_stored_names *names, char *text)
{
	uint32_t place = GPUMON_KEY_NONE, previous = 0;

	while (*text) {
		char *end = strchr(text, '\n');

		/* Ignore an incomplete last line. */
		if (!end)
			return;
		*end = '\0';
		add_line(names, text, &place, &previous);
		text = end + 1;
	}
}

struct gpumon_stored_names *gpumon_stored_names_read(const char *path)
{
	struct gpumon_stored_names *names;
	char *text = gpumon_read_file(AT_FDCWD, path, FILE_MAX);

	if (!text)
		return NULL;
	if (strncmp(text, HEAD, strlen(HEAD)) != 0) {
		free(text);
		errno = EINVAL;
		return NULL;
	}
	names = gpumon_calloc(1, sizeof(*names));
	parse_stored_names(names, text + strlen(HEAD));
	free(text);
	return names;
}

unsigned int gpumon_stored_names_find(const struct gpumon_stored_names *names, uint64_t address,
				      uint32_t epoch, struct gpumon_symbol *found,
				      unsigned int room)
{
	const struct gpumon_key key = { { address, epoch } };
	unsigned int count = 0;
	uint32_t place, number;

	if (!names)
		return 0;
	/* Without @added nothing is added, so the cast is safe. */
	place = gpumon_keys_number((struct gpumon_keys *)&names->places, &key, NULL);
	if (place == GPUMON_KEY_NONE)
		return 0;
	for (number = names->first[place]; number && count < room;
	     number = names->functions[number - 1].next)
		found[count++] = names->functions[number - 1].symbol;
	return count;
}

void gpumon_stored_names_free(struct gpumon_stored_names *names)
{
	if (!names)
		return;
	gpumon_pool_clear(&names->pool);
	gpumon_keys_clear(&names->places);
	free(names->first);
	free(names->functions);
	free(names);
}

/* --- the names of a capture */

/* Maximum number of functions inlined at one address. */
#define INLINED_MAX 32
/* Code that was unmapped and mapped more often is left to the reader of the capture. */
#define EPOCHS_MAX 64

#define NEW_FILE ".symbols.new"

/* Use the live process's root. Do not use the files of another process with the same pid. */
static void find_root(struct gpumon_tables_process *process)
{
	char root[64];

	if (!process->record.host_pid)
		return;
	snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root", process->record.host_pid);
	if (!access(root, X_OK))
		process->root = gpumon_strdup(root);
}

/* All code addresses on stacks, in the form used for look-ups. To free. */
static uint64_t *find_addresses(const struct gpumon_tables_process *process, size_t *count)
{
	uint64_t *addresses =
		gpumon_reallocarray(NULL, process->stack_used + 1, sizeof(*addresses));
	size_t used = 0, distinct = 0;

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

static void write_names(FILE *out, const struct gpumon_tables_process *process)
{
	struct gpumon_symbol found[INLINED_MAX];
	size_t count = 0;
	uint64_t *addresses = find_addresses(process, &count);

	for (uint32_t epoch = 0; epoch <= process->unmapped_used; epoch++) {
		uint64_t time_ns = time_of(process, epoch);

		for (size_t i = 0; i < count && !ferror(out); i++) {
			unsigned int n = gpumon_symbols_find(process->symbols, addresses[i],
							     time_ns, found, INLINED_MAX);

			if (n && gpumon_symbol_is_name(&found[0]))
				gpumon_stored_names_write(out, addresses[i], epoch, found, n);
		}
	}
	free(addresses);
}

static int store_process(int directory, const struct gpumon_tables_process *process,
			 const char *path, struct gpumon_error *err)
{
	char file[NAME_MAX];
	int fd, error = 0;
	FILE *out;

	if (!process->name || !process->stack_used || process->unmapped_used > EPOCHS_MAX)
		return 0;
	snprintf(file, sizeof(file), "%s" GPUMON_STORED_NAMES_SUFFIX, process->name);
	(void)unlinkat(directory, NEW_FILE, 0);
	fd = openat(directory, NEW_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		error = errno;
		if (fd >= 0)
			close(fd);
	} else {
		errno = 0;
		write_names(out, process);
		if (ferror(out))
			error = errno ? errno : EIO;
		if (fclose(out) && !error)
			error = errno;
	}
	if (!error && renameat(directory, NEW_FILE, directory, file))
		error = errno;
	if (!error)
		return 0;
	(void)unlinkat(directory, NEW_FILE, 0);
	return gpumon_error_set(
		err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO,
		"names of functions cannot be names in %s: %s: they are looked up when the capture is read",
		path, strerror(error));
}

int gpumon_store_names(int directory, const char *path, struct gpumon_error *err)
{
	struct gpumon_captures captures = { 0 };
	struct gpumon_pool pool = { 0 };
	char self[64];
	const char *const paths[] = { self };
	int ret = 0;

	/* Another directory may have the capture's name by now. */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", directory);
	if (gpumon_captures_open(&captures, paths, 1, &pool) ||
	    gpumon_captures_define(&captures, NULL)) {
		*err = *gpumon_capture_error();
		ret = -1;
		goto out;
	}
	for (uint32_t i = 0; i < captures.tables.used; i++)
		find_root(&captures.tables.processes[i]);
	gpumon_captures_find_symbols(&captures);
	for (uint32_t i = 0; !ret && i < captures.tables.used; i++)
		ret = store_process(directory, &captures.tables.processes[i], path, err);
out:
	gpumon_captures_close(&captures);
	gpumon_pool_clear(&pool);
	return ret;
}
