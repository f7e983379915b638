"""Everything that changes an account, a key or the address: `<entity>_<action>`.

Pages, the admin and the command line call these and nothing below them. A service
that cannot do what it is asked raises `ServiceError`, whose text is for people.
Nothing here knows about requests, pages or terminals.
"""

from datetime import datetime
from functools import partial
from typing import NamedTuple

from allauth.account.models import EmailAddress
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from readback import keys
from readback.cabinet import notices, selectors
from readback.cabinet.models import LABEL_LENGTH, Address, JournalEntry, Key, User
from readback.contract import MAX_ACTIVE_KEYS

_SESSIONS_AT_ONCE = 100


class ServiceError(Exception):
    """What was asked cannot be done; the text tells a person why."""


class NewKey(NamedTuple):
    """A key just made: `text` is the key itself, which nothing can show again."""

    key: Key
    text: str


def account_create(
    email: str, password: str | None = None, *, confirmed: bool = False
) -> User:
    """Make an account as its operator; `confirmed` vouches for the address."""
    email = email.strip().lower()
    _check_account(email, password)
    try:
        with transaction.atomic():
            account = User.objects.create_user(email, password)
            EmailAddress.objects.create(
                user=account, email=email, primary=True, verified=confirmed
            )
    except IntegrityError:
        raise ServiceError(_("There is an account with this address.")) from None
    return account


@transaction.atomic
def account_confirm(account: User) -> None:
    """Vouch for the account's address, as a click on the mailed link would."""
    account = _lock(account)
    address, _is_new = EmailAddress.objects.get_or_create(
        user=account, email=account.email
    )
    if not address.set_verified():
        raise ServiceError(_("Another account has confirmed this address."))
    address.set_as_primary()


def account_activate(account: User) -> None:
    account.is_active = True
    account.save(update_fields=["is_active"])
    notices.account_activated(account)


def account_deactivate(account: User) -> None:
    """Shut the account out; its keys stop working with it."""
    account.is_active = False
    account.save(update_fields=["is_active"])
    notices.account_deactivated(account)


def account_set_language(account: User, language: str) -> None:
    """Choose the language of pages and mails; empty means the browser's."""
    account.language = language
    account.save(update_fields=["language"])


@transaction.atomic
def account_delete(account: User) -> None:
    """Delete the account and all that belongs to it."""
    _lock(account)
    # The API writes usage and journal rows all the time. Its rows need their key's
    # row, so with these locked none can appear behind the back of the deletion.
    # Always in the same order, so that two of us cannot wait for each other.
    held = Key.objects.select_for_update().filter(owner=account).order_by("pk")
    list(held.values_list("pk"))
    tell = partial(notices.account_deleted, account, account.pk)
    account.delete()
    transaction.on_commit(tell)


@transaction.atomic
def key_create(
    owner: User, label: str = "", expires_at: datetime | None = None
) -> NewKey:
    """Make a key; the answer holds its text for the only time."""
    # With the owner's row locked, parallel calls count one after the other.
    owner = _lock(owner)
    if not owner.is_active:
        raise ServiceError(_("The account is not active."))
    if not selectors.account_is_confirmed(owner):
        raise ServiceError(_("The account's e-mail address is not confirmed."))
    if selectors.keys_active(owner).count() >= MAX_ACTIVE_KEYS:
        raise ServiceError(
            _("An account has at most %(limit)d active keys: revoke one first.")
            % {"limit": MAX_ACTIVE_KEYS}
        )
    new = _key_store(owner, _checked_label(label), _checked_expiry(expires_at))
    transaction.on_commit(partial(notices.key_created, new.key))
    return new


def key_revoke(key: Key) -> None:
    """End a key for good; a key that is revoked already keeps its time."""
    unrevoked = Key.objects.filter(pk=key.pk, revoked_at=None)
    changed = unrevoked.update(revoked_at=timezone.now())
    key.refresh_from_db(fields=["revoked_at"])
    if changed:
        notices.key_revoked(key)


def journal_clear(key: Key) -> None:
    """Forget what arrived with a key; the counts stay."""
    JournalEntry.objects.filter(key=key).delete()


def session_clear_ended() -> None:
    """Delete some of the sessions that have ended; at each login, so that none stay."""
    ended = Session.objects.filter(expire_date__lt=timezone.now())
    oldest = ended.order_by("expire_date").values("pk")[:_SESSIONS_AT_ONCE]
    Session.objects.filter(pk__in=oldest).delete()


def address_record(base_url: str) -> None:
    """Note the address of the API in the history, if it is not the current one."""
    current = selectors.address_history().first()
    if current is None or current.base_url != base_url:
        Address.objects.create(base_url=base_url)


def _lock(account: User) -> User:
    """Hold the account's row until the transaction ends.

    SQLite has no row locks and needs none: its transactions begin IMMEDIATE, so
    there is one writer at a time.
    """
    try:
        return User.objects.select_for_update().get(pk=account.pk)
    except User.DoesNotExist:
        raise ServiceError(_("The account does not exist any more.")) from None


def _check_account(email: str, password: str | None) -> None:
    account = User(email=email)
    try:
        account.clean_fields(exclude={"password"})
        if password is not None:
            validate_password(password, account)
    except ValidationError as error:
        raise ServiceError(" ".join(error.messages)) from None


def _checked_label(label: str) -> str:
    label = label.strip()
    if len(label) > LABEL_LENGTH:
        raise ServiceError(
            _("A name has at most %(limit)d characters.") % {"limit": LABEL_LENGTH}
        )
    if not label.isprintable():
        raise ServiceError(_("A name has no control characters."))
    return label


def _checked_expiry(expires_at: datetime | None) -> datetime | None:
    if expires_at is not None and expires_at <= timezone.now():
        raise ServiceError(_("A key cannot expire in the past."))
    return expires_at


def _key_store(owner: User, label: str, expires_at: datetime | None) -> NewKey:
    text = keys.mint()
    key = Key.objects.create(
        owner=owner,
        label=label,
        digest=keys.digest(text.encode()),
        last_four=text[-4:],
        expires_at=expires_at,
    )
    return NewKey(key, text)
