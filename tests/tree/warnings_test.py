# SPDX-License-Identifier: Apache-2.0
"""No file of the build switches a warning off for a whole target. One source may do without, as what protoc makes."""
import pathlib
import re
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
# -Wno-error=NAME leaves the warning on.
SWITCHED_OFF = re.compile(r"(?<![\w-])(-w\b(?![-=])|-Wno-(?!error=)[\w=-]+)")


def switched_off(text):
    lines = [line.split("#")[0] for line in text.splitlines()]
    return [found for line in lines if "set_source_files_properties" not in line for found in SWITCHED_OFF.findall(line)]


class WarningsTest(unittest.TestCase):
    def test_the_options_that_switch_a_warning_off_are_found(self):
        self.assertEqual(switched_off("target_compile_options(a PRIVATE -Wall -Wno-restrict\n"
                                      "  $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage> -w)\n"),
                         ["-Wno-restrict", "-Wno-subobject-linkage", "-w"])

    def test_what_leaves_a_warning_on_and_what_one_source_has_are_none(self):
        self.assertEqual(switched_off("-Wall -Werror -Wno-error=restrict  # -Wno-restrict\n--with-w x-w\n"
                                      "set_source_files_properties(a.pb.cc PROPERTIES COMPILE_OPTIONS -w)\n"), [])

    def test_no_file_of_the_build_has_one(self):
        files = [TREE / "CMakePresets.json"]
        for folder in ("bench", "cmake", "plugins", "runtime", "sdk", "tests"):
            files += [path for pattern in ("CMakeLists.txt", "*.cmake") for path in (TREE / folder).rglob(pattern)]
        files.append(TREE / "CMakeLists.txt")
        self.assertGreater(len(files), 50)
        found = {str(path.relative_to(TREE)): switched_off(path.read_text(encoding="utf-8")) for path in files}
        self.assertEqual({path: options for path, options in found.items() if options}, {})


if __name__ == "__main__":
    unittest.main()
