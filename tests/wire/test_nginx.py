"""nginx in front of the API, with the configuration of docs/deploy.md."""

import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.support.authority import Authority
from tests.support.commands import free_port
from tests.support.pages import block
from tests.support.programs import needed_program
from tests.support.server import UNLIMITED, Server, ephemeral_server
from tests.support.waiting import wait_until

TEXT = "Привет, мир\n"
BODY = {
    "model": "vendor-cabinet-preview-echo",
    "messages": [{"role": "user", "content": TEXT}],
}


@contextmanager
def nginx(server: Server, folder: Path) -> Iterator[httpx.Client]:
    """Yield a client of an nginx that runs the configuration of docs/deploy.md."""
    program = needed_program("nginx")
    authority = Authority(folder / "authority")
    certificate, port = authority.issue("127.0.0.1"), free_port()
    site = block("upstream readback-api")
    for shipped, ours in (
        ("127.0.0.1:8000", httpx.URL(server.base_url).netloc.decode()),
        ("listen 80;", f"listen 127.0.0.1:{free_port()};"),
        (
            "listen 443 ssl; server_name api.example.com;",
            f"listen 127.0.0.1:{port} ssl; server_name _; ssl_certificate "
            f"{certificate}; ssl_certificate_key {certificate};",
        ),
    ):
        site = site.replace(shipped, ours)
    lines = [line for line in site.splitlines() if "listen 443" not in line]
    temporary = "".join(
        f"{name}_temp_path {folder};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; events {{}}\n"
        f"http {{ access_log off; {temporary}\n" + "\n".join(lines) + "\n}\n"
    )
    command = [program, "-e", "stderr", "-p", str(folder), "-c", folder / "nginx.conf"]
    process = subprocess.Popen(command)
    try:
        base = f"https://127.0.0.1:{port}"
        trusted = ssl.create_default_context(cafile=authority.root)
        with httpx.Client(base_url=base, verify=trusted) as client:
            wait_until(lambda: answers(client), "nginx answers")
            yield client
    finally:
        process.terminate()
        process.wait()


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/v1/models").status_code == 401
    except httpx.TransportError:
        return False


def test_the_text_comes_back_and_the_address_is_the_one_that_nginx_saw(tmp_path: Path):
    settings = UNLIMITED | {"READBACK_TRUSTED_PROXY_COUNT": "1"}
    with (
        ephemeral_server(tmp_path, settings) as server,
        nginx(server, tmp_path) as client,
    ):
        key = server.api_key
        headers = {"Authorization": f"Bearer {key}", "X-Forwarded-For": "203.0.113.9"}
        for _ in range(3):
            answer = client.post("/v1/chat/completions", json=BODY, headers=headers)
            assert answer.json()["choices"][0]["message"]["content"] == TEXT

        def stored() -> set[tuple[str]]:
            return set(server.database.journal(key, "client_address"))

        wait_until(stored, "the requests are in the journal")
        # The address that the client claims to have is not used.
        assert stored() == {("127.0.0.x",)}
