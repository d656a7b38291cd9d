#!/usr/bin/env python3
"""Tests of sbom.py: what licences, dependencies and dependency graph lead to, and that faults are found."""

import json
import tempfile
import unittest
from pathlib import Path

import sbom

APACHE = "Apache License\n Version 2.0, January 2004\n"
MIT = "The MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a\ncopy of this"
BSD = "Redistribution and use in source and binary forms, with or without modification"
CONTROL = """Package: belfry
Depends: libssl3 (>= 3.0.0), ca-certificates, systemd | systemd-standalone-sysusers
Suggests: redis-server
"""
CREATED = "2026-01-31T12:00:00Z"


class SbomTests(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def node(self, identity, license, *dependencies):
        folder = self.folder / identity
        folder.mkdir(exist_ok=True)
        (folder / "LICENSE.txt").write_text(license)
        return {
            "identity": identity, "version": "1.2.3", "path": str(folder),
            "url": f"https://example.com/team/{identity}.git", "dependencies": list(dependencies),
        }

    def document(self, dependencies):
        graph = {"dependencies": dependencies}
        revisions = {"logs": "a" * 40, "net": "b" * 40}
        return sbom.document(
            sbom.program("0.1.0", "c" * 40), graph, revisions, "6.3", CONTROL, {"libssl3": "3.0.17-1~deb12u2"}, CREATED
        )

    def findings(self, document):
        path = self.folder / "test.spdx.json"
        path.write_text(json.dumps(document))
        return sbom.findings(path)

    def test_licences_are_told_by_their_texts(self):
        self.assertEqual(sbom.license_id(APACHE), "Apache-2.0")
        swift = APACHE + "## Runtime Library Exception to the Apache 2.0 License: ##"
        self.assertEqual(sbom.license_id(swift), "Apache-2.0 WITH Swift-exception")
        self.assertEqual(sbom.license_id(MIT), "MIT")
        self.assertEqual(sbom.license_id(BSD), "BSD-2-Clause")
        self.assertEqual(sbom.license_id(BSD + " Neither the name of"), "BSD-3-Clause")
        self.assertIsNone(sbom.license_id("All rights reserved"))

    def test_an_unknown_licence_and_none_are_refused(self):
        with self.assertRaisesRegex(sbom.SbomError, "not known"):
            self.document([self.node("logs", "All rights reserved")])
        logs = self.node("logs", MIT)
        (self.folder / "logs/LICENSE.txt").unlink()
        with self.assertRaisesRegex(sbom.SbomError, "no licence"):
            self.document([logs])

    def test_licences_of_code_taken_over_are_named(self):
        logs = self.node("logs", MIT)
        (self.folder / "logs/Sources/C").mkdir(parents=True)
        (self.folder / "logs/Sources/C/LICENSE").write_text(BSD)
        (self.folder / "logs/NOTICE.txt").write_text("")
        self.assertEqual(sbom.more_licenses(Path(logs["path"])), ["NOTICE.txt", "Sources/C/LICENSE"])

    def test_the_package_depends_on_the_first_of_alternatives(self):
        self.assertEqual(sbom.debian_names(CONTROL), ["ca-certificates", "libssl3", "systemd"])
        self.assertIn("libssl3", sbom.debian_names(sbom.CONTROL.read_text()))
        with self.assertRaisesRegex(sbom.SbomError, "depends on nothing"):
            sbom.debian_names("Package: belfry\n")

    def test_the_version_of_swift_is_that_of_the_image_that_builds(self):
        self.assertEqual(sbom.swift_version("FROM swift:6.3-bookworm AS build\nFROM debian:bookworm-slim\n"), "6.3")

    def test_a_package_that_several_depend_on_is_told_once_with_both_relations(self):
        document = self.document([self.node("net", APACHE, self.node("logs", MIT)), self.node("logs", MIT)])
        packages = {each["name"]: each for each in document["packages"]}
        self.assertEqual(len(packages), len(document["packages"]))
        self.assertEqual(sorted(packages), ["belfry", "ca-certificates", "libssl3", "logs", "net", "swift", "systemd"])
        self.assertEqual(packages["net"]["licenseDeclared"], "Apache-2.0")
        self.assertEqual(packages["net"]["downloadLocation"], "git+https://example.com/team/net.git@" + "b" * 40)
        self.assertEqual(packages["libssl3"]["versionInfo"], "3.0.17-1~deb12u2")
        self.assertNotIn("versionInfo", packages["ca-certificates"])
        needed = [
            (each["spdxElementId"], each["relatedSpdxElement"]) for each in document["relationships"]
            if each["relationshipType"] == "DEPENDS_ON"
        ]
        self.assertEqual(
            needed, [
                ("SPDXRef-belfry", "SPDXRef-logs"), ("SPDXRef-belfry", "SPDXRef-net"),
                ("SPDXRef-net", "SPDXRef-logs"),
            ]
        )

    def test_a_package_that_is_not_resolved_is_refused(self):
        with self.assertRaisesRegex(sbom.SbomError, "stranger: is not in Package.resolved"):
            self.document([self.node("stranger", MIT)])

    def test_the_order_of_the_graph_changes_nothing(self):
        net, logs = self.node("net", APACHE), self.node("logs", MIT)
        self.assertEqual(self.document([net, logs]), self.document([logs, net]))

    def test_spdx_takes_the_document_and_refuses_a_broken_one(self):
        document = self.document([self.node("logs", MIT)])
        self.assertEqual(self.findings(document), [])
        document["packages"][1]["licenseDeclared"] = "No licence of this name"
        self.assertNotEqual(self.findings(document), [])
        del document["packages"][1]["name"]
        self.assertNotEqual(self.findings(document), [])


if __name__ == "__main__":
    unittest.main()
