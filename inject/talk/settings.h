/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_SETTINGS_H
#define GPUMON_INJECT_SETTINGS_H

#include "../user/abi/channel.h"

/**
 * inject_settings_bound - settings within what the library can do
 * @settings: as they came; zeros become defaults
 */
void inject_settings_bound(struct gpumon_message_settings *settings);

#endif /* GPUMON_INJECT_SETTINGS_H */
