#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files for operators: examples/operate against docs/guide/operate.md, the exit statuses and the hook `prometheus`.

    operate_files.py SOURCE
"""
import configparser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    print("SKIPPED: python3-yaml is not there")
    sys.exit(77)

SOURCE = pathlib.Path(sys.argv[1]).resolve()
FILES = SOURCE / "examples/operate"
PAGE = (SOURCE / "docs/guide/operate.md").read_text(encoding="utf-8")
UNIT = FILES / "belay@.service"
RULES = FILES / "belay.rules.yml"


def section(page, heading):
    return re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", page, re.M | re.S)[1]


def rows(text):
    """The cells of the table's rows, without its head."""
    lines = [line for line in text.split("\n") if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def unit():
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read(UNIT, encoding="utf-8")
    return parser["Service"]


def rules():
    return [rule for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]


class ExitStatuses(unittest.TestCase):
    table = rows(section(PAGE, "Which exit status wants a restart"))

    def test_the_page_has_each_of_them(self):
        commands = (SOURCE / "docs/reference/commands.md").read_text(encoding="utf-8")
        known = [row[0] for row in rows(section(commands, "Exit statuses"))]
        self.assertGreater(len(known), 7)
        here = [number for row in self.table for number in re.findall(r"\d+", row[0])]
        self.assertEqual([number for number in known if number not in here], [])

    def test_the_unit_restarts_as_the_page_says(self):
        no = [row[0] for row in self.table if row[1] == "no" and row[0] != "0" and int(row[0].split(",")[0]) < 128]
        self.assertEqual(unit()["Restart"], "on-failure")
        self.assertEqual(unit()["RestartPreventExitStatus"].split(), no)
        self.assertIn(f"RestartPreventExitStatus={' '.join(no)}`", PAGE)


class Unit(unittest.TestCase):
    def test_a_run_has_time_to_save(self):
        settings = (SOURCE / "runtime/include/belay/runtime/session_settings.h").read_text(encoding="utf-8")
        grace = int(re.search(r"signal_grace_secs = (\d+);", settings)[1])
        self.assertGreater(int(unit()["TimeoutStopSec"]), grace)
        self.assertIn(f"`session.signal_grace_secs` ({grace})", PAGE)

    def test_systemd_takes_it(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("systemd-analyze is not there")
        with tempfile.TemporaryDirectory() as folder:
            text = UNIT.read_text(encoding="utf-8").replace("/usr/bin/belay", "/bin/sh").replace("User=belay\n", "")
            for name in ("belay@.service", "belay@digits.service"):
                (pathlib.Path(folder) / name).write_text(re.sub("Documentation=.*\n", "", text), encoding="utf-8")
            told = subprocess.run(["systemd-analyze", "verify", f"{folder}/belay@digits.service"], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual((told.returncode, told.stdout), (0, ""))


class Alerts(unittest.TestCase):
    def test_the_page_explains_each(self):
        names = [row[0].strip("`") for row in rows(section(PAGE, "Alerts"))]
        self.assertEqual(names, [rule["alert"] for rule in rules()])

    def test_the_hook_writes_what_they_read(self):
        hook = (SOURCE / "plugins/hooks/prometheus/prometheus.cc").read_text(encoding="utf-8")
        written = set(re.findall(r'"(belay_\w+)"', hook)) | {"belay_loss"}  # a scalar of every training
        read = {name for rule in rules() for name in re.findall(r"belay_\w+", rule["expr"])}
        self.assertGreater(len(read), 5)
        self.assertEqual(read - written, set())

    def test_prometheus_takes_them(self):
        if shutil.which("promtool") is None:
            self.skipTest("promtool is not there")
        told = subprocess.run(["promtool", "check", "rules", RULES], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        self.assertEqual(told.returncode, 0, told.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
