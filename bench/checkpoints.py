# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint takes to be written and read back, beside what the disk and the memory can do
(bench/checkpoint_bench.cc): its write with all syncs beside dd conv=fsync of as much to the same disk, its read with all
checksums beside a copy in memory, and its checksum beside ISA-L's own loop. Rounds take turns, and each figure is the
median of the rounds' ratios.
"""
import json
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import models

MIB, ROUNDS = 1024, 5


def why_not(folder, mib, meminfo="/proc/meminfo"):
    """None: so many MiB are free, both in the folder and in memory."""
    free = shutil.disk_usage(folder).free >> 20
    if free < mib:
        return f"{folder} has {free} MiB free, and {mib} are needed"
    return too_little_memory(mib, meminfo)


def too_little_memory(mib, meminfo="/proc/meminfo"):
    """None: so many MiB of memory are free."""
    with open(meminfo, encoding="utf-8") as lines:
        available = next(int(line.split()[1]) >> 10 for line in lines if line.startswith("MemAvailable:"))
    if available < mib:
        return f"{available} MiB of memory are free, and {mib} are needed"
    return None


def dd_ms(folder, mib):
    """Into a new file, as a checkpoint goes, and of zeros, which cost dd next to nothing to get."""
    target = pathlib.Path(folder) / "dd"
    start = time.perf_counter()
    done = subprocess.run(["dd", "if=/dev/zero", f"of={target}", "bs=1M", f"count={mib}", "conv=fsync"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    taken = (time.perf_counter() - start) * 1e3
    target.unlink(missing_ok=True)
    if done.returncode != 0:
        raise models.Failed(f"dd ended with status {done.returncode}: {done.stdout.strip()}")
    return taken


def one_round(process):
    try:
        process.stdin.write("\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass
    line = process.stdout.readline()
    if not line:
        raise models.Failed(f"bench_checkpoint ended with status {process.wait()}")
    return json.loads(line)


def rounds_of(program, folder, say, mib, rounds):
    """Each a dict of milliseconds: write, dd, read, copy, crc, isal. The first has write_mib and read_mib alone."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="belay_bench.") as directory:
        process = subprocess.Popen([program, str(mib), directory], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            first = one_round(process)  # memory and disk are warm after it
            taken = [{name: first[name] for name in ("write_mib", "read_mib")}]
            for number in range(rounds):
                before = dd_ms(directory, mib)
                taken.append(one_round(process))
                taken[-1]["dd"] = (before + dd_ms(directory, mib)) / 2
                say(f"  a checkpoint of {mib} MiB, round {number + 1}: " +
                    ", ".join(f"{name} {value:.0f} ms" for name, value in taken[-1].items() if not name.endswith("_mib")))
        finally:
            process.stdin.close()
            process.wait()
    return taken


def measures_of(rounds, mib):
    """By the names of bench/baseline.json."""
    first, *rest = rounds

    def median(over, under):
        return statistics.median(r[over] / r[under] for r in rest)

    return {"checkpoint_write_to_dd": median("write", "dd"), "checkpoint_read_to_copy": median("read", "copy"),
            "checkpoint_crc_to_isal": median("crc", "isal"), "checkpoint_write_memory": first["write_mib"] / mib,
            "checkpoint_read_memory": first["read_mib"] / mib}


def measure(build, folder, say, mib=MIB, rounds=ROUNDS):
    return measures_of(rounds_of(build / "bin" / "bench_checkpoint", folder, say, mib, rounds), mib)
