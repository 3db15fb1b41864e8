/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kinds of types in BTF. The kernel's own file may have been made by newer tools than its headers:
 * 8fd886911a6a ("bpf: Add BTF_KIND_FLOAT to uapi"), 5.13;
 * b5ea834dde6b ("bpf: Support for new btf kind BTF_KIND_TAG"), renamed in 5.16 by
 * 223f903e9c83 ("bpf: Rename BTF_KIND_TAG to BTF_KIND_DECL_TAG");
 * 8c42d2fa4eea ("bpf: Support BTF_KIND_TYPE_TAG for btf_type_tag attributes"), 5.17;
 * 6089fb325cf7 ("bpf: Add btf enum64 support"), 6.0.
 */
#ifndef GPUMON_COMPAT_BTF_H
#define GPUMON_COMPAT_BTF_H

#include <linux/types.h>
#include <uapi/linux/btf.h>

#ifndef GPUMON_HAVE_BTF_FLOAT
#define BTF_KIND_FLOAT 16
#endif
#ifndef GPUMON_HAVE_BTF_DECL_TAG
#define BTF_KIND_DECL_TAG 17
#endif
#ifndef GPUMON_HAVE_BTF_TYPE_TAG
#define BTF_KIND_TYPE_TAG 18
#endif
#ifndef GPUMON_HAVE_BTF_ENUM64
#define BTF_KIND_ENUM64 19

struct btf_enum64 {
	__u32 name_off;
	__u32 val_lo32;
	__u32 val_hi32;
};
#endif

#endif /* GPUMON_COMPAT_BTF_H */
