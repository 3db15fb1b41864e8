/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The part of CUPTI that samples a GPU's performance monitors (PM sampling, CUDA 12.6 and later), as far as
 * it is used here. NVIDIA's headers for it are not there in older CUDA, and one of them needs C++, so these
 * declarations are our own. tests/inject/pm_layout.cc compares them with NVIDIA's; this header has to
 * compile as C++ for that.
 */
#ifndef GPUMON_INJECT_CUPTI_PM_LIBRARY_H
#define GPUMON_INJECT_CUPTI_PM_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

/*
 * What each function takes is in a structure, which begins so. @size: up to the end of the last field, by
 * which CUPTI knows fields that a caller does not have.
 */
#define INJECT_PM_HEAD \
	size_t size;   \
	void *reserved

#define INJECT_PM_SIZE(type, last) \
	(offsetof(struct type, last) + sizeof(((struct type *)0)->last))

/* cuptiProfilerInitialize */
struct inject_pm_initialize {
	INJECT_PM_HEAD;
};

/* Whether and why not a device can be sampled, and the number of this API for @api. */
#define INJECT_PM_SUPPORTED 3u
#define INJECT_PM_API	    3u

/* cuptiProfilerDeviceSupported. All after @device are out, but @api. */
struct inject_pm_supported {
	INJECT_PM_HEAD;
	int device;
	uint32_t all;
	uint32_t architecture;
	uint32_t sli;
	uint32_t vgpu;
	uint32_t confidential;
	uint32_t mining;
	uint32_t wsl;
	uint32_t api;
};

/* cuptiDeviceGetChipName. @chip: out, such as GH100 */
struct inject_pm_chip {
	INJECT_PM_HEAD;
	size_t device;
	const char *chip;
};

/* cuptiPmSamplingGetCounterAvailability. Without @image, its size is out. */
struct inject_pm_available {
	INJECT_PM_HEAD;
	size_t device;
	size_t image_size;
	uint8_t *image;
};

/* The kind of profiler that a host object is for. */
#define INJECT_PM_PROFILER 1u

/* cuptiProfilerHostInitialize. A host object schedules metrics and computes their values; @host is out. */
struct inject_pm_host {
	INJECT_PM_HEAD;
	uint32_t profiler;
	const char *chip;
	const uint8_t *available;
	void *host;
};

/* cuptiProfilerHostDeinitialize */
struct inject_pm_host_end {
	INJECT_PM_HEAD;
	void *host;
};

/* cuptiProfilerHostConfigAddMetrics */
struct inject_pm_metrics {
	INJECT_PM_HEAD;
	void *host;
	const char **names;
	size_t count;
};

/* cuptiProfilerHostGetConfigImageSize. @image_size: out */
struct inject_pm_config_size {
	INJECT_PM_HEAD;
	void *host;
	size_t image_size;
};

/* cuptiProfilerHostGetConfigImage */
struct inject_pm_config {
	INJECT_PM_HEAD;
	void *host;
	size_t image_size;
	uint8_t *image;
};

/* cuptiProfilerHostGetNumOfPasses. @passes: out */
struct inject_pm_passes {
	INJECT_PM_HEAD;
	size_t image_size;
	uint8_t *image;
	size_t passes;
};

/* cuptiProfilerHostEvaluateToGpuValues. @values: out */
struct inject_pm_values {
	INJECT_PM_HEAD;
	void *host;
	const uint8_t *image;
	size_t image_size;
	size_t sample;
	const char **names;
	size_t count;
	double *values;
};

/* cuptiPmSamplingEnable. @sampling: out, an object that all of the following take */
struct inject_pm_enable {
	INJECT_PM_HEAD;
	size_t device;
	void *sampling;
};

/* What starts a sample: so many cycles of the system's clock, or so many nanoseconds. */
#define INJECT_PM_BY_CYCLES 0u
#define INJECT_PM_BY_TIME   1u

/* What a full buffer of the hardware keeps. */
#define INJECT_PM_KEEP_OLDEST 0u

/* cuptiPmSamplingSetConfig. @buffer_size: for raw samples that are not decoded yet */
struct inject_pm_set_config {
	INJECT_PM_HEAD;
	void *sampling;
	size_t config_size;
	const uint8_t *config;
	size_t buffer_size;
	uint64_t interval;
	uint32_t trigger;
	uint32_t keeps;
};

/* cuptiPmSamplingStart, cuptiPmSamplingStop and cuptiPmSamplingDisable */
struct inject_pm_object {
	INJECT_PM_HEAD;
	void *sampling;
};

/* Why decoding ended. */
#define INJECT_PM_IMAGE_FULL 1u

/* cuptiPmSamplingDecodeData, from the hardware's buffer into an image. @reason, @overflow: out */
struct inject_pm_decode {
	INJECT_PM_HEAD;
	void *sampling;
	uint8_t *image;
	size_t image_size;
	uint32_t reason;
	uint8_t overflow;
};

/* cuptiPmSamplingGetCounterDataSize. @image_size: out, of an image for @samples */
struct inject_pm_image_size {
	INJECT_PM_HEAD;
	void *sampling;
	const char **names;
	size_t count;
	uint32_t samples;
	size_t image_size;
};

/* cuptiPmSamplingCounterDataImageInitialize */
struct inject_pm_image {
	INJECT_PM_HEAD;
	void *sampling;
	size_t image_size;
	uint8_t *image;
};

/* cuptiPmSamplingGetCounterDataInfo. All after @image_size are out. */
struct inject_pm_count {
	INJECT_PM_HEAD;
	const uint8_t *image;
	size_t image_size;
	size_t room;
	size_t populated;
	size_t completed;
};

/* cuptiPmSamplingCounterDataGetSampleInfo. @start, @end: out */
struct inject_pm_times {
	INJECT_PM_HEAD;
	void *sampling;
	const uint8_t *image;
	size_t image_size;
	size_t sample;
	uint64_t start;
	uint64_t end;
};

/* Its functions: member, CUPTI's name, structure. */
#define INJECT_PM_FUNCTIONS(f)								\
	f(initialize, cuptiProfilerInitialize, inject_pm_initialize)			\
	f(chip, cuptiDeviceGetChipName, inject_pm_chip)					\
	f(available, cuptiPmSamplingGetCounterAvailability, inject_pm_available)	\
	f(host_begin, cuptiProfilerHostInitialize, inject_pm_host)			\
	f(host_end, cuptiProfilerHostDeinitialize, inject_pm_host_end)			\
	f(host_add, cuptiProfilerHostConfigAddMetrics, inject_pm_metrics)		\
	f(config_size, cuptiProfilerHostGetConfigImageSize, inject_pm_config_size)	\
	f(config, cuptiProfilerHostGetConfigImage, inject_pm_config)			\
	f(passes, cuptiProfilerHostGetNumOfPasses, inject_pm_passes)			\
	f(values, cuptiProfilerHostEvaluateToGpuValues, inject_pm_values)		\
	f(enable, cuptiPmSamplingEnable, inject_pm_enable)				\
	f(set_config, cuptiPmSamplingSetConfig, inject_pm_set_config)			\
	f(start, cuptiPmSamplingStart, inject_pm_object)				\
	f(stop, cuptiPmSamplingStop, inject_pm_object)					\
	f(disable, cuptiPmSamplingDisable, inject_pm_object)				\
	f(decode, cuptiPmSamplingDecodeData, inject_pm_decode)				\
	f(image_size, cuptiPmSamplingGetCounterDataSize, inject_pm_image_size)		\
	f(image, cuptiPmSamplingCounterDataImageInitialize, inject_pm_image)		\
	f(count, cuptiPmSamplingGetCounterDataInfo, inject_pm_count)			\
	f(times, cuptiPmSamplingCounterDataGetSampleInfo, inject_pm_times)

#ifndef __cplusplus

#include <cupti_result.h>

/**
 * struct inject_pm_library - these functions
 * @supported: cuptiProfilerDeviceSupported(), NULL where it is not there
 */
struct inject_pm_library {
	__typeof__(CUptiResult(struct inject_pm_initialize *)) *initialize;
	__typeof__(CUptiResult(struct inject_pm_chip *)) *chip;
	__typeof__(CUptiResult(struct inject_pm_available *)) *available;
	__typeof__(CUptiResult(struct inject_pm_host *)) *host_begin;
	__typeof__(CUptiResult(struct inject_pm_host_end *)) *host_end;
	__typeof__(CUptiResult(struct inject_pm_metrics *)) *host_add;
	__typeof__(CUptiResult(struct inject_pm_config_size *)) *config_size;
	__typeof__(CUptiResult(struct inject_pm_config *)) *config;
	__typeof__(CUptiResult(struct inject_pm_passes *)) *passes;
	__typeof__(CUptiResult(struct inject_pm_values *)) *values;
	__typeof__(CUptiResult(struct inject_pm_enable *)) *enable;
	__typeof__(CUptiResult(struct inject_pm_set_config *)) *set_config;
	__typeof__(CUptiResult(struct inject_pm_object *)) *start;
	__typeof__(CUptiResult(struct inject_pm_object *)) *stop;
	__typeof__(CUptiResult(struct inject_pm_object *)) *disable;
	__typeof__(CUptiResult(struct inject_pm_decode *)) *decode;
	__typeof__(CUptiResult(struct inject_pm_image_size *)) *image_size;
	__typeof__(CUptiResult(struct inject_pm_image *)) *image;
	__typeof__(CUptiResult(struct inject_pm_count *)) *count;
	__typeof__(CUptiResult(struct inject_pm_times *)) *times;
	__typeof__(CUptiResult(struct inject_pm_supported *)) *supported;
};

extern struct inject_pm_library inject_pm;

/* Results that headers of CUDA 11.8 lack or have under other names. */
#define INJECT_PM_BUSY		      26
#define INJECT_PM_NOT_SUPPORTED	      27
#define INJECT_PM_NO_PRIVILEGES	      35
#define INJECT_PM_NO_PRIVILEGES_GUEST 40

/**
 * inject_pm_load - find the functions in the CUPTI that is loaded, and the library that CUPTI needs for them
 * @why: set to a sentence where they are not there
 *
 * Takes the loader's lock, and half a second the first time. Context: a thread of the library.
 *
 * Return: true if inject_pm is filled in.
 */
_Bool inject_pm_load(const char **why);

#endif /* !__cplusplus */

#endif /* GPUMON_INJECT_CUPTI_PM_LIBRARY_H */
