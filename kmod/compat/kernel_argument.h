/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arguments of a function that a kprobe stands at the beginning of. 32-bit ARM does not have
 * regs_get_kernel_argument().
 */
#ifndef GPUMON_COMPAT_KERNEL_ARGUMENT_H
#define GPUMON_COMPAT_KERNEL_ARGUMENT_H

#include <linux/ptrace.h>

#ifdef CONFIG_ARM
/*
 * @n: number of the argument, from 0; of the fifth and later ones the result is 0, as where
 * regs_get_kernel_argument() has no register for them. No argument before it may have 64 bits, which take
 * two registers: of the functions that are probed only those of NVIDIA's driver have some, and that
 * driver does not exist for this architecture.
 */
static __always_inline unsigned long gpumon_compat_kernel_argument(const struct pt_regs *regs,
								   unsigned int n)
{
	return n < 4 ? regs->uregs[n] : 0;
}
#else
#define gpumon_compat_kernel_argument(_regs, _n) regs_get_kernel_argument(_regs, _n)
#endif

#endif /* GPUMON_COMPAT_KERNEL_ARGUMENT_H */
