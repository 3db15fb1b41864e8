// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "grow.h"
#include "prepared.h"

#define ROOM_MIN 1024

bool inject_grow(void **array, size_t *room, size_t needed, size_t size)
{
	size_t more = *room ? *room : ROOM_MIN;
	void *memory;

	if (needed <= *room)
		return true;
	while (more < needed)
		more *= 2;
	memory = inject_memory_take(more * size);
	if (!memory)
		return false;
	if (*array)
		memcpy(memory, *array, *room * size);
	inject_memory_give(*array, *room * size);
	*array = memory;
	*room = more;
	return true;
}
