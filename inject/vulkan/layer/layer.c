// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <string.h>

#include "base/threads.h"
#include "channel/mappings.h"
#include "layer.h"
#include "wrappers.h"

void (*inject_vulkan_enter)(const struct inject_backend *backend);

static struct inject_code loader;

static struct inject_function functions[] = {
#define FUNCTION(name, class) [INJECT_##name] = { #name, class, 0 },
	INJECT_VULKAN_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

uint32_t inject_vulkan_call_begin(enum inject_vulkan_function function, uint32_t context,
				  uint16_t class)
{
	uint16_t usual = functions[function].class;
	struct inject_thread *thread;
	uint32_t correlation = 0;
	int kept = errno;

	if (!inject_session_takes_calls())
		return 0;
	if (usual & INJECT_CLASS_LAUNCH ? !inject_call_is_asked_for(usual) :
					  !inject_call_is_wanted(usual))
		return 0;
	thread = inject_call_enter(&functions[function], context);
	if (thread) {
		correlation = thread->call.correlation;
		if (class)
			thread->call.class = class;
		inject_thread_leave(thread);
	}
	errno = kept;
	return correlation;
}

VkResult inject_vulkan_call_end(uint32_t correlation, VkResult result)
{
	struct inject_thread *thread;
	int kept = errno;

	if (!correlation)
		return result;
	thread = inject_thread_enter(true);
	if (thread && inject_call_ends(thread, correlation))
		inject_call_finish_here(thread, inject_now(), result);
	if (thread)
		inject_thread_leave(thread);
	errno = kept;
	return result;
}

/* @has_passes: false: without those of command buffers, so that the driver's are as fast as ever */
static PFN_vkVoidFunction find_wrapper(const char *name, bool has_passes)
{
	static const struct inject_vulkan_wrapper *const lists[] = {
		inject_vulkan_objects_wrappers,	  inject_vulkan_submit_wrappers,
		inject_vulkan_waits_wrappers,	  inject_vulkan_present_wrappers,
		inject_vulkan_pipelines_wrappers, inject_vulkan_labels_wrappers,
		inject_vulkan_commands_wrappers,
	};
	const struct inject_vulkan_wrapper *wrapper;
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]) - !has_passes; i++)
		for (wrapper = lists[i]; wrapper->name; wrapper++)
			if (strcmp(wrapper->name, name) == 0)
				return wrapper->function;
	return NULL;
}

/* Functions of extensions that the device has because of the layer. */
static bool is_hidden(const struct inject_vulkan_device *device, const char *name)
{
	return (device->hides_reset && !strcmp(name, "vkResetQueryPoolEXT")) ||
	       (device->hides_calibration && (!strcmp(name, "vkGetCalibratedTimestampsEXT") ||
					      !strcmp(name, "vkGetCalibratedTimestampsKHR")));
}

PFN_vkVoidFunction VKAPI_CALL inject_vulkan_get_device_address(VkDevice handle, const char *name)
{
	struct inject_vulkan_device *device = inject_vulkan_device_find(handle);
	PFN_vkVoidFunction below, ours;

	if (!device || is_hidden(device, name))
		return NULL;
	below = device->below.get(handle, name);
	ours = below ? find_wrapper(name, device->has_passes) : NULL;
	return ours ? ours : below;
}

PFN_vkVoidFunction VKAPI_CALL inject_vulkan_get_instance_address(VkInstance handle,
								 const char *name)
{
	struct inject_vulkan_instance *instance = handle ? inject_vulkan_instance_find(handle) :
							   NULL;
	PFN_vkVoidFunction below, ours = find_wrapper(name, true);

	/*
	 * Functions of no instance: the loader asks for the first one before it makes an instance, and MangoHud's
	 * layer for the last one.
	 */
	if (!instance)
		return strcmp(name, "vkCreateInstance") && strcmp(name, "vkGetInstanceProcAddr") &&
				       strcmp(name, "vkCreateDevice") ?
			       NULL :
			       ours;
	below = instance->below.get(handle, name);
	return below && ours ? ours : below;
}

VkResult inject_vulkan_negotiate(VkNegotiateLayerInterface *interface, const void *caller,
				 void (*enter)(const struct inject_backend *backend))
{
	if (interface->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT ||
	    interface->loaderLayerInterfaceVersion < CURRENT_LOADER_LAYER_INTERFACE_VERSION)
		return VK_ERROR_INITIALIZATION_FAILED;
	interface->loaderLayerInterfaceVersion = CURRENT_LOADER_LAYER_INTERFACE_VERSION;
	interface->pfnGetInstanceProcAddr = inject_vulkan_get_instance_address;
	interface->pfnGetDeviceProcAddr = inject_vulkan_get_device_address;
	interface->pfnGetPhysicalDeviceProcAddr = NULL;
	inject_vulkan_enter = enter;
	inject_library_code(caller, &loader);
	return VK_SUCCESS;
}

/*
 * Vulkan as a backend of a session. The layer is there from the program's first instance on; whether it records
 * is seen from the session at each call.
 */

static bool reserve_nothing(const struct gpumon_message_settings *settings)
{
	(void)settings;
	return true;
}

static unsigned int loader_code(struct inject_code *code, unsigned int room)
{
	if (!room || !loader.size)
		return 0;
	*code = loader;
	return 1;
}

/* Command buffers of an earlier session are nobody's. */
static bool start_vulkan(struct inject_thread *thread, bool at_start, const char **why)
{
	(void)thread;
	(void)at_start;
	(void)why;
	inject_vulkan_completion_end(NULL, 0);
	return true;
}

/* Drivers have locks, which a child of fork must not find locked. */
static void drain_vulkan(struct inject_thread *thread)
{
	inject_locks_begin();
	inject_vulkan_completion_look(thread);
	inject_locks_end();
}

static void end_vulkan(struct inject_thread *thread, bool recorder_lives, unsigned int settle_ms)
{
	inject_vulkan_completion_end(recorder_lives ? thread : NULL, settle_ms);
}

static bool forget_vulkan(void)
{
	inject_vulkan_objects_forked();
	inject_vulkan_completion_forked();
	inject_vulkan_present_forked();
	inject_vulkan_labels_forked();
	inject_vulkan_passes_forked();
	return true;
}

const struct inject_backend inject_vulkan_backend = {
	.api = "Vulkan",
	.reserve = reserve_nothing,
	.code = loader_code,
	.start = start_vulkan,
	.drain = drain_vulkan,
	.end = end_vulkan,
	.forked = forget_vulkan,
};
