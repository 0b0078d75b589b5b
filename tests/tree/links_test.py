#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of links.py: it finds links and pages that lead nowhere, and takes code for no link."""
import unittest

import links


class LinksTest(unittest.TestCase):
    def wrong(self, readme, **others):
        pages = {"README.md": readme, **{name.replace("__", "/") + ".md": text for name, text in others.items()}}
        return links.wrong(pages, [*pages, "examples/digits.toml"])

    def test_a_file_that_is_not_there_is_found(self):
        self.assertEqual(self.wrong("one\n[two\nlines](docs/b.md)\n[a](docs/a.md)", docs__a="[b](b.md)"),
                         ["README.md:2: docs/b.md: there is no docs/b.md", "docs/a.md:1: b.md: there is no docs/b.md"])

    def test_a_path_is_that_beside_the_page(self):
        self.assertEqual(self.wrong("[a](docs/a.md)", docs__a="[up](../README.md), [d](../examples/digits.toml)"), [])

    def test_a_folder_and_another_site_may_be_linked(self):
        self.assertEqual(self.wrong("[e](examples/), [w](https://example.org/x.md), [m](mailto:a@example.org)"), [])

    def test_an_anchor_needs_its_heading(self):
        self.assertEqual(self.wrong("# One\n[a](#one), [b](#two), [c](a.md#one)", a="## `[run]` and its keys\n"),
                         ["README.md:2: #two: README.md has no heading for #two",
                          "README.md:2: a.md#one: a.md has no heading for #one"])

    def test_an_anchor_is_made_as_github_makes_it(self):
        self.assertEqual(links.anchors("# `[run]`: keys\n## Belay's own\n## [A](b.md) b\n## Twice\n## Twice\n"),
                         {"run-keys", "belays-own", "a-b", "twice", "twice-1"})

    def test_code_has_neither_links_nor_headings(self):
        self.assertEqual(self.wrong("`[a](b)`\n\n    [a](b)\n\n```sh\n[a](b)\n# no heading\n```\n"), [])
        self.assertEqual(links.anchors("```sh\n# no heading\n```\n"), set())

    def test_text_of_a_link_may_be_code(self):
        self.assertEqual(self.wrong("[`a`](b.md)"), ["README.md:1: b.md: there is no b.md"])

    def test_a_page_that_no_link_leads_to_is_found(self):
        self.assertEqual(self.wrong("[a](a.md)", a="[b](b.md)", b="", c="[a](a.md)", sdk__template__hook__README=""),
                         ["c.md: no link from README.md leads here, nor one from a page that it leads to"])


if __name__ == "__main__":
    unittest.main()
