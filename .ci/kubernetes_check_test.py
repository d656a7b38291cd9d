#!/usr/bin/env python3
"""Tests of kubernetes_check.py: each breaks one thing and expects the finding."""

import copy
import unittest

import kubernetes_check as check

LABELS = {"app.kubernetes.io/name": "belfry", "app.kubernetes.io/instance": "belfry"}
POD = {
    "securityContext": {"runAsNonRoot": True, "runAsUser": 1, "seccompProfile": {"type": "RuntimeDefault"}},
    "automountServiceAccountToken": False,
    "enableServiceLinks": False,
    "containers": [
        {
            "image": "registry:5000/belfry:0.1.0",
            "args": ["worker", "--config", "/etc/belfry/belfry.yaml"],
            "env": [{"name": "A", "value": "/secrets/a"}, {"name": "B", "value": "b"}],
            "ports": [{"name": "operations", "containerPort": 9464}],
            "readinessProbe": {"httpGet": {"path": "/readyz", "port": "operations"}},
            "livenessProbe": {"httpGet": {"path": "/livez", "port": "operations", "scheme": "HTTP"}},
            "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
            "securityContext": {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
            },
            "volumeMounts": [{"name": "secrets", "mountPath": "/secrets", "readOnly": True}],
        },
    ],
}


def named(kind, name, spec):
    return {"kind": kind, "metadata": {"name": name}, "spec": spec}


def installation():
    objects = [
        named(
            "NetworkPolicy", "belfry",
            {"policyTypes": ["Ingress", "Egress"], "podSelector": {"matchLabels": dict(LABELS)}},
        ),
    ]
    for role in sorted(check.ROLES):
        labels = {**LABELS, "app.kubernetes.io/component": role}
        template = {"metadata": {"labels": labels}, "spec": copy.deepcopy(POD)}
        template["spec"]["containers"][0]["args"][0] = role
        objects += [
            named("Deployment", f"belfry-{role}", {"replicas": 2, "template": template}),
            named("PodDisruptionBudget", f"belfry-{role}", {"selector": {"matchLabels": dict(labels)}}),
            named(
                "Service", f"belfry-{role}",
                {"selector": dict(labels), "clusterIP": "None", "publishNotReadyAddresses": True},
            ),
        ]
    return objects + console()


def console():
    labels = {**LABELS, "app.kubernetes.io/component": "console"}
    pod = copy.deepcopy(POD)
    (container,) = pod["containers"]
    del container["env"]
    container["args"] = ["console", "--scrape", ",".join(f"dns:belfry-{role}:9464" for role in sorted(check.ROLES))]
    container["ports"] = [{"name": "page", "containerPort": 2189}]
    for probe in ("readinessProbe", "livenessProbe"):
        container[probe] = {"httpGet": {"path": "/livez", "port": "page"}}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return [
        named("Deployment", "belfry-console", {"replicas": 1, "template": template}),
        named("Service", "belfry-console", {"selector": dict(labels)}),
    ]


class KubernetesCheckTests(unittest.TestCase):
    def setUp(self):
        self.objects = installation()
        self.worker = next(one for one in self.objects if one["metadata"]["name"] == "belfry-worker")
        self.pod = self.worker["spec"]["template"]["spec"]

    def expect_one(self, found, words):
        found = list(found)
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_an_installation_that_keeps_all_rules_has_no_finding(self):
        self.assertEqual(list(check.object_faults(self.objects)), [])

    def test_each_rule_for_pods_is_kept(self):
        container = self.pod["containers"][0]
        for owner, key, value, words in [
            (self.pod["securityContext"], "runAsNonRoot", False, "runs as root"),
            (self.pod["securityContext"], "seccompProfile", None, "seccomp"),
            (self.pod, "automountServiceAccountToken", True, "ask Kubernetes"),
            (self.pod, "enableServiceLinks", True, "other services"),
            (container, "image", "registry:5000/belfry", "without a version"),
            (container, "image", "registry:5000/belfry:latest", "without a version"),
            (container, "env", [{"name": "A", "valueFrom": {"secretKeyRef": {}}}], "a secret in its environment"),
            (container, "env", [{"name": "A", "value": "/secret/a"}], "a file that is not mounted"),
            (container, "args", ["worker"], "started in another way"),
            (container, "ports", [], "another port"),
            (container, "readinessProbe", {"httpGet": {"path": "/livez", "port": "operations"}}, "readiness"),
            (container, "livenessProbe", {}, "its life"),
            (container["resources"], "requests", {}, "requests no CPU"),
            (container["resources"], "limits", {"cpu": "1", "memory": "1Gi"}, "limit of CPU"),
            (container["securityContext"], "allowPrivilegeEscalation", True, "gain rights"),
            (container["securityContext"], "readOnlyRootFilesystem", False, "writes to its image"),
            (container["securityContext"], "capabilities", {"drop": []}, "keeps capabilities"),
            (container["volumeMounts"][0], "readOnly", False, "write to"),
            (container["livenessProbe"]["httpGet"], "scheme", "HTTPS", "its life"),
        ]:
            with self.subTest(key, value=value):
                before = owner[key]
                owner[key] = value
                self.expect_one(check.object_faults(self.objects), words)
                owner[key] = before

    def test_a_port_that_speaks_tls_is_probed_so(self):
        container = self.pod["containers"][0]
        container["env"].append({"name": "BELFRY_OPERATIONS_CERTIFICATE", "value": "/secrets/port.pem"})
        container["readinessProbe"]["httpGet"]["scheme"] = "HTTPS"
        self.expect_one(check.object_faults(self.objects), "its life")
        container["livenessProbe"]["httpGet"]["scheme"] = "HTTPS"
        self.assertEqual(list(check.object_faults(self.objects)), [])

    def test_values_of_a_later_file_win_and_leave_the_others(self):
        first, second = {"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"c": 3}, "d": [2], "e": 4}
        self.assertEqual(check.merged(first, second), {"a": {"b": 1, "c": 3}, "d": [2], "e": 4})

    def test_each_role_has_its_objects_and_they_select_its_pods(self):
        for kind in ("PodDisruptionBudget", "Service"):
            with self.subTest(kind):
                self.setUp()
                other = next(one for one in self.objects if one["kind"] == kind and "worker" in one["metadata"]["name"])
                selector = other["spec"]["selector"]
                selector.get("matchLabels", selector)["app.kubernetes.io/component"] = "registrar"
                self.expect_one(check.object_faults(self.objects), f"its {kind} selects other pods")
        self.objects.remove(self.worker)
        self.expect_one(check.object_faults(self.objects), "worker: there is no Deployment")

    def test_the_rules_for_pods_hold_for_the_console_too(self):
        (container,) = self.objects[-2]["spec"]["template"]["spec"]["containers"]
        container["ports"][0]["containerPort"] = 9464
        self.expect_one(check.object_faults(self.objects), "another port than 2189")
        self.objects[-1]["spec"]["selector"] = {}
        container["ports"][0]["containerPort"] = 2189
        self.expect_one(check.object_faults(self.objects), "its Service selects other pods")

    def test_the_console_asks_every_process(self):
        self.assertEqual(list(check.console_faults(self.objects)), [])
        (container,) = self.objects[-2]["spec"]["template"]["spec"]["containers"]
        container["args"][2] = container["args"][2].replace("dns:belfry-harvester:9464", "belfry-harvester:9464")
        self.expect_one(check.console_faults(self.objects), "does not ask the harvesters")
        self.setUp()
        service = next(one for one in self.objects if one["kind"] == "Service")
        del service["spec"]["publishNotReadyAddresses"]
        self.expect_one(check.console_faults(self.objects), "does not lead to each of them")
        self.expect_one(check.console_faults(self.objects[:-2]), "there is no Deployment")

    def test_a_policy_closes_all_pods_in_both_directions(self):
        self.objects[0]["spec"]["policyTypes"] = ["Ingress"]
        self.expect_one(check.object_faults(self.objects), "no NetworkPolicy")

    def test_either_keda_or_the_deployment_says_how_many_there_are(self):
        self.objects.append(named("ScaledObject", "belfry-worker", {}))
        self.expect_one(check.object_faults(self.objects), "either KEDA")
        del self.worker["spec"]["replicas"]
        self.assertEqual(list(check.object_faults(self.objects)), [])

    def test_keda_asks_for_metrics_that_are_documented(self):
        trigger = {"metadata": {"query": "sum(belfry_waiting_records)"}}
        self.objects.append(named("ScaledObject", "belfry-worker", {"triggers": [trigger, {"metadata": {}}]}))
        self.assertEqual(list(check.query_faults(self.objects, {"belfry_waiting_records"})), [])
        self.expect_one(check.query_faults(self.objects, set()), "asks for belfry_waiting_records")
        made = check.rules(check.queries(self.objects))["groups"][0]["rules"]
        self.assertEqual(made, [{"record": "keda:query_0", "expr": "sum(belfry_waiting_records)"}])


if __name__ == "__main__":
    unittest.main()
