// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "plan.h"
#include "gpuprog/object/layout.h"
#include "gpuprog/ptx/translate.h"

/* As the allocator of CUDA does. */
#define ALIGN 256u

_Static_assert(GPUMON_WIRE_KEPT_THREADS == GPUMON_PROBE_KEPT_WARPS * GPUMON_PROBE_KEPT_LANES,
	       "the library makes as many places as programs look for");
_Static_assert(GPUMON_WIRE_KEPT_WORDS >= GPUMON_PROBE_KEPT_TAGS + GPUMON_PROBE_MAX_KEPT,
	       "the library takes as many words");

static uint64_t place(uint64_t *end, uint64_t bytes)
{
	uint64_t at = *end;

	*end = (at + bytes + ALIGN - 1) / ALIGN * ALIGN;
	return at;
}

static int write_content(struct gpumon_probe_plan *plan, const struct gpumon_probe_map *map,
			 uint64_t at)
{
	struct gpumon_wire_settings *settings = &plan->settings;
	uint64_t size = gpumon_probe_content_bytes(map);

	if (!size)
		return 0;
	settings->content[settings->content_n++] =
		(struct gpumon_wire_range){ .offset = at, .size = size };
	return pwrite(plan->content, map->data, size, (off_t)at) == (ssize_t)size ? 0 : -1;
}

static bool prints(const struct gpumon_probe_object *object)
{
	for (uint32_t i = 0; i < object->programs_n; i++)
		if (gpumon_probe_prints(&object->programs[i]))
			return true;
	return false;
}

int gpumon_probe_plan_make(const struct gpumon_probe_object *object, uint32_t shards,
			   uint32_t copy_ms, uint64_t shared, struct gpumon_probe_plan *plan,
			   struct gpumon_error *err)
{
	struct gpumon_wire_settings *settings = &plan->settings;
	struct rlimit limit;
	uint64_t end = 0, control = place(&end, sizeof(struct gpumon_probe_control));

	*plan = (struct gpumon_probe_plan){ .content = -1, .shards = shards };
	settings->type = GPUMON_WIRE_SETTINGS;
	settings->version = GPUMON_WIRE_VERSION;
	settings->copy_ms = copy_ms;
	settings->shared = shared;
	settings->pid_place = control + offsetof(struct gpumon_probe_control, pid_tgid);
	settings->kept_place = control + offsetof(struct gpumon_probe_control, kept);
	settings->print_place = control + offsetof(struct gpumon_probe_control, print);
	settings->places[settings->places_n++] = control;
	for (uint32_t i = 0; i < object->maps_n; i++)
		settings->places[settings->places_n++] =
			place(&end, gpumon_probe_map_bytes(&object->maps[i], shards));
	for (uint32_t i = 0; i < object->programs_n; i++)
		if (gpumon_probe_keeps(&object->programs[i]))
			settings->kept_words = GPUMON_PROBE_KEPT_TAGS + GPUMON_PROBE_MAX_KEPT;
	if (prints(object))
		settings->print =
			place(&end, gpumon_probe_map_bytes(&gpumon_probe_print_map, shards));
	settings->bytes = end;
	if (end > GPUMON_PROBE_MAX_MEMORY)
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
			"the maps would take %llu MiB on each GPU, and at most %llu are possible: use smaller max_entries",
			(unsigned long long)(end >> 20),
			(unsigned long long)(GPUMON_PROBE_MAX_MEMORY >> 20));
	/* A signal would end us. */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && end > limit.rlim_cur)
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -EFBIG, GPUMON_ERROR_MEMORY,
			"the maps take a file of %llu KiB in memory, and files may have %llu KiB at most: raise that (ulimit -f)",
			(unsigned long long)((end + 1023) >> 10),
			(unsigned long long)(limit.rlim_cur >> 10));
	plan->content = memfd_create("gpumon-maps", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (plan->content >= 0 && !ftruncate(plan->content, (off_t)end)) {
		uint32_t i = 0;

		while (i < object->maps_n &&
		       (shared >> i & 1 ||
			!write_content(plan, &object->maps[i], settings->places[1 + i])))
			i++;
		/* All processes get it. */
		if (i == object->maps_n &&
		    !fcntl(plan->content, F_ADD_SEALS,
			   F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
			return 0;
	}
	gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_MEMORY,
			 "no memory for the first content of the maps: %s", strerror(errno));
	gpumon_probe_plan_clear(plan);
	return -1;
}

void gpumon_probe_plan_clear(struct gpumon_probe_plan *plan)
{
	if (plan->content >= 0)
		close(plan->content);
	plan->content = -1;
}
