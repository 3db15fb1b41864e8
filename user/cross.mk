# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# CC, PKG_CONFIG and SYSROOT_FLAG, for this machine or with CROSS_COMPILE and SYSROOT for another one:
# Documentation/user/install.md.

ifeq ($(origin CC),default)
CC = $(CROSS_COMPILE)gcc
endif
ifneq ($(SYSROOT),)
# make has gone to another folder than it was called in.
ifeq ($(filter /%,$(SYSROOT)),)
$(error SYSROOT=$(SYSROOT): give the whole path, from /)
endif
SYSROOT_FLAG := --sysroot=$(SYSROOT)
PKG_CONFIG_FOLDERS := $(SYSROOT)/usr/lib/$(shell $(CC) -print-multiarch)/pkgconfig:$(SYSROOT)/usr/lib/pkgconfig:$(SYSROOT)/usr/lib64/pkgconfig:$(SYSROOT)/usr/share/pkgconfig
PKG_CONFIG ?= PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) PKG_CONFIG_LIBDIR=$(PKG_CONFIG_FOLDERS) pkg-config
endif
# Without a prefix it would find the libraries of this machine.
PKG_CONFIG ?= $(CROSS_COMPILE)pkg-config
