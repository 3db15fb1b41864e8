# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# The variants of the mock of NVIDIA's driver. All are named nvidia.ko, so each is built in a folder
# of its own, $(BUILD)/nvidia-VARIANT.

NVIDIA_VARIANTS := 535 550 550-inlined 580 580-untraced
NVIDIA_SOURCES := $(wildcard $(HERE)/mock_nvidia*.c $(HERE)/mock_nvidia*.h) \
	$(HERE)/mock_command.h $(HERE)/mock_nvidia.Kbuild
# The loader is a program.
NVIDIA_SOURCES := $(filter-out %/mock_nvidia_load.c,$(NVIDIA_SOURCES))

# 535 and 550 as built for Debian; some builds of 580 have no tracepoint.
NVIDIA_FLAGS_535 := -DMOCK_SUFFIXED
NVIDIA_FLAGS_550 := -DMOCK_SUFFIXED
NVIDIA_FLAGS_550-inlined := -DMOCK_SUFFIXED -DMOCK_INLINED
NVIDIA_FLAGS_580 := -DMOCK_TRACEPOINT
NVIDIA_UVM_550 := y
NVIDIA_UVM_580 := y

nvidia: $(NVIDIA_VARIANTS:%=$(BUILD)/nvidia-%/nvidia.ko) $(BUILD)/nvidia-uvm.ko \
	$(BUILD)/nvidia-hollow/nvidia.ko

# Only run kbuild for these if something changed or for a checker, since each of the five takes a
# second or two.
$(BUILD)/nvidia-%/nvidia.ko: $(NVIDIA_SOURCES) $(HERE)/nvidia.mk \
		$(wildcard $(KERNELDIR)/Module.symvers) $(if $(filter 2,$(C)),nvidia-always)
	@mkdir -p $(@D)
	@cp -p $(filter %.c %.h,$(NVIDIA_SOURCES)) $(@D)
	@cp -p $(HERE)/mock_nvidia.Kbuild $(@D)/Kbuild
	$(MAKE) -C $(KERNELDIR) M=$(abspath $(@D)) MOCK_NVIDIA=$(firstword $(subst -, ,$*)) \
		MOCK_NVIDIA_FLAGS='$(NVIDIA_FLAGS_$*)' MOCK_NVIDIA_UVM=$(NVIDIA_UVM_$*) \
		$(if $(W),W=$(W)) modules
	@touch $@

# Functions that do nothing, for arbitrary arguments.
$(BUILD)/nvidia-hollow/nvidia.ko: $(HERE)/hollow_nvidia.c $(HERE)/mock_command.h $(HERE)/nvidia.mk \
		$(wildcard $(KERNELDIR)/Module.symvers) $(if $(filter 2,$(C)),nvidia-always)
	@mkdir -p $(@D)
	@cp -p $(filter %.c %.h,$^) $(@D)
	@printf 'obj-m := nvidia.o\nnvidia-y := hollow_nvidia.o\n' >$(@D)/Kbuild
	$(MAKE) -C $(KERNELDIR) M=$(abspath $(@D)) $(if $(W),W=$(W)) modules
	@touch $@

$(BUILD)/nvidia-uvm.ko: $(BUILD)/nvidia-580/nvidia.ko
	ln -sf nvidia-580/nvidia-uvm.ko $@

mock_nvidia_load: $(BUILD)/mock_nvidia_load

$(BUILD)/mock_nvidia_load: $(HERE)/mock_nvidia_load.c $(HERE)/mock_nvidia.h
	@mkdir -p $(BUILD)
	$(CC) $(CFLAGS) -std=gnu11 -Wall -Wextra -static -pthread -o $@ $<

clean-nvidia:
	rm -rf $(NVIDIA_VARIANTS:%=$(BUILD)/nvidia-%) $(BUILD)/nvidia-hollow
	rm -f $(BUILD)/nvidia-uvm.ko $(BUILD)/mock_nvidia_load

.PHONY: nvidia nvidia-always mock_nvidia_load clean-nvidia
