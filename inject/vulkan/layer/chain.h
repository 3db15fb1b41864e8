/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Structures behind pNext. Those of the program are never changed: what has to be, is in a copy. */
#ifndef GPUMON_INJECT_VULKAN_LAYER_CHAIN_H
#define GPUMON_INJECT_VULKAN_LAYER_CHAIN_H

#include "vulkan/vulkan.h"

/* The first structure of a type; NULL where there is none. */
const void *inject_vulkan_chain_find(const void *chain, VkStructureType type);

#define INJECT_VULKAN_CHAIN_ROOM 4096

/**
 * struct inject_vulkan_chain - copies of the first structures of a chain
 * @words: room
 */
struct inject_vulkan_chain {
	uint64_t words[INJECT_VULKAN_CHAIN_ROOM / sizeof(uint64_t)];
};

/**
 * inject_vulkan_chain_copy - copy a chain up to a structure, so that it can be changed
 * @copy: filled
 * @chain: of the program
 * @type: of that structure
 * @changed: set to the copy of it
 *
 * Return: the new chain, whose rest is the program's; NULL where the structure is not there, or one before it
 * is of a type whose size is not known.
 */
const void *inject_vulkan_chain_copy(struct inject_vulkan_chain *copy, const void *chain,
				     VkStructureType type, void **changed);

#endif /* GPUMON_INJECT_VULKAN_LAYER_CHAIN_H */
