# SPDX-License-Identifier: Apache-2.0
"""Downloads the data that examples read: ./dev data mnist|shakespeare|iris|wine|all [--to DIR] [--mirror URL]

Each file has a checksum here and is checked before it gets its name, so that what is there is whole. A download that was
broken off goes on where it ended. A file that is there already and is right is left alone; one that is another is never
overwritten. Files go below DIR, else the folder that BELAY_DATA_DIR names, else data/ in the current folder.

Another mirror (--mirror, may be given again) has the files at URL/mnist/train-images-idx3-ubyte.gz and so on, and is
asked before those that are known here. Status 1 where a file could not be had, 2 where the command is wrong.
"""
import argparse
import collections
import fcntl
import hashlib
import http.client
import os
import sys
import urllib.error
import urllib.request

File = collections.namedtuple("File", "path size sha256 urls")
Set = collections.namedtuple("Set", "about files")

MNIST = [
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://yann.lecun.com/exdb/mnist/",
]
TABLES = [
    "https://raw.githubusercontent.com/scikit-learn/scikit-learn/1.3.2/sklearn/datasets/data/",
    "https://cdn.jsdelivr.net/gh/scikit-learn/scikit-learn@1.3.2/sklearn/datasets/data/",
]


def from_mirrors(mirrors, folder, name, size, sha256):
    return File(f"{folder}/{name}", size, sha256, [base + name for base in mirrors])


SETS = {
    "mnist": Set("70,000 handwritten digits, by LeCun, Cortes and Burges, CC BY-SA 3.0", [
        from_mirrors(MNIST, "mnist", "train-images-idx3-ubyte.gz", 9630610,
                     "71524e2cd1ad2968737f7f2f2ff69cbfc32df8ccddff51593f7cb2d4e0eb5b64"),
        from_mirrors(MNIST, "mnist", "train-labels-idx1-ubyte.gz", 28881,
                     "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
        from_mirrors(MNIST, "mnist", "t10k-images-idx3-ubyte.gz", 1648877,
                     "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
        from_mirrors(MNIST, "mnist", "t10k-labels-idx1-ubyte.gz", 4542,
                     "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
    ]),
    "shakespeare": Set("a million characters of Shakespeare, public domain", [
        File("shakespeare/tinyshakespeare.txt", 1115394,
             "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed", [
                 "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
                 "https://storage.googleapis.com/download.tensorflow.org/data/shakespeare.txt",
             ]),
    ]),
    "iris": Set("150 flowers of three kinds, UCI, CC BY 4.0", [
        from_mirrors(TABLES, "uci", "iris.csv", 2734,
                     "f13ffa8fdd56fd8e6c8d16d4081a3fbd3114bcd0aae4256c43205169cd9d1449"),
    ]),
    "wine": Set("178 wines of three growers, UCI, CC BY 4.0", [
        from_mirrors(TABLES, "uci", "wine_data.csv", 11157,
                     "10e8a802908b34f86e5da8ce962f3c806694bc98450a18f61851af59f324bede"),
    ]),
}

SECONDS_WITHOUT_A_BYTE = 60
CHUNK = 1 << 16


class Failed(Exception):
    pass


def say(text):
    print(text, file=sys.stderr, flush=True)


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def is_whole(path, file):
    return os.path.getsize(path) == file.size and sha256_of(path) == file.sha256


def opened(url, have):
    """The response, which goes on behind `have` bytes or, where the server cannot do that, begins at the start."""
    request = urllib.request.Request(url, headers={"User-Agent": "belay-dev-data"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    return urllib.request.urlopen(request, timeout=SECONDS_WITHOUT_A_BYTE)


def continues(response, have):
    return response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")


def read_into(part, file, url):
    """Fills the open file `part` up to the file's size. Failed, with the reason, where that does not work out."""
    have = part.seek(0, os.SEEK_END)
    if have > file.size:
        have = 0
    if have == file.size:
        return
    try:
        with opened(url, have) as response:
            if have and not continues(response, have):
                have = 0
            part.truncate(have)
            part.seek(have)
            while have < file.size:
                chunk = response.read(min(CHUNK, file.size - have))
                if not chunk:
                    raise Failed(f"it ended after {have} of {file.size} bytes")
                part.write(chunk)
                have += len(chunk)
            if response.read(1):
                part.truncate(0)
                raise Failed(f"it has more than {file.size} bytes")
    except urllib.error.HTTPError as error:
        if error.code == 416:  # what lies there is no start of the file
            part.truncate(0)
        raise Failed(f"HTTP status {error.code}") from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise Failed(f"{type(error).__name__}: {reason}") from None


def sync_folder(folder):
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def download(file, path, mirrors):
    urls = [mirror.rstrip("/") + "/" + file.path for mirror in mirrors] + file.urls
    part_path = os.path.join(os.path.dirname(path), "." + os.path.basename(path) + ".part")
    reasons = []
    with open(part_path, "a+b", buffering=0) as part:
        try:
            fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Failed(f"{path}: another process is downloading it") from None
        if os.path.exists(path):
            return  # by a process that was there before the lock was
        for url in urls:
            have = os.path.getsize(part_path)
            say(f"{file.path} from {url}" + (f", behind {have} bytes" if have else ""))
            try:
                read_into(part, file, url)
                if not is_whole(part_path, file):
                    part.truncate(0)
                    raise Failed("it has another checksum")
            except Failed as error:
                reasons.append(f"  {url}: {error}")
                continue
            os.fsync(part.fileno())
            os.replace(part_path, path)
            sync_folder(os.path.dirname(path))
            return
    if os.path.getsize(part_path) == 0:
        os.remove(part_path)
    raise Failed(f"{file.path} could not be had:\n" + "\n".join(reasons))


def fetch(file, folder, mirrors=()):
    path = os.path.join(folder, file.path)
    if os.path.exists(path):
        if not is_whole(path, file):
            raise Failed(f"{path} is another file than the one that examples read; move it away, and try again")
        say(f"{file.path} is there")
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    download(file, path, list(mirrors))


def main(arguments, sets=None):
    sets = SETS if sets is None else sets
    parser = argparse.ArgumentParser(prog="./dev data", description="Downloads the data that examples read.")
    parser.add_argument("names", nargs="+", choices=[*sets, "all"], metavar="NAME", help=", ".join([*sets, "all"]))
    parser.add_argument("--to", metavar="DIR", help="else the folder that BELAY_DATA_DIR names, else data/")
    parser.add_argument("--mirror", metavar="URL", action="append", default=[], help="asked first; may be given again")
    options = parser.parse_args(arguments)
    folder = os.path.abspath(options.to or os.environ.get("BELAY_DATA_DIR") or "data")
    failed = False
    for name in sets if "all" in options.names else dict.fromkeys(options.names):
        say(f"{name}: {sets[name].about}")
        for file in sets[name].files:
            try:
                fetch(file, folder, options.mirror)
            except (Failed, OSError) as error:
                say(f"error: {error}")
                failed = True
    if failed:
        return 1
    print(f"export BELAY_DATA_DIR={folder}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
