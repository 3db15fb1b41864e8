// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "names.h"
#include "patched.h"
#include "fatbin.h"
#include "unseen.h"
#include "gpuprog/ptx/translate.h"

struct looking {
	struct gpumon_exchange exchange;
	int (*each)(void *argument, uint32_t number, uint32_t programs, const char *name);
	void *argument;
	bool edited; /* the module's image was */
};

/* Why it is not PTX that programs are put into; "" if that was not tried. */
static const char *why_patched(const struct looking *looking,
			       const struct gpumon_probe_kernel *kernel, char *text, size_t room)
{
	if (!looking->exchange.order->patched)
		return "";
	if (!kernel->told)
		return "its machine code (SASS) calls the programs: it has no PTX";
	if (kernel->way != GPUMON_PROBE_WAY_REFUSED)
		return kernel->why;
	snprintf(text, room,
		 "its machine code (SASS) calls the programs: its PTX cannot be edited: %s",
		 kernel->why);
	return text;
}

static int look_at(void *context, const char *name)
{
	struct looking *looking = context;
	struct gpumon_exchange *exchange = &looking->exchange;
	uint32_t programs, number;
	char text[512];

	if (gpumon_exchange_wanted(exchange, name, strlen(name), true, &programs))
		return -1;
	if (!programs)
		return 0;
	number = gpumon_probe_run_kernel(exchange->run, name, strlen(name));
	if (number == GPUMON_PROBE_NO_NUMBER)
		return gpumon_exchange_no_memory(exchange);
	if (gpumon_probe_run_leaves(exchange->run, number))
		return 0;
	if (looking->edited)
		return gpumon_probe_run_tell(exchange->run, number, GPUMON_PROBE_WAY_NO_PTX, "") ?
			       gpumon_exchange_no_memory(exchange) :
			       0;
	if (gpumon_probe_run_tell(exchange->run, number, GPUMON_PROBE_WAY_SASS,
				  why_patched(looking, &exchange->run->kernels[number], text,
					      sizeof(text))) ||
	    looking->each(looking->argument, number, programs, name))
		return gpumon_exchange_no_memory(exchange);
	exchange->run->kernels[number].image = exchange->run->images;
	return 0;
}

static bool has_memory_point(const struct gpumon_probe_order *order, uint32_t programs)
{
	for (uint32_t i = 0; i < order->object->programs_n; i++)
		if (programs & 1u << i && order->object->programs[i].point == GPUMON_PROBE_MEMORY)
			return true;
	return false;
}

/* Accesses of a kernel that the patches do not see. */
static int add_unseen(void *context, const char *name, const uint64_t unseen[GPUMON_EDIT_CAUSES_N])
{
	struct looking *looking = context;
	struct gpumon_exchange *exchange = &looking->exchange;
	uint32_t programs, number = gpumon_probe_run_find(exchange->run, name);

	if (number == GPUMON_PROBE_NO_NUMBER ||
	    exchange->run->kernels[number].image != exchange->run->images)
		return 0;
	if (gpumon_exchange_wanted(exchange, name, strlen(name), true, &programs))
		return -1;
	for (int i = 0; has_memory_point(exchange->order, programs) && i < GPUMON_EDIT_CAUSES_N;
	     i++)
		exchange->run->kernels[number].left[i] += unseen[i];
	return 0;
}

int gpumon_probe_patched(const struct gpumon_probe_order *order, const void *cubin, size_t size,
			 struct gpumon_probe_run *run,
			 int (*each)(void *argument, uint32_t number, uint32_t programs,
				     const char *name),
			 void *argument, struct gpumon_error *err)
{
	struct looking looking = {
		.exchange = { order, run, err },
		.each = each,
		.argument = argument,
	};

	run->images++;
	looking.edited = gpumon_fatbin_elf_defines(cubin, size, GPUMON_PROBE_TABLE);
	if (gpumon_fatbin_elf_kernels(cubin, size, look_at, &looking))
		return -1;
	if (!looking.edited && gpumon_fatbin_elf_unseen(cubin, size, add_unseen, &looking))
		return gpumon_exchange_no_memory(&looking.exchange);
	return 0;
}
