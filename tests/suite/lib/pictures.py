# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""gpumon-user trace --perfetto, and what is in its file."""
import os
import re
import signal
import subprocess
import tempfile

import lab
from protobuf import Message


def picture(path):
    """(row, category, name, time, {argument: value}) of each instant and slice of a Perfetto file.

    Slices that overlap are in rows of the same name with a number behind it, which is left out.
    """
    tracks, texts = {}, {1: {}, 2: {}, 3: {}}
    with open(path, "rb") as file:
        packets = Message(file.read()).messages(1)
    for packet in packets:
        for track in packet.messages(60):
            tracks[track.one(1)] = track.text(2)
        for interned in packet.messages(12):
            for kind, known in texts.items():
                known.update((entry.one(1), entry.text(2)) for entry in interned.messages(kind))
        for event in packet.messages(11):
            if event.one(9) == 2:
                continue
            notes = {texts[3][note.one(1)]: note.one(3, note.text(6)) for note in event.messages(4)}
            row = re.sub(r" \(\d+\)$", "", tracks[event.one(11)])
            yield row, texts[1][event.one(3)], texts[2][event.one(10)], packet.one(8), notes


class Pictured:
    """trace --perfetto, until Ctrl-C; what it says, and its process. Nothing is left of its capture."""

    def __init__(self, *options):
        self.options = options
        self.folder = tempfile.mkdtemp()

    def __enter__(self):
        self.process = subprocess.Popen([lab.BUILD + "/gpumon-user", "trace", "--perfetto", *self.options],
                                        stderr=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=self.folder))
        return self

    def wait_module(self, gpumon):
        lab.until(lambda: gpumon.event_ring()["enabled"], "the event ring is on", pause=0.02)

    def __exit__(self, *error):
        self.process.send_signal(signal.SIGINT)
        self.said = self.process.communicate(timeout=60)[1]
        lab.equal(os.listdir(self.folder), [], "what is left of the capture")
