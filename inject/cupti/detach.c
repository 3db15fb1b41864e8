// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "detach.h"
#include "write/thread.h"

/* cuptiGetVersion() of CUDA 12.6 */
#define CUPTI_VERSION_12_6 24u

/* Of the library's thread alone. */
static enum { NOT_WANTED, WANTED, DETACHED } state;

void inject_detach_in_call(void)
{
	if (inject_self && inject_self->ours && state == WANTED &&
	    inject_cupti.cuptiFinalize() == CUPTI_SUCCESS)
		state = DETACHED;
}

bool inject_detach(CUpti_SubscriberHandle subscriber)
{
	__typeof__(&cuDriverGetVersion) get_version = inject_cuda_symbol("cuDriverGetVersion");
	bool detached;
	int version;

	if (atomic_load(&inject_cupti_state.has_graphs) || !inject_cupti.cuptiFinalize ||
	    inject_cupti.version < CUPTI_VERSION_12_6 || !get_version ||
	    inject_cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
					     CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion) !=
		    CUPTI_SUCCESS)
		return false;
	state = WANTED;
	get_version(&version);
	detached = state == DETACHED;
	state = NOT_WANTED;
	return detached;
}
