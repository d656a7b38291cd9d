#!/usr/bin/env python3
"""Turns what `belfry --experimental-dump-help` prints into a man page, in mdoc: manual.py VERSION SECONDS < dump."""

import json
import sys
import time

HEAD = """\
.Dd {date}
.Dt BELFRY 1
.Os belfry {version}
.Sh NAME
.Nm belfry
.Nd {abstract}
.Sh SYNOPSIS
.Nm
.Ar command
.Op Ar options
.Sh DESCRIPTION
One program holds every role, the tools of operators and publishers, and a sandbox that plays the push service.
.Ic belfry help Ar command
tells the same as this page, of one command.
"""
TAIL = """\
.Sh FILES
.Bl -tag -width indent
.It Pa /etc/belfry/belfry.yaml
The configuration that the units of systemd name.
.It Pa /usr/share/doc/belfry
Documents, an example of a configuration, and the bill of materials.
.El
.Sh EXIT STATUS
.Bl -tag -width indent
.It 0
Done.
.It 1
Failed.
.It 64
Typed wrong.
.It 78
The configuration is wrong: a restart does not help.
.El
"""


def text(words):
    """Words as a line of their own: no character of them is taken for a request."""
    return "\\&" + " ".join(words.split()).replace("\\", "\\e") + "\n"


def name(each):
    return ("-" if each["kind"] == "short" else "--") + each["name"]


def described(argument):
    """An option or argument with its meaning, and with its default and values if it has them."""
    names = ", ".join(name(each) for each in argument.get("names", []))
    value = f"<{argument['valueName']}>" if argument["kind"] != "flag" and argument.get("valueName") else ""
    words = argument.get("abstract", "")
    if values := argument.get("allValues"):
        words += f" One of {', '.join(values)}."
    if default := argument.get("defaultValue"):
        words += f" Default: {default}."
    return ".It " + text(" ".join(part for part in (names, value) if part)) + text(words or "(see the documents)")


def commands(command, path):
    """A section for each command that has no further ones."""
    subcommands = [each for each in command.get("subcommands", []) if each["commandName"] != "help"]
    if subcommands:
        return "".join(commands(each, [*path, each["commandName"]]) for each in subcommands)
    shown = [
        each for each in command.get("arguments", [])
        if each["shouldDisplay"] and each.get("valueName") not in ("version", "help")
    ]
    page = ".Ss " + text(" ".join(path)) + text(command.get("abstract", ""))
    if discussion := command.get("discussion"):
        page += ".Pp\n" + ".Pp\n".join(text(part) for part in discussion.split("\n\n") if part.strip())
    if shown:
        page += ".Bl -tag -width indent\n" + "".join(described(each) for each in shown) + ".El\n"
    return page


def manual(dump, version, seconds):
    command = dump["command"]
    abstract = command["abstract"].rstrip(".")
    date = time.strftime("%B %d, %Y", time.gmtime(seconds))
    return HEAD.format(date=date, version=version, abstract=abstract) + ".Sh COMMANDS\n" + commands(command, []) + TAIL


if __name__ == "__main__":
    sys.stdout.write(manual(json.load(sys.stdin), sys.argv[1], int(sys.argv[2])))
