// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Objects that are used once, and how much memory that takes; and lists that the library has not seen. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "program.h"

/* Memory of its own that the process uses, in KiB. */
static long used_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long resident = 0, shared = 0;

	if (!file || fscanf(file, "%*d %ld %ld", &resident, &shared) != 2)
		exit(1);
	fclose(file);
	return (resident - shared) * (getpagesize() / 1024);
}

/* Each execution has a queue of its own. Says what that takes in the end. */
void mode_queue_each(long number)
{
	const ze_command_queue_desc_t description = {
		.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC
	};
	ze_command_list_handle_t list = make_list();
	long before = 0;

	NEED(zeCommandListClose(list));
	for (long i = 0; i < number; i++) {
		if (i == number / 10)
			before = used_kib();
		NEED(zeCommandQueueCreate(context, device, &description, &queue));
		execute(&list, 1, NULL);
		NEED(zeCommandQueueSynchronize(queue, UINT64_MAX));
		NEED(zeCommandQueueDestroy(queue));
	}
	printf("took %ld\n", used_kib() - before);
}

/* So does each launch: an immediate list. */
void mode_list_each(long number)
{
	ze_event_handle_t event = make_event(0);
	long before = 0;

	for (long i = 0; i < number; i++) {
		if (i == number / 10)
			before = used_kib();
		immediate = make_immediate();
		launch_add(immediate, 1, event);
		NEED(zeEventHostSynchronize(event, UINT64_MAX));
		NEED(zeEventHostReset(event));
		NEED(zeCommandListDestroy(immediate));
	}
	printf("took %ld\n", used_kib() - before);
}

/* The driver's own function: the loader and the library do not see the call. */
#define BELOW(driver, name) ((__typeof__(&(name)))dlsym(driver, #name))

/* A list that was made in a way that the library does not know, as an extension may have. */
void mode_unknown_list(long number)
{
	const ze_command_list_desc_t description = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	void *driver = dlopen(getenv("ZE_ENABLE_ALT_DRIVERS"), RTLD_NOW | RTLD_NOLOAD);
	ze_command_list_handle_t list;

	NEED(BELOW(driver, zeCommandListCreate)(context, device, &description, &list));
	launch_add(list, 1000, NULL);
	NEED(zeCommandListClose(list));
	for (long i = 0; i < number; i++) {
		execute(&list, 1, NULL);
		NEED(zeCommandQueueSynchronize(queue, UINT64_MAX));
	}
	printf("executed %ld\n", number);
}
