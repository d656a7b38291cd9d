#!/usr/bin/env python3
"""The house rules that no other linter knows. Prints `file:line: rule` per finding; exit code 1 if there is one.

Rules are functions from a `Tree` to findings, listed in RULES; each has a test in tidy_test.py that breaks it.
"""

import os
import re
import sys
from pathlib import Path

from tidy_self import needless_self
from tidy_tree import NO_CODE, Finding, Tree, is_generated
from tidy_words import WORD_RULES

LINE_LIMIT = 400
CODE_SUFFIXES = {".swift", ".c", ".h", ".py", ".sh"}
TOP_LEVEL = {"Package.swift", "Sources", "Tests", "Deploy", "Schemas", "Makefile", "README.md", "LICENSE"}

NIO = {"NIOCore", "NIOPosix"}
# The modules that a target's files may import beyond the standard library: the table "Layout" of the design, and no
# Foundation in codec, machines and wrappers. Targets that are not listed have Package.swift's word only.
IMPORTS = {
    "APNsProtocol": set(),
    "PipelineCore": {"APNsProtocol", "RequestLanes"},
    "BelfryProducer": {
        "APNsProtocol", "Foundation", "KafkaClient", "PushSchemas", "RequestLanes", "RequestRules", "SwiftProtobuf",
        "Synchronization"
    } | NIO,
    "RequestLanes": set(),
    "RequestRules": {"APNsProtocol", "PayloadRendering", "PushSchemas"},
    "HTTP2Transport": {"CNghttp2", "NIOCore"},
    "KafkaClient": {"CRdKafka", "Dispatch", "Glibc", "Synchronization"} | NIO,
    "RedisClient": {"CHiredis", "COpenSSL", "Glibc", "SocketErrors", "Synchronization"} | NIO,
    "HTTPPorts": {"HummingbirdCore", "Logging", "NIOHTTP1", "Synchronization"} | NIO,
    "PageParts": {"FoundationEssentials", "HTTPPorts", "Hummingbird", "HummingbirdCore", "NIOCore"},
    "SeededNumbers": set(),
    "SocketErrors": {"Glibc"} | NIO,
    "TLSTransport": {"COpenSSL", "Glibc", "SocketErrors", "Synchronization"} | NIO,
    "Workbench": {"Dispatch", "Foundation", "Glibc", "SeededNumbers", "Synchronization"},
}
# The targets of the pipeline, ground floor first: each may import only those before it.
PIPELINE = ["BelfrySupport", "ProviderCredentials", "PushTopics", "TokenState", "Sender", "TokenRoles", "BelfryTools"]
# Targets that start the others as processes of one machine.
STAGING = {"Demo", "LocalPipeline", "Workbench"}
# Dependencies that would turn the layers upside down.
FORBIDDEN_IMPORTS = {
    **{target: {"Sandbox", *STAGING, *PIPELINE[floor + 1:]} for floor, target in enumerate(PIPELINE)},
    "Sandbox": {"KafkaClient", "RedisClient", "PipelineCore", *STAGING, *PIPELINE},
    "LocalPipeline": {"Demo", "Sandbox", "Sender", "TokenRoles", "BelfryTools"},
    "belfry": {"KafkaClient", "RedisClient", "TLSTransport", "PipelineCore", "APNsProtocol"},
}

IMPORT = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|private|fileprivate)\s+)?"
    r"import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)"
)
# Written so that this file does not match itself.
UNFINISHED = re.compile(r"\b(?:TO[D]O|FIXM[E]|XX[X])\b|fatalErro[r]\(|\btr[y]!|\ba[s]!|not (?:yet )?implemente[d]")
SLEEP = re.compile(r"Task\.slee[p]|Thread\.slee[p]|\bu?slee[p]\(")
MACHINE_PATH = re.compile(r"(?:^|[^A-Za-z0-9._])/(?:home|root|work|farm)/")
ASSERTION = re.compile(r"#expect|#require|Issue\.record|confirmation\(")
TYPE = re.compile(
    r"^(?P<indent>[ \t]*)(?:@\w+(?:\([^)\n]*\))?[ \t]+)*"
    r"(?P<words>(?:(?:public|package|internal|private|fileprivate|final|indirect|nonisolated)[ \t]+)*)"
    r"(?:struct|class|enum|actor|protocol|typealias)[ \t]+(?P<name>[A-Z]\w*)", re.MULTILINE
)
# Behind a dot stands a member.
TYPE_NAME = re.compile(r"(?<![.\w])[A-Z]\w*")
# The script that names suites which run beside each other, and the signs of one that cannot: it waits, or starts
# something.
TEST_RUNNER = "Tests/run.sh"
SUITE = re.compile(r"^(?:@Suite.*\s)?(?:final )?(?:struct|class|enum|actor|extension) (\w+Tests)\b", re.MULTILINE)
WAITING = re.compile(
    r"\basync\b|\bTask\b[ .]|\b(?:ChildProcess|Process|Promtool|RedisServerProcess|RedisClusterProcess|EmbeddedBroker"
    r"|MultiThreadedEventLoopGroup|RunningSandbox|DispatchSemaphore|DispatchQueue|URLSession|Thread)\b"
)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


def long_files(tree):
    return [
        Finding(path, LINE_LIMIT + 1, f"{count} lines; one idea a file, {LINE_LIMIT} at most")
        for path in tree.paths if Path(path).suffix in CODE_SUFFIXES and not is_generated(path)
        if (count := len(tree.text(path).splitlines())) > LINE_LIMIT
    ]


def imports(tree):
    findings = []
    for path in tree.under("Sources", ".swift"):
        target = path.split("/")[1]
        for number, line in tree.lines(path):
            match = IMPORT.match(line)
            if not match:
                continue
            module = match.group(1)
            barred = module in FORBIDDEN_IMPORTS.get(target, ())
            if barred or target in IMPORTS and module not in IMPORTS[target]:
                findings.append(Finding(path, number, f"{target} may not import {module}"))
    return findings


def unfinished(tree):
    paths = [path for path in tree.under("Sources") + tree.under("Tests") if not is_generated(path)]
    code = [path for path in paths if Path(path).suffix in CODE_SUFFIXES]
    return tree.grep(code, UNFINISHED, "unfinished or trapping code")


def sleeps(tree):
    return tree.grep(tree.under("Tests", ".swift"), SLEEP, "a test waits for an event, not for time")


def machine_paths(tree):
    return tree.grep(tree.paths, MACHINE_PATH, "a path of one machine")


def tests_assert(tree):
    return [
        Finding(path, 1, "has tests, asserts nothing")
        for path in tree.under("Tests", ".swift")
        if "@Test" in tree.text(path) and not ASSERTION.search(tree.text(path))
    ]


def waiting_suites(tree):
    """Suites that wait in a target whose others run in parallel: their names end so that Tests/run.sh knows them."""
    if TEST_RUNNER not in tree.paths:
        return []
    findings = []
    mixed = re.search(r"^ *mixed='([^']*)'$", tree.text(TEST_RUNNER), re.MULTILINE).group(1)
    for target in mixed.split("|"):
        for path in tree.under(f"Tests/{target}Tests", ".swift"):
            text = tree.text(path)
            waits = WAITING.search(NO_CODE.sub("", text)) if "@Test" in text else None
            findings += [
                Finding(path, 1, f"{suite} waits ({waits.group()}): let its name end in ServerTests")
                for suite in sorted(set(SUITE.findall(text))) if waits and not suite.endswith("ServerTests")
            ]
    return findings


def folder_uses(tree, target, depth):
    """Folders of a target that use a type of another one, with the first example: {(user, used): (path, line, type)}.

    Folders deeper than `depth` count to the one they are in. Files that lie beside the folders are a folder of the
    target's name, and files beside folders in a folder are a folder of that one's name. Found by the names of types
    alone: a name that a folder also gives to a type of its own, in a file or in another type, is that one.
    """
    codes = {
        path: NO_CODE.sub(lambda gap: "\n" * gap.group().count("\n"), tree.text(path))
        for path in tree.under(f"Sources/{target}", ".swift") if not is_generated(path)
    }
    folders = {path: "/".join(path.split("/")[2:-1][:depth]) or target for path in codes}
    homes, own = {}, {folder: set() for folder in folders.values()}
    for path, code in codes.items():
        for match in TYPE.finditer(code):
            own[folders[path]].add(match["name"])
            if not match["indent"] and "private" not in match["words"]:
                homes[match["name"]] = folders[path]
    uses = {}
    for path, code in codes.items():
        for match in TYPE_NAME.finditer(code):
            name, user = match.group(), folders[path]
            if name in homes and name not in own[user]:
                line = code.count("\n", 0, match.start()) + 1
                uses.setdefault((user, homes[name]), (path, line, name))
    return uses


def shortest_way(arrows, start, goal):
    """The nodes from one to another, both included; None: there is no way."""
    ways = [[start]]
    met = {start}
    for way in ways:
        if way[-1] == goal:
            return way
        for tail, head in arrows:
            if tail == way[-1] and head not in met:
                met.add(head)
                ways.append(way + [head])
    return None


def folder_circles(tree):
    """Folders of a target that use each other in a circle: none of them can be understood without the others."""
    findings = []
    targets = {path.split("/")[1] for path in tree.under("Sources", ".swift")}
    met = set()
    for target, depth in sorted((target, depth) for target in targets for depth in (1, 2)):
        uses = folder_uses(tree, target, depth)
        arrows = sorted(uses)
        circles = set()
        for user, used in arrows:
            way = shortest_way(arrows, used, user)
            if way:
                # Each once, from wherever it was found.
                first = way.index(min(way))
                circles.add((target, *way[first:], *way[:first]))
        for _, *circle in sorted(circles - met):
            steps = [(pair, uses[pair]) for pair in zip(circle, circle[1:] + circle[:1])]
            told = ", ".join(
                f"{user} uses {used} ({name} in {path}:{line})" for (user, used), (path, line, name) in steps
            )
            path, line, _ = steps[0][1]
            findings.append(Finding(path, line, f"folders in a circle: {told}"))
        met |= circles
    return findings


def top_level(tree):
    names = {path.split("/")[0] for path in tree.paths}
    return [
        Finding(name, 1, "does not belong at the top level")
        for name in sorted(names) if not name.startswith(".") and name not in TOP_LEVEL
    ]


def dead_targets(tree):
    """A folder of sources that no target builds. A document may stand beside the folders."""
    if "Package.swift" not in tree.paths:
        return []
    package = tree.text("Package.swift")
    paths = [path for path in tree.under("Sources") if path.count("/") > 1 or not path.endswith(".md")]
    folders = sorted({path.split("/")[1] for path in paths})
    return [
        Finding(f"Sources/{name}", 1, "Package.swift names no such target")
        for name in folders if f'"{name}"' not in package
    ]


def placeholders(tree):
    return [Finding(path, 1, "an empty stand-in") for path in tree.paths if path.endswith("/Placeholder.swift")]


def dead_links(tree):
    findings = []
    for path in tree.paths:
        if not path.endswith(".md"):
            continue
        folder = tree.top / os.path.dirname(path)
        for number, line in tree.lines(path):
            for target in LINK.findall(line):
                if not (folder / target).exists():
                    findings.append(Finding(path, number, f"links to {target}, which is not there"))
    return findings


def scripts_run(tree):
    return [
        Finding(path, 1, "starts with #! but is not executable")
        for path in tree.paths
        if tree.text(path).startswith("#!") and not os.access(tree.top / path, os.X_OK)
    ]


RULES = [
    long_files, imports, unfinished, sleeps, machine_paths, tests_assert, waiting_suites, folder_circles, top_level,
    dead_targets, placeholders, dead_links, scripts_run, needless_self, *WORD_RULES,
]


def findings(top):
    tree = Tree(top)
    return [finding for rule in RULES for finding in rule(tree)]


def main():
    found = findings(Path(__file__).resolve().parent.parent)
    for finding in found:
        print(finding)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
