#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds what reaches upwards in the order of folders, and integers whose header is not included.

    includes.py [ROOT]

The order is sdk, runtime/include, then the folders of runtime/ as runtime/CMakeLists.txt lists them. A file of runtime/
includes only headers of its own and of earlier folders. A folder may have shelves: folders below it whose sources its
CMakeLists.txt lists, in their order. A shelf includes only headers of its own, of earlier shelves and of the folder
itself. What is below an include/ folder of runtime/ includes no header that is not below one. sdk/ and plugins/ include
nothing of runtime/, but for their tests, which include test drivers (runtime/testing/include).

Nor does a file declare a class at namespace scope (`class X;`) that a later folder defines: it would know it without
including it.

A file that names std::int64_t or its like includes <cstdint>, itself or through headers of this tree. Other headers of the
standard library bring these names with one compiler, and do not with the next.
"""
import os
import pathlib
import re
import sys

SETTINGS = "runtime/include"
TEST_DRIVERS = "runtime/testing/include/"
TOP_FOLDERS = ("runtime", "sdk", "plugins", "tests", "bench", "examples")
ORDERED_FOLDERS = ("sdk", "runtime", "plugins")
SUFFIXES = (".h", ".c", ".cc")

NOT_CODE = re.compile(r'''//[^\n]*|/\*.*?\*/|R"(?P<end>[^\s(]*)\(.*?\)(?P=end)"
                          |"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'  # a quote behind a digit separates digits''',
                      re.DOTALL | re.VERBOSE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.MULTILINE)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
NAMESPACE = re.compile(r"(?:inline\s+)?namespace\b\s*([\w:]*)")
CLASS = r"(?:template\s*<.*>\s*)?(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[.*?\]\]\s*)?(\w+)"
DECLARED = re.compile(CLASS + r"(?:\s*:[\w:\s]+)?", re.DOTALL)
INTEGER = re.compile(r"\bstd::u?int(?:_least|_fast)?(?:8|16|32|64|max|ptr)_t\b")
DEFINED = re.compile(CLASS + r"(?:\s+final)?(?:\s*:.*)?", re.DOTALL)


def without_comments(text, strings):
    """The lines stay where they are. strings: literals stay, too, but for raw ones."""
    def shortened(match):
        literal = match[0][0] in "\"'"
        return match[0] if literal and strings else ('""' if literal else " ") + "\n" * match[0].count("\n")
    return NOT_CODE.sub(shortened, text)


def includes(text):
    """[(line, the header as it is written)]"""
    text = without_comments(text, strings=True)
    return [(text.count("\n", 0, match.start()) + 1, match[1]) for match in INCLUDE.finditer(text)]


def classes(text):
    """What is at namespace scope: ({what is only declared: line}, what is defined), by names with their namespaces."""
    text = DIRECTIVE.sub(lambda match: "\n" * match[0].count("\n"), without_comments(text, strings=False))
    declared, defined, scopes, begin = {}, set(), [], 0

    def named(name):
        return "::".join([*filter(None, scopes), name])

    for match in re.finditer("[{};]", text):
        statement, line = text[begin:match.start()].strip(), text.count("\n", 0, match.start()) + 1
        begin = match.end()
        if match[0] == "}":
            if not scopes:
                raise ValueError(f"line {line}: a }} without its {{")
            scopes.pop()
        elif None in scopes:  # inside a class or function
            if match[0] == "{":
                scopes.append(None)
        elif match[0] == ";":
            if found := DECLARED.fullmatch(statement):
                declared.setdefault(named(found[1]), line)
        elif found := NAMESPACE.fullmatch(statement):
            scopes.append(found[1] or f"unnamed in line {line}")
        elif re.fullmatch(r'extern\s*""', statement):
            scopes.append("")
        else:
            if found := DEFINED.fullmatch(statement):
                defined.add(named(found[1]))
            scopes.append(None)
    if scopes:
        raise ValueError("the last { has no }")
    return {name: line for name, line in declared.items() if name not in defined}, defined


def folders_of(cmake):
    """The folders of runtime/ in the order of its CMakeLists.txt."""
    found = re.findall(r"^\s*(?:add_subdirectory\(([\w/]+)\)|foreach\(folder ([\w/ ]+)\))", cmake, re.MULTILINE)
    return [folder for one, several in found for folder in (one or several).split()]


def shelves_of(cmake):
    """The shelves of a folder in the order of its CMakeLists.txt."""
    return list(dict.fromkeys(re.findall(r"^\s+(\w+)/\w+\.cc\b", cmake, re.MULTILINE)))


class Tree:
    def __init__(self, root):
        self.root = root
        self.order = ["sdk", SETTINGS] + [f"runtime/{folder}" for folder in
                                          folders_of((root / "runtime/CMakeLists.txt").read_text(encoding="utf-8"))]
        self.shelves = [f"{folder}/{shelf}" for folder in self.order if (root / folder / "CMakeLists.txt").is_file()
                        for shelf in shelves_of((root / folder / "CMakeLists.txt").read_text(encoding="utf-8"))]
        self.files = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
                      for top in TOP_FOLDERS for path in sorted((root / top).rglob("*")) if path.suffix in SUFFIXES}
        self.includes = {path: includes(text) for path, text in self.files.items()}
        self.ordered = {path: text for path, text in self.files.items() if path.startswith(ORDERED_FOLDERS)}

    def folder_of(self, path):
        """Where a file is in the order; None: outside of it."""
        return max((folder for folder in self.order if path.startswith(folder + "/")), key=len, default=None)

    def shelf_of(self, path):
        """None: the file is on no shelf."""
        return next((shelf for shelf in self.shelves if path.startswith(shelf + "/")), None)

    def rank(self, path):
        """Its folder in the order, then its shelf in that of the folder."""
        shelf = self.shelf_of(path)
        return self.order.index(self.folder_of(path)), self.shelves.index(shelf) if shelf else -1

    def why_behind(self, path, other):
        """What puts the file `other` after `path`; None: nothing does."""
        if self.rank(other) <= self.rank(path):
            return None
        folder, later = self.folder_of(path), self.folder_of(other)
        if folder != later:
            return f"{later} is behind {folder} in runtime/CMakeLists.txt"
        return f"{self.shelf_of(other)} is behind {self.shelf_of(path) or folder} in {folder}/CMakeLists.txt"

    def included(self, path, header):
        """The file that is meant; None: one of a library."""
        beside = os.path.normpath(os.path.join(os.path.dirname(path), header))
        if beside in self.files or header.split("/")[0] in TOP_FOLDERS:
            return beside if beside in self.files else os.path.normpath(header)
        public = [f"{folder}/include/{header}" for folder in self.order if folder != SETTINGS] + [f"{SETTINGS}/{header}"]
        return next((file for file in public if file in self.files), header if header.startswith("belay/") else None)

    def why_not(self, path, file):
        """Why `path` must not include `file`; None: it may."""
        of_test = path.endswith(("_test.cc", "_test.h")) and file.startswith(TEST_DRIVERS)
        folder, other = self.folder_of(path), self.folder_of(file)
        if folder in (None, "sdk"):
            return f"{path.split('/')[0]}/ includes nothing of runtime/" if file.startswith("runtime/") and not of_test else None
        if other is None:
            return f"it is in none of the folders of {folder}'s order"
        if is_public(path) and other != "sdk" and not is_public(file):
            return "a header below include/ includes only others that are below one"
        return self.why_behind(path, file)

    def wrong_includes(self):
        lines = []
        for path in self.ordered:
            if path.startswith("runtime/") and self.folder_of(path) is None:
                lines.append(f"{path}: its folder is not listed in runtime/CMakeLists.txt")
                continue
            for line, header in self.includes[path]:
                file = self.included(path, header)
                reason = file and self.why_not(path, file)
                if reason:
                    lines.append(f"{path}:{line}: includes {header}: {reason}")
        return lines

    def wrong_declarations(self):
        declared, defined_in, lines = {}, {}, []
        for path, text in self.ordered.items():
            try:
                declared[path], defined = classes(text)
            except ValueError as error:
                lines.append(f"{path}: {error}")
                continue
            defined_in.update({name: path for name in defined if self.folder_of(path)})
        for path, names in declared.items():
            for name, line in names.items():
                later = defined_in.get(name)
                reason = later and self.folder_of(path) and self.why_behind(path, later)
                if reason:
                    lines.append(f"{path}:{line}: declares {name.split('::')[-1]}, which {later} defines: {reason}")
        return lines

    def all_included(self, path):
        """The headers that a file includes, itself or through headers of this tree, as they are written."""
        headers, waiting, seen = set(), [path], {path}
        while waiting:
            path = waiting.pop()
            for _, header in self.includes[path]:
                headers.add(header)
                file = self.included(path, header)
                if file in self.includes and file not in seen:
                    seen.add(file)
                    waiting.append(file)
        return headers

    def missing_integers(self):
        lines = []
        for path, text in self.files.items():
            if not INTEGER.search(text) or "cstdint" in self.all_included(path):
                continue
            text = without_comments(text, strings=False)
            if found := INTEGER.search(text):
                line = text.count("\n", 0, found.start()) + 1
                lines.append(f"{path}:{line}: names {found[0]}: include <cstdint>")
        return lines


def is_public(path):
    return path.startswith("runtime/") and "include" in path.split("/")


def wrong(root):
    tree = Tree(root)
    return tree.wrong_includes() + tree.wrong_declarations() + tree.missing_integers()


def main():
    lines = wrong(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    for line in lines:
        print(line)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
