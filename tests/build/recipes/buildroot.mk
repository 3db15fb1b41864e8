# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# In place of Buildroot: the variables and macros that its manual promises to packages, as far as packaging/buildroot
# uses them. It copies the sources of each package that CONFIG has, runs the package's commands and installs into
# OUT/target. What a package wants of the kernel's configuration goes into OUT/kernel-options.
#
# make -f buildroot.mk CONFIG=FILE OUT=FOLDER BR2_EXTERNAL_GPUMON_PATH= TARGET_CROSS= LINUX_DIR= KERNEL_ARCH=

include $(CONFIG)

BR_BUILDING := y
TARGET_DIR := $(OUT)/target
TARGET_CC = $(TARGET_CROSS)gcc
TARGET_CPPFLAGS = -D_LARGEFILE_SOURCE -D_LARGEFILE64_SOURCE -D_FILE_OFFSET_BITS=64
TARGET_CFLAGS = $(TARGET_CPPFLAGS) -Os -g0
TARGET_LDFLAGS =
TARGET_MAKE_ENV = PATH="$(PATH)"
LINUX_MAKE_FLAGS = ARCH=$(KERNEL_ARCH) CROSS_COMPILE="$(TARGET_CROSS)" INSTALL_MOD_PATH=$(TARGET_DIR) DEPMOD=true
INSTALL = install

qstrip = $(strip $(subst ",,$(1)))
KCONFIG_ENABLE_OPT = echo $(1) >>$(OUT)/kernel-options

define line-end


endef
# The package whose .mk is read.
pkgname = $(notdir $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST)))))
in-capitals = $(subst -,_,$(shell echo '$(1)' | tr a-z A-Z))

# $(call add-module,NAME-IN-CAPITALS)
define add-module
define $(1)_MAKE_MODULE
$$(MAKE) -C $$(LINUX_DIR) $$(LINUX_MAKE_FLAGS) $$($(1)_MODULE_MAKE_OPTS) M=$$(@D)/. PWD=$$(@D)/. $$(2)
endef
$(1)_AFTER_BUILD = $$(call $(1)_MAKE_MODULE,,modules)
$(1)_AFTER_INSTALL = $$(call $(1)_MAKE_MODULE,,modules_install)
endef
kernel-module = $(call add-module,$(call in-capitals,$(pkgname)))

# $(call add-package,name,NAME-IN-CAPITALS)
define add-package
ifneq ($$($(2)_SITE_METHOD),local)
$$(error $(1): only packages with local sources are known here)
endif
ifeq ($$(BR2_PACKAGE_$(2)),y)
all: $(OUT)/build/$(1)/.installed
endif
$(OUT)/build/$(1)/.copied:
	mkdir -p $$(@D)
	rsync -a --exclude=.git $$($(2)_OVERRIDE_SRCDIR_RSYNC_EXCLUSIONS) $$($(2)_SITE)/ $$(@D)
	for file in $$($(2)_LICENSE_FILES); do test -s $$(@D)/$$$$file || exit 1; done
	$$($(2)_LINUX_CONFIG_FIXUPS)
	touch $$@
$(OUT)/build/$(1)/.installed: $(OUT)/build/$(1)/.copied
	$$($(2)_BUILD_CMDS)
	$$($(2)_AFTER_BUILD)
	$$($(2)_INSTALL_TARGET_CMDS)
	$$($(2)_AFTER_INSTALL)
	touch $$@
endef
generic-package = $(call add-package,$(pkgname),$(call in-capitals,$(pkgname)))

.PHONY: all
all:

include $(BR2_EXTERNAL_GPUMON_PATH)/external.mk
