// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Names of containers from paths, and processes in a test's own tree of cgroups. */
#include "common.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/container.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void names_of_containers(void **state)
{
	static const struct {
		const char *path, *name;
	} cases[] = {
		{ "/system.slice/docker-" ID ".scope", "0123456789ab" },
		{ "/docker/" ID, "0123456789ab" },
		{ "/machine.slice/libpod-" ID ".scope", "0123456789ab" },
		{ "/machine.slice/libpod-" ID ".scope/container", "0123456789ab" },
		{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope",
		  "0123456789ab" },
		{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1_2.slice/cri-containerd-" ID
		  ".scope",
		  "0123456789ab" },
		{ "/kubepods/besteffort/pod7a/" ID, "0123456789ab" },
		{ "/kubepods.slice/x.slice:cri-containerd:" ID, "0123456789ab" },
		{ "/kubepods.slice/crio-" ID ".scope/sub/group", "0123456789ab" },
		/* Nested containers. */
		{ "/docker/" ID
		  "/docker/fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210",
		  "fedcba987654" },
		{ "/lxc.payload.web", "web" },
		{ "/machine.slice/machine-debian.scope", "debian" },
		{ "/machine.slice/systemd-nspawn@build.service/payload", "build" },
		/* None of these is a container. */
		{ "/machine.slice/libpod-conmon-" ID ".scope", "" },
		{ "/", "" },
		{ "", "" },
		{ "/user.slice/user-1000.slice/session-3.scope", "" },
		{ "/system.slice/docker.service", "" },
		{ "/docker/0123456789abcdef", "" },
		{ "/docker/x" ID, "" },
		{ "/docker/g123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "" },
		{ "/machine-.scope", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[64] = "not written";
		size_t own = gpumon_container_name(cases[i].path, name, sizeof(name));

		assert_string_equal(name, cases[i].name);
		/* Its own cgroup ends with a part of the path. */
		assert_int_equal(own != 0, *name != '\0');
		assert_true(!own || cases[i].path[own] == '/' || !cases[i].path[own]);
		/* Never write beyond the buffer. */
		gpumon_container_name(cases[i].path, name, 4);
		assert_true(strlen(name) < 4);
	}
}

static void join(char *path, const char *root, const char *below)
{
	assert_true(snprintf(path, PATH_MAX, "%s/%s", root, below) < PATH_MAX);
}

/* Creates parent folders, too. Returns the inode number of the folder. */
static uint64_t make_folder(const char *root, const char *below)
{
	char path[PATH_MAX];
	struct stat status;

	join(path, root, below);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	mkdir(path, 0755);
	assert_int_equal(stat(path, &status), 0);
	return status.st_ino;
}

static void make_file(const char *root, const char *below, const char *text)
{
	char path[PATH_MAX];
	FILE *file;

	join(path, root, below);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void initial_namespace(const char *root, const char *link)
{
	char path[PATH_MAX];

	make_folder(root, "proc/self/ns");
	join(path, root, "proc/self/ns/pid");
	unlink(path);
	assert_int_equal(symlink(link, path), 0);
}

static int make_root(void **state)
{
	char *root = strdup("/tmp/gpumon-container-XXXXXX");

	if (!root || !mkdtemp(root))
		return -1;
	*state = root;
	return 0;
}

static int remove_root(void **state)
{
	char command[PATH_MAX];

	snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
	free(*state);
	return system(command);
}

static struct gpumon_process *add(struct gpumon_model *model, uint64_t pid, uint64_t cgroup)
{
	struct gpumon_process *process = gpumon_model_add_process(model);

	assert_non_null(process);
	process->pid = gpumon_value_of(pid);
	process->alive = gpumon_value_of(1);
	process->cgroup_id = gpumon_value_of(cgroup);
	return process;
}

static void processes_in_a_tree(void **state)
{
	const char *root = *state;
	struct gpumon_containers *containers;
	struct gpumon_model model = { 0 };
	uint64_t docker, session, top;
	char path[PATH_MAX];

	initial_namespace(root, "pid:[4026531836]");
	docker = make_folder(root, "sys/fs/cgroup/system.slice/docker-" ID ".scope");
	session = make_folder(root, "sys/fs/cgroup/user.slice/session-1.scope");
	top = make_folder(root, "sys/fs/cgroup");
	make_file(root, "sys/fs/cgroup/cgroup.procs", "");
	make_folder(root, "proc/100");
	make_file(root, "proc/100/status", "Name:\tpython3\nNSpid:\t100\t12\t7\nPid:\t100\n");
	make_folder(root, "proc/101");
	make_file(root, "proc/101/status", "Name:\tNSpid: 5\nNSpid:\t101\n");
	make_folder(root, "proc/102");
	make_file(root, "proc/102/status", "Name:\tcut\nNSpid:\t102\tx");
	make_folder(root, "proc/104");
	make_file(root, "proc/104/status", "NSpid:\t104\t1\n");

	add(&model, 100, docker);
	add(&model, 101, session);
	add(&model, 102, top);
	add(&model, 103, docker);		   /* missing in /proc */
	add(&model, 104, 1ULL << 60)->alive.v = 0; /* exited, and so did its cgroup */
	add(&model, 105, 0)->cgroup_id.known = false;

	containers = gpumon_containers_new(root);
	for (int again = 0; again < 2; again++) {
		gpumon_containers_resolve(containers, &model);
		assert_string_equal(model.processes[0].container, "0123456789ab");
		assert_string_equal(model.processes[0].cgroup, "/system.slice/docker-" ID ".scope");
		assert_int_equal(model.processes[0].container_pid.v, 7);
		assert_null(model.processes[1].container);
		assert_string_equal(model.processes[1].cgroup, "/user.slice/session-1.scope");
		assert_int_equal(model.processes[1].container_pid.v, 101);
		assert_string_equal(model.processes[2].cgroup, "/");
		assert_false(model.processes[2].container_pid.known);
		assert_string_equal(model.processes[3].container, "0123456789ab");
		assert_false(model.processes[3].container_pid.known);
		assert_null(model.processes[4].cgroup);
		assert_false(model.processes[4].container_pid.known);
		assert_null(model.processes[5].cgroup);
	}

	/* A known path stays when the cgroup is gone, and needs no new walk. */
	join(path, root, "sys/fs/cgroup/cgroup.procs");
	unlink(path);
	gpumon_containers_resolve(containers, &model);
	assert_string_equal(model.processes[0].container, "0123456789ab");
	gpumon_containers_free(containers);
	gpumon_model_free(&model);
}

static const struct gpumon_cgroup *cgroup_of(const struct gpumon_model *model, uint64_t id)
{
	for (size_t i = 0; i < model->n_cgroups; i++) {
		if (model->cgroups[i].id.v == id)
			return &model->cgroups[i];
	}
	fail_msg("no cgroup %d", (int)id);
	return NULL;
}

static void add_removed(struct gpumon_model *model, uint64_t cgroup)
{
	test_usage_row(model, cgroup,
		       (struct test_usage){ "0000:03:00.0", "gfx", 0, 0, cgroup, 1, 1, 1, 0 });
}

/* Cgroups whose processes were removed from the module's table, with only their ids left. */
static void cgroups_of_removed_processes(void **state)
{
	const char *root = *state;
	struct gpumon_containers *containers;
	struct gpumon_model model = { 0 };
	uint64_t docker;

	initial_namespace(root, "pid:[4026531836]");
	docker = make_folder(root, "sys/fs/cgroup/system.slice/docker-" ID ".scope");
	make_file(root, "sys/fs/cgroup/cgroup.procs", "");
	containers = gpumon_containers_new(root);
	/* The module knew the path of this one, which has no folder any more. */
	add(&model, 100, 1ULL << 60)->cgroup = strdup("/lxc.payload.web");
	gpumon_containers_resolve(containers, &model);
	assert_int_equal(model.n_cgroups, 0);
	gpumon_model_free(&model);

	add_removed(&model, 1ULL << 60);
	add_removed(&model, docker);
	add_removed(&model, docker);
	add_removed(&model, 1ULL << 61);
	for (int again = 0; again < 2; again++) {
		gpumon_containers_resolve(containers, &model);
		assert_int_equal(model.n_cgroups, 3);
		assert_string_equal(cgroup_of(&model, 1ULL << 60)->container, "web");
		assert_string_equal(cgroup_of(&model, 1ULL << 60)->path, "/lxc.payload.web");
		assert_string_equal(cgroup_of(&model, docker)->container, "0123456789ab");
		assert_null(cgroup_of(&model, 1ULL << 61)->path);
	}
	gpumon_containers_free(containers);
	gpumon_model_free(&model);
}

static const struct gpumon_dmem *dmem_of(const struct gpumon_model *model, const char *cgroup,
					 const char *region)
{
	for (size_t i = 0; i < model->n_dmem; i++) {
		if (!strcmp(model->dmem[i].cgroup, cgroup) &&
		    !strcmp(model->dmem[i].region, region))
			return &model->dmem[i];
	}
	fail_msg("no memory of %s in %s", region, cgroup);
	return NULL;
}

#define DOCKER "/system.slice/docker-" ID ".scope"
#define VRAM   "drm/0000:03:00.0/vram0"

/* A container has what its own cgroup is charged, however deep its processes are in it. */
static void device_memory_of_cgroups(void **state)
{
	const char *root = *state;
	struct gpumon_containers *containers;
	struct gpumon_model model = { 0 };
	const struct gpumon_dmem *dmem;

	initial_namespace(root, "pid:[4026531836]");
	add(&model, 100, make_folder(root, "sys/fs/cgroup" DOCKER "/web"));
	make_file(root, "sys/fs/cgroup/cgroup.procs", "");
	add(&model, 101, make_folder(root, "sys/fs/cgroup" DOCKER "/jobs"));
	add(&model, 102, make_folder(root, "sys/fs/cgroup/user.slice"));
	add(&model, 103, make_folder(root, "sys/fs/cgroup/without.slice"));
	/* Another cgroup has this path by now. */
	add(&model, 104, 1ULL << 60)->cgroup = strdup("/again.slice");
	make_folder(root, "sys/fs/cgroup/again.slice");
	make_file(root, "sys/fs/cgroup" DOCKER "/dmem.current",
		  VRAM " 1048576\ndrm/0000:83:00.0/vram0 0\n");
	make_file(root, "sys/fs/cgroup" DOCKER "/web/dmem.current", VRAM " 4096\n");
	make_file(root, "sys/fs/cgroup/user.slice/dmem.current", VRAM " 8192\n");
	make_file(root, "sys/fs/cgroup/again.slice/dmem.current", VRAM " 1\n");

	/* A kernel without the controller has no such file anywhere. */
	containers = gpumon_containers_new(root);
	gpumon_containers_resolve(containers, &model);
	assert_int_equal(model.n_dmem, 0);

	make_file(root, "sys/fs/cgroup/dmem.current", VRAM " 99999999\n");
	for (int again = 0; again < 2; again++) {
		gpumon_containers_resolve(containers, &model);
		assert_int_equal(model.n_dmem, 3);
		dmem = dmem_of(&model, DOCKER, VRAM);
		assert_string_equal(dmem->container, "0123456789ab");
		assert_string_equal(dmem->device, "0000:03:00.0");
		assert_int_equal(dmem->bytes.v, 1048576);
		/* Only the root of the machine has this file. */
		assert_false(dmem->capacity_bytes.known);
		dmem = dmem_of(&model, DOCKER, "drm/0000:83:00.0/vram0");
		assert_true(dmem->bytes.known);
		assert_int_equal(dmem->bytes.v, 0);
		dmem = dmem_of(&model, "/user.slice", VRAM);
		assert_null(dmem->container);
		assert_int_equal(dmem->bytes.v, 8192);
	}
	make_file(root, "sys/fs/cgroup/dmem.capacity",
		  "drm/0000:03:00.0/vram 5\n" VRAM " 17163091968\n");
	gpumon_containers_resolve(containers, &model);
	assert_int_equal(dmem_of(&model, DOCKER, VRAM)->capacity_bytes.v, 17163091968);
	assert_false(dmem_of(&model, DOCKER, "drm/0000:83:00.0/vram0")->capacity_bytes.known);
	gpumon_containers_free(containers);
	gpumon_model_free(&model);
}

/* What is no number is unknown, and what is no line of a region is left out. */
static void device_memory_that_is_none(void **state)
{
	static const struct {
		const char *region;
		struct gpumon_value bytes;
		const char *device;
	} want[] = {
		{ "drm/a/max", { 0 }, "a" },	       { "drm/b/negative", { 0 }, "b" },
		{ "drm/c/huge", { 0 }, "c" },	       { "drm/d/hex", { 0 }, "d" },
		{ "drm//nothing", { 3, true }, NULL }, { "drm/none", { 4, true }, NULL },
		{ "other/e/f", { 5, true }, NULL },    { "two words", { 6, true }, NULL },
		{ "\033[2J", { 7, true }, NULL },      { "drm/g/last", { UINT64_MAX, true }, "g" },
	};
	static const char text[] =
		"drm/a/max max\ndrm/b/negative -1\ndrm/c/huge 18446744073709551616\n"
		"drm/d/hex 0x10\ndrm//nothing 3\ndrm/none 4\nother/e/f 5\ntwo words 6\n"
		"\033[2J 7\n\n\n 8\nnumberless\ndrm/g/last 18446744073709551615";
	const char *root = *state;
	struct gpumon_containers *containers;
	struct gpumon_model model = { 0 };
	char path[PATH_MAX], *large;

	add(&model, 1, make_folder(root, "sys/fs/cgroup/a.slice"));
	make_file(root, "sys/fs/cgroup/cgroup.procs", "");
	make_file(root, "sys/fs/cgroup/dmem.current", "");
	make_file(root, "sys/fs/cgroup/a.slice/dmem.current", text);
	containers = gpumon_containers_new(root);
	gpumon_containers_resolve(containers, &model);
	assert_int_equal(model.n_dmem, sizeof(want) / sizeof(want[0]));
	for (size_t i = 0; i < model.n_dmem; i++) {
		const struct gpumon_dmem *dmem = &model.dmem[i];

		assert_string_equal(dmem->region, want[i].region);
		assert_int_equal(dmem->bytes.known, want[i].bytes.known);
		assert_int_equal(dmem->bytes.v, want[i].bytes.v);
		assert_int_equal(!dmem->device, !want[i].device);
		if (dmem->device)
			assert_string_equal(dmem->device, want[i].device);
	}

	/* Longer than any kernel writes; a link; a folder; a pipe without a writer. */
	large = calloc(1, 300000);
	for (size_t i = 0; i < 299999; i++)
		large[i] = i % 10 == 8 ? ' ' : i % 10 == 9 ? '\n' : '1';
	make_file(root, "sys/fs/cgroup/a.slice/dmem.current", large);
	free(large);
	gpumon_containers_resolve(containers, &model);
	assert_int_equal(model.n_dmem, 0);
	join(path, root, "sys/fs/cgroup/a.slice/dmem.current");
	for (int kind = 0; kind < 3; kind++) {
		remove(path);
		assert_int_equal(kind == 0 ? symlink("../dmem.current", path) :
				 kind == 1 ? mkdir(path, 0755) :
					     mkfifo(path, 0600),
				 0);
		gpumon_containers_resolve(containers, &model);
		assert_int_equal(model.n_dmem, 0);
	}
	gpumon_containers_free(containers);
	gpumon_model_free(&model);
}

/* Version 2 beside version 1: in the hierarchies of version 1 these inodes mean nothing. */
static void beside_version_1(void **state)
{
	const char *root = *state;
	struct gpumon_containers *containers;
	struct gpumon_model model = { 0 };

	initial_namespace(root, "pid:[4026531836]");
	add(&model, 1, make_folder(root, "sys/fs/cgroup/memory/docker/" ID));
	add(&model, 2, make_folder(root, "sys/fs/cgroup/unified/docker/" ID));
	containers = gpumon_containers_new(root);
	gpumon_containers_resolve(containers, &model);
	assert_null(model.processes[1].cgroup);
	gpumon_containers_free(containers);

	make_file(root, "sys/fs/cgroup/unified/cgroup.procs", "");
	containers = gpumon_containers_new(root);
	gpumon_containers_resolve(containers, &model);
	assert_null(model.processes[0].cgroup);
	assert_string_equal(model.processes[1].cgroup, "/docker/" ID);
	gpumon_containers_free(containers);
	gpumon_model_free(&model);
}

/* In a container, /proc has other processes with these pids. */
static void not_the_initial_namespace(void **state)
{
	const char *root = *state;
	struct gpumon_model model = { 0 };

	make_folder(root, "proc/100");
	make_file(root, "proc/100/status", "NSpid:\t100\t7\n");
	add(&model, 100, 1);
	for (int i = 0; i < 2; i++) {
		struct gpumon_containers *containers = gpumon_containers_new(root);

		gpumon_containers_resolve(containers, &model);
		assert_false(model.processes[0].container_pid.known);
		gpumon_containers_free(containers);
		initial_namespace(root, "pid:[4026532198]");
	}
	gpumon_containers_resolve(NULL, &model);
	gpumon_model_free(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_containers),
		cmocka_unit_test_setup_teardown(processes_in_a_tree, make_root, remove_root),
		cmocka_unit_test_setup_teardown(cgroups_of_removed_processes, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(device_memory_of_cgroups, make_root, remove_root),
		cmocka_unit_test_setup_teardown(device_memory_that_is_none, make_root, remove_root),
		cmocka_unit_test_setup_teardown(beside_version_1, make_root, remove_root),
		cmocka_unit_test_setup_teardown(not_the_initial_namespace, make_root, remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
