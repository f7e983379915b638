"""Keys: how one is minted, told from a typo, and turned into a digest. Pure.

A key is `sk-echo-`, 32 random base62 characters, and 6 base62 characters of the
CRC-32 of all that stands before them. The checksum is no secret: it tells a typo or
a cut-off paste from a wrong key without asking a database. Only the digest and the
last four characters of a key are ever stored.
"""

import re
import secrets
from hashlib import sha256
from zlib import crc32

PREFIX = "sk-echo-"
SECRET_LENGTH = 32
CHECKSUM_LENGTH = 6
LENGTH = len(PREFIX) + SECRET_LENGTH + CHECKSUM_LENGTH
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PAIRS = [(first + second).encode() for first in ALPHABET for second in ALPHABET]

_FORM = re.compile(f"{PREFIX}[0-9A-Za-z]{{{SECRET_LENGTH + CHECKSUM_LENGTH}}}".encode())


def mint() -> str:
    """Make a new key; the caller shows it once and stores only its digest."""
    secret = "".join(secrets.choice(ALPHABET) for _ in range(SECRET_LENGTH))
    body = PREFIX + secret
    return body + _checksum(body.encode()).decode()


def flaw(key: bytes) -> str | None:
    """Say what is wrong with the form of a key, without the key; None if nothing."""
    if _FORM.fullmatch(key):
        if _checksum(key[:-CHECKSUM_LENGTH]) == key[-CHECKSUM_LENGTH:]:
            return None
        return "its checksum does not fit, so a character is mistyped"
    if not key.startswith(PREFIX.encode()):
        return f"a key begins with {PREFIX}"
    if len(key) != LENGTH:
        return f"a key has {LENGTH} characters, and {len(key)} came"
    return f"after {PREFIX} a key has only letters and digits"


def digest(key: bytes) -> bytes:
    """Give what is stored of a key: a fast hash is right for 190 random bits."""
    return sha256(key).digest()


def masked(last_four: str) -> str:
    """Show which key is meant to somebody who has it."""
    return f"{PREFIX}…{last_four}"


def _checksum(data: bytes) -> bytes:
    # Two digits at a time: a flood of made-up keys makes this the common case.
    rest, last = divmod(crc32(data), len(_PAIRS))
    first, middle = divmod(rest, len(_PAIRS))
    return _PAIRS[first] + _PAIRS[middle] + _PAIRS[last]
