// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <sys/mman.h>

#include "grow.h"

#define ROOM_MIN 1024

bool inject_grow(void **array, size_t *room, size_t needed, size_t size)
{
	size_t more = *room ? *room : ROOM_MIN;
	void *memory;

	if (needed <= *room)
		return true;
	while (more < needed)
		more *= 2;
	memory = *array ? mremap(*array, *room * size, more * size, MREMAP_MAYMOVE) :
			  mmap(NULL, more * size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	*array = memory;
	*room = more;
	return true;
}
