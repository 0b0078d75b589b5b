#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the host links, whether it is too large, and what it starts for a command that only looks.

    host_links.py BUILD SOURCE     compares with docs/design/host.md; status 77: strace cannot run here

minimal_host.py compares the sizes.
"""
import os
import pathlib
import re
import subprocess
import sys

BUILD, SOURCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
HOST = BUILD / "bin" / "belay"
SYSTEM = re.compile(r"^(libstdc\+\+|libm|libgcc_s|libc|ld-linux[-\w]*)\.so")
LARGEST = 14 << 20  # bytes of the host's code and data
# Commands that read notes only, or indexes.
LOOKING = (["plugins"], ["describe", "mlp"], ["schema"], ["checkpoint", "ls", str(SOURCE / "docs")])
# A second thread, or OpenCL looking for devices. oneDNN and OpenMP start threads as soon as they work.
STARTED = re.compile(r"clone3?\(|/etc/OpenCL|\.icd")


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def libraries():
    """The libraries of the dynamic section but for those of the compiler and the system, in its order."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", HOST))
    return [name for name in needed if not SYSTEM.match(name)]


def without_version(name):
    """The version is that of the Debian, or of the Boost, with which this build was made."""
    return re.sub(r"\.so\..*", "", name)


def size_of(program):
    """Its code and data, in bytes."""
    return sum(map(int, output("size", program).splitlines()[1].split()[:2]))


def why_wrong():
    page = (SOURCE / "docs" / "design" / "host.md").read_text(encoding="utf-8")
    section = page.split("## What the host links", 1)[1].split("\n## ", 1)[0]
    listed = re.findall(r"^\| `(lib[^`]*)` \|", section, re.M)
    if sorted(map(without_version, listed)) != sorted(map(without_version, libraries())):
        yield f"docs/design/host.md lists {sorted(listed)}; {HOST} is linked with {sorted(libraries())}"
    if size_of(HOST) > LARGEST:
        yield f"{HOST} has {size_of(HOST)} bytes of code and data, more than {LARGEST}"
    environment = {**os.environ, "BELAY_PLUGIN_PATH": str(BUILD / "plugins")}
    for command in LOOKING:
        traced = subprocess.run(["strace", "-f", "-qq", "-e", "trace=clone,clone3,openat", HOST, *command], env=environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if "ptrace" in traced.stderr and "Operation not permitted" in traced.stderr:
            print("SKIPPED: this system does not let strace trace programs")
            sys.exit(77)
        if traced.returncode != 0:
            yield f"belay {' '.join(command)} ended with {traced.returncode}: {traced.stderr[-500:]}"
        started = [line for line in traced.stderr.splitlines() if STARTED.search(line)]
        if started:
            yield f"belay {' '.join(command)} starts something: {started[0]}"


def main():
    found = list(why_wrong())
    print("\n".join(found) or f"{HOST} links what docs/design/host.md says")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
