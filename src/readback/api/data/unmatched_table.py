"""The table of unmatched requests: its statements, and which row a request gets.

The table has a fixed number of rows, its cells. A network owns a few of them, which it
may share with other networks, so neither a network nor all of them together can make
the table grow, and nothing has to be trimmed. Which cells follows from the digest of
the network; the address itself is not written. Only the store uses this.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from readback.api.data.dialects import Dialect, marks
from readback.api.data.unmatched import UnmatchedEvent
from readback.client_address import network_digest
from readback.contract import (
    MAX_DETAIL_LENGTH,
    UNMATCHED_ROWS,
    UNMATCHED_SECONDS,
)

CELLS = 4096

_NETWORK_KEY = "SELECT key FROM cabinet_networkkey"
# Numbers of ours are part of the text: as values, hundreds of them would keep the event
# loop waiting for a millisecond.
_CELLS = "SELECT cell, digest, at FROM cabinet_unmatchedrequest WHERE cell IN ({cells})"
# In the order of their cells, so that two workers cannot deadlock.
_WRITE = """
INSERT INTO cabinet_unmatchedrequest AS old (cell, network, digest, at, endpoint, code,
    detail, user_agent, requests)
VALUES {rows}
ON CONFLICT (cell) DO UPDATE SET
    network = excluded.network, digest = excluded.digest, at = excluded.at,
    endpoint = excluded.endpoint, code = excluded.code, detail = excluded.detail,
    user_agent = excluded.user_agent,
    requests = excluded.requests + CASE
        WHEN old.digest = excluded.digest AND old.at >= ? THEN old.requests ELSE 0 END
"""
# What another worker has locked at this moment, it is writing or deleting itself. Rows
# from the future, after a clock was wrong, would keep their cells.
_DELETE_OLD = """
DELETE FROM cabinet_unmatchedrequest WHERE cell IN (
    SELECT cell FROM cabinet_unmatchedrequest WHERE at < ? OR at > ?
    ORDER BY cell {lock})
"""


class Cell(NamedTuple):
    """What a row holds: the digest of a request, and when it was last received."""

    digest: bytes
    at: Any  # as the column stores it; of two, the later one is greater


class UnmatchedTable:
    """Writes and deletes rows, with the `run` of a store."""

    def __init__(
        self, dialect: Dialect, run: Callable[[str, Sequence[Any]], Any]
    ) -> None:
        self._dialect = dialect
        self._run = run
        self._key = b""

    def write(self, counts: Mapping[UnmatchedEvent, int], wall: float) -> None:
        """Write how often each request has occurred since the last time."""
        if not self._key:
            for (key,) in self._run(_NETWORK_KEY, ()).fetchall():
                self._key = bytes(key)
        if not self._key:
            return  # only if somebody has emptied the tables
        networks = {each: network_digest(each.address, self._key) for each in counts}
        wanted = {cell for network in networks.values() for cell in cells(network)}
        text = _CELLS.format(cells=", ".join(map(str, wanted)))
        found = self._run(text, ()).fetchall()
        held = {cell: Cell(bytes(digest), at) for cell, digest, at in found}
        rows: dict[int, tuple[Any, ...]] = {}
        for number, (request, network) in enumerate(networks.items()):
            digest = _digest(request, network)
            cell = choose(digest, cells(network), held)
            # A microsecond apart, so that they are shown in the order of their arrival.
            at = self._dialect.moment(wall + number / 1e6)
            held[cell] = Cell(digest, at)
            texts = _texts(request)
            rows[cell] = (cell, network, digest, at, *texts, counts[request])
        in_order = [rows[cell] for cell in sorted(rows)]
        text = _WRITE.format(rows=", ".join(f"({marks(row)})" for row in in_order))
        values = [value for row in in_order for value in row]
        self._run(text, [*values, self._dialect.moment(wall - UNMATCHED_SECONDS)])

    def delete_old(self, wall: float) -> None:
        """Delete the rows that are no longer shown."""
        # Ask again: a restored database may have another one.
        self._key = b""
        moment = self._dialect.moment
        shown = (moment(wall - UNMATCHED_SECONDS), moment(wall + UNMATCHED_SECONDS))
        self._run(_DELETE_OLD.format(lock=self._dialect.lock_skip_locked), shown)


def cells(network: bytes) -> range:
    """Return the cells of a network."""
    first = int.from_bytes(network[:4]) % (CELLS // UNMATCHED_ROWS) * UNMATCHED_ROWS
    return range(first, first + UNMATCHED_ROWS)


def choose(digest: bytes, own: range, held: Mapping[int, Cell]) -> int:
    """Return the cell that holds this request, else a free one, else the oldest.

    Two workers may choose at the same time. Equal requests begin at the same cell, and
    different ones at different cells.
    """
    for cell in own:
        if cell in held and held[cell].digest == digest:
            return cell
    start = digest[0] % len(own)
    in_turn: list[int] = [*own[start:], *own[:start]]
    free = [cell for cell in in_turn if cell not in held]
    return free[0] if free else min(own, key=lambda cell: held[cell].at)


def _digest(request: UnmatchedEvent, network: bytes) -> bytes:
    """Return what is equal for equal requests of one network, and for no others."""
    words = "\0".join(_texts(request))
    return blake2b(words.encode(), key=network, digest_size=16).digest()


def _texts(request: UnmatchedEvent) -> tuple[str, ...]:
    detail = request.detail[:MAX_DETAIL_LENGTH]
    return request.endpoint, request.code, detail, request.user_agent
