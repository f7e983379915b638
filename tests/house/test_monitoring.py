"""The alerts cover every job that Prometheus scrapes on each platform."""

import re
import socket
import subprocess
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from tests.house.test_compose import SERVICES
from tests.house.test_kubernetes import BASE, PODS, kustomization, ports
from tests.support.haproxy import on_loopback
from tests.support.programs import needed_program
from tests.support.promtool import run_promtool
from tests.support.waiting import PATIENCE, wait_until

DEPLOY = Path(__file__).parents[2] / "deploy"
PROMETHEUS = DEPLOY / "prometheus"
ALERTS = (PROMETHEUS / "alerts.yml").read_text()
IN_KUBERNETES = [
    PROMETHEUS / "kubernetes.yml",
    DEPLOY / "kubernetes" / "prometheus-operator" / "pod-monitor.yaml",
]


def configuration(platform: str) -> dict[str, Any]:
    """Return Prometheus's configuration for a platform, as we ship it."""
    return yaml.safe_load((PROMETHEUS / f"{platform}.yml").read_text())


@pytest.mark.parametrize("platform", ["compose", "systemd"])
def test_the_alerts_know_every_job(platform):
    for job in configuration(platform)["scrape_configs"]:
        assert f'job="{job["job_name"]}"' in ALERTS


@pytest.mark.parametrize("path", IN_KUBERNETES, ids=lambda path: path.name)
def test_the_alerts_know_the_job_of_every_pod(path):
    """A pod's label becomes part of the job's name."""
    assert path.read_text().count("replacement: readback-$1") > 0
    for component in PODS.keys() - {"migrate"}:
        assert {"ops", "pages"} & ports(component).keys()
        assert f'job="readback-{component}"' in ALERTS


@pytest.mark.parametrize("platform", ["compose", "systemd", "kubernetes"])
def test_promtool_accepts_the_configuration_and_its_links_have_a_host(
    platform, tmp_path
):
    shipped = configuration(platform)
    for job in shipped["scrape_configs"]:
        # Debian's Prometheus is built without support for Kubernetes.
        job.pop("kubernetes_sd_configs", None)
    (tmp_path / "alerts.yml").symlink_to(PROMETHEUS / "alerts.yml")
    path = tmp_path / "prometheus.yml"
    path.write_text(yaml.safe_dump(shipped))
    # Syntax only, because the file with the token is on the operator's machine.
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
