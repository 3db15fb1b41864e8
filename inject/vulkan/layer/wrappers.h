/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Functions of the layer, in place of those below it. */
#ifndef GPUMON_INJECT_VULKAN_LAYER_WRAPPERS_H
#define GPUMON_INJECT_VULKAN_LAYER_WRAPPERS_H

#include "session/backend.h"
#include "vulkan/completion.h"

/**
 * struct inject_vulkan_wrapper - a function of the layer
 * @name: of the function that it stands in front of
 * @function: of the layer
 */
struct inject_vulkan_wrapper {
	const char *name;
	PFN_vkVoidFunction function;
};

#define INJECT_VULKAN_WRAPPER(name, with)                     \
	{                                                     \
#name, (PFN_vkVoidFunction)(PFN_##name)(with) \
	}

/* Ends with one that has no name. Of these files: */
extern const struct inject_vulkan_wrapper inject_vulkan_objects_wrappers[];   /* objects.c */
extern const struct inject_vulkan_wrapper inject_vulkan_submit_wrappers[];    /* submit.c */
extern const struct inject_vulkan_wrapper inject_vulkan_waits_wrappers[];     /* waits.c */
extern const struct inject_vulkan_wrapper inject_vulkan_present_wrappers[];   /* present.c */
extern const struct inject_vulkan_wrapper inject_vulkan_pipelines_wrappers[]; /* pipelines.c */
extern const struct inject_vulkan_wrapper inject_vulkan_labels_wrappers[];    /* labels.c */
extern const struct inject_vulkan_wrapper inject_vulkan_commands_wrappers[];  /* commands.c */

/* inject_enter(), which is above this folder. NULL before inject_vulkan_negotiate(). */
extern void (*inject_vulkan_enter)(const struct inject_backend *backend);

/* Of a device, by the program: the layer's where it has one and the device has the function. */
PFN_vkVoidFunction VKAPI_CALL inject_vulkan_get_device_address(VkDevice device, const char *name);
PFN_vkVoidFunction VKAPI_CALL inject_vulkan_get_instance_address(VkInstance instance,
								 const char *name);

/* The program names command buffers. */
extern _Atomic bool inject_vulkan_has_names INJECT_HIDDEN;

/* String id of the program's name of a command buffer; 0: it has none. @thread: within */
uint32_t inject_vulkan_name_of(struct inject_thread *thread, VkCommandBuffer buffer);

/* The part of a text that has room, with its end; UTF-8 is not cut within a character. NULL: an empty one. */
void inject_vulkan_copy_name(char *to, size_t room, const char *text);

/* In a child after fork. */
void inject_vulkan_labels_forked(void);

/* The image of a present, by the program's number of it, is on the screen, as a call that waits for it says now. */
void inject_vulkan_present_waited(const struct inject_vulkan_device *device,
				  VkSwapchainKHR handle, uint64_t id);

/* The device is being destroyed: its swapchains are, too. */
void inject_vulkan_present_forget(const struct inject_vulkan_device *device);

/* In a child after fork. */
void inject_vulkan_present_forked(void);

/**
 * inject_vulkan_call_begin - a call begins that is recorded
 * @function: which
 * @context: id of the device
 * @class: what it does, 0: as in the list of functions
 *
 * Return: its correlation; 0: it is not recorded.
 */
uint32_t inject_vulkan_call_begin(enum inject_vulkan_function function, uint32_t context,
				  uint16_t class);

/* It has returned. @correlation: what inject_vulkan_call_begin() returned. Returns @result. */
VkResult inject_vulkan_call_end(uint32_t correlation, VkResult result);

#endif /* GPUMON_INJECT_VULKAN_LAYER_WRAPPERS_H */
