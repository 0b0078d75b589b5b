#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of budget.py: it counts what a class declares, and finds each thing that is over its budget."""
import pathlib
import tempfile
import unittest

import budget

OWNER = """namespace belay::runtime {{
class Owner {{
 public:
  Owner();
  ~Owner();
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  struct Inner {{ int one, two; }};
{}
}};
}}  // namespace belay::runtime
"""


def owner(members, methods):
    return OWNER.format("\n".join([f"  void f{i}(int n);" for i in range(methods)] + [f"  int m{i}_;" for i in range(members)]))


def function(lines):
    return "int sum(int n) {\n" + "  n += 2;\n" * (lines - 3) + "  return n;\n}\n"


class BudgetTest(unittest.TestCase):
    def wrong(self, rule, **files):
        """What breaks the rule in a tree with these files."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return budget.wrong(root, [rule])[rule]

    def test_a_class_has_at_most_so_many_members_and_methods(self):
        self.assertEqual(self.wrong("classes", **{"runtime/a/owner.h": owner(25, 50)}), [])
        self.assertEqual(self.wrong("classes", **{"runtime/a/owner.h": owner(26, 3)}),
                         ["runtime/a/owner.h:2: Owner has 26 members and 3 methods; at most 25 and 50"])
        self.assertEqual(len(self.wrong("classes", **{"runtime/a/owner.h": owner(0, 51)})), 1)

    def test_a_class_of_a_source_counts_and_definitions_outside_of_it_do_not(self):
        outside = "".join(f"void Owner::f{i}(int) {{}}\n" for i in range(50))
        self.assertEqual(self.wrong("classes", **{"runtime/a/owner.cc": owner(25, 50) + outside}), [])
        self.assertEqual(len(self.wrong("classes", **{"runtime/a/owner.cc": owner(25, 51) + outside})), 1)

    def test_options_are_lists(self):
        self.assertEqual(self.wrong("classes", **{"runtime/a/o.h": owner(30, 0).replace("Owner", "OwnerOptions")}), [])

    def test_a_folder_has_at_most_so_many_sources(self):
        sources = {f"runtime/a/s{i}.cc": "" for i in range(25)}
        beside = {"runtime/a/one_test.cc": "", "runtime/a/one.h": "", "runtime/a/below/one.cc": ""}
        self.assertEqual(self.wrong("folders", **sources, **beside), [])
        self.assertEqual(self.wrong("folders", **sources, **{"runtime/a/one.cc": ""}),
                         ["runtime/a: 26 sources; a folder has at most 25"])

    def test_a_function_has_at_most_so_many_lines(self):
        self.assertEqual(self.wrong("functions", **{"runtime/a/sum.cc": function(80)}), [])
        self.assertEqual(self.wrong("functions", **{"runtime/a/sum.cc": "int before;\n" + function(81)}),
                         ["runtime/a/sum.cc:2: sum has 81 lines; a function has at most 80"])

    def test_a_table_of_data_may_be_longer(self):
        table = "const char** names() {\n  static const char* table[] = {\n" + '    "one; two",  // a; b\n' * 90 + "  };\n  return table;\n}\n"
        self.assertEqual(self.wrong("functions", **{"runtime/a/names.cc": table}), [])

    def test_only_the_strategy_asks_for_ranks_and_a_replay(self):
        for test in ("ranks_ == nullptr", "options.replay != nullptr", "nullptr != parts->replay()", "run.ranks() == nullptr"):
            with self.subTest(test):
                source = f"// one\nbool b = {test};\n"
                self.assertEqual(self.wrong("null tests", **{"runtime/api/a.cc": source}),
                                 ["runtime/api/a.cc:2: asks whether there are ranks or a replay; the strategy of the run knows it"])
                self.assertEqual(self.wrong("null tests", **{budget.STRATEGY: source}), [])
        self.assertEqual(self.wrong("null tests", **{"runtime/api/a.cc": "// ranks_ == nullptr\nbool b = group == nullptr;\n"}), [])
        self.assertEqual(self.wrong("null tests", **{"runtime/ops/queue.cc": "bool b = ranks_ == nullptr;\n"}), [])

    def test_a_name_is_of_one_namespace(self):
        inner = "namespace belay::runtime {\nclass Twice {};\nstruct Once { struct Inner {}; };\n}\n"
        outer = "namespace belay {\nclass Twice;\n}\n"
        face = {"runtime/a/twice.h": inner, "runtime/include/belay/runtime/twice.h": outer}
        self.assertEqual(self.wrong("names", **face), self.gone())
        for begin, end in ("", ""), ("inline namespace v0 {\n", "}\n"):
            face["sdk/include/belay/twice.h"] = f"namespace belay {{\n{begin}class Twice {{}};\nclass Inner {{}};\n{end}}}\n"
            self.assertEqual(self.wrong("names", **face),
                             ["runtime/a/twice.h:2: Twice is a class of belay and one of belay::runtime; make them one, or "
                              "rename one"] + self.gone())

    def gone(self):
        return [f"TWO_NAMESPACES of budget.py: {name} is no longer in both namespaces; take it out"
                for name in sorted(budget.TWO_NAMESPACES)]


if __name__ == "__main__":
    unittest.main()
