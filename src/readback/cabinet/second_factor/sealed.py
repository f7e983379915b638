"""Texts that the database holds encrypted, such as the secret of an authenticator app.

The key is derived from the cabinet's secret key, which is not in the database. A copy
of the database alone reveals none of them; a new secret key makes them unreadable.
"""

import base64

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

_PURPOSE = b"readback.cabinet.sealed"


class UnsealError(Exception):
    """The text was sealed with another secret key, or is damaged."""


def seal(text: str) -> str:
    return _cipher().encrypt(text.encode()).decode("ascii")


def unseal(sealed: str) -> str:
    """Return the text; raise UnsealError if the secret key is not the same."""
    try:
        return _cipher().decrypt(sealed).decode()
    except InvalidToken:
        raise UnsealError from None


def _cipher() -> Fernet:
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE)
    key = derivation.derive(settings.SECRET_KEY.encode())
    return Fernet(base64.urlsafe_b64encode(key))
