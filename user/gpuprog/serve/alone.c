// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alone.h"
#include "area.h"
#include "lib/map.h"
#include "launch.h"
#include "gpuprog/image/own.h"
#include "gpuprog/ptx/translate.h"
#include "gpuprog/view/view.h"
#include "server_show.h"

/**
 * struct alone - a run
 * @order: programs
 * @options: how often, and so on
 * @plan: memory of the maps
 * @areas: copy of the memory
 * @number: of the copy in @areas
 * @run: kernels
 * @gpu: GPU
 * @ran: what was launched
 * @ran_n: how many
 */
struct alone {
	struct gpumon_probe_order order;
	const struct gpumon_probe_options *options;
	struct gpumon_probe_plan plan;
	struct gpumon_probe_areas areas;
	uint32_t number;
	struct gpumon_probe_run run;
	struct gpumon_cuda_gpu gpu;
	struct gpumon_probe_ran *ran;
	uint32_t ran_n;
};

static int fill_memory(struct alone *alone, struct gpumon_error *err)
{
	const struct gpumon_probe_object *object = alone->order.object;
	const struct gpumon_wire_settings *settings = &alone->plan.settings;
	uint64_t pid = (uint64_t)getpid() << 32 | (uint64_t)getpid(), print;

	if (gpumon_cuda_alloc(&alone->gpu, settings->bytes, err))
		return -1;
	print = alone->gpu.memory + settings->print;
	for (uint32_t i = 0; i < object->maps_n; i++) {
		uint64_t size = gpumon_probe_content_bytes(&object->maps[i]);

		if (size && gpumon_cuda_write(&alone->gpu, settings->places[1 + i],
					      object->maps[i].data, size, err))
			return -1;
	}
	if (gpumon_cuda_write(&alone->gpu, settings->pid_place, &pid, sizeof(pid), err))
		return -1;
	return settings->print ? gpumon_cuda_write(&alone->gpu, settings->print_place, &print,
						   sizeof(print), err) :
				 0;
}

static int load_kernels(struct alone *alone, struct gpumon_error *err)
{
	const struct gpumon_wire_settings *settings = &alone->plan.settings;
	uint64_t addresses[GPUMON_WIRE_PLACES];
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int ret = out ? gpumon_probe_own_write(&alone->order, &alone->run, out, err) : -1;

	for (uint32_t i = 0; i < settings->places_n; i++)
		addresses[i] = alone->gpu.memory + settings->places[i];
	if (!out || (fclose(out) && !ret))
		ret = gpumon_error_memory(err);
	if (!ret)
		ret = gpumon_cuda_module(&alone->gpu, text, GPUMON_PROBE_TABLE, addresses,
					 settings->places_n * sizeof(addresses[0]), err);
	free(text);
	return ret;
}

static uint64_t volume(const uint32_t *sides)
{
	return (uint64_t)sides[0] * sides[1] * sides[2];
}

static int run_kernel(struct alone *alone, const char *name, struct gpumon_error *err)
{
	const struct gpumon_probe_options *options = alone->options;
	uint64_t *ns = calloc(options->times, sizeof(*ns));
	int ret = ns ? 0 : gpumon_error_memory(err);

	for (uint32_t i = 0; !ret && i < options->times; i++)
		ret = gpumon_cuda_run(&alone->gpu, name, options->grid, options->block, &ns[i],
				      err);
	if (!ret) {
		qsort(ns, options->times, sizeof(*ns), gpumon_by_value);
		alone->ran[alone->ran_n++] = (struct gpumon_probe_ran){
			.program = name,
			.blocks = volume(options->grid),
			.threads = volume(options->block),
			.times = options->times,
			.shortest_ns = ns[0],
			.median_ns = ns[options->times / 2],
			.longest_ns = ns[options->times - 1],
		};
	}
	free(ns);
	return ret;
}

static int run_kernels(struct alone *alone, struct gpumon_error *err)
{
	const struct gpumon_probe_object *object = alone->order.object;

	for (uint32_t i = 0; i < object->programs_n; i++)
		if (alone->order.facts[i] && object->programs[i].point == GPUMON_PROBE_RUN &&
		    run_kernel(alone, object->programs[i].name, err))
			return -1;
	return 0;
}

static int add_area(struct alone *alone, struct gpumon_error *err)
{
	char name[160];
	int fd, number;

	snprintf(name, sizeof(name), "GPU %u (%s)", alone->options->gpu, alone->gpu.name);
	number = gpumon_probe_areas_add(&alone->areas, name, getpid(), &fd);
	if (number < 0)
		return gpumon_error_memory(err);
	close(fd);
	alone->number = (uint32_t)number;
	return 0;
}

static int gather(struct alone *alone, struct gpumon_error *err)
{
	if (gpumon_cuda_open(&alone->gpu, alone->options->gpu, err) || add_area(alone, err))
		return -1;
	alone->order.sm = alone->gpu.sm;
	if (fill_memory(alone, err) || load_kernels(alone, err) || run_kernels(alone, err) ||
	    gpumon_cuda_read(&alone->gpu, alone->areas.areas[alone->number].memory,
			     alone->plan.settings.bytes, err))
		return -1;
	/* The memory goes with the GPU's context, whose rings are not written any more. */
	gpumon_probe_areas_copied(&alone->areas, alone->number, true, NULL, NULL);
	return 0;
}

static int show_gathered(struct gpumon_context *context, const struct alone *alone,
			 struct gpumon_error *err)
{
	struct gpumon_probe_device *devices = gpumon_probe_areas_devices(&alone->areas);
	const struct gpumon_probe_result result = {
		.tool = alone->options->tool,
		.object = alone->order.object,
		.run = &alone->run,
		.devices = devices,
		.devices_n = alone->areas.areas_n,
		.records = alone->areas.records,
		.prints = &alone->areas.prints,
		.ran = alone->ran,
		.ran_n = alone->ran_n,
	};
	int ret = devices ?
			  gpumon_probe_show_sheet(context, gpumon_probe_view_sheet(&result), err) :
			  gpumon_error_memory(err);

	free(devices);
	return ret;
}

static int run_alone(struct gpumon_context *context, struct alone *alone, struct gpumon_error *err)
{
	int ret;

	alone->ran = calloc(gpumon_probe_own_n(&alone->order), sizeof(*alone->ran));
	if (gpumon_probe_areas_init(&alone->areas, alone->order.object, &alone->plan) ||
	    !alone->ran)
		ret = gpumon_error_memory(err);
	else
		ret = gather(alone, err);
	if (!ret)
		ret = show_gathered(context, alone, err);
	gpumon_cuda_close(&alone->gpu);
	gpumon_probe_areas_clear(&alone->areas);
	gpumon_probe_run_clear(&alone->run);
	free(alone->ran);
	return ret;
}

int gpumon_probe_alone(struct gpumon_context *context, const struct gpumon_probe_check *check,
		       const struct gpumon_probe_options *options)
{
	struct alone *alone = calloc(1, sizeof(*alone));
	struct gpumon_error err;
	int ret = -1;

	if (!alone) {
		gpumon_error_memory(&err);
	} else {
		alone->options = options;
		alone->order = (struct gpumon_probe_order){
			.object = &check->object,
			.facts = check->facts,
			.own = true,
			.shards = GPUMON_PROBE_SHARDS,
			.fuel = options->fuel ? options->fuel : GPUMON_PROBE_FUEL,
		};
		if (!gpumon_probe_own_n(&alone->order))
			gpumon_error_set(
				&err, GPUMON_EXIT_USAGE, -EINVAL, GPUMON_ERROR_REFUSED,
				"no program of it is a kernel of its own (gpu/run): name a program to run after --");
		else if (!gpumon_probe_plan_make(&check->object, GPUMON_PROBE_SHARDS, 0, 0,
						 &alone->plan, &err)) {
			ret = run_alone(context, alone, &err);
			gpumon_probe_plan_clear(&alone->plan);
		}
	}
	free(alone);
	return ret ? gpumon_report(context, &err) : GPUMON_EXIT_OK;
}
