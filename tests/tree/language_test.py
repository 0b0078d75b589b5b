#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of language.py: it finds prose where people read it, and counts it by folder."""
import unittest

import language


class LanguageTest(unittest.TestCase):
    def test_lines_of_comments_without_code_between_them_are_one_paragraph(self):
        source = ('// SPDX-License-Identifier: Apache-2.0\n// The first\n// part.\n//\n// The second.\nint a = 1;  // Metres.\n'
                  'const char* s = "// no comment";\n/* A\n * block. */\n')
        self.assertEqual(language.paragraphs_of_comments(source), ["The first part.", "The second.", "Metres.", "A block."])

    def test_messages_are_literals_with_a_space(self):
        source = '#include "a b.h"\n// "not this one"\nf("no disk", "id", "a \\"name\\" here");\n'
        self.assertEqual(language.messages_of(source), ["no disk", 'a \\"name\\" here'])

    def test_paragraphs_of_a_page_have_no_code_headings_or_tables(self):
        page = ("# A title\n\nRead [it](that.md), or\n`that code`.\n\n* one\n* two\n\n| a | b |\n|---|---|\n| says | d |\n\n"
                "    indented that\n\n```sh\nthat\n```\n")
        self.assertEqual(language.paragraphs_of_page(page, tables=False), ["Read [it], or code.", "one", "two"])
        self.assertIn("says", language.paragraphs_of_page(page, tables=True))

    def test_a_fragment_counts_at_the_beginning_of_a_sentence_only(self):
        found = language.patterns_in(["What it is. Of two one is kept, where a file is full. It says of which it is."])
        self.assertEqual({name: n for name, n in found.items() if n}, {"What ...": 1, "Of ...": 1, "where the": 1, "says": 1})

    def test_rates_are_of_words_and_of_whole_sentences(self):
        rates = language.Rates()
        rates.add(["The file that is read, and closed. Then two more words, here. Too short."])
        self.assertEqual((rates.words, rates.relative, rates.commas, rates.sentences), (14, 1, 2, 2))

    def test_a_folder_of_the_runtime_and_a_page_at_the_top_have_a_row(self):
        self.assertEqual([language.folder_of(path) for path in ("runtime/ops/nn/a.cc", "runtime/README.md", "sdk/include/a.h",
                                                                "docs/guide/a.md", "docs/README.md", "README.md")],
                         ["runtime/ops", "runtime", "sdk", "docs/guide", "docs", "README.md"])

    def test_comments_and_pages_of_a_folder_are_counted_apart(self):
        patterns, rates = language.count({"sdk/a.h": "// It is behind.\n", "sdk/README.md": "Behind it. It goes on.\n"})
        self.assertEqual({kind: n.total() for kind, n in patterns["sdk"].items()}, {"comments": 1, "messages": 0, "pages": 1})
        self.assertEqual(sorted(rates), ["sdk", "sdk (pages)"])


if __name__ == "__main__":
    unittest.main()
