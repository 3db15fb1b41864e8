// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Any bytes as records of the event ring, split anywhere by a pipe, through all of "trace": each
 * JSON line is one document with the numbers of a record, in order of time, and every record is
 * printed, hidden, late or a loss.
 */
#include <errno.h>
#include <fcntl.h>
#include <json.h>
#include <string.h>
#include <unistd.h>

#include "driver/event_reader.h"
#include "fuzz.h"
#include "driver/trace.h"

#define EVENTS_MAX 600
#define RINGS	   4

struct names {
	struct gpumon_ring rings[RINGS];
	char *row;
};

static const struct gpumon_ring *find_ring(void *data, unsigned int id)
{
	struct names *names = data;

	return id < RINGS ? &names->rings[id] : NULL;
}

static const char *find_row(void *data, const char *group, const char *table, unsigned int row)
{
	struct names *names = data;

	MUST(group && table);
	return row % 2 ? names->row : NULL;
}

/* The records that a reader must find, however they arrive. */
static size_t read_events(const uint8_t *bytes, size_t size, size_t piece,
			  struct gpumon_event *events)
{
	struct gpumon_event_reader *reader = malloc(sizeof(*reader));
	const struct gpumon_event *some;
	size_t count = 0, sent = 0;
	int ends[2];
	ssize_t n;

	MUST(reader && !pipe2(ends, O_NONBLOCK | O_CLOEXEC));
	gpumon_event_reader_attach(reader, ends[0]);
	do {
		size_t now = piece && piece < size - sent ? piece : size - sent;

		if (now > 60000)
			now = 60000;
		MUST(!now || write(ends[1], bytes + sent, now) == (ssize_t)now);
		sent += now;
		if (sent == size && ends[1] >= 0) {
			close(ends[1]);
			ends[1] = -1;
		}
		while ((n = gpumon_event_reader_read(reader, &some)) > 0) {
			MUST(count + (size_t)n <= EVENTS_MAX);
			memcpy(events + count, some, (size_t)n * sizeof(*some));
			count += (size_t)n;
		}
		MUST(n == 0 || n == -EAGAIN);
	} while (n);
	MUST(count == size / sizeof(*some));
	MUST(reader->cut == (size % sizeof(*some) != 0));
	gpumon_event_reader_close(reader);
	free(reader);
	return count;
}

static uint64_t check_line(const char *line, size_t length, uint64_t last)
{
	struct json_object *object = fuzz_json(line, length), *value;
	uint64_t time;

	MUST(json_object_object_get_ex(object, "time_ns", &value));
	time = json_object_get_uint64(value);
	MUST(time >= last);
	json_object_put(object);
	return time;
}

static void trace(const struct gpumon_trace_options *options, const struct gpumon_event *events,
		  size_t count)
{
	struct gpumon_trace_totals totals;
	struct gpumon_trace *trace;
	struct fuzz_stream stream;
	uint64_t last = 0, lost = 0;

	fuzz_stream_begin(&stream);
	trace = gpumon_trace_new(options, stream.stream);
	MUST(trace);
	gpumon_trace_header(trace);
	for (size_t i = 0; i < count; i++) {
		gpumon_trace_feed(trace, &events[i], 1);
		if (i % 16 == 15) {
			gpumon_trace_drained(trace, events[i].time_ns);
			gpumon_trace_print(trace, i % 64);
		}
	}
	gpumon_trace_drained(trace, UINT64_MAX);
	MUST(!gpumon_trace_print(trace, SIZE_MAX));
	gpumon_trace_get_totals(trace, &totals);
	gpumon_trace_free(trace);
	fuzz_stream_end(&stream);
	for (size_t i = 0; i < count; i++)
		lost += events[i].event == GPUMON_EVENT_LOST;
	MUST(totals.merge.in == count || totals.merge.in + totals.merge.late == count);
	MUST(totals.merge.held == 0);
	MUST(totals.printed + totals.hidden <= totals.merge.out);
	MUST(totals.printed + totals.hidden + lost >= totals.merge.out);
	MUST(!options->count || totals.printed <= options->count);
	if (!options->json) {
		fuzz_is_text(stream.data, stream.size, "\n");
	} else {
		for (char *at = stream.data, *end; (end = strchr(at, '\n')); at = end + 1)
			last = check_line(at, (size_t)(end - at), last);
	}
	fuzz_stream_free(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gpumon_event events[EVENTS_MAX];
	struct fuzz_input input = { data, size };
	struct names names = { 0 };
	struct gpumon_trace_options options = {
		.find_ring = find_ring,
		.find_row = find_row,
		.find_ring_data = &names,
	};
	uint8_t flags = fuzz_u8(&input), *bytes;
	size_t piece, n_bytes, count;
	char *ring = fuzz_text(&input), *group = fuzz_text(&input);

	options.json = flags & 1;
	options.ring = flags & 2 ? ring : NULL;
	options.group = flags & 4 ? group : NULL;
	options.pid = flags & 8 ? fuzz_u8(&input) : 0;
	options.count = flags & 16 ? fuzz_u8(&input) : 0;
	options.end_ns = flags & 32 ? fuzz_u64(&input) : 0;
	options.start_ns = flags & 64 ? fuzz_u64(&input) : 0;
	options.source = flags & 128 ? "bpf" : NULL;
	options.cpus = fuzz_u8(&input) % 9;
	options.window_ns = fuzz_u16(&input);
	options.held_max = 1 + fuzz_u8(&input);
	options.jobs_max = 1 + fuzz_u8(&input) % 32;
	options.ring_width = fuzz_u8(&input);
	for (size_t i = 0; i < RINGS; i++) {
		names.rings[i].name = i ? fuzz_text(&input) : NULL;
		names.rings[i].device = i % 2 ? fuzz_text(&input) : NULL;
	}
	names.row = fuzz_text(&input);
	piece = fuzz_u8(&input);
	bytes = fuzz_bytes(&input, EVENTS_MAX * sizeof(*events), &n_bytes);
	count = read_events(bytes, n_bytes, piece, events);
	trace(&options, events, count);
	for (size_t i = 0; i < RINGS; i++) {
		free(names.rings[i].name);
		free(names.rings[i].device);
	}
	free(names.row);
	free(bytes);
	free(ring);
	free(group);
	return 0;
}
