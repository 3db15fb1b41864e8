// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* What limits a kernel, by metrics of the GPU in samples of its executions. */
#include <inttypes.h>
#include <stdlib.h>

#include "lib/memory.h"
#include "lib/text.h"
#include "metrics.h"
#include "verdict_internal.h"

/* How many samples of a kernel have a metric. */
static uint64_t samples_of(const struct gpumon_view *view, const struct gpumon_kernel_row *row,
			   enum gpumon_metric metric)
{
	const struct gpumon_metric_sum *sum =
		gpumon_kernel_metric_sum(view, row, gpumon_metric_known(metric));

	return sum ? sum->samples : 0;
}

/* False if there are too few samples to say anything. */
static bool metric_of(const struct gpumon_view *view, const struct gpumon_kernel_row *row,
		      enum gpumon_metric metric, double *mean)
{
	return samples_of(view, row, metric) >= gpumon_verdict_limit(LIMIT_METRIC_SAMPLES) &&
	       gpumon_kernel_metric(view, row, gpumon_metric_known(metric), mean);
}

/* Whether a kernel has at least, or at most, so much of a metric. */
static bool has_metric(const struct gpumon_view *view, const struct gpumon_kernel_row *row,
		       enum gpumon_metric metric, enum gpumon_verdict_limit limit, bool most)
{
	double mean;

	return metric_of(view, row, metric, &mean) &&
	       (most ? mean <= (double)gpumon_verdict_limit(limit) :
		       mean >= (double)gpumon_verdict_limit(limit));
}

/* SMs of the GPUs with metrics, 0 if these differ or are not known. */
static uint32_t multiprocessors_of(const struct gpumon_view *view)
{
	uint32_t count = 0;

	for (unsigned int i = 0; i < view->metrics->device_count; i++) {
		const struct gpumon_metric_device *device = &view->metrics->devices[i];

		if (device->of_kernels && count && device->multiprocessors != count)
			return 0;
		if (device->of_kernels)
			count = device->multiprocessors;
	}
	return count;
}

/* A rule about a kernel. @metrics: those that it stands on, the first one as its reason */
struct kernel_rule {
	const char *rule;
	const char *says;
	const char *remedy;
	enum gpumon_metric metrics[3];
};

static const struct kernel_rule memory_bound = {
	"memory_bound",
	"is limited by the GPU's memory",
	"Less traffic helps: fused kernels, smaller types, data that is used again.",
	{ GPUMON_METRIC_DRAM, GPUMON_METRIC_SM_ACTIVE, GPUMON_METRIC_OCCUPANCY },
};
static const struct kernel_rule tensor_bound = {
	"compute_bound",
	"is limited by the tensor pipes",
	"Less work or smaller types help, or a faster GPU.",
	{ GPUMON_METRIC_TENSOR, GPUMON_METRIC_SM_ACTIVE, GPUMON_METRIC_DRAM },
};
static const struct kernel_rule issue_bound = {
	"compute_bound",
	"is limited by the instructions that SMs issue",
	"Fewer instructions help: tensor pipes where it multiplies matrices, wider loads, less arithmetic.",
	{ GPUMON_METRIC_ISSUE, GPUMON_METRIC_SM_ACTIVE, GPUMON_METRIC_DRAM },
};
static const struct kernel_rule too_few_blocks = {
	"too_few_blocks",
	"leaves SMs without work",
	"More blocks help: a larger batch, a grid of smaller blocks, another kernel beside it.",
	{ GPUMON_METRIC_SM_ACTIVE, GPUMON_METRIC_DRAM, GPUMON_METRIC_TENSOR },
};
static const struct kernel_rule too_few_warps = {
	"too_few_warps",
	"has few warps to hide latency with",
	"More or larger blocks help, or fewer registers and less shared memory for each.",
	{ GPUMON_METRIC_OCCUPANCY, GPUMON_METRIC_SM_ACTIVE, GPUMON_METRIC_DRAM },
};

/* The first that fires. Few warps do not matter where memory or pipes are busy all the same. */
static const struct kernel_rule *rule_of_kernel(const struct gpumon_view *view,
						const struct gpumon_kernel_row *row)
{
	uint32_t multiprocessors = multiprocessors_of(view);

	if (has_metric(view, row, GPUMON_METRIC_DRAM, LIMIT_DRAM, false))
		return &memory_bound;
	if (has_metric(view, row, GPUMON_METRIC_TENSOR, LIMIT_TENSOR, false))
		return &tensor_bound;
	if (has_metric(view, row, GPUMON_METRIC_ISSUE, LIMIT_ISSUE, false))
		return &issue_bound;
	if (has_metric(view, row, GPUMON_METRIC_SM_ACTIVE, LIMIT_SM_ACTIVE, true))
		return row->blocks && row->blocks < multiprocessors ? &too_few_blocks : NULL;
	if (has_metric(view, row, GPUMON_METRIC_OCCUPANCY, LIMIT_OCCUPANCY, true))
		return &too_few_warps;
	return NULL;
}

static char *add_text(char *text, const char *more)
{
	char *longer = gpumon_asprintf("%s%s%s", text, *text ? ", " : "", more);

	free(text);
	return longer;
}

/* "DRAM throughput 88.1%, SM active 96.5%", to be freed. */
static char *metrics_text(const struct gpumon_view *view, const struct gpumon_kernel_row *row,
			  const struct kernel_rule *rule)
{
	char value[GPUMON_METRIC_TEXT], *text = gpumon_strdup(""), part[128];
	uint32_t multiprocessors = multiprocessors_of(view);
	double mean;

	for (size_t i = 0; i < sizeof(rule->metrics) / sizeof(rule->metrics[0]); i++) {
		const struct gpumon_metric_about *about = gpumon_metric_known(rule->metrics[i]);

		if (!metric_of(view, row, rule->metrics[i], &mean))
			continue;
		snprintf(part, sizeof(part), "%s %s", about->text,
			 gpumon_metric_text(value, about, mean));
		text = add_text(text, part);
	}
	if ((rule != &too_few_blocks && rule != &too_few_warps) || !row->blocks || !multiprocessors)
		return text;
	snprintf(part, sizeof(part), "at most %" PRIu64 " blocks of %" PRIu64 " threads on %u SMs",
		 row->blocks, row->threads, multiprocessors);
	return add_text(text, part);
}

/* Its name among the numbers of a finding. */
static const char *metric_key(enum gpumon_metric metric)
{
	static const char *const keys[GPUMON_METRICS] = {
		[GPUMON_METRIC_SM_ACTIVE] = "sm_active_percent",
		[GPUMON_METRIC_OCCUPANCY] = "occupancy_percent",
		[GPUMON_METRIC_TENSOR] = "tensor_percent",
		[GPUMON_METRIC_DRAM] = "dram_percent",
		[GPUMON_METRIC_ISSUE] = "issue_percent",
	};

	return keys[metric];
}

static void rule_kernel(const struct gpumon_view *view, const struct gpumon_kernel_row *row,
			uint64_t all_ns, struct gpumon_verdict *verdict)
{
	const struct kernel_rule *rule = rule_of_kernel(view, row);
	char count[GPUMON_TEXT_NUMBER], *name, *metrics;
	struct gpumon_finding *finding;
	double mean;

	finding = rule ? gpumon_verdict_add(verdict, rule->rule, gpumon_verdict_used(row)) : NULL;
	if (!finding)
		return;
	name = gpumon_verdict_kernel(row, all_ns);
	metrics = metrics_text(view, row, rule);
	finding->place = gpumon_strdup(row->name);
	finding->text = gpumon_asprintf(
		"%s of the GPU time: it %s (%s; %s samples). %s", name, rule->says, metrics,
		gpumon_text_count(count, sizeof(count), samples_of(view, row, rule->metrics[0])),
		rule->remedy);
	gpumon_verdict_number(finding, "gpu_ns", gpumon_verdict_used(row));
	gpumon_verdict_number(finding, "samples", samples_of(view, row, rule->metrics[0]));
	for (size_t i = 0; i < sizeof(rule->metrics) / sizeof(rule->metrics[0]); i++) {
		if (metric_of(view, row, rule->metrics[i], &mean) && mean >= 0 && mean < 1e9)
			gpumon_verdict_number(finding, metric_key(rule->metrics[i]),
					      (uint64_t)(mean + 0.5));
	}
	gpumon_verdict_number(finding, "blocks", row->blocks);
	gpumon_verdict_number(finding, "multiprocessors", multiprocessors_of(view));
	free(name);
	free(metrics);
}

/* Each kernel with much of the GPU time. Waiting for other ranks is no work. */
void gpumon_verdict_kernels(const struct gpumon_view *view, struct gpumon_verdict *verdict)
{
	uint64_t all_ns = 0;

	for (unsigned int i = 0; i < view->kernel_count; i++)
		all_ns += gpumon_verdict_used(&view->kernels[i]);
	for (unsigned int i = 0; view->metrics && i < view->kernel_count; i++) {
		const struct gpumon_kernel_row *row = &view->kernels[i];

		if (row->kind == GPUMON_WORK_KERNEL && !row->collective && row->metrics &&
		    gpumon_verdict_reaches(gpumon_verdict_used(row), LIMIT_METRIC_KERNEL, all_ns))
			rule_kernel(view, row, all_ns, verdict);
	}
}
