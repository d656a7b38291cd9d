#!/usr/bin/env python3
"""A provider that is not ours: apns-clerk against the sandbox's gateway and feedback service.

Usage: apns_clerk_client.py GATEWAY_PORT FEEDBACK_PORT CERTIFICATE.pem < tokens

Reads good tokens (hex, one a line) and sends one message to all of them with an invalid token in the middle, sends
again what the library says has to be sent again, and reads the feedback list. The second message ends with another
invalid token: its answer proves that everything before it was processed, so nothing here waits for silence.

Prints one JSON object: what the library made of the answers.
"""

import json
import sys

import OpenSSL.SSL

# The library asks for TLS 1.0 alone, which no server speaks any more.
OpenSSL.SSL.TLSv1_METHOD = OpenSSL.SSL.TLS_METHOD

from apns_clerk import APNs, Message, Session  # noqa: E402  (it looks the method up when it is imported)

HOST = "127.0.0.1"
FIRST_BAD = "00" * 32
SECOND_BAD = "ff" * 32


def send(service, message):
    result = service.send(message)
    return result, {token: reason for token, (reason, _) in result.failed.items()}


def main():
    gateway_port, feedback_port = int(sys.argv[1]), int(sys.argv[2])
    certificate = sys.argv[3]
    tokens = sys.stdin.read().split()
    middle = len(tokens) // 2

    # Without a time-out of its own: the library would set it on a context in use, which pyOpenSSL refuses today.
    session = Session(connect_timeout=None, read_tail_timeout=60)
    service = APNs(session.get_connection((HOST, gateway_port), cert_file=certificate))

    first = Message(tokens[:middle] + [FIRST_BAD] + tokens[middle:], alert="hello", extra={"n": 1})
    result, first_failed = send(service, first)
    needs_retry = result.needs_retry()
    retry = result.retry()
    second = Message(retry.tokens + [SECOND_BAD], alert="hello", extra={"n": 1})
    _, second_failed = send(service, second)
    session.shutdown()

    feedback = APNs(Session(connect_timeout=None).new_connection((HOST, feedback_port), cert_file=certificate))
    listed = [token if isinstance(token, str) else token.decode() for token, _ in feedback.feedback()]

    print(
        json.dumps(
            {
                "first_failed": first_failed,
                "needs_retry": needs_retry,
                "retried": len(retry.tokens),
                "second_failed": second_failed,
                "feedback": listed,
            },
            sort_keys=True,
        )
    )


if __name__ == "__main__":
    main()
