#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of includes.py: it finds what reaches upwards and integers without their header, and nothing else."""
import pathlib
import tempfile
import unittest

import includes

ORDER = """# a comment
add_subdirectory(high/proto)
foreach(folder low middle high testing)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
    add_subdirectory(${folder})
  endif()
endforeach()
"""
FILES = {
    "runtime/CMakeLists.txt": ORDER,
    "runtime/include/belay/runtime/settings.h": "namespace belay::runtime {\nstruct Settings {};\n}\n",
    "runtime/low/low.h": "namespace belay::runtime {\nclass Low {};\n}\n",
    "runtime/middle/middle.h": "namespace belay::runtime {\nclass Middle final : public Low<int> {\n  int n = 0;\n};\n}\n",
    "runtime/high/high.h": "namespace belay::runtime {\ntemplate <class T>\nstruct High {\n};\n}\n",
    "runtime/testing/include/belay/testing/driver.h": "int driver;\n",
    "sdk/include/belay/graph.h": "namespace belay {\nclass Graph {};\n}\n",
    "plugins/default_plugins.h": "int plugins;\n",
}


class IncludesTest(unittest.TestCase):
    def wrong(self, **written):
        """What is wrong with FILES and these beside them."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in {**FILES, **written}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return includes.wrong(root)

    def include(self, path, header):
        return self.wrong(**{path: f"// a file\n#include {header}\n"})

    def test_the_order_is_that_of_the_cmake_lists(self):
        self.assertEqual(includes.folders_of(ORDER), ["high/proto", "low", "middle", "high", "testing"])

    def test_a_later_folder_is_not_included(self):
        self.assertEqual(self.include("runtime/middle/a.cc", '"runtime/high/high.h"'),
                         ["runtime/middle/a.cc:2: includes runtime/high/high.h: runtime/high is behind runtime/middle in "
                          "runtime/CMakeLists.txt"])
        for header in ("<runtime/high/high.h>", '"../high/high.h"', '"runtime/low/../high/high.h"',
                       '"runtime/high/made_by_the_build.pb.h"', '"belay/testing/driver.h"'):
            with self.subTest(header):
                self.assertEqual(len(self.include("runtime/middle/a.cc", header)), 1)

    def on_shelves(self, path, text):
        """What is wrong with a file of a folder that has two shelves."""
        return self.wrong(**{"runtime/middle/CMakeLists.txt": "belay_runtime_library(middle\n  SOURCES\n    first/a.cc\n"
                             "    second/b.cc\n    first/c.cc)\n", "runtime/middle/second/b.h": "struct B {};\n", path: text})

    def test_a_later_shelf_is_neither_included_nor_declared(self):
        behind = "runtime/middle/second is behind runtime/middle/first in runtime/middle/CMakeLists.txt"
        path, include = "runtime/middle/first/a.h", '#include "runtime/middle/second/b.h"\n'
        self.assertEqual(self.on_shelves(path, include), [f"{path}:1: includes runtime/middle/second/b.h: {behind}"])
        self.assertEqual(self.on_shelves(path, "struct B;\n"),
                         [f"{path}:1: declares B, which runtime/middle/second/b.h defines: {behind}"])
        for below in ("runtime/middle/a.h", "runtime/middle/third/a.h"):
            with self.subTest(below):
                self.assertEqual(len(self.on_shelves(below, include)), 1)

    def test_a_shelf_includes_its_folder_itself_and_earlier_shelves(self):
        for header in ("middle/middle.h", "middle/first/a.h", "middle/second/b.h", "low/low.h"):
            with self.subTest(header):
                self.assertEqual(self.on_shelves("runtime/middle/second/c.h", f'#include "runtime/{header}"\n'), [])
        self.assertEqual(self.on_shelves("runtime/high/a.h", '#include "runtime/middle/second/b.h"\n'), [])

    def test_what_is_below_may_be_included(self):
        for header in ('"runtime/middle/middle.h"', '"middle.h"', '"runtime/low/low.h"', '"../low/low.h"',
                       '"runtime/high/proto/event.pb.h"', '"belay/runtime/settings.h"', '"belay/graph.h"', "<string>",
                       "<google/protobuf/message.h>"):
            with self.subTest(header):
                self.assertEqual(self.include("runtime/middle/a.h", header), [])
        self.assertEqual(self.include("runtime/testing/driver.cc", '"belay/testing/driver.h"'), [])

    def test_the_runtime_includes_nothing_beside_it(self):
        for header in ('"tests/fake.h"', '"plugins/default_plugins.h"', '"belay/default_plugins.h"', '"runtime/new/new.h"',
                       '"bench/synthetic.h"'):
            with self.subTest(header):
                self.assertEqual(len(self.include("runtime/middle/a.h", header)), 1)

    def test_a_folder_must_be_in_the_order(self):
        self.assertEqual(self.include("runtime/new/a.h", "<string>"),
                         ["runtime/new/a.h: its folder is not listed in runtime/CMakeLists.txt"])

    def test_settings_include_no_folder_of_the_runtime(self):
        settings = "runtime/include/belay/runtime/more.h"
        self.assertEqual(len(self.include(settings, '"runtime/low/low.h"')), 1)
        for header in ('"belay/runtime/settings.h"', '"settings.h"', '"belay/graph.h"', "<string>"):
            with self.subTest(header):
                self.assertEqual(self.include(settings, header), [])

    def test_a_header_that_is_installed_with_the_sdk_needs_none_of_the_runtime(self):
        driver = "runtime/testing/include/belay/testing/more.h"
        self.assertEqual(self.include(driver, '"runtime/low/low.h"'),
                         [f"{driver}:2: includes runtime/low/low.h: a header below include/ includes only others that are "
                          "below one"])
        self.assertEqual(self.include(driver, '"belay/testing/driver.h"'), [])
        self.assertEqual(self.include(driver, '"belay/graph.h"'), [])

    def test_sdk_and_plugins_include_nothing_of_the_runtime(self):
        for path in ("sdk/include/belay/a.h", "plugins/hooks/a/a.cc", "plugins/hooks/a/a_test.cc"):
            for header in ('"runtime/low/low.h"', "<belay/runtime/settings.h>", '"runtime/new/new.h"'):
                with self.subTest(path + header):
                    self.assertEqual(self.include(path, header),
                                     [f"{path}:2: includes {header[1:-1]}: {path.split('/')[0]}/ includes nothing of runtime/"])
            self.assertEqual(self.include(path, "<belay/graph.h>"), [])

    def test_only_their_tests_include_test_drivers(self):
        for path, wrong in (("sdk/template/op/my_op_test.cc", 0), ("plugins/hooks/a/a_test.cc", 0),
                            ("sdk/include/belay/a.h", 1), ("plugins/hooks/a/a.cc", 1)):
            with self.subTest(path):
                self.assertEqual(len(self.include(path, "<belay/testing/driver.h>")), wrong)

    def test_an_include_in_a_comment_is_none(self):
        self.assertEqual(self.wrong(**{"runtime/low/a.h": '// #include "runtime/high/high.h"\n/*\n#include "runtime/high/high.h"\n*/\n'
                                       'const char* s = R"(\n#include "runtime/high/high.h"\n)";\n'}), [])

    def declare(self, text, path="runtime/low/a.h"):
        return self.wrong(**{path: text})

    def test_a_class_of_a_later_folder_is_not_declared(self):
        self.assertEqual(self.declare("namespace belay::runtime {\n\nclass Middle;\n}\n"),
                         ["runtime/low/a.h:3: declares Middle, which runtime/middle/middle.h defines: runtime/middle is "
                          "behind runtime/low in runtime/CMakeLists.txt"])
        for text in ("namespace belay {\nnamespace runtime {\nstruct Middle;  // middle.h\n}\n}\n",
                     "namespace belay::runtime { template <class T> struct High; }",
                     "namespace belay::runtime {\nint f() { return '{'; }\nconst char* s = \"}\"; class Middle; }\n",
                     "namespace belay::runtime {\nconstexpr int n = 1'000'000;\nclass Middle;\n}\n",
                     "#define OPEN {\nnamespace belay::runtime {\nclass Middle;\n}\n"):
            with self.subTest(text):
                self.assertEqual(len(self.declare(text)), 1)
        self.assertEqual(len(self.declare("namespace belay::runtime { class Middle; }", "sdk/include/belay/a.h")), 1)
        self.assertEqual(len(self.declare("namespace belay::runtime { class Low; }", "runtime/include/belay/runtime/a.h")), 1)

    def test_what_is_declared_for_its_own_or_an_earlier_folder_is_fine(self):
        for text in ("namespace belay::runtime { class Low; class Middle; struct Unknown; }",
                     "namespace belay::runtime { struct Own; struct Own { int n; }; }"):
            with self.subTest(text):
                self.assertEqual(self.declare(text, "runtime/middle/a.h"), [])

    def test_another_class_of_that_name_is_fine(self):
        for text in ("namespace belay { class Middle; }", "class Middle;", "namespace { class Middle; }",
                     "namespace belay::runtime { class Outer { class Middle; }; }",
                     "namespace belay::runtime { void f() { class Middle; } }",
                     "namespace belay::runtime { class Middle; class Middle { int n; }; }",
                     "// namespace belay::runtime { class Middle; }"):
            with self.subTest(text):
                self.assertEqual(self.declare(text), [])

    def test_a_file_that_it_cannot_read_is_named(self):
        for text in ("namespace a {\n", "}\n"):
            with self.subTest(text):
                self.assertEqual([line.split(":")[0] for line in self.declare(text)], ["runtime/low/a.h"])

    def test_an_integer_of_std_needs_its_header(self):
        for path in ("runtime/low/a.cc", "plugins/ops/a/a.cc", "tests/low/a_test.cc", "bench/a.cc"):
            with self.subTest(path):
                self.assertEqual(self.wrong(**{path: "#include <string>\n// a file\nstd::uint8_t f();\n"}),
                                 [f"{path}:3: names std::uint8_t: include <cstdint>"])

    def test_the_header_comes_through_others_of_this_tree(self):
        self.assertEqual(self.wrong(**{"tests/a.h": "#include <cstdint>\n", "tests/b.h": '#include "a.h"\n',
                                       "tests/b.cc": '#include "tests/b.h"\nstd::int64_t n;\n',
                                       "tests/c.cc": "#include <cstdint>\nstd::int64_t n;\n",
                                       "tests/d.cc": "// std::int64_t\nstd::size_t n;\n"}), [])


if __name__ == "__main__":
    unittest.main()
