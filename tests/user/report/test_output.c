// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Folded stacks, flame graphs, summaries and comparisons of profiles made by hand. */
#include "common.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/distribution.h"
#include "report/report.h"
#include "report/flamegraph.h"
#include "report/output.h"
#include "lib/text.h"
#include "report/view.h"
#include "report/diff.h"
#include "output_profile.h"

/* The output of @call, which writes to "out" and returns 0. */
#define WRITTEN(text, call)                                  \
	do {                                                 \
		size_t size_;                                \
		FILE *out = open_memstream(&(text), &size_); \
		assert_int_equal(call, 0);                   \
		fclose(out);                                 \
	} while (0)

static struct gpumon_node *small_tree(void)
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0), *node;

	node = made_node(root, GPUMON_NODE_FUNCTION, "main", 0, 0, 0);
	node = made_node(node, GPUMON_NODE_API, "cudaLaunchKernel", 1, 0, 500);
	made_node(node, GPUMON_NODE_KERNEL, "void gemm<float>(int)", 3, 3000, 30);
	made_node(node, GPUMON_NODE_KERNEL, "a;b", 1, 1000, 10);
	node = made_node(root, GPUMON_NODE_REASON, "[kernel without stack]", 0, 0, 0);
	made_node(node, GPUMON_NODE_SET, "[set]", 1, 1, 0);
	return root;
}

static void folded(void **state)
{
	struct gpumon_node *root = small_tree();
	char *text;

	(void)state;
	WRITTEN(text, gpumon_output_folded(out, root, GPUMON_WEIGHT_GPU_NS, true));
	assert_string_equal(text, "[kernel without stack];[set] 1\n"
				  "main;cudaLaunchKernel;a:b 1000\n"
				  "main;cudaLaunchKernel;void gemm<float>(int) 3000\n");
	free(text);
	WRITTEN(text, gpumon_output_folded(out, root, GPUMON_WEIGHT_CPU_NS, true));
	assert_string_equal(text, "main;cudaLaunchKernel 500\n"
				  "main;cudaLaunchKernel;a:b 10\n"
				  "main;cudaLaunchKernel;void gemm<float>(int) 30\n");
	free(text);
	WRITTEN(text, gpumon_output_folded(out, root, GPUMON_WEIGHT_COUNT, true));
	assert_string_equal(text, "[kernel without stack];[set] 1\n"
				  "main;cudaLaunchKernel 1\n"
				  "main;cudaLaunchKernel;a:b 1\n"
				  "main;cudaLaunchKernel;void gemm<float>(int) 3\n");
	free(text);
	made_free(root);
}

static void folded_without_paths(void **state)
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0);
	char *text;

	(void)state;
	WRITTEN(text, gpumon_output_folded(out, root, GPUMON_WEIGHT_GPU_NS, true));
	assert_string_equal(text, "");
	free(text);
	root->gpu_ns = 5;
	made_node(root, GPUMON_NODE_KERNEL, "", 1, UINT64_MAX, 0);
	WRITTEN(text, gpumon_output_folded(out, root, GPUMON_WEIGHT_GPU_NS, true));
	assert_string_equal(text, "all 5\n[unknown] 18446744073709551615\n");
	free(text);
	made_free(root);
}

/* A function that calls from two lines: rows by line, or rows by function. */
static struct gpumon_node *tree_with_lines(void)
{
	static const char *const lines[] = { "src/train.cc:20", "src/train.cc:9",
					     "src/train.cc:20" };
	static const uint64_t ns[] = { 600, 300, 100 };
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0), *node;

	for (unsigned int i = 0; i < 3; i++) {
		node = made_place(root, "main", "train");
		node->line = i < 2 ? "src/main.cc:1" : "src/main.cc:2";
		node = made_place(node, "step", "train");
		node->line = lines[i];
		node = made_node(node, GPUMON_NODE_API, "cuLaunchKernel", 0, 0, 0);
		made_node(node, GPUMON_NODE_KERNEL, "gemm", 1, ns[i], 0);
	}
	return root;
}

static void folded_lines(void **state)
{
	struct gpumon_node *root = tree_with_lines();
	char *text;

	(void)state;
	WRITTEN(text, gpumon_output_folded(out, root, GPUMON_WEIGHT_GPU_NS, true));
	assert_non_null(
		strstr(text, "main (main.cc:1);step (train.cc:9);cuLaunchKernel;gemm 300\n"));
	assert_non_null(
		strstr(text, "main (main.cc:1);step (train.cc:20);cuLaunchKernel;gemm 600\n"));
	assert_non_null(
		strstr(text, "main (main.cc:2);step (train.cc:20);cuLaunchKernel;gemm 100\n"));
	free(text);
	WRITTEN(text, gpumon_output_folded(out, root, GPUMON_WEIGHT_GPU_NS, false));
	assert_non_null(strstr(text, "main;step;cuLaunchKernel;gemm 300\n"));
	assert_null(strstr(text, ".cc"));
	free(text);
	made_free(root);
}

/* A picture has one frame for the function, which names its lines with their shares. */
static void lines_of_a_frame(void **state)
{
	const struct gpumon_flamegraph_options options = { .icicle = true };
	struct gpumon_node *root = tree_with_lines();
	const struct gpumon_frame *step;
	struct gpumon_flame flame;
	char *text;

	(void)state;
	gpumon_flame_of(&flame, root, GPUMON_WEIGHT_GPU_NS);
	step = flame.frames[0].child->child;
	assert_null(flame.frames[0].child->next);
	assert_null(step->next);
	assert_string_equal(step->name, "step");
	assert_int_equal(step->total, 1000);
	assert_int_equal(step->count, 3);
	assert_int_equal(step->child->child->self, 1000);
	assert_int_equal(step->child->child->depth, 4);
	/* Each node leads to the frame that it is part of. */
	for (size_t i = 0; i < flame.n; i++)
		assert_string_equal(gpumon_flame_shown(&flame.frames[i])->name,
				    flame.frames[i].node->name);
	WRITTEN(text, gpumon_flame_write(out, &flame, &options, NULL));
	assert_non_null(strstr(text, "<title>main\ntrain\n90.0% in src/main.cc:1\n"
				     "10.0% in src/main.cc:2\n"));
	assert_non_null(strstr(text, "<title>step\ntrain\n70.0% in src/train.cc:20\n"
				     "30.0% in src/train.cc:9\n"));
	free(text);
	gpumon_flame_clear(&flame);
	made_free(root);
}

static void layout(void **state)
{
	struct gpumon_node *root = small_tree();
	struct gpumon_flame flame;

	(void)state;
	gpumon_flame_of(&flame, root, GPUMON_WEIGHT_GPU_NS);
	assert_int_equal(flame.n, 7);
	assert_int_equal(flame.frames[0].total, 4001);
	/* The heaviest child is on the left, whatever its name. */
	assert_string_equal(flame.frames[0].child->name, "main");
	assert_int_equal(flame.frames[0].child->total, 4000);
	assert_int_equal(flame.frames[0].child->next->start, 4000);
	assert_string_equal(flame.frames[0].child->child->child->name, "void gemm<float>(int)");
	assert_int_equal(flame.frames[0].child->child->child->depth, 3);
	assert_int_equal(flame.frames[0].count, 6);
	gpumon_flame_clear(&flame);
	made_free(root);
}

/* A chain of unnamed functions in one library forms one frame, without losses. */
static void unnamed(void **state)
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0), *node, *other;
	const struct gpumon_flamegraph_options options = { .icicle = true };
	const struct gpumon_frame *frame;
	struct gpumon_flame flame;
	char *text;

	(void)state;
	node = made_place(root, "liba.so+0x10", "liba.so");
	node = made_place(node, "liba.so+0x20", "liba.so");
	node = made_place(node, "liba.so+0x30", "liba.so");
	/* Another library, a name, a branch, or own weight begins a new frame. */
	node = made_place(node, "libb.so+0x10", "libb.so");
	node = made_place(node, "named", "libb.so");
	other = made_place(node, "libb.so+0x20", "libb.so");
	made_node(other, GPUMON_NODE_KERNEL, "one", 1, 100, 0);
	node = made_place(node, "libb.so+0x30", "libb.so");
	node->count = 1;
	node->gpu_ns = 7;
	node = made_place(node, "libb.so+0x40", "libb.so");
	made_node(node, GPUMON_NODE_KERNEL, "two", 1, 200, 0);

	gpumon_flame_of(&flame, root, GPUMON_WEIGHT_GPU_NS);
	assert_int_equal(flame.n, 11);
	assert_int_equal(flame.frames[0].total, 307);
	frame = flame.frames[0].child;
	assert_string_equal(frame->name, "liba.so+0x10");
	assert_int_equal(frame->joined, 2);
	assert_string_equal(frame->last, "liba.so+0x30");
	assert_string_equal(frame->child->name, "libb.so+0x10");
	assert_int_equal(frame->child->joined, 0);
	frame = frame->child->child;
	assert_string_equal(frame->name, "named");
	assert_string_equal(frame->child->name, "libb.so+0x30");
	assert_int_equal(frame->child->self, 7);
	assert_string_equal(frame->child->child->name, "libb.so+0x40");
	assert_string_equal(frame->child->next->name, "libb.so+0x20");
	WRITTEN(text, gpumon_flame_write(out, &flame, &options, NULL));
	assert_non_null(strstr(text, "<title>liba.so+0x10 … +0x30\n3 functions without a name\n"));
	assert_non_null(strstr(text, ">liba.so, 3 functions</text>"));
	free(text);
	gpumon_flame_clear(&flame);
	made_free(root);
}

static void subtitles(void **state)
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 5, 5, 0);
	struct gpumon_scan scan = { .host = (char *)"here" };
	struct gpumon_view view = { .root = root, .scan = &scan };
	char text[512];

	(void)state;
	scan.command = (char *)"/bin/short a/b";
	assert_string_equal(
		gpumon_view_subtitle(text, sizeof(text), &view),
		"/bin/short a/b · here · 0\u00a0ns recorded · 5\u00a0ns of GPU time in 5 operations");
	/* Directories are shortened before the last words are cut. "=" marks an option's value. */
	scan.command =
		(char *)"/opt/venv/bin/python3 ../../some/where/train.py --data=/a/b eager 8 a/b";
	assert_non_null(strstr(gpumon_view_subtitle(text, sizeof(text), &view),
			       "python3 train.py --data=/a/b eager 8 a/b · here · "));
	made_free(root);
}

/* Without GPU data the launches are shown, under that name. */
static void picture_of_launches(void **state)
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0);
	struct gpumon_view view = { .root = root };
	char *text;

	(void)state;
	made_node(made_node(root, GPUMON_NODE_FUNCTION, "main", 0, 0, 0), GPUMON_NODE_API,
		  "cudaLaunchKernel", 20, 0, 4000);
	WRITTEN(text, gpumon_output_flamegraph_view(out, &view, GPUMON_WEIGHT_GPU_NS, false));
	assert_non_null(strstr(text, "Time in launch calls by call path"));
	assert_non_null(strstr(text, "20 launches, 4.00\u00a0µs in their calls"));
	assert_non_null(strstr(text, "data-weight=\"cpu_ns\""));
	free(text);
	made_free(root);
}

/* Cut what is between two marks, and these. */
static void cut_out(char *text, const char *from, const char *until)
{
	char *begin = strstr(text, from), *end = begin ? strstr(begin, until) : NULL;

	assert_non_null(end);
	end += strlen(until);
	memmove(begin, end, strlen(end) + 1);
}

/* A small picture except its style and script, so that changes are noticed. */
static void golden(void **state)
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0);
	const struct gpumon_flamegraph_options options = {
		.title = "T<1>",
		.subtitle = "sub",
		.losses = "3 lost",
	};
	struct gpumon_flame flame;
	char *text;

	(void)state;
	made_node(made_node(root, GPUMON_NODE_FUNCTION, "main", 0, 0, 0), GPUMON_NODE_KERNEL,
		  "k<&>", 2, 2500, 7);
	gpumon_flame_of(&flame, root, GPUMON_WEIGHT_GPU_NS);
	WRITTEN(text, gpumon_flame_write(out, &flame, &options, NULL));
	cut_out(text, "<?xml", "?>\n");
	cut_out(text, "<style>", "</style>\n");
	cut_out(text, "<script>", "</script>\n");
	assert_string_equal(
		text,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"gpumon-flame\" width=\"1200\" height=\"180\" viewBox=\"0 0 1200 180\" data-total=\"2500\" data-weight=\"gpu_ns\" data-icicle=\"0\">\n"
		"<rect class=\"paper\" width=\"100%\" height=\"180\"/>\n"
		"<text class=\"title\" x=\"10\" y=\"24\">T&lt;1&gt;</text>\n"
		"<text class=\"subtitle\" x=\"10\" y=\"44\">sub</text>\n"
		"<text class=\"losses\" x=\"10\" y=\"62\">3 lost</text>\n"
		"<text class=\"hint\" x=\"10\" y=\"82\"></text>\n"
		"<g class=\"frames\">\n"
		"<g class=\"f\" data-s=\"0\" data-v=\"2500\" data-d=\"0\"><title>all\n2.50\u00a0µs of GPU time · 100.0% of all · 2 times\n7\u00a0ns in the calls that launched it</title><rect x=\"10.00\" y=\"128\" width=\"1180.00\" height=\"17\" rx=\"1.5\" class=\"s\"/><text x=\"14.00\" y=\"141\">all</text></g>\n"
		"<g class=\"f\" data-s=\"0\" data-v=\"2500\" data-d=\"1\"><title>main\n2.50\u00a0µs of GPU time · 100.0% of all · 2 times\n7\u00a0ns in the calls that launched it</title><rect x=\"10.00\" y=\"110\" width=\"1180.00\" height=\"17\" rx=\"1.5\" class=\"c1\"/><text x=\"14.00\" y=\"123\">main</text></g>\n"
		"<g class=\"f\" data-s=\"0\" data-v=\"2500\" data-d=\"2\"><title>k&lt;&amp;&gt;\n2.50\u00a0µs of GPU time · 100.0% of all · 2 times\n7\u00a0ns in the calls that launched it</title><rect x=\"10.00\" y=\"92\" width=\"1180.00\" height=\"17\" rx=\"1.5\" class=\"k1\"/><text x=\"14.00\" y=\"105\">k&lt;&amp;&gt;</text></g>\n"
		"</g>\n"
		"<g class=\"legend\"><g class=\"entry\"><rect x=\"10\" y=\"158\" width=\"11\" height=\"11\" rx=\"2\" class=\"c0\"/><text x=\"26\" y=\"168\">machine code</text></g><g class=\"entry\"><rect x=\"124\" y=\"158\" width=\"11\" height=\"11\" rx=\"2\" class=\"k0\"/><text x=\"140\" y=\"168\">kernel</text></g></g>\n"
		"</svg>\n");
	free(text);
	gpumon_flame_clear(&flame);
	made_free(root);
}

static void picture_edges(void **state)
{
	static const char *const needles[] = { "<style>", "@media (prefers-color-scheme: dark)",
					       "gpumonFlame(document.documentElement);" };
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "", 0, 0, 0), *node;
	const struct gpumon_flamegraph_options options = { .icicle = true };
	char *text;

	(void)state;
	WRITTEN(text, gpumon_output_flamegraph(out, root, &options));
	assert_non_null(strstr(text, "Nothing to show"));
	assert_null(strstr(text, "class=\"f\""));
	for (size_t i = 0; i < sizeof(needles) / sizeof(needles[0]); i++)
		assert_non_null(strstr(text, needles[i]));
	free(text);
	/* A single node, then one with a weight that is negligible beside it. */
	root->gpu_ns = 1;
	WRITTEN(text, gpumon_output_flamegraph(out, root, &options));
	assert_non_null(strstr(text, "<title>all\n"));
	free(text);
	node = made_node(root, GPUMON_NODE_KERNEL, "huge", 1, UINT64_MAX - 1, UINT64_MAX);
	made_node(node, GPUMON_NODE_KERNEL, "tiny", 1, 1, 0);
	WRITTEN(text, gpumon_output_flamegraph(out, root, &options));
	assert_non_null(strstr(text, "huge"));
	assert_null(strstr(text, "tiny"));
	assert_non_null(strstr(text, "1 frame too narrow to draw"));
	free(text);
	made_free(root);
}

/* Widths are wall time, or idle time of a GPU, also where the leaves have GPU time. */
static void pictures_of_time(void **state)
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0), *node, *call;
	struct gpumon_view view = { .root = root };
	char *text;

	(void)state;
	node = made_node(root, GPUMON_NODE_FUNCTION, "step", 0, 0, 0);
	call = made_node(node, GPUMON_NODE_API, "cudaLaunchKernel", 0, 0, 0);
	made_node(call, GPUMON_NODE_KERNEL, "gemm", 7, 900, 300);
	WRITTEN(text, gpumon_output_flamegraph_view(out, &view, GPUMON_WEIGHT_WALL_NS, false));
	assert_non_null(strstr(text, "Nothing to show: no thread that calls a GPU API in it."));
	free(text);
	call->wall_ns = 400;
	call->idle_ns = 100;
	call->idle_count = 2;
	node = made_node(node, GPUMON_NODE_STATE, "[between calls]", 0, 0, 0);
	node->wall_ns = 1600;
	WRITTEN(text, gpumon_output_flamegraph_view(out, &view, GPUMON_WEIGHT_WALL_NS, false));
	assert_non_null(strstr(text, "data-total=\"2000\" data-weight=\"wall_ns\""));
	assert_non_null(strstr(text, "Wall time of threads that use a GPU, by call path"));
	assert_non_null(strstr(text,
			       "<title>[between calls]\n1.60\u00a0µs of wall time · 80.0% of all"
			       "</title>"));
	assert_non_null(strstr(text,
			       "<title>cudaLaunchKernel\n400\u00a0ns of wall time · 20.0% of all"
			       "</title>"));
	assert_non_null(strstr(text, ">outside of calls<"));
	assert_null(strstr(text, "gemm"));
	free(text);
	WRITTEN(text, gpumon_output_flamegraph_view(out, &view, GPUMON_WEIGHT_IDLE_NS, false));
	assert_non_null(strstr(text, "<title>cudaLaunchKernel\n100\u00a0ns of idle GPU time · "
				     "100.0% of all · 2 times</title>"));
	assert_null(strstr(text, "between calls"));
	free(text);
	WRITTEN(text, gpumon_output_flamegraph_view(out, &view, GPUMON_WEIGHT_GPU_NS, false));
	assert_null(strstr(text, "between calls"));
	free(text);
	WRITTEN(text, gpumon_output_folded(out, root, GPUMON_WEIGHT_WALL_NS, true));
	assert_string_equal(text, "step;[between calls] 1600\nstep;cudaLaunchKernel 400\n");
	free(text);
	/* An estimate of work does not make the time in its call one. */
	call->left_count = 3;
	WRITTEN(text, gpumon_output_folded(out, root, GPUMON_WEIGHT_IDLE_NS, true));
	assert_string_equal(text, "step;cudaLaunchKernel 100\n");
	free(text);
	made_free(root);
}

/* Columns in which every thread has 0 are left out, and what is not known is said below. */
static void threads_of_processes(void **state)
{
	struct gpumon_scan_process processes[] = {
		{ .number = 0, .pid = 42, .rank = ~0u, .host = (char *)"a" },
		{ .number = 1, .pid = 43, .host_pid = 4300, .rank = ~0u, .host = (char *)"a" },
	};
	struct gpumon_scan scan = { .processes = processes, .process_count = 2, .ended = true };
	struct gpumon_budget_row budget[] = {
		{ .tid = 42,
		  .name = "serve",
		  .wall_ns = 1000,
		  .spent_ns = { [GPUMON_SPENT_BETWEEN] = 600, [GPUMON_SPENT_GPU_WAIT] = 400 },
		  .untimed = true },
		{ .process = 1,
		  .tid = 77,
		  .name = "",
		  .wall_ns = 500,
		  .spent_ns = { [GPUMON_SPENT_BETWEEN] = 500 } },
	};
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0);
	struct gpumon_view view = { .root = root,
				    .budget = budget,
				    .budget_count = 2,
				    .scan = &scan,
				    .first_ns = 100,
				    .last_ns = 1100 };
	const struct gpumon_term term = { .columns = 100 };
	const struct gpumon_summary_options one = { .rows = 1 };
	char *text;

	(void)state;
	root->count = 1;
	WRITTEN(text, gpumon_output_summary(out, &term, &view, NULL));
	assert_non_null(strstr(text, "    TIME  GPU WAIT  BETWEEN CALLS  THREAD\n"
				     "  1.00us     40.0%          60.0%  serve 42\n"
				     "   500ns     0.00%         100.0%  thread 77 of 4300\n"));
	assert_non_null(strstr(text, "Nothing looked at threads between their calls"));
	assert_non_null(strstr(text, "uprobes"));
	free(text);
	processes[1].host = (char *)"b";
	budget[0].untimed = false;
	budget[0].looks = 50;
	budget[0].looks_hz = 49.7;
	budget[1].looks = 5;
	budget[1].looks_hz = 5;
	budget[1].unsampled_ns = 200;
	WRITTEN(text, gpumon_output_summary(out, &term, &view, NULL));
	assert_non_null(strstr(text, "  thread 77 of 4300 on b\n"));
	assert_non_null(strstr(text, "from 55 looks, 5 to 50 a second."));
	assert_non_null(strstr(text, "(--sample)"));
	assert_null(strstr(text, "uprobes"));
	free(text);
	WRITTEN(text, gpumon_output_summary(out, &term, &view, &one));
	assert_non_null(strstr(text, "  serve 42 on a\n  and 1 more\n"));
	free(text);
	made_free(root);
}

/* Lines fit any width, and the table still names things. */
static void summary_widths(void **state)
{
	struct gpumon_view view;

	(void)state;
	made_training(&view);
	for (unsigned int columns = 80; columns <= 240; columns += 1) {
		const struct gpumon_term term = { .columns = columns };
		char *text, *line, *rest;

		WRITTEN(text, gpumon_output_summary(out, &term, &view, NULL));
		/*
		 * Enough of a name to distinguish matrix kernels, and quantiles if there is room.
		 */
		assert_non_null(strstr(text, "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n"));
		assert_int_equal(strstr(text, "P99") != NULL, columns >= 100);
		for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
			assert_true(gpumon_text_columns(line) <= columns);
		free(text);
	}
	made_training_free(&view);
}

static void summary_in_a_pipe(void **state)
{
	const struct gpumon_summary_options options = { .rows = 1 };
	const struct gpumon_term term = { 0 };
	struct gpumon_view view;
	char *text;

	(void)state;
	made_training(&view);
	WRITTEN(text, gpumon_output_summary(out, &term, &view, &options));
	/* Nothing is cut, and there is no colour. */
	assert_non_null(strstr(text, "segment_k_off_kernel__5x_cublas"));
	assert_null(strstr(text, "\033"));
	assert_non_null(strstr(text, "and 5 more"));
	assert_non_null(
		strstr(text, "          41  records: the channel to the recorder was full\n"));
	free(text);
	made_training_free(&view);
}

static void summary_of_launches(void **state)
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0);
	struct gpumon_view view = { .root = root };
	const struct gpumon_term term = { .columns = 80 };
	char *text;

	(void)state;
	made_node(made_node(root, GPUMON_NODE_FUNCTION, "main", 0, 0, 0), GPUMON_NODE_API,
		  "cudaLaunchKernel", 20, 0, 4000);
	WRITTEN(text, gpumon_output_summary(out, &term, &view, NULL));
	assert_non_null(strstr(text, "CPU TIME"));
	assert_non_null(strstr(text, "4.00us in the calls of 20 launches"));
	assert_non_null(strstr(text, "cudaLaunchKernel"));
	assert_non_null(strstr(text, "      main\n"));
	free(text);
	/* Calls that uprobes saw may be waits. */
	view.hits = 20;
	WRITTEN(text, gpumon_output_summary(out, &term, &view, NULL));
	assert_non_null(strstr(text, "4.00us in 20 calls"));
	assert_non_null(strstr(text, "by time in blocking calls"));
	free(text);
	WRITTEN(text, gpumon_output_flamegraph_view(out, &view, GPUMON_WEIGHT_GPU_NS, false));
	assert_non_null(strstr(text, "Time in blocking calls by call path"));
	assert_non_null(strstr(text, "20 calls, 4.00"));
	free(text);
	WRITTEN(text, gpumon_output_report(out, &view));
	assert_non_null(strstr(text, ">calls<"));
	assert_null(strstr(text, "launches<"));
	free(text);
	made_free(root);
}

static void differences(void **state)
{
	struct gpumon_view before, after;
	struct gpumon_diff *diff;

	(void)state;
	made_training(&before);
	made_training(&after);
	diff = gpumon_diff_new(&before, &after);
	assert_non_null(diff);
	/* Equal sides: everything is on both, without changes. */
	for (size_t i = 0; i < diff->node_count; i++) {
		assert_true(diff->nodes[i].before.there && diff->nodes[i].after.there);
		assert_int_equal(diff->nodes[i].before.ns, diff->nodes[i].after.ns);
		assert_true(diff->nodes[i].parent < i || i == 0);
	}
	gpumon_diff_free(diff);
	((struct gpumon_kernel_row *)after.kernels)[2].gpu_ns /= 4;
	diff = gpumon_diff_new(&before, &after);
	assert_non_null(diff);
	assert_string_equal(diff->kernels[0].name, "[copy pinned to device]");
	assert_int_equal(gpumon_diff_change(diff->kernels[0].before.ns, diff->kernels[0].after.ns),
			 -24300000);
	gpumon_diff_free(diff);
	assert_int_equal(gpumon_diff_change(0, UINT64_MAX), INT64_MAX);
	assert_int_equal(gpumon_diff_change(UINT64_MAX, 0), -INT64_MAX);
	made_training_free(&before);
	made_training_free(&after);
}

/* Labels of the axis lie within the picture, of 1000, and not on each other. */
static void histogram_labels(void **state)
{
	static const uint64_t highest[] = { 1, 20, 191000, 205000, 434000000, 100000000000 };
	static const char mark[] = "\" y=\"194\" text-anchor=\"middle\">";

	(void)state;
	for (size_t i = 0; i < sizeof(highest) / sizeof(highest[0]); i++) {
		struct gpumon_distribution of = { 0 };
		unsigned int labels = 0;
		double right = 0;
		char *text;

		gpumon_distribution_add(&of, 10);
		gpumon_distribution_add(&of, highest[i]);
		WRITTEN(text, (gpumon_report_histogram(out, &of), 0));
		for (char *at = text; (at = strstr(at, mark)); labels++) {
			const char *x = at;
			double middle, half;

			at += strlen(mark);
			*strchr(at, '<') = '\0';
			/* A character of 12 px has 7 at most, on average. */
			half = 7.0 * gpumon_text_columns(at) / 2;
			while (x[-1] != '"')
				x--;
			middle = strtod(x, NULL);
			if (middle - half < right || middle + half > 1000)
				fail_msg("10 to %llu: \"%s\" at %.1f, after %.1f",
					 (unsigned long long)highest[i], at, middle, right);
			right = middle + half;
			at += strlen(at) + 1;
		}
		assert_true(labels >= 2);
		free(text);
		gpumon_distribution_clear(&of);
	}
}

/* Where two processes use a GPU each, each output that names the GPU also names the process. */
static void gpus_of_processes(void **state)
{
	struct gpumon_scan_process processes[] = {
		{ .number = 0, .pid = 4242, .rank = ~0u },
		{ .number = 1, .pid = 7, .host_pid = 4243, .rank = ~0u },
	};
	struct gpumon_device_row devices[] = {
		{ .process = 0, .stream = ~0u, .name = "H100", .host = "a", .busy_ns = 10 },
		{ .process = 1, .stream = ~0u, .name = "H100", .host = "a", .busy_ns = 20, .gpu = 1 },
	};
	const struct gpumon_gap gap = { .process = 1, .start_ns = 200, .end_ns = 300, .gpu = 1 };
	const struct gpumon_term term = { .columns = 80 };
	uint64_t busy_ns[10] = { 0 };
	struct gpumon_scan_row rows[] = {
		{ .process = 1, .stream = ~0u, .busy_ns = busy_ns, .gpu = 1 }
	};
	struct gpumon_scan scan = {
		.processes = processes,
		.process_count = 2,
		.rows = rows,
		.row_count = 1,
		.first_ns = 100,
		.bin_ns = 100,
		.bins = 10,
		.ended = true,
	};
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0);
	struct gpumon_view view = { .root = root,
				    .devices = devices,
				    .device_count = 2,
				    .gaps = &gap,
				    .gap_count = 1,
				    .scan = &scan,
				    .first_ns = 100,
				    .last_ns = 1100 };
	char *text;

	(void)state;
	WRITTEN(text, gpumon_output_summary(out, &term, &view, NULL));
	assert_non_null(strstr(text, "GPU0 H100 of 4243\n"));
	assert_non_null(strstr(text, "  0 of 4243  -\n"));
	free(text);
	devices[1].host = "b";
	WRITTEN(text, gpumon_output_summary(out, &term, &view, NULL));
	assert_non_null(strstr(text, "  0 of 4243 on b  -\n"));
	free(text);
	WRITTEN(text, gpumon_output_report(out, &view));
	assert_non_null(strstr(text, "GPU0 H100 <em>pid 4243</em> busy, "));
	assert_non_null(strstr(text, ">GPU0 <em>pid 4243</em></td>"));
	/* The name is cut where it has no room; what is behind it is not. */
	assert_non_null(strstr(text, "<b>GPU0 H100</b> <em>pid 4243</em><em>2.00%</em>"));
	/* The last label of the axis is at its end. */
	assert_non_null(strstr(text, "<i class=\"end\" style=\"left:100.000%\">"));
	assert_non_null(strstr(text, "<i style=\"left:80.000%\">"));
	free(text);
	made_free(root);
}

/* A GPU that two processes use is one: as such, and then what each has of it. */
static void processes_of_a_gpu(void **state)
{
	struct gpumon_scan_process processes[] = {
		{ .number = 0, .pid = 4242, .rank = ~0u },
		{ .number = 1, .pid = 4243, .rank = ~0u },
	};
	const struct gpumon_device_row devices[] = {
		{ .process = GPUMON_PROCESS_SEVERAL,
		  .stream = ~0u,
		  .name = "H100",
		  .host = "a",
		  .users = 2,
		  .busy_ns = 1000,
		  .text = "GPU0" },
		{ .process = 0,
		  .stream = ~0u,
		  .name = "H100",
		  .host = "a",
		  .part = true,
		  .busy_ns = 400 },
		{ .process = 0,
		  .stream = 7,
		  .name = "H100",
		  .host = "a",
		  .part = true,
		  .busy_ns = 400 },
		{ .process = 1,
		  .stream = ~0u,
		  .device = 3,
		  .name = "H100",
		  .host = "a",
		  .part = true,
		  .busy_ns = 600 },
	};
	const struct gpumon_gap gaps[] = {
		{ .process = GPUMON_PROCESS_SEVERAL,
		  .start_ns = 200,
		  .end_ns = 300,
		  .doer = 1,
		  .doing = "cudaFree" },
		{ .process = GPUMON_PROCESS_SEVERAL, .start_ns = 400, .end_ns = 450, .doing = "" },
	};
	const struct gpumon_term term = { .columns = 80 };
	char *notes[] = { (char *)"one <GPU>" };
	struct gpumon_scan scan = { .processes = processes,
				    .process_count = 2,
				    .ended = true,
				    .notes = notes,
				    .note_count = 1 };
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0);
	struct gpumon_view view = { .root = root,
				    .devices = devices,
				    .device_count = 4,
				    .gaps = gaps,
				    .gap_count = 2,
				    .scan = &scan,
				    .first_ns = 100,
				    .last_ns = 1100 };
	const char *cards;
	char *text;

	(void)state;
	root->count = 1;
	WRITTEN(text, gpumon_output_summary(out, &term, &view, NULL));
	assert_non_null(strstr(text, "  GPU0 H100\n"));
	assert_non_null(strstr(text, "    of 4242\n"));
	assert_non_null(strstr(text, "      stream 7\n"));
	/* In its container it is another number. */
	assert_non_null(strstr(text, "    GPU3 of 4243\n"));
	assert_non_null(strstr(text, "    0  cudaFree of 4243\n"));
	assert_non_null(strstr(text, "    0  -\n"));
	free(text);
	WRITTEN(text, gpumon_output_report(out, &view));
	cards = strstr(text, "class=\"card wide\"");
	assert_non_null(cards);
	assert_null(strstr(cards + 1, "class=\"card wide\""));
	assert_non_null(strstr(text, "<b>100.0%</b><span>GPU0 H100 busy, "));
	assert_non_null(strstr(text, "GPU3 <em>pid 4243</em></td>"));
	/* Beside what is good. */
	assert_non_null(strstr(text, "</div>\n<div class=\"box\" id=\"notes\">\n"
				     "<p>Note: one &lt;GPU&gt;</p>\n</div>\n"));
	assert_null(strstr(strstr(text, "<p>Note: ") + 1, "<p>Note: "));
	free(text);
	WRITTEN(text, gpumon_output_json(out, &view));
	assert_non_null(strstr(text, "\"gpus\":[{\"gpu\":0,"));
	assert_non_null(strstr(text, "\"users\":2,\"count\":0,\"gpu_ns\":0,\"elapsed_ns\":0,"
				     "\"busy_ns\":1000,"));
	assert_non_null(strstr(text, "\"devices\":[{\"process\":0,\"gpu\":0,"));
	assert_non_null(strstr(text, "{\"gpu\":0,\"process\":1,"));
	assert_non_null(strstr(text, "{\"gpu\":0,\"process\":null,\"device\":null,"));
	free(text);
	made_free(root);
}

static void full_disk(void **state)
{
	struct gpumon_view view;
	const struct gpumon_term term = { .columns = 80 };
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	if (!full)
		skip();
	made_training(&view);
	setvbuf(full, NULL, _IONBF, 0);
	assert_int_equal(gpumon_output_folded(full, view.root, GPUMON_WEIGHT_GPU_NS, true), -1);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(gpumon_output_report(full, &view), -1);
	assert_int_equal(gpumon_output_json(full, &view), -1);
	assert_int_equal(gpumon_output_pprof(full, &view), -1);
	assert_int_equal(gpumon_output_summary(full, &term, &view, NULL), -1);
	assert_int_equal(gpumon_output_flamegraph_view(full, &view, GPUMON_WEIGHT_COUNT, true), -1);
	fclose(full);
	made_training_free(&view);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded),
		cmocka_unit_test(folded_without_paths),
		cmocka_unit_test(folded_lines),
		cmocka_unit_test(lines_of_a_frame),
		cmocka_unit_test(layout),
		cmocka_unit_test(golden),
		cmocka_unit_test(picture_edges),
		cmocka_unit_test(pictures_of_time),
		cmocka_unit_test(threads_of_processes),
		cmocka_unit_test(summary_widths),
		cmocka_unit_test(summary_in_a_pipe),
		cmocka_unit_test(summary_of_launches),
		cmocka_unit_test(picture_of_launches),
		cmocka_unit_test(unnamed),
		cmocka_unit_test(subtitles),
		cmocka_unit_test(differences),
		cmocka_unit_test(histogram_labels),
		cmocka_unit_test(gpus_of_processes),
		cmocka_unit_test(processes_of_a_gpu),
		cmocka_unit_test(full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
