#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the codes of errors in the sources with docs/reference/codes.md, and finds messages without a code.

    codes.py [ROOT]

Each code in a string of the sources has one section, and each section is of a code in the sources, or has a line
that begins with "Retired". A section has an example with its code and a line that begins with "Fix: ". Sections are in
the order of their codes.

Each message of an error in the folders of a run has a code, or is one of the EXCEPTIONS.
"""
import pathlib
import re
import sys

import messages

FOLDERS = ("runtime", "plugins", "sdk/include")
PAGE = "docs/reference/codes.md"
CODE = re.compile(r"(?<![A-Za-z0-9])B\d{4}(?![A-Za-z0-9])")
STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*')
SECTION = re.compile(r"^### (B\d{4}): (.+)$", re.MULTILINE)


# The folders whose messages have codes.
CODED = ("runtime/checkpoint", "runtime/estimator", "runtime/monitored", "runtime/api", "runtime/cli",
         "runtime/session", "runtime/cluster")
# A message that passes on another one has its code. INTERNAL is a fault of Belay itself, and CANCELLED a stop by the
# user.
PASSES_ON = re.compile(r"what\(\)|message\(\)|problems_text\(\)|\bcoded_message\(|Code::kInternal|Code::kCancelled")
# The file, the start of the statement, and the reason why it has no code.
EXCEPTIONS = (
    ("runtime/api/manifest_run.cc", "problems.add({}, message.substr", "it passes on a message in two parts"),
    ("runtime/checkpoint/read/compare_tensors.cc", "refuse(", "refuse() adds the code"),
    ("runtime/api/queue_inputs.cc", "refuse(", "refuse() adds the code"),
    ("runtime/monitored/hooks/state_service.cc", "refuse(", "refuse() adds the code"),
    ("runtime/estimator/resume/resume_check.cc", "refuse(", "refuse() adds the code"),
    ("runtime/estimator/host/run_plugins.cc", "LoadError(", "the reason has the code of the cause"),
    ("runtime/estimator/host/run_plugins.cc", "fail(Code::kNotFound, e.reason()", "the reason is that of a LoadError"),
    ("runtime/estimator/export/exported_model.cc", "refuse(", "refuse() passes on the error of the exporter"),
    ("runtime/monitored/layers/hooked_session.cc", "refuse(", "refuse() passes on the error of the hook"),
    ("runtime/cluster/rank_group.cc", "refuse(", "refuse() passes on the error of the cluster plugin"),
    ("runtime/cli/tables/new_manifest.cc", "fail(Code::kDataLoss, table.damage", "the reader's message has the code"),
    ("runtime/cluster/rank_agreement.cc", "fail(Code::kCancelled", "the ranks stop, which is no error"),
)


def is_exception(file, call):
    return any(file == known and call.startswith(start) for known, start, _ in EXCEPTIONS)


def without_code(root, folders=CODED):
    """Returns a sentence for each message of an error without a code."""
    return [f"{file}:{line}: this message has no code: {call[:100]}"
            for file, line, call in messages.messages(root, [f for f in folders if (root / f).is_dir()])
            if not messages.CODE.search(call) and not PASSES_ON.search(call) and not is_exception(str(file), call)]


def codes_in(text):
    """The codes in the strings of a source."""
    return {code for token in STRING_OR_COMMENT.findall(text) if token.startswith('"')
            for code in CODE.findall(token)}


def used_codes(root):
    used = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cc", ".h") and not path.name.endswith("_test.cc"):
                for code in codes_in(path.read_text(encoding="utf-8")):
                    used.setdefault(code, path.relative_to(root))
    return used


def problems(used, page):
    """Returns a sentence for each difference between the used codes and the page."""
    parts = SECTION.split(page)[1:]
    sections = list(zip(parts[::3], parts[2::3]))
    codes = [code for code, _ in sections]
    found = [f"{PAGE}: {code} has two sections" for code in sorted({c for c in codes if codes.count(c) > 1})]
    if codes != sorted(codes):
        found.append(f"{PAGE}: the sections are not in the order of their codes")
    found += [f"{used[code]}: {code} has no section in {PAGE}" for code in sorted(used) if code not in codes]
    for code, text in sections:
        if "\nRetired" in text:
            continue
        if code not in used:
            found.append(f"{PAGE}: no source uses {code}; add a line that begins with \"Retired\"")
        if not re.search(rf"^    .*\b{code}\b", text, re.MULTILINE):
            found.append(f"{PAGE}: {code} has no example with its code")
        if "\nFix: " not in text:
            found.append(f"{PAGE}: {code} has no line that begins with \"Fix: \"")
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = problems(used_codes(root), (root / PAGE).read_text(encoding="utf-8")) + without_code(root)
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
