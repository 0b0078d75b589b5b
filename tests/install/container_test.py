# SPDX-License-Identifier: Apache-2.0
"""The Containerfile, as far as that can be known without a container engine: what it copies and calls is there, and belay
does as the first process of a container what it does elsewhere.

  container_test.py BUILD_DIRECTORY SOURCE_DIRECTORY

The install of its packages in an empty Debian is chroot_test.sh. Ends with 77 where the kernel allows no process
namespace, behind everything else.
"""
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile

build, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
NEW_PIDS = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]


def instructions():
    text = re.sub(r"^\s*#.*\n", "", (source / "Containerfile").read_text(), flags=re.M)
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            name, rest = line.split(None, 1)
            yield name, rest


def check_containerfile():
    stages, commands = [], []
    packages = re.findall(r"set\(CPACK_DEBIAN_\w+_PACKAGE_NAME (\S+)\)", (source / "cmake/package.cmake").read_text())
    for name, rest in instructions():
        words = shlex.split(rest)
        if name == "FROM":
            assert words[0] == "docker.io/library/debian:bookworm-slim", rest
            stages.append(words[2] if len(words) == 3 else "")
        elif name == "COPY" and words[0].startswith("--from="):
            assert words[0][len("--from="):] in stages[:-1], rest
            for path in words[1:-1]:
                folder, file = path.rsplit("/", 1)
                assert folder == "/src/build/packages", rest  # where ./dev package puts them
                assert file.removesuffix("_*.deb") in packages, rest
        elif name == "RUN":
            subprocess.run(["sh", "-n", "-c", rest], check=True)
            commands.append(rest)
    assert stages == ["build", "sdk", ""], stages
    assert "./dev package" in commands, commands
    assert "  package)\n" in (source / "dev").read_text()


def run_as_first_process(folder, steps):
    arguments = [build / "bin/belay", "run", source / "examples/digits.toml", "--set", f"run.dir={folder}/run",
                 "--set", f"run.max_steps={steps}"]
    return subprocess.Popen([*NEW_PIDS, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def check_first_process():
    """A signal does not end the first process of a namespace by default: belay has to end itself."""
    if subprocess.run([*NEW_PIDS, "true"], capture_output=True).returncode != 0:
        print("SKIPPED: no process namespace can be made here")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        run = run_as_first_process(folder, 1_000_000)
        for line in run.stderr:
            if "progress: step" in line:
                break
        children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        assert len(children) == 1, children
        subprocess.run(["kill", "-TERM", children[0]], check=True)
        said = run.stderr.read()
        status = run.wait()
        assert status == 128 + signal.SIGTERM, f"status {status}\n{said}"
        assert "saved" in said, said
        again = run_as_first_process(folder, 1)  # it is behind that step already
        said = again.communicate()[1]
        assert again.returncode == 0, f"status {again.returncode}\n{said}"
        assert "max_steps = 1" in said, said


check_containerfile()
check_first_process()
print("the Containerfile is right")
