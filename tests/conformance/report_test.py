#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of report.py: it proves no row that a test did not prove."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
import unittest.mock
from xml.sax.saxutils import escape

import report

PASSED = "[ RUN      ] {0}\n[       OK ] {0} (0 ms)\n"
FAILED = "[ RUN      ] {0}\nfile.cc:3: Failure\n[  FAILED  ] {0} (0 ms)\n"
SKIPPED = "[ RUN      ] {0}\nfile.cc:3: Skipped\n{1}\n[  SKIPPED ] {0} (0 ms)\n"


def case(name, output="", status="run", inner=""):
    return f'<testcase name="{name}" status="{status}">{inner}<system-out>{escape(output)}</system-out></testcase>'


class ReportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def report(self, rows, *cases, options=()):
        """(status, what it printed). `rows`: lines of ID and what holds."""
        lines = [line.partition(" ") for line in rows.splitlines()]
        page = "".join(f"| {name} | {said} | source | |\n" for name, _, said in lines)
        (self.folder / "contract.md").write_text("# Page\n" + page)
        (self.folder / "tests.xml").write_text(f"<testsuite>{''.join(cases)}</testsuite>")
        arguments = ["report.py", "--contract", str(self.folder / "contract.md"), *options, str(self.folder / "tests.xml")]
        printed = io.StringIO()
        with unittest.mock.patch.object(sys, "argv", arguments), contextlib.redirect_stdout(printed):
            try:
                status = report.main()
            except SystemExit as end:
                return 1, str(end)
        return status, printed.getvalue()

    def assert_wrong(self, line, rows, *cases):
        status, printed = self.report(rows, *cases)
        self.assertEqual(status, 1, printed)
        self.assertIn(line, printed)

    def assert_proved(self, rows, *cases):
        status, printed = self.report(rows, *cases)
        self.assertEqual(status, 0, printed)
        return printed

    def test_a_test_of_any_program_proves_its_row(self):
        printed = self.assert_proved("MON-02 It stops.\nT-20a It is named.\n",
                                     case("session_conformance", PASSED.format("A.MON_02_Stops")),
                                     case("e2e_test.1", PASSED.format("Every/B.T_20a_Named/0")))
        self.assertIn("2 rows of the contract: 2 proved by 2 tests, 0 not applicable, 0 open, 0 not proved", printed)

    def test_a_test_of_ctests_own_proves_its_row(self):
        self.assert_proved("T-42b It is checked.\n", case("T_42b_BoundsAreChecked"))
        self.assert_wrong("T-42b: test T_42b_BoundsAreChecked of T_42b_BoundsAreChecked failed", "T-42b It is checked.\n",
                          case("T_42b_BoundsAreChecked", status="fail"))
        self.assert_wrong("skipped", "T-42b It is checked.\n",
                          case("T_42b_BoundsAreChecked", status="notrun", inner='<skipped message="SKIP_RETURN_CODE=77"/>'))

    def test_a_program_that_is_not_there_failed(self):
        self.assert_wrong("gone_test failed", "T-01 It is.\n", case("a", PASSED.format("A.T_01_Is")),
                          case("gone_test", status="notrun", inner='<skipped message="Unable to find executable"/>'))

    def test_a_row_without_a_test_is_not_proved(self):
        self.assert_wrong("T-01: no test proves it: It is.", "T-01 It is.\n", case("a", PASSED.format("A.Other")))

    def test_one_failed_test_of_two_fails_the_row(self):
        self.assert_wrong("T-01: test T_01_B of a failed", "T-01 It is.\n",
                          case("a", PASSED.format("A.T_01_A") + FAILED.format("A.T_01_B"), status="fail"))

    def test_the_same_test_in_another_program_counts_by_itself(self):
        self.assert_wrong("T-01: test T_01_A of x_test.so failed", "T-01 It is.\n",
                          case("x_test", PASSED.format("A.T_01_A")),
                          case("x_test.so", FAILED.format("A.T_01_A"), status="fail"))

    def test_a_test_in_which_the_program_ended_failed(self):
        self.assert_wrong("T-01: test T_01_A of a failed", "T-01 It is.\n",
                          case("a", "[ RUN      ] A.T_01_A\nSegmentation fault\n", status="fail"))

    def test_a_result_behind_other_output_is_seen(self):
        self.assert_proved("T-01 It is.\n",
                           case("a", "[ RUN      ] A.T_01_A\nno newline[       OK ] A.T_01_A (0 ms)\n"))
        self.assert_wrong("failed", "T-01 It is.\n", case("a", "[ RUN      ] I/A.T_01_A/0\n[  FAILED  ] I/A.T_01_A/0, "
                                                          "where GetParam() = 3 (0 ms)\n", status="fail"))

    def test_the_list_of_failed_tests_at_the_end_counts_no_test_again(self):
        output = FAILED.format("A.T_01_A") + "[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.T_01_A\n"
        tests = report.tests_in_output("a", output)
        self.assertEqual([(test.name, test.outcome) for test in tests], [("T_01_A", "failed")])

    def test_a_program_that_fails_though_its_tests_passed_is_wrong(self):
        self.assert_wrong("a failed", "T-01 It is.\n", case("a", PASSED.format("A.T_01_A"), status="fail"))

    def test_output_that_was_cut_off_is_wrong(self):
        self.assert_wrong("the output of a is cut off", "T-01 It is.\n",
                          case("a", PASSED.format("A.T_01_A") + "...\n" + report.TRUNCATED + " of 1024 bytes.\n"))

    def test_a_skipped_test_fails_its_row(self):
        self.assert_wrong("T-01: test T_01_B of a skipped", "T-01 It is.\n",
                          case("a", PASSED.format("A.T_01_A") + SKIPPED.format("A.T_01_B", "not today")))

    def test_a_test_that_the_machine_cannot_run_leaves_its_row_to_others(self):
        skipped = SKIPPED.format("A.T_01_B", "SKIPPED: there is no mnist in BELAY_DATA_DIR (not there)")
        self.assert_proved("T-01 It is.\n", case("a", PASSED.format("A.T_01_A") + skipped))
        self.assert_wrong("T-01: no test proves it but for what this machine lacks", "T-01 It is.\n", case("a", skipped))

    def test_a_row_that_is_open_or_not_applicable_has_no_test(self):
        self.assert_proved("T-01 **open** the next issue\nT-02 **n/a** no such thing\n")
        self.assert_wrong("T-01: is listed as open, and has a test", "T-01 **open** the next issue\n",
                          case("a", PASSED.format("A.T_01_A")))

    def test_a_test_that_names_no_row_is_wrong(self):
        self.assert_wrong("test T_02_A of a begins with no row", "T-01 It is.\n",
                          case("a", PASSED.format("A.T_01_A") + PASSED.format("A.T_02_A")))
        self.assert_wrong("test Anything of hook_conformance begins with no row", "T-01 It is.\n",
                          case("hook_conformance", PASSED.format("A.T_01_A") + PASSED.format("A.Anything")))
        self.assert_proved("T-01 It is.\n", case("a", PASSED.format("A.T_01_A") + PASSED.format("A.AVX_512_Is")))

    def test_a_row_says_what_it_promises(self):
        for line in ("T-01", "T-01 **open**", "T-01 no sentence", "T-01 No end", "T01 It is.", "T-01 It | is."):
            with self.subTest(line):
                self.assert_wrong("contract.md:2: ", line + "\n")
        self.assert_wrong("contract.md:3: T-01 is listed twice", "T-01 It is.\nT-01 It is.\n")
        self.assert_proved("T-01 It \\| that is.\n", case("a", PASSED.format("A.T_01_Is")))

    def test_all_rows_are_printed_with_their_sentences(self):
        _, printed = self.report("T-01 It is.\nT-02 **open** later\nT-03 It too.\n", case("a", PASSED.format("A.T_01_A")),
                                 options=["--all"])
        self.assertRegex(printed, r"(?m)^proved +T-01 +It is\.$")
        self.assertRegex(printed, r"(?m)^open +T-02 +later$")
        self.assertRegex(printed, r"(?m)^NOT PROVED +T-03 +It too\.$")

    def test_the_rows_of_this_tree_can_be_read(self):
        self.assertGreater(len(report.read_rows(pathlib.Path(__file__).parents[2] / "docs" / "reference" / "contract.md")), 350)


if __name__ == "__main__":
    unittest.main()
