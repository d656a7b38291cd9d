#!/usr/bin/env python3
"""Tests of schema_check.py: each breaks one thing and expects the finding."""

import copy
import tempfile
import unittest
from pathlib import Path

import schema_check

TABLE = """
| Kafka topic | key | message | written by |
|---|---|---|---|
| `a.b` (compacted) | `<bundle>` | [One](one.proto) | workers |
| `c.d-e` | as the source | bytes | workers |
| `c.d-e.f` | as the source | bytes | workers |

| name | of another table | whose rows | do not count |
|---|---|---|---|
| `c` | one | two | three |
"""
DOCUMENT = {
    "channels": {
        "one": {
            "address": "a.b",
            "messages": {"one": {"$ref": "#/components/messages/one"}},
            "bindings": {"kafka": {"topicConfiguration": {"cleanup.policy": ["compact"]}}},
        },
        "two": {
            "address": "c.d-e",
            "messages": {"two": {"bindings": {"kafka": {"key": {"title": "as the source"}}}}},
        },
        "three": {
            "address": "c.d-e.f",
            "messages": {"two": {"bindings": {"kafka": {"key": {"title": "as the source"}}}}},
        },
    },
    "operations": {
        "tell": {"action": "send", "channel": {"$ref": "#/channels/one"}},
        "take": {"action": "receive", "channel": {"$ref": "#/channels/two"}},
        "takeMore": {"action": "receive", "channel": {"$ref": "#/channels/three"}},
    },
    "components": {
        "messages": {
            "one": {
                "payload": {"schema": {"$ref": "one.proto"}},
                "bindings": {"kafka": {"key": {"title": "`<bundle>`"}}},
            },
        },
    },
}


class SchemaCheckTests(unittest.TestCase):
    def setUp(self):
        self.document = copy.deepcopy(DOCUMENT)

    def differences(self, table=TABLE):
        return list(schema_check.differences(self.document, table))

    def test_equal_documents_differ_in_nothing(self):
        self.assertEqual(self.differences(), [])

    def test_each_column_of_a_topic_counts(self):
        for old, new in [("a.b", "a.c"), (" (compacted)", ""), ("`<bundle>`", "`<key>`"), ("one.proto", "two.proto")]:
            with self.subTest(old):
                self.assertTrue(self.differences(TABLE.replace(old, new)))

    def test_a_topic_that_is_missing_on_one_side_is_told(self):
        row = "| `c.d-e` | as the source | bytes | workers |\n"
        for missing in [row, row.replace("c.d-e", "c.d-e.f")]:
            self.assertEqual(len(self.differences(TABLE.replace(missing, ""))), 1)
        for other in ["c.f", "c.d-e.g"]:
            self.assertEqual(len(self.differences(TABLE + row.replace("c.d-e", other))), 1)

    def test_a_channel_without_an_operation_is_told(self):
        del self.document["operations"]["take"]
        self.assertEqual(len(self.differences()), 1)

    def test_a_reference_leads_to_a_node_or_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            def dead():
                return list(schema_check.dead_references(self.document, Path(folder)))

            self.assertEqual(len(dead()), 1)
            (Path(folder) / "one.proto").touch()
            self.assertEqual(dead(), [])
            self.document["operations"]["tell"]["channel"]["$ref"] = "#/channels/four"
            self.assertEqual(len(dead()), 1)


if __name__ == "__main__":
    unittest.main()
