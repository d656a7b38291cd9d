#!/usr/bin/env python3
"""Tests of deploy_check.py: each breaks one thing and expects the finding."""

import copy
import unittest

import deploy_check

TEXT = """
## Watch

| metric | tells |
|---|---|
| `belfry_age_seconds`, `belfry_lost_total` | `belfry_elsewhere_total` |

## Others

No table.
"""
PAGE = "Deploy/runbook/old.md"
RUNBOOK = """
# Alerts

## BelfryOld

It is old.

- **First look**: the log.
- **Remedy**:
  none.
"""
RULES = [
    {
        "groups": [
            {
                "rules": [
                    {"record": "belfry:age", "expr": "1"},
                    {
                        "alert": "BelfryOld",
                        "expr": "rate(belfry_age_seconds_bucket[5m]) > 1 unless belfry_lost_total",
                        "for": "5m",
                        "labels": {"severity": "page", "days": "7"},
                        "annotations": {
                            "summary": "old", "description": "old", "runbook": f"{PAGE}#belfryold",
                        },
                    },
                ],
            },
        ],
    },
]
FIRES = {"labels": 'ALERTS{alertname="BelfryOld", severity="page", days="7", app="a.b"}', "value": 1}
CASES = [{"promql_expr_test": [{"exp_samples": [FIRES]}, {}]}]
PROMETHEUS = {"scrape_configs": [{"dns_sd_configs": [{"names": ["worker"], "port": 9464}]}]}
COMPOSE = {
    "services": {
        "worker": {"environment": {"BELFRY_OPERATIONS_LISTEN": "0.0.0.0:9464"}}, "redis": {"environment": {}},
        "console": {"command": ["console", "--scrape", "dns:worker:9464"]},
    },
}


class DeployCheckTests(unittest.TestCase):
    def setUp(self):
        self.rules = deploy_check.alerts(copy.deepcopy(RULES))
        self.rule = self.rules[0]

    def rule_differences(self):
        return list(deploy_check.rule_differences(self.rules, deploy_check.documented_metrics(TEXT), PAGE))

    def runbook_differences(self, text=RUNBOOK):
        return list(deploy_check.runbook_differences(self.rules, deploy_check.entries(text), PAGE))

    def case_differences(self, cases):
        return list(deploy_check.case_differences(self.rules, cases))

    def expect_one(self, found, words):
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_rules_that_agree_with_everything_have_no_finding(self):
        self.assertEqual(len(self.rules), 1)
        self.assertEqual(self.rule_differences(), [])
        self.assertEqual(self.runbook_differences(), [])
        self.assertEqual(self.case_differences(CASES), [])

    def test_a_metric_stands_in_the_first_cell_of_a_table(self):
        for metric in ["belfry_elsewhere_total", "belfry_new_bytes"]:
            with self.subTest(metric):
                self.rule["expr"] = f"{metric} > 0"
                self.expect_one(self.rule_differences(), f"asks for {metric}")

    def test_a_rule_has_severity_duration_texts_and_its_own_anchor(self):
        for keys, value in [
            (("labels", "severity"), "warning"), (("for",), None), (("annotations", "summary"), ""),
            (("annotations", "description"), None), (("annotations", "runbook"), f"{PAGE}#belfrynew"),
        ]:
            with self.subTest(keys):
                self.setUp()
                *outer, last = keys
                node = self.rule[outer[0]] if outer else self.rule
                if value is None:
                    del node[last]
                else:
                    node[last] = value
                self.expect_one(self.rule_differences(), "BelfryOld: ")

    def test_alerts_and_runbook_entries_are_the_same(self):
        self.expect_one(self.runbook_differences(RUNBOOK + "\n## BelfryNew\n"), "no such alert")
        self.expect_one(self.runbook_differences(RUNBOOK.replace("## BelfryOld", "")), "has no entry")

    def test_an_entry_tells_meaning_first_look_and_remedy(self):
        for part in ["It is old.", "- **First look**:", "the log.", "- **Remedy**:", "none."]:
            with self.subTest(part):
                self.expect_one(self.runbook_differences(RUNBOOK.replace(part, "")), "its entry needs")

    def test_a_rule_fires_and_is_silent_in_one_case(self):
        others = [
            FIRES["labels"].replace("BelfryOld", "BelfryNew"), FIRES["labels"].replace("page", "ticket"),
            FIRES["labels"].replace('"7"', '"14"'),
        ]
        for cases in [
            [], [{}], [{"promql_expr_test": [{"exp_samples": [FIRES]}]}], [{"promql_expr_test": [{}]}],
            [{"promql_expr_test": [{"exp_samples": [FIRES]}]}, {"promql_expr_test": [{}]}],
            *([{"promql_expr_test": [{"exp_samples": [{"labels": labels}]}, {}]}] for labels in others),
        ]:
            with self.subTest(cases):
                self.expect_one(self.case_differences(cases), "no case")

    def test_prometheus_and_the_console_ask_each_role_at_its_port(self):
        def differences():
            return list(deploy_check.scrape_differences(prometheus, compose))

        prometheus, compose = copy.deepcopy(PROMETHEUS), copy.deepcopy(COMPOSE)
        self.assertEqual(differences(), [])
        prometheus["scrape_configs"][0]["dns_sd_configs"][0]["port"] = 9465
        self.expect_one(differences(), "listens on port 9464, Prometheus asks it at 9465")
        prometheus["scrape_configs"] = []
        self.expect_one(differences(), "Prometheus asks it at None")
        prometheus = PROMETHEUS
        compose["services"]["console"]["command"][2] = "dns:worker:9464,dns:registrar:9464"
        self.expect_one(differences(), "registrar: listens on port None, the console asks it at 9464")


if __name__ == "__main__":
    unittest.main()
