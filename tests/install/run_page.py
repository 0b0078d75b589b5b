#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what a page of the documentation says, as a reader would, and compares what comes out with what the page shows.

    run_page.py PAGE DIRECTORY

The page's fenced blocks in order, beginning in DIRECTORY, each where the one before has left off:

    ```sh              commands, run by bash up to the first that fails; none may
    ```sh exit=2       the last command ends with this status
    ```text            all that the commands above print. "..." is any text within a line, a line of "..." for
                       any number of lines
    ```cpp FILE        a file to write; in any language

Warnings of a run that it is slow on this machine, now, are left out of what comes out: no page shows them.

Exit status: 0; 1 something differs; 2 the page is malformed.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import time


class Malformed(Exception):
    pass


class Block:
    def __init__(self, info, line):
        self.language, *self.rest = info.split() or [""]
        self.line = line
        self.lines = []

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)

    @property
    def status(self):
        if not self.rest:
            return 0
        match = re.fullmatch(r"exit=(\d+)", self.rest[0])
        if not match or len(self.rest) > 1:
            raise Malformed(f"line {self.line}: behind ```sh comes exit=N or nothing")
        return int(match[1])


def blocks_of(page):
    blocks, open_block = [], None
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("```"):
            if open_block is None:
                open_block = Block(line[3:], number)
            else:
                blocks.append(open_block)
                open_block = None
        elif open_block is not None:
            open_block.lines.append(line)
    if open_block is not None:
        raise Malformed(f"line {open_block.line}: the block has no end")
    return blocks


def pattern_of(lines):
    """What the page shows, as a regular expression for all of an output."""
    pattern = ""
    for line in lines:
        pattern += "(?:.*\n)*" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + "\n"
    return pattern


SLOW = re.compile(r"^\S+ \S+ warning (?:the machine is busy|the training waits for|the hook \S+ takes).*\n", re.MULTILINE)


def run(commands, directory):
    """Status, output, and the directory in which the commands end."""
    with tempfile.NamedTemporaryFile("r") as ended_in:
        script = f"trap 'pwd >{ended_in.name}' EXIT\nset -e\n{commands}"
        done = subprocess.run(["bash", "-c", script], cwd=directory, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, SLOW.sub("", done.stdout), pathlib.Path(ended_in.read().rstrip("\n") or directory)


def follow(page, directory):
    """The first difference, or None."""
    output = None  # of the commands above
    commands = 0
    for block in blocks_of(page):
        if block.language == "sh":
            began = time.monotonic()
            status, output, directory = run(block.text, directory)
            print(f"   {time.monotonic() - began:5.1f} s  {block.lines[0] if block.lines else ''}", flush=True)
            commands += 1
            if status != block.status:
                return f"line {block.line}: the commands ended with {status}, not {block.status}:\n{output}"
        elif block.language == "text":
            if output is None:
                raise Malformed(f"line {block.line}: there are no commands above this output")
            if output and not output.endswith("\n"):
                output += "\n"
            if not re.fullmatch(pattern_of(block.lines), output):
                return f"line {block.line}: the page shows\n{block.text}but the commands printed\n{output}"
            output = None
        elif block.rest:
            (directory / block.rest[0]).write_text(block.text)
        else:
            raise Malformed(f"line {block.line}: a ```{block.language} block without a file name")
    if commands == 0:
        raise Malformed("the page has no commands")
    return None


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    page = pathlib.Path(sys.argv[1])
    try:
        difference = follow(page.read_text(), pathlib.Path(sys.argv[2]))
    except Malformed as e:
        print(f"{page}: {e}", file=sys.stderr)
        return 2
    if difference is not None:
        print(f"{page}: {difference}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
