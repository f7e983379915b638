"""All changes to second factors: authenticator app, passkeys and recovery codes.

Each change is one transaction with its notice to the owner. The rows are those of
allauth's table, which its login stage and its confirmation pages read.

A recovery code has 80 random bits, so a fast hash is enough. Only its HMAC with the
cabinet's secret key is stored, so a copy of the database reveals no code.
"""

import logging
from typing import Any, NamedTuple

from allauth.mfa.models import Authenticator
from cryptography.fernet import InvalidToken
from django.db import transaction
from django.db.models import QuerySet
from django.utils.crypto import get_random_string, salted_hmac
from django.utils.translation import gettext as _

from readback.cabinet.accounts import selectors, sessions
from readback.cabinet.accounts.services import ServiceError, account_lock, checked_name
from readback.cabinet.mail import notices
from readback.cabinet.models import User
from readback.cabinet.second_factor import totp

MAX_PASSKEYS = 20

_log = logging.getLogger("readback.cabinet.second_factor_services")
_RECOVERY_CODES = 10
# Crockford's base 32: no letter looks like another one or like a digit.
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_CODE_LENGTH = 16
_CODE_GROUP = 4
_SALT = "readback.cabinet.recovery_codes"
_MISREAD = str.maketrans({"o": "0", "i": "1", "l": "1"})


class NewFactor(NamedTuple):
    """A new factor; the first one of an account comes with recovery codes."""

    row: Authenticator
    recovery_codes: list[str]


@transaction.atomic
def app_add(account: User, secret: str, code: str) -> NewFactor:
    """Add an authenticator app, if the code shows that it has the secret."""
    account_lock(account)
    if _rows(account, Authenticator.Type.TOTP).exists():
        raise ServiceError(_("This account already has an authenticator app."))
    counter = totp.matching_counter(secret, code)
    if counter is None:
        raise ServiceError(
            _("This code is not correct. Enter the one that the app shows now.")
        )
    data = {"secret": totp.seal(secret), "last_counter": counter}
    return _add(account, Authenticator.Type.TOTP, data, factor="app")


@transaction.atomic
def app_remove(account: User) -> None:
    account_lock(account)
    if _rows(account, Authenticator.Type.TOTP).delete()[0]:
        notices.notify("second_factor_removed", account, factor="app")
        _delete_needless_recovery_codes(account)


@transaction.atomic
def passkey_add(account: User, name: str, credential: dict[str, Any]) -> NewFactor:
    """Add a passkey with the credential that `passkeys.py` has verified."""
    account_lock(account)
    number = _rows(account, Authenticator.Type.WEBAUTHN).count() + 1
    if number > MAX_PASSKEYS:
        raise ServiceError(
            _("An account can have at most %(limit)d passkeys. Remove one first.")
            % {"limit": MAX_PASSKEYS}
        )
    # The browser has created the passkey by now, so an empty name is no error.
    name = checked_name(name) or _("Passkey %(number)d") % {"number": number}
    data = {"name": name, "credential": credential}
    passkey = Authenticator.Type.WEBAUTHN
    return _add(account, passkey, data, factor="passkey", name=name)


@transaction.atomic
def passkey_rename(row: Authenticator, name: str) -> None:
    """Rename a passkey; one that was removed in the meantime is no error."""
    name = checked_name(name)
    if not name:
        raise ServiceError(_("Enter a name."))
    for locked in Authenticator.objects.select_for_update().filter(pk=row.pk):
        locked.data["name"] = name
        locked.save(update_fields=["data"])


@transaction.atomic
def passkey_remove(row: Authenticator) -> None:
    account = row.user
    account_lock(account)
    if _rows(account, Authenticator.Type.WEBAUTHN).filter(pk=row.pk).delete()[0]:
        name = row.data["name"]
        notices.notify("second_factor_removed", account, factor="passkey", name=name)
        _delete_needless_recovery_codes(account)


@transaction.atomic
def recovery_codes_create(account: User) -> list[str]:
    """Replace the recovery codes; only the result contains them."""
    account_lock(account)
    if not selectors.has_second_factor(account):
        raise ServiceError(_("Add an authenticator app or a passkey first."))
    codes = _store_recovery_codes(account)
    notices.notify("recovery_codes_created", account)
    return codes


@transaction.atomic
def code_use(account: User, code: str) -> Authenticator | None:
    """Use up a code of the app or a recovery code; return the factor, if it is one."""
    rows: QuerySet[Authenticator] = Authenticator.objects.filter(user=account)
    by_code = rows.exclude(type=Authenticator.Type.WEBAUTHN)
    for row in by_code.select_for_update().order_by("pk"):
        is_app = row.type == Authenticator.Type.TOTP
        if (_use_app_code if is_app else _use_recovery_code)(account, row, code):
            return row
    return None


@transaction.atomic
def second_factor_reset(account: User) -> None:
    """Remove all factors and end all sessions, for an owner who lost the device."""
    account_lock(account)
    if not Authenticator.objects.filter(user=account).delete()[0]:
        raise ServiceError(_("This account has no second factor."))
    sessions.sessions_end(account)
    notices.notify("second_factor_reset", account)


def _use_app_code(account: User, row: Authenticator, code: str) -> bool:
    try:
        secret = totp.unseal(row.data["secret"])
    except InvalidToken:
        _log.error(
            "The authenticator app of account %d cannot be used: its secret was "
            "encrypted with another READBACK_SECRET_KEY.",
            account.pk,
        )
        return False
    counter = totp.matching_counter(secret, code)
    # A code works once, and no earlier one works after it (RFC 6238, section 5.2).
    if counter is None or counter <= row.data["last_counter"]:
        return False
    row.data["last_counter"] = counter
    row.save(update_fields=["data"])
    return True


def _use_recovery_code(account: User, row: Authenticator, code: str) -> bool:
    digest = recovery_code_digest(account.pk, code)
    left: list[str] = row.data["digests"]
    if digest not in left:
        return False
    left.remove(digest)
    row.save(update_fields=["data"])
    notices.notify("recovery_code_used", account, left=str(len(left)))
    return True


def _add(account: User, kind: str, data: Any, **details: str) -> NewFactor:
    row = Authenticator.objects.create(user=account, type=kind, data=data)
    notices.notify("second_factor_added", account, **details)
    has_codes = _rows(account, Authenticator.Type.RECOVERY_CODES).exists()
    return NewFactor(row, [] if has_codes else _store_recovery_codes(account))


def _store_recovery_codes(account: User) -> list[str]:
    codes = [_generate_recovery_code() for _ in range(_RECOVERY_CODES)]
    digests = [recovery_code_digest(account.pk, code) for code in codes]
    Authenticator.objects.update_or_create(
        user=account,
        type=Authenticator.Type.RECOVERY_CODES,
        defaults={"data": {"digests": digests}},
    )
    return codes


def _delete_needless_recovery_codes(account: User) -> None:
    if not selectors.has_second_factor(account):
        _rows(account, Authenticator.Type.RECOVERY_CODES).delete()


def _rows(account: User, kind: str) -> QuerySet[Authenticator]:
    rows: QuerySet[Authenticator] = Authenticator.objects.filter(
        user=account, type=kind
    )
    return rows


def recovery_code_digest(account: int, code: str) -> str | None:
    """Return what is stored of a code that was typed; None if it cannot be one."""
    characters = "".join(c for c in code.lower() if c.isalnum()).translate(_MISREAD)
    if len(characters) != _CODE_LENGTH or not set(characters) <= set(_ALPHABET):
        return None
    text = f"{account}:{characters}"
    return salted_hmac(_SALT, text, algorithm="sha256").hexdigest()


def _generate_recovery_code() -> str:
    groups = range(_CODE_LENGTH // _CODE_GROUP)
    return "-".join(get_random_string(_CODE_GROUP, _ALPHABET) for _ in groups)
