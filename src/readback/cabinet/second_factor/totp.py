"""Authenticator apps: the secret, its link and QR code, and the codes (RFC 6238).

Nothing here is stored: `second_factor_services.py` does that.
"""

from urllib.parse import quote, urlencode

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.totp.internal import auth
from django.conf import settings
from qrcode.constants import ERROR_CORRECT_L
from qrcode.main import QRCode

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
    for counter in auth.yield_hotp_counters_from_time():
        expected = auth.format_hotp_value(auth.hotp_value(secret, counter))
        if compare_user_code(actual=code, expected=expected):
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
    path = "".join(
        f"M{start} {y}h{length}v1h-{length}z"
        for y, row in enumerate(rows)
        for start, length in _runs(row)
    )
    return {"side": len(rows), "path": path}


def _runs(row: list[bool]) -> list[tuple[int, int]]:
    """Return the start and the length of each run of dark modules."""
    runs: list[tuple[int, int]] = []
    for x, is_dark in enumerate(row):
        if is_dark and runs and sum(runs[-1]) == x:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        elif is_dark:
            runs.append((x, 1))
    return runs
