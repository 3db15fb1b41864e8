// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Attaching to processes: what a sandbox's filter says, and which control group a container has. */
#include "common.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/attach_group.h"
#include "record/attach_seccomp.h"

#define ALLOW SECCOMP_RET_ALLOW
#define KILL  SECCOMP_RET_KILL_PROCESS

static uint32_t run(const struct sock_filter *filter, size_t count, int number, uint64_t first)
{
	struct seccomp_data data = { .nr = number, .args = { first } };
	uint32_t result = 1;

	return gpumon_seccomp_run(filter, count, &data, &result) ? result : 1;
}

static void jumps_and_arguments(void **state)
{
	const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 100, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 9, 0, 1),
		BPF_STMT(BPF_JMP | BPF_JA, 2),
		BPF_STMT(BPF_RET | BPF_K, ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		/* The lower half of the first argument must have no bit of 6. */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 6),
		BPF_STMT(BPF_ST, 3),
		BPF_STMT(BPF_LDX | BPF_MEM, 3),
		BPF_STMT(BPF_MISC | BPF_TXA, 0),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 6, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, KILL),
		BPF_STMT(BPF_RET | BPF_K, ALLOW),
	};
	const size_t count = sizeof(filter) / sizeof(filter[0]);

	(void)state;
	assert_int_equal(run(filter, count, 8, 0), ALLOW);
	assert_int_equal(run(filter, count, 100, 0), SECCOMP_RET_ERRNO | EPERM);
	assert_int_equal(run(filter, count, 9, 0xfffffff9), ALLOW);
	assert_int_equal(run(filter, count, 9, 2), KILL);
	/* Cut off anywhere, it has no result, or one of its own. */
	for (size_t cut = 0; cut < count - 1; cut++)
		(void)run(filter, cut, 9, 2);
	assert_int_equal(run(filter, count - 2, 9, 2), 1);
}

static void bad_filters_have_no_result(void **state)
{
	const struct sock_filter bad[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2),
		BPF_STMT(BPF_LD | BPF_MEM, 16),		BPF_STMT(BPF_ST, 16),
		BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 0),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct sock_filter filter[] = { bad[i] };

		assert_int_equal(run(filter, 1, 0, 0), 1);
	}
}

/* --- containers */

#define FIRST  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SECOND "0123456789abffff0123456789abcdef0123456789abcdef0123456789abcdef"
#define THIRD  "feedfeedfeed0000000000000000000000000000000000000000000000000000"

static char root[64];

static void make_group(const char *path)
{
	char whole[512], *at;
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/sys/fs/cgroup/%s/cgroup.procs", root, path);
	for (at = strchr(whole + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(whole, 0755);
		*at = '/';
	}
	file = fopen(whole, "w");
	assert_non_null(file);
	fclose(file);
}

static int make_groups(void **state)
{
	char top[128];

	(void)state;
	snprintf(root, sizeof(root), "/tmp/gpumon-attach-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(top, sizeof(top), "%s/sys", root);
	if (mkdir(top, 0755))
		return -1;
	make_group("system.slice/docker-" FIRST ".scope/inner");
	make_group("system.slice/docker-" FIRST ".scope");
	make_group("machine.slice/libpod-" SECOND ".scope");
	make_group("machine.slice/libpod-conmon-" THIRD ".scope");
	make_group("kubepods.slice/pod7/crio-" THIRD);
	return 0;
}

static int remove_groups(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static const char *find(const char *id)
{
	static char path[PATH_MAX];
	static struct gpumon_error err;

	if (gpumon_group_of_container(root, id, path, &err))
		return err.message;
	return path + strlen(root);
}

static void containers_by_their_begin(void **state)
{
	(void)state;
	assert_string_equal(find("0123456789abc"),
			    "/sys/fs/cgroup/system.slice/docker-" FIRST ".scope");
	assert_string_equal(find(SECOND), "/sys/fs/cgroup/machine.slice/libpod-" SECOND ".scope");
	/* Not its monitor, which is outside of it. */
	assert_string_equal(find("feedfeed"), "/sys/fs/cgroup/kubepods.slice/pod7/crio-" THIRD);
	assert_non_null(strstr(find("0123456789ab"), "several containers begin with 0123456789ab"));
	assert_non_null(strstr(find("aaaaaaaa"), "no container aaaaaaaa"));
	assert_non_null(strstr(find("0123"), "is no id of a container"));
	assert_non_null(strstr(find("my-server"), "is no id of a container"));
}

static void groups_by_their_path(void **state)
{
	static const char inside[] = "/sys/fs/cgroup/kubepods.slice/pod7/crio-" THIRD;
	struct gpumon_error err;
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(gpumon_group_find(root, inside, path, &err), 0);
	assert_string_equal(path + strlen(root), inside);
	assert_int_equal(gpumon_group_find(root, inside + strlen("/sys/fs/cgroup"), path, &err), 0);
	assert_string_equal(path + strlen(root), inside);
	assert_int_equal(gpumon_group_find(root, inside + strlen("/sys/fs/cgroup/"), path, &err),
			 0);
	assert_int_equal(gpumon_group_find(root, "system.slice", path, &err), -1);
	assert_int_equal(err.sys, -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jumps_and_arguments),
		cmocka_unit_test(bad_filters_have_no_result),
		cmocka_unit_test(containers_by_their_begin),
		cmocka_unit_test(groups_by_their_path),
	};

	return cmocka_run_group_tests_name("attach", tests, make_groups, remove_groups);
}
