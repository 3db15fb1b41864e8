# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
SUMMARY = "Kernel module that counts what GPU drivers do"
DESCRIPTION = "Jobs by ring and by process, latencies, errors and vblanks, in debugfs and over generic netlink."
SECTION = "kernel/modules"
LICENSE = "GPL-2.0-only"
LIC_FILES_CHKSUM = "file://LICENSES/GPL-2.0-only.txt;md5=eb723b61539feef013de476e68b5c50a"

require gpumon.inc
inherit module

# Drivers that it knows: drm_sched drm_vblank amdgpu i915 nvidia.
GPUMON_DRIVERS ?= "drm_sched drm_vblank"

# netlink is for gpumon-user, events for gpumon-user trace.
PACKAGECONFIG ??= "debugfs netlink events alerts"
PACKAGECONFIG[debugfs] = ",DEBUGFS=no"
PACKAGECONFIG[netlink] = ",NETLINK=no"
PACKAGECONFIG[events] = ",EVENTS=no"
PACKAGECONFIG[alerts] = ",ALERTS=no"
PACKAGECONFIG[shared-histograms] = "HISTOGRAMS=shared,"

EXTRA_OEMAKE += "-C ${S} BUILD=${B} KERNELDIR=${STAGING_KERNEL_DIR} DRIVERS='${GPUMON_DRIVERS}' ${PACKAGECONFIG_CONFARGS}"
MAKE_TARGETS = "modules"

# Loaded at boot, with sizes for eight rings and four displays. Empty: not loaded, and the module's own sizes, for a server.
GPUMON_AUTOLOAD ?= "gpumon"
GPUMON_PARAMETERS ?= "max_rings=8 max_processes=64 max_jobs=256 max_crtcs=4"
KERNEL_MODULE_AUTOLOAD += "${GPUMON_AUTOLOAD}"
KERNEL_MODULE_PROBECONF += "gpumon"
module_conf_gpumon = "${@'options gpumon ' + d.getVar('GPUMON_PARAMETERS') if d.getVar('GPUMON_PARAMETERS') else ''}"
