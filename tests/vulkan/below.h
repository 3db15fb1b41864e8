/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_TESTS_BELOW_H
#define GPUMON_TESTS_BELOW_H

#include <stdbool.h>
#define VK_NO_PROTOTYPES
#include <vulkan/vk_layer.h>

/* Those of the driver, for the one instance and the one device. */
extern PFN_vkGetInstanceProcAddr get_of_instance;
extern PFN_vkGetDeviceProcAddr get_of_device;
extern VkInstance instance;
extern VkDevice device;

#define BELOW_DEVICE(name)   ((PFN_##name)get_of_device(device, #name))
#define BELOW_INSTANCE(name) ((PFN_##name)get_of_instance(instance, #name))

/* A surface without a display (below_screen.c): the function of this name; NULL: it is not one of these. */
PFN_vkVoidFunction screen_function(const char *name);
/* Whether the driver must not hear of this extension. */
bool is_of_screen(const char *extension);
/* The device was made: @family of its first queue. */
void screen_begin(VkPhysicalDevice physical, uint32_t family);

#endif /* GPUMON_TESTS_BELOW_H */
