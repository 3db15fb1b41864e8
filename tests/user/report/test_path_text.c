// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Call paths as lines of a table. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "report/path_text.h"
#include "lib/text.h"
#include "output_profile.h"

/* The lines of a table with these rows. */
static void expect_paths(const struct gpumon_node *const *nodes, unsigned int count,
			 unsigned int columns, const char *const *want)
{
	char *texts[8];

	gpumon_path_texts(nodes, count, columns, texts);
	for (unsigned int i = 0; i < count; i++) {
		assert_string_equal(texts[i], want[i]);
		assert_true(gpumon_text_columns(texts[i]) <= columns);
		free(texts[i]);
	}
}

static void expect_path(const struct gpumon_node *node, unsigned int columns, const char *want)
{
	expect_paths(&node, 1, columns, &want);
}

/* For libraries without symbols, a line has the name once, and only if there is room. */
static void paths_without_names(void **state)
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0), *node = root;
	char name[32];

	(void)state;
	node = made_place(node, "liba.so+0x10", "liba.so");
	node = made_place(node, "multiply", "liba.so");
	node = made_place(node, "libb.so+0x10", "libb.so");
	node = made_place(node, "libb.so+0x20", "libb.so");
	node = made_place(node, "libb.so+0x30", "libb.so");
	made_node(node, GPUMON_NODE_KERNEL, "k", 1, 10, 0);
	expect_path(node->child, 80, "liba.so+0x10 › multiply › libb.so (3)");
	expect_path(node->child, 34, "multiply › libb.so (3)");
	expect_path(node->child, 20, "multiply");
	/* A recursive function does not fill a line either. */
	for (unsigned int i = 0; i < 6; i++) {
		node = made_node(node, GPUMON_NODE_FUNCTION, "visit", 0, 0, 0);
		node->line = i < 5 ? "tree.c:12" : "tree.c:13";
	}
	made_node(node, GPUMON_NODE_KERNEL, "k", 1, 10, 0);
	expect_path(node->child, 80, "liba.so+0x10 › multiply › libb.so (3) › visit tree.c:13 (6)");
	expect_path(node->child, 30, "multiply › visit tree.c:13 (6)");
	for (unsigned int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "libd.so+0x%x", i);
		node = made_place(node, name, "libd.so");
	}
	made_node(node, GPUMON_NODE_KERNEL, "k", 1, 10, 0);
	expect_path(node->child, 80,
		    "liba.so+0x10 › multiply › libb.so (3) › visit tree.c:13 (6) › libd.so (500)");
	made_free(root);
}

static void paths(void **state)
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0), *node;
	const struct gpumon_node *top[2];

	(void)state;
	node = made_node(root, GPUMON_NODE_FUNCTION, "main", 0, 0, 0);
	node->line = "/home/someone/main.cc";
	node = made_node(node, GPUMON_NODE_PYTHON, "step", 0, 0, 0);
	node->line = "/home/someone/train.py:97";
	node = made_node(node, GPUMON_NODE_PYTHON, "Linear.forward", 0, 0, 0);
	node->line = "/usr/lib/python3/dist-packages/torch/nn/linear.py:134";
	node = made_node(node, GPUMON_NODE_FUNCTION, "int at::launch<float>(int)", 0, 0, 0);
	node->line = "/home/someone/launch.cc:12";
	node = made_node(node, GPUMON_NODE_API, "cudaLaunchKernel", 0, 0, 0);
	made_node(node, GPUMON_NODE_COPY, "copy", 1, 10, 0);
	made_node(node, GPUMON_NODE_KERNEL, "gemm", 1, 20, 0);
	made_node(node, GPUMON_NODE_SET, "set", 1, 5, 0);
	assert_true(gpumon_paths_any(&(const struct gpumon_node *){ node }, 1));
	assert_false(gpumon_paths_any(&(const struct gpumon_node *){ root->child }, 1));
	assert_int_equal(gpumon_paths_top(root, GPUMON_WEIGHT_GPU_NS, top, 2), 2);
	assert_string_equal(top[0]->name, "gemm");
	assert_string_equal(top[1]->name, "copy");
	/* Machine code shows its line, too, but a file without a line says little. */
	expect_path(
		top[0], 120,
		"main › step train.py:97 › Linear.forward linear.py:134 › at::launch<float> launch.cc:12");
	/* First drop the lines of packages, then places, then outer functions. */
	expect_path(top[0], 80,
		    "main › step train.py:97 › Linear.forward › at::launch<float> launch.cc:12");
	expect_path(top[0], 60, "main › step train.py:97 › Linear.forward › launch<float>");
	expect_path(top[0], 45, "… › step train.py:97 › Linear.forward › …");
	expect_path(top[0], 36, "… › step › Linear.forward › …");
	expect_path(top[0], 24, "… › Linear.forward › …");
	expect_path(top[0], 5, "… › …");
	/* Requested levels are part of the path, inside the call. */
	node = made_node(node, GPUMON_NODE_DEVICE, "[GPU0]", 0, 0, 0);
	node = made_node(node, GPUMON_NODE_STREAM, "stream 7", 0, 0, 0);
	expect_path(made_node(node, GPUMON_NODE_KERNEL, "k", 1, 1, 0), 46,
		    "… › Linear.forward › … › [GPU0] › stream 7");
	made_free(root);
}

/* Wrappers are left out unless there is nothing else. */
static void wrappers(void **state)
{
	static const char *const functions[] = {
		"_start",
		"__libc_start_main",
		"libc.so.6+0x2a1c9",
		"main",
		"std::thread::_Invoker<std::tuple<run(int)::<lambda()> > >::_M_invoke<0>",
		"std::_Function_handler<void (), work>::_M_invoke(std::_Any_data const&)",
		"at::_ops::mm::call(at::Tensor const&)",
		"c10::impl::wrap_kernel_functor_unboxed_<c10::A<int>, at::Tensor ()>::call(int)",
		"torch::autograd::VariableType::(anonymous namespace)::mm(int)",
		"at::_ops::mm::redispatch(int)",
		"void gemm<1>(int)",
		"__wrapper__device_stub_gemm<1>",
		"__device_stub__Z4gemmILi1EEvi(int)",
		"__cudaLaunchKernel_helper",
	};
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0), *node = root;

	(void)state;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		node = made_node(node, GPUMON_NODE_FUNCTION, functions[i], 0, 0, 0);
		if (i == 1)
			made_node(node, GPUMON_NODE_KERNEL, "gemm", 1, 1, 0);
	}
	made_node(node, GPUMON_NODE_KERNEL, "void gemm<1>(int)", 1, 1, 0);
	made_node(node, GPUMON_NODE_KERNEL, "other", 1, 1, 0);
	expect_path(root->child->child->child, 80, "_start › __libc_start_main");
	for (node = node->child; node; node = node->next)
		expect_path(node, 80,
			    strcmp(node->name, "other") ? "main › at::_ops::mm::call" :
							  "main › at::_ops::mm::call › gemm<1>");
	/* Python wrappers are matched by name and file: another file of that name is user code. */
	node = made_node(root, GPUMON_NODE_PYTHON, "step", 0, 0, 0);
	node = made_node(node, GPUMON_NODE_PYTHON, "Module._call_impl", 0, 0, 0);
	node->module = "mine.py";
	node = made_node(node, GPUMON_NODE_PYTHON, "Module._call_impl", 0, 0, 0);
	node->module = "module.py";
	expect_path(made_node(node, GPUMON_NODE_KERNEL, "k", 1, 1, 0), 80,
		    "step › Module._call_impl");
	node->module = node->parent->module = "";
	made_free(root);
}

/* If two paths would look alike, the difference comes first. */
static void paths_that_differ(void **state)
{
	static const char *const want[] = { "… › up › … › inner_function",
					    "… › down › … › inner_function",
					    "… › middle_function › inner_function",
					    "… › middle_function › inner_function" };
	static const char *const calls[] = { "copy_it › cudaMemcpy", "copy_it › cudaMemcpyAsync" };
	static const char *const lambdas[] = { "a_very_long_funct…first…",
					       "a_very_long_func…second…" };
	static const char *const narrow[] = { "… › up › …", "… › down › …" };
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0), *node;
	const struct gpumon_node *rows[4];

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		node = made_node(root, GPUMON_NODE_FUNCTION, "main", 0, 0, 0);
		node = made_node(node, GPUMON_NODE_FUNCTION, i ? "down" : "up", 0, 0, 0);
		node = made_node(node, GPUMON_NODE_FUNCTION, "middle_function", 0, 0, 0);
		node = made_node(node, GPUMON_NODE_FUNCTION, "inner_function", 0, 0, 0);
		rows[i] = made_node(node, GPUMON_NODE_KERNEL, "gemm", 1, 1, 0);
	}
	expect_paths(rows, 2, 40, want);
	expect_paths(rows, 2, 14, narrow);
	/* The same path to two kernels: the kernels differ. */
	rows[0] = made_node(node, GPUMON_NODE_KERNEL, "gemm32", 1, 1, 0);
	expect_paths(rows, 2, 40, want + 2);
	/* The same function and kernel, but two different calls. */
	node = made_node(root, GPUMON_NODE_FUNCTION, "copy_it", 0, 0, 0);
	rows[0] = made_node(made_node(node, GPUMON_NODE_API, "cudaMemcpy", 0, 0, 0),
			    GPUMON_NODE_COPY, "memcpy HtoD", 1, 1, 0);
	rows[1] = made_node(made_node(node, GPUMON_NODE_API, "cudaMemcpyAsync", 0, 0, 0),
			    GPUMON_NODE_COPY, "memcpy HtoD", 1, 1, 0);
	expect_paths(rows, 2, 80, calls);
	/* Names that only differ after the part that fits. */
	node = made_node(root, GPUMON_NODE_FUNCTION, "a_very_long_function_name_first_of_them", 0,
			 0, 0);
	rows[0] = made_node(node, GPUMON_NODE_KERNEL, "k", 1, 1, 0);
	node = made_node(root, GPUMON_NODE_FUNCTION, "a_very_long_function_name_second_of_them", 0,
			 0, 0);
	rows[1] = made_node(node, GPUMON_NODE_KERNEL, "k", 1, 1, 0);
	expect_paths(rows, 2, 40, lambdas);
	made_free(root);
}

/* "main > step > launch" to one kernel, with lines. */
static const struct gpumon_node *made_lines(struct gpumon_node *root, const char *of_main,
					    const char *of_step, const char *of_launch)
{
	const char *const lines[] = { of_main, of_step, of_launch };
	static const char *const names[] = { "main", "train_step", "launch_gemm" };
	struct gpumon_node *node = root;

	for (unsigned int i = 0; i < 3; i++) {
		node = made_node(node, GPUMON_NODE_PYTHON, names[i], 0, 0, 0);
		node->line = lines[i];
	}
	return made_node(node, GPUMON_NODE_KERNEL, "gemm", 1, 1, 0);
}

/* If two paths only differ in a line, it is shown, where others have to make room. */
static void lines_that_differ(void **state)
{
	static const char *const whole[] = {
		"main main.py:5 › train_step train.py:10 › launch_gemm ops.py:88",
		"main main.py:5 › train_step train.py:11 › launch_gemm ops.py:88",
	};
	static const char *const narrow[] = { "… › train_step train.py:10 › launch_gemm",
					      "… › train_step train.py:11 › launch_gemm" };
	static const char *const outer[] = { "main main.py:5 › … › launch_gemm",
					     "main main.py:7 › … › launch_gemm" };
	static const char *const folders[] = { "main one/main.py:5 › …", "main two/main.py:5 › …" };
	static const char *const package[] = { "main main.py:5 › … › launch_gemm",
					       "main main.py:6 › … › launch_gemm" };
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0);
	const struct gpumon_node *rows[2];

	(void)state;
	rows[0] = made_lines(root, "/src/main.py:5", "/src/train.py:10", "/src/ops.py:88");
	rows[1] = made_lines(root, "/src/main.py:5", "/src/train.py:11", "/src/ops.py:88");
	expect_paths(rows, 2, 80, whole);
	expect_paths(rows, 2, 42, narrow);
	rows[1] = made_lines(root, "/src/main.py:7", "/src/train.py:10", "/src/ops.py:88");
	expect_paths(rows, 2, 32, outer);
	/* Files of one name: the folder differs. */
	rows[0] = made_lines(root, "/src/one/main.py:5", "/src/train.py:10", "/src/ops.py:88");
	rows[1] = made_lines(root, "/src/two/main.py:5", "/src/train.py:10", "/src/ops.py:88");
	expect_paths(rows, 2, 28, folders);
	/* The program's own line tells more than that of a package. */
	rows[0] = made_lines(root, "/src/main.py:5", "/src/train.py:10",
			     "/usr/lib/python3/site-packages/ops.py:1");
	rows[1] = made_lines(root, "/src/main.py:6", "/src/train.py:10",
			     "/usr/lib/python3/site-packages/ops.py:2");
	expect_paths(rows, 2, 32, package);
	made_free(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(paths_without_names),
		cmocka_unit_test(wrappers),
		cmocka_unit_test(paths_that_differ),
		cmocka_unit_test(lines_that_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
