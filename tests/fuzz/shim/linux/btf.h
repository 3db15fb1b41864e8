/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include_next <linux/btf.h>
#include "kernel.h"

/* Kbuild finds these in a kernel's header. */
#define GPUMON_HAVE_BTF_FLOAT
#define GPUMON_HAVE_BTF_DECL_TAG
#define GPUMON_HAVE_BTF_TYPE_TAG
#define GPUMON_HAVE_BTF_ENUM64
