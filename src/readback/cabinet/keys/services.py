"""All changes to keys and their journals, as functions `<entity>_<action>`.

Pages, the admin and the command line change data only through these. A service that
cannot do its work raises `ServiceError` with a message for the user.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from readback import keys
from readback.cabinet.accounts.selectors import account_is_confirmed
from readback.cabinet.accounts.services import ServiceError, account_lock, checked_name
from readback.cabinet.keys import selectors
from readback.cabinet.mail import notices
from readback.cabinet.models import JournalEntry, Key, User
from readback.contract import MAX_ACTIVE_KEYS
from readback.rehearsal import checked_pattern

# The longest time that a rotated key can keep working.
LONGEST_OVERLAP = timedelta(days=7)


class AlreadyRotated(ServiceError):
    """The key was already rotated, perhaps by a double click."""


class NewKey(NamedTuple):
    """A new key; `text` is the key itself, which cannot be shown again."""

    key: Key
    text: str


@transaction.atomic
def key_create(
    owner: User,
    label: str = "",
    expires_at: datetime | None = None,
    *,
    explains_refusals: bool = False,
    rehearsal: str | None = None,
    notify: bool = True,
    text: str | None = None,
) -> NewKey:
    """Create a key; `rehearsal` is the pattern of a rehearsal key."""
    owner = _lock_for_new_key(owner)
    pattern = _checked_pattern(rehearsal)
    # Rotated keys have a limit of their own, in `key_rotate`.
    current = selectors.keys_active(owner).filter(replaced_by=None)
    if current.count() >= MAX_ACTIVE_KEYS:
        raise ServiceError(
            _("An account can have at most %(limit)d active keys. Revoke one first.")
            % {"limit": MAX_ACTIVE_KEYS}
        )
    key = Key(
        owner=owner,
        label=checked_name(label),
        expires_at=expires_at,
        explains_refusals=explains_refusals,
        rehearsal=pattern,
    )
    if expires_at is not None and expires_at <= timezone.now():
        raise ServiceError(_("The expiry must be in the future."))
    new = _store(key, text or keys.mint())
    notices.key_created(new.key, notify=notify)
    return new


@transaction.atomic
def key_create_if_missing(
    owner: User,
    label: str,
    expires_at: datetime | None = None,
    *,
    explains_refusals: bool = False,
    rehearsal: str | None = None,
) -> tuple[Key, str | None]:
    """Return an active key with this name, or a new key and its text.

    A rotated key does not count, because it ends soon, nor does a key with another
    pattern. An existing key keeps its options.
    """
    owner = _lock_for_new_key(owner)
    label = checked_name(label)
    if not label:
        raise ServiceError(_("The name is empty."))
    current = selectors.keys_active(owner).filter(replaced_by=None)
    alike = current.filter(label=label, rehearsal=_checked_pattern(rehearsal))
    if named := alike.first():
        return named, None
    return key_create(
        owner,
        label,
        expires_at,
        explains_refusals=explains_refusals,
        rehearsal=rehearsal,
    )


@transaction.atomic
def key_rotate(key: Key, overlap: timedelta) -> NewKey:
    """Replace an active key with a new one; the old key ends after the overlap.

    The new key has the same name and options, and the same lifetime from now on. The
    old key never ends later than it would have without the rotation.
    """
    if not timedelta() <= overlap <= LONGEST_OVERLAP:
        raise ServiceError(
            _("The old key can work for at most %(days)d more days.")
            % {"days": LONGEST_OVERLAP.days}
        )
    owner = _lock_for_new_key(key.owner)
    # Locked, so that the key cannot be revoked in the meantime.
    old = Key.objects.select_for_update().get(pk=key.pk)
    if old.replaced_by_id:
        raise AlreadyRotated(_("This key has already been rotated."))
    if not old.is_active:
        raise ServiceError(_("Only an active key can be rotated. Create a new key."))
    # Limit the number of rotated keys that still work.
    rotated = selectors.keys_active(owner).exclude(replaced_by=None)
    if overlap and rotated.count() >= MAX_ACTIVE_KEYS:
        raise ServiceError(
            _(
                "%(limit)d rotated keys still work, the maximum for an account. Revoke "
                "one of them, or let this key end now."
            )
            % {"limit": MAX_ACTIVE_KEYS}
        )
    key = Key(
        owner=owner,
        label=old.label,
        expires_at=old.renewed_expiry,
        explains_refusals=old.explains_refusals,
        rehearsal=old.rehearsal,
    )
    new = _store(key, keys.mint())
    _end_rotated(old, new.key, overlap)
    notices.key_rotated(old, new.key)
    return new


def key_rename(key: Key, label: str) -> None:
    key.label = checked_name(label)
    key.save(update_fields=["label"])
    notices.record("key_renamed", account=key.owner_id, key=key.pk)


@transaction.atomic
def key_revoke(key: Key) -> None:
    """Revoke a key permanently; do nothing if it is already revoked."""
    unrevoked = Key.objects.filter(pk=key.pk, revoked_at=None)
    changed = unrevoked.update(revoked_at=timezone.now())
    key.refresh_from_db(fields=["revoked_at"])
    if changed:
        notices.key_revoked(key)


def key_set_explanations(key: Key, explains_refusals: bool) -> None:
    key.explains_refusals = explains_refusals
    key.save(update_fields=["explains_refusals"])


def journal_clear(key: Key) -> None:
    """Delete a key's journal, but keep its request counts."""
    JournalEntry.objects.filter(key=key).delete()


def _lock_for_new_key(owner: User) -> User:
    """Lock and return the account, or raise an error if it cannot have a new key.

    Without the lock, parallel calls could exceed the limit on keys.
    """
    owner = account_lock(owner)
    if not owner.is_active:
        raise ServiceError(_("The account is not active."))
    if not account_is_confirmed(owner):
        raise ServiceError(_("The account's e-mail address is not confirmed."))
    return owner


def _checked_pattern(pattern: str | None) -> str:
    if pattern is None:
        return ""
    try:
        return checked_pattern(pattern)
    except ValueError as error:
        raise ServiceError(str(error)) from None


def _end_rotated(old: Key, new: Key, overlap: timedelta) -> None:
    now = timezone.now()
    old.replaced_by = new
    if overlap:
        old.expires_at = min(old.expires_at or now + overlap, now + overlap)
    else:
        # Unlike an expiry, this does not depend on the API's clock.
        old.revoked_at = now
    # No reminder is needed: the rotation notice says when the old key stops working.
    old.reminded_at = now
    old.save(update_fields=["replaced_by", "expires_at", "revoked_at", "reminded_at"])


def _store(key: Key, text: str) -> NewKey:
    key.digest = keys.digest(text.encode())
    key.last_four = keys.last_characters(text)
    key.save()
    return NewKey(key, text)
