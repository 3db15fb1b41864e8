# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# gpumon. `make help` lists what can be made. The module itself is described
# in Kbuild; this file only calls the kernel's build system on it.

ifneq ($(words $(CURDIR)),1)
$(error make cannot build in a folder with a space in its path: move "$(CURDIR)" to another one)
endif

HERE := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
VERSION := $(shell sed -n 's/^.define GPUMON_VERSION "\(.*\)"$$/\1/p' '$(HERE)/kmod/uapi/gpumon_version.h')
ifeq ($(VERSION),)
$(error no version in kmod/uapi/gpumon_version.h of $(HERE))
endif
KERNELDIR ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr/local
DESTDIR ?=
INSTALL ?= install
MANDIR ?= $(PREFIX)/share/man
LIBDIR ?= $(PREFIX)/lib
UNITDIR ?= $(PREFIX)/lib/systemd/system
# Where the library was built with headers of another folder, it is installed with them.
CUDA ?= $(or $(wildcard $(shell cat '$(HERE)/inject/obj/cuda' 2>/dev/null)),/usr/local/cuda)
DKMSDIR ?= /usr/src/gpumon-$(VERSION)
DKMSKERNEL ?= $(shell uname -r)

# What an environment calls BUILD is something else.
ifeq ($(origin BUILD),environment)
BUILD := $(HERE)
endif
BUILD ?= $(HERE)

# The kernel's own variables, if its make has called this one. With sub_make_done, make would go on in its
# headers and delete some.
unexport sub_make_done srctree objtree abs_srctree abs_objtree srcroot building_out_of_srctree \
	KBUILD_EXTMOD KBUILD_EXTMOD_OUTPUT KBUILD_MODULES KBUILD_BUILTIN

all: modules user

# --- the module

# With BUILD= the sources are linked into that folder and built there, so
# that several kernels never share objects.
modules:
	@test -e '$(KERNELDIR)/Makefile' || { \
		echo 'no kernel headers in $(KERNELDIR); install linux-headers-$$(uname -r), or say KERNELDIR=...' >&2; \
		exit 1; }
ifneq ($(abspath $(BUILD)),$(HERE))
	@mkdir -p '$(BUILD)'
	@cd '$(HERE)' && find kmod Kbuild -type d -exec mkdir -p '$(abspath $(BUILD))/{}' \; -o \
		-name '*.[ch]' -exec ln -sf '$(HERE)/{}' '$(abspath $(BUILD))/{}' \; -o \
		\( -name Kbuild -o -name '*.sh' \) -exec ln -sf '$(HERE)/{}' '$(abspath $(BUILD))/{}' \;
	@find '$(BUILD)/kmod' -xtype l -delete
endif
	+$(MAKE) -C '$(KERNELDIR)' M='$(abspath $(BUILD))' modules

modules_install:
	+$(MAKE) -C '$(KERNELDIR)' M='$(abspath $(BUILD))' INSTALL_MOD_DIR=extra \
		$(if $(DESTDIR),INSTALL_MOD_PATH='$(DESTDIR)') modules_install

# --- the tool

user:
	+$(MAKE) -C user

# The BPF programs alone; gpumon-user makes its own.
bpf:
	+$(MAKE) -C bpf

# --- the library that CUDA loads into programs; needs CUDA's headers, see inject/Makefile

inject:
	+$(MAKE) -C inject CUDA='$(CUDA)'

install-inject: inject
	+$(MAKE) -C inject install CUDA='$(CUDA)' LIBDIR='$(LIBDIR)' DESTDIR='$(DESTDIR)'

# --- both

# What an API's headers are needed for only where there are some.
install: modules_install install-user \
	$(if $(wildcard $(CUDA)/include/cupti.h $(CUDA)/extras/CUPTI/include/cupti.h /usr/include/cupti.h /usr/include/CL/cl_layer.h),install-inject)

install-user: user
	+$(MAKE) -C user install PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' DESTDIR='$(DESTDIR)'
ifneq ($(PROFILE),small)
	$(INSTALL) -D -m 0644 Documentation/man/gpumon.8 '$(DESTDIR)$(MANDIR)/man8/gpumon.8'
endif

# What distributions' packages have: all, with the module as sources for dkms.
install-package: install-user install-inject dkms-source
	$(INSTALL) -d '$(DESTDIR)$(UNITDIR)'
	$(INSTALL) -m 0644 packaging/systemd/*.service packaging/systemd/*.socket '$(DESTDIR)$(UNITDIR)'

uninstall:
	+$(MAKE) -C user uninstall PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)'
	+@test ! -e inject/Makefile || $(MAKE) -C inject uninstall LIBDIR='$(LIBDIR)' DESTDIR='$(DESTDIR)'
	rm -f '$(DESTDIR)$(MANDIR)/man8/gpumon.8'

# dkms gets what the module is built from and nothing else; files of a former version go.
dkms-source:
	$(INSTALL) -d '$(DESTDIR)$(DKMSDIR)'
	rm -rf '$(DESTDIR)$(DKMSDIR)/kmod'
	cd '$(HERE)' && find Kbuild Makefile dkms.conf LICENSE LICENSES kmod -type f \
		\( -name '*.[ch]' -o -name '*.sh' -o -name '*.txt' -o -name LICENSE -o \
		-name Kbuild -o -name Makefile -o -name dkms.conf \) ! -name '*.mod.c' \
		! -name '*conftest*.h' -exec $(INSTALL) -D -m 0644 '{}' '$(DESTDIR)$(DKMSDIR)/{}' \;

# Also an update, after a failed one too. What dkms has built of former sources goes: it would be taken for
# this version. All kernels that had a module get one, this one first. The module that runs stays.
dkms-install: dkms-source
	set -e; known=$$(dkms status -m gpumon); \
	kernels=$$(echo "$$known" | sed -n 's|^gpumon[/, ]*[^,]*, \([^,]*\), .*: installed.*|\1|p' | grep -vx '$(DKMSKERNEL)' || :); \
	for version in $$(echo "$$known" | sed -n 's|^gpumon[/, ]*\([^:, ]*\).*|\1|p' | sort -u); do \
		dkms remove -m gpumon -v "$$version" --all; done; \
	dkms add -m gpumon -v $(VERSION); \
	for kernel in '$(DKMSKERNEL)' $$kernels; do \
		test -e "/lib/modules/$$kernel/build" || { echo "without headers no module for $$kernel" >&2; test "$$kernel" != '$(DKMSKERNEL)'; continue; }; \
		dkms build -m gpumon -v $(VERSION) -k "$$kernel"; \
		dkms install -m gpumon -v $(VERSION) -k "$$kernel"; done

dkms-uninstall:
	dkms remove -m gpumon -v $(VERSION) --all
	rm -rf '$(DKMSDIR)'

clean:
	@test ! -e '$(KERNELDIR)/Makefile' || \
		$(MAKE) -C '$(KERNELDIR)' M='$(abspath $(BUILD))' clean
	@test ! -e user/Makefile || $(MAKE) -C user clean
	@rm -rf bpf/out tests/uprobe/out
	@test ! -e tests/user/Makefile || $(MAKE) -C tests/user clean
	@test ! -e inject/Makefile || $(MAKE) -C inject clean
	@test ! -e tests/inject/Makefile || $(MAKE) -C tests/inject clean
	@find . \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' \
		-o -name '.*.cmd' -o -name Module.symvers -o -name modules.order \) -delete
	@rm -f mock_submit churn_fork tests/mock/mock_submit tests/mock/churn_fork tests/mock/mock_nvidia_load
	@rm -rf tests/mock/nvidia-*/ gpumon-debug gpumon-core

# --- the lab (tests/vm/build): what one kernel's tests need, at the top of a build folder

lab-module: modules

# The module in which registrations can be made to fail, for tests/suite/fault-*.
lab-debug:
	+@$(MAKE) modules BUILD='$(BUILD)/gpumon-debug' GPUMON_DEBUG=1

# The smallest module that counts jobs and vblanks, for tests/suite/small-core.py and tests/build/core.
CORE = DRIVERS='drm_sched drm_vblank' NETLINK=no EVENTS=no ALERTS=no HISTOGRAMS=shared

lab-core:
	+@$(MAKE) modules BUILD='$(BUILD)/gpumon-core' $(CORE)

.PHONY: lab-debug lab-core

# Without the mocks of NVIDIA's driver.
lab-mock-drm:
	+$(MAKE) -C tests/mock modules mock_submit churn_fork
	ln -sf tests/mock/mock_gpu.ko tests/mock/mock_submit tests/mock/fire_gpu.ko \
		tests/mock/fire_vblank.ko \
		tests/mock/churn_gpu.ko tests/mock/churn_fork .

lab-mock: lab-mock-drm
	+$(MAKE) -C tests/mock nvidia mock_nvidia_load

# What else the tests of tests/suite need.
# NVIDIA's driver is not for 32-bit ARM.
lab-tests: $(if $(filter arm,$(ARCH)),lab-mock-drm,lab-mock)
	+@if [ -e tests/suite/Makefile ]; then $(MAKE) -C tests/suite all; fi

# What the tests with NVIDIA's real driver need (tests/vm/nvidia.list).
lab-nvidia:
	+$(MAKE) -C tests/nvidia all

# For scripts.
version:
	@echo '$(VERSION)'

# The sources as a tarball, and packages of them, in dist/.
dist:
	packaging/dist

rpm:
	packaging/build-rpm

deb:
	packaging/build-deb

style:
	tests/style/run

check:
	tests/check

# All suites on all kernels, all builds.
check-full:
	tests/check --full

# On all sanitised kernels; builds them first.
check-deep:
	tests/check --deep

demo:
	tests/demo/run

KERNELS ?= all
bench:
	tests/bench/run $(KERNELS)

# As long as asked, see tests/fuzz/long: make fuzz SECONDS=600 TARGET="elf netlink"
fuzz:
	$(if $(COVERAGE),COVERAGE=1) tests/fuzz/long '$(or $(SECONDS),60)' $(TARGET)

# Change the code in one place at a time: a test has to notice, see tests/mutants/run.
mutants:
	tests/mutants/run $(WORDS)

# On a machine with an NVIDIA GPU.
check-device:
	tests/device/run

bench-device:
	tests/device/bench

help:
	@echo 'make                    gpumon.ko and user/gpumon-user'
	@echo 'make modules            the module, for KERNELDIR=$(KERNELDIR)'
	@echo 'make user               the tool'
	@echo 'make bpf                its BPF programs alone, with clang and bpftool'
	@echo 'make inject             the library for CUDA programs, with the headers in CUDA=$(CUDA)'
	@echo 'make install            both, below DESTDIR= (PREFIX=$(PREFIX) for the tool)'
	@echo 'make dkms-install       the module through dkms, also an update; dkms-uninstall takes it away'
	@echo 'make clean'
	@echo 'make dist               the sources of the last commit, dist/gpumon-VERSION.tar.gz; make deb, make rpm: packages, too'
	@echo
	@echo 'make demo               records an OpenCL program here, then the module in a VM: no GPU needed'
	@echo '                        (tests/demo/live: the first part alone, a minute)'
	@echo 'make check              the tests, 15 to 30 minutes on two processors; the last line says how many passed'
	@echo 'make check-full         all suites on all kernels; 90 minutes'
	@echo 'make check-deep         all suites on kernels with KASAN, lockdep, KCSAN..., long storms, fuzzing, mutants; a night'
	@echo 'make style              checkpatch, clang-format, shellcheck, the netlink spec'
	@echo 'make fuzz SECONDS=60    each fuzzer that long (TARGET="elf netlink": only these; COVERAGE=1)'
	@echo 'make mutants            changes the code in many places, one at a time: does a test notice? (WORDS="capture")'
	@echo 'make bench              what gpumon costs, against others, on all kernels (KERNELS=6.1)'
	@echo 'make check-device       on a machine with an NVIDIA GPU: programs with a known account, recorded'
	@echo 'make bench-device       there: what recording costs, in pairs within a process, against others'
	@echo
	@echo 'make modules DRIVERS="drm_sched drm_vblank" NETLINK=no DEBUGFS=no EVENTS=no ALERTS=no leaves out parts:'
	@echo '                        see Documentation/user/install.md'
	@echo 'make modules GPUMON_DEBUG=1 makes a module whose registrations can be made to fail, for tests.'
	@echo 'KERNELDIR= BUILD= CC= LLVM=1 W=1 V=1 ARCH= CROSS_COMPILE= SYSROOT= DESTDIR= PREFIX= LIBDIR= are honoured.'
	@echo 'One test on one kernel: tests/vm/test 6.1 NAME; a shell in its VM: tests/vm/shell 6.1'

.PHONY: all modules modules_install user inject install-inject bpf install install-user install-package uninstall \
	dkms-source dkms-install dkms-uninstall clean lab-module lab-mock lab-mock-drm lab-tests lab-nvidia style check check-full check-deep demo \
	fuzz mutants bench version dist deb rpm \
	check-device bench-device help
