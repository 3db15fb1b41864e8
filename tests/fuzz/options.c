// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Any words as a command line, in a folder with a small capture: numbers, times, sizes, option
 * names, and whole commands of those that start no program and do not wait. An invalid word is
 * reported in one line, or as JSON if requested. No word contains a slash, so that nothing outside
 * the folder is written.
 */
#include <json.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture_maker.h"
#include "cmd/commands.h"
#include "fuzz.h"
#include "record/options.h"

#define WORDS 12

static const char *const commands[] = { "stat", "set",	  "flamegraph", "export", "report",
					"diff", "doctor", "nothing",	"--help", "trace" };
static const char *const known[] = {
	"--json",    "--output", "-o",	     "x",	 "capture",   "--help",	    "--group",
	"drm_sched", "-",	 "--folded", "--pprof",	 "--chrome",  "--perfetto", "--weight",
	"count",     "--by",	 "gpu",	     "--icicle", "--rows",    "10",	    "--threads",
	"--count",   "1",	 "--",	     "--diff",	 "--summary", "--events",   "on",
	"--ring",    "--pid",	 "--reset",  "--size",
};

static void set_up(void)
{
	struct capture_maker *maker;
	static bool made;

	if (made)
		return;
	made = true;
	MUST(!chdir(fuzz_folder()));
	maker = capture_maker_new();
	make_example(maker, 1000, 1);
	capture_maker_save(maker, "capture", "process-1-1", 1);
	capture_maker_free(maker);
	unsetenv("DEBUGINFOD_URLS");
}

static void check(struct gpumon_context *context, struct fuzz_stream *out, struct fuzz_stream *err,
		  int status)
{
	fuzz_stream_end(out);
	fuzz_stream_end(err);
	MUST(status == GPUMON_EXIT_OK || status == GPUMON_EXIT_FAILED ||
	     status == GPUMON_EXIT_USAGE || status == GPUMON_EXIT_IMPOSSIBLE);
	MUST(status != GPUMON_EXIT_USAGE || err->size);
	/* An error in an option must be the only output. */
	if (context->json && status == GPUMON_EXIT_USAGE)
		json_object_put(fuzz_json(out->data, out->size));
	fuzz_stream_free(out);
	fuzz_stream_free(err);
}

static void run(int count, char **words)
{
	struct fuzz_stream out, err;
	struct gpumon_context context = { .root = fuzz_folder() };

	fuzz_stream_begin(&out);
	fuzz_stream_begin(&err);
	context.out = out.stream;
	context.err = err.stream;
	check(&context, &out, &err, gpumon_run(&context, count, words));
}

static void parse(const char *text)
{
	struct fuzz_stream out, err;
	struct gpumon_context context = { .json = true };
	uint64_t value = 0;
	bool bad;

	for (int which = 0; which < 3; which++) {
		fuzz_stream_begin(&out);
		fuzz_stream_begin(&err);
		context.out = out.stream;
		context.err = err.stream;
		if (which == 0) {
			bad = gpumon_argument_u64(&context, "--count", text, 3, 1000000, &value);
			MUST(bad || (value >= 3 && value <= 1000000));
			MUST(bad || value == strtoull(text, NULL, 10));
		} else if (which == 1) {
			bad = gpumon_argument_size(&context, "--size", text, 1 << 20, 1ull << 40,
						   &value);
			MUST(bad || (value >= 1 << 20 && value <= 1ull << 40));
		} else {
			bad = gpumon_argument_duration(&context, "--time", text, &value);
			MUST(bad || (value >= 1000000 && value <= 366ull * 86400 * 1000000000));
		}
		check(&context, &out, &err, bad ? GPUMON_EXIT_USAGE : GPUMON_EXIT_OK);
	}
}

static void record(int count, char **words)
{
	static const struct gpumon_command command = {
		.name = "record", .usage = "", .summary = "", .help = ""
	};
	static struct gpumon_session_options session;
	struct gpumon_context context = { .command = &command };
	const struct gpumon_option options[] = {
		GPUMON_RECORD_OPTIONS(&session),
		GPUMON_OPTION_JSON(&context),
		{ 0 },
	};
	struct fuzz_stream out, err;
	char **operands = words;
	int left = count, status;

	gpumon_record_options_default(&session);
	fuzz_stream_begin(&out);
	fuzz_stream_begin(&err);
	context.out = out.stream;
	context.err = err.stream;
	status = gpumon_options_parse(&context, &left, &operands, options, GPUMON_OPERANDS_PROGRAM);
	if (status == GPUMON_OPTIONS_GO_ON) {
		MUST(left >= 0 && left < count && operands + left == words + count);
		MUST(!context.explicit || !strcmp(operands[-1], "--"));
		status = GPUMON_EXIT_OK;
	}
	MUST(strnlen(session.directory, PATH_MAX) < PATH_MAX);
	MUST(session.pid_count <= GPUMON_SESSION_PIDS_MAX);
	MUST(session.recorder.settings.stack_depth <= GPUMON_STACK_DEPTH_MAX);
	check(&context, &out, &err, status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	char *words[WORDS + 3] = { 0 }, *mixed[WORDS + 3];
	uint8_t how = fuzz_u8(&input);
	int count = 2;

	set_up();
	words[0] = strdup("gpumon-user");
	words[1] = strdup(commands[how / 2 % (sizeof(commands) / sizeof(commands[0]))]);
	while (count < WORDS && input.size) {
		uint8_t which = fuzz_u8(&input);

		words[count] =
			which & 1 ? strdup(known[which / 2 % (sizeof(known) / sizeof(known[0]))]) :
				    fuzz_text(&input);
		for (char *at = words[count]; (at = strchr(at, '/'));)
			*at = ':';
		parse(words[count++]);
	}
	/* Commands reorder their arguments. */
	memcpy(mixed, words, sizeof(words));
	if (how & 1)
		record(count - 1, mixed + 1);
	else
		run(count, mixed);
	for (int i = 0; i < count; i++)
		free(words[i]);
	return 0;
}
