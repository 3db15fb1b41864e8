// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "backend.h"

const struct inject_backend *inject_backends[INJECT_BACKENDS_MAX + 1];

void inject_backend_register(const struct inject_backend *backend)
{
	unsigned int i;

	for (i = 0; i < INJECT_BACKENDS_MAX && inject_backends[i] != backend; i++) {
		if (inject_backends[i])
			continue;
		__atomic_store_n(&inject_backends[i], backend, __ATOMIC_RELEASE);
		break;
	}
}

void inject_backends_forked(void)
{
	unsigned int i, kept = 0;

	for (i = 0; inject_backends[i]; i++)
		if (inject_backends[i]->forked())
			inject_backends[kept++] = inject_backends[i];
	while (kept < i)
		inject_backends[kept++] = NULL;
}

const struct inject_backend *inject_backend_find(const char *api)
{
	const struct inject_backend *backend;

	inject_for_each_backend(backend)
		if (strcmp(backend->api, api) == 0)
			break;
	return backend;
}
