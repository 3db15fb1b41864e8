// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture_internal.h"
#include "captures.h"
#include "lib/array.h"
#include "lib/format.h"
#include "lib/memory.h"
#include "profile_ranges.h"
#include "time_range.h"

/* How many names a message has, and how long they are. */
#define NAMES_TOLD 5
#define NAME_TOLD  60

/* A range of that name; @whole: of the whole word, which may end like a number. */
struct occurrence {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t process;
	bool whole;
};

/**
 * struct search - the pass that looks for ranges
 * @word: what was asked for
 * @length: bytes of it in front of the number; 0 without a number
 * @ended_ns: end of the recording
 * @finishing: ranges that have not ended are told, which last until then
 * @at: what was found
 */
struct search {
	struct gpumon_captures *captures;
	struct gpumon_ranges ranges;
	const char *word;
	size_t length;
	uint64_t ended_ns;
	bool finishing;
	struct occurrence *at;
	uint32_t used;
	uint32_t room;
};

static void on_range(void *data, const struct gpumon_range_ended *ended)
{
	struct search *search = data;
	const char *text = ended->row->text;
	bool whole = !strcmp(text, search->word);
	uint64_t end_ns = ended->end_ns;

	/* The end of one that is nested too deep is not known. */
	if (end_ns < ended->open->time_ns && !search->finishing)
		return;
	if (end_ns < ended->open->time_ns)
		end_ns = search->ended_ns;
	if (whole || (search->length && strlen(text) == search->length &&
		      !memcmp(text, search->word, search->length)))
		*(struct occurrence *)GPUMON_ARRAY_ADD(search->at, search->used, search->room) =
			(struct occurrence){ ended->open->time_ns, end_ns, ended->process, whole };
}

static void on_record(void *data, uint32_t number, const struct gpumon_record *record)
{
	struct search *search = data;

	if (record->type == GPUMON_RECORD_RANGE && !gpumon_captures_is_driver(number))
		gpumon_ranges_record(&search->ranges, number,
				     &search->captures->tables.processes[number], record);
}

static int by_begin(const void *a, const void *b)
{
	const struct occurrence *x = a, *y = b;

	if (x->whole != y->whole)
		return x->whole ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static void sort_occurrences(struct search *search)
{
	if (!search->used)
		return;
	qsort(search->at, search->used, sizeof(*search->at), by_begin);
	if (!search->at[0].whole)
		return;
	search->length = 0;
	while (!search->at[search->used - 1].whole)
		search->used--;
}

/* --- names that are meant */

/* How many letters have to change. */
static unsigned int distance_of(const char *a, const char *b)
{
	unsigned int row[NAME_TOLD + 1], length = (unsigned int)strnlen(b, NAME_TOLD);

	for (unsigned int i = 0; i <= length; i++)
		row[i] = i;
	for (unsigned int k = 0; a[k] && k < NAME_TOLD; k++) {
		unsigned int diagonal = row[0];

		row[0] = k + 1;
		for (unsigned int i = 1; i <= length; i++) {
			bool same = tolower((unsigned char)a[k]) ==
				    tolower((unsigned char)b[i - 1]);
			unsigned int least = diagonal + !same;

			diagonal = row[i];
			least = least < row[i] + 1 ? least : row[i] + 1;
			row[i] = least < row[i - 1] + 1 ? least : row[i - 1] + 1;
		}
	}
	return row[length];
}

/* One that contains it, or is contained, is near. */
static unsigned int farness(const char *asked, const char *name)
{
	return (strcasestr(name, asked) || strcasestr(asked, name) ? 0 : NAME_TOLD) +
	       distance_of(asked, name);
}

static int no_such_name(const struct search *search)
{
	const char *asked = search->word;
	const struct gpumon_range_row *rows = search->ranges.rows;
	uint32_t count = search->ranges.row_keys.used, told = 0;
	char list[NAMES_TOLD * (NAME_TOLD + 8)] = "";
	bool *used = gpumon_calloc((size_t)count + 1, sizeof(*used));
	size_t at = 0;

	for (; told < NAMES_TOLD && told < count; told++) {
		uint32_t nearest = count;

		for (uint32_t i = 0; i < count; i++) {
			if (!used[i] &&
			    (nearest == count ||
			     farness(asked, rows[i].text) < farness(asked, rows[nearest].text)))
				nearest = i;
		}
		used[nearest] = true;
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s\"%.*s\"", told ? ", " : "",
				       NAME_TOLD, rows[nearest].text);
	}
	free(used);
	if (!count)
		return gpumon_capture_fail(
			-ENOENT, GPUMON_ERROR_USAGE,
			"--range %s: there are no NVTX ranges in it: record with --nvtx", asked);
	return gpumon_capture_fail(-ENOENT, GPUMON_ERROR_USAGE,
				   "--range %s: no NVTX range has that name: there %s %s%s", asked,
				   count == 1 ? "is" : "are", list,
				   told < count ? " and others" : "");
}

/* --- which ones */

/* The number behind the name; 0: there is none. */
static long long split(struct search *search)
{
	const char *colon = strrchr(search->word, ':');
	long long number;
	char *end;

	if (!colon || colon == search->word ||
	    !isdigit((unsigned char)colon[colon[1] == '-' ? 2 : 1]))
		return 0;
	errno = 0;
	number = strtoll(colon + 1, &end, 10);
	if (*end || errno)
		return 0;
	search->length = (size_t)(colon - search->word);
	return number;
}

static void take(struct gpumon_time_range *range, const struct occurrence *at)
{
	if (!range->from_ns || at->start_ns < range->from_ns)
		range->from_ns = at->start_ns;
	if (at->end_ns > range->until_ns)
		range->until_ns = at->end_ns;
}

/* The one with that number of each process, or with 0 all. */
static int choose(const struct search *search, long long number, struct gpumon_time_range *range)
{
	uint64_t most = 0;

	for (uint32_t i = 0, n; i < search->used; i += n) {
		uint64_t which = (uint64_t)(number < 0 ? -number : number);

		for (n = 1;
		     i + n < search->used && search->at[i + n].process == search->at[i].process;)
			n++;
		most = n > most ? n : most;
		if (which > n)
			continue;
		range->processes++;
		if (number < 0)
			which = n + 1 - which;
		for (uint64_t k = which ? which - 1 : 0; k < (which ? which : n); k++)
			take(range, &search->at[i + k]);
		if (!range->first || which < range->first)
			range->first = which ? which : 1;
		which = which ? which : n;
		range->last = which > range->last ? which : range->last;
	}
	if (range->processes)
		return 0;
	return gpumon_capture_fail(-ENOENT, GPUMON_ERROR_USAGE,
				   "--range %s: there %s %" PRIu64 " of that name%s", search->word,
				   most == 1 ? "is" : "are", most,
				   number < 0 ? "" : ", counted from 1");
}

static int find_named(struct gpumon_captures *captures, const char *word,
		      struct gpumon_time_range *range)
{
	struct search search = {
		.captures = captures,
		.ranges = { .pool = captures->tables.pool, .ended = on_range, .data = &search },
		.word = word,
		.ended_ns = range->ended_ns,
	};
	const struct gpumon_captures_pass pass = { .record = on_record, .data = &search };
	long long number = split(&search);
	int ret = gpumon_captures_read(captures, &pass);

	if (!ret) {
		search.finishing = true;
		gpumon_ranges_finish(&search.ranges);
		sort_occurrences(&search);
		if (!search.used)
			ret = no_such_name(&search);
		else if (!search.length)
			ret = choose(&search, 0, range);
		else if (!number)
			ret = gpumon_capture_fail(
				-EINVAL, GPUMON_ERROR_USAGE,
				"--range %s: the first one is 1, and the last one -1", word);
		else
			ret = choose(&search, number, range);
	}
	if (!ret)
		range->name = gpumon_strndup(word, search.length ? search.length : strlen(word));
	gpumon_ranges_clear(&search.ranges);
	free(search.at);
	return ret;
}

/* --- times */

/* Of a recording that began at 0, so that no sum overflows. */
static int find_times(const struct gpumon_asked_range *asked, struct gpumon_time_range *range)
{
	uint64_t length_ns = range->ended_ns - range->began_ns;
	uint64_t to_ns = asked->has_to && asked->to_ns < length_ns ? asked->to_ns : length_ns;
	char from[GPUMON_FORMAT_LEN], to[GPUMON_FORMAT_LEN];

	if (asked->has_to && asked->from_ns >= asked->to_ns)
		return gpumon_capture_fail(
			-EINVAL, GPUMON_ERROR_USAGE, "--from %s is not before --to %s",
			gpumon_format_ns(from, sizeof(from), gpumon_value_of(asked->from_ns)),
			gpumon_format_ns(to, sizeof(to), gpumon_value_of(asked->to_ns)));
	if (asked->from_ns >= length_ns)
		return gpumon_capture_fail(
			-ERANGE, GPUMON_ERROR_USAGE,
			"--from %s is beyond the end of the recording, which is %s long",
			gpumon_format_ns(from, sizeof(from), gpumon_value_of(asked->from_ns)),
			gpumon_format_ns(to, sizeof(to), gpumon_value_of(length_ns)));
	range->from_ns = range->began_ns + asked->from_ns;
	range->until_ns = range->began_ns + to_ns;
	return 0;
}

int gpumon_time_range_find(struct gpumon_captures *captures, const struct gpumon_asked_range *asked,
			   struct gpumon_time_range *range)
{
	if (range->ended_ns <= range->began_ns)
		return gpumon_capture_fail(-ENODATA, GPUMON_ERROR_USAGE,
					   "%s: nothing was recorded: there is no part of it",
					   captures->paths[0]);
	if (!asked->name)
		return find_times(asked, range);
	if (find_named(captures, asked->name, range))
		return -1;
	if (range->until_ns > range->from_ns)
		return 0;
	return gpumon_capture_fail(-ERANGE, GPUMON_ERROR_USAGE, "--range %s: it took no time",
				   asked->name);
}

void gpumon_time_range_clear(struct gpumon_time_range *range)
{
	free(range->name);
	range->name = NULL;
}

const char *gpumon_time_range_text(char *buf, size_t len, const struct gpumon_time_range *range)
{
	char from[GPUMON_FORMAT_LEN], until[GPUMON_FORMAT_LEN], length[GPUMON_FORMAT_LEN];
	char number[64] = "", of[48] = "";

	if (range->name && range->first == range->last)
		snprintf(number, sizeof(number), ":%" PRIu64, range->first);
	else if (range->name)
		snprintf(number, sizeof(number), ", %" PRIu64 " to %" PRIu64, range->first,
			 range->last);
	if (range->name && range->processes > 1)
		snprintf(of, sizeof(of), " of %u processes", range->processes);
	snprintf(buf, len, "only %s to %s of %s%s%.200s%s%s",
		 gpumon_format_ns(from, sizeof(from),
				  gpumon_value_of(range->from_ns - range->began_ns)),
		 gpumon_format_ns(until, sizeof(until),
				  gpumon_value_of(range->until_ns - range->began_ns)),
		 gpumon_format_ns(length, sizeof(length),
				  gpumon_value_of(range->ended_ns - range->began_ns)),
		 range->name ? ": range " : "", range->name ? range->name : "", number, of);
	return buf;
}
