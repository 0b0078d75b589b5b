# SPDX-License-Identifier: Apache-2.0
"""What `belay plugins` takes with a thousand plugins in one folder, and `ls -l` of the same folder."""
import json
import os
import pathlib
import subprocess
import tempfile
import time

COUNT = 1000
PLUGIN = "logging_tensor"  # it is copied, and each copy's note has another name


def renamed(library, number):
    """A new name, and the library's bytes with that in the note. It is as long as the old one, so no length changes."""
    old = f'"name":"{PLUGIN}"'.encode()
    if library.count(old) != 1:
        raise ValueError(f"{PLUGIN}.so has {library.count(old)} notes with its name, not one")
    new = f"{PLUGIN[:-4]}{number:04d}"
    return new, library.replace(old, f'"name":"{new}"'.encode())


def fill(folder, library):
    names = []
    for number in range(COUNT):
        name, contents = renamed(library, number)
        names.append(name)
        (folder / f"{name}.so").write_bytes(contents)
    return names


def check_listing(belay, folder, names, environment):
    """All are found and usable, and nothing is refused; else the time would be that of something else."""
    done = subprocess.run([belay, "plugins", "--json"], env=environment, capture_output=True, check=True)
    listing = json.loads(done.stdout)
    used = [p for p in listing["plugins"] if "conflicts_with" not in p and "shadowed_by" not in p]
    listed = sorted(p["name"] for p in used if p["file"].startswith(f"{folder}/"))
    if listed != names or listing["rejected"]:
        raise ValueError(f"belay plugins lists {len(listed)} of {COUNT} and rejects {len(listing['rejected'])}")


def least_seconds(command, environment, runs):
    """(elapsed, of CPU time)"""
    elapsed, cpu = [], []
    for _ in range(runs):
        start = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        elapsed.append(time.perf_counter() - start)
        cpu.append(usage.ru_utime + usage.ru_stime)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise ValueError(f"{command[0]} ended with status {process.returncode}")
    return min(elapsed), min(cpu)


def measure(belay, library, parent, runs=20):
    """Seconds of `belay plugins` (elapsed, of CPU time), and of `ls -l`. Raises ValueError, OSError or
    subprocess.CalledProcessError."""
    with tempfile.TemporaryDirectory(prefix="belay_bench.", dir=parent) as name:
        home = pathlib.Path(name)
        folder = home / "plugins"
        folder.mkdir()
        names = fill(folder, library.read_bytes())
        environment = {**os.environ, "HOME": str(home), "BELAY_PLUGIN_PATH": str(folder)}
        check_listing(belay, folder, names, environment)
        return (least_seconds([belay, "plugins"], environment, runs),
                least_seconds(["ls", "-l", folder], environment, runs))
