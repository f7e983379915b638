"""Reverse proxies that operators use, with minimal configurations."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.commands import free_port
from tests.support.programs import needed_program
from tests.support.waiting import wait_until

# Both remove the Link header: the cabinet that it names does not know these proxies.
NGINX = """
daemon off;
pid {folder}/pid;
error_log {folder}/log;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_pass http://{upstream}; proxy_hide_header Link; }}
    }}
}}
"""
HAPROXY = """
defaults
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
listen readback
    bind 127.0.0.1:{port}
    http-response del-header Link
    server one {upstream}
"""
COMMANDS = {
    "nginx": (NGINX, ["-p", "{folder}", "-c", "{file}"]),
    "haproxy": (HAPROXY, ["-db", "-f", "{file}"]),
}


@contextmanager
def reverse_proxy(program: str, upstream: str, folder: Path) -> Iterator[str]:
    """Run the program in front of this base URL; yield the proxy's base URL."""
    template, arguments = COMMANDS[program]
    port, file = free_port(), folder / "settings"
    netloc = urlsplit(upstream).netloc
    file.write_text(template.format(folder=folder, port=port, upstream=netloc))
    filled = [argument.format(folder=folder, file=file) for argument in arguments]
    command = [needed_program(program), *filled]
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        wait_until(
            lambda: _is_open(port) or process.poll() is not None,
            f"{program} listens",
        )
        assert process.poll() is None, (folder / "output").read_text()
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(10)


def _is_open(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0
