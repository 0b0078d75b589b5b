#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The slots of all tables of abi.h, for programs that write bindings.

    slots.py HEADERS LAYOUT

HEADERS is sdk/include/belay/abi; LAYOUT is what layout.c printed. Prints a line per slot, separated by tabs: table, slot,
offset in bytes, signature. The offsets are the compiler's, of LAYOUT. docs/design/abi-slots.tsv is the list as it is kept;
after a change of abi.h:

    cc -std=c11 -Isdk/include tests/abi/layout.c -o layout && ./layout >layout.txt
    tests/abi/slots.py sdk/include/belay/abi layout.txt >docs/design/abi-slots.tsv
"""
import pathlib
import re
import sys

STRUCT = re.compile(r"typedef struct (\w+) \{\n(.*?)\n\} \1;", re.S)
SLOT = re.compile(r"([\w ]+?[ *]*)\(\*(\w+)\)\(([^;]*)\)(?:;|$)", re.S)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
COMMON = "BELAY_INSTANCE_SLOTS"
CALLS = re.compile(r"BELAY_CLUSTER_CALLS\(([^)]*)\);")


def plain(text):
    return " ".join(COMMENT.sub(" ", text.replace("\\\n", " ")).split())


def common_slots(headers):
    """The slots of the macro with which each kind's table begins."""
    found = re.search(r"#define BELAY_INSTANCE_SLOTS(.*?[^\\])\n", headers, re.S)
    return found.group(1) + ";"


def cluster_calls(headers, first):
    """The slots that the kind "cluster" and the service of that name share; `first` is their first parameter."""
    found = re.search(r"#define BELAY_CLUSTER_CALLS\(first\)(.*?[^\\])\n", headers, re.S)
    return re.sub(r"\(first\b", f"({first}", found.group(1)) + ";"


def tables(headers):
    """(table, [(slot, signature)]) in the order of the headers."""
    common = common_slots(headers)
    for name, body in STRUCT.findall(headers):
        body = CALLS.sub(lambda call: cluster_calls(headers, call.group(1)), body)
        slots = SLOT.findall(plain(body.replace(COMMON + ";", common)))
        if slots and "uint32_t struct_size" in body:
            yield name, [(slot, f"{result.strip()} (*)({' '.join(arguments.split())})") for result, slot, arguments in slots]


def offsets(layout):
    """{(struct, field): offset}, as layout.c prints them."""
    struct, found = "", {}
    for line in layout.splitlines():
        words = line.split()
        if not line.startswith(" "):
            struct = words[0]
        else:
            found[struct, words[0]] = int(words[1])
    return found


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    parts = sorted(pathlib.Path(sys.argv[1]).glob("*.h"))
    headers = "".join(part.read_text(encoding="utf-8") for part in parts)
    at = offsets(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"))
    for table, slots in tables(headers):
        for slot, signature in slots:
            print(table, slot, at[table, slot], signature, sep="\t")


main()
