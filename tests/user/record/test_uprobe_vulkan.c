// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The search for tables of Vulkan devices, in the memory of a child: the search's own memory has
 * copies of the tables that it has read. A file of the child plays the loader.
 * tests/suite/uprobe-libraries.py has the real one.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/uprobe_function.h"
#include "record/uprobe_process.h"
#include "record/uprobe_vulkan.h"

#define TABLE_BYTES 16384

/* Each is an instruction of five bytes and a return, in one row of call frame information. */
#if defined(__x86_64__)
#define FUNCTION(name)                                                                        \
	__asm__(".text\n.p2align 4\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" \
		"mov $1, %eax\nret\n.cfi_endproc\n.size " #name ", . - " #name "\n");         \
	int name(void)
#else
#define FUNCTION(name)                              \
	static __attribute__((used)) int name(void) \
	{                                           \
		return 1;                           \
	}                                           \
	extern int unused_##name
#endif

FUNCTION(first_function);
FUNCTION(second_function);

static const struct {
	const char *name;
	uint32_t entry;
	unsigned int kind;
} loader_functions[] = {
	{ "vkQueueSubmit", 0x20, GPUMON_FUNCTION_LAUNCH },
	{ "vkQueueWaitIdle", 0x28, GPUMON_FUNCTION_BLOCKING },
	/* Without a place in the table. */
	{ "vkWaitForFences", 0, GPUMON_FUNCTION_BLOCKING },
};

#define LOADER_FUNCTIONS (sizeof(loader_functions) / sizeof(loader_functions[0]))

struct setup {
	struct gpumon_uprobe_process process;
	struct gpumon_uprobe_file *own;
};

static pid_t child;
/* In the child. */
static uint64_t *table;

static int start_child(void **state)
{
	(void)state;
	table = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (table == MAP_FAILED)
		return -1;
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return child < 0 ? -1 : 0;
}

static int end_child(void **state)
{
	(void)state;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}

static void write_table(uint64_t number, uintptr_t submit, uintptr_t wait)
{
	uint64_t words[] = { [0] = number, [0x20 / 8] = submit, [0x28 / 8] = wait };
	const struct iovec here = { words, sizeof(words) };
	const struct iovec there = { table + 100, sizeof(words) };

	assert_int_equal(process_vm_writev(child, &here, 1, &there, 1, 0), sizeof(words));
}

static void begin(struct setup *setup)
{
	const struct gpumon_uprobe_map *map;
	struct gpumon_uprobe_file *loader;
	struct gpumon_error err;

	memset(setup, 0, sizeof(*setup));
	setup->process.pid = child;
	setup->process.root = "";
	assert_int_equal(gpumon_uprobe_process_scan(&setup->process, &err), 0);
	map = gpumon_uprobe_process_map(&setup->process, (uintptr_t)memset);
	assert_non_null(map);
	loader = map->file;
	loader->device_offset = 1;
	for (size_t i = 0; i < LOADER_FUNCTIONS; i++) {
		const struct gpumon_uprobe_site site = {
			.name = strdup(loader_functions[i].name),
			.offset = i,
			.kind = loader_functions[i].kind,
			.vulkan_entry = loader_functions[i].entry,
		};

		gpumon_uprobe_file_add_site(loader, &site);
	}
	map = gpumon_uprobe_process_map(&setup->process, (uintptr_t)first_function);
	assert_non_null(map);
	setup->own = map->file;
	assert_ptr_not_equal(setup->own, loader);
}

static void end(struct setup *setup)
{
	write_table(0, 0, 0);
	gpumon_uprobe_process_free(&setup->process);
}

static void functions_of_a_device(void **state)
{
	const struct gpumon_uprobe_map *map;
	struct setup setup;

	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	begin(&setup);
	write_table(GPUMON_VULKAN_TABLE, (uintptr_t)first_function, (uintptr_t)second_function);
	assert_int_equal(gpumon_uprobe_vulkan_devices(
				 &setup.process, GPUMON_FUNCTION_LAUNCH | GPUMON_FUNCTION_BLOCKING),
			 1);
	assert_int_equal(setup.own->site_count, 2);
	assert_string_equal(setup.own->sites[0].name, "vkQueueSubmit");
	assert_string_equal(setup.own->sites[1].name, "vkQueueWaitIdle");
	map = gpumon_uprobe_process_map(&setup.process, (uintptr_t)first_function);
	assert_int_equal(setup.own->sites[0].offset,
			 (uintptr_t)first_function - map->start + map->offset);
	assert_int_equal(setup.own->sites[1].kind, GPUMON_FUNCTION_BLOCKING);
	assert_true(setup.own->api);
	assert_true(setup.own->fd >= 0);
	/* Another look finds the same. */
	assert_int_equal(gpumon_uprobe_vulkan_devices(
				 &setup.process, GPUMON_FUNCTION_LAUNCH | GPUMON_FUNCTION_BLOCKING),
			 1);
	assert_int_equal(setup.own->site_count, 2);
	end(&setup);

	begin(&setup);
	write_table(GPUMON_VULKAN_TABLE, (uintptr_t)first_function, (uintptr_t)second_function);
	assert_int_equal(gpumon_uprobe_vulkan_devices(&setup.process, GPUMON_FUNCTION_LAUNCH), 1);
	assert_int_equal(setup.own->site_count, 1);
	end(&setup);

	/* A driver of an older version lacks functions. */
	begin(&setup);
	write_table(GPUMON_VULKAN_TABLE, (uintptr_t)first_function, 0);
	assert_int_equal(gpumon_uprobe_vulkan_devices(
				 &setup.process, GPUMON_FUNCTION_LAUNCH | GPUMON_FUNCTION_BLOCKING),
			 1);
	assert_int_equal(setup.own->site_count, 1);
	end(&setup);
}

/* A probe in the midst of an instruction would break the program. */
static void other_memory(void **state)
{
	const uintptr_t start = (uintptr_t)first_function, data = (uintptr_t)loader_functions;
	const uintptr_t pairs[][2] = { { start + 1, start },
				       { start, start + 3 },
				       { start, 1 },
				       { start, data },
				       { 0, 0 },
				       { start, ~0ul },
				       { start, (uintptr_t)&start } };
	struct setup setup;

	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		begin(&setup);
		write_table(GPUMON_VULKAN_TABLE, pairs[i][0], pairs[i][1]);
		assert_int_equal(gpumon_uprobe_vulkan_devices(&setup.process,
							      GPUMON_FUNCTION_LAUNCH |
								      GPUMON_FUNCTION_BLOCKING),
				 0);
		assert_int_equal(setup.own->site_count, 0);
		end(&setup);
	}
	/* Nothing is searched in a process without the loader. */
	begin(&setup);
	write_table(GPUMON_VULKAN_TABLE, start, (uintptr_t)second_function);
	for (unsigned int i = 0; i < setup.process.file_count; i++)
		setup.process.files[i]->device_offset = 0;
	assert_int_equal(gpumon_uprobe_vulkan_devices(
				 &setup.process, GPUMON_FUNCTION_LAUNCH | GPUMON_FUNCTION_BLOCKING),
			 -ENOENT);
	end(&setup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_a_device),
		cmocka_unit_test(other_memory),
	};

	return cmocka_run_group_tests(tests, start_child, end_child);
}
