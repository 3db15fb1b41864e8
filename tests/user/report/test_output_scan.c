// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Data of captures besides their profile: processes, notes, totals, and when GPUs were busy. */
#include "common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture_maker.h"
#include "report/output.h"
#include "report/scan.h"

static const struct gpumon_profile_options no_options;

static char *path_in(const char *directory, const char *name)
{
	char *path = NULL;

	assert_true(asprintf(&path, "%s/%s", directory, name) > 0);
	return path;
}

static const struct gpumon_scan_row *row_of(const struct gpumon_scan *scan, uint32_t stream)
{
	for (unsigned int i = 0; i < scan->row_count; i++) {
		if (scan->rows[i].stream == stream)
			return &scan->rows[i];
	}
	return NULL;
}

static uint64_t sum(const struct gpumon_scan *scan, uint32_t stream)
{
	const struct gpumon_scan_row *row = row_of(scan, stream);
	uint64_t all = 0;

	assert_non_null(row);
	for (unsigned int i = 0; i < scan->bins; i++) {
		assert_true(row->busy_ns[i] <= scan->bin_ns);
		all += row->busy_ns[i];
	}
	return all;
}

/* Overlapping operations out of order: each nanosecond counts once, in its bin. */
static void busy_bins(void **state)
{
	struct capture_maker *maker = capture_maker_new();
	const struct gpumon_profile_options options = { .bins = 10 };
	char *directory = capture_maker_directory(), *path = path_in(directory, "a");
	const char *const paths[] = { path };
	const struct gpumon_device_row *devices;
	struct gpumon_profile *profile;
	const struct gpumon_scan *scan;
	unsigned int count;
	uint32_t name = make_string(maker, "kernel");

	(void)state;
	make_process(maker, .pid = 1, .rank = ~0u);
	/* From 1000 to 2000, in bins of 101. */
	make_kernel(maker, .start_ns = 1900, .end_ns = 2000, .correlation = 1, .name = name,
		    .context = 1, .stream = 8);
	make_kernel(maker, .start_ns = 1050, .end_ns = 1150, .correlation = 2, .name = name,
		    .context = 1, .stream = 7);
	make_kernel(maker, .start_ns = 1000, .end_ns = 1100, .correlation = 3, .name = name,
		    .context = 1, .stream = 7);
	make_copy(maker, .start_ns = 1120, .end_ns = 1130, .correlation = 4, .context = 1,
		  .stream = 8);
	make_set(maker, .start_ns = 1500, .end_ns = 1501, .correlation = 5, .context = 1,
		 .stream = 7);
	/* What has no times is not busy in the table, so it is not on the timeline, either. */
	make_kernel(maker, .head.flags = GPUMON_WORK_UNFINISHED, .start_ns = 1600, .correlation = 6,
		    .name = name, .context = 1, .stream = 7);
	make_kernel(maker, .head.flags = GPUMON_WORK_FAILED, .start_ns = 1600, .end_ns = 1700,
		    .correlation = 7, .name = name, .context = 1, .stream = 7);
	capture_maker_save(maker, path, "process-1-1", 1);
	assert_int_equal(gpumon_profile_load(paths, 1, &options, &profile), 0);
	scan = gpumon_profile_scan(profile);
	assert_int_equal(scan->bins, 10);
	assert_int_equal(scan->bin_ns, 101);
	assert_int_equal(scan->row_count, 3);
	/* The device's row comes first. */
	assert_int_equal(scan->rows[0].stream, ~0u);
	devices = gpumon_profile_devices(profile, &count);
	assert_int_equal(count, 3);
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(sum(scan, devices[i].stream), devices[i].busy_ns);
	assert_int_equal(sum(scan, ~0u), 150 + 1 + 100);
	assert_int_equal(sum(scan, 7), 150 + 1);
	assert_int_equal(sum(scan, 8), 10 + 100);
	assert_int_equal(row_of(scan, 7)->busy_ns[0], 101);
	assert_int_equal(row_of(scan, 7)->busy_ns[1], 49);
	assert_int_equal(row_of(scan, 7)->busy_ns[2], 0);
	assert_int_equal(row_of(scan, 7)->busy_ns[4], 1);
	assert_int_equal(row_of(scan, ~0u)->busy_ns[1], 49);
	assert_int_equal(row_of(scan, 8)->busy_ns[9], 91);
	gpumon_profile_free(profile);
	capture_maker_free(maker);
	free(path);
	capture_maker_remove(directory);
}

/* As the recorder's capture.json, with two times of the capture's beginning. */
static void write_info(const char *path, const char *boot, uint64_t realtime_ns,
		       uint64_t monotonic_ns)
{
	char name[512];
	FILE *file;

	snprintf(name, sizeof(name), "%s/" GPUMON_CAPTURE_INFO, path);
	file = fopen(name, "w");
	assert_non_null(file);
	fprintf(file,
		"{\"format\":\"gpumon-capture\",\"version\":%d,\"boot_id\":\"%s\",\"created_realtime_ns\":%" PRIu64
		",\"created_monotonic_ns\":%" PRIu64 "}\n",
		GPUMON_CAPTURE_VERSION, boot, realtime_ns, monotonic_ns);
	fclose(file);
}

/* Of two machines. What is known of a capture when the profile is read holds for the timeline, too. */
static void one_clock(void **state)
{
	const struct gpumon_profile_options options = { .bins = 10 };
	char *directory = capture_maker_directory();
	char *in[] = { path_in(directory, "a"), path_in(directory, "b") };
	const char *const paths[] = { in[0], in[1] };
	struct gpumon_profile *profile;
	const struct gpumon_scan *scan;

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct capture_maker *maker = capture_maker_new();

		make_process(maker, .pid = i + 1, .rank = ~0u);
		make_kernel(maker, .start_ns = 1000, .end_ns = 1100, .correlation = 1,
			    .name = make_string(maker, "kernel"), .context = 1, .stream = 7);
		capture_maker_save(maker, in[i], "process-1-1", 1);
		capture_maker_free(maker);
	}
	write_info(in[0], "one", 1000000, 900);
	write_info(in[1], "two", 1005000, 900);
	assert_int_equal(gpumon_profile_load(paths, 2, &options, &profile), 0);
	write_info(in[1], "", 0, 0);
	scan = gpumon_profile_scan(profile);
	assert_int_equal(scan->first_ns, 1000);
	assert_int_equal(scan->bin_ns, 5100 / 10 + 1);
	assert_int_equal(scan->row_count, 4);
	for (unsigned int i = 0; i < 4; i++) {
		const struct gpumon_scan_row *row = &scan->rows[i];

		assert_int_equal(row->busy_ns[0], row->process ? 0 : 100);
		assert_int_equal(row->busy_ns[9], row->process ? 100 : 0);
	}
	gpumon_profile_free(profile);
	free(in[0]);
	free(in[1]);
	capture_maker_remove(directory);
}

/* Of each bin, how much lies outside of the windows; a process that was recorded all the time has none. */
static void outside_of_windows(void **state)
{
	static const uint64_t unknown[] = { 0, 0, 3, 101, 101, 101, 94, 0, 9, 101 };
	struct capture_maker *makers[] = { capture_maker_new(), capture_maker_new() };
	const struct gpumon_profile_options options = { .bins = 10 };
	char *directory = capture_maker_directory();
	char *in[] = { path_in(directory, "a"), path_in(directory, "b") };
	const char *const paths[] = { in[0], in[1] };
	struct gpumon_profile *profile;
	const struct gpumon_scan *scan;

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t name = make_string(makers[i], "kernel");

		make_process(makers[i], .pid = i + 1, .rank = ~0u);
		make_window(makers[i], .time_ns = 900);
		/* From 1000 to 2000, in bins of 101. */
		make_kernel(makers[i], .start_ns = 1000, .end_ns = 1100, .correlation = 1,
			    .name = name, .context = 1, .stream = 7);
		make_kernel(makers[i], .start_ns = 1750, .end_ns = 2000, .correlation = 2,
			    .name = name, .context = 1, .stream = 7);
	}
	make_window(makers[0], .time_ns = 1700);
	make_window(makers[0], .time_ns = 1300, .head.flags = GPUMON_WINDOW_END);
	make_window(makers[0], .time_ns = 1900, .head.flags = GPUMON_WINDOW_END);
	for (uint32_t i = 0; i < 2; i++)
		capture_maker_save(makers[i], in[i], "process-1-1", 1);
	assert_int_equal(gpumon_profile_load(paths, 2, &options, &profile), 0);
	scan = gpumon_profile_scan(profile);
	assert_int_equal(scan->bin_ns, 101);
	assert_int_equal(scan->row_count, 4);
	for (unsigned int i = 0; i < 4; i++) {
		const struct gpumon_scan_row *row = &scan->rows[i];

		assert_int_equal(!row->unknown_ns, row->process == scan->processes[1].number);
		for (unsigned int bin = 0; row->unknown_ns && bin < 10; bin++)
			assert_int_equal(row->unknown_ns[bin], unknown[bin]);
	}
	gpumon_profile_free(profile);
	for (uint32_t i = 0; i < 2; i++) {
		capture_maker_free(makers[i]);
		free(in[i]);
	}
	capture_maker_remove(directory);
}

/* Kinds with bytes, with a duration, and an unknown newer kind. */
static void unified_memory(void **state)
{
	struct capture_maker *maker = capture_maker_new();
	char *directory = capture_maker_directory(), *path = path_in(directory, "a");
	const char *const paths[] = { path };
	struct gpumon_profile *profile;
	const struct gpumon_scan *scan;

	(void)state;
	make_process(maker, .pid = 1, .rank = ~0u);
	make_unified_memory(maker, .kind = 1, .start_ns = 10, .end_ns = 15, .value = 4096);
	make_unified_memory(maker, .kind = 1, .start_ns = 20, .end_ns = 30, .value = 100);
	/* CUPTI leaves its end undefined, and its value is an address. */
	make_unified_memory(maker, .kind = 3, .start_ns = 40, .end_ns = 1ull << 60,
			    .value = 0x401000);
	make_unified_memory(maker, .kind = 4, .start_ns = 50, .end_ns = 60, .value = 7);
	make_unified_memory(maker, .kind = 77, .start_ns = 70, .end_ns = 80, .value = 9);
	/* Without an end, and with an end before the beginning. */
	make_unified_memory(maker, .kind = 2, .start_ns = 90, .end_ns = 0, .value = 1);
	make_unified_memory(maker, .kind = 2, .start_ns = 90, .end_ns = 80, .value = UINT64_MAX);
	capture_maker_save(maker, path, "process-1-1", 1);
	assert_int_equal(gpumon_profile_load(paths, 1, &no_options, &profile), 0);
	scan = gpumon_profile_scan(profile);
	assert_int_equal(scan->unified[GPUMON_UNIFIED_TO_DEVICE].count, 2);
	assert_int_equal(scan->unified[GPUMON_UNIFIED_TO_DEVICE].bytes, 4196);
	assert_int_equal(scan->unified[GPUMON_UNIFIED_TO_DEVICE].ns, 15);
	assert_int_equal(scan->unified[GPUMON_UNIFIED_CPU_FAULT].faults, 1);
	assert_int_equal(scan->unified[GPUMON_UNIFIED_CPU_FAULT].bytes, 0);
	assert_int_equal(scan->unified[GPUMON_UNIFIED_CPU_FAULT].ns, 0);
	assert_int_equal(scan->unified[GPUMON_UNIFIED_GPU_FAULT].faults, 7);
	assert_int_equal(scan->unified[GPUMON_UNIFIED_GPU_FAULT].ns, 10);
	assert_int_equal(scan->unified[GPUMON_UNIFIED_UNKNOWN].count, 1);
	assert_int_equal(scan->unified[GPUMON_UNIFIED_TO_HOST].bytes, UINT64_MAX);
	assert_int_equal(scan->unified[GPUMON_UNIFIED_TO_HOST].ns, 0);
	gpumon_profile_free(profile);
	capture_maker_free(maker);
	free(path);
	capture_maker_remove(directory);
}

/* Reported repeatedly, by CUPTI without a name and by NVTX with one. */
static void streams(void **state)
{
	struct capture_maker *maker = capture_maker_new();
	char *directory = capture_maker_directory(), *path = path_in(directory, "a");
	const char *const paths[] = { path };
	struct gpumon_view view = { 0 };
	struct gpumon_profile *profile;
	const struct gpumon_scan *scan;
	char text[32];

	(void)state;
	make_process(maker, .pid = 1, .rank = ~0u);
	make_stream(maker, .context = 1, .id = 9, .name = make_string(maker, "first"));
	make_stream(maker, .context = 1, .id = 9, .name = make_string(maker, "com\npute"));
	make_stream(maker, .context = 1, .id = 9, .priority = -5);
	make_stream(maker, .context = 2, .id = 9);
	make_stream(maker, .context = 1, .id = 8, .priority = 2, .name = 4711);
	capture_maker_save(maker, path, "process-1-1", 1);
	assert_int_equal(gpumon_profile_load(paths, 1, &no_options, &profile), 0);
	scan = gpumon_profile_scan(profile);
	view.scan = scan;
	assert_int_equal(scan->stream_count, 3);
	gpumon_view_stream_text(&view, 0, 1, 9, text, sizeof(text));
	assert_string_equal(text, "stream 9 (com?pute, priority -5");
	gpumon_view_stream_text(&view, 0, 2, 9, text, sizeof(text));
	assert_string_equal(text, "stream 9");
	gpumon_view_stream_text(&view, 0, 1, 8, text, sizeof(text));
	assert_string_equal(text, "stream 8 (priority 2)");
	assert_null(gpumon_view_stream(&view, 1, 1, 9));
	assert_null(gpumon_view_stream(&view, 0, 1, 10));
	gpumon_profile_free(profile);
	capture_maker_free(maker);
	free(path);
	capture_maker_remove(directory);
}

/* What JSON says of what processes counted themselves. */
static void check_counted(const struct gpumon_scan *scan, const char *expected)
{
	const struct gpumon_view view = { .scan = scan };
	char *text = NULL, *to;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(gpumon_output_json(out, &view), 0);
	assert_int_equal(fclose(out), 0);
	/* However it is spaced. */
	to = text;
	for (const char *from = text; *from; from++) {
		if (*from != ' ' && *from != '\n')
			*to++ = *from;
	}
	*to = '\0';
	if (!strstr(text, expected))
		fail_msg("no %s in %s", expected, text);
	free(text);
}

static void who_and_notes(void **state)
{
	struct capture_maker *maker = capture_maker_new();
	char *directory = capture_maker_directory(), *one = path_in(directory, "one");
	char *two = path_in(directory, "two");
	const char *const paths[] = { one, two };
	struct gpumon_profile *profile;
	const struct gpumon_scan *scan;

	(void)state;
	/* Totals are reported repeatedly, and the last ones count. A note is shown once. */
	make_process(maker, .pid = 11, .rank = 3, .host = make_string(maker, "node\n1"),
		     .command = make_string(maker, "train"), .cupti_version = 26);
	make_totals(maker, .launches = 5, .kernels = 4);
	make_totals(maker, .launches = 50, .kernels = 40, .captured = 3, .copies = 4, .sets = 6,
		    .device_bytes = 300);
	make_note(maker, .text = make_string(maker, "no CUPTI here"));
	make_note(maker, .text = make_string(maker, "no CUPTI here"));
	capture_maker_save(maker, one, "process-11-1", 11);
	capture_maker_free(maker);
	maker = capture_maker_new();
	make_process(maker, .pid = 12, .host_pid = 412, .rank = ~0u);
	make_totals(maker, .launches = 7, .copies = 1, .device_bytes = 400);
	make_note(maker, .text = make_string(maker, "another"));
	capture_maker_save(maker, two, "process-12-1", 12);
	capture_maker_free(maker);
	assert_int_equal(gpumon_profile_load(paths, 2, &no_options, &profile), 0);
	scan = gpumon_profile_scan(profile);
	assert_int_equal(scan->process_count, 2);
	assert_int_equal(scan->processes[0].number, 0);
	assert_int_equal(scan->processes[0].rank, 3);
	assert_string_equal(scan->processes[0].host, "node?1");
	assert_string_equal(scan->processes[0].command, "train");
	assert_int_equal(scan->processes[1].number, 1);
	assert_int_equal(scan->processes[1].host_pid, 412);
	assert_string_equal(scan->processes[1].command, "");
	check_counted(scan, "\"counted\":{\"launches\":57,\"captured_into_graph\":3,");
	check_counted(scan, ",\"kernels\":40,\"copies\":5,\"sets\":6,\"device_bytes\":700}");
	((struct gpumon_scan *)(uintptr_t)scan)->totals_known = false;
	check_counted(scan, "\"counted\":null");
	assert_int_equal(scan->note_count, 2);
	assert_string_equal(scan->notes[1], "another");
	assert_true(scan->ended);
	assert_int_equal(scan->row_count, 0);
	gpumon_profile_free(profile);
	free(one);
	free(two);
	capture_maker_remove(directory);
}

static void no_capture(void **state)
{
	const char *const paths[] = { "/nonexistent/capture" };
	struct gpumon_profile *profile;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	/* The reason was already reported, so errno must be 0. */
	errno = EIO;
	assert_int_equal(gpumon_profile_load(paths, 1, &no_options, &profile), -1);
	assert_int_equal(gpumon_output_chrome(out, paths, 1, &no_options), -1);
	assert_int_equal(errno, 0);
	assert_int_equal(gpumon_output_perfetto(out, paths, 1, &no_options), -1);
	assert_true(strlen(gpumon_capture_error()->message) > 0);
	fclose(out);
	free(text);
	gpumon_scan_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(busy_bins),	      cmocka_unit_test(one_clock),
		cmocka_unit_test(outside_of_windows), cmocka_unit_test(who_and_notes),
		cmocka_unit_test(unified_memory),     cmocka_unit_test(streams),
		cmocka_unit_test(no_capture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
