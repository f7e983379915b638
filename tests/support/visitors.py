"""Browsers of the cabinet that reuse their connections, and record what they lose.

A visit is lost if it was sent on an open connection and got no answer. A connection
that is refused is counted separately, because it is expected when a service stops.
"""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.support.threads import running
from tests.support.waiting import PATIENCE

# Seconds between two visits of one visitor: some hardly pause, some leave their
# connection idle.
PAUSES = (0.02, 0.02, 0.05, 0.05, 0.2, 0.2, 0.5, 0.5, 1.0, 1.0)


@dataclass
class Visits:
    """What all visitors have seen so far."""

    answered: int = 0
    refused: int = 0
    lost: list[str] = field(default_factory=list)
    wrong: list[int] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def visitors(url: str, path: str = "/", *, ends_when_refused: bool) -> Iterator[Visits]:
    seen = Visits()
    threads = [
        threading.Thread(
            target=_visit, args=(url, path, pause, seen, ends_when_refused)
        )
        for pause in PAUSES
    ]
    with running(threads, seen.stop):
        yield seen


def _visit(
    url: str, path: str, pause: float, seen: Visits, ends_when_refused: bool
) -> None:
    # Opens a new connection after an answer with `Connection: close`.
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)
    while not seen.stop.wait(pause):
        try:
            connection.request("GET", path, headers={"Host": "localhost"})
            response = connection.getresponse()
            response.read()
        except ConnectionRefusedError:
            seen.refused += 1
            connection.close()
            if ends_when_refused:
                break
        except (OSError, http.client.HTTPException) as error:
            seen.lost.append(f"after a pause of {pause} s: {error!r}")
            connection.close()
        else:
            _note(seen, response.status)
    connection.close()


def _note(seen: Visits, status: int) -> None:
    with seen.lock:
        seen.answered += 1
        if status != 200:
            seen.wrong.append(status)
