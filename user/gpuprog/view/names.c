// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "capture/symbol.h"
#include "lib/output_text.h"

#define SHORT_BYTES 128 /* of a name in a sentence */
#define NAME_BYTES  512

void gpumon_probe_names_init(struct gpumon_probe_names *names,
			     const struct gpumon_probe_result *result)
{
	memset(names, 0, sizeof(*names));
	names->result = result;
	if (!result->run || !result->run->kernels_n)
		return;
	names->kernels = calloc(result->run->kernels_n, sizeof(*names->kernels));
	names->failed = !names->kernels;
}

void gpumon_probe_names_clear(struct gpumon_probe_names *names)
{
	free(names->kernels);
	gpumon_pool_clear(&names->pool);
	memset(names, 0, sizeof(*names));
}

static const char *keep(struct gpumon_probe_names *names, const char *text)
{
	const char *kept = text ? gpumon_pool_text(&names->pool, text) : NULL;

	names->failed |= !kept;
	return kept ? kept : "";
}

static const char *print_name(struct gpumon_probe_names *names, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static const char *print_name(struct gpumon_probe_names *names, const char *format, ...)
{
	char text[NAME_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return keep(names, text);
}

const char *gpumon_probe_kernel_mangled(const struct gpumon_probe_names *names, uint64_t kernel)
{
	const struct gpumon_probe_run *run = names->result->run;

	return run && kernel < run->kernels_n ? run->kernels[kernel].name : NULL;
}

const char *gpumon_probe_kernel_name(struct gpumon_probe_names *names, uint64_t kernel)
{
	const char *mangled = gpumon_probe_kernel_mangled(names, kernel);
	char *name;

	if (!mangled || !names->kernels)
		return print_name(names, "kernel %" PRIu64, kernel);
	if (!names->kernels[kernel]) {
		name = gpumon_demangle(mangled);
		names->kernels[kernel] = keep(names, name);
		free(name);
	}
	return names->kernels[kernel];
}

const char *gpumon_probe_kernel_short(struct gpumon_probe_names *names, uint64_t kernel)
{
	char text[SHORT_BYTES], whole[NAME_BYTES * 2];

	gpumon_text_function(whole, sizeof(whole), gpumon_probe_kernel_name(names, kernel));
	return keep(names, gpumon_text_fit(text, sizeof(text), whole, SHORT_BYTES / 2));
}

const char *gpumon_probe_only_kernel(struct gpumon_probe_names *names)
{
	const struct gpumon_probe_run *run = names->result->run;
	uint32_t found = 0, only = 0;

	for (uint32_t i = 0; run && i < run->kernels_n; i++) {
		if (!gpumon_probe_way_is_in(run->kernels[i].way))
			continue;
		found++;
		only = i;
	}
	return found == 1 ? gpumon_probe_kernel_short(names, only) : NULL;
}

const char *gpumon_probe_line_name(struct gpumon_probe_names *names, uint64_t line)
{
	const struct gpumon_probe_run *run = names->result->run;
	const struct gpumon_probe_line_of *of;
	const char *slash;

	if (!run || !line || line > run->lines_n)
		return NULL;
	of = &run->lines[line - 1];
	slash = strrchr(of->file, '/');
	return print_name(names, "%s:%" PRIu32, slash ? slash + 1 : of->file, of->line);
}

const char *gpumon_probe_device_name(struct gpumon_probe_names *names, uint32_t device)
{
	const struct gpumon_probe_result *result = names->result;

	if (device < result->devices_n && result->devices[device].name)
		return result->devices[device].name;
	return print_name(names, "GPU %" PRIu32, device);
}
