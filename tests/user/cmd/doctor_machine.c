// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor_machine.h"
#include "lib/version.h"

char machine_root[64];
const struct gpumon_info *machine_module;

char *machine_place(const char *path)
{
	char *full;

	assert_true(asprintf(&full, "%s%s", machine_root, path) > 0);
	for (char *p = full + strlen(machine_root) + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		assert_true(!mkdir(full, 0755) || errno == EEXIST);
		*p = '/';
	}
	return full;
}

void machine_put_bytes(const char *path, const void *bytes, size_t len)
{
	char *full = machine_place(path);
	FILE *file = fopen(full, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	fclose(file);
	free(full);
}

void machine_put(const char *path, const char *text)
{
	machine_put_bytes(path, text, strlen(text));
}

void machine_put_link(const char *path, const char *target)
{
	char *full = machine_place(path);

	unlink(full);
	assert_int_equal(symlink(target, full), 0);
	free(full);
}

void machine_put_folder(const char *path)
{
	char *full = machine_place(path);

	assert_true(!mkdir(full, 0755) || errno == EEXIST);
	free(full);
}

void machine_take_away(const char *path)
{
	char command[512];

	snprintf(command, sizeof(command), "rm -rf %s%s", machine_root, path);
	assert_int_equal(system(command), 0);
}

int machine_setup(void **state)
{
	static const unsigned short btf = 0xeb9f;

	(void)state;
	strcpy(machine_root, "/tmp/gpumon-doctor-XXXXXX");
	if (!mkdtemp(machine_root))
		return -1;
	machine_put("/proc/sys/kernel/osrelease", MACHINE_RELEASE "\n");
	machine_put("/proc/self/mounts",
		    "sysfs /sys sysfs rw 0 0\nnone /sys/kernel/debug debugfs rw 0 0\n");
	machine_put("/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n");
	machine_put_link("/proc/self/ns/user", "user:[4026531837]");
	machine_put_link("/proc/self/ns/net", "net:[4026531840]");
	machine_put_link("/proc/1/ns/net", "net:[4026531840]");
	machine_put_bytes("/sys/kernel/btf/vmlinux", &btf, sizeof(btf));
	machine_put("/sys/kernel/debug/kprobes/enabled", "1\n");
	machine_put("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
	machine_put("/boot/config-" MACHINE_RELEASE, MACHINE_CONFIG);
	machine_put("/lib/modules/" MACHINE_RELEASE "/modules.dep",
		    "kernel/drivers/gpu/drm/scheduler/gpu-sched.ko: kernel/drivers/gpu/drm/drm.ko\n"
		    "updates/dkms/gpumon.ko:\n");
	machine_put("/lib/modules/" MACHINE_RELEASE "/modules.builtin", "kernel/fs/ext4/ext4.ko\n");
	machine_put("/sys/module/gpu_sched/initstate", "live\n");
	machine_put("/sys/module/gpumon/version", GPUMON_VERSION "\n");
	return 0;
}

int machine_teardown(void **state)
{
	(void)state;
	machine_take_away("");
	return 0;
}

struct gpumon_doctor machine_look(void)
{
	struct gpumon_doctor doctor = { .root = machine_root, .module = machine_module };

	gpumon_doctor_machine(&doctor);
	gpumon_doctor_module(&doctor);
	gpumon_doctor_cuda(&doctor);
	return doctor;
}

const struct gpumon_doctor_check *machine_find_if_there(const struct gpumon_doctor *doctor,
							const char *name)
{
	for (size_t i = 0; i < doctor->n_checks; i++) {
		if (!strcmp(doctor->checks[i].name, name))
			return &doctor->checks[i];
	}
	return NULL;
}

const struct gpumon_doctor_check *machine_find(const struct gpumon_doctor *doctor, const char *name)
{
	const struct gpumon_doctor_check *check = machine_find_if_there(doctor, name);

	if (!check)
		fail_msg("no check \"%s\"", name);
	return check;
}

void machine_expect(const char *name, enum gpumon_doctor_level level, const char *piece)
{
	struct gpumon_doctor doctor = machine_look();
	const struct gpumon_doctor_check *check = machine_find(&doctor, name);

	if (check->level != level || !strstr(check->message, piece))
		fail_msg("%s: level %d, \"%s\"", name, check->level, check->message);
	/* Every failure must come with a remedy. */
	if (level == GPUMON_DOCTOR_FAIL)
		assert_non_null(check->advice);
	gpumon_doctor_free(&doctor);
}

void machine_expect_advice(const char *name, const char *piece)
{
	struct gpumon_doctor doctor = machine_look();
	const struct gpumon_doctor_check *check = machine_find(&doctor, name);

	if (check->level != GPUMON_DOCTOR_WARN || !check->advice || !strstr(check->advice, piece))
		fail_msg("%s: level %d, \"%s\", advice \"%s\"", name, check->level, check->message,
			 check->advice ? check->advice : "");
	gpumon_doctor_free(&doctor);
}
