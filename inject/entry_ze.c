// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The library is preloaded, and these are in front of the functions of Level Zero's loader that every
 * program calls first. A program that does not call them does not notice them.
 */
#include <pthread.h>
#include <sys/auxv.h>

#include "entry.h"
#include "ze/tracer/backend.h"
#include "ze/tracer/tracer.h"

/* Of version 1.10, which the headers may not have yet. */
struct _ze_init_driver_type_desc_t;
ze_result_t zeInitDrivers(uint32_t *count, ze_driver_handle_t *drivers,
			  struct _ze_init_driver_type_desc_t *description);

static void enter_ze(void)
{
	inject_ze_trace();
	inject_enter(&inject_ze_backend);
}

/* Not a lock: in a child of fork, pthread_once() does not wait for a thread of the parent. */
static void enter_after(ze_result_t result)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (result == ZE_RESULT_SUCCESS && !getauxval(AT_SECURE))
		pthread_once(&once, enter_ze);
}

INJECT_EXPORT ze_result_t zeInit(ze_init_flags_t flags)
{
	__typeof__(&zeInit) below = __extension__(void *) inject_ze_symbol("zeInit");
	ze_result_t result = below ? below(flags) : ZE_RESULT_ERROR_UNINITIALIZED;

	enter_after(result);
	return result;
}

INJECT_EXPORT ze_result_t zeInitDrivers(uint32_t *count, ze_driver_handle_t *drivers,
					struct _ze_init_driver_type_desc_t *description)
{
	__typeof__(&zeInitDrivers) below = __extension__(void *) inject_ze_symbol("zeInitDrivers");
	ze_result_t result = below ? below(count, drivers, description) :
				     ZE_RESULT_ERROR_UNINITIALIZED;

	enter_after(result);
	return result;
}
