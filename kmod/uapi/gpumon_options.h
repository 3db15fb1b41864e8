/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
#ifndef GPUMON_OPTIONS_H
#define GPUMON_OPTIONS_H

/*
 * Options of the kernel that gpumon can do without: whether anything is lost without one, and what.
 * The build, stats, info-get and "gpumon-user doctor" say it with these words. Kbuild reads these
 * lines with sed.
 */
/* clang-format off */
#define GPUMON_OPTIONS(X) \
	X(KPROBES, true, "of NVIDIA's driver only Xids are seen, vblanks have no device, ended schedulers keep their rings, errors of jobs are unknown, a scheduler's timeout is no alert") \
	X(DEBUG_INFO_BTF, true, "prototypes are not checked, sizes and names of i915 and amdgpu are unknown, no statistics by BPF") \
	X(DEBUG_INFO_BTF_MODULES, true, "types of drivers that are modules are not found: sizes and names of i915 and amdgpu are unknown") \
	X(KALLSYMS_ALL, true, "by BPF jobs have no process; the module loses nothing") \
	X(CGROUPS, true, "processes have no container") \
	X(DEBUG_FS, true, "no files stats, histograms and events, so no trace by the module; netlink has all statistics") \
	X(MODULE_UNLOAD, true, "gpumon and drivers stay loaded until the next boot") \
	X(BPF_SYSCALL, true, "no BPF: neither record -p nor statistics without the module") \
	X(PERF_EVENTS, true, "record -p does not work; the module loses nothing") \
	X(UPROBE_EVENTS, true, "record -p has no uprobes; the module loses nothing") \
	X(SMP, false, "nothing is lost, one processor counts")
/* clang-format on */

#endif /* GPUMON_OPTIONS_H */
