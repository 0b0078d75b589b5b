#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The part of the host that `belay run` of a training needs, beside the rest: folders of runtime/, libraries, sizes.

    minimal_host.py BUILD SOURCE            compares with docs/design/host.md
    minimal_host.py BUILD SOURCE --print    prints the tables of that page as they are here, with start and memory

A file is needed if run_command.cc, the declaration of `belay run` or main.cc reach it by includes. A header brings its
source. The folders before api are libraries, so a folder of these is needed as a whole.

The size of a folder is that of the functions and data in bin/belay that its library defines. If several folders make the
same function from a template, it counts for the first of them. Sizes hold within 5 % for the release build by g++ 12 of
Debian 12. Elsewhere only the lists are compared, and the status is 77.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from host_links import BUILD, HOST, SOURCE, SYSTEM, libraries, output, size_of, without_version

sys.path.insert(0, str(SOURCE / "tests" / "tree"))
from includes import Tree

PAGE = SOURCE / "docs" / "design" / "host.md"
RUN = ("run_command.cc", "run_arguments.cc", "main.cc")
BY_FILES = ("api", "cli")  # the folders of which a training needs some files only
NAMED = ("validate", "report", "bisect", "reduce", "doctor", "new")
HEADERS = {"libdnnl": r"dnnl", "libgomp": r"omp\.h", "libprotobuf": r"google/protobuf/|\.pb\.h", "libpng16": r"png\.h",
           "libisal": r"isa-l", "libz": r"belay/csv/", "libre2": r"re2/", "libfmt": r"fmt/",
           "libboost_program_options": r"boost/program_options"}
EXAMPLE = str(SOURCE / "examples" / "digits.toml")
WITHIN = 0.05
# Only such a build has the sizes of the page.
PRESET = {"CMAKE_BUILD_TYPE": "Release", "CMAKE_UNITY_BUILD": "ON", "BELAY_OLD_PROCESSOR": "OFF", "CMAKE_CXX_FLAGS": ""}
COMPILER, RELEASE = "GCC: (Debian 12.", 'PRETTY_NAME="Debian GNU/Linux 12 '


class Sources:
    """Which files of runtime/ a command needs."""

    def __init__(self):
        self.tree = Tree(SOURCE)
        self.folders = [path.split("/")[1] for path in self.tree.order if re.fullmatch(r"runtime/(?!include)\w+", path)]
        self.files = {folder: [path for path in self.tree.files if path.startswith(f"runtime/{folder}/")]
                      for folder in ("include", *self.folders)}

    def reached(self, *names):
        """All files that sources of cli need, which have these names."""
        seen, waiting = set(), [path for path in self.files["cli"] if path.endswith(tuple(f"/{name}" for name in names))]
        while waiting:
            path = waiting.pop()
            if path in seen or path not in self.tree.files or not path.startswith("runtime/"):
                continue
            seen.add(path)
            waiting += [self.tree.included(path, header) for _, header in self.tree.includes[path]]
            waiting += [re.sub(r"\.h$", ".cc", path)] if folder_of(path) in BY_FILES else self.files[folder_of(path)]
        return seen

    def commands(self):
        """{command: all files that it reaches} of those that have a source in cli."""
        found = {}
        for path in self.files["cli"]:
            for name in re.findall(r'\.name = "(\w+)"', self.tree.files[path]):
                if path.endswith("_command.cc"):
                    found[name] = self.reached(path.rpartition("/")[2])
        return found

    def include(self, files, header):
        return any(re.match(header, name) or re.search(rf"/({header})", name)
                   for path in files for _, name in self.tree.includes[path])


def folder_of(path):
    return path.split("/")[1]


def symbols(path, *options):
    """[(name, value, size)]"""
    lines = output("nm", "-P", "--defined-only", *options, path).splitlines()
    return [(fields[0], fields[2], int(fields[3], 16)) for fields in map(str.split, lines) if len(fields) == 4]


def folder_sizes(folders):
    """{folder: bytes}, with what no folder's library defines as the rest."""
    definer = {}
    for folder in folders:
        for archive in sorted((BUILD / "runtime" / folder).rglob("lib*.a")):
            for name, _, _ in symbols(archive):
                definer.setdefault(name, folder)
    sizes, seen = {folder: 0 for folder in folders}, set()
    for name, place, size in symbols(HOST, "-S"):
        if name in definer and place not in seen:
            sizes[definer[name]] += size
            seen.add(place)
    whole = size_of(HOST)
    return {**sizes, "the rest": whole - sum(sizes.values()), "all of bin/belay": whole}


def library_paths():
    return {name: os.path.realpath(path) for name, path in re.findall(r"(\S+) => (\S+)", output("ldd", HOST))}


def run_example(folder, *more, **environment):
    return subprocess.Popen([HOST, "run", EXAMPLE, "--set", f"run.dir={folder}/run", *more], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL,
                            env={**os.environ, "BELAY_PLUGIN_PATH": str(BUILD / "plugins"), **environment})


def loaded_by_a_training():
    """Each file that the dynamic linker initializes in a run of the example."""
    with tempfile.TemporaryDirectory() as folder:
        ended = run_example(folder, "--set", "run.max_steps=1", LD_DEBUG="files", LD_DEBUG_OUTPUT=f"{folder}/linker").wait()
        if ended != 0:
            sys.exit(f"belay run {EXAMPLE} ended with {ended}")
        told = "".join(path.read_text(errors="replace") for path in pathlib.Path(folder).glob("linker.*"))
    return {os.path.realpath(path) for path in re.findall(r"calling init: (\S+)", told)}


def installed(own):
    """{row: bytes on the disk} of a training. own: {library: path} of those that the host is linked with itself."""
    loaded = loaded_by_a_training()
    plugins = {path for path in loaded if path.startswith(str(BUILD))}
    direct = loaded & set(own.values())
    language = {path for path in loaded if SYSTEM.match(os.path.basename(path))}
    parts = {"the file bin/belay": {str(HOST)}, "libraries of the table above": direct,
             "libraries that these bring": loaded - plugins - direct - language,
             "the C and C++ libraries": language, "plugins of examples/digits.toml": plugins}
    sizes = {name: sum(os.path.getsize(path) for path in files) for name, files in parts.items()}
    return {**sizes, "all that is installed": sum(sizes.values())}


def measured():
    """{row of the page: (bytes, who needs it)}"""
    sources = Sources()
    training, commands = sources.reached(*RUN), sources.commands()

    def users(needs):
        """needs: whether these files need it."""
        return "training" if needs(training) else ", ".join(name for name, files in sorted(commands.items()) if needs(files))

    sizes, rows = folder_sizes(sources.folders), {}
    for name in sources.folders:
        rows[name] = sizes[name], users(lambda files: name in map(folder_of, files))
    needed = sum(size for size, needs in rows.values() if needs == "training")
    others = sum(sizes[name] for name in sources.folders) - needed
    rows["these folders of a training"] = needed, "training"
    rows["these folders of other commands"] = others, "other commands"
    rows.update({name: (sizes[name], "all commands") for name in ("the rest", "all of bin/belay")})
    own = {name: path for name, path in library_paths().items() if name in libraries()}
    for name, path in own.items():
        header = HEADERS.get(without_version(name), "$")
        rows[name] = os.path.getsize(path), users(lambda files: sources.include(files, header))
    rows.update({name: (size, "training") for name, size in installed(own).items()})
    for name in NAMED:
        only = sorted(pathlib.Path(path).stem for path in commands[name] - training
                      if folder_of(path) == "cli" and path.endswith(".cc"))
        rows[f"belay {name}"] = None, ", ".join(only)
    return rows


def page_rows():
    """The same from the page: | NAME | SIZE KiB | NEEDS |, or | belay NAME | NEEDS | for a command."""
    text = PAGE.read_text(encoding="utf-8").replace("`", "")
    rows = {name: (1024 * int(size.replace(",", "")), needs)
            for name, size, needs in re.findall(r"^\| ([^|]+) \| ([\d,]+) KiB \| ([^|]+) \|", text, re.M)}
    rows.update({name: (None, needs) for name, needs in re.findall(r"^\| (belay \w+) \| ([^|]+) \|", text, re.M)})
    return rows


def why_other_sizes():
    """Why the sizes of this build are not those of the page; empty: they are."""
    cache = dict(re.findall(r"^(\w+):\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M))
    for name, value in PRESET.items():
        if cache.get(name, "") != value:
            return f"this build has {name}={cache.get(name, '')}, not {value or 'nothing'}"
    if os.uname().machine != "x86_64":
        return f"this machine is {os.uname().machine}"
    if COMPILER not in output("readelf", "-p", ".comment", HOST):
        return f"{HOST} was not compiled by g++ 12 of Debian"
    if RELEASE not in pathlib.Path("/etc/os-release").read_text():
        return "this system is not Debian 12"
    return ""


def wrong(here, page, sizes):
    """sizes: whether they are compared."""
    here, page = ({without_version(name): row for name, row in rows.items()} for rows in (here, page))
    for name in sorted(here.keys() | page.keys()):
        if name not in page:
            yield f"the page has no row for {name}"
        elif name not in here:
            yield f"the page has a row for {name}, which there is not"
        elif here[name][1] != page[name][1]:
            yield f"{name} is needed by {here[name][1]!r}, and the page says {page[name][1]!r}"
        elif sizes and here[name][0] is not None and abs(here[name][0] - page[name][0]) > WITHIN * page[name][0]:
            yield f"{name} has {here[name][0] / 1024:,.0f} KiB, and the page says {page[name][0] / 1024:,.0f}"


def cost(start):
    """The least time in ms and the least peak of memory in MiB of five runs."""
    times, peaks = [], []
    for _ in range(5):
        begin = time.monotonic()
        _, _, usage = os.wait4(start().pid, 0)
        times.append(1000 * (time.monotonic() - begin))
        peaks.append(usage.ru_maxrss / 1024)
    return f"{min(times):,.0f} ms | {min(peaks):,.0f} MiB"


def print_tables():
    for name, (size, needs) in measured().items():
        print(f"| `{name}` | " + (f"{size / 1024:,.0f} KiB | " if size is not None else "") + f"{needs} |")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL,
             "env": {**os.environ, "BELAY_PLUGIN_PATH": str(BUILD / "plugins")}}
    print("| `belay --version` | " + cost(lambda: subprocess.Popen([HOST, "--version"], **quiet)) + " |")
    print("| `belay check examples/digits.toml` | " + cost(lambda: subprocess.Popen([HOST, "check", EXAMPLE], **quiet)) + " |")
    with tempfile.TemporaryDirectory() as folder:
        print("| `belay run examples/digits.toml` | " +
              cost(lambda: run_example(folder, "--from-scratch", "--set", "run.max_steps=100")) + " |")


def main():
    if "--print" in sys.argv:
        print_tables()
        return 0
    reason = why_other_sizes()
    found = list(wrong(measured(), page_rows(), sizes=not reason))
    if found:
        print(*found, f"{PAGE}: write what `python3 {sys.argv[0]} {BUILD} {SOURCE} --print` prints", sep="\n")
        return 1
    print(f"SKIPPED the sizes, the lists are right: {reason}" if reason else f"{HOST} is what {PAGE} says")
    return 77 if reason else 0


if __name__ == "__main__":
    sys.exit(main())
