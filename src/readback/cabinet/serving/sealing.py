"""Texts that a copy of the database must not reveal: encrypted with the secret key.

The key is derived from the cabinet's secret key, which is not in the database. A new
secret key makes everything that was sealed before unreadable.
"""

import base64
from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.signing import JSONSerializer

__all__ = ["InvalidToken", "SealedSerializer", "seal", "unseal"]
_PURPOSE = b"readback.cabinet.sealed"


def seal(text: str) -> str:
    return _cipher().encrypt(text.encode()).decode("ascii")


def unseal(sealed: str) -> str:
    """Return the text; raise `InvalidToken` if the secret key is another one."""
    return _cipher().decrypt(sealed).decode()


class SealedSerializer(JSONSerializer):
    """What Django stores of a session, such as the secret of an app being added."""

    def dumps(self, obj: Any) -> bytes:
        return seal(super().dumps(obj).decode("latin-1")).encode("ascii")

    def loads(self, data: bytes) -> Any:
        return super().loads(unseal(data.decode("ascii")).encode("latin-1"))


def _cipher() -> Fernet:
    return _cipher_of(settings.SECRET_KEY)


@lru_cache(maxsize=2)
def _cipher_of(secret_key: str) -> Fernet:
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE)
    return Fernet(base64.urlsafe_b64encode(derivation.derive(secret_key.encode())))
