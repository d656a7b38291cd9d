#!/usr/bin/env python3
"""Writes the software bill of materials of Belfry's program and package: an SPDX 2.3 document in JSON.

It names the packages of the Swift package manager as the build resolves them, Swift itself, whose libraries are linked
in, and the Debian packages that the package depends on. The same commit, resolution and machine give the same bytes. A
document that is not valid, or a licence that this file does not know, ends it with exit code 1 and no file.
"""

import datetime
import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESOLVED = ROOT / "Package.resolved"
IMAGE = ROOT / "Deploy/Dockerfile"
CONTROL = ROOT / "Deploy/package/control"
VERSION = ROOT / "Sources/BelfrySupport/Support/BelfryVersion.swift"
PROGRAM = "SPDXRef-belfry"
LICENSES = ("LICENSE", "LICENSE.txt", "LICENSE.md")
# SPDX's word for what nobody has looked at.
UNKNOWN = "NOASSERTION"

DEPENDS = re.compile(r"^Depends: (.*)$", re.MULTILINE)


class SbomError(Exception):
    """Something that the document has to tell is not known."""


def license_id(text):
    """The SPDX expression of a licence's text; None for one that is not known here."""
    words = " ".join(text.split())
    if "Apache License Version 2.0, January 2004" in words:
        return "Apache-2.0 WITH Swift-exception" if "Runtime Library Exception" in words else "Apache-2.0"
    if "Permission is hereby granted, free of charge, to any person obtaining a copy" in words:
        return "MIT"
    if "Redistribution and use in source and binary forms" in words:
        return "BSD-3-Clause" if "Neither the name" in words else "BSD-2-Clause"
    return None


def license_of(folder):
    """The SPDX expression of the licence in a package's folder."""
    for name in LICENSES:
        if (file := folder / name).is_file():
            if found := license_id(file.read_text()):
                return found
            raise SbomError(f"{file}: this licence is not known; add it to license_id in .ci/sbom.py")
    raise SbomError(f"{folder}: has no licence; looked for {', '.join(LICENSES)}")


def more_licenses(folder):
    """The licences and notices of code that a package took over from others, relative to its folder."""
    found = [
        path.relative_to(folder).as_posix() for path in folder.glob("Sources/**/*")
        if re.match(r"(?:LICENSE|COPYING)(?:\.|$)", path.name) and path.is_file()
    ]
    return sorted(found + [path.name for path in folder.glob("NOTICE*")])


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package(name, version, purl, **more):
    """A package without its files; None as version: not known."""
    return {
        "SPDXID": identifier(name),
        "name": name,
        **({"versionInfo": version} if version else {}),
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": False,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": UNKNOWN,
        "copyrightText": UNKNOWN,
        "primaryPackagePurpose": "LIBRARY",
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl},
        ],
        **more,
    }


def relation(subject, kind, target):
    return {"spdxElementId": subject, "relationshipType": kind, "relatedSpdxElement": target}


def swift_package(node, revisions):
    identity, version = node["identity"], node["version"]
    if identity not in revisions:
        raise SbomError(f"{identity}: is not in {RESOLVED.name}; resolve the packages again")
    folder, address = Path(node["path"]), node["url"]
    place = address.removeprefix("https://").removesuffix(".git")
    taken = more_licenses(folder)
    comment = {"licenseComments": f"Also read: {', '.join(taken)}"} if taken else {}
    return package(
        identity, version, f"pkg:swift/{place}@{version}", licenseDeclared=license_of(folder),
        downloadLocation=f"git+{address}@{revisions[identity]}", **comment
    )


def swift_packages(graph, revisions):
    """Packages and relations of a dependency graph; a package that several depend on is told once."""
    packages, relations = {}, {}

    def walk(node, subject):
        for child in node["dependencies"]:
            known = child["identity"] in packages
            if not known:
                packages[child["identity"]] = swift_package(child, revisions)
            target = packages[child["identity"]]["SPDXID"]
            relations[subject, target] = relation(subject, "DEPENDS_ON", target)
            walk(child, target)

    walk(graph, PROGRAM)
    return list(packages.values()), list(relations.values())


def debian_names(control):
    """The packages that a Debian package depends on; of alternatives the first."""
    if found := DEPENDS.search(control):
        return sorted({each.split("|")[0].split()[0] for each in found[1].split(",")})
    raise SbomError(f"{CONTROL.name}: depends on nothing")


def swift_version(dockerfile):
    """The version of the image of Swift that a Dockerfile builds with."""
    if found := re.search(r"^FROM swift:([0-9.]+)", dockerfile, re.MULTILINE):
        return found[1]
    raise SbomError(f"{IMAGE.name}: builds with no image of Swift")


def debian_package(name, version):
    """Without a version: dpkg does not know it here."""
    purl = f"pkg:deb/debian/{name}" + (f"@{version.replace('+', '%2B').replace(':', '%3A')}" if version else "")
    return package(
        name, version, f"{purl}?distro=debian-12",
        licenseComments=f"See /usr/share/doc/{name}/copyright where it is installed.",
        **({} if version else {"comment": "The version is that of the day on which it is installed."})
    )


def program(version, commit):
    return package(
        "belfry", version, f"pkg:generic/belfry@{version}", licenseDeclared=license_of(ROOT),
        primaryPackagePurpose="APPLICATION", sourceInfo=f"git commit {commit}"
    )


def document(program, graph, revisions, toolchain, control, versions, created):
    """The document as a dictionary.

    - graph: what `swift package show-dependencies --format json` prints.
    - revisions: commits of the Swift packages by identity.
    - toolchain: the version of Swift.
    - control: the control file of the Debian package.
    - versions: of installed Debian packages by name.
    """
    packages, relations = swift_packages(graph, revisions)
    swift = package(
        "swift", toolchain, f"pkg:github/swiftlang/swift@swift-{toolchain}-RELEASE",
        licenseDeclared="Apache-2.0 WITH Swift-exception",
        comment="Its standard library, Foundation and Dispatch are linked into the program of the package."
    )
    relations.append(relation(PROGRAM, "STATIC_LINK", swift["SPDXID"]))
    debian = [debian_package(name, versions.get(name)) for name in debian_names(control)]
    relations += [relation(each["SPDXID"], "RUNTIME_DEPENDENCY_OF", PROGRAM) for each in debian]
    body = {
        "packages": [program, *sorted([*packages, swift, *debian], key=lambda each: each["SPDXID"])],
        "relationships": [
            relation("SPDXRef-DOCUMENT", "DESCRIBES", PROGRAM), *sorted(relations, key=lambda each: [*each.values()])
        ],
    }
    name = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([created, body]))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "belfry",
        "documentNamespace": f"https://spdx.org/spdxdocs/belfry-{name}",
        "creationInfo": {"created": created, "creators": ["Tool: .ci/sbom.py"]},
        **body,
    }


def program_version():
    """As `belfry --version` tells it."""
    if found := re.search(r'text = "([^"]+)"', VERSION.read_text()):
        return found[1]
    raise SbomError(f"{VERSION}: tells no version")


def output(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise SbomError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()


def creation_time():
    """SOURCE_DATE_EPOCH, or the date of the commit: no clock, so that the same source gives the same document."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct")
    return datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def installed_versions(names):
    """Versions that dpkg knows; where there is no dpkg, none."""
    try:
        lines = subprocess.run(
            ["dpkg-query", "--show", "--showformat=${Package}\t${db:Status-Status}\t${Version}\n", *names],
            capture_output=True, text=True
        ).stdout.splitlines()
    except FileNotFoundError:
        return {}
    fields = [line.split("\t") for line in lines]
    return {name: version for name, status, version in fields if status == "installed"}


def findings(path):
    """The faults of a document by SPDX's own library."""
    from spdx_tools.spdx.parser.error import SPDXParsingError
    from spdx_tools.spdx.parser.parse_anything import parse_file
    from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

    try:
        messages = validate_full_spdx_document(parse_file(str(path)), "SPDX-2.3")
    except SPDXParsingError as error:
        return error.get_messages()
    return [f"{message.context.spdx_id}: {message.validation_message}" for message in messages]


def main(target):
    try:
        graph = json.loads(output("swift", "package", "show-dependencies", "--format", "json"))
        pins = json.loads(RESOLVED.read_text())["pins"]
        control = CONTROL.read_text()
        commit = output("git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
        found = document(
            program(program_version(), commit), graph, {pin["identity"]: pin["state"]["revision"] for pin in pins},
            swift_version(IMAGE.read_text()), control, installed_versions(debian_names(control)), creation_time()
        )
    except SbomError as error:
        print(f"sbom: {error}", file=sys.stderr)
        return 1
    # The library tells a document's form by the end of its name.
    draft = target.with_name("draft-" + target.name)
    draft.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    if faults := findings(draft):
        for fault in faults:
            print(f"sbom: {draft}: {fault}", file=sys.stderr)
        return 1
    draft.replace(target)
    print(f"sbom: {target} names {len(found['packages'])} packages, and is valid SPDX 2.3")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
