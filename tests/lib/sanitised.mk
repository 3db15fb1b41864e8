# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# For makefiles of tests, which set TESTS_DIR, the folder tests/: LIBRARY is all of gpumon-user but
# main(), under ASan and UBSan, LIBRARY_LIBS what it needs, SANITISED_CFLAGS the flags that it was
# built with. tests/user builds it once for all.

include $(TESTS_DIR)/../user/cross.mk

# Optional, as in the tool.
SQLITE := $(shell $(PKG_CONFIG) --exists 'sqlite3 >= 3.20' && echo sqlite3)
HTTP := $(shell $(PKG_CONFIG) --exists 'libmicrohttpd >= 0.9.71' libcrypt && echo libcrypt)
PACKAGES := libnl-genl-3.0 json-c libdw libelf libbpf zlib libzstd $(SQLITE) $(HTTP) cmocka
# Not for goals that need no library.
ifneq ($(filter-out clean $(OTHER_GOALS),$(or $(MAKECMDGOALS),all)),)
ifneq ($(shell $(PKG_CONFIG) --exists $(PACKAGES) && echo yes),yes)
$(error $(PKG_CONFIG) does not find all of "$(PACKAGES)": install libnl-genl-3-dev libjson-c-dev libdw-dev libelf-dev libbpf-dev libiberty-dev zlib1g-dev libzstd-dev libcmocka-dev)
endif
PACKAGE_CFLAGS := $(if $(SQLITE),-DGPUMON_SQLITE) $(if $(HTTP),-DGPUMON_HTTP $(shell $(PKG_CONFIG) --cflags libmicrohttpd)) $(shell $(PKG_CONFIG) --cflags $(PACKAGES))
# libiberty has no .pc file.
LIBRARY_LIBS := $(shell $(PKG_CONFIG) --libs $(PACKAGES)) -liberty -lm
endif

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SANITISED_CFLAGS = -std=gnu11 -D_GNU_SOURCE -I$(TESTS_DIR)/../user -I. $(CPPFLAGS) $(PACKAGE_CFLAGS) -O1 -g \
		   $(SANITIZE) -Wall -Wextra -Wshadow
LIBRARY ?= $(TESTS_DIR)/user/obj/libuser.a

# Several makes may want it at the same time.
# LIBRARY depends on it by a rule with a recipe: without, make does not see that the file is newer.
sanitised-library:
	+@flock $(TESTS_DIR)/user $(MAKE) -s --no-print-directory -j"$$(nproc)" -C $(TESTS_DIR)/user $(abspath $(LIBRARY)) \
		OBJ=$(abspath $(dir $(LIBRARY)))

.PHONY: sanitised-library
