"""API keys: how to make one, detect a typo, and compute the digest.

A key is `sk-echo-`, 32 random base62 characters, and 6 base62 characters of the CRC-32
of everything before them. The checksum is not a secret: it reveals a typo or an
incomplete paste without asking a database. Only the digest and the last four characters
of a key are ever stored.
"""

from __future__ import annotations

import re
import secrets
from contextlib import suppress
from hashlib import sha256
from zlib import crc32

# Every request with a key needs Python's own SHA-256. hashlib has OpenSSL's, which is
# faster for long inputs, but not for a key: docs/decisions.md has the measurement.
with suppress(ImportError):
    from _sha2 import sha256  # type: ignore[import-not-found,no-redef]
with suppress(ImportError):  # before Python 3.12
    from _sha256 import sha256  # type: ignore[import-not-found,no-redef]

PREFIX = "sk-echo-"
SECRET_LENGTH = 32
CHECKSUM_LENGTH = 6
LENGTH = len(PREFIX) + SECRET_LENGTH + CHECKSUM_LENGTH
# What is stored for a key: its digest, and its last characters to recognize it by.
DIGEST_LENGTH = 32
SHOWN_LENGTH = 4
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PAIRS = [(first + second).encode() for first in ALPHABET for second in ALPHABET]

_FORM = re.compile(f"{PREFIX}[0-9A-Za-z]{{{SECRET_LENGTH + CHECKSUM_LENGTH}}}".encode())
# Anything that looks like a key of any service, and so must never be quoted.
# A word such as "task-runner" does not.
KEY_LIKE = re.compile(
    rf"(?:(?<![A-Za-z0-9])sk-|{PREFIX})[\w-]{{6,}}|AIza[\w-]{{30,}}", re.ASCII
)


def mint() -> str:
    """Return a new key; the caller shows it once and stores only its digest."""
    secret = "".join(secrets.choice(ALPHABET) for _ in range(SECRET_LENGTH))
    body = PREFIX + secret
    return body + _checksum(body.encode()).decode()


def why_invalid(key: bytes) -> str | None:
    """Return what is wrong with a key's form, without quoting the key, or None."""
    if _FORM.fullmatch(key):
        if _checksum(key[:-CHECKSUM_LENGTH]) == key[-CHECKSUM_LENGTH:]:
            return None
        return "its checksum does not match, so at least one character is wrong"
    if not key.startswith(PREFIX.encode()):
        return f"a key begins with {PREFIX}"
    if len(key) != LENGTH:
        return f"a key has {LENGTH} characters, and this one has {len(key)}"
    return f"after {PREFIX} a key contains only letters and digits"


def digest(key: bytes) -> bytes:
    """Return the digest to store; a fast hash is enough for a key's 190 random bits."""
    return sha256(key).digest()


def contains_key(data: bytes) -> bool:
    """Return whether any part of the data could be a key."""
    # Nearly all data fails the first test, which is many times faster than the second.
    if b"sk-" not in data and b"AIza" not in data:
        return False
    return KEY_LIKE.search(data.decode("latin-1")) is not None


def hidden(text: str) -> str:
    """Replace everything in a string that could be a key."""
    return KEY_LIKE.sub("[key]", text) if "sk-" in text or "AIza" in text else text


def last_characters(key: str) -> str:
    return key[-SHOWN_LENGTH:]


def masked(last_characters: str) -> str:
    """Return a form of the key that is safe to show and that its owner recognizes."""
    return f"{PREFIX}…{last_characters}"


def _checksum(data: bytes) -> bytes:
    # Two digits at a time, because a flood of made-up keys would call this often.
    rest, last = divmod(crc32(data), len(_PAIRS))
    first, middle = divmod(rest, len(_PAIRS))
    return _PAIRS[first] + _PAIRS[middle] + _PAIRS[last]
