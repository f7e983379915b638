"""Authenticator apps: the secret, its link and QR code, and the codes (RFC 6238).

The secret is stored encrypted, by `services.py`. The key is derived from the cabinet's
secret key, which is not in the database: a copy of the database alone reveals none of
them, and a new secret key makes them unreadable.
"""

from itertools import groupby
from urllib.parse import quote, urlencode

from django.conf import settings
from django.utils.crypto import constant_time_compare
from qrcode.constants import ERROR_CORRECT_L
from qrcode.main import QRCode

from readback.cabinet.serving.allauth_internals import auth
from readback.cabinet.serving.sealing import seal as seal
from readback.cabinet.serving.sealing import unseal as unseal

# Scanners need an empty margin of this many modules around the code.
_MARGIN = 4


def new_secret() -> str:
    secret: str = auth.generate_totp_secret()
    return secret


def matching_counter(secret: str, code: str) -> int | None:
    """Return the number of the period that the code belongs to, if it is valid now.

    The periods before and after the current one count, too: clocks differ, and a code
    takes some seconds to type.
    """
    digits = "".join(filter(str.isalnum, code))
    for counter in auth.yield_hotp_counters_from_time():
        expected = auth.format_hotp_value(auth.hotp_value(secret, counter))
        if constant_time_compare(digits, expected):
            return int(counter)
    return None


def link(address: str, secret: str) -> str:
    """Return the link that an app opens, or reads from the QR code."""
    issuer = settings.MFA_TOTP_ISSUER
    # Some apps show a + instead of a space.
    values = urlencode({"secret": secret, "issuer": issuer}, quote_via=quote)
    return f"otpauth://totp/{quote(f'{issuer}:{address}')}?{values}"


def qr_code(text: str) -> dict[str, object]:
    """Return the side length and the path of a QR code, for an SVG element.

    The path has one rectangle for each run of dark modules in a row.
    """
    code = QRCode(error_correction=ERROR_CORRECT_L, border=_MARGIN)
    code.add_data(text)
    rows = code.get_matrix()
    path = ""
    for y, row in enumerate(rows):
        start = 0
        for is_dark, run in groupby(row):
            length = len(list(run))
            if is_dark:
                path += f"M{start} {y}h{length}v1h-{length}z"
            start += length
    return {"side": len(rows), "path": path}
