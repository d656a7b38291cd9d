"""Runs the reader that the documentation of the token state's layout shows, over a socket of its own.

token_reader.py README PORT ENVIRONMENT BUNDLE: tokens as hexadecimal lines on standard input; a JSON array of what the
reader finds on standard output.
"""

import json
import re
import socket
import sys


def connect(port):
    stream = socket.create_connection(("127.0.0.1", port)).makefile("rwb")

    def call(*words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        stream.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        stream.flush()
        line = stream.readline()
        if not line.startswith(b"$"):
            raise RuntimeError(line)
        length = int(line[1:])
        return None if length < 0 else stream.read(length + 2)[:-2]

    return call


def main():
    readme, port, environment, bundle = sys.argv[1:]
    with open(readme, encoding="utf-8") as file:
        code = re.search(r"```python\n(.*?)```", file.read(), re.DOTALL).group(1)
    names = {}
    exec(code, names)
    call = connect(int(port))
    tokens = [bytes.fromhex(line) for line in sys.stdin.read().split()]
    print(json.dumps([names["find"](call, environment, bundle, token) for token in tokens]))


main()
