#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A plugin may call setlocale, and printf then writes decimal commas: numbers of messages are made without it (T-122)."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRACTION = re.compile(r"printf\s*\([^;]*%[-+ 0#]*[0-9*]*(?:\.[0-9*]*)?l?[aefgAEFG]", re.S)


class LocaleTest(unittest.TestCase):
    def test_T_122_no_fraction_is_written_by_printf(self):
        found = []
        for folder in ("runtime", "plugins"):
            for path in sorted((ROOT / folder).rglob("*.*")):
                if path.suffix in (".cc", ".h") and not path.name.endswith("_test.cc"):
                    found += [str(path.relative_to(ROOT))] if FRACTION.search(path.read_text(errors="replace")) else []
        self.assertEqual(found, [], "use rounded_text (belay/tensor_text.h) or fixed_text (runtime/platform/text/fixed_text.h)")

    def test_the_pattern_knows_what_it_looks_for(self):
        self.assertTrue(FRACTION.search('std::snprintf(t, sizeof(t), "%.2f s", x)'))
        self.assertTrue(FRACTION.search('snprintf(t, n,\n "%d of %g", a, b)'))
        self.assertFalse(FRACTION.search('std::snprintf(t, sizeof(t), "%s %d%%", x, y); "%f"'))


if __name__ == "__main__":
    unittest.main()
