"""The HTTP clients in the JDK and in Go, which other libraries use.

The JDK's client offers HTTP/2 in the head of every request.
"""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.programs import needed_program
from tests.support.server import Server

MODEL = "vendor-cabinet-preview-echo"
TEXTS = ["Hello", "Привет, мир", "🏠\nsecond line", "я" * 4096]
HERE = Path(__file__).parent


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    [
        # A JDK can run a single source file; a bare runtime has no compiler.
        ["java", "-XX:TieredStopAtLevel=1", str(HERE / "Readback.java")],
        ["go", "run", str(HERE / "readback.go")],
    ],
    ids=["java", "go"],
)
def test_it_lists_the_model_and_gets_every_text_back(
    server: Server, command: list[str]
) -> None:
    needed_program(command[0])
    bodies = [_body(text) for text in TEXTS]
    done = subprocess.run(
        [*command, server.base_url, server.api_key, *bodies],
        capture_output=True,
        timeout=250,
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
    # In ASCII, because Java decodes arguments differently on different machines.
    return json.dumps({"model": MODEL, "messages": [message]})


def _text(line: str) -> str:
    status, _, body = line.partition(" ")
    assert status == "200", line
    return json.loads(body)["choices"][0]["message"]["content"]
