# SPDX-License-Identifier: Apache-2.0
"""./dev data: downloads from a server of this test on loopback. Nothing here leaves the machine."""
import contextlib
import fcntl
import hashlib
import http.server
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("example_data", TREE / "examples/data.py")
data = importlib.util.module_from_spec(spec)
spec.loader.exec_module(data)

CONTENTS = bytes(range(256)) * 1000


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        server.asked.append((self.path, self.headers.get("Range")))
        body = server.files.get(self.path)
        if body is None:
            return self.send_error(404)
        start = 0
        wanted = self.headers.get("Range")
        if wanted and server.ranges:
            start = int(wanted[len("bytes="):-1])
            if start >= len(body):
                return self.send_error(416)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        rest = body[start:]
        if server.break_off_after is not None:
            rest = rest[:server.break_off_after]
        self.wfile.write(rest)


class DataTest(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.asked, self.server.files = [], {}
        self.server.ranges, self.server.break_off_after = True, None
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        self.addCleanup(lambda: (self.server.shutdown(), thread.join(), self.server.server_close()))
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            if name in os.environ:
                self.addCleanup(os.environ.__setitem__, name, os.environ.pop(name))

    def file(self, *urls, contents=CONTENTS):
        return data.File("set/file.bin", len(contents), hashlib.sha256(contents).hexdigest(), list(urls))

    def fetch(self, file, mirrors=()):
        """What it said, and the error or an empty string."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            try:
                data.fetch(file, str(self.folder), mirrors)
            except data.Failed as error:
                return said.getvalue(), str(error)
        return said.getvalue(), ""

    def there(self):
        return sorted(str(p.relative_to(self.folder)) for p in self.folder.rglob("*") if p.is_file())

    def test_a_file_is_downloaded_once(self):
        self.server.files["/a"] = CONTENTS
        self.assertEqual(self.fetch(self.file(self.url + "/a"))[1], "")
        self.assertEqual((self.folder / "set/file.bin").read_bytes(), CONTENTS)
        self.assertEqual(self.there(), ["set/file.bin"])
        said, error = self.fetch(self.file(self.url + "/a"))
        self.assertEqual((said, error), ("set/file.bin is there\n", ""))
        self.assertEqual(len(self.server.asked), 1)

    def test_what_was_broken_off_goes_on_where_it_ended(self):
        self.server.files["/a"] = CONTENTS
        self.server.break_off_after = 70_000
        error = self.fetch(self.file(self.url + "/a"))[1]
        self.assertIn("/a: ", error)
        self.assertEqual(self.there(), ["set/.file.bin.part"])
        have = (self.folder / "set/.file.bin.part").stat().st_size
        self.assertTrue(0 < have <= 70_000)
        self.server.break_off_after = None
        self.assertEqual(self.fetch(self.file(self.url + "/a"))[1], "")
        self.assertEqual(self.server.asked[-1], ("/a", f"bytes={have}-"))
        self.assertEqual((self.folder / "set/file.bin").read_bytes(), CONTENTS)

    def test_a_server_that_knows_no_ranges_begins_anew(self):
        self.server.files["/a"] = CONTENTS
        self.server.ranges = False
        (self.folder / "set").mkdir()
        (self.folder / "set/.file.bin.part").write_bytes(CONTENTS[:1000])
        self.assertEqual(self.fetch(self.file(self.url + "/a"))[1], "")
        self.assertEqual((self.folder / "set/file.bin").read_bytes(), CONTENTS)

    def test_a_part_of_something_else_is_dropped_and_the_next_source_asked(self):
        self.server.files["/a"] = self.server.files["/b"] = CONTENTS
        (self.folder / "set").mkdir()
        (self.folder / "set/.file.bin.part").write_bytes(b"x" * 5000)
        said, error = self.fetch(self.file(self.url + "/a", self.url + "/b"))
        self.assertEqual(error, "")
        self.assertEqual(self.server.asked, [("/a", "bytes=5000-"), ("/b", None)])
        self.assertEqual((self.folder / "set/file.bin").read_bytes(), CONTENTS)

    def test_a_part_that_is_whole_is_only_checked(self):
        (self.folder / "set").mkdir()
        (self.folder / "set/.file.bin.part").write_bytes(CONTENTS)
        self.assertEqual(self.fetch(self.file(self.url + "/a"))[1], "")
        self.assertEqual(self.server.asked, [])
        self.assertEqual(self.there(), ["set/file.bin"])

    def test_of_sources_that_fail_each_is_named_with_its_reason(self):
        self.server.files["/other"] = b"?" * len(CONTENTS)
        self.server.files["/longer"] = CONTENTS + b"more"
        self.server.files["/shorter"] = CONTENTS[:-1]
        urls = [self.url + name for name in ("/missing", "/other", "/longer", "/shorter")]
        error = self.fetch(self.file(*urls, "http://127.0.0.1:1/closed"))[1]
        self.assertIn("set/file.bin could not be had:\n", error)
        for url, reason in zip(urls, ("HTTP status 404", "it has another checksum", f"it has more than {len(CONTENTS)}",
                                      f"it ended after {len(CONTENTS) - 1} of")):
            self.assertIn(f"  {url}: {reason}", error)
        self.assertIn("http://127.0.0.1:1/closed: URLError: ", error)
        self.assertNotIn("set/file.bin", self.there())

    def test_a_mirror_of_ones_own_is_asked_first(self):
        self.server.files["/mine/set/file.bin"] = CONTENTS
        self.assertEqual(self.fetch(self.file(self.url + "/a"), [self.url + "/mine/"])[1], "")
        self.assertEqual(self.server.asked, [("/mine/set/file.bin", None)])

    def test_a_file_that_is_another_is_not_overwritten(self):
        self.server.files["/a"] = CONTENTS
        (self.folder / "set").mkdir()
        (self.folder / "set/file.bin").write_bytes(b"mine")
        self.assertIn("is another file than the one that examples read", self.fetch(self.file(self.url + "/a"))[1])
        self.assertEqual((self.folder / "set/file.bin").read_bytes(), b"mine")
        self.assertEqual(self.server.asked, [])

    def test_of_two_at_the_same_time_the_second_leaves_it_to_the_first(self):
        (self.folder / "set").mkdir()
        with open(self.folder / "set/.file.bin.part", "a+b") as part:
            fcntl.flock(part, fcntl.LOCK_EX)
            self.assertIn("another process is downloading it", self.fetch(self.file(self.url + "/a"))[1])
        self.assertEqual(self.server.asked, [])

    def test_the_command_ends_with_1_where_a_file_could_not_be_had_and_gets_the_others(self):
        sets = {"one": data.Set("a set", [data.File("one/a", 1, "0" * 64, [self.url + "/none"]),
                                          data.File("one/b", 2, hashlib.sha256(b"ok").hexdigest(), [self.url + "/b"])])}
        self.server.files["/b"] = b"ok"
        said, out = io.StringIO(), io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(out):
            self.assertEqual(data.main(["one", "--to", str(self.folder)], sets), 1)
        self.assertIn("error: one/a could not be had:", said.getvalue())
        self.assertEqual((self.there(), out.getvalue()), (["one/b"], ""))

    def test_the_checksums_are_those_of_the_data(self):
        folder = os.environ.get("BELAY_DATA_DIR", str(TREE.parent / "shared/data"))
        if not os.path.isdir(folder):
            self.skipTest(f"there is no {folder}: BELAY_DATA_DIR is the folder with mnist/, shakespeare/ and uci/")
        for known in data.SETS.values():
            for file in known.files:
                self.server.files["/" + file.path] = pathlib.Path(folder, file.path).read_bytes()
        done = subprocess.run([sys.executable, "-B", TREE / "examples/data.py", "all", "--mirror", self.url,
                               "--to", self.folder], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, f"export BELAY_DATA_DIR={self.folder}\n"), done.stderr)
        self.assertEqual(self.there(), sorted(f.path for known in data.SETS.values() for f in known.files))

    def test_each_source_is_encrypted(self):
        for known in data.SETS.values():
            for file in known.files:
                for url in file.urls:
                    self.assertTrue(url.startswith("https://"), url)


if __name__ == "__main__":
    unittest.main()
