// SPDX-License-Identifier: GPL-2.0-only
/* The same objects, as jobs of amdgpu. */
#include "wrong_layout.c"
