# SPDX-License-Identifier: Apache-2.0
"""The processor that the figures are of, since ratios to other systems differ from one to the next; and what else it does
meanwhile."""
import os
import resource
import time

# These features decide which kernels oneDNN and Belay use. Their names are those in /proc/cpuinfo.
AVX512, BF16, AMX = "avx512f", "avx512_bf16", "amx_bf16"


def first_of(path):
    """The entries of the first processor in a file like /proc/cpuinfo; none where there is no such file."""
    entries = {}
    try:
        with open(path, encoding="utf-8") as info:
            for line in info:
                key, separator, value = line.partition(":")
                if not separator:
                    break
                entries[key.strip()] = value.strip()
    except OSError:
        pass
    return entries


def describe(path="/proc/cpuinfo"):
    """As it goes into the JSON. Virtual machines hide the name of the product, so family and model are with it."""
    entries = first_of(path)
    flags = entries.get("flags", "").split()
    name = entries.get("model name", "unknown")
    if "cpu family" in entries:
        name += f", family {entries['cpu family']} model {entries.get('model', '?')}"
    return {"name": name, "avx512": AVX512 in flags, "avx512_bf16": BF16 in flags, "amx": AMX in flags,
            "cores": len(os.sched_getaffinity(0))}


def sentence(processor):
    """The same for people."""
    bf16 = "with" if processor["avx512_bf16"] else "without"
    vectors = f"AVX-512 {bf16} bf16" if processor["avx512"] else "no AVX-512"
    amx = "AMX" if processor["amx"] else "no AMX"
    cores = "1 core" if processor["cores"] == 1 else f"{processor['cores']} cores"
    return f"{processor['name']}: {vectors}, {amx}, {cores}"


def busy_seconds(path="/proc/stat"):
    """How long all processors together have worked, for whichever program; None where the system does not say."""
    try:
        with open(path, encoding="utf-8") as stat:
            user, nice, system, _, _, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    except (OSError, ValueError):
        return None
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    """The same of this process and those of its children that it has waited for."""
    return sum(usage.ru_utime + usage.ru_stime
               for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


class Others:
    """What other programs take of the machine from here on, as a part of one processor. To be asked when the children have
    been waited for."""

    def __init__(self):
        self._start = time.monotonic(), busy_seconds(), own_seconds()

    def part(self):
        start, busy, own = self._start
        now = busy_seconds()
        if busy is None or now is None:
            return 0.0
        return max(now - busy - (own_seconds() - own), 0.0) / (time.monotonic() - start)
