/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#pragma once
#define roundup_pow_of_two(n) ((n) > 1 ? 2u << (31 - __builtin_clz((n)-1)) : 1u)
