#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of licences.py: it finds the sources without their line."""
import pathlib
import tempfile
import unittest

import licences

SPDX = licences.LINE


class LicencesTest(unittest.TestCase):
    def missing(self, **files):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, text in files.items():
                path = name.replace("__", "/").replace("_dot_", ".")
                (pathlib.Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                (pathlib.Path(folder) / path).write_text(text)
                paths.append(path)
            return licences.missing(pathlib.Path(folder), paths)

    def test_a_source_without_the_line_is_found(self):
        self.assertEqual(self.missing(a_dot_cc="int n;\n", b_dot_h=f"// {SPDX}\n#pragma once\n",
                                      c_dot_py=f"// {SPDX}\n", dev="#!/bin/sh\necho\n"), ["a.cc", "c.py", "dev"])

    def test_the_line_may_follow_the_one_that_names_the_interpreter(self):
        self.assertEqual(self.missing(a_dot_py=f"#!/usr/bin/env python3\n# {SPDX}\n",
                                      b__CMakeLists_dot_txt=f"# {SPDX}\nproject(b)\n"), [])

    def test_pages_data_and_templates_need_none(self):
        self.assertEqual(self.missing(a_dot_md="# A\n", b_dot_toml="[run]\n", sdk__template__hook__my_hook_dot_cc="int n;\n"), [])


if __name__ == "__main__":
    unittest.main()
