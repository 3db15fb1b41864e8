// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A driver for Level Zero's loader (ZE_ENABLE_ALT_DRIVERS), whose commands do nothing. Like Intel's,
 * it exports its functions, too.
 */
#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#define HERE __attribute__((visibility("default")))

/* Handles are addresses, at which the loader may look. */
static uint64_t objects[16];

HERE ze_result_t zeInit(ze_init_flags_t flags)
{
	(void)flags;
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeDriverGet(uint32_t *count, ze_driver_handle_t *drivers)
{
	if (*count && drivers)
		drivers[0] = (ze_driver_handle_t)&objects[0];
	*count = 1;
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeDriverGetApiVersion(ze_driver_handle_t driver, ze_api_version_t *version)
{
	(void)driver;
	*version = ZE_API_VERSION_1_4;
	return ZE_RESULT_SUCCESS;
}

HERE ze_result_t zeDeviceGet(ze_driver_handle_t driver, uint32_t *count,
			     ze_device_handle_t *devices)
{
	(void)driver;
	if (*count && devices)
		devices[0] = (ze_device_handle_t)&objects[1];
	*count = 1;
	return ZE_RESULT_SUCCESS;
}

/* Every other function succeeds; those that create something set their last argument. */
#define NOTHING(name, ...)                 \
	HERE ze_result_t name(__VA_ARGS__) \
	{                                  \
		return ZE_RESULT_SUCCESS;  \
	}
#define CREATES(name, type_t, ...)                         \
	HERE ze_result_t name(__VA_ARGS__, type_t *handle) \
	{                                                  \
		*handle = (type_t)&objects[2];             \
		return ZE_RESULT_SUCCESS;                  \
	}

/* The parameters of these are not looked at. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

CREATES(zeContextCreate, ze_context_handle_t, ze_driver_handle_t driver,
	const ze_context_desc_t *desc)
CREATES(zeCommandQueueCreate, ze_command_queue_handle_t, ze_context_handle_t context,
	ze_device_handle_t device, const ze_command_queue_desc_t *desc)
CREATES(zeCommandListCreate, ze_command_list_handle_t, ze_context_handle_t context,
	ze_device_handle_t device, const ze_command_list_desc_t *desc)
CREATES(zeFenceCreate, ze_fence_handle_t, ze_command_queue_handle_t queue,
	const ze_fence_desc_t *desc)
NOTHING(zeCommandListClose, ze_command_list_handle_t list)
NOTHING(zeCommandListReset, ze_command_list_handle_t list)
NOTHING(zeCommandListAppendBarrier, ze_command_list_handle_t list, ze_event_handle_t event,
	uint32_t count, ze_event_handle_t *events)
NOTHING(zeCommandListAppendLaunchKernel, ze_command_list_handle_t list, ze_kernel_handle_t kernel,
	const ze_group_count_t *groups, ze_event_handle_t event, uint32_t count,
	ze_event_handle_t *events)
NOTHING(zeCommandListAppendMemoryCopy, ze_command_list_handle_t list, void *to, const void *from,
	size_t bytes, ze_event_handle_t event, uint32_t count, ze_event_handle_t *events)
NOTHING(zeCommandListAppendMemoryFill, ze_command_list_handle_t list, void *to, const void *pattern,
	size_t pattern_bytes, size_t bytes, ze_event_handle_t event, uint32_t count,
	ze_event_handle_t *events)
NOTHING(zeCommandListAppendImageCopyFromMemory, ze_command_list_handle_t list, ze_image_handle_t to,
	const void *from, const ze_image_region_t *region, ze_event_handle_t event, uint32_t count,
	ze_event_handle_t *events)
NOTHING(zeCommandQueueExecuteCommandLists, ze_command_queue_handle_t queue, uint32_t count,
	ze_command_list_handle_t *lists, ze_fence_handle_t fence)
NOTHING(zeCommandQueueSynchronize, ze_command_queue_handle_t queue, uint64_t timeout)
NOTHING(zeFenceHostSynchronize, ze_fence_handle_t fence, uint64_t timeout)

/* --- the loader's tables */

#define DITABLE(name, type_t, ...)                                     \
	HERE ze_result_t name(ze_api_version_t version, type_t *table) \
	{                                                              \
		*table = (type_t){ __VA_ARGS__ };                      \
		return ZE_RESULT_SUCCESS;                              \
	}

DITABLE(zeGetGlobalProcAddrTable, ze_global_dditable_t, .pfnInit = zeInit)
DITABLE(zeGetDriverProcAddrTable, ze_driver_dditable_t, .pfnGet = zeDriverGet,
	.pfnGetApiVersion = zeDriverGetApiVersion)
DITABLE(zeGetDeviceProcAddrTable, ze_device_dditable_t, .pfnGet = zeDeviceGet)
DITABLE(zeGetContextProcAddrTable, ze_context_dditable_t, .pfnCreate = zeContextCreate)
DITABLE(zeGetCommandQueueProcAddrTable, ze_command_queue_dditable_t,
	.pfnCreate = zeCommandQueueCreate,
	.pfnExecuteCommandLists = zeCommandQueueExecuteCommandLists,
	.pfnSynchronize = zeCommandQueueSynchronize)
DITABLE(zeGetCommandListProcAddrTable, ze_command_list_dditable_t, .pfnCreate = zeCommandListCreate,
	.pfnClose = zeCommandListClose, .pfnReset = zeCommandListReset,
	.pfnAppendBarrier = zeCommandListAppendBarrier,
	.pfnAppendMemoryCopy = zeCommandListAppendMemoryCopy,
	.pfnAppendMemoryFill = zeCommandListAppendMemoryFill,
	.pfnAppendImageCopyFromMemory = zeCommandListAppendImageCopyFromMemory,
	.pfnAppendLaunchKernel = zeCommandListAppendLaunchKernel)
DITABLE(zeGetFenceProcAddrTable, ze_fence_dditable_t, .pfnCreate = zeFenceCreate,
	.pfnHostSynchronize = zeFenceHostSynchronize)

/* The loader refuses a driver without these, but leaves them empty. */
#define EMPTY(name)                                                   \
	HERE ze_result_t name(ze_api_version_t version, void *table); \
	HERE ze_result_t name(ze_api_version_t version, void *table)  \
	{                                                             \
		return ZE_RESULT_SUCCESS;                             \
	}
#define EMPTY_ZE(name, type) DITABLE(zeGet##name##ProcAddrTable, ze_##type##_dditable_t, 0)

EMPTY_ZE(DeviceExp, device_exp)
EMPTY_ZE(FabricVertexExp, fabric_vertex_exp)
EMPTY_ZE(FabricEdgeExp, fabric_edge_exp)
EMPTY_ZE(Image, image)
EMPTY_ZE(ImageExp, image_exp)
EMPTY_ZE(EventPool, event_pool)
EMPTY_ZE(Event, event)
EMPTY_ZE(EventExp, event_exp)
EMPTY_ZE(Module, module)
EMPTY_ZE(ModuleBuildLog, module_build_log)
EMPTY_ZE(Kernel, kernel)
EMPTY_ZE(KernelExp, kernel_exp)
EMPTY_ZE(Sampler, sampler)
EMPTY_ZE(PhysicalMem, physical_mem)
EMPTY_ZE(Mem, mem)
EMPTY_ZE(VirtualMem, virtual_mem)
EMPTY(zetGetDeviceProcAddrTable)
EMPTY(zetGetContextProcAddrTable)
EMPTY(zetGetCommandListProcAddrTable)
EMPTY(zetGetModuleProcAddrTable)
EMPTY(zetGetKernelProcAddrTable)
EMPTY(zetGetMetricGroupProcAddrTable)
EMPTY(zetGetMetricGroupExpProcAddrTable)
EMPTY(zetGetMetricProcAddrTable)
EMPTY(zetGetMetricStreamerProcAddrTable)
EMPTY(zetGetMetricQueryPoolProcAddrTable)
EMPTY(zetGetMetricQueryProcAddrTable)
EMPTY(zetGetTracerExpProcAddrTable)
EMPTY(zetGetDebugProcAddrTable)
EMPTY(zesGetDriverProcAddrTable)
EMPTY(zesGetDeviceProcAddrTable)
EMPTY(zesGetSchedulerProcAddrTable)
EMPTY(zesGetPerformanceFactorProcAddrTable)
EMPTY(zesGetPowerProcAddrTable)
EMPTY(zesGetFrequencyProcAddrTable)
EMPTY(zesGetEngineProcAddrTable)
EMPTY(zesGetStandbyProcAddrTable)
EMPTY(zesGetFirmwareProcAddrTable)
EMPTY(zesGetMemoryProcAddrTable)
EMPTY(zesGetFabricPortProcAddrTable)
EMPTY(zesGetTemperatureProcAddrTable)
EMPTY(zesGetPsuProcAddrTable)
EMPTY(zesGetFanProcAddrTable)
EMPTY(zesGetLedProcAddrTable)
EMPTY(zesGetRasProcAddrTable)
EMPTY(zesGetDiagnosticsProcAddrTable)
