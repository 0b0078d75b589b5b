#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of docs/doxygen_filter.py: plain comments become what Doxygen reads."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs"))
import doxygen_filter  # noqa: E402


class DoxygenFilterTest(unittest.TestCase):
    def assert_filtered(self, header, expected):
        self.assertEqual(doxygen_filter.filtered("\n".join(header)), "\n".join(expected))

    def test_the_first_comment_is_the_files(self):
        self.assert_filtered(["// SPDX-License-Identifier: Apache-2.0", "// Hooks.", "#pragma once"],
                             ["/// \\file", "/// Hooks.", "#pragma once"])
        self.assert_filtered(["// SPDX-License-Identifier: Apache-2.0", "/* Hooks", " * in C. */", "#ifndef A"],
                             ["/** \\file", " * Hooks", " * in C. */", "#ifndef A"])

    def test_a_comment_in_front_is_the_declarations(self):
        self.assert_filtered(["  // Stops.", "  void stop();"], ["  /// Stops.", "  void stop();"])
        self.assert_filtered(["/* Stops. */", "void stop(void);"], ["/** Stops. */", "void stop(void);"])

    def test_a_comment_behind_belongs_to_its_line(self):
        self.assert_filtered(["int n;  // how many,", "        // at most 3", "int m;"],
                             ["int n;  ///< how many,", "        ///< at most 3", "int m;"])
        self.assert_filtered(["int n; /* how many */"], ["int n; /**< how many */"])

    def test_the_end_of_a_namespace_is_no_declaration(self):
        self.assert_filtered(["}  // namespace belay"], ["}  // namespace belay"])

    def test_a_comment_in_a_string_is_none(self):
        self.assert_filtered(['print("see  // there");'], ['print("see  // there");'])

    def test_nothing_in_a_comment_is_a_command(self):
        self.assert_filtered(["// a < b, @c, \\d, 5 %, `v<T>`"], ["/// a \\< b, \\@c, \\\\d, 5 \\%, `v<T>`"])

    def test_a_member_is_a_reference(self):
        self.assert_filtered(["// See Graph::find, std::string."], ['/// See \\ref Graph::find "Graph::find", std::string.'])
        self.assert_filtered(["// SPDX-License-Identifier: Apache-2.0", "// See Graph::find()."],
                             ["/// \\file", '/// See \\ref belay::Graph::find() "Graph::find()".'])

    def test_what_is_indented_below_an_empty_line_is_an_example(self):
        self.assert_filtered(["// So:", "//", "//   x<T>();", "//     y();", "//", "// Then."],
                             ["/// So:", "///", "///      x<T>();", "///        y();", "///", "/// Then."])

    def test_the_second_line_of_an_item_is_no_example(self):
        self.assert_filtered(["// * one", "//   more", "//", "//   more of it"], ["/// * one", "///   more", "///", "///   more of it"])

    def test_the_namespace_of_the_abi_is_in_no_name(self):
        self.assert_filtered(["inline namespace v0 {"], ['extern "C++" {'])


if __name__ == "__main__":
    unittest.main()
