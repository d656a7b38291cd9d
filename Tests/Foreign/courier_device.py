#!/usr/bin/env python3
"""A device that is not ours: the courier's protocol with nothing but Python's ssl module.

Usage: courier_device.py PORT AUTHORITY.pem DEVICE.pem TOPIC FOREIGN_TOKEN

Registers the topic, waits for one notification, and closes. Connects again, presents the token it was given, wipes
itself, and presents the outdated one. On a third connection it presents a token of another device.

Prints one JSON object: what it was told.
"""

import json
import socket
import ssl
import struct
import sys

HOST = "127.0.0.1"
REGISTER, PRESENT, WIPE = 0x01, 0x02, 0x05
TOKEN, PRESENTED, NOTIFICATION, REFUSED = 0x81, 0x82, 0x83, 0x84


class Courier:
    def __init__(self, port, authority, certificate):
        context = ssl.create_default_context(cafile=authority)
        context.load_cert_chain(certificate)
        self.stream = context.wrap_socket(socket.create_connection((HOST, port), timeout=60), server_hostname=HOST)

    def say(self, kind, data):
        self.stream.sendall(struct.pack("!BH", kind, len(data)) + data)

    def take(self, count):
        data = b""
        while len(data) < count:
            more = self.stream.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def hear(self, expected):
        kind, length = struct.unpack("!BH", self.take(3))
        data = self.take(length)
        if kind != expected:
            raise ValueError(f"type {kind:#x} instead of {expected:#x}: {data!r}")
        return data

    def is_closed(self):
        return self.stream.recv(1) == b""


def counted(data):
    length = data[0]
    return data[1:1 + length], data[1 + length:]


def notification(data):
    topic, rest = counted(data)
    token, rest = counted(rest)
    expiration, priority = struct.unpack("!IB", rest[:5])
    push_type, rest = counted(rest[5:])
    collapse_id, payload = counted(rest)
    return {
        "topic": topic.decode(),
        "token": token.hex(),
        "expiration": expiration,
        "priority": priority,
        "pushType": push_type.decode(),
        "collapseID": collapse_id.decode(),
        "payload": payload.decode(),
    }


def main():
    port, authority, certificate, topic = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4].encode()
    foreign = bytes.fromhex(sys.argv[5])

    first = Courier(port, authority, certificate)
    first.say(REGISTER, topic)
    _, token = counted(first.hear(TOKEN))
    arrived = notification(first.hear(NOTIFICATION))
    first.stream.close()

    second = Courier(port, authority, certificate)
    second.say(PRESENT, token)
    presented = second.hear(PRESENTED).decode()
    second.say(WIPE, topic)
    _, renewed = counted(second.hear(TOKEN))
    second.say(PRESENT, token)
    outdated = second.hear(REFUSED)[0]
    second.stream.close()

    third = Courier(port, authority, certificate)
    third.say(PRESENT, foreign)
    refused = third.hear(REFUSED)[0]

    print(
        json.dumps(
            {
                "token": token.hex(),
                "notification": arrived,
                "presented": presented,
                "renewed": renewed.hex(),
                "outdated": outdated,
                "refused": refused,
                "closed": third.is_closed(),
            },
            sort_keys=True,
        )
    )


if __name__ == "__main__":
    main()
