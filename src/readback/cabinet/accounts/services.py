"""All changes to accounts, keys and the address, as functions `<entity>_<action>`.

Pages, the admin and the command line change data only through these. A service that
cannot do its work raises `ServiceError` with a message for the user. Nothing here
depends on requests, pages or terminals.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from allauth.account.models import EmailAddress
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from readback import keys
from readback.cabinet import account_rules
from readback.cabinet.account_rules import normalise, validate_deliverable
from readback.cabinet.accounts import selectors, sessions
from readback.cabinet.mail import notices
from readback.cabinet.models import (
    LABEL_LENGTH,
    Address,
    CacheEntry,
    Invitation,
    JournalEntry,
    Key,
    User,
)
from readback.contract import MAX_ACTIVE_KEYS

# How long a rotated key can go on working.
LONGEST_OVERLAP = timedelta(days=7)
_SESSIONS_PER_LOGIN = 100
# A login leaves about ten.
_COUNTERS_PER_LOGIN = 1000
# Invisible, and not control characters: many emoji and Persian words contain them.
_JOINERS = {ord("\N{ZERO WIDTH NON-JOINER}"): "", ord("\N{ZERO WIDTH JOINER}"): ""}


class ServiceError(Exception):
    """The service cannot do its work; the message tells the user why."""


class AccountExistsError(ServiceError):
    """There is an account with this address."""

    def __init__(self) -> None:
        super().__init__(_("An account with this address already exists."))


class AlreadyRotated(ServiceError):
    """Somebody has rotated the key before, perhaps with the same click."""


class NewKey(NamedTuple):
    """A new key; `text` is the key itself, which cannot be shown again."""

    key: Key
    text: str


def account_create(
    email: str,
    password: str | None = None,
    *,
    confirmed: bool = False,
    any_domain: bool = False,
) -> User:
    """Create an account as the operator; `confirmed` marks its address confirmed.

    Only the server itself uses `any_domain`, for its account on the local machine.
    """
    email = _checked_email(email)
    if not any_domain:
        check_domain(email)
    _check_account(email, password)
    try:
        with transaction.atomic():
            account = User.objects.create_user(email, password)
            EmailAddress.objects.create(
                user=account, email=email, primary=True, verified=confirmed
            )
    except IntegrityError:
        raise AccountExistsError from None
    return account


def check_domain(email: str) -> None:
    """Raise ServiceError if the settings allow no account with this address."""
    if not account_rules.allows_address(email):
        raise ServiceError(account_rules.refusal_for_operators())


@transaction.atomic
def account_confirm(account: User) -> None:
    """Confirm the account's address without the link in the e-mail."""
    account = _lock(account)
    address, _created = EmailAddress.objects.get_or_create(
        user=account, email=account.email
    )
    if not address.set_verified():
        raise ServiceError(_("This address is confirmed for another account."))
    address.set_as_primary()


@transaction.atomic
def account_activate(account: User) -> None:
    account.is_active = True
    account.save(update_fields=["is_active"])
    notices.account_activated(account)


@transaction.atomic
def account_deactivate(account: User) -> None:
    """Deactivate the account; it cannot log in, and its keys stop working."""
    account.is_active = False
    account.save(update_fields=["is_active"])
    sessions.sessions_end(account)
    notices.account_deactivated(account)


def account_set_language(account: User, language: str) -> None:
    """Set the language of pages and e-mails; empty means the browser's language."""
    account.language = language
    account.save(update_fields=["language"])


@transaction.atomic
def account_delete(account: User) -> None:
    """Delete the account and everything that belongs to it."""
    _lock(account)
    # The API writes usage and journal rows at any time. These reference their key's
    # row, so while the keys are locked no new rows can appear during the deletion.
    # The order is fixed, so that two deletions cannot deadlock.
    locked_keys = Key.objects.select_for_update().filter(owner=account).order_by("pk")
    list(locked_keys.values_list("pk"))
    pk = account.pk
    Invitation.objects.filter(email=account.email).exclude(accepted_at=None).delete()
    account.delete()
    notices.account_deleted(account, pk)


@transaction.atomic
def account_discard_unused(email: str) -> bool:
    """Delete an account that nobody has confirmed or used; return whether it existed.

    A new sign-up with its address then starts from nothing. Links that were sent for
    the earlier sign-up stop working, so that a link only ever confirms the password of
    its own sign-up: otherwise Mallory could sign up with Alice's address, and wait
    until Alice does the same and confirms it. An account that an operator has
    deactivated, or that has special rights, stays.
    """
    account = User.objects.select_for_update().filter(email=email).first()
    if account is None:
        return False
    # Locked, so that nobody can confirm the account while it is being deleted.
    list(EmailAddress.objects.select_for_update().filter(user=account))
    if not selectors.account_is_unused(account):
        return False
    notices.account_replaced(account.pk)
    account.delete()
    return True


@transaction.atomic
def key_create(
    owner: User,
    label: str = "",
    expires_at: datetime | None = None,
    *,
    notify: bool = True,
    text: str | None = None,
) -> NewKey:
    """Create a key; only the result contains its text, unless the caller chose it."""
    owner = _lock_for_new_key(owner)
    # Rotated keys are counted by `key_rotate`.
    if selectors.keys_active(owner).current().count() >= MAX_ACTIVE_KEYS:
        raise ServiceError(
            _("An account can have at most %(limit)d active keys. Revoke one first.")
            % {"limit": MAX_ACTIVE_KEYS}
        )
    label, expires_at = checked_name(label), _checked_expiry(expires_at)
    new = _key_store(owner, label, expires_at, text=text)
    notices.key_created(new.key, notify=notify)
    return new


@transaction.atomic
def key_create_if_missing(
    owner: User, label: str, expires_at: datetime | None = None
) -> tuple[Key, str | None]:
    """Return the active key with this name, or a new one with its text.

    A rotated key does not count: it ends soon.
    """
    owner, label = _lock_for_new_key(owner), checked_name(label)
    if not label:
        raise ServiceError(_("The name is empty."))
    named = selectors.keys_active(owner).current().filter(label=label).first()
    return (named, None) if named else key_create(owner, label, expires_at)


@transaction.atomic
def key_rotate(key: Key, overlap: timedelta) -> NewKey:
    """Replace an active key by a new one; the old one ends after the overlap.

    The new key has the same name and settings, and the same lifetime from now on. The
    result has its text. The old key never ends later than it would have without this.
    """
    if not timedelta() <= overlap <= LONGEST_OVERLAP:
        raise ServiceError(
            _("The old key can work for at most %(days)d more days.")
            % {"days": LONGEST_OVERLAP.days}
        )
    owner = _lock_for_new_key(key.owner)
    # Locked, so that the key cannot be revoked meanwhile.
    old = Key.objects.select_for_update().get(pk=key.pk)
    if old.replaced_by_id:
        raise AlreadyRotated(_("This key has already been rotated."))
    if not old.is_active:
        raise ServiceError(_("Only an active key can be rotated. Create a new key."))
    if overlap:
        _check_rotated(owner)
    new = _key_store(
        owner,
        old.label,
        old.renewed_expiry,
        explains_refusals=old.explains_refusals,
    )
    _end_rotated(old, new.key, overlap)
    notices.key_rotated(old, new.key)
    return new


def key_rename(key: Key, label: str) -> None:
    """Set the name of a key, which may be empty."""
    key.label = checked_name(label)
    key.save(update_fields=["label"])
    notices.key_renamed(key)


@transaction.atomic
def key_revoke(key: Key) -> None:
    """Revoke a key permanently; a key that is already revoked keeps its time."""
    unrevoked = Key.objects.filter(pk=key.pk, revoked_at=None)
    changed = unrevoked.update(revoked_at=timezone.now())
    key.refresh_from_db(fields=["revoked_at"])
    if changed:
        notices.key_revoked(key)


def key_discard(key: Key) -> None:
    """Delete a key that was never shown, as if it had not been created."""
    key.delete()


def key_set_explanations(key: Key, explains_refusals: bool) -> None:
    """Set whether refusals of this key have an explanation in their body."""
    key.explains_refusals = explains_refusals
    key.save(update_fields=["explains_refusals"])


def journal_clear(key: Key) -> None:
    """Delete the journal of a key; its request counts stay."""
    JournalEntry.objects.filter(key=key).delete()


def session_delete_expired() -> None:
    """Delete some expired sessions; called at each login, so that none accumulate."""
    expired = Session.objects.filter(expire_date__lt=timezone.now())
    oldest = expired.order_by("expire_date").values("pk")[:_SESSIONS_PER_LOGIN]
    Session.objects.filter(pk__in=oldest).delete()


def counter_delete_expired() -> None:
    """Delete some expired counts of the limits, which contain network addresses."""
    expired = CacheEntry.objects.filter(expires__lt=timezone.now())
    oldest = expired.order_by("expires").values("pk")[:_COUNTERS_PER_LOGIN]
    CacheEntry.objects.filter(pk__in=oldest).delete()


def address_record(base_url: str) -> None:
    """Add the address of the API to the history, if it is not the current one."""
    current = selectors.address_history().first()
    if current is None or current.base_url != base_url:
        Address.objects.create(base_url=base_url)


def _lock_for_new_key(owner: User) -> User:
    """Lock and return the account, or raise an error if it cannot have a new key.

    The lock makes parallel calls count the keys one after another.
    """
    owner = _lock(owner)
    if not owner.is_active:
        raise ServiceError(_("The account is not active."))
    if not selectors.account_is_confirmed(owner):
        raise ServiceError(_("The account's e-mail address is not confirmed."))
    return owner


def _check_rotated(owner: User) -> None:
    """Keep the rotated keys that still work from becoming many."""
    rotated = selectors.keys_active(owner).exclude(replaced_by=None)
    if rotated.count() >= MAX_ACTIVE_KEYS:
        raise ServiceError(
            _(
                "%(limit)d rotated keys still work, the maximum for an account. Revoke "
                "one of them, or let this key end now."
            )
            % {"limit": MAX_ACTIVE_KEYS}
        )


def _end_rotated(old: Key, new: Key, overlap: timedelta) -> None:
    now = timezone.now()
    old.replaced_by = new
    if overlap:
        old.expires_at = min(old.expires_at or now + overlap, now + overlap)
    else:
        old.revoked_at = now  # unlike an expiry, independent of the API's clock
    # The notice of the rotation says when the key ends.
    old.reminded_at = now
    old.save(update_fields=["replaced_by", "expires_at", "revoked_at", "reminded_at"])


def _lock(account: User) -> User:
    """Lock the account's row until the transaction ends, and return the account.

    SQLite has no row locks and needs none: its transactions begin IMMEDIATE, so
    there is one writer at a time.
    """
    try:
        return User.objects.select_for_update().get(pk=account.pk)
    except User.DoesNotExist:
        raise ServiceError(_("The account no longer exists.")) from None


def _checked_email(email: str) -> str:
    try:
        return normalise(email)
    except ValidationError as error:
        raise ServiceError(" ".join(error.messages)) from None


def _check_account(email: str, password: str | None) -> None:
    account = User(email=email)
    try:
        account.clean_fields(exclude={"password"})
        validate_deliverable(email)
        if password is not None:
            validate_password(password, account)
    except ValidationError as error:
        raise ServiceError(" ".join(error.messages)) from None


def checked_name(name: str) -> str:
    """Return the name of a key or a passkey; empty if nothing of it is visible."""
    name = name.strip()
    visible = name.translate(_JOINERS).strip()
    if not visible:
        return ""
    if len(name) > LABEL_LENGTH:
        raise ServiceError(
            _("A name can have at most %(limit)d characters.") % {"limit": LABEL_LENGTH}
        )
    if not visible.isprintable():
        raise ServiceError(_("A name cannot contain control characters."))
    return name


def _checked_expiry(expires_at: datetime | None) -> datetime | None:
    if expires_at is not None and expires_at <= timezone.now():
        raise ServiceError(_("The expiry must be in the future."))
    return expires_at


def _key_store(
    owner: User,
    label: str,
    expires_at: datetime | None,
    *,
    explains_refusals: bool = False,
    text: str | None = None,
) -> NewKey:
    text = text or keys.mint()
    key = Key.objects.create(
        owner=owner,
        label=label,
        digest=keys.digest(text.encode()),
        last_four=keys.last_characters(text),
        expires_at=expires_at,
        explains_refusals=explains_refusals,
    )
    return NewKey(key, text)
