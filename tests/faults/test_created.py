"""`created` across an orderly restart, with each database."""

from pathlib import Path

import pytest

from readback import keys
from tests.support.api import Api, assert_success, draft
from tests.support.database import Database
from tests.support.server import UNLIMITED, ephemeral_server


def ask(api: Api, times: int) -> list[int]:
    """Return the values of `created`."""
    given = []
    with api.endpoint.connect() as connection:
        for _ in range(times):
            connection.send(api.chat_bytes(draft("x")))
            given.append(assert_success(connection.read_answer())["created"])
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
            given += ask(Api.of(server).with_key(key), 500)
    assert given == sorted(set(given))
    assert given[500] == given[499] + 1
