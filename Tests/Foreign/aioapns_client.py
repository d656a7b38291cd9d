#!/usr/bin/env python3
"""A provider that is not ours: aioapns against the sandbox's provider API.

Usage: aioapns_client.py PORT AUTHORITY.pem TOPIC certificate FILE.pem < notifications
       aioapns_client.py PORT AUTHORITY.pem TOPIC key FILE.p8 KEY_ID TEAM < notifications

Reads one JSON object: `each`, notifications to send one after the other, and `together`, some to send at once. A
notification has `token` and `alert`, and may have `topic`, `priority`, `collapse` and `type`.

Prints one JSON object: for each, in the same order, `status`, `reason` and `timestamp` as the library understood them.
"""

import asyncio
import json
import logging
import ssl
import sys

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsDevelopmentClientProtocol


def client(authority, topic, kind, file, *key):
    context = ssl.create_default_context(cafile=authority)
    # One connection: the library would open another one whenever it thinks that this one is busy.
    common = {"topic": topic, "use_sandbox": True, "ssl_context": context, "max_connections": 1}
    if kind == "certificate":
        return APNs(client_cert=file, **common)
    with open(file, encoding="ascii") as lines:
        return APNs(key=lines.read(), key_id=key[0], team_id=key[1], **common)


async def send(service, notification):
    kind = notification.get("type")
    result = await service.send_notification(
        NotificationRequest(
            device_token=notification["token"],
            message={"aps": {"alert": notification["alert"]}},
            priority=notification.get("priority"),
            collapse_key=notification.get("collapse"),
            push_type=PushType(kind) if kind else None,
            apns_topic=notification.get("topic"),
        )
    )
    return {"status": int(result.status), "reason": result.description, "timestamp": result.timestamp}


async def main():
    logging.disable(logging.CRITICAL)
    # The library knows Apple's hosts only.
    APNsDevelopmentClientProtocol.APNS_SERVER = "127.0.0.1"
    APNsDevelopmentClientProtocol.APNS_PORT = int(sys.argv[1])
    notifications = json.load(sys.stdin)
    service = client(*sys.argv[2:])
    each = [await send(service, notification) for notification in notifications["each"]]
    together = await asyncio.gather(*(send(service, notification) for notification in notifications["together"]))
    service.pool.close()
    print(json.dumps({"each": each, "together": together}, sort_keys=True))


asyncio.run(asyncio.wait_for(main(), timeout=60))
