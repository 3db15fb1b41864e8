// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* produce DIR: writes every output, of constructed profiles and captures, for the tests here. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kmod/uapi/gpumon_event.h"
#include "capture/capture_maker.h"
#include "cmd/commands.h"
#include "report/output.h"
#include "report/output_profile.h"

static const struct gpumon_profile_options no_options;

static const char *directory;

static FILE *open_file(const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	if (!file) {
		fprintf(stderr, "produce: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return file;
}

static void close_file(FILE *file, const char *name, int ret)
{
	if (fclose(file) || ret) {
		fprintf(stderr, "produce: %s failed\n", name);
		exit(1);
	}
}

#define PRODUCE(name, call)                      \
	do {                                     \
		FILE *out = open_file(name);     \
		close_file(out, (name), (call)); \
	} while (0)

static void produce_view(const char *prefix, const struct gpumon_view *view)
{
	static const struct gpumon_term term = { .columns = 80 }, wide = { .columns = 110 };
	char name[128];

#define NAMED(suffix) (snprintf(name, sizeof(name), "%s%s", prefix, suffix), name)
	PRODUCE(NAMED(".svg"),
		gpumon_output_flamegraph_view(out, view, GPUMON_WEIGHT_GPU_NS, false));
	PRODUCE(NAMED(".icicle.svg"),
		gpumon_output_flamegraph_view(out, view, GPUMON_WEIGHT_COUNT, true));
	PRODUCE(NAMED(".folded"),
		gpumon_output_folded(out, view->root, GPUMON_WEIGHT_GPU_NS, true));
	PRODUCE(NAMED(".wall.svg"),
		gpumon_output_flamegraph_view(out, view, GPUMON_WEIGHT_WALL_NS, false));
	PRODUCE(NAMED(".idle.svg"),
		gpumon_output_flamegraph_view(out, view, GPUMON_WEIGHT_IDLE_NS, false));
	PRODUCE(NAMED(".wall.folded"),
		gpumon_output_folded(out, view->root, GPUMON_WEIGHT_WALL_NS, true));
	PRODUCE(NAMED(".idle.folded"),
		gpumon_output_folded(out, view->root, GPUMON_WEIGHT_IDLE_NS, true));
	PRODUCE(NAMED(".json"), gpumon_output_json(out, view));
	PRODUCE(NAMED(".pb.gz"), gpumon_output_pprof(out, view));
	PRODUCE(NAMED(".html"), gpumon_output_report(out, view));
	PRODUCE(NAMED(".txt"), gpumon_output_summary(out, &term, view, NULL));
	PRODUCE(NAMED(".wide.txt"), gpumon_output_summary(out, &wide, view, NULL));
#undef NAMED
}

/* Nothing at all. */
static void produce_empty(void)
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0);
	struct gpumon_view view = { .root = root };

	produce_view("empty", &view);
	made_free(root);
}

/* Names with special characters of the output formats, and extreme weights. */
static void produce_hostile(void)
{
	static const char *const names[] = {
		"operator<< <int>(std::ostream&, \"x\" && 'y')",
		"</title><script>document.title='broken'</script>",
		"a;b;c\nd",
		"]]></script><script>document.title='broken'</script>",
		"核心 Ядро ünï 🚀 kernel",
		"broken \xff\xfe utf-8 \xc3",
		"",
		"\x1b[31mred",
		"\u202egnp.exe",
	};
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "", 0, 0, 0), *node;
	struct gpumon_kernel_row kernels[9] = { 0 };
	struct gpumon_view view = { .root = root, .kernels = kernels, .kernel_count = 9 };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		node = made_node(root, GPUMON_NODE_FUNCTION, names[i], 0, 0, 0);
		node = made_node(node, GPUMON_NODE_KERNEL, names[i], i + 1, 1000003 * (i + 1), 7);
		kernels[i] = (struct gpumon_kernel_row){ .name = names[i],
							 .mangled = names[i],
							 .count = i + 1,
							 .gpu_ns = 1000003 * (i + 1) };
	}
	produce_view("hostile", &view);
	node = made_node(root, GPUMON_NODE_KERNEL, "huge", UINT64_MAX, UINT64_MAX, UINT64_MAX);
	kernels[0].gpu_ns = UINT64_MAX;
	produce_view("huge", &view);
	made_free(root);
}

/* As many frames as in a large program. */
static void produce_large(void)
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0);
	struct gpumon_view view = { .root = root };
	char name[64];

	for (unsigned int i = 0; i < 60; i++) {
		struct gpumon_node *node = root;

		for (unsigned int depth = 0; depth < 60; depth++) {
			snprintf(name, sizeof(name), "function_%u_%u", i, depth);
			node = made_node(node, GPUMON_NODE_FUNCTION, name, 0, 0, 0);
		}
		made_node(node, GPUMON_NODE_KERNEL, "kernel", 3, 1000 + i, 9);
	}
	produce_view("large", &view);
	made_free(root);
}

#define CALLERS	   100
#define LINES	   100
#define KERNELS	   40
#define DEEP	   65
#define DEPTH	   1000
#define PATH_LINES (CALLERS * LINES)

/*
 * Ten thousand call paths that differ in a function or in a line, to a few kernels, of which one is
 * launched by the two lightest of them. Lighter still are kernels with one path each, of DEPTH frames.
 */
static void produce_paths(void)
{
	static char lines[PATH_LINES][32], kernels[KERNELS + DEEP][16];
	static struct gpumon_kernel_row rows[KERNELS + DEEP];
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0), *node,
			   *last = root;
	struct gpumon_view view = { .root = root, .kernels = rows, .kernel_count = KERNELS + DEEP };
	char name[32];

	for (unsigned int i = 0; i < KERNELS + DEEP; i++) {
		snprintf(kernels[i], sizeof(kernels[i]), "kernel_%u", i);
		rows[i].name = kernels[i];
	}
	for (unsigned int i = 0; i < PATH_LINES; i++) {
		bool rare = i >= PATH_LINES - 2;
		struct gpumon_kernel_row *row = &rows[rare ? KERNELS - 1 : i % (KERNELS - 1)];
		uint64_t ns = 2 * (uint64_t)(PATH_LINES - i);

		if (i % LINES == 0) {
			snprintf(name, sizeof(name), "caller_%02u", i / LINES);
			last = made_place(root, name, "program");
			last->line = "src/main.cc:10";
		}
		/* Each line is a node of the same function. */
		snprintf(lines[i], sizeof(lines[i]), "src/step.cc:%u", i % LINES + 1);
		node = made_place(last, "step", "program");
		node->line = lines[i];
		node = made_node(node, GPUMON_NODE_API, "cuLaunchKernel", 0, 0, 0);
		made_node(node, GPUMON_NODE_KERNEL, row->name, 1, ns, 0);
		row->count++;
		row->gpu_ns += ns;
	}
	for (unsigned int i = KERNELS; i < KERNELS + DEEP; i++) {
		node = made_node(root, GPUMON_NODE_FUNCTION, kernels[i], 0, 0, 0);
		for (unsigned int depth = 2; depth < DEPTH; depth++) {
			snprintf(name, sizeof(name), "level_%u", depth);
			node = made_node(node, GPUMON_NODE_FUNCTION, name, 0, 0, 0);
		}
		made_node(node, GPUMON_NODE_KERNEL, rows[i].name, 1, 1, 0);
		rows[i].count = 1;
		rows[i].gpu_ns = 1;
	}
	PRODUCE("paths.html", gpumon_output_report(out, &view));
	made_free(root);
}

static void produce_diff(void)
{
	static const struct gpumon_term term = { .columns = 100 };
	struct gpumon_view before, after;
	struct gpumon_node *node;
	struct gpumon_diff *diff;

	made_training(&before);
	made_training(&after);
	((struct gpumon_kernel_row *)after.kernels)[0].gpu_ns *= 2;
	((struct gpumon_kernel_row *)after.kernels)[3].name = "another_kernel(int)";
	node = made_node((struct gpumon_node *)after.root, GPUMON_NODE_KERNEL, "only_after", 1,
			 5000000, 0);
	made_node((struct gpumon_node *)before.root, GPUMON_NODE_KERNEL, "only_before", 2, 4000000,
		  0);
	made_node(node, GPUMON_NODE_KERNEL, "below", 1, 1, 0);
	diff = gpumon_diff_new(&before, &after);
	if (!diff)
		exit(1);
	PRODUCE("diff.txt", gpumon_diff_print(out, &term, diff, NULL));
	PRODUCE("diff.json", gpumon_diff_json(out, diff));
	PRODUCE("diff.svg", gpumon_diff_flamegraph(out, diff));
	gpumon_diff_free(diff);
	made_training_free(&before);
	made_training_free(&after);
}

/* A process with overlapping and unordered operations on one stream, and all kinds of events. */
static void make_timeline(struct capture_maker *maker)
{
	uint32_t launch = make_string(maker, "cudaLaunchKernel_v7000");
	uint32_t wait = make_string(maker, "cudaStreamSynchronize_v3020");
	uint32_t kernel = make_string(maker, "_Z6matmulPKfS0_Pf");
	struct gpumon_event event = {
		.time_ns = 1000000500,
		.event = GPUMON_EVENT_IOCTL,
		.context = 0x2a,
		.arg = 77,
		.pid = 42,
		.comm = "train \"1\"",
	};
	const struct gpumon_event done = {
		.time_ns = 1000009000,
		.event = GPUMON_EVENT_DONE,
		.flags = GPUMON_EVENT_F_LATENCY,
		.context = 7,
		.seqno = 3,
		.arg = 4000,
		.pid = 42,
		.error = -62,
		.comm = "train",
	};

	make_process(maker, .pid = 42, .rank = ~0u, .command = make_string(maker, "./train <1>"),
		     .host = make_string(maker, "node-1"));
	make_thread(maker, .tid = 42, .name = make_string(maker, "main"));
	make_device(maker, .id = 0, .name = make_string(maker, "NVIDIA H100"), .uuid = { 1, 2 });
	make_range(maker, .time_ns = 1000000001, .tid = 42, .kind = GPUMON_RANGE_PUSH,
		   .text = make_string(maker, "step \"one\""));
	for (uint32_t i = 0; i < 4; i++)
		make_launch(maker, .start_ns = 1000001000 + i * 1000,
			    .end_ns = 1000001789 + i * 1000, .tid = 42, .correlation = i + 1,
			    .function = launch, .context = 1, .stack = make_stack(maker, 0x401000));
	/* Last one first, and each overlapping the previous one. */
	for (uint32_t i = 4; i-- > 0;)
		make_kernel(maker, .start_ns = 1000010000 + i * 1000,
			    .end_ns = 1000011001 + i * 1000 + (i == 1), .correlation = i + 1,
			    .name = kernel, .context = 1, .stream = 7, .grid = { 1, 2, 3 },
			    .block = { 256, 1, 1 });
	make_copy(maker, .start_ns = 1000020000, .end_ns = 1000020500, .bytes = 4096,
		  .correlation = 99, .context = 1, .stream = 7, .from = GPUMON_PLACE_PINNED,
		  .to = GPUMON_PLACE_DEVICE);
	make_call(maker, .head.flags = GPUMON_CALL_BLOCKING, .start_ns = 1000012000,
		  .end_ns = 1000025000, .tid = 42, .correlation = 50, .function = wait);
	make_range(maker, .time_ns = 1000026000, .tid = 42, .kind = GPUMON_RANGE_POP);
	make_range(maker, .time_ns = 1000026001, .tid = 42, .kind = GPUMON_RANGE_POP);
	make_range(maker, .time_ns = 1000002000, .tid = 42, .id = 5, .kind = GPUMON_RANGE_START,
		   .text = make_string(maker, "epoch"));
	make_range(maker, .time_ns = 1000027000, .tid = 43, .id = 5, .kind = GPUMON_RANGE_END);
	make_range(maker, .time_ns = 1000003000, .tid = 42, .kind = GPUMON_RANGE_MARK,
		   .text = make_string(maker, "here"));
	make_alert(maker, .time_ns = 1000028000, .code = 31,
		   .device = make_string(maker, "0000:07:00.0"),
		   .message = make_string(maker, "xid: MMU Fault"));
	make_alert(maker, .time_ns = 1000029000, .device = make_string(maker, "0000:07:00.0"),
		   .message = make_string(maker, "reset: GPU was reset in 7 ms"));
	make_alert(maker, .time_ns = 1000029500, .code = 2,
		   .message = make_string(maker, "hang: job on the hardware for 5240 ms"));
	make_driver_event(maker, "nvidia0 0x2a", &event, sizeof(event));
	make_driver_event(maker, "card/ring0", &done, sizeof(done));
}

/* Only seen by uprobes: without the library there are no launches and no operations. */
static void make_hits(struct capture_maker *maker)
{
	uint32_t stack = make_stack(maker, 0x401000);

	make_process(maker, .pid = 77, .rank = ~0u, .executable = make_string(maker, "/bin/serve"));
	make_hit(maker, .time_ns = 5000000100, .number = 1, .tid = 78, .stack = stack,
		 .function = make_string(maker, "cudaLaunchKernel"));
	make_hit(maker, .time_ns = 5000000200, .number = 2, .tid = 78, .stack = stack,
		 .function = make_string(maker, "cudaStreamSynchronize_ptsz"),
		 .duration_ns = 54321);
}

static void produce_timelines(void)
{
	struct capture_maker *maker = capture_maker_new();
	char path[4096], example[4096], hits[4096];
	const char *paths[2] = { path, example }, *alone[1] = { hits };

	snprintf(path, sizeof(path), "%s/capture", directory);
	snprintf(example, sizeof(example), "%s/example", directory);
	make_timeline(maker);
	capture_maker_save(maker, path, "process-42-1", 42);
	capture_maker_free(maker);
	maker = capture_maker_new();
	make_example(maker, 1000000000, 3);
	capture_maker_save(maker, example, "process-103-1", 103);
	capture_maker_free(maker);
	snprintf(hits, sizeof(hits), "%s/hits", directory);
	maker = capture_maker_new();
	make_hits(maker);
	capture_maker_save(maker, hits, "process-77-1", 77);
	capture_maker_free(maker);
	PRODUCE("hits.chrome.json", gpumon_output_chrome(out, alone, 1, &no_options));
	PRODUCE("hits.perfetto", gpumon_output_perfetto(out, alone, 1, &no_options));
	PRODUCE("timeline.chrome.json", gpumon_output_chrome(out, paths, 1, &no_options));
	PRODUCE("timeline.perfetto", gpumon_output_perfetto(out, paths, 1, &no_options));
	PRODUCE("both.chrome.json", gpumon_output_chrome(out, paths, 2, &no_options));
	PRODUCE("both.perfetto", gpumon_output_perfetto(out, paths, 2, &no_options));
}

/* Operations in windows of 20 ms in 60, the last one cut off, and half of the time busy in them. */
static void produce_windows(void)
{
	const uint64_t ms = 1000000, begin = 1000 * ms;
	struct capture_maker *maker = capture_maker_new();
	const struct gpumon_profile_options options = { .bins = 240 };
	char path[4096];
	const char *const paths[] = { path };
	uint32_t name = make_string(maker, "windowed_kernel");
	struct gpumon_profile *profile;
	struct gpumon_view view;

	snprintf(path, sizeof(path), "%s/windows", directory);
	make_process(maker, .pid = 100, .rank = ~0u);
	for (uint64_t at = begin; at < begin + 300 * ms; at += 60 * ms) {
		make_window(maker, .time_ns = at,
			    .head.flags = at == begin ? 0 : GPUMON_WINDOW_OPERATIONS);
		for (uint64_t k = 0; k < 20; k++)
			make_kernel(maker, .start_ns = at + k * ms, .end_ns = at + k * ms + ms / 2,
				    .correlation = (uint32_t)(at / ms + k), .name = name,
				    .context = 1, .stream = 7);
		make_window(maker, .time_ns = at + 20 * ms,
			    .head.flags = GPUMON_WINDOW_OPERATIONS | GPUMON_WINDOW_END);
	}
	capture_maker_save(maker, path, "process-100-1", 0);
	if (gpumon_profile_load(paths, 1, &options, &profile))
		exit(1);
	gpumon_view_of(profile, &view);
	produce_view("windows", &view);
	gpumon_profile_free(profile);
	capture_maker_free(maker);
}

/* Steps of 1 ms: a launch of 80 us, a wait of 300 us, and in what is between calls a sleep of 200 us. */
static void produce_budget(void)
{
	const uint64_t us = 1000, step = 1000 * us, begin = 1000000 * us;
	const struct gpumon_profile_options options = { .bins = 4000 };
	struct capture_maker *maker = capture_maker_new();
	uint32_t kernel = make_string(maker, "step_kernel");
	uint32_t launch = make_string(maker, "cudaLaunchKernel");
	uint32_t wait = make_string(maker, "cudaStreamSynchronize");
	uint32_t stack = make_stack(maker, 0x401000, 0x402000);
	uint32_t sleep = make_stack(maker, 0x403000, 0x402000);
	struct gpumon_profile *profile;
	struct gpumon_view view;
	const char *paths[1];
	char path[4096];

	snprintf(path, sizeof(path), "%s/budget", directory);
	paths[0] = path;
	make_process(maker, .pid = 100, .rank = ~0u);
	make_thread(maker, .tid = 100, .name = make_string(maker, "loader"));
	for (uint32_t i = 0; i < 40; i++) {
		uint64_t at = begin + i * step;

		make_launch(maker, .start_ns = at, .end_ns = at + 80 * us, .tid = 100,
			    .correlation = 2 * i + 1, .function = launch, .context = 1,
			    .stack = stack);
		make_kernel(maker, .start_ns = at + 10 * us, .end_ns = at + 410 * us,
			    .correlation = 2 * i + 1, .name = kernel, .context = 1, .stream = 7);
		make_call(maker, .head.flags = GPUMON_CALL_BLOCKING, .start_ns = at + 80 * us,
			  .end_ns = at + 380 * us, .tid = 100, .correlation = 2 * i + 2,
			  .function = wait, .stack = stack);
		make_wait(maker, .start_ns = at + 800 * us, .end_ns = at + 1000 * us, .tid = 100,
			  .stack = sleep, .kind = GPUMON_WAIT_SLEEP, .looks = 1);
	}
	/* The recording ends with the last step. */
	make_range(maker, .time_ns = begin + 40 * step, .tid = 100, .kind = GPUMON_RANGE_MARK,
		   .text = make_string(maker, "end"));
	capture_maker_save(maker, path, "process-100-1", 0);
	if (gpumon_profile_load(paths, 1, &options, &profile))
		exit(1);
	gpumon_view_of(profile, &view);
	produce_view("budget", &view);
	gpumon_profile_free(profile);
	capture_maker_free(maker);
}

/*
 * Frames of 16 ms. Of 300 one takes 20 ms more in a wait for the GPU, one 200 ms more in what makes pipelines, and of
 * one nothing says why it takes 30 ms more.
 */
static void make_frames(struct capture_maker *maker, uint32_t count)
{
	const uint64_t ms = 1000000;
	uint32_t present = make_string(maker, "vkQueuePresentKHR");
	uint32_t submit = make_string(maker, "vkQueueSubmit");
	uint32_t wait = make_string(maker, "vkWaitForFences");
	uint32_t pipeline = make_string(maker, "vkCreateGraphicsPipelines");
	uint32_t kernel = make_string(maker, "draw <shadows> & \"sky\"");
	uint32_t stack = make_stack(maker, 0x401000);
	uint64_t at = 1000 * ms;

	make_process(maker, .pid = 100, .rank = ~0u, .executable = make_string(maker, "/bin/game"));
	make_thread(maker, .tid = 100, .name = make_string(maker, "render"));
	for (uint32_t i = 0; i <= count; i++) {
		uint64_t waits = i % 300 == 50 ? 22 * ms : 2 * ms;
		uint64_t makes = i % 300 == 120 ? 200 * ms : 0;

		make_present(maker, .tid = 100, .swapchain = 1, .number = i + 1, .start_ns = at,
			     .end_ns = at + ms / 2, .function = present);
		make_launch(maker, .start_ns = at + ms, .end_ns = at + 2 * ms, .tid = 100,
			    .correlation = i + 1, .function = submit, .context = 1, .stack = stack);
		make_kernel(maker, .start_ns = at + 2 * ms, .end_ns = at + 2 * ms + waits,
			    .correlation = i + 1, .name = kernel, .context = 1, .stream = 7);
		if (makes)
			make_call(maker, .start_ns = at + 2 * ms, .end_ns = at + 2 * ms + makes,
				  .tid = 100, .function = pipeline);
		make_call(maker, .head.flags = GPUMON_CALL_BLOCKING,
			  .start_ns = at + 2 * ms + makes, .end_ns = at + 2 * ms + makes + waits,
			  .tid = 100, .function = wait);
		at += 14 * ms + waits + makes + (i % 300 == 200 ? 30 * ms : 0);
	}
}

/* By the command: frames are no part of a profile. */
static void produce_report(const char *capture, const char *page, const char *from, const char *to)
{
	struct gpumon_context context = { .out = stdout, .err = stderr, .root = "" };
	char path[4096], output[4096];
	char *argv[] = {
		(char *)"gpumon-user", (char *)"report", path,		 (char *)"-o", output,
		(char *)"--from",      (char *)from,	 (char *)"--to", (char *)to,   NULL
	};
	int argc = from ? 9 : 5;

	snprintf(path, sizeof(path), "%s/%s", directory, capture);
	snprintf(output, sizeof(output), "%s/%s", directory, page);
	argv[argc] = NULL;
	if (gpumon_run(&context, argc, argv) != GPUMON_EXIT_OK)
		exit(1);
}

static void produce_frames(void)
{
	static const uint32_t counts[] = { 240, 12000 };
	static const char *const names[] = { "frames", "many-frames" };
	const struct gpumon_profile_options part = { .asked = { .has_from = true,
								.from_ns = 790000000,
								.has_to = true,
								.to_ns = 850000000 } };
	char path[4096];
	const char *const paths[] = { path };

	for (unsigned int i = 0; i < 2; i++) {
		struct capture_maker *maker = capture_maker_new();

		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		make_frames(maker, counts[i]);
		capture_maker_save(maker, path, "process-100-1", 0);
		capture_maker_free(maker);
	}
	snprintf(path, sizeof(path), "%s/frames", directory);
	PRODUCE("frames.chrome.json", gpumon_output_chrome(out, paths, 1, &no_options));
	PRODUCE("frames.perfetto", gpumon_output_perfetto(out, paths, 1, &no_options));
	PRODUCE("frames.part.perfetto", gpumon_output_perfetto(out, paths, 1, &part));
	produce_report("frames", "frames.html", NULL, NULL);
	produce_report("frames", "frames.part.html", "700ms", "1100ms");
	produce_report("many-frames", "many-frames.html", NULL, NULL);
}

int main(int argc, char **argv)
{
	struct gpumon_view view;

	if (argc != 2) {
		fputs("usage: produce DIRECTORY\n", stderr);
		return 2;
	}
	directory = argv[1];
	made_training(&view);
	produce_view("training", &view);
	made_training_free(&view);
	produce_empty();
	produce_hostile();
	produce_large();
	produce_paths();
	produce_diff();
	produce_timelines();
	produce_windows();
	produce_budget();
	produce_frames();
	return 0;
}
