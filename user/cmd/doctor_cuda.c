// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The requirements of "record": the injection library, NVIDIA's driver, CUPTI, the loaders of OpenCL and
 * Level Zero, HIP's library, and access to other processes.
 */
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "lib/api_loader.h"
#include "lib/launch.h"
#include "record/uprobe.h"

/* The first driver with CUDA 12, which the oldest supported CUPTI belongs to. */
#define DRIVER_MIN	   525
#define CAP_SYS_PTRACE_BIT 19
#define CAP_SYS_ADMIN_BIT  21

/*
 * Find the first file that matches a pattern below the root. Returns it without the root; false if
 * there is none.
 */
static bool find_file(const struct gpumon_doctor *doctor, const char *const *patterns, size_t n,
		      char *found, size_t len)
{
	bool there = false;

	for (size_t i = 0; i < n && !there; i++) {
		char pattern[PATH_MAX];
		glob_t files;

		if ((size_t)snprintf(pattern, sizeof(pattern), "%s%s", doctor->root, patterns[i]) >=
		    sizeof(pattern))
			continue;
		there = !glob(pattern, 0, NULL, &files);
		if (there)
			snprintf(found, len, "%s", files.gl_pathv[0] + strlen(doctor->root));
		globfree(&files);
	}
	return there;
}

/* The APIs that "record" sees, of those for which there are drivers. */
static unsigned int check_library(struct gpumon_doctor *doctor, unsigned int of_machine)
{
	char names[GPUMON_API_TEXT_LEN], lacking[GPUMON_API_TEXT_LEN];
	char headers[GPUMON_API_TEXT_LEN], remedy[GPUMON_API_TEXT_LEN + 64];
	unsigned int apis, lacks;
	struct gpumon_error err;
	char path[PATH_MAX];

	/* The library is beside this program, whichever root is checked. */
	if (*doctor->root)
		return of_machine;
	if (gpumon_launch_find_library(path, &err)) {
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_FAIL, "inject", NULL,
				  "\"record\" does not work: %s", err.message);
		return 0;
	}
	apis = gpumon_api_of_library(path);
	lacks = of_machine & ~apis;
	gpumon_api_names(apis, "and", names);
	if (!lacks) {
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "inject", NULL, "%s, with %s", path,
				  names);
		return of_machine;
	}
	snprintf(remedy, sizeof(remedy), "install %s, then make inject",
		 gpumon_api_headers(lacks, headers));
	gpumon_doctor_add(
		doctor, GPUMON_DOCTOR_WARN, "inject", remedy,
		"%s was built with %s, and without %s, for which there is a driver: \"record\" does not see what programs do with it",
		path, names, gpumon_api_names(lacks, "and", lacking));
	return of_machine & apis;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module 535.183.01 ...": the first number with a dot. */
static unsigned int driver_version(const char *text, char *version, size_t len)
{
	for (const char *at = text; *at && *at != '\n'; at += strcspn(at, "\n ")) {
		size_t length;

		at += strspn(at, " ");
		length = strspn(at, "0123456789.");
		if (!length || length >= len || !memchr(at, '.', length))
			continue;
		memcpy(version, at, length);
		version[length] = '\0';
		return (unsigned int)atoi(version);
	}
	return 0;
}

/* NVIDIA's module is loaded. False: programs cannot be recorded with it. */
static bool check_loaded_driver(struct gpumon_doctor *doctor, const char *library)
{
	char text[512], version[32];
	unsigned int major;

	gpumon_doctor_read(doctor, "/proc/driver/nvidia/version", text, sizeof(text));
	major = driver_version(text, version, sizeof(version));
	if (major && major < DRIVER_MIN) {
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_WARN, "cuda", "use a newer driver",
				  "driver %s has no CUDA 12: \"record\" sees nothing of the GPU",
				  version);
		return false;
	}
	gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "cuda", NULL, "driver %s, %s",
			  major ? version : "of an unknown version", library);
	return true;
}

/* False: there is no CUDA that can be recorded. */
static bool check_driver(struct gpumon_doctor *doctor)
{
	char library[PATH_MAX];
	enum gpumon_cuda_driver driver = gpumon_cuda_driver(doctor->root, library);

	switch (driver) {
	case GPUMON_CUDA_NONE:
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "cuda", NULL,
				  "NVIDIA's driver is not loaded: no program uses CUDA here");
		return false;
	case GPUMON_CUDA_LIBRARY:
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_OK, "cuda", NULL,
			"%s; NVIDIA's driver is not loaded, so CUDA has no GPU here, and nothing of it is recorded",
			library);
		return false;
	case GPUMON_CUDA_WSL:
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_OK, "cuda", NULL, "WSL2, %s%s", library,
			gpumon_doctor_exists(doctor, "/dev/dxg") ?
				"" :
				"; no /dev/dxg, so CUDA has no GPU here, and nothing of it is recorded");
		return true;
	case GPUMON_CUDA_LOADED:
	case GPUMON_CUDA_DEVICE:
		break;
	}
	if (!*library) {
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_WARN, "cuda",
			"install the driver's libraries of the same version; containers get them from the host",
			"libcuda.so.1 is in none of the usual folders: programs do not find CUDA");
		return true;
	}
	if (driver == GPUMON_CUDA_LOADED)
		return check_loaded_driver(doctor, library);
	gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "cuda", NULL,
			  "%s, with a driver whose version is not in /proc", library);
	return true;
}

/* What CUPTI needs for metrics: a library beside it. */
static void check_metrics(struct gpumon_doctor *doctor, const char *cupti)
{
	const char *slash = strrchr(cupti, '/');
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%.*slibnvperf_host.so", slash ? (int)(slash + 1 - cupti) : 0,
		 cupti);
	if (gpumon_doctor_exists(doctor, path))
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "gpu-metrics", NULL, "%s", path);
	else
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_WARN, "gpu-metrics",
			"install all of CUPTI's package, of CUDA 12.6 or newer; all else does without",
			"there is no libnvperf_host.so beside %s: with this CUPTI \"record --gpu-metrics\" has no metrics",
			cupti);
}

static void check_cupti(struct gpumon_doctor *doctor)
{
	static const char *const places[] = {
		"/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1[23]*",
		"/usr/local/cuda*/targets/*/lib/libcupti.so.1[23]*",
		"/usr/local/cuda*/lib64/libcupti.so.1[23]*",
		"/usr/lib/*-linux-gnu/libcupti.so.1[23]*",
		"/usr/lib64/libcupti.so.1[23]*",
	};
	const char *named = getenv("GPUMON_CUPTI");
	char found[PATH_MAX] = "";

	if (named && *named && !gpumon_doctor_exists(doctor, named))
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_WARN, "cupti",
				  "name one that is there, or unset GPUMON_CUPTI",
				  "GPUMON_CUPTI names %s, which is not there", named);
	else if (named && *named && snprintf(found, sizeof(found), "%s", named) > 0)
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "cupti", NULL, "%s (GPUMON_CUPTI)",
				  named);
	else if (find_file(doctor, places, sizeof(places) / sizeof(*places), found, sizeof(found)))
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "cupti", NULL, "%s", found);
	else
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_WARN, "cupti",
			"install CUPTI of the driver's CUDA version (cuda-cupti-12-x), or name one with GPUMON_CUPTI",
			"in none of the usual folders: of programs that do not bring their own (PyTorch does), nothing of the GPU is recorded");
	if (*found)
		check_metrics(doctor, found);
}

/* False: programs with it cannot be recorded. Likewise below. */
static bool check_opencl(struct gpumon_doctor *doctor)
{
	char path[PATH_MAX];

	switch (gpumon_opencl_loader(doctor->root, path)) {
	case GPUMON_OPENCL_NONE:
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "opencl", NULL,
				  "no loader in the usual folders: no program uses OpenCL here");
		break;
	case GPUMON_OPENCL_LAYERS:
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "opencl", NULL, "%s", path);
		break;
	case GPUMON_OPENCL_OTHER:
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_OK, "opencl", NULL,
			"%s, which \"record\" puts in place of a loader without layers that programs get by themselves",
			path);
		break;
	case GPUMON_OPENCL_NO_LAYERS:
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_WARN, "opencl",
				  "use ocl-icd 2.3 or newer, or Khronos's loader 3.0 or newer",
				  "%s has no layers: \"record\" does not see OpenCL programs",
				  path);
		return false;
	}
	return true;
}

static bool check_level_zero(struct gpumon_doctor *doctor)
{
	char path[PATH_MAX];

	switch (gpumon_level_zero_loader(doctor->root, path)) {
	case GPUMON_LEVEL_ZERO_NONE:
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_OK, "level-zero", NULL,
			"no loader with a driver in the usual folders: no program uses Level Zero here");
		break;
	case GPUMON_LEVEL_ZERO_TRACED:
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "level-zero", NULL, "%s", path);
		break;
	case GPUMON_LEVEL_ZERO_NO_TRACER:
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_WARN, "level-zero",
			"use its loader from version 1.8 on, with its tracing layer",
			"%s has no tracing layer: \"record\" does not see Level Zero programs",
			path);
		return false;
	}
	return true;
}

static bool check_vulkan(struct gpumon_doctor *doctor)
{
	const char *only = getenv("VK_LAYER_PATH");
	char path[PATH_MAX];

	switch (gpumon_vulkan_loader(doctor->root, path)) {
	case GPUMON_VULKAN_NONE:
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "vulkan", NULL,
				  "no loader in the usual folders: no program uses Vulkan here");
		break;
	case GPUMON_VULKAN_LAYERS:
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "vulkan", NULL, "%s", path);
		break;
	case GPUMON_VULKAN_NO_FOLDER:
		/* This variable is older. */
		if (only && *only) {
			gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "vulkan", NULL,
					  "%s, with VK_LAYER_PATH", path);
			break;
		}
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_WARN, "vulkan",
			"use Vulkan's loader 1.3.207 or newer, or set VK_LAYER_PATH to the folders of layers that programs need",
			"%s does not know VK_ADD_LAYER_PATH: \"record\" does not see Vulkan programs",
			path);
		return false;
	}
	return true;
}

static void check_opengl(struct gpumon_doctor *doctor)
{
	char path[PATH_MAX];

	if (gpumon_opengl_library(doctor->root, path))
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_OK, "opengl", NULL,
			"%s: \"record --gl\" records what programs present with it, but not static or setuid ones, and none of 32 bits or with musl",
			path);
	else
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_OK, "opengl", NULL,
			"no library of EGL or GLX in the usual folders: no program presents with OpenGL here");
}

static bool check_hip(struct gpumon_doctor *doctor)
{
	char path[PATH_MAX], version[GPUMON_HIP_VERSION_LEN];
	enum gpumon_hip_library library = gpumon_hip_library(doctor->root, path, version);
	const char *number = *version ? version : "unknown";

	if (library == GPUMON_HIP_NONE)
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_OK, "hip", NULL,
			"no libamdhip64 in the usual folders: only programs that bring their own (PyTorch does) use HIP here");
	else if (library == GPUMON_HIP_NO_TRACER)
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_WARN, "hip", "use HIP 5.4 or newer",
			"%s (version %s) has no hipRegisterTracerCallback: \"record\" does not see HIP programs",
			path, number);
	else if (library == GPUMON_HIP_UNKNOWN_VERSION)
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_WARN, "hip",
			"use HIP 5.4 to 5.7, 6.0 to 6.4 or 7.0 to 7.2",
			"gpumon does not know version %s of %s: \"record\" does not see HIP programs",
			number, path);
	else if (!gpumon_hip_has_driver(doctor->root))
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_OK, "hip", NULL,
			"%s (version %s); no /dev/kfd, so HIP has no GPU here, and nothing of it is recorded",
			path, number);
	else
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "hip", NULL, "%s (version %s)", path,
				  number);
	return library != GPUMON_HIP_NO_TRACER && library != GPUMON_HIP_UNKNOWN_VERSION;
}

static bool has_capability(const struct gpumon_doctor *doctor, unsigned int bit)
{
	unsigned long long effective;
	const char *line;
	char text[4096];

	if (gpumon_doctor_read(doctor, "/proc/self/status", text, sizeof(text)))
		return false;
	line = strstr(text, "CapEff:");
	return line && sscanf(line, "CapEff: %llx", &effective) == 1 && effective >> bit & 1;
}

/* Whether samples of the GPU's counters can be had: the driver says who may. */
static void check_counters(struct gpumon_doctor *doctor)
{
	static const char parameter[] = "RmProfilingAdminOnly: ";
	const char *line;
	char text[8192];

	if (gpumon_doctor_read(doctor, "/proc/driver/nvidia/params", text, sizeof(text)))
		return;
	line = strstr(text, parameter);
	if (!line)
		return;
	if (!atoi(line + strlen(parameter)))
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "counters", NULL,
				  "all users may sample what kernels do (--stalls, --gpu-metrics)");
	else if (has_capability(doctor, CAP_SYS_ADMIN_BIT))
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_OK, "counters", NULL,
			"only root may sample what kernels do (--stalls, --gpu-metrics): the program has to be root's, with sudo also --run-as root");
	else
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_WARN, "counters",
			"be root (--run-as root), or load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0; all else does without",
			"only root may sample what kernels do: \"record --stalls\" and \"--gpu-metrics\" have none of it");
}

static void check_ptrace(struct gpumon_doctor *doctor)
{
	char text[16];
	int scope;

	if (gpumon_doctor_read(doctor, "/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text)))
		return;
	scope = atoi(text);
	if (scope > 2)
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_WARN, "ptrace", "\"record -- COMMAND\" does without",
			"scope %d: no process may read another one's memory until the next boot: \"record -p\" can neither bring the library into one nor has it uprobes",
			scope);
	else if (scope && !has_capability(doctor, CAP_SYS_PTRACE_BIT))
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_WARN, "ptrace",
			"be root, or have CAP_SYS_PTRACE; \"record -- COMMAND\" does without",
			"scope %d: the memory of processes that you did not start may not be read: \"record -p\" can neither bring the library into them nor has it uprobes for them",
			scope);
	else
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_OK, "ptrace", NULL,
			"scope %d: live processes may be looked into, and \"record -p\" may bring the library in",
			scope);
}

/* @recorded: those of @of_machine that "record" sees. */
static void check_apis(struct gpumon_doctor *doctor, unsigned int of_machine, unsigned int recorded)
{
	char names[GPUMON_API_TEXT_LEN];

	if (!of_machine)
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_OK, "apis", NULL,
			"no driver of %s in the usual places: there is nothing to record here",
			gpumon_api_names(GPUMON_APIS_ALL & ~GPUMON_APIS_OPENGL, "or", names));
	else if (!recorded)
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_FAIL, "apis", "see the lines above",
			"of %s, for which there are drivers here, nothing can be recorded",
			gpumon_api_names(of_machine, "and", names));
	else
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "apis", NULL,
				  "programs that use %s can be recorded",
				  gpumon_api_names(recorded, "or", names));
}

void gpumon_doctor_cuda(struct gpumon_doctor *doctor)
{
	unsigned int of_machine = gpumon_api_of_machine(doctor->root);
	unsigned int recorded = check_library(doctor, of_machine);

	if (check_driver(doctor)) {
		check_cupti(doctor);
		check_counters(doctor);
	} else
		recorded &= ~GPUMON_APIS_CUDA;
	if (!check_opencl(doctor))
		recorded &= ~GPUMON_APIS_OPENCL;
	if (!check_level_zero(doctor))
		recorded &= ~GPUMON_APIS_LEVEL_ZERO;
	if (!check_hip(doctor))
		recorded &= ~GPUMON_APIS_HIP;
	if (!check_vulkan(doctor))
		recorded &= ~GPUMON_APIS_VULKAN;
	check_opengl(doctor);
	check_apis(doctor, of_machine, recorded);
	check_ptrace(doctor);
}

void gpumon_doctor_record(struct gpumon_doctor *doctor)
{
	struct gpumon_error err = { 0 };

	doctor->part = GPUMON_DOCTOR_RECORD;
	gpumon_doctor_cuda(doctor);
	if (!*doctor->root)
		gpumon_doctor_uprobes(doctor,
				      gpumon_uprobes_supported(doctor->root, &err) ? &err : NULL);
}
