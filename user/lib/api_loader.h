/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * APIs on this machine: which of them the injection library records, their loaders, and whether programs
 * that use them can be recorded.
 */
#ifndef GPUMON_LIB_API_LOADER_H
#define GPUMON_LIB_API_LOADER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Bits, in the order in which they are named. */
enum gpumon_apis {
	GPUMON_APIS_CUDA = 1,
	GPUMON_APIS_HIP = 2,
	GPUMON_APIS_OPENCL = 4,
	GPUMON_APIS_LEVEL_ZERO = 8,
	GPUMON_APIS_VULKAN = 16,
	GPUMON_APIS_OPENGL = 32,
	GPUMON_APIS_ALL = 63,
};

/**
 * gpumon_api_of_library - the APIs that an injection library was built with
 * @library: its path
 *
 * By the functions that it has for them. Of a file that has none: GPUMON_APIS_ALL, because it is another
 * library.
 */
unsigned int gpumon_api_of_library(const char *library);

/**
 * gpumon_api_of_machine - the APIs for which there are drivers
 * @root: folder of the machine's files, "" for this machine
 */
unsigned int gpumon_api_of_machine(const char *root);

/* The APIs whose library a program's own file names: it is linked with it, or loads it. */
unsigned int gpumon_api_of_program(const char *program);

#define GPUMON_API_TEXT_LEN 200

/**
 * gpumon_api_names - "CUDA, HIP and OpenCL"
 * @apis: which
 * @last: word before the last one, such as "and"
 * @text: out
 *
 * Return: @text.
 */
const char *gpumon_api_names(unsigned int apis, const char *last, char text[GPUMON_API_TEXT_LEN]);

/* Debian's and NVIDIA's packages with the headers that "make inject" needs for APIs. Returns @text. */
const char *gpumon_api_headers(unsigned int apis, char text[GPUMON_API_TEXT_LEN]);

enum gpumon_cuda_driver {
	GPUMON_CUDA_NONE,    /* neither a driver nor its library */
	GPUMON_CUDA_LIBRARY, /* a library, and no driver for it */
	GPUMON_CUDA_LOADED,  /* NVIDIA's module, with /proc/driver/nvidia */
	GPUMON_CUDA_DEVICE,  /* device files alone: Tegra, some containers */
	GPUMON_CUDA_WSL,     /* WSL2: Windows has the driver */
};

/**
 * gpumon_cuda_driver() - find out by what programs use CUDA
 * @root: folder of the machine's files, "" for this machine
 * @path: out, libcuda.so.1 without @root; "" if it is nowhere
 */
enum gpumon_cuda_driver gpumon_cuda_driver(const char *root, char path[PATH_MAX]);

enum gpumon_opencl_loader {
	GPUMON_OPENCL_NONE,	 /* in none of the usual folders */
	GPUMON_OPENCL_LAYERS,	 /* "record" can see programs that use it */
	GPUMON_OPENCL_NO_LAYERS, /* too old, or CUDA's own */
	GPUMON_OPENCL_OTHER,	 /* the one that programs get has none, another one has */
};

/* The name of the variable that names layers is in a loader that has them. */
#define GPUMON_OPENCL_VARIABLE "OPENCL_LAYERS"

/**
 * gpumon_opencl_loader - find OpenCL's loader, and whether it knows layers
 * @root: folder of the machine's files, "" for this machine
 * @path: out, without @root; of GPUMON_OPENCL_OTHER, that other one
 *
 * In the order in which the loader of programs looks: CUDA's toolkit has one without layers, which often
 * is in front of the distribution's. ocl-icd has layers from 2.3 on, Khronos's loader from 3.0 on.
 */
enum gpumon_opencl_loader gpumon_opencl_loader(const char *root, char path[PATH_MAX]);

/* Whether a file is a loader of OpenCL, by its name, that can be read and has no layers. */
bool gpumon_opencl_is_unlayered(const char *path);

enum gpumon_level_zero_loader {
	GPUMON_LEVEL_ZERO_NONE,	     /* no loader, or no driver for it */
	GPUMON_LEVEL_ZERO_TRACED,    /* "record" can see programs that use it */
	GPUMON_LEVEL_ZERO_NO_TRACER, /* the loader has no functions for tracing, or no tracing layer */
};

/**
 * gpumon_level_zero_loader - find Level Zero's loader with a driver, and whether it can trace
 * @root: folder of the machine's files, "" for this machine
 * @path: out, without @root
 *
 * Many machines have the loader and no driver, because other packages need it. A driver is one of
 * Intel's, or one that ZE_ENABLE_ALT_DRIVERS names.
 */
enum gpumon_level_zero_loader gpumon_level_zero_loader(const char *root, char path[PATH_MAX]);

/* Whether there is AMD's kernel driver for computing, without which HIP has no devices. @root: as above */
bool gpumon_hip_has_driver(const char *root);

/* The name of the variable that names folders of layers, beside those of the system. */
#define GPUMON_VULKAN_ADD_PATH "VK_ADD_LAYER_PATH"

enum gpumon_vulkan_loader {
	GPUMON_VULKAN_NONE,   /* in none of the usual folders */
	GPUMON_VULKAN_LAYERS, /* "record" can see programs that use it */
	GPUMON_VULKAN_NO_FOLDER, /* too old to be told of a folder of layers beside those of the system */
};

/**
 * gpumon_vulkan_loader - find Vulkan's loader
 * @root: folder of the machine's files, "" for this machine
 * @path: out, without @root
 *
 * A folder of layers can be added from 1.3.207 on.
 */
enum gpumon_vulkan_loader gpumon_vulkan_loader(const char *root, char path[PATH_MAX]);

/* Whether there is a library with functions of EGL or GLX that present an image. @root and @path: as above */
bool gpumon_opengl_library(const char *root, char path[PATH_MAX]);

enum gpumon_hip_library {
	GPUMON_HIP_NONE,	    /* in none of the usual folders */
	GPUMON_HIP_TRACED,	    /* "record" can see programs that use it */
	GPUMON_HIP_NO_TRACER,	    /* too old */
	GPUMON_HIP_UNKNOWN_VERSION, /* how it is traced is not known, so it is not */
};

/* Two numbers of 32 bits, a dot, and the end. */
#define GPUMON_HIP_VERSION_LEN 24

/**
 * gpumon_hip_library - find HIP's library, and whether it can be traced
 * @root: folder of the machine's files, "" for this machine
 * @path: out, without @root
 * @version: out, such as "6.4"; empty if its file's name does not say it
 *
 * A library that a program brings itself, such as that of PyTorch's package, is not looked for.
 */
enum gpumon_hip_library gpumon_hip_library(const char *root, char path[PATH_MAX],
					   char version[GPUMON_HIP_VERSION_LEN]);

#endif /* GPUMON_LIB_API_LOADER_H */
