// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Options of record, the beginning of a program's own arguments, and wrong usage of the commands
 * for captures.
 */
#include "common.h"

#include <string.h>
#include <unistd.h>

#include "record/continuous.h"
#include "record/options.h"

#define CHECK_USAGE(want, ...)                                                \
	do {                                                                  \
		struct captured c = capture("", __VA_ARGS__, NULL);           \
		assert_int_equal(c.status, GPUMON_EXIT_USAGE);                \
		if (*c.out) /* --json */                                      \
			assert_ptr_equal(strstr(c.out, "{\"error\""), c.out); \
		if (!strstr(c.err, want))                                     \
			fail_msg("no \"%s\" in: %s", want, c.err);            \
		captured_free(&c);                                            \
	} while (0)

static int parse_words(struct gpumon_session_options *session, bool *quiet, int *argc, char ***argv,
		       bool *explicit)
{
	struct gpumon_context context = { .err = stderr, .out = stdout };
	const struct gpumon_option options[] = {
		GPUMON_RECORD_OPTIONS(session),
		GPUMON_OPTION("quiet", 'q', GPUMON_OPTION_FLAG, quiet),
		{ 0 },
	};
	int status;

	gpumon_record_options_default(session);
	status = gpumon_options_parse(&context, argc, argv, options, GPUMON_OPERANDS_PROGRAM);
	*explicit = context.explicit;
	return status;
}

static void operands_of_a_program(void **state)
{
	static const struct {
		const char *words[8];
		int index;
		bool explicit;
	} cases[] = {
		{ { "record", "./a" }, 1, false },
		{ { "record", "--", "./a", "-q" }, 2, true },
		{ { "record", "-q", "./a", "-q" }, 2, false },
		{ { "record", "-o", "dir", "./a", "--", "x" }, 3, false },
		{ { "record", "-odir", "./a" }, 2, false },
		{ { "record", "-qo", "dir", "./a" }, 3, false },
		{ { "record", "-qodir", "./a" }, 2, false },
		{ { "record", "--output", "dir", "./a" }, 3, false },
		{ { "record", "--output=dir", "./a" }, 2, false },
		{ { "record", "--out", "dir", "./a" }, 3, false },
		{ { "record", "--sync", "./a" }, 2, false },
		/* A prefix of an option without an argument, and of one with an argument. */
		{ { "record", "--mem", "./a" }, 2, false },
		{ { "record", "--buf", "1M", "./a" }, 3, false },
		{ { "record", "-", "x" }, 1, false },
		{ { "record", "-p", "1", "-d", "2" }, 5, false },
		/* A directory named "--", not the end of the options. */
		{ { "record", "-o", "--", "./a" }, 3, false },
		{ { "record", "-o", "--", "--", "./a" }, 4, true },
		{ { "record" }, 1, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *words[9] = { NULL }, **argv = words;
		struct gpumon_session_options session;
		bool explicit, quiet = false;
		int count = 0, argc, status;

		while (count < 8 && cases[i].words[count]) {
			words[count] = (char *)cases[i].words[count];
			count++;
		}
		argc = count;
		status = parse_words(&session, &quiet, &argc, &argv, &explicit);
		if (status != GPUMON_OPTIONS_GO_ON || argv - words != cases[i].index ||
		    argc != count - cases[i].index || explicit != cases[i].explicit)
			fail_msg("case %zu: %d, %d, %d", i, status, (int)(argv - words), explicit);
	}
}

static void wrong_usage(void **state)
{
	(void)state;
	CHECK_USAGE("no program to run, and no --pid", "record");
	CHECK_USAGE("no program to run, and no --pid", "record", "--");
	CHECK_USAGE("option -o needs an argument", "record", "-o");
	CHECK_USAGE("either a program or --pid", "record", "-p", "1", "--", "true");
	CHECK_USAGE("--passes or --no-times, not both", "record", "--passes", "--no-times", "--",
		    "true");
	CHECK_USAGE("--gl goes with a program", "record", "--gl", "-p", "1");
	CHECK_USAGE("--hw-trace or --latency, not both", "record", "--latency", "--hw-trace", "--",
		    "true");
	CHECK_USAGE("either --stalls or --gpu-metrics", "record", "--stalls", "--gpu-metrics=2ms",
		    "--", "true");
	CHECK_USAGE("unexpected", "record", "-p", "1", "--window", "unexpected");
	CHECK_USAGE("--pid: \"0\"", "record", "-p", "0");
	CHECK_USAGE("--pid: \"x\"", "record", "-p", "x");
	CHECK_USAGE("--duration: \"0\"", "record", "-d", "0", "true");
	CHECK_USAGE("--window: \"kernel\" is neither", "record", "--window", "kernel", "true");
	CHECK_USAGE("--window: \"range:\" is neither", "record", "--window", "range:", "true");
	CHECK_USAGE("--buffer: \"1\" is not a size from 1M to 1G ", "record", "--buffer", "1",
		    "true");
	CHECK_USAGE("--buffer: \"2G\"", "record", "--buffer", "2G", "true");
	CHECK_USAGE("--buffer: \"-1M\"", "record", "--buffer", "-1M", "true");
	CHECK_USAGE("--buffer: \"1T\"", "record", "--buffer", "1T", "true");
	CHECK_USAGE("--buffer: \"99999999999999999999G\"", "record", "--buffer",
		    "99999999999999999999G", "true");
	CHECK_USAGE("17179869184G\" is not a size from 1M to 1048576G", "record", "--max-size",
		    "17179869184G", "true");
	CHECK_USAGE("--stack-depth: \"513\"", "record", "--stack-depth", "513", "true");
	CHECK_USAGE("--wait-samples: \"1001\"", "record", "--wait-samples", "1001", "true");
	CHECK_USAGE("--gpu-metrics: a time from 100us to 1s: decoding", "record",
		    "--gpu-metrics=99us", "true");
	CHECK_USAGE("--gpu-metrics: a time from 100us to 1s", "record", "--gpu-metrics=2s", "true");
	CHECK_USAGE("--gpu-metrics: \"fast\"", "record", "--gpu-metrics=fast", "true");
	CHECK_USAGE("--stalls: \"4\" is not a whole number from 5 to 31", "record", "--stalls=4",
		    "true");
	CHECK_USAGE("--stalls: \"32\"", "record", "--stalls=32", "true");
	CHECK_USAGE("--stalls: \"\"", "record", "--stalls=", "true");
	CHECK_USAGE("\"8K\" is not a size from 16K to 16M", "record", "--cupti-buffer", "256M/8K",
		    "true");
	CHECK_USAGE("--cupti-buffer: 4M has to be 4 to 8192 times 2M", "record", "--cupti-buffer",
		    "4M/2M", "true");
	CHECK_USAGE("--cupti-buffer: 4G has to be 4 to 8192 times 16K", "record", "--cupti-buffer",
		    "4G/16K", "true");
	CHECK_USAGE("--cupti-buffer: \"1M\" is not", "record", "--cupti-buffer", "1M", "true");
	CHECK_USAGE("--cupti-buffer: \"\" is not", "record", "--cupti-buffer", "256M/", "true");
	CHECK_USAGE("--windows: \"1s\" is not two", "record", "--windows", "1s", "true");
	CHECK_USAGE("\"30s/1s\": a window is 10ms or longer, and its period no shorter", "record",
		    "--windows", "30s/1s", "true");
	CHECK_USAGE("no longer than 24h", "record", "--windows", "1s/25h", "true");
	CHECK_USAGE("--keep: \"x\" is neither a time such as 10m nor a size", "record",
		    "--continuous", "--keep", "x", "true");
	CHECK_USAGE("--keep: \"\" is neither a time such as 10m nor a size", "record",
		    "--continuous", "--keep", "1G,", "true");
	CHECK_USAGE("--flush: a time from 20ms", "record", "--flush", "19ms", "true");
	CHECK_USAGE("--flush: a time from 20ms", "record", "--flush", "11s", "true");
	CHECK_USAGE("unknown option --frobnicate", "record", "--frobnicate", "true");
	CHECK_USAGE("--output: the name is empty", "record", "-o", "", "true");
	CHECK_USAGE("only %h, %p, %r and %% mean", "record", "-o", "a%x", "true");
	CHECK_USAGE("only %h, %p, %r and %% mean", "record", "-o", "a%", "true");

	CHECK_USAGE("no program, no --pid and no capture", "correlate");
	CHECK_USAGE("leave out -o, -p, -d", "correlate", "/", "-o", "x");
	CHECK_USAGE("leave out -o, -p, -d", "correlate", "--nvtx", "/");
	CHECK_USAGE("leave out -o, -p, -d", "correlate", "/", "--graphs=whole");
	CHECK_USAGE("leave out -o, -p, -d", "correlate", "/", "--kernel", "x");
	CHECK_USAGE("--attach, --no-cpu and --allow-exit go with --probe", "record", "--kernel",
		    "x", "true");
	CHECK_USAGE("--sass and a recording exclude each other", "record", "--sass", "true");
	CHECK_USAGE("--rows: \"0\"", "correlate", "--rows", "0", "/");
	CHECK_USAGE("no capture given", "flamegraph");
	CHECK_USAGE("no capture given", "report");
	CHECK_USAGE("the name of a capture is empty", "report", "");
	CHECK_USAGE("--output: the name is empty", "report", "-o", "", "x");
	CHECK_USAGE("leave nothing together", "flamegraph", "--cpu-only", "--gpu-only", "x");
	CHECK_USAGE("--cpu-only leaves out the GPU", "report", "--cpu-only", "--streams", "x");
	CHECK_USAGE("--gpu-only leaves out call paths", "export", "--json", "--gpu-only",
		    "--interpreter", "x");
	CHECK_USAGE("--force replaces a file: name the file", "flamegraph", "--force", "x");
	CHECK_USAGE("--force replaces a file: name the file", "diff", "a", "b", "--force", "-o",
		    "-");
	CHECK_USAGE("--force replaces a file: name the file", "correlate", "--force", "--", "true");
	CHECK_USAGE("--json has all rows", "correlate", "--json", "--rows", "3", "/");
	CHECK_USAGE("--json has all rows", "correlate", "--json", "--rows", "3", "--", "true");
	CHECK_USAGE("--json has all rows", "diff", "--json", "--rows", "3", "a", "b");
	CHECK_USAGE("leave nothing together", "correlate", "--cpu-only", "--gpu-only", "--",
		    "true");
	CHECK_USAGE("timelines have all rows", "export", "--chrome", "--devices", "x");
	CHECK_USAGE("timelines have all rows", "export", "--perfetto", "x", "--gpu-only");
	CHECK_USAGE("--symbol-root: /nowhere is no directory", "report", "--symbol-root",
		    "/nowhere", "x");
	CHECK_USAGE("--symbol-root is for captures", "correlate", "--symbol-root", "/", "--",
		    "true");
	CHECK_USAGE("which format?", "export", "x");
	CHECK_USAGE("one format at a time", "export", "--chrome", "--pprof", "x");
	CHECK_USAGE("no capture given", "export", "--perfetto");
	CHECK_USAGE("two captures are compared", "diff", "a");
	CHECK_USAGE("two captures are compared", "diff", "a", "b", "c");
	CHECK_USAGE("-o and --flamegraph name the same file", "diff", "a", "b", "-o", "x",
		    "--flamegraph", "x", "--force");
	CHECK_USAGE("-o and --flamegraph name the same file", "diff", "a", "b", "-o", "./x",
		    "--flamegraph", "x", "--force");
	CHECK_USAGE("-o and --flamegraph name the same file", "diff", "a", "b", "-o", "/tmp/x",
		    "--flamegraph", "/tmp/../tmp/x");
}

/* Options that exclude each other, and those that do nothing here, are refused. */
static void options_that_do_nothing(void **state)
{
	(void)state;
	CHECK_USAGE("--icicle is about the picture", "flamegraph", "--folded", "--icicle", "x");
	CHECK_USAGE("--force replaces a file", "report", "--force", "-o", "-", "x");
	CHECK_USAGE("--force replaces a file", "export", "--pprof", "--force", "x");
	CHECK_USAGE("--force replaces a file", "diff", "--force", "a", "b");
	CHECK_USAGE("--force replaces a file", "correlate", "--force", "/");
	CHECK_USAGE("--force replaces a file", "correlate", "--force", "-o", "x", "--", "true");
	CHECK_USAGE("timelines have all rows", "export", "--chrome", "--threads", "x");
	CHECK_USAGE("timelines have all rows", "export", "--perfetto", "--cpu-only", "x");
	CHECK_USAGE("different times: leave one out", "flamegraph", "--wall", "--idle", "x");
	CHECK_USAGE("a time with --idle: leave one out", "flamegraph", "--idle", "--count", "x");
	CHECK_USAGE("too: leave out --gpu-only", "flamegraph", "--wall", "--gpu-only", "x");
	CHECK_USAGE("number at the end of a line", "export", "--json", "--wall", "x");
	CHECK_USAGE("one of --check, --ptx and --into", "probe", "--check", "--ptx", "x");
	CHECK_USAGE("--force goes with --into", "probe", "--force", "x", "--", "true");
	CHECK_USAGE("--gpu and --times go without", "probe", "--gpu", "1", "x", "--", "true");
	CHECK_USAGE("--list stands alone", "probe", "--list", "--kernel", "x");
	CHECK_USAGE("--list stands alone", "probe", "--list", "--sass");
	CHECK_USAGE("--windows goes with", "record", "--windows", "1s/30s", "true");
	CHECK_USAGE("--windows goes with", "correlate", "--windows", "1s/30s", "--", "true");
}

#define CHECK_NO_PLACE(...)                                                              \
	do {                                                                             \
		struct captured c = capture("", __VA_ARGS__, NULL);                      \
		assert_int_equal(c.status, GPUMON_EXIT_FAILED);                          \
		assert_non_null(strstr(c.err, "/nowhere/x: No such file or directory")); \
		captured_free(&c);                                                       \
	} while (0)

/* Where the output cannot be written, nothing is recorded, read or written before that is said. */
static void no_place_for_the_output(void **state)
{
	(void)state;
	CHECK_NO_PLACE("correlate", "--summary", "/nowhere/x", "--", "true");
	CHECK_NO_PLACE("report", "-o", "/nowhere/x", "a");
	CHECK_NO_PLACE("diff", "-o", "/nowhere/x", "a", "b");
	CHECK_NO_PLACE("diff", "--flamegraph", "/nowhere/x", "a", "b");
}

static struct gpumon_session_options parse(const char *name, const char *argument)
{
	char option[32], *words[] = { "record", option, (char *)argument, NULL }, **argv = words;
	struct gpumon_session_options session;
	bool explicit, quiet;
	int argc = argument ? 3 : 2;

	snprintf(option, sizeof(option), "--%s", name);
	assert_int_equal(parse_words(&session, &quiet, &argc, &argv, &explicit),
			 GPUMON_OPTIONS_GO_ON);
	assert_int_equal(argc, 0);
	return session;
}

static void what_is_recorded(void **state)
{
	static const struct {
		const char *name;
		uint32_t on, off;
	} cases[] = {
		{ "sync", GPUMON_RECORD_SYNCHRONISATION, 0 },
		{ "memory", GPUMON_RECORD_ALLOCATIONS, 0 },
		{ "unified-memory", GPUMON_RECORD_UNIFIED, 0 },
		{ "nvtx", GPUMON_RECORD_RANGES, 0 },
		{ "api", GPUMON_RECORD_ALL_CALLS, 0 },
		{ "latency", GPUMON_RECORD_LATENCY, 0 },
		{ "hw-trace", GPUMON_RECORD_HW_TRACE, 0 },
		{ "passes", GPUMON_RECORD_PASSES, 0 },
		{ "no-times", GPUMON_RECORD_NO_TIMES, 0 },
		{ "no-stacks", 0, GPUMON_RECORD_STACKS | GPUMON_RECORD_PYTHON },
		{ "no-python", 0, GPUMON_RECORD_PYTHON },
		{ "no-blocking", 0, GPUMON_RECORD_BLOCKING },
	};
	struct gpumon_session_options session;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		session = parse(cases[i].name, NULL);
		assert_int_equal(session.recorder.settings.record,
				 (GPUMON_RECORD_BY_DEFAULT | cases[i].on) & ~cases[i].off);
	}
	assert_true(parse("gl", NULL).opengl);
	assert_false(parse("sync", NULL).opengl);
	session = parse("window", "range:step 7");
	assert_int_equal(session.recorder.settings.window, GPUMON_WINDOW_RANGE);
	assert_string_equal(session.recorder.settings.range, "step 7");
	assert_true(session.recorder.settings.record & GPUMON_RECORD_RANGES);
	session = parse("window", "profiler");
	assert_int_equal(session.recorder.settings.window, GPUMON_WINDOW_PROFILER);
	assert_int_equal(parse("buffer", "64MiB").recorder.channel_bytes, 64 << 20);
	assert_int_equal(parse("buffer", "2048K").recorder.channel_bytes, 2 << 20);
	assert_int_equal(parse("max-size", "3G").recorder.max_bytes, 3ULL << 30);
	session = parse("cupti-buffer", "1G");
	assert_int_equal(session.recorder.settings.buffer_mib, 1024);
	assert_int_equal(session.recorder.settings.buffer_kib, 0);
	session = parse("cupti-buffer", "256M/64K");
	assert_int_equal(session.recorder.settings.buffer_mib, 256);
	assert_int_equal(session.recorder.settings.buffer_kib, 64);
	assert_int_equal(parse("flush", "1s").recorder.settings.flush_ms, 1000);
	assert_int_equal(parse("stack-depth", "512").recorder.settings.stack_depth, 512);
	assert_int_equal(parse("stack-depth", "512").recorder.settings.wait_hz, 50);
	assert_int_equal(parse("wait-samples", "0").recorder.settings.wait_hz, 0);
	assert_int_equal(parse("wait-samples", "1000").recorder.settings.wait_hz, 1000);
	assert_int_equal(parse("wait-samples", "1").recorder.settings.metrics_interval_ns, 0);
	assert_int_equal(parse("gpu-metrics", NULL).recorder.settings.metrics_interval_ns, 1000000);
	assert_int_equal(parse("gpu-metrics=250us", NULL).recorder.settings.metrics_interval_ns,
			 250000);
	assert_int_equal(parse("gpu-metrics=1s", NULL).recorder.settings.metrics_interval_ns,
			 1000000000);
	assert_int_equal(parse("wait-samples", "0").recorder.settings.stalls_period, 0);
	assert_int_equal(parse("stalls", NULL).recorder.settings.stalls_period, 16);
	assert_int_equal(parse("stalls=5", NULL).recorder.settings.stalls_period, 5);
	assert_int_equal(parse("stalls=31", NULL).recorder.settings.stalls_period, 31);
	assert_int_equal(parse("duration", "1.5").duration_ns, 1500000000);
	assert_false(parse("no-driver", NULL).recorder.driver);
	session = parse("pid", "42");
	assert_int_equal(session.pid_count, 1);
	assert_int_equal(session.pids[0], 42);
}

static void directories(void **state)
{
	struct gpumon_context context = { .err = stderr, .out = stdout };
	char name[PATH_MAX], wanted[600], host[256];

	(void)state;
	assert_int_equal(gethostname(host, sizeof(host)), 0);
	snprintf(wanted, sizeof(wanted), "a/%s-%d-100%%", host, (int)getpid());
	assert_int_equal(gpumon_record_directory(&context, "a/%h-%p-100%%", name), 0);
	assert_string_equal(name, wanted);
}

/* Parse the options of record, and complete them. */
static void complete_words(struct gpumon_session_options *session, ...)
{
	struct gpumon_context context = { .err = stderr, .out = stdout };
	struct gpumon_continuous_choice choice = { 0 };
	const struct gpumon_option options[] = {
		GPUMON_RECORD_OPTIONS(session),
		GPUMON_CONTINUOUS_OPTIONS(&choice),
		{ 0 },
	};
	char *words[10] = { (char *)"record" }, **argv = words;
	int argc = 1;
	va_list list;

	va_start(list, session);
	while ((words[argc] = va_arg(list, char *)))
		argc++;
	va_end(list);
	gpumon_record_options_default(session);
	assert_int_equal(gpumon_options_parse(&context, &argc, &argv, options,
					      GPUMON_OPERANDS_PROGRAM),
			 GPUMON_OPTIONS_GO_ON);
	assert_int_equal(gpumon_continuous_options_check(&context, &choice, session), 0);
}

/* What is given stays, in any order. */
static void what_low_overhead_sets(void **state)
{
	struct gpumon_session_options session;
	const struct gpumon_message_settings *settings = &session.recorder.settings;
	const struct gpumon_continuous_options *continuous = &session.continuous;

	(void)state;
	complete_words(&session, "./a", NULL);
	assert_false(continuous->on);
	assert_int_equal(settings->graphs, GPUMON_GRAPHS_NODES);
	complete_words(&session, "--low-overhead", "./a", NULL);
	assert_int_equal(settings->graphs, GPUMON_GRAPHS_WINDOWS);
	assert_int_equal(settings->operations_sampled, 1);
	assert_int_equal(settings->sample, 100);
	complete_words(&session, "--low-overhead", "--graphs=nodes", "--records=all",
		       "--sample=1/1", "./a", NULL);
	assert_int_equal(settings->graphs, GPUMON_GRAPHS_NODES);
	assert_int_equal(settings->operations_sampled, 0);
	assert_int_equal(settings->sample, 1);
	complete_words(&session, "--records=all", "--sample=1/7", "--low-overhead", "./a", NULL);
	assert_int_equal(settings->graphs, GPUMON_GRAPHS_WINDOWS);
	assert_int_equal(settings->operations_sampled, 0);
	assert_int_equal(settings->sample, 7);

	complete_words(&session, "--continuous", "./a", NULL);
	assert_int_equal(settings->graphs, GPUMON_GRAPHS_WINDOWS);
	assert_int_equal(settings->operations_sampled, 0);
	assert_int_equal(settings->sample, 0);
	assert_int_equal(settings->record, GPUMON_RECORD_BY_DEFAULT);
	assert_int_equal(continuous->keep.bytes, 1 << 30);
	assert_int_equal(continuous->keep.age_ns, 600000000000);
	assert_int_equal(continuous->captures, 8);
	complete_words(&session, "--continuous", "--graphs=whole", "--keep=64M", "--on-slow=5ms",
		       "--captures=3", "./a", NULL);
	assert_int_equal(settings->graphs, GPUMON_GRAPHS_WHOLE);
	assert_int_equal(settings->record, GPUMON_RECORD_BY_DEFAULT | GPUMON_RECORD_RANGES);
	assert_int_equal(continuous->keep.bytes, 64 << 20);
	assert_int_equal(continuous->keep.age_ns, 0);
	assert_int_equal(continuous->slow_ns, 5000000);
	assert_int_equal(continuous->captures, 3);
	complete_words(&session, "--continuous", "--keep", "5m,4M", "./a", NULL);
	assert_int_equal(continuous->keep.bytes, 4 << 20);
	assert_int_equal(continuous->keep.age_ns, 300000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_low_overhead_sets),
		cmocka_unit_test(operands_of_a_program),
		cmocka_unit_test(wrong_usage),
		cmocka_unit_test(options_that_do_nothing),
		cmocka_unit_test(no_place_for_the_output),
		cmocka_unit_test(what_is_recorded),
		cmocka_unit_test(directories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
