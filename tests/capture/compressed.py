# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Files whose names end in .gz: what gunzip makes of them is what the command writes otherwise."""
import gzip

OUTPUTS = [(["correlate"], "--summary"), (["correlate", "--json"], "--summary"), (["report"], "-o"),
           (["flamegraph"], "-o"), (["flamegraph", "--folded"], "-o"), (["export", "--json"], "-o"),
           (["export", "--chrome"], "-o"), (["export", "--perfetto"], "-o"), (["export", "--folded"], "-o"),
           (["export", "--pprof"], "-o"), (["diff"], "-o"), (["diff", "--json"], "-o"), (["diff"], "--flamegraph")]


def check(harness, path):
    for words, option in OUTPUTS:
        paths = [path, path] if words[0] == "diff" else [path]
        plain, packed = harness.directory / "plain", harness.directory / "packed.gz"
        for file in (plain, packed):
            harness.run(*words, *paths, option, file, "--force")
        data, want = packed.read_bytes(), plain.read_bytes()
        # A profile of pprof is compressed in any case, and only once.
        got = data if "--pprof" in words else gzip.decompress(data)
        assert got == want and data[:2] == b"\x1f\x8b", f"{words} {option}: {len(got)} bytes, not {len(want)}"
        assert len(data) < len(want) / 2 or "--pprof" in words, f"{words}: {len(data)} of {len(want)} bytes"
