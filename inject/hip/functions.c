// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "functions.h"

/* More than any version has; 7.2 has 449. */
#define FUNCTIONS 1024

static struct inject_hip_function functions[FUNCTIONS];

static const struct {
	const char *name;
	uint8_t arguments;
} kernels[] = {
	{ "hipLaunchKernel", INJECT_HIP_ARGUMENTS_HOST },
	{ "hipExtLaunchKernel", INJECT_HIP_ARGUMENTS_HOST },
	{ "hipLaunchCooperativeKernel", INJECT_HIP_ARGUMENTS_HOST },
	{ "hipModuleLaunchKernel", INJECT_HIP_ARGUMENTS_MODULE },
	{ "hipModuleLaunchCooperativeKernel", INJECT_HIP_ARGUMENTS_MODULE },
	{ "hipExtModuleLaunchKernel", INJECT_HIP_ARGUMENTS_ITEMS },
	{ "hipHccModuleLaunchKernel", INJECT_HIP_ARGUMENTS_ITEMS },
	{ "hipLaunchByPtr", INJECT_HIP_ARGUMENTS_UNKNOWN },
	{ "hipLaunchKernelExC", INJECT_HIP_ARGUMENTS_UNKNOWN },
	{ "hipDrvLaunchKernelEx", INJECT_HIP_ARGUMENTS_UNKNOWN },
	{ "hipExtLaunchMultiKernelMultiDevice", INJECT_HIP_ARGUMENTS_UNKNOWN },
	{ "hipLaunchCooperativeKernelMultiDevice", INJECT_HIP_ARGUMENTS_UNKNOWN },
	{ "hipModuleLaunchCooperativeKernelMultiDevice", INJECT_HIP_ARGUMENTS_UNKNOWN },
};

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static void classify(struct inject_hip_function *function)
{
	const char *name = function->name;
	size_t i;

	for (i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (strcmp(name, kernels[i].name) == 0) {
			function->class = INJECT_CLASS_KERNEL;
			function->arguments = kernels[i].arguments;
		}
	if (strcmp(name, "hipGraphLaunch") == 0)
		function->class = INJECT_CLASS_GRAPH;
	else if (begins(name, "hipMemcpy") || begins(name, "hipDrvMemcpy"))
		function->class = INJECT_CLASS_COPY;
	else if (begins(name, "hipMemset"))
		function->class = INJECT_CLASS_SET;
	else if (strcmp(name, "hipDeviceSynchronize") == 0 ||
		 strcmp(name, "hipCtxSynchronize") == 0 ||
		 strcmp(name, "hipStreamSynchronize") == 0 ||
		 strcmp(name, "hipEventSynchronize") == 0)
		function->class = INJECT_CLASS_BLOCKING;
	function->captures = begins(name, "hipStreamBeginCapture");
}

void inject_hip_functions_find(void)
{
	const char *none = inject_hip.hipApiName(UINT32_MAX), *name;
	uint32_t i;

	for (i = 0; i < FUNCTIONS; i++) {
		name = inject_hip.hipApiName(i);
		if (!name || (none && strcmp(name, none) == 0))
			continue;
		functions[i].name = name;
		classify(&functions[i]);
	}
}

struct inject_hip_function *inject_hip_function(uint32_t number)
{
	return number < FUNCTIONS && functions[number].name ? &functions[number] : NULL;
}
