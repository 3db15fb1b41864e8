// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The parts of uprobes that need no kernel: functions and libraries, jumps, mappings of a process,
 * unwind rules. tests/suite/uprobe-*.py tests the rest.
 */
#include <elf.h>
#include <execinfo.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "abi/look.h"
#include "record/uprobe_function.h"
#include "record/uprobe_internal.h"
#include "record/uprobe_process.h"
#include "record/uprobe_rule.h"
#include "record/uprobe_stack.h"
#include "record/uprobe.h"

static void kinds(void **state)
{
	const unsigned int launch = GPUMON_FUNCTION_LAUNCH, blocking = GPUMON_FUNCTION_BLOCKING;
	static const char *const none[] = {
		"",
		"cu",
		"cudaLaunchKernelOfMine",
		"cudaLaunchHostFunc",
		"cudaMemcpyToArrayFoo",
		"cudaGraphAddMemcpyNode",
		"cuLaunchKernel_v",
		"cuLaunchKernel_vx",
		"cudaMemcpy_",
		"xcudaMemcpy",
		"malloc",
		"hipMalloc",
		"zeInit",
		"cudaMemcpy_ptsz_",
		"zeCommandListAppendBarrier",
		"clEnqueueBarrier",
		"clFlush",
		"vkCmdDraw",
		"__cudaRegisterVar",
	};

	(void)state;
	assert_int_equal(gpumon_function_kind("cudaLaunchKernel"), launch);
	assert_int_equal(gpumon_function_kind("cudaLaunchKernel_ptsz"), launch);
	assert_int_equal(gpumon_function_kind("__cudaLaunchKernel"), launch);
	assert_int_equal(gpumon_function_kind("cudaLaunchKernelExC_ptsz"), launch);
	assert_int_equal(gpumon_function_kind("cuLaunchKernelEx"), launch);
	assert_int_equal(gpumon_function_kind("cuMemcpy2DAsync_v2_ptsz"), launch);
	assert_int_equal(gpumon_function_kind("cuMemcpyHtoD_v2"), launch | blocking);
	assert_int_equal(gpumon_function_kind("cudaMemcpy_ptds"), launch | blocking);
	assert_int_equal(gpumon_function_kind("cuCtxSynchronize_v2"), blocking);
	assert_int_equal(gpumon_function_kind("cudaStreamSynchronize"), blocking);
	assert_int_equal(gpumon_function_kind("hipLaunchKernel_spt"), launch);
	assert_int_equal(gpumon_function_kind("hipMemcpyAtoHAsync"), launch);
	assert_int_equal(gpumon_function_kind("hipMemcpyToSymbol_spt"), launch | blocking);
	assert_int_equal(gpumon_function_kind("zeCommandListAppendLaunchKernel"), launch);
	assert_int_equal(gpumon_function_kind("zeCommandListAppendLaunchKernelWithArguments"),
			 launch);
	assert_int_equal(gpumon_function_kind("zeCommandQueueExecuteCommandLists"), launch);
	assert_int_equal(gpumon_function_kind("clEnqueueNDRangeKernel"), launch);
	assert_int_equal(gpumon_function_kind("clEnqueueReadBuffer"), launch | blocking);
	assert_int_equal(gpumon_function_kind("clFinish"), blocking);
	assert_int_equal(gpumon_function_kind("vkQueueSubmit2"), launch);
	assert_int_equal(gpumon_function_kind("vkWaitForFences"), blocking);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (gpumon_function_kind(none[i]))
			fail_msg("%s is one", none[i]);
}

static void libraries(void **state)
{
	(void)state;
	assert_true(gpumon_library_of_api("libcudart.so.13"));
	assert_true(gpumon_library_of_api("libcudart-d0da41ae.so.11.0"));
	assert_true(gpumon_library_of_api("libcuda.so.580.159.04"));
	assert_true(gpumon_library_of_api("libamdhip64.so.6"));
	assert_true(gpumon_library_of_api("libze_intel_gpu.so.1"));
	assert_true(gpumon_library_of_api("libOpenCL.so.1"));
	assert_true(gpumon_library_of_api("libvulkan_lvp.so"));
	assert_true(gpumon_library_of_api("libEGL.so.1"));
	assert_true(gpumon_library_of_api("libGL.so.1.7.0"));
	assert_false(gpumon_library_of_api("libGLU.so.1"));
	assert_int_equal(gpumon_function_kind("eglSwapBuffers"),
			 GPUMON_FUNCTION_BLOCKING | GPUMON_FUNCTION_PRESENT);
	assert_int_equal(gpumon_function_kind("vkQueuePresentKHR"), GPUMON_FUNCTION_PRESENT);
	assert_int_equal(gpumon_function_kind("eglSwapInterval"), 0);
	/* These have the API linked in, or use it. */
	assert_false(gpumon_library_of_api("libcudadevrt.so"));
	assert_false(gpumon_library_of_api("libcudnn.so.9"));
	assert_false(gpumon_library_of_api("libcublas.so.13"));
	assert_false(gpumon_library_of_api("libtorch_cuda.so"));
	assert_true(gpumon_function_of_runtime("libcudart_static_0123abcd"));
	assert_true(gpumon_function_of_runtime("cudaFree"));
	assert_false(gpumon_function_of_runtime("cudagraph"));
	assert_false(gpumon_function_of_runtime("main"));
}

/* What record probes, and what "stat --frames" does. */
static void kinds_are_kept(void **state)
{
	static const char *const names[] = { "vkQueueSubmit", "vkWaitForFences", "eglSwapBuffers",
					     "vkQueuePresentKHR" };
	static const struct {
		unsigned int kinds;
		const char *names;
	} cases[] = {
		{ GPUMON_FUNCTION_LAUNCH, "vkQueueSubmit " },
		{ GPUMON_FUNCTION_LAUNCH | GPUMON_FUNCTION_BLOCKING,
		  "vkQueueSubmit vkWaitForFences eglSwapBuffers " },
		{ GPUMON_FUNCTION_PRESENT, "eglSwapBuffers vkQueuePresentKHR " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gpumon_uprobe_file file = { .fd = -1 };
		char kept[128] = "";

		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++) {
			const struct gpumon_uprobe_site site = {
				.name = strdup(names[j]),
				.kind = gpumon_function_kind(names[j]),
			};

			gpumon_uprobe_file_add_site(&file, &site);
		}
		gpumon_uprobe_file_keep(&file, cases[i].kinds);
		for (size_t j = 0; j < file.site_count; j++) {
			strcat(strcat(kept, file.sites[j].name), " ");
			free(file.sites[j].name);
		}
		free(file.sites);
		assert_string_equal(kept, cases[i].names);
	}
}

static void jumps(void **state)
{
	/* CUDA 13.0's __cudaLaunchKernel */
	static const uint8_t framed[] = { 0x55, 0x48, 0x89, 0xe5, 0x5d, 0xe9, 0x10, 0, 0, 0 };
	static const uint8_t marked[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xe9, 0xf0, 0xff, 0xff, 0xff };
	static const uint8_t near[] = { 0xeb, 0xfe };
	static const uint8_t works[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xe9, 0 };
	static const uint8_t branch[] = { 0x5f, 0x24, 0x03, 0xd5, 0x04, 0, 0, 0x14 };
	int64_t target = 0;

	(void)state;
	assert_true(gpumon_function_jump(framed, sizeof(framed), EM_X86_64, &target));
	assert_int_equal(target, 10 + 0x10);
	assert_true(gpumon_function_jump(marked, sizeof(marked), EM_X86_64, &target));
	assert_int_equal(target, 9 - 0x10);
	assert_true(gpumon_function_jump(near, sizeof(near), EM_X86_64, &target));
	assert_int_equal(target, 0);
	assert_false(gpumon_function_jump(works, sizeof(works), EM_X86_64, &target));
	assert_true(gpumon_function_jump(branch, sizeof(branch), EM_AARCH64, &target));
	assert_int_equal(target, 4 + 16);
	assert_false(gpumon_function_jump(framed, sizeof(framed), EM_RISCV, &target));
	/* Truncated anywhere, at the end of a file. */
	for (size_t size = 0; size < sizeof(framed); size++)
		assert_false(gpumon_function_jump(framed, size, EM_X86_64, &target));
	for (size_t size = 0; size < sizeof(branch); size++)
		assert_false(gpumon_function_jump(branch, size, EM_AARCH64, &target));
}

static void vulkan_entries(void **state)
{
	/* vkQueueSubmit of loaders 1.3.239, 1.4.363, and vkCmdDispatch of the latter */
	static const uint8_t jumps[] = { 0x48, 0x8b, 0x07, 0x48, 0x85, 0xc0, 0x74, 0x13, 0x49, 0xb8,
					 0xed, 0xad, 0x10, 0x04, 0x04, 0xed, 0xad, 0x10, 0x4c, 0x39,
					 0x00, 0x75, 0x02, 0xff, 0x60, 0x20, 0,	   0,	 0 };
	static const uint8_t loads[] = { 0x49, 0x89, 0xd0, 0x48, 0xba, 0xed, 0xad, 0x10, 0x04,
					 0x04, 0xed, 0xad, 0x10, 0x48, 0x39, 0x10, 0x75, 0x0d,
					 0x48, 0x8b, 0x40, 0x20, 0x4c, 0x89, 0xc2, 0xff, 0xe0 };
	static const uint8_t far[] = { 0x48, 0xba, 0xed, 0xad, 0x10, 0x04, 0x04, 0xed,
				       0xad, 0x10, 0x48, 0x39, 0x10, 0x75, 0x0d, 0x48,
				       0x8b, 0x80, 0xc0, 0x02, 0,    0,	   0x44, 0x89 };
	uint8_t odd[sizeof(far)];
	uint32_t offset = 0;

	(void)state;
	assert_true(gpumon_function_vulkan_entry(jumps, sizeof(jumps), EM_X86_64, &offset));
	assert_int_equal(offset, 0x20);
	offset = 0;
	assert_true(gpumon_function_vulkan_entry(loads, sizeof(loads), EM_X86_64, &offset));
	assert_int_equal(offset, 0x20);
	assert_true(gpumon_function_vulkan_entry(far, sizeof(far), EM_X86_64, &offset));
	assert_int_equal(offset, 0x2c0);
	/* Not a place of a pointer in the table: odd, or behind its end. */
	memcpy(odd, far, sizeof(odd));
	odd[18] = 0xc1;
	assert_false(gpumon_function_vulkan_entry(odd, sizeof(odd), EM_X86_64, &offset));
	odd[18] = 0xc0;
	odd[21] = 1;
	assert_false(gpumon_function_vulkan_entry(odd, sizeof(odd), EM_X86_64, &offset));
	/* Without the number, truncated anywhere, on another machine. */
	assert_false(gpumon_function_vulkan_entry(far + 4, sizeof(far) - 4, EM_X86_64, &offset));
	for (size_t size = 0; size < 21; size++)
		assert_false(gpumon_function_vulkan_entry(far, size, EM_X86_64, &offset));
	assert_false(gpumon_function_vulkan_entry(far, sizeof(far), EM_AARCH64, &offset));
}

static void interning(void **state)
{
	struct gpumon_intern set = { 0 };
	bool is_new;

	(void)state;
	for (uint32_t i = 0; i < 5000; i++) {
		assert_int_equal(gpumon_intern_bytes(&set, &i, sizeof(i), &is_new), i + 1);
		assert_true(is_new);
	}
	for (uint32_t i = 0; i < 5000; i++) {
		assert_int_equal(gpumon_intern_bytes(&set, &i, sizeof(i), &is_new), i + 1);
		assert_false(is_new);
	}
	/* A prefix is a different string. */
	assert_int_equal(gpumon_intern_bytes(&set, "\0\0", 2, &is_new), 5001);
	gpumon_intern_clear(&set);
}

static void own_mappings(void **state)
{
	struct gpumon_uprobe_process process = { .pid = getpid(), .root = "" };
	const struct gpumon_uprobe_map *map;
	struct gpumon_error err;
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	bool linker = false;

	(void)state;
	assert_true(n > 0);
	path[n] = '\0';
	assert_int_equal(gpumon_uprobe_process_scan(&process, &err), 0);
	map = gpumon_uprobe_process_map(&process, (uintptr_t)own_mappings);
	assert_non_null(map);
	assert_non_null(map->file);
	assert_string_equal(map->file->path, path);
	assert_null(gpumon_uprobe_process_map(&process, 0));
	assert_null(gpumon_uprobe_process_map(&process, (uintptr_t)&map));
	for (unsigned int i = 0; i < process.file_count; i++) {
		assert_int_equal(process.files[i]->site_count, 0);
		linker |= process.files[i]->linker_offset != 0;
	}
	assert_true(linker);
	/* Without changes, nothing is unmapped and nothing is read twice. */
	for (unsigned int i = 0; i < process.map_count; i++)
		process.maps[i].seen = true;
	n = process.file_count;
	assert_int_equal(gpumon_uprobe_process_scan(&process, &err), 0);
	assert_int_equal(process.unmapped_count, 0);
	assert_int_equal(process.file_count, n);
	for (unsigned int i = 0; i < process.map_count; i++)
		assert_true(process.maps[i].seen);
	gpumon_uprobe_process_free(&process);
}

/* Programs map more files than there may be descriptors. */
static void few_descriptors(void **state)
{
	struct gpumon_uprobe_process process = { .pid = getpid(), .root = "" };
	struct rlimit before, few;
	struct gpumon_error err;
	int first = dup(0);

	(void)state;
	assert_true(first >= 0);
	close(first);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	/* The mappings, the linker's file, and two for the kernel's code. */
	few.rlim_cur = (rlim_t)first + 4;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(gpumon_uprobe_process_scan(&process, &err), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(process.file_count > 4);
	for (unsigned int i = 0; i < process.file_count; i++)
		assert_string_equal(process.files[i]->why, "");
	gpumon_uprobe_process_free(&process);
}

static unsigned int rules;

static void learnt(void *data, uint64_t pc, const struct uprobe_rule *rule)
{
	(void)data;
	assert_true(pc != 0);
	assert_true(rule->kind >= UPROBE_RULE_END && rule->kind <= UPROBE_RULE_NONE);
	rules++;
}

/* The end of this stack, which is near with few variables in the environment. */
static uint64_t stack_end(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long end = 0;
	char line[512];

	assert_non_null(maps);
	while (!end && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "[stack]"))
			assert_int_equal(sscanf(line, "%*x-%lx", &end), 1);
	}
	fclose(maps);
	assert_true(end);
	return end;
}

static uint64_t stack_ends;

/* Frames of deeper(): where they end, and where they return to. */
#define DEEPER 6
static uint64_t frame_ends[DEEPER], frame_returns[DEEPER];

/* As sent by the kernel: the known frames, and memory from the stack pointer on. */
static __attribute__((noinline, no_sanitize("address"))) void take_copy(struct uprobe_copy *copy,
									uint64_t fp)
{
	const uint8_t *memory = (const uint8_t *)(uintptr_t)copy->sp;

	copy->fp = fp;
	copy->bytes = stack_ends - copy->sp < 8192 ? (uint32_t)(stack_ends - copy->sp) : 8192;
	for (uint32_t i = 0; i < copy->bytes; i++)
		copy->memory[i] = memory[i];
}

static __attribute__((noinline)) void deeper(struct uprobe_copy *copy, void **frames, int *count,
					     unsigned int more)
{
	const uint64_t *own = __builtin_frame_address(0);

	frame_ends[more] = (uintptr_t)(own + 2);
	frame_returns[more] = own[1];
	if (more) {
		deeper(copy, frames, count, more - 1);
	} else {
		uint64_t *frame = __builtin_frame_address(0);

		*count = backtrace(frames, 64);
		/* Pretend to have left this function: its return address and registers. */
		copy->stack.frames[0] = (uintptr_t)deeper;
		copy->stack.frames[1] = frame[1];
		copy->stack.count = 2;
		copy->pc = frame[1];
		copy->sp = (uintptr_t)(frame + 2);
		take_copy(copy, frame[0]);
	}
	__asm__ volatile("" : : : "memory");
}

static const struct uprobe_ranges no_ranges;

static void stacks(void **state)
{
	struct gpumon_uprobe_process process = { .pid = getpid(), .root = "" };
	struct uprobe_copy *copy = calloc(1, sizeof(*copy)), *again = calloc(1, sizeof(*again));
	struct gpumon_error err;
	void *frames[64];
	int count = 0;

	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	assert_non_null(copy);
	assert_non_null(again);
	assert_int_equal(gpumon_uprobe_process_scan(&process, &err), 0);
	stack_ends = stack_end();
	deeper(copy, frames, &count, DEEPER - 1);
	*again = *copy;
	gpumon_uprobe_unwind(&process, &no_ranges, copy, UPROBE_DEPTH, learnt, NULL);
	/* backtrace() begins in deeper(), or in a sanitizer. It ends at _start as well. */
	while (count > 1 && (uintptr_t)frames[1] != copy->stack.frames[1]) {
		count--;
		memmove(frames, frames + 1, (size_t)count * sizeof(*frames));
	}
	assert_in_range(count, 8, 62);
	assert_false(copy->stack.flags & UPROBE_TRUNCATED);
	assert_int_equal(copy->stack.count, count);
	for (int i = 1; i < count; i++)
		assert_int_equal(copy->stack.frames[i], (uintptr_t)frames[i]);
	assert_true(rules >= (unsigned int)count - 1);

	/* Truncated memory: walk as far as possible, and set the flag. */
	for (uint32_t bytes = 0; bytes < 800; bytes += 8) {
		*copy = *again;
		copy->bytes = bytes;
		gpumon_uprobe_unwind(&process, &no_ranges, copy, UPROBE_DEPTH, learnt, NULL);
		for (uint32_t i = 1; i < copy->stack.count; i++)
			assert_int_equal(copy->stack.frames[i], (uintptr_t)frames[i]);
		assert_true(copy->stack.flags & UPROBE_TRUNCATED ||
			    copy->stack.count == (uint32_t)count);
	}
	/* At most this number of frames. */
	*copy = *again;
	gpumon_uprobe_unwind(&process, &no_ranges, copy, 5, learnt, NULL);
	assert_int_equal(copy->stack.count, 5);
	assert_true(copy->stack.flags & UPROBE_TRUNCATED);
	/* A walk through random data ends. */
	for (unsigned int round = 0; round < 200; round++) {
		*copy = *again;
		for (uint32_t i = 0; i < copy->bytes; i++)
			copy->memory[i] = (uint8_t)rand();
		gpumon_uprobe_unwind(&process, &no_ranges, copy, UPROBE_DEPTH, learnt, NULL);
		assert_true(copy->stack.count <= UPROBE_DEPTH);
	}
	gpumon_uprobe_process_free(&process);
	free(copy);
	free(again);
}

static bool nested(const struct gpumon_uprobe_process *process, const struct uprobe_ranges *ranges,
		   struct uprobe_copy copy, struct uprobe_outer outer, unsigned int depth)
{
	enum gpumon_uprobe_nesting result;

	/* One that is not on the stack, besides. */
	copy.outer[0] = (struct uprobe_outer){ frame_ends[1] + 1, 0, outer.ip, outer.ip };
	copy.outer[UPROBE_CALLS - 1] = outer;
	result = gpumon_uprobe_unwind(process, ranges, &copy, depth, learnt, NULL);
	assert_true(copy.stack.count <= depth);
	assert_int_not_equal(result, GPUMON_UPROBE_UNDECIDED);
	return result == GPUMON_UPROBE_NESTED;
}

/* A copy of a stack shows whether its call is nested in another one. */
static void nested_calls(void **state)
{
	const uint64_t ip = (uintptr_t)deeper;
	struct uprobe_ranges ranges = { .count = 1, .all = { { ip, ip + 4096, 7 } } };
	struct gpumon_uprobe_process process = { .pid = getpid(), .root = "" };
	struct uprobe_copy *copy = calloc(1, sizeof(*copy));
	struct uprobe_outer outer = { 0, 0, ip, ip };
	struct gpumon_error err;
	void *frames[64];
	int count = 0;

	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	assert_non_null(copy);
	assert_int_equal(gpumon_uprobe_process_scan(&process, &err), 0);
	stack_ends = stack_end();
	deeper(copy, frames, &count, DEEPER - 1);
	/* The innermost function was left, and the frame next to it returns to it. */
	for (unsigned int i = 2; i < DEEPER; i++) {
		outer.end = frame_ends[i];
		outer.ra = frame_returns[i];
		assert_true(nested(&process, &ranges, *copy, outer, UPROBE_DEPTH));
		/* Beyond the frames that are wanted, and of a return that is probed. */
		outer.ra = 0;
		assert_true(nested(&process, &ranges, *copy, outer, 2));
		/* By the last function called within it. */
		outer.ip = 0;
		assert_true(nested(&process, &ranges, *copy, outer, UPROBE_DEPTH));
		/* Another library, another place, another return address. */
		outer.inner = 0;
		assert_false(nested(&process, &ranges, *copy, outer, UPROBE_DEPTH));
		outer.ip = outer.inner = ip;
		assert_false(nested(&process, &no_ranges, *copy, outer, UPROBE_DEPTH));
		outer.end += 8;
		assert_false(nested(&process, &ranges, *copy, outer, UPROBE_DEPTH));
		outer.end -= 8;
		outer.ra = ip;
		assert_false(nested(&process, &ranges, *copy, outer, UPROBE_DEPTH));
	}
	/* Memory that ends below that frame, and right behind it. */
	outer.ra = 0;
	copy->bytes = (uint32_t)(outer.end - 8 - copy->sp);
	/* The walk does not get there: the caller decides. */
	copy->stack.frames[1] = ip;
	assert_true(nested(&process, &ranges, *copy, outer, UPROBE_DEPTH));
	copy->stack.frames[1] = 0;
	assert_false(nested(&process, &ranges, *copy, outer, UPROBE_DEPTH));
	copy->bytes += 8;
	assert_true(nested(&process, &ranges, *copy, outer, UPROBE_DEPTH));
	outer.ra = ip;
	assert_false(nested(&process, &ranges, *copy, outer, UPROBE_DEPTH));
	/* Without other calls there is nothing to decide. */
	copy->bytes = 0;
	assert_int_equal(gpumon_uprobe_unwind(&process, &ranges, copy, UPROBE_DEPTH, learnt, NULL),
			 GPUMON_UPROBE_OUTERMOST);
	assert_true(copy->stack.flags & UPROBE_TRUNCATED);
	gpumon_uprobe_process_free(&process);
	free(copy);
}

/* After a process has ended, its files are those that are seen from here, if they are the same. */
static void process_that_has_ended(void **state)
{
	const uint64_t ip = (uintptr_t)deeper;
	const struct uprobe_ranges ranges = { .count = 1, .all = { { ip, ip + 4096, 7 } } };
	struct uprobe_copy *copy = calloc(1, sizeof(*copy));
	struct gpumon_error err;
	void *frames[64];
	int count = 0;

	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	assert_non_null(copy);
	stack_ends = stack_end();
	deeper(copy, frames, &count, DEEPER - 1);
	for (unsigned int same = 0; same < 2; same++) {
		struct gpumon_uprobe_process process = { .pid = getpid(), .root = "" };

		assert_int_equal(gpumon_uprobe_process_scan(&process, &err), 0);
		process.pid = 1 << 30;
		for (unsigned int i = 0; i < process.file_count; i++)
			process.files[i]->inode += !same;
		/* Not the end of a frame. A caller within the library decides if the file does not. */
		copy->outer[0] = (struct uprobe_outer){ frame_ends[3] + 8, 0, ip, ip };
		for (unsigned int within = 0; within < 2; within++) {
			copy->stack.frames[1] = within ? ip : 0;
			copy->stack.count = 2;
			copy->stack.flags = 0;
			assert_int_equal(gpumon_uprobe_unwind(&process, &ranges, copy, UPROBE_DEPTH,
							      learnt, NULL),
					 same	? GPUMON_UPROBE_OUTERMOST :
					 within ? GPUMON_UPROBE_NESTED :
						  GPUMON_UPROBE_UNDECIDED);
		}
		gpumon_uprobe_process_free(&process);
	}
	free(copy);
}

static void refusals(void **state)
{
	struct gpumon_error err = { 0 };

	(void)state;
	assert_null(gpumon_uprobes_attach(0, NULL, &err));
	assert_int_equal(err.code, GPUMON_ERROR_GONE);
	assert_int_equal(err.status, GPUMON_EXIT_FAILED);
#ifndef GPUMON_BPF
	assert_int_equal(gpumon_uprobes_supported("", &err), -1);
	assert_int_equal(err.code, GPUMON_ERROR_NOT_BUILT);
	assert_int_equal(err.status, GPUMON_EXIT_IMPOSSIBLE);
	assert_null(gpumon_uprobes_attach(getpid(), NULL, &err));
	assert_int_equal(err.code, GPUMON_ERROR_NOT_BUILT);
#endif
	gpumon_uprobes_detach(NULL, NULL, NULL);
}

/* --- stacks of another process */

#define BLOCKED_MAX 64

/* The child of a test that hangs ends by itself, and the test then fails. */
#define CHILD_SECONDS 60

/* What a child says of its own stack before it is blocked. Its call is none that a sanitizer puts frames into. */
struct blocked {
	int report;
	int input;
	int count;
	void *frames[BLOCKED_MAX];
	void *caller;
};

static __attribute__((noinline)) void block(struct blocked *blocked)
{
	char byte;

	blocked->caller = __builtin_return_address(0);
	blocked->count = backtrace(blocked->frames, BLOCKED_MAX);
	if (write(blocked->report, blocked, sizeof(*blocked)) != sizeof(*blocked) ||
	    syscall(SYS_read, blocked->input, &byte, 1) != 1)
		_exit(1);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void call_block(struct blocked *blocked, int depth)
{
	if (depth)
		call_block(blocked, depth - 1);
	else
		block(blocked);
	__asm__ volatile("" ::: "memory");
}

static void wait_blocked(pid_t child, struct gpumon_look *look)
{
	struct gpumon_look_files files;
	char folder[GPUMON_LOOK_PATH];

	snprintf(folder, sizeof(folder), "/proc/%d/task", (int)child);
	assert_int_equal(gpumon_look_open(&files, folder, (uint32_t)child), 0);
	do {
		assert_int_equal(gpumon_look(&files, look), 0);
	} while (!look->is_blocked || look->call != SYS_read);
	gpumon_look_close(&files);
}

/* A walk from outside has the frames that the thread itself has. */
static void stack_of_a_blocked_process(void **state)
{
	static struct gpumon_uprobe_walker walker;
	static struct uprobe_stack stack;
	struct gpumon_uprobe_process process = { .root = "" };
	struct blocked blocked;
	struct gpumon_look look;
	struct gpumon_error err;
	int report[2], input[2];
	unsigned int at = 0, own = 0;

	(void)state;
	if (access("/proc/self/syscall", R_OK))
		skip();
	assert_int_equal(pipe(report) || pipe(input), 0);
	process.pid = fork();
	if (!process.pid) {
		alarm(CHILD_SECONDS);
		blocked.report = report[1];
		blocked.input = input[0];
		call_block(&blocked, 5);
		_exit(0);
	}
	close(report[1]);
	assert_int_equal(read(report[0], &blocked, sizeof(blocked)), sizeof(blocked));
	wait_blocked(process.pid, &look);
	assert_int_equal(gpumon_uprobe_process_scan(&process, &err), 0);
	walker.process = &process;
	assert_true(gpumon_uprobe_walk(&walker, look.code, look.stack, UPROBE_DEPTH, &stack));
	assert_int_equal(stack.frames[0], look.code);
	/* Inward of that, either is at another call, or in a sanitizer. */
	while (at < stack.count && stack.frames[at] != (uintptr_t)blocked.caller)
		at++;
	while (own < (unsigned int)blocked.count && blocked.frames[own] != blocked.caller)
		own++;
	assert_int_not_equal(at, stack.count);
	assert_int_equal(stack.count - at, blocked.count - own);
	for (; at < stack.count; at++, own++)
		assert_int_equal(stack.frames[at], (uintptr_t)blocked.frames[own]);
	assert_int_equal(stack.flags & UPROBE_TRUNCATED, 0);
	/* As many as are wanted, and no more. */
	assert_true(gpumon_uprobe_walk(&walker, look.code, look.stack, 3, &stack));
	assert_int_equal(stack.count, 3);
	assert_int_equal(stack.flags & UPROBE_TRUNCATED, UPROBE_TRUNCATED);
	/* Nothing is there. */
	assert_false(gpumon_uprobe_walk(&walker, look.code, 8, UPROBE_DEPTH, &stack));
	assert_int_equal(walker.refused, 0);
	assert_int_equal(write(input[1], "", 1), 1);
	assert_int_equal(waitpid(process.pid, NULL, 0), process.pid);
	assert_false(gpumon_uprobe_walk(&walker, look.code, look.stack, UPROBE_DEPTH, &stack));
	gpumon_uprobe_process_free(&process);
	close(report[0]);
	close(input[0]);
	close(input[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),
		cmocka_unit_test(kinds_are_kept),
		cmocka_unit_test(libraries),
		cmocka_unit_test(jumps),
		cmocka_unit_test(vulkan_entries),
		cmocka_unit_test(interning),
		cmocka_unit_test(own_mappings),
		cmocka_unit_test(few_descriptors),
		cmocka_unit_test(stacks),
		cmocka_unit_test(nested_calls),
		cmocka_unit_test(process_that_has_ended),
		cmocka_unit_test(refusals),
		cmocka_unit_test(stack_of_a_blocked_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
