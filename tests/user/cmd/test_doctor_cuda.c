// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Checks of the doctor for CUDA programs and "record". */
#include <stdlib.h>

#include "doctor_machine.h"

#define VERSION "/proc/driver/nvidia/version"
#define CUDA	"/usr/lib/x86_64-linux-gnu/libcuda.so.1"
#define CUPTI	"/usr/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.12"
#define SCOPE	"/proc/sys/kernel/yama/ptrace_scope"

static void put_driver(const char *version)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "NVRM version: NVIDIA UNIX x86_64 Kernel Module  %s  Thu Jun 12 2025\n"
		 "GCC version:  gcc version 12.2.0\n",
		 version);
	machine_put(VERSION, text);
}

static void no_driver(void **state)
{
	struct gpumon_doctor doctor;

	(void)state;
	machine_expect("cuda", GPUMON_DOCTOR_OK, "not loaded");
	doctor = machine_look();
	/* Not needed in this case. */
	assert_null(machine_find_if_there(&doctor, "cupti"));
	gpumon_doctor_free(&doctor);
}

static void drivers(void **state)
{
	(void)state;
	put_driver("535.183.01");
	machine_expect("cuda", GPUMON_DOCTOR_WARN, "libcuda.so.1");
	machine_put(CUDA, "");
	machine_expect("cuda", GPUMON_DOCTOR_OK, "535.183.01");
	machine_expect("cuda", GPUMON_DOCTOR_OK, CUDA);
	put_driver("470.82.01");
	machine_expect("cuda", GPUMON_DOCTOR_WARN, "no CUDA 12");
	/* The text of the open modules has other words before the version. */
	machine_put(
		VERSION,
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release\n");
	machine_expect("cuda", GPUMON_DOCTOR_OK, "580.65.06");
	machine_put(VERSION, "nothing that is known\n");
	machine_expect("cuda", GPUMON_DOCTOR_OK, "unknown version");
	machine_put(VERSION, "");
	machine_expect("cuda", GPUMON_DOCTOR_OK, "unknown version");
}

/* Where the library is elsewhere, or the driver has no version in /proc. */
static void other_places(void **state)
{
	static const char *const places[] = {
		"/run/opengl-driver/lib/libcuda.so.1",
		"/usr/local/nvidia/lib64/libcuda.so.1",
		"/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1",
		"/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.1",
	};

	(void)state;
	put_driver("550.163.01");
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		machine_put(places[i], "");
		machine_expect("cuda", GPUMON_DOCTOR_OK, places[i]);
		machine_expect("apis", GPUMON_DOCTOR_OK, "CUDA can be recorded");
		machine_take_away(places[i]);
	}
	machine_expect("cuda", GPUMON_DOCTOR_WARN, "libcuda.so.1");
	machine_take_away(VERSION);
	/* The library of a package or container alone. */
	machine_put(places[0], "");
	machine_expect("cuda", GPUMON_DOCTOR_OK, "CUDA has no GPU here");
	machine_expect("apis", GPUMON_DOCTOR_OK, "nothing to record");
	machine_put("/dev/nvhost-gpu", "");
	machine_expect("cuda", GPUMON_DOCTOR_OK, "version is not in /proc");
	machine_expect("cupti", GPUMON_DOCTOR_WARN, "none of the usual folders");
	machine_take_away(places[0]);
	machine_expect("cuda", GPUMON_DOCTOR_WARN, "programs do not find CUDA");
}

#define WSL "/usr/lib/wsl/lib/libcuda.so.1"

static void windows_has_the_driver(void **state)
{
	(void)state;
	machine_put("/dev/dxg", "");
	machine_expect("cuda", GPUMON_DOCTOR_OK, "no program uses CUDA here");
	machine_put(CUDA, "");
	machine_expect("cuda", GPUMON_DOCTOR_OK, "WSL2, " CUDA);
	machine_put(WSL, "");
	machine_expect("cuda", GPUMON_DOCTOR_OK, "WSL2, " WSL);
	machine_expect("cupti", GPUMON_DOCTOR_WARN, "none of the usual folders");
	machine_expect("apis", GPUMON_DOCTOR_OK, "CUDA can be recorded");
	machine_take_away("/dev/dxg");
	machine_expect("cuda", GPUMON_DOCTOR_OK, WSL "; no /dev/dxg");
}

static void cupti(void **state)
{
	(void)state;
	put_driver("535.183.01");
	machine_expect("cupti", GPUMON_DOCTOR_WARN, "none of the usual folders");
	/* CUDA 11's CUPTI is too old. */
	machine_put("/usr/local/cuda-11.8/extras/CUPTI/lib64/libcupti.so.11.8", "");
	machine_expect("cupti", GPUMON_DOCTOR_WARN, "none of the usual folders");
	machine_put(CUPTI, "");
	machine_expect("cupti", GPUMON_DOCTOR_OK, CUPTI);
	setenv("GPUMON_CUPTI", "/opt/libcupti.so", 1);
	machine_expect("cupti", GPUMON_DOCTOR_WARN, "/opt/libcupti.so, which is not there");
	machine_put("/opt/libcupti.so", "");
	machine_expect("cupti", GPUMON_DOCTOR_OK, "GPUMON_CUPTI");
	machine_expect("gpu-metrics", GPUMON_DOCTOR_WARN, "beside /opt/libcupti.so");
	machine_put("/opt/libnvperf_host.so", "");
	machine_expect("gpu-metrics", GPUMON_DOCTOR_OK, "/opt/libnvperf_host.so");
	unsetenv("GPUMON_CUPTI");
}

#define PARAMS "/proc/driver/nvidia/params"

static void who_may_sample(void **state)
{
	struct gpumon_doctor doctor;

	(void)state;
	put_driver("580.65.06");
	machine_put(CUDA, "");
	doctor = machine_look();
	assert_null(machine_find_if_there(&doctor, "counters"));
	gpumon_doctor_free(&doctor);
	machine_put(PARAMS, "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0\n");
	machine_expect("counters", GPUMON_DOCTOR_OK, "all users");
	machine_put(PARAMS, "RmProfilingAdminOnly: 1\nDmaRemapPeerMmio: 1\n");
	machine_put("/proc/self/status", "CapEff:\t0000000000000000\n");
	machine_expect("counters", GPUMON_DOCTOR_WARN, "only root");
	machine_put("/proc/self/status", "CapEff:\t0000000000200000\n");
	machine_expect("counters", GPUMON_DOCTOR_OK, "--run-as root");
}

static void opencl(void **state)
{
	(void)state;
	machine_expect("opencl", GPUMON_DOCTOR_OK, "no program uses OpenCL");
	machine_put("/usr/lib64/libOpenCL.so.1", "OCL_ICD_VENDORS");
	machine_expect("opencl", GPUMON_DOCTOR_WARN, "/usr/lib64/libOpenCL.so.1 has no layers");
	machine_put("/usr/lib64/libOpenCL.so.1", "OCL_ICD_VENDORS OPENCL_LAYERS");
	machine_expect("opencl", GPUMON_DOCTOR_OK, "/usr/lib64/libOpenCL.so.1");
	machine_put("/usr/lib64/libOpenCL.so.1", "");
	machine_expect("opencl", GPUMON_DOCTOR_WARN, "no layers");
}

static void opengl(void **state)
{
	(void)state;
	machine_expect("opengl", GPUMON_DOCTOR_OK, "no program presents with OpenGL");
	machine_put("/usr/lib64/libGL.so.1", "");
	machine_expect("opengl", GPUMON_DOCTOR_OK,
		       "/usr/lib64/libGL.so.1: \"record --gl\" records");
}

static void vulkan(void **state)
{
	(void)state;
	unsetenv("VK_LAYER_PATH");
	machine_expect("vulkan", GPUMON_DOCTOR_OK, "no program uses Vulkan");
	machine_put("/usr/lib64/libvulkan.so.1", "VK_LAYER_PATH");
	machine_expect("vulkan", GPUMON_DOCTOR_WARN, "/usr/lib64/libvulkan.so.1 does not know");
	machine_put("/usr/lib64/libvulkan.so.1", "VK_LAYER_PATH VK_ADD_LAYER_PATH");
	machine_expect("vulkan", GPUMON_DOCTOR_OK, "/usr/lib64/libvulkan.so.1");
}

#define ZE "/usr/lib/x86_64-linux-gnu/libze_"

static void level_zero(void **state)
{
	(void)state;
	machine_put(ZE "loader.so.1", "zelTracerCreate");
	machine_expect("level-zero", GPUMON_DOCTOR_OK, "no program uses Level Zero");
	machine_put(ZE "intel_gpu.so.1", "");
	machine_expect("level-zero", GPUMON_DOCTOR_WARN, ZE "loader.so.1 has no tracing layer");
	machine_put(ZE "tracing_layer.so.1", "");
	machine_expect("level-zero", GPUMON_DOCTOR_OK, ZE "loader.so.1");
	machine_put(ZE "loader.so.1", "zeInit");
	machine_expect("level-zero", GPUMON_DOCTOR_WARN, "no tracing layer");
}

#define HIP "/usr/lib/x86_64-linux-gnu/libamdhip64.so."

static void hip(void **state)
{
	(void)state;
	machine_expect("hip", GPUMON_DOCTOR_OK, "no libamdhip64");
	machine_put(HIP "5.2.21153", "hipRegisterApiCallback");
	machine_put_link(HIP "5", "libamdhip64.so.5.2.21153");
	machine_expect("hip", GPUMON_DOCTOR_WARN, "(version 5.2) has no hipRegisterTracerCallback");
	machine_expect_advice("hip", "5.4");
	/* The newest counts. */
	machine_put(HIP "6.4.43484", "hipRegisterTracerCallback");
	machine_expect("hip", GPUMON_DOCTOR_OK, "(version 6.4); no /dev/kfd");
	machine_put("/dev/kfd", "");
	machine_expect("hip", GPUMON_DOCTOR_OK, HIP "6.4.43484 (version 6.4)");
	machine_take_away("/usr/lib/x86_64-linux-gnu");
	machine_put("/opt/rocm-9.1/lib/libamdhip64.so.9.1.0", "hipRegisterTracerCallback");
	machine_expect(
		"hip", GPUMON_DOCTOR_WARN,
		"gpumon does not know version 9.1 of /opt/rocm-9.1/lib/libamdhip64.so.9.1.0");
	machine_take_away("/opt/rocm-9.1");
	machine_put("/usr/lib64/libamdhip64.so.6", "hipRegisterTracerCallback");
	machine_expect("hip", GPUMON_DOCTOR_OK, "/usr/lib64/libamdhip64.so.6 (version unknown)");
}

static void ptrace_scope(void **state)
{
	struct gpumon_doctor doctor = machine_look();

	(void)state;
	assert_null(machine_find_if_there(&doctor, "ptrace"));
	gpumon_doctor_free(&doctor);
	machine_put(SCOPE, "0\n");
	machine_expect("ptrace", GPUMON_DOCTOR_OK, "scope 0");
	machine_put(SCOPE, "1\n");
	machine_expect("ptrace", GPUMON_DOCTOR_OK, "scope 1");
	machine_put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000001000\n");
	machine_expect("ptrace", GPUMON_DOCTOR_WARN, "did not start");
	machine_put("/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
	machine_put(SCOPE, "3\n");
	machine_expect("ptrace", GPUMON_DOCTOR_WARN, "until the next boot");
}

/* A kernel without modules where everything works with BPF: no failure, exit status 0. */
static void all_by_bpf(void **state)
{
	const struct gpumon_error module = { .code = GPUMON_ERROR_NOT_LOADED,
					     .message = "no such family" };
	const struct gpumon_error bpf = { .code = GPUMON_ERROR_PERMISSION,
					  .message = "CAP_BPF is missing" };
	struct gpumon_doctor doctor;

	(void)state;
	machine_put("/boot/config-" MACHINE_RELEASE,
		    "CONFIG_64BIT=y\nCONFIG_TRACEPOINTS=y\nCONFIG_BPF_SYSCALL=y\n"
		    "# CONFIG_MODULES is not set\n");
	machine_take_away("/lib/modules");
	machine_take_away("/sys/module/gpumon");
	doctor = machine_look();
	assert_int_equal(machine_find(&doctor, "CONFIG_MODULES")->level, GPUMON_DOCTOR_FAIL);
	gpumon_doctor_source(&doctor, &module, NULL);
	for (size_t i = 0; i < doctor.n_checks; i++) {
		if (doctor.checks[i].level == GPUMON_DOCTOR_FAIL)
			fail_msg("%s: %s", doctor.checks[i].name, doctor.checks[i].message);
	}
	assert_int_equal(machine_find(&doctor, "CONFIG_MODULES")->level, GPUMON_DOCTOR_WARN);
	gpumon_doctor_free(&doctor);
	doctor = machine_look();
	gpumon_doctor_source(&doctor, &module, &bpf);
	assert_int_equal(machine_find(&doctor, "CONFIG_MODULES")->level, GPUMON_DOCTOR_FAIL);
	gpumon_doctor_free(&doctor);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, machine_setup, machine_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_driver),
		TEST(drivers),
		TEST(other_places),
		TEST(windows_has_the_driver),
		TEST(cupti),
		TEST(opencl),
		TEST(vulkan),
		TEST(opengl),
		TEST(who_may_sample),
		TEST(level_zero),
		TEST(hip),
		TEST(ptrace_scope),
		TEST(all_by_bpf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
