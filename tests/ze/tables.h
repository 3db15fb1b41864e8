/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The loader's tables, in which it finds the driver's functions. */
#ifndef ZE_TEST_TABLES_H
#define ZE_TEST_TABLES_H

#define DITABLE(name, type_t, ...)                                     \
	HERE ze_result_t name(ze_api_version_t version, type_t *table) \
	{                                                              \
		*table = (type_t){ __VA_ARGS__ };                      \
		return ZE_RESULT_SUCCESS;                              \
	}

DITABLE(zeGetGlobalProcAddrTable, ze_global_dditable_t, .pfnInit = zeInit)
DITABLE(zeGetDriverProcAddrTable, ze_driver_dditable_t, .pfnGet = zeDriverGet,
	.pfnGetApiVersion = zeDriverGetApiVersion, .pfnGetProperties = zeDriverGetProperties)
DITABLE(zeGetDeviceProcAddrTable, ze_device_dditable_t, .pfnGet = zeDeviceGet,
	.pfnGetProperties = zeDeviceGetProperties,
	.pfnGetMemoryProperties = zeDeviceGetMemoryProperties,
	.pfnGetGlobalTimestamps = zeDeviceGetGlobalTimestamps)
DITABLE(zeGetContextProcAddrTable, ze_context_dditable_t, .pfnCreate = zeContextCreate,
	.pfnDestroy = zeContextDestroy)
DITABLE(zeGetCommandQueueProcAddrTable, ze_command_queue_dditable_t,
	.pfnCreate = zeCommandQueueCreate, .pfnDestroy = zeCommandQueueDestroy,
	.pfnExecuteCommandLists = zeCommandQueueExecuteCommandLists,
	.pfnSynchronize = zeCommandQueueSynchronize)
DITABLE(zeGetCommandListProcAddrTable, ze_command_list_dditable_t, .pfnCreate = zeCommandListCreate,
	.pfnCreateImmediate = zeCommandListCreateImmediate, .pfnDestroy = zeCommandListDestroy,
	.pfnClose = zeCommandListClose, .pfnReset = zeCommandListReset,
	.pfnAppendBarrier = zeCommandListAppendBarrier,
	.pfnAppendMemoryCopy = zeCommandListAppendMemoryCopy,
	.pfnAppendMemoryCopyRegion = zeCommandListAppendMemoryCopyRegion,
	.pfnAppendMemoryCopyFromContext = zeCommandListAppendMemoryCopyFromContext,
	.pfnAppendMemoryFill = zeCommandListAppendMemoryFill,
	.pfnAppendImageCopy = zeCommandListAppendImageCopy,
	.pfnAppendImageCopyRegion = zeCommandListAppendImageCopyRegion,
	.pfnAppendImageCopyToMemory = zeCommandListAppendImageCopyToMemory,
	.pfnAppendImageCopyFromMemory = zeCommandListAppendImageCopyFromMemory,
	.pfnAppendImageCopyToMemoryExt = zeCommandListAppendImageCopyToMemoryExt,
	.pfnAppendImageCopyFromMemoryExt = zeCommandListAppendImageCopyFromMemoryExt,
	.pfnAppendSignalEvent = zeCommandListAppendSignalEvent,
	.pfnAppendEventReset = zeCommandListAppendEventReset,
	.pfnAppendLaunchKernel = zeCommandListAppendLaunchKernel,
	.pfnAppendLaunchCooperativeKernel = zeCommandListAppendLaunchCooperativeKernel,
	.pfnAppendLaunchKernelIndirect = zeCommandListAppendLaunchKernelIndirect,
	.pfnAppendLaunchMultipleKernelsIndirect = zeCommandListAppendLaunchMultipleKernelsIndirect)
DITABLE(zeGetFenceProcAddrTable, ze_fence_dditable_t, .pfnCreate = zeFenceCreate,
	.pfnDestroy = zeFenceDestroy, .pfnReset = zeFenceReset,
	.pfnQueryStatus = zeFenceQueryStatus, .pfnHostSynchronize = zeFenceHostSynchronize)
DITABLE(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t, .pfnCreate = zeEventPoolCreate,
	.pfnDestroy = zeEventPoolDestroy)
DITABLE(zeGetEventProcAddrTable, ze_event_dditable_t, .pfnCreate = zeEventCreate,
	.pfnDestroy = zeEventDestroy, .pfnHostSignal = zeEventHostSignal,
	.pfnHostReset = zeEventHostReset, .pfnQueryStatus = zeEventQueryStatus,
	.pfnHostSynchronize = zeEventHostSynchronize,
	.pfnQueryKernelTimestamp = zeEventQueryKernelTimestamp)
DITABLE(zeGetMemProcAddrTable, ze_mem_dditable_t, .pfnAllocDevice = zeMemAllocDevice,
	.pfnAllocHost = zeMemAllocHost, .pfnGetAllocProperties = zeMemGetAllocProperties)
DITABLE(zeGetModuleProcAddrTable, ze_module_dditable_t, .pfnCreate = zeModuleCreate)
DITABLE(zeGetKernelProcAddrTable, ze_kernel_dditable_t, .pfnCreate = zeKernelCreate,
	.pfnDestroy = zeKernelDestroy, .pfnSetGroupSize = zeKernelSetGroupSize,
	.pfnGetName = zeKernelGetName)

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
EMPTY_ZE(EventExp, event_exp)
EMPTY_ZE(ModuleBuildLog, module_build_log)
EMPTY_ZE(KernelExp, kernel_exp)
EMPTY_ZE(Sampler, sampler)
EMPTY_ZE(PhysicalMem, physical_mem)
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

#endif /* ZE_TEST_TABLES_H */
