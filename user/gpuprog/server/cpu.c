// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/bpf.h"
#include "cpu.h"
#include "gpuprog/object/map_memory.h"
#include "gpuprog/object/map.h"
#include "gpuprog/object/object.h"

#define MAX_IDS	     64 /* maps of a program */
#define NAME_BYTES   64 /* of a map */
#define ATTACHED_MAX 32
#define KERNEL_TYPES 1000 /* those from here on are bpftime's and gpumon's */

/**
 * struct gpumon_gpuprog_cpu - programs for the CPU
 * @check: the object as gpumon reads it
 * @object: the same as libbpf does
 * @links: attached programs
 * @links_n: how many
 * @shared: arrays that both sides use, a bit each
 * @descriptors: of these
 * @memory: of these
 * @bytes: of @memory, whole pages
 */
struct gpumon_gpuprog_cpu {
	const struct gpumon_gpuprog_check *check;
	struct bpf_object *object;
	struct bpf_link *links[ATTACHED_MAX];
	uint32_t links_n;
	uint64_t shared;
	int descriptors[GPUMON_GPUPROG_MAX_MAPS];
	void *memory[GPUMON_GPUPROG_MAX_MAPS];
	size_t bytes[GPUMON_GPUPROG_MAX_MAPS];
};

#define REFUSE(err, ...) \
	gpumon_error_set(err, GPUMON_EXIT_FAILED, -EINVAL, GPUMON_ERROR_REFUSED, __VA_ARGS__)

static bool is_for_gpu(const struct bpf_program *program)
{
	return gpumon_gpuprog_section_is_gpu(bpf_program__section_name(program),
					     bpf_program__name(program));
}

/*
 * Arrays become such that a process can map, bpftime's hashes the kernel's; what the kernel has no type
 * for is not made.
 */
static void prepare_maps(struct gpumon_gpuprog_cpu *cpu)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, cpu->object) {
		uint32_t type = (uint32_t)bpf_map__type(map);
		enum gpumon_gpuprog_map_kind kind = GPUMON_GPUPROG_MAP_DATA;
		bool known = gpumon_gpuprog_map_kind(type, &kind);

		if (bpf_map__is_internal(map))
			continue;
		if (known && kind == GPUMON_GPUPROG_MAP_ARRAY) {
			bpf_map__set_type(map, BPF_MAP_TYPE_ARRAY);
			bpf_map__set_map_flags(map, bpf_map__map_flags(map) | BPF_F_MMAPABLE);
		} else if (known && kind == GPUMON_GPUPROG_MAP_HASH) {
			bpf_map__set_type(map, BPF_MAP_TYPE_HASH);
		} else if (type >= KERNEL_TYPES) {
			bpf_map__set_autocreate(map, false);
		}
	}
}

static int load(struct gpumon_gpuprog_cpu *cpu, struct gpumon_error *err)
{
	const struct gpumon_gpuprog_check *check = cpu->check;
	struct bpf_program *program;
	libbpf_print_fn_t before = libbpf_set_print(gpumon_libbpf_print);
	int ret;

	gpumon_libbpf_forget();
	cpu->object = bpf_object__open_mem(check->bytes, check->size, NULL);
	ret = cpu->object ? 0 : -errno;
	if (!ret) {
		bpf_object__for_each_program(program, cpu->object)
			bpf_program__set_autoload(program, !is_for_gpu(program));
		prepare_maps(cpu);
		ret = bpf_object__load(cpu->object);
	}
	libbpf_set_print(before);
	if (!ret)
		return 0;
	return REFUSE(err, "the programs for the CPU are not loaded: %s (%s)", strerror(-ret),
		      gpumon_libbpf_said());
}

/* Does one of them use the kernel's map with this number? */
static bool is_used(const struct gpumon_gpuprog_cpu *cpu, uint32_t id)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, cpu->object) {
		uint32_t ids[MAX_IDS];
		struct bpf_prog_info info = { .nr_map_ids = MAX_IDS,
					      .map_ids = (uint64_t)(uintptr_t)ids };
		uint32_t size = sizeof(info);

		if (is_for_gpu(program) ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			continue;
		for (uint32_t i = 0; i < info.nr_map_ids && i < MAX_IDS; i++)
			if (ids[i] == id)
				return true;
	}
	return false;
}

static int share_map(struct gpumon_gpuprog_cpu *cpu, uint32_t number, int fd,
		     struct gpumon_error *err)
{
	const struct gpumon_gpuprog_map *map = &cpu->check->object.maps[number];
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = gpumon_gpuprog_map_bytes(map, 1);
	void *memory;

	if (map->kind != GPUMON_GPUPROG_MAP_ARRAY)
		return REFUSE(err,
			      "map %s is used on the GPU and on the CPU: only arrays can be shared",
			      map->name);
	size = (size + page - 1) / page * page;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return REFUSE(err, "map %s cannot be shared with the GPU: %s", map->name,
			      strerror(errno));
	if (map->data)
		memcpy(memory, map->data, gpumon_gpuprog_content_bytes(map));
	cpu->shared |= 1ull << number;
	cpu->descriptors[number] = fd;
	cpu->memory[number] = memory;
	cpu->bytes[number] = size;
	return 0;
}

static int share_maps(struct gpumon_gpuprog_cpu *cpu, struct gpumon_error *err)
{
	const struct gpumon_gpuprog_object *object = &cpu->check->object;
	struct bpf_map *map;

	bpf_object__for_each_map(map, cpu->object) {
		const char *name = bpf_map__name(map);
		const struct gpumon_gpuprog_map *shared =
			gpumon_gpuprog_object_map(object, name, strlen(name));
		struct bpf_map_info info = { 0 };
		uint32_t size = sizeof(info);
		int fd = bpf_map__fd(map);

		/* .rodata, .data and .bss are libbpf's, each side has its own. */
		if (fd < 0 || bpf_map__is_internal(map) || !shared ||
		    bpf_obj_get_info_by_fd(fd, &info, &size) || !is_used(cpu, info.id))
			continue;
		if (share_map(cpu, (uint32_t)(shared - object->maps), fd, err))
			return -1;
	}
	return 0;
}

static int set_value(const struct gpumon_gpuprog_cpu *cpu, const char *text,
		     struct gpumon_error *err)
{
	struct gpumon_gpuprog_setting setting;
	char name[NAME_BYTES];
	const struct bpf_map *map;

	if (gpumon_gpuprog_set_read(text, &setting, err))
		return -1;
	snprintf(name, sizeof(name), "%.*s",
		 (int)(setting.length < sizeof(name) ? setting.length : sizeof(name)),
		 setting.name);
	map = bpf_object__find_map_by_name(cpu->object, name);
	if (!map || bpf_map__type(map) != BPF_MAP_TYPE_ARRAY)
		return REFUSE(err, "--set %.80s: the object has no array of this name", text);
	if (gpumon_gpuprog_set_fits(&setting, text, bpf_map__value_size(map),
				    bpf_map__max_entries(map), err))
		return -1;
	for (uint64_t i = setting.first; i <= setting.last && i < bpf_map__max_entries(map); i++) {
		uint32_t index = (uint32_t)i;

		if (bpf_map_update_elem(bpf_map__fd(map), &index, &setting.number, BPF_ANY))
			return REFUSE(err, "--set %.80s: %s", text, strerror(errno));
	}
	return 0;
}

static int set_values(const struct gpumon_gpuprog_cpu *cpu,
		      const struct gpumon_gpuprog_cpu_options *options, struct gpumon_error *err)
{
	for (uint32_t i = 0; i < options->sets.n; i++)
		if (set_value(cpu, options->sets.texts[i], err))
			return -1;
	return 0;
}

/* "PROGRAM=FILE:FUNCTION" of this program; NULL: none. */
static const char *place_of(const struct gpumon_gpuprog_cpu_options *options, const char *name)
{
	size_t length = strlen(name);

	for (uint32_t i = 0; i < options->attach.n; i++)
		if (!strncmp(options->attach.texts[i], name, length) &&
		    options->attach.texts[i][length] == '=')
			return options->attach.texts[i] + length + 1;
	return NULL;
}

static struct bpf_link *attach_uprobe(const struct bpf_program *program, const char *place)
{
	const char *colon = strrchr(place, ':');
	LIBBPF_OPTS(bpf_uprobe_opts, how, .func_name = colon + 1,
		    .retprobe = !strncmp(bpf_program__section_name(program), "uretprobe", 9));
	char *file = gpumon_strndup(place, (size_t)(colon - place));
	struct bpf_link *link = bpf_program__attach_uprobe_opts(program, -1, file, 0, &how);

	free(file);
	return link;
}

static int attach(struct gpumon_gpuprog_cpu *cpu, struct bpf_program *program, const char *place,
		  struct gpumon_error *err)
{
	const char *name = bpf_program__name(program);
	libbpf_print_fn_t before;
	struct bpf_link *link;
	int failed;

	if (cpu->links_n == ATTACHED_MAX)
		return REFUSE(err, "there are more than %d programs for the CPU: split the object",
			      ATTACHED_MAX);
	if (place && !strchr(place, ':'))
		return REFUSE(err, "--attach %.60s=%.200s: it names no function: say FILE:FUNCTION",
			      name, place);
	gpumon_libbpf_forget();
	before = libbpf_set_print(gpumon_libbpf_print);
	errno = 0;
	link = place ? attach_uprobe(program, place) : bpf_program__attach(program);
	failed = errno;
	libbpf_set_print(before);
	if (link) {
		cpu->links[cpu->links_n++] = link;
		return 0;
	}
	if (!place && failed == EOPNOTSUPP)
		return REFUSE(
			err,
			"%s: section \"%s\" does not say where it runs: say --attach %s=FILE:FUNCTION",
			name, bpf_program__section_name(program), name);
	return REFUSE(err, "%s is not attached: %s (%s)", name, strerror(failed),
		      gpumon_libbpf_said());
}

static int attach_all(struct gpumon_gpuprog_cpu *cpu,
		      const struct gpumon_gpuprog_cpu_options *options, struct gpumon_error *err)
{
	struct bpf_program *program;
	uint32_t named = 0;

	bpf_object__for_each_program(program, cpu->object) {
		const char *place = place_of(options, bpf_program__name(program));

		if (is_for_gpu(program))
			continue;
		named += place != NULL;
		if (attach(cpu, program, place, err))
			return -1;
	}
	if (named == options->attach.n)
		return 0;
	return REFUSE(err,
		      "--attach %.100s: no program for the CPU has this name, or it is given twice",
		      options->attach.texts[0]);
}

int gpumon_gpuprog_cpu_open(const struct gpumon_gpuprog_check *check,
			    const struct gpumon_gpuprog_cpu_options *options,
			    struct gpumon_gpuprog_cpu **out, struct gpumon_error *err)
{
	struct gpumon_gpuprog_cpu *cpu;

	*out = NULL;
	if (!gpumon_bpf_capable(""))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_REFUSED,
			"%u programs of it are for the CPU, which needs root (CAP_BPF and CAP_PERFMON): leave them out with --no-cpu",
			check->object.cpu_n);
	cpu = gpumon_calloc(1, sizeof(*cpu));
	cpu->check = check;
	if (load(cpu, err) || share_maps(cpu, err) || set_values(cpu, options, err) ||
	    attach_all(cpu, options, err)) {
		gpumon_gpuprog_cpu_close(cpu);
		return -1;
	}
	*out = cpu;
	return 0;
}

void gpumon_gpuprog_cpu_close(struct gpumon_gpuprog_cpu *cpu)
{
	if (!cpu)
		return;
	for (uint32_t i = 0; i < cpu->links_n; i++)
		bpf_link__destroy(cpu->links[i]);
	for (uint32_t i = 0; i < GPUMON_GPUPROG_MAX_MAPS; i++)
		if (cpu->memory[i])
			munmap(cpu->memory[i], cpu->bytes[i]);
	bpf_object__close(cpu->object);
	free(cpu);
}

uint64_t gpumon_gpuprog_cpu_shared(const struct gpumon_gpuprog_cpu *cpu)
{
	return cpu ? cpu->shared : 0;
}

const void *gpumon_gpuprog_cpu_memory(const struct gpumon_gpuprog_cpu *cpu, uint32_t map)
{
	return cpu && map < GPUMON_GPUPROG_MAX_MAPS ? cpu->memory[map] : NULL;
}

int gpumon_gpuprog_cpu_descriptor(const struct gpumon_gpuprog_cpu *cpu, uint32_t map)
{
	return gpumon_gpuprog_cpu_memory(cpu, map) ? cpu->descriptors[map] : -1;
}
