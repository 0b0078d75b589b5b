#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of folders.py: arrows and lists are those of the sources, and an old page is found."""
import pathlib
import tempfile
import unittest

import folders

PAGE = "# {}: a phrase\n\nA sentence.\n\n* Read first: a.h\n* Includes: x\n* Used by: x\n"
FILES = {
    "runtime/CMakeLists.txt": "foreach(folder platform low middle high testing)\n",
    "runtime/low/low.h": "int low;\n",
    "runtime/middle/middle.h": '#include "runtime/low/low.h"\n#include "belay/graph.h"\n',
    "runtime/high/high.h": '#include "runtime/middle/middle.h"\n#include "runtime/low/low.h"\n',
    "runtime/high/run_hook.cc": "hook.call(&belay_hook_api::begin);\n",
    "runtime/testing/drive_hook.cc": "hook.call(&belay_hook_api::begin);\n",
    "sdk/include/belay/graph.h": "int graph;\n",
    "sdk/graph_test.cc": '#include "runtime/testing/include/belay/testing/driver.h"\n',
    "plugins/hooks/a/a.cc": "int a;\n",
    **{f"{path}/README.md": PAGE.format(path.split("/")[-1]) for path in (
        "sdk", "plugins", "tests", "bench", "runtime/include", "runtime/platform", "runtime/low", "runtime/middle",
        "runtime/high", "runtime/testing")},
}


class FoldersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for path, text in FILES.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)

    def test_a_page_lists_what_its_folder_includes_and_what_includes_it(self):
        files, problems = folders.wanted(self.root, folders.Folders(self.root))
        self.assertEqual(problems, [])
        self.assertIn("* Includes: `sdk`, `low`\n* Used by: `high`\n", files["runtime/middle/README.md"])
        self.assertIn("* Includes: no other folder\n* Used by: `middle`\n", files["sdk/README.md"])

    def test_an_arrow_that_follows_from_others_is_left_out(self):
        self.assertEqual(folders.Folders(self.root).arrows(), [("middle", "low"), ("high", "middle")])

    def test_a_plugin_is_called_by_the_folder_that_names_its_table(self):
        self.assertEqual(folders.Folders(self.root).calls, {"hook": {"high"}})

    def test_a_page_without_phrase_or_with_too_many_lines_is_found(self):
        (self.root / "runtime/low/README.md").write_text("# high: a phrase\n" + "\n" * 15)
        (self.root / "bench/README.md").unlink()
        problems = folders.wanted(self.root, folders.Folders(self.root))[1]
        self.assertEqual(problems, ["runtime/low/README.md: it has fewer than 5 or more than 15 lines",
                                    "bench/README.md: there is none",
                                    "runtime/low/README.md: it does not begin with # low: PHRASE",
                                    "runtime/low/README.md: no line begins with * Includes:",
                                    "runtime/low/README.md: no line begins with * Used by:"])

    def test_a_shelf_without_a_page_is_found(self):
        (self.root / "runtime/high/CMakeLists.txt").write_text("belay_runtime_library(high SOURCES\n  first/a.cc)\n")
        problems = folders.wanted(self.root, folders.Folders(self.root))[1]
        self.assertEqual(problems, ["runtime/high/first/README.md: there is none"])


if __name__ == "__main__":
    unittest.main()
