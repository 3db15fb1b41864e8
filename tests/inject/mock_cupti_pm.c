// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Stand-in for libcupti: samples of the GPU's performance monitors. From the start on a sample is made at each
 * interval, its values follow from its number, and it is in the account. Of the variables, MOCK_PM_FITS is
 * how many metrics go into one pass, MOCK_PM_ROOM how many samples into the hardware's buffer, MOCK_PM_DECODE_US
 * and MOCK_PM_VALUES_US what a sample costs, MOCK_PM_BUSY how often another process has the GPU, and
 * with MOCK_PM_HANGS decoding does not return once sampling has been stopped.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../inject/cupti/pm_library.h"
#include "mock_cupti.h"

#define METRICS_MAX 32
#define MAGIC	    0x6d61736au

struct host {
	unsigned int count;
	bool is_scheduled;
};

/* What goes into the hardware. */
struct config {
	uint32_t magic;
	uint32_t passes;
};

struct sample {
	uint64_t number;
	uint64_t start;
	uint64_t end;
};

struct image {
	uint32_t magic;
	uint32_t room;
	uint32_t count;
	uint32_t reserved;
	struct sample samples[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_enabled, is_configured, is_running, has_overflow;
static uint64_t interval, next_start, next_number, first_kept, room;
/* The hardware's buffer: samples from @first_kept to @next_number. */
static struct sample kept[1 << 16];

static unsigned long number_of(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

/* As it happens on real GPUs: to the last of each so many samples. */
static bool is_one_of(const char *name, uint64_t number)
{
	unsigned long each = number_of(name, 0);

	return each && number % each == each - 1;
}

static void spend(const char *name, size_t times)
{
	unsigned long us = number_of(name, 0);

	if (us)
		usleep((useconds_t)(us * times));
}

bool mock_pm_is_enabled(void)
{
	return is_enabled;
}

static void switch_sampling(bool on, uint64_t now)
{
	struct mock_account *account = mock_account(MOCK_SAMPLING);

	account->start = now;
	account->other = on;
}

/* All samples that are due. Called under the lock. */
static void make_samples(void)
{
	uint64_t now = mock_now();
	struct mock_account *account;
	struct sample *sample;

	for (; is_running && next_start + interval <= now; next_start += interval) {
		account = mock_account(MOCK_SAMPLE);
		account->start = next_start;
		account->end = next_start + interval;
		account->other = next_number;
		if (next_number - first_kept >= room)
			has_overflow = true;
		if (!has_overflow) {
			sample = &kept[next_number % (sizeof(kept) / sizeof(kept[0]))];
			*sample = (struct sample){ next_number, next_start, next_start + interval };
		}
		next_number++;
	}
}

CUptiResult cuptiProfilerInitialize(struct inject_pm_initialize *arguments)
{
	(void)arguments;
	return mock_failure("cuptiProfilerInitialize", 0);
}

CUptiResult cuptiProfilerDeviceSupported(struct inject_pm_supported *arguments)
{
	if (arguments->size != INJECT_PM_SIZE(inject_pm_supported, api) ||
	    arguments->api != INJECT_PM_API)
		return CUPTI_ERROR_INVALID_PARAMETER;
	arguments->all = getenv("MOCK_PM_UNSUPPORTED") ? 1 : INJECT_PM_SUPPORTED;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceGetChipName(struct inject_pm_chip *arguments)
{
	arguments->chip = "GX100";
	return mock_failure("cuptiDeviceGetChipName", 0);
}

CUptiResult cuptiPmSamplingGetCounterAvailability(struct inject_pm_available *arguments)
{
	static unsigned long busy;
	CUptiResult result = mock_failure("cuptiPmSamplingGetCounterAvailability", 0);

	if (result != CUPTI_SUCCESS)
		return result;
	if (!arguments->image) {
		arguments->image_size = 100;
		return busy++ < number_of("MOCK_PM_BUSY", 0) ? (CUptiResult)INJECT_PM_BUSY :
							       CUPTI_SUCCESS;
	}
	memset(arguments->image, 7, arguments->image_size);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostInitialize(struct inject_pm_host *arguments)
{
	CUptiResult result = mock_failure("cuptiProfilerHostInitialize", 0);

	if (result != CUPTI_SUCCESS)
		return result;
	if (arguments->profiler != INJECT_PM_PROFILER || strcmp(arguments->chip, "GX100") != 0 ||
	    arguments->available[99] != 7)
		return CUPTI_ERROR_INVALID_PARAMETER;
	arguments->host = calloc(1, sizeof(struct host));
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostDeinitialize(struct inject_pm_host_end *arguments)
{
	free(arguments->host);
	return CUPTI_SUCCESS;
}

/* The GPU has no NVLink, and other names for what it reads and writes. */
CUptiResult cuptiProfilerHostConfigAddMetrics(struct inject_pm_metrics *arguments)
{
	struct host *host = arguments->host;

	if (host->count)
		mock_broken(MOCK_RULE_METRICS_TWICE);
	for (size_t i = 0; i < arguments->count; i++)
		if (strncmp(arguments->names[i], "nvl", 3) == 0 ||
		    strcmp(arguments->names[i], "dram__bytes_read.sum") == 0)
			return CUPTI_ERROR_UNKNOWN;
	host->count = (unsigned int)arguments->count;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImageSize(struct inject_pm_config_size *arguments)
{
	arguments->image_size = sizeof(struct config) + ((struct host *)arguments->host)->count;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImage(struct inject_pm_config *arguments)
{
	struct host *host = arguments->host;
	const struct config config = { MAGIC,
				       host->count > number_of("MOCK_PM_FITS", 99) ? 2u : 1u };

	memcpy(arguments->image, &config, sizeof(config));
	host->is_scheduled = true;
	return CUPTI_SUCCESS;
}

static uint32_t passes_of(const uint8_t *image)
{
	struct config config;

	memcpy(&config, image, sizeof(config));
	return config.magic == MAGIC ? config.passes : 0;
}

CUptiResult cuptiProfilerHostGetNumOfPasses(struct inject_pm_passes *arguments)
{
	arguments->passes = passes_of(arguments->image);
	return CUPTI_SUCCESS;
}

/* The last metric has no value. */
CUptiResult cuptiProfilerHostEvaluateToGpuValues(struct inject_pm_values *arguments)
{
	const struct image *image = (const void *)arguments->image;
	const struct host *host = arguments->host;
	uint64_t number;

	spend("MOCK_PM_VALUES_US", 1);
	if (image->magic != MAGIC || arguments->sample >= image->count || !host->is_scheduled ||
	    host->count != arguments->count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	number = image->samples[arguments->sample].number;
	for (size_t i = 0; i + 1 < arguments->count; i++)
		arguments->values[i] = (double)(number % 64) + (double)i / 16;
	arguments->values[arguments->count - 1] = NAN;
	if (is_one_of("MOCK_PM_WILD", number) && arguments->count > 3)
		arguments->values[2] = 5053;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingEnable(struct inject_pm_enable *arguments)
{
	CUptiResult result = mock_failure("cuptiPmSamplingEnable", 0);

	if (result != CUPTI_SUCCESS)
		return result;
	if (is_enabled)
		return CUPTI_ERROR_INVALID_OPERATION;
	is_enabled = true;
	is_configured = false;
	arguments->sampling = &is_enabled;
	return CUPTI_SUCCESS;
}

/* As the real one of some versions, it ends all of CUPTI. */
CUptiResult cuptiPmSamplingDisable(struct inject_pm_object *arguments)
{
	if (arguments->sampling != &is_enabled)
		return CUPTI_ERROR_INVALID_PARAMETER;
	is_enabled = false;
	if (mock_is_subscribed())
		mock_forget_activity();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingSetConfig(struct inject_pm_set_config *arguments)
{
	CUptiResult result = mock_failure("cuptiPmSamplingSetConfig", (int)arguments->trigger);

	if (result != CUPTI_SUCCESS)
		return result;
	if (!is_enabled || is_running || passes_of(arguments->config) != 1)
		return CUPTI_ERROR_NOT_SUPPORTED;
	interval = arguments->interval;
	room = number_of("MOCK_PM_ROOM", sizeof(kept) / sizeof(kept[0]));
	is_configured = true;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingStart(struct inject_pm_object *arguments)
{
	static unsigned long refused;
	CUptiResult result = mock_failure("cuptiPmSamplingStart", 0);

	(void)arguments;
	if (result != CUPTI_SUCCESS)
		return result;
	if (!is_configured || is_running)
		return CUPTI_ERROR_INVALID_OPERATION;
	if (has_overflow && refused < number_of("MOCK_PM_RESTARTS_REFUSED", 0)) {
		refused++;
		return CUPTI_ERROR_UNKNOWN;
	}
	pthread_mutex_lock(&lock);
	next_start = mock_now();
	first_kept = next_number;
	/* As on an H200: the first one has a begin of long ago, and is none. */
	kept[next_number % (sizeof(kept) / sizeof(kept[0]))] =
		(struct sample){ next_number, next_start - 500000000, next_start };
	next_number++;
	has_overflow = false;
	is_running = true;
	switch_sampling(true, next_start);
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingStop(struct inject_pm_object *arguments)
{
	(void)arguments;
	pthread_mutex_lock(&lock);
	make_samples();
	is_running = false;
	switch_sampling(false, mock_now());
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingGetCounterDataSize(struct inject_pm_image_size *arguments)
{
	arguments->image_size = sizeof(struct image) + arguments->samples * sizeof(struct sample);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingCounterDataImageInitialize(struct inject_pm_image *arguments)
{
	struct image *image = (void *)arguments->image;

	image->magic = MAGIC;
	image->count = 0;
	image->room = (uint32_t)((arguments->image_size - sizeof(*image)) / sizeof(struct sample));
	return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingDecodeData(struct inject_pm_decode *arguments)
{
	CUptiResult result = mock_failure("cuptiPmSamplingDecodeData", 0);
	const struct timespec forever = { .tv_sec = 1000 };
	struct image *image = (void *)arguments->image;

	if (result != CUPTI_SUCCESS)
		return result;
	if (getenv("MOCK_PM_HANGS") && !is_running)
		nanosleep(&forever, NULL);
	pthread_mutex_lock(&lock);
	make_samples();
	if (has_overflow) {
		pthread_mutex_unlock(&lock);
		arguments->overflow = 1;
		return CUPTI_ERROR_OUT_OF_MEMORY;
	}
	for (; first_kept < next_number && image->count < image->room; first_kept++)
		if (!is_one_of("MOCK_PM_SKIPS", first_kept))
			image->samples[image->count++] =
				kept[first_kept % (sizeof(kept) / sizeof(kept[0]))];
	arguments->reason = first_kept < next_number ? INJECT_PM_IMAGE_FULL : 2;
	pthread_mutex_unlock(&lock);
	spend("MOCK_PM_DECODE_US", image->count);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingGetCounterDataInfo(struct inject_pm_count *arguments)
{
	const struct image *image = (const void *)arguments->image;

	arguments->room = image->room;
	arguments->populated = image->count;
	arguments->completed = image->count;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingCounterDataGetSampleInfo(struct inject_pm_times *arguments)
{
	const struct image *image = (const void *)arguments->image;

	if (arguments->sample >= image->count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	arguments->start = image->samples[arguments->sample].start;
	arguments->end = image->samples[arguments->sample].end;
	return CUPTI_SUCCESS;
}
