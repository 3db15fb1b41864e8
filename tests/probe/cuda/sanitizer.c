// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A stand-in for NVIDIA's libsanitizer-public.so: patches kernels of the GPU here with the functions that
 * gpumon-user writes, and aborts at calls in a wrong order.
 *
 * Settings in the environment:
 *	MOCK_SANITIZER_BUSY=1	another tool holds it
 *	MOCK_SANITIZER_REFUSE=1	functions are refused
 *	MOCK_SANITIZER_MODULE=1	modules cannot be patched
 *	MOCK_SANITIZER_DATA=1	patched kernels get no data
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cupti.h>

#include "../../inject/mock.h"
#include "cubin.h"
#include "device.h"

#define DOMAINS	  8
#define CALLBACKS 1024
#define PATCHES	  8
#define CONTEXTS  8

enum {
	SUCCESS = 0,
	INVALID_PARAMETER = 1,
	LIMIT_REACHED = 10,
	DRIVER_API = 1,
	RESOURCE = 3,
	CONTEXT_DESTROY_STARTING = 4,
	MODULE_LOADED = 9,
	MODULE_UNLOAD_STARTING = 10,
	ENTER = 1,
	EXIT = 2,
	GLOBAL = 3,
	BARRIER = 6,
};

struct call {
	int site;
	const char *function;
	const void *parameters;
	const void *result;
};

struct module_data {
	CUcontext context;
	CUmodule module;
	size_t size;
	const void *cubin;
};

typedef void (*callback_t)(void *user, int domain, uint32_t id, const void *data);

static callback_t callback;
static void *user;
static bool enabled[DOMAINS][CALLBACKS];

/* Functions in a context. */
static struct {
	struct mock_context *context;
	char *text;
} added[CONTEXTS];

/* What the next sanitizerPatchModule() does. */
static struct {
	struct mock_module *module;
	int instruction;
	char function[32];
} asked[PATCHES];
static unsigned int asked_n;

static void wrong(const char *what)
{
	fprintf(stderr, "mock: sanitizer: %s\n", what);
	abort();
}

static void send(int domain, uint32_t id, const void *data)
{
	if (callback && domain < DOMAINS && id < CALLBACKS && enabled[domain][id])
		callback(user, domain, id, data);
}

static bool is(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static void tell_loaded(const char *name, const void *parameters)
{
	const cuModuleLoadData_params *load = parameters;
	struct mock_module *module = (struct mock_module *)(void *)*load->module;
	bool is_machine_code, is_file = strcmp(name, "cuModuleLoad") == 0;
	size_t size;
	char *file = is_file ? mock_read_file((const char *)load->image, &size) : NULL,
	     *text = mock_text_of(is_file ? file : load->image, &is_machine_code);
	struct module_data data = {
		.context = (CUcontext)(void *)module->context,
		.module = *load->module,
		.cubin = cubin_make(text, &size),
	};

	data.size = size;
	send(RESOURCE, MODULE_LOADED, &data);
	free((void *)data.cubin);
	free(text);
	free(file);
}

static void on_api(unsigned int domain, unsigned int id, bool is_exit, const char *name,
		   const void *parameters, int *result, uint32_t correlation)
{
	struct call call = { is_exit, name, parameters, result };

	(void)correlation;
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API)
		return;
	if (!is_exit)
		send(DRIVER_API, id, &call);
	if (is_exit && *result == CUDA_SUCCESS && is(name, "cuModuleLoad"))
		tell_loaded(name, parameters);
	if (!is_exit && is(name, "cuModuleUnload")) {
		struct mock_module *module = *(struct mock_module *const *)parameters;
		struct module_data data = { .context = (CUcontext)(void *)module->context,
					    .module = (CUmodule)(void *)module };

		send(RESOURCE, MODULE_UNLOAD_STARTING, &data);
	}
	if (!is_exit && is(name, "cuCtxDestroy"))
		send(RESOURCE, CONTEXT_DESTROY_STARTING, parameters);
	if (is_exit)
		send(DRIVER_API, id, &call);
}

static void no_resource(unsigned int id, CUcontext context, CUgraph graph, CUgraphNode node,
			CUgraphNode original)
{
	(void)id, (void)context, (void)graph, (void)node, (void)original;
}

static void no_nvtx(unsigned int id, const char *name, const void *parameters, const void *result)
{
	(void)id, (void)name, (void)parameters, (void)result;
}

static void no_work(enum mock_work work, const char *name, uint32_t correlation, CUstream stream,
		    uint64_t node, uint32_t graph, uint64_t bytes)
{
	(void)work, (void)name, (void)correlation, (void)stream, (void)node, (void)graph,
		(void)bytes;
}

static void no_wait(uint32_t correlation, CUstream stream)
{
	(void)stream;
	(void)correlation;
}

static void no_stream(uint32_t id)
{
	(void)id;
}

static void no_allocation(uint32_t correlation, uint64_t address, uint64_t bytes)
{
	(void)correlation, (void)address, (void)bytes;
}

int sanitizerSubscribe(void **handle, callback_t function, void *data)
{
	static const struct mock_hooks hooks = { on_api,  no_resource, no_nvtx,	     no_work,
						 no_wait, no_stream,   no_allocation };

	if (mock_setting("MOCK_SANITIZER_BUSY", 0) || callback)
		return LIMIT_REACHED;
	callback = function;
	user = data;
	*handle = &callback;
	mock_set_hooks(&hooks);
	return SUCCESS;
}

int sanitizerUnsubscribe(void *handle)
{
	if (handle != &callback)
		return INVALID_PARAMETER;
	callback = NULL;
	return SUCCESS;
}

int sanitizerEnableCallback(uint32_t enable, void *handle, int domain, uint32_t id)
{
	if (handle != &callback || domain >= DOMAINS || id >= CALLBACKS)
		return INVALID_PARAMETER;
	enabled[domain][id] = enable;
	return SUCCESS;
}

static const char *text_in(const struct mock_context *context)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (added[i].text && added[i].context == context)
			return added[i].text;
	return NULL;
}

int sanitizerAddPatches(const void *image, CUcontext context)
{
	const char *text = cubin_text(image);

	if (!text || mock_setting("MOCK_SANITIZER_REFUSE", 0))
		return INVALID_PARAMETER;
	if (text_in((struct mock_context *)(void *)context))
		wrong("functions are added twice");
	for (int i = 0; i < CONTEXTS; i++) {
		if (added[i].text)
			continue;
		added[i].context = (struct mock_context *)(void *)context;
		added[i].text = strdup(text);
		return SUCCESS;
	}
	return INVALID_PARAMETER;
}

/* The body of a function of patches, or NULL. */
static const char *find_function(const struct mock_context *context, const char *name)
{
	const char *text = text_in(context);
	char head[96];

	snprintf(head, sizeof(head), ".visible .func (.param .b32 gpumon_result) %s(", name);
	text = text ? strstr(text, head) : NULL;
	return text ? strchr(text, '{') : NULL;
}

int sanitizerPatchInstructions(int instruction, CUmodule handle, const char *function)
{
	struct mock_module *module = (struct mock_module *)(void *)handle;

	if (!find_function(module->context, function) || asked_n == PATCHES)
		return INVALID_PARAMETER;
	asked[asked_n].module = module;
	asked[asked_n].instruction = instruction;
	snprintf(asked[asked_n++].function, sizeof(asked->function), "%s", function);
	return SUCCESS;
}

/* The end of a block that begins here. */
static const char *block_end(const char *at)
{
	int depth = 0;

	do
		depth += (*at == '{') - (*at == '}');
	while (*at++ && depth);
	return at;
}

/* Programs of a function: "and.b32 %gpumon_runs, %gpumon_programs, BIT; ... { block }" */
static void read_programs(const char *body, struct step *step)
{
	static const char head[] = "and.b32 %gpumon_runs, %gpumon_programs, ",
			  sampled[] = "rem.u32 %gpumon_block, %gpumon_block, ";
	const char *end = block_end(body), *at = strstr(body, sampled);

	step->patched = true;
	step->sample = at && at < end ? (uint32_t)atoi(at + strlen(sampled)) : 0;
	for (at = strstr(body, head); at && at < end; at = strstr(at, head)) {
		const char *block = strchr(at, '{'), *plain = strstr(at, "@%gpumon_plain bra");
		char *text = strndup(block, (size_t)(block_end(block) - block)), error[256];

		if (step->blocks_n == BLOCKS_MAX)
			wrong("too many programs");
		step->bits[step->blocks_n] = (uint32_t)strtoul(at + strlen(head), NULL, 0);
		step->atomics[step->blocks_n] = plain && plain < block;
		step->blocks[step->blocks_n] = ptx_parse(text, error);
		if (!step->blocks[step->blocks_n++])
			wrong(error);
		free(text);
		at = block;
	}
	if (!step->blocks_n)
		wrong("a function without programs");
}

static bool is_before(int instruction, const struct step *step)
{
	if (instruction == EXIT)
		return is(step->op, "ret") || is(step->op, "exit");
	if (instruction == GLOBAL)
		return is(step->op, "ld.global") || is(step->op, "st.global") ||
		       is(step->op, "red.global");
	return instruction == BARRIER && is(step->op, "bar.");
}

static void add_point(struct kernel *kernel, struct step *steps, uint32_t *n, const char *body,
		      const struct step *before)
{
	struct step *step;

	if (*n == STEPS_MAX)
		wrong("too many instructions");
	step = &steps[(*n)++];
	step->guard = before ? before->guard : -1;
	step->guard_not = before && before->guard_not;
	if (before &&
	    (before->op[0] == 'l' || before->op[0] == 's' || !strncmp(before->op, "red", 3))) {
		step->has_context = true;
		step->address = before->operands[before->op[0] == 'l'];
		step->size = strstr(before->op, "64") ? 8 : 4;
		step->flags = before->op[0] == 'l' ? 1 : before->op[0] == 's' ? 2 : 3;
	}
	read_programs(body, step);
	kernel->has_programs = true;
}

static void patch_kernel(struct kernel *kernel, int instruction, const char *body)
{
	struct step *steps = calloc(STEPS_MAX, sizeof(*steps));
	uint32_t n = 0;

	if (instruction == ENTER)
		add_point(kernel, steps, &n, body, NULL);
	for (uint32_t i = 0; i < kernel->steps_n; i++) {
		if (*kernel->steps[i].op && is_before(instruction, &kernel->steps[i]))
			add_point(kernel, steps, &n, body, &kernel->steps[i]);
		if (n == STEPS_MAX)
			wrong("too many instructions");
		steps[n++] = kernel->steps[i];
	}
	free(kernel->steps);
	kernel->steps = steps;
	kernel->steps_n = n;
}

int sanitizerPatchModule(CUmodule handle)
{
	struct mock_module *module = (struct mock_module *)(void *)handle;

	if (mock_setting("MOCK_SANITIZER_MODULE", 0)) {
		asked_n = 0;
		return INVALID_PARAMETER;
	}
	if (!asked_n)
		wrong("a module is patched with nothing");
	for (unsigned int i = 0; i < asked_n; i++) {
		if (asked[i].module != module)
			wrong("another module was to be patched");
		for (uint32_t j = 0; j < module->kernels.kernels_n; j++)
			patch_kernel(&module->kernels.kernels[j], asked[i].instruction,
				     find_function(module->context, asked[i].function));
	}
	asked_n = 0;
	return SUCCESS;
}

int sanitizerSetCallbackData(CUfunction handle, const void *data)
{
	struct mock_function *function = (struct mock_function *)(void *)handle;

	if (!function->kernel->has_programs)
		wrong("data for a kernel that is not patched");
	if (!mock_is_memory((CUdeviceptr)data, 8))
		wrong("data that are not in the GPU's memory");
	if (mock_setting("MOCK_SANITIZER_DATA", 0))
		return INVALID_PARAMETER;
	function->data = data;
	return SUCCESS;
}
