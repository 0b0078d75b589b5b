#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what a reader that is not ours finds in a file of predictions, a line per example: numbers as the hexadecimal
digits of their bits, as the given type. NaN of any kind is "nan".

    read_back.py jsonl|csv|npy FILE float32|float64|int64|text
"""
import ast
import csv
import json
import math
import struct
import sys


def read_npy(path):
    try:
        import numpy
        return numpy.load(path).tolist()
    except ImportError:
        pass
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    size = 10 + struct.unpack("<H", data[8:10])[0]
    assert size % 64 == 0 and data[size - 1:size] == b"\n"
    header = ast.literal_eval(data[10:size].decode("latin1"))
    assert header["fortran_order"] is False
    code = {"<f4": "f", "<f8": "d", "<f2": "e", "<i4": "i", "<i8": "q", "|u1": "B", "|b1": "?"}[header["descr"]]
    shape = header["shape"]
    count = math.prod(shape)
    flat = struct.unpack(f"<{count}{code}", data[size:])
    width = math.prod(shape[1:])
    return [list(flat[i * width:(i + 1) * width]) if len(shape) > 1 else flat[i] for i in range(shape[0])]


def bits(value, kind):
    if kind == "text":
        return str(value)
    if kind == "int64":
        return struct.pack(">q", int(value)).hex()
    if value is None or math.isnan(float(value)):
        return "nan"
    return struct.pack(">f" if kind == "float32" else ">d", float(value)).hex()


def rows(form, path):
    if form == "npy":
        return [v if isinstance(v, list) else [v] for v in read_npy(path)]
    with open(path, encoding="utf-8", newline="") as file:
        if form == "csv":
            return list(csv.reader(file))[1:]
        found = []
        for line in file:
            row = []
            for value in json.loads(line, parse_constant=lambda name: sys.exit(f"{name} is no JSON")).values():
                row += value if isinstance(value, list) else [value]
            found.append(row)
        return found


def main():
    form, path, kind = sys.argv[1:]
    for row in rows(form, path):
        print(",".join(bits(value, kind) for value in row))


main()
