# SPDX-License-Identifier: Apache-2.0
"""What a run looks like on a terminal: tmux plays one of 80 and of 200 columns, which is resized meanwhile.

    terminal_check.py BELAY PLUGINS EXAMPLES
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
PATIENCE_SECS = 240

# The screen after the first live line: numbers are N, paths DIR. The live line is cut where the terminal ends.
GOLDEN = """\
TIME {info} a new run in DIR
TIME {info} attempt N: a new training, to step N
TIME {info}   model       mlp, N trainable parameters in N variables
TIME {info}   data        digits, N examples, batches of N, N an epoch
TIME {info}   optimizer   adam, learning rate N
TIME {info}   machine     N threads, xN-N-vN, seed N
TIME {info}   disk        a checkpoint takes N MiB, N are kept: N MiB; N GiB are free
TIME {info}   memory      saving takes N MiB more, for a copy of the variables
"""
LIVE = "[BAR] N%, ETA N:N, N steps/s, loss N (average N), accuracy N, learning_rate N, step N/N, N examples/s"
# The block at the end, in place of the live line; a shell's line may be after it.
END = """\
TIME {info} ended at step N (N steps in N s): stopped by SIGINT; last checkpoint DIR/model.ckpt-N
TIME {info}   speed       N steps/s, saving and evaluations included
TIME {info}   time        training N%, input wait N%, hooks N%, saving N%, evaluation N%
TIME {info}   next start  continues from model.ckpt-N
TIME {info}   try         belay evaluate MANIFEST SETS; belay predict MANIFEST SETS; belay report DIR
""".replace("SETS", "--set 'run.dir=\"DIR\"' --set run.max_steps=N --set run.threads=N --set session.log_step_count_steps=N")
INFO = "\x1b[32minfo\x1b[39m"


class Terminal:
    def __init__(self, columns, command):
        self.socket = f"belay-{os.getpid()}-{columns}"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", "50", command)

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-L", self.socket, *arguments], check=True, capture_output=True, text=True).stdout

    def lines(self, *options):
        return [line.rstrip() for line in self.tmux("capture-pane", "-p", *options).splitlines() if line.strip()]

    def resize(self, columns):
        self.tmux("resize-window", "-x", str(columns), "-y", "50")

    def close(self):
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], check=False, capture_output=True)


def wait_for(what, look):
    end = time.monotonic() + PATIENCE_SECS
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"waited in vain for {what}")


def masked(text, directory):
    text = re.sub(r"\x1b\[0m", "\x1b[39m", text).replace(directory, "DIR")
    text = re.sub(r"\d\d:\d\d:\d\d\.\d{3}", "TIME", text)
    text = re.sub(r"\[[=> ]{10}\]", "[BAR]", text)
    parts = re.split(r"(\x1b\[\d+m)", text)
    parts = [p if p.startswith("\x1b") else re.sub(r"\d+(\.\d+)?(e[-+]\d+)?", "N", p) for p in parts]
    text = "".join(parts)
    return re.sub(r"\bN threads?\b", "N threads", re.sub(r"(Nd )?(N:)+N", "N:N", text)).replace("TiB are", "GiB are")


def is_live(line):
    return re.match(r"\[[=> ]{1,10}", line) is not None


def live_line(terminal):
    lines = terminal.lines()
    return lines[-1] if lines and is_live(lines[-1]) else None


def check_screen(terminal, columns, directory):
    wait_for("a live line with the time left", lambda: [x for x in terminal.lines() if is_live(x) and "ETA" in x])
    screen = "\n".join(masked(line, directory) for line in terminal.lines("-e", "-J"))
    golden = GOLDEN.format(info=INFO)
    assert golden in screen + "\n", f"the block at {columns} columns:\n{screen!r}\nis not\n{golden!r}"
    last = terminal.lines()[-1]
    assert len(last) < columns, f"{len(last)} of {columns} columns: {last}"
    shown = masked(last, directory)
    if columns >= 200:
        assert shown == LIVE, f"{shown}\nis not\n{LIVE}"
    else:
        head = masked(last[: last.rindex(",")], directory)
        assert LIVE.startswith(head) and len(head) > 30, f"{shown}\nis no beginning of\n{LIVE}"


def check_end(terminal, columns, directory, manifest):
    wait_for("the last line", lambda: any("info   try " in x for x in terminal.lines("-J")))
    screen = "\n".join(masked(line.replace(manifest, "MANIFEST"), directory) for line in terminal.lines("-e", "-J"))
    # The slowest hook is named if the hooks took long enough.
    screen = re.sub(r"hooks N% \([^)]*\)", "hooks N%", screen)
    golden = END.format(info=INFO)
    assert golden in screen + "\n", f"the block at the end at {columns} columns:\n{screen!r}\nis not\n{golden!r}"


def check_resized(terminal, columns):
    """However often the width changes, there is one live line, and no piece of another."""
    terminal.resize(columns)
    before = terminal.lines()[-1]
    wait_for("another live line", lambda: live_line(terminal) not in (None, before))
    lines = terminal.lines()
    pieces = [x for x in lines if is_live(x) or "(average" in x or "examples/s" in x]
    assert len(pieces) == 1 and pieces[0] == lines[-1], f"left behind at {columns} columns: {pieces}"


def check(belay, examples, columns):
    with tempfile.TemporaryDirectory() as directory:
        run = os.path.join(directory, "run")
        # The shell outlives Ctrl-C, so that the screen stays.
        command = (f"trap : INT; {belay} run {examples}/digits.toml --set run.dir='\"{run}\"' --set run.max_steps=1000000 "
                   "--set run.threads=1 --set session.log_step_count_steps=100; sleep 1000")
        terminal = Terminal(columns, command)
        try:
            check_screen(terminal, columns, run)
            for width in (60, 120, 45, columns):
                check_resized(terminal, width)
            terminal.tmux("send-keys", "C-c")
            wait_for("the acknowledgement", lambda: any("SIGINT: the run ends" in x for x in terminal.lines("-J")))
            wait_for("the end", lambda: any("info ended at step" in x for x in terminal.lines("-J")))
            assert not any(is_live(x) for x in terminal.lines()), "the live line goes with the run"
            check_end(terminal, columns, run, f"{examples}/digits.toml")
        except AssertionError:
            print("\n".join(terminal.lines()), file=sys.stderr)
            raise
        finally:
            terminal.close()


def main():
    belay, plugins, examples = sys.argv[1:]
    if shutil.which("tmux") is None:
        print("SKIPPED: there is no tmux; apt-get install tmux")
        return SKIPPED
    os.environ["BELAY_PLUGIN_PATH"] = plugins
    os.environ.pop("NO_COLOR", None)
    for columns in (80, 200):
        check(belay, examples, columns)
    return 0


if __name__ == "__main__":
    sys.exit(main())
