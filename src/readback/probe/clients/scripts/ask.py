"""Asks with the package that is named as the argument; without one, says what is here.

Runs in any Python that the probe finds, so it imports nothing of the probe.
"""

from __future__ import annotations

import contextlib
import sys
from importlib import import_module, metadata
from typing import Any

PACKAGES = ("requests", "httpx", "openai")


def find() -> None:
    for package in PACKAGES:
        with contextlib.suppress(Exception):
            metadata.version(package)
            print(package)


def ask_openai(url: str, key: str, timeout: float) -> int:
    openai = import_module("openai")
    client = openai.OpenAI(api_key=key, base_url=url, timeout=timeout, max_retries=0)
    try:
        answer = client.models.with_raw_response.list()
    except openai.APIStatusError as error:
        return int(error.status_code)
    return int(answer.http_response.status_code)


def ask_plainly(package: Any, url: str, key: str, timeout: float) -> int:
    headers = {"Authorization": f"Bearer {key}"}
    is_requests = package.__name__ == "requests"
    # A redirect would lead the key to another address.
    option = "allow_redirects" if is_requests else "follow_redirects"
    options: dict[str, Any] = {"timeout": timeout, option: False}
    return int(package.get(f"{url}/models", headers=headers, **options).status_code)


def ask(name: str) -> None:
    url, key, timeout = sys.stdin.buffer.read().decode().split("\n")[:3]
    try:
        print("version", metadata.version(name))
        if name == "openai":
            print("status", ask_openai(url, key, float(timeout)))
        else:
            package = import_module(name)
            print("status", ask_plainly(package, url, key, float(timeout)))
    except Exception as error:
        cause = error.__cause__ or error
        print("error", type(cause).__name__ + ":", " ".join(str(cause).split()))


if __name__ == "__main__":
    ask(sys.argv[1]) if len(sys.argv) > 1 else find()
