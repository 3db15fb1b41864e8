# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
SUMMARY = "Shows what GPU drivers do"
DESCRIPTION = "gpumon-user in its small build: tables, events, alerts and metrics of what gpumon-module counts."
SECTION = "console/tools"
LICENSE = "GPL-2.0-only | BSD-3-Clause"
LIC_FILES_CHKSUM = "file://LICENSES/GPL-2.0-only.txt;md5=eb723b61539feef013de476e68b5c50a \
                    file://LICENSES/BSD-3-Clause.txt;md5=4c00cf8b0a04a9441d8fa24850231d00"

require gpumon.inc

PACKAGECONFIG ??= "stat top trace alerts metrics set doctor"
PACKAGECONFIG[stat] = "stat"
PACKAGECONFIG[top] = "top"
PACKAGECONFIG[trace] = "trace"
PACKAGECONFIG[alerts] = "alerts"
PACKAGECONFIG[metrics] = "metrics"
PACKAGECONFIG[set] = "set"
PACKAGECONFIG[doctor] = "doctor"

EXTRA_OEMAKE = "-C ${S}/user PROFILE=small COMMANDS='${PACKAGECONFIG_CONFARGS}' OBJ=${B}/obj PROGRAM=${B}/gpumon-user \
                'CC=${CC}' 'CFLAGS=${CFLAGS}' 'CPPFLAGS=${CPPFLAGS}' 'LDFLAGS=${LDFLAGS}' \
                DESTDIR=${D} PREFIX=${prefix} BINDIR=${bindir}"

do_compile() {
	oe_runmake
}

do_install() {
	oe_runmake install
}

RRECOMMENDS:${PN} = "kernel-module-gpumon"
