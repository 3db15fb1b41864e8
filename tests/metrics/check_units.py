# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The units of packaging/systemd under a real systemd, which boots in a container from this machine's own files."""
import json
import os
import re
import signal
import subprocess

from check_alerts import XID
from kit import TOP
from verdict import Skip, check, equal, need, until

UNITS = TOP / "packaging/systemd"
# In a mount namespace of its own, which takes the mounts along when it ends. What the container writes is in memory.
# journald would read the log, too, which one reader gets here.
CONTAINER = r"""
set -e
mkdir "$1/machine"
mount -t tmpfs -o mode=755 tmpfs "$1/machine"
cd "$1/machine"
mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
cp "$2" root/usr/bin/gpumon-user
cp "$3"/* root/etc/systemd/system
mkdir -p root/etc/systemd/journald.conf.d
printf '[Journal]\nReadKMsg=no\nStorage=volatile\n' >root/etc/systemd/journald.conf.d/gpumon.conf
printf '#!/bin/sh\necho "$GPUMON_ALERT_CODE" >>"$STATE_DIRECTORY/said"\n' >root/usr/local/bin/on-gpu-alert
chmod 755 root/usr/local/bin/on-gpu-alert
echo 'GPUMON_ALERTS="--exec=/usr/local/bin/on-gpu-alert"' >root/etc/default/gpumon-alerts
exec systemd-nspawn --quiet --directory=root --register=no --keep-unit --private-network \
	--capability=CAP_BPF,CAP_PERFMON,CAP_SYSLOG,CAP_NET_ADMIN --system-call-filter='bpf perf_event_open' \
	--bind="$1/kmsg:/dev/kmsg" --boot systemd.unit=basic.target
"""
EXPOSED_AT_MOST = 3.0


class Container:
    """systemd as process 1."""
    def __init__(self, kit):
        need("systemd-nspawn", "systemd-container")
        if os.geteuid():
            raise Skip("needs root")
        self.kit = kit
        os.mkfifo(kit.folder / "kmsg")
        self.log = os.open(kit.folder / "kmsg", os.O_RDWR)
        self.errors = open(kit.folder / "boot.log", "wb")
        self.nspawn = kit.start("unshare", "--mount", "--propagation", "private", "sh", "-c", CONTAINER, "sh", kit.folder,
                                kit.program, UNITS, stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors)
        self.first = until(self.find_first, "systemd begins")
        until(lambda: not self.run("systemctl", "is-active", "--quiet", "basic.target").returncode, "it has booted")

    def find_first(self):
        """The process that is systemd."""
        if self.nspawn.poll() is not None:
            raise Skip("no container can be booted here: " + (self.kit.folder / "boot.log").read_text()[-300:])
        try:
            with open(f"/proc/{self.nspawn.pid}/task/{self.nspawn.pid}/children", encoding="utf-8") as file:
                children = file.read().split()
            with open(f"/proc/{children[0]}/comm", encoding="utf-8") as file:
                return children[0] if file.read() == "systemd\n" else None
        except (OSError, IndexError):
            return None

    def run(self, *words):
        return subprocess.run(["nsenter", "--target", self.first, "--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup",
                               "--", *map(str, words)], capture_output=True, check=False, text=True, timeout=120)

    def must(self, *words):
        done = self.run(*words)
        equal(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}"[-1000:])
        return done.stdout

    def write_log(self, *codes):
        """All records, as each reader of the kernel's log gets them."""
        os.write(self.log, "".join(XID.format(number, code) for number, code in enumerate(codes)).encode())

    def told(self):
        lines = self.run("journalctl", "--quiet", "--no-pager", "--output=json", "_SYSTEMD_UNIT=gpumon-alerts.service",
                         "GPUMON_ALERT_KIND=xid").stdout.splitlines()
        return [json.loads(line)["GPUMON_ALERT_CODE"] for line in lines]

    def said(self):
        return self.run("cat", "/var/lib/private/gpumon/said").stdout.split()

    def end(self):
        os.kill(int(self.first), signal.SIGRTMIN + 4)
        equal(self.nspawn.wait(120), 0, "exit status of the container")
        os.close(self.log)
        self.errors.close()


def test_units_under_systemd(kit):
    """Alerts reach the journal and the hook, each once over a restart; a socket starts the exporter; no rights stay."""
    container = Container(kit)
    container.must("systemctl", "start", "gpumon-alerts.service")
    container.write_log(79)
    until(lambda: (container.told(), container.said()) == (["79"], ["79"]), "an entry in the journal, and the hook")
    container.must("systemctl", "stop", "gpumon-alerts.service")
    container.write_log(79, 48)
    container.must("systemctl", "start", "gpumon-alerts.service")
    until(lambda: len(container.told()) > 1 and len(container.said()) > 1, "what came while it was stopped")
    container.must("systemctl", "stop", "gpumon-alerts.service")
    equal((container.told(), container.said()), (["79", "48"], ["79", "48"]), "each once")

    container.must("systemctl", "start", "gpumon-metrics.socket")
    text = container.must("curl", "--silent", "--fail", "--max-time", "60", "http://127.0.0.1:9839/metrics")
    check("\ngpumon_build_info{" in text, "the exporter answers")
    process = container.must("systemctl", "show", "--value", "--property=MainPID", "gpumon-metrics.service").strip()
    status = container.must("cat", f"/proc/{process}/status")
    check(not re.search(r"^Uid:.*\b0\b", status, re.M), "the exporter is root")
    equal(re.findall(r"^Cap(?:Inh|Prm|Eff|Amb):\t0*(\w+)", status, re.M), ["0"] * 4, "capabilities that stay")
    for unit in "gpumon-metrics.service", "gpumon-alerts.service":
        said = container.must("systemd-analyze", "security", "--no-pager", unit)
        level = re.search(r"exposure level for \S+: ([\d.]+)", said)
        check(level and float(level[1]) <= EXPOSED_AT_MOST, f"{unit}: {said[-200:]}")
    container.end()
