"""Concurrent clients, and traces that requests must not leave."""

import json
import subprocess
import sys
import threading
from pathlib import Path

from tests.support.api import (
    Api,
    assert_echo,
    draft,
)
from tests.support.server import UNLIMITED, Server, ephemeral_server
from tests.support.waiting import PATIENCE
from tests.support.wire import Endpoint, exchange, request

CLIENTS = 40
ROUNDS = 25


def test_forty_concurrent_clients_get_their_own_texts(api: Api) -> None:
    wrong: list[object] = []
    together = threading.Barrier(CLIENTS)

    def talk(number: int) -> None:
        try:
            with api.endpoint.connect() as connection:
                together.wait(PATIENCE)
                for turn in range(ROUNDS):
                    # Of one length, so that the head is repeated and not parsed again.
                    text = f"client {number:02} turn {turn:02} " + "ы" * (turn % 3)
                    connection.send(api.chat_bytes(draft(text)))
                    assert_echo(connection.read_answer(), text)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=talk, args=(n,)) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert wrong == []


TEXT = "zyzzyva-text"
KEYS = ["sk-echo-zyzzyvakey", "zyzzyva-token"]


def test_no_text_and_no_key_is_stored_anywhere(tmp_path: Path) -> None:
    with ephemeral_server(tmp_path, UNLIMITED) as server:
        api = Api.of(server)
        _send_text_and_keys_in_every_way(api)
        metrics = exchange(
            Endpoint.of(server.ops_url), request("GET", "/metrics", [("Host", "x")])
        ).body
        rows = _dump(server)
        assert "cabinet_journalentry" in rows
        key = server.api_key
    # The server has stopped, so everything that it ever writes is written.
    first, _, rest = (tmp_path / "stdout").read_text().partition("\n")
    assert json.loads(first)["api_key"] == key
    written = {"stdout": rest.encode(), "metrics": metrics, "rows": rows.encode()}
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.name != "stdout":
            written[path.name] = path.read_bytes()
    assert len(written) > 4
    assert any(b"careless/1 [key]" in content for content in written.values())
    for name, content in written.items():
        for secret in (TEXT, key, key[8:40], *KEYS):
            assert secret.encode() not in content, f"{secret} is in {name}"


def _send_text_and_keys_in_every_way(api: Api) -> None:
    """Send requests that are accepted or refused at every stage, with text and key."""
    body_with_text = draft(TEXT)
    program = ("User-Agent", f"careless/1 {api.key}")
    assert_echo(api.chat(body_with_text, extra=[program]), TEXT)
    for body in (
        body_with_text | {api.key: TEXT},
        body_with_text | {f"{TEXT}!": TEXT},
        body_with_text | {"model": f"{TEXT}!"},
        body_with_text | {"messages": TEXT},
        body_with_text | {"stream": TEXT},
        body_with_text | {"max_tokens": TEXT},
        draft([TEXT]),
        draft(TEXT * 1000),
        {
            "model": body_with_text["model"],
            "messages": [{"role": TEXT, "content": TEXT}],
        },
        {
            "model": body_with_text["model"],
            "messages": [{"role": "user", f"{TEXT} ": TEXT}],
        },
        f'{{"{TEXT}'.encode(),
        TEXT.encode(),
    ):
        answer = api.chat(body)
        assert answer.status == 400 and TEXT.encode() not in answer.head
    assert api.chat(TEXT.encode(), extra=[("Content-Encoding", TEXT)]).status == 415
    for key in KEYS:
        assert api.with_key(key).chat(body_with_text).status == 401
    assert api.ask("GET", f"/v1/{TEXT}").status == 404
    assert api.ask("GET", f"/v1/models?key={api.key}&{TEXT}").status == 404
    assert api.ask(TEXT, "/v1/models").status == 404
    host, bearer = api.host[1], api.bearer[1]
    for raw in (
        f"GET /{TEXT} HTTP/1.1\r\nHost: {host}\r\nAuthorization : {bearer}\r\n\r\n",
        f"{TEXT}\r\n\r\n{api.key}\r\n\r\n",
        f"GET / HTTP/1.1\r\nHost: {TEXT}@{api.key}\r\n\r\n",
    ):
        assert api.send(raw.encode()).status == 400


def _dump(server: Server) -> str:
    """Return every row of the database as text."""
    [path] = (server.folder / "data").glob("*.sqlite3")
    code = (
        "import sqlite3, sys; "
        "print('\\n'.join(sqlite3.connect(sys.argv[1]).iterdump()))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
