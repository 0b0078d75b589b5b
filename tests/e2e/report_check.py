# SPDX-License-Identifier: Apache-2.0
"""A run that is killed and goes on, and the page about it, read as a browser would.

    report_check.py BELAY PLUGINS EXAMPLES [BROWSER]

A run of the digits. With BROWSER one of MNIST, of BELAY_DATA_DIR or else of ../shared/data beside the source, and the page is
also opened there: the console has no line, nothing is asked of a network, and the screenshot is not empty. Status 77 where
BROWSER or MNIST is not there.
"""
import collections
import csv
import html.parser
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

VOID = {"meta", "br", "img", "link", "input", "hr"}
HISTOGRAMS = '{ plugin = "histograms", every_n_steps = 20 }'
# What a page has below each heading: words, and the elements that draw it.
DIGITS = {"example": "digits.toml", "hooks": HISTOGRAMS, "parameters": "203,530", "layer": "hidden_1", "images": 0}
MNIST = {"example": "mnist_cnn.toml", "sets": ["model.filters=[4, 8]", "model.dense=[40]"],
         "hooks": HISTOGRAMS + ', { plugin = "sample_dump", images = ["image"], rows = 1, every_n_steps = 20 }',
         "parameters": "17,042", "layer": "conv_1", "images": 4}


def belay(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


def points(program, run, *more):
    """[(step, attempt)] of the training's loss; none before there is an event file."""
    result = subprocess.run([program, "events", run, "--tag", "loss$", "--csv", *more], capture_output=True, text=True,
                            check=False)
    rows = csv.DictReader(io.StringIO(result.stdout))
    return [(int(row["step"]), int(row["attempt"])) for row in rows if row["run"] == "."] if result.returncode == 0 else []


def checkpoints(run):
    names = os.listdir(run) if os.path.isdir(run) else []
    return sorted(int(name[11:]) for name in names if re.fullmatch(r"model\.ckpt-\d+", name))


def train(program, manifest, run, case):
    """Two attempts: one killed behind its checkpoint, and one that goes on to a step beyond. Returns the step of that."""
    options = ["run", manifest]
    for key in [f"run.dir={run}", "session.save_summaries_steps=5", "session.events_flush_secs=0.05",
                "checkpoint.save_steps=40", "checkpoint.keep_best=1", "checkpoint.best_metric=\"eval/accuracy\"",
                "eval.every_steps=40", f"hooks=[{case['hooks']}]", *case.get("sets", [])]:
        options += ["--set", key]
    with subprocess.Popen([program, *options, "--set", "run.max_steps=1000000"], stderr=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL) as process:
        # Steps after a checkpoint, so that the next attempt does some again. The run is paused while that is looked at.
        while True:
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            saved, seen = checkpoints(run), points(program, run)
            if saved and saved[-1] >= 80 and seen and seen[-1][0] > saved[-1] + 10:
                break
            process.send_signal(signal.SIGCONT)
            assert process.poll() is None, "the run ended by itself"
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    last = checkpoints(run)[-1] + 100
    belay(program, *options, "--set", f"run.max_steps={last}")
    return last


class Tags(html.parser.HTMLParser):
    """That each element is closed, and what the page would load."""

    def __init__(self):
        super().__init__()
        self.open, self.counts, self.loads = [], collections.Counter(), []

    def handle_starttag(self, tag, attrs):
        self.counts[tag] += 1
        self.loads += [value for name, value in attrs if name in ("src", "href", "xlink:href", "srcset", "action", "data")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()


def sections_of(root):
    """The elements below each heading of the page, by its words."""
    sections, below = {}, None
    for element in root.find("body").find("main"):
        if element.tag == "h2":
            below = sections.setdefault("".join(element.itertext()), [])
        else:
            below.append(element)
    return sections


def words_of(elements):
    return " ".join("".join(element.itertext()) for element in elements)


def count(elements, tag):
    return sum(1 for element in elements for _ in element.iter(tag))


def check_page(page, expected_steps, case):
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert not tags.open, tags.open
    assert tags.counts["script"] == 0 and tags.counts["svg"] >= 2, tags.counts
    assert all(target.startswith(("#", "data:")) for target in tags.loads), tags.loads
    assert "http://" not in page and "https://" not in page
    root = xml.etree.ElementTree.fromstring(page.split("\n", 1)[1])
    anchors = {element.get("id") for element in root.iter() if element.get("id")}
    assert {target[1:] for target in tags.loads if target.startswith("#")} <= anchors
    charts = {figure.find("svg").get("aria-label"): figure for figure in root.iter("figure")}
    assert {"loss", "accuracy", "learning_rate"} <= charts.keys(), charts.keys()
    for chart in (charts["loss"], charts["accuracy"]):
        legend = "".join(chart.find("figcaption").itertext())
        assert "training" in legend and "eval" in legend, legend
        assert "attempt 2 continues from step" in "".join(chart.find("svg").itertext())
    check_line(charts["loss"], expected_steps)
    check_sections(sections_of(root), case)


def check_sections(sections, case):
    expected = {
        "Metrics": [], "Learning rate": ["learning_rate"], "Best and last values": ["eval/accuracy", "eval/loss"],
        "Attempts and time": ["cut off", "finished", "Where the time of the training went", "training", "input_wait", "saving"],
        "Checkpoints": ["last", "best"], "Histograms": [f"weights/{case['layer']}/kernel", f"gradients/{case['layer']}/bias"],
        "Model": [case["layer"], case["parameters"], "FLOPs"],
        "Manifest": ["What changed between attempts", "run.max_steps", "1000000", "learning_rate"],
        "Notes": ["of steps that a later attempt did again are left out"]}
    for heading, words in expected.items():
        assert heading in sections, (heading, sections.keys())
        text = words_of(sections[heading])
        for word in words:
            assert word in text, f"{word} is not below {heading}: {text}"
    assert count(sections["Histograms"], "svg") >= 4
    assert count(sections["Model"], "svg") == 1
    assert count(sections.get("Images", []), "img") == case["images"], words_of(sections.get("Images", []))


def check_line(figure, expected_steps):
    """Few points: each is one of the line's, from left to right, and none is there that was done again."""
    line = next(path for path in figure.iter("path") if path.get("class") == "line c0")
    places = [float(x) for x in line.get("d").replace("M", "").split()][::2]
    assert len(places) == len(expected_steps), (len(places), len(expected_steps))
    assert places == sorted(places) and len(set(places)) == len(places)


def check_in_browser(browser, path, directory):
    if shutil.which(browser) is None:
        print(f"{browser} is not installed: the page was not opened in it")
        sys.exit(77)
    picture, netlog = os.path.join(directory, "page.png"), os.path.join(directory, "net.json")
    result = subprocess.run([browser, "--no-sandbox", "--disable-gpu", "--headless", "--enable-logging=stderr",
                             f"--user-data-dir={directory}/profile", f"--log-net-log={netlog}", f"--screenshot={picture}",
                             "--window-size=1280,2400", "--hide-scrollbars", "file://" + path],
                            capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    assert "CONSOLE" not in result.stderr, result.stderr
    assert os.path.getsize(picture) > 20_000, "the screenshot is empty"
    with open(netlog, encoding="utf-8") as file:
        events = json.load(file)["events"]
    asked = {event["params"]["url"] for event in events if isinstance(event.get("params"), dict) and "url" in event["params"]}
    assert not [url for url in asked if url.startswith(("http:", "https:", "ws:", "wss:"))], asked
    if os.environ.get("BELAY_KEEP_SCREENSHOT"):
        shutil.copy(picture, os.environ["BELAY_KEEP_SCREENSHOT"])


def main():
    program, plugins, examples = sys.argv[1:4]
    case = MNIST if len(sys.argv) > 4 else DIGITS
    os.environ["BELAY_PLUGIN_PATH"] = os.path.abspath(plugins)
    # As in belay_process.cc: LeakSanitizer crashes now and then on threads that end with their process.
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0")
    data = os.environ.setdefault("BELAY_DATA_DIR", os.path.abspath(os.path.join(examples, "../../shared/data")))
    if case is MNIST and not os.path.isdir(os.path.join(data, "mnist")):
        print(f"there is no mnist in BELAY_DATA_DIR ({data}): the page was not made")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as directory:
        run = os.path.join(directory, "run")
        manifest = os.path.join(examples, case["example"])
        last = train(program, manifest, run, case)
        again = len(points(program, run, "--all")) - len(points(program, run))
        assert again > 0, "no step was done again"
        text = belay(program, "report", run)
        assert f"finished at step {last}" in text and "steps done again" in text, text
        page = os.path.join(run, "report.html")
        with open(page, encoding="utf-8") as file:
            check_page(file.read(), [step for step, _ in points(program, run)], case)
        if len(sys.argv) > 4:
            check_in_browser(sys.argv[4], page, directory)
        svg = subprocess.run([program, "graph", manifest, "--svg", "--set", f"run.dir={run}2"], capture_output=True, text=True,
                             check=True).stdout
        assert xml.etree.ElementTree.fromstring(svg).tag.endswith("svg")


if __name__ == "__main__":
    main()
