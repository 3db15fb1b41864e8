// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The linker: cubins of several texts. */
#include <stdlib.h>
#include <string.h>

#include <cupti.h>

#include "../../inject/mock.h"
#include "cubin.h"
#include "device.h"

/* The texts, one behind the other. */
struct mock_link {
	char *text;
	void *cubin;
};

#define DRIVER(name, parameters, body)                                                          \
	(CUresult) mock_call(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name, #name, \
			     false, __builtin_return_address(0), parameters, body)

CUresult cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues,
		      CUlinkState *state)
{
	struct mock_link *link = calloc(1, sizeof(*link));

	(void)numOptions;
	(void)options;
	(void)optionValues;
	link->text = calloc(1, 1);
	*state = (CUlinkState)link;
	return CUDA_SUCCESS;
}

static int add(CUlinkState state, const void *data)
{
	struct mock_link *link = (struct mock_link *)(void *)state;
	bool is_machine_code;
	char *text = data ? mock_text_of(data, &is_machine_code) : NULL;

	if (!text)
		return CUDA_ERROR_INVALID_IMAGE;
	link->text = realloc(link->text, strlen(link->text) + strlen(text) + 1);
	strcat(link->text, text);
	free(text);
	return CUDA_SUCCESS;
}

static int add_data(const void *parameters)
{
	const cuLinkAddData_v2_params *p = parameters;
	char *copy = calloc(1, p->size + 1);
	int result;

	memcpy(copy, p->data, p->size);
	result = add(p->state, copy);
	free(copy);
	return result;
}

CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
		       const char *name, unsigned int numOptions, CUjit_option *options,
		       void **optionValues)
{
	cuLinkAddData_v2_params p = { state, type,	 data,	  size,
				      name,  numOptions, options, optionValues };

	return DRIVER(cuLinkAddData_v2, &p, add_data);
}

static int add_file(const void *parameters)
{
	const cuLinkAddFile_v2_params *p = parameters;
	size_t size;
	char *data = mock_read_file(p->path, &size);
	int result = data ? add(p->state, data) : CUDA_ERROR_FILE_NOT_FOUND;

	free(data);
	return result;
}

CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
		       unsigned int numOptions, CUjit_option *options, void **optionValues)
{
	cuLinkAddFile_v2_params p = { state, type, path, numOptions, options, optionValues };

	return DRIVER(cuLinkAddFile_v2, &p, add_file);
}

CUresult cuLinkComplete(CUlinkState state, void **cubin, size_t *size)
{
	struct mock_link *link = (struct mock_link *)(void *)state;

	link->cubin = *cubin = cubin_make(link->text, size);
	return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state)
{
	struct mock_link *link = (struct mock_link *)(void *)state;

	free(link->cubin);
	free(link->text);
	free(link);
	return CUDA_SUCCESS;
}
