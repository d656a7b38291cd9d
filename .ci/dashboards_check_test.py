#!/usr/bin/env python3
"""Tests of dashboards_check.py: each breaks one thing and expects the finding."""

import copy
import unittest

import dashboards_check

PLACES = dashboards_check.places("Deploy/ONE.md", "# One\n\n## Two, *three*\n")
METRICS = {"belfry_age_seconds"}
PANEL = {
    "id": 2,
    "type": "timeseries",
    "title": "Age",
    "description": "Rising: look. Read Deploy/ONE.md#two-three.",
    "gridPos": {"x": 0, "y": 1, "w": 24, "h": 8},
    "datasource": {"type": "prometheus", "uid": "${datasource}"},
    "targets": [{"refId": "A", "expr": 'rate(belfry_age_seconds_sum{job=~"$job"}[$__rate_interval])'}],
}
DASHBOARD = {
    "uid": "one",
    "links": [{"url": "/d/two"}],
    "templating": {"list": [{"name": "datasource"}, {"name": "job"}]},
    "panels": [{"id": 1, "type": "row", "title": "All", "gridPos": {"x": 0, "y": 0, "w": 24, "h": 1}}, PANEL],
}
COMPOSE = {
    "services": {
        "prometheus": {},
        "grafana": {
            "volumes": ["./grafana/dashboards:/dashboards:ro"],
            "environment": {"GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH": "/dashboards/fleet.json"},
        },
    },
}
SOURCES = {"datasources": [{"name": "Prometheus", "url": "http://prometheus:9090"}]}
PROVIDERS = {"providers": [{"name": "Belfry", "options": {"path": "/dashboards"}}]}


class DashboardsCheckTests(unittest.TestCase):
    def setUp(self):
        self.dashboard = copy.deepcopy(DASHBOARD)
        self.panel = self.dashboard["panels"][1]

    def expect_one(self, words):
        found = list(dashboards_check.dashboard_differences(self.dashboard, PLACES, METRICS))
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_a_dashboard_that_agrees_with_everything_has_no_finding(self):
        self.assertEqual(list(dashboards_check.dashboard_differences(self.dashboard, PLACES, METRICS)), [])

    def test_a_description_says_something_and_ends_with_an_entry_that_is_there(self):
        for text, words in [
            ("", "has to say"), ("Rising: look.", "has to say"), (" Read Deploy/ONE.md.", "has to say"),
            ("Look. Read Deploy/ONE.md#three.", "no Deploy/ONE.md#three"),
        ]:
            with self.subTest(text):
                self.panel["description"] = text
                self.expect_one(words)

    def test_metrics_are_documented_and_variables_the_dashboards(self):
        for old, new, words in [
            ("belfry_age_seconds", "belfry_ages_seconds", "belfry_ages_seconds"), ("$job", "$jobs", "$jobs"),
        ]:
            with self.subTest(new):
                self.setUp()
                target = self.panel["targets"][0]
                target["expr"] = target["expr"].replace(old, new)
                self.expect_one(words)

    def test_panels_have_ids_queries_a_place_and_a_data_source_of_their_own(self):
        for key, value, words in [
            ("id", 1, "is another panel's"), ("targets", [], "asks nothing"),
            ("targets", PANEL["targets"] * 2, "refId"),
            ("gridPos", {"x": 0, "y": 0, "w": 1, "h": 1}, "lies on"),
            ("gridPos", {"x": 12, "y": 1, "w": 13, "h": 1}, "lies on"), ("datasource", {"uid": "x"}, "can choose"),
        ]:
            with self.subTest(value):
                self.setUp()
                self.panel[key] = value
                self.expect_one(words)

    def test_dashboards_have_uids_of_their_own_and_link_to_those_that_are_there(self):
        other = {"uid": "two"}
        self.assertEqual(list(dashboards_check.uid_differences({"a": self.dashboard, "b": other})), [])
        for dashboards in [
            {"a": self.dashboard}, {"a": self.dashboard, "b": other, "c": {"uid": "two"}},
            {"a": self.dashboard, "b": other, "c": {}},
        ]:
            with self.subTest(dashboards):
                self.assertEqual(len(list(dashboards_check.uid_differences(dashboards))), 1)

    def test_grafana_finds_what_the_compose_file_mounts_and_starts(self):
        def differences():
            return list(dashboards_check.provisioning_differences(sources, providers, compose))

        def reset():
            return copy.deepcopy(SOURCES), copy.deepcopy(PROVIDERS), copy.deepcopy(COMPOSE)

        sources, providers, compose = reset()
        self.assertEqual(differences(), [])
        sources["datasources"][0]["url"] = "http://elsewhere:9090"
        self.assertEqual(len(differences()), 1)
        sources, providers, compose = reset()
        providers["providers"][0]["options"]["path"] = "/elsewhere"
        self.assertEqual(len(differences()), 1)
        sources, providers, compose = reset()
        compose["services"]["grafana"]["environment"] = {}
        self.assertEqual(len(differences()), 1)


if __name__ == "__main__":
    unittest.main()
