"""The link that undoes a change of an account's address: its token, and if it works.

The token is signed and not stored. It works for seven days after the change, however
often the address has changed since. When it is used, the account notes the time from
the change until then: all tokens of changes in this time are void. Tokens of earlier
changes are not. Otherwise Mallory, who changes Alice's address twice, could undo the
second change to void Alice's token, or undo it after Alice has undone the first one.

Nothing here writes; `email_services.py` makes the change.
"""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.core import signing
from django.utils import timezone

from readback.cabinet.models import User

LIFETIME = timedelta(days=7)


class UndoToken(NamedTuple):
    """Who gets which address back, and when it was changed (Unix time)."""

    account: int
    email: str
    changed_at: float

    @property
    def text(self) -> str:
        return _signer().sign_object(list(self))

    @property
    def changed(self) -> datetime:
        return datetime.fromtimestamp(self.changed_at, UTC)


def read(text: str) -> UndoToken | None:
    """Return the token, unless it is forged or too old."""
    try:
        token = UndoToken(*_signer().unsign_object(text))
    except signing.BadSignature:
        return None
    return token if token.changed > timezone.now() - LIFETIME else None


def _signer() -> signing.Signer:
    return signing.Signer(salt="readback.cabinet.email_undo")


def is_usable(token: UndoToken, account: User) -> bool:
    """Return whether there still is something to undo, and the token is not void."""
    void = any(since <= token.changed_at <= end for since, end in void_times(account))
    return account.is_active and account.email != token.email and not void


def void_times(account: User) -> list[tuple[float, float]]:
    """Return the times that matter: older tokens have expired anyway."""
    oldest = (timezone.now() - LIFETIME).timestamp()
    return [(since, end) for since, end in account.email_undos or [] if end >= oldest]
