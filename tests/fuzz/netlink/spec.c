// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The YNL spec, as table.py writes it. */
#include "fuzz.h"
#include "spec_table.h"
