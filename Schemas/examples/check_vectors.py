#!/usr/bin/env python3
"""Holds publish.py, and murmur2 as this file has it, against ../vectors/keys.json. Prints how many vectors held.

What a publisher in any other language should do in its tests; needs nothing but Python.
"""

import json
import sys
import zlib
from pathlib import Path

from publish import key_of

VECTORS = Path(__file__).resolve().parent.parent / "vectors" / "keys.json"
MASK = 0xFFFFFFFF


def murmur2(key):
    """Kafka's hash of a record's key, as an unsigned number of 32 bits."""
    multiplier = 0x5BD1E995
    value = 0x9747B28C ^ len(key)
    whole = len(key) & ~3
    for index in range(0, whole, 4):
        word = int.from_bytes(key[index:index + 4], "little") * multiplier & MASK
        word = (word ^ word >> 24) * multiplier & MASK
        value = value * multiplier & MASK ^ word
    if whole < len(key):
        value = (value ^ int.from_bytes(key[whole:], "little")) * multiplier & MASK
    value = (value ^ value >> 13) * multiplier & MASK
    return value ^ value >> 15


def partition_of(key, partitions):
    """The sign bit is dropped, not negated."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def faults(vector):
    """The names of a vector's members that this file computes in another way."""
    token = bytes.fromhex(vector["token"])
    key = key_of(vector["bundle"], token, vector["spread"])
    computed = {
        "crc32": zlib.crc32(token),
        "shard": zlib.crc32(token) % vector["spread"],
        "key": key,
        "murmur2": murmur2(key.encode()),
        "partitions": {count: partition_of(key.encode(), int(count)) for count in vector["partitions"]},
    }
    return [name for name, value in computed.items() if vector[name] != value]


def main():
    vectors = json.loads(VECTORS.read_text())["vectors"]
    wrong = [(vector["key"], names) for vector in vectors if (names := faults(vector))]
    if wrong or not vectors:
        sys.exit(f"vectors that do not hold: {wrong or 'there are none'}")
    print(f"{len(vectors)} vectors hold")


if __name__ == "__main__":
    main()
