/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Own declarations of the part of NVIDIA's sanitizer (libsanitizer-public.so) that is used, as its
 * headers are not available everywhere. Its structures grow with its versions, so only leading
 * members are here.
 */
#ifndef GPUMON_INJECT_GPUPROG_SASS_H
#define GPUMON_INJECT_GPUPROG_SASS_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

enum inject_sanitizer_result {
	INJECT_SANITIZER_SUCCESS = 0,
	INJECT_SANITIZER_MAX_LIMIT_REACHED = 10, /* another subscriber */
};

/* The last kind of instruction that was there from the beginning. */
#define INJECT_SANITIZER_BARRIER 6

enum inject_sanitizer_domain {
	INJECT_SANITIZER_DRIVER_API = 1, /* callback ids are those of CUPTI */
	INJECT_SANITIZER_RESOURCE = 3,
};

/* Callback ids of RESOURCE. */
enum inject_sanitizer_resource {
	INJECT_SANITIZER_CONTEXT_DESTROY_STARTING = 4,
	INJECT_SANITIZER_MODULE_LOADED = 9,
	INJECT_SANITIZER_MODULE_UNLOAD_STARTING = 10,
	INJECT_SANITIZER_FUNCTIONS_LAZY_LOADED = 24,
};

/* Data of DRIVER_API. */
struct inject_sanitizer_call {
	int site; /* 0: it begins */
	const char *function;
	const void *parameters;
	const void *result; /* CUresult, when it returns */
};

struct inject_sanitizer_context {
	CUcontext context;
};

/* Data of MODULE_LOADED and MODULE_UNLOAD_STARTING. */
struct inject_sanitizer_module {
	CUcontext context;
	CUmodule module;
	size_t size;
	const void *cubin;
};

struct inject_sanitizer_functions {
	CUcontext context;
	CUmodule module;
	const CUfunction *functions;
	uint32_t n;
};

typedef void *inject_sanitizer_subscriber_t;
typedef void (*inject_sanitizer_callback_t)(void *user, int domain, uint32_t id, const void *data);

/* X(member, symbol, parameters) */
#define INJECT_SANITIZER(X)                                                                \
	X(subscribe, "sanitizerSubscribe",                                                 \
	  (inject_sanitizer_subscriber_t *, inject_sanitizer_callback_t, void *))          \
	X(unsubscribe, "sanitizerUnsubscribe", (inject_sanitizer_subscriber_t))            \
	X(enable_callback, "sanitizerEnableCallback",                                      \
	  (uint32_t, inject_sanitizer_subscriber_t, int, uint32_t))                        \
	X(add_patches, "sanitizerAddPatches", (const void *image, CUcontext))              \
	X(patch_instructions, "sanitizerPatchInstructions", (int, CUmodule, const char *)) \
	X(patch_module, "sanitizerPatchModule", (CUmodule))                                \
	X(set_callback_data, "sanitizerSetCallbackData", (CUfunction, const void *))

/* Functions of the sanitizer; each returns enum inject_sanitizer_result. */
struct inject_sanitizer {
#define INJECT_SANITIZER_MEMBER(member, symbol, parameters) int(*member) parameters;
	INJECT_SANITIZER(INJECT_SANITIZER_MEMBER)
#undef INJECT_SANITIZER_MEMBER
};

extern struct inject_sanitizer inject_sanitizer;

/* Programs in kernels by patches of their machine code: NVIDIA's sanitizer instead of CUPTI. */

/**
 * inject_gpuprog_sass_begin - subscribe to the sanitizer
 * @why: out: why not; valid until the next call
 *
 * The sanitizer and CUPTI exclude each other in a process.
 *
 * Return: false where that is not possible.
 */
bool inject_gpuprog_sass_begin(const char **why);

#endif /* GPUMON_INJECT_GPUPROG_SASS_H */
