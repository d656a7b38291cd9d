#!/usr/bin/env python3
"""Holds the alert rules in Deploy/prometheus against their cases, the runbook and the tables of metrics.

Prints a line for each difference; exit code 1 if there is one. The form of the rules is promtool's matter.
"""

import re
import sys
from pathlib import Path

import yaml

DEPLOY = Path(__file__).resolve().parent.parent / "Deploy"
# The page with the tables of metrics.
MONITORING = "Deploy/MONITORING.md"
SEVERITIES = {"page", "ticket"}
# The parts of a runbook entry that are named; what the alert means stands before them.
PARTS = ["- **First look**:", "- **Remedy**:"]

HEADING = re.compile(r"^(#+) (.*)$")
METRIC = re.compile(r"\b(?:belfry|process)_[a-z_]*[a-z]\b")
# The series of a histogram are named after it.
SERIES = re.compile(r"_(?:bucket|sum|count)$")
LABEL = re.compile(r'(\w+)="([^"]*)"')


def metrics(text):
    return {SERIES.sub("", name) for name in METRIC.findall(text)}


def alerts(documents):
    """The alerts of rule files, in order."""
    return [
        rule for document in documents for group in document["groups"] for rule in group["rules"] if "alert" in rule
    ]


def entries(text):
    """The text below each heading of the second level of a page of the runbook, by heading."""
    found, entry = {}, None
    for line in text.splitlines():
        if heading := HEADING.match(line):
            entry = heading[2] if len(heading[1]) == 2 else None
            if entry:
                found[entry] = ""
        elif entry:
            found[entry] += line + "\n"
    return found


def documented_metrics(text):
    """The metrics in the first cells of tables."""
    cells = (line.split("|")[1] for line in text.splitlines() if line.startswith("|"))
    return set().union(*map(metrics, cells))


def rule_differences(rules, known, page):
    for rule in rules:
        name, labels, notes = rule["alert"], rule.get("labels", {}), rule.get("annotations", {})
        if labels.get("severity") not in SEVERITIES:
            yield f"{name}: its severity is {labels.get('severity')}, not one of {', '.join(sorted(SEVERITIES))}"
        if "for" not in rule:
            yield f"{name}: does not say for how long it must hold"
        for note in ("summary", "description"):
            if not notes.get(note):
                yield f"{name}: has no {note}"
        if notes.get("runbook") != (anchor := f"{page}#{name.lower()}"):
            yield f"{name}: its runbook is {notes.get('runbook')}, not {anchor}"
        asked = metrics(rule["expr"])
        for metric in sorted(asked - known):
            yield f"{name}: asks for {metric}, which no table of {MONITORING} has"


def runbook_differences(rules, runbook, page):
    names = {rule["alert"] for rule in rules}
    for name in sorted(names - runbook.keys()):
        yield f"{name}: has no entry in {page}"
    for name in sorted(runbook.keys() - names):
        yield f"{name}: {page} has an entry, but there is no such alert"
    for name in sorted(names & runbook.keys()):
        meaning, *parts = re.split("|".join(map(re.escape, PARTS)), runbook[name])
        if len(parts) != len(PARTS) or not all(part.strip() for part in [meaning, *parts]):
            yield f"{name}: its entry needs a meaning, then {' and '.join(PARTS)}"


def tells(sample, rule):
    """A sample of a case that stands for an alert of the rule."""
    labels = dict(LABEL.findall(sample["labels"]))
    return labels.items() >= {"alertname": rule["alert"], **rule["labels"]}.items()


def case_differences(rules, cases):
    """Each rule has a case in which it fires at one time and is silent at another."""
    for rule in rules:
        for case in cases:
            looks = [look.get("exp_samples") or [] for look in case.get("promql_expr_test") or []]
            fires = [any(tells(sample, rule) for sample in samples) for samples in looks]
            if True in fires and False in fires:
                break
        else:
            labels = ", ".join(rule.get("labels", {}).values())
            yield f"{rule['alert']} ({labels}): no case in which it fires, and is silent at another time"


def scrape_differences(prometheus, compose):
    """Prometheus and the console ask each role of a compose file at the port on which it answers."""
    listening = {
        name: service["environment"]["BELFRY_OPERATIONS_LISTEN"].rpartition(":")[2]
        for name, service in compose["services"].items()
        if "BELFRY_OPERATIONS_LISTEN" in service.get("environment", {})
    }
    by_prometheus = {
        name: str(way["port"])
        for job in prometheus["scrape_configs"] for way in job.get("dns_sd_configs", []) for name in way["names"]
    }
    arguments = compose["services"]["console"]["command"]
    entries = arguments[arguments.index("--scrape") + 1].split(",")
    by_console = dict(entry.removeprefix("dns:").split(":") for entry in entries)
    for who, asked in [("Prometheus", by_prometheus), ("the console", by_console)]:
        for name in sorted(listening.keys() | asked.keys()):
            if listening.get(name) != asked.get(name):
                yield f"{name}: listens on port {listening.get(name)}, {who} asks it at {asked.get(name)}"


def load(folder):
    return {path.stem: yaml.safe_load(path.read_text()) for path in sorted(folder.glob("*.yaml"))}


def pages(known):
    """Each file of rules has a page of the runbook."""
    for name, document in load(DEPLOY / "prometheus/alerts").items():
        page, rules = f"Deploy/runbook/{name}.md", alerts([document])
        text = (DEPLOY.parent / page).read_text()
        yield from rule_differences(rules, known, page)
        yield from runbook_differences(rules, entries(text), page)


def main():
    known = documented_metrics((DEPLOY.parent / MONITORING).read_text())
    rules = alerts(load(DEPLOY / "prometheus/alerts").values())
    cases = [case for document in load(DEPLOY / "prometheus/tests").values() for case in document["tests"]]
    prometheus = yaml.safe_load((DEPLOY / "prometheus/prometheus.yaml").read_text())
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    found = [
        *pages(known), *case_differences(rules, cases), *scrape_differences(prometheus, compose),
    ]
    for finding in found:
        print(f"Deploy/prometheus: {finding}")
    return 1 if found or not rules else 0


if __name__ == "__main__":
    sys.exit(main())
