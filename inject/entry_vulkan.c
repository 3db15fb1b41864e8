// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Vulkan's loader calls this in the libraries of the layers that VK_INSTANCE_LAYERS names: from within the
 * program's first vkCreateInstance(). The loader cannot be called from here.
 */
#include "entry.h"
#include "vulkan/layer/layer.h"

INJECT_EXPORT VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface)
{
	return inject_vulkan_negotiate(interface, __builtin_return_address(0), inject_enter);
}
