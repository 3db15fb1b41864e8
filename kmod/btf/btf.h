/* SPDX-License-Identifier: GPL-2.0-only */
/* Prototypes and members of private types, from the running kernel's BTF. */
#ifndef GPUMON_BTF_H
#define GPUMON_BTF_H

#include "parse.h"

struct gpumon_field;

#define GPUMON_BTF_WHY_LEN 112

/* End of a reason that may not hold at the next try. */
#define GPUMON_TRY_AGAIN ", switch the group off and on to try again"

/* Begin of the reason of a prototype that could not be checked. */
#define GPUMON_BTF_NOT_CHECKED "prototype not checked"

/**
 * struct gpumon_btf_module - the BTF of a module, while it is looked at
 * @btf: its types, NULL if there are none
 * @error: negative error if something of it could not be read now, and else 0
 * @why_not: why there are no types, for a reader
 * @own: what @btf leads to, unless that is the kernel's
 */
struct gpumon_btf_module {
	struct gpumon_btf *btf;
	int error;
	char why_not[GPUMON_BTF_WHY_LEN];
	struct gpumon_btf own;
};

/**
 * struct gpumon_btf_wanted - a prototype that is expected
 * @name: name of the function or tracepoint
 * @tracepoint: which of the two
 * @in_module: it is a module's
 * @arguments: its arguments, in the form that btf.c describes; several with '|' between them;
 *             NULL if they do not matter
 * @returns: what it returns, in the same way
 */
struct gpumon_btf_wanted {
	const char *name;
	bool tracepoint;
	bool in_module;
	const char *arguments;
	const char *returns;
};

int gpumon_btf_want(const char *text, size_t length, bool tracepoint);
void gpumon_btf_stop(void);
size_t gpumon_btf_memory(void);
void gpumon_btf_read(const char *module, struct gpumon_btf_module *read);
void gpumon_btf_release(struct gpumon_btf_module *read);
void gpumon_btf_done(void);
void gpumon_btf_forget_field(struct gpumon_field *field);
void gpumon_btf_resolve_field(struct gpumon_btf_module *read, struct gpumon_field *field);
int gpumon_btf_check_prototype(struct gpumon_btf_module *read,
			       const struct gpumon_btf_wanted *wanted, char *reason, size_t size);

#endif /* GPUMON_BTF_H */
