# SPDX-License-Identifier: Apache-2.0
"""A run of 100,000 points: its page has at most 3 MB, and takes at most three times what `belay events --csv` takes.

    report_large_check.py BELAY

Processor time of the two commands in turns, the smallest of five each: the ratio is of one machine at one time.
"""
import os
import resource
import struct
import subprocess
import sys
import tempfile

POINTS, TAGS = 100_000, ("loss", "accuracy", "gradient_norm/all", "learning_rate")


def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc_table()


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(number):
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def record(step, summary):
    event = b"\x09" + struct.pack("<d", 1.7e9 + step * 0.01) + b"\x10" + varint(step) + summary
    length = struct.pack("<Q", len(event))
    return length + struct.pack("<I", masked_crc(length)) + event + struct.pack("<I", masked_crc(event))


def write_run(directory):
    with open(os.path.join(directory, "events.out.tfevents.1700000000.host.1.0"), "wb") as file:
        file.write(record(1, field(7, b"\x08\x01")))  # START
        for i in range(POINTS):
            step = i // len(TAGS) + 1
            value = struct.pack("<f", 1 / step + (i * 7919 % 1000) * 1e-5)
            scalar = field(1, TAGS[i % len(TAGS)].encode()) + b"\x15" + value
            file.write(record(step, field(5, field(1, scalar))))


def processor_time(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as run:
        write_run(run)
        times = [(processor_time(program, "events", run, "--csv"), processor_time(program, "report", run)) for _ in range(5)]
        events, report = min(t[0] for t in times), min(t[1] for t in times)
        size = os.path.getsize(os.path.join(run, "report.html"))
        print(f"{POINTS} points: page {size / 1e6:.2f} MB, report {report * 1e3:.0f} ms, events --csv {events * 1e3:.0f} ms, "
              f"ratio {report / events:.2f}")
        assert size <= 3_000_000 and report <= 3 * events


if __name__ == "__main__":
    main()
