#!/usr/bin/env python3
"""Checks the subjects of commits: `Area: imperative`, at most 72 characters, one name for each area.

Looks at the commits since this check is there. Prints `commit: rule` per finding; exit code 1 if there is one.
"""

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
LIMIT = 72
# Areas beside the folders of Sources and Tests.
AREAS = {"CI", "Comments", "Deploy", "Documents", "Lint", "Package", "Schemas", "Tests"}
SUBJECT = re.compile(r"(?P<area>[A-Za-z0-9/-]+(?:, [A-Za-z0-9/-]+)*): (?P<text>\S.*)")
# Verbs that tell what was done, or is being done: the imperative says what the commit does.
TOLD = re.compile(r"(?!(?:feed|need|embed|shed|speed|bring|string|ring|ping|spring)\b)\w+(?:ed|ing)\b")


def areas(folders):
    """The names that a subject may begin with."""
    return AREAS | {name.removesuffix("Tests") for name in folders if name != "Tests"} - {""}


def faults(subject, known):
    if len(subject) > LIMIT:
        yield f"{len(subject)} characters; {LIMIT} at most"
    match = SUBJECT.fullmatch(subject)
    if not match:
        yield "not 'Area: imperative'"
        return
    for area in match["area"].split(", "):
        if area not in known:
            yield f"no area is called {area}"
    text = match["text"]
    if text[0].isupper() and not text.split()[0].isupper() or text.endswith("."):
        yield "a subject goes on in lower case, and has no full stop"
    if TOLD.match(text):
        yield f"'{text.split()[0]}' is no imperative"


def git(*arguments):
    return subprocess.run(["git", "-C", str(TOP), *arguments], capture_output=True, text=True, check=True).stdout


def main():
    this = f".ci/{Path(__file__).name}"
    first = git("log", "--diff-filter=A", "--format=%H", "--", this).split()
    if not first:
        return 0
    folders = [path.name for top in ("Sources", "Tests") for path in (TOP / top).iterdir() if path.is_dir()]
    known = areas(folders)
    found = [
        f"{number[:8]} '{subject}': {fault}"
        for line in git("log", "--no-merges", "--format=%H %s", f"{first[-1]}..HEAD").splitlines()
        for number, subject in [line.split(" ", 1)] for fault in faults(subject, known)
    ]
    for finding in found:
        print(finding)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
