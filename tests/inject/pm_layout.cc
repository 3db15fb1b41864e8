// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Our declarations of CUPTI's samples of performance monitors against NVIDIA's, which are C++. */
#include <cuda.h>

#include <cupti_result.h>

#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#include "pm_library.h"

#define SAME(ours, our_field, theirs, their_field)                                           \
	static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) &&          \
			      sizeof(((ours *)0)->our_field) ==                              \
				      sizeof(((theirs *)0)->their_field),                    \
		      #ours "." #our_field " is not " #theirs "." #their_field)
#define SIZE(ours, last, theirs)                                                             \
	static_assert(INJECT_PM_SIZE(ours, last) == theirs##_STRUCT_SIZE, #theirs " has another size"); \
	SAME(ours, size, theirs, structSize);                                                \
	SAME(ours, reserved, theirs, pPriv)

SIZE(inject_pm_initialize, reserved, CUpti_Profiler_Initialize_Params);

SIZE(inject_pm_supported, api, CUpti_Profiler_DeviceSupported_Params);
SAME(inject_pm_supported, device, CUpti_Profiler_DeviceSupported_Params, cuDevice);
SAME(inject_pm_supported, all, CUpti_Profiler_DeviceSupported_Params, isSupported);
SAME(inject_pm_supported, api, CUpti_Profiler_DeviceSupported_Params, api);
static_assert(INJECT_PM_SUPPORTED == CUPTI_PROFILER_CONFIGURATION_SUPPORTED, "another number");
static_assert(INJECT_PM_API == CUPTI_PROFILER_PM_SAMPLING, "another number");

SIZE(inject_pm_chip, chip, CUpti_Device_GetChipName_Params);
SAME(inject_pm_chip, device, CUpti_Device_GetChipName_Params, deviceIndex);
SAME(inject_pm_chip, chip, CUpti_Device_GetChipName_Params, pChipName);

SIZE(inject_pm_available, image, CUpti_PmSampling_GetCounterAvailability_Params);
SAME(inject_pm_available, device, CUpti_PmSampling_GetCounterAvailability_Params, deviceIndex);
SAME(inject_pm_available, image_size, CUpti_PmSampling_GetCounterAvailability_Params,
     counterAvailabilityImageSize);
SAME(inject_pm_available, image, CUpti_PmSampling_GetCounterAvailability_Params,
     pCounterAvailabilityImage);

SIZE(inject_pm_host, host, CUpti_Profiler_Host_Initialize_Params);
SAME(inject_pm_host, profiler, CUpti_Profiler_Host_Initialize_Params, profilerType);
SAME(inject_pm_host, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
SAME(inject_pm_host, available, CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage);
SAME(inject_pm_host, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
static_assert(INJECT_PM_PROFILER == CUPTI_PROFILER_TYPE_PM_SAMPLING, "another number");

SIZE(inject_pm_host_end, host, CUpti_Profiler_Host_Deinitialize_Params);
SAME(inject_pm_host_end, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);

SIZE(inject_pm_metrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params);
SAME(inject_pm_metrics, host, CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject);
SAME(inject_pm_metrics, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
SAME(inject_pm_metrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);

SIZE(inject_pm_config_size, image_size, CUpti_Profiler_Host_GetConfigImageSize_Params);
SAME(inject_pm_config_size, host, CUpti_Profiler_Host_GetConfigImageSize_Params, pHostObject);
SAME(inject_pm_config_size, image_size, CUpti_Profiler_Host_GetConfigImageSize_Params,
     configImageSize);

SIZE(inject_pm_config, image, CUpti_Profiler_Host_GetConfigImage_Params);
SAME(inject_pm_config, host, CUpti_Profiler_Host_GetConfigImage_Params, pHostObject);
SAME(inject_pm_config, image_size, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
SAME(inject_pm_config, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);

SIZE(inject_pm_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params);
SAME(inject_pm_passes, image_size, CUpti_Profiler_Host_GetNumOfPasses_Params, configImageSize);
SAME(inject_pm_passes, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
SAME(inject_pm_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);

SIZE(inject_pm_values, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
SAME(inject_pm_values, host, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pHostObject);
SAME(inject_pm_values, image, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
SAME(inject_pm_values, image_size, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
     counterDataImageSize);
SAME(inject_pm_values, sample, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
SAME(inject_pm_values, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
SAME(inject_pm_values, count, CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics);
SAME(inject_pm_values, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);

SIZE(inject_pm_enable, sampling, CUpti_PmSampling_Enable_Params);
SAME(inject_pm_enable, device, CUpti_PmSampling_Enable_Params, deviceIndex);
SAME(inject_pm_enable, sampling, CUpti_PmSampling_Enable_Params, pPmSamplingObject);

SIZE(inject_pm_set_config, keeps, CUpti_PmSampling_SetConfig_Params);
SAME(inject_pm_set_config, sampling, CUpti_PmSampling_SetConfig_Params, pPmSamplingObject);
SAME(inject_pm_set_config, config_size, CUpti_PmSampling_SetConfig_Params, configSize);
SAME(inject_pm_set_config, config, CUpti_PmSampling_SetConfig_Params, pConfig);
SAME(inject_pm_set_config, buffer_size, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
SAME(inject_pm_set_config, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
SAME(inject_pm_set_config, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
SAME(inject_pm_set_config, keeps, CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode);
static_assert(INJECT_PM_BY_CYCLES == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL, "another number");
static_assert(INJECT_PM_BY_TIME == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL, "another number");
static_assert(INJECT_PM_KEEP_OLDEST == CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST,
	      "another number");

SIZE(inject_pm_object, sampling, CUpti_PmSampling_Start_Params);
SIZE(inject_pm_object, sampling, CUpti_PmSampling_Stop_Params);
SIZE(inject_pm_object, sampling, CUpti_PmSampling_Disable_Params);
SAME(inject_pm_object, sampling, CUpti_PmSampling_Start_Params, pPmSamplingObject);
SAME(inject_pm_object, sampling, CUpti_PmSampling_Stop_Params, pPmSamplingObject);
SAME(inject_pm_object, sampling, CUpti_PmSampling_Disable_Params, pPmSamplingObject);

SIZE(inject_pm_decode, overflow, CUpti_PmSampling_DecodeData_Params);
SAME(inject_pm_decode, sampling, CUpti_PmSampling_DecodeData_Params, pPmSamplingObject);
SAME(inject_pm_decode, image, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
SAME(inject_pm_decode, image_size, CUpti_PmSampling_DecodeData_Params, counterDataImageSize);
SAME(inject_pm_decode, reason, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
SAME(inject_pm_decode, overflow, CUpti_PmSampling_DecodeData_Params, overflow);
static_assert(INJECT_PM_IMAGE_FULL == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL,
	      "another number");

SIZE(inject_pm_image_size, image_size, CUpti_PmSampling_GetCounterDataSize_Params);
SAME(inject_pm_image_size, sampling, CUpti_PmSampling_GetCounterDataSize_Params, pPmSamplingObject);
SAME(inject_pm_image_size, names, CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames);
SAME(inject_pm_image_size, count, CUpti_PmSampling_GetCounterDataSize_Params, numMetrics);
SAME(inject_pm_image_size, samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
SAME(inject_pm_image_size, image_size, CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize);

SIZE(inject_pm_image, image, CUpti_PmSampling_CounterDataImage_Initialize_Params);
SAME(inject_pm_image, sampling, CUpti_PmSampling_CounterDataImage_Initialize_Params,
     pPmSamplingObject);
SAME(inject_pm_image, image_size, CUpti_PmSampling_CounterDataImage_Initialize_Params,
     counterDataSize);
SAME(inject_pm_image, image, CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData);

SIZE(inject_pm_count, completed, CUpti_PmSampling_GetCounterDataInfo_Params);
SAME(inject_pm_count, image, CUpti_PmSampling_GetCounterDataInfo_Params, pCounterDataImage);
SAME(inject_pm_count, image_size, CUpti_PmSampling_GetCounterDataInfo_Params, counterDataImageSize);
SAME(inject_pm_count, room, CUpti_PmSampling_GetCounterDataInfo_Params, numTotalSamples);
SAME(inject_pm_count, populated, CUpti_PmSampling_GetCounterDataInfo_Params, numPopulatedSamples);
SAME(inject_pm_count, completed, CUpti_PmSampling_GetCounterDataInfo_Params, numCompletedSamples);

SIZE(inject_pm_times, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params);
SAME(inject_pm_times, sampling, CUpti_PmSampling_CounterData_GetSampleInfo_Params, pPmSamplingObject);
SAME(inject_pm_times, image, CUpti_PmSampling_CounterData_GetSampleInfo_Params, pCounterDataImage);
SAME(inject_pm_times, image_size, CUpti_PmSampling_CounterData_GetSampleInfo_Params,
     counterDataImageSize);
SAME(inject_pm_times, sample, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
SAME(inject_pm_times, start, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);
SAME(inject_pm_times, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp);

static_assert(26 == CUPTI_ERROR_HARDWARE_BUSY && 27 == CUPTI_ERROR_NOT_SUPPORTED &&
		      35 == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES &&
		      40 == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
	      "other results");
