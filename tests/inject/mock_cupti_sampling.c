// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Stand-in for libcupti: PC sampling. Each kernel that runs while its context is sampled has the same
 * samples each time, by a table that test_stalls.py has, too. The library's declarations of the API are
 * used, because those of older headers lack members; they are compared with the newest ones where they are.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "cupti/pc_sampling.h"
#include "mock_cupti.h"

/* Functions: kernel_a to kernel_z, by their last letter. Each has so many instructions. */
#define FUNCTIONS 26
#define MOST_PCS  12000
#define REASONS	  6

static const char *const reason_names[REASONS] = {
	"smsp__pcsamp_warps_issue_stalled_long_scoreboard",
	"smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
	"smsp__pcsamp_warps_issue_stalled_wait",
	"smsp__pcsamp_warps_issue_stalled_wait_not_issued",
	"smsp__pcsamp_warps_issue_stalled_barrier",
	"smsp__pcsamp_warps_issue_stalled_selected",
};

/**
 * struct function - samples of a kernel that were not read
 * @runs: while the context was sampled
 * @left: instructions of these that were not read, from the last one on
 * @name: given to the library, which does not free it
 */
struct function {
	uint32_t runs;
	uint32_t left;
	char *name;
};

static _Atomic bool is_sampled, is_full;
static struct function functions[FUNCTIONS];
static struct inject_pc_data *buffer;
static uint32_t period;
static uint64_t all, dropped, other, runs_since_full;
static const struct mock_image *modules[2];

static uint32_t setting(const char *name, uint32_t otherwise)
{
	const char *text = getenv(name);

	return text ? (uint32_t)atoi(text) : otherwise;
}

static uint32_t pcs_of_function(void)
{
	uint32_t pcs = setting("MOCK_SAMPLED_PCS", 3);

	return pcs < MOST_PCS ? pcs : MOST_PCS;
}

static uint64_t crc_of(const void *data, size_t size)
{
	const unsigned char *at = data;
	uint64_t crc = 1469598103934665603u;

	while (size-- > 0)
		crc = (crc ^ *at++) * 1099511628211u;
	return crc;
}

/* Kernels a to c are in the first module. Called under the lock. */
static uint64_t module_of(unsigned int function)
{
	const struct mock_image *module = modules[function > 2];

	return module ? crc_of(module->cubin, module->size) : 1;
}

void mock_module_loaded(const struct mock_image *module)
{
	mock_lock();
	modules[!module->has_lines] = module;
	mock_unlock();
}

void mock_sample_kernel(const char *name)
{
	unsigned int function = (unsigned char)name[strlen(name) - 1] - 'a';
	uint32_t each, pcs = pcs_of_function();

	if (!is_sampled || is_full || function >= FUNCTIONS)
		return;
	if (!functions[function].name)
		functions[function].name = strdup(name);
	/* What was read in part is not added to. */
	if (functions[function].left && functions[function].left < pcs)
		return;
	mock_account(MOCK_SAMPLED)->other = function;
	functions[function].runs++;
	functions[function].left = pcs;
	for (each = 0; each < pcs; each++)
		all += each % 7 + 1;
	all += 3;
	other++;
	dropped += 2;
	runs_since_full++;
	is_full = runs_since_full >= setting("MOCK_SAMPLES_FULL", UINT32_MAX);
}

/* MOCK_NAMES_ANEW: a copy for each instruction, that much longer. */
static char *name_of(const struct function *function)
{
	uint32_t more = setting("MOCK_NAMES_ANEW", 0);
	size_t size = strlen(function->name) + 1;
	char *copy = more ? malloc(more + size) : NULL;

	if (!copy)
		return function->name;
	memset(copy, 'x', more);
	memcpy(copy + more, function->name, size);
	return copy;
}

/* An instruction of a function. Its reasons: one of three, and the part of it that was not issued. */
static bool put_pc(struct inject_pc *pc, unsigned int function, uint32_t at)
{
	struct function *of = &functions[function];
	uint32_t reason = (function + at) % 3 * 2, samples = (at % 7 + 1) * of->runs;

	if (pc->count < 2 || pc->size < offsetof(struct inject_pc, correlation) + 4) {
		mock_broken(MOCK_RULE_SAMPLING_ROOM);
		return false;
	}
	pc->module = module_of(function);
	pc->function = function;
	pc->offset = at * 16;
	pc->name = name_of(of);
	pc->correlation = 0;
	pc->stalls[0] = (struct inject_pc_stall){ 100 + reason, samples };
	pc->count = 1;
	if (reason < 4)
		pc->stalls[pc->count++] = (struct inject_pc_stall){ 101 + reason, of->runs };
	return true;
}

static uint32_t count_left(void)
{
	uint32_t left = 0;

	for (unsigned int i = 0; i < FUNCTIONS; i++)
		left += functions[i].left;
	return left;
}

/* Called under the lock. */
static void put_samples(struct inject_pc_data *data)
{
	data->count = 0;
	for (unsigned int i = 0; i < FUNCTIONS; i++) {
		while (functions[i].left && data->count < data->room &&
		       put_pc(&data->pcs[data->count], i, functions[i].left - 1)) {
			functions[i].left--;
			data->count++;
		}
		if (!functions[i].left)
			functions[i].runs = 0;
	}
	data->remaining = count_left();
	data->samples = all;
	data->dropped = dropped;
	data->other = other;
	all = dropped = other = 0;
}

static bool is_ours(void)
{
	char name[16];

	return !prctl(PR_GET_NAME, name, 0, 0, 0) && strcmp(name, "gpumon") == 0;
}

static void forget_samples(void)
{
	for (unsigned int i = 0; i < FUNCTIONS; i++)
		functions[i].left = functions[i].runs = 0;
	all = dropped = other = runs_since_full = 0;
	is_full = false;
}

void mock_sampling_ends(unsigned int rule)
{
	if (is_sampled)
		mock_broken(rule);
}

CUptiResult cuptiPCSamplingEnable(struct inject_pc_context *parameters)
{
	CUptiResult result = mock_failure("cuptiPCSamplingEnable", 0);

	if (parameters->size != sizeof(*parameters) || !parameters->context)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (result != CUPTI_SUCCESS)
		return result;
	if (is_sampled)
		mock_broken(MOCK_RULE_SAMPLED_TWICE);
	mock_lock();
	forget_samples();
	is_sampled = true;
	buffer = NULL;
	mock_unlock();
	mock_account(MOCK_STALLS)->other = 1;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingDisable(struct inject_pc_context *parameters)
{
	mock_failure("cuptiPCSamplingDisable", 0);
	if (parameters->size != sizeof(*parameters) || !is_sampled) {
		mock_broken(MOCK_RULE_NOT_SAMPLED);
		return CUPTI_ERROR_INVALID_OPERATION;
	}
	mock_lock();
	is_sampled = false;
	if (buffer && !is_full)
		put_samples(buffer);
	mock_unlock();
	mock_account(MOCK_STALLS)->other = 0;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingSetConfigurationAttribute(struct inject_pc_configuration *parameters)
{
	CUptiResult result =
		mock_failure("cuptiPCSamplingSetConfigurationAttribute", (int)parameters->count);

	if (result != CUPTI_SUCCESS)
		return result;
	for (size_t i = 0; i < parameters->count; i++) {
		const struct inject_pc_attribute *attribute = &parameters->attributes[i];

		if (attribute->type == INJECT_PC_DATA)
			buffer = attribute->value.data;
		else if (attribute->type == INJECT_PC_PERIOD)
			period = attribute->value.number;
		else if (attribute->type == INJECT_PC_REASONS &&
			 attribute->value.list.count != REASONS)
			return CUPTI_ERROR_INVALID_PARAMETER;
	}
	return buffer && period >= 5 && period <= 31 ? CUPTI_SUCCESS :
						       CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiPCSamplingGetNumStallReasons(struct inject_pc_count_reasons *parameters)
{
	*parameters->count = getenv("MOCK_NO_REASONS") ? 0 : REASONS;
	return mock_failure("cuptiPCSamplingGetNumStallReasons", 0);
}

CUptiResult cuptiPCSamplingGetStallReasons(struct inject_pc_get_reasons *parameters)
{
	for (uint32_t i = 0; i < REASONS; i++) {
		parameters->numbers[i] = 100 + i;
		snprintf(parameters->names[i], INJECT_PC_NAME, "%s", reason_names[i]);
	}
	return mock_failure("cuptiPCSamplingGetStallReasons", 0);
}

CUptiResult cuptiPCSamplingGetData(struct inject_pc_get *parameters)
{
	CUptiResult result = mock_failure("cuptiPCSamplingGetData", 0);
	struct inject_pc_data *data = parameters->data;

	if (!is_ours())
		mock_broken(MOCK_RULE_SAMPLES_IN_PROGRAM);
	if (!is_sampled) {
		mock_broken(MOCK_RULE_NOT_SAMPLED);
		return CUPTI_ERROR_INVALID_OPERATION;
	}
	if (result != CUPTI_SUCCESS)
		return result;
	mock_lock();
	data->is_full = is_full;
	if (is_full)
		data->count = data->remaining = data->samples = data->dropped = data->other = 0;
	else
		put_samples(data);
	mock_unlock();
	/* As where there is more than room. */
	return is_full || data->remaining ? CUPTI_ERROR_OUT_OF_MEMORY : CUPTI_SUCCESS;
}

CUptiResult cuptiGetCubinCrc(struct inject_pc_crc *parameters)
{
	parameters->crc = crc_of(parameters->cubin, parameters->cubin_size);
	return mock_failure("cuptiGetCubinCrc", 0);
}

CUptiResult cuptiGetSassToSourceCorrelation(struct inject_pc_line *parameters)
{
	const char *name = parameters->function;
	bool is_right;

	mock_lock();
	is_right = crc_of(parameters->cubin, parameters->cubin_size) == module_of(0);
	mock_unlock();
	if (!is_right)
		return CUPTI_ERROR_INVALID_MODULE;
	parameters->line = 100 * (uint32_t)(name[strlen(name) - 1] - 'a' + 1) +
			   (uint32_t)parameters->offset / 16;
	parameters->file = strdup("kernels.cu");
	parameters->folder = strdup("/source");
	return mock_failure("cuptiGetSassToSourceCorrelation", 0);
}
