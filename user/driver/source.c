// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "bpf_source.h"
#include "source.h"

int gpumon_source_take(struct gpumon_context *context, const char *text, void *choice)
{
	static const char *const names[] = {
		[GPUMON_SOURCE_AUTO] = "auto",
		[GPUMON_SOURCE_MODULE] = "module",
		[GPUMON_SOURCE_BPF] = "bpf",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(text, names[i])) {
			*(enum gpumon_source_choice *)choice = (enum gpumon_source_choice)i;
			return 0;
		}
	}
	gpumon_usage(context, "--source: auto, module or bpf");
	return -1;
}

/* Only these errors mean that BPF can help. Other errors of a loaded module must be shown. */
static bool other_source_helps(const struct gpumon_error *err)
{
	return err->code == GPUMON_ERROR_NOT_LOADED || err->code == GPUMON_ERROR_PERMISSION;
}

int gpumon_source_open(struct gpumon_source *source, enum gpumon_source_choice choice, bool events,
		       struct gpumon_error *err)
{
	struct gpumon_error module = { 0 }, bpf = { 0 };

	memset(source, 0, sizeof(*source));
	if (choice == GPUMON_SOURCE_BPF)
		return gpumon_bpf_source_open(&source->bpf, events, err);
	if (!gpumon_client_open(&source->client, &module))
		return 0;
	*err = module;
	if (choice == GPUMON_SOURCE_MODULE || !other_source_helps(&module))
		return -1;
	if (!gpumon_bpf_source_open(&source->bpf, events, &bpf))
		return 0;
	return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, bpf.sys, module.code,
				"module: %.230s; without it: %.230s", module.message, bpf.message);
}

void gpumon_source_close(struct gpumon_source *source)
{
	gpumon_client_close(source->client);
	gpumon_bpf_source_close(gpumon_source_bpf(source));
	memset(source, 0, sizeof(*source));
}

int gpumon_source_read(struct gpumon_source *source, unsigned int parts, uint32_t period,
		       struct gpumon_model *model, struct gpumon_error *err)
{
	if (gpumon_source_bpf(source))
		return gpumon_bpf_source_read(gpumon_source_bpf(source), parts, model, err);
	return gpumon_client_read(source->client, parts, period, model, err);
}

int gpumon_source_reset(struct gpumon_source *source, struct gpumon_period *closed,
			struct gpumon_error *err)
{
	if (gpumon_source_bpf(source))
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
			"--reset: BPF counts from the beginning of this command and has no periods; leave --reset out");
	return gpumon_client_reset(source->client, closed, err);
}

int gpumon_source_event_ring_get(struct gpumon_source *source, struct gpumon_event_ring *ring,
				 struct gpumon_error *err)
{
	if (!gpumon_source_bpf(source))
		return gpumon_client_event_ring_get(source->client, ring, err);
	gpumon_bpf_source_event_ring(gpumon_source_bpf(source), ring);
	return 0;
}

int gpumon_source_check_group(const struct gpumon_model *model, const char *name,
			      struct gpumon_error *err)
{
	if (gpumon_model_group(model, name))
		return 0;
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
				"there is no group \"%.32s\"%s: \"gpumon-user stat\" lists them",
				name, model->info.source ? " by BPF" : "");
}
