"""Fixtures that record the security log, and the passwords that are hashed."""

import json
import logging

import pytest


class LogLines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))

    @property
    def events(self) -> list[dict[str, object]]:
        return [json.loads(text) for text in self.texts]

    def last(self, event: str) -> dict[str, object]:
        return [line for line in self.events if line["event"] == event][-1]


@pytest.fixture
def log():
    lines = LogLines()
    logger = logging.getLogger("readback.security")
    logger.addHandler(lines)
    yield lines
    logger.removeHandler(lines)


@pytest.fixture
def hashed(monkeypatch) -> list[str]:
    """The passwords that have been hashed, to store or to compare them."""
    from readback.cabinet.accounts.passwords import Argon2Hasher

    found: list[str] = []
    for name in ("encode", "verify"):
        real = getattr(Argon2Hasher, name)

        def counted(self, password, given, real=real):
            found.append(password)
            return real(self, password, given)

        monkeypatch.setattr(Argon2Hasher, name, counted)
    return found
