// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Command lines: help, wrong usage, exit status, errors as JSON. */
#include "lib/json.h"
#include "lib/options.h"
#include "lib/version.h"
#include "lib/wait.h"
#include "common.h"

#include <json.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "driver/client.h"

#define CHECK_USAGE(want, ...)                                      \
	do {                                                        \
		struct captured c = capture("", __VA_ARGS__, NULL); \
		assert_int_equal(c.status, GPUMON_EXIT_USAGE);      \
		assert_string_equal(c.out, "");                     \
		if (!strstr(c.err, want))                           \
			fail_msg("no \"%s\" in: %s", want, c.err);  \
		one_line(c.err);                                    \
		captured_free(&c);                                  \
	} while (0)

static void one_line(const char *text)
{
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_int_equal(strncmp(text, "gpumon-user: ", 13), 0);
}

static void wrong_usage(void **state)
{
	(void)state;
	CHECK_USAGE("unknown command \"stats\"", "help", "stats");
	CHECK_USAGE("unknown command \"--frobnicate\"", "help", "--frobnicate");
	CHECK_USAGE("help is of one command at a time", "help", "stat", "top");
	CHECK_USAGE("unknown command \"stats\"", "stats");
	CHECK_USAGE("unknown option --frobnicate", "--frobnicate");
	CHECK_USAGE("unexpected argument \"extra\"", "--version", "extra");
	CHECK_USAGE("unexpected argument \"--json-lines\"", "-V", "--json-lines");
	CHECK_USAGE("stat: unknown option --frobnicate", "stat", "--frobnicate");
	CHECK_USAGE("stat: unknown option -x", "stat", "-x");
	CHECK_USAGE("stat: option --interval needs an argument", "stat", "--interval");
	CHECK_USAGE("stat: option -i needs an argument", "stat", "-i");
	CHECK_USAGE("stat: option --reset=1 takes no argument", "stat", "--reset=1");
	CHECK_USAGE("--interval: \"0\"", "stat", "--interval", "0");
	CHECK_USAGE("--interval: \"-1\"", "stat", "--interval", "-1");
	CHECK_USAGE("--interval: \"nan\"", "stat", "--interval", "nan");
	CHECK_USAGE("--interval: \"1e5\"", "stat", "--interval", "1e5");
	CHECK_USAGE("--interval: \"0x10\"", "stat", "--interval", "0x10");
	CHECK_USAGE("--interval: \"1 s\"", "stat", "--interval", "1 s");
	CHECK_USAGE("--interval: \"5days\"", "stat", "--interval", "5days");
	CHECK_USAGE("--interval: \"\"", "stat", "--interval", "");
	CHECK_USAGE("--count: \"0\"", "stat", "--interval", "1", "--count", "0");
	CHECK_USAGE("--count: \"-3\"", "stat", "--interval", "1", "--count", "-3");
	CHECK_USAGE("--count: \" 3\"", "stat", "--interval", "1", "--count", " 3");
	CHECK_USAGE("--count: \"3x\"", "stat", "--interval", "1", "--count", "3x");
	CHECK_USAGE("--count: \"99999999999999999999999\"", "stat", "--interval", "1", "--count",
		    "99999999999999999999999");
	CHECK_USAGE("--count goes with --interval", "stat", "--count", "3");
	CHECK_USAGE("unexpected argument \"rings\"", "stat", "rings");
	CHECK_USAGE("--pid goes with --frames", "stat", "--pid", "1");
	CHECK_USAGE("--pid: \"0\"", "stat", "--frames", "-p", "0");
	CHECK_USAGE("--pid: \"game\"", "stat", "--frames", "-p", "game");
	CHECK_USAGE("--count goes with --interval", "stat", "--frames", "-n", "3");
	CHECK_USAGE("--frames goes with --pid, --interval", "stat", "--frames", "--cgroup");
	CHECK_USAGE("--frames goes with --pid, --interval", "stat", "--frames", "--source=bpf");
	CHECK_USAGE("--frames goes with --pid, --interval", "stat", "--frames", "--", "true");
	CHECK_USAGE("no command after --", "stat", "--");
	CHECK_USAGE("--source: auto, module or bpf", "stat", "--source", "kernel");
	CHECK_USAGE("--source: auto, module or bpf", "trace", "--source=");
	CHECK_USAGE("--source: auto, module or bpf", "top", "--source=BPF");
	CHECK_USAGE("--no-enable is about the module's ring", "trace", "--no-enable",
		    "--source=bpf");
	CHECK_USAGE("--force replaces the file of --perfetto", "trace", "--force");
	CHECK_USAGE("option --perfetto needs an argument", "trace", "--perfetto");
	CHECK_USAGE("--duration: \"0\"", "stat", "--duration", "0");
	CHECK_USAGE("--reset goes with neither --duration nor a command", "stat", "--reset", "-d",
		    "1");
	CHECK_USAGE("--reset goes with neither --duration nor a command", "stat", "--reset", "--",
		    "true");
	CHECK_USAGE("unexpected argument \"x\": record or driver", "doctor", "x");
	CHECK_USAGE("unexpected argument \"drivers\"", "doctor", "record", "drivers");
	CHECK_USAGE("doctor: unknown option --interval", "doctor", "--interval", "1");
	/* A level of the tree, and how graphs are recorded. */
	CHECK_USAGE("no program, no --pid and no capture", "correlate", "--graphs");
	CHECK_USAGE("--graphs: \"never\" is none of", "correlate", "--graphs=never");
	CHECK_USAGE("option --graphs needs an argument", "record", "--graphs");
	CHECK_USAGE("name a tool or an object file, and after --", "probe");
	CHECK_USAGE("--gpu and --times go without a program", "probe", "--times", "2", "threadhist",
		    "--", "true");
	CHECK_USAGE("--no-cpu go with a program", "probe", "--no-cpu", "directly-run");
	CHECK_USAGE("--block 33,32 has more than 1024", "probe", "--block", "33,32",
		    "directly-run");
	CHECK_USAGE("name one tool or object file", "probe", "--check");
	CHECK_USAGE("name one tool or object file", "probe", "--check", "a.bpf.o", "b.bpf.o");
	CHECK_USAGE("--list stands alone", "probe", "--list", "threadhist");
	CHECK_USAGE("--list stands alone", "probe", "--list", "--check");
	CHECK_USAGE("did you mean threadhist?", "probe", "--check", "treadhist");
	CHECK_USAGE("name an object file, or one of cuda-counter", "probe", "--check", "nonsense");
	CHECK_USAGE("name one tool or object file", "probe", "--ptx");
	CHECK_USAGE("--sm: \"34\"", "probe", "--ptx", "--sm", "34", "x.bpf.o");
	CHECK_USAGE("nothing to set", "set");
	CHECK_USAGE("--set, --attach and --no-cpu are for programs that are run", "probe",
		    "--check", "--set", "a[0]=1", "x.bpf.o");
	CHECK_USAGE("--set, --attach and --no-cpu are for programs that are run", "probe", "--into",
		    "a.ptx", "-o", "b.ptx", "--grid", "2", "x.bpf.o");
	CHECK_USAGE("--kernel and --fuel are for --into, or programs that are run", "probe",
		    "--ptx", "--kernel", "a", "x.bpf.o");
	CHECK_USAGE("one of --check, --ptx and --into", "probe", "--check", "--ptx", "x.bpf.o");
	CHECK_USAGE("one of --check, --ptx and --into", "probe", "--ptx", "--into", "a", "-o", "b",
		    "x.bpf.o");
	CHECK_USAGE("--force goes with --into", "probe", "--check", "--force", "x.bpf.o");
	CHECK_USAGE("--gpu and --times go without a program", "probe", "--gpu", "1", "x.bpf.o",
		    "--", "true");
	CHECK_USAGE("--sm goes with --ptx or --into", "probe", "--check", "--sm", "90", "x.bpf.o");
	CHECK_USAGE("\"drm_sched\" wants on or off", "set", "drm_sched");
	CHECK_USAGE("\"yes\" after \"drm_sched\"", "set", "drm_sched", "yes");
	CHECK_USAGE("\"event-ring\" wants on or off", "set", "drm_sched", "on", "event-ring");
	CHECK_USAGE("--size goes with event-ring", "set", "drm_sched", "on", "--size", "64");
	CHECK_USAGE("--size (KiB): \"7\"", "set", "event-ring", "on", "--size", "7");
	CHECK_USAGE("--size (KiB): \"65537\"", "set", "event-ring", "on", "--size", "65537");
}

/* What a recorded program prints with --json is its own. */
static void a_programs_json_is_its_own(void **state)
{
	static const char *const commands[] = { "record", "correlate" };

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct captured c = capture("", commands[i], "-o", "/nonexistent/capture",
					    "/nonexistent/program", "--json", NULL);

		assert_true(c.status != GPUMON_EXIT_OK);
		one_line(c.err);
		assert_string_equal(c.out, "");
		captured_free(&c);

		c = capture("", commands[i], "-o", "--json", NULL);
		assert_int_equal(c.status, GPUMON_EXIT_USAGE);
		assert_string_equal(c.out, "");
		captured_free(&c);
	}
}

static void a_full_device_is_named(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct gpumon_error err;

	(void)state;
	assert_non_null(full);
	assert_int_equal(gpumon_json_print(json_object_new_object(), true, full), -1);
	gpumon_error_output(&err);
	assert_non_null(strstr(err.message, "No space left on device"));
	fclose(full);
}

static void wrong_usage_as_json(void **state)
{
	/* The option comes after the error, among the operands. */
	static const char *const lines[][4] = {
		{ "stat", "--frobnicate", "--json", NULL },
		{ "set", "drm_sched", "maybe", "--json" },
		{ "nothing", "--json", NULL, NULL },
		{ "export", "--chrome", "--json", NULL },
		{ "correlate", "--json", "/", "--frobnicate" },
		{ "correlate", "/", "--frobnicate", "--json" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct captured c =
			capture("", lines[i][0], lines[i][1], lines[i][2], lines[i][3], NULL);
		struct json_object *document, *error, *value;

		assert_int_equal(c.status, GPUMON_EXIT_USAGE);
		one_line(c.err);
		document = json_tokener_parse(c.out);
		assert_true(json_object_object_get_ex(document, "error", &error));
		assert_true(json_object_object_get_ex(error, "code", &value));
		assert_string_equal(json_object_get_string(value), "usage");
		assert_true(json_object_object_get_ex(error, "message", &value));
		assert_non_null(strstr(c.err, json_object_get_string(value)));
		json_object_put(document);
		captured_free(&c);
	}
}

static void help_and_version(void **state)
{
#define NAME(name) #name,
	static const char *const names[] = { GPUMON_COMMANDS(NAME) };
#undef NAME
	struct captured c = capture("", "--help", NULL), same;

	(void)state;
	/* No command, help alone, and the help of help print the list of commands. */
	same = capture("", NULL);
	assert_int_equal(same.status, GPUMON_EXIT_USAGE);
	assert_string_equal(same.out, c.out);
	assert_string_equal(same.err, "");
	captured_free(&same);
	same = capture("", "help", NULL);
	assert_int_equal(same.status, GPUMON_EXIT_OK);
	assert_string_equal(same.out, c.out);
	captured_free(&same);
	for (size_t i = 0; i < 3; i++) {
		static const char *const words[] = { "help", "--help", "-h" };

		same = capture("", "help", words[i], NULL);
		assert_int_equal(same.status, GPUMON_EXIT_OK);
		assert_string_equal(same.out, c.out);
		captured_free(&same);
	}
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	assert_string_equal(c.err, "");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		static const char *const flags[] = { "--help", "-h" };

		assert_non_null(strstr(c.out, names[i]));
		for (size_t k = 0; k < 2; k++) {
			struct captured help = capture("", names[i], flags[k], NULL);
			char usage[64], *example;

			assert_int_equal(help.status, GPUMON_EXIT_OK);
			assert_string_equal(help.err, "");
			snprintf(usage, sizeof(usage), "Usage: gpumon-user %s ", names[i]);
			assert_ptr_equal(strstr(help.out, usage), help.out);
			assert_non_null(strstr(help.out, "--help"));
			/* It is the last of the options, and examples follow. */
			example = strstr(help.out, "\n  gpumon-user ");
			assert_true(!example || example > strstr(help.out, "--help"));
			same = capture("", k ? "--help" : "help", names[i], NULL);
			assert_int_equal(same.status, GPUMON_EXIT_OK);
			assert_string_equal(same.out, help.out);
			captured_free(&same);
			captured_free(&help);
		}
	}
	captured_free(&c);

	c = capture("", "--version", NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	assert_string_equal(c.out, "gpumon-user " GPUMON_VERSION " (netlink schema 2)\n");
	captured_free(&c);
}

/* Completion reads in the help which options take the next word. The parser says the same of each. */
static void completion_and_the_parser_agree(void **state)
{
#define NAME(name) #name,
	static const char *const names[] = { GPUMON_COMMANDS(NAME) };
#undef NAME
	unsigned int n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct captured options = capture("", "--complete", names[i], "-", NULL);
		char *rest = options.out, *line;

		assert_int_equal(options.status, GPUMON_EXIT_OK);
		while ((line = strsep(&rest, "\n")) && *line) {
			char *option = strsep(&line, "\t");
			struct captured parsed, next;

			/* "--name=" never takes the next word. */
			if (option[strlen(option) - 1] == '=' || !strcmp(option, "--help"))
				continue;
			parsed = capture("", names[i], option, "--first", "--second", NULL);
			next = capture("", "--complete", names[i], option, "-", NULL);
			if (!strstr(parsed.err, "unknown option --first") ==
			    !strncmp(next.out, "--", 2))
				fail_msg("%s %s: %s%s", names[i], option, parsed.err, next.out);
			captured_free(&parsed);
			captured_free(&next);
			n++;
		}
		captured_free(&options);
	}
	assert_true(n > 200);
}

/* Whatever is on the line, there is an answer. */
static void completion_of_odd_lines(void **state)
{
	static const char *const words[] = { "",	 "=",	"-",	    "--",
					     "---",	 "--=", "--source", "--x=y",
					     "-p",	 "set", "record",   "\t\n",
					     "--graphs", "on",	"--into",   "--count" };
	static const char *const names[] = {
		"record", "set", "probe", "stat", "flamegraph", "help"
	};
	size_t n = sizeof(words) / sizeof(words[0]);

	(void)state;
	for (size_t i = 0; i < 6 * n * n * n; i++) {
		struct captured c = capture("", "--complete", names[i / n / n / n],
					    words[i / n / n % n], words[i / n % n], words[i % n],
					    NULL);

		assert_int_equal(c.status, GPUMON_EXIT_OK);
		assert_string_equal(c.err, "");
		captured_free(&c);
	}
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{ "1", 1000000000 },	  { "0.5", 500000000 }, { ".25", 250000000 },
		{ "200ms", 200000000 },	  { "1ms", 1000000 },	{ "2m", 120000000000 },
		{ "1h", 3600000000000 },  { "3s", 3000000000 }, { "5000us", 5000000 },
		{ "1000000ns", 1000000 },
	};
	struct gpumon_context context = { .out = stdout, .err = stderr, .root = "" };
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(gpumon_argument_duration(&context, "x", cases[i].text, &ns), 0);
		assert_int_equal(ns, cases[i].ns);
	}
	/* A moment is a time since a beginning, also as it is printed. */
	assert_int_equal(gpumon_argument_moment(&context, "x", "+125ms", &ns), 0);
	assert_int_equal(ns, 125000000);
	assert_int_equal(gpumon_argument_moment(&context, "x", "0", &ns), 0);
	assert_int_equal(ns, 0);
	assert_int_equal(gpumon_argument_moment(&context, "x", "12345678901ns", &ns), 0);
	assert_int_equal(ns, 12345678901);
}

static void another_schema(void **state)
{
	struct gpumon_info info = { .version = "7.0.0", .schema = gpumon_value_of(2) };
	struct gpumon_error err = { 0 };

	(void)state;
	assert_int_equal(gpumon_client_check_schema(&info, &err), 0);
	info.schema = gpumon_value_of(3);
	assert_int_equal(gpumon_client_check_schema(&info, &err), -1);
	assert_int_equal(err.status, GPUMON_EXIT_IMPOSSIBLE);
	assert_int_equal(err.code, GPUMON_ERROR_SCHEMA);
	assert_string_equal(
		err.message,
		"the loaded gpumon module (version 7.0.0) speaks schema 3, this program schema 2: install the same version of both");
	info = (struct gpumon_info){ 0 };
	assert_int_equal(gpumon_client_check_schema(&info, &err), -1);
	assert_int_equal(err.status, GPUMON_EXIT_IMPOSSIBLE);
}

/* This is the last test: the flag stays set. */
static void signals_end_a_sleep(void **state)
{
	uint64_t begin = gpumon_monotonic_ns();

	(void)state;
	assert_true(gpumon_sleep_until(begin + 1000000));
	assert_true(gpumon_monotonic_ns() >= begin + 1000000);
	gpumon_signals_catch();
	assert_false(gpumon_signals_caught());
	raise(SIGTERM);
	assert_true(gpumon_signals_caught());
	assert_false(gpumon_sleep_until(gpumon_monotonic_ns() + 3600000000000ULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_usage),
		cmocka_unit_test(wrong_usage_as_json),
		cmocka_unit_test(help_and_version),
		cmocka_unit_test(completion_and_the_parser_agree),
		cmocka_unit_test(completion_of_odd_lines),
		cmocka_unit_test(durations),
		cmocka_unit_test(another_schema),
		cmocka_unit_test(signals_end_a_sleep),
		cmocka_unit_test(a_programs_json_is_its_own),
		cmocka_unit_test(a_full_device_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
