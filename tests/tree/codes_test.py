# SPDX-License-Identifier: Apache-2.0
"""The comparison of codes with their page finds each kind of difference."""
import pathlib
import tempfile
import unittest

import codes

SECTION = "### {0}: a title\n\nText.\n\n    f: error[{0}]: m\n\nFix: do it.\n\n"


def page(*names):
    return "# Codes\n\n" + "".join(SECTION.format(name) for name in names)


class Codes(unittest.TestCase):
    def test_codes_are_those_in_strings(self):
        self.assertEqual(codes.codes_in('fail("[B1001] x"); // "B1002"\n// B1003\nf("B1004" "B12345");'),
                         {"B1001", "B1004"})

    def test_equal_ones_have_no_problem(self):
        self.assertEqual(codes.problems({"B1001": "a.cc", "B1002": "a.cc"}, page("B1001", "B1002")), [])

    def test_a_code_without_a_section_is_named(self):
        self.assertEqual(codes.problems({"B1001": "a.cc"}, page()),
                         ["a.cc: B1001 has no section in docs/reference/codes.md"])

    def test_a_section_without_a_use_is_retired(self):
        self.assertEqual(len(codes.problems({}, page("B1001"))), 1)
        self.assertEqual(codes.problems({}, "### B1001: a title\n\nRetired in 0.3.0.\n"), [])

    def test_a_code_has_one_section(self):
        self.assertIn("docs/reference/codes.md: B1001 has two sections",
                      codes.problems({"B1001": "a.cc"}, page("B1001", "B1001")))

    def test_sections_are_sorted(self):
        self.assertEqual(len(codes.problems({"B1001": "a.cc", "B1002": "a.cc"}, page("B1002", "B1001"))), 1)

    def test_a_section_has_an_example_and_a_fix(self):
        self.assertEqual(len(codes.problems({"B1001": "a.cc"}, "### B1001: a title\n\nText.\n")), 2)

    def test_a_message_without_a_code_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "runtime/api").mkdir(parents=True)
            (root / "runtime/api/a.cc").write_text(
                'fail(Code::kNotFound, "[B1001] gone");\nfail(Code::kNotFound, "gone");\n'
                'fail(Code::kInternal, "a fault");\nfail(e.code(), "in x: " + std::string(e.message()));\n')
            self.assertEqual(codes.without_code(root, ["runtime/api"]),
                             ['runtime/api/a.cc:2: this message has no code: fail(Code::kNotFound, "gone")'])


if __name__ == "__main__":
    unittest.main()
