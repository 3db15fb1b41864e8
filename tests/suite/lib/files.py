# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What gpumon_netlink.Gpumon gives, of the files: for a module that was built without netlink."""
import re

import lab
from gpumon_netlink import Gpumon

HEAD = re.compile(r"drm_sched\.rings (\S+) (\S+) (\w+): count (\d+), sum (\d+), min (\d+), max (\d+)")
BUCKET = re.compile(r"\[(\d+), (\d+|\.\.\.)\) (\d+)")


class Files:
    """The running period alone: no file has the one before it."""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        pass

    def histograms(self):
        rows = []
        for line in lab.read(lab.DEBUGFS + "/gpumon/histograms").splitlines():
            head, bucket = HEAD.fullmatch(line), BUCKET.fullmatch(line)
            if head:
                device, ring, name, *numbers = head.groups()
                count, total, least, most = map(int, numbers)
                rows.append({"device": device, "ring": ring, "name": name, "count": count,
                             "sum": total, "min_value": least, "max_value": most, "bucket": []})
            elif bucket:
                ge, lt, count = bucket.groups()
                rows[-1]["bucket"].append({"ge": int(ge), "count": int(count),
                                           "lt": 1 << 64 if lt == "..." else int(lt)})
        return rows

    def reset(self):
        lab.equal(lab.write_parameter("reset", "1"), None, "error of a reset")

    def group_set(self, group, on):
        lab.equal(lab.write_parameter(group, str(int(on))), None, "error of switching " + group)


def gpumon():
    """Netlink where the module has it."""
    return Files() if lab.CORE else Gpumon()
