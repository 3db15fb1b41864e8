// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A layer between gpumon's and the driver, which makes another driver of it. BELOW, words with "," between:
 *   other     lavapipe is not named as such, and its queue and its queries are used by one thread at a time. Without it,
 *             lavapipe may not be asked for queries: 22.3 may hang if another thread submits meanwhile
 *   hide      neither calibrated timestamps nor a reset of queries by the host
 *   refuse    no device with calibrated timestamps, although there are some
 *   untimed   queues without timestamps
 *   lose=N    from the N-th submission on the device is lost
 *   refuse-present=N  the N-th present fails
 *   acquire=N         the N-th image takes ACQUIRE_MS to be acquired
 *   screen            a surface and swapchains without a display, see below_screen.c
 *   presents          VK_KHR_present_wait and VK_GOOGLE_display_timing: an image is shown when its present returns
 * For one instance and one device at a time.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "below.h"

#define EXPORT __attribute__((visibility("default")))

PFN_vkGetInstanceProcAddr get_of_instance;
PFN_vkGetDeviceProcAddr get_of_device;
VkInstance instance;
VkDevice device;

static int submissions;
static int presents;
static int acquires;

#define ACQUIRE_MS 60

static const char *setting(const char *name)
{
	const char *all = getenv("BELOW");

	return all ? strstr(all, name) : NULL;
}

/* The number behind a word; 0: it is not there. */
static int setting_number(const char *name)
{
	const char *text = setting(name);

	return text ? atoi(text + strlen(name)) : 0;
}

static bool is_lost(void)
{
	return setting("lose=") && submissions >= setting_number("lose=");
}

/* Looked up when the instance is made: later the loader answers with those of the first layer. */
static PFN_vkEnumerateDeviceExtensionProperties below_extensions;
static PFN_vkGetPhysicalDeviceFeatures2 below_features;
static PFN_vkGetPhysicalDeviceProperties2 below_properties;
static PFN_vkGetPhysicalDeviceQueueFamilyProperties below_families;

static void *find_link(const void *chain, VkStructureType type)
{
	/* Both kinds begin alike. */
	const VkLayerDeviceCreateInfo *at;

	for (at = chain; at; at = at->pNext)
		if (at->sType == type && at->function == VK_LAYER_LINK_INFO)
			return (void *)(uintptr_t)at;
	return NULL;
}

#define EXTENSIONS_MAX 32

/* Those that the driver may hear of. */
static const char *const *keep_extensions(const char *const *from, uint32_t *count,
					  const char **names)
{
	uint32_t used = 0;

	if (!setting("screen") || *count > EXTENSIONS_MAX)
		return from;
	for (uint32_t i = 0; i < *count; i++)
		if (!is_of_screen(from[i]))
			names[used++] = from[i];
	*count = used;
	return names;
}

static VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
					   const VkAllocationCallbacks *allocator, VkInstance *made)
{
	VkLayerInstanceCreateInfo *link =
		find_link(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
	const char *names[EXTENSIONS_MAX];
	VkInstanceCreateInfo own = *info;
	VkResult result;

	get_of_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
	link->u.pLayerInfo = link->u.pLayerInfo->pNext;
	own.ppEnabledExtensionNames =
		keep_extensions(info->ppEnabledExtensionNames, &own.enabledExtensionCount, names);
	result = ((PFN_vkCreateInstance)get_of_instance(NULL, "vkCreateInstance"))(&own, allocator,
										   made);
	instance = *made;
	if (result != VK_SUCCESS)
		return result;
	below_extensions = (PFN_vkEnumerateDeviceExtensionProperties)get_of_instance(
		instance, "vkEnumerateDeviceExtensionProperties");
	below_features = (PFN_vkGetPhysicalDeviceFeatures2)get_of_instance(
		instance, "vkGetPhysicalDeviceFeatures2");
	below_properties = (PFN_vkGetPhysicalDeviceProperties2)get_of_instance(
		instance, "vkGetPhysicalDeviceProperties2");
	below_families = (PFN_vkGetPhysicalDeviceQueueFamilyProperties)get_of_instance(
		instance, "vkGetPhysicalDeviceQueueFamilyProperties");
	return result;
}

static VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
					 const VkAllocationCallbacks *allocator, VkDevice *made)
{
	VkLayerDeviceCreateInfo *link =
		find_link(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
	PFN_vkCreateDevice below =
		(PFN_vkCreateDevice)link->u.pLayerInfo->pfnNextGetInstanceProcAddr(
			instance, "vkCreateDevice");
	const char *names[EXTENSIONS_MAX];
	VkDeviceCreateInfo own = *info;
	VkResult result;

	for (uint32_t i = 0; setting("refuse") && i < info->enabledExtensionCount; i++)
		if (strstr(info->ppEnabledExtensionNames[i], "calibrated"))
			return VK_ERROR_EXTENSION_NOT_PRESENT;
	get_of_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
	link->u.pLayerInfo = link->u.pLayerInfo->pNext;
	own.ppEnabledExtensionNames =
		keep_extensions(info->ppEnabledExtensionNames, &own.enabledExtensionCount, names);
	result = below(physical, &own, allocator, made);
	device = *made;
	if (result == VK_SUCCESS && setting("screen"))
		screen_begin(physical, info->pQueueCreateInfos->queueFamilyIndex);
	return result;
}

static bool is_hidden(const char *name)
{
	return setting("hide") && (strstr(name, "calibrated") || strstr(name, "host_query_reset"));
}

static VkResult VKAPI_CALL list_extensions(VkPhysicalDevice physical, const char *layer,
					   uint32_t *count, VkExtensionProperties *list)
{
	VkResult result = below_extensions(physical, layer, count, list);
	uint32_t used = 0;

	if (!list)
		return result;
	for (uint32_t i = 0; i < *count; i++)
		if (!is_hidden(list[i].extensionName))
			list[used++] = list[i];
	*count = used;
	return result;
}

static void VKAPI_CALL get_features(VkPhysicalDevice physical, VkPhysicalDeviceFeatures2 *features)
{
	VkPhysicalDeviceHostQueryResetFeatures *reset = features->pNext;

	below_features(physical, features);
	for (; reset; reset = reset->pNext)
		if (setting("hide") &&
		    reset->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES)
			reset->hostQueryReset = VK_FALSE;
}

static void VKAPI_CALL get_families(VkPhysicalDevice physical, uint32_t *count,
				    VkQueueFamilyProperties *families)
{
	below_families(physical, count, families);
	for (uint32_t i = 0; families && setting("untimed") && i < *count; i++)
		families[i].timestampValidBits = 0;
}

static bool is_lavapipe;

static void VKAPI_CALL get_properties(VkPhysicalDevice physical, VkPhysicalDeviceProperties2 *all)
{
	VkPhysicalDeviceDriverProperties *driver = all->pNext;

	below_properties(physical, all);
	while (driver && driver->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES)
		driver = driver->pNext;
	if (!driver)
		return;
	is_lavapipe = driver->driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
	if (setting("other"))
		driver->driverID = 0;
}

static pthread_mutex_t queues = PTHREAD_MUTEX_INITIALIZER;

static VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo *batches,
				  VkFence fence)
{
	VkResult result;

	pthread_mutex_lock(&queues);
	submissions++;
	result = is_lost() ? VK_ERROR_DEVICE_LOST :
			     BELOW_DEVICE(vkQueueSubmit)(queue, count, batches, fence);
	pthread_mutex_unlock(&queues);
	return result;
}

static VkResult VKAPI_CALL wait_for_device(VkDevice handle)
{
	VkResult result;

	pthread_mutex_lock(&queues);
	result = BELOW_DEVICE(vkDeviceWaitIdle)(handle);
	pthread_mutex_unlock(&queues);
	return result;
}

static VkResult VKAPI_CALL get_results(VkDevice handle, VkQueryPool pool, uint32_t first,
				       uint32_t count, size_t size, void *data, VkDeviceSize stride,
				       VkQueryResultFlags flags)
{
	VkResult result;

	if (is_lavapipe && !setting("other")) {
		fputs("lavapipe was asked for queries\n", stderr);
		abort();
	}
	pthread_mutex_lock(&queues);
	result = is_lost() ? VK_ERROR_DEVICE_LOST :
			     BELOW_DEVICE(vkGetQueryPoolResults)(handle, pool, first, count, size,
								 data, stride, flags);
	pthread_mutex_unlock(&queues);
	return result;
}

static VkResult VKAPI_CALL wait_for_fences(VkDevice handle, uint32_t count, const VkFence *fences,
					   VkBool32 all, uint64_t timeout)
{
	if (is_lost())
		return VK_ERROR_DEVICE_LOST;
	return BELOW_DEVICE(vkWaitForFences)(handle, count, fences, all, timeout);
}

/* Presents whose times the program has not asked for. */
#define PAST_MAX 16
static VkPastPresentationTimingGOOGLE past[PAST_MAX];
static uint32_t past_count;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static VkResult VKAPI_CALL present(VkQueue queue, const VkPresentInfoKHR *info)
{
	const VkBaseInStructure *at = info->pNext;
	VkResult result;

	if (++presents == setting_number("refuse-present="))
		return VK_ERROR_SURFACE_LOST_KHR;
	result = BELOW_DEVICE(vkQueuePresentKHR)(queue, info);
	while (at && at->sType != VK_STRUCTURE_TYPE_PRESENT_TIMES_INFO_GOOGLE)
		at = at->pNext;
	if (at && past_count < PAST_MAX)
		past[past_count++] = (VkPastPresentationTimingGOOGLE){
			.presentID = ((const VkPresentTimesInfoGOOGLE *)at)->pTimes[0].presentID,
			.actualPresentTime = now(),
		};
	return result;
}

static VkResult VKAPI_CALL get_past_timing(VkDevice handle, VkSwapchainKHR swapchain,
					   uint32_t *count, VkPastPresentationTimingGOOGLE *timings)
{
	(void)handle;
	(void)swapchain;
	if (!timings) {
		*count = past_count;
		return VK_SUCCESS;
	}
	if (*count > past_count)
		*count = past_count;
	memcpy(timings, past, *count * sizeof(*past));
	past_count -= *count;
	memmove(past, past + *count, past_count * sizeof(*past));
	return past_count ? VK_INCOMPLETE : VK_SUCCESS;
}

static VkResult VKAPI_CALL wait_for_present(VkDevice handle, VkSwapchainKHR swapchain, uint64_t id,
					    uint64_t timeout)
{
	(void)handle;
	(void)swapchain;
	(void)id;
	(void)timeout;
	return VK_SUCCESS;
}

static VkResult VKAPI_CALL acquire_image(VkDevice handle, VkSwapchainKHR swapchain,
					 uint64_t timeout, VkSemaphore semaphore, VkFence fence,
					 uint32_t *index)
{
	const struct timespec time = { .tv_nsec = ACQUIRE_MS * 1000000 };

	if (++acquires == setting_number("acquire="))
		nanosleep(&time, NULL);
	return BELOW_DEVICE(vkAcquireNextImageKHR)(handle, swapchain, timeout, semaphore, fence,
						   index);
}

static PFN_vkVoidFunction find(const char *name)
{
	static const struct {
		const char *name;
		PFN_vkVoidFunction function;
		const char *setting;
	} functions[] = {
#define FUNCTION(name, with) { #name, (PFN_vkVoidFunction)(PFN_##name)(with), NULL }
#define IF(setting, name, with)                                        \
	{                                                              \
#name, (PFN_vkVoidFunction)(PFN_##name)(with), setting \
	}
		FUNCTION(vkCreateInstance, create_instance),
		FUNCTION(vkCreateDevice, create_device),
		FUNCTION(vkEnumerateDeviceExtensionProperties, list_extensions),
		FUNCTION(vkGetPhysicalDeviceFeatures2, get_features),
		FUNCTION(vkGetPhysicalDeviceQueueFamilyProperties, get_families),
		FUNCTION(vkGetPhysicalDeviceProperties2, get_properties),
		FUNCTION(vkQueueSubmit, submit),
		FUNCTION(vkDeviceWaitIdle, wait_for_device),
		FUNCTION(vkGetQueryPoolResults, get_results),
		FUNCTION(vkWaitForFences, wait_for_fences),
		IF("present", vkQueuePresentKHR, present),
		IF("acquire=", vkAcquireNextImageKHR, acquire_image),
		IF("presents", vkWaitForPresentKHR, wait_for_present),
		IF("presents", vkGetPastPresentationTimingGOOGLE, get_past_timing),
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(functions[i].name, name) &&
		    (!functions[i].setting || setting(functions[i].setting)))
			return functions[i].function;
	return setting("screen") ? screen_function(name) : NULL;
}

static PFN_vkVoidFunction VKAPI_CALL get_device_address(VkDevice handle, const char *name)
{
	PFN_vkVoidFunction ours = find(name);

	return ours ? ours : get_of_device(handle, name);
}

static PFN_vkVoidFunction VKAPI_CALL get_instance_address(VkInstance handle, const char *name)
{
	PFN_vkVoidFunction ours = find(name);

	if (ours)
		return ours;
	return handle ? get_of_instance(handle, name) : NULL;
}

EXPORT VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface)
{
	interface->pfnGetInstanceProcAddr = get_instance_address;
	interface->pfnGetDeviceProcAddr = get_device_address;
	interface->pfnGetPhysicalDeviceProcAddr = NULL;
	return VK_SUCCESS;
}
