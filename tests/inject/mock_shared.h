/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The functions by which several subscribers share CUPTI, with the types of inject/cupti/sharing.h. Some
 * headers of CUDA declare them with types of their own. To be included before all others that include cupti.h.
 */
#ifndef GPUMON_TESTS_INJECT_MOCK_SHARED_H
#define GPUMON_TESTS_INJECT_MOCK_SHARED_H

#define cuptiSubscribe_v2		     header_cuptiSubscribe_v2
#define cuptiActivityEnable_v2		     header_cuptiActivityEnable_v2
#define cuptiActivityEnableAndDump_v2	     header_cuptiActivityEnableAndDump_v2
#define cuptiActivityDisable_v2		     header_cuptiActivityDisable_v2
#define cuptiActivityGetAttribute_v2	     header_cuptiActivityGetAttribute_v2
#define cuptiActivitySetAttribute_v2	     header_cuptiActivitySetAttribute_v2
#define cuptiActivityRegisterCallbacks_v2    header_cuptiActivityRegisterCallbacks_v2
#define cuptiActivityGetNextRecord_v2	     header_cuptiActivityGetNextRecord_v2
#define cuptiActivityGetNumDroppedRecords_v2 header_cuptiActivityGetNumDroppedRecords_v2
#define cuptiActivityGetEnabledKinds	     header_cuptiActivityGetEnabledKinds
#define cuptiActivityEnableHWTrace	     header_cuptiActivityEnableHWTrace
#include <cupti.h>
#undef cuptiSubscribe_v2
#undef cuptiActivityEnable_v2
#undef cuptiActivityEnableAndDump_v2
#undef cuptiActivityDisable_v2
#undef cuptiActivityGetAttribute_v2
#undef cuptiActivitySetAttribute_v2
#undef cuptiActivityRegisterCallbacks_v2
#undef cuptiActivityGetNextRecord_v2
#undef cuptiActivityGetNumDroppedRecords_v2
#undef cuptiActivityGetEnabledKinds
#undef cuptiActivityEnableHWTrace

#include "cupti/sharing.h"

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			      void *user, struct inject_subscriber_params *params);
CUptiResult cuptiActivityEnable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
				   void *configuration);
CUptiResult cuptiActivityEnableAndDump_v2(CUpti_SubscriberHandle subscriber,
					  CUpti_ActivityKind kind, void *configuration);
CUptiResult cuptiActivityDisable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
				    void *configuration);
CUptiResult cuptiActivityGetAttribute_v2(CUpti_SubscriberHandle subscriber,
					 CUpti_ActivityAttribute attribute, size_t *size,
					 void *value);
CUptiResult cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle subscriber,
					 CUpti_ActivityAttribute attribute, size_t *size,
					 void *value);
CUptiResult cuptiActivityRegisterCallbacks_v2(CUpti_SubscriberHandle subscriber,
					      inject_shared_request request,
					      inject_shared_complete complete);
CUptiResult cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle subscriber, uint8_t *buffer,
					  size_t valid, CUpti_Activity **record);
CUptiResult cuptiActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle subscriber,
						 CUcontext context, uint32_t stream, size_t *count);
CUptiResult cuptiActivityGetEnabledKinds(CUpti_SubscriberHandle subscriber,
					 CUpti_ActivityKind *kinds, uint32_t *size,
					 uint32_t *count);
CUptiResult cuptiActivityEnableHWTrace(uint8_t on);

#endif /* GPUMON_TESTS_INJECT_MOCK_SHARED_H */
