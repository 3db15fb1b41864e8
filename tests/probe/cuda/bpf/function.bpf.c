// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* count.bpf.c for patches of machine code. */
#define PATCHED
#include "count.bpf.c"
