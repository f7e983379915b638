"""Encryption of what a copy of the database must not reveal: secrets and sessions.

Secrets are encrypted (sealed) with a key derived from the cabinet's secret key, which
is not in the database. With another secret key, they are unreadable. Sessions are
stored under a digest of their cookie, so a copy of the database lets no one log in.
"""

import base64
from functools import lru_cache
from hashlib import sha256
from typing import Any, Self

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.contrib.sessions.backends import db
from django.core.signing import JSONSerializer

__all__ = ["InvalidToken", "SealedSerializer", "SessionKey", "seal", "unseal"]
_PURPOSE = b"readback.cabinet.sealed"
# The length of Django's column. 160 bits of the digest are still impossible to invert.
_KEY_LENGTH = 40


def seal(text: str) -> str:
    return _cipher(settings.SECRET_KEY).encrypt(text.encode()).decode("ascii")


def unseal(sealed: str) -> str:
    """Return the text; raise `InvalidToken` if the secret key has changed."""
    return _cipher(settings.SECRET_KEY).decrypt(sealed).decode()


class SealedSerializer(JSONSerializer):
    """Encrypts session data, such as the secret of a new authenticator app."""

    def dumps(self, obj: Any) -> bytes:
        return seal(super().dumps(obj).decode("latin-1")).encode("ascii")

    def loads(self, data: bytes) -> Any:
        return super().loads(unseal(data.decode("ascii")).encode("latin-1"))


class SessionKey(str):
    """The key of a session in the database: a digest of the browser's cookie."""

    cookie: str

    def __new__(cls, cookie: str) -> Self:
        key = super().__new__(cls, sha256(cookie.encode()).hexdigest()[:_KEY_LENGTH])
        key.cookie = cookie
        return key


class SessionStore(db.SessionStore):
    def _get_new_session_key(self) -> SessionKey:
        return SessionKey(super()._get_new_session_key())  # type: ignore[misc]


@lru_cache(maxsize=2)
def _cipher(secret_key: str) -> Fernet:
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE)
    return Fernet(base64.urlsafe_b64encode(derivation.derive(secret_key.encode())))
