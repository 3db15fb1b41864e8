# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# shellcheck shell=bash
#
# Which VMs have -icount. For scripts that have selected a kernel and QEMU.

# without_icount CPUS: why a VM with so many CPUs does not have -icount. False: it may.
without_icount()
{
	if [ -n "$K_FRAGMENTS" ]; then
		echo "a sanitised kernel is slow enough, and KCSAN needs a thread for each CPU"
	elif [ "$1" = 1 ]; then
		return 1
	elif [ "$K_ARCH" = arm64 ]; then
		echo "on arm64 the time of several CPUs jumps by minutes"
	elif [ "${K_QEMU_VERSION:=$(qemu_version)}" -lt 10 ]; then
		echo "several CPUs do not get through the boot with this QEMU; tests/vm/prepare 7 brings QEMU 10"
	else
		return 1
	fi
}
