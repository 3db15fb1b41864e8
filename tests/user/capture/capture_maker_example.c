// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A small process with everything that a capture can contain. */
#include <string.h>

#include "capture_maker.h"

#define LAUNCHES 12

static void who_and_where(struct capture_maker *maker, uint64_t start_ns, uint32_t variant)
{
	uint32_t host = make_string(maker, "node-1");
	uint32_t executable = make_string(maker, "/opt/train/train");
	uint32_t command = make_string(maker, "train --layers 2");
	uint32_t main_name = make_string(maker, "train");
	uint32_t loader_name = make_string(maker, "loader");
	uint32_t gpu = make_string(maker, "NVIDIA H100 80GB HBM3");
	uint32_t stream = make_string(maker, "copies");
	uint32_t library = make_string(maker, "/opt/train/libtrain.so");
	uint32_t cuda = make_string(maker, "CUDA");

	make_process(maker, .pid = 100 + variant, .parent = 1, .host_pid = 4100 + variant,
		     .rank = ~0u, .start_ns = start_ns, .pid_namespace = 4026531836u,
		     .boot_id = { 1, 2, 3, 4 }, .host = host, .executable = executable,
		     .command = command, .cupti_version = 26, .driver_version = 13000,
		     .runtime_version = 13000);
	make_thread(maker, .tid = 100 + variant, .name = main_name);
	make_thread(maker, .tid = 200 + variant, .name = loader_name);
	make_mapping(maker, .start = 0x400000, .end = 0x480000, .offset = 0, .inode = 11,
		     .device = 2049, .path = executable, .build_id = { 0xab, 0xcd },
		     .build_id_size = 20);
	make_mapping(maker, .start = 0x7f0000000000, .end = 0x7f0000100000, .offset = 0x1000,
		     .inode = 12, .device = 2049, .path = library);
	make_device(maker, .id = 0, .name = gpu, .uuid = { 9, 8, 7 }, .pci = 0x0700,
		    .multiprocessors = 132, .memory_bytes = 85899345920u, .compute_major = 9);
	make_api(maker, .api = GPUMON_API_CUDA, .name = cuda);
	make_clock(maker, .time_ns = start_ns, .offset_ns = -5, .error_ns = 2, .source = 2);
	make_context(maker, .time_ns = start_ns + 500, .id = 1, .device = 0);
	make_stream(maker, .context = 1, .id = 7);
	make_stream(maker, .context = 1, .id = 13, .priority = -1, .name = stream);
}

/* Launches of two threads on two streams, with one kernel each. */
static void launches(struct capture_maker *maker, uint64_t start_ns, uint32_t variant)
{
	uint32_t function = make_string(maker, "cudaLaunchKernel_v7000");
	uint32_t matmul = make_string(maker, "_Z6matmulPKfS0_Pf");
	uint32_t norm = make_string(maker, "_Z7rmsnormPf");
	uint32_t forward = make_python_frame(maker, "forward", "/opt/train/model.py", 42);
	uint32_t step = make_python_frame(maker, "step", "/opt/train/train.py", 17);
	uint32_t stacks[3];

	stacks[0] = make_stack(maker, 0x7f0000001010, PYTHON_FRAME(forward), PYTHON_FRAME(step),
			       0x401100);
	stacks[1] = make_stack(maker, 0x7f0000002020, PYTHON_FRAME(forward), PYTHON_FRAME(step),
			       0x401100);
	stacks[2] = make_stack(maker, 0x7f0000003030, 0x402200);

	for (uint32_t i = 0; i < LAUNCHES; i++) {
		uint64_t at = start_ns + 1000 + i * 10000;
		uint64_t took = (i % 3 + 1) * 1000 + variant * 100;
		bool loader = i % 3 == 2;

		make_launch(maker, .start_ns = at, .end_ns = at + 3000,
			    .tid = (loader ? 200 : 100) + variant, .correlation = i + 1,
			    .stack = stacks[i % 3], .function = function, .context = 1);
		make_kernel(maker, .start_ns = at + 4000, .end_ns = at + 4000 + took,
			    .correlation = i + 1, .name = i % 3 == 1 ? norm : matmul, .device = 0,
			    .context = 1, .stream = loader ? 13 : 7, .grid = { 128, 1, 1 },
			    .block = { 256, 1, 1 }, .registers = 32);
	}
}

/* A graph with two nodes and their creation, launched twice. */
static void graph(struct capture_maker *maker, uint64_t start_ns, uint32_t variant)
{
	uint32_t capture = make_string(maker, "cudaLaunchKernel_v7000");
	uint32_t launch = make_string(maker, "cudaGraphLaunch_v10000");
	uint32_t name = make_string(maker, "_Z6matmulPKfS0_Pf");
	uint32_t made = make_stack(maker, 0x7f0000004040, 0x403300);
	uint32_t replay = make_stack(maker, 0x7f0000005050, 0x403400);

	for (uint32_t node = 1; node <= 2; node++) {
		make_launch(maker, .head.flags = GPUMON_LAUNCH_CAPTURED,
			    .start_ns = start_ns + node * 100, .end_ns = start_ns + node * 100 + 50,
			    .tid = 100 + variant, .correlation = 100 + node, .stack = made,
			    .function = capture, .context = 1);
		make_graph_node(maker, .node = 0x5000000000u + node, .graph = 5, .stack = made);
		make_graph_node(maker, .node = 0x6000000000u + node,
				.original = 0x5000000000u + node, .graph = 6);
	}
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t at = start_ns + 1000 + i * 10000;

		make_launch(maker, .head.flags = GPUMON_LAUNCH_GRAPH, .start_ns = at,
			    .end_ns = at + 2000, .tid = 100 + variant, .correlation = 110 + i,
			    .stack = replay, .function = launch, .context = 1);
		for (uint32_t node = 1; node <= 2; node++)
			make_kernel(maker, .start_ns = at + 2000 + node * 1000,
				    .end_ns = at + 2000 + node * 1000 + 700,
				    .node = 0x6000000000u + node, .correlation = 110 + i,
				    .name = name, .context = 1, .stream = 7, .graph = 6);
	}
}

static void the_rest(struct capture_maker *maker, uint64_t start_ns, uint32_t variant)
{
	uint32_t copy = make_string(maker, "cudaMemcpyAsync_v3020");
	uint32_t set = make_string(maker, "cudaMemsetAsync_v3020");
	uint32_t wait = make_string(maker, "cudaStreamSynchronize_v3020");
	uint32_t epoch = make_string(maker, "epoch 1");
	uint32_t stack = make_stack(maker, 0x7f0000006060, 0x402200);
	uint32_t begin = make_string(maker, "option");
	uint32_t note = make_string(maker, "an example, made by a test");

	make_window(maker, .time_ns = start_ns, .reason = begin);
	make_range(maker, .time_ns = start_ns, .tid = 100 + variant, .text = epoch,
		   .color = 0xff00ff00, .kind = GPUMON_RANGE_PUSH);
	make_launch(maker, .head.flags = GPUMON_LAUNCH_COPY, .start_ns = start_ns + 100,
		    .end_ns = start_ns + 1100, .tid = 200 + variant, .correlation = 120,
		    .stack = stack, .function = copy, .context = 1);
	make_copy(maker, .head.flags = GPUMON_WORK_PAGEABLE, .start_ns = start_ns + 1200,
		  .end_ns = start_ns + 5200, .bytes = 1 << 20, .correlation = 120, .context = 1,
		  .stream = 13, .from = GPUMON_PLACE_PAGEABLE, .to = GPUMON_PLACE_DEVICE);
	make_launch(maker, .head.flags = GPUMON_LAUNCH_SET, .start_ns = start_ns + 6000,
		    .end_ns = start_ns + 6500, .tid = 100 + variant, .correlation = 121,
		    .stack = stack, .function = set, .context = 1);
	make_set(maker, .start_ns = start_ns + 6600, .end_ns = start_ns + 7000, .bytes = 4096,
		 .correlation = 121, .context = 1, .stream = 7);
	make_call(maker, .head.flags = GPUMON_CALL_BLOCKING, .start_ns = start_ns + 7100,
		  .end_ns = start_ns + 9100, .tid = 100 + variant, .correlation = 122,
		  .function = wait, .stack = stack);
	make_sync(maker, .start_ns = start_ns + 7150, .end_ns = start_ns + 9050, .correlation = 122,
		  .context = 1, .stream = 7, .kind = 3);
	make_memory(maker, .time_ns = start_ns + 50, .address = 0x7fff00000000, .bytes = 1 << 21,
		    .context = 1, .place = GPUMON_PLACE_DEVICE);
	make_unified_memory(maker, .start_ns = start_ns + 60, .end_ns = start_ns + 70,
			    .value = 65536, .address = 0x7ffe00000000, .kind = 1);
	make_overhead(maker, .start_ns = start_ns + 9200, .end_ns = start_ns + 9300,
		      .tid = 100 + variant, .kind = GPUMON_OVERHEAD_PROFILER);
	make_wait(maker, .start_ns = start_ns + 9400, .end_ns = start_ns + 9900, .period_ns = 250,
		  .tid = 100 + variant, .stack = stack, .looks = 3, .kind = GPUMON_WAIT_SLEEP,
		  .call = 230);
	make_range(maker, .time_ns = start_ns + 10000, .tid = 100 + variant,
		   .kind = GPUMON_RANGE_POP);
	make_loss(maker, .time_ns = start_ns + 10100, .count = 3,
		  .cause = GPUMON_LOSS_CHANNEL_FULL);
	make_note(maker, .time_ns = start_ns + 10200, .text = note);
	make_totals(maker, .time_ns = start_ns + 11000, .launches = LAUNCHES + 4, .captured = 2,
		    .kernels = LAUNCHES + 4, .copies = 1, .sets = 1, .device_bytes = 8 << 20);
}

void make_example(struct capture_maker *maker, uint64_t start_ns, uint32_t variant)
{
	who_and_where(maker, start_ns, variant);
	launches(maker, start_ns, variant);
	graph(maker, start_ns + 200000, variant);
	the_rest(maker, start_ns + 300000, variant);
}
