#!/usr/bin/env python3
"""Holds Schemas/asyncapi.yaml against the table of Kafka topics in Schemas/README.md and the files it refers to.

Prints a line for each difference; exit code 1 if there is one. The form of the document is .ci/schema-check's matter.
"""

import re
import sys
from pathlib import Path

import yaml

SCHEMAS = Path(__file__).resolve().parent.parent / "Schemas"
ROW = re.compile(
    r"^\| `(?P<topic>[a-z]+(?:\.[a-z-]+)+)`(?P<compacted> \(compacted\))? \| (?P<key>[^|]+) \| (?P<message>[^|]+) \|"
)
PROTO = re.compile(r"\]\((\S+\.proto)\)")


def references(node):
    """All that a document refers to."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name == "$ref":
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def resolved(document, node):
    """The node itself, or the one of the document that it refers to. Raises KeyError if that is not there."""
    while isinstance(node, dict) and node.get("$ref", "").startswith("#/"):
        target = document
        for part in node["$ref"][2:].split("/"):
            target = target[part]
        node = target
    return node


def dead_references(document, folder):
    for reference in references(document):
        try:
            if reference.startswith("#/"):
                resolved(document, {"$ref": reference})
            elif not (folder / reference).is_file():
                raise KeyError(reference)
        except (KeyError, TypeError):
            yield f"refers to {reference}, which is not there"


def described(document):
    """By Kafka topic, as the document has it: is it compacted, its keys, the file of its message."""
    topics = {}
    for channel in document["channels"].values():
        kafka = channel.get("bindings", {}).get("kafka", {})
        policy = kafka.get("topicConfiguration", {}).get("cleanup.policy", [])
        for message in (resolved(document, message) for message in channel["messages"].values()):
            key = resolved(document, message["bindings"])["kafka"]["key"]["title"]
            file = message.get("payload", {}).get("schema", {}).get("$ref")
            topics[channel["address"]] = ("compact" in policy, key, file)
    return topics


def documented(text):
    """The same, as the table has it."""
    topics = {}
    for line in text.splitlines():
        if row := ROW.match(line):
            file = PROTO.search(row["message"])
            topics[row["topic"]] = (bool(row["compacted"]), row["key"].strip(), file and file.group(1))
    return topics


def differences(document, text):
    ours, theirs = described(document), documented(text)
    for topic in sorted(ours.keys() | theirs.keys()):
        if ours.get(topic) != theirs.get(topic):
            yield f"{topic} is {ours.get(topic)}, in README.md {theirs.get(topic)}"
    handled = {operation["channel"]["$ref"] for operation in document["operations"].values()}
    for name in document["channels"]:
        if f"#/channels/{name}" not in handled:
            yield f"nobody sends to the channel {name}, or receives from it"


def main():
    document = yaml.safe_load((SCHEMAS / "asyncapi.yaml").read_text())
    found = list(dead_references(document, SCHEMAS))
    if not found:
        found = list(differences(document, (SCHEMAS / "README.md").read_text()))
    for finding in found:
        print(f"Schemas/asyncapi.yaml: {finding}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
