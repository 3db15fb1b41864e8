// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dlfcn.h>

#include "library.h"
#include "pc_sampling.h"

/* cuptiGetVersion() of CUDA 12.4 */
#define CUPTI_VERSION_12_4 22u

struct inject_pc_sampling inject_pc_sampling;

/* The headers that have all of it. */
#if CUPTI_API_VERSION >= 22
#include <cupti_pcsampling.h>

#define SAME(ours, member, theirs, field)                                                          \
	_Static_assert(offsetof(struct ours, member) == offsetof(theirs, field) &&                 \
			       sizeof(((struct ours *)0)->member) == sizeof(((theirs *)0)->field), \
		       #field " has moved")
_Static_assert(sizeof(struct inject_pc) == sizeof(CUpti_PCSamplingPCData) &&
		       sizeof(struct inject_pc_stall) == sizeof(CUpti_PCSamplingStallReason) &&
		       sizeof(struct inject_pc_attribute) ==
			       sizeof(CUpti_PCSamplingConfigurationInfo) &&
		       sizeof(struct inject_pc_data) == sizeof(CUpti_PCSamplingData),
	       "other sizes");
SAME(inject_pc, module, CUpti_PCSamplingPCData, cubinCrc);
SAME(inject_pc, offset, CUpti_PCSamplingPCData, pcOffset);
SAME(inject_pc, function, CUpti_PCSamplingPCData, functionIndex);
SAME(inject_pc, name, CUpti_PCSamplingPCData, functionName);
SAME(inject_pc, count, CUpti_PCSamplingPCData, stallReasonCount);
SAME(inject_pc, stalls, CUpti_PCSamplingPCData, stallReason);
SAME(inject_pc, correlation, CUpti_PCSamplingPCData, correlationId);
SAME(inject_pc_data, room, CUpti_PCSamplingData, collectNumPcs);
SAME(inject_pc_data, samples, CUpti_PCSamplingData, totalSamples);
SAME(inject_pc_data, dropped, CUpti_PCSamplingData, droppedSamples);
SAME(inject_pc_data, count, CUpti_PCSamplingData, totalNumPcs);
SAME(inject_pc_data, remaining, CUpti_PCSamplingData, remainingNumPcs);
SAME(inject_pc_data, pcs, CUpti_PCSamplingData, pPcData);
SAME(inject_pc_data, other, CUpti_PCSamplingData, nonUsrKernelsTotalSamples);
SAME(inject_pc_data, is_full, CUpti_PCSamplingData, hardwareBufferFull);
SAME(inject_pc_attribute, value.number, CUpti_PCSamplingConfigurationInfo,
     attributeData.samplingPeriodData.samplingPeriod);
SAME(inject_pc_attribute, value.list.numbers, CUpti_PCSamplingConfigurationInfo,
     attributeData.stallReasonData.pStallReasonIndex);
SAME(inject_pc_configuration, attributes, CUpti_PCSamplingConfigurationInfoParams,
     pPCSamplingConfigurationInfo);
SAME(inject_pc_get, data, CUpti_PCSamplingGetDataParams, pcSamplingData);
SAME(inject_pc_context, context, CUpti_PCSamplingEnableParams, ctx);
SAME(inject_pc_count_reasons, count, CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons);
SAME(inject_pc_get_reasons, names, CUpti_PCSamplingGetStallReasonsParams, stallReasons);
SAME(inject_pc_line, line, CUpti_GetSassToSourceCorrelationParams, lineNumber);
SAME(inject_pc_line, folder, CUpti_GetSassToSourceCorrelationParams, dirName);
SAME(inject_pc_crc, crc, CUpti_GetCubinCrcParams, cubinCrc);
_Static_assert((int)INJECT_PC_DEVICE_BUFFER ==
			       (int)CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE &&
		       (int)INJECT_PC_DATA ==
			       (int)CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER &&
		       INJECT_PC_CONTINUOUS == (int)CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS,
	       "other numbers");
#endif

bool inject_pc_sampling_load(void)
{
	bool has_all = inject_cupti.version >= CUPTI_VERSION_12_4;

#define FIND(member, symbol, type)                                                         \
	inject_pc_sampling.member =                                                        \
		(__typeof__(inject_pc_sampling.member))dlsym(inject_cupti.handle, symbol); \
	has_all = has_all && inject_pc_sampling.member;
	INJECT_PC_SAMPLING(FIND)
#undef FIND
	return has_all;
}
