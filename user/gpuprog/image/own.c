// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "own.h"
#include "gpuprog/ptx/translate.h"

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

static bool is_own(const struct gpumon_probe_order *order, uint32_t i)
{
	return order->facts[i] && order->object->programs[i].point == GPUMON_PROBE_RUN;
}

uint32_t gpumon_probe_own_n(const struct gpumon_probe_order *order)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < order->object->programs_n; i++)
		n += is_own(order, i);
	return n;
}

/* An empty kernel for each program. */
static int write_kernels(const struct gpumon_probe_order *order, FILE *out,
			 struct gpumon_error *err)
{
	uint32_t isa = gpumon_probe_isa(order->sm);

	fprintf(out, ".version %u.%u\n.target sm_%u\n.address_size 64\n", isa / 10, isa % 10,
		order->sm);
	for (uint32_t i = 0; i < order->object->programs_n; i++) {
		const char *name = order->object->programs[i].name;

		if (!is_own(order, i))
			continue;
		if (name[strspn(name, NAME_CHARACTERS)])
			return gpumon_error_set(
				err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
				"%.60s is no name for a kernel: use letters, digits and _", name);
		fprintf(out, ".visible .entry %s()\n{\n\tret;\n}\n", name);
	}
	return 0;
}

/* The program that only a kernel can refuse, and why. */
static int refuse(const struct gpumon_probe_run *run, struct gpumon_error *err)
{
	for (uint32_t i = 0; i < run->kernels_n; i++)
		if (!gpumon_probe_way_is_in(run->kernels[i].way))
			return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
						"%.60s cannot be a kernel: %s",
						run->kernels[i].name, run->kernels[i].why);
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
				"no program could be made a kernel");
}

int gpumon_probe_own_write(const struct gpumon_probe_order *order, struct gpumon_probe_run *run,
			   FILE *out, struct gpumon_error *err)
{
	enum gpumon_probe_outcome outcome = GPUMON_PROBE_UNTOUCHED;
	char *empty = NULL;
	size_t size;
	FILE *text = open_memstream(&empty, &size);
	int ret = text ? write_kernels(order, text, err) : -1;

	if (!text || (fclose(text) && !ret))
		ret = gpumon_error_memory(err);
	if (!ret)
		ret = gpumon_probe_exchange(order, empty, size, run, out, &outcome, err);
	if (!ret && outcome != GPUMON_PROBE_EXCHANGED)
		ret = refuse(run, err);
	free(empty);
	return ret;
}
