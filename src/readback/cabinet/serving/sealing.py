"""Texts that a copy of the database must not reveal: encrypted with the secret key.

The key is derived from the cabinet's secret key, which is not in the database. A new
secret key makes everything that was sealed before unreadable.
"""

import base64

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

__all__ = ["InvalidToken", "seal", "unseal"]
_PURPOSE = b"readback.cabinet.sealed"


def seal(text: str) -> str:
    return _cipher().encrypt(text.encode()).decode("ascii")


def unseal(sealed: str) -> str:
    """Return the text; raise `InvalidToken` if the secret key is another one."""
    return _cipher().decrypt(sealed).decode()


def _cipher() -> Fernet:
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE)
    key = derivation.derive(settings.SECRET_KEY.encode())
    return Fernet(base64.urlsafe_b64encode(key))
