/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What newer compilers emit and linux/bpf.h of older systems does not name. */
#ifndef GPUMON_GPUPROG_OBJECT_OPCODE_H
#define GPUMON_GPUPROG_OBJECT_OPCODE_H

#include <linux/bpf.h>

#ifndef BPF_MEMSX
#define BPF_MEMSX 0x80 /* load that sign-extends */
#endif
#ifndef BPF_JCOND
#define BPF_JCOND 0xe0 /* may_goto */
#endif
#ifndef BPF_LOAD_ACQ
#define BPF_LOAD_ACQ 0x100
#endif
#ifndef BPF_STORE_REL
#define BPF_STORE_REL 0x110
#endif

#endif /* GPUMON_GPUPROG_OBJECT_OPCODE_H */
