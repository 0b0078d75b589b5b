#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tidy.py: which sources it looks at."""
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import tidy


class TidyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.enter_folder(folder.name)
        self.git("init", "-q")
        self.write(".ci/tidied", "")
        for path in ("runtime/a.cc", "runtime/b.cc", "runtime/c.h", "tests/d.cc", "sdk/template/hook/e.h"):
            self.write(path, "int n;  // one\n")
        self.write("build/compile_commands.json",
                   json.dumps([{"file": str(pathlib.Path(path).resolve())} for path in ("runtime/a.cc", "runtime/b.cc")]))
        self.record(self.commit())

    def enter_folder(self, folder):
        exit_stack = contextlib.ExitStack()
        exit_stack.enter_context(contextlib.chdir(folder))
        self.addCleanup(exit_stack.close)

    def git(self, *arguments):
        return subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *arguments], check=True,
                              stdout=subprocess.PIPE, text=True).stdout

    def write(self, path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        pathlib.Path(path).write_text(text)

    def commit(self):
        self.git("add", "runtime", "tests", "sdk", ".ci")
        self.git("commit", "-q", "-m", "change")
        return self.git("rev-parse", "HEAD")

    def record(self, commit):
        self.write(".ci/tidied", commit)

    def looked_at(self, everything=False):
        return tidy.what_to_look_at(pathlib.Path("build"), everything)

    def test_nothing_changed(self):
        self.assertEqual(self.looked_at(), [])

    def test_headers_of_tests_are_left_out(self):
        self.write("runtime/c_test.h", "int c;\n")
        self.commit()
        self.assertEqual(self.looked_at(), [])

    def test_the_newest_change_comes_first(self):
        self.write("runtime/a.cc", "int a;\n")
        self.commit()
        self.write("runtime/c.h", "int c;\n")
        self.commit()
        self.write("runtime/b.cc", "int b;\n")  # not committed yet
        self.assertEqual(self.looked_at(), ["runtime/b.cc", "runtime/c.h", "runtime/a.cc"])

    def test_a_new_header_counts_and_a_removed_one_does_not(self):
        self.write("runtime/new.h", "int n;\n")
        os.remove("runtime/c.h")
        self.assertEqual(self.looked_at(), ["runtime/new.h"])

    def test_a_change_of_comments_is_none(self):
        self.write("runtime/a.cc", "// SPDX-License-Identifier: Apache-2.0\nint n;  // two\n")
        self.commit()
        self.assertEqual(self.looked_at(), [])

    def test_what_was_changed_back_is_no_change(self):
        for text in ("int m;\n", "int n;  // one\n"):
            self.write("runtime/a.cc", text)
            self.commit()
        self.assertEqual(self.looked_at(), [])

    def test_tests_and_templates_are_left_out(self):
        self.write("tests/d.cc", "int d;\n")
        self.write("sdk/template/hook/e.h", "int e;\n")
        self.assertEqual(self.looked_at(), [])

    def test_the_whole_run_looks_at_all_sources(self):
        self.assertEqual(self.looked_at(everything=True), ["runtime/a.cc", "runtime/b.cc"])

    def test_the_whole_run_looks_at_files_of_several_sources(self):
        several = "build/runtime/CMakeFiles/x.dir/Unity/unity_0_cxx.cxx"
        self.write(several, f'#include "{pathlib.Path("runtime/a.cc").resolve()}"\n'
                            f'#include "{pathlib.Path("build/runtime/other.pb.cc").resolve()}"\n')
        self.write("build/compile_commands.json", json.dumps([
            {"file": str(pathlib.Path(path).resolve())}
            for path in (several, "build/tests/unity_0_cxx.cxx", "build/runtime/generated.pb.cc", "sdk/f.cc")]))
        self.assertEqual(self.looked_at(everything=True), [several, "sdk/f.cc"])
        self.assertEqual(tidy.compiled_sources(pathlib.Path("build"))[1],
                         ["runtime/generated.pb.cc", "runtime/other.pb.cc"])

    def test_a_commit_that_the_clone_lacks_is_an_error(self):
        self.record("0123456789012345678901234567890123456789")
        with self.assertRaisesRegex(SystemExit, "has no commit 0123.*fetch --unshallow"):
            self.looked_at()


if __name__ == "__main__":
    unittest.main()
