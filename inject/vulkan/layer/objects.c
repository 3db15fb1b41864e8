// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Instances, devices and queues. A device gets what times need, as far as there is it and the program has not
 * switched it on: VK_EXT_calibrated_timestamps (or KHR's), and the reset of queries by the host. Where a driver
 * refuses it with that, it is asked for what the program has asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "layer.h"
#include "session/session.h"
#include "wrappers.h"

#define PROPERTIES2	VK_KHR_GET_PHYSICAL_DEVICE_PROPERTIES_2_EXTENSION_NAME
#define CALIBRATION_KHR "VK_KHR_calibrated_timestamps"
#define CALIBRATION_EXT VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME
#define RESET_EXT	VK_EXT_HOST_QUERY_RESET_EXTENSION_NAME

static bool is_named(const char *name, uint32_t count, const char *const *names)
{
	while (count-- > 0)
		if (strcmp(names[count], name) == 0)
			return true;
	return false;
}

/* The loader's structure that is for layers. */
static VkLayerInstanceCreateInfo *instance_link(const VkInstanceCreateInfo *info)
{
	const VkLayerInstanceCreateInfo *at = info->pNext;

	for (; at; at = at->pNext)
		if (at->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
		    at->function == VK_LAYER_LINK_INFO)
			return (VkLayerInstanceCreateInfo *)(uintptr_t)at;
	return NULL;
}

static VkLayerDeviceCreateInfo *device_link(const VkDeviceCreateInfo *info,
					    VkLayerFunction function)
{
	const VkLayerDeviceCreateInfo *at = info->pNext;

	for (; at; at = at->pNext)
		if (at->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO &&
		    at->function == function)
			return (VkLayerDeviceCreateInfo *)(uintptr_t)at;
	return NULL;
}

/* A program of Vulkan 1.0 has no way to ask for features of extensions without this one. */
static VkResult create_with_properties2(PFN_vkCreateInstance below,
					const VkInstanceCreateInfo *info,
					const VkAllocationCallbacks *allocator,
					VkInstance *instance)
{
	uint32_t count = info->enabledExtensionCount;
	const char **names = calloc(count + 1, sizeof(*names));
	VkInstanceCreateInfo copy = *info;
	VkResult result = VK_ERROR_OUT_OF_HOST_MEMORY;

	if (names) {
		if (count)
			memcpy(names, info->ppEnabledExtensionNames, count * sizeof(*names));
		names[count] = PROPERTIES2;
		copy.enabledExtensionCount = count + 1;
		copy.ppEnabledExtensionNames = names;
		result = below(&copy, allocator, instance);
	}
	free(names);
	return result;
}

static VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
					   const VkAllocationCallbacks *allocator,
					   VkInstance *handle)
{
	VkLayerInstanceCreateInfo *link = instance_link(info);
	const VkApplicationInfo *program = info->pApplicationInfo;
	uint32_t api = program && program->apiVersion ? program->apiVersion : VK_API_VERSION_1_0;
	bool has_properties2 =
		api >= VK_API_VERSION_1_1 ||
		is_named(PROPERTIES2, info->enabledExtensionCount, info->ppEnabledExtensionNames);
	VkResult result = VK_ERROR_INITIALIZATION_FAILED;
	struct inject_vulkan_instance *instance;
	VkLayerInstanceLink *next;
	PFN_vkGetInstanceProcAddr get;
	PFN_vkCreateInstance below;

	if (!link || !link->u.pLayerInfo)
		return result;
	get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
	next = link->u.pLayerInfo->pNext;
	link->u.pLayerInfo = next;
	below = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
	if (!below)
		return result;
	if (!has_properties2) {
		result = create_with_properties2(below, info, allocator, handle);
		has_properties2 = result == VK_SUCCESS;
	}
	if (result != VK_SUCCESS) {
		link->u.pLayerInfo = next;
		result = below(info, allocator, handle);
	}
	if (result != VK_SUCCESS)
		return result;
	instance = inject_vulkan_instance_add(*handle, get, api, has_properties2);
	if (!instance) {
		((PFN_vkDestroyInstance)get(*handle, "vkDestroyInstance"))(*handle, allocator);
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	}
	inject_vulkan_enter(&inject_vulkan_backend);
	return result;
}

static void VKAPI_CALL destroy_instance(VkInstance handle, const VkAllocationCallbacks *allocator)
{
	struct inject_vulkan_instance *instance = handle ? inject_vulkan_instance_find(handle) :
							   NULL;
	PFN_vkDestroyInstance below = instance ? instance->below.vkDestroyInstance : NULL;

	if (!instance)
		return;
	/* From then on another thread may have one at the same place. */
	inject_vulkan_instance_remove(instance);
	below(handle, allocator);
}

/**
 * struct wish - what the layer adds to a device
 * @info: with it
 * @chain: of @info, where a structure of the program had to be changed
 * @features: of @info, where the program has none
 * @names: extensions of @info, for free()
 * @is_more: than the program has asked for
 * @can_reset: the host can reset queries, with @info
 * @could_reset: likewise, with the program's
 * @calibration: the function, with @info; NULL: none
 * @is_khr: it is that of VK_KHR_calibrated_timestamps
 * @adds_calibration: the program has not asked for it
 * @adds_reset: the program has not asked for the extension
 */
struct wish {
	VkDeviceCreateInfo info;
	struct inject_vulkan_chain chain;
	VkPhysicalDeviceHostQueryResetFeatures features;
	const char **names;
	bool is_more;
	bool can_reset;
	bool could_reset;
	const char *calibration;
	bool is_khr;
	bool adds_calibration;
	bool adds_reset;
};

static void add_extension(struct wish *wish, const char *name)
{
	uint32_t count = wish->info.enabledExtensionCount;

	wish->names[count] = name;
	wish->info.enabledExtensionCount = count + 1;
	wish->is_more = true;
}

static void wish_for_calibration(struct wish *wish, const VkDeviceCreateInfo *info,
				 const VkExtensionProperties *list, uint32_t count)
{
	/* Older loaders know the functions of the first one only. */
	static const char *const names[] = { CALIBRATION_EXT, CALIBRATION_KHR };
	static const char *const functions[] = { "vkGetCalibratedTimestampsEXT",
						 "vkGetCalibratedTimestampsKHR" };
	unsigned int i;

	for (i = 0; i < 2 && !wish->calibration; i++)
		if (is_named(names[i], info->enabledExtensionCount,
			     info->ppEnabledExtensionNames)) {
			wish->calibration = functions[i];
			wish->is_khr = i;
		}
	for (i = 0; i < 2 && !wish->calibration; i++) {
		if (!inject_vulkan_has_extension(list, count, names[i]))
			continue;
		wish->calibration = functions[i];
		wish->is_khr = i;
		wish->adds_calibration = true;
		add_extension(wish, names[i]);
	}
}

/* Whether the device has the feature. */
static bool supports_reset(const struct inject_vulkan_instance *instance, VkPhysicalDevice physical)
{
	VkPhysicalDeviceHostQueryResetFeatures reset = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES,
	};
	VkPhysicalDeviceFeatures2 all = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
		.pNext = &reset,
	};

	if (instance->below.vkGetPhysicalDeviceFeatures2)
		instance->below.vkGetPhysicalDeviceFeatures2(physical, &all);
	return reset.hostQueryReset;
}

/* Sets the feature in a copy of the program's structure, or in one of the layer's. */
static bool switch_reset_on(struct wish *wish, const void *chain)
{
	VkStructureType types[] = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
				    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES };
	void *changed;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (!inject_vulkan_chain_find(chain, types[i]))
			continue;
		wish->info.pNext =
			inject_vulkan_chain_copy(&wish->chain, chain, types[i], &changed);
		if (!wish->info.pNext) {
			wish->info.pNext = chain;
			return false;
		}
		if (i)
			((VkPhysicalDeviceHostQueryResetFeatures *)changed)->hostQueryReset =
				VK_TRUE;
		else
			((VkPhysicalDeviceVulkan12Features *)changed)->hostQueryReset = VK_TRUE;
		return true;
	}
	wish->features = (VkPhysicalDeviceHostQueryResetFeatures){
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES,
		.pNext = (void *)(uintptr_t)chain,
		.hostQueryReset = VK_TRUE,
	};
	wish->info.pNext = &wish->features;
	return true;
}

static bool is_reset_on(const void *chain)
{
	const VkPhysicalDeviceHostQueryResetFeatures *one = inject_vulkan_chain_find(
		chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES);
	const VkPhysicalDeviceVulkan12Features *many = inject_vulkan_chain_find(
		chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);

	return (one && one->hostQueryReset) || (many && many->hostQueryReset);
}

static void wish_for_reset(struct wish *wish, const struct inject_vulkan_instance *instance,
			   VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
			   const VkExtensionProperties *list, uint32_t count)
{
	bool is_named_there =
		is_named(RESET_EXT, info->enabledExtensionCount, info->ppEnabledExtensionNames);
	VkPhysicalDeviceProperties properties;

	if (wish->could_reset)
		return;
	instance->below.vkGetPhysicalDeviceProperties(physical, &properties);
	if (!is_named_there &&
	    (properties.apiVersion < VK_API_VERSION_1_2 || instance->api < VK_API_VERSION_1_2)) {
		wish->adds_reset = inject_vulkan_has_extension(list, count, RESET_EXT);
		if (!wish->adds_reset)
			return;
	}
	wish->can_reset = supports_reset(instance, physical) && switch_reset_on(wish, info->pNext);
	wish->adds_reset &= wish->can_reset;
	wish->is_more |= wish->can_reset;
	if (wish->adds_reset)
		add_extension(wish, RESET_EXT);
}

static void make_wish(struct wish *wish, const struct inject_vulkan_instance *instance,
		      VkPhysicalDevice physical, const VkDeviceCreateInfo *info)
{
	VkExtensionProperties *list;
	uint32_t count;

	memset(wish, 0, sizeof(*wish));
	wish->info = *info;
	wish->could_reset = is_reset_on(info->pNext);
	wish->can_reset = wish->could_reset;
	wish->names = calloc(info->enabledExtensionCount + 3, sizeof(*wish->names));
	if (!wish->names || !instance->has_properties2)
		return;
	if (info->enabledExtensionCount)
		memcpy(wish->names, info->ppEnabledExtensionNames,
		       info->enabledExtensionCount * sizeof(*wish->names));
	wish->info.ppEnabledExtensionNames = wish->names;
	list = inject_vulkan_extensions(instance, physical, &count);
	wish_for_calibration(wish, info, list, count);
	wish_for_reset(wish, instance, physical, info, list, count);
	free(list);
}

/* Whether the driver can read CLOCK_MONOTONIC beside its clock. False of @usable: nor its clock. */
static bool has_monotonic(const struct inject_vulkan_instance *instance, VkPhysicalDevice physical,
			  bool is_khr, bool *usable)
{
	PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT get =
		is_khr ? instance->below.domains_khr :
			 instance->below.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT;
	VkTimeDomainEXT domains[16];
	uint32_t count = 16, i;
	bool found = false;

	*usable = false;
	if (!get || get(physical, &count, domains) < VK_SUCCESS)
		return false;
	for (i = 0; i < count; i++) {
		*usable |= domains[i] == VK_TIME_DOMAIN_DEVICE_EXT;
		found |= domains[i] == VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
	}
	return found;
}

static void use_wish(struct inject_vulkan_device *device, const struct wish *wish, bool is_granted,
		     const struct inject_vulkan_instance *instance, VkPhysicalDevice physical)
{
	bool usable = false;

	if (wish->calibration && (is_granted || !wish->adds_calibration)) {
		device->has_monotonic = has_monotonic(instance, physical, wish->is_khr, &usable);
		if (usable)
			device->below.calibrate =
				(PFN_vkGetCalibratedTimestampsEXT)device->below.get(
					device->handle, wish->calibration);
		device->hides_calibration = wish->adds_calibration;
	}
	if (is_granted ? wish->can_reset : wish->could_reset) {
		device->below.reset =
			(PFN_vkResetQueryPool)device->below.get(device->handle, "vkResetQueryPool");
		if (!device->below.reset)
			device->below.reset = (PFN_vkResetQueryPool)device->below.get(
				device->handle, "vkResetQueryPoolEXT");
		device->hides_reset = is_granted && wish->adds_reset;
	}
}

static void take_device(struct inject_vulkan_device *device, const VkDeviceCreateInfo *info,
			const struct inject_vulkan_instance *instance, VkPhysicalDevice physical,
			VkDevice handle, const struct wish *wish, bool is_granted)
{
	const VkDeviceGroupDeviceCreateInfo *group = inject_vulkan_chain_find(
		info->pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO);
	VkLayerDeviceCreateInfo *data = device_link(info, VK_LOADER_DATA_CALLBACK);
	static _Atomic bool has_entered;

	device->handle = handle;
	device->set_data = data ? data->u.pfnSetDeviceLoaderData : NULL;
	if (group && group->physicalDeviceCount > 1)
		device->untimed = INJECT_VULKAN_SEVERAL;
	else if (!device->set_data)
		device->untimed = INJECT_VULKAN_NO_DATA;
	use_wish(device, wish, is_granted, instance, physical);
	inject_vulkan_device_add(device, handle, instance, physical);
	/* The driver is loaded by now: what the library does at the program's end comes before the driver's. */
	if (!atomic_exchange(&has_entered, true))
		inject_vulkan_enter(&inject_vulkan_backend);
	device->has_passes = atomic_load(&inject_session.is_open) &&
			     inject_session.record & GPUMON_RECORD_PASSES && !device->untimed;
}

static VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
					 const VkAllocationCallbacks *allocator, VkDevice *handle)
{
	struct inject_vulkan_instance *instance = inject_vulkan_instance_find(physical);
	VkLayerDeviceCreateInfo *link = device_link(info, VK_LAYER_LINK_INFO);
	VkResult result = VK_ERROR_INITIALIZATION_FAILED;
	struct inject_vulkan_device *device;
	PFN_vkCreateDevice below;
	VkLayerDeviceLink *next;
	bool is_granted = false;
	struct wish wish;

	if (!instance || !link || !link->u.pLayerInfo)
		return result;
	below = (PFN_vkCreateDevice)link->u.pLayerInfo->pfnNextGetInstanceProcAddr(
		instance->handle, "vkCreateDevice");
	device = inject_vulkan_device_new();
	if (!device)
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	device->below.get = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
	next = link->u.pLayerInfo->pNext;
	link->u.pLayerInfo = next;
	make_wish(&wish, instance, physical, info);
	if (wish.is_more) {
		result = below(physical, &wish.info, allocator, handle);
		is_granted = result == VK_SUCCESS;
		/* Layers below have moved it. */
		link->u.pLayerInfo = next;
	}
	if (!is_granted)
		result = below(physical, info, allocator, handle);
	if (result == VK_SUCCESS)
		take_device(device, info, instance, physical, *handle, &wish, is_granted);
	else
		inject_vulkan_device_remove(device);
	free(wish.names);
	return result;
}

static void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks *allocator)
{
	struct inject_vulkan_device *device = handle ? inject_vulkan_device_find(handle) : NULL;
	PFN_vkDestroyDevice below = device ? device->below.vkDestroyDevice : NULL;

	if (!device)
		return;
	inject_vulkan_present_forget(device);
	inject_vulkan_completion_destroy(device);
	below(handle, allocator);
}

static void VKAPI_CALL get_queue(VkDevice handle, uint32_t family, uint32_t index, VkQueue *queue)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);

	device->below.vkGetDeviceQueue(handle, family, index, queue);
	inject_vulkan_queue_add(device, *queue, family, index);
}

static void VKAPI_CALL get_queue_2(VkDevice handle, const VkDeviceQueueInfo2 *info, VkQueue *queue)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);

	device->below.vkGetDeviceQueue2(handle, info, queue);
	inject_vulkan_queue_add(device, *queue, info->queueFamilyIndex, info->queueIndex);
}

const struct inject_vulkan_wrapper inject_vulkan_objects_wrappers[] = {
	INJECT_VULKAN_WRAPPER(vkGetInstanceProcAddr, inject_vulkan_get_instance_address),
	INJECT_VULKAN_WRAPPER(vkGetDeviceProcAddr, inject_vulkan_get_device_address),
	INJECT_VULKAN_WRAPPER(vkCreateInstance, create_instance),
	INJECT_VULKAN_WRAPPER(vkDestroyInstance, destroy_instance),
	INJECT_VULKAN_WRAPPER(vkCreateDevice, create_device),
	INJECT_VULKAN_WRAPPER(vkDestroyDevice, destroy_device),
	INJECT_VULKAN_WRAPPER(vkGetDeviceQueue, get_queue),
	INJECT_VULKAN_WRAPPER(vkGetDeviceQueue2, get_queue_2),
	{ NULL, NULL },
};
