#!/usr/bin/env python3
"""Holds the dashboards in Deploy/grafana against each other, the pages of Deploy and the compose file that mounts them.

Prints a line for each difference; exit code 1 if there is one. Tests ask a Prometheus the queries.
"""

import json
import re
import sys

import yaml

from deploy_check import DEPLOY, MONITORING, documented_metrics, metrics

COLUMNS = 24
# The sentence that a description ends with.
ENTRY = re.compile(r" Read (Deploy/[\w/]+\.md(?:#[a-z0-9_-]+)?)\.$")
VARIABLE = re.compile(r"\$\{?(\w+)\}?")


def places(page, text):
    """A page and its headings, as links name them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return {page, *(f"{page}#{anchor}" for anchor in anchors)}


def fields(panel):
    position = panel["gridPos"]
    return {
        (column, row)
        for column in range(position["x"], position["x"] + position["w"])
        for row in range(position["y"], position["y"] + position["h"])
    }


def panel_differences(panel, known_places, known_metrics, variables):
    description = panel.get("description", "")
    if not (entry := ENTRY.search(description)) or not description[:entry.start()].strip():
        yield f"its description has to say what to do, and end with 'Read Deploy/….md#….'"
    elif entry[1] not in known_places:
        yield f"there is no {entry[1]}"
    if not panel.get("targets"):
        yield "asks nothing"
    references = [target["refId"] for target in panel.get("targets", [])]
    if len(set(references)) != len(references):
        yield "two queries have one refId"
    for target in panel.get("targets", []):
        for metric in sorted(metrics(target["expr"]) - known_metrics):
            yield f"asks for {metric}, which no table of {MONITORING} has"
        for variable in VARIABLE.findall(target["expr"]):
            if variable not in variables and not variable.startswith("__"):
                yield f"uses ${variable}, which is none of the dashboard's"
    if panel.get("datasource", {}).get("uid") != "${datasource}":
        yield "asks a data source that nobody can choose"


def dashboard_differences(dashboard, known_places, known_metrics):
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    numbers, taken = set(), set()
    for panel in dashboard["panels"]:
        title = panel.get("title") or f"panel {panel['id']}"
        if panel["id"] in numbers:
            yield f"{title}: its id {panel['id']} is another panel's"
        numbers.add(panel["id"])
        if taken & fields(panel) or panel["gridPos"]["x"] + panel["gridPos"]["w"] > COLUMNS:
            yield f"{title}: lies on another panel, or beyond the edge"
        taken |= fields(panel)
        if panel["type"] != "row":
            for finding in panel_differences(panel, known_places, known_metrics, variables):
                yield f"{title}: {finding}"


def uid_differences(dashboards):
    """Each dashboard has a uid of its own, and links to those that are there."""
    by_uid = {}
    for file, dashboard in dashboards.items():
        if (uid := dashboard.get("uid")) in by_uid or not uid:
            yield f"{file}: its uid {uid} is missing, or that of {by_uid.get(uid)}"
        by_uid[uid] = file
    for file, dashboard in dashboards.items():
        for link in dashboard.get("links", []):
            if link["url"].removeprefix("/d/") not in by_uid:
                yield f"{file}: {link['url']} leads nowhere"


def provisioning_differences(sources, providers, compose):
    """Grafana finds dashboards and Prometheus where the compose file has them."""
    services = compose["services"]
    mounts = {mount.split(":")[0]: mount.split(":")[1] for mount in services["grafana"]["volumes"]}
    for provider in providers["providers"]:
        if provider["options"]["path"] != mounts.get("./grafana/dashboards"):
            yield f"{provider['name']}: looks at {provider['options']['path']}, where no dashboards are"
    for source in sources["datasources"]:
        host = re.match(r"http://([^:/]+)", source["url"])
        if not host or host[1] not in services:
            yield f"{source['name']}: {source['url']} is no service"
    home = services["grafana"]["environment"].get("GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH", "")
    file = home.removeprefix(mounts.get("./grafana/dashboards", "") + "/")
    if not (DEPLOY / "grafana/dashboards" / file).is_file():
        yield f"the first page {home} is not there"


def load(path):
    return yaml.safe_load((DEPLOY / path).read_text())


def main():
    pages = {f"Deploy/{path.relative_to(DEPLOY)}": path.read_text() for path in sorted(DEPLOY.rglob("*.md"))}
    known = set().union(*(places(*page) for page in pages.items())), documented_metrics(pages[MONITORING])
    files = sorted((DEPLOY / "grafana/dashboards").glob("*.json"))
    dashboards = {file.name: json.loads(file.read_text()) for file in files}
    found = [
        *(f"{file}: {finding}" for file, dashboard in dashboards.items()
          for finding in dashboard_differences(dashboard, *known)),
        *uid_differences(dashboards),
        *provisioning_differences(
            load("grafana/provisioning/datasources/prometheus.yaml"),
            load("grafana/provisioning/dashboards/files.yaml"), load("compose.prometheus.yaml"),
        ),
    ]
    for finding in found:
        print(f"Deploy/grafana: {finding}")
    return 1 if found or not dashboards else 0


if __name__ == "__main__":
    sys.exit(main())
