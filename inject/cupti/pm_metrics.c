// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "pm_metrics.h"

/* The host object of @choice schedules these names. False: not in one pass, or not at all on this GPU. */
static bool schedule(struct inject_pm_choice *choice)
{
	struct inject_pm_metrics add = {
		.size = INJECT_PM_SIZE(inject_pm_metrics, count),
		.host = choice->host,
		.names = choice->names,
		.count = choice->count,
	};
	struct inject_pm_config_size config_size = {
		.size = INJECT_PM_SIZE(inject_pm_config_size, image_size),
		.host = choice->host,
	};
	struct inject_pm_config config = {
		.size = INJECT_PM_SIZE(inject_pm_config, image),
		.host = choice->host,
		.image = choice->config,
	};
	struct inject_pm_passes passes = {
		.size = INJECT_PM_SIZE(inject_pm_passes, passes),
		.image = choice->config,
	};

	if (inject_pm.host_add(&add) != CUPTI_SUCCESS ||
	    inject_pm.config_size(&config_size) != CUPTI_SUCCESS ||
	    config_size.image_size > sizeof(choice->config))
		return false;
	config.image_size = config_size.image_size;
	passes.image_size = config_size.image_size;
	choice->config_size = config_size.image_size;
	return inject_pm.config(&config) == CUPTI_SUCCESS &&
	       inject_pm.passes(&passes) == CUPTI_SUCCESS && passes.passes == 1;
}

static void end_host(void *host)
{
	struct inject_pm_host_end end = {
		.size = INJECT_PM_SIZE(inject_pm_host_end, host),
		.host = host,
	};

	if (host)
		inject_pm.host_end(&end);
}

void inject_pm_unchoose(struct inject_pm_choice *choice)
{
	end_host(choice->host);
	choice->host = NULL;
	choice->count = 0;
}

/*
 * A new host object for each try, with all metrics at once: one that has scheduled some counts the passes
 * of more of them wrongly (CUPTI 13.0).
 */
static CUptiResult try_metrics(struct inject_pm_choice *choice, const char *chip,
			       const uint8_t *available, bool *fits)
{
	struct inject_pm_host begin = {
		.size = INJECT_PM_SIZE(inject_pm_host, host),
		.profiler = INJECT_PM_PROFILER,
		.chip = chip,
		.available = available,
	};
	CUptiResult result = inject_pm.host_begin(&begin);

	if (result != CUPTI_SUCCESS)
		return result;
	end_host(choice->host);
	choice->host = begin.host;
	*fits = schedule(choice);
	return CUPTI_SUCCESS;
}

CUptiResult inject_pm_choose(struct inject_pm_choice *choice, const char *chip,
			     const uint8_t *available)
{
	bool is_chosen[GPUMON_METRICS] = { false }, fits = true;
	const struct gpumon_metric_name *name;
	CUptiResult result;

	choice->count = 0;
	for (size_t i = 0; i < GPUMON_METRIC_NAMES; i++) {
		name = &gpumon_metric_names[i];
		if (is_chosen[name->metric])
			continue;
		choice->names[choice->count++] = name->name;
		result = try_metrics(choice, chip, available, &fits);
		if (result != CUPTI_SUCCESS) {
			inject_pm_unchoose(choice);
			return result;
		}
		is_chosen[name->metric] = fits;
		if (!fits)
			choice->count--;
	}
	/* The last try was one too many: once more without it. */
	if (!fits && choice->count) {
		result = try_metrics(choice, chip, available, &fits);
		if (result != CUPTI_SUCCESS || !fits)
			inject_pm_unchoose(choice);
		return result;
	}
	return CUPTI_SUCCESS;
}
