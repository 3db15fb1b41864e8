// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Any bytes as files of /proc and /sys: all functions that look up a process, its threads, maps and
 * container, the GPUs or the machine read them below a root of their own. An input is a series of
 * files: a byte for the name, two bytes of length, and the contents.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/bpf.h"
#include "driver/bpf_fill.h"
#include "driver/container.h"
#include "cmd/doctor.h"
#include "fuzz.h"
#include "driver/json_model.h"
#include "record/dormant.h"
#include "lib/process_info.h"
#include "record/uprobe_internal.h"
#include "record/uprobe_process.h"

#define PID 7

static const char *const folders[] = {
	"proc",
	"proc/7",
	"proc/self",
	"proc/7/task",
	"proc/7/task/7",
	"proc/7/task/8",
	"proc/7/ns",
	"proc/7/net",
	"proc/self/ns",
	"proc/driver",
	"proc/driver/nvidia",
	"proc/driver/nvidia/gpus",
	"proc/driver/nvidia/gpus/0000:01:00.0",
	"proc/sys",
	"proc/sys/kernel",
	"proc/sys/kernel/random",
	"sys",
	"sys/fs",
	"sys/fs/cgroup",
	"proc/7/root",
};

static const char *const files[] = {
	"proc/7/stat",
	"proc/7/status",
	"proc/7/cmdline",
	"proc/7/environ",
	"proc/7/cgroup",
	"proc/7/maps",
	"proc/7/comm",
	"proc/7/net/unix",
	"proc/7/task/7/stat",
	"proc/7/task/8/stat",
	"proc/self/status",
	"proc/self/uid_map",
	"proc/self/mounts",
	"proc/devices",
	"proc/modules",
	"proc/driver/nvidia/version",
	"proc/driver/nvidia/gpus/0000:01:00.0/information",
	"proc/sys/kernel/random/boot_id",
	"proc/sys/kernel/osrelease",
	"proc/sys/kernel/modules_disabled",
};

#define N_FILES (sizeof(files) / sizeof(files[0]))

static void set_up(void)
{
	static bool made;

	for (size_t i = 0; !made && i < sizeof(folders) / sizeof(folders[0]); i++)
		fuzz_folder_make(folders[i]);
	if (!made) {
		/* As in the initial pid namespace, or nothing would be looked up. */
		MUST(!symlink("pid:[4026531836]", fuzz_path("proc/self/ns/pid")));
		fuzz_write(fuzz_path("sys/fs/cgroup/cgroup.procs"), "", 0);
	}
	made = true;
	for (size_t i = 0; i < N_FILES; i++)
		unlink(fuzz_path("%s", files[i]));
}

static bool ends(const char *text, size_t room)
{
	return strnlen(text, room) < room;
}

static void look_at_process(const char *root)
{
	struct gpumon_process_info info;
	uint8_t boot_id[16];
	pid_t process;
	uid_t uid;

	gpumon_process_info_read(&info, root, PID);
	MUST(ends(info.executable, sizeof(info.executable)));
	MUST(ends(info.command, sizeof(info.command)));
	MUST(ends(info.cgroup, sizeof(info.cgroup)));
	gpumon_boot_id_read(boot_id, root);
	MUST(!gpumon_process_owner(root, PID, &uid));
	MUST(gpumon_process_kind(root, PID, &process) <= GPUMON_PROCESS_ENDED);
	gpumon_initial_pid_namespace(root);
	gpumon_process_of_thread(root, PID);
	gpumon_process_inner_pid(root, PID);
	gpumon_process_inner_parent(root, PID, PID);
	gpumon_process_thread_lives(root, PID, 8);
	gpumon_process_living_thread(root, PID);
}

static void look_at_maps(const char *root)
{
	struct gpumon_uprobe_process process = { .pid = PID, .root = root };
	struct gpumon_error err;

	/* Twice, with the same result. */
	for (int i = 0; i < 2; i++) {
		if (gpumon_uprobe_process_scan(&process, &err)) {
			MUST(err.message[0]);
			break;
		}
		for (unsigned int k = 0; k < process.map_count; k++) {
			const struct gpumon_uprobe_map *map = &process.maps[k];

			gpumon_uprobe_process_map(&process, map->start);
			gpumon_uprobe_process_map(&process, map->end);
			MUST(!map->file || ends(map->file->why, sizeof(map->file->why)));
		}
	}
	gpumon_uprobe_process_free(&process);
}

static void look_at_containers(const char *root)
{
	struct gpumon_containers *containers = gpumon_containers_new(root);
	struct gpumon_model model = { 0 };
	struct gpumon_process *process = gpumon_model_add_process(&model);
	struct stat status;

	MUST(containers && process && !stat(fuzz_path("sys/fs/cgroup"), &status));
	process->pid = gpumon_value_of(PID);
	process->alive = gpumon_value_of(1);
	process->cgroup_id = gpumon_value_of(status.st_ino);
	gpumon_containers_resolve(containers, &model);
	MUST(process->cgroup && !strcmp(process->cgroup, "/"));
	gpumon_containers_free(containers);
	gpumon_model_free(&model);
}

static void look_at_machine(const char *root)
{
	struct gpumon_source_gpus gpus;
	struct gpumon_doctor doctor = { .root = root };
	struct fuzz_stream stream;

	gpumon_source_gpus(root, &gpus);
	for (unsigned int i = 0; i < GPUMON_SOURCE_GPUS; i++)
		MUST(ends(gpus.name[i], sizeof(gpus.name[i])));
	gpumon_source_major(root, SOURCE_NVIDIA);
	gpumon_source_major(root, SOURCE_NVIDIA_UVM);
	gpumon_bpf_capable(root);
	gpumon_initial_user_namespace(root);
	gpumon_doctor_machine(&doctor);
	gpumon_doctor_module(&doctor);
	fuzz_stream_begin(&stream);
	MUST(!gpumon_json_print(gpumon_doctor_json(&doctor), true, stream.stream));
	fuzz_stream_end(&stream);
	json_object_put(fuzz_json(stream.data, stream.size));
	fuzz_stream_free(&stream);
	gpumon_doctor_free(&doctor);
}

static void look_at_names(const char *root, const uint8_t *data, size_t size)
{
	char name[64], *path = malloc(size + 1);
	struct gpumon_error err;
	int socket;

	MUST(path);
	memcpy(path, data, size);
	path[size] = '\0';
	gpumon_container_name(path, name, sizeof(name));
	MUST(ends(name, sizeof(name)));
	gpumon_process_rank(path, size);
	free(path);
	/* Nobody listens. The error is a sentence. */
	MUST(gpumon_dormant_connect(root, PID, &socket, &err) && socket < 0 && err.message[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	const char *root = fuzz_folder();

	set_up();
	while (input.size > 3) {
		uint8_t which = fuzz_u8(&input) % N_FILES;
		size_t n;
		uint8_t *bytes = fuzz_bytes(&input, fuzz_u16(&input), &n);

		fuzz_write(fuzz_path("%s", files[which]), bytes, n);
		look_at_names(root, bytes, n);
		free(bytes);
	}
	look_at_process(root);
	look_at_maps(root);
	look_at_containers(root);
	look_at_machine(root);
	return 0;
}
