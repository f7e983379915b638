"""deploy/kubernetes is valid for the supported versions, and matches the program.

The tests check the base and the overlay as files and, with kustomize, once rendered.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from readback import __version__, config

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
BASE = FOLDER / "base"
PRODUCTION = FOLDER / "production"
PAGE = (ROOT / "docs" / "deploy-kubernetes.md").read_text()
# The oldest version that the page names, and the newest that we have a schema for.
OLDEST = "1.27"
VERSIONS = [OLDEST, kubernetes_validate.latest_version()]
COMPONENT = "app.kubernetes.io/component"
# How long the manager waits for a worker that should have ended.
MANAGER_SECONDS = 10

Object = dict[str, Any]


def load_all(text: str) -> Iterator[Any]:
    return yaml.load_all(text, yaml.CSafeLoader)


def documents(path: Path) -> list[Any]:
    return [each for each in load_all(path.read_text()) if each]


def kustomization(folder: Path) -> Object:
    [found] = documents(folder / "kustomization.yaml")
    return found


def resources(folder: Path) -> list[Object]:
    """Return the objects that the files in a folder define."""
    names = kustomization(folder).get("resources", [])
    files = [folder / name for name in names if (folder / name).is_file()]
    return [each for path in files for each in documents(path)]


def variables(path: Path) -> dict[str, str]:
    """Return the variables in a file, as kustomize reads them."""
    lines = [line for line in path.read_text().splitlines() if line]
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


OBJECTS = resources(BASE) + resources(PRODUCTION)
SETTINGS = variables(BASE / "settings.env")
PUBLIC_SETTINGS = SETTINGS | variables(PRODUCTION / "settings.env")


def of_kind(kind: str) -> list[Object]:
    return [each for each in OBJECTS if each["kind"] == kind]


def named(kind: str, name: str) -> Object:
    [found] = [each for each in of_kind(kind) if each["metadata"]["name"] == name]
    return found


WORKLOADS = [*of_kind("Deployment"), *of_kind("Job")]
PODS = {
    pod["metadata"]["labels"][COMPONENT]: pod["spec"]
    for pod in (each["spec"]["template"] for each in WORKLOADS)
}
CONTAINERS = [
    pytest.param(container, id=f"{component}-{container['name']}")
    for component, pod in PODS.items()
    for container in [*pod.get("initContainers", []), *pod["containers"]]
]


def ports(component: str) -> dict[str, int]:
    [container] = PODS[component]["containers"]
    return {port["name"]: port["containerPort"] for port in container["ports"]}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_follows_the_published_schema(version):
    for each in OBJECTS:
        kubernetes_validate.validate(each, version, strict=True)


@pytest.mark.parametrize("folder", [BASE, PRODUCTION], ids=lambda folder: folder.name)
def test_every_file_is_used_and_every_used_file_exists(folder):
    found = kustomization(folder)
    used = [
        *found["resources"],
        *(patch["path"] for patch in found.get("patches", [])),
        *(name for each in found["configMapGenerator"] for name in each["envs"]),
    ]
    inside = {name for name in used if not name.startswith("../")}

    assert inside == {path.name for path in folder.iterdir()} - {"kustomization.yaml"}
    for name in set(used) - inside:
        assert (folder / name / "kustomization.yaml").is_file()


@pytest.mark.parametrize("patch", kustomization(PRODUCTION)["patches"])
def test_every_patch_changes_what_exists(patch):
    if target := patch.get("target"):
        kind = target["kind"]
        names = target.get("name", ".*").split("|")
    else:
        [change] = documents(PRODUCTION / patch["path"])
        kind = change["kind"]
        names = [change["metadata"]["name"]]
    assert of_kind(kind)
    assert all(name == ".*" or named(kind, name) for name in names)


@pytest.mark.parametrize("folder", [BASE, PRODUCTION], ids=lambda folder: folder.name)
def test_every_image_has_a_tag_and_ours_is_this_version(folder):
    tags = {each["name"]: each["newTag"] for each in kustomization(folder)["images"]}

    assert tags["readback"] == __version__
    assert not [tag for tag in tags.values() if re.match(r"latest|\d+$", tag)]
    if folder == BASE:
        assert {each.values[0]["image"] for each in CONTAINERS} == set(tags)


@pytest.mark.parametrize("settings", [SETTINGS, PUBLIC_SETTINGS], ids=["base", "prod"])
def test_the_api_and_the_cabinet_accept_their_settings(settings):
    for component in ("api", "cabinet"):
        [container] = PODS[component]["containers"]
        own = {each["name"]: each["value"] for each in container.get("env", [])}
        read = config.read(settings | own)

        assert read.workers == 1
        assert [bind.port for bind in read.api_bind] == [ports("api")["api"]]
        assert read.ops_bind.port == ports("api")["ops"]
        assert read.cabinet_bind.port == ports("cabinet")["pages"]
        grace = PODS[component]["terminationGracePeriodSeconds"]
        assert grace > read.stop_timeout + MANAGER_SECONDS


def test_secrets_are_those_that_the_page_creates():
    names = {
        reference["secretRef"]["name"]
        for each in CONTAINERS
        for reference in each.values[0].get("envFrom", [])
        if "secretRef" in reference
    }
    names |= {
        volume["secret"]["secretName"]
        for pod in PODS.values()
        for volume in pod.get("volumes", [])
        if "secret" in volume
    }

    created = re.findall(r"kubectl create secret (?:generic|tls) ([\w-]+)", PAGE)
    assert names == set(created)
    assert not of_kind("Secret")


def test_the_api_gets_no_secret_of_the_cabinet():
    [container] = PODS["api"]["containers"]

    references = [each.get("secretRef") for each in container["envFrom"]]
    assert references == [None, {"name": "readback-api"}]


@pytest.mark.parametrize("pod", PODS.values(), ids=PODS)
def test_every_pod_runs_without_privileges(pod):
    context = pod["securityContext"]
    assert (context["runAsNonRoot"], context["runAsUser"]) == (True, 10001)
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    containerfile = (ROOT / "deploy" / "container" / "Containerfile").read_text()
    assert "USER 10001" in containerfile


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_is_confined(container):
    assert container["securityContext"] == {
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
    assert "memory" in container["resources"]["limits"]


def test_every_pod_is_denied_everything_but_what_a_policy_allows():
    assert named("NetworkPolicy", "deny-by-default")["spec"] == {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
    }
    for component in PODS:
        spec = named("NetworkPolicy", component)["spec"]
        assert spec["podSelector"] == {"matchLabels": {COMPONENT: component}}


def test_only_haproxy_reaches_the_port_of_the_api():
    ingress = named("NetworkPolicy", "api")["spec"]["ingress"]

    opened = [rule["from"] for rule in ingress if {"port": 8000} in rule["ports"]]
    assert opened == [[{"podSelector": {"matchLabels": {COMPONENT: "front"}}}]]


def kustomize() -> list[str]:
    """Return a command that renders a folder; skip the test if there is none."""
    if program := shutil.which("kustomize"):
        return [program, "build"]
    if program := shutil.which("kubectl"):
        command = [program, "version", "--client", "--output=json"]
        client = json.loads(subprocess.check_output(command))["clientVersion"]
        if int(re.findall(r"\d+", client["minor"])[0]) >= int(OLDEST.split(".")[1]):
            return [program, "kustomize"]
    pytest.skip(f"needs the program kustomize 5, or kubectl {OLDEST} or later")


@pytest.mark.parametrize("folder", [BASE, PRODUCTION], ids=lambda folder: folder.name)
def test_kustomize_renders_valid_objects(folder):
    text = subprocess.check_output([*kustomize(), str(folder)], text=True)
    rendered = [each for each in load_all(text) if each]

    assert {each["kind"] for each in OBJECTS} < {each["kind"] for each in rendered}
    for each in rendered:
        kubernetes_validate.validate(each, OLDEST, strict=True)
        assert each["metadata"].get("namespace", "readback") == "readback"
    maps = [each for each in rendered if each["kind"] == "ConfigMap"]
    assert len(maps) == 3
    for name in (each["metadata"]["name"] for each in maps):
        assert text.count(f"name: {name}\n") > 1  # defined, and used by a pod
    for image in re.findall(r"image: (\S+)", text):
        assert re.search(r":[\w.-]+$", image)
