// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "gpu.h"

static const uint8_t none[16];

static bool is_known(const uint8_t id[16])
{
	return memcmp(id, none, sizeof(none)) != 0;
}

struct gpumon_gpu gpumon_gpu_of(uint32_t id, const struct gpumon_record_device *device,
				const uint8_t boot_id[16], const char *host)
{
	struct gpumon_gpu gpu = { .id = id, .host = host ? host : "", .pci = UINT32_MAX };

	memcpy(gpu.boot_id, boot_id, sizeof(gpu.boot_id));
	if (!device)
		return gpu;
	gpu.type = device->type;
	if (is_known(device->mig_uuid)) {
		memcpy(gpu.uuid, device->mig_uuid, sizeof(gpu.uuid));
		return gpu;
	}
	memcpy(gpu.uuid, device->uuid, sizeof(gpu.uuid));
	/* Device 0 is the host's bridge. */
	if (device->pci && device->type == GPUMON_DEVICE_GPU)
		gpu.pci = device->pci;
	return gpu;
}

/* @unknown: what is said if nothing is known of the machine of one of them. */
static bool same_machine(const struct gpumon_gpu *a, const struct gpumon_gpu *b, bool unknown)
{
	if (is_known(a->boot_id) && is_known(b->boot_id))
		return !memcmp(a->boot_id, b->boot_id, sizeof(a->boot_id));
	return *a->host && *b->host ? !strcmp(a->host, b->host) : unknown;
}

bool gpumon_gpu_same(const struct gpumon_gpu *a, const struct gpumon_gpu *b)
{
	if (is_known(a->uuid) && is_known(b->uuid))
		return !memcmp(a->uuid, b->uuid, sizeof(a->uuid)) &&
		       ((GPUMON_API_OF(a->id) == GPUMON_API_CUDA &&
			 GPUMON_API_OF(b->id) == GPUMON_API_CUDA) ||
			same_machine(a, b, true));
	return a->pci != UINT32_MAX && a->pci == b->pci && same_machine(a, b, false);
}
