/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Vulkan's loader puts the library between itself and the drivers (VK_INSTANCE_LAYERS). */
#ifndef GPUMON_INJECT_VULKAN_LAYER_LAYER_H
#define GPUMON_INJECT_VULKAN_LAYER_LAYER_H

#include "session/backend.h"
#include "vulkan/vulkan.h"

extern const struct inject_backend inject_vulkan_backend;

/**
 * inject_vulkan_negotiate - the loader asks for the layer's functions
 * @interface: as in vkNegotiateLoaderLayerInterfaceVersion()
 * @caller: in the loader's code
 * @enter: called when the program has an instance, and when it has its first device
 */
VkResult inject_vulkan_negotiate(VkNegotiateLayerInterface *interface, const void *caller,
				 void (*enter)(const struct inject_backend *backend));

#endif /* GPUMON_INJECT_VULKAN_LAYER_LAYER_H */
