"""Recovery codes: what they look like, and how they are stored.

A code has 80 random bits. Only its HMAC with the cabinet's secret key is stored, so a
copy of the database reveals no code. With 80 random bits, a fast hash is enough.
"""

import secrets

from django.utils.crypto import salted_hmac

COUNT = 10
# Crockford's base 32: no letter looks like another one or like a digit.
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH = 16
_GROUP = 4
_SALT = "readback.cabinet.recovery_codes"
_MISREAD = str.maketrans({"o": "0", "i": "1", "l": "1"})


def generate() -> list[str]:
    return [_generate_one() for _ in range(COUNT)]


def digest(account: int, code: str) -> str | None:
    """Return what is stored of a code that was typed; None if it cannot be one."""
    characters = "".join(c for c in code.lower() if c.isalnum()).translate(_MISREAD)
    if len(characters) != _LENGTH or not set(characters) <= set(_ALPHABET):
        return None
    text = f"{account}:{characters}"
    return salted_hmac(_SALT, text, algorithm="sha256").hexdigest()


def _generate_one() -> str:
    code = "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
    return "-".join(code[i : i + _GROUP] for i in range(0, _LENGTH, _GROUP))
