// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "environment.h"
#include "lib/memory.h"
#include "lib/api_loader.h"

static size_t count_variables(const struct gpumon_variables *variables)
{
	size_t n = 0;

	while (variables->list[n])
		n++;
	return n;
}

static void add_variable(struct gpumon_variables *variables, const char *name, const char *before,
			 const char *value)
{
	size_t at = count_variables(variables);

	if (!before)
		before = "";
	variables->list[at] = gpumon_asprintf("%s=%s%s%s", name, before, *before ? ":" : "", value);
}

/* Finds a preloaded file (inject/Makefile), which is beside the library. False: @why it cannot be used. */
static bool find_preloaded(const char *library, const char *name, char path[PATH_MAX],
			   char why[GPUMON_NOT_PRELOADED_LEN])
{
	static const char folder[] = "gpumon-preload";
	int length = (int)(strrchr(library, '/') - library);

	if (strpbrk(library, " :"))
		snprintf(
			why, GPUMON_NOT_PRELOADED_LEN,
			"the path of the injection library has a blank or a colon, which cannot be in LD_PRELOAD");
	else if (snprintf(path, PATH_MAX, "%.*s/%s/%s", length, library, folder, name) >=
			 PATH_MAX ||
		 access(path, R_OK) ||
		 snprintf(path, PATH_MAX, "%.*s/%s/not-libasan.so/$PLATFORM/%s", length, library,
			  folder, name) >= PATH_MAX)
		snprintf(why, GPUMON_NOT_PRELOADED_LEN,
			 "%s/%s is not beside the injection library (make inject makes both)",
			 folder, name);
	else
		return true;
	return false;
}

/*
 * The libraries of Level Zero, HIP, EGL and GLX load none that a variable names. For the first two only on machines
 * with a driver for one of them: a program that cannot open it, such as one in a container, says so.
 */
static void add_preloaded(struct gpumon_variables *variables, const char *library,
			  unsigned int apis)
{
	char loader[PATH_MAX], path[PATH_MAX], why[GPUMON_NOT_PRELOADED_LEN];
	char names[GPUMON_API_TEXT_LEN];
	unsigned int needed = apis & GPUMON_APIS_OPENGL;

	if ((apis & GPUMON_APIS_LEVEL_ZERO) &&
	    gpumon_level_zero_loader("", loader) == GPUMON_LEVEL_ZERO_TRACED)
		needed |= GPUMON_APIS_LEVEL_ZERO;
	if ((apis & GPUMON_APIS_HIP) && gpumon_hip_has_driver(""))
		needed |= GPUMON_APIS_HIP;
	if (!needed)
		return;
	if (!find_preloaded(library,
			    needed & GPUMON_APIS_OPENGL ? GPUMON_PRELOAD_OPENGL :
							  "libgpumon-preload.so",
			    path, why)) {
		snprintf(variables->not_preloaded, sizeof(variables->not_preloaded),
			 "nothing is recorded of %s: %s", gpumon_api_names(needed, "and", names),
			 why);
		return;
	}
	add_variable(variables, "LD_PRELOAD", getenv("LD_PRELOAD"), path);
	if ((needed & GPUMON_APIS_LEVEL_ZERO) && !getenv("ZE_ENABLE_TRACING_LAYER"))
		add_variable(variables, "ZE_ENABLE_TRACING_LAYER", NULL, "1");
}

/*
 * Value of $PLATFORM in glibc. musl takes the word as it is, and must not find a library for glibc.
 */
static const char *const platforms[] = { "x86_64", "haswell", "xeon_phi", "aarch64" };

#define PLATFORMS (sizeof(platforms) / sizeof(*platforms))

static bool link_loader(const char *folder, const char *loader)
{
	bool good = true;

	for (size_t i = 0; i < PLATFORMS && good; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", folder, platforms[i]);
		good = !mkdir(path, 0755);
		snprintf(path, sizeof(path), "%s/%s/libOpenCL.so.1", folder, platforms[i]);
		good &= !symlink(loader, path);
	}
	return good;
}

/*
 * A loader that has layers in place of the one that programs get, which has none: in front of all other
 * folders, in one that has nothing else.
 */
static void add_loader(struct gpumon_variables *variables)
{
	static const char name[] = "/gpumon-opencl-XXXXXX";
	const char *before = getenv("LD_LIBRARY_PATH"), *temporary = getenv("TMPDIR");
	char loader[PATH_MAX], folder[PATH_MAX];

	if (gpumon_opencl_loader("", loader) != GPUMON_OPENCL_OTHER)
		return;
	if (!temporary || strpbrk(temporary, ":;$") ||
	    (size_t)snprintf(variables->folder, sizeof(variables->folder), "%s%s", temporary,
			     name) >= sizeof(variables->folder))
		snprintf(variables->folder, sizeof(variables->folder), "/tmp%s", name);
	if (!mkdtemp(variables->folder)) {
		variables->folder[0] = '\0';
		return;
	}
	if (chmod(variables->folder, 0755) || !link_loader(variables->folder, loader)) {
		gpumon_variables_remove(variables->folder);
		variables->folder[0] = '\0';
		return;
	}
	snprintf(folder, sizeof(folder), "%s/$PLATFORM", variables->folder);
	/* An empty part would be the current folder. */
	if (before && *before)
		add_variable(variables, "LD_LIBRARY_PATH", folder, before);
	else
		add_variable(variables, "LD_LIBRARY_PATH", NULL, folder);
}

void gpumon_variables_remove(const char *folder)
{
	char path[PATH_MAX];

	for (size_t i = 0; *folder && i < PLATFORMS; i++) {
		snprintf(path, sizeof(path), "%s/%s/libOpenCL.so.1", folder, platforms[i]);
		(void)unlink(path);
		snprintf(path, sizeof(path), "%s/%s", folder, platforms[i]);
		(void)rmdir(path);
	}
	if (*folder)
		(void)rmdir(folder);
}

/*
 * A folder beside the library (inject/Makefile) describes the layer. Layers that there are stay, and ours is
 * next to the drivers. With VK_LAYER_PATH the loader ignores the other variable, and without it that one leaves
 * the folders of the system.
 */
static void add_layer(struct gpumon_variables *variables, const char *library)
{
	const char *only = getenv("VK_LAYER_PATH");
	int length = (int)(strrchr(library, '/') - library);
	char folder[PATH_MAX];

	if (snprintf(folder, sizeof(folder), "%.*s/gpumon-vulkan", length, library) >= PATH_MAX ||
	    access(folder, X_OK))
		return;
	add_variable(variables, "VK_INSTANCE_LAYERS", getenv("VK_INSTANCE_LAYERS"),
		     "VK_LAYER_gpumon_inject");
	if (only && *only)
		add_variable(variables, "VK_LAYER_PATH", only, folder);
	else
		add_variable(variables, GPUMON_VULKAN_ADD_PATH, getenv(GPUMON_VULKAN_ADD_PATH),
			     folder);
}

/*
 * NVTX has one of its own. OpenCL's layers that there are stay; the last one is next to the drivers.
 * Its loader has no layers before ocl-icd 2.3 and Khronos's 3.0, and none in CUDA's toolkit: it ignores
 * the variable.
 */
void gpumon_variables_make(struct gpumon_variables *variables, const char *library,
			   unsigned int apis, const char *socket, const char *more)
{
	apis &= gpumon_api_of_library(library);
	memset(variables, 0, sizeof(*variables));
	add_variable(variables, "GPUMON_SOCKET", NULL, socket);
	if (more)
		variables->list[count_variables(variables)] = gpumon_strdup(more);
	add_preloaded(variables, library, apis);
	if (apis & GPUMON_APIS_CUDA) {
		add_variable(variables, "CUDA_INJECTION64_PATH", NULL, library);
		add_variable(variables, "NVTX_INJECTION64_PATH", NULL, library);
	}
	if (apis & GPUMON_APIS_OPENCL) {
		add_variable(variables, GPUMON_OPENCL_VARIABLE, getenv(GPUMON_OPENCL_VARIABLE),
			     library);
		add_loader(variables);
	}
	if (apis & GPUMON_APIS_VULKAN)
		add_layer(variables, library);
}

void gpumon_variables_free(struct gpumon_variables *variables)
{
	size_t i;

	for (i = 0; i < GPUMON_VARIABLES_MAX; i++)
		free(variables->list[i]);
}
