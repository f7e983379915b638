"""Kubernetes without a cluster: the trial certificate, the checks, backup and restore.

Run by test_kubernetes.py in namespaces of its own. The pods are processes; `kubectl`
runs commands here, and forwards nothing, because the ports are those of this machine.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

from tests.support.pages import ROOT, block
from tests.support.waiting import PATIENCE, wait_until

FOLDER = Path("/mnt")
KUBECTL = """#!/bin/sh
[ "$1" = exec ] || exit 0
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""


def certificate() -> Path:
    """Make the certificate; put it where the volume of the pod has it."""
    script = block("openssl req -x509").partition("export ")[0]
    subprocess.run(["sh", "-e", "-c", script], check=True, cwd=FOLDER, timeout=PATIENCE)
    front = yaml.safe_load_all((ROOT / "deploy/kubernetes/base/front.yaml").read_text())
    volumes = next(front)["spec"]["template"]["spec"]["volumes"]
    [secret] = [each["secret"] for each in volumes if "secret" in each]
    paths = {each["key"]: FOLDER / each["path"] for each in secret["items"]}
    (FOLDER / "site.crt").rename(paths["tls.crt"])
    (FOLDER / "site.key").rename(paths["tls.key"])
    return paths["tls.crt"]


def start_front(pem: Path) -> None:
    text = (ROOT / "deploy/haproxy/haproxy.cfg").read_text()
    (FOLDER / "haproxy.cfg").write_text(re.sub(r"10\.0\.0\.1\d", "127.0.0.1", text))
    environment = {"CERTIFICATE": str(pem), "CABINET_HOST": "readback.example.com"}
    subprocess.run(
        ["haproxy", "-q", "-D", "-f", FOLDER / "haproxy.cfg"],
        env={**os.environ, **environment},
        check=True,
        timeout=PATIENCE,
    )


def main() -> None:
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", FOLDER], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    kubectl = FOLDER / "programs" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(KUBECTL)
    kubectl.chmod(0o755)
    programs = f"{kubectl.parent}:{Path(sys.executable).parent}"
    os.environ["PATH"] = f"{programs}:{os.environ['PATH']}:/usr/sbin"
    settings = {
        "READBACK_DATA_DIR": "/mnt/data",
        "READBACK_API_BIND": "127.0.0.1:8000",
        "READBACK_CABINET_BIND": "127.0.0.1:8001",
        "READBACK_OPS_BIND": "127.0.0.1:8002",
        "READBACK_CABINET_URL": "https://readback.example.com",
        "READBACK_PUBLIC_BASE_URL": "https://api.example.com/v1",
        "READBACK_TRUSTED_PROXY_COUNT": "1",
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "readback", "serve", "--ephemeral", "--json"],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout
    account = json.loads(server.stdout.readline())["account_email"]
    pem = certificate()
    os.environ["CURL_CA_BUNDLE"] = str(pem)
    start_front(pem)
    wait_until(is_checked, "the three answers are those of the page")
    os.environ |= settings
    save_and_restore(account)


def save_and_restore(account: str) -> None:
    """Restore under the running service what was there before the last key."""
    keys = sh(f"readback key list {account}")
    sh(block("    env TMPDIR=/data readback backup"))
    sh(f"readback key create {account}")
    sh(block("    env TMPDIR=/data readback restore"))
    assert sh(f"readback key list {account}") == keys


def sh(script: str) -> str:
    done = subprocess.run(
        ["sh", "-e", "-c", script], cwd=FOLDER, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def is_checked() -> bool:
    """Return whether the commands answer as the page says, once HAProxy has checked."""
    script = block(
        "kubectl port-forward --namespace=readback deployment/readback-api 8002"
    )
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
    return (
        '{"status": "ready", "errors": [], "warnings": []}' in done.stdout
        and '"invalid_key"' in done.stdout
        and done.stdout.strip().endswith("ok")
    )


if __name__ == "__main__":
    main()
