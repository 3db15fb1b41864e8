// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "capture/symbol.h"
#include "lib/output_text.h"
#include "record_names.h"

static uint64_t key_of(uint32_t process, uint32_t string)
{
	return (uint64_t)process << 32 | string;
}

int gpumon_names_add(struct gpumon_record_names *names, uint32_t process,
		     const struct gpumon_record_string *string)
{
	char *text = strndup(string->text, string->length);
	uint32_t number = text ? gpumon_intern(&names->texts, text, NULL) : 0;

	free(text);
	if (!number)
		return -1;
	return gpumon_map_set(&names->numbers, key_of(process, string->id), number);
}

uint32_t gpumon_names_string(const struct gpumon_record_names *names, uint32_t process,
			     uint32_t string)
{
	return string ? (uint32_t)gpumon_map_get(&names->numbers, key_of(process, string)) : 0;
}

uint32_t gpumon_names_text(struct gpumon_record_names *names, const char *text)
{
	return gpumon_intern(&names->texts, text, NULL);
}

const char *gpumon_names_of(const struct gpumon_record_names *names, uint32_t number,
			    const char *unknown)
{
	return number && number <= names->texts.n ? names->texts.texts[number - 1] : unknown;
}

char *gpumon_names_printable(const char *text)
{
	size_t length = strlen(text) + 1;
	char *copy = malloc(length);

	if (copy)
		gpumon_text_cut(copy, length, text, 0);
	return copy;
}

char *gpumon_names_copy(const struct gpumon_record_names *names, uint32_t process, uint32_t string)
{
	return gpumon_names_printable(
		gpumon_names_of(names, gpumon_names_string(names, process, string), ""));
}

uint32_t gpumon_names_kernel(struct gpumon_record_names *names, uint32_t process, uint32_t string)
{
	uint32_t plain = gpumon_names_string(names, process, string), number;
	char *text;

	if (!plain)
		return 0;
	number = (uint32_t)gpumon_map_get(&names->kernels, plain);
	if (number)
		return number;
	text = gpumon_demangle(gpumon_names_of(names, plain, ""));
	number = text ? gpumon_names_text(names, text) : 0;
	free(text);
	/* If it cannot be stored, it is looked up again the next time. */
	if (number)
		(void)gpumon_map_set(&names->kernels, plain, number);
	return number ? number : plain;
}

uint32_t gpumon_names_function(struct gpumon_record_names *names, uint32_t process, uint32_t string)
{
	uint32_t plain = gpumon_names_string(names, process, string), number;
	char base[GPUMON_FUNCTION_MAX];
	const char *text, *begin;
	size_t length;

	if (!plain)
		return 0;
	number = (uint32_t)gpumon_map_get(&names->functions, plain);
	if (number)
		return number;
	text = gpumon_names_of(names, plain, "");
	length = strlen(text);
	if (length >= sizeof(base))
		return plain;
	begin = gpumon_function_base(text, &length);
	memcpy(base, begin, length);
	base[length] = '\0';
	number = gpumon_names_text(names, base);
	if (number)
		(void)gpumon_map_set(&names->functions, plain, number);
	return number ? number : plain;
}

void gpumon_names_clear(struct gpumon_record_names *names)
{
	gpumon_intern_clear(&names->texts);
	gpumon_map_clear(&names->numbers);
	gpumon_map_clear(&names->kernels);
	gpumon_map_clear(&names->functions);
}
