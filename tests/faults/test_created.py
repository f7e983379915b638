"""`created` on two workers, and across the end of a worker and of the service."""

from pathlib import Path

import pytest

from readback import keys
from tests.support.api import Api, assert_success, draft
from tests.support.database import Database
from tests.support.server import UNLIMITED, ephemeral_server
from tests.support.wire import Connection


def ask(api: Api, connection: Connection, times: int) -> list[int]:
    """Return the values of `created`, fewer if the connection is closed before."""
    given = []
    closed = False
    while len(given) < times and not closed:
        connection.send(api.chat_bytes(draft("x")))
        answer = connection.read_answer()
        given.append(assert_success(answer)["created"])
        closed = answer.header("Connection") == "close"
    return given


def ask_anew(api: Api, times: int) -> list[int]:
    """Return the values of `created` on as many connections as it takes."""
    given: list[int] = []
    while len(given) < times:
        with api.endpoint.connect() as connection:
            given += ask(api, connection, times - len(given))
    return given


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_an_orderly_restart_goes_on_from_the_last_value(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/readback.sqlite3"
    if kind == "postgresql":
        url = request.getfixturevalue("postgresql").migrated_database()
    chosen = UNLIMITED | {"READBACK_DATABASE_URL": url}
    database, key = Database(url), keys.mint()
    given = []
    for start in ("first", "second"):
        (tmp_path / start).mkdir()
        with ephemeral_server(tmp_path / start, chosen) as server:
            if not given:
                owner = database.add_account("alice@example.com")
                database.add_keys(owner, [key])
            given += ask_anew(Api.of(server).with_key(key), 500)
    assert given == sorted(set(given))
    assert given[500] == given[499] + 1
