/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Which devices of processes are one GPU. Their numbers do not say it: a container, or
 * CUDA_VISIBLE_DEVICES, numbers them from 0.
 */
#ifndef GPUMON_CAPTURE_GPU_H
#define GPUMON_CAPTURE_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/format.h"

/**
 * struct gpumon_gpu - what identifies a device of a process
 * @uuid: UUID, of a MIG instance that of the instance; 0 if unknown
 * @boot_id: which machine it is in, and which of its boots; 0 if unknown
 * @host: name of the machine, "" if unknown
 * @pci: as in struct gpumon_record_device; ~0 if unknown, and for what is only a part of a GPU
 * @id: id of the device
 * @type: enum gpumon_device_type
 */
struct gpumon_gpu {
	uint8_t uuid[16];
	uint8_t boot_id[16];
	const char *host;
	uint32_t pci;
	uint32_t id;
	uint32_t type;
};

/* @device: NULL if the capture has no description of it. @host may be NULL. */
struct gpumon_gpu gpumon_gpu_of(uint32_t id, const struct gpumon_record_device *device,
				const uint8_t boot_id[16], const char *host);

/**
 * gpumon_gpu_same - whether two devices are one
 * @a: a device of a process
 * @b: another one, of the same process or of another
 *
 * They are if they have one UUID, in one boot of one machine; NVIDIA gives out none twice, so CUDA's are
 * compared between machines as well. Where an API has no UUIDs, GPUs at one PCI address of one machine
 * are one. Nothing else says so: a name does not, and a CPU without a UUID may be a part of one.
 */
bool gpumon_gpu_same(const struct gpumon_gpu *a, const struct gpumon_gpu *b);

#endif /* GPUMON_CAPTURE_GPU_H */
