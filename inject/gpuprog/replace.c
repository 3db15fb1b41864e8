// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "base/inject.h"
#include "driver.h"
#include "kernels.h"
#include "replace.h"
#include "requests.h"

/* Threads of a block at most, on every GPU, and of a warp. */
#define BLOCK_MAX 1024
#define WARP	  32
/* How often an image is edited again, without the kernels that became too large. */
#define ROUNDS_MAX 4
/* How long the kernels are looked for that an image does not load with. */
#define SEARCH_LOADS 32
#define SEARCH_NS    (20 * 1000000000ull)
#define LOG_BYTES    4096
#define LINE_BYTES   400 /* of it that are shown */

static const struct inject_wanted all_of_it;

/**
 * struct trial - an image on its way to one that loads
 * @image: of the program
 * @sm: of the GPU
 * @answer: about the last image that was made
 * @result: of the last load that failed
 * @log: what the driver's compiler said then, or ""
 * @original: the program's own, to compare with; loaded when it is needed
 * @is_loaded: @original was loaded, or cannot be
 */
struct trial {
	const struct inject_image *image;
	unsigned int sm;
	struct gpumon_wire_answer answer;
	CUresult result;
	char log[LOG_BYTES];
	CUmodule original;
	bool is_loaded;
};

void inject_gpuprog_replace(const struct inject_image *image, struct inject_new_image *made)
{
	struct gpumon_wire_answer answer;

	inject_gpuprog_ask_image(image, inject_gpuprog_current_sm(), &all_of_it, &answer, made);
}

static CUmodule original_of(struct trial *trial)
{
	if (!trial->is_loaded &&
	    inject_gpuprog_driver.module_load(&trial->original, trial->image->data) != CUDA_SUCCESS)
		trial->original = NULL;
	trial->is_loaded = true;
	return trial->original;
}

/* The first line of the compiler's that names an error, without what follows it; else the first line. */
static void cut_log(char *log)
{
	char *at = strstr(log, "error"), *end;

	if (!at)
		at = strstr(log, "fatal");
	while (at && at > log && at[-1] != '\n')
		at--;
	if (at)
		memmove(log, at, strlen(at) + 1);
	end = strchr(log, '\n');
	if (end)
		*end = '\0';
	log[LINE_BYTES] = '\0';
}

/* Load what was made. On failure @log says why. */
static bool load(struct trial *trial, const struct inject_new_image *made, CUmodule *module)
{
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { trial->log, (void *)(uintptr_t)(LOG_BYTES - 1) };

	memset(trial->log, 0, LOG_BYTES);
	trial->result =
		inject_gpuprog_driver.module_load_log(module, made->data, 2, options, values);
	cut_log(trial->log);
	return trial->result == CUDA_SUCCESS;
}

/* Threads that a block of the kernel can have; 0: it is not in the module. */
static int block_max(CUmodule module, const char *kernel, CUfunction *function)
{
	int threads = 0;

	if (inject_gpuprog_driver.module_function(function, module, kernel) != CUDA_SUCCESS ||
	    inject_gpuprog_driver.function_attribute(
		    &threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, *function) != CUDA_SUCCESS)
		return 0;
	return threads;
}

/* Whether fewer blocks of some size are on a processor at a time. */
static bool fits_fewer(CUfunction original, CUfunction edited)
{
	int before, after;

	for (int threads = WARP; threads <= BLOCK_MAX; threads *= 2) {
		if (inject_gpuprog_driver.resident_blocks(&before, original, threads, 0) ==
			    CUDA_SUCCESS &&
		    inject_gpuprog_driver.resident_blocks(&after, edited, threads, 0) ==
			    CUDA_SUCCESS &&
		    after < before)
			return true;
	}
	return false;
}

/* Why a kernel cannot be launched as before: a sentence, or "" for that of all such; NULL: it can. */
static const char *became_too_large(struct trial *trial, CUmodule module, const char *kernel,
				    bool waits, uint64_t *took_ns)
{
	CUfunction original, edited;
	uint64_t begin = inject_now();
	int threads = block_max(module, kernel, &edited), before;

	/* A driver that loads lazily does the kernel's work here. */
	*took_ns += inject_now() - begin;
	if (!threads || (threads >= BLOCK_MAX && !waits) || !original_of(trial))
		return NULL;
	before = block_max(trial->original, kernel, &original);
	if (before > threads)
		return "";
	if (before && waits && fits_fewer(original, edited))
		return "its blocks wait for each other (cooperative launch), and with the programs fewer of them fit on the GPU";
	return NULL;
}

/* How many kernels are too large. Reports each to gpumon-user. */
static unsigned int find_too_large(struct trial *trial, CUmodule module,
				   const struct inject_new_image *made, uint64_t *took_ns)
{
	struct gpumon_wire_kernel kernel;
	unsigned int too_large = 0;
	const char *name, *why;
	size_t at = 0;

	while (inject_kernels_next(made->kernels, made->kernels_size, &at, &kernel, &name)) {
		why = became_too_large(trial, module, name, kernel.programs & GPUMON_WIRE_WAITS,
				       took_ns);
		if (!why)
			continue;
		inject_gpuprog_say_why(GPUMON_WIRE_TOO_LARGE, kernel.number, why);
		too_large++;
	}
	return too_large;
}

/* An image that is not used. */
static void withdraw(struct trial *trial, struct inject_new_image *made)
{
	if (made->data)
		inject_gpuprog_say(GPUMON_WIRE_WITHDRAWN, trial->answer.image);
	inject_new_image_clear(made);
}

/*
 * Ask for an image that loads, without kernels that are too large in it. Returns false if it does not load:
 * then it is still there, so that its kernels are known.
 */
static bool make(struct trial *trial, const struct inject_wanted *wanted,
		 struct inject_new_image *made)
{
	for (int round = 0; round < ROUNDS_MAX; round++) {
		uint64_t begin, took_ns;
		unsigned int too_large;
		CUmodule module;

		inject_gpuprog_ask_image(trial->image, trial->sm, wanted, &trial->answer, made);
		if (!made->data)
			return true;
		begin = inject_now();
		if (!load(trial, made, &module))
			return false;
		took_ns = inject_now() - begin;
		too_large = find_too_large(trial, module, made, &took_ns);
		inject_gpuprog_driver.module_unload(module);
		inject_gpuprog_say_loaded(trial->answer.module, 0, took_ns);
		if (!too_large)
			return true;
		withdraw(trial, made);
	}
	return true;
}

/**
 * struct search - for kernels that an image does not load with
 * @trial: trial
 * @list: the kernels of the whole image, by rising number
 * @size: bytes of it
 * @loads: so far
 * @begin_ns: when it began
 */
struct search {
	struct trial *trial;
	const void *list;
	size_t size;
	unsigned int loads;
	uint64_t begin_ns;
};

/* Number of the n-th kernel; behind the last one: how many there are. */
static uint32_t kernel_at(const struct search *search, uint32_t n, bool *is_there)
{
	struct gpumon_wire_kernel kernel;
	uint32_t i = 0;
	const char *name;
	size_t at = 0;

	while ((*is_there = inject_kernels_next(search->list, search->size, &at, &kernel, &name)))
		if (i++ == n)
			return kernel.number;
	return i;
}

static bool is_over(const struct search *search)
{
	return search->loads >= SEARCH_LOADS || inject_now() - search->begin_ns > SEARCH_NS;
}

static bool loads_with(struct search *search, uint32_t from, uint32_t to)
{
	struct inject_new_image made = { .fd = -1 };
	struct inject_wanted wanted = { .no_functions = true };
	bool is_there, done = true;
	CUmodule module;

	wanted.first = kernel_at(search, from, &is_there);
	wanted.end = kernel_at(search, to - 1, &is_there) + 1;
	inject_gpuprog_ask_image(search->trial->image, search->trial->sm, &wanted,
				 &search->trial->answer, &made);
	if (made.data) {
		search->loads++;
		done = load(search->trial, &made, &module);
		if (done)
			inject_gpuprog_driver.module_unload(module);
	}
	withdraw(search->trial, &made);
	return done;
}

static void leave_out(struct search *search, uint32_t from, uint32_t to, const char *why)
{
	bool is_there;

	for (uint32_t i = from; i < to; i++)
		inject_gpuprog_say_why(GPUMON_WIRE_KERNEL_NOT_LOADED,
				       kernel_at(search, i, &is_there), why);
}

/* Some of these kernels are the reason; there is more than one of them. */
static void split(struct search *search, uint32_t from, uint32_t to)
{
	uint32_t middle = from + (to - from) / 2, bounds[] = { from, middle, to };

	for (int i = 0; i < 2; i++) {
		if (is_over(search)) {
			leave_out(search, bounds[i], bounds[i + 1],
				  "CUDA does not load its module with programs in it, and there was no time to find out which kernel is the reason");
		} else if (!loads_with(search, bounds[i], bounds[i + 1])) {
			if (bounds[i + 1] - bounds[i] > 1)
				split(search, bounds[i], bounds[i + 1]);
			else
				leave_out(search, bounds[i], bounds[i + 1], search->trial->log);
		}
	}
}

static void leave_kernels(struct trial *trial, const void *list, size_t size)
{
	struct search search = { .trial = trial,
				 .list = list,
				 .size = size,
				 .begin_ns = inject_now() };
	bool is_there;
	uint32_t n = kernel_at(&search, UINT32_MAX, &is_there);

	if (n > 1)
		split(&search, 0, n);
	else
		leave_out(&search, 0, n, trial->log);
}

/*
 * The edited image does not load: makes one that does, without programs in device functions, or
 * without the kernels that are the reason.
 */
static void repair(struct trial *trial, struct inject_new_image *made)
{
	static const struct inject_wanted no_functions = { .no_functions = true };
	/* The edited image with all kernels, while the reason is searched. */
	struct inject_new_image whole = *made;

	if (!original_of(trial)) {
		/* The program will hear of it. */
		inject_gpuprog_say(GPUMON_WIRE_NOT_LOADED, trial->answer.image);
		inject_new_image_clear(made);
		return;
	}
	inject_gpuprog_tell("CUDA does not load a module with programs in it: error %d%s%s",
			    (int)trial->result, *trial->log ? ": " : "", trial->log);
	inject_gpuprog_say(GPUMON_WIRE_WITHDRAWN, trial->answer.image);
	if (make(trial, &no_functions, made)) {
		inject_new_image_clear(&whole);
		return;
	}
	withdraw(trial, made);
	leave_kernels(trial, whole.kernels, whole.kernels_size);
	inject_new_image_clear(&whole);
	if (make(trial, &all_of_it, made))
		return;
	withdraw(trial, made);
	if (make(trial, &no_functions, made))
		return;
	/* Each kernel by itself loads, but not all of them together. */
	inject_gpuprog_say(GPUMON_WIRE_NOT_LOADED, trial->answer.image);
	inject_new_image_clear(made);
}

void inject_gpuprog_trial(const struct inject_image *image, struct inject_new_image *made)
{
	struct trial trial = { .image = image };
	struct inject_gpuprog_inside inside;
	CUcontext current = NULL;

	inject_gpuprog_inside_begin(&inside);
	inject_gpuprog_driver.context_current(&current);
	trial.sm = inject_gpuprog_current_sm();
	if (!current)
		inject_gpuprog_ask_image(image, trial.sm, &all_of_it, &trial.answer, made);
	else if (!make(&trial, &all_of_it, made))
		repair(&trial, made);
	if (trial.original)
		inject_gpuprog_driver.module_unload(trial.original);
	inject_gpuprog_inside_end(&inside);
}
