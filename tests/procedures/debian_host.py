"""A disposable Debian host, and what its operator does on it.

Run by test_debian_host.py in namespaces of its own: what is written to the directories
below disappears, the user exists only here, and the ports are free. Every command is
the text of a page.
"""

import os
import re
import sys
from pathlib import Path
from urllib.request import urlopen

from tests.procedures import stand_ins
from tests.support.authority import Authority
from tests.support.browser import Browser
from tests.support.mailbox import Mailbox, link_in, mailbox
from tests.support.pages import block, sh
from tests.support.postgres import Postgres, postgres
from tests.support.terminal import answer
from tests.support.waiting import PATIENCE, wait_until

CABINET = "https://readback.example.com"
ALICE = "alice@example.org"
PASSWORD = "a lamp in the harbour"
HOME = Path("/run/home")
SETTINGS = Path("/etc/readback")


def prepare() -> None:
    """Mount a copy of what the operator changes, and connect another machine."""
    sh(
        """mount -t tmpfs tmpfs /mnt
        for place in etc opt root usr/local var/lib; do
            name=$(echo $place | tr / -)
            mkdir /mnt/$name /mnt/$name.work
            mount -t overlay -o lowerdir=/$place,upperdir=/mnt/$name \\
                -o workdir=/mnt/$name.work overlay /$place
        done
        mount -t tmpfs tmpfs /run
        mkdir /run/programs /etc/caddy /etc/caddy/certificates /run/home
        ip link set lo up
        ip netns add elsewhere
        ip link add cable type veth peer name cable netns elsewhere
        ip address add 10.9.0.1/24 dev cable && ip link set cable up
        ip -netns elsewhere address add 10.9.0.2/24 dev cable
        ip -netns elsewhere link set cable up
        echo 10.9.0.1 api.example.com readback.example.com >> /etc/hosts"""
    )
    os.environ["HOME"] = str(HOME)
    stand_ins.install(Path("/run/programs"))
    os.environ["PATH"] = f"/run/programs:/usr/local/sbin:{os.environ['PATH']}:/usr/sbin"
    authority = Authority(Path("/etc/caddy/authority"))
    for name in ("readback.example.com", "api.example.com"):
        authority.issue(name).rename(stand_ins.CERTIFICATES / f"{name}.pem")
    for name in ("SSL_CERT_FILE", "CURL_CA_BUNDLE"):
        os.environ[name] = str(authority.root)


def install() -> None:
    """Do everything except downloading: this environment replaces pip's."""
    sh(block("apt install --yes python3-venv"))
    text = block("useradd --system")
    downloads = re.compile(r"^.*/pip install .*\n", re.M)
    assert len(downloads.findall(text)) == 2
    sh(downloads.sub("", text).replace("-m venv", "-m venv --without-pip"))
    program = Path("/opt/readback/current/bin/readback")
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m readback "$@"\n')
    program.chmod(0o755)
    sh(block("install -D --mode=600 deploy/systemd/environment.example"))
    modes = {path.name: path.stat().st_mode & 0o777 for path in SETTINGS.iterdir()}
    assert modes == {"environment": 0o600, "api.environment": 0o640}
    # In this test, one authority takes the place of all that are trusted publicly.
    with (SETTINGS / "environment").open("a") as environment:
        environment.write(f"SSL_CERT_FILE={os.environ['SSL_CERT_FILE']}\n")
    report = sh(block("systemctl daemon-reload\nreadback doctor"))
    assert {line.split("\t")[0] for line in report.splitlines()} == {"ok"}, report


def start() -> None:
    sh(block("systemctl enable --now readback-api.socket"))
    sh(block("cat >/etc/caddy/Caddyfile"))


def log_in_for_the_first_time(box: Mailbox) -> Browser:
    """Create the operator on a terminal, log in, and confirm the address."""
    dialogue = ("assword", PASSWORD), ("epeat", PASSWORD)
    command = ["sh", "-c", block("readback account create alice@example.org --op")]
    assert "Created the account" in answer(command, *dialogue)
    browser = Browser(CABINET)
    browser.log_in(ALICE, PASSWORD)
    link = link_in(box.wait_for(ALICE))
    browser.post(link.removeprefix(CABINET))
    return browser


def probe_from_another_machine(key: str) -> None:
    script = block("curl -fsSO https://readback.example.com/probe.pyz")
    elsewhere = ("ip", "netns", "exec", "elsewhere")
    environment = {**os.environ, "READBACK_API_KEY": key}
    report = sh(script, elsewhere, cwd=HOME, env=environment)
    assert "Works" in report and "https://api.example.com/v1" in report, report


def restore(key: str) -> None:
    """Lose everything, and bring it back on the same host."""
    sh(block("(umask 077; readback backup - > ~/readback.tar"))
    assert (HOME / "readback.tar").stat().st_mode & 0o077 == 0
    commands = block("readback restore --yes - < ~/readback.tar").splitlines(
        keepends=True
    )
    sh(commands[0])
    sh("rm /var/lib/readback/*")
    sh("".join(commands[1:]))
    owners = {path.owner() for path in stand_ins.STATE.iterdir()}
    assert owners == {"readback"}
    wait_for_service()
    probe_from_another_machine(key)


def move_to_postgresql(server: Postgres, key: str) -> None:
    """Move everything from SQLite; the server replaces that of apt."""
    os.environ["POSTGRESQL_PROGRAMS"] = str(server.programs)
    sh(
        f"""mkdir /run/postgresql && touch /run/postgresql/.s.PGSQL.5432
        mount --bind {server.socket} /run/postgresql/.s.PGSQL.5432"""
    )
    sh(block("runuser --user=postgres -- psql"))
    report = sh(block("(umask 077; readback backup - >~/sqlite.tar"))
    assert "PostgreSQL is reachable" in report, report
    wait_for_service()
    probe_from_another_machine(key)


def wait_for_service() -> None:
    def answers() -> bool:
        try:
            return urlopen(f"{CABINET}/healthz", timeout=PATIENCE).status == 200
        except OSError:
            return False

    wait_until(answers, "the cabinet answers through the proxy")


def remove() -> None:
    """Remove everything; only the proxy keeps files with our name, its certificates."""
    sh(block("systemctl disable --now"))
    sh(block("rm -r /var/lib/readback"))
    left = sh("find /etc /opt /usr/local /var/lib -name '*readback*'").splitlines()
    assert [path for path in left if not path.startswith("/etc/caddy/")] == [], left
    assert "readback:" not in Path("/etc/passwd").read_text()


def main() -> None:
    prepare()
    with mailbox() as box:
        os.environ["MAIL_SERVER"] = box.url
        install()
        start()
        wait_for_service()
        browser = log_in_for_the_first_time(box)
        assert "/admin/cabinet/user/" in browser.get("/admin/"), "she is an operator"
        key = sh(f"readback key create {ALICE}").strip()
        probe_from_another_machine(key)
        restore(key)
        assert ALICE not in browser.get("/account/"), "a backup has no sessions"
        browser.log_in(ALICE, PASSWORD)
        assert ALICE in browser.get("/account/"), "the password is still valid"
        with postgres() as server:
            move_to_postgresql(server, key)
            browser.log_in(ALICE, PASSWORD)
            assert ALICE in browser.get("/account/"), "PostgreSQL has the account"
        remove()


if __name__ == "__main__":
    try:
        main()
    finally:
        for log in stand_ins.RUNNING.glob("*.log"):
            print(log.name, log.read_text())
