"""What each platform makes Prometheus read, and that the alerts fit it.

promtool finds the targets of the shipped configuration, for Kubernetes among the ports
of the manifests' pods. Then it evaluates the alerts over these targets: healthy ones
raise none, and a plane that is down raises its own.
"""

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from tests.house.test_compose import SERVICES
from tests.house.test_kubernetes import BASE, WORKLOADS, kustomization
from tests.support.haproxy import on_loopback
from tests.support.programs import needed_program
from tests.support.promtool import run_promtool
from tests.support.waiting import PATIENCE, wait_until

DEPLOY = Path(__file__).parents[2] / "deploy"
PROMETHEUS = DEPLOY / "prometheus"
PLATFORMS = ("compose", "systemd", "kubernetes", "operator")
REPLICAS = 3

Labels = dict[str, str]


def configuration(platform: str) -> dict[str, Any]:
    """Return Prometheus' configuration for a platform, as we ship it."""
    if platform != "operator":
        return yaml.safe_load((PROMETHEUS / f"{platform}.yml").read_text())
    folder = DEPLOY / "kubernetes" / "prometheus-operator"
    monitor = yaml.safe_load((folder / "pod-monitor.yaml").read_text())["spec"]
    return {"scrape_configs": [*scrape_configs(monitor)]}


def scrape_configs(monitor: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return what the Prometheus operator makes of a PodMonitor."""
    for number, endpoint in enumerate(monitor["podMetricsEndpoints"]):
        selected = {
            "__meta_kubernetes_pod_label_" + re.sub(r"\W", "_", name): value
            for name, value in monitor["selector"]["matchLabels"].items()
        } | {"__meta_kubernetes_pod_container_port_name": endpoint["port"]}
        kept = [
            {"source_labels": [name], "regex": value, "action": "keep"}
            for name, value in selected.items()
        ]
        own = [
            {
                re.sub("([A-Z])", r"_\1", key).lower(): value
                for key, value in rule.items()
            }
            for rule in endpoint["relabelings"]
        ]
        yield {
            "job_name": f"podMonitor/readback/readback/{number}",
            "kubernetes_sd_configs": [
                {"role": "pod", "namespaces": {"names": ["readback"]}}
            ],
            "relabel_configs": [*kept, *own],
        }


def discovered() -> list[dict[str, Any]]:
    """Return what Prometheus discovers of the pods of the base: a target for each port.

    Debian's Prometheus cannot ask Kubernetes, so here is what its documentation
    promises.
    """
    addresses = count(1)
    [added] = kustomization(BASE)["labels"]
    found = []
    for workload in WORKLOADS:
        name, template = workload["metadata"]["name"], workload["spec"]["template"]
        labels = template["metadata"]["labels"] | added["pairs"]
        containers = template["spec"]["containers"]
        for number in range(REPLICAS):
            address = f"10.1.0.{next(addresses)}"
            meta = {"pod_name": f"{name}-{number}", "namespace": "readback"}
            for key, value in labels.items():
                meta[f"pod_label_{re.sub(r'[^a-zA-Z0-9]', '_', key)}"] = value
            for port in [port for each in containers for port in each.get("ports", [])]:
                meta["pod_container_port_name"] = port["name"]
                found.append(
                    {
                        "targets": [f"{address}:{port['containerPort']}"],
                        "labels": {
                            f"__meta_kubernetes_{key}": value
                            for key, value in meta.items()
                        },
                    }
                )
    return found


def targets(platform: str, folder: Path) -> list[Labels]:
    """Return the labels of the targets that Prometheus reads."""
    path, found = folder / "prometheus.yml", []
    jobs = with_pods(configuration(platform))["scrape_configs"]
    path.write_text(yaml.safe_dump({"scrape_configs": jobs}))
    for job in jobs:
        arguments = ("--timeout=200ms", str(path), job["job_name"])
        text = run_promtool("check", "service-discovery", *arguments)
        found += [each["labels"] for each in json.loads(text) if each.get("labels")]
    return [
        {key: value for key, value in labels.items() if not key.startswith("__")}
        for labels in found
    ]


def with_pods(shipped: dict[str, Any]) -> dict[str, Any]:
    """Put the pods in place of the question for them."""
    for job in shipped["scrape_configs"]:
        if question := job.pop("kubernetes_sd_configs", None):
            assert question == [{"role": "pod", "namespaces": {"names": ["readback"]}}]
            job["static_configs"] = discovered()
    return shipped


EXPECTED = {
    "compose": {"readback-api": 2, "readback-cabinet": 1, "readback-front": 1},
    "systemd": {"readback-api": 1, "readback-cabinet": 1},
    "kubernetes": {
        "readback-api": REPLICAS,
        "readback-cabinet": REPLICAS,
        "readback-front": REPLICAS,
    },
}
EXPECTED["operator"] = EXPECTED["kubernetes"]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_alerts_fit_what_the_platform_produces(platform, tmp_path):
    found = targets(platform, tmp_path)
    jobs = [labels["job"] for labels in found]
    assert {job: jobs.count(job) for job in jobs} == EXPECTED[platform]
    assert len({labels["instance"] for labels in found}) == len(found)

    api = [labels for labels in found if labels["job"] == "readback-api"]
    down = {"ReadbackApiDown", "ReadbackReplicaDown"}
    stories = [
        story("healthy", {label(each): steady(1) for each in found}, set()),
        story(
            "the API is down",
            {label(each): steady(0) if each in api else steady(1) for each in found},
            down,
        ),
    ]
    if platform in ("kubernetes", "operator"):
        # The autoscaler removes a pod: it stops answering, then it is no target.
        series = {label(each): steady(1) for each in found}
        series[label(api[-1])] = "1x10 0x1 stale"
        stories.append(story("scaled down", series, set()))
    tests = {
        "rule_files": [str(PROMETHEUS / "alerts.yml")],
        "evaluation_interval": "2m",
        "tests": stories,
    }
    path = tmp_path / "tests.yml"
    path.write_text(yaml.safe_dump(tests, width=1000))
    run_promtool("test", "rules", str(path))


def label(labels: Labels) -> str:
    inner = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return f"up{{{inner}}}"


def steady(value: int) -> str:
    return f"{value}x30"


def story(name: str, series: dict[str, str], alerts: set[str]) -> dict[str, Any]:
    """Return promtool's test that exactly these alerts fire within an hour."""
    return {
        "name": name,
        "interval": "2m",
        "input_series": [
            {"series": key, "values": each} for key, each in series.items()
        ],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"}) > bool 0',
                "eval_time": f"{minute}m",
                "exp_samples": [
                    {"labels": f'{{alertname="{each}"}}', "value": 1}
                    for each in sorted(alerts)
                ],
            }
            for minute in (20, 30, 58)
        ],
    }


@pytest.mark.parametrize("platform", ["compose", "systemd", "kubernetes"])
def test_promtool_accepts_the_configuration_and_its_links_have_a_host(
    platform, tmp_path
):
    shipped = with_pods(configuration(platform))
    (tmp_path / "alerts.yml").symlink_to(PROMETHEUS / "alerts.yml")
    path = tmp_path / "prometheus.yml"
    path.write_text(yaml.safe_dump(shipped))
    # The file with the token is on the operator's machine.
    run_promtool("check", "config", "--syntax-only", str(path))
    url = shipped["global"]["external_labels"]["cabinet_url"]
    if platform == "compose":
        assert url == "${CABINET_URL}"
        url = SERVICES["prometheus"]["environment"]["CABINET_URL"]
        url = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", url)
    assert re.match(r"https://[\w.]+", url)
    assert shipped["rule_files"] == ["alerts.yml"]


def test_systemd_and_prometheus_agree_on_the_addresses():
    text = (DEPLOY / "systemd" / "environment.example").read_text()
    [ops] = re.findall(r"^READBACK_OPS_BIND=(.*)$", text, re.M)
    [cabinet] = re.findall(r"^READBACK_CABINET_BIND=(.*)$", text, re.M)
    jobs = configuration("systemd")["scrape_configs"]
    assert [job["static_configs"][0]["targets"] for job in jobs] == [[ops], [cabinet]]


def test_compose_and_prometheus_agree_on_the_names():
    for job in configuration("compose")["scrape_configs"]:
        for target in job["static_configs"][0]["targets"]:
            assert target.split(":")[0] in SERVICES


def test_third_party_images_are_the_same_and_exact_everywhere():
    text = (DEPLOY / "compose" / "compose.yaml").read_text()
    named = [service["image"] for service in SERVICES.values()]
    used = {image for image in named if "IMAGE" not in image}
    assert all(re.search(r":v?\d+\.\d+(\.\d+)?(-\w+)?$", image) for image in used)
    assert all(text.count(image) == 1 for image in used), "each in one place"
    for image in kustomization(BASE)["images"]:
        if image["name"] != "readback":
            assert f"{image['name']}:{image['newTag']}" in used


def test_haproxy_has_the_metrics_of_the_alerts_and_the_dashboard(tmp_path):
    program = needed_program("haproxy")
    text = on_loopback((DEPLOY / "haproxy" / "haproxy.cfg").read_text(), "127.0.0.")
    path = tmp_path / "haproxy.cfg"
    path.write_text(text.replace("fd-hard-limit 200000", "fd-hard-limit 2000"))
    [port] = re.findall(r"frontend ops from base\n    bind 127.0.0.1:(\d+)", text)
    used = {
        name
        for file in (PROMETHEUS / "alerts.yml", DEPLOY / "grafana" / "dashboard.json")
        for name in re.findall(r"haproxy_\w+", file.read_text())
    }
    assert len(used) == 4
    process = subprocess.Popen([program, "-f", path], stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_listening(int(port)), "HAProxy listens")
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
            shown = set(re.findall(r"^(haproxy_\w+)\{", answer.read().decode(), re.M))
    finally:
        process.terminate()
        process.wait(PATIENCE)
    assert used <= shown


def is_listening(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0
