#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The headers of an installed tree.

    headers.py INCLUDE SOURCE

* They are those of the SDK, of runtime/include and of runtime/testing/include, and default_plugins.h: no other header of
  the runtime.
* Each header of runtime/include compiles as the only include of a source.
* It opens no other header of the runtime and none of a library: the SDK, the standard library and the system's alone.
* Beyond those that belay/plugin.h opens, the headers of Belay that it opens have at most LIMIT code lines: lines that are
  not blank and no comment. Those of the standard library are not counted: <functional> alone has 6,000.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LIMIT = 1500
INCLUDE, SOURCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
# What the compiler and the C library bring. A library's own headers are in a folder below /usr/include, or are its name.
SYSTEM = re.compile(r"/usr/(lib/gcc/|include/(c\+\+/|x86_64-linux-gnu/(bits|sys|gnu|asm|c\+\+)/|(bits|sys|linux|asm-generic)/|"
                    r"x86_64-linux-gnu/[\w-]+\.h$|[\w-]+\.h$))")
LIBRARIES = re.compile(r"dnnl|oneapi|boost|eigen|Eigen|fmt|protobuf|nlohmann|toml|png|zlib|zconf|isa-l|re2/|CL/")
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)


def below(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.h")}


def code_lines(path):
    text = NOT_CODE.sub(lambda match: match[1] or "\n" * match[0].count("\n"), path.read_text(encoding="utf-8"))
    return sum(1 for line in text.splitlines() if line.strip())


def opened_by(header, folder):
    """The files that a source opens which includes nothing else; the compiler's error where it does not compile."""
    source, depends = folder / "alone.cc", folder / "alone.d"
    source.write_text(f"#include <{header}>\n", encoding="utf-8")
    done = subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-MD",
                           "-MF", depends, f"-I{INCLUDE}", source], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise ValueError(f"{header} does not compile alone:\n{done.stderr}")
    files = depends.read_text(encoding="utf-8").replace("\\\n", " ").split()[1:]
    return {pathlib.Path(file).resolve() for file in files} - {source.resolve()}


def why_wrong(installed, expected):
    yield from (f"{name} is installed and is no header for users" for name in sorted(installed - expected))
    yield from (f"{name} is not installed" for name in sorted(expected - installed))


def why_not_opened(header, files, allowed):
    for file in sorted(files):
        name = file.as_posix()
        if file.is_relative_to(INCLUDE):
            if file.relative_to(INCLUDE).as_posix() not in allowed:
                yield f"{header} opens {name}, which is no header for users"
        elif not SYSTEM.match(name) or LIBRARIES.search(name):
            yield f"{header} opens {name}, which is a library's"


def main():
    sdk, face = below(SOURCE / "sdk/include"), below(SOURCE / "runtime/include")
    drivers = below(SOURCE / "runtime/testing/include")
    wrong = list(why_wrong(below(INCLUDE), sdk | face | drivers | {"belay/default_plugins.h"}))
    largest = (0, "")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        plugin = opened_by("belay/plugin.h", folder)
        for header in sorted(face):
            try:
                files = opened_by(header, folder)
            except ValueError as error:
                wrong.append(str(error))
                continue
            wrong += why_not_opened(header, files, sdk | face)
            lines = sum(code_lines(file) for file in files - plugin if file.is_relative_to(INCLUDE))
            largest = max(largest, (lines, header))
            if lines > LIMIT:
                wrong.append(f"{header} opens {lines} code lines beyond belay/plugin.h, more than {LIMIT}")
    print("\n".join(wrong) or f"{len(face)} headers for programs; the largest is {largest[1]}: {largest[0]} code lines")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
