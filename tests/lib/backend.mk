# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# What the tests of OpenCL, Level Zero, HIP, Vulkan and OpenGL share: each folder has a script "check", and records
# programs with inject/'s library. The including Makefile has the target "build". `make check` needs
# ../../user/gpumon-user, or PROGRAM=. SANITIZE=-fsanitize=address,undefined checks every access.

ifeq ($(origin CC),default)
CC = gcc
endif
OBJ ?= obj
PROGRAM ?= ../../user/gpumon-user
SANITIZE ?=
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wshadow
# The folder's name is that of the API.
API := $(notdir $(CURDIR))

# Captures of the last run stay, of the runs before nothing.
check: build
	@rm -rf $(OBJ)/gpumon-opencl-*
	@GPUMON_PROGRAM=$(abspath $(PROGRAM)) SANITIZE='$(SANITIZE)' \
		GPUMON_PREFIX=$(API)$(if $(SANITIZE),-sanitised) ./check $(abspath $(OBJ)) $(TESTS)

# CUDA= the folder of its headers, if the library also needs CUDA's part.
CUDA ?=
$(OBJ)/libgpumon-inject.so: FORCE
	+@$(MAKE) --no-print-directory -s -C ../../inject OBJ=$(abspath $(OBJ))/inject LIBRARY=$(abspath $@) \
		CUDA='$(CUDA)' SANITIZE='$(SANITIZE)' CPPFLAGS='-include $(abspath ../lib/patience.h)' >/dev/null

clean:
	rm -rf $(OBJ)

.PHONY: check build clean FORCE
FORCE:
