# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# The packages are built from the sources in which this tree is, so that no version stands here.

# What was built for another machine, and what no package needs, stays out of the copy.
GPUMON_SOURCE_EXCLUSIONS = --exclude='*.o' --exclude='*.ko' --exclude='*.mod' --exclude='*.mod.c' --exclude='.*.cmd' \
	--exclude=/Module.symvers --exclude=/modules.order --exclude=/user/obj --exclude=/user/gpumon-user \
	--exclude=/bpf/out --exclude=/inject --exclude=/packaging --exclude=/tests --exclude=/dist

include $(sort $(wildcard $(BR2_EXTERNAL_GPUMON_PATH)/package/*/*.mk))
