#!/usr/bin/env python3
"""Publishes a notification to device tokens with confluent-kafka, and prints the request's id.

    BELFRY_KAFKA_BROKERS=HOST:PORT [SPREAD=N] [LANE=NAME] publish.py BUNDLE PAYLOAD TOKEN…

PAYLOAD is JSON with an `aps` object, TOKEN hexadecimal. SPREAD (1) is the bundle's, as all publishers have it.
LANE (normal) is urgent, normal or bulk.
"""

import json
import os
import sys
import uuid
import zlib

LANES = {"urgent": "push.requests.urgent", "normal": "push.requests", "bulk": "push.requests.bulk"}


def key_of(bundle, token, spread):
    """The key of the record that carries a token, given as bytes."""
    return bundle if spread == 1 else f"{bundle}#{zlib.crc32(token) % spread}"


def records(bundle, payload, tokens, spread, request):
    """Keys and values: a record holds the tokens of its own key only."""
    by_key = {}
    for token in tokens:
        by_key.setdefault(key_of(bundle, token, spread), []).append({"hex": token.hex()})
    for key, members in by_key.items():
        yield key, json.dumps({"requestId": request, "payloadJson": payload, "tokens": members})


def main():
    from confluent_kafka import Producer

    if len(sys.argv) < 4:
        sys.exit("usage: publish.py BUNDLE PAYLOAD TOKEN…")
    bundle, payload, *tokens = sys.argv[1:]
    topic = LANES[os.environ.get("LANE", "normal")]
    request = str(uuid.uuid4())
    producer = Producer({
        "bootstrap.servers": os.environ["BELFRY_KAFKA_BROKERS"],
        "partitioner": "murmur2_random",  # as Java and Belfry do
        "enable.idempotence": True,       # keeps the order of a key when the client tries again
    })
    failures = []
    for key, value in records(bundle, payload, map(bytes.fromhex, tokens), int(os.environ.get("SPREAD", 1)), request):
        producer.produce(
            topic, key=key, value=value, headers={"content-type": "application/json"},
            on_delivery=lambda error, _: error and failures.append(error),
        )
    left = producer.flush(30)
    if failures or left:
        sys.exit(f"not delivered: {failures or left}")
    print(request)


if __name__ == "__main__":
    main()
