# SPDX-License-Identifier: Apache-2.0
"""The program of docs/guide/your-own-data.md that packs pictures: one that is damaged is named and left out, one that a
camera took on its side is turned upright.

    pictures_check.py SOURCE
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
    from PIL import Image
except ImportError as error:
    print(f"skipped: {error}; apt install python3-pil python3-numpy")
    sys.exit(77)

PAGE = pathlib.Path(sys.argv.pop(1)) / "docs/guide/your-own-data.md"
ORIENTATION, UPSIDE_DOWN = 0x0112, 3  # of EXIF


class Pictures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        program = re.search(r"```python pictures_to_npz\.py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
        (self.folder / "pictures_to_npz.py").write_text(program, encoding="utf-8")
        for name in ("a", "b"):
            (self.folder / "data" / name).mkdir(parents=True)

    def path(self, name):
        return self.folder / "data" / name

    def pack(self):
        return subprocess.run([sys.executable, "-B", "pictures_to_npz.py", self.folder / "data", "out.npz", "8"],
                              cwd=self.folder, capture_output=True, text=True)

    def test_T_132_a_damaged_picture_is_named_and_a_turned_one_is_upright(self):
        stored = Image.new("RGB", (64, 32), "white")
        stored.paste("black", (32, 0, 64, 32))  # the right half; seen upright it is the left one
        exif = Image.Exif()
        exif[ORIENTATION] = UPSIDE_DOWN
        stored.save(self.path("a/turned.jpg"), quality=95, exif=exif.tobytes())
        stored.save(self.path("b/plain.png"))
        self.path("b/short.jpg").write_bytes(self.path("a/turned.jpg").read_bytes()[:200])
        self.path("b/text.png").write_text("no picture")
        result = self.pack()
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 2, result.stderr)
        for line, name in zip(lines, ("b/short.jpg", "b/text.png")):
            self.assertTrue(line.startswith(f"{self.path(name)} is left out: "), line)
        self.assertEqual(result.stdout, "out.npz: 2 pictures; classes: 0 a, 1 b\n")
        with np.load(self.folder / "out.npz") as packed:
            images, labels = packed["images"], packed["labels"]
        self.assertEqual(images.shape, (2, 8, 8, 3))
        self.assertEqual(labels.tolist(), [0, 1])
        for image, black, white in ((images[0], 0, 7), (images[1], 7, 0)):
            self.assertLess(image[:, black].max(), 60)
            self.assertGreater(image[:, white].min(), 195)

    def test_T_132_without_a_picture_that_can_be_read_it_ends_with_the_folder(self):
        self.path("a/text.png").write_text("no picture")
        result = self.pack()
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.endswith(f"{self.folder / 'data'}: no picture could be read\n"), result.stderr)
        self.assertFalse((self.folder / "out.npz").exists())


if __name__ == "__main__":
    unittest.main()
