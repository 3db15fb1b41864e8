/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#pragma once
#define GOLDEN_RATIO_64 0x61C8864680B583EBull
