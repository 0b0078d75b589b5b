#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of names.py: it finds what breaks when two sources are compiled as one file, and nothing else."""
import json
import pathlib
import tempfile
import unittest

import names


class NamesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def clashes(self, a, b):
        paths = [self.folder / "a.cc", self.folder / "b.cc"]
        for path, source in zip(paths, (a, b)):
            path.write_text(source)
        return [line.replace(f"{self.folder}/", "") for line in names.clashes({"some": [str(path) for path in paths]})]

    def test_a_clash_is_named_with_both_places(self):
        for written in ("constexpr int kGates = 3;", "struct kGates {};", "enum class kGates { a };",
                        "int kGates(int n) { return n; }"):
            with self.subTest(written):
                source = f"namespace n {{\nnamespace {{\n{written}\n}}\n}}\n"
                self.assertEqual(self.clashes(source, "\n" + source), ["a.cc:3 and b.cc:4 of some both define n::kGates"])

    def test_static_ones_and_macros_count_as_well(self):
        self.assertEqual(len(self.clashes("static int f() { return 1; }\n", "static int f() { return 2; }\n")), 1)
        self.assertEqual(len(self.clashes("static int n = 1;\n", "static int n = 2;\n")), 1)
        self.assertEqual(len(self.clashes("#define TWICE(x) ((x) * 2)\n", "#define TWICE(x) ((x) + (x))\n")), 1)

    def test_a_template_is_a_name_as_well(self):
        self.assertEqual(len(self.clashes("namespace {\ntemplate <class T>\nT f(const T& t) { return t; }\n}\n",
                                          "namespace {\ntemplate <class T>\nT f(const T& other) { return other; }\n}\n")), 1)

    def test_functions_with_other_parameters_are_no_clash(self):
        self.assertEqual(self.clashes("namespace {\nint f(const A<int, 2>& a, int n = 1) { return n; }\n}\n",
                                      "namespace {\nint f(const A<int, 2>& a, long n) { return n; }\n}\n"), [])
        self.assertEqual(len(self.clashes("namespace {\nint f(const A<int, 2>& a, int n = 1) { return n; }\n}\n",
                                          "namespace {\nint f(const A<int, 2>& b, int) { return 1; }\n}\n")), 1)

    def test_what_the_compiler_accepts_is_no_clash(self):
        for source in ("namespace {\nusing Names = std::vector<std::string>;\n}\n",  # the same alias
                       "int f() { return 1; }\n",  # of the program: the linker's
                       "TEST_F(Suite, Name) { int n = 1; }\n",
                       "void f() {\n  auto g = [](int n) { return n; };\n  static int n = 1;\n}\n"):
            with self.subTest(source):
                self.assertEqual(self.clashes(source, source), [])
        self.assertEqual(self.clashes("namespace a {\nnamespace {\nint n;\n}\n}\n", "namespace b {\nnamespace {\nint n;\n}\n}\n"), [])
        self.assertEqual(self.clashes("namespace {\nstruct A {\n  int n;\n};\n}\n", "namespace {\nstruct B {\n  int n;\n};\n}\n"), [])

    def test_only_targets_that_are_compiled_together_are_looked_at(self):
        together = self.folder / "Unity" / "unity_0_cxx.cxx"
        together.parent.mkdir()
        together.write_text('#include "/x/a.cc"\n#include "/x/b.cc"\n')
        commands = [{"command": "c++ -o runtime/CMakeFiles/belay_some.dir/Unity/unity_0_cxx.cxx.o", "file": str(together)},
                    {"command": "c++ -o runtime/CMakeFiles/belay_ops.dir/a.cc.o", "file": "/x/a.cc"}]
        (self.folder / "compile_commands.json").write_text(json.dumps(commands))
        self.assertEqual(names.sources_by_target(self.folder),
                         {"runtime/CMakeFiles/belay_some": ["/x/a.cc", "/x/b.cc"]})


if __name__ == "__main__":
    unittest.main()
