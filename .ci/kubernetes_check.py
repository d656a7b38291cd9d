#!/usr/bin/env python3
"""Renders the chart in Deploy/helm with its files of values, and holds the objects against house rules.

Prints a line for each finding; exit code 1 if there is one. What was rendered is left in the directory that is the
argument: objects that Kubernetes' own schemas know in `objects.yaml`, those of KEDA in `keda-*.yaml`, and their queries
as rules for Prometheus in `rules.yaml`.
"""

import re
import sys
from pathlib import Path

import yaml

import deploy_check

DEPLOY = Path(__file__).resolve().parent.parent / "Deploy"
# The files of values of each variant, beside the chart's own, and its namespace.
VARIANTS = {
    "plain": ([], "belfry"),
    "production": (["values-production.yaml"], "belfry"),
    "production-tls": (["values-production.yaml", "values-tls.yaml"], "belfry"),
    "development": (["values-development.yaml"], "belfry-development"),
}
ROLES = {"worker", "registrar", "harvester"}
CONSOLE = "console"
COMPONENT = "app.kubernetes.io/component"
RELEASE = "belfry"
CONFIGURATION = "belfry.yaml"
# Of a role, and of the console.
PORTS = {"operations": 9464, "page": 2189}


def by_name(objects):
    return {f"{one['kind']} {one['metadata']['name']}": one for one in objects}


def pod_faults(name, component, pod):
    """House rules for the pods of a role, or of the console."""
    (container,) = pod["containers"]
    own, security, variables = pod["securityContext"], container["securityContext"], container.get("env", [])
    mounts = tuple(f"{one['mountPath']}/" for one in container["volumeMounts"])
    speaks_tls = any(one["name"] == "BELFRY_OPERATIONS_CERTIFICATE" for one in variables)
    # The console waits for nobody: it is ready when it lives.
    port_name, ready = ("page", "/livez") if component == CONSOLE else ("operations", "/readyz")
    port = (port_name, "HTTPS" if speaks_tls else "HTTP")
    rules = {
        "runs as root": own.get("runAsNonRoot") is True and own.get("runAsUser", 0) > 0,
        "has no seccomp profile": own.get("seccompProfile") == {"type": "RuntimeDefault"},
        "may gain rights": security.get("allowPrivilegeEscalation") is False,
        "writes to its image": security.get("readOnlyRootFilesystem") is True,
        "keeps capabilities": security.get("capabilities") == {"drop": ["ALL"]},
        "may ask Kubernetes": pod.get("automountServiceAccountToken") is False,
        "gets variables of other services": pod.get("enableServiceLinks") is False,
        "has no limit of memory": "memory" in container["resources"].get("limits", {}),
        "requests no CPU": "cpu" in container["resources"].get("requests", {}),
        "mounts something that it can write to": all(m.get("readOnly") for m in container["volumeMounts"]),
        "has a secret in its environment": all("value" in v for v in variables),
        "is told to read a file that is not mounted": all(
            v["value"].startswith(mounts) for v in variables if v.get("value", "").startswith("/")
        ),
        "is started in another way": component == CONSOLE
        or container["args"] == [component, "--config", f"/etc/belfry/{CONFIGURATION}"],
        "has an image without a version": re.search(r":[0-9][^:/]*$", container["image"]),
        "is asked for its readiness in another way": probe(container, "readinessProbe") == (ready, *port),
        "is asked for its life in another way": probe(container, "livenessProbe") == ("/livez", *port),
        f"has another port than {PORTS[port_name]}": container["ports"] == [
            {"name": port_name, "containerPort": PORTS[port_name]},
        ],
        "has a limit of CPU, which looks like a slow server": "cpu" not in container["resources"]["limits"],
    }
    return [f"{name}: {fault}" for fault, holds in rules.items() if not holds]


def console_faults(objects):
    """The console asks every process of every role, also those that are not ready."""
    named = by_name(objects)
    if not (console := named.get(f"Deployment {RELEASE}-{CONSOLE}")):
        yield "console: there is no Deployment"
        return
    arguments = console["spec"]["template"]["spec"]["containers"][0]["args"]
    asked = arguments[arguments.index("--scrape") + 1].split(",")
    for role in sorted(ROLES):
        if f"dns:{RELEASE}-{role}:{PORTS['operations']}" not in asked:
            yield f"console: does not ask the {role}s"
        service = named.get(f"Service {RELEASE}-{role}", {}).get("spec", {})
        if service.get("clusterIP") != "None" or not service.get("publishNotReadyAddresses"):
            yield f"console: the Service of the {role}s does not lead to each of them"


def probe(container, kind):
    request = container.get(kind, {}).get("httpGet", {})
    return request.get("path"), request.get("port"), request.get("scheme", "HTTP")


def object_faults(objects):
    """House rules for all objects of an installation."""
    named = by_name(objects)
    for role in sorted(ROLES):
        for kind in ("Deployment", "PodDisruptionBudget", "Service"):
            if f"{kind} {RELEASE}-{role}" not in named:
                yield f"{role}: there is no {kind}"
    for name, one in named.items():
        if one["kind"] != "Deployment":
            continue
        labels = one["spec"]["template"]["metadata"]["labels"]
        yield from pod_faults(name, labels[COMPONENT], one["spec"]["template"]["spec"])
        # The console may go at any time.
        for kind in ["Service"] if labels[COMPONENT] == CONSOLE else ["PodDisruptionBudget", "Service"]:
            selector = named.get(f"{kind} {one['metadata']['name']}", {}).get("spec", {}).get("selector", {})
            if selector.get("matchLabels", selector) != labels:
                yield f"{name}: its {kind} selects other pods"
        scaled = f"ScaledObject {one['metadata']['name']}" in named
        if scaled == ("replicas" in one["spec"]):
            yield f"{name}: either KEDA or the Deployment says how many there are"
    if not any(one["kind"] == "NetworkPolicy" and selects_all(one) for one in objects):
        yield "no NetworkPolicy closes all pods in both directions"


def selects_all(policy):
    spec = policy["spec"]
    return spec["policyTypes"] == ["Ingress", "Egress"] and set(spec["podSelector"]["matchLabels"]) == {
        "app.kubernetes.io/name", "app.kubernetes.io/instance",
    }


def queries(objects):
    """KEDA's queries to Prometheus."""
    triggers = [one for each in objects if each["kind"] == "ScaledObject" for one in each["spec"]["triggers"]]
    return [one["metadata"]["query"] for one in triggers if "query" in one["metadata"]]


def query_faults(objects, known):
    """KEDA asks for metrics that are there."""
    for query in queries(objects):
        for metric in sorted(deploy_check.metrics(query) - known):
            yield f"KEDA asks for {metric}, which no table has"


def rules(asked):
    """Queries as a file that promtool can check."""
    made = [{"record": f"keda:query_{index}", "expr": query} for index, query in enumerate(asked)]
    return {"groups": [{"name": "keda", "rules": made}]}


def merged(first, second):
    """Values as Helm merges them: those of the later file win, mapping by mapping."""
    shared = [key for key in first.keys() & second.keys() if isinstance(second[key], dict)]
    return {**first, **second, **{key: merged(first[key], second[key]) for key in shared}}


def charted(values, namespace):
    # Helm's own code as a library.
    import helm_python

    with helm_python.Chart.load(str(DEPLOY / "helm")) as chart:
        own = {}
        for name in values:
            own = merged(own, yaml.safe_load((DEPLOY / "helm" / name).read_text()))
        chart.validate_schema(own)
        rendered = chart.render(own, name=RELEASE, namespace=namespace)
    return [one for text in rendered.values() for one in yaml.safe_load_all(text) if one]


def lint():
    import helm_python

    found = helm_python.lint(str(DEPLOY / "helm"))
    # An icon is for shops.
    wanted = [one["error"] for one in found["messages"] if one["severity"] > 1 or "icon" not in one["error"]]
    return [f"Deploy/helm: {error}" for error in wanted + found["errors"]]


def main(scratch):
    known = deploy_check.documented_metrics((DEPLOY / "MONITORING.md").read_text())
    found, native, asked = lint(), [], []
    for variant, (values, namespace) in VARIANTS.items():
        objects = charted(values, namespace)
        for finding in [*object_faults(objects), *console_faults(objects), *query_faults(objects, known)]:
            found.append(f"Deploy/helm, {variant}: {finding}")
        asked += queries(objects)
        for one in objects:
            if one["apiVersion"].startswith("keda.sh/"):
                (scratch / f"keda-{variant}.yaml").write_text(yaml.safe_dump(one))
            else:
                native.append(one)
    (scratch / "objects.yaml").write_text(yaml.safe_dump_all(native))
    (scratch / "rules.yaml").write_text(yaml.safe_dump(rules(asked)))
    if not asked:
        found.append("Deploy/helm: KEDA asks Prometheus nothing")
    for finding in found:
        print(finding)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
