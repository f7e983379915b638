"""The HTTP client of the JDK, which offers HTTP/2 in the head of every request."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.programs import needed_program
from tests.support.server import Server

MODEL = "vendor-cabinet-preview-echo"
TEXTS = ["Hello", "Привет, мир", "🏠\nsecond line", "я" * 4096]
SOURCE = Path(__file__).with_name("Readback.java")


@pytest.mark.long
def test_the_jdk_client_lists_the_model_and_gets_every_text_back(
    server: Server,
) -> None:
    java = needed_program("java")
    bodies = [_body(text) for text in TEXTS]
    # A JDK can run a single source file; a bare runtime has no compiler.
    command = [java, "-XX:TieredStopAtLevel=1", str(SOURCE), server.base_url]
    done = subprocess.run(
        [*command, server.api_key, *bodies], capture_output=True, timeout=100
    )
    if b"jdk.compiler" in done.stderr:
        pytest.skip("this java is a runtime without a compiler")
    assert done.returncode == 0, done.stderr.decode()
    models, *answers = done.stdout.decode().splitlines()
    assert models.startswith("200 ") and MODEL in models
    # Each text was sent twice: with its length and in chunks.
    assert [_text(line) for line in answers] == [t for t in TEXTS for _ in range(2)]


def _body(text: str) -> str:
    message = {"role": "user", "content": text}
    # In ASCII, because how Java decodes its arguments depends on the machine.
    return json.dumps({"model": MODEL, "messages": [message]})


def _text(line: str) -> str:
    status, _, body = line.partition(" ")
    assert status == "200", line
    return json.loads(body)["choices"][0]["message"]["content"]
