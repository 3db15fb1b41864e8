// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "base/inject.h"
#include "driver.h"
#include "kernels.h"
#include "talk.h"
#include "trial.h"

/* Threads of a block at most, on every GPU. */
#define BLOCK_MAX 1024
/* How often an image is edited again, without the kernels that became too large. */
#define ROUNDS_MAX 4

void inject_probe_replace(const struct inject_image *image, struct inject_new_image *made)
{
	struct gpumon_wire_answer answer;

	inject_probe_ask_image(image, inject_probe_current_sm(), &answer, made);
}

/* Threads that a block of the kernel can have; 0: it is not in the module. */
static int block_max(CUmodule module, const char *kernel)
{
	CUfunction function;
	int threads = 0;

	if (inject_probe_driver.module_function(&function, module, kernel) != CUDA_SUCCESS ||
	    inject_probe_driver.function_attribute(
		    &threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function) != CUDA_SUCCESS)
		return 0;
	return threads;
}

/**
 * struct comparison - kernels of two modules
 * @image: of the program
 * @original: loaded when the first kernel has to be compared
 * @is_loaded: @original was loaded, or cannot be
 * @took_ns: by the driver for the other module
 */
struct comparison {
	const struct inject_image *image;
	CUmodule original;
	bool is_loaded;
	uint64_t took_ns;
};

static bool became_too_large(struct comparison *comparison, CUmodule edited, const char *kernel)
{
	uint64_t begin = inject_now();
	int threads = block_max(edited, kernel);

	/* A driver that loads lazily does the kernel's work here. */
	comparison->took_ns += inject_now() - begin;
	if (!threads || threads >= BLOCK_MAX)
		return false;
	if (!comparison->is_loaded &&
	    inject_probe_driver.module_load(&comparison->original, comparison->image->data) !=
		    CUDA_SUCCESS)
		comparison->original = NULL;
	comparison->is_loaded = true;
	return comparison->original && block_max(comparison->original, kernel) > threads;
}

/* How many kernels are too large. Reports each to gpumon-user. */
static unsigned int find_too_large(struct comparison *comparison, CUmodule edited,
				   const struct inject_new_image *made)
{
	struct gpumon_wire_kernel kernel;
	unsigned int too_large = 0;
	const char *name;
	size_t at = 0;

	while (inject_kernels_next(made->kernels, made->kernels_size, &at, &kernel, &name)) {
		if (!became_too_large(comparison, edited, name))
			continue;
		inject_probe_say(GPUMON_WIRE_TOO_LARGE, kernel.number);
		too_large++;
	}
	if (comparison->original)
		inject_probe_driver.module_unload(comparison->original);
	return too_large;
}

enum verdict {
	USE,
	AGAIN,
	LEAVE
};

static enum verdict try_image(const struct inject_image *image, const struct inject_new_image *made,
			      const struct gpumon_wire_answer *answer)
{
	struct comparison comparison = { .image = image };
	uint64_t begin = inject_now();
	unsigned int too_large;
	CUmodule module;
	CUresult result = inject_probe_driver.module_load(&module, made->data);

	if (result == CUDA_SUCCESS) {
		comparison.took_ns = inject_now() - begin;
		too_large = find_too_large(&comparison, module, made);
		inject_probe_driver.module_unload(module);
		inject_probe_say_loaded(answer->module, 0, comparison.took_ns);
		return too_large ? AGAIN : USE;
	}
	inject_probe_tell("CUDA does not load a module with programs in it: error %d", (int)result);
	inject_probe_say(GPUMON_WIRE_NOT_LOADED, answer->image);
	return LEAVE;
}

void inject_probe_trial(const struct inject_image *image, struct inject_new_image *made)
{
	struct inject_probe_inside inside;
	struct gpumon_wire_answer answer;
	enum verdict verdict = AGAIN;
	CUcontext current = NULL;

	inject_probe_inside_begin(&inside);
	inject_probe_driver.context_current(&current);
	for (int round = 0; verdict == AGAIN && round < ROUNDS_MAX; round++) {
		inject_probe_ask_image(image, inject_probe_current_sm(), &answer, made);
		verdict = current && made->data ? try_image(image, made, &answer) : USE;
		if (verdict != USE)
			inject_new_image_clear(made);
	}
	inject_probe_inside_end(&inside);
}
