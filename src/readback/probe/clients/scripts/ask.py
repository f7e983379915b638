"""Asks with the package that is named as the argument; without one, says what is here.

Runs in any Python that the probe finds, so it imports nothing of the probe.
"""

from __future__ import annotations

import base64
import contextlib
import json
import sys
from importlib import import_module, metadata
from typing import Any

PACKAGES = ("requests", "httpx", "openai")


def find() -> None:
    for package in PACKAGES:
        with contextlib.suppress(Exception):
            print("has", package, metadata.version(package))


def ask_openai(url: str, key: str, timeout: float, body: str) -> None:
    openai = import_module("openai")
    client = openai.OpenAI(api_key=key, base_url=url, timeout=timeout, max_retries=0)
    try:
        answer = client.models.with_raw_response.list()
    except openai.APIStatusError as error:
        print("models", error.status_code)
        return
    print("models", answer.http_response.status_code)
    if not body:
        return
    try:
        create = client.chat.completions.with_raw_response.create
        report_chat(create(**json.loads(body)).http_response)
    except openai.APIStatusError as error:
        report_chat(error.response)


def ask_plainly(package: Any, url: str, key: str, timeout: float, body: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    is_requests = package.__name__ == "requests"
    # A redirect would lead the key to another address.
    options: dict[str, Any] = {"timeout": timeout}
    options["allow_redirects" if is_requests else "follow_redirects"] = False
    answer = package.get(f"{url}/models", headers=headers, **options)
    print("models", answer.status_code)
    if body:
        headers["Content-Type"] = "application/json"
        options["data" if is_requests else "content"] = body.encode()
        report_chat(package.post(f"{url}/chat/completions", headers=headers, **options))


def report_chat(answer: Any) -> None:
    print("chat", answer.status_code, base64.b64encode(answer.content).decode())


def ask(name: str) -> None:
    url, key, timeout, body = sys.stdin.buffer.read().decode().split("\n")[:4]
    try:
        if name == "openai":
            ask_openai(url, key, float(timeout), body)
        else:
            ask_plainly(import_module(name), url, key, float(timeout), body)
    except Exception as error:
        cause = error.__cause__ or error
        print("error", type(cause).__name__ + ":", " ".join(str(cause).split()))


if __name__ == "__main__":
    ask(sys.argv[1]) if len(sys.argv) > 1 else find()
