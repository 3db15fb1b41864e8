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

		gpumon_container_name(cases[i].path, name, sizeof(name));
		assert_string_equal(name, cases[i].name);
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
		cmocka_unit_test_setup_teardown(beside_version_1, make_root, remove_root),
		cmocka_unit_test_setup_teardown(not_the_initial_namespace, make_root, remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
