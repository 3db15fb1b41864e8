# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""`gpumon-user alerts` as a service: systemd's real journald, and a log that the test writes in place of the kernel's."""
import json
import os
import subprocess

from verdict import Skip, check, communicate, equal, until

JOURNALD = "/lib/systemd/systemd-journald"
# In a mount namespace of its own: another /run for journald, which has opened the kernel's log before another file is
# put over it. It ends with the shell, and does not stay with the output of the tests open.
MACHINE = f"""
set -e
mount -t tmpfs tmpfs /run
mkdir /run/systemd
setpriv --pdeathsig KILL {JOURNALD} &
until [ -S /run/systemd/journal/socket ]; do sleep 0.05; done
echo $$ >"$1/pid"
touch "$1/started"
until [ -e "$1/may-go-on" ]; do sleep 0.05; done
mount --bind "$1/kmsg" /dev/kmsg
touch "$1/ready"
wait
"""
XID = "4,{0},{0},-;NVRM: Xid (PCI:0000:01:00): {1}, pid=1253, name=Xorg, GPU has fallen off the bus.\n"


class Machine:
    """A mount namespace with journald and a log."""
    def __init__(self, kit):
        if os.geteuid() or not os.path.exists(JOURNALD):
            raise Skip("needs root and systemd-journald (systemd)")
        self.kit = kit
        os.mkfifo(kit.folder / "kmsg")
        # With a writer that stays, a reader waits for more, as at the kernel's log.
        self.log = os.open(kit.folder / "kmsg", os.O_RDWR)
        self.shell = kit.start("unshare", "--mount", "--propagation", "private", "--kill-child", "--fork", "sh", "-c",
                               MACHINE, "sh", kit.folder)
        self.wait_for("started")
        self.pid = (kit.folder / "pid").read_text().strip()
        self.run("systemd-cat", "-t", "gpumon-test", "echo", "hello")
        until(lambda: self.journal("SYSLOG_IDENTIFIER=gpumon-test"), "journald answers")
        (kit.folder / "may-go-on").touch()
        self.wait_for("ready")

    def wait_for(self, name):
        until((self.kit.folder / name).exists, name)

    def words(self, *words):
        return ["nsenter", "--mount", "--target", self.pid, *map(str, words)]

    def run(self, *words):
        return subprocess.run(self.words(*words), capture_output=True, check=False, text=True, timeout=120)

    def journal(self, *matches):
        done = self.run("journalctl", "--no-pager", "--quiet", "--output=json", *matches)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def write(self, *lines):
        for line in lines:
            os.write(self.log, line.encode())

    def end(self):
        self.shell.kill()
        os.close(self.log)


def test_in_the_journal(kit):
    """Each alert is an entry with its fields; what came while the service was stopped is told when it starts again."""
    machine = Machine(kit)
    said, state = kit.folder / "said", kit.folder / "state"
    words = [kit.program, "alerts", "--journal", f"--resume={state}", "--exec",
             f"echo $GPUMON_ALERT_CODE >>{said}"]
    found = []
    for number in range(3):
        service = kit.start(*machine.words(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # The log has all records again, as the kernel's has them for each reader.
        machine.write(*[XID.format(i, 50 + i) for i in range(number + 1)])
        until(lambda number=number: len(machine.journal("SYSLOG_IDENTIFIER=gpumon-alerts")) == number + 1, "an entry")
        until(lambda number=number: said.exists() and len(said.read_text().split()) == number + 1, "a command")
        service.terminate()
        out, err = service.communicate(timeout=60)
        equal((service.returncode, out), (0, b""), f"exit status, output: {err}")
    found = machine.journal("SYSLOG_IDENTIFIER=gpumon-alerts")
    equal([entry["GPUMON_ALERT_CODE"] for entry in found], ["50", "51", "52"], "each once")
    equal(said.read_text().split(), ["50", "51", "52"], "a command for each")
    equal({key: found[0].get(key) for key in (
        "GPUMON_ALERT_KIND", "GPUMON_ALERT_DEVICE", "GPUMON_ALERT_GROUP", "GPUMON_ALERT_PROCESS", "GPUMON_ALERT_PID",
        "GPUMON_ALERT_SOURCE", "GPUMON_ALERT_COUNT", "PRIORITY")},
        {"GPUMON_ALERT_KIND": "xid", "GPUMON_ALERT_DEVICE": "0000:01:00.0", "GPUMON_ALERT_GROUP": "nvidia",
         "GPUMON_ALERT_PROCESS": "Xorg", "GPUMON_ALERT_PID": "1253", "GPUMON_ALERT_SOURCE": "log",
         "GPUMON_ALERT_COUNT": "1", "PRIORITY": "3"}, "fields")
    check(found[0]["MESSAGE"].startswith("0000:01:00.0: xid 50  pid=1253"), f"message {found[0]['MESSAGE']}")
    equal(len(machine.journal("MESSAGE_ID=1e565a303f1547938bd2d458fb30afa7")), 3, "entries by MESSAGE_ID")
    machine.end()


def test_what_could_not_be_told_is_told_again(kit):
    """Nothing is noted as told behind an output that fails."""
    machine = Machine(kit)
    words = machine.words(kit.program, "alerts", f"--resume={kit.folder / 'state'}", "--duration=30s")
    with open("/dev/full", "w", encoding="utf-8") as full:
        service = kit.start(*words, stdout=full, stderr=subprocess.PIPE)
        machine.write(XID.format(0, 79), XID.format(1, 48))
        check("No space left" in communicate(service, 60)[1].decode(), "what it says of its output")
    equal(service.returncode, 1, "exit status")
    service = kit.start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    machine.write(XID.format(0, 79), XID.format(1, 48))
    found = [service.stdout.readline().decode() for _ in range(2)]
    check("xid 79" in found[0] and "xid 48" in found[1], f"what is told then: {found}")
    service.terminate()
    communicate(service, 60)
    machine.end()


def test_without_journald(kit):
    """It says that there is none, and does nothing."""
    if os.path.exists("/run/systemd/journal/socket"):
        raise Skip("this machine has a journald")
    done = subprocess.run([kit.program, "alerts", "--journal"], capture_output=True, check=False, text=True, timeout=60)
    equal(done.returncode, 77, "exit status")
    check("--journal: /run/systemd/journal/socket: No such file or directory: systemd-journald does not run here" in
          done.stderr, done.stderr)
