#!/usr/bin/env python3
"""A client of HTTP/2 that is not ours: httpx, whose protocol is written in Python, against the sandbox's provider API.

Usage: httpx_client.py PORT AUTHORITY.pem < plan

Reads one JSON object:
- `certificate`: a file with certificate and key, or null;
- `each`: requests to send one after the other, `together`: some to send at once, all on one connection. A request has
  `method`, `path`, `headers` (pairs) and `body`; and with `key` (file, ID, team, age of the token in seconds) it gets a
  provider token, which PyJWT signs.

Prints one JSON object: for each, in the same order, `version`, `status`, `headers` and `body` of the answer.
"""

import asyncio
import json
import ssl
import sys
import time

import httpx
import jwt

tokens = {}


def authorization(file, key_id, team, age):
    # A signature is never the same twice: each key has one token of an age.
    if (file, key_id, team, age) not in tokens:
        with open(file, encoding="ascii") as lines:
            claims = {"iss": team, "iat": int(time.time()) - age}
            token = jwt.encode(claims, lines.read(), algorithm="ES256", headers={"kid": key_id})
        tokens[file, key_id, team, age] = f"bearer {token}"
    return tokens[file, key_id, team, age]


async def send(client, request):
    headers = [tuple(pair) for pair in request["headers"]]
    if request.get("key"):
        headers.append(("authorization", authorization(*request["key"])))
    answer = await client.request(request["method"], request["path"], headers=headers, content=request["body"])
    return {
        "version": answer.http_version,
        "status": answer.status_code,
        "headers": dict(answer.headers),
        "body": answer.text,
    }


async def main():
    plan = json.load(sys.stdin)
    context = ssl.create_default_context(cafile=sys.argv[2])
    if plan["certificate"]:
        context.load_cert_chain(plan["certificate"])
    one = httpx.Limits(max_connections=1)
    base = f"https://127.0.0.1:{sys.argv[1]}"
    async with httpx.AsyncClient(http2=True, verify=context, base_url=base, limits=one, timeout=60) as client:
        each = [await send(client, request) for request in plan["each"]]
        together = await asyncio.gather(*(send(client, request) for request in plan["together"]))
    print(json.dumps({"each": each, "together": together}, sort_keys=True))


asyncio.run(asyncio.wait_for(main(), timeout=60))
