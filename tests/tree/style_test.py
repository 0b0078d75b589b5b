#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of style.py: it counts lines, functions and words as it says."""
import pathlib
import tempfile
import unittest

import style


class StyleTest(unittest.TestCase):
    def test_comments_count_where_they_say_something(self):
        self.assertEqual(style.count_lines("// SPDX-License-Identifier: Apache-2.0\n// What it is.\n\nint a;  // metres\n"
                                           "// ---- reading ----\n/* One\n *\n * two */\nint b;\n"), (2, 4))

    def test_functions_have_the_lines_from_their_name_to_their_end(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "a.cc").write_text("int one() { return 1; }\nint four(int n) {\n  ++n;\n  return n;\n}\n")
            self.assertEqual(style.function_lengths(folder, ["a.cc"]), [(4, "a.cc:2 four")])

    def test_words_count_in_comments_and_strings_only(self):
        source = '#include "text.h"\nint text = 3;  // gives a text\nconst char* s = "whoever";\n'
        self.assertEqual(style.words_in(style.comments_and_strings(source)), {"gives": 1, "text": 1, "whoever": 1})

    def test_words_in_pages_count_but_for_code(self):
        page = "A text, or the option `text`:\n```text\nit gives\n```\n"
        self.assertEqual(style.words_in(style.prose(page)), {"text": 1, "gives": 1})

    def test_a_spread_is_the_median_and_the_ninetieth_percentile(self):
        self.assertEqual(style.spread(range(1, 11)), "median 6, 90th percentile 10")


if __name__ == "__main__":
    unittest.main()
