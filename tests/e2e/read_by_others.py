#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what `belay run` leaves with nothing but numpy: its variables as each saver writes them, in several files where the
saver can, and its events. The variables must be the same bits in every format, the losses those of metrics.jsonl.

    read_by_others.py BELAY PLUGINS
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("SKIPPED: python3 has no numpy; install python3-numpy")
    sys.exit(77)

MANIFEST = """
[run]
dir = "{name}"
max_steps = 20
seed = 5
[input.train]
plugin = "digits"
batch_size = 32
[model]
plugin = "mlp"
hidden = [16]
[optimizer]
name = "adam"
learning_rate = 0.01
[scaffold.saver]
plugin = "{saver}"
{options}
[[hooks]]
plugin = "summary_saver"
save_steps = 1
"""


def crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


TABLE = crc_table()


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def must(holds, what):
    if not holds:
        raise SystemExit(what)


def varint(data, at):
    value, shift = 0, 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def fields(message):
    """The fields of a protocol buffer: (number, value), value bytes where it is no varint."""
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(message, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                must(kind == 2, f"wire type {kind}")
                size, at = varint(message, at)
            value, at = message[at:at + size], at + size
        yield tag >> 3, value


def block(table, handle):
    """The entries of a block of a LevelDB table."""
    offset, at = varint(handle, 0)
    size, _ = varint(handle, at)
    data = table[offset:offset + size]
    must(table[offset + size] == 0, "a packed block")
    must(struct.unpack("<I", table[offset + size + 1:offset + size + 5])[0] ==
         masked_crc32c(table[offset:offset + size + 1]), "a block's checksum")
    end = size - 4 - 4 * struct.unpack("<I", data[-4:])[0]
    at, key = 0, b""
    while at < end:
        shared, at = varint(data, at)
        own, at = varint(data, at)
        length, at = varint(data, at)
        key = key[:shared] + data[at:at + own]
        yield key, data[at + own:at + own + length]
        at += own + length


def read_tf_bundle(folder):
    table = (folder / "model.index").read_bytes()
    must(struct.unpack("<Q", table[-8:])[0] == 0xDB4775248B80FB57, "no LevelDB table")
    _, at = varint(table, len(table) - 48)
    _, at = varint(table, at)
    entries = [entry for _, handle in block(table, table[at:]) for entry in block(table, handle)]
    must(entries[0][0] == b"", "no header")
    shards = dict(fields(entries[0][1]))[1]
    data = [(folder / f"model.data-{i:05}-of-{shards:05}").read_bytes() for i in range(shards)]
    must(shards > 1, "one data file")
    found = {}
    for key, value in entries[1:]:
        entry = dict(fields(value))
        dims = [dict(fields(v)).get(1, 0) for n, v in fields(entry.get(2, b"")) if n == 2]
        offset = entry.get(4, 0)
        piece = data[entry.get(3, 0)][offset:offset + entry.get(5, 0)]
        must(struct.unpack("<I", entry[6])[0] == masked_crc32c(piece), f"the checksum of {key}")
        found[key.decode()] = np.frombuffer(piece, {1: "<f4", 9: "<i8"}[entry[1]]).reshape(dims)
    return found


def read_safetensors(folder):
    files = sorted(folder.glob("*.safetensors"))
    must(len(files) > 1, "one file")
    index = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
    found = {}
    for file in files:
        data = file.read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        for name, tensor in json.loads(data[8:8 + size]).items():
            if name == "__metadata__":
                continue
            must(index[name] == file.name, f"the index has another file for {name}")
            begin, end = tensor["data_offsets"]
            piece = data[8 + size + begin:8 + size + end]
            found[name] = np.frombuffer(piece, {"F32": "<f4", "I64": "<i8"}[tensor["dtype"]]).reshape(tensor["shape"])
    must(found.keys() == index.keys(), "the index has other tensors")
    return found


def read_npz(folder):
    with np.load(folder / "model.npz", allow_pickle=False) as arrays:
        return dict(arrays)


def records(data):
    at = 0
    while at < len(data):
        size, crc = struct.unpack("<QI", data[at:at + 12])
        must(crc == masked_crc32c(data[at:at + 8]), "the checksum of a length")
        record = data[at + 12:at + 12 + size]
        must(struct.unpack("<I", data[at + 12 + size:at + 16 + size])[0] == masked_crc32c(record), "a record's checksum")
        yield record
        at += 16 + size


def losses(run):
    """By step, of the scalar "loss" in the event file."""
    (path,) = run.glob("events.out.tfevents.*")
    found, versions, starts = {}, [], 0
    for record in records(path.read_bytes()):
        event = dict(fields(record))
        if 3 in event:
            versions.append(event[3])
        if 7 in event:
            starts += dict(fields(event[7])).get(1) == 1
        for number, value in fields(event.get(5, b"")):
            value = dict(fields(value))
            if number == 1 and value.get(1) == b"loss":
                found[event.get(2, 0)] = struct.unpack("<f", value[2])[0]
    must(versions == [b"brain.Event:2"] and starts == 1, f"versions {versions}, {starts} times START")
    return found


SAVERS = {
    "safetensors": ("shard_bytes = 3000", read_safetensors),
    "tf_bundle": ("shard_bytes = 3000", read_tf_bundle),
    "npz": ("", read_npz),
}


def main():
    belay, plugins = sys.argv[1:3]
    environment = dict(os.environ, BELAY_PLUGIN_PATH=plugins)
    with tempfile.TemporaryDirectory() as folder:
        folder, first = pathlib.Path(folder), None
        for saver, (options, read) in SAVERS.items():
            manifest = folder / f"{saver}.toml"
            manifest.write_text(MANIFEST.format(name=saver, saver=saver, options=options))
            subprocess.run([belay, "run", str(manifest), "--quiet"], env=environment, check=True)
            found = read(folder / saver / "model.ckpt-20")
            first = first or found
            must(found.keys() == first.keys() and int(found["global_step"]) == 20, f"{saver} has {sorted(found)}")
            for name, value in found.items():
                must(value.dtype == first[name].dtype and value.shape == first[name].shape and
                     value.tobytes() == first[name].tobytes(), f"{saver}: {name} differs")
            written = losses(folder / saver)
            lines = [json.loads(line) for line in (folder / saver / "metrics.jsonl").read_text().splitlines()]
            noted = {line["step"]: np.float32(line["loss"]) for line in lines if "loss" in line}
            common = written.keys() & noted.keys()
            must(len(common) >= 3 and all(np.float32(written[step]) == noted[step] for step in common),
                 f"{saver}: losses {written}, in metrics.jsonl {noted}")
            print(f"{saver}: {len(found)} variables and {len(common)} losses are read alike")


if __name__ == "__main__":
    main()
